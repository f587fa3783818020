//! The regex lab: another rule is typed, every output is read again by it, and what flips is shown. Nothing is written.

mod draw;
mod report;
mod screen;

use std::sync::Arc;

pub use report::{Kind, LabReport, Read, rule_of};

use crate::extract::Rule;

use super::widgets::{Cursor, Input};

/// The Regex lab screen.
#[derive(Debug, Default)]
pub struct Lab {
    input: Input,
    /// The rule as typed, where it is one.
    rule: Option<Rule>,
    /// Why what is typed is no rule.
    error: Option<String>,
    report: Option<Arc<LabReport>>,
    /// Whether the keys go to the line.
    is_typing: bool,
    /// The rule before it was edited.
    before: String,
    /// Number of the last rule asked about.
    number: u64,
    kind: usize,
    cursors: [Cursor; Kind::ALL.len()],
    /// The row to be read whether it flips or not, until another is chosen.
    row: Option<u32>,
    scroll: usize,
}

impl Lab {
    /// Opens with a rule; `row` is the one whose output was read before.
    pub fn new(typed: &str, row: Option<u32>) -> Lab {
        let mut lab = Lab {
            input: Input::new(typed),
            before: typed.to_owned(),
            is_typing: true,
            row,
            ..Lab::default()
        };
        lab.typed();
        lab
    }

    /// Lets the keys go to the line.
    fn edit(&mut self) {
        self.before.clone_from(&self.input.text);
        self.is_typing = true;
    }

    /// Keeps what is typed.
    fn keep(&mut self) {
        self.is_typing = false;
    }

    /// Puts the rule back as it was before it was edited; true where that changes it.
    fn restore(&mut self) -> bool {
        self.is_typing = false;
        let differs = self.input.text != self.before;
        self.input = Input::new(self.before.clone());
        differs && self.typed()
    }

    /// What is typed has changed; true where it is a rule.
    fn typed(&mut self) -> bool {
        match rule_of(&self.input.text) {
            Ok(rule) => {
                self.rule = Some(rule);
                self.error = None;
                self.number += 1;
                true
            }
            Err(error) => {
                let text = format!("{error:#}");
                let line = text.lines().rev().find(|line| !line.trim().is_empty());
                self.error = Some(line.unwrap_or_default().trim().to_owned());
                false
            }
        }
    }

    /// Whether the counts on the screen are of an older rule.
    fn is_stale(&self) -> bool {
        self.report
            .as_ref()
            .is_none_or(|report| report.typed != self.input.text)
    }

    fn kind(&self) -> Kind {
        Kind::ALL[self.kind]
    }

    /// The chosen way of flipping, as a place in their list.
    fn kind_cursor(&self) -> Cursor {
        Cursor { at: self.kind, top: 0 }
    }

    fn next_kind(&mut self) {
        self.kind = (self.kind + 1) % Kind::ALL.len();
        self.chosen();
    }

    fn chosen(&mut self) {
        self.row = None;
        self.scroll = 0;
    }

    fn rows(&self) -> &[u32] {
        self.report.as_ref().map_or(&[], |report| report.list(self.kind()))
    }

    fn cursor(&self) -> Cursor {
        self.cursors[self.kind]
    }

    fn step(&mut self, by: isize) {
        let count = self.rows().len();
        self.cursors[self.kind].step(by, count);
        self.chosen();
    }

    fn settle(&mut self, height: usize) {
        let count = self.rows().len();
        self.cursors[self.kind].settle(count, height);
    }

    /// The row whose output is shown.
    fn row_in_sight(&self) -> Option<u32> {
        self.row.or_else(|| self.rows().get(self.cursor().at).copied())
    }

    /// Takes over counts, unless they are of a rule that is typed over.
    fn take(&mut self, number: u64, report: Arc<LabReport>) {
        if number == self.number {
            self.report = Some(report);
        }
    }
}
