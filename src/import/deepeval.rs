//! deepeval: test results with actual and expected output, and the table of predictions of its benchmarks.

use super::head::Head;
use super::json::{Object, Raw};
use super::layout::{Answer, Entry, Layout, RowError, Sniffed, Tally, set_completion};
use super::split::Shape;
use super::task::Task;
use super::told;
use crate::benchmark::mmlu;

const ACTUAL: [&str; 2] = ["actualOutput", "actual_output"];

const EXPECTED: [&str; 2] = ["expectedOutput", "expected_output"];

#[derive(Debug, Clone)]
pub(crate) struct DeepEval {
    is_table: bool,
}

fn is_result(row: &Object) -> bool {
    row.has("input") && ACTUAL.iter().any(|key| row.has(key)) && EXPECTED.iter().any(|key| row.has(key))
}

fn is_prediction(row: &Object) -> bool {
    ["Input", "Prediction", "Expected Output", "Correct"]
        .iter()
        .all(|key| row.has(key))
}

pub(crate) fn sniff(head: &Head) -> Option<Sniffed> {
    let lists: [&[&str]; 4] = [
        &["testRunData", "testCases"],
        &["testCases"],
        &["test_results"],
        &["testResults"],
    ];
    let path = |keys: &&[&str]| Shape::Array(keys.iter().map(|key| (*key).to_owned()).collect());
    let shapes = lists.iter().map(path).chain([head.shape.clone()]);
    let kind_of = |shape: &Shape| {
        let rows = head.rows_at(shape);
        let row = rows.first()?;
        (is_result(row) || is_prediction(row)).then(|| is_prediction(row))
    };
    let (shape, is_table) = shapes
        .filter(|shape| head.document.is_some() || *shape == head.shape)
        .find_map(|shape| Some((shape.clone(), kind_of(&shape)?)))?;
    Some(Sniffed::new("deepeval", DeepEval { is_table }, shape))
}

/// A benchmark's task is its subject's name.
fn task(row: &Object) -> Task {
    let Some(subject) = row.text("Task") else {
        return Task::default();
    };
    let is_mmlu = mmlu::category_of(&subject).is_some();
    Task {
        benchmark: if is_mmlu { "mmlu" } else { "" }.to_owned(),
        subject,
    }
}

impl Layout for DeepEval {
    fn answers(&self, entry: &Entry) -> Result<Vec<Answer>, RowError> {
        let row = entry.object()?;
        let mut record = told::record_of(&task(&row), entry.number);
        if let Some(input) = row.first(&["input", "Input"]) {
            told::ask(&mut record, input);
        }
        let expected = row.first(&EXPECTED).or_else(|| row.get("Expected Output"));
        let golds: Vec<String> = expected.map(Raw::shown).into_iter().collect();
        told::demand_options(&record, &golds, "deepeval results")?;
        if self.is_table {
            set_completion(&mut record, None);
            told::set_pick(&mut record, row.get("Prediction"));
        } else {
            set_completion(&mut record, row.first(&ACTUAL));
            told::read_pick(&mut record);
        }
        told::set_golds(&mut record, &golds);
        told::judge(&mut record, told::stated(&row, &["success", "Correct"]));
        record.output_tokens = row.int("outputTokenCount");
        record.seconds = row
            .first(&["completionTime", "runDuration"])
            .and_then(Raw::float)
            .unwrap_or(0.0) as f32;
        Ok(vec![Answer::local(record, entry)])
    }

    fn kind(&self, _tally: &Tally) -> String {
        let what = if self.is_table {
            "predictions of a benchmark"
        } else {
            "test results"
        };
        format!("deepeval {what}")
    }
}
