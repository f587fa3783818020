//! A run never loses an answer, never hangs, and never dies of its terminal: kills, full disks, signals, lost outputs.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use markbook::record::Record;
use portable_pty::CommandBuilder;
use serde_json::Value;

use crate::cases;
use crate::program::{Bench, journal_lines, signal, wait_for};
use crate::screens::{Terminal, written};

#[test]
fn every_case_about_kills_signals_and_lost_outputs_ends_as_expected() {
    let bench = Bench::new();
    for case in cases("faults.jsonl") {
        match case["kind"].as_str().unwrap() {
            "run/resume-two-exams" => one_of_two_exams_begun(&bench, &case),
            "run/litter" => litter_is_swept(&bench, &case),
            "run/damaged-part" => a_damaged_part_is_no_loss(&bench, &case),
            "process/stderr-gone" => nobody_hears(&bench, &case),
            "process/terminal-gone" => the_terminal_is_closed(&bench, &case),
            "journal/nan" => nulls_are_no_broken_lines(&bench, &case),
            "journal/foreign-rows" => strangers_are_no_answers(&bench, &case),
            "signals/stuck" => the_second_signal_ends_at_once(&bench, &case),
            kind if kind.starts_with("flag/") => a_number_is_out_of_bounds(&bench, &case),
            _ => {}
        }
    }
    for case in cases("fidelity.jsonl") {
        match case["kind"].as_str().unwrap() {
            "run/interrupt" => repeated_keys_leave(&bench, &case),
            "terminal/panic" => a_signal_at_the_first_frame(&bench, &case),
            _ => {}
        }
    }
}

/// A case's command: TINY is the tiny model, R the folder.
fn words(bench: &Bench, case: &Value, out: &Path) -> Vec<String> {
    let command = case["command"].as_str().unwrap().split("  (").next().unwrap();
    let (model, out) = (bench.model.display().to_string(), out.display().to_string());
    let word = |word: &str| match word {
        "TINY" => model.clone(),
        "R" => out.clone(),
        word => word.to_owned(),
    };
    command.split_whitespace().map(word).collect()
}

fn without<'a>(words: &'a [String], dropped: &str) -> Vec<&'a str> {
    let kept = words.iter().map(String::as_str);
    kept.filter(|word| *word != dropped).collect()
}

fn run_of(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

fn rows_of(bench: &Bench, folder: &Path) -> usize {
    let json: Value = serde_json::from_str(&bench.ok(&["stats", folder.to_str().unwrap(), "--json"])).unwrap();
    json["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["n"].as_u64().unwrap() as usize)
        .sum()
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Takes a finished exam back to where it stood with its first answers in the journal.
fn unfinish(folder: &Path, kept: usize) {
    let records = markbook::parquet::read_records(&folder.join("records.parquet")).unwrap();
    std::fs::remove_file(folder.join("records.parquet")).unwrap();
    let mut journal = File::create(folder.join("journal.jsonl")).unwrap();
    for record in &records[..kept.min(records.len())] {
        journal.write_all(&line_of(record)).unwrap();
    }
}

fn line_of(record: &Record) -> Vec<u8> {
    [serde_json::to_vec(record).unwrap(), b"\n".to_vec()].concat()
}

#[track_caller]
fn ended(output: &Output, case: &Value) -> String {
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    let code = i64::from(output.status.code().unwrap_or(-1));
    let expected = &case["expected"]["exit"];
    let fits = expected.as_i64() == Some(code) || expected.as_array().is_some_and(|codes| codes.contains(&code.into()));
    assert!(
        fits && !message.contains("panicked"),
        "{} ended with {code}: {message}",
        case["id"]
    );
    message
}

fn one_of_two_exams_begun(bench: &Bench, case: &Value) {
    for (at, second) in ["missing", "empty", "a temporary file"].into_iter().enumerate() {
        let out = bench.path(&format!("two-{at}"));
        let words = words(bench, case, &out);
        bench.ok(&without(&words, "--resume"));
        unfinish(&out.join("mmlu"), 0);
        let other = out.join("mmlu_pro");
        std::fs::remove_dir_all(&other).unwrap();
        if second != "missing" {
            std::fs::create_dir(&other).unwrap();
        }
        if second == "a temporary file" {
            std::fs::write(other.join(".tmpA1b2C3"), "{").unwrap();
        }
        let output = bench.run(&run_of(&words));
        ended(&output, case);
        for (exam, rows) in case["expected"]["rows"].as_object().unwrap() {
            let folder = out.join(exam);
            assert_eq!(
                rows_of(bench, &folder) as u64,
                rows.as_u64().unwrap(),
                "{second}: {exam}"
            );
            assert_eq!(names_in(&folder), ["records.parquet", "run.json"], "{second}: {exam}");
        }
    }
}

fn finished(bench: &Bench, name: &str, more: &[&str]) -> std::path::PathBuf {
    let out = bench.path(name);
    let mut words = bench.run_words("mmlu_pro", out.to_str().unwrap());
    words.extend(["--limit", "6", "--max-tokens", "8"]);
    words.extend(more);
    bench.ok(&words);
    out
}

fn resume(bench: &Bench, out: &Path) -> Output {
    let mut words = bench.run_words("mmlu_pro", out.to_str().unwrap());
    words.extend(["--limit", "6", "--max-tokens", "8", "--resume"]);
    bench.run(&words)
}

fn litter_is_swept(bench: &Bench, case: &Value) {
    let out = finished(bench, "litter", &[]);
    unfinish(&out, 11);
    for name in [".tmpQ7w8E9", ".markbook-a1B2c3.parquet"] {
        std::fs::write(out.join(name), vec![0; 5_000]).unwrap();
    }
    let output = resume(bench, &out);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut left: Vec<&str> = case["expected"]["left"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    left.sort_unstable();
    assert_eq!(names_in(&out), left);
}

fn a_damaged_part_is_no_loss(bench: &Bench, case: &Value) {
    let out = finished(bench, "damaged", &[]);
    unfinish(&out, usize::MAX);
    std::fs::write(out.join("records.parquet"), "").unwrap();
    assert_eq!(rows_of(bench, &out), 30, "{case}");
    let message = ended(&resume(bench, &out), case);
    assert!(
        message.contains("records.parquet") && message.contains("anew"),
        "{message}"
    );
    assert_eq!((rows_of(bench, &out), names_in(&out).len()), (30, 2));
}

fn nobody_hears(bench: &Bench, case: &Value) {
    let full = || Stdio::from(File::options().write(true).open("/dev/full").unwrap());
    let out = bench.path("deaf");
    let words = words(bench, case, &out);
    let output = bench.command(&run_of(&words)).stderr(full()).output().unwrap();
    ended(&output, case);
    assert!(out.join("mmlu/records.parquet").is_file() || out.join("records.parquet").is_file());
    // Nobody reads what is printed: `2>&1 | head -0`.
    let out = bench.path("headless");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut words = bench.run_words("mmlu_pro", out.to_str().unwrap());
    words.extend(["--limit", "2", "--max-tokens", "8"]);
    let mut command = bench.command(&words);
    command.stdout(writer.try_clone().unwrap()).stderr(writer);
    assert_eq!(command.status().unwrap().code(), Some(0), "the run is complete");
    assert_eq!(rows_of(bench, &out), 10);
    // A result that cannot be written is a failure, told where it can be.
    let out = bench.path("unwritten");
    let mut words = bench.run_words("mmlu_pro", out.to_str().unwrap());
    words.extend(["--limit", "2", "--max-tokens", "8", "--json"]);
    let output = bench.command(&words).stdout(full()).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(
        message.contains("saved in") && !message.contains("panicked"),
        "{message}"
    );
    assert_eq!(rows_of(bench, &out), 10);
    for command in [
        &["stats"][..],
        &["open", "--print"],
        &["export", "-o", "-"],
        &["check"],
        &["--help"],
    ] {
        let output = bench.command(command).stdout(full()).stderr(full()).output().unwrap();
        assert!(
            output.status.code().is_some_and(|code| code < 3),
            "{command:?}: {:?}",
            output.status
        );
    }
}

/// The program on a terminal, with the folder of the bench.
fn on_terminal(bench: &Bench, words: &[&str]) -> Terminal {
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_markbook"));
    command.args(words);
    command.env("MARKBOOK_HOME", bench.path("home"));
    command.cwd(bench.path(""));
    Terminal::start(command)
}

/// A run on a screen that goes on for as long as a test needs it.
fn long_run<'a>(bench: &'a Bench, out: &'a str) -> Vec<&'a str> {
    let mut words = bench.run_words("mmlu_pro", out);
    words.retain(|word| *word != "--plain");
    words.extend(["--max-tokens", "300"]);
    words
}

#[track_caller]
fn is_expected(code: u32, case: &Value) {
    let codes = case["expected"]["exit"].as_array().unwrap();
    assert!(codes.contains(&code.into()), "{}: exit code {code}", case["id"]);
}

fn the_terminal_is_closed(bench: &Bench, case: &Value) {
    let out = bench.path("closed");
    let name = out.to_str().unwrap();
    let mut terminal = on_terminal(bench, &long_run(bench, name));
    wait_for("the first answers", 60, || journal_lines(&out) > 2);
    terminal.close();
    is_expected(terminal.wait_for_end(), case);
    let kept = journal_lines(&out);
    assert!(kept > 2 && rows_of(bench, &out) == kept, "the answers are kept");
    let plain = bench.path("closed-plain");
    let mut words = long_run(bench, plain.to_str().unwrap());
    words.push("--plain");
    let mut terminal = on_terminal(bench, &words);
    wait_for("the first answers", 60, || journal_lines(&plain) > 0);
    terminal.close();
    is_expected(terminal.wait_for_end(), case);
    let mut terminal = on_terminal(bench, &["open", written(&bench.path("")).to_str().unwrap()]);
    terminal.wait_for("1/45");
    terminal.close();
    is_expected(terminal.wait_for_end(), case);
}

fn nulls_are_no_broken_lines(bench: &Bench, case: &Value) {
    let out = bench.path("nan");
    let mut words = bench.run_words("mmlu", out.to_str().unwrap());
    words.extend(["--limit", "8"]);
    bench.ok(&words);
    unfinish(&out, 5);
    // As an older version wrote them.
    let text = std::fs::read_to_string(out.join("journal.jsonl")).unwrap();
    let older: String = text
        .lines()
        .map(|line| {
            let mut row: Value = serde_json::from_str(line).unwrap();
            row["logprobs"] = serde_json::json!([null, null, null, null]);
            row["flags"] = serde_json::json!(["nan"]);
            format!("{row}\n")
        })
        .collect();
    assert!(older.contains(case["file"]["line_has"].as_str().unwrap()));
    std::fs::write(out.join("journal.jsonl"), older).unwrap();
    assert_eq!(rows_of(bench, &out), 5);
    words.push("--resume");
    let output = bench.run(&words);
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !message.contains("broken"), "{message}");
    let records = markbook::parquet::read_records(&out.join("records.parquet")).unwrap();
    let odd = |record: &&Record| {
        record
            .logprobs
            .as_ref()
            .is_some_and(|scores| scores.iter().all(|score| score.is_nan()))
    };
    assert_eq!((records.len(), records.iter().filter(odd).count()), (8, 5));
    // Out of every export they come back.
    for format in ["jsonl", "csv", "parquet"] {
        let to = bench.path(&format!("nan.{format}"));
        let name = to.to_str().unwrap();
        bench.ok(&["export", out.to_str().unwrap(), "--format", format, "-o", name]);
        let again = markbook::import::open(std::slice::from_ref(&to), &markbook::import::Options::default()).unwrap();
        let kept = again
            .iter()
            .flat_map(|trace| (0..trace.rows.len()).map(|row| trace.record(row).unwrap()));
        let kept: Vec<_> = kept.collect();
        assert_eq!(kept.len(), 8, "{format}");
        for (kept, record) in kept.iter().zip(&records) {
            let bits = |record: &Record| -> Vec<bool> {
                record.logprobs.iter().flatten().map(|score| score.is_nan()).collect()
            };
            assert_eq!((bits(kept), &kept.flags), (bits(record), &record.flags), "{format}");
        }
    }
}

fn strangers_are_no_answers(bench: &Bench, case: &Value) {
    let out = finished(bench, "strangers", &[]);
    unfinish(&out, 10);
    let text = std::fs::read_to_string(out.join("journal.jsonl")).unwrap();
    let first: Record = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    let mut journal = File::options().append(true).open(out.join("journal.jsonl")).unwrap();
    for question_id in 90_000..90_005 {
        let stranger = Record {
            question_id,
            ..first.clone()
        };
        journal.write_all(&line_of(&stranger)).unwrap();
    }
    drop(journal);
    let message = ended(&resume(bench, &out), case);
    assert!(
        message.contains(case["expected"]["note"].as_str().unwrap()),
        "{message}"
    );
    assert_eq!(rows_of(bench, &out) as u64, case["expected"]["rows"].as_u64().unwrap());
    let json: Value = serde_json::from_str(&bench.ok(&["stats", out.to_str().unwrap(), "--json"])).unwrap();
    assert_eq!(json["runs"][0]["n"], case["expected"]["rows"], "{json}");
}

fn the_second_signal_ends_at_once(bench: &Bench, case: &Value) {
    let template = "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}";
    let model = crate::tiny::write(&bench.path("stuck"), 7);
    let config = serde_json::json!({"eos_token": "<|end|>", "model_max_length": 4096, "chat_template": template});
    std::fs::write(model.join("tokenizer_config.json"), config.to_string()).unwrap();
    for (at, ask) in ["TERM", "keys"].into_iter().enumerate() {
        let out = bench.path(&format!("stuck-{at}"));
        let mut words = long_run(bench, out.to_str().unwrap());
        words[2] = model.to_str().unwrap();
        words.extend(["--chat", "on"]);
        let mut terminal = on_terminal(bench, &words);
        std::thread::sleep(Duration::from_secs(2));
        let begun = Instant::now();
        for key in ["Q", "s", "\u{3}", "\u{3}", "\u{3}"] {
            if ask == "keys" {
                terminal.type_keys(key);
            } else {
                terminal.signal("TERM");
            }
            std::thread::sleep(Duration::from_millis(300));
        }
        terminal.wait_for_end();
        assert!(begun.elapsed() < Duration::from_secs(15), "{}: {ask}", case["id"]);
        terminal.assert_left_sane();
    }
}

fn a_number_is_out_of_bounds(bench: &Bench, case: &Value) {
    let words = words(bench, case, &bench.path("bounds"));
    let message = ended(&bench.run(&run_of(&words)), case);
    let cores = std::thread::available_parallelism().unwrap().to_string();
    assert!(message.contains(&format!("{cores} core")), "{message}");
}

#[test]
fn every_number_of_a_run_has_bounds_and_a_sentence() {
    let bench = Bench::new();
    for (flag, values) in [
        ("--threads", &["0", "20000", "-1", "many"][..]),
        ("--batch", &["0", "100000", "x"]),
        ("--limit", &["0", "-5", "99999999999999999999"]),
        ("--per-subject", &["0"]),
        ("--shots", &["-1", "5000"]),
        ("--max-tokens", &["0", "1e9", "100000000000"]),
        ("--temperature", &["-1", "nan", "1e-12", "1000"]),
        ("--top-p", &["0", "2", "nan"]),
        ("--top-k", &["-1", "99999999999"]),
        ("--seeds", &["42-46", "9223372036854775808"]),
        ("--sample-seed", &["-1"]),
    ] {
        for value in values {
            let output = bench.run(&["run", "--data", "embedded", &format!("{flag}={value}")]);
            let message = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{flag}={value}: {message}");
            assert!(
                message.contains(flag) && !message.contains("digit found") && !message.contains("panicked"),
                "{message}"
            );
        }
    }
    let seeds: Vec<String> = (0..1_001).map(|seed| seed.to_string()).collect();
    let message = bench
        .refused(&["run", "--data", "embedded", "--seeds", &seeds.join(",")])
        .1;
    assert!(message.contains("1001 seeds") && message.contains("1000"), "{message}");
}

fn repeated_keys_leave(bench: &Bench, case: &Value) {
    // The case's own keys, and the same out of every dialog.
    let keys: Vec<&str> = case["params"]["keys"]
        .as_array()
        .unwrap()
        .iter()
        .map(|key| key.as_str().unwrap())
        .collect();
    let pressed = "\u{3}".repeat(keys.iter().filter(|key| **key == "^c").count());
    for (at, before) in ["", "?", "/law", ":", "e"].into_iter().enumerate() {
        let out = bench.path(&format!("interrupt-{at}"));
        let mut terminal = on_terminal(bench, &long_run(bench, out.to_str().unwrap()));
        wait_for("the first answers", 60, || journal_lines(&out) > 2);
        terminal.type_keys(before);
        std::thread::sleep(Duration::from_millis(300));
        terminal.type_keys(&pressed);
        assert_eq!(terminal.wait_for_end(), 130, "{} after {before:?}", case["id"]);
        terminal.assert_left_sane();
        assert!(
            journal_lines(&out) > 2 && out.join("run.json").is_file(),
            "answers are kept"
        );
    }
}

fn a_signal_at_the_first_frame(bench: &Bench, case: &Value) {
    let name = case["params"]["signal"].as_str().unwrap().trim_start_matches("SIG");
    for wait in [0, 1, 3, 10] {
        let trace = written(&bench.path(""));
        let mut terminal = on_terminal(bench, &["open", trace.to_str().unwrap()]);
        wait_for("the screen", 20, || terminal.has_sent("\u{1b}[?1049h"));
        std::thread::sleep(Duration::from_millis(wait));
        terminal.signal(name);
        assert_eq!(terminal.wait_for_end(), 143, "{wait} ms");
        terminal.assert_left_sane();
    }
}

#[test]
fn a_signal_at_any_moment_leaves_the_terminal_sane_and_the_answers_there() {
    let bench = Bench::new();
    for (at, wait) in [5, 40, 90, 160, 250, 400, 700, 1_100].into_iter().enumerate() {
        let (name, code) = [("TERM", 143), ("INT", 130)][at % 2];
        let out = bench.path(&format!("moment-{at}"));
        let mut words = long_run(&bench, out.to_str().unwrap());
        words.extend(["--limit", "12"]);
        let mut terminal = on_terminal(&bench, &words);
        std::thread::sleep(Duration::from_millis(wait));
        terminal.signal(name);
        let ended = terminal.wait_for_end();
        // Before it listens, the signal itself ends the program; a run may also be over.
        assert!(
            ended == code || ended == 0 || ended == 1 && wait < 100,
            "{name} at {wait} ms: {ended}"
        );
        terminal.assert_left_sane();
        if out.join("run.json").is_file() {
            let kept = journal_lines(&out);
            assert!(out.join("records.parquet").is_file() || rows_of(&bench, &out) == kept);
        }
    }
}

#[test]
fn a_second_signal_without_a_screen_ends_at_once_with_its_number() {
    let bench = Bench::new();
    for (name, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        let out = bench.path(name);
        let mut words = bench.run_words("mmlu_pro", out.to_str().unwrap());
        words.extend(["--max-tokens", "300"]);
        let mut child = bench
            .command(&words)
            .stderr(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        wait_for("the first answers", 60, || journal_lines(&out) > 0);
        signal(&child, name);
        signal(&child, name);
        wait_for("the end", 20, || child.try_wait().unwrap().is_some());
        assert_eq!(child.wait().unwrap().code(), Some(code), "{name}");
        let kept = journal_lines(&out);
        assert!(kept > 0);
        words.extend(["--resume", "--limit", "1"]);
        let refused = bench.refused(&words).1;
        assert!(refused.contains("data.limit"), "it is the same run still: {refused}");
    }
}
