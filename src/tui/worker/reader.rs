//! The reader: fetches the texts in sight.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::record::Record;
use crate::trace::{Field, Trace};

use super::super::shelf::Side;

/// Texts that the screen needs in sight.
#[derive(Debug, Clone)]
pub struct Sight {
    pub side: Side,
    pub trace: Arc<Trace>,
    /// Rows of which the question is shown.
    pub questions: Vec<u32>,
    /// Rows that are read in full, the most urgent first.
    pub records: Vec<u32>,
}

/// What the reader fetched.
#[derive(Debug, Clone)]
pub struct Fetched {
    pub side: Side,
    pub questions: Vec<(u32, String)>,
    pub records: Vec<(u32, Result<Arc<Record>, String>)>,
    /// Whether all that was asked for is told.
    pub is_last: bool,
}

/// Code points of a question kept for a list.
const QUESTION_HEAD: usize = 400;

/// Fetches the texts in sight; the full records come first, one answer each kind.
pub fn fetch(sight: &Sight, tell: &mut dyn FnMut(Fetched)) {
    if !sight.records.is_empty() {
        let records = read_records(&sight.trace, &sight.records);
        tell(Fetched {
            side: sight.side,
            questions: Vec::new(),
            records,
            is_last: sight.questions.is_empty(),
        });
    }
    if sight.questions.is_empty() {
        return;
    }
    let wanted: HashSet<usize> = sight.questions.iter().map(|row| *row as usize).collect();
    let mut questions = Vec::new();
    let visit = &mut |row: usize, text: &str| {
        questions.push((row as u32, text.chars().take(QUESTION_HEAD).collect()));
        if questions.len() == wanted.len() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let outcome = sight
        .trace
        .texts
        .scan(Field::Question, &|row| wanted.contains(&row), visit);
    let records = match outcome {
        Ok(()) => Vec::new(),
        Err(error) => vec![(sight.questions[0], Err(format!("{error:#}")))],
    };
    // A question without text must not be asked for again and again.
    let known: HashSet<u32> = questions.iter().map(|(row, _)| *row).collect();
    questions.extend(
        sight
            .questions
            .iter()
            .filter(|row| !known.contains(row))
            .map(|row| (*row, String::new())),
    );
    tell(Fetched {
        side: sight.side,
        questions,
        records,
        is_last: true,
    });
}

fn read_records(trace: &Trace, rows: &[u32]) -> Vec<(u32, Result<Arc<Record>, String>)> {
    let wanted: Vec<usize> = rows.iter().map(|row| *row as usize).collect();
    // Reads the neighbourhood in one go into the trace's cache; each record is then taken as it is shown.
    let together = trace.texts.records(&wanted);
    rows.iter()
        .map(|row| {
            let record = match &together {
                Ok(_) => trace.record(*row as usize),
                Err(error) => trace
                    .record(*row as usize)
                    .map_err(|own| own.context(format!("{error:#}"))),
            };
            (*row, record.map_err(|error| format!("{error:#}")))
        })
        .collect()
}
