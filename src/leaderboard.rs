//! Runs of one measurement in their order. A place is an interval: who cannot be told apart shares places, and the order
//! within a tie says nothing.

use std::collections::HashMap;

use serde::Serialize;

use crate::catalogue::Listed;
use crate::compare::{self, Paired, Right};
use crate::stats::holm;
use crate::trace::Rows;

/// Two runs differ where the chance of it, adjusted for all pairs, is below this.
const SURE: f64 = 0.05;

/// The places that a run can have, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Place {
    pub first: usize,
    pub last: usize,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.first == self.last {
            return write!(f, "{}", self.first);
        }
        write!(f, "{}-{}", self.first, self.last)
    }
}

/// Places of runs by all pairs of them, tested as [`Paired`] does (exact McNemar, or by questions where there are attempts)
/// and adjusted by Holm's method: from 1 and the runs that are better, to all but the runs that are worse.
pub fn places(runs: &[&Rows]) -> Vec<Place> {
    let pairs: Vec<(usize, usize)> = (0..runs.len())
        .flat_map(|a| (a + 1..runs.len()).map(move |b| (a, b)))
        .collect();
    let paired: Vec<Paired> = pairs.iter().map(|(a, b)| paired(runs[*a], runs[*b])).collect();
    let adjusted = holm(&paired.iter().map(|paired| paired.p().0).collect::<Vec<_>>());
    let mut places = vec![
        Place {
            first: 1,
            last: runs.len()
        };
        runs.len()
    ];
    for (((a, b), paired), p) in pairs.into_iter().zip(&paired).zip(adjusted) {
        let difference = paired.difference().unwrap_or(0.0);
        if p >= SURE || difference == 0.0 {
            continue;
        }
        let (better, worse) = if difference > 0.0 { (a, b) } else { (b, a) };
        places[worse].first += 1;
        places[better].last -= 1;
    }
    places
}

/// The questions that both answered.
fn paired(a: &Rows, b: &Rows) -> Paired {
    let mut questions: Vec<[Right; 2]> = Vec::new();
    let mut numbers = HashMap::new();
    for (x, y) in compare::pair(a, b).pairs {
        let key = a.question_key(x as usize);
        let at = *numbers.entry(key).or_insert_with(|| {
            questions.push([Right::default(); 2]);
            questions.len() - 1
        });
        for (side, is_right) in [(0, a.correct[x as usize]), (1, b.correct[y as usize])] {
            questions[at][side].attempts += 1;
            questions[at][side].correct += u32::from(is_right);
        }
    }
    let mut paired = Paired::default();
    questions.into_iter().for_each(|[a, b]| paired.add(a, b));
    paired
}

/// Entries that can be ranked against each other: one measurement.
#[derive(Debug, Clone)]
pub struct Group {
    /// The most accurate first.
    pub entries: Vec<Listed>,
}

/// Complete entries by measurement, the groups with most of them first. Of each model the newest run alone, unless `all` are
/// wanted.
pub fn groups(entries: Vec<Listed>, all: bool) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for entry in entries
        .into_iter()
        .filter(|entry| entry.is_complete && !entry.is_gone() && entry.slice.is_some())
    {
        let same = |group: &&mut Group| group.entries[0].measurement() == entry.measurement();
        match groups.iter_mut().find(same) {
            Some(group) => group.entries.push(entry),
            None => groups.push(Group { entries: vec![entry] }),
        }
    }
    for group in &mut groups {
        // They come the newest first.
        let mut seen = std::collections::HashSet::new();
        group
            .entries
            .retain(|entry| all || seen.insert((entry.model.clone(), entry.model_hash.clone())));
        group
            .entries
            .sort_by(|a, b| b.accuracy.unwrap_or(-1.0).total_cmp(&a.accuracy.unwrap_or(-1.0)));
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.entries.len()));
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Record;

    fn rows(correct: &str) -> Rows {
        let mut rows = Rows::default();
        for (id, mark) in correct.chars().enumerate() {
            rows.push_record(&Record {
                question_id: id as i64,
                answer: "A".to_owned(),
                pick: if mark == '1' { "A" } else { "B" }.to_owned(),
                correct: mark == '1',
                ..Record::default()
            });
        }
        rows
    }

    #[test]
    fn places_are_those_of_the_reference() {
        let Some(path) = crate::shared::shared_path("golden/stats/leaderboard.json") else {
            return;
        };
        let golden: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let runs: Vec<Rows> = golden["correct"]
            .as_array()
            .unwrap()
            .iter()
            .map(|run| rows(run.as_str().unwrap()))
            .collect();
        let found: Vec<[usize; 2]> = places(&runs.iter().collect::<Vec<_>>())
            .into_iter()
            .map(|place| [place.first, place.last])
            .collect();
        assert_eq!(serde_json::json!(found), golden["places"]);
    }

    #[test]
    fn runs_that_cannot_be_told_apart_share_their_places() {
        let (same, worse) = (rows(&"1".repeat(50)), rows(&"0".repeat(50)));
        let places = places(&[&same, &worse, &same])
            .into_iter()
            .map(|place| place.to_string());
        assert_eq!(places.collect::<Vec<_>>(), ["1-2", "3", "1-2"]);
    }
}
