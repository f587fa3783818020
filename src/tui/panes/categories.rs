//! Pane 1: accuracy of each category with its interval as a lighter end of the bar.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::text::safe::one_line;
use crate::tui::snapshot::{CategoryTally, Report, Snapshot, Tally};
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::{Cursor, frame, interval_bar, line, select_line};
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
    Exam(std::sync::Arc<str>),
    Category(CategoryTally),
}

/// The lines of the pane, from top to bottom.
pub fn entries(snapshot: &Snapshot) -> Vec<Entry> {
    let mut entries = vec![Entry::All];
    let several = snapshot.has_several_exams();
    for (at, category) in snapshot.all.categories.iter().enumerate() {
        let is_first = at == 0 || snapshot.all.categories[at - 1].exam != category.exam;
        if several && is_first {
            entries.push(Entry::Exam(category.exam.clone()));
        }
        entries.push(Entry::Category(category.clone()));
    }
    entries
}

impl Entry {
    fn name(&self) -> &str {
        match self {
            Entry::All => "all",
            Entry::Exam(name) => name,
            Entry::Category(category) => &category.name,
        }
    }

    /// The filter word that chooses the line's rows.
    pub fn word(&self) -> Option<String> {
        match self {
            Entry::All => None,
            Entry::Exam(name) => Some(format!("exam:{}", quoted(name))),
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
        let report = match &workspace.selected.facets {
            _ if !is_filtered => &snapshot.all,
            Some(facets) => &**facets,
            None => &workspace.selected.report,
        };
        // Where every row in sight has the same outcome, their accuracy tells nothing, their share does.
        let total = &report.total;
        let shows_share = is_filtered && total.rows > 0 && (total.correct == 0 || total.correct == total.rows);
        let kind = if total.is_clustered() { "by question" } else { "Wilson" };
        let remark = match (is_filtered, shows_share) {
            (false, _) => format!("%  95% {kind}  n"),
            (true, false) => format!("% of n shown  95% {kind}"),
            (true, true) => "n shown: % of all its rows".to_owned(),
        };
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
            let is_chosen = is_filtered
                && entry
                    .word()
                    .is_some_and(|word| workspace.view.filter.split(' ').any(|typed| typed == word));
            let tally = tally(entry, report);
            let all = shows_share.then(|| self::tally(entry, &snapshot.all).rows);
            let y = (row - cursor.top) as u16;
            line(
                buffer,
                inner,
                y,
                Self::line(entry, &tally, all, is_chosen, inner.width, theme),
            );
            if focused && row == cursor.at {
                select_line(buffer, inner, y, theme);
            }
        }
    }

    /// One line; `all` are the rows without the filter, where the share of them is shown instead of the accuracy.
    fn line(
        entry: &Entry,
        tally: &Tally,
        all: Option<usize>,
        is_chosen: bool,
        width: u16,
        theme: &Theme,
    ) -> Vec<Span<'static>> {
        let bar_width = usize::from(width).saturating_sub(25).clamp(4, 24);
        let is_heading = !matches!(entry, Entry::Category(_));
        let marker = if is_chosen { ">" } else { " " };
        let name_role = if is_chosen || is_heading {
            Role::Strong
        } else {
            Role::Plain
        };
        let (share, interval) = match all {
            Some(all) => (tally.rows as f64 / all.max(1) as f64, None),
            None => (tally.accuracy(), tally.interval),
        };
        let figure = if tally.rows == 0 {
            format!("{:>5} ", "-")
        } else {
            format!("{:>5.1} ", share * 100.0)
        };
        let mut spans = vec![
            Span::styled(marker, theme.style(Role::Focus)),
            Span::styled(
                format!("{:<11}", one_line(entry.name(), 11, theme.ascii)),
                theme.style(name_role),
            ),
            Span::raw(figure),
        ];
        if is_heading {
            let interval = interval.map(|(low, high)| format!("{:.1}-{:.1}", low * 100.0, high * 100.0));
            spans.push(Span::styled(
                format!("{:<bar_width$}", interval.unwrap_or_default()),
                theme.style(Role::Dim),
            ));
        } else {
            spans.extend(interval_bar(share, interval, 1.0, bar_width, theme));
        }
        let count_role = if tally.rows == 0 { Role::Mark } else { Role::Plain };
        spans.push(Span::styled(format!("{:>7}", tally.rows), theme.style(count_role)));
        spans
    }
}

/// The counts of an entry in a report.
fn tally(entry: &Entry, report: &Report) -> Tally {
    match entry {
        Entry::All => report.total,
        Entry::Exam(name) => {
            let exam = report.exams.iter().find(|(known, _)| known == name);
            exam.map(|(_, tally)| *tally).unwrap_or_default()
        }
        Entry::Category(category) => report
            .categories
            .iter()
            .find(|shown| shown.exam == category.exam && shown.code == category.code)
            .map(|shown| shown.tally)
            .unwrap_or_default(),
    }
}
