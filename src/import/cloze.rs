//! Tables with one row an option: the log-probability of its letter after a cloze prompt.

use std::sync::LazyLock;

use regex::Regex;

use super::head::Head;
use super::json::Object;
use super::layout::{Answer, Entry, Layout, RowError, Sniffed, Tally, flag, mark};
use crate::benchmark::hash::hash_text;
use crate::record::{Record, letter, letter_index};

#[derive(Debug, Clone)]
pub(crate) struct Cloze;

pub(crate) fn sniff(head: &Head) -> Option<Sniffed> {
    let row = head.rows.first()?;
    let columns = ["preamble", "stimulus", "is_correct", "stimulus_prob"];
    if !columns.iter().all(|column| row.has(column)) {
        return None;
    }
    Some(Sniffed {
        split: row.text("subject").filter(|subject| !subject.is_empty()),
        ..Sniffed::new("cloze", Cloze, head.shape.clone())
    })
}

/// A letter in brackets near a preamble's end: `..., answer (B) is the`.
static ASKED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\(([A-Z])\)[^()]{0,40}$").expect("the pattern is fixed and valid"));

/// The letter that a row scores, and the preamble without it.
fn scored_letter(row: &Object) -> Option<(usize, String)> {
    let preamble = row.text("preamble")?;
    let stimulus = row.text("stimulus")?;
    if let Some(index) = letter_index(stimulus.trim()) {
        return Some((index, preamble));
    }
    let asked = ASKED.captures(&preamble)?.get(1)?;
    let index = letter_index(asked.as_str())?;
    let masked = format!("{}_{}", &preamble[..asked.start()], &preamble[asked.end()..]);
    Some((index, masked))
}

impl Layout for Cloze {
    fn answers(&self, entry: &Entry) -> Result<Vec<Answer>, RowError> {
        let mut questions: Vec<Vec<(usize, Object)>> = Vec::new();
        for row in entry.objects()? {
            let (index, _) = scored_letter(&row).ok_or("no option letter in stimulus or preamble")?;
            match questions.last_mut() {
                Some(rows) if rows.iter().all(|(known, _)| *known != index) => rows.push((index, row)),
                _ => questions.push(vec![(index, row)]),
            }
        }
        let numbered = questions.iter().enumerate();
        numbered
            .map(|(attempt, rows)| answer(rows, entry.number as i64, attempt as i64))
            .collect()
    }

    fn kind(&self, tally: &Tally) -> String {
        let subjects = tally.several("subjects");
        format!("table of log-probabilities, one row an option{subjects}")
    }

    fn group(&self, entry: &Entry) -> Option<String> {
        let row = entry.object().ok()?;
        scored_letter(&row).map(|(_, preamble)| preamble)
    }
}

fn answer(rows: &[(usize, Object)], order: i64, attempt: i64) -> Result<Answer, RowError> {
    let count = rows.iter().map(|(index, _)| index + 1).max().unwrap_or(0);
    if rows.len() < 2 {
        return Err("a single option".into());
    }
    let mut logprobs = vec![f64::NEG_INFINITY; count];
    let mut gold = None;
    for (index, row) in rows {
        logprobs[*index] = row
            .text("stimulus_prob")
            .and_then(|text| total(&text))
            .ok_or("no number in stimulus_prob")?;
        if row.get("is_correct").and_then(super::json::Raw::truth) == Some(true) {
            gold = Some(*index);
        }
    }
    let first = &rows[0].1;
    let prompt = first.text("preamble").unwrap_or_default();
    let (question, options) = parts(&prompt, count);
    let subject = first.text("subject").unwrap_or_default();
    let letter_text = |index: Option<usize>| index.and_then(letter).map(String::from);
    let mut record = Record {
        question_id: order,
        attempt,
        benchmark: "mmlu".to_owned(),
        category: subject.clone(),
        subject,
        prompt_hash: hash_text(&prompt),
        prompt,
        question,
        options,
        pick: letter_text(crate::extract::argmax::argmax_first(&logprobs)).unwrap_or_default(),
        answer: letter_text(gold).unwrap_or_default(),
        logprobs: Some(logprobs.iter().map(|number| *number as f32).collect()),
        ..Record::default()
    };
    if logprobs.iter().any(|number| number.is_nan()) {
        flag(&mut record, "nan");
    }
    mark(&mut record);
    Ok(Answer {
        record,
        order,
        is_local_id: true,
        ..Answer::default()
    })
}

/// The sum of a written list of numbers: one a token.
fn total(text: &str) -> Option<f64> {
    let inner = text.trim().trim_start_matches('[').trim_end_matches(']');
    inner.split(',').map(|number| number.trim().parse::<f64>().ok()).sum()
}

/// The question and its options in `question (A) one (B) two and (C) three. Of the answer choices ...`.
fn parts(preamble: &str, count: usize) -> (String, Vec<String>) {
    let marks: Vec<String> = (0..count).filter_map(letter).map(|name| format!("({name}) ")).collect();
    let mut starts = Vec::new();
    let mut from = 0;
    for mark in &marks {
        let Some(found) = preamble[from..].find(mark) else {
            return (preamble.to_owned(), Vec::new());
        };
        starts.push(from + found);
        from += found + mark.len();
    }
    let Some(first) = starts.first() else {
        return (preamble.to_owned(), Vec::new());
    };
    let end = preamble[from..]
        .find(". Of the answer choices")
        .map_or(preamble.len(), |at| from + at);
    let stops = starts.iter().skip(1).copied().chain([end]);
    let option = |(start, stop): (&usize, usize)| {
        let text = preamble[start + 4..stop.max(start + 4)].trim();
        text.strip_suffix(" and").unwrap_or(text).to_owned()
    };
    (
        preamble[..*first].trim().to_owned(),
        starts.iter().zip(stops).map(option).collect(),
    )
}
