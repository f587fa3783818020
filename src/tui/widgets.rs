//! The small things that panes are made of: list cursors, a line of typed text.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::strip::Strip;
use super::theme::{Role, Theme};

/// A text on the screen: lines it has, and lines in sight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    pub lines: usize,
    pub height: usize,
}

impl Extent {
    /// The first line in sight when the end is.
    pub fn last(self) -> usize {
        self.lines.saturating_sub(self.height)
    }

    /// The first line in sight after scrolling by lines, no further than to the end.
    pub fn scrolled(self, from: usize, by: isize) -> usize {
        from.min(self.last()).saturating_add_signed(by).min(self.last())
    }

    /// The same after a page; at the end back at the beginning.
    pub fn paged(self, from: usize) -> usize {
        if from >= self.last() {
            0
        } else {
            self.scrolled(from, self.height.saturating_sub(1).max(1) as isize)
        }
    }

    /// How far it is read, to stand at a frame's edge: the share above the lower edge; nothing where all is in sight.
    pub fn share(self, from: usize) -> String {
        if self.last() == 0 {
            String::new()
        } else {
            format!("{}%", (from + self.height).min(self.lines) * 100 / self.lines)
        }
    }
}

/// A place in a list and the first line in sight.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cursor {
    pub at: usize,
    pub top: usize,
}

impl Cursor {
    pub fn step(&mut self, by: isize, len: usize) {
        self.at = self.at.saturating_add_signed(by).min(len.saturating_sub(1));
    }

    /// Moves the window so that the cursor is in it.
    pub fn settle(&mut self, len: usize, height: usize) {
        self.at = self.at.min(len.saturating_sub(1));
        let height = height.max(1);
        self.top = self
            .top
            .min(self.at)
            .max((self.at + 1).saturating_sub(height))
            .min(len.saturating_sub(height));
    }
}

/// A line of typed text with its cursor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Input {
    pub text: String,
    /// Byte of the cursor; always at a cluster's edge.
    pub cursor: usize,
}

impl Input {
    pub fn new(text: impl Into<String>) -> Input {
        let text = text.into();
        Input {
            cursor: text.len(),
            text,
        }
    }

    /// Edits by a key; true where the text changed.
    pub fn press(&mut self, key: KeyEvent) -> bool {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('u') if control => self.remove(0, self.cursor),
            KeyCode::Char('k') if control => self.remove(self.cursor, self.text.len()),
            KeyCode::Char('w') if control => self.remove(self.word_before(), self.cursor),
            KeyCode::Char('a') if control => self.go(0),
            KeyCode::Char('e') if control => self.go(self.text.len()),
            KeyCode::Char('h') if control => self.remove(self.before(), self.cursor),
            KeyCode::Char(_) if control => false,
            KeyCode::Char(c) if c.is_control() => false,
            KeyCode::Char(c) => {
                self.insert(&c.to_string());
                true
            }
            KeyCode::Backspace => self.remove(self.before(), self.cursor),
            KeyCode::Delete => self.remove(self.cursor, self.after()),
            KeyCode::Left => self.go(self.before()),
            KeyCode::Right => self.go(self.after()),
            KeyCode::Home => self.go(0),
            KeyCode::End => self.go(self.text.len()),
            _ => false,
        }
    }

    pub fn insert(&mut self, text: &str) {
        self.text.insert_str(self.cursor, text);
        self.cursor += text.len();
    }

    fn go(&mut self, to: usize) -> bool {
        self.cursor = to;
        false
    }

    fn remove(&mut self, from: usize, to: usize) -> bool {
        self.text.drain(from..to);
        self.cursor = from;
        from < to
    }

    fn before(&self) -> usize {
        self.text[..self.cursor]
            .grapheme_indices(true)
            .next_back()
            .map_or(0, |(at, _)| at)
    }

    fn after(&self) -> usize {
        self.text[self.cursor..]
            .graphemes(true)
            .next()
            .map_or(self.cursor, |cluster| self.cursor + cluster.len())
    }

    fn word_before(&self) -> usize {
        let trimmed = self.text[..self.cursor].trim_end();
        trimmed.rfind(' ').map_or(0, |at| at + 1)
    }

    /// Adds the text with its cursor to a line, the cursor kept in sight.
    pub fn onto<'a>(&self, strip: Strip<'a>, width: usize) -> Strip<'a> {
        let theme = strip.theme;
        let before = typed(&self.text[..self.cursor], theme);
        let under = self.text[self.cursor..].graphemes(true).next().unwrap_or(" ");
        let after_at = (self.cursor + under.len()).min(self.text.len());
        let room = width.saturating_sub(under.width() + 1);
        let mut from = 0;
        while before[from..].width() > room {
            from += before[from..].graphemes(true).next().map_or(1, str::len);
        }
        strip
            .text(&before[from..])
            .put(typed(under, theme), Role::Cursor)
            .text(typed(&self.text[after_at..], theme))
    }
}

/// Typed or pasted text, every blank kept.
fn typed(text: &str, theme: &Theme) -> String {
    crate::text::safe::clusters(text, theme.ascii)
        .map(|cluster| cluster.shown)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typed_text_is_edited_by_whole_clusters() {
        let mut input = Input::new("a👩\u{200d}💻");
        assert!(input.press(KeyCode::Backspace.into()));
        assert_eq!(input.text, "a");
        input.insert("bc de");
        input.press(KeyEvent::new(KeyCode::Char('w'), KeyModifiers::CONTROL));
        assert_eq!(input.text, "abc ");
        input.press(KeyCode::Home.into());
        input.press(KeyCode::Delete.into());
        assert_eq!((input.text.as_str(), input.cursor), ("bc ", 0));
    }

    #[test]
    fn a_list_window_follows_its_cursor() {
        let mut cursor = Cursor::default();
        cursor.step(30, 100);
        cursor.settle(100, 10);
        assert_eq!(cursor, Cursor { at: 30, top: 21 });
        cursor.settle(5, 10);
        assert_eq!(cursor, Cursor { at: 4, top: 0 });
    }
}
