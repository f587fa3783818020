//! Text of a parquet trace on demand: only the pages that hold the wanted rows, and a bounded cache.

use std::collections::{HashMap, VecDeque};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result, bail};
use arrow::array::{Array, StringArray};
use parquet::arrow::arrow_reader::{RowSelection, RowSelector};
use rayon::prelude::*;
use serde_json::{Map, Value};

use super::read::{Table, records_of, text_column};
use super::whole::whole_rows;
use crate::record::{Record, split_prompt};
use crate::trace::{Field, Number, Rows, SyncWanted, Texts, Visit, VisitNumber, Wanted};

/// Records kept, and the bytes of text that they may hold; a screen shows fewer than a hundred at once.
const CACHED: usize = 400;
const CACHED_BYTES: usize = 8 << 20;

/// So few rows are asked for by a screen; those beside them are read with them.
const FEW: usize = 48;
const BESIDE: usize = 16;

/// Rows of which text is decoded at a time.
const BATCH: usize = 1_024;

/// Rows that one thread looks at in a go, at least.
const TOGETHER: usize = 64;

#[derive(Debug)]
pub(super) struct ParquetTexts {
    table: Table,
    rows: usize,
    cache: Mutex<Cache>,
}

/// The last records read, first in first out.
#[derive(Debug, Default)]
struct Cache {
    records: HashMap<usize, Arc<Record>>,
    order: VecDeque<usize>,
    bytes: usize,
}

impl Cache {
    fn keep(&mut self, row: usize, record: &Arc<Record>) {
        let size =
            |record: &Record| record.prompt.len() + record.reasoning.len() + record.doc.as_ref().map_or(0, String::len);
        if self.records.insert(row, Arc::clone(record)).is_none() {
            self.order.push_back(row);
            self.bytes += size(record);
        }
        while self.order.len() > CACHED || (self.bytes > CACHED_BYTES && self.order.len() > 1) {
            let oldest = self.order.pop_front().and_then(|oldest| self.records.remove(&oldest));
            self.bytes -= oldest.map_or(0, |oldest| size(&oldest));
        }
    }
}

impl ParquetTexts {
    pub(super) fn new(table: Table, rows: usize) -> ParquetTexts {
        ParquetTexts {
            table,
            rows,
            cache: Mutex::default(),
        }
    }

    /// Counts the characters of each output, for files that do not store them.
    pub(super) fn count_chars(&self, rows: &mut Rows) -> Result<()> {
        if !self.table.has("reasoning") {
            return Ok(());
        }
        let mut counts = Vec::with_capacity(self.rows);
        self.scan(Field::Completion, &|_| true, &mut |_, text| {
            counts.push(u32::try_from(text.chars().count()).unwrap_or(u32::MAX));
            ControlFlow::Continue(())
        })?;
        rows.chars = counts;
        Ok(())
    }

    /// The column that holds a text; `None` where the file has none.
    fn text_source(&self, field: Field) -> Option<TextSource> {
        let from_prompt = field == Field::Question && !self.table.has("question");
        let column = match field {
            Field::Prompt => "prompt",
            Field::Completion => "reasoning",
            Field::Question if from_prompt => "prompt",
            Field::Question => "question",
        };
        self.table.has(column).then_some(TextSource { column, from_prompt })
    }

    /// Reads the texts of the wanted rows, batch after batch, until `each` says no. Row groups without a wanted row are
    /// passed over, pages without one are not unpacked. `each` is given the rows, their texts, and what reads the next
    /// batch ahead of time.
    fn each_batch(
        &self,
        source: &TextSource,
        wanted: &dyn Fn(usize) -> bool,
        each: &mut dyn FnMut(&[usize], &StringArray, &mut (dyn FnMut() + Send)) -> Result<bool>,
    ) -> Result<()> {
        let mut start = 0;
        for (group, size) in self.table.group_sizes().into_iter().enumerate() {
            let rows: Vec<usize> = (start..(start + size).min(self.rows))
                .filter(|row| wanted(*row))
                .collect();
            let first = start;
            start += size;
            if rows.is_empty() {
                continue;
            }
            let selection = (rows.len() < size).then(|| selection_of(rows.iter().map(|row| row - first), size));
            let mut reader = self.table.reader(&[source.column], vec![group], selection, BATCH)?;
            let mut at = 0;
            let mut next = self.table.next(&mut reader)?;
            while let Some(batch) = next.take() {
                let texts = text_column(&batch, source.column)?.context("the column is gone")?;
                let here = rows.get(at..at + texts.len()).context("more texts than rows")?;
                at += texts.len();
                let mut ahead = None;
                if !each(here, &texts, &mut || ahead = Some(self.table.next(&mut reader)))? {
                    return Ok(());
                }
                next = match ahead {
                    Some(read) => read?,
                    None => self.table.next(&mut reader)?,
                };
            }
        }
        Ok(())
    }

    /// Reads sorted, different rows.
    fn read_sorted(&self, wanted: &[usize], columns: &[&str], found: &mut HashMap<usize, Arc<Record>>) -> Result<()> {
        let mut start = 0;
        let mut rest = wanted;
        for (group, size) in self.table.group_sizes().into_iter().enumerate() {
            let here = rest.partition_point(|row| *row < start + size);
            let (in_group, later) = rest.split_at(here);
            if !in_group.is_empty() {
                let selection = selection_of(in_group.iter().map(|row| row - start), size);
                let mut at = 0;
                self.table
                    .read(columns, vec![group], Some(selection), BATCH, &mut |batch| {
                        for record in records_of(batch)? {
                            let row = in_group[at];
                            at += 1;
                            found.insert(row, Arc::new(record));
                        }
                        Ok(true)
                    })?;
            }
            rest = later;
            start += size;
        }
        Ok(())
    }
}

/// Where a text comes from.
#[derive(Debug, Clone, Copy)]
struct TextSource {
    column: &'static str,
    /// The question is cut out of the prompt.
    from_prompt: bool,
}

impl TextSource {
    fn with_text<T>(&self, texts: &StringArray, index: usize, use_it: impl FnOnce(&str) -> T) -> T {
        let text = if texts.is_valid(index) { texts.value(index) } else { "" };
        if self.from_prompt {
            use_it(&split_prompt(text).question)
        } else {
            use_it(text)
        }
    }
}

/// Sorted rows of one row group as a selection.
pub(super) fn selection_of(rows: impl Iterator<Item = usize>, size: usize) -> RowSelection {
    let mut selectors = Vec::new();
    let mut at = 0;
    for row in rows {
        if row > at {
            selectors.push(RowSelector::skip(row - at));
        }
        selectors.push(RowSelector::select(1));
        at = row + 1;
    }
    if at < size {
        selectors.push(RowSelector::skip(size - at));
    }
    RowSelection::from(selectors)
}

impl Texts for ParquetTexts {
    fn record(&self, row: usize) -> Result<Arc<Record>> {
        let mut records = self.records(&[row])?;
        records
            .pop()
            .with_context(|| format!("{}: row {row} cannot be read", self.table.name))
    }

    fn records(&self, rows: &[usize]) -> Result<Vec<Arc<Record>>> {
        if let Some(beyond) = rows.iter().find(|row| **row >= self.rows) {
            bail!("{}: row {beyond} is not among its {} rows", self.table.name, self.rows);
        }
        let mut found: HashMap<usize, Arc<Record>> = HashMap::new();
        let mut missing: Vec<usize> = Vec::new();
        {
            let cache = self.cache.lock().expect("no holder of the cache panics");
            for row in rows {
                match cache.records.get(row) {
                    Some(record) => {
                        found.insert(*row, Arc::clone(record));
                    }
                    None => missing.push(*row),
                }
            }
        }
        // A screen asks for a few rows, and soon for those beside them: their page is unpacked only once.
        if missing.len() <= FEW {
            let around = |row: usize| row / BESIDE * BESIDE..(row / BESIDE + 1) * BESIDE;
            missing = missing
                .into_iter()
                .flat_map(around)
                .filter(|row| *row < self.rows)
                .collect();
        }
        missing.sort_unstable();
        missing.dedup();
        let columns = self.table.columns();
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        self.read_sorted(&missing, &columns, &mut found)?;
        let mut cache = self.cache.lock().expect("no holder of the cache panics");
        for row in &missing {
            if let Some(record) = found.get(row) {
                cache.keep(*row, record);
            }
        }
        rows.iter()
            .map(|row| {
                found
                    .get(row)
                    .cloned()
                    .with_context(|| format!("{}: row {row} cannot be read", self.table.name))
            })
            .collect()
    }

    fn answers(&self, rows: &[usize]) -> Result<Vec<Arc<Record>>> {
        const COLUMNS: [&str; 8] = [
            "question_id",
            "attempt",
            "pick",
            "answer",
            "reasoning",
            "doc_hash",
            "prompt_hash",
            "logprobs",
        ];
        let prompt = (!self.table.has("prompt_hash")).then_some("prompt");
        let mut columns: Vec<&str> = COLUMNS.into_iter().chain(prompt).collect();
        columns.retain(|column| self.table.has(column));
        let mut found = HashMap::with_capacity(rows.len());
        let mut wanted = rows.to_vec();
        wanted.sort_unstable();
        self.read_sorted(&wanted, &columns, &mut found)?;
        let row = |row: &usize| {
            found
                .get(row)
                .cloned()
                .with_context(|| format!("{}: row {row} cannot be read", self.table.name))
        };
        rows.iter().map(row).collect()
    }

    fn source(&self, rows: &[usize]) -> Result<Vec<Map<String, Value>>> {
        whole_rows(&self.table, rows)
    }

    fn scan(&self, field: Field, wanted: &Wanted, visit: &mut Visit) -> Result<()> {
        let Some(source) = self.text_source(field) else {
            return Ok(());
        };
        self.each_batch(&source, wanted, &mut |rows, texts, _| {
            for (index, row) in rows.iter().enumerate() {
                let flow = source.with_text(texts, index, |text| visit(*row, text));
                if flow.is_break() {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }

    fn map(&self, field: Field, wanted: &SyncWanted, number: &Number, visit: &mut VisitNumber) -> Result<()> {
        let Some(source) = self.text_source(field) else {
            return Ok(());
        };
        self.each_batch(&source, &|row| wanted(row), &mut |rows, texts, ahead| {
            let numbers = || -> Vec<u64> {
                let one = |(index, row): (usize, &usize)| source.with_text(texts, index, |text| number(*row, text));
                rows.par_iter().enumerate().with_min_len(TOGETHER).map(one).collect()
            };
            // The next batch is decoded while this one is looked at.
            let (numbers, ()) = rayon::join(numbers, || ahead());
            for (row, number) in rows.iter().zip(numbers) {
                if visit(*row, number).is_break() {
                    return Ok(false);
                }
            }
            Ok(true)
        })
    }
}
