//! What a trace amounts to: counts, accuracies and their intervals, votes of several attempts, letters.
//!
//! Pure functions over light columns. Invalid rows are wrong, and are counted apart as well. The road: rows are gathered
//! by question ([`Questions`]), added up ([`Sum`], [`Grouped`]), and a sum knows how sure it is ([`Interval`]).

mod attempts;
mod interval;
pub mod jitter;
mod letters;
mod multiple;
mod questions;
mod report;
mod sum;
mod tails;
mod votes;

use crate::trace::Rows;

pub use attempts::{Attempts, Labels, by_attempt};
pub use interval::{Clusters, Interval, IntervalKind, mean, mean_stderr, pooled_stderr, sample_std};
pub use jitter::{Jitter, Oddness, within_of};
pub use letters::{Letters, always, constant_pick};
pub use multiple::{benjamini_hochberg, holm};
pub use questions::Questions;
pub use report::{AttemptsBy, Report, RunReport, SeedReport, StderrKind, report};
pub use sum::{Grouped, Growing, Sum, Tally, macro_mean, micro_mean};
pub(crate) use sum::{Scope, fold};
pub use tails::{Z, chi_squared, f_above, log10_either_side, normal_above, normal_quantile};
pub use votes::{Vote, Votes};

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

/// What the words beside figures mean, for help.
pub const WORDS: [(&str, &str); 4] = [
    (
        "95%",
        "Wilson's interval; with several attempts on as many rows as the spread between questions is worth",
    ),
    (
        "vote",
        "the pick given more often than every other; equally frequent ones are a tie, and no vote",
    ),
    ("majority", "the pick that more than half of the attempts gave"),
    ("any", "at least one attempt at the question is right"),
];

/// A fraction as a percentage with one decimal; a dash where there is none.
pub fn percent(fraction: Option<f64>) -> String {
    fraction.map_or("–".to_owned(), |fraction| format!("{:.1}", fraction * 100.0))
}

/// The harness's standard error of a slice: that of the subjects, pooled.
pub fn harness_stderr(slice: Slice) -> Option<f64> {
    let rows = slice.rows;
    let mut leaves = std::collections::BTreeMap::<(u32, u32), Tally>::new();
    for row in slice.iter() {
        let leaf = leaves
            .entry((rows.benchmark.code(row), rows.subject.code(row)))
            .or_default();
        *leaf += Tally::one(rows.correct[row], false);
    }
    pooled_stderr(&leaves.into_values().collect::<Vec<_>>())
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
    use crate::record::INVALID;
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
        let slice = Slice::all(&rows);
        let all = Questions::of(slice).group(slice, |_| 0, |_| ()).total;
        let expected = Tally {
            n: 5,
            correct: 3,
            invalid: 1,
        };
        assert_eq!((all.tally, all.questions()), (expected, 5));
        assert_eq!(all.tally.accuracy_of_valid(), Some(0.75));
        assert_eq!(accuracy_with_random_fill(slice), Some(3.25 / 5.0));
        assert_eq!(all.interval().unwrap().kind, IntervalKind::Wilson);
    }

    #[test]
    fn only_the_slice_is_counted() {
        let rows = one_attempt(&["B", "A", "A", "B"]);
        let picked = [1, 3];
        let slice = Slice::of(&rows, &picked);
        let groups = Questions::of(slice).group(slice, |row| rows.category.code(row), |code| code);
        let sums: Vec<_> = groups.iter().map(|(code, sum)| (*code, sum.tally.correct)).collect();
        assert_eq!(sums, [(1, 1)]);
        assert_eq!(percent(Grouped::<()>::default().total.accuracy()), "–");
    }

    #[test]
    fn a_run_of_one_letter_is_named_with_what_that_letter_scores() {
        let rows = one_attempt(&["A", "A", "A"]);
        assert_eq!(constant_pick(Slice::all(&rows)), Some("A"));
        assert_eq!(always(Slice::all(&rows), "A"), Some(0.0));
        assert_eq!(constant_pick(Slice::all(&one_attempt(&["A", "B"]))), None);
        assert_eq!(constant_pick(Slice::all(&one_attempt(&[INVALID, INVALID]))), None);
        let rows = one_attempt(&["A", INVALID, "four", "B"]);
        let letters = Letters::of(&rows, 0..rows.len());
        assert_eq!((letters.picks[0], letters.picks[1], letters.gold[1]), (1, 1, 4));
        assert_eq!((letters.invalid, letters.other, letters.last()), (1, 1, Some(1)));
    }
}
