//! From the typed line to tests.

use std::ops::Range;

use anyhow::{Result, anyhow, bail};

use super::values::{causes, literal, literals, names, ranges, read_ids, read_regex};
use super::{Column, Fact, Filter, Numeric, Term, Test, WORDS};
use crate::diagnose::Mark;
use crate::trace::{Field, Rows};

/// How strict a line is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// On the screen: unfinished words do not filter, an unknown bare word is looked for as text.
    Typing,
    /// From the command line: anything not understood is an error that lists what is.
    Strict,
}

/// What became of a typed word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Active,
    /// Could still become several words, or lacks its value: it does not filter yet.
    Pending,
    /// No known word: looked for in the outputs.
    AsText,
}

/// A word of the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// Bytes in the line.
    pub span: Range<usize>,
    pub state: State,
    /// What is wrong with a word that does not filter, where something is.
    pub why: Option<String>,
}

/// What one word was understood as.
pub(super) enum Read {
    Test(Test),
    Pending,
    Unknown(String),
}

impl Filter {
    /// Reads a filter line. `rows` gives the names that whole-name matching is about.
    ///
    /// # Errors
    /// In [`Mode::Strict`] for anything not understood; in both modes never for an unfinished word while typing.
    pub fn parse(text: &str, mode: Mode, rows: &Rows) -> Result<Filter> {
        Filter::read(text, mode, rows, false)
    }

    /// The same where two runs are open: words about both are known too.
    pub fn parse_for_two(text: &str, mode: Mode, rows: &Rows) -> Result<Filter> {
        Filter::read(text, mode, rows, true)
    }

    fn read(text: &str, mode: Mode, rows: &Rows, has_two_runs: bool) -> Result<Filter> {
        let mut filter = Filter {
            text: text.to_owned(),
            ..Filter::default()
        };
        let mut group = Vec::new();
        for span in split(text) {
            let word = &text[span.clone()];
            if word == "|" {
                filter.groups.push(std::mem::take(&mut group));
                continue;
            }
            let (negated, body) = match word.strip_prefix('-') {
                Some(rest) => (true, rest),
                None => (false, word),
            };
            let read = read_word(body, rows, mode).and_then(|read| match read {
                Read::Test(Test::Pair(_)) if !has_two_runs => bail!("`{body}` takes two runs; open them together"),
                read => Ok(read),
            });
            let (test, state, why) = match mode {
                Mode::Strict => (Some(strictly(word, read?)?), State::Active, None),
                Mode::Typing => while_typing(body, read)?,
            };
            group.extend(test.map(|test| Term { negated, test }));
            filter.words.push(Word { span, state, why });
        }
        filter.groups.push(group);
        let texts = filter
            .terms()
            .filter(|term| matches!(term.test, Test::Text(..)))
            .count();
        if texts > MOST_TEXTS {
            bail!("{texts} texts to look for; at most {MOST_TEXTS} fit into one filter");
        }
        // `| wrong` while typing: an empty side chooses nothing of its own, unless it is the only one.
        if filter.groups.len() > 1 {
            if mode == Mode::Strict && filter.groups.iter().any(Vec::is_empty) {
                bail!("one side of `|` is empty in the filter `{text}`");
            }
            filter.groups.retain(|group| !group.is_empty());
        }
        Ok(filter)
    }
}

/// The test of a word that must be understood.
fn strictly(word: &str, read: Read) -> Result<Test> {
    match read {
        Read::Test(test) => Ok(test),
        Read::Pending => bail!(
            "the filter word `{word}` is unfinished: it lacks its value, or could be several of {}",
            list()
        ),
        Read::Unknown(reason) => bail!("{reason}; known words: {}; text in outputs: text:…", list()),
    }
}

/// The test of a word that is being typed, where it has one already, and how it stands; what is no word is looked for in
/// the outputs.
fn while_typing(body: &str, read: Result<Read>) -> Result<(Option<Test>, State, Option<String>)> {
    Ok(match read {
        Ok(Read::Test(test)) => (Some(test), State::Active, None),
        Ok(Read::Pending) => (None, State::Pending, None),
        Ok(Read::Unknown(_)) if !body.contains(':') && !body.is_empty() => {
            let test = Test::Text(Field::Completion, vec![literal(&unquote(body))?]);
            (Some(test), State::AsText, None)
        }
        Ok(Read::Unknown(reason)) => (None, State::Pending, Some(first_clause(&reason))),
        Err(error) => (None, State::Pending, Some(first_clause(&format!("{error:#}")))),
    })
}

/// Text words of one filter: which of them hold on a row is kept in the bits of a number.
const MOST_TEXTS: usize = 64;

fn list() -> String {
    WORDS.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(" ")
}

/// An error's first words, short enough to stand beside a chip.
fn first_clause(text: &str) -> String {
    let clause = text.split([';', '\n']).next().unwrap_or_default().trim();
    // A list in brackets is too long; a bracket of what was typed is not.
    let clause = clause.split(" (").next().unwrap_or_default();
    clause.trim_end_matches(':').chars().take(100).collect()
}

/// The words of a line, parted as the filter parts them.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    split(text).into_iter().map(|span| &text[span])
}

/// Splits at blanks outside quotes and outside `re:/.../`; `|` between blanks stands alone.
pub(super) fn split(text: &str) -> Vec<Range<usize>> {
    let mut spans = Vec::new();
    let mut start = None;
    let mut quoted = false;
    let mut pattern = false;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        if c.is_whitespace() && !quoted && !pattern {
            if let Some(start) = start.take() {
                spans.push(start..at);
            }
        } else {
            let first = *start.get_or_insert(at);
            let body = text[first..at].trim_start_matches('-');
            if c == '/' && matches!(body, "re:" | "lab:") {
                pattern = true;
            } else if c == '/' && pattern && before != '\\' {
                pattern = false;
            } else if c == '"' && !pattern {
                quoted = !quoted;
            }
        }
        before = c;
    }
    if let Some(start) = start {
        spans.push(start..text.len());
    }
    spans
}

fn unquote(text: &str) -> String {
    text.replace('"', "")
}

/// Splits a value at commas outside quotes.
fn values(text: &str) -> Vec<String> {
    let mut list = vec![String::new()];
    let mut quoted = false;
    for c in text.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => list.push(String::new()),
            c => list.last_mut().expect("the list starts with one entry").push(c),
        }
    }
    list.retain(|value| !value.is_empty());
    list
}

fn read_word(word: &str, rows: &Rows, mode: Mode) -> Result<Read> {
    if let Some((name, value)) = word.split_once(':') {
        return read_named(name, value, rows, mode);
    }
    if let Some(at) = word.find(['<', '>', '=']) {
        return read_compared(&word[..at], &word[at..]);
    }
    if let Some(test) = bare(word) {
        return Ok(Read::Test(test));
    }
    if word.contains(',') {
        return Ok(Read::Unknown(format!(
            "no filter word `{word}` (a comma means OR inside a value: cat:law,math; between words use |)"
        )));
    }
    let beginnings: Vec<&str> = WORDS
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| name.starts_with(word))
        .collect();
    match beginnings[..] {
        [] => Ok(Read::Unknown(format!("no filter word `{word}`"))),
        [only] => Ok(bare(only).map_or(Read::Pending, Read::Test)),
        _ => Ok(Read::Pending),
    }
}

/// The words that need no value.
fn bare(word: &str) -> Option<Test> {
    Some(match word {
        "wrong" => Test::Wrong,
        "ok" => Test::Ok,
        "invalid" => Test::Invalid,
        "same-wrong" => Test::SameWrong,
        "split" => Test::Split,
        "style-split" => Test::StyleSplit,
        "marked" => Test::Marked,
        "changed" => Test::Pair(Fact::Changed),
        "gold-changed" => Test::Pair(Fact::GoldChanged),
        "a-only" => Test::Pair(Fact::AOnly),
        "b-only" => Test::Pair(Fact::BOnly),
        "other-pick" => Test::Pair(Fact::OtherPick),
        _ => return Mark::from_name(word).map(Test::Mark),
    })
}

fn read_named(name: &str, value: &str, rows: &Rows, mode: Mode) -> Result<Read> {
    let known: Vec<&str> = WORDS
        .iter()
        .filter_map(|(word, _)| word.strip_suffix(':'))
        .chain(["chars", "agree"])
        .collect();
    let name = match known.iter().find(|word| **word == name) {
        Some(exact) => *exact,
        None => match known
            .iter()
            .filter(|word| !name.is_empty() && word.starts_with(name))
            .collect::<Vec<_>>()[..]
        {
            [] => return Ok(Read::Unknown(format!("no filter word `{name}:`"))),
            [only] => only,
            _ => return Ok(Read::Pending),
        },
    };
    let list = values(value);
    if list.is_empty() {
        return Ok(Read::Pending);
    }
    let column =
        |column: Column| -> Result<Read> { Ok(Read::Test(Test::Column(column, names(column, &list, rows, mode)?))) };
    Ok(match name {
        "cat" => column(Column::Category)?,
        "sub" => column(Column::Subject)?,
        "exam" => column(Column::Exam)?,
        "flag" => column(Column::Flag)?,
        "finish" => column(Column::Finish)?,
        "pick" => column(Column::Pick)?,
        "key" => column(Column::Key)?,
        "why" => Read::Test(Test::Why(causes(&list)?)),
        "at" => Read::Test(Test::Number(Numeric::Attempt, ranges(name, &list)?)),
        "seed" => Read::Test(Test::Number(Numeric::Seed, ranges(name, &list)?)),
        "q" => read_ids(&list)?,
        "text" => Read::Test(Test::Text(Field::Completion, literals(&list)?)),
        "prompt" => Read::Test(Test::Text(Field::Prompt, literals(&list)?)),
        "question" => Read::Test(Test::Text(Field::Question, literals(&list)?)),
        "note" => Read::Test(Test::Note(literals(&list)?)),
        "label" => Read::Test(Test::Label(list)),
        "re" => read_regex(value)?,
        "chars" => Read::Test(Test::Number(Numeric::Chars, ranges(name, &list)?)),
        "agree" => match ranges(name, &list)?[..] {
            [(low, high)] => Read::Test(Test::Agree(low, high)),
            _ => bail!("agree: takes one number or range, as agree:5 or agree:1-2"),
        },
        other => Read::Unknown(format!("no filter word `{other}:`")),
    })
}

fn read_compared(name: &str, rest: &str) -> Result<Read> {
    let number = rest.trim_start_matches(['<', '>', '=']);
    let sign = &rest[..rest.len() - number.len()];
    if !["chars", "agree"].contains(&name) {
        return Ok(Read::Unknown(format!(
            "no filter word `{name}{sign}` (chars and agree can be compared so)"
        )));
    }
    if number.is_empty() {
        return Ok(Read::Pending);
    }
    let number: i64 = number
        .replace(['_', ','], "")
        .parse()
        .map_err(|_| anyhow!("`{name}{rest}`: `{number}` is no whole number"))?;
    let (low, high) = match sign {
        ">" => (number.saturating_add(1), i64::MAX),
        ">=" => (number, i64::MAX),
        "<" => (i64::MIN, number.saturating_sub(1)),
        "<=" => (i64::MIN, number),
        "=" => (number, number),
        _ => bail!("`{name}{rest}`: use one of > >= < <= ="),
    };
    Ok(Read::Test(match name {
        "chars" => Test::Number(Numeric::Chars, vec![(low, high)]),
        _ => Test::Agree(low, high),
    }))
}
