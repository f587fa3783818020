//! Template text to tokens, by the rules of Jinja2's lexer with `trim_blocks` and `lstrip_blocks`.

use super::Result;
use super::ast::Name;
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
        let is_blank = (line > 0 || self.begins_line) && text[line..].chars().all(is_space);
        match sign {
            Some('-') => text.trim_end_matches(is_space),
            None if !is_variable && is_blank => &text[..line],
            _ => text,
        }
    }

    /// The end of a tag, with the white space after it that it takes away.
    fn end_of_tag(&mut self, end: &str) -> bool {
        let is_variable = end == "}}";
        let after_sign = |sign| self.rest().strip_prefix(sign).is_some_and(|rest| rest.starts_with(end));
        if after_sign('-') {
            self.at += 1 + end.len();
            let before = self.at;
            self.skip_space();
            self.begins_line = self.source[before..self.at].ends_with('\n');
            return true;
        }
        let keeps = !is_variable && after_sign('+');
        self.at += usize::from(keeps);
        if !self.take(end) {
            return false;
        }
        self.begins_line = !is_variable && !keeps && self.take("\n");
        true
    }

    fn comment(&mut self) -> Result<()> {
        while !self.end_of_tag("#}") {
            match self.rest().chars().next() {
                Some(next) => self.at += next.len_utf8(),
                None => return template!("Missing end of comment tag"),
            }
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
        template!("Missing end of raw directive")
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
                return limit!("one of its tags has more than {LONGEST_TAG} tokens, the limit");
            }
            let token = self.token()?;
            match token {
                Token::Operator("(") => open.push(")"),
                Token::Operator("[") => open.push("]"),
                Token::Operator("{") => open.push("}"),
                Token::Operator(operator @ (")" | "]" | "}")) if open.pop() != Some(operator) => {
                    return template!("unexpected '{operator}'");
                }
                _ => {}
            }
            self.tokens.push(token);
        }
    }

    fn token(&mut self) -> Result<Token> {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else {
            return template!("unexpected end of template");
        };
        if first.is_ascii_digit() {
            return self.number();
        }
        if is_word(first) {
            let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
            self.at += length;
            if !first.is_alphabetic() && first != '_' {
                return template!("Invalid character in identifier");
            }
            return Ok(Token::Name(rest[..length].into()));
        }
        if matches!(first, '\'' | '"')
            && let Some(length) = length_of_text(&rest[1..], first)
        {
            self.at += length + 2;
            return Ok(Token::Text(unescape(&rest[1..=length])?.into()));
        }
        match OPERATORS.split(' ').find(|operator| self.take(operator)) {
            Some(operator) => Ok(Token::Operator(operator)),
            None => template!("unexpected char {first:?}"),
        }
    }

    /// Digits, a fraction and an exponent; after a dot digits alone, an index.
    fn number(&mut self) -> Result<Token> {
        let rest = self.rest();
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let whole = digits(rest);
        let mut length = whole;
        if !self.source[..self.at].ends_with('.') {
            let fraction = rest[length..].strip_prefix('.').map_or(0, digits);
            length += if fraction > 0 { 1 + fraction } else { 0 };
            if let Some(power) = rest[length..].strip_prefix(['e', 'E']) {
                let sign = usize::from(power.starts_with(['+', '-']));
                let power = digits(&power[sign..]);
                length += if power > 0 { 1 + sign + power } else { 0 };
            }
        }
        let text = &rest[..length];
        let has_more = rest[length..].starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        if has_more || text.len() > 1 && text.starts_with('0') && length == whole {
            return unknown!("a number that begins with {text}");
        }
        self.at += length;
        let token = match length > whole {
            true => text.parse().ok().map(Token::Float),
            false => text.parse().ok().map(Token::Int),
        };
        token.map_or_else(|| unknown!("the number {text}"), Ok)
    }
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
            return template!("\\ at end of string");
        };
        rest = &rest[kind.len_utf8()..];
        let length = match kind {
            'x' => 2,
            'u' => 4,
            'U' => 8,
            '\n' => continue,
            _ => {
                match escaped(kind)? {
                    "" => out.extend(['\\', kind]),
                    known => out.push_str(known),
                }
                continue;
            }
        };
        let code = rest
            .get(..length)
            .filter(|code| code.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let Some(code) = code else {
            return template!("truncated \\{kind} escape");
        };
        match u32::from_str_radix(code, 16).ok().and_then(char::from_u32) {
            Some(character) => out.push(character),
            None => return unknown!("\\{kind}{code}"),
        }
        rest = &rest[length..];
    }
    out.push_str(rest);
    Ok(out)
}

/// What a letter after a backslash stands for; nothing where both stay.
fn escaped(kind: char) -> Result<&'static str> {
    Ok(match kind {
        '\\' => "\\",
        '\'' => "'",
        '"' => "\"",
        'a' => "\u{7}",
        'b' => "\u{8}",
        'f' => "\u{c}",
        'n' => "\n",
        'r' => "\r",
        't' => "\t",
        'v' => "\u{b}",
        'N' | '0'..='7' => return unknown!("\\{kind} in a text"),
        // What stands for it in ASCII is read as escapes in turn, after its backslash.
        other if !other.is_ascii() => return unknown!("\\{kind} in a text"),
        _ => "",
    })
}
