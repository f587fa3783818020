//! A parquet file with its metadata read once, and its rows as whole records.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int64Array, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float32Type, Int64Type};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder, RowSelection,
};

use super::DAMAGED;
use super::source::Source;
use crate::guard::guarded;
use crate::record::{Finish, INVALID, Record};

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

fn typed(batch: &RecordBatch, name: &str, kind: &DataType) -> Result<Option<ArrayRef>> {
    let Some(array) = batch.column_by_name(name) else {
        return Ok(None);
    };
    if array.data_type() == kind {
        return Ok(Some(Arc::clone(array)));
    }
    let cast = cast(array, kind).with_context(|| {
        format!(
            "column `{name}` holds {}, which does not turn into {kind}",
            array.data_type()
        )
    })?;
    Ok(Some(cast))
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

/// Every row of a batch as a whole record.
pub(super) fn records_of(batch: &RecordBatch) -> Result<Vec<Record>> {
    let text = |name: &str| text_column(batch, name);
    let columns = (
        text("category")?,
        text("prompt")?,
        text("reasoning")?,
        text("pick")?,
        text("answer")?,
        text("doc_hash")?,
        text("prompt_hash")?,
        text("benchmark")?,
        text("subject")?,
        text("question")?,
        text("doc")?,
        text("target_hash")?,
        text("finish")?,
        text("top_token")?,
    );
    let (
        category,
        prompt,
        reasoning,
        pick,
        answer,
        doc_hash,
        prompt_hash,
        benchmark,
        subject,
        question,
        doc,
        target_hash,
        finish,
        top_token,
    ) = columns;
    let ids = number_column(batch, "question_id")?;
    let attempts = number_column(batch, "attempt")?;
    let chars = number_column(batch, "reasoning_chars")?;
    let seeds = number_column(batch, "seed")?;
    let doc_ids = number_column(batch, "doc_id")?;
    let prompt_tokens = number_column(batch, "prompt_tokens")?;
    let output_tokens = number_column(batch, "output_tokens")?;
    let correct = flag_column(batch, "correct")?;
    let own = |array: &Option<StringArray>, at: usize| text_at(array.as_ref(), at).unwrap_or_default().to_owned();
    let maybe = |array: &Option<StringArray>, at: usize| text_at(array.as_ref(), at).map(str::to_owned);
    let mut records = Vec::with_capacity(batch.num_rows());
    for at in 0..batch.num_rows() {
        let mut record = Record {
            question_id: number_at(ids.as_ref(), at).unwrap_or(0),
            attempt: number_at(attempts.as_ref(), at).unwrap_or(0),
            category: own(&category, at),
            prompt: own(&prompt, at),
            reasoning: own(&reasoning, at),
            pick: maybe(&pick, at)
                .filter(|pick| !pick.is_empty())
                .unwrap_or_else(|| INVALID.to_owned()),
            answer: own(&answer, at),
            correct: false,
            reasoning_chars: 0,
            doc_hash: own(&doc_hash, at),
            prompt_hash: own(&prompt_hash, at),
            benchmark: own(&benchmark, at),
            subject: maybe(&subject, at).unwrap_or_else(|| own(&category, at)),
            question: own(&question, at),
            options: list_at(batch, "options", at),
            doc: maybe(&doc, at),
            target_hash: own(&target_hash, at),
            doc_id: number_at(doc_ids.as_ref(), at),
            seed: number_at(seeds.as_ref(), at),
            finish: text_at(finish.as_ref(), at).and_then(Finish::from_name),
            prompt_tokens: number_at(prompt_tokens.as_ref(), at),
            output_tokens: number_at(output_tokens.as_ref(), at),
            logprobs: floats_at(batch, "logprobs", at),
            greedy: flags_at(batch, "greedy", at),
            continuations: texts_at(batch, "continuations", at),
            continuation_tokens: numbers_at(batch, "continuation_tokens", at),
            letter_mass: float_at(batch, "letter_mass", at),
            top_token: maybe(&top_token, at),
            flags: list_at(batch, "flags", at),
            seconds: float_at(batch, "seconds", at).unwrap_or(0.0),
        };
        record.correct = correct
            .as_ref()
            .filter(|correct| correct.is_valid(at))
            .map_or_else(|| record.pick == record.answer, |correct| correct.value(at));
        record.reasoning_chars =
            number_at(chars.as_ref(), at).unwrap_or_else(|| record.reasoning.chars().count() as i64);
        if question.is_none() {
            let parts = crate::record::split_prompt(&record.prompt);
            record.question = parts.question;
            if record.options.is_empty() {
                record.options = parts.options;
            }
        }
        records.push(record);
    }
    Ok(records)
}

fn float_at(batch: &RecordBatch, name: &str, at: usize) -> Option<f32> {
    let array = typed(batch, name, &DataType::Float32).ok()??;
    array
        .is_valid(at)
        .then(|| array.as_primitive::<Float32Type>().value(at))
}

fn floats_at(batch: &RecordBatch, name: &str, at: usize) -> Option<Vec<f32>> {
    let list = batch.column_by_name(name)?.as_list_opt::<i32>()?;
    if list.is_null(at) {
        return None;
    }
    let items = cast(&list.value(at), &DataType::Float32).ok()?;
    Some(items.as_primitive::<Float32Type>().values().to_vec())
}

fn texts_at(batch: &RecordBatch, name: &str, at: usize) -> Option<Vec<String>> {
    let list = batch.column_by_name(name)?.as_list_opt::<i32>()?;
    list.is_valid(at).then(|| list_at(batch, name, at))
}

fn numbers_at(batch: &RecordBatch, name: &str, at: usize) -> Option<Vec<i64>> {
    let list = batch.column_by_name(name)?.as_list_opt::<i32>()?;
    if list.is_null(at) {
        return None;
    }
    let items = cast(&list.value(at), &DataType::Int64).ok()?;
    Some(items.as_primitive::<Int64Type>().values().to_vec())
}

fn flags_at(batch: &RecordBatch, name: &str, at: usize) -> Option<Vec<bool>> {
    let list = batch.column_by_name(name)?.as_list_opt::<i32>()?;
    if list.is_null(at) {
        return None;
    }
    Some(
        list.value(at)
            .as_boolean_opt()?
            .iter()
            .map(|flag| flag.unwrap_or(false))
            .collect(),
    )
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
