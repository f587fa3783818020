//! Export as its user asks for it: the name that was given, the format that its ending says, one file for all that is open.

use std::path::Path;

use markbook::parquet::{Order, write_records};
use markbook::record::Record;
use markbook::tui::Script;
use serde_json::Value;

use crate::cases;
use crate::program::Bench;
use crate::screens::{LARGE, plain, sampled, two_exams, written};

/// Files and folders at the top of a folder that begin so, sorted.
fn named(folder: &Path, start: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| name.starts_with(start)).collect();
    names.sort();
    names
}

fn lines(path: &Path) -> usize {
    std::fs::read_to_string(path).unwrap().lines().count()
}

#[test]
fn two_exams_in_one_are_exported_to_the_one_file_that_was_named() {
    let bench = Bench::new();
    let at = |name: &str| bench.path(name).display().to_string();
    let (run, slice) = (at("run"), at("slice.jsonl"));
    let model = bench.model.display().to_string();
    bench.ok(&[
        "run",
        "--model",
        &model,
        "--data",
        "embedded",
        "--benchmark",
        "mmlu,mmlu_pro",
        "--limit",
        "4",
        "--max-tokens",
        "8",
        "--out",
        &run,
        "--json",
    ]);
    bench.ok(&["export", &run, "-o", &slice]);
    assert_eq!(named(&bench.path(""), "slice"), ["slice.jsonl"]);
    assert_eq!(lines(Path::new(&slice)), 4 + 4 * 5);
    for (filter, rows) in [("exam:mmlu", 4), ("exam:mmlu_pro", 20)] {
        let one = at("one.csv");
        bench.ok(&["export", &run, "-f", filter, "-o", &one, "--force"]);
        let table = std::fs::read_to_string(&one).unwrap();
        assert_eq!(
            csv::Reader::from_reader(table.as_bytes()).records().count(),
            rows,
            "{filter}"
        );
    }
    let folder = at("harness");
    bench.ok(&["export", &run, "--format", "lm-eval", "-o", &folder]);
    assert_eq!(named(Path::new(&folder), "mmlu"), ["mmlu", "mmlu_pro"]);
}

#[test]
fn two_models_on_the_same_questions_say_whose_a_row_is() {
    let bench = Bench::new();
    let at = |name: &str| bench.path(name).display().to_string();
    for name in ["one", "two"] {
        let records: Vec<Record> = (0..3).map(|id| sampled(id, 0)).collect();
        write_records(&bench.path(&format!("{name}.parquet")), &records, Order::AsGiven).unwrap();
    }
    let (one, two, all) = (at("one.parquet"), at("two.parquet"), at("all.jsonl"));
    bench.ok(&["export", &one, &two, "-o", &all]);
    let text = std::fs::read_to_string(&all).unwrap();
    let models: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["model"].clone())
        .collect();
    assert_eq!(models, ["one", "one", "one", "two", "two", "two"]);
    let (_, message) = bench.refused(&["export", &one, &two, "-o", &at("all.parquet")]);
    assert!(message.contains(".jsonl"), "{message}");
}

#[test]
fn the_ending_says_the_format_and_a_clash_is_refused_with_what_would_work() {
    let bench = Bench::new();
    let source = written(&bench.path("")).display().to_string();
    let at = |name: &str| bench.path(name).display().to_string();
    for (name, begins) in [
        ("a.jsonl", &b"{"[..]),
        ("a.ndjson", b"{"),
        ("a.csv", b"question_id,"),
        ("a.PARQUET", b"PAR1"),
        ("a.jsonl.gz", b"\x1f\x8b"),
        ("a.csv.zst", b"\x28\xb5\x2f\xfd"),
        ("new/folder/a.jsonl", b"{"),
        ("qwen-0.5b", b"{"),
    ] {
        bench.ok(&["export", &source, "-o", &at(name)]);
        assert!(std::fs::read(bench.path(name)).unwrap().starts_with(begins), "{name}");
        assert!(
            bench.ok(&["stats", &at(name), "--json"]).contains("\"n\": 45"),
            "{name} opens again"
        );
    }
    for (words, way_out) in [
        (vec!["-o", "b.xlsx"], "b.jsonl or b.csv or b.parquet"),
        (vec!["-o", "b.json"], "b.jsonl"),
        (vec!["-o", "b.xlsx", "--format", "csv"], "b.csv"),
        (vec!["-o", "b.gz"], "b.jsonl"),
        (vec!["-o", "b.csv", "--format", "jsonl"], "name it b.jsonl, or take csv"),
        (vec!["-o", "b.parquet.gz"], "b.parquet"),
        (vec!["-o", "b.jsonl", "--format", "lm-eval"], "name the folder b"),
        (vec!["-o", "b", "--format", "xml"], "jsonl, csv, parquet, lm-eval"),
    ] {
        let (code, message) = bench.refused(&[vec!["export", &source], words.clone()].concat());
        assert!(message.contains(way_out), "{words:?}: {message}");
        assert_eq!(code, 2, "{words:?}");
    }
    assert!(named(Path::new("."), "b.").is_empty(), "nothing is left behind");
}

#[test]
fn a_run_makes_the_folders_above_its_own() {
    let bench = Bench::new();
    let out = bench.path("a/b/c");
    let mut words = bench.run_words("mmlu", out.to_str().unwrap());
    words.extend(["--limit", "2"]);
    bench.ok(&words);
    assert!(out.join("run.json").is_file());
}

/// The command of a case, and the output and messages of the program run on its files.
fn told_of(case: &Value) -> String {
    let bench = Bench::new();
    for file in case["files"].as_array().unwrap() {
        std::fs::write(
            bench.path(file["name"].as_str().unwrap()),
            file["content"].as_str().unwrap(),
        )
        .unwrap();
    }
    let is_file = |word: &str| word.contains('.') && !word.contains('=');
    let words = case["command"].as_str().unwrap().split(' ').skip(1);
    let words: Vec<String> = words
        .map(|word| {
            if is_file(word) {
                bench.path(word).display().to_string()
            } else {
                word.to_owned()
            }
        })
        .collect();
    bench.told(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn reports_of_exports_and_checks_are_answered() {
    for case in cases("reports.jsonl") {
        let command = case["command"].as_str().unwrap_or_default();
        let expected = &case["expected"];
        let is_refusal = command.starts_with("markbook export") && !expected["refused_or_told"].is_null();
        if !is_refusal && !command.starts_with("markbook check") {
            continue;
        }
        let told = told_of(&case);
        if is_refusal {
            for format in ["jsonl", "csv", "parquet"] {
                assert!(told.contains(format), "{}: {told}", case["id"]);
            }
        }
        if let Some(finding) = expected["finding"].as_str() {
            assert!(told.contains(finding), "{}: {told}", case["id"]);
        }
        if let Some(absent) = expected["must_not_find"].as_str() {
            assert!(!told.contains(absent), "{}: {told}", case["id"]);
        }
    }
}

#[test]
fn in_the_dialog_the_format_follows_the_name_and_the_size_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/slice.jsonl");
    let mut script = Script::open(two_exams(), LARGE, &plain()).unwrap();
    script.keys("ie<tab><tab><right>");
    assert!(script.screen().contains(" as csv"), "{}", script.screen());
    script.keys(&format!("<tab><tab><^u>{}<enter>", path.display()));
    assert!(
        std::fs::read_to_string(&path).unwrap().starts_with('{'),
        "{}",
        script.screen()
    );
    script.keys("e<^u>slice.xlsx");
    assert!(script.screen().contains(" as jsonl"), "{}", script.screen());
    script.keys("<enter>");
    let screen = script.screen();
    assert!(
        screen.contains("slice.csv") && !Path::new("slice.xlsx").exists(),
        "{screen}"
    );
}
