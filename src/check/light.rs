//! Checks on the light columns of one trace.

use std::collections::{BTreeSet, HashSet};

use super::{Problem, problem, rows_with_ids};
use crate::extract::exact_match;
use crate::record::{INVALID, letter_index};
use crate::stats::{Questions, Slice};
use crate::text::thousands;
use crate::trace::{Rows, Trace};

/// Valid picks below which one letter throughout says nothing.
const FEW: usize = 20;

pub(super) fn check(trace: &Trace, problems: &mut Vec<Problem>) {
    let rows = &trace.rows;
    let mut tell = |kind: &'static str, found: &[usize], text: &dyn Fn(String) -> String| {
        if !found.is_empty() {
            problems.push(problem(kind, trace, found, text(rows_with_ids(rows, found))));
        }
    };
    let by_question = Questions::of(Slice::all(rows));
    tell("duplicated_rows", &duplicated(rows, &by_question), &|found| {
        format!("{found} repeat a question and attempt")
    });
    let (lacking, most) = lacking_attempts(rows, &by_question);
    tell("missing_attempts", &lacking, &|_| {
        format!(
            "{} of {} questions have fewer than {most} attempts",
            thousands(lacking.len()),
            thousands(by_question.len())
        )
    });
    tell(
        "gold_differs",
        &differing(&by_question, |row| rows.answer.code(row)),
        &|found| format!("{found} have another gold than an earlier row of their question"),
    );
    let options = differing(&by_question, |row| u32::from(rows.options[row]));
    tell("options_changed", &options, &|found| {
        format!("{found} have another number of options than an earlier row")
    });
    let beyond = |row: &usize| rows.options[*row] > 0 && rows.pick_index(*row) >= Some(usize::from(rows.options[*row]));
    tell("pick_beyond_options", &all(rows, beyond), &|found| {
        format!("{found} pick a letter that is no option")
    });
    let flagged = |name: &'static str| all(rows, move |row| has_flag(rows, *row, name));
    tell("gold_conflict", &flagged("gold_conflict"), &|found| {
        format!("{found} have an answer and an answer_index that name different options")
    });
    tell("counts_differ", &flagged("count_differs"), &|found| {
        format!("{found} have a correct_count, invalid_count or k that their picks do not give")
    });
    tell("nan", &flagged("nan"), &|found| {
        format!("{found} hold NaN where a number belongs")
    });
    let off = |row: &usize| rows.correct[*row] != is_right(rows, *row) || has_flag(rows, *row, "score_differs");
    tell("correct_differs", &all(rows, off), &|found| {
        format!("{found} are not scored as their pick and answer say")
    });
    problems.extend(one_letter(trace));
    problems.extend(told_while_opening(trace));
}

fn all(rows: &Rows, wanted: impl Fn(&usize) -> bool) -> Vec<usize> {
    (0..rows.len()).filter(wanted).collect()
}

fn has_flag(rows: &Rows, row: usize, name: &str) -> bool {
    let flags = rows.flags.get(row);
    !flags.is_empty() && flags.split(',').any(|flag| flag == name)
}

fn is_right(rows: &Rows, row: usize) -> bool {
    let (pick, answer) = (rows.pick.get(row), rows.answer.get(row));
    if answer.is_empty() {
        // Without a gold, what the file says stands.
        return rows.correct[row];
    }
    pick != INVALID && (pick == answer || exact_match(pick, answer))
}

/// Rows that repeat an earlier row's question, attempt and seed.
fn duplicated(rows: &Rows, by_question: &Questions) -> Vec<usize> {
    let mut found = Vec::new();
    let mut seen: HashSet<(u16, Option<i64>)> = HashSet::new();
    for question in by_question.iter() {
        seen.clear();
        // Equal attempts stand in the order of the file.
        for row in question.map(|row| row as usize) {
            if !seen.insert((rows.attempt[row], rows.seed(row))) {
                found.push(row);
            }
        }
    }
    found.sort_unstable();
    found
}

/// One row of each question that has fewer attempts than most have, and how many most have.
fn lacking_attempts(rows: &Rows, by_question: &Questions) -> (Vec<usize>, usize) {
    let attempts = |question: u32| {
        let mut last = None;
        let attempts = by_question.rows(question).map(|row| rows.attempt[row as usize]);
        attempts
            .filter(|attempt| last.replace(*attempt) != Some(*attempt))
            .count()
    };
    let questions = || 0..by_question.len() as u32;
    let most = questions().map(attempts).max().unwrap_or(0);
    let lacking = questions().filter(|question| attempts(*question) < most);
    let first = lacking.filter_map(|question| by_question.rows(question).min());
    (first.map(|row| row as usize).collect(), most)
}

/// Rows whose value is not that of their question's first row.
fn differing(by_question: &Questions, value: impl Fn(usize) -> u32) -> Vec<usize> {
    let mut found = Vec::new();
    for question in by_question.iter() {
        let Some(first) = question.clone().min().map(|row| value(row as usize)) else {
            continue;
        };
        let rows = question.map(|row| row as usize);
        found.extend(rows.filter(|row| value(*row) != first));
    }
    found.sort_unstable();
    found
}

/// One letter throughout: in all rows, else in single attempts.
fn one_letter(trace: &Trace) -> Vec<Problem> {
    let rows = &trace.rows;
    let picked = all(rows, |row| letter_index(rows.pick.get(*row)).is_some());
    let is_one = |found: &[usize]| {
        let first = found.first().map(|row| rows.pick.code(*row));
        let golds: HashSet<u32> = found.iter().map(|row| rows.answer.code(*row)).collect();
        let is_same = found.iter().all(|row| Some(rows.pick.code(*row)) == first);
        found.len() >= FEW && golds.len() > 1 && is_same
    };
    let told = |found: &[usize], of: &str| {
        let detail = format!(
            "every one of {} picks{of} is {}",
            thousands(found.len()),
            rows.pick.get(found[0])
        );
        problem("one_letter", trace, found, detail)
    };
    if is_one(&picked) {
        return vec![told(&picked, "")];
    }
    let attempts: BTreeSet<u16> = picked.iter().map(|row| rows.attempt[*row]).collect();
    let of_attempt = |attempt: u16| -> Vec<usize> {
        let own = picked.iter().copied();
        own.filter(|row| rows.attempt[*row] == attempt).collect()
    };
    attempts
        .into_iter()
        .map(|attempt| (attempt, of_attempt(attempt)))
        .filter(|(_, found)| is_one(found))
        .map(|(attempt, found)| told(&found, &format!(" of attempt {attempt}")))
        .collect()
}

/// What opening the file has told already.
fn told_while_opening(trace: &Trace) -> Vec<Problem> {
    let kind_of = |notice: &str| match notice {
        "missing_rows" | "sample_count" => Some("missing_questions"),
        "broken_row" | "cut_file" | "half_line" => Some("broken_rows"),
        _ => None,
    };
    let told = trace.notices.iter().filter_map(|notice| {
        let digits: String = notice
            .text
            .chars()
            .take_while(|c| c.is_ascii_digit() || *c == ',')
            .filter(char::is_ascii_digit)
            .collect();
        let rows = digits.parse().unwrap_or(0);
        let kind = kind_of(&notice.kind)?;
        Some(Problem {
            kind,
            detail: notice.text.clone(),
            rows,
            trace: trace.name.clone(),
            examples: Vec::new(),
        })
    });
    told.collect()
}
