//! Functions of vectors, the same polynomials on every instruction set.

use super::Simd;

/// e^x within 2 units in the last place; 0 below -104, infinity above 88.8, NaN stays.
#[inline(always)]
pub(in super::super) fn exp<S: Simd>(simd: S, x: S::F) -> S::F {
    let x = simd.max(simd.splat(-105.0), simd.min(simd.splat(89.0), x));
    let n = simd.round(simd.mul(x, simd.splat(std::f32::consts::LOG2_E)));
    // ln 2 in two parts (Cody and Waite), so that x - n ln 2 is exact to the last bits.
    let r = simd.fma(n, simd.splat(-0.693_359_4), x);
    let r = simd.fma(n, simd.splat(2.121_944_4e-4), r);
    // Cephes' expf: minimax on [-ln 2 / 2, ln 2 / 2].
    let mut p = simd.splat(1.987_569_2e-4);
    for coefficient in [1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5] {
        p = simd.fma(p, r, simd.splat(coefficient));
    }
    let p = simd.fma(simd.mul(r, r), p, simd.add(r, simd.splat(1.0)));
    simd.scale(p, n)
}

/// tanh x within a few units in the last place: Eigen's rational approximation, which passes 1 at 9.2.
#[inline(always)]
pub(in super::super) fn tanh<S: Simd>(simd: S, x: S::F) -> S::F {
    let x = simd.max(simd.splat(-9.6), simd.min(simd.splat(9.6), x));
    let square = simd.mul(x, x);
    let mut p = simd.splat(-2.760_768_5e-16);
    for coefficient in [
        2.000_188e-13,
        -8.604_672e-11,
        5.122_297e-8,
        1.485_722_4e-5,
        6.372_619_3e-4,
        4.893_524_6e-3,
    ] {
        p = simd.fma(p, square, simd.splat(coefficient));
    }
    let mut q = simd.splat(1.198_258_4e-6);
    for coefficient in [1.185_347_1e-4, 2.268_434_6e-3, 4.893_525e-3] {
        q = simd.fma(q, square, simd.splat(coefficient));
    }
    simd.max(simd.splat(-1.0), simd.min(simd.splat(1.0), simd.div(simd.mul(x, p), q)))
}
