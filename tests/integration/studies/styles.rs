//! The 24 styles against the authors' file.

use markbook::benchmark::{DataSource, PromptPlan, Prompter, Question, find, load, tested24};

use crate::shared_path;

/// Openings and formats as the authors' file has them.
fn authors() -> Option<(Vec<String>, Vec<String>)> {
    let text = std::fs::read_to_string(shared_path("golden/stats/tested_24_prompt_styles.txt")?).unwrap();
    let openings = text
        .lines()
        .filter_map(|line| line.split_once(". ").filter(|(number, _)| number.parse::<u8>().is_ok()));
    let openings = openings.map(|(_, opening)| opening.to_owned()).collect();
    let formats = text.split("example format:  ").skip(1).map(|part| {
        let (_, body) = part.split_once("\n\n").unwrap();
        body.split("\n----------------------").next().unwrap().to_owned()
    });
    Some((openings, formats.collect()))
}

fn example() -> Question {
    let deviations = ["4", "3", "1", "0.1"];
    Question {
        subject: "college_physics".into(),
        question: "The quantum efficiency of a photon detector is 0.1. If 100 photons are sent into the detector, one after the \
            other, the detector will detect photons"
            .into(),
        options: deviations.map(|by| format!("an average of 10 times, with an rms deviation of about {by}")).to_vec(),
        ..Question::default()
    }
}

#[test]
fn the_24_styles_are_the_authors_to_the_byte() {
    let Some((openings, formats)) = authors() else { return };
    assert_eq!((openings.len(), formats.len()), (4, 6));
    for benchmark in ["mmlu", "mmlu_pro"] {
        let benchmark = find(benchmark).unwrap();
        let dataset = load(benchmark, &DataSource::Embedded, "test").unwrap();
        for end in ["", "_cloze", "_generative"] {
            let Some(names) = tested24::family(&format!("tested24{end}")) else {
                panic!("{end}")
            };
            for (at, name) in names.iter().enumerate() {
                assert_eq!(**name, format!("tested24_o{}f{}{end}", at / 6 + 1, at % 6 + 1));
                let Ok(style) = benchmark.style(name) else {
                    assert_eq!(
                        end,
                        if benchmark.name == "mmlu" {
                            "_cloze"
                        } else {
                            "_generative"
                        }
                    );
                    continue;
                };
                let plan = PromptPlan::plain(style, 0);
                let rendered = Prompter::new(&dataset, &plan).unwrap().render(&example()).unwrap();
                let opening = openings[at / 6].replace("{subject}", "college physics");
                assert_eq!(rendered.prompt, format!("{opening}\n\n{}", formats[at % 6]), "{name}");
                let is_cloze = style.is_cloze();
                assert_eq!(
                    is_cloze,
                    (benchmark.name == "mmlu") == (end != "_generative") || end == "_cloze"
                );
                // The letter follows the cue after one blank, wherever that blank stands.
                let first = rendered
                    .continuations
                    .first()
                    .map(|letter| format!("{}{letter}", rendered.prompt));
                assert!(
                    first.is_none_or(|text| text.ends_with(" A") && !text.ends_with("  A")),
                    "{name}"
                );
            }
        }
    }
}

#[test]
fn examples_carry_their_letter_or_their_worked_answer_without_its_first_words() {
    let prompt = |benchmark: &str, style: &str| {
        let benchmark = find(benchmark).unwrap();
        let dataset = load(benchmark, &DataSource::Embedded, "test").unwrap();
        let plan = PromptPlan::plain(benchmark.style(style).unwrap(), 1);
        Prompter::new(&dataset, &plan)
            .unwrap()
            .render(&dataset.questions[0])
            .unwrap()
            .prompt
    };
    let scored = prompt("mmlu", "tested24_o1f5");
    let cue = scored.split("\nYour choice: ").nth(1).unwrap();
    assert!(matches!(cue.as_bytes(), [b'A'..=b'D', b'\n', b'\n', ..]), "{cue:?}");
    let written = prompt("mmlu_pro", "tested24_o2f2");
    let answer = written.split("**Correct Answer**: ").nth(1).unwrap();
    assert!(
        !answer.starts_with("A:") && !answer.contains("Let's think step by step"),
        "{answer}"
    );
    assert!(
        answer.contains("The answer is (") && written.starts_with("You are an expert in "),
        "{written}"
    );
    let sentence = prompt("mmlu", "tested24_o3f1_generative");
    assert!(sentence.contains("Correct Answer: The answer is ("), "{sentence}");
}

#[test]
fn an_unknown_style_is_refused_with_a_list_that_stays_short() {
    let error = find("mmlu").unwrap().style("tested24_o5f1").unwrap_err().to_string();
    assert!(
        error.contains("tested24_o1f1 to tested24_o4f6") && error.len() < 300,
        "{error}"
    );
}
