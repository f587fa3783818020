//! The attempts of a trace side by side, by the seeds that the file knows or by their numbers.

use super::{Grouped, Slice, Tally, mean, sample_std};

/// What several answers to one question are told apart by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Labels {
    /// Their number, from 0: the file knows no seeds, or not of every row, or one for all attempts.
    #[default]
    Attempts,
    /// The seed that each row tells.
    Seeds,
}

/// The rows of each attempt or seed; none where every question has one attempt and no seed is known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Attempts {
    pub labels: Labels,
    pub sums: Grouped<i64>,
}

impl Attempts {
    /// Mean of the attempts' accuracies, and their sample standard deviation where there are several.
    pub fn spread(&self) -> (Option<f64>, Option<f64>) {
        let accuracies = self.sums.accuracies();
        (mean(&accuracies), sample_std(&accuracies))
    }
}

/// Counts by attempt. No seed is ever made up.
pub fn by_attempt(slice: Slice) -> Attempts {
    let rows = slice.rows;
    let (mut seeds, mut attempts) = (Grouped::default(), Grouped::default());
    for row in slice.iter() {
        let tally = Tally::one(rows.correct[row], rows.is_invalid(row));
        attempts.add_row(i64::from(rows.attempt[row]), tally);
        if let Some(seed) = rows.seed(row) {
            seeds.add_row(seed, tally);
        }
    }
    if seeds.total.rows() == slice.len() && seeds.len() >= attempts.len() {
        return Attempts {
            labels: Labels::Seeds,
            sums: seeds,
        };
    }
    if attempts.len() < 2 {
        return Attempts::default();
    }
    Attempts {
        labels: Labels::Attempts,
        sums: attempts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Record;
    use crate::trace::Rows;

    /// Question, attempt, seed; those of question 1 and of attempt 0 are right.
    fn rows(list: &[(i64, i64, Option<i64>)]) -> Rows {
        let mut rows = Rows::default();
        for (question_id, attempt, seed) in list {
            rows.push_record(&Record {
                question_id: *question_id,
                attempt: *attempt,
                seed: *seed,
                correct: *question_id == 1 || *attempt == 0,
                ..Record::default()
            });
        }
        rows
    }

    fn counted(list: &[(i64, i64, Option<i64>)]) -> (Labels, Vec<(i64, usize)>) {
        let attempts = by_attempt(Slice::all(&rows(list)));
        let counts = attempts.sums.iter().map(|(label, sum)| (*label, sum.tally.correct));
        (attempts.labels, counts.collect())
    }

    #[test]
    fn attempts_are_told_apart_by_seeds_where_every_row_has_its_own() {
        let seeds = [(1, 0, Some(7)), (1, 1, Some(9)), (2, 0, Some(7)), (2, 1, Some(9))];
        assert_eq!(counted(&seeds), (Labels::Seeds, vec![(7, 2), (9, 1)]));
        let spread = by_attempt(Slice::all(&rows(&seeds))).spread();
        assert_eq!(spread.0, Some(0.75));
        assert_eq!(counted(&[(1, 0, Some(7))]), (Labels::Seeds, vec![(7, 1)]));
    }

    #[test]
    fn attempts_have_numbers_where_seeds_are_unknown_in_part_or_one_for_all() {
        let by_number = (Labels::Attempts, vec![(0, 2), (1, 1)]);
        for seeds in [[None; 4], [Some(7), None, Some(7), None], [Some(7); 4]] {
            let places = [(1, 0), (1, 1), (2, 0), (2, 1)];
            let list: Vec<_> = places
                .iter()
                .zip(seeds)
                .map(|((id, at), seed)| (*id, *at, seed))
                .collect();
            assert_eq!(counted(&list), by_number, "{seeds:?}");
        }
        assert_eq!(counted(&[(1, 0, None), (2, 0, None)]).1, []);
    }
}
