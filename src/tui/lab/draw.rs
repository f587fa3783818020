//! The Regex lab on the terminal.

use std::cmp::Ordering;

use ratatui::layout::{Constraint, Layout, Rect};

use crate::compare::Flip;
use crate::record::{INVALID, Record};
use crate::stats::percent;
use crate::text::safe::one_line;
use crate::text::{count, thousands};
use crate::tui::canvas::Canvas;
use crate::tui::panes::rows::pick_outcome;
use crate::tui::panes::{Room, output};
use crate::tui::reading::Reading;
use crate::tui::theme::{Outcome, Role};
use crate::tui::workspace::Workspace;

use super::report::Change;
use super::{Kind, Lab, LabReport};

/// Where the parts of the screen stand; empty rectangles for those out of sight.
#[derive(Debug, Clone, Copy, Default)]
pub struct Places {
    pub rule: Rect,
    pub flips: Rect,
    pub categories: Rect,
    pub rows: Rect,
    pub text: Rect,
}

impl Places {
    pub fn of(area: Rect) -> Places {
        let [_, rule, body, _] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(1),
            Constraint::Min(3),
            Constraint::Length(1),
        ])
        .areas(area);
        let places = Places {
            rule,
            ..Places::default()
        };
        match Room::of(area) {
            Room::Wide => {
                let [left, right] = Layout::horizontal([Constraint::Length(46), Constraint::Min(40)]).areas(body);
                let tall = Kind::ALL.len() as u16 + 1;
                let [flips, categories] = Layout::vertical([Constraint::Length(tall), Constraint::Min(4)]).areas(left);
                let [rows, text] = Layout::vertical([Constraint::Percentage(45), Constraint::Min(6)]).areas(right);
                Places {
                    flips,
                    categories,
                    rows,
                    text,
                    ..places
                }
            }
            Room::Narrow => {
                let [flips, rows, text] =
                    Layout::vertical([Constraint::Length(2), Constraint::Percentage(42), Constraint::Min(4)])
                        .areas(body);
                Places {
                    flips,
                    rows,
                    text,
                    ..places
                }
            }
            Room::Tiny => Places { rows: body, ..places },
        }
    }

    pub fn listed(&self) -> usize {
        usize::from(self.rows.height.saturating_sub(2)).max(1)
    }
}

impl Lab {
    pub(super) fn draw_all(&self, canvas: &mut Canvas, workspace: &Workspace) {
        let area = canvas.area();
        let places = Places::of(area);
        self.draw_title(&mut canvas.head(), workspace);
        self.draw_rule(&mut canvas.at(places.rule));
        let report = self.report.as_deref();
        let has_keys = !self.is_typing;
        match Room::of(area) {
            Room::Wide => {
                self.draw_flips(&mut canvas.at(places.flips).focus(has_keys), report);
                draw_categories(&mut canvas.at(places.categories), report);
            }
            Room::Narrow => self.draw_kind_line(&mut canvas.at(places.flips), report),
            Room::Tiny => {}
        }
        self.draw_rows(&mut canvas.at(places.rows).focus(has_keys), workspace);
        let mut text = canvas.at(places.text);
        if !text.is_empty() {
            self.draw_text(&mut text, workspace);
        }
    }

    fn draw_title(&self, canvas: &mut Canvas, workspace: &Workspace) {
        let width = canvas.width();
        let end = match &self.report {
            None => canvas.strip().dim("reading the outputs… "),
            Some(report) => {
                let Change { before, after, .. } = &report.total;
                let [lost, left] = [before, after].map(|tally| percent(tally.invalid_rate()));
                canvas
                    .strip()
                    .dim(format!("{}  ", count(before.n, "output")))
                    .put(corrects(report), Role::Correct)
                    .put(format!("[invalid] {lost} -> {left}% "), Role::Invalid)
            }
        };
        let mut text = " Regex lab".to_owned();
        let ascii = canvas.theme.ascii;
        if let Some(snapshot) = workspace.snapshot.as_deref().filter(|_| width >= 100) {
            text.push_str(&format!(" · {}", one_line(&snapshot.trace.name, 28, ascii)));
        }
        if !workspace.filter.is_empty() {
            text.push_str(&format!(" in «{}»", one_line(&workspace.view.filter, 24, ascii)));
        }
        // The name stays whatever the room; the figures give way before it does.
        let name = " Regex lab".len();
        let room = width.saturating_sub(end.width() + 2);
        if room < name + 5 {
            text.truncate(name);
        }
        let room = room.max(name + 1).min(width);
        let strip = canvas
            .strip()
            .text(" ")
            .foreign(&text, room.saturating_sub(1), Role::Title);
        let is_apart = strip.width() + 2 + end.width() <= width;
        canvas.line(0, strip);
        if is_apart {
            canvas.right(0, end);
        }
    }

    fn draw_rule(&self, canvas: &mut Canvas) {
        let width = canvas.width();
        let strip = canvas.strip().put(" rule ", Role::Key);
        let room = width * 3 / 5;
        let strip = if self.is_typing {
            self.input.onto(strip, room)
        } else {
            strip.foreign(&self.input.text, room, Role::Chip)
        };
        canvas.line(0, strip);
        let gave_up = self.report.as_ref().map_or(0, |report| report.gave_up);
        let (text, role) = match (&self.error, self.is_stale(), gave_up) {
            (Some(error), ..) => (error.clone(), Role::Warning),
            (None, true, _) => ("reading…".to_owned(), Role::Dim),
            (None, false, 0) => (":adopt uses this rule".to_owned(), Role::Dim),
            (None, false, rows) => (format!("gave up on {}", count(rows, "row")), Role::Warning),
        };
        let strip = canvas.strip().foreign(&text, width / 3, role).text(" ");
        canvas.right(0, strip);
    }

    fn draw_flips(&self, canvas: &mut Canvas, report: Option<&LabReport>) {
        let mut inner = canvas.frame("What flips", "Tab next").focus(true);
        let counts = Kind::ALL.map(|kind| report.map_or(0, |report| report.list(kind).len()));
        let most = counts.into_iter().max().unwrap_or(0);
        let bar = inner.width().saturating_sub(37);
        inner.list(counts.len(), self.kind_cursor(), |at, strip| {
            let kind = Kind::ALL[at];
            let role = match kind {
                Kind::Flip(Flip::InvalidToRight | Flip::WrongToRight) => Role::Correct,
                Kind::FirstAndLast => Role::Bar,
                _ => Role::Wrong,
            };
            strip
                .put(if kind == self.kind() { "▶" } else { " " }, Role::Focus)
                .text(format!("{:<27} {:>7} ", kind.label(), thousands(counts[at])))
                .solid_bar(counts[at], most, bar, role)
        });
    }

    /// The flips in two lines, where there is no room for a pane.
    fn draw_kind_line(&self, canvas: &mut Canvas, report: Option<&LabReport>) {
        for (row, kinds) in Kind::ALL.chunks(4).enumerate() {
            let mut strip = canvas.strip().text(" ");
            for kind in kinds {
                let rows = report.map_or(0, |report| report.list(*kind).len());
                let role = if *kind == self.kind() {
                    Role::Selected
                } else {
                    Role::Plain
                };
                strip = strip
                    .put(format!(" {} {} ", kind.short(), thousands(rows)), role)
                    .text(" ");
            }
            canvas.line(row, strip);
        }
    }

    fn draw_rows(&self, canvas: &mut Canvas, workspace: &Workspace) {
        let rows = self.rows();
        let place = match rows.len() {
            0 => String::new(),
            all => format!("{}/{}", thousands(self.cursor().at + 1), thousands(all)),
        };
        let mut inner = canvas.frame(self.kind().label(), &place);
        let (Some(snapshot), Some(report)) = (workspace.snapshot.as_deref(), self.report.as_deref()) else {
            return;
        };
        let header = format!("  {:>6} at {:<9}    {:<9} key question", "qid", "before", "after");
        inner.line(0, inner.strip().dim(header));
        if rows.is_empty() {
            inner.line(1, inner.strip().dim("  no row does"));
            return;
        }
        let (columns, at_cursor) = (snapshot.rows(), self.cursor().at);
        let room = inner.width().saturating_sub(42);
        inner.below(1).focus(true).list(rows.len(), self.cursor(), |at, strip| {
            let row = rows[at];
            let index = row as usize;
            let read = report.reads.get(index).copied().unwrap_or_default();
            let after = read.pick();
            let came = Outcome::of(after == INVALID, read.is_right());
            let (id, attempt) = (columns.question_id[index], columns.attempt[index]);
            let strip = strip
                .put(if at == at_cursor { "▶ " } else { "  " }, Role::Focus)
                .text(format!("{id:>6} {attempt:>2} "));
            let strip = output::put_pick(strip, columns.pick.get(index), pick_outcome(columns, index), 9).dim(" → ");
            output::put_pick(strip, &after, came, 9)
                .text(" ")
                .field(columns.answer.get(index), 3, Role::Strong)
                .text(" ")
                .field(workspace.question(row).unwrap_or(""), room, Role::Plain)
        });
    }

    fn draw_text(&self, canvas: &mut Canvas, workspace: &Workspace) {
        let record = self.row_in_sight().and_then(|row| workspace.record(row));
        let (Some(Ok(record)), Some(rule)) = (record, &self.rule) else {
            let mut inner = canvas.frame("Output", "");
            if let Some(Err(error)) = record {
                inner.line(0, inner.strip().foreign(error, 400, Role::Warning));
            }
            return;
        };
        let reading = Reading::of(record, rule);
        let after = rule.read(&record.reasoning).pick.unwrap_or(INVALID);
        let theme = canvas.theme;
        let title = text_title(record, after, reading.matches);
        let mut inner = canvas.frame(&title, "Space page").padded();
        let view = output::View {
            size: (inner.width(), inner.height()),
            folds: true,
            find: None,
            renders: false,
        };
        let output = output::lay(record, &reading, view, theme);
        inner.laid(&output.lines, output.from + self.scroll);
    }
}

/// `correct 20.1 -> 24.9%`; exams have each their own accuracy, and none together.
fn corrects(report: &LabReport) -> String {
    let correct = |(name, change): (&str, &Change)| {
        let [before, after] = [change.before, change.after].map(|tally| percent(tally.accuracy()));
        format!("{name} {before} -> {after}%  ")
    };
    match &report.exams[..] {
        [_, _, ..] => report.exams.iter().map(|exam| correct((&exam.name, exam))).collect(),
        _ => correct(("correct", &report.total)),
    }
}

/// `Q884 at 2 · [invalid] -> C · key C · match 1 of 2`
fn text_title(record: &Record, after: &str, matches: usize) -> String {
    let short = |text: &str, width: usize| one_line(text, width, false);
    let matched = match matches {
        0 => "no match".to_owned(),
        all => format!("match 1 of {all}"),
    };
    format!(
        "Q{} at {} · {} -> {} · key {} · {matched}",
        record.question_id,
        record.attempt,
        short(&record.pick, 12),
        short(after, 12),
        short(&record.answer, 9),
    )
}

fn draw_categories(canvas: &mut Canvas, report: Option<&LabReport>) {
    let mut inner = canvas.frame("By category", "% before -> after");
    let Some(report) = report else { return };
    for (row, part) in report.categories.iter().take(inner.height()).enumerate() {
        let [before, after] = [part.before, part.after].map(|tally| 100.0 * tally.accuracy().unwrap_or(0.0));
        let role = match part.after.correct.cmp(&part.before.correct) {
            Ordering::Greater => Role::Correct,
            Ordering::Less => Role::Wrong,
            Ordering::Equal => Role::Plain,
        };
        let strip = inner
            .strip()
            .text(" ")
            .field(&part.name.replace('_', " "), 14, Role::Plain)
            .text(format!(" {before:>5.1} -> {after:>5.1} "))
            .put(format!("{:>+6.1}", after - before), role);
        inner.line(row, strip);
    }
}
