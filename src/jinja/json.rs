//! `json.dumps` with transformers' arguments.

use std::fmt::Write as _;

use super::call::Arguments;
use super::meter::{Meter, Text};
use super::operators;
use super::value::Value;
use super::written::float;
use super::{Error, Result};

struct Form<'a> {
    is_ascii: bool,
    indent: Option<String>,
    item: &'a str,
    key: &'a str,
    is_sorted: bool,
}

/// The filter `tojson`.
pub(super) fn to_json(value: &Value, arguments: Arguments, meter: &Meter) -> Result<Value> {
    let names = ["ensure_ascii", "indent", "separators", "sort_keys"];
    let [is_ascii, indent, separators, is_sorted] = arguments.bind("tojson", names, 0)?;
    let indent = match indent.unwrap_or(Value::None) {
        Value::None => None,
        Value::Text(text) => Some(text.to_string()),
        other => match other.as_int() {
            Some(width) => {
                let mut text = Text::new(meter);
                text.repeat(' ', usize::try_from(width).unwrap_or(0))?;
                Some(text.text)
            }
            None => return Err(Error::python("indent must be a number or a text")),
        },
    };
    let separators = separators.filter(|separators| !matches!(separators, Value::None));
    let texts = match &separators {
        None => None,
        Some(Value::List(items) | Value::Tuple(items)) => match items.items.as_slice() {
            [Value::Text(item), Value::Text(key)] => Some((&**item, &**key)),
            _ => return Err(Error::python("separators are two texts")),
        },
        Some(_) => return Err(Error::python("separators are two texts")),
    };
    let (item, key) = texts.unwrap_or((if indent.is_some() { "," } else { ", " }, ": "));
    let form = Form {
        is_ascii: is_ascii.is_some_and(|value| value.is_true()),
        indent,
        item,
        key,
        is_sorted: is_sorted.is_some_and(|value| value.is_true()),
    };
    let mut out = Text::new(meter);
    write(&mut out, value, &form, 1)?;
    Ok(Value::text(out.text))
}

fn write(out: &mut Text, value: &Value, form: &Form, depth: usize) -> Result<()> {
    out.meter.steps(1)?;
    match value {
        Value::None => out.push("null"),
        Value::Bool(value) => out.push(if *value { "true" } else { "false" }),
        Value::Int(number) => out.push(&number.to_string()),
        Value::Float(number) => out.push(&json_float(*number)),
        Value::Text(text) | Value::Markup(text) => write_text(out, text, form),
        Value::List(items) | Value::Tuple(items) => {
            let each = items.items.iter();
            write_all(out, ("[", "]"), each, form, depth, |out, item| {
                write(out, item, form, depth + 1)
            })
        }
        Value::Dict(dict) => {
            let mut entries: Vec<&(Value, Value)> = dict.entries.iter().collect();
            if form.is_sorted {
                sort_keys(&mut entries)?;
            }
            write_all(
                out,
                ("{", "}"),
                entries.into_iter(),
                form,
                depth,
                |out, (key, value)| {
                    write_text(out, &key_text(key)?, form)?;
                    out.push(form.key)?;
                    write(out, value, form, depth + 1)
                },
            )
        }
        other => {
            let name = other.type_name();
            Err(Error::python(format!("Object of type {name} is not JSON serializable")))
        }
    }
}

fn sort_keys(entries: &mut [&(Value, Value)]) -> Result<()> {
    let mut failed = None;
    entries.sort_by(|left, right| match operators::order(&left.0, &right.0) {
        Some(order) => order.unwrap_or(std::cmp::Ordering::Equal),
        None => {
            failed = Some(Error::python("'<' not supported between keys of different types"));
            std::cmp::Ordering::Equal
        }
    });
    failed.map_or(Ok(()), Err)
}

fn write_all<T>(
    out: &mut Text,
    (open, close): (&str, &str),
    items: impl ExactSizeIterator<Item = T>,
    form: &Form,
    depth: usize,
    mut write: impl FnMut(&mut Text, T) -> Result<()>,
) -> Result<()> {
    let new_line = |out: &mut Text, depth: usize| match &form.indent {
        None => Ok(()),
        Some(indent) => {
            out.push("\n")?;
            (0..depth).try_for_each(|_| out.push(indent))
        }
    };
    out.push(open)?;
    if items.len() == 0 {
        return out.push(close);
    }
    for (index, item) in items.enumerate() {
        if index > 0 {
            out.push(form.item)?;
        }
        new_line(out, depth)?;
        write(out, item)?;
    }
    new_line(out, depth - 1)?;
    out.push(close)
}

fn key_text(key: &Value) -> Result<String> {
    Ok(match key {
        Value::Text(text) | Value::Markup(text) => text.to_string(),
        Value::None => "null".into(),
        Value::Bool(value) => value.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Float(number) => json_float(*number),
        other => {
            let name = other.type_name();
            let message = format!("keys must be str, int, float, bool or None, not {name}");
            return Err(Error::python(message));
        }
    })
}

fn json_float(number: f64) -> String {
    match number {
        _ if number.is_nan() => "NaN".into(),
        _ if number.is_infinite() => if number > 0.0 { "Infinity" } else { "-Infinity" }.into(),
        _ => float(number),
    }
}

fn write_text(out: &mut Text, text: &str, form: &Form) -> Result<()> {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            c if c < ' ' || form.is_ascii && (!c.is_ascii() || c == '\u{7f}') => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(quoted, "\\u{unit:04x}");
                }
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    out.push(&quoted)
}
