//! What has landed, as a trace that grows: for browsing, filtering and exporting while the run goes on.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::record::Record;
use crate::trace::{Memory, Rows, Trace};

/// What the trace of a run is that goes on.
pub const AT_WORK: &str = "a run at work";

/// The rows of all exams, in the order in which they landed.
#[derive(Debug, Default)]
pub struct Landing {
    rows: Rows,
    texts: Arc<Memory>,
    /// Exam of each row, and which of the exam's rows it is.
    places: Vec<(usize, usize)>,
    /// Rows of each exam.
    exams: Vec<Vec<u32>>,
    /// Rows that were given out, and when.
    told: usize,
    told_at: Duration,
}

impl Landing {
    pub fn push(&mut self, exam: usize, record: &Arc<Record>) -> u32 {
        if self.exams.len() <= exam {
            self.exams.resize(exam + 1, Vec::new());
        }
        let row = self.rows.len() as u32;
        self.places.push((exam, self.exams[exam].len()));
        self.exams[exam].push(row);
        self.rows.push_record(record);
        self.texts.push(Arc::clone(record));
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
        let places = rows.iter().filter_map(|row| self.places.get(*row as usize));
        let mut own: Vec<usize> = places
            .filter(|(other, _)| *other == exam)
            .map(|(_, row)| *row)
            .collect();
        own.sort_unstable();
        own
    }

    /// The trace as it stands, where it has grown since it was last given out and `pause` has passed.
    pub fn grown(&mut self, name: &str, path: Option<PathBuf>, now: Duration, pause: Duration) -> Option<Trace> {
        let is_soon = self.told > 0 && now.saturating_sub(self.told_at) < pause;
        if self.rows.len() == self.told || is_soon {
            return None;
        }
        self.told = self.rows.len();
        self.told_at = now;
        Some(Trace {
            name: name.to_owned(),
            path,
            kind: AT_WORK.to_owned(),
            rows: self.rows.clone(),
            texts: Arc::clone(&self.texts) as Arc<dyn crate::trace::Texts>,
            manifest: None,
            notices: Vec::new(),
            rule: None,
            members: Vec::new(),
        })
    }
}
