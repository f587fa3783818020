//! AVX-512, with or without its dot products of bytes and of bf16: sixteen numbers at a time.
#![allow(unsafe_code, reason = "CPU intrinsics; tested against the plain twin")]

use std::arch::x86_64::{
    __m128, __m512, __m512bh, __m512i, __mmask16, _MM_HINT_T1, _mm_loadu_ps, _mm_prefetch, _mm512_abs_epi8,
    _mm512_add_epi16, _mm512_add_epi32, _mm512_add_ps, _mm512_and_si512, _mm512_castps_si512, _mm512_castps128_ps512,
    _mm512_castsi512_ps, _mm512_cvtepi32_ps, _mm512_cvtne2ps_pbh, _mm512_div_ps, _mm512_dpbf16_ps, _mm512_dpbusd_epi32,
    _mm512_fmadd_ps, _mm512_insertf32x4, _mm512_loadu_ps, _mm512_loadu_si512, _mm512_madd_epi16, _mm512_maddubs_epi16,
    _mm512_mask_storeu_ps, _mm512_mask_sub_epi8, _mm512_maskz_loadu_ps, _mm512_max_ps, _mm512_min_ps,
    _mm512_movepi8_mask, _mm512_mul_ps, _mm512_reduce_add_ps, _mm512_reduce_max_ps, _mm512_roundscale_ps,
    _mm512_scalef_ps, _mm512_set1_epi8, _mm512_set1_epi16, _mm512_set1_epi32, _mm512_set1_ps, _mm512_setzero_si512,
    _mm512_shuffle_ps, _mm512_slli_epi32, _mm512_storeu_ps, _mm512_sub_ps, _mm512_unpackhi_ps, _mm512_unpacklo_ps,
    _mm512_xor_si512,
};

use super::super::wide::pack_pair;
use super::{Kernel, Simd};

/// A CPU with AVX-512 (F, BW, DQ, VL), its dot product of bytes where `VNNI`, and its bf16 extension where `BF16`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Avx512<const VNNI: bool, const BF16: bool>(());

impl<const VNNI: bool, const BF16: bool> Avx512<VNNI, BF16> {
    pub(super) fn detect() -> Option<Self> {
        let base = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl")
            && is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma");
        let has_vnni = !VNNI || is_x86_feature_detected!("avx512vnni");
        (base && has_vnni && (!BF16 || is_x86_feature_detected!("avx512bf16"))).then_some(Avx512(()))
    }
}

/// The lanes a slice of this length fills.
#[inline(always)]
fn lanes(count: usize) -> __mmask16 {
    if count >= 16 { !0 } else { (1 << count) - 1 }
}

// SAFETY, of every block below: a value of `Avx512` exists only where detection found the instructions used (`_mm512_dpbf16_ps` stands
// behind `BF16`), and loads and stores are within slices whose length is checked before or sets the mask.
impl<const VNNI: bool, const BF16: bool> Simd for Avx512<VNNI, BF16> {
    type F = __m512;
    type I = __m512i;
    const LANES: usize = 16;
    const TILE_ROWS: usize = 12;
    const BYTE_ROWS: usize = 8;
    const BIAS: i32 = if VNNI { 128 } else { 0 };

    #[inline(always)]
    fn vectorize<K: Kernel>(self, kernel: K) -> K::Output {
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
        fn base<K: Kernel, S: Simd>(simd: S, kernel: K) -> K::Output {
            kernel.run(simd)
        }
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,avx512vnni")]
        fn vnni<K: Kernel, S: Simd>(simd: S, kernel: K) -> K::Output {
            kernel.run(simd)
        }
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,avx512vnni,avx512bf16")]
        fn bf16<K: Kernel, S: Simd>(simd: S, kernel: K) -> K::Output {
            kernel.run(simd)
        }
        match (VNNI, BF16) {
            (true, true) => unsafe { bf16(self, kernel) },
            (true, false) => unsafe { vnni(self, kernel) },
            (false, _) => unsafe { base(self, kernel) },
        }
    }

    #[inline(always)]
    fn splat(self, x: f32) -> __m512 {
        unsafe { _mm512_set1_ps(x) }
    }

    #[inline(always)]
    fn load(self, src: &[f32]) -> __m512 {
        assert!(src.len() >= 16);
        unsafe { _mm512_loadu_ps(src.as_ptr()) }
    }

    #[inline(always)]
    fn load_part(self, src: &[f32]) -> __m512 {
        unsafe { _mm512_maskz_loadu_ps(lanes(src.len()), src.as_ptr()) }
    }

    #[inline(always)]
    fn store(self, x: __m512, out: &mut [f32]) {
        assert!(out.len() >= 16);
        unsafe { _mm512_storeu_ps(out.as_mut_ptr(), x) }
    }

    #[inline(always)]
    fn store_part(self, x: __m512, out: &mut [f32]) {
        unsafe { _mm512_mask_storeu_ps(out.as_mut_ptr(), lanes(out.len()), x) }
    }

    #[inline(always)]
    fn add(self, a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_add_ps(a, b) }
    }

    #[inline(always)]
    fn sub(self, a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_sub_ps(a, b) }
    }

    #[inline(always)]
    fn mul(self, a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_mul_ps(a, b) }
    }

    #[inline(always)]
    fn div(self, a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_div_ps(a, b) }
    }

    #[inline(always)]
    fn fma(self, a: __m512, b: __m512, c: __m512) -> __m512 {
        unsafe { _mm512_fmadd_ps(a, b, c) }
    }

    #[inline(always)]
    fn max(self, a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_max_ps(a, b) }
    }

    #[inline(always)]
    fn min(self, a: __m512, b: __m512) -> __m512 {
        unsafe { _mm512_min_ps(a, b) }
    }

    #[inline(always)]
    fn round(self, x: __m512) -> __m512 {
        // 8: no fraction bits, to nearest, no exceptions.
        unsafe { _mm512_roundscale_ps::<8>(x) }
    }

    #[inline(always)]
    fn scale(self, x: __m512, n: __m512) -> __m512 {
        unsafe { _mm512_scalef_ps(x, n) }
    }

    #[inline(always)]
    fn sum(self, x: __m512) -> f32 {
        unsafe { _mm512_reduce_add_ps(x) }
    }

    #[inline(always)]
    fn highest(self, x: __m512) -> f32 {
        unsafe { _mm512_reduce_max_ps(x) }
    }

    #[inline(always)]
    fn dot_bf16(self, acc: __m512, a: __m512, b: __m512) -> __m512 {
        unsafe {
            if BF16 {
                let pairs = |x| std::mem::transmute::<__m512, __m512bh>(x);
                return _mm512_dpbf16_ps(acc, pairs(a), pairs(b));
            }
            let mask = _mm512_set1_epi32(0xffff_0000_u32 as i32);
            let high = |x| _mm512_castsi512_ps(_mm512_and_si512(_mm512_castps_si512(x), mask));
            let low = |x| _mm512_castsi512_ps(_mm512_slli_epi32::<16>(_mm512_castps_si512(x)));
            _mm512_fmadd_ps(low(a), low(b), _mm512_fmadd_ps(high(a), high(b), acc))
        }
    }

    #[inline(always)]
    fn round_bf16(self, first: __m512, second: __m512) -> __m512 {
        if BF16 {
            return unsafe { std::mem::transmute::<__m512bh, __m512>(_mm512_cvtne2ps_pbh(second, first)) };
        }
        let mut pairs = [0.0; 32];
        self.store(first, &mut pairs);
        self.store(second, &mut pairs[16..]);
        let words: [f32; 16] = std::array::from_fn(|i| pack_pair(&pairs[2 * i..2 * i + 2]));
        self.load(&words)
    }

    #[inline(always)]
    fn fma_exact(self, a: __m512, b: __m512, c: __m512) -> __m512 {
        self.fma(a, b, c)
    }

    #[inline(always)]
    fn load_bytes(self, src: &[u8]) -> __m512i {
        assert!(src.len() >= 64);
        unsafe { _mm512_loadu_si512(src.as_ptr().cast()) }
    }

    #[inline(always)]
    fn splat_int(self, x: i32) -> __m512i {
        unsafe { _mm512_set1_epi32(x) }
    }

    #[inline(always)]
    fn dot_u8(self, acc: __m512i, w: __m512i, a: __m512i) -> __m512i {
        unsafe {
            if VNNI {
                return _mm512_dpbusd_epi32(acc, w, a);
            }
            _mm512_add_epi16(acc, _mm512_maddubs_epi16(w, a))
        }
    }

    #[inline(always)]
    fn settle(self, acc: __m512i) -> __m512i {
        if VNNI {
            return acc;
        }
        unsafe { _mm512_madd_epi16(acc, _mm512_set1_epi16(1)) }
    }

    #[inline(always)]
    fn dot_i8(self, acc: __m512i, w: __m512i, a: __m512i) -> __m512i {
        unsafe {
            if VNNI {
                return _mm512_dpbusd_epi32(acc, _mm512_xor_si512(w, _mm512_set1_epi8(-128)), a);
            }
            let a = _mm512_mask_sub_epi8(a, _mm512_movepi8_mask(w), _mm512_setzero_si512(), a);
            let pairs = _mm512_maddubs_epi16(_mm512_abs_epi8(w), a);
            _mm512_add_epi32(acc, self.settle(pairs))
        }
    }

    #[inline(always)]
    fn add_int(self, a: __m512i, b: __m512i) -> __m512i {
        unsafe { _mm512_add_epi32(a, b) }
    }

    #[inline(always)]
    fn to_float(self, x: __m512i) -> __m512 {
        unsafe { _mm512_cvtepi32_ps(x) }
    }

    #[inline(always)]
    fn prefetch(self, src: &[f32]) {
        unsafe { _mm_prefetch::<_MM_HINT_T1>(src.as_ptr().cast()) }
    }

    #[inline(always)]
    fn transpose4(self, src: &[f32], stride: usize, out: &mut [f32], out_stride: usize) {
        assert!(stride >= 4 && src.len() >= 15 * stride + 4 && out.len() >= 3 * out_stride + 16);
        unsafe {
            let row = |i: usize| -> __m128 { _mm_loadu_ps(src.as_ptr().add(i * stride)) };
            // Lane quarters hold rows i, i + 4, i + 8 and i + 12, so that a transposition within the quarters leaves the rows in order.
            let four = |i| {
                let x = _mm512_castps128_ps512(row(i));
                let x = _mm512_insertf32x4::<1>(x, row(i + 4));
                let x = _mm512_insertf32x4::<2>(x, row(i + 8));
                _mm512_insertf32x4::<3>(x, row(i + 12))
            };
            let (a, b, c, d) = (four(0), four(1), four(2), four(3));
            let (ab_low, ab_high) = (_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
            let (cd_low, cd_high) = (_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
            let out = out.as_mut_ptr();
            _mm512_storeu_ps(out, _mm512_shuffle_ps::<0x44>(ab_low, cd_low));
            _mm512_storeu_ps(out.add(out_stride), _mm512_shuffle_ps::<0xee>(ab_low, cd_low));
            _mm512_storeu_ps(out.add(2 * out_stride), _mm512_shuffle_ps::<0x44>(ab_high, cd_high));
            _mm512_storeu_ps(out.add(3 * out_stride), _mm512_shuffle_ps::<0xee>(ab_high, cd_high));
        }
    }
}
