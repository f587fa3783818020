//! What a score is worth without the questions known to be bad (golden `redux.json`). Fractions in 0-1.

use serde::Serialize;

use super::Joined;
use crate::record::is_right;
use crate::stats::{Questions, Slice, mean};
use crate::trace::Rows;

/// One way to count the labelled questions; a question counts by the share of its right attempts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Part {
    pub n: usize,
    pub correct: f64,
    pub accuracy: Option<f64>,
}

impl Part {
    fn of(shares: &[f64]) -> Part {
        Part {
            n: shares.len(),
            correct: shares.iter().sum(),
            accuracy: mean(shares),
        }
    }
}

/// A labelled question of a subject.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Labelled {
    /// Share of right attempts, by the set's key.
    pub share: f64,
    pub is_bad: bool,
    /// The same by the label's own key, where it has one.
    pub rekeyed: Option<f64>,
}

/// A subject: how many questions the trace has of it, and those that have a label.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Subject {
    pub size: usize,
    pub labelled: Vec<Labelled>,
}

impl Labelled {
    pub fn new(share: f64, is_bad: bool, rekeyed: Option<f64>) -> Labelled {
        Labelled { share, is_bad, rekeyed }
    }
}

/// Scores over the labelled questions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Scores {
    pub labelled: usize,
    pub bad: usize,
    pub as_published: Part,
    pub without_bad: Part,
    /// Good questions, and those with a wrong key read by the mended one.
    pub rekeyed: Part,
    /// Without bad ones, subjects weighing as many questions as they have; with its stratified error.
    pub weighted: Option<f64>,
    pub weighted_stderr: Option<f64>,
    pub bad_share_weighted: f64,
}

impl Scores {
    /// Of a trace's questions with what is known of them. `None` where nothing is.
    pub fn of(rows: &Rows, joined: &Joined) -> Option<Scores> {
        let questions = Questions::of(Slice::all(rows));
        let mut subjects: Vec<Subject> = Vec::new();
        subjects.resize_with(rows.subject.list().len(), Subject::default);
        for question in questions.iter() {
            let own: Vec<usize> = question.map(|row| row as usize).collect();
            let Some(first) = own.first().copied() else { continue };
            let subject = &mut subjects[rows.subject.code(first) as usize];
            subject.size += 1;
            if joined.labels(first).next().is_none() {
                continue;
            }
            let share = |is_right: &dyn Fn(usize) -> bool| {
                own.iter().filter(|row| is_right(**row)).count() as f64 / own.len() as f64
            };
            let mended = joined.rekeyed(first);
            subject.labelled.push(Labelled::new(
                share(&|row| rows.correct[row]),
                joined.labels(first).any(super::Label::is_bad),
                mended.map(|gold| share(&|row| is_right(rows.pick.get(row), gold))),
            ));
        }
        Scores::over(&subjects)
    }

    /// The same from subjects.
    pub fn over(subjects: &[Subject]) -> Option<Scores> {
        let all = || subjects.iter().flat_map(|subject| &subject.labelled);
        let labelled = all().count();
        if labelled == 0 {
            return None;
        }
        let shares: Vec<f64> = all().map(|question| question.share).collect();
        let good: Vec<f64> = all()
            .filter(|question| !question.is_bad)
            .map(|question| question.share)
            .collect();
        let mended = all().filter_map(|question| question.rekeyed.filter(|_| question.is_bad));
        let rekeyed: Vec<f64> = good.iter().copied().chain(mended).collect();
        let (weighted, weighted_stderr) = weighted(subjects).unzip();
        let sizes: f64 = subjects
            .iter()
            .filter(|subject| !subject.labelled.is_empty())
            .map(|subject| subject.size as f64)
            .sum();
        let bad_share = |subject: &Subject| {
            let bad = subject.labelled.iter().filter(|question| question.is_bad).count();
            subject.size as f64 * bad as f64 / subject.labelled.len().max(1) as f64
        };
        Some(Scores {
            labelled,
            bad: labelled - good.len(),
            as_published: Part::of(&shares),
            without_bad: Part::of(&good),
            rekeyed: Part::of(&rekeyed),
            weighted,
            weighted_stderr,
            bad_share_weighted: subjects.iter().map(bad_share).sum::<f64>() / sizes,
        })
    }
}

/// Accuracy over good questions by the sizes of subjects, and sqrt(sum w² s² / n). A subject with a single good question
/// tells nothing of its spread.
fn weighted(subjects: &[Subject]) -> Option<(f64, f64)> {
    let strata: Vec<(f64, Vec<f64>)> = subjects
        .iter()
        .map(|subject| {
            let good = subject.labelled.iter().filter(|question| !question.is_bad);
            (
                subject.size as f64,
                good.map(|question| question.share).collect::<Vec<f64>>(),
            )
        })
        .filter(|(_, good)| !good.is_empty())
        .collect();
    let all: f64 = strata.iter().map(|(size, _)| size).sum();
    let (mut accuracy, mut variance) = (0.0, 0.0);
    for (size, good) in &strata {
        let weight = size / all;
        accuracy += weight * mean(good)?;
        let spread = crate::stats::sample_std(good).unwrap_or(0.0);
        variance += (weight * spread).powi(2) / good.len() as f64;
    }
    (!strata.is_empty()).then(|| (accuracy, variance.sqrt()))
}
