//! Rules and graders side by side, and promises as a gate.

use serde_json::Value;

use super::{five_attempts, write};
use crate::program::Bench;

fn run(bench: &Bench, name: &str) -> String {
    let records = five_attempts(20, |question, attempt| match (question + attempt) % 4 {
        0 => ("B".to_owned(), "So the answer is (B).".to_owned()),
        1 => ("[invalid]".to_owned(), "Answer: B".to_owned()),
        2 => ("A".to_owned(), "the answer is A good one, or two".to_owned()),
        _ => ("[invalid]".to_owned(), "two".to_owned()),
    });
    write(&bench.path(name), &records);
    bench.path(name).to_str().unwrap().to_owned()
}

#[test]
fn known_rules_stand_side_by_side_and_a_filter_chooses_the_rows() {
    let bench = Bench::new();
    let run = run(&bench, "run.jsonl");
    let json: Value =
        serde_json::from_str(&bench.ok(&["rescore", &run, "--bench", "--rule", r"re:(?i)(two)", "--json"])).unwrap();
    let rules = json["traces"][0]["rules"].as_array().unwrap();
    let line = |name: &str| rules.iter().find(|rule| rule["name"] == name).unwrap();
    assert_eq!(
        (&line("stored")["read"], &line("stored")["right"]),
        (&50.into(), &25.into())
    );
    let chain = line("tiger chain");
    assert_eq!(
        (&chain["newly_read"], &chain["newly_right"], &chain["lost"]),
        (&25.into(), &25.into(), &0.into())
    );
    assert_eq!(
        (&line("lm_eval")["article"], &line("yours")["read"]),
        (&25.into(), &50.into())
    );
    let text = bench.ok(&["rescore", &run, "--bench", "-f", "invalid cat:law"]);
    assert!(
        text.contains("20 rows with an output") && text.contains("boxed"),
        "{text}"
    );
}

#[test]
fn graders_of_the_same_rows_stand_in_one_table() {
    let bench = Bench::new();
    let run = run(&bench, "run.jsonl");
    let json: Value = serde_json::from_str(&bench.ok(&["rescore", &run, "--rule", "grader:all", "--json"])).unwrap();
    let graders = json["traces"][0]["graders"].as_array().unwrap();
    let right: Vec<(&str, u64)> = graders
        .iter()
        .map(|line| (line["grader"].as_str().unwrap(), line["correct"].as_u64().unwrap()))
        .collect();
    assert_eq!(
        right,
        [
            ("stored", 25),
            ("contains", 100),
            ("exact", 25),
            ("regex", 25),
            ("first", 50)
        ]
    );
    let text = bench.ok(&["rescore", &run, "--rule", "grader:contains"]);
    assert!(
        text.contains("judge model is not offered") && !text.contains("exact"),
        "{text}"
    );
    let (code, message) = bench.refused(&["rescore", &run, "--rule", "grader:judge"]);
    assert!(
        code == 2 && message.contains("known: contains, exact, regex, first, all"),
        "{message}"
    );
}

#[test]
fn a_broken_promise_is_an_exit_code_and_its_rows_are_a_filter_away() {
    let bench = Bench::new();
    let run = run(&bench, "run.jsonl");
    let check = |promises: &[&str]| {
        let mut words = vec!["check", run.as_str()];
        promises.iter().for_each(|promise| words.extend(["--expect", promise]));
        let output = bench.run(&words);
        (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
    };
    let (code, text) = check(&["invalid <= 50%", "cat:law invalid >= 1", "chars>4000 = 0"]);
    assert_eq!((code, text.matches("kept").count()), (0, 3), "{text}");
    let (code, text) = check(&["invalid cat:law < 2%", "ok > 10"]);
    assert_eq!(code, 3, "{text}");
    assert!(
        text.contains("broken  invalid cat:law < 2%   40.0 % (20 of 50)"),
        "{text}"
    );
    assert!(text.contains("-f 'invalid cat:law'"), "{text}");
    for wrong in ["invalid", "invalid ~ 3", "nonsense < 3", "invalid < many"] {
        let (code, message) = bench.refused(&["check", &run, "--expect", wrong]);
        assert!(code == 2 && message.contains("--expect"), "{message}");
    }
}

#[test]
fn findings_of_several_traces_stand_in_one_table_with_their_traces() {
    let bench = Bench::new();
    let (one, two) = (run(&bench, "one.jsonl"), run(&bench, "two.jsonl"));
    let text = bench.ok(&["check", &one, &two]);
    assert!(
        text.lines()
            .any(|line| line.starts_with("one") && line.contains("identical_runs")),
        "{text}"
    );
    // They are kept in the catalogue, beside the entries of their traces.
    let catalogue = rusqlite::Connection::open(bench.path("home/catalogue.db")).unwrap();
    let kept = "SELECT count(DISTINCT trace) FROM finding WHERE kind = 'identical_runs'";
    let kept: i64 = catalogue.query_row(kept, [], |row| row.get(0)).unwrap();
    assert_eq!(kept, 1);
    assert!(
        bench
            .ok(&["check", &one])
            .lines()
            .all(|line| line.split_once(": ").is_some())
    );
}
