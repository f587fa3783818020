//! The program as its user runs it: the real binary, a tiny model made by seed, exit codes, files left behind.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::tiny;

/// A folder with a tiny model, and the program run in it.
pub struct Bench {
    folder: TempDir,
    pub model: PathBuf,
}

impl Bench {
    pub fn new() -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let model = tiny::write(folder.path(), 7);
        Bench { folder, model }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_markbook"));
        command
            .args(arguments)
            .env("MARKBOOK_HOME", self.path("home"))
            .env_remove("HF_TOKEN")
            .env("NO_COLOR", "1")
            .stdin(Stdio::null());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// Runs what must succeed and gives its standard output.
    pub fn ok(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "{arguments:?} ended with {:?}: {errors}",
            output.status.code()
        );
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs it, and gives what it writes on both outputs, however it ends.
    pub fn told(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text).into_owned();
        assert!(!text.contains("panicked"), "{text}");
        text
    }

    /// Runs what must be refused; gives exit code and the message.
    pub fn refused(&self, arguments: &[&str]) -> (i32, String) {
        let output = self.run(arguments);
        let code = output.status.code().unwrap_or(-1);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(code == 1 || code == 2, "{arguments:?} ended with {code}: {message}");
        assert!(!message.contains("panicked"), "{message}");
        (code, message)
    }

    /// `run` over the embedded exam with the tiny model.
    pub fn run_words<'a>(&'a self, benchmark: &'a str, out: &'a str) -> Vec<&'a str> {
        vec![
            "run",
            "--model",
            self.model.to_str().unwrap(),
            "--data",
            "embedded",
            "--benchmark",
            benchmark,
            "--plain",
            "--threads",
            "1",
            "--out",
            out,
        ]
    }
}

/// The exported rows without what the clock decides.
pub fn rows(bench: &Bench, run: &Path) -> Vec<Value> {
    bench
        .ok(&["export", run.to_str().unwrap(), "-o", "-"])
        .lines()
        .map(|line| {
            let mut row: Value = serde_json::from_str(line).unwrap();
            row.as_object_mut().unwrap().remove("seconds");
            row
        })
        .collect()
}

pub fn wait_for(what: &str, seconds: u64, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(
            begun.elapsed() < Duration::from_secs(seconds),
            "waited in vain for {what}"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub fn journal_lines(run: &Path) -> usize {
    std::fs::read_to_string(run.join("journal.jsonl")).map_or(0, |text| text.lines().count())
}

pub fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill")
        .args([&format!("-{name}"), &child.id().to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
}

#[test]
fn a_demo_gives_both_exams_as_json_and_twice_the_same_rows() {
    let bench = Bench::new();
    let model = bench.model.to_str().unwrap();
    let mut kept = Vec::new();
    for name in ["first", "second"] {
        let out = bench.path(name);
        let words = [
            "demo",
            "--model",
            model,
            "--json",
            "--limit",
            "3",
            "--max-tokens",
            "24",
            "--out",
            out.to_str().unwrap(),
        ];
        let json: Value = serde_json::from_str(&bench.ok(&words)).unwrap();
        let runs = json["runs"].as_array().unwrap();
        assert_eq!(
            runs.iter()
                .map(|run| run["benchmark"].as_str().unwrap())
                .collect::<Vec<_>>(),
            ["mmlu", "mmlu_pro"]
        );
        assert_eq!(
            runs.iter().map(|run| run["n"].as_u64().unwrap()).collect::<Vec<_>>(),
            [3, 15]
        );
        let seeds: Vec<&String> = runs[1]["seeds"].as_object().unwrap().keys().collect();
        assert_eq!(seeds, ["42", "43", "44", "45", "46"]);
        assert!(runs[0]["timing"]["tokens_in"].as_u64().unwrap() > 0);
        kept.push((rows(&bench, &out.join("mmlu")), rows(&bench, &out.join("mmlu_pro"))));
    }
    assert_eq!(kept[0], kept[1]);
    let texts = |seed: i64| -> Vec<&Value> {
        kept[0]
            .1
            .iter()
            .filter(|row| row["seed"] == seed)
            .map(|row| &row["reasoning"])
            .collect()
    };
    assert_ne!(texts(42), texts(43));
}

#[test]
fn a_killed_run_resumes_and_equals_an_uninterrupted_one() {
    let bench = Bench::new();
    let (whole, parts) = (bench.path("whole"), bench.path("parts"));
    let more = ["--limit", "8", "--max-tokens", "160"];
    let words = |out: &Path| {
        let out = out.to_str().unwrap().to_owned();
        let mut words: Vec<String> = bench
            .run_words("mmlu_pro", &out)
            .into_iter()
            .map(str::to_owned)
            .collect();
        words.extend(more.map(str::to_owned));
        words
    };
    let as_text = |words: &[String]| words.iter().map(String::as_str).collect::<Vec<_>>().join("\u{1}");
    let run = |words: &[String]| bench.ok(&as_text(words).split('\u{1}').collect::<Vec<_>>());
    run(&words(&whole));
    let text = as_text(&words(&parts));
    let mut child = bench
        .command(&text.split('\u{1}').collect::<Vec<_>>())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for("the first answers", 60, || {
        journal_lines(&parts) >= 3 || child.try_wait().unwrap().is_some() || parts.join("records.parquet").exists()
    });
    signal(&child, "KILL");
    child.wait().unwrap();
    let before = journal_lines(&parts);
    let mut again = words(&parts);
    again.push("--resume".into());
    run(&again);
    assert!(before > 0 || parts.join("records.parquet").exists());
    assert_eq!(rows(&bench, &parts), rows(&bench, &whole));
    assert!(!parts.join("journal.jsonl").exists());
}

#[test]
fn batch_threads_and_interruption_do_not_show_in_the_records() {
    let bench = Bench::new();
    let words = |out: &str, more: &[&str]| {
        let model = bench.model.to_str().unwrap();
        let fixed = [
            "run",
            "--model",
            model,
            "--data",
            "embedded",
            "--benchmark",
            "mmlu,mmlu_pro",
            "--plain",
        ];
        let rest = ["--limit", "9", "--max-tokens", "80", "--out", out];
        let words = fixed.iter().chain(&rest).chain(more);
        words.map(|word| (*word).to_owned()).collect::<Vec<String>>()
    };
    let run = |words: &[String]| bench.ok(&words.iter().map(String::as_str).collect::<Vec<_>>());
    let records = |out: &Path, exam: &str| {
        let mut records = markbook::parquet::read_records(&out.join(exam).join("records.parquet")).unwrap();
        records.iter_mut().for_each(|record| record.seconds = 0.0);
        records
    };
    let out = |name: &str| bench.path(name);
    let path = |name: &str| out(name).to_str().unwrap().to_owned();
    run(&words(&path("one"), &["--threads", "1"]));
    run(&words(&path("two"), &["--threads", "2", "--batch", "3"]));
    let begun = words(&path("parts"), &["--threads", "2", "--batch", "50"]);
    let mut child = bench
        .command(&begun.iter().map(String::as_str).collect::<Vec<_>>())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let sampled = out("parts").join("mmlu_pro");
    wait_for("the first completions", 60, || {
        journal_lines(&sampled) >= 3 || child.try_wait().unwrap().is_some()
    });
    signal(&child, "KILL");
    child.wait().unwrap();
    run(&words(&path("parts"), &["--threads", "1", "--batch", "7", "--resume"]));
    for (exam, rows) in [("mmlu", 9), ("mmlu_pro", 45)] {
        let expected = records(&out("one"), exam);
        assert_eq!(expected.len(), rows);
        for other in ["two", "parts"] {
            assert_eq!(records(&out(other), exam), expected, "{exam}, {other}");
        }
    }
}

#[test]
fn a_run_in_bf16_tells_how_far_it_lies_from_f32() {
    let bench = Bench::new();
    let run = |name: &str, dtype: &str| {
        let out = bench.path(name);
        let mut words = bench.run_words("mmlu", out.to_str().unwrap());
        words.extend(["--limit", "2", "--dtype", dtype]);
        let output = bench.run(&words);
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{message}");
        let manifest = std::fs::read_to_string(out.join("run.json")).unwrap();
        (serde_json::from_str::<Value>(&manifest).unwrap(), message)
    };
    let (first, message) = run("first", "bf16");
    assert!(first["rounding"].is_null(), "a run measures nothing: {message}");
    assert!(message.contains("computed in bf16 (it was asked for)"), "{message}");
    let model = bench.model.to_str().unwrap();
    bench.ok(&[
        "bench",
        "--model",
        model,
        "--rounding",
        "--data",
        "embedded",
        "--per-subject",
        "1",
    ]);
    let (manifest, message) = run("second", "bf16");
    let rounding = &manifest["rounding"];
    let figure = |name: &str| rounding[name].as_f64().unwrap();
    assert!(
        figure("mean") > 0.0 && figure("largest") >= figure("mean"),
        "{rounding}"
    );
    assert!(
        figure("questions") >= 6.0 && rounding["source"].as_str().unwrap().contains("embedded"),
        "{rounding}"
    );
    assert_eq!(rounding["kernel"], manifest["settings"]["engine"]["kernel"]);
    assert!(message.contains("picks differ"), "{message}");
    let (wide, message) = run("third", "auto");
    assert!(wide["rounding"].is_null());
    assert_eq!(wide["settings"]["engine"]["dtype"], "f32");
    assert!(message.contains("the weights are stored as f32, not bf16"), "{message}");
}

#[test]
fn families_are_proved_from_the_command_line_and_a_failure_is_an_exit_code() {
    let bench = Bench::new();
    let output = bench
        .command(&["bench", "--check-models"])
        .env_remove("MARKBOOK_SHARED")
        .output()
        .unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(
        message.contains("expected.json") && message.contains("MARKBOOK_SHARED"),
        "{message}"
    );
    let Some(shared) = crate::shared() else { return };
    let model = shared.join("golden/tiny-models/smollm2");
    let proved = bench.ok(&["bench", "--check-models", model.to_str().unwrap()]);
    assert!(
        proved.contains("| Llama, SmolLM2 |") && proved.contains("equal"),
        "{proved}"
    );
    // Another theta is another model.
    let copy = bench.path("smollm2");
    std::fs::create_dir(&copy).unwrap();
    for name in ["model.safetensors", "expected.json"] {
        std::fs::copy(model.join(name), copy.join(name)).unwrap();
    }
    let config = std::fs::read_to_string(model.join("config.json")).unwrap();
    let mut config: Value = serde_json::from_str(&config).unwrap();
    config["rope_theta"] = 5_000.0.into();
    std::fs::write(copy.join("config.json"), config.to_string()).unwrap();
    let output = bench.run(&["bench", "--check-models", copy.to_str().unwrap(), "--json"]);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &json["passed"]), (Some(1), &Value::Bool(false)));
    assert!(String::from_utf8_lossy(&output.stderr).contains("smollm2 (config.json): logits differ by"));
}

#[test]
fn ctrl_c_saves_what_is_finished_and_says_how_far_it_got() {
    let bench = Bench::new();
    let out = bench.path("run");
    let mut words = bench.run_words("mmlu_pro", out.to_str().unwrap());
    words.extend(["--max-tokens", "3000"]);
    let child = bench
        .command(&words)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for("the first answers", 120, || journal_lines(&out) >= 1);
    signal(&child, "INT");
    let output = child.wait_with_output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{message}");
    assert!(message.contains("of 390 done"), "{message}");
    assert!(message.contains("--resume"), "{message}");
    let saved = journal_lines(&out);
    let json: Value = serde_json::from_str(&bench.ok(&["stats", out.to_str().unwrap(), "--json"])).unwrap();
    assert_eq!(json["runs"][0]["n"].as_u64().unwrap() as usize, saved);
}

#[test]
fn a_full_disk_stops_the_run_and_keeps_every_whole_answer() {
    let bench = Bench::new();
    let out = bench.path("run");
    let mut words = bench.run_words("mmlu_pro", out.to_str().unwrap());
    words.extend(["--max-tokens", "400"]);
    // A limit on file sizes stands in for a full disk: the write in the middle of a line fails.
    let program = format!(
        "trap '' XFSZ; ulimit -f 40; exec {} \"$@\"",
        env!("CARGO_BIN_EXE_markbook")
    );
    let output = Command::new("bash")
        .args(["-c", &program, "markbook"])
        .args(&words)
        .env("MARKBOOK_HOME", bench.path("home"))
        .output()
        .unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(
        message.contains("journal.jsonl") && message.contains("--resume"),
        "{message}"
    );
    let text = std::fs::read_to_string(out.join("journal.jsonl")).unwrap();
    assert!(text.ends_with('\n') && text.lines().count() > 1);
    for line in text.lines() {
        serde_json::from_str::<Value>(line).unwrap();
    }
}

#[test]
fn bad_input_is_one_clear_line_that_names_the_thing() {
    let bench = Bench::new();
    let model = bench.model.to_str().unwrap();
    let empty = bench.path("empty");
    std::fs::create_dir(&empty).unwrap();
    let cut = bench.path("cut.gguf");
    std::fs::write(&cut, b"GGUF\x03\0\0\0\x09").unwrap();
    let cut_parquet = bench.path("cut.parquet");
    std::fs::write(&cut_parquet, b"PAR1 and no more").unwrap();
    let odd = bench.path("odd");
    std::fs::create_dir(&odd).unwrap();
    std::fs::write(
        odd.join("config.json"),
        r#"{"model_type":"rwkv9","architectures":["Rwkv9"]}"#,
    )
    .unwrap();
    std::fs::copy(bench.model.join("tokenizer.json"), odd.join("tokenizer.json")).unwrap();
    std::fs::copy(bench.model.join("model.safetensors"), odd.join("model.safetensors")).unwrap();
    let short = bench.path("short");
    std::fs::create_dir(&short).unwrap();
    for name in ["config.json", "tokenizer.json"] {
        std::fs::copy(bench.model.join(name), short.join(name)).unwrap();
    }
    let weights = std::fs::read(bench.model.join("model.safetensors")).unwrap();
    std::fs::write(short.join("model.safetensors"), &weights[..weights.len() / 2]).unwrap();
    let columns = bench.path("columns.jsonl");
    std::fs::write(&columns, "{\"text\": 1}\n").unwrap();
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let (empty, cut, cut_parquet, odd, short, columns) = (
        text(&empty),
        text(&cut),
        text(&cut_parquet),
        text(&odd),
        text(&short),
        text(&columns),
    );
    let out = text(&bench.path("out"));
    let cases: Vec<(Vec<&str>, Vec<&str>)> = vec![
        (vec!["stats", "no-such-file"], vec!["no-such-file"]),
        (vec!["stats", &cut_parquet], vec!["cut.parquet"]),
        (
            vec!["demo", "--model", "no/such/folder/here", "--plain"],
            vec!["no/such/folder/here"],
        ),
        (
            vec!["demo", "--model", &empty, "--plain", "--out", &out],
            vec!["config.json", "empty"],
        ),
        (
            vec!["demo", "--model", &cut, "--plain", "--out", &out],
            vec!["cut.gguf"],
        ),
        (
            vec!["demo", "--model", &odd, "--plain", "--out", &out],
            vec!["rwkv9", "llama"],
        ),
        (
            vec!["demo", "--model", &short, "--plain", "--out", &out],
            vec!["model.safetensors"],
        ),
        (
            vec!["run", "--model", model, "--benchmark", "mmul", "--data", "embedded"],
            vec!["mmul", "mmlu_pro"],
        ),
        (
            vec![
                "run",
                "--model",
                model,
                "--benchmark",
                "mmlu",
                "--data",
                "embedded",
                "--subjects",
                "alchemy",
                "--plain",
            ],
            vec!["alchemy", "anatomy"],
        ),
        (
            vec![
                "run",
                "--model",
                model,
                "--benchmark",
                "mmlu",
                "--data",
                &columns,
                "--plain",
            ],
            vec!["columns.jsonl"],
        ),
        (
            vec![
                "run",
                "--model",
                model,
                "--benchmark",
                "mmlu",
                "--data",
                "embedded",
                "--shots",
                "4",
                "--plain",
            ],
            vec!["--shots 4"],
        ),
        (vec!["demo", "--temperature", "hot"], vec!["--temperature"]),
        (vec!["demo", "--seeds", "1,1"], vec!["twice"]),
        (
            vec!["demo", "--model", model, "--out", "/dev/null/run", "--plain"],
            vec!["/dev/null"],
        ),
        (vec!["stats", "-f", "colour:red"], vec!["colour", "invalid"]),
        (vec!["stats", "--rule", "no_rule"], vec!["no_rule", "lm_eval_mmlu_pro"]),
        (vec!["export", "--format", "xls", "-o", "x"], vec!["xls", "jsonl"]),
        (vec!["frobnicate"], vec!["frobnicate"]),
    ];
    for (arguments, parts) in cases {
        let (_, message) = bench.refused(&arguments);
        for part in parts {
            assert!(message.contains(part), "{arguments:?}: `{part}` is not in: {message}");
        }
    }
    assert!(!Path::new(&out).exists(), "nothing half-written is left");
    assert_eq!(bench.refused(&["stats", "-f", "colour:red"]).0, 2);
}

#[test]
fn an_export_never_replaces_a_file_unasked_and_nothing_but_the_rows_goes_to_standard_output() {
    let bench = Bench::new();
    let slice = bench.path("slice.jsonl");
    let name = slice.to_str().unwrap();
    let rows = bench.ok(&["export", "-f", "exam:mmlu wrong", "--with", "why", "-o", "-"]);
    assert!(!rows.is_empty());
    for line in rows.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        assert_eq!(
            (&row["correct"], &row["benchmark"], &row["why"]),
            (&false.into(), &"mmlu".into(), &Value::Null)
        );
    }
    std::fs::write(&slice, "mine").unwrap();
    let (_, message) = bench.refused(&["export", "-f", "wrong", "-o", "/dev/null/x.jsonl"]);
    assert!(message.contains("/dev/null"), "{message}");
    // The recorded demo holds two exams: one file all the same, of the name that was given.
    let demo = bench.path("demo.parquet");
    bench.ok(&["export", "--format", "parquet", "-o", demo.to_str().unwrap()]);
    let written: Vec<PathBuf> = std::fs::read_dir(bench.folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "parquet"))
        .collect();
    assert_eq!(written, [demo.clone()]);
    let one = written[0].to_str().unwrap();
    let (_, message) = bench.refused(&["export", one, "-o", name]);
    assert!(message.contains("--force"), "{message}");
    assert_eq!(std::fs::read_to_string(&slice).unwrap(), "mine");
    let (_, message) = bench.refused(&["export", one, "--format", "parquet", "-o", one, "--force"]);
    assert!(message.contains("never replaces its input"), "{message}");
    bench.ok(&["export", one, "-o", name, "--force"]);
    assert!(
        std::fs::read_to_string(&slice)
            .unwrap()
            .starts_with("{\"question_id\":")
    );
}

#[test]
fn progress_tells_rate_time_left_accuracy_and_invalid() {
    let bench = Bench::new();
    let out = bench.path("run");
    let mut words = bench.run_words("mmlu_pro", out.to_str().unwrap());
    words.extend(["--limit", "6", "--max-tokens", "40"]);
    let output = bench.run(&words);
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{message}");
    for part in ["mmlu_pro 30/30", "%", "invalid", "left", "rows/s", "tok/s in", " out"] {
        assert!(message.contains(part), "`{part}` is not in: {message}");
    }
    assert!(
        !message.contains('\r') && !message.contains('\u{1b}'),
        "a pipe gets plain lines: {message:?}"
    );
}

#[test]
fn the_readme_has_the_key_table_and_every_subcommand() {
    let readme = include_str!("../../README.md");
    let table = markbook::tui::keymap::markdown();
    assert!(readme.contains(&table), "put this into README.md:\n{table}");
    let bench = Bench::new();
    let help = bench.ok(&["--help"]);
    for command in [
        "demo", "run", "open", "export", "stats", "rescore", "compare", "check", "prompts", "fetch", "bench",
    ] {
        assert!(
            help.contains(command) && readme.contains(&format!("markbook {command}")),
            "{command}"
        );
    }
}
