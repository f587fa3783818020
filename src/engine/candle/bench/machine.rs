//! What speed measurements need of the engine: the machine's peak, bare passes over prompts, and a stopwatch of CPU and
//! wall time. Cloze and sampling are measured through [`crate::engine::Engine::run`] itself.

use std::ops::ControlFlow;
use std::time::Instant;

use anyhow::Result;
use gemm::Parallelism;

use crate::engine::candle::CandleEngine;
use crate::engine::candle::cache::KvStore;
use crate::engine::candle::config::LayerConfig;
use crate::engine::candle::forward::{Part, Scratch};
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

/// Side of the square product that stands for the machine's peak.
const PEAK_SIDE: usize = 1024;

/// f32 products of two 1024 x 1024 matrices on one thread, done and timed a while at a time.
#[derive(Debug)]
pub struct Peak {
    a: Vec<f32>,
    b: Vec<f32>,
    c: Vec<f32>,
    products: usize,
    cpu_s: f64,
}

impl Default for Peak {
    fn default() -> Peak {
        let square = |number: f32| vec![number; PEAK_SIDE * PEAK_SIDE];
        Peak {
            a: square(1.0),
            b: square(0.5),
            c: square(0.0),
            products: 0,
            cpu_s: 0.0,
        }
    }
}

impl Peak {
    /// Products for so many seconds, at least one; the first is not timed.
    pub fn work(&mut self, seconds: f64) {
        self.product();
        let watch = Stopwatch::start();
        let mut products = 0;
        while products == 0 || watch.begun.elapsed().as_secs_f64() < seconds {
            self.product();
            products += 1;
        }
        self.cpu_s += watch.spent().cpu_s;
        self.products += products;
    }

    /// GFLOP a CPU second of all products so far.
    pub fn gflops(&self) -> f64 {
        self.products as f64 * 2.0 * (PEAK_SIDE as f64).powi(3) / self.cpu_s.max(1e-9) / 1e9
    }

    #[allow(unsafe_code)]
    fn product(&mut self) {
        let (n, rows) = (PEAK_SIDE, PEAK_SIDE.cast_signed());
        // SAFETY: each of the three slices holds n * n numbers, row after row, and only `c` is written.
        unsafe {
            gemm::gemm(
                n,
                n,
                n,
                self.c.as_mut_ptr(),
                1,
                rows,
                false,
                self.a.as_ptr(),
                1,
                rows,
                self.b.as_ptr(),
                1,
                rows,
                0.0,
                1.0,
                false,
                false,
                false,
                Parallelism::None,
            );
        }
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
