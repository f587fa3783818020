//! The program as a value: an event in, the state changed, an effect out. No I/O here.

mod browse;
mod command;
mod compare;
mod draw;
mod footer;
mod lab;
mod live;
mod mouse;
mod notes;
mod opened;
mod question;
mod runs;
mod typed;
mod view;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossterm::event::{KeyEvent, MouseEvent};
use ratatui::layout::Rect;

use crate::check::Problem;
use crate::extract::Rule;
use crate::filter::Derived;
use crate::notes::Notes;
use crate::run;
use crate::trace::Trace;

use super::Options;
use super::compare::{Compare, Paired, Tallied};
use super::keymap::{self, Action, Screen};
use super::lab::Lab;
use super::live::{Live, Watch};
use super::panes::about::About;
use super::panes::export::{Dialog, Sizes, Writing};
use super::panes::filter_line::FilterLine;
use super::panes::output::Find;
use super::panes::picker::Picker;
use super::panes::question::Question;
use super::panes::{categories, letters, preview, rows, why};
use super::runs::{Runs, Totals};
use super::shelf::Side;
use super::theme::Theme;
use super::view::Place;
use super::widgets::Input;
use super::worker::{Fetched, Reply, Request, Sight};
use super::workspace::Workspace;
use crate::joined;

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
    Exported(Result<Exported, String>),
    /// The runs were counted, exam by exam, in the order in which that was asked.
    RunsCounted(Vec<Totals>),
    /// About how many bytes a row takes in each format, and how many rows the whole questions have.
    Estimated([f64; crate::export::FORMATS], usize),
    /// Causes and marks of every row, and of which reading of the trace.
    Diagnosed(u64, Arc<Derived>),
    /// Two runs were paired and counted.
    Paired(Arc<Paired>, Arc<Tallied>),
    /// Another run was opened, to compare with.
    OpenedOther(Result<Box<joined::Run>, String>),
    /// The runs that are saved on this machine.
    SavedRuns(Vec<Saved>),
    /// The same run with the picks of another rule.
    Adopted(Result<Box<joined::Run>, String>),
    /// Notes were written, or why not.
    Kept(Result<(), String>),
    /// Time has passed.
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
    /// Pairs the rows of two runs.
    Pair(Arc<Trace>, Arc<Trace>),
    /// Opens another run, to compare with.
    OpenOther(PathBuf),
    /// Reads every output by another rule.
    Adopt(Arc<Trace>, Box<Rule>),
    /// Lists the runs that are saved on this machine.
    ListRuns,
    /// Looks whether the files grow, from now on or no more.
    Follow(bool),
    /// About how many bytes a row of these takes.
    Estimate(Arc<Trace>, Arc<Vec<u32>>),
    Pause {
        lane: usize,
        paused: bool,
    },
    Share {
        lane: usize,
        share: u32,
    },
    /// Stops the run; everything finished so far is saved.
    StopRun,
    Exit(How),
    Many(Vec<Effect>),
}

pub use compare::Saved;
pub use opened::Opened;

/// How the screen was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    Done,
    /// A run at work was stopped by the user; everything finished so far is saved.
    Stopped,
    /// The user did not wait for a run to stop.
    AtOnce,
    /// The terminal was closed.
    Hangup,
    /// The process was asked to end by a signal of this number.
    Signal(u8),
}

/// What was written where.
#[derive(Debug)]
pub struct Exported {
    /// Rows, or pairs of rows.
    pub written: crate::export::Written,
    pub path: PathBuf,
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

/// What stands above the screen and takes the keys first.
#[derive(Debug)]
enum Overlay {
    Filter(FilterLine),
    Picker(Picker),
    Command(Input),
    Find(Input),
    Export(Dialog),
    /// A note on a row.
    Note(u32, Input),
    About(About),
    /// An answer that is being written.
    Watch(Watch),
    /// Asks whether a run at work is to be stopped, or notes that could not be kept are to be lost.
    Quit,
}

/// A line at the bottom until the next key.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Message {
    text: String,
    is_warning: bool,
}

/// The panes of Browse, by their digits.
pub const PANES: usize = 5;

use live::Clock;

#[derive(Debug, Default)]
struct Panes {
    /// 1 to 5.
    focus: usize,
    categories: categories::Categories,
    why: why::Why,
    letters: letters::Letters,
    rows: rows::Rows,
    preview: preview::Preview,
    question: Question,
}

#[derive(Debug)]
pub struct App {
    theme: Theme,
    area: Rect,
    workspace: Workspace,
    panes: Panes,
    screens: Vec<Screen>,
    overlay: Option<Overlay>,
    message: Option<Message>,
    find: Option<Find>,
    live: Option<Live>,
    clock: Clock,
    /// The filter word that going from Live to Browse added.
    exam_word: Option<String>,
    /// The command line that reopens the trace: `markbook open PATH`.
    reopen: String,
    /// Why there is nothing to show.
    failure: Option<String>,
    /// What is wrong with the trace; `None` while it is looked through.
    problems: Option<Vec<Problem>>,
    /// Runs on the same questions; the first is, or was last, the B of Compare.
    others: Vec<joined::Run>,
    /// Runs saved on this machine, once they were asked for.
    saved: Vec<Saved>,
    compare: Option<Compare>,
    /// Compare as it was before the runs changed places, and the row to go to.
    keeps_compare: Option<(Compare, Option<u32>)>,
    lab: Option<Lab>,
    /// The trace with the picks of its file, while another rule's are shown.
    stored: Option<Arc<Trace>>,
    /// Where to go when the rows are there.
    arrival: Option<Place>,
    /// Whether Compare is to open as soon as the rows are there.
    compares_first: bool,
    /// Causes and marks known by now.
    derived: Arc<Derived>,
    /// Counts the readings of the trace after which rows stood elsewhere.
    epoch: u64,
    is_following: bool,
    /// The trace that came last, and the one whose rows are on the screen.
    latest: Option<Arc<Trace>>,
    shown: Option<Arc<Trace>>,
    /// Notes of earlier sessions could not be read: they are not to be written over.
    has_unreadable_notes: bool,
    /// Notes that are not written yet, or could not be.
    has_unkept_notes: bool,
    /// The runs that were opened, where they are more than two.
    runs: Option<Runs>,
    /// An export that is being written.
    writing: Option<Writing>,
    /// Whether times are shown; off where the screen must be the same every time.
    shows_time: bool,
    effects: Vec<Effect>,
}

impl App {
    /// Browses a trace that is being opened.
    pub fn browse(theme: Theme, size: (u16, u16), options: &Options) -> App {
        let mut app = App {
            theme,
            area: Rect::new(0, 0, size.0, size.1),
            workspace: Workspace::default(),
            panes: Panes {
                focus: 4,
                ..Panes::default()
            },
            screens: vec![Screen::Browse],
            overlay: None,
            message: None,
            find: None,
            live: None,
            clock: Clock::Real(Instant::now()),
            exam_word: None,
            reopen: reopen(&options.command),
            failure: None,
            problems: None,
            others: Vec::new(),
            saved: Vec::new(),
            compare: None,
            keeps_compare: None,
            lab: None,
            stored: None,
            arrival: None,
            compares_first: false,
            derived: Arc::default(),
            epoch: 0,
            is_following: false,
            latest: None,
            shown: None,
            has_unreadable_notes: false,
            has_unkept_notes: false,
            runs: None,
            writing: None,
            shows_time: true,
            effects: Vec::new(),
        };
        app.workspace.view.filter = options.filter.clone().unwrap_or_default();
        app.is_following = options.follow;
        app.arrive_at(options.place.clone());
        app
    }

    /// Hides times and rates, so that a screen is the same every time.
    pub fn without_time(mut self) -> App {
        self.shows_time = false;
        self.clock = Clock::Fixed(Duration::ZERO);
        self
    }

    /// Whether rows are on the screen.
    pub fn shows_rows(&self) -> bool {
        !self.workspace.selected.rows.is_empty()
    }

    /// Whether all rows of the trace are there, and some on the screen.
    pub fn shows_all_rows(&self) -> bool {
        self.shows_rows() && !self.workspace.is_partial && self.shows_latest()
    }

    /// Whether the rows on the screen are those of the view asked for.
    pub fn is_current(&self) -> bool {
        self.workspace.is_current()
    }

    /// Whether a search through texts is at work.
    pub fn is_searching(&self) -> bool {
        self.has_text_words() && !self.is_current()
    }

    /// Whether the filter looks into texts.
    pub fn has_text_words(&self) -> bool {
        !self.workspace.filter.fields().is_empty()
    }

    /// Why the trace could not be opened, where it could not.
    pub fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    pub fn update(&mut self, event: Event) -> Option<Effect> {
        match event {
            Event::Key(key) => self.press(key),
            Event::Mouse(event) => self.mouse(event),
            Event::Paste(text) => self.paste(&text),
            Event::Resize(width, height) => self.area = Rect::new(0, 0, width, height),
            Event::Opened(Ok(opened)) => self.opened(*opened),
            Event::Opened(Err(error)) => self.not_opened(error),
            Event::Checked(problems) => self.problems = Some(problems),
            Event::Worker(reply) => self.reply(reply),
            Event::Fetched(fetched) if fetched.side == Side::B => {
                if let Some(compare) = &mut self.compare {
                    compare.take(fetched);
                }
            }
            Event::Fetched(fetched) => self.workspace.take_fetched(fetched),
            Event::Exported(outcome) => self.exported(outcome),
            Event::RunsCounted(totals) => {
                if let Some(runs) = &mut self.runs {
                    runs.totals = totals;
                }
            }
            Event::Estimated(bytes, whole_questions) => {
                if let Some(Overlay::Export(dialog)) = &mut self.overlay {
                    dialog.sizes.bytes_a_row = Some(bytes);
                    dialog.sizes.whole_questions = Some(whole_questions);
                }
            }
            Event::Diagnosed(epoch, derived) => self.diagnosed(epoch, derived),
            Event::Kept(outcome) => self.kept(outcome),
            Event::Paired(paired, tallied) => self.paired(paired, tallied),
            Event::OpenedOther(run) => self.opened_other(run),
            Event::SavedRuns(saved) => self.saved_runs(saved),
            Event::Adopted(run) => self.adopted(run),
            Event::Run(update) => self.hear(&update),
            Event::RunGone => self.run_gone(),
            Event::Tick => self.tick(),
            Event::Hangup => self.effect(Effect::Exit(How::Hangup)),
            Event::Signal(number) => self.effect(Effect::Exit(How::Signal(number))),
        }
        self.settle();
        match self.effects.len() {
            0 => None,
            1 => self.effects.pop(),
            _ => Some(Effect::Many(std::mem::take(&mut self.effects))),
        }
    }

    fn effect(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    fn ask(&mut self, request: Option<Request>) {
        if let Some(request) = request {
            self.effect(Effect::Ask(request));
        }
    }

    fn say(&mut self, text: impl Into<String>) {
        self.message = Some(Message {
            text: text.into(),
            is_warning: false,
        });
    }

    fn warn(&mut self, text: impl Into<String>) {
        self.message = Some(Message {
            text: text.into(),
            is_warning: true,
        });
    }

    fn screen(&self) -> Screen {
        self.screens.last().copied().unwrap_or(Screen::Browse)
    }

    fn press(&mut self, key: KeyEvent) {
        if key.kind == crossterm::event::KeyEventKind::Release {
            return;
        }
        self.message = None;
        if keymap::name(key) == "^c" {
            self.interrupt();
            return;
        }
        if self.overlay.is_some() {
            self.press_overlay(key);
            return;
        }
        if self.press_lab(key) {
            return;
        }
        let name = keymap::name(key);
        if self.press_blind(&name) {
            return;
        }
        match keymap::lookup(self.screen(), &name) {
            Some(action) => self.act(action, &name),
            None if name.is_empty() => {}
            None => self.say(format!(
                "{} does nothing here; ? shows the keys",
                self.theme.key_name(&name)
            )),
        }
    }

    fn act(&mut self, action: Action, key: &str) {
        match action {
            Action::Filter => self.open_filter(),
            Action::Invalid => self.toggle_outcome("invalid"),
            Action::Wrong => self.toggle_outcome("wrong"),
            Action::Ok => self.toggle_outcome("ok"),
            Action::Category => self.open_categories(),
            Action::Help => self.open_help(),
            Action::Command => self.overlay = Some(Overlay::Command(Input::default())),
            Action::Undo => self.step_history(true),
            Action::Redo => self.step_history(false),
            Action::Export => self.open_export(),
            Action::Quit if self.screens.len() > 1 => self.back(),
            Action::Quit | Action::QuitNow => self.quit(),
            Action::Back => self.back(),
            Action::Why => self.say_why(),
            _ if self.screen() == Screen::Runs => self.act_runs(action),
            Action::Mark => self.mark(),
            Action::NextMark => self.next_mark(),
            Action::Note => self.open_note(),
            Action::About => self.open_about(),
            Action::Blind => self.toggle_blind(),
            Action::Compare => self.open_runs(),
            Action::Lab if self.screen() != Screen::Lab => self.open_lab(None),
            Action::CopyOutput => self.copy_output(),
            Action::CopyCommand => self.copy_command(),
            Action::Keep => self.open_alike(false),
            Action::Drop => self.open_alike(true),
            Action::Find => self.overlay = Some(Overlay::Find(Input::default())),
            _ => match self.screen() {
                Screen::Browse => self.act_browse(action, key),
                Screen::Question => self.act_question(action, key),
                Screen::Compare => self.act_compare(action, key),
                Screen::Lab => self.act_lab(action),
                Screen::Live | Screen::Exam => self.act_live(action, key),
                Screen::Runs => {}
            },
        }
    }

    /// One level back; at the top of Browse the filter goes.
    fn back(&mut self) {
        let screen = self.screen();
        let is_top = self.screens.len() == 1;
        let has_filter = !self.workspace.view.filter.trim().is_empty();
        let question = &mut self.panes.question;
        match screen {
            Screen::Question if question.prompt.is_some() => question.prompt = None,
            Screen::Question if question.reads_question => question.reads_question = false,
            Screen::Compare if self.compare.as_mut().is_some_and(Compare::step_back) => {}
            _ if self.find.take().is_some() => {}
            Screen::Browse if self.panes.focus != 4 => self.panes.focus = 4,
            Screen::Browse if is_top && has_filter => {
                self.show_filter(String::new());
                self.say("the filter is cleared; u brings it back");
            }
            _ if !is_top && self.screens.pop() == Some(Screen::Browse) => self.leave_landed(),
            _ => {}
        }
    }

    /// Brings cursors into sight and asks for texts that are missing.
    fn settle(&mut self) {
        if self.arrival.is_some() {
            self.arrive();
        }
        let places = self.places(self.area);
        let height = rows::Rows::height(places.rows);
        let shown = self.workspace.selected.rows.len();
        self.workspace.cursor.settle(shown, height);
        let cursor = self.workspace.cursor;
        let listed: Vec<u32> = self
            .workspace
            .selected
            .rows
            .iter()
            .skip(cursor.top)
            .take(height)
            .copied()
            .collect();
        let mut read: Vec<u32> = Vec::new();
        let listed = match self.screen() {
            Screen::Compare => self.settle_compare(&mut read),
            Screen::Lab => self.settle_lab(&mut read),
            _ => None,
        }
        .unwrap_or(listed);
        if let (Screen::Question, Some(snapshot)) = (self.screen(), self.workspace.snapshot.as_deref()) {
            let question = &self.panes.question;
            read.extend(question.focused(snapshot));
            read.extend(question.row.iter().flat_map(|row| snapshot.attempts(*row)));
        }
        let near = [0, 1, -1]
            .into_iter()
            .filter_map(|step| cursor.at.checked_add_signed(step));
        read.extend(near.filter_map(|at| self.workspace.selected.rows.get(at)));
        let mut seen = std::collections::HashSet::new();
        read.retain(|row| seen.insert(*row));
        read.truncate(40);
        let preview = &mut self.panes.preview;
        if preview.row != self.workspace.row() {
            preview.row = self.workspace.row();
            preview.scroll = 0;
        }
        if let Some(sight) = self.workspace.missing(&listed, &read) {
            self.effect(Effect::Fetch(sight));
        }
    }

    /// The same on the regex lab.
    fn settle_lab(&mut self, read: &mut Vec<u32>) -> Option<Vec<u32>> {
        let lab = self.lab.as_mut()?;
        let height = super::lab::Places::of(self.area).listed();
        lab.settle(height);
        read.extend(lab.row_in_sight());
        let cursor = lab.cursor();
        let near = [1, -1]
            .into_iter()
            .filter_map(|step| lab.rows().get(cursor.at.checked_add_signed(step)?));
        read.extend(near);
        Some(lab.rows().iter().skip(cursor.top).take(height).copied().collect())
    }

    /// The same on Compare: gives the rows listed there, and adds those that are read.
    fn settle_compare(&mut self, read: &mut Vec<u32>) -> Option<Vec<u32>> {
        let compare = self.compare.as_mut()?;
        let height = compare.places(self.area).listed();
        compare.settle(height);
        read.extend(compare.read_of_a());
        let top = compare.cursor().top;
        let listed = compare.list().iter().skip(top).take(height).map(|(row, _)| *row);
        let listed: Vec<u32> = listed.collect();
        if let Some(sight) = compare.missing() {
            self.effect(Effect::Fetch(sight));
        }
        Some(listed)
    }

    fn places(&self, area: Rect) -> super::panes::Places {
        let lines = self
            .workspace
            .snapshot
            .as_deref()
            .map_or(4, |snapshot| categories::entries(snapshot).len());
        super::panes::Places::of(area, lines)
    }

    fn sizes(&self) -> Sizes {
        let slice = self.workspace.selected.rows.len();
        let pairs = self
            .compare
            .as_ref()
            .filter(|_| self.screen() == Screen::Compare)
            .map(|compare| compare.list().len());
        Sizes {
            pairs,
            slice,
            whole_questions: None,
            marked: self.workspace.notes.marked().count(),
            bytes_a_row: None,
        }
    }
}

/// The shell line that opens the same traces again.
fn reopen(command: &[String]) -> String {
    let mut line = "markbook".to_owned();
    if !command.is_empty() {
        line.push_str(" open");
    }
    for word in command {
        let is_plain = word.chars().all(|c| c.is_alphanumeric() || "-_./=:,@+".contains(c)) && !word.is_empty();
        line.push(' ');
        line.push_str(&if is_plain {
            word.clone()
        } else {
            format!("'{}'", word.replace('\'', "'\\''"))
        });
    }
    line
}

impl App {
    /// How long the loop may wait for something to happen before time itself is an event.
    pub fn patience(&self) -> Duration {
        match &self.live {
            Some(live) if !live.is_over() => Duration::from_millis(250),
            _ if self.writing.is_some() => Duration::from_millis(250),
            _ => Duration::from_hours(1),
        }
    }

    /// Moves a clock that stands still.
    pub fn advance(&mut self, time: Duration) {
        if let Clock::Fixed(now) = &mut self.clock {
            *now += time;
        }
    }
}
