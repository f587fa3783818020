//! A list to choose from by typing a few letters: categories, columns, causes, and the keys themselves.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::{Position, Rect};
use unicode_width::UnicodeWidthStr;

use crate::text::thousands;
use crate::tui::canvas::{Canvas, middle};
use crate::tui::event::Event;
use crate::tui::screen::{Mouse, Overlay, Screen};
use crate::tui::shared::{Choice, Shared};
use crate::tui::theme::Role;
use crate::tui::widgets::{Cursor, Input};
use crate::tui::worker::Reply;

#[derive(Debug, Clone, Default)]
pub struct Entry {
    pub label: String,
    pub detail: String,
    pub count: Option<usize>,
    pub choice: Choice,
    /// What entries that belong together are headed by.
    pub group: &'static str,
    /// Other words by which it is found.
    pub words: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Category,
    Sort,
    Alike,
    Keys,
    Runs,
}

#[derive(Debug)]
pub struct Picker {
    kind: Kind,
    title: String,
    entries: Vec<Entry>,
    input: Input,
    cursor: Cursor,
    /// Columns of the labels.
    label: usize,
}

impl Picker {
    pub fn new(kind: Kind, title: &str, entries: Vec<Entry>) -> Picker {
        let label = entries
            .iter()
            .map(|entry| entry.label.width())
            .max()
            .unwrap_or(0)
            .clamp(4, 34);
        Picker {
            kind,
            title: title.to_owned(),
            entries,
            input: Input::default(),
            cursor: Cursor::default(),
            label,
        }
    }

    /// The same with the cursor on an entry.
    #[must_use]
    pub fn starting_at(mut self, at: usize) -> Picker {
        self.cursor.at = at;
        self
    }

    /// Exchanges the entries, keeping what was typed.
    fn refill(&mut self, entries: Vec<Entry>) {
        let fresh = Picker::new(self.kind, &self.title, entries);
        self.entries = fresh.entries;
        self.label = fresh.label;
    }

    /// The entries that fit what is typed: those that begin so first, then those with a word that does, then the rest.
    fn fitting(&self) -> Vec<&Entry> {
        let typed = self.input.text.trim().to_lowercase();
        let begins = |text: &str| {
            text.to_lowercase()
                .split([' ', '_', ':'])
                .any(|word| word.starts_with(&typed))
        };
        let rank = |entry: &Entry| {
            let label = entry.label.to_lowercase();
            if label.starts_with(&typed) || begins(&entry.words) {
                Some(0)
            } else if begins(&label) {
                Some(1)
            } else if label.contains(&typed) || entry.detail.to_lowercase().contains(&typed) {
                Some(2)
            } else {
                None
            }
        };
        let mut fitting: Vec<(usize, &Entry)> = self
            .entries
            .iter()
            .filter_map(|entry| Some((rank(entry)?, entry)))
            .collect();
        fitting.sort_by_key(|(rank, _)| *rank);
        fitting.into_iter().map(|(_, entry)| entry).collect()
    }

    fn place(&self, area: Rect) -> Rect {
        let width = match self.kind {
            Kind::Keys => 100,
            _ => (self.label + 34).clamp(48, 72),
        };
        let room = usize::from(area.height).saturating_sub(4);
        middle(area, (width, (self.entries.len() + 4).min(room).max(8)))
    }

    /// Why there is nothing to choose.
    fn nothing(&self) -> &'static str {
        match self.kind {
            Kind::Runs if self.entries.is_empty() => "no other run is open: type a path, ⏎ opens it",
            _ => "nothing fits",
        }
    }
}

/// Picks: takes what is chosen and closes.
fn choose(shared: &mut Shared, choice: &Choice) -> bool {
    shared.choose(choice.clone());
    false
}

impl Overlay for Picker {
    fn press(&mut self, key: KeyEvent, shared: &mut Shared) -> bool {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let fitting = self.fitting();
        let count = fitting.len();
        match key.code {
            KeyCode::Esc => return false,
            KeyCode::Enter => {
                let typed = self.input.text.trim();
                return match fitting.get(self.cursor.at) {
                    Some(entry) => choose(shared, &entry.choice),
                    None if self.kind == Kind::Runs && !typed.is_empty() => {
                        choose(shared, &Choice::CompareFile(typed.into()))
                    }
                    None => true,
                };
            }
            KeyCode::Down | KeyCode::Tab => self.cursor.step(1, count),
            KeyCode::Up | KeyCode::BackTab => self.cursor.step(-1, count),
            KeyCode::Char('n') if control => self.cursor.step(1, count),
            KeyCode::Char('p') if control => self.cursor.step(-1, count),
            KeyCode::PageDown => self.cursor.step(10, count),
            KeyCode::PageUp => self.cursor.step(-10, count),
            KeyCode::Backspace if self.input.text.is_empty() => return false,
            _ => {
                if self.input.press(key) {
                    self.cursor = Cursor::default();
                }
            }
        }
        true
    }

    fn paste(&mut self, text: &str, _: &mut Shared) {
        self.input.insert(text);
        self.cursor = Cursor::default();
    }

    fn mouse(&mut self, at: Position, mouse: Mouse, shared: &mut Shared) -> bool {
        let (place, fitting) = (self.place(shared.area), self.fitting());
        if let Mouse::Wheel(by) = mouse {
            let count = fitting.len();
            self.cursor.step(by, count);
            return true;
        }
        if !place.contains(at) {
            return false;
        }
        let Some(row) = at.y.checked_sub(place.y + 3) else {
            return true;
        };
        let mut cursor = self.cursor;
        cursor.settle(fitting.len(), usize::from(place.height.saturating_sub(4)));
        let clicked = fitting.get(cursor.top + usize::from(row));
        clicked.is_none_or(|entry| choose(shared, &entry.choice))
    }

    fn hear(&mut self, event: &Event, shared: &mut Shared) -> bool {
        match (event, self.kind) {
            (Event::Worker(Reply::Counted { report, subjects, .. }), Kind::Category) => {
                self.refill(shared.counted(report, subjects));
            }
            (Event::SavedRuns(saved), Kind::Runs) if !saved.is_empty() => self.refill(shared.run_entries()),
            _ => {}
        }
        true
    }

    fn draw(&self, canvas: &mut Canvas, _: &Shared, _: &dyn Screen) {
        let fitting = self.fitting();
        let action = if self.kind == Kind::Keys { "presses" } else { "takes" };
        let remark = format!("type to narrow · {} {action} · Esc", canvas.theme.key_name("⏎"));
        let place = self.place(canvas.area());
        let mut inner = canvas.window_at(place, &self.title, &remark);
        let width = inner.width();
        let typed = self
            .input
            .onto(inner.strip().put("› ", Role::Key), width.saturating_sub(3));
        inner.line(0, typed);
        let height = inner.height().saturating_sub(2);
        let mut cursor = self.cursor;
        cursor.settle(fitting.len(), height);
        if fitting.len() > height {
            let seen = format!("{}-{} of {}", cursor.top + 1, cursor.top + height, fitting.len());
            inner.right(0, inner.strip().dim(seen));
        }
        let mut body = inner.below(2).focus(true);
        if fitting.is_empty() {
            body.line(0, body.strip().dim(self.nothing()));
        }
        let role = match self.kind {
            Kind::Keys => Role::Key,
            _ => Role::Plain,
        };
        let longest = self.entries.iter().map(|entry| entry.group.width()).max();
        let group = longest.filter(|longest| *longest > 0).map_or(0, |longest| longest + 2);
        body.list(fitting.len(), cursor, |at, strip| {
            let entry = fitting[at];
            let is_first = at == cursor.top || fitting[at - 1].group != entry.group;
            let heading = if is_first { entry.group } else { "" };
            let count = entry.count.map(|count| format!("{:>9}", thousands(count)));
            let count = count.unwrap_or_default();
            let room = width.saturating_sub(group + self.label + 3 + count.len());
            strip
                .text(" ")
                .field(heading, group, Role::Strong)
                .field(&entry.label, self.label, role)
                .text("  ")
                .field(&entry.detail, room, Role::Dim)
                .text(count)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::theme::Theme;

    fn picker(labels: &[&str]) -> Picker {
        let entry = |label: &&str| Entry {
            label: (*label).to_owned(),
            choice: Choice::Press("m"),
            ..Entry::default()
        };
        Picker::new(Kind::Category, "x", labels.iter().map(entry).collect())
    }

    #[test]
    fn typing_narrows_and_what_begins_so_comes_first() {
        let mut shared = Shared::new(Theme::PLAIN, (80, 24));
        let mut picker = picker(&["professional law", "outlaws", "law", "math"]);
        for c in "law".chars() {
            picker.press(KeyCode::Char(c).into(), &mut shared);
        }
        let labels: Vec<&str> = picker.fitting().iter().map(|entry| entry.label.as_str()).collect();
        assert_eq!(labels, ["law", "professional law", "outlaws"]);
        assert!(!picker.press(KeyCode::Enter.into(), &mut shared));
        assert_eq!(shared.next.len(), 1, "what was chosen is done");
    }

    #[test]
    fn enter_on_nothing_stays_and_escape_closes() {
        let mut shared = Shared::new(Theme::PLAIN, (80, 24));
        let mut picker = picker(&["law"]);
        picker.press(KeyCode::Char('z').into(), &mut shared);
        assert!(picker.press(KeyCode::Enter.into(), &mut shared));
        assert!(!picker.press(KeyCode::Esc.into(), &mut shared));
    }
}
