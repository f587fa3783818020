//! Which option a row of log-likelihoods picks: by the sum, or by the sum over the length of the answer.

/// The rules for scored rows: name and what it does. The first is the default.
pub const ALL: [(&str, &str); 4] = [
    ("argmax", "the highest log-likelihood; the harness's acc"),
    (
        "argmax_per_char",
        "the highest log-likelihood per character of the answer; the harness's acc_norm",
    ),
    (
        "argmax_per_byte",
        "the highest log-likelihood per UTF-8 byte of the answer; the harness's acc_bytes",
    ),
    (
        "argmax_per_token",
        "the highest log-likelihood per token of the continuation",
    ),
];

/// How the log-likelihoods of a question's options are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ArgMax {
    #[default]
    Sum,
    PerChar,
    PerByte,
    PerToken,
}

impl ArgMax {
    pub fn from_name(name: &str) -> Option<ArgMax> {
        let kinds = [ArgMax::Sum, ArgMax::PerChar, ArgMax::PerByte, ArgMax::PerToken];
        kinds.into_iter().find(|kind| kind.name() == name)
    }

    pub fn name(self) -> &'static str {
        let index = match self {
            ArgMax::Sum => 0,
            ArgMax::PerChar => 1,
            ArgMax::PerByte => 2,
            ArgMax::PerToken => 3,
        };
        ALL[index].0
    }

    /// What it compares, in words.
    pub fn about(self) -> &'static str {
        ALL.iter()
            .find(|(name, _)| *name == self.name())
            .map_or("", |(_, about)| about)
    }

    /// What the log-likelihoods are divided by; `None` where the lengths are not known (no or too few answers, no or too
    /// few token counts). Lengths are those of the answer without the delimiter before it, in Unicode code points or UTF-8
    /// bytes (`process_results` of the harness, `completion_len` and `byte_length`).
    pub fn divisors(self, options: usize, answers: &[&str], tokens: &[usize]) -> Option<Vec<f64>> {
        let lengths: Vec<f64> = match self {
            ArgMax::Sum => return Some(vec![1.0; options]),
            ArgMax::PerChar => answers.iter().map(|answer| answer.chars().count() as f64).collect(),
            ArgMax::PerByte => answers.iter().map(|answer| answer.len() as f64).collect(),
            ArgMax::PerToken => tokens.iter().map(|tokens| *tokens as f64).collect(),
        };
        (lengths.len() >= options).then_some(lengths)
    }

    /// The picked option, as numpy.argmax over the quotients in double precision: the first of the highest; a NaN (an empty
    /// answer of likelihood 1) before all. `None` where there is none or the lengths are not known.
    pub fn pick(self, log_likelihoods: &[f32], answers: &[&str], tokens: &[usize]) -> Option<usize> {
        let divisors = self.divisors(log_likelihoods.len(), answers, tokens)?;
        let values = log_likelihoods.iter().zip(divisors);
        let values: Vec<f64> = values.map(|(score, length)| f64::from(*score) / length).collect();
        argmax_first(&values)
    }
}

/// numpy.argmax: the first of the largest values; the first NaN, where there is one.
pub fn argmax_first(values: &[f64]) -> Option<usize> {
    if let Some(nan) = values.iter().position(|value| value.is_nan()) {
        return Some(nan);
    }
    let mut best = None;
    for (index, value) in values.iter().enumerate() {
        if best.is_none_or(|best: usize| *value > values[best]) {
            best = Some(index);
        }
    }
    best
}

/// The answer of a continuation, given the option that it was made from: the delimiter before it is not counted. A blank
/// is the delimiter unless the option itself begins with it.
pub fn answer_of<'t>(continuation: &'t str, option: Option<&str>) -> &'t str {
    match continuation.strip_prefix(' ') {
        Some(rest) if option != Some(continuation) => rest,
        _ => continuation,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_of_an_answer_moves_the_pick() {
        let scores = [-6.0, -8.0, -9.0];
        let answers = ["ab", "abcdé", "abc ü"];
        let picks = |kind: ArgMax| kind.pick(&scores, &answers, &[1, 2, 6]);
        assert_eq!(picks(ArgMax::Sum), Some(0));
        assert_eq!(picks(ArgMax::PerChar), Some(1), "-3, -1.6, -1.8");
        assert_eq!(picks(ArgMax::PerByte), Some(1), "-3, -1.33, -1.5");
        assert_eq!(picks(ArgMax::PerToken), Some(2), "-6, -4, -1.5");
    }

    #[test]
    fn an_empty_answer_divides_as_numpy_does() {
        assert_eq!(
            ArgMax::PerChar.pick(&[-1.0, -50.0], &["", "x"], &[]),
            Some(1),
            "-inf loses"
        );
        assert_eq!(
            ArgMax::PerChar.pick(&[-1.0, 0.0], &["x", ""], &[]),
            Some(1),
            "0/0 is NaN and wins"
        );
    }

    #[test]
    fn without_lengths_there_is_no_pick() {
        assert_eq!(ArgMax::PerToken.pick(&[-1.0, -2.0], &["a", "b"], &[]), None);
        assert_eq!(ArgMax::PerChar.pick(&[-1.0, -2.0], &["a"], &[]), None);
    }

    #[test]
    fn ties_and_odd_numbers_as_numpy() {
        assert_eq!(argmax_first(&[-1.0, -0.5, -0.5]), Some(1));
        assert_eq!(argmax_first(&[0.0, f64::NAN, f64::INFINITY]), Some(1));
        assert_eq!(argmax_first(&[f64::NEG_INFINITY; 3]), Some(0));
        assert_eq!(argmax_first(&[]), None);
    }

    #[test]
    fn the_delimiter_is_no_part_of_the_answer() {
        assert_eq!(answer_of(" Paris", Some("Paris")), "Paris");
        assert_eq!(answer_of("Paris", Some("Paris")), "Paris");
        assert_eq!(answer_of(" Paris", Some(" Paris")), " Paris");
        assert_eq!(answer_of("  Paris", Some(" Paris")), " Paris");
        assert_eq!(answer_of(" A", None), "A");
    }

    #[test]
    fn every_listed_name_is_a_kind() {
        for (name, _) in ALL {
            assert_eq!(ArgMax::from_name(name).unwrap().name(), name);
        }
    }
}
