//! What keys do on Question.

use ratatui::layout::Rect;

use crate::tui::keymap::Action;
use crate::tui::reading::Reading;

use super::App;

impl App {
    pub(super) fn act_question(&mut self, action: Action, key: &str) {
        let area = self.outputs_area();
        let half = self.panes.question.half_page(area);
        match action {
            Action::Down => self.scroll_question(1),
            Action::Up => self.scroll_question(-1),
            Action::HalfDown => self.scroll_question(half),
            Action::HalfUp => self.scroll_question(-half),
            Action::PageDown => self.scroll_question(half * 2),
            Action::PageUp => self.scroll_question(-half * 2),
            Action::First => self.scroll_question(isize::MIN / 2),
            Action::Last => self.scroll_question(isize::MAX / 2),
            Action::PageText => self.panes.question.page(area, &self.workspace, &self.theme),
            Action::Left => self.to_attempt(-1),
            Action::Right | Action::NextPane => {
                let count = self.attempts();
                let wraps = action == Action::NextPane && self.panes.question.attempt + 1 >= count;
                self.to_attempt(if wraps { -(count as isize) } else { 1 });
            }
            Action::Digit => {
                let wanted: i64 = key.parse().unwrap_or(0);
                self.to_attempt_number(wanted);
            }
            Action::NextRow => self.to_row(1),
            Action::PreviousRow => self.to_row(-1),
            Action::Fold => self.panes.question.unfolded = !self.panes.question.unfolded,
            Action::Arrange => {
                let count = self.attempts();
                self.panes.question.next_arrangement(area, count);
            }
            Action::Attempts => {
                let count = self.attempts();
                self.panes.question.toggle_one(area, count);
            }
            Action::Prompt => {
                self.panes.question.prompt = match self.panes.question.prompt {
                    Some(_) => None,
                    None => Some(None),
                };
            }
            Action::FindNext => self.next_place(true),
            Action::FindPrevious => self.next_place(false),
            Action::Why => self.say_why(),
            _ => {}
        }
    }

    /// Where the outputs stand.
    pub(super) fn outputs_area(&self) -> Rect {
        self.panes
            .question
            .places(self.area, &self.workspace, &self.theme)
            .outputs
    }

    pub(super) fn scroll_question(&mut self, by: isize) {
        let area = self.outputs_area();
        self.panes.question.scroll_by(by, area, &self.workspace, &self.theme);
    }

    fn attempts(&self) -> usize {
        match (self.workspace.snapshot.as_deref(), self.panes.question.row) {
            (Some(snapshot), Some(row)) => snapshot.attempts(row).len(),
            _ => 0,
        }
    }

    fn to_attempt(&mut self, by: isize) {
        let count = self.attempts();
        let question = &mut self.panes.question;
        question.attempt = question.attempt.saturating_add_signed(by).min(count.saturating_sub(1));
    }

    fn to_attempt_number(&mut self, wanted: i64) {
        let (Some(snapshot), Some(row)) = (self.workspace.snapshot.as_deref(), self.panes.question.row) else {
            return;
        };
        let rows = snapshot.rows();
        let place = snapshot
            .attempts(row)
            .iter()
            .position(|row| i64::from(rows.attempt[*row as usize]) == wanted);
        match place {
            Some(place) => self.panes.question.attempt = place,
            None => self.say(format!("there is no attempt {wanted}")),
        }
    }

    fn to_row(&mut self, by: isize) {
        let count = self.workspace.selected.rows.len();
        let before = self.workspace.cursor.at;
        self.workspace.cursor.step(by, count);
        if self.workspace.cursor.at == before {
            self.say(if by > 0 {
                "the last row of the slice"
            } else {
                "the first row of the slice"
            });
            return;
        }
        let prompt = self.panes.question.prompt;
        self.open_question();
        self.panes.question.prompt = prompt.map(|_| None);
    }

    pub(super) fn next_place(&mut self, forward: bool) {
        let area = self.outputs_area();
        let find = self.find.clone();
        let found = self
            .panes
            .question
            .next_place(forward, area, &self.workspace, find.as_ref(), &self.theme);
        if !found {
            match find {
                Some(find) => self.say(format!("`{}` is not in this text", find.text)),
                None => self.say("no match and no evidence in this text"),
            }
        }
    }

    fn say_why(&mut self) {
        let record = self
            .row_in_sight()
            .and_then(|row| self.workspace.record(row))
            .and_then(|r| r.as_ref().ok());
        let Some(record) = record else { return };
        let reading = Reading::of(record, &self.workspace.rule);
        let text = match reading.diagnosis.cause {
            Some(cause) => format!("{}: {}", cause.name(), cause.definition()),
            None => "this row is not invalid: a letter was read".to_owned(),
        };
        self.say(text);
        if reading.diagnosis.evidence.is_some() && self.find.is_none() {
            self.next_place(true);
        }
    }
}
