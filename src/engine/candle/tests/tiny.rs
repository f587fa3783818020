//! Tiny models made by seed, with a tokenizer of single bytes, in a folder of their own.

use std::path::Path;

use safetensors::Dtype;
use safetensors::tensor::TensorView;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokenizers::models::bpe::{BPE, Vocab};
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::{AddedToken, Tokenizer};

/// Numbers of a small generator, between -1 and 1.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f32 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 40) as f32) / (1u32 << 23) as f32 - 1.0
    }
}

const HIDDEN: usize = 48;
const MLP: usize = 40;
const LAYERS: usize = 3;
const HEADS: usize = 4;
const KV_HEADS: usize = 2;
const HEAD_DIM: usize = 16;
pub const VOCAB: usize = 258;

/// Families whose switches matter to how a pass is cut: plain, with a window, with norms on heads.
pub const KINDS: [&str; 3] = ["llama", "mistral", "qwen3"];

/// A model of this kind with random weights.
pub fn model(kind: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("config.json"), config(kind).to_string()).unwrap();
    write_weights(folder.path(), kind);
    write_tokenizer(folder.path());
    folder
}

fn config(kind: &str) -> Value {
    json!({
        "model_type": kind, "vocab_size": VOCAB, "hidden_size": HIDDEN, "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS, "head_dim": HEAD_DIM, "num_hidden_layers": LAYERS,
        "intermediate_size": MLP, "rms_norm_eps": 1e-5, "max_position_embeddings": 400, "hidden_act": "silu",
        "rope_theta": 10000.0, "tie_word_embeddings": false, "eos_token_id": 257, "bos_token_id": 256,
        "sliding_window": if kind == "mistral" { json!(20) } else { Value::Null },
    })
}

fn write_weights(folder: &Path, kind: &str) {
    let mut numbers = Numbers(kind.len() as u64);
    let mut tensors: Vec<(String, Vec<usize>, Vec<u8>)> = Vec::new();
    let mut add = |name: String, shape: Vec<usize>, centre: f32, spread: f32| {
        let count = shape.iter().product::<usize>();
        let bytes = (0..count)
            .flat_map(|_| (centre + spread * numbers.next()).to_le_bytes())
            .collect();
        tensors.push((name, shape, bytes));
    };
    add("model.embed_tokens.weight".into(), vec![VOCAB, HIDDEN], 0.0, 1.0);
    add("lm_head.weight".into(), vec![VOCAB, HIDDEN], 0.0, 0.7);
    add("model.norm.weight".into(), vec![HIDDEN], 1.0, 0.2);
    for layer in 0..LAYERS {
        let name = |stem: &str| format!("model.layers.{layer}.{stem}.weight");
        let mut matrix = |stem: &str, rows: usize, columns: usize| {
            add(name(stem), vec![rows, columns], 0.0, 1.7 / (columns as f32).sqrt());
        };
        matrix("self_attn.q_proj", HEADS * HEAD_DIM, HIDDEN);
        matrix("self_attn.k_proj", KV_HEADS * HEAD_DIM, HIDDEN);
        matrix("self_attn.v_proj", KV_HEADS * HEAD_DIM, HIDDEN);
        matrix("self_attn.o_proj", HIDDEN, HEADS * HEAD_DIM);
        matrix("mlp.gate_proj", MLP, HIDDEN);
        matrix("mlp.up_proj", MLP, HIDDEN);
        matrix("mlp.down_proj", HIDDEN, MLP);
        add(name("input_layernorm"), vec![HIDDEN], 1.0, 0.2);
        add(name("post_attention_layernorm"), vec![HIDDEN], 1.0, 0.2);
        if kind == "qwen3" {
            add(name("self_attn.q_norm"), vec![HEAD_DIM], 1.0, 0.2);
            add(name("self_attn.k_norm"), vec![HEAD_DIM], 1.0, 0.2);
        }
    }
    let views = tensors
        .iter()
        .map(|(name, shape, bytes)| (name, TensorView::new(Dtype::F32, shape.clone(), bytes).unwrap()));
    safetensors::serialize_to_file(views, None, &folder.join("model.safetensors")).unwrap();
}

/// Every byte is a token; 256 begins a text, 257 ends one.
pub fn write_tokenizer(folder: &Path) {
    let mut alphabet: Vec<char> = ByteLevel::alphabet().into_iter().collect();
    alphabet.sort_unstable();
    let vocab: Vocab = alphabet
        .into_iter()
        .enumerate()
        .map(|(id, c)| (c.to_string(), id as u32))
        .collect();
    let mut tokenizer = Tokenizer::new(BPE::builder().vocab_and_merges(vocab, vec![]).build().unwrap());
    tokenizer.with_pre_tokenizer(Some(ByteLevel::new(false, true, true)));
    tokenizer.with_decoder(Some(ByteLevel::new(false, true, true)));
    tokenizer
        .add_special_tokens(["<bos>", "<eos>"].map(|text| AddedToken::from(text, true)))
        .unwrap();
    tokenizer.save(folder.join("tokenizer.json"), false).unwrap();
}
