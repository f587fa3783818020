//! Weights of one format as they lie in memory: units of 32 outputs and one block of inputs, and a unit made ready for the tiles.

use super::super::packed::PANEL;
use super::super::simd::{Kernel, Simd};
use super::format::{Block, Format, LONGEST, SCALES, Zero, half};
use super::rounded::BLOCK;

/// Bytes of 32 inputs' codes of a panel, one each.
pub(super) const CODES: usize = BLOCK * PANEL;

/// Where things lie in a unit of a format: `d` of each output, `m` where it has one, inner scales and minima (a row of outputs for
/// each run of weights), then for every 32 inputs the codes, plane by plane (of 4, 2 and 1 bits; a whole byte for eight).
///
/// A plane of `w` bits is [w][output][4 bytes]: the byte `b` of row `j` holds, in its field `f`, bits of the weight of input
/// `4 * (f * w + j) + b`. So one shift and mask frees a vector of weights of four inputs each, as the dot products want them.
#[derive(Debug, Clone, Copy)]
pub(super) struct UnitLayout {
    pub(super) mins_at: usize,
    pub(super) inner_scales_at: usize,
    pub(super) inner_mins_at: usize,
    pub(super) codes_at: usize,
    /// Bytes of 32 inputs' codes.
    pub(super) block_bytes: usize,
    pub(super) bytes: usize,
}

impl UnitLayout {
    pub(super) const fn of(format: Format) -> UnitLayout {
        let weights = format.weights();
        let runs = if format.has_inner_scales() {
            weights / format.run()
        } else {
            0
        };
        let mins_at = 2 * PANEL;
        let inner_scales_at = if format.has_min() { 4 * PANEL } else { 2 * PANEL };
        let inner_mins_at = inner_scales_at + runs * PANEL;
        let codes_at = inner_mins_at + if format.has_min() { runs * PANEL } else { 0 };
        let block_bytes = CODES * format.bits() / 8;
        UnitLayout {
            mins_at,
            inner_scales_at,
            inner_mins_at,
            codes_at,
            block_bytes,
            bytes: codes_at + weights / BLOCK * block_bytes,
        }
    }
}

/// Writes one output's block into its unit.
pub(super) fn write(block: &Block, format: Format, layout: UnitLayout, column: usize, unit: &mut [u8]) {
    unit[2 * column..][..2].copy_from_slice(&block.d.to_le_bytes());
    if format.has_min() {
        unit[layout.mins_at + 2 * column..][..2].copy_from_slice(&block.m.to_le_bytes());
    }
    if format.has_inner_scales() {
        for run in 0..format.weights() / format.run() {
            unit[layout.inner_scales_at + run * PANEL + column] = block.scales[run];
            if format.has_min() {
                unit[layout.inner_mins_at + run * PANEL + column] = block.mins[run];
            }
        }
    }
    let blocks = unit[layout.codes_at..].chunks_exact_mut(layout.block_bytes);
    for (codes, out) in block.codes.as_chunks::<BLOCK>().0.iter().zip(blocks) {
        let mut quads = [0; BLOCK / 4];
        for (quad, codes) in quads.iter_mut().zip(codes.as_chunks::<4>().0) {
            *quad = u32::from_le_bytes(*codes);
        }
        match format.bits() {
            2 => gather::<2, 0>(&quads, column, out),
            3 => {
                gather::<2, 0>(&quads, column, out);
                gather::<1, 2>(&quads, column, &mut out[CODES / 4..]);
            }
            4 => gather::<4, 0>(&quads, column, out),
            5 => {
                gather::<4, 0>(&quads, column, out);
                gather::<1, 4>(&quads, column, &mut out[CODES / 2..]);
            }
            6 => {
                gather::<4, 0>(&quads, column, out);
                gather::<2, 4>(&quads, column, &mut out[CODES / 2..]);
            }
            _ => gather::<8, 0>(&quads, column, out),
        }
    }
}

/// Puts some bits of one output's codes into their plane.
#[inline(always)]
fn gather<const WIDTH: usize, const SHIFT: usize>(quads: &[u32; BLOCK / 4], column: usize, plane: &mut [u8]) {
    let mask = 0x0101_0101 * ((1 << WIDTH) - 1);
    for row in 0..WIDTH {
        let mut word = 0;
        for field in 0..8 / WIDTH {
            word |= (quads[field * WIDTH + row] >> SHIFT & mask) << (field * WIDTH);
        }
        plane[(row * PANEL + column) * 4..][..4].copy_from_slice(&word.to_le_bytes());
    }
}

/// A unit, or several that follow each other, with a byte for each code and f32 scales: what the tiles compute with.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) codes: [[u8; CODES]; LONGEST / BLOCK],
    /// For each run of 16 or 32 inputs: weights are `scale * code + min`.
    pub(super) scales: [[f32; PANEL]; SCALES],
    pub(super) mins: [[f32; PANEL]; SCALES],
}

impl Ready {
    pub(super) const EMPTY: Ready = Ready {
        codes: [[0; CODES]; LONGEST / BLOCK],
        scales: [[0.0; PANEL]; SCALES],
        mins: [[0.0; PANEL]; SCALES],
    };
}

/// Makes units ready, as many as fill [`LONGEST`] inputs or are left. Signed codes stay where they are.
pub(super) struct Prepare<'a> {
    pub(super) format: Format,
    pub(super) units: &'a [u8],
    pub(super) ready: &'a mut Ready,
}

impl Kernel for Prepare<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let format = self.format;
        let layout = UnitLayout::of(format);
        let (blocks, runs) = (format.weights() / BLOCK, format.weights() / format.run());
        for (i, unit) in self.units.chunks_exact(layout.bytes).enumerate() {
            scales(
                format,
                layout,
                unit,
                &mut self.ready.scales[i * runs..],
                &mut self.ready.mins[i * runs..],
            );
            let codes = unit[layout.codes_at..].chunks_exact(layout.block_bytes);
            for (planes, codes) in codes.zip(&mut self.ready.codes[i * blocks..]) {
                match format.bits() {
                    2 => spread::<2, 0>(planes, codes),
                    3 => {
                        spread::<2, 0>(planes, codes);
                        spread::<1, 2>(&planes[CODES / 4..], codes);
                    }
                    4 => spread::<4, 0>(planes, codes),
                    5 => {
                        spread::<4, 0>(planes, codes);
                        spread::<1, 4>(&planes[CODES / 2..], codes);
                    }
                    6 => {
                        spread::<4, 0>(planes, codes);
                        spread::<2, 4>(&planes[CODES / 2..], codes);
                    }
                    _ => {}
                }
            }
        }
    }
}

/// Gives each code of a plane its byte, or adds it to what is there above `SHIFT` bits.
#[inline(always)]
fn spread<const WIDTH: usize, const SHIFT: usize>(plane: &[u8], codes: &mut [u8; CODES]) {
    let plane = &plane[..CODES * WIDTH / 8];
    for (field, codes) in codes.chunks_exact_mut(plane.len()).enumerate() {
        for (code, bits) in codes.iter_mut().zip(plane) {
            let bits = (bits >> (field * WIDTH) & ((1 << WIDTH) - 1)) << SHIFT;
            *code = if SHIFT == 0 { bits } else { *code | bits };
        }
    }
}

/// A unit's scales and minima as factors of codes and of sums of activations.
#[inline(always)]
fn scales(format: Format, layout: UnitLayout, unit: &[u8], scales: &mut [[f32; PANEL]], mins: &mut [[f32; PANEL]]) {
    let (d, zero) = (halves(unit), format.zero());
    let m = if format.has_min() {
        halves(&unit[layout.mins_at..])
    } else {
        [0.0; PANEL]
    };
    let runs = format.weights() / format.run();
    for (run, (scales, mins)) in scales.iter_mut().zip(mins).take(runs).enumerate() {
        if !format.has_inner_scales() {
            *scales = d;
            *mins = m;
            if let Zero::Code(zero) = zero {
                for i in 0..PANEL {
                    mins[i] = d[i] * -f32::from(zero);
                }
            }
            continue;
        }
        let inner = &unit[layout.inner_scales_at + run * PANEL..][..PANEL];
        if let Zero::Code(zero) = zero {
            for i in 0..PANEL {
                scales[i] = d[i] * f32::from(inner[i].cast_signed());
                mins[i] = scales[i] * -f32::from(zero);
            }
        } else {
            let inner_mins = &unit[layout.inner_mins_at + run * PANEL..][..PANEL];
            for i in 0..PANEL {
                scales[i] = d[i] * f32::from(inner[i]);
                mins[i] = m[i] * -f32::from(inner_mins[i]);
            }
        }
    }
}

/// The numbers of a panel's f16. (A loop: a closure handed to the library is not compiled for the kernel's instructions.)
#[inline(always)]
fn halves(bytes: &[u8]) -> [f32; PANEL] {
    let mut numbers = [0.0; PANEL];
    for (number, bytes) in numbers.iter_mut().zip(bytes.as_chunks::<2>().0) {
        *number = half(u16::from_le_bytes(*bytes));
    }
    numbers
}
