//! JSON as Python writes it: bare `NaN` and `Infinity`, half surrogate pairs. Objects are read field by field, so that
//! a row's long texts are passed over at memory speed when only its short fields are wanted.

use std::borrow::Cow;

use serde_json::Value;

pub(crate) use super::scan::{Broken, value_end};
use super::scan::{broken, cut, key_end, scalar_end, skip_space, string_end, unescape};

/// The bytes of one value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Raw<'a>(pub &'a [u8]);

/// An object whose values are still bytes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Object<'a> {
    fields: Vec<(Cow<'a, str>, Raw<'a>)>,
}

impl<'a> Object<'a> {
    /// Reads an object that fills `bytes` but for white space.
    pub fn parse(bytes: &'a [u8]) -> Result<Object<'a>, Broken> {
        let (object, end) = Object::read(bytes);
        match end {
            Ok(end) if skip_space(bytes, end) == bytes.len() => Ok(object),
            Ok(end) => broken(end, "text after the object"),
            Err(error) => Err(error),
        }
    }

    /// The fields up to the end or the first fault, and where the object ends. The key of a field whose value is
    /// broken or cut off is in, with an empty value.
    pub fn read(bytes: &'a [u8]) -> (Object<'a>, Result<usize, Broken>) {
        let mut object = Object::default();
        let end = object.read_fields(bytes);
        (object, end)
    }

    fn read_fields(&mut self, bytes: &'a [u8]) -> Result<usize, Broken> {
        let mut at = skip_space(bytes, 0);
        match bytes.get(at) {
            Some(b'{') => at = skip_space(bytes, at + 1),
            Some(_) => return broken(at, "no object"),
            None => return cut(at),
        }
        if bytes.get(at) == Some(&b'}') {
            return Ok(at + 1);
        }
        loop {
            let key_start = at;
            let after_key = key_end(bytes, at)?;
            let quote = string_end(bytes, key_start)?;
            self.fields
                .push((unescape(&bytes[key_start + 1..quote - 1]).0, Raw(b"")));
            let start = skip_space(bytes, after_key);
            let end = value_end(bytes, start)?;
            if let Some(field) = self.fields.last_mut() {
                field.1 = Raw(&bytes[start..end]);
            }
            at = skip_space(bytes, end);
            match bytes.get(at) {
                Some(b',') => at = skip_space(bytes, at + 1),
                Some(b'}') => return Ok(at + 1),
                Some(_) => return broken(at, "no comma between fields"),
                None => return cut(at),
            }
        }
    }

    /// The last field of that name, unless it is null.
    pub fn get(&self, key: &str) -> Option<Raw<'a>> {
        self.field(key).filter(|raw| !raw.is_null())
    }

    /// The last field of that name, null too.
    pub fn field(&self, key: &str) -> Option<Raw<'a>> {
        self.fields
            .iter()
            .rev()
            .find(|(name, _)| name == key)
            .map(|(_, raw)| *raw)
    }

    pub fn has(&self, key: &str) -> bool {
        self.field(key).is_some()
    }

    /// The first of these fields that is there and not null.
    pub fn first(&self, keys: &[&str]) -> Option<Raw<'a>> {
        keys.iter().find_map(|key| self.get(key))
    }

    pub fn text(&self, key: &str) -> Option<String> {
        self.get(key).and_then(Raw::text)
    }

    /// The texts, numbers and truth values of fields, as [`Raw`] reads them.
    pub fn shown(&self, key: &str) -> Option<String> {
        self.get(key).map(Raw::shown)
    }

    pub fn int(&self, key: &str) -> Option<i64> {
        self.get(key).and_then(Raw::int)
    }

    pub fn float(&self, key: &str) -> Option<f64> {
        self.get(key).and_then(Raw::float)
    }

    pub fn truth(&self, key: &str) -> Option<bool> {
        self.get(key).and_then(Raw::truth)
    }

    /// The elements of a field that is a list.
    pub fn list(&self, key: &str) -> Vec<Raw<'a>> {
        self.get(key).map(Raw::list).unwrap_or_default()
    }

    pub fn object(&self, key: &str) -> Object<'a> {
        self.get(key).map(Raw::object).unwrap_or_default()
    }

    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|(key, _)| key.as_ref())
    }

    pub fn fields(&self) -> impl Iterator<Item = (&str, Raw<'a>)> {
        self.fields.iter().map(|(key, raw)| (key.as_ref(), *raw))
    }

    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }
}

impl<'a> Raw<'a> {
    pub fn is_null(self) -> bool {
        self.0 == b"null" || self.0.is_empty()
    }

    pub fn is_string(self) -> bool {
        self.0.first() == Some(&b'"')
    }

    pub fn is_list(self) -> bool {
        self.0.first() == Some(&b'[')
    }

    pub fn is_object(self) -> bool {
        self.0.first() == Some(&b'{')
    }

    /// A string's text; `None` for any other value.
    pub fn text(self) -> Option<String> {
        self.marked_text().map(|(text, _)| text)
    }

    /// A string's text, and whether something in it had to be replaced by U+FFFD.
    pub fn marked_text(self) -> Option<(String, bool)> {
        let inner = self.0.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        let (text, is_replaced) = unescape(inner);
        Some((text.into_owned(), is_replaced))
    }

    /// What Python's `str()` gives for strings, numbers and truth values; lists and objects as JSON.
    pub fn shown(self) -> String {
        match self.0 {
            b"true" => "True".to_owned(),
            b"false" => "False".to_owned(),
            b"null" => "None".to_owned(),
            other => self
                .text()
                .unwrap_or_else(|| String::from_utf8_lossy(other).into_owned()),
        }
    }

    /// A whole number, also one written as text or as `3.0`.
    pub fn int(self) -> Option<i64> {
        let text = self.number_text()?;
        text.parse().ok().or_else(|| {
            let number: f64 = text.parse().ok()?;
            (number.fract() == 0.0 && number.abs() < 9e15).then_some(number as i64)
        })
    }

    /// A number, also one written as text; `NaN`, `nan`, `-inf` and `Infinity` too.
    pub fn float(self) -> Option<f64> {
        self.number_text()?.parse().ok()
    }

    fn number_text(self) -> Option<Cow<'a, str>> {
        if let Some(inner) = self.0.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")) {
            return Some(Cow::Owned(unescape(inner).0.trim().to_owned()));
        }
        std::str::from_utf8(self.0).ok().map(Cow::Borrowed)
    }

    /// A truth value, also one written as text or as a number.
    pub fn truth(self) -> Option<bool> {
        match self.shown().as_str() {
            "True" | "true" | "TRUE" | "1" | "1.0" => Some(true),
            "False" | "false" | "FALSE" | "0" | "0.0" => Some(false),
            _ => None,
        }
    }

    /// The elements of a list; none where the value is no list.
    pub fn list(self) -> Vec<Raw<'a>> {
        let mut items = Vec::new();
        if !self.is_list() {
            return items;
        }
        let mut at = skip_space(self.0, 1);
        while let Ok(end) = value_end(self.0, at) {
            items.push(Raw(&self.0[at..end]));
            at = skip_space(self.0, end);
            if self.0.get(at) != Some(&b',') {
                break;
            }
            at = skip_space(self.0, at + 1);
        }
        items
    }

    /// The fields of an object; none where the value is no object.
    pub fn object(self) -> Object<'a> {
        if self.is_object() {
            Object::read(self.0).0
        } else {
            Object::default()
        }
    }

    /// The value as a tree. What is not JSON (`NaN`, half surrogate pairs) is replaced: numbers by their name as text.
    pub fn value(self) -> Value {
        serde_json::from_slice(self.0)
            .or_else(|_| serde_json::from_slice(&strict(self.0)))
            .unwrap_or(Value::Null)
    }

    /// The value on one line, its texts and numbers as they are written.
    pub fn one_line(self) -> String {
        String::from_utf8_lossy(&self.line()).into_owned()
    }

    /// The same as bytes. Control characters that stand raw in a text become escapes.
    pub fn line(self) -> Vec<u8> {
        rewrite(self.0, &|token, out| {
            if token.first() != Some(&b'"') || token.iter().all(|byte| *byte >= 0x20) {
                out.extend_from_slice(token);
                return;
            }
            for byte in token {
                match byte {
                    b'\n' => out.extend_from_slice(b"\\n"),
                    b'\r' => out.extend_from_slice(b"\\r"),
                    b'\t' => out.extend_from_slice(b"\\t"),
                    0..0x20 => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
                    _ => out.push(*byte),
                }
            }
        })
    }
}

/// The values that follow each other in `bytes`, parted by white space or commas.
pub(crate) fn values(bytes: &[u8]) -> Result<Vec<Raw<'_>>, Broken> {
    let mut found = Vec::new();
    let mut at = skip_space(bytes, 0);
    while at < bytes.len() {
        let end = value_end(bytes, at)?;
        found.push(Raw(&bytes[at..end]));
        at = skip_space(bytes, end);
        if bytes.get(at) == Some(&b',') {
            at = skip_space(bytes, at + 1);
        }
    }
    Ok(found)
}

/// The same value as strict JSON.
fn strict(bytes: &[u8]) -> Vec<u8> {
    rewrite(bytes, &|token, out| match token {
        b"NaN" | b"Infinity" | b"-Infinity" => {
            out.push(b'"');
            out.extend_from_slice(token);
            out.push(b'"');
        }
        [b'"', inner @ .., b'"'] => {
            let text = unescape(inner).0;
            out.extend_from_slice(Value::String(text.into_owned()).to_string().as_bytes());
        }
        other => out.extend_from_slice(other),
    })
}

/// Passes every string, scalar and bracket through `write` and drops the white space between.
fn rewrite(bytes: &[u8], write: &dyn Fn(&[u8], &mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = skip_space(bytes, 0);
    while at < bytes.len() {
        let end = match bytes[at] {
            b'"' => string_end(bytes, at).unwrap_or(bytes.len()),
            b'{' | b'}' | b'[' | b']' | b',' | b':' => at + 1,
            _ => scalar_end(bytes, at).unwrap_or(at + 1),
        };
        write(&bytes[at..end], &mut out);
        at = skip_space(bytes, end);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read_without_their_values() {
        let object = Object::parse(br#" {"a": [1, {"b": "]"}], "c\u0041": "x\ty", "n": null} "#).unwrap();
        assert_eq!(object.keys().collect::<Vec<_>>(), ["a", "cA", "n"]);
        assert_eq!(object.text("cA").unwrap(), "x\ty");
        assert!(object.get("n").is_none() && object.has("n"));
        assert_eq!(object.get("a").unwrap().list().len(), 2);
    }

    #[test]
    fn python_numbers_are_read() {
        let object =
            Object::parse(br#"{"a": NaN, "b": -Infinity, "c": "-2.5", "d": "nan", "e": "3", "f": 2.0}"#).unwrap();
        let number = |key: &str| object.get(key).unwrap().float().unwrap();
        assert!(number("a").is_nan() && number("d").is_nan());
        assert!(number("b").is_infinite() && number("b") < 0.0);
        assert!((number("c") + 2.5).abs() < 1e-12);
        assert_eq!(
            (object.get("e").unwrap().int(), object.get("f").unwrap().int()),
            (Some(3), Some(2))
        );
    }

    #[test]
    fn half_a_surrogate_pair_is_replaced_and_told() {
        assert_eq!(
            Raw(br#""a\ud83d b""#).marked_text().unwrap(),
            ("a\u{fffd} b".to_owned(), true)
        );
        assert_eq!(
            Raw(br#""\ud83d\ude00""#).marked_text().unwrap(),
            ("\u{1f600}".to_owned(), false)
        );
    }

    #[test]
    fn what_is_no_json_is_refused_with_its_place() {
        for (text, is_cut) in [
            (&b"{\"a\": 1"[..], true),
            (b"{\"a\" 1}", false),
            (b"{\"a\": [1 2]}", false),
            (b"{\"a\": [1}}", false),
            (b"{\"a\": nul}", false),
            (b"{\"a\": \"x", true),
            (b"{\"a\": 1} x", false),
            (b"{\"a\": 1, }", false),
            (b"", true),
        ] {
            let error = Object::parse(text).unwrap_err();
            assert_eq!(error.is_cut, is_cut, "{} in {}", error, String::from_utf8_lossy(text));
        }
        let deep = "[".repeat(100_000);
        assert!(value_end(deep.as_bytes(), 0).is_err());
    }

    #[test]
    fn values_survive_what_strict_json_refuses() {
        let value = Raw(br#"{"x": NaN, "y": ["\ud83d", 1.50]}"#).value();
        assert_eq!(value.to_string(), "{\"x\":\"NaN\",\"y\":[\"\u{fffd}\",1.5]}");
        assert_eq!(
            Raw(b"{ \"a\" : [ 1.50 , \"x y\" ] }").one_line(),
            r#"{"a":[1.50,"x y"]}"#
        );
    }
}
