//! The question with its options: the key, who picked what.

use unicode_width::UnicodeWidthStr;

use crate::record::{INVALID, Record, letter};
use crate::tui::panes::output::{mark_of, prose};
use crate::tui::passage::Laid;
use crate::tui::strip::Strip;
use crate::tui::theme::{Role, Theme};
use crate::tui::workspace::Workspace;

use super::super::Around;
use super::Question;

impl Question {
    /// The question and its options, all of them.
    pub(super) fn question_lines(&self, record: &Record, width: usize, around: &Around) -> Vec<Laid> {
        let text = match record.question.trim() {
            "" => record.prompt.trim(),
            question => question,
        };
        let mut lines = prose(text, width, around);
        lines.push(Laid::default());
        lines.extend(self.option_lines(record, width, around));
        lines
    }

    fn option_lines(&self, record: &Record, width: usize, around: &Around) -> Vec<Laid> {
        let picks = Picks::of(self.row, around.workspace);
        let names = (0..record.options.len()).map(|at| letter(at).map_or_else(|| (at + 1).to_string(), String::from));
        let marked: Vec<Marked> = names
            .map(|name| picks.mark(record, name, (width, around.theme)))
            .collect();
        let unread = picks.unread(width);
        let tallies = marked.iter().chain(&unread).map(|marked| marked.tally.width());
        let side = tallies.max().unwrap_or(0);
        let room = width.saturating_sub(side + 6).max(10);
        let laid: Vec<Vec<Laid>> = record
            .options
            .iter()
            .map(|option| prose(option.trim(), room, around))
            .collect();
        // Who picked what stands beside the options, not far from them.
        let widest = laid.iter().flatten().map(|line| line.text().trim_end().width()).max();
        let room = widest.unwrap_or(0).max(24).min(room);
        let mut lines = Vec::new();
        for (option, marked) in laid.into_iter().zip(&marked) {
            for (row, text) in option.into_iter().enumerate() {
                lines.push(marked.line(row == 0, text, room, around));
            }
        }
        if let Some(unread) = unread {
            let text = Laid::default();
            lines.push(unread.line(true, text, room, around));
        }
        lines
    }
}

/// An option's name with its mark, and who picked it.
struct Marked {
    mark: String,
    name: String,
    tally: String,
    role: Role,
}

impl Marked {
    fn line(&self, is_first: bool, text: Laid, room: usize, around: &Around) -> Laid {
        let strip = Strip::new(around.theme);
        if !is_first {
            return strip.to(self.mark.width() + 3).join_laid(text).laid();
        }
        let strip = strip
            .put(format!("{} {} ", self.mark, self.name), self.role)
            .join_laid(text);
        if self.tally.is_empty() {
            return strip.laid();
        }
        strip.to(room + 5).put(self.tally.clone(), self.role).laid()
    }
}

/// What was picked at the question, and what of that may be shown.
struct Picks {
    /// Attempt and pick; empty while they are hidden.
    by: Vec<(u16, String)>,
    is_hidden: bool,
    /// The letter that the person gave.
    label: Option<char>,
}

impl Picks {
    fn of(row: Option<u32>, workspace: &Workspace) -> Picks {
        let is_hidden = row.is_some_and(|row| workspace.hides(row));
        let label = row.and_then(|row| workspace.label(row)).filter(|_| workspace.is_blind);
        let mut by = Vec::new();
        if let (Some(row), Some(snapshot), false) = (row, workspace.snapshot.as_deref(), is_hidden) {
            let rows = snapshot.rows();
            let pick = |row: u32| (rows.attempt[row as usize], rows.pick.get(row as usize).to_owned());
            by = snapshot.attempts(row).into_iter().map(pick).collect();
        }
        Picks { by, is_hidden, label }
    }

    fn attempts(&self, name: &str) -> Vec<u16> {
        let by = self.by.iter().filter(|(_, pick)| pick == name);
        by.map(|(attempt, _)| *attempt).collect()
    }

    fn mark(&self, record: &Record, name: String, (width, theme): (usize, &Theme)) -> Marked {
        let is_key = !self.is_hidden && record.answer == name;
        let by = self.attempts(&name);
        let (mark, role) = mark_of(is_key, !by.is_empty(), theme);
        let mut tally = self.tally(&by, is_key, width);
        if self.label.is_some_and(|label| name == label.to_string()) {
            tally.push_str("  you");
        }
        Marked {
            mark,
            name,
            tally,
            role,
        }
    }

    /// The attempts of which no letter could be read, where there are several.
    fn unread(&self, width: usize) -> Option<Marked> {
        let by = self.attempts(INVALID);
        (self.by.len() > 1 && !by.is_empty()).then(|| Marked {
            mark: "!".to_owned(),
            name: INVALID.to_owned(),
            tally: self.tally(&by, false, width),
            role: Role::Invalid,
        })
    }

    /// `███  attempts 0 2 3   key`
    fn tally(&self, by: &[u16], is_key: bool, width: usize) -> String {
        let key = if is_key { "key" } else { "" };
        if self.by.len() < 2 {
            let said = match (is_key, by.is_empty()) {
                (true, true) => "key",
                (true, false) => "key, pick",
                (false, false) => "pick",
                (false, true) => "",
            };
            return said.to_owned();
        }
        let bar = "█".repeat(by.len().min(6));
        let numbers = by.iter().take(6).map(ToString::to_string).collect::<Vec<_>>().join(" ");
        if width < 140 {
            return format!("{key:<3} {bar:<6}{numbers}").trim_end().to_owned();
        }
        let word = match by.len() {
            0 => "",
            1 => "attempt ",
            _ => "attempts ",
        };
        format!("{bar:<6} {:<17} {key}", format!("{word}{numbers}"))
            .trim_end()
            .to_owned()
    }
}
