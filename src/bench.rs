//! The work that is measured: prompts of the embedded exams, or of a set of one's own, as requests to the engine.

use anyhow::Result;

use crate::benchmark::{self, DataSource, Dataset, PromptPlan, Prompter, Slice};
use crate::engine::bench::Work;
use crate::engine::{Ask, Request, Sampling};

/// Questions of a benchmark, in a source.
pub fn questions(name: &str, source: &DataSource, slice: &Slice) -> Result<Dataset> {
    let mut dataset = benchmark::load(benchmark::find(name)?, source, "test")?;
    benchmark::select(&mut dataset, slice)?;
    Ok(dataset)
}

/// The embedded questions of a benchmark whose subject has enough examples for so many shots.
fn embedded(name: &str, shots: usize) -> Result<Dataset> {
    let mut dataset = questions(name, &DataSource::Embedded, &Slice::default())?;
    let examples = std::mem::take(&mut dataset.examples);
    let has_enough = |subject: &String| examples.get(subject).is_some_and(|examples| examples.len() >= shots);
    dataset
        .questions
        .retain(|question| shots == 0 || has_enough(&question.subject));
    dataset.examples = examples;
    Ok(dataset)
}

/// The prompts of a cloze exam as the harness makes them, each with its choices to be scored.
pub fn cloze(dataset: &Dataset, shots: usize) -> Result<Vec<Request>> {
    let plan = PromptPlan::plain(dataset.benchmark.default_style(), shots);
    let prompter = Prompter::new(dataset, &plan)?;
    let asked = dataset.questions.iter().enumerate().map(|(id, question)| {
        let rendered = prompter.render(question)?;
        let continuations = rendered.continuations;
        Ok(request(id, rendered.prompt, Ask::Score { continuations }))
    });
    asked.collect()
}

/// The embedded cloze exam.
fn embedded_cloze(shots: usize) -> Result<Vec<Request>> {
    cloze(&embedded("mmlu", shots)?, shots)
}

/// The embedded cloze exam, 0-shot, in an order of which every beginning takes questions from everywhere.
fn spread_cloze() -> Result<Vec<Request>> {
    const STRIDE: usize = 12;
    let mut requests = embedded_cloze(0)?;
    requests.sort_by_key(|request| (request.id % STRIDE, request.id));
    requests
        .iter_mut()
        .enumerate()
        .for_each(|(at, request)| request.id = at);
    Ok(requests)
}

/// So many embedded questions, five seeds each, up to 128 tokens a completion.
fn five_seeds(count: usize) -> Result<Vec<Request>> {
    let sampling = Sampling {
        temperature: 1.0,
        top_p: 0.95,
        top_k: 64,
        max_tokens: 128,
        stops: Vec::new(),
    };
    let dataset = embedded("mmlu_pro", 0)?;
    let plan = PromptPlan::plain(dataset.benchmark.default_style(), 0);
    let prompter = Prompter::new(&dataset, &plan)?;
    let asked = dataset.questions.iter().take(count).enumerate().map(|(id, question)| {
        let ask = Ask::Sample {
            sampling: sampling.clone(),
            seeds: (42..47).collect(),
            stream: crate::run::stream_of(dataset.benchmark.name, question.id),
        };
        Ok(request(id, prompter.render(question)?.prompt, ask))
    });
    asked.collect()
}

/// The embedded exams, as `bench` measures them.
pub fn work() -> Result<Work> {
    Ok(Work {
        cloze_0shot: embedded_cloze(0)?,
        cloze_5shot: embedded_cloze(5)?,
        sampled: five_seeds(32)?,
        compared: spread_cloze()?,
        source: "embedded mmlu questions, 0-shot".to_owned(),
    })
}

fn request(id: usize, prompt: String, ask: Ask) -> Request {
    Request {
        id,
        lane: 0,
        prompt: prompt.into(),
        add_special_tokens: true,
        ask,
    }
}
