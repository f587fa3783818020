//! How fast this machine is with a model: each measurement a fixed time, as much of its work as fits.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde::Serialize;

use crate::benchmark::{self, DataSource, PromptPlan, Prompter};
use crate::engine::candle::CandleEngine;
use crate::engine::candle::bench::{Stopwatch, flops_per_token, peak_gflops, prefill};
use crate::engine::candle::forward::Scratch;
use crate::engine::candle::schedule::process_cpu_seconds;
use crate::engine::{Ask, Control, Engine, Event, Request, Sampling};

/// Seconds that each of the five measurements may take; all end well within 45.
const BUDGET: Duration = Duration::from_secs(8);

/// Tokens of a prefill prompt, and how many of them are packed.
const PREFILL: (usize, usize) = (128, 16);

/// What `markbook bench --json` prints. Speeds are per CPU second of the process.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    pub threads: usize,
    pub dtype: String,
    pub kernel: String,
    pub model: String,
    /// Of an f32 product of two 1024 x 1024 matrices on one thread, by the gemm crate.
    pub peak_gflops: f64,
    pub prefill: Prefill,
    pub cloze_0shot: Cloze,
    pub cloze_5shot: Cloze,
    pub sample_5seeds: Sampled,
    pub wall_s: f64,
}

#[derive(Debug, Clone, Copy, Serialize)]
pub struct Prefill {
    pub tokens_per_cpu_s: f64,
    /// Work of the layers' products over the f32 peak.
    pub share_of_peak: f64,
    pub tokens: u64,
    pub cpu_s: f64,
    pub wall_s: f64,
}

#[derive(Debug, Clone, Copy, Serialize)]
pub struct Cloze {
    pub questions_per_cpu_s: f64,
    pub questions: usize,
    /// Tokens of the prompts that were answered, shared ones counted for each.
    pub tokens: u64,
    pub cpu_s: f64,
    pub wall_s: f64,
}

#[derive(Debug, Clone, Copy, Serialize)]
pub struct Sampled {
    /// Generated tokens over the CPU seconds of decoding, prefill left out.
    pub tokens_per_cpu_s: f64,
    pub tokens: u64,
    pub rows: usize,
    pub cpu_s: f64,
    pub wall_s: f64,
}

/// What one measurement came to.
#[derive(Debug, Clone, Copy, Default)]
struct Measured {
    answers: usize,
    tokens_in: u64,
    tokens_logical: u64,
    tokens_out: u64,
    rows: usize,
    cpu_s: f64,
    stepping_cpu_s: f64,
    wall_s: f64,
}

/// Measures an engine. `tell` hears what is being measured.
///
/// # Errors
/// When the model cannot answer at all, or the platform does not tell CPU time.
pub fn measure(engine: &mut CandleEngine, name: &str, tell: &mut dyn FnMut(&str)) -> Result<Report> {
    process_cpu_seconds().context("this platform does not tell a process's CPU time")?;
    let begun = Instant::now();
    tell("the machine's f32 peak");
    let peak_gflops = peak_gflops(2.0);
    tell("prefill");
    let prefill = prefills(engine)?;
    let flops = flops_per_token(engine);
    tell("cloze, 0-shot");
    let requests = cloze_requests(0, engine)?;
    let cloze_0shot = cloze(run(engine, requests)?);
    tell("cloze, 5-shot");
    let requests = cloze_requests(5, engine)?;
    let cloze_5shot = cloze(run(engine, requests)?);
    tell("sampling, five seeds");
    let requests = sample_requests(engine)?;
    engine.ignores_eos = true;
    let sampled = run(engine, requests);
    engine.ignores_eos = false;
    let sampled = sampled?;
    let description = engine.describe();
    let prefill_rate = rate(prefill.tokens_in as f64, prefill.cpu_s);
    Ok(Report {
        threads: description.threads,
        dtype: description.dtype,
        kernel: description.kernel,
        model: name.to_owned(),
        peak_gflops,
        prefill: Prefill {
            tokens_per_cpu_s: prefill_rate,
            share_of_peak: prefill_rate * flops / 1e9 / peak_gflops,
            tokens: prefill.tokens_in,
            cpu_s: prefill.cpu_s,
            wall_s: prefill.wall_s,
        },
        cloze_0shot,
        cloze_5shot,
        sample_5seeds: Sampled {
            tokens_per_cpu_s: rate(sampled.tokens_out as f64, sampled.stepping_cpu_s),
            tokens: sampled.tokens_out,
            rows: sampled.rows,
            cpu_s: sampled.stepping_cpu_s,
            wall_s: sampled.wall_s,
        },
        wall_s: begun.elapsed().as_secs_f64(),
    })
}

fn rate(work: f64, seconds: f64) -> f64 {
    if seconds > 0.0 { work / seconds } else { 0.0 }
}

fn cloze(measured: Measured) -> Cloze {
    Cloze {
        questions_per_cpu_s: rate(measured.answers as f64, measured.cpu_s),
        questions: measured.answers,
        tokens: measured.tokens_logical,
        cpu_s: measured.cpu_s,
        wall_s: measured.wall_s,
    }
}

/// Packed passes over prompts of [`PREFILL`] tokens for the time budget, the head left out.
fn prefills(engine: &CandleEngine) -> Result<Measured> {
    let (length, packed) = PREFILL;
    let mut scratch = Scratch::default();
    let mut measured = Measured::default();
    let watch = Stopwatch::start();
    while measured.tokens_in == 0 || watch.spent().wall_s < BUDGET.as_secs_f64() {
        measured.tokens_in += prefill(engine, &vec![length; packed], &mut scratch)? as u64;
    }
    let spent = watch.spent();
    measured.cpu_s = spent.cpu_s;
    measured.wall_s = spent.wall_s;
    Ok(measured)
}

/// Runs requests for the time budget.
fn run(engine: &mut CandleEngine, requests: Vec<Request>) -> Result<Measured> {
    let begun = Instant::now();
    let cpu = process_cpu_seconds().unwrap_or(0.0);
    let mut measured = Measured::default();
    let mut failure = None;
    engine.run(requests, &Control::new(1), &mut |event| {
        match event {
            Event::Scored { .. } => measured.answers += 1,
            Event::Failed { reason, .. } => failure = Some(reason),
            Event::Pulse(pulse) => measured.rows = measured.rows.max(pulse.in_flight),
            Event::Progress { .. } | Event::Completed { .. } => {}
        }
        // At least one whole pass: something was answered or written.
        let has_begun = measured.answers > 0 || measured.rows > 0;
        if begun.elapsed() > BUDGET && has_begun {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    if let Some(reason) = failure {
        anyhow::bail!("the model cannot answer the measured work: {reason}");
    }
    measured.cpu_s = process_cpu_seconds().unwrap_or(0.0) - cpu;
    measured.wall_s = begun.elapsed().as_secs_f64();
    measured.tokens_in = engine.last.pulse.tokens_in;
    measured.tokens_logical = engine.last.pulse.tokens_in_logical;
    measured.tokens_out = engine.last.pulse.tokens_out;
    measured.stepping_cpu_s = engine.last.stepping_cpu_s;
    Ok(measured)
}

/// The prompts of an embedded exam.
fn prompts(name: &str, shots: usize) -> Result<Vec<(i64, String, Vec<String>)>> {
    let benchmark = benchmark::find(name)?;
    let mut dataset = benchmark::load(benchmark, &DataSource::Embedded, "test")?;
    let examples = dataset.examples.clone();
    dataset.questions.retain(|question| {
        shots == 0
            || examples
                .get(&question.subject)
                .is_some_and(|examples| examples.len() >= shots)
    });
    let plan = PromptPlan::plain(benchmark.default_style(), shots);
    let prompter = Prompter::new(&dataset, &plan)?;
    dataset
        .questions
        .iter()
        .map(|question| {
            let rendered = prompter.render(question)?;
            Ok((question.id, rendered.prompt, rendered.continuations))
        })
        .collect()
}

fn cloze_requests(shots: usize, _: &CandleEngine) -> Result<Vec<Request>> {
    Ok(prompts("mmlu", shots)?
        .into_iter()
        .enumerate()
        .map(|(id, (_, prompt, continuations))| request(id, prompt, Ask::Score { continuations }))
        .collect())
}

fn request(id: usize, prompt: String, ask: Ask) -> Request {
    Request {
        id,
        lane: 0,
        prompt,
        add_special_tokens: false,
        ask,
    }
}

/// Up to 32 questions with five seeds each, prompts cut to their last 64 tokens, 128 tokens a completion.
fn sample_requests(engine: &CandleEngine) -> Result<Vec<Request>> {
    let sampling = Sampling {
        temperature: 1.0,
        top_p: 0.95,
        top_k: 64,
        max_tokens: 128,
        stops: Vec::new(),
    };
    let mut requests = Vec::new();
    for (id, (question, prompt, _)) in prompts("mmlu_pro", 0)?.into_iter().take(32).enumerate() {
        let tokens = engine.tokenizer.encode(&prompt, false)?;
        let text = engine.tokenizer.decode(&tokens[tokens.len().saturating_sub(64)..]);
        let ask = Ask::Sample {
            sampling: sampling.clone(),
            seeds: (42..47).collect(),
            stream: crate::run::stream_of("mmlu_pro", question),
        };
        requests.push(request(id, text, ask));
    }
    Ok(requests)
}
