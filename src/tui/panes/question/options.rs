//! The question with its options: the key, who picked what; cut where there is no room.

use ratatui::layout::Rect;
use unicode_width::UnicodeWidthStr;

use crate::record::{INVALID, Record, letter};
use crate::text::safe::one_line;
use crate::tui::passage::{Laid, Passage};
use crate::tui::theme::{Role, Theme};
use crate::tui::workspace::Workspace;

use super::Question;

impl Question {
    /// The question and its options; where they are too many lines, options take one line each, then the question is cut.
    pub(super) fn question_lines(
        &self,
        record: &Record,
        workspace: &Workspace,
        width: usize,
        most: usize,
        theme: &Theme,
    ) -> Vec<Laid> {
        let question = record.question.trim();
        let text = if question.is_empty() {
            record.prompt.trim()
        } else {
            question
        };
        let mut lines = Passage::plain(text).lay(width, theme.ascii);
        let options = self.option_lines(record, workspace, width, true, theme);
        let options = if lines.len() + 1 + options.len() <= most {
            lines.push(Laid::default());
            options
        } else {
            self.option_lines(record, workspace, width, false, theme)
        };
        let options = shortened(options, most.saturating_sub(1), theme);
        let room = most.saturating_sub(options.len()).max(1);
        if lines.len() > room {
            lines.truncate(room);
            if let Some(last) = lines.last_mut() {
                last.spans
                    .push((if theme.ascii { "..." } else { "…" }.to_owned(), Role::Key));
            }
        }
        lines.extend(options);
        lines
    }

    /// Whether a part of the question or of an option is out of sight.
    pub(super) fn is_cut(&self, record: &Record, workspace: &Workspace, area: Rect, theme: &Theme) -> bool {
        let (width, height) = (
            usize::from(area.width.saturating_sub(4)),
            usize::from(area.height.saturating_sub(2)),
        );
        let lines = |most: usize| {
            let mut lines = self.question_lines(record, workspace, width, most, theme);
            lines.retain(|line| !line.spans.is_empty());
            lines
        };
        lines(height) != lines(usize::MAX)
    }

    fn option_lines(
        &self,
        record: &Record,
        workspace: &Workspace,
        width: usize,
        wraps: bool,
        theme: &Theme,
    ) -> Vec<Laid> {
        let is_hidden = self.row.is_some_and(|row| workspace.hides(row));
        let label = self
            .row
            .and_then(|row| workspace.label(row))
            .filter(|_| workspace.is_blind);
        let picks = if is_hidden {
            Vec::new()
        } else {
            picks(self.row, workspace)
        };
        let has_tally = picks.len() > 1;
        let side = match (has_tally, width >= 90) {
            (true, true) => 29,
            (true, false) => 18,
            (false, _) => 12,
        };
        let room = width.saturating_sub(side + 5).max(10);
        let mut lines = Vec::new();
        for (at, option) in record.options.iter().enumerate() {
            let name = letter(at).map_or_else(|| (at + 1).to_string(), |letter| letter.to_string());
            let is_key = !is_hidden && record.answer == name;
            let by: Vec<i64> = picks
                .iter()
                .filter(|(_, pick)| *pick == name)
                .map(|(attempt, _)| *attempt)
                .collect();
            let (mark, role) = match (is_key, by.is_empty()) {
                (true, _) => ("*", Role::Correct),
                (false, false) => ("x", Role::Wrong),
                (false, true) => (" ", Role::Plain),
            };
            let texts = if wraps {
                Passage::plain(option.trim()).lay(room, theme.ascii)
            } else {
                vec![Laid {
                    spans: vec![(one_line(option, room, theme.ascii), Role::Plain)],
                    start: 0,
                }]
            };
            let mut tally = if is_hidden {
                String::new()
            } else {
                tally(&by, picks.len(), is_key, side)
            };
            if label.is_some_and(|label| name == label.to_string()) {
                tally.push_str("  <- you");
            }
            for (row, text) in texts.into_iter().enumerate() {
                let lead = if row == 0 {
                    format!("{mark} {name} ")
                } else {
                    "    ".to_owned()
                };
                let used = text.text().width();
                let mut spans = vec![(lead, role)];
                spans.extend(text.spans);
                if row == 0 && !tally.is_empty() {
                    spans.push((" ".repeat(room.saturating_sub(used) + 1), Role::Plain));
                    spans.push((tally.clone(), role));
                }
                lines.push(Laid { spans, start: 0 });
            }
        }
        let unread: Vec<i64> = picks
            .iter()
            .filter(|(_, pick)| pick == INVALID)
            .map(|(attempt, _)| *attempt)
            .collect();
        if has_tally && !unread.is_empty() {
            let spans = vec![
                (format!("! {INVALID}"), Role::Invalid),
                (" ".repeat(room.saturating_sub(6)), Role::Plain),
                (tally(&unread, picks.len(), false, side), Role::Invalid),
            ];
            lines.push(Laid { spans, start: 0 });
        }
        lines
    }
}

/// Option lines that fit: the key, the picked ones and the unreadable stay, others give way and are counted.
fn shortened(options: Vec<Laid>, room: usize, theme: &Theme) -> Vec<Laid> {
    if options.len() <= room {
        return options;
    }
    let is_marked = |line: &Laid| line.spans.first().is_some_and(|(_, role)| *role != Role::Plain);
    let marked = options.iter().filter(|line| is_marked(line)).count();
    let mut plain = room.saturating_sub(marked + 1);
    let all = options.len();
    let mut kept: Vec<Laid> = options
        .into_iter()
        .filter(|line| {
            is_marked(line) || {
                let fits = plain > 0;
                plain = plain.saturating_sub(1);
                fits
            }
        })
        .collect();
    let more = format!(
        "    {} {} more options (p)",
        if theme.ascii { "..." } else { "…" },
        all - kept.len()
    );
    kept.push(Laid {
        spans: vec![(more, Role::Dim)],
        start: 0,
    });
    kept
}

/// Attempt and pick of each attempt at the question.
fn picks(row: Option<u32>, workspace: &Workspace) -> Vec<(i64, String)> {
    let (Some(row), Some(snapshot)) = (row, workspace.snapshot.as_deref()) else {
        return Vec::new();
    };
    let rows = snapshot.rows();
    let attempts = snapshot.attempts(row);
    attempts
        .iter()
        .map(|row| {
            (
                i64::from(rows.attempt[*row as usize]),
                rows.pick.get(*row as usize).to_owned(),
            )
        })
        .collect()
}

/// `###  attempts 0 2 3   key`
fn tally(by: &[i64], all: usize, is_key: bool, side: usize) -> String {
    let key = if is_key { "key" } else { "" };
    if all < 2 {
        return match (is_key, by.is_empty()) {
            (true, true) => "<- key".to_owned(),
            (true, false) => "<- key, pick".to_owned(),
            (false, false) => "<- pick".to_owned(),
            (false, true) => String::new(),
        };
    }
    let bar = "#".repeat(by.len().min(6));
    let numbers = by.iter().take(6).map(ToString::to_string).collect::<Vec<_>>().join(" ");
    if side < 30 {
        return format!("{key:<3} {bar:<6}{numbers}").trim_end().to_owned();
    }
    let word = match by.len() {
        0 => "",
        1 => "attempt ",
        _ => "attempts ",
    };
    format!(
        "{bar:<6} {word}{numbers:<width$} {key}",
        width = 17usize.saturating_sub(word.len())
    )
    .trim_end()
    .to_owned()
}
