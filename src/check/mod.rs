//! What is wrong with a trace: seeds that never reached the sampler, rows twice or missing, picks that no rule gives,
//! gold and options that differ, hashes that do not reproduce.

mod across;
mod data;
mod light;
mod picks;
mod records;

use anyhow::Result;
use serde::Serialize;

use crate::benchmark::Dataset;
use crate::text::thousands;
use crate::trace::{Rows, Trace};

/// Something that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// A short word, one of [`KINDS`].
    pub kind: &'static str,
    /// One line in words, with numbers.
    pub detail: String,
    /// How many rows it concerns.
    pub rows: usize,
    /// The trace's name; of two traces, the first's.
    pub trace: String,
    /// Some of the rows, by their number in the trace.
    pub examples: Vec<usize>,
}

/// Every kind of problem and what it means.
pub const KINDS: [(&str, &str); 26] = [
    (
        "identical_attempts",
        "attempts with the same text on most questions: the seed never reached the sampler",
    ),
    ("identical_runs", "two traces with the same text on most questions"),
    ("duplicated_rows", "a question and attempt more than once"),
    ("missing_questions", "questions of the set that are not in the trace"),
    ("missing_attempts", "questions with fewer attempts than others"),
    ("underivable_picks", "stored picks that no known rule gives"),
    (
        "step_1_only",
        "picks that were read by the first step of the authors' chain only",
    ),
    (
        "gold_differs",
        "one question, two golds: between rows, or between traces",
    ),
    ("gold_differs_from_data", "gold that is not the data set's"),
    ("gold_conflict", "answer and answer_index that name different options"),
    (
        "gold_beyond_options",
        "a gold that names no option of its question: the row can never be right",
    ),
    (
        "gold_text",
        "a gold that is the text of an option, beside picks that are letters",
    ),
    (
        "gold_base",
        "golds counted from one that were read from zero, or the other way",
    ),
    (
        "zero_spread",
        "attempts that differ and have the same accuracy, against chance",
    ),
    ("doc_order", "questions that two runs number in another order"),
    (
        "unread_values",
        "golds or picks that name no option while the other side says letters",
    ),
    ("hash_differs", "a stored hash that its text does not give"),
    (
        "options_changed",
        "one question with different options: rows are not comparable",
    ),
    (
        "question_changed",
        "one question with another text than in the data set",
    ),
    ("pick_beyond_options", "a pick that names no option of its question"),
    ("one_letter", "one letter picked throughout"),
    (
        "correct_differs",
        "a stored correct or score that pick and answer do not give",
    ),
    (
        "counts_differ",
        "correct_count, invalid_count or k that the picks do not give",
    ),
    ("picks_differ", "a closed-answer table whose picks are not the trace's"),
    ("broken_rows", "rows of the file that could not be read"),
    ("nan", "NaN where a number belongs"),
];

/// Checks traces one by one and against each other, and against the sets that their benchmarks name. Reads all texts.
pub fn check(traces: &[Trace], data: &[&Dataset]) -> Result<Vec<Problem>> {
    let mut problems = Vec::new();
    let mut hashes = Vec::new();
    for trace in traces {
        light::check(trace, &mut problems);
        for dataset in data {
            data::check(trace, dataset, &mut problems)?;
        }
        hashes.push(picks::check(trace, &mut problems)?);
        records::check(trace, &mut problems)?;
    }
    let sides: Vec<across::Side> = traces
        .iter()
        .zip(&hashes)
        .map(|(trace, hashes)| across::Side::new(trace, hashes))
        .collect();
    for (i, first) in sides.iter().enumerate() {
        for second in &sides[i + 1..] {
            across::check(first, second, &mut problems)?;
        }
    }
    Ok(problems)
}

/// The checks of a title's badge: those that need no texts.
pub fn check_light(trace: &Trace) -> Vec<Problem> {
    let mut problems = Vec::new();
    light::check(trace, &mut problems);
    problems
}

/// Rows that a problem lists.
const EXAMPLES: usize = 20;

fn problem(kind: &'static str, trace: &Trace, rows: &[usize], detail: String) -> Problem {
    let examples = rows.iter().take(EXAMPLES).copied().collect();
    Problem {
        kind,
        detail,
        rows: rows.len(),
        trace: trace.name.clone(),
        examples,
    }
}

/// `12 rows` with the ids of the first questions.
fn rows_with_ids(rows: &Rows, found: &[usize]) -> String {
    let noun = if found.len() == 1 { "row" } else { "rows" };
    format!(
        "{} {noun} (question {})",
        thousands(found.len()),
        first_ids(rows, found)
    )
}

/// `12 questions` with the first ids, for the first rows of questions.
fn questions_with_ids(rows: &Rows, found: &[usize]) -> String {
    let noun = if found.len() == 1 { "question" } else { "questions" };
    format!("{} {noun} ({})", thousands(found.len()), first_ids(rows, found))
}

fn first_ids(rows: &Rows, found: &[usize]) -> String {
    const TOLD: usize = 5;
    let ids: Vec<String> = found
        .iter()
        .take(TOLD)
        .map(|row| rows.question_id[*row].to_string())
        .collect();
    let more = if found.len() > TOLD { ", ..." } else { "" };
    ids.join(", ") + more
}
