//! A set of the user's own: any file with question, options and gold, scored or answered in writing.

use super::mmlu_pro::LM_EVAL;
use super::style::{Examples, Method, Part, Scored, ShotAnswer, ShotTurn, Style, Target};
use super::{Benchmark, Form};

pub static CUSTOM: Benchmark = Benchmark {
    name: "custom",
    title: "own set",
    form: Form::Custom,
    hub_id: "",
    hub_config: "",
    splits: &[&["test"], &["validation", "val"], &["dev"], &["train"], &["examples"]],
    example_splits: &["examples", "dev", "validation", "val"],
    columns: &[],
    styles: STYLES,
    embedded: None,
};

const CLOZE: Style = Style {
    name: "cloze",
    about: "the likelihood of the letters after the listed options",
    version: "",
    method: Method::Cloze { scored: Scored::Letter },
    description: "The following are multiple choice questions (with answers) about {subject}.\n\n",
    block: "{question}\n{options}Answer:",
    shot_block: "{question}\n{options}Answer:",
    option: "{letter}. {option}\n",
    stripped: &[Part::Question, Part::Options],
    left_out: None,
    most_options: 26,
    answer: ShotAnswer::Gold,
    shot_turn: ShotTurn::Assistant,
    delimiter: " ",
    separator: "\n\n",
    target: Target::Letter,
    examples: Examples::OfSubject,
    sheds_examples: false,
};

const GENERATE: Style = Style {
    name: "generate",
    about: "the model thinks step by step and ends with \"the answer is (X)\"",
    version: "",
    stripped: CLOZE.stripped,
    most_options: CLOZE.most_options,
    target: CLOZE.target,
    ..LM_EVAL
};

/// The styles of an own set, the default first.
pub const STYLES: &[Style] = &[
    CLOZE,
    Style {
        name: "answer_text",
        about: "the likelihood of each whole answer text, options not shown",
        method: Method::Cloze { scored: Scored::Text },
        block: "Question: {question}\nAnswer:",
        shot_block: "Question: {question}\nAnswer:",
        ..CLOZE
    },
    GENERATE,
    Style {
        name: "direct",
        about: "the model answers at once with \"the answer is (X)\"",
        description: "The following are multiple choice questions (with answers) about {subject}. Do not explain; answer with \"the answer is (X)\" where X is the correct letter choice.\n",
        block: "Question:\n{question}\nOptions:\n{options}Answer:",
        shot_block: "Question:\n{question}\nOptions:\n{options}Answer:",
        answer: ShotAnswer::Sentence("The answer is ({letter})."),
        ..GENERATE
    },
];
