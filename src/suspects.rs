//! Questions whose key deserves a look: where models that are right elsewhere agree on another letter.
//!
//! A question's score is the accuracies of the models that agree on the strongest other letter, summed, less those of the
//! models on the key. A model is one vote, its attempts shared out, so that a strong model counts for more and five seeds
//! for no more than one. Tried on 33 MMLU-Pro questions whose key was mended later, over seven public traces: 8 in the first
//! 100 of 12,032 (golden `suspect_real.json`).

use std::collections::HashMap;

use serde::Serialize;

use crate::record::{INVALID, gold_letters};
use crate::stats::{Questions, Slice};
use crate::trace::{Rows, Trace};

/// A question with what the models say of its key.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Suspect {
    pub benchmark: String,
    pub question_id: i64,
    pub category: String,
    pub key: String,
    /// The strongest other pick; null where no model picks another one.
    pub rival: Option<String>,
    pub score: f64,
    /// Models on the rival and on the key; several attempts of one are shared out.
    pub against: f64,
    pub on_key: f64,
    /// Its first row in the first trace that has it, as trace and row.
    #[serde(skip)]
    pub place: (usize, u32),
}

/// The queue, with what it was made from.
#[derive(Debug, Clone, Serialize)]
pub struct Queue {
    /// Models with their accuracy by the keys that were taken.
    pub models: Vec<Model>,
    /// The most suspect first.
    pub questions: Vec<Suspect>,
    /// Questions whose key differs between the traces: the key of most traces was taken, of equally many the first's.
    pub other_keys: Vec<i64>,
    /// Traces of a model of which a newer one was taken.
    pub older: Vec<String>,
}

/// One vote.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Model {
    pub name: String,
    pub questions: usize,
    /// 0-1.
    pub accuracy: f64,
}

/// What one model says of one question: its picks with their shares, which add up to 1 at most.
type Picks = Vec<(String, f64)>;

/// A question as the models answered it.
#[derive(Debug, Default)]
struct Asked {
    key: String,
    category: String,
    place: (usize, u32),
    /// By model.
    picks: Vec<(usize, Picks)>,
    keys: Vec<(String, usize)>,
}

impl Queue {
    /// Of several traces, the newest of each model.
    pub fn of(traces: &[Trace]) -> Queue {
        let (newest, older) = newest(traces);
        let mut asked: HashMap<(String, i64), Asked> = HashMap::new();
        for (model, at) in newest.iter().enumerate() {
            gather(&traces[*at].rows, (model, *at), &mut asked);
        }
        let mut other_keys = Vec::new();
        for ((_, id), question) in &mut asked {
            if question.keys.len() > 1 {
                other_keys.push(*id);
            }
            let most = question.keys.iter().rev().max_by_key(|(_, count)| *count);
            question.key = most.map_or_else(String::new, |(key, _)| key.clone());
        }
        other_keys.sort_unstable();
        let accuracies = accuracies(&asked, newest.len());
        let mut questions: Vec<Suspect> = asked
            .iter()
            .map(|(key, question)| suspect(key, question, &accuracies))
            .collect();
        questions.sort_by(|a, b| {
            let by_score = b.score.total_cmp(&a.score);
            by_score
                .then(a.on_key.total_cmp(&b.on_key))
                .then((a.question_id, &a.benchmark).cmp(&(b.question_id, &b.benchmark)))
        });
        let models = newest.iter().zip(&accuracies).map(|(at, (accuracy, questions))| Model {
            name: traces[*at].name.clone(),
            questions: *questions,
            accuracy: *accuracy,
        });
        Queue {
            models: models.collect(),
            questions,
            other_keys,
            older,
        }
    }
}

/// The places of the newest trace of each model, and the names of the others.
fn newest(traces: &[Trace]) -> (Vec<usize>, Vec<String>) {
    let started = |trace: &Trace| trace.ours().map(|run| run.started.clone()).unwrap_or_default();
    let mut kept: Vec<usize> = Vec::new();
    let mut older = Vec::new();
    for (at, trace) in traces.iter().enumerate() {
        match kept.iter_mut().find(|kept| traces[**kept].name == trace.name) {
            None => kept.push(at),
            Some(before) => {
                let is_newer = started(trace) >= started(&traces[*before]);
                let loser = if is_newer { std::mem::replace(before, at) } else { at };
                let path = traces[loser].path.as_ref().map(|path| format!(" ({})", path.display()));
                older.push(format!("{}{}", traces[loser].name, path.unwrap_or_default()));
            }
        }
    }
    (kept, older)
}

fn gather(rows: &Rows, (model, trace): (usize, usize), asked: &mut HashMap<(String, i64), Asked>) {
    for question in Questions::of(Slice::all(rows)).iter() {
        let Some(first) = question.clone().next() else { continue };
        let attempts = question.len() as f64;
        let mut picks = Picks::new();
        for pick in question
            .map(|row| rows.pick.get(row as usize))
            .filter(|pick| *pick != INVALID)
        {
            match picks.iter_mut().find(|(other, _)| other == pick) {
                Some((_, share)) => *share += 1.0 / attempts,
                None => picks.push((pick.to_owned(), 1.0 / attempts)),
            }
        }
        let at = first as usize;
        let known = asked
            .entry((rows.benchmark.get(at).to_owned(), rows.question_id[at]))
            .or_insert_with(|| Asked {
                category: rows.category.get(at).to_owned(),
                place: (trace, first),
                ..Asked::default()
            });
        let key = rows.answer.get(at);
        match known.keys.iter_mut().find(|(other, _)| other == key) {
            Some((_, count)) => *count += 1,
            None => known.keys.push((key.to_owned(), 1)),
        }
        known.picks.push((model, picks));
    }
}

/// Whether a pick is the key, or one of several.
fn is_key(pick: &str, key: &str) -> bool {
    pick == key || gold_letters(key).is_some_and(|golds| golds.len() > 1 && crate::record::is_right(pick, key))
}

/// Accuracy of each model by the keys that were taken, and its questions.
fn accuracies(asked: &HashMap<(String, i64), Asked>, models: usize) -> Vec<(f64, usize)> {
    let mut sums = vec![(0.0, 0_usize); models];
    for question in asked.values() {
        for (model, picks) in &question.picks {
            let right: f64 = picks
                .iter()
                .filter(|(pick, _)| is_key(pick, &question.key))
                .map(|(_, share)| share)
                .sum();
            sums[*model].0 += right;
            sums[*model].1 += 1;
        }
    }
    sums.into_iter()
        .map(|(right, questions)| (right / questions.max(1) as f64, questions))
        .collect()
}

fn suspect((benchmark, id): &(String, i64), question: &Asked, accuracies: &[(f64, usize)]) -> Suspect {
    let (mut key_weight, mut on_key) = (0.0, 0.0);
    // Weight, models and first appearance of each other pick.
    let mut rivals: Vec<(&str, f64, f64)> = Vec::new();
    for (model, picks) in &question.picks {
        for (pick, share) in picks {
            let weight = share * accuracies[*model].0;
            if is_key(pick, &question.key) {
                key_weight += weight;
                on_key += share;
            } else if let Some(rival) = rivals.iter_mut().find(|(other, ..)| other == pick) {
                rival.1 += weight;
                rival.2 += share;
            } else {
                rivals.push((pick, weight, *share));
            }
        }
    }
    let strongest = rivals.iter().max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(a.0)));
    Suspect {
        benchmark: benchmark.clone(),
        question_id: *id,
        category: question.category.clone(),
        key: question.key.clone(),
        rival: strongest.map(|(pick, ..)| (*pick).to_owned()),
        score: strongest.map_or(0.0, |(_, weight, _)| *weight) - key_weight,
        against: strongest.map_or(0.0, |(.., models)| *models),
        on_key,
        place: question.place,
    }
}
