//! Two runs on the same questions: how Compare opens, and what keys do on it.

use std::path::Path;
use std::sync::Arc;

use crate::joined::Run;
use crate::trace::Trace;
use crate::tui::compare::{Changed, Compare, Paired, Places, Tallied};
use crate::tui::keymap::{Action, Screen};
use crate::tui::panes::categories;
use crate::tui::panes::picker::{Choice, Entry, Kind, Picker};
use crate::tui::passage::Laid;
use crate::tui::shelf::Side;
use crate::tui::theme::Role;
use crate::tui::widgets::Extent;
use crate::tui::worker::Request;

use super::{App, Effect, Overlay};

/// Runs of the data directory that `d` offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Saved {
    pub path: std::path::PathBuf,
    pub label: String,
}

impl App {
    /// Compares the run that is browsed with another that is open.
    pub(super) fn compare_with(&mut self, other: usize) {
        if other >= self.others.len() {
            return;
        }
        self.others.swap(0, other);
        let b = Arc::clone(&self.others[0].trace);
        let Some(a) = self
            .workspace
            .snapshot
            .as_deref()
            .map(|snapshot| Arc::clone(&snapshot.trace))
        else {
            // The rows of A are on their way.
            self.compares_first = true;
            return;
        };
        self.effect(Effect::Pair(a, b));
        self.say("pairing the two runs…");
    }

    /// Rows were paired.
    pub(super) fn paired(&mut self, paired: Arc<Paired>, tallied: Arc<Tallied>) {
        let is_stale = self
            .workspace
            .snapshot
            .as_deref()
            .is_none_or(|snapshot| !Arc::ptr_eq(&snapshot.trace, &paired.a));
        if is_stale {
            return;
        }
        self.message = None;
        self.workspace.has_two_runs = true;
        match &mut self.compare {
            Some(compare) if Arc::ptr_eq(&compare.paired.b, &paired.b) => compare.renew(Arc::clone(&paired), tallied),
            _ => {
                let mut compare = Compare::new(Arc::clone(&paired), tallied);
                if let Some((before, row)) = self.keeps_compare.take() {
                    compare.take_over(&before);
                    row.map(|row| compare.go_to(row));
                }
                self.compare = Some(compare);
            }
        }
        self.effect(Effect::Ask(Request::Compare(Some(paired))));
        let request = self.workspace.ask();
        self.effect(Effect::Ask(request));
        if !self.screens.contains(&Screen::Compare) {
            self.screens.push(Screen::Compare);
        }
    }

    /// Counts of a view came in.
    pub(super) fn tallied(&mut self, tallied: Arc<Tallied>) {
        if let Some(compare) = &mut self.compare {
            compare.count(tallied);
        }
    }

    /// `d`: the runs to compare with.
    pub(super) fn open_runs(&mut self) {
        if self.live.is_some() {
            self.say("a run at work is compared when it is done: markbook open A B");
            return;
        }
        let open = self.others.iter().enumerate().map(|(at, run)| Entry {
            label: run.trace.name.clone(),
            detail: run.trace.kind.clone(),
            count: Some(run.trace.rows.len()),
            choice: Choice::Compare(at),
            ..Entry::default()
        });
        let mut entries: Vec<Entry> = open.collect();
        entries.extend(self.saved.iter().map(|saved| Entry {
            label: saved.label.clone(),
            detail: saved.path.display().to_string(),
            choice: Choice::CompareFile(saved.path.clone()),
            ..Entry::default()
        }));
        self.overlay = Some(Overlay::Picker(Picker::new(
            Kind::Runs,
            "Compare with (:compare FILE opens any other)",
            entries,
        )));
        if self.saved.is_empty() {
            self.effect(Effect::ListRuns);
        }
    }

    pub(super) fn saved_runs(&mut self, saved: Vec<Saved>) {
        if saved.is_empty() {
            return;
        }
        self.saved = saved;
        if matches!(&self.overlay, Some(Overlay::Picker(picker)) if picker.kind == Kind::Runs) {
            self.open_runs();
        }
    }

    /// `:compare FILE`.
    pub(super) fn compare_file(&mut self, path: &str) {
        if path.is_empty() {
            self.open_runs();
            return;
        }
        let path = match (path.strip_prefix("~/"), dirs::home_dir()) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => Path::new(path).to_owned(),
        };
        self.say(format!("opening {}…", path.display()));
        self.effect(Effect::OpenOther(path));
    }

    /// Another run was opened, or why it could not be.
    pub(super) fn opened_other(&mut self, run: Result<Box<Run>, String>) {
        match run {
            Ok(run) => {
                self.others.push(*run);
                self.compare_with(self.others.len() - 1);
            }
            Err(error) => self.warn(error),
        }
    }

    /// `X`: B is browsed, A is what it is compared with.
    fn swap(&mut self) {
        let Some(compare) = self.compare.take() else { return };
        let row = compare.pair().map(|(_, row)| row);
        let b = Arc::clone(&compare.paired.b);
        if let Some(other) = self.exchange(&b) {
            self.keeps_compare = Some((compare, row));
            self.compare_with(other);
        }
    }

    /// Puts another run in the place of the one that is browsed.
    pub(super) fn browse_run(&mut self, run: Run) {
        self.workspace.change_run();
        self.panes.question.row = None;
        self.panes.preview.row = None;
        self.problems = None;
        self.has_unreadable_notes = run.notes.is_err();
        if let Ok(notes) = run.notes {
            self.workspace.notes = Arc::new(notes);
        }
        self.take_trace(run.trace, crate::tui::worker::Stage::Whole);
    }

    pub(super) fn act_compare(&mut self, action: Action, key: &str) {
        let Some(compare) = &mut self.compare else { return };
        let places = compare.places(self.area);
        let page = places.listed() as isize;
        if let Some(changed) = &mut compare.changed {
            let count = compare.tallied.changed.len();
            match action {
                Action::Down => changed.cursor.step(1, count),
                Action::Up => changed.cursor.step(-1, count),
                Action::First => changed.cursor.step(isize::MIN / 2, count),
                Action::Last => changed.cursor.step(isize::MAX / 2, count),
                _ => compare.changed = None,
            }
            return;
        }
        match action {
            Action::Down => compare.move_by(1),
            Action::Up => compare.move_by(-1),
            Action::HalfDown => compare.move_by(page / 2),
            Action::HalfUp => compare.move_by(-page / 2),
            Action::PageDown => compare.move_by(page),
            Action::PageUp => compare.move_by(-page),
            Action::First => compare.move_by(isize::MIN / 2),
            Action::Last => compare.move_by(isize::MAX / 2),
            Action::Digit => compare.reads_categories = key == "1",
            Action::NextRow | Action::PreviousRow => {
                if !compare.step_discordant(action == Action::NextRow) {
                    self.say("no further pair that only one run has right");
                }
            }
            Action::NextPane => compare.next_list(),
            Action::Left => compare.side = Side::A,
            Action::Right => compare.side = Side::B,
            Action::Sort => compare.by_gap = !compare.by_gap,
            Action::Fold => compare.reading.turn(|reading| reading.folds = !reading.folds),
            Action::Align => compare.reading.turn(|reading| reading.is_aligned = !reading.is_aligned),
            Action::Prompt => compare.reading.turn(|reading| reading.prompts = !reading.prompts),
            Action::Changed => compare.changed = Some(Changed::default()),
            Action::Swap => self.swap(),
            Action::PageText => self.move_pair(&places, Extent::paged),
            Action::Open if compare.reads_categories => self.keep_category(),
            Action::Open => self.open_pair(),
            Action::FindNext | Action::FindPrevious => self.find_in_pair(&places, action == Action::FindNext),
            _ => {}
        }
    }

    /// The pairs of the category under the cursor, or all again.
    fn keep_category(&mut self) {
        let name = self.compare.as_ref().and_then(|compare| {
            let part = compare.categories().get(compare.category.at).copied()?;
            Some(format!("cat:{}", categories::quoted(&part.name)))
        });
        if name.is_some() {
            self.choose(Choice::Replace(&["cat:", "sub:"], name));
        }
    }

    /// Moves the first line in sight of the text in focus.
    fn move_pair(&mut self, places: &Places, to: impl FnOnce(Extent, usize) -> usize) {
        let Some((lines, from)) = self.laid_side(places) else {
            return;
        };
        let Some(compare) = &mut self.compare else { return };
        let extent = Extent {
            lines: lines.len(),
            height: usize::from(places.text(compare.side).height.saturating_sub(2)),
        };
        let now = compare.reading.scroll(compare.side).unwrap_or(from).min(extent.last());
        compare.reading.scroll_to(compare.side, to(extent, now));
    }

    /// Scrolls the text in focus by lines.
    pub(super) fn scroll_pair(&mut self, places: &Places, by: isize) {
        self.move_pair(places, |extent, now| extent.scrolled(now, by));
    }

    pub(super) fn find_in_pair(&mut self, places: &Places, forward: bool) {
        let Some((lines, from)) = self.laid_side(places) else {
            return;
        };
        let Some(compare) = &mut self.compare else { return };
        let is_found = |line: &Laid| line.spans.iter().any(|(_, role)| *role == Role::Found);
        let now = compare.reading.scroll(compare.side).unwrap_or(from);
        let mut found: Vec<usize> = (0..lines.len()).filter(|at| is_found(&lines[*at])).collect();
        if !forward {
            found.reverse();
        }
        let next = found.iter().find(|at| if forward { **at > now } else { **at < now });
        match next.or(found.first()) {
            Some(line) => compare.reading.scroll_to(compare.side, *line),
            None => self.say("nothing found in this text"),
        }
    }

    /// The text in focus as lines, and where it begins by itself.
    fn laid_side(&self, places: &Places) -> Option<(Vec<Laid>, usize)> {
        let compare = self.compare.as_ref()?;
        let mut both = compare.lay_pair(places, &self.around())?;
        Some(std::mem::take(&mut both[compare.side as usize]))
    }

    /// Enter: the question of the pair, in the run that is A.
    fn open_pair(&mut self) {
        let Some(compare) = &self.compare else { return };
        if compare.side == Side::B {
            self.say("the question opens in A; X swaps A and B");
            return;
        }
        let place = compare.pair().and_then(|(row, _)| self.workspace.place(row));
        if let Some(at) = place {
            self.workspace.cursor.at = at;
            self.open_question();
        }
    }

    /// The categories that `+` and `-` keep and drop on Compare.
    pub(super) fn category_in_sight(&self) -> Option<String> {
        let (row, _) = self.compare.as_ref()?.pair()?;
        let rows = self.workspace.rows()?;
        Some(format!("cat:{}", categories::quoted(rows.category.get(row as usize))))
    }

    /// The trace that Compare holds against the one that is browsed.
    pub(super) fn other_trace(&self) -> Option<&Arc<Trace>> {
        self.compare.as_ref().map(|compare| &compare.paired.b)
    }
}
