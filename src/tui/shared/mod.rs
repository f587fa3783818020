//! What all screens share: the rows and the view on them, the session with its runs, what is said, what is to be done.

mod notes;
mod session;
mod view;

use std::time::{Duration, Instant};

use ratatui::layout::Rect;

use crate::filter::NamedFilters;

use super::compare::Compare;
use super::event::{Effect, How};
use super::panes::Around;
use super::panes::export::Writing;
use super::panes::output::Find;
use super::panes::question::Question;
use super::screen::{Next, Screen};
use super::theme::Theme;
use super::worker::Request;
use super::workspace::Workspace;

pub use session::{Session, at_home};
pub use view::Choice;

/// A line at the bottom until the next key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    pub text: String,
    pub is_warning: bool,
}

/// What time it is: the machine's, or what a test says.
#[derive(Debug, Clone, Copy)]
pub enum Clock {
    Real(Instant),
    Fixed(Duration),
}

impl Clock {
    pub fn now(&self) -> Duration {
        match self {
            Clock::Real(start) => start.elapsed(),
            Clock::Fixed(now) => *now,
        }
    }

    pub fn wall(&self) -> String {
        match self {
            Clock::Real(_) => chrono::Local::now().format("%H:%M:%S").to_string(),
            Clock::Fixed(_) => "13:02:11".to_owned(),
        }
    }
}

/// How far the run is that is watched.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Working {
    pub is_over: bool,
    pub is_stopping: bool,
}

/// Screens that were left, as they are to be found again.
#[derive(Debug, Default)]
pub struct Left {
    pub question: Question,
    pub compare: Option<Box<Compare>>,
}

#[derive(Debug)]
pub struct Shared {
    pub theme: Theme,
    pub area: Rect,
    pub workspace: Workspace,
    pub session: Session,
    /// Filters with names.
    pub saved: NamedFilters,
    pub find: Option<Find>,
    /// Whether mark-up is shown as what it means.
    pub renders: bool,
    pub notice: Option<Notice>,
    /// An export that is being written.
    pub writing: Option<Writing>,
    /// The run that is watched.
    pub run: Option<Working>,
    pub clock: Clock,
    pub left: Left,
    /// How many screens stand on each other.
    pub depth: usize,
    pub effects: Vec<Effect>,
    pub next: Vec<Next>,
}

impl Shared {
    pub fn new(theme: Theme, size: (u16, u16)) -> Shared {
        Shared {
            theme,
            area: Rect::new(0, 0, size.0, size.1),
            workspace: Workspace::default(),
            session: Session::default(),
            saved: NamedFilters::default(),
            find: None,
            renders: false,
            notice: None,
            writing: None,
            run: None,
            clock: Clock::Real(Instant::now()),
            left: Left::default(),
            depth: 0,
            effects: Vec::new(),
            next: Vec::new(),
        }
    }

    /// What texts are drawn with.
    pub fn around(&self) -> Around<'_> {
        Around {
            workspace: &self.workspace,
            find: self.find.as_ref(),
            renders: self.renders,
            theme: &self.theme,
        }
    }

    pub fn effect(&mut self, effect: Effect) {
        self.effects.push(effect);
    }

    pub fn go(&mut self, next: Next) {
        self.next.push(next);
    }

    pub fn push(&mut self, screen: impl Screen + 'static) {
        self.go(Next::Push(Box::new(screen)));
    }

    pub fn ask(&mut self, request: impl Into<Option<Request>>) {
        self.effects.extend(request.into().map(Effect::Ask));
    }

    pub fn say(&mut self, text: impl Into<String>) {
        self.notice = Some(Notice {
            text: text.into(),
            is_warning: false,
        });
    }

    pub fn warn(&mut self, text: impl Into<String>) {
        self.notice = Some(Notice {
            text: text.into(),
            is_warning: true,
        });
    }

    /// Whether a run is at work.
    pub fn is_working(&self) -> bool {
        self.run.is_some_and(|run| !run.is_over)
    }

    /// Leaves the program.
    pub fn exit(&mut self, how: How) {
        self.effect(Effect::Exit(how));
    }

    /// Opens the question of the row under the cursor.
    pub fn open_question(&mut self) {
        if let (Some(row), Some(snapshot)) = (self.workspace.row(), self.workspace.snapshot.clone()) {
            let mut question = std::mem::take(&mut self.left.question);
            question.open(&snapshot, row);
            self.push(question);
        }
    }

    /// Opens the question of a row, where the view has it; false: it has not.
    pub fn open_row(&mut self, row: Option<u32>) -> bool {
        let place = row.and_then(|row| self.workspace.place(row));
        if let Some(at) = place {
            self.workspace.cursor.at = at;
            self.open_question();
        }
        place.is_some()
    }

    /// Whether rows are on the screen.
    pub fn shows_rows(&self) -> bool {
        !self.workspace.selected.rows.is_empty()
    }

    /// Whether all rows of the trace are there, and some on the screen.
    pub fn shows_all_rows(&self) -> bool {
        self.shows_rows() && !self.workspace.is_partial && self.shows_latest()
    }

    /// Whether a search through texts is at work.
    pub fn is_searching(&self) -> bool {
        self.has_text_words() && !self.workspace.is_current()
    }

    /// Whether the filter looks into texts.
    pub fn has_text_words(&self) -> bool {
        !self.workspace.filter.fields().is_empty()
    }

    /// Whether times are shown; not where the screen must be the same every time.
    pub fn shows_time(&self) -> bool {
        matches!(self.clock, Clock::Real(_))
    }

    /// How long the loop may wait for something to happen before time itself is an event.
    pub fn patience(&self) -> Duration {
        if self.is_working() || self.writing.is_some() {
            Duration::from_millis(250)
        } else {
            Duration::from_hours(1)
        }
    }
}
