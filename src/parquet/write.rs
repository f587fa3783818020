//! Records to a parquet file.

use std::borrow::Borrow;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use arrow::array::{
    ArrayRef, BooleanArray, BooleanBuilder, Float32Array, Float32Builder, Int64Array, Int64Builder, ListBuilder,
    RecordBatch, StringArray, StringBuilder,
};
use arrow::datatypes::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use crate::record::Record;

/// Rows of a row group.
const GROUP: usize = 2_000;

/// Rows that are turned into columns together.
const TOGETHER: usize = 500;

/// In which order rows are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    AsGiven,
    /// By question, then attempt.
    ByQuestion,
}

fn list_of(kind: DataType) -> DataType {
    DataType::List(Arc::new(Field::new("item", kind, true)))
}

pub(super) fn schema() -> Arc<Schema> {
    let text = |name: &str| Field::new(name, DataType::Utf8, false);
    let number = |name: &str| Field::new(name, DataType::Int64, false);
    let maybe = |name: &str, kind: DataType| Field::new(name, kind, true);
    Arc::new(Schema::new(vec![
        number("question_id"),
        number("attempt"),
        text("category"),
        text("prompt"),
        text("reasoning"),
        text("pick"),
        text("answer"),
        Field::new("correct", DataType::Boolean, false),
        number("reasoning_chars"),
        text("doc_hash"),
        text("prompt_hash"),
        text("benchmark"),
        text("subject"),
        text("question"),
        Field::new("options", list_of(DataType::Utf8), false),
        maybe("doc", DataType::Utf8),
        text("target_hash"),
        maybe("doc_id", DataType::Int64),
        maybe("seed", DataType::Int64),
        maybe("finish", DataType::Utf8),
        maybe("prompt_tokens", DataType::Int64),
        maybe("output_tokens", DataType::Int64),
        maybe("logprobs", list_of(DataType::Float32)),
        maybe("greedy", list_of(DataType::Boolean)),
        maybe("continuations", list_of(DataType::Utf8)),
        maybe("continuation_tokens", list_of(DataType::Int64)),
        maybe("letter_mass", DataType::Float32),
        maybe("top_token", DataType::Utf8),
        Field::new("flags", list_of(DataType::Utf8), false),
        Field::new("seconds", DataType::Float32, false),
    ]))
}

/// Writes records to `path`: aside first, then renamed, so that a half-written file never replaces a good one.
///
/// # Errors
/// When the folder cannot be written or the disk is full; the file that stood at `path` is then untouched.
pub fn write_records<R: Borrow<Record>>(path: &Path, records: &[R], order: Order) -> Result<()> {
    let mut records: Vec<&Record> = records.iter().map(Borrow::borrow).collect();
    if order == Order::ByQuestion {
        records.sort_by_key(|record| (record.question_id, record.attempt));
    }
    write_each(path, records.into_iter().map(Ok))
}

/// The same for records that come one by one: a row group of them is held in memory.
///
/// # Errors
/// The same, and where a record does not come.
pub fn write_each<R: Borrow<Record>>(path: &Path, records: impl IntoIterator<Item = Result<R>>) -> Result<()> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
        .set_max_row_group_row_count(Some(GROUP))
        .set_data_page_row_count_limit(250)
        .set_write_batch_size(250)
        .set_created_by(format!("markbook {}", env!("CARGO_PKG_VERSION")))
        .build();
    crate::files::write_with(path, |file| {
        let mut writer = ArrowWriter::try_new(file, schema(), Some(properties))?;
        let mut records = records.into_iter().peekable();
        while records.peek().is_some() {
            let rows: Vec<R> = records.by_ref().take(TOGETHER).collect::<Result<_>>()?;
            let rows: Vec<&Record> = rows.iter().map(Borrow::borrow).collect();
            writer.write(&batch(&rows)?)?;
        }
        writer.close()?;
        Ok(())
    })
}

fn batch(rows: &[&Record]) -> Result<RecordBatch> {
    fn texts<'a>(rows: &[&'a Record], of: impl Fn(&'a Record) -> &'a str) -> ArrayRef {
        Arc::new(StringArray::from_iter_values(rows.iter().map(|record| of(record))))
    }
    fn maybe_texts<'a>(rows: &[&'a Record], of: impl Fn(&'a Record) -> Option<&'a str>) -> ArrayRef {
        Arc::new(StringArray::from_iter(rows.iter().map(|record| of(record))))
    }
    fn numbers(rows: &[&Record], of: impl Fn(&Record) -> i64) -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|record| of(record))))
    }
    fn maybe_numbers(rows: &[&Record], of: impl Fn(&Record) -> Option<i64>) -> ArrayRef {
        Arc::new(Int64Array::from_iter(rows.iter().map(|record| of(record))))
    }
    fn lists<'a>(rows: &[&'a Record], of: impl Fn(&'a Record) -> &'a [String]) -> ArrayRef {
        let mut builder = ListBuilder::new(StringBuilder::new());
        for record in rows {
            for item in of(record) {
                builder.values().append_value(item);
            }
            builder.append(true);
        }
        Arc::new(builder.finish())
    }
    let mut logprobs = ListBuilder::new(Float32Builder::new());
    let mut greedy = ListBuilder::new(BooleanBuilder::new());
    let mut continuations = ListBuilder::new(StringBuilder::new());
    let mut continuation_tokens = ListBuilder::new(Int64Builder::new());
    for record in rows {
        logprobs
            .values()
            .append_slice(record.logprobs.as_deref().unwrap_or_default());
        logprobs.append(record.logprobs.is_some());
        greedy
            .values()
            .append_slice(record.greedy.as_deref().unwrap_or_default());
        greedy.append(record.greedy.is_some());
        for text in record.continuations.as_deref().unwrap_or_default() {
            continuations.values().append_value(text);
        }
        continuations.append(record.continuations.is_some());
        continuation_tokens
            .values()
            .append_slice(record.continuation_tokens.as_deref().unwrap_or_default());
        continuation_tokens.append(record.continuation_tokens.is_some());
    }
    let columns: Vec<ArrayRef> = vec![
        numbers(rows, |r| r.question_id),
        numbers(rows, |r| r.attempt),
        texts(rows, |r| &r.category),
        texts(rows, |r| &r.prompt),
        texts(rows, |r| &r.reasoning),
        texts(rows, |r| &r.pick),
        texts(rows, |r| &r.answer),
        Arc::new(BooleanArray::from_iter(rows.iter().map(|r| Some(r.correct)))),
        numbers(rows, |r| r.reasoning_chars),
        texts(rows, |r| &r.doc_hash),
        texts(rows, |r| &r.prompt_hash),
        texts(rows, |r| &r.benchmark),
        texts(rows, |r| &r.subject),
        texts(rows, |r| &r.question),
        lists(rows, |r| &r.options),
        maybe_texts(rows, |r| r.doc.as_deref()),
        texts(rows, |r| &r.target_hash),
        maybe_numbers(rows, |r| r.doc_id),
        maybe_numbers(rows, |r| r.seed),
        maybe_texts(rows, |r| r.finish.map(super::super::record::Finish::name)),
        maybe_numbers(rows, |r| r.prompt_tokens),
        maybe_numbers(rows, |r| r.output_tokens),
        Arc::new(logprobs.finish()),
        Arc::new(greedy.finish()),
        Arc::new(continuations.finish()),
        Arc::new(continuation_tokens.finish()),
        Arc::new(Float32Array::from_iter(rows.iter().map(|r| r.letter_mass))),
        maybe_texts(rows, |r| r.top_token.as_deref()),
        lists(rows, |r| &r.flags),
        Arc::new(Float32Array::from_iter_values(rows.iter().map(|r| r.seconds))),
    ];
    RecordBatch::try_new(schema(), columns).context("the columns of a record disagree")
}
