//! The plain twin: four numbers at a time without any instruction of a particular CPU.

use super::super::packed::pack_pair;
use super::{Kernel, Simd};

/// Any CPU.
#[derive(Debug, Clone, Copy)]
pub(in super::super) struct Plain;

type F = [f32; 4];

#[inline(always)]
fn zip(a: F, b: F, f: impl Fn(f32, f32) -> f32) -> F {
    [f(a[0], b[0]), f(a[1], b[1]), f(a[2], b[2]), f(a[3], b[3])]
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

impl Simd for Plain {
    type F = F;
    const LANES: usize = 4;
    const TILE_ROWS: usize = 6;

    #[inline(always)]
    fn vectorize<K: Kernel>(self, kernel: K) -> K::Output {
        kernel.run(self)
    }

    #[inline(always)]
    fn splat(self, x: f32) -> F {
        [x; 4]
    }

    #[inline(always)]
    fn load(self, src: &[f32]) -> F {
        [src[0], src[1], src[2], src[3]]
    }

    #[inline(always)]
    fn load_part(self, src: &[f32]) -> F {
        std::array::from_fn(|i| src.get(i).copied().unwrap_or(0.0))
    }

    #[inline(always)]
    fn store(self, x: F, out: &mut [f32]) {
        out[..4].copy_from_slice(&x);
    }

    #[inline(always)]
    fn store_part(self, x: F, out: &mut [f32]) {
        for (out, x) in out.iter_mut().zip(x) {
            *out = x;
        }
    }

    #[inline(always)]
    fn add(self, a: F, b: F) -> F {
        zip(a, b, |a, b| a + b)
    }

    #[inline(always)]
    fn sub(self, a: F, b: F) -> F {
        zip(a, b, |a, b| a - b)
    }

    #[inline(always)]
    fn mul(self, a: F, b: F) -> F {
        zip(a, b, |a, b| a * b)
    }

    #[inline(always)]
    fn div(self, a: F, b: F) -> F {
        zip(a, b, |a, b| a / b)
    }

    #[inline(always)]
    fn fma(self, a: F, b: F, c: F) -> F {
        // Two roundings: f32::mul_add is a slow call where the CPU has no such instruction.
        zip(zip(a, b, |a, b| a * b), c, |ab, c| ab + c)
    }

    #[inline(always)]
    fn max(self, a: F, b: F) -> F {
        zip(a, b, |a, b| if a > b { a } else { b })
    }

    #[inline(always)]
    fn min(self, a: F, b: F) -> F {
        zip(a, b, |a, b| if a < b { a } else { b })
    }

    #[inline(always)]
    fn round(self, x: F) -> F {
        // Adding 1.5 * 2^23 pushes the fraction out of the mantissa.
        const SHIFT: f32 = 12_582_912.0;
        x.map(|x| (x + SHIFT) - SHIFT)
    }

    #[inline(always)]
    fn scale(self, x: F, n: F) -> F {
        zip(x, n, |x, n| {
            let n = n as i32;
            x * power(n >> 1) * power(n - (n >> 1))
        })
    }

    #[inline(always)]
    fn sum(self, x: F) -> f32 {
        (x[0] + x[2]) + (x[1] + x[3])
    }

    #[inline(always)]
    fn highest(self, x: F) -> f32 {
        x[0].max(x[2]).max(x[1].max(x[3]))
    }

    #[inline(always)]
    fn dot_bf16(self, acc: F, a: F, b: F) -> F {
        let acc = self.fma(a.map(high), b.map(high), acc);
        self.fma(a.map(low), b.map(low), acc)
    }

    #[inline(always)]
    fn round_bf16(self, first: F, second: F) -> F {
        let mut pairs = [0.0; 8];
        self.store(first, &mut pairs);
        self.store(second, &mut pairs[4..]);
        let words: [f32; 4] = std::array::from_fn(|i| pack_pair(&pairs[2 * i..2 * i + 2]));
        self.load(&words)
    }

    #[inline(always)]
    fn prefetch(self, _src: &[f32]) {}

    #[inline(always)]
    fn transpose4(self, src: &[f32], stride: usize, out: &mut [f32], out_stride: usize) {
        for i in 0..4 {
            for j in 0..4 {
                out[j * out_stride + i] = src[i * stride + j];
            }
        }
    }
}
