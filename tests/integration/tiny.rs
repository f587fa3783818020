//! A tiny model made by seed: a Llama of a few thousand random weights with a byte-level tokenizer. It knows nothing, and
//! gives the same nothing on every machine.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use markbook::engine::{self, Engine, Options, Spec};
use markbook::hub::ModelName;
use safetensors::tensor::{Dtype, TensorView};

const VOCAB: usize = 260;
const HIDDEN: usize = 32;
const HEADS: usize = 4;
const KV_HEADS: usize = 2;
const HEAD: usize = HIDDEN / HEADS;
const MLP: usize = 48;
const LAYERS: usize = 2;

/// Uniform numbers in -1..1 by a seed.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }
}

/// Writes the model into a folder of its own below `folder`.
pub fn write(folder: &Path, seed: u64) -> PathBuf {
    let path = folder.join(format!("tiny-{seed}"));
    std::fs::create_dir_all(&path).unwrap();
    std::fs::write(path.join("config.json"), config().to_string()).unwrap();
    std::fs::write(path.join("tokenizer.json"), tokenizer().to_string()).unwrap();
    std::fs::write(
        path.join("tokenizer_config.json"),
        serde_json::json!({"eos_token": "<|end|>", "model_max_length": 4096}).to_string(),
    )
    .unwrap();
    let mut numbers = Numbers(seed);
    let mut tensors: Vec<(String, Vec<usize>, Vec<u8>)> = Vec::new();
    let mut add = |name: &str, shape: &[usize], scale: f32, offset: f32| {
        let count: usize = shape.iter().product();
        let bytes = (0..count)
            .flat_map(|_| (offset + scale * numbers.next()).to_le_bytes())
            .collect();
        tensors.push((name.to_owned(), shape.to_vec(), bytes));
    };
    add("model.embed_tokens.weight", &[VOCAB, HIDDEN], 1.0, 0.0);
    for layer in 0..LAYERS {
        let name = |part: &str| format!("model.layers.{layer}.{part}.weight");
        add(&name("input_layernorm"), &[HIDDEN], 0.1, 1.0);
        add(&name("post_attention_layernorm"), &[HIDDEN], 0.1, 1.0);
        add(&name("self_attn.q_proj"), &[HEADS * HEAD, HIDDEN], 0.4, 0.0);
        add(&name("self_attn.k_proj"), &[KV_HEADS * HEAD, HIDDEN], 0.4, 0.0);
        add(&name("self_attn.v_proj"), &[KV_HEADS * HEAD, HIDDEN], 0.4, 0.0);
        add(&name("self_attn.o_proj"), &[HIDDEN, HEADS * HEAD], 0.4, 0.0);
        add(&name("mlp.gate_proj"), &[MLP, HIDDEN], 0.4, 0.0);
        add(&name("mlp.up_proj"), &[MLP, HIDDEN], 0.4, 0.0);
        add(&name("mlp.down_proj"), &[HIDDEN, MLP], 0.4, 0.0);
    }
    add("model.norm.weight", &[HIDDEN], 0.1, 1.0);
    add("lm_head.weight", &[VOCAB, HIDDEN], 0.6, 0.0);
    let views: HashMap<&str, TensorView> = tensors
        .iter()
        .map(|(name, shape, bytes)| {
            (
                name.as_str(),
                TensorView::new(Dtype::F32, shape.clone(), bytes).unwrap(),
            )
        })
        .collect();
    safetensors::serialize_to_file(views, None, &path.join("model.safetensors")).unwrap();
    path
}

fn config() -> serde_json::Value {
    serde_json::json!({
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": VOCAB,
        "hidden_size": HIDDEN,
        "intermediate_size": MLP,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS,
        "hidden_act": "silu",
        "max_position_embeddings": 8192,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "tie_word_embeddings": false,
        "attention_bias": false,
        "mlp_bias": false,
        "eos_token_id": 256,
        "torch_dtype": "float32"
    })
}

/// The 256 bytes in GPT-2's printable spelling, an end token, and three unused ones.
fn tokenizer() -> serde_json::Value {
    let mut spare = 256u32;
    let vocab: serde_json::Map<String, serde_json::Value> = (0u32..256)
        .map(|byte| {
            let printable = matches!(byte, 33..=126 | 161..=172 | 174..=255);
            let spelled = if printable {
                byte
            } else {
                spare += 1;
                spare - 1
            };
            (char::from_u32(spelled).unwrap().to_string(), byte.into())
        })
        .collect();
    let added: Vec<serde_json::Value> = ["<|end|>", "<|a|>", "<|b|>", "<|c|>"]
        .iter()
        .enumerate()
        .map(|(at, token)| {
            serde_json::json!({
                "id": 256 + at, "content": token, "single_word": false, "lstrip": false, "rstrip": false,
                "normalized": false, "special": true
            })
        })
        .collect();
    serde_json::json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": added,
        "normalizer": null,
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
        "post_processor": null,
        "decoder": {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true},
        "model": {
            "type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": null,
            "end_of_word_suffix": null, "fuse_unk": false, "byte_fallback": false, "vocab": vocab, "merges": []
        }
    })
}

/// A model's engine, on one thread in f32, with so many completions at a time.
pub fn load(path: &Path, batch: usize) -> anyhow::Result<Box<dyn Engine>> {
    let options = Options {
        dtype: engine::Dtype::F32,
        threads: 1,
        batch,
        ..Options::default()
    };
    let model = ModelName::parse(&path.display().to_string())?;
    let opened = engine::open(&Spec::Local { model, options }, &mut |_| ControlFlow::Continue(()))?;
    Ok(opened.engine)
}
