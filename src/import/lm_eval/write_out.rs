//! lm-eval 0.3's write-outs: a prompt and a log-likelihood for each option, side by side.

use super::LOGPROBS;
use super::row::{finish, gold_of_choice, letter_text};
use crate::import::head::Head;
use crate::import::json::Raw;
use crate::import::layout::{self, Answer, Entry, Layout, RowError, Sniffed, Tally};
use crate::record::{Record, letter_index};

#[derive(Debug, Clone)]
pub(crate) struct WriteOut {
    task: String,
}

pub(crate) fn sniff(head: &Head) -> Option<Sniffed> {
    head.rows
        .iter()
        .find(|row| row.has("doc_id") && row.has("prompt_0") && row.has("logit_0"))?;
    let task = head
        .stem
        .strip_suffix("_write_out_info")
        .unwrap_or(&head.stem)
        .to_owned();
    Some(Sniffed {
        split: Some(task.clone()),
        run: Some(String::new()),
        ..Sniffed::new("lm-eval 0.3", WriteOut { task }, head.shape.clone())
    })
}

impl Layout for WriteOut {
    fn answers(&self, entry: &Entry) -> Result<Vec<Answer>, RowError> {
        let row = entry.object()?;
        let all = |stem: &str| {
            (0..)
                .map_while(|i| row.get(&format!("{stem}_{i}")))
                .take(200)
                .collect::<Vec<_>>()
        };
        let prompts: Vec<String> = all("prompt").into_iter().map(Raw::shown).collect();
        let numbers: Vec<f64> = all("logit").into_iter().filter_map(Raw::float).collect();
        if numbers.len() < 2 || prompts.len() < numbers.len() {
            return Err("fewer than two scored options".into());
        }
        let context = shared_context(&prompts);
        let continuations: Vec<String> = prompts.iter().map(|text| text[context..].trim().to_owned()).collect();
        let subject = self.task.strip_prefix("hendrycksTest-");
        let mut record = Record {
            benchmark: if subject.is_some() {
                "mmlu".to_owned()
            } else {
                self.task.clone()
            },
            category: subject.unwrap_or(&self.task).to_owned(),
            subject: subject.unwrap_or(&self.task).to_owned(),
            prompt: prompts[0][..context].to_owned(),
            options: continuations.clone(),
            pick: letter_text(crate::extract::argmax::argmax_first(&numbers)),
            logprobs: Some(numbers.iter().map(|number| *number as f32).collect()),
            ..Record::default()
        };
        if continuations.iter().all(|text| letter_index(text).is_some()) {
            record.options = layout::lettered_options(&record.prompt);
        }
        record.answer = row
            .get("truth")
            .map(|truth| gold_of_choice(truth, &record, &continuations))
            .unwrap_or_default();
        finish(&mut record, &row, &["acc"]);
        let order = row.int("doc_id").unwrap_or(entry.number as i64);
        record.question_id = order;
        Ok(vec![Answer {
            record,
            order,
            is_local_id: true,
            traits: LOGPROBS,
            ..Answer::default()
        }])
    }

    fn kind(&self, tally: &Tally) -> String {
        let tasks = tally.several("tasks");
        format!("lm-eval 0.3 write-out, multiple choice by log-probability{tasks}")
    }
}

/// Where the context that all prompts share ends: after its last `Answer:`, else where the prompts part.
fn shared_context(prompts: &[String]) -> usize {
    let first = prompts[0].as_str();
    let shared = prompts[1..].iter().fold(first.len(), |shared, other| {
        first
            .bytes()
            .zip(other.bytes())
            .take(shared)
            .take_while(|(a, b)| a == b)
            .count()
    });
    let mut end = shared;
    while !prompts.iter().all(|text| text.is_char_boundary(end)) {
        end -= 1;
    }
    first[..end].rfind("Answer:").map_or(end, |at| at + "Answer:".len())
}
