//! Entering runs and traces: one transaction an entry, whole or not at all.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use chrono::{DateTime, SecondsFormat, Utc};
use rusqlite::{OptionalExtension, Transaction, named_params};

use super::{Catalogue, now};
use crate::card::{self, Card, Part};
use crate::files;
use crate::stats::{IntervalKind, Labels, Questions, Slice, Sum, by_attempt};
use crate::store::folder_name;
use crate::trace::{Provenance, Trace};

/// One benchmark of a run or trace, ready to be entered.
#[derive(Debug, Clone)]
pub struct Entry {
    pub card: Card,
    source_key: String,
    content: String,
    kind: String,
    is_own: bool,
    is_complete: bool,
    /// The rule by which its figures are counted, where that is not the stored one.
    rescored: Option<String>,
    /// UTC; none where it tells no date.
    created_at: Option<String>,
    place: Option<PathBuf>,
    scores: Vec<Score>,
    tags: Vec<String>,
}

/// A line of the table `score`.
#[derive(Debug, Clone)]
struct Score {
    scope: &'static str,
    name: String,
    sum: Sum,
}

/// What a trace is entered as, an entry for each of its benchmarks. Reads every row.
///
/// # Errors
/// When a row cannot be read.
pub fn entries(trace: &Trace) -> Result<Vec<Entry>> {
    // The card is that of the stored picks; another rule's figures stand beside them.
    let unruled = trace.rule.is_some().then(|| Trace {
        rule: None,
        ..trace.clone()
    });
    let cards = card::each(unruled.as_ref().unwrap_or(trace))?;
    Ok(cards
        .into_iter()
        .map(|(rows, card)| Entry::new(trace, &rows, card))
        .collect())
}

impl Entry {
    fn new(trace: &Trace, rows: &[u32], card: Card) -> Entry {
        let run = trace.ours();
        let is_demo = trace.path.is_none() && run.is_some();
        let is_own = run.is_some();
        let content = card.content().to_owned();
        let created = card.get("run.started").as_str().and_then(utc);
        Entry {
            source_key: run.map_or_else(|| content.clone(), |run| run.key()),
            content,
            kind: if is_own {
                "markbook run".to_owned()
            } else {
                trace.kind.clone()
            },
            is_own,
            is_complete: run.is_none_or(|run| run.ended.is_some() && run.finished >= run.rows),
            rescored: trace.rule.clone(),
            created_at: created,
            place: trace.path.as_ref().and_then(|path| std::path::absolute(path).ok()),
            scores: scores(Slice::of(&trace.rows, rows)),
            tags: if is_demo { vec!["demo".to_owned()] } else { Vec::new() },
            card,
        }
    }

    /// Date, model, benchmark and the beginning of the key.
    fn run_id(&self, digits: usize) -> String {
        let date = self.created_at.as_ref().and_then(|at| at.get(..10));
        let date = date.map_or_else(|| "undated".to_owned(), |date| date.replace('-', ""));
        let parts = [self.model(), self.benchmark()].map(|part| folder_name(&part));
        format!(
            "{date}-{}-{}-{}",
            parts[0],
            parts[1],
            &self.source_key[..digits.min(self.source_key.len())]
        )
    }

    fn model(&self) -> String {
        let name = self.card.text("model.name");
        if name.is_empty() { "unknown".to_owned() } else { name }
    }

    fn benchmark(&self) -> String {
        let name = self.card.text("benchmark");
        if name.is_empty() { "trace".to_owned() } else { name }
    }

    fn rule(&self) -> String {
        let rule = self.card.text("rule");
        if rule.is_empty() { "stored".to_owned() } else { rule }
    }

    /// The rule of the scores.
    fn counted_by(&self) -> String {
        self.rescored.clone().unwrap_or_else(|| self.rule())
    }
}

/// A date as UTC, so that dates sort as texts.
fn utc(text: &str) -> Option<String> {
    let date = DateTime::parse_from_rfc3339(text).ok()?;
    Some(date.with_timezone(&Utc).to_rfc3339_opts(SecondsFormat::Secs, true))
}

fn scores(slice: Slice) -> Vec<Score> {
    let mut scores = Vec::new();
    if slice.is_empty() {
        return scores;
    }
    let (rows, questions) = (slice.rows, Questions::of(slice));
    for (scope, names) in [("category", &rows.category), ("subject", &rows.subject)] {
        let groups = questions.group(
            slice,
            |row| names.code(row),
            |code| names.list()[code as usize].to_string(),
        );
        if scores.is_empty() {
            scores.push(Score {
                scope: "all",
                name: String::new(),
                sum: groups.total,
            });
        }
        scores.extend(groups.iter().map(|(name, sum)| Score {
            scope,
            name: name.clone(),
            sum: *sum,
        }));
    }
    let attempts = by_attempt(slice);
    scores.extend(attempts.sums.iter().map(|(label, sum)| Score {
        scope: "seed",
        name: match attempts.labels {
            Labels::Seeds => label.to_string(),
            Labels::Attempts => format!("attempt {label}"),
        },
        sum: *sum,
    }));
    scores
}

impl Catalogue {
    /// Enters a trace, or what is new of one that is known; gives the ids of its entries.
    ///
    /// # Errors
    /// When the file cannot be written; nothing of the trace is entered then.
    pub fn enter(&mut self, entries: &[Entry]) -> Result<Vec<String>> {
        self.change(|db| entries.iter().map(|entry| enter(db, entry)).collect())
    }

    /// Enters cells of a study, each with its knobs as a JSON object, that read the run `run_id`.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn enter_cells(&mut self, study: &Path, run_id: &str, cells: &[(String, String)]) -> Result<()> {
        let study = std::path::absolute(study)?.display().to_string();
        self.change(|db| {
            for (cell, knobs) in cells {
                db.execute(
                    "INSERT OR REPLACE INTO study_member SELECT ?1, ?2, id, ?3 FROM trace WHERE run_id = ?4",
                    (&study, cell, knobs, run_id),
                )?;
            }
            Ok(())
        })
    }

    /// Keeps what a check found of a trace, as kind, rows and words, in place of what the last one did.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn enter_findings(&mut self, run_id: &str, findings: &[(&str, usize, &str)]) -> Result<()> {
        self.change(|db| {
            let trace = "trace = (SELECT id FROM trace WHERE run_id = ?1)";
            db.execute(&format!("DELETE FROM finding WHERE {trace}"), [run_id])?;
            for (kind, rows, detail) in findings {
                db.execute(
                    "INSERT OR IGNORE INTO finding SELECT id, ?2, ?3, ?4, ?5 FROM trace WHERE run_id = ?1",
                    (run_id, kind, *rows as i64, detail, now()),
                )?;
            }
            Ok(())
        })
    }
}

fn enter(db: &Transaction, entry: &Entry) -> Result<String> {
    let known = known(db, entry)?;
    let id = match known {
        Some(id) => id,
        None => insert(db, entry)?,
    };
    if entry.is_own || known.is_none() {
        update(db, id, entry)?;
        if entry.is_own {
            take_over(db, id, entry)?;
        }
    }
    write_scores(db, id, entry)?;
    note_places(db, id, entry)?;
    for tag in &entry.tags {
        db.execute(
            "INSERT OR IGNORE INTO label VALUES (?1, 'tag', ?2, ?3)",
            (id, tag, now()),
        )?;
    }
    Ok(db.query_row("SELECT run_id FROM trace WHERE id = ?1", [id], |row| row.get(0))?)
}

/// The entry that stands for the same: of a run folder by its key alone, of anything else by what its rows say.
fn known(db: &Transaction, entry: &Entry) -> Result<Option<i64>> {
    let by_key = "SELECT id FROM trace WHERE source_key = ?1";
    let by_content = "SELECT id FROM trace WHERE content = ?1 ORDER BY id LIMIT 1";
    let (query, key) = if entry.is_own {
        (by_key, &entry.source_key)
    } else {
        (by_content, &entry.content)
    };
    Ok(db.query_row(query, [key], |row| row.get(0)).optional()?)
}

fn insert(db: &Transaction, entry: &Entry) -> Result<i64> {
    let taken = |id: &String| -> rusqlite::Result<bool> {
        db.query_row("SELECT EXISTS (SELECT 1 FROM trace WHERE run_id = ?1)", [id], |row| {
            row.get(0)
        })
    };
    let mut run_id = entry.run_id(8);
    if taken(&run_id)? {
        run_id = entry.run_id(64);
    }
    let at = now();
    db.execute(
        "INSERT INTO trace (run_id, source_key, content, kind, state, benchmark, model, rule, rows, questions, attempts,
           procedure, model_hash, environment, unknown, card, created_at, added_at, writer)
         VALUES (?1, ?2, '', '', 'partial', '', '', '', 0, 0, 0, '', '', '', 0, '{}', ?3, ?4, '')",
        (run_id, &entry.source_key, entry.created_at.as_ref().unwrap_or(&at), &at),
    )?;
    Ok(db.last_insert_rowid())
}

fn update(db: &Transaction, id: i64, entry: &Entry) -> Result<()> {
    let card = &entry.card;
    let count = |name: &str| card.get(name).as_u64().unwrap_or(0) as i64;
    let hash = |part: Part| card.hash(part).unwrap_or_default().to_owned();
    db.execute(
        "UPDATE trace SET content = :content, kind = :kind, state = :state, benchmark = :benchmark, model = :model, rule = :rule,
           rows = :rows, questions = :questions, attempts = :attempts, procedure = :procedure, slice = :slice,
           model_hash = :model_hash, environment = :environment, unknown = :unknown, card = :card, writer = :writer
         WHERE id = :id",
        named_params! {
            ":id": id, ":content": entry.content, ":kind": entry.kind,
            ":state": if entry.is_complete { "complete" } else { "partial" },
            ":benchmark": entry.benchmark(), ":model": entry.model(), ":rule": entry.rule(),
            ":rows": count("counts.rows"), ":questions": count("counts.questions"), ":attempts": count("counts.attempts"),
            ":procedure": hash(Part::Procedure), ":slice": card.hash(Part::Slice), ":model_hash": hash(Part::Model),
            ":environment": hash(Part::Environment), ":unknown": card.unknown().len() as i64,
            ":card": card.value().to_string(), ":writer": env!("CARGO_PKG_VERSION"),
        },
    )?;
    Ok(())
}

/// A run's own entry takes the place of what was entered for a copy of its rows before the run was known.
fn take_over(db: &Transaction, id: i64, entry: &Entry) -> Result<()> {
    if entry.content.is_empty() {
        return Ok(());
    }
    let copies = "SELECT id FROM trace WHERE source_key = ?1 AND id != ?2";
    let copy: Option<i64> = db
        .query_row(copies, (&entry.content, id), |row| row.get(0))
        .optional()?;
    let Some(copy) = copy else { return Ok(()) };
    for table in ["place", "label"] {
        db.execute(
            &format!("UPDATE OR IGNORE {table} SET trace = ?1 WHERE trace = ?2"),
            (id, copy),
        )?;
    }
    db.execute("DELETE FROM trace WHERE id = ?1", [copy])?;
    Ok(())
}

fn write_scores(db: &Transaction, id: i64, entry: &Entry) -> Result<()> {
    let rule = entry.counted_by();
    db.execute("DELETE FROM score WHERE trace = ?1 AND rule = ?2", (id, &rule))?;
    let mut line = db.prepare(
        "INSERT OR REPLACE INTO score VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, NULL)",
    )?;
    for Score { scope, name, sum } in &entry.scores {
        let interval = sum.interval();
        let kind = interval.map(|interval| match interval.kind {
            IntervalKind::Clustered => "clustered",
            _ => "wilson",
        });
        let tally = sum.tally;
        let counts = (
            tally.n as i64,
            sum.questions() as i64,
            tally.correct as i64,
            tally.invalid as i64,
        );
        line.execute(rusqlite::params![
            id,
            rule,
            scope,
            name,
            counts.0,
            counts.1,
            counts.2,
            counts.3,
            sum.accuracy(),
            interval.map(|interval| interval.low),
            interval.map(|interval| interval.high),
            kind,
            sum.stderr(),
        ])?;
    }
    Ok(())
}

/// Where it was seen; its other places are looked after.
fn note_places(db: &Transaction, id: i64, entry: &Entry) -> Result<()> {
    let at = now();
    if let Some(place) = &entry.place {
        let path = place.to_str().context("a path that is no text cannot be kept")?;
        db.execute(
            "INSERT INTO place VALUES (?1, ?2, ?3, NULL)
             ON CONFLICT (trace, path) DO UPDATE SET seen_at = excluded.seen_at, gone_at = NULL",
            (id, path, &at),
        )?;
    }
    let mut query = db.prepare("SELECT path FROM place WHERE trace = ?1 AND gone_at IS NULL")?;
    let paths: Vec<String> = query
        .query_map([id], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for path in paths.iter().filter(|path| !std::path::Path::new(path).exists()) {
        db.execute(
            "UPDATE place SET gone_at = ?3 WHERE trace = ?1 AND path = ?2",
            (id, path, &at),
        )?;
    }
    Ok(())
}

/// Whether a trace can be found again: a pipe cannot.
pub fn can_be_entered(trace: &Trace) -> bool {
    let is_pipe = trace.path.as_deref().is_some_and(files::is_pipe);
    let is_demo = trace.path.is_none() && matches!(trace.manifest, Some(Provenance::Ours(_)));
    !is_pipe && (trace.path.is_some() || is_demo)
}
