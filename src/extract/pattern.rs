//! A user's own pattern: which regular expression, which of its matches.

use anyhow::{Result, bail};
use fancy_regex::RegexBuilder;

use super::python::strip;
use super::{Extraction, FLAG_LIMIT, Match};

/// Steps of one search with look-around before it gives up.
const STEP_LIMIT: usize = 1_000_000;

const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

#[derive(Debug, Clone)]
pub(super) struct Pattern {
    engine: Engine,
    which: Which,
}

#[derive(Debug, Clone)]
enum Engine {
    Linear(regex::Regex),
    LookAround(fancy_regex::Regex),
}

/// Which match is taken, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Which {
    FromStart(usize),
    FromEnd(usize),
}

impl Pattern {
    /// Parses `PATTERN`, `PATTERN@first`, `PATTERN@last`, `PATTERN@2` or `PATTERN@-2`.
    pub(super) fn parse(text: &str) -> Result<Pattern> {
        let (pattern, which) = split_which(text)?;
        if pattern.is_empty() {
            bail!("`re:` lacks its pattern, as in `re:answer is ([A-J])`");
        }
        Ok(Pattern {
            engine: compile(pattern)?,
            which,
        })
    }

    pub(super) fn read<'t>(&'t self, text: &'t str) -> Extraction<'t> {
        let taken = match self.which {
            Which::FromStart(0) => self.engine.first(text),
            Which::FromStart(nth) => self.engine.all(text).nth(nth),
            Which::FromEnd(nth) => self
                .engine
                .all_or_limit(text)
                .map(|found| found.into_iter().rev().nth(nth))
                .transpose(),
        };
        match taken {
            Some(Ok(found)) => Extraction {
                pick: Some(pick(&text[found.letter.clone()])),
                found: Some(found),
                step: 1,
                flag: None,
            },
            Some(Err(GaveUp)) => Extraction {
                flag: Some(FLAG_LIMIT),
                ..Extraction::default()
            },
            None => Extraction::default(),
        }
    }

    pub(super) fn matches(&self, text: &str) -> Vec<Match> {
        self.engine.all(text).map_while(Result::ok).collect()
    }
}

/// The step limit was reached.
struct GaveUp;

type Found = Result<Match, GaveUp>;

impl Engine {
    fn first(&self, text: &str) -> Option<Found> {
        match self {
            Engine::Linear(regex) => regex.captures(text).map(|captures| Ok(linear_match(&captures))),
            Engine::LookAround(regex) => match regex.captures(text) {
                Ok(captures) => captures.map(|captures| Ok(look_around_match(&captures))),
                Err(_) => Some(Err(GaveUp)),
            },
        }
    }

    fn all<'a>(&'a self, text: &'a str) -> Box<dyn Iterator<Item = Found> + 'a> {
        match self {
            Engine::Linear(regex) => Box::new(regex.captures_iter(text).map(|captures| Ok(linear_match(&captures)))),
            Engine::LookAround(regex) => Box::new(regex.captures_iter(text).map(|captures| match captures {
                Ok(captures) => Ok(look_around_match(&captures)),
                Err(_) => Err(GaveUp),
            })),
        }
    }

    fn all_or_limit(&self, text: &str) -> Result<Vec<Match>, GaveUp> {
        self.all(text).collect()
    }
}

/// The harness takes the first group that holds something; a pattern without groups, its whole match.
fn linear_match(captures: &regex::Captures) -> Match {
    let whole = captures.get(0).map_or(0..0, |group| group.range());
    let group = captures
        .iter()
        .skip(1)
        .flatten()
        .map(|group| group.range())
        .find(|range| !range.is_empty());
    Match {
        letter: group.unwrap_or_else(|| whole.clone()),
        whole,
    }
}

fn look_around_match(captures: &fancy_regex::Captures<'_, str>) -> Match {
    let whole = captures.get(0).map_or(0..0, |group| group.start()..group.end());
    let group = captures
        .iter()
        .skip(1)
        .flatten()
        .map(|group| group.start()..group.end())
        .find(|range| !range.is_empty());
    Match {
        letter: group.unwrap_or_else(|| whole.clone()),
        whole,
    }
}

/// The pick that a matched text stands for: stripped; a lone letter is that option in either case.
fn pick(text: &str) -> &str {
    let text = strip(text);
    match text.as_bytes() {
        [letter] if letter.is_ascii_lowercase() => {
            let index = usize::from(letter - b'a');
            &LETTERS[index..=index]
        }
        _ => text,
    }
}

fn split_which(text: &str) -> Result<(&str, Which)> {
    let Some((pattern, word)) = text.rsplit_once('@') else {
        return Ok((text, Which::FromStart(0)));
    };
    let which = match word {
        "first" => Which::FromStart(0),
        "last" => Which::FromEnd(0),
        _ => match word.parse::<i32>() {
            Ok(0) => bail!("`@0` names no match: the first is @1, the last @-1"),
            Ok(number) if number > 0 => Which::FromStart(number.unsigned_abs() as usize - 1),
            Ok(number) => Which::FromEnd(number.unsigned_abs() as usize - 1),
            Err(_) => return Ok((text, Which::FromStart(0))),
        },
    };
    Ok((pattern, which))
}

fn compile(pattern: &str) -> Result<Engine> {
    let error = match regex::Regex::new(pattern) {
        Ok(regex) => return Ok(Engine::Linear(regex)),
        Err(error) => error,
    };
    match RegexBuilder::new(pattern).backtrack_limit(STEP_LIMIT).build() {
        Ok(regex) => Ok(Engine::LookAround(regex)),
        Err(_) => bail!(
            "`{pattern}` is not a regular expression: {}",
            describe(&error.to_string())
        ),
    }
}

/// The crate's error (the pattern, a line with carets below it, the reason) in one line.
fn describe(error: &str) -> String {
    let reason = error
        .lines()
        .rev()
        .find_map(|line| line.trim().strip_prefix("error: "))
        .unwrap_or(error.trim());
    let caret = error
        .lines()
        .find(|line| line.contains('^') && line.trim_matches([' ', '^']).is_empty());
    match caret
        .and_then(|line| line.find('^'))
        .and_then(|column| column.checked_sub(4))
    {
        Some(at) => format!("{reason}, at character {}", at + 1),
        None => reason.split_whitespace().collect::<Vec<_>>().join(" "),
    }
}
