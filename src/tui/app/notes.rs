//! Marks and notes on rows: changed here, kept by an effect.

use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Rect;

use crate::tui::keymap::Screen;
use crate::tui::widgets::Input;

use super::{App, Effect, Overlay};

impl App {
    pub(super) fn mark(&mut self) {
        let Some(row) = self.row_in_sight() else { return };
        let request = self.workspace.annotate(row, "mark", |note| note.marked = !note.marked);
        self.ask(request);
        self.keep_notes();
        let count = self.workspace.notes.marked().count();
        self.say(format!(
            "{count} marked{}",
            if count > 0 {
                "  (' goes to the next, marked filters)"
            } else {
                ""
            }
        ));
    }

    /// Goes to the next row of the view that is marked.
    pub(super) fn next_mark(&mut self) {
        let from = self.workspace.cursor.at;
        let marked = self.workspace.notes.marked();
        let places: Vec<usize> = marked.filter_map(|row| self.workspace.place(row)).collect();
        let later = places.iter().filter(|at| **at > from).min();
        let next = later.or(places.iter().min()).copied();
        match next {
            Some(at) => self.go_to_place(at),
            None => self.say("no marked row here; m marks one"),
        }
    }

    /// Opens the line for a note on the row that is read.
    pub(super) fn open_note(&mut self) {
        if let Some(row) = self.row_in_sight() {
            let text = self.workspace.notes.text(row).to_owned();
            self.overlay = Some(Overlay::Note(row, Input::new(text)));
        }
    }

    pub(super) fn press_note(&mut self, row: u32, mut input: Input, key: KeyEvent) {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Esc => return,
            KeyCode::Char('c') if control => return,
            KeyCode::Enter => {
                let text = input.text.trim().to_owned();
                if text == self.workspace.notes.text(row) {
                    return;
                }
                let request = self.workspace.annotate(row, "note", |note| note.note = text);
                self.ask(request);
                self.keep_notes();
                self.say("note kept  (note:WORD filters, u takes it back)");
                return;
            }
            _ => {
                input.press(key);
            }
        }
        self.overlay = Some(Overlay::Note(row, input));
    }

    /// `b`: key and picks are hidden until the person has answered, or shown again.
    pub(super) fn toggle_blind(&mut self) {
        self.workspace.is_blind = !self.workspace.is_blind;
        self.say(if self.workspace.is_blind {
            "blind: A-J answers, n and N go on, b ends it"
        } else {
            "key and picks are shown again"
        });
    }

    /// Keys that mean something else in blind mode; false for the others.
    pub(super) fn press_blind(&mut self, name: &str) -> bool {
        if !self.workspace.is_blind || !matches!(self.screen(), Screen::Browse | Screen::Question) {
            return false;
        }
        let letter = match name.as_bytes() {
            [letter @ b'A'..=b'J'] => char::from(*letter),
            [b'n'] => {
                self.next_question(1);
                return true;
            }
            [b'N'] => {
                self.next_question(-1);
                return true;
            }
            _ => return false,
        };
        let Some(row) = self.row_in_sight() else { return true };
        let request = self.workspace.annotate(row, "answer", |note| note.label = Some(letter));
        self.ask(request);
        self.keep_notes();
        let key = self
            .workspace
            .rows()
            .map(|rows| rows.answer.get(row as usize).to_owned());
        let key = key.unwrap_or_default();
        let verdict = if key == letter.to_string() {
            "as the key"
        } else {
            "the key says otherwise"
        };
        self.say(format!("you: {letter}, key: {key} ({verdict}); n goes on"));
        true
    }

    /// The next row of another question.
    fn next_question(&mut self, by: isize) {
        let (Some(row), Some(snapshot)) = (self.workspace.row(), self.workspace.snapshot.clone()) else {
            return;
        };
        let rows = &self.workspace.selected.rows;
        let mut at = self.workspace.cursor.at;
        let own = snapshot.question(row);
        while let Some(next) = at.checked_add_signed(by).filter(|next| *next < rows.len()) {
            at = next;
            if snapshot.question(rows[at]) != own {
                break;
            }
        }
        self.go_to_place(at);
    }

    /// Writes the notes as they stand into the data directory.
    pub(super) fn keep_notes(&mut self) {
        let Some(snapshot) = self.workspace.snapshot.as_deref() else {
            return;
        };
        self.has_unkept_notes = true;
        if self.has_unreadable_notes {
            self.warn("the notes of earlier sessions cannot be read, so that new ones are not written over them");
            return;
        }
        let effect = Effect::Keep(Arc::clone(&snapshot.trace), Arc::clone(&self.workspace.notes));
        self.effect(effect);
    }

    /// The notes were written, or why not.
    pub(super) fn kept(&mut self, outcome: Result<(), String>) {
        match outcome {
            Ok(()) => self.has_unkept_notes = false,
            Err(error) => self.warn(error),
        }
    }

    /// The note that is typed on the Question screen, which has a line for it.
    pub(super) fn note_line(&self, area: Rect) -> Option<&Input> {
        let has_line = self.screen() == Screen::Question && area.height >= 20;
        match &self.overlay {
            Some(Overlay::Note(_, input)) if has_line => Some(input),
            _ => None,
        }
    }
}
