//! Lists that were written into one cell of text: as JSON, as Python or numpy print them, or as lettered lines.

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::json;

/// A text with full-width letters, digits and marks as the plain ones, as Chinese and Japanese tools write them.
pub(crate) fn half_width(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let plain = |c: char| match c {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        '\u{3000}' => ' ',
        _ => c,
    };
    Cow::Owned(text.chars().map(plain).collect())
}

/// The value of a cell that holds JSON, or a list, tuple, dict or numpy array as Python prints it.
pub(crate) fn literal(text: &str) -> Option<Value> {
    let text = text.trim();
    if !text.starts_with(['[', '{', '(']) && !text.starts_with("array(") {
        return None;
    }
    json::parse(text).ok().or_else(|| python_literal(text))
}

fn python_literal(text: &str) -> Option<Value> {
    let mut reader = Reader { rest: text, depth: 0 };
    let value = reader.value()?;
    reader.skip_blank();
    reader.rest.is_empty().then_some(value)
}

/// Reads Python's `repr` of plain values.
struct Reader<'a> {
    rest: &'a str,
    depth: usize,
}

impl Reader<'_> {
    fn value(&mut self) -> Option<Value> {
        self.depth += 1;
        if self.depth > 64 {
            return None;
        }
        self.skip_blank();
        let value = match self.rest.chars().next()? {
            '[' => self.items(']').map(Value::Array),
            '(' => self.items(')').map(Value::Array),
            '{' => self.entries(),
            '\'' | '"' => self.string().map(Value::String),
            _ => self.word(),
        };
        self.depth -= 1;
        value
    }

    fn skip_blank(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn take(&mut self, c: char) -> bool {
        self.skip_blank();
        let rest = self.rest.strip_prefix(c);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Items up to the closing mark; numpy writes none of the commas.
    fn items(&mut self, close: char) -> Option<Vec<Value>> {
        self.rest = &self.rest[1..];
        let mut items = Vec::new();
        while !self.take(close) {
            items.push(self.value()?);
            self.take(',');
        }
        Some(items)
    }

    fn entries(&mut self) -> Option<Value> {
        self.rest = &self.rest[1..];
        let mut entries = Map::new();
        while !self.take('}') {
            let key = match self.value()? {
                Value::String(key) => key,
                key @ (Value::Number(_) | Value::Bool(_)) => key.to_string(),
                _ => return None,
            };
            if !self.take(':') {
                return None;
            }
            entries.insert(key, self.value()?);
            self.take(',');
        }
        Some(Value::Object(entries))
    }

    fn string(&mut self) -> Option<String> {
        let quote = self.rest.chars().next()?;
        let mut text = String::new();
        let mut chars = self.rest[1..].char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                _ if c == quote => {
                    self.rest = &self.rest[1 + at + 1..];
                    return Some(text);
                }
                '\\' => {
                    let (_, escaped) = chars.next()?;
                    let mut code = |digits: usize| {
                        let hex: String = (0..digits).filter_map(|_| Some(chars.next()?.1)).collect();
                        char::from_u32(u32::from_str_radix(&hex, 16).ok()?)
                    };
                    match escaped {
                        'n' => text.push('\n'),
                        't' => text.push('\t'),
                        'r' => text.push('\r'),
                        'x' => text.push(code(2)?),
                        'u' => text.push(code(4)?),
                        'U' => text.push(code(8)?),
                        '\\' | '\'' | '"' => text.push(escaped),
                        _ => text.extend(['\\', escaped]),
                    }
                }
                _ => text.push(c),
            }
        }
        None
    }

    /// A number, None, True, False, or `array([...], dtype=object)`.
    fn word(&mut self) -> Option<Value> {
        if let Some(rest) = self.rest.strip_prefix("array(") {
            self.rest = rest;
            let value = self.value()?;
            let end = self.rest.find(')')?;
            self.rest = &self.rest[end + 1..];
            return Some(value);
        }
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.' | '_');
        let length = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(length);
        self.rest = rest;
        match word {
            "None" | "nan" => Some(Value::Null),
            "True" => Some(Value::Bool(true)),
            "False" => Some(Value::Bool(false)),
            "" => None,
            _ => json::parse(word.trim_end_matches('.')).ok().filter(Value::is_number),
        }
    }
}

/// The options of a text whose lines, or parts of one line, are lettered or numbered from the first on.
pub(crate) fn lettered(text: &str) -> Option<Vec<String>> {
    ['A', 'a', '1'].iter().find_map(|first| lettered_from(text, *first))
}

fn lettered_from(text: &str, first: char) -> Option<Vec<String>> {
    let text = text.trim();
    let starts = |is_start: &dyn Fn(usize) -> bool| {
        let mut starts: Vec<(usize, usize)> = Vec::new();
        for (at, _) in text
            .char_indices()
            .filter(|(at, c)| !c.is_whitespace() && is_start(*at))
        {
            let next = mark(first, starts.len())?;
            if let Some(length) = mark_length(&text[at..], &next) {
                starts.push((at, at + length));
            }
        }
        (starts.len() > 1 && starts[0].0 == 0).then_some(starts)
    };
    let line_start = |at: usize| {
        let before = text[..at].trim_end_matches([' ', '\t']);
        before.is_empty() || before.ends_with('\n')
    };
    let word_start = |at: usize| {
        let before = &text[..at];
        before.is_empty() || before.ends_with(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '|'))
    };
    let (starts, is_inline) = match starts(&line_start) {
        Some(starts) => (starts, false),
        None => (starts(&word_start)?, true),
    };
    let ends = starts.iter().skip(1).map(|(start, _)| *start).chain([text.len()]);
    let parts = starts.iter().zip(ends).map(|((_, begin), end)| {
        let part = text[*begin..end].trim();
        let part = if is_inline {
            part.trim_end_matches([',', ';', '|']).trim_end()
        } else {
            part
        };
        part.to_owned()
    });
    Some(parts.collect())
}

/// The mark of an option: `A`, `B` and so on, or `1`, `2`.
fn mark(first: char, index: usize) -> Option<String> {
    match first {
        '1' => Some((index + 1).to_string()),
        _ => {
            let letter = u8::try_from(index).ok().filter(|index| *index < 26)?;
            Some(char::from(first as u8 + letter).to_string())
        }
    }
}

/// How long `A. `, `(A) `, `A) `, `A: ` or `a ) ` is at the beginning of a text, blanks after it included.
pub(crate) fn mark_length(text: &str, mark: &str) -> Option<usize> {
    let rest = text.strip_prefix(['(', '[']).unwrap_or(text);
    let is_wrapped = rest.len() < text.len();
    let rest = rest.strip_prefix(mark)?;
    let tight = rest.trim_start_matches(' ');
    let closing: &[char] = if is_wrapped { &[')', ']'] } else { &['.', ')', ':', ']'] };
    let after = tight.strip_prefix(closing)?;
    let after = after.strip_prefix(['.', ':']).unwrap_or(after);
    let blanks = after.len() - after.trim_start().len();
    let is_parted = after.is_empty() || blanks > 0 || is_wrapped;
    is_parted.then_some(text.len() - after.len() + blanks)
}

/// A text without the mark before it, where it has that mark.
pub(crate) fn without_mark(text: &str, index: usize) -> Option<&str> {
    let text = text.trim_start();
    ['A', 'a', '1'].iter().find_map(|first| {
        let length = mark_length(text, &mark(*first, index)?)?;
        Some(&text[length..])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_as_json_python_and_numpy_write_them() {
        for (text, expected) in [
            (r#"["red", "green"]"#, r#"["red","green"]"#),
            ("['red', \"it's\", 'a\\'b\\n\\x41']", r#"["red","it's","a'b\nA"]"#),
            ("['red' 'green'\n 'blue']", r#"["red","green","blue"]"#),
            ("(1, 2.5, None, True)", "[1,2.5,null,true]"),
            ("[1. 2.]", "[1,2]"),
            ("{'A': 'x', 2: nan}", r#"{"A":"x","2":null}"#),
            (
                "{'text': array(['x', 'y'],\n      dtype=object), 'label': array(['A', 'B'], dtype=object)}",
                r#"{"text":["x","y"],"label":["A","B"]}"#,
            ),
            (" [] ", "[]"),
        ] {
            assert_eq!(literal(text).unwrap().to_string(), expected, "{text}");
        }
        for broken in [
            "['a'",
            "[a b]",
            "{'a' 'b'}",
            "['a'] x",
            "array(",
            "plain",
            "['\\x4",
            &"[".repeat(100_000),
        ] {
            assert_eq!(literal(broken), None);
        }
    }

    #[test]
    fn lettered_options_in_one_text_are_parted() {
        for text in [
            "A. one\nB. two, B. c\nC. three",
            "(A) one (B) two, B. c (C) three",
            "a) one\n b) two, B. c\n c) three",
            "1. one\n2. two, B. c\n3. three\n",
            "A: one | B: two, B. c | C: three",
            "a ) one , b ) two, B. c , c ) three",
        ] {
            assert_eq!(lettered(text).unwrap(), ["one", "two, B. c", "three"], "{text}");
        }
        assert_eq!(lettered("A. one\nmore\nB. two").unwrap(), ["one\nmore", "two"]);
        for plain in ["one, two", "A. one", "B. one\nC. two", "A one B two", ""] {
            assert_eq!(lettered(plain), None, "{plain}");
        }
    }
}
