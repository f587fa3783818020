//! A trace that was opened: its first rows, all of it, or more of it than before.

use std::sync::Arc;

use crate::filter::Derived;
use crate::joined::Run;
use crate::trace::Trace;
use crate::tui::keymap::Screen;
use crate::tui::worker::{Reply, Request, Stage};

use super::{App, Effect, How, Overlay};
use crate::tui::panes::about::About;

/// What was opened.
#[derive(Debug)]
pub struct Opened {
    /// The run that is browsed, then those that it can be compared with.
    pub runs: Vec<Run>,
    pub stage: Stage,
}

impl App {
    pub(super) fn opened(&mut self, opened: Opened) {
        let Opened { runs, stage } = opened;
        let mut runs = runs.into_iter();
        let Some(first) = runs.next() else { return };
        self.workspace.is_partial = stage == Stage::Begun;
        let before = std::mem::replace(&mut self.others, runs.collect());
        if stage == Stage::Grown {
            self.others.iter_mut().for_each(|run| run.take_notes(&before));
        }
        self.stored = None;
        if stage == Stage::Whole && self.is_following {
            self.effect(Effect::Follow(true));
        }
        if stage == Stage::Whole {
            match first.notes {
                Ok(notes) => self.workspace.notes = Arc::new(notes),
                Err(error) => {
                    self.has_unreadable_notes = true;
                    self.warn(error);
                }
            }
            if let (Some(notice), None) = (first.trace.notices.first(), &self.message) {
                self.warn(notice.text.clone());
            }
        }
        if let Some(b) = self.other_trace() {
            let is_same = |run: &Run| run.trace.path == b.path && run.trace.name == b.name;
            if let Some(at) = self.others.iter().position(is_same) {
                self.others.swap(0, at);
            }
        }
        let is_wanted = stage == Stage::Whole && !self.arrives_in_browse();
        let is_list = is_wanted && self.others.len() > 1 && self.compare.is_none() && !self.arrives_in_compare();
        self.compares_first = !self.others.is_empty() && !is_list && (self.compare.is_some() || is_wanted);
        if is_list {
            let others = self.others.iter().map(|run| Arc::clone(&run.trace));
            self.list_runs(std::iter::once(Arc::clone(&first.trace)).chain(others).collect());
        }
        self.take_trace(first.trace, stage);
    }

    /// Makes a trace the one that is browsed.
    pub(super) fn take_trace(&mut self, trace: Arc<Trace>, stage: Stage) {
        let before = self.workspace.snapshot.as_deref();
        let keeps_rows = before.is_some_and(|before| trace.rows.begin_with(before.rows()));
        let stage = match stage {
            Stage::Grown if !keeps_rows => Stage::Whole,
            stage => stage,
        };
        if stage != Stage::Grown {
            self.derived = Arc::default();
            self.epoch += 1;
        }
        self.latest = Some(Arc::clone(&trace));
        let request = Request::Trace {
            trace: Arc::clone(&trace),
            stage,
        };
        self.effect(Effect::Ask(request));
        // The worker answers a view that it knows once more by itself.
        if !self.workspace.has_asked() || !self.workspace.notes.is_empty() {
            let request = self.workspace.ask();
            self.effect(Effect::Ask(request));
        }
        if stage != Stage::Begun {
            self.effect(Effect::Check(Arc::clone(&trace)));
            self.effect(Effect::Diagnose {
                trace,
                known: Arc::clone(&self.derived),
                epoch: self.epoch,
            });
        }
    }

    /// Whether the rows on the screen are of the trace that came last.
    pub(super) fn shows_latest(&self) -> bool {
        match (&self.latest, &self.shown) {
            (Some(latest), Some(shown)) => Arc::ptr_eq(latest, shown),
            _ => false,
        }
    }

    pub(super) fn not_opened(&mut self, error: String) {
        if self.workspace.snapshot.is_some() && !self.workspace.is_partial {
            // What is on the screen stays; a file that grows may be read in the midst of a write.
            self.warn(error);
            return;
        }
        self.failure = Some(error);
        self.effect(Effect::Exit(How::Done));
    }

    /// Causes and marks were found, of the rows that there were when they were asked for.
    pub(super) fn diagnosed(&mut self, epoch: u64, derived: Arc<Derived>) {
        if epoch == self.epoch && derived.marks.len() >= self.derived.marks.len() {
            self.derived = Arc::clone(&derived);
            self.effect(Effect::Ask(Request::Derived(derived)));
        }
    }

    pub(super) fn reply(&mut self, reply: Reply) {
        match reply {
            Reply::Snapshot(snapshot) => {
                if let Some(moves) = self.workspace.take_snapshot(snapshot) {
                    let question = &mut self.panes.question;
                    question.row = question.row.and_then(|row| moves.place(row));
                    if question.row.is_none() && self.screen() == Screen::Question {
                        self.screens.pop();
                    }
                    self.panes.preview.row = None;
                    let request = self.workspace.ask();
                    self.effect(Effect::Ask(request));
                }
                if std::mem::take(&mut self.compares_first) {
                    self.compare_with(0);
                }
            }
            Reply::Selected(mut selected) => {
                let tallied = selected.tallied.take();
                // The worker tells of a trace first, then of the rows of the view on it.
                self.shown = self
                    .workspace
                    .snapshot
                    .as_deref()
                    .map(|snapshot| Arc::clone(&snapshot.trace));
                let is_wanted = selected.number == self.workspace.number();
                let is_new = is_wanted && selected.is_complete;
                self.selected(selected);
                if let Some(tallied) = tallied.filter(|_| is_wanted) {
                    self.tallied(tallied);
                }
                self.refill_feeds();
                if is_new {
                    self.renew_lab();
                }
            }
            Reply::Completions { text, list } => {
                if let Some(Overlay::Filter(line)) = &mut self.overlay {
                    line.take(text, list);
                }
            }
            Reply::Counted {
                filter,
                report,
                subjects,
            } => self.counted(&filter, &report, &subjects),
            Reply::Lab { number, report } => self.lab_read(number, report),
            Reply::Failed(error) => self.warn(error),
        }
    }

    /// Follows a growing file, or no more.
    pub(super) fn follow(&mut self) {
        if self.live.is_some() {
            self.say("a run at work shows its rows as they land");
            return;
        }
        self.is_following = !self.is_following;
        self.effect(Effect::Follow(self.is_following));
        self.say(if self.is_following {
            "following: rows that are added to the file show here; F ends it"
        } else {
            "following no more"
        });
    }

    /// What the trace is, where it comes from, and what is wrong with it.
    pub(super) fn open_about(&mut self) {
        if let Some(snapshot) = self.workspace.snapshot.as_deref() {
            let about = About::new(&snapshot.trace, self.problems.as_deref());
            self.overlay = Some(Overlay::About(about));
        }
    }
}
