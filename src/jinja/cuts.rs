//! Texts cut, searched and padded as Python does it.

use super::call::{Arguments, int_of, text_of};
use super::meter::{Meter, Text};
use super::methods::made;
use super::value::Value;
use super::{Error, Result};
use crate::text::is_python_space as is_space;

/// Python's `strip` family: the given characters, else all white space.
pub(super) fn strip<'a>(text: &'a str, cut: Option<&str>, at_start: bool, at_end: bool) -> &'a str {
    let is_cut = |c: char| cut.map_or_else(|| is_space(c), |cut| cut.contains(c));
    let text = if at_start {
        text.trim_start_matches(is_cut)
    } else {
        text
    };
    if at_end { text.trim_end_matches(is_cut) } else { text }
}

pub(super) fn split_at<'a>(text: &'a str, separator: &str, most: usize, from_end: bool) -> Vec<&'a str> {
    if !from_end {
        return text.splitn(most.saturating_add(1), separator).collect();
    }
    let mut parts: Vec<&str> = text.rsplitn(most.saturating_add(1), separator).collect();
    parts.reverse();
    parts
}

pub(super) fn split_at_space(text: &str, most: usize, from_end: bool) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    loop {
        rest = strip(rest, None, !from_end, from_end);
        if rest.is_empty() {
            break;
        }
        let cut = match (parts.len() < most, from_end) {
            (false, _) => None,
            (true, false) => rest.find(is_space),
            (true, true) => rest.rfind(is_space),
        };
        match cut {
            None => {
                parts.push(strip(
                    rest,
                    None,
                    from_end && parts.len() < most,
                    !from_end && parts.len() < most,
                ));
                break;
            }
            Some(at) if from_end => {
                let width = rest[at..].chars().next().map_or(1, char::len_utf8);
                parts.push(&rest[at + width..]);
                rest = &rest[..at];
            }
            Some(at) => {
                parts.push(&rest[..at]);
                rest = &rest[at..];
            }
        }
    }
    if from_end {
        parts.reverse();
    }
    parts
}

/// Python's lines: more signs break them than Rust's.
pub(super) fn lines(text: &str, keeps_ends: bool) -> Vec<&str> {
    let breaks = |c: char| {
        matches!(
            c,
            '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}'
        )
    };
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(breaks) {
        let width = if rest[at..].starts_with("\r\n") {
            2
        } else {
            rest[at..].chars().next().map_or(1, char::len_utf8)
        };
        lines.push(&rest[..if keeps_ends { at + width } else { at }]);
        rest = &rest[at + width..];
    }
    if !rest.is_empty() {
        lines.push(rest);
    }
    lines
}

pub(super) fn partition(text: &str, separator: &str, is_last: bool, meter: &Meter) -> Result<Value> {
    if separator.is_empty() {
        return Err(Error::python("empty separator"));
    }
    let found = if is_last {
        text.rsplit_once(separator)
    } else {
        text.split_once(separator)
    };
    let parts = match found {
        Some((before, after)) => [before, separator, after],
        None if is_last => ["", "", text],
        None => [text, "", ""],
    };
    Value::tuple(parts.into_iter().map(|part| made(part, meter)).collect::<Result<_>>()?)
}

pub(super) fn replace(text: &str, old: &str, new: &str, most: i64, meter: &Meter) -> Result<Value> {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    meter.scan(text.len())?;
    let count = if old.is_empty() {
        text.chars().count() + 1
    } else {
        text.matches(old).count()
    };
    let grown = count.min(most).saturating_mul(new.len());
    meter.bytes(text.len().saturating_add(grown))?;
    Ok(Value::text(text.replacen(old, new, most)))
}

pub(super) fn begins(text: &str, method: &str, arguments: Arguments) -> Result<Value> {
    let [part, start, end] = arguments.bind(method, ["/part", "/start", "/end"], 1)?;
    let Some(within) = stretch(text, start.as_ref(), end.as_ref())? else {
        return Ok(Value::Bool(false));
    };
    let is_there = |part: &str| {
        if method == "startswith" {
            within.1.starts_with(part)
        } else {
            within.1.ends_with(part)
        }
    };
    let part = part.unwrap_or(Value::None);
    let is_there = match &part {
        Value::Tuple(parts) => {
            let mut any = false;
            for part in &parts.items {
                any |= is_there(text_of(part)?);
            }
            any
        }
        part => is_there(text_of(part)?),
    };
    Ok(Value::Bool(is_there))
}

/// The part of a text from one character to another, with the first one's number; none where it begins beyond the end.
fn stretch<'a>(text: &'a str, start: Option<&Value>, end: Option<&Value>) -> Result<Option<(usize, &'a str)>> {
    let bound = |value: Option<&Value>| match value {
        None | Some(Value::None) => Ok(None),
        Some(value) => int_of(value).map(Some),
    };
    let (start, end) = (bound(start)?, bound(end)?);
    if start.is_none() && end.is_none() {
        return Ok(Some((0, text)));
    }
    let length = text.chars().count() as i64;
    let within = |bound: i64| {
        if bound < 0 {
            bound.saturating_add(length).max(0)
        } else {
            bound
        }
    };
    let (start, end) = (within(start.unwrap_or(0)), within(end.unwrap_or(length)).min(length));
    if start > end {
        return Ok(None);
    }
    let byte = |at: i64| text.char_indices().nth(at as usize).map_or(text.len(), |(at, _)| at);
    Ok(Some((start as usize, &text[byte(start)..byte(end)])))
}

pub(super) fn search(text: &str, method: &str, arguments: Arguments) -> Result<Value> {
    let [part, start, end] = arguments.bind(method, ["/sub", "/start", "/end"], 1)?;
    let part = part.unwrap_or(Value::None);
    let part = text_of(&part)?;
    let within = stretch(text, start.as_ref(), end.as_ref())?;
    if method == "count" {
        return Ok(Value::Int(match within {
            None => 0,
            Some((_, within)) if part.is_empty() => within.chars().count() as i64 + 1,
            Some((_, within)) => within.matches(part).count() as i64,
        }));
    }
    let found = within.and_then(|(first, within)| {
        let at = if method.starts_with('r') {
            within.rfind(part)
        } else {
            within.find(part)
        };
        at.map(|at| (first + within[..at].chars().count()) as i64)
    });
    match found {
        None if method.ends_with("index") => Err(Error::python("substring not found")),
        found => Ok(Value::Int(found.unwrap_or(-1))),
    }
}

pub(super) fn pad(text: &str, method: &str, arguments: Arguments, meter: &Meter) -> Result<Value> {
    let [width, fill] = arguments.bind(method, ["/width", "/fillchar"], 1)?;
    let fill = fill.unwrap_or(Value::text(" "));
    let mut fills = text_of(&fill)?.chars();
    let (Some(fill), None) = (fills.next(), fills.next()) else {
        return Err(Error::python("The fill character must be exactly one character long"));
    };
    let width = int_of(&width.unwrap_or(Value::None))?;
    let width = usize::try_from(width).unwrap_or(0);
    let length = text.chars().count();
    let missing = width.saturating_sub(length);
    let mut out = Text::new(meter);
    if method == "zfill" {
        let sign = text.len() - text.strip_prefix(['-', '+']).unwrap_or(text).len();
        out.push(&text[..sign])?;
        out.repeat('0', missing)?;
        out.push(&text[sign..])?;
        return Ok(Value::text(out.text));
    }
    let before = match method {
        "ljust" => 0,
        "rjust" => missing,
        _ => missing / 2 + (missing & width & 1),
    };
    out.repeat(fill, before)?;
    out.push(text)?;
    out.repeat(fill, missing - before)?;
    Ok(Value::text(out.text))
}

#[cfg(test)]
mod unit {
    use super::*;

    #[test]
    fn text_is_split_at_space_from_either_end() {
        assert_eq!(split_at_space("  a b  c ", usize::MAX, false), ["a", "b", "c"]);
        assert_eq!(split_at_space("  a b  c ", 1, false), ["a", "b  c "]);
        assert_eq!(split_at_space("  a b  c ", 1, true), ["  a b", "c"]);
    }
}
