//! The mouse: the wheel scrolls what is under it, a click focuses, selects, filters, or presses a key of the footer.

use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::{Position, Rect};

use crate::tui::keymap::{self, Screen};
use crate::tui::panes::Room;
use crate::tui::shelf::Side;

use super::{App, Overlay};

/// Lines that one turn of the wheel moves.
const WHEEL: isize = 3;

impl App {
    pub(super) fn mouse(&mut self, event: MouseEvent) {
        let at = Position::new(event.column, event.row);
        let wheel = match event.kind {
            MouseEventKind::ScrollDown => Some(WHEEL),
            MouseEventKind::ScrollUp => Some(-WHEEL),
            _ => None,
        };
        let is_click = event.kind == MouseEventKind::Down(MouseButton::Left);
        match &mut self.overlay {
            Some(Overlay::Picker(picker)) => {
                if let Some(by) = wheel {
                    picker.wheel(by);
                } else if is_click {
                    let pressed = picker.click(self.area, at.x, at.y);
                    self.picked(pressed);
                }
                return;
            }
            Some(_) => return,
            None => {}
        }
        match (self.screen(), wheel, is_click) {
            (Screen::Browse, Some(by), _) => self.wheel_browse(at, by),
            (Screen::Browse, None, true) => self.click_browse(at),
            (Screen::Question, Some(by), _) => {
                self.focus_output(at);
                self.scroll_question(by);
            }
            (Screen::Question, None, true) => {
                self.focus_output(at);
                self.click_footer(at);
            }
            (Screen::Lab, Some(by), _) => {
                if let Some(lab) = &mut self.lab {
                    lab.step(by);
                }
            }
            (Screen::Lab, None, true) => self.click_footer(at),
            (Screen::Compare, wheel, is_click) => self.mouse_compare(at, wheel, is_click),
            (Screen::Live | Screen::Exam, Some(by), _) => {
                if let Some(live) = &mut self.live {
                    live.step(by);
                }
            }
            (Screen::Live | Screen::Exam, None, true) => self.click_footer(at),
            _ => {}
        }
    }

    fn mouse_compare(&mut self, at: Position, wheel: Option<isize>, is_click: bool) {
        let Some(compare) = &mut self.compare else { return };
        let places = compare.places(self.area);
        for (side, place) in [(Side::A, places.a), (Side::B, places.b)] {
            if place.contains(at) {
                compare.side = side;
            }
        }
        if let Some(by) = wheel {
            if places.list.contains(at) {
                compare.step(by);
            } else if places.categories.contains(at) {
                let count = compare.tallied.comparison.categories.len();
                compare.category.step(by, count);
            } else {
                self.scroll_pair(&places, by);
            }
            return;
        }
        if is_click && places.list.contains(at) {
            let line = usize::from(at.y).saturating_sub(usize::from(places.list.y) + 2);
            let cursor = compare.cursor();
            compare.step((cursor.top + line) as isize - cursor.at as isize);
        } else if is_click {
            self.click_footer(at);
        }
    }

    fn wheel_browse(&mut self, at: Position, by: isize) {
        let before = self.panes.focus;
        if let Some(pane) = self.pane_at(at) {
            self.panes.focus = pane;
            self.step(by);
            self.panes.focus = before;
        }
    }

    fn pane_at(&self, at: Position) -> Option<usize> {
        let places = self.places(self.area);
        let is_over = Room::of(self.area) == Room::Narrow;
        let left = [(1, places.categories), (2, places.why), (3, places.letters)];
        let over = left
            .into_iter()
            .filter(|(pane, _)| !is_over || *pane == self.panes.focus);
        over.chain([(4, places.rows), (5, places.preview)])
            .find(|(_, place)| place.contains(at))
            .map(|(pane, _)| pane)
    }

    fn click_browse(&mut self, at: Position) {
        let places = self.places(self.area);
        self.click_footer(at);
        if places.filter.contains(at) {
            self.open_filter();
            return;
        }
        let Some(pane) = self.pane_at(at) else { return };
        self.panes.focus = pane;
        let line = |place: Rect, top: usize| {
            usize::from(at.y)
                .checked_sub(usize::from(place.y) + 1)
                .map(|line| top + line)
        };
        match pane {
            1 => {
                let height = places.categories.height.saturating_sub(2);
                let count = self
                    .workspace
                    .snapshot
                    .as_deref()
                    .map_or(0, |s| crate::tui::panes::categories::entries(s).len());
                self.panes.categories.cursor.settle(count, usize::from(height));
                let clicked = line(places.categories, self.panes.categories.cursor.top).filter(|at| *at < count);
                self.click_line(clicked, |app, at| app.panes.categories.cursor.at = at);
            }
            2 => {
                let count = crate::tui::panes::why::entries(&self.workspace.selected.report).len();
                let clicked = line(places.why, self.panes.why.cursor.top).filter(|at| *at < count);
                self.click_line(clicked, |app, at| app.panes.why.cursor.at = at);
            }
            3 => {
                let clicked = line(places.letters, self.panes.letters.cursor.top);
                self.click_line(clicked, |app, at| app.panes.letters.cursor.at = at);
            }
            4 => {
                let top = self.workspace.cursor.top;
                let clicked = line(places.rows, top).and_then(|line| line.checked_sub(1));
                if let Some(row) = clicked.filter(|row| *row < self.workspace.selected.rows.len()) {
                    if self.workspace.cursor.at == row {
                        self.open_question();
                    } else {
                        self.workspace.cursor.at = row;
                    }
                }
            }
            _ => {}
        }
    }

    /// A click on a bar adds its filter.
    fn click_line(&mut self, line: Option<usize>, select: impl FnOnce(&mut App, usize)) {
        if let Some(line) = line {
            select(self, line);
            self.open();
        }
    }

    fn click_footer(&mut self, at: Position) {
        let footer = self.footer_area(self.area);
        if !footer.contains(at) || self.message.is_some() {
            return;
        }
        let x = at.x - footer.x;
        let footed = self
            .footer(footer)
            .into_iter()
            .find(|footed| (footed.x..footed.x + footed.width).contains(&x));
        if let Some(event) = footed.and_then(|footed| keymap::event_of(footed.key)) {
            self.press(event);
        }
    }

    fn focus_output(&mut self, at: Position) {
        let (Some(snapshot), Some(row)) = (self.workspace.snapshot.as_deref(), self.panes.question.row) else {
            return;
        };
        let places = self.question_places();
        let count = snapshot.attempts(row).len();
        if places.question.contains(at) {
            let is_cut = self.panes.question.is_cut(&places, &self.around());
            self.panes.question.reads_question = is_cut;
            return;
        }
        let columns = self.panes.question.columns(places.outputs, count);
        let column = columns.into_iter().find(|(_, place)| place.contains(at));
        if let Some((attempt, _)) = column {
            self.panes.question.attempt = attempt;
            self.panes.question.reads_question = false;
        }
    }
}
