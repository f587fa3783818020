//! Questions that are not the same in both runs: listed, never compared, their wording held against each other.

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Span;

use crate::compare::Pairing;
use crate::record::{Record, letter};
use crate::text::safe::one_line;
use crate::text::thousands;
use crate::tui::passage::Laid;
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::{Cursor, laid, line, select_line, window};

use super::Compare;
use super::diff::hunks;

/// The list of changed questions.
#[derive(Debug, Clone, Copy, Default)]
pub struct Changed {
    pub cursor: Cursor,
}

impl Compare {
    pub(super) fn draw_changed(
        &self,
        changed: Changed,
        buffer: &mut Buffer,
        area: Rect,
        a: Option<&Record>,
        b: Option<&Record>,
        theme: &Theme,
    ) {
        let list = &self.tallied.changed;
        let (rows_a, rows_b) = (&self.paired.a.rows, &self.paired.b.rows);
        let golds = list
            .iter()
            .filter(|pair| Pairing::has_other_gold(rows_a, rows_b, **pair))
            .count();
        let title = format!(
            "{} questions changed, {} with another key: not compared",
            thousands(list.len()),
            thousands(golds)
        );
        let inner = window(buffer, area, &title, "j/k · x or Esc back", theme);
        let tall = (list.len() as u16).clamp(1, (inner.height / 3).max(1));
        let [lines, _, words] =
            Layout::vertical([Constraint::Length(tall), Constraint::Length(1), Constraint::Min(1)]).areas(inner);
        if list.is_empty() {
            let text = "every question that both runs have is the same in both";
            line(buffer, lines, 0, vec![Span::styled(text, theme.style(Role::Dim))]);
            return;
        }
        let mut cursor = changed.cursor;
        cursor.settle(list.len(), usize::from(lines.height));
        for (at, pair) in list.iter().enumerate().skip(cursor.top).take(usize::from(lines.height)) {
            let (x, y) = (pair.0 as usize, pair.1 as usize);
            let category = one_line(rows_a.category.get(x), 16, theme.ascii);
            let text = format!(
                "{:>7} {category:<16} key {} {} {}   {}",
                rows_a.question_id[x],
                one_line(rows_a.answer.get(x), 9, theme.ascii),
                if theme.ascii { "->" } else { "→" },
                one_line(rows_b.answer.get(y), 9, theme.ascii),
                Pairing::what_changed(rows_a, rows_b, *pair)
            );
            let row = (at - cursor.top) as u16;
            line(buffer, lines, row, vec![Span::raw(text)]);
            if at == cursor.at {
                select_line(buffer, lines, row, theme);
            }
        }
        if let (Some(a), Some(b)) = (a, b) {
            let text = wording(a, b, usize::from(words.width), theme);
            laid(buffer, words, &text, 0, theme);
        }
    }
}

/// The question and its options in A's words, with what B has instead in brackets.
fn wording(a: &Record, b: &Record, width: usize, theme: &Theme) -> Vec<Laid> {
    let mut lines = marked("", &a.question, &b.question, width, theme);
    for at in 0..a.options.len().max(b.options.len()) {
        let name = letter(at).map_or_else(String::new, |letter| format!("{letter} "));
        let option = |record: &Record| record.options.get(at).cloned().unwrap_or_default();
        lines.extend(marked(&name, &option(a), &option(b), width, theme));
    }
    lines
}

fn marked(lead: &str, a: &str, b: &str, width: usize, theme: &Theme) -> Vec<Laid> {
    let mut passage = crate::tui::passage::Passage::default();
    passage.say(lead.to_owned(), Role::Strong);
    for hunk in hunks(a, b) {
        let (own, other) = (&a[hunk.a], &b[hunk.b]);
        if hunk.is_equal {
            passage.say(own.to_owned(), Role::Plain);
            continue;
        }
        for (sign, text) in [("-", own), ("+", other)] {
            if !text.trim().is_empty() {
                passage.say(format!("[{sign}{}] ", text.trim()), Role::Evidence);
            }
        }
    }
    passage.lay(width, theme.ascii)
}
