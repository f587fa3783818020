//! How Python lays out a value in a text, and the pieces of `'{}'.format(value)`.

use super::call::Arguments;
use super::meter::{Meter, Text};
use super::value::Value;
use super::{Error, Result, written};

/// How one value is laid out.
#[derive(Debug, Clone, Default)]
pub(super) struct Spec {
    pub(super) fill: Option<char>,
    pub(super) align: Option<char>,
    pub(super) sign: Option<char>,
    pub(super) is_alternate: bool,
    pub(super) width: usize,
    pub(super) grouping: Option<char>,
    pub(super) precision: Option<usize>,
    pub(super) kind: Option<char>,
}

pub(super) fn digits(rest: &mut &str) -> Result<i64> {
    let length = rest.bytes().take_while(u8::is_ascii_digit).count();
    let (number, after) = rest.split_at(length);
    *rest = after;
    if number.is_empty() {
        return Ok(0);
    }
    number
        .parse()
        .map_err(|_| Error::python("Too many decimal digits in format string"))
}

/// `str`, `repr` or `ascii` of a value.
pub(super) fn converted(value: &Value, kind: char, meter: &Meter) -> Result<String> {
    match kind {
        's' => written::text(value, meter),
        'r' => written::repr(value, meter),
        _ => {
            let text = written::repr(value, meter)?;
            Ok(text.chars().fold(String::new(), |mut ascii, c| {
                match u32::from(c) {
                    ..0x80 => ascii.push(c),
                    code @ ..0x100 => ascii.push_str(&format!("\\x{code:02x}")),
                    code @ ..0x10000 => ascii.push_str(&format!("\\u{code:04x}")),
                    code => ascii.push_str(&format!("\\U{code:08x}")),
                }
                ascii
            }))
        }
    }
}

pub(super) fn radix(number: u64, kind: char) -> String {
    match kind {
        'b' => format!("{number:b}"),
        'o' => format!("{number:o}"),
        'x' => format!("{number:x}"),
        'X' => format!("{number:X}"),
        _ => number.to_string(),
    }
}

pub(super) fn prefix(kind: char, is_alternate: bool) -> &'static str {
    match kind {
        _ if !is_alternate => "",
        'b' => "0b",
        'o' => "0o",
        'x' => "0x",
        'X' => "0X",
        _ => "",
    }
}

/// Padding to the width; a precision cuts.
pub(super) fn pad_text(out: &mut Text, text: &str, spec: &Spec) -> Result<()> {
    let text: &str = match spec.precision {
        Some(most) => text.char_indices().nth(most).map_or(text, |(at, _)| &text[..at]),
        None => text,
    };
    let missing = spec.width.saturating_sub(text.chars().count());
    let fill = spec.fill.unwrap_or(' ');
    let before = match spec.align.unwrap_or('<') {
        '<' | '=' => 0,
        '>' => missing,
        _ => missing / 2,
    };
    out.repeat(fill, before)?;
    out.push(text)?;
    out.repeat(fill, missing - before)
}

/// Sign, prefix and digits, padded to the width.
pub(super) fn lay_out(out: &mut Text, is_negative: bool, prefix: &str, digits: &str, spec: &Spec) -> Result<()> {
    let sign = match (is_negative, spec.sign) {
        (true, _) => "-",
        (false, Some('+')) => "+",
        (false, Some(' ')) => " ",
        _ => "",
    };
    let align = spec.align.unwrap_or(if spec.fill == Some('0') { '=' } else { '>' });
    if align != '=' {
        let whole = format!("{sign}{prefix}{digits}");
        return pad_text(
            out,
            &whole,
            &Spec {
                align: Some(align),
                precision: None,
                ..spec.clone()
            },
        );
    }
    let missing = spec
        .width
        .saturating_sub(sign.len() + prefix.len() + digits.chars().count());
    if spec.grouping.is_some() && missing > 0 && spec.fill == Some('0') {
        return Err(Error::unknown("zeros before grouped digits"));
    }
    out.push(sign)?;
    out.push(prefix)?;
    out.repeat(spec.fill.unwrap_or(' '), missing)?;
    out.push(digits)
}

/// `e`, `f`, `g`, `%`, or Python's own form of a float.
pub(super) fn write_float(out: &mut Text, number: f64, spec: &Spec) -> Result<()> {
    let kind = spec.kind.unwrap_or(' ');
    let precision = spec.precision.unwrap_or(6);
    if precision > 1_000 {
        return Err(Error::unknown("a float of more than a thousand digits"));
    }
    let size = number.abs();
    let mut digits = match kind {
        _ if !size.is_finite() => if size.is_nan() { "nan" } else { "inf" }.to_owned(),
        'e' | 'E' => exponent(size, precision),
        'f' | 'F' => format!("{size:.precision$}"),
        'g' | 'G' => general(size, precision, spec.is_alternate, false),
        '%' => format!("{:.precision$}%", size * 100.0),
        _ => match spec.precision {
            None => written::float(size),
            Some(precision) => general(size, precision, false, true),
        },
    };
    if kind.is_ascii_uppercase() {
        digits = digits.to_ascii_uppercase();
    }
    if let Some(sign) = spec.grouping {
        digits = grouped(&digits, sign);
    }
    let is_negative = number.is_sign_negative() && !number.is_nan();
    lay_out(out, is_negative, "", &digits, spec)
}

/// `1.50e+00`.
fn exponent(size: f64, precision: usize) -> String {
    let text = format!("{size:.precision$e}");
    let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, power) = power.strip_prefix('-').map_or(('+', power), |power| ('-', power));
    format!("{digits}e{sign}{power:0>2}")
}

/// C's `%g`; with `is_repr` Python's form for a float with a precision and no kind.
fn general(size: f64, precision: usize, keeps_zeros: bool, is_repr: bool) -> String {
    let precision = precision.max(1);
    let scientific = exponent(size, precision - 1);
    let power: i64 = scientific
        .split_once('e')
        .and_then(|(_, power)| power.parse().ok())
        .unwrap_or(0);
    let limit = precision as i64 - i64::from(is_repr);
    let is_plain = (-4..limit.max(i64::from(is_repr && size == 0.0))).contains(&power);
    let text = if is_plain {
        let places = usize::try_from(precision as i64 - 1 - power).unwrap_or(0);
        format!("{size:.places$}")
    } else {
        scientific
    };
    let (digits, power) = text
        .split_once('e')
        .map_or((text.as_str(), None), |(digits, power)| (digits, Some(power)));
    let digits = match digits.contains('.') && !keeps_zeros {
        true => digits.trim_end_matches('0').trim_end_matches('.'),
        false => digits,
    };
    match power {
        Some(power) => format!("{digits}e{power}"),
        None if is_repr && !digits.contains('.') => format!("{digits}.0"),
        None => digits.to_owned(),
    }
}

fn grouped(digits: &str, sign: char) -> String {
    let whole = digits.bytes().take_while(u8::is_ascii_digit).count();
    let mut text = String::new();
    for (at, c) in digits[..whole].chars().enumerate() {
        if at > 0 && (whole - at).is_multiple_of(3) {
            text.push(sign);
        }
        text.push(c);
    }
    text + &digits[whole..]
}

/// A piece of a format text.
pub(super) enum Piece {
    Text(String),
    /// What is named, how it is converted, and its specification.
    Field(String, Option<char>, String),
}

/// The pieces of a text for `str.format`.
pub(super) fn pieces(form: &str) -> Result<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut rest = form;
    while let Some(at) = rest.find(['{', '}']) {
        text.push_str(&rest[..at]);
        let sign = &rest[at..=at];
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix(sign) {
            text.push_str(sign);
            rest = after;
            continue;
        }
        if sign == "}" {
            return Err(Error::python("Single '}' encountered in format string"));
        }
        let end = end_of_field(rest)?;
        let (field, after) = (&rest[..end], &rest[end + 1..]);
        rest = after;
        pieces.push(Piece::Text(std::mem::take(&mut text)));
        pieces.push(field_of(field)?);
    }
    text.push_str(rest);
    pieces.push(Piece::Text(text));
    Ok(pieces)
}

fn end_of_field(text: &str) -> Result<usize> {
    let mut depth = 1;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Ok(at);
        }
    }
    Err(Error::python("expected '}' before end of string"))
}

fn field_of(field: &str) -> Result<Piece> {
    // A bracketed key may hold either sign.
    let mut depth = 0;
    let mut split = field.len();
    for (at, c) in field.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            '!' | ':' if depth == 0 => {
                split = at;
                break;
            }
            _ => {}
        }
    }
    let (name, rest) = field.split_at(split);
    let (conversion, spec) = match rest.strip_prefix('!') {
        None => (None, rest.strip_prefix(':').unwrap_or("")),
        Some(rest) => {
            let kind = rest.chars().next().filter(|kind| matches!(kind, 's' | 'r' | 'a'));
            let kind = kind.ok_or_else(|| Error::python("Unknown conversion specifier"))?;
            match rest[1..].strip_prefix(':') {
                Some(spec) => (Some(kind), spec),
                None if rest.len() == 1 => (Some(kind), ""),
                None => return Err(Error::python("expected ':' after conversion specifier")),
            }
        }
    };
    Ok(Piece::Field(name.to_owned(), conversion, spec.to_owned()))
}

/// `format(value, spec)`, after `!r` and the like.
pub(super) fn write_formatted(
    out: &mut Text,
    value: &Value,
    conversion: Option<char>,
    spec: &str,
    meter: &Meter,
) -> Result<()> {
    if let Some(kind) = conversion {
        let text = converted(value, kind, meter)?;
        return pad_text(out, &text, &text_spec(spec)?);
    }
    match value {
        _ if spec.is_empty() => written::write(out, value),
        Value::Text(text) => pad_text(out, text, &text_spec(spec)?),
        Value::Float(number) => {
            let spec = parse_spec(spec)?;
            match spec.kind {
                None | Some('e' | 'E' | 'f' | 'F' | 'g' | 'G' | '%') => write_float(out, *number, &spec),
                Some(kind) => Err(no_such_kind(kind, "float")),
            }
        }
        Value::Int(_) | Value::Bool(_) => write_int(out, value.as_int().unwrap_or(0), &parse_spec(spec)?),
        Value::Markup(_) => Err(Error::unknown("format of text marked as safe")),
        other => {
            let name = other.type_name();
            Err(Error::python(format!(
                "unsupported format string passed to {name}.__format__"
            )))
        }
    }
}

fn no_such_kind(kind: char, name: &str) -> Error {
    Error::python(format!("Unknown format code '{kind}' for object of type '{name}'"))
}

fn write_int(out: &mut Text, number: i64, spec: &Spec) -> Result<()> {
    let kind = spec.kind.unwrap_or('d');
    match kind {
        'd' | 'b' | 'o' | 'x' | 'X' => {
            if spec.precision.is_some() {
                return Err(Error::python("Precision not allowed in integer format specifier"));
            }
            let digits = radix(number.unsigned_abs(), kind);
            let digits = match spec.grouping {
                Some(sign) if kind == 'd' => grouped(&digits, sign),
                Some(_) => return Err(Error::unknown("grouped digits that are not decimal")),
                None => digits,
            };
            lay_out(out, number < 0, prefix(kind, spec.is_alternate), &digits, spec)
        }
        'e' | 'E' | 'f' | 'F' | 'g' | 'G' | '%' => write_float(out, number as f64, spec),
        'c' | 'n' => Err(Error::unknown(format!("the format code {kind}"))),
        other => Err(no_such_kind(other, "int")),
    }
}

fn text_spec(spec: &str) -> Result<Spec> {
    let spec = parse_spec(spec)?;
    match (spec.kind, spec.align) {
        (Some(kind), _) if kind != 's' => Err(no_such_kind(kind, "str")),
        (_, Some('=')) => Err(Error::python("'=' alignment not allowed in string format specifier")),
        _ if spec.sign.is_some() || spec.is_alternate || spec.grouping.is_some() => {
            Err(Error::python("not allowed in string format specifier"))
        }
        _ => Ok(spec),
    }
}

/// `[[fill]align][sign][#][0][width][grouping][.precision][kind]`.
fn parse_spec(text: &str) -> Result<Spec> {
    let is_align = |c: &char| matches!(c, '<' | '>' | '=' | '^');
    let mut spec = Spec::default();
    let mut chars = text.chars();
    let (first, second) = (chars.next(), chars.next());
    let mut rest = text;
    if let (Some(fill), Some(align)) = (first, second.filter(is_align)) {
        (spec.fill, spec.align) = (Some(fill), Some(align));
        rest = &rest[fill.len_utf8() + 1..];
    } else if let Some(align) = first.filter(is_align) {
        (spec.fill, spec.align) = (Some(' '), Some(align));
        rest = &rest[1..];
    }
    if let Some(sign) = rest.chars().next().filter(|c| matches!(c, '+' | '-' | ' ')) {
        spec.sign = Some(sign);
        rest = &rest[1..];
    }
    if let Some(after) = rest.strip_prefix('#') {
        spec.is_alternate = true;
        rest = after;
    }
    if let Some(after) = rest.strip_prefix('0') {
        if spec.align.is_none() {
            spec.fill = Some('0');
        }
        rest = after;
    }
    spec.width = usize::try_from(digits(&mut rest)?).unwrap_or(0);
    if let Some(sign) = rest.chars().next().filter(|c| matches!(c, ',' | '_')) {
        spec.grouping = Some(sign);
        rest = &rest[1..];
    }
    if let Some(after) = rest.strip_prefix('.') {
        rest = after;
        if !rest.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(Error::python("Format specifier missing precision"));
        }
        spec.precision = Some(usize::try_from(digits(&mut rest)?).unwrap_or(0));
    }
    let mut chars = rest.chars();
    spec.kind = chars.next();
    if chars.next().is_some() {
        return Err(Error::python("Invalid format specifier"));
    }
    Ok(spec)
}

impl Arguments {
    /// The argument that a field's first name stands for; an empty one takes the next.
    pub(super) fn named(&self, name: &str, next: &mut usize) -> Result<Value> {
        let index = match name {
            "" => {
                *next += 1;
                *next - 1
            }
            name if name.bytes().all(|byte| byte.is_ascii_digit()) => name.parse().unwrap_or(usize::MAX),
            name => {
                let known = self.keywords.iter().find(|(known, _)| &**known == name);
                return match known {
                    Some((_, value)) => Ok(value.clone()),
                    None => Err(Error::python(format!("KeyError: '{name}'"))),
                };
            }
        };
        let value = self.positional.get(index).cloned();
        value.ok_or_else(|| {
            Error::python(format!(
                "Replacement index {index} out of range for positional args tuple"
            ))
        })
    }
}
