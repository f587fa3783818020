//! What every cell of a study made of the questions that all of them have.

use std::collections::HashMap;

use crate::compare::{Paired, Right};
use crate::trace::Rows;

/// Right attempts by question and cell.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Outcomes {
    cells: usize,
    /// The ids of the questions.
    pub ids: Vec<i64>,
    /// Question by question.
    right: Vec<Right>,
}

impl Outcomes {
    /// Of the questions that every cell has, by benchmark and id, in the order of the first cell.
    pub fn of(cells: &[&Rows]) -> Outcomes {
        let Some((first, _)) = cells.split_first() else {
            return Outcomes::default();
        };
        let mut places: HashMap<(&str, i64), usize> = HashMap::new();
        let mut keys: Vec<(&str, i64)> = Vec::new();
        for row in 0..first.len() {
            let key = (first.benchmark.get(row), first.question_id[row]);
            places.entry(key).or_insert_with(|| {
                keys.push(key);
                keys.len() - 1
            });
        }
        let mut right = vec![Right::default(); keys.len() * cells.len()];
        for (cell, rows) in cells.iter().enumerate() {
            for row in 0..rows.len() {
                if let Some(place) = places.get(&(rows.benchmark.get(row), rows.question_id[row])) {
                    let right = &mut right[place * cells.len() + cell];
                    right.attempts += 1;
                    right.correct += u32::from(rows.correct[row]);
                }
            }
        }
        let whole = |question: &&[Right]| question.iter().all(|right| right.attempts > 0);
        let kept: Vec<bool> = right.chunks(cells.len()).map(|question| whole(&question)).collect();
        Outcomes {
            cells: cells.len(),
            ids: keys
                .iter()
                .zip(&kept)
                .filter(|(_, kept)| **kept)
                .map(|((_, id), _)| *id)
                .collect(),
            right: right.chunks(cells.len()).filter(whole).flatten().copied().collect(),
        }
    }

    /// From the outcomes of one attempt: a list a question.
    pub fn from_single(questions: &[Vec<bool>]) -> Outcomes {
        let one = |is_right: &bool| Right {
            correct: u32::from(*is_right),
            attempts: 1,
        };
        Outcomes {
            cells: questions.first().map_or(0, Vec::len),
            ids: (0..questions.len() as i64).collect(),
            right: questions.iter().flatten().map(one).collect(),
        }
    }

    pub fn cells(&self) -> usize {
        self.cells
    }

    pub fn questions(&self) -> usize {
        self.ids.len()
    }

    /// Whether each question has one attempt in each cell.
    pub fn is_single(&self) -> bool {
        self.right.iter().all(|right| right.attempts == 1)
    }

    /// The share of right attempts in each cell, question by question.
    pub fn shares(&self) -> impl Iterator<Item = Vec<f64>> + '_ {
        let share = |right: &Right| f64::from(right.correct) / f64::from(right.attempts);
        self.right
            .chunks(self.cells.max(1))
            .map(move |question| question.iter().map(share).collect())
    }

    /// Cell `a` against cell `b`, paired by question.
    pub fn pair(&self, a: usize, b: usize) -> Paired {
        let mut paired = Paired::default();
        for question in self.right.chunks(self.cells.max(1)) {
            paired.add(question[a], question[b]);
        }
        paired
    }

    /// The questions whose outcome is not the same in all cells.
    pub fn split(&self) -> Vec<i64> {
        let shares = self.ids.iter().zip(self.shares());
        shares
            .filter(|(_, shares)| shares.iter().any(|share| *share != shares[0]))
            .map(|(id, _)| *id)
            .collect()
    }
}
