//! How fast the screen was: first rows, filters, key to repaint.

use std::time::Instant;

use serde_json::{Value, json};

use super::app::{App, Event};
use super::worker::Reply;

/// Measured while the screen is up; times in milliseconds.
#[derive(Debug, Clone)]
pub(super) struct Stats {
    begun: Instant,
    first_frame: Option<f64>,
    first_rows: Option<f64>,
    diagnosed: Option<f64>,
    repaints: Vec<f64>,
    filters: Vec<f64>,
    rows: usize,
}

impl Default for Stats {
    fn default() -> Stats {
        Stats {
            begun: Instant::now(),
            first_frame: None,
            first_rows: None,
            diagnosed: None,
            repaints: Vec::new(),
            filters: Vec::new(),
            rows: 0,
        }
    }
}

impl Stats {
    fn since(&self) -> f64 {
        self.begun.elapsed().as_secs_f64() * 1e3
    }

    /// A frame stands on the screen; `pressed` is when the key that it answers came.
    pub fn drawn(&mut self, app: &App, pressed: Option<Instant>) {
        let now = self.since();
        self.first_frame.get_or_insert(now);
        if app.shows_rows() {
            self.first_rows.get_or_insert(now);
        }
        self.repaints
            .extend(pressed.map(|pressed| pressed.elapsed().as_secs_f64() * 1e3));
    }

    pub fn heard(&mut self, event: &Event) {
        match event {
            Event::Worker(Reply::Selected(selected)) if selected.is_complete => {
                self.filters.push(selected.took.as_secs_f64() * 1e3);
            }
            Event::Worker(Reply::Snapshot(snapshot)) => self.rows = snapshot.rows().len(),
            Event::Diagnosed(_) => self.diagnosed = Some(self.since()),
            _ => {}
        }
    }

    pub fn json(&self) -> Value {
        json!({
            "rows": self.rows,
            "first_frame_ms": self.first_frame,
            "first_rows_ms": self.first_rows,
            "diagnosed_ms": self.diagnosed,
            "keys": self.repaints.len(),
            "key_to_repaint_p50_ms": quantile(&self.repaints, 0.5),
            "key_to_repaint_p99_ms": quantile(&self.repaints, 0.99),
            "filters": self.filters.len(),
            "filter_p50_ms": quantile(&self.filters, 0.5),
            "filter_max_ms": quantile(&self.filters, 1.0),
            "resident_mb": resident_mb(),
        })
    }
}

fn quantile(values: &[f64], share: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = ((sorted.len() as f64 * share).ceil() as usize).clamp(1, sorted.len().max(1)) - 1;
    sorted.get(at).copied()
}

/// Memory that the process holds, where the platform tells.
fn resident_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    let kilobytes: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes / 1024.0)
}
