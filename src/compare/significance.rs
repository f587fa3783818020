//! Is the difference of two paired runs more than chance?

use std::f64::consts::{LN_2, LN_10};

use super::Quadrant;

/// Chance of a false "decided", however often one looks.
const ALPHA: f64 = 0.05;

/// Two-sided exact McNemar test: the binomial chance that `a_only + b_only` fair coins fall this unevenly or more.
pub fn mcnemar_exact(a_only: usize, b_only: usize) -> f64 {
    let (n, fewer) = (a_only + b_only, a_only.min(b_only));
    if n > 1000 {
        return 10_f64.powf(mcnemar_log10(a_only, b_only));
    }
    // 2^-1000 is still a normal number; the sum is exact for the small counts where it matters.
    let mut term = 0.5_f64.powi(n as i32);
    let mut tail = term;
    for taken in 1..=fewer {
        term *= (n - taken + 1) as f64 / taken as f64;
        tail += term;
    }
    (2.0 * tail).min(1.0)
}

/// The same with half the chance of the very outcome left out: less timid, no longer a bound.
pub fn mcnemar_mid_p(a_only: usize, b_only: usize) -> f64 {
    let (n, fewer) = (a_only + b_only, a_only.min(b_only));
    let own = (ln_choose(n, fewer) - n as f64 * LN_2).exp();
    // Where both are equal the doubled tail passes 1, and the outcome stands in both halves of it.
    let whole = if 2 * fewer == n {
        1.0 + own
    } else {
        mcnemar_exact(a_only, b_only)
    };
    whole - own
}

/// The common logarithm of [`mcnemar_exact`], also where the chance itself is too small for a number.
pub fn mcnemar_log10(a_only: usize, b_only: usize) -> f64 {
    let (n, fewer) = (a_only + b_only, a_only.min(b_only));
    // The largest term C(n, fewer) / 2^n, times the sum of the terms below it as shares of it.
    let (mut sum, mut share) = (1.0, 1.0);
    for taken in (1..=fewer).rev() {
        share *= taken as f64 / (n - taken + 1) as f64;
        sum += share;
        if share < 1e-18 {
            break;
        }
    }
    let log = LN_2 + ln_choose(n, fewer) - n as f64 * LN_2 + f64::ln(sum);
    log.min(0.0) / LN_10
}

/// ln C(n, k).
fn ln_choose(n: usize, k: usize) -> f64 {
    (1..=k).map(|taken| ((n - k + taken) as f64 / taken as f64).ln()).sum()
}

/// Whether, and after how many pairs, a difference was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Decision {
    /// Pairs seen when it was.
    pub at: Option<usize>,
    /// Where it is not: pairs that it would take if things go on as they are; `None` where they are even.
    pub needed: Option<usize>,
}

/// Looks after each pair, in order, and is not fooled by it: the evidence is the likelihood of the uneven pairs under a
/// uniformly unknown share against that under one half. That ratio reaches 1 / 0.05 with a chance of at most 0.05 over
/// the whole run if there is no difference (Ville's inequality).
pub fn decide(outcomes: impl IntoIterator<Item = Quadrant>) -> Decision {
    let (mut a_only, mut b_only, mut pairs) = (0_usize, 0_usize, 0_usize);
    let mut evidence = 0.0;
    for outcome in outcomes {
        pairs += 1;
        let wins = match outcome {
            Quadrant::AOnly => &mut a_only,
            Quadrant::BOnly => &mut b_only,
            Quadrant::Both | Quadrant::Neither => continue,
        };
        *wins += 1;
        // One more of n uneven pairs: the ratio grows by 2 × wins / (n + 1).
        evidence += (2.0 * *wins as f64 / (a_only + b_only + 1) as f64).ln();
        if evidence >= -ALPHA.ln() {
            return Decision {
                at: Some(pairs),
                needed: None,
            };
        }
    }
    Decision {
        at: None,
        needed: needed(a_only, b_only, pairs),
    }
}

fn needed(a_only: usize, b_only: usize, pairs: usize) -> Option<usize> {
    let uneven = a_only + b_only;
    if a_only == b_only {
        return None;
    }
    let more = a_only.max(b_only) as f64 / uneven as f64;
    let entropy = |share: f64| if share > 0.0 { -share * share.ln() } else { 0.0 };
    let gain = LN_2 - entropy(more) - entropy(1.0 - more);
    // ln of the ratio after n uneven pairs, by Stirling: n × gain - ½ ln(n) + a constant.
    let spread = 0.5 * (2.0 * std::f64::consts::PI * (more * (1.0 - more)).max(1e-3)).ln();
    let evidence = |n: f64| n * gain - 0.5 * n.ln() + spread;
    let (mut low, mut high) = (uneven as f64, uneven as f64);
    while evidence(high) < -ALPHA.ln() && high < 1e12 {
        high *= 2.0;
    }
    while high - low > 1.0 {
        let middle = f64::midpoint(low, high);
        if evidence(middle) < -ALPHA.ln() {
            low = middle;
        } else {
            high = middle;
        }
    }
    Some((high * pairs as f64 / uneven as f64).ceil() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exact_test_gives_known_values() {
        assert!((mcnemar_exact(9, 2) - 0.065_429_687_5).abs() < 1e-15);
        assert_eq!(
            (mcnemar_exact(0, 0), mcnemar_exact(5, 5), mcnemar_exact(1, 0)),
            (1.0, 1.0, 1.0)
        );
        assert!((mcnemar_exact(2, 9) - mcnemar_exact(9, 2)).abs() < 1e-18);
        assert!((mcnemar_mid_p(9, 2) - 0.038_574_218_75).abs() < 1e-12);
        assert_eq!((mcnemar_mid_p(0, 0), mcnemar_mid_p(5, 5)), (1.0, 1.0));
    }

    #[test]
    fn small_and_large_counts_agree_where_they_meet() {
        for (a, b) in [(9, 2), (500, 499), (520, 430), (700, 300), (1000, 0)] {
            let (exact, log) = (mcnemar_exact(a, b).log10(), mcnemar_log10(a, b));
            assert!((exact - log).abs() < 1e-9, "{a} {b}: {exact} {log}");
        }
        let log = mcnemar_log10(2160, 1055);
        assert!((-90.0..-80.0).contains(&log), "{log}");
        assert!(mcnemar_exact(500_000, 100) == 0.0 && mcnemar_log10(500_000, 100).is_finite());
    }

    #[test]
    fn a_clear_difference_is_decided_early_and_an_even_one_never() {
        let clear = decide((0..100).map(|pair| {
            if pair % 10 == 0 {
                Quadrant::BOnly
            } else {
                Quadrant::AOnly
            }
        }));
        assert!(clear.at.is_some_and(|at| (8..40).contains(&at)), "{clear:?}");
        let even = |pair: usize| {
            if pair.is_multiple_of(2) {
                Quadrant::AOnly
            } else {
                Quadrant::BOnly
            }
        };
        assert_eq!(decide((0..10_000).map(even)), Decision { at: None, needed: None });
    }

    #[test]
    fn what_is_needed_is_told_and_then_suffices() {
        let outcome = |pair: usize| match pair % 20 {
            0..6 => Quadrant::AOnly,
            6..10 => Quadrant::BOnly,
            _ => Quadrant::Both,
        };
        let needed = decide((0..40).map(outcome)).needed.unwrap();
        let at = decide((0..10_000).map(outcome)).at.unwrap();
        assert!(
            (at as f64 / needed as f64 - 1.0).abs() < 0.25,
            "said {needed}, took {at}"
        );
    }
}
