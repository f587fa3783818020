//! One pass of the packed decoder: all prompts of a batch in one row of tokens, each with its own keys and values, and
//! hidden states only where they are wanted.

use std::ops::{ControlFlow, Range};

use super::cache::{KvStore, NodeId};
use super::config::{Activation, Config};
use super::decoder::{Decoder, Layer, Linear};
use super::kernel::{self, AttentionShape, Job, Threads};
use super::rope::Rope;

/// Tokens that go on a sequence, and at which of them the hidden state is wanted.
#[derive(Debug, Clone)]
pub struct Part<'a> {
    pub node: NodeId,
    pub tokens: &'a [u32],
    pub wanted: Range<usize>,
}

/// Rows that go through a layer's products together, so that what is between them stays in cache.
const BLOCK_ROWS: usize = 240;

fn blocks(rows: usize) -> impl Iterator<Item = Range<usize>> {
    let block = move |first: usize| first..(first + BLOCK_ROWS).min(rows);
    (0..rows).step_by(BLOCK_ROWS).map(block)
}

/// Memory that passes use again and again.
#[derive(Debug, Default)]
pub struct Scratch {
    x: Vec<f32>,
    normed: Vec<f32>,
    qkv: Vec<f32>,
    queries: Vec<f32>,
    attended: Vec<f32>,
    branch: Vec<f32>,
    gate_up: Vec<f32>,
    active: Vec<f32>,
    per_layer: Vec<f32>,
    turns: Vec<Turns>,
    positions: Vec<usize>,
}

/// A layer and its number.
#[derive(Debug, Clone, Copy)]
pub struct LayerAt<'a> {
    pub layer: &'a Layer,
    pub index: usize,
}

/// What a step works with.
#[derive(Debug)]
pub struct Work<'a> {
    pub scratch: &'a mut Scratch,
    pub threads: &'a Threads,
}

/// A pass on its way through the layers.
#[derive(Debug)]
pub struct Pass {
    placed: Vec<Placed>,
    rows: usize,
    /// Rows that go on after attention: all, in the last layer the wanted ones.
    present: usize,
}

/// Cosines and sines of the positions so far met, for one rope.
#[derive(Debug, Default)]
struct Turns {
    cos: Vec<f32>,
    sin: Vec<f32>,
}

impl Turns {
    fn cover(&mut self, rope: &Rope, positions: usize) {
        let pairs = rope.dims / 2;
        let known = self.cos.len() / pairs;
        if positions <= known {
            return;
        }
        let target = positions.next_multiple_of(256);
        self.cos.resize(target * pairs, 0.0);
        self.sin.resize(target * pairs, 0.0);
        for position in known..target {
            let at = position * pairs..(position + 1) * pairs;
            rope.write(position, &mut self.cos[at.clone()], &mut self.sin[at]);
        }
    }

    fn at(&self, position: usize, pairs: usize) -> (&[f32], &[f32]) {
        (
            &self.cos[position * pairs..][..pairs],
            &self.sin[position * pairs..][..pairs],
        )
    }
}

/// The first `length` numbers of a buffer that only grows.
fn sized(buffer: &mut Vec<f32>, length: usize) -> &mut [f32] {
    if buffer.len() < length {
        buffer.resize(length, 0.0);
    }
    &mut buffer[..length]
}

fn add_bias(out: &mut [f32], bias: Option<&Vec<f32>>) {
    if let Some(bias) = bias {
        for row in out.chunks_exact_mut(bias.len()) {
            row.iter_mut().zip(bias).for_each(|(value, bias)| *value += bias);
        }
    }
}

impl Linear {
    fn apply(&self, x: &[f32], out: &mut [f32], threads: &Threads) {
        self.weight.matmul(x, out, threads);
        add_bias(out, self.bias.as_ref());
    }
}

/// A part as it lies in the pass.
#[derive(Debug)]
pub struct Placed {
    pub node: NodeId,
    /// First row among all tokens of the pass.
    pub row: usize,
    pub count: usize,
    /// Position of the first token in its sequence.
    pub position: usize,
    pub wanted: Range<usize>,
}

impl Decoder {
    /// Computes the parts' tokens, adds their keys and values to `store`, and gives the hidden states of the wanted
    /// tokens, part after part, after the final norm. A part may branch off another one of the same pass, if that one
    /// comes earlier. `tick` is asked between layers; where it breaks, the sequences of the pass are unusable.
    pub fn forward(
        &self,
        store: &mut KvStore,
        parts: &[Part],
        scratch: &mut Scratch,
        threads: &Threads,
        tick: &mut dyn FnMut() -> ControlFlow<()>,
    ) -> ControlFlow<(), Vec<f32>> {
        let mut pass = self.begin(store, parts, scratch, threads);
        for (index, layer) in self.layers.iter().enumerate() {
            self.through(LayerAt { layer, index }, &mut pass, store, Work { scratch, threads });
            tick()?;
        }
        ControlFlow::Continue(self.end(&pass, store, scratch))
    }

    /// Embeds the parts' tokens: what goes into the first layer.
    pub fn begin(&self, store: &KvStore, parts: &[Part], scratch: &mut Scratch, threads: &Threads) -> Pass {
        let config = &self.config;
        let placed = place(store, parts);
        let rows: usize = placed.iter().map(|part| part.count).sum();
        let end = placed.iter().map(|part| part.position + part.count).max().unwrap_or(0);
        scratch.turns.resize_with(config.ropes.len(), Turns::default);
        scratch
            .turns
            .iter_mut()
            .zip(&config.ropes)
            .for_each(|(turns, rope)| turns.cover(rope, end));
        scratch.positions.clear();
        let positions = placed.iter().flat_map(|part| part.position..part.position + part.count);
        scratch.positions.extend(positions);
        let tokens: Vec<u32> = parts.iter().flat_map(|part| part.tokens.iter().copied()).collect();
        self.embed(&tokens, scratch, threads);
        Pass {
            placed,
            rows,
            present: rows,
        }
    }

    /// Takes the pass through a layer, all of them in order. The last one goes on with the wanted tokens only.
    pub fn through(&self, at: LayerAt, pass: &mut Pass, store: &mut KvStore, work: Work) {
        let config = &self.config;
        let LayerAt { layer, index } = at;
        let Work { scratch, threads } = work;
        let is_last = index + 1 == config.layers.len();
        sized(&mut scratch.queries, pass.rows * config.heads * layer.shape.head_dim);
        if layer.shape.shares_kv_of.is_none() {
            let grow = |part: &Placed| store.grow(part.node, index, part.count);
            pass.placed.iter().for_each(grow);
        }
        for block in blocks(pass.rows) {
            self.project(at, block, &pass.placed, store, Work { scratch, threads });
        }
        let selected: Vec<Range<usize>> = if is_last {
            pass.placed.iter().map(|part| part.wanted.clone()).collect()
        } else {
            pass.placed.iter().map(|part| 0..part.count).collect()
        };
        if is_last {
            pass.present = gather(&mut scratch.x, config.hidden, &pass.placed);
            if let Some(input) = config.per_layer_input {
                gather(&mut scratch.per_layer, input.width * config.layers.len(), &pass.placed);
            }
        }
        let source = layer.shape.shares_kv_of.unwrap_or(index);
        attend(config, layer, source, &pass.placed, &selected, store, scratch, threads);
        for block in blocks(pass.present) {
            self.finish(at, block, Work { scratch, threads });
        }
    }

    /// Counts the tokens as there, and gives the hidden states of the wanted ones.
    pub fn end(&self, pass: &Pass, store: &mut KvStore, scratch: &Scratch) -> Vec<f32> {
        let config = &self.config;
        pass.placed.iter().for_each(|part| store.advance(part.node, part.count));
        let mut out = vec![0.0; pass.present * config.hidden];
        kernel::rms_norm(
            &scratch.x[..out.len()],
            config.hidden,
            Some(&self.final_norm),
            config.norm_weight_plus_one,
            config.norm_eps,
            &mut out,
        );
        out
    }

    /// Logits of hidden states, one row of the vocabulary's size each, into memory that is used again.
    pub fn logits_into(&self, hidden: &[f32], threads: &Threads, logits: &mut Vec<f32>) {
        let config = &self.config;
        logits.resize(hidden.len() / config.hidden * config.vocab, 0.0);
        self.head.matmul(hidden, logits, threads);
        self.shape_logits(logits, threads);
    }

    /// What comes after the head: the divisor and the cap.
    pub fn shape_logits(&self, logits: &mut [f32], threads: &Threads) {
        let config = &self.config;
        if config.logit_divisor.to_bits() != 1.0f32.to_bits() {
            logits.iter_mut().for_each(|logit| *logit /= config.logit_divisor);
        }
        if let Some(cap) = config.logit_cap {
            threads.rows(logits, config.vocab, |_, rows| kernel::softcap(rows, cap));
        }
    }

    fn embed(&self, tokens: &[u32], scratch: &mut Scratch, threads: &Threads) {
        let config = &self.config;
        let x = sized(&mut scratch.x, tokens.len() * config.hidden);
        for (token, row) in tokens.iter().zip(x.chunks_exact_mut(config.hidden)) {
            let token = (*token as usize).min(config.vocab - 1);
            match &self.embedding {
                None => self.head.row(token, row),
                Some(name) => self.read_row(name, token, row),
            }
            row.iter_mut().for_each(|value| *value *= config.embedding_scale);
        }
        if let (Some(input), Some(inputs)) = (config.per_layer_input, &self.per_layer_inputs) {
            let width = input.width * config.layers.len();
            let per_layer = sized(&mut scratch.per_layer, tokens.len() * width);
            inputs.projection.matmul(x, per_layer, threads);
            let scale = (config.hidden as f32).powf(-0.5);
            per_layer.iter_mut().for_each(|value| *value *= scale);
            kernel::rms_norm_in_place(per_layer, input.width, Some(&inputs.norm), false, config.norm_eps);
            let mut own = vec![0.0; width];
            let embedding_scale = (input.width as f32).sqrt();
            for (token, row) in tokens.iter().zip(per_layer.chunks_exact_mut(width)) {
                self.read_row(&inputs.embedding, (*token as usize).min(input.vocab - 1), &mut own);
                for (value, own) in row.iter_mut().zip(&own) {
                    *value = (*value + own * embedding_scale) * std::f32::consts::FRAC_1_SQRT_2;
                }
            }
        }
    }

    fn read_row(&self, name: &str, row: usize, out: &mut [f32]) {
        // Names and shapes were checked at load, and rows are inside them.
        if self.weights.rows(name, row..row + 1, out).is_err() {
            out.fill(f32::NAN);
        }
    }

    /// Queries of some rows into the scratch; their keys and values into the store, which has room for them.
    fn project(&self, at: LayerAt, rows: Range<usize>, placed: &[Placed], store: &mut KvStore, work: Work) {
        let (config, layer, shape) = (&self.config, at.layer, &at.layer.shape);
        let (hidden, plus_one, eps) = (config.hidden, config.norm_weight_plus_one, config.norm_eps);
        let Work { scratch, threads } = work;
        let head_dim = shape.head_dim;
        let (query_width, key_width) = (config.heads * head_dim, shape.kv_heads * head_dim);
        let width = layer.qkv.weight.rows();
        let qkv = sized(&mut scratch.qkv, rows.len() * width);
        let x = &scratch.x[rows.start * hidden..rows.end * hidden];
        match &layer.attention_norm {
            None => layer.qkv.apply(x, qkv, threads),
            Some(weight) => {
                let normed = sized(&mut scratch.normed, x.len());
                kernel::rms_norm(x, hidden, Some(weight), plus_one, eps, normed);
                layer.qkv.apply(normed, qkv, threads);
            }
        }
        let qkv = &*qkv;
        let turn = shape.rope.map(|rope| (&config.ropes[rope], &scratch.turns[rope]));
        let rotate = |row: &mut [f32], position: usize| {
            if let Some((rope, turns)) = turn {
                let (cos, sin) = turns.at(position, rope.dims / 2);
                kernel::rope(row, cos, sin, head_dim, rope.dims);
            }
        };
        let positions = &scratch.positions[rows.clone()];
        let queries = &mut scratch.queries[rows.start * query_width..rows.end * query_width];
        threads.rows(queries, query_width, |first, out| {
            for (offset, row) in out.chunks_exact_mut(query_width).enumerate() {
                row.copy_from_slice(&qkv[(first + offset) * width..][..query_width]);
                if let Some(weight) = &layer.query_norm {
                    kernel::rms_norm_in_place(row, weight.len(), Some(weight), plus_one, eps);
                }
                rotate(row, positions[first + offset]);
            }
        });
        if shape.shares_kv_of.is_some() {
            return;
        }
        let value_column = if shape.values_are_keys {
            query_width
        } else {
            query_width + key_width
        };
        for part in placed {
            let (first, last) = (part.row.max(rows.start), (part.row + part.count).min(rows.end));
            if first >= last {
                continue;
            }
            let (keys, values) = store.latest(part.node, at.index, part.count);
            for row in first..last {
                let offset = (row - part.row) * key_width;
                let projected = &qkv[(row - rows.start) * width..][..width];
                let key = &mut keys[offset..offset + key_width];
                key.copy_from_slice(&projected[query_width..][..key_width]);
                if let Some(weight) = &layer.key_norm {
                    kernel::rms_norm_in_place(key, weight.len(), Some(weight), plus_one, eps);
                }
                rotate(key, positions[row - rows.start]);
                let value = &mut values[offset..offset + key_width];
                value.copy_from_slice(&projected[value_column..][..key_width]);
                if config.value_norm {
                    kernel::rms_norm_in_place(value, head_dim, None, false, eps);
                }
            }
        }
    }

    /// The rest of a layer for some rows: attention's output projection and the MLP, added to the residual stream.
    fn finish(&self, at: LayerAt, rows: Range<usize>, work: Work) {
        let (config, layer, shape) = (&self.config, at.layer, &at.layer.shape);
        let Work { scratch, threads } = work;
        let (hidden, count) = (config.hidden, rows.len());
        let (plus_one, eps) = (config.norm_weight_plus_one, config.norm_eps);
        let query_width = config.heads * shape.head_dim;
        let x = &mut scratch.x[rows.start * hidden..rows.end * hidden];
        let attended = &scratch.attended[rows.start * query_width..rows.end * query_width];
        let branch = sized(&mut scratch.branch, count * hidden);
        let add = |x: &mut [f32], branch: &mut [f32], post_norm: Option<&Vec<f32>>| {
            if let Some(weight) = post_norm {
                kernel::rms_norm_in_place(branch, hidden, Some(weight), plus_one, eps);
            }
            kernel::add_scaled(x, branch, config.residual_scale);
        };
        layer.output.apply(attended, branch, threads);
        add(x, branch, layer.attention_post_norm.as_ref());
        let normed = sized(&mut scratch.normed, count * hidden);
        match &layer.mlp_norm {
            None => normed.copy_from_slice(x),
            Some(weight) => kernel::rms_norm(x, hidden, Some(weight), plus_one, eps, normed),
        }
        let gate_up = sized(&mut scratch.gate_up, count * 2 * shape.mlp);
        layer.gate_up.apply(normed, gate_up, threads);
        let active = sized(&mut scratch.active, count * shape.mlp);
        let gate_up = &*gate_up;
        threads.rows(active, shape.mlp, |first, out| {
            let input = &gate_up[first * 2 * shape.mlp..][..2 * out.len()];
            match config.activation {
                Activation::Silu => kernel::silu_mul(input, shape.mlp, out),
                Activation::GeluTanh => kernel::gelu_tanh_mul(input, shape.mlp, out),
            }
        });
        layer.down.apply(active, branch, threads);
        add(x, branch, layer.mlp_post_norm.as_ref());
        if let (Some(per_layer), Some(input)) = (&layer.per_layer, config.per_layer_input) {
            let gate = sized(&mut scratch.gate_up, count * input.width);
            per_layer.gate.matmul(x, gate, threads);
            let gated = sized(&mut scratch.active, count * input.width);
            let all = input.width * config.layers.len();
            for (row, (gate, out)) in gate
                .chunks_exact(input.width)
                .zip(gated.chunks_exact_mut(input.width))
                .enumerate()
            {
                let own = &scratch.per_layer[(rows.start + row) * all + at.index * input.width..][..input.width];
                kernel::gelu_tanh_times(gate, own, out);
            }
            per_layer.projection.matmul(gated, branch, threads);
            kernel::rms_norm_in_place(branch, hidden, Some(&per_layer.norm), plus_one, eps);
            kernel::add_scaled(x, branch, 1.0);
        }
        if config.layer_scalar {
            x.iter_mut().for_each(|value| *value *= layer.scalar);
        }
    }
}

/// Where the parts lie in a pass.
pub fn place(store: &KvStore, parts: &[Part]) -> Vec<Placed> {
    let mut row = 0;
    parts
        .iter()
        .map(|part| {
            let count = part.tokens.len();
            row += count;
            let position = store.end(part.node);
            Placed {
                node: part.node,
                row: row - count,
                count,
                position,
                wanted: part.wanted.clone(),
            }
        })
        .collect()
}

/// Keeps only the wanted rows, in order; gives their number.
fn gather(buffer: &mut [f32], width: usize, placed: &[Placed]) -> usize {
    let mut kept = 0;
    for part in placed {
        for row in part.wanted.clone() {
            let from = (part.row + row) * width;
            buffer.copy_within(from..from + width, kept * width);
            kept += 1;
        }
    }
    kept
}

/// Attention of the selected rows of each part, into the scratch, one after the other.
#[allow(
    clippy::too_many_arguments,
    reason = "one layer's step; every argument is another piece of the same pass"
)]
fn attend(
    config: &Config,
    layer: &Layer,
    source: usize,
    placed: &[Placed],
    selected: &[Range<usize>],
    store: &KvStore,
    scratch: &mut Scratch,
    threads: &Threads,
) {
    let shape = &layer.shape;
    let width = config.heads * shape.head_dim;
    let total: usize = selected.iter().map(Range::len).sum();
    let mut rest = sized(&mut scratch.attended, total * width);
    let mut jobs = Vec::with_capacity(placed.len());
    for (part, rows) in placed.iter().zip(selected) {
        if rows.is_empty() {
            continue;
        }
        let (out, left) = rest.split_at_mut(rows.len() * width);
        rest = left;
        let queries = &scratch.queries[(part.row + rows.start) * width..(part.row + rows.end) * width];
        let start = part.position + rows.start;
        jobs.push(Job {
            queries,
            start,
            segments: store.segments(part.node, source),
            out,
        });
    }
    let shape = AttentionShape {
        heads: config.heads,
        kv_heads: shape.kv_heads,
        head_dim: shape.head_dim,
        scale: config.score_scale,
        window: shape.window,
        softcap: config.score_cap,
    };
    kernel::attend_all(&mut jobs, &shape, threads);
}
