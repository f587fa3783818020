//! The view as a command that opens it again, and a view that was asked for when the program began.

use crate::text::safe::pasteable;
use crate::tui::event::Effect;
use crate::tui::keymap::On;
use crate::tui::panes::output::Find;
use crate::tui::view::{Place, RowName};

use super::App;

impl App {
    /// Goes to the place that was asked for, once its rows are there.
    pub(super) fn arrive(&mut self) {
        let lists_runs = self.has(On::Runs);
        let shared = &mut self.shared;
        let workspace = &mut shared.workspace;
        if !workspace.is_current() || workspace.is_partial || !shared.session.is_settled(lists_runs) {
            return;
        }
        if shared.session.arrival.is_none() || !shared.shows_latest() {
            return;
        }
        let Some(place) = shared.session.arrival.take() else {
            return;
        };
        shared.find = place.find.as_deref().and_then(Find::new).or(shared.find.take());
        let workspace = &mut shared.workspace;
        let row = place.row.as_ref().and_then(|name| workspace.row_named(name));
        match (&place.row, row) {
            (_, Some(row)) => {
                workspace.cursor.at = workspace.place(row).unwrap_or(workspace.cursor.at);
                workspace.hold_row();
            }
            (Some(name), None) => shared.warn(format!("there is no row {} in this view", name.question)),
            (None, None) => {}
        }
        self.top().0.arrive(&place, row);
        if place.is_open {
            self.shared.open_question();
            self.go_on();
            self.top().0.arrive(&place, row);
        }
        if let Some(rule) = &place.lab {
            let row = self.screen().row(&self.shared).filter(|_| place.is_open);
            self.shared.open_lab(Some(rule), row);
            self.go_on();
            self.top().0.arrive(&place, row);
        }
    }

    /// What is seen now.
    fn place_now(&self) -> Place {
        let (screen, workspace) = (self.screen(), &self.shared.workspace);
        let view = &workspace.view;
        let mut place = Place {
            sort: view.sort,
            is_reversed: view.is_reversed,
            by_question: view.by_question,
            find: self.shared.find.as_ref().map(|find| find.text.clone()),
            browses: !self.shared.session.others.is_empty() && !self.has(On::Compare),
            ..Place::default()
        };
        let is_first = screen.on() == On::Browse && workspace.cursor.at == 0;
        let row = screen.row(&self.shared).filter(|_| !is_first);
        if let (Some(row), Some(snapshot)) = (row, workspace.snapshot.as_deref()) {
            let (rows, at) = (snapshot.rows(), row as usize);
            place.row = Some(RowName {
                exam: snapshot.has_several_exams().then(|| rows.benchmark.get(at).to_owned()),
                question: rows.question_id[at],
                attempt: (snapshot.most_attempts > 1).then(|| rows.attempt[at]),
            });
        }
        screen.place(&mut place);
        place
    }

    /// The words after `markbook` that open this very view; nothing on a screen that no command opens.
    pub fn view_words(&self) -> Vec<String> {
        if self.shared.run.is_some() || self.screen().on() == On::Home {
            return Vec::new();
        }
        let mut words = self.shared.session.reopen.clone();
        let filter = self.shared.workspace.filter_as_flag();
        let place = self.place_now().text();
        for (flag, text) in [("-f", filter), ("--view", place)] {
            if !text.is_empty() {
                words.extend([flag.to_owned(), text]);
            }
        }
        words.insert(0, "open".to_owned());
        words
    }

    /// `Y`: the shell line that opens this very view.
    pub(super) fn copy_command(&mut self) {
        let words = self.view_words();
        let mut command = "markbook".to_owned();
        for (at, word) in words.iter().enumerate() {
            let is_text = at > 0 && ["-f", "--view"].contains(&words[at - 1].as_str());
            command.push(' ');
            command.push_str(&quoted(word, is_text));
        }
        let (command, left_out) = pasteable(&command);
        self.shared.say(match left_out {
            0 => format!("copied: {command}"),
            left_out => format!("copied without {left_out} control characters, which no shell line holds: {command}"),
        });
        self.shared.effect(Effect::Copy(command));
    }
}

/// A word as a shell takes it; in quotes in any case where it `is_text`.
fn quoted(word: &str, is_text: bool) -> String {
    let is_plain = !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "-_./=:,@+".contains(c));
    if is_plain && !is_text {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
