//! Prompt styles as data: what is said before a question, how it is laid out, how an example is answered.

use std::fmt;

use crate::record::letter;
use crate::text::strip;

use super::Question;

/// How an exam is put to a model. A further style is one more entry in its benchmark's list.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Style {
    pub name: &'static str,
    /// One line for pickers and help.
    pub about: &'static str,
    /// Version of the harness task whose prompts these are; empty where there is none.
    pub version: &'static str,
    pub method: Method,
    /// What is said first (the system turn of a chat); `{subject}` is filled in.
    pub description: &'static str,
    /// A question up to where its answer begins; `{question}` and `{options}` are filled in.
    pub block: &'static str,
    /// The same for an answered example.
    pub shot_block: &'static str,
    /// One option line; `{letter}` and `{option}` are filled in.
    pub option: &'static str,
    /// Parts whose outer white space is cut.
    pub stripped: &'static [Part],
    /// Options with exactly this text are left out.
    pub left_out: Option<&'static str>,
    /// Options after this many are cut.
    pub most_options: usize,
    /// How an example is answered.
    pub answer: ShotAnswer,
    pub shot_turn: ShotTurn,
    /// Stands between a question and its answer, and before a scored continuation.
    pub delimiter: &'static str,
    /// Stands after an answered example.
    pub separator: &'static str,
    pub target: Target,
    pub examples: Examples,
    /// Whether examples are left out, the last first, until the prompt fits before the completion's token limit (the
    /// MMLU-Pro authors' script); else what is too long is cut from the left.
    pub sheds_examples: bool,
}

/// Which examples a question gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Examples {
    /// The first of its subject.
    OfSubject,
    /// The first of the whole split, whatever the question.
    OfSplit,
}

/// How an answer is got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Each option gets a log-likelihood.
    Cloze { scored: Scored },
    /// The model writes; `rule` names the extraction rule, `stops` end the text and are cut off.
    Generate {
        rule: &'static str,
        stops: &'static [&'static str],
        /// Where no limit is asked for; the harness's own for its tasks.
        max_tokens: usize,
    },
}

/// What a cloze continuation is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scored {
    Letter,
    /// The whole text of the option.
    Text,
}

/// A part of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    Question,
    Options,
}

/// How an example is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShotAnswer {
    /// The gold letter, or the gold option's text where texts are scored.
    Gold,
    /// A sentence; `{letter}` is filled in.
    Sentence(&'static str),
    /// The example's worked answer, each `from` in it replaced.
    Reasoning { from: &'static str, to: &'static str },
}

/// Whose turn an example's answer is when a chat has turns for examples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShotTurn {
    Assistant,
    /// It stays with the question in the user's turn.
    User,
}

/// What the harness hashes as the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// The answer column as stored (a class number for MMLU).
    Stored,
    Letter,
}

impl Style {
    pub fn is_cloze(&self) -> bool {
        matches!(self.method, Method::Cloze { .. })
    }

    /// The text before the first question; a set without subjects is said to be about nothing.
    pub fn describe(&self, subject: &str) -> String {
        if subject.is_empty() {
            return fill(&self.description.replace(" about {subject}", ""), &[("subject", "")]);
        }
        fill(self.description, &[("subject", &subject.replace('_', " "))])
    }

    /// A question up to where its answer begins.
    pub fn lay_out(&self, block: &str, question: &Question) -> String {
        let options: String = self
            .shown_options(question)
            .enumerate()
            .map(|(index, option)| {
                let letter = letter(index).map(String::from).unwrap_or_default();
                fill(self.option, &[("letter", &letter), ("option", option)])
            })
            .collect();
        let text = self.part(Part::Question, &question.question);
        fill(block, &[("question", text), ("options", &options)])
    }

    /// The answer of an example, as a model should give it.
    pub fn answer_of(&self, example: &Question) -> String {
        match self.answer {
            ShotAnswer::Gold => match self.method {
                Method::Cloze { scored: Scored::Text } => example
                    .gold
                    .and_then(|gold| example.options.get(gold))
                    .map_or_else(|| example.answer.clone(), Clone::clone),
                _ => example.answer.clone(),
            },
            ShotAnswer::Sentence(sentence) => fill(sentence, &[("letter", &example.answer)]),
            ShotAnswer::Reasoning { from, to } => example.cot.replace(from, to),
        }
    }

    /// The texts whose log-likelihoods are compared; none where the model writes.
    pub fn continuations(&self, question: &Question, delimiter: &str) -> Vec<String> {
        let shown = self.shown_options(question);
        match self.method {
            Method::Generate { .. } => Vec::new(),
            Method::Cloze { scored: Scored::Letter } => (0..shown.count())
                .filter_map(letter)
                .map(|letter| format!("{delimiter}{letter}"))
                .collect(),
            Method::Cloze { scored: Scored::Text } => shown.map(|text| format!("{delimiter}{text}")).collect(),
        }
    }

    /// The style's prompts as one readable text, for the manifest: placeholders where a question's parts go.
    pub fn template_text(&self, shots: usize) -> String {
        let answer = match self.answer {
            ShotAnswer::Gold => "{gold}".to_owned(),
            ShotAnswer::Sentence(sentence) => sentence.to_owned(),
            ShotAnswer::Reasoning { from, to } => format!("{{reasoning, {from:?} as {to:?}}}"),
        };
        let options = format!("{{each option: {}}}", self.option.escape_debug());
        let block = |block| fill(block, &[("question", "{question}"), ("options", &options)]);
        let examples = match shots {
            0 => String::new(),
            _ => format!(
                "{{{shots} examples: {}{}{answer}{}}}",
                block(self.shot_block),
                self.delimiter,
                self.separator
            ),
        };
        [self.description, &examples, &block(self.block), &self.layout_notes()].concat()
    }

    fn layout_notes(&self) -> String {
        let stripped = self.stripped.iter().map(|part| format!("\n({part} stripped)"));
        let left_out = self.left_out.map(|text| format!("\n(options {text:?} left out)"));
        let scored = match self.method {
            Method::Generate { .. } => None,
            Method::Cloze { scored } => {
                let what = if scored == Scored::Letter {
                    "{letter}"
                } else {
                    "{option}"
                };
                Some(format!("\n(scored: {:?})", [self.delimiter, what].concat()))
            }
        };
        stripped.chain(left_out).chain(scored).collect()
    }

    fn shown_options<'q>(&self, question: &'q Question) -> impl Iterator<Item = &'q str> {
        let is_stripped = self.stripped.contains(&Part::Options);
        let left_out = self.left_out;
        question
            .options
            .iter()
            .map(String::as_str)
            .filter(move |option| left_out != Some(*option))
            .take(self.most_options)
            .map(move |option| if is_stripped { strip(option) } else { option })
    }

    fn part<'t>(&self, part: Part, text: &'t str) -> &'t str {
        if self.stripped.contains(&part) {
            strip(text)
        } else {
            text
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            Part::Question => "question",
            Part::Options => "options",
        })
    }
}

/// Puts values where `{name}` stands, in one pass, so that braces inside a value stay as they are.
fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut text = String::with_capacity(template.len() + values.iter().map(|(_, value)| value.len()).sum::<usize>());
    let mut rest = template;
    while let Some(open) = rest.find('{') {
        text.push_str(&rest[..open]);
        rest = &rest[open + 1..];
        let found = values.iter().find_map(|(name, value)| {
            rest.strip_prefix(*name)
                .and_then(|after| after.strip_prefix('}'))
                .map(|after| (value, after))
        });
        if let Some((value, after)) = found {
            text.push_str(value);
            rest = after;
        } else {
            text.push('{');
        }
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_in_a_question_stay() {
        assert_eq!(fill("{a}-{b}-{c}", &[("a", "{b}"), ("b", "{a} {")]), "{b}-{a} {-{c}");
    }

    #[test]
    fn stripping_is_pythons() {
        assert_eq!(strip("\u{1f} \u{a0}x\u{200b}\u{85}\u{1c}"), "x\u{200b}");
    }

    #[test]
    fn a_manifest_can_show_the_whole_template() {
        let style = super::super::mmlu::MMLU.default_style();
        let expected = "The following are multiple choice questions (with answers) about {subject}.\n\n\
            {2 examples: {question}\n{each option: {letter}. {option}\\n}Answer: {gold}\n\n}\
            {question}\n{each option: {letter}. {option}\\n}Answer:\n(question stripped)\n(scored: \" {letter}\")";
        assert_eq!(style.template_text(2), expected);
    }
}
