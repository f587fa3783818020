//! A trace opened for reading: light columns of every row in memory, text on demand.
//!
//! Lists, counts and filters read [`Rows`]; text is read through [`Texts`] when it is shown or searched.

mod identity;
mod memory;
mod names;
mod provenance;
mod rows;

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};

use crate::json;
use crate::record::Record;

pub use identity::Identity;
pub use memory::Memory;
pub use names::Names;
pub use provenance::{Provenance, model_of_results};
pub use rows::{Light, Rows, hash_prefix};

/// A long text column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Field {
    Prompt,
    /// The model's output (column `reasoning`).
    Completion,
    /// The question's text, without options; where a file stores none, what its prompt ends with.
    Question,
}

impl Field {
    pub fn of(self, record: &Record) -> &str {
        match self {
            Field::Prompt => &record.prompt,
            Field::Completion => &record.reasoning,
            Field::Question => &record.question,
        }
    }
}

/// Which rows are wanted, and what is done with the text of each: it goes on or breaks.
pub type Wanted<'a> = dyn Fn(usize) -> bool + 'a;
pub type Visit<'a> = dyn FnMut(usize, &str) -> ControlFlow<()> + 'a;
/// The same where several threads make a number of each text.
pub type SyncWanted<'a> = dyn Fn(usize) -> bool + Sync + 'a;
pub type Number<'a> = dyn Fn(usize, &str) -> u64 + Sync + 'a;
pub type VisitNumber<'a> = dyn FnMut(usize, u64) -> ControlFlow<()> + 'a;

/// Where the text of a trace's rows comes from. Shared between the screen and the worker that searches.
pub trait Texts: Send + Sync {
    /// The whole record of a row, as stored: pick, answer and correct are the file's own.
    fn record(&self, row: usize) -> Result<Arc<Record>>;

    /// The records of several rows, in the order asked; cheaper than one by one where rows lie together.
    fn records(&self, rows: &[usize]) -> Result<Vec<Arc<Record>>> {
        rows.iter().map(|row| self.record(*row)).collect()
    }

    /// Records of which only this is sure to be there: numbers, hashes, pick, gold, completion and log-likelihoods; the prompt
    /// where its hash is not stored. Cheaper where the file has columns. For going over all rows once.
    fn answers(&self, rows: &[usize]) -> Result<Vec<Arc<Record>>> {
        self.records(rows)
    }

    /// Rows as their file has them: its own columns, in its own order. For exports.
    fn source(&self, rows: &[usize]) -> Result<Vec<Map<String, Value>>> {
        self.records(rows)?.iter().map(|record| as_map(record)).collect()
    }

    /// The same as lines of JSON without the line break: where the file is JSON, its own bytes, white space between
    /// them left out. For exports.
    fn source_lines(&self, rows: &[usize]) -> Result<Vec<Vec<u8>>> {
        let rows = self.source(rows)?;
        Ok(rows.into_iter().map(as_line).collect())
    }

    /// The file that a row is read from, or the member of an archive, and at which of its bytes the row begins; records of
    /// one row share its place.
    fn place(&self, _row: usize) -> Option<(PathBuf, u64)> {
        None
    }

    /// The files that the rows are read from; an export never replaces one.
    fn files(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Calls `visit` with the text of `field` of each row for which `wanted` is true, in row order, until it breaks.
    fn scan(&self, field: Field, wanted: &Wanted, visit: &mut Visit) -> Result<()>;

    /// Makes a number of the text of each wanted row, by several threads where that is faster, and calls `visit` with the
    /// numbers in row order until it breaks.
    fn map(&self, field: Field, wanted: &SyncWanted, number: &Number, visit: &mut VisitNumber) -> Result<()> {
        self.scan(field, &|row| wanted(row), &mut |row, text| {
            visit(row, number(row, text))
        })
    }

    /// The first rows of the files or runs that were joined into this trace.
    fn parts(&self) -> Vec<usize> {
        vec![0]
    }
}

/// Texts of a run at work, which grow with it.
#[derive(Clone)]
pub struct GrowingTexts(pub Arc<dyn Texts>);

impl std::fmt::Debug for GrowingTexts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("GrowingTexts")
    }
}

/// A record's columns in the order of a parquet file.
pub fn as_map(record: &Record) -> Result<Map<String, Value>> {
    match serde_json::to_value(record).context("a record does not turn into JSON")? {
        Value::Object(map) => Ok(map),
        _ => bail!("a record did not turn into an object"),
    }
}

/// An object on one line of JSON, numbers as Python writes them.
pub fn as_line(map: Map<String, Value>) -> Vec<u8> {
    json::python_json(&Value::Object(map), json::Layout::Dense).into_bytes()
}

/// Something a reader should know about a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// A short word: `broken_row`, `missing_column`, ...
    pub kind: String,
    pub text: String,
}

/// A trace that was joined with others into one.
#[derive(Debug, Clone)]
pub struct Member {
    /// Its first row.
    pub first: usize,
    pub name: String,
    pub path: Option<PathBuf>,
    pub manifest: Option<Provenance>,
}

impl Member {
    /// The model that a run of ours names.
    pub fn model(&self) -> Option<&str> {
        Some(&self.manifest.as_ref()?.ours()?.settings.model.name)
    }

    /// The rule that a run of ours names.
    pub fn rule(&self) -> Option<&str> {
        Some(&self.manifest.as_ref()?.ours()?.settings.rule)
    }
}

/// A trace opened for reading.
#[derive(Clone)]
pub struct Trace {
    /// Short name for titles and tables: the model's, where known, else the file's.
    pub name: String,
    pub path: Option<PathBuf>,
    /// One line that says what the file is, e.g. `lm-eval 0.4.3 to 0.4.6, one filter, 2 ranks`.
    pub kind: String,
    pub rows: Rows,
    pub texts: Arc<dyn Texts>,
    /// How it came about (our own `run.json`, or a results file beside a trace).
    pub manifest: Option<Provenance>,
    pub notices: Vec<Notice>,
    /// The rule whose picks the rows hold; `None`: as stored in the file.
    pub rule: Option<String>,
    /// The traces that it was joined from, in the order of their rows; none where it is one trace.
    pub members: Vec<Member>,
}

impl std::fmt::Debug for Trace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Trace")
            .field("name", &self.name)
            .field("kind", &self.kind)
            .field("rows", &self.rows.len())
            .finish()
    }
}

impl Trace {
    /// A trace over records that are all in memory.
    pub fn from_records(name: &str, kind: &str, records: Vec<Record>) -> Trace {
        let mut rows = Rows::default();
        for record in &records {
            rows.push_record(record);
        }
        Trace {
            name: name.to_owned(),
            path: None,
            kind: kind.to_owned(),
            rows,
            texts: Arc::new(Memory::new(records)),
            manifest: None,
            notices: Vec::new(),
            rule: None,
            members: Vec::new(),
        }
    }

    /// The traces that it was joined from; itself where it is one.
    pub fn members(&self) -> Vec<Member> {
        if self.members.is_empty() {
            return vec![Member {
                first: 0,
                name: self.name.clone(),
                path: self.path.clone(),
                manifest: self.manifest.clone(),
            }];
        }
        self.members.clone()
    }

    /// The record of a row with the picks that are shown (another rule's, after `--rule`).
    pub fn record(&self, row: usize) -> Result<Arc<Record>> {
        Ok(self.shown(row, self.texts.record(row)?))
    }

    /// A row's stored record with the pick that is shown.
    pub fn shown(&self, row: usize, stored: Arc<Record>) -> Arc<Record> {
        let light = self.rows.light(row);
        if stored.pick == light.pick && stored.correct == light.correct {
            return stored;
        }
        let mut record = Record::clone(&stored);
        light.pick.clone_into(&mut record.pick);
        record.correct = light.correct;
        Arc::new(record)
    }
    /// Whether the file calls its attempts epochs and counts them from 1, as Inspect does.
    pub fn counts_epochs(&self) -> bool {
        self.kind.starts_with("Inspect ")
    }
}
