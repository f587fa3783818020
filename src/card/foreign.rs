//! What the files of other tools tell of how their rows came about.

use chrono::{DateTime, SecondsFormat};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::NONE;
use crate::extract::Rule;
use crate::extract::argmax::ArgMax;
use crate::json::python_float;
use crate::manifest::Manifest;
use crate::text::hex;
use crate::trace::{Provenance, Trace, model_of_results};

/// Who tells of a trace.
#[derive(Debug)]
pub(super) enum Told<'a> {
    Ours(&'a Manifest),
    Harness(Harness<'a>),
    Inspect(&'a Value),
    Nothing,
}

impl<'a> Told<'a> {
    pub fn of(trace: &'a Trace, benchmark: &str) -> Told<'a> {
        match &trace.manifest {
            Some(Provenance::Ours(run)) => Told::Ours(run),
            Some(Provenance::Foreign(told)) if told["configs"].is_object() || told["n-shot"].is_object() => {
                Told::Harness(Harness::new(told, benchmark))
            }
            Some(Provenance::Foreign(told)) if told["eval"].is_object() => Told::Inspect(told),
            _ => Told::Nothing,
        }
    }
}

/// lm-eval's `results_*.json`, of one of the benchmarks that it is about.
#[derive(Debug)]
pub(super) struct Harness<'a> {
    results: &'a Value,
    /// The configurations of the benchmark's tasks.
    tasks: Vec<(&'a str, &'a Value)>,
}

impl<'a> Harness<'a> {
    fn new(results: &'a Value, benchmark: &str) -> Harness<'a> {
        let configs = results["configs"].as_object().into_iter().flatten();
        let all: Vec<(&str, &Value)> = configs.map(|(name, config)| (name.as_str(), config)).collect();
        let own: Vec<(&str, &Value)> = all.iter().copied().filter(|(name, _)| is_of(name, benchmark)).collect();
        Harness {
            results,
            tasks: if own.is_empty() { all } else { own },
        }
    }

    pub fn at(&self, pointer: &str) -> Value {
        self.results.pointer(pointer).cloned().unwrap_or_default()
    }

    /// What all tasks have alike; null where they differ.
    fn alike(&self, of: impl Fn(&str, &Value) -> Value) -> Value {
        let mut values = self.tasks.iter().map(|(name, config)| of(name, config));
        let Some(first) = values.next() else {
            return Value::Null;
        };
        if values.all(|value| value == first) {
            first
        } else {
            Value::Null
        }
    }

    pub fn config(&self, key: &str) -> Value {
        self.alike(|_, config| config[key].clone())
    }

    pub fn version(&self) -> Value {
        self.alike(|name, _| match &self.results["versions"][name] {
            Value::Number(number) => number.as_f64().map(python_float).into(),
            other => other.clone(),
        })
    }

    pub fn shots(&self) -> Value {
        let told = self.alike(|name, _| self.results["n-shot"][name].clone());
        if told.is_null() {
            self.config("num_fewshot")
        } else {
            told
        }
    }

    /// `on` with a chat template; newer versions tell it, null where it is off.
    pub fn chat(&self) -> Value {
        match self.results.get("chat_template") {
            None => Value::Null,
            Some(Value::Null) => "off".into(),
            Some(_) => "on".into(),
        }
    }

    /// `none` without a chat, else unknown.
    pub fn of_chat(&self) -> Value {
        if self.chat() == "off" { NONE.into() } else { Value::Null }
    }

    pub fn chat_shots(&self) -> Value {
        match (
            self.chat().as_str(),
            self.shots() == 0,
            self.results["fewshot_as_multiturn"].as_bool(),
        ) {
            (Some("off"), ..) | (_, true, _) => NONE.into(),
            (Some(_), _, Some(is_turns)) => if is_turns { "turns" } else { "turn" }.into(),
            _ => Value::Null,
        }
    }

    pub fn chat_template(&self) -> Value {
        let sha = self.at("/chat_template_sha");
        if self.chat() == "off" { NONE.into() } else { sha }
    }

    pub fn system(&self) -> Value {
        match self.results.get("system_instruction") {
            None => Value::Null,
            Some(Value::Null) => NONE.into(),
            Some(text) => text.clone(),
        }
    }

    fn is_cloze(&self) -> bool {
        self.config("output_type") == "multiple_choice"
    }

    /// The name and the hash of the rule that read the picks.
    pub fn rule(&self) -> (Value, Value) {
        if self.is_cloze() {
            let rule = Rule::of_scores(ArgMax::Sum);
            return (rule.name().into(), rule.sha256().into());
        }
        let filters = self.config("filter_list");
        let steps = filters[0]["filter"].as_array().cloned().unwrap_or_default();
        let pattern = steps.iter().find_map(|step| step["regex_pattern"].as_str());
        let known = Rule::default();
        match (filters.is_null(), pattern) {
            (true, _) => (Value::Null, Value::Null),
            (_, Some(r"answer is \(?([ABCDEFGHIJ])\)?" | r"answer is \(?([A-J])\)?")) => {
                (known.name().into(), known.sha256().into())
            }
            _ => {
                let digest = Sha256::digest(filters.to_string().as_bytes());
                (filters[0]["name"].clone(), hex(&digest).into())
            }
        }
    }

    /// A setting of the generation: what the task sets, and what was asked for in its place; `none` of a cloze task.
    pub fn generation(&self, key: &str) -> Value {
        if self.is_cloze() {
            return NONE.into();
        }
        let asked = match &self.results["config"]["gen_kwargs"] {
            Value::String(text) => asked(text),
            Value::Object(fields) => fields.clone(),
            _ => Map::new(),
        };
        let own = || self.alike(|_, config| config["generation_kwargs"][key].clone());
        asked.get(key).cloned().unwrap_or_else(own)
    }

    pub fn temperature(&self) -> Value {
        if self.is_cloze() {
            return NONE.into();
        }
        match self.generation("do_sample").as_bool() {
            Some(false) => json!(0.0),
            _ => self.generation("temperature").as_f64().map_or(Value::Null, Value::from),
        }
    }

    /// A setting of the drawing; `none` where nothing is drawn.
    pub fn drawn(&self, key: &str) -> Value {
        let is_greedy = self.temperature() == 0.0;
        if is_greedy { NONE.into() } else { self.generation(key) }
    }

    pub fn parity(&self) -> Value {
        let version = self.at("/lm_eval_version");
        version
            .as_str()
            .map_or(Value::Null, |version| format!("lm-evaluation-harness {version}").into())
    }

    pub fn limit(&self) -> Value {
        match self.results["config"].get("limit") {
            None => Value::Null,
            Some(Value::Null) => NONE.into(),
            Some(limit) => limit.clone(),
        }
    }

    pub fn model(&self) -> Value {
        model_of_results(self.results).map_or(Value::Null, Value::from)
    }

    pub fn revision(&self) -> Value {
        let told = [self.at("/config/model_sha"), self.at("/config/model_revision")];
        let known = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
        told.into_iter().find(known).unwrap_or_default()
    }

    /// In our words: `torch.bfloat16` is `bf16`.
    pub fn dtype(&self) -> Value {
        let told = self.at("/config/model_dtype");
        match told.as_str().map(|name| name.trim_start_matches("torch.")) {
            Some("bfloat16") => "bf16".into(),
            Some("float16") => "f16".into(),
            Some("float32") => "f32".into(),
            _ => told,
        }
    }

    pub fn date(&self) -> Value {
        let seconds = self.results["date"].as_f64();
        let date = seconds.and_then(|seconds| DateTime::from_timestamp(seconds as i64, 0));
        date.map_or(Value::Null, |date| {
            date.to_rfc3339_opts(SecondsFormat::Secs, true).into()
        })
    }
}

/// Whether a task is one of a benchmark's; `mmlu_pro_law` is none of `mmlu`'s.
fn is_of(task: &str, benchmark: &str) -> bool {
    let is_pro = task.contains("mmlu_pro");
    match benchmark.strip_prefix("leaderboard_").unwrap_or(benchmark) {
        "mmlu" => task.contains("mmlu") && !is_pro,
        "mmlu_pro" => is_pro,
        other => task.starts_with(other),
    }
}

/// `temperature=0.6,top_p=0.95`, as a command line gives it.
fn asked(text: &str) -> Map<String, Value> {
    let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    let value = |text: &str| serde_json::from_str(&text.to_lowercase()).unwrap_or_else(|_| text.into());
    pairs
        .map(|(key, text)| (key.trim().to_owned(), value(text.trim())))
        .collect()
}
