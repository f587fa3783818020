//! How tools write that a model said nothing that could be read, or that a cell is empty.

use super::texts::half_width;

/// Words that stand for nothing, without the brackets around them, lower case, `_` and `-` as blanks.
const WORDS: [&str; 27] = [
    "",
    "?",
    "??",
    "???",
    "n/a",
    "#n/a",
    "na",
    "n.a.",
    "nan",
    "nat",
    "nil",
    "none",
    "null",
    "undefined",
    "missing",
    "empty",
    "invalid",
    "invalid answer",
    "invalid response",
    "no answer",
    "no answer found",
    "no match",
    "not found",
    "unknown",
    "unparsed",
    "unparseable",
    "unanswered",
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
    is_dash || WORDS.contains(&word.as_str()) || is_negative()
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
        ] {
            assert!(is_nothing(text), "{text:?}");
        }
        for text in [
            "A",
            "0",
            "1",
            "none of these",
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
