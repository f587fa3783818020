//! How many questions it takes to see a difference, before a run is paid for.

use super::significance::mcnemar_exact;
use crate::stats::{Z, normal_above, normal_quantile};

/// The variance of one question's difference, from which the number of questions follows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Spread {
    /// One attempt each: the share of questions on which the two differ.
    Discordant(f64),
    /// Several: the variance of the questions' true differences and what the attempts add, σ²_A / K_A + σ²_B / K_B.
    Attempts { between: f64, within: f64 },
}

impl Spread {
    /// Where the true difference is `difference`.
    fn variance(self, difference: f64) -> f64 {
        match self {
            Spread::Discordant(share) => share - difference * difference,
            Spread::Attempts { between, within } => between + within,
        }
    }

    /// Questions that show `difference` with this chance at 5 %, two-sided: n = (z.975 + z.power)² V / d² (Miller 2024).
    pub fn needed(self, difference: f64, power: f64) -> usize {
        let n = squared(power) * self.variance(difference) / (difference * difference);
        n.max(1.0).ceil() as usize
    }

    /// Questions after which, with no true difference, the interval excludes a loss of `difference` with this chance.
    pub fn rules_out(self, difference: f64, power: f64) -> usize {
        (squared(power) * self.variance(0.0) / (difference * difference)).ceil() as usize
    }

    /// The least difference that so many questions show with this chance.
    pub fn least_seen(self, questions: usize, power: f64) -> f64 {
        (squared(power) * self.variance(0.0) / questions as f64).sqrt()
    }
}

fn squared(power: f64) -> f64 {
    (Z + normal_quantile(power)).powi(2)
}

/// The chance that the exact McNemar test finds, at 5 %, a true `difference` of two runs that differ on a share
/// `discordant` of `questions`: the sum over every outcome.
pub fn power_exact(questions: usize, discordant: f64, difference: f64) -> f64 {
    let up = f64::midpoint(1.0, difference / discordant);
    let uneven = binomial(questions, discordant);
    let (mut power, mut critical) = (0.0, None);
    for (uneven, chance) in uneven.into_iter().enumerate() {
        // The most of the rarer kind that is still found; it grows by one at most from one number to the next.
        let next = critical.map_or(0, |fewer| fewer + 1);
        if 2 * next < uneven && mcnemar_exact(next, uneven - next) <= 0.05 {
            critical = Some(next);
        }
        if let Some(fewer) = critical.filter(|_| chance > 1e-15) {
            let ups = binomial(uneven, up);
            let found = ups[..=fewer].iter().sum::<f64>() + ups[uneven - fewer..].iter().sum::<f64>();
            power += chance * found;
        }
    }
    power
}

/// The chances of 0 to n successes: as shares of the likeliest number's, then of their sum.
fn binomial(n: usize, share: f64) -> Vec<f64> {
    let odds = share / (1.0 - share);
    let mode = (((n + 1) as f64 * share) as usize).min(n);
    let mut chances = vec![0.0; n + 1];
    chances[mode] = 1.0;
    for taken in mode + 1..=n {
        chances[taken] = chances[taken - 1] * odds * (n - taken + 1) as f64 / taken as f64;
    }
    for taken in (0..mode).rev() {
        chances[taken] = chances[taken + 1] / odds * (taken + 1) as f64 / (n - taken) as f64;
    }
    let sum: f64 = chances.iter().sum();
    chances.iter_mut().for_each(|chance| *chance /= sum);
    chances
}

/// The same by the normal formula, for numbers of questions where summing takes long.
pub fn power_normal(questions: usize, discordant: f64, difference: f64) -> f64 {
    let root = (questions as f64).sqrt();
    let spread = (discordant - difference * difference).sqrt();
    normal_above((Z * discordant.sqrt() - difference * root) / spread)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_planned_is_found_as_often_as_was_said() {
        let spread = Spread::Discordant(0.1);
        let needed = spread.needed(0.02, 0.8);
        assert_eq!(needed, 1955);
        assert!((power_exact(needed, 0.1, 0.02) - 0.8).abs() < 0.03);
        assert!((power_normal(needed, 0.1, 0.02) - 0.8).abs() < 0.002);
        assert!((spread.least_seen(spread.rules_out(0.02, 0.8), 0.8) - 0.02).abs() < 1e-5);
    }

    #[test]
    fn attempts_take_off_what_they_add() {
        let spread = |attempts: f64| Spread::Attempts {
            between: 0.0,
            within: 0.16 / attempts,
        };
        assert_eq!(
            (spread(1.0).needed(0.02, 0.8), spread(5.0).needed(0.02, 0.8)),
            (3140, 628)
        );
    }
}
