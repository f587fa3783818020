//! The same decoder by candle's tensor operations, for devices that the CPU kernels do not reach (CUDA, Metal). Pass by
//! pass it computes what `forward.rs` does; sequences, sharing and scheduling are the same code.

use std::ops::{ControlFlow, Range};

use anyhow::Result;
use candle_core::{D, DType, Device, IndexOp, Tensor};

use super::cache::{KvStore, NodeId};
use super::config::{Activation, Config, LayerConfig};
use super::decoder::{Decoder, Layer, Linear, Matrix, MatrixRows};
use super::forward::{Part, Placed, place};
use super::rope::Rope;

/// A product's matrix [outputs, inputs] on a device.
#[derive(Debug, Clone)]
pub struct DeviceMatrix(Tensor);

/// Where tensors lie and how wide the products' numbers are.
#[derive(Debug, Clone)]
pub struct Place {
    pub device: Device,
    pub dtype: DType,
}

impl Matrix for DeviceMatrix {
    type Vector = Tensor;
    type Place = Place;

    fn make(rows: &MatrixRows, place: &Place) -> Result<Self> {
        let inputs = rows.inputs;
        let (outputs, numbers) = rows.all_filled(|outputs, fill| {
            let mut numbers = vec![0.0; outputs * inputs];
            numbers
                .chunks_exact_mut(inputs)
                .enumerate()
                .for_each(|(row, out)| fill(row, out));
            (outputs, numbers)
        })?;
        let matrix = Tensor::from_vec(numbers, (outputs, inputs), &Device::Cpu)?;
        Ok(DeviceMatrix(matrix.to_dtype(place.dtype)?.to_device(&place.device)?))
    }

    fn vector(numbers: Vec<f32>, place: &Place) -> Result<Tensor> {
        Ok(Tensor::new(numbers, &place.device)?)
    }

    fn bytes(&self) -> usize {
        self.0.elem_count() * self.0.dtype().size_in_bytes()
    }

    fn gives_rows(&self) -> bool {
        true
    }
}

impl DeviceMatrix {
    /// x W^T in the matrix's width, back in f32.
    fn apply(&self, x: &Tensor) -> Result<Tensor> {
        Ok(x.to_dtype(self.0.dtype())?.matmul(&self.0.t()?)?.to_dtype(DType::F32)?)
    }
}

impl Linear<DeviceMatrix> {
    fn apply(&self, x: &Tensor) -> Result<Tensor> {
        let product = self.weight.apply(x)?;
        Ok(match &self.bias {
            Some(bias) => product.broadcast_add(bias)?,
            None => product,
        })
    }
}

/// Root-mean-square norm over the last dimension.
fn rms_norm(x: &Tensor, weight: Option<&Tensor>, plus_one: bool, eps: f32) -> Result<Tensor> {
    let mean = (x.sqr()?.mean_keepdim(D::Minus1)? + f64::from(eps))?;
    let normed = x.broadcast_div(&mean.sqrt()?)?;
    Ok(match weight {
        None => normed,
        Some(weight) if plus_one => normed.broadcast_mul(&(weight + 1.0)?)?,
        Some(weight) => normed.broadcast_mul(weight)?,
    })
}

fn softcap(x: &Tensor, cap: f32) -> Result<Tensor> {
    let cap = f64::from(cap);
    Ok(((x / cap)?.tanh()? * cap)?)
}

/// Cosine and sine of the tokens' positions, [tokens, 1, pairs].
struct Turn {
    cos: Tensor,
    sin: Tensor,
    dims: usize,
}

impl Turn {
    fn new(rope: &Rope, positions: &[usize], device: &Device) -> Result<Turn> {
        let pairs = rope.dims / 2;
        let (mut cos, mut sin) = (vec![0.0; positions.len() * pairs], vec![0.0; positions.len() * pairs]);
        for (row, position) in positions.iter().enumerate() {
            let at = row * pairs..(row + 1) * pairs;
            rope.write(*position, &mut cos[at.clone()], &mut sin[at]);
        }
        let shape = (positions.len(), 1, pairs);
        let (cos, sin) = (
            Tensor::from_vec(cos, shape, device)?,
            Tensor::from_vec(sin, shape, device)?,
        );
        Ok(Turn {
            cos,
            sin,
            dims: rope.dims,
        })
    }

    /// Turns heads [tokens, heads, head_dim] in halves.
    fn apply(&self, x: &Tensor) -> Result<Tensor> {
        let half = self.dims / 2;
        let (first, second) = (x.narrow(2, 0, half)?, x.narrow(2, half, half)?);
        let turned_first = (first.broadcast_mul(&self.cos)? - second.broadcast_mul(&self.sin)?)?;
        let turned_second = (second.broadcast_mul(&self.cos)? + first.broadcast_mul(&self.sin)?)?;
        let still = x.dims()[2] - self.dims;
        let mut parts = vec![turned_first, turned_second];
        if still > 0 {
            parts.push(x.narrow(2, self.dims, still)?);
        }
        Ok(Tensor::cat(&parts, 2)?)
    }
}

impl Decoder<DeviceMatrix> {
    /// As the packed decoder's `forward`: computes the parts, and gives the hidden states of the wanted tokens.
    pub fn forward_on_device(
        &self,
        store: &mut KvStore,
        parts: &[Part],
        tick: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> Result<ControlFlow<(), Vec<f32>>> {
        let config = &self.config;
        let device = &self.place.device;
        let placed = place(store, parts);
        let tokens: Vec<u32> = parts.iter().flat_map(|part| part.tokens.iter().copied()).collect();
        let positions: Vec<usize> = placed
            .iter()
            .flat_map(|part| part.position..part.position + part.count)
            .collect();
        let turns: Vec<Turn> = config
            .ropes
            .iter()
            .map(|rope| Turn::new(rope, &positions, device))
            .collect::<Result<_>>()?;
        let mut x = self.embed_on_device(&tokens)?;
        let mut extra = self.extra_inputs(&tokens, &x)?;
        for (index, layer) in self.layers.iter().enumerate() {
            let is_last = index + 1 == self.layers.len();
            let queries = self.project_on_device(layer, index, &x, &placed, &turns, store)?;
            let selected: Vec<Range<usize>> = placed
                .iter()
                .map(|part| if is_last { part.wanted.clone() } else { 0..part.count })
                .collect();
            if is_last {
                let rows: Vec<u32> = placed
                    .iter()
                    .flat_map(|part| part.wanted.clone().map(|row| (part.row + row) as u32))
                    .collect();
                if rows.is_empty() {
                    placed.iter().for_each(|part| store.advance(part.node, part.count));
                    return Ok(ControlFlow::Continue(Vec::new()));
                }
                let rows = Tensor::new(rows, device)?;
                x = x.index_select(&rows, 0)?;
                extra = extra.map(|extra| extra.index_select(&rows, 0)).transpose()?;
            }
            let source = layer.shape.shares_kv_of.unwrap_or(index);
            let mut attended = Vec::new();
            for (part, rows) in placed.iter().zip(&selected).filter(|(_, rows)| !rows.is_empty()) {
                let queries = queries.narrow(0, part.row + rows.start, rows.len())?;
                attended.push(attend(
                    config,
                    &layer.shape,
                    &queries,
                    part.position + rows.start,
                    store,
                    part.node,
                    source,
                )?);
            }
            x = self.finish_on_device(layer, index, &x, &Tensor::cat(&attended, 0)?, extra.as_ref())?;
            if tick().is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        placed.iter().for_each(|part| store.advance(part.node, part.count));
        let out = rms_norm(&x, Some(&self.final_norm), config.norm_weight_plus_one, config.norm_eps)?;
        Ok(ControlFlow::Continue(out.flatten_all()?.to_vec1()?))
    }

    /// Logits of hidden states.
    pub fn logits_on_device(&self, hidden: &[f32], logits: &mut Vec<f32>) -> Result<()> {
        let config = &self.config;
        let rows = hidden.len() / config.hidden;
        let x = Tensor::from_slice(hidden, (rows, config.hidden), &self.place.device)?;
        let mut out = (self.head.apply(&x)? / f64::from(config.logit_divisor))?;
        if let Some(cap) = config.logit_cap {
            out = softcap(&out, cap)?;
        }
        *logits = out.flatten_all()?.to_vec1()?;
        Ok(())
    }

    fn embed_on_device(&self, tokens: &[u32]) -> Result<Tensor> {
        let config = &self.config;
        let x = match &self.embedding {
            None => self
                .head
                .0
                .index_select(&Tensor::new(tokens, &self.place.device)?, 0)?
                .to_dtype(DType::F32)?,
            Some(name) => self.rows_on_device(name, tokens, config.hidden)?,
        };
        Ok((x * f64::from(config.embedding_scale))?)
    }

    /// Rows of a matrix that stays in the file.
    fn rows_on_device(&self, name: &str, tokens: &[u32], width: usize) -> Result<Tensor> {
        let mut rows = vec![0.0; tokens.len() * width];
        for (token, row) in tokens.iter().zip(rows.chunks_exact_mut(width)) {
            self.weights.rows(name, *token as usize..*token as usize + 1, row)?;
        }
        Ok(Tensor::from_vec(rows, (tokens.len(), width), &self.place.device)?)
    }

    /// Gemma 4's inputs of every layer, [tokens, layers * width].
    fn extra_inputs(&self, tokens: &[u32], x: &Tensor) -> Result<Option<Tensor>> {
        let (Some(input), Some(inputs)) = (self.config.per_layer_input, &self.per_layer_inputs) else {
            return Ok(None);
        };
        let (layers, count) = (self.layers.len(), tokens.len());
        let context = (inputs.projection.apply(x)? * f64::from(self.config.hidden as f32).powf(-0.5))?;
        let context = context.reshape((count, layers, input.width))?;
        let context = rms_norm(&context, Some(&inputs.norm), false, self.config.norm_eps)?;
        let own = self.rows_on_device(&inputs.embedding, tokens, layers * input.width)?;
        let own = (own.reshape((count, layers, input.width))? * f64::from(input.width as f32).sqrt())?;
        let both = ((context + own)? * std::f64::consts::FRAC_1_SQRT_2)?;
        Ok(Some(both.reshape((count, layers * input.width))?))
    }

    /// Queries [tokens, heads, head_dim]; keys and values go into the store.
    fn project_on_device(
        &self,
        layer: &Layer<DeviceMatrix>,
        index: usize,
        x: &Tensor,
        placed: &[Placed],
        turns: &[Turn],
        store: &mut KvStore,
    ) -> Result<Tensor> {
        let (config, shape) = (&self.config, &layer.shape);
        let (plus_one, eps) = (config.norm_weight_plus_one, config.norm_eps);
        let (count, head_dim) = (x.dims()[0], shape.head_dim);
        let (query_width, key_width) = (config.heads * head_dim, shape.kv_heads * head_dim);
        let qkv = match &layer.attention_norm {
            None => layer.qkv.apply(x)?,
            Some(weight) => layer.qkv.apply(&rms_norm(x, Some(weight), plus_one, eps)?)?,
        };
        let heads = |column: usize, width: usize, norm: Option<&Tensor>, turns_too: bool| -> Result<Tensor> {
            let mut part = qkv.narrow(1, column, width)?;
            if let Some(weight) = norm.filter(|weight| weight.dims()[0] == width && width != head_dim) {
                part = rms_norm(&part, Some(weight), plus_one, eps)?;
            }
            let mut part = part.reshape((count, width / head_dim, head_dim))?;
            if let Some(weight) = norm.filter(|weight| weight.dims()[0] == head_dim) {
                part = rms_norm(&part, Some(weight), plus_one, eps)?;
            }
            match shape.rope.filter(|_| turns_too) {
                Some(rope) => turns[rope].apply(&part),
                None => Ok(part),
            }
        };
        let queries = heads(0, query_width, layer.query_norm.as_ref(), true)?;
        if shape.shares_kv_of.is_none() {
            let keys = heads(query_width, key_width, layer.key_norm.as_ref(), true)?;
            let value_column = if shape.values_are_keys {
                query_width
            } else {
                query_width + key_width
            };
            let mut values = heads(value_column, key_width, None, false)?;
            if config.value_norm {
                values = rms_norm(&values, None, false, eps)?;
            }
            for part in placed {
                let (keys, values) = (
                    keys.narrow(0, part.row, part.count)?,
                    values.narrow(0, part.row, part.count)?,
                );
                store.append_tensors(part.node, index, keys, values)?;
            }
        }
        Ok(queries)
    }

    /// The rest of a layer: attention's output projection and the MLP, added to the residual stream.
    fn finish_on_device(
        &self,
        layer: &Layer<DeviceMatrix>,
        index: usize,
        x: &Tensor,
        attended: &Tensor,
        extra: Option<&Tensor>,
    ) -> Result<Tensor> {
        let config = &self.config;
        let (plus_one, eps) = (config.norm_weight_plus_one, config.norm_eps);
        let add = |x: &Tensor, branch: Tensor, post_norm: Option<&Tensor>| -> Result<Tensor> {
            let branch = match post_norm {
                None => branch,
                Some(weight) => rms_norm(&branch, Some(weight), plus_one, eps)?,
            };
            Ok((x + (branch * f64::from(config.residual_scale))?)?)
        };
        let activate = |gate: &Tensor| match config.activation {
            Activation::Silu => candle_nn::ops::silu(gate),
            Activation::GeluTanh => gate.gelu(),
        };
        let x = add(x, layer.output.apply(attended)?, layer.attention_post_norm.as_ref())?;
        let normed = match &layer.mlp_norm {
            None => x.clone(),
            Some(weight) => rms_norm(&x, Some(weight), plus_one, eps)?,
        };
        let gate_up = layer.gate_up.apply(&normed)?;
        let mlp = layer.shape.mlp;
        let active = (activate(&gate_up.narrow(1, 0, mlp)?)? * gate_up.narrow(1, mlp, mlp)?)?;
        let mut x = add(&x, layer.down.apply(&active)?, layer.mlp_post_norm.as_ref())?;
        if let (Some(per_layer), Some(input), Some(extra)) = (&layer.per_layer, config.per_layer_input, extra) {
            let own = extra.narrow(1, index * input.width, input.width)?;
            let gated = (per_layer.gate.apply(&x)?.gelu()? * own)?;
            let branch = rms_norm(
                &per_layer.projection.apply(&gated)?,
                Some(&per_layer.norm),
                plus_one,
                eps,
            )?;
            x = (x + branch)?;
        }
        if config.layer_scalar {
            x = (x * f64::from(layer.scalar))?;
        }
        Ok(x)
    }
}

/// Attention of one sequence's queries [t, heads, head_dim] from `start` on; gives [t, heads * head_dim].
fn attend(
    config: &Config,
    shape: &LayerConfig,
    queries: &Tensor,
    start: usize,
    store: &KvStore,
    node: NodeId,
    layer: usize,
) -> Result<Tensor> {
    let count = queries.dims()[0];
    let (kv_heads, head_dim) = (shape.kv_heads, shape.head_dim);
    let group = config.heads / kv_heads;
    let (keys, values) = store.tensors(node, layer)?;
    // What lies behind the last query, and before the first one's window, is not needed.
    let end = start + count;
    let first = shape.window.map_or(0, |window| (start + 1).saturating_sub(window));
    let (keys, values) = (keys.i(first..end)?, values.i(first..end)?);
    let length = end - first;
    let queries = queries
        .reshape((count, kv_heads, group, head_dim))?
        .permute((1, 2, 0, 3))?
        .contiguous()?;
    let queries = queries.reshape((kv_heads, group * count, head_dim))?;
    let scores = queries.matmul(&keys.permute((1, 2, 0))?.contiguous()?)?;
    let mut scores = (scores * f64::from(config.score_scale))?;
    if let Some(cap) = config.score_cap {
        scores = softcap(&scores, cap)?;
    }
    let mask: Vec<f32> = (start..end)
        .flat_map(|query| {
            let from = shape.window.map_or(0, |window| (query + 1).saturating_sub(window));
            (first..end).map(move |key| {
                if key <= query && key >= from {
                    0.0
                } else {
                    f32::NEG_INFINITY
                }
            })
        })
        .collect();
    let mask = Tensor::from_vec(mask, (count, length), queries.device())?;
    let scores = scores.reshape((kv_heads, group, count, length))?.broadcast_add(&mask)?;
    let shares = candle_nn::ops::softmax_last_dim(&scores.contiguous()?)?;
    let shares = shares.reshape((kv_heads, group * count, length))?;
    let out = shares.matmul(&values.permute((1, 0, 2))?.contiguous()?)?;
    let out = out
        .reshape((kv_heads, group, count, head_dim))?
        .permute((2, 0, 1, 3))?
        .contiguous()?;
    Ok(out.reshape((count, config.heads * head_dim))?)
}
