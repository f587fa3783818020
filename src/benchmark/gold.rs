//! How a column names the right option: by letter, by number, or by the option's own text.

use serde_json::Value;

use super::columns::python_text;
use super::options::Options;
use super::style::strip;
use super::table::Row;

/// How a gold value names its option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GoldKind {
    Letter,
    /// 0-based, or 1-based.
    Index {
        base: i64,
    },
    /// The option's own text, or its label.
    Text,
}

impl GoldKind {
    /// The index that a gold value names; it may lie outside the options.
    pub fn read(self, gold: &Value, options: &[String], labels: &[String]) -> Option<usize> {
        match self {
            GoldKind::Letter => by_letter(gold),
            GoldKind::Index { base } => match whole_number(gold) {
                Some(number) => usize::try_from(number.checked_sub(base)?).ok(),
                None => by_letter(gold),
            },
            GoldKind::Text => by_text(gold, options, labels),
        }
    }

    /// How a column of golds is meant: the way that finds an option in most of the rows. Where several do, a letter
    /// goes first; a listed option's text goes before a number written as text.
    pub fn find(rows: &[Row], column: &str, options: &Options) -> GoldKind {
        let is_written = rows.iter().any(|row| row.get(column).is_some_and(Value::is_string));
        let (zero, one) = (GoldKind::Index { base: 0 }, GoldKind::Index { base: 1 });
        let kinds = if is_written && options.are_listed() {
            [GoldKind::Letter, GoldKind::Text, zero, one]
        } else {
            [GoldKind::Letter, zero, one, GoldKind::Text]
        };
        let mut found = [0usize; 4];
        for row in rows {
            let (texts, labels) = options.of(row);
            let gold = row.get(column).unwrap_or(&Value::Null);
            for (kind, found) in kinds.iter().zip(&mut found) {
                *found += usize::from(kind.read(gold, &texts, &labels).is_some_and(|gold| gold < texts.len()));
            }
        }
        let most = found.iter().max().copied().unwrap_or(0);
        kinds[found.iter().position(|count| *count == most).unwrap_or(0)]
    }

    /// What a person should know of a column that had to be interpreted.
    pub fn note(self, column: &str) -> Option<String> {
        match self {
            GoldKind::Letter => None,
            GoldKind::Index { base } => Some(format!("column {column} counts the options from {base}")),
            GoldKind::Text => Some(format!("column {column} holds the text or label of the right option")),
        }
    }
}

/// `B`, `b`, `(B)` or `B.`.
fn by_letter(gold: &Value) -> Option<usize> {
    let text = gold.as_str()?.trim().trim_matches(['(', ')', '.']);
    match text.as_bytes() {
        [letter] if letter.is_ascii_alphabetic() => Some(usize::from(letter.to_ascii_uppercase() - b'A')),
        _ => None,
    }
}

pub(super) fn whole_number(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => number.as_i64().or_else(|| {
            number
                .as_f64()
                .filter(|float| float.fract() == 0.0)
                .map(|float| float as i64)
        }),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

fn by_text(gold: &Value, options: &[String], labels: &[String]) -> Option<usize> {
    let text = python_text(gold);
    let place = |texts: &[String]| texts.iter().position(|option| *option == text);
    place(labels)
        .or_else(|| place(options))
        .or_else(|| options.iter().position(|option| strip(option) == strip(&text)))
}
