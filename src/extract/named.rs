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

/// A rule of [`super::ALL`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Named {
    #[default]
    LmEvalMmluPro,
    TigerChain,
    TigerApiChain,
    TigerFinalOld,
    TigerChainOld,
    LmEvalMmluGenerative,
}

impl Named {
    pub(super) fn from_name(name: &str) -> Option<Named> {
        Some(match name {
            "lm_eval_mmlu_pro" => Named::LmEvalMmluPro,
            "tiger_chain" => Named::TigerChain,
            "tiger_api_chain" => Named::TigerApiChain,
            "tiger_final_old" => Named::TigerFinalOld,
            "tiger_chain_old" => Named::TigerChainOld,
            "lm_eval_mmlu_generative" => Named::LmEvalMmluGenerative,
            _ => return None,
        })
    }

    pub(super) fn read(self, text: &str) -> Extraction<'_> {
        let (found, step) = self.decide(text);
        let step = if found.is_some() { step } else { 0 };
        Extraction {
            pick: found.as_ref().map(|found| &text[found.letter.clone()]),
            found,
            step,
            flag: None,
        }
    }

    /// Every match of the step that decides.
    pub(super) fn matches(self, text: &str) -> Vec<Match> {
        match self {
            Named::TigerApiChain => {
                let stripped = Unstarred::new(text);
                let found = Named::TigerChain.matches(&stripped.text);
                found.into_iter().map(|found| stripped.in_original(&found)).collect()
            }
            Named::LmEvalMmluPro => answer_is(text).collect(),
            _ => match self.decide(text) {
                (Some(_), 1) if matches!(self, Named::TigerChain | Named::TigerChainOld) => answer_is(text).collect(),
                (Some(_), 2) => answer_colon(text).collect(),
                (found, _) => found.into_iter().collect(),
            },
        }
    }

    fn decide(self, text: &str) -> (Option<Match>, u8) {
        match self {
            Named::LmEvalMmluPro => (answer_is(text).next(), 1),
            Named::TigerChain => chain(text, last_standing_alone),
            Named::TigerChainOld => chain(text, last_capital),
            Named::TigerApiChain if text.contains("**") => {
                let stripped = Unstarred::new(text);
                let (found, step) = chain(&stripped.text, last_standing_alone);
                (found.map(|found| stripped.in_original(&found)), step)
            }
            Named::TigerApiChain => chain(text, last_standing_alone),
            Named::TigerFinalOld => (last_capital(text), 1),
            Named::LmEvalMmluGenerative => (Some(first_line(text)), 1),
        }
    }
}

fn chain(text: &str, last_step: fn(&str) -> Option<Match>) -> (Option<Match>, u8) {
    if let Some(found) = answer_is(text).next() {
        return (Some(found), 1);
    }
    match on_first_line(text) {
        Some(found) => (Some(found), 2),
        None => (last_step(text), 3),
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

fn first_line(text: &str) -> Match {
    let line = &text[..memchr(b'\n', text.as_bytes()).unwrap_or(text.len())];
    let pick = strip(line);
    let start = line.len() - strip_start(line).len();
    Match {
        whole: start..start + pick.len(),
        letter: start..start + pick.len(),
    }
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
