//! Why an answer could not be read, and what else is odd about it.
//!
//! An invalid row has one [`Cause`], the first of [`Cause::ALL`] that fits; any row may bear [`Mark`]s. Both fit into
//! the two bytes of [`Marks`], so that all rows of a trace are kept.

mod ending;
mod repeat;
mod seeds;
mod wording;

use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

use crate::extract::python::{is_word, stands_alone};
use crate::extract::{Rule, answer_start, unclosed_thinking};
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
    Leading,
    Is,
    Unlisted,
    Several,
    NoLetter,
    Other,
}

impl Cause {
    pub const ALL: [Cause; 16] = [
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
        Cause::Leading,
        Cause::Is,
        Cause::Unlisted,
        Cause::Several,
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
                "stopped by the token limit, or by the user; where no finish reason is stored: does not end like a sentence, a \
                 bracket, a formula or a list",
            ),
            Cause::Bold => ("bold", "mark-up before letter", "mark-up between \"is\" and the letter"),
            Cause::Colon => ("colon", "colon before letter", "\"answer is: C\", \"Answer: C\""),
            Cause::Latex => ("latex", "LaTeX", "the answer in \\boxed{} or between dollar signs"),
            Cause::Lower => ("lower", "lower-case letter", "the letter is written in lower case"),
            Cause::Wording => (
                "wording",
                "other wording",
                "a letter named in other words near \"answer\", \"option\", \"choice\" or \"correct\", or in another language",
            ),
            Cause::Leading => (
                "leading",
                "letter first",
                "begins with the letter: \"C.\", \"(C) Paris\"",
            ),
            Cause::Is => (
                "is",
                "\"is (C)\"",
                "\"is (C)\" or \"is C.\" without \"answer\" or \"option\" near",
            ),
            Cause::Unlisted => (
                "unlisted",
                "not among the options",
                "says that its result is not among the options, or that none of them fits",
            ),
            Cause::Several => (
                "several",
                "several letters",
                "two or more different letters stand alone, none of them singled out",
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
    Thought,
}

impl Mark {
    pub const ALL: [Mark; 6] = [
        Mark::Word,
        Mark::Unoffered,
        Mark::Loop,
        Mark::Cut,
        Mark::Multi,
        Mark::Thought,
    ];

    /// The word of the filter line.
    pub fn name(self) -> &'static str {
        match self {
            Mark::Word => "word",
            Mark::Unoffered => "unoffered",
            Mark::Loop => "loop",
            Mark::Cut => "cut",
            Mark::Multi => "multi",
            Mark::Thought => "thought",
        }
    }

    pub fn definition(self) -> &'static str {
        match self {
            Mark::Word => "the matched letter begins a word (\"answer is Among\")",
            Mark::Unoffered => "the pick is a letter beyond the options",
            Mark::Loop => "the end of the output repeats",
            Mark::Cut => "the output was cut off",
            Mark::Multi => "two or more different letters match the rule",
            Mark::Thought => {
                "the match lies in the thinking: before the last </think>, or in a channel that is not the final one"
            }
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
        marks.set(Mark::Thought, found.letter.start < answer_start(text));
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
    let letters: Vec<usize> = letters_alone(text).collect();
    let Some(last) = letters.last().copied() else {
        return (Cause::NoLetter, None);
    };
    // The article and the pronoun are no letters that are named.
    let named = letters
        .iter()
        .filter(|at| is_named(text, **at))
        .map(|at| text.as_bytes()[*at]);
    let different: HashSet<u8> = named.collect();
    let cause = if different.len() > 1 {
        Cause::Several
    } else {
        Cause::Other
    };
    (cause, Some(last..last + 1))
}

/// The places of capitals A to J that stand alone.
fn letters_alone(text: &str) -> impl Iterator<Item = usize> + '_ {
    let capitals = text
        .bytes()
        .enumerate()
        .filter(|(_, byte)| (b'A'..=b'J').contains(byte));
    capitals.map(|(at, _)| at).filter(|at| stands_alone(text, *at, at + 1))
}

/// Whether a letter that stands alone is one for sure: A and I need a sign after them.
fn is_named(text: &str, at: usize) -> bool {
    let is_word = matches!(text.as_bytes()[at], b'A' | b'I');
    !is_word
        || matches!(
            text.as_bytes().get(at + 1),
            None | Some(b')' | b'.' | b':' | b',' | b';' | b'*' | b']' | b'\n')
        )
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
            ("The answer is $795.00, which is not listed.", "unlisted", "not listed"),
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
            ("Thus the most likely ruling is (D).", "is", "is (D)"),
            ("The statement that is true about point B is (D).", "is", "is (D)"),
            ("A. 9% is the answer.", "leading", "A"),
            ("C) Paris", "leading", "C)"),
            ("**(F)** because of the tides.", "leading", "**(F)**"),
            (
                "The result 2.5 does not match any of the given options.",
                "unlisted",
                "not match any of the given options",
            ),
            ("None of the options is right here.", "unlisted", "None of the options"),
            ("Points B and D are on the line, E is off it.", "several", "E"),
            ("Vitamin C helps.", "other", "C"),
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
    fn a_letter_named_in_another_language_is_other_wording() {
        for (text, evidence) in [
            ("我認為應該選 C", "應該選 C"),
            ("所以答案是（C）。", "答案是（C）"),
            ("因此，正确选项为B。", "正确选项为B"),
            ("B是正确的。", "B是正确"),
            ("正解はDです。", "正解はD"),
            ("정답은 B입니다.", "정답은 B"),
            ("La respuesta correcta es la C.", "respuesta correcta es la C"),
            ("La bonne réponse est (A).", "bonne réponse est (A)"),
            ("Die richtige Antwort ist B", "richtige Antwort ist B"),
            ("A resposta é D.", "resposta é D"),
            ("Правильный ответ: C.", "Правильный ответ: C"),
            ("Doğru cevap D'dir.", "cevap D"),
            ("الإجابة الصحيحة هي (B).", "الإجابة الصحيحة هي (B)"),
            ("Đáp án đúng là C.", "Đáp án đúng là C"),
            ("答案：Ｃ", "答案：Ｃ"),
        ] {
            let found = diagnosis(text);
            let shown = found.evidence.map_or("", |range| &text[range]);
            assert_eq!(found.cause.map(Cause::name), Some("wording"), "{text}: {shown}");
            assert!(shown.contains(evidence) || evidence.contains(shown), "{text}: {shown}");
        }
    }

    #[test]
    fn a_match_in_the_thinking_is_marked() {
        let harmony = "<|channel|>analysis<|message|>The answer is (B)?<|end|><|start|>assistant<|channel|>final<|message|>\
                       The answer is (D).";
        for (rule, text, is_thought) in [
            ("lm_eval_mmlu_pro", harmony, true),
            ("final:lm_eval_mmlu_pro", harmony, false),
            (
                "lm_eval_mmlu_pro",
                "<think>the answer is (A)</think> The answer is (C).",
                true,
            ),
            (
                "think:lm_eval_mmlu_pro",
                "<think>the answer is (A)</think> The answer is (C).",
                false,
            ),
            ("lm_eval_mmlu_pro", "The answer is (C).", false),
        ] {
            let rule = Rule::parse(rule).unwrap();
            let pick = rule.read(text).pick.unwrap();
            let answer = Answer {
                text,
                pick,
                options: 10,
                ..Answer::default()
            };
            assert_eq!(diagnose(&rule, &answer).marks.has(Mark::Thought), is_thought, "{text}");
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
