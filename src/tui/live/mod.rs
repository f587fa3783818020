//! The live screens: exams at work side by side, or one full screen.
//!
//! [`Live`] is everything they show; it is fed by [`Update`]s, time comes in from outside, and drawing changes nothing.

mod answers;
mod attempts;
mod exam;
mod feed;
mod full;
mod landing;
mod panes;
mod screen;
mod side;
mod tells;
mod watch;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::extract::Rule;
use crate::run::Update;
use crate::text::{duration, thousands};
use crate::trace::Trace;

pub use answers::telling;
use full::render_full;
pub use screen::AtWork;
use side::render_side_by_side;
pub use tells::Tells;

use crate::run::pace::{self, Left, Tokens};
use exam::ExamState;
pub use landing::AT_WORK;
use landing::Landing;
use watch::Watch;

/// How categories and subjects are sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    #[default]
    Exam,
    Best,
    Worst,
}

impl Order {
    pub fn label(self) -> &'static str {
        match self {
            Order::Exam => "in exam order",
            Order::Best => "best first",
            Order::Worst => "worst first",
        }
    }
}

/// How far a run is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
enum Stage {
    /// Not begun; what is being done.
    #[default]
    Waiting,
    Working,
    Ended {
        is_stopped: bool,
    },
    Failed(String),
}

/// Everything the live screens know. No input or output, no clock.
#[derive(Debug)]
pub struct Live {
    stage: Stage,
    status: String,
    model: String,
    dtype: String,
    /// When the run began, as it is to be shown; empty: not shown.
    started: String,
    exams: Vec<ExamState>,
    landing: Landing,
    focus: usize,
    now: Duration,
    /// When the first question was asked.
    began: Duration,
    tokens: Tokens,
    rule: Rule,
    order: Order,
    /// Whether accuracy is the mean of the categories' instead of the rows'.
    is_by_category: bool,
    is_stopping: bool,
}

impl Default for Live {
    fn default() -> Live {
        Live::new()
    }
}

impl Live {
    pub fn new() -> Live {
        Live {
            stage: Stage::Waiting,
            status: String::new(),
            model: String::new(),
            dtype: String::new(),
            started: String::new(),
            exams: Vec::new(),
            landing: Landing::default(),
            focus: 0,
            now: Duration::ZERO,
            began: Duration::ZERO,
            tokens: Tokens::default(),
            rule: Rule::default(),
            order: Order::default(),
            is_by_category: false,
            is_stopping: false,
        }
    }

    /// The time of day at which the run began, as it is to be shown.
    pub fn set_started(&mut self, time_of_day: &str) {
        time_of_day.clone_into(&mut self.started);
    }

    /// Takes in what the run tells; `now` is the time since the start. Costs the same however much has landed.
    pub fn apply(&mut self, update: &Update, now: Duration) {
        self.tick(now);
        match update {
            Update::Status(text) => self.status.clone_from(text),
            Update::Started {
                model,
                dtype,
                exams,
                texts,
            } => {
                self.landing = Landing::new(texts);
                self.model.clone_from(model);
                self.dtype.clone_from(dtype);
                self.exams = exams.iter().map(|exam| ExamState::new(exam, now)).collect();
                self.focus = self.focus.min(self.exams.len().saturating_sub(1));
                self.began = now;
                self.stage = Stage::Working;
            }
            Update::Landed { exam, record } => {
                if let Some(state) = self.exams.get_mut(*exam) {
                    let row = self.landing.push(*exam, record);
                    state.land(record, (self.landing.rows(), row), &self.rule, now);
                }
            }
            Update::Running {
                exam,
                question_id,
                attempt,
                subject,
                tokens,
                text,
                asked,
            } => {
                if let Some(state) = self.exams.get_mut(*exam) {
                    let underway = state.running.hear(*question_id, *attempt, subject, now);
                    underway.asked = *asked;
                    underway.grow(*tokens, text);
                }
            }
            Update::Pulse(pulse) => {
                self.tokens.add(*pulse, now);
                for (state, lane) in self.exams.iter_mut().zip(pulse.lanes) {
                    state.hear_tokens(lane, now);
                }
            }
            Update::Complete { exam } => {
                if let Some(state) = self.exams.get_mut(*exam) {
                    state.complete(now);
                }
            }
            Update::Ended { stopped } => self.end(Stage::Ended { is_stopped: *stopped }),
            Update::Failed(message) => self.end(Stage::Failed(message.clone())),
        }
    }

    fn end(&mut self, stage: Stage) {
        for state in &mut self.exams {
            state.running.clear();
        }
        // What ended the run first is what is told.
        if matches!(self.stage, Stage::Waiting | Stage::Working) {
            self.stage = stage;
        }
    }

    /// Time goes on, also while nothing is told; it stands still once the run is over.
    pub fn tick(&mut self, now: Duration) {
        if !self.is_over() {
            self.now = self.now.max(now);
            for state in &mut self.exams {
                let working = state.working_time(self.now);
                state.pace.tick(working);
            }
        }
    }

    pub fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Ended { .. } | Stage::Failed(_))
    }

    /// Whether the first question has been asked.
    pub fn has_begun(&self) -> bool {
        !self.exams.is_empty()
    }

    pub fn exams(&self) -> usize {
        self.exams.len()
    }

    /// The exam that keys act on.
    pub fn focus(&self) -> usize {
        self.focus
    }

    pub fn set_focus(&mut self, exam: usize) {
        self.focus = exam.min(self.exams.len().saturating_sub(1));
    }

    pub fn next_exam(&mut self) {
        self.focus = (self.focus + 1) % self.exams.len().max(1);
    }

    pub fn set_paused(&mut self, exam: usize, is_paused: bool) {
        let (now, is_over) = (self.now, self.is_over());
        if let Some(state) = self.exams.get_mut(exam).filter(|_| !is_over) {
            state.set_paused(is_paused, now);
        }
    }

    pub fn is_paused(&self, exam: usize) -> bool {
        self.exams.get(exam).is_some_and(ExamState::is_paused)
    }

    /// The share of compute to show for an exam.
    pub fn set_share(&mut self, exam: usize, share: u32) {
        if let Some(state) = self.exams.get_mut(exam) {
            state.share = share.max(1);
        }
    }

    /// Sorts categories and subjects as the exam has them, best or worst first, in turn.
    pub fn next_order(&mut self) {
        self.order = match self.order {
            Order::Exam => Order::Best,
            Order::Best => Order::Worst,
            Order::Worst => Order::Exam,
        };
    }

    /// Weighs accuracy by row, or each category alike.
    pub fn toggle_weight(&mut self) {
        self.is_by_category = !self.is_by_category;
    }

    /// Shows only these rows of the trace ([`Live::grown`]) in the feeds, or all.
    pub fn show(&mut self, rows: Option<&[u32]>) {
        for (exam, state) in self.exams.iter_mut().enumerate() {
            state.feed.show(rows.map(|rows| self.landing.of_exam(exam, rows)));
        }
    }

    /// Holds the feed in focus, or lets it move on.
    pub fn toggle_hold(&mut self) {
        self.with_state(|state| {
            state.running.leave();
            state.feed.hold();
        });
    }

    /// Holds the feed in focus where it is.
    pub fn take_hold(&mut self) {
        self.with_state(|state| state.feed.step(0));
    }

    /// Moves the cursor of the feed in focus: positive to older answers, and beyond the oldest to those being written.
    pub fn step(&mut self, by: isize) {
        self.with_state(|state| state.step(by));
    }

    /// Moves it by `by` times a page (`share` 1) or half a page (2).
    pub fn page(&mut self, by: isize, share: usize) {
        self.with_state(|state| state.step(by * (state.feed.last_height() / share.max(1)).max(1) as isize));
    }

    pub fn to_newest(&mut self) {
        self.with_state(|state| {
            state.running.leave();
            state.feed.step(isize::MIN / 2);
        });
    }

    /// To the last line: an answer that is being written, else the oldest.
    pub fn to_last(&mut self) {
        self.with_state(|state| {
            state.feed.step(isize::MAX / 2);
            state.running.enter(true);
        });
    }

    /// The answer that is being written under the cursor of the exam in focus.
    pub fn running_under_cursor(&self) -> Option<Watch> {
        let underway = self.exams.get(self.focus)?.running.chosen()?;
        Some(Watch {
            exam: self.focus,
            question_id: underway.question_id,
            attempt: underway.attempt,
            above: 0,
        })
    }

    /// The answer that is watched, or else under the cursor of the exam in focus, is to end where it is: what the engine
    /// calls it.
    pub fn stop_answer(&mut self, watch: Option<Watch>) -> Option<(usize, usize)> {
        let watch = watch.or_else(|| self.running_under_cursor())?;
        let running = &mut self.exams.get_mut(watch.exam)?.running;
        let underway = running.get_mut(watch.question_id, watch.attempt)?;
        underway.is_stopping = true;
        Some(underway.asked)
    }

    fn with_state(&mut self, change: impl FnOnce(&mut ExamState)) {
        if let Some(state) = self.exams.get_mut(self.focus) {
            change(state);
        }
    }

    /// The answer under the cursor of the exam in focus: the exam, and which of its answers in the order of landing.
    pub fn row_under_cursor(&self) -> Option<(usize, usize)> {
        let row = self.exams.get(self.focus)?.feed.current()?;
        Some((self.focus, row))
    }

    /// The row of the trace ([`Live::grown`]) that an exam's answer is.
    pub fn trace_row(&self, exam: usize, row: usize) -> Option<u32> {
        self.landing.row(exam, row)
    }

    /// What has landed of all exams as a trace, where it has grown and `pause` has passed since the last time; at the
    /// end of the run without waiting.
    pub fn grown(&mut self, now: Duration, pause: Duration) -> Option<Arc<Trace>> {
        let pause = if self.is_over() { Duration::ZERO } else { pause };
        let folder = self.folder();
        self.landing.grown(&self.model, folder, now, pause)
    }

    /// The benchmark of an exam, as its rows name it.
    pub fn benchmark(&self, exam: usize) -> Option<&str> {
        self.exams.get(exam).map(|state| state.exam.benchmark.as_str())
    }

    /// Whether all of an exam has landed.
    pub fn is_complete(&self, exam: usize) -> bool {
        self.exams.get(exam).is_some_and(|state| state.completed.is_some())
    }

    /// The share of compute shown for an exam.
    pub fn share(&self, exam: usize) -> u32 {
        self.exams.get(exam).map_or(5, |state| state.share)
    }

    /// The run was asked to stop; what is under way is being saved.
    pub fn set_stopping(&mut self) {
        self.is_stopping = true;
    }

    pub fn is_stopping(&self) -> bool {
        self.is_stopping
    }

    /// Rows landed and rows when done, of all exams.
    pub fn progress(&self) -> (usize, usize) {
        let sum = |of: fn(&ExamState) -> usize| self.exams.iter().map(of).sum();
        (sum(ExamState::done), sum(ExamState::planned))
    }

    /// Time left of an exam, with what the others leave it once they are done.
    fn left(&self, exam: usize) -> Option<Left> {
        let state = self.exams.get(exam)?;
        let mine = state.left(self.now)?;
        let others: Vec<(f64, f64)> = (self.exams.iter().enumerate())
            .filter(|(other, state)| *other != exam && state.is_at_work())
            .filter_map(|(_, state)| Some((state.left(self.now)?.seconds, f64::from(state.share))))
            .collect();
        Some(pace::beside(mine, f64::from(state.share), others))
    }

    fn elapsed(&self) -> Duration {
        self.now.saturating_sub(self.began)
    }

    /// How the run ended, in one line; `None` while it works.
    fn verdict(&self) -> Option<String> {
        let (done, planned) = self.progress();
        let saved = self
            .folder()
            .map_or(String::new(), |folder| format!(", saved in {}", folder.display()));
        match &self.stage {
            Stage::Waiting | Stage::Working => None,
            Stage::Ended { is_stopped: true } => Some(format!(
                "stopped, {} of {} done{saved}; resume with --resume",
                thousands(done),
                thousands(planned)
            )),
            Stage::Ended { is_stopped: false } => Some(format!(
                "done, {} rows in {}{saved}{}",
                thousands(done),
                duration(self.elapsed()),
                self.failed()
            )),
            Stage::Failed(_) if done == 0 => Some("failed before the first answer".to_owned()),
            Stage::Failed(_) => Some(format!(
                "failed, {} of {} done{saved}; resume with --resume",
                thousands(done),
                thousands(planned)
            )),
        }
    }

    /// What failed as a whole, to go on a line.
    fn failed(&self) -> String {
        let told = |state: &ExamState| Some(format!("; {}: {}", state.exam.benchmark, state.failing.told()?));
        self.exams.iter().filter_map(told).collect()
    }

    /// The folder that holds all exams of the run.
    fn folder(&self) -> Option<PathBuf> {
        let mut paths = self
            .exams
            .iter()
            .map(|state| state.exam.path.as_path())
            .filter(|path| *path != Path::new(""));
        let first = paths.next()?;
        let common = paths.fold(first, |common, path| {
            common
                .ancestors()
                .find(|folder| path.starts_with(folder))
                .unwrap_or(Path::new(""))
        });
        Some(if common == Path::new("") { first } else { common }.to_owned())
    }
}
