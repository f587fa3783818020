//! What this machine's arithmetic can give at most: multiplications and additions in registers, without memory.

use std::hint::black_box;

use super::simd::{self, Kernel, Simd};
use super::wide::Precision;

/// Multiplies and adds in registers, round after round, as the products in `precision` do (of blocks: codes of four bits). Gives the
/// operations done, two a product.
pub fn multiply_in_registers(precision: Precision, rounds: usize) -> u64 {
    simd::dispatch(Busy { precision, rounds })
}

struct Busy {
    precision: Precision,
    rounds: usize,
}

impl Kernel for Busy {
    type Output = u64;

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) -> u64 {
        let (a, b) = (simd.splat(black_box(0.5)), simd.splat(black_box(0.25)));
        // As many sums as hide the time that one addition takes, and leave registers for what is added.
        let mut sums = [a; 10];
        match self.precision {
            Precision::F32 => {
                for _ in 0..self.rounds {
                    for sum in &mut sums {
                        *sum = simd.fma(a, b, *sum);
                    }
                }
            }
            Precision::Bf16 => {
                for _ in 0..self.rounds {
                    for sum in &mut sums {
                        *sum = simd.dot_bf16(*sum, a, b);
                    }
                }
            }
            Precision::Native => {
                black_box(bytes(simd, self.rounds));
                return (self.rounds * 8 * S::LANES * 8) as u64;
            }
        }
        let mut total = simd.splat(0.0);
        for sum in sums {
            total = simd.add(total, sum);
        }
        black_box(simd.sum(total));
        let products = if self.precision == Precision::Bf16 { 2 } else { 1 };
        (self.rounds * sums.len() * S::LANES * 2 * products) as u64
    }
}

/// Sums of byte products, four rows by two vectors; what is multiplied changes each round, so that none is left out.
#[inline(always)]
fn bytes<S: Simd>(simd: S, rounds: usize) -> f32 {
    let a = [1, 2, 3, 4].map(|a| black_box(0x0101_0101 * a));
    let mut rows = [simd.splat_int(0); 4];
    for (row, a) in rows.iter_mut().zip(a) {
        *row = simd.splat_int(a);
    }
    let mut sums = [[simd.splat_int(0); 2]; 4];
    let mut w = [
        simd.splat_int(black_box(0x0101_0101)),
        simd.splat_int(black_box(0x0202_0202)),
    ];
    for _ in 0..rounds {
        for v in 0..2 {
            w[v] = simd.add_int(w[v], rows[3]);
            for r in 0..4 {
                sums[r][v] = simd.dot_u8(sums[r][v], w[v], rows[r]);
            }
        }
    }
    let mut total = simd.splat(0.0);
    for sums in sums {
        for sum in sums {
            total = simd.add(total, simd.to_float(simd.settle(sum)));
        }
    }
    simd.sum(total)
}
