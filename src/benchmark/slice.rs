//! Which of the questions are asked: subjects, then so many of each, then so many in all.

use std::collections::{BTreeMap, HashMap, HashSet};

use anyhow::{Result, bail};
use sha2::{Digest, Sha256};

use super::hash::hash_text;
use super::{Dataset, Question};

/// A choice among the questions of an exam.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Slice {
    /// Subjects or categories; empty is all.
    pub subjects: Vec<String>,
    /// Questions of each subject: the first ones, or a choice by `sample_seed`.
    pub per_subject: Option<usize>,
    /// Chooses `per_subject` questions of each subject, the same on every machine.
    pub sample_seed: Option<u64>,
    /// The first so many, in file order, after the rest of the slice.
    pub limit: Option<usize>,
}

/// Keeps the questions of the slice, in file order, and renews the fingerprint.
pub fn select(dataset: &mut Dataset, slice: &Slice) -> Result<()> {
    if !slice.subjects.is_empty() {
        let wanted = wanted_subjects(dataset, &slice.subjects)?;
        dataset.questions.retain(|question| wanted.contains(&question.subject));
    }
    dataset.available = BTreeMap::new();
    for question in &dataset.questions {
        *dataset.available.entry(question.subject.clone()).or_default() += 1;
    }
    if let Some(count) = slice.per_subject {
        keep_per_subject(&mut dataset.questions, count, slice.sample_seed);
    }
    if let Some(limit) = slice.limit {
        dataset.questions.truncate(limit);
    }
    dataset.fingerprint = fingerprint(&dataset.questions);
    Ok(())
}

/// sha256 over number and content of each question, in order.
pub(super) fn fingerprint<'a>(questions: impl IntoIterator<Item = &'a Question>) -> String {
    let lines: Vec<_> = questions
        .into_iter()
        .map(|question| format!("{}\t{}\n", question.id, question.doc_hash))
        .collect();
    hash_text(&lines.concat())
}

/// Names are compared without regard to case, underscores, and a leading `mmlu_` or `mmlu_pro_`.
fn wanted_subjects(dataset: &Dataset, names: &[String]) -> Result<HashSet<String>> {
    let prefix = format!("{} ", plain(dataset.benchmark.name));
    let mut wanted = HashSet::new();
    for name in names {
        let plain_name = plain(name);
        let asked = |known: &str| plain(known) == plain_name || format!("{prefix}{}", plain(known)) == plain_name;
        let found: HashSet<_> = dataset
            .questions
            .iter()
            .filter(|question| asked(&question.subject) || asked(&question.category))
            .map(|question| question.subject.clone())
            .collect();
        if found.is_empty() {
            bail!(
                "unknown subject {name:?} in {} (known: {})",
                dataset.name,
                known_subjects(dataset).join(", ")
            );
        }
        wanted.extend(found);
    }
    Ok(wanted)
}

fn plain(name: &str) -> String {
    name.trim().to_lowercase().replace(['_', '-'], " ")
}

/// Subjects and then categories, each sorted.
fn known_subjects(dataset: &Dataset) -> Vec<String> {
    let mut categories: Vec<_> = dataset
        .questions
        .iter()
        .map(|question| question.category.as_str())
        .collect();
    categories.sort_unstable();
    categories.dedup();
    let subjects = dataset.subjects();
    categories.retain(|category| !subjects.contains(category));
    subjects
        .into_iter()
        .chain(categories)
        .filter(|name| !name.is_empty())
        .map(str::to_owned)
        .collect()
}

fn keep_per_subject(questions: &mut Vec<Question>, count: usize, sample_seed: Option<u64>) {
    let mut by_subject: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, question) in questions.iter().enumerate() {
        by_subject.entry(&question.subject).or_default().push(index);
    }
    let mut kept = HashSet::new();
    for indices in by_subject.values_mut() {
        if let Some(seed) = sample_seed {
            indices.sort_by_cached_key(|&index| lot(seed, &questions[index]));
        }
        kept.extend(indices.iter().take(count).copied());
    }
    let mut index = 0..;
    questions.retain(|_| index.next().is_some_and(|index| kept.contains(&index)));
}

/// A question's lot in the draw: the lowest ones are taken.
fn lot(seed: u64, question: &Question) -> Vec<u8> {
    Sha256::digest(format!("{seed}\t{}\t{}", question.subject, question.id).as_bytes()).to_vec()
}
