//! `suspects`: the seven public traces, and a person's own verdicts.

use markbook::import::{self, Options};
use markbook::suspects::Queue;
use serde_json::Value;

use super::{five_attempts, golden, write};
use crate::program::Bench;
use crate::shared_path;

#[test]
fn keys_that_were_mended_later_stand_far_ahead_in_the_queue() {
    let (Some(told), Some(folder)) = (golden("suspect_real.json"), shared_path("data/traces/tiger")) else {
        return;
    };
    let mut paths: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "zip"));
    paths.sort();
    assert_eq!(paths.len(), 7);
    let traces = import::open(&paths, &Options::default()).unwrap();
    let queue = Queue::of(&traces);
    assert_eq!(queue.questions.len(), 12_032);
    let ids: Vec<i64> = told["questions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["question_id"].as_i64().unwrap())
        .collect();
    let places = queue
        .questions
        .iter()
        .enumerate()
        .filter(|(_, suspect)| ids.contains(&suspect.question_id));
    let places: Vec<usize> = places.map(|(place, _)| place).collect();
    assert_eq!(places.len(), ids.len());
    let rest = (queue.questions.len() - places.len()) as f64;
    let behind: f64 = places
        .iter()
        .enumerate()
        .map(|(ahead, place)| rest - (place - ahead) as f64)
        .sum();
    let auc = behind / rest / places.len() as f64;
    let first = |most: usize| places.iter().filter(|place| **place < most).count();
    assert!((auc - 0.879).abs() < 0.005, "{auc}");
    assert!(first(100) >= 8 && first(500) >= 17, "{} {}", first(100), first(500));
}

#[test]
fn a_model_is_one_vote_whatever_its_attempts_and_verdicts_are_kept_as_labels() {
    let bench = Bench::new();
    // Question 2: both models say C where the key is B; one of them on three of five attempts.
    let strong = five_attempts(10, |question, attempt| match question {
        2 if attempt < 3 => ("C".to_owned(), "c".to_owned()),
        _ => ("B".to_owned(), "b".to_owned()),
    });
    let weak = five_attempts(10, |question, _| {
        (if question % 2 == 0 { "C" } else { "B" }.to_owned(), "w".to_owned())
    });
    write(&bench.path("strong.jsonl"), &strong);
    write(&bench.path("weak.jsonl"), &weak);
    let paths = [bench.path("strong.jsonl"), bench.path("weak.jsonl")];
    let paths = paths.each_ref().map(|path| path.to_str().unwrap());
    let json: Value = serde_json::from_str(&bench.ok(&["suspects", paths[0], paths[1], "--json"])).unwrap();
    let first = &json["questions"][0];
    assert_eq!((&first["question_id"], &first["rival"]), (&2.into(), &"C".into()));
    // 0.6 of a model that is right on 47 of 50, and one that is right on half; less 0.4 of the first on the key.
    let expected = 0.6 * 0.94 + 0.5 - 0.4 * 0.94;
    assert!((first["score"].as_f64().unwrap() - expected).abs() < 1e-9, "{first}");
    assert!((first["against"].as_f64().unwrap() - 1.6).abs() < 1e-9);
    let (code, message) = bench.refused(&["suspects", paths[0], "-o", bench.path("v.jsonl").to_str().unwrap()]);
    assert!(code == 1 && message.contains("blind mode"), "{message}");
    assert!(!bench.path("v.jsonl").exists());
}
