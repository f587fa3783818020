//! A parquet file of records to a trace: light columns at once, text on demand.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use arrow::array::{Array, AsArray, ListArray, RecordBatch};
use parquet::arrow::arrow_reader::{RowSelection, RowSelector};
use rayon::prelude::*;

use super::read::{Table, flag_at, flag_column, is_trace, list_at, number_at, number_column, text_at, text_column};
use super::source::Source;
use super::texts::ParquetTexts;
use crate::files;
use crate::record::{Finish, INVALID};
use crate::trace::{Light, Notice, Rows, Trace, hash_prefix};

/// The columns of which every row is kept.
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

/// Rows of which the light columns are read by one thread at a time.
const PIECE: usize = 1 << 16;

/// Pieces read before they are joined, so that rows are never held twice.
const WAVE: usize = 8;

/// Rows of a batch.
const BATCH: usize = 8_192;

/// Opens a parquet trace: the public five-attempt columns, or ours.
///
/// # Errors
/// When the file is no parquet, is cut short, or lacks `question_id`, `pick` or `answer`.
pub fn open(path: &Path) -> Result<Trace> {
    let mut trace = open_source(&files::shown(path), Source::open(path)?, usize::MAX)?;
    name_by(&mut trace, path);
    Ok(trace)
}

/// The first rows of a parquet trace, to show something while [`open`] reads the rest. `None` where the whole is no
/// larger, or is no trace.
pub fn peek(path: &Path, rows: usize) -> Option<Trace> {
    let source = Source::open(path).ok()?;
    let name = path.display().to_string();
    let table = Table::new(&name, source).ok()?;
    let is_larger = table.group_sizes().iter().sum::<usize>() > rows;
    // Without stored lengths opening takes a look at every text.
    let is_light = table.has("reasoning_chars");
    if !is_larger || !is_light {
        return None;
    }
    let mut trace = open_table(table, rows).ok()?;
    name_by(&mut trace, path);
    Some(trace)
}

fn name_by(trace: &mut Trace, path: &Path) {
    trace.path = Some(path.to_owned());
    if let Some(stem) = Path::new(&files::shown(path)).file_stem() {
        trace.name = stem.to_string_lossy().into_owned();
    }
}

/// Opens a parquet trace that is in memory already.
pub fn open_bytes(name: &str, bytes: &'static [u8]) -> Result<Trace> {
    open_source(name, Source::Memory(bytes::Bytes::from_static(bytes)), usize::MAX)
}

fn open_source(name: &str, source: Source, most: usize) -> Result<Trace> {
    open_table(Table::new(name, source)?, most)
}

fn open_table(table: Table, most: usize) -> Result<Trace> {
    let name = table.name.clone();
    let columns = table.columns();
    if !is_trace(&columns) {
        bail!(
            "{name}: no trace: it needs the columns question_id, pick and answer; it has {}. Other columns can be mapped: --map pick=COLUMN,answer=COLUMN,reasoning=COLUMN",
            columns.join(", ")
        );
    }
    let mut rows = light_rows(&table, most)?;
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
    let ours = columns.iter().any(|column| column == "target_hash");
    Ok(Trace {
        name,
        path: None,
        kind: format!(
            "{}, {} rows, {} questions",
            if ours {
                "markbook records"
            } else {
                "five-attempt parquet trace set"
            },
            rows.len(),
            rows.questions()
        ),
        rows,
        texts: Arc::new(texts),
        manifest: None,
        notices,
        rule: None,
        members: Vec::new(),
    })
}

/// The light columns of the first rows, by several threads.
fn light_rows(table: &Table, most: usize) -> Result<Rows> {
    let pieces = pieces(&table.group_sizes(), most);
    let columns: Vec<&str> = LIGHT.into_iter().filter(|column| table.has(column)).collect();
    let mut rows = Rows::default();
    rows.reserve(pieces.iter().map(|piece| piece.rows.len()).sum());
    for wave in pieces.chunks(WAVE) {
        let parts: Vec<Result<Rows>> = wave.par_iter().map(|piece| piece.read(table, &columns)).collect();
        for part in parts {
            let part = part.with_context(|| format!("{}: rows from {}", table.name, rows.len()))?;
            rows.append(&part);
        }
    }
    rows.shrink();
    Ok(rows)
}

/// Some rows of a row group.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Piece {
    group: usize,
    rows: Range<usize>,
    /// Rows of the whole group.
    of: usize,
}

/// Parts the row groups: none is longer than a thread's share.
fn pieces(groups: &[usize], most: usize) -> Vec<Piece> {
    let mut left = most;
    let mut pieces = Vec::new();
    for (group, of) in groups.iter().copied().enumerate() {
        let wanted = of.min(left);
        left -= wanted;
        pieces.extend((0..wanted).step_by(PIECE).map(|start| Piece {
            group,
            rows: start..(start + PIECE).min(wanted),
            of,
        }));
    }
    pieces
}

impl Piece {
    fn read(&self, table: &Table, columns: &[&str]) -> Result<Rows> {
        let mut rows = Rows::default();
        rows.reserve(self.rows.len());
        let selection = (self.rows.len() < self.of).then(|| {
            RowSelection::from(vec![
                RowSelector::skip(self.rows.start),
                RowSelector::select(self.rows.len()),
                RowSelector::skip(self.of - self.rows.end),
            ])
        });
        table.read(columns, vec![self.group], selection, BATCH, &mut |batch| {
            push_light(batch, &mut rows)?;
            Ok(true)
        })?;
        Ok(rows)
    }
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
    let list = |name: &str| batch.column_by_name(name).and_then(|array| array.as_list_opt());
    let (options, flags) = (list("options"), list("flags"));
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
            correct: flag_at(correct.as_ref(), at).unwrap_or(pick == answer),
            chars: u32::try_from(number_at(chars.as_ref(), at).unwrap_or(0)).unwrap_or(u32::MAX),
            finish: text_at(finish.as_ref(), at).and_then(Finish::from_name),
            flags: &match length_at(flags, at) {
                0 => String::new(),
                _ => list_at(batch, "flags", at).join(","),
            },
            options: length_at(options, at),
            doc: text_at(hash.as_ref(), at).map_or(0, hash_prefix),
            scored: logprobs.is_some_and(|logprobs| logprobs.is_valid(at)),
        });
    }
    Ok(())
}

/// How many a list holds; none where it is null.
fn length_at(lists: Option<&ListArray>, at: usize) -> u8 {
    let list = lists.filter(|lists| lists.is_valid(at));
    list.map_or(0, |lists| u8::try_from(lists.value_length(at)).unwrap_or(u8::MAX))
}
