//! Baselines by name, and every verdict that was given. A baseline's file is the truth; here is where it lies and what it froze.

use std::path::{Path, PathBuf};

use anyhow::Result;
use rusqlite::OptionalExtension;

use super::{Catalogue, now};

/// A baseline as it is entered.
#[derive(Debug, Clone, Copy)]
pub struct Frozen<'a> {
    pub name: &'a str,
    pub path: &'a Path,
    pub run_id: &'a str,
    /// Hashes of the card; the slice is empty where it is not known.
    pub procedure: &'a str,
    pub slice: &'a str,
    /// In 0-1.
    pub threshold: f64,
    pub sha256: &'a str,
    /// RFC 3339.
    pub frozen_at: &'a str,
    pub reason: Option<&'a str>,
}

/// A verdict as it is entered.
#[derive(Debug, Clone, Copy)]
pub struct Judged<'a> {
    pub baseline: &'a str,
    pub run_id: &'a str,
    pub verdict: &'a str,
    /// New less baseline in 0-1, its limits, its p value; none where nothing could be compared.
    pub change: Option<(f64, [f64; 2], f64)>,
    pub threshold: f64,
}

impl Catalogue {
    /// Enters a baseline; one of the same name gives way.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn froze(&mut self, frozen: &Frozen) -> Result<()> {
        let path = frozen.path.display().to_string();
        let statement = "INSERT OR REPLACE INTO baseline (name, path, run_id, procedure, slice, threshold, sha256, frozen_at, reason)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
        let (hashes, told) = ((frozen.procedure, frozen.slice), (frozen.frozen_at, frozen.reason));
        let values = (
            frozen.name,
            path,
            frozen.run_id,
            hashes.0,
            hashes.1,
            frozen.threshold,
            frozen.sha256,
            told.0,
            told.1,
        );
        self.change(|db| Ok(db.execute(statement, values).map(|_| ())?))
    }

    /// Takes a baseline out of the index.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn dropped(&mut self, name: &str) -> Result<()> {
        self.change(|db| Ok(db.execute("DELETE FROM baseline WHERE name = ?1", [name]).map(|_| ())?))
    }

    /// Enters a verdict; none is ever taken away.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn judged(&mut self, judged: &Judged) -> Result<()> {
        let statement = "INSERT INTO gate (at, baseline, run_id, verdict, change, low, high, p, threshold)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
        let change = judged.change;
        let values = (
            now(),
            judged.baseline,
            judged.run_id,
            judged.verdict,
            change.map(|change| change.0),
            change.map(|change| change.1[0]),
            change.map(|change| change.1[1]),
            change.map(|change| change.2),
            judged.threshold,
        );
        self.change(|db| Ok(db.execute(statement, values).map(|_| ())?))
    }

    /// The run that a baseline was frozen of, and the baseline's file.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn baseline(&self, name: &str) -> Result<Option<(String, PathBuf)>> {
        let query = "SELECT run_id, path FROM baseline WHERE name = ?1";
        let found = self.db.query_row(query, [name], |row| {
            Ok((row.get(0)?, PathBuf::from(row.get::<_, String>(1)?)))
        });
        Ok(found.optional()?)
    }
}
