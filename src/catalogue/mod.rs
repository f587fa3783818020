//! The catalogue: an index of runs and traces in one SQLite file, which any tool reads. The run folders are the truth: the
//! file can be deleted at any time, and only tags, notes and the history of gates go with it. Nothing here is ever a reason
//! for a run to fail.

mod enter;
mod file;
mod gates;
mod list;
mod rebuild;
mod schema;
mod words;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use rusqlite::{Connection, Transaction, TransactionBehavior};

pub use enter::{Entry, can_be_entered, entries};
pub use file::Newer;
pub use gates::{Frozen, Judged};
pub use list::Listed;
pub use rebuild::Walked;
pub use words::{WORDS, Words};

use crate::hub;

/// The file's name in the data directory.
const FILE: &str = "catalogue.db";

/// Where the catalogue is: `$MARKBOOK_CATALOGUE`, else in the data directory; `None` where that says `off`.
pub fn place() -> Result<Option<PathBuf>> {
    match std::env::var_os("MARKBOOK_CATALOGUE").filter(|value| !value.is_empty()) {
        Some(value) if value == "off" => Ok(None),
        Some(path) => Ok(Some(path.into())),
        None => Ok(Some(hub::home()?.join(FILE))),
    }
}

/// An open catalogue.
#[derive(Debug)]
pub struct Catalogue {
    db: Connection,
    path: PathBuf,
    /// What a person should be told of how it was opened.
    pub told: Vec<String>,
}

impl Catalogue {
    /// Opens the file to write into it; makes it where there is none. One that is broken is put aside, and what the runs folder
    /// holds is entered into a new one.
    ///
    /// # Errors
    /// When it cannot be read or written, belongs to another program, or was written by a newer version ([`Newer`]).
    pub fn open(path: &Path) -> Result<Catalogue> {
        let (db, mut told) = match file::open(path) {
            Ok(opened) => opened,
            Err(error) if file::is_broken(&error) => {
                let kept = file::put_aside(path)?;
                let (db, mut told) = file::open(path)?;
                if let Some(kept) = kept {
                    told.push(format!(
                        "{} was broken ({error:#}); it is kept as {}, and a new one is made of the runs folder",
                        path.display(),
                        kept.display()
                    ));
                    let mut made = Catalogue::of(db, path, told);
                    let runs = hub::home().map(|home| home.join("runs")).ok();
                    made.walk(&runs.into_iter().collect::<Vec<_>>(), &mut |_| {});
                    return Ok(made);
                }
                (db, told)
            }
            Err(error) => return Err(error),
        };
        told.dedup();
        Ok(Catalogue::of(db, path, told))
    }

    /// Opens the file to read it, whatever version wrote it; `None` where there is none.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn read(path: &Path) -> Result<Option<Catalogue>> {
        if !path.is_file() {
            return Ok(None);
        }
        let (db, told) = file::open_to_read(path)?;
        Ok(Some(Catalogue::of(db, path, told)))
    }

    fn of(db: Connection, path: &Path, told: Vec<String>) -> Catalogue {
        Catalogue {
            db,
            path: path.to_owned(),
            told,
        }
    }

    /// What is wrong with the file, a line each; nothing where it is whole.
    pub fn check(&self) -> Result<Vec<String>> {
        let mut query = self.db.prepare("PRAGMA integrity_check")?;
        let lines = query.query_map([], |row| row.get::<_, String>(0))?;
        let mut problems: Vec<String> = lines.collect::<rusqlite::Result<_>>()?;
        problems.retain(|line| line != "ok");
        let mut query = self.db.prepare("PRAGMA foreign_key_check")?;
        let strays = query.query_map([], |row| row.get::<_, String>(0))?;
        for table in strays {
            problems.push(format!("a line of {} belongs to no trace", table?));
        }
        Ok(problems)
    }

    /// Something done as a whole or not at all, while no other process writes.
    fn change<T>(&mut self, work: impl FnOnce(&Transaction) -> Result<T>) -> Result<T> {
        let named = || format!("cannot write {}", self.path.display());
        let transaction = self
            .db
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .with_context(named)?;
        let made = work(&transaction)?;
        transaction.commit().with_context(named)?;
        Ok(made)
    }

    /// Removes entries; no folder is touched.
    pub fn forget(&mut self, run_id: &str) -> Result<()> {
        let gone = self.change(|db| Ok(db.execute("DELETE FROM trace WHERE run_id = ?1", [run_id])?))?;
        if gone == 0 {
            bail!("{run_id} is not in the catalogue");
        }
        Ok(())
    }

    /// Puts a label on an entry: a `tag`, a `note` (one; an empty text takes it away), or `hidden`.
    pub fn label(&mut self, run_id: &str, kind: &str, text: &str) -> Result<()> {
        self.change(|db| {
            if kind == "note" {
                db.execute(
                    "DELETE FROM label WHERE kind = 'note' AND trace = (SELECT id FROM trace WHERE run_id = ?1)",
                    [run_id],
                )?;
            }
            if !text.is_empty() {
                db.execute(
                    "INSERT OR IGNORE INTO label SELECT id, ?2, ?3, ?4 FROM trace WHERE run_id = ?1",
                    (run_id, kind, text, now()),
                )?;
            }
            Ok(())
        })
    }
}

/// UTC, so that times sort as texts.
fn now() -> String {
    chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}
