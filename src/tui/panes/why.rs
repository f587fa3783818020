//! Pane 2: why rows are invalid, one cause a row, under the filter.

use crate::diagnose::Cause;
use crate::tui::canvas::Canvas;
use crate::tui::snapshot::Report;
use crate::tui::theme::Role;
use crate::tui::widgets::Cursor;
use crate::tui::workspace::Workspace;

use super::left_out;

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
    pub fn draw(&self, canvas: &mut Canvas, workspace: &Workspace) {
        let report = &workspace.selected.report;
        let entries = entries(report);
        let remark = left_out(entries.len(), canvas, "");
        let mut inner = canvas.frame("2 Why invalid", &remark);
        let Some((_, most)) = entries.first().copied() else {
            let text = match (report.is_diagnosed, report.total.tally.invalid) {
                (_, 0) => " no invalid rows here",
                (false, _) => " reading the outputs…",
                (true, _) => " no cause found",
            };
            inner.line(0, inner.strip().dim(text));
            return;
        };
        let longest = entries.iter().map(|(cause, _)| cause.label().len()).max();
        let name = longest.unwrap_or(0).max(20);
        let bar = inner.width().saturating_sub(name + 9);
        inner.list(entries.len(), self.cursor, |at, strip| {
            let (cause, count) = entries[at];
            strip
                .text(format!(" {:<name$}{count:>6} ", cause.label()))
                .solid_bar(count, most, bar, Role::Invalid)
        });
    }
}
