//! A run folder that a run writes into, and whatever a kill or a full disk can leave of it.

use std::collections::HashSet;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};

use super::journal::{self, Journal, Lines, Place};
use super::{Manifest, RECORDS, preflight};
use crate::files;
use crate::parquet;
use crate::record::Record;
use crate::trace::Texts;

/// A run folder that a run writes into. Answers lie in its journal; of each only its key and its place are in memory.
#[derive(Debug)]
pub struct RunFolder {
    pub path: PathBuf,
    /// `None`: the run is finished and its `records.parquet` stands.
    journal: Option<Journal>,
    lines: Arc<Lines>,
    /// Question, attempt and place of each answer, in the order of the journal.
    answers: Vec<(i64, i64, Place)>,
    /// Question and attempt of each answer.
    have: HashSet<(i64, i64)>,
}

/// A folder that is gone on with.
#[derive(Debug)]
pub struct Resumed {
    pub folder: RunFolder,
    /// What `run.json` says; what it would say of a new run where it cannot be read.
    pub manifest: Manifest,
    /// What a person should know of how the folder was found.
    pub notes: Vec<String>,
}

impl RunFolder {
    /// Makes the folder of a new run and writes its manifest.
    ///
    /// # Errors
    /// When the folder holds a run, or cannot be written.
    pub fn create(path: &Path, manifest: &Manifest) -> Result<RunFolder> {
        preflight(path, false)?;
        std::fs::create_dir_all(path).with_context(|| format!("cannot make the folder {}", path.display()))?;
        // The journal comes first: with it the folder is this run's alone.
        let folder = RunFolder::with(path, Journal::open(path, 0)?)?;
        sweep(path);
        manifest.write(path)?;
        Ok(folder)
    }

    fn with(path: &Path, journal: Journal) -> Result<RunFolder> {
        Ok(RunFolder {
            path: path.to_owned(),
            journal: Some(journal),
            lines: Arc::new(Lines::open(path)?),
            answers: Vec::new(),
            have: HashSet::new(),
        })
    }

    /// Opens the folder of a run that was stopped, killed, or finished. `is_own` tells whether a record is an answer of this
    /// run; what is none is left out, and told.
    ///
    /// # Errors
    /// When the settings differ (the message names which), another run is at work there, or its only answers cannot be
    /// read.
    pub fn resume(path: &Path, now: &Manifest, is_own: &dyn Fn(&Record) -> bool) -> Result<Resumed> {
        let stored = Manifest::find(path)?;
        if let Ok(stored) = &stored {
            let same = stored.settings.must_equal(&now.settings);
            same.with_context(|| format!("cannot resume {}", path.display()))?;
        }
        // The lock comes before the reading: what is read is then not being written.
        let mut folder = RunFolder::with(path, Journal::lock(path)?)?;
        sweep(path);
        let mut notes = folder.read_journal(is_own)?;
        folder.take_records(now.rows, is_own, &mut notes)?;
        let manifest = match stored {
            Ok(stored) => stored,
            Err(problem) => {
                if folder.len() > 0 {
                    notes.push(format!(
                        "{problem}: its answers are taken for answers of the present settings"
                    ));
                }
                now.clone()
            }
        };
        Ok(Resumed {
            folder,
            manifest,
            notes,
        })
    }

    /// Takes in the answers of the journal, and goes on after them.
    fn read_journal(&mut self, is_own: &dyn Fn(&Record) -> bool) -> Result<Vec<String>> {
        let mut strangers = 0;
        let path = self.path.clone();
        let contents = journal::each(&path, &mut |record, place| {
            if is_own(&record) {
                self.note(&record, place);
            } else {
                strangers += 1;
            }
            Ok(())
        })?;
        let mut notes = Vec::new();
        let count = |lines: usize, none: &str, several: &str| match lines {
            1 => format!("{}: 1 line is {none} and is left out", journal::FILE),
            _ => format!("{}: {lines} lines are {several} and are left out", journal::FILE),
        };
        if strangers > 0 {
            notes.push(count(strangers, "no answer of this run", "no answers of this run"));
        }
        if !contents.broken.is_empty() {
            notes.push(count(contents.broken.len(), "broken", "broken"));
        }
        if notes.is_empty() {
            self.journal = self
                .journal
                .take()
                .map(|journal| journal.cut(contents.len))
                .transpose()?;
        } else {
            self.rewrite()?;
        }
        Ok(notes)
    }

    /// Puts a journal of the known answers in the place of one with other lines, and goes on after them.
    fn rewrite(&mut self) -> Result<()> {
        let path = self.path.join(journal::FILE);
        let (mut line, mut len) = (Vec::new(), 0);
        files::write_with(&path, |file| {
            let mut out = BufWriter::new(file);
            for (_, _, place) in &mut self.answers {
                self.lines.read(*place, &mut line)?;
                out.write_all(&line)?;
                place.at = len;
                len += u64::from(place.len);
            }
            Ok(out.flush()?)
        })?;
        self.journal = Some(Journal::open(&self.path, len)?);
        let lines = Lines::open(&self.path)?;
        self.answers.iter().for_each(|(.., place)| lines.push(*place));
        self.lines = Arc::new(lines);
        Ok(())
    }

    /// Takes in what `records.parquet` holds: all answers where it is whole, else those that the journal lacks. A kill may
    /// have come between the two.
    fn take_records(&mut self, rows: usize, is_own: &dyn Fn(&Record) -> bool, notes: &mut Vec<String>) -> Result<()> {
        let path = self.path.join(RECORDS);
        if !path.is_file() {
            return Ok(());
        }
        let (mut own, mut all) = (HashSet::new(), 0);
        let read = parquet::each_record(&path, &mut |record| {
            all += 1;
            if is_own(&record) {
                own.insert((record.question_id, record.attempt));
            }
            Ok(())
        });
        match read {
            Err(problem) if self.len() > 0 => {
                notes.push(format!("{problem:#}: it is written anew from {}", journal::FILE));
                return Ok(());
            }
            Err(problem) => {
                return Err(problem.context(format!(
                    "the answers in {} cannot be read; remove that file, and --resume asks for them again",
                    path.display()
                )));
            }
            Ok(()) if own.len() == rows && all == rows => {
                self.have = own;
                return self.remove_journal();
            }
            Ok(()) => {}
        }
        parquet::each_record(&path, &mut |record| {
            if is_own(&record) {
                self.append(&record)?;
            }
            Ok(())
        })
    }

    /// Counts an answer that stands in the journal; one that is known counts once.
    fn note(&mut self, record: &Record, place: Place) {
        let (question, attempt) = (record.question_id, record.attempt);
        if self.have.insert((question, attempt)) {
            self.answers.push((question, attempt, place));
            self.lines.push(place);
        }
    }

    /// Answers that are kept.
    pub fn len(&self) -> usize {
        self.have.len()
    }

    pub fn is_empty(&self) -> bool {
        self.have.is_empty()
    }

    pub fn holds(&self, question: i64, attempt: i64) -> bool {
        self.have.contains(&(question, attempt))
    }

    pub fn is_finished(&self) -> bool {
        self.journal.is_none()
    }

    /// The answers' texts, in the order in which they came; they grow with each that is appended.
    pub fn texts(&self) -> Result<Arc<dyn Texts>> {
        if self.is_finished() && self.answers.is_empty() {
            return Ok(parquet::open(&self.path.join(RECORDS))?.texts);
        }
        Ok(Arc::clone(&self.lines) as Arc<dyn Texts>)
    }

    /// Hands on the answers, in the order of [`RunFolder::texts`].
    pub fn each(&self, visit: &mut dyn FnMut(Record) -> Result<()>) -> Result<()> {
        if self.is_finished() && self.answers.is_empty() {
            return parquet::each_record(&self.path.join(RECORDS), visit);
        }
        let places = self.answers.iter().map(|(.., place)| *place);
        places
            .map(|place| self.lines.record_at(place))
            .try_for_each(|record| visit(record?))
    }

    /// Keeps a finished answer; tells whether it is a new one.
    ///
    /// # Errors
    /// When the journal cannot be written, or the run is finished.
    pub fn append(&mut self, record: &Record) -> Result<bool> {
        if self.holds(record.question_id, record.attempt) {
            return Ok(false);
        }
        let Some(journal) = &mut self.journal else {
            bail!("{} is finished and takes no more answers", self.path.display());
        };
        let place = journal.append(record)?;
        self.note(record, place);
        Ok(true)
    }

    pub fn sync(&mut self) -> Result<()> {
        self.journal.as_mut().map_or(Ok(()), Journal::sync)
    }

    /// Writes `records.parquet`, by question and attempt, and the manifest; the journal goes last.
    pub fn finish(&mut self, manifest: &Manifest) -> Result<()> {
        self.sync()?;
        let mut answers = self.answers.clone();
        answers.sort_unstable_by_key(|(question, attempt, _)| (*question, *attempt));
        let records = answers.iter().map(|(.., place)| self.lines.record_at(*place));
        parquet::write_each(&self.path.join(RECORDS), records)?;
        manifest.write(&self.path)?;
        self.remove_journal()
    }

    fn remove_journal(&mut self) -> Result<()> {
        let journal = self.path.join(journal::FILE);
        std::fs::remove_file(&journal).with_context(|| format!("cannot remove {}", journal.display()))?;
        self.journal = None;
        Ok(())
    }
}

/// Removes what a kill left of files that were being written aside.
fn sweep(folder: &Path) {
    let is_random = |rest: &str| rest.len() == 6 && rest.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let is_litter = |name: &str| {
        // Earlier versions named them `.tmpXXXXXX`, and records with their ending.
        let rest = name.strip_prefix(files::ASIDE).or_else(|| name.strip_prefix(".tmp"));
        rest.map(|rest| rest.strip_suffix(".parquet").unwrap_or(rest))
            .is_some_and(is_random)
    };
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_str().is_some_and(is_litter) {
            // What cannot be removed only takes room.
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::is_run;
    use super::*;
    use crate::manifest;

    fn record(id: i64, attempt: i64) -> Record {
        Record {
            question_id: id,
            attempt,
            reasoning: format!("{id} {attempt}"),
            ..Record::default()
        }
    }

    /// A manifest of four answers: two questions, two attempts.
    fn planned() -> Manifest {
        Manifest {
            rows: 4,
            ..Manifest::default()
        }
    }

    const KEYS: [(i64, i64); 4] = [(1, 0), (2, 0), (1, 1), (2, 1)];

    fn is_own(record: &Record) -> bool {
        KEYS.contains(&(record.question_id, record.attempt))
    }

    /// Goes on with a folder, answers what is missing, and gives what it then holds and what was told.
    fn go_on(path: &Path) -> Result<(Vec<(i64, i64)>, usize, Vec<String>)> {
        let resumed = if is_run(path) {
            RunFolder::resume(path, &planned(), &is_own)?
        } else {
            Resumed {
                folder: RunFolder::create(path, &planned())?,
                manifest: planned(),
                notes: Vec::new(),
            }
        };
        let mut folder = resumed.folder;
        let kept = folder.len();
        for (question, attempt) in KEYS {
            folder
                .append(&record(question, attempt))
                .or_else(|error| if folder.is_finished() { Ok(false) } else { Err(error) })?;
        }
        if folder.is_finished() {
            resumed.manifest.write(path)?;
        } else {
            folder.finish(&resumed.manifest)?;
        }
        let mut keys = Vec::new();
        parquet::each_record(&path.join(RECORDS), &mut |record| {
            assert_eq!(record.reasoning, format!("{} {}", record.question_id, record.attempt));
            keys.push((record.question_id, record.attempt));
            Ok(())
        })?;
        let mut names: Vec<String> = std::fs::read_dir(path)?
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        assert_eq!(names, ["records.parquet", "run.json"]);
        Ok((keys, kept, resumed.notes))
    }

    /// The files of a run at each moment: a name and how it is made.
    #[derive(Clone, Copy, Debug)]
    enum Left {
        Litter,
        Manifest,
        HalfManifest,
        Journal(usize),
        HalfLine,
        Strangers,
        Broken,
        Twice,
        Records(usize),
        NoRecords,
        HalfRecords,
    }

    fn leave(path: &Path, left: Left) {
        let add = |bytes: &[u8]| {
            let file = std::fs::OpenOptions::new()
                .create(true)
                .append(true)
                .open(path.join(journal::FILE));
            file.unwrap().write_all(bytes).unwrap();
        };
        let line = |id, attempt| serde_json::to_string(&record(id, attempt)).unwrap() + "\n";
        let write = |count: usize| {
            let records: Vec<Record> = KEYS[..count]
                .iter()
                .map(|(id, attempt)| record(*id, *attempt))
                .collect();
            parquet::write_records(&path.join(RECORDS), &records, parquet::Order::ByQuestion).unwrap();
        };
        match left {
            Left::Litter => {
                std::fs::write(path.join(".tmpAb3Xyz"), "{").unwrap();
                std::fs::write(path.join(".markbook-q1W2e3.parquet"), "PAR1").unwrap();
                std::fs::write(path.join(".markbook-q1W2e4"), "PAR1").unwrap();
            }
            Left::Manifest => planned().write(path).unwrap(),
            Left::HalfManifest => std::fs::write(path.join(manifest::FILE), "{\"markbook\": \"0.").unwrap(),
            Left::Journal(count) => {
                add(b"");
                KEYS[..count]
                    .iter()
                    .for_each(|(id, attempt)| add(line(*id, *attempt).as_bytes()));
            }
            Left::HalfLine => add(&line(2, 1).as_bytes()[..30]),
            Left::Strangers => (90..95).for_each(|id| add(line(id, 0).as_bytes())),
            Left::Broken => add(b"{\"question_id\": broken}\n"),
            Left::Twice => add(line(1, 0).as_bytes()),
            Left::Records(count) => write(count),
            Left::NoRecords => std::fs::write(path.join(RECORDS), "").unwrap(),
            Left::HalfRecords => {
                write(4);
                let bytes = std::fs::read(path.join(RECORDS)).unwrap();
                std::fs::write(path.join(RECORDS), &bytes[..bytes.len() / 2]).unwrap();
            }
        }
    }

    #[test]
    fn whatever_a_kill_or_a_full_disk_leaves_is_gone_on_with() {
        use Left::{
            Broken, HalfLine, HalfManifest, HalfRecords, Journal, Litter, Manifest, NoRecords, Records, Strangers,
            Twice,
        };
        // What lies there, answers that are kept, words that are told.
        let states: Vec<(Vec<Left>, usize, &[&str])> = vec![
            (vec![], 0, &[]),
            (vec![Litter], 0, &[]),
            (vec![Journal(0)], 0, &[]),
            (vec![Journal(0), Litter], 0, &[]),
            (vec![Manifest], 0, &[]),
            (vec![Manifest, Journal(0)], 0, &[]),
            (vec![Manifest, Journal(3), Litter], 3, &[]),
            (vec![Manifest, Journal(3), HalfLine], 3, &[]),
            (vec![Manifest, Journal(4)], 4, &[]),
            (vec![Manifest, Journal(4), Litter], 4, &[]),
            (vec![Manifest, Journal(4), Records(4)], 4, &[]),
            (vec![Manifest, Journal(4), Records(4), Litter], 4, &[]),
            (vec![Manifest, Records(4)], 4, &[]),
            (vec![Manifest, Records(4), Journal(0)], 4, &[]),
            (vec![Manifest, Records(2)], 2, &[]),
            (vec![Manifest, Records(2), Journal(3)], 3, &[]),
            (vec![Manifest, Journal(4), NoRecords], 4, &["records.parquet", "anew"]),
            (vec![Manifest, Journal(2), HalfRecords], 2, &["records.parquet", "anew"]),
            (vec![HalfManifest, Journal(3)], 3, &["run.json", "present settings"]),
            (vec![Journal(3)], 3, &["run.json", "present settings"]),
            (vec![Records(4)], 4, &["run.json", "present settings"]),
            (vec![HalfManifest], 0, &[]),
            (
                vec![Manifest, Journal(2), Strangers],
                2,
                &["5 lines are no answers of this run"],
            ),
            (
                vec![Manifest, Strangers, Journal(2), HalfLine],
                2,
                &["5 lines are no answers"],
            ),
            (vec![Manifest, Broken, Journal(3)], 3, &["1 line is broken"]),
            (vec![Manifest, Journal(3), Twice, Twice], 3, &[]),
        ];
        for (left, expected, words) in states {
            let home = tempfile::tempdir().unwrap();
            let path = home.path().join("run");
            std::fs::create_dir(&path).unwrap();
            left.iter().for_each(|left| leave(&path, *left));
            let (keys, kept, notes) = go_on(&path).unwrap_or_else(|error| panic!("{left:?}: {error:#}"));
            assert_eq!(keys, [(1, 0), (1, 1), (2, 0), (2, 1)], "{left:?}");
            assert_eq!(kept, expected, "{left:?}: {notes:?}");
            let notes = notes.join("; ");
            assert!(words.iter().all(|word| notes.contains(word)), "{left:?}: {notes}");
            assert_eq!(notes.is_empty(), words.is_empty(), "{left:?}: {notes}");
        }
    }

    #[test]
    fn answers_that_are_all_unreadable_are_named_with_the_way_out() {
        let home = tempfile::tempdir().unwrap();
        leave(home.path(), Left::Manifest);
        leave(home.path(), Left::NoRecords);
        let error = format!("{:#}", RunFolder::resume(home.path(), &planned(), &is_own).unwrap_err());
        assert!(
            error.contains("records.parquet") && error.contains("remove that file"),
            "{error}"
        );
    }

    #[test]
    fn a_finished_run_takes_no_more_answers_and_its_texts_stay_readable() {
        let home = tempfile::tempdir().unwrap();
        let mut folder = RunFolder::create(&home.path().join("run"), &planned()).unwrap();
        let texts = folder.texts().unwrap();
        for (question, attempt) in KEYS {
            assert!(folder.append(&record(question, attempt)).unwrap());
            assert!(!folder.append(&record(question, attempt)).unwrap(), "each once");
        }
        folder.finish(&planned()).unwrap();
        assert_eq!(*texts.record(1).unwrap(), record(2, 0));
        assert!(folder.append(&record(7, 0)).is_err());
    }
}
