//! Tails of the distributions that tests and plans read: normal, chi-squared, F.

use std::f64::consts::{LN_10, PI, SQRT_2};

use statrs::function::{beta::beta_reg, erf, gamma};

/// The 97.5 % point of the normal distribution: 95 % lie within ± this.
pub const Z: f64 = 1.959_963_984_540_054;

/// The chance that a standard normal value lies above `z`.
pub fn normal_above(z: f64) -> f64 {
    0.5 * erf::erfc(z / SQRT_2)
}

/// The value below which a standard normal one lies with this chance (0 < `chance` < 1).
pub fn normal_quantile(chance: f64) -> f64 {
    -SQRT_2 * erf::erfc_inv(2.0 * chance)
}

/// The common logarithm of the two-sided chance of `z` or farther, also where the chance is too small for a number.
pub fn log10_either_side(z: f64) -> f64 {
    let z = z.abs();
    if z < 30.0 {
        return (2.0 * normal_above(z)).log10();
    }
    // Beyond, the tail is the density over z, but for a factor 1 - 1 / z².
    (-z * z / 2.0 - (z * (PI / 2.0).sqrt()).ln() + (-1.0 / (z * z)).ln_1p()) / LN_10
}

/// The chances that a chi-squared value with `freedom` degrees lies below and above `value`.
pub fn chi_squared(value: f64, freedom: f64) -> (f64, f64) {
    if value <= 0.0 {
        return (0.0, 1.0);
    }
    let (half, of) = (value / 2.0, freedom / 2.0);
    (gamma::gamma_lr(of, half), gamma::gamma_ur(of, half))
}

/// The chance that an F value with these degrees of freedom lies above `value`.
pub fn f_above(value: f64, (upper, lower): (f64, f64)) -> f64 {
    beta_reg(lower / 2.0, upper / 2.0, lower / (lower + upper * value.max(0.0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_are_those_of_the_printed_tables() {
        let near = |found: f64, known: f64| assert!((found / known - 1.0).abs() < 1e-9, "{found} {known}");
        near(normal_above(Z), 0.025);
        near(normal_quantile(0.8), 0.841_621_233_572_914_3);
        near(chi_squared(3.841_458_820_694_124, 1.0).1, 0.05);
        near(chi_squared(23.0, 23.0).0 + chi_squared(23.0, 23.0).1, 1.0);
        near(f_above(4.964_602_743_730_711, (1.0, 10.0)), 0.05);
        assert_eq!((chi_squared(0.0, 4.0), f_above(0.0, (3.0, 5.0))), ((0.0, 1.0), 1.0));
    }

    #[test]
    fn the_logarithm_goes_on_where_the_chance_ends() {
        let (before, after) = (log10_either_side(29.999_999), log10_either_side(30.000_001));
        assert!((before - after).abs() < 1e-4, "{before} {after}");
        assert!(log10_either_side(-100.0) < -2000.0);
    }
}
