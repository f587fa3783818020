//! `run.json`: whatever moves a score, and how the run went. No secret ever enters it.

mod again;
mod machine;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::engine::{Description, Model, RemoteTotals, Rounding, Sampling};
use crate::text::hex;

pub use again::Again;
pub use machine::{Build, Machine};

/// The file's name in a run folder.
pub const FILE: &str = "run.json";

/// Where the questions came from.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Data {
    /// `embedded`, a folder or file, or a hub id.
    pub source: String,
    pub revision: Option<String>,
    pub split: String,
    /// sha256 over content and order of the slice.
    pub fingerprint: String,
    pub questions: usize,
    pub subjects: Vec<String>,
    pub per_subject: Option<usize>,
    pub sample_seed: Option<u64>,
    pub limit: Option<usize>,
    /// Questions of each subject before subjects were cut.
    #[serde(default)]
    pub available: BTreeMap<String, usize>,
    /// The number of the first option, where it was given for a set that names its gold by number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gold_base: Option<i64>,
    /// Rows dropped or flagged on the way in, one line each.
    pub washed: Vec<String>,
    /// Version of the rules that drop and flag.
    #[serde(default)]
    pub wash: Option<u32>,
}

/// The answered examples that can go before a question.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Shots {
    /// sha256 over content and order of all of them, so that it is the same whatever subjects are asked.
    pub sha256: String,
    /// The split that they come from; none where each question brings its own.
    pub split: Option<String>,
    /// Which are shown, in words.
    pub choice: String,
}

/// How questions are put to the model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Prompting {
    pub style: String,
    pub shots: usize,
    pub chat: bool,
    /// `turn` or `turns`, where chat is on.
    pub chat_shots: Option<String>,
    /// The prompt template's full text.
    pub template: String,
    pub chat_template_sha256: Option<String>,
    /// The chat template's full text.
    #[serde(default)]
    pub chat_template: Option<String>,
    /// Where examples are shown.
    #[serde(default)]
    pub examples: Option<Shots>,
    /// What is said before the style's own description.
    #[serde(default)]
    pub system: Option<String>,
    /// What the chat template makes of the description: `none` was given, `kept`, `refused`, `ignored`. Unknown where a
    /// server has the template.
    #[serde(default)]
    pub system_kept: Option<String>,
    /// What the chat template is given beside the turns: `date`, where it asks for that of today.
    #[serde(default)]
    pub template_options: Option<BTreeMap<String, String>>,
    /// Who adds a beginning-of-sequence token.
    #[serde(default)]
    pub bos: Option<String>,
}

/// What decides a run's answers: a resumed run must have the same.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Settings {
    pub benchmark: String,
    pub task_version: String,
    /// `cloze` or `generate`.
    pub method: String,
    pub model: Model,
    #[serde(default)]
    pub engine: Description,
    pub data: Data,
    pub prompt: Prompting,
    pub rule: String,
    /// Of the rule's patterns and their order, see [`crate::extract::Rule::sha256`].
    #[serde(default)]
    pub rule_sha256: Option<String>,
    /// What becomes of a row from which no letter can be read: counted `wrong`.
    #[serde(default)]
    pub unreadable: Option<String>,
    /// What the accuracy is the mean of: `rows`.
    #[serde(default)]
    pub average: Option<String>,
    /// The harness whose prompts, rule and figures these are, to the byte; or `none`.
    #[serde(default)]
    pub parity: Option<String>,
    pub sampling: Option<Sampling>,
    /// Empty for cloze; one null for greedy.
    pub seeds: Vec<Option<i64>>,
    /// Version of the random stream, where this program draws the tokens.
    #[serde(default)]
    pub stream: Option<u32>,
}

/// Seconds and tokens of a run, all its sittings together.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Timing {
    pub load_cpu_s: f64,
    pub model_cpu_s: f64,
    pub wall_s: f64,
    pub tokens_in: u64,
    pub tokens_out: u64,
    pub threads: usize,
    /// Of servers; the exams of a run share them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served: Option<RemoteTotals>,
}

/// The whole of `run.json`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of markbook.
    pub markbook: String,
    pub settings: Settings,
    /// Local time with offset, RFC 3339.
    pub started: String,
    pub ended: Option<String>,
    /// Rows when complete.
    pub rows: usize,
    /// Rows finished so far.
    pub finished: usize,
    pub timing: Timing,
    /// How far the model's log-likelihoods lie from those in f32, where it computes in less and that was measured.
    #[serde(default)]
    pub rounding: Option<Rounding>,
    /// What a reader should know of how the questions were put, e.g. a chat template that refused the system turn.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Further sittings of some rows, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub again: Vec<Again>,
    /// What computed, where that was this machine.
    #[serde(default)]
    pub machine: Option<Machine>,
    #[serde(default)]
    pub build: Option<Build>,
    /// What newer versions write, and what files beside the run tell.
    #[serde(flatten)]
    pub more: Map<String, Value>,
}

impl Manifest {
    pub fn read(folder: &Path) -> Result<Manifest> {
        let path = folder.join(FILE);
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_str(&text).with_context(|| format!("{} is not a run's manifest", path.display()))
    }

    /// The same for a run that is gone on with: why there is none is a value where it is missing or damaged.
    ///
    /// # Errors
    /// When it is there and cannot be read.
    pub fn find(folder: &Path) -> Result<Result<Manifest, String>> {
        let path = folder.join(FILE);
        match std::fs::read(&path) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).map_err(|error| format!("{FILE} is damaged ({error})"))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Err(format!("{FILE} is missing"))),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
        }
    }

    /// Writes the manifest aside, then in its place.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let path = folder.join(FILE);
        let text = serde_json::to_string_pretty(self).context("the manifest does not turn into JSON")?;
        crate::files::write_aside(&path, format!("{text}\n").as_bytes())
    }
}

impl Manifest {
    /// What a run keeps while it grows, is resumed, moved or copied: sha256 over its settings, without what may change
    /// between sittings, and the time of its beginning.
    pub fn key(&self) -> String {
        let mut settings = serde_json::json!(Settings {
            engine: self.settings.engine.of_answers(),
            ..self.settings.clone()
        });
        for name in FREE.iter().chain(LATER) {
            let (place, key) = name.rsplit_once('.').unwrap_or(("", name));
            let place = place.split('.').filter(|part| !part.is_empty());
            let fields = place.fold(&mut settings, |value, part| &mut value[part]);
            fields.as_object_mut().map(|fields| fields.remove(key));
        }
        hex(&Sha256::digest(format!("{settings}\n{}", self.started).as_bytes()))
    }
}

/// Settings that may change between sittings: they move no score.
const FREE: &[&str] = &[
    "data.washed",
    // Its hash is compared.
    "prompt.chat_template",
    // A run may go on tomorrow; each prompt's own hash tells which day it had.
    "prompt.template_options.date",
];

/// Settings that older versions did not write: of a run begun by one they are unknown, and taken as they are.
const LATER: &[&str] = &[
    "data.wash",
    "prompt.examples",
    "prompt.system_kept",
    "prompt.template_options",
    "prompt.bos",
    "rule_sha256",
    "unreadable",
    "average",
    "parity",
    "stream",
    "engine.format",
];

impl Settings {
    /// Refuses, by name, what differs between the settings of a started run and those of now.
    pub fn must_equal(&self, now: &Settings) -> Result<()> {
        let of_answers = |settings: &Settings| {
            serde_json::to_value(Settings {
                engine: settings.engine.of_answers(),
                ..settings.clone()
            })
        };
        let (now_served, accepts_drift) = (now.engine.served().is_some(), now.engine.accepts_drift());
        let (before, now) = (of_answers(self)?, of_answers(now)?);
        let mut changed = Vec::new();
        differences("", &before, &now, &mut changed);
        changed.retain(|(name, was, _)| {
            !FREE.contains(&name.as_str()) && !(LATER.contains(&name.as_str()) && was == "null")
        });
        // What is sent is ours and never drifts.
        let drifts =
            |name: &str| name.starts_with("model.") || name.starts_with("engine.") && !name.starts_with("engine.sent");
        changed.retain(|(name, ..)| !(accepts_drift && drifts(name)));
        if changed.is_empty() {
            return Ok(());
        }
        let list: Vec<String> = changed
            .iter()
            .map(|(name, before, now)| format!("{name} was {before}, is now {now}"))
            .collect();
        let is_drift = now_served && changed.iter().all(|(name, ..)| drifts(name));
        let or = if is_drift {
            ", go on by --accept-drift (both are kept)"
        } else {
            ""
        };
        bail!(
            "the run was started with other settings: {}; resume with the same ones{or}, or take another --out",
            list.join("; ")
        )
    }
}

fn differences(name: &str, before: &Value, now: &Value, changed: &mut Vec<(String, String, String)>) {
    match (before, now) {
        (Value::Object(before), Value::Object(now)) => {
            for (key, value) in before {
                let name = if name.is_empty() {
                    key.clone()
                } else {
                    format!("{name}.{key}")
                };
                differences(&name, value, now.get(key).unwrap_or(&Value::Null), changed);
            }
        }
        (before, now) if before == now => {}
        (before, now) => changed.push((name.to_owned(), short(before), short(now))),
    }
}

fn short(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() > 60 {
        format!("{}…", text.chars().take(60).collect::<String>())
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_setting_is_refused_by_name_and_threads_may_change() {
        let mut before = Settings {
            sampling: Some(Sampling {
                temperature: 0.7,
                top_p: 0.95,
                top_k: 64,
                max_tokens: 8,
                stops: Vec::new(),
            }),
            ..Settings::default()
        };
        let mut now = before.clone();
        now.engine = Description::Unknown(crate::engine::Local {
            threads: 7,
            ..crate::engine::Local::default()
        });
        before.must_equal(&now).unwrap();
        before.sampling = before.sampling.map(|sampling| Sampling {
            temperature: 0.8,
            ..sampling
        });
        let error = before.must_equal(&now).unwrap_err().to_string();
        assert!(error.contains("sampling.temperature was 0.8, is now 0.7"), "{error}");
    }
}
