//! A line put together from left to right, with its columns kept.

use ratatui::style::Modifier;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::text::safe;

use super::passage::Laid;
use super::theme::{Role, Theme};

/// A line being put together.
#[derive(Debug, Clone)]
pub struct Strip<'a> {
    pub theme: &'a Theme,
    pieces: Vec<Piece>,
    width: usize,
}

#[derive(Debug, Clone)]
struct Piece {
    text: String,
    role: Role,
    is_underlined: bool,
}

impl<'a> Strip<'a> {
    pub fn new(theme: &'a Theme) -> Strip<'a> {
        Strip {
            theme,
            pieces: Vec::new(),
            width: 0,
        }
    }

    /// Columns so far.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Adds text of our own.
    pub fn put(self, text: impl Into<String>, role: Role) -> Strip<'a> {
        self.piece(text.into(), role, false)
    }

    fn piece(mut self, text: String, role: Role, is_underlined: bool) -> Strip<'a> {
        self.width += text.width();
        if !text.is_empty() {
            self.pieces.push(Piece {
                text,
                role,
                is_underlined,
            });
        }
        self
    }

    /// Adds plain text of our own.
    pub fn text(self, text: impl Into<String>) -> Strip<'a> {
        self.put(text, Role::Plain)
    }

    /// Adds text that is read later: units, help.
    pub fn dim(self, text: impl Into<String>) -> Strip<'a> {
        self.put(text, Role::Dim)
    }

    /// Adds text that is read first.
    pub fn strong(self, text: impl Into<String>) -> Strip<'a> {
        self.put(text, Role::Strong)
    }

    /// Adds underlined text of our own: the one of several that is in focus.
    pub fn underlined(self, text: impl Into<String>, role: Role) -> Strip<'a> {
        self.piece(text.into(), role, true)
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

    /// Adds a line of a text.
    pub fn join_laid(self, laid: Laid) -> Strip<'a> {
        let spans = laid.spans.into_iter();
        spans.fold(self, |strip, (text, role)| strip.put(text, role))
    }

    /// A share in 0-1 as a bar of `width` cells, its interval as a lighter end.
    pub fn interval_bar(mut self, share: f64, interval: Option<(f64, f64)>, width: usize) -> Strip<'a> {
        let (low, high) = interval.unwrap_or((share, share));
        let cells: Vec<(char, Role)> = (0..width)
            .map(|cell| match (cell as f64 + 0.5) / width as f64 {
                middle if middle < low => ('█', Role::BarFull),
                middle if middle < share => ('▓', Role::BarLow),
                middle if middle < high => ('▒', Role::BarHigh),
                _ => ('·', Role::BarEmpty),
            })
            .collect();
        for run in cells.chunk_by(|a, b| a.1 == b.1) {
            self = self.put(run.iter().map(|(c, _)| *c).collect::<String>(), run[0].1);
        }
        self
    }

    /// A share of rows that is no accuracy, in 0-1.
    pub fn share_bar(self, share: f64, width: usize, role: Role) -> Strip<'a> {
        let full = ((share * width as f64).round() as usize).min(width);
        self.put("█".repeat(full), role)
            .put("·".repeat(width - full), Role::BarEmpty)
    }

    /// A count as a solid bar, to eighths of a cell.
    pub fn solid_bar(self, count: usize, most: usize, width: usize, role: Role) -> Strip<'a> {
        const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
        let eighths = (count * width * 8 + most / 2).checked_div(most).unwrap_or(0);
        let eighths = if count > 0 { eighths.max(1) } else { 0 };
        self.put(format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8]), role)
    }

    /// How much of a whole is done.
    pub fn progress_bar(self, done: usize, all: usize, width: usize) -> Strip<'a> {
        let full = (done * width).checked_div(all).unwrap_or(0).min(width);
        self.put("█".repeat(full), Role::Bar)
            .put("░".repeat(width - full), Role::BarEmpty)
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
        let theme = self.theme;
        let span = |piece: Piece| {
            let style = theme.style(piece.role);
            let more = if piece.is_underlined {
                Modifier::UNDERLINED
            } else {
                Modifier::empty()
            };
            Span::styled(piece.text, style.add_modifier(more))
        };
        self.pieces.into_iter().map(span).collect()
    }

    /// The line among those of a text.
    pub fn laid(self) -> Laid {
        let spans = self.pieces.into_iter().map(|piece| (piece.text, piece.role)).collect();
        Laid { spans, start: 0 }
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

    const THEME: Theme = Theme::PLAIN;

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
    fn the_interval_is_a_lighter_end_of_the_bar() {
        let bar = |share, interval, width| shown(Strip::new(&THEME).interval_bar(share, interval, width));
        assert_eq!(bar(0.4, Some((0.2, 0.6)), 10), "██▓▓▒▒····");
        assert_eq!(bar(1.0, None, 4), "████");
    }

    #[test]
    fn the_smallest_count_still_shows() {
        let bar = |count, most, width| shown(Strip::new(&THEME).solid_bar(count, most, width, Role::Plain));
        assert_eq!(bar(1, 10_000, 8), "▏");
        assert_eq!(bar(0, 10_000, 8), "");
        assert_eq!(bar(5, 5, 3), "███");
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
