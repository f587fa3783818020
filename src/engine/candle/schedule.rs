//! The engine's loop: units of work of some tenths of a second (a pass over prompts, or one step of all running
//! completions), each given to the lane that has had the least compute for its share.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use anyhow::Result;

use super::CandleEngine;
use super::cache::{KvStore, NodeId};
use super::forward::{Part, Scratch};
use super::sample::{Prompt, Row};
use super::score::{Scoring, WINDOW};
use crate::engine::{Ask, Control, Engine, Event, Pulse, Request, Requests, Watcher};

/// How often a watcher hears from an engine that is at work.
const PULSE_EVERY: Duration = Duration::from_millis(150);
/// How long an engine sleeps whose lanes are all paused.
const NAP: Duration = Duration::from_millis(50);
/// What a pass over prompts should take.
const PASS_SECONDS: f64 = 0.5;

/// The tokens of a sequence whose keys and values are kept because later prompts may begin alike.
#[derive(Debug)]
pub struct Anchor {
    pub tokens: Vec<u32>,
    pub node: NodeId,
}

/// Sequences kept for their beginnings in each lane.
const ANCHORS: usize = 3;
/// Fewer tokens in common than this are computed again.
pub const WORTH_SHARING: usize = 16;

/// One exam's work.
#[derive(Debug, Default)]
pub struct Lane {
    pub scoring: Scoring,
    /// Requests for completions, not yet looked at.
    pub asked: VecDeque<Request>,
    /// Prompts on their way to their first token, and those with attempts still to start.
    pub prompts: VecDeque<Prompt>,
    pub anchors: VecDeque<Anchor>,
    /// Seconds of compute had, over the share.
    spent: f64,
    was_ready: bool,
    /// Whether every request was given.
    is_asked_out: bool,
}

impl Lane {
    fn waits(&self) -> bool {
        !self.scoring.is_empty() || !self.asked.is_empty() || !self.prompts.is_empty()
    }
}

/// One call of the engine's `run`.
#[allow(missing_debug_implementations, reason = "it holds a closure")]
pub struct Run<'a, 'w> {
    pub engine: &'a CandleEngine,
    requests: &'a mut dyn Requests,
    pub control: &'a Control,
    pub watch: &'a mut Watcher<'w>,
    pub store: KvStore,
    pub scratch: Scratch,
    /// Memory for logits.
    pub logits: Vec<f32>,
    pub lanes: Vec<Lane>,
    /// Completions under way, attempts of one prompt side by side.
    pub rows: Vec<Row>,
    pub pulse: Pulse,
    /// CPU seconds of the steps of completions, of all that the pulse counts.
    stepping_cpu_s: f64,
    /// Tokens that those steps gave.
    stepped_tokens: u64,
    last_pulse: Instant,
    /// Prompt tokens a second, as measured so far.
    pace: f64,
    /// Tokens whose keys and values may be held at once.
    pub budget_tokens: usize,
    /// Why the device gave up, if it did.
    failure: Option<anyhow::Error>,
}

impl<'a, 'w> Run<'a, 'w> {
    pub fn new(
        engine: &'a CandleEngine,
        requests: &'a mut dyn Requests,
        control: &'a Control,
        watch: &'a mut Watcher<'w>,
    ) -> Self {
        let store = KvStore::new(engine.model.config());
        let budget_tokens = (engine.kv_budget / store.bytes_per_token().max(1) as u64).max(1) as usize;
        Run {
            engine,
            requests,
            control,
            watch,
            store,
            scratch: Scratch::default(),
            logits: Vec::new(),
            lanes: control.lanes.iter().map(|_| Lane::default()).collect(),
            rows: Vec::new(),
            pulse: Pulse::default(),
            stepping_cpu_s: 0.0,
            stepped_tokens: 0,
            last_pulse: Instant::now(),
            pace: 400.0 * engine.threads.count() as f64,
            budget_tokens,
            failure: None,
        }
    }

    /// Takes as many requests of each lane as are looked at together.
    fn take_requests(&mut self) {
        let engine = self.engine;
        let count_tokens = |prompt: &str| engine.count_tokens(prompt);
        for (index, lane) in self.lanes.iter_mut().enumerate() {
            while !lane.is_asked_out && lane.scoring.asked() + lane.asked.len() < WINDOW {
                match self.requests.next(index, &count_tokens) {
                    None => lane.is_asked_out = true,
                    Some(request) => match request.ask {
                        Ask::Score { .. } => lane.scoring.ask(request),
                        Ask::Sample { .. } => lane.asked.push_back(request),
                    },
                }
            }
        }
    }

    /// Answers everything, or stops where the watcher breaks.
    pub fn finish(mut self) -> Result<Totals> {
        let mut flow = ControlFlow::Continue(());
        while flow.is_continue() {
            self.take_requests();
            if self.rows.is_empty() && !self.lanes.iter().any(Lane::waits) {
                break;
            }
            flow = self.unit();
        }
        if flow.is_continue() {
            let _ = self.tell(Event::Pulse(self.pulse));
        }
        let totals = Totals {
            pulse: self.pulse,
            stepping_cpu_s: self.stepping_cpu_s,
            stepped_tokens: self.stepped_tokens,
            kv_bytes: (self.store.most_tokens() * self.store.bytes_per_token()) as u64,
        };
        self.failure.map_or(Ok(totals), Err)
    }

    fn unit(&mut self) -> ControlFlow<()> {
        let Some(lane) = self.next_lane() else {
            std::thread::sleep(NAP);
            return self.tick();
        };
        let before = process_cpu_seconds();
        let begun = Instant::now();
        let mut owners = vec![0usize; self.lanes.len()];
        let mut is_step = false;
        let drawn = self.pulse.tokens_out;
        if !self.lanes[lane].scoring.is_empty() {
            owners[lane] = 1;
            self.score(lane)?;
        } else if self.admit(lane)? {
            owners[lane] = 1;
        } else {
            let active = self.rows.iter().filter(|row| !self.control.is_paused(row.lane));
            active.for_each(|row| owners[row.lane] += 1);
            is_step = true;
            self.step()?;
        }
        let seconds = begun.elapsed().as_secs_f64();
        let all = owners.iter().sum::<usize>().max(1) as f64;
        for (index, owned) in owners.into_iter().enumerate() {
            let share = f64::from(self.control.share(index));
            self.lanes[index].spent += seconds * owned as f64 / all / share;
        }
        if let (Some(before), Some(after)) = (before, process_cpu_seconds()) {
            self.pulse.model_cpu_s += after - before;
            self.stepping_cpu_s += if is_step { after - before } else { 0.0 };
        }
        self.stepped_tokens += if is_step { self.pulse.tokens_out - drawn } else { 0 };
        self.pulse.set_in_flight(self.rows.iter().map(|row| row.lane));
        self.tick()
    }

    /// The lane with work that has had the least for its share. One that comes back from a pause does not get to catch
    /// up on what it missed.
    fn next_lane(&mut self) -> Option<usize> {
        let is_ready = |index: usize| {
            let has_work = self.lanes[index].waits() || self.rows.iter().any(|row| row.lane == index);
            has_work && !self.control.is_paused(index)
        };
        let ready: Vec<bool> = (0..self.lanes.len()).map(is_ready).collect();
        let floor = (0..self.lanes.len())
            .filter(|index| ready[*index] && self.lanes[*index].was_ready)
            .map(|index| self.lanes[index].spent)
            .fold(f64::INFINITY, f64::min);
        for (lane, ready) in self.lanes.iter_mut().zip(&ready) {
            if *ready && !lane.was_ready && floor.is_finite() {
                lane.spent = lane.spent.max(floor);
            }
            lane.was_ready = *ready;
        }
        let spent = |index: &usize| self.lanes[*index].spent;
        (0..self.lanes.len())
            .filter(|index| ready[*index])
            .min_by(|a, b| spent(a).total_cmp(&spent(b)))
    }

    /// Tokens that one pass over prompts should have.
    pub fn pass_tokens(&self) -> usize {
        let (least, most) = self.engine.pass_tokens;
        ((self.pace * PASS_SECONDS) as usize).clamp(least, most)
    }

    /// One pass of the decoder, told to the watcher while it goes on; gives the hidden states of the wanted rows.
    pub fn pass(&mut self, parts: &[Part]) -> ControlFlow<(), Vec<f32>> {
        let begun = Instant::now();
        let (watch, last_pulse, pulse) = (&mut *self.watch, &mut self.last_pulse, self.pulse);
        let mut tick = || {
            if last_pulse.elapsed() < PULSE_EVERY {
                return ControlFlow::Continue(());
            }
            *last_pulse = Instant::now();
            watch(Event::Pulse(pulse))
        };
        let (engine, store, scratch) = (self.engine, &mut self.store, &mut self.scratch);
        let hidden = match engine.model.forward(store, parts, scratch, &engine.threads, &mut tick) {
            Ok(hidden) => hidden?,
            Err(error) => {
                self.failure = Some(error.context("the device failed"));
                return ControlFlow::Break(());
            }
        };
        let tokens: usize = parts.iter().map(|part| part.tokens.len()).sum();
        if tokens >= 64 {
            let pace = tokens as f64 / begun.elapsed().as_secs_f64().max(1e-6);
            self.pace = 0.7 * self.pace + 0.3 * pace;
        }
        ControlFlow::Continue(hidden)
    }

    /// Logits of hidden states, into memory that is used again: give it back to [`Run::logits`].
    pub fn logits(&mut self, hidden: &[f32]) -> ControlFlow<(), Vec<f32>> {
        let mut logits = std::mem::take(&mut self.logits);
        match self.engine.model.logits(hidden, &self.engine.threads, &mut logits) {
            Ok(()) => ControlFlow::Continue(logits),
            Err(error) => {
                self.failure = Some(error.context("the device failed"));
                ControlFlow::Break(())
            }
        }
    }

    /// Tells the watcher that the engine lives, if it has not heard for a while.
    pub fn tick(&mut self) -> ControlFlow<()> {
        if self.last_pulse.elapsed() < PULSE_EVERY {
            return ControlFlow::Continue(());
        }
        self.last_pulse = Instant::now();
        self.tell(Event::Pulse(self.pulse))
    }

    pub fn tell(&mut self, event: Event) -> ControlFlow<()> {
        // Nothing is told that was read by a tokenizer that broke down.
        if let Some(failure) = self.engine.tokenizer.failure() {
            self.failure = Some(failure);
            return ControlFlow::Break(());
        }
        (self.watch)(event)
    }

    pub fn fail(&mut self, id: usize, flag: &'static str, reason: String) -> ControlFlow<()> {
        self.tell(Event::Failed {
            id,
            attempt: None,
            flag,
            reason,
        })
    }

    /// The kept sequence that begins like `tokens`, and for how many tokens (at most `cap`).
    pub fn find_anchor(&self, lane: usize, tokens: &[u32], cap: usize) -> Option<(NodeId, usize)> {
        let mut best: Option<(NodeId, usize)> = None;
        for anchor in &self.lanes[lane].anchors {
            let common = common_prefix(&anchor.tokens, tokens).min(cap);
            // The older one wins unless a younger one has clearly more, so that many sequences share one place.
            let least = best.map_or(WORTH_SHARING, |(_, common)| common + WORTH_SHARING);
            if common >= least {
                best = Some((anchor.node, common));
            }
        }
        best
    }

    /// Keeps a sequence for its beginning; takes over the caller's hold on it.
    pub fn keep_anchor(&mut self, lane: usize, tokens: Vec<u32>, node: NodeId) {
        while self.lanes[lane].anchors.len() >= ANCHORS {
            self.drop_anchor(lane);
        }
        self.lanes[lane].anchors.push_back(Anchor { tokens, node });
    }

    pub fn drop_anchor(&mut self, lane: usize) -> bool {
        match self.lanes[lane].anchors.pop_front() {
            Some(anchor) => {
                self.store.release(anchor.node);
                true
            }
            None => false,
        }
    }
}

/// What a run came to.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Totals {
    pub pulse: Pulse,
    /// CPU seconds in which completions went on, prompts left out.
    pub stepping_cpu_s: f64,
    /// Tokens drawn in those steps: all but the first of each completion.
    pub stepped_tokens: u64,
    /// Memory of the most keys and values held at any time.
    pub kv_bytes: u64,
}

/// Tokens two sequences begin with alike.
pub fn common_prefix(a: &[u32], b: &[u32]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

/// CPU seconds of this process, all threads together, where the platform tells.
pub fn process_cpu_seconds() -> Option<f64> {
    let time = cpu_time::ProcessTime::try_now().ok()?;
    Some(time.as_duration().as_secs_f64())
}
