//! Pane 3: how often each letter is the key and how often it was picked, under the filter.

use crate::record::letter;
use crate::tui::canvas::Canvas;
use crate::tui::snapshot::Report;
use crate::tui::theme::Role;
use crate::tui::widgets::Cursor;
use crate::tui::workspace::Workspace;

use super::left_out;

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
    pub fn draw(&self, canvas: &mut Canvas, workspace: &Workspace) {
        let Some(snapshot) = workspace.snapshot.as_deref() else {
            canvas.frame("3 Letters", "");
            return;
        };
        let entries = entries(&snapshot.all, &workspace.selected.report);
        let remark = left_out(entries.len(), canvas, "key   picks");
        let mut inner = canvas.frame("3 Letters", &remark);
        let most = entries.iter().flat_map(|(_, key, pick)| [*key, *pick]).max();
        let (most, bar) = (most.unwrap_or(0), inner.width().saturating_sub(17) / 2);
        inner.list(entries.len(), self.cursor, |at, strip| {
            let (letter, key, pick) = entries[at];
            let strip = strip.strong(format!(" {letter}")).text(format!("{key:>6} "));
            let column = strip.width() + bar + 1;
            strip
                .solid_bar(key, most, bar, Role::Bar)
                .to(column)
                .text(format!("{pick:>5} "))
                .solid_bar(pick, most, bar, Role::Bar)
        });
    }
}
