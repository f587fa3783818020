//! What rows add up to. Nothing else counts: screens, tables and files read a [`Sum`].

use std::collections::{BTreeMap, HashMap};
use std::ops::AddAssign;

use super::{Clusters, Interval, Questions, Slice, mean};
use crate::record::INVALID;
use crate::trace::Rows;

/// Counts of some rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    pub n: usize,
    pub correct: usize,
    /// Among the wrong ones.
    pub invalid: usize,
}

impl Tally {
    /// One row.
    pub fn one(is_correct: bool, is_invalid: bool) -> Tally {
        Tally {
            n: 1,
            correct: usize::from(is_correct),
            invalid: usize::from(is_invalid),
        }
    }

    /// In 0-1; `None` without rows.
    pub fn accuracy(self) -> Option<f64> {
        share(self.correct, self.n)
    }

    pub fn invalid_rate(self) -> Option<f64> {
        share(self.invalid, self.n)
    }

    /// Among the rows that are not invalid.
    pub fn accuracy_of_valid(self) -> Option<f64> {
        share(self.correct, self.n - self.invalid)
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.n += other.n;
        self.correct += other.correct;
        self.invalid += other.invalid;
    }
}

/// A part of a whole in 0-1; `None` of nothing.
pub(super) fn share(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Mean over rows: groups weigh by their size (the harness).
pub fn micro_mean<'g>(tallies: impl IntoIterator<Item = &'g Tally>) -> Option<f64> {
    let mut all = Tally::default();
    tallies.into_iter().for_each(|tally| all += *tally);
    all.accuracy()
}

/// Mean over groups: each weighs the same.
pub fn macro_mean<'g>(tallies: impl IntoIterator<Item = &'g Tally>) -> Option<f64> {
    let accuracies: Vec<f64> = tallies.into_iter().filter_map(|tally| tally.accuracy()).collect();
    mean(&accuracies)
}

/// Counts of rows, and what their questions tell of how sure they are. Sums of different questions merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sum {
    pub tally: Tally,
    clusters: Clusters,
}

impl Sum {
    /// Adds the rows of one question.
    pub fn add(&mut self, question: Tally) {
        self.tally += question;
        self.clusters.add(question.n, question.correct as i64);
    }

    /// Adds one more row of a question of which `before` is in already.
    fn grow(&mut self, before: Tally, row: Tally) {
        if before.n > 0 {
            self.clusters.remove(before.n, before.correct as i64);
        }
        self.tally += row;
        self.clusters
            .add(before.n + row.n, (before.correct + row.correct) as i64);
    }

    /// Adds the sum of other questions.
    pub fn merge(&mut self, other: &Sum) {
        self.tally += other.tally;
        self.clusters.merge(&other.clusters);
    }

    pub fn rows(&self) -> usize {
        self.tally.n
    }

    pub fn questions(&self) -> usize {
        self.clusters.count()
    }

    /// Whether some question has several rows, so that questions are counted for the interval, not rows.
    pub fn has_repeats(&self) -> bool {
        self.clusters.has_repeats()
    }

    /// In 0-1; `None` without rows.
    pub fn accuracy(&self) -> Option<f64> {
        self.tally.accuracy()
    }

    /// The standard error that belongs to the interval; `None` for fewer than two questions.
    pub fn stderr(&self) -> Option<f64> {
        self.clusters.stderr_of_accuracy()
    }

    /// The cluster-robust standard error alone: 0 where all questions have one share of right attempts.
    pub fn clustered_stderr(&self) -> Option<f64> {
        self.clusters.stderr()
    }

    /// 95 % of the accuracy, by the method of [`super::interval`]; `None` without rows.
    pub fn interval(&self) -> Option<Interval> {
        self.clusters.interval()
    }
}

/// A sum to which rows are added one at a time, in any order.
#[derive(Debug, Clone, Default)]
pub struct Growing {
    pub sum: Sum,
    questions: HashMap<i64, Tally>,
}

impl Growing {
    pub fn add(&mut self, question: i64, row: Tally) {
        let before = self.questions.entry(question).or_default();
        self.sum.grow(*before, row);
        *before += row;
    }
}

/// Sums by some key (category, exam, attempt, seed), and the sum of all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grouped<K> {
    pub total: Sum,
    groups: BTreeMap<K, Sum>,
}

impl<K> Default for Grouped<K> {
    fn default() -> Grouped<K> {
        Grouped {
            total: Sum::default(),
            groups: BTreeMap::new(),
        }
    }
}

impl<K: Ord> Grouped<K> {
    /// Sums some rows, each given with its question's number. `code` tells a row's group, `key` the name of a code.
    pub fn of(
        rows: &Rows,
        questions: usize,
        selected: impl Iterator<Item = (usize, u32)>,
        code: impl Fn(usize) -> u32,
        key: impl Fn(u32) -> K,
    ) -> Grouped<K> {
        let mut total = Sum::default();
        let mut groups: Vec<Sum> = Vec::new();
        let invalid = rows.pick.find(INVALID);
        let items = selected.map(|(row, question)| {
            let part = Part {
                n: 1,
                correct: u32::from(rows.correct[row]),
                invalid: u32::from(Some(rows.pick.code(row)) == invalid),
            };
            (question, code(row), part)
        });
        fold(questions, items, |scope, part: Part| match scope {
            Scope::Question => total.add(part.tally()),
            Scope::Group(code) => {
                let code = code as usize;
                if groups.len() <= code {
                    groups.resize(code + 1, Sum::default());
                }
                groups[code].add(part.tally());
            }
        });
        let named = groups.into_iter().zip(0..).filter(|(sum, _)| sum.rows() > 0);
        Grouped {
            total,
            groups: named.map(|(sum, code)| (key(code), sum)).collect(),
        }
    }

    /// Adds one row, as a question of its own in its group.
    pub fn add_row(&mut self, key: K, row: Tally) {
        self.total.add(row);
        self.groups.entry(key).or_default().add(row);
    }

    /// A group's sum; empty where it has no rows.
    pub fn get(&self, key: &K) -> Sum {
        self.groups.get(key).copied().unwrap_or_default()
    }

    /// The groups that have rows, by key.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&K, &Sum)> {
        self.groups.iter()
    }

    pub fn len(&self) -> usize {
        self.groups.len()
    }

    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// Of the groups that have rows.
    pub fn accuracies(&self) -> Vec<f64> {
        self.groups.values().filter_map(Sum::accuracy).collect()
    }
}

/// [`Tally`] of one question, small: there is one a question while rows are added up.
#[derive(Debug, Clone, Copy, Default)]
struct Part {
    n: u32,
    correct: u32,
    invalid: u32,
}

impl Part {
    fn tally(self) -> Tally {
        Tally {
            n: self.n as usize,
            correct: self.correct as usize,
            invalid: self.invalid as usize,
        }
    }
}

impl AddAssign for Part {
    fn add_assign(&mut self, other: Part) {
        self.n += other.n;
        self.correct += other.correct;
        self.invalid += other.invalid;
    }
}

/// What a sum of [`fold`] is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// A question's rows in one group.
    Group(u32),
    /// All of its rows.
    Question,
}

/// Adds up items by question (numbered below `questions`), and by question and group; tells each sum once. Rows of one
/// question share its group; a file that has it otherwise gets a sum in each.
pub(crate) fn fold<T: Copy + Default + AddAssign>(
    questions: usize,
    items: impl Iterator<Item = (u32, u32, T)>,
    mut tell: impl FnMut(Scope, T),
) {
    const NONE: u32 = u32::MAX;
    let mut sums = vec![(NONE, T::default()); questions];
    let mut strays: BTreeMap<(u32, u32), T> = BTreeMap::new();
    for (question, group, item) in items {
        let own = &mut sums[question as usize];
        if own.0 == NONE {
            own.0 = group;
        }
        if own.0 == group {
            own.1 += item;
        } else {
            *strays.entry((question, group)).or_default() += item;
        }
    }
    for (question, (group, sum)) in (0..).zip(sums).filter(|(_, (group, _))| *group != NONE) {
        tell(Scope::Group(group), sum);
        if strays.is_empty() {
            tell(Scope::Question, sum);
            continue;
        }
        let mut whole = sum;
        for ((_, group), stray) in strays.range((question, 0)..=(question, NONE)) {
            tell(Scope::Group(*group), *stray);
            whole += *stray;
        }
        tell(Scope::Question, whole);
    }
}

impl Questions {
    /// Sums the slice that these questions are of by the codes of a column.
    pub fn group<K: Ord>(&self, slice: Slice, code: impl Fn(usize) -> u32, key: impl Fn(u32) -> K) -> Grouped<K> {
        Grouped::of(slice.rows, self.len(), self.numbered(slice), code, key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::tests::push;

    #[test]
    fn rows_one_by_one_amount_to_whole_questions() {
        let (mut whole, mut grown) = (Sum::default(), Growing::default());
        let questions = [[1, 0, 1], [0, 0, 0], [1, 1, 1]];
        for attempt in 0..3 {
            for (id, question) in (0..).zip(&questions) {
                grown.add(id, Tally::one(question[attempt] == 1, false));
            }
        }
        for question in questions {
            let mut tally = Tally::default();
            question
                .iter()
                .for_each(|right| tally += Tally::one(*right == 1, false));
            whole.add(tally);
        }
        assert_eq!(grown.sum, whole);
        assert_eq!((whole.questions(), whole.rows(), whole.has_repeats()), (3, 9, true));
    }

    #[test]
    fn a_question_is_one_in_the_whole_and_one_in_each_group_that_has_rows_of_it() {
        let mut rows = Rows::default();
        for (id, category) in [(1, "law"), (2, "math"), (1, "math"), (1, "law"), (2, "math")] {
            push(&mut rows, id, 0, category, "B");
        }
        let slice = Slice::all(&rows);
        let names = rows.category.list();
        let groups = Questions::of(slice).group(slice, |row| rows.category.code(row), |code| &names[code as usize]);
        let counts: Vec<_> = groups
            .iter()
            .map(|(name, sum)| (&***name, sum.rows(), sum.questions()))
            .collect();
        assert_eq!(counts, [("law", 2, 1), ("math", 3, 2)]);
        assert_eq!((groups.total.rows(), groups.total.questions()), (5, 2));
    }

    #[test]
    fn groups_weigh_by_size_or_alike() {
        let tallies = [(100, 50), (900, 810)].map(|(n, correct)| Tally { n, correct, invalid: 0 });
        assert_eq!((micro_mean(&tallies), macro_mean(&tallies)), (Some(0.86), Some(0.7)));
    }
}
