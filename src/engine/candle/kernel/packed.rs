//! A product's weights, packed once at load, and their product with any number of rows.

use std::ops::Range;

use super::Threads;
use super::blocks::{Blocks, with_rounded};
#[cfg(test)]
use super::wide::Precision;
use super::wide::Wide;

/// Columns of a panel: outputs whose weights lie side by side.
pub(super) const PANEL: usize = 32;

/// Rows of x packed at once: with [`super::tile::STEPS`] steps they fill half of a 1 MiB second-level cache.
const ROWS: usize = 240;

/// A stretch of a product's outputs whose weights lie in one form.
#[derive(Debug)]
pub enum Part {
    Wide(Wide),
    Blocks(Blocks),
}

impl Part {
    /// Outputs n and inputs k.
    fn shape(&self) -> [usize; 2] {
        match self {
            Part::Wide(wide) => wide.shape(),
            Part::Blocks(blocks) => blocks.shape(),
        }
    }
}

/// Linear weights [n out, k in], packed once for every number of rows: one or more parts, each in panels of 32 outputs.
#[derive(Debug)]
pub struct Packed {
    parts: Vec<Part>,
    n: usize,
    k: usize,
}

/// What falls on one part of some panels.
struct Span<'a> {
    part: &'a Part,
    /// Panels of the part.
    panels: Range<usize>,
    /// Their outputs, counted over all parts.
    columns: Range<usize>,
}

impl Packed {
    /// Weights as f32 or bf16; see [`Wide::pack_rows`].
    #[cfg(test)]
    pub fn pack_rows(n: usize, k: usize, precision: Precision, fill: impl FnMut(usize, &mut [f32])) -> Packed {
        Packed::stack(vec![Part::Wide(Wide::pack_rows(n, k, precision, fill))])
    }

    /// Parts with the same inputs, their outputs one after another.
    ///
    /// # Panics
    /// If there are none, or their inputs differ.
    pub fn stack(parts: Vec<Part>) -> Packed {
        let k = parts[0].shape()[1];
        assert!(parts.iter().all(|part| part.shape()[1] == k), "parts with other inputs");
        let n = parts.iter().map(|part| part.shape()[0]).sum();
        Packed { parts, n, k }
    }

    /// Outputs n of the layer.
    pub fn rows(&self) -> usize {
        self.n
    }

    /// Bytes of memory held.
    pub fn bytes(&self) -> usize {
        let bytes = |part: &Part| match part {
            Part::Wide(wide) => wide.bytes(),
            Part::Blocks(blocks) => blocks.bytes(),
        };
        self.parts.iter().map(bytes).sum()
    }

    /// Whether [`Packed::row`] gives rows: blocks are read from the file instead.
    pub fn gives_rows(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, Part::Wide(_)))
    }

    fn panels(&self) -> usize {
        self.parts.iter().map(|part| part.shape()[0].div_ceil(PANEL)).sum()
    }

    /// The parts of some panels, these counted over all parts.
    fn spans(&self, panels: Range<usize>) -> impl Iterator<Item = Span<'_>> {
        let (mut panel, mut column) = (0, 0);
        self.parts.iter().filter_map(move |part| {
            let [n, _] = part.shape();
            let (first_panel, first) = (panel, column);
            (panel, column) = (panel + n.div_ceil(PANEL), column + n);
            let (start, end) = (panels.start.max(first_panel), panels.end.min(panel));
            (start < end).then(|| Span {
                part,
                panels: start - first_panel..end - first_panel,
                columns: first + (start - first_panel) * PANEL..column.min(first + (end - first_panel) * PANEL),
            })
        })
    }

    /// The outputs of some panels.
    fn columns(&self, panels: &Range<usize>) -> Range<usize> {
        let mut spans = self.spans(panels.clone()).map(|span| span.columns);
        let first = spans.next().unwrap_or(0..0);
        first.start..spans.last().map_or(first.end, |last| last.end)
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
        let panels = self.panels();
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
        let mut shares: Vec<(Range<usize>, Range<usize>, Vec<f32>)> = (0..self.panels())
            .step_by(panels)
            .map(|first| {
                let panels = first..(first + panels).min(self.panels());
                let columns = self.columns(&panels);
                let out = vec![0.0; m * columns.len()];
                (panels, columns, out)
            })
            .collect();
        threads.each(shares.iter_mut().collect(), |(panels, columns, share)| {
            let outs = share.chunks_mut(ROWS * columns.len());
            for (x, out) in x.chunks(ROWS * self.k).zip(outs) {
                self.multiply(x, panels.clone(), out);
            }
        });
        for (_, columns, share) in shares {
            for (out, share) in out.chunks_exact_mut(self.n).zip(share.chunks_exact(columns.len())) {
                out[columns.clone()].copy_from_slice(share);
            }
        }
    }

    /// Some panels' columns of up to [`ROWS`] rows, into `out` of just those columns.
    fn multiply(&self, x: &[f32], panels: Range<usize>, out: &mut [f32]) {
        let all = self.columns(&panels);
        let rounds = self.parts.iter().any(|part| matches!(part, Part::Blocks(_)));
        with_rounded(if rounds { x } else { &[] }, self.k, |rows| {
            for span in self.spans(panels.clone()) {
                let out = &mut out[span.columns.start - all.start..];
                match span.part {
                    Part::Wide(wide) => wide.multiply(x, span.panels, out, all.len()),
                    Part::Blocks(blocks) => blocks.multiply(rows, span.panels, out, all.len()),
                }
            }
        });
    }

    /// Row `n` of W as f32 (the embedding of a token where the head is tied).
    ///
    /// # Panics
    /// If there is no such row, `out` has not k numbers, or the weights are blocks.
    pub fn row(&self, n: usize, out: &mut [f32]) {
        assert!(n < self.n && out.len() == self.k, "row {n} of [{}, {}]", self.n, self.k);
        match self.parts.as_slice() {
            [Part::Wide(wide)] => wide.row(n, out),
            _ => unreachable!("rows of blocks are read from the file"),
        }
    }
}

#[cfg(test)]
mod tests {
    use half::bf16;

    use super::super::{random, simd};
    use super::*;

    const BOTH: [Precision; 2] = [Precision::F32, Precision::Bf16];

    fn rounded(x: f32, precision: Precision) -> f64 {
        f64::from(match precision {
            Precision::F32 | Precision::Native => x,
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
}
