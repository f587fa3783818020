//! How an answer was put, when the rule did not read it: mark-up, colon, LaTeX, lower case, other words.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::Cause;

/// A letter that is named, not the article A or the pronoun I: those only with a sign right after them.
const LETTER: &str = r"(?:[B-HJ](?:_|\b)|[AI](?:_|\b)(?:[).:,;*_`\]\n]|\z))[)\]*_`]*";

struct Wording {
    cause: Cause,
    pattern: Regex,
}

static WORDINGS: LazyLock<Vec<Wording>> = LazyLock::new(|| {
    let list = [
        // "is **C**", "is: `C`", "is <b>C</b>"
        (Cause::Bold, r"\bis\s*:?\s*(?:[*_`~#]+|<[a-z]{1,6}>)[\s*_`(\[]*LETTER"),
        // "answer is: C", "**Answer:** (C)", "option is: C"
        (
            Cause::Colon,
            r#"(?i:\banswer(?:\s+is)?|\b(?:option|choice)\s+is)[*_`~\s]*[:：][*_`~\s(\["']*(?i:option\s+|choice\s+)?[*(]*LETTER"#,
        ),
        // "\boxed{C}", "answer is $\text{(C)}$"
        (
            Cause::Latex,
            r"\\f?boxed\s*\{[\s$({]*(?:\\[a-z]+\s*\{[\s(]*)?[A-J]\b[)}]*",
        ),
        (
            Cause::Latex,
            r"ANSWER(?:\$|\\\(|\\\[)+[\s({]*(?:\\[a-z]+\s*\{[\s(]*)?[A-J]\b[)}]*",
        ),
        // "answer is (b)", "option c."
        (
            Cause::Lower,
            r"(?i:\b(?:answer|option|choice))(?:\s+(?i:is))?\s*[:：]?\s*[*_`]*(?:\([a-j]\)|\[[a-j]\]|[a-j](?:[),;:!*_`]|\.(?:\s|\z)|\s*(?:\n|\z)))",
        ),
        // "option C", "the correct one is (C)"; "(C) is correct"
        (
            Cause::Wording,
            r#"(?i:\b(?:option|choice|answer|letter))\s+(?:is\s+)?["'(\[]*[A-J]\b\)?"#,
        ),
        (
            Cause::Wording,
            r#"(?i:\b(?:answer|option|choice|correct))[^.!?\n]{0,60}?(?:\b[B-HJ]\b|[(\["'*`$][AI][)\]"'*`$.:])\)?"#,
        ),
        (
            Cause::Wording,
            r#"(?:\b[B-HJ]\b|[(\["'*`$][AI][)\]"'*`$.:])[^.!?\n]{0,60}?(?i:\b(?:answer|option|choice|correct)\b)"#,
        ),
        // A value instead of a letter, where no letter is named either: "\boxed{2.5}", "answer is $-4\pi$", but no price.
        (Cause::Latex, r"\\f?boxed\s*\{[^{}\n]{0,60}\}?"),
        (
            Cause::Latex,
            r"ANSWER(?:\\\(|\\\[|\$\$?[^\s$](?:(?:[^$\n.,]|[.,][^\s$]){0,118}[^\s$])?\$)",
        ),
    ];
    let answer = r"(?i:\banswer(?:\s+is)?)[*_\s]*[:：]?[*_\s]*";
    let compile = |pattern: &str| {
        let pattern = pattern.replace("LETTER", LETTER).replace("ANSWER", answer);
        Regex::new(&pattern).expect("a constant pattern")
    };
    list.into_iter()
        .map(|(cause, pattern)| Wording {
            cause,
            pattern: compile(pattern),
        })
        .collect()
});

/// The cause, and the stretch of text that shows it: the last one, which is nearest to a conclusion.
pub(super) fn cause(text: &str) -> Option<(Cause, Range<usize>)> {
    WORDINGS.iter().find_map(|wording| {
        let found = wording.pattern.find_iter(text).last()?;
        let shown = found.as_str().trim_end_matches(['.', ',', ':', ';', '\n']);
        Some((wording.cause, found.start()..found.start() + shown.len()))
    })
}
