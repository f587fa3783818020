//! How the reference harness reads and compares, for rows that store no pick.

use crate::extract::Rule;
use crate::extract::argmax::argmax_first;
use crate::record::{INVALID, letter, letter_index};

/// The pick of the harness rule over a whole stored text.
pub(crate) fn read(text: &str) -> String {
    Rule::default().read(text).pick.unwrap_or(INVALID).to_owned()
}

/// The pick of texts that may be a bare letter: the first line, as the harness reads a generated MMLU answer, where that
/// is a letter but for punctuation; else the pick of the harness rule.
pub(crate) fn read_letter(text: &str) -> String {
    let line = text.trim_start().lines().next().unwrap_or_default();
    let bare = line.trim_matches(|c: char| c.is_ascii_punctuation() || c.is_whitespace());
    match letter_index(bare) {
        Some(_) => bare.to_owned(),
        None => read(text),
    }
}

/// The letter of the largest number.
pub(crate) fn argmax_letter(numbers: &[f64]) -> String {
    argmax_first(numbers)
        .and_then(letter)
        .map_or_else(|| INVALID.to_owned(), String::from)
}
