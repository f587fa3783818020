//! Text of a parquet trace on demand: only the pages that hold the wanted rows, and a bounded cache.

use std::collections::{HashMap, VecDeque};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use anyhow::{Context, Result, bail};
use arrow::array::Array;
use parquet::arrow::arrow_reader::{RowSelection, RowSelector};

use serde_json::{Map, Value};

use super::read::{Table, records_of, text_column};
use super::whole::whole_rows;
use crate::record::{Record, split_prompt};
use crate::trace::{Field, Rows, Texts};

/// Records kept; a screen shows fewer than a hundred at once.
const CACHED: usize = 400;

/// Rows of which text is decoded at a time.
const BATCH: usize = 1_024;

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
}

impl Cache {
    fn keep(&mut self, row: usize, record: &Arc<Record>) {
        if self.records.insert(row, Arc::clone(record)).is_none() {
            self.order.push_back(row);
        }
        while self.order.len() > CACHED {
            if let Some(oldest) = self.order.pop_front() {
                self.records.remove(&oldest);
            }
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

    /// Reads sorted, different rows.
    fn read_sorted(&self, wanted: &[usize], found: &mut HashMap<usize, Arc<Record>>) -> Result<()> {
        let columns = self.table.columns();
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        let mut start = 0;
        let mut rest = wanted;
        for (group, size) in self.table.group_sizes().into_iter().enumerate() {
            let here = rest.partition_point(|row| *row < start + size);
            let (in_group, later) = rest.split_at(here);
            if !in_group.is_empty() {
                let selection = selection_of(in_group.iter().map(|row| row - start), size);
                let mut at = 0;
                self.table
                    .read(&columns, vec![group], Some(selection), BATCH, &mut |batch| {
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
        missing.sort_unstable();
        missing.dedup();
        self.read_sorted(&missing, &mut found)?;
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

    fn source(&self, rows: &[usize]) -> Result<Vec<Map<String, Value>>> {
        whole_rows(&self.table, rows)
    }

    fn scan(
        &self,
        field: Field,
        wanted: &dyn Fn(usize) -> bool,
        visit: &mut dyn FnMut(usize, &str) -> ControlFlow<()>,
    ) -> Result<()> {
        let from_prompt = field == Field::Question && !self.table.has("question");
        let column = match field {
            Field::Prompt => "prompt",
            Field::Completion => "reasoning",
            Field::Question if from_prompt => "prompt",
            Field::Question => "question",
        };
        if !self.table.has(column) {
            return Ok(());
        }
        let mut start = 0;
        for (group, size) in self.table.group_sizes().into_iter().enumerate() {
            let rows: Vec<usize> = (start..start + size).filter(|row| wanted(*row)).collect();
            start += size;
            if rows.is_empty() {
                continue;
            }
            let selection = (rows.len() < size).then(|| selection_of(rows.iter().map(|row| row + size - start), size));
            let mut at = 0;
            let mut stopped = false;
            self.table
                .read(&[column], vec![group], selection, BATCH, &mut |batch| {
                    let texts = text_column(batch, column)?.context("the column is gone")?;
                    for index in 0..texts.len() {
                        let text = if texts.is_valid(index) { texts.value(index) } else { "" };
                        let row = rows[at];
                        at += 1;
                        let flow = if from_prompt {
                            visit(row, &split_prompt(text).question)
                        } else {
                            visit(row, text)
                        };
                        if flow.is_break() {
                            stopped = true;
                            return Ok(false);
                        }
                    }
                    Ok(true)
                })?;
            if stopped {
                break;
            }
        }
        Ok(())
    }
}
