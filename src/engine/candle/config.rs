//! A decoder's shape, read from `config.json` by family and told as switches: where the norms stand, which biases there
//! are, how positions turn, which layers have windows. What is not known is refused by name, never ignored.

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value};

use super::rope::{LARGEST_HEAD, Rope, RopeSpec};

/// One decoder family: the name people use, `model_type` in config.json, and the reference class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Family {
    pub name: &'static str,
    pub model_type: &'static str,
    pub class: &'static str,
}

const FAMILIES: &[Family] = &[
    Family {
        name: "Llama, SmolLM2",
        model_type: "llama",
        class: "LlamaForCausalLM",
    },
    Family {
        name: "Mistral",
        model_type: "mistral",
        class: "MistralForCausalLM",
    },
    Family {
        name: "Qwen2, Qwen2.5",
        model_type: "qwen2",
        class: "Qwen2ForCausalLM",
    },
    Family {
        name: "Qwen3",
        model_type: "qwen3",
        class: "Qwen3ForCausalLM",
    },
    Family {
        name: "Gemma 2",
        model_type: "gemma2",
        class: "Gemma2ForCausalLM",
    },
    Family {
        name: "Gemma 3 (text)",
        model_type: "gemma3_text",
        class: "Gemma3ForCausalLM",
    },
    Family {
        name: "Gemma 4 (text)",
        model_type: "gemma4_text",
        class: "Gemma4ForCausalLM",
    },
    Family {
        name: "Phi-3, Phi-4-mini",
        model_type: "phi3",
        class: "Phi3ForCausalLM",
    },
    Family {
        name: "SmolLM3",
        model_type: "smollm3",
        class: "SmolLM3ForCausalLM",
    },
    Family {
        name: "OLMo 2",
        model_type: "olmo2",
        class: "Olmo2ForCausalLM",
    },
    Family {
        name: "Granite 3",
        model_type: "granite",
        class: "GraniteForCausalLM",
    },
];

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

/// A configuration's keys, with errors that name them. A key that is null counts as absent.
struct Keys<'a> {
    map: &'a Map<String, Value>,
}

/// Which kinds of layers a family's rope differs by.
const FULL: &str = "full_attention";
const SLIDING: &str = "sliding_attention";

impl<'a> Keys<'a> {
    fn get(&self, key: &str) -> Option<&'a Value> {
        self.map.get(key).filter(|value| !value.is_null())
    }

    fn text(&self, key: &str) -> Result<&'a str> {
        self.get(key)
            .and_then(Value::as_str)
            .with_context(|| format!("it lacks {key}"))
    }

    fn count_opt(&self, key: &str) -> Result<Option<usize>> {
        self.get(key)
            .map(|value| {
                let count = value.as_u64().and_then(|n| u32::try_from(n).ok());
                count
                    .map(|n| n as usize)
                    .with_context(|| format!("{key} is {value}, not a count of at most 32 bits"))
            })
            .transpose()
    }

    fn count(&self, key: &str) -> Result<usize> {
        self.count_opt(key)?.with_context(|| format!("it lacks {key}"))
    }

    fn number_opt(&self, key: &str) -> Result<Option<f64>> {
        self.get(key)
            .map(|value| {
                value
                    .as_f64()
                    .with_context(|| format!("{key} is {value}, not a number"))
            })
            .transpose()
    }

    fn number(&self, key: &str) -> Result<f64> {
        self.number_opt(key)?.with_context(|| format!("it lacks {key}"))
    }

    fn flag(&self, key: &str, default: bool) -> Result<bool> {
        match self.get(key) {
            None => Ok(default),
            Some(value) => value
                .as_bool()
                .with_context(|| format!("{key} is {value}, not true or false")),
        }
    }

    /// Refuses a key that is set to anything but "off".
    fn refuse(&self, key: &str) -> Result<()> {
        match self.get(key) {
            None | Some(Value::Bool(false)) => Ok(()),
            Some(value) => bail!("{key} {value} is not supported"),
        }
    }

    fn activation(&self) -> Result<Activation> {
        let key = if self.get("hidden_activation").is_some() {
            "hidden_activation"
        } else {
            "hidden_act"
        };
        match self.text(key)? {
            "silu" => Ok(Activation::Silu),
            "gelu_pytorch_tanh" => Ok(Activation::GeluTanh),
            other => bail!("unsupported activation {other:?} ({key}); known: silu, gelu_pytorch_tanh"),
        }
    }

    /// What all families share, with the plainest switches.
    fn base(&self, family: &'static str) -> Result<Config> {
        // Gemma 3's released files leave out what equals the class's defaults.
        let or = |key: &str, gemma3: usize| match family {
            "gemma3_text" => Ok(self.count_opt(key)?.unwrap_or(gemma3)),
            _ => self.count(key),
        };
        let (hidden, heads) = (or("hidden_size", 2304)?, or("num_attention_heads", 8)?);
        ensure!(heads > 0, "num_attention_heads is 0");
        let kv_heads = match family {
            "gemma3_text" => or("num_key_value_heads", 4)?,
            _ => self.count_opt("num_key_value_heads")?.unwrap_or(heads),
        };
        let head_dim = match (self.count_opt("head_dim")?, family) {
            (Some(head_dim), _) => head_dim,
            (None, "gemma2" | "gemma3_text") => 256,
            (None, "qwen3") => 128,
            (None, _) => hidden / heads,
        };
        let layer = LayerConfig {
            kv_heads,
            head_dim,
            window: None,
            rope: Some(0),
            mlp: or("intermediate_size", 9216)?,
            shares_kv_of: None,
            values_are_keys: false,
        };
        if !family.starts_with("gemma") {
            ["attn_logit_softcapping", "final_logit_softcapping"]
                .into_iter()
                .try_for_each(|key| self.refuse(key))?;
        }
        let layers = or("num_hidden_layers", 26)?;
        ensure!(layers > 0 && layers < 4096, "num_hidden_layers is {layers}");
        Ok(Config {
            family,
            vocab: or("vocab_size", 262_208)?,
            hidden,
            heads,
            layers: vec![layer; layers],
            ropes: Vec::new(),
            context: or("max_position_embeddings", 131_072)?,
            norm_eps: if family == "gemma3_text" {
                self.number_opt("rms_norm_eps")?.unwrap_or(1e-6) as f32
            } else {
                self.number("rms_norm_eps")? as f32
            },
            norm_places: NormPlaces::Before,
            norm_weight_plus_one: false,
            qk_norm: QkNorm::None,
            value_norm: false,
            qkv_bias: self.flag("attention_bias", false)?,
            output_bias: self.flag("attention_bias", false)?,
            mlp_bias: false,
            fused_projections: false,
            activation: if family == "gemma3_text" && self.get("hidden_act").is_none() {
                match self.get("hidden_activation") {
                    None => Activation::GeluTanh,
                    Some(_) => self.activation()?,
                }
            } else {
                self.activation()?
            },
            score_scale: (head_dim as f32).powf(-0.5),
            score_cap: None,
            logit_cap: None,
            embedding_scale: 1.0,
            residual_scale: 1.0,
            logit_divisor: 1.0,
            tied: self.flag(
                "tie_word_embeddings",
                family.starts_with("gemma") || family == "smollm3",
            )?,
            layer_scalar: false,
            per_layer_input: None,
            eos: token_ids(self.get("eos_token_id")),
            bos: token_ids(self.get("bos_token_id")).first().copied(),
        })
    }

    /// The rope of one kind of layer, from either form of config.json.
    fn rope(&self, kind: &str, head_dim: usize, allowed: &[&str]) -> Result<Rope> {
        let parameters = self.get("rope_parameters").and_then(Value::as_object);
        let own = parameters.map(|all| all.get(kind).and_then(Value::as_object).unwrap_or(all));
        let theta = match own {
            Some(own) => own
                .get("rope_theta")
                .and_then(Value::as_f64)
                .with_context(|| format!("rope_parameters lacks rope_theta for {kind}"))?,
            None => self.number_opt("rope_theta")?.unwrap_or(10_000.0),
        };
        let partial = match own
            .and_then(|own| own.get("partial_rotary_factor"))
            .and_then(Value::as_f64)
        {
            Some(partial) => partial,
            None => self.number_opt("partial_rotary_factor")?.unwrap_or(1.0),
        };
        let scaling = own.or_else(|| self.get("rope_scaling").and_then(Value::as_object));
        let original_positions = self.count_opt("original_max_position_embeddings")?;
        let max_positions = self.count_opt("max_position_embeddings")?.unwrap_or(131_072);
        RopeSpec {
            theta,
            scaling,
            head_dim,
            partial,
            max_positions,
            original_positions,
        }
        .build(allowed)
    }

    /// Each layer's kind, where the configuration lists them.
    fn layer_types(&self, layers: usize) -> Result<Option<Vec<bool>>> {
        let Some(list) = self.get("layer_types") else {
            return Ok(None);
        };
        let list = list.as_array().context("layer_types is not a list")?;
        ensure!(
            list.len() == layers,
            "layer_types names {} layers of {layers}",
            list.len()
        );
        let is_sliding = |kind: &Value| match kind.as_str() {
            Some(SLIDING) => Ok(true),
            Some(FULL) => Ok(false),
            _ => bail!("unsupported layer type {kind}; known: {FULL}, {SLIDING}"),
        };
        list.iter().map(is_sliding).collect::<Result<_>>().map(Some)
    }

    fn set_windows(
        &self,
        config: &mut Config,
        window: Option<usize>,
        by_pattern: impl Fn(usize) -> bool,
    ) -> Result<()> {
        let listed = self.layer_types(config.layers.len())?;
        for (index, layer) in config.layers.iter_mut().enumerate() {
            let sliding = listed
                .as_ref()
                .map_or_else(|| by_pattern(index), |listed| listed[index]);
            layer.window = if sliding { window } else { None };
        }
        Ok(())
    }

    fn plain_rope(&self, config: &mut Config, allowed: &[&str]) -> Result<()> {
        config.ropes = vec![self.rope(FULL, config.layers[0].head_dim, allowed)?];
        Ok(())
    }

    fn llama(&self, config: &mut Config) -> Result<()> {
        config.mlp_bias = self.flag("mlp_bias", false)?;
        self.plain_rope(config, &["default", "linear", "llama3"])
    }

    fn mistral(&self, config: &mut Config) -> Result<()> {
        // The class's own default where the key is absent; null means none.
        let window = if self.map.contains_key("sliding_window") {
            self.count_opt("sliding_window")?
        } else {
            Some(4096)
        };
        config.layers.iter_mut().for_each(|layer| layer.window = window);
        self.plain_rope(config, &["default"])
    }

    fn qwen(&self, config: &mut Config) -> Result<()> {
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

    fn gemma2(&self, config: &mut Config) -> Result<()> {
        self.gemma(config)?;
        config.score_scale = (self.number("query_pre_attn_scalar")? as f32).powf(-0.5);
        let window = self.count("sliding_window")?;
        self.set_windows(config, Some(window), |index| index.is_multiple_of(2))?;
        self.plain_rope(config, &["default"])
    }

    fn gemma3(&self, config: &mut Config) -> Result<()> {
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

    /// The older form: `rope_theta` with `rope_scaling` beside it.
    fn rope_scaled(&self, head_dim: usize, default_theta: f64) -> Result<Rope> {
        RopeSpec {
            theta: self.number_opt("rope_theta")?.unwrap_or(default_theta),
            scaling: self.get("rope_scaling").and_then(Value::as_object),
            head_dim,
            partial: 1.0,
            max_positions: self.count_opt("max_position_embeddings")?.unwrap_or(131_072),
            original_positions: None,
        }
        .build(&["default", "linear"])
    }

    fn gemma4(&self, config: &mut Config) -> Result<()> {
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

    fn phi3(&self, config: &mut Config) -> Result<()> {
        self.refuse("attention_bias")?;
        config.fused_projections = true;
        let window = self.count_opt("sliding_window")?;
        config.layers.iter_mut().for_each(|layer| layer.window = window);
        self.plain_rope(config, &["default", "longrope"])
    }

    fn smollm3(&self, config: &mut Config) -> Result<()> {
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

    fn olmo2(&self, config: &mut Config) -> Result<()> {
        config.norm_places = NormPlaces::After;
        config.qk_norm = QkNorm::AllHeads;
        self.plain_rope(config, &["default"])
    }

    fn granite(&self, config: &mut Config) -> Result<()> {
        config.mlp_bias = self.flag("mlp_bias", false)?;
        config.score_scale = self.number("attention_multiplier")? as f32;
        config.embedding_scale = self.number("embedding_multiplier")? as f32;
        config.residual_scale = self.number("residual_multiplier")? as f32;
        config.logit_divisor = self.number("logits_scaling")? as f32;
        self.plain_rope(config, &["default"])
    }
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
