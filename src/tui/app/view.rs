//! The view as a command that opens it again, and a view that was asked for when the program began.

use crate::text::safe::pasteable;
use crate::tui::compare::Listed;
use crate::tui::keymap::Screen;
use crate::tui::panes::output::Find;
use crate::tui::shelf::Side;
use crate::tui::view::{Place, RowName};

use super::{App, Effect};

impl App {
    /// Asks for a view; it is taken when the rows are there.
    pub(super) fn arrive_at(&mut self, place: Place) {
        self.workspace.view.sort = place.sort;
        self.workspace.view.is_reversed = place.is_reversed;
        self.workspace.view.by_question = place.by_question;
        self.arrival = Some(place);
    }

    /// Whether only the first of two runs is wanted.
    pub(super) fn arrives_in_browse(&self) -> bool {
        self.arrival.as_ref().is_some_and(|place| place.browses)
    }

    /// Whether something is wanted that only two runs have.
    pub(super) fn arrives_in_compare(&self) -> bool {
        let place = self.arrival.as_ref();
        place.is_some_and(|place| place.list.is_some() || place.is_aligned)
    }

    /// Goes to the place that was asked for, once its rows are there.
    pub(super) fn arrive(&mut self) {
        let is_ready = self.workspace.is_current()
            && !self.workspace.is_partial
            && self.shows_latest()
            && !self.compares_first
            && (self.others.is_empty() || self.compare.is_some() || self.runs.is_some() || self.arrives_in_browse());
        if !is_ready {
            return;
        }
        let Some(place) = self.arrival.take() else { return };
        if let Some(find) = &place.find {
            self.find = Find::new(find);
        }
        if let Some(compare) = &mut self.compare {
            compare.listed = place.list.unwrap_or_default();
            compare.reading.is_aligned = place.is_aligned;
            compare.reading.prompts = place.prompt;
        }
        if let Some(name) = &place.row {
            match self.row_named(name) {
                Some(row) => {
                    self.go_to_row(row);
                    self.workspace.hold_row();
                }
                None => self.warn(format!("there is no row {} in this view", name.question)),
            }
        }
        if place.is_open && self.workspace.row().is_some() {
            self.open_question();
            let question = &mut self.panes.question;
            question.arrangement = place.arrangement;
            question.unfolded = place.unfolded;
            if place.prompt {
                question.prompt = Some(None);
            }
        }
        if let Some(rule) = &place.lab {
            self.open_lab(Some(rule));
            if let Some(lab) = &mut self.lab {
                lab.is_typing = false;
            }
        }
        if let Some(line) = place.scroll {
            match self.screen() {
                Screen::Question => self.panes.question.scroll_to(line),
                Screen::Compare => {
                    if let Some(compare) = &mut self.compare {
                        compare.reading.scroll_to(Side::A, line);
                    }
                }
                _ => {
                    // The preview counts its lines from the row that it shows.
                    self.panes.preview.row = self.workspace.row();
                    self.panes.preview.scroll = line;
                }
            }
        }
    }

    fn go_to_row(&mut self, row: u32) {
        if let Some(at) = self.workspace.place(row) {
            self.workspace.cursor.at = at;
        }
        if let Some(compare) = &mut self.compare {
            compare.go_to(row);
        }
    }

    /// The first row of the view with this name.
    fn row_named(&self, name: &RowName) -> Option<u32> {
        let rows = self.workspace.rows()?;
        let fits = |row: &&u32| {
            let at = **row as usize;
            rows.question_id[at] == name.question
                && name.attempt.is_none_or(|attempt| rows.attempt[at] == attempt)
                && name.exam.as_deref().is_none_or(|exam| rows.benchmark.get(at) == exam)
        };
        self.workspace.selected.rows.iter().find(fits).copied()
    }

    /// What is seen now.
    fn place_now(&self) -> Place {
        let view = &self.workspace.view;
        let mut place = Place {
            sort: view.sort,
            is_reversed: view.is_reversed,
            by_question: view.by_question,
            find: self.find.as_ref().map(|find| find.text.clone()),
            ..Place::default()
        };
        let screen = self.screen();
        let row = self.row_in_sight();
        let is_first = screen == Screen::Browse && self.workspace.cursor.at == 0;
        if let (Some(row), Some(snapshot), false) = (row, self.workspace.snapshot.as_deref(), is_first) {
            let rows = snapshot.rows();
            let at = row as usize;
            place.row = Some(RowName {
                exam: snapshot.has_several_exams().then(|| rows.benchmark.get(at).to_owned()),
                question: rows.question_id[at],
                attempt: (snapshot.most_attempts > 1).then(|| rows.attempt[at]),
            });
        }
        place.browses = !self.others.is_empty() && !self.screens.contains(&Screen::Compare);
        match (screen, &self.compare) {
            (Screen::Question, _) => {
                let question = &self.panes.question;
                place.is_open = true;
                place.arrangement = question.arrangement;
                place.unfolded = question.unfolded;
                place.prompt = question.prompt.is_some();
                place.scroll = question.scroll();
            }
            (Screen::Compare, Some(compare)) => {
                place.list = Some(compare.listed).filter(|listed| *listed != Listed::default());
                place.is_aligned = compare.reading.is_aligned;
                place.prompt = compare.reading.prompts;
                place.scroll = compare.reading.scroll(Side::A);
            }
            (Screen::Lab, _) => place.lab = self.lab.as_ref().map(|lab| lab.input.text.clone()),
            _ => place.scroll = Some(self.panes.preview.scroll).filter(|line| *line > 0),
        }
        place
    }

    /// The filter in force, as `-f` takes it.
    fn filter_as_flag(&self) -> String {
        let text = &self.workspace.view.filter;
        match self.workspace.rows() {
            Some(rows) => self.workspace.parse(text, rows).as_flag(),
            None => text.trim().to_owned(),
        }
    }

    /// `Y`: the shell line that opens this very view.
    pub(super) fn copy_command(&mut self) {
        let mut command = self.reopen.clone();
        let filter = self.filter_as_flag();
        let place = self.place_now().text();
        if command == "markbook" && !(filter.is_empty() && place.is_empty()) {
            command.push_str(" open");
        }
        for (flag, text) in [("-f", filter), ("--view", place)] {
            if !text.is_empty() {
                command.push_str(&format!(" {flag} '{}'", text.replace('\'', "'\\''")));
            }
        }
        let (command, left_out) = pasteable(&command);
        self.say(match left_out {
            0 => format!("copied: {command}"),
            left_out => format!("copied without {left_out} control characters, which no shell line holds: {command}"),
        });
        self.effect(Effect::Copy(command));
    }
}
