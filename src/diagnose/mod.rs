//! Why an answer could not be read, and what else is odd about it.
//!
//! An invalid row has one [`Cause`], the first of [`Cause::ALL`] that fits; any row may bear [`Mark`]s. Both fit into
//! the two bytes of [`Marks`], so that all rows of a trace are kept.

mod ending;
mod repeat;
mod seeds;
mod wording;

use std::fmt;
use std::ops::Range;

use crate::extract::Rule;
use crate::extract::python::{is_word, stands_alone};
use crate::record::{Finish, INVALID, letter_index};
use crate::text::is_python_space;

pub use repeat::{Tail, repeated_tail};
pub use seeds::{Twins, describe_twins, identical_attempts, text_hash};

/// Why no letter could be read from a row. In the order in which they are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cause {
    Error,
    Empty,
    Thinking,
    Loop,
    Cut,
    Bold,
    Colon,
    Latex,
    Lower,
    Wording,
    NoLetter,
    Other,
}

impl Cause {
    pub const ALL: [Cause; 12] = [
        Cause::Error,
        Cause::Empty,
        Cause::Thinking,
        Cause::Loop,
        Cause::Cut,
        Cause::Bold,
        Cause::Colon,
        Cause::Latex,
        Cause::Lower,
        Cause::Wording,
        Cause::NoLetter,
        Cause::Other,
    ];

    /// The word of the filter line (`why:loop`).
    pub fn name(self) -> &'static str {
        self.texts().0
    }

    /// A few words for a table.
    pub fn label(self) -> &'static str {
        self.texts().1
    }

    /// What exactly is meant, for the help.
    pub fn definition(self) -> &'static str {
        self.texts().2
    }

    pub fn from_name(name: &str) -> Option<Cause> {
        Cause::ALL.into_iter().find(|cause| cause.name() == name)
    }

    fn texts(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Cause::Error => ("error", "engine failed", "the engine failed on this row"),
            Cause::Empty => ("empty", "empty", "nothing, or white space only"),
            Cause::Thinking => ("thinking", "never stopped thinking", "a <think> that is never closed"),
            Cause::Loop => (
                "loop",
                "loop at the end",
                "the end repeats: a unit of 20 characters or more at least three times, 200 characters or more in all",
            ),
            Cause::Cut => (
                "cut",
                "cut off",
                "stopped by the token limit; where no finish reason is stored: does not end like a sentence, a \
                 bracket, a formula or a list",
            ),
            Cause::Bold => ("bold", "mark-up before letter", "mark-up between \"is\" and the letter"),
            Cause::Colon => ("colon", "colon before letter", "\"answer is: C\", \"Answer: C\""),
            Cause::Latex => ("latex", "LaTeX", "the answer in \\boxed{} or between dollar signs"),
            Cause::Lower => ("lower", "lower-case letter", "the letter is written in lower case"),
            Cause::Wording => (
                "wording",
                "other wording",
                "a letter named in other words near \"answer\", \"option\", \"choice\" or \"correct\"",
            ),
            Cause::NoLetter => ("none", "no letter named", "no letter A-J stands alone in the text"),
            Cause::Other => (
                "other",
                "other",
                "none of these: some letter stands alone, but not as an answer",
            ),
        }
    }
}

/// What may be said of any row, invalid or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mark {
    Word,
    Unoffered,
    Loop,
    Cut,
    Multi,
}

impl Mark {
    pub const ALL: [Mark; 5] = [Mark::Word, Mark::Unoffered, Mark::Loop, Mark::Cut, Mark::Multi];

    /// The word of the filter line.
    pub fn name(self) -> &'static str {
        match self {
            Mark::Word => "word",
            Mark::Unoffered => "unoffered",
            Mark::Loop => "loop",
            Mark::Cut => "cut",
            Mark::Multi => "multi",
        }
    }

    pub fn definition(self) -> &'static str {
        match self {
            Mark::Word => "the matched letter begins a word (\"answer is Among\")",
            Mark::Unoffered => "the pick is a letter beyond the options",
            Mark::Loop => "the end of the output repeats",
            Mark::Cut => "the output was cut off",
            Mark::Multi => "two or more different letters match the rule",
        }
    }

    pub fn from_name(name: &str) -> Option<Mark> {
        Mark::ALL.into_iter().find(|mark| mark.name() == name)
    }
}

/// Marks and cause of one row in two bytes: a bit a mark, then the cause's number from 1 in the upper byte.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Marks(u16);

impl Marks {
    pub fn has(self, mark: Mark) -> bool {
        self.0 & (1 << mark as u16) != 0
    }

    pub fn cause(self) -> Option<Cause> {
        usize::from(self.0 >> 8).checked_sub(1).map(|index| Cause::ALL[index])
    }

    /// All of it as a number, for [`Marks::from_bits`].
    pub fn bits(self) -> u16 {
        self.0
    }

    /// From [`Marks::bits`]; the number of a cause that there is not is dropped.
    pub fn from_bits(bits: u16) -> Marks {
        let has_cause = usize::from(bits >> 8) <= Cause::ALL.len();
        Marks(if has_cause { bits } else { bits & 0xff })
    }

    fn set(&mut self, mark: Mark, is_set: bool) {
        self.0 |= u16::from(is_set) << mark as u16;
    }

    fn set_cause(&mut self, cause: Cause) {
        self.0 = (self.0 & 0xff) | ((cause as u16 + 1) << 8);
    }
}

impl fmt::Debug for Marks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let marks: Vec<Mark> = Mark::ALL.into_iter().filter(|mark| self.has(*mark)).collect();
        f.debug_struct("Marks")
            .field("marks", &marks)
            .field("cause", &self.cause())
            .finish()
    }
}

/// What is known of an answer when it is diagnosed.
#[derive(Debug, Clone, Copy, Default)]
pub struct Answer<'a> {
    pub text: &'a str,
    /// The pick that is shown.
    pub pick: &'a str,
    pub finish: Option<Finish>,
    /// Row flags joined by `,`.
    pub flags: &'a str,
    /// Number of options; 0 where unknown.
    pub options: usize,
}

/// What is odd about an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Diagnosis {
    /// Of an invalid row.
    pub cause: Option<Cause>,
    pub marks: Marks,
    /// What shows the cause: a byte range of the text.
    pub evidence: Option<Range<usize>>,
    /// The repeated end, where there is one.
    pub tail: Option<Tail>,
}

/// Diagnoses one answer; `rule` is the rule by which its picks are shown. Time is linear in the text.
pub fn diagnose(rule: &Rule, answer: &Answer) -> Diagnosis {
    let tail = repeated_tail(answer.text);
    let is_cut = ending::is_cut(answer.text, answer.finish);
    let mut marks = Marks::default();
    marks.set(Mark::Loop, tail.is_some());
    marks.set(Mark::Cut, is_cut);
    let beyond = letter_index(answer.pick).is_some_and(|index| index >= answer.options);
    marks.set(Mark::Unoffered, answer.options > 0 && beyond);
    mark_matches(&mut marks, rule, answer.text);
    if answer.pick != INVALID {
        return Diagnosis {
            cause: None,
            marks,
            evidence: None,
            tail,
        };
    }
    let (cause, evidence) = cause(answer, tail.as_ref(), is_cut);
    marks.set_cause(cause);
    Diagnosis {
        cause: Some(cause),
        marks,
        evidence,
        tail,
    }
}

fn mark_matches(marks: &mut Marks, rule: &Rule, text: &str) {
    let matches = rule.matches(text);
    let Some(first) = matches.first() else { return };
    let pick = &text[first.letter.clone()];
    marks.set(
        Mark::Multi,
        matches
            .iter()
            .any(|other| !text[other.letter.clone()].eq_ignore_ascii_case(pick)),
    );
    // The rule's own pick may be another than the first match (`@last`).
    if let Some(found) = rule.read(text).found {
        let is_letter = found.letter.len() == 1;
        marks.set(
            Mark::Word,
            is_letter && text[found.letter.end..].chars().next().is_some_and(is_word),
        );
    }
}

fn cause(answer: &Answer, tail: Option<&Tail>, is_cut: bool) -> (Cause, Option<Range<usize>>) {
    let text = answer.text;
    if answer.finish == Some(Finish::Error) || answer.flags.split(',').any(|flag| flag == "error") {
        return (Cause::Error, None);
    }
    if text.chars().all(is_python_space) {
        return (Cause::Empty, None);
    }
    if let Some(open) = unclosed_thinking(text) {
        return (Cause::Thinking, Some(open));
    }
    if let Some(tail) = tail {
        return (Cause::Loop, Some(tail.start..tail.end));
    }
    if is_cut {
        return (Cause::Cut, Some(ending::last_words(text)));
    }
    if let Some((cause, evidence)) = wording::cause(text) {
        return (cause, Some(evidence));
    }
    match last_letter_alone(text) {
        Some(at) => (Cause::Other, Some(at..at + 1)),
        None => (Cause::NoLetter, None),
    }
}

/// The `<think>` that no `</think>` follows.
fn unclosed_thinking(text: &str) -> Option<Range<usize>> {
    let open = text.rfind("<think>")?;
    (!text[open..].contains("</think>")).then(|| open..open + "<think>".len())
}

fn last_letter_alone(text: &str) -> Option<usize> {
    let capitals = text
        .bytes()
        .enumerate()
        .rev()
        .filter(|(_, byte)| (b'A'..=b'J').contains(byte));
    capitals.map(|(at, _)| at).find(|at| stands_alone(text, *at, at + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diagnosis(text: &str) -> Diagnosis {
        diagnose(
            &Rule::default(),
            &Answer {
                text,
                pick: INVALID,
                options: 10,
                ..Answer::default()
            },
        )
    }

    #[test]
    fn each_cause_is_told_with_its_evidence() {
        let looping = format!("Well. {}", "It is the view of the law from within. ".repeat(8));
        for (text, cause, evidence) in [
            (" \n\u{1c}", "empty", ""),
            ("<think>So the answer is near", "thinking", "<think>"),
            (
                looping.as_str(),
                "loop",
                looping.trim_end().strip_prefix("Well. ").unwrap(),
            ),
            ("The friend's damages were assessed at", "cut", "were assessed at"),
            ("The answer is **(C)**.", "bold", "is **(C)**"),
            ("the answer is __E__", "bold", "is __E__"),
            ("The answer is `H. 20 ft/s`.", "bold", "is `H"),
            ("Therefore, the answer is: B", "colon", "answer is: B"),
            ("**Answer:** G", "colon", "Answer:** G"),
            (
                "The correct answer is:\n\nI. The work cycle is complete.",
                "colon",
                "answer is:\n\nI",
            ),
            (r"So it is $\boxed{D}$.", "latex", r"\boxed{D}"),
            (r"so the answer is $\text{(B)}$", "latex", r"answer is $\text{(B)}"),
            (r"The value is $\boxed{2.5}$.", "latex", r"\boxed{2.5}"),
            (
                r"It is $\boxed{2.5}$, so the closest option is (D).",
                "wording",
                "option is (D)",
            ),
            ("The answer is $795.00, which is not listed.", "none", ""),
            (r"so that we get $\frac{1}{2}$ and $y = 0.25", "cut", "$y = 0.25"),
            ("Hence x = 42", "none", ""),
            ("The options are\n1. red\n2. green", "none", ""),
            ("### Final Answer\n\nB", "wording", "Answer\n\nB"),
            ("The answer is (b).", "lower", "answer is (b)"),
            ("the answer is c", "lower", "answer is c"),
            (
                "The option that best fits the situation is (G).",
                "wording",
                "option that best fits the situation is (G)",
            ),
            ("B would be the right choice.", "wording", "B would be the right choice"),
            ("The question cannot be answered from this.", "none", ""),
            ("Thus the most likely ruling is (D).", "other", "D"),
        ] {
            let found = diagnosis(text);
            let shown = found.evidence.map_or("", |range| &text[range]);
            assert_eq!(
                (found.cause.map(Cause::name), shown),
                (Some(cause), evidence),
                "{text:?}"
            );
        }
    }

    #[test]
    fn what_the_engine_said_comes_before_what_the_text_looks_like() {
        let answer = |text, finish| Answer {
            text,
            pick: INVALID,
            finish: Some(finish),
            options: 10,
            flags: "",
        };
        let cause = |text, finish| diagnose(&Rule::default(), &answer(text, finish)).cause;
        assert_eq!(cause("Half a sente", Finish::Eos), Some(Cause::NoLetter));
        assert_eq!(cause("A whole sentence, it seems.", Finish::Length), Some(Cause::Cut));
        assert_eq!(cause("The answer is", Finish::Error), Some(Cause::Error));
    }

    #[test]
    fn marks_stand_on_rows_that_are_not_invalid() {
        let marks = |text, pick, options| {
            let answer = Answer {
                text,
                pick,
                options,
                finish: Some(Finish::Eos),
                ..Answer::default()
            };
            let diagnosis = diagnose(&Rule::default(), &answer);
            assert_eq!(diagnosis.cause, None);
            Mark::ALL
                .into_iter()
                .filter(|mark| diagnosis.marks.has(*mark))
                .map(Mark::name)
                .collect::<Vec<_>>()
        };
        assert_eq!(marks("The answer is Among these.", "A", 10), ["word"]);
        assert_eq!(marks("The answer is A catalyst.", "A", 10), [""; 0]);
        assert_eq!(marks("The answer is (J).", "J", 4), ["unoffered"]);
        assert_eq!(
            marks("The answer is (J).", "J", 0),
            [""; 0],
            "unknown number of options"
        );
        assert_eq!(marks("The answer is (H). No, the answer is (B).", "H", 10), ["multi"]);
        assert_eq!(marks("The answer is (H). Yes, the answer is H.", "H", 10), [""; 0]);
    }

    #[test]
    fn names_lead_back_to_causes_and_marks() {
        for cause in Cause::ALL {
            assert_eq!(Cause::from_name(cause.name()), Some(cause));
            let mut marks = Marks::default();
            marks.set(Mark::Multi, true);
            marks.set_cause(cause);
            assert_eq!(
                (marks.cause(), marks.has(Mark::Multi), marks.has(Mark::Cut)),
                (Some(cause), true, false)
            );
        }
        for mark in Mark::ALL {
            assert_eq!(Mark::from_name(mark.name()), Some(mark));
        }
    }
}
