//! Template text to tokens, by the rules of Jinja2's lexer with `trim_blocks` and `lstrip_blocks`.

use super::ast::Name;
use super::{Error, Fault, Result};
use crate::extract::python::is_word;
use crate::text::is_python_space as is_space;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Data(Name),
    VariableBegin,
    VariableEnd,
    BlockBegin,
    BlockEnd,
    Name(Name),
    Text(Name),
    Int(i64),
    Float(f64),
    Operator(&'static str),
    End,
}

/// Longest first.
const OPERATORS: &str = "// ** == != >= <= + - / * % ~ [ ] ( ) { } > < = . : | , ;";
/// A tag of more tokens is a chain that no stack holds.
const LONGEST_TAG: usize = 4_000;

pub(super) fn tokens(source: &str) -> Result<Vec<Token>> {
    let source = source.replace("\r\n", "\n").replace('\r', "\n");
    let mut lexer = Lexer {
        source: source.strip_suffix('\n').unwrap_or(&source),
        at: 0,
        begins_line: true,
        tokens: Vec::new(),
    };
    while lexer.next_part()? {}
    lexer.tokens.push(Token::End);
    Ok(lexer.tokens)
}

struct Lexer<'a> {
    source: &'a str,
    at: usize,
    /// Whether the last tag took its line break along.
    begins_line: bool,
    tokens: Vec<Token>,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.source[self.at..]
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches(is_space).len();
    }

    fn take(&mut self, text: &str) -> bool {
        let is_there = self.rest().starts_with(text);
        self.at += if is_there { text.len() } else { 0 };
        is_there
    }

    /// Text up to the next tag, and the tag; false at the end.
    fn next_part(&mut self) -> Result<bool> {
        let rest = self.rest();
        let opens = |(at, _): &(usize, &str)| rest[at + 1..].starts_with(['{', '%', '#']);
        let Some((at, _)) = rest.match_indices('{').find(opens) else {
            self.data(rest);
            return Ok(false);
        };
        let kind = rest.as_bytes()[at + 1];
        let sign = rest[at + 2..].chars().next().filter(|c| matches!(c, '-' | '+'));
        self.data(self.cut(&rest[..at], sign, kind == b'{'));
        self.at += at + 2 + usize::from(sign.is_some());
        match kind {
            b'#' => self.comment()?,
            b'%' if self.raw()? => {}
            b'%' => self.tag(Token::BlockBegin, Token::BlockEnd, "%}")?,
            _ => self.tag(Token::VariableBegin, Token::VariableEnd, "}}")?,
        }
        Ok(true)
    }

    fn data(&mut self, text: &str) {
        if !text.is_empty() {
            self.tokens.push(Token::Data(text.into()));
        }
    }

    /// The text before a tag without the white space that the tag takes away.
    fn cut(&self, text: &'a str, sign: Option<char>, is_variable: bool) -> &'a str {
        let line = text.rfind('\n').map_or(0, |at| at + 1);
        match sign {
            Some('-') => text.trim_end_matches(is_space),
            None if !is_variable && (line > 0 || self.begins_line) && text[line..].chars().all(is_space) => {
                &text[..line]
            }
            _ => text,
        }
    }

    /// The end of a tag, with the white space after it that it takes away.
    fn end_of_tag(&mut self, end: &str) -> bool {
        let is_variable = end == "}}";
        if self.rest().starts_with('-') && self.rest()[1..].starts_with(end) {
            self.at += 1 + end.len();
            let before = self.at;
            self.skip_space();
            self.begins_line = self.source[before..self.at].ends_with('\n');
            return true;
        }
        let keeps = !is_variable && self.rest().starts_with('+') && self.rest()[1..].starts_with(end);
        self.at += usize::from(keeps);
        if !self.take(end) {
            return false;
        }
        self.begins_line = !is_variable && !keeps && self.take("\n");
        true
    }

    fn comment(&mut self) -> Result<()> {
        while !self.end_of_tag("#}") {
            let next = self.rest().chars().next();
            self.at += next
                .ok_or_else(|| Error::template("Missing end of comment tag"))?
                .len_utf8();
        }
        Ok(())
    }

    /// `{% raw %}` and what is in it; nothing is taken where this is another tag.
    fn raw(&mut self) -> Result<bool> {
        let begin = self.at;
        self.skip_space();
        let is_raw = self.take("raw") && {
            self.skip_space();
            let strips = self.take("-%}");
            let ends = strips || self.take("%}");
            if strips {
                self.skip_space();
            }
            self.begins_line = strips && self.source[..self.at].ends_with('\n');
            ends
        };
        if !is_raw {
            self.at = begin;
            return Ok(false);
        }
        let start = self.at;
        for (at, _) in self.rest().match_indices("{%") {
            self.at = start + at + 2;
            let sign = self.rest().chars().next().filter(|c| matches!(c, '-' | '+'));
            self.at += usize::from(sign.is_some());
            self.skip_space();
            if self.take("endraw") {
                self.skip_space();
                let text = self.cut(&self.source[start..start + at], sign, false);
                if self.end_of_tag("%}") {
                    self.data(text);
                    return Ok(true);
                }
            }
        }
        Err(Error::template("Missing end of raw directive"))
    }

    fn tag(&mut self, begin: Token, end: Token, closing: &str) -> Result<()> {
        let first = self.tokens.len();
        self.tokens.push(begin);
        let mut open = Vec::new();
        loop {
            self.skip_space();
            if open.is_empty() && self.end_of_tag(closing) {
                self.tokens.push(end);
                return Ok(());
            }
            if self.tokens.len() - first > LONGEST_TAG {
                let message = format!("one of its tags has more than {LONGEST_TAG} tokens, the limit");
                return Err(Error::new(Fault::Limit, message));
            }
            let token = self.token()?;
            if let Token::Operator(operator) = token {
                balance(&mut open, operator)?;
            }
            self.tokens.push(token);
        }
    }

    fn token(&mut self) -> Result<Token> {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else {
            return Err(Error::template("unexpected end of template"));
        };
        if first.is_ascii_digit() {
            return self.number();
        }
        if is_word(first) {
            let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            self.at += length;
            if !first.is_alphabetic() && first != '_' {
                return Err(Error::template("Invalid character in identifier"));
            }
            return Ok(Token::Name(rest[..length].into()));
        }
        if matches!(first, '\'' | '"')
            && let Some(length) = length_of_text(&rest[1..], first)
        {
            self.at += length + 2;
            return Ok(Token::Text(unescape(&rest[1..=length])?.into()));
        }
        for operator in OPERATORS.split(' ') {
            if self.take(operator) {
                return Ok(Token::Operator(operator));
            }
        }
        Err(Error::template(format!("unexpected char {first:?}")))
    }

    fn number(&mut self) -> Result<Token> {
        let rest = self.rest();
        let after_dot = self.source[..self.at].ends_with('.');
        let whole = digits(rest, |c| c.is_ascii_digit());
        let mut length = whole;
        if !after_dot {
            if rest[length..].starts_with('.') && rest[length + 1..].starts_with(|c: char| c.is_ascii_digit()) {
                length += 1 + digits(&rest[length + 1..], |c| c.is_ascii_digit());
            }
            if rest[length..].starts_with(['e', 'E']) {
                let sign = usize::from(rest[length + 1..].starts_with(['+', '-']));
                let exponent = digits(&rest[length + 1 + sign..], |c| c.is_ascii_digit());
                length += if exponent > 0 { 1 + sign + exponent } else { 0 };
            }
        }
        if length > whole {
            self.at += length;
            let number = rest[..length].replace('_', "").parse();
            return number
                .map(Token::Float)
                .map_err(|_| Error::template("a number cannot be read"));
        }
        let (length, base) = whole_number(rest, whole);
        self.at += length;
        let text = rest[if base == 10 { 0 } else { 2 }..length].replace('_', "");
        let number = i64::from_str_radix(&text, base);
        number
            .map(Token::Int)
            .map_err(|_| Error::unknown(format!("the whole number {text}")))
    }
}

/// How long a whole number is, and its base. Of a number that begins with 0 only the zeros belong to it.
fn whole_number(text: &str, decimal: usize) -> (usize, u32) {
    let prefix = text.get(..2).unwrap_or_default().to_ascii_lowercase();
    for (name, base) in [("0b", 2), ("0o", 8), ("0x", 16)] {
        if prefix == name {
            let length = digits(text[2..].trim_start_matches('_'), |c| c.is_digit(base));
            let skipped = text[2..].len() - text[2..].trim_start_matches('_').len();
            if length > 0 && skipped <= 1 {
                return (2 + skipped + length, base);
            }
        }
    }
    if text.starts_with('0') {
        return (digits(text, |c| c == '0'), 10);
    }
    (decimal, 10)
}

/// Bytes of digits, single underscores between them.
fn digits(text: &str, is_digit: impl Fn(char) -> bool) -> usize {
    let mut length = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let joins = c == '_' && at > 0 && chars.peek().is_some_and(|(_, next)| is_digit(*next));
        if !is_digit(c) && !joins {
            break;
        }
        length = at + 1;
    }
    length
}

fn balance(open: &mut Vec<&'static str>, operator: &'static str) -> Result<()> {
    let closing = match operator {
        "(" => ")",
        "[" => "]",
        "{" => "}",
        ")" | "]" | "}" => {
            return match open.pop() {
                Some(expected) if expected == operator => Ok(()),
                Some(expected) => Err(Error::template(format!(
                    "unexpected '{operator}', expected '{expected}'"
                ))),
                None => Err(Error::template(format!("unexpected '{operator}'"))),
            };
        }
        _ => return Ok(()),
    };
    open.push(closing);
    Ok(())
}

/// Bytes of a text up to its closing quote.
fn length_of_text(text: &str, quote: char) -> Option<usize> {
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => _ = chars.next(),
            c if c == quote => return Some(at),
            _ => {}
        }
    }
    None
}

/// Python's `unicode-escape`.
fn unescape(text: &str) -> Result<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let Some(kind) = rest.chars().next() else {
            return Err(Error::template("\\ at end of string"));
        };
        rest = &rest[kind.len_utf8()..];
        let (base, most, least) = match kind {
            'x' => (16, 2, 2),
            'u' => (16, 4, 4),
            'U' => (16, 8, 8),
            '0'..='7' => (8, 3, 1),
            _ => {
                match kind {
                    '\n' => {}
                    '\\' | '\'' | '"' => out.push(kind),
                    'a' => out.push('\u{7}'),
                    'b' => out.push('\u{8}'),
                    'f' => out.push('\u{c}'),
                    'n' => out.push('\n'),
                    'r' => out.push('\r'),
                    't' => out.push('\t'),
                    'v' => out.push('\u{b}'),
                    'N' => return Err(Error::unknown("\\N in a text")),
                    other if other.is_ascii() => out.extend(['\\', other]),
                    // What stands for it in ASCII is read as escapes in turn, after its backslash.
                    _ => return Err(Error::unknown(format!("\\{kind} in a text"))),
                }
                continue;
            }
        };
        let code = if base == 8 {
            &text[text.len() - rest.len() - 1..]
        } else {
            rest
        };
        let length = code
            .bytes()
            .take(most)
            .take_while(|byte| char::from(*byte).is_digit(base))
            .count();
        if length < least {
            return Err(Error::template(format!("truncated \\{kind} escape")));
        }
        let number = u32::from_str_radix(&code[..length], base).unwrap_or(u32::MAX);
        let character = char::from_u32(number).ok_or_else(|| Error::unknown(format!("\\{kind}{}", &code[..length])))?;
        out.push(character);
        rest = &code[length..];
    }
    out.push_str(rest);
    Ok(out)
}
