//! MMLU-Pro: 14 categories, up to ten options a question, answered by writing out a chain of thought.

use super::style::{Examples, Method, Part, Scored, ShotAnswer, ShotTurn, Style, Target};
use super::tested24::with_tested;
use super::{Benchmark, Embedded, Form};

pub static MMLU_PRO: Benchmark = Benchmark {
    name: "mmlu_pro",
    title: "MMLU-Pro",
    form: Form::MmluPro,
    hub_id: "TIGER-Lab/MMLU-Pro",
    hub_config: "data",
    splits: &[&["test"], &["validation", "val", "dev"]],
    example_splits: &["validation", "val", "dev"],
    columns: &["question", "options", "answer", "category"],
    styles: STYLES,
    embedded: Some(Embedded {
        test: include_str!("../../assets/exam/mmlu_pro_test.jsonl"),
        examples: include_str!("../../assets/exam/mmlu_pro_validation.jsonl"),
    }),
};

pub(super) const LM_EVAL: Style = Style {
    name: "lm_eval",
    about: "the reference harness's mmlu_pro 3.1: options stripped, step by step",
    version: "3.1",
    method: Method::Generate {
        rule: "lm_eval_mmlu_pro",
        stops: &["Question:"],
        max_tokens: 2048,
    },
    description: "The following are multiple choice questions (with answers) about {subject}. Think step by step and then finish your answer with \"the answer is (X)\" where X is the correct letter choice.\n",
    block: "Question:\n{question}\nOptions:\n{options}Answer: Let's think step by step.",
    shot_block: "Question:\n{question}\nOptions:\n{options}Answer: Let's think step by step.",
    option: "{letter}. {option}\n",
    stripped: &[Part::Options],
    left_out: None,
    most_options: 10,
    answer: ShotAnswer::Reasoning {
        from: "A: Let's think step by step. ",
        to: "",
    },
    shot_turn: ShotTurn::Assistant,
    delimiter: " ",
    separator: "\n\n",
    target: Target::Stored,
    examples: Examples::OfSubject,
    sheds_examples: false,
};

/// The styles of MMLU-Pro, the default first.
pub const STYLES: &[Style] = &with_tested::<5, 53>(&OWN, LM_EVAL.answer);

const OWN: [Style; 5] = [
    LM_EVAL,
    Style {
        name: "lm_eval_2.1",
        about: "the reference harness's mmlu_pro 2.1: options not stripped, examples in the user's turn",
        version: "2.1",
        method: Method::Generate {
            rule: "lm_eval_mmlu_pro",
            stops: &["</s>", "Q:", "<|im_end|>"],
            max_tokens: 2048,
        },
        stripped: &[],
        shot_turn: ShotTurn::User,
        ..LM_EVAL
    },
    Style {
        name: "tiger",
        about: "the MMLU-Pro authors' local script: N/A options left out, four line breaks after the description",
        version: "",
        method: Method::Generate {
            rule: "tiger_chain",
            stops: &["Question:"],
            max_tokens: 2048,
        },
        description: "The following are multiple choice questions (with answers) about {subject}. Think step by step and then finish your answer with \"the answer is (X)\" where X is the correct letter choice.\n\n\n\n",
        shot_block: "Question:\n{question}\nOptions:\n{options}",
        stripped: &[],
        left_out: Some("N/A"),
        most_options: 16,
        answer: ShotAnswer::Reasoning {
            from: "A: Let's think step by step.",
            to: "Answer: Let's think step by step.",
        },
        shot_turn: ShotTurn::User,
        delimiter: "",
        sheds_examples: true,
        ..LM_EVAL
    },
    Style {
        name: "direct",
        about: "the answer at once, without a chain of thought",
        version: "",
        description: "The following are multiple choice questions (with answers) about {subject}. Do not explain; answer with \"the answer is (X)\" where X is the correct letter choice.\n",
        block: "Question:\n{question}\nOptions:\n{options}Answer:",
        shot_block: "Question:\n{question}\nOptions:\n{options}Answer:",
        answer: ShotAnswer::Sentence("The answer is ({letter})."),
        ..LM_EVAL
    },
    Style {
        name: "lm_eval_leaderboard",
        about: "the reference harness's leaderboard_mmlu_pro: the likelihood of the letters, no description",
        version: "0.1",
        method: Method::Cloze { scored: Scored::Letter },
        description: "",
        block: "{question}\n{options}Answer:",
        shot_block: "{question}\n{options}Answer:",
        stripped: &[],
        most_options: 26,
        answer: ShotAnswer::Gold,
        examples: Examples::OfSplit,
        ..LM_EVAL
    },
];

#[cfg(test)]
mod tests {
    use super::super::{DataSource, PromptPlan, Prompter, load};
    use super::*;

    #[test]
    fn the_leaderboard_shows_every_question_the_first_examples_of_the_whole_split() {
        let dataset = load(&MMLU_PRO, &DataSource::Embedded, "test").unwrap();
        let plan = PromptPlan::plain(MMLU_PRO.style("lm_eval_leaderboard").unwrap(), 2);
        let prompter = Prompter::new(&dataset, &plan).unwrap();
        let mut all: Vec<_> = dataset.examples.values().flatten().collect();
        all.sort_by_key(|example| example.id);
        assert_ne!(all[0].subject, all[1].subject, "the split goes across subjects");
        for question in &dataset.questions {
            let prompt = prompter.render(question).unwrap().prompt;
            assert!(prompt.starts_with(&all[0].question), "{prompt}");
            assert!(prompt.contains(&format!("\n\n{}\n", all[1].question)), "{prompt}");
        }
    }
}
