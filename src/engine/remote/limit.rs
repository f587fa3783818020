//! How many requests are under way at once: up while the server takes them, down at once when it does not.

use std::time::{Duration, Instant};

/// After a refusal, how long nothing is raised, and how long a further refusal lowers nothing.
const HOLD: Duration = Duration::from_secs(15);

/// What a refusal leaves of the limit.
const KEPT: f64 = 0.8;

/// A first token that comes later than this says that the server has enough to do.
const SLOW: f32 = 30.0;

/// Doubling goes on while a round brings in so much more a second than the one before.
const GAIN: f64 = 1.05;

/// The limit of one server.
#[derive(Debug)]
pub struct Limit {
    now: usize,
    most: usize,
    /// Doubling after each full round, until the first refusal, or until it gains nothing.
    is_starting: bool,
    /// Answers since the last change, what they came to (tokens; of scores answers), and since when.
    round: usize,
    gained: f64,
    begun: Option<Instant>,
    /// What the last round brought a second.
    rate: f64,
    held_until: Option<Instant>,
}

impl Limit {
    /// A limit that adapts, from `start` up to `most`.
    pub fn adaptive(start: usize, most: usize) -> Limit {
        Limit {
            now: start.clamp(1, most.max(1)),
            most: most.max(1),
            is_starting: true,
            round: 0,
            gained: 0.0,
            begun: None,
            rate: 0.0,
            held_until: None,
        }
    }

    /// A ceiling that was asked for: refusals lower it all the same.
    pub fn fixed(most: usize) -> Limit {
        Limit::adaptive(most, most)
    }

    pub fn now(&self) -> usize {
        self.now
    }

    /// An answer of so many tokens came while so many requests were under way, its first token after so many seconds.
    pub fn answered(&mut self, in_flight: usize, (tokens, first_s): (usize, Option<f32>), at: Instant) {
        if first_s.is_some_and(|seconds| seconds > SLOW) {
            self.is_starting = false;
            self.hold(at);
        }
        // A round that did not use the limit says nothing of it.
        if in_flight * 5 < self.now * 4 {
            return;
        }
        self.round += 1;
        self.gained += tokens.max(1) as f64;
        let begun = *self.begun.get_or_insert(at);
        if self.round < self.now || self.held_until.is_some_and(|until| at < until) {
            return;
        }
        let rate = self.gained / (at - begun).as_secs_f64().max(1e-3);
        self.is_starting &= rate >= self.rate * GAIN;
        let raised = if self.is_starting { self.now * 2 } else { self.now + 1 };
        self.now = raised.min(self.most);
        self.next_round();
        self.rate = rate;
    }

    /// Raises nothing for a while: the server is at its end, or in trouble.
    pub fn hold(&mut self, at: Instant) {
        self.next_round();
        self.held_until = self.held_until.max(Some(at + HOLD));
    }

    /// The server refused for being too busy, and asked to wait so long.
    pub fn refused(&mut self, wait: Option<Duration>, at: Instant) {
        self.is_starting = false;
        if self.held_until.is_none_or(|until| at >= until) {
            self.now = ((self.now as f64 * KEPT) as usize).max(1);
        }
        self.hold(at + wait.unwrap_or_default().saturating_sub(HOLD));
    }

    fn next_round(&mut self) {
        self.round = 0;
        self.gained = 0.0;
        self.begun = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_doubles_in_full_rounds_until_the_first_refusal_then_rises_by_one() {
        let (mut limit, at) = (Limit::adaptive(4, 100), Instant::now());
        let round = |limit: &mut Limit, at| (0..limit.now()).for_each(|_| limit.answered(limit.now(), (9, None), at));
        round(&mut limit, at);
        round(&mut limit, at);
        assert_eq!(limit.now(), 16);
        limit.refused(None, at);
        limit.refused(None, at);
        assert_eq!(limit.now(), 12, "one cut a hold, however many refusals");
        round(&mut limit, at);
        assert_eq!(limit.now(), 12, "nothing is raised within the hold");
        let later = at + HOLD * 2;
        round(&mut limit, later);
        assert_eq!(limit.now(), 13);
    }

    #[test]
    fn doubling_ends_where_it_gains_nothing_or_first_tokens_come_late() {
        let (mut limit, mut at) = (Limit::adaptive(4, 1000), Instant::now());
        // A server that gives one answer a second, however many are asked for.
        let mut last = Vec::new();
        for _ in 0..200 {
            at += Duration::from_secs(1);
            limit.answered(limit.now(), (1, None), at);
            last.push(limit.now());
        }
        assert!(last.windows(2).all(|pair| pair[1] - pair[0] <= 4), "{last:?}");
        let mut late = Limit::adaptive(8, 1000);
        (0..100).for_each(|_| late.answered(late.now(), (5, Some(40.0)), at));
        assert_eq!(late.now(), 8);
    }

    #[test]
    fn half_used_rounds_raise_nothing_and_the_limit_never_falls_below_one() {
        let (mut limit, at) = (Limit::adaptive(10, 100), Instant::now());
        (0..100).for_each(|_| limit.answered(3, (1, None), at));
        assert_eq!(limit.now(), 10);
        let mut fixed = Limit::fixed(2);
        for hold in 1..10 {
            fixed.refused(None, at + HOLD * 3 * hold);
        }
        assert_eq!(fixed.now(), 1);
    }
}
