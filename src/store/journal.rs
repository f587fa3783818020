//! `journal.jsonl`: one finished answer a line, while a run works.

use std::borrow::Cow;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::files::read_at;
use crate::record::Record;
use crate::trace::{Field, Texts, Visit, Wanted};

/// The file's name in a run folder.
pub const FILE: &str = "journal.jsonl";

/// How long a finished answer may wait for the disk.
const SYNC: Duration = Duration::from_millis(800);

/// Where a line stands in a journal, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub at: u64,
    pub len: u32,
}

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

    /// Appends a record; tells where it stands.
    ///
    /// # Errors
    /// When the disk is full or gone: the half-written line is taken back, so that the last whole line stands.
    pub fn append(&mut self, record: &Record) -> Result<Place> {
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
        let place = Place {
            at: self.len,
            len: u32::try_from(line.len()).context("an answer of more than 4 GB")?,
        };
        self.len += line.len() as u64;
        if self.synced.elapsed() > SYNC {
            self.sync()?;
        }
        Ok(place)
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

/// What stands in a journal beside its records.
#[derive(Debug, Default)]
pub struct Contents {
    /// Bytes up to the end of the last whole line.
    pub len: u64,
    /// Whether a half line, as a kill leaves it, stood at the end.
    pub half_line: bool,
    /// Numbers of whole lines that are no records.
    pub broken: Vec<usize>,
}

/// Hands on the records of a journal, one at a time; a missing file is an empty one. Lines that are no records are
/// numbered, and their answers missing.
pub fn each(folder: &Path, visit: &mut dyn FnMut(Record, Place) -> Result<()>) -> Result<Contents> {
    let path = folder.join(FILE);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Contents::default()),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    let mut contents = Contents::default();
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
                let place = Place {
                    at: contents.len,
                    len: read as u32,
                };
                contents.len += read as u64;
                visit(record, place)?;
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

/// Lines of a journal as the texts of a trace: read from the file when they are shown. A run at work adds to them.
#[derive(Debug)]
pub struct Lines {
    path: PathBuf,
    file: File,
    places: RwLock<Vec<Place>>,
}

/// The long texts of a line.
#[derive(Deserialize)]
struct Long<'a> {
    #[serde(borrow)]
    prompt: Cow<'a, str>,
    #[serde(borrow)]
    reasoning: Cow<'a, str>,
    #[serde(borrow)]
    question: Cow<'a, str>,
}

impl Lines {
    /// The lines of a folder's journal, none of them known yet. They stay readable after the file was removed.
    pub(super) fn open(folder: &Path) -> Result<Lines> {
        let path = folder.join(FILE);
        let file = File::open(&path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(Lines {
            path,
            file,
            places: RwLock::default(),
        })
    }

    /// One more line.
    pub(super) fn push(&self, place: Place) {
        self.places
            .write()
            .expect("no reader panics while it holds the lock")
            .push(place);
    }

    fn place(&self, row: usize) -> Result<Place> {
        let places = self.places.read().expect("no writer panics while it holds the lock");
        match places.get(row) {
            Some(place) => Ok(*place),
            None => bail!("row {row} is not among the {} rows of this trace", places.len()),
        }
    }

    fn len(&self) -> usize {
        self.places
            .read()
            .expect("no writer panics while it holds the lock")
            .len()
    }

    /// The bytes of a line.
    pub(super) fn read(&self, place: Place, line: &mut Vec<u8>) -> Result<()> {
        line.resize(place.len as usize, 0);
        let mut done = 0;
        while done < line.len() {
            match read_at(&self.file, &mut line[done..], place.at + done as u64) {
                Ok(0) => bail!("{}: it was cut short", self.unreadable()),
                Ok(count) => done += count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error).with_context(|| self.unreadable()),
            }
        }
        Ok(())
    }

    pub(super) fn record_at(&self, place: Place) -> Result<Record> {
        let mut line = Vec::new();
        self.read(place, &mut line)?;
        serde_json::from_slice(&line).with_context(|| self.unreadable())
    }

    fn unreadable(&self) -> String {
        format!("cannot read {}", self.path.display())
    }
}

impl Texts for Lines {
    fn record(&self, row: usize) -> Result<Arc<Record>> {
        self.record_at(self.place(row)?).map(Arc::new)
    }

    fn files(&self) -> Vec<PathBuf> {
        vec![self.path.clone()]
    }

    fn scan(&self, field: Field, wanted: &Wanted, visit: &mut Visit) -> Result<()> {
        let mut line = Vec::new();
        for row in (0..self.len()).filter(|row| wanted(*row)) {
            self.read(self.place(row)?, &mut line)?;
            let long: Long = serde_json::from_slice(&line).with_context(|| self.unreadable())?;
            let text = match field {
                Field::Prompt => long.prompt,
                Field::Completion => long.reasoning,
                Field::Question => long.question,
            };
            if visit(row, &text).is_break() {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use super::*;

    fn record(id: i64) -> Record {
        Record {
            question_id: id,
            reasoning: "é\n".into(),
            ..Record::default()
        }
    }

    fn read(folder: &Path) -> (Vec<Record>, Contents) {
        let mut records = Vec::new();
        let contents = each(folder, &mut |record, _| {
            records.push(record);
            Ok(())
        });
        (records, contents.unwrap())
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
        let (records, contents) = read(folder.path());
        assert_eq!((records.len(), contents.half_line), (40, true));
        let mut journal = Journal::open(folder.path(), contents.len).unwrap();
        journal.append(&record(40)).unwrap();
        let (records, contents) = read(folder.path());
        assert_eq!((records.len(), contents.half_line), (41, false));
        assert_eq!(records[40], record(40));
    }

    #[test]
    fn a_broken_line_in_the_middle_is_numbered_and_the_others_count() {
        let folder = tempfile::tempdir().unwrap();
        let line = |id: i64| serde_json::to_string(&record(id)).unwrap();
        std::fs::write(folder.path().join(FILE), format!("{}\nbroken\n{}\n", line(1), line(2))).unwrap();
        let (records, contents) = read(folder.path());
        assert_eq!(
            (records.len(), contents.broken, contents.half_line),
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

    #[test]
    fn lines_are_read_when_they_are_asked_for_and_after_the_file_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(folder.path(), 0).unwrap();
        let lines = Lines::open(folder.path()).unwrap();
        for id in 0..5 {
            lines.push(journal.append(&record(id)).unwrap());
        }
        std::fs::remove_file(folder.path().join(FILE)).unwrap();
        assert_eq!(*lines.record(3).unwrap(), record(3));
        let mut seen = Vec::new();
        lines
            .scan(Field::Completion, &|row| row % 2 == 1, &mut |row, text| {
                seen.push((row, text.to_owned()));
                ControlFlow::Continue(())
            })
            .unwrap();
        assert_eq!(seen, [(1, "é\n".to_owned()), (3, "é\n".to_owned())]);
        let error = lines.record(5).unwrap_err().to_string();
        assert!(error.contains("among the 5 rows"), "{error}");
    }
}
