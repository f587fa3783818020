//! A decoder on whichever device it was loaded for, behind one set of calls.

use std::ops::ControlFlow;

use anyhow::Result;

use super::cache::KvStore;
use super::config::Config;
use super::decoder::Decoder;
use super::forward::{Part, Scratch};
use super::kernel::{Precision, Threads};
use super::tensor::DeviceMatrix;

/// A loaded decoder.
#[derive(Debug)]
pub enum Model {
    /// On the CPU, by kernels of our own.
    Packed(Box<Decoder>),
    /// On another device, by candle's tensor operations.
    Tensors(Box<Decoder<DeviceMatrix>>),
}

impl Model {
    pub fn config(&self) -> &Config {
        match self {
            Model::Packed(decoder) => &decoder.config,
            Model::Tensors(decoder) => &decoder.config,
        }
    }

    /// Whether products are computed with the file's blocks, activations rounded to bytes.
    pub fn computes_blocks(&self) -> bool {
        matches!(self, Model::Packed(decoder) if decoder.place.precision == Precision::Native)
    }

    /// Memory of the weights as they are computed with.
    pub fn weight_bytes(&self) -> u64 {
        match self {
            Model::Packed(decoder) => decoder.weight_bytes(),
            Model::Tensors(decoder) => decoder.weight_bytes(),
        }
    }

    /// Computes the parts, and gives the hidden states of the wanted tokens; see [`Decoder::forward`].
    ///
    /// # Errors
    /// When the device fails.
    pub fn forward(
        &self,
        store: &mut KvStore,
        parts: &[Part],
        scratch: &mut Scratch,
        threads: &Threads,
        tick: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<ControlFlow<(), Vec<f32>>> {
        match self {
            Model::Packed(decoder) => Ok(decoder.forward(store, parts, scratch, threads, tick)),
            Model::Tensors(decoder) => decoder.forward_on_device(store, parts, tick),
        }
    }

    /// Logits of hidden states into memory that is used again.
    ///
    /// # Errors
    /// When the device fails.
    pub fn logits(&self, hidden: &[f32], threads: &Threads, logits: &mut Vec<f32>) -> Result<()> {
        match self {
            Model::Packed(decoder) => {
                decoder.logits_into(hidden, threads, logits);
                Ok(())
            }
            Model::Tensors(decoder) => decoder.logits_on_device(hidden, logits),
        }
    }
}
