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
use crate::trace::{Field, Texts, as_map};

/// Rows that are read together while scanning, and the bytes they may take.
const ROWS: usize = 512;
const BYTES: usize = 8 << 20;

/// Records kept after they were shown, and the bytes of text they may hold.
const KEPT: usize = 64;
const KEPT_BYTES: usize = 16 << 20;

/// The rows of a trace in foreign files.
pub(crate) struct Indexed {
    pub parts: Arc<Vec<Part>>,
    pub spans: Vec<Span>,
    pub offsets: Vec<i64>,
    pub attempts: Option<Vec<u16>>,
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
        if let Some(attempt) = self.attempts.as_ref().and_then(|attempts| attempts.get(row)) {
            record.attempt = i64::from(*attempt);
        }
        Ok(record)
    }

    fn text(&self, row: usize, field: Field) -> Result<String> {
        let (part, span, bytes) = self.bytes(row)?;
        let entry = Entry {
            bytes: &bytes,
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

    fn scan(
        &self,
        field: Field,
        wanted: &dyn Fn(usize) -> bool,
        visit: &mut dyn FnMut(usize, &str) -> ControlFlow<()>,
    ) -> Result<()> {
        let mut rows = (0..self.spans.len()).filter(|row| wanted(*row)).peekable();
        while rows.peek().is_some() {
            let mut together = Vec::with_capacity(ROWS);
            let mut bytes = 0;
            while together.len() < ROWS
                && let Some(row) = rows.next_if(|row| bytes == 0 || bytes + self.spans[*row].length as usize <= BYTES)
            {
                bytes += self.spans[row].length as usize;
                together.push(row);
            }
            let texts: Vec<Result<String>> = together.par_iter().map(|row| self.text(*row, field)).collect();
            for (row, text) in together.into_iter().zip(texts) {
                if visit(row, &text?).is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn source(&self, rows: &[usize]) -> Result<Vec<Map<String, Value>>> {
        let one = |row: &usize| {
            let (_, _, bytes) = self.bytes(*row)?;
            match json::values(&bytes)?.as_slice() {
                [only] => match only.value() {
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
            let (_, _, bytes) = self.bytes(*row)?;
            match json::values(&bytes)?.as_slice() {
                [only] if only.is_object() => Ok(only.line()),
                _ => Ok(serde_json::to_vec(&as_map(&*self.record(*row)?)?)?),
            }
        };
        rows.par_iter().map(one).collect()
    }

    fn files(&self) -> Vec<PathBuf> {
        self.parts.iter().map(|part| part.source.path.clone()).collect()
    }
}
