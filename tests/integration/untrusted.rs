//! Files, pipes, caches and patterns that are large, damaged or hostile: the shared cases, and more of their kinds.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use markbook::export;
use markbook::import::{self, Options};
use markbook::trace::Trace;
use markbook::tui::{self, Script};
use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use serde_json::{Map, Value, json};
use tempfile::TempDir;
use zip::write::SimpleFileOptions;

use crate::cases;

/// The cases of this kind.
fn faults(kind: &str) -> Vec<Value> {
    let of_kind = |case: &Value| case["kind"].as_str().is_some_and(|found| found.starts_with(kind));
    cases("faults.jsonl").into_iter().filter(of_kind).collect()
}

/// A value of a case, with its repeated texts written out.
fn spelled(value: &Value) -> Value {
    let Some(generated) = value.get("gen") else {
        return value.clone();
    };
    let times = generated["times"].as_u64().unwrap() as usize;
    let then = generated["then"].as_str().unwrap_or_default();
    Value::from(generated["repeat"].as_str().unwrap().repeat(times) + then)
}

/// The rows of a case's file, their keys in the order that it names.
fn rows_of(file: &Value) -> Vec<Value> {
    let order: Vec<&str> = file["order"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let row = |row: &Value| {
        let fields = row.as_object().unwrap();
        let keys: Vec<&str> = if order.is_empty() {
            fields.keys().map(String::as_str).collect()
        } else {
            order.clone()
        };
        let fields = keys.into_iter().map(|key| (key.to_owned(), spelled(&fields[key])));
        Value::Object(fields.collect::<Map<_, _>>())
    };
    file["rows"].as_array().unwrap().iter().map(row).collect()
}

fn lines(rows: &[Value]) -> String {
    rows.iter().map(|row| format!("{row}\n")).collect()
}

fn answer(id: usize, text: &str) -> Value {
    json!({"question_id": id, "attempt": 0, "category": "law", "prompt": "p", "reasoning": text,
           "pick": "A", "answer": "A", "correct": true})
}

/// The program, in a folder with a home of its own.
fn program(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_markbook"));
    command
        .args(words)
        .current_dir(folder)
        .env("MARKBOOK_HOME", folder.join("home"))
        .env("NO_COLOR", "1")
        .stdin(Stdio::null());
    command
}

fn run(folder: &Path, words: &[&str]) -> Output {
    program(folder, words).output().unwrap()
}

/// A line for a shell in which `markbook` is the program.
fn shell(folder: &Path, line: &str) -> Output {
    let line = line.replace("markbook", &format!("'{}'", env!("CARGO_BIN_EXE_markbook")));
    Command::new("bash")
        .args(["-c", &line])
        .current_dir(folder)
        .env("MARKBOOK_HOME", folder.join("home"))
        .output()
        .unwrap()
}

fn rows_told(output: &Output) -> u64 {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let figures: Value = serde_json::from_slice(&output.stdout).unwrap();
    figures["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["n"].as_u64().unwrap())
        .sum()
}

/// What the program writes to a terminal, and its exit code.
fn on_a_terminal(folder: &Path, words: &[&str]) -> (String, u32) {
    let size = PtySize {
        rows: 40,
        cols: 120,
        ..PtySize::default()
    };
    let pair = native_pty_system().openpty(size).unwrap();
    let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_markbook"));
    command.args(words);
    command.cwd(folder);
    command.env("MARKBOOK_HOME", folder.join("home"));
    command.env("TERM", "xterm-256color");
    let mut child = pair.slave.spawn_command(command).unwrap();
    drop(pair.slave);
    let mut reader = pair.master.try_clone_reader().unwrap();
    let mut bytes = Vec::new();
    // Linux ends a terminal whose program is gone with an error.
    let _ = reader.read_to_end(&mut bytes);
    let code = child.wait().unwrap().exit_code();
    (String::from_utf8_lossy(&bytes).into_owned(), code)
}

/// Whether nothing is in a text that a terminal acts on, but for line ends and tabs.
fn is_tame(text: &str) -> bool {
    !text.contains(['\u{202e}', '\u{feff}', '\u{200b}'])
        && text.chars().all(|c| !c.is_control() || matches!(c, '\n' | '\r' | '\t'))
}

fn zipped(path: &Path, members: impl Iterator<Item = (String, Vec<u8>)>) {
    let mut zip = zip::ZipWriter::new(std::fs::File::create(path).unwrap());
    for (name, content) in members {
        zip.start_file(name, SimpleFileOptions::default()).unwrap();
        zip.write_all(&content).unwrap();
    }
    zip.finish().unwrap();
}

fn gzipped(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

/// What a trace shows: figures, and the texts of some rows.
fn shown(trace: &Trace) -> Vec<String> {
    let rows = &trace.rows;
    let row = |row: usize| format!("{:?} {}", rows.light(row), trace.record(row).unwrap().reasoning);
    let sum: u64 = (0..rows.len())
        .map(|row| u64::from(rows.correct[row]) * row as u64)
        .sum();
    let mut shown: Vec<String> = (0..rows.len()).step_by(97).map(row).collect();
    shown.push(format!("{} {sum} {:?}", rows.len(), trace.kind));
    shown
}

/// A step of pseudo-random numbers, the same in every run of the test.
fn next(state: &mut u64) -> u64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// The files below a folder.
fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .flat_map(|entry| {
            if entry.path().is_dir() {
                files_in(&entry.path())
            } else {
                vec![entry.path()]
            }
        })
        .collect()
}

#[test]
fn a_damaged_index_never_changes_a_figure_or_a_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    let text = |id: usize| format!("{} The answer is ({}).", "so ".repeat(80 + id % 40), ["A", "B"][id % 2]);
    let rows: Vec<Value> = (0..4_000).map(|id| answer(id, &text(id))).collect();
    std::fs::write(&path, lines(&rows)).unwrap();
    let options = Options {
        cache_dir: Some(folder.path().join("cache")),
        ..Options::default()
    };
    let opened = || shown(&import::open(std::slice::from_ref(&path), &options).unwrap()[0]);
    let right = opened();
    let kept = files_in(&folder.path().join("cache"));
    assert_eq!(kept.len(), 1, "one index: {kept:?}");
    let whole = std::fs::read(&kept[0]).unwrap();
    let mut state = 7;
    for round in 0..300 {
        let mut bytes = whole.clone();
        let at = next(&mut state) as usize % bytes.len();
        let end = (at + 4_096).min(bytes.len());
        match round % 6 {
            0 => bytes[at] ^= 1 << (round % 8),
            1 => bytes[at..end].fill(0),
            2 => bytes.truncate(at),
            3 => bytes[at..end].reverse(),
            4 => bytes.extend_from_slice(&whole[at..]),
            _ => {
                bytes.drain(at..end);
            }
        }
        std::fs::write(&kept[0], bytes).unwrap();
        assert_eq!(opened(), right, "round {round}, at byte {at}");
    }
    std::fs::write(&kept[0], &whole).unwrap();
    assert_eq!(opened(), right);
}

#[test]
fn a_file_written_again_with_the_same_length_and_time_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.jsonl");
    let text = |pick: &str| {
        let row = |id: usize| {
            let mut row = answer(id, &"x".repeat(400));
            row["pick"] = pick.into();
            row.as_object_mut().unwrap().remove("correct");
            row
        };
        lines(&(0..3_000).map(row).collect::<Vec<_>>())
    };
    let options = Options {
        cache_dir: Some(folder.path().join("cache")),
        ..Options::default()
    };
    let right = || {
        let trace = import::open(std::slice::from_ref(&path), &options).unwrap().remove(0);
        trace.rows.correct.iter().filter(|correct| **correct).count()
    };
    std::fs::write(&path, text("A")).unwrap();
    let time = path.metadata().unwrap().modified().unwrap();
    assert_eq!((right(), right()), (3_000, 3_000));
    assert_eq!(files_in(&folder.path().join("cache")).len(), 1);
    std::fs::write(&path, text("B")).unwrap();
    let file = std::fs::File::options().append(true).open(&path).unwrap();
    file.set_modified(time).unwrap();
    assert_eq!(right(), 0);
}

#[test]
fn the_damaged_indexes_of_the_cases_give_the_figures_of_the_file() {
    for case in faults("cache/") {
        let folder = tempfile::tempdir().unwrap();
        let rows: Vec<Value> = (0..30_000).map(|id| answer(id, "The answer is (A).")).collect();
        std::fs::write(folder.path().join("a.jsonl"), lines(&rows)).unwrap();
        let stats = || run(folder.path(), &["stats", "a.jsonl", "--json"]).stdout;
        let right = stats();
        assert_eq!(stats(), right);
        for kept in files_in(&folder.path().join("home/cache")) {
            let mut bytes = std::fs::read(&kept).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle - 2_048..middle + 2_048].fill(0);
            std::fs::write(&kept, bytes).unwrap();
        }
        assert_eq!(stats(), right, "{}", case["id"]);
    }
}

#[test]
fn a_home_that_cannot_be_written_costs_time_and_is_told_once() {
    let folder = tempfile::tempdir().unwrap();
    let rows: Vec<Value> = (0..3_000).map(|id| answer(id, &"x".repeat(400))).collect();
    for name in ["a.jsonl", "b.jsonl"] {
        std::fs::write(folder.path().join(name), lines(&rows)).unwrap();
    }
    std::fs::write(folder.path().join("c.jsonl.gz"), gzipped(lines(&rows).as_bytes())).unwrap();
    std::fs::write(folder.path().join("a-file"), "").unwrap();
    let homes = [
        folder.path().join("a-file"),
        "/proc/no-such/place".into(),
        "/dev/null".into(),
    ];
    for home in homes {
        // What is small when packed is not worth an index.
        for (names, told) in [(&["a.jsonl", "b.jsonl"][..], 1), (&["c.jsonl.gz"], 0)] {
            let mut words = vec!["stats", "--json"];
            words.extend(names);
            let output = program(folder.path(), &words)
                .env("MARKBOOK_HOME", &home)
                .output()
                .unwrap();
            assert_eq!(rows_told(&output), 3_000 * names.len() as u64, "{home:?}");
            let errors = String::from_utf8_lossy(&output.stderr);
            assert_eq!(
                errors.matches("no index of it can be kept").count(),
                told,
                "{home:?}: {errors}"
            );
        }
    }
}

#[test]
fn a_first_row_of_any_length_opens_in_every_form_and_packing() {
    for case in faults("file/long-first-row") {
        let rows = rows_of(&case["file"]);
        let expected = case["expected"]["rows"].as_u64().unwrap();
        long_rows_open(&rows, expected);
    }
    let long = |length: usize| [answer(1, &"y".repeat(length)), answer(2, "The answer is (A)")];
    long_rows_open(&long(262_144), 2);
    long_rows_open(&long(5_000_000), 2);
    // Long before any column that tells what the file is, and as the only row.
    let prompt_first =
        json!({"prompt": "z".repeat(600_000), "question_id": 1, "pick": "A", "answer": "A", "reasoning": "r"});
    long_rows_open(&[prompt_first], 1);
}

fn long_rows_open(rows: &[Value], expected: u64) {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    let text = lines(rows);
    put("a.jsonl", text.as_bytes());
    put("a.json", Value::from(rows.to_vec()).to_string().as_bytes());
    put(
        "wrapped.json",
        json!({"made": "by hand", "results": rows}).to_string().as_bytes(),
    );
    put("a.jsonl.gz", &gzipped(text.as_bytes()));
    put("a.jsonl.zst", &zstd::encode_all(text.as_bytes(), 3).unwrap());
    let mut csv = csv::Writer::from_writer(Vec::new());
    csv.write_record(rows[0].as_object().unwrap().keys()).unwrap();
    for row in rows {
        let cell = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        csv.write_record(row.as_object().unwrap().values().map(cell)).unwrap();
    }
    put("a.csv", &csv.into_inner().unwrap());
    zipped(
        &folder.path().join("a.zip"),
        [("inner/a.jsonl".to_owned(), text.clone().into_bytes())].into_iter(),
    );
    zipped(
        &folder.path().join("packed.zip"),
        [("a.jsonl.gz".to_owned(), gzipped(text.as_bytes()))].into_iter(),
    );
    for name in [
        "a.jsonl",
        "a.json",
        "wrapped.json",
        "a.jsonl.gz",
        "a.jsonl.zst",
        "a.csv",
        "a.zip",
        "packed.zip",
    ] {
        let path = folder.path().join(name);
        let traces = import::open(std::slice::from_ref(&path), &Options::default())
            .unwrap_or_else(|error| panic!("{name}: {error:#}"));
        let found: u64 = traces.iter().map(|trace| trace.rows.len() as u64).sum();
        assert_eq!(found, expected, "{name}");
        reopens(&traces[0], folder.path());
    }
}

/// What markbook writes of a trace opens again with all its rows and texts.
fn reopens(trace: &Trace, folder: &Path) {
    let rows: Vec<u32> = (0..trace.rows.len() as u32).collect();
    for name in ["jsonl", "csv", "parquet"] {
        let path = folder.join(format!("again.{name}"));
        let options = export::Options {
            format: export::format(name).unwrap(),
            force: true,
            ..export::Options::jsonl(export::Target::File(path.clone())).unwrap()
        };
        export::write(trace, &rows, &options).unwrap();
        let again = import::open(&[path], &Options::default()).unwrap_or_else(|error| panic!("{name}: {error:#}"));
        assert_eq!(again[0].rows.len(), rows.len(), "{name}");
        let text = |trace: &Trace| trace.record(0).unwrap().reasoning.clone();
        assert_eq!(text(&again[0]), text(trace), "{name}");
    }
}

#[test]
fn an_archive_of_thousands_of_files_opens_in_time_that_grows_with_it() {
    for case in faults("file/many-members") {
        let folder = tempfile::tempdir().unwrap();
        let members = case["file"]["members"].as_u64().unwrap() as usize;
        let member = |at: usize| {
            let doc =
                json!({"question": "q?", "choices": ["a", "b", "c", "d"], "answer": 1, "subject": format!("t{at}")});
            let row = |id: usize| {
                json!({"doc_id": id, "doc": doc, "target": "1", "arguments": [["q?", " A"], ["q?", " B"], ["q?", " C"], ["q?", " D"]],
                       "resps": [[[-1.0, false]], [[-0.5, true]], [[-2.0, false]], [[-3.0, false]]],
                       "filtered_resps": [[-1.0, false], [-0.5, true], [-2.0, false], [-3.0, false]], "acc": 1.0})
            };
            let name = format!("samples_mmlu_t{at}_2025-01-01T00-00-00.000000.jsonl");
            (name, format!("{}\n{}\n", row(0), row(1)).into_bytes())
        };
        zipped(&folder.path().join("a.zip"), (0..members).map(member));
        let begun = Instant::now();
        let output = run(folder.path(), &["stats", "a.zip", "--json"]);
        assert_eq!(rows_told(&output), 2 * members as u64);
        let most = case["expected"]["seconds_at_most"].as_f64().unwrap();
        assert!(
            begun.elapsed().as_secs_f64() < most * slowness(),
            "{:?}",
            begun.elapsed()
        );
    }
}

/// How much slower than a whole program this one may be: it is built for tests, on a machine with other work.
fn slowness() -> f64 {
    if cfg!(debug_assertions) { 6.0 } else { 1.0 }
}

#[test]
fn what_comes_out_of_a_pipe_is_read_once_whatever_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let rows: Vec<Value> = (0..30).map(|id| answer(id, "The answer is (A).")).collect();
    std::fs::write(folder.path().join("a.jsonl"), lines(&rows)).unwrap();
    std::fs::write(folder.path().join("a.jsonl.gz"), gzipped(lines(&rows).as_bytes())).unwrap();
    std::fs::write(
        folder.path().join("a.zst"),
        zstd::encode_all(lines(&rows).as_bytes(), 3).unwrap(),
    )
    .unwrap();
    assert!(
        run(
            folder.path(),
            &["export", "a.jsonl", "-o", "a.parquet", "--format", "parquet"]
        )
        .status
        .success()
    );
    for case in faults("file/pipe") {
        for command in case["command"].as_str().unwrap().split("; ") {
            let command = command.replace("markbook ", "");
            let command = match command.split_once(" | ") {
                Some((before, rest)) => format!("{before} | markbook {rest} --json"),
                None => format!("markbook {command} --json"),
            };
            assert_eq!(
                rows_told(&shell(folder.path(), &command)),
                case["expected"]["rows"].as_u64().unwrap(),
                "{command}"
            );
        }
    }
    for command in [
        "cat a.jsonl | markbook stats - --json",
        "cat a.jsonl.gz | markbook stats - --json",
        "markbook stats <(cat a.zst) --json",
        "markbook stats - --json < a.jsonl",
        "cat a.parquet | markbook stats /dev/stdin --json",
        "mkfifo f; cat a.jsonl > f & markbook stats f --json",
    ] {
        assert_eq!(rows_told(&shell(folder.path(), command)), 30, "{command}");
    }
    for command in [
        "markbook compare <(cat a.jsonl) <(cat a.jsonl.gz) --json",
        "cat a.jsonl | markbook check - --json",
        "cat a.jsonl | markbook rescore - --rule tiger_chain --json",
        "cat a.jsonl | markbook open - --print",
        "cat a.jsonl | markbook export - -o out.jsonl && cmp a.jsonl out.jsonl",
    ] {
        let output = shell(folder.path(), command);
        assert!(
            output.status.success(),
            "{command}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let output = shell(folder.path(), "printf nonsense | markbook stats -");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        errors.contains("standard input: ") && !errors.contains("/proc"),
        "{errors}"
    );
}

#[test]
fn a_set_of_questions_comes_out_of_a_pipe_too() {
    let folder = tempfile::tempdir().unwrap();
    let rows: Vec<Value> = (0..3)
        .map(|id| json!({"question": format!("q{id}?"), "options": ["a", "b"], "answer": "B"}))
        .collect();
    std::fs::write(folder.path().join("q.jsonl"), lines(&rows)).unwrap();
    std::fs::write(
        folder.path().join("q.csv"),
        "question,A,B,answer\nq0?,a,b,B\n\"q1, q\",a,b,A\n",
    )
    .unwrap();
    for (command, questions) in [
        ("cat q.jsonl | markbook prompts --benchmark custom --data - --jsonl", 3),
        ("markbook prompts --benchmark custom --data <(cat q.csv) --jsonl", 2),
        (
            "markbook prompts --benchmark custom --data /dev/stdin --jsonl < q.jsonl",
            3,
        ),
    ] {
        let output = shell(folder.path(), command);
        let text = String::from_utf8_lossy(&output.stdout);
        assert_eq!(
            text.lines().count(),
            questions,
            "{command}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

#[test]
fn no_text_from_data_acts_on_the_terminal_of_standard_output() {
    for case in faults("terminal/lines") {
        let folder = tempfile::tempdir().unwrap();
        let name = case["file"]["name"].as_str().unwrap();
        std::fs::write(folder.path().join(name), lines(&rows_of(&case["file"]))).unwrap();
        let command = case["command"].as_str().unwrap().split("  (").next().unwrap();
        let words: Vec<&str> = command.split(' ').collect();
        let (text, code) = on_a_terminal(folder.path(), &words);
        assert!(is_tame(&text) && text.contains('␛') && code == 0, "{command}: {text:?}");
        if case["expected"]["in_a_pipe"].is_string() {
            let output = run(folder.path(), &words);
            assert!(String::from_utf8_lossy(&output.stdout).contains("\u{1b}]0;PWNED\u{7}\u{9b}31m\u{202e}"));
        }
    }
    let folder = hostile();
    for words in [
        "stats a.jsonl",
        "stats a.jsonl --json",
        "stats nothing\u{1b}[31m.jsonl",
        "compare a.jsonl a.jsonl",
        "compare a.jsonl a.jsonl --json",
        "rescore a.jsonl --rule tiger_chain",
        "rescore a.jsonl --rule tiger_chain --json",
        "check a.jsonl",
        "check a.jsonl --json",
        "export a.jsonl -o -",
        "export a.jsonl -o - --format csv",
        "prompts --benchmark custom --data q.jsonl",
        "prompts --benchmark custom --data q.jsonl --jsonl",
        "prompts --benchmark custom --data q.jsonl --hashes",
        "stats broken\u{9b}.jsonl",
        "open a.jsonl --print",
    ] {
        let (text, _) = on_a_terminal(folder.path(), &words.split(' ').collect::<Vec<_>>());
        assert!(!text.is_empty() && is_tame(&text), "{words}: {text:?}");
    }
    let (text, code) = on_a_terminal(folder.path(), &["export", "a.jsonl", "-o", "-", "--format", "parquet"]);
    assert!(code != 0 && text.contains("-o") && !text.contains("PAR1"), "{text:?}");
    let (text, _) = on_a_terminal(
        folder.path(),
        &["export", "a.jsonl", "-o", "/dev/tty", "--format", "csv"],
    );
    assert!(text.contains("␛") && is_tame(&text), "{text:?}");
}

/// A folder with a trace and a set of questions full of what terminals act on.
fn hostile() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let foul = |text: &str| format!("{text}\u{1b}]0;PWNED\u{7}\u{9b}31m\u{202e}\rx\u{8}");
    let row = |id: usize| {
        json!({"question_id": id, "attempt": 0, "category": foul("law"), "prompt": foul("p"), "reasoning": foul("The answer is (A)"),
               "pick": foul("A"), "answer": foul("A"), "correct": true, foul("column"): 1, "model": foul("m")})
    };
    std::fs::write(folder.path().join("a.jsonl"), lines(&[row(1), row(2)])).unwrap();
    std::fs::write(folder.path().join("broken\u{9b}.jsonl"), foul("{\"a\": ")).unwrap();
    let question = json!({"question": foul("q"), "options": [foul("a"), "b"], "answer": "A", "category": foul("c")});
    std::fs::write(folder.path().join("q.jsonl"), lines(&[question])).unwrap();
    folder
}

#[test]
fn a_copied_output_holds_no_control_that_a_shell_would_act_on() {
    for case in faults("terminal/clipboard") {
        let mut row = answer(1, case["text"].as_str().unwrap());
        row["category"] = "law\u{1b}[31m".into();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.jsonl");
        std::fs::write(&path, lines(&[row])).unwrap();
        let traces = import::open(&[path], &Options::default()).unwrap();
        let mut script = Script::open(traces, (100, 30), &tui::Options::default()).unwrap();
        script.keys("<enter>yY");
        assert_eq!(script.copied.len(), 2);
        for copied in &script.copied {
            assert!(is_tame(copied) && !copied.contains('\r'), "{copied:?}");
        }
        script.keys("y");
        assert!(script.screen().contains("left out"), "{}", script.screen());
    }
}

#[test]
fn a_heavy_pattern_ends_in_time_and_its_rows_are_flagged() {
    for case in faults("rule/") {
        let folder = tempfile::tempdir().unwrap();
        let text = |id: usize| if id < 30 { "a".repeat(5_000) } else { "x".repeat(20_000) };
        let rows: Vec<Value> = (0..60).map(|id| answer(id, &text(id))).collect();
        std::fs::write(folder.path().join("a.jsonl"), lines(&rows)).unwrap();
        let command = case["command"].as_str().unwrap().split("  (").next().unwrap();
        let command = format!("markbook {command} --json");
        let begun = Instant::now();
        let output = shell(folder.path(), &command);
        assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
        let rescored: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(rescored["gave_up"], 60, "{rescored}");
    }
}

#[test]
fn a_file_of_question_ids_is_read_in_bounds_or_refused_in_a_line() {
    let folder = tempfile::tempdir().unwrap();
    let rows: Vec<Value> = (0..9).map(|id| answer(id, "x")).collect();
    std::fs::write(folder.path().join("a.jsonl"), lines(&rows)).unwrap();
    let put = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    put("ids", b"\xef\xbb\xbf1, 2\r\n\"3\"\t4\n");
    put("list", b"[1, 2,\n 3]");
    put("words", &b"x".repeat(1_000_000));
    put("binary", b"\xff\xfe1\x002\x00");
    for (filter, rows) in [
        ("q:@ids", 4),
        ("q:@list", 3),
        ("q:@ids,7-999999999999", 6),
        ("q:@ids,@list", 4),
    ] {
        assert_eq!(
            rows_told(&run(folder.path(), &["stats", "a.jsonl", "--json", "-f", filter])),
            rows,
            "{filter}"
        );
    }
    for (file, told) in [
        ("words", "line 1: `xxxx"),
        ("binary", "no text in UTF-8"),
        ("/dev/zero", "is no file"),
        (".", "is no file"),
        ("absent", "cannot read"),
    ] {
        let output = run(folder.path(), &["stats", "a.jsonl", "-f", &format!("q:@{file}")]);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(
            !output.status.success() && errors.contains(told) && errors.len() < 300,
            "{file}: {errors}"
        );
    }
    let output = run(folder.path(), &["stats", "a.jsonl", "-f", "re:/(?:a?){5000}a{5000}/"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("too heavy"));
}

#[test]
fn cells_that_a_spreadsheet_would_run_are_told_or_marked_and_come_back_exactly() {
    let folder = tempfile::tempdir().unwrap();
    let texts = [
        "=1+1",
        "+A",
        "-A",
        "@sum",
        "\tx",
        "\rx",
        "'=x",
        "''",
        "plain, \"quoted\"\n=2",
        "-1.5",
    ];
    let row = |(id, text): (usize, &&str)| {
        let mut row = answer(id, text);
        row["=cmd"] = Value::from("=1");
        row["note"] = json!(-1);
        row
    };
    let rows: Vec<Value> = texts.iter().enumerate().map(row).collect();
    std::fs::write(folder.path().join("a.jsonl"), lines(&rows)).unwrap();
    let told = |words: &[&str]| {
        let output = run(folder.path(), words);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let plain = told(&["export", "a.jsonl", "-o", "plain.csv", "--format", "csv"]);
    assert!(plain.contains("--spreadsheet-safe marks them"), "{plain}");
    let safe = told(&[
        "export",
        "a.jsonl",
        "-o",
        "safe.csv",
        "--format",
        "csv",
        "--spreadsheet-safe",
    ]);
    assert!(!safe.contains("--spreadsheet-safe"), "{safe}");
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .from_path(folder.path().join("safe.csv"))
        .unwrap();
    for (at, record) in reader.records().enumerate() {
        for cell in &record.unwrap() {
            let is_number = cell.parse::<f64>().is_ok();
            assert!(
                is_number || !cell.starts_with(['=', '+', '-', '@', '\t', '\r']),
                "row {at}: {cell:?}"
            );
        }
    }
    for name in ["plain", "safe"] {
        told(&["export", &format!("{name}.csv"), "-o", &format!("{name}.jsonl")]);
    }
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(read("safe.jsonl"), read("plain.jsonl"));
    assert!(read("plain.jsonl").contains(r#""=cmd":"=1""#) && !read("plain.jsonl").contains("spreadsheet_safe"));
    let output = run(
        folder.path(),
        &["export", "a.jsonl", "-o", "x.jsonl", "--spreadsheet-safe"],
    );
    assert_eq!(output.status.code(), Some(2));
}
