//! OLMES predictions (`task-002-mmlu_anatomy:mc-predictions.jsonl`): log-likelihoods of the options, or continuations.

use super::head::Head;
use super::json::{Object, Raw};
use super::layout::{Answer, Entry, Layout, RowError, Sniffed, Tally, set_completion};
use super::task::Task;
use super::told;
use crate::record::{Record, letter};

/// Where a tool's extraction stands, by task.
const PICKS: [&str; 5] = [
    "model_answer",
    "predicted_answer",
    "extracted_answer",
    "parsed_answer",
    "prediction",
];

const SCORES: [&str; 6] = [
    "exact_match",
    "exact_match_flex",
    "exact_match_simple",
    "acc",
    "accuracy",
    "correct",
];

#[derive(Debug, Clone)]
pub(crate) struct Olmes {
    task: Task,
    is_scored: bool,
}

pub(crate) fn sniff(head: &Head) -> Option<Sniffed> {
    let is_row = |row: &&Object| {
        let outputs = row.list("model_output");
        let first = outputs.first().map(|output| output.object()).unwrap_or_default();
        let is_told = first.has("sum_logits") || first.has("continuation");
        is_told && row.get("metrics").is_some_and(Raw::is_object) && (row.has("doc_id") || row.has("native_id"))
    };
    let row = head.rows.iter().find(is_row)?;
    let task = head.stem.strip_suffix("-predictions").unwrap_or(&head.stem);
    let numbered = task.strip_prefix("task-").and_then(|rest| rest.split_once('-'));
    let task = numbered.map_or(task, |(_, name)| name);
    Some(Sniffed {
        name: row
            .text("model_hash")
            .and(head.folders.first().cloned())
            .filter(|_| numbered.is_some()),
        split: Some(head.stem.clone()),
        run: Some(row.text("model_hash").unwrap_or_default()),
        ..Sniffed::new(
            "olmes",
            Olmes {
                task: Task::named(task),
                is_scored: log_likelihoods(row).len() > 1,
            },
            head.shape.clone(),
        )
    })
}

fn outputs<'a>(row: &Object<'a>) -> Vec<Object<'a>> {
    row.list("model_output").into_iter().map(Raw::object).collect()
}

fn log_likelihoods(row: &Object) -> Vec<f64> {
    let number = |output: &Object| {
        output
            .get("sum_logits")?
            .float()
            .filter(|_| !output.has("continuation"))
    };
    outputs(row).iter().map_while(number).collect()
}

impl Layout for Olmes {
    fn answers(&self, entry: &Entry) -> Result<Vec<Answer>, RowError> {
        let row = entry.object()?;
        let doc_id = row.int("doc_id");
        let mut record = told::record_of(&self.task, entry.number);
        record.question_id = doc_id.unwrap_or(record.question_id);
        record.doc_id = doc_id;
        let order = record.question_id;
        let numbers = log_likelihoods(&row);
        let records = if numbers.len() > 1 {
            vec![scored(record, &row, &numbers)?]
        } else {
            generated(&record, &row)?
        };
        let answers = records.into_iter().map(|record| Answer {
            record,
            order,
            is_local_id: true,
            ..Answer::default()
        });
        Ok(answers.collect())
    }

    fn kind(&self, tally: &Tally) -> String {
        let how = if self.is_scored {
            "multiple choice by log-probability"
        } else {
            "generated answers"
        };
        let tasks = tally.several("tasks");
        format!("OLMES predictions, {how}{tasks}")
    }
}

fn scored(mut record: Record, row: &Object, numbers: &[f64]) -> Result<Record, RowError> {
    let metrics = row.object("metrics");
    if metrics.has("mc2") {
        return Err("a score that is a probability mass over several right answers (mc1, mc2)".into());
    }
    told::score(&mut record, numbers, None);
    let outputs = outputs(row);
    let tokens = outputs.iter().map(|output| output.int("num_tokens"));
    record.continuation_tokens = tokens.collect();
    let greedy = outputs.iter().map(|output| output.truth("is_greedy"));
    record.greedy = greedy.collect();
    let label = row.int("label").or_else(|| metrics.get("correct_choice")?.int());
    let gold = label.and_then(|label| letter(usize::try_from(label).ok()?));
    record.answer = gold.map(String::from).ok_or("no label and no correct_choice")?;
    told::judge(&mut record, told::stated(&metrics, &["acc_raw", "acc"]));
    Ok(record)
}

/// One record a continuation; the score is the row's, and one continuation's where there is one only.
fn generated(record: &Record, row: &Object) -> Result<Vec<Record>, RowError> {
    let outputs = outputs(row);
    let metrics = row.object("metrics");
    let golds: Vec<String> = match row.get("label") {
        Some(label) if label.is_list() => label.list().into_iter().map(Raw::shown).collect(),
        label => label.map(Raw::shown).into_iter().collect(),
    };
    told::demand_options(record, &golds, "OLMES predictions")?;
    let one = |(attempt, output): (usize, &Object)| {
        let mut record = Record {
            attempt: attempt as i64,
            output_tokens: output.int("num_tokens"),
            ..record.clone()
        };
        set_completion(&mut record, output.get("continuation"));
        let of_row = metrics.first(&PICKS).filter(|_| outputs.len() == 1);
        match output.first(&PICKS).or(of_row) {
            Some(pick) => told::set_pick(&mut record, Some(pick)),
            None => told::read_pick(&mut record),
        }
        told::set_golds(&mut record, &golds);
        let stated = told::stated(&metrics, &SCORES).filter(|_| outputs.len() == 1);
        told::judge(&mut record, stated);
        record
    };
    Ok(outputs.iter().enumerate().map(one).collect())
}
