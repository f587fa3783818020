//! HELM scenario states: one request a question (the options in the prompt), or one an option.

use super::harness;
use super::head::Head;
use super::json::{Object, Raw};
use super::layout::{Answer, Entry, Layout, RowError, Sniffed, Tally, flag, mark, set_completion};
use super::split::Shape;
use super::task::Task;
use super::told;
use crate::benchmark::hash::hash_text;
use crate::benchmark::mmlu;
use crate::record::{Finish, INVALID, Record, letter};

#[derive(Debug, Clone)]
pub(crate) struct Helm {
    method: String,
    task: Task,
}

pub(crate) fn sniff(head: &Head) -> Option<Sniffed> {
    let document = head.document.as_ref()?;
    let spec = document.get("adapter_spec")?.object();
    let method = spec.text("method").unwrap_or_default();
    let task = task(head, &spec.text("instructions").unwrap_or_default());
    Some(Sniffed {
        split: Some(task.subject.clone()).filter(|subject| !subject.is_empty()),
        name: spec.text("model").or_else(|| spec.text("model_deployment")),
        run: spec.text("model"),
        manifest: Some(serde_json::json!({ "adapter_spec": document.get("adapter_spec")?.value() })),
        ..Sniffed::new(
            "helm",
            Helm { method, task },
            Shape::Array(vec!["request_states".to_owned()]),
        )
    })
}

/// What was run: the folder is named after the run (`mmlu:subject=anatomy,method=...`); else the instructions name the
/// subject, and one of MMLU's own is MMLU's.
fn task(head: &Head, instructions: &str) -> Task {
    let names = std::iter::once(&head.stem).chain(head.folders.iter().take(2));
    let named = names.filter(|name| name.contains('=')).map(|name| Task::named(name));
    if let Some(task) = named.into_iter().next() {
        return task;
    }
    let subject = instructions
        .split_once("(with answers) about ")
        .map(|(_, rest)| rest.trim_end().trim_end_matches('.'));
    let subject = subject.unwrap_or_default().replace(' ', "_");
    let is_mmlu = mmlu::category_of(&subject).is_some();
    Task {
        benchmark: if is_mmlu { "mmlu" } else { "" }.to_owned(),
        subject,
    }
}

impl Helm {
    fn is_separate(&self) -> bool {
        self.method.starts_with("multiple_choice_separate")
    }
}

impl Layout for Helm {
    fn answers(&self, entry: &Entry) -> Result<Vec<Answer>, RowError> {
        let states = entry.objects()?;
        let first = states.first().ok_or("no request")?;
        let instance = first.object("instance");
        if instance.get("perturbation").is_some() {
            return Ok(Vec::new());
        }
        let references = instance.list("references");
        let references: Vec<Object> = references.into_iter().map(Raw::object).collect();
        let reference_text = |reference: &Object| reference.object("output").text("text").unwrap_or_default();
        let mapping = first.object("output_mapping");
        if mapping.is_empty() && !self.method.starts_with("multiple_choice") {
            // References of other methods are several right texts, not options.
            let what = format!("a HELM run of free-text answers, no options (method {})", self.method);
            return Err(what.into());
        }
        let options: Vec<String> = if mapping.is_empty() {
            references.iter().map(reference_text).collect()
        } else {
            mapping.fields().map(|(_, text)| text.shown()).collect()
        };
        if options.len() < 2 {
            return Err(format!("a HELM run whose questions have no options (method {})", self.method).into());
        }
        let gold = references.iter().find(|reference| {
            reference
                .get("tags")
                .is_some_and(|tags| tags.list().iter().any(|tag| tag.text().as_deref() == Some("correct")))
        });
        let gold = gold.map(reference_text).unwrap_or_default();
        let answer = options
            .iter()
            .position(|option| *option == gold)
            .and_then(letter)
            .map_or(gold, String::from);
        let request = first.object("request");
        let id = instance
            .text("id")
            .and_then(|id| id.trim_start_matches("id").parse().ok());
        let mut record = Record {
            question_id: id.unwrap_or(entry.number as i64),
            attempt: first.int("train_trial_index").unwrap_or(0),
            question: instance.object("input").text("text").unwrap_or_default(),
            prompt: request.text("prompt").unwrap_or_default(),
            options,
            answer,
            ..told::record_of(&self.task, entry.number)
        };
        record.prompt_hash = hash_text(&record.prompt);
        if self.is_separate() {
            score(&states, &mut record)?;
        } else {
            self.read_completion(first, &mapping, &mut record);
        }
        mark(&mut record);
        if self.task.benchmark == "mmlu" {
            super::harness_doc(&mut record);
        }
        Ok(vec![Answer::local(record, entry)])
    }

    fn kind(&self, tally: &Tally) -> String {
        let subjects = tally.several("subjects");
        format!("HELM scenario state, {}{subjects}", self.method)
    }

    fn stands_alone(&self) -> bool {
        false
    }

    fn group(&self, entry: &Entry) -> Option<String> {
        if !self.is_separate() {
            return None;
        }
        let state = entry.object().ok()?;
        let instance = state.object("instance");
        let perturbation = instance.shown("perturbation").unwrap_or_default();
        Some(format!(
            "{} {} {perturbation}",
            instance.text("id")?,
            state.shown("train_trial_index")?
        ))
    }
}

impl Helm {
    /// HELM reads a pick as the stripped completion where the output mapping knows it; chains of thought are read by
    /// the harness rule.
    fn read_completion(&self, state: &Object, mapping: &Object, record: &mut Record) {
        let result = state.object("result");
        let completion = result
            .get("completions")
            .and_then(|list| list.list().first().map(|raw| raw.object()));
        let completion = completion.unwrap_or_default();
        set_completion(record, completion.get("text"));
        let stripped = record.reasoning.trim();
        record.pick = if mapping.has(stripped) {
            stripped.to_owned()
        } else if self.method.contains("chain_of_thought") {
            harness::read(stripped)
        } else {
            INVALID.to_owned()
        };
        record.finish = match completion.object("finish_reason").text("reason").as_deref() {
            Some("length" | "max_tokens") => Some(Finish::Length),
            Some("stop" | "endoftext" | "end_turn") => Some(Finish::Eos),
            Some("stop_sequence") => Some(Finish::Stop),
            _ => None,
        };
        if result.truth("success") == Some(false) {
            record.finish = Some(Finish::Error);
            flag(record, "error");
        }
        record.seconds = result.float("request_time").unwrap_or(0.0) as f32;
    }
}

/// One request an option: the pick is the option with the largest log-probability.
fn score(states: &[Object], record: &mut Record) -> Result<(), RowError> {
    let mut logprobs = vec![f64::NEG_INFINITY; record.options.len()];
    for state in states {
        // Calibration requests score the option without the question.
        if state.text("request_mode").as_deref() == Some("calibration") {
            continue;
        }
        let index = state
            .int("reference_index")
            .and_then(|index| usize::try_from(index).ok());
        let completion = state
            .object("result")
            .get("completions")
            .and_then(|list| list.list().first().map(|raw| raw.object()));
        let logprob = completion
            .and_then(|completion| completion.get("logprob"))
            .and_then(Raw::float);
        if let (Some(index), Some(logprob)) = (index.filter(|index| *index < logprobs.len()), logprob) {
            logprobs[index] = logprob;
        }
    }
    let pick = crate::extract::argmax::argmax_first(&logprobs)
        .and_then(letter)
        .ok_or("no option was scored")?;
    record.pick = pick.to_string();
    record.logprobs = Some(logprobs.iter().map(|logprob| *logprob as f32).collect());
    Ok(())
}
