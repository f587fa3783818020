//! Counts that grow by one answer at a time, with the interval of their accuracy.

use crate::stats::Clusters;

/// Rows counted.
#[derive(Debug, Clone, Copy, Default)]
pub struct Tally {
    pub rows: usize,
    pub correct: usize,
    pub invalid: usize,
    clusters: Clusters,
}

/// What is known of a question before one more of its answers is counted.
#[derive(Debug, Clone, Copy, Default)]
pub struct Seen {
    pub rows: usize,
    pub correct: usize,
}

impl Tally {
    /// Counts one answer of a question of which `seen` was counted before.
    pub fn add(&mut self, seen: Seen, is_correct: bool, is_invalid: bool) {
        self.rows += 1;
        self.correct += usize::from(is_correct);
        self.invalid += usize::from(is_invalid);
        self.clusters
            .add_row(seen.rows, seen.correct as i64, i64::from(is_correct));
    }

    /// `None` without rows.
    pub fn accuracy(&self) -> Option<f64> {
        self.clusters.mean()
    }

    pub fn invalid_share(&self) -> f64 {
        self.invalid as f64 / self.rows.max(1) as f64
    }

    /// 95 % interval of the accuracy: Wilson's, or by question where questions have several rows.
    pub fn interval(&self) -> Option<(f64, f64)> {
        self.clusters.interval().map(|interval| (interval.low, interval.high))
    }
}
