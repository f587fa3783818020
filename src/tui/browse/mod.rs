//! Browse: the rows of a view, with categories, causes and letters beside them and a preview below.

mod draw;

use ratatui::layout::{Position, Rect};

use super::keymap::{Action, On, Use};
use super::panes::{Contents, Places, Room, categories, letters, preview, rows, why};
use super::screen::{Mouse, Needs, Screen};
use super::shared::{Choice, Shared};
use super::view::Place;
use super::widgets::{Cursor, Extent};

/// The panes, by their digits.
const PANES: usize = 5;

/// The filter words that the lines of the left panes replace.
const KINDS: [&[&str]; 3] = [&["cat:", "sub:", "exam:"], &["why:"], &["key:"]];

#[derive(Debug)]
pub struct Browse {
    /// 1 to 5.
    focus: usize,
    categories: categories::Categories,
    why: why::Why,
    letters: letters::Letters,
    rows: rows::Rows,
    preview: preview::Preview,
    /// The filter word that coming here from a run at work added.
    exam_word: Option<String>,
}

impl Default for Browse {
    fn default() -> Browse {
        Browse {
            focus: 4,
            categories: categories::Categories::default(),
            why: why::Why::default(),
            letters: letters::Letters::default(),
            rows: rows::Rows::default(),
            preview: preview::Preview::default(),
            exam_word: None,
        }
    }
}

/// Where the panes stand.
pub fn places(area: Rect, shared: &Shared) -> Places {
    let (snapshot, selected) = (shared.workspace.snapshot.as_deref(), &shared.workspace.selected);
    let contents = snapshot.map_or_else(Contents::default, |snapshot| Contents::of(snapshot, selected));
    Places::of(area, contents)
}

/// The filter word of each line of a left pane; `None` for the line of all rows.
fn words(pane: usize, shared: &Shared) -> Vec<Option<String>> {
    let Some(snapshot) = shared.workspace.snapshot.as_deref() else {
        return Vec::new();
    };
    let report = &shared.workspace.selected.report;
    match pane {
        1 => categories::entries(snapshot)
            .iter()
            .map(categories::Entry::word)
            .collect(),
        2 => {
            let causes = why::entries(report).into_iter();
            causes.map(|(cause, _)| Some(format!("why:{}", cause.name()))).collect()
        }
        3 => {
            let letters = letters::entries(&snapshot.all, report).into_iter();
            letters.map(|(letter, ..)| Some(format!("key:{letter}"))).collect()
        }
        _ => Vec::new(),
    }
}

impl Browse {
    /// On the landed rows of one exam of a run at work.
    pub fn of_exam(exam_word: Option<String>) -> Browse {
        Browse {
            exam_word,
            ..Browse::default()
        }
    }

    /// The cursor of a left pane.
    fn cursor(&mut self, pane: usize) -> Option<&mut Cursor> {
        Some(match pane {
            1 => &mut self.categories.cursor,
            2 => &mut self.why.cursor,
            3 => &mut self.letters.cursor,
            _ => return None,
        })
    }

    /// The filter word of the line in focus on one of the left panes, with the words it replaces.
    fn word_in_focus(&self, shared: &Shared) -> Option<(&'static [&'static str], Option<String>)> {
        let at = match self.focus {
            1 => self.categories.cursor.at,
            2 => self.why.cursor.at,
            3 => self.letters.cursor.at,
            _ => return None,
        };
        Some((KINDS[self.focus - 1], words(self.focus, shared).into_iter().nth(at)?))
    }

    fn focus(&mut self, pane: usize, shared: &Shared) {
        if Room::of(shared.area) == Room::Tiny {
            return;
        }
        self.focus = pane.clamp(1, PANES);
        // The cursor goes to the line that the filter chooses.
        let chosen = shared.workspace.words();
        let is_chosen = |word: &Option<String>| word.as_ref().is_some_and(|word| chosen.contains(word));
        let at = words(self.focus, shared).iter().rposition(is_chosen);
        if let (Some(cursor), Some(at)) = (self.cursor(self.focus), at) {
            cursor.at = at;
        }
    }

    fn step(&mut self, pane: usize, by: isize, shared: &mut Shared) {
        match self.cursor(pane) {
            Some(cursor) => cursor.step(by, words(pane, shared).len()),
            None if pane == PANES => self.scroll_preview(shared, |extent, now| extent.scrolled(now, by)),
            None => {
                let count = shared.workspace.selected.rows.len();
                shared.workspace.cursor.step(by, count);
            }
        }
    }

    fn scroll_preview(&mut self, shared: &Shared, to: impl FnOnce(Extent, usize) -> usize) {
        let extent = self
            .preview
            .extent(places(shared.area, shared).preview, &shared.around());
        self.preview.scroll = to(extent, self.preview.scroll);
    }

    /// Enter: the question, or the filter of the line in focus.
    fn open(&self, shared: &mut Shared) {
        match self.word_in_focus(shared) {
            Some((kinds, word)) => shared.choose(Choice::Replace(kinds, word)),
            None => shared.open_question(),
        }
    }

    fn pane_at(&self, at: Position, places: &Places, room: Room) -> Option<usize> {
        let left = [(1, places.categories), (2, places.why), (3, places.letters)];
        let shown = left
            .into_iter()
            .filter(|(pane, _)| room != Room::Narrow || *pane == self.focus);
        shown
            .chain([(4, places.rows), (5, places.preview)])
            .find(|(_, place)| place.contains(at))
            .map(|(pane, _)| pane)
    }

    fn click(&mut self, pane: usize, at: Position, shared: &mut Shared) {
        let places = places(shared.area, shared);
        self.focus = pane;
        // Of the lines below the upper edge of a frame, the one that is clicked.
        let line = |place: Rect| usize::from(at.y).checked_sub(usize::from(place.y) + 1);
        if let Some(cursor) = self.cursor(pane) {
            let place = [places.categories, places.why, places.letters][pane - 1];
            let count = words(pane, shared).len();
            cursor.settle(count, usize::from(place.height.saturating_sub(1)));
            let clicked = line(place).map(|line| cursor.top + line).filter(|at| *at < count);
            if let Some(clicked) = clicked {
                // A click on a bar adds its filter.
                cursor.at = clicked;
                self.open(shared);
            }
        } else if pane == 4 {
            let workspace = &mut shared.workspace;
            let clicked = line(places.rows).and_then(|line| (workspace.cursor.top + line).checked_sub(1));
            let clicked = clicked.filter(|row| *row < workspace.selected.rows.len());
            match clicked {
                Some(row) if workspace.cursor.at == row => shared.open_question(),
                Some(row) => workspace.cursor.at = row,
                None => {}
            }
        }
    }
}

impl Screen for Browse {
    fn on(&self) -> On {
        On::Browse
    }

    fn act(&mut self, action: Action, key: &str, shared: &mut Shared) {
        let page = rows::Rows::height(places(shared.area, shared).rows);
        if let Some(by) = action.lines(page) {
            return self.step(self.focus, by, shared);
        }
        match action {
            Action::Left => self.rows.sideways = self.rows.sideways.saturating_sub(20),
            Action::Right => self.rows.sideways = (self.rows.sideways + 20).min(380),
            Action::Open => self.open(shared),
            Action::Digit => self.focus(key.parse().unwrap_or(4), shared),
            Action::NextPane => self.focus(self.focus % PANES + 1, shared),
            Action::Attempts => {
                let mut view = shared.workspace.view.clone();
                view.by_question = !view.by_question;
                shared.show(view);
            }
            Action::NextRow => self.step(PANES, 1, shared),
            Action::PreviousRow => self.step(PANES, -1, shared),
            Action::PageText | Action::FindNext | Action::FindPrevious => self.scroll_preview(shared, Extent::paged),
            Action::Fold => self.preview.folds = !self.preview.folds,
            Action::Follow => shared.follow(),
            Action::Why => {
                let record = self.record(shared).cloned();
                shared.say_why(record.as_ref());
            }
            _ => {}
        }
    }

    fn mouse(&mut self, at: Position, mouse: Mouse, shared: &mut Shared) {
        let places = places(shared.area, shared);
        if mouse == Mouse::Click && places.filter.contains(at) {
            return super::panes::filter_line::FilterLine::open(shared);
        }
        match (self.pane_at(at, &places, Room::of(shared.area)), mouse) {
            (Some(pane), Mouse::Wheel(by)) => self.step(pane, by, shared),
            (Some(pane), Mouse::Click) => self.click(pane, at, shared),
            (None, _) => {}
        }
    }

    fn needs(&mut self, shared: &mut Shared) -> Needs {
        let row = shared.workspace.row();
        if self.preview.row != row {
            self.preview.row = row;
            self.preview.scroll = 0;
        }
        Needs::default()
    }

    fn back(&mut self, shared: &mut Shared) -> bool {
        if shared.find.is_some() {
            return false;
        }
        if self.focus != 4 {
            self.focus = 4;
            return true;
        }
        let clears = shared.depth == 1 && !shared.workspace.view.filter.trim().is_empty();
        if clears {
            shared.show_filter(String::new());
            shared.say("the filter is cleared; u brings it back");
        }
        clears
    }

    /// The live screen below shows every exam again.
    fn leave(self: Box<Self>, shared: &mut Shared) {
        if let Some(word) = self.exam_word {
            let mut words = shared.workspace.words();
            words.retain(|typed| *typed != word);
            shared.show_filter_for_now(words.join(" "));
        }
    }

    fn word(&self, shared: &Shared) -> Option<String> {
        self.word_in_focus(shared)?.1
    }

    fn label(&self, does: &Use, shared: &Shared) -> Option<&'static str> {
        match (does.action, self.word_in_focus(shared)) {
            (Action::Open, Some((_, Some(word)))) if shared.workspace.words().contains(&word) => Some("drop filter"),
            (Action::Open, Some(_)) => Some("filter"),
            _ => Some(does.label).filter(|label| !label.is_empty()),
        }
    }

    fn place(&self, place: &mut Place) {
        place.scroll = Some(self.preview.scroll).filter(|line| *line > 0);
    }

    fn arrive(&mut self, place: &Place, row: Option<u32>) {
        if let (Some(line), false) = (place.scroll, place.is_open) {
            // The preview counts its lines from the row that it shows.
            self.preview.row = row;
            self.preview.scroll = line;
        }
    }

    fn draw(&self, canvas: &mut super::canvas::Canvas, shared: &Shared) {
        self.draw_all(canvas, shared);
    }
}
