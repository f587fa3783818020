//! What speed measurements need of the engine: the machine's peak, bare passes over prompts, and a stopwatch of CPU and
//! wall time. Cloze and sampling are measured through [`crate::engine::Engine::run`] itself.

use std::ops::ControlFlow;
use std::time::Instant;

use anyhow::Result;

use crate::engine::candle::CandleEngine;
use crate::engine::candle::cache::KvStore;
use crate::engine::candle::config::LayerConfig;
use crate::engine::candle::forward::{Part, Scratch};
use crate::engine::candle::kernel::{Precision, multiply_in_registers};
use crate::engine::candle::schedule::process_cpu_seconds;

/// Time since a start, by the wall and by the process's CPU (the wall again where the platform does not tell).
#[derive(Debug)]
pub struct Stopwatch {
    begun: Instant,
    cpu: Option<f64>,
}

/// Seconds spent.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Spent {
    pub wall_s: f64,
    pub cpu_s: f64,
}

impl Stopwatch {
    pub fn start() -> Stopwatch {
        Stopwatch {
            begun: Instant::now(),
            cpu: process_cpu_seconds(),
        }
    }

    /// When it was started.
    pub fn begun(&self) -> Instant {
        self.begun
    }

    pub fn spent(&self) -> Spent {
        let wall_s = self.begun.elapsed().as_secs_f64();
        let cpu = self.cpu.zip(process_cpu_seconds()).map(|(begun, done)| done - begun);
        Spent {
            wall_s,
            cpu_s: cpu.unwrap_or(wall_s),
        }
    }
}

/// Rounds of arithmetic between two looks at the clock.
const ROUNDS: usize = 1 << 17;

/// Multiplications and additions in registers on one thread, done and timed a while at a time: the most that the machine's arithmetic
/// can give in a number format.
#[derive(Debug)]
pub struct Peak {
    precision: Precision,
    operations: u64,
    cpu_s: f64,
}

impl Peak {
    pub fn of(precision: Precision) -> Peak {
        Peak {
            precision,
            operations: 0,
            cpu_s: 0.0,
        }
    }

    /// Works for so many seconds, at least one stretch; the first is not timed.
    pub fn work(&mut self, seconds: f64) {
        multiply_in_registers(self.precision, ROUNDS);
        let watch = Stopwatch::start();
        loop {
            self.operations += multiply_in_registers(self.precision, ROUNDS);
            if watch.begun.elapsed().as_secs_f64() >= seconds {
                break;
            }
        }
        self.cpu_s += watch.spent().cpu_s;
    }

    /// 10^9 operations a CPU second of all work so far.
    pub fn giga_ops(&self) -> f64 {
        self.operations as f64 / self.cpu_s.max(1e-9) / 1e9
    }
}

/// Floating-point operations of one token, attention and head left out: two a weight.
pub fn flops_per_token(engine: &CandleEngine) -> f64 {
    let config = engine.model.config();
    let weights = |layer: &LayerConfig| {
        let queries = config.heads * layer.head_dim;
        let keys = layer.kv_heads * layer.head_dim * if layer.shares_kv_of.is_some() { 0 } else { 2 };
        config.hidden * (2 * queries + keys + 3 * layer.mlp)
    };
    2.0 * config.layers.iter().map(weights).sum::<usize>() as f64
}

/// One packed pass over prompts of these token counts, without the head; gives the tokens computed. `scratch` is memory to
/// be used again.
pub fn prefill(engine: &CandleEngine, lengths: &[usize], scratch: &mut Scratch) -> Result<usize> {
    let mut store = KvStore::new(engine.model.config());
    let vocab = engine.model.config().vocab;
    let prompts: Vec<Vec<u32>> = lengths
        .iter()
        .enumerate()
        .map(|(row, length)| {
            (0..*length)
                .map(|at| ((at * 7919 + row * 104_729 + 17) % vocab) as u32)
                .collect()
        })
        .collect();
    let parts: Vec<Part> = prompts
        .iter()
        .filter(|prompt| !prompt.is_empty())
        .map(|tokens| Part {
            node: store.branch(None),
            tokens,
            wanted: tokens.len() - 1..tokens.len(),
        })
        .collect();
    let mut go_on = || ControlFlow::Continue(());
    let _ = engine
        .model
        .forward(&mut store, &parts, scratch, &engine.threads, &mut go_on)?;
    Ok(lengths.iter().sum())
}
