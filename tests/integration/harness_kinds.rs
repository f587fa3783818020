//! The harness's own files of every kind: read and written back to the byte; and the same runs by the real small model
//! (where `MARKBOOK_SMOLLM2` names its file), exported, give the same files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use markbook::check;
use markbook::export::{self, Options, Target};
use markbook::import;
use markbook::rescore;
use markbook::trace::Trace;
use serde_json::{Value, json};

use crate::program::Bench;
use crate::{cases, shared};

/// The golden folders, one a run of the harness.
fn kinds() -> Vec<PathBuf> {
    let Some(shared) = shared() else { return Vec::new() };
    let entries = fs::read_dir(shared.join("golden/lm_eval_kinds")).unwrap();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    folders.retain(|path| path.is_dir());
    folders.sort();
    folders
}

/// Every file below a folder, by its place without the time stamp.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            let inner = files(&path).into_iter();
            found.extend(inner.map(|(place, text)| (format!("{name}/{place}"), text)));
        } else {
            let (stem, ending) = name.rsplit_once("_20").map_or((name.as_str(), ""), |(stem, rest)| {
                (stem, rest.rsplit_once('.').map_or("", |(_, ending)| ending))
            });
            found.insert(format!("{stem}.{ending}"), fs::read_to_string(&path).unwrap());
        }
    }
    found
}

fn open(path: &Path) -> Vec<Trace> {
    import::open(&[path.to_owned()], &import::Options::default()).unwrap()
}

/// All rows of a trace as files of the harness.
fn written_back(trace: &Trace) -> BTreeMap<String, String> {
    written(trace, &(0..trace.rows.len() as u32).collect::<Vec<_>>())
}

fn written(trace: &Trace, rows: &[u32]) -> BTreeMap<String, String> {
    let folder = tempfile::tempdir().unwrap();
    let options = Options {
        format: export::format("lm-eval").unwrap(),
        ..Options::jsonl(Target::File(folder.path().join("out"))).unwrap()
    };
    export::write(trace, rows, &options).unwrap();
    files(&folder.path().join("out"))
}

/// The files of a case in a folder of their own.
fn case_files(case: &Value) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let file = &case["file"];
    fs::write(
        folder.path().join(file["name"].as_str().unwrap()),
        file["content"].as_str().unwrap(),
    )
    .unwrap();
    folder
}

fn of_kind(start: &str) -> Vec<Value> {
    let mut cases = cases("fidelity.jsonl");
    cases.retain(|case| case["kind"].as_str().unwrap().starts_with(start));
    cases
}

fn sample(text: &str) -> Value {
    serde_json::from_str(text.lines().next().unwrap()).unwrap()
}

#[test]
fn files_of_every_kind_are_written_back_to_the_byte() {
    for folder in kinds() {
        let traces = open(&folder);
        assert_eq!(traces.len(), 1, "{}", folder.display());
        let (theirs, ours) = (files(&folder), written_back(&traces[0]));
        assert_eq!(
            theirs.keys().collect::<Vec<_>>(),
            ours.keys().collect::<Vec<_>>(),
            "{}",
            folder.display()
        );
        for (name, text) in theirs {
            assert!(text == ours[&name], "{}/{name} differs", folder.display());
        }
    }
}

#[test]
fn some_rows_of_the_harness_are_counted_anew_and_stand_in_no_group() {
    let Some(folder) = kinds().into_iter().find(|folder| folder.ends_with("mmlu_0shot")) else {
        return;
    };
    let trace = open(&folder).remove(0);
    let wrong: Vec<u32> = (0..trace.rows.len() as u32)
        .filter(|row| !trace.rows.correct[*row as usize])
        .collect();
    let files = written(&trace, &wrong);
    let results: Value = serde_json::from_str(&files["results.json"]).unwrap();
    let tasks = results["results"].as_object().unwrap();
    let rows: u64 = tasks.values().map(|task| task["sample_len"].as_u64().unwrap()).sum();
    assert_eq!(rows, wrong.len() as u64);
    assert!(tasks.values().all(|task| task["acc,none"] == 0.0));
    assert!(results.get("groups").is_none());
}

#[test]
fn numbers_filters_and_names_stay_as_the_harness_wrote_them() {
    for case in of_kind("export/lm-eval-")
        .into_iter()
        .filter(|case| case["file"].is_object())
    {
        let folder = case_files(&case);
        let ours = written_back(&open(folder.path())[0]);
        let expected = &case["expected"];
        let content = case["file"]["content"].as_str().unwrap();
        let (name, text) = ours.iter().find(|(name, _)| name.starts_with("samples_")).unwrap();
        assert_eq!(text, content, "{}", case["id"]);
        let written = sample(text);
        if let Some(task) = expected["task"].as_str() {
            assert_eq!(name.as_str(), format!("samples_{task}.jsonl"), "{}", case["id"]);
        }
        if !expected["until"].is_null() {
            assert_eq!(written["arguments"]["gen_args_0"]["arg_1"]["until"], expected["until"]);
        }
        if !expected["filtered_resps"].is_null() {
            assert_eq!(written["filtered_resps"], expected["filtered_resps"], "{}", case["id"]);
        }
    }
}

#[test]
fn a_rule_that_reads_again_what_it_has_read_flips_nothing() {
    for case in of_kind("extraction/mmlu-generative-empty") {
        let folder = case_files(&case);
        let mut trace = open(folder.path()).remove(0);
        let before = trace.rows.clone();
        let rule = case["expected"]["rescore_rule"].as_str().unwrap();
        rescore::rescore(&mut trace, &markbook::extract::Rule::parse(rule).unwrap()).unwrap();
        let flips = (0..before.len()).filter(|row| {
            before.pick.get(*row) != trace.rows.pick.get(*row) || before.correct[*row] != trace.rows.correct[*row]
        });
        assert_eq!(flips.count() as u64, case["expected"]["flips"].as_u64().unwrap());
    }
}

#[test]
fn floats_of_rows_hash_as_python_writes_them() {
    for case in of_kind("hash/float") {
        let doc = markbook::json::parse(&case["doc"].to_string()).unwrap();
        let expected = &case["expected"];
        assert_eq!(
            markbook::benchmark::hash::doc_hash(&doc),
            expected["doc_hash"].as_str().unwrap(),
            "{}",
            case["id"]
        );
        assert_eq!(
            markbook::json::python_float(doc["x"].as_f64().unwrap()),
            expected["written"].as_str().unwrap()
        );
    }
}

#[test]
fn checks_find_what_is_there_and_nothing_else() {
    for case in of_kind("check/") {
        let folder = if case["file"].is_object() {
            case_files(&case)
        } else {
            rows_of(&case)
        };
        let problems = check::check(&open(folder.path()), &[]).unwrap();
        let told: Vec<&str> = problems.iter().map(|problem| problem.detail.as_str()).collect();
        let expected = &case["expected"];
        if let Some(found) = expected["found"].as_str() {
            assert!(
                told.iter().any(|told| told.contains(found)),
                "{}: {found:?} in {told:?}",
                case["id"]
            );
        }
        if let Some(absent) = expected["not_found"].as_str() {
            assert!(
                !told.iter().any(|told| told.contains(absent)),
                "{}: {told:?}",
                case["id"]
            );
        }
    }
}

/// Rows of a case as lines of our own columns, each with a text of its own.
fn rows_of(case: &Value) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let row = |row: &Value| {
        let mut row = row.clone();
        let text = format!(
            "{} {}: the answer is ({}).",
            row["question_id"],
            row["attempt"],
            row["pick"].as_str().unwrap()
        );
        row["reasoning"] = text.into();
        row["question"] = format!("Question {}?", row["question_id"]).into();
        row["options"] = json!(["w", "x", "y", "z"]);
        format!("{row}\n")
    };
    let rows: String = case["rows"].as_array().unwrap().iter().map(row).collect();
    fs::write(folder.path().join("rows.jsonl"), rows).unwrap();
    folder
}

#[test]
fn lines_written_again_count_once_and_tasks_without_samples_are_named() {
    for case in of_kind("file/appended-twice") {
        let folder = case_files(&case);
        let trace = open(folder.path()).remove(0);
        assert_eq!(trace.rows.len() as u64, case["expected"]["rows"].as_u64().unwrap());
        let note = case["expected"]["note"].as_str().unwrap();
        let told: Vec<&str> = trace.notices.iter().map(|notice| notice.text.as_str()).collect();
        let words = |text: &str| text.replace("lines", "line");
        assert!(told.iter().any(|told| words(told).contains(&words(note))), "{told:?}");
    }
    for case in of_kind("file/results-without-samples") {
        let folder = without_samples(&case);
        let trace = open(folder.path()).remove(0);
        let told: Vec<&str> = trace.notices.iter().map(|notice| notice.text.as_str()).collect();
        for name in case["expected"]["names"].as_array().unwrap() {
            let name = name.as_str().unwrap();
            assert!(told.iter().any(|told| told.contains(name)), "{name} in {told:?}");
        }
    }
}

/// A results file that tells of several tasks, and samples of some of them.
fn without_samples(case: &Value) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let stamp = "2026-01-01T00-00-00.000000";
    let tasks = case["params"]["results"].as_object().unwrap();
    let entries = |value: &dyn Fn(&Value) -> Value| -> Value {
        tasks
            .iter()
            .map(|(task, figures)| (task.clone(), value(figures)))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    let results = json!({
        "results": entries(&|figures| json!({"exact_match,custom-extract": figures[1]})),
        "n-samples": entries(&|figures| json!({"original": figures[0], "effective": figures[0]})),
        "model_name": "m",
    });
    fs::write(folder.path().join(format!("results_{stamp}.json")), results.to_string()).unwrap();
    for task in case["params"]["samples"].as_array().unwrap() {
        let task = task.as_str().unwrap();
        let rows = tasks[task][0].as_u64().unwrap();
        let row = |at: u64| {
            let doc = json!({"question_id": at, "question": format!("q{at}"), "options": ["x", "y"], "answer": "A", "category": "law"});
            json!({"doc_id": at, "doc": doc, "target": "A", "arguments": {"gen_args_0": {"arg_0": "P", "arg_1": {}}},
                   "resps": [["The answer is (B)."]], "filtered_resps": ["B"], "filter": "custom-extract",
                   "metrics": ["exact_match"], "doc_hash": "d", "prompt_hash": "p", "target_hash": "t", "exact_match": 0.0})
        };
        let text: String = (0..rows).map(|at| format!("{}\n", row(at))).collect();
        fs::write(folder.path().join(format!("samples_{task}_{stamp}.jsonl")), text).unwrap();
    }
    folder
}

/// A run of the tiny model over the embedded exam, as files of the harness.
fn run_and_export(case: &Value) -> BTreeMap<String, String> {
    let bench = Bench::new();
    let (model, run, out) = (bench.model.display().to_string(), bench.path("run"), bench.path("out"));
    let (run, out) = (run.display().to_string(), out.display().to_string());
    let params = &case["params"];
    let mut words: Vec<String> = [
        "run", "--model", &model, "--data", "embedded", "--dtype", "f32", "--json", "--out", &run,
    ]
    .map(str::to_owned)
    .to_vec();
    for (name, value) in params.as_object().unwrap() {
        let value = match value {
            Value::Array(items) => items
                .iter()
                .map(|item| item.as_str().unwrap())
                .collect::<Vec<_>>()
                .join(","),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        words.extend([format!("--{name}"), value]);
    }
    if params.get("limit").is_none() {
        words.extend(["--limit", "4"].map(str::to_owned));
    }
    bench.ok(&words.iter().map(String::as_str).collect::<Vec<_>>());
    bench.ok(&["export", &run, "--format", "lm-eval", "-o", &out]);
    files(Path::new(&out))
}

#[test]
fn a_run_of_ours_has_the_harnesss_tasks_settings_and_groups() {
    let params = |case: &Value| case["params"].is_object();
    let cases = of_kind("export/").into_iter().filter(params).collect::<Vec<_>>();
    for case in cases {
        let files = run_and_export(&case);
        let expected = &case["expected"];
        let tasks: Vec<&str> = files
            .keys()
            .filter_map(|name| name.strip_prefix("samples_")?.strip_suffix(".jsonl"))
            .collect();
        if !expected["tasks"].is_null() {
            assert_eq!(json!(tasks), expected["tasks"], "{}", case["id"]);
        }
        let first = sample(files.iter().find(|(name, _)| name.starts_with("samples_")).unwrap().1);
        if !expected["arg_1"].is_null() {
            assert_eq!(
                first["arguments"]["gen_args_0"]["arg_1"], expected["arg_1"],
                "{}",
                case["id"]
            );
        }
        if case["kind"] == "export/partial-group" {
            let results: Value = serde_json::from_str(&files["results.json"]).unwrap();
            assert!(results.get("groups").is_none(), "{}", results["groups"]);
            assert_eq!(results["results"].as_object().unwrap().len(), tasks.len());
        }
    }
}

/// The command that makes the run of a golden folder, read from its own results.
fn command_of(folder: &Path, model: &str, data: &str) -> Vec<String> {
    let name = folder.file_name().unwrap().to_string_lossy().into_owned();
    let files = files(folder);
    let results: Value = serde_json::from_str(&files["results.json"]).unwrap();
    let task = results["configs"].as_object().unwrap().values().next().unwrap();
    let (benchmark, style) = match name.split('_').next().unwrap() {
        "continuation" => ("mmlu", "lm_eval_continuation"),
        "generative" => ("mmlu", "lm_eval_generative"),
        "leaderboard" => ("mmlu_pro", "lm_eval_leaderboard"),
        _ if name.starts_with("mmlu_pro") => ("mmlu_pro", "lm_eval"),
        _ => ("mmlu", "lm_eval"),
    };
    let limit = results["config"]["limit"].to_string();
    let mut words = [
        "run",
        "--model",
        model,
        "--data",
        data,
        "--dtype",
        "f32",
        "--temperature",
        "0",
        "--json",
    ]
    .map(str::to_owned)
    .to_vec();
    let mut add = |name: &str, value: &str| words.extend([name.to_owned(), value.to_owned()]);
    add("--benchmark", benchmark);
    add("--style", style);
    add("--shots", &task["num_fewshot"].to_string());
    if style == "lm_eval_leaderboard" {
        add("--limit", &limit);
    } else {
        let subject = |task: &Value| {
            let name = task["task"]
                .as_str()
                .unwrap()
                .trim_start_matches("mmlu_")
                .trim_start_matches("pro_");
            name.trim_end_matches("_continuation")
                .trim_end_matches("_generative")
                .to_owned()
        };
        let subjects: Vec<String> = results["configs"].as_object().unwrap().values().map(subject).collect();
        add("--subjects", &subjects.join(","));
        add("--per-subject", &limit);
    }
    if let Some(most) = task["generation_kwargs"]["max_gen_toks"].as_u64() {
        add("--max-tokens", &most.to_string());
    }
    add(
        "--chat",
        if results["chat_template"].is_null() {
            "off"
        } else {
            "on"
        },
    );
    if results["fewshot_as_multiturn"] == true {
        add("--chat-shots", "turns");
    }
    words
}

/// Ours with their log-likelihoods, where these lie within 1e-3.
fn with_their_numbers(ours: &mut Value, theirs: &Value, place: &str) {
    match (&mut *ours, theirs) {
        (Value::Array(own), Value::Array(others)) if own.len() == others.len() => {
            for (own, other) in own.iter_mut().zip(others) {
                with_their_numbers(own, other, place);
            }
        }
        (Value::String(own), Value::String(other)) => {
            if let (Ok(a), Ok(b)) = (own.parse::<f64>(), other.parse::<f64>()) {
                assert!((a - b).abs() < 1e-3, "{place}: {a} {b}");
                own.clone_from(other);
            }
        }
        _ => {}
    }
}

/// The same keys in the same order, in objects that both have.
fn assert_same_keys(ours: &Value, theirs: &Value, place: &str) {
    if let (Value::Object(own), Value::Object(others)) = (ours, theirs) {
        let keys = |map: &serde_json::Map<String, Value>| map.keys().cloned().collect::<Vec<_>>();
        assert_eq!(keys(own), keys(others), "{place}");
        for (key, value) in own {
            assert_same_keys(value, &others[key], &format!("{place}/{key}"));
        }
    }
}

#[test]
fn the_same_runs_by_the_small_model_are_exported_as_the_harness_writes_them() {
    let Some(model) = std::env::var_os("MARKBOOK_SMOLLM2") else {
        println!("skipped: MARKBOOK_SMOLLM2 does not name the small model's file");
        return;
    };
    let only = std::env::var("MARKBOOK_KIND").unwrap_or_default();
    for golden in kinds()
        .into_iter()
        .filter(|golden| golden.to_string_lossy().contains(&only))
    {
        let bench = Bench::new();
        let data = shared().unwrap().join("data").display().to_string();
        let (run, out) = (
            bench.path("run").display().to_string(),
            bench.path("out").display().to_string(),
        );
        let mut words = command_of(&golden, model.to_str().unwrap(), &data);
        words.extend(["--out".to_owned(), run.clone()]);
        bench.ok(&words.iter().map(String::as_str).collect::<Vec<_>>());
        bench.ok(&["export", &run, "--format", "lm-eval", "-o", &out]);
        let (theirs, ours) = (files(&golden), files(Path::new(&out)));
        let place = golden.file_name().unwrap().to_string_lossy().into_owned();
        assert_eq!(
            theirs.keys().collect::<Vec<_>>(),
            ours.keys().collect::<Vec<_>>(),
            "{place}"
        );
        for (name, text) in &theirs {
            if !name.starts_with("samples_") {
                continue;
            }
            assert_eq!(text.lines().count(), ours[name].lines().count(), "{place}/{name}");
            for (theirs, ours) in text.lines().zip(ours[name].lines()) {
                let other: Value = serde_json::from_str(theirs).unwrap();
                let mut own: Value = serde_json::from_str(ours).unwrap();
                if other["filter"] == "none" {
                    for key in ["resps", "filtered_resps"] {
                        with_their_numbers(&mut own[key], &other[key], &format!("{place}/{name}"));
                    }
                }
                let own = markbook::json::python_json(&own, markbook::json::Layout::OneLine);
                assert_eq!(own, theirs, "{place}/{name}");
            }
        }
        let results =
            |files: &BTreeMap<String, String>| -> Value { serde_json::from_str(&files["results.json"]).unwrap() };
        let (ours, theirs) = (results(&ours), results(&theirs));
        assert_same_keys(&ours, &theirs, &place);
        for key in [
            "results",
            "groups",
            "group_subtasks",
            "versions",
            "n-shot",
            "higher_is_better",
            "n-samples",
            "task_hashes",
        ] {
            assert_eq!(ours[key], theirs[key], "{place}/{key}");
        }
    }
}
