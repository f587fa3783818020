//! Goes through a run's files once: light columns and byte places of all rows stay, everything else is dropped.

mod numbering;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, bail};

use super::layout::{Answer, Layout, Tally};
use super::notes::{broken_notice, flag_notices, number_attempts, other_lines, repeated_notice};
use super::reader::Reader;
use super::source::Source;
use super::split::{End, Found, Shape, Splitter};
use crate::text::thousands;
use crate::trace::{Notice, Rows};

/// Faults that are kept with their place.
const FAULTS: usize = 1000;

/// Lines that are no answers and are told by their place.
const PLACES: usize = 8;

/// Bytes that are read and parsed at a time; a longer row is read whole.
const BLOCK: usize = 4 << 20;

/// A file of a run, and how to read it.
pub(crate) struct Part {
    pub source: Source,
    pub layout: Arc<dyn Layout>,
    pub shape: Shape,
    pub format: &'static str,
}

/// Where a row's entry lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub start: u64,
    pub length: u32,
    /// The entry's number in its file, from 0.
    pub number: u32,
    pub file: u16,
    /// Which of the entry's records.
    pub part: u16,
}

/// The rows of one series of a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Indexed {
    pub rows: Rows,
    pub spans: Vec<Span>,
    /// Question numbers of each file start here.
    pub offsets: Vec<i64>,
    /// Attempts that were numbered by us.
    pub attempts: Option<Vec<u16>>,
    /// Whether questions were numbered by us, since their ids are texts.
    pub has_text_ids: bool,
    pub kind: String,
    pub series: String,
    pub notices: Vec<Notice>,
}

/// Everything that is gathered on the way.
#[derive(Default)]
pub(super) struct Gathered {
    rows: Rows,
    spans: Vec<Span>,
    order: Vec<i64>,
    series: Vec<u16>,
    names: Vec<String>,
    local: Vec<bool>,
    /// Each row's id by its place among the text ids, where it is a text.
    ids: Vec<Option<u32>>,
    text_ids: HashMap<String, u32>,
    traits: u16,
    /// The first faults; the others are only counted.
    broken: Vec<Fault>,
    faults: usize,
    others: Vec<Others>,
    pub entries: usize,
    /// Entries that were written again.
    pub repeated: usize,
    notices: Vec<Notice>,
    /// Reads no more bytes of a file than these.
    most: Option<u64>,
}

pub(super) struct Fault {
    pub place: String,
    pub what: String,
    /// The entry is no JSON; else it is, and lacks what a row needs.
    pub is_broken: bool,
}

/// Lines that are no answers, for one reason.
pub(super) struct Others {
    pub what: &'static str,
    pub count: usize,
    /// The first of them.
    pub places: Vec<String>,
}

/// Reads all rows of a run. `stop` ends it early with an error.
pub(crate) fn index(parts: &[Part], stop: Option<&AtomicBool>) -> Result<Vec<Indexed>> {
    let mut gathered = Gathered::default();
    for (file, part) in parts.iter().enumerate() {
        let file = u16::try_from(file)?;
        let mut read = Gathered::default();
        read.take_file(part, &part.shape, (file, parts.len() > 1), stop)?;
        if part.shape == Shape::Lines && read.broken.iter().any(|fault| fault.is_broken) {
            // Rows that someone has broken over several lines can be read as values one after the other.
            let mut again = Gathered::default();
            again.take_file(part, &Shape::Stream, (file, parts.len() > 1), stop)?;
            if again.broken.is_empty() && again.rows.len() > read.rows.len() {
                read = again;
            }
        }
        gathered.append(read);
    }
    if gathered.rows.is_empty() {
        bail!("{}", gathered.why_empty(parts));
    }
    Ok(gathered.finish(parts))
}

/// The rows in the first block of a single large file without layers to take off; `None` for any other.
pub(crate) fn head(parts: &[Part]) -> Option<Indexed> {
    let [part] = parts else { return None };
    let size = part.source.path.metadata().ok()?.len();
    if !part.source.layers.is_empty() || size < 4 * BLOCK as u64 {
        return None;
    }
    let mut gathered = Gathered {
        most: Some(BLOCK as u64 / 4),
        ..Gathered::default()
    };
    gathered.take_file(part, &part.shape, (0, false), None).ok()?;
    // What breaks off at the end of the block is no fault.
    (gathered.broken, gathered.faults) = (Vec::new(), 0);
    gathered.notices.clear();
    let is_empty = gathered.rows.is_empty();
    gathered.finish(parts).into_iter().next().filter(|_| !is_empty)
}

impl Gathered {
    fn take_file(
        &mut self,
        part: &Part,
        shape: &Shape,
        (file, is_named): (u16, bool),
        stop: Option<&AtomicBool>,
    ) -> Result<()> {
        let mut mark = [0; 3];
        let length = part.source.read_some(0, &mut mark)?;
        let start = if mark[..length] == *b"\xef\xbb\xbf" { 3 } else { 0 };
        let name = if is_named {
            format!("{}: ", part.source.name())
        } else {
            String::new()
        };
        let mut reader = Reader {
            part,
            file,
            name,
            splitter: Splitter::new(shape.clone(), start),
            is_lines: *shape == Shape::Lines,
            buffer: Vec::new(),
            base: start,
            number: 0,
            pending: VecDeque::new(),
            seen: HashMap::new(),
        };
        let most = self.most.unwrap_or(BLOCK as u64).min(part.source.size()?.max(1));
        let mut block = vec![0; most as usize];
        let mut at = start;
        let mut found = Vec::new();
        loop {
            if stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
                bail!("stopped");
            }
            let length = part.source.read_some(at, &mut block)?;
            if length == 0 {
                break;
            }
            at += length as u64;
            reader.buffer.extend_from_slice(&block[..length]);
            reader.splitter.feed(&block[..length], &mut found);
            reader.take(&mut found, false, self);
            if self.most.is_some_and(|most| at >= start + most) {
                return Ok(());
            }
        }
        let end = reader.splitter.finish(&mut found);
        reader.take(&mut found, true, self);
        let what = match end {
            End::Whole => return Ok(()),
            End::Cut => format!("the file ends too early, at byte {at}"),
            End::Stray(byte) => format!("a closing bracket too many before byte {byte}; the rest was not read"),
        };
        self.notices.push(Notice {
            kind: "cut_file".to_owned(),
            text: format!("{}{what}", reader.name),
        });
        Ok(())
    }

    /// Adds what was read of a further file.
    fn append(&mut self, read: Gathered) {
        if self.rows.is_empty() {
            let earlier = std::mem::replace(self, read);
            self.broken.splice(0..0, earlier.broken);
            self.notices.splice(0..0, earlier.notices);
            self.faults += earlier.faults;
            self.entries += earlier.entries;
            self.repeated += earlier.repeated;
            earlier.others.into_iter().for_each(|others| self.add_others(others));
            return;
        }
        for row in 0..read.rows.len() {
            self.rows.push_row(&read.rows, row);
        }
        self.spans.extend(read.spans);
        self.order.extend(read.order);
        self.local.extend(read.local);
        let mut names: Vec<(String, u32)> = read.text_ids.into_iter().collect();
        names.sort_by_key(|(_, code)| *code);
        let codes: Vec<u32> = names.into_iter().map(|(name, _)| self.id_code(name)).collect();
        self.ids
            .extend(read.ids.iter().map(|code| code.map(|code| codes[code as usize])));
        let series: Vec<u16> = read.names.into_iter().map(|name| self.series_code(name)).collect();
        self.series
            .extend(read.series.iter().map(|code| series[usize::from(*code)]));
        self.traits |= read.traits;
        self.broken.extend(read.broken);
        self.faults += read.faults;
        self.entries += read.entries;
        self.repeated += read.repeated;
        read.others.into_iter().for_each(|others| self.add_others(others));
        self.notices.extend(read.notices);
    }

    pub fn push_other(&mut self, what: &'static str, place: impl FnOnce() -> String) {
        let is_told = |others: &&Others| others.what == what && others.places.len() >= PLACES;
        let places = if self.others.iter().any(|others| is_told(&others)) {
            Vec::new()
        } else {
            vec![place()]
        };
        self.add_others(Others { what, count: 1, places });
    }

    fn add_others(&mut self, more: Others) {
        match self.others.iter_mut().find(|others| others.what == more.what) {
            Some(others) => {
                others.count += more.count;
                others.places.extend(more.places);
                others.places.truncate(PLACES);
            }
            None => self.others.push(more),
        }
    }

    fn id_code(&mut self, id: String) -> u32 {
        let next = self.text_ids.len() as u32;
        *self.text_ids.entry(id).or_insert(next)
    }

    pub fn push_fault(&mut self, fault: impl FnOnce() -> Fault) {
        if self.broken.len() < FAULTS {
            self.broken.push(fault());
        }
        self.faults += 1;
    }

    fn series_code(&mut self, name: String) -> u16 {
        let place = self.names.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.names.push(name);
            self.names.len() - 1
        });
        place as u16
    }

    pub fn push(&mut self, found: &Found, file: u16, number: usize, answers: Vec<Answer>) {
        for (part, answer) in answers.into_iter().enumerate() {
            let (Ok(length), Ok(part)) = (u32::try_from(found.end - found.start), u16::try_from(part)) else {
                continue;
            };
            self.rows.push_record(&answer.record);
            self.spans.push(Span {
                start: found.start,
                length,
                number: number as u32,
                file,
                part,
            });
            self.order.push(answer.order);
            let series = self.series_code(answer.series.into_owned());
            self.series.push(series);
            self.local.push(answer.is_local_id);
            let id = answer.text_id.map(|id| self.id_code(id));
            self.ids.push(id);
            self.traits |= answer.traits;
        }
    }

    fn why_empty(&self, parts: &[Part]) -> String {
        let name = parts.first().map(|part| part.source.name()).unwrap_or_default();
        match self.broken.as_slice() {
            [] if !self.others.is_empty() => {
                let told: Vec<String> = other_lines(&self.others).map(|notice| notice.text).collect();
                format!("{name}: no row could be read: {}", told.join("; "))
            }
            [] => match self.notices.first() {
                Some(notice) => format!("{name} holds no whole row: {}", notice.text),
                None => {
                    let what = parts.first().and_then(|part| part.layout.without_rows());
                    let format = parts.first().map_or("unknown format", |part| part.format);
                    format!("{name}: {}", what.unwrap_or_else(|| format!("no rows ({format})")))
                }
            },
            [first, rest @ ..]
                if rest.iter().all(|fault| !fault.is_broken && fault.what == first.what) && !first.is_broken =>
            {
                format!("{name}: {}", first.what)
            }
            [first, ..] => {
                format!(
                    "{name}: none of {} rows could be read; {}: {}",
                    thousands(self.entries),
                    first.place,
                    first.what
                )
            }
        }
    }

    fn finish(mut self, parts: &[Part]) -> Vec<Indexed> {
        let offsets = self.number_questions(parts.len());
        self.number_text_ids();
        let mut notices = std::mem::take(&mut self.notices);
        notices.extend(broken_notice(&self.broken, self.faults, self.entries));
        notices.extend(repeated_notice(self.repeated));
        notices.extend(other_lines(&self.others));
        if self.names.len() > 1 {
            let what = parts.first().map_or("filters", |part| part.layout.series());
            let text = format!("{} {what}, a trace each: {}", self.names.len(), self.names.join(", "));
            notices.push(Notice {
                kind: what.to_owned(),
                text,
            });
        }
        let mut all = Vec::new();
        for series in 0..self.names.len() {
            let of_series: Vec<usize> = (0..self.rows.len())
                .filter(|row| usize::from(self.series[*row]) == series)
                .collect();
            let descents = of_series
                .windows(2)
                .filter(|pair| self.is_descent(pair[0], pair[1]))
                .count();
            let mut sorted = of_series;
            sorted.sort_by_key(|row| (self.spans[*row].file, self.order[*row]));
            // Ranks share the questions among them; a question that comes again is no rank's.
            let key = |row: usize| (self.spans[row].file, self.order[row], self.spans[row].part);
            let are_ranks = sorted.windows(2).all(|pair| key(pair[0]) != key(pair[1]));
            let ranks = if are_ranks { descents / parts.len() + 1 } else { 1 };
            let mut indexed = self.pick(&sorted);
            indexed.has_text_ids = !self.text_ids.is_empty();
            indexed.offsets.clone_from(&offsets);
            indexed.series.clone_from(&self.names[series]);
            indexed.notices.clone_from(&notices);
            self.describe(&mut indexed, parts, ranks);
            all.push(indexed);
        }
        all
    }

    fn is_descent(&self, earlier: usize, later: usize) -> bool {
        self.spans[earlier].file == self.spans[later].file && self.order[earlier] > self.order[later]
    }

    fn pick(&self, sorted: &[usize]) -> Indexed {
        let mut indexed = Indexed::default();
        if sorted.len() == self.rows.len() && sorted.is_sorted() {
            indexed.rows = self.rows.clone();
            indexed.spans.clone_from(&self.spans);
            return indexed;
        }
        for row in sorted {
            indexed.rows.push_row(&self.rows, *row);
            indexed.spans.push(self.spans[*row]);
        }
        indexed
    }

    fn describe(&self, indexed: &mut Indexed, parts: &[Part], ranks: usize) {
        let Some(layout) = parts.first().map(|part| &part.layout) else {
            return;
        };
        if layout.numbers_attempts() {
            number_attempts(indexed);
        }
        let rows = &indexed.rows;
        let questions = (0..rows.len())
            .map(|row| rows.question_key(row))
            .collect::<std::collections::HashSet<_>>()
            .len();
        let tally = Tally {
            rows: rows.len(),
            questions,
            files: parts.len(),
            ranks,
            traits: self.traits,
            series: self.names.clone(),
            own_series: indexed.series.clone(),
        };
        let of = if questions == rows.len() {
            String::new()
        } else {
            format!(", {} questions", thousands(questions))
        };
        let plural = if rows.len() == 1 { "row" } else { "rows" };
        indexed.kind = format!("{}{of}, {} {plural}", layout.kind(&tally), thousands(rows.len()));
        let found = layout.notices(rows);
        indexed.notices.extend(found);
        super::lm_eval::traits_notices(self.traits, &mut indexed.notices);
        indexed.notices.extend(flag_notices(rows));
    }
}
