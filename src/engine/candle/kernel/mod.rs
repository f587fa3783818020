//! The CPU kernels of the packed decoder: products with weights packed once, attention over shared prefixes, and the
//! row-wise functions between them. Every result is the same bits for any number of rows, company, split or threads.
#![allow(
    clippy::inline_always,
    reason = "vector code is right only where it is inlined into a function of its instruction set"
)]

mod attention;
mod logits;
mod memory;
mod packed;
mod pointwise;
mod simd;
mod threads;
mod tile;

pub use attention::{AttentionShape, Job, KeyValues, attend_all};
pub use logits::{argmax, log_sum_exp};
pub use packed::{Packed, Precision};
pub use pointwise::{add_scaled, gelu_tanh_mul, gelu_tanh_times, rms_norm, rms_norm_in_place, rope, silu_mul, softcap};
use simd::Level;
pub use threads::Threads;

/// The kernel that computes products at this precision on this machine, for the manifest: `packed f32 avx512` and so on. A bf16
/// kernel without native instructions widens its pairs to f32.
pub fn kernel_name(precision: Precision) -> &'static str {
    match (precision, Level::best()) {
        (Precision::F32, Level::Plain) => "packed f32 plain",
        (Precision::F32, Level::Avx2) => "packed f32 avx2",
        (Precision::F32, Level::Avx512 | Level::Avx512Bf16) => "packed f32 avx512",
        (Precision::Bf16, Level::Plain) => "packed bf16 plain",
        (Precision::Bf16, Level::Avx2) => "packed bf16 avx2",
        (Precision::Bf16, Level::Avx512) => "packed bf16 avx512",
        (Precision::Bf16, Level::Avx512Bf16) => "packed bf16 avx512bf16",
    }
}

/// Whether the CPU multiplies bf16 natively (AVX-512 BF16), so that bf16 is faster than f32 and not only smaller.
pub fn has_native_bf16() -> bool {
    Level::best() == Level::Avx512Bf16
}

/// Numbers in -1..1, the same for the same seed.
#[cfg(test)]
fn random(len: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1_u64 << 23) as f32 - 1.0
    })
    .take(len)
    .collect()
}
