//! Two runs on the same questions, held against each other.

use std::process::Command;

use insta::assert_snapshot;
use markbook::record::{INVALID, Record};
use markbook::trace::Trace;
use markbook::tui::Script;

use crate::screens::{LARGE, SMALL, plain, sampled};

/// Questions 100 to 111, five attempts each; `run` tells how it answers.
fn run(name: &str, run: i64) -> Trace {
    let mut records: Vec<Record> = Vec::new();
    for id in 100..112 {
        for attempt in 0..5 {
            let mut record = sampled(id, attempt);
            match (id + attempt * run) % 4 {
                0 => {
                    record.pick.clone_from(&record.answer);
                    record.reasoning = format!(
                        "We look at the cases one by one, and in the same words. Run {run}: the answer is ({}).",
                        record.answer
                    );
                }
                1 => {
                    record.pick = INVALID.into();
                    record.reasoning =
                        format!("We look at the cases one by one, and in the same words. Run {run} ends");
                }
                _ => {}
            }
            record.reasoning_chars = record.reasoning.chars().count() as i64;
            record.correct = record.pick == record.answer;
            if run == 2 && id == 105 {
                record.doc_hash = "0123456789abcdef".into();
                record.question = record.question.replace("every case", "some case");
                record.options[1] = "no case at all".into();
                record.answer = "A".into();
                record.prompt = record.prompt.replace("every case", "some case");
            }
            records.push(record);
        }
    }
    Trace::from_records(name, "markbook run", records)
}

fn two_runs(size: (u16, u16)) -> Script {
    Script::open(vec![run("Llama-8B", 1), run("Qwen-7B", 2)], size, &plain()).unwrap()
}

fn screen(keys: &str, size: (u16, u16)) -> String {
    two_runs(size).keys(keys).screen()
}

#[test]
fn two_runs_open_side_by_side_and_are_never_joined_as_attempts() {
    assert_snapshot!("compare", screen("", LARGE));
    assert_snapshot!("compare_small", screen("", SMALL));
    let browse = screen("<esc>", LARGE);
    assert!(browse.contains("60 of 60 · 12 questions"), "{browse}");
}

#[test]
fn lists_follow_their_key_the_filter_and_the_order() {
    assert_snapshot!("compare_b_only", screen("<tab>jj", LARGE));
    let filtered = screen(":filter cat:math<enter>", LARGE);
    assert!(filtered.contains("in «cat:math»"), "{filtered}");
    let count = |keys: &str| -> usize {
        let screen = screen(keys, LARGE);
        let title = screen.lines().find(|line| line.contains(" A ok, B wrong")).unwrap();
        let number = title.split("wrong").nth(1).unwrap().trim_start();
        number.split_whitespace().next().unwrap().parse().unwrap()
    };
    let all = count("");
    let parts = ["law", "math", "computer"].map(|name| count(&format!(":filter cat:{name}<enter>")));
    assert_eq!(parts.iter().sum::<usize>(), all);
    assert_eq!(count(":filter b-only<enter>"), 0);
    assert_eq!(count(":filter a-only<enter>"), all);
    assert_eq!(
        count(":filter changed<enter>"),
        0,
        "changed questions are never compared"
    );
}

#[test]
fn words_about_two_runs_choose_rows_in_browse_too() {
    let count = |word: &str| {
        let screen = screen(&format!("<esc>/{word}<enter>"), LARGE);
        let line = screen.lines().nth(1).unwrap().to_owned();
        let number = line.split(" of ").next().unwrap().rsplit(' ').next().unwrap();
        number.parse::<usize>().unwrap()
    };
    assert_eq!(count("changed"), 5);
    assert_eq!(count("gold-changed"), 5);
    assert!(count("a-only") > 0 && count("b-only") > 0);
    assert!(count("other-pick") >= count("a-only") + count("b-only"));
}

#[test]
fn runs_change_places_and_back() {
    let mut script = two_runs(LARGE);
    script.keys("jj");
    let before = script.screen();
    script.keys("X");
    let swapped = script.screen();
    assert!(swapped.contains(" A Qwen-7B"), "{swapped}");
    assert!(
        swapped.contains("B ok, A wrong"),
        "the same pairs, seen from the other side: {swapped}"
    );
    script.keys("X");
    assert_eq!(script.screen(), before);
}

#[test]
fn changed_questions_are_listed_with_what_changed() {
    assert_snapshot!("compare_changed", screen("x", LARGE));
    assert_eq!(screen("x<esc>", LARGE), screen("", LARGE));
}

#[test]
fn texts_are_one_with_its_differences_folded_and_their_prompts_held_against_each_other() {
    assert_snapshot!("compare_difference", screen("=", LARGE));
    // Some pair of the list begins alike.
    let folded = (0..7)
        .map(|down| "j".repeat(down))
        .find(|keys| screen(keys, LARGE).contains("(same for"));
    let keys = folded.expect("two texts of the list begin alike");
    assert!(!screen(&format!("{keys}z"), LARGE).contains("(same for"));
    assert!(
        screen("p", LARGE).contains("the prompts are the same"),
        "{}",
        screen("p", LARGE)
    );
    let other = screen("l", SMALL);
    assert!(other.contains("━ B · ") && other.contains("(h: "), "{other}");
}

#[test]
fn a_pair_opens_is_marked_and_comes_back() {
    let mut script = two_runs(LARGE);
    script.keys("jm<enter>");
    assert!(script.screen().contains(" Q1"), "{}", script.screen());
    assert!(script.screen().lines().next().unwrap().contains("· marked"));
    script.keys("<esc>");
    assert!(script.screen().contains(" A Llama-8B"), "{}", script.screen());
}

#[test]
fn pairs_are_exported_with_both_rows() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pairs.jsonl");
    let mut script = two_runs(LARGE);
    script.keys("e");
    assert!(script.screen().contains("pairs of this list"), "{}", script.screen());
    script.keys(&format!("<^u>{}<enter>", path.display()));
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(
        script
            .screen()
            .contains(&format!("{} pairs written", text.lines().count()))
    );
    for line in text.lines() {
        let pair: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(pair["outcome"], "a_only");
        assert_eq!(pair["a"]["question_id"], pair["b"]["question_id"]);
        assert_eq!(pair["a"]["correct"], true);
    }
}

#[test]
fn another_run_is_chosen_or_opened_from_browse() {
    let mut script = Script::open(vec![run("Llama-8B", 1)], LARGE, &plain()).unwrap();
    let mut other = run("Qwen-7B", 2);
    other.path = Some("runs/other.parquet".into());
    script.files = vec![other];
    script.keys(":compare runs/other.parquet<enter>");
    assert!(script.screen().contains("B Qwen-7B"), "{}", script.screen());
    script.keys("<esc>d");
    assert!(script.screen().contains("Compare with") && script.screen().contains("Qwen-7B"));
    script.keys("<esc>:compare nowhere<enter>");
    assert!(script.screen().contains("no run nowhere"), "{}", script.screen());
}

#[test]
fn the_copied_command_opens_the_same_pair() {
    let mut script = two_runs(LARGE);
    script.keys(":filter cat:law<enter><tab>j");
    let shown = script.screen();
    script.keys("Y");
    let command = script.copied.last().unwrap();
    assert!(command.contains("-f 'cat:law' --view 'list:b-only row:"), "{command}");
    let view = command.split("--view '").nth(1).unwrap().trim_end_matches('\'');
    let options = markbook::tui::Options {
        filter: Some("cat:law".into()),
        place: markbook::tui::Place::parse(view).unwrap(),
        ..plain()
    };
    let again = Script::open(vec![run("Llama-8B", 1), run("Qwen-7B", 2)], LARGE, &options).unwrap();
    assert_eq!(again.screen(), shown);
}

#[test]
fn compare_is_sane_at_every_size_and_in_ascii() {
    for width in [1, 20, 59, 61, 80, 103, 104, 200] {
        for height in [1, 3, 9, 16, 23, 28, 60] {
            for keys in ["", "x", "=", "p", "l", "e", "/cat:", "d"] {
                screen(keys, (width, height));
            }
        }
    }
    let options = markbook::tui::Options { ascii: true, ..plain() };
    for keys in ["", "x", "=", "<tab>"] {
        let runs = vec![run("Llama-8B", 1), run("Qwen-7B", 2)];
        let screen = Script::open(runs, LARGE, &options).unwrap().keys(keys).screen();
        let foreign: String = screen
            .chars()
            .filter(|c| !c.is_ascii() && !"答案".contains(*c))
            .collect();
        assert_eq!(foreign, "", "{screen}");
    }
}

#[test]
fn the_shell_filters_two_runs_by_what_they_say_of_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let mut paths = Vec::new();
    for (name, number) in [("a", 1), ("b", 2)] {
        let path = folder.path().join(format!("{name}.parquet"));
        let trace = run(name, number);
        let records: Vec<Record> = (0..trace.rows.len())
            .map(|row| Record::clone(&trace.texts.record(row).unwrap()))
            .collect();
        markbook::parquet::write_records(&path, &records, markbook::parquet::Order::ByQuestion).unwrap();
        paths.push(path);
    }
    let stats = |filter: &str| -> Vec<u64> {
        let output = Command::new(env!("CARGO_BIN_EXE_markbook"))
            .env("MARKBOOK_CATALOGUE", "off")
            .args(["stats", "--json", "-f", filter])
            .args(&paths)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let runs = json["runs"].as_array().unwrap();
        runs.iter().map(|run| run["n"].as_u64().unwrap()).collect()
    };
    assert_eq!(stats("changed"), [5, 5]);
    let a_only = stats("a-only");
    assert!(a_only[0] > 0 && a_only[0] == a_only[1], "{a_only:?}");
    let output = Command::new(env!("CARGO_BIN_EXE_markbook"))
        .env("MARKBOOK_CATALOGUE", "off")
        .args(["stats", "-f", "a-only"])
        .arg(&paths[0])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("takes two runs"));
}
