//! Python's operators between values of all kinds.

use std::cmp::Ordering;

use super::meter::{Meter, Text};
use super::percent::percent;
use super::value::{Range, Value};
use super::written::escape;
use super::{Error, Result, number, sequence};

/// An `UndefinedError` where one of them is undefined.
pub(super) fn defined(values: &[&Value]) -> Result<()> {
    let undefined = values.iter().find_map(|value| match value {
        Value::Undefined(message) => Some(message),
        _ => None,
    });
    undefined.map_or(Ok(()), |message| Err(Error::template(&**message)))
}

pub(super) fn binary(operator: &'static str, left: &Value, right: &Value, meter: &Meter) -> Result<Value> {
    if operator == "%"
        && let Value::Text(form) = left
    {
        return percent(form, right, meter).map(Value::text);
    }
    defined(&[left, right])?;
    if let Some(number) = number::arithmetic(operator, left, right) {
        return number;
    }
    match (operator, left, right) {
        ("+", Value::Text(left), Value::Text(right)) => join(&[left, right], meter).map(Value::text),
        ("+", Value::Markup(_) | Value::Text(_), Value::Markup(_) | Value::Text(_)) => {
            let part = |value: &Value| match value {
                Value::Markup(text) => text.to_string(),
                other => escape(other.as_text().map_or("", |text| text)),
            };
            join(&[&part(left), &part(right)], meter).map(|text| Value::Markup(text.into()))
        }
        ("+", Value::List(left), Value::List(right)) => Value::list(chained(&left.items, &right.items, meter)?),
        ("+", Value::Tuple(left), Value::Tuple(right)) => Value::tuple(chained(&left.items, &right.items, meter)?),
        ("*", sequence, times) | ("*", times, sequence)
            if times.as_int().is_some() && matches!(sequence, Value::Text(_) | Value::List(_) | Value::Tuple(_)) =>
        {
            let times = usize::try_from(times.as_int().unwrap_or(0)).unwrap_or(0);
            repeated(sequence, times, meter)
        }
        (_, Value::Markup(_), _) | (_, _, Value::Markup(_)) => {
            Err(Error::unknown(format!("{operator} on text marked as safe")))
        }
        ("-" | "|" | "&", Value::View(..), _) => Err(Error::unknown(format!("{operator} on the keys of a dict"))),
        ("+", Value::Text(_), other) => Err(Error::python(format!(
            "can only concatenate str (not \"{}\") to str",
            other.type_name()
        ))),
        _ => {
            let (left, right) = (left.type_name(), right.type_name());
            let message = format!("unsupported operand type(s) for {operator}: '{left}' and '{right}'");
            Err(Error::python(message))
        }
    }
}

fn join(parts: &[&str], meter: &Meter) -> Result<String> {
    let mut text = Text::new(meter);
    parts.iter().try_for_each(|part| text.push(part))?;
    Ok(text.text)
}

fn chained(left: &[Value], right: &[Value], meter: &Meter) -> Result<Vec<Value>> {
    meter.items(left.len() + right.len())?;
    Ok(left.iter().chain(right).cloned().collect())
}

fn repeated(value: &Value, times: usize, meter: &Meter) -> Result<Value> {
    let many = |items: &[Value]| {
        meter.items(items.len().saturating_mul(times))?;
        Ok((0..times).flat_map(|_| items.iter().cloned()).collect())
    };
    match value {
        Value::List(items) => Value::list(many(&items.items)?),
        Value::Tuple(items) => Value::tuple(many(&items.items)?),
        other => {
            let text = other.as_text().map_or("", |text| text);
            meter.bytes(text.len().saturating_mul(times))?;
            Ok(Value::text(text.repeat(times)))
        }
    }
}

pub(super) fn negative(value: &Value) -> Result<Value> {
    defined(&[value])?;
    match value {
        Value::Float(number) => Ok(Value::Float(-number)),
        other => match other.as_int() {
            Some(number) => number::arithmetic("-", &Value::Int(0), &Value::Int(number)).unwrap_or(Ok(Value::None)),
            None => Err(Error::python(format!(
                "bad operand type for unary -: '{}'",
                other.type_name()
            ))),
        },
    }
}

pub(super) fn positive(value: &Value) -> Result<Value> {
    defined(&[value])?;
    match (value, value.as_int()) {
        (Value::Float(_), _) => Ok(value.clone()),
        (_, Some(number)) => Ok(Value::Int(number)),
        _ => Err(Error::python(format!(
            "bad operand type for unary +: '{}'",
            value.type_name()
        ))),
    }
}

/// `== != < <= > >= in not in`.
pub(super) fn compare(operator: &'static str, left: &Value, right: &Value, meter: &Meter) -> Result<bool> {
    meter.scan(left.weight().min(right.weight()))?;
    Ok(match operator {
        "==" => left.is_equal(right),
        "!=" => !left.is_equal(right),
        "in" => contains(right, left, meter)?,
        "not in" => !contains(right, left, meter)?,
        _ => {
            defined(&[left, right])?;
            let order = order(left, right).ok_or_else(|| {
                let (left, right) = (left.type_name(), right.type_name());
                Error::python(format!(
                    "'{operator}' not supported between instances of '{left}' and '{right}'"
                ))
            })?;
            order.is_some_and(|order| match operator {
                "<" => order.is_lt(),
                "<=" => order.is_le(),
                ">" => order.is_gt(),
                _ => order.is_ge(),
            })
        }
    })
}

/// How two values lie: nothing where Python has no order for them, no order where one is NaN.
pub(super) fn order(left: &Value, right: &Value) -> Option<Option<Ordering>> {
    match (left, right) {
        (Value::List(left), Value::List(right)) | (Value::Tuple(left), Value::Tuple(right)) => {
            let mut pairs = left.items.iter().zip(&right.items);
            match pairs.find(|(left, right)| !left.is_equal(right)) {
                Some((left, right)) => order(left, right),
                None => Some(Some(left.items.len().cmp(&right.items.len()))),
            }
        }
        _ => match (left.as_text(), right.as_text()) {
            (Some(left), Some(right)) => Some(Some(left.cmp(right))),
            _ => {
                left.as_number().zip(right.as_number())?;
                Some(number::compare(left, right))
            }
        },
    }
}

fn contains(whole: &Value, part: &Value, meter: &Meter) -> Result<bool> {
    match whole {
        Value::Text(text) | Value::Markup(text) => {
            meter.scan(text.len())?;
            let Some(part) = part.as_text() else {
                let name = part.type_name();
                return Err(Error::python(format!(
                    "'in <string>' requires string as left operand, not {name}"
                )));
            };
            Ok(text.contains(&**part))
        }
        Value::Dict(dict) => {
            meter.steps(dict.entries.len() / 8)?;
            part.check_hashable()?;
            Ok(dict.get(part).is_some())
        }
        Value::Range(range) => Ok(range_has(*range, part)),
        Value::List(items) | Value::Tuple(items) => {
            meter.scan(part.weight().saturating_mul(items.items.len()))?;
            meter.steps(items.items.len() / 8)?;
            Ok(items.items.iter().any(|item| item.is_equal(part)))
        }
        Value::Iterator(items, taken) => {
            let from = *taken.borrow();
            let at = items.items[from..].iter().position(|item| item.is_equal(part));
            taken.replace(at.map_or(items.items.len(), |at| from + at + 1));
            match &items.failure {
                Some(error) if at.is_none() => Err(error.clone()),
                _ => Ok(at.is_some()),
            }
        }
        whole if sequence::is_iterable(whole) => {
            Ok(sequence::items(whole, meter)?.iter().any(|item| item.is_equal(part)))
        }
        other => Err(Error::python(format!(
            "argument of type '{}' is not iterable",
            other.type_name()
        ))),
    }
}

fn range_has(range: Range, part: &Value) -> bool {
    let number = match part {
        Value::Float(number) if number.fract() == 0.0 => Some(*number as i64),
        other => other.as_int(),
    };
    number.is_some_and(|number| {
        let is_between = if range.step > 0 {
            (range.start..range.stop).contains(&number)
        } else {
            number <= range.start && number > range.stop
        };
        is_between && (number - range.start) % range.step == 0
    })
}
