//! Where drawing happens: a part of the frame. Whatever does not fit is cut; nothing is written outside the buffer,
//! whatever the size of the terminal was believed to be.

use ratatui::buffer::Buffer;
use ratatui::layout::{Margin, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::merge::MergeStrategy;
use ratatui::text::{Line, Span};
use ratatui::widgets::{
    Block, Borders, Clear, Scrollbar, ScrollbarOrientation, ScrollbarState, StatefulWidget, Widget,
};

use unicode_width::UnicodeWidthStr;

use crate::text::safe::one_line;

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
    /// Columns of the first line that tabs take.
    tabs: u16,
}

impl<'b, 't> Canvas<'b, 't> {
    pub fn new(buffer: &'b mut Buffer, area: Rect, theme: &'t Theme) -> Canvas<'b, 't> {
        let area = area.intersection(buffer.area);
        Canvas {
            buffer,
            area,
            theme,
            focused: false,
            tabs: 0,
        }
    }

    /// The same with a first line of which tabs take some columns.
    #[must_use]
    pub fn with_tabs(self, tabs: u16) -> Canvas<'b, 't> {
        Canvas { tabs, ..self }
    }

    /// The first line, without the tabs.
    pub fn head(&mut self) -> Canvas<'_, 't> {
        let area = self.area;
        let tabs = self.tabs.min(area.width);
        self.at(Rect {
            x: area.x + tabs,
            width: area.width - tabs,
            height: area.height.min(1),
            ..area
        })
    }

    /// What of a rectangle lies in this part.
    pub fn at(&mut self, area: Rect) -> Canvas<'_, 't> {
        Canvas {
            area: area.intersection(self.area),
            buffer: self.buffer,
            theme: self.theme,
            focused: false,
            tabs: 0,
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

    /// Draws a pane's head, a rule with a title and at its right end a remark, and the wall to what stands left of it;
    /// gives back the room inside. Where the keys go the rule is heavy.
    pub fn frame(&mut self, title: &str, remark: &str) -> Canvas<'_, 't> {
        let (area, focused) = (self.area, self.focused);
        if area.is_empty() {
            return self.at(area);
        }
        let [whole, begins, ends] = if focused {
            ["━", "╺", "╸"]
        } else {
            ["─", "╶", "╴"]
        };
        let has_wall = area.x > 0;
        if has_wall {
            let goes_on = area.y > 0 && self.has_wall(area.x, area.y - 1);
            self.edge(area.x, area.y, if goes_on { "│" } else { "╷" }, Role::Border);
            (area.y + 1..area.bottom()).for_each(|y| self.edge(area.x, y, "│", Role::Border));
        }
        let role = if focused { Role::Focus } else { Role::Border };
        self.edge(area.x, area.y, if has_wall { begins } else { whole }, role);
        (area.x + 1..area.right()).for_each(|x| self.edge(x, area.y, whole, role));
        self.edge(area.right(), area.y, ends, role);
        let room = self.width().saturating_sub(4);
        let title = one_line(title, room, self.theme.ascii);
        let left = room.saturating_sub(title.width() + 3);
        if !title.is_empty() {
            let line = self.strip().put(format!(" {title} "), Role::Title).line();
            self.put(0, 1, &line);
        }
        if !remark.is_empty() && remark.width() <= left {
            let column = self.width() - remark.width() - 3;
            let line = self.strip().dim(format!(" {remark} ")).line();
            self.put(0, column, &line);
        }
        self.at(inside(area)).focus(focused)
    }

    fn has_wall(&self, x: u16, y: u16) -> bool {
        let cell = self.buffer.cell((x, y));
        cell.is_some_and(|cell| matches!(cell.symbol(), "│" | "├" | "┼" | "┤" | "┝" | "┥" | "┿"))
    }

    /// A piece of a rule or a wall, joined with what stands there already.
    fn edge(&mut self, x: u16, y: u16, symbol: &str, role: Role) {
        let style = self.theme.style(role);
        if let Some(cell) = self.buffer.cell_mut((x, y)) {
            let is_joint = !matches!(cell.symbol(), " " | "─" | "━");
            cell.merge_symbol(symbol, MergeStrategy::Exact);
            if !(is_joint && cell.modifier.contains(Modifier::BOLD)) {
                cell.set_style(style);
            }
        }
    }

    /// Draws walls all around what stands above something else.
    fn boxed(&mut self, title: &str, remark: &str) {
        let line = self.theme.style(Role::Focus);
        let mut block = Block::new().borders(Borders::ALL).border_style(line);
        if !title.is_empty() {
            let title = Span::styled(title.to_owned(), self.theme.style(Role::Focus));
            block = block.title(Line::from(vec![Span::styled("─ ", line), title, Span::raw(" ")]));
        }
        if !remark.is_empty() {
            let remark = Span::styled(format!(" {remark} "), self.theme.style(Role::Dim));
            block = block.title_bottom(Line::from(remark).right_aligned());
        }
        block.render(self.area, self.buffer);
    }

    /// A frame of at most this size in the middle, above what is drawn already.
    pub fn window(&mut self, size: (usize, usize), title: &str, remark: &str) -> Canvas<'_, 't> {
        let place = middle(self.area, size);
        self.window_at(place, title, remark)
    }

    /// A frame above what is drawn already.
    pub fn window_at(&mut self, place: Rect, title: &str, remark: &str) -> Canvas<'_, 't> {
        let mut canvas = self.at(place).focus(true);
        canvas.clear();
        canvas.boxed(title, remark);
        let area = canvas.area.inner(Margin::new(1, 1));
        Canvas { area, ..canvas }.padded()
    }

    /// Replaces drawing characters where the terminal may have none.
    pub fn finish(&mut self) {
        self.theme.finish(self.buffer);
    }
}

/// The room inside a frame: below its head, right of its wall.
pub fn inside(area: Rect) -> Rect {
    let (wall, head) = (u16::from(area.x > 0).min(area.width), area.height.min(1));
    Rect {
        x: area.x + wall,
        y: area.y + head,
        width: area.width - wall,
        height: area.height - head,
    }
}

/// Columns and lines that a text has in a frame, with a blank at both sides.
pub fn text_room(area: Rect) -> (usize, usize) {
    let inside = inside(area);
    (usize::from(inside.width.saturating_sub(2)), usize::from(inside.height))
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
        assert_eq!(canvas.frame("t", "").padded().area(), Rect::new(1, 1, 8, 3));
    }

    #[test]
    fn neighbours_share_one_wall_and_every_rule_meets_it() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 16, 6));
        let mut canvas = Canvas::new(&mut buffer, Rect::new(0, 0, 16, 6), &Theme::PLAIN);
        for (x, y, focused) in [(8, 0, false), (8, 3, true), (0, 0, false), (0, 2, false), (0, 3, false)] {
            let place = Rect::new(x, y, 8, if x > 0 { 3 } else { 6 - y });
            let mut place = canvas.at(place).focus(focused);
            assert_eq!(
                place.frame("ab", "").area(),
                inside(Rect::new(x, y, 8, if x > 0 { 3 } else { 6 - y }))
            );
        }
        let lines: Vec<String> = (0..6)
            .map(|y| (0..16).map(|x| buffer[(x, y)].symbol()).collect())
            .collect();
        let wanted = [
            "─ ab ───┬ ab ───",
            "        │       ",
            "─ ab ───┤       ",
            "─ ab ───┾ ab ━━━",
            "        │       ",
            "        │       ",
        ];
        assert_eq!(lines, wanted);
    }
}
