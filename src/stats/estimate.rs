//! Estimates and their uncertainty: standard errors as the harness computes them, Wilson and clustered intervals.

use serde::Serialize;

use super::Tally;

/// The 97.5 % point of the normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// Fewest effective right and effective wrong answers for the normal interval to be trusted.
const ENOUGH: f64 = 10.0;

/// Where an accuracy lies with 95 % confidence; fractions in 0-1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
    pub kind: IntervalKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum IntervalKind {
    /// One row a question.
    Wilson,
    /// Several attempts of a question: they are not independent, questions are.
    Clustered,
}

pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Sample standard deviation (n - 1); `None` for fewer than two values.
pub fn sample_std(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|_| values.len() > 1)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

/// The harness's standard error of an accuracy: sample standard deviation over root n. `None` for fewer than two rows.
pub fn mean_stderr(tally: Tally) -> Option<f64> {
    let (n, correct) = (tally.n as f64, tally.correct as f64);
    (tally.n > 1).then(|| (correct * (n - correct) / n / (n - 1.0)).sqrt() / n.sqrt())
}

/// The harness's standard error of a group (`pooled_sample_stderr`) over its leaf tasks; `None` where one of them has
/// a single row. It leaves out the spread between the leaves.
pub fn pooled_stderr(leaves: &[Tally]) -> Option<f64> {
    let rows: usize = leaves.iter().map(|leaf| leaf.n).sum();
    let mut squares = 0.0;
    for leaf in leaves {
        squares += (leaf.n as f64 - 1.0) * mean_stderr(*leaf)?.powi(2) * leaf.n as f64;
    }
    let freedom = rows.checked_sub(leaves.len()).filter(|freedom| *freedom > 0)?;
    Some((squares / freedom as f64 / rows as f64).sqrt())
}

/// Wilson's 95 % interval of `correct` out of `n`; both may be effective numbers. `None` for n = 0.
pub fn wilson(correct: f64, n: f64) -> Option<(f64, f64)> {
    if n <= 0.0 {
        return None;
    }
    let share = correct / n;
    let weight = 1.0 + Z * Z / n;
    let centre = (share + Z * Z / (2.0 * n)) / weight;
    let half = Z / weight * (share * (1.0 - share) / n + Z * Z / (4.0 * n * n)).sqrt();
    Some(((centre - half).max(0.0), (centre + half).min(1.0)))
}

/// Sums over questions from which the mean over rows and its cluster-robust standard error follow.
#[derive(Debug, Clone, Copy, Default)]
pub struct Clusters {
    count: usize,
    rows: i64,
    total: i64,
    rows_squared: i64,
    total_squared: i64,
    rows_total: i64,
}

impl Clusters {
    /// One question: its number of rows and the sum of their values (correct ones; or differences).
    pub fn add(&mut self, rows: usize, total: i64) {
        let rows = rows as i64;
        self.count += 1;
        self.rows += rows;
        self.total += total;
        self.rows_squared += rows * rows;
        self.total_squared += total * total;
        self.rows_total += rows * total;
    }

    /// One more row, of a question of which `rows` with the sum `total` are in already.
    pub fn add_row(&mut self, rows: usize, total: i64, value: i64) {
        if rows > 0 {
            let rows = rows as i64;
            self.count -= 1;
            self.rows -= rows;
            self.total -= total;
            self.rows_squared -= rows * rows;
            self.total_squared -= total * total;
            self.rows_total -= rows * total;
        }
        self.add(rows + 1, total + value);
    }

    /// How many questions.
    pub fn count(&self) -> usize {
        self.count
    }

    pub fn mean(&self) -> Option<f64> {
        (self.rows > 0).then(|| self.total as f64 / self.rows as f64)
    }

    /// Whether some question has several rows.
    pub fn has_repeats(&self) -> bool {
        self.rows > self.count as i64
    }

    /// Cluster-robust standard error of the mean, with the factor G / (G - 1); `None` for fewer than two questions.
    pub fn stderr(&self) -> Option<f64> {
        let mean = self.mean().filter(|_| self.count > 1)?;
        let squares =
            self.total_squared as f64 - 2.0 * mean * self.rows_total as f64 + mean * mean * self.rows_squared as f64;
        let count = self.count as f64;
        Some((squares.max(0.0) * count / (count - 1.0)).sqrt() / self.rows as f64)
    }

    /// The 95 % interval of an accuracy. With several rows a question it is mean ± 1.96 standard errors; where that
    /// leaves fewer than ten effective right or wrong answers, Wilson's on the effective number of rows
    /// (mean (1 - mean) / stderr²), which stays within 0-1 and keeps a width at 0 and 1.
    pub fn interval(&self) -> Option<Interval> {
        let mean = self.mean()?;
        if !self.has_repeats() {
            let (low, high) = wilson(self.total as f64, self.rows as f64)?;
            return Some(Interval {
                low,
                high,
                kind: IntervalKind::Wilson,
            });
        }
        let questions = self.count as f64;
        let stderr = self.stderr().filter(|stderr| *stderr > 0.0);
        // Rows tell no less than one row a question, and no more than if they were independent.
        let effective = stderr.map_or(questions, |stderr| mean * (1.0 - mean) / (stderr * stderr));
        let effective = effective.clamp(questions, self.rows as f64);
        let (low, high) = match stderr {
            Some(stderr) if effective * mean.min(1.0 - mean) >= ENOUGH => {
                ((mean - Z * stderr).max(0.0), (mean + Z * stderr).min(1.0))
            }
            _ => wilson(mean * effective, effective)?,
        };
        Some(Interval {
            low,
            high,
            kind: IntervalKind::Clustered,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: Option<f64>, expected: f64) -> bool {
        found.is_some_and(|found| (found - expected).abs() < 1e-4)
    }

    #[test]
    fn wilson_agrees_with_known_values() {
        for (correct, n, low, high) in [
            (7.0, 60.0, 0.0577, 0.2218),
            (0.0, 10.0, 0.0, 0.2775),
            (1.0, 5.0, 0.0362, 0.6245),
        ] {
            let (found_low, found_high) = wilson(correct, n).unwrap();
            assert!(
                near(Some(found_low), low) && near(Some(found_high), high),
                "{correct}/{n}: {found_low} {found_high}"
            );
        }
        assert_eq!(wilson(0.0, 0.0), None);
    }

    #[test]
    fn attempts_that_always_agree_tell_no_more_than_one() {
        let (mut five, mut one) = (Clusters::default(), Clusters::default());
        for question in 0..400 {
            let right = i64::from(question % 3 == 0);
            five.add(5, 5 * right);
            one.add(1, right);
        }
        assert!(near(five.stderr(), one.stderr().unwrap()));
        let (five, one) = (five.interval().unwrap(), one.interval().unwrap());
        assert_eq!((five.kind, one.kind), (IntervalKind::Clustered, IntervalKind::Wilson));
        assert!((five.high - five.low - (one.high - one.low)).abs() < 1e-3);
    }

    #[test]
    fn rows_one_by_one_amount_to_whole_questions() {
        let (mut whole, mut grown) = (Clusters::default(), Clusters::default());
        for question in [[1, 0, 1], [0, 0, 0], [1, 1, 1]] {
            whole.add(3, question.iter().sum());
        }
        for attempt in 0..3 {
            for question in [[1, 0, 1], [0, 0, 0], [1, 1, 1]] {
                grown.add_row(attempt, question[..attempt].iter().sum(), question[attempt]);
            }
        }
        assert_eq!(
            (grown.count(), grown.mean(), grown.stderr()),
            (3, whole.mean(), whole.stderr())
        );
        assert_eq!(grown.interval(), whole.interval());
    }

    #[test]
    fn attempts_at_chance_tell_as_much_as_rows() {
        let mut clusters = Clusters::default();
        for question in 0..1000_i64 {
            clusters.add(2, [0, 1, 1, 2][question as usize % 4]);
        }
        let binomial = (0.25_f64 / 2000.0).sqrt();
        assert!(near(clusters.stderr(), binomial));
    }

    #[test]
    fn few_or_uniform_questions_keep_an_honest_width() {
        let mut clusters = Clusters::default();
        clusters.add(5, 0);
        clusters.add(5, 0);
        let interval = clusters.interval().unwrap();
        let (low, high) = wilson(0.0, 2.0).unwrap();
        assert_eq!(
            (interval.low, interval.high),
            (low, high),
            "ten rows of two questions are two"
        );
        assert_eq!(Clusters::default().interval(), None);
    }

    #[test]
    fn pooled_error_is_null_where_a_subject_has_one_row() {
        let tally = |n, correct| Tally { n, correct, invalid: 0 };
        assert!(pooled_stderr(&[tally(10, 4), tally(1, 1)]).is_none());
        assert_eq!(pooled_stderr(&[]), None);
        assert!(near(pooled_stderr(&[tally(10, 7)]), 0.152_752));
    }
}
