//! What keys do on Compare, and how it opens.

use std::sync::Arc;

use ratatui::layout::Position;

use crate::record::Record;
use crate::tui::canvas::Canvas;
use crate::tui::event::Event;
use crate::tui::keymap::{Action, On, Use};
use crate::tui::panes::categories::quoted;
use crate::tui::passage::Laid;
use crate::tui::screen::{Mouse, Needs, Pairs, Screen};
use crate::tui::shared::{Choice, Shared};
use crate::tui::shelf::Side;
use crate::tui::theme::Role;
use crate::tui::view::Place;
use crate::tui::widgets::Extent;
use crate::tui::worker::Reply;

use super::changed::Changed;
use super::places::Places;
use super::{Compare, Listed, Paired, Tallied};

impl Compare {
    /// The screen on two runs: as it was left, where it was on the same.
    pub fn opened(paired: &Arc<Paired>, tallied: &Arc<Tallied>, shared: &mut Shared) -> Box<Compare> {
        let (paired, tallied) = (Arc::clone(paired), Arc::clone(tallied));
        match shared.left.compare.take() {
            Some(mut before) if Arc::ptr_eq(&before.paired.b, &paired.b) => {
                before.renew(paired, tallied);
                before
            }
            _ => Box::new(Compare::new(paired, tallied)),
        }
    }

    /// Rows were paired: of the same runs read again, of others, or of these with A and B in each other's place.
    fn pair(&mut self, paired: &Arc<Paired>, tallied: &Arc<Tallied>) {
        let (paired, tallied) = (Arc::clone(paired), Arc::clone(tallied));
        match self.swapping.take() {
            None if Arc::ptr_eq(&self.paired.b, &paired.b) => self.renew(paired, tallied),
            None => *self = Compare::new(paired, tallied),
            Some(row) => {
                let mut fresh = Compare::new(paired, tallied);
                fresh.take_over(self);
                row.map(|row| fresh.go_to_row(row));
                *self = fresh;
            }
        }
    }

    /// `X`: B is browsed, A is what it is compared with.
    fn swap(&mut self, shared: &mut Shared) {
        let row = self.pair_in_sight().map(|(_, row)| row);
        if let Some(other) = shared.browse(&Arc::clone(&self.paired.b)) {
            self.swapping = Some(row);
            shared.compare_with(other);
        }
    }

    fn act_changed(&mut self, action: Action) -> bool {
        let count = self.tallied.changed.len();
        let Some(changed) = &mut self.changed else { return false };
        match action.lines(10) {
            Some(by) => changed.cursor.step(by, count),
            None => self.changed = None,
        }
        true
    }

    /// The pairs of the category under the cursor, or all again.
    fn keep_category(&self, shared: &mut Shared) {
        if let Some(part) = self.categories().get(self.category.at) {
            let word = format!("cat:{}", quoted(&part.name));
            shared.choose(Choice::Replace(&["cat:", "sub:"], Some(word)));
        }
    }

    /// The question of the pair, in the run that is A.
    fn open_pair(&self, shared: &mut Shared) {
        if self.side == Side::B {
            shared.say("the question opens in A; X swaps A and B");
            return;
        }
        shared.open_row(self.pair_in_sight().map(|(row, _)| row));
    }

    /// The text in focus as lines, and where it begins by itself.
    fn laid_side(&self, places: &Places, shared: &Shared) -> Option<(Vec<Laid>, usize)> {
        let mut both = self.lay_pair(places, &shared.around())?;
        Some(std::mem::take(&mut both[self.side as usize]))
    }

    /// The side whose pane the keys scroll.
    fn shown_side(&self) -> Side {
        if self.reading.is_together() { Side::A } else { self.side }
    }

    /// Moves the first line in sight of the text in focus.
    fn scroll(&mut self, places: &Places, shared: &Shared, to: impl FnOnce(Extent, usize) -> usize) {
        let Some((lines, from)) = self.laid_side(places, shared) else {
            return;
        };
        let extent = Extent {
            lines: lines.len(),
            height: usize::from(places.text(self.shown_side()).height.saturating_sub(1)),
        };
        let now = self.reading.scroll(self.side).unwrap_or(from).min(extent.last());
        self.reading.scroll_to(self.side, to(extent, now));
    }

    fn find(&mut self, places: &Places, forward: bool, shared: &mut Shared) {
        let Some((lines, from)) = self.laid_side(places, shared) else {
            return;
        };
        let is_found = |line: &Laid| line.spans.iter().any(|(_, role)| *role == Role::Found);
        let now = self.reading.scroll(self.side).unwrap_or(from);
        let mut found: Vec<usize> = (0..lines.len()).filter(|at| is_found(&lines[*at])).collect();
        if !forward {
            found.reverse();
        }
        let next = found.iter().find(|at| if forward { **at > now } else { **at < now });
        match next.or(found.first()) {
            Some(line) => self.reading.scroll_to(self.side, *line),
            None => shared.say("nothing found in this text"),
        }
    }

    fn wheel(&mut self, at: Position, by: isize, shared: &Shared) {
        let places = self.places(shared.area);
        if places.list.contains(at) {
            self.step(by);
        } else if places.categories.contains(at) {
            let count = self.tallied.comparison.categories.len();
            self.category.step(by, count);
        } else {
            self.scroll(&places, shared, |extent, now| extent.scrolled(now, by));
        }
    }
}

impl Screen for Compare {
    fn on(&self) -> On {
        On::Compare
    }

    fn act(&mut self, action: Action, key: &str, shared: &mut Shared) {
        if self.swapping.is_some() || self.act_changed(action) {
            return;
        }
        let places = self.places(shared.area);
        if let Some(by) = action.lines(places.listed()) {
            return self.move_by(by);
        }
        match action {
            Action::Digit => self.reads_categories = key == "1",
            Action::NextRow | Action::PreviousRow => {
                if !self.step_discordant(action == Action::NextRow) {
                    shared.say("no further pair that only one run has right");
                }
            }
            Action::NextPane => self.next_list(),
            Action::Left => self.side = Side::A,
            Action::Right => self.side = Side::B,
            Action::Sort => self.by_gap = !self.by_gap,
            Action::Fold => self.reading.turn(|reading| reading.folds = !reading.folds),
            Action::Arrange => self.reading.turn(|reading| reading.is_aligned = !reading.is_aligned),
            Action::Prompt => self.reading.turn(|reading| reading.prompts = !reading.prompts),
            Action::Changed => self.changed = Some(Changed::default()),
            Action::Swap => self.swap(shared),
            Action::PageText => self.scroll(&places, shared, Extent::paged),
            Action::Open if self.reads_categories => self.keep_category(shared),
            Action::Open => self.open_pair(shared),
            Action::FindNext | Action::FindPrevious => self.find(&places, action == Action::FindNext, shared),
            _ => {}
        }
    }

    fn mouse(&mut self, at: Position, mouse: Mouse, shared: &mut Shared) {
        let places = self.places(shared.area);
        for (side, place) in [(Side::A, places.a), (Side::B, places.b)] {
            if place.contains(at) {
                self.side = side;
            }
        }
        match mouse {
            Mouse::Wheel(by) => self.wheel(at, by, shared),
            Mouse::Click if places.list.contains(at) => {
                let line = usize::from(at.y).saturating_sub(usize::from(places.list.y) + 2);
                let cursor = self.cursor();
                self.step((cursor.top + line) as isize - cursor.at as isize);
            }
            Mouse::Click => {}
        }
    }

    fn hear(&mut self, event: &Event, shared: &mut Shared) {
        match event {
            Event::Fetched(fetched) => self.shelf.take(fetched.clone(), |_| None),
            Event::Paired(paired, tallied) => self.pair(paired, tallied),
            Event::Worker(Reply::Selected(selected)) if selected.number == shared.workspace.number() => {
                if let Some(tallied) = &selected.tallied {
                    self.count(Arc::clone(tallied));
                }
            }
            _ => {}
        }
    }

    fn needs(&mut self, shared: &mut Shared) -> Needs {
        let height = self.places(shared.area).listed();
        self.settle(height);
        let top = self.cursor().top;
        let listed = self.list().iter().skip(top).take(height).map(|(row, _)| *row);
        let needs = Needs {
            listed: Some(listed.collect()),
            read: self.read_of_a(),
        };
        shared
            .effects
            .extend(self.missing().map(crate::tui::event::Effect::Fetch));
        needs
    }

    fn back(&mut self, _: &mut Shared) -> bool {
        self.step_back()
    }

    fn leave(self: Box<Self>, shared: &mut Shared) {
        shared.left.compare = Some(self);
    }

    fn row(&self, _: &Shared) -> Option<u32> {
        self.pair_in_sight().map(|(row, _)| row)
    }

    fn record<'a>(&'a self, shared: &'a Shared) -> Option<&'a Record> {
        let (a, b) = self.pair_in_sight()?;
        let record = match self.side {
            Side::A => shared.workspace.record(a),
            Side::B => self.record_of_b(b),
        };
        record?.as_deref().ok()
    }

    fn word(&self, shared: &Shared) -> Option<String> {
        let (rows, row) = (shared.workspace.rows()?, self.row(shared)?);
        Some(format!("cat:{}", quoted(rows.category.get(row as usize))))
    }

    fn go_to(&mut self, at: usize, shared: &mut Shared) {
        let row = shared.workspace.selected.rows.get(at).copied();
        if !row.is_some_and(|row| self.go_to_row(row)) {
            shared.say("both runs do the same on this row: it is in no list");
        }
    }

    fn label(&self, does: &Use, _: &Shared) -> Option<&'static str> {
        match does.action {
            Action::Open if self.reads_categories => Some("filter"),
            _ => Some(does.label).filter(|label| !label.is_empty()),
        }
    }

    fn pairs(&self) -> Option<Pairs> {
        Some(Pairs {
            paired: Arc::clone(&self.paired),
            list: Arc::clone(self.list()),
            word: self.listed.word(),
        })
    }

    fn command(&mut self, word: &str, _: &mut Shared) -> bool {
        let is_own = word == "changed";
        if is_own {
            self.changed = Some(Changed::default());
        }
        is_own
    }

    fn place(&self, place: &mut Place) {
        place.list = Some(self.listed).filter(|listed| *listed != Listed::default());
        place.is_aligned = self.reading.is_aligned;
        place.prompt = self.reading.prompts;
        place.scroll = self.reading.scroll(Side::A);
    }

    fn arrive(&mut self, place: &Place, row: Option<u32>) {
        self.listed = place.list.unwrap_or_default();
        self.reading.is_aligned = place.is_aligned;
        self.reading.prompts = place.prompt;
        row.map(|row| self.go_to_row(row));
        if let (Some(line), false) = (place.scroll, place.is_open) {
            self.reading.scroll_to(Side::A, line);
        }
    }

    fn draw(&self, canvas: &mut Canvas, shared: &Shared) {
        if self.swapping.is_some() {
            return canvas.line(0, canvas.strip().put(" pairing the two runs…", Role::Title));
        }
        self.draw_all(canvas, &shared.around());
    }
}
