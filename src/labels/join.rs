//! Labels joined to the rows of a trace.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use anyhow::Result;

use super::{Label, List, WRONG_KEY};
use crate::record::Record;
use crate::stats::{Questions, Slice};
use crate::trace::{Rows, Texts, hash_prefix};

/// Records that are read at a time.
const TOGETHER: usize = 1024;

/// What is known of each question of a trace.
#[derive(Debug, Clone, Default)]
pub struct Joined {
    questions: Questions,
    labels: Vec<Label>,
    /// By question: places among the labels.
    of_question: HashMap<u32, Vec<u32>>,
    /// Labels whose key is not the trace's.
    pub other_keys: Vec<u32>,
}

/// How labels are found from a question.
#[derive(Default)]
struct Index {
    by_hash: HashMap<u64, Vec<u32>>,
    by_id: HashMap<(String, i64), Vec<u32>>,
    /// By subject, question and choices, each as it is.
    by_text: HashMap<u64, Vec<u32>>,
    /// The same with white space folded.
    by_folded: HashMap<u64, Vec<u32>>,
    /// Subjects of the labels that are found by text.
    subjects: HashSet<String>,
}

impl Index {
    fn of(labels: &[Label]) -> Index {
        let mut index = Index::default();
        for (at, label) in (0..).zip(labels) {
            if label.doc_hash.len() >= 16 {
                index.by_hash.entry(hash_prefix(&label.doc_hash)).or_default().push(at);
            } else if let Some(id) = label.question_id.filter(|_| !label.set.is_empty()) {
                index.by_id.entry((label.set.clone(), id)).or_default().push(at);
            } else {
                let subject = plain(&label.subject);
                let key = |fold: bool| key(&subject, &label.question, &label.choices, fold);
                index.by_text.entry(key(false)).or_default().push(at);
                index.by_folded.entry(key(true)).or_default().push(at);
                index.subjects.insert(subject);
            }
        }
        index
    }

    /// Whether texts must be read to tell the labels of a row.
    fn needs_texts(&self, rows: &Rows, row: usize) -> bool {
        self.subjects.contains("") || self.subjects.contains(&plain(rows.subject.get(row)))
    }

    fn by_number(&self, rows: &Rows, row: usize) -> impl Iterator<Item = u32> + '_ {
        let hash = Some(rows.doc[row]).filter(|doc| *doc != 0);
        let by_hash = hash.and_then(|hash| self.by_hash.get(&hash));
        let by_id = self
            .by_id
            .get(&(rows.benchmark.get(row).to_owned(), rows.question_id[row]));
        by_hash.into_iter().chain(by_id).flatten().copied()
    }

    fn by_texts(&self, record: &Record, subject: &str) -> &[u32] {
        let subjects = [plain(subject), String::new()];
        let found = |fold: bool| {
            let map = if fold { &self.by_folded } else { &self.by_text };
            subjects
                .iter()
                .find_map(|subject| map.get(&key(subject, &record.question, &record.options, fold)))
        };
        found(false).or_else(|| found(true)).map_or(&[], Vec::as_slice)
    }
}

/// `high school physics` for `high_school_physics`.
fn plain(subject: &str) -> String {
    subject.replace('_', " ").trim().to_lowercase()
}

fn key(subject: &str, question: &str, choices: &[String], fold: bool) -> u64 {
    let mut hasher = DefaultHasher::new();
    subject.hash(&mut hasher);
    for text in std::iter::once(question).chain(choices.iter().map(String::as_str)) {
        if fold {
            text.split_whitespace().collect::<Vec<_>>().join(" ").hash(&mut hasher);
        } else {
            text.hash(&mut hasher);
        }
    }
    hasher.finish()
}

impl Joined {
    /// Joins lists to a trace's rows: by hash, by set and id, else by subject, question and choices together, exactly or
    /// with white space folded. All repeats of a question get its label.
    ///
    /// # Errors
    /// When a text cannot be read.
    pub fn of(lists: &[List], rows: &Rows, texts: &dyn Texts) -> Result<Joined> {
        let labels: Vec<Label> = lists.iter().flat_map(|list| list.labels.iter().cloned()).collect();
        let index = Index::of(&labels);
        let questions = Questions::of(Slice::all(rows));
        let firsts: Vec<(u32, usize)> = (0..questions.len() as u32)
            .filter_map(|question| Some((question, questions.rows(question).next()? as usize)))
            .collect();
        let mut of_question: HashMap<u32, Vec<u32>> = HashMap::new();
        for (question, row) in &firsts {
            of_question
                .entry(*question)
                .or_default()
                .extend(index.by_number(rows, *row));
        }
        let by_text: Vec<&(u32, usize)> = firsts.iter().filter(|(_, row)| index.needs_texts(rows, *row)).collect();
        for part in by_text.chunks(TOGETHER) {
            let wanted: Vec<usize> = part.iter().map(|(_, row)| *row).collect();
            for ((question, row), record) in part.iter().zip(texts.records(&wanted)?) {
                let found = index.by_texts(&record, rows.subject.get(*row));
                of_question.entry(*question).or_default().extend(found);
            }
        }
        of_question.retain(|_, labels| !labels.is_empty());
        let mut joined = Joined {
            questions,
            labels,
            of_question,
            other_keys: Vec::new(),
        };
        joined.other_keys = joined.with_other_keys(rows);
        Ok(joined)
    }

    /// All lists that are kept, joined.
    pub fn load(rows: &Rows, texts: &dyn Texts) -> Result<Joined> {
        Joined::of(&super::all()?, rows, texts)
    }

    fn with_other_keys(&self, rows: &Rows) -> Vec<u32> {
        let mut found = Vec::new();
        for (question, labels) in &self.of_question {
            let gold = self
                .questions
                .rows(*question)
                .next()
                .map(|row| rows.answer.get(row as usize))
                .unwrap_or_default();
            found.extend(labels.iter().filter(|label| {
                let answer = &self.labels[**label as usize].answer;
                !answer.is_empty() && !gold.is_empty() && answer != gold
            }));
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// How many labels have a question here, of all.
    pub fn counts(&self) -> (usize, usize) {
        let used: HashSet<u32> = self.of_question.values().flatten().copied().collect();
        (used.len(), self.labels.len())
    }

    /// The labels that have no question here.
    pub fn left_over(&self) -> impl Iterator<Item = &Label> {
        let used: HashSet<u32> = self.of_question.values().flatten().copied().collect();
        (0..)
            .zip(&self.labels)
            .filter(move |(at, _)| !used.contains(at))
            .map(|(_, label)| label)
    }

    /// What is known of a row's question.
    pub fn labels(&self, row: usize) -> impl Iterator<Item = &Label> {
        let found = self
            .questions
            .number(row)
            .and_then(|question| self.of_question.get(&question));
        found.into_iter().flatten().map(|label| &self.labels[*label as usize])
    }

    /// Whether one of these words means a label of the row.
    pub fn holds(&self, row: usize, words: &[String]) -> bool {
        self.labels(row)
            .any(|label| words.iter().any(|word| label.is_meant_by(word)))
    }

    /// The letters that are right on a row whose key is said to be wrong.
    pub fn rekeyed(&self, row: usize) -> Option<&str> {
        let label = self
            .labels(row)
            .find(|label| label.label == WRONG_KEY && !label.right.is_empty())?;
        Some(&label.right)
    }
}
