//! `'%s' % value` and `'{}'.format(value)`, as far as they lay out nothing.

use super::Result;
use super::call::Arguments;
use super::meter::{Meter, Text};
use super::value::{Kind, Value};
use super::written::{text, write};

/// `form % values`, with `%s`, `%d` and `%%`.
pub(super) fn percent(form: &str, values: &Value, meter: &Meter) -> Result<String> {
    let single = std::slice::from_ref(values);
    let mut values = match values {
        Value::Series(Kind::Tuple, items) => items.items.iter(),
        Value::Dict(_) => return unknown!("% with a dict"),
        _ => single.iter(),
    };
    let mut out = Text::new(meter);
    let mut parts = form.split('%');
    out.push(parts.next().unwrap_or_default())?;
    while let Some(part) = parts.next() {
        let kind = part.chars().next();
        match (kind, kind.and_then(|_| values.next())) {
            (None, _) => {
                out.push("%")?;
                match parts.next() {
                    Some(part) => out.push(part)?,
                    None => return python!("incomplete format"),
                }
            }
            (Some('s' | 'd'), None) => return python!("not enough arguments for format string"),
            (Some('d'), Some(value)) if !matches!(value, Value::Int(_)) => {
                return unknown!("%d of a {}", value.type_name());
            }
            (Some('s' | 'd'), Some(value)) => {
                write(&mut out, value)?;
                out.push(&part[1..])?;
            }
            (Some(kind), _) => return unknown!("%{kind} in a text with %"),
        }
    }
    match values.next() {
        Some(Value::Series(..) | Value::Undefined(_)) if !form.contains('%') => Ok(out.text),
        Some(_) => python!("not all arguments converted during string formatting"),
        None => Ok(out.text),
    }
}

/// `str.format`, with fields that are a number, a name or nothing.
pub(super) fn format(form: &str, arguments: &Arguments, meter: &Meter) -> Result<Value> {
    meter.scan(form.len())?;
    let mut out = Text::new(meter);
    let (mut rest, mut next) = (form, 0..);
    while let Some(at) = rest.find(['{', '}']) {
        out.push(&rest[..at])?;
        let sign = &rest[at..=at];
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix(sign) {
            out.push(sign)?;
            rest = after;
            continue;
        }
        let Some((field, after)) = rest.split_once('}').filter(|_| sign == "{") else {
            return python!("Single '{sign}' encountered in format string");
        };
        let index = match field {
            "" => next.next(),
            field => match field.parse() {
                Ok(_) if form.contains("{}") => return python!("fields are numbered and counted at once"),
                index => index.ok(),
            },
        };
        let value = match index {
            Some(index) => arguments.positional.get(index),
            None if field.contains(['!', ':', '.', '[', '{']) => {
                return unknown!("the field {{{field}}} of str.format");
            }
            None => arguments
                .keywords
                .iter()
                .find(|(name, _)| &**name == field)
                .map(|(_, value)| value),
        };
        match value {
            Some(value) => out.push(&text(value, meter)?)?,
            None => return python!("nothing is given for the field {{{field}}}"),
        }
        rest = after;
    }
    out.push(rest)?;
    Ok(Value::text(out.text))
}
