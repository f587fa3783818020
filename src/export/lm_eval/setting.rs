//! What is the same for all tasks of an exported run: its manifest, style, metrics and generation settings.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::benchmark::{self, Benchmark, Style};
use crate::extract::Rule;
use crate::record::{Record, letter_index};
use crate::trace::Trace;

/// An exam as it was sat, as far as the trace tells.
pub(super) struct Setting<'a> {
    manifest: Option<&'a Value>,
    /// What the tasks' names begin with.
    pub benchmark: String,
    pub known: Option<&'static Benchmark>,
    pub style: Option<&'static Style>,
    pub is_cloze: bool,
    /// Whether whole answer texts were scored, not letters.
    pub scores_texts: bool,
    /// Whether a record's `correct` is that of the highest log-likelihood (the harness's `acc`).
    pub picks_by_sum: bool,
    pub seed: Option<i64>,
}

impl<'a> Setting<'a> {
    pub(super) fn of(trace: &'a Trace, records: &[Arc<Record>], seed: Option<i64>) -> Setting<'a> {
        let first = records.first();
        let manifest = trace
            .manifest
            .as_ref()
            .filter(|manifest| manifest.get("settings").is_some());
        let text = |pointer: &str| manifest.and_then(|manifest| manifest.pointer(pointer)?.as_str());
        let benchmark = first.map_or("", |record| record.benchmark.as_str());
        let known = benchmark::find(benchmark)
            .ok()
            .or_else(|| text("/settings/prompt/style").map(|_| &benchmark::custom::CUSTOM));
        let style = known
            .zip(text("/settings/prompt/style"))
            .and_then(|(known, style)| known.style(style).ok());
        let rule = trace.rule.as_deref().or_else(|| text("/settings/rule"));
        let rule = rule
            .and_then(|rule| Rule::parse(rule).ok())
            .and_then(|rule| rule.argmax());
        let is_letter = |text: &String| letter_index(text.trim()).is_some();
        Setting {
            manifest,
            benchmark: if benchmark.is_empty() { "trace" } else { benchmark }.to_owned(),
            known,
            style,
            is_cloze: first.is_some_and(|record| record.logprobs.is_some()),
            scores_texts: first
                .and_then(|record| record.continuations.as_ref())
                .is_some_and(|continuations| !continuations.iter().all(is_letter)),
            picks_by_sum: rule.unwrap_or_default() == crate::extract::argmax::ArgMax::Sum,
            seed,
        }
    }

    pub(super) fn at(&self, pointer: &str) -> Value {
        self.manifest
            .and_then(|manifest| manifest.pointer(pointer))
            .cloned()
            .unwrap_or(Value::Null)
    }

    pub(super) fn flag(&self, pointer: &str) -> bool {
        self.at(pointer).as_bool().unwrap_or(false)
    }

    /// What the harness's names of a variant's tasks and groups end with.
    pub(super) fn suffix(&self) -> &'static str {
        match self.style.map(|style| style.name) {
            Some("lm_eval_continuation") => "_continuation",
            Some("lm_eval_generative") => "_generative",
            _ => "",
        }
    }

    pub(super) fn task_name(&self, alias: &str) -> String {
        // A set without subjects is one task.
        let gap = if alias.is_empty() { "" } else { "_" };
        format!("{}{gap}{alias}{}", self.benchmark, self.suffix())
    }

    /// The harness's continuation tasks have no alias of their own.
    pub(super) fn has_alias(&self) -> bool {
        self.suffix() != "_continuation"
    }

    /// The task's version as a number.
    pub(super) fn version(&self) -> Value {
        let version = self.at("/settings/task_version");
        let number = version.as_str().and_then(|version| version.parse::<f64>().ok());
        number.map_or(Value::Null, |number| json!(number))
    }

    /// The metrics of a sample, in the harness's order.
    pub(super) fn metrics(&self) -> &'static [&'static str] {
        match (self.is_cloze, self.scores_texts) {
            (true, false) => &["acc"],
            (true, true) => &["acc", "acc_norm"],
            (false, _) => &["exact_match"],
        }
    }

    pub(super) fn filter(&self) -> &'static str {
        match (self.is_cloze, self.suffix()) {
            (true, _) => "none",
            (false, "_generative") => "get_response",
            (false, _) => "custom-extract",
        }
    }

    /// `gen_kwargs` as the harness passes them.
    pub(super) fn generation(&self) -> Value {
        let sampling = self.at("/settings/sampling");
        let get = |name: &str| sampling.get(name).cloned().unwrap_or(Value::Null);
        let temperature = get("temperature").as_f64().unwrap_or(0.0);
        let mut kwargs = Map::new();
        kwargs.insert(
            "until".into(),
            sampling.get("stops").cloned().unwrap_or_else(|| json!(["Question:"])),
        );
        kwargs.insert("max_gen_toks".into(), get("max_tokens"));
        kwargs.insert("do_sample".into(), (temperature > 0.0).into());
        kwargs.insert("temperature".into(), json!(temperature));
        if temperature > 0.0 {
            kwargs.insert("top_p".into(), get("top_p"));
            kwargs.insert("top_k".into(), get("top_k"));
            kwargs.insert("seed".into(), self.seed.into());
        }
        Value::Object(kwargs)
    }
}
