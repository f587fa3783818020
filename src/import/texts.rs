//! Text of indexed rows, read from the files when it is asked for.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result, bail};
use rayon::prelude::*;
use serde_json::{Map, Value};

use super::index::{Part, Span};
use super::json;
use super::layout::Entry;
use crate::record::{Record, split_prompt};
use crate::trace::{Field, Number, SyncWanted, Texts, Visit, VisitNumber, Wanted, as_line, as_map};

/// Rows that lie together and are read at once while scanning, the bytes that may take, and how many such reads are
/// made before their texts are handed on.
const ROWS: usize = 256;
const BYTES: u64 = 1 << 20;
const WAVE: usize = 8;

/// Records kept after they were shown, and the bytes of text they may hold.
const KEPT: usize = 64;
const KEPT_BYTES: usize = 16 << 20;

/// The rows of a trace in foreign files.
pub(crate) struct Indexed {
    pub parts: Arc<Vec<Part>>,
    pub spans: Vec<Span>,
    pub offsets: Vec<i64>,
    pub attempts: Option<Vec<u16>>,
    /// The numbers of the questions, where their ids are texts.
    pub questions: Option<Vec<i64>>,
    pub kept: Mutex<VecDeque<(usize, Arc<Record>)>>,
}

impl Indexed {
    fn bytes(&self, row: usize) -> Result<(&Part, Span, Vec<u8>)> {
        let span = *self
            .spans
            .get(row)
            .with_context(|| format!("row {row} is not among the {} rows", self.spans.len()))?;
        let part = self
            .parts
            .get(usize::from(span.file))
            .context("an index that belongs to other files")?;
        let mut bytes = part.source.read(span.start, span.length as usize)?;
        bytes.truncate(bytes.trim_ascii_end().len());
        Ok((part, span, bytes))
    }

    fn read(&self, row: usize) -> Result<Record> {
        let (part, span, bytes) = self.bytes(row)?;
        let entry = Entry {
            bytes: &bytes,
            number: span.number as usize,
        };
        let answers = part
            .layout
            .answers(&entry)
            .with_context(|| format!("row {row} of {}", part.source.name()))?;
        let Some(answer) = answers.into_iter().nth(usize::from(span.part)) else {
            bail!("{} changed since it was opened", part.source.name());
        };
        let mut record = answer.record;
        if answer.is_local_id {
            let offset = self.offsets.get(usize::from(span.file)).copied().unwrap_or(0);
            record.question_id = record.question_id.saturating_add(offset);
        }
        if let Some(question) = self.questions.as_ref().and_then(|questions| questions.get(row)) {
            record.question_id = *question;
        }
        if let Some(attempt) = self.attempts.as_ref().and_then(|attempts| attempts.get(row)) {
            record.attempt = i64::from(*attempt);
        }
        Ok(record)
    }

    /// The text of a row whose bytes are at hand.
    fn text(&self, row: usize, span: Span, bytes: &[u8], field: Field) -> Result<String> {
        let part = &self.parts[usize::from(span.file)];
        let entry = Entry {
            bytes: bytes.trim_ascii_end(),
            number: span.number as usize,
        };
        if let Some(text) = part.layout.text(&entry, usize::from(span.part), field) {
            return Ok(text);
        }
        let record = self.read(row)?;
        Ok(match field {
            Field::Prompt => record.prompt,
            Field::Completion => record.reasoning,
            Field::Question if record.question.is_empty() => split_prompt(&record.prompt).question,
            Field::Question => record.question,
        })
    }

    /// The next rows that lie together in one file.
    fn together(&self, rows: &mut std::iter::Peekable<impl Iterator<Item = usize>>) -> Vec<usize> {
        let mut together: Vec<usize> = Vec::new();
        let mut first: Option<Span> = None;
        let end = |span: Span| span.start + u64::from(span.length);
        while together.len() < ROWS
            && let Some(row) = rows.next_if(|row| {
                let span = self.spans[*row];
                first.is_none_or(|first| {
                    span.file == first.file && span.start >= first.start && end(span) - first.start <= BYTES
                })
            })
        {
            first.get_or_insert(self.spans[row]);
            together.push(row);
        }
        together
    }

    /// Reads rows that lie together at once, and makes something of each text.
    fn each_text<T>(&self, rows: &[usize], field: Field, make: &(dyn Fn(usize, &str) -> T + Sync)) -> Result<Vec<T>> {
        let spans = rows.iter().map(|row| self.spans[*row]);
        let ends = spans.clone().map(|span| span.start + u64::from(span.length));
        let (Some(first), Some(end)) = (spans.clone().next(), ends.max()) else {
            return Ok(Vec::new());
        };
        let part = self
            .parts
            .get(usize::from(first.file))
            .context("an index that belongs to other files")?;
        let block = part.source.read(first.start, (end - first.start) as usize)?;
        let texts = rows.iter().zip(spans).map(|(row, span)| {
            let from = (span.start - first.start) as usize;
            let text = self.text(*row, span, &block[from..from + span.length as usize], field)?;
            Ok(make(*row, &text))
        });
        texts.collect()
    }

    /// Makes something of the text of each wanted row, by several threads, and hands it on in row order.
    fn each<T: Send>(
        &self,
        field: Field,
        wanted: &dyn Fn(usize) -> bool,
        make: &(dyn Fn(usize, &str) -> T + Sync),
        visit: &mut dyn FnMut(usize, T) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut rows = (0..self.spans.len()).filter(|row| wanted(*row)).peekable();
        while rows.peek().is_some() {
            let mut wave = Vec::with_capacity(WAVE);
            while wave.len() < WAVE && rows.peek().is_some() {
                wave.push(self.together(&mut rows));
            }
            let made: Vec<Result<Vec<T>>> = wave.par_iter().map(|rows| self.each_text(rows, field, make)).collect();
            for (rows, made) in wave.iter().zip(made) {
                for (row, made) in rows.iter().zip(made?) {
                    if visit(*row, made).is_break() {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }
}

impl Texts for Indexed {
    fn record(&self, row: usize) -> Result<Arc<Record>> {
        let lock = || self.kept.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some((_, record)) = lock().iter().find(|(kept, _)| *kept == row) {
            return Ok(Arc::clone(record));
        }
        let record = Arc::new(self.read(row)?);
        let mut kept = lock();
        kept.push_back((row, Arc::clone(&record)));
        let size =
            |record: &Record| record.reasoning.len() + record.prompt.len() + record.doc.as_ref().map_or(0, String::len);
        while kept.len() > KEPT
            || (kept.len() > 1 && kept.iter().map(|(_, record)| size(record)).sum::<usize>() > KEPT_BYTES)
        {
            kept.pop_front();
        }
        Ok(record)
    }

    fn scan(&self, field: Field, wanted: &Wanted, visit: &mut Visit) -> Result<()> {
        let keep = |_: usize, text: &str| text.to_owned();
        self.each(field, wanted, &keep, &mut |row, text| visit(row, &text))
    }

    fn map(&self, field: Field, wanted: &SyncWanted, number: &Number, visit: &mut VisitNumber) -> Result<()> {
        self.each(field, &|row| wanted(row), number, visit)
    }

    fn source(&self, rows: &[usize]) -> Result<Vec<Map<String, Value>>> {
        let one = |row: &usize| {
            let (part, _, bytes) = self.bytes(*row)?;
            match json::values(&bytes)?.as_slice() {
                [only] if only.is_object() && part.layout.stands_alone() => match only.value() {
                    Value::Object(fields) => Ok(fields),
                    other => bail!("row {row} is {other}, no object"),
                },
                // A record of several rows has no row of its own.
                _ => as_map(&*self.record(*row)?),
            }
        };
        rows.par_iter().map(one).collect()
    }

    fn source_lines(&self, rows: &[usize]) -> Result<Vec<Vec<u8>>> {
        let one = |row: &usize| {
            let (part, _, bytes) = self.bytes(*row)?;
            match json::values(&bytes)?.as_slice() {
                [only] if only.is_object() && part.layout.stands_alone() => Ok(only.line()),
                _ => Ok(as_line(as_map(&*self.record(*row)?)?)),
            }
        };
        rows.par_iter().map(one).collect()
    }

    fn place(&self, row: usize) -> Option<(PathBuf, u64)> {
        let span = self.spans.get(row)?;
        Some((
            PathBuf::from(self.parts[usize::from(span.file)].source.name()),
            span.start,
        ))
    }

    fn files(&self) -> Vec<PathBuf> {
        self.parts.iter().map(|part| part.source.path.clone()).collect()
    }
}
