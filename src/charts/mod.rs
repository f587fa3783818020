//! The figures of a run, made of its rows: what a report holds, `report --figure` draws and the charts screen shows.
//!
//! Each row and cell carries the filter line that chooses what is behind it.

mod grids;
mod lengths;
mod scores;

use anyhow::{Result, bail};

use crate::diagnose::Cause;
use crate::figure::Figure;
use crate::stats::{RunReport, Slice};
use crate::trace::Trace;

pub use scores::{Dot, dots};

/// What the figures are made of: rows of one benchmark.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    pub trace: &'a Trace,
    pub slice: Slice<'a>,
    pub run: &'a RunReport,
    /// Causes of the invalid rows with their numbers, the most frequent first.
    pub causes: &'a [(Cause, usize)],
    /// Other scores to be marked beside this run's.
    pub marks: &'a [Mark],
}

/// Another score in a figure of this run: a baseline with its categories, or a published value.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Mark {
    pub name: String,
    pub accuracy: f64,
    pub categories: Vec<(String, f64)>,
}

/// A figure by its name on the command line.
#[derive(Debug, Clone, Copy)]
pub struct Chart {
    pub name: &'static str,
    pub help: &'static str,
    /// `None` where the rows tell nothing of it.
    make: fn(&Source) -> Result<Option<Figure>>,
}

/// All figures of one run, in the order of a report.
pub const ALL: [Chart; 7] = [
    Chart {
        name: "categories",
        help: "accuracy of each category with its interval",
        make: |source| Ok(scores::categories(source)),
    },
    Chart {
        name: "seeds",
        help: "accuracy of each seed, and the spread that chance alone gives",
        make: |source| Ok(scores::seeds(source)),
    },
    Chart {
        name: "letters",
        help: "the gold against what was picked, unreadable answers beside them",
        make: |source| Ok(grids::letters(source)),
    },
    Chart {
        name: "causes",
        help: "why answers could not be read",
        make: |source| Ok(scores::causes(source)),
    },
    Chart {
        name: "calibration",
        help: "how often a scored pick is right, by how sure the model was",
        make: grids::calibration,
    },
    Chart {
        name: "lengths",
        help: "characters of the outputs, by outcome",
        make: |source| Ok(lengths::lengths(source)),
    },
    Chart {
        name: "course",
        help: "accuracy over the run, stretch by stretch",
        make: |source| Ok(scores::course(source)),
    },
];

impl Chart {
    /// # Errors
    /// For a name that is not known, with those that are.
    pub fn find(name: &str) -> Result<&'static Chart> {
        match ALL.iter().find(|chart| chart.name == name) {
            Some(chart) => Ok(chart),
            None => bail!(
                "no figure `{name}`; known are {}",
                ALL.map(|chart| chart.name).join(", ")
            ),
        }
    }

    /// The figure; `None` where the rows tell nothing of it: the seeds of a single attempt, the lengths of no output.
    ///
    /// # Errors
    /// When rows cannot be read.
    pub fn draw(&self, source: &Source) -> Result<Option<Figure>> {
        (self.make)(source)
    }
}

/// A count by outcome: right, wrong, invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Outcomes([usize; 3]);

impl Outcomes {
    fn add(&mut self, source: &Source, row: usize) {
        let rows = source.slice.rows;
        let at = if rows.correct[row] {
            0
        } else {
            1 + usize::from(rows.is_invalid(row))
        };
        self.0[at] += 1;
    }

    fn all(self) -> usize {
        self.0.iter().sum()
    }
}
