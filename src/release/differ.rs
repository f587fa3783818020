//! Which parts of a question differ between two releases.

use std::collections::HashMap;

use anyhow::Result;

use super::hashes;
use crate::compare::Pairing;
use crate::record::Record;
use crate::trace::{Field, Trace};

pub(super) const QUESTION: u8 = 1;
pub(super) const OPTIONS: u8 = 2;
pub(super) const GOLD: u8 = 4;
pub(super) const PROMPT: u8 = 8;
pub(super) const PROMPT_UNKNOWN: u8 = 16;

/// Pairs of records that are read at a time.
const TOGETHER: usize = 512;

/// What of question and options differs on rows with these prompts and hashes.
type Kind = (i64, [u64; 4]);

/// The facts of each pair, as bits. Rows whose prompts are equal, and whose question's hashes do not say otherwise, ask
/// the same; of the others the texts are compared, once for all attempts that share them.
pub(super) fn facts(old: &Trace, new: &Trace, pairing: &Pairing) -> Result<Vec<u8>> {
    let prompts = [hashes(old, Field::Prompt)?, hashes(new, Field::Prompt)?];
    let kind = |(x, y): (usize, usize)| -> Kind {
        let docs = [old.rows.doc[x], new.rows.doc[y]];
        (
            old.rows.question_id[x],
            [prompts[0][x], prompts[1][y], docs[0], docs[1]],
        )
    };
    let is_same = |[a, b, doc, other]: [u64; 4]| a != 0 && a == b && (doc == other || doc == 0 || other == 0);
    let mut unsure: HashMap<Kind, (usize, usize)> = HashMap::new();
    let pairs = || pairing.pairs.iter().map(|(x, y)| (*x as usize, *y as usize));
    for pair in pairs() {
        let kind = kind(pair);
        if !is_same(kind.1) {
            unsure.entry(kind).or_insert(pair);
        }
    }
    let differing = compare(old, new, &unsure)?;
    let facts = pairs().map(|(x, y)| {
        let kind = kind((x, y));
        let [a, b, ..] = kind.1;
        let prompt = match (a, b) {
            (0, _) | (_, 0) => PROMPT_UNKNOWN,
            (a, b) if a != b => PROMPT,
            _ => 0,
        };
        let gold = if old.rows.answer.get(x) == new.rows.answer.get(y) {
            0
        } else {
            GOLD
        };
        prompt | gold | differing.get(&kind).copied().unwrap_or(0)
    });
    Ok(facts.collect())
}

fn compare(old: &Trace, new: &Trace, unsure: &HashMap<Kind, (usize, usize)>) -> Result<HashMap<Kind, u8>> {
    let mut found = HashMap::with_capacity(unsure.len());
    let mut list: Vec<(&Kind, &(usize, usize))> = unsure.iter().collect();
    list.sort_unstable_by_key(|(_, pair)| **pair);
    for part in list.chunks(TOGETHER) {
        let side = |trace: &Trace, row: fn(&(usize, usize)) -> usize| {
            let rows: Vec<usize> = part.iter().map(|(_, pair)| row(pair)).collect();
            trace.texts.records(&rows)
        };
        let records = side(old, |pair| pair.0)?.into_iter().zip(side(new, |pair| pair.1)?);
        for ((kind, _), (a, b)) in part.iter().zip(records) {
            found.insert(
                **kind,
                parts(&a, &b, kind.1[2] != kind.1[3] && kind.1[2] != 0 && kind.1[3] != 0),
            );
        }
    }
    Ok(found)
}

/// The parts that differ by their texts. A hash that differs where no text can tell why counts as the question's.
fn parts(a: &Record, b: &Record, has_other_hash: bool) -> u8 {
    let told = |a: bool, b: bool| !a && !b;
    let mut bits = 0;
    if told(a.question.is_empty(), b.question.is_empty()) && a.question.trim() != b.question.trim() {
        bits |= QUESTION;
    }
    if told(a.options.is_empty(), b.options.is_empty()) && a.options != b.options {
        bits |= OPTIONS;
    }
    let is_told = told(a.question.is_empty(), b.question.is_empty());
    if has_other_hash && !is_told {
        QUESTION | bits
    } else {
        bits
    }
}
