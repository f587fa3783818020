//! Pane 1: accuracy of each category with its interval as a lighter end of the bar.

pub use crate::filter::quoted;
use crate::stats::{Interval, Sum, percent};
use crate::tui::canvas::Canvas;
use crate::tui::snapshot::{CategorySum, Report, Snapshot};
use crate::tui::strip::Strip;
use crate::tui::theme::Role;
use crate::tui::widgets::Cursor;
use crate::tui::workspace::Workspace;

use super::left_out;

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

    /// Whether a filter line chooses the line's rows.
    pub fn is_chosen(&self, filter: &str) -> bool {
        self.word()
            .is_some_and(|word| crate::filter::words(filter).any(|typed| typed == word))
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

/// What the pane tells of a line's rows.
#[derive(Debug, Clone, Copy)]
enum Figure {
    /// Accuracy and interval.
    Accuracy,
    /// Of all the line's rows, the share that the filter leaves; beside it their accuracy.
    Share {
        of: usize,
        accuracy: Option<f64>,
        outcome: &'static str,
    },
    /// Rows of several exams have no accuracy together.
    Nothing,
}

/// The outcome that every row of a filter shares: their accuracy tells nothing then, their share does.
fn shared_outcome(report: &Report) -> Option<&'static str> {
    let shown = report.total.tally;
    match shown.correct {
        _ if shown.n == 0 => None,
        0 if shown.invalid == shown.n => Some("invalid"),
        0 => Some("wrong"),
        correct if correct == shown.n => Some("right"),
        _ => None,
    }
}

impl Categories {
    pub fn draw(&self, canvas: &mut Canvas, workspace: &Workspace) {
        let Some(snapshot) = workspace.snapshot.as_deref() else {
            canvas.frame("1 Categories", "");
            return;
        };
        let is_filtered = !workspace.filter.is_empty();
        let report = match &workspace.selected.facets {
            _ if !is_filtered => &snapshot.all,
            Some(facets) => &**facets,
            None => &workspace.selected.report,
        };
        let shared = shared_outcome(report).filter(|_| is_filtered);
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
        let entries = entries(snapshot);
        let remark = left_out(entries.len(), canvas, &remark);
        let mut inner = canvas.frame(&title, &remark);
        let width = inner.width();
        inner.list(entries.len(), self.cursor, |at, strip| {
            let entry = &entries[at];
            let line = Line {
                entry,
                sum: sum(entry, report),
                figure: figure(entry, report, snapshot, shared.is_some()),
                is_chosen: is_filtered && entry.is_chosen(&workspace.view.filter),
            };
            line.onto(strip, width)
        });
    }
}

fn figure(entry: &Entry, report: &Report, snapshot: &Snapshot, is_shared: bool) -> Figure {
    if is_shared {
        let all = sum(entry, &snapshot.all);
        let has_accuracy = *entry != Entry::All || snapshot.all.one_exam().is_some();
        Figure::Share {
            of: all.rows(),
            accuracy: all.accuracy().filter(|_| has_accuracy),
            outcome: shared_outcome(report).unwrap_or_default(),
        }
    } else if *entry == Entry::All && report.one_exam().is_none() {
        Figure::Nothing
    } else {
        Figure::Accuracy
    }
}

/// A line with its figures.
struct Line<'a> {
    entry: &'a Entry,
    sum: Sum,
    figure: Figure,
    is_chosen: bool,
}

impl Line<'_> {
    fn onto<'t>(&self, strip: Strip<'t>, width: usize) -> Strip<'t> {
        let bar = width.saturating_sub(25).clamp(4, 24);
        let is_heading = !matches!(self.entry, Entry::Category(_));
        let role = if self.is_chosen || is_heading {
            Role::Strong
        } else {
            Role::Plain
        };
        let number = |share: Option<f64>| share.map_or_else(|| "-".to_owned(), |share| percent(Some(share)));
        let value = match self.figure {
            Figure::Accuracy => self.sum.accuracy(),
            Figure::Share { of, .. } if of > 0 => Some(self.sum.rows() as f64 / of as f64),
            Figure::Share { .. } | Figure::Nothing => None,
        };
        let interval = self.sum.interval().map(Interval::limits);
        let strip = strip
            .put(if self.is_chosen { "●" } else { " " }, Role::Focus)
            .field(self.entry.name(), 11, role)
            .text(format!("{:>5} ", number(value)));
        let strip = match self.figure {
            Figure::Share { accuracy, outcome, .. } => {
                // A share is no accuracy: it has neither its colour nor its interval.
                let role = match outcome {
                    "invalid" => Role::Invalid,
                    "wrong" => Role::Wrong,
                    _ => Role::Bar,
                };
                strip
                    .share_bar(value.unwrap_or(0.0), bar.saturating_sub(6), role)
                    .dim(format!("{:>6}", number(accuracy)))
            }
            Figure::Accuracy if !is_heading => strip.interval_bar(value.unwrap_or(0.0), interval, bar),
            Figure::Accuracy | Figure::Nothing => {
                let interval = interval.filter(|_| value.is_some());
                let limits = interval.map(|(low, high)| format!("{}-{}", percent(Some(low)), percent(Some(high))));
                strip.dim(format!("{:<bar$}", limits.unwrap_or_default()))
            }
        };
        let role = if self.sum.rows() == 0 { Role::Mark } else { Role::Plain };
        strip.put(format!("{:>7}", self.sum.rows()), role)
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
