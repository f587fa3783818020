//! Lists of labels as other people write them: columns of MMLU-Redux, or our own names.

use anyhow::{Result, bail};
use serde_json::Value;

use super::{Label, OK, WRONG_KEY};
use crate::json::python_text;
use crate::record::{OR, letter};
use crate::rows::Cells;
use crate::rows::naming::{Asked, Bases, Naming};
use crate::rows::options::{Choices, read_choices};

/// Labels that were read, and the rows that were none.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Found {
    pub labels: Vec<Label>,
    /// Why rows were left out, one line each.
    pub left_out: Vec<String>,
}

/// Reads labels from rows with a column `label` or `error_type`, and of a question its `doc_hash`, or `set` and
/// `question_id`, or question and choices.
///
/// # Errors
/// When no row has a label.
pub fn read_rows(rows: &[Cells]) -> Result<Found> {
    let mut found = Found::default();
    let golds = [
        Golds::of(rows, &["answer", "groundtruth_answer"]),
        Golds::of(rows, &["right", "correct_answer"]),
    ];
    for (number, cells) in rows.iter().enumerate() {
        match label_of(cells, &golds) {
            Ok(label) if !label.is_found() => found.left_out.push(format!("row {number}: nothing tells its question")),
            Ok(label) => found.labels.push(label),
            Err(why) => found.left_out.push(format!("row {number}: {why}")),
        }
    }
    if found.labels.is_empty() {
        let columns: Vec<&str> = rows
            .first()
            .map(|row| row.keys().map(String::as_str).collect())
            .unwrap_or_default();
        bail!(
            "no labels: a row needs `label` or `error_type`, and `doc_hash`, `question_id` with `set`, or `question` with \
             `choices`; the columns are {}",
            columns.join(", ")
        );
    }
    Ok(found)
}

fn text<'c>(cells: &'c Cells, names: &[&str]) -> Option<&'c Value> {
    let given = |name: &&str| {
        cells
            .get(*name)
            .filter(|value| !value.is_null() && value.as_str() != Some(""))
    };
    names.iter().find_map(given)
}

fn label_of(cells: &Cells, [answer, right]: &[Golds; 2]) -> Result<Label, &'static str> {
    let told = |names: &[&str]| text(cells, names).map(python_text).unwrap_or_default();
    let label = snake(&told(&["label", "error_type"]));
    if label.is_empty() {
        return Err("no label");
    }
    Ok(Label {
        set: told(&["set", "benchmark"]),
        doc_hash: told(&["doc_hash"]),
        question_id: text(cells, &["question_id", "id"]).and_then(|id| python_text(id).parse().ok()),
        subject: told(&["subject", "category"]),
        question: told(&["question"]),
        choices: choices(cells).texts,
        answer: answer.read(cells),
        right: right.read(cells),
        label,
        note: told(&["note", "potential_reason"]),
        by: told(&["by"]),
    })
}

fn choices(cells: &Cells) -> Choices {
    text(cells, &["choices", "options"])
        .map(read_choices)
        .unwrap_or_default()
}

/// A column that names options, and how.
struct Golds {
    names: &'static [&'static str],
    naming: Naming,
}

impl Golds {
    fn of(rows: &[Cells], names: &'static [&'static str]) -> Golds {
        let asked: Vec<Asked> = rows.iter().filter_map(|cells| asked(cells, names)).collect();
        let naming = Naming::find(&asked, true, Bases::of(&asked).likely(), None);
        Golds { names, naming }
    }

    /// The letters that a row names; empty where it names no option. Without choices, letters stay as they are.
    fn read(&self, cells: &Cells) -> String {
        let Some(asked) = asked(cells, self.names) else {
            return String::new();
        };
        if asked.choices.texts.is_empty() {
            return python_text(&asked.value);
        }
        let one = self
            .naming
            .read(&asked)
            .index
            .filter(|index| asked.is_within(Some(*index)));
        let several = asked.several(&self.naming).unwrap_or_else(|| one.into_iter().collect());
        let names: Vec<String> = several.into_iter().filter_map(letter).map(String::from).collect();
        names.join(OR)
    }
}

fn asked(cells: &Cells, names: &[&str]) -> Option<Asked> {
    Some(Asked {
        value: text(cells, names)?.clone(),
        choices: choices(cells),
    })
}

/// `Wrong Groundtruth` as `wrong_groundtruth`.
fn snake(label: &str) -> String {
    let words: Vec<String> = label
        .split([' ', '_', '-'])
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    match words.join("_").as_str() {
        "correct" | "good" | "right" => OK.to_owned(),
        "wrong_key" | "wrong_answer" | "wrong_ground_truth" => WRONG_KEY.to_owned(),
        other => other.to_owned(),
    }
}
