//! How far cells lie apart, against what chance alone would show: a two-way table of questions by cells (golden
//! `spread.json`). Fractions in 0-1.

use serde::Serialize;

use super::Outcomes;
use crate::stats::{Z, chi_squared, f_above, mean, normal_above, sample_std};

/// What cells over the same questions say together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Spread {
    pub questions: usize,
    pub cells: Vec<CellMean>,
    /// Of the cells.
    pub mean: f64,
    pub least: f64,
    pub most: f64,
    pub range: f64,
    /// Standard deviation of the cells' means (n - 1).
    pub std: f64,
    /// Variance of an outcome once its question and its cell are known.
    pub residual_variance: f64,
    /// Standard deviation of a cell's mean that this leaves.
    pub noise_std: f64,
    /// The range that as many equal cells would show: d2(cells) x that.
    pub range_by_chance: f64,
    pub std_beyond_chance: f64,
    /// Where the cells are every combination of two knobs.
    pub two_way: Option<TwoWay>,
    /// Cochran's Q, its degrees of freedom, and its p; null with several attempts.
    pub cochran_q: Option<f64>,
    pub cochran_df: usize,
    pub cochran_p: Option<f64>,
    /// Questions with one outcome in all cells.
    pub always_same: usize,
    /// Share of those with several.
    pub depends_on_style: f64,
    /// Places of the best and the worst cell, and what they say of each other. They were chosen after looking.
    pub best: usize,
    pub worst: usize,
    pub best_against_worst: Against,
    /// Share of pairs of cells with the same outcome, mean over questions.
    pub consistency: f64,
}

/// A cell's accuracy, and how it lies to the mean of all cells.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CellMean {
    pub accuracy: f64,
    /// Paired by question.
    pub difference: f64,
    pub ci95: Option<[f64; 2]>,
}

/// Two cells paired by question.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Against {
    pub difference: f64,
    pub ci95: Option<[f64; 2]>,
    pub p: f64,
    /// Null with several attempts.
    pub best_only: Option<usize>,
    pub worst_only: Option<usize>,
}

/// What of the spread belongs to the first knob, to the second, and to both together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct TwoWay {
    pub first: Part,
    pub second: Part,
    pub both: Part,
}

/// One part of the sum of squares of the cells' means.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Part {
    pub ss: f64,
    pub share: f64,
    /// After df x residual variance / questions is taken off each part.
    pub share_beyond_chance: f64,
    pub f: f64,
    pub p: f64,
}

impl Spread {
    /// `shape` tells the numbers of values of two knobs, where the cells are every combination of them, the second running
    /// fastest. `None` for fewer than two cells or two questions.
    pub fn of(outcomes: &Outcomes, shape: Option<(usize, usize)>) -> Option<Spread> {
        let (cells, questions) = (outcomes.cells(), outcomes.questions());
        if cells < 2 || questions < 2 {
            return None;
        }
        let (k, q) = (cells as f64, questions as f64);
        let shares: Vec<Vec<f64>> = outcomes.shares().collect();
        let of_cell = |cell: usize| shares.iter().map(|question| question[cell]).sum::<f64>() / q;
        let means: Vec<f64> = (0..cells).map(of_cell).collect();
        let all = mean(&means)?;
        let residual_variance = residual(&shares, &means, all) / ((q - 1.0) * (k - 1.0));
        let std = sample_std(&means)?;
        let noise = residual_variance / q;
        let place = |better: fn(f64, f64) -> bool| {
            (1..cells).fold(
                0,
                |best, cell| if better(means[cell], means[best]) { cell } else { best },
            )
        };
        let (best, worst) = (place(|a, b| a > b), place(|a, b| a < b));
        let split = outcomes.split().len();
        let cochran_q = outcomes.is_single().then(|| cochran(&shares)).flatten();
        Some(Spread {
            questions,
            cells: (0..cells)
                .map(|cell| CellMean::of(&shares, cell, means[cell]))
                .collect(),
            mean: all,
            least: means[worst],
            most: means[best],
            range: means[best] - means[worst],
            std,
            residual_variance,
            noise_std: noise.sqrt(),
            range_by_chance: range_by_chance(cells, questions, residual_variance),
            std_beyond_chance: (std * std - noise).max(0.0).sqrt(),
            two_way: shape
                .filter(|(rows, columns)| rows * columns == cells && *rows > 1 && *columns > 1)
                .map(|shape| TwoWay::of(&means, shape, residual_variance, questions)),
            cochran_q,
            cochran_df: cells - 1,
            cochran_p: cochran_q.map(|value| chi_squared(value, k - 1.0).1),
            always_same: questions - split,
            depends_on_style: split as f64 / q,
            best,
            worst,
            best_against_worst: Against::of(outcomes, best, worst),
            consistency: shares.iter().map(|question| consistency(question)).sum::<f64>() / q,
        })
    }
}

/// Sum of squares of what question and cell leave.
fn residual(shares: &[Vec<f64>], means: &[f64], all: f64) -> f64 {
    let of_question = |question: &Vec<f64>| {
        let own = question.iter().sum::<f64>() / question.len() as f64;
        question
            .iter()
            .zip(means)
            .map(|(share, mean)| (share - own - mean + all).powi(2))
            .sum::<f64>()
    };
    shares.iter().map(of_question).sum()
}

/// Cochran's Q; `None` where every question has one outcome in all cells.
fn cochran(shares: &[Vec<f64>]) -> Option<f64> {
    let k = shares.first()?.len() as f64;
    let mut columns = vec![0.0; shares[0].len()];
    let (mut total, mut squares) = (0.0, 0.0);
    for question in shares {
        let right: f64 = question.iter().sum();
        total += right;
        squares += right * right;
        columns
            .iter_mut()
            .zip(question)
            .for_each(|(column, share)| *column += share);
    }
    let by_cell: f64 = columns.iter().map(|column| column * column).sum();
    let under = k * total - squares;
    (under > 0.0).then(|| (k - 1.0) * (k * by_cell - total * total) / under)
}

/// The share of pairs of cells with the same outcome; of several attempts, the chance that one of each has.
fn consistency(question: &[f64]) -> f64 {
    let pairs = |shares: &mut dyn Iterator<Item = f64>| {
        let (sum, squares) = shares.fold((0.0, 0.0), |(sum, squares), share| {
            (sum + share, squares + share * share)
        });
        (sum * sum - squares) / 2.0
    };
    let k = question.len() as f64;
    let right = pairs(&mut question.iter().copied());
    let wrong = pairs(&mut question.iter().map(|share| 1.0 - share));
    (right + wrong) / (k * (k - 1.0) / 2.0)
}

impl CellMean {
    fn of(shares: &[Vec<f64>], cell: usize, accuracy: f64) -> CellMean {
        let differences: Vec<f64> = shares
            .iter()
            .map(|question| question[cell] - question.iter().sum::<f64>() / question.len() as f64)
            .collect();
        let difference = mean(&differences).unwrap_or_default();
        let half = sample_std(&differences).map(|std| Z * std / (differences.len() as f64).sqrt());
        CellMean {
            accuracy,
            difference,
            ci95: half.map(|half| [difference - half, difference + half]),
        }
    }
}

impl Against {
    fn of(outcomes: &Outcomes, best: usize, worst: usize) -> Against {
        let paired = outcomes.pair(best, worst);
        let (best_only, worst_only) = paired.discordant().unzip();
        Against {
            difference: paired.difference().unwrap_or_default(),
            ci95: paired.interval().map(|interval| [interval.low, interval.high]),
            p: paired.p().0,
            best_only,
            worst_only,
        }
    }
}

impl TwoWay {
    fn of(means: &[f64], (rows, columns): (usize, usize), residual_variance: f64, questions: usize) -> TwoWay {
        let all = mean(means).unwrap_or_default();
        let of_row = |row: usize| mean(&means[row * columns..(row + 1) * columns]).unwrap_or_default();
        let of_column = |column: usize| (0..rows).map(|row| means[row * columns + column]).sum::<f64>() / rows as f64;
        let squares =
            |count: usize, of: &dyn Fn(usize) -> f64| (0..count).map(|at| (of(at) - all).powi(2)).sum::<f64>();
        let first = columns as f64 * squares(rows, &of_row);
        let second = rows as f64 * squares(columns, &of_column);
        let total: f64 = means.iter().map(|mean| (mean - all).powi(2)).sum();
        let freedom = [rows - 1, columns - 1, (rows - 1) * (columns - 1)].map(|number| number as f64);
        let parts = [first, second, (total - first - second).max(0.0)];
        let noise = residual_variance / questions as f64;
        let beyond: Vec<f64> = parts
            .iter()
            .zip(freedom)
            .map(|(ss, df)| (ss - df * noise).max(0.0))
            .collect();
        let lower = (questions as f64 - 1.0) * (means.len() as f64 - 1.0);
        let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        let part = |at: usize| {
            let f = share(parts[at] / freedom[at], noise);
            Part {
                ss: parts[at],
                share: share(parts[at], total),
                share_beyond_chance: share(beyond[at], beyond.iter().sum()),
                f,
                p: f_above(f, (freedom[at], lower)),
            }
        };
        TwoWay {
            first: part(0),
            second: part(1),
            both: part(2),
        }
    }
}

/// The range that so many equal cells show over so many questions: d2(cells) sqrt(residual variance / questions).
pub fn range_by_chance(cells: usize, questions: usize, residual_variance: f64) -> f64 {
    d2(cells) * (residual_variance / questions.max(1) as f64).sqrt()
}

/// The expected range of `n` standard normal values, to five digits as tables print it: the integral of
/// 1 - F(x)^n - (1 - F(x))^n.
pub fn d2(n: usize) -> f64 {
    const STEPS: usize = 2_000;
    const END: f64 = 9.0;
    let n = n.max(1) as i32;
    let value = |x: f64| 1.0 - (1.0 - normal_above(x)).powi(n) - normal_above(x).powi(n);
    let width = 2.0 * END / STEPS as f64;
    let weighted = |step: usize| {
        // Simpson's rule.
        let weight = match step {
            0 | STEPS => 1.0,
            step if step % 2 == 1 => 4.0,
            _ => 2.0,
        };
        weight * value(-END + step as f64 * width)
    };
    let integral = width / 3.0 * (0..=STEPS).map(weighted).sum::<f64>();
    (integral * 1e5).round() / 1e5
}
