//! The light columns of a trace: what lists, counts and filters read.

use std::collections::HashSet;

use super::names::Names;
use crate::record::{Finish, INVALID, Record, letter_index};

/// The light columns of a trace, one entry a row in each.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    pub question_id: Vec<i64>,
    pub attempt: Vec<u16>,
    /// `i64::MIN` where unknown; shorter than the rows where the rest is unknown. Read by [`Rows::seed`].
    pub seed: Vec<i64>,
    pub benchmark: Names,
    pub category: Names,
    pub subject: Names,
    /// A letter, [`INVALID`], or the text that the file stores.
    pub pick: Names,
    pub answer: Names,
    pub correct: Vec<bool>,
    /// Code points of the completion.
    pub chars: Vec<u32>,
    pub finish: Vec<Option<Finish>>,
    /// Flags joined by `,`; empty for none.
    pub flags: Names,
    /// Number of options; 0 where unknown.
    pub options: Vec<u8>,
    /// First 8 bytes of the doc hash; 0 where unknown. Rows of one question share it.
    pub doc: Vec<u64>,
    /// Whether the pick comes from log-likelihoods: there is no output to read, whatever the rule.
    pub scored: Vec<bool>,
    /// Ids of the questions whose outcome is not the same in all cells of the study that the run belongs to; empty elsewhere.
    pub depends_on_cell: HashSet<i64>,
}

/// The light part of one row, to be appended.
#[derive(Debug, Clone, Copy)]
pub struct Light<'a> {
    pub question_id: i64,
    pub attempt: u16,
    pub seed: Option<i64>,
    pub benchmark: &'a str,
    pub category: &'a str,
    pub subject: &'a str,
    pub pick: &'a str,
    pub answer: &'a str,
    pub correct: bool,
    pub chars: u32,
    pub finish: Option<Finish>,
    pub flags: &'a str,
    pub options: u8,
    pub doc: u64,
    pub scored: bool,
}

impl Rows {
    pub fn len(&self) -> usize {
        self.question_id.len()
    }

    pub fn is_empty(&self) -> bool {
        self.question_id.is_empty()
    }

    pub fn push(&mut self, light: &Light) {
        if let Some(seed) = light.seed {
            self.seed.resize(self.len(), i64::MIN);
            self.seed.push(seed);
        }
        self.question_id.push(light.question_id);
        self.attempt.push(light.attempt);
        self.benchmark.push(light.benchmark);
        self.category.push(light.category);
        self.subject.push(light.subject);
        self.pick.push(light.pick);
        self.answer.push(light.answer);
        self.correct.push(light.correct);
        self.chars.push(light.chars);
        self.finish.push(light.finish);
        self.flags.push(light.flags);
        self.options.push(light.options);
        self.doc.push(light.doc);
        self.scored.push(light.scored);
    }

    pub fn push_record(&mut self, record: &Record) {
        self.push(&Light {
            question_id: record.question_id,
            attempt: u16::try_from(record.attempt).unwrap_or(u16::MAX),
            seed: record.seed,
            benchmark: &record.benchmark,
            category: &record.category,
            subject: if record.subject.is_empty() {
                &record.category
            } else {
                &record.subject
            },
            pick: &record.pick,
            answer: &record.answer,
            correct: record.correct,
            chars: u32::try_from(record.reasoning_chars).unwrap_or(u32::MAX),
            finish: record.finish,
            flags: &record.flags.join(","),
            options: u8::try_from(record.options.len()).unwrap_or(u8::MAX),
            doc: hash_prefix(&record.doc_hash),
            scored: record.logprobs.is_some(),
        });
    }

    /// Makes room for more rows, and no more than that.
    pub fn reserve(&mut self, more: usize) {
        self.question_id.reserve_exact(more);
        self.attempt.reserve_exact(more);
        self.correct.reserve_exact(more);
        self.chars.reserve_exact(more);
        self.finish.reserve_exact(more);
        self.options.reserve_exact(more);
        self.doc.reserve_exact(more);
        self.scored.reserve_exact(more);
        self.names_mut().into_iter().for_each(|names| names.reserve(more));
    }

    /// Gives back room that was kept for more rows.
    pub fn shrink(&mut self) {
        self.question_id.shrink_to_fit();
        self.attempt.shrink_to_fit();
        self.seed.shrink_to_fit();
        self.correct.shrink_to_fit();
        self.chars.shrink_to_fit();
        self.finish.shrink_to_fit();
        self.options.shrink_to_fit();
        self.doc.shrink_to_fit();
        self.scored.shrink_to_fit();
        self.names_mut().into_iter().for_each(Names::shrink);
    }

    fn names_mut(&mut self) -> [&mut Names; 6] {
        [
            &mut self.benchmark,
            &mut self.category,
            &mut self.subject,
            &mut self.pick,
            &mut self.answer,
            &mut self.flags,
        ]
    }

    /// Appends all rows of another trace.
    pub fn append(&mut self, other: &Rows) {
        if !other.seed.is_empty() {
            self.seed.resize(self.len(), i64::MIN);
            self.seed.extend_from_slice(&other.seed);
        }
        self.question_id.extend_from_slice(&other.question_id);
        self.attempt.extend_from_slice(&other.attempt);
        self.correct.extend_from_slice(&other.correct);
        self.chars.extend_from_slice(&other.chars);
        self.finish.extend_from_slice(&other.finish);
        self.options.extend_from_slice(&other.options);
        self.doc.extend_from_slice(&other.doc);
        self.scored.extend_from_slice(&other.scored);
        let others = [
            &other.benchmark,
            &other.category,
            &other.subject,
            &other.pick,
            &other.answer,
            &other.flags,
        ];
        for (names, others) in self.names_mut().into_iter().zip(others) {
            names.append(others);
        }
    }

    /// Appends a copy of another trace's row.
    pub fn push_row(&mut self, other: &Rows, row: usize) {
        self.push(&other.light(row));
    }

    pub fn light(&self, row: usize) -> Light<'_> {
        Light {
            question_id: self.question_id[row],
            attempt: self.attempt[row],
            seed: self.seed(row),
            benchmark: self.benchmark.get(row),
            category: self.category.get(row),
            subject: self.subject.get(row),
            pick: self.pick.get(row),
            answer: self.answer.get(row),
            correct: self.correct[row],
            chars: self.chars[row],
            finish: self.finish[row],
            flags: self.flags.get(row),
            options: self.options[row],
            doc: self.doc[row],
            scored: self.scored[row],
        }
    }

    pub fn seed(&self, row: usize) -> Option<i64> {
        self.seed.get(row).copied().filter(|seed| *seed != i64::MIN)
    }

    pub fn is_invalid(&self, row: usize) -> bool {
        self.pick.get(row) == INVALID
    }

    /// The pick's option index, where the pick is one letter.
    pub fn pick_index(&self, row: usize) -> Option<usize> {
        letter_index(self.pick.get(row))
    }

    /// Whether these rows are those of `before`, unchanged, and perhaps more after them.
    pub fn begin_with(&self, before: &Rows) -> bool {
        self.begin_in_place(before) && self.pick.begin_with(&before.pick) && self.answer.begin_with(&before.answer)
    }

    /// Whether each row is still where it is in `before`, whatever is picked in it.
    pub fn stand_as(&self, before: &Rows) -> bool {
        self.len() == before.len() && self.begin_in_place(before)
    }

    fn begin_in_place(&self, before: &Rows) -> bool {
        self.question_id.starts_with(&before.question_id)
            && self.attempt.starts_with(&before.attempt)
            && self.chars.starts_with(&before.chars)
            && self.benchmark.begin_with(&before.benchmark)
    }

    /// How many different questions there are.
    pub fn questions(&self) -> usize {
        let keys = || (0..self.len()).map(|row| self.question_key(row));
        // Rows by question, the usual order, need no table of questions.
        let is_sorted = keys().is_sorted();
        if is_sorted {
            let mut last = None;
            return keys().filter(|key| last.replace(*key) != Some(*key)).count();
        }
        keys().collect::<std::collections::HashSet<_>>().len()
    }

    /// What tells one question from another: rows with equal keys are attempts at one question.
    pub fn question_key(&self, row: usize) -> (u32, i64) {
        (self.benchmark.code(row), self.question_id[row])
    }
}

/// The first 16 hex digits of a hash as a number; 0 where it is no hash.
pub fn hash_prefix(hash: &str) -> u64 {
    hash.get(..16)
        .and_then(|digits| u64::from_str_radix(digits, 16).ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn appended_rows_are_those_that_were_pushed_one_by_one() {
        let record = |id: i64, seed: Option<i64>| Record {
            question_id: id,
            seed,
            category: format!("category {}", id % 3),
            pick: INVALID.to_owned(),
            ..Record::default()
        };
        let (mut first, mut second, mut all) = (Rows::default(), Rows::default(), Rows::default());
        for (rows, ids, seed) in [(&mut first, 0..5, None), (&mut second, 5..9, Some(42))] {
            for id in ids {
                rows.push_record(&record(id, seed));
                all.push_record(&record(id, seed));
            }
        }
        second.append(&first);
        first.append(&Rows { ..second.clone() });
        let order = [0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 1, 2, 3, 4];
        for (row, expected) in order.into_iter().enumerate() {
            let (found, expected) = (first.light(row), all.light(expected));
            assert_eq!(format!("{found:?}"), format!("{expected:?}"), "row {row}");
        }
        assert_eq!(first.len(), order.len());
        assert!(first.begin_with(&all) && !all.begin_with(&first) && !second.begin_with(&all));
    }
}
