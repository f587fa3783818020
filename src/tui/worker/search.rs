//! A search through texts: rows are told as they are found, and one that was interrupted goes on where it was.

use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::record::Record;
use crate::trace::{Field, Number, SyncWanted, Texts, Visit, VisitNumber, Wanted};

use super::super::snapshot::Snapshot;
use super::{Job, Reply, Selected, Worker};

/// Time between partial answers of a search, after its first hits.
const STREAM_EVERY: Duration = Duration::from_millis(50);

/// A search under way.
#[derive(Default)]
pub(super) struct Search {
    found: Vec<u32>,
    next: usize,
}

/// What of a search has been told.
struct Telling {
    /// Rows told of.
    told: usize,
    is_resumed: bool,
    last: Instant,
    pause: Duration,
}

impl Telling {
    /// Whether rows that were found by now are to be told.
    fn is_due(&self, found: usize) -> bool {
        found > self.told && (self.told == 0 || self.last.elapsed() > self.pause)
    }

    /// Marks what is told as the first hits where it is; telling took since `begun`.
    fn tell(&mut self, found: usize, mut selected: Selected, tell: &mut dyn FnMut(Reply)) {
        selected.is_first_hit = self.told == 0 && !self.is_resumed && found > 0;
        self.told = found;
        tell(Reply::Selected(Arc::new(selected)));
        self.last = Instant::now();
    }
}

impl Worker {
    pub(super) fn search(
        &self,
        snapshot: &Snapshot,
        job: &mut Job,
        interrupted: &dyn Fn() -> bool,
        tell: &mut dyn FnMut(Reply),
    ) {
        let resumes = job.filter.fields().len() == 1;
        let search = job.search.take().filter(|_| resumes).unwrap_or_default();
        let rest = Rest {
            texts: &*snapshot.trace.texts,
            from: search.next,
            until: snapshot.rows().len(),
        };
        let mut telling = Telling {
            told: 0,
            is_resumed: !search.found.is_empty(),
            last: job.asked,
            pause: STREAM_EVERY,
        };
        let (found, next, stopped) = (RefCell::new(search.found), Cell::new(search.next), Cell::new(false));
        let outcome = {
            let job = &*job;
            let go_on = &mut |row: usize| {
                next.set(row + 1);
                if interrupted() {
                    stopped.set(true);
                    return ControlFlow::Break(());
                }
                let known = found.borrow().len();
                if telling.is_due(known) {
                    let begun = Instant::now();
                    let selected = self.selected(snapshot, job, found.borrow().clone(), row + 1, false);
                    telling.tell(known, selected, tell);
                    // Counting what was found may not take a large share of the search.
                    telling.pause = STREAM_EVERY.max(begun.elapsed() * 8);
                }
                ControlFlow::Continue(())
            };
            let hit = &mut |row| {
                found.borrow_mut().push(row);
                ControlFlow::Continue(())
            };
            let context = self.context(snapshot, Some(&job.notes));
            job.filter.select_by_text(&context, &rest, go_on, hit)
        };
        let (found, next) = (found.into_inner(), next.get());
        if outcome.is_ok() && stopped.get() {
            job.search = Some(Search { found, next });
            return;
        }
        job.is_answered = true;
        match outcome {
            Ok(()) => {
                let count = found.len();
                job.found = Arc::new(found.clone());
                let selected = self.selected(snapshot, job, found, snapshot.rows().len(), true);
                telling.tell(count, selected, tell);
            }
            Err(error) => tell(Reply::Failed(format!("{error:#}"))),
        }
    }
}

/// A trace's texts from a row on, so that an interrupted search goes on where it was.
struct Rest<'a> {
    texts: &'a dyn Texts,
    from: usize,
    /// A run at work may have added texts since the rows were taken.
    until: usize,
}

impl Texts for Rest<'_> {
    fn record(&self, row: usize) -> anyhow::Result<Arc<Record>> {
        self.texts.record(row)
    }

    fn scan(&self, field: Field, wanted: &Wanted, visit: &mut Visit) -> anyhow::Result<()> {
        self.texts.scan(
            field,
            &|row| (self.from..self.until).contains(&row) && wanted(row),
            visit,
        )
    }

    fn map(&self, field: Field, wanted: &SyncWanted, number: &Number, visit: &mut VisitNumber) -> anyhow::Result<()> {
        let (from, until) = (self.from, self.until);
        let wanted = |row: usize| (from..until).contains(&row) && wanted(row);
        self.texts.map(field, &wanted, number, visit)
    }
}
