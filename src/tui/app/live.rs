//! A run at work: what its updates change, and what keys do on its screens.

use std::time::{Duration, Instant};

use crossterm::event::KeyCode;

use crate::run::Update;
use crate::tui::Options;
use crate::tui::keymap::{Action, Screen};
use crate::tui::live::Live;
use crate::tui::theme::Theme;
use crate::tui::worker::{Request, Stage, View};

use super::{App, Effect, How, Overlay};

/// Time between two looks of the worker at what has landed.
const PAUSE: Duration = Duration::from_millis(400);

/// What time it is: the machine's, or what a test says.
#[derive(Debug, Clone, Copy)]
pub enum Clock {
    Real(Instant),
    Fixed(Duration),
}

impl Clock {
    pub fn now(&self) -> Duration {
        match self {
            Clock::Real(start) => start.elapsed(),
            Clock::Fixed(now) => *now,
        }
    }

    fn wall(&self) -> String {
        match self {
            Clock::Real(_) => chrono::Local::now().format("%H:%M:%S").to_string(),
            Clock::Fixed(_) => "13:02:11".to_owned(),
        }
    }
}

impl App {
    /// Watches a run at work.
    pub fn live(theme: Theme, size: (u16, u16), options: &Options) -> App {
        let mut app = App::browse(theme, size, options);
        app.screens = vec![Screen::Live];
        app.live = Some(Live::new());
        app
    }

    pub(super) fn hear(&mut self, update: &Update) {
        let now = self.clock.now();
        let wall = self.clock.wall();
        let is_start = matches!(update, Update::Started { .. });
        let Some(live) = &mut self.live else { return };
        live.apply(update, now);
        if is_start {
            live.set_started(&wall);
            if live.exams() == 1 {
                self.screens[0] = Screen::Exam;
            }
            let request = self.workspace.ask();
            self.effect(Effect::Ask(request));
        }
        if matches!(update, Update::Ended { .. } | Update::Failed(_)) {
            self.leave_if_stopping();
        }
        self.give_out();
    }

    /// The run's channel closed without a last word.
    pub(super) fn run_gone(&mut self) {
        let now = self.clock.now();
        if let Some(live) = &mut self.live {
            live.apply(&Update::Ended { stopped: true }, now);
        }
        self.leave_if_stopping();
    }

    fn leave_if_stopping(&mut self) {
        if self.live.as_ref().is_some_and(Live::is_stopping) {
            self.effect(Effect::Exit(How::Stopped));
        }
    }

    pub(super) fn tick(&mut self) {
        let now = self.clock.now();
        if let Some(live) = &mut self.live {
            live.tick(now);
        }
        self.give_out();
    }

    /// Gives what has landed to the worker, not too often.
    fn give_out(&mut self) {
        let now = self.clock.now();
        let Some(live) = &mut self.live else { return };
        if let Some(trace) = live.grown(now, PAUSE) {
            self.effect(Effect::Ask(Request::Trace {
                trace: std::sync::Arc::new(trace),
                stage: Stage::Landing,
            }));
        }
    }

    /// The feeds show the rows that pass the filter.
    pub(super) fn refill_feeds(&mut self) {
        if let Some(live) = &mut self.live {
            let is_filtered = !self.workspace.view.filter.trim().is_empty();
            let selected = &self.workspace.selected;
            live.show(is_filtered.then_some(selected.rows.as_slice()));
        }
    }

    pub(super) fn act_live(&mut self, action: Action, key: &str) {
        match action {
            Action::Open if self.screen() == Screen::Live => self.screens.push(Screen::Exam),
            Action::Open => self.open_from_feed(),
            Action::Browse => self.browse_landed(),
            Action::Pause => self.pause(),
            Action::Less => self.shift(-1),
            Action::More => self.shift(1),
            _ => {
                let Some(live) = &mut self.live else { return };
                match action {
                    Action::Down => live.step(1),
                    Action::Up => live.step(-1),
                    Action::HalfDown => live.page(1, 2),
                    Action::HalfUp => live.page(-1, 2),
                    Action::PageDown => live.page(1, 1),
                    Action::PageUp => live.page(-1, 1),
                    Action::First => live.to_newest(),
                    Action::Last => live.to_last(),
                    Action::NextPane => live.next_exam(),
                    Action::Digit => live.set_focus(key.parse::<usize>().unwrap_or(1) - 1),
                    Action::Follow => live.toggle_hold(),
                    _ => {}
                }
            }
        }
    }

    fn open_from_feed(&mut self) {
        let Some(live) = &mut self.live else { return };
        if let Some(watch) = live.running_under_cursor() {
            self.overlay = Some(Overlay::Watch(watch));
            return;
        }
        let Some((exam, row)) = live.row_under_cursor() else {
            return;
        };
        live.take_hold();
        match live.trace_row(exam, row).and_then(|row| self.workspace.place(row)) {
            Some(at) => {
                self.workspace.cursor.at = at;
                self.open_question();
            }
            None => self.say("this row has just landed; once more in a moment"),
        }
    }

    /// The answer that was watched, once it has landed.
    pub(super) fn open_watched(&mut self) {
        let Some(Overlay::Watch(watch)) = &self.overlay else {
            return;
        };
        let landed = self.live.as_ref().and_then(|live| watch.landed(live));
        let Some((exam, row)) = landed else { return };
        let live = self.live.as_ref();
        let place = live.and_then(|live| self.workspace.place(live.trace_row(exam, row)?));
        match place {
            Some(at) => {
                self.overlay = None;
                self.workspace.cursor.at = at;
                self.open_question();
            }
            None => self.say("this row has just landed; once more in a moment"),
        }
    }

    /// Browse on what has landed, of the exam in focus.
    fn browse_landed(&mut self) {
        let Some(live) = &self.live else { return };
        if let Some(benchmark) = live.benchmark(live.focus()).filter(|_| live.exams() > 1) {
            let word = format!("exam:{}", crate::tui::panes::categories::quoted(benchmark));
            let mut words: Vec<String> = self.words();
            words.retain(|typed| !typed.starts_with("exam:"));
            words.push(word.clone());
            self.exam_word = Some(word);
            let view = View {
                filter: words.join(" "),
                ..self.workspace.view.clone()
            };
            let request = self.workspace.show_for_now(view);
            self.ask(request);
        }
        self.panes.focus = 4;
        self.screens.push(Screen::Browse);
    }

    /// Back on the live screen the feeds show every exam again.
    pub(super) fn leave_landed(&mut self) {
        if let Some(word) = self.exam_word.take() {
            let words: Vec<String> = self.words().into_iter().filter(|typed| *typed != word).collect();
            let view = View {
                filter: words.join(" "),
                ..self.workspace.view.clone()
            };
            let request = self.workspace.show_for_now(view);
            self.ask(request);
        }
    }

    fn pause(&mut self) {
        let Some(live) = &mut self.live else { return };
        let lane = live.focus();
        if live.is_complete(lane) || live.is_over() || lane >= live.exams() {
            return;
        }
        let paused = !live.is_paused(lane);
        live.set_paused(lane, paused);
        self.effect(Effect::Pause { lane, paused });
    }

    /// Moves compute between the exams.
    fn shift(&mut self, by: i32) {
        let Some(live) = &mut self.live else { return };
        let mut text = Vec::new();
        let mut effects = Vec::new();
        for lane in 0..live.exams() {
            let step = if lane == live.focus() { by } else { -by };
            let share = live.share(lane).saturating_add_signed(step).clamp(1, 9);
            live.set_share(lane, share);
            effects.push(Effect::Share { lane, share });
            text.push(format!("{} {share}", live.benchmark(lane).unwrap_or_default()));
        }
        for effect in effects {
            self.effect(effect);
        }
        self.say(format!("share of compute: {}", text.join(" : ")));
    }

    /// Ctrl-C, wherever it is pressed: it asks, once more leaves, and where a run does not come to its end, ends at once.
    pub(super) fn interrupt(&mut self) {
        let is_asked = matches!(self.overlay, Some(Overlay::Quit));
        if self.is_working() && self.live.as_ref().is_some_and(Live::is_stopping) {
            self.effect(Effect::Exit(How::AtOnce));
        } else if is_asked && self.is_working() {
            self.overlay = None;
            self.stop_run();
        } else if is_asked {
            self.effect(Effect::Exit(How::Done));
        } else {
            if self.overlay.is_some() {
                // What was typed is taken back, as by Esc.
                self.press_overlay(KeyCode::Esc.into());
            }
            self.quit();
        }
    }

    pub(super) fn quit(&mut self) {
        if self.is_working() || self.has_unkept_notes || self.writing.is_some() {
            self.overlay = Some(Overlay::Quit);
        } else {
            self.effect(Effect::Exit(How::Done));
        }
    }

    /// Whether a run is at work.
    pub(super) fn is_working(&self) -> bool {
        self.live.as_ref().is_some_and(|live| !live.is_over())
    }

    /// Stops the run; the program ends when everything is saved.
    pub(super) fn stop_run(&mut self) {
        let Some(live) = &mut self.live else { return };
        let has_begun = live.has_begun();
        live.set_stopping();
        self.effect(Effect::StopRun);
        if !has_begun {
            self.effect(Effect::Exit(How::Stopped));
        }
        self.say("stopping at the next token; ^c ends at once");
    }
}
