//! The reference rules, in time linear in the text.
//!
//! They are written as scans for their literal parts: `.*[aA]nswer:\s*([A-J])` as the authors run it is quadratic in
//! the length of a line, and `\b` and `\s` are Python's.

use std::sync::LazyLock;

use memchr::memchr;
use memchr::memmem::Finder;

use super::python::stands_alone;
use super::{Extraction, Match};
use crate::text::{is_python_space, strip, strip_start};

static ANSWER_IS: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("answer is "));
static NSWER: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("nswer:"));

// The authors' patterns, as their scripts have them.
const ANSWER_IS_X: &str = r"answer is \(?([A-J])\)?";
const ANSWER_X: &str = r".*[aA]nswer:\s*([A-J])";
const LAST_ALONE: &str = r"(?s)\b[A-J]\b(?!.*\b[A-J]\b)";
const LAST_CAPITAL: &str = r"[A-J](?=[^A-J]*$)";

/// A named rule.
#[derive(Debug, Clone, Copy)]
pub struct Known {
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// Its steps in the order in which they are tried, as patterns of Python's `re` or in words.
    pub patterns: &'static [&'static str],
    /// The match that gives the pick, and the step that found it, from 1.
    decide: fn(&str) -> Option<(Match, u8)>,
    /// Every match of the step that decides, in text order.
    matches: fn(&str) -> Vec<Match>,
    /// Whether every text has a pick by it, so that it says nothing of where a stored pick came from.
    pub reads_anything: bool,
}

/// The named rules. The first is the default.
pub const ALL: [Known; 6] = [
    Known {
        name: "lm_eval_mmlu_pro",
        about: r"the harness: first `answer is \(?([A-J])\)?`, else [invalid]",
        patterns: &[ANSWER_IS_X],
        decide: |text| answer_is(text).next().map(|found| (found, 1)),
        matches: |text| answer_is(text).collect(),
        reads_anything: false,
    },
    Known {
        name: "tiger_chain",
        about: "the MMLU-Pro authors: that; else the first line with `answer: X`; else the last letter that stands alone",
        patterns: &[ANSWER_IS_X, ANSWER_X, LAST_ALONE],
        decide: |text| chain(text, last_standing_alone),
        matches: |text| matches_of_chain(text, last_standing_alone),
        reads_anything: false,
    },
    Known {
        name: "tiger_api_chain",
        about: "tiger_chain after deleting every `**`",
        patterns: &["without every `**`", ANSWER_IS_X, ANSWER_X, LAST_ALONE],
        decide: unstarred_chain,
        matches: |text| {
            let stripped = Unstarred::new(text);
            let found = matches_of_chain(&stripped.text, last_standing_alone);
            found.into_iter().map(|found| stripped.in_original(&found)).collect()
        },
        reads_anything: false,
    },
    Known {
        name: "tiger_final_old",
        about: "the authors' last step before July 2024: the last capital A-J anywhere",
        patterns: &[LAST_CAPITAL],
        decide: |text| last_capital(text).map(|found| (found, 1)),
        matches: |text| last_capital(text).into_iter().collect(),
        reads_anything: false,
    },
    Known {
        name: "tiger_chain_old",
        about: "tiger_chain with that older last step",
        patterns: &[ANSWER_IS_X, ANSWER_X, LAST_CAPITAL],
        decide: |text| chain(text, last_capital),
        matches: |text| matches_of_chain(text, last_capital),
        reads_anything: false,
    },
    Known {
        name: "lm_eval_mmlu_generative",
        about: "the harness: the first line, white space stripped; an empty one is [invalid]",
        patterns: &["the first line, stripped"],
        decide: |text| Some((first_line(text)?, 1)),
        matches: |text| first_line(text).into_iter().collect(),
        reads_anything: true,
    },
];

impl Known {
    pub(super) fn find(name: &str) -> Option<&'static Known> {
        ALL.iter().find(|known| known.name == name)
    }

    pub(super) fn read<'t>(&self, text: &'t str) -> Extraction<'t> {
        let Some((found, step)) = (self.decide)(text) else {
            return Extraction::default();
        };
        Extraction {
            pick: Some(&text[found.letter.clone()]),
            found: Some(found),
            step,
            flag: None,
        }
    }

    /// Every match of the step that decides. The last step of the authors' chain counts only the match that it takes.
    pub(super) fn matches(&self, text: &str) -> Vec<Match> {
        (self.matches)(text)
    }
}

fn chain(text: &str, last_step: fn(&str) -> Option<Match>) -> Option<(Match, u8)> {
    let first = answer_is(text).next().map(|found| (found, 1));
    first
        .or_else(|| on_first_line(text).map(|found| (found, 2)))
        .or_else(|| last_step(text).map(|found| (found, 3)))
}

/// The chain over a text without its `**`; the match lies in the text with them.
fn unstarred_chain(text: &str) -> Option<(Match, u8)> {
    if !text.contains("**") {
        return chain(text, last_standing_alone);
    }
    let stripped = Unstarred::new(text);
    let (found, step) = chain(&stripped.text, last_standing_alone)?;
    Some((stripped.in_original(&found), step))
}

fn matches_of_chain(text: &str, last_step: fn(&str) -> Option<Match>) -> Vec<Match> {
    match chain(text, last_step) {
        Some((_, 1)) => answer_is(text).collect(),
        Some((_, 2)) => answer_colon(text).collect(),
        last => last.into_iter().map(|(found, _)| found).collect(),
    }
}

/// Matches of `answer is \(?([A-J])\)?`.
fn answer_is(text: &str) -> impl Iterator<Item = Match> + '_ {
    let bytes = text.as_bytes();
    ANSWER_IS.find_iter(bytes).filter_map(move |start| {
        let mut letter = start + "answer is ".len();
        letter += usize::from(bytes.get(letter) == Some(&b'('));
        let end = letter + 1 + usize::from(bytes.get(letter + 1) == Some(&b')'));
        bytes.get(letter).is_some_and(is_option).then(|| Match {
            whole: start..end,
            letter: letter..letter + 1,
        })
    })
}

/// Matches of `[aA]nswer:\s*([A-J])`.
fn answer_colon(text: &str) -> impl Iterator<Item = Match> + '_ {
    let bytes = text.as_bytes();
    NSWER.find_iter(bytes).filter_map(move |at| {
        let start = at.checked_sub(1).filter(|start| matches!(bytes[*start], b'a' | b'A'))?;
        let rest = &text[at + "nswer:".len()..];
        let letter = text.len() - rest.trim_start_matches(is_python_space).len();
        bytes.get(letter).is_some_and(is_option).then(|| Match {
            whole: start..letter + 1,
            letter: letter..letter + 1,
        })
    })
}

/// The match of `.*[aA]nswer:\s*([A-J])`: `.*` is greedy and stays on its line, so the last match that begins on the
/// first line on which one does.
fn on_first_line(text: &str) -> Option<Match> {
    let mut matches = answer_colon(text);
    let first = matches.next()?;
    let line_end = memchr(b'\n', &text.as_bytes()[first.whole.start..]).map_or(text.len(), |at| first.whole.start + at);
    Some(
        matches
            .take_while(|found| found.whole.start < line_end)
            .last()
            .unwrap_or(first),
    )
}

/// The last match of `\b[A-J]\b`.
fn last_standing_alone(text: &str) -> Option<Match> {
    capitals_from_the_end(text)
        .find(|at| stands_alone(text, *at, at + 1))
        .map(letter_at)
}

fn last_capital(text: &str) -> Option<Match> {
    capitals_from_the_end(text).next().map(letter_at)
}

fn capitals_from_the_end(text: &str) -> impl Iterator<Item = usize> + '_ {
    text.bytes()
        .enumerate()
        .rev()
        .filter(|(_, byte)| is_option(byte))
        .map(|(at, _)| at)
}

fn letter_at(at: usize) -> Match {
    Match {
        whole: at..at + 1,
        letter: at..at + 1,
    }
}

/// The first line, stripped; an empty one holds no pick.
fn first_line(text: &str) -> Option<Match> {
    let line = &text[..memchr(b'\n', text.as_bytes()).unwrap_or(text.len())];
    let pick = strip(line);
    let start = line.len() - strip_start(line).len();
    (!pick.is_empty()).then(|| Match {
        whole: start..start + pick.len(),
        letter: start..start + pick.len(),
    })
}

fn is_option(byte: &u8) -> bool {
    (b'A'..=b'J').contains(byte)
}

/// A text without its `**`, and the way back.
struct Unstarred {
    text: String,
    /// Where in `text` each `**` was.
    cuts: Vec<usize>,
}

impl Unstarred {
    fn new(text: &str) -> Unstarred {
        let mut stripped = Unstarred {
            text: String::with_capacity(text.len()),
            cuts: Vec::new(),
        };
        for (index, part) in text.split("**").enumerate() {
            if index > 0 {
                stripped.cuts.push(stripped.text.len());
            }
            stripped.text.push_str(part);
        }
        stripped
    }

    fn in_original(&self, found: &Match) -> Match {
        let place = |at: usize| at + 2 * self.cuts.partition_point(|cut| *cut <= at);
        // An end goes by its last character, so that stars right after it stay outside.
        Match {
            whole: place(found.whole.start)..place(found.whole.end - 1) + 1,
            letter: place(found.letter.start)..place(found.letter.end - 1) + 1,
        }
    }
}
