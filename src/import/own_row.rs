//! Rows of our own columns in JSON or in a table, as our exports write them.

use super::json::{Object, Raw};
use super::layout::{completion_text, flag};
use super::values::choices_of;
use crate::record::{Finish, INVALID, Record, is_right, split_prompt};
use crate::rows::nothing::is_nothing;

/// A record out of its own columns; a table has its numbers, truth values and lists as texts.
pub(super) fn own_record(row: &Object) -> Record {
    let text = |name: &str| row.get(name).map(Raw::shown).unwrap_or_default();
    let maybe = |name: &str| row.get(name).map(Raw::shown).filter(|text| !text.is_empty());
    let int = |name: &str| row.get(name).and_then(Raw::int);
    let float = |name: &str| row.get(name).and_then(Raw::float).map(|number| number as f32);
    let list = |name: &str| row.get(name).filter(|raw| raw.is_list()).map(Raw::list);
    let mut record = Record {
        question_id: int("question_id").unwrap_or(0),
        attempt: int("attempt").unwrap_or(0),
        category: text("category"),
        prompt: text("prompt"),
        pick: maybe("pick")
            .filter(|pick| !is_nothing(pick))
            .unwrap_or_else(|| INVALID.to_owned()),
        answer: text("answer"),
        doc_hash: text("doc_hash"),
        prompt_hash: text("prompt_hash"),
        benchmark: text("benchmark"),
        subject: maybe("subject").unwrap_or_else(|| text("category")),
        question: text("question"),
        options: row.get("options").map(|raw| choices_of(raw).texts).unwrap_or_default(),
        doc: maybe("doc"),
        target_hash: text("target_hash"),
        doc_id: int("doc_id"),
        seed: int("seed"),
        finish: row.text("finish").and_then(|name| Finish::from_name(&name)),
        prompt_tokens: int("prompt_tokens"),
        output_tokens: int("output_tokens"),
        logprobs: list("logprobs").map(|list| {
            let number = |raw: Raw| raw.float().map_or(f32::NAN, |number| number as f32);
            list.into_iter().map(number).collect()
        }),
        greedy: list("greedy").map(|list| list.into_iter().map(|raw| raw.truth() == Some(true)).collect()),
        continuations: list("continuations").map(|list| list.into_iter().map(Raw::shown).collect()),
        continuation_tokens: list("continuation_tokens")
            .map(|list| list.into_iter().map(|raw| raw.int().unwrap_or(0)).collect()),
        letter_mass: float("letter_mass"),
        top_token: maybe("top_token"),
        flags: list("flags").unwrap_or_default().into_iter().map(Raw::shown).collect(),
        seconds: float("seconds").unwrap_or(0.0),
        ..Record::default()
    };
    let (reasoning, is_replaced) = completion_text(row.get("reasoning"));
    if is_replaced {
        flag(&mut record, "replaced_text");
    }
    record.reasoning = reasoning;
    record.reasoning_chars = int("reasoning_chars").unwrap_or_else(|| record.reasoning.chars().count() as i64);
    if !row.has("question") {
        let parts = split_prompt(&record.prompt);
        record.question = parts.question;
        if record.options.is_empty() {
            record.options = parts.options;
        }
    }
    record.correct = match row.get("correct").and_then(Raw::truth) {
        Some(stated) => stated,
        None => is_right(&record.pick, &record.answer),
    };
    record
}
