//! GGUF files: the header, read by candle, and the decoder's shape in their metadata.

use std::collections::HashMap;
use std::io::Cursor;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use candle_core::quantized::gguf_file::{Content, Value};

use super::config::{Config, LayerConfig, QkNorm};
use super::rope::{LARGEST_HEAD, Rope};
use super::weights::{Weights, map_file};

/// Architectures whose GGUF layout is known.
const ARCHITECTURES: [&str; 3] = ["llama", "qwen2", "qwen3"];

/// A GGUF file's metadata, with errors that name the file and the architecture.
#[derive(Debug)]
pub struct Metadata {
    pub path: String,
    pub architecture: String,
    content: Content,
}

impl Metadata {
    /// `gguf` and the format of most weights.
    pub fn format(&self) -> String {
        let mut weights = HashMap::<String, usize>::new();
        for tensor in self.content.tensor_infos.values() {
            *weights.entry(format!("{:?}", tensor.ggml_dtype)).or_default() += tensor.shape.elem_count();
        }
        let most = weights.into_iter().max_by_key(|(name, count)| (*count, name.clone()));
        format!("gguf {}", most.map_or_else(String::new, |(name, _)| name))
    }
}

/// Opens a GGUF file: its metadata and its tensors.
pub fn open(path: &Path) -> Result<(Metadata, Weights)> {
    let map = map_file(path)?;
    refuse_zero_alignment(&map, path)?;
    let content = Content::read(&mut Cursor::new(&map[..])).map_err(|error| unreadable(&error, path))?;
    let weights = Weights::open_gguf(path, map, &content)?;
    let path = path.display().to_string();
    let architecture = match content.metadata.get("general.architecture") {
        Some(Value::String(name)) => name.clone(),
        _ => bail!("{path} lacks the metadata key general.architecture"),
    };
    Ok((
        Metadata {
            path,
            architecture,
            content,
        },
        weights,
    ))
}

/// Quantizations that llama.cpp has and candle does not read, by their number in the file.
const NOT_READ: [(&str, &str); 17] = [
    ("16", "IQ2_XXS"),
    ("17", "IQ2_XS"),
    ("18", "IQ3_XXS"),
    ("19", "IQ1_S"),
    ("20", "IQ4_NL"),
    ("21", "IQ3_S"),
    ("22", "IQ2_S"),
    ("23", "IQ4_XS"),
    ("24", "I8"),
    ("25", "I16"),
    ("26", "I32"),
    ("27", "I64"),
    ("28", "F64"),
    ("29", "IQ1_M"),
    ("34", "TQ1_0"),
    ("35", "TQ2_0"),
    ("39", "MXFP4"),
];

/// Why candle could not read the header. Its message for a quantization that it does not know ends with the number.
fn unreadable(error: &candle_core::Error, path: &Path) -> anyhow::Error {
    let message = error.to_string();
    let line = message.lines().next().unwrap_or_default();
    let (path, number) = (path.display(), line.rsplit(' ').next().unwrap_or_default());
    if line.contains("unknown dtype for tensor") {
        let name = NOT_READ.iter().find(|(known, _)| *known == number);
        let name = name.map_or_else(|| format!("of number {number}"), |(_, name)| (*name).to_owned());
        return anyhow::anyhow!(
            "{path} holds a tensor in the quantization {name}, which is not read; known: F32, F16, BF16, Q4_0, Q4_1, Q5_0, \
             Q5_1, Q8_0, Q8_1, Q2_K, Q3_K, Q4_K, Q5_K, Q6_K, Q8_K"
        );
    }
    anyhow::anyhow!("{path} is not a readable GGUF file (its header is broken, or the file is cut short): {line}")
}

/// candle divides by the alignment that the header names.
fn refuse_zero_alignment(map: &[u8], path: &Path) -> Result<()> {
    let header = &map[..map.len().min(64 << 20)];
    let key = b"general.alignment";
    if let Some(at) = memchr::memmem::find(header, key) {
        let value = header.get(at + key.len() + 4..at + key.len() + 8);
        ensure!(
            value.is_none_or(|value| value != [0; 4]),
            "{}: general.alignment is 0",
            path.display()
        );
    }
    Ok(())
}

impl Metadata {
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.content.metadata.get(key)
    }

    pub fn text(&self, key: &str) -> Option<&str> {
        match self.get(key) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        }
    }

    pub fn flag(&self, key: &str) -> Option<bool> {
        match self.get(key) {
            Some(Value::Bool(flag)) => Some(*flag),
            _ => None,
        }
    }

    /// A whole number that is not negative.
    pub fn count_of(&self, key: &str) -> Option<usize> {
        let value = match self.get(key)? {
            Value::U8(n) => i128::from(*n),
            Value::I8(n) => i128::from(*n),
            Value::U16(n) => i128::from(*n),
            Value::I16(n) => i128::from(*n),
            Value::U32(n) => i128::from(*n),
            Value::I32(n) => i128::from(*n),
            Value::U64(n) => i128::from(*n),
            Value::I64(n) => i128::from(*n),
            _ => return None,
        };
        usize::try_from(value).ok()
    }

    fn own(&self, key: &str) -> String {
        format!("{}.{key}", self.architecture)
    }

    fn missing(&self, key: &str) -> String {
        format!(
            "{} (architecture {}) lacks the metadata key {key}",
            self.path, self.architecture
        )
    }

    fn count(&self, key: &str) -> Result<usize> {
        let key = self.own(key);
        self.count_of(&key).with_context(|| self.missing(&key))
    }

    fn number_opt(&self, key: &str) -> Option<f64> {
        match self.get(&self.own(key))? {
            Value::F32(number) => Some(f64::from(*number)),
            Value::F64(number) => Some(*number),
            _ => None,
        }
    }

    /// The decoder's shape.
    pub fn config(&self, weights: &Weights) -> Result<Config> {
        let family = ARCHITECTURES
            .into_iter()
            .find(|name| *name == self.architecture)
            .with_context(|| {
                let (path, name, known) = (&self.path, &self.architecture, ARCHITECTURES.join(", "));
                format!("{path}: unknown GGUF architecture {name:?}; known: {known}")
            })?;
        if self.count_of(&self.own("expert_count")).unwrap_or(0) > 0 {
            bail!(
                "{}: mixtures of experts are not supported (architecture {family})",
                self.path
            );
        }
        self.refuse_what_is_not_known()?;
        let (hidden, heads) = (self.count("embedding_length")?, self.count("attention.head_count")?);
        ensure!(heads > 0, "{}: {} is 0", self.path, self.own("attention.head_count"));
        let kv_heads = self.count_of(&self.own("attention.head_count_kv")).unwrap_or(heads);
        let head_dim = self
            .count_of(&self.own("attention.key_length"))
            .unwrap_or(hidden / heads);
        let layers = self.count("block_count")?;
        ensure!(layers > 0 && layers < 4096, "{}: {layers} layers", self.path);
        let eps = self.number_opt("attention.layer_norm_rms_epsilon");
        let eps = eps.with_context(|| self.missing(&self.own("attention.layer_norm_rms_epsilon")))?;
        let layer = LayerConfig::plain(kv_heads, head_dim, self.count("feed_forward_length")?);
        let mut config = Config {
            vocab: self.vocab()?,
            hidden,
            ropes: vec![self.rope(head_dim, weights)?],
            context: self.count("context_length")?,
            norm_eps: eps as f32,
            qk_norm: if family == "qwen3" {
                QkNorm::PerHead
            } else {
                QkNorm::None
            },
            qkv_bias: weights.has("blk.0.attn_q.bias"),
            output_bias: weights.has("blk.0.attn_output.bias"),
            mlp_bias: weights.has("blk.0.ffn_gate.bias"),
            tied: !weights.has("output.weight"),
            ..Config::plain(family, heads, vec![layer; layers])
        };
        config
            .check()
            .with_context(|| format!("{} (architecture {family})", self.path))?;
        Ok(config)
    }

    /// Refuses what these architectures do not have where a file sets it all the same: caps, factors, windows.
    fn refuse_what_is_not_known(&self) -> Result<()> {
        const NEUTRAL: [(&str, f64); 8] = [
            ("attn_logit_softcapping", 0.0),
            ("final_logit_softcapping", 0.0),
            ("attention.clamp_kqv", 0.0),
            ("attention.max_alibi_bias", 0.0),
            ("attention.scale", 0.0),
            ("logit_scale", 1.0),
            ("residual_scale", 1.0),
            ("embedding_scale", 1.0),
        ];
        for (key, neutral) in NEUTRAL {
            if let Some(value) = self.number_opt(key).filter(|value| *value != neutral && *value != 0.0) {
                bail!("{}: {} {value} is not supported", self.path, self.own(key));
            }
        }
        let window = self.count_of(&self.own("attention.sliding_window")).unwrap_or(0);
        let context = self.count("context_length")?;
        ensure!(
            u32::try_from(context).is_ok(),
            "{}: {} is {context}",
            self.path,
            self.own("context_length")
        );
        if window > 0 && window < context {
            let key = self.own("attention.sliding_window");
            bail!("{}: {key} {window} is not supported", self.path);
        }
        Ok(())
    }

    fn vocab(&self) -> Result<usize> {
        match self.get("tokenizer.ggml.tokens") {
            Some(Value::Array(tokens)) => Ok(tokens.len()),
            _ => self.count("vocab_size"),
        }
    }

    fn rope(&self, head_dim: usize, weights: &Weights) -> Result<Rope> {
        let dims = self.count_of(&self.own("rope.dimension_count")).unwrap_or(head_dim);
        ensure!(
            dims >= 2 && dims <= head_dim.min(LARGEST_HEAD) && dims.is_multiple_of(2),
            "{}: rope over {dims} dimensions",
            self.path
        );
        let mut rope = Rope::plain(self.number_opt("rope.freq_base").unwrap_or(10_000.0), dims);
        match self.text(&self.own("rope.scaling.type")) {
            None | Some("none") => {}
            Some("linear") => {
                let key = "rope.scaling.factor";
                let factor = self.number_opt(key).with_context(|| self.missing(&self.own(key)))?;
                rope.frequencies
                    .iter_mut()
                    .for_each(|frequency| *frequency /= factor as f32);
            }
            Some(other) => bail!("{}: unsupported rope scaling {other:?}; known: none, linear", self.path),
        }
        // Llama 3's scaling comes as one factor a frequency.
        if weights.has("rope_freqs.weight") {
            rope.divide(&weights.whole_vector("rope_freqs.weight")?)
                .with_context(|| self.path.clone())?;
        }
        Ok(rope)
    }
}
