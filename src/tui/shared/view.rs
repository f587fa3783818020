//! The view on the rows: what changes it from any screen, and takes it back.

use std::path::PathBuf;
use std::sync::Arc;

use crate::text::count;
use crate::text::safe::pasteable;
use crate::tui::keymap;
use crate::tui::panes::categories::{self, quoted};
use crate::tui::panes::picker::{Entry, Kind, Picker};
use crate::tui::reading::Reading;
use crate::tui::snapshot::Report;
use crate::tui::worker::{Request, Sort, View};

use super::super::event::Effect;
use super::super::screen::{Next, Screen};
use super::Shared;

/// What choosing an entry of a picker does.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Choice {
    #[default]
    Nothing,
    /// Replaces the filter words of these kinds by this word; `None` takes them away.
    Replace(&'static [&'static str], Option<String>),
    /// Adds a word to the filter.
    Add(String),
    Sort(Sort),
    /// Compares with another run that is open, by its place.
    Compare(usize),
    /// Opens a run and compares with it.
    CompareFile(PathBuf),
    /// Presses a key.
    Press(&'static str),
}

impl Shared {
    pub fn show(&mut self, view: View) {
        if view != self.workspace.view {
            self.workspace.note_jump(false);
        }
        let request = self.workspace.show(view);
        self.ask(request);
    }

    /// `:save NAME`: the filter gets a name, which Tab offers in the filter line; without a filter the name is taken away.
    pub fn save_filter(&mut self, name: &str) {
        let filter = self.workspace.filter_as_flag();
        let filter = Some(filter.as_str()).filter(|filter| !filter.is_empty());
        let list = self.saved.by_name.keys().cloned().collect::<Vec<_>>().join(" ");
        if name.is_empty() || filter.is_none() && !self.saved.by_name.contains_key(name) {
            let list = if list.is_empty() { "none yet" } else { &list };
            return self.say(format!(
                "saved: {list}; :save NAME keeps the filter in force, without one it is forgotten"
            ));
        }
        if let Err(error) = self.saved.name(name, filter) {
            return self.warn(format!("{error:#}"));
        }
        self.say(match filter {
            Some(filter) => format!("{name} is {filter}; Tab offers it in the filter line"),
            None => format!("{name} is forgotten"),
        });
        if let Some(place) = self.saved.place.clone() {
            self.effect(Effect::KeepFilter(place, name.to_owned(), filter.map(str::to_owned)));
        }
    }

    pub fn show_filter(&mut self, filter: String) {
        let view = self.workspace.view.with(filter);
        self.show(view);
    }

    /// The same without a step of history.
    pub fn show_filter_for_now(&mut self, filter: String) {
        let view = self.workspace.view.with(filter);
        let request = self.workspace.show_for_now(view);
        self.ask(request);
    }

    /// `i`, `w`, `o`: one of the three, or none.
    pub fn toggle_outcome(&mut self, word: &str) {
        let words = self.workspace.words();
        let is_on = words.iter().any(|typed| typed == word);
        let others = words
            .into_iter()
            .filter(|typed| !["invalid", "wrong", "ok"].contains(&typed.as_str()));
        let own = (!is_on).then(|| word.to_owned());
        self.show_filter(own.into_iter().chain(others).collect::<Vec<_>>().join(" "));
    }

    pub fn choose(&mut self, choice: Choice) {
        match choice {
            Choice::Replace(kinds, word) => {
                let words = self.workspace.words();
                self.replace_words(kinds, word.filter(|word| !words.contains(word)));
            }
            Choice::Add(word) => {
                let mut words = self.workspace.words();
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
                self.workspace.begin_at_top();
            }
            Choice::Nothing => {}
            Choice::Compare(other) => self.compare_with(other),
            Choice::CompareFile(path) => self.compare_file(&path.display().to_string()),
            Choice::Press(key) => self.next.extend(keymap::event_of(key).map(Next::Press)),
        }
    }

    /// Puts a word in the place of the filter's words of its kinds.
    pub fn replace_words(&mut self, kinds: &[&str], word: Option<String>) {
        let mut words = self.workspace.words();
        words.retain(|typed| !is_of(typed, kinds));
        words.extend(word);
        self.show_filter(words.join(" "));
    }

    pub fn open_picker(&mut self, picker: Picker) {
        self.go(Next::Open(Box::new(picker)));
    }

    pub fn open_sort(&mut self) {
        let now = self.workspace.view.sort;
        let entry = |(sort, name, help): &(Sort, &str, &str)| Entry {
            label: (*name).to_owned(),
            detail: format!("{help}{}", if *sort == now { "  (now; again reverses)" } else { "" }),
            choice: Choice::Sort(*sort),
            ..Entry::default()
        };
        let place = Sort::ALL.iter().position(|(sort, ..)| *sort == now);
        let picker = Picker::new(Kind::Sort, "Sort by", Sort::ALL.iter().map(entry).collect());
        self.open_picker(picker.starting_at(place.unwrap_or(0)));
    }

    pub fn open_categories(&mut self) {
        let Some(snapshot) = self.workspace.snapshot.clone() else {
            return;
        };
        let entries = category_entries(&snapshot.all, &[], snapshot.has_several_exams());
        self.open_picker(Picker::new(Kind::Category, "Category", entries));
        let mut rest = self.workspace.words();
        rest.retain(|word| !is_of(word, &["cat:", "sub:"]));
        self.ask(Request::Count { filter: rest.join(" ") });
    }

    /// The categories with the rows that they have under the rest of the filter.
    pub fn counted(&self, report: &Report, subjects: &[(Arc<str>, usize)]) -> Vec<Entry> {
        let Some(snapshot) = self.workspace.snapshot.as_deref() else {
            return Vec::new();
        };
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
        category_entries(&all, subjects, snapshot.has_several_exams())
    }

    /// `+` and `-`: what the line in focus is, or what the row is like.
    pub fn open_alike(&mut self, drops: bool, screen: &dyn Screen) {
        let sign = if drops { "-" } else { "" };
        if let Some(word) = screen.word(self) {
            self.choose(Choice::Add(format!("{sign}{word}")));
            return;
        }
        let Some(row) = screen.row(self) else { return };
        let entry = |(word, detail): (String, &str)| Entry {
            label: format!("{sign}{word}"),
            detail: detail.to_owned(),
            choice: Choice::Add(format!("{sign}{word}")),
            ..Entry::default()
        };
        let words = self.words_of(row).into_iter().filter(|(word, _)| !word.ends_with(':'));
        let title = if drops {
            "Drop rows like this"
        } else {
            "Keep only rows like this"
        };
        self.open_picker(Picker::new(Kind::Alike, title, words.map(entry).collect()));
    }

    /// The filter words that hold of a row, with what they choose.
    fn words_of(&self, row: u32) -> Vec<(String, &'static str)> {
        let Some(snapshot) = self.workspace.snapshot.as_deref() else {
            return Vec::new();
        };
        let (rows, at) = (snapshot.rows(), row as usize);
        let outcome = match (rows.is_invalid(at), rows.correct[at]) {
            (true, _) => "invalid",
            (false, true) => "ok",
            (false, false) => "wrong",
        };
        let word = |kind: &str, name: &str| format!("{kind}:{}", quoted(name));
        let mut words = vec![
            (outcome.to_owned(), "rows with this outcome"),
            (word("cat", rows.category.get(at)), "this category"),
        ];
        if !rows.subject.get(at).is_empty() && rows.subject.get(at) != rows.category.get(at) {
            words.push((word("sub", rows.subject.get(at)), "this subject"));
        }
        if !rows.is_invalid(at) {
            words.push((word("pick", rows.pick.get(at)), "this pick"));
        }
        words.push((word("key", rows.answer.get(at)), "this key"));
        let record = self.workspace.record(row).and_then(|record| record.as_deref().ok());
        let cause = record.and_then(|record| Reading::of(record, &self.workspace.rule).diagnosis.cause);
        words.extend(cause.map(|cause| (format!("why:{}", cause.name()), "this cause")));
        if snapshot.most_attempts > 1 {
            words.push((format!("at:{}", rows.attempt[at]), "this attempt"));
        }
        words.extend(rows.seed(at).map(|seed| (format!("seed:{seed}"), "this seed")));
        if snapshot.has_several_exams() {
            words.push((word("exam", rows.benchmark.get(at)), "this exam"));
        }
        words.push((format!("q:{}", rows.question_id[at]), "this question"));
        words
    }

    pub fn step_history(&mut self, back: bool) {
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
        self.ask(stepped.request);
        if let Some(trace) = stepped.trace {
            self.show_rule(trace);
        }
        let how = if back { "undone" } else { "done again" };
        self.say(format!("{how}: {}", stepped.what));
        if !Arc::ptr_eq(&notes, &self.workspace.notes) {
            self.keep_notes();
        }
    }

    pub fn copy_output(&mut self, screen: &dyn Screen) {
        let Some(record) = screen.record(self) else { return };
        let (what, text) = match record.logprobs {
            Some(_) => ("prompt", &record.prompt),
            None => ("output", &record.reasoning),
        };
        let (text, left_out) = pasteable(text);
        let chars = count(text.chars().count(), "character");
        let left_out = match left_out {
            0 => String::new(),
            left_out => format!(", {} left out", count(left_out, "control character")),
        };
        self.effect(Effect::Copy(text));
        self.say(format!(
            "{what} copied: {chars}{left_out} (where the terminal allows OSC 52)"
        ));
    }

    /// Says why a row is invalid; true where there is evidence of it in the text.
    pub fn say_why(&mut self, record: Option<&crate::record::Record>) -> bool {
        let Some(record) = record else { return false };
        let diagnosis = Reading::of(record, &self.workspace.rule).diagnosis;
        self.say(match diagnosis.cause {
            Some(cause) => format!("{}: {}", cause.name(), cause.definition()),
            None => "this row is not invalid: a letter was read".to_owned(),
        });
        diagnosis.evidence.is_some()
    }
}

/// Whether a filter word is of one of these kinds.
fn is_of(word: &str, kinds: &[&str]) -> bool {
    kinds.iter().any(|kind| word.trim_start_matches('-').starts_with(kind))
}

fn category_entries(report: &Report, subjects: &[(Arc<str>, usize)], several: bool) -> Vec<Entry> {
    let entry = |name: &str, detail: &str, count: usize, word: Option<String>| Entry {
        label: name.replace('_', " "),
        detail: detail.to_owned(),
        count: Some(count),
        choice: Choice::Replace(&["cat:", "sub:"], word),
        ..Entry::default()
    };
    let mut entries = vec![entry("all", "no category", report.total.rows(), None)];
    for category in &report.categories {
        let word = format!("cat:{}", categories::quoted(&category.name));
        let exam = if several { &*category.exam } else { "" };
        entries.push(entry(&category.name, exam, category.sum.rows(), Some(word)));
    }
    let mut subjects: Vec<_> = subjects.iter().collect();
    subjects.sort();
    for (name, count) in subjects {
        let word = format!("sub:{}", categories::quoted(name));
        entries.push(entry(name, "subject", *count, Some(word)));
    }
    entries
}
