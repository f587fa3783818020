//! What speed measurements need of the engine: the machine's peak, bare passes over prompts, and a stopwatch of CPU and
//! wall time. Cloze and sampling are measured through [`crate::engine::Engine::run`] itself.

use std::ops::ControlFlow;
use std::time::Instant;

use anyhow::Result;
use gemm::Parallelism;

use super::CandleEngine;
use super::cache::KvStore;
use super::config::LayerConfig;
use super::forward::{Part, Scratch};
use super::schedule::process_cpu_seconds;

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

/// GFLOP a CPU second of a 1024 x 1024 x 1024 f32 product on one thread, the best of some tries within `seconds`.
#[allow(unsafe_code)]
pub fn peak_gflops(seconds: f64) -> f64 {
    let n = PEAK_SIDE;
    let (a, b) = (vec![1.0f32; n * n], vec![0.5f32; n * n]);
    let mut c = vec![0.0f32; n * n];
    let (all, mut best) = (Instant::now(), 0.0f64);
    while all.elapsed().as_secs_f64() < seconds || best == 0.0 {
        let watch = Stopwatch::start();
        let mut products = 0;
        // Long enough for the clock of CPU time, which counts hundredths of a second.
        while watch.begun.elapsed().as_secs_f64() < 0.25 {
            let rows = n.cast_signed();
            // SAFETY: each of the three slices holds n * n numbers, row after row, and only `c` is written.
            unsafe {
                gemm::gemm(
                    n,
                    n,
                    n,
                    c.as_mut_ptr(),
                    1,
                    rows,
                    false,
                    a.as_ptr(),
                    1,
                    rows,
                    b.as_ptr(),
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
            products += 1;
        }
        let spent = watch.spent();
        best = best.max(f64::from(products) * 2.0 * (n as f64).powi(3) / spent.cpu_s.max(1e-3) / 1e9);
    }
    best
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
