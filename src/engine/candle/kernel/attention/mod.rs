//! Causal attention over keys and values given as runs of positions.
//!
//! Keys are taken in blocks that begin at multiples of [`BLOCK`] positions, each block summed key by key, and joined in order with a
//! running maximum: so a query's result does not depend on how positions are split into segments or chunks, nor on company.

mod block;
mod plan;
mod task;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::Threads;
use task::Task;

/// Keys of a block.
const BLOCK: usize = 64;

/// Keys and values [tokens, kv_heads * head_dim] of a contiguous run of positions.
#[derive(Debug, Clone, Copy, Default)]
pub struct KeyValues<'a> {
    pub keys: &'a [f32],
    pub values: &'a [f32],
}

/// What is the same for every sequence of a layer.
#[derive(Debug, Clone, Copy)]
pub struct AttentionShape {
    /// A multiple of `kv_heads`.
    pub heads: usize,
    pub kv_heads: usize,
    pub head_dim: usize,
    /// Factor of the scores, before the cap.
    pub scale: f32,
    /// A query sees this many keys at most, itself included.
    pub window: Option<usize>,
    /// Scores become `cap * tanh(score / cap)`.
    pub softcap: Option<f32>,
}

impl AttentionShape {
    /// Query heads that share a key-value head.
    fn group(&self) -> usize {
        self.heads / self.kv_heads
    }

    /// Numbers of one position's keys.
    fn width(&self) -> usize {
        self.kv_heads * self.head_dim
    }

    /// The keys of a block that the query at `position` sees, counted from the block's first.
    fn visible(&self, position: usize, block: usize) -> Range<usize> {
        let first = self.window.map_or(0, |window| (position + 1).saturating_sub(window));
        let within = |key: usize| key.saturating_sub(block * BLOCK).min(BLOCK);
        within(first)..within(position + 1)
    }
}

/// The queries of one sequence at absolute positions `start..start + t`, the keys and values of positions 0.. in order (shared
/// prefix segments first, then its own; at least `start + t` of them) and where the result goes.
#[derive(Debug)]
pub struct Job<'a> {
    /// [t, heads * head_dim]
    pub queries: &'a [f32],
    pub start: usize,
    pub segments: Vec<KeyValues<'a>>,
    /// [t, heads * head_dim]
    pub out: &'a mut [f32],
}

/// Many sequences at once. Jobs that begin with the same segments (the same memory) are attended together: their queries read
/// each shared block of keys once. Same bits as each by itself.
///
/// # Panics
/// If a job has fewer keys than `start + t`, or `out` is not as long as `queries`.
pub fn attend_all(jobs: &mut [Job], shape: &AttentionShape, threads: &Threads) {
    if shape.kv_heads == 0 || shape.group() == 0 || shape.head_dim == 0 {
        return;
    }
    for job in jobs.iter() {
        let keys: usize = job
            .segments
            .iter()
            .map(|segment| segment.keys.len().min(segment.values.len()))
            .sum();
        let queries = job.queries.len() / (shape.heads * shape.head_dim);
        assert!(
            job.start + queries <= keys / shape.width(),
            "{} keys for {queries} queries",
            keys / shape.width()
        );
        assert_eq!(job.queries.len(), job.out.len(), "queries and out");
    }
    let segments: Vec<Vec<KeyValues>> = jobs
        .iter()
        .map(|job| job.segments.iter().copied().filter(|s| !s.keys.is_empty()).collect())
        .collect();
    let tasks = plan::tasks(jobs, &segments, shape, threads.count());
    let jobs = Mutex::new(jobs);
    threads.each(tasks, |queries| {
        Task { shape, queries }.run(|query, head, results| {
            let mut jobs = jobs.lock().unwrap_or_else(PoisonError::into_inner);
            let out = &mut jobs[query.job].out[(query.index * shape.heads + head) * shape.head_dim..];
            let results = results.chunks_exact(block::padded(shape));
            for (out, result) in out.chunks_exact_mut(shape.head_dim).zip(results) {
                out.copy_from_slice(&result[..shape.head_dim]);
            }
        });
    });
}
