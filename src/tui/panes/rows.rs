//! Pane 4: the rows of the slice as a table. Only the lines in sight are made.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;
use unicode_width::UnicodeWidthStr;

use crate::record::INVALID;
use crate::text::safe::one_line;
use crate::text::thousands;
use crate::trace::Rows as Columns;
use crate::tui::snapshot::{Snapshot, pick_text};
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::{frame, line};
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
        usize::from(area.height.saturating_sub(3))
    }

    pub fn draw(&self, buffer: &mut Buffer, area: Rect, workspace: &Workspace, focused: bool, theme: &Theme) {
        let shown = workspace.selected.rows.len();
        let remark = match (shown, workspace.snapshot.is_some()) {
            (0, _) => String::new(),
            _ => format!("{}/{}", thousands(workspace.cursor.at + 1), thousands(shown)),
        };
        let title = if workspace.view.by_question {
            "4 Questions"
        } else {
            "4 Rows"
        };
        let inner = frame(buffer, area, title, &remark, focused, theme);
        let Some(snapshot) = workspace.snapshot.as_deref() else {
            line(
                buffer,
                inner,
                1,
                vec![Span::styled("   opening…", theme.style(Role::Dim))],
            );
            return;
        };
        if shown == 0 {
            let text = match (
                workspace.is_current() && !workspace.is_partial,
                workspace.rows().is_some_and(Columns::is_empty),
            ) {
                (_, true) => "nothing here yet",
                (true, false) => "no row passes the filter   (u takes it back, Esc in the filter line too)",
                (false, false) => "searching…",
            };
            line(
                buffer,
                inner,
                1,
                vec![Span::styled(format!("   {text}"), theme.style(Role::Dim))],
            );
            return;
        }
        let widths = widths(snapshot, workspace, usize::from(inner.width));
        line(
            buffer,
            inner,
            0,
            vec![Span::styled(header(&widths, workspace), theme.style(Role::Dim))],
        );
        let height = Rows::height(area);
        let mut cursor = workspace.cursor;
        cursor.settle(shown, height);
        for (at, row) in workspace.selected.rows.iter().enumerate().skip(cursor.top).take(height) {
            let is_current = at == cursor.at;
            let y = (at - cursor.top + 1) as u16;
            line(
                buffer,
                inner,
                y,
                self.line(snapshot, workspace, *row, is_current, &widths, theme),
            );
            if is_current {
                highlight(
                    buffer,
                    Rect {
                        y: inner.y + y,
                        height: 1,
                        ..inner
                    },
                    theme.style(Role::Selected),
                );
            }
        }
    }

    fn line(
        &self,
        snapshot: &Snapshot,
        workspace: &Workspace,
        row: u32,
        is_current: bool,
        widths: &Widths,
        theme: &Theme,
    ) -> Vec<Span<'static>> {
        let rows = snapshot.rows();
        let at = row as usize;
        let marker = if is_current { "▶" } else { " " };
        let mark = match workspace.notes.get(row) {
            Some(note) if note.marked => "◆",
            Some(note) if !note.note.is_empty() => "✎",
            _ => " ",
        };
        let mut spans = vec![
            Span::styled(marker, theme.style(Role::Focus)),
            Span::styled(
                match mark {
                    "◆" if theme.ascii => "#",
                    "✎" if theme.ascii => "\"",
                    mark => mark,
                },
                theme.style(Role::Strong),
            ),
            Span::raw(format!("{:>width$} ", rows.question_id[at], width = widths.id)),
        ];
        let by_question = workspace.view.by_question;
        let is_hidden = workspace.hides(row);
        if by_question {
            let attempts = snapshot.attempts(row);
            let correct = attempts.iter().filter(|row| rows.correct[**row as usize]).count();
            let share = if is_hidden {
                "·".to_owned()
            } else {
                format!("{correct}/{}", attempts.len())
            };
            spans.push(Span::raw(format!("{share:>5}    ")));
        } else {
            if widths.attempt > 0 {
                spans.push(Span::raw(format!(
                    "{:>width$} ",
                    rows.attempt[at],
                    width = widths.attempt
                )));
            }
            let (pick, role) = if is_hidden {
                ("·".to_owned(), Role::Mark)
            } else {
                (pick_text(rows, row), pick_role(rows, at))
            };
            spans.push(Span::styled(pad(&pick, widths.pick, theme), theme.style(role)));
            spans.push(Span::raw(" "));
        }
        spans.push(Span::styled(
            pad(if is_hidden { "·" } else { rows.answer.get(at) }, 3, theme),
            theme.style(Role::Strong),
        ));
        spans.push(Span::raw(" "));
        if widths.attempts > 0 {
            if is_hidden {
                spans.push(Span::raw(" ".repeat(widths.attempts + 1)));
            } else {
                spans.extend(attempts(snapshot, row, !by_question, widths.attempts, theme));
            }
            spans.push(Span::raw("  "));
        }
        if widths.group > 0 {
            let name = if rows.subject.get(at).is_empty() {
                rows.category.get(at)
            } else {
                rows.subject.get(at)
            };
            spans.push(Span::styled(
                pad(&name.replace('_', " "), widths.group, theme),
                theme.style(Role::Dim),
            ));
            spans.push(Span::raw(" "));
        }
        let question = workspace.question(row).unwrap_or("");
        spans.push(Span::raw(pad(
            &sideways(question, self.sideways),
            widths.question,
            theme,
        )));
        if widths.chars > 0 {
            spans.push(Span::styled(
                format!(" {:>width$}", rows.chars[at], width = widths.chars),
                theme.style(Role::Dim),
            ));
        }
        spans
    }
}

/// Gives a line its back without taking the marks' colours.
fn highlight(buffer: &mut Buffer, area: Rect, style: Style) {
    let back = Style { fg: None, ..style };
    buffer.set_style(area, back);
    for x in area.left()..area.right() {
        if let Some(cell) = buffer.cell_mut((x, area.y))
            && cell.fg == ratatui::style::Color::Reset
            && let Some(front) = style.fg
        {
            cell.set_fg(front);
        }
    }
}

fn sideways(text: &str, by: usize) -> String {
    if by == 0 {
        text.to_owned()
    } else {
        text.chars().skip(by).collect()
    }
}

/// Foreign text in exactly `width` columns.
pub fn pad(text: &str, width: usize, theme: &Theme) -> String {
    let text = one_line(text, width, theme.ascii);
    let missing = width.saturating_sub(text.width());
    text + &" ".repeat(missing)
}

/// How a row's pick is coloured.
pub fn pick_role(rows: &Columns, row: usize) -> Role {
    match (rows.is_invalid(row), rows.correct[row]) {
        (true, _) => Role::Invalid,
        (false, true) => Role::Correct,
        (false, false) => Role::Wrong,
    }
}

/// The picks of all attempts at a row's question, its own underlined.
fn attempts(snapshot: &Snapshot, row: u32, marks_own: bool, width: usize, theme: &Theme) -> Vec<Span<'static>> {
    let rows = snapshot.rows();
    let all = snapshot.attempts(row);
    let mut spans = Vec::new();
    for attempt in all.iter().take(ATTEMPTS) {
        let at = *attempt as usize;
        let pick = if rows.is_invalid(at) { "!" } else { rows.pick.get(at) };
        let mut style = theme.style(pick_role(rows, at));
        if marks_own && *attempt == row && all.len() > 1 {
            style = style.add_modifier(ratatui::style::Modifier::UNDERLINED);
        }
        spans.push(Span::styled(pad(pick, 1, theme), style));
        spans.push(Span::raw(" "));
    }
    let used: usize = spans.iter().map(Span::width).sum();
    spans.push(Span::raw(" ".repeat((width + 1).saturating_sub(used))));
    spans
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
        pick: INVALID.len(),
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
