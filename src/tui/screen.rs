//! What a screen is, and what an overlay above it: values that take keys and draw themselves. What goes beyond their own
//! state they ask for by [`Next`] and by effects, both left with [`Shared`].

use std::fmt::Debug;
use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::layout::{Position, Rect};

use crate::record::Record;

use super::canvas::Canvas;
use super::compare::Paired;
use super::event::Event;
use super::keymap::{Action, On, Use};
use super::shared::Shared;
use super::view::Place;

/// What the mouse did at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mouse {
    /// The wheel was turned by so many lines.
    Wheel(isize),
    Click,
}

/// Rows whose texts a screen shows.
#[derive(Debug, Default)]
pub struct Needs {
    /// Those of which the question is listed, where they are others than those of the view.
    pub listed: Option<Vec<u32>>,
    /// Those that are read in full, the most urgent first.
    pub read: Vec<u32>,
}

/// Pairs of two runs that a screen lists, to be exported.
#[derive(Debug, Clone)]
pub struct Pairs {
    pub paired: Arc<Paired>,
    pub list: Arc<Vec<(u32, u32)>>,
    /// The filter word that chooses their rows.
    pub word: &'static str,
}

/// A key of the key line, and what it does there: a label `/l attempt` of the key `h` is shown as `h/l attempt`.
pub type Hint = (&'static str, &'static str);

/// A full screen. Screens stand on each other; the top one is seen.
pub trait Screen: Debug {
    /// Its column of the key table: which keys it has, what they do, and what help says of them.
    fn on(&self) -> On;

    /// Does what a key of the table does here.
    fn act(&mut self, action: Action, key: &str, shared: &mut Shared);

    fn draw(&self, canvas: &mut Canvas, shared: &Shared);

    /// Takes a key before the table does, where something is typed; false: it is for the table.
    fn press(&mut self, _key: KeyEvent, _shared: &mut Shared) -> bool {
        false
    }

    fn paste(&mut self, _text: &str, _shared: &mut Shared) {}

    fn mouse(&mut self, _at: Position, _mouse: Mouse, _shared: &mut Shared) {}

    /// Takes in what has happened, after the shared state has; also screens below others hear.
    fn hear(&mut self, _event: &Event, _shared: &mut Shared) {}

    /// Brings its cursors into sight, and tells which texts it shows.
    fn needs(&mut self, _shared: &mut Shared) -> Needs {
        Needs::default()
    }

    /// Adds what is seen to a place that `--view` can name.
    fn place(&self, _place: &mut Place) {}

    /// Goes to such a place; its row, where it has one, is under the cursor of the view.
    fn arrive(&mut self, _place: &Place, _row: Option<u32>) {}

    /// One level back within the screen; false where there is none.
    fn back(&mut self, _shared: &mut Shared) -> bool {
        false
    }

    /// Another screen comes back to sight; what is to be as it was the next time is left with the shared state.
    fn leave(self: Box<Self>, _shared: &mut Shared) {}

    /// The row that is read.
    fn row(&self, shared: &Shared) -> Option<u32> {
        shared.workspace.row()
    }

    /// What of that row is read.
    fn record<'a>(&'a self, shared: &'a Shared) -> Option<&'a Record> {
        shared.workspace.record(self.row(shared)?)?.as_deref().ok()
    }

    /// The filter word of the line in focus, where it is no row's.
    fn word(&self, _shared: &Shared) -> Option<String> {
        None
    }

    /// Goes to a place among the rows of the view.
    fn go_to(&mut self, at: usize, shared: &mut Shared) {
        shared.workspace.cursor.at = at;
    }

    /// What the key line says of a key as things stand; `None`: nothing.
    fn label(&self, does: &Use, _shared: &Shared) -> Option<&'static str> {
        Some(does.label).filter(|label| !label.is_empty())
    }

    /// The whole key line, where it is another one for now.
    fn hints(&self) -> Option<&'static [Hint]> {
        None
    }

    fn pairs(&self) -> Option<Pairs> {
        None
    }

    /// Takes a command of the `:` line that is this screen's own.
    fn command(&mut self, _word: &str, _shared: &mut Shared) -> bool {
        false
    }

    /// Where a note on the row is typed, if not on the lowest line.
    fn note_place(&self, _shared: &Shared) -> Option<Rect> {
        None
    }
}

/// What stands above the screen and takes the keys first.
pub trait Overlay: Debug {
    /// Takes a key; false: it closes.
    fn press(&mut self, key: KeyEvent, shared: &mut Shared) -> bool;

    /// Draws itself above a screen.
    fn draw(&self, canvas: &mut Canvas, shared: &Shared, below: &dyn Screen);

    /// Takes Ctrl-C, which else closes it, what was typed taken back, and asks whether to quit; true: it is done with.
    fn interrupt(&mut self, shared: &mut Shared) -> bool {
        self.press(KeyCode::Esc.into(), shared);
        false
    }

    fn paste(&mut self, _text: &str, _shared: &mut Shared) {}

    /// False: it closes.
    fn mouse(&mut self, _at: Position, _mouse: Mouse, _shared: &mut Shared) -> bool {
        true
    }

    /// Takes in what has happened; false: it closes.
    fn hear(&mut self, _event: &Event, _shared: &mut Shared) -> bool {
        true
    }
}

/// What is asked of the program that holds the screens.
#[derive(Debug)]
pub enum Next {
    /// Another screen on top.
    Push(Box<dyn Screen>),
    /// A screen in the place of all that there are.
    Replace(Box<dyn Screen>),
    /// The top screen goes, where it is of this kind and there is one below.
    Pop(On),
    Open(Box<dyn Overlay>),
    /// A key is pressed.
    Press(KeyEvent),
    /// An action of the top screen.
    Act(Action),
    /// A line typed after `:`.
    Command(String),
    /// The program is to be left; asks where something would be lost.
    Quit,
}
