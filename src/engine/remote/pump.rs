//! The loop: requests under way as futures, the watcher between them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use tokio::sync::Notify;

use super::back::{Back, SAVED};
use super::budget::Budget;
use super::fault::Fault;
use super::limit::Limit;
use super::order::{Order, Unit};
use super::replica::{Replica, sum_up};
use super::units::{Answered, Finished, Scoring, answer};
use super::{RemoteEngine, Served};
use crate::engine::{
    ChatTemplate, Control, Description, Engine, Event, PULSE_REPLICAS, Pulse, Remote, Request, Requests, Stops, Watcher,
};

/// How often the watcher hears that the loop lives, and of running answers.
const TICK: Duration = Duration::from_millis(150);

/// Running answers that are told in one tick; of more each has its turn.
const TOLD: usize = 64;

/// Most requests under way at a server of one's own, and at a hosted one.
const MOST: (usize, usize) = (512, 64);

/// Tries of a request wait at least and at most so long between them.
const BACKOFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// A longer wait than this is told as a reason to come back later.
const LONGEST_WAIT: Duration = Duration::from_secs(15 * 60);

/// So long nothing but refusals for being too busy, and there is no use in asking on.
const ONLY_BUSY: Duration = Duration::from_secs(30 * 60);

/// Requests that were refused for what they are before any was answered: then every one will be.
const REFUSED_AT_FIRST: usize = 3;

/// What came of a request, or of a look at a server that was away.
pub(super) enum Came {
    Answer(Finished),
    Back(usize, Back),
}

pub(super) type Flight<'a> = Pin<Box<dyn Future<Output = Came> + 'a>>;

/// A running answer: text that came since it was last told, tokens so far, lane and server.
#[derive(Debug, Default)]
pub(super) struct Piece {
    pub text: String,
    pub tokens: usize,
    pub lane: usize,
    pub replica: usize,
}

/// What running answers leave for the loop.
#[derive(Debug, Default)]
pub(super) struct Desk {
    /// By request and attempt.
    pub pieces: RefCell<BTreeMap<(usize, usize), Piece>>,
    /// Requests whose first token came, with their server.
    pub begun: RefCell<Vec<(usize, Rc<Request>)>>,
    pub bell: Notify,
    pub stops: Stops,
}

/// The loop's state.
pub(super) struct Pump<'a> {
    pub(super) served: &'a Served,
    pub(super) order: Order<'a>,
    pub(super) replicas: Vec<Replica>,
    pub(super) wait_server: Duration,
    /// Whether another server or model answers by now, which was accepted.
    pub(super) drifted: bool,
    retries: u32,
    of_lane: Vec<usize>,
    budget: Budget,
    desk: Rc<Desk>,
    pulse: Pulse,
    remote: Remote,
    /// The running answer that was told last.
    told: (usize, usize),
    last_answer: Instant,
    answers: usize,
    refused: usize,
}

impl Engine for RemoteEngine {
    fn describe(&self) -> Description {
        Description::Remote(Box::new(self.served.clone()))
    }

    fn chat_template(&self) -> Option<ChatTemplate> {
        self.served.chat_template.clone()
    }

    fn answer(&mut self, requests: &mut dyn Requests, control: &Control, watch: &mut Watcher) -> Result<()> {
        let facts = self.served.kind.facts();
        let most = if facts.is_hosted { MOST.1 } else { MOST.0 };
        let start = self.served.slots.unwrap_or(facts.in_flight);
        let limit = || match self.options.in_flight {
            Some(fixed) => Limit::fixed(fixed.div_ceil(self.models.len())),
            // A server with slots gains nothing above them.
            None if self.served.slots.is_some() => Limit::fixed(start),
            None => Limit::adaptive(start, most),
        };
        let replicas = self
            .models
            .iter()
            .map(|model| Replica::new(model, limit(), &self.served));
        let pump = Pump {
            served: &self.served,
            order: Order::new(requests, control.lanes.len(), self.models.len()),
            replicas: replicas.collect(),
            wait_server: self.options.wait_server,
            drifted: false,
            retries: self.options.retries,
            of_lane: vec![0; control.lanes.len()],
            budget: Budget::new(self.options.price, self.options.most_usd),
            desk: Rc::new(Desk {
                stops: control.stops.clone(),
                ..Desk::default()
            }),
            pulse: Pulse::default(),
            remote: Remote::default(),
            told: (0, 0),
            last_answer: Instant::now(),
            answers: 0,
            refused: 0,
        };
        self.runtime.block_on(pump.run(control, watch))
    }
}

impl<'a> Pump<'a> {
    async fn run(mut self, control: &Control, watch: &mut Watcher<'_>) -> Result<()> {
        let mut flights: FuturesUnordered<Flight<'a>> = FuturesUnordered::new();
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let desk = Rc::clone(&self.desk);
        loop {
            let mut new = Vec::new();
            self.look_for(&mut new);
            self.send(control, &mut new);
            flights.extend(new);
            if flights.is_empty() && self.order.is_empty() {
                return Ok(());
            }
            if flights.is_empty() && self.budget.is_spent() {
                bail!("{}. {SAVED}", self.budget.in_words());
            }
            let flow = tokio::select! {
                biased;
                Some(came) = flights.next(), if !flights.is_empty() => match came {
                    Came::Answer(finished) => self.finish(finished, watch)?,
                    Came::Back(at, back) => self.came_back(at, back, watch)?,
                },
                () = desk.bell.notified() => ControlFlow::Continue(()),
                _ = tick.tick() => self.tell(watch)?,
            };
            if flow.is_break() {
                return Ok(());
            }
        }
    }

    /// Sends what may be sent: the lane furthest below its share first, to the server with the least load that takes it.
    fn send(&mut self, control: &Control, flights: &mut Vec<Flight<'a>>) {
        let now = Instant::now();
        for (replica, request) in self.desk.begun.borrow_mut().drain(..) {
            self.order.begun(replica, &request);
        }
        self.order.wake(now);
        while let Some((unit, at)) = self.next_unit(control, now) {
            let replica = &mut self.replicas[at];
            replica.in_flight += 1;
            self.of_lane[unit.request.lane] += 1;
            self.remote.requests += 1;
            let scoring = Scoring {
                rung: self.served.cloze,
                letters: &self.served.letters,
            };
            let (model, desk) = (Rc::clone(&replica.model), Rc::clone(&self.desk));
            flights.push(Box::pin(async move {
                Came::Answer(answer(&model, (unit, at), scoring, &desk).await)
            }));
        }
    }

    fn next_unit(&mut self, control: &Control, now: Instant) -> Option<(Unit, usize)> {
        let mut open: Vec<usize> = (0..self.replicas.len())
            .filter(|at| self.replicas[*at].has_room(now))
            .collect();
        if open.is_empty() {
            return None;
        }
        open.sort_by_key(|at| self.replicas[*at].load());
        let mut lanes: Vec<usize> = (0..self.of_lane.len())
            .filter(|lane| !control.is_paused(*lane))
            .collect();
        lanes.sort_by_key(|lane| self.of_lane[*lane] * 1000 / control.share(*lane) as usize);
        for lane in lanes {
            for at in &open {
                if !self.budget.allows() {
                    return None;
                }
                if let Some(unit) = self.order.take(lane, *at) {
                    self.budget.reserve(&unit.request);
                    return Some((unit, *at));
                }
            }
        }
        None
    }

    /// Takes in what became of a unit.
    fn finish(&mut self, finished: Finished, watch: &mut Watcher) -> Result<ControlFlow<()>> {
        let Finished {
            unit,
            replica,
            mut answered,
            seconds,
        } = finished;
        let request = Rc::clone(&unit.request);
        let in_flight = self.replicas[replica].in_flight;
        self.replicas[replica].in_flight -= 1;
        self.of_lane[request.lane] -= 1;
        self.order.begun(replica, &request);
        self.desk.pieces.borrow_mut().remove(&(request.id, unit.attempt));
        self.budget.release(&request);
        if let Some(told) = answered.told() {
            told.by.tries = unit.tries + 1;
            if !self.is_known(replica, &told.by, watch) {
                self.order.again(unit);
                return Ok(ControlFlow::Continue(()));
            }
            if self.drifted {
                told.flags.push("drift");
            }
            self.budget.spend(told.by.usd);
            self.remote.usd = self.budget.spent();
            self.remote.cached += told.by.usage.cached.unwrap_or(0);
            self.remote.reasoning += told.by.usage.reasoning.unwrap_or(0);
            if let Some(seconds) = told.by.first_token_s {
                self.replicas[replica].first_token(seconds);
            }
        }
        let event = match answered {
            Answered::Failed(fault) => return self.fail(unit, replica, fault, watch),
            Answered::Written(written) if written.is_empty && !unit.was_empty => {
                self.remote.retries += 1;
                let unit = Unit {
                    was_empty: true,
                    ..unit
                };
                self.order.again(unit);
                return Ok(ControlFlow::Continue(()));
            }
            answered => {
                let (prompt_tokens, tokens, first_s) = answered.cost();
                self.pulse.tokens_in_logical += prompt_tokens as u64;
                self.pulse.count_in(request.lane, prompt_tokens as u64);
                self.pulse.count_out(request.lane, tokens as u64);
                self.replicas[replica].tokens_out += tokens as u64;
                self.replicas[replica].seems_gone(false);
                self.replicas[replica]
                    .limit
                    .answered(in_flight, (tokens, first_s), Instant::now());
                answered.event(request.id, seconds)
            }
        };
        self.last_answer = Instant::now();
        self.answers += 1;
        Ok(watch(event))
    }

    /// What follows from a fault.
    fn fail(&mut self, unit: Unit, at: usize, fault: Fault, watch: &mut Watcher) -> Result<ControlFlow<()>> {
        let now = Instant::now();
        match fault {
            Fault::Ends(sentence) => bail!("{sentence}. {SAVED}"),
            Fault::Busy { wait, cause } => self.wait(unit, at, (wait, cause), watch),
            Fault::Gone { cause, .. } => {
                self.order.again(unit);
                self.leave(at, cause);
                Ok(ControlFlow::Continue(()))
            }
            Fault::Retry { cause } => {
                let broke_off = cause.starts_with("cut");
                self.remote.cuts += u64::from(broke_off);
                self.replicas[at].limit.hold(now);
                if self.replicas[at].seems_gone(broke_off) {
                    self.leave(
                        at,
                        format!("{}: {cause}", self.replicas[at].model.client.address.host()),
                    );
                }
                if unit.tries >= self.retries {
                    self.remote.errors += 1;
                    return Ok(watch(failed(&unit, "error", cause)));
                }
                self.remote.retries += 1;
                let wait = BACKOFF.0.mul_f64(2f64.powi(unit.tries as i32)).min(BACKOFF.1);
                // Spread, so that what failed together does not come back together.
                let spread = 0.75 + 0.5 * ((unit.request.id * 31 + unit.attempt * 7) % 16) as f64 / 16.0;
                let tries = unit.tries + 1;
                self.order.later(now + wait.mul_f64(spread), Unit { tries, ..unit });
                Ok(ControlFlow::Continue(()))
            }
            Fault::Refused { flag, reason } => {
                self.refused += usize::from(flag == "error");
                if self.answers == 0 && self.refused >= REFUSED_AT_FIRST {
                    bail!("the server refuses every request: {reason}. {SAVED}");
                }
                self.remote.errors += 1;
                Ok(watch(failed(&unit, flag, reason)))
            }
        }
    }

    /// The server asks to wait. Every refusal is counted, and told once a second.
    fn wait(
        &mut self,
        unit: Unit,
        at: usize,
        (wait, cause): (Option<Duration>, String),
        watch: &mut Watcher,
    ) -> Result<ControlFlow<()>> {
        let now = Instant::now();
        if let Some(long) = wait.filter(|wait| *wait > LONGEST_WAIT) {
            let minutes = long.as_secs().div_ceil(60);
            bail!("{cause}: the server asks to wait {minutes} minutes. {SAVED}");
        }
        if self.last_answer.elapsed() > ONLY_BUSY {
            bail!("{cause}, and nothing else for 30 minutes. {SAVED}");
        }
        self.remote.busy += 1;
        let replica = &mut self.replicas[at];
        replica.busy += 1;
        replica.limit.refused(wait, now);
        let wait = wait.unwrap_or(BACKOFF.0);
        let is_news = replica.held.is_none_or(|until| until <= now);
        replica.held = replica.held.max(Some(now + wait));
        self.order.later(now + wait, unit);
        if is_news {
            return Ok(watch(Event::Waiting { reason: cause }));
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Tells running answers, servers that are away, and totals.
    fn tell(&mut self, watch: &mut Watcher) -> Result<ControlFlow<()>> {
        for event in self.progress() {
            if watch(event).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        if self.tell_away(watch)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
        let pulse = self.total();
        Ok(watch(Event::Pulse(pulse)))
    }

    /// The running answers that have something new, as many as are told at once, from the one after the last.
    fn progress(&mut self) -> Vec<Event> {
        let mut pieces = self.desk.pieces.borrow_mut();
        let (before, after): (Vec<_>, Vec<_>) = pieces.iter_mut().partition(|(key, _)| **key <= self.told);
        let news = after
            .into_iter()
            .chain(before)
            .filter(|(_, piece)| !piece.text.is_empty());
        let mut events = Vec::new();
        for (key, piece) in news.take(TOLD) {
            self.told = *key;
            events.push(Event::Progress {
                id: key.0,
                attempt: key.1,
                tokens: piece.tokens,
                text: std::mem::take(&mut piece.text),
            });
        }
        events
    }

    /// Totals by now, with the tokens of running answers.
    fn total(&mut self) -> Pulse {
        let lanes = self.of_lane.iter().enumerate();
        let lanes = lanes.flat_map(|(lane, count)| std::iter::repeat_n(lane, *count));
        self.pulse.set_in_flight(lanes);
        let mut pulse = self.pulse;
        let mut running = vec![0; self.replicas.len()];
        for piece in self.desk.pieces.borrow().values() {
            pulse.count_out(piece.lane, piece.tokens as u64);
            running[piece.replica] += piece.tokens as u64;
        }
        sum_up(&self.replicas, &mut self.remote);
        self.remote.waiting = self.order.waiting();
        let replicas = self.replicas.iter().zip(running).take(PULSE_REPLICAS);
        for (slot, (replica, running)) in self.remote.replicas.iter_mut().zip(replicas) {
            *slot = replica.pulse(running);
        }
        pulse.remote = Some(self.remote);
        pulse
    }
}

fn failed(unit: &Unit, flag: &'static str, reason: String) -> Event {
    Event::Failed {
        id: unit.request.id,
        attempt: Some(unit.attempt),
        flag,
        reason,
    }
}
