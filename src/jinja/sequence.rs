//! What can be walked, counted, indexed and cut.

use super::meter::Meter;
use super::value::{Range, Value};
use super::{Error, Result};

/// All items of an iterable; an iterator is used up by it.
pub(super) fn items(value: &Value, meter: &Meter) -> Result<Vec<Value>> {
    let items: Vec<Value> = match value {
        Value::Undefined(_) => Vec::new(),
        Value::Text(text) => {
            meter.items(text.len())?;
            text.chars()
                .map(|c| Value::text(c.encode_utf8(&mut [0; 4]) as &str))
                .collect()
        }
        Value::Markup(_) => return Err(Error::unknown("walking over text marked as safe")),
        Value::List(items) | Value::Tuple(items) => items.items.clone(),
        Value::Iterator(items, taken) => {
            let left = items.items[taken.replace(items.items.len())..].to_vec();
            match &items.failure {
                Some(error) => return Err(error.clone()),
                None => left,
            }
        }
        Value::Dict(dict) | Value::View("keys", dict) => dict.entries.iter().map(|(key, _)| key.clone()).collect(),
        Value::View("values", dict) => dict.entries.iter().map(|(_, value)| value.clone()).collect(),
        Value::View(_, dict) => {
            let entries = dict.entries.iter();
            entries
                .map(|(key, value)| Value::tuple(vec![key.clone(), value.clone()]))
                .collect::<Result<_>>()?
        }
        Value::Range(range) => (0..range.len()).map(|at| range.at(at)).collect(),
        Value::Loop(_) => return Err(Error::unknown("walking over loop itself")),
        other => return Err(Error::python(format!("'{}' object is not iterable", other.type_name()))),
    };
    meter.items(items.len())?;
    meter.steps(items.len() / 8)?;
    Ok(items)
}

/// Whether `iter` takes it.
pub(super) fn is_iterable(value: &Value) -> bool {
    !matches!(
        value,
        Value::None
            | Value::Bool(_)
            | Value::Int(_)
            | Value::Float(_)
            | Value::Namespace(_)
            | Value::Macro(_)
            | Value::Method(..)
            | Value::Function(_)
    )
}

/// Python's `len`; none where there is none.
pub(super) fn length(value: &Value, meter: &Meter) -> Result<Option<usize>> {
    Ok(Some(match value {
        Value::Undefined(_) => 0,
        Value::Text(text) | Value::Markup(text) => {
            meter.scan(text.len())?;
            text.chars().count()
        }
        Value::List(items) | Value::Tuple(items) => items.items.len(),
        Value::Dict(dict) | Value::View(_, dict) => dict.entries.len(),
        Value::Range(range) => range.len(),
        _ => return Ok(None),
    }))
}

/// `value[key]`; none where Python raises a `TypeError` or `LookupError`, which Jinja2 turns into something undefined.
pub(super) fn item(value: &Value, key: &Value, meter: &Meter) -> Result<Option<Value>> {
    if let Value::Dict(dict) = value {
        meter.steps(dict.entries.len() / 8)?;
        return Ok(dict.get(key).cloned());
    }
    let (Some(index), Some(length)) = (key.as_int(), length(value, meter)?) else {
        return Ok(None);
    };
    let index = if index < 0 { index + length as i64 } else { index };
    let Some(index) = usize::try_from(index).ok().filter(|index| *index < length) else {
        return Ok(None);
    };
    Ok(match value {
        Value::Text(text) => text
            .chars()
            .nth(index)
            .map(|c| Value::text(c.encode_utf8(&mut [0; 4]) as &str)),
        Value::Markup(_) => return Err(Error::unknown("a part of text marked as safe")),
        Value::List(items) | Value::Tuple(items) => items.items.get(index).cloned(),
        Value::Range(range) => Some(range.at(index)),
        _ => None,
    })
}

/// `value[start:stop:step]`; none where the value cannot be cut.
pub(super) fn slice(value: &Value, bounds: [&Value; 3], meter: &Meter) -> Result<Option<Value>> {
    let mut parts = [None; 3];
    for (part, bound) in parts.iter_mut().zip(bounds) {
        *part = match bound {
            Value::None => None,
            bound => match bound.as_int() {
                Some(number) => Some(number),
                None => return Ok(None),
            },
        };
    }
    let Some(length) = length(value, meter)? else {
        return Ok(None);
    };
    let cut = match cut(parts, length as i64) {
        Some(cut) => cut,
        None => return Err(Error::python("slice step cannot be zero")),
    };
    meter.items(cut.len())?;
    let picked = |items: &[Value]| {
        (0..cut.len())
            .map(|at| items[cut.index(at)].clone())
            .collect::<Vec<_>>()
    };
    Ok(match value {
        Value::Text(text) if cut.step == 1 => {
            let from = text
                .char_indices()
                .nth(cut.start as usize)
                .map_or(text.len(), |(at, _)| at);
            let rest = &text[from..];
            let to = rest.char_indices().nth(cut.len()).map_or(rest.len(), |(at, _)| at);
            Some(Value::text(&rest[..to]))
        }
        Value::Text(text) => {
            let chars: Vec<char> = text.chars().collect();
            Some(Value::text(
                (0..cut.len()).map(|at| chars[cut.index(at)]).collect::<String>(),
            ))
        }
        Value::Markup(_) => return Err(Error::unknown("a part of text marked as safe")),
        Value::List(items) => Some(Value::list(picked(&items.items))?),
        Value::Tuple(items) => Some(Value::tuple(picked(&items.items))?),
        Value::Range(range) => Some(Value::Range(Range {
            start: range.start + cut.start * range.step,
            stop: range.start + cut.stop * range.step,
            step: range.step * cut.step,
        })),
        _ => None,
    })
}

impl Range {
    fn index(self, at: usize) -> usize {
        (self.start + self.step * at as i64) as usize
    }
}

/// Python's `slice.indices`; none for a step of 0.
fn cut([start, stop, step]: [Option<i64>; 3], length: i64) -> Option<Range> {
    let step = step.unwrap_or(1).clamp(-i64::MAX, i64::MAX);
    let (low, high) = match step {
        0 => return None,
        1.. => (0, length),
        _ => (-1, length - 1),
    };
    let within = |bound: i64| if bound < 0 { bound.saturating_add(length) } else { bound }.clamp(low, high);
    let (first, last) = if step > 0 { (low, high) } else { (high, low) };
    Some(Range {
        start: start.map_or(first, within),
        stop: stop.map_or(last, within),
        step: step.clamp(-length - 1, length + 1),
    })
}
