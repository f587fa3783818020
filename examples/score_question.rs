//! Scores one question of the embedded exam the way the harness does: one forward pass, four log-likelihoods.
//!
//! `cargo run --release --example score_question -- MODEL`, where MODEL is a folder, a .gguf file, a hub id or
//! `smollm2-135m` (the default).

#![allow(clippy::print_stdout)] // what it shows is its point

use std::ops::ControlFlow;

use anyhow::Result;
use markbook::benchmark::{self, DataSource, PromptPlan};
use markbook::engine::{self, Ask, Control, Event, Opened, Options, Request, Spec};
use markbook::hub::{self, ModelName};

fn main() -> Result<()> {
    let name = std::env::args().nth(1).unwrap_or_else(|| hub::SMALL.to_owned());
    let spec = Spec::Local {
        model: ModelName::parse(&name)?,
        options: Options::default(),
    };
    let Opened { mut engine, .. } = engine::open(&spec, &mut |_| ControlFlow::Continue(()))?;

    let mmlu = benchmark::find("mmlu")?;
    let exam = benchmark::load(mmlu, &DataSource::Embedded, "test")?;
    let question = &exam.questions[0];
    let plan = PromptPlan::plain(mmlu.default_style(), 0);
    let rendered = benchmark::render(&exam, question, &plan)?;
    println!("{}", rendered.prompt);

    let request = Request {
        id: 0,
        lane: 0,
        prompt: rendered.prompt.into(),
        add_special_tokens: true,
        ask: Ask::Score {
            continuations: rendered.continuations.clone(),
        },
    };
    engine.run(vec![request], &Control::new(1), &mut |event| {
        if let Event::Scored { scores, .. } = event {
            for (continuation, score) in rendered.continuations.iter().zip(&scores.log_likelihoods) {
                println!("{continuation:?} {score:.4}");
            }
            println!(
                "gold {}, best token {:?}",
                question.answer,
                scores.top_token.unwrap_or_default()
            );
        }
        ControlFlow::Continue(())
    })
}
