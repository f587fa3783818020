//! Who is attended with whom: queries cut into tasks of about a thousand rows, those that share segments side by side.

use std::ops::Range;

use super::{AttentionShape, BLOCK, Job, KeyValues};

/// Rows (a row is one head of one query) of a task at most, so that their sums stay in the second-level cache.
const TASK_ROWS: usize = 1024;

/// One position of one job.
#[derive(Debug, Clone, Copy)]
pub(super) struct Query<'a> {
    pub(super) job: usize,
    /// Which of the job's queries it is.
    pub(super) index: usize,
    /// Its absolute position.
    pub(super) position: usize,
    /// [heads * head_dim]
    pub(super) numbers: &'a [f32],
    /// None is empty.
    pub(super) segments: &'a [KeyValues<'a>],
}

impl Query<'_> {
    /// Whether the segment at `depth` is the same memory for both.
    fn shares(&self, other: &Query, depth: usize) -> bool {
        let segments = (self.segments.get(depth), other.segments.get(depth));
        self.job == other.job || matches!(segments, (Some(a), Some(b)) if identity(a) == identity(b))
    }
}

fn identity(segment: &KeyValues) -> (usize, usize) {
    (segment.keys.as_ptr() as usize, segment.keys.len())
}

/// The queries of each task; `segments` are the jobs' own without empty ones.
pub(super) fn tasks<'a>(
    jobs: &[Job<'a>],
    segments: &'a [Vec<KeyValues<'a>>],
    shape: &AttentionShape,
    threads: usize,
) -> Vec<Vec<Query<'a>>> {
    let mut order: Vec<usize> = (0..jobs.len()).collect();
    order.sort_by_cached_key(|&job| segments[job].iter().map(identity).collect::<Vec<_>>());
    let queries: Vec<Query> = order
        .into_iter()
        .flat_map(|job| {
            let rows = jobs[job].queries.chunks_exact(shape.heads * shape.head_dim).enumerate();
            let (start, segments) = (jobs[job].start, segments[job].as_slice());
            rows.map(move |(index, numbers)| Query {
                job,
                index,
                position: start + index,
                numbers,
                segments,
            })
        })
        .collect();
    // With several threads, enough tasks that none waits long for the last.
    let share = if threads == 1 {
        queries.len()
    } else {
        queries.len().div_ceil(4 * threads)
    };
    let most = share.min(TASK_ROWS / shape.heads).max(1);
    queries.chunks(most).map(<[Query]>::to_vec).collect()
}

/// A block of keys that a run of a task's queries has in common.
#[derive(Debug, Clone)]
pub(super) struct Step {
    pub(super) run: Range<usize>,
    pub(super) block: usize,
}

/// All that a task's queries see. Each query meets its blocks in order; those that share segments meet a block there together.
pub(super) fn steps(queries: &[Query], shape: &AttentionShape) -> Vec<Step> {
    let mut steps = Vec::new();
    // Runs still to divide: which, the segments they have in common, the keys in those, the next block.
    let mut left = vec![(0..queries.len(), 0, 0, 0)];
    while let Some((run, depth, keys, block)) = left.pop() {
        let mut start = run.start;
        for same in queries[run].chunk_by(|a, b| a.shares(b, depth)) {
            let run = start..start + same.len();
            start = run.end;
            let last = same[same.len() - 1];
            let end = if same[0].job == last.job {
                last.position / BLOCK + 1
            } else {
                let keys = keys + last.segments[depth].keys.len() / shape.width();
                left.push((run.clone(), depth + 1, keys, keys / BLOCK));
                keys / BLOCK
            };
            let is_seen = |block: &usize| {
                same.iter()
                    .any(|query| !shape.visible(query.position, *block).is_empty())
            };
            steps.extend((block..end).filter(is_seen).map(|block| Step {
                run: run.clone(),
                block,
            }));
        }
    }
    steps
}
