//! The filter line while it is typed, and as chips when it is not.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::layout::Rect;
use unicode_width::UnicodeWidthStr;

use crate::filter::{Completion, Filter, NamedFilters, State};
use crate::text::safe::{inline, one_line};
use crate::text::thousands;
use crate::tui::browse;
use crate::tui::canvas::Canvas;
use crate::tui::event::Event;
use crate::tui::keymap::On;
use crate::tui::screen::{Next, Overlay, Screen};
use crate::tui::shared::Shared;
use crate::tui::strip::Strip;
use crate::tui::theme::Role;
use crate::tui::widgets::{Cursor, Input};
use crate::tui::worker::{Reply, Request, View};

/// Completions shown at once.
const SHOWN: usize = 9;

/// The filter line being typed.
#[derive(Debug)]
pub struct FilterLine {
    input: Input,
    /// The view before, to come back by Esc.
    before: View,
    /// The row and place before.
    place: Option<(u32, Cursor)>,
    completions: Vec<Completion>,
    /// The text that the completions are for.
    completed: String,
    chosen: Option<usize>,
}

impl FilterLine {
    /// Opens the line above the screen.
    pub fn open(shared: &mut Shared) {
        let line = FilterLine::new(shared.workspace.view.clone(), shared.workspace.place_now());
        line.ask_completions(shared);
        shared.go(Next::Open(Box::new(line)));
    }

    fn ask_completions(&self, shared: &mut Shared) {
        shared.ask(Request::Complete {
            text: self.input.text.clone(),
            cursor: self.input.cursor,
        });
    }

    /// Shows the rows of what is typed.
    fn show(&self, shared: &mut Shared) {
        self.ask_completions(shared);
        shared.show_filter_for_now(self.input.text.trim().to_owned());
    }

    fn new(before: View, place: Option<(u32, Cursor)>) -> FilterLine {
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

    /// Goes to the next completion, or the one before.
    fn step(&mut self, down: bool) {
        let last = self.completions.len().min(SHOWN);
        self.chosen = match (self.chosen, down) {
            _ if last == 0 => None,
            (None, true) => Some(0),
            (None, false) => Some(last - 1),
            (Some(at), true) => Some(at + 1).filter(|at| *at < last),
            (Some(at), false) => at.checked_sub(1),
        };
    }

    /// Takes over completions, unless the line has changed since.
    fn take(&mut self, text: String, completions: Vec<Completion>) {
        if text == self.input.text {
            self.completions = completions;
            self.completed = text;
        }
    }

    /// Names of saved filters that begin as the word under the cursor stand before the words of the filter.
    fn offer(&mut self, saved: &NamedFilters) {
        let typed = &self.input.text[self.word_start()..self.input.cursor];
        let names = saved.by_name.keys().filter(|name| name.starts_with(typed));
        let named = names.map(|name| Completion {
            word: name.clone(),
            count: None,
        });
        self.completions.splice(0..0, named.collect::<Vec<_>>());
    }

    fn current(&self) -> &[Completion] {
        if self.completed == self.input.text {
            &self.completions
        } else {
            &[]
        }
    }

    /// Replaces the word under the cursor by the chosen completion, or the first.
    fn complete(&mut self, saved: &NamedFilters) -> bool {
        let Some(completion) = self.current().get(self.chosen.unwrap_or(0)) else {
            return false;
        };
        // A saved filter's name becomes its words.
        let words = saved
            .by_name
            .get(&completion.word)
            .filter(|_| completion.count.is_none());
        let is_whole = words.is_some() || completion.count.is_some();
        let word = words.unwrap_or(&completion.word).clone();
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
}

impl Overlay for FilterLine {
    fn press(&mut self, key: KeyEvent, shared: &mut Shared) -> bool {
        match key.code {
            KeyCode::Esc => {
                let before = std::mem::take(&mut self.before);
                let request = shared.workspace.come_back(before, self.place);
                shared.ask(request);
                return false;
            }
            KeyCode::Backspace | KeyCode::Enter if key.code == KeyCode::Enter || self.input.text.is_empty() => {
                if key.code == KeyCode::Enter && self.chosen.is_some() {
                    self.complete(&shared.saved);
                }
                self.show(shared);
                shared.workspace.keep(std::mem::take(&mut self.before));
                return false;
            }
            KeyCode::Down | KeyCode::Up => {
                self.step(key.code == KeyCode::Down);
                self.ask_completions(shared);
                return true;
            }
            _ => {}
        }
        let has_changed = match key.code {
            KeyCode::Tab => self.complete(&shared.saved),
            _ => {
                self.chosen = None;
                self.input.press(key)
            }
        };
        if has_changed {
            self.show(shared);
        } else {
            self.ask_completions(shared);
        }
        true
    }

    fn paste(&mut self, text: &str, shared: &mut Shared) {
        self.input.insert(text);
        self.chosen = None;
        self.show(shared);
    }

    fn hear(&mut self, event: &Event, shared: &mut Shared) -> bool {
        if let Event::Worker(Reply::Completions { text, list }) = event {
            self.take(text.clone(), list.clone());
            self.offer(&shared.saved);
        }
        true
    }

    /// Draws the line, and below it the completions above whatever stands there.
    fn draw(&self, canvas: &mut Canvas, shared: &Shared, below: &dyn Screen) {
        let area = canvas.area();
        let place = match below.on() {
            On::Browse => browse::places(area, shared).filter,
            _ => Rect { height: 1, ..area },
        };
        let mut line = canvas.at(place);
        line.clear();
        let room = line.width().saturating_sub(30).max(20);
        line.line(0, self.input.onto(line.strip().put(" / ", Role::Key), room));
        let completions = self.current();
        if completions.is_empty() {
            return;
        }
        let shown = &completions[..completions.len().min(SHOWN)];
        let longest = shown.iter().map(|completion| completion.word.width()).max();
        let widest = longest.unwrap_or(0).clamp(8, 36);
        let column = (self.input.text[..self.word_start()].width() as u16).min(place.width / 2);
        let below = Rect {
            x: place.x + column + 1,
            y: place.y + 1,
            width: widest as u16 + 14,
            height: shown.len() as u16 + 2,
        };
        let remark = match completions.len() - shown.len() {
            0 => "Tab completes".to_owned(),
            more => format!("Tab · {more} more"),
        };
        let mut inner = canvas.window_at(below, "", &remark);
        for (at, completion) in shown.iter().enumerate() {
            let count = match completion.count {
                None if shared.saved.by_name.contains_key(&completion.word) => "saved".to_owned(),
                count => count.map(thousands).unwrap_or_default(),
            };
            let strip = inner.strip().field(&completion.word, widest, Role::Plain);
            inner.line(at, strip.dim(format!(" {count:>9}")));
            if self.chosen == Some(at) {
                inner.select(at);
            }
        }
    }
}

/// Adds the words of a filter as chips: those that filter, those that do not yet, those looked for as text.
pub fn chips<'t>(mut strip: Strip<'t>, filter: &Filter) -> Strip<'t> {
    let mut end = 0;
    for word in filter.words() {
        if filter.text()[end..word.span.start].contains('|') {
            strip = strip.dim("| ");
        }
        end = word.span.end;
        let ascii = strip.theme.ascii;
        let text = one_line(&filter.text()[word.span.clone()], 40, ascii);
        strip = match word.state {
            State::Active => strip.put(format!(" {text} "), Role::Chip),
            State::AsText => strip.put(format!(" {text} "), Role::Chip).dim(" as text"),
            State::Pending => {
                let dots = strip.theme.dots();
                let why = word.why.as_deref().map(|why| inline(why, ascii));
                strip.put(
                    match why {
                        Some(why) if why.starts_with(&text) => why,
                        Some(why) => format!("{text}{dots} does not filter: {why}"),
                        None => format!("{text}{dots}"),
                    },
                    Role::Pending,
                )
            }
        };
        strip = strip.text(" ");
    }
    strip
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::theme::Theme;

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
        let mut shared = Shared::new(Theme::PLAIN, (80, 24));
        let mut line = line_with("wrong cat:\"computer s", &[("cat:\"computer science\"", Some(3))]);
        line.press(KeyCode::Tab.into(), &mut shared);
        assert_eq!(line.input.text, "wrong cat:\"computer science\" ");
        let mut line = line_with("ca", &[("cat:", None)]);
        line.press(KeyCode::Tab.into(), &mut shared);
        assert_eq!(line.input.text, "cat:");
    }

    #[test]
    fn arrows_choose_among_the_completions() {
        let mut shared = Shared::new(Theme::PLAIN, (80, 24));
        let mut line = line_with("cat:", &[("cat:law", Some(2)), ("cat:math", Some(1))]);
        line.press(KeyCode::Down.into(), &mut shared);
        line.press(KeyCode::Down.into(), &mut shared);
        assert!(!line.press(KeyCode::Enter.into(), &mut shared));
        assert_eq!(line.input.text, "cat:math ");
    }

    #[test]
    fn completions_for_an_older_text_do_nothing() {
        let mut shared = Shared::new(Theme::PLAIN, (80, 24));
        let mut line = line_with("cat:", &[("cat:law", Some(2))]);
        line.press(KeyCode::Char('m').into(), &mut shared);
        assert!(line.press(KeyCode::Tab.into(), &mut shared));
        assert_eq!(line.input.text, "cat:m");
    }
}
