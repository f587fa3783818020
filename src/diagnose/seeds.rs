//! Whether attempts at a question are really different: equal texts mean that the seed never reached the sampler.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

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
    let mut questions: HashMap<(u32, i64), Vec<(u16, u64)>> = HashMap::new();
    for row in (0..rows.len()).filter(|row| rows.chars[*row] > 0) {
        questions
            .entry(rows.question_key(row))
            .or_default()
            .push((rows.attempt[row], hashes[row]));
    }
    let mut pairs: HashMap<(u16, u16), (usize, usize)> = HashMap::new();
    for answers in questions.values() {
        for (index, (attempt, hash)) in answers.iter().enumerate() {
            for (other, other_hash) in answers[index + 1..].iter().filter(|(other, _)| other != attempt) {
                let (same, of) = pairs.entry((*attempt.min(other), *attempt.max(other))).or_default();
                *same += usize::from(hash == other_hash);
                *of += 1;
            }
        }
    }
    let mut twins: Vec<Twins> = pairs
        .into_iter()
        .map(|(attempts, (same, of))| Twins { attempts, same, of })
        .collect();
    twins.sort_by_key(|twins| twins.attempts);
    twins
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
