//! The worker that filters, searches and diagnoses aside, and the reader that fetches the texts in sight.
//!
//! Both are state machines without threads of their own: `mod.rs` runs them on threads, tests and `--print` step them.

mod lab;
mod order;
mod reader;
mod search;

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::extract::Rule;
use crate::filter::{Completion, Context, Derived, Filter, Mode, complete};
use crate::labels::Joined;
use crate::notes::Notes;
use crate::trace::{Field, Trace};

use super::compare::{Paired, Tallied};
use super::lab::LabReport;
use super::reading;
use super::snapshot::{Report, Snapshot};

use lab::LabJob;
use order::sort;
pub use order::{Sort, View};
pub use reader::{Fetched, Sight, fetch};
use search::Search;

/// How much of a trace there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Its first rows, while the rest is being read.
    Begun,
    /// All of it.
    Whole,
    /// All of it, with the rows known before at its beginning.
    Grown,
    /// A run at work adds to it; causes and marks are found by the worker, one row after another.
    Landing,
}

/// What the screen asks of the worker. A newer `Select`, `Complete` or `Count` makes the older one stale.
#[derive(Debug)]
pub enum Request {
    /// The trace to work on, anew or grown.
    Trace {
        trace: Arc<Trace>,
        stage: Stage,
    },
    /// Causes and marks of all its rows.
    Derived(Arc<Derived>),
    /// The run that this one is compared with; `None`: nothing is compared.
    Compare(Option<Arc<Paired>>),
    Select {
        number: u64,
        view: View,
        /// The view's filter, understood on these rows; `None` where there were none yet.
        filter: Option<(Filter, Arc<Snapshot>)>,
        notes: Arc<Notes>,
    },
    Complete {
        text: String,
        cursor: usize,
    },
    /// What another rule makes of the rows of the present view.
    Lab {
        number: u64,
        typed: String,
        rule: Rule,
    },
    /// Counts under a filter, for pickers.
    Count {
        filter: String,
    },
}

/// What the worker tells.
#[derive(Debug)]
pub enum Reply {
    Snapshot(Arc<Snapshot>),
    Selected(Arc<Selected>),
    Completions {
        text: String,
        list: Vec<Completion>,
    },
    Counted {
        report: Report,
        subjects: Vec<(Arc<str>, usize)>,
    },
    Lab {
        number: u64,
        report: Arc<LabReport>,
    },
    Failed(String),
}

/// The rows of a view, or those found so far.
#[derive(Debug, Clone, Default)]
pub struct Selected {
    pub number: u64,
    pub rows: Arc<Vec<u32>>,
    pub report: Report,
    /// Counts under the filter's other words, where some choose categories: what choosing another one would show.
    pub facets: Option<Arc<Report>>,
    pub is_complete: bool,
    /// Rows looked at, of a text search still at work.
    pub searched: usize,
    /// Two runs counted against each other over these rows, where some are compared.
    pub tallied: Option<Arc<Tallied>>,
    /// Whether texts were read for it.
    pub is_search: bool,
    /// Whether these are the first rows that a search has found.
    pub is_first_hit: bool,
    pub took: Duration,
}

struct Job {
    number: u64,
    view: View,
    filter: Filter,
    notes: Arc<Notes>,
    asked: Instant,
    /// A text search under way.
    search: Option<Search>,
    /// What a text search has found.
    found: Arc<Vec<u32>>,
    is_answered: bool,
}

/// Filters, searches, counts and diagnoses, one step at a time.
#[derive(Default)]
pub struct Worker {
    snapshot: Option<Arc<Snapshot>>,
    derived: Arc<Derived>,
    /// The two runs, where some are compared.
    paired: Option<Arc<Paired>>,
    /// The lists of labels, joined to the trace of a filter that asked for them.
    labels: Option<(Arc<Trace>, Joined)>,
    job: Option<Job>,
    completion: Option<(String, usize)>,
    count: Option<String>,
    lab: Option<LabJob>,
    /// Whether rows are added while it works; they are diagnosed here, one after another.
    is_landing: bool,
    rule: Rule,
}

/// Rows between looks at the inbox while diagnosing.
const PATIENCE: usize = 64;

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker")
            .field("diagnosed", &self.derived.marks.len())
            .finish_non_exhaustive()
    }
}

impl Worker {
    pub fn ask(&mut self, request: Request, tell: &mut dyn FnMut(Reply)) {
        match request {
            Request::Trace { trace, stage } => {
                if matches!(stage, Stage::Begun | Stage::Whole) {
                    self.derived = Arc::default();
                }
                self.is_landing = stage == Stage::Landing;
                self.rule = Rule::of_texts(trace.rule.as_deref());
                let snapshot = Arc::new(Snapshot::of(trace));
                self.snapshot = Some(Arc::clone(&snapshot));
                tell(Reply::Snapshot(snapshot));
                self.redo();
            }
            Request::Select {
                number,
                view,
                filter,
                notes,
            } => {
                let is_here = |known: &Arc<Snapshot>| self.snapshot.as_ref().is_some_and(|own| Arc::ptr_eq(own, known));
                let filter = filter.filter(|(_, known)| is_here(known)).map(|(filter, _)| filter);
                self.job = Some(Job {
                    number,
                    filter: filter.unwrap_or_else(|| self.parse(&view.filter)),
                    view,
                    notes,
                    asked: Instant::now(),
                    search: None,
                    found: Arc::default(),
                    is_answered: false,
                });
            }
            Request::Derived(derived) => {
                self.derived = derived;
                self.redo();
            }
            Request::Compare(paired) => self.paired = paired,
            Request::Complete { text, cursor } => self.completion = Some((text, cursor)),
            Request::Count { filter } => self.count = Some(filter),
            Request::Lab { number, typed, rule } => {
                self.lab = Some(LabJob {
                    number,
                    typed,
                    rule,
                    reads: Vec::new(),
                    next: 0,
                });
            }
        }
    }

    /// A filter line that was understood on other rows, or not yet.
    fn parse(&self, filter: &str) -> Filter {
        let parse = match &self.paired {
            Some(_) => Filter::parse_for_two,
            None => Filter::parse,
        };
        match &self.snapshot {
            Some(snapshot) => parse(filter, Mode::Typing, snapshot.rows()).unwrap_or_default(),
            None => Filter::default(),
        }
    }

    /// Answers the current view again over the rows and causes known by now.
    fn redo(&mut self) {
        let Some(mut job) = self.job.take() else { return };
        job.filter = self.parse(&job.view.filter);
        job.search = None;
        job.is_answered = false;
        job.asked = Instant::now();
        self.job = Some(job);
    }

    /// Does the most urgent piece of work; `interrupted` tells whether something new was asked. False: nothing is left.
    pub fn step(&mut self, interrupted: &dyn Fn() -> bool, tell: &mut dyn FnMut(Reply)) -> bool {
        let Some(snapshot) = self.snapshot.clone() else {
            return false;
        };
        if let Some(mut job) = self.job.take() {
            let worked = !job.is_answered;
            if worked {
                self.join_labels(&snapshot, &job.filter, tell);
                self.select(&snapshot, &mut job, interrupted, tell);
            }
            self.job = Some(job);
            if worked {
                return true;
            }
        }
        if let Some(mut lab) = self.lab.take() {
            if !self.read_by(&snapshot, &mut lab, interrupted, tell) {
                self.lab = Some(lab);
            }
            return true;
        }
        if let Some((text, cursor)) = self.completion.take() {
            let notes = self.job.as_ref().map(|job| Arc::clone(&job.notes));
            let context = self.context(&snapshot, notes.as_deref());
            match complete(&text, cursor, &context, interrupted) {
                Some(list) => tell(Reply::Completions { text, list }),
                // Something more urgent came in; this is done afterwards, unless it is stale then.
                None => self.completion = Some((text, cursor)),
            }
            return true;
        }
        if let Some(filter) = self.count.take() {
            self.count(&snapshot, &filter, tell);
            return true;
        }
        self.is_landing && self.diagnose(&snapshot, interrupted, tell)
    }

    fn context<'a>(&'a self, snapshot: &'a Snapshot, notes: Option<&'a Notes>) -> Context<'a> {
        Context {
            rows: snapshot.rows(),
            derived: Some(&self.derived),
            agreement: Some(&snapshot.agreement),
            notes,
            pairs: self.paired_with(snapshot).map(|paired| &*paired.facts),
            labels: self
                .labels
                .as_ref()
                .filter(|(trace, _)| Arc::ptr_eq(trace, &snapshot.trace))
                .map(|(_, labels)| labels),
        }
    }

    /// Joins the lists of labels to the rows at hand, once, when a filter asks for them.
    fn join_labels(&mut self, snapshot: &Snapshot, filter: &Filter, tell: &mut dyn FnMut(Reply)) {
        let is_joined = |(trace, _): &(Arc<Trace>, Joined)| Arc::ptr_eq(trace, &snapshot.trace);
        if !filter.needs_labels() || self.labels.as_ref().is_some_and(is_joined) {
            return;
        }
        match Joined::load(snapshot.rows(), &*snapshot.trace.texts) {
            Ok(joined) => self.labels = Some((Arc::clone(&snapshot.trace), joined)),
            Err(error) => tell(Reply::Failed(format!("{error:#}"))),
        }
    }

    /// The comparison, if it is one of the rows at hand.
    fn paired_with(&self, snapshot: &Snapshot) -> Option<&Arc<Paired>> {
        self.paired
            .as_ref()
            .filter(|paired| Arc::ptr_eq(&paired.a, &snapshot.trace))
    }

    fn select(&self, snapshot: &Snapshot, job: &mut Job, interrupted: &dyn Fn() -> bool, tell: &mut dyn FnMut(Reply)) {
        if !job.filter.fields().is_empty() {
            return self.search(snapshot, job, interrupted, tell);
        }
        let rows = job.filter.select(&self.context(snapshot, Some(&job.notes)));
        job.is_answered = true;
        let selected = self.selected(snapshot, job, rows, snapshot.rows().len(), true);
        tell(Reply::Selected(Arc::new(selected)));
    }

    fn selected(
        &self,
        snapshot: &Snapshot,
        job: &Job,
        mut rows: Vec<u32>,
        searched: usize,
        is_complete: bool,
    ) -> Selected {
        let report = snapshot.report(Some(&self.derived), rows.iter().copied());
        // A text search under the other words would read much more than was asked for.
        let facets = (job.filter.chooses_categories() && job.filter.fields().is_empty()).then(|| {
            let others = job.filter.without_categories();
            let rows = others.select(&self.context(snapshot, Some(&job.notes)));
            Arc::new(snapshot.report(Some(&self.derived), rows.into_iter()))
        });
        let is_all = job.filter.is_empty() && job.view.sort == Sort::File && !job.view.is_reversed;
        let tallied = self.paired_with(snapshot).filter(|_| is_complete).map(|paired| {
            if is_all {
                return Arc::new(paired.tally(None));
            }
            let mut all = rows.clone();
            sort(snapshot, &job.view, &mut all);
            Arc::new(paired.tally(Some(&all)))
        });
        if job.view.by_question {
            let mut seen = HashSet::new();
            rows.retain(|row| seen.insert(snapshot.question(*row)));
        }
        sort(snapshot, &job.view, &mut rows);
        Selected {
            number: job.number,
            rows: Arc::new(rows),
            report,
            facets,
            is_complete,
            searched,
            tallied,
            is_search: !job.filter.fields().is_empty(),
            is_first_hit: false,
            took: job.asked.elapsed(),
        }
    }

    fn count(&self, snapshot: &Snapshot, filter: &str, tell: &mut dyn FnMut(Reply)) {
        let parsed = self.parse(filter);
        let notes = self.job.as_ref().map(|job| &*job.notes);
        let selected = parsed.select(&self.context(snapshot, notes));
        let rows = snapshot.rows();
        let mut by_subject = vec![0; rows.subject.list().len()];
        for row in &selected {
            by_subject[rows.subject.code(*row as usize) as usize] += 1;
        }
        let is_category = |name: &str| rows.category.find(name).is_some();
        let subjects = (rows.subject.list().iter().cloned().zip(by_subject))
            .filter(|(name, _)| !name.is_empty() && !is_category(name))
            .collect();
        let report = snapshot.report(Some(&self.derived), selected.into_iter());
        tell(Reply::Counted { report, subjects });
    }

    /// Reads the outputs that came since, and notes causes and marks, until interrupted. False: all are read.
    fn diagnose(
        &mut self,
        snapshot: &Arc<Snapshot>,
        interrupted: &dyn Fn() -> bool,
        tell: &mut dyn FnMut(Reply),
    ) -> bool {
        let rows = snapshot.rows();
        let from = self.derived.marks.len();
        if from >= rows.len() {
            return false;
        }
        let rule = &self.rule;
        let derived = Arc::make_mut(&mut self.derived);
        let mut since = 0;
        let mut stopped = false;
        let outcome = snapshot.trace.texts.scan(
            Field::Completion,
            &|row| (from..rows.len()).contains(&row),
            &mut |row, text| {
                derived.marks.push(reading::diagnose_row(rule, rows, row, text).marks);
                since += 1;
                if since >= PATIENCE {
                    since = 0;
                    if interrupted() {
                        stopped = true;
                        return ControlFlow::Break(());
                    }
                }
                ControlFlow::Continue(())
            },
        );
        if outcome.is_err() || !stopped && derived.marks.len() < rows.len() {
            // There is nothing to wait for: the texts cannot be read, or are fewer than the rows.
            derived.marks.resize(rows.len(), crate::diagnose::Marks::default());
        }
        if let Err(error) = outcome {
            tell(Reply::Failed(format!("{error:#}")));
        }
        if self.derived.marks.len() < rows.len() {
            return true;
        }
        self.redo();
        true
    }
}
