//! What the feed tells of an answer in one line, kept when it lands: its text stays where the run keeps it.

use std::ops::Range;

use crate::diagnose::repeated_tail;
use crate::extract::{Match, Rule};
use crate::record::Record;

/// Bytes of text kept before the place that tells most, and after it: more than a line has room for.
const BEFORE: usize = 240;
const AFTER: usize = 80;

/// The part of an answer that tells most.
#[derive(Debug, Clone, PartialEq)]
pub enum Tells {
    /// Log-likelihoods of the options.
    Scores(Box<[f32]>),
    /// There is no output.
    Nothing,
    /// The match that gave the pick, within what stands around it on its line.
    Match {
        text: Box<str>,
        at: Range<usize>,
        letter: Range<usize>,
    },
    /// The end repeats: what comes before the repetitions with the first of them, and how often it is said.
    Loop { text: Box<str>, count: usize },
    /// How the output ends.
    End(Box<str>),
}

impl Tells {
    pub fn of(record: &Record, rule: &Rule, is_cloze: bool) -> Tells {
        if let Some(scores) = record.logprobs.as_deref().filter(|_| is_cloze) {
            return Tells::Scores(scores.into());
        }
        let text = record.reasoning.trim_end();
        if text.is_empty() {
            return Tells::Nothing;
        }
        if !record.is_invalid()
            && let Some(found) = rule.read(text).found
            // A run may read by another rule; what did not give the pick is not lit.
            && text.get(found.letter.clone()) == Some(record.pick.as_str())
        {
            return matched(text, found);
        }
        match repeated_tail(text) {
            Some(tail) => Tells::Loop {
                text: end_of(&text[..tail.start + tail.unit], BEFORE).into(),
                count: tail.count,
            },
            None => Tells::End(end_of(text, BEFORE).into()),
        }
    }
}

fn matched(text: &str, lit: Match) -> Tells {
    let found = lit.whole;
    let before = end_of(&text[..found.start], BEFORE);
    let shown = beginning_of(&text[found.clone()], BEFORE);
    let line_end = text[found.end..].find('\n').map_or(text.len(), |at| found.end + at);
    let after = beginning_of(&text[found.end..line_end], AFTER);
    let within = |at: usize| before.len() + at.saturating_sub(found.start).min(shown.len());
    Tells::Match {
        at: before.len()..before.len() + shown.len(),
        letter: within(lit.letter.start)..within(lit.letter.end),
        text: [before, shown, after].concat().into(),
    }
}

/// At most so many bytes of a text's end.
fn end_of(text: &str, most: usize) -> &str {
    let from = (text.len().saturating_sub(most)..=text.len()).find(|at| text.is_char_boundary(*at));
    &text[from.unwrap_or(text.len())..]
}

/// At most so many bytes of a text's beginning.
fn beginning_of(text: &str, most: usize) -> &str {
    let to = (0..=text.len().min(most)).rev().find(|at| text.is_char_boundary(*at));
    &text[..to.unwrap_or(0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str, pick: &str) -> Tells {
        let record = Record {
            reasoning: text.into(),
            pick: pick.into(),
            ..Record::default()
        };
        Tells::of(&record, &Rule::default(), false)
    }

    #[test]
    fn what_is_kept_of_an_output_is_its_match_its_loop_or_its_end_and_never_long() {
        let long = "über ".repeat(400);
        let Tells::Match { text, at, letter } = told(&format!("{long}The answer is (C). So {long}\nmore"), "C") else {
            panic!("no match")
        };
        assert_eq!((&text[at.clone()], &text[letter]), ("answer is (C)", "C"));
        assert!(
            text.len() <= BEFORE + AFTER + 13 && text[at.end..].starts_with(". So über"),
            "{text}"
        );
        let Tells::Loop { text, count } = told(
            &format!("First. {}", "It is the law of the law. ".repeat(40)),
            "[invalid]",
        ) else {
            panic!("no loop")
        };
        assert!(text.starts_with("First. It is") && count > 30, "{text} {count}");
        assert_eq!(
            told("no letter at all", "[invalid]"),
            Tells::End("no letter at all".into())
        );
        assert_eq!(told(" \n", "[invalid]"), Tells::Nothing);
        let Tells::End(text) = told(&(0..500).map(|n| format!("é{n} ")).collect::<String>(), "[invalid]") else {
            panic!("no end")
        };
        assert!(text.len() <= BEFORE, "{}", text.len());
    }

    #[test]
    fn scores_are_kept_whole_where_the_exam_is_scored() {
        let record = Record {
            logprobs: Some(vec![-1.0, f32::NEG_INFINITY]),
            ..Record::default()
        };
        let scores = [-1.0, f32::NEG_INFINITY];
        assert_eq!(Tells::of(&record, &Rule::default(), true), Tells::Scores(scores.into()));
        assert_eq!(Tells::of(&record, &Rule::default(), false), Tells::Nothing);
    }
}
