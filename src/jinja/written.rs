//! Python's `str` and `repr` of a value.

use super::meter::{Meter, Text};
use super::value::{Range, Value};
use super::{Error, Result};
use crate::json::python_float;

pub(super) fn text(value: &Value, meter: &Meter) -> Result<String> {
    let mut text = Text::new(meter);
    write(&mut text, value)?;
    Ok(text.text)
}

pub(super) fn repr(value: &Value, meter: &Meter) -> Result<String> {
    let mut text = Text::new(meter);
    write_repr(&mut text, value)?;
    Ok(text.text)
}

/// What a template prints of a value.
pub(super) fn write(out: &mut Text, value: &Value) -> Result<()> {
    match value {
        Value::Undefined(_) => Ok(()),
        Value::Text(text) | Value::Markup(text) => out.push(text),
        other => write_repr(out, other),
    }
}

fn write_repr(out: &mut Text, value: &Value) -> Result<()> {
    out.meter.steps(1)?;
    match value {
        Value::Undefined(_) => out.push("Undefined"),
        Value::None => out.push("None"),
        Value::Bool(value) => out.push(if *value { "True" } else { "False" }),
        Value::Int(number) => out.push(&number.to_string()),
        Value::Float(number) => out.push(&float(*number)),
        Value::Text(text) => write_quoted(out, text),
        Value::Markup(text) => {
            out.push("Markup(")?;
            write_quoted(out, text)?;
            out.push(")")
        }
        Value::List(items) => write_list(out, ("[", "]"), &items.items),
        Value::Tuple(items) if items.items.len() == 1 => write_list(out, ("(", ",)"), &items.items),
        Value::Tuple(items) => write_list(out, ("(", ")"), &items.items),
        Value::Dict(dict) => write_entries(out, ("{", "}"), (": ", "", ""), &dict.entries),
        Value::View("keys", dict) => write_some(out, ("dict_keys([", "])"), dict.entries.iter().map(|(key, _)| key)),
        Value::View("values", dict) => write_some(
            out,
            ("dict_values([", "])"),
            dict.entries.iter().map(|(_, value)| value),
        ),
        Value::View(_, dict) => write_entries(out, ("dict_items([", "])"), (", ", "(", ")"), &dict.entries),
        Value::Range(Range { start, stop, step: 1 }) => out.push(&format!("range({start}, {stop})")),
        Value::Range(Range { start, stop, step }) => out.push(&format!("range({start}, {stop}, {step})")),
        other => Err(Error::unknown(format!("the text of a {}", other.type_name()))),
    }
}

fn write_list(out: &mut Text, brackets: (&str, &str), items: &[Value]) -> Result<()> {
    write_some(out, brackets, items.iter())
}

fn write_some<'a>(out: &mut Text, (open, close): (&str, &str), items: impl Iterator<Item = &'a Value>) -> Result<()> {
    out.push(open)?;
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.push(", ")?;
        }
        write_repr(out, item)?;
    }
    out.push(close)
}

fn write_entries(
    out: &mut Text,
    (open, close): (&str, &str),
    (between, before, after): (&str, &str, &str),
    entries: &[(Value, Value)],
) -> Result<()> {
    out.push(open)?;
    for (index, (key, value)) in entries.iter().enumerate() {
        out.push(if index > 0 { ", " } else { "" })?;
        out.push(before)?;
        write_repr(out, key)?;
        out.push(between)?;
        write_repr(out, value)?;
        out.push(after)?;
    }
    out.push(close)
}

/// Python's `repr` of a float.
pub(super) fn float(number: f64) -> String {
    match number {
        _ if number.is_nan() => "nan".into(),
        _ if number.is_infinite() => if number > 0.0 { "inf" } else { "-inf" }.into(),
        _ => python_float(number),
    }
}

/// A text in quotes: double ones only where it holds single ones and no double ones.
fn write_quoted(out: &mut Text, text: &str) -> Result<()> {
    let quote = if text.contains('\'') && !text.contains('"') {
        '"'
    } else {
        '\''
    };
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push(quote);
    for c in text.chars() {
        match c {
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if c == quote || c == '\\' => quoted.extend(['\\', c]),
            c if is_printable(c) => quoted.push(c),
            c => match u32::from(c) {
                code @ ..0x100 => quoted.push_str(&format!("\\x{code:02x}")),
                code @ ..0x10000 => quoted.push_str(&format!("\\u{code:04x}")),
                code => quoted.push_str(&format!("\\U{code:08x}")),
            },
        }
    }
    quoted.push(quote);
    out.push(&quoted)
}

/// `str.isprintable`: the standard library's own escaping leaves the same characters alone, after the first of a text.
pub(super) fn is_printable(c: char) -> bool {
    if c.is_ascii() {
        return matches!(c, ' '..='~');
    }
    let mut text = [b'x'; 5];
    let length = 1 + c.encode_utf8(&mut text[1..]).len();
    std::str::from_utf8(&text[..length]).is_ok_and(|text| text.escape_debug().nth(1) == Some(c))
}

/// HTML's signs as entities, as `markupsafe` writes them.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '\'' => escaped.push_str("&#39;"),
            '"' => escaped.push_str("&#34;"),
            c => escaped.push(c),
        }
    }
    escaped
}
