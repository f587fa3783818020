//! Pane 4: the rows of the slice as a table. Only the lines in sight are made.

use std::borrow::Cow;

use ratatui::layout::Rect;
use unicode_width::UnicodeWidthStr;

use crate::text::safe::one_line;
use crate::text::thousands;
use crate::trace::Rows as Columns;
use crate::tui::canvas::Canvas;
use crate::tui::panes::output::put_pick;
use crate::tui::snapshot::Snapshot;
use crate::tui::strip::Strip;
use crate::tui::theme::{Outcome, Role, Theme};
use crate::tui::workspace::Workspace;

#[derive(Debug, Default)]
pub struct Rows {
    /// Columns by which the questions are scrolled to the left.
    pub sideways: usize,
}

/// Which columns fit, and how wide they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Widths {
    id: usize,
    attempt: usize,
    pick: usize,
    attempts: usize,
    group: usize,
    question: usize,
    chars: usize,
}

/// Most attempts shown in a line.
const ATTEMPTS: usize = 10;

impl Rows {
    /// Lines of rows that fit into the pane.
    pub fn height(area: Rect) -> usize {
        usize::from(area.height.saturating_sub(2))
    }

    pub fn draw(&self, canvas: &mut Canvas, workspace: &Workspace) {
        let shown = workspace.selected.rows.len();
        let remark = match shown {
            0 => String::new(),
            _ => format!("{}/{}", thousands(workspace.cursor.at + 1), thousands(shown)),
        };
        let title = if workspace.view.by_question {
            "4 Questions"
        } else {
            "4 Rows"
        };
        let mut inner = canvas.frame(title, &remark);
        let snapshot = match workspace.snapshot.as_deref() {
            Some(snapshot) if shown > 0 => snapshot,
            _ => {
                let text = nothing_shown(workspace);
                inner.line(1, inner.strip().dim(format!("   {text}")));
                return;
            }
        };
        let widths = widths(snapshot, workspace, inner.width());
        inner.line(0, inner.strip().dim(header(&widths, workspace)));
        let lines = Lines {
            snapshot,
            workspace,
            widths,
            sideways: self.sideways,
        };
        // The row under the cursor is marked wherever the keys go: the other panes show it.
        inner
            .below(1)
            .focus(true)
            .list(shown, workspace.cursor, |at, strip| lines.line(at, strip));
    }
}

/// Why there is no row to see.
fn nothing_shown(workspace: &Workspace) -> &'static str {
    let is_settled = workspace.is_current() && !workspace.is_partial;
    match (workspace.rows(), is_settled) {
        (None, _) => "opening…",
        (Some(rows), _) if rows.is_empty() => "nothing here yet",
        (_, true) => "no row passes the filter   (Esc clears it, u takes it back)",
        (_, false) => "searching…",
    }
}

/// What the lines of the table are made from.
struct Lines<'a> {
    snapshot: &'a Snapshot,
    workspace: &'a Workspace,
    widths: Widths,
    sideways: usize,
}

impl Lines<'_> {
    fn line<'t>(&self, place: usize, strip: Strip<'t>) -> Strip<'t> {
        let (rows, row) = (self.snapshot.rows(), self.workspace.selected.rows[place]);
        let (at, widths) = (row as usize, &self.widths);
        let is_hidden = self.workspace.hides(row);
        let is_current = place == self.workspace.cursor.at;
        let note_mark = match self.workspace.notes.get(row) {
            Some(note) if note.marked => strip.theme.mark(),
            Some(note) if !note.note.is_empty() => strip.theme.note(),
            _ => " ",
        };
        let strip = strip
            .put(if is_current { "▶" } else { " " }, Role::Focus)
            .strong(note_mark)
            .text(format!("{:>width$} ", rows.question_id[at], width = widths.id));
        let strip = self.pick(strip, row, is_hidden);
        let key = if is_hidden { "·" } else { rows.answer.get(at) };
        let mut strip = strip.field(key, 3, Role::Strong).text(" ");
        if widths.attempts > 0 {
            let end = strip.width() + widths.attempts + 3;
            if !is_hidden {
                strip = attempts(strip, self.snapshot, row, !self.workspace.view.by_question);
            }
            strip = strip.to(end);
        }
        if widths.group > 0 {
            let name = match rows.subject.get(at) {
                "" => rows.category.get(at),
                subject => subject,
            };
            strip = strip.field(&name.replace('_', " "), widths.group, Role::Dim).text(" ");
        }
        let question = sideways(self.workspace.question(row).unwrap_or(""), self.sideways);
        strip = strip.field(&question, widths.question, Role::Plain);
        if widths.chars > 0 {
            strip = strip.dim(format!(" {:>width$}", rows.chars[at], width = widths.chars));
        }
        strip
    }

    /// The attempt and its pick; of a whole question how many attempts are right.
    fn pick<'t>(&self, strip: Strip<'t>, row: u32, is_hidden: bool) -> Strip<'t> {
        let (rows, at) = (self.snapshot.rows(), row as usize);
        if self.workspace.view.by_question {
            let attempts = self.snapshot.attempts(row);
            let correct = attempts.iter().filter(|row| rows.correct[**row as usize]).count();
            let share = match is_hidden {
                true => "·".to_owned(),
                false => format!("{correct}/{}", attempts.len()),
            };
            return strip.text(format!("{share:>5}    "));
        }
        let strip = match self.widths.attempt {
            0 => strip,
            width => strip.text(format!("{:>width$} ", rows.attempt[at])),
        };
        let width = self.widths.pick;
        let strip = match is_hidden {
            true => strip.field("·", width, Role::Mark),
            false => put_pick(strip, rows.pick.get(at), pick_outcome(rows, at), width),
        };
        strip.text(" ")
    }
}

/// A question without its first characters, with a sign that there are some.
fn sideways(text: &str, by: usize) -> Cow<'_, str> {
    match by {
        0 => text.into(),
        by => format!("…{}", text.chars().skip(by).collect::<String>()).into(),
    }
}

/// Foreign text in exactly `width` columns.
pub fn pad(text: &str, width: usize, theme: &Theme) -> String {
    let text = one_line(text, width, theme.ascii);
    let missing = width.saturating_sub(text.width());
    text + &" ".repeat(missing)
}

/// How a row came out.
pub fn pick_outcome(rows: &Columns, row: usize) -> Outcome {
    Outcome::of(rows.is_invalid(row), rows.correct[row])
}

/// The picks of all attempts at a row's question, its own underlined.
fn attempts<'t>(mut strip: Strip<'t>, snapshot: &Snapshot, row: u32, marks_own: bool) -> Strip<'t> {
    let rows = snapshot.rows();
    let all = snapshot.attempts(row);
    for attempt in all.iter().take(ATTEMPTS) {
        let at = *attempt as usize;
        let pick = if rows.is_invalid(at) { "!" } else { rows.pick.get(at) };
        let role = pick_outcome(rows, at).role();
        strip = if marks_own && *attempt == row && all.len() > 1 {
            let pick = pad(pick, 1, strip.theme);
            strip.underlined(pick, role)
        } else {
            strip.field(pick, 1, role)
        };
        strip = strip.text(" ");
    }
    strip
}

fn widths(snapshot: &Snapshot, workspace: &Workspace, width: usize) -> Widths {
    let rows = snapshot.rows();
    let most = snapshot.most_attempts;
    let by_question = workspace.view.by_question;
    let attempt = if by_question || most < 2 { 0 } else { 2 };
    let attempts = if most < 2 || width < 50 {
        0
    } else {
        (most.min(ATTEMPTS) * 2 - 1).max(8)
    };
    let longest = rows
        .question_id
        .iter()
        .rev()
        .take(1)
        .map(|id| id.to_string().len())
        .max()
        .unwrap_or(1);
    let mut widths = Widths {
        id: longest.max(4),
        attempt,
        pick: longest_pick(rows) + 3,
        attempts,
        group: 0,
        question: 0,
        chars: 0,
    };
    if width >= 78
        && !by_question
        && snapshot.all.total.rows() > 0
        && rows.chars.iter().take(50).any(|chars| *chars > 0)
    {
        widths.chars = 6;
    }
    let fixed = 3
        + widths.id
        + if attempt > 0 { attempt + 1 } else { 0 }
        + if by_question { 9 } else { widths.pick + 1 }
        + 4
        + if attempts > 0 { attempts + 3 } else { 0 }
        + if widths.chars > 0 { widths.chars + 1 } else { 0 };
    let mut rest = width.saturating_sub(fixed);
    let shows_group =
        workspace.selected.report.categories.len() > 1 || rows.subject.list().len() > rows.category.list().len();
    if rest >= 36 && shows_group {
        widths.group = if rest >= 70 { 18 } else { 12 };
        rest -= widths.group + 1;
    }
    widths.question = rest;
    widths
}

/// Columns of the longest of the first picks that were read.
fn longest_pick(rows: &Columns) -> usize {
    let some = (0..rows.len()).filter(|row| !rows.is_invalid(*row)).take(200);
    let longest = some.map(|row| rows.pick.get(row).width()).max();
    longest.unwrap_or(0).clamp(1, 9)
}

fn header(widths: &Widths, workspace: &Workspace) -> String {
    let mut header = format!("  {:>width$} ", "qid", width = widths.id);
    if workspace.view.by_question {
        header.push_str("   ok    ");
    } else {
        if widths.attempt > 0 {
            header.push_str("at ");
        }
        header.push_str(&format!("{:<width$} ", "pick", width = widths.pick));
    }
    header.push_str("key ");
    if widths.attempts > 0 {
        header.push_str(&format!("{:<width$}   ", "attempts", width = widths.attempts));
    }
    if widths.group > 0 {
        header.push_str(&format!("{:<width$} ", "subject", width = widths.group));
    }
    header.push_str(&format!("{:<width$}", "question", width = widths.question));
    if widths.chars > 0 {
        header.push_str(&format!(" {:>width$}", "chars", width = widths.chars));
    }
    header
}
