//! The difference of two accuracies over questions that both answered.
//!
//! **One attempt each**: the adjusted Wald interval of D. G. Bonett and R. M. Price (2012), which keeps a width where
//! nothing differs, and the exact McNemar test. **Several**: the mean over questions of (mean of A - mean of B) with its
//! standard error sd / sqrt(questions), so that questions are counted and not attempts, and attempts need not be equal in
//! number (E. Miller, "Adding Error Bars to Evals", 2024).

use super::significance::{mcnemar_exact, mcnemar_log10};
use crate::stats::{Interval, IntervalKind, Z, log10_either_side, normal_above};

/// Right answers among the attempts at one question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Right {
    pub correct: u32,
    pub attempts: u32,
}

/// Sums over questions from which the difference of A and B follows.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Paired {
    questions: usize,
    has_repeats: bool,
    sum: f64,
    squares: f64,
}

impl Paired {
    /// Of pairs with one attempt each, `pairs` in all.
    pub fn of_counts(a_only: usize, b_only: usize, pairs: usize) -> Paired {
        Paired {
            questions: pairs,
            has_repeats: false,
            sum: a_only as f64 - b_only as f64,
            squares: (a_only + b_only) as f64,
        }
    }

    /// Adds a question; one that a side did not answer tells nothing.
    pub fn add(&mut self, a: Right, b: Right) {
        if a.attempts == 0 || b.attempts == 0 {
            return;
        }
        let mean = |side: Right| f64::from(side.correct) / f64::from(side.attempts);
        let difference = mean(a) - mean(b);
        self.questions += 1;
        self.has_repeats |= a.attempts > 1 || b.attempts > 1;
        self.sum += difference;
        self.squares += difference * difference;
    }

    pub fn questions(&self) -> usize {
        self.questions
    }

    /// Whether a question has several attempts on a side: then questions are counted, not pairs.
    pub fn is_clustered(&self) -> bool {
        self.has_repeats
    }

    /// Accuracy of A less that of B, in -1 to 1; `None` without questions.
    pub fn difference(&self) -> Option<f64> {
        (self.questions > 0).then(|| self.sum / self.questions as f64)
    }

    /// Pairs on which only A is right, and only B; `None` with several attempts.
    pub fn discordant(&self) -> Option<(usize, usize)> {
        let half = |value: f64| (value / 2.0).round() as usize;
        (!self.has_repeats).then(|| (half(self.squares + self.sum), half(self.squares - self.sum)))
    }

    /// Variance of the questions' differences (n - 1); `None` for fewer than two.
    pub fn variance(&self) -> Option<f64> {
        let n = self.questions as f64;
        (self.questions > 1).then(|| ((self.squares - self.sum * self.sum / n) / (n - 1.0)).max(0.0))
    }

    /// Standard error of the mean difference over questions; `None` for fewer than two.
    pub fn stderr(&self) -> Option<f64> {
        Some((self.variance()? / self.questions as f64).sqrt())
    }

    /// 95 % of the difference, as this file's head says.
    pub fn interval(&self) -> Option<Interval> {
        let (centre, stderr, kind) = if self.has_repeats {
            (self.difference()?, self.stderr()?, IntervalKind::Clustered)
        } else {
            let n = (self.questions > 0).then_some(self.questions as f64 + 2.0)?;
            let (centre, uneven) = (self.sum / n, (self.squares + 2.0) / n);
            (centre, ((uneven - centre * centre) / n).sqrt(), IntervalKind::Paired)
        };
        let (low, high) = ((centre - Z * stderr).max(-1.0), (centre + Z * stderr).min(1.0));
        Some(Interval { low, high, kind })
    }

    /// The difference in its standard errors: McNemar's statistic without correction, or that of the clustered mean. `None`
    /// where nothing differs.
    pub fn z(&self) -> Option<f64> {
        if self.has_repeats {
            return self
                .stderr()
                .filter(|stderr| *stderr > 0.0)
                .map(|stderr| self.sum / self.questions as f64 / stderr);
        }
        (self.squares > 0.0).then(|| self.sum / self.squares.sqrt())
    }

    /// Two-sided chance of so large a difference if there is none, and its common logarithm, which tells also where the
    /// chance is too small for a number: exact McNemar, or by the clustered error. 1 where nothing differs.
    pub fn p(&self) -> (f64, f64) {
        match (self.discordant(), self.z()) {
            (Some((a, b)), _) => (mcnemar_exact(a, b), mcnemar_log10(a, b)),
            (None, Some(z)) => (2.0 * normal_above(z.abs()), log10_either_side(z)),
            (None, None) => (1.0, 0.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_keeps_a_width_where_nothing_differs() {
        let same = Paired::of_counts(0, 0, 100);
        let Interval { low, high, kind } = same.interval().unwrap();
        assert!(
            (low + high).abs() < 1e-15
                && (high - 0.027_174_584_791_170_155).abs() < 1e-15
                && kind == IntervalKind::Paired
        );
        assert_eq!((same.p(), same.z(), same.difference()), ((1.0, 0.0), None, Some(0.0)));
        assert_eq!(Paired::default().interval(), None);
    }

    #[test]
    fn questions_count_once_however_many_attempts_they_have() {
        let right = |correct, attempts| Right { correct, attempts };
        let (mut one, mut five) = (Paired::default(), Paired::default());
        for (a, b) in [(1, 0), (0, 0), (1, 1), (1, 0), (0, 1)] {
            one.add(right(a, 1), right(b, 1));
            five.add(right(5 * a, 5), right(b, 1));
        }
        five.add(right(3, 5), Right::default());
        assert_eq!(
            (five.questions(), five.is_clustered(), one.is_clustered()),
            (5, true, false)
        );
        assert_eq!(
            (one.difference(), one.discordant(), five.discordant()),
            (five.difference(), Some((2, 1)), None)
        );
        assert!((five.stderr().unwrap() - (0.7_f64 / 5.0).sqrt()).abs() < 1e-15);
    }
}
