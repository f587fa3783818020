//! Lines being filled, cluster by cluster, broken at white space where there is some.

use crate::tui::theme::Role;

use super::Laid;

/// A line being filled.
pub(super) struct Layout {
    width: usize,
    lines: Vec<Laid>,
    line: Laid,
    pub column: usize,
    /// After the last white space of the line: span, byte in it, column.
    break_at: Option<(usize, usize, usize)>,
    fresh: bool,
}

impl Layout {
    pub fn new(width: usize) -> Layout {
        Layout {
            width,
            lines: Vec::new(),
            line: Laid::default(),
            column: 0,
            break_at: None,
            fresh: true,
        }
    }

    pub fn put(&mut self, shown: &str, cells: usize, role: Role, start: usize, is_space: bool) {
        if self.column + cells > self.width && self.column > 0 {
            if is_space && !self.line.spans.is_empty() {
                // White space hangs over the edge unseen.
                self.break_at = None;
                self.wrap(start + 1);
                return;
            }
            self.wrap(start);
        }
        if self.fresh {
            self.line.start = start;
            self.fresh = false;
        }
        match self.line.spans.last_mut() {
            Some((text, last)) if *last == role => text.push_str(shown),
            _ => self.line.spans.push((shown.to_owned(), role)),
        }
        self.column += cells;
        if is_space || cells == 2 {
            let (text, _) = &self.line.spans[self.line.spans.len() - 1];
            self.break_at = Some((self.line.spans.len() - 1, text.len(), self.column));
        }
    }

    /// Ends the full line, at its last white space where there is one.
    fn wrap(&mut self, start: usize) {
        let Some((span, byte, column)) = self.break_at.take() else {
            self.end_line(start);
            self.line.start = start;
            return;
        };
        let mut rest = self.line.spans.split_off(span + 1);
        let (text, role) = &mut self.line.spans[span];
        let carried = text.split_off(byte);
        let role = *role;
        if !carried.is_empty() {
            rest.insert(0, (carried, role));
        }
        let carried_columns = self.column - column;
        self.end_line(start);
        self.line.spans = rest;
        self.column = carried_columns;
        // Good enough for finding the line of a place: the carried word began a little before.
        self.line.start = start.saturating_sub(self.line.text().len());
        self.fresh = self.line.spans.is_empty();
    }

    pub fn end_line(&mut self, start: usize) {
        if self.fresh {
            self.line.start = start;
        }
        self.lines.push(std::mem::take(&mut self.line));
        self.column = 0;
        self.break_at = None;
        self.fresh = true;
    }

    pub fn finish(mut self) -> Vec<Laid> {
        if !self.line.spans.is_empty() || self.lines.is_empty() {
            self.end_line(0);
        }
        self.lines
    }
}
