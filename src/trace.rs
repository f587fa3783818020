//! A trace opened for reading: light columns of every row in memory, text on demand.
//!
//! Lists, counts and filters read [`Rows`]; text is read through [`Texts`] when it is shown or searched.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, RwLock};

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};

use crate::record::{Finish, INVALID, Record, letter_index};

/// A column of few different texts: one small code a row.
#[derive(Debug, Clone, Default)]
pub struct Names {
    codes: Vec<u32>,
    list: Vec<Arc<str>>,
    index: HashMap<Arc<str>, u32>,
}

impl Names {
    pub fn push(&mut self, name: &str) {
        let code = self.code_for(name);
        self.codes.push(code);
    }

    /// The code of a name, made if it is new.
    pub fn code_for(&mut self, name: &str) -> u32 {
        if let Some(code) = self.index.get(name) {
            return *code;
        }
        let code = u32::try_from(self.list.len()).expect("fewer than 2^32 different names");
        let name: Arc<str> = Arc::from(name);
        self.list.push(Arc::clone(&name));
        self.index.insert(name, code);
        code
    }

    /// Appends a row by a code from [`Names::code_for`].
    pub fn push_code(&mut self, code: u32) {
        self.codes.push(code);
    }

    pub fn get(&self, row: usize) -> &str {
        &self.list[self.codes[row] as usize]
    }

    pub fn code(&self, row: usize) -> u32 {
        self.codes[row]
    }

    pub fn codes(&self) -> &[u32] {
        &self.codes
    }

    /// The different names, by code, in order of first appearance.
    pub fn list(&self) -> &[Arc<str>] {
        &self.list
    }

    pub fn find(&self, name: &str) -> Option<u32> {
        self.index.get(name).copied()
    }

    pub fn set(&mut self, row: usize, name: &str) {
        self.codes[row] = self.code_for(name);
    }

    pub fn len(&self) -> usize {
        self.codes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }
}

/// The light columns of a trace, one entry a row in each.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    pub question_id: Vec<i64>,
    pub attempt: Vec<u16>,
    /// `i64::MIN` where unknown.
    pub seed: Vec<i64>,
    pub benchmark: Names,
    pub category: Names,
    pub subject: Names,
    /// A letter, [`INVALID`], or the text that the file stores.
    pub pick: Names,
    pub answer: Names,
    pub correct: Vec<bool>,
    /// Code points of the completion.
    pub chars: Vec<u32>,
    pub finish: Vec<Option<Finish>>,
    /// Flags joined by `,`; empty for none.
    pub flags: Names,
    /// Number of options; 0 where unknown.
    pub options: Vec<u8>,
    /// First 8 bytes of the doc hash; 0 where unknown. Rows of one question share it.
    pub doc: Vec<u64>,
    /// Whether the pick comes from log-likelihoods: there is no output to read, whatever the rule.
    pub scored: Vec<bool>,
}

/// The light part of one row, to be appended.
#[derive(Debug, Clone, Copy)]
pub struct Light<'a> {
    pub question_id: i64,
    pub attempt: u16,
    pub seed: Option<i64>,
    pub benchmark: &'a str,
    pub category: &'a str,
    pub subject: &'a str,
    pub pick: &'a str,
    pub answer: &'a str,
    pub correct: bool,
    pub chars: u32,
    pub finish: Option<Finish>,
    pub flags: &'a str,
    pub options: u8,
    pub doc: u64,
    pub scored: bool,
}

impl Rows {
    pub fn len(&self) -> usize {
        self.question_id.len()
    }

    pub fn is_empty(&self) -> bool {
        self.question_id.is_empty()
    }

    pub fn push(&mut self, light: &Light) {
        self.question_id.push(light.question_id);
        self.attempt.push(light.attempt);
        self.seed.push(light.seed.unwrap_or(i64::MIN));
        self.benchmark.push(light.benchmark);
        self.category.push(light.category);
        self.subject.push(light.subject);
        self.pick.push(light.pick);
        self.answer.push(light.answer);
        self.correct.push(light.correct);
        self.chars.push(light.chars);
        self.finish.push(light.finish);
        self.flags.push(light.flags);
        self.options.push(light.options);
        self.doc.push(light.doc);
        self.scored.push(light.scored);
    }

    pub fn push_record(&mut self, record: &Record) {
        self.push(&Light {
            question_id: record.question_id,
            attempt: u16::try_from(record.attempt).unwrap_or(u16::MAX),
            seed: record.seed,
            benchmark: &record.benchmark,
            category: &record.category,
            subject: if record.subject.is_empty() {
                &record.category
            } else {
                &record.subject
            },
            pick: &record.pick,
            answer: &record.answer,
            correct: record.correct,
            chars: u32::try_from(record.reasoning_chars).unwrap_or(u32::MAX),
            finish: record.finish,
            flags: &record.flags.join(","),
            options: u8::try_from(record.options.len()).unwrap_or(u8::MAX),
            doc: hash_prefix(&record.doc_hash),
            scored: record.logprobs.is_some(),
        });
    }

    /// Appends a copy of another trace's row.
    pub fn push_row(&mut self, other: &Rows, row: usize) {
        self.push(&other.light(row));
    }

    pub fn light(&self, row: usize) -> Light<'_> {
        Light {
            question_id: self.question_id[row],
            attempt: self.attempt[row],
            seed: self.seed(row),
            benchmark: self.benchmark.get(row),
            category: self.category.get(row),
            subject: self.subject.get(row),
            pick: self.pick.get(row),
            answer: self.answer.get(row),
            correct: self.correct[row],
            chars: self.chars[row],
            finish: self.finish[row],
            flags: self.flags.get(row),
            options: self.options[row],
            doc: self.doc[row],
            scored: self.scored[row],
        }
    }

    pub fn seed(&self, row: usize) -> Option<i64> {
        Some(self.seed[row]).filter(|seed| *seed != i64::MIN)
    }

    pub fn is_invalid(&self, row: usize) -> bool {
        self.pick.get(row) == INVALID
    }

    /// The pick's option index, where the pick is one letter.
    pub fn pick_index(&self, row: usize) -> Option<usize> {
        letter_index(self.pick.get(row))
    }

    /// What tells one question from another: rows with equal keys are attempts at one question.
    pub fn question_key(&self, row: usize) -> (u32, i64) {
        (self.benchmark.code(row), self.question_id[row])
    }
}

/// The first 16 hex digits of a hash as a number; 0 where it is no hash.
pub fn hash_prefix(hash: &str) -> u64 {
    hash.get(..16)
        .and_then(|digits| u64::from_str_radix(digits, 16).ok())
        .unwrap_or(0)
}

/// A long text column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Field {
    Prompt,
    /// The model's output (column `reasoning`).
    Completion,
    /// The question's text, without options; where a file stores none, what its prompt ends with.
    Question,
}

/// Where the text of a trace's rows comes from. Shared between the screen and the worker that searches.
pub trait Texts: Send + Sync {
    /// The whole record of a row, as stored: pick, answer and correct are the file's own.
    fn record(&self, row: usize) -> Result<Arc<Record>>;

    /// The records of several rows, in the order asked; cheaper than one by one where rows lie together.
    fn records(&self, rows: &[usize]) -> Result<Vec<Arc<Record>>> {
        rows.iter().map(|row| self.record(*row)).collect()
    }

    /// Rows as their file has them: its own columns, in its own order. For exports.
    fn source(&self, rows: &[usize]) -> Result<Vec<Map<String, Value>>> {
        self.records(rows)?.iter().map(|record| as_map(record)).collect()
    }

    /// The same as lines of JSON without the line break: where the file is JSON, its own bytes, white space between
    /// them left out. For exports.
    fn source_lines(&self, rows: &[usize]) -> Result<Vec<Vec<u8>>> {
        let rows = self.source(rows)?;
        rows.iter().map(|row| Ok(serde_json::to_vec(row)?)).collect()
    }

    /// The files that the rows are read from; an export never replaces one.
    fn files(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Calls `visit` with the text of `field` of each row for which `wanted` is true, in row order, until it breaks.
    fn scan(
        &self,
        field: Field,
        wanted: &dyn Fn(usize) -> bool,
        visit: &mut dyn FnMut(usize, &str) -> ControlFlow<()>,
    ) -> Result<()>;
}

/// A record's columns in the order of a parquet file. Numbers that JSON lacks are written by their name.
pub fn as_map(record: &Record) -> Result<Map<String, Value>> {
    let Value::Object(mut map) = serde_json::to_value(record).context("a record does not turn into JSON")? else {
        bail!("a record did not turn into an object");
    };
    if let Some(logprobs) = record
        .logprobs
        .as_ref()
        .filter(|list| list.iter().any(|n| !n.is_finite()))
    {
        let number = |number: &f32| {
            serde_json::Number::from_f64(f64::from(*number)).map_or_else(|| number.to_string().into(), Value::Number)
        };
        map.insert("logprobs".to_owned(), logprobs.iter().map(number).collect());
    }
    Ok(map)
}

/// Something a reader should know about a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// A short word: `broken_row`, `missing_column`, ...
    pub kind: String,
    pub text: String,
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
    /// The run's manifest (our own `run.json`, or a results file beside a trace).
    pub manifest: Option<serde_json::Value>,
    pub notices: Vec<Notice>,
    /// The rule whose picks the rows hold; `None`: as stored in the file.
    pub rule: Option<String>,
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

/// Records held in memory; a run at work appends to it.
#[derive(Debug, Default)]
pub struct Memory {
    records: RwLock<Vec<Arc<Record>>>,
}

impl Memory {
    pub fn new(records: Vec<Record>) -> Memory {
        Memory {
            records: RwLock::new(records.into_iter().map(Arc::new).collect()),
        }
    }

    pub fn push(&self, record: Arc<Record>) {
        self.records
            .write()
            .expect("no reader panics while it holds the lock")
            .push(record);
    }

    fn snapshot(&self) -> Vec<Arc<Record>> {
        self.records
            .read()
            .expect("no writer panics while it holds the lock")
            .clone()
    }
}

impl Texts for Memory {
    fn record(&self, row: usize) -> Result<Arc<Record>> {
        let records = self.records.read().expect("no writer panics while it holds the lock");
        match records.get(row) {
            Some(record) => Ok(Arc::clone(record)),
            None => bail!("row {row} is not among the {} rows of this trace", records.len()),
        }
    }

    fn scan(
        &self,
        field: Field,
        wanted: &dyn Fn(usize) -> bool,
        visit: &mut dyn FnMut(usize, &str) -> ControlFlow<()>,
    ) -> Result<()> {
        for (row, record) in self.snapshot().iter().enumerate() {
            if !wanted(row) {
                continue;
            }
            let text = match field {
                Field::Prompt => &record.prompt,
                Field::Completion => &record.reasoning,
                Field::Question => &record.question,
            };
            if visit(row, text).is_break() {
                break;
            }
        }
        Ok(())
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
        }
    }

    /// The record of a row with the picks that are shown (another rule's, after `--rule`).
    pub fn record(&self, row: usize) -> Result<Arc<Record>> {
        let stored = self.texts.record(row)?;
        let light = self.rows.light(row);
        if stored.pick == light.pick && stored.correct == light.correct {
            return Ok(stored);
        }
        let mut record = Record::clone(&stored);
        light.pick.clone_into(&mut record.pick);
        record.correct = light.correct;
        Ok(Arc::new(record))
    }
}
