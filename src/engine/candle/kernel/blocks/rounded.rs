//! Activations rounded to bytes, 32 numbers a block, each block by its own scale.

use super::super::simd::{Kernel, Simd};
use super::format::LONGEST;

/// Numbers of a block.
pub(super) const BLOCK: usize = 32;

/// Groups of four bytes in a block.
pub(super) const QUADS: usize = BLOCK / 4;

/// What a row's block has beside its bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Side {
    pub(super) scale: f32,
    /// The sum of all bytes, and of each half, times the scale.
    pub(super) total: f32,
    pub(super) halves: [f32; 2],
    /// The sum of the bytes.
    pub(super) sum: i32,
}

/// Rows of activations, rounded, as the tiles want them: for each stretch of [`LONGEST`] inputs the tiles' rows one tile after
/// another, in a tile [block][quad][row].
#[derive(Debug, Default)]
pub(in super::super) struct RoundedRows {
    /// Four signed bytes in each, -127 to 127.
    quads: Vec<i32>,
    sides: Vec<Side>,
    pub(super) rows: usize,
}

impl RoundedRows {
    /// The quads and sides of a tile's rows in a stretch that begins with `block` and has `blocks`.
    pub(super) fn tile(&self, block: usize, blocks: usize, rows: &std::ops::Range<usize>) -> (&[i32], &[Side]) {
        let at = block * self.rows + rows.start * blocks;
        let count = rows.len() * blocks;
        (&self.quads[at * QUADS..][..count * QUADS], &self.sides[at..][..count])
    }
}

/// The rows of tiles of nearly equal height.
pub(super) fn tiles(rows: usize, most: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    let tiles = rows.div_ceil(most);
    (0..tiles).map(move |tile| rows * tile / tiles..rows * (tile + 1) / tiles)
}

/// Rounds rows of k numbers to the nearest 127th of the largest of their block, ties to even. A block with a number that is none, or
/// infinite, becomes NaN.
pub(super) struct Round<'a> {
    pub(super) x: &'a [f32],
    pub(super) k: usize,
    pub(super) out: &'a mut RoundedRows,
}

impl Kernel for Round<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Round { x, k, out } = self;
        out.rows = x.len() / k;
        out.quads.resize(x.len() / 4, 0);
        out.sides.resize(x.len() / BLOCK, Side::default());
        for stretch in (0..k).step_by(LONGEST) {
            let width = LONGEST.min(k - stretch);
            for rows in tiles(out.rows, S::BYTE_ROWS) {
                let height = rows.len();
                let at = (stretch * out.rows + rows.start * width) / BLOCK;
                for (r, row) in rows.enumerate() {
                    let blocks = x[row * k + stretch..][..width].as_chunks::<BLOCK>().0;
                    for (block, x) in blocks.iter().enumerate() {
                        let (quads, side) = round(x);
                        let at = at + block * height;
                        out.sides[at + r] = side;
                        let to = out.quads[at * QUADS + r..].iter_mut().step_by(height);
                        to.zip(quads).for_each(|(to, quad)| *to = quad);
                    }
                }
            }
        }
    }
}

/// The bits of an f32's magnitude.
const MAGNITUDE: u32 = 0x7fff_ffff;

#[inline(always)]
fn round(x: &[f32; BLOCK]) -> ([i32; QUADS], Side) {
    // Magnitudes are ordered as their bits are, and what is no number is above all.
    let mut largest = [0; 8];
    for x in x.as_chunks::<8>().0 {
        for (largest, x) in largest.iter_mut().zip(x) {
            *largest = (x.to_bits() & MAGNITUDE).max(*largest);
        }
    }
    let largest = f32::from_bits(largest.into_iter().fold(0, u32::max));
    if !largest.is_finite() {
        let broken = f32::NAN;
        let side = Side {
            scale: broken,
            total: broken,
            halves: [broken; 2],
            sum: 0,
        };
        return ([0; QUADS], side);
    }
    // What is smaller has no inverse.
    if largest < 1e-30 {
        return ([0; QUADS], Side::default());
    }
    let inverse = 127.0 / largest;
    // Adding 1.5 * 2^23 leaves the nearest integer in the lowest bits.
    let mut bytes = [0; BLOCK];
    for (byte, x) in bytes.iter_mut().zip(x) {
        *byte = (x * inverse + 12_582_912.0).to_bits() as i8;
    }
    let mut sums = [0; 2];
    for (sum, half) in sums.iter_mut().zip(bytes.as_chunks::<16>().0) {
        for byte in half {
            *sum += i32::from(*byte);
        }
    }
    let mut quads = [0; QUADS];
    for (quad, bytes) in quads.iter_mut().zip(bytes.as_chunks::<4>().0) {
        *quad = i32::from_le_bytes([bytes[0] as u8, bytes[1] as u8, bytes[2] as u8, bytes[3] as u8]);
    }
    let (scale, sum) = (largest / 127.0, sums[0] + sums[1]);
    let side = Side {
        scale,
        total: sum as f32 * scale,
        halves: [sums[0] as f32 * scale, sums[1] as f32 * scale],
        sum,
    };
    (quads, side)
}
