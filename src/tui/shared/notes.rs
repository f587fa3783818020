//! Marks, notes and blind answers on rows: changed here, kept by an effect.

use std::sync::Arc;

use crate::notes::Note;
use crate::tui::event::Effect;
use crate::tui::screen::Screen;

use super::Shared;

impl Shared {
    /// Changes what stands on a row, shows the view anew where it asks for that, and keeps it.
    pub fn annotate(&mut self, row: u32, what: &str, change: impl FnOnce(&mut Note)) {
        let request = self.workspace.annotate(row, what, change);
        self.ask(request);
        self.keep_notes();
    }

    pub fn mark(&mut self, row: u32) {
        self.annotate(row, "mark", |note| note.marked = !note.marked);
        let count = self.workspace.notes.marked().count();
        let more = if count > 0 {
            "  (' goes to the next, marked filters)"
        } else {
            ""
        };
        self.say(format!("{count} marked{more}"));
    }

    /// Goes to the next row of the view that is marked.
    pub fn next_mark(&mut self, screen: &mut dyn Screen) {
        let from = self.workspace.cursor.at;
        let marked = self.workspace.notes.marked();
        let places: Vec<usize> = marked.filter_map(|row| self.workspace.place(row)).collect();
        let later = places.iter().filter(|at| **at > from).min();
        match later.or(places.iter().min()) {
            Some(at) => screen.go_to(*at, self),
            None => self.say("no marked row here; m marks one"),
        }
    }

    /// `b`: key and picks are hidden until the person has answered, or shown again.
    pub fn toggle_blind(&mut self) {
        self.workspace.is_blind = !self.workspace.is_blind;
        self.say(if self.workspace.is_blind {
            "blind: A-J answers, n and N go on, b ends it"
        } else {
            "key and picks are shown again"
        });
    }

    /// Keys that mean something else in blind mode; false for the others.
    pub fn press_blind(&mut self, name: &str, screen: &mut dyn Screen) -> bool {
        let letter = match name.as_bytes() {
            [letter @ b'A'..=b'J'] => char::from(*letter),
            [b'n'] => {
                self.next_question(1, screen);
                return true;
            }
            [b'N'] => {
                self.next_question(-1, screen);
                return true;
            }
            _ => return false,
        };
        let Some(row) = screen.row(self) else { return true };
        self.annotate(row, "answer", |note| note.label = Some(letter));
        let rows = self.workspace.rows();
        let key = rows.map_or_else(String::new, |rows| rows.answer.get(row as usize).to_owned());
        let verdict = if key == letter.to_string() {
            "as the key"
        } else {
            "the key says otherwise"
        };
        self.say(format!("you: {letter}, key: {key} ({verdict}); n goes on"));
        true
    }

    /// The next row of another question.
    fn next_question(&mut self, by: isize, screen: &mut dyn Screen) {
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
        screen.go_to(at, self);
    }

    /// Writes the notes as they stand into the data directory.
    pub fn keep_notes(&mut self) {
        let Some(snapshot) = self.workspace.snapshot.as_deref() else {
            return;
        };
        let trace = Arc::clone(&snapshot.trace);
        if self.session.has_unreadable_notes {
            self.session.has_unkept_notes = true;
            self.warn("the notes of earlier sessions cannot be read, so that new ones are not written over them");
            return;
        }
        self.effect(Effect::Keep(trace, Arc::clone(&self.workspace.notes)));
    }
}
