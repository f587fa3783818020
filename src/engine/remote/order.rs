//! Which request goes where, and when: a question's attempts side by side on one server, and the first request with a new
//! beginning alone there until its first token, so that the rest find that beginning computed.

use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::time::Instant;

use crate::engine::{Ask, Request, Requests};

/// One answer that is still to come.
#[derive(Debug, Clone)]
pub struct Unit {
    pub request: Rc<Request>,
    /// Index into the request's seeds; 0 of scores.
    pub attempt: usize,
    /// Tries that failed.
    pub tries: u32,
    /// Whether an answer without a word came already.
    pub was_empty: bool,
}

/// What is bound to one server, of one lane.
#[derive(Debug, Default)]
struct Lot {
    ready: VecDeque<Unit>,
    /// Attempts that wait for the first token of their question's first one, by request.
    held: HashMap<usize, Vec<Unit>>,
    /// The request that was bound last.
    last: Option<Rc<Request>>,
}

/// Everything that is still to be sent.
pub struct Order<'a> {
    requests: &'a mut dyn Requests,
    /// The next request of each lane, bound to no server.
    next: Vec<Option<Rc<Request>>>,
    /// Units of each lane that any server may take: tries that failed, questions of a server that went away.
    loose: Vec<VecDeque<Unit>>,
    /// By server and lane.
    lots: Vec<Vec<Lot>>,
    /// Units that wait for their next try.
    waiting: Vec<(Instant, Unit)>,
}

impl<'a> Order<'a> {
    pub fn new(requests: &'a mut dyn Requests, lanes: usize, replicas: usize) -> Order<'a> {
        let lots = || (0..lanes).map(|_| Lot::default()).collect();
        Order {
            requests,
            next: vec![None; lanes],
            loose: vec![VecDeque::new(); lanes],
            lots: (0..replicas).map(|_| lots()).collect(),
            waiting: Vec::new(),
        }
    }

    /// The next unit of a lane for a server; none where it has nothing that may go there by now.
    pub fn take(&mut self, lane: usize, replica: usize) -> Option<Unit> {
        if let Some(unit) = self.loose[lane].pop_front() {
            return Some(unit);
        }
        let lot = &mut self.lots[replica][lane];
        if let Some(unit) = lot.ready.pop_front() {
            return Some(unit);
        }
        if self.next[lane].is_none() {
            self.next[lane] = self.requests.next(lane, &|_| None).map(Rc::new);
        }
        let request = self.next[lane].take_if(|request| !lot.must_wait(request))?;
        Some(lot.bind(request))
    }

    /// The first token of a request came, or its answer: what waited for that may go.
    pub fn begun(&mut self, replica: usize, request: &Request) {
        let lot = &mut self.lots[replica][request.lane];
        lot.ready.extend(lot.held.remove(&request.id).unwrap_or_default());
    }

    /// Takes back a unit that is to be sent at once, wherever there is room.
    pub fn again(&mut self, unit: Unit) {
        self.loose[unit.request.lane].push_front(unit);
    }

    /// Takes back a unit that is to be sent later.
    pub fn later(&mut self, at: Instant, unit: Unit) {
        self.waiting.push((at, unit));
    }

    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Gives what is bound to a server to the others.
    pub fn free(&mut self, replica: usize) {
        for (lane, lot) in self.lots[replica].iter_mut().enumerate() {
            let held = lot.held.drain().flat_map(|(_, units)| units);
            self.loose[lane].extend(lot.ready.drain(..).chain(held));
            lot.last = None;
        }
    }

    /// Brings back what has waited long enough.
    pub fn wake(&mut self, now: Instant) {
        let due = self.waiting.extract_if(.., |(at, _)| *at <= now);
        for (_, unit) in due {
            self.loose[unit.request.lane].push_front(unit);
        }
    }

    /// Whether nothing waits, is loose or bound. What the exams still hold is asked for by [`Order::take`].
    pub fn is_empty(&self) -> bool {
        let is_done = |lot: &Lot| lot.ready.is_empty() && lot.held.values().all(Vec::is_empty);
        self.waiting.is_empty()
            && self.next.iter().all(Option::is_none)
            && self.loose.iter().all(VecDeque::is_empty)
            && self.lots.iter().flatten().all(is_done)
    }
}

impl Lot {
    /// Whether the beginning of a request is being computed here at this moment.
    fn must_wait(&self, request: &Request) -> bool {
        let last = self.last.as_ref().filter(|last| self.held.contains_key(&last.id));
        last.is_some_and(|last| share_a_beginning(last, request))
    }

    /// Binds a request to the server: its first attempt, which may be sent; the others wait where nothing of it is known
    /// there.
    fn bind(&mut self, request: Rc<Request>) -> Unit {
        let attempts = match &request.ask {
            Ask::Score { .. } => 1,
            Ask::Sample { seeds, .. } => seeds.len(),
        };
        let unit = |attempt| Unit {
            request: Rc::clone(&request),
            attempt,
            tries: 0,
            was_empty: false,
        };
        let rest = (1..attempts).map(unit);
        let is_known = self.last.as_ref().is_some_and(|last| share_a_beginning(last, &request));
        if is_known {
            self.ready.extend(rest);
        } else {
            self.held.insert(request.id, rest.collect());
        }
        let first = unit(0);
        self.last = Some(request);
        first
    }
}

/// Whether two prompts begin alike for at least half of the shorter one, as those of a subject do with examples.
fn share_a_beginning(one: &Request, other: &Request) -> bool {
    let (one, other) = (one.prompt.text(), other.prompt.text());
    let half = one.len().min(other.len()) / 2;
    half > 0 && one.as_bytes()[..half] == other.as_bytes()[..half]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Sampling;

    fn request(id: usize, prompt: &str) -> Request {
        let sampling = Sampling {
            temperature: 1.0,
            top_p: 1.0,
            top_k: 0,
            max_tokens: 8,
            stops: Vec::new(),
        };
        Request {
            id,
            lane: 0,
            prompt: prompt.into(),
            add_special_tokens: true,
            ask: Ask::Sample {
                sampling,
                seeds: vec![42, 43, 44],
                stream: 0,
            },
        }
    }

    fn taken(order: &mut Order, replica: usize) -> Vec<(usize, usize)> {
        std::iter::from_fn(|| order.take(0, replica))
            .map(|unit| (unit.request.id, unit.attempt))
            .collect()
    }

    #[test]
    fn the_first_request_with_a_beginning_goes_alone_and_its_question_stays_on_its_server() {
        let shots = "Examples of law, as long as any question. ".repeat(4);
        let mut requests = vec![VecDeque::from([
            request(0, &format!("{shots}One?")),
            request(1, &format!("{shots}Two?")),
            request(2, "Of physics, with nothing before it?"),
        ])];
        let mut order = Order::new(&mut requests, 1, 2);
        assert_eq!(taken(&mut order, 0), [(0, 0)], "its beginning is computed once");
        assert_eq!(
            taken(&mut order, 1),
            [(1, 0), (2, 0)],
            "another server has its own cache"
        );
        order.begun(0, &request(0, ""));
        assert_eq!(taken(&mut order, 0), [(0, 1), (0, 2)]);
        order.begun(1, &request(2, ""));
        assert_eq!(
            taken(&mut order, 0),
            [],
            "what is bound to one server is not sent to the other"
        );
        order.free(1);
        assert_eq!(
            taken(&mut order, 0),
            [(2, 1), (2, 2), (1, 1), (1, 2)],
            "but is when that one is gone"
        );
        assert!(order.is_empty());
    }

    #[test]
    fn questions_that_share_a_known_beginning_go_at_once() {
        let shots = "Examples of law, as long as any question. ".repeat(4);
        let questions = (0..3).map(|id| request(id, &format!("{shots}Question {id}?")));
        let mut requests = vec![questions.collect::<VecDeque<_>>()];
        let mut order = Order::new(&mut requests, 1, 1);
        assert_eq!(taken(&mut order, 0), [(0, 0)]);
        order.begun(0, &request(0, ""));
        let rest = taken(&mut order, 0);
        assert_eq!(rest.len(), 8, "{rest:?}");
    }
}
