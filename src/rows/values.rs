//! What one cell says of options: letters, marks, texts, positions and numbers.

use serde_json::Value;

use super::texts::{half_width, mark_length};
use crate::json::python_text;
use crate::text::strip;

/// A gold value as text; a list of one is its item.
pub(super) fn value_text(gold: &Value) -> String {
    match gold {
        Value::Array(items) if items.len() == 1 => value_text(&items[0]),
        Value::Array(_) => String::new(),
        Value::String(text) => match text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
            Some(inner) => inner.trim().trim_matches(['\'', '"']).to_owned(),
            None => text.clone(),
        },
        other => python_text(other),
    }
}

/// The option that a text names by its letter, with or without the option's text after it. What is an option to the
/// letter (`C++`, `B.`) is its text, not its letter.
pub(super) fn letter_among(text: &str, options: &[String]) -> Option<usize> {
    let bare = strip(text);
    if bare.chars().count() > 1 && options.iter().any(|option| strip(option) == bare) {
        return None;
    }
    let index = |letter: &str| match letter.as_bytes() {
        [letter] if letter.is_ascii_alphabetic() => Some(usize::from(letter.to_ascii_uppercase() - b'A')),
        _ => None,
    };
    let with_text = || {
        let (first, rest) = bare.split_once([' ', '-', '\t', '\n'])?;
        index(first).filter(|letter| by_text(rest, options) == Some(*letter))
    };
    lone_letter(bare)
        .or_else(|| index(&split_mark(bare)?.0))
        .or_else(with_text)
}

/// The place of the letter that a text is, whatever marks stand around it: `b`, ` B.`, `**B**`, `Ｂ`, `【B】`, `\boxed{B}`.
pub(crate) fn lone_letter(text: &str) -> Option<usize> {
    let text = half_width(text);
    let mut bare = strip(&text);
    for command in ["\\boxed{", "\\text{", "\\mathbf{", "\\textbf{"] {
        bare = bare
            .trim_start_matches(['$', '\\', '('])
            .strip_prefix(&command[1..])
            .unwrap_or(bare);
    }
    let is_mark = |c: char| c.is_whitespace() || "()[]{}<>.,:;*`'\"$_\\。、「」『』【】《》〈〉“”‘’".contains(c);
    match bare.trim_matches(is_mark).as_bytes() {
        [letter] if letter.is_ascii_alphabetic() => Some(usize::from(letter.to_ascii_uppercase() - b'A')),
        _ => None,
    }
}

/// The place of the letter that a text is or begins with as an option's mark: `B`, `(B) lead`, `B. lead`, `Option B`.
pub(crate) fn marked_letter(text: &str) -> Option<usize> {
    lone_letter(text).or_else(|| match split_mark(text)?.0.as_bytes() {
        [mark] if mark.is_ascii_alphabetic() => Some(usize::from(mark.to_ascii_uppercase() - b'A')),
        _ => None,
    })
}

/// What stands between the marks of several options, or the letters of `ACD`, capitals in their order.
pub(super) fn parts_of(text: &str, has_options: bool) -> Option<Vec<Value>> {
    let text = strip(text).trim_matches(['(', ')', '[', ']', '{', '}']);
    let is_run = has_options
        && text.len() > 1
        && text.bytes().all(|byte| byte.is_ascii_uppercase())
        && text.as_bytes().windows(2).all(|pair| pair[0] < pair[1]);
    if is_run {
        return Some(text.chars().map(|letter| letter.to_string().into()).collect());
    }
    let words = text.replace(" and ", ",").replace(" or ", ",");
    let parts: Vec<&str> = words.split([',', ';', '/', '|', '&', '+', '、']).map(strip).collect();
    let is_mark = |part: &&str| lone_letter(part).is_some() || whole_number(&Value::from(*part)).is_some();
    (parts.len() > 1 && parts.iter().all(is_mark)).then(|| parts.into_iter().map(Value::from).collect())
}

/// The mark of an option and what follows it: `C`, `c)`, `(C)`, `C. gamma`, `Option C`, `3. gamma`.
pub(super) fn split_mark(text: &str) -> Option<(String, String)> {
    let text = half_width(text);
    let text = strip(&text);
    let word = text.split([' ', ':', '_']).next().unwrap_or_default();
    let is_said = ["option", "choice", "answer"]
        .iter()
        .any(|known| word.eq_ignore_ascii_case(known));
    let text = if is_said {
        text[word.len()..].trim_start_matches([' ', ':', '_'])
    } else {
        text
    };
    let bare = text.trim_start_matches(['(', '[']);
    let letters = bare.chars().next().is_some_and(|c| c.is_ascii_alphabetic());
    let length = if letters {
        1
    } else {
        bare.len() - bare.trim_start_matches(|c: char| c.is_ascii_digit()).len()
    };
    let mark = &bare[..length];
    if mark.is_empty() || mark.len() > 4 {
        return None;
    }
    if bare.len() == length && bare.len() == text.len() {
        return Some((mark.to_owned(), String::new()));
    }
    let rest = &text[mark_length(text, mark)?..];
    Some((mark.to_owned(), rest.to_owned()))
}

/// The option of this text: to the letter, else but for white space around it, else but for case, blanks and a full
/// stop, where that is one option only. Yes and no are spoken for true and false.
pub(super) fn by_text(text: &str, options: &[String]) -> Option<usize> {
    let exact = options.iter().position(|option| option == text);
    let stripped = || options.iter().position(|option| strip(option) == strip(text));
    let loosely = |wanted: &str| {
        let wanted = loose(wanted);
        let first = |text: &str| text.trim_start().chars().next().map(|c| c.to_lowercase().next());
        let is_it = |option: &str| first(option) == first(&wanted) && loose(option) == wanted;
        let mut found = options.iter().enumerate().filter(|(_, option)| is_it(option));
        match (found.next(), found.next()) {
            (Some((index, _)), None) if !wanted.is_empty() => Some(index),
            _ => None,
        }
    };
    exact
        .or_else(stripped)
        .or_else(|| loosely(text))
        .or_else(|| match text {
            "True" => loosely("yes"),
            "False" => loosely("no"),
            _ => None,
        })
}

pub(super) fn loose(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").trim_end_matches('.').to_lowercase()
}

/// Which of several marks is the one that is set.
pub(super) fn one_hot(marks: &[Value]) -> Option<usize> {
    match marks_set(marks)?.as_slice() {
        [only] => Some(*only),
        _ => None,
    }
}

/// The places of the marks that are set, where all are marks.
pub(super) fn marks_set(marks: &[Value]) -> Option<Vec<usize>> {
    let set = |mark: &Value| match mark {
        Value::Bool(set) => Some(*set),
        _ => match whole_number(mark) {
            Some(0) => Some(false),
            Some(1) => Some(true),
            _ => None,
        },
    };
    let marks: Vec<bool> = marks.iter().map(set).collect::<Option<_>>()?;
    let places = marks.iter().enumerate().filter(|(_, set)| **set);
    Some(places.map(|(place, _)| place).collect())
}

/// A whole number, also one that is written as text or as a float (`2.0`, in some countries `2,0`).
pub(crate) fn whole_number(value: &Value) -> Option<i64> {
    // Beyond this, floats skip whole numbers.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let of_float = |float: f64| (float.fract() == 0.0 && float.abs() <= EXACT).then_some(float as i64);
    match value {
        Value::Number(number) if number.is_f64() => of_float(number.as_f64()?),
        Value::Number(number) => number.as_i64(),
        Value::String(text) => {
            let text = half_width(text);
            let text = text.trim();
            let text = text.strip_suffix(",0").unwrap_or(text);
            let is_plain = text
                .bytes()
                .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+'));
            let float = || text.parse::<f64>().ok().and_then(of_float);
            text.parse().ok().or_else(|| float().filter(|_| is_plain))
        }
        _ => None,
    }
}
