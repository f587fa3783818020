//! The worker that filters, searches and diagnoses aside, and the reader that fetches the texts in sight.
//!
//! Both are state machines without threads of their own: `mod.rs` runs them on threads, tests and `--print` step them.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::extract::Rule;
use crate::filter::{Completion, Context, Derived, Filter, Mode, complete};
use crate::labels::Joined;
use crate::notes::Notes;
use crate::record::Record;
use crate::trace::{Field, Texts, Trace};

use super::compare::{Paired, Tallied};
use super::lab::{LabReport, Read};
use super::reading;
use super::shelf::Side;
use super::snapshot::{Report, Snapshot};

/// What rows are shown, and how.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct View {
    pub filter: String,
    pub sort: Sort,
    pub is_reversed: bool,
    /// One row a question instead of one an attempt.
    pub by_question: bool,
}

/// A column to sort by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sort {
    #[default]
    File,
    Question,
    Attempt,
    Pick,
    Key,
    Category,
    Chars,
    Agreement,
}

impl View {
    /// The same view under another filter.
    pub fn with(&self, filter: String) -> View {
        View { filter, ..self.clone() }
    }
}

impl Sort {
    pub const ALL: [(Sort, &'static str, &'static str); 8] = [
        (Sort::File, "file", "order of the file"),
        (Sort::Question, "qid", "question id"),
        (Sort::Attempt, "at", "attempt"),
        (Sort::Pick, "pick", "letter read"),
        (Sort::Key, "key", "gold letter"),
        (Sort::Category, "category", "category, then subject"),
        (Sort::Chars, "chars", "length of the output"),
        (Sort::Agreement, "agree", "attempts that agree"),
    ];

    pub fn name(self) -> &'static str {
        Sort::ALL
            .iter()
            .find(|(sort, ..)| *sort == self)
            .map_or("", |(_, name, _)| name)
    }
}

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

/// A rule by which outputs are read.
struct LabJob {
    number: u64,
    typed: String,
    rule: Rule,
    /// What was read, by row.
    reads: Vec<Read>,
    /// The first row that was not looked at.
    next: usize,
}

#[derive(Default)]
struct Search {
    found: Vec<u32>,
    next: usize,
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

/// Time between partial answers of a search, after its first hits.
const STREAM_EVERY: Duration = Duration::from_millis(50);

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
        if job.filter.fields().is_empty() {
            let rows = job.filter.select(&self.context(snapshot, Some(&job.notes)));
            job.is_answered = true;
            let selected = self.selected(snapshot, job, rows, snapshot.rows().len(), true);
            tell(Reply::Selected(Arc::new(selected)));
            return;
        }
        let mut search = job.search.take().unwrap_or_default();
        let resumes = job.filter.fields().len() == 1;
        if !resumes {
            search = Search::default();
        }
        let rest = Rest {
            texts: &*snapshot.trace.texts,
            from: search.next,
            until: snapshot.rows().len(),
        };
        let mut last_told = job.asked;
        let mut pause = STREAM_EVERY;
        let (mut found, mut next, mut stopped) = (search.found, search.next, false);
        let (mut told, resumed) = (0, !found.is_empty());
        let outcome = {
            let job = &*job;
            let found = std::cell::RefCell::new(&mut found);
            let go_on = &mut |row: usize| {
                next = row + 1;
                if interrupted() {
                    stopped = true;
                    return ControlFlow::Break(());
                }
                let known = found.borrow().len();
                if known > told && (told == 0 || last_told.elapsed() > pause) {
                    let is_first = told == 0 && !resumed;
                    told = known;
                    let begun = Instant::now();
                    let mut selected = self.selected(snapshot, job, found.borrow().clone(), row + 1, false);
                    selected.is_first_hit = is_first;
                    tell(Reply::Selected(Arc::new(selected)));
                    last_told = Instant::now();
                    // Counting what was found may not take a large share of the search.
                    pause = STREAM_EVERY.max(begun.elapsed() * 8);
                }
                ControlFlow::Continue(())
            };
            let hit = &mut |row| {
                found.borrow_mut().push(row);
                ControlFlow::Continue(())
            };
            let context = self.context(snapshot, Some(&job.notes));
            job.filter.select_by_text(&context, &rest, go_on, hit)
        };
        match outcome {
            Ok(()) if stopped => job.search = Some(Search { found, next }),
            Ok(()) => {
                job.is_answered = true;
                let is_first_hit = told == 0 && !resumed && !found.is_empty();
                job.found = Arc::new(found.clone());
                let mut selected = self.selected(snapshot, job, found, snapshot.rows().len(), true);
                selected.is_first_hit = is_first_hit;
                tell(Reply::Selected(Arc::new(selected)));
            }
            Err(error) => {
                job.is_answered = true;
                tell(Reply::Failed(format!("{error:#}")));
            }
        }
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

    /// Reads the outputs of the view by another rule; false: interrupted, to be gone on with.
    fn read_by(
        &self,
        snapshot: &Snapshot,
        lab: &mut LabJob,
        interrupted: &dyn Fn() -> bool,
        tell: &mut dyn FnMut(Reply),
    ) -> bool {
        let rows = snapshot.rows();
        let selected: Vec<u32> = match &self.job {
            Some(job) if job.filter.fields().is_empty() => job.filter.select(&self.context(snapshot, Some(&job.notes))),
            // What a text search found is not searched for again.
            Some(job) => job.found.to_vec(),
            None => (0..rows.len() as u32).collect(),
        };
        let mut wanted = vec![false; rows.len()];
        selected.iter().for_each(|row| wanted[*row as usize] = true);
        lab.reads.resize(rows.len(), Read::default());
        let (rule, from) = (&lab.rule, lab.next);
        let (reads, next) = (&mut lab.reads, &mut lab.next);
        let mut stopped = false;
        let outcome = snapshot.trace.texts.map(
            Field::Completion,
            &|row| row >= from && row < rows.len() && wanted[row] && !rows.scored[row],
            &|row, text| Read::of(rule, text, rows.answer.get(row)).bits(),
            &mut |row, bits| {
                reads[row] = Read::from_bits(bits);
                *next = row + 1;
                if interrupted() {
                    stopped = true;
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(())
            },
        );
        match outcome {
            Err(error) => tell(Reply::Failed(format!("{error:#}"))),
            Ok(()) if stopped => return false,
            Ok(()) => {
                let report = LabReport::of(&lab.typed, rows, &selected, std::mem::take(&mut lab.reads));
                tell(Reply::Lab {
                    number: lab.number,
                    report: Arc::new(report),
                });
            }
        }
        true
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

fn sort(snapshot: &Snapshot, view: &View, rows: &mut [u32]) {
    let columns = snapshot.rows();
    let at = |row: &u32| *row as usize;
    match view.sort {
        Sort::File => {}
        Sort::Question => rows.sort_by_key(|row| (columns.question_id[at(row)], columns.attempt[at(row)])),
        Sort::Attempt => rows.sort_by_key(|row| columns.attempt[at(row)]),
        Sort::Pick => rows.sort_by(|a, b| columns.pick.get(at(a)).cmp(columns.pick.get(at(b)))),
        Sort::Key => rows.sort_by(|a, b| columns.answer.get(at(a)).cmp(columns.answer.get(at(b)))),
        Sort::Category => rows.sort_by(|a, b| {
            let place = |row: &u32| (columns.category.get(at(row)), columns.subject.get(at(row)));
            place(a).cmp(&place(b))
        }),
        Sort::Chars => rows.sort_by_key(|row| columns.chars[at(row)]),
        Sort::Agreement => rows.sort_by_key(|row| snapshot.agreement.agree(*row as usize)),
    }
    if view.is_reversed {
        rows.reverse();
    }
}

/// A trace's texts from a row on, so that an interrupted search goes on where it was.
struct Rest<'a> {
    texts: &'a dyn Texts,
    from: usize,
    /// A run at work may have added texts since the rows were taken.
    until: usize,
}

impl Texts for Rest<'_> {
    fn record(&self, row: usize) -> anyhow::Result<Arc<Record>> {
        self.texts.record(row)
    }

    fn scan(
        &self,
        field: Field,
        wanted: &dyn Fn(usize) -> bool,
        visit: &mut dyn FnMut(usize, &str) -> ControlFlow<()>,
    ) -> anyhow::Result<()> {
        self.texts.scan(
            field,
            &|row| (self.from..self.until).contains(&row) && wanted(row),
            visit,
        )
    }

    fn map(
        &self,
        field: Field,
        wanted: &(dyn Fn(usize) -> bool + Sync),
        number: &(dyn Fn(usize, &str) -> u64 + Sync),
        visit: &mut dyn FnMut(usize, u64) -> ControlFlow<()>,
    ) -> anyhow::Result<()> {
        let (from, until) = (self.from, self.until);
        let wanted = |row: usize| (from..until).contains(&row) && wanted(row);
        self.texts.map(field, &wanted, number, visit)
    }
}

/// Texts that the screen needs in sight.
#[derive(Debug, Clone)]
pub struct Sight {
    pub side: Side,
    pub trace: Arc<Trace>,
    /// Rows of which the question is shown.
    pub questions: Vec<u32>,
    /// Rows that are read in full, the most urgent first.
    pub records: Vec<u32>,
}

/// What the reader fetched.
#[derive(Debug, Clone)]
pub struct Fetched {
    pub side: Side,
    pub questions: Vec<(u32, String)>,
    pub records: Vec<(u32, Result<Arc<Record>, String>)>,
    /// Whether all that was asked for is told.
    pub is_last: bool,
}

/// Code points of a question kept for a list.
const QUESTION_HEAD: usize = 400;

/// Fetches the texts in sight; the full records come first, one answer each kind.
pub fn fetch(sight: &Sight, tell: &mut dyn FnMut(Fetched)) {
    if !sight.records.is_empty() {
        let records = read_records(&sight.trace, &sight.records);
        tell(Fetched {
            side: sight.side,
            questions: Vec::new(),
            records,
            is_last: sight.questions.is_empty(),
        });
    }
    if sight.questions.is_empty() {
        return;
    }
    let wanted: HashSet<usize> = sight.questions.iter().map(|row| *row as usize).collect();
    let mut questions = Vec::new();
    let visit = &mut |row: usize, text: &str| {
        questions.push((row as u32, text.chars().take(QUESTION_HEAD).collect()));
        if questions.len() == wanted.len() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let outcome = sight
        .trace
        .texts
        .scan(Field::Question, &|row| wanted.contains(&row), visit);
    let records = match outcome {
        Ok(()) => Vec::new(),
        Err(error) => vec![(sight.questions[0], Err(format!("{error:#}")))],
    };
    // A question without text must not be asked for again and again.
    let known: HashSet<u32> = questions.iter().map(|(row, _)| *row).collect();
    questions.extend(
        sight
            .questions
            .iter()
            .filter(|row| !known.contains(row))
            .map(|row| (*row, String::new())),
    );
    tell(Fetched {
        side: sight.side,
        questions,
        records,
        is_last: true,
    });
}

fn read_records(trace: &Trace, rows: &[u32]) -> Vec<(u32, Result<Arc<Record>, String>)> {
    let wanted: Vec<usize> = rows.iter().map(|row| *row as usize).collect();
    // Reads the neighbourhood in one go into the trace's cache; each record is then taken as it is shown.
    let together = trace.texts.records(&wanted);
    rows.iter()
        .map(|row| {
            let record = match &together {
                Ok(_) => trace.record(*row as usize),
                Err(error) => trace
                    .record(*row as usize)
                    .map_err(|own| own.context(format!("{error:#}"))),
            };
            (*row, record.map_err(|error| format!("{error:#}")))
        })
        .collect()
}
