//! The bytes of JSON: where values end, checked on the way, and what strings say.

use std::borrow::Cow;
use std::fmt;

/// Deeper nesting is refused: no trace needs it, and readers of values recurse.
const MAX_DEPTH: usize = 100;

/// Where and how a text stops being JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Broken {
    /// Offset in the bytes that were read.
    pub at: usize,
    pub what: &'static str,
    /// The text ended too early; more bytes could mend it.
    pub is_cut: bool,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.what, self.at)
    }
}

impl std::error::Error for Broken {}

pub(crate) fn broken<T>(at: usize, what: &'static str) -> Result<T, Broken> {
    Err(Broken {
        at,
        what,
        is_cut: false,
    })
}

pub(crate) fn cut<T>(at: usize) -> Result<T, Broken> {
    Err(Broken {
        at,
        what: "incomplete",
        is_cut: true,
    })
}

pub(crate) fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\n' | b'\r' | b'\t')) {
        at += 1;
    }
    at
}

/// The end of the value that starts at `at`, which is checked whole.
pub(crate) fn value_end(bytes: &[u8], mut at: usize) -> Result<usize, Broken> {
    let mut open: Vec<u8> = Vec::new();
    loop {
        at = skip_space(bytes, at);
        match bytes.get(at) {
            Some(b'"') => at = string_end(bytes, at)?,
            Some(bracket @ (b'{' | b'[')) => {
                let close = if *bracket == b'{' { b'}' } else { b']' };
                let inside = skip_space(bytes, at + 1);
                if bytes.get(inside) == Some(&close) {
                    at = inside + 1;
                } else {
                    open.push(*bracket);
                    if open.len() > MAX_DEPTH {
                        return broken(at, "nested too deep");
                    }
                    at = if *bracket == b'{' {
                        key_end(bytes, inside)?
                    } else {
                        inside
                    };
                    continue;
                }
            }
            Some(_) => at = scalar_end(bytes, at)?,
            None => return cut(at),
        }
        loop {
            let Some(container) = open.last() else { return Ok(at) };
            at = skip_space(bytes, at);
            match (container, bytes.get(at)) {
                (b'{', Some(b',')) => {
                    at = key_end(bytes, skip_space(bytes, at + 1))?;
                    break;
                }
                (b'[', Some(b',')) => {
                    at += 1;
                    break;
                }
                (b'{', Some(b'}')) | (b'[', Some(b']')) => {
                    open.pop();
                    at += 1;
                }
                (_, Some(_)) => return broken(at, "no comma or closing bracket"),
                (_, None) => return cut(at),
            }
        }
    }
}

/// The place after a key and its colon.
pub(crate) fn key_end(bytes: &[u8], at: usize) -> Result<usize, Broken> {
    match bytes.get(at) {
        Some(b'"') => {}
        Some(_) => return broken(at, "no key"),
        None => return cut(at),
    }
    let end = skip_space(bytes, string_end(bytes, at)?);
    match bytes.get(end) {
        Some(b':') => Ok(end + 1),
        Some(_) => broken(end, "no colon after a key"),
        None => cut(end),
    }
}

/// The place after the string that starts at `at`.
pub(crate) fn string_end(bytes: &[u8], at: usize) -> Result<usize, Broken> {
    let mut place = at + 1;
    loop {
        let Some(found) = bytes.get(place..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) else {
            return cut(bytes.len());
        };
        place += found;
        if bytes[place] == b'"' {
            return Ok(place + 1);
        }
        match bytes.get(place + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => place += 2,
            Some(b'u') => match bytes.get(place + 2..place + 6) {
                Some(digits) if digits.iter().all(u8::is_ascii_hexdigit) => place += 6,
                Some(_) => return broken(place, "a broken escape"),
                None => return cut(bytes.len()),
            },
            Some(_) => return broken(place, "an unknown escape"),
            None => return cut(bytes.len()),
        }
    }
}

pub(crate) fn scalar_end(bytes: &[u8], at: usize) -> Result<usize, Broken> {
    let length = bytes[at..]
        .iter()
        .position(|byte| {
            matches!(
                byte,
                b',' | b']' | b'}' | b':' | b'"' | b'[' | b'{' | b' ' | b'\n' | b'\r' | b'\t'
            )
        })
        .unwrap_or(bytes.len() - at);
    let word = &bytes[at..at + length];
    let is_known = matches!(word, b"null" | b"true" | b"false" | b"NaN" | b"Infinity" | b"-Infinity");
    if is_known || is_number(word) {
        Ok(at + length)
    } else if at + length == bytes.len() {
        cut(at)
    } else {
        broken(at, "no value")
    }
}

fn is_number(word: &[u8]) -> bool {
    let starts = word.first().is_some_and(|byte| byte.is_ascii_digit() || *byte == b'-');
    starts
        && std::str::from_utf8(word)
            .is_ok_and(|text| text.parse::<f64>().is_ok_and(|_| !text.ends_with(['n', 'f', 'y'])))
}

/// The text of a string's inside, and whether broken UTF-8 or half a surrogate pair had to be replaced.
pub(crate) fn unescape(inner: &[u8]) -> (Cow<'_, str>, bool) {
    if memchr::memchr(b'\\', inner).is_none() {
        let text = String::from_utf8_lossy(inner);
        let is_replaced = matches!(text, Cow::Owned(_));
        return (text, is_replaced);
    }
    let mut text = String::with_capacity(inner.len());
    let mut is_replaced = false;
    let mut rest = inner;
    while let Some(found) = memchr::memchr(b'\\', rest) {
        is_replaced |= push_lossy(&mut text, &rest[..found]);
        let (letter, used) = escape(&rest[found..]);
        is_replaced |= letter.is_none();
        text.push(letter.unwrap_or(char::REPLACEMENT_CHARACTER));
        rest = &rest[(found + used).min(rest.len())..];
    }
    is_replaced |= push_lossy(&mut text, rest);
    (Cow::Owned(text), is_replaced)
}

fn push_lossy(text: &mut String, bytes: &[u8]) -> bool {
    let piece = String::from_utf8_lossy(bytes);
    text.push_str(&piece);
    matches!(piece, Cow::Owned(_))
}

/// The letter that an escape stands for (`None`: half a surrogate pair) and the bytes it takes.
fn escape(bytes: &[u8]) -> (Option<char>, usize) {
    let letter = match bytes.get(1) {
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return unicode_escape(bytes),
        Some(other) => char::from(*other),
        None => char::REPLACEMENT_CHARACTER,
    };
    (Some(letter), 2)
}

fn unicode_escape(bytes: &[u8]) -> (Option<char>, usize) {
    let unit = |at: usize| {
        let digits = std::str::from_utf8(bytes.get(at + 2..at + 6)?).ok()?;
        bytes.get(at..at + 2).filter(|start| *start == b"\\u")?;
        u32::from_str_radix(digits, 16).ok()
    };
    let Some(first) = unit(0) else { return (None, 2) };
    if (0xD800..0xDC00).contains(&first) {
        return match unit(6) {
            Some(second) if (0xDC00..0xE000).contains(&second) => (
                char::from_u32(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00)),
                12,
            ),
            _ => (None, 6),
        };
    }
    (char::from_u32(first), 6)
}
