//! A list to choose from by typing a few letters: categories, columns, causes, and the keys themselves.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;
use unicode_width::UnicodeWidthStr;

use crate::text::safe::one_line;
use crate::text::thousands;
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::{Cursor, Input, centered, line, window};
use crate::tui::worker::Sort;

/// What choosing an entry does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Choice {
    /// Replaces the filter words of these kinds by this word; `None` takes them away.
    Replace(&'static [&'static str], Option<String>),
    /// Adds a word to the filter.
    Add(String),
    Sort(Sort),
    /// Compares with another run that is open, by its place.
    Compare(usize),
    /// Opens a run and compares with it.
    CompareFile(std::path::PathBuf),
    /// Presses a key.
    Press(&'static str),
}

#[derive(Debug, Clone)]
pub struct Entry {
    pub label: String,
    pub detail: String,
    pub count: Option<usize>,
    pub choice: Choice,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Category,
    Sort,
    Alike,
    Why,
    Keys,
    Runs,
}

#[derive(Debug)]
pub struct Picker {
    pub kind: Kind,
    title: String,
    entries: Vec<Entry>,
    input: Input,
    cursor: Cursor,
    /// Columns of the labels.
    label: usize,
}

/// What a key did to the picker.
#[derive(Debug, PartialEq, Eq)]
pub enum Pressed {
    Open,
    Closed,
    Chosen(Choice),
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

    /// Exchanges the entries, keeping what was typed.
    pub fn refill(&mut self, entries: Vec<Entry>) {
        let fresh = Picker::new(self.kind, &self.title, entries);
        self.entries = fresh.entries;
        self.label = fresh.label;
    }

    /// The entries that fit what is typed: those that begin so first, then those with a word that does, then the rest.
    fn fitting(&self) -> Vec<&Entry> {
        let typed = self.input.text.trim().to_lowercase();
        let rank = |entry: &Entry| {
            let label = entry.label.to_lowercase();
            if typed.is_empty() || label.starts_with(&typed) {
                Some(0)
            } else if label.split([' ', '_', ':']).any(|word| word.starts_with(&typed)) {
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

    pub fn press(&mut self, key: KeyEvent) -> Pressed {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let count = self.fitting().len();
        match key.code {
            KeyCode::Esc => return Pressed::Closed,
            KeyCode::Char('c') if control => return Pressed::Closed,
            KeyCode::Enter => {
                return match self.fitting().get(self.cursor.at) {
                    Some(entry) => Pressed::Chosen(entry.choice.clone()),
                    None => Pressed::Open,
                };
            }
            KeyCode::Down | KeyCode::Tab => self.cursor.step(1, count),
            KeyCode::Up | KeyCode::BackTab => self.cursor.step(-1, count),
            KeyCode::Char('n') if control => self.cursor.step(1, count),
            KeyCode::Char('p') if control => self.cursor.step(-1, count),
            KeyCode::PageDown => self.cursor.step(10, count),
            KeyCode::PageUp => self.cursor.step(-10, count),
            KeyCode::Backspace if self.input.text.is_empty() => return Pressed::Closed,
            _ => {
                if self.input.press(key) {
                    self.cursor = Cursor::default();
                }
            }
        }
        Pressed::Open
    }

    fn place(&self, area: Rect) -> Rect {
        let width = if self.kind == Kind::Keys {
            86
        } else {
            (self.label + 34).clamp(48, 72) as u16
        };
        let height = (self.entries.len() as u16 + 4)
            .min(area.height.saturating_sub(4))
            .max(8);
        centered(area, width, height)
    }

    /// Chooses what is clicked.
    pub fn click(&mut self, area: Rect, x: u16, y: u16) -> Pressed {
        let place = self.place(area);
        if !place.contains((x, y).into()) {
            return Pressed::Closed;
        }
        let Some(row) = usize::from(y).checked_sub(usize::from(place.y) + 3) else {
            return Pressed::Open;
        };
        let fitting = self.fitting();
        let mut cursor = self.cursor;
        cursor.settle(fitting.len(), usize::from(place.height.saturating_sub(4)));
        match fitting.get(cursor.top + row) {
            Some(entry) => Pressed::Chosen(entry.choice.clone()),
            None => Pressed::Open,
        }
    }

    pub fn wheel(&mut self, by: isize) {
        let count = self.fitting().len();
        self.cursor.step(by, count);
    }

    pub fn draw(&self, buffer: &mut Buffer, area: Rect, theme: &Theme) {
        let fitting = self.fitting();
        let action = if self.kind == Kind::Keys { "presses" } else { "takes" };
        let remark = format!("type to narrow · {} {action} · Esc", theme.key_name("⏎"));
        let place = self.place(area);
        let inner = window(buffer, place, &self.title, &remark, theme);
        let mut typed = vec![Span::styled("› ", theme.style(Role::Key))];
        typed.extend(self.input.spans(usize::from(inner.width).saturating_sub(3), theme));
        line(buffer, inner, 0, typed);
        let body = Rect {
            y: inner.y + 2,
            height: inner.height.saturating_sub(2),
            ..inner
        };
        let mut cursor = self.cursor;
        cursor.settle(fitting.len(), usize::from(body.height));
        if fitting.is_empty() {
            line(
                buffer,
                body,
                0,
                vec![Span::styled("nothing fits", theme.style(Role::Dim))],
            );
        }
        for (at, entry) in fitting
            .iter()
            .enumerate()
            .skip(cursor.top)
            .take(usize::from(body.height))
        {
            let y = (at - cursor.top) as u16;
            let count = entry
                .count
                .map(|count| format!("{:>9}", thousands(count)))
                .unwrap_or_default();
            let room = usize::from(body.width).saturating_sub(self.label + 3 + count.len());
            let label = super::rows::pad(&entry.label, self.label, theme);
            let detail = super::rows::pad(&one_line(&entry.detail, room, theme.ascii), room, theme);
            let role = if self.kind == Kind::Keys {
                Role::Key
            } else {
                Role::Plain
            };
            let spans = vec![
                Span::styled(format!(" {label}  "), theme.style(role)),
                Span::styled(detail, theme.style(Role::Dim)),
                Span::raw(count),
            ];
            line(buffer, body, y, spans);
            if at == cursor.at {
                buffer.set_style(
                    Rect {
                        y: body.y + y,
                        height: 1,
                        ..body
                    },
                    theme.style(Role::Selected),
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picker(labels: &[&str]) -> Picker {
        let entry = |label: &&str| Entry {
            label: (*label).to_owned(),
            detail: String::new(),
            count: None,
            choice: Choice::Add((*label).to_owned()),
        };
        Picker::new(Kind::Category, "x", labels.iter().map(entry).collect())
    }

    #[test]
    fn typing_narrows_and_what_begins_so_comes_first() {
        let mut picker = picker(&["professional law", "outlaws", "law", "math"]);
        for c in "law".chars() {
            picker.press(KeyCode::Char(c).into());
        }
        let labels: Vec<&str> = picker.fitting().iter().map(|entry| entry.label.as_str()).collect();
        assert_eq!(labels, ["law", "professional law", "outlaws"]);
        assert_eq!(
            picker.press(KeyCode::Enter.into()),
            Pressed::Chosen(Choice::Add("law".into()))
        );
    }

    #[test]
    fn enter_on_nothing_stays_and_escape_closes() {
        let mut picker = picker(&["law"]);
        picker.press(KeyCode::Char('z').into());
        assert_eq!(picker.press(KeyCode::Enter.into()), Pressed::Open);
        assert_eq!(picker.press(KeyCode::Esc.into()), Pressed::Closed);
    }
}
