//! The program as a value: an event in, the state changed, an effect out. No I/O here.

mod browse;
mod command;
mod draw;
mod live;
mod mouse;
mod question;
mod typed;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossterm::event::{KeyEvent, MouseEvent};
use ratatui::layout::Rect;

use crate::filter::Derived;
use crate::run;
use crate::trace::Trace;

use super::keymap::{self, Action, Screen};
use super::live::Live;
use super::panes::export::{Dialog, Sizes};
use super::panes::filter_line::FilterLine;
use super::panes::output::Find;
use super::panes::picker::Picker;
use super::panes::question::Question;
use super::panes::{categories, letters, preview, rows, why};
use super::theme::Theme;
use super::widgets::Input;
use super::worker::{Fetched, Reply, Request, Sight};
use super::workspace::Workspace;

/// Everything that can happen.
#[derive(Debug)]
pub enum Event {
    Key(KeyEvent),
    Mouse(MouseEvent),
    Paste(String),
    Resize(u16, u16),
    /// The trace is open, or why it cannot be opened.
    Opened(Result<Box<Trace>, String>),
    Worker(Reply),
    Fetched(Fetched),
    Run(Box<run::Update>),
    /// The run told its last.
    RunGone,
    /// Rows and path, or why nothing was written.
    Exported(Result<(usize, u64, PathBuf), String>),
    Estimated(f64),
    /// Causes and marks of every row.
    Diagnosed(Arc<Derived>),
    /// Time has passed.
    Tick,
    /// The terminal is gone, or the process was asked to end.
    Hangup,
}

/// What the loop is to do.
#[derive(Debug)]
pub enum Effect {
    Ask(Request),
    Fetch(Sight),
    /// Puts text on the clipboard of the terminal (OSC 52).
    Copy(String),
    Export(Box<Order>),
    /// Reads every output once, for causes and marks.
    Diagnose(Arc<Trace>),
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

/// How the screen was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    Done,
    /// A run at work was stopped by the user; everything finished so far is saved.
    Stopped,
    /// The terminal was closed, or the process asked to end.
    Hangup,
}

/// What is to be written where.
#[derive(Debug)]
pub struct Order {
    pub trace: Arc<Trace>,
    pub rows: Vec<u32>,
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
    /// Asks whether a run at work is to be stopped.
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
    /// Whether times are shown; off where the screen must be the same every time.
    shows_time: bool,
    effects: Vec<Effect>,
}

impl App {
    /// Browses a trace that is being opened.
    pub fn browse(theme: Theme, size: (u16, u16), filter: Option<String>, command: &[String]) -> App {
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
            reopen: reopen(command),
            failure: None,
            shows_time: true,
            effects: Vec::new(),
        };
        app.workspace.view.filter = filter.unwrap_or_default();
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
            Event::Opened(Ok(trace)) => self.opened(*trace),
            Event::Opened(Err(error)) => {
                self.failure = Some(error);
                self.effect(Effect::Exit(How::Done));
            }
            Event::Worker(reply) => self.reply(reply),
            Event::Fetched(fetched) => self.workspace.take_fetched(fetched),
            Event::Exported(outcome) => self.exported(outcome),
            Event::Estimated(bytes) => {
                if let Some(Overlay::Export(dialog)) = &mut self.overlay {
                    dialog.sizes.bytes_a_row = Some(bytes);
                }
            }
            Event::Diagnosed(derived) => self.effect(Effect::Ask(Request::Derived(derived))),
            Event::Run(update) => self.hear(&update),
            Event::RunGone => self.run_gone(),
            Event::Tick => self.tick(),
            Event::Hangup => self.effect(Effect::Exit(How::Hangup)),
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

    fn opened(&mut self, trace: Trace) {
        if let Some(notice) = trace.notices.first() {
            self.warn(notice.text.clone());
        }
        let request = self.workspace.ask();
        let trace = Arc::new(trace);
        self.effect(Effect::Ask(Request::Trace {
            trace: Arc::clone(&trace),
            grows: false,
        }));
        self.effect(Effect::Ask(request));
        self.effect(Effect::Diagnose(trace));
    }

    fn reply(&mut self, reply: Reply) {
        match reply {
            Reply::Snapshot(snapshot) => self.workspace.take_snapshot(snapshot),
            Reply::Selected(selected) => {
                self.selected(selected);
                self.refill_feeds();
            }
            Reply::Completions { text, list } => {
                if let Some(Overlay::Filter(line)) = &mut self.overlay {
                    line.take(text, list);
                }
            }
            Reply::Counted {
                filter,
                report,
                subjects,
            } => self.counted(&filter, &report, &subjects),
            Reply::Failed(error) => self.warn(error),
        }
    }

    fn press(&mut self, key: KeyEvent) {
        if key.kind == crossterm::event::KeyEventKind::Release {
            return;
        }
        self.message = None;
        if self.overlay.is_some() {
            self.press_overlay(key);
            return;
        }
        let name = keymap::name(key);
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
            Action::Mark => self.mark(),
            Action::NextMark => self.next_mark(),
            Action::CopyOutput => self.copy_output(),
            Action::CopyCommand => self.copy_command(),
            Action::Keep => self.open_alike(false),
            Action::Drop => self.open_alike(true),
            Action::Find => self.overlay = Some(Overlay::Find(Input::default())),
            _ => match self.screen() {
                Screen::Browse => self.act_browse(action, key),
                Screen::Question => self.act_question(action, key),
                Screen::Live | Screen::Exam => self.act_live(action, key),
            },
        }
    }

    /// One level back; at the top nothing happens.
    fn back(&mut self) {
        match self.screen() {
            Screen::Question if self.panes.question.prompt.is_some() => self.panes.question.prompt = None,
            _ if self.find.take().is_some() => {}
            Screen::Browse if self.panes.focus != 4 => self.panes.focus = 4,
            _ if self.screens.len() > 1 && self.screens.pop() == Some(Screen::Browse) => {
                self.leave_landed();
            }
            _ => {}
        }
    }

    /// Brings cursors into sight and asks for texts that are missing.
    fn settle(&mut self) {
        let places = self.places();
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

    fn places(&self) -> super::panes::Places {
        let lines = self
            .workspace
            .snapshot
            .as_deref()
            .map_or(4, |snapshot| categories::entries(snapshot).len());
        super::panes::Places::of(self.area, lines)
    }

    fn sizes(&self) -> Sizes {
        let slice = self.workspace.selected.rows.len();
        let whole_questions = match self.workspace.rows() {
            Some(rows) => crate::export::whole_questions(rows, &self.workspace.selected.rows).len(),
            None => 0,
        };
        Sizes {
            slice,
            whole_questions,
            marked: self.workspace.marked.len(),
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
