//! A user's own pattern: which regular expression, which of its matches.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use fancy_regex::RegexBuilder;

use super::python::strip;
use super::{Extraction, FLAG_LIMIT, Match};

/// Steps of one search with look-around before it gives up.
const STEP_LIMIT: usize = 1_000_000;

/// Longest text in bytes for a pattern that looks around without bound: such a look scans the rest of the text anew at each
/// place, which the steps do not count.
const LONGEST_LOOK: usize = 32 << 10;

/// How long the matches of one text may take all together. No single search is slow in a text, but many can be.
const PATIENCE: Duration = Duration::from_secs(2);

const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

#[derive(Debug, Clone)]
pub(super) struct Pattern {
    engine: Engine,
    which: Which,
}

#[derive(Debug, Clone)]
enum Engine {
    Linear(regex::Regex),
    LookAround {
        regex: fancy_regex::Regex,
        /// Whether a look-around may scan as far as it likes.
        is_unbounded: bool,
    },
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
            Engine::LookAround { is_unbounded: true, .. } if text.len() > LONGEST_LOOK => Some(Err(GaveUp)),
            Engine::LookAround { regex, .. } => match regex.captures(text) {
                Ok(captures) => captures.map(|captures| Ok(look_around_match(&captures))),
                Err(_) => Some(Err(GaveUp)),
            },
        }
    }

    fn all<'a>(&'a self, text: &'a str) -> Box<dyn Iterator<Item = Found> + 'a> {
        let begun = Instant::now();
        let in_time = move |found: Found| if begun.elapsed() > PATIENCE { Err(GaveUp) } else { found };
        match self {
            Engine::Linear(regex) => Box::new(
                regex
                    .captures_iter(text)
                    .map(|captures| Ok(linear_match(&captures)))
                    .map(in_time),
            ),
            Engine::LookAround { is_unbounded: true, .. } if text.len() > LONGEST_LOOK => {
                Box::new(std::iter::once(Err(GaveUp)))
            }
            Engine::LookAround { regex, .. } => {
                Box::new(regex.captures_iter(text).map(move |captures| match captures {
                    Ok(captures) => in_time(Ok(look_around_match(&captures))),
                    Err(_) => Err(GaveUp),
                }))
            }
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
        Ok(regex) => Ok(Engine::LookAround {
            regex,
            is_unbounded: looks_without_bound(pattern),
        }),
        Err(_) => bail!(
            "`{pattern}` is not a regular expression: {}",
            describe(&error.to_string())
        ),
    }
}

/// Whether a repetition without an upper bound stands within a look-around.
fn looks_without_bound(pattern: &str) -> bool {
    let mut groups: Vec<bool> = Vec::new();
    let mut in_class = false;
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        let is_look = ["?=", "?!", "?<=", "?<!"].iter().any(|mark| after.starts_with(mark));
        match c {
            '\\' => {
                rest = after.strip_prefix(|_: char| true).unwrap_or_default();
                continue;
            }
            '[' if !in_class => in_class = true,
            ']' => in_class = false,
            '(' if !in_class => groups.push(is_look || groups.last() == Some(&true)),
            ')' if !in_class => {
                groups.pop();
            }
            '*' | '+' if !in_class && groups.last() == Some(&true) => return true,
            '{' if !in_class && groups.last() == Some(&true) => {
                let bounds = after.split('}').next().unwrap_or_default();
                if bounds.ends_with(',') {
                    return true;
                }
            }
            _ => {}
        }
        rest = after;
    }
    false
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_look_that_may_scan_on_is_without_bound() {
        for (pattern, expected) in [
            (r"(?=.*Z)a", true),
            (r"(?<!x)[A-J](?!.*[A-J])", true),
            (r"(?!(a|b{2,})c)", true),
            (r"(?<=answer )[A-J](?!\.)", false),
            (r"x+(?=y)z*", false),
            (r"(?=[*+])a", false),
            (r"(?=a\*)b", false),
            (r"(?=a{1,3})b", false),
        ] {
            assert_eq!(looks_without_bound(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn a_look_without_bound_gives_up_on_long_texts_and_a_bounded_one_reads_them() {
        let text = "a".repeat(200_000) + " B.";
        let read = |pattern: &str| {
            let pattern = Pattern::parse(pattern).unwrap();
            let extraction = pattern.read(&text);
            (extraction.pick.map(str::to_owned), extraction.flag)
        };
        assert_eq!(read(r"(?=.*Z)a"), (None, Some(FLAG_LIMIT)));
        assert_eq!(read(r"(?!.*foo)[A-J]@last"), (None, Some(FLAG_LIMIT)));
        assert_eq!(read(r"(?<= )[A-J](?=\.)"), (Some("B".to_owned()), None));
    }

    #[test]
    fn matches_that_each_scan_the_rest_of_the_text_end_in_time() {
        let text = "A".repeat(200_000);
        let pattern = Pattern::parse(r"(?s).*[^A-Z]|[A-Z]@last").unwrap();
        assert_eq!(pattern.read(&text).flag, Some(FLAG_LIMIT));
    }
}
