//! What can be walked, counted, indexed and cut.

use super::Result;
use super::meter::Meter;
use super::value::{Kind, Value};

/// All items of an iterable; an iterator is used up by it.
pub(super) fn items(value: &Value, meter: &Meter) -> Result<Vec<Value>> {
    let items: Vec<Value> = match value {
        Value::Undefined(_) => Vec::new(),
        Value::Text(text) => {
            meter.items(text.len())?;
            text.chars().map(letter).collect()
        }
        Value::Series(Kind::Generator, items) => items.items[items.taken.replace(items.items.len())..].to_vec(),
        Value::Series(_, items) => items.items.clone(),
        Value::Dict(dict) => dict.entries.iter().map(|(key, _)| key.clone()).collect(),
        Value::Markup(_) | Value::Loop(_) => return unknown!("walking over a {}", value.type_name()),
        other => return python!("'{}' object is not iterable", other.type_name()),
    };
    meter.items(items.len())?;
    meter.steps(items.len() / 8)?;
    Ok(items)
}

fn letter(c: char) -> Value {
    Value::text(c.encode_utf8(&mut [0; 4]) as &str)
}

/// The next item of an iterator, else the first of an iterable.
pub(super) fn first(value: &Value, meter: &Meter) -> Result<Option<Value>> {
    match value {
        Value::Series(Kind::Generator, items) => {
            let item = items.items.get(items.taken.get()).cloned();
            items.taken.set(items.taken.get() + usize::from(item.is_some()));
            Ok(item)
        }
        other => Ok(items(other, meter)?.into_iter().next()),
    }
}

/// A view of a dict: its keys, values or pairs.
pub(super) fn view(value: &Value, kind: Kind, meter: &Meter) -> Result<Value> {
    let Value::Dict(dict) = value else {
        return python!("'{}' object has no attribute 'items'", value.type_name());
    };
    meter.items(3 * dict.entries.len())?;
    meter.steps(dict.entries.len() / 8)?;
    let entries = dict.entries.iter();
    let items = entries.map(|(key, value)| match kind {
        Kind::Keys => Ok(key.clone()),
        Kind::Values => Ok(value.clone()),
        _ => Value::series(Kind::Tuple, vec![key.clone(), value.clone()]),
    });
    Value::series(kind, items.collect::<Result<_>>()?)
}

/// Whether `iter` takes it.
pub(super) fn is_iterable(value: &Value) -> bool {
    let has_items = matches!(value, Value::Series(..) | Value::Dict(_) | Value::Loop(_));
    has_items || value.as_text().is_some() || matches!(value, Value::Undefined(_))
}

/// Python's `len`; none where there is none.
pub(super) fn length(value: &Value, meter: &Meter) -> Result<Option<usize>> {
    Ok(match value {
        Value::Undefined(_) => Some(0),
        Value::Text(text) | Value::Markup(text) => {
            meter.scan(text.len())?;
            Some(text.chars().count())
        }
        Value::Series(kind, items) => (*kind != Kind::Generator).then_some(items.items.len()),
        Value::Dict(dict) => Some(dict.entries.len()),
        _ => None,
    })
}

/// Whether it has a length and can be indexed.
pub(super) fn is_sequence(value: &Value) -> bool {
    match value {
        Value::Series(kind, _) => matches!(kind, Kind::List | Kind::Tuple | Kind::Range),
        other => is_iterable(other) && !matches!(other, Value::Loop(_)),
    }
}

/// `value[key]`; none where Python raises a `TypeError` or `LookupError`, which Jinja2 turns into something undefined.
pub(super) fn item(value: &Value, key: &Value, meter: &Meter) -> Result<Option<Value>> {
    if let Value::Dict(dict) = value {
        meter.steps(dict.entries.len() / 8)?;
        return Ok(dict.get(key).cloned());
    }
    let (true, Some(index), Some(length)) = (is_sequence(value), key.as_int(), length(value, meter)?) else {
        return Ok(None);
    };
    let index = if index < 0 { index + length as i64 } else { index };
    let Some(index) = usize::try_from(index).ok().filter(|index| *index < length) else {
        return Ok(None);
    };
    Ok(match value {
        Value::Text(text) => text.chars().nth(index).map(letter),
        Value::Markup(_) => return unknown!("a part of text marked as safe"),
        Value::Series(_, items) => items.items.get(index).cloned(),
        _ => None,
    })
}

/// `value[start:stop:step]`.
pub(super) fn slice(value: &Value, bounds: [Option<i64>; 3], meter: &Meter) -> Result<Value> {
    let (true, Some(length)) = (is_sequence(value), length(value, meter)?) else {
        return python!("'{}' object cannot be cut so", value.type_name());
    };
    let places = places(bounds, length as i64)?;
    meter.items(places.len())?;
    match value {
        Value::Text(text) => {
            let chars: Vec<char> = text.chars().collect();
            Ok(Value::text(places.iter().map(|at| chars[*at]).collect::<String>()))
        }
        Value::Series(kind, items) => {
            let picked = places.iter().map(|at| items.items[*at].clone());
            Value::series(*kind, picked.collect())
        }
        other => unknown!("a part of a {}", other.type_name()),
    }
}

/// The places of a slice, by Python's `slice.indices`.
fn places([start, stop, step]: [Option<i64>; 3], length: i64) -> Result<Vec<usize>> {
    let step = step.unwrap_or(1);
    let (low, high) = match step {
        0 => return python!("slice step cannot be zero"),
        1.. => (0, length),
        _ => (-1, length - 1),
    };
    let within = |bound: i64| if bound < 0 { bound.saturating_add(length) } else { bound }.clamp(low, high);
    let (first, last) = if step > 0 { (low, high) } else { (high, low) };
    let (start, stop) = (start.map_or(first, within), stop.map_or(last, within));
    let is_before = |at: &i64| if step > 0 { *at < stop } else { *at > stop };
    let places = std::iter::successors(Some(start), |at| at.checked_add(step)).take_while(is_before);
    Ok(places.map(|at| at as usize).collect())
}
