//! A line put together from left to right, with its columns kept.

use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::text::safe;
use crate::tui::theme::{Role, Theme};

/// A line being put together.
#[derive(Debug, Clone)]
pub struct Strip<'a> {
    pub theme: &'a Theme,
    spans: Vec<Span<'static>>,
    width: usize,
}

impl<'a> Strip<'a> {
    pub fn new(theme: &'a Theme) -> Strip<'a> {
        Strip {
            theme,
            spans: Vec::new(),
            width: 0,
        }
    }

    /// Columns so far.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Adds text of our own.
    pub fn put(mut self, text: impl Into<String>, role: Role) -> Strip<'a> {
        let text = text.into();
        self.width += text.width();
        self.spans.push(Span::styled(text, self.theme.style(role)));
        self
    }

    /// Adds plain text of our own.
    pub fn text(self, text: impl Into<String>) -> Strip<'a> {
        self.put(text, Role::Plain)
    }

    /// Adds foreign text, cut and padded to exactly `width` columns.
    pub fn field(self, text: &str, width: usize, role: Role) -> Strip<'a> {
        let shown = safe::one_line(text, width, self.theme.ascii);
        let padding = width.saturating_sub(shown.width());
        self.put(shown, role).text(" ".repeat(padding))
    }

    /// Adds foreign text of at most `width` columns.
    pub fn foreign(self, text: &str, width: usize, role: Role) -> Strip<'a> {
        let shown = safe::one_line(text, width, self.theme.ascii);
        self.put(shown, role)
    }

    pub fn spans(mut self, spans: Vec<Span<'static>>) -> Strip<'a> {
        self.width += spans.iter().map(Span::width).sum::<usize>();
        self.spans.extend(spans);
        self
    }

    /// Adds blanks up to a column.
    pub fn to(self, column: usize) -> Strip<'a> {
        let blanks = column.saturating_sub(self.width);
        self.text(" ".repeat(blanks))
    }

    /// Adds text that ends at the right edge of `width`, where there is room for it.
    pub fn right(self, width: usize, text: impl Into<String>, role: Role) -> Strip<'a> {
        let text = text.into();
        match width.checked_sub(self.width + text.width()) {
            Some(blanks) => self.text(" ".repeat(blanks)).put(text, role),
            None => self,
        }
    }

    /// Adds the parts that fit into `width`, with three blanks between; those before others matter more.
    pub fn parts(mut self, width: usize, parts: &[(String, Role)]) -> Strip<'a> {
        let mut is_first = true;
        for (text, role) in parts.iter().filter(|(text, _)| !text.is_empty()) {
            let gap = if is_first { 0 } else { 3 };
            if self.width + gap + text.width() <= width {
                self = self.text(" ".repeat(gap)).put(text.clone(), *role);
                is_first = false;
            }
        }
        self
    }

    pub fn line(self) -> Line<'static> {
        Line::from(self.spans)
    }
}

/// The end of a foreign text on one line of at most `width` columns, with `…` before it where it was cut.
pub fn ending(text: &str, width: usize, ascii: bool) -> String {
    // A cluster takes few bytes; what is far from the end cannot be in sight.
    let from = (text.len().saturating_sub(16 * width + 64)..)
        .find(|at| text.is_char_boundary(*at))
        .unwrap_or(0);
    let shown = safe::inline(text[from..].trim_end(), ascii);
    let shown = shown.trim_start();
    if from == 0 && shown.width() <= width {
        return shown.to_owned();
    }
    let mark = if ascii { "..." } else { "…" };
    let mut room = width.saturating_sub(mark.width());
    let mut start = shown.len();
    for (at, cluster) in shown.grapheme_indices(true).rev() {
        let Some(rest) = room.checked_sub(cluster.width()) else {
            break;
        };
        room = rest;
        start = at;
    }
    let cut = &shown[start..];
    // A blank right after the mark says nothing.
    format!("{}{}", if mark.width() <= width { mark } else { "" }, cut.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    const THEME: Theme = Theme {
        color: false,
        ascii: false,
    };

    fn shown(strip: Strip) -> String {
        strip.line().spans.iter().map(|span| span.content.to_string()).collect()
    }

    #[test]
    fn foreign_text_fills_its_field_exactly() {
        for text in [
            "law",
            "答案是答案",
            "\u{1b}[31mred",
            "",
            "high_school_government_and_politics",
        ] {
            assert_eq!(Strip::new(&THEME).field(text, 8, Role::Plain).width(), 8, "{text:?}");
        }
    }

    #[test]
    fn what_does_not_fit_is_left_out() {
        let parts = [
            ("left 42s".to_owned(), Role::Plain),
            ("11.2 q/s".to_owned(), Role::Dim),
            (String::new(), Role::Dim),
        ];
        assert_eq!(shown(Strip::new(&THEME).parts(19, &parts)), "left 42s   11.2 q/s");
        assert_eq!(shown(Strip::new(&THEME).parts(18, &parts)), "left 42s");
        assert_eq!(shown(Strip::new(&THEME).text("ab").right(6, "cd", Role::Dim)), "ab  cd");
        assert_eq!(shown(Strip::new(&THEME).text("ab").right(3, "cd", Role::Dim)), "ab");
    }

    #[test]
    fn the_end_of_a_text_is_what_shows_how_it_goes_on() {
        assert_eq!(ending("short\n", 10, false), "short");
        assert_eq!(
            ending("the perspective of the law itself.", 15, false),
            "…he law itself."
        );
        assert_eq!(ending("abc def", 4, false), "…def");
        assert_eq!(ending("答案是答案", 5, true), "...案");
        assert_eq!(ending("\u{1b}[2Jx", 3, false), "…Jx");
        assert_eq!(ending("abc", 0, false), "");
    }
}
