//! What a template may use: steps, bytes of text and lists in all, and depth.

use std::cell::Cell;

use super::Result;

/// Expressions and statements; the longest chats take some thousands.
const STEPS: usize = 2_000_000;
/// Bytes of all texts and lists that are made, those dropped again included.
const BYTES: usize = 64 << 20;
/// Calls within calls, expressions within expressions.
const DEPTH: usize = 1_000;
/// Bytes that are compared or searched in the time of one step.
const BYTES_A_STEP: usize = 64;

#[derive(Debug)]
pub(super) struct Meter {
    steps: Cell<usize>,
    bytes: Cell<usize>,
    depth: Cell<usize>,
}

impl Meter {
    pub(super) fn new() -> Meter {
        Meter {
            steps: Cell::new(STEPS),
            bytes: Cell::new(BYTES),
            depth: Cell::new(0),
        }
    }

    pub(super) fn steps(&self, count: usize) -> Result<()> {
        match self.steps.get().checked_sub(count) {
            Some(left) => self.steps.set(left),
            None => return limit!("it takes more than {STEPS} steps, the limit"),
        }
        Ok(())
    }

    /// The work of reading so many bytes.
    pub(super) fn scan(&self, bytes: usize) -> Result<()> {
        self.steps(bytes / BYTES_A_STEP)
    }

    /// Room for so many bytes.
    pub(super) fn bytes(&self, count: usize) -> Result<()> {
        match self.bytes.get().checked_sub(count) {
            Some(left) => self.bytes.set(left),
            None => return limit!("it fills more than {BYTES} bytes of memory, the limit"),
        }
        Ok(())
    }

    /// Room for a list of so many.
    pub(super) fn items(&self, count: usize) -> Result<()> {
        self.bytes(count.saturating_mul(size_of::<super::value::Value>()))
    }

    /// Work one level deeper.
    pub(super) fn enter(&self) -> Result<()> {
        self.steps(1)?;
        self.depth.set(self.depth.get() + 1);
        if self.depth.get() > DEPTH {
            return limit!("it nests more than {DEPTH} levels, the limit");
        }
        Ok(())
    }

    pub(super) fn leave(&self) {
        self.depth.set(self.depth.get() - 1);
    }
}

/// A text that grows within the bounds.
#[derive(Debug)]
pub(super) struct Text<'m> {
    pub(super) text: String,
    pub(super) meter: &'m Meter,
}

impl<'m> Text<'m> {
    pub(super) fn new(meter: &'m Meter) -> Text<'m> {
        let text = String::new();
        Text { text, meter }
    }

    pub(super) fn push(&mut self, piece: &str) -> Result<()> {
        self.meter.bytes(piece.len())?;
        self.text.push_str(piece);
        Ok(())
    }
}
