//! Reading entries: lists for people and screens, and the one that a name stands for.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use rusqlite::Row;
use serde::Serialize;
use serde_json::Value;

use super::{Catalogue, now};
use crate::card::{Card, shown};

/// An entry, as lists show it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Listed {
    pub run_id: String,
    pub kind: String,
    pub is_complete: bool,
    pub benchmark: String,
    pub model: String,
    /// The rule of the figures, or `stored`.
    pub rule: String,
    pub rows: usize,
    /// Rows when complete, where that is known.
    pub planned: Option<usize>,
    pub questions: usize,
    pub attempts: usize,
    pub procedure: String,
    pub slice: Option<String>,
    pub model_hash: String,
    pub environment: String,
    /// Procedure fields that are unknown.
    pub unknown: usize,
    /// UTC, RFC 3339.
    pub created_at: String,
    /// In 0-1, as are its limits; none before the first answer.
    pub accuracy: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    pub stderr: Option<f64>,
    pub correct: usize,
    pub invalid: usize,
    pub style: Option<String>,
    pub shots: Option<String>,
    pub chat: Option<String>,
    pub temperature: Option<String>,
    /// The place where it was seen last and still is; none where all are gone.
    pub path: Option<PathBuf>,
    pub places: usize,
    pub tags: Vec<String>,
    pub note: Option<String>,
    pub is_hidden: bool,
    /// Baselines that were frozen of it.
    pub baselines: Vec<String>,
}

impl Listed {
    /// Whether its rows can no longer be read. The recorded demo is inside the program.
    pub fn is_gone(&self) -> bool {
        self.path.is_none() && !self.is_demo()
    }

    pub fn is_demo(&self) -> bool {
        self.tags.iter().any(|tag| tag == "demo") && self.places == 0
    }

    /// The measurement: runs that have the same can be ranked.
    pub fn measurement(&self) -> (&str, &str, &str) {
        (
            &self.benchmark,
            &self.procedure,
            self.slice.as_deref().unwrap_or_default(),
        )
    }

    fn of(row: &Row) -> rusqlite::Result<Listed> {
        let count = |name: &str| row.get::<_, Option<i64>>(name).map(|count| count.unwrap_or(0) as usize);
        let lines = |name: &str| {
            let text = row.get::<_, Option<String>>(name)?.unwrap_or_default();
            Ok::<_, rusqlite::Error>(text.lines().map(str::to_owned).collect::<Vec<_>>())
        };
        // The card's JSON is read once for all of these.
        let told: Vec<Value> = serde_json::from_str(&row.get::<_, String>("told")?).unwrap_or_default();
        let told = |at: usize| told.get(at).filter(|value| !value.is_null());
        Ok(Listed {
            run_id: row.get("run_id")?,
            kind: row.get("kind")?,
            is_complete: row.get::<_, String>("state")? == "complete",
            benchmark: row.get("benchmark")?,
            model: row.get("model")?,
            rule: row.get("rule")?,
            rows: count("rows")?,
            planned: told(0).and_then(Value::as_u64).map(|rows| rows as usize),
            questions: count("questions")?,
            attempts: count("attempts")?,
            procedure: row.get("procedure")?,
            slice: row.get("slice")?,
            model_hash: row.get("model_hash")?,
            environment: row.get("environment")?,
            unknown: count("unknown")?,
            created_at: row.get("created_at")?,
            accuracy: row.get("accuracy")?,
            low: row.get("low")?,
            high: row.get("high")?,
            stderr: row.get("stderr")?,
            correct: count("correct")?,
            invalid: count("invalid")?,
            style: told(1).map(shown),
            shots: told(2).map(shown),
            chat: told(3).map(shown),
            temperature: told(4).map(shown),
            path: row.get::<_, Option<String>>("path")?.map(PathBuf::from),
            places: count("places")?,
            tags: lines("tags")?,
            note: row.get("note")?,
            is_hidden: row.get("hidden")?,
            baselines: lines("baselines")?,
        })
    }
}

const LIST: &str = "
SELECT t.run_id, t.kind, t.state, t.benchmark, t.model, t.rule, t.rows, t.questions, t.attempts, t.procedure, t.slice,
  t.model_hash, t.environment, t.unknown, t.created_at, s.accuracy, s.low, s.high, s.stderr, s.correct, s.invalid,
  json_extract(t.card, '$.counts.planned', '$.prompt.style', '$.prompt.shots', '$.prompt.chat', '$.sampling.temperature') AS told,
  (SELECT path FROM place p WHERE p.trace = t.id AND p.gone_at IS NULL ORDER BY p.seen_at DESC LIMIT 1) AS path,
  (SELECT count(*) FROM place p WHERE p.trace = t.id) AS places,
  (SELECT group_concat(text, char(10)) FROM label l WHERE l.trace = t.id AND l.kind = 'tag') AS tags,
  (SELECT text FROM label l WHERE l.trace = t.id AND l.kind = 'note') AS note,
  EXISTS (SELECT 1 FROM label l WHERE l.trace = t.id AND l.kind = 'hidden') AS hidden,
  (SELECT group_concat(name, char(10)) FROM baseline b WHERE b.run_id = t.run_id) AS baselines
FROM trace t LEFT JOIN score s ON s.trace = t.id AND s.rule = t.rule AND s.scope = 'all' AND s.name = ''";

/// The newest first; of equal times the one entered last.
const ORDER: &str = " ORDER BY t.created_at DESC, t.id DESC";

impl Catalogue {
    /// All entries, the newest first. One query: a thousand take some milliseconds.
    pub fn list(&self) -> Result<Vec<Listed>> {
        self.listed("", &[])
    }

    fn listed(&self, condition: &str, values: &[&str]) -> Result<Vec<Listed>> {
        let named = || format!("the catalogue {} cannot be read", self.path.display());
        let mut query = self
            .db
            .prepare(&format!("{LIST}{condition}{ORDER}"))
            .with_context(named)?;
        let rows = query.query_map(rusqlite::params_from_iter(values), Listed::of);
        rows.and_then(Iterator::collect).with_context(named)
    }

    /// The entry of a name: an id or its unique beginning, or `last` (the newest run of markbook, else the newest trace).
    ///
    /// # Errors
    /// When none has it, or several do; the message lists them.
    pub fn find(&self, name: &str) -> Result<Listed> {
        if name == "last" {
            let all = self.list()?;
            let newest = |own: bool| {
                all.iter()
                    .find(|entry| !entry.is_demo() && (!own || entry.kind == "markbook run"))
            };
            let last = newest(true).or_else(|| newest(false)).cloned();
            return last.context("there is no last run: none is in the catalogue");
        }
        let mut found = self.listed(" WHERE substr(t.run_id, 1, length(?1)) = ?1", &[name])?;
        if let Some(exact) = found.iter().position(|entry| entry.run_id == name) {
            return Ok(found.swap_remove(exact));
        }
        match found.len() {
            0 => bail!("no run {name:?} is in the catalogue (markbook runs --print lists them)"),
            1 => Ok(found.remove(0)),
            more => {
                let ids: Vec<&str> = found.iter().take(5).map(|entry| entry.run_id.as_str()).collect();
                bail!("{more} runs begin with {name:?}: {}", ids.join(", "))
            }
        }
    }

    /// An entry's card.
    pub fn card(&self, run_id: &str) -> Result<Card> {
        let query = "SELECT card FROM trace WHERE run_id = ?1";
        let text: String = self.db.query_row(query, [run_id], |row| row.get(0))?;
        Ok(Card::read(serde_json::from_str::<Value>(&text)?))
    }

    /// Looks whether each place is still there; gives how many changed.
    pub fn look_at_places(&mut self) -> Result<usize> {
        let query = "SELECT trace, path, gone_at IS NOT NULL FROM place";
        let places: Vec<(i64, String, bool)> = {
            let mut query = self.db.prepare(query)?;
            let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
            rows.collect::<rusqlite::Result<_>>()?
        };
        let changed: Vec<_> = places
            .into_iter()
            .filter(|(_, path, gone)| Path::new(path).exists() == *gone)
            .collect();
        if changed.is_empty() {
            return Ok(0);
        }
        self.change(|db| {
            for (trace, path, was_gone) in &changed {
                let gone_at = (!was_gone).then(now);
                db.execute(
                    "UPDATE place SET gone_at = ?3 WHERE trace = ?1 AND path = ?2",
                    (trace, path, gone_at),
                )?;
            }
            Ok(changed.len())
        })
    }
}
