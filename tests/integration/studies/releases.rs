//! `release`: two releases of one trace set.

use markbook::record::{INVALID, Record};
use markbook::release::{Release, implied};
use markbook::trace::Trace;
use serde_json::Value;

use super::{five_attempts, golden, near, write};
use crate::program::Bench;

fn pick(number: i64) -> String {
    match number % 4 {
        0 => "B".to_owned(),
        1 => "A".to_owned(),
        2 => "B".to_owned(),
        _ => INVALID.to_owned(),
    }
}

fn old() -> Vec<Record> {
    five_attempts(40, |question, attempt| {
        (pick(question * 3 + attempt), format!("old {question} {attempt}"))
    })
}

#[test]
fn every_kind_of_change_is_counted_where_it_is() {
    let old = old();
    let mut new = old.clone();
    // Question 0 loses a row and question 99 is new; 1 has another text, 2 other options, 3 another key.
    new.retain(|record| (record.question_id, record.attempt) != (0, 4));
    new.push(Record {
        question_id: 99,
        category: "law".into(),
        ..new[0].clone()
    });
    for record in &mut new {
        match (record.question_id, record.attempt) {
            (1, _) => {
                record.question = "Another?".into();
                record.prompt = record.prompt.replace("Question 1?", "Another?");
            }
            (2, _) => {
                record.options[3] = "five".into();
                record.prompt = record.prompt.replace("D. four", "D. five");
            }
            (3, _) => {
                record.answer = "A".into();
                record.correct = record.pick == "A";
            }
            (4, 0) => record.prompt = format!("Think.\n{}", record.prompt),
            (5, 2) => record.reasoning = "another text".into(),
            (7, 1) => {
                let was = record.correct;
                record.pick = if was { "C" } else { "B" }.into();
                record.correct = !was;
            }
            _ => {}
        }
    }
    let changed_key = old
        .iter()
        .filter(|record| record.question_id == 3 && record.pick != INVALID)
        .count();
    let release = Release::of(
        &Trace::from_records("old", "t", old),
        &Trace::from_records("new", "t", new),
    )
    .unwrap();
    let all = &release.overall;
    assert_eq!((all.paired, all.only_old, all.only_new), (199, 1, 1));
    let changed = |kind: markbook::release::Changed| (kind.questions, kind.rows);
    assert_eq!(
        [
            all.question_changed,
            all.options_changed,
            all.gold_changed,
            all.prompt_changed
        ]
        .map(changed),
        [(1, 5), (1, 5), (1, 5), (3, 11)]
    );
    assert_eq!((all.outputs_changed, all.outputs_equal, all.picks_changed), (1, 198, 1));
    assert_eq!(all.scores_changed, changed_key + 1);
    assert_eq!(all.right_to_wrong + all.wrong_to_right, all.scores_changed);
    let law = release.categories.iter().find(|part| part.name == "law").unwrap();
    let math = release.categories.iter().find(|part| part.name == "math").unwrap();
    assert_eq!((law.paired + math.paired, law.only_old, law.only_new), (199, 1, 1));
    assert_eq!(
        (changed(law.options_changed), changed(math.question_changed)),
        ((1, 5), (1, 5))
    );
    assert_eq!(release.old.closed.iter().sum::<usize>(), 40);
    let right: usize = release
        .old
        .closed
        .iter()
        .enumerate()
        .map(|(right, questions)| right * questions)
        .sum();
    assert_eq!((right, release.old.correct), (all.correct_old, all.correct_old));
}

#[test]
fn attempts_that_are_equal_on_every_question_are_named_and_counted_as_one() {
    let mut old = old();
    let second: Vec<Record> = old.iter().filter(|record| record.attempt == 1).cloned().collect();
    for record in old.iter_mut().filter(|record| record.attempt == 4) {
        let twin = &second[record.question_id as usize];
        *record = Record {
            attempt: 4,
            seed: record.seed,
            ..twin.clone()
        };
    }
    let new = five_attempts(40, |question, attempt| {
        (pick(question + 3 * attempt), format!("new {question} {attempt}"))
    });
    let bench = Bench::new();
    write(&bench.path("old.jsonl"), &old);
    write(&bench.path("new.jsonl"), &new);
    let paths = [bench.path("old.jsonl"), bench.path("new.jsonl")];
    let paths = paths.each_ref().map(|path| path.to_str().unwrap());
    let json: Value = serde_json::from_str(&bench.ok(&["release", paths[0], paths[1], "--json"])).unwrap();
    let faults: Vec<&Value> = json["old"]["identical"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|pair| pair["is_fault"] == true)
        .collect();
    assert_eq!(
        (faults.len(), &faults[0]["attempts"], &faults[0]["same"]),
        (1, &serde_json::json!([1, 4]), &40.into())
    );
    assert_eq!(
        (&json["old"]["distinct_attempts"], &json["new"]["distinct_attempts"]),
        (&4.into(), &5.into())
    );
    assert_eq!(json["chance"]["rows"], 160, "the copy tells nothing of chance");
    let text = bench.ok(&["release", paths[0], paths[1]]);
    for part in [
        "old: attempts 1 and 4 are equal on 40 of 40 questions: 4 different attempts, not 5",
        "new: no two attempts are equal on every question",
        "do not combine the two releases: 200 of 200 paired rows",
    ] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    let same = bench.ok(&["release", paths[1], paths[1]]);
    assert!(
        same.contains("outputs changed 0, equal 200") && !same.contains("do not combine"),
        "{same}"
    );
}

#[test]
fn what_changed_scores_imply_is_the_golden_value() {
    let Some(told) = golden("release.json") else { return };
    let number = |name: &str| told[name].as_u64().unwrap() as usize;
    let found = implied(
        number("questions"),
        number("rows"),
        number("scores_changed"),
        number("correct"),
    )
    .unwrap();
    near(found.scores_changed_share, &told["scores_changed_share"]);
    near(found.within, &told["within"]);
    near(found.seed_std_expected, &told["seed_std_expected"]);
    near(found.total_variance, &told["total_variance"]);
    near(found.between, &told["between"]);
    near(found.stderr_clustered, &told["stderr_clustered_5"]);
    near(found.stderr_naive, &told["stderr_naive"]);
}

#[test]
fn a_folder_of_several_runs_is_refused_by_their_names() {
    let bench = Bench::new();
    for name in ["a", "b"] {
        let records = five_attempts(3, |_, _| ("A".to_owned(), name.to_owned()));
        std::fs::create_dir_all(bench.path("both")).unwrap();
        write(&bench.path(&format!("both/{name}.jsonl")), &records);
    }
    let both = bench.path("both");
    let (code, message) = bench.refused(&["release", both.to_str().unwrap(), both.to_str().unwrap()]);
    assert!(code == 1 && message.contains("holds 2 runs"), "{message}");
}

#[test]
fn columns_of_another_name_are_told_for_the_release_that_has_them() {
    let bench = Bench::new();
    write(&bench.path("old.jsonl"), &old());
    let text = std::fs::read_to_string(bench.path("old.jsonl")).unwrap();
    let renamed = text
        .replace("\"pick\":", "\"pred\":")
        .replace("\"answer\":", "\"right_one\":");
    std::fs::write(bench.path("new.jsonl"), renamed).unwrap();
    let paths = ["old.jsonl", "new.jsonl"].map(|name| bench.path(name));
    let [a, b] = paths.each_ref().map(|path| path.to_str().unwrap());
    let map = ["--map", "pick=pred,answer=right_one"];
    for pair in [[a, b], [b, a]] {
        let words = [&["release", "--json"][..], &pair, &map].concat();
        let json: Value = serde_json::from_str(&bench.ok(&words)).unwrap();
        let overall = &json["overall"];
        assert_eq!(
            (&overall["paired"], &overall["picks_changed"]),
            (&200.into(), &0.into()),
            "{overall}"
        );
    }
    let (code, message) = bench.refused(&["release", a, a, "--map", "pick=nowhere"]);
    assert!(code != 0 && message.contains("no column nowhere"), "{message}");
}
