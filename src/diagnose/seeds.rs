//! Whether attempts at a question are really different: equal texts mean that the seed never reached the sampler.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::stats::{Questions, Slice};
use crate::trace::Rows;

/// Two attempts, and on how many questions their texts are equal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Twins {
    pub attempts: (u16, u16),
    pub same: usize,
    /// Questions that both attempts answered with some text.
    pub of: usize,
}

impl Twins {
    /// Equal on more than half of the questions, and on two at least.
    pub fn is_suspicious(&self) -> bool {
        self.same >= 2 && self.same * 2 > self.of
    }
}

/// A number that equal texts share, for [`identical_attempts`].
pub fn text_hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// Every pair of attempts, compared question by question on the hashes of the completions (one a row).
pub fn identical_attempts(rows: &Rows, hashes: &[u64]) -> Vec<Twins> {
    let mut pairs: BTreeMap<(u16, u16), (usize, usize)> = BTreeMap::new();
    for question in Questions::of(Slice::all(rows)).iter() {
        let answers = question.map(|row| row as usize).filter(|row| rows.chars[*row] > 0);
        let answers: Vec<(u16, u64)> = answers.map(|row| (rows.attempt[row], hashes[row])).collect();
        for (index, (attempt, hash)) in answers.iter().enumerate() {
            for (other, other_hash) in answers[index + 1..].iter().filter(|(other, _)| other != attempt) {
                let (same, of) = pairs.entry((*attempt, *other)).or_default();
                *same += usize::from(hash == other_hash);
                *of += 1;
            }
        }
    }
    let twins = pairs.into_iter();
    twins
        .map(|(attempts, (same, of))| Twins { attempts, same, of })
        .collect()
}

/// What a reader should know of suspicious pairs: one line for all attempts, where all are alike, else one a pair.
pub fn describe_twins(twins: &[Twins]) -> Vec<String> {
    if !twins.is_empty() && twins.iter().all(|pair| pair.same == pair.of) {
        let attempts = 1 + twins
            .iter()
            .filter(|pair| pair.attempts.0 == twins[0].attempts.0)
            .count();
        return vec![format!(
            "all {attempts} attempts gave the same text on every question: sampling is off"
        )];
    }
    let suspicious = twins.iter().filter(|pair| pair.is_suspicious());
    suspicious
        .map(|Twins { attempts: (a, b), same, of }| {
            format!("attempts {a} and {b} gave the same text on {same} of {of} questions: did the seed reach the sampler?")
        })
        .collect()
}
