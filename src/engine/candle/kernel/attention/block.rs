//! One block of keys and values, laid out for the inner loop.

use super::super::simd::Simd;
use super::super::tile::LINE;
use super::task::Place;
use super::{AttentionShape, BLOCK, KeyValues};

/// Columns of a tile come in multiples of this.
const STRIP: usize = 32;

/// Room for one key-value head's block.
#[derive(Debug, Default)]
pub(super) struct Block {
    /// Keys as columns: [head_dim, BLOCK].
    columns: Vec<f32>,
    /// Rows gathered where they do not lie in one segment, or are not as wide as a tile's columns: [BLOCK, padded head_dim].
    keys: Vec<f32>,
    values: Vec<f32>,
}

/// A block ready for use.
#[derive(Debug, Clone, Copy)]
pub(super) struct Loaded<'a> {
    /// Keys as columns: [head_dim, BLOCK]; those past the last key are not defined.
    pub(super) columns: &'a [f32],
    /// Values as rows, `stride` apart.
    pub(super) values: &'a [f32],
    pub(super) stride: usize,
    /// Values needed next.
    pub(super) ahead: &'a [f32],
}

/// A head's dimensions with the padding of a tile.
pub(super) fn padded(shape: &AttentionShape) -> usize {
    shape.head_dim.next_multiple_of(STRIP)
}

/// Keys and values of a block to fetch while another is computed: a key-value head's share of what lies together in one segment.
pub(super) fn ahead<'a>(
    segments: &[KeyValues<'a>],
    shape: &AttentionShape,
    kv_head: usize,
    block: usize,
) -> KeyValues<'a> {
    let Some((segment, row)) = find(segments, shape.width(), block * BLOCK) else {
        return KeyValues::default();
    };
    let numbers = BLOCK * shape.width();
    let from = (row * shape.width() + numbers * kv_head / shape.kv_heads).min(segment.keys.len());
    let to = (row * shape.width() + numbers * (kv_head + 1) / shape.kv_heads).min(segment.keys.len());
    KeyValues {
        keys: &segment.keys[from..to],
        values: &segment.values[from..to],
    }
}

impl Block {
    /// Lays out a block of the keys that the segments hold one after another, and fetches what is needed next.
    #[inline(always)]
    pub(super) fn load<'a, S: Simd>(
        &'a mut self,
        simd: S,
        segments: &[KeyValues<'a>],
        shape: &AttentionShape,
        place: Place,
        next: KeyValues<'a>,
    ) -> Loaded<'a> {
        let (width, head) = (shape.width(), place.kv_head * shape.head_dim);
        self.columns.resize(shape.head_dim * BLOCK, 0.0);
        let whole = find(segments, width, place.block * BLOCK)
            .filter(|(segment, row)| (row + BLOCK) * width <= segment.keys.len());
        if let Some((segment, row)) = whole {
            let (keys, values) = (
                &segment.keys[row * width + head..],
                &segment.values[row * width + head..],
            );
            columns(simd, keys, width, shape.head_dim, BLOCK, &mut self.columns, next.keys);
            if shape.head_dim.is_multiple_of(STRIP) {
                return Loaded {
                    columns: &self.columns,
                    values,
                    stride: width,
                    ahead: next.values,
                };
            }
            self.gather(segments, shape, head, place.block);
        } else {
            let rows = self.gather(segments, shape, head, place.block);
            columns(
                simd,
                &self.keys,
                padded(shape),
                shape.head_dim,
                rows,
                &mut self.columns,
                next.keys,
            );
        }
        Loaded {
            columns: &self.columns,
            values: &self.values,
            stride: padded(shape),
            ahead: next.values,
        }
    }

    /// Copies a block's rows together, as many as there are.
    fn gather(&mut self, segments: &[KeyValues], shape: &AttentionShape, head: usize, block: usize) -> usize {
        let (width, padded) = (shape.width(), padded(shape));
        self.keys.resize(BLOCK * padded, 0.0);
        self.values.resize(BLOCK * padded, 0.0);
        let (mut rows, mut skip) = (0, block * BLOCK);
        for segment in segments {
            let keys = segment.keys.chunks_exact(width).zip(segment.values.chunks_exact(width));
            let tokens = keys.len();
            for (key, value) in keys.skip(skip).take(BLOCK - rows) {
                self.keys[rows * padded..][..shape.head_dim].copy_from_slice(&key[head..][..shape.head_dim]);
                self.values[rows * padded..][..shape.head_dim].copy_from_slice(&value[head..][..shape.head_dim]);
                rows += 1;
            }
            skip = skip.saturating_sub(tokens);
        }
        rows
    }
}

/// The segment that holds the key of a position, and the row there.
fn find<'a>(segments: &[KeyValues<'a>], width: usize, position: usize) -> Option<(KeyValues<'a>, usize)> {
    let mut first = 0;
    for segment in segments {
        let tokens = segment.keys.len() / width;
        if position < first + tokens {
            return Some((*segment, position - first));
        }
        first += tokens;
    }
    None
}

/// Turns rows of keys, `stride` apart, into columns [head_dim, BLOCK].
#[inline(always)]
fn columns<S: Simd>(simd: S, keys: &[f32], stride: usize, head_dim: usize, rows: usize, out: &mut [f32], next: &[f32]) {
    let fours = head_dim / 4 * 4;
    let mut next = next.chunks(LINE);
    for key in (0..rows).step_by(S::LANES) {
        let keys = &keys[key * stride..];
        for d in (0..fours).step_by(4) {
            // As many lines as these rows have.
            for _ in 0..S::LANES / 4 {
                if let Some(line) = next.next() {
                    simd.prefetch(line);
                }
            }
            simd.transpose4(&keys[d..], stride, &mut out[d * BLOCK + key..], BLOCK);
        }
        for d in fours..head_dim {
            for i in 0..S::LANES {
                out[d * BLOCK + key + i] = keys[i * stride + d];
            }
        }
    }
}
