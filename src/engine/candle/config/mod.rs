//! A decoder's shape, read from `config.json` by family and told as switches: where the norms stand, which biases there
//! are, how positions turn, which layers have windows. What is not known is refused by name, never ignored.

mod families;
mod keys;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value};

use self::keys::Keys;
use super::rope::{LARGEST_HEAD, Rope};

/// One decoder family: the name people use, `model_type` in config.json, and the reference class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Family {
    pub name: &'static str,
    pub model_type: &'static str,
    pub class: &'static str,
}

const FAMILIES: &[Family] = &[
    family("Llama, SmolLM2", "llama", "LlamaForCausalLM"),
    family("Mistral", "mistral", "MistralForCausalLM"),
    family("Qwen2, Qwen2.5", "qwen2", "Qwen2ForCausalLM"),
    family("Qwen3", "qwen3", "Qwen3ForCausalLM"),
    family("Gemma 2", "gemma2", "Gemma2ForCausalLM"),
    family("Gemma 3 (text)", "gemma3_text", "Gemma3ForCausalLM"),
    family("Gemma 4 (text)", "gemma4_text", "Gemma4ForCausalLM"),
    family("Phi-3, Phi-4-mini", "phi3", "Phi3ForCausalLM"),
    family("SmolLM3", "smollm3", "SmolLM3ForCausalLM"),
    family("OLMo 2", "olmo2", "Olmo2ForCausalLM"),
    family("Granite 3", "granite", "GraniteForCausalLM"),
];

const fn family(name: &'static str, model_type: &'static str, class: &'static str) -> Family {
    Family {
        name,
        model_type,
        class,
    }
}

/// The families whose reference model the decoder reproduces.
pub fn families() -> &'static [Family] {
    FAMILIES
}

/// The families' `model_type` names, for messages.
pub fn known_model_types() -> String {
    FAMILIES
        .iter()
        .map(|family| family.model_type)
        .collect::<Vec<_>>()
        .join(", ")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activation {
    Silu,
    GeluTanh,
}

/// Where a layer normalizes: what goes into a branch, or what comes out of it before it is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NormPlaces {
    /// Before attention and before the MLP.
    Before,
    /// Before and after both.
    Around,
    /// After both only.
    After,
}

/// Which vectors of queries and keys are normalized before they turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QkNorm {
    None,
    PerHead,
    /// Over all heads at once, before splitting.
    AllHeads,
}

#[derive(Debug, Clone, PartialEq)]
pub struct LayerConfig {
    pub kv_heads: usize,
    pub head_dim: usize,
    /// Query i sees keys i - window + 1 to i.
    pub window: Option<usize>,
    /// Index into [`Config::ropes`]; none: positions do not matter here.
    pub rope: Option<usize>,
    pub mlp: usize,
    /// The layer whose keys and values this one reads instead of its own.
    pub shares_kv_of: Option<usize>,
    /// The values are the key projection's output.
    pub values_are_keys: bool,
}

impl LayerConfig {
    /// A layer that sees all, with keys and values of its own.
    pub fn plain(kv_heads: usize, head_dim: usize, mlp: usize) -> LayerConfig {
        LayerConfig {
            kv_heads,
            head_dim,
            window: None,
            rope: Some(0),
            mlp,
            shares_kv_of: None,
            values_are_keys: false,
        }
    }
}

/// Inputs that Gemma 4 gives to every layer apart from the residual stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PerLayerInput {
    pub width: usize,
    pub vocab: usize,
}

/// A decoder's shape.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    pub family: &'static str,
    pub vocab: usize,
    pub hidden: usize,
    pub heads: usize,
    pub layers: Vec<LayerConfig>,
    pub ropes: Vec<Rope>,
    pub context: usize,
    pub norm_eps: f32,
    pub norm_places: NormPlaces,
    /// The norm's weight counts from one: x (1 + w).
    pub norm_weight_plus_one: bool,
    pub qk_norm: QkNorm,
    /// Values are normalized per head, without a weight.
    pub value_norm: bool,
    pub qkv_bias: bool,
    pub output_bias: bool,
    pub mlp_bias: bool,
    /// The file holds one matrix for q, k, v and one for gate and up.
    pub fused_projections: bool,
    pub activation: Activation,
    pub score_scale: f32,
    pub score_cap: Option<f32>,
    pub logit_cap: Option<f32>,
    pub embedding_scale: f32,
    pub residual_scale: f32,
    /// Logits are divided by this.
    pub logit_divisor: f32,
    pub tied: bool,
    /// Each layer's output is multiplied by its own `layer_scalar`.
    pub layer_scalar: bool,
    pub per_layer_input: Option<PerLayerInput>,
    /// End-of-sequence ids that config.json names.
    pub eos: Vec<u32>,
    pub bos: Option<u32>,
}

impl Config {
    /// The plainest switches: Llama's. Sizes and what else each model says are to be filled in.
    pub fn plain(family: &'static str, heads: usize, layers: Vec<LayerConfig>) -> Config {
        let head_dim = layers.first().map_or(1, |layer| layer.head_dim);
        Config {
            family,
            vocab: 0,
            hidden: 0,
            heads,
            layers,
            ropes: Vec::new(),
            context: 0,
            norm_eps: 0.0,
            norm_places: NormPlaces::Before,
            norm_weight_plus_one: false,
            qk_norm: QkNorm::None,
            value_norm: false,
            qkv_bias: false,
            output_bias: false,
            mlp_bias: false,
            fused_projections: false,
            activation: Activation::Silu,
            score_scale: (head_dim as f32).powf(-0.5),
            score_cap: None,
            logit_cap: None,
            embedding_scale: 1.0,
            residual_scale: 1.0,
            logit_divisor: 1.0,
            tied: false,
            layer_scalar: false,
            per_layer_input: None,
            eos: Vec::new(),
            bos: None,
        }
    }

    /// Reads config.json's text; of a multimodal model, its `text_config`.
    pub fn from_json(text: &str) -> Result<Config> {
        let whole: Value = serde_json::from_str(text).context("it is not JSON")?;
        let outer = whole.as_object().context("it is not a JSON object")?;
        let keys = Keys { map: text_part(outer)? };
        for map in [outer, keys.map] {
            refuse_quantized(map)?;
        }
        let model_type = keys.text("model_type")?;
        let family = FAMILIES.iter().find(|family| family.model_type == model_type);
        let family = family.with_context(|| unknown_architecture(model_type))?;
        let mut config = keys.base(family.model_type)?;
        match family.model_type {
            "llama" => keys.llama(&mut config)?,
            "mistral" => keys.mistral(&mut config)?,
            "qwen2" | "qwen3" => keys.qwen(&mut config)?,
            "gemma2" => keys.gemma2(&mut config)?,
            "gemma3_text" => keys.gemma3(&mut config)?,
            "gemma4_text" => keys.gemma4(&mut config)?,
            "phi3" => keys.phi3(&mut config)?,
            "smollm3" => keys.smollm3(&mut config)?,
            "olmo2" => keys.olmo2(&mut config)?,
            "granite" => keys.granite(&mut config)?,
            other => bail!(unknown_architecture(other)),
        }
        config.eos.extend(token_ids(outer.get("eos_token_id")));
        config.eos.sort_unstable();
        config.eos.dedup();
        config.check()?;
        Ok(config)
    }

    /// Refuses shapes that no decoder can have, so that later arithmetic cannot fail.
    pub fn check(&mut self) -> Result<()> {
        for (name, value) in [
            ("vocab_size", self.vocab),
            ("hidden_size", self.hidden),
            ("attention heads", self.heads),
        ] {
            ensure!(value > 0 && value < 1 << 24, "{name} is {value}");
        }
        ensure!(
            !self.layers.is_empty() && self.layers.len() < 4096,
            "{} layers",
            self.layers.len()
        );
        ensure!(self.context > 0, "the context has no positions");
        for (index, layer) in self.layers.iter().enumerate() {
            let kv = layer.kv_heads;
            ensure!(
                kv > 0 && self.heads.is_multiple_of(kv),
                "layer {index}: {} heads over {kv}",
                self.heads
            );
            ensure!(
                layer.head_dim > 0 && layer.head_dim <= LARGEST_HEAD,
                "layer {index}: head_dim {}",
                layer.head_dim
            );
            ensure!(
                layer.mlp > 0 && layer.mlp < 1 << 24,
                "layer {index}: an MLP {} wide",
                layer.mlp
            );
            ensure!(layer.window != Some(0), "layer {index}: a window of 0");
        }
        let longest = self.ropes.iter().filter_map(|rope| rope.longest).min();
        self.context = longest.map_or(self.context, |longest| longest.min(self.context));
        Ok(())
    }
}

/// Weights quantized for another library are no weights of a linear layer.
fn refuse_quantized(map: &Map<String, Value>) -> Result<()> {
    let quantized = map.get("quantization_config").filter(|value| !value.is_null());
    if let Some(quantized) = quantized {
        let method = quantized
            .get("quant_method")
            .and_then(Value::as_str)
            .unwrap_or("unnamed");
        bail!(
            "quantization_config (quant_method {method:?}) is not supported; take the unquantized weights, or a GGUF file"
        );
    }
    Ok(())
}

fn unknown_architecture(model_type: &str) -> String {
    format!("unknown architecture {model_type:?}; known: {}", known_model_types())
}

/// The language model's part of a configuration.
fn text_part(outer: &Map<String, Value>) -> Result<&Map<String, Value>> {
    let model_type = outer
        .get("model_type")
        .and_then(Value::as_str)
        .context("it lacks model_type")?;
    if FAMILIES.iter().any(|family| family.model_type == model_type) {
        return Ok(outer);
    }
    let inner = outer.get("text_config").and_then(Value::as_object);
    inner.with_context(|| unknown_architecture(model_type))
}

/// Token ids given as a number or a list of numbers.
pub fn token_ids(value: Option<&Value>) -> Vec<u32> {
    match value {
        Some(Value::Array(ids)) => ids.iter().filter_map(token_id).collect(),
        Some(id) => token_id(id).into_iter().collect(),
        None => Vec::new(),
    }
}

fn token_id(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|id| u32::try_from(id).ok())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn llama() -> Value {
        json!({
            "model_type": "llama", "vocab_size": 320, "hidden_size": 64, "num_attention_heads": 4,
            "num_key_value_heads": 2, "num_hidden_layers": 3, "intermediate_size": 32, "rms_norm_eps": 1e-5,
            "max_position_embeddings": 512, "hidden_act": "silu", "rope_theta": 10000.0, "eos_token_id": [2, 5]
        })
    }

    fn error_with(key: &str, value: Value) -> String {
        let mut config = llama();
        config[key] = value;
        format!("{:#}", Config::from_json(&config.to_string()).unwrap_err())
    }

    #[test]
    fn what_the_decoder_does_not_know_is_refused_by_name() {
        assert!(error_with("model_type", json!("mamba")).contains("known: llama, mistral"));
        assert!(error_with("hidden_act", json!("relu")).contains("relu"));
        assert!(error_with("rope_scaling", json!({"rope_type": "yarn", "factor": 4})).contains("yarn"));
        assert!(error_with("vocab_size", Value::Null).contains("vocab_size"));
        assert!(error_with("num_key_value_heads", json!(3)).contains("4 heads over 3"));
        assert!(error_with("rope_parameters", json!({"rope_type": "default"})).contains("rope_theta"));
        assert!(
            error_with("attn_logit_softcapping", json!(50.0)).contains("attn_logit_softcapping 50.0 is not supported")
        );
        assert!(error_with("final_logit_softcapping", json!(30.0)).contains("final_logit_softcapping"));
        assert!(error_with("quantization_config", json!({"quant_method": "fp8"})).contains("fp8"));
    }

    #[test]
    fn end_of_sequence_is_a_number_or_a_list() {
        assert_eq!(Config::from_json(&llama().to_string()).unwrap().eos, [2, 5]);
    }

    #[test]
    fn a_window_that_is_switched_off_is_none() {
        let mut config = llama();
        config["model_type"] = json!("qwen2");
        config["sliding_window"] = json!(16);
        config["use_sliding_window"] = json!(false);
        let off = Config::from_json(&config.to_string()).unwrap();
        assert!(off.layers.iter().all(|layer| layer.window.is_none()));
        config["use_sliding_window"] = json!(true);
        config["max_window_layers"] = json!(1);
        let on = Config::from_json(&config.to_string()).unwrap();
        assert_eq!(
            on.layers.iter().map(|layer| layer.window).collect::<Vec<_>>(),
            [None, Some(16), Some(16)]
        );
    }

    #[test]
    fn the_language_part_of_a_multimodal_model_is_read() {
        let outer = json!({"model_type": "mistral3", "text_config": llama(), "eos_token_id": 7});
        let config = Config::from_json(&outer.to_string()).unwrap();
        assert_eq!((config.family, config.eos.contains(&7)), ("llama", true));
    }
}
