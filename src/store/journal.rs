//! `journal.jsonl`: one finished answer a line, while a run works.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::record::Record;

/// The file's name in a run folder.
pub const FILE: &str = "journal.jsonl";

/// How long a finished answer may wait for the disk.
const SYNC: Duration = Duration::from_millis(800);

/// An open journal. Each record is written with one call as soon as it is there.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// Bytes of whole lines.
    len: u64,
    synced: Instant,
}

impl Journal {
    /// Opens a journal to go on after its last whole line; what follows that line is cut off.
    ///
    /// # Errors
    /// When another run writes it.
    pub fn open(folder: &Path, len: u64) -> Result<Journal> {
        Journal::lock(folder)?.cut(len)
    }

    /// Takes a journal for this run alone and leaves it as it is.
    pub(super) fn lock(folder: &Path) -> Result<Journal> {
        let path = folder.join(FILE);
        let named = || format!("cannot write {}", path.display());
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(&path)
            .with_context(named)?;
        match file.try_lock() {
            Ok(()) | Err(TryLockError::Error(_)) => {}
            Err(TryLockError::WouldBlock) => {
                bail!(
                    "{} is being written by another run of markbook; wait for it or stop it",
                    path.display()
                )
            }
        }
        Ok(Journal {
            path,
            file,
            len: 0,
            synced: Instant::now(),
        })
    }

    /// Goes on after `len` bytes; what follows is cut off.
    pub(super) fn cut(mut self, len: u64) -> Result<Journal> {
        let named = || format!("cannot write {}", self.path.display());
        self.file.set_len(len).with_context(named)?;
        self.file.seek(SeekFrom::End(0)).with_context(named)?;
        self.len = len;
        Ok(self)
    }

    /// Puts a journal of these records in the place of one with broken lines, and goes on after them.
    pub(super) fn rewrite(self, folder: &Path, records: &[Record]) -> Result<Journal> {
        let mut bytes = Vec::new();
        for record in records {
            serde_json::to_writer(&mut bytes, record).context("a record does not turn into JSON")?;
            bytes.push(b'\n');
        }
        crate::files::write_aside(&self.path, &bytes)?;
        Journal::open(folder, bytes.len() as u64)
    }

    /// Appends a record.
    ///
    /// # Errors
    /// When the disk is full or gone: the half-written line is taken back, so that the last whole line stands.
    pub fn append(&mut self, record: &Record) -> Result<()> {
        let mut line = serde_json::to_vec(record).context("a record does not turn into JSON")?;
        line.push(b'\n');
        if let Err(error) = self.file.write_all(&line) {
            let _ = self.file.set_len(self.len);
            return Err(error).with_context(|| {
                format!(
                    "cannot write {}; the answers before it are saved: free some space, then --resume",
                    self.path.display()
                )
            });
        }
        self.len += line.len() as u64;
        if self.synced.elapsed() > SYNC {
            self.sync()?;
        }
        Ok(())
    }

    /// Brings what was written to the disk.
    pub fn sync(&mut self) -> Result<()> {
        self.file
            .sync_data()
            .with_context(|| format!("cannot write {}", self.path.display()))?;
        self.synced = Instant::now();
        Ok(())
    }
}

/// What stands in a journal.
#[derive(Debug, Default)]
pub struct Contents {
    /// The whole lines, each (question, attempt) once.
    pub records: Vec<Record>,
    /// Bytes up to the end of the last whole line.
    pub len: u64,
    /// Whether a half line, as a kill leaves it, stood at the end.
    pub half_line: bool,
    /// Numbers of whole lines that are no records.
    pub broken: Vec<usize>,
}

/// Reads a journal; a missing file is an empty one. Lines that are no records are numbered, and their answers missing.
pub fn read(folder: &Path) -> Result<Contents> {
    let path = folder.join(FILE);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Contents::default()),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    let mut contents = Contents::default();
    let mut seen = std::collections::HashSet::new();
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let read = reader
            .read_until(b'\n', &mut line)
            .with_context(|| format!("cannot read {}", path.display()))?;
        if read == 0 {
            break;
        }
        let whole = line.last() == Some(&b'\n');
        match serde_json::from_slice::<Record>(&line) {
            Ok(record) if whole => {
                contents.len += read as u64;
                if seen.insert((record.question_id, record.attempt)) {
                    contents.records.push(record);
                }
            }
            _ if reader.fill_buf().map_or(true, <[u8]>::is_empty) => contents.half_line = true,
            _ => {
                contents.len += read as u64;
                contents.broken.push(number);
            }
        }
    }
    Ok(contents)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(id: i64) -> Record {
        Record {
            question_id: id,
            reasoning: "é\n".into(),
            ..Record::default()
        }
    }

    #[test]
    fn a_half_line_is_dropped_and_only_that_answer_is_run_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(folder.path(), 0).unwrap();
        for id in 0..40 {
            journal.append(&record(id)).unwrap();
        }
        let whole = std::fs::read(folder.path().join(FILE)).unwrap();
        drop(journal);
        let mut cut = whole.clone();
        cut.extend_from_slice(&serde_json::to_vec(&record(40)).unwrap()[..50]);
        std::fs::write(folder.path().join(FILE), &cut).unwrap();
        let contents = read(folder.path()).unwrap();
        assert_eq!((contents.records.len(), contents.half_line), (40, true));
        let mut journal = Journal::open(folder.path(), contents.len).unwrap();
        journal.append(&record(40)).unwrap();
        let contents = read(folder.path()).unwrap();
        assert_eq!((contents.records.len(), contents.half_line), (41, false));
        assert_eq!(contents.records[40], record(40));
    }

    #[test]
    fn a_broken_line_in_the_middle_is_numbered_and_the_others_count() {
        let folder = tempfile::tempdir().unwrap();
        let line = |id: i64| serde_json::to_string(&record(id)).unwrap();
        std::fs::write(folder.path().join(FILE), format!("{}\nbroken\n{}\n", line(1), line(2))).unwrap();
        let contents = read(folder.path()).unwrap();
        assert_eq!(
            (contents.records.len(), contents.broken, contents.half_line),
            (2, vec![2], false)
        );
    }

    #[test]
    fn two_runs_cannot_write_one_journal() {
        let folder = tempfile::tempdir().unwrap();
        let first = Journal::open(folder.path(), 0).unwrap();
        let error = Journal::open(folder.path(), 0).unwrap_err().to_string();
        assert!(error.contains("another run of markbook"), "{error}");
        drop(first);
        Journal::open(folder.path(), 0).unwrap();
    }
}
