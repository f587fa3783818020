//! What the panes share: the trace, the view on it, the rows that are in it, and the texts in sight.

mod history;

use std::sync::Arc;

use crate::extract::Rule;
use crate::filter::{Filter, Mode};
use crate::notes::Notes;
use crate::record::Record;
use crate::trace::Rows;

use super::shelf::Shelf;
use super::snapshot::Snapshot;
use super::view::RowName;
use super::widgets::Cursor;
use history::{Jump, Step};

use super::worker::{Fetched, Request, Selected, Sight, View};

#[derive(Debug, Default)]
pub struct Workspace {
    pub snapshot: Option<Arc<Snapshot>>,
    pub view: View,
    /// The view's filter, understood.
    pub filter: Filter,
    pub notes: Arc<Notes>,
    pub selected: Arc<Selected>,
    /// The place in `selected.rows`.
    pub cursor: Cursor,
    pub rule: Rule,
    /// Number of the last view asked for.
    number: u64,
    undo: Vec<Step>,
    redo: Vec<Step>,
    /// Places that jumps began from, the last one last.
    jumps: Vec<Jump>,
    shelf: Shelf,
    /// The number of a view that begins at its first row, whatever row was under the cursor.
    begins: u64,
    /// The row and place to come back to when the view before is shown again.
    return_to: Option<(u32, Cursor)>,
    /// Where rows went with the last snapshot, while that is told.
    pub moves: Option<Moves>,
    /// Whether more rows of the trace are still being read.
    pub is_partial: bool,
    /// Whether the filter may ask what another run says.
    pub has_two_runs: bool,
    /// Whether key and picks of questions that the person has not answered are hidden.
    pub is_blind: bool,
}

impl Workspace {
    /// The row under the cursor.
    pub fn row(&self) -> Option<u32> {
        self.selected.rows.get(self.cursor.at).copied()
    }

    pub fn rows(&self) -> Option<&Rows> {
        self.snapshot.as_deref().map(Snapshot::rows)
    }

    /// Whether the rows on screen are those of the view asked for.
    pub fn is_current(&self) -> bool {
        self.selected.number == self.number && self.selected.is_complete
    }

    /// The number of the view asked for last.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Makes room for another run: its rows are others, and so are its notes.
    pub fn change_run(&mut self) {
        self.snapshot = None;
        self.selected = Arc::default();
        self.cursor = Cursor::default();
        self.notes = Arc::default();
        self.undo.clear();
        self.redo.clear();
        self.jumps.clear();
        self.return_to = None;
        self.shelf.clear();
    }

    /// Whether a view was asked for.
    pub fn has_asked(&self) -> bool {
        self.number > 0
    }

    /// Takes over a trace, anew or grown. Where its rows are not those known before and more, what stood on rows is moved
    /// to where they stand now; true then, and `moves` tells the new place of a row.
    pub fn take_snapshot(&mut self, snapshot: Arc<Snapshot>) -> bool {
        self.rule = Rule::of_texts(snapshot.trace.rule.as_deref());
        self.filter = self.parse(&self.view.filter, snapshot.rows());
        let Some(before) = self.snapshot.replace(Arc::clone(&snapshot)) else {
            return false;
        };
        if snapshot.rows().begin_with(before.rows()) {
            return false;
        }
        let moves = Moves {
            before,
            after: snapshot,
        };
        self.shelf.clear();
        self.jumps.clear();
        self.return_to = self
            .place_now()
            .and_then(|(row, cursor)| Some((moves.place(row)?, cursor)));
        Arc::make_mut(&mut self.selected).rows = Arc::default();
        let (before, after) = (moves.before.rows(), moves.after.rows());
        let moved = |notes: &Arc<Notes>| Arc::new(notes.moved(before, after));
        self.notes = moved(&self.notes);
        let have_moved = !after.stand_as(before);
        for history in [&mut self.undo, &mut self.redo] {
            // The rows of other picks have not moved with these.
            history.retain(|step| !have_moved || step.trace.is_none());
            for step in history {
                step.notes = moved(&step.notes);
            }
        }
        self.moves = Some(moves);
        true
    }

    /// Changes the view without a step of history: while typing.
    pub fn show_for_now(&mut self, view: View) -> Option<Request> {
        if view == self.view {
            return None;
        }
        self.view = view;
        Some(self.ask())
    }

    /// The row under the cursor with its place, to come back to.
    pub fn place_now(&self) -> Option<(u32, Cursor)> {
        Some((self.row()?, self.cursor))
    }

    /// Shows the view before, with its cursor.
    pub fn come_back(&mut self, view: View, place: Option<(u32, Cursor)>) -> Option<Request> {
        let request = self.show_for_now(view)?;
        self.return_to = place;
        Some(request)
    }

    /// The filter in force, as `-f` takes it.
    pub fn filter_as_flag(&self) -> String {
        match &self.snapshot {
            Some(_) => self.filter.as_flag(),
            None => self.view.filter.trim().to_owned(),
        }
    }

    /// A filter line as it stands on the screen; what is not understood does not filter.
    fn parse(&self, text: &str, rows: &Rows) -> Filter {
        let parse = if self.has_two_runs {
            Filter::parse_for_two
        } else {
            Filter::parse
        };
        parse(text, Mode::Typing, rows).unwrap_or_default()
    }

    /// Asks for the rows of the present view.
    pub fn ask(&mut self) -> Request {
        self.number += 1;
        if let Some(snapshot) = &self.snapshot {
            self.filter = self.parse(&self.view.filter, snapshot.rows());
        }
        Request::Select {
            number: self.number,
            view: self.view.clone(),
            filter: self.snapshot.as_ref().map(|on| (self.filter.clone(), Arc::clone(on))),
            notes: Arc::clone(&self.notes),
        }
    }

    /// The words of the present filter.
    pub fn words(&self) -> Vec<String> {
        if self.snapshot.is_none() {
            return self.view.filter.split_whitespace().map(str::to_owned).collect();
        }
        let text = self.filter.text();
        let mut words = Vec::new();
        let mut end = 0;
        for word in self.filter.words() {
            if text[end..word.span.start].contains('|') {
                words.push("|".to_owned());
            }
            end = word.span.end;
            words.push(text[word.span.clone()].to_owned());
        }
        words
    }

    /// The first row of the view with this name.
    pub fn row_named(&self, name: &RowName) -> Option<u32> {
        let rows = self.rows()?;
        let fits = |row: &&u32| {
            let at = **row as usize;
            rows.question_id[at] == name.question
                && name.attempt.is_none_or(|attempt| rows.attempt[at] == attempt)
                && name.exam.as_deref().is_none_or(|exam| rows.benchmark.get(at) == exam)
        };
        self.selected.rows.iter().find(fits).copied()
    }

    /// Takes over rows for the view. The row under the cursor stays where it is on the screen if it is still there and
    /// the view is the same; a new view keeps it under the cursor, or begins at the top.
    pub fn take_selected(&mut self, selected: Arc<Selected>) {
        if selected.number != self.number {
            return;
        }
        let is_same_view = self.selected.number == selected.number;
        let row = self.row();
        let line = self.cursor.at.saturating_sub(self.cursor.top);
        self.selected = selected;
        let keeps_row = is_same_view || self.begins != self.number;
        let place = row.filter(|_| keeps_row).and_then(|row| self.place(row));
        self.cursor = match place {
            Some(at) => Cursor {
                at,
                top: at.saturating_sub(line),
            },
            None if is_same_view => self.cursor,
            None => Cursor::default(),
        };
        // Of rows that come bit by bit, the one to return to may not be there yet.
        if let Some((row, cursor)) = self.return_to {
            if let Some(at) = self.place(row) {
                self.cursor = Cursor {
                    at,
                    top: (at + cursor.top).saturating_sub(cursor.at),
                };
                self.return_to = None;
            } else if self.selected.is_complete {
                self.return_to = None;
            }
        }
        self.cursor.at = self.cursor.at.min(self.selected.rows.len().saturating_sub(1));
    }

    /// The view asked for last begins at its first row.
    pub fn begin_at_top(&mut self) {
        self.begins = self.number;
    }

    /// Goes back to the row under the cursor when the rows of this view are found anew.
    pub fn hold_row(&mut self) {
        self.return_to = self.row().map(|row| (row, self.cursor));
    }

    /// The letter that the person gave to a row's question.
    pub fn label(&self, row: u32) -> Option<char> {
        let attempts = self.snapshot.as_ref()?.attempts(row);
        attempts.iter().find_map(|row| self.notes.get(*row)?.label)
    }

    /// Whether key and picks of a row's question are hidden.
    pub fn hides(&self, row: u32) -> bool {
        self.is_blind && self.label(row).is_none()
    }

    /// What a row is called: `Q876 attempt 2`.
    pub fn row_name(&self, row: u32) -> String {
        let Some(snapshot) = &self.snapshot else {
            return format!("row {row}");
        };
        let (rows, at) = (snapshot.rows(), row as usize);
        match snapshot.most_attempts {
            0 | 1 => format!("Q{}", rows.question_id[at]),
            _ => format!("Q{} attempt {}", rows.question_id[at], rows.attempt[at]),
        }
    }

    /// Where a row stands among those shown.
    pub fn place(&self, row: u32) -> Option<usize> {
        let rows = &self.selected.rows;
        match rows.binary_search(&row) {
            Ok(at) => Some(at),
            Err(_) => rows.iter().position(|shown| *shown == row),
        }
    }

    pub fn record(&self, row: u32) -> Option<&Result<Arc<Record>, String>> {
        self.shelf.record(row)
    }

    /// The question of a row as far as lists show it.
    pub fn question(&self, row: u32) -> Option<&str> {
        self.shelf.question(self.snapshot.as_ref()?.question(row))
    }

    /// What to fetch so that the given rows can be shown; `None` while the reader is at work or nothing is missing.
    pub fn missing(&mut self, listed: &[u32], read: &[u32]) -> Option<Sight> {
        self.shelf.missing(self.snapshot.as_deref()?, listed, read)
    }

    /// Takes over what the reader fetched.
    pub fn take_fetched(&mut self, fetched: Fetched) {
        let snapshot = self.snapshot.as_deref();
        self.shelf
            .take(fetched, |row| snapshot.map(|snapshot| snapshot.question(row)));
    }
}

/// Where rows went when a trace was read again.
#[derive(Debug)]
pub struct Moves {
    before: Arc<Snapshot>,
    after: Arc<Snapshot>,
}

impl Moves {
    /// The present place of a row.
    pub fn place(&self, row: u32) -> Option<u32> {
        let identity = self.before.rows().identify(&[row]);
        self.after.rows().locate(&identity).into_iter().next().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    fn selected(number: u64, rows: &[u32]) -> Arc<Selected> {
        Arc::new(Selected {
            number,
            rows: Arc::new(rows.to_vec()),
            is_complete: true,
            ..Selected::default()
        })
    }

    #[test]
    fn a_row_under_the_cursor_stays_on_its_screen_line_when_others_come_in() {
        let mut workspace = Workspace::default();
        workspace.ask();
        workspace.take_selected(selected(1, &[5, 6, 7, 8, 9]));
        workspace.cursor = Cursor { at: 3, top: 2 };
        workspace.take_selected(selected(1, &[1, 2, 3, 5, 6, 7, 8, 9]));
        assert_eq!((workspace.row(), workspace.cursor), (Some(8), Cursor { at: 6, top: 5 }));
    }

    #[test]
    fn a_new_filter_keeps_the_row_or_begins_at_the_top() {
        let mut workspace = Workspace::default();
        workspace.ask();
        workspace.take_selected(selected(1, &[5, 6, 7]));
        workspace.cursor.at = 2;
        workspace.ask();
        workspace.take_selected(selected(2, &[2, 7]));
        assert_eq!(workspace.row(), Some(7));
        workspace.ask();
        workspace.take_selected(selected(3, &[2, 3]));
        assert_eq!(workspace.row(), Some(2));
        workspace.take_selected(selected(1, &[9]));
        assert_eq!(workspace.row(), Some(2), "a stale answer changes nothing");
    }

    #[test]
    fn rows_that_moved_keep_the_cursor_and_their_notes() {
        let snapshot = |ids: &[i64]| {
            let record = |id: &i64| Record {
                question_id: *id,
                ..Record::default()
            };
            let trace = crate::trace::Trace::from_records("t", "t", ids.iter().map(record).collect());
            Arc::new(Snapshot::of(Arc::new(trace)))
        };
        let mut workspace = Workspace::default();
        workspace.take_snapshot(snapshot(&[4, 5, 6]));
        workspace.ask();
        workspace.take_selected(selected(1, &[0, 1, 2]));
        workspace.cursor.at = 1;
        workspace.annotate(1, "mark", |note| note.marked = true);
        assert!(!workspace.take_snapshot(snapshot(&[4, 5, 6, 7])), "more rows move none");
        assert!(workspace.take_snapshot(snapshot(&[1, 2, 4, 5, 6, 7])));
        assert_eq!(workspace.moves.as_ref().unwrap().place(0), Some(2));
        assert!(workspace.notes.is_marked(3));
        workspace.take_selected(selected(1, &[0, 1, 2, 3, 4, 5]));
        assert_eq!(workspace.row(), Some(3));
    }

    #[test]
    fn undo_takes_back_filters_and_marks() {
        let mut workspace = Workspace::default();
        workspace.ask();
        workspace.take_selected(selected(1, &[5]));
        workspace.show(View {
            filter: "wrong".into(),
            ..View::default()
        });
        workspace.annotate(5, "mark", |note| note.marked = true);
        workspace.annotate(5, "note", |note| note.note = "odd".to_owned());
        assert_eq!(workspace.undo().unwrap().what, "note on row 5");
        assert_eq!((workspace.notes.is_marked(5), workspace.notes.text(5)), (true, ""));
        workspace.undo();
        assert!(workspace.notes.is_empty());
        workspace.undo();
        assert_eq!(workspace.view.filter, "");
        assert!(workspace.undo().is_none());
        assert_eq!(workspace.redo().unwrap().what, "filter wrong");
        assert_eq!(workspace.view.filter, "wrong");
    }
}
