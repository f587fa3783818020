//! The 24 prompt styles that the MMLU-Pro authors tested: four openings by six formats, as in TIGER-AI-Lab/MMLU-Pro,
//! `cot_prompt_lib/tested_24_prompt_styles.txt` at 631a126 (Apache-2.0), to the byte.
//!
//! That file does not say how examples and reasoning were joined to a cue. Here the opening stands before a blank line;
//! scored, the letter follows the cue; written, an example's worked answer follows it, without its first words.

use super::style::{Method, Scored, ShotAnswer, Style};

/// How many they are.
pub const COUNT: usize = OPENINGS.len() * FORMATS.len();
/// What their names begin with.
pub const PREFIX: &str = "tested24_";

macro_rules! opening {
    ($expert:literal, $end:literal) => {
        concat!(
            $expert,
            " Below is a series of example questions (with answers) about {subject} for demonstration. You will be given \
             a question at the end, after the examples, for you to answer. ",
            $end,
            "\n\n"
        )
    };
}

const OPENINGS: [&str; 4] = [
    "Please read the following multiple-choice questions and provide the most likely correct answer based on the options \
     given.\n\n",
    opening!(
        "You are an expert in {subject}.",
        "Think it step by step, and give your answer at the end."
    ),
    "The following are multiple choice questions (with answers) about {subject}.\n\n",
    opening!(
        "You are a helpful assistant.",
        "First give step-by-step reasoning about how to solve the question. Then output the answer."
    ),
];

struct Format {
    block: &'static str,
    option: &'static str,
    /// What stands between the cue and a letter: nothing where the cue ends with a blank.
    delimiter: &'static str,
    /// What begins the next question.
    stops: &'static [&'static str],
}

const FORMATS: [Format; 6] = [
    Format {
        block: "Question: {question}\nOptions:\n{options}\nCorrect Answer:",
        option: "({letter}) {option}\n",
        delimiter: " ",
        stops: &["Question:"],
    },
    Format {
        block: "**Question**: {question}\nOptions:\n{options}\n**Correct Answer**:",
        option: "({letter}) {option}\n",
        delimiter: " ",
        stops: &["**Question**:"],
    },
    Format {
        block: "Q: {question}\nOptions:\n{options}\nThe Best Choice: ",
        option: "({letter}) {option}\n",
        delimiter: "",
        stops: &["\nQ:"],
    },
    Format {
        block: "Question:\n{question} {options}\nThe most likely option is ",
        option: "{letter}) {option}, ",
        delimiter: "",
        stops: &["Question:"],
    },
    Format {
        block: "Question: {question}\nOptions:\n{options}\nYour choice: ",
        option: "{letter}. {option}\n",
        delimiter: "",
        stops: &["Question:"],
    },
    Format {
        block: "**Question**: {question} {options}\n**Answer**:",
        option: "({letter}) {option} ",
        delimiter: " ",
        stops: &["**Question**:"],
    },
];

/// The names, opening by opening.
macro_rules! names {
    ($end:literal) => {
        names!($end, "o1", "o2", "o3", "o4")
    };
    ($end:literal, $($opening:literal),*) => {
        [$(
            concat!("tested24_", $opening, "f1", $end),
            concat!("tested24_", $opening, "f2", $end),
            concat!("tested24_", $opening, "f3", $end),
            concat!("tested24_", $opening, "f4", $end),
            concat!("tested24_", $opening, "f5", $end),
            concat!("tested24_", $opening, "f6", $end),
        )*]
    };
}

const PLAIN: [&str; COUNT] = names!("");
const CLOZE: [&str; COUNT] = names!("_cloze");
const GENERATIVE: [&str; COUNT] = names!("_generative");

/// A benchmark's own styles, then the 24 under their plain names, asked as its first style is, then asked the other way
/// (`_cloze`, `_generative`). `written` is how an example is answered where the model writes.
pub(super) const fn with_tested<const N: usize, const ALL: usize>(
    own: &[Style; N],
    written: ShotAnswer,
) -> [Style; ALL] {
    assert!(ALL == N + 2 * COUNT);
    let is_cloze = matches!(own[0].method, Method::Cloze { .. });
    let mut all = [own[0]; ALL];
    let mut at = 0;
    while at < ALL {
        all[at] = if at < N {
            own[at]
        } else {
            let number = at - N;
            let is_plain = number < COUNT;
            tested(&own[0], number % COUNT, is_plain, (is_plain == is_cloze, written))
        };
        at += 1;
    }
    all
}

const fn tested(base: &Style, number: usize, is_plain: bool, (is_cloze, written): (bool, ShotAnswer)) -> Style {
    let format = &FORMATS[number % FORMATS.len()];
    Style {
        name: match (is_plain, is_cloze) {
            (true, _) => PLAIN[number],
            (false, true) => CLOZE[number],
            (false, false) => GENERATIVE[number],
        },
        about: "one of the 24 styles, 4 openings x 6 formats, that the MMLU-Pro authors tested",
        version: "",
        method: if is_cloze {
            Method::Cloze { scored: Scored::Letter }
        } else {
            Method::Generate {
                rule: "lm_eval_mmlu_pro",
                stops: format.stops,
                max_tokens: 2048,
            }
        },
        description: OPENINGS[number / FORMATS.len()],
        block: format.block,
        shot_block: format.block,
        option: format.option,
        answer: if is_cloze { ShotAnswer::Gold } else { written },
        delimiter: format.delimiter,
        ..*base
    }
}

/// The names that a family's name stands for: `tested24`, or with `_cloze` or `_generative`, all 24 in order.
pub fn family(name: &str) -> Option<&'static [&'static str; COUNT]> {
    match name {
        "tested24" => Some(&PLAIN),
        "tested24_cloze" => Some(&CLOZE),
        "tested24_generative" => Some(&GENERATIVE),
        _ => None,
    }
}
