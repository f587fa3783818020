//! The attention of some queries: block by block, head by head, a tile of rows at a time.

use std::cell::RefCell;
use std::ops::Range;

use super::super::simd::{self, Kernel, Simd};
use super::super::tile::{EMPTY, MOST_ROWS, Row, STEPS, Tile};
use super::block::{self, Block, Loaded};
use super::plan::{self, Query};
use super::{AttentionShape, BLOCK, KeyValues};

/// Some queries, in an order in which those that share segments are neighbours.
///
/// A row is one head of one query; rows are ordered by key-value head, then query, then head.
#[derive(Debug)]
pub(super) struct Task<'a> {
    pub(super) shape: &'a AttentionShape,
    pub(super) queries: Vec<Query<'a>>,
}

/// What a thread keeps between tasks.
#[derive(Debug)]
struct Room {
    block: Block,
    tile: Rows,
    sums: Sums,
}

/// The rows of a tile.
#[derive(Debug)]
struct Rows {
    /// Times the factor of the scores.
    queries: [Row; MOST_ROWS],
    /// Scores, then their exponentials.
    scores: [Row; MOST_ROWS],
}

/// What blocks leave behind, row by row.
#[derive(Debug, Default)]
struct Sums {
    /// The highest score.
    highest: Vec<f32>,
    /// The sum of all exponentials, relative to the highest score.
    total: Vec<f32>,
    /// The values' sum, in the end the result: [rows, padded head_dim].
    values: Vec<f32>,
}

impl Sums {
    fn clear(&mut self, rows: usize, padded: usize) {
        self.highest.clear();
        self.highest.resize(rows, f32::NEG_INFINITY);
        self.total.clear();
        self.total.resize(rows, 0.0);
        self.values.clear();
        self.values.resize(rows * padded, 0.0);
    }

    /// The values' sums over the totals: the results.
    #[inline(always)]
    fn divide<S: Simd>(&mut self, simd: S, padded: usize) {
        for (values, total) in self.values.chunks_exact_mut(padded).zip(&self.total) {
            scale(simd, values, 1.0 / total);
        }
    }
}

thread_local! {
    static ROOM: RefCell<Box<Room>> = RefCell::new(Box::new(Room {
        block: Block::default(),
        tile: Rows { queries: [EMPTY; MOST_ROWS], scores: [EMPTY; MOST_ROWS] },
        sums: Sums::default(),
    }));
}

impl Task<'_> {
    /// Hands each query's results for each key-value head to `write(query, head of the first,
    /// numbers)`: as many heads as share the key-value head, padded.
    pub(super) fn run(&self, mut write: impl FnMut(&Query, usize, &[f32])) {
        ROOM.with_borrow_mut(|room| {
            let Room { block, tile, sums } = room.as_mut();
            simd::dispatch(Work {
                block,
                rows: Tiles { task: self, tile, sums },
            });
            let group = self.shape.group();
            let rows = room.sums.values.chunks_exact(group * block::padded(self.shape));
            let heads = (0..self.shape.kv_heads).flat_map(|kv_head| self.queries.iter().map(move |q| (kv_head, q)));
            for ((kv_head, query), numbers) in heads.zip(rows) {
                write(query, kv_head * group, numbers);
            }
        });
    }
}

/// A task at work.
struct Work<'t> {
    block: &'t mut Block,
    rows: Tiles<'t>,
}

impl Kernel for Work<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) {
        let Task { shape, queries } = self.rows.task;
        self.rows.sums.clear(queries.len() * shape.heads, block::padded(shape));
        let steps = plan::steps(queries, shape);
        for (i, step) in steps.iter().enumerate() {
            for kv_head in 0..shape.kv_heads {
                let next = match steps.get(i + 1) {
                    Some(next) => block::ahead(queries[next.run.start].segments, shape, kv_head, next.block),
                    None => KeyValues::default(),
                };
                let place = Place {
                    kv_head,
                    block: step.block,
                };
                let loaded = self
                    .block
                    .load(simd, queries[step.run.start].segments, shape, place, next);
                let mut from = step.run.start;
                while from < step.run.end {
                    // A stretch of queries that see the block.
                    let to = (from..step.run.end).find(|&query| self.rows.visible(query, step.block).is_empty());
                    let to = to.unwrap_or(step.run.end);
                    self.rows.add(simd, from..to, place, loaded);
                    from = to + 1;
                }
            }
        }
        self.rows.sums.divide(simd, block::padded(shape));
    }
}

/// Where a block stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) kv_head: usize,
    pub(super) block: usize,
}

/// The rows of a task at work.
struct Tiles<'t> {
    task: &'t Task<'t>,
    tile: &'t mut Rows,
    sums: &'t mut Sums,
}

impl Tiles<'_> {
    /// The first row of a key-value head among the sums.
    fn first_row(&self, place: Place) -> usize {
        place.kv_head * self.task.queries.len() * self.task.shape.group()
    }

    /// The keys of a block that a query sees.
    fn visible(&self, query: usize, block: usize) -> Range<usize> {
        self.task.shape.visible(self.task.queries[query].position, block)
    }

    /// Adds a block to some queries, in tiles of nearly equal height.
    #[inline(always)]
    fn add<S: Simd>(&mut self, simd: S, queries: Range<usize>, place: Place, mut loaded: Loaded) {
        let group = self.task.shape.group();
        let (first, rows) = (queries.start * group, queries.len() * group);
        let tiles = rows.div_ceil(S::TILE_ROWS);
        for tile in 0..tiles {
            let rows = first + rows * tile / tiles..first + rows * (tile + 1) / tiles;
            // Columns that none of them sees are left out: whole strips, and a masked key adds exactly nothing.
            let seen = (rows.start / group..rows.end.div_ceil(group)).map(|query| self.visible(query, place.block).end);
            let columns = seen.max().unwrap_or(BLOCK).next_multiple_of(2 * S::LANES).min(BLOCK);
            self.score(simd, rows.clone(), columns, place, &loaded);
            self.weigh(simd, rows.clone(), columns, place);
            self.add_values(simd, rows, place, loaded);
            loaded.ahead = &[];
        }
    }

    /// The products of a tile's queries with a block's keys, times the factor of the scores.
    #[inline(always)]
    fn score<S: Simd>(&mut self, simd: S, rows: Range<usize>, columns: usize, place: Place, loaded: &Loaded) {
        let AttentionShape {
            head_dim,
            scale,
            softcap,
            ..
        } = *self.task.shape;
        let group = self.task.shape.group();
        let factor = softcap.map_or(scale, |cap| scale / cap);
        for from in (0..head_dim).step_by(STEPS) {
            let steps = STEPS.min(head_dim - from);
            for (row, out) in rows.clone().zip(&mut self.tile.queries) {
                let head = place.kv_head * group + row % group;
                let numbers = &self.task.queries[row / group].numbers[head * head_dim + from..];
                scaled(simd, &numbers[..steps], factor, &mut out[..steps]);
            }
            simd.vectorize(Tile::<false> {
                a: &self.tile.queries[..rows.len()],
                from: 0,
                steps,
                b: &loaded.columns[from * BLOCK..],
                b_stride: BLOCK,
                out: self.tile.scores.as_flattened_mut(),
                out_stride: EMPTY.len(),
                cols: columns,
                add: from > 0,
                ahead: loaded.ahead.split_at(loaded.ahead.len() / 2).0,
            });
        }
    }

    /// Scores become exponentials relative to the highest of each row so far; totals and sums follow.
    #[inline(always)]
    fn weigh<S: Simd>(&mut self, simd: S, rows: Range<usize>, columns: usize, place: Place) {
        let shape = self.task.shape;
        let group = shape.group();
        let first = self.first_row(place) + rows.start;
        let count = rows.len();
        let mut change = [0.0; 16];
        for (i, row) in rows.enumerate() {
            let scores = &mut self.tile.scores[i][..columns];
            if let Some(cap) = shape.softcap {
                capped(simd, cap, scores);
            }
            let visible = self
                .task
                .shape
                .visible(self.task.queries[row / group].position, place.block);
            scores[..visible.start].fill(f32::NEG_INFINITY);
            scores[visible.end..].fill(f32::NEG_INFINITY);
            let before = self.sums.highest[first + i];
            let mut highest = simd.splat(before);
            for scores in scores.chunks_exact(S::LANES) {
                highest = simd.max(simd.load(scores), highest);
            }
            self.sums.highest[first + i] = simd.highest(highest);
            change[i] = before - self.sums.highest[first + i];
        }
        for change in change.chunks_exact_mut(S::LANES) {
            simd.store(simd::exp(simd, simd.load(change)), change);
        }
        let padded = block::padded(shape);
        for (i, &change) in change[..count].iter().enumerate() {
            let highest = simd.splat(self.sums.highest[first + i]);
            let mut total = simd.splat(0.0);
            for scores in self.tile.scores[i][..columns].chunks_exact_mut(S::LANES) {
                let weight = simd::exp(simd, simd.sub(simd.load(scores), highest));
                total = simd.add(total, weight);
                simd.store(weight, scores);
            }
            let before = &mut self.sums.total[first + i];
            // Where nothing came before, or the highest score stays, the sums are right as they are.
            if change.to_bits() != 1.0f32.to_bits() && *before != 0.0 {
                *before *= change;
                scale(simd, &mut self.sums.values[(first + i) * padded..][..padded], change);
            }
            *before += simd.sum(total);
        }
    }

    /// Adds a block's values, each with its weight: first the keys that all rows see, then for rows that see the same keys
    /// those that are left. Each row adds its keys in order, so where the first part ends does not show.
    #[inline(always)]
    fn add_values<S: Simd>(&mut self, simd: S, rows: Range<usize>, place: Place, mut loaded: Loaded) {
        let group = self.task.shape.group();
        let keys = |row: usize| self.visible(row / group, place.block);
        let (first, last) = (keys(rows.start), keys(rows.end - 1));
        let all = rows.clone().step_by(group).map(keys);
        let begins_alike = all.clone().all(|keys| keys.start == first.start) && last.start == first.start;
        let common = first.start..all.map(|keys| keys.end).min().unwrap_or(0).min(last.end);
        let common = if begins_alike { common } else { first.start..first.start };
        if !common.is_empty() {
            self.add_keys(simd, rows.clone(), rows.start, common.clone(), place, &loaded);
            loaded.ahead = &[];
        }
        let mut from = rows.start;
        while from < rows.end {
            let keys = self.visible(from / group, place.block);
            let to = (from + 1..rows.end).find(|&row| self.visible(row / group, place.block) != keys);
            let to = to.unwrap_or(rows.end);
            let left = if common.is_empty() { keys } else { common.end..keys.end };
            if !left.is_empty() {
                self.add_keys(simd, from..to, rows.start, left, place, &loaded);
                loaded.ahead = &[];
            }
            from = to;
        }
    }

    /// Adds some keys' values to some rows of the tile that begins at row `tile`.
    #[inline(always)]
    fn add_keys<S: Simd>(
        &mut self,
        simd: S,
        rows: Range<usize>,
        tile: usize,
        keys: Range<usize>,
        place: Place,
        loaded: &Loaded,
    ) {
        let padded = block::padded(self.task.shape);
        let first = self.first_row(place) + rows.start;
        simd.vectorize(Tile::<false> {
            a: &self.tile.scores[rows.start - tile..rows.end - tile],
            from: keys.start,
            steps: keys.len(),
            b: &loaded.values[keys.start * loaded.stride..],
            b_stride: loaded.stride,
            out: &mut self.sums.values[first * padded..],
            out_stride: padded,
            cols: padded,
            add: true,
            ahead: loaded.ahead.split_at(loaded.ahead.len() / 2).1,
        });
    }
}

/// Multiplies numbers, whole vectors of them, by a factor.
#[inline(always)]
fn scale<S: Simd>(simd: S, numbers: &mut [f32], factor: f32) {
    let factor = simd.splat(factor);
    for numbers in numbers.chunks_exact_mut(S::LANES) {
        simd.store(simd.mul(simd.load(numbers), factor), numbers);
    }
}

/// Numbers times a factor, into `out`.
#[inline(always)]
fn scaled<S: Simd>(simd: S, numbers: &[f32], factor: f32, out: &mut [f32]) {
    let whole = numbers.len() / S::LANES * S::LANES;
    let vector = simd.splat(factor);
    for (out, numbers) in out[..whole]
        .chunks_exact_mut(S::LANES)
        .zip(numbers.chunks_exact(S::LANES))
    {
        simd.store(simd.mul(simd.load(numbers), vector), out);
    }
    for (out, number) in out[whole..].iter_mut().zip(&numbers[whole..]) {
        *out = number * factor;
    }
}

/// `cap * tanh(x)` of scores that were divided by the cap.
#[inline(always)]
fn capped<S: Simd>(simd: S, cap: f32, scores: &mut [f32]) {
    for scores in scores.chunks_exact_mut(S::LANES) {
        let capped = simd::tanh(simd, simd.load(scores));
        simd.store(simd.mul(simd.splat(cap), capped), scores);
    }
}
