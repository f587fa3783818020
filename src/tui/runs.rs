//! The runs that were opened: one a line, to choose which to browse or which two to compare; or a table of them by category.

use std::collections::BTreeSet;
use std::sync::Arc;

use unicode_width::UnicodeWidthStr;

use crate::stats::{Interval, Sum, percent};
use crate::text::{count, thousands};
use crate::trace::Trace;

use super::browse::Browse;
use super::canvas::Canvas;
use super::event::Event;
use super::keymap::{Action, On};
use super::panes::categories::quoted;
use super::screen::Screen;
use super::shared::Shared;
use super::snapshot::{Report, Snapshot};
use super::strip::Strip;
use super::theme::Role;
use super::widgets::Cursor;

/// The counts of a run: exam by exam, and category by category.
pub type Totals = Report;

/// The list of runs.
#[derive(Debug)]
pub struct Runs {
    list: Vec<Arc<Trace>>,
    /// By run; empty until they are counted.
    totals: Vec<Totals>,
    cursor: Cursor,
    /// Whether the runs stand beside each other, by category.
    is_table: bool,
    /// The line of the table under the cursor; the run is that of the list.
    line: Cursor,
    marked: BTreeSet<usize>,
}

/// Columns of a run's name.
const NAME: usize = 40;

impl Runs {
    pub fn new(list: Vec<Arc<Trace>>) -> Runs {
        Runs {
            list,
            totals: Vec::new(),
            cursor: Cursor::default(),
            is_table: false,
            line: Cursor::default(),
            marked: BTreeSet::new(),
        }
    }

    /// Counts a run, exam by exam.
    pub fn count(trace: &Arc<Trace>) -> Totals {
        Snapshot::of(Arc::clone(trace)).all
    }

    /// Marks the run under the cursor, or no more; of three the first marked gives way.
    fn mark(&mut self) {
        if !self.marked.remove(&self.cursor.at) {
            if self.marked.len() > 1 {
                self.marked.pop_first();
            }
            self.marked.insert(self.cursor.at);
        }
        self.cursor.step(1, self.list.len());
    }

    /// The two runs that are marked.
    fn pair(&self) -> Option<(usize, usize)> {
        let mut marked = self.marked.iter().copied();
        marked.next().zip(marked.next())
    }

    /// Browses the run under the cursor, in the table only its rows of the line; or compares the two that are marked.
    fn open(&self, shared: &mut Shared) {
        let (a, b) = self.pair().map_or((self.cursor.at, None), |(a, b)| (a, Some(b)));
        shared.browse(&self.list[a]);
        let Some(b) = b.map(|b| &self.list[b]) else {
            let line = self.lines().into_iter().nth(self.line.at).filter(|_| self.is_table);
            if let Some(line) = line {
                shared.replace_words(&["exam:", "cat:", "sub:"], line.word());
            }
            return shared.push(Browse::default());
        };
        let other = shared.session.others.iter().position(|run| Arc::ptr_eq(&run.trace, b));
        other.map(|other| shared.compare_with(other));
    }

    /// The lines of the table: each exam with its categories, by name.
    fn lines(&self) -> Vec<Line> {
        let exams: BTreeSet<&Arc<str>> = self
            .totals
            .iter()
            .flat_map(|run| &run.exams)
            .map(|(exam, _)| exam)
            .collect();
        let mut lines = Vec::new();
        for exam in &exams {
            let several = exams.len() > 1;
            let name = if several { exam.to_string() } else { "all".to_owned() };
            lines.push(Line {
                exam: Arc::clone(exam),
                category: None,
                name,
                several,
            });
            let of_exam = self
                .totals
                .iter()
                .flat_map(|run| &run.categories)
                .filter(|part| part.exam == **exam);
            let names: BTreeSet<&Arc<str>> = of_exam.map(|part| &part.name).collect();
            lines.extend(names.into_iter().filter(|name| !name.is_empty()).map(|name| Line {
                exam: Arc::clone(exam),
                category: Some(Arc::clone(name)),
                name: name.replace('_', " "),
                several,
            }));
        }
        lines
    }

    fn draw_table(&self, mut inner: Canvas) {
        let lines = self.lines();
        let longest = lines.iter().map(|line| line.name.width()).max().unwrap_or(0);
        let name = longest.clamp(4, 24).min(inner.width() / 3);
        let room = inner.width().saturating_sub(name + 3);
        let column = (room / self.list.len().max(1)).clamp(CELL, 24);
        let shown = (room / column).clamp(1, self.list.len().max(1));
        let from = (self.cursor.at + 1).saturating_sub(shown);
        let runs = from..(from + shown).min(self.list.len());
        let head = inner.strip().dim(format!("  {:<name$} ", ""));
        let head = runs.clone().fold(head, |strip, at| {
            let mark = if self.marked.contains(&at) {
                strip.theme.mark()
            } else {
                " "
            };
            let role = if at == self.cursor.at {
                Role::Focus
            } else {
                Role::Strong
            };
            strip
                .strong(mark)
                .field(&self.list[at].name, column - 2, role)
                .text(" ")
        });
        inner.line(0, head);
        if lines.is_empty() {
            inner.line(1, inner.strip().dim("  counting…"));
        }
        inner.below(1).list(lines.len(), self.line, |at, strip| {
            let line = &lines[at];
            let role = if line.category.is_none() {
                Role::Strong
            } else {
                Role::Plain
            };
            let strip = strip
                .put(if at == self.line.at { "▶ " } else { "  " }, Role::Focus)
                .field(&line.name, name, role)
                .text(" ");
            runs.clone().fold(strip, |strip, run| {
                let sum = self.totals.get(run).and_then(|totals| line.sum(totals));
                let is_here = at == self.line.at && run == self.cursor.at;
                let role = if is_here { Role::Focus } else { Role::Plain };
                let end = strip.width() + column;
                strip
                    .put(if is_here { "▶" } else { " " }, role)
                    .put(cell(sum), role)
                    .to(end)
            })
        });
    }
}

/// Columns of a cell: `34.4 ±0.7`, with room around it.
const CELL: usize = 13;

/// A line of the table.
struct Line {
    exam: Arc<str>,
    category: Option<Arc<str>>,
    name: String,
    /// Whether there are several exams.
    several: bool,
}

impl Line {
    fn sum(&self, totals: &Totals) -> Option<Sum> {
        let sum = match &self.category {
            None => totals
                .exams
                .iter()
                .find(|(exam, _)| *exam == self.exam)
                .map(|(_, sum)| *sum),
            Some(name) => {
                let mut parts = totals.categories.iter();
                let part = parts.find(|part| part.exam == self.exam && part.name == *name);
                part.map(|part| part.sum)
            }
        };
        sum.filter(|sum| sum.rows() > 0)
    }

    /// The filter word that chooses the line's rows.
    fn word(&self) -> Option<String> {
        match &self.category {
            Some(name) => Some(format!("cat:{}", quoted(name))),
            None => self.several.then(|| format!("exam:{}", quoted(&self.exam))),
        }
    }
}

/// Accuracy with half the width of its interval.
fn cell(sum: Option<Sum>) -> String {
    let Some(sum) = sum else { return "    -".to_owned() };
    let half = sum
        .interval()
        .map(Interval::limits)
        .map(|(low, high)| (high - low) * 50.0);
    let half = half.map_or(String::new(), |half| format!(" ±{half:.1}"));
    format!("{:>5}{half}", percent(sum.accuracy()))
}

impl Screen for Runs {
    fn on(&self) -> On {
        On::Runs
    }

    fn act(&mut self, action: Action, _: &str, shared: &mut Shared) {
        match action {
            Action::Mark => self.mark(),
            Action::Open => self.open(shared),
            Action::NextPane => self.is_table = !self.is_table,
            Action::Left => self.cursor.step(-1, self.list.len()),
            Action::Right => self.cursor.step(1, self.list.len()),
            _ => {
                let by = action.lines(10).unwrap_or(0);
                let count = self.lines().len();
                if self.is_table {
                    self.line.step(by, count);
                } else {
                    self.cursor.step(by, self.list.len());
                }
            }
        }
    }

    fn hear(&mut self, event: &Event, _: &mut Shared) {
        if let Event::RunsCounted(totals) = event {
            self.totals.clone_from(totals);
        }
    }

    fn draw(&self, canvas: &mut Canvas, _: &Shared) {
        let title = format!(" {} open", count(self.list.len(), "run"));
        let hint = match self.pair() {
            Some(_) => "⏎ compares the two marked ",
            None if self.is_table => "⏎ browses the cell · Space marks two to compare · Tab list ",
            None => "⏎ browses · Space marks two to compare · Tab table ",
        };
        canvas.line(0, canvas.strip().put(title, Role::Title));
        let hint = canvas.strip().dim(canvas.theme.key_name(hint));
        canvas.right(0, hint);
        let area = canvas.area();
        let frame = ratatui::layout::Rect {
            y: area.y + 1,
            height: area.height.saturating_sub(2),
            ..area
        };
        let mut place = canvas.at(frame).focus(true);
        if self.is_table {
            return self.draw_table(place.frame("Accuracy by category, 95% interval", ""));
        }
        let mut inner = place.frame("Runs", "");
        let name = NAME.min(inner.width() / 2);
        let header = format!("   {:<name$} {:>9}  correct [95%] · invalid", "run", "rows");
        inner.line(0, inner.strip().dim(header));
        inner.below(1).list(self.list.len(), self.cursor, |at, strip| {
            let mark = if self.marked.contains(&at) {
                strip.theme.mark()
            } else {
                " "
            };
            let strip = strip
                .put(if at == self.cursor.at { "▶" } else { " " }, Role::Focus)
                .strong(mark)
                .text(" ")
                .field(&self.list[at].name, name, Role::Strong)
                .text(format!(" {:>9}  ", thousands(self.list[at].rows.len())));
            match self.totals.get(at) {
                Some(totals) => put_totals(strip, &totals.exams),
                None => strip.dim("counting…"),
            }
        });
    }
}

/// `34.4 [33.7, 35.1] · 13.5% invalid`, with the exam's name where there are several.
fn put_totals<'t>(mut strip: Strip<'t>, totals: &[(Arc<str>, Sum)]) -> Strip<'t> {
    for (at, (exam, sum)) in totals.iter().enumerate() {
        if at > 0 {
            strip = strip.text("   ");
        }
        if totals.len() > 1 {
            strip = strip.foreign(exam, 12, Role::Plain).text(" ");
        }
        let interval = sum
            .interval()
            .map(Interval::limits)
            .map_or(String::new(), |(low, high)| {
                format!(" [{}, {}]", percent(Some(low)), percent(Some(high)))
            });
        strip = strip
            .put(format!("{}%", percent(sum.accuracy())), Role::Correct)
            .dim(interval)
            .put(format!(" · {}%", percent(sum.tally.invalid_rate())), Role::Invalid);
    }
    strip
}
