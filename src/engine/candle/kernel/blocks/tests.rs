use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{Device, Tensor};

use super::super::packed::{Packed, Part};
use super::super::random;
use super::*;
use crate::engine::candle::storage::Storage;

/// Rows of blocks as llama.cpp's formats have them, and the numbers that they stand for, by candle's reader.
fn quantized(format: Format, n: usize, k: usize, seed: u64) -> (Vec<u8>, Vec<f32>) {
    let dtype = match format {
        Format::Q4_0 => GgmlDType::Q4_0,
        Format::Q4_1 => GgmlDType::Q4_1,
        Format::Q5_0 => GgmlDType::Q5_0,
        Format::Q5_1 => GgmlDType::Q5_1,
        Format::Q8_0 => GgmlDType::Q8_0,
        Format::Q2K => GgmlDType::Q2K,
        Format::Q3K => GgmlDType::Q3K,
        Format::Q4K => GgmlDType::Q4K,
        Format::Q5K => GgmlDType::Q5K,
        Format::Q6K => GgmlDType::Q6K,
    };
    assert_eq!(Storage::of_ggml(dtype).blocks(), Some(format));
    let numbers = Tensor::from_vec(random(n * k, seed), (n, k), &Device::Cpu).unwrap();
    let bytes = QTensor::quantize(&numbers, dtype).unwrap().data().unwrap().into_owned();
    let mut values = vec![0.0; n * k];
    Storage::of_ggml(dtype).decode(&bytes, k, &mut values).unwrap();
    (bytes, values)
}

fn pack(format: Format, n: usize, k: usize, bytes: &[u8], threads: usize) -> Blocks {
    let row = k / format.weights() * format.bytes();
    let packed = Blocks::pack(format, [n, k], &Threads::new(threads), |n| Ok(&bytes[n * row..][..row]));
    packed.unwrap()
}

/// Activations as the kernel rounds them, in numbers.
fn rounded(x: &[f32]) -> Vec<f32> {
    let round = |block: &[f32]| -> Vec<f32> {
        let largest = block.iter().fold(0.0f32, |a, x| a.max(x.abs()));
        let inverse = 127.0 / largest;
        block
            .iter()
            .map(|x| (x * inverse).round_ties_even() * (largest / 127.0))
            .collect()
    };
    x.chunks(32).flat_map(round).collect()
}

const SHAPES: [(usize, usize, usize); 4] = [(1, 1, 256), (2, 31, 512), (5, 33, 768), (13, 40, 1280)];

#[test]
fn products_of_blocks_are_the_definition_on_every_instruction_set_and_the_same_bits() {
    for format in Format::ALL {
        for (m, n, k) in SHAPES {
            let (bytes, weights) = quantized(format, n, k, 1);
            let x = random(m * k, 2);
            let near = rounded(&x);
            let packed = Packed::stack(vec![Part::Blocks(pack(format, n, k, &bytes, 1))]);
            let mut first: Option<Vec<u32>> = None;
            simd::on_each(|level| {
                let mut out = vec![f32::NAN; m * n];
                packed.matmul(&x, &mut out, &Threads::new(1));
                for (i, out) in out.iter().enumerate() {
                    let (x, w) = (&near[i / n * k..][..k], &weights[i % n * k..][..k]);
                    let exact: f64 = x.iter().zip(w).map(|(x, w)| f64::from(*x) * f64::from(*w)).sum();
                    let error = (f64::from(*out) - exact).abs();
                    let bound = 2e-6 * (k as f64).sqrt();
                    assert!(
                        error < bound,
                        "{error} at {i} of {m} x {n} x {k}, {format:?} on {level:?}"
                    );
                }
                let bits: Vec<u32> = out.iter().map(|x| x.to_bits()).collect();
                let first = first.get_or_insert_with(|| bits.clone());
                assert!(*first == bits, "{format:?} on {level:?}");
            });
        }
    }
}

#[test]
fn whole_rows_of_a_short_format_need_no_whole_stretch() {
    // 576 inputs are two stretches and a quarter.
    for format in [Format::Q4_0, Format::Q4_1, Format::Q5_0, Format::Q5_1, Format::Q8_0] {
        let (n, k) = (40, 576);
        let (bytes, weights) = quantized(format, n, k, 3);
        let x = random(3 * k, 4);
        let near = rounded(&x);
        let packed = Packed::stack(vec![Part::Blocks(pack(format, n, k, &bytes, 2))]);
        let mut out = vec![0.0; 3 * n];
        packed.matmul(&x, &mut out, &Threads::new(1));
        for (i, out) in out.iter().enumerate() {
            let (x, w) = (&near[i / n * k..][..k], &weights[i % n * k..][..k]);
            let exact: f32 = x.iter().zip(w).map(|(x, w)| x * w).sum();
            assert!((out - exact).abs() < 1e-4, "{out} {exact} {format:?}");
        }
    }
}

#[test]
fn a_row_has_the_same_bits_in_any_company_on_any_threads_and_beside_other_parts() {
    let (n, k) = (70, 512);
    let x = random(250 * k, 5);
    for formats in [[Format::Q4K, Format::Q6K], [Format::Q8_0, Format::Q5_1]] {
        let stored = formats.map(|format| quantized(format, n, k, 6).0);
        let blocks = |i: usize| Part::Blocks(pack(formats[i], n, k, &stored[i], 2));
        let (one, two) = (Packed::stack(vec![blocks(0)]), Packed::stack(vec![blocks(1)]));
        let wide = || {
            Part::Wide(super::super::Wide::pack_rows(
                9,
                k,
                super::super::Precision::F32,
                |_, row| row.fill(0.5),
            ))
        };
        let all = Packed::stack(vec![blocks(0), wide(), blocks(1)]);
        let width = all.rows();
        let mut alone = vec![0.0; 250 * width];
        for (x, out) in x.chunks(k).zip(alone.chunks_mut(width)) {
            one.matmul(x, &mut out[..n], &Threads::new(1));
            out[n..n + 9].fill(f32::NAN);
            two.matmul(x, &mut out[n + 9..], &Threads::new(1));
        }
        for threads in [1, 2, 3] {
            let threads = Threads::new(threads);
            for m in (1..=9).chain([64, 239, 241, 250]) {
                let first = (250 - m) / 2;
                let mut out = vec![0.0; m * width];
                all.matmul(&x[first * k..][..m * k], &mut out, &threads);
                for (out, alone) in out.chunks(width).zip(alone[first * width..].chunks(width)) {
                    assert_eq!(out[..n], alone[..n], "{m} rows, {} threads", threads.count());
                    assert_eq!(out[n + 9..], alone[n + 9..], "{m} rows, {} threads", threads.count());
                }
            }
        }
    }
}

#[test]
fn broken_activations_stay_in_their_row_and_broken_scales_are_refused() {
    let (n, k) = (33, 256);
    for format in Format::ALL {
        let (mut bytes, _) = quantized(format, n, k, 7);
        let packed = Packed::stack(vec![Part::Blocks(pack(format, n, k, &bytes, 1))]);
        let mut x = random(4 * k, 8);
        x[k] = f32::NAN;
        x[2 * k + 40] = f32::INFINITY;
        x[3 * k..].fill(0.0);
        simd::on_each(|level| {
            let mut out = vec![0.0; 4 * n];
            packed.matmul(&x, &mut out, &Threads::new(1));
            assert!(out[..n].iter().all(|x| x.is_finite()), "{format:?} on {level:?}");
            assert!(out[n..3 * n].iter().all(|x| x.is_nan()), "{format:?} on {level:?}");
            assert!(out[3 * n..].iter().all(|x| *x == 0.0), "{format:?} on {level:?}");
        });
        let d = match format {
            Format::Q2K => 80,
            Format::Q3K => 108,
            Format::Q6K => 208,
            _ => 0,
        };
        bytes[d + 1] |= 0x7c;
        let row = k / format.weights() * format.bytes();
        let refused = Blocks::pack(format, [n, k], &Threads::new(1), |n| Ok(&bytes[n * row..][..row]));
        assert!(refused.unwrap_err().to_string().contains("row 0"), "{format:?}");
    }
}
