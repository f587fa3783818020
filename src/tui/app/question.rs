//! What keys do on Question.

use crate::tui::keymap::{Action, Screen};
use crate::tui::panes::Around;
use crate::tui::panes::question::{Places, Question};
use crate::tui::reading::Reading;

use super::App;

impl App {
    pub(super) fn act_question(&mut self, action: Action, key: &str) {
        let places = self.question_places();
        let half = self.panes.question.half_page(&places);
        match action {
            Action::Down => self.scroll_question(1),
            Action::Up => self.scroll_question(-1),
            Action::HalfDown => self.scroll_question(half),
            Action::HalfUp => self.scroll_question(-half),
            Action::PageDown => self.scroll_question(half * 2),
            Action::PageUp => self.scroll_question(-half * 2),
            Action::First => self.scroll_question(isize::MIN / 2),
            Action::Last => self.scroll_question(isize::MAX / 2),
            Action::PageText => self.with_question(|question, around| question.page(&places, around)),
            Action::NextPane => self.turn_to_question(&places),
            Action::Left => self.to_attempt(-1),
            Action::Right => self.to_attempt(1),
            Action::Digit => {
                let wanted: i64 = key.parse().unwrap_or(0);
                self.to_attempt_number(wanted);
            }
            Action::NextRow => self.to_row(1),
            Action::PreviousRow => self.to_row(-1),
            Action::Fold => self.panes.question.unfolded = !self.panes.question.unfolded,
            Action::Arrange => {
                let count = self.attempts();
                self.panes.question.next_arrangement(places.outputs, count);
            }
            Action::Prompt => {
                self.panes.question.prompt = match self.panes.question.prompt {
                    Some(_) => None,
                    None => Some(None),
                };
            }
            Action::FindNext => self.next_place(true),
            Action::FindPrevious => self.next_place(false),
            _ => {}
        }
    }

    /// Where the parts of the screen stand, as far as the size of the terminal is known.
    pub(super) fn question_places(&self) -> Places {
        self.panes.question.places(self.area, &self.around())
    }

    /// Lets the question's own state change by what is around it.
    fn with_question<T>(&mut self, change: impl FnOnce(&mut Question, &Around) -> T) -> T {
        let mut question = std::mem::take(&mut self.panes.question);
        let outcome = change(&mut question, &self.around());
        self.panes.question = question;
        outcome
    }

    pub(super) fn scroll_question(&mut self, by: isize) {
        let places = self.question_places();
        self.with_question(|question, around| question.scroll_by(by, &places, around));
    }

    /// Lets the keys scroll the question, or the text below it again.
    fn turn_to_question(&mut self, places: &Places) {
        let question = &self.panes.question;
        if question.reads_question || question.is_cut(places, &self.around()) {
            self.panes.question.reads_question = !self.panes.question.reads_question;
        } else {
            self.say("all of the question is in sight");
        }
    }

    pub(super) fn attempts(&self) -> usize {
        match (self.workspace.snapshot.as_deref(), self.panes.question.row) {
            (Some(snapshot), Some(row)) => snapshot.attempts(row).len(),
            _ => 0,
        }
    }

    fn to_attempt(&mut self, by: isize) {
        let count = self.attempts();
        let question = &mut self.panes.question;
        question.reads_question = false;
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
            Some(place) => {
                self.panes.question.reads_question = false;
                self.panes.question.attempt = place;
            }
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
        let places = self.question_places();
        if self.with_question(|question, around| question.next_place(forward, &places, around)) {
            return;
        }
        match &self.find {
            Some(find) => self.say(format!("`{}` is not on this screen", find.text)),
            None => self.say("no match and no evidence in this text"),
        }
    }

    pub(super) fn say_why(&mut self) {
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
        let is_open = self.screen() == Screen::Question;
        if is_open && reading.diagnosis.evidence.is_some() && self.find.is_none() {
            self.next_place(true);
        }
    }
}
