//! Opening and exporting as the user does it: the real binary, exit codes, streams.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use zip::write::SimpleFileOptions;

use super::{folder, lm_eval_row};
use crate::tiny;

fn command(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_markbook"));
    command
        .args(arguments)
        .env("MARKBOOK_HOME", home.join(".home"))
        .env("NO_COLOR", "1")
        .current_dir(home)
        .stdin(Stdio::null());
    command
}

fn run(home: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = command(home, arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}

#[test]
fn what_a_file_is_and_what_was_odd_is_told_with_the_figures() {
    let rows = format!("{}\n{{\"doc_id\": }}\n", lm_eval_row(0, "B"));
    let folder = folder(&[
        ("samples.jsonl", &rows),
        ("provenance/run.json", r#"{"seeds": [42, 43]}"#),
    ]);
    let (code, table, errors) = run(folder.path(), &["stats", "samples.jsonl"]);
    assert_eq!(code, Some(0), "{errors}");
    assert!(
        table.contains("lm-eval 0.4.7 or later, generated answers, one filter (custom-extract), 1 row")
            && table.contains("provenance · run · seeds: [42,43]"),
        "{table}"
    );
    assert!(errors.contains("1 of 2 rows skipped: line 2"), "{errors}");
    let (_, text, _) = run(folder.path(), &["stats", "samples.jsonl", "--json"]);
    let run = serde_json::from_str::<Value>(&text).unwrap()["runs"][0].clone();
    assert_eq!(run["provenance"], json!({"run": {"seeds": [42, 43]}}));
    assert!(run["kind"].as_str().unwrap().starts_with("lm-eval 0.4.7 or later"));
    let notices = run["notices"].as_array().unwrap();
    assert!(
        notices
            .iter()
            .any(|notice| notice.as_str().unwrap().starts_with("1 of 2 rows skipped"))
    );
}

#[test]
fn a_map_that_cannot_be_is_wrong_usage_and_one_that_does_not_fit_fails() {
    let folder = folder(&[("rows.csv", "id,guess,key\n1,A,B\n2,B,B\n")]);
    for (map, code, said) in [
        ("picks=guess", 2, "no column picks of ours; known: pick, answer"),
        ("pick", 2, "no = in"),
        ("pick=nothing", 1, "no column nothing; the columns are: id, guess, key"),
        ("pick=guess,answer=key", 0, ""),
    ] {
        let (found, _, errors) = run(folder.path(), &["stats", "rows.csv", "--map", map]);
        assert_eq!(found, Some(code), "{map}: {errors}");
        assert!(errors.contains(said), "{map}: {errors}");
    }
    let (code, _, errors) = run(folder.path(), &["stats", "--map", "pick=guess"]);
    assert_eq!(code, Some(2), "{errors}");
}

#[test]
fn an_export_tells_count_and_size_first_and_ends_quietly_with_its_reader() {
    let rows: Vec<String> = (0..20_000)
        .map(|id| lm_eval_row(id, if id % 2 == 0 { "B" } else { "A" }))
        .collect();
    let folder = folder(&[("samples.jsonl", &rows.join("\n"))]);
    let (code, written, errors) = run(folder.path(), &["export", "samples.jsonl", "-f", "wrong", "-o", "-"]);
    assert_eq!((code, written.lines().count()), (Some(0), 10_000));
    let told: Vec<&str> = errors.lines().rev().collect();
    assert!(
        told[0].starts_with("10,000 rows, ") && told[0].ends_with(" written"),
        "{errors}"
    );
    assert!(
        told[1].starts_with("samples: 10,000 rows, about ") && told[1].ends_with(" → standard output"),
        "{errors}"
    );
    for format in ["jsonl", "csv"] {
        let mut child = command(
            folder.path(),
            &["export", "samples.jsonl", "--format", format, "-o", "-"],
        )
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
        let mut reader = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        drop(reader);
        let mut errors = String::new();
        child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        assert!(child.wait().unwrap().success(), "{format}: {errors}");
        let last = errors.lines().last().unwrap();
        assert!(
            last.starts_with("samples: 20,000 rows, about "),
            "nothing about the pipe: {errors}"
        );
    }
}

#[test]
fn several_runs_go_into_the_one_file_that_was_named_each_row_with_its_run() {
    let row = |stamp: &str| format!("x/samples_t_{stamp}T10-00-00.000000.jsonl");
    let content = lm_eval_row(0, "B");
    let folder = folder(&[(&row("2025-03-01"), &content), (&row("2025-03-02"), &content)]);
    let (code, _, errors) = run(folder.path(), &["export", "x", "-o", "out.csv"]);
    assert_eq!(code, Some(0), "{errors}");
    let (code, table, errors) = run(folder.path(), &["export", "x", "--format", "csv", "-o", "-"]);
    assert_eq!(code, Some(0), "{errors}");
    assert_eq!(table, std::fs::read_to_string(folder.path().join("out.csv")).unwrap());
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    assert!(reader.headers().unwrap().iter().any(|name| name == "model"));
    assert_eq!(reader.records().count(), 2);
    let inputs = std::fs::read_dir(folder.path().join("x")).unwrap();
    for input in inputs.map(|entry| entry.unwrap().path()) {
        let name = input.to_str().unwrap();
        for source in [name, "x"] {
            let (code, _, errors) = run(folder.path(), &["export", source, "-o", name, "--force"]);
            assert_eq!(code, Some(1));
            assert!(errors.contains("never replaces its input"), "{errors}");
        }
        assert_eq!(std::fs::read_to_string(&input).unwrap(), content);
    }
}

#[test]
fn a_run_folder_in_an_archive_opens_like_the_folder() {
    let folder = folder(&[]);
    let model = tiny::write(folder.path(), 7);
    let words = [
        "run",
        "--model",
        model.to_str().unwrap(),
        "--data",
        "embedded",
        "--benchmark",
        "mmlu",
        "--limit",
        "6",
        "--plain",
        "--threads",
        "1",
        "--out",
        "mine",
    ];
    let (code, _, errors) = run(folder.path(), &words);
    assert_eq!(code, Some(0), "{errors}");
    let mut zip = zip::ZipWriter::new(std::fs::File::create(folder.path().join("run.zip")).unwrap());
    for name in ["run.json", "records.parquet"] {
        zip.start_file(format!("some/mine/{name}"), SimpleFileOptions::default())
            .unwrap();
        zip.write_all(&std::fs::read(folder.path().join("mine").join(name)).unwrap())
            .unwrap();
    }
    zip.finish().unwrap();
    let figures = |path: &str| {
        let (code, text, errors) = run(folder.path(), &["stats", path, "--json"]);
        assert_eq!(code, Some(0), "{path}: {errors}");
        let mut run = serde_json::from_str::<Value>(&text).unwrap()["runs"][0].clone();
        run["path"] = Value::Null;
        run
    };
    let plain = figures("mine");
    assert_eq!((plain["n"].as_u64(), figures("run.zip")), (Some(6), plain));
}
