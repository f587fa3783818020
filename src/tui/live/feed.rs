//! The answers that landed, newest first, and the completions that are being written.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::time::Duration;

use crate::diagnose::repeated_tail;

/// Rows on which the feed stands still: the first one in sight, and the one under the cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Anchor {
    top: usize,
    at: usize,
}

/// The list of an exam's rows, by the order in which they landed.
#[derive(Debug, Default)]
pub struct Feed {
    rows: usize,
    /// The rows that pass the filter, in order; `None`: all.
    filtered: Option<Vec<usize>>,
    /// `None`: the newest row is on top and under the cursor.
    anchor: Option<Anchor>,
    /// Lines of the last drawing, for moves by the page.
    height: Cell<usize>,
}

/// What of a feed is in sight.
#[derive(Debug, PartialEq, Eq)]
pub struct Sight {
    /// Rows, newest first.
    pub rows: Vec<usize>,
    /// The row under the cursor, where the feed stands still.
    pub cursor: Option<usize>,
    /// Rows that landed since it stands still, and are above what is in sight.
    pub newer: usize,
}

impl Feed {
    /// One more row has landed. Where rows are filtered, whether it passes is told by [`Feed::show`].
    pub fn add(&mut self) {
        self.rows += 1;
    }

    /// Shows only these rows (ascending), or all; the cursor goes to the nearest older one that is shown.
    pub fn show(&mut self, filtered: Option<Vec<usize>>) {
        self.filtered = filtered;
        if let Some(anchor) = self.anchor {
            let (top, at) = (self.row(self.place(anchor.top)), self.row(self.place(anchor.at)));
            self.anchor = top.zip(at).map(|(top, at)| Anchor { top, at });
        }
    }

    pub fn is_filtered(&self) -> bool {
        self.filtered.is_some()
    }

    pub fn is_held(&self) -> bool {
        self.anchor.is_some()
    }

    /// Stands still, or moves on again.
    pub fn hold(&mut self) {
        self.anchor = match self.anchor {
            Some(_) => None,
            None => self.newest().map(|row| Anchor { top: row, at: row }),
        };
    }

    /// Moves the cursor to older (positive) or newer rows; the feed stands still from then on.
    pub fn step(&mut self, by: isize) {
        let Some(newest) = self.newest() else { return };
        let Anchor { top, at } = self.anchor.unwrap_or(Anchor {
            top: newest,
            at: newest,
        });
        let place = self.place(at).saturating_add_signed(-by).min(self.len() - 1);
        let top = self.top_place(self.place(top), place, self.height.get().max(1));
        if let (Some(top), Some(at)) = (self.row(top), self.row(place)) {
            self.anchor = Some(Anchor { top, at });
        }
    }

    /// The row under the cursor; while it follows, the newest.
    pub fn current(&self) -> Option<usize> {
        self.anchor.map(|anchor| anchor.at).or_else(|| self.newest())
    }

    /// Lines of the last drawing.
    pub fn last_height(&self) -> usize {
        self.height.get()
    }

    /// What is shown on `height` lines.
    pub fn sight(&self, height: usize) -> Sight {
        self.height.set(height);
        let Some(newest) = self.len().checked_sub(1).filter(|_| height > 0) else {
            return Sight {
                rows: Vec::new(),
                cursor: None,
                newer: 0,
            };
        };
        let (top, cursor) = match self.anchor {
            Some(anchor) => (
                self.top_place(self.place(anchor.top), self.place(anchor.at), height),
                Some(anchor.at),
            ),
            None => (newest, None),
        };
        let rows = (0..=top)
            .rev()
            .take(height)
            .filter_map(|place| self.row(place))
            .collect();
        Sight {
            rows,
            cursor,
            newer: newest - top,
        }
    }

    /// The first place in sight: as it was, unless the cursor would be out of sight. Places count from the oldest.
    fn top_place(&self, top: usize, at: usize, height: usize) -> usize {
        top.clamp(at, (at + height - 1).min(self.len().saturating_sub(1)))
    }

    fn list(&self) -> Option<&[usize]> {
        self.filtered.as_deref()
    }

    fn len(&self) -> usize {
        self.list().map_or(self.rows, <[usize]>::len)
    }

    fn row(&self, place: usize) -> Option<usize> {
        match self.list() {
            Some(list) => list.get(place).copied(),
            None => Some(place).filter(|place| *place < self.rows),
        }
    }

    /// Where a row stands in what is shown, or the next older one; the oldest where there is none.
    fn place(&self, row: usize) -> usize {
        match self.list() {
            Some(list) => list.partition_point(|known| *known <= row).saturating_sub(1),
            None => row,
        }
    }

    fn newest(&self) -> Option<usize> {
        self.len().checked_sub(1).and_then(|place| self.row(place))
    }
}

/// How much of a running completion's end is kept, in bytes.
const KEPT: usize = 1 << 16;

/// How much of its end tells whether it repeats itself, in bytes.
const LOOPING: usize = 8192;

/// A completion that is being written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Underway {
    pub question_id: i64,
    pub attempt: usize,
    pub subject: String,
    pub tokens: usize,
    /// Its end.
    pub text: String,
    /// When it was first heard of.
    pub since: Duration,
    pub is_looping: bool,
    /// What the engine calls it.
    pub asked: (usize, usize),
    /// Whether the user wants it to end.
    pub is_stopping: bool,
}

/// The completions that are being written, by question and attempt.
#[derive(Debug, Default)]
pub struct Running {
    list: BTreeMap<(i64, usize), Underway>,
    /// The one under the cursor, where the cursor is among these.
    chosen: Option<(i64, usize)>,
}

impl Running {
    pub fn get(&self, question_id: i64, attempt: usize) -> Option<&Underway> {
        self.list.get(&(question_id, attempt))
    }

    pub fn get_mut(&mut self, question_id: i64, attempt: usize) -> Option<&mut Underway> {
        self.list.get_mut(&(question_id, attempt))
    }

    /// The one under the cursor.
    pub fn chosen(&self) -> Option<&Underway> {
        self.list.get(&self.chosen?)
    }

    /// Lets the cursor in, to the first or the last; false where there is none.
    pub fn enter(&mut self, is_last: bool) -> bool {
        let list = self.slowest_first();
        let to = if is_last { list.last() } else { list.first() };
        self.chosen = to.map(|underway| underway.key());
        self.chosen.is_some()
    }

    /// Takes the cursor away.
    pub fn leave(&mut self) {
        self.chosen = None;
    }

    /// Moves the cursor; above the first it leaves.
    pub fn step(&mut self, by: isize) {
        let list = self.slowest_first();
        let at = list.iter().position(|underway| Some(underway.key()) == self.chosen);
        let to = at.and_then(|at| at.checked_add_signed(by));
        self.chosen = to.and_then(|to| Some(list.get(to).or(list.last())?.key()));
    }

    pub fn hear(&mut self, question_id: i64, attempt: usize, subject: &str, now: Duration) -> &mut Underway {
        self.list.entry((question_id, attempt)).or_insert_with(|| Underway {
            question_id,
            attempt,
            subject: subject.to_owned(),
            tokens: 0,
            text: String::new(),
            since: now,
            is_looping: false,
            asked: (0, 0),
            is_stopping: false,
        })
    }

    pub fn end(&mut self, question_id: i64, attempt: usize) {
        if self.chosen == Some((question_id, attempt)) {
            // The next one comes under the cursor, or the one before.
            let list = self.slowest_first();
            let at = list.iter().position(|underway| Some(underway.key()) == self.chosen);
            let next = at.and_then(|at| list.get(at + 1).or(list.get(at.checked_sub(1)?)));
            self.chosen = next.map(|underway| underway.key());
        }
        self.list.remove(&(question_id, attempt));
    }

    pub fn clear(&mut self) {
        self.list.clear();
        self.chosen = None;
    }

    /// Longest at work first, so that a line keeps its place until one above it ends.
    pub fn slowest_first(&self) -> Vec<&Underway> {
        let mut list: Vec<&Underway> = self.list.values().collect();
        list.sort_by_key(|underway| (underway.since, underway.question_id, underway.attempt));
        list
    }
}

impl Underway {
    fn key(&self) -> (i64, usize) {
        (self.question_id, self.attempt)
    }

    pub fn grow(&mut self, tokens: usize, text: &str) {
        self.tokens = tokens;
        self.text.push_str(text);
        if self.text.len() > 2 * KEPT {
            let cut = (self.text.len() - KEPT..)
                .find(|at| self.text.is_char_boundary(*at))
                .unwrap_or(0);
            self.text.drain(..cut);
        }
        let end = (self.text.len().saturating_sub(LOOPING)..).find(|at| self.text.is_char_boundary(*at));
        self.is_looping = repeated_tail(&self.text[end.unwrap_or(0)..]).is_some();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(rows: usize) -> Feed {
        let mut feed = Feed::default();
        for _ in 0..rows {
            feed.add();
        }
        feed
    }

    #[test]
    fn a_row_under_the_cursor_stays_where_it_is_while_others_land() {
        let mut feed = feed(20);
        assert_eq!(feed.sight(4).rows, [19, 18, 17, 16]);
        feed.step(2);
        let before = feed.sight(4);
        assert_eq!(
            (before.rows.as_slice(), before.cursor),
            ([19, 18, 17, 16].as_slice(), Some(17))
        );
        for _ in 0..7 {
            feed.add();
        }
        let after = feed.sight(4);
        assert_eq!((after.rows, after.cursor, after.newer), (before.rows, Some(17), 7));
        assert_eq!(feed.current(), Some(17));
        feed.hold();
        assert_eq!(
            (feed.sight(1).rows.as_slice(), feed.current()),
            ([26].as_slice(), Some(26))
        );
    }

    #[test]
    fn the_window_follows_the_cursor_both_ways() {
        let mut feed = feed(20);
        feed.sight(4);
        feed.step(5);
        assert_eq!(feed.sight(4).rows, [17, 16, 15, 14]);
        feed.step(-1);
        assert_eq!(
            (feed.sight(4).rows.as_slice(), feed.current()),
            ([17, 16, 15, 14].as_slice(), Some(15))
        );
        feed.step(-9);
        assert_eq!((feed.sight(4).rows[0], feed.current()), (19, Some(19)));
        feed.step(isize::MAX / 2);
        assert_eq!(feed.sight(4).rows, [3, 2, 1, 0]);
    }

    #[test]
    fn only_rows_that_pass_the_filter_are_shown_and_the_cursor_goes_to_the_nearest() {
        let mut feed = feed(20);
        feed.sight(3);
        feed.step(3);
        assert_eq!(feed.current(), Some(16));
        feed.show(Some(vec![2, 5, 8, 11, 14, 17]));
        assert_eq!(feed.current(), Some(14));
        assert_eq!(feed.sight(3).rows, [17, 14, 11]);
        feed.show(None);
        assert_eq!((feed.current(), feed.sight(3).rows.len()), (Some(14), 3));
        feed.show(Some(Vec::new()));
        feed.step(1);
        feed.hold();
        assert_eq!((feed.current(), feed.sight(5).rows.len()), (None, 0));
    }

    #[test]
    fn a_completion_that_repeats_itself_is_noticed_while_it_is_written() {
        let mut running = Running::default();
        let underway = running.hear(7, 3, "math", Duration::ZERO);
        underway.grow(10, "We begin. ");
        assert!(!underway.is_looping);
        for n in 0..400 {
            underway.grow(10 + n, "It is the view of the law from within. ");
        }
        assert!(underway.is_looping && underway.text.len() <= 2 * KEPT);
        running.end(7, 3);
        assert_eq!(running.slowest_first(), Vec::<&Underway>::new());
    }
}
