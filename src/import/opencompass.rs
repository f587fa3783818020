//! OpenCompass: predictions (one object a question under its number), and results files with their details.

use super::harness;
use super::head::Head;
use super::json::{Object, Raw};
use super::layout::{
    Answer, Entry, Layout, RowError, Sniffed, Tally, flag, lettered_options, mark, set_completion, stated_score,
};
use super::split::Shape;
use crate::benchmark::hash::hash_text;
use crate::record::{INVALID, Record, letter_index, split_prompt};

#[derive(Debug, Clone)]
pub(crate) struct OpenCompass {
    benchmark: String,
    subject: String,
    /// A results file: its rows hold what was read from the outputs.
    is_results: bool,
}

pub(crate) fn sniff(head: &Head) -> Option<Sniffed> {
    let document = head.document.as_ref()?;
    let is_number = |key: &str| !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_digit());
    let is_results = !document.keys().next().is_some_and(is_number);
    let shape = if is_results {
        Shape::Fields(vec!["details".to_owned()])
    } else {
        Shape::Fields(Vec::new())
    };
    let is_row = |row: &Object| {
        row.has("origin_prediction") || (row.has("prediction") && (row.has("origin_prompt") || is_scored(row)))
    };
    head.rows_at(&shape).iter().find(|row| is_row(row))?;
    let (benchmark, subject) = benchmark_and_subject(&head.stem);
    Some(Sniffed {
        name: head.folders.first().cloned(),
        split: Some(head.stem.clone()),
        run: Some(String::new()),
        ..Sniffed::new(
            "opencompass",
            OpenCompass {
                benchmark,
                subject,
                is_results,
            },
            shape,
        )
    })
}

/// Whether a row holds a perplexity for each label.
fn is_scored(row: &Object) -> bool {
    row.keys().any(|key| key.starts_with("label: "))
}

/// What `lukaemon_mmlu_college_biology` and `mmlu_pro_computer_science_0` tell: large sets are kept in numbered parts.
fn benchmark_and_subject(stem: &str) -> (String, String) {
    // A run that was broken off leaves `tmp_` files.
    let name = stem.strip_prefix("tmp_").unwrap_or(stem);
    let name = name.strip_prefix("lukaemon_").unwrap_or(name);
    let name = match name.rsplit_once('_') {
        Some((rest, part)) if part.bytes().all(|byte| byte.is_ascii_digit()) => rest,
        _ => name,
    };
    let lower = name.to_lowercase();
    if let Some(category) = lower.strip_prefix("mmlu_pro_") {
        return ("mmlu_pro".to_owned(), category.replace('_', " "));
    }
    match lower.strip_prefix("mmlu_") {
        Some(subject) => ("mmlu".to_owned(), subject.to_owned()),
        None if lower == "mmlu" => (lower, String::new()),
        None => (name.to_owned(), name.to_owned()),
    }
}

impl Layout for OpenCompass {
    fn answers(&self, entry: &Entry) -> Result<Vec<Answer>, RowError> {
        // Among the details stands how they were made: `"type": "GEN"`.
        if entry.bytes.first() == Some(&b'"') {
            return Ok(Vec::new());
        }
        let row = entry.object()?;
        let asked = row.first(&["origin_prompt", "prompt"]);
        let prompt = asked.map(Raw::shown).unwrap_or_default();
        let last_turn = asked.and_then(last_turn).unwrap_or_else(|| prompt.clone());
        let parts = split_prompt(&last_turn);
        let options = if parts.options.len() > 1 {
            parts.options
        } else {
            lettered_options(&last_turn)
        };
        let gold = row.first(&["gold", "references", "ref", "answer"]);
        let gold = gold.map(gold_text).unwrap_or_default();
        if options.len() < 2 && letter_index(gold.trim()).is_none() {
            return Err(format!(
                "OpenCompass output of {}, whose questions have no options",
                self.benchmark
            )
            .into());
        }
        let mut record = Record {
            question_id: entry.number as i64,
            benchmark: self.benchmark.clone(),
            category: self.subject.clone(),
            subject: self.subject.clone(),
            prompt_hash: hash_text(&prompt),
            prompt,
            question: parts.question,
            options,
            answer: gold,
            ..Record::default()
        };
        if is_scored(&row) {
            score(&row, &mut record);
        } else {
            self.read_output(&row, &mut record);
        }
        mark(&mut record);
        stated_score(&mut record, row.truth("correct"));
        if self.benchmark == "mmlu" {
            super::harness_doc(&mut record);
        }
        Ok(vec![Answer::local(record, entry)])
    }

    fn stands_alone(&self) -> bool {
        false
    }

    fn kind(&self, tally: &Tally) -> String {
        let what = if self.is_results {
            "results with details"
        } else {
            "predictions"
        };
        let files = tally.several("data sets");
        format!("OpenCompass {what}{files}")
    }
}

impl OpenCompass {
    fn read_output(&self, row: &Object, record: &mut Record) {
        set_completion(record, row.first(&["origin_prediction", "prediction"]));
        let read = row.first(&["predictions", "pred"]).filter(|_| self.is_results);
        record.pick = if let Some(pick) = read {
            pick.list().first().copied().unwrap_or(pick).shown()
        } else {
            flag(record, "letter_read");
            harness::read_letter(&record.reasoning)
        };
        if record.pick.is_empty() {
            INVALID.clone_into(&mut record.pick);
        }
    }
}

/// The text of a chat's last turn.
fn last_turn(asked: Raw) -> Option<String> {
    let turns = asked.list();
    let last = turns.iter().rev().map(|turn| turn.object());
    last.filter_map(|turn| turn.first(&["prompt", "content"]).and_then(Raw::text))
        .find(|text| !text.is_empty())
}

fn gold_text(gold: Raw) -> String {
    match gold.list().as_slice() {
        [] => gold.shown(),
        several => several.iter().map(|raw| raw.shown()).collect::<Vec<_>>().join(", "),
    }
}

/// A perplexity for each label: the log-likelihood of a token, negated.
fn score(row: &Object, record: &mut Record) {
    let mut logprobs: Vec<f32> = Vec::new();
    for (key, label) in row.fields() {
        let index = key.strip_prefix("label: ").and_then(letter_index);
        let perplexity = label.object().first(&["PPL", "BPB", "loss"]).and_then(Raw::float);
        if let (Some(index), Some(perplexity)) = (index, perplexity) {
            logprobs.resize(logprobs.len().max(index + 1), f32::NEG_INFINITY);
            logprobs[index] = -perplexity as f32;
        }
    }
    let stored = row.first(&["prediction", "pred"]).map(Raw::shown);
    record.pick = stored.filter(|pick| !pick.is_empty()).unwrap_or_else(|| {
        let numbers: Vec<f64> = logprobs.iter().map(|number| f64::from(*number)).collect();
        harness::argmax_letter(&numbers)
    });
    record.logprobs = Some(logprobs);
}
