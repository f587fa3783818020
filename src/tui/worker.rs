//! The worker that filters, searches and diagnoses aside, and the reader that fetches the texts in sight.
//!
//! Both are state machines without threads of their own: `mod.rs` runs them on threads, tests and `--print` step them.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::extract::Rule;
use crate::filter::{Completion, Context, Derived, Filter, Mode, complete};
use crate::record::Record;
use crate::trace::{Field, Texts, Trace};

use super::reading;
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

/// What the screen asks of the worker. A newer `Select`, `Complete` or `Count` makes the older one stale.
#[derive(Debug)]
pub enum Request {
    /// The trace to work on, anew or grown by a run at work.
    Trace {
        trace: Arc<Trace>,
        grows: bool,
    },
    /// Causes and marks of all its rows.
    Derived(Arc<Derived>),
    Select {
        number: u64,
        view: View,
        marked: Arc<HashSet<u32>>,
    },
    Complete {
        text: String,
        cursor: usize,
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
    Selected(Selected),
    Completions {
        text: String,
        list: Vec<Completion>,
    },
    Counted {
        filter: String,
        report: Report,
        subjects: Vec<(Arc<str>, usize)>,
    },
    Failed(String),
}

/// The rows of a view, or those found so far.
#[derive(Debug, Clone, Default)]
pub struct Selected {
    pub number: u64,
    pub rows: Arc<Vec<u32>>,
    pub report: Report,
    pub is_complete: bool,
    /// Rows looked at, of a text search still at work.
    pub searched: usize,
    pub took: Duration,
}

struct Job {
    number: u64,
    view: View,
    filter: Filter,
    marked: Arc<HashSet<u32>>,
    asked: Instant,
    /// A text search under way.
    search: Option<Search>,
    is_answered: bool,
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
    job: Option<Job>,
    completion: Option<(String, usize)>,
    count: Option<String>,
    /// Whether rows are added while it works; they are diagnosed here, one after another.
    grows: bool,
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
            Request::Trace { trace, grows } => {
                if !grows {
                    self.derived = Arc::default();
                }
                self.grows = grows;
                self.rule = Rule::of_texts(trace.rule.as_deref());
                let snapshot = Arc::new(Snapshot::of(trace));
                self.snapshot = Some(Arc::clone(&snapshot));
                tell(Reply::Snapshot(snapshot));
                self.redo();
            }
            Request::Select { number, view, marked } => {
                self.job = Some(Job {
                    number,
                    filter: self.parse(&view.filter),
                    view,
                    marked,
                    asked: Instant::now(),
                    search: None,
                    is_answered: false,
                });
            }
            Request::Derived(derived) => {
                self.derived = derived;
                self.redo();
            }
            Request::Complete { text, cursor } => self.completion = Some((text, cursor)),
            Request::Count { filter } => self.count = Some(filter),
        }
    }

    fn parse(&self, filter: &str) -> Filter {
        match &self.snapshot {
            Some(snapshot) => Filter::parse(filter, Mode::Typing, snapshot.rows()).unwrap_or_default(),
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
                self.select(&snapshot, &mut job, interrupted, tell);
            }
            self.job = Some(job);
            if worked {
                return true;
            }
        }
        if let Some((text, cursor)) = self.completion.take() {
            let list = self.with_context(&snapshot, None, |context| complete(&text, cursor, context));
            tell(Reply::Completions { text, list });
            return true;
        }
        if let Some(filter) = self.count.take() {
            self.count(&snapshot, filter, tell);
            return true;
        }
        self.grows && self.diagnose(&snapshot, interrupted, tell)
    }

    fn with_context<T>(
        &self,
        snapshot: &Snapshot,
        marked: Option<&HashSet<u32>>,
        use_it: impl FnOnce(&Context) -> T,
    ) -> T {
        let is_marked = |row: usize| marked.is_some_and(|marked| marked.contains(&(row as u32)));
        use_it(&Context {
            rows: snapshot.rows(),
            derived: Some(&self.derived),
            agreement: Some(&snapshot.agreement),
            marked: Some(&is_marked),
        })
    }

    fn select(&self, snapshot: &Snapshot, job: &mut Job, interrupted: &dyn Fn() -> bool, tell: &mut dyn FnMut(Reply)) {
        if job.filter.fields().is_empty() {
            let rows = self.with_context(snapshot, Some(&job.marked), |context| job.filter.select(context));
            job.is_answered = true;
            tell(Reply::Selected(self.selected(
                snapshot,
                job,
                rows,
                snapshot.rows().len(),
                true,
            )));
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
        let (mut found, mut next, mut stopped) = (search.found, search.next, false);
        let mut told = 0;
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
                if known > told && (told == 0 || last_told.elapsed() > STREAM_EVERY) {
                    told = known;
                    last_told = Instant::now();
                    tell(Reply::Selected(self.selected(
                        snapshot,
                        job,
                        found.borrow().clone(),
                        row + 1,
                        false,
                    )));
                }
                ControlFlow::Continue(())
            };
            let hit = &mut |row| {
                found.borrow_mut().push(row);
                ControlFlow::Continue(())
            };
            self.with_context(snapshot, Some(&job.marked), |context| {
                job.filter.select_by_text(context, &rest, go_on, hit)
            })
        };
        match outcome {
            Ok(()) if stopped => job.search = Some(Search { found, next }),
            Ok(()) => {
                job.is_answered = true;
                tell(Reply::Selected(self.selected(
                    snapshot,
                    job,
                    found,
                    snapshot.rows().len(),
                    true,
                )));
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
        if job.view.by_question {
            let mut seen = HashSet::new();
            rows.retain(|row| seen.insert(snapshot.question(*row)));
        }
        sort(snapshot, &job.view, &mut rows);
        Selected {
            number: job.number,
            rows: Arc::new(rows),
            report,
            is_complete,
            searched,
            took: job.asked.elapsed(),
        }
    }

    fn count(&self, snapshot: &Snapshot, filter: String, tell: &mut dyn FnMut(Reply)) {
        let parsed = self.parse(&filter);
        let selected = self.with_context(snapshot, None, |context| parsed.select(context));
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
        tell(Reply::Counted {
            filter,
            report,
            subjects,
        });
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
        Sort::Agreement => rows.sort_by_key(|row| snapshot.agreement.agree[snapshot.question(*row) as usize]),
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
}

/// Texts that the screen needs in sight.
#[derive(Debug, Clone)]
pub struct Sight {
    pub trace: Arc<Trace>,
    /// Rows of which the question is shown.
    pub questions: Vec<u32>,
    /// Rows that are read in full, the most urgent first.
    pub records: Vec<u32>,
}

/// What the reader fetched.
#[derive(Debug)]
pub struct Fetched {
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
