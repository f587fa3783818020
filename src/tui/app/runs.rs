//! The list of runs: which is browsed, which two are compared.

use std::sync::Arc;

use crate::joined::Run;
use crate::notes::Notes;
use crate::trace::Trace;
use crate::tui::keymap::{Action, Screen};
use crate::tui::runs::Runs;
use crate::tui::worker::Request;

use super::{App, Effect};

impl App {
    /// Shows the runs that were opened, to choose from.
    pub(super) fn list_runs(&mut self, runs: Vec<Arc<Trace>>) {
        self.effect(Effect::CountRuns(runs.clone()));
        self.runs = Some(Runs::new(runs));
        self.screens = vec![Screen::Runs];
    }

    pub(super) fn act_runs(&mut self, action: Action) {
        let Some(runs) = &mut self.runs else { return };
        match action {
            Action::Down => runs.step(1),
            Action::Up => runs.step(-1),
            Action::HalfDown | Action::PageDown => runs.step(10),
            Action::HalfUp | Action::PageUp => runs.step(-10),
            Action::First => runs.step(isize::MIN / 2),
            Action::Last => runs.step(isize::MAX / 2),
            Action::Mark => runs.mark(),
            Action::Open => self.open_run(),
            _ => {}
        }
    }

    /// Browses the run under the cursor, or compares the two that are marked.
    fn open_run(&mut self) {
        let Some(runs) = &self.runs else { return };
        let chosen = runs.pair().map_or((runs.cursor.at, None), |(a, b)| (a, Some(b)));
        let (a, b) = (
            Arc::clone(&runs.list[chosen.0]),
            chosen.1.map(|b| Arc::clone(&runs.list[b])),
        );
        if !self.is_browsed(&a) {
            self.exchange(&a);
        }
        match b {
            None => self.screens.push(Screen::Browse),
            Some(b) => {
                let other = self.others.iter().position(|run| Arc::ptr_eq(&run.trace, &b));
                other.map(|other| self.compare_with(other));
            }
        }
    }

    fn is_browsed(&self, trace: &Arc<Trace>) -> bool {
        self.latest.as_ref().is_some_and(|latest| Arc::ptr_eq(latest, trace))
    }

    /// Browses another of the runs that are open; the one browsed before takes its place among the others.
    pub(super) fn exchange(&mut self, trace: &Arc<Trace>) -> Option<usize> {
        let other = self.others.iter().position(|run| Arc::ptr_eq(&run.trace, trace))?;
        let now = Run {
            trace: self.latest.clone()?,
            notes: if self.has_unreadable_notes {
                Err("the notes of earlier sessions cannot be read".to_owned())
            } else {
                Ok(Notes::clone(&self.workspace.notes))
            },
        };
        let next = std::mem::replace(&mut self.others[other], now);
        self.compare = None;
        self.effect(Effect::Ask(Request::Compare(None)));
        self.browse_run(next);
        Some(other)
    }
}
