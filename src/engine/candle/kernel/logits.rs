//! One row of logits: its normaliser, the best token.

use super::simd::{self, Kernel, Simd};

/// Exponentials summed in f32 before they go to an f64, so that long rows lose nothing.
const STRETCH: usize = 1024;

/// `ln(sum(exp(row)))`: a token's log-probability is its logit less this.
pub fn log_sum_exp(row: &[f32]) -> f32 {
    let highest = highest(row);
    if highest.is_infinite() {
        return if row.iter().any(|x| x.is_nan()) {
            f32::NAN
        } else {
            highest
        };
    }
    (f64::from(highest) + simd::dispatch(Total { row, highest }).ln()) as f32
}

/// The index of the largest number, the first of equals; NaN never wins; 0 for an empty row.
pub fn argmax(row: &[f32]) -> usize {
    let highest = highest(row);
    row.iter().position(|&x| x >= highest).unwrap_or(0)
}

/// The largest number that is one; negative infinity where there is none.
fn highest(row: &[f32]) -> f32 {
    simd::dispatch(Highest { row })
}

struct Highest<'a> {
    row: &'a [f32],
}

impl Kernel for Highest<'_> {
    type Output = f32;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> f32 {
        let mut highest = simd.splat(f32::NEG_INFINITY);
        let whole = self.row.chunks_exact(S::LANES);
        let rest = whole.remainder();
        for x in whole {
            highest = simd.max(simd.load(x), highest);
        }
        rest.iter().copied().fold(simd.highest(highest), f32::max)
    }
}

/// The sum of e^(x - highest).
struct Total<'a> {
    row: &'a [f32],
    highest: f32,
}

impl Kernel for Total<'_> {
    type Output = f64;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> f64 {
        let highest = simd.splat(self.highest);
        let mut total = 0.0;
        for stretch in self.row.chunks(STRETCH) {
            let mut sum = simd.splat(0.0);
            let whole = stretch.chunks_exact(S::LANES);
            let rest = whole.remainder();
            for x in whole {
                sum = simd.add(sum, simd::exp(simd, simd.sub(simd.load(x), highest)));
            }
            total += f64::from(simd.sum(sum));
            total += rest.iter().map(|x| f64::from(x - self.highest).exp()).sum::<f64>();
        }
        total
    }
}

#[cfg(test)]
mod tests {
    use super::super::random;
    use super::*;

    #[test]
    fn the_normaliser_is_its_definition() {
        simd::on_each(|level| {
            for len in [1, 3, 16, 1000, 5003] {
                let row: Vec<f32> = random(len, 1).iter().map(|x| x * 30.0).collect();
                let total: f64 = row.iter().map(|&x| f64::from(x).exp()).sum();
                assert!(
                    (f64::from(log_sum_exp(&row)) - total.ln()).abs() < 3e-6,
                    "{len} on {level:?}"
                );
            }
        });
    }

    #[test]
    fn the_first_of_equal_tokens_wins() {
        simd::on_each(|_| {
            let mut row = random(100, 2);
            row[40] = 5.0;
            row[70] = 5.0;
            row[3] = f32::NAN;
            assert_eq!(argmax(&row), 40);
            row[99] = f32::INFINITY;
            assert_eq!(argmax(&row), 99);
            assert_eq!(argmax(&[f32::NEG_INFINITY; 3]), 0);
            assert_eq!(argmax(&[f32::NAN, 1.0]), 1);
            assert_eq!(argmax(&[]), 0);
        });
    }

    #[test]
    fn a_row_without_any_chance_has_no_normaliser() {
        assert_eq!(
            log_sum_exp(&[f32::NEG_INFINITY; 20]).to_bits(),
            f32::NEG_INFINITY.to_bits()
        );
        assert!(log_sum_exp(&[1.0, f32::NAN]).is_nan() && log_sum_exp(&[f32::NAN]).is_nan());
    }
}
