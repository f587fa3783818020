//! How a trace came about, as far as the files beside it tell.

use serde_json::{Map, Value, json};

use super::Trace;
use crate::manifest::Manifest;

/// How a trace came about.
#[derive(Debug, Clone, PartialEq)]
pub enum Provenance {
    /// A run of markbook.
    Ours(Box<Manifest>),
    /// An object of what another tool's files tell, in their words.
    Foreign(Value),
}

impl Default for Provenance {
    fn default() -> Provenance {
        Provenance::Foreign(Value::Object(Map::new()))
    }
}

/// The key of the files in `provenance` beside a set.
const BESIDE: &str = "provenance";

/// Lines that are shown of each of these files.
const LINES: usize = 24;

impl Provenance {
    pub fn ours(&self) -> Option<&Manifest> {
        match self {
            Provenance::Ours(manifest) => Some(manifest),
            Provenance::Foreign(_) => None,
        }
    }

    pub fn foreign(&self) -> Option<&Value> {
        match self {
            Provenance::Ours(_) => None,
            Provenance::Foreign(told) => Some(told),
        }
    }

    /// All of it as JSON.
    pub fn value(&self) -> Value {
        match self {
            Provenance::Ours(manifest) => json!(manifest),
            Provenance::Foreign(told) => told.clone(),
        }
    }

    /// Adds what something beside the file tells: the commit of a data set (`hub`), notes on how it was made.
    pub fn add(&mut self, key: &str, value: Value) {
        let fields = match self {
            Provenance::Ours(manifest) => Some(&mut manifest.more),
            Provenance::Foreign(told) => told.as_object_mut(),
        };
        if let Some(fields) = fields {
            fields.insert(key.to_owned(), value);
        }
    }

    /// The same, of the files in the folder `provenance`: name (without ending) to content.
    pub fn add_beside(&mut self, files: Map<String, Value>) {
        self.add(BESIDE, Value::Object(files));
    }

    /// What a key beside the manifest's own tells.
    pub fn told(&self, key: &str) -> Option<&Value> {
        match self {
            Provenance::Ours(manifest) => manifest.more.get(key),
            Provenance::Foreign(told) => told.get(key),
        }
    }

    /// The model, where its files name one.
    pub fn model(&self) -> Option<String> {
        let told = match self {
            Provenance::Ours(manifest) => {
                let model = &manifest.settings.model;
                let named = [&model.id, &model.name];
                return named.into_iter().find(|name| !name.is_empty()).cloned();
            }
            Provenance::Foreign(told) => told,
        };
        let places = [
            "/model/id",
            "/model/name",
            "/model",
            "/eval/model",
            "/adapter_spec/model",
        ];
        let named = places.iter().find_map(|place| told.pointer(place)?.as_str());
        named.map(str::to_owned).or_else(|| model_of_results(told))
    }
}

/// The model that a results file of lm-eval tells of.
pub fn model_of_results(results: &Value) -> Option<String> {
    let text = |pointer: &str| results.pointer(pointer).and_then(Value::as_str);
    let of_arguments = || match results.pointer("/config/model_args")? {
        Value::String(arguments) => arguments
            .split(',')
            .find_map(|part| part.strip_prefix("pretrained=").or(part.strip_prefix("model="))),
        arguments => arguments
            .get("pretrained")
            .or_else(|| arguments.get("model"))
            .and_then(Value::as_str),
    };
    let name = text("/model_name").or_else(of_arguments);
    name.filter(|name| !name.is_empty()).map(str::to_owned)
}

impl Trace {
    /// The manifest, where it is a run of markbook.
    pub fn ours(&self) -> Option<&Manifest> {
        self.manifest.as_ref()?.ours()
    }

    /// The model, where the file, its results or its manifest name one.
    pub fn model(&self) -> Option<String> {
        self.manifest.as_ref()?.model()
    }

    /// How the set was made, by the files in `provenance` beside it: file name (without ending) to its content.
    pub fn provenance(&self) -> Option<&Map<String, Value>> {
        self.manifest.as_ref()?.told(BESIDE)?.as_object()
    }

    /// The same as lines to be shown: `generation · model: google/gemma`, nested names joined by dots.
    pub fn provenance_lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (file, value) in self.provenance().into_iter().flatten() {
            let mut own = Vec::new();
            flatten(value, "", &mut own);
            let more = own.len().saturating_sub(LINES);
            lines.extend(own.into_iter().take(LINES).map(|line| format!("{file} · {line}")));
            if more > 0 {
                lines.push(format!("{file} · and {more} more"));
            }
        }
        lines
    }
}

fn flatten(value: &Value, path: &str, lines: &mut Vec<String>) {
    let is_short = |list: &[Value]| list.iter().all(|item| !item.is_object() && !item.is_array());
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let path = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                flatten(value, &path, lines);
            }
        }
        Value::Array(list) if !is_short(list) => {
            for (at, value) in list.iter().enumerate() {
                flatten(value, &format!("{path}.{at}"), lines);
            }
        }
        _ => {
            let shown = match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let mut short: String = shown.chars().take(200).collect();
            if short.len() < shown.len() {
                short.push('…');
            }
            lines.push(if path.is_empty() {
                short
            } else {
                format!("{path}: {short}")
            });
        }
    }
}
