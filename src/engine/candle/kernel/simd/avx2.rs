//! AVX2 with FMA: eight numbers at a time.
#![allow(unsafe_code, reason = "CPU intrinsics; tested against the plain twin")]

use std::arch::x86_64::{
    __m128, __m256, _MM_HINT_T1, _mm_add_ps, _mm_add_ss, _mm_cvtss_f32, _mm_loadu_ps, _mm_max_ps, _mm_max_ss,
    _mm_movehl_ps, _mm_prefetch, _mm_shuffle_ps, _mm256_add_epi32, _mm256_add_ps, _mm256_and_ps, _mm256_castps_si256,
    _mm256_castps128_ps256, _mm256_castps256_ps128, _mm256_castsi256_ps, _mm256_cvtps_epi32, _mm256_div_ps,
    _mm256_extractf128_ps, _mm256_fmadd_ps, _mm256_insertf128_ps, _mm256_loadu_ps, _mm256_max_ps, _mm256_min_ps,
    _mm256_mul_ps, _mm256_round_ps, _mm256_set1_epi32, _mm256_set1_ps, _mm256_shuffle_ps, _mm256_slli_epi32,
    _mm256_srai_epi32, _mm256_storeu_ps, _mm256_sub_epi32, _mm256_sub_ps, _mm256_unpackhi_ps, _mm256_unpacklo_ps,
};

use super::super::packed::pack_pair;
use super::{Kernel, Simd};

/// A CPU with AVX2 and FMA.
#[derive(Debug, Clone, Copy)]
pub(super) struct Avx2(());

impl Avx2 {
    pub(super) fn detect() -> Option<Avx2> {
        (is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")).then_some(Avx2(()))
    }
}

// SAFETY, of every block below: a value of `Avx2` exists only where detection found AVX2 and FMA, the only instructions used, and
// loads and stores are within slices whose length is checked before.
impl Simd for Avx2 {
    type F = __m256;
    const LANES: usize = 8;
    const TILE_ROWS: usize = 6;

    #[inline(always)]
    fn vectorize<K: Kernel>(self, kernel: K) -> K::Output {
        #[target_feature(enable = "avx2,fma")]
        fn inner<K: Kernel>(simd: Avx2, kernel: K) -> K::Output {
            kernel.run(simd)
        }
        unsafe { inner(self, kernel) }
    }

    #[inline(always)]
    fn splat(self, x: f32) -> __m256 {
        unsafe { _mm256_set1_ps(x) }
    }

    #[inline(always)]
    fn load(self, src: &[f32]) -> __m256 {
        assert!(src.len() >= 8);
        unsafe { _mm256_loadu_ps(src.as_ptr()) }
    }

    #[inline(always)]
    fn load_part(self, src: &[f32]) -> __m256 {
        if src.len() >= 8 {
            return self.load(src);
        }
        let mut whole = [0.0; 8];
        let count = src.len().min(8);
        whole[..count].copy_from_slice(&src[..count]);
        self.load(&whole)
    }

    #[inline(always)]
    fn store(self, x: __m256, out: &mut [f32]) {
        assert!(out.len() >= 8);
        unsafe { _mm256_storeu_ps(out.as_mut_ptr(), x) }
    }

    #[inline(always)]
    fn store_part(self, x: __m256, out: &mut [f32]) {
        if out.len() >= 8 {
            return self.store(x, out);
        }
        let mut whole = [0.0; 8];
        self.store(x, &mut whole);
        let count = out.len().min(8);
        out[..count].copy_from_slice(&whole[..count]);
    }

    #[inline(always)]
    fn add(self, a: __m256, b: __m256) -> __m256 {
        unsafe { _mm256_add_ps(a, b) }
    }

    #[inline(always)]
    fn sub(self, a: __m256, b: __m256) -> __m256 {
        unsafe { _mm256_sub_ps(a, b) }
    }

    #[inline(always)]
    fn mul(self, a: __m256, b: __m256) -> __m256 {
        unsafe { _mm256_mul_ps(a, b) }
    }

    #[inline(always)]
    fn div(self, a: __m256, b: __m256) -> __m256 {
        unsafe { _mm256_div_ps(a, b) }
    }

    #[inline(always)]
    fn fma(self, a: __m256, b: __m256, c: __m256) -> __m256 {
        unsafe { _mm256_fmadd_ps(a, b, c) }
    }

    #[inline(always)]
    fn max(self, a: __m256, b: __m256) -> __m256 {
        unsafe { _mm256_max_ps(a, b) }
    }

    #[inline(always)]
    fn min(self, a: __m256, b: __m256) -> __m256 {
        unsafe { _mm256_min_ps(a, b) }
    }

    #[inline(always)]
    fn round(self, x: __m256) -> __m256 {
        // 8: to nearest, no exceptions.
        unsafe { _mm256_round_ps::<8>(x) }
    }

    #[inline(always)]
    fn scale(self, x: __m256, n: __m256) -> __m256 {
        unsafe {
            let n = _mm256_cvtps_epi32(n);
            let half = _mm256_srai_epi32::<1>(n);
            let rest = _mm256_sub_epi32(n, half);
            let bias = _mm256_set1_epi32(127);
            let half = _mm256_castsi256_ps(_mm256_slli_epi32::<23>(_mm256_add_epi32(half, bias)));
            let rest = _mm256_castsi256_ps(_mm256_slli_epi32::<23>(_mm256_add_epi32(rest, bias)));
            _mm256_mul_ps(_mm256_mul_ps(x, half), rest)
        }
    }

    #[inline(always)]
    fn sum(self, x: __m256) -> f32 {
        unsafe {
            let four = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps::<1>(x));
            let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
        }
    }

    #[inline(always)]
    fn highest(self, x: __m256) -> f32 {
        unsafe {
            let four = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps::<1>(x));
            let two = _mm_max_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps::<1>(two, two)))
        }
    }

    #[inline(always)]
    fn dot_bf16(self, acc: __m256, a: __m256, b: __m256) -> __m256 {
        unsafe {
            let high = _mm256_castsi256_ps(_mm256_set1_epi32(0xffff_0000_u32 as i32));
            let acc = _mm256_fmadd_ps(_mm256_and_ps(a, high), _mm256_and_ps(b, high), acc);
            let low = |x| _mm256_castsi256_ps(_mm256_slli_epi32::<16>(_mm256_castps_si256(x)));
            _mm256_fmadd_ps(low(a), low(b), acc)
        }
    }

    #[inline(always)]
    fn round_bf16(self, first: __m256, second: __m256) -> __m256 {
        let mut pairs = [0.0; 16];
        self.store(first, &mut pairs);
        self.store(second, &mut pairs[8..]);
        let words: [f32; 8] = std::array::from_fn(|i| pack_pair(&pairs[2 * i..2 * i + 2]));
        self.load(&words)
    }

    #[inline(always)]
    fn prefetch(self, src: &[f32]) {
        unsafe { _mm_prefetch::<_MM_HINT_T1>(src.as_ptr().cast()) }
    }

    #[inline(always)]
    fn transpose4(self, src: &[f32], stride: usize, out: &mut [f32], out_stride: usize) {
        assert!(stride >= 4 && src.len() >= 7 * stride + 4 && out.len() >= 3 * out_stride + 8);
        unsafe {
            let row = |i: usize| -> __m128 { _mm_loadu_ps(src.as_ptr().add(i * stride)) };
            // Lane halves hold rows i and i + 4, so that a transposition within the halves leaves the rows in order.
            let pair = |i| _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(row(i)), row(i + 4));
            let (a, b, c, d) = (pair(0), pair(1), pair(2), pair(3));
            let (ab_low, ab_high) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
            let (cd_low, cd_high) = (_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
            let out = out.as_mut_ptr();
            _mm256_storeu_ps(out, _mm256_shuffle_ps::<0x44>(ab_low, cd_low));
            _mm256_storeu_ps(out.add(out_stride), _mm256_shuffle_ps::<0xee>(ab_low, cd_low));
            _mm256_storeu_ps(out.add(2 * out_stride), _mm256_shuffle_ps::<0x44>(ab_high, cd_high));
            _mm256_storeu_ps(out.add(3 * out_stride), _mm256_shuffle_ps::<0xee>(ab_high, cd_high));
        }
    }
}
