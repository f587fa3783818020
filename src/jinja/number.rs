//! Python's numbers: arithmetic, order, rounding, and numbers read from text.

use std::cmp::Ordering;

use super::Result;
use super::value::Value;
use crate::text::strip;

/// How two numbers lie; none where one is NaN or no number.
pub(super) fn compare(left: &Value, right: &Value) -> Option<Ordering> {
    match (left.as_int(), right.as_int()) {
        (Some(left), Some(right)) => Some(left.cmp(&right)),
        (Some(left), None) => compare_mixed(left, right.as_number()?),
        (None, Some(right)) => compare_mixed(right, left.as_number()?).map(Ordering::reverse),
        (None, None) => left.as_number()?.partial_cmp(&right.as_number()?),
    }
}

/// A whole number against a float, exactly: where the nearest float of the one is the other, that is whole, too.
fn compare_mixed(whole: i64, float: f64) -> Option<Ordering> {
    let roughly = (whole as f64).partial_cmp(&float)?;
    Some(roughly.then(i128::from(whole).cmp(&(float as i128))))
}

/// `+ - * / // % **` of two numbers; none where one is no number.
pub(super) fn arithmetic(operator: &str, left: &Value, right: &Value) -> Option<Result<Value>> {
    if let (Some(left), Some(right)) = (left.as_int(), right.as_int()) {
        return Some(whole(operator, left, right));
    }
    let (left, right) = (left.as_number()?, right.as_number()?);
    Some(match operator {
        "+" => Ok(Value::Float(left + right)),
        "-" => Ok(Value::Float(left - right)),
        "*" => Ok(Value::Float(left * right)),
        "/" if right != 0.0 => Ok(Value::Float(left / right)),
        "/" => python!("division by zero"),
        _ => unknown!("{operator} of floats"),
    })
}

fn whole(operator: &str, left: i64, right: i64) -> Result<Value> {
    let floor = |left: i64, right: i64| {
        let quotient = left.checked_div(right)?;
        quotient.checked_sub(i64::from(left % right != 0 && (left < 0) != (right < 0)))
    };
    let number = match operator {
        "/" | "//" | "%" if right == 0 => return python!("division by zero"),
        "/" if left.unsigned_abs() < 1 << 53 && right.unsigned_abs() < 1 << 53 => {
            return Ok(Value::Float(left as f64 / right as f64));
        }
        "+" => left.checked_add(right),
        "-" => left.checked_sub(right),
        "*" => left.checked_mul(right),
        "//" => floor(left, right),
        "%" => floor(left, right).map(|quotient| left - quotient * right),
        "**" => u32::try_from(right).ok().and_then(|power| left.checked_pow(power)),
        _ => None,
    };
    number.map_or_else(
        || unknown!("the result of {left} {operator} {right}"),
        |number| Ok(Value::Int(number)),
    )
}

/// Jinja2's `round(value, digits, method)`: halves to the even neighbour, of the number's exact value.
pub(super) fn round(value: &Value, digits: i64, method: &str) -> Result<Value> {
    let Ok(places @ 0..=300) = usize::try_from(digits) else {
        return unknown!("rounding to {digits} places");
    };
    let (Some(number), is_whole) = (value.as_number(), value.as_int().is_some()) else {
        return python!("type {} doesn't define __round__ method", value.type_name());
    };
    Ok(match method {
        "common" if is_whole => Value::Int(value.as_int().unwrap_or_default()),
        "common" if !number.is_finite() => Value::Float(number),
        "common" => Value::Float(format!("{number:.places$}").parse().unwrap_or(number)),
        "ceil" | "floor" => {
            let scale = 10_f64.powi(places as i32);
            let scaled = number * scale;
            let cut = if method == "ceil" {
                scaled.ceil()
            } else {
                scaled.floor()
            };
            Value::Float(int_of_float(cut)? as f64 / scale)
        }
        _ => return template!("method must be common, ceil or floor"),
    })
}

/// Jinja2's `int` of a value; none where Python reads no number in it.
pub(super) fn int(value: &Value) -> Result<Option<i64>> {
    let number = match value.as_text().map(|text| (float_of_text(text), strip(text))) {
        None => value.as_number().filter(|_| value.as_int().is_none()),
        Some((_, text)) if text.contains('_') || text.chars().any(|c| !c.is_ascii() && c.is_numeric()) => {
            return unknown!("the number {text}");
        }
        Some((None, _)) => return Ok(None),
        Some((number, text)) if text.contains(|c: char| !c.is_ascii_digit() && c != '-' && c != '+') => number,
        Some((_, text)) => match text.parse() {
            Ok(number) => return Ok(Some(number)),
            Err(_) => return unknown!("a whole number of more than 64 bits"),
        },
    };
    match number {
        None => Ok(value.as_int()),
        Some(number) if number.is_nan() || value.as_text().is_some() && number.is_infinite() => Ok(None),
        Some(number) => int_of_float(number).map(Some),
    }
}

/// Python's `float(text)`.
pub(super) fn float_of_text(text: &str) -> Option<f64> {
    let text = strip(text);
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_word = matches!(&*digits.to_ascii_lowercase(), "inf" | "infinity" | "nan");
    let is_number = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    (is_word || is_number).then(|| text.parse().ok()).flatten()
}

/// `int(float)`: cut at the point.
fn int_of_float(number: f64) -> Result<i64> {
    match number.trunc() {
        whole if whole.is_nan() => python!("cannot convert float NaN to integer"),
        whole if whole.is_infinite() => python!("cannot convert float infinity to integer"),
        whole if whole.abs() >= 9.0e18 => unknown!("a whole number of more than 64 bits"),
        whole => Ok(whole as i64),
    }
}
