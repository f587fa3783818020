//! The methods of Python's values, and which attributes they have.

use std::rc::Rc;

use super::Result;
use super::call::{Arguments, Bound, text_of};
use super::format::format;
use super::meter::{Meter, Text};
use super::sequence;
use super::value::{Kind, Value};
use crate::extract::python::is_word;
use crate::text::is_python_space as is_space;

type Method = fn(&str, &Bound, &Meter) -> Result<Value>;

/// Methods of texts, with the arguments as [`Arguments::bind`] takes them.
const OF_TEXT: &[(&str, &str, Method)] = &[
    ("capitalize", "", |text, _, meter| {
        let length = text.chars().next().map_or(0, char::len_utf8);
        let first = titled(&text[..length], |_| true)?;
        made(&(first + &text[length..].to_lowercase()), meter)
    }),
    ("count", "/sub", |text, given, _| match given.text(0)? {
        "" => Ok(Value::Int(text.chars().count() as i64 + 1)),
        part => Ok(Value::Int(text.matches(part).count() as i64)),
    }),
    ("endswith", "/suffix", |text, given, _| {
        any_of(given, |part| text.ends_with(part))
    }),
    ("find", "/sub", |text, given, _| {
        Ok(place(text, text.find(given.text(0)?)))
    }),
    ("isalnum", "", |text, _, _| all(text, |c| is_word(c) && c != '_')),
    ("isalpha", "", |text, _, _| {
        all(text, |c| is_word(c) && !c.is_numeric() && c != '_')
    }),
    ("isascii", "", |text, _, _| Ok(Value::Bool(text.is_ascii()))),
    ("isdigit", "", digits),
    ("islower", "", |text, _, _| {
        Ok(cased(text, char::is_lowercase, char::is_uppercase))
    }),
    ("isnumeric", "", digits),
    ("isspace", "", |text, _, _| all(text, is_space)),
    ("isupper", "", |text, _, _| {
        Ok(cased(text, char::is_uppercase, char::is_lowercase))
    }),
    ("join", "/iterable", join),
    ("lower", "", |text, _, meter| made(&text.to_lowercase(), meter)),
    ("lstrip", "/chars?", |text, given, meter| {
        strip(text, given, (true, false), meter)
    }),
    ("partition", "/sep", |text, given, meter| {
        let separator = given.text(0)?;
        let found = text.split_once(separator);
        parted(
            found.map_or([text, "", ""], |(before, after)| [before, separator, after]),
            separator,
            meter,
        )
    }),
    ("removeprefix", "/prefix", |text, given, meter| {
        made(text.strip_prefix(given.text(0)?).unwrap_or(text), meter)
    }),
    ("removesuffix", "/suffix", |text, given, meter| {
        made(text.strip_suffix(given.text(0)?).unwrap_or(text), meter)
    }),
    ("replace", "/old /new /count?", |text, given, meter| {
        replace(text, (given.text(0)?, given.text(1)?), given.int(2, -1)?, meter)
    }),
    ("rfind", "/sub", |text, given, _| {
        Ok(place(text, text.rfind(given.text(0)?)))
    }),
    ("rpartition", "/sep", |text, given, meter| {
        let separator = given.text(0)?;
        let found = text.rsplit_once(separator);
        parted(
            found.map_or(["", "", text], |(before, after)| [before, separator, after]),
            separator,
            meter,
        )
    }),
    ("rsplit", "sep? maxsplit?", |text, given, meter| {
        split(text, given, true, meter)
    }),
    ("rstrip", "/chars?", |text, given, meter| {
        strip(text, given, (false, true), meter)
    }),
    ("split", "sep? maxsplit?", |text, given, meter| {
        split(text, given, false, meter)
    }),
    ("splitlines", "keepends?", |text, given, meter| {
        texts(&lines(text, given.is_true(0)), meter)
    }),
    ("startswith", "/prefix", |text, given, _| {
        any_of(given, |part| text.starts_with(part))
    }),
    ("strip", "/chars?", |text, given, meter| {
        strip(text, given, (true, true), meter)
    }),
    ("title", "", |text, _, meter| {
        made(&titled(text, |c| c.is_lowercase() || c.is_uppercase())?, meter)
    }),
    ("upper", "", |text, _, meter| made(&text.to_uppercase(), meter)),
];

/// Methods of other types.
const OF_OTHERS: &[(&str, &[&str])] = &[
    ("str", &["format"]),
    ("dict", &["copy", "get", "items", "keys", "values"]),
    ("list", &["copy", "count", "index"]),
    ("tuple", &["count", "index"]),
];

/// Attributes that Python has and that are not here.
const LACKING: &[(&str, &str)] = &[
    (
        "str",
        "casefold center encode expandtabs format_map index isdecimal isidentifier isprintable istitle ljust maketrans \
         rindex rjust swapcase translate zfill",
    ),
    ("dict", "fromkeys"),
    ("int", NUMBER),
    ("bool", NUMBER),
    ("float", "as_integer_ratio conjugate fromhex hex imag is_integer real"),
    ("range", "count index start step stop"),
    (
        "generator",
        "close gi_code gi_frame gi_running gi_suspended gi_yieldfrom send throw",
    ),
    ("dict_keys", "isdisjoint mapping"),
    ("dict_values", "mapping"),
    ("dict_items", "isdisjoint mapping"),
];
const NUMBER: &str =
    "as_integer_ratio bit_count bit_length conjugate denominator from_bytes imag numerator real to_bytes";

/// Methods that change their value: the sandbox keeps templates from them.
const CHANGING: &[(&str, &str)] = &[
    ("dict", "clear pop popitem setdefault update"),
    ("list", "append clear extend insert pop remove reverse sort"),
];

/// Python's `getattr`: none where there is no such attribute.
pub(super) fn attribute(value: &Value, name: &str) -> Result<Option<Value>> {
    let kind = value.type_name();
    if matches!(value, Value::Markup(_) | Value::Method(..) | Value::Function(_)) {
        return unknown!("an attribute of a {kind} ({name})");
    }
    let of_text = OF_TEXT.iter().map(|(method, ..)| ("str", *method));
    let others = OF_OTHERS
        .iter()
        .flat_map(|(of, methods)| methods.iter().map(|method| (*of, *method)));
    if let Some((_, method)) = of_text.chain(others).find(|known| *known == (kind, name)) {
        return Value::method(value, method).map(Some);
    }
    let is_listed = |table: &[(&str, &str)]| {
        let mut rows = table.iter().filter(|(of, _)| *of == kind);
        rows.any(|(_, names)| names.split(' ').any(|known| known == name))
    };
    if is_listed(LACKING) {
        return unknown!("{kind}.{name}");
    }
    let is_inner = name.starts_with("__") && name.ends_with("__") && name.len() > 4;
    let unsafe_one = || Value::undefined(format!("access to attribute '{name}' of '{kind}' object is unsafe."));
    Ok((is_inner || is_listed(CHANGING)).then(unsafe_one))
}

pub(super) fn call(value: &Value, method: &'static str, arguments: Arguments, meter: &Meter) -> Result<Value> {
    match (value, method) {
        (Value::Text(text), "format") => format(text, &arguments, meter),
        (Value::Text(text), _) => {
            meter.scan(text.len())?;
            match OF_TEXT.iter().find(|(known, ..)| *known == method) {
                Some((_, signature, work)) => work(text, &arguments.bind(method, signature)?, meter),
                None => unknown!("str.{method}"),
            }
        }
        (Value::Dict(dict), "get") => {
            let given = arguments.bind("get", "/key /default?")?;
            let key = given.value(0);
            key.check_hashable()?;
            Ok(dict.get(&key).cloned().unwrap_or_else(|| given.value(1)))
        }
        (Value::Series(_, items), "count" | "index") => {
            let part = arguments.bind(method, "/value")?.value(0);
            meter.scan(part.weight().saturating_mul(items.items.len()))?;
            let mut found = (0_i64..).zip(&items.items).filter(|(_, item)| item.is_equal(&part));
            match (method, found.next()) {
                ("count", first) => Ok(Value::Int(found.count() as i64 + i64::from(first.is_some()))),
                (_, Some((at, _))) => Ok(Value::Int(at)),
                (_, None) => python!("value is not in list"),
            }
        }
        (value, _) => {
            arguments.bind(method, "")?;
            match method {
                "keys" => sequence::view(value, Kind::Keys, meter),
                "values" => sequence::view(value, Kind::Values, meter),
                "items" => sequence::view(value, Kind::Pairs, meter),
                _ => Ok(value.clone()),
            }
        }
    }
}

fn made(text: &str, meter: &Meter) -> Result<Value> {
    meter.bytes(text.len())?;
    Ok(Value::text(text))
}

fn texts(parts: &[&str], meter: &Meter) -> Result<Value> {
    meter.items(parts.len())?;
    Value::list(parts.iter().map(|part| made(part, meter)).collect::<Result<_>>()?)
}

fn parted(parts: [&str; 3], separator: &str, meter: &Meter) -> Result<Value> {
    if separator.is_empty() {
        return python!("empty separator");
    }
    Value::series(
        Kind::Tuple,
        parts.iter().map(|part| made(part, meter)).collect::<Result<_>>()?,
    )
}

/// Whether it holds of the text, or of one of a tuple of texts.
fn any_of(given: &Bound, holds: impl Fn(&str) -> bool) -> Result<Value> {
    let value = given.value(0);
    let parts: Rc<_> = match &value {
        Value::Series(Kind::Tuple, parts) => parts.items.iter().collect(),
        part => Rc::new([part]) as Rc<[&Value]>,
    };
    let mut any = false;
    for part in parts.iter() {
        any |= holds(text_of(part)?);
    }
    Ok(Value::Bool(any))
}

/// The number of the character at a byte, -1 where there is none.
fn place(text: &str, at: Option<usize>) -> Value {
    Value::Int(at.map_or(-1, |at| text[..at].chars().count() as i64))
}

fn all(text: &str, is: impl Fn(char) -> bool) -> Result<Value> {
    Ok(Value::Bool(!text.is_empty() && text.chars().all(is)))
}

/// `isdigit`, `isnumeric`: of other scripts Rust and Python class not alike.
fn digits(text: &str, _: &Bound, _: &Meter) -> Result<Value> {
    if text.chars().any(|c| !c.is_ascii() && c.is_numeric()) {
        return unknown!("isdigit of digits other than 0 to 9");
    }
    all(text, |c| c.is_ascii_digit())
}

fn cased(text: &str, is: fn(char) -> bool, other: fn(char) -> bool) -> Value {
    Value::Bool(text.chars().any(is) && !text.chars().any(other))
}

/// The text with the first letter of each word large and the rest small; words are made of what `is_inside` holds of.
pub(super) fn titled(text: &str, is_inside: fn(char) -> bool) -> Result<String> {
    let mut titled = String::with_capacity(text.len());
    let mut is_within = false;
    for c in text.chars() {
        if is_within {
            titled.extend(c.to_lowercase());
        } else if c.is_ascii() || c.to_uppercase().count() == 1 && !is_two_letters(c) {
            titled.extend(c.to_uppercase());
        } else {
            return unknown!("the large form of {c:?} at a word's begin");
        }
        is_within = is_inside(c);
    }
    Ok(titled)
}

/// Letters of two, of which only the first is large at a word's begin; Georgian, and Greek with an iota below.
fn is_two_letters(c: char) -> bool {
    matches!(u32::from(c), 0x1c4..=0x1cc | 0x1f1..=0x1f3 | 0x10d0..=0x10ff | 0x1f80..=0x1fff)
}

/// Python's `strip` family: the given characters, else all white space.
pub(super) fn strip(text: &str, given: &Bound, (at_start, at_end): (bool, bool), meter: &Meter) -> Result<Value> {
    let cut = given.some(0).map(text_of).transpose()?;
    let is_cut = |c: char| cut.map_or_else(|| is_space(c), |cut| cut.contains(c));
    let text = if at_start {
        text.trim_start_matches(is_cut)
    } else {
        text
    };
    made(if at_end { text.trim_end_matches(is_cut) } else { text }, meter)
}

fn split(text: &str, given: &Bound, from_end: bool, meter: &Meter) -> Result<Value> {
    let most = usize::try_from(given.int(1, -1)?).unwrap_or(usize::MAX);
    let mut parts: Vec<&str> = match given.some(0).map(text_of).transpose()? {
        Some("") => return python!("empty separator"),
        Some(separator) if from_end => text.rsplitn(most.saturating_add(1), separator).collect(),
        Some(separator) => text.splitn(most.saturating_add(1), separator).collect(),
        None if most == usize::MAX => text.split(is_space).filter(|part| !part.is_empty()).collect(),
        None => return unknown!("splitting at white space so many times"),
    };
    if from_end && given.some(0).is_some() {
        parts.reverse();
    }
    texts(&parts, meter)
}

/// Python's lines: more signs break them than Rust's.
pub(super) fn lines(text: &str, keeps_ends: bool) -> Vec<&str> {
    let breaks =
        |c: char| matches!(c, '\n' | '\u{b}'..='\r' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}');
    let mut lines = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(breaks) {
        let width = match rest[at..].starts_with("\r\n") {
            true => 2,
            false => rest[at..].chars().next().map_or(1, char::len_utf8),
        };
        lines.push(&rest[..if keeps_ends { at + width } else { at }]);
        rest = &rest[at + width..];
    }
    lines.extend(Some(rest).filter(|rest| !rest.is_empty()));
    lines
}

/// At most so many, below 0 all.
pub(super) fn replace(text: &str, (old, new): (&str, &str), most: i64, meter: &Meter) -> Result<Value> {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    meter.scan(text.len())?;
    let count = text.matches(old).count().min(most);
    meter.bytes(text.len().saturating_add(count.saturating_mul(new.len())))?;
    Ok(Value::text(text.replacen(old, new, most)))
}

fn join(text: &str, given: &Bound, meter: &Meter) -> Result<Value> {
    let mut out = Text::new(meter);
    for (index, part) in sequence::items(&given.value(0), meter)?.iter().enumerate() {
        out.push(if index > 0 { text } else { "" })?;
        match part {
            Value::Text(part) => out.push(part)?,
            Value::Markup(_) => return unknown!("joining text marked as safe"),
            other => {
                return python!(
                    "sequence item {index}: expected str instance, {} found",
                    other.type_name()
                );
            }
        }
    }
    Ok(Value::text(out.text))
}
