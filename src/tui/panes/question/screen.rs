//! What keys do on Question.

use ratatui::layout::{Position, Rect};

use crate::tui::canvas::Canvas;
use crate::tui::event::Event;
use crate::tui::keymap::{Action, On, Use};
use crate::tui::screen::{Mouse, Needs, Next, Screen};
use crate::tui::shared::Shared;
use crate::tui::view::Place;
use crate::tui::worker::Reply;

use super::{Places, Question};

impl Question {
    /// Where the parts of the screen stand, as far as the size of the terminal is known.
    fn stand(&self, shared: &Shared) -> Places {
        self.places(shared.area, &shared.around())
    }

    fn scroll_lines(&mut self, by: isize, shared: &Shared) {
        let places = self.stand(shared);
        self.scroll_by(by, &places, &shared.around());
    }

    fn attempts(&self, shared: &Shared) -> usize {
        let open = shared.workspace.snapshot.as_deref().zip(self.row);
        open.map_or(0, |(snapshot, row)| snapshot.attempts(row).len())
    }

    /// Whether the question was scored, not sampled.
    fn is_cloze(&self, shared: &Shared) -> bool {
        let open = self.row.zip(shared.workspace.rows());
        open.is_some_and(|(row, rows)| rows.scored.get(row as usize).copied().unwrap_or(false))
    }

    /// Shows the row under the cursor of the view.
    fn open_current(&mut self, shared: &Shared) {
        if let (Some(row), Some(snapshot)) = (shared.workspace.row(), shared.workspace.snapshot.as_deref()) {
            self.open(snapshot, row);
        }
    }

    fn to_attempt(&mut self, by: isize, shared: &Shared) {
        let last = self.attempts(shared).saturating_sub(1);
        self.reads_question = false;
        self.attempt = self.attempt.saturating_add_signed(by).min(last);
    }

    fn to_attempt_number(&mut self, wanted: u16, shared: &mut Shared) {
        let (Some(snapshot), Some(row)) = (shared.workspace.snapshot.as_deref(), self.row) else {
            return;
        };
        let numbers = &snapshot.rows().attempt;
        let place = snapshot
            .attempts(row)
            .iter()
            .position(|row| numbers[*row as usize] == wanted);
        match place {
            Some(place) => {
                self.reads_question = false;
                self.attempt = place;
            }
            None => shared.say(format!("there is no attempt {wanted}")),
        }
    }

    fn to_row(&mut self, by: isize, shared: &mut Shared) {
        let workspace = &mut shared.workspace;
        let (count, before) = (workspace.selected.rows.len(), workspace.cursor.at);
        workspace.cursor.step(by, count);
        if workspace.cursor.at == before {
            let which = if by > 0 { "last" } else { "first" };
            shared.say(format!("the {which} row of the slice"));
            return;
        }
        let prompt = self.prompt;
        self.open_current(shared);
        self.prompt = prompt.map(|_| None);
    }

    fn go_to_found(&mut self, forward: bool, shared: &mut Shared) {
        let places = self.stand(shared);
        if self.next_place(forward, &places, &shared.around()) {
            return;
        }
        shared.say(match &shared.find {
            Some(find) => format!("`{}` is not on this screen", find.text),
            None => "no match and no evidence in this text".to_owned(),
        });
    }

    /// Lets the keys scroll the question, or the text below it again.
    fn turn(&mut self, shared: &mut Shared) {
        let places = self.stand(shared);
        if self.reads_question || self.is_cut(&places, &shared.around()) {
            self.reads_question = !self.reads_question;
        } else {
            shared.say("all of the question is in sight");
        }
    }

    /// The text at a place gets the keys.
    fn focus_at(&mut self, at: Position, shared: &Shared) {
        let places = self.stand(shared);
        if places.question.contains(at) {
            self.reads_question = self.is_cut(&places, &shared.around());
            return;
        }
        let columns = self.columns(places.outputs, self.attempts(shared));
        if let Some((attempt, _)) = columns.into_iter().find(|(_, place)| place.contains(at)) {
            self.attempt = attempt;
            self.reads_question = false;
        }
    }
}

impl Screen for Question {
    fn on(&self) -> On {
        On::Question
    }

    fn act(&mut self, action: Action, key: &str, shared: &mut Shared) {
        let places = self.stand(shared);
        if let Some(by) = action.lines(self.half_page(&places) as usize * 2) {
            return self.scroll_lines(by, shared);
        }
        match action {
            Action::PageText => self.page(&places, &shared.around()),
            Action::NextPane => self.turn(shared),
            Action::Left => self.to_attempt(-1, shared),
            Action::Right => self.to_attempt(1, shared),
            Action::Digit => self.to_attempt_number(key.parse().unwrap_or(0), shared),
            Action::NextRow => self.to_row(1, shared),
            Action::PreviousRow => self.to_row(-1, shared),
            Action::Fold => self.unfolded = !self.unfolded,
            Action::Arrange => self.next_arrangement(places.outputs, self.attempts(shared)),
            Action::Prompt => self.prompt = if self.prompt.is_some() { None } else { Some(None) },
            Action::FindNext => self.go_to_found(true, shared),
            Action::FindPrevious => self.go_to_found(false, shared),
            Action::Why => {
                let record = self.record(shared).cloned();
                if shared.say_why(record.as_ref()) && shared.find.is_none() {
                    self.go_to_found(true, shared);
                }
            }
            _ => {}
        }
    }

    fn mouse(&mut self, at: Position, mouse: Mouse, shared: &mut Shared) {
        self.focus_at(at, shared);
        if let Mouse::Wheel(by) = mouse {
            self.scroll_lines(by, shared);
        }
    }

    fn hear(&mut self, event: &Event, shared: &mut Shared) {
        match (event, &shared.workspace.moves) {
            (Event::Worker(Reply::Snapshot(_)), Some(moves)) => {
                self.row = self.row.and_then(|row| moves.place(row));
                if self.row.is_none() {
                    shared.go(Next::Pop(On::Question));
                }
            }
            (Event::Worker(Reply::Selected(_)), _) if shared.workspace.is_current() => {
                // A filter pressed here moves on where the open row is no longer in it.
                if self.row.is_some_and(|row| shared.workspace.place(row).is_none()) {
                    self.open_current(shared);
                }
            }
            _ => {}
        }
    }

    fn needs(&mut self, shared: &mut Shared) -> Needs {
        let mut needs = Needs::default();
        if let Some(snapshot) = shared.workspace.snapshot.as_deref() {
            needs.read.extend(self.focused(snapshot));
            needs
                .read
                .extend(self.row.iter().flat_map(|row| snapshot.attempts(*row)));
        }
        needs
    }

    fn back(&mut self, _: &mut Shared) -> bool {
        if self.prompt.take().is_some() {
            return true;
        }
        std::mem::take(&mut self.reads_question)
    }

    fn leave(self: Box<Self>, shared: &mut Shared) {
        shared.left.question = *self;
    }

    fn row(&self, shared: &Shared) -> Option<u32> {
        self.focused(shared.workspace.snapshot.as_deref()?)
    }

    fn go_to(&mut self, at: usize, shared: &mut Shared) {
        shared.workspace.cursor.at = at;
        self.open_current(shared);
    }

    fn label(&self, does: &Use, shared: &Shared) -> Option<&'static str> {
        let is_cloze = self.is_cloze(shared);
        let says_nothing = match does.action {
            Action::Left | Action::Arrange => is_cloze || self.attempts(shared) < 2,
            Action::Fold => is_cloze,
            _ => does.label.is_empty(),
        };
        (!says_nothing).then_some(does.label)
    }

    fn note_place(&self, shared: &Shared) -> Option<Rect> {
        (shared.area.height >= 20).then(|| self.stand(shared).note_line())
    }

    fn place(&self, place: &mut Place) {
        place.is_open = true;
        place.arrangement = self.arrangement;
        place.unfolded = self.unfolded;
        place.prompt = self.prompt.is_some();
        place.scroll = self.scroll();
    }

    fn arrive(&mut self, place: &Place, _: Option<u32>) {
        self.arrangement = place.arrangement;
        self.unfolded = place.unfolded;
        if place.prompt {
            self.prompt = Some(None);
        }
        if let Some(line) = place.scroll {
            self.scroll_to(line);
        }
    }

    fn draw(&self, canvas: &mut Canvas, shared: &Shared) {
        self.draw_all(canvas, &shared.around());
    }
}
