//! Finding a model's files: a folder with config.json and safetensors, or one GGUF file.

use std::ops::ControlFlow;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::config::Config;
use super::decoder::{Decoder, Layout, Packing};
use super::gguf::{self, Metadata};
use super::kernel::Precision;
use super::model::Model;
use super::tensor::Place;
use super::weights::Weights;
use crate::guard::guarded;

/// A model's files, opened but not yet read.
#[derive(Debug)]
pub struct Opened {
    pub config: Config,
    pub weights: Weights,
    pub layout: Layout,
    /// The metadata of a GGUF file.
    pub metadata: Option<Metadata>,
}

/// Whether a path is taken for a GGUF file.
pub fn is_gguf(path: &Path) -> bool {
    path.is_file()
        && path
            .extension()
            .is_some_and(|extension| extension.eq_ignore_ascii_case("gguf"))
}

/// Opens a model folder (with the configuration file of this name) or a GGUF file.
pub fn open(path: &Path, config_name: &str) -> Result<Opened> {
    let damaged = format!("{} is no usable model: reading its headers breaks down", path.display());
    guarded(damaged, || open_files(path, config_name))
}

/// What a settings file says; none is as large as this allows.
pub fn read_settings(path: &Path) -> Result<Vec<u8>> {
    const LARGEST: u64 = 512 << 20;
    let size = path.metadata()?.len();
    ensure!(
        size <= LARGEST,
        "{} has {size} bytes, more than any settings file",
        path.display()
    );
    Ok(std::fs::read(path)?)
}

fn open_files(path: &Path, config_name: &str) -> Result<Opened> {
    if path.is_file() {
        ensure!(
            is_gguf(path),
            "{} is neither a model folder nor a .gguf file",
            path.display()
        );
        let (metadata, weights) = gguf::open(path)?;
        let config = metadata.config(&weights)?;
        let layout = Layout::Gguf {
            permuted: metadata.architecture == "llama",
        };
        return Ok(Opened {
            config,
            weights,
            layout,
            metadata: Some(metadata),
        });
    }
    ensure!(path.is_dir(), "{} does not exist", path.display());
    let config_path = path.join(config_name);
    let text = read_settings(&config_path)
        .with_context(|| format!("{} is not readable: a model folder needs it", config_path.display()))?;
    let config =
        Config::from_json(&String::from_utf8_lossy(&text)).with_context(|| config_path.display().to_string())?;
    let weights = Weights::open_folder(path)?;
    let layout = Layout::of_folder(&weights).with_context(|| path.display().to_string())?;
    Ok(Opened {
        config,
        weights,
        layout,
        metadata: None,
    })
}

/// A model's decoder alone, without its tokenizer.
pub fn open_decoder(path: &Path, config_name: &str, precision: Precision) -> Result<Decoder> {
    let opened = open(path, config_name)?;
    let place = Packing::alone(precision);
    Decoder::load(opened.config, opened.weights, &opened.layout, place, &mut |_, _| {
        ControlFlow::Continue(())
    })
}

/// The same, by candle's tensor operations in f32 on the CPU.
pub fn open_tensors(path: &Path, config_name: &str) -> Result<Model> {
    let opened = open(path, config_name)?;
    let place = Place {
        device: candle_core::Device::Cpu,
        dtype: candle_core::DType::F32,
    };
    let decoder = Decoder::load(opened.config, opened.weights, &opened.layout, place, &mut |_, _| {
        ControlFlow::Continue(())
    })?;
    Ok(Model::Tensors(Box::new(decoder)))
}
