//! What changed scores are worth beside those of two independent draws.

use serde::Serialize;

use crate::compare::Pairing;
use crate::stats::{Questions, Slice, mean, sample_std, within_of};
use crate::text::thousands;
use crate::trace::Rows;

/// Beyond so many standard errors a share of changed scores is not that of independent draws.
const FAR: f64 = 3.0;

/// Changed scores beside those that two independent draws of one procedure give: 2 x within. Attempts that repeat another
/// one are left out.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Chance {
    /// Paired rows that are looked at, and those of them whose score changed.
    pub rows: usize,
    pub changed: usize,
    /// Changed scores to be expected.
    pub expected: f64,
    /// How many standard errors (over questions) lie between the two; null where nothing varies.
    pub z: Option<f64>,
}

/// Variance of one attempt's outcome around its question's mean: the mean over questions of K/(K-1) p(1-p), unbiased;
/// questions with fewer than two attempts left out. `None` where no question has two.
pub(super) fn within(rows: &Rows, questions: &Questions, without: &[u16]) -> Option<f64> {
    let shares = questions.iter().filter_map(|question| {
        let own = question
            .map(|row| row as usize)
            .filter(|row| !without.contains(&rows.attempt[*row]));
        spread(own.map(|row| rows.correct[row]))
    });
    mean(&shares.collect::<Vec<_>>())
}

/// K/(K-1) p(1-p) of some outcomes.
fn spread(outcomes: impl Iterator<Item = bool>) -> Option<f64> {
    let (right, all) = outcomes.fold((0, 0), |(right, all), outcome| (right + usize::from(outcome), all + 1));
    within_of(right, all)
}

impl Chance {
    pub(super) fn of(old: &Rows, new: &Rows, pairing: &Pairing, copies: [&[u16]; 2]) -> Option<Chance> {
        let questions = Questions::of(Slice::all(old));
        let mut outcomes: Vec<Vec<(bool, bool)>> = vec![Vec::new(); questions.len()];
        for (x, y) in pairing.pairs.iter().map(|(x, y)| (*x as usize, *y as usize)) {
            if !copies.iter().any(|copies| copies.contains(&old.attempt[x])) {
                let question = questions.number(x)?;
                outcomes[question as usize].push((old.correct[x], new.correct[y]));
            }
        }
        let (mut rows, mut changed, mut expected) = (0, 0, 0.0);
        let mut beyond = Vec::new();
        for pairs in outcomes.iter().filter(|pairs| pairs.len() > 1) {
            let own = pairs.iter().filter(|(was, is)| was != is).count();
            let spreads = [
                spread(pairs.iter().map(|pair| pair.0)),
                spread(pairs.iter().map(|pair| pair.1)),
            ];
            let by_chance: f64 = spreads.into_iter().flatten().sum();
            rows += pairs.len();
            changed += own;
            expected += by_chance * pairs.len() as f64;
            beyond.push(own as f64 / pairs.len() as f64 - by_chance);
        }
        let stderr = sample_std(&beyond).map(|std| std / (beyond.len() as f64).sqrt());
        Some(Chance {
            rows,
            changed,
            expected,
            z: mean(&beyond)
                .zip(stderr.filter(|stderr| *stderr > 0.0))
                .map(|(mean, stderr)| mean / stderr),
        })
        .filter(|chance| chance.rows > 0)
    }

    pub(super) fn sense(&self) -> String {
        let words = match self.z {
            _ if self.changed == 0 => "none did",
            Some(z) if z < -FAR => "fewer than independent draws give: part of the answers was kept",
            Some(z) if z > FAR => "more than independent draws of one procedure give: something else changed too",
            _ => "as many as independent draws of one procedure give",
        };
        let (changed, expected) = (thousands(self.changed), thousands(self.expected.round() as usize));
        let rows = thousands(self.rows);
        format!("{changed} of {rows} scores changed where 2 x within expects {expected}: {words}")
    }
}

/// What the changed scores of two releases imply, were both independent draws of one procedure (golden `release.json`).
/// Fractions in 0-1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Implied {
    pub scores_changed_share: f64,
    /// Half of it.
    pub within: f64,
    /// Standard deviation of one attempt's accuracy between draws.
    pub seed_std_expected: f64,
    /// p (1 - p) of the new release's accuracy, and what is left of it between questions.
    pub total_variance: f64,
    pub between: f64,
    /// Standard error of the new release's accuracy: over questions, and were all rows independent.
    pub stderr_clustered: f64,
    pub stderr_naive: f64,
}

/// Of paired releases: questions, rows, changed scores, right rows of the new one. `None` without rows.
pub fn implied(questions: usize, rows: usize, changed: usize, correct: usize) -> Option<Implied> {
    if questions == 0 || rows == 0 {
        return None;
    }
    let (q, n) = (questions as f64, rows as f64);
    let share = changed as f64 / n;
    let within = share / 2.0;
    let accuracy = correct as f64 / n;
    let total = accuracy * (1.0 - accuracy);
    let between = (total - within).max(0.0);
    Some(Implied {
        scores_changed_share: share,
        within,
        seed_std_expected: (within / q).sqrt(),
        total_variance: total,
        between,
        stderr_clustered: (between / q + within / n).sqrt(),
        stderr_naive: (total / n).sqrt(),
    })
}
