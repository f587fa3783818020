//! The runs that were opened, one a line, to choose which to browse or which two to compare.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::stats::{Interval, Sum, percent};
use crate::text::{count, thousands};
use crate::trace::Trace;

use super::browse::Browse;
use super::canvas::Canvas;
use super::event::Event;
use super::keymap::{Action, On};
use super::screen::Screen;
use super::shared::Shared;
use super::snapshot::Snapshot;
use super::strip::Strip;
use super::theme::Role;
use super::widgets::Cursor;

/// The counts of a run, exam by exam.
pub type Totals = Vec<(Arc<str>, Sum)>;

/// The list of runs.
#[derive(Debug)]
pub struct Runs {
    list: Vec<Arc<Trace>>,
    /// By run; empty until they are counted.
    totals: Vec<Totals>,
    cursor: Cursor,
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
            marked: BTreeSet::new(),
        }
    }

    /// Counts a run, exam by exam.
    pub fn count(trace: &Arc<Trace>) -> Totals {
        Snapshot::of(Arc::clone(trace)).all.exams
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

    /// Browses the run under the cursor, or compares the two that are marked.
    fn open(&self, shared: &mut Shared) {
        let (a, b) = self.pair().map_or((self.cursor.at, None), |(a, b)| (a, Some(b)));
        shared.browse(&self.list[a]);
        let Some(b) = b.map(|b| &self.list[b]) else {
            return shared.push(Browse::default());
        };
        let other = shared.session.others.iter().position(|run| Arc::ptr_eq(&run.trace, b));
        other.map(|other| shared.compare_with(other));
    }
}

impl Screen for Runs {
    fn on(&self) -> On {
        On::Runs
    }

    fn act(&mut self, action: Action, _: &str, shared: &mut Shared) {
        match action {
            Action::Mark => self.mark(),
            Action::Open => self.open(shared),
            _ => {
                let by = action.lines(10).unwrap_or(0);
                self.cursor.step(by, self.list.len());
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
            None => "⏎ browses · Space marks two to compare ",
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
                Some(totals) => put_totals(strip, totals),
                None => strip.dim("counting…"),
            }
        });
    }
}

/// `34.4 [33.7, 35.1] · 13.5% invalid`, with the exam's name where there are several.
fn put_totals<'t>(mut strip: Strip<'t>, totals: &Totals) -> Strip<'t> {
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
