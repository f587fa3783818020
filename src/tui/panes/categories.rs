//! Pane 1: accuracy of each category with its interval as a lighter end of the bar.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::stats::{Interval, Sum, percent};
use crate::text::safe::one_line;
use crate::tui::snapshot::{CategorySum, Report, Snapshot};
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::{Cursor, frame, interval_bar, line, select_line, share_bar};
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
    Category(CategorySum),
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

/// What the pane tells of a line's rows.
#[derive(Debug, Clone, Copy)]
enum Figure {
    /// Accuracy and interval.
    Accuracy,
    /// Of all the line's rows, the share that the filter leaves; beside it their accuracy.
    Share {
        of: usize,
        accuracy: Option<f64>,
        is_right: bool,
    },
    /// Rows of several exams have no accuracy together.
    Nothing,
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
        let shown = report.total.tally;
        let shared = match (is_filtered && shown.n > 0, shown.correct) {
            (true, 0) if shown.invalid == shown.n => Some("invalid"),
            (true, 0) => Some("wrong"),
            (true, correct) if correct == shown.n => Some("right"),
            _ => None,
        };
        let kind = if report.total.has_repeats() {
            "by question"
        } else {
            "Wilson"
        };
        let (title, remark) = match (shared, is_filtered) {
            (Some(outcome), _) => (format!("1 Categories · share {outcome}"), "% right  n".to_owned()),
            (None, false) => ("1 Categories".to_owned(), format!("%  95% {kind}  n")),
            (None, true) => ("1 Categories".to_owned(), format!("% of n shown  95% {kind}")),
        };
        let inner = frame(buffer, area, &title, &remark, focused, theme);
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
            let figure = if shared.is_some() {
                let all = sum(entry, &snapshot.all);
                let has_accuracy = *entry != Entry::All || snapshot.all.one_exam().is_some();
                Figure::Share {
                    of: all.rows(),
                    accuracy: all.accuracy().filter(|_| has_accuracy),
                    is_right: shown.correct > 0,
                }
            } else if *entry == Entry::All && report.one_exam().is_none() {
                Figure::Nothing
            } else {
                Figure::Accuracy
            };
            let y = (row - cursor.top) as u16;
            let spans = Self::line(entry, &sum(entry, report), figure, is_chosen, inner.width, theme);
            line(buffer, inner, y, spans);
            if focused && row == cursor.at {
                select_line(buffer, inner, y, theme);
            }
        }
    }

    fn line(
        entry: &Entry,
        sum: &Sum,
        figure: Figure,
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
        let number = |share: Option<f64>| share.map_or_else(|| "-".to_owned(), |share| percent(Some(share)));
        let value = match figure {
            Figure::Accuracy => sum.accuracy(),
            Figure::Share { of, .. } if of > 0 => Some(sum.rows() as f64 / of as f64),
            Figure::Share { .. } | Figure::Nothing => None,
        };
        let mut spans = vec![
            Span::styled(marker, theme.style(Role::Focus)),
            Span::styled(
                format!("{:<11}", one_line(entry.name(), 11, theme.ascii)),
                theme.style(name_role),
            ),
            Span::raw(format!("{:>5} ", number(value))),
        ];
        let interval = sum.interval().map(Interval::limits);
        match figure {
            Figure::Share { accuracy, is_right, .. } => {
                // A share is no accuracy: it has neither its colour nor its interval.
                let role = if is_right { Role::Dim } else { Role::Wrong };
                spans.extend(share_bar(
                    value.unwrap_or(0.0),
                    bar_width.saturating_sub(6),
                    role,
                    theme,
                ));
                spans.push(Span::styled(format!("{:>6}", number(accuracy)), theme.style(Role::Dim)));
            }
            Figure::Accuracy if !is_heading => {
                spans.extend(interval_bar(value.unwrap_or(0.0), interval, 1.0, bar_width, theme));
            }
            Figure::Accuracy | Figure::Nothing => {
                let interval = interval.filter(|_| value.is_some());
                let limits = interval.map(|(low, high)| format!("{}-{}", percent(Some(low)), percent(Some(high))));
                let text = format!("{:<bar_width$}", limits.unwrap_or_default());
                spans.push(Span::styled(text, theme.style(Role::Dim)));
            }
        }
        let count_role = if sum.rows() == 0 { Role::Mark } else { Role::Plain };
        spans.push(Span::styled(format!("{:>7}", sum.rows()), theme.style(count_role)));
        spans
    }
}

/// The counts of an entry in a report.
fn sum(entry: &Entry, report: &Report) -> Sum {
    match entry {
        Entry::All => report.total,
        Entry::Exam(name) => {
            let exam = report.exams.iter().find(|(known, _)| known == name);
            exam.map(|(_, sum)| *sum).unwrap_or_default()
        }
        Entry::Category(category) => report
            .categories
            .iter()
            .find(|shown| shown.exam == category.exam && shown.code == category.code)
            .map(|shown| shown.sum)
            .unwrap_or_default(),
    }
}
