//! `provenance/*.json` beside a set: how it was made, in its makers' words.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::results;
use crate::trace::Trace;

/// Larger files are no notes on how a set was made.
const LARGEST: u64 = 4 << 20;

/// Files that are read.
const MOST: usize = 100;

/// Lines that are shown of each file.
const LINES: usize = 24;

/// The manifest's key for it.
const KEY: &str = "provenance";

/// Puts the files of the folder `provenance` beside a set into its manifest; where the set lies in `data`, beside that.
pub(super) fn attach(trace: &mut Trace, path: &Path) {
    let folder = if path.is_dir() {
        path
    } else {
        path.parent().unwrap_or(path)
    };
    let outer = folder.parent().filter(|_| folder.ends_with("data"));
    let found = std::iter::once(folder)
        .chain(outer)
        .map(|folder| read(&folder.join("provenance")))
        .find(|found| !found.is_empty());
    let Some(found) = found else { return };
    let manifest = trace.manifest.get_or_insert_with(|| Value::Object(Map::new()));
    if let Some(fields) = manifest.as_object_mut() {
        fields.insert(KEY.to_owned(), Value::Object(found));
    }
}

fn read(folder: &Path) -> Map<String, Value> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| {
        let is_json = path.extension().is_some_and(|ending| ending == "json");
        is_json && path.metadata().is_ok_and(|facts| facts.len() <= LARGEST)
    });
    paths.sort();
    let read = |path: &PathBuf| {
        let name = path.file_stem()?.to_string_lossy().into_owned();
        let value = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
        Some((name, value))
    };
    paths.iter().take(MOST).filter_map(read).collect()
}

impl Trace {
    /// The model, where the file, its results or its manifest name one.
    pub fn model(&self) -> Option<String> {
        let manifest = self.manifest.as_ref()?;
        let places = [
            "/settings/model/id",
            "/settings/model/name",
            "/model/id",
            "/model",
            "/eval/model",
            "/adapter_spec/model",
        ];
        let named = places.iter().find_map(|place| manifest.pointer(place)?.as_str());
        named.map(str::to_owned).or_else(|| results::model_of(manifest))
    }

    /// How the set was made, by the files in `provenance` beside it: file name (without ending) to its content.
    pub fn provenance(&self) -> Option<&Map<String, Value>> {
        self.manifest.as_ref()?.get(KEY)?.as_object()
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
