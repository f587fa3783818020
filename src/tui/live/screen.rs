//! A run at work: what its updates change, and what keys do on its screen.

use std::time::Duration;

use crossterm::event::KeyEvent;
use ratatui::layout::{Position, Rect};

use crate::run::Update;
use crate::tui::browse::Browse;
use crate::tui::canvas::Canvas;
use crate::tui::event::{Effect, Event, How, Tell};
use crate::tui::keymap::{Action, On, Use};
use crate::tui::panes::categories::quoted;
use crate::tui::screen::{Mouse, Screen};
use crate::tui::shared::{Shared, Working};
use crate::tui::worker::{Reply, Request, Stage};

use super::watch::{Pressed, Watch};
use super::{Live, render_full, render_side_by_side};

/// Time between two looks of the worker at what has landed.
const PAUSE: Duration = Duration::from_millis(400);

/// The screen on a run at work: its exams side by side, or one of them full screen.
#[derive(Debug, Default)]
pub struct AtWork {
    live: Live,
    is_full: bool,
    /// An answer that is being written, in its window.
    watch: Option<Watch>,
}

impl AtWork {
    fn apply(&mut self, update: &Update, shared: &mut Shared) {
        self.live.apply(update, shared.clock.now());
        match update {
            Update::Started { .. } => {
                self.live.set_started(&shared.clock.wall());
                self.is_full = self.live.exams() == 1;
                let request = shared.workspace.ask();
                shared.ask(request);
            }
            Update::Ended { .. } | Update::Failed(_) if self.live.is_stopping() => shared.exit(How::Stopped),
            _ => {}
        }
    }

    /// Gives what has landed to the worker, not too often.
    fn give_out(&mut self, shared: &mut Shared) {
        if let Some(trace) = self.live.grown(shared.clock.now(), PAUSE) {
            shared.ask(Request::Trace {
                trace,
                stage: Stage::Landing,
            });
        }
    }

    /// Opens the answer under the cursor; one that is being written is watched.
    fn open(&mut self, shared: &mut Shared) {
        self.watch = self.live.running_under_cursor();
        if self.watch.is_some() {
            return;
        }
        if let Some((exam, row)) = self.live.row_under_cursor() {
            self.live.take_hold();
            self.open_landed(exam, row, shared);
        }
    }

    fn open_landed(&mut self, exam: usize, row: usize, shared: &mut Shared) -> bool {
        let is_there = shared.open_row(self.live.trace_row(exam, row));
        if !is_there {
            shared.say("this row has just landed; once more in a moment");
        }
        is_there
    }

    /// Browse on what has landed, of the exam in focus.
    fn browse(&self, shared: &mut Shared) {
        let benchmark = self.live.benchmark(self.live.focus()).filter(|_| self.live.exams() > 1);
        let word = benchmark.map(|benchmark| format!("exam:{}", quoted(benchmark)));
        if let Some(word) = &word {
            let mut words = shared.workspace.words();
            words.retain(|typed| !typed.starts_with("exam:"));
            words.push(word.clone());
            shared.show_filter_for_now(words.join(" "));
        }
        shared.push(Browse::of_exam(word));
    }

    fn pause(&mut self, shared: &mut Shared) {
        let live = &mut self.live;
        let lane = live.focus();
        if live.is_complete(lane) || live.is_over() || lane >= live.exams() {
            return;
        }
        let paused = !live.is_paused(lane);
        live.set_paused(lane, paused);
        shared.effect(Effect::Tell(Tell::Pause { lane, paused }));
    }

    /// Moves compute between the exams.
    fn shift(&mut self, by: i32, shared: &mut Shared) {
        let live = &mut self.live;
        let mut text = Vec::new();
        for lane in 0..live.exams() {
            let step = if lane == live.focus() { by } else { -by };
            let share = live.share(lane).saturating_add_signed(step).clamp(1, 9);
            live.set_share(lane, share);
            shared.effect(Effect::Tell(Tell::Share { lane, share }));
            text.push(format!("{} {share}", live.benchmark(lane).unwrap_or_default()));
        }
        shared.say(format!("share of compute: {}", text.join(" : ")));
    }

    /// Stops the run; the program ends when everything is saved.
    fn stop(&mut self, shared: &mut Shared) {
        if self.live.is_over() {
            return;
        }
        self.live.set_stopping();
        shared.effect(Effect::Tell(Tell::StopRun));
        if !self.live.has_begun() {
            shared.exit(How::Stopped);
        }
        shared.say("stopping at the next token; ^c ends at once");
        self.tell(shared);
    }

    /// Ends one answer at its next token.
    fn stop_answer(&mut self, shared: &mut Shared) {
        match self.live.stop_answer(self.watch) {
            Some((request, attempt)) => {
                shared.effect(Effect::Tell(Tell::StopAnswer(request, attempt)));
                shared.say("this answer ends at its next token; it is kept as stopped by you");
            }
            None => shared.say("no answer that is being written is under the cursor; G goes to them"),
        }
    }

    fn tell(&self, shared: &mut Shared) {
        shared.run = Some(Working {
            is_over: self.live.is_over(),
            is_stopping: self.live.is_stopping(),
        });
    }
}

impl Screen for AtWork {
    fn on(&self) -> On {
        if self.is_full { On::Exam } else { On::Live }
    }

    fn act(&mut self, action: Action, key: &str, shared: &mut Shared) {
        let live = &mut self.live;
        match action {
            Action::Open if !self.is_full => self.is_full = true,
            Action::Open => self.open(shared),
            Action::ToBrowse => self.browse(shared),
            Action::Pause => self.pause(shared),
            Action::StopAnswer => self.stop_answer(shared),
            Action::Less => self.shift(-1, shared),
            Action::More => self.shift(1, shared),
            Action::HalfDown => live.page(1, 2),
            Action::HalfUp => live.page(-1, 2),
            Action::PageDown => live.page(1, 1),
            Action::PageUp => live.page(-1, 1),
            Action::First => live.to_newest(),
            Action::Last => live.to_last(),
            Action::NextPane => live.next_exam(),
            Action::Digit => live.set_focus(key.parse().unwrap_or(1_usize).saturating_sub(1)),
            Action::Follow => live.toggle_hold(),
            _ => live.step(action.lines(1).unwrap_or(0)),
        }
    }

    fn press(&mut self, key: KeyEvent, shared: &mut Shared) -> bool {
        let Some(watch) = &mut self.watch else { return false };
        match watch.press(key) {
            Pressed::Open => {}
            Pressed::Closed => self.watch = None,
            Pressed::Stop => self.stop_answer(shared),
            Pressed::Read => {
                // The answer that was watched, once it has landed.
                if let Some((exam, row)) = watch.landed(&self.live)
                    && self.open_landed(exam, row, shared)
                {
                    self.watch = None;
                }
            }
        }
        true
    }

    fn mouse(&mut self, _: Position, mouse: Mouse, _: &mut Shared) {
        if let (Mouse::Wheel(by), None) = (mouse, &self.watch) {
            self.live.step(by);
        }
    }

    fn hear(&mut self, event: &Event, shared: &mut Shared) {
        match event {
            Event::Run(update) => self.apply(update, shared),
            // The run's channel closed without a last word.
            Event::RunGone => self.apply(&Update::Ended { stopped: true }, shared),
            Event::Tick => self.live.tick(shared.clock.now()),
            Event::Worker(Reply::Selected(_)) => {
                // The feeds show the rows that pass the filter.
                let workspace = &shared.workspace;
                let is_filtered = !workspace.view.filter.trim().is_empty();
                self.live
                    .show(is_filtered.then_some(workspace.selected.rows.as_slice()));
            }
            _ => return,
        }
        self.tell(shared);
        self.give_out(shared);
    }

    fn back(&mut self, shared: &mut Shared) -> bool {
        let leaves = self.is_full && self.live.exams() > 1 && shared.find.is_none();
        self.is_full &= !leaves;
        leaves
    }

    fn label(&self, does: &Use, _: &Shared) -> Option<&'static str> {
        let live = &self.live;
        match does.action {
            Action::Pause | Action::Less | Action::Follow if live.is_over() => None,
            Action::Open if self.is_full && live.running_under_cursor().is_some() => Some("watch"),
            Action::StopAnswer if live.running_under_cursor().is_none() => None,
            Action::Quit if self.is_full && live.exams() > 1 => Some("back"),
            Action::Quit if !live.is_over() => Some("stop and save"),
            _ => Some(does.label).filter(|label| !label.is_empty()),
        }
    }

    fn command(&mut self, word: &str, shared: &mut Shared) -> bool {
        match word {
            "weight" => self.live.toggle_weight(),
            "order" => self.live.next_order(),
            "stop" => self.stop(shared),
            _ => return false,
        }
        true
    }

    fn draw(&self, canvas: &mut Canvas, _: &Shared) {
        let area = canvas.area();
        let mut body = canvas.at(Rect {
            height: area.height - 1,
            ..area
        });
        if self.is_full {
            render_full(&mut body, &self.live, self.live.focus());
        } else {
            render_side_by_side(&mut body, &self.live);
        }
        if let Some(watch) = &self.watch {
            watch.draw(canvas, &self.live);
        }
    }
}
