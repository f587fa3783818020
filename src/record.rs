//! What is remembered of one answer.

use serde::{Deserialize, Serialize};

use crate::extract::argmax::{ArgMax, answer_of};
use crate::extract::exact_match;

/// The pick of a row from which no letter could be read.
pub const INVALID: &str = "[invalid]";

/// Why a completion ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Finish {
    /// The model gave its end-of-sequence token.
    Eos,
    /// A stop text came.
    Stop,
    /// The token limit was reached.
    Length,
    /// The engine failed on this request.
    Error,
    /// The user stopped this answer while it was being written.
    User,
}

impl Finish {
    pub const ALL: [Finish; 5] = [Finish::Eos, Finish::Stop, Finish::Length, Finish::Error, Finish::User];

    pub fn name(self) -> &'static str {
        match self {
            Finish::Eos => "eos",
            Finish::Stop => "stop",
            Finish::Length => "length",
            Finish::Error => "error",
            Finish::User => "stopped",
        }
    }

    pub fn from_name(name: &str) -> Option<Finish> {
        Finish::ALL.into_iter().find(|finish| finish.name() == name)
    }
}

/// The columns of a record in the order of its file: what each holds, its name, its type. All that goes over every column
/// is made of this table: [`Record`], its parquet columns, its reading from JSON and tables, and the table in README.
macro_rules! columns {
    ($visit:ident) => {
        $visit! {
            /// The question's number in its set.
            question_id: i64,
            /// 0-based; by default seed = 42 + attempt.
            attempt: i64,
            /// The MMLU-Pro category, or the MMLU category of the subject.
            category: String,
            /// Exactly as sent.
            prompt: String,
            /// The whole completion; empty for cloze.
            reasoning: String,
            /// A letter, or `[invalid]`.
            pick: String,
            /// The gold letter.
            answer: String,
            /// Whether the pick is the gold.
            correct: bool,
            /// Unicode code points of `reasoning`, as Python counts.
            reasoning_chars: i64,
            /// The harness's hash of the row.
            doc_hash: String,
            /// The harness's hash of the prompt.
            prompt_hash: String,
            /// `mmlu`, `mmlu_pro`, or a user's own set; empty where a foreign file does not say.
            benchmark: String,
            /// Equals `category` for MMLU-Pro.
            subject: String,
            /// The question's text.
            question: String,
            /// The options' texts.
            options: Vec<String>,
            /// The source row as JSON, key order kept: hashes and the harness export need it.
            doc: Option<String>,
            /// The harness's hash of the gold.
            target_hash: String,
            /// The question's place within its subject's split, as the harness numbers.
            doc_id: Option<i64>,
            /// What the sampling began from.
            seed: Option<i64>,
            /// Why the completion ended: `eos`, `stop`, `length`, `error`, or `stopped` (by the user).
            finish: Option<Finish>,
            /// Tokens of the prompt.
            prompt_tokens: Option<i64>,
            /// Tokens of the completion.
            output_tokens: Option<i64>,
            /// Log-likelihood of each option (natural log).
            #[serde(default, with = "floats")]
            logprobs: Option<Vec<f32>>,
            /// Whether each continuation is what greedy decoding gives.
            greedy: Option<Vec<bool>>,
            /// The texts that were scored, delimiter included (` A`, ` Paris`).
            #[serde(default)]
            continuations: Option<Vec<String>>,
            /// Token count of each continuation.
            #[serde(default)]
            continuation_tokens: Option<Vec<i64>>,
            /// Share of all probability that fell on the letters.
            #[serde(default, with = "floats")]
            letter_mass: Option<f32>,
            /// The likeliest next token.
            top_token: Option<String>,
            /// `truncated`, `nan`, `gold_conflict`, `too_long`, `error`, ...
            flags: Vec<String>,
            /// This answer's share of the work, in seconds.
            #[serde(with = "floats")]
            seconds: f32,
            /// Who answered, where it was a server: replica, tries, tokens, cost, bounded letters, as JSON.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            served: Option<Box<ServedBy>>,
        }
    };
}
pub(crate) use columns;

macro_rules! record {
    ($(#[doc = $about:literal] $(#[$serde:meta])? $name:ident: $kind:ty,)*) => {
        /// One answer: a row of a trace. The first eleven columns are those of the public five-attempt trace sets.
        #[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
        pub struct Record {
            $(#[doc = $about] $(#[$serde])? pub $name: $kind,)*
        }

        impl Record {
            /// Each column's name, its type and what it holds.
            pub const COLUMNS: &[(&str, &str, &str)] = &[$((stringify!($name), stringify!($kind), $about)),*];
        }
    };
}
columns!(record);

/// A server's answer, by what it told of itself.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ServedBy {
    /// The model as the answer names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Of the server's build and settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// Who computed it, behind a router.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<String>,
    /// Host and port.
    pub replica: String,
    /// Tries that it took; refusals for being too busy are none.
    pub tries: u32,
    /// Seconds to the first token, of streams.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_token_s: Option<f32>,
    pub usage: Usage,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usd: Option<f64>,
    /// Continuations, by index, whose log-likelihood is only known to be no larger than the number that stands there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub bounded: Vec<usize>,
}

/// Tokens as a server counts them; none where it does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    pub prompt: Option<u64>,
    /// Of the prompt, those that were in its cache.
    pub cached: Option<u64>,
    pub completion: Option<u64>,
    /// Of the completion, those of thinking.
    pub reasoning: Option<u64>,
}

/// How many columns, the first, are those of the public five-attempt trace sets.
pub const PUBLIC_COLUMNS: usize = 11;

/// Floats in JSON: NaN and the infinities by the names that Python's `json` has for them, as texts. A null in a list, as
/// older journals have it, is NaN.
mod floats {
    use std::fmt;

    use serde::de::{Deserialize, Deserializer, Error, Visitor};
    use serde::ser::{Serialize, Serializer};

    pub(super) struct Float(f32);

    /// What is written float by float.
    pub(super) trait Floats: Sized {
        type Named;
        fn named(&self) -> Self::Named;
        fn plain(named: Self::Named) -> Self;
    }

    impl Floats for f32 {
        type Named = Float;
        fn named(&self) -> Float {
            Float(*self)
        }
        fn plain(named: Float) -> f32 {
            named.0
        }
    }

    impl Floats for Option<f32> {
        type Named = Option<Float>;
        fn named(&self) -> Option<Float> {
            self.map(Float)
        }
        fn plain(named: Option<Float>) -> Option<f32> {
            named.map(|float| float.0)
        }
    }

    impl Floats for Option<Vec<f32>> {
        type Named = Option<Vec<Float>>;
        fn named(&self) -> Option<Vec<Float>> {
            self.as_ref().map(|list| list.iter().copied().map(Float).collect())
        }
        fn plain(named: Option<Vec<Float>>) -> Option<Vec<f32>> {
            named.map(|list| list.into_iter().map(|float| float.0).collect())
        }
    }

    pub(super) fn serialize<T: Floats<Named: Serialize>, S: Serializer>(value: &T, to: S) -> Result<S::Ok, S::Error> {
        value.named().serialize(to)
    }

    pub(super) fn deserialize<'de, T: Floats<Named: Deserialize<'de>>, D: Deserializer<'de>>(
        from: D,
    ) -> Result<T, D::Error> {
        T::Named::deserialize(from).map(T::plain)
    }

    impl Serialize for Float {
        fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            let number = f64::from(self.0);
            if number.is_finite() {
                to.serialize_f64(number)
            } else {
                to.serialize_str(&crate::json::python_float(number))
            }
        }
    }

    impl<'de> Deserialize<'de> for Float {
        fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Float, D::Error> {
            from.deserialize_any(Reader)
        }
    }

    struct Reader;

    impl Visitor<'_> for Reader {
        type Value = Float;

        fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
            f.write_str("a number, NaN, Infinity or -Infinity")
        }

        fn visit_f64<E: Error>(self, number: f64) -> Result<Float, E> {
            Ok(Float(number as f32))
        }

        fn visit_i64<E: Error>(self, number: i64) -> Result<Float, E> {
            Ok(Float(number as f32))
        }

        fn visit_u64<E: Error>(self, number: u64) -> Result<Float, E> {
            Ok(Float(number as f32))
        }

        fn visit_unit<E: Error>(self) -> Result<Float, E> {
            Ok(Float(f32::NAN))
        }

        fn visit_str<E: Error>(self, name: &str) -> Result<Float, E> {
            let number = name.parse().map_err(|_| E::custom(format!("{name:?} is no number")))?;
            Ok(Float(number))
        }
    }
}

impl Record {
    pub fn is_invalid(&self) -> bool {
        self.pick == INVALID
    }

    /// The option that its log-likelihoods pick by a rule; `None` where the row holds none, or not the lengths that the
    /// rule needs.
    pub fn scored_pick(&self, rule: ArgMax) -> Option<usize> {
        let scores = self.logprobs.as_deref()?;
        let answers: Vec<&str> = match &self.continuations {
            Some(continuations) => continuations
                .iter()
                .enumerate()
                .map(|(index, text)| answer_of(text, self.options.get(index).map(String::as_str)))
                .collect(),
            None => Vec::new(),
        };
        let tokens = self.continuation_tokens.as_deref().unwrap_or_default();
        let tokens: Vec<usize> = tokens
            .iter()
            .map(|tokens| usize::try_from(*tokens).unwrap_or(0))
            .collect();
        rule.pick(scores, &answers, &tokens)
    }
}

/// The letter of an option: 0 is `A`. Options past `Z` have none.
pub fn letter(index: usize) -> Option<char> {
    u8::try_from(index)
        .ok()
        .filter(|i| *i < 26)
        .map(|i| char::from(b'A' + i))
}

/// The option index of a single capital letter.
pub fn letter_index(text: &str) -> Option<usize> {
    match text.as_bytes() {
        [byte @ b'A'..=b'Z'] => Some(usize::from(byte - b'A')),
        _ => None,
    }
}

/// Stands between the letters of several golds.
pub const OR: &str = " or ";

/// The options that a gold names, one or several (`A or C`); `None` where it is no letter.
pub fn gold_letters(gold: &str) -> Option<Vec<usize>> {
    gold.split(OR).map(letter_index).collect()
}

/// Whether a pick is right by a gold. Of several golds any will do, and all of them together; texts are compared as the
/// harness compares them.
pub fn is_right(pick: &str, gold: &str) -> bool {
    if pick == INVALID || gold.is_empty() {
        return false;
    }
    match gold_letters(gold) {
        Some(golds) if golds.len() > 1 => {
            gold.split(OR).any(|gold| exact_match(pick, gold)) || pick.split(", ").eq(gold.split(OR))
        }
        _ => exact_match(pick, gold),
    }
}

/// The question and its options, cut out of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PromptParts {
    pub question: String,
    pub options: Vec<String>,
}

/// Cuts the asked question out of a prompt of the known forms (MMLU and MMLU-Pro, with or without shots or chat turns),
/// for traces that store only the prompt. Where no lettered options are found, the prompt's end is the question.
pub fn split_prompt(prompt: &str) -> PromptParts {
    let end = prompt.rfind("\nAnswer:").unwrap_or(prompt.len());
    let body = &prompt[..end];
    let marked = body.rfind("Question:").map(|at| at + "Question:".len());
    // Without the word, the asked question begins after the last example's answer, else after the first blank line.
    let start = marked.unwrap_or_else(|| {
        let example = body
            .rfind("\nAnswer: ")
            .and_then(|at| body[at..].find("\n\n").map(|gap| at + gap + 2));
        example.or_else(|| body.find("\n\n").map(|at| at + 2)).unwrap_or(0)
    });
    let block = &body[start..];
    let Some(first) = block
        .rmatch_indices("\nA. ")
        .map(|(at, _)| at)
        .find(|at| block[*at..].contains("\nB. "))
    else {
        return PromptParts {
            question: block.trim().to_owned(),
            options: Vec::new(),
        };
    };
    let question = block[..first].trim_end();
    let question = question.strip_suffix("Options:").unwrap_or(question).trim();
    let mut options = Vec::new();
    let mut rest = &block[first..];
    while let Some(mark) = letter(options.len() + 1).map(|next| format!("\n{next}. ")) {
        let here = &rest[4..];
        match here.find(&mark) {
            Some(at) => {
                options.push(here[..at].to_owned());
                rest = &here[at..];
            }
            None => {
                options.push(here.trim_end_matches('\n').to_owned());
                break;
            }
        }
    }
    PromptParts {
        question: question.to_owned(),
        options,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_json_lacks_are_written_by_name_and_read_back() {
        let record = Record {
            logprobs: Some(vec![-1.3, f32::NAN, f32::INFINITY, f32::NEG_INFINITY]),
            letter_mass: Some(f32::NAN),
            seconds: 0.1,
            ..Record::default()
        };
        let line = serde_json::to_string(&record).unwrap();
        assert!(line.contains(r#""NaN","Infinity","-Infinity"]"#), "{line}");
        let back: Record = serde_json::from_str(&line).unwrap();
        assert_eq!(format!("{back:?}"), format!("{record:?}"));
        let older = line.replace(r#""NaN","Infinity","-Infinity"]"#, "null,null,null]");
        let back: Record = serde_json::from_str(&older).unwrap();
        let scores = back.logprobs.unwrap();
        assert!(
            scores[0] == -1.3 && scores[1..].iter().all(|score| score.is_nan()),
            "{scores:?}"
        );
        assert!(serde_json::from_str::<Record>(&line.replace("\"-Infinity\"", "\"much\"")).is_err());
    }

    #[test]
    fn readme_has_the_table_of_the_columns() {
        let table: String = Record::COLUMNS
            .iter()
            .fold(String::new(), |table, (name, kind, about)| {
                let kind = kind.replace(' ', "");
                let (kind, or_null) = match kind.strip_prefix("Option<") {
                    Some(kind) => (kind.trim_end_matches('>'), ", or null"),
                    None => (kind.trim_end_matches('>'), ""),
                };
                let (list, kind) = kind.strip_prefix("Vec<").map_or(("", kind), |kind| ("list of ", kind));
                let kind = match kind {
                    "i64" => "int64",
                    "f32" => "float32",
                    "bool" => "bool",
                    _ => "text",
                };
                table + &format!("| `{name}` | {list}{kind}{or_null} | {} |\n", about.trim())
            });
        assert!(include_str!("../README.md").contains(&table), "README lacks:\n{table}");
    }

    #[test]
    fn the_question_is_cut_out_of_every_known_prompt_form() {
        for (prompt, question, options) in [
            (
                "Think.\nQuestion:\nWhich\none?\nOptions:\nA. x\nB. y\nC. z\nAnswer: Let's think step by step.",
                "Which\none?",
                vec!["x", "y", "z"],
            ),
            (
                "About law.\n\nOld?\nA. a\nB. b\nAnswer: A\n\nNew one?\nA. c\nB. d\nAnswer:",
                "New one?",
                vec!["c", "d"],
            ),
            (
                "<s>user\nQuestion:\nQ\nOptions:\nA. 1\nB. 2\nAnswer: Let's go<end>\n<model>\n",
                "Q",
                vec!["1", "2"],
            ),
            ("no form at all", "no form at all", vec![]),
            ("", "", vec![]),
        ] {
            let parts = split_prompt(prompt);
            assert_eq!(
                (parts.question.as_str(), parts.options),
                (question, options.iter().map(ToString::to_string).collect())
            );
        }
    }
}
