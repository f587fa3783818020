//! What a person wrote on rows: marks, notes, own letters. Kept in the data directory under the trace's fingerprint, never
//! in the trace's file.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::trace::{Identity, Rows, Trace};

/// What stands on one row.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub marked: bool,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// The letter that the person gave in blind mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<char>,
}

/// The notes on a trace, by row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Notes {
    rows: BTreeMap<u32, Note>,
}

/// One row of the kept file.
#[derive(Serialize, Deserialize)]
struct Kept {
    #[serde(flatten)]
    row: Identity,
    #[serde(flatten)]
    note: Note,
}

#[derive(Serialize, Deserialize)]
struct File {
    /// For a person who looks into the folder.
    trace: String,
    rows: Vec<Kept>,
}

impl Notes {
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn get(&self, row: u32) -> Option<&Note> {
        self.rows.get(&row)
    }

    /// The rows that something stands on, in order.
    pub fn rows(&self) -> impl Iterator<Item = (u32, &Note)> {
        self.rows.iter().map(|(row, note)| (*row, note))
    }

    pub fn is_marked(&self, row: u32) -> bool {
        self.get(row).is_some_and(|note| note.marked)
    }

    /// The note on a row; empty where there is none.
    pub fn text(&self, row: u32) -> &str {
        self.get(row).map_or("", |note| &note.note)
    }

    /// Every note by its row, for exports.
    pub fn texts(&self) -> std::collections::HashMap<u32, String> {
        let noted = self.rows().filter(|(_, note)| !note.note.is_empty());
        noted.map(|(row, note)| (row, note.note.clone())).collect()
    }

    /// The letters that the person gave, by row, for exports.
    pub fn labels(&self) -> std::collections::HashMap<u32, char> {
        self.rows().filter_map(|(row, note)| Some((row, note.label?))).collect()
    }

    pub fn marked(&self) -> impl Iterator<Item = u32> + '_ {
        self.rows().filter(|(_, note)| note.marked).map(|(row, _)| row)
    }

    /// Changes what stands on a row.
    pub fn change(&mut self, row: u32, change: impl FnOnce(&mut Note)) {
        let note = self.rows.entry(row).or_default();
        change(note);
        if *note == Note::default() {
            self.rows.remove(&row);
        }
    }

    /// The same notes on the rows of a trace that was read again.
    #[must_use]
    pub fn moved(&self, before: &Rows, after: &Rows) -> Notes {
        let rows: Vec<u32> = self.rows.keys().copied().collect();
        let places = after.locate(&before.identify(&rows));
        let moved = self.rows.values().cloned().zip(places);
        Notes {
            rows: moved.filter_map(|(note, row)| Some((row?, note))).collect(),
        }
    }

    /// What was kept of a trace's rows.
    ///
    /// # Errors
    /// When a kept file cannot be read.
    pub fn load(trace: &Trace) -> Result<Notes> {
        let mut notes = Notes::default();
        let Some(folder) = folder() else { return Ok(notes) };
        for range in parts(trace) {
            let path = place(&folder, &trace.rows, &range);
            let text = match std::fs::read_to_string(&path) {
                Ok(text) => text,
                Err(error) if [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind()) => continue,
                Err(error) => {
                    return Err(error).with_context(|| format!("cannot read the notes in {}", path.display()));
                }
            };
            let file: File =
                serde_json::from_str(&text).with_context(|| format!("{} holds no notes", path.display()))?;
            let wanted: Vec<Identity> = file.rows.iter().map(|kept| kept.row.clone()).collect();
            // Joined runs may share questions: a part's notes belong to its own rows.
            let found = located(&trace.rows, &range, &wanted);
            for (kept, row) in file.rows.into_iter().zip(found) {
                if let Some(row) = row {
                    notes.rows.insert(row, kept.note);
                }
            }
        }
        Ok(notes)
    }

    /// Keeps the notes; a trace without any leaves no file.
    ///
    /// # Errors
    /// When the data directory cannot be written.
    pub fn save(&self, trace: &Trace) -> Result<()> {
        let folder = folder().context("there is no data directory for notes; set MARKBOOK_HOME")?;
        for range in parts(trace) {
            let path = place(&folder, &trace.rows, &range);
            let rows: Vec<u32> = self
                .rows
                .keys()
                .copied()
                .filter(|row| range.contains(&(*row as usize)))
                .collect();
            if rows.is_empty() {
                if path.exists() {
                    std::fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
                }
                continue;
            }
            let identities = identified(&trace.rows, &range, &rows);
            let kept = identities.into_iter().zip(&rows).map(|(identity, row)| Kept {
                row: identity,
                note: self.rows[row].clone(),
            });
            let file = File {
                trace: trace.name.clone(),
                rows: kept.collect(),
            };
            write(&folder, &path, &file).with_context(|| format!("cannot keep the notes in {}", path.display()))?;
        }
        Ok(())
    }
}

fn write(folder: &Path, path: &Path, file: &File) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    crate::files::write_aside(path, &serde_json::to_vec_pretty(file)?)
}

fn folder() -> Option<PathBuf> {
    crate::hub::home().ok().map(|home| home.join("notes"))
}

fn place(folder: &Path, rows: &Rows, range: &Range<usize>) -> PathBuf {
    folder.join(format!("{:016x}.json", rows.fingerprint(range.clone())))
}

/// The rows of each file that was joined into a trace.
fn parts(trace: &Trace) -> Vec<Range<usize>> {
    let starts = trace.texts.parts();
    let ends = starts.iter().skip(1).copied().chain([trace.rows.len()]);
    let ranges = starts.iter().copied().zip(ends).map(|(start, end)| start..end);
    ranges.filter(|range| !range.is_empty()).collect()
}

/// The rows of one part as rows of their own.
fn part(rows: &Rows, range: &Range<usize>) -> Rows {
    let mut own = Rows::default();
    range.clone().for_each(|row| own.push_row(rows, row));
    own
}

fn identified(rows: &Rows, range: &Range<usize>, wanted: &[u32]) -> Vec<Identity> {
    if range.len() == rows.len() {
        return rows.identify(wanted);
    }
    let local: Vec<u32> = wanted.iter().map(|row| row - range.start as u32).collect();
    part(rows, range).identify(&local)
}

fn located(rows: &Rows, range: &Range<usize>, wanted: &[Identity]) -> Vec<Option<u32>> {
    if range.len() == rows.len() {
        return rows.locate(wanted);
    }
    let found = part(rows, range).locate(wanted);
    found
        .into_iter()
        .map(|row| row.map(|row| row + range.start as u32))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Record;

    #[test]
    fn notes_follow_their_rows_and_vanish_when_emptied() {
        let rows = |ids: &[i64]| {
            let mut rows = Rows::default();
            for id in ids {
                rows.push_record(&Record {
                    question_id: *id,
                    ..Record::default()
                });
            }
            rows
        };
        let mut notes = Notes::default();
        notes.change(1, |note| note.marked = true);
        notes.change(2, |note| note.note = "odd key".into());
        let moved = notes.moved(&rows(&[7, 8, 9]), &rows(&[9, 7, 6, 8]));
        assert_eq!((moved.is_marked(3), moved.text(0)), (true, "odd key"));
        notes.change(1, |note| note.marked = false);
        notes.change(2, |note| note.note.clear());
        assert!(notes.is_empty());
    }
}
