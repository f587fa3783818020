//! The filter line while it is typed, and as chips when it is not.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;
use unicode_width::UnicodeWidthStr;

use crate::filter::{Completion, Filter, State};
use crate::text::safe::{inline, one_line};
use crate::text::thousands;
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::{Cursor, Input, frame, line};
use crate::tui::worker::View;

/// Completions shown at once.
const SHOWN: usize = 9;

/// The filter line being typed.
#[derive(Debug)]
pub struct FilterLine {
    pub input: Input,
    /// The view before, to come back by Esc.
    pub before: View,
    /// The row and place before.
    pub place: Option<(u32, Cursor)>,
    completions: Vec<Completion>,
    /// The text that the completions are for.
    completed: String,
    chosen: Option<usize>,
}

/// What a key did to the line.
#[derive(Debug, PartialEq, Eq)]
pub enum Pressed {
    Moved,
    Changed,
    Kept,
    Restored,
}

impl FilterLine {
    pub fn new(before: View, place: Option<(u32, Cursor)>) -> FilterLine {
        let mut text = before.filter.clone();
        if !text.is_empty() {
            text.push(' ');
        }
        FilterLine {
            input: Input::new(text),
            before,
            place,
            completions: Vec::new(),
            completed: String::new(),
            chosen: None,
        }
    }

    pub fn press(&mut self, key: KeyEvent) -> Pressed {
        match key.code {
            KeyCode::Esc => return Pressed::Restored,
            KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return Pressed::Restored,
            KeyCode::Enter => {
                if self.chosen.is_some() {
                    self.complete();
                }
                return Pressed::Kept;
            }
            KeyCode::Tab => {
                return if self.complete() {
                    Pressed::Changed
                } else {
                    Pressed::Moved
                };
            }
            KeyCode::Down | KeyCode::Up => {
                let last = self.completions.len().min(SHOWN);
                let down = key.code == KeyCode::Down;
                self.chosen = match (self.chosen, down) {
                    _ if last == 0 => None,
                    (None, true) => Some(0),
                    (None, false) => Some(last - 1),
                    (Some(at), true) => Some(at + 1).filter(|at| *at < last),
                    (Some(at), false) => at.checked_sub(1),
                };
                return Pressed::Moved;
            }
            KeyCode::Backspace if self.input.text.is_empty() => return Pressed::Kept,
            _ => {}
        }
        self.chosen = None;
        if self.input.press(key) {
            Pressed::Changed
        } else {
            Pressed::Moved
        }
    }

    pub fn paste(&mut self, text: &str) {
        let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        self.input.insert(&text);
        self.chosen = None;
    }

    /// Takes over completions, unless the line has changed since.
    pub fn take(&mut self, text: String, completions: Vec<Completion>) {
        if text == self.input.text {
            self.completions = completions;
            self.completed = text;
        }
    }

    fn current(&self) -> &[Completion] {
        if self.completed == self.input.text {
            &self.completions
        } else {
            &[]
        }
    }

    /// Replaces the word under the cursor by the chosen completion, or the first.
    fn complete(&mut self) -> bool {
        let Some(completion) = self.current().get(self.chosen.unwrap_or(0)) else {
            return false;
        };
        let (word, is_whole) = (completion.word.clone(), completion.count.is_some());
        let start = self.word_start();
        let typed = &self.input.text[start..self.input.cursor];
        if typed == word && !word.ends_with(':') {
            self.input.insert(" ");
            return true;
        }
        self.input.text.replace_range(start..self.input.cursor, &word);
        self.input.cursor = start + word.len();
        if is_whole && self.input.cursor == self.input.text.len() {
            self.input.insert(" ");
        }
        self.chosen = None;
        true
    }

    /// Where the word before the cursor begins; blanks in quotes belong to it.
    fn word_start(&self) -> usize {
        let mut start = 0;
        let mut quoted = false;
        for (at, c) in self.input.text[..self.input.cursor].char_indices() {
            match c {
                '"' => quoted = !quoted,
                ' ' if !quoted => start = at + 1,
                _ => {}
            }
        }
        start
    }

    pub fn draw(&self, buffer: &mut Buffer, area: Rect, room: Rect, theme: &Theme) {
        let mut spans = vec![Span::styled(" / ", theme.style(Role::Key))];
        spans.extend(
            self.input
                .spans(usize::from(area.width).saturating_sub(30).max(20), theme),
        );
        line(buffer, area, 0, spans);
        let completions = self.current();
        if completions.is_empty() {
            return;
        }
        let shown = &completions[..completions.len().min(SHOWN)];
        let widest = shown
            .iter()
            .map(|completion| completion.word.width())
            .max()
            .unwrap_or(0)
            .clamp(8, 36);
        let x = area.x + 3 + (self.input.text[..self.word_start()].width() as u16).min(area.width / 2);
        let place = Rect {
            x: x.saturating_sub(2),
            y: area.y + 1,
            width: widest as u16 + 14,
            height: shown.len() as u16 + 2,
        };
        let place = place.intersection(room);
        ratatui::widgets::Widget::render(ratatui::widgets::Clear, place, buffer);
        let remark = match completions.len() - shown.len() {
            0 => "Tab completes".to_owned(),
            more => format!("Tab · {more} more"),
        };
        let inner = frame(buffer, place, "", &remark, false, theme);
        for (at, completion) in shown.iter().enumerate() {
            let word = super::rows::pad(&completion.word, widest, theme);
            let count = completion.count.map(thousands).unwrap_or_default();
            let spans = vec![
                Span::raw(format!(" {word} ")),
                Span::styled(format!("{count:>9}"), theme.style(Role::Dim)),
            ];
            line(buffer, inner, at as u16, spans);
            if self.chosen == Some(at) {
                buffer.set_style(
                    Rect {
                        y: inner.y + at as u16,
                        height: 1,
                        ..inner
                    },
                    theme.style(Role::Selected),
                );
            }
        }
    }
}

/// The words of a filter as chips: those that filter, those that do not yet, those looked for as text.
pub fn chips(filter: &Filter, theme: &Theme) -> Vec<Span<'static>> {
    let mut spans = Vec::new();
    let mut end = 0;
    for word in filter.words() {
        let text = one_line(&inline(&filter.text()[word.span.clone()], theme.ascii), 40, theme.ascii);
        if filter.text()[end..word.span.start].contains('|') {
            spans.push(Span::styled("| ", theme.style(Role::Dim)));
        }
        end = word.span.end;
        match word.state {
            State::Active => spans.push(Span::styled(format!(" {text} "), theme.style(Role::Chip))),
            State::AsText => {
                spans.push(Span::styled(format!(" {text} "), theme.style(Role::Chip)));
                spans.push(Span::styled(" as text", theme.style(Role::Dim)));
            }
            State::Pending => {
                let dots = if theme.ascii { "..." } else { "…" };
                spans.push(Span::styled(format!("{text}{dots}"), theme.style(Role::Pending)));
                if let Some(why) = &word.why {
                    let why = inline(why, theme.ascii);
                    spans.push(Span::styled(
                        format!(" does not filter: {why}"),
                        theme.style(Role::Pending),
                    ));
                }
            }
        }
        spans.push(Span::raw(" "));
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line_with(text: &str, words: &[(&str, Option<usize>)]) -> FilterLine {
        let mut line = FilterLine::new(View::default(), None);
        line.input = Input::new(text);
        let list = words
            .iter()
            .map(|(word, count)| Completion {
                word: (*word).to_owned(),
                count: *count,
            })
            .collect();
        line.take(text.to_owned(), list);
        line
    }

    #[test]
    fn tab_completes_the_word_under_the_cursor() {
        let mut line = line_with("wrong cat:\"computer s", &[("cat:\"computer science\"", Some(3))]);
        assert_eq!(line.press(KeyCode::Tab.into()), Pressed::Changed);
        assert_eq!(line.input.text, "wrong cat:\"computer science\" ");
        let mut line = line_with("ca", &[("cat:", None)]);
        line.press(KeyCode::Tab.into());
        assert_eq!(line.input.text, "cat:");
    }

    #[test]
    fn arrows_choose_among_the_completions() {
        let mut line = line_with("cat:", &[("cat:law", Some(2)), ("cat:math", Some(1))]);
        line.press(KeyCode::Down.into());
        line.press(KeyCode::Down.into());
        assert_eq!(line.press(KeyCode::Enter.into()), Pressed::Kept);
        assert_eq!(line.input.text, "cat:math ");
    }

    #[test]
    fn completions_for_an_older_text_do_nothing() {
        let mut line = line_with("cat:", &[("cat:law", Some(2))]);
        line.press(KeyCode::Char('m').into());
        assert_eq!(line.press(KeyCode::Tab.into()), Pressed::Moved);
        assert_eq!(line.input.text, "cat:m");
    }
}
