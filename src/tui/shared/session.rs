//! The runs of a session: a trace that was opened, its first rows, all of it, or more of it than before; those to compare
//! with; and what is known of them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::check::Problem;
use crate::extract::Rule;
use crate::filter::Derived;
use crate::joined::Run;
use crate::notes::Notes;
use crate::trace::Trace;
use crate::tui::compare::Paired;
use crate::tui::event::{Effect, Event, How, Opened, Saved, Tell};
use crate::tui::home::Picked;
use crate::tui::keymap::On;
use crate::tui::lab::Lab;
use crate::tui::panes::about::About;
use crate::tui::panes::picker::{Entry, Kind, Picker};
use crate::tui::runs::Runs;
use crate::tui::screen::Next;
use crate::tui::view::Place;
use crate::tui::worker::{Reply, Request, Stage};

use super::{Choice, Shared};

/// What is known of the runs that are open.
#[derive(Debug, Default)]
pub struct Session {
    /// The words after `markbook open` that open the traces again.
    pub reopen: Vec<String>,
    /// What was chosen on Home.
    pub picked: Option<Picked>,
    /// Whether Home is where `q` leads.
    pub has_home: bool,
    /// Why there is nothing to show.
    pub failure: Option<String>,
    /// What is wrong with the trace; `None` while it is looked through.
    pub problems: Option<Vec<Problem>>,
    /// Runs on the same questions; the first is, or was last, the B of Compare.
    pub others: Vec<Run>,
    /// Runs saved on this machine, once they were asked for.
    pub saved: Vec<Saved>,
    /// The two runs that were compared last.
    pub paired: Option<Arc<Paired>>,
    /// The rule that the lab read by last.
    pub lab_rule: Option<Rule>,
    /// The trace with the picks of its file, while another rule's are shown.
    stored: Option<Arc<Trace>>,
    /// Where to go when the rows are there.
    pub arrival: Option<Place>,
    /// Whether Compare is to open as soon as the rows are there.
    pub compares_first: bool,
    /// Causes and marks known by now.
    derived: Arc<Derived>,
    /// Counts the readings of the trace after which rows stood elsewhere.
    epoch: u64,
    pub is_following: bool,
    /// The trace that came last, and the one whose rows are on the screen.
    pub latest: Option<Arc<Trace>>,
    shown: Option<Arc<Trace>>,
    /// Notes of earlier sessions could not be read: they are not to be written over.
    pub has_unreadable_notes: bool,
    /// Notes that could not be written; those that are being written are waited for when the screen is left.
    pub has_unkept_notes: bool,
}

impl Session {
    /// Whether only the first of two runs is wanted.
    fn arrives_in_browse(&self) -> bool {
        self.arrival.as_ref().is_some_and(|place| place.browses)
    }

    /// Whether the place that was asked for can be gone to, as far as that hangs on other runs.
    pub fn is_settled(&self, lists_runs: bool) -> bool {
        let has_others = !self.others.is_empty() && self.paired.is_none();
        !self.compares_first && (!has_others || lists_runs || self.arrives_in_browse())
    }
}

impl Shared {
    pub fn opened(&mut self, opened: Opened) {
        let Opened { runs, stage } = opened;
        let mut runs = runs.into_iter();
        let Some(first) = runs.next() else { return };
        self.workspace.is_partial = stage == Stage::Begun;
        let before = std::mem::replace(&mut self.session.others, runs.collect());
        if stage == Stage::Grown {
            self.session.others.iter_mut().for_each(|run| run.take_notes(&before));
        }
        self.session.stored = None;
        if stage == Stage::Whole {
            if self.session.is_following {
                self.effect(Effect::Tell(Tell::Follow(true)));
            }
            match first.notes {
                Ok(notes) => self.workspace.notes = Arc::new(notes),
                Err(error) => {
                    self.session.has_unreadable_notes = true;
                    self.warn(error);
                }
            }
            if let (Some(notice), None) = (first.trace.notices.first(), &self.notice) {
                self.warn(notice.text.clone());
            }
        }
        let session = &mut self.session;
        if let Some(paired) = &session.paired {
            let is_same = |run: &Run| run.trace.path == paired.b.path && run.trace.name == paired.b.name;
            if let Some(at) = session.others.iter().position(is_same) {
                session.others.swap(0, at);
            }
        }
        let is_wanted = stage == Stage::Whole && !session.arrives_in_browse();
        let wants_pair = session
            .arrival
            .as_ref()
            .is_some_and(|place| place.list.is_some() || place.is_aligned);
        let is_list = is_wanted && session.others.len() > 1 && session.paired.is_none() && !wants_pair;
        session.compares_first = !session.others.is_empty() && !is_list && (session.paired.is_some() || is_wanted);
        if is_list {
            let others = session.others.iter().map(|run| Arc::clone(&run.trace));
            let all: Vec<Arc<Trace>> = std::iter::once(Arc::clone(&first.trace)).chain(others).collect();
            self.effect(Effect::CountRuns(all.clone()));
            self.go(Next::Replace(Box::new(Runs::new(all))));
        }
        self.take_trace(first.trace, stage);
    }

    /// Makes a trace the one that is browsed.
    pub fn take_trace(&mut self, trace: Arc<Trace>, stage: Stage) {
        let before = self.workspace.snapshot.as_deref();
        let keeps_rows = before.is_some_and(|before| trace.rows.begin_with(before.rows()));
        let stage = if stage == Stage::Grown && !keeps_rows {
            Stage::Whole
        } else {
            stage
        };
        if stage != Stage::Grown {
            self.session.derived = Arc::default();
            self.session.epoch += 1;
        }
        self.session.latest = Some(Arc::clone(&trace));
        self.ask(Request::Trace {
            trace: Arc::clone(&trace),
            stage,
        });
        // The worker answers a view that it knows once more by itself.
        if !self.workspace.has_asked() || !self.workspace.notes.is_empty() {
            let request = self.workspace.ask();
            self.ask(request);
        }
        if stage != Stage::Begun {
            self.effect(Effect::Check(Arc::clone(&trace)));
            self.effect(Effect::Diagnose {
                trace,
                known: Arc::clone(&self.session.derived),
                epoch: self.session.epoch,
            });
        }
    }

    /// Whether the rows on the screen are of the trace that came last.
    pub fn shows_latest(&self) -> bool {
        let shown = self.session.latest.as_ref().zip(self.session.shown.as_ref());
        shown.is_some_and(|(latest, shown)| Arc::ptr_eq(latest, shown))
    }

    pub fn not_opened(&mut self, error: String) {
        if self.workspace.snapshot.is_some() && !self.workspace.is_partial {
            // What is on the screen stays; a file that grows may be read in the midst of a write.
            self.warn(error);
            return;
        }
        self.session.failure = Some(error);
        self.exit(How::Done);
    }

    /// Takes in what has happened before the screens hear of it; false where it is stale.
    pub fn hear(&mut self, event: &Event) -> bool {
        match event {
            Event::Checked(problems) => self.session.problems = Some(problems.clone()),
            Event::Worker(reply) => self.take_reply(reply),
            Event::Diagnosed(epoch, derived) => {
                // Of the rows that there were when they were asked for.
                if *epoch == self.session.epoch && derived.marks.len() >= self.session.derived.marks.len() {
                    self.session.derived = Arc::clone(derived);
                    self.ask(Request::Derived(Arc::clone(derived)));
                }
            }
            Event::Kept(Ok(())) => self.session.has_unkept_notes = false,
            Event::FilterUnkept(error) => self.warn(error.clone()),
            Event::Kept(Err(error)) => {
                self.session.has_unkept_notes = true;
                self.warn(error.clone());
            }
            Event::Paired(paired, _) => {
                if !self.is_browsed(&paired.a) {
                    return false;
                }
                self.notice = None;
                self.workspace.has_two_runs = true;
                self.session.paired = Some(Arc::clone(paired));
                self.ask(Request::Compare(Some(Arc::clone(paired))));
                let request = self.workspace.ask();
                self.ask(request);
            }
            Event::SavedRuns(saved) => self.session.saved.clone_from(saved),
            Event::Exported(outcome) => self.exported(outcome),
            Event::Hangup => self.exit(How::Hangup),
            Event::Signal(number) => self.exit(How::Signal(*number)),
            _ => {}
        }
        true
    }

    fn take_reply(&mut self, reply: &Reply) {
        match reply {
            Reply::Snapshot(snapshot) => {
                if self.workspace.take_snapshot(Arc::clone(snapshot)) {
                    let request = self.workspace.ask();
                    self.ask(request);
                }
                if std::mem::take(&mut self.session.compares_first) {
                    self.compare_with(0);
                }
            }
            Reply::Selected(selected) => {
                // The worker tells of a trace first, then of the rows of the view on it.
                self.session.shown = self.browsed();
                self.workspace.take_selected(Arc::clone(selected));
            }
            Reply::Failed(error) => self.warn(error.clone()),
            Reply::Completions { .. } | Reply::Counted { .. } | Reply::Lab { .. } => {}
        }
    }

    /// The trace whose rows the workspace holds.
    fn browsed(&self) -> Option<Arc<Trace>> {
        let snapshot = self.workspace.snapshot.as_deref()?;
        Some(Arc::clone(&snapshot.trace))
    }

    fn is_browsed(&self, trace: &Arc<Trace>) -> bool {
        self.browsed().is_some_and(|browsed| Arc::ptr_eq(&browsed, trace))
    }

    /// Follows a growing file, or no more.
    pub fn follow(&mut self) {
        if self.run.is_some() {
            self.say("a run at work shows its rows as they land");
            return;
        }
        let is_on = !self.session.is_following;
        self.session.is_following = is_on;
        self.effect(Effect::Tell(Tell::Follow(is_on)));
        self.say(if is_on {
            "following: rows that are added to the file show here; F ends it"
        } else {
            "following no more"
        });
    }

    /// What the trace is, where it comes from, and what is wrong with it.
    pub fn open_about(&mut self) {
        if let Some(trace) = self.browsed() {
            let about = About::new(&trace, self.session.problems.as_deref());
            self.go(Next::Open(Box::new(about)));
        }
    }

    /// Compares the run that is browsed with another that is open.
    pub fn compare_with(&mut self, other: usize) {
        if other >= self.session.others.len() {
            return;
        }
        self.session.others.swap(0, other);
        let b = Arc::clone(&self.session.others[0].trace);
        match self.browsed() {
            Some(a) => {
                self.effect(Effect::Pair(a, b));
                self.say("pairing the two runs…");
            }
            // The rows of A are on their way.
            None => self.session.compares_first = true,
        }
    }

    /// `d`: the runs to compare with.
    pub fn open_runs(&mut self) {
        if self.run.is_some() {
            self.say("a run at work is compared when it is done: markbook open A B");
            return;
        }
        self.open_picker(Picker::new(
            Kind::Runs,
            "Compare with (:compare FILE opens any other)",
            self.run_entries(),
        ));
        if self.session.saved.is_empty() {
            self.effect(Effect::ListRuns);
        }
    }

    /// The runs to compare with, those that are open first.
    pub fn run_entries(&self) -> Vec<Entry> {
        let open = self.session.others.iter().enumerate().map(|(at, run)| Entry {
            label: run.trace.name.clone(),
            detail: run.trace.kind.clone(),
            count: Some(run.trace.rows.len()),
            choice: Choice::Compare(at),
            ..Entry::default()
        });
        let saved = self.session.saved.iter().map(|saved| Entry {
            label: saved.label.clone(),
            detail: saved.path.display().to_string(),
            choice: Choice::CompareFile(saved.path.clone()),
            ..Entry::default()
        });
        open.chain(saved).collect()
    }

    /// `:compare FILE`.
    pub fn compare_file(&mut self, path: &str) {
        if path.is_empty() {
            self.open_runs();
            return;
        }
        let path = at_home(path);
        self.say(format!("opening {}…", path.display()));
        self.effect(Effect::OpenOther(path));
    }

    /// Another run was opened, or why it could not be.
    pub fn opened_other(&mut self, run: Result<Box<Run>, String>) {
        match run {
            Ok(run) => {
                self.session.others.push(*run);
                self.compare_with(self.session.others.len() - 1);
            }
            Err(error) => self.warn(error),
        }
    }

    /// Browses a run that is open, if it is not browsed; tells the place that the one before has among the others.
    pub fn browse(&mut self, trace: &Arc<Trace>) -> Option<usize> {
        let others = &self.session.others;
        let other = others.iter().position(|run| Arc::ptr_eq(&run.trace, trace))?;
        let now = Run {
            trace: self.session.latest.clone()?,
            notes: if self.session.has_unreadable_notes {
                Err("the notes of earlier sessions cannot be read".to_owned())
            } else {
                Ok(Notes::clone(&self.workspace.notes))
            },
        };
        let next = std::mem::replace(&mut self.session.others[other], now);
        self.left.compare = None;
        self.session.paired = None;
        self.ask(Request::Compare(None));
        self.workspace.change_run();
        self.left.question.row = None;
        self.session.problems = None;
        self.session.has_unreadable_notes = next.notes.is_err();
        if let Ok(notes) = next.notes {
            self.workspace.notes = Arc::new(notes);
        }
        self.take_trace(next.trace, Stage::Whole);
        Some(other)
    }

    /// `r`: the lab on the rows of the view, beginning with the rule by which the picks are read now; `row` is the one whose
    /// output was read before.
    pub fn open_lab(&mut self, typed: Option<&str>, row: Option<u32>) {
        let rows = self.workspace.rows();
        if rows.is_some_and(|rows| !rows.is_empty() && rows.scored.iter().all(|scored| *scored)) {
            self.say("there are no outputs to read: the picks come from log-likelihoods");
            return;
        }
        let pattern = match self.workspace.rule.name() {
            "lm_eval_mmlu_pro" => r"answer is \(?([ABCDEFGHIJ])\)?",
            name => name.strip_prefix("re:").unwrap_or(name),
        };
        let lab = Lab::new(typed.unwrap_or(pattern), row);
        lab.ask(self);
        self.push(lab);
    }

    /// `:adopt`: the picks that are shown are those of the lab's rule from now on; the stored ones stay in the file, and
    /// exports carry both.
    pub fn adopt(&mut self, argument: &str) {
        let Some(trace) = self.browsed() else { return };
        if argument == "off" {
            match self.session.stored.clone() {
                Some(stored) => {
                    self.workspace.keep_rule(trace, "the stored picks".to_owned());
                    self.show_rule(stored);
                }
                None => self.say("the stored picks are shown"),
            }
            return;
        }
        let Some(rule) = self.session.lab_rule.clone() else {
            self.warn("no rule to adopt; r opens the lab");
            return;
        };
        self.say(format!("reading every output by {}…", rule.name()));
        self.effect(Effect::Adopt(trace, Box::new(rule)));
    }

    /// Every output was read by another rule.
    pub fn adopted(&mut self, run: Result<Box<Run>, String>) {
        match run {
            Ok(run) => {
                let name = run.trace.rule.clone().unwrap_or_default();
                if let Some(before) = self.browsed() {
                    self.workspace.keep_rule(before, format!("rule {name}"));
                }
                self.show_rule(run.trace);
                self.say(format!("picks now read by {name}; :adopt off restores"));
            }
            Err(error) => self.warn(error),
        }
    }

    /// Shows the same rows as another rule reads them, or as the file stores them.
    pub fn show_rule(&mut self, trace: Arc<Trace>) {
        let now = self.browsed();
        self.session.stored = match self.session.stored.take() {
            Some(stored) if Arc::ptr_eq(&stored, &trace) => None,
            Some(stored) => Some(stored),
            None => now,
        };
        self.session.compares_first |= self.session.paired.is_some();
        self.go(Next::Pop(On::Lab));
        self.take_trace(trace, Stage::Whole);
    }
}

/// A typed path; `~/` is the home directory.
pub fn at_home(path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), dirs::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => Path::new(path).to_owned(),
    }
}
