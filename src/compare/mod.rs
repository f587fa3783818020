//! Two traces on the same questions: paired, so that real differences show.

mod exams;
mod paired;
mod pairing;
mod power;
mod prompts;
mod report;
mod significance;

use std::ops::AddAssign;
use std::sync::Arc;

use crate::record::INVALID;
use crate::stats::{Grouped, Interval, Questions, Scope, Slice, fold, holm};
use crate::trace::{Names, Rows};

pub use exams::{Descent, Exam, Same, above_chance};
pub use paired::{Paired, Right};
pub use pairing::{Pairing, pair, pair_by_id};
pub use power::{Spread, power_exact, power_normal};
pub use report::{CategoryReport, CompareReport, SideReport};
pub use significance::{Decision, decide, mcnemar_exact, mcnemar_log10, mcnemar_mid_p};

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
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        Quadrant::ALL
            .into_iter()
            .for_each(|quadrant| *self.of(quadrant) += other.get(quadrant));
    }
}

/// A difference of accuracies, over all pairs or a category's.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Difference {
    /// Of the category; empty for all.
    pub name: String,
    /// Rows of the same question and attempt.
    pub counts: Counts,
    /// Questions that both answered, whatever the number of attempts: what difference, interval and p are over.
    pub paired: Paired,
    /// Its p adjusted for the other categories by Holm's method; of all pairs its own.
    pub holm: f64,
}

impl Difference {
    /// Accuracy of A less that of B; `None` without pairs.
    pub fn difference(&self) -> Option<f64> {
        self.paired.difference()
    }

    /// Where it lies with 95 % confidence; `None` without pairs.
    pub fn interval(&self) -> Option<Interval> {
        self.paired.interval()
    }
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
        let questions = [a, b].map(|rows| Questions::of(Slice::all(rows)));
        let parts = parts(&pairing, [a, b], &questions);
        let (overall, categories) = differences(questions[0].len(), &a.category, &parts);
        let (_, exams) = differences(questions[0].len(), &a.benchmark, &parts);
        let side_a = by_exam(a, &questions[0], pairing.pairs.iter().map(|pair| pair.0));
        let side_b = by_exam(b, &questions[1], pairing.pairs.iter().map(|pair| pair.1));
        Comparison {
            decision: decide(pairing.pairs.iter().map(quadrant)),
            overall,
            categories,
            exams,
            sides: [side_a, side_b],
            pairing,
        }
    }

    /// The pairs whose picks differ, right or wrong.
    pub fn changed_picks(&self, a: &Rows, b: &Rows) -> Vec<(u32, u32)> {
        let differs = |(x, y): &(u32, u32)| a.pick.get(*x as usize) != b.pick.get(*y as usize);
        self.pairing.pairs.iter().copied().filter(differs).collect()
    }
}

/// What a row, or a pair of rows, tells of its question.
#[derive(Debug, Clone, Copy, Default)]
struct Part {
    counts: Counts,
    a: Right,
    b: Right,
}

impl AddAssign for Part {
    fn add_assign(&mut self, other: Part) {
        self.counts += other.counts;
        for (own, more) in [(&mut self.a, other.a), (&mut self.b, other.b)] {
            own.correct += more.correct;
            own.attempts += more.attempts;
        }
    }
}

/// Question and row of A of every pair, and of the attempts beyond them at questions that are paired.
fn parts(pairing: &Pairing, [a, b]: [&Rows; 2], [of_a, of_b]: &[Questions; 2]) -> Vec<(u32, u32, Part)> {
    let right = |rows: &Rows, row: u32| Right {
        correct: u32::from(rows.correct[row as usize]),
        attempts: 1,
    };
    let number = |questions: &Questions, row: u32| questions.number(row as usize).unwrap_or_default();
    let mut parts = Vec::with_capacity(pairing.pairs.len());
    // The row of A that stands for each question of A and of B that is paired.
    let (mut mates_a, mut mates_b) = (vec![None; of_a.len()], vec![None; of_b.len()]);
    for (x, y) in pairing.pairs.iter().copied() {
        let (a, b) = (right(a, x), right(b, y));
        let counts = Counts::one(Quadrant::of(a.correct > 0, b.correct > 0));
        mates_a[number(of_a, x) as usize] = Some(x);
        mates_b[number(of_b, y) as usize] = Some(x);
        parts.push((number(of_a, x), x, Part { counts, a, b }));
    }
    let more_a = pairing.only_a.iter().filter_map(|row| {
        let mate = mates_a[number(of_a, *row) as usize]?;
        Some((
            mate,
            Part {
                a: right(a, *row),
                ..Part::default()
            },
        ))
    });
    let more_b = pairing.only_b.iter().filter_map(|row| {
        let mate = mates_b[number(of_b, *row) as usize]?;
        Some((
            mate,
            Part {
                b: right(b, *row),
                ..Part::default()
            },
        ))
    });
    parts.extend(
        more_a
            .chain(more_b)
            .map(|(mate, part)| (number(of_a, mate), mate, part)),
    );
    parts
}

/// Over all pairs, and by the names of a column of A.
fn differences(questions: usize, names: &Names, parts: &[(u32, u32, Part)]) -> (Difference, Vec<Difference>) {
    let mut overall = Difference::default();
    let named = names.list().iter().map(|name| Difference {
        name: name.to_string(),
        ..Difference::default()
    });
    let mut groups: Vec<Difference> = named.collect();
    let items = parts
        .iter()
        .map(|(question, row, part)| (*question, names.code(*row as usize), *part));
    fold(questions, items, |scope, part: Part| {
        let sum = match scope {
            Scope::Question => &mut overall,
            Scope::Group(code) => &mut groups[code as usize],
        };
        sum.counts += part.counts;
        sum.paired.add(part.a, part.b);
    });
    groups.retain(|group| group.counts.pairs() > 0);
    let chances: Vec<f64> = groups.iter().map(|group| group.paired.p().0).collect();
    overall.holm = overall.paired.p().0;
    groups
        .iter_mut()
        .zip(holm(&chances))
        .for_each(|(group, p)| group.holm = p);
    (overall, groups)
}

fn by_exam(rows: &Rows, questions: &Questions, picked: impl Iterator<Item = u32>) -> Grouped<Arc<str>> {
    let exams = &rows.benchmark;
    let numbered = questions.numbers_of(picked);
    let name = |code: u32| Arc::clone(&exams.list()[code as usize]);
    Grouped::of(rows, questions.len(), numbered, |row| exams.code(row), name)
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
        assert_eq!(comparison.overall.difference(), Some(0.2));
        assert_eq!(comparison.changed_picks(&a, &b).len(), 4);
        let names: Vec<_> = comparison
            .categories
            .iter()
            .map(|part| (part.name.as_str(), part.difference()))
            .collect();
        assert_eq!(names, [("law", Some(0.5)), ("math", Some(0.0))]);
    }

    #[test]
    fn attempts_beyond_those_of_the_other_run_count_for_their_question() {
        let rows = |questions: &[(i64, &[&str])]| {
            let mut rows = Rows::default();
            for (id, picks) in questions {
                picks
                    .iter()
                    .zip(0..)
                    .for_each(|(pick, attempt)| push(&mut rows, *id, attempt, "law", pick));
            }
            rows
        };
        let a = rows(&[(1, &["B", "B", "A"]), (2, &["A"]), (3, &["B", "B"]), (9, &["B"])]);
        let b = rows(&[(1, &["A"]), (2, &["A", "A", "B"]), (3, &["B"])]);
        let overall = Comparison::of(&a, &b).overall;
        assert_eq!((overall.counts.pairs(), overall.paired.questions()), (3, 3));
        assert!((overall.difference().unwrap() - 1.0 / 9.0).abs() < 1e-15);
        assert!((overall.paired.stderr().unwrap() - 0.293_972_367_896_065_7).abs() < 1e-12);
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
