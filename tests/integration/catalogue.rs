//! The catalogue of runs, and score cards: through the program, each test with a home of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use markbook::parquet::{Order, write_records};
use markbook::record::Record;
use rusqlite::Connection;
use serde_json::Value;

/// A home with copies of the recorded demo's runs.
struct Home {
    folder: tempfile::TempDir,
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

impl Home {
    fn new() -> Home {
        Home {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn database(&self) -> PathBuf {
        self.path("home/catalogue.db")
    }

    /// A copy of the recorded run of an exam, its manifest changed.
    fn run(&self, name: &str, exam: &str, change: impl FnOnce(&mut Value)) -> PathBuf {
        let path = self.path(name);
        copy(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/demo-run").join(exam),
            &path,
        );
        let manifest = path.join("run.json");
        let mut value: Value = serde_json::from_slice(&std::fs::read(&manifest).unwrap()).unwrap();
        change(&mut value);
        std::fs::write(&manifest, value.to_string()).unwrap();
        path
    }

    fn program(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_markbook"));
        command
            .env("MARKBOOK_HOME", self.path("home"))
            .env_remove("MARKBOOK_CATALOGUE")
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        command
    }

    fn command(&self, arguments: &[&str]) -> Output {
        self.program().args(arguments).output().unwrap()
    }

    /// What a command prints that does well.
    fn printed(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", told(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.printed(arguments)).unwrap()
    }

    fn runs(&self) -> Vec<Value> {
        self.json(&["runs", "--json"])["runs"].as_array().unwrap().clone()
    }

    /// All lines of the view that other tools read.
    fn view(&self) -> Vec<(String, String, String, f64, String, String)> {
        let db = Connection::open(self.database()).unwrap();
        let mut query = db.prepare("SELECT * FROM eval_runs ORDER BY run_id").unwrap();
        let line = |row: &rusqlite::Row| {
            Ok((
                row.get(0)?,
                row.get(1)?,
                row.get(2)?,
                row.get(3)?,
                row.get(4)?,
                row.get(5)?,
            ))
        };
        query.query_map([], line).unwrap().map(Result::unwrap).collect()
    }

    fn must_be_whole(&self) {
        let db = Connection::open(self.database()).unwrap();
        let check: String = db.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(check, "ok");
        let halves = "SELECT count(*) FROM trace t WHERE NOT EXISTS (SELECT 1 FROM score s WHERE s.trace = t.id)
            OR NOT EXISTS (SELECT 1 FROM place p WHERE p.trace = t.id) OR t.card = '{}'";
        let halves: i64 = db.query_row(halves, [], |row| row.get(0)).unwrap();
        assert_eq!(halves, 0, "only whole entries");
    }
}

fn told(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn one_run_in_four_places_is_one_entry_that_outlives_its_moves() {
    let home = Home::new();
    let run = home.run("first", "mmlu", |_| {});
    copy(&run, &home.path("copy"));
    std::fs::copy(run.join("records.parquet"), home.path("rows.parquet")).unwrap();
    home.printed(&["export", text(&run), "-o", text(&home.path("rows.jsonl"))]);
    let places = ["rows.jsonl", "first", "copy", "rows.parquet"].map(|name| home.path(name));
    let ids: Vec<String> = places.iter().map(|place| home.printed(&["add", text(place)])).collect();
    let runs = home.runs();
    assert_eq!((runs.len(), runs[0]["places"].as_u64()), (1, Some(4)), "{ids:?}");
    assert_eq!(ids[1], ids[2]);
    assert_eq!(ids[1], ids[3]);
    assert!(ids[1].starts_with("20261129-SmolLM2-135M-Instruct-mmlu-"), "{}", ids[1]);

    for place in &places[2..] {
        if place.is_dir() {
            std::fs::remove_dir_all(place).unwrap()
        } else {
            std::fs::remove_file(place).unwrap()
        }
    }
    std::fs::remove_file(&places[0]).unwrap();
    std::fs::rename(&run, home.path("moved")).unwrap();
    let gone = home.runs();
    assert!(gone[0]["path"].is_null());
    let error = home.command(&["card", "last"]);
    assert!(
        !error.status.success() && told(&error).contains("markbook add"),
        "{}",
        told(&error)
    );
    assert_eq!(home.printed(&["add", "moved"]), ids[1]);
    home.printed(&["card", ids[1].trim()]);
    home.printed(&["add", "moved", "--tag", "kept"]);

    let before = home.view();
    home.printed(&["catalogue", "rebuild"]);
    assert_eq!(home.view(), before);
    assert_eq!(home.runs()[0]["tags"], serde_json::json!(["kept"]));
    home.printed(&["forget", ids[1].trim()]);
    assert!(home.runs().is_empty() && home.path("moved/run.json").is_file());
}

#[test]
fn the_view_has_the_columns_and_the_keys_that_users_know() {
    let home = Home::new();
    home.run("a", "mmlu", |_| {});
    home.run("b", "mmlu_pro", |_| {});
    home.printed(&["add", "a", "b"]);
    let view = home.view();
    assert_eq!(view.len(), 2);
    for (run_id, _, metric, score, meta, created_at) in &view {
        assert!(run_id.contains(metric.as_str()) && (0.0..1.0).contains(score));
        assert!(created_at.starts_with("2026-11-") && created_at.ends_with('Z'));
        let meta: Value = serde_json::from_str(meta).unwrap();
        for key in [
            "harness_name",
            "harness_version",
            "dataset",
            "subject",
            "slice_fingerprint",
            "split",
            "num_fewshot",
            "grader",
            "seed",
            "temperature",
            "precision",
            "gpu",
            "run_at",
            "procedure",
            "environment",
            "n",
            "low",
            "high",
        ] {
            assert!(meta.get(key).is_some(), "{key} in {meta}");
        }
        assert_eq!(meta["dataset"], "embedded");
    }
}

/// Starts adding a folder of runs and does not wait.
fn start(home: &Home, folder: &str) -> std::process::Child {
    let mut command = home.program();
    command
        .args(["add", folder])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn processes_that_add_the_same_runs_at_once_leave_each_once_and_a_kill_leaves_whole_entries() {
    let home = Home::new();
    for number in 0..6 {
        home.run(&format!("runs/{number}"), "mmlu", |value| {
            value["started"] = format!("2026-11-2{number}T10:00:00+01:00").into();
        });
    }
    for kill in 0..12 {
        let mut child = start(&home, "runs");
        std::thread::sleep(Duration::from_millis(20 + 15 * kill));
        let _ = child.kill();
        child.wait().unwrap();
        if home.database().is_file() && home.database().metadata().unwrap().len() > 0 {
            home.command(&["catalogue", "check"]);
        }
    }
    let children: Vec<_> = (0..6).map(|_| start(&home, "runs")).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", told(&output));
    }
    home.must_be_whole();
    assert_eq!(home.runs().len(), 6);
    let (one, last) = (home.runs()[0]["run_id"].clone(), home.json(&["card", "last", "--json"]));
    assert!(one.as_str().unwrap().starts_with("20261125-"));
    assert_eq!(last["cards"][0]["run"]["started"], "2026-11-25T10:00:00+01:00");
    let several = home.command(&["card", "2026112"]);
    assert!(told(&several).contains("6 runs begin with"), "{}", told(&several));
}

#[test]
fn a_broken_file_is_put_aside_and_made_anew_and_a_newer_one_is_only_read() {
    let home = Home::new();
    home.run("home/runs/a", "mmlu", |_| {});
    home.printed(&["add", "home/runs"]);
    std::fs::write(
        home.database(),
        "no database at all, and long enough to be taken for a file with pages".repeat(99),
    )
    .unwrap();
    let output = home.command(&["runs", "--json"]);
    assert!(
        output.status.success() && told(&output).contains("broken"),
        "{}",
        told(&output)
    );
    let runs: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        runs["runs"].as_array().unwrap().len(),
        1,
        "entered anew from the runs folder"
    );
    let kept = std::fs::read_dir(home.path("home")).unwrap();
    let names: Vec<String> = kept
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    assert!(
        names.iter().any(|name| name.starts_with("catalogue.broken-")),
        "{names:?}"
    );

    Connection::open(home.database())
        .unwrap()
        .execute_batch("PRAGMA user_version = 99")
        .unwrap();
    let added = home.command(&["add", "home/runs/a"]);
    assert!(
        !added.status.success() && told(&added).contains("form 99 of a newer markbook"),
        "{}",
        told(&added)
    );
    assert_eq!(home.runs().len(), 1);

    std::fs::remove_file(home.database()).unwrap();
    Connection::open(home.database())
        .unwrap()
        .execute_batch("CREATE TABLE theirs (x)")
        .unwrap();
    let refused = home.command(&["add", "home/runs/a"]);
    assert!(
        told(&refused).contains("another program's database"),
        "{}",
        told(&refused)
    );
}

#[test]
fn a_catalogue_that_cannot_be_written_is_one_line_and_no_reason_to_fail() {
    let home = Home::new();
    home.run("a", "mmlu", |_| {});
    std::fs::create_dir_all(home.path("home")).unwrap();
    // A folder in the file's place cannot be opened as one, by root neither.
    std::fs::create_dir(home.database()).unwrap();
    let output = home.command(&["open", "a"]);
    assert!(output.status.success());
    let lines = told(&output);
    assert_eq!(lines.matches("not entered into the catalogue").count(), 1, "{lines}");
    assert!(lines.contains("markbook add"), "{lines}");
    for (variable, arguments) in [("off", &["open", "a"][..]), ("", &["open", "a", "--no-catalogue"][..])] {
        let output = home
            .program()
            .env("MARKBOOK_CATALOGUE", variable)
            .args(arguments)
            .output()
            .unwrap();
        assert!(output.status.success() && told(&output).is_empty(), "{}", told(&output));
    }
}

#[test]
fn what_is_opened_is_entered_and_another_rule_adds_its_own_line() {
    let home = Home::new();
    home.run("a", "mmlu_pro", |_| {});
    home.printed(&["open", "a"]);
    assert_eq!(home.view().len(), 1);
    home.printed(&["open", "a", "--rule", "tiger_chain"]);
    let view = home.view();
    assert_eq!(view.len(), 2);
    assert!(
        view[1].0.ends_with("~tiger_chain") && view[1].0.starts_with(&view[0].0),
        "{view:?}"
    );
    assert_eq!(home.runs().len(), 1);
}

#[test]
fn a_run_that_is_not_finished_is_entered_as_such_and_keeps_its_id_when_it_is() {
    let home = Home::new();
    let end = |value: &mut Value| {
        value["ended"] = Value::Null;
        value["finished"] = 100.into();
    };
    home.run("a", "mmlu", end);
    let first = home.printed(&["add", "a"]);
    assert_eq!(home.runs()[0]["is_complete"], false);
    home.run("a", "mmlu", |value| value["timing"]["threads"] = 64.into());
    assert_eq!(home.printed(&["add", "a"]), first);
    assert_eq!(
        (home.runs().len(), &home.runs()[0]["is_complete"]),
        (1, &Value::Bool(true))
    );
}

#[test]
fn a_baseline_is_a_name_for_its_run_and_every_verdict_is_kept() {
    let home = Home::new();
    home.run("a", "mmlu", |_| {});
    home.printed(&["baseline", "freeze", "july", "a"]);
    assert_eq!(home.runs()[0]["baselines"], serde_json::json!(["july"]));
    let (named, by_path) = (
        home.json(&["card", "@july", "--json"]),
        home.json(&["card", "a", "--json"]),
    );
    assert_eq!(named["cards"], by_path["cards"]);
    home.printed(&["gate", "a", "--baseline", "july"]);
    home.printed(&["gate", "@july", "--baseline", "july", "--threshold", "3"]);
    let verdicts = || {
        let db = Connection::open(home.database()).unwrap();
        let mut query = db
            .prepare("SELECT g.verdict, g.change, g.threshold FROM gate g JOIN trace t USING (run_id) ORDER BY g.id")
            .unwrap();
        let line = |row: &rusqlite::Row| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let lines: Vec<(String, f64, f64)> = query.query_map([], line).unwrap().map(Result::unwrap).collect();
        lines
    };
    let held = |threshold| ("held".to_owned(), 0.0, threshold);
    assert_eq!(verdicts(), [held(0.02), held(0.03)]);
    home.printed(&["catalogue", "rebuild"]);
    assert_eq!(
        (verdicts().len(), &home.runs()[0]["baselines"]),
        (2, &serde_json::json!(["july"]))
    );
    home.printed(&["baseline", "drop", "july"]);
    let gone = home.command(&["card", "@july"]);
    assert!(
        !gone.status.success() && told(&gone).contains("no baseline"),
        "{}",
        told(&gone)
    );
    assert_eq!(
        (verdicts().len(), &home.runs()[0]["baselines"]),
        (2, &serde_json::json!([]))
    );
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array()
        .unwrap()
        .iter()
        .map(|change| change["name"].as_str().unwrap())
        .collect()
}

#[test]
fn a_card_tells_what_moved_the_number_and_what_did_not() {
    let home = Home::new();
    home.run("a", "mmlu", |_| {});
    home.run("threads", "mmlu", |value| {
        value["timing"]["threads"] = 8.into();
        value["started"] = "2026-11-30T01:00:00+00:00".into();
    });
    home.run("shots", "mmlu", |value| value["settings"]["prompt"]["shots"] = 5.into());
    let difference = |other: &str| home.json(&["card", "a", other, "--json"])["pairs"][0]["difference"].clone();

    let threads = difference("threads");
    // The recorded demo is older than some fields, which stay unknown; the prompts of all rows are proved equal.
    assert_eq!(threads["verdict"], "same_as_far_as_known");
    assert_eq!(
        (names(&threads["moved"]), &threads["same_prompts"]),
        (vec![], &Value::Bool(true))
    );
    assert_eq!(names(&threads["irrelevant"]), ["run.started", "run.threads"]);
    assert!(
        !names(&threads["unknown"])
            .iter()
            .any(|name| name.starts_with("prompt."))
    );

    // A label that the rows disprove moves nothing.
    let shots = difference("shots");
    assert!(names(&shots["moved"]).is_empty(), "{shots}");
    assert!(shots["settled"].as_array().unwrap().contains(&"prompt.shots".into()));

    let printed = home.printed(&["card", "a", "threads"]);
    assert!(
        printed.contains("245 questions, proved equal · prompts proved the same"),
        "{printed}"
    );
    let other = home.command(&["card", "a", "nowhere"]);
    assert!(
        told(&other).contains("nowhere: no such file or folder"),
        "{}",
        told(&other)
    );
}

/// Writes some of a run's rows anew, changed.
fn rewrite(run: &Path, most: usize, change: impl Fn(&mut Record)) {
    let trace = markbook::store::open(run).unwrap();
    let rows: Vec<usize> = (0..trace.rows.len().min(most)).collect();
    let mut records: Vec<Record> = trace
        .texts
        .records(&rows)
        .unwrap()
        .iter()
        .map(|record| (**record).clone())
        .collect();
    records.iter_mut().for_each(change);
    write_records(&run.join("records.parquet"), &records, Order::ByQuestion).unwrap();
}

#[test]
fn rows_prove_other_prompts_and_a_part_of_the_questions_whatever_the_labels_say() {
    let home = Home::new();
    let (a, prompts) = (home.run("a", "mmlu", |_| {}), home.run("prompts", "mmlu", |_| {}));
    let (part, others) = (home.run("part", "mmlu", |_| {}), home.run("others", "mmlu", |_| {}));
    rewrite(&prompts, 999, |record| {
        record.prompt_hash = record.prompt_hash.replace('a', "b")
    });
    rewrite(&part, 100, |_| {});
    rewrite(&others, 999, |record| {
        record.doc_hash = record.doc_hash.chars().rev().collect()
    });
    let difference =
        |other: &Path| home.json(&["card", text(&a), text(other), "--json"])["pairs"][0]["difference"].clone();

    let by_prompts = difference(&prompts);
    assert_eq!(
        (&by_prompts["verdict"], names(&by_prompts["moved"])),
        (&"same_slice_only".into(), vec!["proof.prompts"])
    );
    let by_part = difference(&part);
    assert_eq!(
        (&by_part["verdict"], by_part["common"].as_u64()),
        (&"overlap".into(), Some(100))
    );
    assert_eq!(difference(&others)["verdict"], "not_comparable");
}

/// Every test that starts the program gives it a home of its own: the user's catalogue is never written.
#[test]
fn no_test_writes_into_the_users_catalogue() {
    fn sources(folder: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let below = entries.map(|path| if path.is_dir() { sources(&path) } else { vec![path] });
        below
            .flatten()
            .filter(|path| path.extension().is_some_and(|end| end == "rs"))
            .collect()
    }
    let name = ["CARGO_BIN_EXE", "_markbook"].concat();
    for path in sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")) {
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        for (at, _) in lines.iter().enumerate().filter(|(_, line)| line.contains(&name)) {
            let around = lines[at.saturating_sub(8)..(at + 9).min(lines.len())].join("\n");
            let is_own = around.contains("MARKBOOK_HOME") || around.contains("MARKBOOK_CATALOGUE");
            assert!(
                is_own,
                "{}:{}: the program is started with the user's home",
                path.display(),
                at + 1
            );
        }
    }
}
