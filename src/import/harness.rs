//! How the reference harness reads and compares, for rows that store no pick.

use crate::extract::Rule;
use crate::record::INVALID;

/// The pick of the harness rule over a whole stored text.
pub(crate) fn read(text: &str) -> String {
    let rule = Rule::parse(crate::extract::ALL[0].0);
    let pick = rule.ok().and_then(|rule| rule.read(text).pick.map(str::to_owned));
    pick.unwrap_or_else(|| INVALID.to_owned())
}

/// `numpy.argmax`: the first largest; a NaN beats every number, the first NaN wins.
pub(crate) fn argmax(numbers: &[f64]) -> Option<usize> {
    if let Some(nan) = numbers.iter().position(|number| number.is_nan()) {
        return Some(nan);
    }
    let mut best = None;
    for (i, number) in numbers.iter().enumerate() {
        if best.is_none_or(|at: usize| *number > numbers[at]) {
            best = Some(i);
        }
    }
    best
}
