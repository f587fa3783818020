//! Changes of the view, of notes and of the rule, to be taken back and done again.

use std::sync::Arc;

use crate::notes::{Note, Notes};
use crate::trace::Trace;

use super::super::widgets::Cursor;
use super::super::worker::{Request, View};
use super::Workspace;

/// Steps that `u` can take back.
const HISTORY: usize = 200;

/// A step that can be taken back: what there was before it.
#[derive(Debug)]
pub(super) struct Step {
    view: View,
    pub(super) notes: Arc<Notes>,
    /// The trace with the picks of before, where the step changed the rule.
    pub(super) trace: Option<Arc<Trace>>,
    /// What the step did, to be told.
    what: String,
}

/// A place among the rows.
#[derive(Debug, Clone, PartialEq)]
pub struct Jump {
    pub view: View,
    pub row: u32,
    pub cursor: Cursor,
    /// Whether its question was open.
    pub is_open: bool,
}

/// What taking a step back, or once more, asks for.
#[derive(Debug)]
pub struct Stepped {
    pub request: Request,
    /// The trace to be shown, where the rule changes.
    pub trace: Option<Arc<Trace>>,
    pub what: String,
}

impl Workspace {
    fn jump_from(&self, is_open: bool) -> Option<Jump> {
        let (row, cursor) = self.place_now()?;
        Some(Jump {
            view: self.view.clone(),
            row,
            cursor,
            is_open,
        })
    }

    /// A jump begins here.
    pub fn note_jump(&mut self, is_open: bool) {
        let here = self.jump_from(is_open);
        if here != self.jumps.last().cloned() {
            self.jumps.extend(here);
            let extra = self.jumps.len().saturating_sub(HISTORY);
            self.jumps.drain(..extra);
        }
    }

    /// The place that the last jump began from, other than this one.
    pub fn jump_back(&mut self, is_open: bool) -> Option<Jump> {
        let here = self.jump_from(is_open);
        std::iter::from_fn(|| self.jumps.pop()).find(|jump| Some(jump) != here.as_ref())
    }

    /// Changes the view, to be undone by `u`; the request makes its rows.
    pub fn show(&mut self, view: View) -> Option<Request> {
        if view == self.view {
            return None;
        }
        let what = what_differs(&self.view, &view);
        self.remember(what, None);
        self.view = view;
        Some(self.ask())
    }

    /// Makes the change from `before` to the present view a step of history.
    pub fn keep(&mut self, before: View) {
        if before != self.view {
            let what = what_differs(&before, &self.view);
            let now = std::mem::replace(&mut self.view, before);
            self.remember(what, None);
            self.view = now;
        }
    }

    /// Makes a change of the rule a step of history; `trace` has the picks of before.
    pub fn keep_rule(&mut self, trace: Arc<Trace>, what: String) {
        self.remember(what, Some(trace));
    }

    fn remember(&mut self, what: String, trace: Option<Arc<Trace>>) {
        self.undo.push(Step {
            view: self.view.clone(),
            notes: Arc::clone(&self.notes),
            trace,
            what,
        });
        if self.undo.len() > HISTORY {
            self.undo.remove(0);
        }
        self.redo.clear();
    }

    /// Takes the last change back; `None` where there is none.
    pub fn undo(&mut self) -> Option<Stepped> {
        let step = self.undo.pop()?;
        let (stepped, back) = self.step_to(step);
        self.redo.push(back);
        Some(stepped)
    }

    pub fn redo(&mut self) -> Option<Stepped> {
        let step = self.redo.pop()?;
        let (stepped, back) = self.step_to(step);
        self.undo.push(back);
        Some(stepped)
    }

    /// Shows what a step holds, and gives the step that leads back.
    fn step_to(&mut self, step: Step) -> (Stepped, Step) {
        let own = step.trace.as_ref().and(self.snapshot.as_ref());
        let back = Step {
            view: std::mem::replace(&mut self.view, step.view),
            notes: std::mem::replace(&mut self.notes, step.notes),
            trace: own.map(|snapshot| Arc::clone(&snapshot.trace)),
            what: step.what.clone(),
        };
        let stepped = Stepped {
            request: self.ask(),
            trace: step.trace,
            what: step.what,
        };
        (stepped, back)
    }

    /// Changes what stands on a row; the request is there where the filter asks for marks or notes. `what` is the change
    /// in a word: `mark`.
    pub fn annotate(&mut self, row: u32, what: &str, change: impl FnOnce(&mut Note)) -> Option<Request> {
        self.remember(format!("{what} on {}", self.row_name(row)), None);
        Arc::make_mut(&mut self.notes).change(row, change);
        self.filter.needs_notes().then(|| self.ask())
    }
}

/// What leads from one view to another, in a few words.
fn what_differs(before: &View, after: &View) -> String {
    if before.filter != after.filter {
        return match after.filter.trim() {
            "" => "the filter cleared".to_owned(),
            filter => format!("filter {filter}"),
        };
    }
    if before.by_question != after.by_question {
        return "one row a question or an attempt".to_owned();
    }
    format!(
        "sort by {}{}",
        after.sort.name(),
        if after.is_reversed { ", reversed" } else { "" }
    )
}
