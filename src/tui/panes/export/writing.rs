//! An export while it is written, and what is told when it has ended.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::text::count;
use crate::tui::event::{Exported, Refused};
use crate::tui::shared::Shared;

use super::Dialog;

/// An export that is being written.
#[derive(Debug, Clone)]
pub struct Writing {
    /// Rows written so far; the writer counts.
    pub(super) written: Arc<AtomicUsize>,
    pub(super) all: usize,
    pub(super) path: PathBuf,
    /// What is written: `row` or `pair`.
    pub(super) noun: &'static str,
}

impl Writing {
    pub(super) fn of(dialog: &Dialog) -> Writing {
        Writing {
            written: Arc::default(),
            all: dialog.rows(),
            path: dialog.target(),
            noun: dialog.noun(),
        }
    }

    pub(super) fn rows(&self) -> usize {
        self.written.load(Ordering::Relaxed).min(self.all)
    }

    /// How much is written, of a hundred.
    pub fn share(&self) -> usize {
        self.rows() * 100 / self.all.max(1)
    }
}

impl Shared {
    /// An export ended.
    pub fn exported(&mut self, outcome: &Result<Exported, Refused>) {
        let noun = self.writing.take().map_or("row", |writing| writing.noun);
        match outcome {
            Ok(Exported { written, path }) => {
                let rows = count(written.rows, noun);
                let bytes = count(usize::try_from(written.bytes).unwrap_or(usize::MAX), "byte");
                let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
                self.say(format!("{rows} written to {} ({bytes})", path.display()));
            }
            Err(refused) => self.warn(refused.why.clone()),
        }
    }
}
