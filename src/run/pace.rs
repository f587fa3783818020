//! How fast it goes, and how long it will: token rates from the engine's pulses, time left from what is still to come.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use crate::engine::Pulse;

/// Rates are taken over this long.
const WINDOW: Duration = Duration::from_secs(10);

/// Longest stretch over which rare answers are counted.
const LONG_WINDOW: Duration = Duration::from_mins(1);

/// One column of a rate's history.
const SAMPLE: Duration = Duration::from_secs(2);
const SAMPLES: usize = 60;

/// Speed is judged by this many latest answers.
pub const RECENT: usize = 200;

/// Fewer answers say nothing about the time left.
const ENOUGH: usize = 8;

/// How much a category's mean cost is drawn to the overall mean, in answers.
const PRIOR: f64 = 3.0;

/// Ten to ninety percent of a normal spread.
const SPREAD: f64 = 1.2816;

/// Rows still to come of each category and subject.
#[derive(Debug, Default)]
pub struct ToCome {
    /// Index into `rows`.
    groups: HashMap<(String, String), usize>,
    rows: Vec<usize>,
}

impl ToCome {
    /// From an exam's categories and subjects with their rows.
    pub fn new(subjects: &[(String, String, usize)]) -> ToCome {
        let mut to_come = ToCome::default();
        for (category, subject, rows) in subjects {
            let next = to_come.rows.len();
            let group = *to_come
                .groups
                .entry((category.clone(), subject.clone()))
                .or_insert(next);
            if group == next {
                to_come.rows.push(0);
            }
            to_come.rows[group] += rows;
        }
        to_come
    }

    /// Takes off an answer; gives its group's number, one beyond all where it belongs to none.
    pub fn land(&mut self, category: &str, subject: &str) -> usize {
        let group = |subject: &str| self.groups.get(&(category.to_owned(), subject.to_owned())).copied();
        let Some(group) = group(subject).or_else(|| group("")) else {
            return self.rows.len();
        };
        self.rows[group] = self.rows[group].saturating_sub(1);
        group
    }

    /// Rows of each group.
    pub fn rows(&self) -> &[usize] {
        &self.rows
    }
}

/// Tokens of the engine, over a sliding window.
#[derive(Debug, Default)]
pub struct Tokens {
    pulses: VecDeque<(Duration, Pulse)>,
    /// In and out.
    history: (Vec<f64>, Vec<f64>),
    sampled: Option<(Duration, Pulse)>,
}

impl Tokens {
    pub fn add(&mut self, pulse: Pulse, now: Duration) {
        self.pulses.push_back((now, pulse));
        while self.pulses.len() > 2 && self.pulses[1].0 + WINDOW <= now {
            self.pulses.pop_front();
        }
        match self.sampled {
            None => self.sampled = Some((now, pulse)),
            Some((at, before)) if now >= at + SAMPLE => {
                let rate = |of: fn(&Pulse) -> u64| {
                    of(&pulse).saturating_sub(of(&before)) as f64 / now.saturating_sub(at).as_secs_f64()
                };
                push_sample(&mut self.history.0, rate(|pulse| pulse.tokens_in));
                push_sample(&mut self.history.1, rate(|pulse| pulse.tokens_out));
                self.sampled = Some((now, pulse));
            }
            Some(_) => {}
        }
    }

    /// The last pulse.
    pub fn last(&self) -> Pulse {
        self.pulses.back().map_or_else(Pulse::default, |(_, pulse)| *pulse)
    }

    /// Tokens a second, in and out; `None` before two pulses.
    pub fn rates(&self, now: Duration) -> Option<(f64, f64)> {
        let (first, last) = (self.pulses.front()?, self.pulses.back()?);
        if last.0 <= first.0 {
            return None;
        }
        let seconds = now.max(last.0).saturating_sub(first.0).as_secs_f64();
        let rate = |of: fn(&Pulse) -> u64| of(&last.1).saturating_sub(of(&first.1)) as f64 / seconds;
        Some((rate(|pulse| pulse.tokens_in), rate(|pulse| pulse.tokens_out)))
    }

    /// Tokens a second, in and out, by columns of two seconds.
    pub fn history(&self) -> (&[f64], &[f64]) {
        (&self.history.0, &self.history.1)
    }
}

fn push_sample(history: &mut Vec<f64>, value: f64) {
    if history.len() == SAMPLES {
        history.remove(0);
    }
    history.push(value);
}

/// What answers of one category or subject cost.
#[derive(Debug, Clone, Copy, Default)]
struct Cost {
    n: f64,
    sum: f64,
    squares: f64,
}

impl Cost {
    fn add(&mut self, cost: f64) {
        self.n += 1.0;
        self.sum += cost;
        self.squares += cost * cost;
    }

    fn mean(&self) -> f64 {
        self.sum / self.n.max(1.0)
    }

    fn variance(&self) -> f64 {
        (self.squares / self.n.max(1.0) - self.mean().powi(2)).max(0.0)
    }
}

/// An answer among the latest ones.
#[derive(Debug, Clone, Copy)]
pub struct Step {
    /// Working time of the exam when it landed, pauses left out.
    pub at: Duration,
    /// Seconds of work; 0 where the engine does not tell.
    pub cost: f64,
    pub is_correct: bool,
    pub chars: usize,
}

/// Time left: the middle of the guess and its likely ends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Left {
    pub low: f64,
    pub seconds: f64,
    pub high: f64,
}

/// Time left of an exam that has `share` of the compute, where others share the machine (the seconds that each would take at
/// the speed of this moment, and its share): the rest goes faster once they are done. The middle counts on that, the far end
/// does not.
pub fn beside(mine: Left, share: f64, mut others: Vec<(f64, f64)>) -> Left {
    others.sort_by(|a, b| a.0.total_cmp(&b.0));
    let whole = share + others.iter().map(|(_, share)| share).sum::<f64>();
    // `at` is the time so far, `rest` what remains by then at the speed of this moment.
    let (mut at, mut rest, mut speed, mut shares) = (0.0, mine.seconds, 1.0, whole);
    for (ends, share) in others {
        let until = (ends - at).max(0.0);
        if until * speed >= rest {
            break;
        }
        rest -= until * speed;
        at += until;
        shares -= share;
        speed = whole / shares;
    }
    let seconds = at + rest / speed;
    Left {
        low: mine.low * seconds / mine.seconds.max(f64::MIN_POSITIVE),
        seconds,
        high: mine.high,
    }
}

/// The pace of one exam.
#[derive(Debug, Default)]
pub struct Pace {
    recent: VecDeque<Step>,
    /// Working time at which the stretch of `recent` begins.
    since: Duration,
    groups: Vec<Cost>,
    all: Cost,
    history: Vec<f64>,
    sampled: (Duration, usize),
    landed: usize,
}

impl Pace {
    /// Counts an answer of a category or subject, by number.
    pub fn add(&mut self, group: usize, step: Step) {
        if self.recent.len() == RECENT
            && let Some(oldest) = self.recent.pop_front()
        {
            self.since = oldest.at;
        }
        self.recent.push_back(step);
        if self.groups.len() <= group {
            self.groups.resize(group + 1, Cost::default());
        }
        self.groups[group].add(step.cost);
        self.all.add(step.cost);
        self.landed += 1;
    }

    /// Keeps the history of answers a second; `now` is working time.
    pub fn tick(&mut self, now: Duration) {
        while now >= self.sampled.0 + SAMPLE {
            let ticks = (now.saturating_sub(self.sampled.0).as_secs_f64() / SAMPLE.as_secs_f64())
                .floor()
                .max(1.0);
            // After a long silence, the rows of all missed samples are spread over them.
            let per_second = (self.landed - self.sampled.1) as f64 / (ticks * SAMPLE.as_secs_f64());
            for _ in 0..(ticks as usize).min(SAMPLES) {
                push_sample(&mut self.history, per_second);
            }
            self.sampled = (self.sampled.0 + SAMPLE.mul_f64(ticks), self.landed);
        }
    }

    /// Answers a second, by columns of two seconds.
    pub fn history(&self) -> &[f64] {
        &self.history
    }

    pub fn recent(&self) -> impl ExactSizeIterator<Item = &Step> {
        self.recent.iter()
    }

    /// Answers a second of late: over ten seconds, or as far back as twenty answers go, a minute at most.
    pub fn rate(&self, now: Duration) -> Option<f64> {
        let last = self.recent.back()?;
        let twentieth = self.recent.iter().rev().nth(19).map_or(self.since, |step| step.at);
        let window = now.saturating_sub(twentieth).clamp(WINDOW, LONG_WINDOW);
        let from = now.saturating_sub(window).max(self.since);
        let seconds = now.max(last.at).saturating_sub(from).as_secs_f64();
        let count = self
            .recent
            .iter()
            .rev()
            .take_while(|step| step.at > from || from.is_zero())
            .count();
        (seconds >= 1.0).then(|| count as f64 / seconds)
    }

    /// Time left, from the answers still to come of each group and what such answers cost, at the speed of the latest
    /// [`RECENT`] answers. `None` before enough is known.
    pub fn left(&self, to_come: &[usize], now: Duration) -> Option<Left> {
        let spent = now.saturating_sub(self.since).as_secs_f64();
        if to_come.iter().all(|rows| *rows == 0) {
            return Some(Left {
                low: 0.0,
                seconds: 0.0,
                high: 0.0,
            });
        }
        if self.recent.len() < ENOUGH || spent < 2.0 {
            return None;
        }
        let is_costed = self.recent.iter().any(|step| step.cost > 0.0);
        let work: f64 = if is_costed {
            self.recent.iter().map(|step| step.cost).sum()
        } else {
            self.recent.len() as f64
        };
        let (mut to_do, mut variance) = (0.0, 0.0);
        for (group, rows) in to_come.iter().enumerate().filter(|(_, rows)| **rows > 0) {
            let rows = *rows as f64;
            if is_costed {
                let cost = self.groups.get(group).copied().unwrap_or_default();
                to_do += rows * (cost.sum + PRIOR * self.all.mean()) / (cost.n + PRIOR);
                variance += self.all.variance().max(cost.variance()) * (rows + rows * rows / (cost.n + PRIOR));
            } else {
                to_do += rows;
            }
        }
        let seconds = to_do * spent / work.max(f64::MIN_POSITIVE);
        let spread = (variance / (to_do * to_do).max(f64::MIN_POSITIVE) + self.unsteadiness())
            .sqrt()
            .clamp(0.03, 0.7);
        let factor = (SPREAD * spread).exp();
        Some(Left {
            low: seconds / factor,
            seconds,
            high: seconds * factor,
        })
    }

    /// Relative variance of the speed, from eight stretches of the latest answers.
    fn unsteadiness(&self) -> f64 {
        let stretch = (self.recent.len() / 8).max(1);
        let mut start = self.since;
        let mut times = Vec::with_capacity(8);
        for end in self.recent.iter().skip(stretch - 1).step_by(stretch) {
            times.push(end.at.saturating_sub(start).as_secs_f64());
            start = end.at;
        }
        let n = times.len().max(1) as f64;
        let mean = times.iter().sum::<f64>() / n;
        let variance = times.iter().map(|time| (time - mean).powi(2)).sum::<f64>() / n;
        if mean > 0.0 { variance / (mean * mean) / n } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(seconds: f64, cost: f64) -> Step {
        Step {
            at: Duration::from_secs_f64(seconds),
            cost,
            is_correct: false,
            chars: 0,
        }
    }

    #[test]
    fn time_left_counts_what_is_still_to_come() {
        // Fifty cheap answers took 50 s; fifty of a kind that costs four times as much remain.
        let mut pace = Pace::default();
        for n in 1..=50 {
            pace.add(
                usize::from(n % 10 == 0),
                step(f64::from(n), if n % 10 == 0 { 4.0 } else { 1.0 }),
            );
        }
        let now = Duration::from_secs(50);
        let cheap = pace.left(&[50, 0], now).unwrap();
        let costly = pace.left(&[0, 50], now).unwrap();
        assert!(costly.seconds > 2.0 * cheap.seconds, "{costly:?} {cheap:?}");
        assert!(costly.low < costly.seconds && costly.seconds < costly.high);
        assert_eq!(pace.left(&[0, 0], now).unwrap().seconds, 0.0);
    }

    #[test]
    fn nothing_is_guessed_from_a_handful() {
        let mut pace = Pace::default();
        for n in 1..ENOUGH {
            pace.add(0, step(n as f64, 1.0));
        }
        assert_eq!(pace.left(&[10], Duration::from_secs(9)), None);
        pace.add(0, step(8.5, 1.0));
        assert!(pace.left(&[10], Duration::from_secs(9)).is_some());
    }

    #[test]
    fn only_the_latest_answers_set_the_speed() {
        let mut pace = Pace::default();
        for n in 0..RECENT {
            pace.add(0, step(n as f64 * 10.0, 0.0));
        }
        let slow_end = RECENT as f64 * 10.0;
        for n in 0..=RECENT {
            pace.add(0, step(slow_end + n as f64 * 0.1, 0.0));
        }
        let now = Duration::from_secs_f64(slow_end + RECENT as f64 * 0.1);
        let left = pace.left(&[100], now).unwrap();
        assert!((left.seconds - 10.0).abs() < 0.5, "{left:?}");
    }

    #[test]
    fn token_rates_forget_what_is_older_than_the_window() {
        let mut tokens = Tokens::default();
        let pulse = |tokens_in, tokens_out| Pulse {
            tokens_in,
            tokens_out,
            ..Pulse::default()
        };
        tokens.add(pulse(0, 0), Duration::ZERO);
        assert_eq!(tokens.rates(Duration::ZERO), None);
        tokens.add(pulse(10_000, 0), Duration::from_secs(10));
        for second in 11..=30 {
            tokens.add(pulse(10_000, (second - 10) * 50), Duration::from_secs(second));
        }
        let (rate_in, rate_out) = tokens.rates(Duration::from_secs(30)).unwrap();
        assert_eq!((rate_in, rate_out.round() as i64), (0.0, 50));
    }

    #[test]
    fn the_rest_goes_faster_once_the_other_exam_is_done() {
        let mine = Left {
            low: 80.0,
            seconds: 100.0,
            high: 130.0,
        };
        assert_eq!(beside(mine, 5.0, vec![]), mine);
        // Ten seconds side by side, then the other half of the machine too: 90 seconds' work in 45.
        let left = beside(mine, 5.0, vec![(10.0, 5.0)]);
        assert_eq!((left.low, left.seconds, left.high), (44.0, 55.0, 130.0));
        assert_eq!(beside(mine, 5.0, vec![(500.0, 5.0)]), mine);
    }

    #[test]
    fn rare_answers_are_counted_over_a_longer_stretch() {
        let mut pace = Pace::default();
        for n in 1..=12 {
            pace.add(0, step(f64::from(n) * 5.0, 1.0));
        }
        let rate = pace.rate(Duration::from_mins(1)).unwrap();
        assert!((rate - 0.2).abs() < 0.02, "{rate}");
    }
}
