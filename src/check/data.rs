//! Checks of a trace against the question set that its benchmark names.

use std::collections::{HashMap, HashSet};

use anyhow::Result;

use super::{Problem, problem, rows_with_ids};
use crate::benchmark::{Dataset, Question};
use crate::import::count;
use crate::trace::{Trace, hash_prefix};

/// Rows whose records are read because their hash is not the set's.
const COMPARED: usize = 20_000;

pub(super) fn check(trace: &Trace, dataset: &Dataset, problems: &mut Vec<Problem>) -> Result<()> {
    let rows = &trace.rows;
    let Some(benchmark) = rows.benchmark.find(&dataset.name) else {
        return Ok(());
    };
    let known: HashMap<i64, &Question> = dataset
        .questions
        .iter()
        .map(|question| (question.id, question))
        .collect();
    let own: Vec<usize> = (0..rows.len())
        .filter(|row| rows.benchmark.code(*row) == benchmark)
        .collect();
    let pairs: Vec<(usize, &Question)> = own
        .iter()
        .filter_map(|row| Some((*row, *known.get(&rows.question_id[*row])?)))
        .collect();
    let gold: Vec<usize> = pairs
        .iter()
        .filter(|(row, question)| question.answer != rows.answer.get(*row))
        .map(|(row, _)| *row)
        .collect();
    let (texts, options) = changed(trace, &pairs)?;
    for (kind, what, found) in [
        ("gold_differs_from_data", "have another gold than", &gold),
        ("options_changed", "have other options than", &options),
        ("question_changed", "have another text than", &texts),
    ] {
        if !found.is_empty() {
            let detail = format!("{} {what} {}", rows_with_ids(rows, found), dataset.source);
            problems.push(problem(kind, trace, found, detail));
        }
    }
    let held: HashSet<i64> = own.iter().map(|row| rows.question_id[*row]).collect();
    let lacking = dataset
        .questions
        .iter()
        .filter(|question| !held.contains(&question.id))
        .count();
    let is_told = problems
        .iter()
        .any(|problem| problem.kind == "missing_questions" && problem.trace == trace.name);
    if lacking > 0 && !is_told {
        let detail = format!(
            "{} of {} questions are not in this trace",
            count(lacking),
            count(dataset.questions.len())
        );
        let examples = Vec::new();
        problems.push(Problem {
            kind: "missing_questions",
            detail,
            rows: lacking,
            trace: trace.name.clone(),
            examples,
        });
    }
    Ok(())
}

/// Rows whose question's text, and rows whose options, are not the set's.
fn changed(trace: &Trace, pairs: &[(usize, &Question)]) -> Result<(Vec<usize>, Vec<usize>)> {
    let rows = &trace.rows;
    let (mut texts, mut options) = (Vec::new(), Vec::new());
    let suspect = pairs
        .iter()
        .filter(|(row, question)| rows.doc[*row] != 0 && rows.doc[*row] != hash_prefix(&question.doc_hash));
    for (row, question) in suspect.take(COMPARED) {
        let record = trace.texts.record(*row)?;
        if !record.question.is_empty() && record.question != question.question {
            texts.push(*row);
        }
        if !record.options.is_empty() && record.options != question.options {
            options.push(*row);
        }
    }
    Ok((texts, options))
}
