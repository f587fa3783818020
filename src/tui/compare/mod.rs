//! Compare: two runs on the same questions, pair by pair.

mod changed;
mod diff;
mod draw;
mod places;
mod screen;
mod tally;
mod texts;

use std::sync::Arc;

use crate::compare::Difference;
use crate::extract::Rule;
use crate::record::Record;
use crate::trace::Trace;

use changed::Changed;
pub use tally::{Listed, Paired, Tallied};
pub use texts::Reading;

use super::shelf::{Shelf, Side};
use super::widgets::Cursor;
use super::worker::Sight;

/// The Compare screen.
#[derive(Debug)]
pub struct Compare {
    paired: Arc<Paired>,
    /// Counts of the view; those of all rows until the first view is counted.
    tallied: Arc<Tallied>,
    listed: Listed,
    /// By [`Listed::ALL`].
    cursors: [Cursor; 3],
    /// Categories by how far the runs are apart, instead of by name.
    by_gap: bool,
    /// The category under the cursor of their list.
    category: Cursor,
    /// Whether the keys go to the categories instead of the pairs.
    reads_categories: bool,
    /// Which text the keys are for; on small screens the one in sight.
    side: Side,
    reading: Reading,
    /// The list of changed questions, where it is open.
    changed: Option<Changed>,
    /// The runs are changing places; the row to go to then.
    swapping: Option<Option<u32>>,
    /// The rule by which B's picks are read.
    rule_of_b: Rule,
    shelf: Shelf,
}

impl Compare {
    fn new(paired: Arc<Paired>, tallied: Arc<Tallied>) -> Compare {
        Compare {
            rule_of_b: Rule::of_texts(paired.b.rule.as_deref()),
            paired,
            tallied,
            category: Cursor::default(),
            reads_categories: false,
            listed: Listed::default(),
            cursors: [Cursor::default(); 3],
            by_gap: false,
            side: Side::A,
            reading: Reading::default(),
            changed: None,
            swapping: None,
            shelf: Shelf::of(Side::B),
        }
    }

    /// The same screen on runs that were read again.
    fn renew(&mut self, paired: Arc<Paired>, tallied: Arc<Tallied>) {
        if !paired.b.rows.begin_with(&self.paired.b.rows) {
            self.shelf.clear();
        }
        self.rule_of_b = Rule::of_texts(paired.b.rule.as_deref());
        self.paired = paired;
        self.count(tallied);
    }

    /// Shows the runs, which have changed places, as `before` did.
    fn take_over(&mut self, before: &Compare) {
        self.listed = match before.listed {
            Listed::AOnly => Listed::BOnly,
            Listed::BOnly => Listed::AOnly,
            Listed::OtherPick => Listed::OtherPick,
        };
        self.by_gap = before.by_gap;
        self.side = before.side;
        self.reading = before.reading;
        self.reading.rewind();
    }

    /// Takes over the counts of a view; the pair under the cursor stays under it where it is still listed.
    fn count(&mut self, tallied: Arc<Tallied>) {
        for (at, listed) in Listed::ALL.into_iter().enumerate() {
            let cursor = &mut self.cursors[at];
            let pair = self.tallied.list(listed).get(cursor.at).copied();
            let line = cursor.at.saturating_sub(cursor.top);
            let list = tallied.list(listed);
            let place = pair.and_then(|pair| list.iter().position(|other| *other == pair));
            *cursor = match place {
                Some(at) => Cursor {
                    at,
                    top: at.saturating_sub(line),
                },
                None => Cursor::default(),
            };
        }
        self.tallied = tallied;
    }

    fn list(&self) -> &Arc<Vec<(u32, u32)>> {
        self.tallied.list(self.listed)
    }

    fn at(&self) -> usize {
        Listed::ALL
            .iter()
            .position(|listed| *listed == self.listed)
            .unwrap_or(0)
    }

    fn cursor(&self) -> Cursor {
        self.cursors[self.at()]
    }

    /// The pair under the cursor: a row of A and a row of B.
    fn pair_in_sight(&self) -> Option<(u32, u32)> {
        self.list().get(self.cursor().at).copied()
    }

    /// One level back within the screen; false where there is none.
    fn step_back(&mut self) -> bool {
        if self.changed.take().is_some() {
            return true;
        }
        let was_inside = self.reading.prompts || self.reads_categories;
        if self.reading.prompts {
            self.reading.turn(|reading| reading.prompts = false);
        } else {
            self.reads_categories = false;
        }
        was_inside
    }

    /// Moves the cursor of the pairs, or of the categories where the keys go there.
    fn move_by(&mut self, by: isize) {
        if self.reads_categories {
            let count = self.tallied.comparison.categories.len();
            self.category.step(by, count);
        } else {
            self.step(by);
        }
    }

    fn step(&mut self, by: isize) {
        let (at, count) = (self.at(), self.list().len());
        let before = self.cursors[at].at;
        self.cursors[at].step(by, count);
        if self.cursors[at].at != before {
            self.reading.rewind();
        }
    }

    /// The next pair that only one run has right, whatever is listed; false where there is none in that direction.
    fn step_discordant(&mut self, forward: bool) -> bool {
        let (a, b) = (&self.paired.a.rows, &self.paired.b.rows);
        let is_discordant = |(x, y): &(u32, u32)| a.correct[*x as usize] != b.correct[*y as usize];
        let (list, from) = (Arc::clone(self.list()), self.cursor().at);
        let found = if forward {
            (from + 1..list.len()).find(|at| is_discordant(&list[*at]))
        } else {
            (0..from.min(list.len())).rev().find(|at| is_discordant(&list[*at]))
        };
        if let Some(place) = found {
            self.step(place as isize - from as isize);
        }
        found.is_some()
    }

    /// Goes to a row of A, in whatever list it stands.
    fn go_to_row(&mut self, row: u32) -> bool {
        let mut listed = vec![self.listed];
        listed.extend(Listed::ALL);
        for list in listed {
            if let Some(at) = self.tallied.list(list).iter().position(|(x, _)| *x == row) {
                self.listed = list;
                let own = self.at();
                self.cursors[own].at = at;
                self.reading.rewind();
                return true;
            }
        }
        false
    }

    fn next_list(&mut self) {
        self.listed = self.listed.next();
        self.reading.rewind();
    }

    /// Keeps the cursor in sight of a list of this height.
    fn settle(&mut self, height: usize) {
        let (at, count) = (self.at(), self.list().len());
        self.cursors[at].settle(count, height);
    }

    /// The categories in the order chosen.
    fn categories(&self) -> Vec<&Difference> {
        let mut categories: Vec<&Difference> = self.tallied.comparison.categories.iter().collect();
        if self.by_gap {
            let gap = |part: &Difference| part.difference().unwrap_or(0.0);
            categories.sort_by(|x, y| gap(y).total_cmp(&gap(x)));
        } else {
            categories.sort_by(|x, y| x.name.cmp(&y.name));
        }
        categories
    }

    /// The rows of B that are read in full.
    fn read_of_b(&self) -> Vec<u32> {
        let mut rows: Vec<u32> = Vec::new();
        if let Some(changed) = &self.changed {
            rows.extend(self.tallied.changed.get(changed.cursor.at).map(|(_, y)| *y));
        }
        rows.extend(self.near().map(|(_, y)| y));
        rows
    }

    /// The rows of A that are read in full.
    fn read_of_a(&self) -> Vec<u32> {
        let mut rows: Vec<u32> = Vec::new();
        if let Some(changed) = &self.changed {
            rows.extend(self.tallied.changed.get(changed.cursor.at).map(|(x, _)| *x));
        }
        rows.extend(self.near().map(|(x, _)| x));
        rows
    }

    /// The pair under the cursor and its neighbours.
    fn near(&self) -> impl Iterator<Item = (u32, u32)> {
        let (list, at) = (Arc::clone(self.list()), self.cursor().at);
        [0, 1, -1]
            .into_iter()
            .filter_map(move |step| list.get(at.checked_add_signed(step)?).copied())
    }

    /// What to fetch of B.
    fn missing(&mut self) -> Option<Sight> {
        let rows = self.read_of_b();
        let trace = Arc::clone(&self.paired.b);
        self.shelf.missing_records(&trace, &rows)
    }

    fn record_of_b(&self, row: u32) -> Option<&Result<Arc<Record>, String>> {
        self.shelf.record(row)
    }

    fn names(&self) -> (&str, &str) {
        fn name(trace: &Trace) -> &str {
            &trace.name
        }
        (name(&self.paired.a), name(&self.paired.b))
    }
}
