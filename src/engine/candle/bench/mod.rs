//! How fast this machine is with a model: each measurement a fixed time, as much of its work as fits.

pub mod families;
mod machine;
mod memory;
pub mod rounding;
#[cfg(any(test, feature = "stock"))]
mod stock;
#[cfg(not(any(test, feature = "stock")))]
#[path = "no_stock.rs"]
mod stock;

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde::Serialize;

use self::machine::{Peak, Stopwatch, flops_per_token, prefill};
use self::memory::Gauge;
use super::forward::Scratch;
use super::kernel::Precision;
use super::schedule::process_cpu_seconds;
use super::{CandleEngine, Options};
use crate::engine::{Control, Engine, Event, Model, Request, Rounding, Status, open};
use crate::hub::ModelName;

pub use self::memory::Memory;
pub use self::stock::check_built;
pub use super::kernel::use_plain;

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

/// What a stock model took for the same work, and how far its numbers lie from ours.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Peer {
    pub prefill: Prefill,
    /// Questions whose continuations are one token each, one prompt at a time.
    pub cloze_0shot: Cloze,
    /// One completion at a time, greedy.
    pub sample_1row: Sampled,
    /// Largest difference of a continuation's log-likelihood from ours, over the questions of `cloze_0shot`.
    pub largest_difference: f64,
}

/// What `markbook bench --json` prints. Speeds are per CPU second of the process.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    pub threads: usize,
    pub dtype: String,
    pub dtype_reason: String,
    pub kernel: String,
    pub model: String,
    /// What one thread's arithmetic gives in registers, measured between the prefill's passes.
    pub peak: Peaks,
    pub prefill: Prefill,
    pub cloze_0shot: Cloze,
    pub cloze_5shot: Cloze,
    /// 32 rows kept full: up to 32 questions, five seeds each.
    pub sample_5seeds: Sampled,
    /// Five rows: one question at a time, five seeds.
    pub sample_5rows: Sampled,
    /// How far the number format's log-likelihoods lie from f32's, measured here or before; null in f32.
    pub rounding: Option<Rounding>,
    /// candle-transformers' own model at the same work; null where it was not asked for.
    pub stock: Option<Peer>,
    pub memory: Memory,
    pub load_cpu_s: f64,
    pub wall_s: f64,
}

/// 10^9 operations a CPU second, two a multiplication, by a kernel of each number format.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Peaks {
    pub f32: f64,
    pub bf16: f64,
    /// Of bytes with codes of four bits, as quantized blocks are multiplied.
    pub bytes: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Prefill {
    pub tokens_per_cpu_s: f64,
    /// Work of the layers' products over the peak of the format that is computed in; null where the peak was not measured beside it.
    pub share_of_peak: Option<f64>,
    pub tokens: u64,
    pub cpu_s: f64,
    pub wall_s: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Cloze {
    pub questions_per_cpu_s: f64,
    pub cpu_s_per_question: f64,
    pub questions: usize,
    /// Tokens of the prompts that were answered, shared ones counted for each.
    pub tokens: u64,
    pub cpu_s: f64,
    pub wall_s: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
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

/// What is put to the model while it is measured.
#[derive(Debug)]
pub struct Work {
    /// Questions to be scored, without examples and with five.
    pub cloze_0shot: Vec<Request>,
    pub cloze_5shot: Vec<Request>,
    /// Questions to be answered five times each; their prompts are cut to their last [`PROMPT_TOKENS`].
    pub sampled: Vec<Request>,
    /// Questions whose scores are compared with f32's: every beginning takes some from everywhere.
    pub compared: Vec<Request>,
    /// Where the last ones came from.
    pub source: String,
}

/// Tokens of a measured completion's prompt.
const PROMPT_TOKENS: usize = 64;

/// A loaded model, and the memory that it took.
#[derive(Debug)]
pub struct Bench {
    engine: CandleEngine,
    model: Model,
    gauge: Gauge,
}

/// Measurements at work.
struct Measuring<'a> {
    engine: &'a mut CandleEngine,
    gauge: &'a mut Gauge,
    begun: Instant,
    /// When all should be over.
    all: Duration,
    /// Parts of the time that are still to be given.
    parts_left: u32,
}

impl Bench {
    /// Fetches and loads a model.
    ///
    /// # Errors
    /// As [`crate::engine::open`].
    pub fn open(name: &ModelName, options: &Options, watch: &mut Status) -> Result<Bench> {
        let mut gauge = Gauge::default();
        let (engine, model) = open::load(name, options, &mut |status| {
            gauge.look();
            watch(status)
        })?;
        Ok(Bench { engine, model, gauge })
    }

    /// Whether it computes in f32, so that nothing is rounded further.
    pub fn is_f32(&self) -> bool {
        !rounding::applies(&self.engine)
    }

    /// The number format it computes in.
    pub fn dtype(&self) -> &str {
        &self.engine.description.dtype
    }

    /// The model's id.
    pub fn id(&self) -> &str {
        &self.model.id
    }

    /// Measures every speed within `all`, and the rounding where it is not known over enough questions. `tell` hears what
    /// is being measured.
    ///
    /// # Errors
    /// When the model cannot answer at all, or the platform does not tell CPU time.
    pub fn measure(&mut self, work: Work, all: Duration, tell: &mut dyn FnMut(&str)) -> Result<Report> {
        process_cpu_seconds().context("this platform does not tell a process's CPU time")?;
        let known = rounding::known(&self.engine.describe()).filter(|known| known.questions >= ROUNDING_QUESTIONS);
        let compares = rounding::applies(&self.engine) && known.is_none();
        let shares = [
            Share::Prefill,
            Share::Cloze,
            Share::Cloze,
            Share::FiveSeeds,
            Share::FiveRows,
        ];
        let mut at_work = Measuring {
            engine: &mut self.engine,
            gauge: &mut self.gauge,
            begun: Instant::now(),
            all,
            parts_left: shares.map(|share| share as u32).iter().sum::<u32>()
                + if compares { Share::Rounding as u32 } else { 0 },
        };
        tell("prefill, and the machine's arithmetic peak");
        let (peak, prefill) = at_work.prefill()?;
        tell("cloze, 0-shot");
        let cloze_0shot = at_work.cloze(work.cloze_0shot)?;
        tell("cloze, 5-shot");
        let cloze_5shot = at_work.cloze(work.cloze_5shot)?;
        tell("sampling, five seeds, 32 rows");
        let sampled = shortened(at_work.engine, work.sampled)?;
        let batch = at_work.engine.batch;
        let sample_5seeds = at_work.sample(sampled.clone(), Share::FiveSeeds, batch)?;
        tell("sampling, five rows");
        let sample_5rows = at_work.sample(sampled, Share::FiveRows, 5)?;
        let rounding = if compares {
            tell("how far its log-likelihoods lie from f32's");
            Some(at_work.rounding(work.compared, &work.source, prefill.tokens_per_cpu_s)?)
        } else {
            known
        };
        let wall_s = at_work.begun.elapsed().as_secs_f64();
        let description = &self.engine.description;
        Ok(Report {
            threads: description.threads,
            dtype: description.dtype.clone(),
            dtype_reason: description.dtype_reason.clone(),
            kernel: description.kernel.clone(),
            model: self.model.id.clone(),
            peak,
            prefill,
            cloze_0shot,
            cloze_5shot,
            sample_5seeds,
            sample_5rows,
            rounding,
            stock: None,
            memory: self.gauge.read(&self.engine),
            load_cpu_s: description.load_cpu_s,
            wall_s,
        })
    }

    /// How far the log-likelihoods of these requests lie from f32's. `source` says where the requests came from.
    ///
    /// # Errors
    /// When the model cannot be read again, nothing could be scored, or `tick` breaks.
    pub fn compare_with_f32(
        &mut self,
        requests: &[Request],
        source: &str,
        tick: &mut rounding::Tick,
    ) -> Result<Rounding> {
        rounding::measure(&mut self.engine, requests, source, tick)
    }

    /// candle-transformers' own model at the same work, each part of it for so long.
    ///
    /// # Errors
    /// When there is no such model that is trusted, or it cannot compute.
    pub fn measure_stock(&mut self, requests: &[Request], each: Duration) -> Result<Peer> {
        stock::measure(&mut self.engine, requests, each)
    }

    /// Keeps a figure of this model for later runs, unless one over more questions is there.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn keep(&self, rounding: &Rounding) -> Result<()> {
        rounding::keep(&self.engine, rounding)
    }
}

/// Prompts cut to their last tokens, so that figures compare from model to model.
fn shortened(engine: &CandleEngine, requests: Vec<Request>) -> Result<Vec<Request>> {
    let shorten = |request: Request| {
        let tokens = engine.tokenizer.encode(&request.prompt.text(), false)?;
        let end = &tokens[tokens.len().saturating_sub(PROMPT_TOKENS)..];
        Ok(Request {
            prompt: engine.tokenizer.decode(end).into(),
            ..request
        })
    };
    requests.into_iter().map(shorten).collect()
}

fn rate(work: f64, seconds: f64) -> f64 {
    if seconds > 0.0 { work / seconds } else { 0.0 }
}

impl Measuring<'_> {
    /// The time that a measurement may take: its part of what is left.
    fn budget(&mut self, share: Share) -> Duration {
        let left = self.all.saturating_sub(self.begun.elapsed());
        let budget = left.mul_f64(f64::from(share as u32) / f64::from(self.parts_left));
        self.parts_left -= share as u32;
        budget.min(LONGEST)
    }

    /// Packed passes over prompts of [`PREFILL`] tokens, the head left out, and arithmetic alone before and after each.
    fn prefill(&mut self) -> Result<(Peaks, Prefill)> {
        let budget = self.budget(Share::Prefill).as_secs_f64();
        let (length, most) = PREFILL;
        let mut packed = 1;
        let mut scratch = Scratch::default();
        let mut peaks = [Precision::F32, Precision::Bf16, Precision::Native].map(Peak::of);
        let mut arithmetic = || peaks.iter_mut().for_each(|peak| peak.work(budget / 36.0));
        let (mut tokens, mut cpu_s) = (0, 0.0);
        let all = Stopwatch::start();
        arithmetic();
        loop {
            let watch = Stopwatch::start();
            tokens += prefill(self.engine, &vec![length; packed], &mut scratch)?;
            cpu_s += watch.spent().cpu_s;
            self.gauge.look();
            arithmetic();
            // Another pass only where it fits; a model that is fast enough is measured in larger ones.
            let (spent, pass) = (all.spent().wall_s, watch.spent().wall_s);
            let larger = packed < most && spent + 4.0 * pass < budget;
            if !larger && spent + pass > budget {
                break;
            }
            if larger {
                (packed, tokens, cpu_s) = (most.min(4 * packed), 0, 0.0);
            }
        }
        let tokens_per_cpu_s = rate(tokens as f64, cpu_s);
        let [f32, bf16, bytes] = peaks.map(|peak| peak.giga_ops());
        let peak = match self.engine.description.dtype.as_str() {
            "f32" => f32,
            "bf16" => bf16,
            _ => bytes,
        };
        let prefill = Prefill {
            tokens_per_cpu_s,
            share_of_peak: Some(tokens_per_cpu_s * flops_per_token(self.engine) / 1e9 / peak),
            tokens: tokens as u64,
            cpu_s,
            wall_s: all.spent().wall_s,
        };
        Ok((Peaks { f32, bf16, bytes }, prefill))
    }

    fn cloze(&mut self, requests: Vec<Request>) -> Result<Cloze> {
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

    fn sample(&mut self, requests: Vec<Request>, share: Share, batch: usize) -> Result<Sampled> {
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

    /// Up to [`ROUNDING_QUESTIONS`] of the requests, as many as fit by the speed of the prefill.
    fn rounding(&mut self, requests: Vec<Request>, source: &str, tokens_per_cpu_s: f64) -> Result<Rounding> {
        // A token takes once its time, and twice that in f32; half the machine may belong to others.
        let tokens = self.budget(Share::Rounding).as_secs_f64() * tokens_per_cpu_s / 3.0 / 1.5;
        let requests = rounding::affordable(self.engine, requests, tokens as usize, ROUNDING_QUESTIONS)?;
        let gauge = &mut *self.gauge;
        let source = format!("{} {source}", requests.len());
        rounding::measure(self.engine, &requests, &source, &mut |_| {
            gauge.look();
            ControlFlow::Continue(())
        })
    }

    /// Runs requests for a time, at least until something was scored, or a token drawn in a step of its own.
    fn run(&mut self, requests: Vec<Request>, budget: Duration) -> Result<Measured> {
        let watch = Stopwatch::start();
        let mut measured = Measured::default();
        let (mut failure, mut has_stepped) = (None, false);
        let gauge = &mut *self.gauge;
        self.engine.run(requests, &Control::new(1), &mut |event| {
            match event {
                Event::Scored { .. } => measured.answers += 1,
                Event::Failed { reason, .. } => failure = Some(reason),
                Event::Pulse(pulse) => {
                    measured.rows = measured.rows.max(pulse.in_flight);
                    // The first token of each comes of its prompt.
                    has_stepped |= pulse.in_flight > 0 && pulse.tokens_out > measured.rows as u64;
                    gauge.look();
                }
                Event::Progress { .. } | Event::Completed { .. } | Event::Waiting { .. } | Event::Noted { .. } => {}
            }
            let has_begun = measured.answers > 0 || has_stepped;
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
    use crate::engine::candle::tests::{open, score, tiny};
    use crate::engine::candle::{Device, Dtype};
    use crate::engine::{Ask, Sampling};

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
            let sampled = |id| Request {
                ask: Ask::Sample {
                    sampling: Sampling {
                        temperature: 1.0,
                        top_p: 0.95,
                        top_k: 64,
                        max_tokens: 128,
                        stops: Vec::new(),
                    },
                    seeds: (42..47).collect(),
                    stream: id as u64,
                },
                ..score(id, "Question? Answer:", &[])
            };
            let questions = || {
                (0..40)
                    .map(|id| score(id, &format!("Question {id}? Answer:"), &[" A", " B"]))
                    .collect()
            };
            let mut bench = Bench {
                engine: open(folder.path(), &options),
                model: Model::default(),
                gauge: Gauge::default(),
            };
            let work = Work {
                cloze_0shot: questions(),
                cloze_5shot: questions(),
                sampled: (0..32).map(sampled).collect(),
                compared: questions(),
                source: "questions".into(),
            };
            let report = bench.measure(work, Duration::from_millis(1500), &mut |_| {}).unwrap();
            let json = serde_json::to_value(&report).unwrap();
            for path in [
                "/peak/f32",
                "/peak/bf16",
                "/peak/bytes",
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
