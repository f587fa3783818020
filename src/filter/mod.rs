//! The filter line: words that choose rows.
//!
//! Words joined by blanks mean AND, commas inside a word OR, a leading `-` negates, `|` between groups means OR.
//! The same text works on the screen, as `-f` and in `export`.

mod agreement;
mod complete;
mod derived;
mod pairs;
mod parse;
mod saved;
mod select;
mod values;

pub use agreement::Agreement;
pub use complete::{Completion, complete};
pub use derived::Derived;
pub use pairs::{Fact, Pairs};
pub use parse::{Mode, State, Word, words};
pub use saved::NamedFilters;
pub use select::Context;

use std::collections::HashSet;

use regex::Regex;

use crate::diagnose::{Cause, Mark};
use crate::trace::Field;

/// Every word with what it chooses, for help, completion and error messages.
pub const WORDS: &[(&str, &str)] = &[
    (
        "wrong",
        "not correct, [invalid] included (wrong -invalid: a letter, but the wrong one)",
    ),
    ("ok", "correct"),
    ("invalid", "no letter could be read"),
    (
        "cat:",
        "category begins with; a name written whole means only that one: cat:law  cat:ma,ph  cat:\"computer science\"",
    ),
    ("sub:", "subject begins with"),
    ("exam:", "exam begins with: exam:mmlu is not mmlu_pro"),
    ("why:", "cause of the [invalid] row: why:loop,cut"),
    ("flag:", "row flag: flag:truncated"),
    (
        "finish:",
        "how the completion ended: eos stop length error stopped (by the user)",
    ),
    ("pick:", "the letter read: pick:C"),
    ("key:", "the gold letter: key:C"),
    ("at:", "attempt: at:1  at:0-2"),
    ("seed:", "seed: seed:43"),
    ("q:", "question id: q:886  q:800-900  q:@ids.txt"),
    (
        "text:",
        "output contains: text:\"internal point\" (folds case unless a capital is typed)",
    ),
    ("prompt:", "prompt contains"),
    ("question:", "question contains"),
    ("re:", "output matches the regex: re:/answer is .?[A-J]/"),
    (
        "chars",
        "length of the output in characters: chars>4000  chars<=20  chars:100-200",
    ),
    ("loop", "the output's end repeats"),
    ("cut", "the output breaks off"),
    ("multi", "two or more different letters match"),
    ("word", "the matched letter begins a word (\"answer is Among\")"),
    ("unoffered", "the letter is beyond the options"),
    ("thought", "the match lies in the thinking, not in the answer"),
    (
        "agree",
        "attempts that agree with the most frequent pick: agree:5  agree<=2",
    ),
    ("same-wrong", "every attempt picks the same wrong letter"),
    ("split", "no pick has more than half of the attempts"),
    (
        "changed",
        "two runs only: the other run asks another question under this number",
    ),
    ("gold-changed", "two runs only: a changed question with another gold"),
    ("a-only", "two runs only: the first is right, the second wrong"),
    ("b-only", "two runs only: the second is right, the first wrong"),
    ("other-pick", "two runs only: the same question, another pick"),
    (
        "style-split",
        "a study's cell only: questions whose outcome depends on the cell",
    ),
    ("marked", "rows that you marked (m)"),
    ("note:", "rows whose note contains (#): note:key"),
    (
        "label:",
        "what lists say of the question (labels add): label:bad  label:any  label:wrong_groundtruth",
    ),
];

/// The words that take two runs.
pub const TWO_RUNS: [&str; 5] = ["changed", "gold-changed", "a-only", "b-only", "other-pick"];

/// A name as a filter word's value.
pub fn quoted(name: &str) -> String {
    if name.contains([' ', ',', '|']) {
        format!("\"{name}\"")
    } else {
        name.to_owned()
    }
}

/// One condition on a row.
#[derive(Debug, Clone)]
pub(crate) enum Test {
    Wrong,
    Ok,
    Invalid,
    /// Names of a column, as prefixes or whole (second field: whole).
    Column(Column, Vec<(String, bool)>),
    Why(Vec<Cause>),
    Mark(Mark),
    Number(Numeric, Vec<(i64, i64)>),
    /// These, and those in the ranges.
    Ids(HashSet<i64>, Vec<(i64, i64)>),
    Text(Field, Vec<Regex>),
    Agree(i64, i64),
    SameWrong,
    Split,
    StyleSplit,
    Marked,
    Note(Vec<Regex>),
    Pair(Fact),
    Label(Vec<String>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    Category,
    Subject,
    Exam,
    Pick,
    Key,
    Flag,
    Finish,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Numeric {
    Attempt,
    Seed,
    Question,
    Chars,
}

#[derive(Debug, Clone)]
pub(crate) struct Term {
    pub negated: bool,
    pub test: Test,
}

/// A parsed filter line. An empty one chooses every row.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Groups joined by OR; the terms of a group joined by AND.
    pub(crate) groups: Vec<Vec<Term>>,
    words: Vec<Word>,
    text: String,
}

impl Filter {
    /// The line as typed.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The words of the line with what became of each, in order.
    pub fn words(&self) -> &[Word] {
        &self.words
    }

    /// The line as `-f` takes it: words that do not filter are left out, words looked for as text say so.
    pub fn as_flag(&self) -> String {
        let mut words: Vec<String> = Vec::new();
        let mut end = 0;
        for word in &self.words {
            let text = &self.text[word.span.clone()];
            let joined = match word.state {
                State::Pending => continue,
                State::Active => text.to_owned(),
                State::AsText => match text.strip_prefix('-') {
                    Some(text) => format!("-text:{text}"),
                    None => format!("text:{text}"),
                },
            };
            if !words.is_empty() && self.text[end..word.span.start].contains('|') {
                words.push("|".to_owned());
            }
            end = word.span.end;
            words.push(joined);
        }
        words.join(" ")
    }

    /// Whether every row passes.
    pub fn is_empty(&self) -> bool {
        self.groups.iter().all(Vec::is_empty)
    }

    fn terms(&self) -> impl Iterator<Item = &Term> {
        self.groups.iter().flatten()
    }

    /// The filter without the words that choose categories, subjects and exams.
    #[must_use]
    pub fn without_categories(&self) -> Filter {
        self.with_terms(false)
    }

    /// Only those words.
    #[must_use]
    pub fn categories_only(&self) -> Filter {
        self.with_terms(true)
    }

    fn with_terms(&self, of_categories: bool) -> Filter {
        let of_category = |term: &Term| {
            matches!(
                term.test,
                Test::Column(Column::Category | Column::Subject | Column::Exam, _)
            )
        };
        let is_wanted = |term: &&Term| of_category(term) == of_categories;
        let rest = |group: &Vec<Term>| group.iter().filter(is_wanted).cloned().collect();
        Filter {
            groups: self.groups.iter().map(rest).collect(),
            ..Filter::default()
        }
    }

    /// Whether a word chooses categories, subjects or exams.
    pub fn chooses_categories(&self) -> bool {
        self.without_categories().terms().count() < self.terms().count()
    }

    /// The long text columns that must be read to decide.
    pub fn fields(&self) -> Vec<Field> {
        let mut fields: Vec<Field> = Vec::new();
        for term in self.terms() {
            if let Test::Text(field, _) = &term.test
                && !fields.contains(field)
            {
                fields.push(*field);
            }
        }
        fields
    }

    /// Whether causes and marks of rows ([`Derived`]) are needed to decide.
    pub fn needs_derived(&self) -> bool {
        self.terms()
            .any(|term| matches!(term.test, Test::Why(_) | Test::Mark(_)))
    }

    /// Whether marks or notes are needed to decide.
    pub fn needs_notes(&self) -> bool {
        self.terms()
            .any(|term| matches!(term.test, Test::Marked | Test::Note(_)))
    }

    /// Whether labels of questions are needed to decide.
    pub fn needs_labels(&self) -> bool {
        self.terms().any(|term| matches!(term.test, Test::Label(_)))
    }

    /// Whether a second run is needed to decide.
    pub fn needs_pairs(&self) -> bool {
        self.terms().any(|term| matches!(term.test, Test::Pair(_)))
    }

    /// Whether the agreement of attempts is needed to decide.
    pub fn needs_agreement(&self) -> bool {
        self.terms()
            .any(|term| matches!(term.test, Test::Agree(..) | Test::SameWrong | Test::Split))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{INVALID, Record};
    use crate::trace::Trace;

    fn trace() -> Trace {
        let row = |id: i64, attempt: i64, category: &str, pick: &str, answer: &str, text: &str| Record {
            question_id: id,
            attempt,
            seed: Some(42 + attempt),
            benchmark: "mmlu_pro".into(),
            category: category.into(),
            subject: category.into(),
            pick: pick.into(),
            answer: answer.into(),
            correct: pick == answer,
            reasoning: text.into(),
            reasoning_chars: text.chars().count() as i64,
            ..Record::default()
        };
        Trace::from_records(
            "t",
            "test",
            vec![
                row(1, 0, "law", "A", "A", "the Answer is (A)"),
                row(1, 1, "law", INVALID, "A", "who knows"),
                row(2, 0, "math", "B", "C", "so answer is (B)"),
                row(2, 1, "math", "B", "C", "so b"),
                row(3, 0, "computer science", "C", "C", ""),
                row(3, 1, "computer science", "D", "C", "internal point of view"),
            ],
        )
    }

    fn rows(line: &str) -> Vec<u32> {
        let trace = trace();
        let filter = Filter::parse(line, Mode::Strict, &trace.rows).unwrap();
        let agreement = Agreement::of(&trace.rows);
        let context = Context {
            agreement: Some(&agreement),
            ..Context::new(&trace.rows)
        };
        filter.select_all(&context, &*trace.texts).unwrap()
    }

    #[test]
    fn words_choose_the_rows_their_definition_says() {
        for (line, expected) in [
            ("", vec![0, 1, 2, 3, 4, 5]),
            ("wrong", vec![1, 2, 3, 5]),
            ("wrong -invalid", vec![2, 3, 5]),
            ("inv", vec![1]),
            ("invalid cat:law", vec![1]),
            ("cat:la,ma", vec![0, 1, 2, 3]),
            ("cat:\"computer science\" ok", vec![4]),
            ("exam:mm", vec![0, 1, 2, 3, 4, 5]),
            ("exam:mmlu_pro ok", vec![0, 4]),
            ("pick:B", vec![2, 3]),
            ("key:c at:1", vec![3, 5]),
            ("seed:43 q:2-3", vec![3, 5]),
            ("text:answer", vec![0, 2]),
            ("text:Answer", vec![0]),
            ("text:\"internal point\"", vec![5]),
            ("re:/answer is .?[a-j]/", vec![0, 2]),
            ("-text:answer cat:math | cat:law ok", vec![0, 3]),
            ("chars>9 wrong", vec![2, 5]),
            ("chars:0 | pick:D", vec![4, 5]),
            ("agree:2", vec![2, 3]),
            ("same-wrong", vec![2, 3]),
            ("split", vec![0, 1, 4, 5]),
        ] {
            assert_eq!(rows(line), expected, "{line}");
        }
    }

    #[test]
    fn a_name_written_whole_means_only_that_one() {
        let mut records: Vec<Record> = Vec::new();
        for benchmark in ["mmlu", "mmlu_pro"] {
            records.push(Record {
                benchmark: benchmark.into(),
                ..Record::default()
            });
        }
        let trace = Trace::from_records("t", "test", records);
        let count = |line: &str| {
            Filter::parse(line, Mode::Strict, &trace.rows)
                .unwrap()
                .select(&Context::new(&trace.rows))
                .len()
        };
        assert_eq!((count("exam:mmlu"), count("exam:mml"), count("exam:mmlu_")), (1, 2, 1));
    }

    #[test]
    fn unknown_words_are_refused_with_the_list_and_looked_for_as_text_on_screen() {
        let trace = trace();
        for (line, part) in [
            ("hart", "known words: wrong ok"),
            ("colour:red", "no filter word `colour:`"),
            ("cat:zoology", "known: law, math, computer science"),
            ("chars>many", "no whole number"),
            ("re:/(/", "not a regular expression: unclosed group, at character 1"),
            ("why:nonsense", "known: "),
            ("cat:", "unfinished"),
        ] {
            let error = format!("{:#}", Filter::parse(line, Mode::Strict, &trace.rows).unwrap_err());
            assert!(error.contains(part), "{line}: {error}");
        }
        let filter = Filter::parse("hart c cat: inv", Mode::Typing, &trace.rows).unwrap();
        assert_eq!(filter.as_flag(), "text:hart inv");
        let odd = Filter::parse("wrong foo:bar chars>abc", Mode::Typing, &trace.rows).unwrap();
        let why: Vec<&str> = odd.words().iter().filter_map(|word| word.why.as_deref()).collect();
        assert_eq!(why, ["no filter word `foo:`", "`chars>abc`: `abc` is no whole number"]);
        let states: Vec<State> = filter.words().iter().map(|word| word.state).collect();
        assert_eq!(states, [State::AsText, State::Pending, State::Pending, State::Active]);
    }

    #[test]
    fn completion_counts_under_the_filter_so_far() {
        let trace = trace();
        let found = complete("wrong cat:", 10, &Context::new(&trace.rows), &|| false).unwrap();
        assert!(complete("wrong cat:", 10, &Context::new(&trace.rows), &|| true).is_none());
        let counts: Vec<(&str, Option<usize>)> = found.iter().map(|c| (c.word.as_str(), c.count)).collect();
        assert_eq!(
            counts,
            [
                ("cat:math", Some(2)),
                ("cat:law", Some(1)),
                ("cat:\"computer science\"", Some(1))
            ]
        );
    }
}
