//! The plain twin: a few numbers at a time without any instruction of a particular CPU, in loops of a fixed length that the compiler
//! turns into the vectors of whatever it compiles for.

use super::super::wide::pack_pair;
use super::{Kernel, Simd};

/// Any CPU.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Plain;

/// Numbers of a vector: as many as the registers have that the program is compiled for.
const LANES: usize = if cfg!(target_feature = "avx") { 8 } else { 4 };

/// Whether a fused multiplication is an instruction, and not a slow call.
const FUSED: bool = cfg!(any(target_feature = "fma", target_arch = "aarch64"));

#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
pub(in super::super) struct Floats([f32; LANES]);

#[derive(Debug, Clone, Copy)]
#[repr(align(32))]
pub(in super::super) struct Ints([i32; LANES]);

/// A vector whose lane `i` is the expression. (A loop: closures over arrays stay calls.)
macro_rules! lanes {
    ($of:ident, $zero:expr, $i:ident => $lane:expr) => {{
        let mut out = [$zero; LANES];
        let mut $i = 0;
        while $i < LANES {
            out[$i] = $lane;
            $i += 1;
        }
        $of(out)
    }};
}

/// 2^n for n in -126..=127.
#[inline(always)]
fn power(n: i32) -> f32 {
    f32::from_bits(((n + 127) as u32) << 23)
}

#[inline(always)]
fn low(x: f32) -> f32 {
    f32::from_bits(x.to_bits() << 16)
}

#[inline(always)]
fn high(x: f32) -> f32 {
    f32::from_bits(x.to_bits() & 0xffff_0000)
}

/// Byte `at` of each word as a number.
#[inline(always)]
fn bytes<const SIGNED: bool>(words: Ints, at: u32) -> Floats {
    lanes!(Floats, 0.0, i => {
        let byte = words.0[i] << (24 - 8 * at);
        if SIGNED { (byte >> 24) as f32 } else { (byte as u32 >> 24) as f32 }
    })
}

/// Adds the products of four bytes each. The sums are the bits of floats, in which whole numbers below 2^24 are exact and which
/// compilers multiply in vectors where they would not so integers.
#[inline(always)]
fn dot<const SIGNED: bool>(acc: Ints, w: Ints, a: Ints) -> Ints {
    let mut sums = floats(acc);
    for at in 0..4 {
        sums = Plain.fma(bytes::<SIGNED>(w, at), bytes::<true>(a, at), sums);
    }
    bits(sums)
}

#[inline(always)]
fn floats(x: Ints) -> Floats {
    lanes!(Floats, 0.0, i => f32::from_bits(x.0[i].cast_unsigned()))
}

#[inline(always)]
fn bits(x: Floats) -> Ints {
    lanes!(Ints, 0, i => x.0[i].to_bits().cast_signed())
}

impl Simd for Plain {
    type F = Floats;
    type I = Ints;
    const LANES: usize = LANES;
    const TILE_ROWS: usize = 6;
    const BYTE_ROWS: usize = 4;
    const BIAS: i32 = 0;

    #[inline(always)]
    fn vectorize<K: Kernel>(self, kernel: K) -> K::Output {
        kernel.run(self)
    }

    #[inline(always)]
    fn splat(self, x: f32) -> Floats {
        Floats([x; LANES])
    }

    #[inline(always)]
    fn load(self, src: &[f32]) -> Floats {
        let src = &src[..LANES];
        lanes!(Floats, 0.0, i => src[i])
    }

    #[inline(always)]
    fn load_part(self, src: &[f32]) -> Floats {
        if src.len() >= LANES {
            return self.load(src);
        }
        let mut out = [0.0; LANES];
        out[..src.len()].copy_from_slice(src);
        Floats(out)
    }

    #[inline(always)]
    fn store(self, x: Floats, out: &mut [f32]) {
        out[..LANES].copy_from_slice(&x.0);
    }

    #[inline(always)]
    fn store_part(self, x: Floats, out: &mut [f32]) {
        let count = out.len().min(LANES);
        out[..count].copy_from_slice(&x.0[..count]);
    }

    #[inline(always)]
    fn add(self, a: Floats, b: Floats) -> Floats {
        lanes!(Floats, 0.0, i => a.0[i] + b.0[i])
    }

    #[inline(always)]
    fn sub(self, a: Floats, b: Floats) -> Floats {
        lanes!(Floats, 0.0, i => a.0[i] - b.0[i])
    }

    #[inline(always)]
    fn mul(self, a: Floats, b: Floats) -> Floats {
        lanes!(Floats, 0.0, i => a.0[i] * b.0[i])
    }

    #[inline(always)]
    fn div(self, a: Floats, b: Floats) -> Floats {
        lanes!(Floats, 0.0, i => a.0[i] / b.0[i])
    }

    #[inline(always)]
    fn fma(self, a: Floats, b: Floats, c: Floats) -> Floats {
        if FUSED {
            return self.fma_exact(a, b, c);
        }
        lanes!(Floats, 0.0, i => a.0[i] * b.0[i] + c.0[i])
    }

    #[inline(always)]
    fn fma_exact(self, a: Floats, b: Floats, c: Floats) -> Floats {
        lanes!(Floats, 0.0, i => a.0[i].mul_add(b.0[i], c.0[i]))
    }

    #[inline(always)]
    fn max(self, a: Floats, b: Floats) -> Floats {
        lanes!(Floats, 0.0, i => if a.0[i] > b.0[i] { a.0[i] } else { b.0[i] })
    }

    #[inline(always)]
    fn min(self, a: Floats, b: Floats) -> Floats {
        lanes!(Floats, 0.0, i => if a.0[i] < b.0[i] { a.0[i] } else { b.0[i] })
    }

    #[inline(always)]
    fn round(self, x: Floats) -> Floats {
        // Adding 1.5 * 2^23 pushes the fraction out of the mantissa.
        const SHIFT: f32 = 12_582_912.0;
        lanes!(Floats, 0.0, i => (x.0[i] + SHIFT) - SHIFT)
    }

    #[inline(always)]
    fn scale(self, x: Floats, n: Floats) -> Floats {
        lanes!(Floats, 0.0, i => {
            let n = n.0[i] as i32;
            x.0[i] * power(n >> 1) * power(n - (n >> 1))
        })
    }

    #[inline(always)]
    fn sum(self, x: Floats) -> f32 {
        let mut x = x.0;
        let mut half = LANES / 2;
        while half > 0 {
            for i in 0..half {
                x[i] += x[i + half];
            }
            half /= 2;
        }
        x[0]
    }

    #[inline(always)]
    fn highest(self, x: Floats) -> f32 {
        x.0.into_iter().fold(f32::NEG_INFINITY, f32::max)
    }

    #[inline(always)]
    fn dot_bf16(self, acc: Floats, a: Floats, b: Floats) -> Floats {
        let halves = |x: Floats| {
            (
                lanes!(Floats, 0.0, i => high(x.0[i])),
                lanes!(Floats, 0.0, i => low(x.0[i])),
            )
        };
        let ((a_high, a_low), (b_high, b_low)) = (halves(a), halves(b));
        self.fma(a_low, b_low, self.fma(a_high, b_high, acc))
    }

    #[inline(always)]
    fn round_bf16(self, first: Floats, second: Floats) -> Floats {
        let mut pairs = [0.0; 2 * LANES];
        self.store(first, &mut pairs);
        self.store(second, &mut pairs[LANES..]);
        lanes!(Floats, 0.0, i => pack_pair(&pairs[2 * i..2 * i + 2]))
    }

    #[inline(always)]
    fn load_bytes(self, src: &[u8]) -> Ints {
        let src = &src[..4 * LANES];
        lanes!(Ints, 0, i => i32::from_le_bytes([src[4 * i], src[4 * i + 1], src[4 * i + 2], src[4 * i + 3]]))
    }

    #[inline(always)]
    fn splat_int(self, x: i32) -> Ints {
        Ints([x; LANES])
    }

    #[inline(always)]
    fn dot_u8(self, acc: Ints, w: Ints, a: Ints) -> Ints {
        dot::<false>(acc, w, a)
    }

    #[inline(always)]
    fn settle(self, acc: Ints) -> Ints {
        acc
    }

    #[inline(always)]
    fn dot_i8(self, acc: Ints, w: Ints, a: Ints) -> Ints {
        dot::<true>(acc, w, a)
    }

    #[inline(always)]
    fn add_int(self, a: Ints, b: Ints) -> Ints {
        bits(self.add(floats(a), floats(b)))
    }

    #[inline(always)]
    fn to_float(self, x: Ints) -> Floats {
        floats(x)
    }

    #[inline(always)]
    fn prefetch(self, _src: &[f32]) {}

    #[inline(always)]
    fn transpose4(self, src: &[f32], stride: usize, out: &mut [f32], out_stride: usize) {
        for i in 0..LANES {
            for j in 0..4 {
                out[j * out_stride + i] = src[i * stride + j];
            }
        }
    }
}
