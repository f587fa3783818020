//! One server at work: its limit, what it told of itself, and whether it is away.

use std::collections::VecDeque;
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::Served;
use super::ask::Model;
use super::limit::Limit;
use crate::engine::{Remote, ReplicaPulse, ServedBy};

/// First tokens that their middle is taken of.
const RECENT: usize = 64;

/// Answers in a row that broke off, after which a server is asked whether it is there.
const IN_A_ROW: usize = 3;

/// A server that went away, or must be looked at again.
#[derive(Debug)]
pub struct Away {
    pub since: Instant,
    /// When it is asked next.
    pub next: Instant,
    pub asked: u32,
    /// How often it had been asked when that was last told.
    pub told: Option<u32>,
    pub cause: String,
    pub is_asking: bool,
}

/// What a server's answers say of it; a change is drift.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Known {
    model: Option<String>,
    fingerprint: Option<String>,
    provider: Option<String>,
}

#[derive(Debug)]
pub struct Replica {
    pub model: Rc<Model>,
    pub limit: Limit,
    pub in_flight: usize,
    /// Nothing is sent before this.
    pub held: Option<Instant>,
    pub away: Option<Away>,
    known: Known,
    first_tokens: VecDeque<f32>,
    pub tokens_out: u64,
    pub busy: u64,
    /// Answers in a row that broke off.
    broken: usize,
}

impl Replica {
    pub fn new(model: &Model, limit: Limit, served: &Served) -> Replica {
        Replica {
            model: Rc::new(model.clone()),
            limit,
            in_flight: 0,
            held: None,
            away: None,
            known: Known {
                fingerprint: served.fingerprint.clone(),
                ..Known::default()
            },
            first_tokens: VecDeque::new(),
            tokens_out: 0,
            busy: 0,
            broken: 0,
        }
    }

    /// An answer came, or broke off: whether so many did in a row that the server may be gone behind what still listens.
    pub fn seems_gone(&mut self, broke_off: bool) -> bool {
        self.broken = if broke_off { self.broken + 1 } else { 0 };
        self.broken >= IN_A_ROW
    }

    pub fn has_room(&self, now: Instant) -> bool {
        self.away.is_none() && self.in_flight < self.limit.now() && self.held.is_none_or(|until| until <= now)
    }

    /// Requests under way for its limit, in thousandths.
    pub fn load(&self) -> usize {
        self.in_flight * 1000 / self.limit.now()
    }

    /// Goes away, for this cause.
    pub fn leave(&mut self, cause: String, now: Instant) {
        self.broken = 0;
        self.away.get_or_insert(Away {
            since: now,
            next: now + Duration::from_secs(1),
            asked: 0,
            told: None,
            cause,
            is_asking: false,
        });
    }

    /// Takes in what an answer says of its server: in words what changed since the last one, where anything did.
    pub fn recognise(&mut self, by: &ServedBy) -> Option<String> {
        let now = Known {
            model: by.model.clone().or(self.known.model.clone()),
            fingerprint: by.fingerprint.clone().or(self.known.fingerprint.clone()),
            provider: by.provider.clone().or(self.known.provider.clone()),
        };
        let before = std::mem::replace(&mut self.known, now);
        let pairs = [
            ("model", before.model, &self.known.model),
            ("fingerprint", before.fingerprint, &self.known.fingerprint),
            ("provider", before.provider, &self.known.provider),
        ];
        let changed = pairs.into_iter().filter_map(|(name, before, now)| {
            let (before, now) = (before?, now.as_ref()?);
            (before != *now).then(|| format!("{name} was {before}, is now {now}"))
        });
        let told: Vec<String> = changed.collect();
        (!told.is_empty()).then(|| format!("{}: {}", by.replica, told.join(", ")))
    }

    pub fn first_token(&mut self, seconds: f32) {
        if self.first_tokens.len() == RECENT {
            self.first_tokens.pop_front();
        }
        self.first_tokens.push_back(seconds);
    }

    pub fn pulse(&self, running: u64) -> ReplicaPulse {
        ReplicaPulse {
            limit: self.limit.now(),
            in_flight: self.in_flight,
            tokens_out: self.tokens_out + running,
            busy: self.busy,
            is_away: self.away.is_some(),
        }
    }
}

/// The middle of the last first tokens of all servers, and the sum of their limits.
pub fn sum_up(replicas: &[Replica], remote: &mut Remote) {
    let mut seconds: Vec<f32> = replicas
        .iter()
        .flat_map(|replica| replica.first_tokens.iter().copied())
        .collect();
    seconds.sort_by(f32::total_cmp);
    remote.first_token_s = seconds.get(seconds.len() / 2).copied();
    remote.limit = replicas.iter().map(|replica| replica.limit.now()).sum();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::remote::{Clocks, Kind, Secrets};

    #[test]
    fn a_changed_fingerprint_is_told_once_and_a_missing_one_changes_nothing() {
        let address = super::super::url::Address::parse("127.0.0.1:8000").unwrap();
        let client = super::super::http::Client::new(address, Secrets::default(), Clocks::default(), None).unwrap();
        let model = Model::new(client, Kind::Vllm);
        let mut replica = Replica::new(&model, Limit::fixed(1), &Served::default());
        let by = |fingerprint: Option<&str>| ServedBy {
            fingerprint: fingerprint.map(str::to_owned),
            replica: "gpu1:8000".into(),
            ..ServedBy::default()
        };
        assert_eq!(replica.recognise(&by(Some("a"))), None, "the first is learned");
        assert_eq!(replica.recognise(&by(None)), None);
        let told = replica.recognise(&by(Some("b"))).unwrap();
        assert_eq!(told, "gpu1:8000: fingerprint was a, is now b");
        assert_eq!(replica.recognise(&by(Some("b"))), None);
    }
}
