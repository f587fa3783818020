//! One way of counting: the same rows give the same digits wherever they are shown.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use markbook::record::{Finish, INVALID, Record};
use markbook::run::{Exam, Update};
use markbook::trace::{GrowingTexts, Memory, Trace};
use markbook::tui::{ColorChoice, Options, Script};
use serde_json::Value;

use crate::cases;
use crate::screens::{LARGE, SMALL, plain};
use crate::sitting::Keeper;

/// An answer to a question of four options whose gold is B.
fn answer(exam: &str, category: &str, id: i64, attempt: i64, pick: &str) -> Record {
    let reasoning = match pick {
        INVALID => "who knows".to_owned(),
        pick => format!("attempt {attempt}: the answer is ({pick})"),
    };
    Record {
        question_id: id,
        attempt,
        benchmark: exam.into(),
        category: category.into(),
        subject: category.into(),
        question: format!("Question {id} of {exam}?"),
        prompt: format!("Question {id} of {exam}?\nAnswer:"),
        options: ["one", "two", "three", "four"].map(String::from).to_vec(),
        pick: pick.into(),
        answer: "B".into(),
        correct: pick == "B",
        reasoning_chars: reasoning.chars().count() as i64,
        reasoning,
        doc_hash: format!("{:08x}{:08x}", exam.len(), id + 1),
        finish: Some(Finish::Eos),
        ..Record::default()
    }
}

const CATEGORIES: [&str; 3] = ["law", "math", "physics"];

/// Questions with so many attempts each, of which so many are right; the first wrong one is unreadable.
fn attempts(exam: &str, of_each: &[(i64, i64)]) -> Vec<Record> {
    let question = |(id, (all, right)): (usize, &(i64, i64))| {
        let category = CATEGORIES[id % CATEGORIES.len()];
        let (all, right) = (*all, *right);
        (0..all).map(move |attempt| {
            let pick = match attempt - right {
                ..0 => "B",
                0 => INVALID,
                _ => ["A", "C", "D"][attempt as usize % 3],
            };
            answer(exam, category, id as i64, attempt, pick)
        })
    };
    of_each.iter().enumerate().flat_map(question).collect()
}

/// Rows to be counted, and which of them.
struct Shape {
    name: &'static str,
    records: Vec<Record>,
    filter: &'static str,
}

fn shapes() -> Vec<Shape> {
    let all = |name, records| Shape {
        name,
        records,
        filter: "",
    };
    let spread: Vec<(i64, i64)> = (0..24).map(|id| (5, id * 7 % 6)).collect();
    let mut by_attempt = attempts("mmlu_pro", &spread);
    by_attempt.sort_by_key(|record| (record.attempt, record.question_id * 5 % 24));
    let mut straddling = attempts("mmlu_pro", &spread);
    for record in straddling.iter_mut().filter(|record| record.attempt > 2) {
        record.category = "other".into();
        record.subject = "other".into();
    }
    let two: Vec<Record> = [
        attempts("mmlu", &[(1, 1), (1, 0), (1, 0)]),
        attempts("mmlu_pro", &spread),
    ]
    .concat();
    let picks = |pick: &str| (0..12).map(|id| answer("mmlu", "law", id, 0, pick)).collect::<Vec<_>>();
    let filtered = |name, records, filter| Shape { name, records, filter };
    vec![
        all(
            "one attempt",
            attempts("mmlu", &[(1, 1), (1, 0), (1, 0), (1, 1), (1, 0), (1, 0), (1, 1)]),
        ),
        all("five attempts", attempts("mmlu_pro", &spread)),
        all("as many right of each question", attempts("mmlu_pro", &[(5, 3); 30])),
        all(
            "all right or none",
            attempts("mmlu_pro", &[[(5, 5); 10], [(5, 0); 10]].concat()),
        ),
        all("one question", attempts("mmlu_pro", &[(5, 3)])),
        all("one row", attempts("mmlu", &[(1, 0)])),
        all(
            "attempts uneven in number",
            attempts("mmlu_pro", &[(1, 1), (7, 2), (3, 0), (2, 2), (5, 4)]),
        ),
        all("rows by attempt, in any order", by_attempt),
        all("questions whose attempts are of two categories", straddling),
        all("two exams with the same ids", two.clone()),
        all("invalid only", picks(INVALID)),
        all("all right", picks("B")),
        all(
            "one of five right once",
            attempts("mmlu_pro", &[(5, 0), (5, 0), (5, 1), (5, 0)]),
        ),
        filtered("a category", attempts("mmlu_pro", &spread), "cat:law"),
        filtered("an exam of two", two.clone(), "exam:mmlu_pro"),
        filtered("a category of two exams", two, "cat:math"),
        filtered(
            "attempts of some questions",
            attempts("mmlu_pro", &spread),
            "at:0-1 q:3-20",
        ),
        filtered("nothing", attempts("mmlu_pro", &spread), "q:99999"),
    ]
}

fn markbook(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_markbook"))
        .args(arguments)
        .current_dir(folder)
        .env("MARKBOOK_HOME", folder.join("home"))
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// The rows as a file of its own.
fn written(folder: &Path, name: &str, records: &[Record]) -> PathBuf {
    let lines = records
        .iter()
        .map(|record| serde_json::to_string(record).unwrap() + "\n");
    let path = folder.join(name);
    std::fs::write(&path, lines.collect::<String>()).unwrap();
    path
}

/// Accuracy and its limits as every screen prints them; `None`: nothing was counted.
#[derive(Debug, PartialEq)]
struct Figure {
    exam: String,
    accuracy: String,
    low: String,
    high: String,
}

impl Figure {
    fn brackets(&self) -> String {
        format!("[{}, {}]", self.low, self.high)
    }

    fn span(&self) -> String {
        format!("{}-{}", self.low, self.high)
    }
}

/// What `stats --json` tells of each exam.
fn figures(runs: &Value) -> Vec<Figure> {
    let points = |value: &Value| value.as_f64().map(|share| format!("{:.1}", share * 100.0));
    let figure = |run: &Value| {
        Some(Figure {
            exam: run["benchmark"].as_str()?.to_owned(),
            accuracy: points(&run["accuracy"])?,
            low: points(&run["ci95"][0])?,
            high: points(&run["ci95"][1])?,
        })
    };
    runs["runs"].as_array().unwrap().iter().filter_map(figure).collect()
}

fn trace(name: &str, records: &[Record]) -> Trace {
    Trace::from_records(name, "test", records.to_vec())
}

/// Keys that type a filter.
fn typed(filter: &str) -> String {
    if filter.is_empty() {
        return String::new();
    }
    format!("/{filter}<enter>")
}

/// Whether Browse shows the figures: in its title and at the head of pane 1, or, under a filter, in pane 1.
fn check_browse(shape: &Shape, figures: &[Figure]) {
    let several = shape
        .records
        .iter()
        .any(|record| record.benchmark != shape.records[0].benchmark);
    for size in [LARGE, SMALL] {
        let mut script = Script::open(vec![trace("a", &shape.records)], size, &plain()).unwrap();
        let screen = script.keys(&typed(shape.filter)).screen();
        let title = screen.lines().next().unwrap();
        for figure in figures.iter().filter(|_| shape.filter.is_empty()) {
            let name = if several { &figure.exam } else { "correct" };
            let expected = format!("{name} {}%", figure.accuracy);
            assert!(title.contains(&expected), "{}: no {expected} in\n{screen}", shape.name);
            let expected = figure.brackets();
            let has_limits = several || size == SMALL || title.contains(&expected);
            assert!(has_limits, "{}: no {expected} in\n{screen}", shape.name);
        }
        if size == SMALL {
            continue;
        }
        for figure in figures {
            // Under a category's word the pane still tells of all categories; the chosen one has a bar for its interval.
            let (name, expected) = match shape.filter.strip_prefix("cat:") {
                Some(category) => (category, format!(" {} ", figure.accuracy)),
                None if several => (&*figure.exam, format!(" {} {}", figure.accuracy, figure.span())),
                None => ("all", format!(" {} {}", figure.accuracy, figure.span())),
            };
            let mut lines = screen.lines().filter(|line| {
                let mut words = line.trim_start_matches(['│', ' ', '●']).split_whitespace();
                words.next() == Some(name)
            });
            assert!(
                lines.any(|line| line.contains(&expected)),
                "{}: no {expected} of {name} in\n{screen}",
                shape.name
            );
        }
        if figures.len() > 1 {
            let line = screen.lines().find(|line| line.starts_with(" all ")).unwrap();
            assert!(line.contains(" - "), "{}: {line}", shape.name);
        }
    }
}

/// A run in which these rows land, as the live screens show it.
fn live(records: &[Record]) -> Script {
    let mut exams: Vec<Exam> = Vec::new();
    for record in records {
        let at = exams.iter().position(|exam| exam.benchmark == record.benchmark);
        let exam = at.unwrap_or_else(|| {
            exams.push(Exam {
                benchmark: record.benchmark.clone(),
                method: "a test".into(),
                is_cloze: false,
                questions: 0,
                rows: 0,
                seeds: Vec::new(),
                subjects: Vec::new(),
                resumed: 0,
                path: format!("runs/{}", record.benchmark).into(),
            });
            exams.len() - 1
        });
        let exam = &mut exams[exam];
        exam.rows += 1;
        exam.questions = exam.questions.max(record.question_id as usize + 1);
        let attempts = (record.attempt as usize + 1).max(exam.seeds.len());
        if attempts > 1 {
            exam.seeds = (42..).take(attempts).collect();
        }
        match exam.subjects.iter_mut().find(|(name, ..)| *name == record.category) {
            Some((.., rows)) => *rows += 1,
            None => exam.subjects.push((record.category.clone(), record.subject.clone(), 1)),
        }
    }
    let mut script = Script::live(LARGE, &plain());
    let places: Vec<String> = exams.iter().map(|exam| exam.benchmark.clone()).collect();
    let mut keeper = Keeper::default();
    script.hear(keeper.keep(Update::Started {
        model: "tiny".into(),
        dtype: "f32".into(),
        exams,
        texts: Vec::new(),
    }));
    for record in records {
        script.hear(keeper.keep(Update::Landed {
            exam: places.iter().position(|name| *name == record.benchmark).unwrap(),
            record: Arc::new(record.clone()),
        }));
    }
    script
}

fn check_compare(shape: &Shape, figures: &[Figure], folder: &Path) {
    // In Compare `/` finds; the slice is chosen before.
    if !shape.filter.is_empty() {
        return;
    }
    let (a, b) = (trace("left", &shape.records), trace("right", &shape.records));
    let mut script = Script::open(vec![a, b], LARGE, &plain()).unwrap();
    let screen = script.keys(&typed(shape.filter)).screen();
    let sides = if figures.len() == 1 {
        format!("{}%", figures[0].accuracy)
    } else {
        let exams = figures
            .iter()
            .map(|figure| format!("{} {}%", figure.exam, figure.accuracy));
        exams.collect::<Vec<_>>().join(" ")
    };
    for (side, name) in [("A", "left"), ("B", "right")] {
        let expected = format!("{side} {name} {sides}");
        assert!(screen.contains(&expected), "{}: no {expected} in\n{screen}", shape.name);
    }
    let (left, right) = (
        written(folder, "left.jsonl", &shape.records),
        written(folder, "right.jsonl", &shape.records),
    );
    let (left, right) = (left.to_str().unwrap(), right.to_str().unwrap());
    let report: Value = serde_json::from_str(&markbook(folder, &["compare", left, right, "--json"])).unwrap();
    assert_eq!(report["difference"].is_null(), figures.len() > 1, "{}", shape.name);
    let is_one = screen.contains("A - B   ");
    assert_eq!(is_one, figures.len() == 1, "{}:\n{screen}", shape.name);
    for side in ["a", "b"] {
        let side = &report[side];
        let runs: Vec<Value> = match side["exams"].as_object() {
            Some(exams) if !exams.is_empty() => exams
                .iter()
                .map(|(exam, sum)| {
                    let mut run = sum.clone();
                    run["benchmark"] = exam.as_str().into();
                    run
                })
                .collect(),
            _ => vec![serde_json::json!({
                "benchmark": figures[0].exam, "accuracy": side["accuracy"], "ci95": side["ci95"],
            })],
        };
        assert_eq!(
            self::figures(&serde_json::json!({ "runs": runs })),
            figures,
            "{}",
            shape.name
        );
    }
}

#[test]
fn the_same_rows_give_the_same_digits_on_every_screen_in_every_table_and_file() {
    for shape in shapes() {
        let folder = tempfile::tempdir().unwrap();
        let path = written(folder.path(), "rows.jsonl", &shape.records);
        let path = path.to_str().unwrap();
        let json = markbook(folder.path(), &["stats", path, "-f", shape.filter, "--json"]);
        let figures = figures(&serde_json::from_str(&json).unwrap());
        assert_eq!(figures.is_empty(), shape.name == "nothing", "{}: {json}", shape.name);
        for command in ["stats", "open"] {
            let table = markbook(folder.path(), &[command, path, "-f", shape.filter]);
            for figure in &figures {
                let expected = format!("accuracy {}% [{}]", figure.accuracy, figure.span());
                assert!(table.contains(&expected), "{}: no {expected} in\n{table}", shape.name);
            }
            let tells_nothing = table.contains("accuracy –% [-]");
            assert_eq!(tells_nothing, figures.is_empty(), "{}: {table}", shape.name);
        }
        check_browse(&shape, &figures);
        if figures.is_empty() {
            continue;
        }
        check_compare(&shape, &figures, folder.path());
        if shape.filter.is_empty() {
            let screen = live(&shape.records).screen();
            for figure in &figures {
                let expected = format!("accuracy {}% {}", figure.accuracy, figure.brackets());
                assert!(screen.contains(&expected), "{}: no {expected} in\n{screen}", shape.name);
            }
        }
    }
}

/// The records of a case: `right_of_each` of so many attempts, or a list of picks and golds.
fn records_of(case: &Value) -> Vec<Record> {
    let rows = &case["rows"];
    if let Some(right) = rows["right_of_each"].as_array() {
        let all = rows["attempts"].as_i64().unwrap();
        let of_each: Vec<(i64, i64)> = right.iter().map(|right| (all, right.as_i64().unwrap())).collect();
        return attempts("mmlu_pro", &of_each);
    }
    let record = |row: &Value| {
        let number = |name: &str| row[name].as_i64().unwrap_or(0);
        let text = |name: &str| row[name].as_str().unwrap_or_default();
        let mut record = answer(
            "mmlu_pro",
            "law",
            number("question_id"),
            number("attempt"),
            text("pick"),
        );
        record.answer = text("answer").into();
        record.correct = record.pick == record.answer;
        record.seed = row["seed"].as_i64();
        record
    };
    rows.as_array().unwrap().iter().map(record).collect()
}

fn near(found: &Value, expected: &Value) -> bool {
    match (found.as_f64(), expected.as_f64()) {
        (Some(found), Some(expected)) => (found - expected).abs() < 1e-12,
        _ => found == expected,
    }
}

#[test]
fn cases_of_intervals_errors_votes_and_labels_hold() {
    for case in cases("fidelity.jsonl") {
        let kind = case["kind"].as_str().unwrap();
        if !["stats/interval", "stats/stderr", "seeds/majority", "seeds/labels"].contains(&kind) {
            continue;
        }
        let shape = Shape {
            name: "a case",
            records: records_of(&case),
            filter: "",
        };
        let folder = tempfile::tempdir().unwrap();
        let path = written(folder.path(), "rows.jsonl", &shape.records);
        let path = path.to_str().unwrap();
        let json: Value = serde_json::from_str(&markbook(folder.path(), &["stats", path, "--json"])).unwrap();
        let (run, expected) = (&json["runs"][0], &case["expected"]);
        check_browse(&shape, &figures(&json));
        for key in ["accuracy", "majority", "vote", "any", "ties"] {
            let holds = expected.get(key).is_none_or(|expected| near(&run[key], expected));
            assert!(holds, "{key} {}: {case}", run[key]);
        }
        if let Some(stderr) = expected.get("clustered_stderr") {
            assert!(
                near(&run["clustered_stderr"], stderr),
                "{}: {case}",
                run["clustered_stderr"]
            );
            assert_eq!(run["stderr_kind"], "clustered");
        }
        if expected
            .get("stderr_times_1.96_fits_the_interval_or_is_named_otherwise")
            .is_some()
        {
            let number = |value: &Value| value.as_f64().unwrap();
            let half = (number(&run["ci95"][1]) - number(&run["ci95"][0])) / 2.0;
            assert!(
                (1.96 * number(&run["stderr"]) / half - 1.0).abs() < 0.15,
                "{half}: {case}"
            );
        }
        if let Some(labels) = expected["labels"].as_array() {
            let found: Vec<&String> = run["seeds"].as_object().unwrap().keys().collect();
            assert_eq!(
                found,
                labels.iter().map(|label| label.as_str().unwrap()).collect::<Vec<_>>()
            );
            let table = markbook(folder.path(), &["stats", path]);
            assert!(!table.contains("seeds") && table.contains("attempts 0 "), "{table}");
        }
    }
}

#[test]
fn seeds_are_shown_where_the_file_knows_them_and_attempts_or_epochs_where_not() {
    for case in cases("reports.jsonl") {
        if !case["kind"].as_str().unwrap().starts_with("seeds/") {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        for file in case["files"].as_array().unwrap() {
            let text = file["content"].as_str().unwrap();
            std::fs::write(folder.path().join(file["name"].as_str().unwrap()), text).unwrap();
        }
        let command: Vec<&str> = case["command"].as_str().unwrap().split(' ').skip(1).collect();
        let table = markbook(folder.path(), &command);
        let line = table
            .lines()
            .find(|line| line.trim_start().starts_with("epochs"))
            .unwrap();
        let labels: Vec<&str> = line.split_whitespace().skip(1).step_by(2).collect();
        assert_eq!(labels, ["1", "2", "3"], "{table}");
        assert!(!table.contains("seeds"), "{table}");
    }
    let of = |seed: fn(i64) -> Option<i64>| {
        let mut records = attempts("mmlu_pro", &[(5, 2), (5, 1)]);
        records.iter_mut().for_each(|record| record.seed = seed(record.attempt));
        let folder = tempfile::tempdir().unwrap();
        let path = written(folder.path(), "rows.jsonl", &records);
        markbook(folder.path(), &["stats", path.to_str().unwrap()])
    };
    let folder = tempfile::tempdir().unwrap();
    for (seed, record) in [
        (8, answer("mmlu", "law", 1, 0, "B")),
        (9, answer("mmlu", "law", 1, 0, "A")),
    ] {
        let named = folder.path().join(format!("run/seed-{seed}"));
        std::fs::create_dir_all(&named).unwrap();
        written(&named, "rows.jsonl", &[record]);
    }
    let table = markbook(folder.path(), &["stats", "run"]);
    assert!(table.contains("seeds    8 100.0   9 0.0"), "{table}");
    let known = of(|attempt| Some(7 + attempt));
    assert!(known.contains("seeds    7 100.0   8 50.0   9 0.0"), "{known}");
    for table in [
        of(|_| None),
        of(|_| Some(7)),
        of(|attempt| (attempt < 4).then_some(7 + attempt)),
    ] {
        assert!(table.contains("attempts 0 100.0   1 50.0   2 0.0"), "{table}");
    }
}

#[test]
fn the_recorded_demo_has_one_interval_and_a_figure_for_each_exam() {
    let folder = tempfile::tempdir().unwrap();
    let table = markbook(folder.path(), &["open"]);
    // Of each exam: accuracy and limits in the table.
    let exams: BTreeMap<&str, (&str, &str)> = table
        .split("\n\n")
        .filter_map(|part| {
            let exam = part.lines().next()?.rsplit(' ').next()?;
            let figures = part.split("accuracy ").nth(1)?;
            let (accuracy, rest) = figures.split_once("% [")?;
            Some((exam, (accuracy, rest.split(']').next()?)))
        })
        .collect();
    assert_eq!(exams.keys().collect::<Vec<_>>(), [&"mmlu", &"mmlu_pro"], "{table}");
    for size in ["120x40", "80x24"] {
        let screen = markbook(folder.path(), &["open", "--print", "--size", size]);
        let title = screen.lines().next().unwrap();
        assert!(!title.contains("correct"), "{title}");
        for (exam, (accuracy, limits)) in &exams {
            assert!(title.contains(&format!("{exam} {accuracy}%")), "{title}");
            let is_shown = size == "80x24" || screen.contains(&format!("{accuracy} {limits}"));
            assert!(is_shown, "{exam} {accuracy} {limits}:\n{screen}");
        }
    }
}

#[test]
fn a_mean_over_categories_says_over_how_many() {
    let records = attempts("mmlu_pro", &[(5, 3), (5, 1), (5, 0)]);
    let (first, rest) = records.split_at(5);
    let mut script = live(&records);
    script.keys(":weight<enter>");
    assert!(script.screen().contains("mean of 3 categories"), "{}", script.screen());
    // As if the categories of the rest were still to come.
    let mut script = Script::live(LARGE, &plain());
    script.hear(Update::Started {
        model: "tiny".into(),
        dtype: "f32".into(),
        exams: vec![Exam {
            benchmark: "mmlu_pro".into(),
            method: "a test".into(),
            is_cloze: false,
            questions: 3,
            rows: 15,
            seeds: (42..47).collect(),
            subjects: CATEGORIES.map(|name| (name.into(), name.into(), 5)).to_vec(),
            resumed: 0,
            path: "runs/mmlu_pro".into(),
        }],
        texts: vec![GrowingTexts(Arc::new(Memory::new(records.clone())))],
    });
    for record in first.iter().chain(&rest[..5]) {
        script.hear(Update::Landed {
            exam: 0,
            record: Arc::new(record.clone()),
        });
    }
    script.keys(":weight<enter>");
    let screen = script.screen();
    assert!(screen.contains("accuracy 40.0%, mean of 2 of 3 categories"), "{screen}");
    assert!(screen.contains("vote 50.0") && !screen.contains("majority"), "{screen}");
}

#[test]
fn a_share_of_rows_is_never_drawn_as_an_accuracy() {
    let records = attempts("mmlu_pro", &[(5, 3), (5, 1), (5, 0)]);
    for (keys, outcome) in [("i", "invalid"), ("w", "wrong"), ("o", "right")] {
        let mut script = Script::open(vec![trace("a", &records)], LARGE, &plain()).unwrap();
        let screen = script.keys(keys).screen();
        assert!(screen.contains(&format!("1 Categories · share {outcome}")), "{screen}");
        let law = screen.lines().find(|line| line.starts_with(" law ")).unwrap();
        assert!(law.contains(" 60.0 "), "its accuracy stays beside it: {law}");
        assert!(!law.contains('▒') && !law.contains('▓'), "no interval: {law}");
    }
    let bar = |keys: &str| {
        let options = Options {
            color: ColorChoice::Always,
            ..plain()
        };
        let mut script = Script::open(vec![trace("a", &records)], LARGE, &options).unwrap();
        let buffer = script.keys(keys).buffer();
        let cells = (3..7).flat_map(|y| (0..35).map(move |x| (x, y)));
        let full = cells.filter(|place| buffer[*place].symbol() == "█");
        full.map(|place| buffer[place].fg).collect::<Vec<_>>()
    };
    let right = bar("");
    for keys in ["i", "w", "o"] {
        let share = bar(keys);
        assert!(
            !share.is_empty() && share.iter().all(|color| !right.contains(color)),
            "{keys}: {share:?}"
        );
    }
}
