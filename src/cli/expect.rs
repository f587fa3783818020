//! `check --expect`: a trace's promises as a gate for scripts.

use std::sync::LazyLock;

use anyhow::{Context, Result};
use regex::Regex;
use serde::Serialize;

use super::traces;
use crate::filter::{Filter, Mode};
use crate::text::thousands;
use crate::trace::{Rows, Trace};

/// `FILTER < 2%`, `FILTER = 0`.
#[derive(Debug, Clone)]
pub(super) struct Promise {
    text: String,
    filter: String,
    sign: String,
    bound: f64,
    is_share: bool,
}

/// A promise held against a trace.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Outcome {
    pub promise: String,
    pub trace: String,
    pub is_kept: bool,
    /// Rows that the filter chooses, of those that its words for exam, category and subject choose.
    pub rows: usize,
    pub of: usize,
    /// Shows the rows.
    pub look: String,
}

static FORM: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(.*\S)\s+(<=|>=|<|>|=)\s*([0-9][0-9_,]*(?:\.[0-9]+)?)\s*(%?)$").expect("a fixed pattern")
});

impl Promise {
    /// # Errors
    /// When it has another form, or its filter is none.
    pub(super) fn parse(text: &str) -> Result<Promise> {
        let found = FORM.captures(text.trim()).with_context(|| {
            format!("--expect {text:?}: written as a filter, a sign (< <= = >= >) and a count or share: 'invalid cat:law < 2%'")
        })?;
        Filter::parse(&found[1], Mode::Strict, &Rows::default()).with_context(|| format!("--expect {text:?}"))?;
        Ok(Promise {
            text: text.trim().to_owned(),
            filter: found[1].to_owned(),
            sign: found[2].to_owned(),
            bound: found[3]
                .replace(['_', ','], "")
                .parse()
                .with_context(|| format!("--expect {text:?}"))?,
            is_share: &found[4] == "%",
        })
    }

    /// Counts the rows that it speaks of.
    pub(super) fn hold(&self, all: &[Trace], trace: &Trace) -> Result<Outcome> {
        let filter = traces::read_filter(all, &self.filter)?;
        let rows = traces::select(trace, &filter, None)?.len();
        let of = traces::select(trace, &filter.categories_only(), None)?.len();
        let value = if self.is_share {
            100.0 * rows as f64 / of.max(1) as f64
        } else {
            rows as f64
        };
        let is_kept = match self.sign.as_str() {
            "<" => value < self.bound,
            "<=" => value <= self.bound,
            ">" => value > self.bound,
            ">=" => value >= self.bound,
            _ => (value - self.bound).abs() < 1e-9,
        };
        let path = trace
            .path
            .as_ref()
            .map_or_else(String::new, |path| format!(" {}", path.display()));
        Ok(Outcome {
            promise: self.text.clone(),
            trace: trace.name.clone(),
            is_kept,
            rows,
            of,
            look: format!("markbook open{path} -f '{}'", self.filter),
        })
    }
}

impl Outcome {
    /// `1.2 % (13 of 1,101)`.
    pub(super) fn figures(&self) -> String {
        let share = 100.0 * self.rows as f64 / self.of.max(1) as f64;
        format!("{share:.1} % ({} of {})", thousands(self.rows), thousands(self.of))
    }
}
