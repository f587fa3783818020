//! Which row is which across files: what a mark, a note or the cursor holds on to when a trace is read again, grown or
//! in another format.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::Rows;

/// What tells a row from every other of its trace.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Identity {
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub benchmark: String,
    pub question_id: i64,
    pub attempt: u16,
    /// Rows of the same question and attempt before it; 0 but for repeated rows.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub nth: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde asks for")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

type Key = (u32, i64, u16);

impl Rows {
    fn key(&self, row: usize) -> Key {
        (self.benchmark.code(row), self.question_id[row], self.attempt[row])
    }

    /// The identities of some rows, in the order asked.
    pub fn identify(&self, rows: &[u32]) -> Vec<Identity> {
        let mut last: HashMap<Key, u32> = HashMap::new();
        for row in rows.iter().filter(|row| (**row as usize) < self.len()) {
            let last = last.entry(self.key(*row as usize)).or_default();
            *last = (*last).max(*row);
        }
        // How many rows with the same key stand before each of those asked for.
        let mut before: HashMap<Key, Vec<u32>> = HashMap::new();
        let end = last.values().max().map_or(0, |row| row + 1);
        for row in 0..end {
            let key = self.key(row as usize);
            if last.get(&key).is_some_and(|last| row <= *last) {
                before.entry(key).or_default().push(row);
            }
        }
        let identity = |row: &u32| {
            let at = *row as usize;
            let same = before.get(&self.key(at))?;
            Some(Identity {
                benchmark: self.benchmark.get(at).to_owned(),
                question_id: self.question_id[at],
                attempt: self.attempt[at],
                nth: same.partition_point(|other| other < row) as u32,
            })
        };
        rows.iter().filter_map(identity).collect()
    }

    /// Where rows of these identities stand.
    pub fn locate(&self, wanted: &[Identity]) -> Vec<Option<u32>> {
        let key = |identity: &Identity| -> Option<Key> {
            let benchmark = self.benchmark.find(&identity.benchmark)?;
            Some((benchmark, identity.question_id, identity.attempt))
        };
        let mut places: HashMap<Key, Vec<u32>> = wanted.iter().filter_map(key).map(|key| (key, Vec::new())).collect();
        if !places.is_empty() {
            for row in 0..self.len() {
                if let Some(rows) = places.get_mut(&self.key(row)) {
                    rows.push(row as u32);
                }
            }
        }
        wanted
            .iter()
            .map(|identity| places.get(&key(identity)?)?.get(identity.nth as usize).copied())
            .collect()
    }

    /// A sum over what diagnoses are made from beside the texts: how long these are, picks, ends, flags and options.
    pub fn sum(&self) -> u32 {
        let mut sum = crc32fast::Hasher::new();
        for row in 0..self.len() {
            let light = self.light(row);
            sum.update(&light.chars.to_le_bytes());
            sum.update(&[light.options, light.finish.map_or(u8::MAX, |finish| finish as u8)]);
            for text in [light.pick, light.flags] {
                sum.update(text.as_bytes());
                sum.update(b"\0");
            }
        }
        sum.finalize()
    }

    /// A number that the same trace has again, in whatever file and format: of the first rows' questions, lengths and,
    /// where there is no output, picks. Growing rows beyond the first 64 do not change it.
    pub fn fingerprint(&self, rows: std::ops::Range<usize>) -> u64 {
        const FIRST: usize = 64;
        // FNV-1a: stable over versions and machines, which the hasher of the standard library is not.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let mut take = |bytes: &[u8]| {
            for byte in bytes {
                hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
            }
        };
        for row in rows.take(FIRST) {
            take(&self.question_id[row].to_le_bytes());
            take(&self.attempt[row].to_le_bytes());
            take(&self.chars[row].to_le_bytes());
            take(self.answer.get(row).as_bytes());
            if self.scored[row] || self.chars[row] == 0 {
                take(self.pick.get(row).as_bytes());
            }
            take(b"\n");
        }
        hash
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Record;

    fn rows(list: &[(i64, i64)]) -> Rows {
        let mut rows = Rows::default();
        for (question_id, attempt) in list {
            rows.push_record(&Record {
                question_id: *question_id,
                attempt: *attempt,
                ..Record::default()
            });
        }
        rows
    }

    #[test]
    fn rows_are_found_again_wherever_they_stand_and_repeated_ones_in_their_order() {
        let first = rows(&[(1, 0), (1, 1), (2, 0), (2, 0), (3, 0)]);
        let found = first.identify(&[3, 1, 2]);
        assert_eq!(found.iter().map(|identity| identity.nth).collect::<Vec<_>>(), [1, 0, 0]);
        let later = rows(&[(9, 0), (2, 0), (1, 1), (1, 0), (2, 0)]);
        assert_eq!(later.locate(&found), [Some(4), Some(2), Some(1)]);
        assert_eq!(rows(&[(1, 0)]).locate(&found), [None, None, None]);
    }

    #[test]
    fn the_fingerprint_stays_while_a_trace_grows_and_tells_two_runs_apart() {
        let list: Vec<(i64, i64)> = (0..70).map(|id| (id, 0)).collect();
        let (short, long) = (rows(&list[..64]), rows(&list));
        assert_eq!(short.fingerprint(0..64), long.fingerprint(0..70));
        let mut other = rows(&list);
        other.chars[5] = 9;
        assert_ne!(other.fingerprint(0..70), long.fingerprint(0..70));
    }
}
