//! `results_<date>.json`: scores of tasks and groups, and how they were got, in the harness's order of keys.

use serde_json::{Map, Value, json};

use super::config::config;
use super::sample::is_right;
use super::setting::Setting;
use super::{MMLU_GROUPS, Task};
use crate::benchmark::hash::{python_float, task_hash};
use crate::stats::{Tally, mean_stderr, micro_mean, pooled_stderr};

/// Adds a metric's mean and standard error to an entry; `N/A` where there is none (a single row).
fn tell(metric: &str, filter: &str, (mean, stderr): (Option<f64>, Option<f64>), entry: &mut Map<String, Value>) {
    entry.insert(format!("{metric},{filter}"), json!(mean));
    let stderr = stderr.map_or_else(|| "N/A".into(), |stderr| json!(stderr));
    entry.insert(format!("{metric}_stderr,{filter}"), stderr);
}

fn tally(task: &Task, metric: &str, setting: &Setting) -> Tally {
    let right = task.records.iter().filter(|record| is_right(record, metric, setting));
    Tally {
        n: task.records.len(),
        correct: right.count(),
        invalid: 0,
    }
}

/// A group: its members are tasks or groups; its score is over the leaves.
struct Group<'a> {
    name: String,
    alias: String,
    members: Vec<String>,
    leaves: Vec<&'a Task>,
    version: f64,
}

/// The harness's groups of the tasks at hand, children before parents.
fn groups<'a>(tasks: &'a [Task], setting: &Setting) -> Vec<Group<'a>> {
    if tasks.len() < 2 {
        return Vec::new();
    }
    let suffix = setting.suffix();
    let mut groups: Vec<Group> = Vec::new();
    let is_mmlu = setting.benchmark == "mmlu";
    if is_mmlu {
        for category in MMLU_GROUPS {
            let leaves: Vec<&Task> = tasks.iter().filter(|task| task.category == category).collect();
            if !leaves.is_empty() {
                groups.push(Group {
                    name: format!("mmlu_{}{suffix}", category.to_lowercase().replace(' ', "_")),
                    alias: category.to_lowercase(),
                    members: leaves.iter().map(|task| task.name.clone()).collect(),
                    leaves,
                    version: 2.0,
                });
            }
        }
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
        version: 2.0,
    });
    groups
}

pub(super) fn results(tasks: &[Task], setting: &Setting) -> Value {
    let filter = setting.filter();
    let groups = groups(tasks, setting);
    let mut scores = Map::new();
    for task in tasks {
        let mut entry = Map::new();
        entry.insert("name".into(), task.name.as_str().into());
        entry.insert("alias".into(), task.alias.as_str().into());
        entry.insert("sample_len".into(), task.records.len().into());
        for metric in setting.metrics() {
            let tally = tally(task, metric, setting);
            tell(metric, filter, (micro_mean(&[tally]), mean_stderr(tally)), &mut entry);
        }
        scores.insert(task.name.clone(), Value::Object(entry));
    }
    let mut group_scores = Map::new();
    for group in &groups {
        // The groups aggregate the first metric only, as the harness's own do.
        let metric = setting.metrics()[0];
        let leaves: Vec<Tally> = group.leaves.iter().map(|task| tally(task, metric, setting)).collect();
        let rows: usize = leaves.iter().map(|leaf| leaf.n).sum();
        let mut entry = Map::new();
        entry.insert("alias".into(), group.alias.as_str().into());
        entry.insert("name".into(), group.name.as_str().into());
        entry.insert("sample_len".into(), rows.into());
        tell(
            metric,
            filter,
            (micro_mean(&leaves), pooled_stderr(&leaves)),
            &mut entry,
        );
        entry.insert("sample_count".into(), json!({ format!("{metric},{filter}"): rows }));
        group_scores.insert(group.name.clone(), Value::Object(entry));
    }
    scores.extend(group_scores.clone());
    // The whole, then its parts.
    let (parts, whole) = groups.split_at(groups.len().saturating_sub(1));
    let members = whole.iter().chain(parts);
    let members: Map<String, Value> = members
        .map(|group| (group.name.clone(), json!(group.members)))
        .collect();

    let each = |value: &dyn Fn(&Task) -> Value| -> Map<String, Value> {
        tasks.iter().map(|task| (task.name.clone(), value(task))).collect()
    };
    let with_groups = |of_task: &dyn Fn(&Task) -> Value, of_group: &dyn Fn(&Group) -> Value| -> Value {
        let mut entries: Vec<(String, Value)> = each(of_task).into_iter().collect();
        entries.extend(groups.iter().map(|group| (group.name.clone(), of_group(group))));
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        entries.into_iter().collect::<Map<String, Value>>().into()
    };
    let shots = setting.at("/settings/prompt/shots");
    let version = setting.version();
    let better: Value = setting
        .metrics()
        .iter()
        .map(|metric| ((*metric).to_owned(), Value::Bool(true)))
        .collect::<Map<String, Value>>()
        .into();
    let model = setting.at("/settings/model/id");
    let model = model.as_str().unwrap_or("unknown").to_owned();
    let mut results = Map::new();
    results.insert("results".into(), scores.into());
    if !group_scores.is_empty() {
        results.insert("groups".into(), group_scores.into());
    }
    results.insert("group_subtasks".into(), members.into());
    let configs = with_groups(&|task| config(task, setting), &|_| Value::Null);
    results.insert("configs".into(), tasks_only(configs));
    results.insert(
        "versions".into(),
        with_groups(&|_| version.clone(), &|group| json!(group.version)),
    );
    results.insert("n-shot".into(), with_groups(&|_| shots.clone(), &|_| shots.clone()));
    results.insert(
        "higher_is_better".into(),
        with_groups(&|_| better.clone(), &|_| better.clone()),
    );
    let available = setting.at("/settings/data/available");
    let sizes = each(&|task| {
        let effective = task.records.len();
        let original = available.get(&task.subject).and_then(Value::as_u64);
        json!({ "original": original.unwrap_or(effective as u64), "effective": effective })
    });
    results.insert("n-samples".into(), sizes.into());
    results.insert("config".into(), run_config(setting, &model));
    results.insert("git_hash".into(), Value::Null);
    results.insert("date".into(), json!(chrono::Utc::now().timestamp_micros() as f64 / 1e6));
    results.insert(
        "pretty_env_info".into(),
        format!("markbook {}", env!("CARGO_PKG_VERSION")).into(),
    );
    results.insert("transformers_version".into(), Value::Null);
    results.insert("lm_eval_version".into(), "0.4.12".into());
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
    results.insert("task_hashes".into(), each(&|task| hash_of(task).into()).into());
    results.insert("model_source".into(), "markbook".into());
    results.insert("model_name".into(), model.as_str().into());
    results.insert("model_name_sanitized".into(), sanitize(&model).into());
    results.insert("system_instruction".into(), Value::Null);
    results.insert("system_instruction_sha".into(), Value::Null);
    let turns = setting.at("/settings/prompt/chat_shots").as_str() == Some("turns");
    results.insert("fewshot_as_multiturn".into(), turns.into());
    results.insert("chat_template".into(), setting.at("/settings/prompt/chat_template"));
    results.insert(
        "chat_template_sha".into(),
        setting.at("/settings/prompt/chat_template_sha256"),
    );
    let seconds = setting.at("/timing/wall_s").as_f64().unwrap_or(0.0);
    results.insert("total_evaluation_time_seconds".into(), python_float(seconds).into());
    results.into()
}

/// Without the groups' empty entries.
fn tasks_only(mut entries: Value) -> Value {
    if let Some(entries) = entries.as_object_mut() {
        entries.retain(|_, entry| !entry.is_null());
    }
    entries
}

fn run_config(setting: &Setting, model: &str) -> Value {
    let dtype = setting.at("/settings/engine/dtype");
    let names = match dtype.as_str() {
        Some("f32") => Some(("float32", "torch.float32")),
        Some("bf16") => Some(("bfloat16", "torch.bfloat16")),
        _ => None,
    };
    // The harness's limit counts per task, as --per-subject does.
    let limit = setting.at("/settings/data/per_subject").as_f64();
    json!({
        "model": "markbook",
        "model_args": { "pretrained": model, "dtype": names.map(|names| names.0) },
        "model_num_parameters": null,
        "model_dtype": names.map(|names| names.1),
        "model_revision": setting.at("/settings/model/revision"),
        "model_sha": setting.at("/settings/model/revision").as_str().unwrap_or_default(),
        "batch_size": null,
        "batch_sizes": [],
        "device": setting.at("/settings/engine/device"),
        "use_cache": null,
        "limit": limit,
        "bootstrap_iters": 100_000,
        "gen_kwargs": if setting.is_cloze { Value::Null } else { setting.generation() },
        "random_seed": setting.seed,
        "numpy_seed": null,
        "torch_seed": null,
        "fewshot_seed": null,
    })
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
