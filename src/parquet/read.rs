//! A parquet file of records to a trace: light columns at once, text on demand.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int64Array, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float32Type, Int64Type};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder, RowSelection,
};

use super::guard::guarded;
use super::source::Source;
use super::texts::ParquetTexts;
use crate::record::{Finish, INVALID, Record};
use crate::trace::{Light, Notice, Rows, Trace, hash_prefix};

/// A parquet file with its metadata read once.
#[derive(Debug, Clone)]
pub(super) struct Table {
    pub name: String,
    pub source: Source,
    pub metadata: ArrowReaderMetadata,
}

impl Table {
    pub(super) fn new(name: &str, source: Source) -> Result<Table> {
        let metadata = guarded(|| Ok(ArrowReaderMetadata::load(&source, ArrowReaderOptions::new())?))
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
        let named = || format!("{}: cannot read its rows", self.name);
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(self.source.clone(), self.metadata.clone());
        let mask = ProjectionMask::columns(builder.parquet_schema(), columns.iter().copied());
        let mut builder = builder
            .with_projection(mask)
            .with_row_groups(groups)
            .with_batch_size(batch_rows);
        if let Some(selection) = selection {
            builder = builder.with_row_selection(selection);
        }
        let mut reader = guarded(|| Ok(builder.build()?)).with_context(named)?;
        while let Some(batch) = guarded(|| Ok(reader.next().transpose()?)).with_context(named)? {
            if !each(&batch)? {
                break;
            }
        }
        Ok(())
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

/// Opens a parquet trace: the public five-attempt columns, or ours.
///
/// # Errors
/// When the file is no parquet, is cut short, or lacks `question_id`, `pick` or `answer`.
pub fn open(path: &Path) -> Result<Trace> {
    let mut trace = open_source(&path.display().to_string(), Source::open(path)?)?;
    trace.path = Some(path.to_owned());
    if let Some(stem) = path.file_stem() {
        trace.name = stem.to_string_lossy().into_owned();
    }
    Ok(trace)
}

/// Opens a parquet trace that is in memory already.
pub fn open_bytes(name: &str, bytes: &'static [u8]) -> Result<Trace> {
    open_source(name, Source::Memory(bytes::Bytes::from_static(bytes)))
}

const LIGHT: [&str; 15] = [
    "question_id",
    "attempt",
    "category",
    "pick",
    "answer",
    "correct",
    "reasoning_chars",
    "doc_hash",
    "benchmark",
    "subject",
    "seed",
    "finish",
    "flags",
    "options",
    "logprobs",
];

fn open_source(name: &str, source: Source) -> Result<Trace> {
    let table = Table::new(name, source)?;
    let columns = table.columns();
    if !is_trace(&columns) {
        bail!(
            "{name}: no trace: it needs the columns question_id, pick and answer; it has {}. Other columns can be mapped: --map pick=COLUMN,answer=COLUMN,reasoning=COLUMN",
            columns.join(", ")
        );
    }
    let present: Vec<&str> = LIGHT.into_iter().filter(|column| table.has(column)).collect();
    let groups = table.group_sizes();
    let mut rows = Rows::default();
    table.read(&present, (0..groups.len()).collect(), None, 8_192, &mut |batch| {
        push_light(batch, &mut rows).with_context(|| format!("{name}: rows from {}", rows.len()))?;
        Ok(true)
    })?;
    let mut notices = Vec::new();
    for (column, effect) in [
        ("attempt", "every row counts as attempt 0"),
        ("reasoning", "there is no output to read"),
        ("prompt", "there is no prompt to show"),
        ("correct", "correct is pick = answer"),
    ] {
        if !table.has(column) {
            notices.push(Notice {
                kind: "missing_column".into(),
                text: format!("no column `{column}`: {effect}"),
            });
        }
    }
    let texts = ParquetTexts::new(table, rows.len());
    if !columns.iter().any(|column| column == "reasoning_chars") {
        texts.count_chars(&mut rows)?;
    }
    let questions = distinct_questions(&rows);
    let ours = columns.iter().any(|column| column == "target_hash");
    Ok(Trace {
        name: name.to_owned(),
        path: None,
        kind: format!(
            "{}, {} rows, {} questions",
            if ours {
                "markbook records"
            } else {
                "five-attempt parquet trace set"
            },
            rows.len(),
            questions
        ),
        rows,
        texts: Arc::new(texts),
        manifest: None,
        notices,
        rule: None,
    })
}

fn distinct_questions(rows: &Rows) -> usize {
    (0..rows.len())
        .map(|row| rows.question_key(row))
        .collect::<std::collections::HashSet<_>>()
        .len()
}

fn text_at(array: Option<&StringArray>, at: usize) -> Option<&str> {
    array.filter(|array| array.is_valid(at)).map(|array| array.value(at))
}

fn number_at(array: Option<&Int64Array>, at: usize) -> Option<i64> {
    array.filter(|array| array.is_valid(at)).map(|array| array.value(at))
}

fn push_light(batch: &RecordBatch, rows: &mut Rows) -> Result<()> {
    let ids = number_column(batch, "question_id")?.context("no column question_id")?;
    let attempts = number_column(batch, "attempt")?;
    let seeds = number_column(batch, "seed")?;
    let chars = number_column(batch, "reasoning_chars")?;
    let correct = flag_column(batch, "correct")?;
    let [category, pick, answer, hash, benchmark, subject, finish] = [
        "category",
        "pick",
        "answer",
        "doc_hash",
        "benchmark",
        "subject",
        "finish",
    ]
    .map(|name| text_column(batch, name));
    let (category, pick, answer) = (category?, pick?, answer?);
    let (hash, benchmark, subject, finish) = (hash?, benchmark?, subject?, finish?);
    let options = batch
        .column_by_name("options")
        .and_then(|array| array.as_list_opt::<i32>().cloned());
    let logprobs = batch.column_by_name("logprobs");
    for at in 0..batch.num_rows() {
        let Some(question_id) = number_at(Some(&ids), at) else {
            bail!("row {} has no question_id", rows.len());
        };
        let category = text_at(category.as_ref(), at).unwrap_or_default();
        let pick = text_at(pick.as_ref(), at)
            .filter(|pick| !pick.is_empty())
            .unwrap_or(INVALID);
        let answer = text_at(answer.as_ref(), at).unwrap_or_default();
        rows.push(&Light {
            question_id,
            attempt: u16::try_from(number_at(attempts.as_ref(), at).unwrap_or(0)).unwrap_or(u16::MAX),
            seed: number_at(seeds.as_ref(), at),
            benchmark: text_at(benchmark.as_ref(), at).unwrap_or_default(),
            category,
            subject: text_at(subject.as_ref(), at).unwrap_or(category),
            pick,
            answer,
            correct: correct
                .as_ref()
                .filter(|correct| correct.is_valid(at))
                .map_or_else(|| pick == answer, |correct| correct.value(at)),
            chars: u32::try_from(number_at(chars.as_ref(), at).unwrap_or(0)).unwrap_or(u32::MAX),
            finish: text_at(finish.as_ref(), at).and_then(Finish::from_name),
            flags: &list_at(batch, "flags", at).join(","),
            options: options
                .as_ref()
                .filter(|options| options.is_valid(at))
                .map_or(0, |options| u8::try_from(options.value_length(at)).unwrap_or(u8::MAX)),
            doc: text_at(hash.as_ref(), at).map_or(0, hash_prefix),
            scored: logprobs.is_some_and(|logprobs| logprobs.is_valid(at)),
        });
    }
    Ok(())
}

/// A list-of-text cell; empty where absent or of another kind.
fn list_at(batch: &RecordBatch, name: &str, at: usize) -> Vec<String> {
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

/// Every record of a file, whole. For runs and tests; screens use [`open`].
pub fn read_records(path: &Path) -> Result<Vec<Record>> {
    let table = Table::new(&path.display().to_string(), Source::open(path)?)?;
    let columns = table.columns();
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    let mut records = Vec::new();
    table.read(
        &columns,
        (0..table.group_sizes().len()).collect(),
        None,
        2_048,
        &mut |batch| {
            records.extend(records_of(batch)?);
            Ok(true)
        },
    )?;
    Ok(records)
}
