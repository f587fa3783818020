//! What the panes share: the trace, the view on it, the rows that are in it, and the texts in sight.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::extract::Rule;
use crate::filter::{Filter, Mode};
use crate::record::Record;
use crate::trace::Rows;

use super::snapshot::Snapshot;
use super::widgets::Cursor;
use super::worker::{Fetched, Request, Selected, Sight, View};

/// Full records kept beside those in sight.
const RECORDS: usize = 96;

/// Question heads kept.
const QUESTIONS: usize = 4_000;

/// Steps that `u` can take back.
const HISTORY: usize = 200;

type Marks = Arc<HashSet<u32>>;

#[derive(Debug, Default)]
pub struct Workspace {
    pub snapshot: Option<Arc<Snapshot>>,
    pub view: View,
    /// The view's filter, understood.
    pub filter: Filter,
    pub marked: Marks,
    pub selected: Selected,
    /// The place in `selected.rows`.
    pub cursor: Cursor,
    pub rule: Rule,
    /// Number of the last view asked for.
    number: u64,
    undo: Vec<(View, Marks)>,
    redo: Vec<(View, Marks)>,
    records: HashMap<u32, Result<Arc<Record>, String>>,
    /// By question number.
    questions: HashMap<u32, String>,
    /// The row and place to come back to when the view before is shown again.
    return_to: Option<(u32, Cursor)>,
    /// Whether the reader has not answered yet.
    is_fetching: bool,
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

    /// Takes over a trace, anew or grown.
    pub fn take_snapshot(&mut self, snapshot: Arc<Snapshot>) {
        self.rule = Rule::of_texts(snapshot.trace.rule.as_deref());
        self.filter = Filter::parse(&self.view.filter, Mode::Typing, snapshot.rows()).unwrap_or_default();
        self.snapshot = Some(snapshot);
    }

    /// Changes the view, to be undone by `u`; the request makes its rows.
    pub fn show(&mut self, view: View) -> Option<Request> {
        if view == self.view {
            return None;
        }
        self.remember();
        self.view = view;
        Some(self.ask())
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

    /// Makes the change from `before` to the present view a step of history.
    pub fn keep(&mut self, before: View) {
        if before != self.view {
            let now = std::mem::replace(&mut self.view, before);
            self.remember();
            self.view = now;
        }
    }

    fn remember(&mut self) {
        self.undo.push((self.view.clone(), Arc::clone(&self.marked)));
        if self.undo.len() > HISTORY {
            self.undo.remove(0);
        }
        self.redo.clear();
    }

    /// Asks for the rows of the present view.
    pub fn ask(&mut self) -> Request {
        self.number += 1;
        if let Some(snapshot) = &self.snapshot {
            self.filter = Filter::parse(&self.view.filter, Mode::Typing, snapshot.rows()).unwrap_or_default();
        }
        Request::Select {
            number: self.number,
            view: self.view.clone(),
            marked: Arc::clone(&self.marked),
        }
    }

    /// Takes the last change back; `None` where there is none.
    pub fn undo(&mut self) -> Option<Request> {
        let (view, marked) = self.undo.pop()?;
        self.redo.push((
            std::mem::replace(&mut self.view, view),
            std::mem::replace(&mut self.marked, marked),
        ));
        Some(self.ask())
    }

    pub fn redo(&mut self) -> Option<Request> {
        let (view, marked) = self.redo.pop()?;
        self.undo.push((
            std::mem::replace(&mut self.view, view),
            std::mem::replace(&mut self.marked, marked),
        ));
        Some(self.ask())
    }

    /// Marks or unmarks the row under the cursor; the request is there where the filter asks for marks.
    pub fn toggle_mark(&mut self) -> Option<Request> {
        let row = self.row()?;
        self.remember();
        let marked = Arc::make_mut(&mut self.marked);
        if !marked.remove(&row) {
            marked.insert(row);
        }
        self.view.filter.contains("marked").then(|| self.ask())
    }

    /// Takes over rows for the view. The row under the cursor stays where it is on the screen if it is still there and
    /// the view is the same; a new view keeps it under the cursor, or begins at the top.
    pub fn take_selected(&mut self, selected: Selected) {
        if selected.number != self.number {
            return;
        }
        let is_same_view = self.selected.number == selected.number;
        let row = self.row();
        let line = self.cursor.at.saturating_sub(self.cursor.top);
        self.selected = selected;
        let place = row.and_then(|row| self.place(row));
        self.cursor = match place {
            Some(at) => Cursor {
                at,
                top: at.saturating_sub(line),
            },
            None if is_same_view => self.cursor,
            None => Cursor::default(),
        };
        if let Some((row, cursor)) = self.return_to.take()
            && let Some(at) = self.place(row)
        {
            self.cursor = Cursor {
                at,
                top: (at + cursor.top).saturating_sub(cursor.at),
            };
        }
        self.cursor.at = self.cursor.at.min(self.selected.rows.len().saturating_sub(1));
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
        self.records.get(&row)
    }

    /// The question of a row as far as lists show it.
    pub fn question(&self, row: u32) -> Option<&str> {
        let question = self.snapshot.as_ref()?.question(row);
        self.questions.get(&question).map(String::as_str)
    }

    /// What to fetch so that the given rows can be shown; `None` while the reader is at work or nothing is missing.
    pub fn missing(&mut self, listed: &[u32], read: &[u32]) -> Option<Sight> {
        let snapshot = Arc::clone(self.snapshot.as_ref()?);
        if self.is_fetching {
            return None;
        }
        let records: Vec<u32> = read
            .iter()
            .copied()
            .filter(|row| !self.records.contains_key(row))
            .collect();
        let mut seen = HashSet::new();
        let questions: Vec<u32> = listed
            .iter()
            .copied()
            .filter(|row| {
                let question = snapshot.question(*row);
                !self.questions.contains_key(&question) && seen.insert(question)
            })
            .collect();
        if records.is_empty() && questions.is_empty() {
            return None;
        }
        if self.records.len() + records.len() > RECORDS {
            self.records.retain(|row, _| read.contains(row));
        }
        if self.questions.len() + questions.len() > QUESTIONS {
            let in_sight: HashSet<u32> = listed.iter().map(|row| snapshot.question(*row)).collect();
            self.questions.retain(|question, _| in_sight.contains(question));
        }
        self.is_fetching = true;
        Some(Sight {
            trace: Arc::clone(&snapshot.trace),
            questions,
            records,
        })
    }

    /// Takes over what the reader fetched.
    pub fn take_fetched(&mut self, fetched: Fetched) {
        for (row, question) in fetched.questions {
            if let Some(snapshot) = &self.snapshot {
                self.questions.insert(snapshot.question(row), question);
            }
        }
        self.records.extend(fetched.records);
        self.is_fetching = !fetched.is_last;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selected(number: u64, rows: &[u32]) -> Selected {
        Selected {
            number,
            rows: Arc::new(rows.to_vec()),
            is_complete: true,
            ..Selected::default()
        }
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
    fn undo_takes_back_filters_and_marks() {
        let mut workspace = Workspace::default();
        workspace.ask();
        workspace.take_selected(selected(1, &[5]));
        workspace.show(View {
            filter: "wrong".into(),
            ..View::default()
        });
        workspace.toggle_mark();
        workspace.undo();
        assert!(workspace.marked.is_empty());
        workspace.undo();
        assert_eq!(workspace.view.filter, "");
        assert!(workspace.undo().is_none());
        workspace.redo();
        assert_eq!(workspace.view.filter, "wrong");
    }
}
