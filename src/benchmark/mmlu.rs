//! MMLU: 57 subjects in four categories, four options a question, scored by the likelihood of the letters.

use super::style::{Examples, Method, Part, Scored, ShotAnswer, ShotTurn, Style, Target};
use super::tested24::with_tested;
use super::{Benchmark, Embedded, Form};

pub static MMLU: Benchmark = Benchmark {
    name: "mmlu",
    title: "MMLU",
    form: Form::Mmlu,
    hub_id: "cais/mmlu",
    hub_config: "all",
    splits: &[&["test"], &["validation", "val"], &["dev"]],
    example_splits: &["dev"],
    columns: &["question", "subject", "choices", "answer"],
    styles: STYLES,
    embedded: Some(Embedded {
        test: include_str!("../../assets/exam/mmlu_test.jsonl"),
        examples: include_str!("../../assets/exam/mmlu_dev.jsonl"),
    }),
};

const DESCRIPTION: &str = "The following are multiple choice questions (with answers) about {subject}.\n\n";

const LM_EVAL: Style = Style {
    name: "lm_eval",
    about: "the reference harness's mmlu",
    version: "1.0",
    method: Method::Cloze { scored: Scored::Letter },
    description: DESCRIPTION,
    block: "{question}\n{options}Answer:",
    shot_block: "{question}\n{options}Answer:",
    option: "{letter}. {option}\n",
    stripped: &[Part::Question],
    left_out: None,
    most_options: 26,
    answer: ShotAnswer::Gold,
    shot_turn: ShotTurn::Assistant,
    delimiter: " ",
    separator: "\n\n",
    target: Target::Stored,
    examples: Examples::OfSubject,
    sheds_examples: false,
};

/// The styles of MMLU, the default first. Its examples have no worked answers.
pub const STYLES: &[Style] = &with_tested::<5, 53>(&OWN, ShotAnswer::Sentence("The answer is ({letter})."));

const OWN: [Style; 5] = [
    LM_EVAL,
    Style {
        name: "question",
        about: "a `Question:` line, the lettered options, `Answer:`; no subject line",
        version: "",
        description: "",
        block: "Question: {question}\n{options}Answer:",
        shot_block: "Question: {question}\n{options}Answer:",
        ..LM_EVAL
    },
    Style {
        name: "lm_eval_continuation",
        about: "the reference harness's mmlu_continuation: options not shown, the whole answer text scored",
        method: Method::Cloze { scored: Scored::Text },
        description: "The following are questions (with answers) about {subject}.\n\n",
        block: "Question: {question}\nAnswer:",
        shot_block: "Question: {question}\nAnswer:",
        ..LM_EVAL
    },
    Style {
        name: "answer_text",
        about: "the harness's mmlu prompt, the whole answer text scored instead of its letter",
        version: "",
        method: Method::Cloze { scored: Scored::Text },
        ..LM_EVAL
    },
    Style {
        name: "lm_eval_generative",
        about: "the reference harness's mmlu_generative: the model writes the letter",
        version: "3.0",
        method: Method::Generate {
            rule: "lm_eval_mmlu_generative",
            stops: &["</s>", "\n"],
            max_tokens: 256,
        },
        target: Target::Letter,
        ..LM_EVAL
    },
];

/// The category that the reference harness counts a subject to.
pub fn category_of(subject: &str) -> Option<&'static str> {
    CATEGORIES
        .iter()
        .find(|(_, subjects)| subjects.contains(&subject))
        .map(|(category, _)| *category)
}

/// The four categories with their subjects.
pub const CATEGORIES: &[(&str, &[&str])] = &[
    (
        "STEM",
        &[
            "abstract_algebra",
            "anatomy",
            "astronomy",
            "college_biology",
            "college_chemistry",
            "college_computer_science",
            "college_mathematics",
            "college_physics",
            "computer_security",
            "conceptual_physics",
            "electrical_engineering",
            "elementary_mathematics",
            "high_school_biology",
            "high_school_chemistry",
            "high_school_computer_science",
            "high_school_mathematics",
            "high_school_physics",
            "high_school_statistics",
            "machine_learning",
        ],
    ),
    (
        "Humanities",
        &[
            "formal_logic",
            "high_school_european_history",
            "high_school_us_history",
            "high_school_world_history",
            "international_law",
            "jurisprudence",
            "logical_fallacies",
            "moral_disputes",
            "moral_scenarios",
            "philosophy",
            "prehistory",
            "professional_law",
            "world_religions",
        ],
    ),
    (
        "Social Sciences",
        &[
            "econometrics",
            "high_school_geography",
            "high_school_government_and_politics",
            "high_school_macroeconomics",
            "high_school_microeconomics",
            "high_school_psychology",
            "human_sexuality",
            "professional_psychology",
            "public_relations",
            "security_studies",
            "sociology",
            "us_foreign_policy",
        ],
    ),
    (
        "Other",
        &[
            "business_ethics",
            "clinical_knowledge",
            "college_medicine",
            "global_facts",
            "human_aging",
            "management",
            "marketing",
            "medical_genetics",
            "miscellaneous",
            "nutrition",
            "professional_accounting",
            "professional_medicine",
            "virology",
        ],
    ),
];
