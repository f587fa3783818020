//! The result lists of the MMLU-Pro authors: the questions of the set, each with the model's text and what was read.

use std::collections::HashSet;
use std::ops::RangeInclusive;

use serde_json::{Map, Value};

use super::Options;
use super::harness;
use super::head::Head;
use super::json::{Object, Raw};
use super::layout::{Answer, Entry, Layout, RowError, Sniffed, Tally, completion_text, flag, set_completion};
use super::values::{self, Said, Values, choices_of};
use crate::benchmark::hash::doc_hash;
use crate::record::{Record, letter_index};
use crate::rows::options::Choices;
use crate::text::thousands;
use crate::trace::{Field, Notice, Rows};

/// Where the text of the model stands, by the script that wrote the file.
const TEXTS: [&str; 10] = [
    "model_outputs",
    "generated_text",
    "response",
    "model_output",
    "model_response",
    "outputs",
    "output",
    "completion",
    "generation",
    "raw_output",
];
const PICKS: [&str; 6] = [
    "pred",
    "prediction",
    "predicted_answer",
    "extracted_answer",
    "model_answer",
    "parsed_answer",
];

/// The columns of the question set, in its order.
const DOC: [&str; 8] = [
    "question_id",
    "question",
    "options",
    "answer",
    "answer_index",
    "cot_content",
    "category",
    "src",
];

/// Test questions of MMLU-Pro a category, and the ids among which theirs lie.
const QUESTIONS: [(&str, usize, RangeInclusive<i64>); 14] = [
    ("biology", 717, 2804..=3525),
    ("business", 789, 70..=865),
    ("chemistry", 1132, 3526..=4668),
    ("computer science", 410, 10356..=10773),
    ("economics", 844, 6826..=7686),
    ("engineering", 969, 11285..=12256),
    ("health", 818, 6001..=6825),
    ("history", 381, 4669..=5058),
    ("law", 1101, 866..=1985),
    ("math", 1351, 7687..=9043),
    ("other", 924, 5059..=6000),
    ("philosophy", 499, 10774..=11284),
    ("physics", 1299, 9044..=10355),
    ("psychology", 798, 1986..=2803),
];

pub(super) fn is_category(name: &str) -> bool {
    QUESTIONS.iter().any(|(known, ..)| *known == name)
}

#[derive(Debug, Clone)]
pub(crate) struct Tiger {
    text: Option<String>,
    pick: Option<&'static str>,
    values: Values,
    /// Number of the first option.
    base: i64,
}

pub(crate) fn sniff(head: &Head, options: &Options) -> Option<Sniffed> {
    let is_row = |row: &&Object| {
        let is_question = row.has("options") && (row.has("answer") || row.has("answer_index"));
        is_question && (row.has("question_id") || row.has("question")) && !row.has("doc") && !row.has("picks")
    };
    let rows: Vec<&Object> = head.rows.iter().filter(is_row).collect();
    let has = |key: &&&str| rows.iter().any(|row| row.has(key));
    let text = TEXTS.iter().find(has).map(|key| (*key).to_owned());
    let pick = PICKS.iter().find(has).copied();
    if text.is_none() && pick.is_none() {
        return None;
    }
    let name = head
        .stem
        .strip_prefix("model_outputs_")
        .map(|rest| match rest.rsplit_once('_') {
            Some((name, shots)) if shots.ends_with("shots") || shots.ends_with("shot") => name.to_owned(),
            _ => rest.to_owned(),
        });
    Some(Sniffed {
        name,
        split: rows.iter().find_map(|row| row.text("category")),
        ..Sniffed::new(
            "mmlu-pro",
            Tiger {
                text,
                pick,
                values: values(&head.sample(), pick, options.gold_base),
                base: options.gold_base.unwrap_or(0),
            },
            head.shape.clone(),
        )
    })
}

impl Layout for Tiger {
    fn answers(&self, entry: &Entry) -> Result<Vec<Answer>, RowError> {
        let row = entry.object()?;
        let choices = choices(row.get("options").ok_or("no options")?);
        let gold = gold(&row);
        if self.values.is_no_gold(gold, || choices.clone()) {
            return Err(RowError::NoRow("no gold"));
        }
        let stored_id = row.get("question_id");
        let id = stored_id.and_then(Raw::int);
        let category = row.text("category").unwrap_or_default();
        let doc = doc(&row);
        let mut record = Record {
            question_id: id.unwrap_or(entry.number as i64),
            benchmark: "mmlu_pro".to_owned(),
            subject: category.clone(),
            category,
            question: row.text("question").unwrap_or_default(),
            options: choices.texts.clone(),
            prompt: row.first(&["prompt", "input_text"]).map(Raw::shown).unwrap_or_default(),
            doc_hash: doc_hash(&doc),
            doc: Some(doc.to_string()),
            ..Record::default()
        };
        let text = self.text_of(&row);
        if text.is_some() || self.text.is_some() {
            set_completion(&mut record, text);
        }
        let pick = self.pick.map(|key| row.get(key));
        if pick.is_none() {
            flag(&mut record, "pick_read");
            record.pick = harness::read(&record.reasoning);
        }
        self.values.settle(&mut record, &choices, Some(gold), pick);
        if let (Some(index), Some(gold)) = (row.int("answer_index"), letter_index(&record.answer))
            && index != gold as i64
        {
            flag(&mut record, "gold_conflict");
        }
        Ok(vec![Answer {
            record,
            order: entry.number as i64,
            is_local_id: stored_id.is_none(),
            text_id: stored_id.filter(|_| id.is_none()).map(Raw::shown),
            ..Answer::default()
        }])
    }

    fn kind(&self, tally: &Tally) -> String {
        let text = self
            .text
            .as_ref()
            .map_or_else(|| "without texts".to_owned(), |key| format!("text under {key}"));
        let files = if tally.files > 1 {
            format!(", {} files, one a category", tally.files)
        } else {
            String::new()
        };
        format!("MMLU-Pro authors' result list, {text}{files}")
    }

    fn text(&self, entry: &Entry, _part: usize, field: Field) -> Option<String> {
        let row = entry.object().ok()?;
        match field {
            Field::Completion => Some(completion_text(self.text_of(&row)).0),
            Field::Question => row.text("question"),
            Field::Prompt => None,
        }
    }

    fn notices(&self, rows: &Rows) -> Vec<Notice> {
        missing(rows)
            .into_iter()
            .chain(values::notices(rows, self.base))
            .collect()
    }
}

impl Tiger {
    fn text_of<'a>(&self, row: &Object<'a>) -> Option<Raw<'a>> {
        row.get(self.text.as_deref()?).or_else(|| row.first(&TEXTS))
    }
}

/// The row's columns of the question set, in the set's order.
fn doc(row: &Object) -> Value {
    let value = |key: &str| {
        let raw = row.field(key)?;
        // A table has its numbers as texts.
        let number = matches!(key, "question_id" | "answer_index")
            .then(|| raw.int())
            .flatten();
        Some(number.map_or_else(|| raw.value(), Value::from))
    };
    let fields = DOC.iter().filter_map(|key| Some(((*key).to_owned(), value(key)?)));
    Value::Object(fields.collect::<Map<String, Value>>())
}

/// What says the gold; where there is no letter, the index.
fn gold<'a>(row: &Object<'a>) -> Option<Raw<'a>> {
    row.first(&["answer", "answer_index"])
}

fn choices(options: Raw) -> Choices {
    let choices = choices_of(options);
    // A text that is no list names no options.
    if choices.texts.len() < 2 && options.is_string() {
        Choices::default()
    } else {
        choices
    }
}

/// How the file writes its golds and picks.
fn values(rows: &[Object], pick: Option<&str>, base: Option<i64>) -> Values {
    let value = |raw: Option<Raw>| raw.map(Raw::value).unwrap_or_default();
    let said = |row: &Object| Said {
        gold: value(gold(row)),
        pick: value(pick.and_then(|key| row.get(key))),
        choices: row.get("options").map(choices).unwrap_or_default(),
    };
    Values::find(&rows.iter().map(said).collect::<Vec<_>>(), base)
}

/// Questions of the test set that are not in the file: of the whole set, or of the categories that the file has. Files of
/// other questions lack none, and neither does a choice of some: only the end of a list, or less than half of it.
fn missing(rows: &Rows) -> Option<Notice> {
    let held: HashSet<i64> = rows.question_id.iter().copied().collect();
    let names: Vec<&str> = rows.category.list().iter().map(|name| &**name).collect();
    let is_whole_set = names.len() > QUESTIONS.len() / 2;
    let is_meant = |name: &str| is_whole_set || names.contains(&name);
    let meant: Vec<_> = QUESTIONS.iter().filter(|(name, ..)| is_meant(name)).collect();
    if !is_whole_set && meant.len() < names.len() {
        return None;
    }
    let expected: usize = meant.iter().map(|(_, questions, _)| questions).sum();
    let lacking = expected.checked_sub(held.len()).filter(|lacking| *lacking > 0)?;
    let is_of_set = |id: &&i64| meant.iter().any(|(.., ids)| ids.contains(id));
    let is_other = held.iter().filter(is_of_set).count() * 2 <= held.len();
    let first = meant.iter().map(|(.., ids)| ids.start()).min();
    let is_begun = held.iter().min() == first;
    if is_other || lacking * 2 > expected && !is_begun {
        return None;
    }
    let of = if is_whole_set {
        String::new()
    } else {
        format!(" of {}", names.join(", "))
    };
    let text = format!(
        "{} of {} questions{of} are not in this file",
        thousands(lacking),
        thousands(expected)
    );
    Some(Notice {
        kind: "missing_rows".to_owned(),
        text,
    })
}
