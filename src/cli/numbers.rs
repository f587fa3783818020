//! Numbers of the command line: each has bounds, and a sentence that names them.

use super::server_args::InFlight;
use crate::text::thousands;

/// A whole number from LEAST to MOST.
pub(super) fn whole<const LEAST: usize, const MOST: usize>(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(number) if (LEAST..=MOST).contains(&number) => Ok(number),
        _ => Err(format!("a whole number from {LEAST} to {}", thousands(MOST))),
    }
}

/// As many rows as one could want.
pub(super) fn count(text: &str) -> Result<usize, String> {
    whole::<1, 100_000_000>(text)
}

/// CPU threads: some more than there are cores move nothing but the load, thousands bring the machine down.
pub(super) fn threads(text: &str) -> Result<usize, String> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let most = (4 * cores).max(16);
    match text.parse() {
        Ok(number) if (1..=most).contains(&number) => Ok(number),
        Ok(0) => Err("at least one thread works".into()),
        _ => Err(format!(
            "a whole number of at most {most}: this machine has {cores} core{}",
            if cores == 1 { "" } else { "s" }
        )),
    }
}

/// Requests under way at once.
pub(super) fn in_flight(text: &str) -> Result<InFlight, String> {
    if text == "auto" {
        return Ok(InFlight(None));
    }
    whole::<1, 4_096>(text)
        .map(|number| InFlight(Some(number)))
        .map_err(|bounds| format!("auto, or {bounds}"))
}

/// A seed of sampling.
pub(super) fn seed(text: &str) -> Result<i64, String> {
    match text.trim().parse() {
        // The least number stands for no seed in the columns of a trace.
        Ok(i64::MIN) | Err(_) => Err("whole numbers of up to 18 digits, one by one: 42,43,44".into()),
        Ok(number) => Ok(number),
    }
}

/// The seed of a choice of questions.
pub(super) fn choice(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| "a whole number from 0, of up to 19 digits".into())
}

pub(super) fn temperature(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(0.0) => Ok(0.0),
        Ok(number) if (0.001..=100.0).contains(&number) => Ok(number),
        _ => Err("0 (greedy), or a number from 0.001 to 100".into()),
    }
}

pub(super) fn top_p(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number <= 1.0 => Ok(number),
        _ => Err("a number above 0, at most 1 (1 keeps every token)".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_out_of_bounds_are_refused_by_a_sentence_that_names_the_bounds() {
        assert_eq!(whole::<0, 64>("0"), Ok(0));
        assert_eq!(whole::<1, 4_096>("4096"), Ok(4_096));
        for text in [
            "0",
            "4097",
            "-1",
            "1.5",
            "",
            "99999999999999999999999",
            "1e3",
            "٣",
            "NaN",
        ] {
            let error = whole::<1, 4_096>(text).unwrap_err();
            assert_eq!(error, "a whole number from 1 to 4,096", "{text}");
        }
        assert!(count("0").is_err() && count("100000001").is_err() && count("14042") == Ok(14_042));
    }

    #[test]
    fn threads_are_bounded_by_the_cores_that_there_are() {
        let cores = std::thread::available_parallelism().unwrap().get();
        assert_eq!(threads("1"), Ok(1));
        assert_eq!(threads(&cores.to_string()), Ok(cores));
        for text in ["20000", "100000", "18446744073709551616", "-3", "two"] {
            let error = threads(text).unwrap_err();
            assert!(error.contains(&format!("{cores} core")), "{text}: {error}");
        }
        assert!(threads("0").unwrap_err().contains("at least one"));
    }

    #[test]
    fn seeds_and_floats_have_bounds_too() {
        assert_eq!((seed("-1"), seed(" 42")), (Ok(-1), Ok(42)));
        for text in ["42-46", "9223372036854775808", "-9223372036854775808", "1.0", ""] {
            assert!(seed(text).unwrap_err().contains("42,43,44"), "{text}");
        }
        assert_eq!(
            (choice("7"), temperature("-0"), temperature("1e-3")),
            (Ok(7), Ok(0.0), Ok(0.001))
        );
        assert!(temperature("-0").unwrap().is_sign_positive());
        for text in ["-1", "101", "1e-9", "nan", "inf", "hot", ""] {
            assert!(temperature(text).is_err(), "{text}");
        }
        for text in ["0", "-0.1", "1.01", "nan", "inf"] {
            assert!(top_p(text).is_err(), "{text}");
        }
        assert!(choice("-1").is_err() && choice("18446744073709551616").is_err());
    }
}
