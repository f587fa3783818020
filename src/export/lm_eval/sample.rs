//! One line of a samples file.

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

use super::setting::Setting;
use crate::benchmark::hash::{hash_text, python_float};
use crate::extract::argmax::ArgMax;
use crate::record::{INVALID, Record, letter, letter_index};
use crate::trace::Light;

/// The metrics of the harness's MMLU tasks.
const METRICS: [&str; 3] = ["acc", "acc_norm", "exact_match"];

/// A record as the harness logs it (`evaluator.py`, the keys in its order; numbers and truths within lists are texts, as
/// `sanitize_list` makes them).
pub(super) fn of_record(record: &Record, at: usize, setting: &Setting) -> Result<Value> {
    let doc: Value = match &record.doc {
        Some(doc) => crate::json::parse(doc).context("its source row is no JSON")?,
        None => json!({
            "question_id": record.question_id,
            "question": record.question,
            "options": record.options,
            "answer": record.answer,
            "category": record.category,
        }),
    };
    let target = target(record, &doc, setting);
    let mut sample = Map::new();
    sample.insert("doc_id".into(), record.doc_id.unwrap_or(at as i64).into());
    sample.insert("doc".into(), doc);
    sample.insert("target".into(), target.into());
    let mut arguments = Map::new();
    if let Some(scores) = record.logprobs.as_ref().filter(|_| setting.is_cloze) {
        let greedy = record.greedy.as_deref().unwrap_or_default();
        let mut answers = Vec::new();
        for (index, score) in scores.iter().enumerate() {
            arguments.insert(
                format!("gen_args_{index}"),
                json!({ "arg_0": record.prompt, "arg_1": continuation(record, index, setting) }),
            );
            let is_greedy = greedy.get(index).copied().unwrap_or(false);
            answers.push(json!([python_number(*score), if is_greedy { "True" } else { "False" }]));
        }
        sample.insert("arguments".into(), Value::Object(arguments));
        sample.insert("resps".into(), answers.iter().map(|answer| json!([answer])).collect());
        sample.insert("filtered_resps".into(), Value::Array(answers));
    } else {
        arguments.insert(
            "gen_args_0".into(),
            json!({ "arg_0": record.prompt, "arg_1": setting.generation() }),
        );
        sample.insert("arguments".into(), Value::Object(arguments));
        sample.insert("resps".into(), json!([[record.reasoning]]));
        sample.insert(
            "filtered_resps".into(),
            json!([filtered(&record.pick, setting.filter())]),
        );
    }
    sample.insert("filter".into(), setting.filter().into());
    sample.insert("metrics".into(), json!(setting.metrics()));
    for (name, hash) in [
        ("doc_hash", &record.doc_hash),
        ("prompt_hash", &record.prompt_hash),
        ("target_hash", &record.target_hash),
    ] {
        sample.insert(name.into(), hash.as_str().into());
    }
    for metric in setting.metrics() {
        sample.insert((*metric).into(), score(is_right(record, metric, setting)));
    }
    Ok(Value::Object(sample))
}

/// A row of the harness's own, with the pick of another rule where one is asked for.
pub(super) fn of_source(line: &[u8], read_again: Option<Light>) -> Result<Value> {
    let mut sample = crate::import::parse(line).context("its row is no JSON")?;
    if let Some(light) = read_again {
        let filter = sample["filter"].as_str().unwrap_or_default().to_owned();
        let is_read = sample["filtered_resps"][0].is_string();
        if is_read {
            sample["filtered_resps"] = json!([filtered(light.pick, &filter)]);
        }
        let metric = if is_read { "exact_match" } else { "acc" };
        if sample.get(metric).is_some() {
            sample[metric] = score(light.correct);
        }
    }
    Ok(sample)
}

/// The filter of a row, where it is one of the harness's own as versions since 0.4.3 write it.
pub(super) fn filter_of(line: &[u8]) -> Option<String> {
    let sample = crate::import::parse(line)?;
    let is_whole = sample["doc"].is_object() && sample["arguments"].is_object() && sample["resps"].is_array();
    is_whole.then(|| sample["filter"].as_str().unwrap_or_default().to_owned())
}

/// The metrics that a sample holds, in their order.
pub(super) fn metrics(sample: &Value) -> Vec<&'static str> {
    METRICS
        .into_iter()
        .filter(|metric| sample.get(metric).is_some())
        .collect()
}

fn score(is_right: bool) -> Value {
    json!(f64::from(u8::from(is_right)))
}

/// A pick as the filter of a task gives it: the generated tasks of MMLU take an empty line as it is.
fn filtered<'p>(pick: &'p str, filter: &str) -> &'p str {
    match filter {
        "get_response" if pick == INVALID => "",
        _ => pick,
    }
}

/// Whether a record counts as right under a metric.
fn is_right(record: &Record, metric: &str, setting: &Setting) -> bool {
    let by = |rule: ArgMax| {
        let pick = record.scored_pick(rule);
        pick.is_some() && pick == letter_index(&record.answer)
    };
    match metric {
        "acc_norm" => by(ArgMax::PerChar),
        "acc" if !setting.picks_by_sum => by(ArgMax::Sum),
        _ => record.correct && record.pick != INVALID,
    }
}

/// What the target hash was made of: the answer as the row stores it, or the gold letter.
fn target(record: &Record, doc: &Value, setting: &Setting) -> String {
    let stored = match doc.get("answer") {
        Some(Value::Number(number)) => Some(number.to_string()),
        Some(Value::String(text)) => Some(text.clone()),
        _ => None,
    };
    match stored {
        Some(stored) if hash_text(&stored) == record.target_hash => stored,
        Some(stored) if record.target_hash.is_empty() && setting.is_cloze => stored,
        _ => record.answer.clone(),
    }
}

/// A scored text: as kept; of older runs the letter.
fn continuation(record: &Record, index: usize, setting: &Setting) -> String {
    let kept = record.continuations.as_ref().and_then(|texts| texts.get(index));
    kept.cloned().unwrap_or_else(|| {
        let delimiter = if setting.is_chat() { "" } else { " " };
        let letter = letter(index).map(String::from).unwrap_or_default();
        format!("{delimiter}{letter}")
    })
}

/// Python's `str` of a float that was computed in single precision.
fn python_number(value: f32) -> String {
    if value.is_nan() {
        "nan".to_owned()
    } else if value.is_infinite() {
        if value > 0.0 { "inf" } else { "-inf" }.to_owned()
    } else {
        python_float(f64::from(value))
    }
}
