//! Drawing a token from logits: temperature, then top-k, renormalise, then top-p, as the reference servers do it.
//!
//! The random number of a token is a function of (seed, stream, position) alone, made by SplitMix64's finalizer over the
//! three words one after the other; so a completion depends on nothing that happened around it. Candidates stand by
//! (logit, falling; id, rising), so a token changes only where two probabilities nearly tie.

use crate::engine::Sampling;

/// Which draw of which attempt: the key of a random number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Draw {
    pub seed: i64,
    pub stream: u64,
    pub position: u64,
}

impl Draw {
    /// A number in [0, 1) with 53 random bits.
    pub fn uniform(self) -> f64 {
        let words = [self.seed.cast_unsigned(), self.stream, self.position];
        let bits = words
            .into_iter()
            .fold(0x6d61_726b_626f_6f6b, |state, word| mix(state ^ mix(word)));
        (bits >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// SplitMix64: one step of the sequence and its finalizer.
fn mix(word: u64) -> u64 {
    let mut z = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Draws a token; none where the logits hold no number to go by.
pub fn sample(logits: &[f32], sampling: &Sampling, draw: Draw) -> Option<u32> {
    let best = super::kernel::argmax(logits);
    let max = *logits.get(best)?;
    if !max.is_finite() {
        return None;
    }
    if sampling.temperature <= 0.0 || sampling.top_k == 1 {
        return Some(best as u32);
    }
    let weight = |logit: f32| ((f64::from(logit) - f64::from(max)) / sampling.temperature).exp();
    let mut kept = match (sampling.top_k, sampling.top_p < 1.0) {
        (0, false) => return Some(draw_from_all(logits, weight, draw)),
        (0, true) => nucleus_of_all(logits, max, sampling, weight),
        (k, _) => largest(logits, k),
    };
    let weights: Vec<f64> = kept.iter().map(|(logit, _)| weight(*logit)).collect();
    let mut total: f64 = weights.iter().sum();
    if sampling.top_p < 1.0 {
        // With top-k the mass is what is left after renormalising; without it, the whole vocabulary's.
        let mass = if sampling.top_k == 0 {
            logits.iter().map(|logit| weight(*logit)).sum()
        } else {
            total
        };
        let mut sum = 0.0;
        let reached = weights.iter().position(|weight| {
            sum += weight;
            sum >= sampling.top_p * mass
        });
        kept.truncate(reached.map_or(kept.len(), |last| last + 1));
        total = weights[..kept.len()].iter().sum();
    }
    let target = draw.uniform() * total;
    let mut sum = 0.0;
    let chosen = kept.iter().zip(&weights).find(|(_, weight)| {
        sum += **weight;
        target < sum
    });
    chosen.map(|(token, _)| token).or(kept.last()).map(|(_, id)| *id)
}

type Candidate = (f32, u32);

/// Falling logit, then rising id.
fn by_rank(a: &Candidate, b: &Candidate) -> std::cmp::Ordering {
    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
}

/// The `k` largest logits in order, in one pass: whatever beats the threshold is kept, and the threshold rises each time
/// twice `k` have gathered.
fn largest(logits: &[f32], k: usize) -> Vec<Candidate> {
    let k = k.min(logits.len());
    let mut kept: Vec<Candidate> = Vec::with_capacity(2 * k + 16);
    let mut threshold = f32::NEG_INFINITY;
    for (id, &logit) in logits.iter().enumerate() {
        // Ids rise, so an equal logit comes after what is kept and cannot displace it.
        if logit > threshold || (kept.len() < k && !logit.is_nan()) {
            kept.push((logit, id as u32));
            if kept.len() >= 2 * k + 16 {
                kept.select_nth_unstable_by(k - 1, by_rank);
                kept.truncate(k);
                threshold = kept[k - 1].0;
            }
        }
    }
    kept.sort_unstable_by(by_rank);
    kept.truncate(k);
    kept
}

/// The likeliest tokens that together reach top-p of the whole, in order, with some to spare.
fn nucleus_of_all(logits: &[f32], max: f32, sampling: &Sampling, weight: impl Fn(f32) -> f64) -> Vec<Candidate> {
    let mass: f64 = logits.iter().map(|logit| weight(*logit)).sum();
    let mut depth = 4.0 * sampling.temperature as f32;
    loop {
        let floor = max - depth;
        let within = |logit: f32| logit >= floor || depth > 1e4;
        let sum: f64 = logits
            .iter()
            .filter(|logit| within(**logit))
            .map(|logit| weight(*logit))
            .sum();
        if sum >= sampling.top_p * mass || depth > 1e4 {
            let all = logits.iter().enumerate().map(|(id, logit)| (*logit, id as u32));
            let mut kept: Vec<Candidate> = all.filter(|(logit, _)| within(*logit) && !logit.is_nan()).collect();
            kept.sort_unstable_by(by_rank);
            return kept;
        }
        depth *= 2.0;
    }
}

/// Draws from the whole vocabulary, in the order of ids.
fn draw_from_all(logits: &[f32], weight: impl Fn(f32) -> f64, draw: Draw) -> u32 {
    let weight = |logit: &f32| if logit.is_nan() { 0.0 } else { weight(*logit) };
    let total: f64 = logits.iter().map(weight).sum();
    let target = draw.uniform() * total;
    let (mut sum, mut last) = (0.0, 0);
    for (id, logit) in logits.iter().enumerate() {
        let weight = weight(logit);
        sum += weight;
        if weight > 0.0 {
            last = id;
        }
        if target < sum {
            return id as u32;
        }
    }
    last as u32
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn sampling(temperature: f64, top_k: usize, top_p: f64) -> Sampling {
        Sampling {
            temperature,
            top_p,
            top_k,
            max_tokens: 1,
            stops: vec![],
        }
    }

    /// Relative frequency of each token over many positions.
    fn frequencies(logits: &[f32], sampling: &Sampling) -> BTreeMap<u32, f64> {
        let draws = 20_000;
        let mut counts = BTreeMap::new();
        for position in 0..draws {
            let token = sample(
                logits,
                sampling,
                Draw {
                    seed: 42,
                    stream: 7,
                    position,
                },
            )
            .unwrap();
            *counts.entry(token).or_insert(0.0) += 1.0 / draws as f64;
        }
        counts
    }

    /// Logits whose probabilities are these.
    fn logits(probabilities: &[f64]) -> Vec<f32> {
        probabilities.iter().map(|p| p.ln() as f32).collect()
    }

    #[test]
    fn tokens_come_as_often_as_their_probability_says() {
        let row = logits(&[0.1, 0.4, 0.2, 0.3]);
        for (top_k, top_p) in [(0, 1.0), (4, 1.0), (0, 0.9999)] {
            let seen = frequencies(&row, &sampling(1.0, top_k, top_p));
            for (token, share) in [(0, 0.1), (1, 0.4), (2, 0.2), (3, 0.3)] {
                assert!(
                    (seen[&token] - share).abs() < 0.015,
                    "{top_k} {top_p} {token}: {}",
                    seen[&token]
                );
            }
        }
        // Half the temperature squares the odds.
        let seen = frequencies(&row, &sampling(0.5, 4, 1.0));
        assert!((seen[&1] / seen[&2] - 4.0).abs() < 0.4);
    }

    #[test]
    fn top_p_counts_what_top_k_left() {
        // Of 0.4, 0.3, 0.2, 0.1 the first two are left: 0.571 and 0.429. Without renormalising, 0.5 would need both.
        let row = logits(&[0.2, 0.1, 0.4, 0.3]);
        assert_eq!(
            frequencies(&row, &sampling(1.0, 2, 0.5))
                .keys()
                .copied()
                .collect::<Vec<_>>(),
            [2]
        );
        assert_eq!(
            frequencies(&row, &sampling(1.0, 0, 0.5))
                .keys()
                .copied()
                .collect::<Vec<_>>(),
            [2, 3]
        );
        assert_eq!(
            frequencies(&row, &sampling(1.0, 3, 0.9))
                .keys()
                .copied()
                .collect::<Vec<_>>(),
            [0, 2, 3]
        );
    }

    #[test]
    fn greedy_takes_the_first_of_equal_logits() {
        let draw = Draw {
            seed: 1,
            stream: 1,
            position: 1,
        };
        assert_eq!(sample(&[0.0, 3.0, 3.0, 1.0], &sampling(0.0, 64, 0.95), draw), Some(1));
        assert_eq!(sample(&[f32::NAN, f32::NAN], &sampling(1.0, 64, 0.95), draw), None);
    }

    #[test]
    fn one_pass_selection_agrees_with_sorting_everything() {
        let row: Vec<f32> = (0..5000u64).map(|id| (mix(id) % 997) as f32 / 10.0).collect();
        for k in [1, 2, 64, 333, 5000, 9000] {
            let mut all: Vec<Candidate> = row.iter().enumerate().map(|(id, logit)| (*logit, id as u32)).collect();
            all.sort_by(by_rank);
            all.truncate(k);
            assert_eq!(largest(&row, k), all, "k {k}");
        }
    }

    #[test]
    fn every_word_of_the_key_makes_another_stream() {
        let draw = Draw {
            seed: 42,
            stream: 1,
            position: 0,
        };
        let others = [
            Draw { seed: 43, ..draw },
            Draw { stream: 2, ..draw },
            Draw { position: 1, ..draw },
        ];
        assert!(
            others
                .iter()
                .all(|other| (other.uniform() - draw.uniform()).abs() > 1e-9)
        );
        assert_eq!(
            draw.uniform().to_bits(),
            Draw {
                seed: 42,
                stream: 1,
                position: 0
            }
            .uniform()
            .to_bits()
        );
    }
}
