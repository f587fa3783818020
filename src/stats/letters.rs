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
    pub fn of(rows: &Rows, picked: impl Iterator<Item = usize>) -> Letters {
        // Rows are many, names are few: names become letters after counting.
        let room = |names: &Names| vec![0; names.list().len()];
        let (mut picks, mut golds) = (room(&rows.pick), room(&rows.answer));
        for row in picked {
            picks[rows.pick.code(row) as usize] += 1;
            golds[rows.answer.code(row) as usize] += 1;
        }
        let mut letters = Letters::default();
        for (name, count) in rows.pick.list().iter().zip(picks) {
            *letters.pick(letter_index(name), **name == *INVALID) += count;
        }
        for (name, count) in rows.answer.list().iter().zip(golds) {
            if let Some(letter) = letter_index(name) {
                letters.gold[letter] += count;
            }
        }
        letters
    }

    /// Where rows are counted whose pick is this letter, or none.
    fn pick(&mut self, letter: Option<usize>, is_invalid: bool) -> &mut usize {
        match letter {
            Some(letter) => &mut self.picks[letter],
            None if is_invalid => &mut self.invalid,
            None => &mut self.other,
        }
    }

    /// Counts a row whose pick and gold are these letters, where they are letters.
    pub fn add(&mut self, pick: Option<usize>, gold: Option<usize>, is_invalid: bool) {
        *self.pick(pick, is_invalid) += 1;
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
