//! The reference harness's fingerprints: sha256 over texts, and over rows written as Python's `json.dumps` writes them.

use std::io;

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};
use sha2::{Digest, Sha256};

/// sha256 of the UTF-8 bytes, as lower-case hex.
pub fn hash_text(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

/// The harness's `doc_hash`: sha256 of `json.dumps(doc, indent=2, ensure_ascii=False)`, key order kept.
pub fn doc_hash(doc: &Value) -> String {
    hash_text(&python_json(doc, Layout::Indented(2)))
}

/// The harness's `task_hashes` entry: one hash over the three hashes of each sample, in logged order.
pub fn task_hash<'a>(samples: impl IntoIterator<Item = [&'a str; 3]>) -> String {
    let mut digest = Sha256::new();
    for hash in samples.into_iter().flatten() {
        digest.update(hash.as_bytes());
    }
    hex(&digest.finalize())
}

/// How [`python_json`] breaks lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// `json.dumps(..., indent=N)`.
    Indented(usize),
    /// `json.dumps(...)`: one line, a blank after each comma and colon.
    OneLine,
    /// `json.dumps(..., separators=(",", ":"))`.
    Dense,
}

/// What Python's `json.dumps(value, ensure_ascii=False)` gives, floats as Python's `repr`.
pub fn python_json(value: &Value, layout: Layout) -> String {
    let written = match layout {
        Layout::Indented(width) => write_with(
            value,
            Indented(PrettyFormatter::with_indent(" ".repeat(width).as_bytes())),
        ),
        Layout::OneLine => write_with(value, OneLine { item: ", ", key: ": " }),
        Layout::Dense => write_with(value, OneLine { item: ",", key: ":" }),
    };
    // Writing a JSON value into memory as text cannot fail.
    written.unwrap_or_default()
}

fn write_with(value: &Value, formatter: impl Formatter) -> Option<String> {
    let mut bytes = Vec::new();
    value
        .serialize(&mut Serializer::with_formatter(&mut bytes, formatter))
        .ok()?;
    String::from_utf8(bytes).ok()
}

/// Python's `repr` of a float: shortest digits that read back the same, an exponent from 1e16 up and below 1e-4.
pub fn python_float(value: f64) -> String {
    if !value.is_finite() {
        let name = if value.is_nan() { "NaN" } else { "Infinity" };
        return if value < 0.0 {
            format!("-{name}")
        } else {
            name.to_owned()
        };
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    match exponent.parse::<i32>() {
        Ok(power) if value != 0.0 && !(-4..16).contains(&power) => {
            let sign = if power < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", power.unsigned_abs())
        }
        _ => format!("{value:?}"),
    }
}

struct Indented<'a>(PrettyFormatter<'a>);

impl Formatter for Indented<'_> {
    fn write_f64<W: io::Write + ?Sized>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        writer.write_all(python_float(value).as_bytes())
    }

    fn begin_array<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_array(writer)
    }

    fn end_array<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array(writer)
    }

    fn begin_array_value<W: io::Write + ?Sized>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(writer, first)
    }

    fn end_array_value<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array_value(writer)
    }

    fn begin_object<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object(writer)
    }

    fn end_object<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object(writer)
    }

    fn begin_object_key<W: io::Write + ?Sized>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(writer, first)
    }

    fn begin_object_value<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object_value(writer)
    }

    fn end_object_value<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_value(writer)
    }
}

struct OneLine {
    item: &'static str,
    key: &'static str,
}

impl Formatter for OneLine {
    fn write_f64<W: io::Write + ?Sized>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        writer.write_all(python_float(value).as_bytes())
    }

    fn begin_array_value<W: io::Write + ?Sized>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first {
            Ok(())
        } else {
            writer.write_all(self.item.as_bytes())
        }
    }

    fn begin_object_key<W: io::Write + ?Sized>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if first {
            Ok(())
        } else {
            writer.write_all(self.item.as_bytes())
        }
    }

    fn begin_object_value<W: io::Write + ?Sized>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(self.key.as_bytes())
    }
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_written_as_python_writes_them() {
        let row: Value = serde_json::from_str(
            r#"{"q":"a\"b\\c\n\t\b\f\u001f\u007fé","list":["x",1],"none":null,"yes":true,"empty":[],"map":{},"f":[1.0,1e16,0.0001,0.00001,-0.0,1.5e-7,123456789012345680.0,1e100,0.1]}"#,
        )
        .unwrap();
        let expected = "{\n  \"q\": \"a\\\"b\\\\c\\n\\t\\b\\f\\u001f\u{7f}é\",\n  \"list\": [\n    \"x\",\n    1\n  ],\n  \"none\": null,\n  \"yes\": true,\n  \"empty\": [],\n  \"map\": {},\n  \"f\": [\n    1.0,\n    1e+16,\n    0.0001,\n    1e-05,\n    -0.0,\n    1.5e-07,\n    1.2345678901234568e+17,\n    1e+100,\n    0.1\n  ]\n}";
        assert_eq!(python_json(&row, Layout::Indented(2)), expected);
        let row: Value = serde_json::from_str(r#"{"a":[1,2.5],"b":{},"c":"x"}"#).unwrap();
        assert_eq!(
            python_json(&row, Layout::OneLine),
            r#"{"a": [1, 2.5], "b": {}, "c": "x"}"#
        );
    }

    #[test]
    fn a_task_hash_runs_over_the_three_hashes_of_each_sample() {
        assert_eq!(task_hash([["a", "b", "c"], ["d", "e", "f"]]), hash_text("abcdef"));
    }
}
