//! What a trace amounts to: counts, accuracies and their intervals, votes of several attempts, letters.
//!
//! Pure functions over light columns. Invalid rows are wrong, and are counted apart as well.

mod estimate;
mod report;
mod votes;

use serde::Serialize;

use crate::record::{INVALID, letter, letter_index};
use crate::trace::{Names, Rows};

pub use estimate::{Clusters, Interval, IntervalKind, mean, mean_stderr, pooled_stderr, sample_std, wilson};
pub use report::{Report, RunReport, report};
pub use votes::{Questions, Vote, VoteCounts};

/// Rows of a trace to be counted: all of them, or those of a list.
#[derive(Debug, Clone, Copy)]
pub struct Slice<'a> {
    pub rows: &'a Rows,
    pub picked: Option<&'a [u32]>,
}

impl<'a> Slice<'a> {
    pub fn all(rows: &'a Rows) -> Slice<'a> {
        Slice { rows, picked: None }
    }

    pub fn of(rows: &'a Rows, picked: &'a [u32]) -> Slice<'a> {
        Slice {
            rows,
            picked: Some(picked),
        }
    }

    pub fn len(self) -> usize {
        self.picked.map_or(self.rows.len(), <[u32]>::len)
    }

    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The row numbers, in order.
    pub fn iter(self) -> impl Iterator<Item = usize> + 'a {
        (0..self.len()).map(move |index| self.picked.map_or(index, |picked| picked[index] as usize))
    }
}

/// Counts of some rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    pub n: usize,
    pub correct: usize,
    /// Among the wrong ones.
    pub invalid: usize,
}

impl Tally {
    pub fn add(&mut self, is_correct: bool, is_invalid: bool) {
        self.n += 1;
        self.correct += usize::from(is_correct);
        self.invalid += usize::from(is_invalid);
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

fn share(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// A fraction as a percentage with one decimal; a dash where there is none.
pub fn percent(fraction: Option<f64>) -> String {
    fraction.map_or("–".to_owned(), |fraction| format!("{:.1}", fraction * 100.0))
}

/// What rows are grouped by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    Category,
    Subject,
    Benchmark,
}

/// The rows of one category, subject or benchmark.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    pub name: String,
    /// In the column's [`Names`].
    pub code: u32,
    pub tally: Tally,
    pub questions: usize,
    /// 95 %: Wilson's where every question has one row in it, else clustered over questions. `None` without rows.
    pub interval: Option<Interval>,
}

/// The rows of one seed.
#[derive(Debug, Clone, PartialEq)]
pub struct SeedTally {
    pub seed: i64,
    pub attempt: u16,
    pub tally: Tally,
}

/// All rows of a slice as one group (without a name).
pub fn overall(slice: Slice) -> Group {
    let questions = Questions::of(slice);
    let mut all = GroupSums::default();
    for rows in questions.iter() {
        all.add_question(slice.rows, rows);
    }
    all.group(String::new(), 0)
}

/// The groups that have rows in the slice, by order of first appearance in the trace.
pub fn group_by(slice: Slice, key: Key) -> Vec<Group> {
    group_questions(slice.rows, &Questions::of(slice), key)
}

/// [`group_by`], where the questions have been gathered already.
pub fn group_questions(rows: &Rows, questions: &Questions, key: Key) -> Vec<Group> {
    let names: &Names = match key {
        Key::Category => &rows.category,
        Key::Subject => &rows.subject,
        Key::Benchmark => &rows.benchmark,
    };
    let mut sums = vec![GroupSums::default(); names.list().len()];
    for question in questions.iter() {
        // Rows of one question share its group; a file that has it otherwise gets a cluster in each.
        for part in question.chunk_by(|a, b| names.code(*a as usize) == names.code(*b as usize)) {
            sums[names.code(part[0] as usize) as usize].add_question(rows, part);
        }
    }
    let named = sums
        .into_iter()
        .zip(names.list())
        .enumerate()
        .filter(|(_, (sums, _))| sums.tally.n > 0);
    named
        .map(|(code, (sums, name))| sums.group(name.to_string(), code as u32))
        .collect()
}

#[derive(Debug, Clone, Default)]
struct GroupSums {
    tally: Tally,
    clusters: Clusters,
}

impl GroupSums {
    fn add_question(&mut self, rows: &Rows, question: &[u32]) {
        let before = self.tally.correct;
        for row in question {
            let row = *row as usize;
            self.tally.add(rows.correct[row], rows.is_invalid(row));
        }
        self.clusters.add(question.len(), (self.tally.correct - before) as i64);
    }

    fn group(self, name: String, code: u32) -> Group {
        let questions = self.clusters.count();
        Group {
            name,
            code,
            tally: self.tally,
            questions,
            interval: self.clusters.interval(),
        }
    }
}

/// Counts by seed, ascending. Where the file knows no seeds but several attempts, seed 42 + attempt is meant.
pub fn by_seed(slice: Slice) -> Vec<SeedTally> {
    let rows = slice.rows;
    let has_attempts = slice.iter().any(|row| rows.attempt[row] > 0);
    let mut found: Vec<SeedTally> = Vec::new();
    for row in slice.iter() {
        let attempt = rows.attempt[row];
        let default = has_attempts.then(|| 42 + i64::from(attempt));
        let Some(seed) = rows.seed(row).or(default) else {
            continue;
        };
        let place = found
            .binary_search_by_key(&seed, |entry| entry.seed)
            .unwrap_or_else(|place| {
                found.insert(
                    place,
                    SeedTally {
                        seed,
                        attempt,
                        tally: Tally::default(),
                    },
                );
                place
            });
        found[place].tally.add(rows.correct[row], rows.is_invalid(row));
    }
    found
}

/// Mean and sample standard deviation of the seeds' accuracies; each `None` where too few seeds are in.
pub fn seed_spread(seeds: &[SeedTally]) -> (Option<f64>, Option<f64>) {
    let accuracies: Vec<f64> = seeds.iter().filter_map(|seed| seed.tally.accuracy()).collect();
    (mean(&accuracies), sample_std(&accuracies))
}

/// The harness's standard error of a slice: that of the subjects, pooled.
pub fn harness_stderr(slice: Slice) -> Option<f64> {
    let rows = slice.rows;
    let mut leaves = std::collections::BTreeMap::<(u32, u32), Tally>::new();
    for row in slice.iter() {
        let leaf = leaves
            .entry((rows.benchmark.code(row), rows.subject.code(row)))
            .or_default();
        leaf.add(rows.correct[row], rows.is_invalid(row));
    }
    pooled_stderr(&leaves.into_values().collect::<Vec<_>>())
}

/// Mean over rows: groups weigh by their size (the harness).
pub fn micro_mean<'g>(tallies: impl IntoIterator<Item = &'g Tally>) -> Option<f64> {
    let (correct, n) = tallies
        .into_iter()
        .fold((0, 0), |sum, tally| (sum.0 + tally.correct, sum.1 + tally.n));
    share(correct, n)
}

/// Mean over groups: each weighs the same.
pub fn macro_mean<'g>(tallies: impl IntoIterator<Item = &'g Tally>) -> Option<f64> {
    mean(
        &tallies
            .into_iter()
            .filter_map(|tally| tally.accuracy())
            .collect::<Vec<_>>(),
    )
}

/// How often each letter was picked and how often it is the gold.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Letters {
    /// A to Z.
    pub picks: [usize; 26],
    pub gold: [usize; 26],
    pub invalid: usize,
    /// Picks that are longer text.
    pub other: usize,
}

impl Letters {
    /// Letters that were picked or are gold: index from A, picks, gold.
    pub fn used(&self) -> impl Iterator<Item = (usize, usize, usize)> + '_ {
        (0..26)
            .map(|index| (index, self.picks[index], self.gold[index]))
            .filter(|(_, picks, gold)| picks + gold > 0)
    }
}

pub fn letters(slice: Slice) -> Letters {
    let rows = slice.rows;
    let index_of = |names: &Names| names.list().iter().map(|name| letter_index(name)).collect::<Vec<_>>();
    let (pick_index, gold_index) = (index_of(&rows.pick), index_of(&rows.answer));
    let mut letters = Letters::default();
    for row in slice.iter() {
        match pick_index[rows.pick.code(row) as usize] {
            Some(index) => letters.picks[index] += 1,
            None if rows.is_invalid(row) => letters.invalid += 1,
            None => letters.other += 1,
        }
        if let Some(index) = gold_index[rows.answer.code(row) as usize] {
            letters.gold[index] += 1;
        }
    }
    letters
}

/// The one pick of all rows, where there are several rows and it is not [`INVALID`].
pub fn constant_pick(slice: Slice<'_>) -> Option<&str> {
    let first = slice.iter().next()?;
    let code = slice.rows.pick.code(first);
    let pick = slice.rows.pick.get(first);
    let is_constant = slice.len() > 1 && pick != INVALID && slice.iter().all(|row| slice.rows.pick.code(row) == code);
    is_constant.then_some(pick)
}

/// What always picking this letter would score.
pub fn always(slice: Slice, pick: &str) -> Option<f64> {
    let gold = slice.rows.answer.find(pick);
    share(
        slice
            .iter()
            .filter(|row| Some(slice.rows.answer.code(*row)) == gold)
            .count(),
        slice.len(),
    )
}

/// The letter that would score best if it were always picked, and what it would score.
pub fn best_constant(slice: Slice) -> Option<(char, f64)> {
    let letters = letters(slice);
    let best = (0..26).rev().max_by_key(|index| letters.gold[*index])?;
    Some((letter(best)?, share(letters.gold[best], slice.len())?))
}

/// The accuracy to be expected if each invalid row were given a random option, as the MMLU-Pro authors' scripts do
/// (10 options where their number is unknown). No draw is made.
pub fn accuracy_with_random_fill(slice: Slice) -> Option<f64> {
    let rows = slice.rows;
    let chance = |row: usize| 1.0 / f64::from(if rows.options[row] == 0 { 10 } else { rows.options[row] });
    let expected = slice.iter().map(|row| match (rows.correct[row], rows.is_invalid(row)) {
        (true, _) => 1.0,
        (false, true) => chance(row),
        (false, false) => 0.0,
    });
    let n = slice.len();
    (n > 0).then(|| expected.sum::<f64>() / n as f64)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::trace::Light;

    /// A row of question `id`; the gold is B of four options.
    pub(crate) fn push(rows: &mut Rows, id: i64, attempt: u16, category: &str, pick: &str) {
        rows.push(&Light {
            question_id: id,
            attempt,
            seed: None,
            benchmark: "mmlu_pro",
            category,
            subject: category,
            pick,
            answer: "B",
            correct: pick == "B",
            chars: 10,
            finish: None,
            flags: "",
            options: 4,
            doc: id as u64 + 1,
            scored: false,
        });
    }

    fn one_attempt(picks: &[&str]) -> Rows {
        let mut rows = Rows::default();
        for (id, pick) in picks.iter().enumerate() {
            push(&mut rows, id as i64, 0, if id % 2 == 0 { "law" } else { "math" }, pick);
        }
        rows
    }

    #[test]
    fn invalid_rows_are_wrong_and_shown_apart() {
        let rows = one_attempt(&["B", "B", "A", INVALID, "B"]);
        let all = overall(Slice::all(&rows));
        assert_eq!(
            all.tally,
            Tally {
                n: 5,
                correct: 3,
                invalid: 1
            }
        );
        assert_eq!((all.tally.accuracy_of_valid(), all.questions), (Some(0.75), 5));
        assert_eq!(accuracy_with_random_fill(Slice::all(&rows)), Some(3.25 / 5.0));
        let law = &group_by(Slice::all(&rows), Key::Category)[0];
        assert_eq!(
            (law.name.as_str(), law.tally),
            (
                "law",
                Tally {
                    n: 3,
                    correct: 2,
                    invalid: 0
                }
            )
        );
        assert_eq!(law.interval.unwrap().kind, IntervalKind::Wilson);
    }

    #[test]
    fn only_the_slice_is_counted() {
        let rows = one_attempt(&["B", "A", "A", "B"]);
        let picked = [1, 3];
        let groups = group_by(Slice::of(&rows, &picked), Key::Category);
        assert_eq!(groups.len(), 1);
        assert_eq!((groups[0].name.as_str(), groups[0].tally.correct), ("math", 1));
        assert_eq!(percent(overall(Slice::of(&rows, &[])).tally.accuracy()), "–");
    }

    #[test]
    fn seeds_are_told_apart_and_spread() {
        let mut rows = Rows::default();
        for (id, picks) in [["B", "A"], ["B", "B"]].iter().enumerate() {
            for (attempt, pick) in picks.iter().enumerate() {
                push(&mut rows, id as i64, attempt as u16, "law", pick);
            }
        }
        let seeds = by_seed(Slice::all(&rows));
        assert_eq!(
            seeds
                .iter()
                .map(|seed| (seed.seed, seed.tally.correct))
                .collect::<Vec<_>>(),
            [(42, 2), (43, 1)]
        );
        assert_eq!(seed_spread(&seeds).0, Some(0.75));
        let single = one_attempt(&["B"]);
        assert!(
            by_seed(Slice::all(&single)).is_empty(),
            "one attempt without a seed is no seed"
        );
    }

    #[test]
    fn a_run_of_one_letter_is_named_with_what_that_letter_scores() {
        let rows = one_attempt(&["A", "A", "A"]);
        assert_eq!(constant_pick(Slice::all(&rows)), Some("A"));
        assert_eq!(always(Slice::all(&rows), "A"), Some(0.0));
        assert_eq!(best_constant(Slice::all(&rows)), Some(('B', 1.0)));
        assert_eq!(constant_pick(Slice::all(&one_attempt(&["A", "B"]))), None);
        assert_eq!(constant_pick(Slice::all(&one_attempt(&[INVALID, INVALID]))), None);
        let letters = letters(Slice::all(&one_attempt(&["A", INVALID, "four", "B"])));
        assert_eq!((letters.picks[0], letters.picks[1], letters.gold[1]), (1, 1, 4));
        assert_eq!((letters.invalid, letters.other), (1, 1));
    }

    #[test]
    fn groups_weigh_by_size_or_alike() {
        let tallies = [
            Tally {
                n: 100,
                correct: 50,
                invalid: 0,
            },
            Tally {
                n: 900,
                correct: 810,
                invalid: 0,
            },
        ];
        assert_eq!((micro_mean(&tallies), macro_mean(&tallies)), (Some(0.86), Some(0.7)));
    }
}
