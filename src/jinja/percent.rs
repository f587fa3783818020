//! `'%s' % value`.

use super::call::int_of;
use super::format::{Spec, converted, digits, lay_out, pad_text, prefix, radix, write_float};
use super::meter::{Meter, Text};
use super::value::Value;
use super::{Error, Result, number, operators};

/// `form % values`.
pub(super) fn percent(form: &str, values: &Value, meter: &Meter) -> Result<String> {
    let single = [values.clone()];
    let (given, is_tuple) = match values {
        Value::Tuple(items) => (items.items.as_slice(), true),
        _ => (single.as_slice(), false),
    };
    let mut given = given.iter();
    let mut out = Text::new(meter);
    let mut rest = form;
    let mut by_name = false;
    while let Some(at) = rest.find('%') {
        out.push(&rest[..at])?;
        rest = &rest[at + 1..];
        let mut named = None;
        if rest.starts_with('(') {
            let Value::Dict(dict) = values else {
                return Err(Error::python("format requires a mapping"));
            };
            let end = rest.find(')').ok_or_else(|| Error::python("incomplete format key"))?;
            let key = Value::text(&rest[1..end]);
            let value = dict.get(&key);
            named = Some(value.ok_or_else(|| Error::python(format!("KeyError: '{}'", &rest[1..end])))?);
            by_name = true;
            rest = &rest[end + 1..];
        }
        let mut next = || {
            named
                .or_else(|| given.next())
                .ok_or_else(|| Error::python("not enough arguments for format string"))
        };
        let (spec, after) = percent_spec(rest, &mut next)?;
        rest = after;
        match spec.kind {
            Some('%') => out.push("%")?,
            Some(kind) => percent_value(&mut out, next()?, spec.clone(), kind, meter)?,
            None => return Err(Error::python("incomplete format")),
        }
    }
    out.push(rest)?;
    let is_mapping = matches!(
        values,
        Value::Dict(_) | Value::List(_) | Value::Range(_) | Value::Undefined(_)
    );
    if !by_name && given.next().is_some() && (is_tuple || !is_mapping) {
        return Err(Error::python("not all arguments converted during string formatting"));
    }
    Ok(out.text)
}

/// Flags, width, precision and kind after a `%`, and what follows.
fn percent_spec<'a, 'v>(text: &'a str, next: &mut dyn FnMut() -> Result<&'v Value>) -> Result<(Spec, &'a str)> {
    let mut spec = Spec::default();
    let mut rest = text;
    while let Some(flag) = rest.chars().next().filter(|c| "-+ #0".contains(*c)) {
        match flag {
            '-' => spec.align = Some('<'),
            '#' => spec.is_alternate = true,
            '0' => spec.fill = Some('0'),
            '+' => spec.sign = Some('+'),
            _ => spec.sign = spec.sign.or(Some(' ')),
        }
        rest = &rest[1..];
    }
    let mut count = |rest: &mut &'a str| -> Result<i64> {
        if let Some(after) = rest.strip_prefix('*') {
            *rest = after;
            return int_of(next()?);
        }
        digits(rest)
    };
    let width = count(&mut rest)?;
    if width < 0 {
        spec.align = Some('<');
    }
    if spec.align.is_some() {
        spec.fill = None;
    }
    spec.width = width.unsigned_abs() as usize;
    if let Some(after) = rest.strip_prefix('.') {
        rest = after;
        spec.precision = Some(usize::try_from(count(&mut rest)?).unwrap_or(0));
    }
    rest = rest.strip_prefix(['h', 'l', 'L']).unwrap_or(rest);
    spec.kind = rest.chars().next();
    rest = &rest[spec.kind.map_or(0, char::len_utf8)..];
    Ok((spec, rest))
}

fn percent_value(out: &mut Text, value: &Value, mut spec: Spec, kind: char, meter: &Meter) -> Result<()> {
    match kind {
        's' | 'r' | 'a' => {
            let text = converted(value, kind, meter)?;
            spec.fill = None;
            let align = spec.align.unwrap_or('>');
            pad_text(
                out,
                &text,
                &Spec {
                    align: Some(align),
                    ..spec
                },
            )
        }
        'c' => match (value.as_int(), value.as_text()) {
            (Some(code), _) => {
                let c = u32::try_from(code).ok().and_then(char::from_u32);
                let c = c.ok_or_else(|| Error::python("%c arg not in range(0x110000)"))?;
                pad_text(
                    out,
                    &c.to_string(),
                    &Spec {
                        align: spec.align.or(Some('>')),
                        fill: None,
                        precision: None,
                        ..spec
                    },
                )
            }
            (None, Some(text)) if text.chars().count() == 1 => pad_text(
                out,
                text,
                &Spec {
                    align: spec.align.or(Some('>')),
                    fill: None,
                    precision: None,
                    ..spec
                },
            ),
            _ => Err(Error::python("%c requires int or char")),
        },
        'd' | 'i' | 'u' | 'o' | 'x' | 'X' => {
            let number = match value {
                Value::Float(number) if matches!(kind, 'd' | 'i' | 'u') => number::int_of_float(*number)?,
                other => {
                    operators::defined(&[other])?;
                    let name = value.type_name();
                    let wrong = || Error::python(format!("%{kind} format: a real number is required, not {name}"));
                    other.as_int().ok_or_else(wrong)?
                }
            };
            let least = spec.precision.take().unwrap_or(0);
            let kind = if matches!(kind, 'i' | 'u') { 'd' } else { kind };
            let mut digits = Text::new(meter);
            let plain = radix(number.unsigned_abs(), kind);
            digits.repeat('0', least.saturating_sub(plain.len()))?;
            digits.push(&plain)?;
            let digits = digits.text;
            lay_out(out, number < 0, prefix(kind, spec.is_alternate), &digits, &spec)
        }
        'e' | 'E' | 'f' | 'F' | 'g' | 'G' => {
            operators::defined(&[value])?;
            let wrong = || Error::python(format!("must be real number, not {}", value.type_name()));
            let number = value.as_number().ok_or_else(wrong)?;
            write_float(
                out,
                number,
                &Spec {
                    kind: Some(kind),
                    ..spec
                },
            )
        }
        other => Err(Error::python(format!("unsupported format character '{other}'"))),
    }
}
