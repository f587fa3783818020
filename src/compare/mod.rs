//! Two traces on the same questions: paired, so that real differences show.

mod pairing;
mod prompts;
mod report;
mod significance;

use std::ops::AddAssign;
use std::sync::Arc;

use crate::record::INVALID;
use crate::stats::{Clusters, Grouped, Interval, Questions, Scope, Slice, fold};
use crate::trace::{Names, Rows};

pub use pairing::{Pairing, pair, pair_by_id};
pub use report::{CategoryReport, CompareReport, SideReport};
pub use significance::{Decision, decide, mcnemar_exact, mcnemar_log10};

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
    fn one(quadrant: Quadrant) -> Counts {
        let mut counts = Counts::default();
        *counts.of(quadrant) = 1;
        counts
    }

    fn of(&mut self, quadrant: Quadrant) -> &mut usize {
        match quadrant {
            Quadrant::Both => &mut self.both,
            Quadrant::AOnly => &mut self.a_only,
            Quadrant::BOnly => &mut self.b_only,
            Quadrant::Neither => &mut self.neither,
        }
    }

    pub fn get(mut self, quadrant: Quadrant) -> usize {
        *self.of(quadrant)
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

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        Quadrant::ALL
            .into_iter()
            .for_each(|quadrant| *self.of(quadrant) += other.get(quadrant));
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
    pub interval: Option<Interval>,
    /// Whether several attempts of a question are paired: the interval is then clustered over questions.
    pub is_clustered: bool,
}

/// Two traces compared row by row.
#[derive(Debug, Clone)]
pub struct Comparison {
    pub pairing: Pairing,
    pub overall: Difference,
    /// By A's categories, in order of first appearance.
    pub categories: Vec<Difference>,
    /// By A's exams.
    pub exams: Vec<Difference>,
    /// The paired rows of A and of B by exam.
    pub sides: [Grouped<Arc<str>>; 2],
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
        let quadrant = |(x, y): &(u32, u32)| Quadrant::of(a.correct[*x as usize], b.correct[*y as usize]);
        let questions = Questions::of(Slice::all(a));
        let (overall, categories) = differences(&questions, &a.category, &pairing, quadrant);
        let (_, exams) = differences(&questions, &a.benchmark, &pairing, quadrant);
        let Counts { a_only, b_only, .. } = overall.counts;
        let outcomes = pairing.pairs.iter().map(quadrant);
        let side_a = by_exam(a, &questions, pairing.pairs.iter().map(|pair| pair.0));
        let side_b = by_exam(
            b,
            &Questions::of(Slice::all(b)),
            pairing.pairs.iter().map(|pair| pair.1),
        );
        Comparison {
            p: mcnemar_exact(a_only, b_only),
            log10_p: mcnemar_log10(a_only, b_only),
            decision: decide(outcomes),
            overall: overall.difference(String::new()),
            categories,
            exams,
            sides: [side_a, side_b],
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

/// Over all pairs, and by the names of a column of A.
fn differences(
    questions: &Questions,
    names: &Names,
    pairing: &Pairing,
    quadrant: impl Fn(&(u32, u32)) -> Quadrant,
) -> (Sums, Vec<Difference>) {
    let mut overall = Sums::default();
    let mut parts = vec![Sums::default(); names.list().len()];
    let numbered = questions.numbers_of(pairing.pairs.iter().map(|pair| pair.0));
    let items = numbered
        .zip(&pairing.pairs)
        .map(|((row, question), pair)| (question, names.code(row), Counts::one(quadrant(pair))));
    fold(questions.len(), items, |scope, counts| match scope {
        Scope::Question => overall.add(counts),
        Scope::Group(code) => parts[code as usize].add(counts),
    });
    let named = parts.into_iter().zip(names.list());
    let differences = named
        .filter(|(sums, _)| sums.counts.pairs() > 0)
        .map(|(sums, name)| sums.difference(name.to_string()));
    (overall, differences.collect())
}

fn by_exam(rows: &Rows, questions: &Questions, picked: impl Iterator<Item = u32>) -> Grouped<Arc<str>> {
    let exams = &rows.benchmark;
    let numbered = questions.numbers_of(picked);
    let name = |code: u32| Arc::clone(&exams.list()[code as usize]);
    Grouped::of(rows, questions.len(), numbered, |row| exams.code(row), name)
}

#[derive(Debug, Clone, Default)]
struct Sums {
    counts: Counts,
    clusters: Clusters,
}

impl Sums {
    /// Adds the pairs of one question.
    fn add(&mut self, question: Counts) {
        self.counts += question;
        let gained = question.a_only as i64 - question.b_only as i64;
        self.clusters.add(question.pairs(), gained);
    }

    fn difference(&self, name: String) -> Difference {
        Difference {
            name,
            counts: self.counts,
            difference: self.counts.difference(),
            interval: self.clusters.interval_of_difference(),
            is_clustered: self.clusters.has_repeats(),
        }
    }
}

/// How a row changes where its output is read another way. `wrong` is a letter, but the wrong one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flip {
    InvalidToRight,
    InvalidToWrong,
    WrongToRight,
    RightToWrong,
    /// To another letter.
    WrongToWrong,
    RightToInvalid,
    WrongToInvalid,
}

impl Flip {
    /// What a row's pick and outcome, before and after, amount to; `None`: nothing.
    pub fn of(before: (&str, bool), after: (&str, bool)) -> Option<Flip> {
        let outcome = |(pick, is_right): (&str, bool)| (pick != INVALID).then_some(is_right);
        match (outcome(before), outcome(after)) {
            (None, Some(true)) => Some(Flip::InvalidToRight),
            (None, Some(false)) => Some(Flip::InvalidToWrong),
            (Some(false), Some(true)) => Some(Flip::WrongToRight),
            (Some(true), Some(false)) => Some(Flip::RightToWrong),
            (Some(false), Some(false)) if before.0 != after.0 => Some(Flip::WrongToWrong),
            (Some(true), None) => Some(Flip::RightToInvalid),
            (Some(false), None) => Some(Flip::WrongToInvalid),
            _ => None,
        }
    }
}

/// Rows by how they change under another rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Flips {
    pub invalid_to_right: usize,
    pub invalid_to_wrong: usize,
    pub right_to_wrong: usize,
    pub wrong_to_right: usize,
    pub wrong_to_wrong: usize,
    pub right_to_invalid: usize,
    pub wrong_to_invalid: usize,
}

impl Flips {
    pub fn add(&mut self, flip: Flip) {
        let count = match flip {
            Flip::InvalidToRight => &mut self.invalid_to_right,
            Flip::InvalidToWrong => &mut self.invalid_to_wrong,
            Flip::WrongToRight => &mut self.wrong_to_right,
            Flip::RightToWrong => &mut self.right_to_wrong,
            Flip::WrongToWrong => &mut self.wrong_to_wrong,
            Flip::RightToInvalid => &mut self.right_to_invalid,
            Flip::WrongToInvalid => &mut self.wrong_to_invalid,
        };
        *count += 1;
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
        let sums = |numbers: [usize; 4]| {
            let mut sums = Sums::default();
            for (quadrant, number) in Quadrant::ALL.into_iter().zip(numbers) {
                (0..number).for_each(|_| sums.add(Counts::one(quadrant)));
            }
            sums.difference(String::new())
        };
        let difference = sums([3055, 2160, 1055, 5750]);
        let Interval { low, high, .. } = difference.interval.unwrap();
        assert!(
            (low - 0.0828).abs() < 1e-4 && (high - 0.1010).abs() < 1e-4,
            "{low} {high}"
        );
        assert!((difference.counts.z().unwrap() - 19.49).abs() < 0.01);
        assert_eq!(sums([0; 4]).interval, None);
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
        let mut flips = Flips::default();
        let read = |rows: &Rows, row: usize| (rows.pick.get(row).to_owned(), rows.correct[row]);
        for row in 0..before.len() {
            let ((old, was_right), (new, is_right)) = (read(&before, row), read(&after, row));
            Flip::of((&old, was_right), (&new, is_right))
                .into_iter()
                .for_each(|flip| flips.add(flip));
        }
        assert_eq!(flips, expected);
    }
}
