//! How fast this machine is with a model: each measurement a fixed time, as much of its work as fits.

pub mod families;
pub mod memory;
pub mod rounding;
pub mod work;

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::Serialize;

use crate::engine::candle::CandleEngine;
use crate::engine::candle::bench::{Peak, Stopwatch, flops_per_token, prefill};
use crate::engine::candle::forward::Scratch;
use crate::engine::candle::schedule::process_cpu_seconds;
use crate::engine::{Control, Engine, Event, Request, Rounding};

use memory::{Gauge, Memory};

/// What all measurements may take together, so that everything ends within 45 seconds, loading included.
pub const ALL: Duration = Duration::from_secs(40);

/// Seconds that one may take at most.
const LONGEST: Duration = Duration::from_secs(10);

/// What part of the time each measurement gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Share {
    Prefill = 9,
    Cloze = 6,
    FiveSeeds = 7,
    FiveRows = 4,
    Rounding = 8,
}

/// Questions enough for a figure of the rounding, which is then not measured again.
const ROUNDING_QUESTIONS: usize = 24;

/// Tokens of a prefill prompt, and how many of them are packed.
const PREFILL: (usize, usize) = (128, 16);

/// What `markbook bench --json` prints. Speeds are per CPU second of the process.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    pub threads: usize,
    pub dtype: String,
    pub dtype_reason: String,
    pub kernel: String,
    pub model: String,
    /// Of an f32 product of two 1024 x 1024 matrices on one thread, by the gemm crate, between the prefill's passes.
    pub peak_gflops: f64,
    pub prefill: Prefill,
    pub cloze_0shot: Cloze,
    pub cloze_5shot: Cloze,
    /// 32 rows kept full: up to 32 questions, five seeds each.
    pub sample_5seeds: Sampled,
    /// Five rows: one question at a time, five seeds.
    pub sample_5rows: Sampled,
    /// How far the number format's log-likelihoods lie from f32's, measured here or before; null in f32.
    pub rounding: Option<Rounding>,
    pub memory: Memory,
    pub load_cpu_s: f64,
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
    pub cpu_s_per_question: f64,
    pub questions: usize,
    /// Tokens of the prompts that were answered, shared ones counted for each.
    pub tokens: u64,
    pub cpu_s: f64,
    pub wall_s: f64,
}

#[derive(Debug, Clone, Copy, Serialize)]
pub struct Sampled {
    /// Tokens generated in decoding steps, over the CPU seconds of those; prefill left out.
    pub tokens_per_cpu_s: f64,
    pub tokens: u64,
    /// Completions that went on together.
    pub rows: usize,
    pub cpu_s: f64,
    pub wall_s: f64,
}

/// What a run of requests came to.
#[derive(Debug, Clone, Copy, Default)]
struct Measured {
    answers: usize,
    rows: usize,
    cpu_s: f64,
    wall_s: f64,
}

/// Measurements at work.
struct Bench<'a> {
    engine: &'a mut CandleEngine,
    gauge: &'a mut Gauge,
    begun: Instant,
    /// When all should be over.
    all: Duration,
    /// Parts of the time that are still to be given.
    parts_left: u32,
}

/// What a measurement is told.
#[derive(Debug)]
pub struct Setup<'a> {
    /// The model's name, for the report.
    pub name: &'a str,
    /// What all measurements may take together.
    pub all: Duration,
    /// What is known of the rounding; over enough questions, it is not measured again.
    pub rounding: Option<Rounding>,
    /// Has watched the memory while the model was loaded.
    pub gauge: &'a mut Gauge,
}

/// Measures an engine. `tell` hears what is being measured.
///
/// # Errors
/// When the model cannot answer at all, or the platform does not tell CPU time.
pub fn measure(engine: &mut CandleEngine, setup: Setup, tell: &mut dyn FnMut(&str)) -> Result<Report> {
    process_cpu_seconds().context("this platform does not tell a process's CPU time")?;
    let Setup { name, all, gauge, .. } = setup;
    let known = setup.rounding.filter(|known| known.questions >= ROUNDING_QUESTIONS);
    let measures_rounding = rounding::applies(engine) && known.is_none();
    let shares = [
        Share::Prefill,
        Share::Cloze,
        Share::Cloze,
        Share::FiveSeeds,
        Share::FiveRows,
    ];
    let mut bench = Bench {
        engine,
        gauge,
        begun: Instant::now(),
        all,
        parts_left: shares.map(|share| share as u32).iter().sum::<u32>()
            + if measures_rounding { Share::Rounding as u32 } else { 0 },
    };
    tell("prefill, and the machine's f32 peak");
    let (peak_gflops, prefill) = bench.prefill()?;
    tell("cloze, 0-shot");
    let cloze_0shot = bench.cloze(0)?;
    tell("cloze, 5-shot");
    let cloze_5shot = bench.cloze(5)?;
    tell("sampling, five seeds, 32 rows");
    let batch = bench.engine.batch;
    let sample_5seeds = bench.sample(Share::FiveSeeds, batch)?;
    tell("sampling, five rows");
    let sample_5rows = bench.sample(Share::FiveRows, 5)?;
    let rounding = if measures_rounding {
        tell("how far its log-likelihoods lie from f32's");
        Some(bench.rounding(prefill.tokens_per_cpu_s)?)
    } else {
        known
    };
    let wall_s = bench.begun.elapsed().as_secs_f64();
    let description = engine.describe();
    Ok(Report {
        threads: description.threads,
        dtype: description.dtype,
        dtype_reason: description.dtype_reason,
        kernel: description.kernel,
        model: name.to_owned(),
        peak_gflops,
        prefill,
        cloze_0shot,
        cloze_5shot,
        sample_5seeds,
        sample_5rows,
        rounding,
        memory: gauge.read(engine),
        load_cpu_s: description.load_cpu_s,
        wall_s,
    })
}

fn rate(work: f64, seconds: f64) -> f64 {
    if seconds > 0.0 { work / seconds } else { 0.0 }
}

impl Bench<'_> {
    /// The time that a measurement may take: its part of what is left.
    fn budget(&mut self, share: Share) -> Duration {
        let left = self.all.saturating_sub(self.begun.elapsed());
        let budget = left.mul_f64(f64::from(share as u32) / f64::from(self.parts_left));
        self.parts_left -= share as u32;
        budget.min(LONGEST)
    }

    /// Packed passes over prompts of [`PREFILL`] tokens, the head left out, and square products before and after each.
    fn prefill(&mut self) -> Result<(f64, Prefill)> {
        let budget = self.budget(Share::Prefill).as_secs_f64();
        let (length, packed) = PREFILL;
        let mut scratch = Scratch::default();
        let mut peak = Peak::default();
        let (mut tokens, mut cpu_s) = (0, 0.0);
        let all = Stopwatch::start();
        peak.work(budget / 12.0);
        loop {
            let watch = Stopwatch::start();
            tokens += prefill(self.engine, &vec![length; packed], &mut scratch)?;
            cpu_s += watch.spent().cpu_s;
            self.gauge.look();
            peak.work(budget / 12.0);
            // Another pass only where it fits.
            let spent = all.spent().wall_s;
            if spent + (watch.spent().wall_s) > budget {
                break;
            }
        }
        let tokens_per_cpu_s = rate(tokens as f64, cpu_s);
        let peak_gflops = peak.gflops();
        let prefill = Prefill {
            tokens_per_cpu_s,
            share_of_peak: tokens_per_cpu_s * flops_per_token(self.engine) / 1e9 / peak_gflops,
            tokens: tokens as u64,
            cpu_s,
            wall_s: all.spent().wall_s,
        };
        Ok((peak_gflops, prefill))
    }

    fn cloze(&mut self, shots: usize) -> Result<Cloze> {
        let requests = work::embedded_cloze(shots)?;
        let budget = self.budget(Share::Cloze);
        let measured = self.run(requests, budget)?;
        Ok(Cloze {
            questions_per_cpu_s: rate(measured.answers as f64, measured.cpu_s),
            cpu_s_per_question: rate(measured.cpu_s, measured.answers as f64),
            questions: measured.answers,
            tokens: self.engine.last.pulse.tokens_in_logical,
            cpu_s: measured.cpu_s,
            wall_s: measured.wall_s,
        })
    }

    fn sample(&mut self, share: Share, batch: usize) -> Result<Sampled> {
        let requests = work::five_seeds(self.engine, 32)?;
        let budget = self.budget(share);
        let before = std::mem::replace(&mut self.engine.batch, batch);
        self.engine.ignores_eos = true;
        let measured = self.run(requests, budget);
        self.engine.ignores_eos = false;
        self.engine.batch = before;
        let (measured, last) = (measured?, self.engine.last);
        Ok(Sampled {
            tokens_per_cpu_s: rate(last.stepped_tokens as f64, last.stepping_cpu_s),
            tokens: last.stepped_tokens,
            rows: measured.rows,
            cpu_s: last.stepping_cpu_s,
            wall_s: measured.wall_s,
        })
    }

    /// Up to [`ROUNDING_QUESTIONS`] of the embedded questions, as many as fit by the speed of the prefill.
    fn rounding(&mut self, tokens_per_cpu_s: f64) -> Result<Rounding> {
        // A token takes once its time, and twice that in f32; half the machine may belong to others.
        let tokens = self.budget(Share::Rounding).as_secs_f64() * tokens_per_cpu_s / 3.0 / 1.5;
        let requests = rounding::affordable(self.engine, tokens as usize, ROUNDING_QUESTIONS)?;
        let gauge = &mut *self.gauge;
        let source = rounding::source(&requests);
        rounding::measure(self.engine, &requests, &source, &mut |_| {
            gauge.look();
            ControlFlow::Continue(())
        })
    }

    /// Runs requests for a time, at least until something was answered or written.
    fn run(&mut self, requests: Vec<Request>, budget: Duration) -> Result<Measured> {
        let watch = Stopwatch::start();
        let mut measured = Measured::default();
        let mut failure = None;
        let gauge = &mut *self.gauge;
        self.engine.run(requests, &Control::new(1), &mut |event| {
            match event {
                Event::Scored { .. } => measured.answers += 1,
                Event::Failed { reason, .. } => failure = Some(reason),
                Event::Pulse(pulse) => {
                    measured.rows = measured.rows.max(pulse.in_flight);
                    gauge.look();
                }
                Event::Progress { .. } | Event::Completed { .. } => {}
            }
            let has_begun = measured.answers > 0 || measured.rows > 0;
            if has_begun && watch.begun().elapsed() > budget {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?;
        if let Some(reason) = failure {
            bail!("the model cannot answer the measured work: {reason}");
        }
        let spent = watch.spent();
        (measured.cpu_s, measured.wall_s) = (spent.cpu_s, spent.wall_s);
        self.gauge.add_run(self.engine);
        Ok(measured)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::candle::tests::{open, tiny};
    use crate::engine::candle::{Device, Dtype, Options};

    #[test]
    fn a_report_tells_every_speed_what_was_done_and_the_memory() {
        let folder = tiny::model("llama");
        for dtype in [Dtype::F32, Dtype::Bf16] {
            let options = Options {
                dtype,
                threads: 1,
                device: Device::Cpu,
                ..Options::default()
            };
            let mut engine = open(folder.path(), &options);
            let setup = Setup {
                name: "tiny",
                all: Duration::from_millis(1500),
                rounding: None,
                gauge: &mut Gauge::default(),
            };
            let report = measure(&mut engine, setup, &mut |_| {}).unwrap();
            let json = serde_json::to_value(&report).unwrap();
            for path in [
                "/peak_gflops",
                "/prefill/tokens_per_cpu_s",
                "/prefill/share_of_peak",
                "/prefill/tokens",
                "/cloze_0shot/questions_per_cpu_s",
                "/cloze_0shot/questions",
                "/cloze_5shot/questions_per_cpu_s",
                "/sample_5seeds/tokens_per_cpu_s",
                "/sample_5seeds/tokens",
                "/sample_5rows/tokens_per_cpu_s",
                "/memory/weights_bytes",
                "/memory/kv_bytes",
            ] {
                let value = json.pointer(path).and_then(serde_json::Value::as_f64);
                assert!(value.is_some_and(|value| value > 0.0), "{path}: {json}");
            }
            assert_eq!((report.sample_5seeds.rows, report.sample_5rows.rows), (32, 5));
            assert_eq!(json["rounding"].is_null(), dtype == Dtype::F32);
        }
    }
}
