//! What has landed, as a trace that grows: for browsing, filtering and exporting while the run goes on. Light columns are in
//! memory, texts stay where the run keeps them.

use std::path::PathBuf;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::record::Record;
use crate::trace::{Field, GrowingTexts, Rows, Texts, Trace, Visit, Wanted};

/// What the trace of a run is that goes on.
pub const AT_WORK: &str = "a run at work";

/// The rows of all exams, in the order in which they landed.
#[derive(Debug, Default)]
pub struct Landing {
    rows: Rows,
    texts: Arc<Landed>,
    /// Rows of each exam.
    exams: Vec<Vec<u32>>,
    /// Traces that were given out; those that somebody still looks at stay as they are.
    given: Vec<Arc<Trace>>,
    /// Rows that were given out, and when.
    told: usize,
    told_at: Duration,
}

/// The texts of the rows, read from their exams'.
#[derive(Debug, Default)]
struct Landed {
    exams: Vec<GrowingTexts>,
    /// Exam of each row, and which of the exam's rows it is.
    places: RwLock<Vec<(u32, u32)>>,
}

impl Landing {
    /// Nothing yet, of exams whose answers are to be read there.
    pub fn new(texts: &[GrowingTexts]) -> Landing {
        Landing {
            texts: Arc::new(Landed {
                exams: texts.to_vec(),
                places: RwLock::default(),
            }),
            ..Landing::default()
        }
    }

    pub fn push(&mut self, exam: usize, record: &Record) -> u32 {
        if self.exams.len() <= exam {
            self.exams.resize(exam + 1, Vec::new());
        }
        let row = self.rows.len() as u32;
        self.texts.push(exam, self.exams[exam].len());
        self.exams[exam].push(row);
        self.rows.push_record(record);
        row
    }

    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// The row of the trace that an exam's row is.
    pub fn row(&self, exam: usize, row: usize) -> Option<u32> {
        self.exams.get(exam)?.get(row).copied()
    }

    /// Of rows of the trace, those of one exam, as its own rows, in order of landing.
    pub fn of_exam(&self, exam: usize, rows: &[u32]) -> Vec<usize> {
        let places = rows.iter().filter_map(|row| self.texts.place(*row as usize));
        let mut own: Vec<usize> = places.filter(|(other, _)| *other == exam).map(|(_, row)| row).collect();
        own.sort_unstable();
        own
    }

    /// The trace as it stands, where it has grown since it was last given out and `pause` has passed. No rows are copied
    /// that were given out before: two traces take turns, and the one that nobody looks at any more gets what it lacks.
    pub fn grown(&mut self, name: &str, path: Option<PathBuf>, now: Duration, pause: Duration) -> Option<Arc<Trace>> {
        let is_soon = self.told > 0 && now.saturating_sub(self.told_at) < pause;
        if self.rows.len() == self.told || is_soon {
            return None;
        }
        self.told = self.rows.len();
        self.told_at = now;
        let free = self.given.iter().position(|trace| Arc::strong_count(trace) == 1);
        let mut trace = match free {
            Some(at) => self.given.swap_remove(at),
            None => {
                let mut trace = Trace::from_records(name, AT_WORK, Vec::new());
                trace.texts = Arc::clone(&self.texts) as Arc<dyn Texts>;
                Arc::new(trace)
            }
        };
        let fresh = Arc::make_mut(&mut trace);
        fresh.path = path;
        for row in fresh.rows.len()..self.rows.len() {
            fresh.rows.push_row(&self.rows, row);
        }
        self.given.push(Arc::clone(&trace));
        Some(trace)
    }
}

impl Landed {
    fn push(&self, exam: usize, row: usize) {
        self.places
            .write()
            .expect("no reader panics while it holds the lock")
            .push((exam as u32, row as u32));
    }

    fn place(&self, row: usize) -> Option<(usize, usize)> {
        let places = self.places.read().expect("no writer panics while it holds the lock");
        places.get(row).map(|(exam, row)| (*exam as usize, *row as usize))
    }

    fn texts(&self, exam: usize) -> Result<&dyn Texts> {
        let texts = self.exams.get(exam).context("the run keeps no texts of this exam")?;
        Ok(&*texts.0)
    }
}

impl Texts for Landed {
    fn record(&self, row: usize) -> Result<Arc<Record>> {
        let (exam, row) = self.place(row).with_context(|| format!("row {row} has not landed"))?;
        self.texts(exam)?.record(row)
    }

    fn scan(&self, field: Field, wanted: &Wanted, visit: &mut Visit) -> Result<()> {
        let rows = self
            .places
            .read()
            .expect("no writer panics while it holds the lock")
            .len();
        for row in (0..rows).filter(|row| wanted(*row)) {
            let record = self.record(row)?;
            if visit(row, field.of(&record)).is_break() {
                break;
            }
        }
        Ok(())
    }
}
