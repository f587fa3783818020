//! The local engine: an own packed decoder for models in safetensors or GGUF, by kernels of our own on the CPU and by
//! candle's tensor operations on other devices.
//!
//! All prompts of a pass stand in one row of tokens, each with its own keys and values; what prompts have in common is
//! computed once and read in place. Every answer is the same bits for any batch, order, company, pause or thread count.

pub mod bench;
pub mod cache;
pub mod config;
pub mod decoder;
pub mod forward;
pub mod gguf;
pub mod inputs;
pub mod kernel;
pub mod model;
pub mod open;
pub mod proof;
pub mod rope;
pub mod sample;
pub mod sampler;
pub mod schedule;
pub mod score;
pub mod storage;
pub mod streamed;
pub mod tensor;
pub mod text;
pub mod tokenizer;
pub mod weights;

#[cfg(test)]
pub(crate) mod tests;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use candle_core::DType;

use self::decoder::{Decoder, Packing};
use self::kernel::{Precision, Threads, has_native_bf16, kernel_name};
use self::model::Model;
use self::tensor::Place;
use self::tokenizer::Tokenizer;
use self::weights::Weights;
use super::{ChatTemplate, Control, Description, Engine, Local, Requests, Watcher};

pub use self::config::families;

/// The number format of the decoder's products.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum Dtype {
    /// bf16 for bf16 checkpoints where it is multiplied natively, else f32, in which nothing of a quantized file is lost.
    #[default]
    Auto,
    F32,
    Bf16,
    /// The blocks of a quantized GGUF as they are, with activations rounded to bytes.
    Native,
}

/// Where a model computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Device {
    /// The first GPU this build knows of and the machine has, else the CPU.
    #[default]
    Auto,
    Cpu,
    Cuda(usize),
    Metal(usize),
    /// The CPU by the operations that other devices use: slow, to check that path.
    CpuTensors,
}

impl Device {
    /// The device that tensors lie on; none for the kernels on the CPU.
    fn open(self) -> Result<Option<candle_core::Device>> {
        match self {
            Device::Cpu => Ok(None),
            Device::CpuTensors => Ok(Some(candle_core::Device::Cpu)),
            Device::Cuda(index) => candle_core::Device::new_cuda(index).map(Some).context("no CUDA device"),
            Device::Metal(index) => candle_core::Device::new_metal(index)
                .map(Some)
                .context("no Metal device"),
            Device::Auto => {
                let cuda = cfg!(feature = "cuda")
                    .then(|| candle_core::Device::new_cuda(0).ok())
                    .flatten();
                let metal = || {
                    cfg!(feature = "metal")
                        .then(|| candle_core::Device::new_metal(0).ok())
                        .flatten()
                };
                Ok(cuda.or_else(metal))
            }
        }
    }
}

/// How a model is loaded and run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    pub dtype: Dtype,
    /// 0: as many as the machine has.
    pub threads: usize,
    /// Completions that step together.
    pub batch: usize,
    pub device: Device,
    /// Memory for keys and values; none: a quarter of what is free, half a gigabyte at least.
    pub kv_budget_bytes: Option<u64>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            dtype: Dtype::Auto,
            threads: 0,
            batch: 32,
            device: Device::Auto,
            kv_budget_bytes: None,
        }
    }
}

/// How far loading has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadProgress {
    /// What is being done, in words for the screen.
    pub stage: &'static str,
    pub done: u64,
    pub total: u64,
}

/// A loaded model.
#[derive(Debug)]
pub struct CandleEngine {
    /// The folder or file it was loaded from.
    pub path: PathBuf,
    pub model: Model,
    pub tokenizer: Tokenizer,
    pub threads: Threads,
    pub batch: usize,
    /// Bytes for keys and values.
    pub kv_budget: u64,
    /// Tokens that a pass over prompts has at least and at most; between them it follows the machine's speed.
    pub pass_tokens: (usize, usize),
    /// Goes on after end-of-sequence tokens (to measure speed).
    pub ignores_eos: bool,
    /// What the last run came to.
    pub last: schedule::Totals,
    description: Local,
}

/// Loads a model: a folder with config.json, safetensors and tokenizer.json, or a `.gguf` file (with a tokenizer.json
/// beside it, or its own). `watch` hears how far it is, and stops it by breaking.
pub fn load(
    path: &Path,
    options: &Options,
    watch: &mut dyn FnMut(LoadProgress) -> ControlFlow<()>,
) -> Result<CandleEngine> {
    let begun = schedule::process_cpu_seconds();
    if watch(LoadProgress {
        stage: "opening",
        done: 0,
        total: 1,
    })
    .is_break()
    {
        bail!("loading was stopped");
    }
    let opened = open::open(path, "config.json")?;
    let tokenizer = tokenizer_of(path, &opened)?;
    let weights_sha256 = opened.weights.sha256(&mut |done, total| {
        watch(LoadProgress {
            stage: "hashing the weights",
            done,
            total,
        })
    })?;
    let mut tick = |done: usize, total: usize| {
        watch(LoadProgress {
            stage: "packing the weights",
            done: done as u64,
            total: total as u64,
        })
    };
    let format = opened
        .metadata
        .as_ref()
        .map_or("safetensors".to_owned(), gguf::Metadata::format);
    let device = options.device.open()?;
    let (precision, dtype_reason) = precision_of(options.dtype, &opened.weights, device.is_some())?;
    let dtype = match precision {
        Precision::F32 => "f32".to_owned(),
        Precision::Bf16 => "bf16".to_owned(),
        Precision::Native => format!("native {}", opened.weights.format()),
    };
    let most = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let threads = if options.threads == 0 { most } else { options.threads };
    let (mut config, weights, layout) = (opened.config, opened.weights, opened.layout);
    if precision == Precision::Bf16 {
        // The reference rounds Gemma's factor to the width it computes in.
        config.embedding_scale = half::bf16::from_f32(config.embedding_scale).to_f32();
    }
    let (model, kernel, device) = match device {
        None => {
            let place = Packing {
                precision,
                threads: Threads::new(threads),
            };
            let decoder = Decoder::load(config, weights, &layout, place, &mut tick)?;
            (
                Model::Packed(Box::new(decoder)),
                kernel_name(precision),
                "cpu".to_string(),
            )
        }
        Some(device) => {
            let name = format!("{:?}", device.location()).to_lowercase();
            let dtype = if precision == Precision::F32 {
                DType::F32
            } else {
                DType::BF16
            };
            let decoder = Decoder::load(config, weights, &layout, Place { device, dtype }, &mut tick)?;
            (
                Model::Tensors(Box::new(decoder)),
                format!("candle tensors {}", dtype.as_str()),
                name,
            )
        }
    };
    let threads = Threads::new(threads);
    ensure!(options.batch > 0, "a batch needs at least one row");
    let description = Local {
        architecture: model.config().family.into(),
        dtype,
        dtype_reason,
        kernel,
        device,
        threads: threads.count(),
        context: model.config().context,
        weights_sha256: Some(weights_sha256),
        tokenizer_sha256: Some(tokenizer.sha256.clone()),
        load_cpu_s: begun
            .zip(schedule::process_cpu_seconds())
            .map_or(0.0, |(begun, done)| done - begun),
        format: Some(format),
    };
    let kv_budget = options.kv_budget_bytes.unwrap_or_else(default_kv_budget);
    Ok(CandleEngine {
        path: path.to_owned(),
        model,
        tokenizer,
        threads,
        batch: options.batch,
        kv_budget,
        pass_tokens: (256, 2048),
        ignores_eos: false,
        last: schedule::Totals::default(),
        description,
    })
}

fn tokenizer_of(path: &Path, opened: &open::Opened) -> Result<Tokenizer> {
    let beside = path
        .parent()
        .filter(|folder| path.is_file() && folder.join("tokenizer.json").is_file());
    match (&opened.metadata, beside) {
        (None, _) => Tokenizer::from_folder(path, &opened.config),
        (Some(metadata), None) => Tokenizer::from_gguf(metadata),
        (Some(metadata), Some(folder)) => Tokenizer::beside_gguf(folder, metadata, &opened.config),
    }
}

/// The chat template of a model whose weights need not be loaded for it.
pub fn chat_template(path: &Path) -> Result<Option<ChatTemplate>> {
    let opened = open::open(path, "config.json")?;
    Ok(tokenizer_of(path, &opened)?.chat_template())
}

/// The number format to compute in, and why that one.
fn precision_of(dtype: Dtype, weights: &Weights, is_gpu: bool) -> Result<(Precision, String)> {
    let asked = || "it was asked for".to_owned();
    let (stored, is_blocks) = (weights.format(), weights.has_blocks());
    Ok(match dtype {
        Dtype::F32 => (Precision::F32, asked()),
        Dtype::Bf16 => (Precision::Bf16, asked()),
        Dtype::Native => {
            ensure!(
                is_blocks && !is_gpu,
                "--dtype native is for quantized GGUF files on the CPU; these weights are stored as {stored}{}: leave it out, or \
                 take f32 or bf16",
                if is_gpu { " and compute on a GPU" } else { "" }
            );
            (Precision::Native, asked())
        }
        Dtype::Auto if stored != "bf16" => (Precision::F32, format!("the weights are stored as {stored}, not bf16")),
        Dtype::Auto if is_gpu => (Precision::Bf16, "the weights are stored as bf16".into()),
        Dtype::Auto if has_native_bf16() => (
            Precision::Bf16,
            "the weights are stored as bf16, and this CPU multiplies bf16 natively".into(),
        ),
        Dtype::Auto => (
            Precision::F32,
            "the weights are stored as bf16, but this CPU does not multiply bf16 natively".into(),
        ),
    })
}

/// A quarter of the memory that is free, where the platform tells, and at least half a gigabyte.
fn default_kv_budget() -> u64 {
    let free = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
        line.split_whitespace().nth(1)?.parse::<u64>().ok()
    });
    (free.unwrap_or(0) * 1024 / 4).max(512 << 20)
}

impl CandleEngine {
    /// Tokens of a text, all of which the model knows.
    fn encode(&self, text: &str, add_special_tokens: bool) -> Result<Vec<u32>> {
        let tokens = self.tokenizer.encode(text, add_special_tokens)?;
        let vocab = self.model.config().vocab;
        if let Some(token) = tokens.iter().find(|token| **token as usize >= vocab) {
            let name = self.tokenizer.token_text(*token);
            bail!("the tokenizer gives {name:?} the number {token}, but the model knows {vocab} tokens");
        }
        Ok(tokens)
    }
}

impl Engine for CandleEngine {
    fn describe(&self) -> Description {
        Description::Candle(self.description.clone())
    }

    fn chat_template(&self) -> Option<ChatTemplate> {
        self.tokenizer.chat_template()
    }

    fn count_tokens(&self, prompt: &str) -> Option<usize> {
        self.tokenizer.encode(prompt, true).ok().map(|tokens| tokens.len())
    }

    fn answer(&mut self, requests: &mut dyn Requests, control: &Control, watch: &mut Watcher) -> Result<()> {
        self.last = schedule::Run::new(self, requests, control, watch).finish()?;
        Ok(())
    }
}
