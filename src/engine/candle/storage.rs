//! How a tensor's values are stored in a file, and how they become f32.

use std::borrow::Cow;

use anyhow::{Context, Result, bail};
use candle_core::Device;
use candle_core::quantized::{GgmlDType, QStorage, QTensor};
use half::{bf16, f16};
use safetensors::Dtype;

use super::kernel::Format;

/// A number format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Storage {
    F32,
    F16,
    Bf16,
    Quantized(GgmlDType),
    /// A safetensors format that no weight of a known model has: integers, 8-bit floats.
    Other(Dtype),
}

/// Safetensors formats that are read.
const READ: &str = "F32, F16, BF16";

impl Storage {
    pub fn of_safetensors(dtype: Dtype) -> Storage {
        match dtype {
            Dtype::F32 => Storage::F32,
            Dtype::F16 => Storage::F16,
            Dtype::BF16 => Storage::Bf16,
            other => Storage::Other(other),
        }
    }

    pub fn of_ggml(dtype: GgmlDType) -> Storage {
        match dtype {
            GgmlDType::F32 => Storage::F32,
            GgmlDType::F16 => Storage::F16,
            GgmlDType::BF16 => Storage::Bf16,
            quantized => Storage::Quantized(quantized),
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Storage::F32 => "f32",
            Storage::F16 => "f16",
            Storage::Bf16 => "bf16",
            Storage::Other(_) => "another format",
            Storage::Quantized(dtype) => match dtype {
                GgmlDType::Q4_0 => "q4_0",
                GgmlDType::Q4_1 => "q4_1",
                GgmlDType::Q5_0 => "q5_0",
                GgmlDType::Q5_1 => "q5_1",
                GgmlDType::Q8_0 => "q8_0",
                GgmlDType::Q8_1 => "q8_1",
                GgmlDType::Q2K => "q2_k",
                GgmlDType::Q3K => "q3_k",
                GgmlDType::Q4K => "q4_k",
                GgmlDType::Q5K => "q5_k",
                GgmlDType::Q6K => "q6_k",
                GgmlDType::Q8K => "q8_k",
                GgmlDType::F32 | GgmlDType::F16 | GgmlDType::BF16 => "unquantized",
            },
        }
    }

    /// The block format, where products are computed with its blocks as they are.
    pub fn blocks(self) -> Option<Format> {
        let Storage::Quantized(dtype) = self else { return None };
        Some(match dtype {
            GgmlDType::Q4_0 => Format::Q4_0,
            GgmlDType::Q4_1 => Format::Q4_1,
            GgmlDType::Q5_0 => Format::Q5_0,
            GgmlDType::Q5_1 => Format::Q5_1,
            GgmlDType::Q8_0 => Format::Q8_0,
            GgmlDType::Q2K => Format::Q2K,
            GgmlDType::Q3K => Format::Q3K,
            GgmlDType::Q4K => Format::Q4K,
            GgmlDType::Q5K => Format::Q5K,
            GgmlDType::Q6K => Format::Q6K,
            _ => return None,
        })
    }

    /// Bytes of `columns` values in a row.
    ///
    /// # Errors
    /// Where a row is no whole number of blocks, or the format is not read.
    pub fn row_bytes(self, columns: usize) -> Result<usize> {
        let bytes = match self {
            Storage::F32 => columns.checked_mul(4),
            Storage::F16 | Storage::Bf16 => columns.checked_mul(2),
            Storage::Quantized(dtype) => {
                let block = dtype.block_size();
                if !columns.is_multiple_of(block) {
                    bail!(
                        "{} stores blocks of {block} values, which {columns} columns are not",
                        self.name()
                    );
                }
                (columns / block).checked_mul(dtype.type_size())
            }
            Storage::Other(dtype) => bail!("it is stored as {dtype:?}; known: {READ}"),
        };
        bytes.context("its size is out of range")
    }

    /// Values of whole rows, of `columns` each, as f32.
    pub fn decode(self, bytes: &[u8], columns: usize, out: &mut [f32]) -> Result<()> {
        match self {
            Storage::F32 => {
                let values = bytes.as_chunks::<4>().0.iter();
                out.iter_mut()
                    .zip(values)
                    .for_each(|(out, value)| *out = f32::from_le_bytes(*value));
            }
            Storage::F16 => {
                let values = bytes.as_chunks::<2>().0.iter();
                out.iter_mut()
                    .zip(values)
                    .for_each(|(out, value)| *out = f16::from_le_bytes(*value).to_f32());
            }
            Storage::Bf16 => {
                let values = bytes.as_chunks::<2>().0.iter();
                out.iter_mut()
                    .zip(values)
                    .for_each(|(out, value)| *out = bf16::from_le_bytes(*value).to_f32());
            }
            Storage::Quantized(dtype) => {
                let shape = (out.len() / columns.max(1), columns);
                let storage = QStorage::from_data(Cow::Borrowed(bytes), &Device::Cpu, dtype)?;
                let tensor = QTensor::new(storage, shape)?.dequantize(&Device::Cpu)?;
                out.copy_from_slice(&tensor.flatten_all()?.to_vec1::<f32>()?);
            }
            Storage::Other(dtype) => bail!("it is stored as {dtype:?}; known: {READ}"),
        }
        Ok(())
    }
}
