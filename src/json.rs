//! JSON as Python's `json` module reads and writes it: NaN and the infinities, whole numbers of any size, floats by
//! their `repr`. A number that serde_json's values cannot hold is kept by its text.

use std::borrow::Cow;
use std::fmt::Write;

use serde_json::{Map, Value};

/// Key of the one-entry object that keeps a number by its text.
const NUMBER: &str = "$markbook::number";

/// How [`write`] lays out its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form<'a> {
    /// What each level is set in by, each value on a line of its own; none writes one line.
    pub indent: Option<&'a str>,
    /// Stands after a value that another one follows.
    pub item: &'a str,
    /// Stands between a key and its value.
    pub key: &'a str,
    /// Whether all beyond ASCII is written as `\uXXXX`.
    pub is_ascii: bool,
    /// Whether keys are sorted.
    pub is_sorted: bool,
}

/// The layouts of [`python_json`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// `json.dumps(..., indent=N)`.
    Indented(usize),
    /// `json.dumps(...)`: one line, a blank after each comma and colon.
    OneLine,
    /// `json.dumps(..., separators=(",", ":"))`.
    Dense,
}

/// Reads a JSON text as Python's `json.loads` does.
pub fn parse(text: &str) -> serde_json::Result<Value> {
    serde_json::from_str(&without_odd_numbers(text))
}

/// Reads a JSON object as Python's `json.loads` does.
pub fn parse_object(text: &str) -> serde_json::Result<Map<String, Value>> {
    serde_json::from_str(&without_odd_numbers(text))
}

/// A float; NaN and the infinities are kept by their text.
pub fn float(value: f64) -> Value {
    serde_json::Number::from_f64(value).map_or_else(|| by_text(&python_float(value)), Value::Number)
}

/// A whole number of any size by its digits.
pub fn whole(digits: &str) -> Value {
    match (digits.parse::<i64>(), digits.parse::<u64>()) {
        (Ok(number), _) => number.into(),
        (_, Ok(number)) => number.into(),
        _ => by_text(digits),
    }
}

/// The text of a number that serde_json's values cannot hold.
pub fn odd_number(value: &Value) -> Option<&str> {
    let object = value.as_object().filter(|object| object.len() == 1)?;
    let text = object.get(NUMBER)?.as_str()?;
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_number = matches!(text, "NaN" | "Infinity" | "-Infinity")
        || !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(text)
}

/// What Python's `json.dumps(value, ensure_ascii=False)` gives.
pub fn python_json(value: &Value, layout: Layout) -> String {
    let indent = match layout {
        Layout::Indented(width) => Some(" ".repeat(width)),
        Layout::OneLine | Layout::Dense => None,
    };
    let (item, key) = match layout {
        Layout::Indented(_) => (",", ": "),
        Layout::OneLine => (", ", ": "),
        Layout::Dense => (",", ":"),
    };
    let form = Form {
        indent: indent.as_deref(),
        item,
        key,
        is_ascii: false,
        is_sorted: false,
    };
    write(value, &form)
}

/// What Python's `json.dumps` gives in this form.
pub fn write(value: &Value, form: &Form) -> String {
    let mut text = String::new();
    write_value(&mut text, value, form, 0);
    text
}

/// Python's `repr` of a float: the nearest of the shortest digits that read back the same, of two as near the even one; an
/// exponent from 1e16 up and below 1e-4; NaN and the infinities as `json.dumps` spells them.
pub fn python_float(value: f64) -> String {
    if !value.is_finite() {
        let name = if value.is_nan() { "NaN" } else { "Infinity" };
        return if value < 0.0 {
            format!("-{name}")
        } else {
            name.to_owned()
        };
    }
    let scientific = shortest(value);
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let power: i32 = exponent.parse().unwrap_or(0);
    if !(-4..16).contains(&power) {
        let sign = if power < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", power.unsigned_abs());
    }
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("-", digits));
    let digits = digits.replace('.', "");
    if power < 0 {
        return format!("{sign}0.{}{digits}", "0".repeat(power.unsigned_abs() as usize - 1));
    }
    let whole = power.unsigned_abs() as usize + 1;
    let fraction = digits.get(whole..).filter(|rest| !rest.is_empty()).unwrap_or("0");
    format!("{sign}{:0<whole$}.{fraction}", &digits[..whole.min(digits.len())])
}

/// A finite float as `-d.ddde-d`. Rust's own shortest digits take the upper of two as near; its rounding to a number of
/// digits takes the even one, as Python does, and is the same number but where a power of two has a nearer neighbour below.
fn shortest(value: f64) -> String {
    let upper = format!("{value:e}");
    let digits = upper
        .bytes()
        .take_while(|byte| *byte != b'e')
        .filter(u8::is_ascii_digit);
    let even = format!("{value:.*e}", digits.count() - 1);
    if even.parse() == Ok(value) { even } else { upper }
}

/// What Python's `str` makes of a value; nothing of `None`.
pub fn python_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(true) => "True".into(),
        Value::Bool(false) => "False".into(),
        Value::String(text) => text.clone(),
        Value::Number(number) if number.is_f64() => number.as_f64().map(python_float).unwrap_or_default(),
        other => match odd_number(other) {
            Some("NaN") => "nan".into(),
            Some(text) if text.ends_with("Infinity") => text.replace("Infinity", "inf"),
            Some(digits) => digits.to_owned(),
            None => other.to_string(),
        },
    }
}

fn by_text(text: &str) -> Value {
    Value::Object(Map::from_iter([(NUMBER.to_owned(), text.into())]))
}

/// The text with each number that serde_json would refuse or change as an object that keeps it.
fn without_odd_numbers(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut plain = String::new();
    let (mut copied, mut at) = (0, 0);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at = end_of_string(bytes, at),
            b'-' | b'0'..=b'9' | b'N' | b'I' => {
                let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
                let length = bytes[at..].iter().take_while(|byte| is_part(byte)).count();
                if let Some(number) = odd(&text[at..at + length]) {
                    plain.push_str(&text[copied..at]);
                    plain.push_str(&number);
                    copied = at + length;
                }
                at += length;
            }
            _ => at += 1,
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    plain.push_str(&text[copied..]);
    Cow::Owned(plain)
}

/// Where the string that begins here has ended.
fn end_of_string(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// What stands for a number that serde_json would refuse or change.
fn odd(token: &str) -> Option<String> {
    let kept = |text: &str| Some(by_text(text).to_string());
    let digits = token.strip_prefix('-').unwrap_or(token);
    if matches!(token, "NaN" | "Infinity" | "-Infinity") {
        kept(token)
    } else if token == "-0" {
        Some("0".into())
    } else if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let is_too_long = digits.len() > 18 && !digits.starts_with('0');
        let fits = || token.parse::<i64>().is_ok() || token.parse::<u64>().is_ok();
        if is_too_long && !fits() { kept(token) } else { None }
    } else if digits.contains(['e', 'E']) || digits.len() > 300 {
        let is_json = digits.starts_with(|c: char| c.is_ascii_digit());
        let value: f64 = token.parse().ok()?;
        if is_json && value.is_infinite() {
            kept(&python_float(value))
        } else {
            None
        }
    } else {
        None
    }
}

fn write_value(text: &mut String, value: &Value, form: &Form, depth: usize) {
    match value {
        Value::Null => text.push_str("null"),
        Value::Bool(yes) => text.push_str(if *yes { "true" } else { "false" }),
        Value::Number(number) if number.is_f64() => {
            text.push_str(&number.as_f64().map(python_float).unwrap_or_default());
        }
        Value::Number(number) => {
            let _ = write!(text, "{number}");
        }
        Value::String(words) => write_string(text, words, form.is_ascii),
        Value::Array(items) => write_all(text, ['[', ']'], items.iter(), form, depth, |text, item| {
            write_value(text, item, form, depth + 1);
        }),
        Value::Object(object) => {
            if let Some(number) = odd_number(value) {
                text.push_str(number);
                return;
            }
            let mut entries: Vec<_> = object.iter().collect();
            if form.is_sorted {
                entries.sort_by_key(|(key, _)| *key);
            }
            write_all(
                text,
                ['{', '}'],
                entries.into_iter(),
                form,
                depth,
                |text, (key, value)| {
                    write_string(text, key, form.is_ascii);
                    text.push_str(form.key);
                    write_value(text, value, form, depth + 1);
                },
            );
        }
    }
}

fn write_all<T>(
    text: &mut String,
    [open, close]: [char; 2],
    items: impl ExactSizeIterator<Item = T>,
    form: &Form,
    depth: usize,
    mut write_one: impl FnMut(&mut String, T),
) {
    let new_line = |text: &mut String, depth: usize| {
        if let Some(indent) = form.indent {
            text.push('\n');
            (0..depth).for_each(|_| text.push_str(indent));
        }
    };
    let count = items.len();
    text.push(open);
    for (index, item) in items.enumerate() {
        if index > 0 {
            text.push_str(form.item);
        }
        new_line(text, depth + 1);
        write_one(text, item);
    }
    if count > 0 {
        new_line(text, depth);
    }
    text.push(close);
}

fn write_string(text: &mut String, words: &str, is_ascii: bool) {
    text.push('"');
    for c in words.chars() {
        match c {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            '\u{8}' => text.push_str("\\b"),
            '\u{c}' => text.push_str("\\f"),
            _ if c < ' ' || is_ascii && c > '~' => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(text, "\\u{unit:04x}");
                }
            }
            _ => text.push(c),
        }
    }
    text.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_written_as_python_writes_them() {
        let row = parse(
            r#"{"q":"a\"b\\c\n\t\b\f\u001f\u007fé","list":["x",1],"none":null,"yes":true,"empty":[],"map":{},"f":[1.0,1e16,0.0001,0.00001,-0.0,1.5e-7,123456789012345680.0,1e100,0.1]}"#,
        )
        .unwrap();
        let expected = "{\n  \"q\": \"a\\\"b\\\\c\\n\\t\\b\\f\\u001f\u{7f}é\",\n  \"list\": [\n    \"x\",\n    1\n  ],\n  \"none\": null,\n  \"yes\": true,\n  \"empty\": [],\n  \"map\": {},\n  \"f\": [\n    1.0,\n    1e+16,\n    0.0001,\n    1e-05,\n    -0.0,\n    1.5e-07,\n    1.2345678901234568e+17,\n    1e+100,\n    0.1\n  ]\n}";
        assert_eq!(python_json(&row, Layout::Indented(2)), expected);
        let row = parse(r#"{"a":[1,2.5],"b":{},"c":"x"}"#).unwrap();
        assert_eq!(
            python_json(&row, Layout::OneLine),
            r#"{"a": [1, 2.5], "b": {}, "c": "x"}"#
        );
    }

    #[test]
    fn six_hundred_thousand_floats_are_written_as_python_writes_them() {
        use sha2::{Digest, Sha256};
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut values = Vec::new();
        for _ in 0..200_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let high = (state >> 32) as u32;
            let drawn = [f64::from_bits(state), f64::from(f32::from_bits(high))];
            values.extend(drawn.into_iter().filter(|value| value.is_finite()));
            // As log-likelihoods are: single precision, from -0.01 down.
            values.push(-f64::from(f32::from_bits(0x3c00_0000 + high % 0x0680_0000)));
        }
        for power in -1074..1024 {
            let two = 2_f64.powi(power.max(-1022)) * 2_f64.powi((power + 1022).min(0));
            values.extend([two, two * 1.5]);
        }
        let written = |text: String| -> f64 { text.parse().unwrap() };
        for power in -30..30 {
            let ends = ["1", "9.999999999999999", "-1.5"].map(|digits| written(format!("{digits}e{power}")));
            values.extend(ends);
        }
        assert_eq!(values.len(), 603_561);
        let mut digest = Sha256::new();
        values
            .iter()
            .for_each(|value| digest.update(python_float(*value) + "\n"));
        // Of `repr` over the same numbers, by CPython 3.12.
        let python = "5b8e33e4ae216eafa2028f02c2fd9b5b37fcca8825f30a5dcd8a6a584938e4ff";
        let hex: String = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, python);
    }

    #[test]
    fn numbers_that_only_python_knows_keep_their_text() {
        let cases = [
            ("NaN", "NaN"),
            ("[-Infinity,Infinity]", "[-Infinity,Infinity]"),
            ("1e400", "Infinity"),
            ("-2.5E+999", "-Infinity"),
            ("-0", "0"),
            ("-0.0", "-0.0"),
            ("18446744073709551615", "18446744073709551615"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("98765432109876543210", "98765432109876543210"),
            ("-9223372036854775809", "-9223372036854775809"),
            (
                r#"{"NaN -0 \" 1e999":"NaN, \\\" 1e999","b":[NaN,{"c":1e999}]}"#,
                r#"{"NaN -0 \" 1e999":"NaN, \\\" 1e999","b":[NaN,{"c":Infinity}]}"#,
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(python_json(&parse(text).unwrap(), Layout::Dense), expected, "{text}");
        }
        for broken in [
            "NaNs",
            "-Inf",
            "nan",
            "00000000000000000000",
            "e999",
            "+1",
            "1.e5",
            "\"\\",
            "\"NaN",
        ] {
            assert!(parse(broken).is_err(), "{broken}");
        }
    }

    #[test]
    fn an_object_that_only_looks_like_a_kept_number_is_written_as_an_object() {
        let text = format!("{{\"{NUMBER}\":\"1]; drop\"}}");
        assert_eq!(python_json(&parse(&text).unwrap(), Layout::Dense), text);
    }

    #[test]
    fn separators_indent_order_and_ascii_are_free() {
        let form = Form {
            indent: Some("\t"),
            item: " ;",
            key: "=",
            is_ascii: true,
            is_sorted: true,
        };
        let value = parse(r#"{"b":["é",{}],"a😀":"\u007f"}"#).unwrap();
        assert_eq!(
            write(&value, &form),
            "{\n\t\"a\\ud83d\\ude00\"=\"\\u007f\" ;\n\t\"b\"=[\n\t\t\"\\u00e9\" ;\n\t\t{}\n\t]\n}"
        );
    }
}
