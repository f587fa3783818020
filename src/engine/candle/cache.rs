//! Keys and values in plain memory, as a tree: a sequence holds only what comes after the place where it left another
//! one, and reads everything before that in place. Prompts that begin alike, and the attempts of one prompt, share so.

use anyhow::Result;
use candle_core::Tensor;

use super::config::Config;
use super::kernel::KeyValues;

/// A sequence in a [`KvStore`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(usize);

#[derive(Debug, Default)]
struct LayerKv {
    keys: Vec<f32>,
    values: Vec<f32>,
    /// Keys and values [tokens, heads, head_dim] on a device, instead.
    tensors: Option<(Tensor, Tensor)>,
}

#[derive(Debug)]
struct Node {
    parent: Option<NodeId>,
    /// Position of the first own token: where it leaves its parent.
    start: usize,
    /// Own tokens that are there.
    length: usize,
    layers: Vec<LayerKv>,
    /// Holders: whoever made it, and its children.
    users: usize,
}

/// The keys and values of all living sequences.
#[derive(Debug)]
pub struct KvStore {
    nodes: Vec<Option<Node>>,
    free: Vec<usize>,
    /// Numbers a token takes in each layer's keys (and as many in its values).
    widths: Vec<usize>,
    tokens: usize,
    most_tokens: usize,
}

impl KvStore {
    pub fn new(config: &Config) -> KvStore {
        let width = |layer: &super::config::LayerConfig| match layer.shares_kv_of {
            Some(_) => 0,
            None => layer.kv_heads * layer.head_dim,
        };
        KvStore {
            nodes: vec![],
            free: vec![],
            widths: config.layers.iter().map(width).collect(),
            tokens: 0,
            most_tokens: 0,
        }
    }

    /// Memory that one token's keys and values take.
    pub fn bytes_per_token(&self) -> usize {
        self.widths.iter().sum::<usize>() * 2 * size_of::<f32>()
    }

    /// Tokens held at present.
    pub fn tokens(&self) -> usize {
        self.tokens
    }

    /// Most tokens held at any time.
    pub fn most_tokens(&self) -> usize {
        self.most_tokens
    }

    /// A sequence that goes on after the first `start` tokens of `parent`'s (all its ancestors' included), or a new one
    /// from position 0. The parent may still be without its tokens if both are computed in one pass.
    pub fn branch(&mut self, parent: Option<(NodeId, usize)>) -> NodeId {
        let (parent, start) = match parent {
            None => (None, 0),
            Some((mut id, start)) => {
                // The place may lie before the parent's own first token: then an ancestor is the true parent.
                loop {
                    let node = self.node(id);
                    match node.parent {
                        Some(above) if start <= node.start => id = above,
                        _ => break,
                    }
                }
                if start == 0 { (None, 0) } else { (Some(id), start) }
            }
        };
        if let Some(id) = parent {
            self.node_mut(id).users += 1;
        }
        let layers = self.widths.iter().map(|_| LayerKv::default()).collect();
        let node = Node {
            parent,
            start,
            length: 0,
            layers,
            users: 1,
        };
        if let Some(slot) = self.free.pop() {
            self.nodes[slot] = Some(node);
            NodeId(slot)
        } else {
            self.nodes.push(Some(node));
            NodeId(self.nodes.len() - 1)
        }
    }

    /// One more holder of a sequence.
    pub fn hold(&mut self, id: NodeId) {
        self.node_mut(id).users += 1;
    }

    /// Gives up one hold on a sequence; its memory goes when nobody holds it and no other one reads it.
    pub fn release(&mut self, id: NodeId) {
        let mut next = Some(id);
        while let Some(id) = next {
            let node = self.node_mut(id);
            node.users -= 1;
            if node.users > 0 {
                return;
            }
            next = node.parent;
            let length = node.length;
            self.tokens -= length;
            self.nodes[id.0] = None;
            self.free.push(id.0);
        }
    }

    /// Positions covered, ancestors' included.
    pub fn end(&self, id: NodeId) -> usize {
        let node = self.node(id);
        node.start + node.length
    }

    /// Makes room for `count` more tokens in a layer.
    pub fn grow(&mut self, id: NodeId, layer: usize, count: usize) {
        let width = self.widths[layer];
        let kv = &mut self.node_mut(id).layers[layer];
        grow(&mut kv.keys, count * width);
        grow(&mut kv.values, count * width);
    }

    /// Keys and values of the latest `count` tokens of a layer, to be written.
    pub fn latest(&mut self, id: NodeId, layer: usize, count: usize) -> (&mut [f32], &mut [f32]) {
        let width = self.widths[layer];
        let kv = &mut self.node_mut(id).layers[layer];
        let from = kv.keys.len() - count * width;
        (&mut kv.keys[from..], &mut kv.values[from..])
    }

    /// Gives up the keys and values of a layer that nothing will read any more.
    pub fn forget(&mut self, layer: usize) {
        for node in self.nodes.iter_mut().flatten() {
            node.layers[layer] = LayerKv::default();
        }
    }

    /// Counts tokens as there, after every layer has got theirs.
    pub fn advance(&mut self, id: NodeId, count: usize) {
        self.tokens += count;
        self.most_tokens = self.most_tokens.max(self.tokens);
        self.node_mut(id).length += count;
    }

    /// The keys and values of a sequence in one layer, from position 0 on: its ancestors' parts, then its own.
    pub fn segments(&self, id: NodeId, layer: usize) -> Vec<KeyValues<'_>> {
        let width = self.widths[layer];
        let mut segments = Vec::new();
        let (mut next, mut end) = (Some(id), usize::MAX);
        while let Some(id) = next {
            let node = self.node(id);
            let kv = &node.layers[layer];
            let length = (end.saturating_sub(node.start))
                .saturating_mul(width)
                .min(kv.keys.len());
            if length > 0 {
                segments.push(KeyValues {
                    keys: &kv.keys[..length],
                    values: &kv.values[..length],
                });
            }
            (next, end) = (node.parent, node.start);
        }
        segments.reverse();
        segments
    }

    /// Adds keys and values [tokens, heads, head_dim] that lie on a device.
    pub fn append_tensors(&mut self, id: NodeId, layer: usize, keys: Tensor, values: Tensor) -> Result<()> {
        let held = &mut self.node_mut(id).layers[layer].tensors;
        *held = Some(match held.take() {
            None => (keys, values),
            Some((before_keys, before_values)) => (
                Tensor::cat(&[before_keys, keys], 0)?,
                Tensor::cat(&[before_values, values], 0)?,
            ),
        });
        Ok(())
    }

    /// The keys and values of a sequence in one layer of a device, from position 0 on.
    pub fn tensors(&self, id: NodeId, layer: usize) -> Result<(Tensor, Tensor)> {
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        let (mut next, mut end) = (Some(id), usize::MAX);
        while let Some(id) = next {
            let node = self.node(id);
            if let Some((own_keys, own_values)) = &node.layers[layer].tensors {
                let length = own_keys.dims()[0].min(end.saturating_sub(node.start));
                keys.push(own_keys.narrow(0, 0, length)?);
                values.push(own_values.narrow(0, 0, length)?);
            }
            (next, end) = (node.parent, node.start);
        }
        keys.reverse();
        values.reverse();
        Ok((Tensor::cat(&keys, 0)?, Tensor::cat(&values, 0)?))
    }

    fn node(&self, id: NodeId) -> &Node {
        self.nodes[id.0].as_ref().expect("a held sequence is not freed")
    }

    fn node_mut(&mut self, id: NodeId) -> &mut Node {
        self.nodes[id.0].as_mut().expect("a held sequence is not freed")
    }
}

/// Lengthens by `count` zeros, taking a quarter more memory at a time instead of doubling it.
fn grow(numbers: &mut Vec<f32>, count: usize) {
    let needed = numbers.len() + count;
    if needed > numbers.capacity() {
        numbers.reserve_exact(count.max(numbers.len() / 4));
    }
    numbers.resize(needed, 0.0);
}
