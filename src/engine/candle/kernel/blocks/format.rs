//! The block formats of quantized files (ggml's): what a block holds, and its codes and scales in one form for all.
//!
//! Every weight is `scale * code - minimum`, with a scale (and a minimum) for 16 or 32 weights. Layouts: ggml's `ggml-common.h` and
//! `dequantize_row_*` in `ggml-quants.c`.

/// Weights of the longest block.
pub(super) const LONGEST: usize = 256;

/// Scales of the longest block.
pub(super) const SCALES: usize = LONGEST / 16;

/// A block format that is computed with as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Format {
    Q4_0,
    Q4_1,
    Q5_0,
    Q5_1,
    Q8_0,
    Q2K,
    Q3K,
    Q4K,
    Q5K,
    Q6K,
}

/// What is taken off `scale * code`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Zero {
    /// Nothing: the code is a signed byte.
    None,
    /// The scale times this.
    Code(u8),
    /// A minimum of its own, stored with the sign of what is added.
    Added,
    /// A minimum of its own, stored as what is taken off.
    Taken,
}

/// A block's content: `code` of each weight, `d` and `m` as they are stored (f16), and for formats with inner scales those of each 16
/// or 32 weights: signed bytes where the zero is a code.
#[derive(Debug, Clone)]
pub(super) struct Block {
    pub(super) codes: [u8; LONGEST],
    pub(super) d: u16,
    pub(super) m: u16,
    pub(super) scales: [u8; SCALES],
    pub(super) mins: [u8; SCALES],
}

impl Block {
    pub(super) const EMPTY: Block = Block {
        codes: [0; LONGEST],
        d: 0,
        m: 0,
        scales: [0; SCALES],
        mins: [0; SCALES],
    };
}

impl Format {
    #[cfg(test)]
    pub(super) const ALL: [Format; 10] = [
        Format::Q4_0,
        Format::Q4_1,
        Format::Q5_0,
        Format::Q5_1,
        Format::Q8_0,
        Format::Q2K,
        Format::Q3K,
        Format::Q4K,
        Format::Q5K,
        Format::Q6K,
    ];

    /// Weights of a block.
    pub const fn weights(self) -> usize {
        if self.has_inner_scales() { 256 } else { 32 }
    }

    /// Bytes of a block.
    pub const fn bytes(self) -> usize {
        match self {
            Format::Q4_0 => 18,
            Format::Q4_1 => 20,
            Format::Q5_0 => 22,
            Format::Q5_1 => 24,
            Format::Q8_0 => 34,
            Format::Q2K => 84,
            Format::Q3K => 110,
            Format::Q4K => 144,
            Format::Q5K => 176,
            Format::Q6K => 210,
        }
    }

    /// Bits of a code.
    pub(super) const fn bits(self) -> usize {
        match self {
            Format::Q2K => 2,
            Format::Q3K => 3,
            Format::Q4_0 | Format::Q4_1 | Format::Q4K => 4,
            Format::Q5_0 | Format::Q5_1 | Format::Q5K => 5,
            Format::Q6K => 6,
            Format::Q8_0 => 8,
        }
    }

    /// Weights that share a scale.
    pub(super) const fn run(self) -> usize {
        match self {
            Format::Q2K | Format::Q3K | Format::Q6K => 16,
            _ => 32,
        }
    }

    pub(super) const fn zero(self) -> Zero {
        match self {
            Format::Q8_0 => Zero::None,
            Format::Q4_0 => Zero::Code(8),
            Format::Q5_0 => Zero::Code(16),
            Format::Q3K => Zero::Code(4),
            Format::Q6K => Zero::Code(32),
            Format::Q4_1 | Format::Q5_1 => Zero::Added,
            Format::Q2K | Format::Q4K | Format::Q5K => Zero::Taken,
        }
    }

    pub(super) const fn has_min(self) -> bool {
        matches!(self.zero(), Zero::Added | Zero::Taken)
    }

    pub(super) const fn has_inner_scales(self) -> bool {
        matches!(
            self,
            Format::Q2K | Format::Q3K | Format::Q4K | Format::Q5K | Format::Q6K
        )
    }

    /// Reads a block's bytes, as many as [`Format::bytes`].
    pub(super) fn read(self, bytes: &[u8], block: &mut Block) {
        let half = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let codes = &mut block.codes;
        (block.d, block.m) = match self {
            Format::Q2K => (half(80), half(82)),
            Format::Q3K => (half(108), 0),
            Format::Q6K => (half(208), 0),
            Format::Q4_1 | Format::Q5_1 | Format::Q4K | Format::Q5K => (half(0), half(2)),
            Format::Q4_0 | Format::Q5_0 | Format::Q8_0 => (half(0), 0),
        };
        match self {
            Format::Q4_0 => nibbles(&bytes[2..18], 16, codes),
            Format::Q4_1 => nibbles(&bytes[4..20], 16, codes),
            Format::Q5_0 => {
                nibbles(&bytes[6..22], 16, codes);
                fifth_bits(&bytes[2..6], codes);
            }
            Format::Q5_1 => {
                nibbles(&bytes[8..24], 16, codes);
                fifth_bits(&bytes[4..8], codes);
            }
            Format::Q8_0 => codes[..32].copy_from_slice(&bytes[2..34]),
            Format::Q2K => {
                for i in 0..SCALES {
                    (block.scales[i], block.mins[i]) = (bytes[i] & 15, bytes[i] >> 4);
                }
                pairs(&bytes[16..80], codes);
            }
            Format::Q3K => {
                pairs(&bytes[32..96], codes);
                high_bits::<1>(&bytes[..32], 2, codes);
                block.scales = scales_of_q3(&bytes[96..108]);
            }
            Format::Q4K => {
                (block.scales, block.mins) = scales_of_q4(&bytes[4..16]);
                nibbles(&bytes[16..144], 32, codes);
            }
            Format::Q5K => {
                (block.scales, block.mins) = scales_of_q4(&bytes[4..16]);
                nibbles(&bytes[48..176], 32, codes);
                high_bits::<1>(&bytes[16..48], 4, codes);
            }
            Format::Q6K => {
                block.scales.copy_from_slice(&bytes[192..208]);
                // 64 bytes hold the low bits of 128 codes, 32 bytes the high ones.
                for half in 0..2 {
                    let codes = &mut codes[128 * half..][..128];
                    let low = &bytes[64 * half..][..64];
                    for i in 0..64 {
                        (codes[i], codes[64 + i]) = (low[i] & 15, low[i] >> 4);
                    }
                    high_bits::<2>(&bytes[128 + 32 * half..][..32], 4, codes);
                }
            }
        }
    }
}

/// Codes of four bits: of every `run` bytes the low halves, then the high ones.
#[inline(always)]
fn nibbles(bytes: &[u8], run: usize, codes: &mut [u8]) {
    for (bytes, codes) in bytes.chunks_exact(run).zip(codes.chunks_exact_mut(2 * run)) {
        let (low, high) = codes.split_at_mut(run);
        for i in 0..run {
            (low[i], high[i]) = (bytes[i] & 15, bytes[i] >> 4);
        }
    }
}

/// Codes of two bits: of every 32 bytes the lowest pairs of bits, then the next.
#[inline(always)]
fn pairs(bytes: &[u8], codes: &mut [u8]) {
    for (bytes, codes) in bytes.chunks_exact(32).zip(codes.chunks_exact_mut(128)) {
        for (field, codes) in codes.chunks_exact_mut(32).enumerate() {
            for i in 0..32 {
                codes[i] = bytes[i] >> (2 * field) & 3;
            }
        }
    }
}

/// Adds high bits to codes, of which `shift` bits are there: of 32 bytes the lowest `BITS` bits, then the next.
#[inline(always)]
fn high_bits<const BITS: usize>(bytes: &[u8], shift: usize, codes: &mut [u8]) {
    for (field, codes) in codes.chunks_exact_mut(32).take(8 / BITS).enumerate() {
        for i in 0..32 {
            codes[i] |= (bytes[i] >> (BITS * field) & ((1 << BITS) - 1)) << shift;
        }
    }
}

/// The fifth bits of 32 codes.
#[inline(always)]
fn fifth_bits(bytes: &[u8], codes: &mut [u8]) {
    let bits = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    for (i, code) in codes[..32].iter_mut().enumerate() {
        *code |= ((bits >> i & 1) << 4) as u8;
    }
}

/// Eight scales and minima of six bits each.
fn scales_of_q4(bytes: &[u8]) -> ([u8; SCALES], [u8; SCALES]) {
    let (mut scales, mut mins) = ([0; SCALES], [0; SCALES]);
    for i in 0..4 {
        (scales[i], mins[i]) = (bytes[i] & 63, bytes[4 + i] & 63);
        scales[4 + i] = bytes[8 + i] & 15 | bytes[i] >> 6 << 4;
        mins[4 + i] = bytes[8 + i] >> 4 | bytes[4 + i] >> 6 << 4;
    }
    (scales, mins)
}

/// Sixteen scales of six bits, stored 32 too high.
fn scales_of_q3(bytes: &[u8]) -> [u8; SCALES] {
    std::array::from_fn(|i| {
        let low = if i < 8 { bytes[i] & 15 } else { bytes[i - 8] >> 4 };
        (low | (bytes[8 + i % 4] >> (2 * (i / 4)) & 3) << 4).wrapping_sub(32)
    })
}

/// An f16 that is a number, from its bits.
#[inline(always)]
pub(super) fn half(bits: u16) -> f32 {
    // The exponents' zeros are 112 apart; a subnormal f16 comes right by the product.
    let magnitude = f32::from_bits(u32::from(bits & 0x7fff) << 13) * f32::from_bits((127 + 112) << 23);
    f32::from_bits(magnitude.to_bits() | u32::from(bits & 0x8000) << 16)
}
