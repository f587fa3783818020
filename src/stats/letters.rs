//! Which letters were picked, and which are the gold.

use super::sum::share;
use super::{Slice, percent};
use crate::record::{INVALID, letter_index};
use crate::trace::{Names, Rows};

/// How often each letter was picked and how often it is the gold.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Letters {
    /// A to Z.
    pub picks: [usize; 26],
    pub gold: [usize; 26],
    pub invalid: usize,
    /// Picks that are longer text.
    pub other: usize,
}

impl Letters {
    pub fn of(slice: Slice) -> Letters {
        let mut letters = Letters::default();
        let index = LetterIndex::of(slice.rows);
        slice.iter().for_each(|row| letters.add_row(&index, slice.rows, row));
        letters
    }

    /// Counts a row of the columns that `index` is of.
    pub fn add_row(&mut self, index: &LetterIndex, rows: &Rows, row: usize) {
        let pick = rows.pick.code(row);
        let gold = index.gold[rows.answer.code(row) as usize];
        self.add(index.pick[pick as usize], gold, Some(pick) == index.invalid);
    }

    /// Counts a row whose pick and gold are these letters, where they are letters.
    pub fn add(&mut self, pick: Option<usize>, gold: Option<usize>, is_invalid: bool) {
        match pick {
            Some(letter) => self.picks[letter] += 1,
            None if is_invalid => self.invalid += 1,
            None => self.other += 1,
        }
        if let Some(letter) = gold {
            self.gold[letter] += 1;
        }
    }

    /// The last letter that was picked or is gold, as an index from A.
    pub fn last(&self) -> Option<usize> {
        (0..26)
            .rev()
            .find(|letter| self.picks[*letter] + self.gold[*letter] > 0)
    }
}

/// The letters that the names of the pick and gold columns are, by code.
#[derive(Debug)]
pub struct LetterIndex {
    pick: Vec<Option<usize>>,
    gold: Vec<Option<usize>>,
    invalid: Option<u32>,
}

impl LetterIndex {
    pub fn of(rows: &Rows) -> LetterIndex {
        let of = |names: &Names| names.list().iter().map(|name| letter_index(name)).collect();
        LetterIndex {
            pick: of(&rows.pick),
            gold: of(&rows.answer),
            invalid: rows.pick.find(INVALID),
        }
    }
}

/// The one pick of all rows, where there are several rows and it is not [`INVALID`].
pub fn constant_pick(slice: Slice<'_>) -> Option<&str> {
    let first = slice.iter().next()?;
    let code = slice.rows.pick.code(first);
    let pick = slice.rows.pick.get(first);
    let is_constant = slice.len() > 1 && pick != INVALID && slice.iter().all(|row| slice.rows.pick.code(row) == code);
    is_constant.then_some(pick)
}

/// What always picking this letter would score.
pub fn always(slice: Slice, pick: &str) -> Option<f64> {
    let gold = slice.rows.answer.find(pick);
    let has_it = |row: &usize| Some(slice.rows.answer.code(*row)) == gold;
    share(slice.iter().filter(has_it).count(), slice.len())
}

/// What a reader should know of rows that all have one pick.
pub(super) fn constant_pick_warning(slice: Slice) -> Option<String> {
    let pick = constant_pick(slice)?;
    let score = percent(always(slice, pick));
    Some(format!(
        "every pick is {pick}: {score}% is what always-{pick} scores here"
    ))
}
