//! Inspect logs of multiple-choice tasks: `.json` documents and `.eval` archives.

use serde_json::Value;

use super::head::Head;
use super::json::{Object, Raw};
use super::layout::{
    Answer, Entry, Layout, RowError, Sniffed, Tally, flag, lettered_options, mark, set_completion, texts,
};
use super::task::Task;
use crate::benchmark::hash::hash_text;
use crate::record::{Finish, INVALID, Record, letter_index};

#[derive(Debug, Clone)]
pub(crate) struct Inspect {
    task: String,
    benchmark: String,
    /// `success`, `error`, `started`, ...
    status: String,
}

/// `header` is the log's own description: a `.json` log's first fields, a `.eval` log's `header.json`.
pub(crate) fn sniff(head: &Head) -> Option<Sniffed> {
    let header = head.document.as_ref()?;
    let eval = header.get("eval")?.object();
    let task = eval.text("task")?;
    let short = task.rsplit('/').next().unwrap_or(&task).to_owned();
    Some(Sniffed {
        name: eval.text("model"),
        manifest: Some(Value::Object(
            ["version", "status", "eval", "plan", "stats", "error"]
                .iter()
                .filter_map(|key| Some(((*key).to_owned(), header.get(key)?.value())))
                .collect(),
        )),
        ..Sniffed::new(
            "inspect",
            Inspect {
                benchmark: Task::named(&short).benchmark,
                task: short,
                status: header.text("status").unwrap_or_else(|| "started".to_owned()),
            },
            if head.is_eval_log {
                head.shape.clone()
            } else {
                super::split::Shape::Array(vec!["samples".to_owned()])
            },
        )
    })
}

impl Layout for Inspect {
    fn answers(&self, entry: &Entry) -> Result<Vec<Answer>, RowError> {
        let sample = entry.object()?;
        let target = sample.get("target").map(target_text).unwrap_or_default();
        let attachments = sample.object("attachments");
        let prompt = prompt(&sample, &attachments);
        let mut options = sample.get("choices").map(texts).unwrap_or_default();
        if options.is_empty() && letter_index(target.trim()).is_some() {
            options = lettered_options(&prompt);
        }
        if options.len() < 2 {
            let what = format!(
                "an Inspect log of the task {}, whose samples have no options",
                self.task
            );
            return Err(what.into());
        }
        let metadata = sample.object("metadata");
        let subject = metadata
            .first(&["subject", "category", "topic"])
            .map(Raw::shown)
            .unwrap_or_default();
        let id = sample.get("id");
        let number = id.and_then(Raw::int);
        let mut record = Record {
            question_id: number.unwrap_or(entry.number as i64),
            attempt: sample.int("epoch").map_or(0, |epoch| (epoch - 1).max(0)),
            benchmark: self.benchmark.clone(),
            category: subject.clone(),
            subject,
            question: sample
                .get("input")
                .map(|input| input_text(input, &attachments))
                .unwrap_or_default(),
            options,
            answer: target,
            prompt,
            ..Record::default()
        };
        read_output(&sample, &attachments, &mut record);
        read_score(&sample, &mut record);
        if self.benchmark == "mmlu" {
            super::harness_doc(&mut record);
        }
        Ok(vec![Answer {
            record,
            order: entry.number as i64,
            text_id: id.filter(|_| number.is_none()).map(Raw::shown),
            ..Answer::default()
        }])
    }

    fn kind(&self, tally: &Tally) -> String {
        let epochs = if tally.questions > 0 && tally.rows > tally.questions {
            format!(", {} epochs", tally.rows.div_ceil(tally.questions))
        } else {
            String::new()
        };
        format!("Inspect log of {}{epochs}", self.task)
    }

    fn stands_alone(&self) -> bool {
        false
    }

    fn without_rows(&self) -> Option<String> {
        Some(format!(
            "an Inspect log of the task {} (status {}) without samples",
            self.task, self.status
        ))
    }
}

fn target_text(target: Raw) -> String {
    match target.list().as_slice() {
        [] => target.shown(),
        several => several.iter().map(|raw| raw.shown()).collect::<Vec<_>>().join(", "),
    }
}

/// A message's text: reasoning parts are left out, attachments are put in place.
fn content_text(content: Raw, attachments: &Object) -> String {
    let resolve = |text: String| match text.strip_prefix("attachment://").and_then(|key| attachments.text(key)) {
        Some(attached) => attached,
        None => text,
    };
    if let Some(text) = content.text() {
        return resolve(text);
    }
    let parts = content.list();
    let texts = parts.iter().filter_map(|part| {
        let part = part.object();
        part.text(if part.text("type").as_deref() == Some("reasoning") {
            "reasoning"
        } else {
            "text"
        })
    });
    texts.map(resolve).collect::<Vec<_>>().join("\n")
}

fn input_text(input: Raw, attachments: &Object) -> String {
    if input.is_string() {
        return content_text(input, attachments);
    }
    let user = input
        .list()
        .into_iter()
        .map(Raw::object)
        .rev()
        .find(|message| message.text("role").as_deref() == Some("user"));
    user.and_then(|message| message.get("content"))
        .map(|content| content_text(content, attachments))
        .unwrap_or_default()
}

/// What was sent: the one user message's text, or the messages before the answer as JSON.
fn prompt(sample: &Object, attachments: &Object) -> String {
    let messages = sample.list("messages");
    let messages: Vec<Object> = messages.into_iter().map(Raw::object).collect();
    let role = |message: &Object| message.text("role").unwrap_or_default();
    let content = |message: &Object| {
        message
            .get("content")
            .map(|raw| content_text(raw, attachments))
            .unwrap_or_default()
    };
    let last = messages
        .iter()
        .rposition(|message| role(message) == "assistant")
        .unwrap_or(messages.len());
    match &messages[..last] {
        [] => sample
            .get("input")
            .map(|input| input_text(input, attachments))
            .unwrap_or_default(),
        [only] => content(only),
        several => {
            let message = |message: &Object| serde_json::json!({"role": role(message), "content": content(message)});
            Value::Array(several.iter().map(message).collect()).to_string()
        }
    }
}

fn read_output(sample: &Object, attachments: &Object, record: &mut Record) {
    let output = sample.object("output");
    let choice = output
        .get("choices")
        .and_then(|choices| choices.list().first().map(|raw| raw.object()))
        .unwrap_or_default();
    let content = choice.object("message").get("content");
    set_completion(record, None);
    let text = content
        .map(|content| content_text(content, attachments))
        .or_else(|| output.text("completion"));
    if let Some(text) = text.filter(|text| !text.is_empty()) {
        record.flags.clear();
        record.reasoning_chars = text.chars().count() as i64;
        record.reasoning = text;
    }
    record.finish = match choice.text("stop_reason").as_deref() {
        Some("stop") => Some(Finish::Eos),
        Some("max_tokens" | "model_length") => Some(Finish::Length),
        Some("content_filter" | "unknown") => Some(Finish::Error),
        _ => None,
    };
    if sample.get("error").is_some() {
        record.finish = Some(Finish::Error);
        flag(record, "error");
    }
    let usage = output.object("usage");
    record.prompt_tokens = usage.int("input_tokens");
    record.output_tokens = usage.int("output_tokens");
    record.seconds = sample
        .get("total_time")
        .or_else(|| output.get("time"))
        .and_then(Raw::float)
        .unwrap_or(0.0) as f32;
}

/// The pick is the answer that the choice scorer stored, else the first scorer's.
fn read_score(sample: &Object, record: &mut Record) {
    let scores = sample.object("scores");
    let named = scores.get("choice").map(Raw::object);
    let score = named.or_else(|| {
        scores
            .fields()
            .map(|(_, score)| score.object())
            .find(|score| score.has("answer"))
    });
    let score = score.unwrap_or_else(|| sample.object("score"));
    record.pick = score
        .shown("answer")
        .filter(|text| !text.is_empty())
        .unwrap_or_else(|| INVALID.to_owned());
    mark(record);
    let is_right = match score.shown("value").as_deref() {
        Some("C" | "1" | "1.0" | "True") => Some(true),
        Some("I" | "0" | "0.0" | "False" | "N") => Some(false),
        _ => None,
    };
    if is_right.is_some_and(|is_right| is_right != record.correct) {
        flag(record, "score_differs");
    }
    record.prompt_hash = hash_text(&record.prompt);
}
