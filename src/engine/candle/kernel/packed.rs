//! Linear weights packed once at load, and their product with any number of rows.

use std::cell::RefCell;
use std::ops::Range;

use super::Threads;
use super::memory::Words;
use super::simd::{self, Kernel, Simd};
use super::tile::{EMPTY, Row, STEPS, Tile};

/// Columns of a panel: outputs whose weights lie side by side.
const PANEL: usize = 32;

/// Rows of x packed at once: with [`STEPS`] steps they fill half of a 1 MiB second-level cache.
const ROWS: usize = 240;

/// The number format of packed weights. Sums are f32 in both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Precision {
    F32,
    /// Weights, and activations at the door of each product, are rounded to bf16 (nearest even).
    Bf16,
}

impl Precision {
    /// Weights in a 32-bit word.
    fn per_word(self) -> usize {
        match self {
            Precision::F32 => 1,
            Precision::Bf16 => 2,
        }
    }
}

/// Linear weights [n out, k in], packed once for every number of rows.
///
/// They lie as [n / 32][words of k][32], a word being an f32 or two bf16 (the even one in the low half), with zeros past n and k.
#[derive(Debug)]
pub struct Packed {
    words: Words,
    n: usize,
    k: usize,
    precision: Precision,
}

impl Packed {
    /// Packs weights that `fill(row, out)` writes row by row (`out` has k numbers, to be overwritten), each row once and in
    /// order: stacked projections, permuted rows and other formats need no copy of the whole beside the packed one.
    pub fn pack_rows(n: usize, k: usize, precision: Precision, mut fill: impl FnMut(usize, &mut [f32])) -> Packed {
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
                Precision::F32 => column.zip(&row).for_each(|(word, &weight)| *word = weight),
                Precision::Bf16 => column
                    .zip(row.chunks(2))
                    .for_each(|(word, pair)| *word = pack_pair(pair)),
            }
        }
        Packed {
            words: packed,
            n,
            k,
            precision,
        }
    }

    /// Outputs n of the layer.
    pub fn rows(&self) -> usize {
        self.n
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        size_of_val(self.words.get())
    }

    /// `out[m, n] = x[m, k] * W^T`, f32 in and out.
    ///
    /// # Panics
    /// If `x` is not rows of k numbers, or `out` not as many rows of n.
    pub fn matmul(&self, x: &[f32], out: &mut [f32], threads: &Threads) {
        if self.k == 0 || self.n == 0 {
            out.fill(0.0);
            return;
        }
        let m = x.len() / self.k;
        assert!(
            x.len() == m * self.k && out.len() == m * self.n,
            "x is not [m, k] or out not [m, n]"
        );
        let panels = self.n.div_ceil(PANEL);
        let blocks = m.div_ceil(ROWS);
        if threads.count() > 1 && blocks < 2 * threads.count() {
            self.matmul_by_columns(x, out, threads, panels.div_ceil(threads.count()));
        } else {
            let rows = m.div_ceil(blocks.next_multiple_of(threads.count()).max(1)).max(1);
            let tasks = x.chunks(rows * self.k).zip(out.chunks_mut(rows * self.n)).collect();
            threads.each(tasks, |(x, out): (&[f32], &mut [f32])| self.multiply(x, 0..panels, out));
        }
    }

    /// Each thread computes some columns of all rows.
    fn matmul_by_columns(&self, x: &[f32], out: &mut [f32], threads: &Threads, panels: usize) {
        let m = x.len() / self.k;
        let width = panels * PANEL;
        let mut parts: Vec<Vec<f32>> = (0..self.n)
            .step_by(width)
            .map(|n| vec![0.0; m * width.min(self.n - n)])
            .collect();
        threads.each(parts.iter_mut().enumerate().collect(), |(i, part)| {
            let last = ((i + 1) * panels).min(self.n.div_ceil(PANEL));
            for (x, part) in x
                .chunks(ROWS * self.k)
                .zip(part.chunks_mut(ROWS * width.min(self.n - i * width)))
            {
                self.multiply(x, i * panels..last, part);
            }
        });
        for (i, part) in parts.iter().enumerate() {
            let width_here = width.min(self.n - i * width);
            for (out, part) in out.chunks_exact_mut(self.n).zip(part.chunks_exact(width_here)) {
                out[i * width..][..width_here].copy_from_slice(part);
            }
        }
    }

    /// Some panels' columns of up to [`ROWS`] rows, into `out` of just those columns.
    fn multiply(&self, x: &[f32], panels: Range<usize>, out: &mut [f32]) {
        PACKED_ROWS.with_borrow_mut(|rows| match self.precision {
            Precision::F32 => simd::dispatch(Product::<false> {
                packed: self,
                x,
                rows,
                panels,
                out,
            }),
            Precision::Bf16 => simd::dispatch(Product::<true> {
                packed: self,
                x,
                rows,
                panels,
                out,
            }),
        });
    }

    /// Row `n` of W as f32 (the embedding of a token where the head is tied).
    ///
    /// # Panics
    /// If there is no such row, or `out` has not k numbers.
    pub fn row(&self, n: usize, out: &mut [f32]) {
        assert!(n < self.n && out.len() == self.k, "row {n} of [{}, {}]", self.n, self.k);
        let words = self.k.div_ceil(self.precision.per_word());
        let column = self.words.get()[n / PANEL * words * PANEL..]
            .iter()
            .skip(n % PANEL)
            .step_by(PANEL);
        match self.precision {
            Precision::F32 => out.iter_mut().zip(column).for_each(|(out, word)| *out = *word),
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
    packed: &'a Packed,
    x: &'a [f32],
    /// Room for the rows of x as the tiles want them.
    rows: &'a mut Vec<Row>,
    panels: Range<usize>,
    out: &'a mut [f32],
}

thread_local! {
    /// The packed rows of x, kept between products.
    static PACKED_ROWS: RefCell<Vec<Row>> = const { RefCell::new(Vec::new()) };
}

impl<const BF16: bool> Kernel for Product<'_, BF16> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Packed { n, k, precision, .. } = *self.packed;
        let words = k.div_ceil(precision.per_word());
        let m = self.x.len() / k;
        if self.rows.len() < m {
            self.rows.resize(m, EMPTY);
        }
        let a = &mut self.rows[..m];
        let (first, last) = (self.panels.start * PANEL, n.min(self.panels.end * PANEL));
        let out_stride = last - first;
        let tiles = m.div_ceil(S::TILE_ROWS);
        // As few blocks of steps as can be, of equal size. A sum that waits in `out` between two of them loses nothing.
        let block = words.div_ceil(words.div_ceil(STEPS));
        for from in (0..words).step_by(block) {
            let steps = block.min(words - from);
            for (a, x) in a.iter_mut().zip(self.x.chunks_exact(k)) {
                pack_steps::<S, BF16>(simd, &x[from * precision.per_word()..], &mut a[..steps]);
            }
            for panel in self.panels.clone() {
                let b = &self.packed.words.get()[(panel * words + from) * PANEL..][..steps * PANEL];
                let next = self
                    .packed
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
                        cols: PANEL.min(out_stride - col),
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

    const BOTH: [Precision; 2] = [Precision::F32, Precision::Bf16];

    fn rounded(x: f32, precision: Precision) -> f64 {
        f64::from(match precision {
            Precision::F32 => x,
            Precision::Bf16 => bf16::from_f32(x).to_f32(),
        })
    }

    /// Row-major weights [n, k].
    fn pack(weights: &[f32], n: usize, k: usize, precision: Precision) -> Packed {
        Packed::pack_rows(n, k, precision, |row, out| {
            out.copy_from_slice(&weights[row * k..][..k]);
        })
    }

    #[test]
    fn products_are_the_definition_on_every_instruction_set() {
        let shapes = [
            (1, 1, 1),
            (2, 31, 7),
            (13, 33, 64),
            (25, 70, 513),
            (5, 100, 1100),
            (250, 40, 9),
            (3, 64, 2050),
        ];
        for ((m, n, k), precision) in shapes
            .iter()
            .flat_map(|&shape| BOTH.map(|precision| (shape, precision)))
        {
            let (x, w) = (random(m * k, 1), random(n * k, 2));
            let packed = pack(&w, n, k, precision);
            simd::on_each(|level| {
                let mut out = vec![f32::NAN; m * n];
                packed.matmul(&x, &mut out, &Threads::new(1));
                for (i, out) in out.iter().enumerate() {
                    let (x, w) = (&x[i / n * k..][..k], &w[i % n * k..][..k]);
                    let exact: f64 = x
                        .iter()
                        .zip(w)
                        .map(|(&x, &w)| rounded(x, precision) * rounded(w, precision))
                        .sum();
                    let error = (f64::from(*out) - exact).abs();
                    assert!(
                        error < 3e-6 * (k as f64).sqrt(),
                        "{error} at {i} of {m} x {n} x {k}, {precision:?} on {level:?}"
                    );
                }
            });
        }
    }

    #[test]
    fn a_row_has_the_same_bits_in_any_company_and_on_any_threads() {
        let (n, k) = (200, 1100);
        let x = random(600 * k, 3);
        for precision in BOTH {
            let packed = pack(&random(n * k, 4), n, k, precision);
            let mut alone = vec![0.0; 600 * n];
            for (x, out) in x.chunks(k).zip(alone.chunks_mut(n)) {
                packed.matmul(x, out, &Threads::new(1));
            }
            for threads in [1, 2, 3] {
                let threads = Threads::new(threads);
                for m in (0..=64).chain([239, 240, 241, 511, 600]) {
                    let first = (600 - m) / 2;
                    let mut out = vec![0.0; m * n];
                    packed.matmul(&x[first * k..][..m * k], &mut out, &threads);
                    assert_eq!(
                        out,
                        alone[first * n..][..m * n],
                        "{m} rows, {precision:?}, {} threads",
                        threads.count()
                    );
                }
            }
        }
    }

    #[test]
    fn a_row_of_weights_comes_back_as_it_went_in() {
        let (n, k) = (40, 33);
        let w: Vec<f32> = random(n * k, 5)
            .into_iter()
            .map(|x| bf16::from_f32(x).to_f32())
            .collect();
        for precision in BOTH {
            let packed = pack(&w, n, k, precision);
            for row in [0, 31, 32, 39] {
                let mut out = vec![0.0; k];
                packed.row(row, &mut out);
                assert_eq!(out, w[row * k..][..k]);
            }
        }
    }

    #[test]
    fn broken_numbers_stay_in_their_row_and_come_out_broken() {
        let (n, k) = (33, 20);
        for precision in BOTH {
            let packed = pack(&random(n * k, 6), n, k, precision);
            let mut x = random(3 * k, 7);
            x[k] = f32::NAN;
            x[2 * k] = f32::INFINITY;
            simd::on_each(|level| {
                let mut out = vec![0.0; 3 * n];
                packed.matmul(&x, &mut out, &Threads::new(1));
                assert!(out[..n].iter().all(|x| x.is_finite()), "{precision:?} on {level:?}");
                assert!(out[n..2 * n].iter().all(|x| x.is_nan()), "{precision:?} on {level:?}");
                assert!(
                    out[2 * n..].iter().all(|x| x.is_infinite()),
                    "{precision:?} on {level:?}"
                );
            });
        }
    }

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
