//! Pane 2: why rows are invalid, one cause a row, under the filter.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::diagnose::Cause;
use crate::tui::snapshot::Report;
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::{Cursor, frame, line, select_line, solid_bar};
use crate::tui::workspace::Workspace;

#[derive(Debug, Default)]
pub struct Why {
    pub cursor: Cursor,
}

/// The causes that occur, the most frequent first.
pub fn entries(report: &Report) -> Vec<(Cause, usize)> {
    let mut causes: Vec<(Cause, usize)> = report.causes.iter().copied().filter(|(_, count)| *count > 0).collect();
    causes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    causes
}

impl Why {
    pub fn draw(&self, buffer: &mut Buffer, area: Rect, workspace: &Workspace, focused: bool, theme: &Theme) {
        let report = &workspace.selected.report;
        let inner = frame(buffer, area, "2 Why invalid", "W", focused, theme);
        let entries = entries(report);
        if entries.is_empty() {
            let text = match (report.is_diagnosed, report.total.tally.invalid) {
                (_, 0) => "no invalid rows here",
                (false, _) => "reading the outputs…",
                (true, _) => "no cause found",
            };
            line(
                buffer,
                inner,
                0,
                vec![Span::styled(format!(" {text}"), theme.style(Role::Dim))],
            );
            return;
        }
        let mut cursor = self.cursor;
        cursor.settle(entries.len(), usize::from(inner.height));
        let most = entries[0].1;
        let bar = usize::from(inner.width).saturating_sub(29);
        for (row, (cause, count)) in entries
            .iter()
            .enumerate()
            .skip(cursor.top)
            .take(usize::from(inner.height))
        {
            let y = (row - cursor.top) as u16;
            let spans = vec![
                Span::raw(format!(" {:<20}", cause.label())),
                Span::raw(format!("{count:>6} ")),
                solid_bar(*count, most, bar, Role::Wrong, theme),
            ];
            line(buffer, inner, y, spans);
            if focused && row == cursor.at {
                select_line(buffer, inner, y, theme);
            }
        }
    }
}
