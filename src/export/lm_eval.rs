//! The harness's own files: `samples_<task>_<date>.jsonl`, one a subject, and `results_<date>.json`, with its keys, order
//! and string-typed numbers (lm-evaluation-harness 0.4.12). Several attempts become several folders.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

use crate::benchmark::hash::{Layout, python_float, python_json, task_hash};
use crate::record::{INVALID, Record};
use crate::trace::Trace;

/// One task of the harness: a subject and its rows, in the order of the split.
struct Task {
    name: String,
    alias: String,
    subject: String,
    category: String,
    records: Vec<Arc<Record>>,
}

/// What is the same for all tasks of a trace.
struct Setting<'a> {
    manifest: Option<&'a Value>,
    benchmark: String,
    is_cloze: bool,
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
    let mut attempts: BTreeMap<u16, Vec<usize>> = BTreeMap::new();
    for row in rows {
        attempts
            .entry(trace.rows.attempt[*row as usize])
            .or_default()
            .push(*row as usize);
    }
    let date = chrono::Local::now().format("%Y-%m-%dT%H-%M-%S%.6f").to_string();
    let several = attempts.len() > 1;
    let mut written = Vec::new();
    for (attempt, rows) in attempts {
        let seed = rows.first().and_then(|row| trace.rows.seed(*row));
        let folder = match (several, seed) {
            (false, _) => folder.to_owned(),
            (true, Some(seed)) => folder.join(format!("seed-{seed}")),
            (true, None) => folder.join(format!("attempt-{attempt}")),
        };
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        written.extend(write_attempt(trace, &rows, (seed, attempt), &folder, &date)?);
    }
    Ok(written)
}

fn write_attempt(
    trace: &Trace,
    rows: &[usize],
    (seed, _): (Option<i64>, u16),
    folder: &Path,
    date: &str,
) -> Result<Vec<PathBuf>> {
    let benchmark = rows.first().map_or("", |row| trace.rows.benchmark.get(*row)).to_owned();
    let setting = Setting {
        manifest: trace
            .manifest
            .as_ref()
            .filter(|manifest| manifest.get("settings").is_some()),
        is_cloze: rows.first().is_some_and(|row| trace.rows.scored[*row]),
        benchmark: if benchmark.is_empty() {
            "trace".to_owned()
        } else {
            benchmark
        },
    };
    let tasks = tasks(trace, rows, &setting)?;
    let mut written = Vec::new();
    for task in &tasks {
        let path = folder.join(format!("samples_{}_{date}.jsonl", task.name));
        let mut text = String::new();
        for (at, record) in task.records.iter().enumerate() {
            let sample = sample(record, at, &setting, seed)
                .with_context(|| format!("question {} attempt {}", record.question_id, record.attempt))?;
            text.push_str(&python_json(&sample, Layout::OneLine));
            text.push('\n');
        }
        crate::store::write_aside(&path, text.as_bytes())?;
        written.push(path);
    }
    let path = folder.join(format!("results_{date}.json"));
    let results = results(&tasks, &setting, seed);
    crate::store::write_aside(&path, python_json(&results, Layout::Indented(2)).as_bytes())?;
    written.push(path);
    Ok(written)
}

fn tasks(trace: &Trace, rows: &[usize], setting: &Setting) -> Result<Vec<Task>> {
    let mut by_subject: BTreeMap<String, Vec<Arc<Record>>> = BTreeMap::new();
    for chunk in rows.chunks(512) {
        for (row, record) in chunk.iter().zip(trace.texts.records(chunk)?) {
            let light = trace.rows.light(*row);
            // The picks of a rule that was asked for, not the stored ones.
            let record = if record.pick == light.pick && record.correct == light.correct {
                record
            } else {
                Arc::new(Record {
                    pick: light.pick.to_owned(),
                    correct: light.correct,
                    ..Record::clone(&record)
                })
            };
            by_subject.entry(record.subject.clone()).or_default().push(record);
        }
    }
    let mut tasks: Vec<Task> = by_subject
        .into_iter()
        .map(|(subject, mut records)| {
            records.sort_by_key(|record| (record.doc_id, record.question_id));
            let alias = subject.replace(' ', "_");
            Task {
                name: format!("{}_{alias}", setting.benchmark),
                category: records
                    .first()
                    .map(|record| record.category.clone())
                    .unwrap_or_default(),
                alias,
                subject,
                records,
            }
        })
        .collect();
    tasks.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(tasks)
}

fn text(value: &str) -> Value {
    Value::String(value.to_owned())
}

/// One line of a samples file.
fn sample(record: &Record, at: usize, setting: &Setting, seed: Option<i64>) -> Result<Value> {
    let doc: Value = match &record.doc {
        Some(doc) => serde_json::from_str(doc).context("its source row is no JSON")?,
        None => json!({
            "question_id": record.question_id,
            "question": record.question,
            "options": record.options,
            "answer": record.answer,
            "category": record.category,
        }),
    };
    let target = match doc.get("answer").filter(|_| setting.is_cloze) {
        Some(Value::Number(number)) => number.to_string(),
        _ => record.answer.clone(),
    };
    let mut sample = Map::new();
    sample.insert("doc_id".into(), record.doc_id.unwrap_or(at as i64).into());
    sample.insert("doc".into(), doc);
    sample.insert("target".into(), text(&target));
    let mut arguments = Map::new();
    if let Some(scores) = record.logprobs.as_ref().filter(|_| setting.is_cloze) {
        let greedy = record.greedy.as_deref().unwrap_or_default();
        let delimiter = if setting.flag("/settings/prompt/chat") { "" } else { " " };
        let mut answers = Vec::new();
        for (index, score) in scores.iter().enumerate() {
            let letter = crate::record::letter(index).map(String::from).unwrap_or_default();
            arguments.insert(
                format!("gen_args_{index}"),
                json!({ "arg_0": record.prompt, "arg_1": format!("{delimiter}{letter}") }),
            );
            let is_greedy = if greedy.get(index).copied().unwrap_or(false) {
                "True"
            } else {
                "False"
            };
            answers.push(json!([python_number(*score), is_greedy]));
        }
        sample.insert("arguments".into(), Value::Object(arguments));
        sample.insert("resps".into(), answers.iter().map(|answer| json!([answer])).collect());
        sample.insert("filtered_resps".into(), Value::Array(answers));
        sample.insert("filter".into(), text("none"));
        sample.insert("metrics".into(), json!(["acc"]));
    } else {
        arguments.insert(
            "gen_args_0".into(),
            json!({ "arg_0": record.prompt, "arg_1": setting.generation(seed) }),
        );
        sample.insert("arguments".into(), Value::Object(arguments));
        sample.insert("resps".into(), json!([[record.reasoning]]));
        sample.insert("filtered_resps".into(), json!([record.pick]));
        sample.insert("filter".into(), text("custom-extract"));
        sample.insert("metrics".into(), json!(["exact_match"]));
    }
    for (name, hash) in [
        ("doc_hash", &record.doc_hash),
        ("prompt_hash", &record.prompt_hash),
        ("target_hash", &record.target_hash),
    ] {
        sample.insert(name.into(), text(hash));
    }
    let score = if record.correct && record.pick != INVALID {
        1.0
    } else {
        0.0
    };
    sample.insert(setting.metric().into(), json!(score));
    Ok(Value::Object(sample))
}

/// Python's `str` of a float that was computed in single precision.
fn python_number(value: f32) -> String {
    if value.is_nan() {
        "nan".to_owned()
    } else if value.is_infinite() {
        if value > 0.0 {
            "inf".to_owned()
        } else {
            "-inf".to_owned()
        }
    } else {
        python_float(f64::from(value))
    }
}

impl Setting<'_> {
    fn at(&self, pointer: &str) -> Value {
        self.manifest
            .and_then(|manifest| manifest.pointer(pointer))
            .cloned()
            .unwrap_or(Value::Null)
    }

    fn flag(&self, pointer: &str) -> bool {
        self.at(pointer).as_bool().unwrap_or(false)
    }

    fn metric(&self) -> &'static str {
        if self.is_cloze { "acc" } else { "exact_match" }
    }

    fn filter(&self) -> &'static str {
        if self.is_cloze { "none" } else { "custom-extract" }
    }

    /// `gen_kwargs` as the harness passes them.
    fn generation(&self, seed: Option<i64>) -> Value {
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
            kwargs.insert("seed".into(), seed.into());
        }
        Value::Object(kwargs)
    }
}

/// Rows and right ones of a task or group.
#[derive(Clone, Copy)]
struct Score {
    n: usize,
    right: usize,
}

impl Score {
    fn of(task: &Task) -> Score {
        Score {
            n: task.records.len(),
            right: task.records.iter().filter(|record| record.correct).count(),
        }
    }

    fn mean(self) -> f64 {
        self.right as f64 / self.n as f64
    }

    /// Sample standard deviation over the root of n; `None` for a single row.
    fn stderr(self) -> Option<f64> {
        let n = self.n as f64;
        (self.n > 1).then(|| (self.mean() * (1.0 - self.mean()) * n / (n - 1.0)).sqrt() / n.sqrt())
    }
}

/// The harness's `pooled_sample_stderr`.
fn pooled(leaves: &[Score]) -> Option<f64> {
    let total: f64 = leaves.iter().map(|leaf| leaf.n as f64).sum();
    let mut sum = 0.0;
    for leaf in leaves {
        let n = leaf.n as f64;
        sum += (n - 1.0) * leaf.stderr()?.powi(2) * n;
    }
    let freedom = total - leaves.len() as f64;
    (freedom > 0.0).then(|| (sum / freedom / total).sqrt())
}

fn number_or_na(value: Option<f64>) -> Value {
    value.map_or_else(|| text("N/A"), |value| json!(value))
}

/// A group of tasks: name, alias, members.
type Group<'a> = (String, String, Vec<&'a Task>);

fn groups<'a>(tasks: &'a [Task], benchmark: &str) -> Vec<Group<'a>> {
    if tasks.len() < 2 {
        return Vec::new();
    }
    let mut groups: Vec<Group> = vec![(benchmark.to_owned(), benchmark.to_owned(), tasks.iter().collect())];
    if benchmark == "mmlu" {
        for category in ["STEM", "Humanities", "Social Sciences", "Other"] {
            let members: Vec<&Task> = tasks.iter().filter(|task| task.category == category).collect();
            if !members.is_empty() {
                let short = category.to_lowercase().replace(' ', "_");
                groups.push((
                    format!("mmlu_{short}"),
                    format!(" - {}", short.replace('_', " ")),
                    members,
                ));
            }
        }
    }
    groups
}

fn results(tasks: &[Task], setting: &Setting, seed: Option<i64>) -> Value {
    let (metric, filter) = (setting.metric(), setting.filter());
    let entry = |name: &str, alias: &str, n: usize, mean: f64, stderr: Option<f64>| {
        let mut entry = Map::new();
        entry.insert("name".into(), text(name));
        entry.insert("alias".into(), text(alias));
        entry.insert("sample_len".into(), n.into());
        entry.insert(format!("{metric},{filter}"), json!(mean));
        entry.insert(format!("{metric}_stderr,{filter}"), number_or_na(stderr));
        entry
    };
    let groups = groups(tasks, &setting.benchmark);
    let prefix = if groups.is_empty() { "" } else { " - " };
    let (mut scores, mut group_scores, mut members) = (Map::new(), Map::new(), Map::new());
    for (name, alias, tasks) in &groups {
        let leaves: Vec<Score> = tasks.iter().map(|task| Score::of(task)).collect();
        let (n, right) = leaves
            .iter()
            .fold((0, 0), |(n, right), leaf| (n + leaf.n, right + leaf.right));
        let mut group = entry(name, alias, n, right as f64 / n as f64, pooled(&leaves));
        let counts: Map<String, Value> = tasks
            .iter()
            .map(|task| (task.name.clone(), task.records.len().into()))
            .collect();
        group.insert("sample_count".into(), Value::Object(counts));
        scores.insert(name.clone(), Value::Object(group.clone()));
        group_scores.insert(name.clone(), Value::Object(group));
        members.insert(name.clone(), tasks.iter().map(|task| text(&task.name)).collect());
    }
    for task in tasks {
        let score = Score::of(task);
        let alias = format!("{prefix}{}", task.alias);
        scores.insert(
            task.name.clone(),
            Value::Object(entry(&task.name, &alias, score.n, score.mean(), score.stderr())),
        );
    }
    let each = |value: &dyn Fn(&Task) -> Value| -> Value {
        tasks
            .iter()
            .map(|task| (task.name.clone(), value(task)))
            .collect::<Map<String, Value>>()
            .into()
    };
    let shots = setting.at("/settings/prompt/shots");
    let version = setting.at("/settings/task_version");
    let version = version
        .as_str()
        .and_then(|version| version.parse::<f64>().ok())
        .map_or(Value::Null, |v| json!(v));
    let model = setting
        .at("/settings/model/id")
        .as_str()
        .unwrap_or("unknown")
        .to_owned();
    let sanitized = sanitize(&model);
    let mut results = Map::new();
    results.insert("results".into(), scores.into());
    if !group_scores.is_empty() {
        results.insert("groups".into(), group_scores.into());
    }
    results.insert("group_subtasks".into(), members.into());
    results.insert("configs".into(), each(&|task| config(task, setting, seed)));
    results.insert("versions".into(), each(&|_| version.clone()));
    results.insert("n-shot".into(), each(&|_| shots.clone()));
    results.insert("higher_is_better".into(), each(&|_| json!({ metric: true })));
    results.insert(
        "n-samples".into(),
        each(&|task| json!({ "original": task.records.len(), "effective": task.records.len() })),
    );
    results.insert(
        "config".into(),
        json!({
            "model": "markbook",
            "model_args": { "pretrained": model, "dtype": setting.at("/settings/engine/dtype") },
            "model_revision": setting.at("/settings/model/revision"),
            "batch_size": Value::Null,
            "device": setting.at("/settings/engine/device"),
            "limit": setting.at("/settings/data/limit"),
            "gen_kwargs": if setting.is_cloze { Value::Null } else { setting.generation(seed) },
            "random_seed": seed,
        }),
    );
    results.insert("git_hash".into(), Value::Null);
    results.insert("date".into(), json!(chrono::Utc::now().timestamp_micros() as f64 / 1e6));
    results.insert(
        "pretty_env_info".into(),
        text(&format!("markbook {}", env!("CARGO_PKG_VERSION"))),
    );
    results.insert("transformers_version".into(), Value::Null);
    results.insert("lm_eval_version".into(), text("0.4.12"));
    for name in [
        "upper_git_hash",
        "tokenizer_pad_token",
        "tokenizer_eos_token",
        "tokenizer_bos_token",
        "eot_token_id",
    ] {
        results.insert(name.into(), Value::Null);
    }
    results.insert("max_length".into(), setting.at("/settings/engine/context"));
    results.insert("task_hashes".into(), each(&|task| text(&hash_of(task))));
    results.insert("model_source".into(), text("markbook"));
    results.insert("model_name".into(), text(&model));
    results.insert("model_name_sanitized".into(), text(&sanitized));
    results.insert("system_instruction".into(), Value::Null);
    results.insert("system_instruction_sha".into(), Value::Null);
    let turns = setting.at("/settings/prompt/chat_shots").as_str() == Some("turns");
    results.insert("fewshot_as_multiturn".into(), turns.into());
    results.insert("chat_template".into(), Value::Null);
    results.insert(
        "chat_template_sha".into(),
        setting.at("/settings/prompt/chat_template_sha256"),
    );
    let seconds = setting.at("/timing/wall_s").as_f64().unwrap_or(0.0);
    results.insert("total_evaluation_time_seconds".into(), text(&python_float(seconds)));
    results.into()
}

fn hash_of(task: &Task) -> String {
    task_hash(task.records.iter().map(|record| {
        [
            record.doc_hash.as_str(),
            record.prompt_hash.as_str(),
            record.target_hash.as_str(),
        ]
    }))
}

fn config(task: &Task, setting: &Setting, seed: Option<i64>) -> Value {
    let mut config = Map::new();
    config.insert("task".into(), text(&task.name));
    config.insert("task_alias".into(), text(&task.alias));
    config.insert("dataset_path".into(), setting.at("/settings/data/source"));
    config.insert("dataset_name".into(), text(&task.subject));
    config.insert("test_split".into(), setting.at("/settings/data/split"));
    config.insert("doc_to_text".into(), setting.at("/settings/prompt/template"));
    config.insert("doc_to_target".into(), text("answer"));
    config.insert("num_fewshot".into(), setting.at("/settings/prompt/shots"));
    let metric = json!([{ "metric": setting.metric(), "aggregation": "mean", "higher_is_better": true }]);
    config.insert("metric_list".into(), metric);
    let kind = if setting.is_cloze {
        "multiple_choice"
    } else {
        "generate_until"
    };
    config.insert("output_type".into(), text(kind));
    if !setting.is_cloze {
        config.insert("generation_kwargs".into(), setting.generation(seed));
    }
    config.insert("repeats".into(), 1.into());
    config.insert(
        "metadata".into(),
        json!({ "fingerprint": setting.at("/settings/data/fingerprint") }),
    );
    config.into()
}

/// The harness's name for a path: each run of `"<>:/|\?*[]` becomes `__`.
fn sanitize(name: &str) -> String {
    let mut clean = String::new();
    let mut inside = false;
    for c in name.chars() {
        let bad = "\"<>:/|\\?*[]".contains(c);
        if bad && !inside {
            clean.push_str("__");
        }
        if !bad {
            clean.push(c);
        }
        inside = bad;
    }
    clean
}
