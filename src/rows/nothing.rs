//! How tools write that a model said nothing that could be read, or that a cell is empty.

use super::texts::half_width;

/// Signs that stand for nothing, without the brackets around them, lower case.
const SIGNS: [&str; 11] = [
    "",
    "?",
    "??",
    "???",
    "n/a",
    "#n/a",
    "na",
    "n.a.",
    "nat",
    "nil",
    "undefined",
];

/// Words that say by themselves that there is nothing.
const NONE: [&str; 28] = [
    "no",
    "not",
    "none",
    "null",
    "nan",
    "missing",
    "empty",
    "invalid",
    "unknown",
    "unparsed",
    "unparseable",
    "unparsable",
    "unanswered",
    "unreadable",
    "unavailable",
    "fail",
    "failed",
    "failure",
    "error",
    "unable",
    "cannot",
    "couldn't",
    "refused",
    "refusal",
    "timeout",
    "undetected",
    "unextracted",
    "unmatched",
];

/// Words that may stand beside them: `no answer found`, `parse_error`, `failed to extract`.
const BESIDE: [&str; 29] = [
    "answer",
    "answers",
    "letter",
    "choice",
    "option",
    "response",
    "output",
    "prediction",
    "pick",
    "match",
    "found",
    "to",
    "be",
    "could",
    "parse",
    "parsed",
    "parsing",
    "extract",
    "extracted",
    "extraction",
    "format",
    "valid",
    "available",
    "given",
    "provided",
    "detected",
    "read",
    "value",
    "result",
];

/// Whether a text is a word for nothing. Where it is also the text of an option it is that option, which the caller
/// knows.
pub(crate) fn is_nothing(text: &str) -> bool {
    let text = half_width(text);
    let bare = text.trim_matches(|c: char| {
        c.is_whitespace() || matches!(c, '[' | ']' | '<' | '>' | '(' | ')' | '{' | '}' | '"' | '\'')
    });
    let is_dash = bare.chars().all(|c| matches!(c, '-' | '_' | '–' | '—'));
    let is_negative = || {
        bare.strip_prefix('-').is_some_and(|digits| {
            digits
                .parse::<f64>()
                .is_ok_and(|number| number >= 1.0 && number.fract() == 0.0)
        })
    };
    let word: String = bare
        .chars()
        .map(|c| if matches!(c, '_' | '-') { ' ' } else { c })
        .flat_map(char::to_lowercase)
        .collect();
    let is_of = |list: &[&str], word: &str| list.contains(&word);
    let says_none = || {
        !matches!(word.as_str(), "no" | "not")
            && word.split_whitespace().any(|word| is_of(&NONE, word))
            && word
                .split_whitespace()
                .all(|word| is_of(&NONE, word) || is_of(&BESIDE, word))
    };
    is_dash || is_of(&SIGNS, &word) || is_negative() || says_none()
}

#[cfg(test)]
mod tests {
    use super::is_nothing;

    #[test]
    fn what_tools_write_for_nothing_is_told_from_answers() {
        for text in [
            "",
            " ",
            "None",
            "null",
            "NaN",
            "nan",
            "N/A",
            "NA",
            "?",
            "-1",
            "-1.0",
            "-100",
            "[invalid]",
            "[Invalid Answer]",
            "<NA>",
            "no_answer",
            "No-Answer",
            "-",
            "—",
            "unknown",
            "？",
            "[]",
            "parse_error",
            "Failed to parse",
            "extraction failed",
            "could not be read",
        ] {
            assert!(is_nothing(text), "{text:?}");
        }
        for text in [
            "A",
            "0",
            "1",
            "none of these",
            "no",
            "not",
            "answer",
            "no change",
            "-0.5",
            "not A",
            "B?",
            "X",
            "nano",
            "inf",
        ] {
            assert!(!is_nothing(text), "{text:?}");
        }
    }
}
