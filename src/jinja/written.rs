//! Python's `str` and `repr` of a value, and the filter `tojson`.

use super::Result;
use super::call::Bound;
use super::meter::{Meter, Text};
use super::value::{Kind, Value};
use crate::json;

/// Longer indents and separators are refused.
const LONGEST_SEPARATOR: usize = 64;

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
        Value::Float(number) if number.is_nan() => out.push("nan"),
        Value::Float(number) => out.push(&json::python_float(*number).replace("Infinity", "inf")),
        Value::Text(text) => write_quoted(out, text),
        Value::Series(kind, items) => {
            let (open, close) = match kind {
                Kind::List => ("[", "]"),
                Kind::Tuple if items.items.len() == 1 => ("(", ",)"),
                Kind::Tuple => ("(", ")"),
                Kind::Keys => ("dict_keys([", "])"),
                Kind::Values => ("dict_values([", "])"),
                Kind::Pairs => ("dict_items([", "])"),
                Kind::Range | Kind::Generator => return unknown!("the text of a {}", value.type_name()),
            };
            out.push(open)?;
            for (index, item) in items.items.iter().enumerate() {
                out.push(if index > 0 { ", " } else { "" })?;
                write_repr(out, item)?;
            }
            out.push(close)
        }
        Value::Dict(dict) => {
            out.push("{")?;
            for (index, (key, value)) in dict.entries.iter().enumerate() {
                out.push(if index > 0 { ", " } else { "" })?;
                write_repr(out, key)?;
                out.push(": ")?;
                write_repr(out, value)?;
            }
            out.push("}")
        }
        other => unknown!("the text of a {}", other.type_name()),
    }
}

/// A text in quotes: double ones only where it holds single ones and no double ones.
fn write_quoted(out: &mut Text, text: &str) -> Result<()> {
    let is_single = !text.contains('\'') || text.contains('"');
    let quote = if is_single { '\'' } else { '"' };
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
fn is_printable(c: char) -> bool {
    if c.is_ascii() {
        return matches!(c, ' '..='~');
    }
    let mut text = [b'x'; 5];
    let length = 1 + c.encode_utf8(&mut text[1..]).len();
    std::str::from_utf8(&text[..length]).is_ok_and(|text| text.escape_debug().nth(1) == Some(c))
}

/// The filter `tojson`, with transformers' arguments `ensure_ascii? indent? separators? sort_keys?`.
pub(super) fn to_json(value: &Value, given: &Bound, meter: &Meter) -> Result<Value> {
    let indent = match given.some(1) {
        None => None,
        Some(Value::Text(text)) => Some(text.to_string()),
        Some(_) => Some(
            " ".repeat(
                usize::try_from(given.int(1, 0)?)
                    .unwrap_or(0)
                    .min(LONGEST_SEPARATOR + 1),
            ),
        ),
    };
    let (item, key) = match given.some(2) {
        None => (if indent.is_some() { "," } else { ", " }, ": "),
        Some(Value::Series(_, items)) => match items.items.as_slice() {
            [Value::Text(item), Value::Text(key)] => (&**item, &**key),
            _ => return python!("separators are two texts"),
        },
        Some(_) => return python!("separators are two texts"),
    };
    let width = indent.as_ref().map_or(0, String::len);
    if width.max(item.len()).max(key.len()) > LONGEST_SEPARATOR {
        return unknown!("an indent or separator of more than {LONGEST_SEPARATOR} characters");
    }
    let form = json::Form {
        indent: indent.as_deref(),
        item,
        key,
        is_ascii: given.is_true(0),
        is_sorted: given.is_true(3),
    };
    let plain = plain(value, meter, (0, width))?;
    Ok(Value::text(json::write(&plain, &form)))
}

/// The value as JSON, its text paid for: each level is set in by so many bytes.
fn plain(value: &Value, meter: &Meter, (depth, indent): (usize, usize)) -> Result<serde_json::Value> {
    meter.steps(1)?;
    meter.bytes(LONGEST_SEPARATOR + depth * indent)?;
    let inner = |value: &Value| plain(value, meter, (depth + 1, indent));
    Ok(match value {
        Value::None => serde_json::Value::Null,
        Value::Bool(value) => (*value).into(),
        Value::Int(number) => (*number).into(),
        Value::Float(number) => json::float(*number),
        Value::Text(text) | Value::Markup(text) => {
            meter.bytes(text.len())?;
            (&**text).into()
        }
        Value::Series(Kind::List | Kind::Tuple, items) => items.items.iter().map(inner).collect::<Result<_>>()?,
        Value::Dict(dict) => {
            let entry = |(key, value): &(Value, Value)| match key.as_text() {
                Some(key) => Ok((key.to_string(), inner(value)?)),
                None => unknown!("tojson of keys that are no text"),
            };
            serde_json::Value::Object(dict.entries.iter().map(entry).collect::<Result<_>>()?)
        }
        other => return python!("Object of type {} is not JSON serializable", other.type_name()),
    })
}
