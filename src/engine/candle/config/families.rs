//! What each family's reference class makes of a config.json.

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::keys::{FULL, Keys, SLIDING};
use super::{Activation, Config, LayerConfig, NormPlaces, PerLayerInput, QkNorm, token_ids};
use crate::engine::candle::rope::Rope;

impl Keys<'_> {
    /// What all families share, with the plainest switches.
    pub(super) fn base(&self, family: &'static str) -> Result<Config> {
        let (hidden, heads) = (
            self.or(family, "hidden_size", 2304)?,
            self.or(family, "num_attention_heads", 8)?,
        );
        ensure!(heads > 0, "num_attention_heads is 0");
        let layer = self.layer(family, hidden, heads)?;
        if !family.starts_with("gemma") {
            ["attn_logit_softcapping", "final_logit_softcapping"]
                .into_iter()
                .try_for_each(|key| self.refuse(key))?;
        }
        let layers = self.or(family, "num_hidden_layers", 26)?;
        ensure!(layers > 0 && layers < 4096, "num_hidden_layers is {layers}");
        let norm_eps = match (family, self.number_opt("rms_norm_eps")?) {
            ("gemma3_text", None) => 1e-6,
            _ => self.number("rms_norm_eps")?,
        };
        let is_tied = family.starts_with("gemma") || family == "smollm3";
        Ok(Config {
            vocab: self.or(family, "vocab_size", 262_208)?,
            hidden,
            context: self.or(family, "max_position_embeddings", 131_072)?,
            norm_eps: norm_eps as f32,
            qkv_bias: self.flag("attention_bias", false)?,
            output_bias: self.flag("attention_bias", false)?,
            activation: self.activation(family)?,
            tied: self.flag("tie_word_embeddings", is_tied)?,
            eos: token_ids(self.get("eos_token_id")),
            bos: token_ids(self.get("bos_token_id")).first().copied(),
            ..Config::plain(family, heads, vec![layer; layers])
        })
    }

    /// A count; Gemma 3's released files leave out what equals the class's defaults.
    fn or(&self, family: &str, key: &str, gemma3: usize) -> Result<usize> {
        match family {
            "gemma3_text" => Ok(self.count_opt(key)?.unwrap_or(gemma3)),
            _ => self.count(key),
        }
    }

    fn layer(&self, family: &str, hidden: usize, heads: usize) -> Result<LayerConfig> {
        let kv_heads = match family {
            "gemma3_text" => self.or(family, "num_key_value_heads", 4)?,
            _ => self.count_opt("num_key_value_heads")?.unwrap_or(heads),
        };
        let head_dim = match (self.count_opt("head_dim")?, family) {
            (Some(head_dim), _) => head_dim,
            (None, "gemma2" | "gemma3_text") => 256,
            (None, "qwen3") => 128,
            (None, _) => hidden / heads,
        };
        Ok(LayerConfig::plain(
            kv_heads,
            head_dim,
            self.or(family, "intermediate_size", 9216)?,
        ))
    }

    fn activation(&self, family: &str) -> Result<Activation> {
        let key = match self.get("hidden_activation") {
            Some(_) => "hidden_activation",
            None if family == "gemma3_text" && self.get("hidden_act").is_none() => return Ok(Activation::GeluTanh),
            None => "hidden_act",
        };
        match self.text(key)? {
            "silu" => Ok(Activation::Silu),
            "gelu_pytorch_tanh" => Ok(Activation::GeluTanh),
            other => bail!("unsupported activation {other:?} ({key}); known: silu, gelu_pytorch_tanh"),
        }
    }

    pub(super) fn llama(&self, config: &mut Config) -> Result<()> {
        config.mlp_bias = self.flag("mlp_bias", false)?;
        self.plain_rope(config, &["default", "linear", "llama3"])
    }

    pub(super) fn mistral(&self, config: &mut Config) -> Result<()> {
        // The class's own default where the key is absent; null means none.
        let window = if self.map.contains_key("sliding_window") {
            self.count_opt("sliding_window")?
        } else {
            Some(4096)
        };
        config.layers.iter_mut().for_each(|layer| layer.window = window);
        self.plain_rope(config, &["default"])
    }

    pub(super) fn qwen(&self, config: &mut Config) -> Result<()> {
        if config.family == "qwen2" {
            (config.qkv_bias, config.output_bias) = (true, false);
        } else {
            config.qk_norm = QkNorm::PerHead;
        }
        if self.flag("use_sliding_window", false)? {
            let from = self.count_opt("max_window_layers")?.unwrap_or(28);
            self.set_windows(config, Some(self.count("sliding_window")?), |index| index >= from)?;
        }
        self.plain_rope(config, &["default"])
    }

    fn gemma(&self, config: &mut Config) -> Result<()> {
        config.norm_places = NormPlaces::Around;
        config.norm_weight_plus_one = true;
        config.embedding_scale = (config.hidden as f32).sqrt();
        config.score_cap = self.number_opt("attn_logit_softcapping")?.map(|cap| cap as f32);
        config.logit_cap = self.number_opt("final_logit_softcapping")?.map(|cap| cap as f32);
        // Text is always causal; images alone are read in both directions.
        if self.get("use_bidirectional_attention").and_then(Value::as_str) != Some("vision") {
            self.refuse("use_bidirectional_attention")?;
        }
        Ok(())
    }

    pub(super) fn gemma2(&self, config: &mut Config) -> Result<()> {
        self.gemma(config)?;
        config.score_scale = (self.number("query_pre_attn_scalar")? as f32).powf(-0.5);
        let window = self.count("sliding_window")?;
        self.set_windows(config, Some(window), |index| index.is_multiple_of(2))?;
        self.plain_rope(config, &["default"])
    }

    pub(super) fn gemma3(&self, config: &mut Config) -> Result<()> {
        self.gemma(config)?;
        config.qk_norm = QkNorm::PerHead;
        config.score_scale = (self.number_opt("query_pre_attn_scalar")?.unwrap_or(256.0) as f32).powf(-0.5);
        let window = self.count_opt("sliding_window")?.unwrap_or(4096);
        let pattern = self.count_opt("sliding_window_pattern")?.unwrap_or(6).max(1);
        self.set_windows(config, Some(window), |index| !(index + 1).is_multiple_of(pattern))?;
        let head_dim = config.layers[0].head_dim;
        config.ropes = if self.get("rope_parameters").is_some() {
            vec![
                self.rope(FULL, head_dim, &["default", "linear"])?,
                self.rope(SLIDING, head_dim, &["default"])?,
            ]
        } else {
            let mut full = self.rope_scaled(head_dim, 1_000_000.0)?;
            full.longest = None;
            vec![
                full,
                Rope::plain(self.number_opt("rope_local_base_freq")?.unwrap_or(10_000.0), head_dim),
            ]
        };
        config
            .layers
            .iter_mut()
            .for_each(|layer| layer.rope = Some(usize::from(layer.window.is_some())));
        Ok(())
    }

    pub(super) fn gemma4(&self, config: &mut Config) -> Result<()> {
        self.gemma(config)?;
        self.refuse("enable_moe_block")?;
        config.norm_weight_plus_one = false;
        (config.qk_norm, config.value_norm, config.layer_scalar) = (QkNorm::PerHead, true, true);
        config.score_scale = 1.0;
        let layers = config.layers.len();
        let sliding = self.layer_types(layers)?.context("it lacks layer_types")?;
        let window = self.count("sliding_window")?;
        let (local_dim, global_dim) = (self.count("head_dim")?, self.count("global_head_dim")?);
        let keys_are_values = self.flag("attention_k_eq_v", false)?;
        let shared = self.count_opt("num_kv_shared_layers")?.unwrap_or(0);
        ensure!(
            shared < layers,
            "num_kv_shared_layers {shared} leaves no layer with keys"
        );
        let first_shared = layers - shared;
        let wide = self.flag("use_double_wide_mlp", false)?;
        for (index, layer) in config.layers.iter_mut().enumerate() {
            layer.rope = Some(usize::from(sliding[index]));
            if sliding[index] {
                (layer.window, layer.head_dim) = (Some(window), local_dim);
            } else {
                layer.head_dim = global_dim;
                if keys_are_values {
                    layer.kv_heads = self.count_opt("num_global_key_value_heads")?.unwrap_or(layer.kv_heads);
                    layer.values_are_keys = true;
                }
            }
            if index >= first_shared {
                let source = (0..first_shared)
                    .rev()
                    .find(|earlier| sliding[*earlier] == sliding[index]);
                layer.shares_kv_of =
                    Some(source.with_context(|| format!("layer {index} has no layer to share keys of"))?);
                layer.mlp *= if wide { 2 } else { 1 };
            }
        }
        let width = self.count_opt("hidden_size_per_layer_input")?.unwrap_or(0);
        if width > 0 {
            let vocab = self.count("vocab_size_per_layer_input")?;
            config.per_layer_input = Some(PerLayerInput { width, vocab });
        }
        ensure!(self.get("rope_parameters").is_some(), "it lacks rope_parameters");
        config.ropes = vec![
            self.rope(FULL, global_dim, &["default", "proportional"])?,
            self.rope(SLIDING, local_dim, &["default"])?,
        ];
        Ok(())
    }

    pub(super) fn phi3(&self, config: &mut Config) -> Result<()> {
        self.refuse("attention_bias")?;
        config.fused_projections = true;
        let window = self.count_opt("sliding_window")?;
        config.layers.iter_mut().for_each(|layer| layer.window = window);
        self.plain_rope(config, &["default", "longrope"])
    }

    pub(super) fn smollm3(&self, config: &mut Config) -> Result<()> {
        config.mlp_bias = self.flag("mlp_bias", false)?;
        let layers = config.layers.len();
        let interval = self.count_opt("no_rope_layer_interval")?.unwrap_or(4).max(1);
        let listed = self.get("no_rope_layers").and_then(Value::as_array);
        ensure!(
            listed.is_none_or(|listed| listed.len() == layers),
            "no_rope_layers does not name {layers} layers"
        );
        let turns = |index: usize| match listed {
            Some(listed) => listed[index].as_u64() != Some(0),
            None => !(index + 1).is_multiple_of(interval),
        };
        for (index, layer) in config.layers.iter_mut().enumerate() {
            layer.rope = turns(index).then_some(0);
        }
        if self.flag("use_sliding_window", false)? {
            self.set_windows(config, Some(self.count("sliding_window")?), |index| !turns(index))?;
        }
        self.plain_rope(config, &["default"])
    }

    pub(super) fn olmo2(&self, config: &mut Config) -> Result<()> {
        config.norm_places = NormPlaces::After;
        config.qk_norm = QkNorm::AllHeads;
        self.plain_rope(config, &["default"])
    }

    pub(super) fn granite(&self, config: &mut Config) -> Result<()> {
        config.mlp_bias = self.flag("mlp_bias", false)?;
        config.score_scale = self.number("attention_multiplier")? as f32;
        config.embedding_scale = self.number("embedding_multiplier")? as f32;
        config.residual_scale = self.number("residual_multiplier")? as f32;
        config.logit_divisor = self.number("logits_scaling")? as f32;
        self.plain_rope(config, &["default"])
    }
}
