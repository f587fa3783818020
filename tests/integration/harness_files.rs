//! Exports in the harness's format: equal to the harness's own files, and read back the same.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use markbook::benchmark::{self, DataSource, Dataset, PromptPlan, Slice};
use markbook::engine::Sampling;
use markbook::engine::scripted::{Reply, ScriptedEngine};
use markbook::export::{self, Options, Target};
use markbook::extract::Rule;
use markbook::import;
use markbook::record::Record;
use markbook::run::{Exam, Method, Plan};
use markbook::store::{self, Manifest};
use markbook::trace::Trace;
use serde_json::{Map, Value};

use crate::program::Bench;
use crate::runs::sit;
use crate::shared;

/// Every file below a folder whose name begins so.
fn files(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, prefix));
        } else if path.file_name().unwrap().to_string_lossy().starts_with(prefix) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn lines(path: &Path) -> Vec<String> {
    fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}

/// A plan as the program makes it of `--shots 0`, and nothing sampled.
fn plan(dataset: Dataset, style: &str, folder: &Path) -> Plan {
    let style = dataset.benchmark.style(style).unwrap();
    let sampling = Sampling {
        temperature: 0.0,
        top_p: 1.0,
        top_k: 0,
        max_tokens: 2048,
        stops: vec!["Question:".into()],
    };
    let method = if style.is_cloze() {
        Method::Cloze
    } else {
        Method::Generate {
            sampling: sampling.clone(),
            seeds: vec![None],
        }
    };
    let exam = Exam::new(&dataset, &method, 0, folder.to_owned());
    let mut manifest = Manifest {
        rows: exam.rows,
        ..Manifest::default()
    };
    let settings = &mut manifest.settings;
    settings.benchmark = dataset.name.clone();
    settings.task_version = style.version.to_owned();
    settings.prompt.style = style.name.to_owned();
    settings.data.available = dataset.available.clone();
    settings.sampling = (!style.is_cloze()).then_some(sampling);
    Plan {
        exam,
        prompt: PromptPlan::plain(style, 0),
        rule: Rule::default(),
        method,
        manifest,
        dataset,
        resume: false,
        only: None,
    }
}

fn dataset(name: &str, folder: &Path, slice: &Slice) -> Dataset {
    let benchmark = benchmark::find(name).unwrap();
    let source = DataSource::parse(folder.to_str().unwrap()).unwrap();
    let mut dataset = benchmark::load(benchmark, &source, "test").unwrap();
    benchmark::select(&mut dataset, slice).unwrap();
    dataset
}

fn export(trace: &Trace, folder: &Path) {
    let rows: Vec<u32> = (0..trace.rows.len() as u32).collect();
    let options = Options {
        format: export::format("lm-eval").unwrap(),
        ..Options::jsonl(Target::File(folder.to_owned())).unwrap()
    };
    export::write(trace, &rows, &options).unwrap();
}

#[test]
fn samples_are_the_harnesss_own_to_the_byte() {
    let Some(shared) = shared() else { return };
    let golden = lines(&shared.join("golden/lm_eval_mmlu/example_samples.jsonl"));
    let mut replies = HashMap::new();
    for line in &golden {
        let sample: Value = serde_json::from_str(line).unwrap();
        let prompt = sample["arguments"]["gen_args_0"]["arg_0"].as_str().unwrap();
        let scores = sample["filtered_resps"].as_array().unwrap().iter();
        let scores: Vec<f32> = scores.map(|pair| pair[0].as_str().unwrap().parse().unwrap()).collect();
        let Reply::Scores(mut scores) = Reply::log_likelihoods(&scores) else {
            unreachable!()
        };
        scores.greedy = Some(vec![false; 4]);
        replies.insert((prompt.to_owned(), None), Reply::Scores(scores));
    }
    let slice = Slice {
        subjects: vec!["global_facts".into()],
        limit: Some(golden.len()),
        ..Slice::default()
    };
    let folder = tempfile::tempdir().unwrap();
    let (run, out) = (folder.path().join("run"), folder.path().join("out"));
    let plan = plan(dataset("mmlu", &shared.join("data/mmlu"), &slice), "lm_eval", &run);
    sit(vec![plan], &mut ScriptedEngine::from_replies(replies), usize::MAX).unwrap();
    export(&store::open(&run).unwrap(), &out);
    assert_eq!(lines(&files(&out, "samples_mmlu_global_facts_")[0]), golden);

    let written = json(&files(&out, "results_")[0]);
    let example = json(&shared.join("golden/lm_eval_mmlu/example_results.json"));
    let keys = |value: &Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
    assert_eq!(keys(&written), keys(&example));
    assert_eq!(keys(&written["config"]), keys(&example["config"]));
    let (task, theirs) = (
        &written["configs"]["mmlu_global_facts"],
        &example["configs"]["mmlu_global_facts"],
    );
    assert_eq!(keys(task), keys(theirs));
    for key in keys(theirs) {
        if !["dataset_path", "dataset_kwargs", "test_split", "metadata"].contains(&key.as_str()) {
            assert_eq!(task[&key], theirs[&key], "{key}");
        }
    }
    assert_eq!(written["n-samples"]["mmlu_global_facts"]["original"], 100);
}

/// The whole benchmark, every score 0 and every response empty, as the reference files were made.
fn whole(shared: &Path, name: &str) -> (Value, Vec<PathBuf>, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let (run, out) = (folder.path().join("run"), folder.path().join("out"));
    let dataset = dataset(name, &shared.join("data").join(name), &Slice::default());
    let mut engine = ScriptedEngine::new(|_, seed| match seed {
        None => Reply::log_likelihoods(&[0.0; 4]),
        Some(_) => Reply::Text(String::new()),
    });
    sit(vec![plan(dataset, "lm_eval", &run)], &mut engine, usize::MAX).unwrap();
    export(&store::open(&run).unwrap(), &out);
    let results = json(&files(&out, "results_")[0]);
    (results, files(&out, "samples_"), folder)
}

/// Equal, floats to the last few bits.
fn assert_close(ours: &Value, theirs: &Value, place: &str) {
    match (ours, theirs) {
        (Value::Object(ours), Value::Object(theirs)) => {
            let keys = |map: &Map<String, Value>| map.keys().cloned().collect::<Vec<_>>();
            assert_eq!(keys(ours), keys(theirs), "{place}");
            for (key, value) in ours {
                assert_close(value, &theirs[key], &format!("{place}/{key}"));
            }
        }
        (Value::Number(ours), Value::Number(theirs)) => {
            let (ours, theirs) = (ours.as_f64().unwrap(), theirs.as_f64().unwrap());
            assert!((ours - theirs).abs() <= 1e-15, "{place}: {ours} {theirs}");
        }
        _ => assert_eq!(ours, theirs, "{place}"),
    }
}

#[test]
fn whole_benchmarks_have_the_harnesss_scores_groups_and_hashes() {
    let Some(shared) = shared() else { return };
    for (name, golden, tasks) in [
        ("mmlu", "lm_eval_mmlu/full_hashes_0shot_alwaysA.json", 57),
        ("mmlu_pro", "lm_eval_mmlu_pro/full_hashes_0shot.json", 14),
    ] {
        let golden = json(&shared.join("golden").join(golden));
        let (results, samples, _folder) = whole(&shared, name);
        assert_eq!(samples.len(), tasks);
        for key in ["results", "groups", "group_subtasks", "task_hashes"] {
            assert_close(&results[key], &golden[key], &format!("{name}/{key}"));
        }
    }
}

/// The columns that the harness's format holds.
fn held(record: &Record) -> Record {
    Record {
        question_id: 0,
        attempt: record.attempt,
        // MMLU's four groups are no column of its rows.
        category: match record.benchmark.as_str() {
            "mmlu" => String::new(),
            _ => record.category.clone(),
        },
        prompt: record.prompt.clone(),
        reasoning: record.reasoning.clone(),
        pick: record.pick.clone(),
        answer: record.answer.clone(),
        correct: record.correct,
        reasoning_chars: record.reasoning_chars,
        doc_hash: record.doc_hash.clone(),
        prompt_hash: record.prompt_hash.clone(),
        benchmark: record.benchmark.clone(),
        subject: record.subject.clone(),
        question: record.question.clone(),
        options: record.options.clone(),
        doc: record.doc.clone(),
        target_hash: record.target_hash.clone(),
        doc_id: record.doc_id,
        seed: record.seed,
        logprobs: record.logprobs.clone(),
        greedy: record.greedy.clone(),
        continuations: record.continuations.clone(),
        ..Record::default()
    }
}

fn all(trace: &Trace) -> Vec<Record> {
    let records = (0..trace.rows.len()).map(|row| held(&trace.record(row).unwrap()));
    let mut records: Vec<Record> = records.collect();
    records.sort_by_key(|record| {
        (
            record.benchmark.clone(),
            record.subject.clone(),
            record.doc_id,
            record.attempt,
        )
    });
    records
}

#[test]
fn a_run_exported_and_read_back_is_the_same_in_every_column_that_the_format_holds() {
    let bench = Bench::new();
    let model = bench.model.display().to_string();
    let path = |name: &str| bench.path(name).display().to_string();
    for (name, arguments) in [
        ("letters", vec!["--benchmark", "mmlu", "--shots", "1"]),
        ("texts", vec!["--benchmark", "mmlu", "--style", "answer_text"]),
        ("hidden", vec!["--benchmark", "mmlu", "--style", "lm_eval_continuation"]),
        (
            "words",
            vec![
                "--benchmark",
                "mmlu",
                "--style",
                "lm_eval_generative",
                "--max-tokens",
                "4",
            ],
        ),
        ("five", vec!["--benchmark", "mmlu_pro", "--max-tokens", "12"]),
    ] {
        let (run, out) = (path(name), path(&format!("{name}-out")));
        let mut command = vec![
            "run",
            "--model",
            &model,
            "--data",
            "embedded",
            "--per-subject",
            "1",
            "--limit",
            "6",
        ];
        command.extend(["--dtype", "f32", "--out", &run, "--json"]);
        command.extend(arguments);
        bench.ok(&command);
        bench.ok(&["export", &run, "--format", "lm-eval", "-o", &out]);
        let attempts = if name == "five" || name == "words" { 5 } else { 1 };
        assert_eq!(files(Path::new(&out), "results_").len(), attempts, "{name}");
        let run = store::open(Path::new(&run)).unwrap();
        let options = import::Options {
            cache_dir: Some(bench.path("cache")),
            ..import::Options::default()
        };
        let read = import::open(&[PathBuf::from(&out)], &options).unwrap();
        assert_eq!(read.len(), 1, "{name}: one trace");
        let (expected, found) = (all(&run), all(&read[0]));
        assert_eq!(found.len(), expected.len(), "{name}");
        for (found, expected) in found.iter().zip(&expected) {
            assert_eq!(found, expected, "{name}");
        }
    }
}
