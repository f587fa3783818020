//! The details that large publishers put beside their models (`Details_TASK_TIME.parquet`): one row a question, generated
//! or scored.

use super::head::Head;
use super::json::{Object, Raw};
use super::layout::{Answer, Entry, Layout, RowError, Sniffed, Tally, set_completion, texts};
use super::runs::{stamp, without_stamp};
use super::task::Task;
use super::told;
use crate::record::letter_index;

#[derive(Debug, Clone)]
pub(crate) struct Details {
    label: String,
}

pub(crate) fn sniff(head: &Head) -> Option<Sniffed> {
    let has = |row: &&Object| {
        row.has("input_question")
            && row.has("input_correct_responses")
            && (row.has("output_parsed_answer") || row.has("output_prediction_text"))
    };
    let row = head.rows.iter().find(has)?;
    let is_named = head.stem.starts_with("Details_");
    let model = head
        .folders
        .first()
        .map(|folder| folder.trim_end_matches("-evals").to_owned());
    Some(Sniffed {
        name: model.filter(|_| is_named),
        split: Some(without_stamp(&head.stem)),
        run: Some(stamp(&head.stem).unwrap_or_default().to_owned()),
        ..Sniffed::new(
            "details",
            Details {
                label: row
                    .first(&["benchmark_label", "task_name"])
                    .map(Raw::shown)
                    .unwrap_or_default(),
            },
            head.shape.clone(),
        )
    })
}

/// The subtask tells benchmark and subject (`mmlu_chat.anatomy`), else the task.
fn task(row: &Object) -> Task {
    let named = |key: &str| row.text(key).map(|name| Task::named(&name));
    let (task, subtask) = (named("task_name"), named("subtask_name"));
    match (task, subtask) {
        (Some(task), Some(subtask)) if subtask.subject.is_empty() && subtask.benchmark != task.benchmark => Task {
            subject: subtask.benchmark,
            ..task
        },
        (task, subtask) => subtask.or(task).unwrap_or_default(),
    }
}

/// Negative log-likelihoods of the choices: a list, one under `raw`, or one a choice.
fn log_likelihoods(row: &Object) -> Vec<f64> {
    let Some(stored) = row.get("output_choice_negative_log_likelihoods") else {
        return Vec::new();
    };
    let fields = stored.object();
    let numbers: Vec<Raw> = match fields.get("raw") {
        Some(raw) => raw.list(),
        None if stored.is_list() => stored.list(),
        None => fields.fields().map(|(_, number)| number).collect(),
    };
    numbers
        .into_iter()
        .map_while(Raw::float)
        .map(|number| -number)
        .collect()
}

impl Layout for Details {
    fn answers(&self, entry: &Entry) -> Result<Vec<Answer>, RowError> {
        let row = entry.object()?;
        let mut record = told::record_of(&task(&row), entry.number);
        record.question = row.text("input_question").unwrap_or_default();
        record.options = row
            .get("input_choice_list")
            .map(|raw| super::values::choices_of(raw).texts)
            .unwrap_or_default();
        let prompts = row.get("input_final_prompts");
        let request = prompts.map(|raw| match raw.list().first() {
            // Text prompts stand in a list; a list of messages is one prompt.
            Some(first) if !first.is_object() => *first,
            _ => raw,
        });
        if let Some(request) = request {
            told::ask(&mut record, request);
        }
        let golds = row.get("input_correct_responses").map(texts).unwrap_or_default();
        told::demand_options(&record, &golds, &format!("published details ({})", self.label))?;
        set_completion(&mut record, row.get("output_prediction_text"));
        let numbers = log_likelihoods(&row);
        if numbers.len() > 1 {
            record.flags.clear();
            let completions = row
                .get("output_choice_completions")
                .map(texts)
                .filter(|list| !list.is_empty());
            told::score(&mut record, &numbers, completions);
        }
        let parsed = row.get("output_parsed_answer");
        match parsed {
            Some(_) => {
                let of_scores = record.pick.clone();
                told::set_pick(&mut record, parsed);
                if !of_scores.is_empty() && letter_index(&record.pick).is_none() {
                    record.pick = of_scores;
                }
            }
            None if numbers.len() > 1 => {}
            None if row.has("output_parsed_answer") => told::set_pick(&mut record, None),
            None => told::read_pick(&mut record),
        }
        told::set_golds(&mut record, &golds);
        told::judge(&mut record, told::stated(&row, &["is_correct"]));
        Ok(vec![Answer::local(record, entry)])
    }

    fn kind(&self, tally: &Tally) -> String {
        let tasks = tally.several("tasks");
        format!("published details of {}{tasks}", self.label)
    }
}
