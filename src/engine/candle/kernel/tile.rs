//! The one inner loop: a few rows times a strip of columns, with all sums in registers.

use super::simd::{Kernel, Simd};

/// Steps of a sum that a [`Row`] holds.
pub(super) const STEPS: usize = 512;

/// Numbers in a cache line.
pub(super) const LINE: usize = 16;

/// A left-hand row, one number (or pair of bf16) a step. Longer than its steps, so that rows do not fall on the same cache sets.
pub(super) type Row = [f32; STEPS + 16];

pub(super) const EMPTY: Row = [0.0; STEPS + 16];

/// Rows of the highest tile of any instruction set.
pub(super) const MOST_ROWS: usize = 12;

/// `out[a.len(), cols] (+)= a * b`, summed over the steps one by one, whatever the number of rows: so no row depends on another.
pub(super) struct Tile<'a, const BF16: bool> {
    /// Up to `Simd::TILE_ROWS` rows.
    pub(super) a: &'a [Row],
    /// The steps of `a` to use: `from..from + steps`.
    pub(super) from: usize,
    pub(super) steps: usize,
    /// One row a step, `b_stride` apart; each has `cols`, rounded up to a multiple of two vectors.
    pub(super) b: &'a [f32],
    pub(super) b_stride: usize,
    /// One row for each of `a`, `out_stride` apart.
    pub(super) out: &'a mut [f32],
    pub(super) out_stride: usize,
    pub(super) cols: usize,
    /// Whether the sums go on from what `out` holds.
    pub(super) add: bool,
    /// What is needed next: fetched while this is computed, a cache line a step.
    pub(super) ahead: &'a [f32],
}

impl<const BF16: bool> Kernel for Tile<'_, BF16> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        match self.a.len() {
            1 => self.rows::<S, 1>(simd),
            2 => self.rows::<S, 2>(simd),
            3 => self.rows::<S, 3>(simd),
            4 => self.rows::<S, 4>(simd),
            5 => self.rows::<S, 5>(simd),
            6 => self.rows::<S, 6>(simd),
            7 if S::TILE_ROWS > 6 => self.rows::<S, 7>(simd),
            8 if S::TILE_ROWS > 6 => self.rows::<S, 8>(simd),
            9 if S::TILE_ROWS > 6 => self.rows::<S, 9>(simd),
            10 if S::TILE_ROWS > 6 => self.rows::<S, 10>(simd),
            11 if S::TILE_ROWS > 6 => self.rows::<S, 11>(simd),
            12 if S::TILE_ROWS > 6 => self.rows::<S, 12>(simd),
            rows => debug_assert!(rows == 0, "{rows} rows in a tile"),
        }
    }
}

impl<const BF16: bool> Tile<'_, BF16> {
    #[inline(always)]
    fn rows<S: Simd, const ROWS: usize>(self, simd: S) {
        let Some(a) = self.a.first_chunk::<ROWS>() else { return };
        let a: [&[f32]; ROWS] = std::array::from_fn(|r| &a[r][self.from..][..self.steps]);
        let mut ahead = self.ahead.chunks(LINE);
        let mut col = 0;
        while col < self.cols {
            let width = (self.cols - col).min(2 * S::LANES);
            let mut sums = [[simd.splat(0.0); 2]; ROWS];
            if self.add {
                for (r, sums) in sums.iter_mut().enumerate() {
                    let (first, second) = halves(&self.out[r * self.out_stride + col..][..width], S::LANES);
                    *sums = [simd.load_part(first), simd.load_part(second)];
                }
            }
            for r in 0..ROWS {
                let out = &self.out[r * self.out_stride + col..][..width];
                simd.prefetch(out);
                simd.prefetch(&out[width - 1..]);
            }
            for (step, b) in self.b[col..].chunks(self.b_stride).take(self.steps).enumerate() {
                let b = [simd.load(b), simd.load(&b[S::LANES..])];
                if let Some(line) = ahead.next() {
                    simd.prefetch(line);
                }
                for r in 0..ROWS {
                    let a = simd.splat(a[r][step]);
                    for v in 0..2 {
                        sums[r][v] = if BF16 {
                            simd.dot_bf16(sums[r][v], a, b[v])
                        } else {
                            simd.fma(a, b[v], sums[r][v])
                        };
                    }
                }
            }
            for (r, sums) in sums.iter().enumerate() {
                let out = &mut self.out[r * self.out_stride + col..][..width];
                if width == 2 * S::LANES {
                    simd.store(sums[0], out);
                    simd.store(sums[1], &mut out[S::LANES..]);
                } else {
                    let (first, second) = out.split_at_mut(width.min(S::LANES));
                    simd.store_part(sums[0], first);
                    simd.store_part(sums[1], second);
                }
            }
            col += 2 * S::LANES;
        }
    }
}

/// The first `lanes` numbers and the rest.
#[inline(always)]
fn halves(row: &[f32], lanes: usize) -> (&[f32], &[f32]) {
    row.split_at(row.len().min(lanes))
}
