//! Python's operators between values of all kinds.

use std::cmp::Ordering;

use super::format::percent;
use super::meter::{Meter, Text};
use super::value::{Kind, Value};
use super::{Error, Fault, Result, number, sequence};

/// An `UndefinedError` where one of them is undefined.
pub(super) fn defined(values: &[&Value]) -> Result<()> {
    let undefined = values.iter().find_map(|value| match value {
        Value::Undefined(message) => Some(message),
        _ => None,
    });
    undefined.map_or(Ok(()), |message| Err(Error::new(Fault::Template, &**message)))
}

pub(super) fn binary(operator: &str, left: &Value, right: &Value, meter: &Meter) -> Result<Value> {
    if let ("%", Value::Text(form)) = (operator, left) {
        return percent(form, right, meter).map(Value::text);
    }
    defined(&[left, right])?;
    if let Some(number) = number::arithmetic(operator, left, right) {
        return number;
    }
    match (operator, left, right) {
        ("+", Value::Text(left), Value::Text(right)) => {
            let mut text = Text::new(meter);
            [left, right].into_iter().try_for_each(|part| text.push(part))?;
            Ok(Value::text(text.text))
        }
        ("+", Value::Series(kind @ (Kind::List | Kind::Tuple), left), Value::Series(of, right)) if kind == of => {
            meter.items(left.items.len() + right.items.len())?;
            Value::series(*kind, left.items.iter().chain(&right.items).cloned().collect())
        }
        ("*", value, times) | ("*", times, value) if times.as_int().is_some() => {
            repeated(value, usize::try_from(times.as_int().unwrap_or(0)).unwrap_or(0), meter)
        }
        (_, Value::Markup(_), _) | (_, _, Value::Markup(_)) => unknown!("{operator} on text marked as safe"),
        ("-" | "|" | "&", Value::Series(..) | Value::Dict(_), _) => {
            unknown!("{operator} on a {}", left.type_name())
        }
        ("+", Value::Text(_), other) => {
            python!("can only concatenate str (not \"{}\") to str", other.type_name())
        }
        _ => {
            let (left, right) = (left.type_name(), right.type_name());
            python!("unsupported operand type(s) for {operator}: '{left}' and '{right}'")
        }
    }
}

fn repeated(value: &Value, times: usize, meter: &Meter) -> Result<Value> {
    match value {
        Value::Series(kind @ (Kind::List | Kind::Tuple), items) => {
            meter.items(items.items.len().saturating_mul(times))?;
            let many = std::iter::repeat_n(&items.items, times).flatten().cloned();
            Value::series(*kind, many.collect())
        }
        Value::Text(text) => {
            meter.bytes(text.len().saturating_mul(times))?;
            Ok(Value::text(text.repeat(times)))
        }
        Value::Markup(_) => unknown!("* on text marked as safe"),
        other => python!("unsupported operand type(s) for *: 'int' and '{}'", other.type_name()),
    }
}

pub(super) fn negative(value: &Value) -> Result<Value> {
    defined(&[value])?;
    match (value, value.as_int()) {
        (Value::Float(number), _) => Ok(Value::Float(-number)),
        (_, Some(number)) => binary("-", &Value::Int(0), &Value::Int(number), &Meter::new()),
        _ => python!("bad operand type for unary -: '{}'", value.type_name()),
    }
}

/// `== != < <= > >= in not in`.
pub(super) fn compare(operator: &str, left: &Value, right: &Value, meter: &Meter) -> Result<bool> {
    meter.scan(left.weight().min(right.weight()))?;
    Ok(match operator {
        "==" => left.is_equal(right),
        "!=" => !left.is_equal(right),
        "in" => contains(right, left, meter)?,
        "not in" => !contains(right, left, meter)?,
        _ => order(operator, left, right)?.is_some_and(|order| match operator {
            "<" => order.is_lt(),
            "<=" => order.is_le(),
            ">" => order.is_gt(),
            _ => order.is_ge(),
        }),
    })
}

/// How two values lie: none where one is NaN; an error where Python has no order for them.
pub(super) fn order(operator: &str, left: &Value, right: &Value) -> Result<Option<Ordering>> {
    defined(&[left, right])?;
    if let (Value::Series(kind @ (Kind::List | Kind::Tuple), lefts), Value::Series(of, rights)) = (left, right)
        && kind == of
    {
        let mut pairs = lefts.items.iter().zip(&rights.items);
        return match pairs.find(|(left, right)| !left.is_equal(right)) {
            Some((left, right)) => order(operator, left, right),
            None => Ok(Some(lefts.items.len().cmp(&rights.items.len()))),
        };
    }
    match (left.as_text(), right.as_text()) {
        (Some(left), Some(right)) => Ok(Some(left.cmp(right))),
        _ if left.as_number().is_some() && right.as_number().is_some() => Ok(number::compare(left, right)),
        _ => {
            let (left, right) = (left.type_name(), right.type_name());
            python!("'{operator}' not supported between instances of '{left}' and '{right}'")
        }
    }
}

fn contains(whole: &Value, part: &Value, meter: &Meter) -> Result<bool> {
    match whole {
        Value::Text(text) | Value::Markup(text) => {
            meter.scan(text.len())?;
            match part.as_text() {
                Some(part) => Ok(text.contains(&**part)),
                None => python!(
                    "'in <string>' requires string as left operand, not {}",
                    part.type_name()
                ),
            }
        }
        Value::Dict(dict) => {
            meter.steps(dict.entries.len() / 8)?;
            part.check_hashable()?;
            Ok(dict.get(part).is_some())
        }
        Value::Series(Kind::Generator, items) => {
            let from = items.taken.get();
            let at = items.items[from..].iter().position(|item| item.is_equal(part));
            items.taken.set(at.map_or(items.items.len(), |at| from + at + 1));
            Ok(at.is_some())
        }
        Value::Series(_, items) => {
            meter.scan(part.weight().saturating_mul(items.items.len()))?;
            meter.steps(items.items.len() / 8)?;
            Ok(items.items.iter().any(|item| item.is_equal(part)))
        }
        Value::Undefined(_) | Value::Loop(_) => Ok(!sequence::items(whole, meter)?.is_empty()),
        other => python!("argument of type '{}' is not iterable", other.type_name()),
    }
}
