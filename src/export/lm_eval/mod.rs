//! The harness's own files: `samples_<task>_<date>.jsonl`, one a task, and `results_<date>.json`, with its keys, order
//! and string-typed numbers (lm-evaluation-harness 0.4.12). Rows that the harness wrote stay as it wrote them. Several
//! attempts, exams or runs become several folders.

mod config;
mod kind;
mod results;
mod sample;
mod setting;
mod task;

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::benchmark::hash::{Layout, python_json};
use crate::trace::{Member, Provenance, Trace};
use setting::Setting;

/// MMLU's groups, in the harness's order.
const MMLU_GROUPS: [&str; 4] = ["STEM", "Other", "Social Sciences", "Humanities"];

/// Rows that go into one folder: one run's, of one exam and one attempt where it has several.
struct Part<'a> {
    trace: &'a Trace,
    rows: Vec<usize>,
    manifest: Option<&'a Provenance>,
    seed: Option<i64>,
    /// Whether the harness wrote the rows.
    is_harness: bool,
    /// Whether they are all rows of their run.
    is_whole: bool,
}

/// Writes the folder; gives the files written. Files that stand there are not replaced: each date makes new names.
///
/// # Errors
/// When the trace holds no question text to export, or the folder cannot be written.
pub(super) fn write_folder(trace: &Trace, rows: &[u32], folder: &Path) -> Result<Vec<PathBuf>> {
    anyhow::ensure!(
        folder.is_dir() || !folder.exists(),
        "cannot write into {}: it is no folder",
        folder.display()
    );
    let members = trace.members();
    let runs = runs(trace, &members, rows)?;
    let date = chrono::Local::now().format("%Y-%m-%dT%H-%M-%S%.6f").to_string();
    let mut taken = HashSet::new();
    let mut written = Vec::new();
    for run in &runs {
        let mut folder = folder.to_owned();
        if runs.len() > 1 {
            folder.push(free_name(&run.name, &mut taken));
        }
        for (place, part) in parts(trace, run, &members) {
            let folder = folder.join(place);
            std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
            written.extend(write_part(&part, &folder, &date)?);
        }
    }
    Ok(written)
}

/// The rows of one run among those of a trace.
struct Run {
    name: String,
    rows: Vec<usize>,
    is_harness: bool,
    is_whole: bool,
}

/// Parts rows into the runs that they come from: members of one name are one run (its exams, attempts and filters) as far
/// as no row comes twice.
fn runs(trace: &Trace, members: &[Member], rows: &[u32]) -> Result<Vec<Run>> {
    let mut of_member: Vec<Vec<usize>> = vec![Vec::new(); members.len()];
    for row in rows.iter().map(|row| *row as usize) {
        of_member[member_of(members, row)].push(row);
    }
    let mut runs: Vec<(Run, HashSet<RowKey>)> = Vec::new();
    let ends = members.iter().skip(1).map(|member| member.first);
    let ends = ends.chain([trace.rows.len()]);
    for ((member, end), rows) in members.iter().zip(ends).zip(of_member) {
        let Some(first) = rows.first() else { continue };
        let line = trace.texts.source_lines(&[*first])?.remove(0);
        let filter = sample::filter_of(&line);
        let is_harness = filter.is_some();
        let filter = filter.unwrap_or_default();
        let cut = member.name.strip_suffix(&format!(" [{filter}]"));
        let name = member.model().or(cut).unwrap_or(&member.name);
        let is_whole = rows.len() == end - member.first;
        let keys: HashSet<RowKey> = rows.iter().map(|row| row_key(trace, *row, &filter)).collect();
        let same = runs
            .iter_mut()
            .find(|(run, known)| run.name == name && run.is_harness == is_harness && known.is_disjoint(&keys));
        match same {
            Some((run, known)) => {
                run.rows.extend(rows);
                run.is_whole &= is_whole;
                known.extend(keys);
            }
            None => runs.push((
                Run {
                    name: name.to_owned(),
                    rows,
                    is_harness,
                    is_whole,
                },
                keys,
            )),
        }
    }
    Ok(runs.into_iter().map(|(run, _)| run).collect())
}

/// What no two rows of a run share: exam, subject, question, attempt and filter.
type RowKey = (u32, u32, i64, u16, String);

fn row_key(trace: &Trace, row: usize, filter: &str) -> RowKey {
    let rows = &trace.rows;
    (
        rows.benchmark.code(row),
        rows.subject.code(row),
        rows.question_id[row],
        rows.attempt[row],
        filter.to_owned(),
    )
}

fn member_of(members: &[Member], row: usize) -> usize {
    members.partition_point(|member| member.first <= row).saturating_sub(1)
}

/// The parts of a run by their folders. The harness has one folder for all tasks of a run; exams of ours part by name.
fn parts<'a>(trace: &'a Trace, run: &Run, members: &'a [Member]) -> Vec<(PathBuf, Part<'a>)> {
    let mut by_attempt: BTreeMap<(String, u16), Vec<usize>> = BTreeMap::new();
    let mut seen = HashSet::new();
    for row in run.rows.iter().copied() {
        // Several answers in one row of a file are written with it.
        if run.is_harness && trace.texts.place(row).is_some_and(|place| !seen.insert(place)) {
            continue;
        }
        let exam = match trace.rows.benchmark.get(row) {
            _ if run.is_harness => "",
            "" => "trace",
            exam => exam,
        };
        let key = (exam.to_owned(), trace.rows.attempt[row]);
        by_attempt.entry(key).or_default().push(row);
    }
    let mut attempts: BTreeMap<String, usize> = BTreeMap::new();
    for (exam, _) in by_attempt.keys() {
        *attempts.entry(exam.clone()).or_default() += 1;
    }
    let place = |exam: &str, attempt: u16, seed: Option<i64>| {
        let mut place = PathBuf::new();
        if attempts.len() > 1 {
            place.push(crate::store::folder_name(exam));
        }
        if attempts[exam] > 1 {
            place.push(seed.map_or_else(|| format!("attempt-{attempt}"), |seed| format!("seed-{seed}")));
        }
        place
    };
    let part = |((exam, attempt), rows): ((String, u16), Vec<usize>)| {
        let seed = trace.rows.seed(rows[0]);
        let manifest = members[member_of(members, rows[0])].manifest.as_ref();
        let part = Part {
            trace,
            rows,
            manifest,
            seed,
            is_harness: run.is_harness,
            is_whole: run.is_whole,
        };
        (place(&exam, attempt, seed), part)
    };
    by_attempt.into_iter().map(part).collect()
}

/// A folder's name for a run, numbered where it is taken.
fn free_name(name: &str, taken: &mut HashSet<String>) -> String {
    let name = crate::store::folder_name(name);
    let numbered = (1..).map(|number| match number {
        1 => name.clone(),
        _ => format!("{name}-{number}"),
    });
    let free = numbered.into_iter().find(|name| taken.insert(name.clone()));
    free.unwrap_or(name)
}

fn write_part(part: &Part, folder: &Path, date: &str) -> Result<Vec<PathBuf>> {
    let setting = Setting::of(part)?;
    let mut tasks = task::tasks(part, &setting)?;
    let mut written = Vec::new();
    for task in &mut tasks {
        let path = folder.join(format!("samples_{}_{date}.jsonl", task.name));
        let text = task.write(part, &setting)?;
        crate::files::write_aside(&path, text.as_bytes())?;
        written.push(path);
    }
    let path = folder.join(format!("results_{date}.json"));
    let results = results::results(&tasks, part, &setting)?;
    crate::files::write_aside(&path, python_json(&results, Layout::Indented(2)).as_bytes())?;
    written.push(path);
    Ok(written)
}
