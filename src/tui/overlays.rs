//! The small things above a screen: the `:` line, the find line, a note, and the question whether to quit.

use crossterm::event::{KeyCode, KeyEvent};

use crate::text::safe::one_line;

use super::canvas::Canvas;
use super::event::How;
use super::keymap::{self, Action, On};
use super::panes::output::Find;
use super::screen::{Next, Overlay, Screen};
use super::shared::Shared;
use super::theme::Role;
use super::widgets::Input;

/// The lowest line, cleared, to be typed on.
fn lowest<'c, 't>(canvas: &'c mut Canvas<'_, 't>) -> Canvas<'c, 't> {
    let (area, last) = (canvas.area(), canvas.height().saturating_sub(1));
    let mut line = canvas.at(area).below(last);
    line.clear();
    line
}

/// A command being typed.
#[derive(Debug, Default)]
pub struct CommandLine(Input);

impl Overlay for CommandLine {
    fn press(&mut self, key: KeyEvent, shared: &mut Shared) -> bool {
        match key.code {
            KeyCode::Esc => return false,
            KeyCode::Backspace if self.0.text.is_empty() => return false,
            KeyCode::Enter => {
                shared.go(Next::Command(std::mem::take(&mut self.0.text)));
                return false;
            }
            KeyCode::Tab => {
                let hint = shared.command_hints(&self.0.text).into_iter().next();
                self.0 = hint.map_or_else(|| std::mem::take(&mut self.0), Input::new);
            }
            _ => {
                self.0.press(key);
            }
        }
        true
    }

    fn paste(&mut self, text: &str, _: &mut Shared) {
        self.0.insert(text);
    }

    fn draw(&self, canvas: &mut Canvas, shared: &Shared, _: &dyn Screen) {
        let mut line = lowest(canvas);
        let hints = shared.command_hints(&self.0.text);
        let ascii = line.theme.ascii;
        let hints: Vec<String> = hints.iter().take(8).map(|hint| one_line(hint, 30, ascii)).collect();
        let strip = self.0.onto(line.strip().put(" :", Role::Key), line.width() / 2);
        line.line(0, strip.dim(format!("   {}", hints.join("  "))));
    }
}

/// What is looked for on the screen, being typed.
#[derive(Debug)]
pub struct FindLine {
    input: Input,
    /// Whether the screen goes to the first place found.
    jumps: bool,
}

impl FindLine {
    pub fn on(screen: On) -> FindLine {
        FindLine {
            input: Input::default(),
            jumps: screen != On::Browse,
        }
    }
}

impl Overlay for FindLine {
    fn press(&mut self, key: KeyEvent, shared: &mut Shared) -> bool {
        match key.code {
            KeyCode::Esc => shared.find = None,
            KeyCode::Enter => {
                shared.find = Find::new(&self.input.text);
                if self.jumps && shared.find.is_some() {
                    shared.go(Next::Act(Action::FindNext));
                }
            }
            _ => {
                self.input.press(key);
                shared.find = Find::new(&self.input.text);
                return true;
            }
        }
        false
    }

    fn paste(&mut self, text: &str, shared: &mut Shared) {
        self.input.insert(text);
        shared.find = Find::new(&self.input.text);
    }

    fn draw(&self, canvas: &mut Canvas, _: &Shared, _: &dyn Screen) {
        let mut line = lowest(canvas);
        let strip = self.input.onto(line.strip().put(" find ", Role::Key), line.width() / 2);
        line.line(0, strip.dim("   on this screen · n next · Esc"));
    }
}

/// A note on a row, being typed.
#[derive(Debug)]
pub struct NoteLine {
    row: u32,
    input: Input,
}

impl NoteLine {
    /// Opens the line for a note on the row that is read.
    pub fn open(shared: &mut Shared, row: Option<u32>) {
        if let Some(row) = row {
            let input = Input::new(shared.workspace.notes.text(row));
            shared.go(Next::Open(Box::new(NoteLine { row, input })));
        }
    }
}

impl Overlay for NoteLine {
    fn press(&mut self, key: KeyEvent, shared: &mut Shared) -> bool {
        match key.code {
            KeyCode::Esc => return false,
            KeyCode::Enter => {
                let text = self.input.text.trim().to_owned();
                if text != shared.workspace.notes.text(self.row) {
                    shared.say("note kept  (note:WORD filters, u takes it back)");
                    shared.annotate(self.row, "note", |note| note.note = text);
                }
                return false;
            }
            _ => {
                self.input.press(key);
            }
        }
        true
    }

    fn paste(&mut self, text: &str, _: &mut Shared) {
        self.input.insert(text);
    }

    fn draw(&self, canvas: &mut Canvas, shared: &Shared, below: &dyn Screen) {
        if let Some(place) = below.note_place(shared) {
            let mut line = canvas.at(place);
            line.clear();
            let room = line.width().saturating_sub(10);
            line.line(0, self.input.onto(line.strip().dim(" note: "), room));
            return;
        }
        let mut line = lowest(canvas);
        let room = line.width().saturating_sub(40);
        let strip = self.input.onto(line.strip().put(" note ", Role::Key), room);
        line.line(0, strip.dim("   ⏎ keeps · Esc"));
    }
}

/// Asks whether a run at work is to be stopped, or what is not written yet to be lost.
#[derive(Debug)]
pub struct Quitting;

impl Quitting {
    pub fn is_needed(shared: &Shared) -> bool {
        shared.is_working() || shared.session.has_unkept_notes || shared.writing.is_some()
    }

    fn leave(shared: &mut Shared) {
        if shared.is_working() {
            shared.go(Next::Command("stop".to_owned()));
        } else {
            shared.exit(How::Done);
        }
    }
}

impl Overlay for Quitting {
    fn press(&mut self, key: KeyEvent, shared: &mut Shared) -> bool {
        match keymap::name(key).as_str() {
            "s" if !shared.is_working() => true,
            "Q" if shared.is_working() => true,
            "s" | "y" | "q" | "Q" => {
                Quitting::leave(shared);
                false
            }
            "Esc" | "n" | "b" => false,
            _ => true,
        }
    }

    fn interrupt(&mut self, shared: &mut Shared) -> bool {
        Quitting::leave(shared);
        true
    }

    fn draw(&self, canvas: &mut Canvas, shared: &Shared, _: &dyn Screen) {
        let (title, text, key, way) = if shared.is_working() {
            let text = "Everything finished so far is saved; --resume goes on.";
            ("A run is at work", text, "s", " stop and save and quit     ")
        } else if shared.writing.is_some() {
            let text = "What is written so far would be lost.";
            ("An export is being written", text, "y", " quit all the same     ")
        } else {
            let text = "Marks and notes of this session would be lost.";
            ("Notes could not be kept", text, "y", " quit all the same     ")
        };
        let mut inner = canvas.window((62, 5), title, "");
        inner.line(0, inner.strip().text(text));
        let strip = inner.strip().put(key, Role::Key).text(way);
        inner.line(2, strip.put("Esc", Role::Key).text(" stay"));
    }
}
