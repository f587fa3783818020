//! candle-transformers' own models as a peer: the same work in the same run, and an independent second opinion on the
//! packed decoder. In f32 on the CPU, one prompt at a time from an empty cache, never cloned. Only families that were found
//! right are here.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use candle_core::{DType, Device, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::{llama, olmo2, qwen2, qwen3};
use serde_json::{Map, Value};

use super::machine::Stopwatch;
use super::rounding::own_scores;
use super::{Cloze, PREFILL, Peer, Prefill, Sampled, rate};
use crate::engine::candle::CandleEngine;
use crate::engine::candle::inputs::encode_pair;
use crate::engine::candle::kernel::{argmax, log_sum_exp};
use crate::engine::candle::weights::safetensors_in;
use crate::engine::{Ask, Request, Scores};

/// A stock model.
enum Stock {
    Llama(Box<Llama>),
    Qwen2(qwen2::ModelForCausalLM),
    Qwen3(qwen3::ModelForCausalLM),
    Olmo2(olmo2::Model),
}

/// Model types with a trusted stock model.
const KNOWN: [&str; 4] = ["llama", "qwen2", "qwen3", "olmo2"];

impl Stock {
    fn load(folder: &Path) -> Result<Stock> {
        ensure!(
            folder.is_dir(),
            "{} is no folder of safetensors, and candle's own models are loaded from one",
            folder.display()
        );
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
                Stock::Llama(Box::new(Llama {
                    model: llama::Llama::load(builder, &config)?,
                    cache: llama::Cache::new(true, DType::F32, &config, &Device::Cpu)?,
                    config,
                }))
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

    /// Empties the keys and values.
    fn begin(&mut self) -> Result<()> {
        match self {
            Stock::Llama(model) => model.cache = llama::Cache::new(true, DType::F32, &model.config, &Device::Cpu)?,
            Stock::Qwen2(model) => model.clear_kv_cache(),
            Stock::Qwen3(model) => model.clear_kv_cache(),
            Stock::Olmo2(model) => model.clear_kv_cache(),
        }
        Ok(())
    }

    /// Logits after the last of these tokens, the first of which stands at position `at`.
    fn step(&mut self, tokens: &[u32], at: usize) -> Result<Vec<f32>> {
        let input = Tensor::new(tokens, &Device::Cpu)?.unsqueeze(0)?;
        let logits = match self {
            Stock::Llama(model) => model.model.forward(&input, at, &mut model.cache)?,
            Stock::Qwen2(model) => model.forward(&input, at)?,
            Stock::Qwen3(model) => model.forward(&input, at)?,
            Stock::Olmo2(model) => model.forward(&input, at)?,
        };
        Ok(logits.flatten_all()?.to_dtype(DType::F32)?.to_vec1()?)
    }

    /// Logits after the last token of a prompt.
    fn last_logits(&mut self, tokens: &[u32]) -> Result<Vec<f32>> {
        self.begin()?;
        self.step(tokens, 0)
    }
}

/// A llama model and its keys and values.
struct Llama {
    model: llama::Llama,
    config: llama::Config,
    cache: llama::Cache,
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

/// Says how to get the stock models, where this build lacks them.
#[allow(clippy::unnecessary_wraps)] // as in a build without them
pub fn check_built() -> Result<()> {
    Ok(())
}

/// Questions that are put to a stock model at most.
const QUESTIONS: usize = 60;

/// The work of a bench by candle's own model of this family: prefill, scoring, writing, each for so long.
///
/// # Errors
/// When there is no stock model for it, or it cannot compute.
pub(super) fn measure(engine: &mut CandleEngine, requests: &[Request], budget: Duration) -> Result<Peer> {
    let requests = &requests[..requests.len().min(QUESTIONS)];
    let ours = own_scores(engine, requests, &mut |_| ControlFlow::Continue(()))?;
    let scored = requests.iter().cloned().zip(ours);
    let questions: Vec<_> = scored
        .filter_map(|(request, scores)| Some((request, scores?)))
        .collect();
    let (engine, questions) = (&*engine, questions.as_slice());
    let mut stock = Stock::load(&engine.path).context("--stock: no peer for this model")?;
    let prefill = prefill(&mut stock, engine.model.config().vocab, budget)?;
    let (cloze_0shot, largest_difference) = cloze(&mut stock, engine, questions, budget)?;
    let sample_1row = write(&mut stock, engine, questions, budget)?;
    Ok(Peer {
        prefill,
        cloze_0shot,
        sample_1row,
        largest_difference,
    })
}

/// Prompts of the length that our prefill takes, one at a time.
fn prefill(stock: &mut Stock, vocab: usize, budget: Duration) -> Result<Prefill> {
    let watch = Stopwatch::start();
    let tokens: Vec<u32> = (0..PREFILL.0).map(|at| ((at * 7919 + 17) % vocab) as u32).collect();
    let mut done = 0;
    while done == 0 || watch.begun().elapsed() < budget {
        stock.last_logits(&tokens)?;
        done += tokens.len() as u64;
    }
    let spent = watch.spent();
    Ok(Prefill {
        tokens_per_cpu_s: rate(done as f64, spent.cpu_s),
        share_of_peak: None,
        tokens: done,
        cpu_s: spent.cpu_s,
        wall_s: spent.wall_s,
    })
}

/// The questions whose continuations are one token each; and the largest difference from our scores.
fn cloze(
    stock: &mut Stock,
    engine: &CandleEngine,
    questions: &[(Request, Scores)],
    budget: Duration,
) -> Result<(Cloze, f64)> {
    let watch = Stopwatch::start();
    let (mut answered, mut tokens, mut largest) = (0, 0, 0.0f64);
    for (request, ours) in questions {
        if answered > 0 && watch.begun().elapsed() > budget {
            break;
        }
        let Ask::Score { continuations } = &request.ask else {
            continue;
        };
        let pairs: Vec<(Vec<u32>, Vec<u32>)> = continuations
            .iter()
            .map(|continuation| encode_pair(engine, &request.prompt.text(), continuation, request.add_special_tokens))
            .collect::<Result<_>>()?;
        let Some((prompt, _)) = pairs.first() else { continue };
        if pairs
            .iter()
            .any(|(context, target)| target.len() != 1 || context != prompt)
        {
            continue;
        }
        let logits = stock.last_logits(prompt)?;
        let normalizer = log_sum_exp(&logits);
        for ((_, target), ours) in pairs.iter().zip(&ours.log_likelihoods) {
            let theirs = logits[target[0] as usize] - normalizer;
            largest = largest.max(f64::from((theirs - ours).abs()));
        }
        answered += 1;
        tokens += prompt.len() as u64;
    }
    ensure!(answered > 0, "no question has continuations of one token each");
    let spent = watch.spent();
    let cloze = Cloze {
        questions_per_cpu_s: rate(f64::from(answered), spent.cpu_s),
        cpu_s_per_question: rate(spent.cpu_s, f64::from(answered)),
        questions: answered as usize,
        tokens,
        cpu_s: spent.cpu_s,
        wall_s: spent.wall_s,
    };
    Ok((cloze, largest))
}

/// Tokens of a completion that is measured.
const WRITTEN: usize = 128;

/// Greedy completions of the questions' prompts, one at a time; prefill left out.
fn write(
    stock: &mut Stock,
    engine: &CandleEngine,
    questions: &[(Request, Scores)],
    budget: Duration,
) -> Result<Sampled> {
    let all = Stopwatch::start();
    let (mut written, mut cpu_s) = (0, 0.0);
    for (request, _) in questions {
        if written > 0 && all.begun().elapsed() > budget {
            break;
        }
        let tokens = engine
            .tokenizer
            .encode(&request.prompt.text(), request.add_special_tokens)?;
        let most = engine.model.config().context.saturating_sub(tokens.len()).min(WRITTEN);
        let mut logits = stock.last_logits(&tokens)?;
        let watch = Stopwatch::start();
        for at in 0..most {
            let token = argmax(&logits) as u32;
            logits = stock.step(&[token], tokens.len() + at)?;
            written += 1;
        }
        cpu_s += watch.spent().cpu_s;
    }
    Ok(Sampled {
        tokens_per_cpu_s: rate(written as f64, cpu_s),
        tokens: written,
        rows: 1,
        cpu_s,
        wall_s: all.spent().wall_s,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::candle::cache::KvStore;
    use crate::engine::candle::forward::{Part, Scratch};
    use crate::engine::candle::kernel::{Precision, Threads};
    use crate::engine::candle::open::open_decoder;

    /// Lengths of the prompts that are compared.
    const LENGTHS: [usize; 5] = [1, 2, 7, 33, 100];

    /// The largest difference between the packed decoder's logits and candle's own model's, over prompts of several lengths;
    /// for a folder of safetensors of a family whose stock model is trusted.
    fn check_against_stock(folder: &Path) -> Result<f32> {
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
            let mut logits = Vec::new();
            decoder.logits_into(&hidden, &threads, &mut logits);
            for (ours, theirs) in logits.iter().zip(stock.last_logits(&tokens)?) {
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

    #[test]
    fn candle_s_own_models_agree_where_they_are_right() {
        let Some(models) = crate::shared::shared_path("golden/tiny-models") else {
            return;
        };
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
