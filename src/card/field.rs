//! A field of a card: its name, its part, what a change of it does, and where each kind of file tells it.

use serde_json::Value;

use super::foreign::{Harness, Told};
use super::proof::Proof;
use crate::manifest::Manifest;
use crate::stats::Slice;
use crate::trace::Trace;

/// What a hash of a card is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// How it is asked and read.
    Procedure,
    /// What is asked.
    Slice,
    Model,
    Environment,
}

impl Part {
    pub const ALL: [Part; 4] = [Part::Procedure, Part::Slice, Part::Model, Part::Environment];

    pub fn name(self) -> &'static str {
        match self {
            Part::Procedure => "procedure",
            Part::Slice => "slice",
            Part::Model => "model",
            Part::Environment => "environment",
        }
    }
}

/// What a change of a field does to the number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Moves,
    Jitters,
    Irrelevant,
    /// A name that is shown; the text that it stands for is a field of its own, and is what is hashed.
    Label,
}

/// A field of a card.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Dotted: where it stands in the card's JSON.
    pub name: &'static str,
    /// `None`: in no hash.
    pub part: Option<Part>,
    pub kind: Kind,
    /// From a run's manifest.
    ours: fn(&Manifest) -> Value,
    /// From lm-eval's results file.
    harness: fn(&Harness) -> Value,
    /// From an Inspect log's header.
    inspect: fn(&Value) -> Value,
    /// From the rows, whatever wrote them; goes before the others where it tells something.
    rows: fn(&Source) -> Value,
}

/// What the fields are read from.
#[derive(Debug)]
pub(super) struct Source<'a> {
    pub trace: &'a Trace,
    pub slice: Slice<'a>,
    pub proof: &'a Proof,
    pub told: Told<'a>,
}

impl<'a> Source<'a> {
    pub fn new(trace: &'a Trace, slice: Slice<'a>, proof: &'a Proof) -> Source<'a> {
        let first = slice.iter().next();
        let benchmark = first.map_or("", |row| trace.rows.benchmark.get(row));
        Source {
            trace,
            slice,
            proof,
            told: Told::of(trace, benchmark),
        }
    }

    pub fn is_cloze(&self) -> bool {
        self.slice.iter().any(|row| self.trace.rows.scored[row])
    }

    /// How many different values rows have.
    pub fn distinct<T: Ord>(&self, of: impl Fn(usize) -> T) -> Vec<T> {
        let mut values: Vec<T> = self.slice.iter().map(of).collect();
        values.sort();
        values.dedup();
        values
    }
}

impl Field {
    pub(super) const fn new(name: &'static str, part: Option<Part>, kind: Kind, ours: fn(&Manifest) -> Value) -> Field {
        Field {
            name,
            part,
            kind,
            ours,
            harness: |_| Value::Null,
            inspect: |_| Value::Null,
            rows: |_| Value::Null,
        }
    }

    pub(super) const fn harness(self, harness: fn(&Harness) -> Value) -> Field {
        Field { harness, ..self }
    }

    pub(super) const fn inspect(self, inspect: fn(&Value) -> Value) -> Field {
        Field { inspect, ..self }
    }

    pub(super) const fn rows(self, rows: fn(&Source) -> Value) -> Field {
        Field { rows, ..self }
    }

    /// Whether it goes into the hash of a part.
    pub fn is_compared(&self, part: Part) -> bool {
        self.part == Some(part) && matches!(self.kind, Kind::Moves | Kind::Jitters)
    }

    pub(super) fn read(&self, source: &Source) -> Value {
        let of_rows = (self.rows)(source);
        match &source.told {
            _ if !of_rows.is_null() => of_rows,
            Told::Ours(run) => (self.ours)(run),
            Told::Harness(results) => (self.harness)(results),
            Told::Inspect(log) => (self.inspect)(log),
            Told::Nothing => Value::Null,
        }
    }
}
