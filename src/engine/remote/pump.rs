//! The loop: requests under way as futures, the watcher between them.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::future::Future;
use std::ops::ControlFlow;
use std::pin::Pin;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;

use super::ask::{Model, Written};
use super::fault::Fault;
use super::limit::Limit;
use super::{RemoteEngine, Rung};
use crate::engine::{
    Ask, ChatTemplate, Control, Description, Engine, Event, Pulse, Request, Requests, Scores, Watcher,
};

/// How often the watcher hears that the loop lives, and of running answers.
const TICK: Duration = Duration::from_millis(150);

/// Most requests under way at a server of one's own, and at a hosted one.
const MOST: (usize, usize) = (512, 64);

/// Tries of a request wait at least and at most so long between them.
const BACKOFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(60));

/// A longer wait than this is told as a reason to come back later.
const LONGEST_WAIT: Duration = Duration::from_secs(15 * 60);

/// One answer that is still to come.
#[derive(Debug, Clone)]
struct Unit {
    request: Rc<Request>,
    /// Index into the request's seeds; 0 of scores.
    attempt: usize,
    tries: u32,
}

/// What became of a unit.
enum Answered {
    Scored(Scores, usize),
    Written(Written),
    Failed(Fault),
}

struct Finished {
    unit: Unit,
    replica: usize,
    answered: Answered,
    seconds: f32,
}

type Flight<'a> = Pin<Box<dyn Future<Output = Finished> + 'a>>;

/// Text that came since it was last told, and tokens so far.
type Pieces = Rc<RefCell<HashMap<(usize, usize), (String, usize)>>>;

/// The loop's state.
struct Pump<'a> {
    models: &'a [Model],
    requests: &'a mut dyn Requests,
    scoring: Scoring<'a>,
    retries: u32,
    queues: Vec<VecDeque<Unit>>,
    /// Units that wait for their next try.
    waiting: Vec<(Instant, Unit)>,
    limits: Vec<Limit>,
    /// Requests under way, by replica and by lane.
    at: Vec<usize>,
    of_lane: Vec<usize>,
    /// Which replica a request belongs to.
    home: HashMap<usize, usize>,
    /// Nothing is sent to a replica before this.
    held: Vec<Option<Instant>>,
    pieces: Pieces,
    pulse: Pulse,
    gone: Option<Gone>,
}

/// A server that went away.
struct Gone {
    since: Instant,
    next: Instant,
    asked: u32,
    /// How often it had been asked when that was last told.
    told: Option<u32>,
    cause: String,
}

impl Engine for RemoteEngine {
    fn describe(&self) -> Description {
        Description::Remote(Box::new(self.served.clone()))
    }

    fn chat_template(&self) -> Option<ChatTemplate> {
        self.served.chat_template.clone()
    }

    fn answer(&mut self, requests: &mut dyn Requests, control: &Control, watch: &mut Watcher) -> Result<()> {
        let most = if self.served.kind.facts().is_hosted {
            MOST.1
        } else {
            MOST.0
        };
        let start = self.served.slots.unwrap_or(self.served.kind.facts().in_flight);
        let limit = || match self.options.in_flight {
            Some(fixed) => Limit::fixed(fixed.div_ceil(self.models.len())),
            // A server with slots gains nothing above them.
            None if self.served.slots.is_some() => Limit::fixed(start),
            None => Limit::adaptive(start, most),
        };
        let pump = Pump {
            models: &self.models,
            requests,
            scoring: Scoring {
                rung: self.served.cloze,
                letters: &self.served.letters,
            },
            retries: self.options.retries,
            queues: vec![VecDeque::new(); control.lanes.len()],
            waiting: Vec::new(),
            limits: self.models.iter().map(|_| limit()).collect(),
            at: vec![0; self.models.len()],
            of_lane: vec![0; control.lanes.len()],
            home: HashMap::new(),
            held: vec![None; self.models.len()],
            pieces: Pieces::default(),
            pulse: Pulse::default(),
            gone: None,
        };
        self.runtime
            .block_on(pump.run(control, self.options.wait_server, watch))
    }
}

/// How scores are had.
#[derive(Debug, Clone, Copy)]
struct Scoring<'a> {
    rung: Option<Rung>,
    letters: &'a BTreeMap<String, Vec<u32>>,
}

impl<'a> Pump<'a> {
    async fn run(mut self, control: &Control, wait_server: Duration, watch: &mut Watcher<'_>) -> Result<()> {
        let mut flights: FuturesUnordered<Flight<'a>> = FuturesUnordered::new();
        let mut tick = tokio::time::interval(TICK);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            self.go_on().await?;
            self.send(control, &mut flights);
            if flights.is_empty() && self.is_done() {
                return Ok(());
            }
            let flow = tokio::select! {
                biased;
                Some(finished) = flights.next(), if !flights.is_empty() => self.finish(finished, watch)?,
                _ = tick.tick() => self.tell(wait_server, watch)?,
            };
            if flow.is_break() {
                return Ok(());
            }
        }
    }

    fn is_done(&self) -> bool {
        self.waiting.is_empty() && self.queues.iter().all(VecDeque::is_empty)
    }

    /// Sends what may be sent.
    fn send(&mut self, control: &Control, flights: &mut FuturesUnordered<Flight<'a>>) {
        let now = Instant::now();
        let due: Vec<Unit> = self
            .waiting
            .extract_if(.., |(at, _)| *at <= now)
            .map(|(_, unit)| unit)
            .collect();
        for unit in due {
            self.queues[unit.request.lane].push_front(unit);
        }
        if self.gone.is_some() {
            return;
        }
        self.fill();
        while let Some((lane, replica)) = self.next_place(control, now) {
            let Some(unit) = self.queues[lane].pop_front() else {
                return;
            };
            self.at[replica] += 1;
            self.of_lane[lane] += 1;
            self.home.insert(unit.request.id, replica);
            let (model, pieces) = (&self.models[replica], Rc::clone(&self.pieces));
            flights.push(Box::pin(answer(model, (unit, replica), self.scoring, pieces)));
            self.fill();
        }
    }

    /// Takes the next request of each lane that has nothing to ask.
    fn fill(&mut self) {
        for (lane, queue) in self.queues.iter_mut().enumerate().filter(|(_, queue)| queue.is_empty()) {
            let Some(request) = self.requests.next(lane, &|_| None).map(Rc::new) else {
                continue;
            };
            let attempts = match &request.ask {
                Ask::Score { .. } => 1,
                Ask::Sample { seeds, .. } => seeds.len(),
            };
            queue.extend((0..attempts).map(|attempt| Unit {
                request: Rc::clone(&request),
                attempt,
                tries: 0,
            }));
        }
    }

    /// The lane furthest below its share that has something to ask, and where it goes: to the question's own server, else to
    /// the one with the fewest requests for its limit.
    fn next_place(&self, control: &Control, now: Instant) -> Option<(usize, usize)> {
        let ready = (0..self.queues.len()).filter(|lane| !self.queues[*lane].is_empty() && !control.is_paused(*lane));
        let lane = ready.min_by_key(|lane| self.of_lane[*lane] * 1000 / control.share(*lane) as usize)?;
        let has_room = |replica: &usize| {
            self.at[*replica] < self.limits[*replica].now() && self.held[*replica].is_none_or(|until| until <= now)
        };
        let own = self.queues[lane]
            .front()
            .and_then(|unit| self.home.get(&unit.request.id))
            .copied();
        let emptiest = (0..self.models.len())
            .filter(has_room)
            .min_by_key(|replica| self.at[*replica] * 1000 / self.limits[*replica].now());
        own.filter(has_room).or(emptiest).map(|replica| (lane, replica))
    }

    /// Takes in what became of a unit.
    fn finish(&mut self, finished: Finished, watch: &mut Watcher) -> Result<ControlFlow<()>> {
        let Finished {
            unit,
            replica,
            answered,
            seconds,
        } = finished;
        let request = Rc::clone(&unit.request);
        let in_flight = self.at[replica];
        self.at[replica] -= 1;
        self.of_lane[request.lane] -= 1;
        self.pieces.borrow_mut().remove(&(request.id, unit.attempt));
        let event = match answered {
            Answered::Scored(scores, prompt_tokens) => {
                self.count(request.lane, prompt_tokens, 0);
                Event::Scored {
                    id: request.id,
                    scores,
                    prompt_tokens,
                    truncated: false,
                    seconds,
                }
            }
            Answered::Written(written) => {
                let prompt_tokens = written.prompt_tokens.unwrap_or_default();
                self.count(request.lane, prompt_tokens, written.completion.tokens);
                Event::Completed {
                    id: request.id,
                    completion: written.completion,
                    prompt_tokens,
                    truncated: false,
                    seconds,
                }
            }
            Answered::Failed(fault) => return self.fail(unit, replica, fault, watch),
        };
        self.limits[replica].answered(in_flight, Instant::now());
        Ok(watch(event))
    }

    fn count(&mut self, lane: usize, prompt_tokens: usize, tokens: usize) {
        self.pulse.tokens_in_logical += prompt_tokens as u64;
        self.pulse.count_in(lane, prompt_tokens as u64);
        self.pulse.count_out(lane, tokens as u64);
    }

    /// What follows from a fault.
    fn fail(&mut self, unit: Unit, replica: usize, fault: Fault, watch: &mut Watcher) -> Result<ControlFlow<()>> {
        let lane = unit.request.lane;
        let now = Instant::now();
        match fault {
            Fault::Ends(sentence) => bail!("{sentence}. What was answered is saved; --resume goes on"),
            Fault::Busy { wait, cause } => {
                if wait.is_some_and(|wait| wait > LONGEST_WAIT) {
                    let minutes = wait.unwrap_or_default().as_secs().div_ceil(60);
                    bail!(
                        "{cause}: the server asks to wait {minutes} minutes. What was answered is saved; --resume goes on"
                    );
                }
                self.limits[replica].refused(wait, now);
                let wait = wait.unwrap_or(BACKOFF.0);
                self.held[replica] = self.held[replica].max(Some(now + wait));
                self.waiting.push((now + wait, unit));
                Ok(watch(Event::Waiting { reason: cause }))
            }
            Fault::Gone { cause } => {
                self.queues[lane].push_front(unit);
                self.gone.get_or_insert(Gone {
                    since: now,
                    next: now + Duration::from_secs(1),
                    asked: 0,
                    told: None,
                    cause,
                });
                Ok(ControlFlow::Continue(()))
            }
            Fault::Retry { .. } if unit.tries < self.retries => {
                let wait = BACKOFF.0.mul_f64(2f64.powi(unit.tries as i32)).min(BACKOFF.1);
                // Spread, so that what failed together does not come back together.
                let spread = 0.75 + 0.5 * ((unit.request.id * 31 + unit.attempt * 7) % 16) as f64 / 16.0;
                let next = Unit {
                    tries: unit.tries + 1,
                    ..unit
                };
                self.waiting.push((now + wait.mul_f64(spread), next));
                Ok(ControlFlow::Continue(()))
            }
            Fault::Retry { cause } => Ok(watch(failed(&unit, "error", cause))),
            Fault::Refused { flag, reason } => Ok(watch(failed(&unit, flag, reason))),
        }
    }

    /// Tells running answers and totals; where the server is gone, that and for how long.
    fn tell(&mut self, wait_server: Duration, watch: &mut Watcher) -> Result<ControlFlow<()>> {
        let pieces: Vec<_> = self
            .pieces
            .borrow_mut()
            .iter_mut()
            .map(|(key, piece)| (*key, std::mem::take(&mut piece.0), piece.1))
            .collect();
        for ((id, attempt), text, tokens) in pieces {
            if text.is_empty() {
                continue;
            }
            if watch(Event::Progress {
                id,
                attempt,
                tokens,
                text,
            })
            .is_break()
            {
                return Ok(ControlFlow::Break(()));
            }
        }
        if let Some(gone) = &mut self.gone {
            let since = gone.since.elapsed();
            if since > wait_server {
                bail!(
                    "{} for {} minutes. What was answered is saved; --resume goes on",
                    gone.cause,
                    since.as_secs().div_ceil(60)
                );
            }
            let next = gone.next.saturating_duration_since(Instant::now()).as_secs();
            let reason = format!(
                "{}; away for {} s, asking again in {next} s",
                gone.cause,
                since.as_secs()
            );
            // Once between two questions whether it is back.
            let is_news = gone.told.replace(gone.asked) != Some(gone.asked);
            if is_news && watch(Event::Waiting { reason }).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        let lanes = self
            .of_lane
            .iter()
            .enumerate()
            .flat_map(|(lane, count)| std::iter::repeat_n(lane, *count));
        self.pulse.set_in_flight(lanes);
        Ok(watch(Event::Pulse(self.pulse)))
    }

    /// Asks a server that went away whether it is back.
    async fn go_on(&mut self) -> Result<()> {
        let Some(gone) = &mut self.gone else { return Ok(()) };
        if Instant::now() < gone.next {
            return Ok(());
        }
        gone.asked += 1;
        let pause = [1, 2, 5][(gone.asked as usize).min(2)];
        gone.next = Instant::now() + Duration::from_secs(pause);
        for model in self.models {
            let asked = model.client.get(model.client.address.v1("models")).await;
            let Ok(list) = asked else { continue };
            let names = list.get("data").and_then(serde_json::Value::as_array);
            let is_same = names.is_some_and(|names| {
                names
                    .iter()
                    .any(|entry| entry.get("id").and_then(serde_json::Value::as_str) == Some(&model.name))
            });
            if !is_same {
                bail!(
                    "{} is back with another model than {:?}. What was answered is saved; --resume goes on with the same model",
                    model.client.address.host(),
                    model.name
                );
            }
            self.gone = None;
            return Ok(());
        }
        Ok(())
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

/// One unit's answer.
async fn answer(model: &Model, (unit, replica): (Unit, usize), scoring: Scoring<'_>, pieces: Pieces) -> Finished {
    let begun = Instant::now();
    let request = Rc::clone(&unit.request);
    let answered = match &request.ask {
        Ask::Score { continuations } => match score(model, &request.prompt.text(), continuations, scoring).await {
            Ok((scores, tokens)) => Answered::Scored(scores, tokens),
            Err(fault) => Answered::Failed(fault),
        },
        Ask::Sample { sampling, seeds, .. } => {
            let mut progress = |text: &str, tokens: usize| {
                let mut pieces = pieces.borrow_mut();
                let piece = pieces.entry((request.id, unit.attempt)).or_default();
                piece.0.push_str(text);
                piece.1 = tokens;
            };
            let seed = seeds.get(unit.attempt).copied().unwrap_or_default();
            match model
                .write(&request.prompt, sampling, (unit.attempt, seed), &mut progress)
                .await
            {
                Ok(written) => Answered::Written(written),
                Err(fault) => Answered::Failed(fault),
            }
        }
    };
    Finished {
        unit,
        replica,
        answered,
        seconds: begun.elapsed().as_secs_f32(),
    }
}

/// The scores of a request's continuations, by the way that the handshake found; texts of several tokens by echo.
async fn score(
    model: &Model,
    prompt: &str,
    continuations: &[String],
    scoring: Scoring<'_>,
) -> Result<(Scores, usize), Fault> {
    let refused = |reason: &str| Fault::Refused {
        flag: "error",
        reason: reason.to_owned(),
    };
    let rung = scoring
        .rung
        .ok_or_else(|| refused("the server gives no log-probabilities"))?;
    let known: Option<Vec<(String, Vec<u32>)>> = continuations
        .iter()
        .map(|text| Some((text.clone(), scoring.letters.get(text)?.clone())))
        .collect();
    if let Some(known) = known {
        return model.score(rung, prompt, &known).await;
    }
    let bare = model
        .tokens(prompt)
        .await?
        .ok_or_else(|| refused("the server does not tell tokens"))?;
    let mut parted = Vec::new();
    for text in continuations {
        let whole = model.tokens(&format!("{prompt}{text}")).await?.unwrap_or_default();
        let own = whole.get(bare.len()..).unwrap_or_default().to_vec();
        parted.push((text.clone(), own));
    }
    model.score(Rung::Echo, prompt, &parted).await
}
