//! Pane 1: accuracy of each category with its interval as a lighter end of the bar.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::tui::safe::one_line;
use crate::tui::snapshot::{CategoryTally, Report, Snapshot, Tally};
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::{Cursor, frame, interval_bar, line};
use crate::tui::workspace::Workspace;

#[derive(Debug, Default)]
pub struct Categories {
    pub cursor: Cursor,
}

/// One line of the pane.
#[derive(Debug, Clone, PartialEq)]
pub enum Entry {
    All,
    /// The exam's own line, where there are several.
    Exam(std::sync::Arc<str>, Tally),
    Category(CategoryTally),
}

/// The lines of the pane, from top to bottom.
pub fn entries(snapshot: &Snapshot) -> Vec<Entry> {
    let mut entries = vec![Entry::All];
    let several = snapshot.has_several_exams();
    for (at, category) in snapshot.all.categories.iter().enumerate() {
        let is_first = at == 0 || snapshot.all.categories[at - 1].exam != category.exam;
        if several && is_first {
            let exam = snapshot.all.exams.iter().find(|(name, _)| *name == category.exam);
            entries.push(Entry::Exam(
                category.exam.clone(),
                exam.map(|(_, tally)| *tally).unwrap_or_default(),
            ));
        }
        entries.push(Entry::Category(category.clone()));
    }
    entries
}

impl Entry {
    /// The filter word that chooses the line's rows.
    pub fn word(&self) -> Option<String> {
        match self {
            Entry::All => None,
            Entry::Exam(name, _) => Some(format!("exam:{}", quoted(name))),
            Entry::Category(category) => Some(format!("cat:{}", quoted(&category.name))),
        }
    }
}

/// A name as a filter word's value.
pub fn quoted(name: &str) -> String {
    if name.contains([' ', ',', '|']) {
        format!("\"{name}\"")
    } else {
        name.to_owned()
    }
}

impl Categories {
    pub fn draw(&self, buffer: &mut Buffer, area: Rect, workspace: &Workspace, focused: bool, theme: &Theme) {
        let Some(snapshot) = workspace.snapshot.as_deref() else {
            frame(buffer, area, "1 Categories", "", focused, theme);
            return;
        };
        let is_filtered = !workspace.filter.is_empty();
        let kind = if snapshot.all.total.is_clustered() {
            "by question"
        } else {
            "Wilson"
        };
        let remark = format!("%  95% {kind}  {}", if is_filtered { "shown" } else { "n" });
        let inner = frame(buffer, area, "1 Categories", &remark, focused, theme);
        let entries = entries(snapshot);
        let mut cursor = self.cursor;
        cursor.settle(entries.len(), usize::from(inner.height));
        for (row, entry) in entries
            .iter()
            .enumerate()
            .skip(cursor.top)
            .take(usize::from(inner.height))
        {
            let shown = shown(entry, &workspace.selected.report);
            let is_chosen = is_filtered
                && entry
                    .word()
                    .is_some_and(|word| workspace.view.filter.split(' ').any(|typed| typed == word));
            let spans = self.line(
                entry,
                &snapshot.all.total,
                is_filtered.then_some(shown),
                is_chosen,
                inner.width,
                theme,
            );
            let y = (row - cursor.top) as u16;
            line(buffer, inner, y, spans);
            if focused && row == cursor.at {
                buffer.set_style(
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
        entry: &Entry,
        all: &Tally,
        shown: Option<usize>,
        is_chosen: bool,
        width: u16,
        theme: &Theme,
    ) -> Vec<Span<'static>> {
        let bar_width = usize::from(width).saturating_sub(24).clamp(4, 24);
        let (name, tally) = match entry {
            Entry::All => ("all", *all),
            Entry::Exam(name, tally) => (&**name, *tally),
            Entry::Category(category) => (&*category.name, category.tally),
        };
        let is_heading = !matches!(entry, Entry::Category(_));
        let marker = if is_chosen { ">" } else { " " };
        let name_role = if is_chosen || is_heading {
            Role::Strong
        } else {
            Role::Plain
        };
        let count = shown.unwrap_or(tally.rows);
        let count_role = if shown == Some(0) { Role::Mark } else { Role::Plain };
        let mut spans = vec![
            Span::styled(marker, theme.style(Role::Focus)),
            Span::styled(
                format!("{:<11}", one_line(name, 11, theme.ascii)),
                theme.style(name_role),
            ),
            Span::raw(format!("{:>5.1} ", tally.accuracy() * 100.0)),
        ];
        if is_heading {
            let interval = tally
                .interval
                .map(|(low, high)| format!("{:.1}-{:.1}", low * 100.0, high * 100.0));
            spans.push(Span::styled(
                format!("{:<bar_width$}", interval.unwrap_or_default()),
                theme.style(Role::Dim),
            ));
        } else {
            spans.extend(interval_bar(tally.accuracy(), tally.interval, 1.0, bar_width, theme));
        }
        spans.push(Span::styled(format!("{count:>6}"), theme.style(count_role)));
        spans
    }
}

/// Rows of an entry that the filter leaves.
fn shown(entry: &Entry, report: &Report) -> usize {
    match entry {
        Entry::All => report.total.rows,
        Entry::Exam(name, _) => report
            .categories
            .iter()
            .filter(|shown| shown.exam == *name)
            .map(|shown| shown.tally.rows)
            .sum(),
        Entry::Category(category) => report
            .categories
            .iter()
            .find(|shown| shown.exam == category.exam && shown.code == category.code)
            .map_or(0, |shown| shown.tally.rows),
    }
}
