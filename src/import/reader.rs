//! Goes through one file: bytes in, answers out, in order.

use rayon::prelude::*;

use super::index::{Fault, Gathered, Part};
use super::layout::{Answer, Entry, RowError};
use super::split::{Found, Splitter};

/// So few entries are read by one thread: to wake others takes longer.
const FEW: usize = 8;

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
    /// Entries that belong together, while more may follow: their place and key.
    pub pending: Option<(Found, String)>,
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
                Ok(answers) => gathered.push(entry, self.file, first + i, answers),
                Err(error) => gathered.push_fault(|| self.fault(entry, first + i, &error)),
            }
        }
        let needed = self
            .pending
            .as_ref()
            .map(|(entry, _)| entry.start)
            .or(self.splitter.open_row());
        let keep = needed.unwrap_or(self.base + self.buffer.len() as u64) - self.base;
        self.buffer.drain(..keep as usize);
        self.base += keep;
    }

    fn bytes(&self, entry: &Found) -> &[u8] {
        let bytes = &self.buffer[(entry.start - self.base) as usize..(entry.end - self.base) as usize];
        bytes.trim_ascii_end()
    }

    /// Joins entries with equal keys; the last group is held back until it is known to be whole.
    fn group(&mut self, found: Vec<Found>, is_last: bool) -> Vec<Found> {
        let layout = &self.part.layout;
        let key = |entry: &Found| {
            layout.group(&Entry {
                bytes: self.bytes(entry),
                number: 0,
            })
        };
        let keys: Vec<Option<String>> = if found.len() < FEW {
            found.iter().map(key).collect()
        } else {
            found.par_iter().map(key).collect()
        };
        let mut whole = Vec::new();
        for (entry, key) in found.into_iter().zip(keys) {
            match (self.pending.take(), key) {
                (Some((held, held_key)), Some(key)) if held_key == key => {
                    self.pending = Some((Found { end: entry.end, ..held }, key));
                }
                (held, key) => {
                    whole.extend(held.map(|(held, _)| held));
                    match key {
                        Some(key) => self.pending = Some((entry, key)),
                        None => whole.push(entry),
                    }
                }
            }
        }
        if is_last {
            whole.extend(self.pending.take().map(|(held, _)| held));
        }
        whole
    }

    fn fault(&self, entry: &Found, number: usize, error: &RowError) -> Fault {
        let Found { line, start, .. } = entry;
        let place = if self.is_lines {
            format!("{}line {line}", self.name)
        } else {
            format!("{}entry {} (line {line}, byte {start})", self.name, number + 1)
        };
        Fault {
            place,
            what: error.to_string(),
            is_broken: matches!(error, RowError::Json(_)),
        }
    }
}
