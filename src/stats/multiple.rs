//! Many tests at once: p values adjusted for how many were looked at, in the order given.

/// Holm (1979): no false alarm among all of them, but with the chance that one test alone has.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let (mut adjusted, mut largest) = (vec![0.0; p.len()], 0.0_f64);
    for (rank, at) in ascending(p).into_iter().enumerate() {
        largest = largest.max(p[at] * (p.len() - rank) as f64).min(1.0);
        adjusted[at] = largest;
    }
    adjusted
}

/// Benjamini and Hochberg (1995): for browsing; of those below 0.05 one in twenty is expected to be false.
pub fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    let (mut adjusted, mut least) = (vec![0.0; p.len()], 1.0_f64);
    for (rank, at) in ascending(p).into_iter().enumerate().rev() {
        least = least.min(p[at] * p.len() as f64 / (rank + 1) as f64);
        adjusted[at] = least;
    }
    adjusted
}

fn ascending(p: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adjusted_values_never_cross_and_never_pass_one() {
        let p = [0.03, 0.01, 0.9, 0.04];
        assert_eq!(holm(&p), [0.09, 0.04, 0.9, 0.09]);
        assert_eq!(holm(&[0.6, 0.7]), [1.0, 1.0]);
        let found = benjamini_hochberg(&p);
        let known = [0.16 / 3.0, 0.04, 0.9, 0.16 / 3.0];
        assert!(found.iter().zip(known).all(|(a, b)| (a - b).abs() < 1e-15), "{found:?}");
        assert!(holm(&[]).is_empty());
    }
}
