//! What is the same for all tasks of an exported run: its manifest, style, metrics and generation settings.

use anyhow::Result;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::Part;
use super::kind::Kind;
use crate::benchmark::{self, Benchmark, Form, Method, Style};
use crate::extract::Rule;
use crate::extract::argmax::ArgMax;
use crate::manifest::{Manifest, Settings};
use crate::record::letter_index;
use crate::trace::Provenance;

/// An exam as it was sat, as far as the trace tells.
pub(super) struct Setting<'a> {
    /// The run, where it is one of markbook's.
    pub run: Option<&'a Manifest>,
    /// What the tasks' names are made of.
    pub benchmark: String,
    pub known: Option<&'static Benchmark>,
    pub style: Option<&'static Style>,
    pub kind: &'static Kind,
    pub is_cloze: bool,
    /// Whether whole answer texts were scored, not letters.
    pub scores_texts: bool,
    /// Whether a record's `correct` is that of the highest log-likelihood (the harness's `acc`).
    pub picks_by_sum: bool,
    pub seed: Option<i64>,
}

impl<'a> Setting<'a> {
    pub(super) fn of(part: &Part<'a>) -> Result<Setting<'a>> {
        let first = part.trace.texts.record(part.rows[0])?;
        let run = part.manifest.and_then(Provenance::ours);
        let styled = run.map(|run| run.settings.prompt.style.as_str());
        let benchmark = first.benchmark.strip_prefix("leaderboard_").unwrap_or(&first.benchmark);
        let known = benchmark::find(benchmark)
            .ok()
            .or_else(|| styled.map(|_| &benchmark::custom::CUSTOM));
        let style = known.zip(styled).and_then(|(known, style)| known.style(style).ok());
        let rule = part.trace.rule.as_deref();
        let rule = rule.or(run.map(|run| run.settings.rule.as_str()));
        let rule = rule
            .and_then(|rule| Rule::parse(rule).ok())
            .and_then(|rule| rule.argmax());
        let is_cloze = first.logprobs.is_some();
        let is_letter = |text: &String| letter_index(text.trim()).is_some();
        let scores_texts = first
            .continuations
            .as_ref()
            .is_some_and(|continuations| !continuations.iter().all(is_letter));
        let form = known.map_or(Form::Custom, |known| known.form);
        Ok(Setting {
            run,
            benchmark: if benchmark.is_empty() { "trace" } else { benchmark }.to_owned(),
            known,
            style,
            kind: match style {
                Some(style) => Kind::of(form, style.name),
                None => Kind::like(form, is_cloze, scores_texts),
            },
            is_cloze,
            scores_texts,
            picks_by_sum: rule.unwrap_or_default() == ArgMax::Sum,
            seed: part.seed,
        })
    }

    /// Something of the run's settings as JSON; null where it is no run of markbook's.
    pub(super) fn told<T: Serialize>(&self, what: impl FnOnce(&'a Settings) -> T) -> Value {
        self.run.map_or(Value::Null, |run| json!(what(&run.settings)))
    }

    pub(super) fn is_chat(&self) -> bool {
        self.run.is_some_and(|run| run.settings.prompt.chat)
    }

    /// The task's version as a number.
    pub(super) fn version(&self) -> Value {
        let number = self.run.and_then(|run| run.settings.task_version.parse::<f64>().ok());
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
        if self.is_cloze { "none" } else { self.kind.filter }
    }

    /// What was asked for beside what the task sets, as `--gen_kwargs` gives it; null where nothing was.
    pub(super) fn asked(&self) -> Value {
        let Some(Method::Generate { stops, max_tokens, .. }) = self.style.map(|style| style.method) else {
            return Value::Null;
        };
        let own = json!({"until": stops, "max_gen_toks": max_tokens, "do_sample": false, "temperature": 0.0});
        let Value::Object(mut asked) = self.generation() else {
            return Value::Null;
        };
        asked.retain(|name, value| own.get(name.as_str()) != Some(value));
        if asked.is_empty() {
            Value::Null
        } else {
            Value::Object(asked)
        }
    }

    /// `gen_kwargs` as the harness passes them: what a task sets, and what was asked for beside it.
    pub(super) fn generation(&self) -> Value {
        let sampling = self.told(|settings| &settings.sampling);
        let get = |name: &str| sampling.get(name).cloned().unwrap_or(Value::Null);
        let temperature = get("temperature").as_f64().unwrap_or(0.0);
        let (stops, limit) = match self.style.map(|style| style.method) {
            Some(Method::Generate { stops, max_tokens, .. }) => (stops, Some(max_tokens)),
            _ => (self.kind.stops, None),
        };
        let is_sampled = temperature > 0.0;
        let has_limit = limit.is_some_and(|limit| get("max_tokens") != json!(limit));
        let mut kwargs = Map::new();
        kwargs.insert(
            "until".into(),
            sampling.get("stops").cloned().unwrap_or_else(|| json!(stops)),
        );
        if self.kind.hands_over_all || has_limit {
            kwargs.insert("max_gen_toks".into(), get("max_tokens"));
        }
        if self.kind.hands_over_all || is_sampled {
            kwargs.insert("do_sample".into(), is_sampled.into());
            kwargs.insert("temperature".into(), json!(temperature));
        }
        if is_sampled {
            kwargs.insert("top_p".into(), get("top_p"));
            kwargs.insert("top_k".into(), get("top_k"));
            kwargs.insert("seed".into(), self.seed.into());
        }
        Value::Object(kwargs)
    }
}
