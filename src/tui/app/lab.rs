//! The regex lab: opening it, typing, and taking a rule over.

use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::joined::Run;
use crate::trace::Trace;
use crate::tui::keymap::{Action, Screen};
use crate::tui::lab::{Lab, LabReport, Places};
use crate::tui::worker::{Request, Stage};

use super::{App, Effect};

impl App {
    /// `r`: the lab on the rows of the view, beginning with the rule by which the picks are read now.
    pub(super) fn open_lab(&mut self, typed: Option<&str>) {
        let is_cloze = self
            .workspace
            .rows()
            .is_some_and(|rows| !rows.is_empty() && rows.scored.iter().all(|scored| *scored));
        if is_cloze {
            self.say("there are no outputs to read: the picks come from log-likelihoods");
            return;
        }
        let row = self.row_in_sight().filter(|_| self.screen() == Screen::Question);
        let name = self.workspace.rule.name();
        let pattern = match name {
            "lm_eval_mmlu_pro" => r"answer is \(?([ABCDEFGHIJ])\)?",
            name => name.strip_prefix("re:").unwrap_or(name),
        };
        let typed = typed.map_or_else(|| pattern.to_owned(), str::to_owned);
        self.lab = Some(Lab::new(&typed, row));
        if !self.screens.contains(&Screen::Lab) {
            self.screens.push(Screen::Lab);
        }
        self.ask_lab();
    }

    fn ask_lab(&mut self) {
        let Some(lab) = &self.lab else { return };
        if let Some(rule) = lab.rule.clone().filter(|_| lab.error.is_none()) {
            let request = Request::Lab {
                number: lab.number,
                typed: lab.input.text.clone(),
                rule,
            };
            self.effect(Effect::Ask(request));
        }
    }

    pub(super) fn lab_read(&mut self, number: u64, report: Arc<LabReport>) {
        if let Some(lab) = &mut self.lab {
            lab.take(number, report);
        }
    }

    /// The rows of the view have changed: they are read again.
    pub(super) fn renew_lab(&mut self) {
        if self.screen() == Screen::Lab
            && let Some(lab) = &mut self.lab
        {
            lab.number += 1;
            self.ask_lab();
        }
    }

    /// Keys while the rule is typed; false where the key is not for the line.
    pub(super) fn press_lab(&mut self, key: KeyEvent) -> bool {
        let Some(lab) = &mut self.lab else { return false };
        if self.screens.last() != Some(&Screen::Lab) || !lab.is_typing {
            return false;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Enter => lab.keep(),
            KeyCode::Esc => self.restore_lab(),
            KeyCode::Char('c') if control => self.restore_lab(),
            KeyCode::Down => lab.step(1),
            KeyCode::Up => lab.step(-1),
            KeyCode::Tab => lab.next_kind(),
            _ => {
                if lab.input.press(key) && lab.typed() {
                    self.ask_lab();
                }
            }
        }
        true
    }

    /// The rule is again what it was before it was edited.
    fn restore_lab(&mut self) {
        if self.lab.as_mut().is_some_and(Lab::restore) {
            self.ask_lab();
        }
    }

    pub(super) fn paste_into_lab(&mut self, text: &str) -> bool {
        let Some(lab) = &mut self.lab else { return false };
        if self.screens.last() != Some(&Screen::Lab) || !lab.is_typing {
            return false;
        }
        lab.input.insert(text);
        if lab.typed() {
            self.ask_lab();
        }
        true
    }

    pub(super) fn act_lab(&mut self, action: Action) {
        let page = Places::of(self.area).listed() as isize;
        let Some(lab) = &mut self.lab else { return };
        match action {
            Action::Down => lab.step(1),
            Action::Up => lab.step(-1),
            Action::HalfDown => lab.step(page / 2),
            Action::HalfUp => lab.step(-page / 2),
            Action::PageDown => lab.step(page),
            Action::PageUp => lab.step(-page),
            Action::First => lab.step(isize::MIN / 2),
            Action::Last => lab.step(isize::MAX / 2),
            Action::NextPane => lab.next_kind(),
            Action::Lab => lab.edit(),
            Action::PageText => lab.scroll += usize::from(Places::of(self.area).text.height.saturating_sub(3)).max(1),
            Action::Open => {
                let place = lab.row_in_sight().and_then(|row| self.workspace.place(row));
                if let Some(at) = place {
                    self.workspace.cursor.at = at;
                    self.open_question();
                }
            }
            _ => {}
        }
    }

    /// `:adopt`: the picks that are shown are those of the lab's rule from now on; the stored ones stay in the file, and
    /// exports carry both.
    pub(super) fn adopt(&mut self, argument: &str) {
        let Some(snapshot) = self.workspace.snapshot.as_deref() else {
            return;
        };
        let trace = Arc::clone(&snapshot.trace);
        if argument == "off" {
            match self.stored.clone() {
                Some(stored) => {
                    self.workspace.keep_rule(trace, "the stored picks".to_owned());
                    self.show_rule(stored);
                }
                None => self.say("the stored picks are shown"),
            }
            return;
        }
        let Some(rule) = self.lab.as_ref().and_then(|lab| lab.rule.clone()) else {
            self.warn("no rule to adopt; r opens the lab");
            return;
        };
        self.say(format!("reading every output by {}…", rule.name()));
        self.effect(Effect::Adopt(trace, Box::new(rule)));
    }

    /// Every output was read by another rule.
    pub(super) fn adopted(&mut self, run: Result<Box<Run>, String>) {
        match run {
            Ok(run) => {
                let name = run.trace.rule.clone().unwrap_or_default();
                if let Some(snapshot) = self.workspace.snapshot.as_deref() {
                    let before = Arc::clone(&snapshot.trace);
                    self.workspace.keep_rule(before, format!("rule {name}"));
                }
                self.show_rule(run.trace);
                self.say(format!("picks now read by {name}; :adopt off restores"));
            }
            Err(error) => self.warn(error),
        }
    }

    /// Shows the same rows as another rule reads them, or as the file stores them.
    pub(super) fn show_rule(&mut self, trace: Arc<Trace>) {
        let now = self
            .workspace
            .snapshot
            .as_deref()
            .map(|snapshot| Arc::clone(&snapshot.trace));
        self.stored = match self.stored.take() {
            Some(stored) if Arc::ptr_eq(&stored, &trace) => None,
            Some(stored) => Some(stored),
            None => now,
        };
        self.show_picks(trace);
    }

    /// Shows the same rows with other picks.
    fn show_picks(&mut self, trace: Arc<Trace>) {
        if self.compare.is_some() {
            self.compares_first = true;
        }
        while self.screens.len() > 1 && self.screen() == Screen::Lab {
            self.screens.pop();
        }
        self.take_trace(trace, Stage::Whole);
    }
}
