//! Tables of one row a question with a column of picks a model, as people write them to compare models.

use std::borrow::Cow;

use super::Options;
use super::columns::{Columns, with_own_names};
use super::head::Head;
use super::json::{Object, Raw};
use super::layout::{Answer, Entry, Layout, RowError, Sniffed, Tally};
use crate::record::letter_index;
use crate::rows::names::{GOLD, is_known, of_ours, plain};
use crate::trace::{Notice, Rows};

/// What a column's name holds that tells of several models or of none.
const NO_MODEL: [&str; 16] = [
    "majority",
    "vote",
    "consensus",
    "ensemble",
    "agreement",
    "gold",
    "truth",
    "correct",
    "answer_key",
    "label",
    "target",
    "human",
    "annotat",
    "expert",
    "second",
    "error_type",
];

#[derive(Debug, Clone)]
pub(crate) struct Wide {
    /// The columns of the question, shared by all models.
    shared: Vec<(String, String)>,
    models: Vec<Model>,
    source: &'static str,
}

#[derive(Debug, Clone)]
struct Model {
    name: String,
    columns: Columns,
}

/// A table whose gold is known by its name or by the map, and at least two of whose other columns hold letters.
pub(super) fn sniff(head: &Head, options: &Options) -> Option<Sniffed> {
    let first = head.rows.first()?;
    let shared = shared_columns(head, first, options)?;
    let sample = head.sample();
    let of_model = |name: &str| {
        let map = shared.iter().cloned().chain([("pick".to_owned(), name.to_owned())]);
        Columns::new(map.collect(), head.source, &sample, options.gold_base)
    };
    let taken = of_model("").option_columns();
    let is_model = |name: &&str| {
        let lower = name.to_lowercase();
        let is_free = !is_known(name)
            && !shared.iter().any(|(_, theirs)| theirs == name)
            && !taken.iter().any(|column| column == name);
        is_free && !NO_MODEL.iter().any(|word| lower.contains(word)) && holds_letters(name, &of_model(name), &sample)
    };
    let models: Vec<Model> = first
        .keys()
        .filter(is_model)
        .map(|name| Model {
            name: name.to_owned(),
            columns: of_model(name),
        })
        .collect();
    (models.len() > 1).then(|| Sniffed {
        run: Some(String::new()),
        ..Sniffed::new(
            "wide",
            Wide {
                shared,
                models,
                source: head.source,
            },
            head.shape.clone(),
        )
    })
}

/// The columns that all models share, where they are those of such a table.
fn shared_columns(head: &Head, first: &Object, options: &Options) -> Option<Vec<(String, String)>> {
    let mut shared = with_own_names(&head.rows, &options.map);
    let is_mapped = |shared: &[(String, String)], ours: &str| shared.iter().any(|(name, _)| name == ours);
    let of_one = ["pick", "reasoning", "logprobs"];
    if of_one.iter().any(|name| is_mapped(&shared, name)) {
        return None;
    }
    if !is_mapped(&shared, "answer") {
        let gold = GOLD
            .iter()
            .find_map(|known| first.keys().find(|name| plain(name) == *known))?;
        shared.push(("answer".to_owned(), gold.to_owned()));
    }
    for ours in ["question", "options", "question_id"] {
        let names = of_ours(ours);
        let found = first.keys().find(|name| names.contains(&plain(name)));
        if let Some(found) = found.filter(|_| !is_mapped(&shared, ours)) {
            shared.push((ours.to_owned(), found.to_owned()));
        }
    }
    let is_told = is_mapped(&shared, "question") || is_mapped(&shared, "question_id");
    is_told.then_some(shared)
}

/// Whether nearly all that stands in a column are texts that name an option.
fn holds_letters(name: &str, columns: &Columns, sample: &[Object]) -> bool {
    let filled = |row: &&Object| {
        row.get(name)
            .and_then(Raw::text)
            .is_some_and(|text| !text.trim().is_empty())
    };
    let rows: Vec<&Object> = sample.iter().filter(filled).collect();
    let is_letter = |row: &&&Object| {
        let record = columns.record(row, 0).unwrap_or_default();
        let is_among = |index: usize| record.options.is_empty() || index < record.options.len();
        letter_index(&record.pick).is_some_and(is_among)
    };
    let is_number = |row: &Object| row.float(name).is_some();
    let letters = rows.iter().filter(is_letter).count();
    !rows.is_empty() && letters * 10 >= rows.len() * 8 && !rows.iter().all(|row| is_number(row))
}

impl Layout for Wide {
    /// A row holds the picks of all models, a run those of one.
    fn stands_alone(&self) -> bool {
        false
    }

    fn answers(&self, entry: &Entry) -> Result<Vec<Answer>, RowError> {
        let row = entry.object()?;
        self.models
            .iter()
            .map(|model| {
                Ok(Answer {
                    record: model.columns.record(&row, entry.number)?,
                    order: entry.number as i64,
                    series: Cow::Owned(model.name.clone()),
                    is_local_id: !self.shared.iter().any(|(ours, _)| ours == "question_id"),
                    text_id: model.columns.text_id(&row, entry.number),
                    ..Answer::default()
                })
            })
            .collect()
    }

    fn kind(&self, tally: &Tally) -> String {
        format!(
            "{}, one column a model: {} of {}",
            self.source,
            tally.own_series,
            self.models.len()
        )
    }

    fn notices(&self, rows: &Rows) -> Vec<Notice> {
        self.models[0].columns.value_notices(rows)
    }

    fn series(&self) -> &'static str {
        "models"
    }
}
