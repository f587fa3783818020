//! Linear weights as f32 or bf16, packed once at load, and their product with some rows.

use std::cell::RefCell;
use std::ops::Range;

use super::memory::Words;
use super::packed::PANEL;
use super::simd::{self, Kernel, Simd};
use super::tile::{EMPTY, Row, STEPS, Tile};

/// The number format that weights are packed in. Sums are f32 in all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    F32,
    /// Weights, and activations at the door of each product, are rounded to bf16 (nearest even).
    Bf16,
    /// As the file has them: blocks of a quantized file stay blocks ([`super::Blocks`]), the rest is f32.
    Native,
}

impl Precision {
    /// Weights in a 32-bit word.
    fn per_word(self) -> usize {
        match self {
            Precision::F32 | Precision::Native => 1,
            Precision::Bf16 => 2,
        }
    }
}

/// Linear weights [n out, k in] as f32 or bf16.
///
/// They lie as [n / 32][words of k][32], a word being an f32 or two bf16 (the even one in the low half), with zeros past n and k.
#[derive(Debug)]
pub struct Wide {
    words: Words,
    n: usize,
    k: usize,
    precision: Precision,
}

impl Wide {
    /// Packs weights that `fill(row, out)` writes row by row (`out` has k numbers, to be overwritten), each row once and in
    /// order: stacked projections, permuted rows and other formats need no copy of the whole beside the packed one.
    pub fn pack_rows(n: usize, k: usize, precision: Precision, mut fill: impl FnMut(usize, &mut [f32])) -> Wide {
        let words = k.div_ceil(precision.per_word());
        let mut packed = Words::zeros(n.div_ceil(PANEL) * words * PANEL);
        let mut row = vec![0.0; k];
        for n in 0..n {
            fill(n, &mut row);
            let column = packed.get_mut()[n / PANEL * words * PANEL..]
                .iter_mut()
                .skip(n % PANEL)
                .step_by(PANEL);
            match precision {
                Precision::F32 | Precision::Native => column.zip(&row).for_each(|(word, &weight)| *word = weight),
                Precision::Bf16 => column
                    .zip(row.chunks(2))
                    .for_each(|(word, pair)| *word = pack_pair(pair)),
            }
        }
        Wide {
            words: packed,
            n,
            k,
            precision,
        }
    }

    /// Outputs n and inputs k.
    pub(super) fn shape(&self) -> [usize; 2] {
        [self.n, self.k]
    }

    pub(super) fn bytes(&self) -> usize {
        self.words.bytes().len()
    }

    /// `x * W^T` for some panels' outputs of a few hundred rows of x, into rows of `out` that are `out_stride` apart.
    pub(super) fn multiply(&self, x: &[f32], panels: Range<usize>, out: &mut [f32], out_stride: usize) {
        PACKED_ROWS.with_borrow_mut(|rows| match self.precision {
            Precision::F32 | Precision::Native => simd::dispatch(Product::<false> {
                weights: self,
                x,
                rows,
                panels,
                out,
                out_stride,
            }),
            Precision::Bf16 => simd::dispatch(Product::<true> {
                weights: self,
                x,
                rows,
                panels,
                out,
                out_stride,
            }),
        });
    }

    /// Row `n` of W as f32.
    pub(super) fn row(&self, n: usize, out: &mut [f32]) {
        let words = self.k.div_ceil(self.precision.per_word());
        let column = self.words.get()[n / PANEL * words * PANEL..]
            .iter()
            .skip(n % PANEL)
            .step_by(PANEL);
        match self.precision {
            Precision::F32 | Precision::Native => out.iter_mut().zip(column).for_each(|(out, word)| *out = *word),
            Precision::Bf16 => out.chunks_mut(2).zip(column).for_each(|(out, word)| {
                let pair = [
                    f32::from_bits(word.to_bits() << 16),
                    f32::from_bits(word.to_bits() & 0xffff_0000),
                ];
                out.copy_from_slice(&pair[..out.len()]);
            }),
        }
    }
}

/// The product of some rows with some panels.
struct Product<'a, const BF16: bool> {
    weights: &'a Wide,
    x: &'a [f32],
    /// Room for the rows of x as the tiles want them.
    rows: &'a mut Vec<Row>,
    panels: Range<usize>,
    /// Rows of the panels' outputs, `out_stride` apart.
    out: &'a mut [f32],
    out_stride: usize,
}

thread_local! {
    /// The packed rows of x, kept between products.
    static PACKED_ROWS: RefCell<Vec<Row>> = const { RefCell::new(Vec::new()) };
}

impl<const BF16: bool> Kernel for Product<'_, BF16> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Wide { n, k, precision, .. } = *self.weights;
        let words = k.div_ceil(precision.per_word());
        let m = self.x.len() / k;
        if self.rows.len() < m {
            self.rows.resize(m, EMPTY);
        }
        let a = &mut self.rows[..m];
        let (first, out_stride) = (self.panels.start * PANEL, self.out_stride);
        let tiles = m.div_ceil(S::TILE_ROWS);
        // As few blocks of steps as can be, of equal size. A sum that waits in `out` between two of them loses nothing.
        let block = words.div_ceil(words.div_ceil(STEPS));
        for from in (0..words).step_by(block) {
            let steps = block.min(words - from);
            for (a, x) in a.iter_mut().zip(self.x.chunks_exact(k)) {
                pack_steps::<S, BF16>(simd, &x[from * precision.per_word()..], &mut a[..steps]);
            }
            for panel in self.panels.clone() {
                let b = &self.weights.words.get()[(panel * words + from) * PANEL..][..steps * PANEL];
                let next = self
                    .weights
                    .words
                    .get()
                    .get(((panel + 1) * words + from) * PANEL..)
                    .unwrap_or(&[]);
                let next = &next[..next.len().min(b.len())];
                let col = panel * PANEL - first;
                for tile in 0..tiles {
                    // Tiles of nearly equal height.
                    let (top, end) = (m * tile / tiles, m * (tile + 1) / tiles);
                    simd.vectorize(Tile::<BF16> {
                        a: &a[top..end],
                        from: 0,
                        steps,
                        b,
                        b_stride: PANEL,
                        out: &mut self.out[top * out_stride + col..],
                        out_stride,
                        cols: PANEL.min(n - panel * PANEL),
                        add: from > 0,
                        // A low tile has no time to spare: there fetching ahead costs more than it brings.
                        ahead: if end - top < 8 { &[] } else { share(next, tile, tiles) },
                    });
                }
            }
        }
    }
}

/// The part of a panel that falls to one of the tiles.
fn share(panel: &[f32], tile: usize, tiles: usize) -> &[f32] {
    &panel[panel.len() * tile / tiles..panel.len() * (tile + 1) / tiles]
}

/// The next steps of a row of x: numbers as they are, or rounded pairs.
#[inline(always)]
fn pack_steps<S: Simd, const BF16: bool>(simd: S, x: &[f32], out: &mut [f32]) {
    if !BF16 {
        out.copy_from_slice(&x[..out.len()]);
        return;
    }
    let vectors = (x.len() / (2 * S::LANES)).min(out.len() / S::LANES);
    let (whole, rest) = out.split_at_mut(vectors * S::LANES);
    for (out, x) in whole.chunks_exact_mut(S::LANES).zip(x.chunks_exact(2 * S::LANES)) {
        simd.store(simd.round_bf16(simd.load(x), simd.load(&x[S::LANES..])), out);
    }
    for (out, pair) in rest.iter_mut().zip(x[2 * vectors * S::LANES..].chunks(2)) {
        *out = pack_pair(pair);
    }
}

/// Two numbers, or one, as bf16 in a word.
#[inline(always)]
pub(super) fn pack_pair(pair: &[f32]) -> f32 {
    let bits = |i: usize| pair.get(i).map_or(0, |&x| round_bf16(x));
    f32::from_bits(bits(0) >> 16 | bits(1) & 0xffff_0000)
}

/// The bits of x rounded to bf16, in the high half (nearest, ties to even; NaN stays NaN).
#[inline(always)]
fn round_bf16(x: f32) -> u32 {
    let bits = x.to_bits();
    if x.is_nan() {
        bits | 0x0040_0000
    } else {
        bits + 0x7fff + (bits >> 16 & 1)
    }
}

#[cfg(test)]
mod tests {
    use half::bf16;

    use super::super::random;
    use super::*;

    #[test]
    fn a_row_is_rounded_alike_on_every_instruction_set() {
        struct Pack<'a>(&'a [f32], &'a mut [f32]);
        impl Kernel for Pack<'_> {
            type Output = ();
            #[inline(always)]
            fn run<S: Simd>(self, simd: S) {
                pack_steps::<S, true>(simd, self.0, self.1);
            }
        }
        for len in [1, 2, 31, 32, 33, 65, 100] {
            let mut x = random(len, 9);
            x[len / 2] = f32::INFINITY;
            let expected: Vec<u32> = x.chunks(2).map(|pair| pack_pair(pair).to_bits()).collect();
            simd::on_each(|level| {
                let mut out = vec![0.0; len.div_ceil(2)];
                simd::dispatch(Pack(&x, &mut out));
                let bits: Vec<u32> = out.iter().map(|word| word.to_bits()).collect();
                assert_eq!(bits, expected, "{len} numbers on {level:?}");
            });
        }
    }

    #[test]
    fn rounding_to_bf16_is_to_nearest_even() {
        for x in random(1000, 8)
            .into_iter()
            .chain([0.0, -0.0, 1e-40, f32::MAX, f32::INFINITY, f32::NEG_INFINITY])
        {
            assert_eq!((round_bf16(x) >> 16) as u16, bf16::from_f32(x).to_bits(), "{x}");
        }
        assert!(bf16::from_bits((round_bf16(f32::NAN) >> 16) as u16).is_nan());
    }
}
