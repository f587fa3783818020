//! What is asked: the exams, their questions, and the prompts, byte for byte as the reference harness writes them.

mod chat;
mod columns;
pub mod custom;
mod files;
pub mod hash;
mod listing;
mod load;
pub mod mmlu;
pub mod mmlu_pro;
mod own;
mod prompt;
mod questions;
mod slice;
pub mod style;
mod table;
pub mod tested24;
mod typed;
pub mod wash;

use std::collections::BTreeMap;

use anyhow::{Context, Result};

pub use chat::Chat;
pub use listing::{Listing, write_prompts};
pub use load::{DataSource, load, load_counted};
pub use prompt::{ChatShots, Message, PromptPlan, Prompter, Rendered, Role, SystemTurn, render};
pub use slice::{Slice, select};
pub use style::{Examples, Method, Scored, Style};
pub(crate) use table::read_rows;
pub use wash::{Rule, Washed};

/// Every exam that can be sat.
pub static ALL: &[&Benchmark] = &[&mmlu::MMLU, &mmlu_pro::MMLU_PRO, &custom::CUSTOM];

/// An exam: where its questions are found and how they are put.
#[derive(Debug)]
pub struct Benchmark {
    pub name: &'static str,
    pub title: &'static str,
    pub form: Form,
    /// Data set on the hub; empty where there is none.
    pub hub_id: &'static str,
    /// Folder inside the hub's data set.
    pub hub_config: &'static str,
    /// Splits that can be asked; the names after the first are other spellings.
    pub splits: &'static [&'static [&'static str]],
    /// Where few-shot examples are found, best first.
    pub example_splits: &'static [&'static str],
    /// Columns that a file must have.
    pub columns: &'static [&'static str],
    /// The default first.
    pub styles: &'static [Style],
    pub embedded: Option<Embedded>,
}

/// How a row of a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Mmlu,
    MmluPro,
    /// Columns are recognised by their names.
    Custom,
}

/// The exam inside the program, as JSON lines.
#[derive(Debug)]
pub struct Embedded {
    pub test: &'static str,
    pub examples: &'static str,
}

/// The exam of this name.
pub fn find(name: &str) -> Result<&'static Benchmark> {
    ALL.iter()
        .find(|benchmark| benchmark.name == name)
        .copied()
        .with_context(|| {
            let known: Vec<_> = ALL.iter().map(|benchmark| benchmark.name).collect();
            format!("unknown benchmark {name:?} (known: {})", known.join(", "))
        })
}

impl Benchmark {
    pub fn default_style(&self) -> &'static Style {
        &self.styles[0]
    }

    pub fn style(&self, name: &str) -> Result<&'static Style> {
        self.styles.iter().find(|style| style.name == name).with_context(|| {
            let (tested, own): (Vec<&str>, Vec<&str>) = self
                .styles
                .iter()
                .map(|style| style.name)
                .partition(|name| name.starts_with(tested24::PREFIX));
            let tested = tested
                .chunks(tested24::COUNT)
                .filter_map(|family| Some([*family.first()?, *family.last()?]));
            let tested = tested.map(|[first, last]| format!(", {first} to {last}"));
            format!(
                "unknown style {name:?} for {} (known: {}{})",
                self.name,
                own.join(", "),
                tested.collect::<String>()
            )
        })
    }

    /// All spellings of a split's name.
    pub fn split_names(&self, split: &str) -> Result<&'static [&'static str]> {
        self.splits
            .iter()
            .find(|names| names.contains(&split))
            .copied()
            .with_context(|| {
                let known: Vec<_> = self.splits.iter().map(|names| names[0]).collect();
                format!(
                    "unknown split {split:?} for {} (known: {})",
                    self.name,
                    known.join(", ")
                )
            })
    }
}

/// One question, with where it stands in its file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Question {
    /// MMLU: 0-based row of the whole split file. MMLU-Pro: its `question_id`. Own set: its id, else the row.
    pub id: i64,
    /// Place within the subject's split.
    pub doc_id: usize,
    /// Place within the whole split.
    pub row: usize,
    pub subject: String,
    pub category: String,
    pub question: String,
    pub options: Vec<String>,
    /// Index of the right option; may lie outside the options where the file says so.
    pub gold: Option<usize>,
    /// Gold letter; what the file says where that names no option.
    pub answer: String,
    /// The answer column as Python's `str` shows it.
    pub stored_answer: String,
    /// Worked answer; empty where there is none.
    pub cot: String,
    /// The source row as compact JSON, key order of the columns kept, as Python writes it (`NaN` may stand in it).
    pub doc: String,
    pub doc_hash: String,
    pub flags: Vec<&'static str>,
    /// Examples that the row brings along (own sets only).
    pub examples: Vec<Question>,
}

impl Question {
    /// The question's number in the harness's task: of a subject, or of the whole split.
    pub fn number(&self, style: &Style) -> usize {
        match style.examples {
            Examples::OfSubject => self.doc_id,
            Examples::OfSplit => self.row,
        }
    }
}

/// The questions of an exam, with what answers its examples and what was odd about its rows.
#[derive(Debug, Clone)]
pub struct Dataset {
    pub benchmark: &'static Benchmark,
    /// How its rows were read: an own set may be asked in the styles of any benchmark.
    pub form: Form,
    /// What records are filed under: the benchmark's name, or the file's of an own set.
    pub name: String,
    /// `embedded`, a path, or a hub id.
    pub source: String,
    pub revision: Option<String>,
    pub split: String,
    pub questions: Vec<Question>,
    /// Questions of each asked subject before `--limit` and `--per-subject` cut any.
    pub available: BTreeMap<String, usize>,
    /// By subject, in file order; those under "" serve every subject.
    pub examples: BTreeMap<String, Vec<Question>>,
    /// Why examples that are there cannot be shown.
    pub examples_problem: Option<String>,
    pub washed: Vec<Washed>,
    /// How the file was read where that had to be found out.
    pub notes: Vec<String>,
    /// sha256 over content and order of the questions.
    pub fingerprint: String,
    /// The same over the examples.
    pub examples_fingerprint: String,
}

impl Dataset {
    /// The examples that can go before a question, the first first.
    pub fn examples_for<'a>(&'a self, question: &'a Question, from: Examples) -> Vec<&'a Question> {
        if !question.examples.is_empty() {
            return question.examples.iter().collect();
        }
        if from == Examples::OfSplit {
            let mut all: Vec<&Question> = self.examples.values().flatten().collect();
            all.sort_by_key(|example| example.id);
            return all;
        }
        let own = self.examples.get(&question.subject).or_else(|| self.examples.get(""));
        own.into_iter().flatten().collect()
    }

    /// The subjects of the questions, sorted.
    pub fn subjects(&self) -> Vec<&str> {
        let mut subjects: Vec<_> = self
            .questions
            .iter()
            .map(|question| question.subject.as_str())
            .collect();
        subjects.sort_unstable();
        subjects.dedup();
        subjects
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_names_are_refused_with_the_known_ones() {
        assert_eq!(
            find("mmul").unwrap_err().to_string(),
            "unknown benchmark \"mmul\" (known: mmlu, mmlu_pro, custom)"
        );
        let error = mmlu_pro::MMLU_PRO.style("tigger").unwrap_err().to_string();
        assert!(error.contains("lm_eval, lm_eval_2.1, tiger, direct"), "{error}");
        assert!(
            mmlu::MMLU
                .split_names("train")
                .unwrap_err()
                .to_string()
                .contains("test, validation, dev")
        );
    }
}
