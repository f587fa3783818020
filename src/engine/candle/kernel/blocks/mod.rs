//! Linear weights that stay in the blocks of a quantized file, and their product with any number of rows: activations are rounded to
//! bytes, products are whole numbers.

mod format;
mod rounded;
#[cfg(test)]
mod tests;
mod tile;
mod unit;

use std::cell::RefCell;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use anyhow::{Result, ensure};

pub use self::format::Format;
use self::format::{Block, LONGEST};
pub(super) use self::rounded::RoundedRows;
use self::rounded::{BLOCK, Round, Side, tiles};
use self::tile::{Kind, Tile};
use self::unit::{Prepare, Ready, UnitLayout};
use super::Threads;
use super::memory::Words;
use super::packed::PANEL;
use super::simd::{self, Kernel, Simd};

/// Bytes of rounded activations that are used again and again: they share the second-level cache with what streams by.
const ROOM: usize = 256 << 10;

/// Weights [n out, k in] of one format, packed once for every number of rows: panels of 32 outputs, each a row of units
/// ([`UnitLayout`]).
#[derive(Debug)]
pub struct Blocks {
    words: Words,
    format: Format,
    n: usize,
    k: usize,
}

impl Blocks {
    /// Packs the rows that `row(n)` gives, as they lie in the file. Panels are packed side by side on the threads.
    ///
    /// # Errors
    /// Inputs that are no whole number of blocks, a row that `row` cannot give, or a block whose scale is no number.
    pub fn pack<'a>(
        format: Format,
        [n, k]: [usize; 2],
        threads: &Threads,
        row: impl Fn(usize) -> Result<&'a [u8]> + Sync + Send,
    ) -> Result<Blocks> {
        let units = k / format.weights();
        ensure!(
            units > 0 && units * format.weights() == k,
            "{k} inputs are no whole number of {format:?} blocks"
        );
        let bytes = units * UnitLayout::of(format).bytes;
        let mut words = Words::zeros((n.div_ceil(PANEL) * bytes).div_ceil(4));
        let failure = Mutex::new(None);
        let panels: Vec<_> = words.bytes_mut().chunks_exact_mut(bytes).enumerate().collect();
        threads.each(panels, |(panel, out)| {
            let rows = panel * PANEL..n.min((panel + 1) * PANEL);
            if let Err(error) = pack_panel(format, rows, out, &row) {
                *failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            }
        });
        let failure = failure.into_inner().unwrap_or_else(PoisonError::into_inner);
        failure.map_or(Ok(Blocks { words, format, n, k }), Err)
    }

    /// Outputs n and inputs k.
    pub(super) fn shape(&self) -> [usize; 2] {
        [self.n, self.k]
    }

    pub(super) fn bytes(&self) -> usize {
        self.words.bytes().len()
    }

    /// `x * W^T` for some panels' outputs of the rounded rows of x, into rows of `out` that are `out_stride` apart.
    pub(super) fn multiply(&self, rows: &RoundedRows, panels: Range<usize>, out: &mut [f32], out_stride: usize) {
        READY.with_borrow_mut(|ready| {
            simd::dispatch(Product {
                blocks: self,
                rows,
                panels,
                ready,
                out,
                out_stride,
            });
        });
    }

    fn kind(&self) -> Kind {
        match (self.format.bits(), self.format.run()) {
            (8, _) => Kind::Signed,
            (..5, 32) => Kind::Low,
            (..5, _) => Kind::LowShort,
            (_, 32) => Kind::High,
            _ => Kind::HighShort,
        }
    }
}

fn pack_panel<'a>(
    format: Format,
    rows: Range<usize>,
    out: &mut [u8],
    row: &(impl Fn(usize) -> Result<&'a [u8]> + Sync),
) -> Result<()> {
    let mut block = Block::EMPTY;
    let layout = UnitLayout::of(format);
    for (column, n) in rows.enumerate() {
        let bytes = row(n)?.chunks_exact(format.bytes());
        for (bytes, unit) in bytes.zip(out.chunks_exact_mut(layout.bytes)) {
            format.read(bytes, &mut block);
            let is_finite = |half: u16| half & 0x7c00 != 0x7c00;
            ensure!(
                is_finite(block.d) && is_finite(block.m),
                "row {n} holds a block whose scale is no finite number"
            );
            unit::write(&block, format, layout, column, unit);
        }
    }
    Ok(())
}

thread_local! {
    static ROUNDED: RefCell<RoundedRows> = RefCell::new(RoundedRows::default());
    /// The units at work.
    static READY: RefCell<Box<Ready>> = RefCell::new(Box::new(Ready::EMPTY));
}

/// Hands rows of k numbers, rounded, to `use_them`.
pub(super) fn with_rounded(x: &[f32], k: usize, use_them: impl FnOnce(&RoundedRows)) {
    ROUNDED.with_borrow_mut(|rows| {
        simd::dispatch(Round { x, k, out: rows });
        use_them(rows);
    });
}

/// The product of some rows with some panels.
struct Product<'a> {
    blocks: &'a Blocks,
    rows: &'a RoundedRows,
    panels: Range<usize>,
    ready: &'a mut Ready,
    out: &'a mut [f32],
    out_stride: usize,
}

impl Kernel for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(mut self, simd: S) {
        let (k, m) = (self.blocks.k, self.rows.rows);
        let stretches = k.div_ceil(LONGEST);
        // As many stretches at a time as leave the activations in the cache; with few rows all, so that weights stream.
        let at_once = (ROOM / (m.max(1) * LONGEST / BLOCK * (BLOCK + size_of::<Side>()))).max(1);
        let at_once = stretches.div_ceil(stretches.div_ceil(at_once));
        for first in (0..stretches).step_by(at_once) {
            for panel in self.panels.clone() {
                for stretch in first..(first + at_once).min(stretches) {
                    self.stretch(simd, panel, stretch);
                }
            }
        }
    }
}

impl Product<'_> {
    /// All rows times a stretch of a panel.
    #[inline(always)]
    fn stretch<S: Simd>(&mut self, simd: S, panel: usize, stretch: usize) {
        let Blocks { words, format, n, k } = self.blocks;
        let layout = UnitLayout::of(*format);
        let (from, inputs) = (stretch * LONGEST, LONGEST.min(k - stretch * LONGEST));
        let (unit, units) = (from / format.weights(), inputs / format.weights());
        let panel_bytes = k / format.weights() * layout.bytes;
        let units = &words.bytes()[panel * panel_bytes + unit * layout.bytes..][..units * layout.bytes];
        simd.vectorize(Prepare {
            format: *format,
            units,
            ready: self.ready,
        });
        let (codes, code_stride) = match format {
            Format::Q8_0 => (&units[layout.codes_at..], layout.bytes),
            _ => (self.ready.codes.as_flattened(), unit::CODES),
        };
        let (m, blocks) = (self.rows.rows, inputs / BLOCK);
        let col = (panel - self.panels.start) * PANEL;
        for rows in tiles(m, S::BYTE_ROWS) {
            let (quads, sides) = self.rows.tile(from / BLOCK, blocks, &rows);
            simd.vectorize(Tile {
                quads,
                sides,
                rows: rows.len(),
                blocks,
                codes,
                code_stride,
                scales: &self.ready.scales,
                mins: &self.ready.mins,
                kind: self.blocks.kind(),
                run: format.run() / 4,
                out: &mut self.out[rows.start * self.out_stride + col..],
                out_stride: self.out_stride,
                cols: PANEL.min(n - panel * PANEL),
                add: stretch > 0,
            });
        }
    }
}
