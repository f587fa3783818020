//! Questions that are not the same in both runs: listed, never compared, their wording held against each other.

use ratatui::layout::Rect;

use crate::compare::Pairing;
use crate::record::{Record, letter};
use crate::text::{count, thousands};
use crate::tui::canvas::Canvas;
use crate::tui::passage::{Laid, Passage};
use crate::tui::theme::{Role, Theme};
use crate::tui::widgets::Cursor;

use super::Compare;
use super::diff::hunks;

/// The list of changed questions.
#[derive(Debug, Clone, Copy, Default)]
pub struct Changed {
    pub cursor: Cursor,
}

impl Compare {
    /// Draws the list over the screen, and below it the wording of the question under the cursor in both runs.
    pub(super) fn draw_changed(&self, changed: Changed, canvas: &mut Canvas, records: Option<(&Record, &Record)>) {
        let area = canvas.area();
        let place = Rect {
            x: area.x + area.width / 20,
            y: area.y + 2,
            width: area.width - area.width / 10,
            height: area.height.saturating_sub(4),
        };
        let mut inner = canvas.window_at(place, &self.changed_title(), "j/k · x or Esc back");
        let list = &self.tallied.changed;
        if list.is_empty() {
            let text = "every question that both runs have is the same in both";
            inner.line(0, inner.strip().dim(text));
            return;
        }
        let (rows_a, rows_b) = (&self.paired.a.rows, &self.paired.b.rows);
        let tall = list.len().clamp(1, (inner.height() / 3).max(1));
        let lines = Rect {
            height: tall as u16,
            ..inner.area()
        };
        inner
            .at(lines)
            .focus(true)
            .list(list.len(), changed.cursor, |at, strip| {
                let (x, y) = (list[at].0 as usize, list[at].1 as usize);
                let (a, b) = (rows_a.answer.get(x), rows_b.answer.get(y));
                let strip = strip
                    .text(format!("{:>7} ", rows_a.question_id[x]))
                    .field(rows_a.category.get(x), 16, Role::Plain)
                    .text(if a == b { " same key " } else { " key " })
                    .foreign(a, 9, Role::Plain);
                let what = Pairing::what_changed(rows_a, rows_b, list[at]);
                if a == b {
                    return strip.text(format!(", {what}"));
                }
                let arrow = if strip.theme.ascii { " -> " } else { " → " };
                strip.text(arrow).foreign(b, 9, Role::Plain).text(format!(", {what}"))
            });
        if let Some((a, b)) = records {
            let mut words = inner.below(tall + 1);
            let text = wording(a, b, words.width(), words.theme);
            words.laid(&text, 0);
        }
    }

    /// `1 question changed, same key; left out`.
    fn changed_title(&self) -> String {
        let list = &self.tallied.changed;
        let (a, b) = (&self.paired.a.rows, &self.paired.b.rows);
        let golds = list.iter().filter(|pair| Pairing::has_other_gold(a, b, **pair)).count();
        let key = match golds {
            0 => "same key".to_owned(),
            some if some == list.len() => "another key".to_owned(),
            some => format!("{} with another key", thousands(some)),
        };
        format!("{} changed, {key}; left out", count(list.len(), "question"))
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
    let mut passage = Passage::default();
    passage.say(lead.to_owned(), Role::Strong);
    for hunk in hunks(a, b) {
        if hunk.is_equal {
            passage.say(a[hunk.a].to_owned(), Role::Plain);
        } else {
            say_change(&mut passage, &a[hunk.a], &b[hunk.b]);
        }
    }
    passage.lay(width, theme.ascii)
}

/// `[-only in A-] [+only in B+] `.
pub(super) fn say_change(passage: &mut Passage, a: &str, b: &str) {
    for (sign, text) in [("-", a), ("+", b)] {
        if !text.trim().is_empty() {
            passage.say(format!("[{sign}{}{sign}] ", text.trim()), Role::Strong);
        }
    }
}
