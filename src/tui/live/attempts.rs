//! What several attempts at each question say together: seeds, vote, any, and whether they differ at all.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

use crate::record::Record;
use crate::stats::{Grouped, Tally, Vote, Votes, mean, sample_std};
use crate::trace::Rows;

/// What has landed of a question.
#[derive(Debug, Default)]
struct Question {
    rows: Vec<u32>,
    /// Hashes of the outputs that have a text.
    texts: Vec<u64>,
}

/// The attempts of an exam, by question.
#[derive(Debug, Default)]
pub struct Attempts {
    /// Seeds in the order of the attempts; empty where none are set.
    pub seeds: Vec<i64>,
    pub by_seed: Grouped<i64>,
    /// Over questions with all their attempts.
    pub votes: Votes,
    /// Pairs of attempts at one question that have some text, and those with equal texts.
    pub pairs: usize,
    pub identical: usize,
    questions: HashMap<i64, Question>,
}

impl Attempts {
    pub fn new(seeds: &[i64]) -> Attempts {
        Attempts {
            seeds: seeds.to_vec(),
            ..Attempts::default()
        }
    }

    /// Whether questions are asked more than once.
    pub fn are_several(&self) -> bool {
        self.planned() > 1
    }

    /// Attempts a question when done.
    pub fn planned(&self) -> usize {
        self.seeds.len().max(1)
    }

    /// Counts an answer, which is `row` of `rows`.
    pub fn add(&mut self, record: &Record, rows: &Rows, row: u32) {
        let planned = self.planned();
        if let Some(seed) = record.seed {
            self.by_seed
                .add_row(seed, Tally::one(record.correct, record.is_invalid()));
        }
        let question = self.questions.entry(record.question_id).or_default();
        question.rows.push(row);
        if planned == 1 {
            return;
        }
        if !record.reasoning.is_empty() {
            let text = BuildHasherDefault::<DefaultHasher>::default().hash_one(&record.reasoning);
            self.pairs += question.texts.len();
            self.identical += question.texts.iter().filter(|other| **other == text).count();
            question.texts.push(text);
        }
        if question.rows.len() == planned {
            self.votes.add(&Vote::of(rows, question.rows.iter().copied()));
        }
    }

    /// Mean accuracy of the seeds that have answers, and, of two or more, its sample standard deviation.
    pub fn mean_of_seeds(&self) -> Option<(f64, Option<f64>)> {
        let shares = self.by_seed.accuracies();
        Some((mean(&shares)?, sample_std(&shares)))
    }

    /// Whether the seeds seem not to reach the sampler: most pairs of texts are equal.
    pub fn are_suspiciously_equal(&self) -> bool {
        self.identical >= 2 && self.identical * 2 > self.pairs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers by question, attempt, pick and text, all of them in.
    fn attempts(answers: &[(i64, i64, &str, String)]) -> Attempts {
        let mut attempts = Attempts::new(&[42, 43, 44]);
        let mut rows = Rows::default();
        for (row, (question_id, attempt, pick, text)) in answers.iter().enumerate() {
            let record = Record {
                question_id: *question_id,
                attempt: *attempt,
                seed: Some(42 + attempt),
                pick: (*pick).to_owned(),
                correct: *pick == "A",
                reasoning: text.clone(),
                ..Record::default()
            };
            rows.push_record(&record);
            attempts.add(&record, &rows, row as u32);
        }
        attempts
    }

    #[test]
    fn vote_and_any_count_questions_with_all_their_attempts() {
        let picks = [(1, ["A", "A", "B"]), (2, ["B", "A", "B"]), (3, ["B", "C", "[invalid]"])];
        let mut answers: Vec<(i64, i64, &str, String)> = vec![(4, 0, "A", "alone".to_owned())];
        for (question, picks) in picks {
            for (attempt, pick) in picks.into_iter().enumerate().rev() {
                answers.push((question, attempt as i64, pick, format!("{question} {attempt}")));
            }
        }
        let attempts = attempts(&answers);
        let votes = attempts.votes;
        assert_eq!((votes.questions, votes.vote, votes.any, votes.ties), (3, 1, 2, 1));
        assert_eq!((attempts.identical, attempts.pairs), (0, 9));
        let first = attempts.by_seed.get(&42).tally;
        assert_eq!((first.n, first.correct), (4, 2));
    }

    #[test]
    fn seeds_that_change_nothing_are_noticed() {
        let answers: Vec<_> = (0..3).map(|attempt| (1, attempt, "A", "the same".to_owned())).collect();
        let attempts = attempts(&answers);
        assert_eq!((attempts.identical, attempts.pairs), (3, 3));
        assert!(attempts.are_suspiciously_equal());
    }
}
