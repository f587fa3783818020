//! What keys do on the regex lab.

use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::layout::Position;

use crate::tui::canvas::Canvas;
use crate::tui::event::Event;
use crate::tui::keymap::{Action, On};
use crate::tui::screen::{Hint, Mouse, Needs, Screen};
use crate::tui::shared::Shared;
use crate::tui::view::Place;
use crate::tui::worker::{Reply, Request};

use super::Lab;
use super::draw::Places;

/// Keys of the line in which the rule is typed.
const TYPING: [Hint; 5] = [
    ("⏎", "keeps"),
    ("Esc", "restores"),
    ("^u", "empties"),
    ("Tab", "what flips"),
    ("↓", "/↑ row"),
];

impl Lab {
    /// Has the rows of the view read by the rule.
    pub fn ask(&self, shared: &mut Shared) {
        if let Some(rule) = self.rule.clone().filter(|_| self.error.is_none()) {
            shared.session.lab_rule = Some(rule.clone());
            shared.ask(Request::Lab {
                number: self.number,
                typed: self.input.text.clone(),
                rule,
            });
        }
    }

    fn typed_anew(&mut self, shared: &mut Shared) {
        if self.typed() {
            self.ask(shared);
        }
    }
}

impl Screen for Lab {
    fn on(&self) -> On {
        On::Lab
    }

    fn act(&mut self, action: Action, _: &str, shared: &mut Shared) {
        let places = Places::of(shared.area);
        if let Some(by) = action.lines(places.listed()) {
            return self.step(by);
        }
        match action {
            Action::NextPane => self.next_kind(),
            Action::OpenLab => self.edit(),
            Action::PageText => self.scroll += usize::from(places.text.height.saturating_sub(2)).max(1),
            Action::Open => {
                shared.open_row(self.row_in_sight());
            }
            _ => {}
        }
    }

    fn press(&mut self, key: KeyEvent, shared: &mut Shared) -> bool {
        if !self.is_typing {
            return false;
        }
        match key.code {
            KeyCode::Enter => self.keep(),
            KeyCode::Esc => {
                // The rule is again what it was before it was edited.
                if self.restore() {
                    self.ask(shared);
                }
            }
            KeyCode::Down => self.step(1),
            KeyCode::Up => self.step(-1),
            KeyCode::Tab => self.next_kind(),
            _ => {
                if self.input.press(key) {
                    self.typed_anew(shared);
                }
            }
        }
        true
    }

    fn paste(&mut self, text: &str, shared: &mut Shared) {
        if self.is_typing {
            self.input.insert(text);
            self.typed_anew(shared);
        }
    }

    fn mouse(&mut self, _: Position, mouse: Mouse, _: &mut Shared) {
        if let Mouse::Wheel(by) = mouse {
            self.step(by);
        }
    }

    fn hear(&mut self, event: &Event, shared: &mut Shared) {
        match event {
            Event::Worker(Reply::Lab { number, report }) => self.take(*number, Arc::clone(report)),
            Event::Worker(Reply::Selected(selected)) if selected.is_complete && shared.workspace.is_current() => {
                // The rows of the view have changed: they are read again.
                self.number += 1;
                self.ask(shared);
            }
            _ => {}
        }
    }

    fn needs(&mut self, shared: &mut Shared) -> Needs {
        let height = Places::of(shared.area).listed();
        self.settle(height);
        let (cursor, rows) = (self.cursor(), self.rows());
        let near = [1, -1]
            .into_iter()
            .filter_map(|step| rows.get(cursor.at.checked_add_signed(step)?));
        Needs {
            read: self.row_in_sight().into_iter().chain(near.copied()).collect(),
            listed: Some(rows.iter().skip(cursor.top).take(height).copied().collect()),
        }
    }

    fn row(&self, _: &Shared) -> Option<u32> {
        self.row_in_sight()
    }

    fn hints(&self) -> Option<&'static [Hint]> {
        self.is_typing.then_some(&TYPING)
    }

    fn place(&self, place: &mut Place) {
        place.lab = Some(self.input.text.clone());
    }

    fn arrive(&mut self, _: &Place, _: Option<u32>) {
        self.is_typing = false;
    }

    fn draw(&self, canvas: &mut Canvas, shared: &Shared) {
        self.draw_all(canvas, &shared.workspace);
    }
}
