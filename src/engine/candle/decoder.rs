//! The packed decoder's weights: every product's matrix packed once at load, read piece by piece from the file.

use std::ops::{ControlFlow, Range};

use anyhow::{Context, Result, bail, ensure};

use super::config::{Config, LayerConfig, NormPlaces, QkNorm};
use super::kernel::{Blocks, Packed, Part, Precision, Threads, Wide};
use super::weights::Weights;

/// How a file names and lays out its tensors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Layout {
    /// As the reference library saves them; the language model's names begin with `prefix`, e.g. `model.`.
    HuggingFace { prefix: String, head: String },
    /// As llama.cpp's converter writes them; with `permuted`, rows of q and k stand in pairs for another form of rope.
    Gguf { permuted: bool },
}

impl Layout {
    /// Finds the prefix under which a folder's tensors stand (multimodal models put the language model below another).
    pub fn of_folder(weights: &Weights) -> Result<Layout> {
        let suffix = "embed_tokens.weight";
        let mut prefixes: Vec<&str> = weights
            .names()
            .filter_map(|name| name.strip_suffix(suffix))
            .filter(|prefix| prefix.is_empty() || prefix.ends_with('.'))
            .collect();
        prefixes.sort_unstable_by_key(|prefix| (!prefix.contains("language_model"), prefix.len()));
        let prefix = (*prefixes.first().context("the weights hold no embed_tokens.weight")?).to_string();
        let heads = [
            "lm_head.weight",
            "language_model.lm_head.weight",
            "model.lm_head.weight",
        ];
        let head = heads
            .into_iter()
            .find(|name| weights.has(name))
            .unwrap_or(heads[0])
            .to_string();
        Ok(Layout::HuggingFace { prefix, head })
    }

    fn embedding(&self) -> String {
        match self {
            Layout::HuggingFace { prefix, .. } => format!("{prefix}embed_tokens.weight"),
            Layout::Gguf { .. } => "token_embd.weight".into(),
        }
    }

    fn head(&self) -> String {
        match self {
            Layout::HuggingFace { head, .. } => head.clone(),
            Layout::Gguf { .. } => "output.weight".into(),
        }
    }

    /// A tensor outside the layers, by its name in the reference library.
    fn whole(&self, name: &str) -> String {
        match self {
            Layout::HuggingFace { prefix, .. } => format!("{prefix}{name}"),
            Layout::Gguf { .. } => match name {
                "norm.weight" => "output_norm.weight".into(),
                other => other.into(),
            },
        }
    }

    /// A layer's tensor, by its name in the reference library and its kind (`weight`, `bias`, or nothing).
    fn layer(&self, index: usize, stem: &str, kind: &str) -> String {
        let kind = if kind.is_empty() {
            String::new()
        } else {
            format!(".{kind}")
        };
        match self {
            Layout::HuggingFace { prefix, .. } => format!("{prefix}layers.{index}.{stem}{kind}"),
            Layout::Gguf { .. } => {
                let stem = match stem {
                    "input_layernorm" => "attn_norm",
                    "post_attention_layernorm" => "ffn_norm",
                    "self_attn.q_proj" => "attn_q",
                    "self_attn.k_proj" => "attn_k",
                    "self_attn.v_proj" => "attn_v",
                    "self_attn.o_proj" => "attn_output",
                    "self_attn.q_norm" => "attn_q_norm",
                    "self_attn.k_norm" => "attn_k_norm",
                    "mlp.gate_proj" => "ffn_gate",
                    "mlp.up_proj" => "ffn_up",
                    "mlp.down_proj" => "ffn_down",
                    other => other,
                };
                format!("blk.{index}.{stem}{kind}")
            }
        }
    }
}

/// A product's matrix in the form that a device computes with.
pub trait Matrix: Sized {
    /// A norm's weight or a bias.
    type Vector: std::fmt::Debug;
    /// Where and how wide matrices are made.
    type Place: std::fmt::Debug;

    /// A matrix of the rows.
    fn make(rows: &MatrixRows, place: &Self::Place) -> Result<Self>;

    fn vector(numbers: Vec<f32>, place: &Self::Place) -> Result<Self::Vector>;

    /// Memory held.
    fn bytes(&self) -> usize;

    /// Whether it can stand for the embedding too; else that is read from the file.
    fn gives_rows(&self) -> bool;
}

/// Where packed matrices come from.
#[derive(Debug)]
pub struct Packing {
    pub precision: Precision,
    /// Threads that pack blocks.
    pub threads: Threads,
}

impl Packing {
    /// By the calling thread.
    pub fn alone(precision: Precision) -> Packing {
        Packing {
            precision,
            threads: Threads::new(1),
        }
    }
}

impl Matrix for Packed {
    type Vector = Vec<f32>;
    type Place = Packing;

    fn make(rows: &MatrixRows, place: &Packing) -> Result<Packed> {
        let Packing { precision, threads } = place;
        if *precision != Precision::Native {
            let part = rows.all_filled(|n, fill| Wide::pack_rows(n, rows.inputs, *precision, fill))?;
            return Ok(Packed::stack(vec![Part::Wide(part)]));
        }
        let part = |piece: &Piece| -> Result<Part> {
            let Some((format, stored)) = rows.weights.blocks(&piece.name)? else {
                let pieces = std::slice::from_ref(piece);
                let wide = rows.filled(pieces, |n, fill| Wide::pack_rows(n, rows.inputs, *precision, fill))?;
                return Ok(Part::Wide(wide));
            };
            let row = |row: usize| stored.clone().nth(piece.stored_row(row)).context("it has fewer rows");
            let blocks = Blocks::pack(format, [piece.rows, rows.inputs], threads, row);
            rows.weights.forget(&piece.name);
            Ok(Part::Blocks(blocks.with_context(|| format!("tensor {}", piece.name))?))
        };
        Ok(Packed::stack(rows.pieces.iter().map(part).collect::<Result<_>>()?))
    }

    fn vector(numbers: Vec<f32>, _: &Packing) -> Result<Vec<f32>> {
        Ok(numbers)
    }

    fn bytes(&self) -> usize {
        Packed::bytes(self)
    }

    fn gives_rows(&self) -> bool {
        Packed::gives_rows(self)
    }
}

/// A product and what is added to it.
#[derive(Debug)]
pub struct Linear<M: Matrix = Packed> {
    pub weight: M,
    pub bias: Option<M::Vector>,
}

/// Gemma 4's extra input of one layer.
#[derive(Debug)]
pub struct PerLayerGate<M: Matrix = Packed> {
    pub gate: M,
    pub projection: M,
    pub norm: M::Vector,
}

/// One layer's weights.
#[derive(Debug)]
pub struct Layer<M: Matrix = Packed> {
    pub shape: LayerConfig,
    pub attention_norm: Option<M::Vector>,
    /// Queries, then (where the layer has its own) keys and values, of one token after the other.
    pub qkv: Linear<M>,
    pub query_norm: Option<M::Vector>,
    pub key_norm: Option<M::Vector>,
    pub output: Linear<M>,
    pub attention_post_norm: Option<M::Vector>,
    pub mlp_norm: Option<M::Vector>,
    /// Gates, then ups.
    pub gate_up: Linear<M>,
    pub down: Linear<M>,
    pub mlp_post_norm: Option<M::Vector>,
    pub per_layer: Option<PerLayerGate<M>>,
    pub scalar: f32,
}

/// Gemma 4's extra inputs: one embedding a layer, read from the file when a token comes.
#[derive(Debug)]
pub struct PerLayerInputs<M: Matrix = Packed> {
    pub embedding: String,
    pub projection: M,
    pub norm: M::Vector,
}

/// A decoder ready to compute.
#[derive(Debug)]
pub struct Decoder<M: Matrix = Packed> {
    pub config: Config,
    pub layers: Vec<Layer<M>>,
    pub final_norm: M::Vector,
    /// The head; where it is tied, also the embedding.
    pub head: M,
    /// The embedding's name in the file, where it is not tied.
    pub embedding: Option<String>,
    pub per_layer_inputs: Option<PerLayerInputs<M>>,
    pub weights: Weights,
    pub place: M::Place,
}

/// Hears the share of layers loaded; can stop it.
pub type LoadTick<'a> = dyn FnMut(usize, usize) -> ControlFlow<()> + 'a;

impl<M: Matrix> Decoder<M> {
    pub fn load(
        config: Config,
        weights: Weights,
        layout: &Layout,
        place: M::Place,
        tick: &mut LoadTick,
    ) -> Result<Decoder<M>> {
        let vocab = config.vocab;
        let total = config.layers.len() + 1;
        let mut decoder: Decoder<M> = Decoder::without_layers(config, weights, layout, place)?;
        for index in 0..total - 1 {
            decoder.layers.push(decoder.read_layer(layout, index)?);
            if tick(index + 1, total).is_break() {
                bail!("loading was stopped");
            }
        }
        decoder.head = decoder.read_head(layout, 0..vocab)?;
        if decoder.config.tied && decoder.head.gives_rows() {
            decoder.embedding = None;
        }
        let _ = tick(total, total);
        Ok(decoder)
    }

    /// A decoder whose layers and head are read when they are needed ([`Decoder::read_layer`], [`Decoder::read_head`]): it
    /// has no layers, of the head the first row only, and reads embeddings from the file.
    pub fn without_layers(
        mut config: Config,
        weights: Weights,
        layout: &Layout,
        place: M::Place,
    ) -> Result<Decoder<M>> {
        // A file without a head of its own is tied, whatever the configuration's default says.
        config.tied = config.tied || !weights.has(&layout.head());
        let loader = Loader::<M> {
            config: &config,
            weights: &weights,
            layout,
            place: &place,
        };
        let final_norm = loader.vector(&layout.whole("norm.weight"), config.hidden)?;
        let embedding = layout.embedding();
        weights.expect_shape(&embedding, &[config.vocab, config.hidden])?;
        let head = loader.head(0..1)?;
        let per_layer_inputs = loader.per_layer_inputs()?;
        Ok(Decoder {
            config,
            layers: Vec::new(),
            final_norm,
            head,
            embedding: Some(embedding),
            per_layer_inputs,
            weights,
            place,
        })
    }

    /// A layer, from the file.
    pub fn read_layer(&self, layout: &Layout, index: usize) -> Result<Layer<M>> {
        self.loader(layout).layer(index)
    }

    /// Some rows of the head, from the file.
    pub fn read_head(&self, layout: &Layout, rows: Range<usize>) -> Result<M> {
        self.loader(layout).head(rows)
    }

    fn loader<'a>(&'a self, layout: &'a Layout) -> Loader<'a, M> {
        Loader {
            config: &self.config,
            weights: &self.weights,
            layout,
            place: &self.place,
        }
    }

    /// Memory of the matrices as they are computed with.
    pub fn weight_bytes(&self) -> u64 {
        let layer = |layer: &Layer<M>| {
            let extra = layer.per_layer.as_ref();
            let extra = extra.map_or(0, |extra| extra.gate.bytes() + extra.projection.bytes());
            let products = [&layer.qkv, &layer.output, &layer.gate_up, &layer.down];
            products.iter().map(|product| product.weight.bytes()).sum::<usize>() + extra
        };
        let inputs = self
            .per_layer_inputs
            .as_ref()
            .map_or(0, |inputs| inputs.projection.bytes());
        (self.layers.iter().map(layer).sum::<usize>() + self.head.bytes() + inputs) as u64
    }
}

/// One of the projections stacked in a product.
struct Projection {
    stem: &'static str,
    rows: usize,
    /// Heads whose rows a GGUF file may hold in interleaved pairs.
    heads: Option<usize>,
}

impl Projection {
    fn plain(stem: &'static str, rows: usize) -> Projection {
        Projection {
            stem,
            rows,
            heads: None,
        }
    }
}

struct Loader<'a, M: Matrix> {
    config: &'a Config,
    weights: &'a Weights,
    layout: &'a Layout,
    place: &'a M::Place,
}

impl<M: Matrix> Loader<'_, M> {
    fn vector(&self, name: &str, length: usize) -> Result<M::Vector> {
        M::vector(self.weights.vector(name, length)?, self.place)
    }

    fn layer(&self, index: usize) -> Result<Layer<M>> {
        let config = self.config;
        let shape = config.layers[index].clone();
        let hidden = config.hidden;
        let query_width = config.heads * shape.head_dim;
        let key_width = shape.kv_heads * shape.head_dim;
        let norm = |length: usize, stem: &str| {
            let name = self.layout.layer(index, stem, "weight");
            (length > 0).then(|| self.vector(&name, length)).transpose()
        };
        let places = config.norm_places;
        let before = if places == NormPlaces::After { 0 } else { hidden };
        let after = if places == NormPlaces::Before { 0 } else { hidden };
        let mlp_norm = if after == 0 {
            "post_attention_layernorm"
        } else {
            "pre_feedforward_layernorm"
        };
        let (query_norm, key_norm) = match config.qk_norm {
            QkNorm::None => (0, 0),
            QkNorm::PerHead => (shape.head_dim, shape.head_dim),
            QkNorm::AllHeads => (query_width, key_width),
        };
        let key_norm = if shape.shares_kv_of.is_none() { key_norm } else { 0 };
        let gate_up = if config.fused_projections {
            vec![Projection::plain("mlp.gate_up_proj", 2 * shape.mlp)]
        } else {
            ["mlp.gate_proj", "mlp.up_proj"]
                .map(|stem| Projection::plain(stem, shape.mlp))
                .into()
        };
        let output = [Projection::plain("self_attn.o_proj", hidden)];
        let down = [Projection::plain("mlp.down_proj", hidden)];
        let scalar = self.layout.layer(index, "layer_scalar", "");
        Ok(Layer {
            attention_norm: norm(before, "input_layernorm")?,
            qkv: self.linear(index, &self.queries_keys_values(index), hidden, config.qkv_bias)?,
            query_norm: norm(query_norm, "self_attn.q_norm")?,
            key_norm: norm(key_norm, "self_attn.k_norm")?,
            output: self.linear(index, &output, query_width, config.output_bias)?,
            attention_post_norm: norm(after, "post_attention_layernorm")?,
            mlp_norm: norm(before, mlp_norm)?,
            gate_up: self.linear(index, &gate_up, hidden, config.mlp_bias)?,
            down: self.linear(index, &down, shape.mlp, config.mlp_bias)?,
            mlp_post_norm: norm(after, "post_feedforward_layernorm")?,
            per_layer: self.per_layer_gate(index)?,
            scalar: if config.layer_scalar {
                self.weights.vector(&scalar, 1)?[0]
            } else {
                1.0
            },
            shape,
        })
    }

    fn queries_keys_values(&self, index: usize) -> Vec<Projection> {
        let (config, shape) = (self.config, &self.config.layers[index]);
        let (queries, keys) = (config.heads * shape.head_dim, shape.kv_heads * shape.head_dim);
        if config.fused_projections {
            return vec![Projection::plain("self_attn.qkv_proj", queries + 2 * keys)];
        }
        let mut parts = vec![Projection {
            stem: "self_attn.q_proj",
            rows: queries,
            heads: Some(config.heads),
        }];
        if shape.shares_kv_of.is_none() {
            parts.push(Projection {
                stem: "self_attn.k_proj",
                rows: keys,
                heads: Some(shape.kv_heads),
            });
            if !shape.values_are_keys {
                parts.push(Projection::plain("self_attn.v_proj", keys));
            }
        }
        parts
    }

    fn per_layer_gate(&self, index: usize) -> Result<Option<PerLayerGate<M>>> {
        let Some(input) = self.config.per_layer_input else {
            return Ok(None);
        };
        let hidden = self.config.hidden;
        let norm = self.layout.layer(index, "post_per_layer_input_norm", "weight");
        Ok(Some(PerLayerGate {
            gate: self
                .linear(
                    index,
                    &[Projection::plain("per_layer_input_gate", input.width)],
                    hidden,
                    false,
                )?
                .weight,
            projection: self
                .linear(
                    index,
                    &[Projection::plain("per_layer_projection", hidden)],
                    input.width,
                    false,
                )?
                .weight,
            norm: self.vector(&norm, hidden)?,
        }))
    }

    fn per_layer_inputs(&self) -> Result<Option<PerLayerInputs<M>>> {
        let Some(input) = self.config.per_layer_input else {
            return Ok(None);
        };
        let width = input.width * self.config.layers.len();
        let embedding = self.layout.whole("embed_tokens_per_layer.weight");
        self.weights.expect_shape(&embedding, &[input.vocab, width])?;
        let projection = Piece::whole(self.layout.whole("per_layer_model_projection.weight"), width);
        Ok(Some(PerLayerInputs {
            embedding,
            projection: self.matrix(&[projection], self.config.hidden)?,
            norm: self.vector(&self.layout.whole("per_layer_projection_norm.weight"), input.width)?,
        }))
    }

    /// Some rows of the head, which is the embedding where they are tied.
    fn head(&self, rows: Range<usize>) -> Result<M> {
        let config = self.config;
        let name = if config.tied {
            self.layout.embedding()
        } else {
            self.layout.head()
        };
        let piece = Piece {
            rows: rows.len(),
            first: rows.start,
            ..Piece::whole(name, config.vocab)
        };
        self.matrix(&[piece], config.hidden)
    }

    /// Projections of one layer, stacked.
    fn linear(&self, index: usize, parts: &[Projection], inputs: usize, has_bias: bool) -> Result<Linear<M>> {
        let permuted = *self.layout == Layout::Gguf { permuted: true };
        let piece = |part: &Projection| Piece {
            name: self.layout.layer(index, part.stem, "weight"),
            rows: part.rows,
            pair_rows: part.heads.filter(|_| permuted).map(|heads| part.rows / heads),
            first: 0,
            of: part.rows,
        };
        let pieces: Vec<Piece> = parts.iter().map(piece).collect();
        let mut bias = None;
        if has_bias {
            let mut all = Vec::new();
            for (part, piece) in parts.iter().zip(&pieces) {
                let values = self
                    .weights
                    .vector(&self.layout.layer(index, part.stem, "bias"), part.rows)?;
                all.extend((0..part.rows).map(|row| values[piece.stored_row(row)]));
            }
            bias = Some(M::vector(all, self.place)?);
        }
        Ok(Linear {
            weight: self.matrix(&pieces, inputs)?,
            bias,
        })
    }

    fn matrix(&self, pieces: &[Piece], inputs: usize) -> Result<M> {
        for piece in pieces {
            self.weights.expect_shape(&piece.name, &[piece.of, inputs])?;
        }
        let rows = MatrixRows {
            weights: self.weights,
            pieces,
            inputs,
        };
        ensure!(
            rows.outputs(pieces) > 0 && inputs > 0,
            "tensor {} is empty",
            pieces[0].name
        );
        M::make(&rows, self.place)
    }
}

/// The rows of a product's matrix, in the file.
#[derive(Debug)]
pub struct MatrixRows<'a> {
    weights: &'a Weights,
    pieces: &'a [Piece],
    pub inputs: usize,
}

impl MatrixRows<'_> {
    fn outputs(&self, pieces: &[Piece]) -> usize {
        pieces.iter().map(|piece| piece.rows).sum()
    }

    /// What `make` makes of all rows: it hears how many, and of a function that writes row after row as f32.
    pub fn all_filled<T>(&self, make: impl FnOnce(usize, &mut dyn FnMut(usize, &mut [f32])) -> T) -> Result<T> {
        self.filled(self.pieces, make)
    }

    fn filled<T>(
        &self,
        pieces: &[Piece],
        make: impl FnOnce(usize, &mut dyn FnMut(usize, &mut [f32])) -> T,
    ) -> Result<T> {
        let mut reader = PieceReader {
            weights: self.weights,
            pieces,
            before: 0,
            buffer: Vec::new(),
            held: 0..0,
        };
        let mut failure = None;
        let made = make(self.outputs(pieces), &mut |row, out| {
            if failure.is_none() {
                failure = reader.read(row, out).err();
            }
        });
        failure.map_or(Ok(made), Err)
    }
}

/// One stretch of a product's rows: a tensor, or some rows of it.
#[derive(Debug)]
struct Piece {
    name: String,
    rows: usize,
    /// Where they begin in the tensor, and how many that has.
    first: usize,
    of: usize,
    /// Rows of a head, where they stand in interleaved pairs and are to be put back in halves.
    pair_rows: Option<usize>,
}

impl Piece {
    fn whole(name: String, rows: usize) -> Piece {
        Piece {
            name,
            rows,
            first: 0,
            of: rows,
            pair_rows: None,
        }
    }

    /// Where a row stands in the file: llama.cpp's converter turns halves (i, i + d/2) of a head into pairs (2i, 2i + 1).
    fn stored_row(&self, row: usize) -> usize {
        match self.pair_rows {
            None => self.first + row,
            Some(head) => {
                let (start, within) = (row - row % head, row % head);
                let half = head / 2;
                if half == 0 {
                    row
                } else {
                    start + 2 * (within % half) + within / half
                }
            }
        }
    }
}

/// Reads the rows of stacked tensors in order, a few at a time.
struct PieceReader<'a> {
    weights: &'a Weights,
    /// What is left to read.
    pieces: &'a [Piece],
    /// Rows of the pieces that are done.
    before: usize,
    buffer: Vec<f32>,
    /// The rows of the current piece that are in the buffer.
    held: Range<usize>,
}

impl PieceReader<'_> {
    fn read(&mut self, row: usize, out: &mut [f32]) -> Result<()> {
        while row - self.before >= self.pieces[0].rows {
            self.before += self.pieces[0].rows;
            self.pieces = &self.pieces[1..];
            self.held = 0..0;
        }
        let piece = &self.pieces[0];
        let stored = piece.stored_row(row - self.before);
        if !self.held.contains(&stored) {
            let step = piece.pair_rows.unwrap_or(64);
            let start = stored - stored % step;
            self.held = start..(start + step).min(piece.of);
            self.buffer.resize(self.held.len() * out.len(), 0.0);
            self.weights.rows(&piece.name, self.held.clone(), &mut self.buffer)?;
        }
        out.copy_from_slice(&self.buffer[(stored - self.held.start) * out.len()..][..out.len()]);
        Ok(())
    }
}
