//! Checks on the light columns of one trace.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::{Problem, problem, rows_with_ids};
use crate::record::{self, letter_index};
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
    for Lacking {
        of,
        questions,
        rows,
        most,
    } in lacking_attempts(rows, &by_question)
    {
        tell("missing_attempts", &rows, &|_| {
            let (lacking, questions) = (thousands(rows.len()), thousands(questions));
            format!("{lacking} of {questions} questions{of} have fewer than {most} attempts")
        });
    }
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
    let golds = all(rows, |row| gold_is_beyond(rows, *row));
    tell("gold_beyond_options", &golds, &|found| {
        format!("{found}: {}", kinds_beyond(rows, &golds))
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
    problems.extend(zero_spread(trace, &by_question));
    problems.extend(told_while_opening(trace));
}

/// Golds that are no option, a few of them by name.
fn kinds_beyond(rows: &Rows, golds: &[usize]) -> String {
    let gold = |row: &usize| (rows.answer.get(*row), rows.options[*row]);
    let kinds: BTreeSet<(&str, u8)> = golds.iter().map(gold).collect();
    let kinds = kinds
        .iter()
        .map(|(gold, options)| format!("gold {gold} is not among {options} options"));
    kinds.take(4).collect::<Vec<_>>().join(", ")
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
    record::is_right(pick, answer)
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

fn gold_is_beyond(rows: &Rows, row: usize) -> bool {
    let options = usize::from(rows.options[row]);
    options > 0 && letter_index(rows.answer.get(row)).is_some_and(|gold| gold >= options)
}

/// Questions of one exam that have fewer attempts than others of it.
struct Lacking {
    /// ` of mmlu`, where there are several exams.
    of: String,
    /// Questions of the exam.
    questions: usize,
    /// The first row of each that lacks some.
    rows: Vec<usize>,
    most: usize,
}

/// Each exam by itself, and what is scored by likelihood apart from what is written: that has one attempt by nature.
fn lacking_attempts(rows: &Rows, by_question: &Questions) -> Vec<Lacking> {
    let mut exams: BTreeMap<(u32, bool), Vec<(usize, usize)>> = BTreeMap::new();
    for question in 0..by_question.len() as u32 {
        let attempts: BTreeSet<u16> = by_question
            .rows(question)
            .map(|row| rows.attempt[row as usize])
            .collect();
        let Some(first) = by_question.rows(question).min().map(|row| row as usize) else {
            continue;
        };
        let exam = (rows.benchmark.code(first), rows.scored[first]);
        exams.entry(exam).or_default().push((first, attempts.len()));
    }
    let several = exams.len() > 1;
    let lacking = |((benchmark, _), questions): ((u32, bool), Vec<(usize, usize)>)| {
        let most = questions.iter().map(|(_, attempts)| *attempts).max().unwrap_or(0);
        let name = &rows.benchmark.list()[benchmark as usize];
        Lacking {
            of: if several && !name.is_empty() {
                format!(" of {name}")
            } else {
                String::new()
            },
            questions: questions.len(),
            rows: questions
                .iter()
                .filter(|(_, attempts)| *attempts < most)
                .map(|(first, _)| *first)
                .collect(),
            most,
        }
    };
    exams.into_iter().map(lacking).collect()
}

/// Attempts that differ and are all right equally often, where that is less likely than [`CHANCE`].
///
/// With V the variance of an attempt's right rows (the sum over questions of their unbiased variance between attempts),
/// k attempts that are normal and independent all give one count with a probability of about (2πV)^(-(k-1)/2) / √k.
fn zero_spread(trace: &Trace, by_question: &Questions) -> Option<Problem> {
    const CHANCE: f64 = 0.01;
    let rows = &trace.rows;
    let mut right: BTreeMap<u16, usize> = BTreeMap::new();
    let mut variance = 0.0;
    let attempts = rows.attempt.iter().collect::<BTreeSet<_>>().len();
    let mut asked = 0;
    for question in 0..by_question.len() as u32 {
        let own: Vec<usize> = by_question.rows(question).map(|row| row as usize).collect();
        if own.len() != attempts || own.iter().any(|row| rows.scored[*row]) {
            continue;
        }
        asked += 1;
        for row in &own {
            *right.entry(rows.attempt[*row]).or_default() += usize::from(rows.correct[*row]);
        }
        let share = own.iter().filter(|row| rows.correct[**row]).count() as f64 / own.len() as f64;
        variance += share * (1.0 - share) * own.len() as f64 / (own.len() as f64 - 1.0);
    }
    let first = *right.values().next()?;
    if right.len() < 2 || right.len() != attempts || right.values().any(|count| *count != first) || variance < 0.5 {
        return None;
    }
    let k = attempts as f64;
    let chance = (std::f64::consts::TAU * variance).powf(-(k - 1.0) / 2.0) / k.sqrt();
    let number = match attempts {
        2 => "both attempts".to_owned(),
        _ => format!("all {} attempts", in_words(attempts)),
    };
    let detail = format!(
        "{number} have the same accuracy, {} of {}, though their answers differ: by chance in about {:.1} of 100 such runs",
        thousands(first),
        thousands(asked),
        chance * 100.0
    );
    (chance < CHANCE).then(|| Problem {
        kind: "zero_spread",
        detail,
        rows: asked * attempts,
        trace: trace.name.clone(),
        examples: Vec::new(),
    })
}

fn in_words(number: usize) -> String {
    const WORDS: [&str; 11] = [
        "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    ];
    WORDS
        .get(number)
        .map_or_else(|| thousands(number), |word| (*word).to_owned())
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
        "unread_picks" | "unread_golds" => Some("unread_values"),
        "broken_row" | "cut_file" | "half_line" => Some("broken_rows"),
        "appended_twice" => Some("duplicated_rows"),
        "gold_base" => Some("gold_base"),
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
