//! How fast the screen was: first rows, filters, searches, key to repaint; and how much memory it took.

use std::time::Instant;

use serde_json::{Value, json};

use super::event::Event;
use super::shared::Shared;
use super::worker::Reply;

/// Measured while the screen is up; times in milliseconds.
#[derive(Debug, Clone)]
pub(super) struct Stats {
    begun: Instant,
    first_frame: Option<f64>,
    first_rows: Option<f64>,
    all_rows: Option<f64>,
    /// Memory when the first rows stood on the screen, in MB.
    at_first_rows: Option<f64>,
    /// Memory when all rows were there, in MB.
    at_all_rows: Option<f64>,
    diagnosed: Option<f64>,
    repaints: Vec<f64>,
    /// Of keys that were pressed while a search was at work.
    repaints_in_search: Vec<f64>,
    /// By the worker, from the request to the last row.
    filters: Vec<f64>,
    first_hits: Vec<f64>,
    searches: Vec<f64>,
    /// From the key to the final count on the screen.
    counts: Vec<f64>,
    search_counts: Vec<f64>,
    /// The key whose count is awaited.
    awaited: Option<Instant>,
    was_searching: bool,
    rows: usize,
}

impl Default for Stats {
    fn default() -> Stats {
        Stats {
            begun: Instant::now(),
            first_frame: None,
            first_rows: None,
            all_rows: None,
            at_first_rows: None,
            at_all_rows: None,
            diagnosed: None,
            repaints: Vec::new(),
            repaints_in_search: Vec::new(),
            filters: Vec::new(),
            first_hits: Vec::new(),
            searches: Vec::new(),
            counts: Vec::new(),
            search_counts: Vec::new(),
            awaited: None,
            was_searching: false,
            rows: 0,
        }
    }
}

fn ms(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

impl Stats {
    /// An event was taken in; `pressed` is when the first key since the last frame came.
    pub fn updated(&mut self, shared: &Shared, pressed: Option<Instant>) {
        self.was_searching |= shared.is_searching();
        if let Some(pressed) = pressed
            && !shared.workspace.is_current()
        {
            self.awaited = Some(pressed);
        }
    }

    /// A frame stands on the screen; `pressed` is when the key that it answers came.
    pub fn drawn(&mut self, shared: &Shared, pressed: Option<Instant>) {
        let now = ms(self.begun);
        self.first_frame.get_or_insert(now);
        if shared.shows_rows() {
            self.first_rows.get_or_insert(now);
            self.at_first_rows = self.at_first_rows.or_else(|| memory_mb("VmRSS:"));
            if shared.shows_all_rows() {
                self.all_rows.get_or_insert(now);
                self.at_all_rows = self.at_all_rows.or_else(|| memory_mb("VmRSS:"));
            }
        }
        if let Some(pressed) = pressed {
            self.repaints.push(ms(pressed));
            if self.was_searching {
                self.repaints_in_search.push(ms(pressed));
            }
        }
        self.was_searching = shared.is_searching();
        if shared.workspace.is_current()
            && let Some(awaited) = self.awaited.take()
        {
            let counts = if shared.has_text_words() {
                &mut self.search_counts
            } else {
                &mut self.counts
            };
            counts.push(ms(awaited));
        }
    }

    pub fn heard(&mut self, event: &Event) {
        match event {
            Event::Worker(Reply::Selected(selected)) => {
                let took = selected.took.as_secs_f64() * 1e3;
                match (selected.is_search, selected.is_complete) {
                    (false, _) => self.filters.push(took),
                    (true, true) => self.searches.push(took),
                    (true, false) => {}
                }
                if selected.is_first_hit {
                    self.first_hits.push(took);
                }
            }
            Event::Worker(Reply::Snapshot(snapshot)) => self.rows = snapshot.rows().len(),
            Event::Diagnosed(..) => self.diagnosed = Some(ms(self.begun)),
            _ => {}
        }
    }

    pub fn json(&self) -> Value {
        json!({
            "rows": self.rows,
            "first_frame_ms": self.first_frame,
            "first_rows_ms": self.first_rows,
            "all_rows_ms": self.all_rows,
            "diagnosed_ms": self.diagnosed,
            "resident_first_rows_mb": self.at_first_rows,
            "resident_before_text_mb": self.at_all_rows,
            "resident_mb": memory_mb("VmRSS:"),
            "resident_peak_mb": memory_mb("VmHWM:"),
            "keys": self.repaints.len(),
            "key_to_repaint_p50_ms": quantile(&self.repaints, 0.5),
            "key_to_repaint_p99_ms": quantile(&self.repaints, 0.99),
            "keys_in_search": self.repaints_in_search.len(),
            "key_to_repaint_in_search_p50_ms": quantile(&self.repaints_in_search, 0.5),
            "key_to_repaint_in_search_p99_ms": quantile(&self.repaints_in_search, 0.99),
            "filters": self.filters.len(),
            "filter_p50_ms": quantile(&self.filters, 0.5),
            "filter_max_ms": quantile(&self.filters, 1.0),
            "key_to_filter_count_p50_ms": quantile(&self.counts, 0.5),
            "key_to_filter_count_max_ms": quantile(&self.counts, 1.0),
            "searches": self.searches.len(),
            "search_first_hit_p50_ms": quantile(&self.first_hits, 0.5),
            "search_first_hit_max_ms": quantile(&self.first_hits, 1.0),
            "search_full_count_p50_ms": quantile(&self.searches, 0.5),
            "search_full_count_max_ms": quantile(&self.searches, 1.0),
            "key_to_search_count_p50_ms": quantile(&self.search_counts, 0.5),
            "key_to_search_count_max_ms": quantile(&self.search_counts, 1.0),
        })
    }
}

fn quantile(values: &[f64], share: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = ((sorted.len() as f64 * share).ceil() as usize).clamp(1, sorted.len().max(1)) - 1;
    sorted.get(at).copied()
}

/// Memory of the process, where the platform tells: `VmRSS:` now, `VmHWM:` at its most.
fn memory_mb(name: &str) -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with(name))?;
    let kilobytes: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes / 1024.0)
}
