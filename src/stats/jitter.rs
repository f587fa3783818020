//! What chance alone does to a score: the spread that other seeds would show, and whether the seen one is like it.

use super::tails::{chi_squared, normal_above};
use super::{Attempts, Questions, Slice, Vote, mean};

/// Attempts so alike, or so unlike, have a chance below this.
const ODD: f64 = 0.001;

/// Several attempts at the same questions, as draws of one model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Jitter {
    /// Mean over questions of K / (K - 1) p (1 - p): the variance of one attempt at a question, unbiased.
    pub within: f64,
    /// Standard deviation of the attempts' accuracies: as seen, and as `within` makes expect.
    pub seen: f64,
    pub expected: f64,
    /// (K - 1) seen² / expected², and the chances of as little and of as much under chi-squared with K - 1 degrees.
    pub chi_squared: f64,
    pub below: f64,
    pub above: f64,
}

/// How attempts differ that differ otherwise than by chance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Oddness {
    /// The seed may not reach the sampler.
    TooEven,
    /// The attempts were not run alike.
    TooUneven,
}

impl Oddness {
    pub fn text(self) -> &'static str {
        match self {
            Oddness::TooEven => "too even for chance: the seed may not reach the sampler",
            Oddness::TooUneven => "too uneven for chance: the attempts were not run alike",
        }
    }
}

impl Jitter {
    /// From the accuracies of K attempts at `questions` questions with this `within`; `None` for fewer than two, and where
    /// every attempt at a question is like the others: no sampling, nothing to expect.
    pub fn new(within: f64, questions: usize, accuracies: &[f64]) -> Option<Jitter> {
        let seen = super::sample_std(accuracies)?;
        let variance = (within > 0.0).then(|| within / questions as f64)?;
        let freedom = accuracies.len() as f64 - 1.0;
        let value = freedom * seen * seen / variance;
        let (below, above) = chi_squared(value, freedom);
        Some(Jitter {
            within,
            seen,
            expected: variance.sqrt(),
            chi_squared: value,
            below,
            above,
        })
    }

    /// Of the attempts of a slice.
    pub fn of(slice: Slice, questions: &Questions, attempts: &Attempts) -> Option<Jitter> {
        Jitter::new(within(slice, questions)?, questions.len(), &attempts.sums.accuracies())
    }

    pub fn oddness(&self) -> Option<Oddness> {
        match (self.below < ODD, self.above < ODD) {
            (true, _) => Some(Oddness::TooEven),
            (_, true) => Some(Oddness::TooUneven),
            _ => None,
        }
    }
}

/// The variance of one attempt at a question, over the questions that have several: `None` where none has.
pub fn within(slice: Slice, questions: &Questions) -> Option<f64> {
    let of_question = |vote: Vote| within_of(vote.correct as usize, vote.attempts as usize);
    mean(
        &Vote::each(slice.rows, questions)
            .filter_map(of_question)
            .collect::<Vec<_>>(),
    )
}

/// K / (K - 1) p (1 - p) of one question; `None` of a single attempt.
pub fn within_of(correct: usize, attempts: usize) -> Option<f64> {
    let (right, all) = (correct as f64, attempts as f64);
    (attempts > 1).then(|| right * (all - right) / all / (all - 1.0))
}

/// Standard deviation of the accuracy over `rows` = questions × attempts, from one draw of the seeds to another.
pub fn std_of_one(within: f64, rows: usize) -> f64 {
    (within / rows as f64).sqrt()
}

/// The chance that a change of `-threshold` or worse shows between two draws of one model.
pub fn false_alarm(within: f64, rows: usize, threshold: f64) -> f64 {
    match std_of_one(2.0 * within, rows) {
        0.0 => 0.0,
        std => normal_above(threshold / std),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_as_uneven_as_chance_makes_them_are_nothing_to_tell() {
        // 100 questions answered by a fair coin: one attempt is right on 50 ± 5.
        let even = Jitter::new(0.25, 100, &[0.45, 0.5, 0.55]).unwrap();
        assert!((even.expected - 0.05).abs() < 1e-15 && even.oddness().is_none());
        assert_eq!(
            Jitter::new(0.25, 100, &[0.5; 5]).unwrap().oddness(),
            Some(Oddness::TooEven)
        );
        assert_eq!(
            Jitter::new(0.25, 100, &[0.2, 0.5, 0.8]).unwrap().oddness(),
            Some(Oddness::TooUneven)
        );
        assert_eq!(
            (Jitter::new(0.0, 100, &[0.5; 5]), Jitter::new(0.25, 100, &[0.5])),
            (None, None)
        );
    }

    #[test]
    fn a_threshold_within_the_jitter_alarms_often_and_a_greedy_run_never() {
        assert_eq!(false_alarm(0.0, 100, 0.02), 0.0);
        assert!((false_alarm(0.08, 100, 0.04) - normal_above(1.0)).abs() < 1e-12);
        assert_eq!(
            (within_of(1, 1), within_of(1, 2), within_of(3, 3)),
            (None, Some(0.5), Some(0.0))
        );
    }
}
