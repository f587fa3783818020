//! Pane 3: how often each letter is the key and how often it was picked, under the filter.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Span;

use crate::record::letter;
use crate::tui::snapshot::Report;
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::{Cursor, frame, line, select_line, solid_bar};
use crate::tui::workspace::Workspace;

#[derive(Debug, Default)]
pub struct Letters {
    pub cursor: Cursor,
}

/// The letters that occur: letter, rows with it as the key, rows with it as the pick.
pub fn entries(all: &Report, shown: &Report) -> Vec<(char, usize, usize)> {
    let used = all.letters.last().map_or(0, |last| last + 1);
    let shown = &shown.letters;
    (0..used)
        .filter_map(|at| Some((letter(at)?, shown.gold[at], shown.picks[at])))
        .collect()
}

impl Letters {
    pub fn draw(&self, buffer: &mut Buffer, area: Rect, workspace: &Workspace, focused: bool, theme: &Theme) {
        let inner = frame(buffer, area, "3 Letters", "key   picks", focused, theme);
        let Some(snapshot) = workspace.snapshot.as_deref() else {
            return;
        };
        let entries = entries(&snapshot.all, &workspace.selected.report);
        let mut cursor = self.cursor;
        cursor.settle(entries.len(), usize::from(inner.height));
        let most = entries
            .iter()
            .flat_map(|(_, key, pick)| [*key, *pick])
            .max()
            .unwrap_or(0);
        let bar = (usize::from(inner.width).saturating_sub(17)) / 2;
        for (row, (letter, key, pick)) in entries
            .iter()
            .enumerate()
            .skip(cursor.top)
            .take(usize::from(inner.height))
        {
            let y = (row - cursor.top) as u16;
            let key_bar = solid_bar(*key, most, bar, Role::Dim, theme);
            let padding = bar + 1 - key_bar.width();
            let spans = vec![
                Span::styled(format!(" {letter}"), theme.style(Role::Strong)),
                Span::raw(format!("{key:>6} ")),
                key_bar,
                Span::raw(" ".repeat(padding)),
                Span::raw(format!("{pick:>5} ")),
                solid_bar(*pick, most, bar, Role::BarFull, theme),
            ];
            line(buffer, inner, y, spans);
            if focused && row == cursor.at {
                select_line(buffer, inner, y, theme);
            }
        }
    }
}
