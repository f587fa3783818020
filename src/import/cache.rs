//! The index of a run, kept in the cache directory: opening a large file again needs no reading of it.

use std::collections::HashSet;
use std::io::Write;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::Options;
use super::index::{Indexed, Part, Span};
use crate::benchmark::hash::hash_text;
use crate::files::{self, Content, Kept};
use crate::record::Finish;
use crate::trace::{Names, Notice, Rows};

/// Smaller runs are read anew, that takes no time.
const WORTHWHILE: u64 = 1 << 20;

#[derive(Serialize, Deserialize)]
struct Series {
    name: String,
    kind: String,
    notices: Vec<(String, String)>,
    rows: usize,
    offsets: Vec<i64>,
    has_attempts: bool,
    has_text_ids: bool,
    /// Of benchmark, category, subject, pick, answer, flags.
    names: Vec<Vec<String>>,
}

/// Where a run's index lies, of its files as they are; `None` for runs that are too small, and where there is no cache
/// directory.
pub(crate) fn place(options: &Options, parts: &[Part], format: &str) -> Option<Kept> {
    let folder = options.cache_dir.as_deref()?;
    // Whatever else the options say is said of how the files are read.
    let reading = Options {
        cache_dir: None,
        stop: None,
        ..options.clone()
    };
    let mut name = format!("{format} {reading:?}");
    let mut key = files::program().to_owned();
    let mut total = 0;
    let mut seen = HashSet::new();
    for part in parts {
        let path = &part.source.path;
        name.push_str(&format!(
            "\n{:?} {:?} {:?}",
            part.source.layers, part.shape, part.layout
        ));
        if seen.insert(path) {
            let path = path.canonicalize().ok()?;
            total += path.metadata().ok()?.len();
            name.push_str(&format!(" of {}", path.display()));
            key.push_str(&format!("\n{}", files::identity(&path)?));
        }
    }
    (total >= WORTHWHILE).then(|| Kept {
        file: folder.join("index").join(&hash_text(&name)[..24]),
        key: hash_text(&key),
    })
}

/// The kept index, if it is there, whole, and of the same files.
pub(crate) fn load(kept: &Kept) -> Option<Vec<Indexed>> {
    let mut columns = Columns(kept.load()?);
    let length = columns.take(1, u64::from_le_bytes)?.pop()?;
    let header = columns.0.take(usize::try_from(length).ok()?)?;
    let header: Vec<Series> = serde_json::from_slice(&header).ok()?;
    let all = header
        .into_iter()
        .map(|series| columns.series(series))
        .collect::<Option<Vec<_>>>()?;
    (columns.0.left() == 0).then_some(all)
}

/// Keeps an index.
pub(crate) fn save(kept: &Kept, all: &[Indexed]) -> Result<()> {
    let header: Vec<Series> = all.iter().map(series_header).collect();
    let header = serde_json::to_vec(&header)?;
    kept.save(|out| {
        out.write_all(&(header.len() as u64).to_le_bytes())?;
        out.write_all(&header)?;
        all.iter().try_for_each(|indexed| write_series(indexed, out))
    })
}

fn names_of(rows: &Rows) -> [&Names; 6] {
    [
        &rows.benchmark,
        &rows.category,
        &rows.subject,
        &rows.pick,
        &rows.answer,
        &rows.flags,
    ]
}

fn series_header(indexed: &Indexed) -> Series {
    let list = |names: &Names| names.list().iter().map(ToString::to_string).collect();
    Series {
        name: indexed.series.clone(),
        kind: indexed.kind.clone(),
        notices: indexed
            .notices
            .iter()
            .map(|notice| (notice.kind.clone(), notice.text.clone()))
            .collect(),
        rows: indexed.rows.len(),
        offsets: indexed.offsets.clone(),
        has_attempts: indexed.attempts.is_some(),
        has_text_ids: indexed.has_text_ids,
        names: names_of(&indexed.rows).map(list).to_vec(),
    }
}

fn write_series(indexed: &Indexed, out: &mut dyn Write) -> Result<()> {
    let rows = &indexed.rows;
    let mut number = |bytes: &[u8]| out.write_all(bytes);
    rows.question_id.iter().try_for_each(|id| number(&id.to_le_bytes()))?;
    (0..rows.len()).try_for_each(|row| number(&rows.seed(row).unwrap_or(i64::MIN).to_le_bytes()))?;
    rows.doc.iter().try_for_each(|doc| number(&doc.to_le_bytes()))?;
    rows.attempt
        .iter()
        .try_for_each(|attempt| number(&attempt.to_le_bytes()))?;
    rows.chars.iter().try_for_each(|chars| number(&chars.to_le_bytes()))?;
    for names in names_of(rows) {
        names.codes().try_for_each(|code| number(&code.to_le_bytes()))?;
    }
    rows.correct
        .iter()
        .try_for_each(|correct| number(&[u8::from(*correct)]))?;
    rows.scored.iter().try_for_each(|scored| number(&[u8::from(*scored)]))?;
    rows.finish
        .iter()
        .try_for_each(|finish| number(&[finish_code(*finish)]))?;
    rows.options.iter().try_for_each(|options| number(&[*options]))?;
    for span in &indexed.spans {
        number(&span.start.to_le_bytes())?;
        number(&span.length.to_le_bytes())?;
        number(&span.number.to_le_bytes())?;
        number(&span.file.to_le_bytes())?;
        number(&span.part.to_le_bytes())?;
    }
    if let Some(attempts) = &indexed.attempts {
        attempts.iter().try_for_each(|attempt| number(&attempt.to_le_bytes()))?;
    }
    Ok(())
}

const FINISHES: [Option<Finish>; 6] = [
    None,
    Some(Finish::Eos),
    Some(Finish::Stop),
    Some(Finish::Length),
    Some(Finish::Error),
    Some(Finish::User),
];

fn finish_code(finish: Option<Finish>) -> u8 {
    FINISHES.iter().position(|known| *known == finish).unwrap_or(0) as u8
}

/// Reads columns back, checking that they are whole.
struct Columns(Content);

impl Columns {
    fn take<const SIZE: usize, T>(&mut self, rows: usize, read: impl Fn([u8; SIZE]) -> T) -> Option<Vec<T>> {
        let column = self.0.take(rows.checked_mul(SIZE)?)?;
        Some(
            column
                .chunks_exact(SIZE)
                .filter_map(|cell| cell.try_into().ok())
                .map(read)
                .collect(),
        )
    }

    fn names(&mut self, rows: usize, list: &[String]) -> Option<Names> {
        let mut names = Names::default();
        let codes: Vec<u32> = list.iter().map(|name| names.code_for(name)).collect();
        for code in self.take(rows, u32::from_le_bytes)? {
            names.push_code(*codes.get(code as usize)?);
        }
        Some(names)
    }

    fn series(&mut self, header: Series) -> Option<Indexed> {
        let count = header.rows;
        let [benchmark, category, subject, pick, answer, flags] = header.names.as_slice() else {
            return None;
        };
        let rows = Rows {
            question_id: self.take(count, i64::from_le_bytes)?,
            seed: self.take(count, i64::from_le_bytes).map(|seeds| {
                if seeds.iter().all(|seed| *seed == i64::MIN) {
                    Vec::new()
                } else {
                    seeds
                }
            })?,
            doc: self.take(count, u64::from_le_bytes)?,
            attempt: self.take(count, u16::from_le_bytes)?,
            chars: self.take(count, u32::from_le_bytes)?,
            benchmark: self.names(count, benchmark)?,
            category: self.names(count, category)?,
            subject: self.names(count, subject)?,
            pick: self.names(count, pick)?,
            answer: self.names(count, answer)?,
            flags: self.names(count, flags)?,
            correct: self.take(count, |[byte]: [u8; 1]| byte != 0)?,
            scored: self.take(count, |[byte]: [u8; 1]| byte != 0)?,
            depends_on_cell: HashSet::new(),
            finish: self.take(count, |[byte]: [u8; 1]| {
                FINISHES.get(usize::from(byte)).copied().flatten()
            })?,
            options: self.take(count, |[byte]: [u8; 1]| byte)?,
        };
        let spans = self.take(count, read_span)?;
        let attempts = if header.has_attempts {
            Some(self.take(count, u16::from_le_bytes)?)
        } else {
            None
        };
        let notices = header
            .notices
            .into_iter()
            .map(|(kind, text)| Notice { kind, text })
            .collect();
        Some(Indexed {
            rows,
            spans,
            offsets: header.offsets,
            attempts,
            has_text_ids: header.has_text_ids,
            kind: header.kind,
            series: header.name,
            notices,
        })
    }
}

fn read_span(bytes: [u8; 20]) -> Span {
    let part = |from: usize, length: usize| {
        bytes[from..from + length]
            .iter()
            .rev()
            .fold(0_u64, |number, byte| number << 8 | u64::from(*byte))
    };
    Span {
        start: part(0, 8),
        length: part(8, 4) as u32,
        number: part(12, 4) as u32,
        file: part(16, 2) as u16,
        part: part(18, 2) as u16,
    }
}
