//! Where a row keeps its options: in a list, or in a column each.

use serde_json::Value;

use super::columns::python_text;
use super::table::Row;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Options {
    /// A list, or an object of `text` and `label`.
    One(String),
    /// A column an option.
    Each(Vec<String>),
}

const NAMES: &[&str] = &["options", "choices", "candidates", "alternatives", "endings", "answers"];

impl Options {
    /// A list column, else columns named `option_a`, `A`, `choice1` and the like.
    pub fn find(rows: &[Row], names: &[String]) -> Option<Options> {
        let is_list = |name: &&String| {
            rows.iter()
                .filter_map(|row| row.get(*name))
                .any(|cell| listed_options(cell).0.len() > 1)
        };
        let named = NAMES
            .iter()
            .find_map(|known| names.iter().filter(|name| name.to_lowercase() == *known).find(is_list));
        if let Some(name) = named {
            return Some(Options::One(name.clone()));
        }
        for prefix in ["option", "choice", "answer", "op", ""] {
            for first in ["a", "1", "0"] {
                if prefix.is_empty() && first != "a" {
                    continue;
                }
                let columns: Vec<_> = (0..26u8)
                    .map_while(|index| option_column(names, prefix, first, index))
                    .collect();
                if columns.len() > 1 {
                    return Some(Options::Each(columns));
                }
            }
        }
        None
    }

    /// Texts and, where the row has them, labels of the options.
    pub fn of(&self, row: &Row) -> (Vec<String>, Vec<String>) {
        match self {
            Options::One(column) => listed_options(row.get(column).unwrap_or(&Value::Null)),
            Options::Each(columns) => {
                let cells: Vec<_> = columns
                    .iter()
                    .map(|column| row.get(column).unwrap_or(&Value::Null))
                    .collect();
                let is_empty = |cell: &&Value| cell.is_null() || cell.as_str().is_some_and(str::is_empty);
                let count = cells
                    .iter()
                    .rposition(|cell| !is_empty(cell))
                    .map_or(0, |last| last + 1);
                (
                    cells[..count].iter().map(|cell| python_text(cell)).collect(),
                    Vec::new(),
                )
            }
        }
    }

    /// Whether options come as a list, where a gold text is a text and not a cell of digits.
    pub fn are_listed(&self) -> bool {
        matches!(self, Options::One(_))
    }

    /// The list's column, where there is one.
    pub fn column(&self) -> Option<&str> {
        match self {
            Options::One(column) => Some(column),
            Options::Each(_) => None,
        }
    }
}

fn option_column(names: &[String], prefix: &str, first: &str, index: u8) -> Option<String> {
    let mark = match first {
        "a" => char::from(b'a' + index).to_string(),
        _ => (first.parse::<u8>().ok()? + index).to_string(),
    };
    names
        .iter()
        .find(|name| {
            let name = name.to_lowercase();
            let rest = name.strip_prefix(prefix).unwrap_or(&name[name.len()..]);
            rest.trim_start_matches(['_', ' ', '-']) == mark
        })
        .cloned()
}

fn listed_options(cell: &Value) -> (Vec<String>, Vec<String>) {
    match cell {
        Value::Array(items) => (items.iter().map(python_text).collect(), Vec::new()),
        Value::Object(object) => {
            let list = |names: &[&str]| {
                names
                    .iter()
                    .find_map(|name| object.get(*name)?.as_array())
                    .map(|items| items.iter().map(python_text).collect::<Vec<_>>())
            };
            match list(&["text", "texts"]) {
                Some(texts) => (texts, list(&["label", "labels"]).unwrap_or_default()),
                None => (
                    object.values().map(python_text).collect(),
                    object.keys().cloned().collect(),
                ),
            }
        }
        Value::String(text) if text.trim_start().starts_with(['[', '{']) => serde_json::from_str::<Value>(text)
            .map(|inner| listed_options(&inner))
            .unwrap_or_default(),
        _ => (Vec::new(), Vec::new()),
    }
}
