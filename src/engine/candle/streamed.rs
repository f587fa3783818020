//! Scores in f32 of a model that computes in another width, in little memory: a layer is read from the file, all prompts
//! go through it, and it is dropped before the next. The same kernels in the same order: the same bits as in an f32 run.

use std::ops::ControlFlow;
use std::path::Path;

use anyhow::{Result, bail};

use super::CandleEngine;
use super::cache::{KvStore, NodeId};
use super::decoder::{Decoder, Layout, Packing};
use super::forward::{LayerAt, Part, Scratch, Work};
use super::inputs::{Item, Open};
use super::kernel::{Packed, Precision};
use super::open;
use crate::engine::{Request, Scores};

/// Rows of the head read at once.
const HEAD_ROWS: usize = 4096;
/// Rows of logits made at once.
const LOGIT_ROWS: usize = 64;

/// The f32 scores of each request by the model at `path`, from which `engine` was loaded; none for what is too long.
/// `tick` hears how many layers are done, and of how many.
pub fn scores(
    engine: &CandleEngine,
    path: &Path,
    requests: &[Request],
    tick: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
) -> Result<Vec<Option<Scores>>> {
    let opened = open::open(path, "config.json")?;
    let layout = opened.layout;
    let decoder = Decoder::without_layers(opened.config, opened.weights, &layout, Packing::alone(Precision::F32))?;
    let mut opens = Vec::with_capacity(requests.len());
    let mut items = Vec::new();
    for (at, request) in requests.iter().enumerate() {
        let open = Open::new(engine, request, usize::MAX)?.ok();
        opens.push(open.map(|(open, mut own)| {
            own.iter_mut().for_each(|item| item.request = at);
            items.append(&mut own);
            open
        }));
    }
    let hidden = through_layers(engine, &decoder, &layout, &items, tick)?;
    read_logits(engine, decoder, &layout, &items, &hidden, &mut opens)?;
    Ok(opens.into_iter().map(|open| open.map(Open::into_scores)).collect())
}

/// The hidden states of all rows that tell a continuation's token, item after item.
fn through_layers(
    engine: &CandleEngine,
    decoder: &Decoder,
    layout: &Layout,
    items: &[Item],
    tick: &mut dyn FnMut(usize, usize) -> ControlFlow<()>,
) -> Result<Vec<f32>> {
    let mut store = KvStore::new(&decoder.config);
    let nodes: Vec<NodeId> = items.iter().map(|_| store.branch(None)).collect();
    let parts: Vec<Part> = nodes
        .iter()
        .zip(items)
        .map(|(node, item)| Part {
            node: *node,
            tokens: &item.tokens,
            wanted: item.first_row..item.tokens.len(),
        })
        .collect();
    let (mut scratch, threads) = (Scratch::default(), &engine.threads);
    let mut pass = decoder.begin(&store, &parts, &mut scratch, threads);
    let layers = &decoder.config.layers;
    for index in 0..layers.len() {
        let layer = &decoder.read_layer(layout, index)?;
        let work = Work {
            scratch: &mut scratch,
            threads,
        };
        decoder.through(LayerAt { layer, index }, &mut pass, &mut store, work);
        let is_shared = layers[index + 1..]
            .iter()
            .any(|later| later.shares_kv_of == Some(index));
        if !is_shared {
            store.forget(index);
        }
        if tick(index + 1, layers.len()).is_break() {
            bail!("the comparison with f32 was stopped");
        }
    }
    Ok(decoder.end(&pass, &mut store, &scratch))
}

fn read_logits(
    engine: &CandleEngine,
    mut decoder: Decoder<Packed>,
    layout: &Layout,
    items: &[Item],
    hidden: &[f32],
    opens: &mut [Option<Open>],
) -> Result<()> {
    let (width, vocab) = (decoder.config.hidden, decoder.config.vocab);
    let rows: Vec<(&Item, usize)> = items
        .iter()
        .flat_map(|item| (0..item.tokens.len() - item.first_row).map(move |offset| (item, offset)))
        .collect();
    for (rows, hidden) in rows.chunks(LOGIT_ROWS).zip(hidden.chunks(LOGIT_ROWS * width)) {
        let mut logits = vec![0.0; rows.len() * vocab];
        for first in (0..vocab).step_by(HEAD_ROWS) {
            let last = (first + HEAD_ROWS).min(vocab);
            decoder.head = decoder.read_head(layout, first..last)?;
            let mut part = vec![0.0; rows.len() * (last - first)];
            decoder.head.matmul(hidden, &mut part, &engine.threads);
            for (all, part) in logits.chunks_exact_mut(vocab).zip(part.chunks_exact(last - first)) {
                all[first..last].copy_from_slice(part);
            }
        }
        decoder.shape_logits(&mut logits, &engine.threads);
        for ((item, offset), logits) in rows.iter().zip(logits.chunks_exact(vocab)) {
            if let Some(open) = &mut opens[item.request] {
                open.read(item, *offset, logits, engine);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::candle::tests::{answers, open, score, tiny};
    use crate::engine::candle::{Device, Dtype, Options};

    #[test]
    fn a_model_read_layer_by_layer_gives_the_bits_of_an_f32_run() {
        for kind in tiny::KINDS {
            let folder = tiny::model(kind);
            let options = |dtype| Options {
                dtype,
                threads: 1,
                device: Device::Cpu,
                kv_budget_bytes: Some(64 << 20),
                ..Options::default()
            };
            let long = "x".repeat(500);
            let requests = || {
                vec![
                    score(0, "The first question is this one.", &[" A", " B", " longer"]),
                    score(1, "And another", &[" A", &long]),
                    score(2, &long, &[" C"]),
                ]
            };
            let narrow = open(folder.path(), &options(Dtype::Bf16));
            let mut layers = 0;
            let streamed = scores(&narrow, folder.path(), &requests(), &mut |done, of| {
                layers += 1;
                assert!(done == layers && done <= of);
                ControlFlow::Continue(())
            });
            let streamed = streamed.unwrap();
            assert!(streamed[1].is_none(), "a continuation longer than the model's context");
            let mut wide = open(folder.path(), &options(Dtype::F32));
            let kept = requests().into_iter().filter(|request| request.id != 1).collect();
            for (id, scores) in answers(&mut wide, kept).0 {
                assert_eq!(streamed[id].as_ref(), Some(&scores), "{kind} {id}");
            }
        }
    }
}
