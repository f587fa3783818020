//! The acceptance list, judged where the rows and cards can judge it.

use anyhow::{Result, bail};

use super::Source;
use crate::baseline::Verdict;
use crate::card::{self, NONE, Part, fields};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Met,
    NotMet,
    /// Nothing here can judge it.
    Open,
}

impl State {
    pub fn word(self) -> &'static str {
        match self {
            State::Met => "met",
            State::NotMet => "not met",
            State::Open => "open",
        }
    }

    /// Told by a mark as well as by its word.
    pub fn mark(self) -> &'static str {
        match self {
            State::Met => "✓",
            State::NotMet => "✗",
            State::Open => "○",
        }
    }
}

/// An item of the list.
#[derive(Debug, Clone)]
pub struct Accepted {
    pub key: &'static str,
    pub what: &'static str,
    pub state: State,
    pub why: String,
    /// What a person said to it; it changes no judgement.
    pub by_hand: Option<Confirmation>,
}

/// What `--confirm ITEM=TEXT` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Confirmation {
    pub item: &'static str,
    pub text: String,
    /// RFC 3339.
    pub at: String,
}

/// Items by the name of `--confirm`.
pub const CONFIRMED: [(&str, &str); 8] = [
    ("ticket", "a vendor's value is an entrance ticket only"),
    ("threshold", "the own set passed the threshold that was set before"),
    ("fixed", "harness, grader and split are fixed and versioned"),
    ("whole", "fingerprint and environment are whole"),
    ("jitter", "several runs, and no decision on one jitter"),
    ("entered", "entered, and a regression gate is at work"),
    ("same", "compared rows share the procedure"),
    ("lawful", "access is lawful and within the terms"),
];

impl Confirmation {
    /// # Errors
    /// For an item that is not known, with those that are.
    pub fn parse(words: &str) -> Result<Confirmation> {
        let known = CONFIRMED.map(|(key, _)| key).join(", ");
        let Some((item, text)) = words.split_once('=') else {
            bail!("`{words}` is not ITEM=TEXT; items are {known}");
        };
        let Some((item, _)) = CONFIRMED.into_iter().find(|(key, _)| *key == item) else {
            bail!("no item `{item}`; known are {known}");
        };
        let at = chrono::Local::now().to_rfc3339_opts(chrono::SecondsFormat::Secs, false);
        Ok(Confirmation {
            item,
            text: text.to_owned(),
            at,
        })
    }
}

/// All items in their order.
pub(super) fn judge(source: &Source) -> Vec<Accepted> {
    let judged = |key: &str| match key {
        "ticket" => (
            State::Met,
            "every verdict here comes from rows; none from a published value".to_owned(),
        ),
        "threshold" => threshold(source),
        "fixed" => fixed(source),
        "whole" => whole(source),
        "jitter" => jitter(source),
        "entered" => entered(source),
        "same" => same(source),
        _ => (
            State::Open,
            "no file can tell; --confirm lawful=\"...\" writes who says so".to_owned(),
        ),
    };
    let item = |(key, what): (&'static str, &'static str)| {
        let (mut state, why) = judged(key);
        let by_hand = source.confirmed.iter().find(|confirmed| confirmed.item == key).cloned();
        if by_hand.is_some() && state == State::Open {
            state = State::Met;
        }
        Accepted {
            key,
            what,
            state,
            why,
            by_hand,
        }
    };
    CONFIRMED.into_iter().map(item).collect()
}

fn threshold(source: &Source) -> (State, String) {
    let Some((baseline, gates)) = &source.baseline else {
        return (
            State::Open,
            "no baseline is given; --baseline NAME judges by it".to_owned(),
        );
    };
    let started: Vec<String> = source.runs.iter().map(|run| run.card.text("run.started")).collect();
    let date = |text: &str| chrono::DateTime::parse_from_rfc3339(text).ok();
    let frozen = date(&baseline.frozen_at);
    let is_before = started.iter().all(|started| {
        date(started)
            .zip(frozen)
            .is_some_and(|(started, frozen)| frozen < started)
    });
    let words: Vec<&str> = gates.iter().map(|gate| gate.verdict.word()).collect();
    let held = !gates.is_empty() && gates.iter().all(|gate| gate.verdict == Verdict::Held);
    let when = if is_before {
        "set before the run"
    } else {
        "not shown to be set before the run"
    };
    let why = format!(
        "gate: {}; threshold {} points, {when}",
        words.join(", "),
        crate::table::points(baseline.threshold)
    );
    (if held && is_before { State::Met } else { State::NotMet }, why)
}

fn fixed(source: &Source) -> (State, String) {
    let unknown: Vec<&str> = source.runs.iter().flat_map(|run| run.card.unknown()).collect();
    if !unknown.is_empty() {
        return (
            State::NotMet,
            format!("not known of the procedure: {}", listed(unknown)),
        );
    }
    match &source.baseline {
        Some((_, gates)) if gates.iter().any(|gate| gate.verdict == Verdict::NotComparable) => {
            (State::NotMet, "procedure or slice is not the baseline's".to_owned())
        }
        Some(_) => (
            State::Met,
            "every procedure field is known, and the baseline's".to_owned(),
        ),
        None => (
            State::Open,
            "every procedure field is known; no baseline fixes them".to_owned(),
        ),
    }
}

/// A name once, in order.
fn listed(mut names: Vec<&str>) -> String {
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}

fn whole(source: &Source) -> (State, String) {
    let slice_unknown = source.runs.iter().any(|run| run.card.hash(Part::Slice).is_none());
    // The first six of the environment: seeds, random stream, engine, number format, kernel, rounding.
    let first: Vec<&str> = fields::ALL
        .iter()
        .filter(|field| field.is_compared(Part::Environment))
        .take(6)
        .map(|field| field.name)
        .collect();
    let unknown = source
        .runs
        .iter()
        .flat_map(|run| first.iter().filter(|name| run.card.get(name).is_null()).copied());
    let mut unknown: Vec<&str> = unknown.collect();
    if slice_unknown {
        unknown.push("slice");
    }
    match unknown.is_empty() {
        true => (
            State::Met,
            "the slice is recomputed from the rows; the environment's first fields are known".to_owned(),
        ),
        false => (State::NotMet, format!("not known: {}", listed(unknown))),
    }
}

fn jitter(source: &Source) -> (State, String) {
    let attempts: Vec<usize> = source.runs.iter().map(|run| run.run.seeds.len()).collect();
    let is_exact = |run: &super::Scored| run.card.text("seeds") == NONE && !run.card.get("engine.rounding").is_null();
    let enough = source
        .runs
        .iter()
        .zip(&attempts)
        .all(|(run, attempts)| *attempts >= 3 || is_exact(run));
    let words: Vec<String> = source
        .runs
        .iter()
        .zip(&attempts)
        .map(|(run, attempts)| {
            if is_exact(run) {
                "no sampling, rounding known".to_owned()
            } else {
                format!("{attempts} attempts")
            }
        })
        .collect();
    (
        if enough { State::Met } else { State::NotMet },
        format!("{} (three, or no sampling and rounding known)", words.join(", ")),
    )
}

fn entered(source: &Source) -> (State, String) {
    let has_gate = source
        .baseline
        .as_ref()
        .is_some_and(|(_, gates)| gates.iter().any(|gate| gate.overall.is_some()));
    match (source.is_entered, has_gate) {
        (Some(true), true) => (
            State::Met,
            "in the catalogue, with a baseline of this measurement".to_owned(),
        ),
        (None, _) => (State::Open, "no catalogue is read".to_owned()),
        (Some(entered), _) => {
            let catalogue = if entered {
                "in the catalogue"
            } else {
                "not in the catalogue (markbook add)"
            };
            let gate = if has_gate {
                "a baseline is given"
            } else {
                "no baseline of this measurement (markbook baseline freeze)"
            };
            (State::NotMet, format!("{catalogue}; {gate}"))
        }
    }
}

fn same(source: &Source) -> (State, String) {
    let Some((first, others)) = source.runs.split_first() else {
        return (State::Open, "nothing is compared".to_owned());
    };
    let mut cards: Vec<_> = others.iter().map(|run| (run.title(), run.card.clone())).collect();
    cards.extend(
        source
            .baseline
            .iter()
            .map(|(baseline, _)| (format!("@{}", baseline.name), baseline.card())),
    );
    let same_exam = |card: &card::Card| card.text("benchmark") == first.card.text("benchmark");
    cards.retain(|(_, card)| same_exam(card));
    if cards.is_empty() {
        return (State::Open, "nothing stands beside this run".to_owned());
    }
    let broken: Vec<String> = cards
        .into_iter()
        .filter(|(_, card)| {
            let difference = card::differ(&first.card, card);
            !difference.moved.is_empty() || first.card.hash(Part::Slice) != card.hash(Part::Slice)
        })
        .map(|(name, _)| name)
        .collect();
    match broken.is_empty() {
        true => (State::Met, "procedure and slice are equal over all rows".to_owned()),
        false => (
            State::NotMet,
            format!("another procedure or slice: {}", broken.join(", ")),
        ),
    }
}
