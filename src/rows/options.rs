//! Where a row keeps its options: in a list, in one text, or in a column each.

use serde_json::{Map, Value};

use super::Cells;
use super::names::{OPTION_PREFIXES, OPTIONS, plain};
use super::texts::{lettered, literal, without_mark};
use crate::json::python_text;
use crate::text::strip;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Options {
    /// The list of a published set, taken as it is.
    List(String),
    /// A column that holds all options of a row, in whatever form.
    One(String),
    /// A column of texts in which this character stands between the options.
    Parted(String, char),
    /// A column an option.
    Each(Vec<String>),
}

/// The options of a row.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Choices {
    pub texts: Vec<String>,
    /// What the row calls them; empty where it calls them nothing.
    pub labels: Vec<String>,
}

/// Where an own set keeps its options, and whether each is written with its letter, which is then no part of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OwnOptions {
    pub place: Options,
    pub is_marked: bool,
}

const TEXT_KEYS: &[&str] = &[
    "text",
    "content",
    "value",
    "optiontext",
    "choicetext",
    "answertext",
    "body",
    "option",
    "choice",
    "answer",
];
const LABEL_KEYS: &[&str] = &[
    "label", "key", "letter", "id", "optionid", "name", "index", "idx", "option", "choice",
];

impl OwnOptions {
    /// A list column, else columns named `option_a`, `A`, `choice1` and the like.
    pub fn find(rows: &[&Cells], names: &[String]) -> Option<OwnOptions> {
        Some(OwnOptions::at(Options::find(rows, names)?, rows))
    }

    /// Options in the columns that a person names: one that holds all of them, or a column an option.
    pub fn named(rows: &[&Cells], columns: &[String]) -> OwnOptions {
        let place = match columns {
            [only] => Options::parted(rows, only).unwrap_or_else(|| Options::One(only.clone())),
            several => Options::Each(several.to_vec()),
        };
        OwnOptions::at(place, rows)
    }

    fn at(place: Options, rows: &[&Cells]) -> OwnOptions {
        let mut asked = rows
            .iter()
            .map(|row| place.of(row).texts)
            .filter(|texts| texts.len() > 1)
            .peekable();
        let is_marked = asked.peek().is_some()
            && asked.all(|texts| {
                texts
                    .iter()
                    .enumerate()
                    .all(|(index, text)| without_mark(text, index).is_some())
            });
        OwnOptions { place, is_marked }
    }

    pub fn of(&self, row: &Cells) -> Choices {
        let mut choices = self.place.of(row);
        if self.is_marked {
            for (index, text) in choices.texts.iter_mut().enumerate() {
                if let Some(bare) = without_mark(text, index) {
                    *text = bare.to_owned();
                }
            }
        }
        choices
    }

    /// What a person should know of how the options were read.
    pub fn notes(&self) -> Vec<String> {
        let parted = match &self.place {
            Options::Parted(column, '\n') => Some(format!("column {column} is one text: an option a line")),
            Options::Parted(column, mark) => Some(format!("column {column} is one text: options parted at {mark:?}")),
            _ => None,
        };
        let marked = self
            .is_marked
            .then(|| "the options are written with their letters, which were taken off".to_owned());
        parted.into_iter().chain(marked).collect()
    }
}

impl Options {
    fn find(rows: &[&Cells], names: &[String]) -> Option<Options> {
        let named: Vec<&String> = OPTIONS
            .iter()
            .flat_map(|known| names.iter().filter(move |name| plain(name) == *known))
            .collect();
        if let Some(name) = named.iter().find(|name| are_lists(rows, name)) {
            return Some(Options::One((*name).clone()));
        }
        for prefix in OPTION_PREFIXES {
            // From 0 before from 1: `opt0` to `opt3` have an `opt1` too.
            for first in ["a", "0", "1"] {
                if prefix.is_empty() && first != "a" {
                    continue;
                }
                let columns: Vec<_> = (0..)
                    .map_while(|index| option_column(names, prefix, first, index))
                    .collect();
                if columns.len() > 1 {
                    return Some(Options::Each(columns));
                }
            }
        }
        named.iter().find_map(|name| Options::parted(rows, name))
    }

    /// A column of texts with one character between the options of every row.
    fn parted(rows: &[&Cells], name: &str) -> Option<Options> {
        if are_lists(rows, name) {
            return None;
        }
        let texts: Vec<&str> = rows
            .iter()
            .filter_map(|row| row.get(name)?.as_str())
            .filter(|text| !text.trim().is_empty())
            .collect();
        let mark = ['\n', '|', ';', '\t']
            .into_iter()
            .find(|mark| !texts.is_empty() && texts.iter().all(|text| text.trim().contains(*mark)))?;
        Some(Options::Parted(name.to_owned(), mark))
    }

    /// The options of a row. Empty ones at the end are none; one in the middle keeps its letter and has no text.
    pub fn of(&self, row: &Cells) -> Choices {
        match self {
            Options::List(column) => match row.get(column) {
                Some(Value::Array(items)) => Choices::unlabelled(items.iter().map(python_text)),
                Some(Value::String(text)) => literal(text).map(|value| read_choices(&value)).unwrap_or_default(),
                Some(cell) => read_choices(cell),
                None => Choices::default(),
            },
            Options::One(column) => row.get(column).map(read_choices).unwrap_or_default(),
            Options::Parted(column, mark) => {
                let text = row.get(column).and_then(Value::as_str).unwrap_or_default();
                let parts = text.trim().split(*mark).map(|part| strip(part).to_owned());
                Choices::unlabelled(parts.filter(|part| *mark != '\n' || !part.is_empty()))
            }
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
                Choices::unlabelled(cells[..count].iter().map(|cell| python_text(cell)))
            }
        }
    }

    /// Whether options come as a list, where a gold text is a text and not a cell of digits.
    pub fn are_listed(&self) -> bool {
        !matches!(self, Options::Each(_))
    }

    /// The columns that hold the options.
    pub fn columns(&self) -> &[String] {
        match self {
            Options::List(column) | Options::One(column) | Options::Parted(column, _) => std::slice::from_ref(column),
            Options::Each(columns) => columns,
        }
    }
}

impl Choices {
    pub fn unlabelled(texts: impl Iterator<Item = String>) -> Choices {
        Choices {
            texts: texts.collect(),
            labels: Vec::new(),
        }
    }
}

/// Whether a row has several options in this column.
fn are_lists(rows: &[&Cells], name: &str) -> bool {
    let mut cells = rows.iter().filter_map(|row| row.get(name));
    cells.any(|cell| read_choices(cell).texts.len() > 1)
}

fn option_column(names: &[String], prefix: &str, first: &str, index: u32) -> Option<String> {
    let mark = match first {
        "a" => char::from_u32(u32::from(b'a') + index)
            .filter(char::is_ascii_lowercase)?
            .to_string(),
        _ => (first.parse::<u32>().ok()? + index).to_string(),
    };
    let wanted = [prefix, &mark].concat();
    names.iter().find(|name| plain(name) == wanted).cloned()
}

/// Options as a list of texts or of objects, as an object of two lists or of one text a label, or as a text of these.
pub(crate) fn read_choices(cell: &Value) -> Choices {
    match cell {
        Value::Array(items) => {
            let last = items.iter().rposition(|item| !item.is_null());
            let items = &items[..last.map_or(0, |last| last + 1)];
            let pairs: Option<Vec<_>> = items.iter().map(label_and_text).collect();
            match pairs {
                Some(pairs) if items.iter().any(|item| !item.is_null()) => Choices::labelled(pairs),
                _ => Choices::unlabelled(items.iter().map(option_text)),
            }
        }
        Value::Object(object) => {
            let list = |names: &[&str]| member(object, names).and_then(Value::as_array);
            match list(&["text", "texts"]) {
                Some(texts) => {
                    let last = texts.iter().rposition(|text| !text.is_null());
                    let count = last.map_or(0, |last| last + 1);
                    let labels =
                        list(&["label", "labels"]).map(|labels| labels.iter().take(count).map(python_text).collect());
                    Choices {
                        texts: texts[..count].iter().map(python_text).collect(),
                        labels: labels.unwrap_or_default(),
                    }
                }
                None => {
                    let last = object.values().rposition(|text| !text.is_null());
                    let entries = object.iter().take(last.map_or(0, |last| last + 1));
                    Choices::labelled(
                        entries
                            .map(|(label, text)| (label.clone(), option_text(text)))
                            .collect(),
                    )
                }
            }
        }
        Value::String(text) => match literal(text) {
            Some(Value::String(_)) => Choices::default(),
            Some(value) => read_choices(&value),
            None => lettered(text)
                .map(|texts| Choices::unlabelled(texts.into_iter()))
                .unwrap_or_default(),
        },
        _ => Choices::default(),
    }
}

impl Choices {
    /// Labels count only where every option has one.
    fn labelled(pairs: Vec<(String, String)>) -> Choices {
        let (labels, texts): (Vec<String>, Vec<String>) = pairs.into_iter().unzip();
        let is_named = labels.iter().all(|label| !label.is_empty());
        Choices {
            texts,
            labels: if is_named { labels } else { Vec::new() },
        }
    }
}

/// The label (empty where there is none) and the text of an option that is an object, a pair, or nothing.
fn label_and_text(item: &Value) -> Option<(String, String)> {
    match item {
        Value::Object(object) => match object.iter().next() {
            Some((label, Value::String(text))) if object.len() == 1 && !TEXT_KEYS.contains(&plain(label).as_str()) => {
                Some((label.clone(), text.clone()))
            }
            _ => {
                let label = member(object, LABEL_KEYS).filter(|label| label.is_string() || label.is_number());
                Some((label.map(python_text).unwrap_or_default(), option_text(item)))
            }
        },
        Value::Array(pair) => match pair.as_slice() {
            [Value::String(label), text @ Value::String(_)] if label.chars().count() <= 2 => {
                Some((label.clone(), python_text(text)))
            }
            _ => None,
        },
        Value::Null => Some((String::new(), String::new())),
        _ => None,
    }
}

/// An option's text, where it is an object that of the member that says it.
fn option_text(value: &Value) -> String {
    let Value::Object(object) = value else {
        return python_text(value);
    };
    let named = member(object, TEXT_KEYS).filter(|text| !text.is_object() && !text.is_array());
    let label = member(object, LABEL_KEYS);
    let other = || object.values().find(|text| text.is_string() && Some(*text) != label);
    named.or_else(other).map_or_else(|| value.to_string(), python_text)
}

fn member<'o>(object: &'o Map<String, Value>, names: &[&str]) -> Option<&'o Value> {
    names
        .iter()
        .find_map(|name| object.iter().find(|(key, _)| plain(key) == *name))
        .map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse;

    #[test]
    fn options_come_in_many_forms() {
        for (cell, texts, labels) in [
            (r#"["x", 2, true, null]"#, "x|2|True", ""),
            (r#"["x", null, "z", null, null]"#, "x||z", ""),
            (
                r#"[{"label": "A", "text": "x"}, {"label": "B", "text": "y"}]"#,
                "x|y",
                "A|B",
            ),
            (
                r#"[{"id": 7, "Option Text": "x"}, {"id": 8, "Option Text": "y"}, null]"#,
                "x|y",
                "7|8",
            ),
            (
                r#"[{"option": "A", "value": "x"}, {"option": "B", "value": "y"}]"#,
                "x|y",
                "A|B",
            ),
            (r#"[{"text": "x"}, {"text": "y"}]"#, "x|y", ""),
            (r#"[{"A": "x"}, {"B": "y"}]"#, "x|y", "A|B"),
            (r#"[["A", "x"], ["B", "y"]]"#, "x|y", "A|B"),
            (r#"{"A": "x", "B": null, "C": "z", "D": null}"#, "x||z", "A|B|C"),
            (r#"{"label": ["1", "2"], "text": ["x", "y"]}"#, "x|y", "1|2"),
            (r#""['x', \"y\"]""#, "x|y", ""),
            (r#""{'A': 'x', 'B': 'y'}""#, "x|y", "A|B"),
            (r#""A) x\nB) y""#, "x|y", ""),
            (r#""x and y""#, "", ""),
            ("null", "", ""),
        ] {
            let read = read_choices(&parse(cell).unwrap());
            assert_eq!(
                (read.texts.join("|"), read.labels.join("|")),
                (texts.into(), labels.into()),
                "{cell}"
            );
        }
    }
}
