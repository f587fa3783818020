//! What keys do on Browse, and what changes the view from anywhere.

use std::sync::Arc;

use crate::text::count;
use crate::text::safe::pasteable;
use crate::tui::keymap::{Action, Screen};
use crate::tui::panes::picker::{Choice, Entry, Kind, Picker};
use crate::tui::panes::{Room, categories, letters, rows, why};
use crate::tui::snapshot::Report;
use crate::tui::widgets::Extent;
use crate::tui::worker::{Request, Selected, Sort, View};

use super::{App, Effect, Overlay, PANES};

impl App {
    pub(super) fn act_browse(&mut self, action: Action, key: &str) {
        let page = rows::Rows::height(self.places(self.area).rows) as isize;
        match action {
            Action::Down => self.step(1),
            Action::Up => self.step(-1),
            Action::HalfDown => self.step(page / 2),
            Action::HalfUp => self.step(-page / 2),
            Action::PageDown => self.step(page),
            Action::PageUp => self.step(-page),
            Action::First => self.step(isize::MIN / 2),
            Action::Last => self.step(isize::MAX / 2),
            Action::Left => self.panes.rows.sideways = self.panes.rows.sideways.saturating_sub(20),
            Action::Right => self.panes.rows.sideways = (self.panes.rows.sideways + 20).min(380),
            Action::Open => self.open(),
            Action::Digit => self.focus(key.parse().unwrap_or(4)),
            Action::NextPane => {
                let last = if Room::of(self.area) == Room::Narrow { 5 } else { PANES };
                let next = if self.panes.focus >= last {
                    1
                } else {
                    self.panes.focus + 1
                };
                self.focus(next);
            }
            Action::Attempts => {
                let mut view = self.workspace.view.clone();
                view.by_question = !view.by_question;
                self.show(view);
            }
            Action::Sort => self.open_sort(),
            Action::NextRow => self.scroll_preview(1),
            Action::PreviousRow => self.scroll_preview(-1),
            Action::PageText => self.page_preview(),
            Action::Fold => self.panes.preview.folds = !self.panes.preview.folds,
            Action::FindNext | Action::FindPrevious => self.page_preview(),
            Action::Follow => self.follow(),
            _ => {}
        }
    }

    fn focus(&mut self, pane: usize) {
        if Room::of(self.area) != Room::Tiny {
            self.panes.focus = pane.clamp(1, PANES);
            self.go_to_chosen();
        }
    }

    /// Puts the cursor of the pane in focus on the line that the filter chooses.
    fn go_to_chosen(&mut self) {
        let words = self.words();
        let is_chosen = |word: Option<String>| word.is_some_and(|word| words.contains(&word));
        let report = &self.workspace.selected.report;
        let Some(snapshot) = self.workspace.snapshot.as_deref() else {
            return;
        };
        let panes = &mut self.panes;
        let (cursor, at) = match panes.focus {
            1 => {
                let entries = categories::entries(snapshot);
                let at = entries.iter().rposition(|entry| is_chosen(entry.word()));
                (&mut panes.categories.cursor, at)
            }
            2 => {
                let word = |cause: crate::diagnose::Cause| Some(format!("why:{}", cause.name()));
                let at = why::entries(report)
                    .iter()
                    .position(|(cause, _)| is_chosen(word(*cause)));
                (&mut panes.why.cursor, at)
            }
            3 => {
                let entries = letters::entries(&snapshot.all, report);
                let at = entries
                    .iter()
                    .position(|(letter, ..)| is_chosen(Some(format!("key:{letter}"))));
                (&mut panes.letters.cursor, at)
            }
            _ => return,
        };
        cursor.at = at.unwrap_or(cursor.at);
    }

    pub(super) fn step(&mut self, by: isize) {
        let report = &self.workspace.selected.report;
        let snapshot = self.workspace.snapshot.as_deref();
        match self.panes.focus {
            1 => {
                let count = snapshot.map_or(0, |snapshot| categories::entries(snapshot).len());
                self.panes.categories.cursor.step(by, count);
            }
            2 => self.panes.why.cursor.step(by, why::entries(report).len()),
            3 => {
                let count = snapshot.map_or(0, |snapshot| letters::entries(&snapshot.all, report).len());
                self.panes.letters.cursor.step(by, count);
            }
            5 => self.scroll_preview(by),
            _ => {
                let count = self.workspace.selected.rows.len();
                self.workspace.cursor.step(by, count);
            }
        }
    }

    pub(super) fn scroll_preview(&mut self, by: isize) {
        let extent = self.preview_extent();
        let scroll = &mut self.panes.preview.scroll;
        *scroll = extent.scrolled(*scroll, by);
    }

    fn page_preview(&mut self) {
        let extent = self.preview_extent();
        let scroll = &mut self.panes.preview.scroll;
        *scroll = extent.paged(*scroll);
    }

    fn preview_extent(&self) -> Extent {
        self.panes
            .preview
            .extent(self.places(self.area).preview, &self.around())
    }

    /// Enter: the question, or the filter of the line in focus.
    pub(super) fn open(&mut self) {
        match self.word_in_focus() {
            Some((kinds, word)) => {
                let choice = Choice::Replace(kinds, word);
                self.choose(choice);
            }
            None => self.open_question(),
        }
    }

    /// The filter word of the line in focus on one of the left panes, with the words it replaces.
    pub(super) fn word_in_focus(&self) -> Option<(&'static [&'static str], Option<String>)> {
        let snapshot = self.workspace.snapshot.as_deref()?;
        let report = &self.workspace.selected.report;
        let panes = &self.panes;
        match panes.focus {
            1 => {
                let entries = categories::entries(snapshot);
                let entry = entries.get(panes.categories.cursor.at)?;
                let word = entry.word();
                Some((&["cat:", "sub:", "exam:"], word))
            }
            2 => {
                let (cause, _) = *why::entries(report).get(panes.why.cursor.at)?;
                Some((&["why:"], Some(format!("why:{}", cause.name()))))
            }
            3 => {
                let (letter, ..) = *letters::entries(&snapshot.all, report).get(panes.letters.cursor.at)?;
                Some((&["key:"], Some(format!("key:{letter}"))))
            }
            _ => None,
        }
    }

    pub(super) fn open_question(&mut self) {
        let (Some(row), Some(snapshot)) = (self.workspace.row(), self.workspace.snapshot.as_deref()) else {
            return;
        };
        self.panes.question.open(snapshot, row);
        if self.screen() != Screen::Question {
            self.screens.push(Screen::Question);
        }
    }

    pub(super) fn show(&mut self, view: View) {
        let request = self.workspace.show(view);
        self.ask(request);
    }

    pub(super) fn show_filter(&mut self, filter: String) {
        let view = View {
            filter,
            ..self.workspace.view.clone()
        };
        self.show(view);
    }

    /// `i`, `w`, `o`: one of the three, or none.
    pub(super) fn toggle_outcome(&mut self, word: &str) {
        let words = self.words();
        let is_on = words.iter().any(|typed| typed == word);
        let mut words: Vec<String> = words
            .into_iter()
            .filter(|typed| !["invalid", "wrong", "ok"].contains(&typed.as_str()))
            .collect();
        if !is_on {
            words.insert(0, word.to_owned());
        }
        self.show_filter(words.join(" "));
    }

    /// The words of the present filter.
    pub(super) fn words(&self) -> Vec<String> {
        let text = &self.workspace.view.filter;
        match self.workspace.rows() {
            Some(rows) => {
                let filter = self.workspace.parse(text, rows);
                let mut words = Vec::new();
                let mut end = 0;
                for word in filter.words() {
                    if text[end..word.span.start].contains('|') {
                        words.push("|".to_owned());
                    }
                    end = word.span.end;
                    words.push(text[word.span.clone()].to_owned());
                }
                words
            }
            None => text.split_whitespace().map(str::to_owned).collect(),
        }
    }

    pub(super) fn selected(&mut self, selected: Selected) {
        self.workspace.take_selected(selected);
        if self.screen() != Screen::Question || !self.workspace.is_current() {
            return;
        }
        // A filter pressed on Question moves on where the open row is no longer in it.
        let open = self.panes.question.row;
        if open.is_some_and(|row| self.workspace.place(row).is_none()) && self.workspace.row().is_some() {
            self.open_question();
        }
    }

    pub(super) fn choose(&mut self, choice: Choice) {
        match choice {
            Choice::Replace(kinds, word) => {
                let has_it = word.as_ref().is_some_and(|word| self.words().contains(word));
                self.replace_words(kinds, word.filter(|_| !has_it));
            }
            Choice::Add(word) => {
                let mut words = self.words();
                if !words.contains(&word) {
                    words.push(word);
                }
                self.show_filter(words.join(" "));
            }
            Choice::Sort(sort) => {
                let view = self.workspace.view.clone();
                let is_reversed = if view.sort == sort {
                    !view.is_reversed
                } else {
                    sort == Sort::Chars
                };
                self.show(View {
                    sort,
                    is_reversed,
                    ..view
                });
            }
            Choice::Nothing => {}
            Choice::Compare(other) => self.compare_with(other),
            Choice::CompareFile(path) => self.compare_file(&path.display().to_string()),
            Choice::Press(key) => {
                if let Some(event) = crate::tui::keymap::event_of(key) {
                    self.press(event);
                }
            }
        }
    }

    /// Puts a word in the place of the filter's words of its kinds.
    pub(super) fn replace_words(&mut self, kinds: &[&str], word: Option<String>) {
        let mut words = self.words();
        words.retain(|typed| !kinds.iter().any(|kind| typed.trim_start_matches('-').starts_with(kind)));
        words.extend(word);
        self.show_filter(words.join(" "));
    }

    fn open_sort(&mut self) {
        let now = self.workspace.view.sort;
        let entries = Sort::ALL
            .iter()
            .map(|(sort, name, help)| Entry {
                label: (*name).to_owned(),
                detail: format!("{help}{}", if *sort == now { "  (now; again reverses)" } else { "" }),
                count: None,
                choice: Choice::Sort(*sort),
                ..Entry::default()
            })
            .collect();
        let place = Sort::ALL.iter().position(|(sort, ..)| *sort == now);
        let picker = Picker::new(Kind::Sort, "Sort by", entries).starting_at(place.unwrap_or(0));
        self.overlay = Some(Overlay::Picker(picker));
    }

    pub(super) fn open_categories(&mut self) {
        let words: Vec<String> = self.words();
        let rest: Vec<String> = words
            .into_iter()
            .filter(|word| {
                !["cat:", "sub:"]
                    .iter()
                    .any(|kind| word.trim_start_matches('-').starts_with(kind))
            })
            .collect();
        let entries = match self.workspace.snapshot.as_deref() {
            Some(snapshot) => category_entries(&snapshot.all, &[], snapshot.has_several_exams()),
            None => return,
        };
        self.overlay = Some(Overlay::Picker(Picker::new(Kind::Category, "Category", entries)));
        self.effect(Effect::Ask(Request::Count { filter: rest.join(" ") }));
    }

    pub(super) fn counted(&mut self, _filter: &str, report: &Report, subjects: &[(Arc<str>, usize)]) {
        let Some(snapshot) = self.workspace.snapshot.as_deref() else {
            return;
        };
        let several = snapshot.has_several_exams();
        // Categories that the filter leaves nothing of stay in the list, with 0.
        let mut all = snapshot.all.clone();
        all.total = report.total;
        for category in &mut all.categories {
            let shown = report
                .categories
                .iter()
                .find(|s| s.exam == category.exam && s.code == category.code);
            category.sum = shown.map(|shown| shown.sum).unwrap_or_default();
        }
        let entries = category_entries(&all, subjects, several);
        if let Some(Overlay::Picker(picker)) = &mut self.overlay
            && picker.kind == Kind::Category
        {
            picker.refill(entries);
        }
    }

    /// `+` and `-`: what the row under the cursor is like.
    pub(super) fn open_alike(&mut self, drops: bool) {
        let word = match self.screen() {
            Screen::Browse => self.word_in_focus().and_then(|(_, word)| word),
            Screen::Compare => self.category_in_sight(),
            _ => None,
        };
        if let Some(word) = word {
            let word = if drops { format!("-{word}") } else { word };
            self.choose(Choice::Add(word));
            return;
        }
        let (Some(snapshot), Some(row)) = (self.workspace.snapshot.as_deref(), self.row_in_sight()) else {
            return;
        };
        let rows = snapshot.rows();
        let at = row as usize;
        let mut words: Vec<(String, &str)> = Vec::new();
        let outcome = match (rows.is_invalid(at), rows.correct[at]) {
            (true, _) => "invalid",
            (false, true) => "ok",
            (false, false) => "wrong",
        };
        words.push((outcome.to_owned(), "rows with this outcome"));
        words.push((
            format!("cat:{}", categories::quoted(rows.category.get(at))),
            "this category",
        ));
        if !rows.subject.get(at).is_empty() && rows.subject.get(at) != rows.category.get(at) {
            words.push((
                format!("sub:{}", categories::quoted(rows.subject.get(at))),
                "this subject",
            ));
        }
        if !rows.is_invalid(at) {
            words.push((format!("pick:{}", categories::quoted(rows.pick.get(at))), "this pick"));
        }
        words.push((format!("key:{}", categories::quoted(rows.answer.get(at))), "this key"));
        if let Some(cause) = self.cause_of(row) {
            words.push((format!("why:{cause}"), "this cause"));
        }
        if snapshot.most_attempts > 1 {
            words.push((format!("at:{}", rows.attempt[at]), "this attempt"));
        }
        if let Some(seed) = rows.seed(at) {
            words.push((format!("seed:{seed}"), "this seed"));
        }
        if snapshot.has_several_exams() {
            words.push((
                format!("exam:{}", categories::quoted(rows.benchmark.get(at))),
                "this exam",
            ));
        }
        words.push((format!("q:{}", rows.question_id[at]), "this question"));
        let entries = words
            .into_iter()
            .filter(|(word, _)| !word.ends_with(':'))
            .map(|(word, detail)| {
                let word = if drops { format!("-{word}") } else { word };
                Entry {
                    label: word.clone(),
                    detail: detail.to_owned(),
                    choice: Choice::Add(word),
                    ..Entry::default()
                }
            })
            .collect();
        let title = if drops {
            "Drop rows like this"
        } else {
            "Keep only rows like this"
        };
        self.overlay = Some(Overlay::Picker(Picker::new(Kind::Alike, title, entries)));
    }

    fn cause_of(&self, row: u32) -> Option<&'static str> {
        let record = self.workspace.record(row)?.as_deref().ok()?;
        let reading = crate::tui::reading::Reading::of(record, &self.workspace.rule);
        reading.diagnosis.cause.map(crate::diagnose::Cause::name)
    }

    /// The row that is read: the attempt in focus, or the row under the cursor.
    pub(super) fn row_in_sight(&self) -> Option<u32> {
        match (self.screen(), self.workspace.snapshot.as_deref()) {
            (Screen::Question, Some(snapshot)) => self.panes.question.focused(snapshot),
            (Screen::Compare, _) => self.compare.as_ref()?.pair().map(|(row, _)| row),
            (Screen::Lab, _) => self.lab.as_ref()?.row_in_sight(),
            _ => self.workspace.row(),
        }
    }

    pub(super) fn step_history(&mut self, back: bool) {
        let notes = Arc::clone(&self.workspace.notes);
        let stepped = if back {
            self.workspace.undo()
        } else {
            self.workspace.redo()
        };
        let Some(stepped) = stepped else {
            self.say(if back { "nothing to undo" } else { "nothing to redo" });
            return;
        };
        self.effect(Effect::Ask(stepped.request));
        if let Some(trace) = stepped.trace {
            self.show_rule(trace);
        }
        let how = if back { "undone" } else { "done again" };
        self.say(format!("{how}: {}", stepped.what));
        if !Arc::ptr_eq(&notes, &self.workspace.notes) {
            self.keep_notes();
        }
    }

    pub(super) fn go_to_place(&mut self, at: usize) {
        if self.screen() == Screen::Compare {
            let row = self.workspace.selected.rows.get(at).copied();
            let is_listed = row.is_some_and(|row| self.compare.as_mut().is_some_and(|compare| compare.go_to(row)));
            if !is_listed {
                self.say("both runs do the same on this row: it is in no list");
            }
            return;
        }
        self.workspace.cursor.at = at;
        if self.screen() == Screen::Question {
            self.open_question();
        }
    }

    pub(super) fn copy_output(&mut self) {
        let of_b = self
            .compare
            .as_ref()
            .filter(|compare| self.screen() == Screen::Compare && compare.side == crate::tui::shelf::Side::B);
        let record = match of_b {
            Some(compare) => compare.pair().and_then(|(_, row)| compare.record_of_b(row)),
            None => self.row_in_sight().and_then(|row| self.workspace.record(row)),
        };
        let Some(record) = record.and_then(|record| record.as_ref().ok()) else {
            return;
        };
        let is_cloze = record.logprobs.is_some();
        let text = if is_cloze { &record.prompt } else { &record.reasoning };
        let (text, left_out) = pasteable(text);
        let chars = count(text.chars().count(), "character");
        let left_out = match left_out {
            0 => String::new(),
            left_out => format!(", {} left out", count(left_out, "control character")),
        };
        let what = if is_cloze { "prompt" } else { "output" };
        self.effect(Effect::Copy(text));
        self.say(format!(
            "{what} copied: {chars}{left_out} (where the terminal allows OSC 52)"
        ));
    }
}

fn category_entries(report: &Report, subjects: &[(Arc<str>, usize)], several: bool) -> Vec<Entry> {
    let entry = |label: String, detail: String, count: usize, word: Option<String>| Entry {
        label,
        detail,
        count: Some(count),
        choice: Choice::Replace(&["cat:", "sub:"], word),
        ..Entry::default()
    };
    let mut entries = vec![entry(
        "all".to_owned(),
        "no category".to_owned(),
        report.total.rows(),
        None,
    )];
    for category in &report.categories {
        let word = format!("cat:{}", categories::quoted(&category.name));
        let detail = if several {
            category.exam.to_string()
        } else {
            String::new()
        };
        entries.push(entry(
            category.name.replace('_', " "),
            detail,
            category.sum.rows(),
            Some(word),
        ));
    }
    let mut subjects: Vec<_> = subjects.iter().collect();
    subjects.sort();
    for (name, count) in subjects {
        let word = format!("sub:{}", categories::quoted(name));
        entries.push(entry(name.replace('_', " "), "subject".to_owned(), *count, Some(word)));
    }
    entries
}
