//! The inner loop over bytes: a few rows of rounded activations times a panel, with all sums of a run in registers.

use super::super::packed::PANEL;
use super::super::simd::{Kernel, Simd};
use super::rounded::{QUADS, Side};

/// `out[rows, PANEL] (+)= a * weights` over some blocks of 32 inputs, run by run in order: so no row depends on another. Whole
/// numbers within a run, f32 between runs, each step rounded once: the same bits by any instruction set.
pub(super) struct Tile<'a> {
    /// [block][quad][row] and [block][row].
    pub(super) quads: &'a [i32],
    pub(super) sides: &'a [Side],
    pub(super) rows: usize,
    pub(super) blocks: usize,
    /// Codes [quad][output][4] of a block, `code_stride` bytes apart.
    pub(super) codes: &'a [u8],
    pub(super) code_stride: usize,
    /// Of each run: weights are `scale * code + min`.
    pub(super) scales: &'a [[f32; PANEL]],
    pub(super) mins: &'a [[f32; PANEL]],
    pub(super) kind: Kind,
    /// Quads of a run: as [`Kind`] says, and here so that the compiler does not know it. Unrolled, the inner loop would have its sums
    /// taken apart and lose its registers.
    pub(super) run: usize,
    pub(super) out: &'a mut [f32],
    pub(super) out_stride: usize,
    pub(super) cols: usize,
    /// Whether the sums go on from what `out` holds.
    pub(super) add: bool,
}

/// What the inner loop has to know of a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Signed bytes without a minimum, runs of 32.
    Signed,
    /// Codes below 16: the products of a whole run fit 16 bits. Runs of 32, and of 16.
    Low,
    LowShort,
    /// Codes below 64: the products of two quads fit. Runs of 32, and of 16.
    High,
    HighShort,
}

const SIGNED: u8 = 0;
const LOW: u8 = 1;
const HIGH: u8 = 2;

impl Kernel for Tile<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        match self.kind {
            Kind::Signed => self.height::<S, 1, SIGNED>(simd),
            Kind::Low => self.height::<S, 1, LOW>(simd),
            Kind::LowShort => self.height::<S, 2, LOW>(simd),
            Kind::High => self.height::<S, 1, HIGH>(simd),
            Kind::HighShort => self.height::<S, 2, HIGH>(simd),
        }
    }
}

impl Tile<'_> {
    #[inline(always)]
    fn height<S: Simd, const RUNS: usize, const CODES: u8>(self, simd: S) {
        match self.rows {
            1 if S::LANES == 8 => self.sums::<S, RUNS, CODES, 1, 4>(simd),
            1 => self.sums::<S, RUNS, CODES, 1, 2>(simd),
            2 if S::LANES == 8 => self.sums::<S, RUNS, CODES, 2, 4>(simd),
            2 => self.sums::<S, RUNS, CODES, 2, 2>(simd),
            3 => self.sums::<S, RUNS, CODES, 3, 2>(simd),
            4 => self.sums::<S, RUNS, CODES, 4, 2>(simd),
            5 if S::BYTE_ROWS > 4 => self.sums::<S, RUNS, CODES, 5, 2>(simd),
            6 if S::BYTE_ROWS > 4 => self.sums::<S, RUNS, CODES, 6, 2>(simd),
            7 if S::BYTE_ROWS > 4 => self.sums::<S, RUNS, CODES, 7, 2>(simd),
            8 if S::BYTE_ROWS > 4 => self.sums::<S, RUNS, CODES, 8, 2>(simd),
            rows => debug_assert!(rows == 0, "{rows} rows in a tile"),
        }
    }

    /// `RUNS` in a block.
    #[inline(always)]
    fn sums<S: Simd, const RUNS: usize, const CODES: u8, const ROWS: usize, const VECS: usize>(self, simd: S) {
        let quads = self.quads.as_chunks::<ROWS>().0;
        let sides = self.sides.as_chunks::<ROWS>().0;
        for col in (0..self.cols).step_by(VECS * S::LANES) {
            let width = (self.cols - col).min(VECS * S::LANES);
            let mut sums = [[simd.splat(0.0); VECS]; ROWS];
            if self.add {
                for (r, sums) in sums.iter_mut().enumerate() {
                    let out = &self.out[r * self.out_stride + col..][..width];
                    for (v, sum) in sums.iter_mut().enumerate() {
                        *sum = simd.load_part(&out[width.min(v * S::LANES)..]);
                    }
                }
            }
            for (at, sides) in (0..self.blocks * RUNS).zip(sides.iter().flat_map(|sides| [sides; RUNS])) {
                let (block, run) = (at / RUNS, at % RUNS);
                let codes =
                    &self.codes[block * self.code_stride + run * self.run * 4 * PANEL..][..self.run * 4 * PANEL];
                let quads = &quads[block * QUADS + run * self.run..][..self.run];
                let dots = dots::<S, CODES, ROWS, VECS>(simd, codes, col, quads, sides);
                let scales: [S::F; VECS] = vectors(simd, &self.scales[at], col);
                for r in 0..ROWS {
                    let scale = simd.splat(sides[r].scale);
                    for v in 0..VECS {
                        let factor = simd.mul(scales[v], scale);
                        sums[r][v] = simd.fma_exact(simd.to_float(dots[r][v]), factor, sums[r][v]);
                    }
                }
                if CODES != SIGNED {
                    let mins: [S::F; VECS] = vectors(simd, &self.mins[at], col);
                    for r in 0..ROWS {
                        let total = simd.splat(if RUNS == 1 {
                            sides[r].total
                        } else {
                            sides[r].halves[run]
                        });
                        for v in 0..VECS {
                            sums[r][v] = simd.fma_exact(mins[v], total, sums[r][v]);
                        }
                    }
                }
            }
            for (r, sums) in sums.iter().enumerate() {
                let out = &mut self.out[r * self.out_stride + col..][..width];
                for (sum, out) in sums.iter().zip(out.chunks_mut(S::LANES)) {
                    simd.store_part(*sum, out);
                }
            }
        }
    }
}

/// The whole-number products of a run of inputs.
#[inline(always)]
fn dots<S: Simd, const CODES: u8, const ROWS: usize, const VECS: usize>(
    simd: S,
    codes: &[u8],
    col: usize,
    quads: &[[i32; ROWS]],
    sides: &[Side; ROWS],
) -> [[S::I; VECS]; ROWS] {
    assert!(col + VECS * S::LANES <= PANEL);
    let mut dots = [[simd.splat_int(0); VECS]; ROWS];
    if CODES == HIGH {
        for (w, a) in codes
            .as_chunks::<{ 8 * PANEL }>()
            .0
            .iter()
            .zip(quads.as_chunks::<2>().0)
        {
            let w: [[S::I; VECS]; 2] = [load(simd, w, col), load(simd, &w[4 * PANEL..], col)];
            for r in 0..ROWS {
                let a = [simd.splat_int(a[0][r]), simd.splat_int(a[1][r])];
                for v in 0..VECS {
                    let part = simd.dot_u8(simd.dot_u8(simd.splat_int(0), w[0][v], a[0]), w[1][v], a[1]);
                    dots[r][v] = simd.add_int(dots[r][v], simd.settle(part));
                }
            }
        }
        return dots;
    }
    if CODES == SIGNED && S::BIAS != 0 {
        dots = std::array::from_fn(|r| [simd.splat_int(-S::BIAS * sides[r].sum); VECS]);
    }
    for (w, a) in codes.as_chunks::<{ 4 * PANEL }>().0.iter().zip(quads) {
        let w: [S::I; VECS] = load(simd, w, col);
        for r in 0..ROWS {
            let a = simd.splat_int(a[r]);
            for v in 0..VECS {
                dots[r][v] = if CODES == SIGNED {
                    simd.dot_i8(dots[r][v], w[v], a)
                } else {
                    simd.dot_u8(dots[r][v], w[v], a)
                };
            }
        }
    }
    if CODES == LOW {
        for r in 0..ROWS {
            for v in 0..VECS {
                dots[r][v] = simd.settle(dots[r][v]);
            }
        }
    }
    dots
}

/// Vectors of a quad's codes.
#[inline(always)]
fn load<S: Simd, const VECS: usize>(simd: S, codes: &[u8], col: usize) -> [S::I; VECS] {
    std::array::from_fn(|v| simd.load_bytes(&codes[(col + v * S::LANES) * 4..]))
}

#[inline(always)]
fn vectors<S: Simd, const VECS: usize>(simd: S, row: &[f32; PANEL], col: usize) -> [S::F; VECS] {
    std::array::from_fn(|v| simd.load(&row[col + v * S::LANES..]))
}
