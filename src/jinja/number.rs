//! Python's numbers: arithmetic, order, rounding, and numbers read from text.

use std::cmp::Ordering;

use super::value::Value;
use super::{Error, Result};
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

/// A whole number against a float, exactly.
fn compare_mixed(whole: i64, float: f64) -> Option<Ordering> {
    const BEYOND: f64 = 9_223_372_036_854_775_808.0;
    if float.is_nan() {
        return None;
    }
    if float >= BEYOND {
        return Some(Ordering::Less);
    }
    if float < -BEYOND {
        return Some(Ordering::Greater);
    }
    Some(whole.cmp(&(float.floor() as i64)).then(if float.fract() == 0.0 {
        Ordering::Equal
    } else {
        Ordering::Less
    }))
}

/// `+ - * / // % **` of two numbers; none where one is no number.
pub(super) fn arithmetic(operator: &str, left: &Value, right: &Value) -> Option<Result<Value>> {
    if let (Some(left), Some(right)) = (left.as_int(), right.as_int()) {
        return Some(whole(operator, left, right));
    }
    let (left, right) = (left.as_number()?, right.as_number()?);
    Some(floats(operator, left, right).map(Value::Float))
}

fn by_zero() -> Error {
    Error::python("division by zero")
}

fn too_large() -> Error {
    Error::unknown("a whole number of more than 64 bits")
}

fn whole(operator: &str, left: i64, right: i64) -> Result<Value> {
    let number = match operator {
        "+" => left.checked_add(right),
        "-" => left.checked_sub(right),
        "*" => left.checked_mul(right),
        "/" if right == 0 => return Err(by_zero()),
        "/" if left.unsigned_abs() < 1 << 53 && right.unsigned_abs() < 1 << 53 => {
            return Ok(Value::Float(left as f64 / right as f64));
        }
        "//" | "%" if right == 0 => return Err(by_zero()),
        "//" => left.checked_div_euclid(right).map(|_| floor_div(left, right)),
        "%" => Some(if right == -1 {
            0
        } else {
            left - floor_div(left, right) * right
        }),
        "**" if right < 0 => return floats("**", left as f64, right as f64).map(Value::Float),
        "**" => u32::try_from(right)
            .ok()
            .and_then(|power| left.checked_pow(power))
            .or(match left {
                0 | 1 => Some(left),
                -1 => Some(if right % 2 == 0 { 1 } else { -1 }),
                _ => None,
            }),
        _ => None,
    };
    number.map(Value::Int).ok_or_else(too_large)
}

fn floor_div(left: i64, right: i64) -> i64 {
    let quotient = left / right;
    quotient - i64::from(left % right != 0 && (left < 0) != (right < 0))
}

fn floats(operator: &str, left: f64, right: f64) -> Result<f64> {
    let remainder = || {
        let rest = left % right;
        match rest != 0.0 && (rest < 0.0) != (right < 0.0) {
            true => rest + right,
            false if rest == 0.0 => 0.0_f64.copysign(right),
            false => rest,
        }
    };
    Ok(match operator {
        "+" => left + right,
        "-" => left - right,
        "*" => left * right,
        "/" | "//" | "%" if right == 0.0 => return Err(by_zero()),
        "/" => left / right,
        "%" => remainder(),
        "//" => {
            let quotient = (left - remainder()) / right;
            let floor = quotient.floor();
            if quotient - floor > 0.5 { floor + 1.0 } else { floor }
        }
        _ if left == 0.0 && right < 0.0 => return Err(by_zero()),
        _ if left < 0.0 && right.fract() != 0.0 && left.is_finite() && right.is_finite() => {
            return Err(Error::unknown("a complex number"));
        }
        _ => {
            let power = left.powf(right);
            if power.is_infinite() && left.is_finite() && right.is_finite() {
                return Err(Error::python("(34, 'Numerical result out of range')"));
            }
            power
        }
    })
}

/// Python's `round(value, digits)`: halves to the even neighbour, of the number's exact value.
pub(super) fn round(value: &Value, digits: i64) -> Result<Value> {
    if let Some(number) = value.as_int() {
        return match digits {
            0.. => Ok(Value::Int(number)),
            _ => Ok(Value::Int(round_whole(number, digits.unsigned_abs())?)),
        };
    }
    let Value::Float(number) = *value else {
        let name = value.type_name();
        return Err(Error::python(format!("type {name} doesn't define __round__ method")));
    };
    Ok(Value::Float(match digits {
        _ if !number.is_finite() || digits > 323 => number,
        0.. => format!("{number:.*}", digits as usize).parse().unwrap_or(number),
        ..-308 => 0.0_f64.copysign(number),
        _ => {
            let unit = 10_f64.powi(-digits as i32);
            ((number / unit).round_ties_even() * unit).copysign(number)
        }
    }))
}

fn round_whole(number: i64, digits: u64) -> Result<i64> {
    let Some(unit) = u32::try_from(digits).ok().and_then(|digits| 10_i64.checked_pow(digits)) else {
        return Ok(0);
    };
    let (below, rest) = (floor_div(number, unit), number.rem_euclid(unit));
    let is_up = rest * 2 > unit || rest * 2 == unit && below % 2 != 0;
    (below + i64::from(is_up)).checked_mul(unit).ok_or_else(too_large)
}

/// Digits with single underscores between them, without the underscores.
fn without_underscores(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let is_digit = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_alphanumeric);
    let lies_between = |(at, _): (usize, &u8)| is_digit(at.checked_sub(1)) && is_digit(Some(at + 1));
    let mut underscores = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'_');
    underscores.all(lies_between).then(|| text.replace('_', ""))
}

/// Python's `int(text, base)`; `None` where it is no number.
pub(super) fn int_of_text(text: &str, base: i64) -> Result<Option<i64>> {
    let text = strip(text);
    let (sign, digits) = match text.strip_prefix(['-', '+']) {
        Some(digits) => (if text.starts_with('-') { "-" } else { "" }, digits),
        None => ("", text),
    };
    let prefix = digits.get(..2).unwrap_or_default().to_ascii_lowercase();
    let named = match &*prefix {
        "0b" => 2,
        "0o" => 8,
        "0x" => 16,
        _ => 0,
    };
    let (base, digits) = match base {
        0 if named != 0 => (named, &digits[2..]),
        0 => (10, digits),
        2..=36 if i64::from(named) == base && named != 0 => (named, &digits[2..]),
        2..=36 => (base as u32, digits),
        _ => return Err(Error::python("int() base must be >= 2 and <= 36, or 0")),
    };
    if !digits.is_ascii() && digits.chars().any(char::is_numeric) {
        return Err(Error::unknown("a number in other digits than 0 to 9"));
    }
    let digits = digits
        .strip_prefix('_')
        .filter(|_| named != 0 && base == named)
        .unwrap_or(digits);
    let Some(plain) = without_underscores(digits) else {
        return Ok(None);
    };
    if plain.is_empty() || !plain.chars().all(|c| c.is_digit(base)) {
        return Ok(None);
    }
    i64::from_str_radix(&format!("{sign}{plain}"), base)
        .map(Some)
        .map_err(|_| too_large())
}

/// Python's `float(text)`.
pub(super) fn float_of_text(text: &str) -> Option<f64> {
    let text = without_underscores(strip(text))?;
    let digits = text.strip_prefix(['-', '+']).unwrap_or(&text);
    let is_word = matches!(&*digits.to_ascii_lowercase(), "inf" | "infinity" | "nan");
    let is_number = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    (is_word || is_number).then(|| text.parse().ok()).flatten()
}

/// `int(float)`: cut at the point.
pub(super) fn int_of_float(number: f64) -> Result<i64> {
    if number.is_nan() {
        return Err(Error::python("cannot convert float NaN to integer"));
    }
    if number.is_infinite() {
        return Err(Error::python("cannot convert float infinity to integer"));
    }
    let whole = number.trunc();
    if whole.abs() >= 9.0e18 {
        return Err(too_large());
    }
    Ok(whole as i64)
}
