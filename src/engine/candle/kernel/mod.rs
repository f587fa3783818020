//! The CPU kernels of the packed decoder: products with weights packed once, attention over shared prefixes, and the
//! row-wise functions between them. Every result is the same bits for any number of rows, company, split or threads.
#![allow(
    clippy::inline_always,
    reason = "vector code is right only where it is inlined into a function of its instruction set"
)]

mod attention;
mod blocks;
mod logits;
mod memory;
mod packed;
mod peak;
mod pointwise;
mod simd;
mod threads;
mod tile;
mod wide;

pub use attention::{AttentionShape, Job, KeyValues, attend_all};
pub use blocks::{Blocks, Format};
pub use logits::{argmax, log_sum_exp};
pub use packed::{Packed, Part};
pub use peak::multiply_in_registers;
pub use pointwise::{add_scaled, gelu_tanh_mul, gelu_tanh_times, rms_norm, rms_norm_in_place, rope, silu_mul, softcap};
use simd::Level;
pub use simd::use_plain;
pub use threads::Threads;
pub use wide::{Precision, Wide};

/// The kernel that computes products at this precision on this machine, for the manifest: `packed f32 avx512` and so on. A bf16
/// kernel without native instructions widens its pairs to f32; blocks give the same bits by all of them.
pub fn kernel_name(precision: Precision) -> String {
    let format = match precision {
        Precision::F32 => "f32",
        Precision::Bf16 => "bf16",
        Precision::Native => "blocks",
    };
    let level = match (precision, Level::best()) {
        (_, Level::Plain) => "plain",
        (Precision::Bf16, Level::Avx512Bf16) => "avx512bf16",
        (Precision::Native, Level::Avx512Vnni | Level::Avx512Bf16) => "avx512vnni",
        (Precision::Native, Level::AvxVnni) => "avxvnni",
        (_, Level::Avx2 | Level::AvxVnni) => "avx2",
        (_, Level::Avx512 | Level::Avx512Vnni | Level::Avx512Bf16) => "avx512",
    };
    format!("packed {format} {level}")
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
