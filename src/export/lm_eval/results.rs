//! `results_<date>.json`: scores of tasks and groups, and how they were got, in the harness's order of keys.

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::config::config;
use super::setting::Setting;
use super::task::Task;
use super::{MMLU_GROUPS, Part};
use crate::benchmark::hash::python_float;
use crate::benchmark::mmlu::CATEGORIES;
use crate::stats::{Tally, micro_mean, pooled_stderr};
use crate::trace::Provenance;

/// The whole file.
#[derive(Serialize)]
struct Results {
    /// Tasks, then groups.
    results: Map<String, Value>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    groups: Map<String, Value>,
    /// The whole, then its parts.
    group_subtasks: Map<String, Value>,
    configs: Map<String, Value>,
    versions: Map<String, Value>,
    #[serde(rename = "n-shot")]
    shots: Map<String, Value>,
    higher_is_better: Map<String, Value>,
    #[serde(rename = "n-samples")]
    samples: Map<String, Value>,
    config: Config,
    git_hash: Option<String>,
    /// Seconds since 1970.
    date: f64,
    pretty_env_info: String,
    transformers_version: Option<String>,
    lm_eval_version: &'static str,
    upper_git_hash: Option<String>,
    tokenizer_pad_token: Value,
    tokenizer_eos_token: Value,
    tokenizer_bos_token: Value,
    eot_token_id: Value,
    max_length: Value,
    task_hashes: Map<String, Value>,
    model_source: &'static str,
    model_name: String,
    model_name_sanitized: String,
    system_instruction: Value,
    system_instruction_sha: Value,
    fewshot_as_multiturn: bool,
    chat_template: Value,
    chat_template_sha: Value,
    total_evaluation_time_seconds: String,
}

/// How the run was asked for.
#[derive(Serialize)]
struct Config {
    model: &'static str,
    model_args: Value,
    model_num_parameters: Option<u64>,
    model_dtype: Option<&'static str>,
    model_revision: Value,
    model_sha: String,
    batch_size: Option<u64>,
    batch_sizes: [u64; 0],
    device: Value,
    use_cache: Option<String>,
    limit: Option<f64>,
    bootstrap_iters: u32,
    gen_kwargs: Value,
    random_seed: Option<i64>,
    numpy_seed: Option<i64>,
    torch_seed: Option<i64>,
    fewshot_seed: Option<i64>,
}

/// A group: its members are tasks or groups; its score is over the leaves.
struct Group<'a> {
    name: String,
    alias: String,
    members: Vec<String>,
    leaves: Vec<&'a Task>,
}

/// The version of the harness's groups.
const GROUP_VERSION: f64 = 2.0;

/// The results of a part. What the harness wrote stays as it is where all of its rows are there as they were; of some of
/// them, tasks are counted anew and groups left out.
pub(super) fn results(tasks: &[Task], part: &Part, setting: &Setting) -> Result<Value> {
    match part.manifest.and_then(Provenance::foreign).filter(|_| part.is_harness) {
        Some(theirs) if part.is_whole && part.trace.rule.is_none() => Ok(theirs.clone()),
        Some(theirs) if theirs["results"].is_object() => Ok(counted_anew(theirs, tasks)),
        _ => serde_json::to_value(ours(tasks, setting)).context("the results do not turn into JSON"),
    }
}

/// The harness's results with the figures of some of its rows.
fn counted_anew(theirs: &Value, tasks: &[Task]) -> Value {
    let mut results = theirs.clone();
    for key in [
        "results",
        "configs",
        "versions",
        "n-shot",
        "higher_is_better",
        "n-samples",
        "task_hashes",
    ] {
        if let Some(entries) = results[key].as_object_mut() {
            entries.retain(|name, _| tasks.iter().any(|task| task.name == *name));
        }
    }
    results["group_subtasks"] = json!({});
    if let Some(results) = results.as_object_mut() {
        results.shift_remove("groups");
    }
    for task in tasks {
        let (name, entry) = (task.name.as_str(), &mut results["results"][task.name.as_str()]);
        let alias = entry["alias"].as_str().unwrap_or(&task.alias).to_owned();
        *entry = scores_of(task, &alias);
        results["n-samples"][name]["effective"] = task.len().into();
        results["task_hashes"][name] = task.hash.as_str().into();
    }
    results
}

/// The results of a run of ours, or of rows that come without any.
fn ours(tasks: &[Task], setting: &Setting) -> Results {
    let groups = groups(tasks, setting);
    let of_groups: Map<String, Value> = groups
        .iter()
        .map(|group| (group.name.clone(), group_scores(group)))
        .collect();
    let mut scores: Map<String, Value> = by_task(tasks, |task| scores_of(task, &task.alias));
    scores.extend(of_groups.clone());
    let (parts, whole) = groups.split_at(groups.len().saturating_sub(1));
    let members = whole.iter().chain(parts);
    let with_groups = |of_task: Value, of_group: Value| {
        let own = tasks.iter().map(|task| (task.name.clone(), of_task.clone()));
        let of_groups = groups.iter().map(|group| (group.name.clone(), of_group.clone()));
        sorted(own.chain(of_groups).collect())
    };
    let shots = setting.told(|settings| settings.prompt.shots);
    let better: Value = setting
        .metrics()
        .iter()
        .map(|metric| ((*metric).to_owned(), true))
        .collect();
    let model = setting.run.map_or("unknown", |run| &run.settings.model.id);
    let turns = setting.told(|settings| &settings.prompt.chat_shots) == "turns";
    let seconds = setting.run.map_or(0.0, |run| run.timing.wall_s);
    Results {
        results: scores,
        groups: of_groups,
        group_subtasks: members
            .map(|group| (group.name.clone(), json!(group.members)))
            .collect(),
        configs: sorted(by_task(tasks, |task| config(task, setting))),
        versions: with_groups(setting.version(), json!(GROUP_VERSION)),
        shots: with_groups(shots.clone(), shots),
        higher_is_better: with_groups(better.clone(), better),
        samples: by_task(tasks, |task| samples_of(task, setting)),
        config: run_config(setting, model),
        git_hash: None,
        date: chrono::Utc::now().timestamp_micros() as f64 / 1e6,
        pretty_env_info: format!("markbook {}", env!("CARGO_PKG_VERSION")),
        transformers_version: None,
        lm_eval_version: "0.4.12",
        upper_git_hash: None,
        tokenizer_pad_token: Value::Null,
        tokenizer_eos_token: Value::Null,
        tokenizer_bos_token: Value::Null,
        eot_token_id: Value::Null,
        max_length: setting.told(|settings| settings.engine.context()),
        task_hashes: by_task(tasks, |task| task.hash.as_str().into()),
        model_source: "markbook",
        model_name: model.to_owned(),
        model_name_sanitized: sanitize(model),
        system_instruction: Value::Null,
        system_instruction_sha: Value::Null,
        fewshot_as_multiturn: turns,
        chat_template: setting.told(|settings| &settings.prompt.chat_template),
        chat_template_sha: setting.told(|settings| &settings.prompt.chat_template_sha256),
        total_evaluation_time_seconds: python_float(seconds),
    }
}

fn by_task(tasks: &[Task], value: impl Fn(&Task) -> Value) -> Map<String, Value> {
    tasks.iter().map(|task| (task.name.clone(), value(task))).collect()
}

fn sorted(mut entries: Map<String, Value>) -> Map<String, Value> {
    entries.sort_keys();
    entries
}

/// The harness's groups of the tasks at hand, children before parents: only those all of whose tasks are there.
fn groups<'a>(tasks: &'a [Task], setting: &Setting) -> Vec<Group<'a>> {
    let suffix = setting.kind.suffix();
    let mut groups: Vec<Group> = Vec::new();
    let is_mmlu = setting.benchmark == "mmlu";
    for category in MMLU_GROUPS.into_iter().filter(|_| is_mmlu) {
        let leaves: Vec<&Task> = tasks.iter().filter(|task| task.category == category).collect();
        let whole = CATEGORIES.iter().find(|(name, _)| *name == category);
        if whole.is_some_and(|(_, subjects)| subjects.len() == leaves.len()) {
            groups.push(Group {
                name: format!("mmlu_{}{suffix}", category.to_lowercase().replace(' ', "_")),
                alias: category.to_lowercase(),
                members: leaves.iter().map(|task| task.name.clone()).collect(),
                leaves,
            });
        }
    }
    let whole = match setting.benchmark.as_str() {
        "mmlu" => 57,
        "mmlu_pro" => 14,
        _ if setting.run.is_some_and(|run| !run.settings.data.subjects.is_empty()) => usize::MAX,
        _ => 2,
    };
    if tasks.len() < whole {
        return groups;
    }
    let all = format!("{}{suffix}", setting.benchmark);
    groups.push(Group {
        alias: match suffix {
            "" => all.clone(),
            suffix => format!("{} ({})", setting.benchmark, &suffix[1..]),
        },
        name: all,
        members: if is_mmlu {
            groups.iter().map(|group| group.name.clone()).collect()
        } else {
            tasks.iter().map(|task| task.name.clone()).collect()
        },
        leaves: tasks.iter().collect(),
    });
    groups
}

/// A task's entry.
fn scores_of(task: &Task, alias: &str) -> Value {
    let mut entry = Map::new();
    entry.insert("name".into(), task.name.as_str().into());
    entry.insert("alias".into(), alias.into());
    entry.insert("sample_len".into(), task.len().into());
    for counted in &task.tallies {
        let figures = (micro_mean(&[counted.tally]), counted.stderr());
        tell(counted.metric, &counted.filter, figures, &mut entry);
    }
    entry.into()
}

/// A group's entry. The groups aggregate the first metric only, as the harness's own do.
fn group_scores(group: &Group) -> Value {
    let mut entry = Map::new();
    let rows: usize = group.leaves.iter().map(|task| task.len()).sum();
    entry.insert("alias".into(), group.alias.as_str().into());
    entry.insert("name".into(), group.name.as_str().into());
    entry.insert("sample_len".into(), rows.into());
    let firsts = || group.leaves.iter().filter_map(|task| task.tallies.first());
    if let Some(first) = firsts().next() {
        let leaves: Vec<Tally> = firsts().map(|counted| counted.tally).collect();
        let figures = (micro_mean(&leaves), pooled_stderr(&leaves));
        tell(first.metric, &first.filter, figures, &mut entry);
        entry.insert(
            "sample_count".into(),
            json!({ format!("{},{}", first.metric, first.filter): rows }),
        );
    }
    entry.into()
}

/// Adds a metric's mean and standard error to an entry; `N/A` where there is none (a single row).
fn tell(metric: &str, filter: &str, (mean, stderr): (Option<f64>, Option<f64>), entry: &mut Map<String, Value>) {
    entry.insert(format!("{metric},{filter}"), json!(mean));
    let stderr = stderr.map_or_else(|| "N/A".into(), |stderr| json!(stderr));
    entry.insert(format!("{metric}_stderr,{filter}"), stderr);
}

/// How many questions a task has, and how many were asked.
fn samples_of(task: &Task, setting: &Setting) -> Value {
    let available = setting.run.map(|run| &run.settings.data.available);
    let available = available.filter(|counts| !counts.is_empty());
    let original = if setting.kind.is_one_task() {
        available.map(|counts| counts.values().sum())
    } else {
        available.and_then(|counts| counts.get(&task.subject).copied())
    };
    let effective = task.len();
    json!({ "original": original.unwrap_or(effective), "effective": effective })
}

fn run_config(setting: &Setting, model: &str) -> Config {
    let (name, dtype) = match setting
        .run
        .and_then(|run| run.settings.engine.local())
        .map(|local| local.dtype.as_str())
    {
        Some("f32") => (Some("float32"), Some("torch.float32")),
        Some("bf16") => (Some("bfloat16"), Some("torch.bfloat16")),
        _ => (None, None),
    };
    // The harness's limit counts per task, as --per-subject does.
    let limit = setting.run.and_then(|run| {
        let data = &run.settings.data;
        if setting.kind.is_one_task() {
            data.limit
        } else {
            data.per_subject
        }
    });
    let revision = setting.told(|settings| &settings.model.revision);
    Config {
        model: "markbook",
        model_args: json!({ "pretrained": model, "dtype": name }),
        model_num_parameters: None,
        model_dtype: dtype,
        model_sha: revision.as_str().unwrap_or_default().to_owned(),
        model_revision: revision,
        batch_size: None,
        batch_sizes: [],
        device: setting.told(|settings| settings.engine.local().map(|local| &local.device)),
        use_cache: None,
        limit: limit.map(|limit| limit as f64),
        bootstrap_iters: 100_000,
        gen_kwargs: if setting.is_cloze { Value::Null } else { setting.asked() },
        random_seed: setting.seed,
        numpy_seed: None,
        torch_seed: None,
        fewshot_seed: None,
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_becomes_a_name_as_the_harness_makes_it() {
        assert_eq!(sanitize("org/name"), "org__name");
        assert_eq!(sanitize("C:\\models\\[x]?"), "C__models__x__");
    }
}
