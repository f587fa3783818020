//! Two traces on the same questions: paired, so that real differences show.

mod pairing;
mod prompts;
mod report;
mod significance;

use crate::record::INVALID;
use crate::stats::Clusters;
use crate::trace::Rows;

pub use pairing::{Pairing, pair};
pub use report::{CategoryReport, CompareReport, SideReport};
pub use significance::{Decision, decide, mcnemar_exact, mcnemar_log10};

/// The 97.5 % point of the normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// Which of the two was right on a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Quadrant {
    Both,
    AOnly,
    BOnly,
    Neither,
}

impl Quadrant {
    pub const ALL: [Quadrant; 4] = [Quadrant::Both, Quadrant::AOnly, Quadrant::BOnly, Quadrant::Neither];

    fn of(a_is_right: bool, b_is_right: bool) -> Quadrant {
        match (a_is_right, b_is_right) {
            (true, true) => Quadrant::Both,
            (true, false) => Quadrant::AOnly,
            (false, true) => Quadrant::BOnly,
            (false, false) => Quadrant::Neither,
        }
    }
}

/// Pairs by quadrant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    pub both: usize,
    pub a_only: usize,
    pub b_only: usize,
    pub neither: usize,
}

impl Counts {
    fn add(&mut self, quadrant: Quadrant) {
        match quadrant {
            Quadrant::Both => self.both += 1,
            Quadrant::AOnly => self.a_only += 1,
            Quadrant::BOnly => self.b_only += 1,
            Quadrant::Neither => self.neither += 1,
        }
    }

    pub fn pairs(self) -> usize {
        self.both + self.a_only + self.b_only + self.neither
    }

    /// Accuracy of A less that of B; `None` without pairs.
    pub fn difference(self) -> Option<f64> {
        (self.pairs() > 0).then(|| (self.a_only as f64 - self.b_only as f64) / self.pairs() as f64)
    }

    /// McNemar's statistic without correction; `None` where nothing differs.
    pub fn z(self) -> Option<f64> {
        let discordant = self.a_only + self.b_only;
        (discordant > 0).then(|| (self.a_only as f64 - self.b_only as f64) / (discordant as f64).sqrt())
    }
}

/// A difference of accuracies with its 95 % interval, over all pairs or a category's.
#[derive(Debug, Clone, PartialEq)]
pub struct Difference {
    /// Of the category; empty for all.
    pub name: String,
    pub counts: Counts,
    /// `None` without pairs.
    pub difference: Option<f64>,
    pub ci95: Option<(f64, f64)>,
    /// Whether the interval is clustered over questions: where several attempts of one are paired.
    pub is_clustered: bool,
}

/// Two traces compared row by row.
#[derive(Debug, Clone)]
pub struct Comparison {
    pub pairing: Pairing,
    pub overall: Difference,
    /// By A's categories, in order of first appearance.
    pub categories: Vec<Difference>,
    /// Two-sided exact McNemar test over the pairs; 1 where nothing differs.
    pub p: f64,
    /// Its common logarithm, also where `p` is too small for a number.
    pub log10_p: f64,
    /// When the difference was decided, looking after each pair.
    pub decision: Decision,
}

impl Comparison {
    pub fn of(a: &Rows, b: &Rows) -> Comparison {
        Comparison::over(pair(a, b), a, b)
    }

    /// The same over rows that are paired already, all or some of them.
    pub fn over(pairing: Pairing, a: &Rows, b: &Rows) -> Comparison {
        let mut overall = Sums::default();
        let mut categories = vec![Sums::default(); a.category.list().len()];
        for pairs in pairing
            .pairs
            .chunk_by(|x, y| a.question_key(x.0 as usize) == a.question_key(y.0 as usize))
        {
            overall.add(a, b, pairs);
            categories[a.category.code(pairs[0].0 as usize) as usize].add(a, b, pairs);
        }
        let named = categories
            .into_iter()
            .zip(a.category.list())
            .filter(|(sums, _)| sums.counts.pairs() > 0);
        let Counts { a_only, b_only, .. } = overall.counts;
        let outcomes = pairing
            .pairs
            .iter()
            .map(|(x, y)| Quadrant::of(a.correct[*x as usize], b.correct[*y as usize]));
        Comparison {
            p: mcnemar_exact(a_only, b_only),
            log10_p: mcnemar_log10(a_only, b_only),
            decision: decide(outcomes),
            overall: overall.difference(String::new()),
            categories: named.map(|(sums, name)| sums.difference(name.to_string())).collect(),
            pairing,
        }
    }

    /// The pairs (row of A, row of B) of one quadrant.
    pub fn pairs_in(&self, a: &Rows, b: &Rows, quadrant: Quadrant) -> Vec<(u32, u32)> {
        let is_in = |(x, y): &(u32, u32)| Quadrant::of(a.correct[*x as usize], b.correct[*y as usize]) == quadrant;
        self.pairing.pairs.iter().copied().filter(is_in).collect()
    }

    /// The pairs whose picks differ, right or wrong.
    pub fn changed_picks(&self, a: &Rows, b: &Rows) -> Vec<(u32, u32)> {
        let differs = |(x, y): &(u32, u32)| a.pick.get(*x as usize) != b.pick.get(*y as usize);
        self.pairing.pairs.iter().copied().filter(differs).collect()
    }
}

#[derive(Debug, Clone, Default)]
struct Sums {
    counts: Counts,
    clusters: Clusters,
}

impl Sums {
    /// Adds the pairs of one question.
    fn add(&mut self, a: &Rows, b: &Rows, pairs: &[(u32, u32)]) {
        let mut gained = 0;
        for (x, y) in pairs {
            let (a_is_right, b_is_right) = (a.correct[*x as usize], b.correct[*y as usize]);
            self.counts.add(Quadrant::of(a_is_right, b_is_right));
            gained += i64::from(a_is_right) - i64::from(b_is_right);
        }
        self.clusters.add(pairs.len(), gained);
    }

    fn difference(&self, name: String) -> Difference {
        let counts = self.counts;
        let difference = counts.difference();
        let pairs = counts.pairs() as f64;
        let is_clustered = self.clusters.has_repeats();
        let stderr = if is_clustered {
            self.clusters.stderr()
        } else {
            let discordant = (counts.a_only + counts.b_only) as f64;
            let gained = counts.a_only as f64 - counts.b_only as f64;
            Some((discordant - gained * gained / pairs).max(0.0).sqrt() / pairs)
        };
        let ci95 = difference
            .zip(stderr)
            .map(|(d, stderr)| ((d - Z * stderr).max(-1.0), (d + Z * stderr).min(1.0)));
        Difference {
            name,
            counts,
            difference,
            ci95,
            is_clustered,
        }
    }
}

/// What another rule makes of the same rows. `wrong` is a letter, but the wrong one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Flips {
    pub invalid_to_right: usize,
    pub invalid_to_wrong: usize,
    pub right_to_wrong: usize,
    pub wrong_to_right: usize,
    /// To another letter.
    pub wrong_to_wrong: usize,
    pub right_to_invalid: usize,
    pub wrong_to_invalid: usize,
}

impl Flips {
    /// Counts one row: its pick and outcome before and after.
    pub fn add(&mut self, before: (&str, bool), after: (&str, bool)) {
        let outcome = |(pick, is_right): (&str, bool)| if pick == INVALID { None } else { Some(is_right) };
        match (outcome(before), outcome(after)) {
            (None, Some(true)) => self.invalid_to_right += 1,
            (None, Some(false)) => self.invalid_to_wrong += 1,
            (Some(true), Some(false)) => self.right_to_wrong += 1,
            (Some(false), Some(true)) => self.wrong_to_right += 1,
            (Some(false), Some(false)) => self.wrong_to_wrong += usize::from(before.0 != after.0),
            (Some(true), None) => self.right_to_invalid += 1,
            (Some(false), None) => self.wrong_to_invalid += 1,
            (None, None) | (Some(true), Some(true)) => {}
        }
    }

    /// Of the same rows with two sets of picks.
    pub fn between(before: &Rows, after: &Rows) -> Flips {
        let mut flips = Flips::default();
        for row in 0..before.len().min(after.len()) {
            flips.add(
                (before.pick.get(row), before.correct[row]),
                (after.pick.get(row), after.correct[row]),
            );
        }
        flips
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::tests::push;

    fn rows(picks: &[&str]) -> Rows {
        let mut rows = Rows::default();
        for (id, pick) in picks.iter().enumerate() {
            push(&mut rows, id as i64, 0, if id < 2 { "law" } else { "math" }, pick);
        }
        rows
    }

    #[test]
    fn pairs_fall_into_quadrants_and_categories() {
        let (a, b) = (rows(&["B", "B", "A", "B", "A"]), rows(&["B", "A", "B", "C", INVALID]));
        let comparison = Comparison::of(&a, &b);
        assert_eq!(
            comparison.overall.counts,
            Counts {
                both: 1,
                a_only: 2,
                b_only: 1,
                neither: 1
            }
        );
        assert_eq!(comparison.overall.difference, Some(0.2));
        assert_eq!(comparison.pairs_in(&a, &b, Quadrant::AOnly), [(1, 1), (3, 3)]);
        assert_eq!(comparison.changed_picks(&a, &b).len(), 4);
        let names: Vec<_> = comparison
            .categories
            .iter()
            .map(|part| (part.name.as_str(), part.difference))
            .collect();
        assert_eq!(names, [("law", Some(0.5)), ("math", Some(0.0))]);
    }

    #[test]
    fn the_interval_of_a_difference_is_that_of_pairs() {
        // The counts of the screen in the design: 2,160 and 1,055 of 12,020 give +9.2 [+8.3, +10.1], z 19.5.
        let sums = |both, a_only, b_only, neither| {
            let mut sums = Sums {
                counts: Counts {
                    both,
                    a_only,
                    b_only,
                    neither,
                },
                ..Sums::default()
            };
            sums.clusters.add(1, 0);
            sums.difference(String::new())
        };
        let difference = sums(3055, 2160, 1055, 5750);
        let (low, high) = difference.ci95.unwrap();
        assert!(
            (low - 0.0828).abs() < 1e-4 && (high - 0.1010).abs() < 1e-4,
            "{low} {high}"
        );
        assert!((difference.counts.z().unwrap() - 19.49).abs() < 0.01);
        assert_eq!(sums(0, 0, 0, 0).ci95, None);
    }

    #[test]
    fn flips_tell_what_another_rule_does() {
        let (before, after) = (
            rows(&[INVALID, INVALID, "B", "A", "A", "B"]),
            rows(&["B", "C", "D", "C", "A", INVALID]),
        );
        let expected = Flips {
            invalid_to_right: 1,
            invalid_to_wrong: 1,
            right_to_wrong: 1,
            wrong_to_wrong: 1,
            right_to_invalid: 1,
            ..Flips::default()
        };
        assert_eq!(Flips::between(&before, &after), expected);
    }
}
