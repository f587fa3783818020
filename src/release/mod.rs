//! Two releases of one trace set: what changed between them, row by row, and what such changes are worth.
//!
//! Rows pair on benchmark, question id and attempt, not on hashes: a question that was mended under its number is one of
//! the things to be told.

mod chance;
mod differ;

use std::ops::ControlFlow;

use anyhow::Result;
use serde::Serialize;

use crate::compare::{Pairing, pair_by_id};
use crate::diagnose::{Twins, identical_attempts, text_hash};
use crate::stats::{Questions, Slice, Tally};
use crate::text::{count, thousands};
use crate::trace::{Field, Rows, Trace};

pub use chance::{Chance, Implied, implied};

/// What changed from one release to the next.
#[derive(Debug, Clone, Serialize)]
pub struct Release {
    pub old: Side,
    pub new: Side,
    pub overall: Changes,
    /// By the category of the old release's row, of the new one's where the old has none; in order of first appearance.
    pub categories: Vec<Changes>,
    /// Changed scores beside those of two independent draws; null where a side has fewer than two different attempts.
    pub chance: Option<Chance>,
    /// What the changed scores imply, were both releases independent draws; null where nothing is paired.
    pub implied: Option<Implied>,
    /// What a release note needs to say, in sentences.
    pub notes: Vec<String>,
}

/// One release by itself.
#[derive(Debug, Clone, Serialize)]
pub struct Side {
    pub name: String,
    pub rows: usize,
    pub questions: usize,
    /// Most rows of a question.
    pub attempts: usize,
    pub correct: usize,
    pub invalid: usize,
    /// 0-1; null without rows.
    pub accuracy: Option<f64>,
    /// Questions by how many of their attempts are right: 0, 1, … `attempts`.
    pub closed: Vec<usize>,
    /// Each pair of attempts with the questions on which both have a text, and the same one.
    pub identical: Vec<Identical>,
    /// Attempts of which no two are equal on every question.
    pub distinct_attempts: usize,
    /// Mean over questions of K/(K-1) p(1-p) over the distinct attempts; null for fewer than two.
    pub within: Option<f64>,
}

/// Two attempts, by their numbers, and on how many questions their texts are equal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Identical {
    pub attempts: [u16; 2],
    pub same: usize,
    pub of: usize,
    /// Equal on every question: one of the two is no draw of its own.
    pub is_fault: bool,
}

/// Questions, and their rows, of which something changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Changed {
    pub questions: usize,
    pub rows: usize,
}

/// Counts of changes, overall or of a category. Flags are of paired rows; totals are of all rows of a release.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Changes {
    /// Of the category; empty for all.
    pub name: String,
    pub paired: usize,
    pub only_old: usize,
    pub only_new: usize,
    pub question_changed: Changed,
    pub options_changed: Changed,
    pub gold_changed: Changed,
    pub prompt_changed: Changed,
    /// Pairs of which not both have a prompt.
    pub prompt_unknown: usize,
    pub outputs_changed: usize,
    pub outputs_equal: usize,
    pub picks_changed: usize,
    pub scores_changed: usize,
    pub right_to_wrong: usize,
    pub wrong_to_right: usize,
    pub correct_old: usize,
    pub correct_new: usize,
    pub invalid_old: usize,
    pub invalid_new: usize,
    pub rows_old: usize,
    pub rows_new: usize,
}

/// A release with a number for each of its outputs, 0 where there is none.
struct Read<'a> {
    trace: &'a Trace,
    outputs: Vec<u64>,
    /// Attempts that repeat an earlier one on every question.
    copies: Vec<u16>,
    identical: Vec<Twins>,
}

impl<'a> Read<'a> {
    fn of(trace: &'a Trace) -> Result<Read<'a>> {
        let outputs = hashes(trace, Field::Completion)?;
        let identical = identical_attempts(&trace.rows, &outputs);
        let mut copies: Vec<u16> = identical
            .iter()
            .filter(|pair| is_fault(pair))
            .map(|pair| pair.attempts.1)
            .collect();
        copies.sort_unstable();
        copies.dedup();
        Ok(Read {
            trace,
            outputs,
            copies,
            identical,
        })
    }

    fn side(&self) -> Side {
        let rows = &self.trace.rows;
        let questions = Questions::of(Slice::all(rows));
        let attempts = questions.most_attempts();
        let mut closed = vec![0; attempts + 1];
        let mut tally = Tally::default();
        for question in questions.iter() {
            let own = question.map(|row| row as usize);
            let before = tally.correct;
            own.for_each(|row| tally += Tally::one(rows.correct[row], rows.is_invalid(row)));
            closed[tally.correct - before] += 1;
        }
        let identical = self.identical.iter().map(|pair| Identical {
            attempts: [pair.attempts.0, pair.attempts.1],
            same: pair.same,
            of: pair.of,
            is_fault: is_fault(pair),
        });
        Side {
            name: self.trace.name.clone(),
            rows: tally.n,
            questions: questions.len(),
            attempts,
            correct: tally.correct,
            invalid: tally.invalid,
            accuracy: tally.accuracy(),
            closed,
            identical: identical.collect(),
            distinct_attempts: attempts.saturating_sub(self.copies.len()),
            within: chance::within(rows, &questions, &self.copies),
        }
    }
}

fn is_fault(pair: &Twins) -> bool {
    pair.of > 1 && pair.same == pair.of
}

/// A number that equal texts share, for each row; 0 where the file has none.
fn hashes(trace: &Trace, field: Field) -> Result<Vec<u64>> {
    let mut found = vec![0; trace.rows.len()];
    let number = |_: usize, text: &str| if text.is_empty() { 0 } else { text_hash(text) };
    trace.texts.map(field, &|_| true, &number, &mut |row, hash| {
        found[row] = hash;
        ControlFlow::Continue(())
    })?;
    Ok(found)
}

impl Release {
    /// Reads prompts and outputs of both once.
    ///
    /// # Errors
    /// When a text cannot be read.
    pub fn of(old: &Trace, new: &Trace) -> Result<Release> {
        let pairing = pair_by_id(&old.rows, &new.rows);
        let sides = [Read::of(old)?, Read::of(new)?];
        let facts = differ::facts(old, new, &pairing)?;
        let [overall, ..] = &changes(&sides, &pairing, &facts, false)[..] else {
            anyhow::bail!("neither release has rows");
        };
        let categories = changes(&sides, &pairing, &facts, true);
        let copies = [&sides[0].copies[..], &sides[1].copies[..]];
        let (first, second) = (sides[0].side(), sides[1].side());
        let mut release = Release {
            chance: Chance::of(&old.rows, &new.rows, &pairing, copies),
            implied: implied(second.questions, second.rows, overall.scores_changed, second.correct),
            overall: overall.clone(),
            categories,
            old: first,
            new: second,
            notes: Vec::new(),
        };
        release.notes = release.sense();
        Ok(release)
    }

    /// What the figures mean, in sentences.
    fn sense(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for (which, side) in [("old", &self.old), ("new", &self.new)] {
            let faults = side.identical.iter().filter(|pair| pair.is_fault);
            notes.extend(faults.map(|pair| {
                let [a, b] = pair.attempts;
                let (same, of) = (thousands(pair.same), thousands(pair.of));
                format!(
                    "{which}: attempts {a} and {b} are equal on {same} of {of} questions: {} different attempts, not {}",
                    side.distinct_attempts, side.attempts
                )
            }));
            if side.attempts > 1 && side.distinct_attempts == side.attempts && !side.identical.is_empty() {
                notes.push(format!("{which}: no two attempts are equal on every question"));
            }
        }
        notes.extend(self.chance.as_ref().map(Chance::sense));
        let all = &self.overall;
        if all.outputs_changed > 0 {
            notes.push(format!(
                "do not combine the two releases: {} of {} are other answers under the same question and attempt",
                thousands(all.outputs_changed),
                count(all.paired, "paired row")
            ));
        }
        notes
    }
}

/// Changes overall (one entry), or by category.
fn changes(sides: &[Read; 2], pairing: &Pairing, facts: &[u8], by_category: bool) -> Vec<Changes> {
    let (old, new) = (&sides[0].trace.rows, &sides[1].trace.rows);
    let mut groups: Vec<Changes> = Vec::new();
    let of_old = places(old, by_category, &mut groups);
    let of_new = places(new, by_category, &mut groups);
    for (row, place) in of_old.iter().enumerate() {
        groups[*place].rows_old += 1;
        groups[*place].correct_old += usize::from(old.correct[row]);
        groups[*place].invalid_old += usize::from(old.is_invalid(row));
    }
    for (row, place) in of_new.iter().enumerate() {
        groups[*place].rows_new += 1;
        groups[*place].correct_new += usize::from(new.correct[row]);
        groups[*place].invalid_new += usize::from(new.is_invalid(row));
    }
    pairing
        .only_a
        .iter()
        .for_each(|row| groups[of_old[*row as usize]].only_old += 1);
    pairing
        .only_b
        .iter()
        .for_each(|row| groups[of_new[*row as usize]].only_new += 1);
    let questions = Questions::of(Slice::all(old));
    // What changed on some row of a question, and the group that it is counted in.
    let mut seen = vec![(0_u8, 0_usize); questions.len()];
    for ((x, y), facts) in pairing.pairs.iter().zip(facts) {
        let (x, y) = (*x as usize, *y as usize);
        groups[of_old[x]].add(sides, (x, y), *facts);
        if let Some(question) = questions.number(x) {
            let seen = &mut seen[question as usize];
            *seen = (seen.0 | facts, of_old[x]);
        }
    }
    for (facts, place) in seen {
        groups[place..]
            .iter_mut()
            .take(1)
            .for_each(|group| group.count_question(facts));
    }
    groups
}

/// The group of each row, made where it is new.
fn places(rows: &Rows, by_category: bool, groups: &mut Vec<Changes>) -> Vec<usize> {
    let names: Vec<&str> = rows
        .category
        .list()
        .iter()
        .map(|name| if by_category { &**name } else { "" })
        .collect();
    let mut place = |name: &str| {
        groups.iter().position(|group| group.name == name).unwrap_or_else(|| {
            groups.push(Changes {
                name: name.to_owned(),
                ..Changes::default()
            });
            groups.len() - 1
        })
    };
    let places: Vec<usize> = names.into_iter().map(&mut place).collect();
    rows.category.codes().map(|code| places[code as usize]).collect()
}

impl Changes {
    fn kinds(&mut self) -> [(u8, &mut Changed); 4] {
        [
            (differ::QUESTION, &mut self.question_changed),
            (differ::OPTIONS, &mut self.options_changed),
            (differ::GOLD, &mut self.gold_changed),
            (differ::PROMPT, &mut self.prompt_changed),
        ]
    }

    fn count_question(&mut self, facts: u8) {
        let kinds = self.kinds().into_iter().filter(|(bit, _)| facts & bit != 0);
        kinds.for_each(|(_, changed)| changed.questions += 1);
    }

    fn add(&mut self, sides: &[Read; 2], (x, y): (usize, usize), facts: u8) {
        let (old, new) = (&sides[0].trace.rows, &sides[1].trace.rows);
        self.paired += 1;
        let kinds = self.kinds().into_iter().filter(|(bit, _)| facts & bit != 0);
        kinds.for_each(|(_, changed)| changed.rows += 1);
        self.prompt_unknown += usize::from(facts & differ::PROMPT_UNKNOWN != 0);
        if !(old.scored[x] && new.scored[y]) {
            let is_equal = sides[0].outputs[x] == sides[1].outputs[y];
            self.outputs_equal += usize::from(is_equal);
            self.outputs_changed += usize::from(!is_equal);
        }
        self.picks_changed += usize::from(old.pick.get(x) != new.pick.get(y));
        let (was, is) = (old.correct[x], new.correct[y]);
        self.scores_changed += usize::from(was != is);
        self.right_to_wrong += usize::from(was && !is);
        self.wrong_to_right += usize::from(!was && is);
    }
}
