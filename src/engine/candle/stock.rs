//! candle-transformers' own models as an independent second opinion on the packed decoder: in f32 on the CPU, one prompt
//! at a time from an empty cache, never cloned. Only families that were found right are here.

use std::ops::ControlFlow;
use std::path::Path;

use anyhow::{Context, Result, bail};
use candle_core::{DType, Device, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::{llama, olmo2, qwen2, qwen3};
use serde_json::{Map, Value};

use super::cache::KvStore;
use super::forward::{Part, Scratch};
use super::kernel::{Precision, Threads};
use super::open::open_decoder;
use super::weights::safetensors_in;

/// A stock model.
enum Stock {
    Llama(Box<llama::Llama>, llama::Config),
    Qwen2(qwen2::ModelForCausalLM),
    Qwen3(qwen3::ModelForCausalLM),
    Olmo2(olmo2::Model),
}

/// Model types with a trusted stock model.
const KNOWN: [&str; 4] = ["llama", "qwen2", "qwen3", "olmo2"];

impl Stock {
    fn load(folder: &Path) -> Result<Stock> {
        let path = folder.join("config.json");
        let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let config: Value = serde_json::from_str(&text).with_context(|| format!("{} is not JSON", path.display()))?;
        let mut config = config
            .as_object()
            .with_context(|| format!("{} is no object", path.display()))?
            .clone();
        write_in_older_form(&mut config);
        let kind = config
            .get("model_type")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_string();
        let mut tensors = std::collections::HashMap::new();
        for file in safetensors_in(folder)? {
            tensors.extend(candle_core::safetensors::load(&file, &Device::Cpu)?);
        }
        let builder = VarBuilder::from_tensors(tensors, DType::F32, &Device::Cpu);
        let config = Value::Object(config);
        Ok(match kind.as_str() {
            "llama" => {
                let config: llama::LlamaConfig = serde_json::from_value(config)?;
                let config = config.into_config(false);
                Stock::Llama(Box::new(llama::Llama::load(builder, &config)?), config)
            }
            "qwen2" => Stock::Qwen2(qwen2::ModelForCausalLM::new(&serde_json::from_value(config)?, builder)?),
            "qwen3" => Stock::Qwen3(qwen3::ModelForCausalLM::new(&serde_json::from_value(config)?, builder)?),
            "olmo2" => Stock::Olmo2(olmo2::Model::new(&serde_json::from_value(config)?, builder)?),
            other => bail!(
                "no trusted stock model for {other:?}; there is one for: {}",
                KNOWN.join(", ")
            ),
        })
    }

    /// Logits after the last token of a prompt.
    fn last_logits(&mut self, tokens: &[u32]) -> Result<Vec<f32>> {
        let input = Tensor::new(tokens, &Device::Cpu)?.unsqueeze(0)?;
        let logits = match self {
            Stock::Llama(model, config) => {
                let mut cache = llama::Cache::new(true, DType::F32, config, &Device::Cpu)?;
                model.forward(&input, 0, &mut cache)?
            }
            Stock::Qwen2(model) => {
                model.clear_kv_cache();
                model.forward(&input, 0)?
            }
            Stock::Qwen3(model) => {
                model.clear_kv_cache();
                model.forward(&input, 0)?
            }
            Stock::Olmo2(model) => {
                model.clear_kv_cache();
                model.forward(&input, 0)?
            }
        };
        Ok(logits.flatten_all()?.to_dtype(DType::F32)?.to_vec1()?)
    }
}

/// Stock models know only the older keys of config.json, and take a window that is switched off for one that is on.
fn write_in_older_form(config: &mut Map<String, Value>) {
    if let Some(Value::Object(rope)) = config.remove("rope_parameters") {
        if let Some(theta) = rope.get("rope_theta") {
            config.insert("rope_theta".into(), theta.clone());
        }
        if rope
            .get("rope_type")
            .and_then(Value::as_str)
            .is_some_and(|kind| kind != "default")
        {
            config.insert("rope_scaling".into(), Value::Object(rope));
        }
    }
    if config.get("use_sliding_window").and_then(Value::as_bool) != Some(true) {
        let positions = config
            .get("max_position_embeddings")
            .cloned()
            .unwrap_or(Value::from(1 << 20));
        config.insert("sliding_window".into(), positions);
    }
}

/// Lengths of the prompts that are compared.
const LENGTHS: [usize; 5] = [1, 2, 7, 33, 100];

/// The largest difference between the packed decoder's logits and candle's own model's, over prompts of several lengths;
/// for a folder of safetensors of a family whose stock model is trusted.
pub fn check_against_stock(folder: &Path) -> Result<f32> {
    let mut stock = Stock::load(folder).with_context(|| format!("{} has no second opinion", folder.display()))?;
    let decoder = open_decoder(folder, "config.json", Precision::F32)?;
    let (threads, vocab) = (Threads::new(1), decoder.config.vocab);
    let mut worst = 0.0f32;
    for length in LENGTHS.into_iter().filter(|length| *length <= decoder.config.context) {
        let tokens: Vec<u32> = (0..length)
            .map(|at| ((at * 7919 + length * 31) % vocab) as u32)
            .collect();
        let mut store = KvStore::new(&decoder.config);
        let node = store.branch(None);
        let parts = [Part {
            node,
            tokens: &tokens,
            wanted: length - 1..length,
        }];
        let pass = decoder.forward(&mut store, &parts, &mut Scratch::default(), &threads, &mut || {
            ControlFlow::Continue(())
        });
        let ControlFlow::Continue(hidden) = pass else { continue };
        for (ours, theirs) in decoder
            .logits(&hidden, &threads)
            .iter()
            .zip(stock.last_logits(&tokens)?)
        {
            let difference = (ours - theirs).abs();
            worst = if difference.is_nan() {
                f32::INFINITY
            } else {
                worst.max(difference)
            };
        }
    }
    Ok(worst)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn candle_s_own_models_agree_where_they_are_right() {
        let shared = std::env::var_os("MARKBOOK_SHARED").map(PathBuf::from);
        let shared = shared.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"));
        let models = shared.join("golden/tiny-models");
        if !models.is_dir() {
            println!("skipped: no shared data");
            return;
        }
        for model in ["llama", "llama-rope-llama3", "smollm2", "qwen2", "qwen3", "olmo2"] {
            let difference = check_against_stock(&models.join(model)).unwrap();
            assert!(difference < 1e-4, "{model}: {difference}");
        }
        let error = format!("{:#}", check_against_stock(&models.join("granite")).unwrap_err());
        assert!(
            error.contains("granite") && error.contains("llama, qwen2, qwen3, olmo2"),
            "{error}"
        );
    }
}
