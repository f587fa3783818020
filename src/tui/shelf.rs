//! Texts in sight: whole records, and the heads of questions. What is out of sight gives way.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::record::Record;
use crate::trace::Trace;

use super::snapshot::Snapshot;
use super::worker::{Fetched, Sight};

/// Full records kept beside those in sight, and about how many bytes of text they may hold.
const RECORDS: usize = 96;
const BYTES: usize = 16 << 20;

/// Question heads kept.
const QUESTIONS: usize = 4_000;

/// Which of two traces a text belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Side {
    #[default]
    A,
    B,
}

#[derive(Debug, Default)]
pub struct Shelf {
    side: Side,
    records: HashMap<u32, Result<Arc<Record>, String>>,
    /// By question number.
    questions: HashMap<u32, String>,
    /// Whether the reader has not answered yet.
    is_fetching: bool,
    /// Answers to what was asked before are for other rows.
    stale: usize,
}

impl Shelf {
    pub fn of(side: Side) -> Shelf {
        Shelf {
            side,
            ..Shelf::default()
        }
    }

    /// Forgets everything: the rows are others now.
    pub fn clear(&mut self) {
        self.records.clear();
        self.questions.clear();
        self.stale += usize::from(std::mem::take(&mut self.is_fetching));
    }

    pub fn record(&self, row: u32) -> Option<&Result<Arc<Record>, String>> {
        self.records.get(&row)
    }

    pub fn question(&self, question: u32) -> Option<&str> {
        self.questions.get(&question).map(String::as_str)
    }

    /// What to fetch so that whole records can be shown.
    pub fn missing_records(&mut self, trace: &Arc<Trace>, read: &[u32]) -> Option<Sight> {
        self.sight(trace, Vec::new(), read)
    }

    /// What to fetch so that the given rows can be shown; `None` while the reader is at work or nothing is missing.
    pub fn missing(&mut self, snapshot: &Snapshot, listed: &[u32], read: &[u32]) -> Option<Sight> {
        let mut seen = HashSet::new();
        let questions: Vec<u32> = listed
            .iter()
            .copied()
            .filter(|row| {
                let question = snapshot.question(*row);
                !self.questions.contains_key(&question) && seen.insert(question)
            })
            .collect();
        if !self.is_fetching && self.questions.len() + questions.len() > QUESTIONS {
            let in_sight: HashSet<u32> = listed.iter().map(|row| snapshot.question(*row)).collect();
            self.questions.retain(|question, _| in_sight.contains(question));
        }
        self.sight(&snapshot.trace, questions, read)
    }

    fn sight(&mut self, trace: &Arc<Trace>, questions: Vec<u32>, read: &[u32]) -> Option<Sight> {
        if self.is_fetching {
            return None;
        }
        let records: Vec<u32> = read
            .iter()
            .copied()
            .filter(|row| !self.records.contains_key(row))
            .collect();
        if records.is_empty() && questions.is_empty() {
            return None;
        }
        if self.records.len() + records.len() > RECORDS || self.bytes() > BYTES {
            self.records.retain(|row, _| read.contains(row));
        }
        self.is_fetching = true;
        Some(Sight {
            side: self.side,
            trace: Arc::clone(trace),
            questions,
            records,
        })
    }

    fn bytes(&self) -> usize {
        let size = |record: &Arc<Record>| {
            record.prompt.len() + record.reasoning.len() + record.doc.as_ref().map_or(0, String::len)
        };
        self.records
            .values()
            .filter_map(|record| record.as_ref().ok())
            .map(size)
            .sum()
    }

    /// Takes over what the reader fetched; `question` tells the question number of a row.
    pub fn take(&mut self, fetched: Fetched, question: impl Fn(u32) -> Option<u32>) {
        if self.stale > 0 {
            self.stale -= usize::from(fetched.is_last);
            return;
        }
        for (row, text) in fetched.questions {
            if let Some(question) = question(row) {
                self.questions.insert(question, text);
            }
        }
        self.records.extend(fetched.records);
        self.is_fetching = !fetched.is_last;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Trace;

    fn fetched(rows: &[u32]) -> Fetched {
        let record = |row: &u32| {
            let record = Record {
                question_id: i64::from(*row),
                ..Record::default()
            };
            (*row, Ok(Arc::new(record)))
        };
        Fetched {
            side: Side::A,
            questions: Vec::new(),
            records: rows.iter().map(record).collect(),
            is_last: true,
        }
    }

    #[test]
    fn one_question_at_a_time_is_asked_and_an_answer_for_older_rows_is_dropped() {
        let records = vec![Record::default(); 3];
        let trace = Arc::new(Trace::from_records("t", "t", records));
        let mut shelf = Shelf::default();
        assert!(shelf.missing_records(&trace, &[0, 1]).is_some());
        assert!(shelf.missing_records(&trace, &[2]).is_none(), "the reader is at work");
        shelf.clear();
        assert!(shelf.missing_records(&trace, &[2]).is_some());
        shelf.take(fetched(&[0, 1]), |_| None);
        assert!(shelf.record(0).is_none());
        shelf.take(fetched(&[2]), |_| None);
        assert!(shelf.record(2).is_some());
    }
}
