//! Goes through one file: bytes in, answers out, in order.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

use rayon::prelude::*;

use super::index::{Fault, Gathered, Part};
use super::layout::{Answer, Entry, RowError};
use super::split::{Found, Splitter};

/// So few entries are read by one thread: to wake others takes longer.
const FEW: usize = 8;

/// Groups that are open at a time.
const OPEN: usize = 256;

/// Bytes at each end of an entry that mark it.
const ENDS: usize = 512;

/// Reads one file.
pub(super) struct Reader<'a> {
    pub part: &'a Part,
    pub file: u16,
    pub name: String,
    pub is_lines: bool,
    pub splitter: Splitter,
    /// The bytes from `base` on that are still needed.
    pub buffer: Vec<u8>,
    pub base: u64,
    pub number: usize,
    /// Entries that belong together, while more may follow: their place and key. More than one where groups lie among
    /// each other.
    pub pending: VecDeque<(Found, String)>,
    /// Where entries of these marks begin, of rows that tell their question and attempt.
    pub seen: HashMap<u64, u64>,
}

impl Reader<'_> {
    pub fn take(&mut self, found: &mut Vec<Found>, is_last: bool, gathered: &mut Gathered) {
        let entries = self.group(std::mem::take(found), is_last);
        let first = self.number;
        self.number += entries.len();
        let read = |(i, entry): (usize, &Found)| {
            self.part.layout.answers(&Entry {
                bytes: self.bytes(entry),
                number: first + i,
            })
        };
        let answers: Vec<Result<Vec<Answer>, RowError>> = if entries.len() < FEW {
            entries.iter().enumerate().map(read).collect()
        } else {
            entries.par_iter().enumerate().map(read).collect()
        };
        for (i, (entry, answers)) in entries.iter().zip(answers).enumerate() {
            gathered.entries += 1;
            match answers {
                Ok(answers) if self.is_written_again(entry, &answers) => gathered.repeated += 1,
                Ok(answers) => gathered.push(entry, self.file, first + i, answers),
                Err(RowError::NoRow(what)) => gathered.push_other(what, || self.place(entry, first + i)),
                Err(error) => gathered.push_fault(|| self.fault(entry, first + i, &error)),
            }
        }
        let open = self.pending.iter().map(|(entry, _)| entry.start).min();
        let needed = open.or(self.splitter.open_row());
        let keep = needed.unwrap_or(self.base + self.buffer.len() as u64) - self.base;
        self.buffer.drain(..keep as usize);
        self.base += keep;
    }

    fn bytes(&self, entry: &Found) -> &[u8] {
        let bytes = &self.buffer[(entry.start - self.base) as usize..(entry.end - self.base) as usize];
        bytes.trim_ascii_end()
    }

    /// Whether the same bytes stand in the file before, where a row tells its question and attempt: a file that was
    /// appended to once more.
    fn is_written_again(&mut self, entry: &Found, answers: &[Answer]) -> bool {
        let Some(first) = answers.first().filter(|_| self.part.layout.is_numbered()) else {
            return false;
        };
        let bytes = self.bytes(entry);
        let ends = [
            &bytes[..bytes.len().min(ENDS)],
            &bytes[bytes.len().saturating_sub(ENDS)..],
        ];
        let mut mark = DefaultHasher::new();
        (first.record.question_id, first.record.attempt, bytes.len(), ends).hash(&mut mark);
        let mark = mark.finish();
        let Some(start) = self.seen.get(&mark) else {
            self.seen.insert(mark, entry.start);
            return false;
        };
        self.part
            .source
            .read(*start, bytes.len())
            .is_ok_and(|earlier| earlier == bytes)
    }

    /// Joins entries with equal keys; groups that may go on are held back until they are known to be whole.
    fn group(&mut self, found: Vec<Found>, is_last: bool) -> Vec<Found> {
        let layout = &self.part.layout;
        let key = |entry: &Found| {
            let entry = Entry {
                bytes: self.bytes(entry),
                number: 0,
            };
            (layout.group(&entry), layout.ends_group(&entry))
        };
        let keys: Vec<(Option<String>, Option<bool>)> = if found.len() < FEW {
            found.iter().map(key).collect()
        } else {
            found.par_iter().map(key).collect()
        };
        let mut whole = Vec::new();
        for (entry, (key, ends)) in found.into_iter().zip(keys) {
            let Some(key) = key else {
                if ends.is_none() {
                    whole.extend(self.pending.drain(..).map(|(held, _)| held));
                }
                whole.push(entry);
                continue;
            };
            let held = self.pending.iter().position(|(_, held)| *held == key);
            let held = held.and_then(|at| self.pending.remove(at));
            let entry = held.map_or(entry, |(held, _)| Found { end: entry.end, ..held });
            if ends.is_none() {
                whole.extend(self.pending.drain(..).map(|(held, _)| held));
            } else if self.pending.len() >= OPEN {
                self.pending.pop_front();
            }
            match ends {
                Some(true) => whole.push(entry),
                _ => self.pending.push_back((entry, key)),
            }
        }
        if is_last {
            whole.extend(self.pending.drain(..).map(|(held, _)| held));
        }
        whole
    }

    fn place(&self, entry: &Found, number: usize) -> String {
        let Found { line, start, .. } = entry;
        if self.is_lines {
            format!("{}line {line}", self.name)
        } else {
            format!("{}entry {} (line {line}, byte {start})", self.name, number + 1)
        }
    }

    fn fault(&self, entry: &Found, number: usize, error: &RowError) -> Fault {
        Fault {
            place: self.place(entry, number),
            what: error.to_string(),
            is_broken: matches!(error, RowError::Json(_)),
        }
    }
}
