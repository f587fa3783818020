//! Two runs on the same questions: how Compare opens, and what keys do on it.

use std::path::Path;
use std::sync::Arc;

use crate::extract::Rule;
use crate::joined::Run;
use crate::notes::Notes;
use crate::trace::Trace;
use crate::tui::compare::{Around, Changed, Compare, Paired, Places, Tallied};
use crate::tui::keymap::{Action, Screen};
use crate::tui::panes::categories;
use crate::tui::panes::picker::{Choice, Entry, Kind, Picker};
use crate::tui::shelf::Side;
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
        });
        let mut entries: Vec<Entry> = open.collect();
        entries.extend(self.saved.iter().map(|saved| Entry {
            label: saved.label.clone(),
            detail: saved.path.display().to_string(),
            count: None,
            choice: Choice::CompareFile(saved.path.clone()),
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
        let (Some(snapshot), Some(compare)) = (self.workspace.snapshot.clone(), self.compare.take()) else {
            return;
        };
        let Some(other) = self
            .others
            .iter()
            .position(|run| Arc::ptr_eq(&run.trace, &compare.paired.b))
        else {
            return;
        };
        let now = Run {
            trace: Arc::clone(&snapshot.trace),
            notes: if self.has_unreadable_notes {
                Err("the notes of earlier sessions cannot be read".to_owned())
            } else {
                Ok(Notes::clone(&self.workspace.notes))
            },
        };
        let next = std::mem::replace(&mut self.others[other], now);
        let row = compare.pair().map(|(_, row)| row);
        self.keeps_compare = Some((compare, row));
        self.effect(Effect::Ask(Request::Compare(None)));
        self.browse_run(next);
        self.compare_with(other);
    }

    /// Puts another run in the place of the one that is browsed.
    fn browse_run(&mut self, run: Run) {
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

    pub(super) fn act_compare(&mut self, action: Action) {
        let places = Places::of(self.area, self.compare.as_ref().map_or(Side::A, |compare| compare.side));
        let page = places.listed() as isize;
        let Some(compare) = &mut self.compare else { return };
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
            Action::Down => compare.step(1),
            Action::Up => compare.step(-1),
            Action::HalfDown => compare.step(page / 2),
            Action::HalfUp => compare.step(-page / 2),
            Action::PageDown => compare.step(page),
            Action::PageUp => compare.step(-page),
            Action::First => compare.step(isize::MIN / 2),
            Action::Last => compare.step(isize::MAX / 2),
            Action::NextRow | Action::PreviousRow => {
                if !compare.step_discordant(action == Action::NextRow) {
                    self.say("no further pair that only one run has right");
                }
            }
            Action::NextPane => compare.next_list(),
            Action::Left => compare.side = Side::A,
            Action::Right => compare.side = Side::B,
            Action::Sort => compare.by_gap = !compare.by_gap,
            Action::Fold => {
                compare.reading.folds = !compare.reading.folds;
                compare.reading.rewind();
            }
            Action::Align => {
                compare.reading.is_aligned = !compare.reading.is_aligned;
                compare.reading.rewind();
            }
            Action::Prompt => {
                compare.reading.prompts = !compare.reading.prompts;
                compare.reading.rewind();
            }
            Action::Changed => compare.changed = Some(Changed::default()),
            Action::Swap => self.swap(),
            Action::PageText => self.page_pair(&places),
            Action::Open => self.open_pair(),
            Action::FindNext | Action::FindPrevious => self.find_in_pair(&places, action == Action::FindNext),
            _ => {}
        }
    }

    /// Pages the text in focus; at its end back to its beginning.
    fn page_pair(&mut self, places: &Places) {
        let Some((lines, from)) = self.laid_side(places) else {
            return;
        };
        let Some(compare) = &mut self.compare else { return };
        let height = usize::from(
            if compare.side == Side::A { places.a } else { places.b }
                .height
                .saturating_sub(2),
        );
        let last = lines.len().saturating_sub(height);
        let now = compare.reading.scroll(compare.side).unwrap_or(from).min(last);
        let next = if now >= last {
            0
        } else {
            (now + height.saturating_sub(1).max(1)).min(last)
        };
        compare.reading.scroll_to(compare.side, next);
    }

    /// Scrolls the text in focus by lines.
    pub(super) fn scroll_pair(&mut self, places: &Places, by: isize) {
        let Some((lines, from)) = self.laid_side(places) else {
            return;
        };
        let Some(compare) = &mut self.compare else { return };
        let height = usize::from(
            if compare.side == Side::A { places.a } else { places.b }
                .height
                .saturating_sub(2),
        );
        let last = lines.len().saturating_sub(height);
        let now = compare.reading.scroll(compare.side).unwrap_or(from).min(last);
        compare
            .reading
            .scroll_to(compare.side, now.saturating_add_signed(by).min(last));
    }

    fn find_in_pair(&mut self, places: &Places, forward: bool) {
        let Some((lines, from)) = self.laid_side(places) else {
            return;
        };
        let Some(compare) = &mut self.compare else { return };
        let is_found = |line: &crate::tui::passage::Laid| {
            line.spans
                .iter()
                .any(|(_, role)| *role == crate::tui::theme::Role::Found)
        };
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
    fn laid_side(&self, places: &Places) -> Option<(Vec<crate::tui::passage::Laid>, usize)> {
        let compare = self.compare.as_ref()?;
        let rule = self.rule_of_b();
        let mut both = compare.lay_pair(places, &self.around(&rule))?;
        Some(std::mem::take(&mut both[compare.side as usize]))
    }

    pub(super) fn rule_of_b(&self) -> Rule {
        let name = self
            .compare
            .as_ref()
            .and_then(|compare| compare.paired.b.rule.as_deref());
        Rule::of_texts(name)
    }

    pub(super) fn around<'a>(&'a self, rule_of_b: &'a Rule) -> Around<'a> {
        Around {
            workspace: &self.workspace,
            rule_of_b,
            find: self.find.as_ref(),
            theme: &self.theme,
        }
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
