//! How many threads the kernels spread over.

use rayon::prelude::*;

/// The threads of one loaded model. One thread is the caller's own: no pool, no waiting.
#[derive(Debug)]
pub struct Threads {
    pool: Option<rayon::ThreadPool>,
    count: usize,
}

impl Threads {
    /// `count` threads (0 is taken as 1). Where the system refuses to start them, the calling thread works alone.
    pub fn new(count: usize) -> Threads {
        let count = count.max(1);
        let pool = (count > 1)
            .then(|| rayon::ThreadPoolBuilder::new().num_threads(count).build().ok())
            .flatten();
        let count = if pool.is_some() { count } else { 1 };
        Threads { pool, count }
    }

    pub fn count(&self) -> usize {
        self.count
    }

    /// Runs `work` once for each task, in any order.
    pub fn each<T: Send>(&self, tasks: Vec<T>, work: impl Fn(T) + Sync + Send) {
        match &self.pool {
            Some(pool) if tasks.len() > 1 => pool.install(|| tasks.into_par_iter().with_max_len(1).for_each(work)),
            _ => tasks.into_iter().for_each(work),
        }
    }

    /// Splits `out`, rows of `width` numbers, into runs of rows and calls `work(first row, run)` for each: for functions
    /// that treat each row by itself.
    pub fn rows(&self, out: &mut [f32], width: usize, work: impl Fn(usize, &mut [f32]) + Sync + Send) {
        let rows = out.len().checked_div(width).unwrap_or(0);
        if rows == 0 {
            return;
        }
        let run = rows.div_ceil(self.count);
        let tasks: Vec<_> = out
            .chunks_mut(run * width)
            .enumerate()
            .map(|(i, chunk)| (i * run, chunk))
            .collect();
        self.each(tasks, |(first, chunk)| work(first, chunk));
    }
}
