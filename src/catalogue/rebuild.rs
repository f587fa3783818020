//! The catalogue made anew from what lies on the disk.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::enter::can_be_entered;
use super::{Catalogue, Entry, entries, file};
use crate::import;
use crate::store;
use crate::trace::Trace;

/// What was found on a walk.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Walked {
    /// Ids, in the order in which they were entered; one that was met twice stands once.
    pub entered: Vec<String>,
    /// What could not be entered, with why.
    pub failed: Vec<String>,
}

impl Catalogue {
    /// Enters everything below these folders and files; `watch` hears of each.
    pub fn walk(&mut self, places: &[PathBuf], watch: &mut dyn FnMut(&Path)) -> Walked {
        let mut walked = Walked::default();
        for place in places {
            for path in found(place) {
                watch(&path);
                let ids = open(&path).and_then(|traces| {
                    let made: Vec<Entry> = traces.iter().map(entries).collect::<Result<Vec<_>>>()?.concat();
                    self.enter(&made)
                });
                match ids {
                    Ok(ids) => ids.into_iter().for_each(|id| {
                        if !walked.entered.contains(&id) {
                            walked.entered.push(id);
                        }
                    }),
                    Err(error) => walked.failed.push(format!("{}: {error:#}", path.display())),
                }
            }
        }
        walked
    }

    /// Makes the file anew from the runs folder, from all places that it knows, and from these; labels, baselines and the
    /// history of gates are carried over.
    ///
    /// # Errors
    /// When the new file cannot be made, is not whole, or another process holds the old one.
    pub fn rebuild(path: &Path, places: &[PathBuf], watch: &mut dyn FnMut(&Path)) -> Result<Walked> {
        let folder = crate::files::folder_of(path);
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let mut aside = tempfile::Builder::new();
        let new = aside
            .prefix(crate::files::ASIDE)
            .suffix(".db")
            .tempfile_in(folder)?
            .into_temp_path();
        let old = Catalogue::read(path).ok().flatten();
        let known = old
            .as_ref()
            .map_or_else(|| Ok(Vec::new()), Catalogue::places)
            .unwrap_or_default();
        let mut made = Catalogue::open(&new)?;
        let places: BTreeSet<PathBuf> = places.iter().cloned().chain(known).collect();
        let walked = made.walk(
            &places.into_iter().filter(|place| place.exists()).collect::<Vec<_>>(),
            watch,
        );
        if old.is_some() {
            made.carry_over(path)?;
        }
        let problems = made.check()?;
        if !problems.is_empty() {
            bail!("the new catalogue is not whole: {}", problems.join("; "));
        }
        made.db.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()))?;
        drop((made, old));
        file::replace(new, path)?;
        Ok(walked)
    }

    /// All places that are known, those that are gone too: a disk may be back.
    fn places(&self) -> Result<Vec<PathBuf>> {
        let mut query = self.db.prepare("SELECT DISTINCT path FROM place")?;
        let paths = query.query_map([], |row| row.get::<_, String>(0))?;
        Ok(paths
            .map(|path| path.map(PathBuf::from))
            .collect::<rusqlite::Result<_>>()?)
    }

    /// Takes over what no folder tells: labels and times of entry by the key of what was entered, baselines, gates, published
    /// values, studies; and entries whose folders are gone.
    fn carry_over(&mut self, old: &Path) -> Result<()> {
        let uri = old.display().to_string();
        self.db.execute("ATTACH DATABASE ?1 AS old", [uri])?;
        let carried = self
            .db
            .execute_batch(CARRY)
            .context("labels and gates cannot be carried over");
        self.db.execute_batch("DETACH DATABASE old")?;
        carried
    }
}

const CARRY: &str = "BEGIN IMMEDIATE;
UPDATE trace SET added_at = (SELECT o.added_at FROM old.trace o WHERE o.source_key = trace.source_key),
  created_at = (SELECT o.created_at FROM old.trace o WHERE o.source_key = trace.source_key)
  WHERE source_key IN (SELECT source_key FROM old.trace);
INSERT INTO trace SELECT NULL, o.run_id, o.source_key, o.content, o.kind, o.state,
    o.benchmark, o.model, o.rule, o.rows, o.questions, o.attempts, o.procedure, o.slice, o.model_hash, o.environment, o.unknown,
    o.card, o.created_at, o.added_at, o.writer
  FROM old.trace o WHERE o.source_key NOT IN (SELECT source_key FROM trace) AND o.run_id NOT IN (SELECT run_id FROM trace)
    AND o.content NOT IN (SELECT content FROM trace);
INSERT OR IGNORE INTO score SELECT t.id, s.rule, s.scope, s.name, s.n, s.questions, s.correct, s.invalid, s.accuracy, s.low,
    s.high, s.ci_kind, s.stderr, s.within
  FROM old.score s JOIN old.trace o ON o.id = s.trace JOIN trace t ON t.source_key = o.source_key;
INSERT OR IGNORE INTO place SELECT t.id, p.path, p.seen_at, p.gone_at
  FROM old.place p JOIN old.trace o ON o.id = p.trace JOIN trace t ON t.source_key = o.source_key;
INSERT OR IGNORE INTO label SELECT t.id, l.kind, l.text, l.at
  FROM old.label l JOIN old.trace o ON o.id = l.trace JOIN trace t ON t.source_key = o.source_key;
INSERT OR IGNORE INTO baseline SELECT * FROM old.baseline;
INSERT OR IGNORE INTO gate SELECT * FROM old.gate;
INSERT OR IGNORE INTO published SELECT * FROM old.published;
INSERT OR IGNORE INTO study_member SELECT m.study, m.cell, t.id, m.knobs
  FROM old.study_member m LEFT JOIN old.trace o ON o.id = m.trace LEFT JOIN trace t ON t.source_key = o.source_key;
COMMIT;";

/// What lies below a place, each to be opened by itself: the run folders, and beside them whatever else is there; the place as
/// a whole where it holds no run.
fn found(place: &Path) -> Vec<PathBuf> {
    if !place.is_dir() || store::is_run(place) {
        return vec![place.to_owned()];
    }
    let below = entries_of(place);
    let has_runs = |path: &PathBuf| {
        path.is_dir() && (store::is_run(path) || entries_of(path).iter().any(|path| store::is_run(path)))
    };
    if !below.iter().any(has_runs) {
        return vec![place.to_owned()];
    }
    below
        .iter()
        .flat_map(|path| if path.is_dir() { found(path) } else { vec![path.clone()] })
        .collect()
}

/// What a folder holds, by name, without hidden files.
fn entries_of(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let shown = entries.filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'));
    let mut paths: Vec<PathBuf> = shown.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn open(path: &Path) -> Result<Vec<Trace>> {
    let mut traces = import::open(&[path.to_owned()], &import::Options::default())?;
    traces.retain(can_be_entered);
    Ok(traces)
}
