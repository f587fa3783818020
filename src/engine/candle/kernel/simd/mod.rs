//! Vectors of f32 as this CPU has them: one trait, one implementation an instruction set, and the choice at run time.
//!
//! A value of an implementation is the proof that the CPU knows its instructions: only detection makes one. A kernel is written
//! once over the trait and compiled for each instruction set by [`Simd::vectorize`].

use std::sync::atomic::{AtomicBool, Ordering};

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod math;
mod plain;

#[cfg(target_arch = "x86_64")]
use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
use avx512::Avx512;
pub(super) use math::{exp, tanh};
pub(super) use plain::Plain;

/// Work written over any instruction set. `run` must be `#[inline(always)]`, and so must all it calls with `simd`.
pub(super) trait Kernel {
    type Output;
    fn run<S: Simd>(self, simd: S) -> Self::Output;
}

/// An instruction set.
pub(super) trait Simd: Copy {
    /// `LANES` numbers.
    type F: Copy;
    /// `LANES` lanes of four bytes, or of a sum of their products.
    type I: Copy;
    const LANES: usize;
    /// Rows of a register tile two vectors wide.
    const TILE_ROWS: usize;
    /// Rows of such a tile of bytes.
    const BYTE_ROWS: usize;
    /// What [`Simd::dot_i8`] adds to each of its weights: the caller takes it off again.
    const BIAS: i32;

    /// Runs the kernel compiled for these instructions.
    fn vectorize<K: Kernel>(self, kernel: K) -> K::Output;

    fn splat(self, x: f32) -> Self::F;
    /// The first `LANES` numbers of `src`, which has as many.
    fn load(self, src: &[f32]) -> Self::F;
    /// The first `LANES` numbers of `src`, zeros past its end.
    fn load_part(self, src: &[f32]) -> Self::F;
    fn store(self, x: Self::F, out: &mut [f32]);
    /// Stores as many numbers as `out` has, `LANES` at most.
    fn store_part(self, x: Self::F, out: &mut [f32]);

    fn add(self, a: Self::F, b: Self::F) -> Self::F;
    fn sub(self, a: Self::F, b: Self::F) -> Self::F;
    fn mul(self, a: Self::F, b: Self::F) -> Self::F;
    fn div(self, a: Self::F, b: Self::F) -> Self::F;
    /// a * b + c
    fn fma(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F;
    /// The larger; `b` where either is NaN.
    fn max(self, a: Self::F, b: Self::F) -> Self::F;
    /// The smaller; `b` where either is NaN.
    fn min(self, a: Self::F, b: Self::F) -> Self::F;
    /// To the nearest integer, ties to even, for |x| < 2^22.
    fn round(self, x: Self::F) -> Self::F;
    /// x * 2^n for integers n in -252..=254.
    fn scale(self, x: Self::F, n: Self::F) -> Self::F;
    /// The sum of all lanes, always in the same order.
    fn sum(self, x: Self::F) -> f32;
    /// The largest lane.
    fn highest(self, x: Self::F) -> f32;
    /// Adds the products of bf16 pairs: `acc + a.high * b.high + a.low * b.low`, lanes holding two bf16 each.
    fn dot_bf16(self, acc: Self::F, a: Self::F, b: Self::F) -> Self::F;
    /// `2 * LANES` numbers rounded to bf16 (nearest even; numbers below 1e-38 may become 0), two in a lane, the earlier one low.
    fn round_bf16(self, first: Self::F, second: Self::F) -> Self::F;
    /// a * b + c, rounded once on every CPU.
    fn fma_exact(self, a: Self::F, b: Self::F, c: Self::F) -> Self::F;

    /// The first `4 * LANES` bytes of `src`, which has as many.
    fn load_bytes(self, src: &[u8]) -> Self::I;
    fn splat_int(self, x: i32) -> Self::I;
    /// Adds the products of four bytes each: unsigned `w`, signed `a`. The sums may be in halves of a lane until they are settled,
    /// so that they must stay within 16 bits: a pair of products fits where `w` is at most 127, two pairs where it is at most 63.
    fn dot_u8(self, acc: Self::I, w: Self::I, a: Self::I) -> Self::I;
    /// Sums of [`Simd::dot_u8`] in the form that can be added.
    fn settle(self, acc: Self::I) -> Self::I;
    /// Adds the products of four signed bytes each, `w + BIAS` with `a`, which is not -128.
    fn dot_i8(self, acc: Self::I, w: Self::I, a: Self::I) -> Self::I;
    fn add_int(self, a: Self::I, b: Self::I) -> Self::I;
    fn to_float(self, x: Self::I) -> Self::F;
    /// Asks for the cache line where `src` begins, into the second-level cache: more of those can be under way than the first takes.
    fn prefetch(self, src: &[f32]);
    /// Transposes `LANES` rows of 4 numbers, `stride` apart in `src`, into 4 rows of `LANES`, `out_stride` apart in `out`.
    fn transpose4(self, src: &[f32], stride: usize, out: &mut [f32], out_stride: usize);
}

static PLAIN: AtomicBool = AtomicBool::new(false);

/// From here on everything is computed by the plain twin, whatever the CPU has: to measure and check what other CPUs would run.
pub fn use_plain() {
    PLAIN.store(true, Ordering::Relaxed);
}

/// The instruction sets with an implementation, the better later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    Plain,
    Avx2,
    AvxVnni,
    Avx512,
    Avx512Vnni,
    Avx512Bf16,
}

impl Level {
    const ALL: [Level; 6] = [
        Level::Plain,
        Level::Avx2,
        Level::AvxVnni,
        Level::Avx512,
        Level::Avx512Vnni,
        Level::Avx512Bf16,
    ];

    /// The best this CPU has, unless [`use_plain`] was called.
    pub(super) fn best() -> Level {
        if PLAIN.load(Ordering::Relaxed) {
            return Level::Plain;
        }
        #[cfg(test)]
        if let Some(level) = FORCED.get() {
            return level;
        }
        Self::ALL
            .into_iter()
            .rfind(|level| level.is_available())
            .unwrap_or(Level::Plain)
    }

    #[cfg(target_arch = "x86_64")]
    fn is_available(self) -> bool {
        match self {
            Level::Plain => true,
            Level::Avx2 => Avx2::<false>::detect().is_some(),
            Level::AvxVnni => Avx2::<true>::detect().is_some(),
            Level::Avx512 => Avx512::<false, false>::detect().is_some(),
            Level::Avx512Vnni => Avx512::<true, false>::detect().is_some(),
            Level::Avx512Bf16 => Avx512::<true, true>::detect().is_some(),
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn is_available(self) -> bool {
        self == Level::Plain
    }
}

/// Runs a kernel on the best instructions this CPU has.
pub(super) fn dispatch<K: Kernel>(kernel: K) -> K::Output {
    #[cfg(target_arch = "x86_64")]
    {
        let level = Level::best();
        if let Some(simd) = Avx512::<true, true>::detect().filter(|_| level == Level::Avx512Bf16) {
            return simd.vectorize(kernel);
        }
        if let Some(simd) = Avx512::<true, false>::detect().filter(|_| level == Level::Avx512Vnni) {
            return simd.vectorize(kernel);
        }
        if let Some(simd) = Avx512::<false, false>::detect().filter(|_| level == Level::Avx512) {
            return simd.vectorize(kernel);
        }
        if let Some(simd) = Avx2::<true>::detect().filter(|_| level == Level::AvxVnni) {
            return simd.vectorize(kernel);
        }
        if let Some(simd) = Avx2::<false>::detect().filter(|_| level == Level::Avx2) {
            return simd.vectorize(kernel);
        }
    }
    Plain.vectorize(kernel)
}

#[cfg(test)]
thread_local! {
    static FORCED: std::cell::Cell<Option<Level>> = const { std::cell::Cell::new(None) };
}

/// Runs a test once for each instruction set this CPU has, with kernels of this thread on those instructions.
#[cfg(test)]
pub(super) fn on_each(mut test: impl FnMut(Level)) {
    for level in Level::ALL.into_iter().filter(|level| level.is_available()) {
        FORCED.set(Some(level));
        test(level);
    }
    FORCED.set(None);
}
