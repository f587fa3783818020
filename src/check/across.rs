//! Checks of two traces against each other: options and gold that changed, the same texts twice, tables of picks.

use std::collections::HashMap;

use anyhow::Result;

use super::{Problem, problem, questions_with_ids, rows_with_ids};
use crate::import::CLOSED_KIND;
use crate::text::thousands;
use crate::trace::{Rows, Trace};

/// Questions whose records are compared where their hashes differ.
const COMPARED: usize = 3000;

/// Benchmark, and the question's number; questions of MMLU go by their hash, where there is one (`true`), since every
/// reader of the set numbers them its own way.
type QuestionKey<'a> = (&'a str, bool, i64);

fn key_of(rows: &Rows, row: usize) -> QuestionKey<'_> {
    let benchmark = rows.benchmark.get(row);
    match rows.doc[row] {
        hash if benchmark == "mmlu" && hash != 0 => (benchmark, true, hash as i64),
        _ => (benchmark, false, rows.question_id[row]),
    }
}

/// A trace made ready for being held against others.
pub(super) struct Side<'a> {
    trace: &'a Trace,
    /// A number for each row's text.
    hashes: &'a [u64],
    /// The first row of each question.
    questions: HashMap<QuestionKey<'a>, usize>,
}

impl<'a> Side<'a> {
    pub fn new(trace: &'a Trace, hashes: &'a [u64]) -> Side<'a> {
        let mut questions = HashMap::new();
        for row in 0..trace.rows.len() {
            questions.entry(key_of(&trace.rows, row)).or_insert(row);
        }
        Side {
            trace,
            hashes,
            questions,
        }
    }
}

pub(super) fn check(one: &Side, other: &Side, problems: &mut Vec<Problem>) -> Result<()> {
    let (first, second) = (one.trace, other.trace);
    let mut shared: Vec<(usize, usize)> = one
        .questions
        .iter()
        .filter_map(|(key, row)| Some((*row, *other.questions.get(key)?)))
        .collect();
    shared = only_same(first, second, shared)?;
    if shared.is_empty() {
        return Ok(());
    }
    shared.sort_unstable();
    let is_closed = |trace: &Trace| trace.kind.starts_with(CLOSED_KIND);
    match (is_closed(first), is_closed(second)) {
        (true, false) => join(first, second, problems),
        (false, true) => join(second, first, problems),
        _ => {}
    }
    let gold_differs = |(a, b): &(usize, usize)| {
        let (gold, other) = (first.rows.answer.get(*a), second.rows.answer.get(*b));
        gold != other && !gold.is_empty() && !other.is_empty()
    };
    let golds: Vec<(usize, usize)> = shared.iter().copied().filter(gold_differs).collect();
    let options = changed_options(first, second, &shared)?;
    tell("gold_differs", "another gold", &golds, (first, second), problems);
    tell(
        "options_changed",
        "other options (not comparable)",
        &options,
        (first, second),
        problems,
    );
    doc_order(first, second, problems);
    // Filters of one run read the same outputs.
    if !are_filters(first, second) {
        same_texts(one, other, problems);
    }
    Ok(())
}

/// Whether two traces are what two filters read of one run.
fn are_filters(one: &Trace, other: &Trace) -> bool {
    let is_filter = |trace: &Trace| trace.notices.iter().any(|notice| notice.kind == "filters");
    is_filter(one) && is_filter(other) && one.texts.files() == other.texts.files()
}

/// Questions that both have, by the hashes of their rows, and number in another order.
fn doc_order(first: &Trace, second: &Trace, problems: &mut Vec<Problem>) {
    let (rows, other) = (&first.rows, &second.rows);
    let hashed = |rows: &Rows| -> HashMap<u64, usize> {
        let found = (0..rows.len()).rev().filter(|row| rows.doc[*row] != 0);
        found.map(|row| (rows.doc[row], row)).collect()
    };
    let (own, others) = (hashed(rows), hashed(other));
    let shared = own.iter().filter_map(|(hash, row)| Some((*row, *others.get(hash)?)));
    let is_same = |(a, b): &(usize, usize)| {
        rows.benchmark.get(*a) == other.benchmark.get(*b) && rows.subject.get(*a) == other.subject.get(*b)
    };
    let mut shared: Vec<(usize, usize)> = shared.filter(is_same).collect();
    shared.sort_by_key(|(a, _)| (rows.subject.code(*a), rows.benchmark.code(*a), rows.question_id[*a]));
    let is_moved = |pair: &&[(usize, usize)]| {
        let [(a, b), (next, next_b)] = **pair else { return false };
        rows.subject.code(a) == rows.subject.code(next)
            && rows.benchmark.code(a) == rows.benchmark.code(next)
            && other.question_id[b] > other.question_id[next_b]
    };
    let moved: Vec<(usize, usize)> = shared.windows(2).filter(is_moved).map(|pair| pair[1]).collect();
    tell(
        "doc_order",
        "another place in the order of questions (numbers of the two name different questions)",
        &moved,
        (first, second),
        problems,
    );
}

/// The pairs that ask the same: numbers alone do not tell it of questions of MMLU, so their texts are read.
fn only_same(first: &Trace, second: &Trace, pairs: Vec<(usize, usize)>) -> Result<Vec<(usize, usize)>> {
    let mut same = Vec::with_capacity(pairs.len());
    let mut compared = 0;
    for (a, b) in pairs {
        let (benchmark, by_hash, _) = key_of(&first.rows, a);
        if benchmark == "mmlu" && !by_hash {
            compared += 1;
            if compared > COMPARED {
                continue;
            }
            let (one, other) = (first.texts.record(a)?, second.texts.record(b)?);
            let (one, other) = (one.question.trim(), other.question.trim());
            if one != other && !one.is_empty() && !other.is_empty() {
                continue;
            }
        }
        same.push((a, b));
    }
    Ok(same)
}

fn tell(
    kind: &'static str,
    what: &str,
    found: &[(usize, usize)],
    (first, second): (&Trace, &Trace),
    problems: &mut Vec<Problem>,
) {
    if !found.is_empty() {
        let rows: Vec<usize> = found.iter().map(|(row, _)| *row).collect();
        let detail = format!("{} have {what} in {}", rows_with_ids(&first.rows, &rows), second.name);
        problems.push(problem(kind, first, &rows, detail));
    }
}

fn changed_options(first: &Trace, second: &Trace, shared: &[(usize, usize)]) -> Result<Vec<(usize, usize)>> {
    let mut changed = Vec::new();
    let mut compared = 0;
    for (a, b) in shared.iter().copied() {
        let (count, other) = (first.rows.options[a], second.rows.options[b]);
        if count == 0 || other == 0 {
            continue;
        }
        let may_differ = first.rows.doc[a] != second.rows.doc[b] && compared < COMPARED;
        if count != other {
            changed.push((a, b));
        } else if may_differ {
            compared += 1;
            if first.texts.record(a)?.options != second.texts.record(b)?.options {
                changed.push((a, b));
            }
        }
    }
    Ok(changed)
}

fn same_texts(one: &Side, other: &Side, problems: &mut Vec<Problem>) {
    let (first, second) = (one.trace, other.trace);
    let key = |trace: &'_ Trace, row: usize| (trace.rows.question_id[row], trace.rows.attempt[row]);
    let with_text = |trace: &'_ Trace| {
        (0..trace.rows.len())
            .filter(|row| trace.rows.chars[*row] > 0)
            .collect::<Vec<_>>()
    };
    let rows = with_text(second);
    let texts: HashMap<(i64, u16), usize> = rows.iter().map(|row| (key(second, *row), *row)).collect();
    let (mut same, mut of) = (0, 0);
    for row in with_text(first) {
        let Some(twin) = texts.get(&key(first, row)) else {
            continue;
        };
        if first.rows.benchmark.get(row) == second.rows.benchmark.get(*twin) {
            of += 1;
            same += usize::from(one.hashes[row] == other.hashes[*twin]);
        }
    }
    if same >= 2 && same * 2 > of {
        let detail = format!(
            "{} and {} hold the same text on {} of {} questions: one run twice, or a seed that never reached the sampler",
            first.name,
            second.name,
            thousands(same),
            thousands(of)
        );
        problems.push(Problem {
            kind: "identical_runs",
            detail,
            rows: same,
            trace: first.name.clone(),
            examples: Vec::new(),
        });
    }
}

/// Joins a closed-answer table with the trace it was made from by question: its picks, and its correct_count and
/// invalid_count.
fn join(table: &Trace, trace: &Trace, problems: &mut Vec<Problem>) {
    let key = |trace: &Trace, row: usize| (trace.rows.question_id[row], trace.rows.attempt[row]);
    let picks: HashMap<(i64, u16), usize> = (0..trace.rows.len()).map(|row| (key(trace, row), row)).collect();
    let found: Vec<usize> = (0..table.rows.len())
        .filter(|row| {
            picks
                .get(&key(table, *row))
                .is_some_and(|other| trace.rows.pick.get(*other) != table.rows.pick.get(*row))
        })
        .collect();
    if !found.is_empty() {
        let detail = format!(
            "{} have another pick in {}",
            rows_with_ids(&table.rows, &found),
            trace.name
        );
        problems.push(problem("picks_differ", table, &found, detail));
    }
    let (own, others) = (counts(table), counts(trace));
    let differs = |row: &usize| {
        let question = table.rows.question_id[*row];
        let (own, other) = (own.get(&question), others.get(&question));
        other.is_some() && own.map(|(_, counts)| counts) != other.map(|(_, counts)| counts)
    };
    let mut firsts: Vec<usize> = own.values().map(|(row, _)| *row).filter(differs).collect();
    firsts.sort_unstable();
    if !firsts.is_empty() {
        let detail = format!(
            "{} have another correct_count or invalid_count than {} gives",
            questions_with_ids(&table.rows, &firsts),
            trace.name
        );
        problems.push(problem("counts_differ", table, &firsts, detail));
    }
}

/// Of each question: its first row, how many attempts are right, and how many have no pick.
fn counts(trace: &Trace) -> HashMap<i64, (usize, (usize, usize))> {
    let rows = &trace.rows;
    let mut counts: HashMap<i64, (usize, (usize, usize))> = HashMap::new();
    for row in 0..rows.len() {
        let (_, (correct, invalid)) = counts.entry(rows.question_id[row]).or_insert((row, (0, 0)));
        *correct += usize::from(rows.correct[row]);
        *invalid += usize::from(rows.is_invalid(row));
    }
    counts
}
