//! A parquet file with its metadata read once, and its rows as whole records.

use std::path::Path;

use anyhow::{Context, Result};
use arrow::array::{Array, AsArray, BooleanArray, Int64Array, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder, RowSelection,
};

use super::DAMAGED;
use super::cells::{Cell, typed};
use super::source::Source;
use crate::guard::guarded;
use crate::record::{Finish, INVALID, Record, ServedBy, columns, split_prompt};

/// Rows that are decoded together.
const TOGETHER: usize = 256;

/// A parquet file with its metadata read once.
#[derive(Debug, Clone)]
pub(super) struct Table {
    pub name: String,
    pub source: Source,
    pub metadata: ArrowReaderMetadata,
}

impl Table {
    pub(super) fn new(name: &str, source: Source) -> Result<Table> {
        let metadata = guarded(DAMAGED, || {
            Ok(ArrowReaderMetadata::load(&source, ArrowReaderOptions::new())?)
        })
        .with_context(|| format!("{name}: not a readable parquet file (cut short, or of another kind)"))?;
        Ok(Table {
            name: name.to_owned(),
            source,
            metadata,
        })
    }

    pub(super) fn columns(&self) -> Vec<String> {
        self.metadata
            .schema()
            .fields()
            .iter()
            .map(|field| field.name().clone())
            .collect()
    }

    pub(super) fn has(&self, column: &str) -> bool {
        self.metadata.schema().field_with_name(column).is_ok()
    }

    pub(super) fn group_sizes(&self) -> Vec<usize> {
        self.metadata
            .metadata()
            .row_groups()
            .iter()
            .map(|group| group.num_rows() as usize)
            .collect()
    }

    /// Reads some columns of some row groups, some rows of them, and hands each batch on.
    pub(super) fn read(
        &self,
        columns: &[&str],
        groups: Vec<usize>,
        selection: Option<RowSelection>,
        batch_rows: usize,
        each: &mut dyn FnMut(&RecordBatch) -> Result<bool>,
    ) -> Result<()> {
        let mut reader = self.reader(columns, groups, selection, batch_rows)?;
        while let Some(batch) = self.next(&mut reader)? {
            if !each(&batch)? {
                break;
            }
        }
        Ok(())
    }

    /// A reader of some columns of some row groups, some rows of them; [`Table::next`] reads on.
    pub(super) fn reader(
        &self,
        columns: &[&str],
        groups: Vec<usize>,
        selection: Option<RowSelection>,
        batch_rows: usize,
    ) -> Result<ParquetRecordBatchReader> {
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(self.source.clone(), self.metadata.clone());
        let mask = ProjectionMask::columns(builder.parquet_schema(), columns.iter().copied());
        let mut builder = builder
            .with_projection(mask)
            .with_row_groups(groups)
            .with_batch_size(batch_rows);
        if let Some(selection) = selection {
            builder = builder.with_row_selection(selection);
        }
        guarded(DAMAGED, || Ok(builder.build()?)).with_context(|| self.unreadable())
    }

    pub(super) fn next(&self, reader: &mut ParquetRecordBatchReader) -> Result<Option<RecordBatch>> {
        guarded(DAMAGED, || Ok(reader.next().transpose()?)).with_context(|| self.unreadable())
    }

    fn unreadable(&self) -> String {
        format!("{}: cannot read its rows", self.name)
    }
}

/// A column as text, whatever text type the file chose; `None` where the file has no such column.
pub(super) fn text_column(batch: &RecordBatch, name: &str) -> Result<Option<StringArray>> {
    Ok(typed(batch, name, &DataType::Utf8)?.map(|array| array.as_string::<i32>().clone()))
}

pub(super) fn number_column(batch: &RecordBatch, name: &str) -> Result<Option<Int64Array>> {
    Ok(typed(batch, name, &DataType::Int64)?.map(|array| array.as_primitive().clone()))
}

pub(super) fn flag_column(batch: &RecordBatch, name: &str) -> Result<Option<BooleanArray>> {
    Ok(typed(batch, name, &DataType::Boolean)?.map(|array| array.as_boolean().clone()))
}

/// The columns of a parquet file and its row count.
pub fn columns(path: &Path) -> Result<(Vec<String>, usize)> {
    let table = Table::new(&path.display().to_string(), Source::open(path)?)?;
    Ok((table.columns(), table.group_sizes().iter().sum()))
}

/// Whether columns are those of a trace that opens as it is.
pub fn is_trace(columns: &[String]) -> bool {
    ["question_id", "pick", "answer"]
        .iter()
        .all(|name| columns.iter().any(|column| column == name))
}

pub(super) fn text_at(array: Option<&StringArray>, at: usize) -> Option<&str> {
    array.filter(|array| array.is_valid(at)).map(|array| array.value(at))
}

pub(super) fn number_at(array: Option<&Int64Array>, at: usize) -> Option<i64> {
    array.filter(|array| array.is_valid(at)).map(|array| array.value(at))
}

pub(super) fn flag_at(array: Option<&BooleanArray>, at: usize) -> Option<bool> {
    array.filter(|array| array.is_valid(at)).map(|array| array.value(at))
}

/// A list-of-text cell; empty where absent or of another kind.
pub(super) fn list_at(batch: &RecordBatch, name: &str, at: usize) -> Vec<String> {
    let Some(list) = batch.column_by_name(name).and_then(|array| array.as_list_opt::<i32>()) else {
        return Vec::new();
    };
    if list.is_null(at) {
        return Vec::new();
    }
    let items = list.value(at);
    match cast(&items, &DataType::Utf8) {
        Ok(items) => items
            .as_string::<i32>()
            .iter()
            .map(|item| item.unwrap_or_default().to_owned())
            .collect(),
        Err(_) => Vec::new(),
    }
}

macro_rules! take {
    ($(#[doc = $about:literal] $(#[$serde:meta])? $name:ident: $kind:ty,)*) => {
        fn columns_of(batch: &RecordBatch) -> Result<Vec<Record>> {
            let mut records = vec![Record::default(); batch.num_rows()];
            $(for (record, cell) in records.iter_mut().zip(<$kind as Cell>::read(batch, stringify!($name))?) {
                record.$name = cell;
            })*
            Ok(records)
        }
    };
}
columns!(take);

/// Every row of a batch as a whole record: what it does not say itself follows from the rest.
pub(super) fn records_of(batch: &RecordBatch) -> Result<Vec<Record>> {
    let correct = flag_column(batch, "correct")?;
    let chars = number_column(batch, "reasoning_chars")?;
    let has_question = batch.column_by_name("question").is_some();
    let mut records = columns_of(batch)?;
    for (at, record) in records.iter_mut().enumerate() {
        if record.pick.is_empty() {
            INVALID.clone_into(&mut record.pick);
        }
        if record.subject.is_empty() {
            record.subject.clone_from(&record.category);
        }
        if flag_at(correct.as_ref(), at).is_none() {
            record.correct = record.pick == record.answer;
        }
        if number_at(chars.as_ref(), at).is_none() {
            record.reasoning_chars = record.reasoning.chars().count() as i64;
        }
        if !has_question {
            let parts = split_prompt(&record.prompt);
            record.question = parts.question;
            if record.options.is_empty() {
                record.options = parts.options;
            }
        }
    }
    Ok(records)
}

/// Hands on the records of a file, whole, a few hundred in memory at a time. For runs; screens use [`open`].
pub fn each_record(path: &Path, visit: &mut dyn FnMut(Record) -> Result<()>) -> Result<()> {
    let table = Table::new(&path.display().to_string(), Source::open(path)?)?;
    let columns = table.columns();
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let groups = (0..table.group_sizes().len()).collect();
    table.read(&columns, groups, None, TOGETHER, &mut |batch| {
        records_of(batch)?.into_iter().try_for_each(&mut *visit)?;
        Ok(true)
    })
}

/// Every record of a file, whole.
pub fn read_records(path: &Path) -> Result<Vec<Record>> {
    let mut records = Vec::new();
    each_record(path, &mut |record| {
        records.push(record);
        Ok(())
    })?;
    Ok(records)
}
