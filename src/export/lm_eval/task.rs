//! One task of a run: its rows in the order of its split, its samples, and what they come to.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use serde_json::Value;

use super::setting::Setting;
use super::{MMLU_GROUPS, Part, sample};
use crate::benchmark::hash::{Layout, python_json, task_hash};
use crate::benchmark::mmlu::category_of;
use crate::record::Record;
use crate::stats::{Tally, sample_std};

/// Rows read at a time.
const TOGETHER: usize = 256;

pub(super) struct Task {
    pub name: String,
    pub alias: String,
    pub subject: String,
    /// Of MMLU its group.
    pub category: String,
    rows: Vec<usize>,
    /// Options that a row has at most.
    pub options: usize,
    /// What the samples come to, by filter and metric in their order.
    pub tallies: Vec<Counted>,
    /// Their hash, as the results list it.
    pub hash: String,
}

/// What the samples of one filter come to by one metric.
pub(super) struct Counted {
    pub filter: String,
    pub metric: &'static str,
    pub tally: Tally,
    /// 1 or 0 of each sample in its order, which the last digit of the error depends on.
    scores: Vec<f64>,
}

impl Counted {
    /// The harness's `mean_stderr`; `None` of a single sample.
    pub fn stderr(&self) -> Option<f64> {
        sample_std(&self.scores).map(|spread| spread / (self.scores.len() as f64).sqrt())
    }
}

/// The tasks of a part, MMLU's in the order of the harness's groups.
pub(super) fn tasks(part: &Part, setting: &Setting) -> Result<Vec<Task>> {
    let mut by_name: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for row in &part.rows {
        by_name.entry(name_of(part, setting, *row)).or_default().push(*row);
    }
    let mut tasks = Vec::new();
    for (name, mut rows) in by_name {
        sort(part, &mut rows)?;
        let light = part.trace.rows.light(rows[0]);
        let subject = if setting.kind.is_one_task() { "" } else { light.subject };
        let alias = Some(alias_of(subject)).filter(|alias| setting.kind.has_alias && !alias.is_empty());
        tasks.push(Task {
            alias: alias.unwrap_or_else(|| name.clone()),
            name,
            category: category_of(subject)
                .filter(|_| setting.benchmark == "mmlu")
                .unwrap_or(light.category)
                .to_owned(),
            subject: subject.to_owned(),
            options: rows
                .iter()
                .map(|row| usize::from(part.trace.rows.options[*row]))
                .max()
                .unwrap_or(0),
            rows,
            tallies: Vec::new(),
            hash: String::new(),
        });
    }
    let place = |task: &Task| MMLU_GROUPS.iter().position(|group| *group == task.category);
    tasks.sort_by(|a, b| (place(a), &a.name).cmp(&(place(b), &b.name)));
    Ok(tasks)
}

/// The task of a row: as its file is named, else as its style or its kind of row has it.
fn name_of(part: &Part, setting: &Setting, row: usize) -> String {
    let of_file = || {
        let (file, _) = part.trace.texts.place(row)?;
        task_of_file(&file)
    };
    let named = if part.is_harness { of_file() } else { None };
    named.unwrap_or_else(|| {
        let rows = &part.trace.rows;
        setting
            .kind
            .task_name(&setting.benchmark, &alias_of(rows.subject.get(row)))
    })
}

/// The task in `samples_<task>_2024-11-22T16-44-21.111622.jsonl`.
fn task_of_file(file: &Path) -> Option<String> {
    let name = file.file_name()?.to_str()?;
    let stem = name.split_once(".json").map_or(name, |(stem, _)| stem);
    crate::import::task_and_stamp(stem).map(|(task, _)| task)
}

fn alias_of(subject: &str) -> String {
    crate::store::folder_name(&subject.replace(' ', "_"))
}

/// Puts rows in the order of their split: as the harness's file has them, else by their place in it.
fn sort(part: &Part, rows: &mut [usize]) -> Result<()> {
    if part.is_harness {
        rows.sort_by_cached_key(|row| part.trace.texts.place(*row));
        return Ok(());
    }
    let mut places = BTreeMap::new();
    for chunk in rows.chunks(TOGETHER) {
        for (row, record) in chunk.iter().zip(part.trace.texts.records(chunk)?) {
            places.insert(*row, (record.doc_id, record.question_id));
        }
    }
    rows.sort_by_key(|row| places[row]);
    Ok(())
}

impl Task {
    /// The text of its samples file; counts what they come to.
    pub fn write(&mut self, part: &Part, setting: &Setting) -> Result<String> {
        let mut text = String::new();
        let mut hashes: Vec<[String; 3]> = Vec::new();
        let rows = std::mem::take(&mut self.rows);
        for (at, chunk) in rows.chunks(TOGETHER).enumerate() {
            for sample in samples(part, setting, chunk, at * TOGETHER)? {
                text.push_str(&python_json(&sample, Layout::OneLine));
                text.push('\n');
                let hash = |name: &str| sample[name].as_str().unwrap_or_default().to_owned();
                hashes.push(["doc_hash", "prompt_hash", "target_hash"].map(hash));
                self.count(&sample, setting);
            }
        }
        self.hash = task_hash(hashes.iter().map(|hashes| hashes.each_ref().map(String::as_str)));
        Ok(text)
    }

    fn count(&mut self, sample: &Value, setting: &Setting) {
        let filter = sample["filter"].as_str().unwrap_or(setting.filter());
        for metric in sample::metrics(sample) {
            let is_right = sample[metric].as_f64().is_some_and(|score| score >= 0.5);
            let one = Tally::one(is_right, false);
            let known = self
                .tallies
                .iter_mut()
                .find(|counted| counted.filter == filter && counted.metric == metric);
            match known {
                Some(counted) => {
                    counted.tally += one;
                    counted.scores.push(f64::from(u8::from(is_right)));
                }
                None => self.tallies.push(Counted {
                    filter: filter.to_owned(),
                    metric,
                    tally: one,
                    scores: vec![f64::from(u8::from(is_right))],
                }),
            }
        }
    }

    /// Questions that were asked.
    pub fn len(&self) -> usize {
        self.tallies.iter().map(|counted| counted.tally.n).max().unwrap_or(0)
    }
}

/// The samples of some rows, the first of which is the task's `from`th.
fn samples(part: &Part, setting: &Setting, rows: &[usize], from: usize) -> Result<Vec<Value>> {
    let trace = part.trace;
    let named = |row: usize| {
        let light = trace.rows.light(row);
        format!("question {} attempt {}", light.question_id, light.attempt)
    };
    if part.is_harness {
        let lines = rows.iter().zip(trace.texts.source_lines(rows)?);
        let sample = |(row, line): (&usize, Vec<u8>)| {
            let read_again = trace.rule.as_ref().map(|_| trace.rows.light(*row));
            sample::of_source(&line, read_again).with_context(|| named(*row))
        };
        return lines.map(sample).collect();
    }
    let records = trace.texts.records(rows)?;
    let sample = |(at, (row, record)): (usize, (&usize, Arc<Record>))| {
        let record = trace.shown(*row, record);
        sample::of_record(&record, from + at, setting).with_context(|| named(*row))
    };
    rows.iter().zip(records).enumerate().map(sample).collect()
}
