//! The harness's own files: `samples_<task>_<date>.jsonl`, one a subject, and `results_<date>.json`, with its keys, order
//! and string-typed numbers (lm-evaluation-harness 0.4.12). Several attempts become several folders.

mod config;
mod results;
mod sample;
mod setting;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};

use crate::benchmark::hash::{Layout, python_json};
use crate::record::Record;
use crate::trace::Trace;
use setting::Setting;

/// MMLU's groups, in the harness's order.
const MMLU_GROUPS: [&str; 4] = ["STEM", "Other", "Social Sciences", "Humanities"];

/// One task of the harness: a subject and its rows, in the order of the split.
struct Task {
    name: String,
    alias: String,
    subject: String,
    category: String,
    records: Vec<Arc<Record>>,
}

/// Writes the folder; gives the files written. Files that stand there are not replaced: each date makes new names.
///
/// # Errors
/// When the trace holds no question text to export, or the folder cannot be written.
pub(super) fn write_folder(trace: &Trace, rows: &[u32], folder: &Path) -> Result<Vec<PathBuf>> {
    let parent = folder
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    anyhow::ensure!(
        folder.is_dir() || !folder.exists() && parent.is_dir(),
        "cannot write into {}: it is no folder, or its parent does not exist",
        folder.display()
    );
    // One exam and attempt is one folder of the harness; several exams part by their names.
    let mut parts: BTreeMap<(String, u16), Vec<usize>> = BTreeMap::new();
    for row in rows {
        let row = *row as usize;
        let benchmark = trace.rows.benchmark.get(row).to_owned();
        parts.entry((benchmark, trace.rows.attempt[row])).or_default().push(row);
    }
    let mut attempts: BTreeMap<&str, usize> = BTreeMap::new();
    for (benchmark, _) in parts.keys() {
        *attempts.entry(benchmark).or_default() += 1;
    }
    let several_exams = attempts.len() > 1;
    let date = chrono::Local::now().format("%Y-%m-%dT%H-%M-%S%.6f").to_string();
    let mut written = Vec::new();
    for ((benchmark, attempt), rows) in &parts {
        let seed = rows.first().and_then(|row| trace.rows.seed(*row));
        let mut folder = folder.to_owned();
        if several_exams {
            folder.push(crate::store::folder_name(if benchmark.is_empty() {
                "trace"
            } else {
                benchmark
            }));
        }
        if attempts[benchmark.as_str()] > 1 {
            folder.push(seed.map_or_else(|| format!("attempt-{attempt}"), |seed| format!("seed-{seed}")));
        }
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        written.extend(write_part(trace, rows, seed, &folder, &date)?);
    }
    Ok(written)
}

fn write_part(trace: &Trace, rows: &[usize], seed: Option<i64>, folder: &Path, date: &str) -> Result<Vec<PathBuf>> {
    let records = records(trace, rows)?;
    let setting = Setting::of(trace, &records, seed);
    let tasks = tasks(records, &setting);
    let mut written = Vec::new();
    for task in &tasks {
        let path = folder.join(format!("samples_{}_{date}.jsonl", task.name));
        let mut text = String::new();
        for (at, record) in task.records.iter().enumerate() {
            let sample = sample::sample(record, at, &setting)
                .with_context(|| format!("question {} attempt {}", record.question_id, record.attempt))?;
            text.push_str(&python_json(&sample, Layout::OneLine));
            text.push('\n');
        }
        crate::files::write_aside(&path, text.as_bytes())?;
        written.push(path);
    }
    let path = folder.join(format!("results_{date}.json"));
    let results = results::results(&tasks, &setting);
    crate::files::write_aside(&path, python_json(&results, Layout::Indented(2)).as_bytes())?;
    written.push(path);
    Ok(written)
}

/// The rows' records, with the picks of the rule that was asked for where they are not the stored ones.
fn records(trace: &Trace, rows: &[usize]) -> Result<Vec<Arc<Record>>> {
    let mut records = Vec::with_capacity(rows.len());
    for chunk in rows.chunks(512) {
        for (row, record) in chunk.iter().zip(trace.texts.records(chunk)?) {
            let light = trace.rows.light(*row);
            records.push(if record.pick == light.pick && record.correct == light.correct {
                record
            } else {
                Arc::new(Record {
                    pick: light.pick.to_owned(),
                    correct: light.correct,
                    ..Record::clone(&record)
                })
            });
        }
    }
    Ok(records)
}

fn tasks(records: Vec<Arc<Record>>, setting: &Setting) -> Vec<Task> {
    let mut by_subject: BTreeMap<String, Vec<Arc<Record>>> = BTreeMap::new();
    for record in records {
        by_subject.entry(record.subject.clone()).or_default().push(record);
    }
    let mut tasks: Vec<Task> = by_subject
        .into_iter()
        .map(|(subject, mut records)| {
            records.sort_by_key(|record| (record.doc_id, record.question_id));
            let alias = crate::store::folder_name(&subject.replace(' ', "_"));
            let name = setting.task_name(&alias);
            Task {
                alias: if setting.has_alias() { alias } else { name.clone() },
                name,
                category: records
                    .first()
                    .map(|record| record.category.clone())
                    .unwrap_or_default(),
                subject,
                records,
            }
        })
        .collect();
    let place = |task: &Task| MMLU_GROUPS.iter().position(|group| *group == task.category);
    tasks.sort_by(|a, b| (place(a), &a.name).cmp(&(place(b), &b.name)));
    tasks
}
