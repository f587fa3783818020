//! The results files of lm-eval, which lie beside its samples.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::folder::Facts;
use super::{head, source, task_and_stamp};
use crate::text::thousands;
use crate::trace::{Notice, Provenance, Trace, model_of_results};

/// Tasks without samples that a notice lists one by one.
const LISTED: usize = 8;

/// A results file is read up to this size.
const LARGEST_RESULTS: u64 = 64 << 20;

/// Puts the run's results file into the manifest: of the same time stamp, or the only one beside. Gives the version of
/// the harness, where it is told.
pub(super) fn read_results(sample: &Path, stamp: Option<&str>, known: &[PathBuf], facts: &mut Facts) -> Option<String> {
    let folder = sample.parent().unwrap_or(Path::new(""));
    let beside = std::fs::read_dir(if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    });
    let beside = beside
        .ok()
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()));
    let name_of = |path: &PathBuf| {
        path.file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default()
    };
    let mut found: Vec<PathBuf> = beside
        .chain(known.iter().cloned())
        .filter(|path| name_of(path).starts_with("results"))
        .collect();
    found.retain(|path| stamp.is_none_or(|stamp| name_of(path).contains(stamp)));
    found.sort_by_key(name_of);
    found.dedup_by_key(|path| name_of(path));
    let read = |path: &PathBuf| -> Option<Value> {
        let start = head::start(path, &[], head::LENGTH).ok()??;
        let whole = source::head(path, &start.layers, LARGEST_RESULTS).ok()?;
        super::parse(whole.trim_ascii()).filter(Value::is_object)
    };
    let only = if found.len() == 1 || stamp.is_some() {
        found.first().and_then(read)
    } else {
        None
    };
    let Some(results) = only else {
        let text = "results_*.json not found; figures computed from the samples".to_owned();
        facts.notices.push(Notice {
            kind: "no_results".to_owned(),
            text,
        });
        let model_folder = folder.file_name().map(|name| name.to_string_lossy().replace("__", "/"));
        if stamp.is_some()
            && let Some(model) = model_folder.filter(|name| name.contains('/'))
        {
            facts.name = model;
        }
        return None;
    };
    if let Some(name) = model_of_results(&results) {
        facts.name = name;
    }
    let version = version_of(&results);
    facts.manifest = Some(results);
    version
}

/// The harness's version, where a results file tells it.
pub(super) fn version_of(results: &Value) -> Option<String> {
    results
        .get("lm_eval_version")
        .and_then(Value::as_str)
        .map(str::to_owned)
}

/// The tasks that a results file tells of, each with its number of samples where that is told.
fn tasks(results: &Value) -> Vec<(&str, Option<u64>)> {
    let entries = |key: &str| results.get(key).and_then(Value::as_object);
    let effective = |task: &str| {
        let of_run = entries("n-samples").and_then(|counts| counts.get(task)?.get("effective")?.as_u64());
        of_run.or_else(|| entries("results")?.get(task)?.get("sample_len")?.as_u64())
    };
    let groups = entries("group_subtasks").or_else(|| entries("groups"));
    let is_task = |name: &&String| groups.is_none_or(|groups| !groups.contains_key(*name));
    let named = entries("n-samples").or_else(|| entries("results"));
    let named = named.into_iter().flat_map(|tasks| tasks.keys()).filter(is_task);
    named.map(|task| (task.as_str(), effective(task))).collect()
}

/// Tells where a results file speaks of other samples than there are: how many, and of which tasks none.
pub(super) fn note_samples(trace: &mut Trace) {
    let Some(results) = trace.manifest.as_ref().and_then(Provenance::foreign) else {
        return;
    };
    let stated = tasks(results);
    let total: u64 = stated.iter().filter_map(|(_, samples)| *samples).sum();
    let held = trace.rows.len() as u64;
    let is_told = stated.iter().all(|(_, samples)| samples.is_some());
    if stated.is_empty() || is_told && total == held {
        return;
    }
    let task_of = |row: usize| {
        let (file, _) = trace.texts.place(row)?;
        Some(task_and_stamp(file.file_stem()?.to_str()?)?.0)
    };
    let present: HashSet<String> = (0..trace.rows.len()).filter_map(task_of).collect();
    let absent: Vec<String> = stated
        .iter()
        .filter(|(task, _)| !present.is_empty() && !present.contains(*task))
        .map(|(task, samples)| match samples {
            Some(samples) => format!("{task} ({samples})"),
            None => (*task).to_owned(),
        })
        .collect();
    let more = match absent.len().saturating_sub(LISTED) {
        0 => String::new(),
        more => format!(" and {more} more tasks"),
    };
    let mut told = Vec::new();
    if is_told {
        told.push(format!(
            "the results file tells of {} samples, here are {}",
            thousands(total as usize),
            thousands(held as usize)
        ));
    }
    if !absent.is_empty() {
        told.push(format!(
            "no samples of {}{more}",
            absent[..absent.len().min(LISTED)].join(", ")
        ));
    }
    if !told.is_empty() {
        trace.notices.push(Notice {
            kind: "sample_count".to_owned(),
            text: told.join(", and "),
        });
    }
}
