//! `labels`, the filter word `label:`, and `stats --without`.

use markbook::labels::{Labelled, Scores, Subject};
use serde_json::Value;

use super::{five_attempts, golden, near, write};
use crate::program::Bench;
use crate::shared_path;

#[test]
fn scores_without_bad_questions_are_the_golden_values() {
    let Some(told) = golden("redux.json") else { return };
    let rekeyed = told["rekeyed"].as_array().unwrap();
    let subject = |one: &Value| {
        let labels = one["label"]
            .as_array()
            .unwrap()
            .iter()
            .zip(one["correct"].as_array().unwrap())
            .enumerate();
        let labelled = labels.map(|(row, (label, correct))| {
            let mended = rekeyed
                .iter()
                .find(|mended| mended["subject"] == one["name"] && mended["row"] == row);
            let mended = mended.map(|mended| f64::from(u8::from(mended["correct"].as_bool().unwrap())));
            Labelled::new(correct.as_f64().unwrap(), label != "ok", mended)
        });
        Subject {
            size: one["size"].as_u64().unwrap() as usize,
            labelled: labelled.collect(),
        }
    };
    let subjects: Vec<Subject> = told["subjects"].as_array().unwrap().iter().map(subject).collect();
    let scores = Scores::over(&subjects).unwrap();
    assert_eq!(
        (scores.labelled as u64, scores.bad as u64),
        (told["labelled"].as_u64().unwrap(), told["bad"].as_u64().unwrap())
    );
    near(scores.as_published.accuracy.unwrap(), &told["as_published"]);
    near(scores.without_bad.accuracy.unwrap(), &told["without_bad"]["accuracy"]);
    near(scores.rekeyed.accuracy.unwrap(), &told["corrected"]["accuracy"]);
    assert_eq!((scores.rekeyed.n, scores.rekeyed.correct), (27, 20.0));
    near(scores.weighted.unwrap(), &told["weighted_without_bad"]["accuracy"]);
    near(scores.weighted_stderr.unwrap(), &told["weighted_without_bad"]["stderr"]);
    near(scores.bad_share_weighted, &told["bad_share_weighted"]);
}

/// A hundred questions a subject of MMLU's test set, as MMLU-Redux has them.
fn redux(bench: &Bench, change: bool) -> Option<std::path::PathBuf> {
    use markbook::benchmark::{DataSource, find, load};
    let folder = shared_path("data")?;
    let dataset = load(find("mmlu").unwrap(), &DataSource::Folder(folder), "test").unwrap();
    let mut counts = std::collections::HashMap::new();
    let mut lines = Vec::new();
    for question in &dataset.questions {
        let count: &mut usize = counts.entry(question.subject.clone()).or_default();
        *count += 1;
        if *count > 100 {
            continue;
        }
        let mut choices = question.options.clone();
        if change && lines.is_empty() {
            choices[0].push_str(" changed");
        }
        let kind = if *count % 10 == 0 { "wrong_groundtruth" } else { "ok" };
        lines.push(
            serde_json::json!({ "subject": question.subject, "question": question.question, "choices": choices,
                "answer": question.gold, "error_type": kind, "correct_answer": if kind == "ok" { "" } else { "A" } })
            .to_string(),
        );
    }
    let path = bench.path(if change { "changed.jsonl" } else { "redux.jsonl" });
    std::fs::write(&path, lines.join("\n")).unwrap();
    Some(path)
}

#[test]
fn a_list_of_mmlu_questions_joins_them_all_and_a_changed_choice_joins_nothing() {
    let bench = Bench::new();
    let Some(path) = redux(&bench, false) else { return };
    let data = shared_path("data/mmlu").unwrap();
    let show = |name: &str| -> Value {
        serde_json::from_str(&bench.ok(&["labels", "show", name, "--data", data.to_str().unwrap(), "--json"])).unwrap()
    };
    let told = bench.ok(&["labels", "add", path.to_str().unwrap()]);
    assert!(
        told.contains("5,700 labels") && told.contains("wrong_groundtruth 570"),
        "{told}"
    );
    let mmlu = |shown: &Value| {
        let joined = shown["joined"]
            .as_array()
            .unwrap()
            .iter()
            .max_by_key(|join| join["joined"].as_u64())
            .unwrap()
            .clone();
        (
            joined["joined"].as_u64().unwrap(),
            joined["of"].as_u64().unwrap(),
            joined["other_key"].as_u64().unwrap(),
        )
    };
    assert_eq!(mmlu(&show("redux")), (5_700, 5_700, 0));
    let changed = redux(&bench, true).unwrap();
    bench.ok(&["labels", "add", changed.to_str().unwrap(), "--name", "other"]);
    assert_eq!(mmlu(&show("other")), (5_699, 5_700, 0));
    let text = bench.ok(&["labels", "show", "other", "--data", data.to_str().unwrap()]);
    assert!(text.contains("not here:"), "{text}");
    let (code, message) = bench.refused(&["labels", "add", path.to_str().unwrap()]);
    assert!(code == 1 && message.contains("--force"), "{message}");
    assert!(
        bench
            .refused(&["labels", "show", "none"])
            .1
            .contains("known: other, redux")
    );
}

#[test]
fn the_authors_file_of_one_subject_is_read_with_its_own_words() {
    let Some(path) = shared_path("data/traces/public-2/redux/mmlu_virology.csv") else {
        return;
    };
    let bench = Bench::new();
    let told = bench.ok(&["labels", "add", path.to_str().unwrap(), "--name", "virology"]);
    for part in [
        "100 labels",
        "ok 43",
        "wrong_groundtruth 33",
        "multiple_correct_answers 4",
        "no_correct_answer 4",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let kept = std::fs::read_to_string(bench.path("home/labels/virology.jsonl")).unwrap();
    let labels: Vec<Value> = kept.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(labels[0]["subject"], "virology");
    let right = |found: &str| labels.iter().filter(|label| label["right"] == found).count();
    assert!(right("A or C") == 1 && right("B or D") == 1, "several right answers");
    let wrong = labels.iter().filter(|label| label["label"] == "wrong_groundtruth");
    assert!(wrong.clone().all(|label| {
        label["right"]
            .as_str()
            .is_some_and(|right| right.len() == 1 && right != label["answer"])
    }));
}

#[test]
fn labelled_questions_are_a_filter_away_and_stats_do_without_them() {
    let bench = Bench::new();
    let records = five_attempts(10, |question, _| {
        (if question < 5 { "B" } else { "A" }.to_owned(), format!("{question}"))
    });
    write(&bench.path("run.jsonl"), &records);
    let lines = [
        r#"{"set": "mmlu_pro", "question_id": 7, "label": "wrong_groundtruth", "right": "A", "by": "me"}"#,
        r#"{"set": "mmlu_pro", "question_id": 8, "label": "bad_question_clarity"}"#,
        r#"{"set": "mmlu_pro", "question_id": 1, "label": "ok"}"#,
    ];
    std::fs::write(bench.path("mine.jsonl"), lines.join("\n")).unwrap();
    bench.ok(&["labels", "add", bench.path("mine.jsonl").to_str().unwrap()]);
    let run = bench.path("run.jsonl");
    let run = run.to_str().unwrap();
    let rows = |filter: &str| bench.ok(&["export", run, "-f", filter, "-o", "-"]).lines().count();
    assert_eq!(
        [
            rows("label:bad"),
            rows("label:wrong"),
            rows("label:any"),
            rows("-label:any")
        ],
        [10, 5, 15, 35]
    );
    let stats = |flags: &[&str]| -> Value {
        serde_json::from_str(&bench.ok(&[&["stats", run, "--json"], flags].concat())).unwrap()
    };
    let without = stats(&["--without", "bad"]);
    assert_eq!(
        (&without["runs"][0]["n"], &without["runs"][0]["correct"]),
        (&40.into(), &25.into())
    );
    let rekeyed = stats(&["--without", "bad", "--rekeyed"]);
    assert_eq!(
        (&rekeyed["runs"][0]["n"], &rekeyed["runs"][0]["correct"]),
        (&45.into(), &30.into())
    );
    let scores = &rekeyed["labels"][0]["scores"];
    assert_eq!(
        (&scores["labelled"], &scores["bad"], &scores["rekeyed"]["correct"]),
        (&3.into(), &2.into(), &2.0.into())
    );
    let bad = [r#"{"label": "ok"}"#, r#"{"question_id": 3}"#];
    std::fs::write(bench.path("bad.jsonl"), bad.join("\n")).unwrap();
    let (code, message) = bench.refused(&["labels", "add", bench.path("bad.jsonl").to_str().unwrap()]);
    assert!(code == 1 && message.contains("error_type"), "{message}");
}
