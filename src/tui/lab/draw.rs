//! The Regex lab on the terminal.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Span;

use crate::compare::Flip;
use crate::stats::percent;
use crate::text::safe::one_line;
use crate::text::thousands;
use crate::tui::panes::Room;
use crate::tui::panes::output;
use crate::tui::panes::rows::pad;
use crate::tui::reading::Reading;
use crate::tui::snapshot::pick_text;
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::{frame, laid, line, right, solid_bar};
use crate::tui::workspace::Workspace;

use super::report::Change;
use super::{Kind, Lab, LabReport};

/// Where the parts of the screen stand; empty rectangles for those out of sight.
#[derive(Debug, Clone, Copy, Default)]
pub struct Places {
    pub title: Rect,
    pub rule: Rect,
    pub flips: Rect,
    pub categories: Rect,
    pub rows: Rect,
    pub text: Rect,
    pub footer: Rect,
}

impl Places {
    pub fn of(area: Rect) -> Places {
        let [title, rule, body, footer] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(1),
            Constraint::Min(3),
            Constraint::Length(1),
        ])
        .areas(area);
        let places = Places {
            title,
            rule,
            footer,
            ..Places::default()
        };
        match Room::of(area) {
            Room::Wide => {
                let [left, right] = Layout::horizontal([Constraint::Length(40), Constraint::Min(40)]).areas(body);
                let tall = Kind::ALL.len() as u16 + 2;
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
        usize::from(self.rows.height.saturating_sub(3)).max(1)
    }
}

impl Lab {
    pub fn draw(&self, buffer: &mut Buffer, area: Rect, workspace: &Workspace, theme: &Theme) {
        let places = Places::of(area);
        self.draw_title(buffer, places.title, workspace, theme);
        self.draw_rule(buffer, places.rule, theme);
        let report = self.report.as_deref();
        match Room::of(area) {
            Room::Wide => {
                self.draw_flips(buffer, places.flips, report, theme);
                draw_categories(buffer, places.categories, report, theme);
            }
            Room::Narrow => self.draw_kind_line(buffer, places.flips, report, theme),
            Room::Tiny => {}
        }
        self.draw_rows(buffer, places.rows, workspace, report, theme);
        if places.text.height > 0 {
            self.draw_text(buffer, places.text, workspace, theme);
        }
    }

    fn draw_title(&self, buffer: &mut Buffer, area: Rect, workspace: &Workspace, theme: &Theme) {
        let mut text = " Regex lab".to_owned();
        if let Some(snapshot) = workspace.snapshot.as_deref()
            && area.width >= 100
        {
            text.push_str(&format!(" · {}", one_line(&snapshot.trace.name, 28, theme.ascii)));
        }
        if !workspace.filter.is_empty() {
            text.push_str(&format!(" in «{}»", one_line(&workspace.view.filter, 24, theme.ascii)));
        }
        line(buffer, area, 0, vec![Span::styled(text, theme.style(Role::Title))]);
        let Some(report) = &self.report else {
            right(
                buffer,
                area,
                0,
                vec![Span::styled("reading the outputs… ", theme.style(Role::Dim))],
            );
            return;
        };
        let Change { before, after, .. } = &report.total;
        let correct = |(name, change): (&str, &Change)| {
            let [before, after] = [change.before, change.after].map(|tally| percent(tally.accuracy()));
            format!("{name} {before} -> {after}%  ")
        };
        // Exams have each their own accuracy, and none together.
        let corrects: String = match &report.exams[..] {
            [_, _, ..] => report.exams.iter().map(|exam| correct((&exam.name, exam))).collect(),
            _ => correct(("correct", &report.total)),
        };
        let [invalid_before, invalid_after] = [before, after].map(|tally| percent(tally.invalid_rate()));
        let end = vec![
            Span::styled(format!("{} outputs  ", thousands(before.n)), theme.style(Role::Dim)),
            Span::styled(corrects, theme.style(Role::Correct)),
            Span::styled(
                format!("[invalid] {invalid_before} -> {invalid_after}% "),
                theme.style(Role::Invalid),
            ),
        ];
        right(buffer, area, 0, end);
    }

    fn draw_rule(&self, buffer: &mut Buffer, area: Rect, theme: &Theme) {
        let mut spans = vec![Span::styled(" rule ", theme.style(Role::Key))];
        let room = usize::from(area.width) * 3 / 5;
        if self.is_typing {
            spans.extend(self.input.spans(room, theme));
        } else {
            spans.push(Span::styled(
                one_line(&self.input.text, room, theme.ascii),
                theme.style(Role::Chip),
            ));
        }
        line(buffer, area, 0, spans);
        let gave_up = self.report.as_ref().map_or(0, |report| report.gave_up);
        let (text, role) = match (&self.error, self.is_stale(), gave_up) {
            (Some(error), ..) => (one_line(error, usize::from(area.width) / 3, theme.ascii), Role::Warning),
            (None, true, _) => ("reading…".to_owned(), Role::Dim),
            (None, false, 0) => (":adopt takes it over".to_owned(), Role::Dim),
            (None, false, rows) => (format!("gave up on {} rows", thousands(rows)), Role::Warning),
        };
        right(
            buffer,
            area,
            0,
            vec![Span::styled(format!("{text} "), theme.style(role))],
        );
    }

    fn draw_flips(&self, buffer: &mut Buffer, area: Rect, report: Option<&LabReport>, theme: &Theme) {
        let inner = frame(buffer, area, "What flips", "Tab next", !self.is_typing, theme);
        let counts: Vec<usize> = Kind::ALL
            .map(|kind| report.map_or(0, |report| report.list(kind).len()))
            .to_vec();
        let most = counts.iter().copied().max().unwrap_or(0);
        let bar = usize::from(inner.width).saturating_sub(30);
        for (at, (kind, count)) in Kind::ALL.into_iter().zip(counts).enumerate() {
            let marker = if at == self.kind { ">" } else { " " };
            let role = match kind {
                Kind::Flip(Flip::InvalidToRight | Flip::WrongToRight) => Role::BarFull,
                Kind::FirstAndLast => Role::Dim,
                _ => Role::Wrong,
            };
            let spans = vec![
                Span::styled(marker, theme.style(Role::Focus)),
                Span::raw(format!("{:<18} {:>7} ", kind.label(), thousands(count))),
                solid_bar(count, most, bar, role, theme),
            ];
            line(buffer, inner, at as u16, spans);
            if at == self.kind {
                let place = Rect {
                    y: inner.y + at as u16,
                    height: 1,
                    ..inner
                };
                buffer.set_style(place, theme.style(Role::Selected));
            }
        }
    }

    /// The flips in two lines, where there is no room for a pane.
    fn draw_kind_line(&self, buffer: &mut Buffer, area: Rect, report: Option<&LabReport>, theme: &Theme) {
        for row in 0..2_usize {
            let mut spans = vec![Span::raw(" ")];
            for (at, kind) in Kind::ALL.into_iter().enumerate().skip(row * 4).take(4) {
                let count = report.map_or(0, |report| report.list(kind).len());
                let short = kind
                    .label()
                    .replace("[invalid]", "!")
                    .replace("right", "ok")
                    .replace("wrong", "x")
                    .replace(" -> ", ">");
                let role = if at == self.kind { Role::Selected } else { Role::Plain };
                spans.push(Span::styled(
                    format!(" {short} {} ", thousands(count)),
                    theme.style(role),
                ));
                spans.push(Span::raw(" "));
            }
            line(buffer, area, row as u16, spans);
        }
    }

    fn draw_rows(
        &self,
        buffer: &mut Buffer,
        area: Rect,
        workspace: &Workspace,
        report: Option<&LabReport>,
        theme: &Theme,
    ) {
        let rows = self.rows();
        let place = if rows.is_empty() {
            String::new()
        } else {
            format!("{}/{}", thousands(self.cursor().at + 1), thousands(rows.len()))
        };
        let inner = frame(buffer, area, self.kind().label(), &place, !self.is_typing, theme);
        let (Some(snapshot), Some(report)) = (workspace.snapshot.as_deref(), report) else {
            return;
        };
        let columns = snapshot.rows();
        let header = format!("  {:>6} at {:<9}    {:<9} key question", "qid", "before", "after");
        line(buffer, inner, 0, vec![Span::styled(header, theme.style(Role::Dim))]);
        if rows.is_empty() {
            let text = "  no row does";
            line(buffer, inner, 1, vec![Span::styled(text, theme.style(Role::Dim))]);
            return;
        }
        let height = usize::from(inner.height.saturating_sub(1)).max(1);
        let mut cursor = self.cursor();
        cursor.settle(rows.len(), height);
        for (at, row) in rows.iter().enumerate().skip(cursor.top).take(height) {
            let is_current = at == cursor.at;
            let index = *row as usize;
            let read = report.reads.get(index).copied().unwrap_or_default();
            let after = match (read.pick(), read.is_right()) {
                (pick, true) => format!("{pick} ok"),
                (pick, false) if pick.len() == 1 => format!("{pick} x"),
                (pick, false) => pick,
            };
            let room = usize::from(inner.width).saturating_sub(42);
            let spans = vec![
                Span::styled(if is_current { "▶ " } else { "  " }, theme.style(Role::Focus)),
                Span::raw(format!(
                    "{:>6} {:>2} ",
                    columns.question_id[index], columns.attempt[index]
                )),
                Span::raw(pad(&pick_text(columns, *row), 9, theme)),
                Span::styled(" -> ", theme.style(Role::Dim)),
                Span::styled(
                    pad(&after, 9, theme),
                    theme.style(if read.is_right() { Role::Correct } else { Role::Wrong }),
                ),
                Span::styled(
                    format!(" {} ", pad(columns.answer.get(index), 3, theme)),
                    theme.style(Role::Strong),
                ),
                Span::raw(pad(workspace.question(*row).unwrap_or(""), room, theme)),
            ];
            let y = (at - cursor.top) as u16 + 1;
            line(buffer, inner, y, spans);
            if is_current {
                let place = Rect {
                    y: inner.y + y,
                    height: 1,
                    ..inner
                };
                buffer.set_style(place, theme.style(Role::Selected));
            }
        }
    }

    fn draw_text(&self, buffer: &mut Buffer, area: Rect, workspace: &Workspace, theme: &Theme) {
        let record = self.row_in_sight().and_then(|row| workspace.record(row));
        let (Some(Ok(record)), Some(rule)) = (record, &self.rule) else {
            let inner = frame(buffer, area, "Output", "", false, theme);
            if let Some(Err(error)) = record {
                let error = one_line(error, 400, theme.ascii);
                line(buffer, inner, 0, vec![Span::styled(error, theme.style(Role::Warning))]);
            }
            return;
        };
        let reading = Reading::of(record, rule);
        let after = rule
            .read(&record.reasoning)
            .pick
            .unwrap_or(crate::record::INVALID)
            .to_owned();
        let title = format!(
            "Q{} at {} · {} -> {} · key {} · match 1 of {}",
            record.question_id,
            record.attempt,
            one_line(&record.pick, 12, theme.ascii),
            one_line(&after, 12, theme.ascii),
            one_line(&record.answer, 9, theme.ascii),
            reading.matches
        );
        let title = if reading.matches == 0 {
            title.replace("match 1 of 0", "no match")
        } else {
            title
        };
        let title = one_line(&title, usize::from(area.width).saturating_sub(6), theme.ascii);
        let inner = frame(buffer, area, &title, "Space page", false, theme);
        let inner = Rect {
            x: inner.x + 1,
            width: inner.width.saturating_sub(2),
            ..inner
        };
        let size = (usize::from(inner.width), usize::from(inner.height));
        let output = output::lay(record, &reading, size, true, None, theme);
        let last = output.lines.len().saturating_sub(size.1);
        laid(
            buffer,
            inner,
            &output.lines,
            (output.from + self.scroll).min(last),
            theme,
        );
    }
}

fn draw_categories(buffer: &mut Buffer, area: Rect, report: Option<&LabReport>, theme: &Theme) {
    let inner = frame(buffer, area, "By category", "% before -> after", false, theme);
    let Some(report) = report else { return };
    for (row, part) in report.categories.iter().take(usize::from(inner.height)).enumerate() {
        let [before, after] = [part.before, part.after].map(|tally| 100.0 * tally.accuracy().unwrap_or(0.0));
        let role = match part.after.correct.cmp(&part.before.correct) {
            std::cmp::Ordering::Greater => Role::Correct,
            std::cmp::Ordering::Less => Role::Wrong,
            std::cmp::Ordering::Equal => Role::Plain,
        };
        let spans = vec![
            Span::raw(format!(" {} ", pad(&part.name.replace('_', " "), 14, theme))),
            Span::raw(format!("{before:>5.1} -> {after:>5.1} ")),
            Span::styled(format!("{:>+6.1}", after - before), theme.style(role)),
        ];
        line(buffer, inner, row as u16, spans);
    }
}
