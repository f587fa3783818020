//! Vectors of f32 as this CPU has them: one trait, one implementation an instruction set, and the choice at run time.
//!
//! A value of an implementation is the proof that the CPU knows its instructions: only detection makes one. A kernel is written
//! once over the trait and compiled for each instruction set by [`Simd::vectorize`].

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
    const LANES: usize;
    /// Rows of a register tile two vectors wide.
    const TILE_ROWS: usize;

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
    /// Asks for the cache line where `src` begins, into the second-level cache: more of those can be under way than the first takes.
    fn prefetch(self, src: &[f32]);
    /// Transposes `LANES` rows of 4 numbers, `stride` apart in `src`, into 4 rows of `LANES`, `out_stride` apart in `out`.
    fn transpose4(self, src: &[f32], stride: usize, out: &mut [f32], out_stride: usize);
}

/// The instruction sets with an implementation, the better later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Level {
    Plain,
    Avx2,
    Avx512,
    Avx512Bf16,
}

impl Level {
    const ALL: [Level; 4] = [Level::Plain, Level::Avx2, Level::Avx512, Level::Avx512Bf16];

    /// The best this CPU has.
    pub(super) fn best() -> Level {
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
            Level::Avx2 => Avx2::detect().is_some(),
            Level::Avx512 => Avx512::<false>::detect().is_some(),
            Level::Avx512Bf16 => Avx512::<true>::detect().is_some(),
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
    match Level::best() {
        Level::Avx512Bf16 => {
            if let Some(simd) = Avx512::<true>::detect() {
                return simd.vectorize(kernel);
            }
        }
        Level::Avx512 => {
            if let Some(simd) = Avx512::<false>::detect() {
                return simd.vectorize(kernel);
            }
        }
        Level::Avx2 => {
            if let Some(simd) = Avx2::detect() {
                return simd.vectorize(kernel);
            }
        }
        Level::Plain => {}
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
