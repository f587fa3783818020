//! AVX2 with FMA, with or without its dot product of bytes: eight numbers at a time.
#![allow(unsafe_code, reason = "CPU intrinsics; tested against the plain twin")]

use std::arch::x86_64::{
    __m128, __m256, __m256i, _MM_HINT_T1, _mm_add_ps, _mm_add_ss, _mm_cvtss_f32, _mm_loadu_ps, _mm_max_ps, _mm_max_ss,
    _mm_movehl_ps, _mm_prefetch, _mm_shuffle_ps, _mm256_abs_epi8, _mm256_add_epi16, _mm256_add_epi32, _mm256_add_ps,
    _mm256_and_ps, _mm256_castps_si256, _mm256_castps128_ps256, _mm256_castps256_ps128, _mm256_castsi256_ps,
    _mm256_cvtepi32_ps, _mm256_cvtps_epi32, _mm256_div_ps, _mm256_dpbusd_avx_epi32, _mm256_extractf128_ps,
    _mm256_fmadd_ps, _mm256_insertf128_ps, _mm256_loadu_ps, _mm256_loadu_si256, _mm256_madd_epi16,
    _mm256_maddubs_epi16, _mm256_max_ps, _mm256_min_ps, _mm256_mul_ps, _mm256_round_ps, _mm256_set1_epi8,
    _mm256_set1_epi16, _mm256_set1_epi32, _mm256_set1_ps, _mm256_shuffle_ps, _mm256_sign_epi8, _mm256_slli_epi32,
    _mm256_srai_epi32, _mm256_storeu_ps, _mm256_sub_epi32, _mm256_sub_ps, _mm256_unpackhi_ps, _mm256_unpacklo_ps,
    _mm256_xor_si256,
};

use super::super::wide::pack_pair;
use super::{Kernel, Simd};

/// A CPU with AVX2 and FMA, and AVX-VNNI where `VNNI`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Avx2<const VNNI: bool>(());

impl<const VNNI: bool> Avx2<VNNI> {
    pub(super) fn detect() -> Option<Self> {
        let base = is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma");
        (base && (!VNNI || is_x86_feature_detected!("avxvnni"))).then_some(Avx2(()))
    }
}

// SAFETY, of every block below: a value of `Avx2` exists only where detection found AVX2 and FMA, the only instructions used but for
// those behind `VNNI`, and loads and stores are within slices whose length is checked before.
impl<const VNNI: bool> Simd for Avx2<VNNI> {
    type F = __m256;
    type I = __m256i;
    const LANES: usize = 8;
    const TILE_ROWS: usize = 6;
    const BYTE_ROWS: usize = 4;
    const BIAS: i32 = if VNNI { 128 } else { 0 };

    #[inline(always)]
    fn vectorize<K: Kernel>(self, kernel: K) -> K::Output {
        #[target_feature(enable = "avx2,fma")]
        fn base<K: Kernel, S: Simd>(simd: S, kernel: K) -> K::Output {
            kernel.run(simd)
        }
        #[target_feature(enable = "avx2,fma,avxvnni")]
        fn vnni<K: Kernel, S: Simd>(simd: S, kernel: K) -> K::Output {
            kernel.run(simd)
        }
        if VNNI {
            unsafe { vnni(self, kernel) }
        } else {
            unsafe { base(self, kernel) }
        }
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
    fn fma_exact(self, a: __m256, b: __m256, c: __m256) -> __m256 {
        self.fma(a, b, c)
    }

    #[inline(always)]
    fn load_bytes(self, src: &[u8]) -> __m256i {
        assert!(src.len() >= 32);
        unsafe { _mm256_loadu_si256(src.as_ptr().cast()) }
    }

    #[inline(always)]
    fn splat_int(self, x: i32) -> __m256i {
        unsafe { _mm256_set1_epi32(x) }
    }

    #[inline(always)]
    fn dot_u8(self, acc: __m256i, w: __m256i, a: __m256i) -> __m256i {
        unsafe {
            if VNNI {
                return _mm256_dpbusd_avx_epi32(acc, w, a);
            }
            _mm256_add_epi16(acc, _mm256_maddubs_epi16(w, a))
        }
    }

    #[inline(always)]
    fn settle(self, acc: __m256i) -> __m256i {
        if VNNI {
            return acc;
        }
        unsafe { _mm256_madd_epi16(acc, _mm256_set1_epi16(1)) }
    }

    #[inline(always)]
    fn dot_i8(self, acc: __m256i, w: __m256i, a: __m256i) -> __m256i {
        unsafe {
            if VNNI {
                return _mm256_dpbusd_avx_epi32(acc, _mm256_xor_si256(w, _mm256_set1_epi8(-128)), a);
            }
            let pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(w), _mm256_sign_epi8(a, w));
            _mm256_add_epi32(acc, self.settle(pairs))
        }
    }

    #[inline(always)]
    fn add_int(self, a: __m256i, b: __m256i) -> __m256i {
        unsafe { _mm256_add_epi32(a, b) }
    }

    #[inline(always)]
    fn to_float(self, x: __m256i) -> __m256 {
        unsafe { _mm256_cvtepi32_ps(x) }
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
