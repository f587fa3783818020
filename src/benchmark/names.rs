//! The names that people give the columns of an own set. Case, blanks, underscores and hyphens do not count.

pub(super) const QUESTION: &[&str] = &[
    "question",
    "questiontext",
    "questionstem",
    "query",
    "problem",
    "prompt",
    "input",
    "stem",
    "ctx",
    "text",
];

/// Best first: what says the gold in words or letters, then what says it by number.
pub(super) const GOLD: &[&str] = &[
    "gold",
    "answer",
    "answerkey",
    "answerletter",
    "key",
    "correct",
    "correctanswer",
    "correctoption",
    "correctchoice",
    "correctletter",
    "correctlabel",
    "rightanswer",
    "groundtruth",
    "goldanswer",
    "goldlabel",
    "label",
    "target",
    "cop",
    "answerindex",
    "answeridx",
    "goldindex",
    "goldidx",
    "correctindex",
    "correctidx",
    "correctanswerindex",
    "correctanswerid",
    "labelidx",
];

/// What says the gold by number where another column says it too.
pub(super) const GOLD_INDEX: &[&str] = &[
    "answerindex",
    "answeridx",
    "goldindex",
    "goldidx",
    "correctindex",
    "correctidx",
    "correctanswerindex",
    "labelidx",
];

pub(super) const OPTIONS: &[&str] = &[
    "options",
    "choices",
    "candidates",
    "alternatives",
    "endings",
    "answers",
    "answerchoices",
    "answeroptions",
    "multiplechoices",
];

/// What goes before the letter or number of a column that holds one option.
pub(super) const OPTION_PREFIXES: &[&str] = &["option", "choice", "answer", "ending", "alternative", "opt", "op", ""];

pub(super) const ID: &[&str] = &["id", "questionid", "qid", "uid"];
pub(super) const SUBJECT: &[&str] = &["subject"];
pub(super) const CATEGORY: &[&str] = &["category", "subject", "subjectname", "topic", "domain", "discipline"];
pub(super) const COT: &[&str] = &["cotcontent", "cot", "reasoning", "rationale", "explanation", "solution"];
pub(super) const EXAMPLES: &[&str] = &["examples", "shots", "fewshot", "fewshots", "fewshotexamples"];
pub(super) const SPLIT: &[&str] = &["split"];

/// A column's name without what does not count.
pub(super) fn plain(name: &str) -> String {
    name.chars()
        .filter(|c| c.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}

/// The column that bears one of these names, best name first.
pub(super) fn find<'n>(columns: &'n [String], known: &[&str]) -> Option<&'n String> {
    known
        .iter()
        .find_map(|known| columns.iter().find(|column| plain(column) == *known))
}

/// Whether a column of this name holds questions.
pub(super) fn is_question(name: &str) -> bool {
    QUESTION.contains(&plain(name).as_str())
}

/// Whether a column of this name holds examples.
pub(super) fn is_examples(name: &str) -> bool {
    EXAMPLES.contains(&plain(name).as_str())
}
