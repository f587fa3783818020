//! A user's own pattern: which regular expression, which of its matches.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use fancy_regex::RegexBuilder;

use super::{Extraction, FLAG_LIMIT, Match};
use crate::text::strip;

/// Steps of one search with look-around before it gives up.
const STEP_LIMIT: usize = 1_000_000;

/// Longest text in bytes for a pattern that looks around without bound: such a look scans the rest of the text anew at each
/// place, which the steps do not count.
const LONGEST_LOOK: usize = 32 << 10;

/// A pattern is a machine of about as many states as it spells out, `a{3}` three of them, and each letter of a text may
/// have to be held against all: one of more than this many is refused.
const MOST_STATES: usize = 200_000;

/// Letters times states that a pattern of more than [`FEW_STATES`] may take on one text before it gives up; with
/// look-around, where each place is looked at anew, letters times states times states.
const FUEL: usize = 10_000_000;
const FUEL_LOOK: usize = 200_000_000;
const FEW_STATES: usize = 256;

/// How long the matches of one text may take all together. No single search is slow in a text, but many can be.
const PATIENCE: Duration = Duration::from_secs(2);

const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

#[derive(Debug, Clone)]
pub(super) struct Pattern {
    engine: Engine,
    which: Which,
    /// Longest text in bytes that it reads.
    longest: usize,
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
        let shape = Shape::of(pattern);
        if shape.states > MOST_STATES {
            bail!(
                "a pattern that spells out {} states is too heavy for any text; {MOST_STATES} are the most: repeat less in \
                 `{{}}`",
                shape.states
            );
        }
        let engine = compile(pattern)?;
        let longest = engine.longest(shape);
        Ok(Pattern { engine, which, longest })
    }

    pub(super) fn read<'t>(&'t self, text: &'t str) -> Extraction<'t> {
        let taken = match self.which {
            _ if text.len() > self.longest => Some(Err(GaveUp)),
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
        if text.len() > self.longest {
            return Vec::new();
        }
        self.engine.all(text).map_while(Result::ok).collect()
    }
}

/// The step limit was reached.
struct GaveUp;

type Found = Result<Match, GaveUp>;

impl Engine {
    /// Longest text in bytes that it reads in bearable time.
    fn longest(&self, shape: Shape) -> usize {
        match self {
            Engine::Linear(_) if shape.states <= FEW_STATES => usize::MAX,
            Engine::Linear(_) => FUEL / shape.states,
            Engine::LookAround(_) => {
                let looked = FUEL_LOOK / shape.states.max(1).pow(2);
                let longest = if shape.states <= FEW_STATES { usize::MAX } else { looked };
                longest.min(if shape.is_unbounded { LONGEST_LOOK } else { usize::MAX })
            }
        }
    }

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
        let begun = Instant::now();
        let in_time = move |found: Found| if begun.elapsed() > PATIENCE { Err(GaveUp) } else { found };
        match self {
            Engine::Linear(regex) => Box::new(
                regex
                    .captures_iter(text)
                    .map(|captures| Ok(linear_match(&captures)))
                    .map(in_time),
            ),
            Engine::LookAround(regex) => Box::new(regex.captures_iter(text).map(move |captures| match captures {
                Ok(captures) => in_time(Ok(look_around_match(&captures))),
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

/// The states that a regular expression spells out.
pub fn states(pattern: &str) -> usize {
    Shape::of(pattern).states
}

/// What a pattern asks of a machine, read off its text: close enough to bound the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Shape {
    states: usize,
    /// Whether a repetition without an upper bound stands within a look-around.
    is_unbounded: bool,
}

/// A group that is being read: states so far, those of its last part, and whether it is within a look-around.
#[derive(Default)]
struct Open {
    states: usize,
    last: usize,
    looks: bool,
}

impl Open {
    fn push(&mut self, states: usize) {
        self.states = self.states.saturating_add(states);
        self.last = states;
    }

    /// The last part stands there so many times.
    fn repeat(&mut self, times: usize) {
        let more = self.last.saturating_mul(times.saturating_sub(1));
        self.push(more);
    }
}

impl Shape {
    fn of(pattern: &str) -> Shape {
        let mut shape = Shape::default();
        let mut open = vec![Open::default()];
        let mut rest = pattern;
        while let Some(c) = rest.chars().next() {
            let after = &rest[c.len_utf8()..];
            rest = after;
            let looks = open.last().is_some_and(|group| group.looks);
            let is_look = ["?=", "?!", "?<=", "?<!"].iter().any(|mark| after.starts_with(mark));
            match (c, open.last_mut()) {
                ('(', _) => open.push(Open {
                    looks: looks || is_look,
                    ..Open::default()
                }),
                (')', _) => {
                    let group = open.pop().unwrap_or_default();
                    match open.last_mut() {
                        Some(outer) => outer.push(group.states.max(1)),
                        None => open.push(group),
                    }
                }
                ('*' | '+', _) => shape.is_unbounded |= looks,
                ('{', Some(group)) => {
                    let bounds = after.split('}').next().unwrap_or_default();
                    let numbers = bounds
                        .split(',')
                        .filter_map(|number| number.trim().parse::<usize>().ok());
                    if let Some(times) = numbers.max() {
                        group.repeat(times);
                        rest = &after[bounds.len()..];
                        shape.is_unbounded |= looks && bounds.ends_with(',');
                    }
                }
                ('[', Some(group)) => {
                    group.push(1);
                    rest = class_end(after);
                }
                ('\\', Some(group)) => {
                    group.push(1);
                    rest = after.strip_prefix(|_: char| true).unwrap_or_default();
                }
                ('?' | '}' | '|', _) => {}
                (_, Some(group)) => group.push(1),
                (_, None) => {}
            }
        }
        // A group that was never closed is refused elsewhere.
        shape.states = open.iter().fold(0, |states, group| states.saturating_add(group.states));
        shape
    }
}

/// What follows a class whose bracket was opened.
fn class_end(text: &str) -> &str {
    let mut depth = 1;
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            // A bracket that stands first is a letter of the class.
            ']' if at == 0 || (at == 1 && text.starts_with('^')) => {}
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return &text[at + 1..];
        }
    }
    ""
}

/// The crate's error (the pattern, a line with carets below it, the reason) in one line.
pub(crate) fn describe(error: &str) -> String {
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
            assert_eq!(Shape::of(pattern).is_unbounded, expected, "{pattern}");
        }
    }

    #[test]
    fn states_are_counted_as_they_are_spelled_out() {
        for (pattern, states) in [
            (r"answer is \(?([A-J])\)?", 13),
            (r"(?:a?){5000}a{5000}", 2 * 5000 + 5000),
            (r"((ab){10}){10}", 200),
            (r"[^]{9}]{3}\{{2}", 5),
            (r"a{2,}|b{0,4}", 6),
        ] {
            let found = Shape::of(pattern).states;
            assert!(found >= states && found <= states * 2, "{pattern}: {found}");
        }
    }

    #[test]
    fn a_heavy_pattern_gives_up_on_long_texts_and_one_beyond_all_bounds_is_refused() {
        let text = "a".repeat(20_000);
        for heavy in [
            r"(?:a?){5000}a{5000}",
            r"(?<=a)(?:a?){900}a{900}(?=b)",
            r"(a{1,100}){1,100}x",
        ] {
            let pattern = Pattern::parse(heavy).unwrap();
            let begun = Instant::now();
            assert_eq!(pattern.read(&text).flag, Some(FLAG_LIMIT), "{heavy}");
            assert!(
                pattern.matches(&text).is_empty() && begun.elapsed() < PATIENCE,
                "{heavy}"
            );
        }
        let error = Pattern::parse(r"((((a{20}){20}){20}){20}){20}")
            .unwrap_err()
            .to_string();
        assert!(error.contains("too heavy") && error.contains("200000"), "{error}");
        assert_eq!(Pattern::parse("a{300}").unwrap().read(&text).flag, None);
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
