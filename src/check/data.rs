//! Checks of a trace against the question set that its benchmark names.

use std::collections::{HashMap, HashSet};

use anyhow::Result;

use super::{Problem, problem, rows_with_ids};
use crate::benchmark::{Dataset, Question};
use crate::record::{Record, letter_index};
use crate::text::thousands;
use crate::trace::{Trace, hash_prefix};

/// Rows whose records are read because their hash is not the set's.
const COMPARED: usize = 20_000;

/// Rows that are not the set's: in their gold, their question's text, their options, or in nothing but a hash they store.
#[derive(Default)]
struct Changed {
    gold: Vec<usize>,
    texts: Vec<usize>,
    options: Vec<usize>,
    hashes: Vec<usize>,
    /// Picks beyond the options that the set has, of rows that do not tell their own.
    beyond: Vec<usize>,
    /// Rows that ask nothing of the set.
    unknown: Vec<usize>,
}

pub(super) fn check(trace: &Trace, dataset: &Dataset, problems: &mut Vec<Problem>) -> Result<()> {
    let rows = &trace.rows;
    let Some(benchmark) = rows.benchmark.find(&dataset.name) else {
        return Ok(());
    };
    let own: Vec<usize> = (0..rows.len())
        .filter(|row| rows.benchmark.code(*row) == benchmark)
        .collect();
    let (changed, held) = compare(trace, dataset, &own)?;
    for (kind, what, found) in [
        ("gold_differs_from_data", "have another gold than", &changed.gold),
        ("options_changed", "have other options than", &changed.options),
        ("question_changed", "have another text than", &changed.texts),
        ("question_changed", "ask a question that is not in", &changed.unknown),
        (
            "pick_beyond_options",
            "pick a letter that is no option in",
            &changed.beyond,
        ),
        (
            "hash_differs",
            "store a doc_hash that is not their row's in",
            &changed.hashes,
        ),
    ] {
        if !found.is_empty() {
            let detail = format!("{} {what} {}", rows_with_ids(rows, found), dataset.source);
            problems.push(problem(kind, trace, found, detail));
        }
    }
    let lacking = dataset
        .questions
        .iter()
        .filter(|question| !held.contains(&hash_prefix(&question.doc_hash)))
        .count();
    let is_told = problems
        .iter()
        .any(|problem| problem.kind == "missing_questions" && problem.trace == trace.name);
    if lacking > 0 && !is_told {
        let detail = format!(
            "{} of {} questions are not in this trace",
            thousands(lacking),
            thousands(dataset.questions.len())
        );
        problems.push(Problem {
            kind: "missing_questions",
            detail,
            rows: lacking,
            trace: trace.name.clone(),
            examples: Vec::new(),
        });
    }
    Ok(())
}

/// What differs, and the hashes of the questions that were found. A row is found by its hash, else by its number; the
/// numbers of MMLU are its reader's own, so there by its text.
fn compare(trace: &Trace, dataset: &Dataset, own: &[usize]) -> Result<(Changed, HashSet<u64>)> {
    let rows = &trace.rows;
    let questions = dataset.questions.iter();
    let by_hash: HashMap<u64, &Question> = questions.clone().map(|one| (hash_prefix(&one.doc_hash), one)).collect();
    let by_id: HashMap<i64, &Question> = questions.clone().map(|one| (one.id, one)).collect();
    let is_numbered = dataset.name != "mmlu";
    let by_text: HashMap<&str, &Question> = questions
        .filter(|_| !is_numbered)
        .map(|one| (one.question.trim(), one))
        .collect();
    let mut changed = Changed::default();
    let mut held = HashSet::new();
    let mut compared = 0;
    for row in own.iter().copied() {
        let known = by_hash.get(&rows.doc[row]).filter(|_| rows.doc[row] != 0);
        let is_unsure = rows.doc[row] != 0 || !is_numbered;
        let record = if known.is_none() && is_unsure && compared < COMPARED {
            compared += 1;
            Some(trace.texts.record(row)?)
        } else {
            None
        };
        let found = match (&record, known) {
            (_, Some(question)) => Some(*question),
            (Some(record), None) if !is_numbered => by_text.get(record.question.trim()).copied(),
            (None, None) if !is_numbered => continue,
            _ => by_id.get(&rows.question_id[row]).copied(),
        };
        let Some(question) = found else {
            changed.unknown.extend(record.map(|_| row));
            continue;
        };
        held.insert(hash_prefix(&question.doc_hash));
        // The options of MMLU come in other orders too: then the right option's text tells.
        let is_shuffled = record
            .as_ref()
            .is_some_and(|record| !is_numbered && record.options != question.options && is_gold_text(record, question));
        if question.answer != rows.answer.get(row) && !is_shuffled {
            changed.gold.push(row);
        }
        if rows.options[row] == 0 && rows.pick_index(row) >= Some(question.options.len()) {
            changed.beyond.push(row);
        }
        if let Some(record) = record {
            changed.take(row, &record, question);
        }
    }
    Ok((changed, held))
}

/// Whether the option that a row holds for right is the one that is right in the set.
fn is_gold_text(record: &Record, question: &Question) -> bool {
    let own = letter_index(&record.answer).and_then(|index| record.options.get(index));
    let other = question.gold.and_then(|index| question.options.get(index));
    own.zip(other).is_some_and(|(own, other)| own.trim() == other.trim())
}

impl Changed {
    /// Compares a row whose hash is not that of its question.
    fn take(&mut self, row: usize, record: &Record, question: &Question) {
        // Without the set's own row, question and options were cut out of a prompt, which strips them.
        let is_same = |own: &str, other: &str| {
            if record.doc.is_some() {
                own == other
            } else {
                own.trim() == other.trim()
            }
        };
        let is_text = !record.question.is_empty() && !is_same(&record.question, &question.question);
        let is_options = !record.options.is_empty()
            && (record.options.len() != question.options.len()
                || !record
                    .options
                    .iter()
                    .zip(&question.options)
                    .all(|(own, other)| is_same(own, other)));
        if is_text {
            self.texts.push(row);
        }
        if is_options {
            self.options.push(row);
        }
        // A hash of the row's own columns differs as they do; one without them was made of the set.
        if record.doc.is_none() && !is_text && !is_options && record.answer == question.answer {
            self.hashes.push(row);
        }
    }
}
