//! What happens to scores after a run: styles and their spread, studies, releases, labels, suspects, promises.

mod drops;
mod labels;
mod releases;
mod rules;
mod spreads;
mod styles;
mod suspects;

use std::path::Path;

use markbook::record::Record;
use serde_json::Value;

use crate::shared_path;

/// A golden file of `golden/stats`; `None` where there is no shared data.
fn golden(name: &str) -> Option<Value> {
    let text = std::fs::read_to_string(shared_path(&format!("golden/stats/{name}"))?).unwrap();
    Some(serde_json::from_str(&text).unwrap())
}

fn near(found: f64, expected: &Value) {
    let expected = expected.as_f64().unwrap();
    assert!((found - expected).abs() < 1e-9, "{found} {expected}");
}

/// Five attempts at questions of two categories: `pick` and text of each.
fn five_attempts(questions: i64, answer: impl Fn(i64, i64) -> (String, String)) -> Vec<Record> {
    let keys = (0..questions).flat_map(|question| (0..5).map(move |attempt| (question, attempt)));
    let record = |(question_id, attempt)| {
        let (pick, reasoning) = answer(question_id, attempt);
        Record {
            question_id,
            attempt,
            seed: Some(42 + attempt),
            benchmark: "mmlu_pro".into(),
            category: if question_id % 2 == 0 { "law" } else { "math" }.into(),
            subject: if question_id % 2 == 0 { "law" } else { "math" }.into(),
            question: format!("Question {question_id}?"),
            options: ["one", "two", "three", "four"].map(String::from).to_vec(),
            prompt: format!("Question:\nQuestion {question_id}?\nOptions:\nA. one\nB. two\nC. three\nD. four\nAnswer:"),
            answer: "B".into(),
            correct: pick == "B",
            reasoning_chars: reasoning.chars().count() as i64,
            pick,
            reasoning,
            ..Record::default()
        }
    };
    keys.map(record).collect()
}

/// Rows as a JSONL file that any command opens.
fn write(path: &Path, records: &[Record]) {
    let lines: Vec<String> = records
        .iter()
        .map(|record| serde_json::to_string(record).unwrap())
        .collect();
    std::fs::write(path, lines.join("\n") + "\n").unwrap();
}
