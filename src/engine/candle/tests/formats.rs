//! Weights in every number format that is read: GGUF of each quantization, and safetensors in bf16.

use candle_core::quantized::gguf_file::{Value as Entry, write};
use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{DType, Device as Place, Tensor};

use super::super::cache::KvStore;
use super::super::forward::{Part, Scratch};
use super::*;

const VOCAB: usize = tiny::VOCAB;
/// Whole blocks of every quantization.
const HIDDEN: usize = 256;
const MLP: usize = 256;
const LAYERS: usize = 2;
const KEYS: usize = 128;

/// The matrices of a small Llama, with their shapes.
fn matrices() -> Vec<(String, usize, usize)> {
    let mut all = vec![("token_embd.weight".to_owned(), VOCAB, HIDDEN)];
    for layer in 0..LAYERS {
        let parts = [
            ("attn_q", HIDDEN, HIDDEN),
            ("attn_k", KEYS, HIDDEN),
            ("attn_v", KEYS, HIDDEN),
            ("attn_output", HIDDEN, HIDDEN),
            ("ffn_gate", MLP, HIDDEN),
            ("ffn_up", MLP, HIDDEN),
            ("ffn_down", HIDDEN, MLP),
        ];
        all.extend(parts.map(|(name, rows, columns)| (format!("blk.{layer}.{name}.weight"), rows, columns)));
    }
    all
}

/// Each matrix stored in a number format, as candle quantizes it.
fn quantized(dtype: GgmlDType) -> Vec<(String, QTensor)> {
    let mut state = 12_345_u64;
    let mut number = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    matrices()
        .into_iter()
        .map(|(name, rows, columns)| {
            let numbers: Vec<f32> = (0..rows * columns).map(|_| 0.1 * number()).collect();
            let tensor = Tensor::from_vec(numbers, (rows, columns), &Place::Cpu).unwrap();
            (name, QTensor::quantize(&tensor, dtype).unwrap())
        })
        .collect()
}

/// The same matrices with their values written out in f32.
fn widened(tensors: &[(String, QTensor)]) -> Vec<(String, QTensor)> {
    let widen = |tensor: &QTensor| QTensor::quantize(&tensor.dequantize(&Place::Cpu).unwrap(), GgmlDType::F32).unwrap();
    tensors
        .iter()
        .map(|(name, tensor)| (name.clone(), widen(tensor)))
        .collect()
}

fn save(path: &Path, tensors: &[(String, QTensor)]) {
    let ones = QTensor::quantize(&Tensor::ones(HIDDEN, DType::F32, &Place::Cpu).unwrap(), GgmlDType::F32).unwrap();
    let norms =
        (0..LAYERS).flat_map(|layer| ["attn_norm", "ffn_norm"].map(|norm| format!("blk.{layer}.{norm}.weight")));
    let norms: Vec<String> = norms.chain(["output_norm.weight".to_owned()]).collect();
    let tensors = tensors.iter().map(|(name, tensor)| (name.as_str(), tensor));
    let all: Vec<(&str, &QTensor)> = tensors.chain(norms.iter().map(|name| (name.as_str(), &ones))).collect();
    let entries = [
        ("general.architecture", Entry::String("llama".into())),
        ("llama.embedding_length", Entry::U32(HIDDEN as u32)),
        ("llama.attention.head_count", Entry::U32(4)),
        ("llama.attention.head_count_kv", Entry::U32(2)),
        ("llama.block_count", Entry::U32(LAYERS as u32)),
        ("llama.feed_forward_length", Entry::U32(MLP as u32)),
        ("llama.context_length", Entry::U32(400)),
        ("llama.vocab_size", Entry::U32(VOCAB as u32)),
        ("llama.attention.layer_norm_rms_epsilon", Entry::F32(1e-5)),
    ];
    let entries: Vec<(&str, &Entry)> = entries.iter().map(|(key, entry)| (*key, entry)).collect();
    write(&mut std::fs::File::create(path).unwrap(), &entries, &all).unwrap();
}

/// A folder with `model.gguf` in a number format, and its tokenizer.
pub fn folder(dtype: GgmlDType) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    save(&folder.path().join("model.gguf"), &quantized(dtype));
    tiny::write_tokenizer(folder.path());
    folder
}

/// The bits of all logits of a short text.
fn logits(path: &Path, precision: Precision) -> Vec<u32> {
    let decoder = open::open_decoder(path, "", precision).unwrap();
    let (mut store, threads) = (KvStore::new(&decoder.config), Threads::new(1));
    let tokens: Vec<u32> = (0..20).map(|at| at * 7 % VOCAB as u32).collect();
    let parts = [Part {
        node: store.branch(None),
        tokens: &tokens,
        wanted: 0..tokens.len(),
    }];
    let go_on = &mut || ControlFlow::Continue(());
    let ControlFlow::Continue(hidden) = decoder.forward(&mut store, &parts, &mut Scratch::default(), &threads, go_on)
    else {
        unreachable!()
    };
    let mut logits = Vec::new();
    decoder.logits_into(&hidden, &threads, &mut logits);
    logits.iter().map(|logit| logit.to_bits()).collect()
}

#[test]
fn gguf_of_every_quantization_computes_as_its_values_written_out() {
    use GgmlDType::{BF16, F16, F32, Q2K, Q3K, Q4_0, Q4_1, Q4K, Q5_0, Q5_1, Q5K, Q6K, Q8_0, Q8_1, Q8K};
    let folder = tempfile::tempdir().unwrap();
    let (narrow, wide) = (folder.path().join("narrow.gguf"), folder.path().join("wide.gguf"));
    let mut seen = std::collections::HashSet::new();
    for dtype in [
        F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q8_1, Q2K, Q3K, Q4K, Q5K, Q6K, Q8K,
    ] {
        let tensors = quantized(dtype);
        save(&narrow, &tensors);
        save(&wide, &widened(&tensors));
        let logits = logits(&narrow, Precision::F32);
        assert!(logits == super::formats::logits(&wide, Precision::F32), "{dtype:?}");
        assert!(logits.iter().all(|bits| f32::from_bits(*bits).is_finite()), "{dtype:?}");
        // Q8_1 holds the values of Q8_0, and their sum besides.
        assert!(seen.insert(logits) || dtype == Q8_1, "{dtype:?} rounds as no other");
    }
}

#[test]
fn blocks_of_every_quantization_compute_near_their_values_written_out() {
    use GgmlDType::{Q2K, Q3K, Q4_0, Q4_1, Q4K, Q5_0, Q5_1, Q5K, Q6K, Q8_0};
    for dtype in [Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2K, Q3K, Q4K, Q5K, Q6K] {
        let folder = folder(dtype);
        let path = folder.path().join("model.gguf");
        let numbers = |precision| -> Vec<f32> { logits(&path, precision).into_iter().map(f32::from_bits).collect() };
        let (exact, blocks) = (numbers(Precision::F32), numbers(Precision::Native));
        let norm = |numbers: &[f32]| numbers.iter().map(|x| x * x).sum::<f32>().sqrt();
        let far: Vec<f32> = exact
            .iter()
            .zip(&blocks)
            .map(|(exact, blocks)| exact - blocks)
            .collect();
        let share = norm(&far) / norm(&exact);
        assert!(share > 0.0 && share < 0.03, "{dtype:?}: {share}");
        let decoder = open::open_decoder(&path, "", Precision::Native).unwrap();
        let file = std::fs::metadata(&path).unwrap().len();
        assert!(
            decoder.weight_bytes() < file * 5 / 4,
            "{dtype:?} takes more than its file"
        );
    }
}

#[test]
fn native_computes_with_blocks_as_they_are_and_is_refused_without_them() {
    let folder = folder(GgmlDType::Q4K);
    let options = |dtype| Options {
        dtype,
        threads: 1,
        device: Device::Cpu,
        ..Options::default()
    };
    let words = open(&folder.path().join("model.gguf"), &options(Dtype::Native))
        .describe()
        .in_words();
    assert!(
        words.starts_with("computed in native q4_k (it was asked for") && words.contains("packed blocks "),
        "{words}"
    );
    let floats = tiny::model("llama");
    let refused = load(floats.path(), &options(Dtype::Native), &mut |_| {
        ControlFlow::Continue(())
    });
    let error = format!("{:#}", refused.unwrap_err());
    assert!(
        error.contains("quantized GGUF") && error.contains("stored as f32"),
        "{error}"
    );
}

#[test]
fn a_quantization_that_is_not_read_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    save(&path, &quantized(GgmlDType::Q8_0));
    let mut bytes = std::fs::read(&path).unwrap();
    // A tensor's entry: its name, its dimensions (a count and 64 bits each), then the number of its format.
    let name = b"blk.0.attn_q.weight";
    let at = bytes.windows(name.len()).position(|window| window == name).unwrap() + name.len() + 4 + 16;
    assert_eq!(bytes[at], 8);
    bytes[at] = 23;
    std::fs::write(&path, bytes).unwrap();
    let error = format!("{:#}", open::open(&path, "").unwrap_err());
    assert!(
        error.contains("model.gguf") && error.contains("IQ4_XS") && error.contains("Q4_K"),
        "{error}"
    );
}

#[test]
fn auto_takes_bf16_for_bf16_checkpoints_where_the_cpu_has_it_and_says_why() {
    let folder = tiny::model("llama");
    let load = || {
        let options = Options {
            device: Device::Cpu,
            ..Options::default()
        };
        open(folder.path(), &options).describe()
    };
    assert!(
        load()
            .in_words()
            .starts_with("computed in f32 (the weights are stored as f32, not bf16) by packed f32 ")
    );
    let path = folder.path().join("model.safetensors");
    let tensors = candle_core::safetensors::load(&path, &Place::Cpu).unwrap();
    let narrow: HashMap<String, Tensor> = tensors
        .into_iter()
        .map(|(name, tensor)| (name, tensor.to_dtype(DType::BF16).unwrap()))
        .collect();
    candle_core::safetensors::save(&narrow, &path).unwrap();
    let narrow = load().in_words();
    let expected = if has_native_bf16() { "bf16" } else { "f32" };
    assert!(
        narrow.starts_with(&format!("computed in {expected} (the weights are stored as bf16"))
            && narrow.contains(&format!(" by packed {expected} ")),
        "{narrow}"
    );
}
