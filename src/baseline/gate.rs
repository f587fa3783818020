//! Whether a run holds what a baseline promised: one verdict, by one rule, with the chance that it is a false alarm.

use std::collections::{BTreeMap, VecDeque};

use anyhow::Result;
use serde::Serialize;

use super::{Asked, Baseline, asked};
use crate::card::{self, Card, Change, Difference};
use crate::compare::{Paired, Right, Spread};
use crate::stats::{IntervalKind, Slice, holm, jitter};
use crate::text::thousands;

/// The share of a baseline's questions that a run must have.
const ENOUGH: f64 = 0.95;

/// The power at which numbers of questions are told.
const POWER: f64 = 0.8;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// A loss of the threshold is excluded.
    Held,
    /// No such loss is seen, but one cannot be excluded.
    Unsure,
    /// The threshold is gone; chance is not excluded.
    Alarm,
    /// The threshold is gone, and it is no chance.
    Lost,
    NotComparable,
}

impl Verdict {
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Held => "held",
            Verdict::Unsure => "unsure",
            Verdict::Alarm => "alarm",
            Verdict::Lost => "lost",
            Verdict::NotComparable => "not comparable",
        }
    }

    /// The exit code of `gate`.
    pub fn code(self, is_strict: bool) -> u8 {
        match self {
            Verdict::Held => 0,
            Verdict::Unsure if !is_strict => 0,
            Verdict::Unsure | Verdict::Alarm => 4,
            Verdict::Lost => 3,
            Verdict::NotComparable => 5,
        }
    }
}

/// The first that fits, of new less baseline: lost, alarm, unsure, held. A loss of exactly the threshold is reached.
pub fn judge(paired: &Paired, threshold: f64) -> Verdict {
    let (Some(change), Some(interval)) = (paired.difference(), paired.interval()) else {
        return Verdict::NotComparable;
    };
    // Counts are whole: the sum of losses against threshold × questions, within what a float may be off.
    let is_reached = -change * paired.questions() as f64 >= threshold * paired.questions() as f64 - 1e-9;
    match is_reached {
        true if interval.high < 0.0 => Verdict::Lost,
        true => Verdict::Alarm,
        false if interval.low <= -threshold => Verdict::Unsure,
        false => Verdict::Held,
    }
}

/// What a gate asks for beside the verdict.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Rules {
    /// In place of the baseline's.
    pub threshold: Option<f64>,
    /// A category that is lost is an alarm.
    pub categories: bool,
    /// Judge the common questions, however few.
    pub common: bool,
    /// Unknown procedure fields and another slice are refused.
    pub strict: bool,
    /// Another model is refused.
    pub same_model: bool,
}

/// A paired change, new less baseline.
#[derive(Debug, Clone, Serialize)]
pub struct Gated {
    pub name: String,
    pub verdict: Verdict,
    pub questions: usize,
    pub baseline: f64,
    pub new: f64,
    pub change: f64,
    pub ci95: [f64; 2],
    pub p: f64,
    /// Adjusted for the other categories.
    pub p_holm: f64,
    /// The interval lies below, or above, no change.
    pub is_worse: bool,
    pub is_better: bool,
}

/// A run held against a baseline.
#[derive(Debug, Clone, Serialize)]
pub struct Gate {
    pub verdict: Verdict,
    pub baseline: String,
    pub benchmark: String,
    pub threshold: f64,
    /// `None` where nothing is common or it may not be judged.
    pub overall: Option<Gated>,
    pub ci_kind: Option<IntervalKind>,
    /// Attempts of a question, at most, in the baseline and here.
    pub attempts: [usize; 2],
    /// Questions of the baseline, and those of them that are here.
    pub of_questions: usize,
    /// The chance that the threshold is reached by another draw of the seeds alone; null where a sampled baseline has one
    /// attempt a question.
    pub false_alarm: Option<f64>,
    pub categories: Vec<Gated>,
    /// Why it may not be judged, or what must be known with the verdict.
    pub reasons: Vec<String>,
    pub difference: Difference,
}

impl Gate {
    /// Holds the rows with this card against a baseline.
    ///
    /// # Errors
    /// When the baseline's questions cannot be read.
    pub fn of(baseline: &Baseline, slice: Slice, card: &Card, rules: &Rules) -> Result<Gate> {
        let difference = card::differ(&baseline.card(), card);
        let (old, new) = (baseline.asked()?, asked(slice));
        let pairs = paired(&old, &new);
        let threshold = rules.threshold.unwrap_or(baseline.threshold);
        let most = |list: &[Asked]| list.iter().map(|asked| asked.marks.len()).max().unwrap_or(0);
        let mut gate = Gate {
            verdict: Verdict::NotComparable,
            baseline: baseline.name.clone(),
            benchmark: card.text("benchmark"),
            threshold,
            overall: None,
            ci_kind: None,
            attempts: [most(&old), most(&new)],
            of_questions: old.len(),
            false_alarm: None,
            categories: Vec::new(),
            reasons: refused(&difference, (pairs.len(), old.len()), rules),
            difference,
        };
        if gate.reasons.is_empty() {
            gate.judge(&pairs, baseline.within(), rules);
        }
        Ok(gate)
    }

    fn judge(&mut self, pairs: &[(&Asked, &Asked)], within: Option<f64>, rules: &Rules) {
        let mut names: Vec<&str> = Vec::new();
        pairs.iter().for_each(|(old, _)| {
            if !names.contains(&old.category.as_str()) {
                names.push(&old.category);
            }
        });
        let of = |name: &str, is_in: &dyn Fn(&Asked) -> bool| {
            Gated::of(name, pairs.iter().filter(|(old, _)| is_in(old)), self.threshold)
        };
        let mut categories: Vec<Gated> = names
            .iter()
            .filter_map(|name| Some(of(name, &|asked| asked.category == *name)?.0))
            .collect();
        let adjusted = holm(&categories.iter().map(|part| part.p).collect::<Vec<_>>());
        categories
            .iter_mut()
            .zip(adjusted)
            .for_each(|(part, p)| part.p_holm = p);
        let Some((overall, sum)) = of("", &|_| true) else {
            return;
        };
        self.verdict = overall.verdict;
        self.ci_kind = sum.interval().map(|interval| interval.kind);
        let rows = |side: fn(&(&Asked, &Asked)) -> usize| pairs.iter().map(side).sum::<usize>() as f64;
        let both = [rows(|pair| pair.0.marks.len()), rows(|pair| pair.1.marks.len())];
        let alike = (2.0 / (1.0 / both[0] + 1.0 / both[1])).round() as usize;
        self.false_alarm = within.map(|within| jitter::false_alarm(within, alike, self.threshold));
        if pairs.len() < self.of_questions {
            let (common, all) = (thousands(pairs.len()), thousands(self.of_questions));
            self.reasons
                .push(format!("judged on {common} common questions of the baseline's {all}"));
        }
        self.reasons.extend(settles(&overall, &sum));
        let lost: Vec<&str> = categories
            .iter()
            .filter(|part| part.verdict == Verdict::Lost && part.p_holm < 0.05)
            .map(|part| part.name.as_str())
            .collect();
        if rules.categories && !lost.is_empty() {
            self.reasons.push(format!("lost in {}", lost.join(", ")));
            if matches!(self.verdict, Verdict::Held | Verdict::Unsure) {
                self.verdict = Verdict::Alarm;
            }
        }
        (self.overall, self.categories) = (Some(overall), categories);
    }
}

impl Gated {
    fn of<'a>(
        name: &str,
        pairs: impl Iterator<Item = &'a (&'a Asked, &'a Asked)>,
        threshold: f64,
    ) -> Option<(Gated, Paired)> {
        let (mut sum, mut baseline, mut new) = (Paired::default(), 0.0, 0.0);
        let share = |right: Right| f64::from(right.correct) / f64::from(right.attempts.max(1));
        for (old, own) in pairs {
            sum.add(own.right(), old.right());
            baseline += share(old.right());
            new += share(own.right());
        }
        let (n, interval, p) = (sum.questions() as f64, sum.interval()?, sum.p().0);
        let gated = Gated {
            name: name.to_owned(),
            verdict: judge(&sum, threshold),
            questions: sum.questions(),
            baseline: baseline / n,
            new: new / n,
            change: sum.difference()?,
            ci95: [interval.low, interval.high],
            p,
            p_holm: p,
            is_worse: interval.high < 0.0,
            is_better: interval.low > 0.0,
        };
        Some((gated, sum))
    }
}

/// Questions of both, equal ones (MMLU repeats some) in their order.
fn paired<'a>(old: &'a [Asked], new: &'a [Asked]) -> Vec<(&'a Asked, &'a Asked)> {
    let mut there: BTreeMap<&str, VecDeque<&Asked>> = BTreeMap::new();
    new.iter()
        .for_each(|asked| there.entry(&asked.key).or_default().push_back(asked));
    let pair = |asked: &'a Asked| Some((asked, there.get_mut(asked.key.as_str())?.pop_front()?));
    old.iter().filter_map(pair).collect()
}

/// Why the two may not be judged; none where they may.
fn refused(difference: &Difference, (common, of): (usize, usize), rules: &Rules) -> Vec<String> {
    let mut reasons = Vec::new();
    if !difference.moved.is_empty() {
        reasons.push(format!("another procedure: {}", changed(&difference.moved)));
    }
    let is_other_slice = !difference.slice.is_empty();
    let enough = common as f64 >= ENOUGH * of as f64;
    if common == 0 {
        reasons.push("no question is common".to_owned());
    } else if !rules.common && (!enough || (is_other_slice && rules.strict)) {
        let (common, of) = (thousands(common), thousands(of));
        let names = if is_other_slice {
            format!(" ({})", changed(&difference.slice))
        } else {
            String::new()
        };
        reasons.push(format!(
            "another slice{names}: {common} of the baseline's {of} questions are here; --common judges those"
        ));
    }
    let unknown: Vec<&str> = difference
        .unknown
        .iter()
        .take(difference.unknown_procedure)
        .map(|change| change.name)
        .collect();
    if rules.strict && !unknown.is_empty() {
        reasons.push(format!(
            "unknown on a side, which --strict refuses: {}",
            unknown.join(", ")
        ));
    }
    if rules.same_model && !difference.model.is_empty() {
        reasons.push(format!(
            "another model, which --same-model refuses: {}",
            changed(&difference.model)
        ));
    }
    reasons
}

/// `prompt.shots 0 -> 5, rule ...`: long values by their beginnings.
pub(super) fn changed(changes: &[Change]) -> String {
    let value = |value: &serde_json::Value| crate::text::safe::one_line(&card::shown(value), 24, false);
    let change = |change: &Change| format!("{} {} -> {}", change.name, value(&change.a), value(&change.b));
    changes.iter().map(change).collect::<Vec<_>>().join(", ")
}

/// What would settle an alarm.
fn settles(overall: &Gated, sum: &Paired) -> Option<String> {
    if overall.verdict != Verdict::Alarm {
        return None;
    }
    let spread = match sum.discordant() {
        Some((a, b)) => Spread::Discordant((a + b) as f64 / sum.questions() as f64),
        None => Spread::Attempts {
            between: sum.variance()?,
            within: 0.0,
        },
    };
    let needed = thousands(spread.needed(overall.change.abs(), POWER));
    Some(format!(
        "chance is not excluded: {needed} questions show such a change with 80 % power; or more attempts at these"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_follow_the_threshold_and_the_interval() {
        let verdict = |gained, lost, n| judge(&Paired::of_counts(gained, lost, n), 0.02);
        assert_eq!(verdict(0, 0, 245), Verdict::Held);
        assert_eq!(verdict(0, 3, 245), Verdict::Unsure);
        assert_eq!(verdict(1, 6, 245), Verdict::Alarm);
        assert_eq!(verdict(1, 12, 245), Verdict::Lost);
        assert_eq!(verdict(2, 4, 100), Verdict::Alarm, "exactly two points are reached");
        assert_eq!(judge(&Paired::default(), 0.02), Verdict::NotComparable);
        let codes = [
            Verdict::Held,
            Verdict::Unsure,
            Verdict::Lost,
            Verdict::Alarm,
            Verdict::NotComparable,
        ]
        .map(|verdict| (verdict.code(false), verdict.code(true)));
        assert_eq!(codes, [(0, 0), (0, 4), (3, 3), (4, 4), (5, 5)]);
    }

    #[test]
    fn repeated_questions_pair_in_their_order_and_uneven_attempts_count() {
        let asked = |key: &str, marks: &str| Asked {
            key: key.into(),
            category: "law".into(),
            marks: marks.into(),
        };
        let old = [asked("a", "1"), asked("a", "0"), asked("b", "1"), asked("c", "1")];
        let new = [asked("b", "110-"), asked("a", "1"), asked("a", "1")];
        let pairs = paired(&old, &new);
        assert_eq!(
            pairs.iter().map(|pair| pair.1.marks.as_str()).collect::<Vec<_>>(),
            ["1", "1", "110-"]
        );
        let (gated, sum) = Gated::of("", pairs.iter(), 0.02).unwrap();
        assert!(
            sum.is_clustered() && (gated.change - (1.0 - 0.5) / 3.0).abs() < 1e-15,
            "{gated:?}"
        );
    }
}
