//! What is done with a score after the run: tables, gates, plans, reports, figures.

use std::fmt::Write as _;
use std::path::Path;

use markbook::record::Record;
use serde_json::Value;

use crate::program::Bench;

/// A name as a hostile file would have it.
const HOSTILE: &str = "<script>alert(1)</script>|a_b & 50%\u{1b}[2J";

/// So many questions with one attempt each, the first `right` of them right.
fn answered(questions: usize, is_right: impl Fn(usize) -> bool) -> Vec<Record> {
    let record = |at: usize| Record {
        question_id: at as i64,
        benchmark: "mmlu".into(),
        category: if at % 2 == 0 { HOSTILE } else { "law" }.into(),
        subject: "law".into(),
        question: format!("Question {at}?"),
        options: ["one", "two", "three", "four"].map(String::from).to_vec(),
        answer: "B".into(),
        pick: if is_right(at) { "B" } else { "C" }.into(),
        correct: is_right(at),
        doc_hash: format!("{:064x}", (at as u128 + 1) << 64),
        ..Record::default()
    };
    (0..questions).map(record).collect()
}

/// The rows as a JSONL file; gives its path.
fn write(bench: &Bench, name: &str, records: &[Record]) -> String {
    let lines: Vec<String> = records
        .iter()
        .map(|record| serde_json::to_string(record).unwrap())
        .collect();
    let path = bench.path(name);
    std::fs::write(&path, lines.join("\n") + "\n").unwrap();
    path.to_str().unwrap().to_owned()
}

/// Runs it and gives exit code and all that it says.
fn ended(bench: &Bench, words: &[&str]) -> (i32, String) {
    let output = bench.run(words);
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(!text.contains("panicked"), "{text}");
    (output.status.code().unwrap_or(-1), text)
}

#[test]
fn a_gate_tells_by_exit_code_whether_a_run_holds_its_baseline() {
    let bench = Bench::new();
    let old = write(&bench, "old.jsonl", &answered(245, |at| at < 120));
    let baseline = bench.path("ci/july.json");
    let baseline = baseline.to_str().unwrap();
    bench.ok(&[
        "baseline",
        "freeze",
        "july",
        &old,
        "-o",
        baseline,
        "--reason",
        "chosen for the bot",
    ]);
    let gate = |run: &str, more: &[&str]| ended(&bench, &[&["gate", run, "--baseline", baseline], more].concat());
    let (code, text) = gate(&old, &[]);
    assert!(code == 0 && text.starts_with("held"), "{text}");
    // Twelve right rows made wrong, a wrong one made right.
    let lost = write(
        &bench,
        "lost.jsonl",
        &answered(245, |at| (12..120).contains(&at) || at == 200),
    );
    let (code, text) = gate(&lost, &[]);
    assert!(
        code == 3 && text.contains("-4.5 points [-7.5, -1.4]") && text.contains("p 0.003"),
        "{text}"
    );
    let json: Value = serde_json::from_str(&gate(&lost, &["--json"]).1).unwrap();
    assert_eq!((&json["verdict"], &json["exit"]), (&"lost".into(), &3.into()));
    let alarm = write(
        &bench,
        "alarm.jsonl",
        &answered(245, |at| (6..120).contains(&at) || at == 200),
    );
    assert_eq!(gate(&alarm, &[]).0, 4);
    let unsure = write(&bench, "unsure.jsonl", &answered(245, |at| (3..120).contains(&at)));
    assert_eq!((gate(&unsure, &[]).0, gate(&unsure, &["--threshold", "3"]).0), (0, 0));
    let other = write(&bench, "other.jsonl", &answered(500, |at| at % 2 == 0)[250..]);
    let (code, text) = gate(&other, &[]);
    assert!(code == 5 && text.contains("no question is common"), "{text}");
    let half = write(&bench, "half.jsonl", &answered(245, |at| at < 120)[..120]);
    assert!(
        gate(&half, &[])
            .1
            .contains("120 of the baseline's 245 questions are here")
    );
    assert_eq!((gate(&half, &[]).0, gate(&half, &["--common"]).0), (5, 0));
}

#[test]
fn a_baseline_gates_without_the_machine_that_froze_it_unless_it_was_changed() {
    let bench = Bench::new();
    let run = write(&bench, "run.jsonl", &answered(60, |at| at < 30));
    bench.ok(&["baseline", "freeze", "july", &run]);
    let file = bench.path("home/baselines/july.json");
    let other = Bench::new();
    let moved = other.path("july.json");
    std::fs::copy(&file, &moved).unwrap();
    let moved = moved.to_str().unwrap();
    assert_eq!(ended(&other, &["gate", &run, "--baseline", moved]).0, 0);
    let text = std::fs::read_to_string(moved).unwrap();
    std::fs::write(moved, text.replacen(" 1\"", " 0\"", 1)).unwrap();
    let (code, message) = ended(&other, &["gate", &run, "--baseline", moved]);
    assert!(
        code == 1 && message.contains("was changed after it was frozen"),
        "{message}"
    );
    let (code, message) = ended(&bench, &["baseline", "freeze", "july", &run, "--threshold", "3"]);
    assert!(code == 1 && message.contains("--force"), "{message}");
    let forced = bench.told(&["baseline", "freeze", "july", &run, "--threshold", "3", "--force"]);
    assert!(forced.contains("threshold 2.0 -> 3.0"), "{forced}");
    assert!(
        bench.ok(&["baseline", "list"]).lines().count() == 2
            && bench.ok(&["baseline", "show", "july"]).contains("threshold 3.0")
    );
    let (code, message) = ended(&bench, &["gate", &run, "--baseline", "june"]);
    assert!(code == 1 && message.contains("known are july"), "{message}");
    bench.ok(&["baseline", "drop", "july"]);
    assert!(bench.told(&["baseline", "list"]).contains("no baselines yet"));
}

#[test]
fn a_published_value_stands_beside_ours_with_interval_and_what_differs() {
    let bench = Bench::new();
    let run = write(&bench, "qwen.jsonl", &answered(1254, |at| at < 605));
    let table = |value: &str| {
        bench.ok(&[
            "table",
            &run,
            "--published",
            value,
            "--published-how",
            "5-shot, base model",
        ])
    };
    let inside = table("0.475");
    for word in [
        "47.5 ◇",
        "48.2",
        "+0.7",
        "-2.0 to +3.5",
        "1,254",
        "prompt not told",
        "proved by their hashes",
    ] {
        assert!(inside.contains(word), "{word}: {inside}");
    }
    assert!(
        !inside.contains("outside") && table("52").contains("52.0 ◇ outside"),
        "{}",
        table("52")
    );
    let (code, message) = bench.refused(&["table", &run, "--format", "xml"]);
    assert!(code == 2 && message.contains("term, md, csv, latex, json"), "{message}");
}

#[test]
fn hostile_names_come_out_escaped_in_every_form() {
    let bench = Bench::new();
    let run = write(&bench, "run.jsonl", &answered(40, |at| at < 20));
    let other = write(&bench, "other.jsonl", &answered(40, |at| at < 24));
    for (form, escaped) in [
        ("term", "<script>alert(1)</script>|a_b & 50%␛[2J"),
        ("md", "&lt;script&gt;alert(1)&lt;/script&gt;\\|a\\_b &amp; 50%␛\\[2J"),
        (
            "latex",
            "\\textless{}script\\textgreater{}alert(1)\\textless{}/script\\textgreater{}|a\\_b \\& 50\\%",
        ),
        ("json", "<script>alert(1)</script>|a_b & 50%\\u001b[2J"),
    ] {
        let text = bench.ok(&["table", &run, &other, "--categories", "--format", form]);
        assert!(text.contains(escaped) && !text.contains('\u{1b}'), "{form}: {text}");
    }
    for ending in ["html", "md", "json"] {
        let file = bench.path(&format!("r.{ending}"));
        bench.ok(&["report", &run, "-o", file.to_str().unwrap()]);
        let text = std::fs::read_to_string(file).unwrap();
        assert!(
            !text.contains('\u{1b}') && (ending == "json" || !text.contains("<script")),
            "{ending}"
        );
    }
    let figure = bench.ok(&["report", &run, "--figure", "categories", "--ascii"]);
    assert!(figure.is_ascii() && figure.contains("law"), "{figure}");
}

/// Every element that is opened is closed, in the right order.
fn is_balanced(markup: &str) -> Result<(), String> {
    const EMPTY: [&str; 2] = ["meta", "br"];
    let mut open: Vec<&str> = Vec::new();
    for tag in markup.split('<').skip(1).filter(|tag| !tag.starts_with('!')) {
        let (tag, _) = tag.split_once('>').ok_or_else(|| format!("<{tag} does not end"))?;
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
        match (tag.starts_with('/'), tag.ends_with('/') || EMPTY.contains(&name)) {
            (true, _) if open.pop() != Some(name) => return Err(format!("</{name}> closes something else")),
            (false, false) => open.push(name),
            _ => {}
        }
    }
    if open.is_empty() {
        Ok(())
    } else {
        Err(format!("{open:?} stay open"))
    }
}

/// The text of the cells of figures.
fn figures(html: &str) -> Vec<&str> {
    html.split("<td class=\"n\">")
        .skip(1)
        .filter_map(|cell| cell.split('<').next())
        .filter(|cell| !cell.is_empty())
        .collect()
}

/// Whether JSON holds a figure that is read like this.
fn holds(json: &Value, shown: &str) -> bool {
    match json {
        Value::Number(number) => {
            let value = number.as_f64().unwrap();
            let forms = [
                format!("{:.1}", 100.0 * value),
                format!("{:+.1}", 100.0 * value),
                number.to_string(),
            ];
            forms.iter().any(|form| form == shown)
        }
        Value::String(text) => text.contains(shown),
        Value::Array(list) => list.iter().any(|value| holds(value, shown)),
        Value::Object(map) => map.values().any(|value| holds(value, shown)),
        _ => false,
    }
}

/// The contrast of two colours `#rrggbb` or `#rgb` (WCAG 2.2).
fn contrast(one: &str, other: &str) -> f64 {
    let light = |colour: &str| {
        let digits = colour.trim_start_matches('#');
        let part = |at: usize| match digits.len() {
            3 => u8::from_str_radix(&digits[at..=at].repeat(2), 16).unwrap(),
            _ => u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).unwrap(),
        };
        let linear = |at: usize| {
            let value = f64::from(part(at)) / 255.0;
            if value <= 0.04045 {
                value / 12.92
            } else {
                ((value + 0.055) / 1.055).powf(2.4)
            }
        };
        0.2126 * linear(0) + 0.7152 * linear(1) + 0.0722 * linear(2)
    };
    let (one, other) = (light(one), light(other));
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

#[test]
fn a_report_is_one_safe_file_that_says_what_is_known_and_counts_what_is_not() {
    let bench = Bench::new();
    let out = bench.path("mine");
    let out = out.to_str().unwrap();
    bench.ok(&bench.run_words("mmlu", out));
    bench.ok(&["baseline", "freeze", "first", out]);
    let read = |name: &str, more: &[&str]| {
        let file = bench.path(name);
        bench.ok(&[
            &[
                "report",
                out,
                "--baseline",
                "first",
                "-o",
                file.to_str().unwrap(),
                "--confirm",
                "lawful=licence <read>",
            ],
            more,
        ]
        .concat());
        std::fs::read_to_string(file).unwrap()
    };
    let html = read("report.html", &["--published", "0.475"]);
    assert!(html.starts_with("<!DOCTYPE html>") && !html.contains("http") && !html.contains("<script"));
    assert!(html.len() < 300_000, "{} bytes", html.len());
    is_balanced(&html).unwrap();
    for part in 1..=10 {
        assert!(html.contains(&format!("<h2 id=\"part-{part}\">{part} ")), "part {part}");
    }
    for word in [
        "checklist: ",
        "of 10 items; missing: ",
        "licence &lt;read&gt;",
        "markbook run --model",
        "gate against @first: held",
        "not known: model.revision",
    ] {
        assert!(html.contains(word), "{word}");
    }
    let json: Value = serde_json::from_str(&read("report.json", &["--published", "0.475"])).unwrap();
    for figure in figures(&html) {
        let parts = figure
            .split([' ', '◇'])
            .filter(|part| part.bytes().any(|byte| byte.is_ascii_digit()));
        for part in parts {
            assert!(
                holds(&json, &part.replace(',', "")) || holds(&json, part),
                "{part} of {figure} is not in the JSON"
            );
        }
    }
    let markdown = read("report.md", &[]);
    assert!(markdown.contains("](report-categories.svg)") && bench.path("report-categories.svg").exists());
    let schemes = html
        .match_indices(":root{")
        .map(|(at, _)| html[at..].split('}').next().unwrap());
    for scheme in schemes {
        let colour = |name: &str| {
            scheme
                .split(&format!("--{name}:"))
                .nth(1)
                .unwrap()
                .split([';', '}'])
                .next()
                .unwrap()
        };
        for (text, ground) in [
            ("ink", "ground"),
            ("soft", "ground"),
            ("link", "ground"),
            ("ink", "shade"),
            ("warn", "warnground"),
        ] {
            assert!(
                contrast(colour(text), colour(ground)) >= 4.5,
                "{text} on {ground} of {scheme}"
            );
        }
    }
    let (code, message) = bench.refused(&[
        "report",
        out,
        "-o",
        bench.path("x.html").to_str().unwrap(),
        "--confirm",
        "legal=x",
    ]);
    assert!(code == 2 && message.contains("lawful"), "{message}");
    assert!(
        bench
            .refused(&["report", out, "-o", bench.path("report.html").to_str().unwrap()])
            .1
            .contains("--force")
    );
}

/// Two builds of one model, and one with another prompt style: the story of who must decide on a build.
#[test]
fn a_gate_holds_two_builds_of_a_model_together_and_names_the_prompt_style_that_parts_them() {
    let bench = Bench::new();
    let run = |name: &str, more: &[&str]| {
        let out = bench.path(name).to_str().unwrap().to_owned();
        bench.ok(&[&bench.run_words("mmlu", &out)[..], &["--limit", "30"], more].concat());
        out
    };
    let f32 = run("f32", &["--dtype", "f32"]);
    let bf16 = run("bf16", &["--dtype", "bf16"]);
    let styled = run("styled", &["--dtype", "f32", "--style", "question"]);
    let runs: Value = serde_json::from_str(&bench.ok(&["runs", "--json"])).unwrap();
    assert_eq!(
        runs["runs"].as_array().unwrap().len(),
        3,
        "each is entered when it ends"
    );

    bench.ok(&["baseline", "freeze", "first", &f32]);
    let (code, text) = ended(&bench, &["gate", &bf16, "--baseline", "first", "--threshold", "40"]);
    assert!(code == 0 && text.starts_with("held"), "{text}");
    assert!(
        text.contains("same procedure and slice") && text.contains("engine.dtype f32 -> bf16"),
        "{text}"
    );
    let (code, text) = ended(&bench, &["gate", &styled, "--baseline", "first"]);
    assert!(code == 5 && text.contains("prompt.style lm_eval -> question"), "{text}");
    let table = bench.ok(&[
        "table",
        &f32,
        &bf16,
        &styled,
        "--published",
        "0.31",
        "--published-how",
        "5-shot",
    ]);
    assert!(
        table.contains("shots 5 -> 0") && table.contains("prompt.style"),
        "{table}"
    );
    let beside = bench.ok(&["table", &f32, &bf16, "--categories"]);
    assert!(
        beside.contains("f32 (") && beside.contains("bf16 ("),
        "equal names are told apart: {beside}"
    );

    // A stranger has the report alone.
    let report = bench.path("report.md");
    bench.ok(&["report", &bf16, "-o", report.to_str().unwrap()]);
    let report = std::fs::read_to_string(report).unwrap();
    let command = report.lines().find(|line| line.starts_with("markbook run ")).unwrap();
    let again = bench.path("again").to_str().unwrap().to_owned();
    let words: Vec<&str> = command.split(' ').skip(1).chain(["--plain", "--out", &again]).collect();
    bench.ok(&words);
    let rows = |run: &str| crate::program::rows(&bench, Path::new(run));
    assert_eq!(rows(&again), rows(&bf16));
    let card = bench.ok(&["card", &bf16, &again]);
    assert!(card.contains("same procedure · 30 questions, proved equal"), "{card}");
}

#[test]
fn figures_are_the_same_bytes_twice_and_valid_alone() {
    let bench = Bench::new();
    let run = write(&bench, "run.jsonl", &answered(80, |at| at % 3 == 0));
    for name in ["categories", "letters", "course", "runs"] {
        let draw = |file: &str| {
            let path = bench.path(file);
            bench.ok(&[
                "report",
                &run,
                "--figure",
                name,
                "-o",
                path.to_str().unwrap(),
                "--force",
            ]);
            std::fs::read_to_string(Path::new(&path)).unwrap()
        };
        let svg = draw("one.svg");
        assert_eq!(svg, draw("two.svg"), "{name}");
        is_balanced(&svg).unwrap();
        assert!(
            svg.contains("<title id=") && svg.contains("<desc id=") && !svg.contains("<script"),
            "{name}"
        );
    }
    let (code, message) = bench.refused(&["report", &run, "--figure", "pie"]);
    assert!(code == 2 && message.contains("categories"), "{message}");
    assert!(
        bench
            .refused(&["report", &run, "--figure", "seeds"])
            .1
            .contains("the rows tell nothing of seeds")
    );
}

#[test]
fn a_plan_tells_what_the_exam_in_hand_can_see() {
    let bench = Bench::new();
    let plan = bench.ok(&["plan", "--see", "2", "--questions", "1254"]);
    assert!(
        plan.contains("1,955") && plan.contains("least seen on 1,254") && plan.contains("57.9 %"),
        "{plan}"
    );
    let a = write(&bench, "a.jsonl", &answered(200, |at| at < 100));
    let b = write(&bench, "b.jsonl", &answered(200, |at| (20..110).contains(&at)));
    let json: Value = serde_json::from_str(&bench.ok(&["plan", "--like", &a, &b, "--json"])).unwrap();
    assert_eq!(json["lines"][0]["discordant"], 0.15);
    let mut list = String::new();
    let _ = write!(list, "{}", bench.refused(&["plan", "--like", &a]).1);
    assert!(list.contains("one attempt a question"), "{list}");
}
