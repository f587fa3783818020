//! How the traces on the screen are opened: at once their first rows, then all, and again where their files grow.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};

use crate::trace::Trace;

use super::event::{Opened, Saved};
use super::worker::Stage;
use crate::joined::{Run, part_runs};

type Open = dyn Fn() -> Result<Vec<Trace>> + Send + Sync;
type Peek = dyn Fn() -> Option<Trace> + Send + Sync;
type Stamp = dyn Fn() -> u64 + Send + Sync;
type List = dyn Fn() -> Vec<Saved> + Send + Sync;
type Enter = dyn Fn(&Trace) + Send + Sync;
type OpenOther = dyn Fn(&Path) -> Result<Vec<Trace>> + Send + Sync;

/// Opens the traces of a session; called on threads of their own.
#[derive(Clone)]
pub struct Opener {
    open: Arc<Open>,
    peek: Option<Arc<Peek>>,
    stamp: Option<Arc<Stamp>>,
    other: Option<Arc<OpenOther>>,
    saved: Option<Arc<List>>,
    enter: Option<Arc<Enter>>,
}

impl std::fmt::Debug for Opener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Opener").finish_non_exhaustive()
    }
}

impl Opener {
    pub fn new(open: impl Fn() -> Result<Vec<Trace>> + Send + Sync + 'static) -> Opener {
        Opener {
            open: Arc::new(open),
            peek: None,
            stamp: None,
            other: None,
            saved: None,
            enter: None,
        }
    }

    /// Gives the first rows of a large trace, to be shown while all of it is opened.
    #[must_use]
    pub fn peeking(mut self, peek: impl Fn() -> Option<Trace> + Send + Sync + 'static) -> Opener {
        self.peek = Some(Arc::new(peek));
        self
    }

    /// Gives a number that changes when a file grows, so that it can be followed.
    #[must_use]
    pub fn stamped(mut self, stamp: impl Fn() -> u64 + Send + Sync + 'static) -> Opener {
        self.stamp = Some(Arc::new(stamp));
        self
    }

    /// Opens another run, to compare with.
    #[must_use]
    pub fn opening_others(mut self, other: impl Fn(&Path) -> Result<Vec<Trace>> + Send + Sync + 'static) -> Opener {
        self.other = Some(Arc::new(other));
        self
    }

    /// Enters a trace that was opened whole, aside and after the screen shows it.
    #[must_use]
    pub fn entering(mut self, enter: impl Fn(&Trace) + Send + Sync + 'static) -> Opener {
        self.enter = Some(Arc::new(enter));
        self
    }

    pub(super) fn enter(&self, traces: &[Arc<Trace>]) {
        if let Some(enter) = &self.enter {
            traces.iter().for_each(|trace| enter(trace));
        }
    }

    /// Lists the runs that are saved on this machine.
    #[must_use]
    pub fn listing(mut self, list: impl Fn() -> Vec<Saved> + Send + Sync + 'static) -> Opener {
        self.saved = Some(Arc::new(list));
        self
    }

    pub(super) fn first_rows(&self) -> Option<Opened> {
        let first = self.peek.as_ref()?()?;
        Some(Opened {
            runs: vec![Run::new(first)],
            stage: Stage::Begun,
        })
    }

    /// Everything, with the notes that were kept.
    pub(super) fn whole(&self) -> Result<Opened> {
        let runs = part_runs((self.open)()?)?;
        Ok(Opened {
            runs: runs.into_iter().map(Run::with_notes).collect(),
            stage: Stage::Whole,
        })
    }

    /// Everything once more.
    pub(super) fn again(&self) -> Result<Opened> {
        let runs = part_runs((self.open)()?)?;
        Ok(Opened {
            runs: runs.into_iter().map(Run::new).collect(),
            stage: Stage::Grown,
        })
    }

    pub(super) fn stamp(&self) -> Option<u64> {
        self.stamp.as_ref().map(|stamp| stamp())
    }

    pub(super) fn other(&self, path: &Path) -> Result<Run> {
        let Some(open) = &self.other else {
            bail!("no other run can be opened here");
        };
        let first = part_runs(open(path)?)?.into_iter().next();
        Ok(Run::with_notes(first.context("there is no trace to show")?))
    }

    /// Runs that were saved on this machine.
    pub(super) fn saved(&self) -> Vec<Saved> {
        self.saved.as_ref().map_or_else(Vec::new, |list| list())
    }
}
