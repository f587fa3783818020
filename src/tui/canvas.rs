//! Where drawing happens: a part of the frame. Whatever does not fit is cut; nothing is written outside the buffer,
//! whatever the size of the terminal was believed to be.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{
    Block, Borders, Clear, Scrollbar, ScrollbarOrientation, ScrollbarState, StatefulWidget, Widget,
};

use super::passage::Laid;
use super::strip::Strip;
use super::theme::{Role, Theme};
use super::widgets::Cursor;

/// A part of a buffer, and the only way to draw into it.
pub struct Canvas<'b, 't> {
    buffer: &'b mut Buffer,
    area: Rect,
    pub theme: &'t Theme,
    /// Whether the keys go here.
    pub focused: bool,
}

impl<'b, 't> Canvas<'b, 't> {
    pub fn new(buffer: &'b mut Buffer, area: Rect, theme: &'t Theme) -> Canvas<'b, 't> {
        let area = area.intersection(buffer.area);
        Canvas {
            buffer,
            area,
            theme,
            focused: false,
        }
    }

    /// What of a rectangle lies in this part.
    pub fn at(&mut self, area: Rect) -> Canvas<'_, 't> {
        Canvas {
            area: area.intersection(self.area),
            buffer: self.buffer,
            theme: self.theme,
            focused: false,
        }
    }

    #[must_use]
    pub fn focus(mut self, focused: bool) -> Canvas<'b, 't> {
        self.focused = focused;
        self
    }

    pub fn area(&self) -> Rect {
        self.area
    }

    /// Columns there are.
    pub fn width(&self) -> usize {
        usize::from(self.area.width)
    }

    /// Lines there are.
    pub fn height(&self) -> usize {
        usize::from(self.area.height)
    }

    pub fn is_empty(&self) -> bool {
        self.area.is_empty()
    }

    /// Without its first and last column.
    #[must_use]
    pub fn padded(self) -> Canvas<'b, 't> {
        Canvas {
            area: Rect {
                x: self.area.x + self.area.width.min(1),
                width: self.area.width.saturating_sub(2),
                ..self.area
            },
            ..self
        }
    }

    /// Without its first lines.
    #[must_use]
    pub fn below(self, lines: usize) -> Canvas<'b, 't> {
        let lines = (lines as u16).min(self.area.height);
        Canvas {
            area: Rect {
                y: self.area.y + lines,
                height: self.area.height - lines,
                ..self.area
            },
            ..self
        }
    }

    /// A line to be put together in the theme.
    pub fn strip(&self) -> Strip<'t> {
        Strip::new(self.theme)
    }

    /// Draws a line.
    pub fn line(&mut self, row: usize, strip: Strip<'_>) {
        self.put(row, 0, &strip.line());
    }

    /// Draws lines from the top on.
    pub fn lines(&mut self, lines: impl IntoIterator<Item = Line<'static>>) {
        for (row, line) in lines.into_iter().take(self.height()).enumerate() {
            self.put(row, 0, &line);
        }
    }

    /// Draws a line at the right end.
    pub fn right(&mut self, row: usize, strip: Strip<'_>) {
        let column = self.width().saturating_sub(strip.width());
        self.put(row, column, &strip.line());
    }

    /// Draws a line in the middle.
    pub fn centered(&mut self, row: usize, strip: Strip<'_>) {
        let column = self.width().saturating_sub(strip.width()) / 2;
        self.put(row, column, &strip.line());
    }

    fn put(&mut self, row: usize, column: usize, line: &Line<'_>) {
        if row < self.height() && column < self.width() {
            let (row, column) = (row as u16, column as u16);
            self.buffer
                .set_line(self.area.x + column, self.area.y + row, line, self.area.width - column);
        }
    }

    /// Draws laid-out text from a line on, no further than that its end is at the lower edge.
    pub fn laid(&mut self, lines: &[Laid], from: usize) {
        let from = from.min(lines.len().saturating_sub(self.height()));
        for (row, laid) in lines.iter().skip(from).take(self.height()).enumerate() {
            let strip = laid
                .spans
                .iter()
                .fold(self.strip(), |strip, (text, role)| strip.put(text.as_str(), *role));
            self.line(row, strip);
        }
        self.scrollbar(lines.len(), from);
    }

    /// Where not all lines are in sight: which are, in the column right of this part, which is a frame's edge or its padding.
    fn scrollbar(&mut self, lines: usize, from: usize) {
        let last = lines.saturating_sub(self.height());
        let column = self.area.right();
        if last == 0 || self.height() < 3 || column >= self.buffer.area.right() {
            return;
        }
        let mut state = ScrollbarState::new(last + 1)
            .position(from)
            .viewport_content_length(self.height());
        let bar = Scrollbar::new(ScrollbarOrientation::VerticalRight)
            .begin_symbol(None)
            .end_symbol(None)
            .track_symbol(None)
            .thumb_symbol("┃")
            .thumb_style(self.theme.style(Role::Dim));
        let place = Rect {
            x: column,
            width: 1,
            ..self.area
        };
        bar.render(place, self.buffer, &mut state);
    }

    /// Draws what of a list is in sight; where the keys go here, the line under the cursor is marked.
    pub fn list(&mut self, count: usize, mut cursor: Cursor, mut line: impl FnMut(usize, Strip<'t>) -> Strip<'t>) {
        cursor.settle(count, self.height());
        for (row, at) in (cursor.top..count).take(self.height()).enumerate() {
            let strip = line(at, self.strip());
            self.line(row, strip);
            if self.focused && at == cursor.at {
                self.select(row);
            }
        }
        self.scrollbar(count, cursor.top);
    }

    /// Marks a line as the one under the cursor: it gets a back, and marks keep their colours.
    pub fn select(&mut self, row: usize) {
        if row >= self.height() {
            return;
        }
        let line = Rect {
            y: self.area.y + row as u16,
            height: 1,
            ..self.area
        };
        let style = self.theme.style(Role::Selected);
        let faint = [Role::Dim, Role::Mark].map(|role| self.theme.style(role).fg);
        self.buffer.set_style(line, Style { fg: None, ..style });
        for position in line.positions() {
            if let (Some(cell), Some(front)) = (self.buffer.cell_mut(position), style.fg)
                && (cell.fg == Color::Reset || faint.contains(&Some(cell.fg)))
            {
                cell.set_fg(front);
            }
        }
    }

    /// Takes away what is drawn.
    pub fn clear(&mut self) {
        Clear.render(self.area, self.buffer);
    }

    /// Draws a frame with a title, and a remark at the lower right; gives back the room inside.
    pub fn frame(&mut self, title: &str, remark: &str) -> Canvas<'_, 't> {
        let (line, role) = if self.focused {
            (Role::Focus, Role::Focus)
        } else {
            (Role::Border, Role::Title)
        };
        let line = self.theme.style(line).remove_modifier(Modifier::REVERSED);
        let mut block = Block::new().borders(Borders::ALL).border_style(line);
        if !title.is_empty() {
            let title = Span::styled(title.to_owned(), self.theme.style(role));
            block = block.title(Line::from(vec![Span::styled("─ ", line), title, Span::raw(" ")]));
        }
        if !remark.is_empty() {
            let remark = Span::styled(format!(" {remark} "), self.theme.style(Role::Dim));
            block = block.title_bottom(Line::from(remark).right_aligned());
        }
        let inner = block.inner(self.area);
        block.render(self.area, self.buffer);
        let focused = self.focused;
        self.at(inner).focus(focused)
    }

    /// A frame of at most this size in the middle, above what is drawn already.
    pub fn window(&mut self, size: (usize, usize), title: &str, remark: &str) -> Canvas<'_, 't> {
        let place = middle(self.area, size);
        self.window_at(place, title, remark)
    }

    /// A frame above what is drawn already.
    pub fn window_at(&mut self, place: Rect, title: &str, remark: &str) -> Canvas<'_, 't> {
        let mut canvas = Canvas {
            area: place.intersection(self.area),
            buffer: self.buffer,
            theme: self.theme,
            focused: true,
        };
        canvas.clear();
        let inner = canvas.frame(title, remark).area;
        Canvas { area: inner, ..canvas }.padded()
    }

    /// Replaces drawing characters where the terminal may have none.
    pub fn finish(&mut self) {
        self.theme.finish(self.buffer);
    }
}

/// A rectangle of at most the given columns and lines in the middle of another.
pub fn middle(area: Rect, (width, height): (usize, usize)) -> Rect {
    let fit = |wanted: usize, room: u16| u16::try_from(wanted).unwrap_or(u16::MAX).min(room);
    let (width, height) = (fit(width, area.width), fit(height, area.height));
    Rect::new(
        area.x + (area.width - width) / 2,
        area.y + (area.height - height) / 2,
        width,
        height,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::passage::Passage;

    #[test]
    fn whatever_is_drawn_where_ever_stays_inside_the_buffer() {
        let lines = Passage::plain(&"答案 and more ".repeat(40)).lay(30, false);
        for (width, height) in [(0, 0), (1, 1), (2, 9), (30, 3), (9, 30)] {
            let mut buffer = Buffer::empty(Rect::new(0, 0, width, height));
            let believed = Rect::new(3, 2, 120, 40);
            let mut canvas = Canvas::new(&mut buffer, believed, &Theme::PLAIN);
            for row in [0, 5, 39, 70_000] {
                let strip = canvas.strip().text("a long line of our own that goes on and on");
                canvas.line(row, strip.clone());
                canvas.right(row, strip.clone());
                canvas.centered(row, strip);
                canvas.select(row);
            }
            canvas.frame("title", "remark").padded().below(2).laid(&lines, 7);
            canvas.at(Rect::new(100, 30, 50, 50)).frame("out", "of sight");
            canvas.window((500, 500), "over", "it").laid(&lines, 0);
            canvas.finish();
        }
    }

    #[test]
    fn a_part_lies_in_the_whole() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 10, 4));
        let mut canvas = Canvas::new(&mut buffer, Rect::new(0, 0, 10, 4), &Theme::PLAIN);
        assert_eq!(canvas.at(Rect::new(8, 1, 9, 9)).area(), Rect::new(8, 1, 2, 3));
        assert_eq!(canvas.frame("t", "").padded().area(), Rect::new(2, 1, 6, 2));
    }
}
