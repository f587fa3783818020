//! The small things that panes are made of: frames, bars, list cursors, a line of typed text.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Clear, Widget};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::passage::Laid;
use super::theme::{Role, Theme};

/// Draws a frame with a title and a remark at the lower right; gives back the room inside.
pub fn frame(buffer: &mut Buffer, area: Rect, title: &str, remark: &str, focused: bool, theme: &Theme) -> Rect {
    let role = if focused { Role::Focus } else { Role::Border };
    let title_role = if focused { Role::Focus } else { Role::Title };
    let mut block = Block::new()
        .borders(Borders::ALL)
        .border_style(theme.style(role).remove_modifier(ratatui::style::Modifier::REVERSED));
    if !title.is_empty() {
        block = block.title(Line::from(vec![
            Span::styled(
                "─ ",
                theme.style(role).remove_modifier(ratatui::style::Modifier::REVERSED),
            ),
            Span::styled(title.to_owned(), theme.style(title_role)),
            Span::raw(" "),
        ]));
    }
    if !remark.is_empty() {
        let remark = Line::from(vec![
            Span::styled(format!(" {remark} "), theme.style(Role::Dim)),
            Span::raw(""),
        ]);
        block = block.title_bottom(remark.right_aligned());
    }
    let inner = block.inner(area);
    block.render(area, buffer);
    inner
}

/// The same above what is drawn already.
pub fn window(buffer: &mut Buffer, area: Rect, title: &str, remark: &str, theme: &Theme) -> Rect {
    Clear.render(area, buffer);
    let inner = frame(buffer, area, title, remark, true, theme);
    Rect {
        x: inner.x + 1,
        width: inner.width.saturating_sub(2),
        ..inner
    }
}

/// A rectangle of at most the given size in the middle of another.
pub fn centered(area: Rect, width: u16, height: u16) -> Rect {
    let width = width.min(area.width);
    let height = height.min(area.height);
    Rect::new(
        area.x + (area.width - width) / 2,
        area.y + (area.height - height) / 2,
        width,
        height,
    )
}

/// Marks a line as the one under the cursor.
pub fn select_line(buffer: &mut Buffer, area: Rect, row: u16, theme: &Theme) {
    let line = Rect {
        y: area.y + row,
        height: 1,
        ..area
    };
    buffer.set_style(line.intersection(area), theme.style(Role::Selected));
}

/// Draws a line of styled spans, cut at the width.
pub fn line(buffer: &mut Buffer, area: Rect, row: u16, spans: Vec<Span<'_>>) {
    if row < area.height {
        buffer.set_line(area.x, area.y + row, &Line::from(spans), area.width);
    }
}

/// Draws text at the right end of a line.
pub fn right(buffer: &mut Buffer, area: Rect, row: u16, spans: Vec<Span<'_>>) {
    let line = Line::from(spans);
    let width = (line.width() as u16).min(area.width);
    if row < area.height {
        buffer.set_line(area.right() - width, area.y + row, &line, width);
    }
}

/// Draws laid-out text from a line on.
pub fn laid(buffer: &mut Buffer, area: Rect, lines: &[Laid], from: usize, theme: &Theme) {
    for (row, laid) in lines.iter().skip(from).take(usize::from(area.height)).enumerate() {
        let spans = laid
            .spans
            .iter()
            .map(|(text, role)| Span::styled(text.as_str(), theme.style(*role)))
            .collect();
        line(buffer, area, row as u16, spans);
    }
}

/// A share in 0-1 as a bar of `width` cells up to `scale`, its interval as a lighter end.
pub fn interval_bar(
    share: f64,
    interval: Option<(f64, f64)>,
    scale: f64,
    width: usize,
    theme: &Theme,
) -> Vec<Span<'static>> {
    let (low, high) = interval.unwrap_or((share, share));
    let mut cells: Vec<(char, Role)> = Vec::with_capacity(width);
    for cell in 0..width {
        let middle = (cell as f64 + 0.5) / width as f64 * scale;
        cells.push(if middle < low {
            ('█', Role::BarFull)
        } else if middle < share {
            ('▓', Role::BarLow)
        } else if middle < high {
            ('▒', Role::BarHigh)
        } else {
            ('·', Role::BarEmpty)
        });
    }
    runs(&cells, theme)
}

/// A share of rows that is no accuracy, in 0-1.
pub fn share_bar(share: f64, width: usize, role: Role, theme: &Theme) -> Vec<Span<'static>> {
    let full = ((share * width as f64).round() as usize).min(width);
    vec![
        Span::styled("█".repeat(full), theme.style(role)),
        Span::styled("·".repeat(width - full), theme.style(Role::BarEmpty)),
    ]
}

/// A count as a solid bar, to eighths of a cell.
pub fn solid_bar(count: usize, most: usize, width: usize, role: Role, theme: &Theme) -> Span<'static> {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = if most == 0 {
        0
    } else {
        (count * width * 8 + most / 2) / most
    };
    let eighths = if count > 0 { eighths.max(1) } else { 0 };
    Span::styled(
        format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8]),
        theme.style(role),
    )
}

/// How much of a whole is done.
pub fn progress_bar(done: usize, all: usize, width: usize, theme: &Theme) -> Vec<Span<'static>> {
    let full = if all == 0 { 0 } else { (done * width / all).min(width) };
    vec![
        Span::styled("█".repeat(full), theme.style(Role::BarFull)),
        Span::styled("░".repeat(width - full), theme.style(Role::BarEmpty)),
    ]
}

fn runs(cells: &[(char, Role)], theme: &Theme) -> Vec<Span<'static>> {
    cells
        .chunk_by(|a, b| a.1 == b.1)
        .map(|run| Span::styled(run.iter().map(|(c, _)| *c).collect::<String>(), theme.style(run[0].1)))
        .collect()
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

    /// The text with its cursor, the cursor kept in sight.
    pub fn spans(&self, width: usize, theme: &Theme) -> Vec<Span<'static>> {
        let before = typed(&self.text[..self.cursor], theme);
        let under = self.text[self.cursor..].graphemes(true).next().unwrap_or(" ");
        let after_at = (self.cursor + under.len()).min(self.text.len());
        let under = if self.cursor == self.text.len() { " " } else { under };
        let room = width.saturating_sub(under.width() + 1);
        let mut from = 0;
        while before[from..].width() > room {
            from += before[from..].graphemes(true).next().map_or(1, str::len);
        }
        vec![
            Span::raw(before[from..].to_owned()),
            Span::styled(typed(under, theme), theme.style(Role::Cursor)),
            Span::raw(typed(&self.text[after_at..], theme)),
        ]
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

    const THEME: Theme = Theme {
        color: false,
        ascii: false,
    };

    #[test]
    fn the_interval_is_a_lighter_end_of_the_bar() {
        let bar: String = interval_bar(0.4, Some((0.2, 0.6)), 1.0, 10, &THEME)
            .iter()
            .map(|s| s.content.to_string())
            .collect();
        assert_eq!(bar, "██▓▓▒▒····");
        let whole: String = interval_bar(1.0, None, 1.0, 4, &THEME)
            .iter()
            .map(|s| s.content.to_string())
            .collect();
        assert_eq!(whole, "████");
    }

    #[test]
    fn the_smallest_count_still_shows() {
        assert_eq!(solid_bar(1, 10_000, 8, Role::Plain, &THEME).content, "▏");
        assert_eq!(solid_bar(0, 10_000, 8, Role::Plain, &THEME).content, "");
        assert_eq!(solid_bar(5, 5, 3, Role::Plain, &THEME).content, "███");
    }

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
