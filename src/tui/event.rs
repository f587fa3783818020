//! What happens to the screen, and what it wants done.

use std::path::PathBuf;
use std::sync::Arc;

use crossterm::event::{KeyEvent, MouseEvent};

use crate::check::Problem;
use crate::extract::Rule;
use crate::figure::Figure;
use crate::filter::Derived;
use crate::joined::Run;
use crate::notes::Notes;
use crate::run;
use crate::trace::Trace;

use super::charts::ChartOrder;
use super::compare::{Paired, Tallied};
use super::home::Kept;
use super::runs::Totals;
use super::worker::{Fetched, Reply, Request, Sight, Stage};

/// Everything that can happen.
#[derive(Debug)]
pub enum Event {
    Key(KeyEvent),
    Mouse(MouseEvent),
    Paste(String),
    Resize(u16, u16),
    /// What was opened, or why it cannot be.
    Opened(Result<Box<Opened>, String>),
    /// The traces were looked through, as far as that needs no texts.
    Checked(Vec<Problem>),
    Worker(Reply),
    Fetched(Fetched),
    Run(Box<run::Update>),
    /// The run told its last.
    RunGone,
    /// An export ended.
    Exported(Result<Exported, Refused>),
    /// A chart was drawn, or cannot be.
    Charted(Box<ChartOrder>, Result<Figure, String>),
    /// The runs were counted, exam by exam, in the order in which that was asked.
    RunsCounted(Vec<Totals>),
    /// About how many bytes a row takes in each format, and how many rows the whole questions have.
    Estimated([f64; crate::export::FORMATS], usize),
    /// Causes and marks of every row, and of which reading of the trace.
    Diagnosed(u64, Arc<Derived>),
    /// Two runs were paired and counted.
    Paired(Arc<Paired>, Arc<Tallied>),
    /// Another run was opened, to compare with.
    OpenedOther(Result<Box<Run>, String>),
    /// The runs that are saved on this machine.
    SavedRuns(Vec<Saved>),
    /// The same run with the picks of another rule.
    Adopted(Result<Box<Run>, String>),
    /// What Home lists.
    Shelf(Vec<Kept>),
    /// Notes were written, or why not.
    Kept(Result<(), String>),
    /// A filter's name could not be written.
    FilterUnkept(String),
    /// Time has passed, or there is nothing to tell.
    Tick,
    /// The terminal is gone.
    Hangup,
    /// The process was asked to end by a signal of this number.
    Signal(u8),
}

/// What the loop is to do.
#[derive(Debug)]
pub enum Effect {
    Ask(Request),
    Fetch(Sight),
    /// Puts text on the clipboard of the terminal (OSC 52).
    Copy(String),
    Export(Box<Order>),
    /// Writes pairs of two runs.
    ExportPairs(Box<PairOrder>),
    Chart(Box<ChartOrder>),
    /// Counts runs, exam by exam.
    CountRuns(Vec<Arc<Trace>>),
    /// Reads every output whose causes and marks are not known.
    Diagnose {
        trace: Arc<Trace>,
        known: Arc<Derived>,
        epoch: u64,
    },
    /// Looks for what is wrong with a trace, without reading texts.
    Check(Arc<Trace>),
    /// Writes the notes on a trace into the data directory.
    Keep(Arc<Trace>, Arc<Notes>),
    /// Writes a filter's name into the data directory, or takes it away there.
    KeepFilter(PathBuf, String, Option<String>),
    /// Pairs the rows of two runs.
    Pair(Arc<Trace>, Arc<Trace>),
    /// Opens another run, to compare with.
    OpenOther(PathBuf),
    /// Reads every output by another rule.
    Adopt(Arc<Trace>, Box<Rule>),
    /// Lists the runs that are saved on this machine.
    ListRuns,
    /// About how many bytes a row of these takes.
    Estimate(Arc<Trace>, Arc<Vec<u32>>),
    /// Something for the run at work, or for who looks at growing files.
    Tell(Tell),
    /// Draws everything anew.
    Redraw,
    /// Gives the terminal to the shell until the program is called back.
    Suspend,
    Exit(How),
}

/// What a run at work, or who looks at growing files, is told.
#[derive(Debug, Clone, Copy)]
pub enum Tell {
    /// Looks whether the files grow, from now on or no more.
    Follow(bool),
    Pause {
        lane: usize,
        paused: bool,
    },
    Share {
        lane: usize,
        share: u32,
    },
    /// Ends an answer that is being written, as [`crate::engine::Stops`] calls it.
    StopAnswer(usize, usize),
    /// Stops the run; everything finished so far is saved.
    StopRun,
}

/// How the screen was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    Done,
    /// Back to Home, from where it was come.
    Back,
    /// A run at work was stopped by the user; everything finished so far is saved.
    Stopped,
    /// The user did not wait for a run to stop.
    AtOnce,
    /// The terminal was closed.
    Hangup,
    /// The process was asked to end by a signal of this number.
    Signal(u8),
}

/// What was opened.
#[derive(Debug)]
pub struct Opened {
    /// The run that is browsed, then those that it can be compared with.
    pub runs: Vec<Run>,
    pub stage: Stage,
}

/// Runs of the data directory that `d` offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
    pub path: PathBuf,
    pub label: String,
}

/// What was written where.
#[derive(Debug)]
pub struct Exported {
    /// Rows, or pairs of rows.
    pub written: crate::export::Written,
    pub path: PathBuf,
}

/// Why nothing was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    pub why: String,
    /// The file that is there and was not to be replaced.
    pub there: Option<PathBuf>,
}

/// Which pairs of two runs are to be written where.
#[derive(Debug)]
pub struct PairOrder {
    pub paired: Arc<Paired>,
    pub pairs: Arc<Vec<(u32, u32)>>,
    pub path: PathBuf,
    pub force: bool,
}

/// What is to be written where.
#[derive(Debug)]
pub struct Order {
    pub trace: Arc<Trace>,
    pub rows: Vec<u32>,
    /// All attempts of the questions that have a row among these.
    pub whole_questions: bool,
    pub options: crate::export::Options,
}
