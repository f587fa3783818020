//! What several attempts at each question say together: seeds, majority, any, and whether they differ at all.

use std::collections::HashMap;
use std::sync::Arc;

use crate::record::Record;
use crate::stats::{Vote, mean, sample_std};
use crate::trace::Rows;

use super::tally::Seen;

/// One seed's answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeedTally {
    pub seed: i64,
    pub rows: usize,
    pub correct: usize,
}

/// What has landed of a question.
#[derive(Debug, Default)]
struct Question {
    rows: Vec<u32>,
    /// Answers that have a text.
    texts: Vec<Arc<Record>>,
}

/// The attempts of an exam, by question.
#[derive(Debug, Default)]
pub struct Attempts {
    /// Attempts a question when done.
    planned: usize,
    questions: HashMap<i64, Question>,
    pub seeds: Vec<SeedTally>,
    /// Questions with all their attempts, and of those the ones right by majority and by any attempt.
    pub whole: usize,
    pub right_by_majority: usize,
    pub right_by_any: usize,
    /// Pairs of attempts at one question that have some text, and those with equal texts.
    pub pairs: usize,
    pub identical: usize,
}

impl Attempts {
    pub fn new(seeds: &[i64]) -> Attempts {
        Attempts {
            planned: seeds.len().max(1),
            seeds: seeds
                .iter()
                .map(|seed| SeedTally {
                    seed: *seed,
                    rows: 0,
                    correct: 0,
                })
                .collect(),
            ..Attempts::default()
        }
    }

    /// Whether questions are asked more than once.
    pub fn are_several(&self) -> bool {
        self.planned > 1
    }

    pub fn planned(&self) -> usize {
        self.planned
    }

    /// Counts an answer, which is `row` of `rows`; gives back what was known of its question before.
    pub fn add(&mut self, record: &Arc<Record>, rows: &Rows, row: u32) -> Seen {
        if let Some(tally) = self.seeds.iter_mut().find(|tally| Some(tally.seed) == record.seed) {
            tally.rows += 1;
            tally.correct += usize::from(record.correct);
        }
        let question = self.questions.entry(record.question_id).or_default();
        let correct = question.rows.iter().filter(|row| rows.correct[**row as usize]).count();
        let seen = Seen {
            rows: question.rows.len(),
            correct,
        };
        question.rows.push(row);
        if self.planned == 1 {
            return seen;
        }
        if !record.reasoning.is_empty() {
            self.pairs += question.texts.len();
            self.identical += question
                .texts
                .iter()
                .filter(|other| other.reasoning == record.reasoning)
                .count();
            question.texts.push(Arc::clone(record));
        }
        if question.rows.len() == self.planned {
            let vote = Vote::of(rows, &question.rows);
            self.whole += 1;
            self.right_by_majority += usize::from(vote.is_right);
            self.right_by_any += usize::from(vote.correct > 0);
        }
        seen
    }

    /// Mean accuracy of the seeds that have answers, and, of two or more, its sample standard deviation.
    pub fn mean_of_seeds(&self) -> Option<(f64, Option<f64>)> {
        let shares: Vec<f64> = self.seeds.iter().filter_map(SeedTally::accuracy).collect();
        Some((mean(&shares)?, sample_std(&shares)))
    }

    /// Whether the seeds seem not to reach the sampler: most pairs of texts are equal.
    pub fn are_suspiciously_equal(&self) -> bool {
        self.identical >= 2 && self.identical * 2 > self.pairs
    }
}

impl SeedTally {
    pub fn accuracy(&self) -> Option<f64> {
        (self.rows > 0).then(|| self.correct as f64 / self.rows as f64)
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
            let record = Arc::new(Record {
                question_id: *question_id,
                attempt: *attempt,
                seed: Some(42 + attempt),
                pick: (*pick).to_owned(),
                correct: *pick == "A",
                reasoning: text.clone(),
                ..Record::default()
            });
            rows.push_record(&record);
            attempts.add(&record, &rows, row as u32);
        }
        attempts
    }

    #[test]
    fn majority_and_any_count_questions_with_all_their_attempts() {
        let picks = [(1, ["A", "A", "B"]), (2, ["B", "A", "B"]), (3, ["B", "C", "[invalid]"])];
        let mut answers: Vec<(i64, i64, &str, String)> = vec![(4, 0, "A", "alone".to_owned())];
        for (question, picks) in picks {
            for (attempt, pick) in picks.into_iter().enumerate().rev() {
                answers.push((question, attempt as i64, pick, format!("{question} {attempt}")));
            }
        }
        let attempts = attempts(&answers);
        assert_eq!(
            (attempts.whole, attempts.right_by_majority, attempts.right_by_any),
            (3, 1, 2)
        );
        assert_eq!((attempts.identical, attempts.pairs), (0, 9));
        assert_eq!(
            attempts.seeds[0],
            SeedTally {
                seed: 42,
                rows: 4,
                correct: 2
            }
        );
    }

    #[test]
    fn seeds_that_change_nothing_are_noticed() {
        let answers: Vec<_> = (0..3).map(|attempt| (1, attempt, "A", "the same".to_owned())).collect();
        let attempts = attempts(&answers);
        assert_eq!((attempts.identical, attempts.pairs), (3, 3));
        assert!(attempts.are_suspiciously_equal());
    }
}
