//! Whether an output was cut off: what the engine said, else how the text ends.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::extract::python::is_word;
use crate::record::Finish;

/// A list item, short enough to need no full stop: `- x`, `* x`, `3. x`, `(b) x`, `B) x`.
static LIST_ITEM: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s*(?:[-*+•–]|\(?(?:\d{1,2}|[A-Za-z])[.):])\s+\S.{0,58}$").expect("a constant pattern")
});

/// Stop tokens that stand in the text as text.
static SPECIAL_TOKEN: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?:<\|[^<>|\s]{1,30}\|>|</s>|<eos>|<end_of_turn>)$").expect("a constant pattern"));

pub(super) fn is_cut(text: &str, finish: Option<Finish>) -> bool {
    match finish {
        Some(finish) => matches!(finish, Finish::Length | Finish::User),
        None => looks_cut(text),
    }
}

/// The last few words, to be shown as where it breaks off.
pub(super) fn last_words(text: &str) -> Range<usize> {
    let end = text.trim_end().len();
    let line = text[..end].rfind('\n').map_or(0, |at| at + 1);
    let blanks = text[line..end].rmatch_indices(' ').map(|(at, _)| line + at + 1);
    blanks.take(3).last().unwrap_or(line)..end
}

fn looks_cut(text: &str) -> bool {
    let text = text.trim_end();
    let Some(last) = text.chars().next_back() else {
        return false;
    };
    let line = &text[text.rfind('\n').map_or(0, |at| at + 1)..];
    let ends_inside_word = is_word(last) && last != '_';
    let ends_with_open_sign = matches!(
        last,
        ',' | ';' | ':' | '-' | '–' | '—' | '(' | '[' | '{' | '/' | '\\' | '+' | '=' | '<'
    );
    if !ends_inside_word && !ends_with_open_sign {
        return last == '$' && has_open_formula(line);
    }
    let is_complete = ends_in_a_letter(text)
        || ends_in_a_formula(line) && !ends_with_open_sign
        || LIST_ITEM.is_match(line)
        || SPECIAL_TOKEN.is_match(line)
        || matches!(line, "Question" | "Question:");
    !is_complete
}

/// A letter on its own is an answer without a full stop; in scripts without blanks it may follow a word.
fn ends_in_a_letter(text: &str) -> bool {
    let mut last = text.chars().rev();
    let is_letter = last
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || ('Ａ'..='Ｚ').contains(&c));
    is_letter
        && last
            .next()
            .is_none_or(|before| !is_word(before) || before >= '\u{2e80}')
}

fn ends_in_a_formula(line: &str) -> bool {
    let from = line.char_indices().rev().nth(40).map_or(0, |(at, _)| at);
    line[from..].contains(['=', '≈', '≥', '≤', '→']) && !has_open_formula(line)
}

/// Whether a formula or bracket that the line opened is still open at its end.
fn has_open_formula(line: &str) -> bool {
    let displays = line.matches("$$").count();
    let dollars = line.matches('$').count() - 2 * displays;
    let opened = |open: &str, close: &str| line.matches(open).count() > line.matches(close).count();
    displays % 2 == 1 || dollars % 2 == 1 || opened("{", "}") || opened("\\[", "\\]") || opened("\\(", "\\)")
}
