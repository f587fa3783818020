//! What one format knows: how an entry of a file becomes records.

use std::borrow::Cow;
use std::fmt;

use super::json::{self, Broken, Object, Raw};
use super::split::Shape;
use crate::record::{Record, is_right};
use crate::trace::{Field, Notice};

/// Why an entry gives no row. It holds no backtrace, since a file may have millions of broken rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RowError {
    /// The entry is no JSON.
    Json(Broken),
    /// It is, and lacks what a row needs.
    Lacks(String),
    /// It is something else than an answer, and says nothing of one: it has no pick, no gold.
    NoRow(&'static str),
}

impl fmt::Display for RowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RowError::Json(broken) if broken.is_cut => f.write_str("is incomplete"),
            RowError::Json(broken) => broken.fmt(f),
            RowError::Lacks(what) => f.write_str(what),
            RowError::NoRow(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for RowError {}

impl From<Broken> for RowError {
    fn from(broken: Broken) -> RowError {
        RowError::Json(broken)
    }
}

impl From<&str> for RowError {
    fn from(what: &str) -> RowError {
        RowError::Lacks(what.to_owned())
    }
}

impl From<String> for RowError {
    fn from(what: String) -> RowError {
        RowError::Lacks(what)
    }
}

/// The bytes of one entry: one value, or the values of rows that belong together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry<'a> {
    pub bytes: &'a [u8],
    /// Counted from 0 within its file.
    pub number: usize,
}

impl<'a> Entry<'a> {
    /// The entry's only object.
    pub fn object(&self) -> Result<Object<'a>, RowError> {
        if self.bytes.first() == Some(&b'{') {
            return Ok(Object::parse(self.bytes)?);
        }
        let values = json::values(self.bytes)?;
        let shown: String = values.first().map(|raw| raw.shown()).unwrap_or_default();
        Err(format!("no row but \"{}\"", shown.chars().take(60).collect::<String>()).into())
    }

    pub fn objects(&self) -> Result<Vec<Object<'a>>, RowError> {
        json::values(self.bytes)?
            .into_iter()
            .map(|raw| Ok(Object::parse(raw.0)?))
            .collect()
    }
}

/// One answer of an entry.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    pub record: Record,
    /// Rows of a file are sorted by this.
    pub order: i64,
    /// Answers of different series (filters) are traces of their own.
    pub series: Cow<'static, str>,
    /// The question's number counts within the file only.
    pub is_local_id: bool,
    /// The question's id where that is no number; questions are numbered as their ids appear.
    pub text_id: Option<String>,
    /// Bits that the format tells its kind by.
    pub traits: u16,
}

impl Answer {
    /// An entry's only answer, numbered within its file.
    pub fn local(record: Record, entry: &Entry) -> Answer {
        Answer {
            record,
            order: entry.number as i64,
            is_local_id: true,
            ..Answer::default()
        }
    }
}

/// What was counted while indexing, for the line that says what a trace is.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tally {
    pub rows: usize,
    pub questions: usize,
    pub files: usize,
    pub ranks: usize,
    /// All bits seen.
    pub traits: u16,
    pub series: Vec<String>,
    /// The series that the trace at hand holds.
    pub own_series: String,
}

impl Tally {
    /// `, 57 subjects`, where there are several files.
    pub fn several(&self, what: &str) -> String {
        match self.files {
            0 | 1 => String::new(),
            files => format!(", {files} {what}"),
        }
    }
}

/// A format's way to read entries. One for each kind of file.
pub(crate) trait Layout: Send + Sync + fmt::Debug {
    /// The records of an entry; an error says what is broken in it.
    fn answers(&self, entry: &Entry) -> Result<Vec<Answer>, RowError>;

    /// One line that says what the file is.
    fn kind(&self, tally: &Tally) -> String;

    /// Entries in a row that have the same key belong to one record. `None`: each stands alone.
    fn group(&self, _entry: &Entry) -> Option<String> {
        None
    }

    /// Whether an entry is the last of its group, where those of one group may lie among others; `None`: a group is what
    /// lies together.
    fn ends_group(&self, _entry: &Entry) -> Option<bool> {
        None
    }

    /// A text of the entry's `part`th record without reading the rest; `None` where that is no faster.
    fn text(&self, _entry: &Entry, _part: usize, _field: Field) -> Option<String> {
        None
    }

    /// What a reader should know about these rows.
    fn notices(&self, _rows: &crate::trace::Rows) -> Vec<Notice> {
        Vec::new()
    }

    /// Whether a row tells everything without the file around it. Rows that do not are exported as records of ours.
    fn stands_alone(&self) -> bool {
        true
    }

    /// The same layout where the writing tool's version is known.
    fn with_version(&self, _version: &str) -> Option<Box<dyn Layout>> {
        None
    }

    /// What a file is that holds no entry.
    fn without_rows(&self) -> Option<String> {
        None
    }

    /// Whether a row tells its question and attempt, so that a line that stands twice was written twice.
    fn is_numbered(&self) -> bool {
        false
    }

    /// What the series of its answers are, where there are several.
    fn series(&self) -> &'static str {
        "filters"
    }

    /// Whether repeated question ids are attempts, to be numbered in order.
    fn numbers_attempts(&self) -> bool {
        false
    }
}

/// What a format says about a file that it recognises.
pub(crate) struct Sniffed {
    pub format: &'static str,
    pub layout: Box<dyn Layout>,
    pub shape: Shape,
    /// The trace's name, where the content tells it (the model's).
    pub name: Option<String>,
    /// The subject or task that this file holds, where runs are split by it.
    pub split: Option<String>,
    /// What tells one run from another beside the file's name.
    pub run: Option<String>,
    /// Facts about the whole file, for the manifest.
    pub manifest: Option<serde_json::Value>,
}

impl Sniffed {
    pub fn new(format: &'static str, layout: impl Layout + 'static, shape: Shape) -> Sniffed {
        Sniffed {
            format,
            layout: Box::new(layout),
            shape,
            name: None,
            split: None,
            run: None,
            manifest: None,
        }
    }
}

/// Sets `correct` from pick and answer.
pub(crate) fn mark(record: &mut Record) {
    record.correct = is_right(&record.pick, &record.answer);
}

/// Holds a score that the file states against what pick and answer give; without a gold the file's word stands.
pub(crate) fn stated_score(record: &mut Record, stated: Option<bool>) {
    match stated {
        Some(stated) if record.answer.is_empty() => record.correct = stated,
        Some(stated) if stated != record.correct => flag(record, "score_differs"),
        _ => {}
    }
}

/// A list of texts: numbers are written as they stand.
pub(crate) fn texts(raw: Raw) -> Vec<String> {
    raw.list().into_iter().map(Raw::shown).collect()
}

pub(crate) fn flag(record: &mut Record, name: &str) {
    if !record.flags.iter().any(|flag| flag == name) {
        record.flags.push(name.to_owned());
    }
}

/// Puts a completion in place: null and empty are no output, broken text is marked.
pub(crate) fn set_completion(record: &mut Record, raw: Option<Raw>) {
    let (text, is_replaced) = completion_text(raw);
    if is_replaced {
        flag(record, "replaced_text");
    }
    if text.is_empty() {
        flag(record, "no_output");
    }
    record.reasoning_chars = text.chars().count() as i64;
    record.reasoning = text;
}

/// The text of a completion that is a string, or the first of a list of them.
pub(crate) fn completion_text(raw: Option<Raw>) -> (String, bool) {
    let Some(raw) = raw else { return Default::default() };
    if let Some(marked) = raw.marked_text() {
        return marked;
    }
    if raw.is_list() {
        return completion_text(raw.list().into_iter().find(|item| !item.is_null()));
    }
    if raw.is_null() {
        Default::default()
    } else {
        (raw.one_line(), false)
    }
}

/// Where the options of the last question in a prompt begin.
pub(crate) fn lettered_start(prompt: &str) -> Option<usize> {
    let starts = std::iter::once(0).chain(memchr::memchr_iter(b'\n', prompt.as_bytes()).map(|at| at + 1));
    starts
        .filter(|at| {
            prompt[*at..]
                .lines()
                .next()
                .is_some_and(|line| lettered(line, 'A').is_some())
        })
        .last()
}

/// The options of the last question in a prompt: lines that start with `A.`, `A)` or `(A)`, then B, and so on.
pub(crate) fn lettered_options(prompt: &str) -> Vec<String> {
    let lines: Vec<&str> = prompt.lines().collect();
    let Some(start) = lines.iter().rposition(|line| lettered(line, 'A').is_some()) else {
        return Vec::new();
    };
    let mut options: Vec<String> = Vec::new();
    for line in &lines[start..] {
        let next = char::from(b'A' + (options.len() as u8).min(25));
        if let Some(text) = lettered(line, next) {
            options.push(text.to_owned());
        } else if line.trim().is_empty() || line.starts_with("Answer") || options.len() >= 26 {
            break;
        } else if let Some(last) = options.last_mut() {
            last.push('\n');
            last.push_str(line);
        }
    }
    options
}

fn lettered(line: &str, name: char) -> Option<&str> {
    let rest = line.trim_start();
    let rest = rest.strip_prefix('(').unwrap_or(rest).strip_prefix(name)?;
    rest.strip_prefix([')', '.', ':']).map(str::trim)
}
