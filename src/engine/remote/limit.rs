//! How many requests are under way at once: up while the server takes them, down at once when it does not.

use std::time::{Duration, Instant};

/// After a refusal, how long nothing is raised, and how long a further refusal lowers nothing.
const HOLD: Duration = Duration::from_secs(15);

/// What a refusal leaves of the limit.
const KEPT: f64 = 0.8;

/// The limit of one server.
#[derive(Debug)]
pub struct Limit {
    now: usize,
    most: usize,
    /// Doubling after each full round, until the first refusal.
    is_starting: bool,
    /// Answers since the last change.
    round: usize,
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

    /// An answer came while so many requests were under way.
    pub fn answered(&mut self, in_flight: usize, at: Instant) {
        // A round that did not use the limit says nothing of it.
        if in_flight * 5 < self.now * 4 {
            return;
        }
        self.round += 1;
        if self.round < self.now || self.held_until.is_some_and(|until| at < until) {
            return;
        }
        self.round = 0;
        let raised = if self.is_starting { self.now * 2 } else { self.now + 1 };
        self.now = raised.min(self.most);
    }

    /// The server refused for being too busy, and asked to wait so long.
    pub fn refused(&mut self, wait: Option<Duration>, at: Instant) {
        self.is_starting = false;
        self.round = 0;
        if self.held_until.is_none_or(|until| at >= until) {
            self.now = ((self.now as f64 * KEPT) as usize).max(1);
        }
        let hold = wait.unwrap_or_default().max(HOLD);
        self.held_until = self.held_until.max(Some(at + hold));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_doubles_in_full_rounds_until_the_first_refusal_then_rises_by_one() {
        let (mut limit, at) = (Limit::adaptive(4, 100), Instant::now());
        let round = |limit: &mut Limit, at| (0..limit.now()).for_each(|_| limit.answered(limit.now(), at));
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
    fn half_used_rounds_raise_nothing_and_the_limit_never_falls_below_one() {
        let (mut limit, at) = (Limit::adaptive(10, 100), Instant::now());
        (0..100).for_each(|_| limit.answered(3, at));
        assert_eq!(limit.now(), 10);
        let mut fixed = Limit::fixed(2);
        for hold in 1..10 {
            fixed.refused(None, at + HOLD * 3 * hold);
        }
        assert_eq!(fixed.now(), 1);
    }
}
