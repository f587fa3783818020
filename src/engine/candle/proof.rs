//! Proof that a decoder computes what the reference implementation computes: a tiny model's logits and greedy tokens
//! against a file of expected ones, along every way the engine walks (whole, step by step, in chunks, packed, forked).

use std::ops::ControlFlow;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::cache::{KvStore, NodeId};
use super::forward::{Part, Scratch};
use super::kernel::{Precision, Threads, argmax};
use super::model::Model;
use super::open::{self, open_decoder, open_tensors};

/// Expected values of one token sequence.
#[derive(Debug, Clone, Deserialize)]
pub struct ExpectedSequence {
    pub ids: Vec<u32>,
    /// All logits at the last position.
    pub last_logits: Vec<f32>,
    /// The likeliest token at every position.
    pub argmax: Vec<u32>,
    /// The five largest logits at every position.
    pub top5: Vec<Vec<f32>>,
    /// The greedy tokens that follow.
    pub greedy: Vec<u32>,
}

/// Expected values of one model.
#[derive(Debug, Clone, Deserialize)]
pub struct Expected {
    pub sequences: Vec<ExpectedSequence>,
}

impl Expected {
    pub fn read(path: &Path) -> Result<Expected> {
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        serde_json::from_str(&text).with_context(|| format!("{} is not a file of expected logits", path.display()))
    }
}

/// A decoder at work on single sequences.
struct Walk<'a> {
    model: &'a Model,
    store: KvStore,
    scratch: Scratch,
    threads: Threads,
    /// Largest difference of a logit so far.
    worst: f32,
    /// Positions where another token was likeliest.
    other_picks: usize,
    failure: Option<anyhow::Error>,
}

/// Largest difference of a logit that is still rounding.
pub const TOLERANCE: f32 = 5e-4;

/// The ways along which a decoder is proved.
pub const WAYS: [&str; 6] = [
    "whole prefill",
    "step by step",
    "two chunks below and beyond the window",
    "packed with others",
    "forked",
    "greedy",
];

/// Where a proof ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Proof {
    /// Largest absolute difference of a logit.
    pub difference: f32,
    /// Positions at which another token was likeliest.
    pub other_picks: usize,
    /// Sequences whose greedy tokens differ.
    pub other_greedy: usize,
    /// For a decoder that computes with blocks: its largest difference from the f32 logits, as its activations are rounded. What
    /// is compared above is then each way with one whole pass.
    pub from_f32: Option<f32>,
}

/// Largest difference of a logit that the rounding of activations to bytes may make in a tiny model.
const BLOCKS_TOLERANCE: f32 = 1.0;

impl Proof {
    /// Whether the decoder computes what the reference does.
    pub fn holds(&self) -> bool {
        let is_near = self.from_f32.is_none_or(|difference| difference < BLOCKS_TOLERANCE);
        self.difference < TOLERANCE && self.other_picks == 0 && self.other_greedy == 0 && is_near
    }
}

/// One form of a model that was put to the proof.
#[derive(Debug)]
pub struct Proved {
    /// The file it was read from, and by what it was computed where that is not the packed decoder.
    pub source: String,
    /// `model_type` of its family, where it could be read.
    pub family: Option<&'static str>,
    pub outcome: Result<Proof>,
}

/// Runs a decoder over the expected sequences along every way the engine walks.
pub fn prove(model: &Model, expected: &Expected, threads: usize) -> Result<Proof> {
    let mut walk = Walk::new(model, threads);
    let vocab = model.config().vocab;
    for sequence in &expected.sequences {
        ensure!(
            sequence.last_logits.len() == vocab,
            "expected logits are of another vocabulary"
        );
        walk.whole(sequence);
        for first in [1, sequence.ids.len() / 2] {
            walk.step_by_step(sequence, first);
        }
        for first in [5, 15, 16, 17, 33] {
            walk.two_chunks(sequence, first);
        }
    }
    walk.packed(&expected.sequences);
    walk.forked(&expected.sequences);
    let other_greedy = expected
        .sequences
        .iter()
        .filter(|sequence| walk.greedy(sequence) != sequence.greedy)
        .count();
    if let Some(error) = walk.failure {
        return Err(error);
    }
    ensure!(walk.store.tokens() == 0, "sequences were left in memory");
    Ok(Proof {
        difference: walk.worst,
        other_picks: walk.other_picks,
        other_greedy,
        from_f32: None,
    })
}

/// Runs a decoder that computes with blocks along every way: each must give what one whole pass gives, to the bit, and that must lie
/// near the expected logits.
fn prove_blocks(model: &Model, expected: &Expected, threads: usize) -> Result<Proof> {
    let mut walk = Walk::new(model, threads);
    expected.sequences.iter().for_each(|sequence| walk.whole(sequence));
    let from_f32 = walk.worst;
    let sequences = expected.sequences.iter().map(|sequence| walk.own(sequence)).collect();
    let proof = prove(model, &Expected { sequences }, threads)?;
    ensure!(proof.difference == 0.0, "its ways differ by {:.1e}", proof.difference);
    Ok(Proof {
        from_f32: Some(from_f32),
        ..proof
    })
}

/// A form in which a tiny model may lie in its folder: the file that describes it, and the expected logits beside it.
const FORMS: [(&str, &str); 4] = [
    ("config.json", "expected.json"),
    ("config-v5.json", "expected.json"),
    ("model-f32.gguf", "expected.json"),
    ("model-q8_0.gguf", "expected-q8_0.json"),
];

/// Proves every form of a tiny model that its folder holds (`expected.json` has the logits, for the quantized GGUF file
/// `expected-q8_0.json`), the first one also by the operations that other devices use.
///
/// # Errors
/// When the folder holds no such model. A form that cannot be loaded or computed is told in its own outcome.
pub fn prove_folder(folder: &Path, threads: usize) -> Result<Vec<Proved>> {
    let mut proved = Vec::new();
    for (source, expected) in FORMS {
        if !folder.join(source).is_file() {
            continue;
        }
        let is_gguf = open::is_gguf(&folder.join(source));
        let path = if is_gguf {
            folder.join(source)
        } else {
            folder.to_path_buf()
        };
        let packed = |precision| open_decoder(&path, source, precision).map(|decoder| Model::Packed(Box::new(decoder)));
        let expected = folder.join(expected);
        proved.push(put_to_proof(
            source.into(),
            &|| packed(Precision::F32),
            &expected,
            threads,
        ));
        if source == FORMS[3].0 {
            let source = format!("{source}, blocks");
            proved.push(put_to_proof(source, &|| packed(Precision::Native), &expected, threads));
        }
        if source == FORMS[0].0 {
            let source = format!("{source}, tensor operations");
            let tensors = || open_tensors(&path, FORMS[0].0);
            proved.push(put_to_proof(source, &tensors, &expected, threads));
        }
    }
    let known = FORMS.map(|(source, _)| source).join(", ");
    ensure!(
        !proved.is_empty(),
        "{} holds no model to prove ({known} with its expected logits)",
        folder.display()
    );
    Ok(proved)
}

fn put_to_proof(source: String, load: &dyn Fn() -> Result<Model>, expected: &Path, threads: usize) -> Proved {
    let model = load();
    let family = model.as_ref().ok().map(|model| model.config().family);
    let outcome = model.and_then(|model| {
        let expected = Expected::read(expected)?;
        match model.computes_blocks() {
            true => prove_blocks(&model, &expected, threads),
            false => prove(&model, &expected, threads),
        }
    });
    Proved {
        source,
        family,
        outcome,
    }
}

impl<'a> Walk<'a> {
    fn new(model: &'a Model, threads: usize) -> Walk<'a> {
        Walk {
            model,
            store: KvStore::new(model.config()),
            scratch: Scratch::default(),
            threads: Threads::new(threads),
            worst: 0.0,
            other_picks: 0,
            failure: None,
        }
    }

    /// What one whole pass over a sequence gives.
    fn own(&mut self, sequence: &ExpectedSequence) -> ExpectedSequence {
        let node = self.store.branch(None);
        let wanted = 0..sequence.ids.len();
        let logits = self.pass(&[Part {
            node,
            tokens: &sequence.ids,
            wanted,
        }]);
        self.store.release(node);
        let rows: Vec<&[f32]> = logits.chunks_exact(self.model.config().vocab).collect();
        let top5 = |row: &&[f32]| {
            let mut sorted = row.to_vec();
            sorted.sort_unstable_by(|a, b| b.total_cmp(a));
            sorted.truncate(5);
            sorted
        };
        ExpectedSequence {
            ids: sequence.ids.clone(),
            last_logits: rows.last().map(|row| row.to_vec()).unwrap_or_default(),
            argmax: rows.iter().map(|row| argmax(row) as u32).collect(),
            top5: rows.iter().map(top5).collect(),
            greedy: self.greedy(sequence),
        }
    }

    fn pass(&mut self, parts: &[Part]) -> Vec<f32> {
        let mut go_on = || ControlFlow::Continue(());
        let pass = self
            .model
            .forward(&mut self.store, parts, &mut self.scratch, &self.threads, &mut go_on);
        let mut logits = Vec::new();
        let done = pass.and_then(|pass| match pass {
            ControlFlow::Continue(hidden) => self.model.logits(&hidden, &self.threads, &mut logits),
            ControlFlow::Break(()) => Ok(()),
        });
        if let Err(error) = done {
            self.failure.get_or_insert(error);
        }
        logits
    }

    /// Compares the logits of positions `first..` with what is expected there.
    fn compare(&mut self, sequence: &ExpectedSequence, first: usize, logits: &[f32]) {
        for (offset, row) in logits.chunks_exact(self.model.config().vocab).enumerate() {
            let position = first + offset;
            if argmax(row) as u32 != sequence.argmax[position] {
                self.other_picks += 1;
            }
            let mut sorted = row.to_vec();
            sorted.sort_unstable_by(|a, b| b.total_cmp(a));
            let is_last = position + 1 == sequence.ids.len();
            let pairs = sorted.iter().zip(&sequence.top5[position]);
            let whole = row.iter().zip(&sequence.last_logits).filter(|_| is_last);
            for (ours, theirs) in pairs.chain(whole) {
                let difference = (ours - theirs).abs();
                // A NaN is as wrong as can be.
                self.worst = if difference.is_nan() {
                    f32::INFINITY
                } else {
                    self.worst.max(difference)
                };
            }
        }
    }

    fn whole(&mut self, sequence: &ExpectedSequence) {
        let node = self.store.branch(None);
        let logits = self.pass(&[Part {
            node,
            tokens: &sequence.ids,
            wanted: 0..sequence.ids.len(),
        }]);
        self.compare(sequence, 0, &logits);
        self.store.release(node);
    }

    fn step_by_step(&mut self, sequence: &ExpectedSequence, first: usize) {
        let first = first.clamp(1, sequence.ids.len());
        let node = self.store.branch(None);
        let logits = self.pass(&[Part {
            node,
            tokens: &sequence.ids[..first],
            wanted: first - 1..first,
        }]);
        self.compare(sequence, first - 1, &logits);
        for at in first..sequence.ids.len() {
            let logits = self.pass(&[Part {
                node,
                tokens: &sequence.ids[at..=at],
                wanted: 0..1,
            }]);
            self.compare(sequence, at, &logits);
        }
        self.store.release(node);
    }

    fn two_chunks(&mut self, sequence: &ExpectedSequence, first: usize) {
        if first >= sequence.ids.len() {
            return;
        }
        let (head, tail) = sequence.ids.split_at(first);
        let node = self.store.branch(None);
        self.pass(&[Part {
            node,
            tokens: head,
            wanted: 0..0,
        }]);
        let logits = self.pass(&[Part {
            node,
            tokens: tail,
            wanted: 0..tail.len(),
        }]);
        self.compare(sequence, first, &logits);
        self.store.release(node);
    }

    fn packed(&mut self, sequences: &[ExpectedSequence]) {
        let nodes: Vec<NodeId> = sequences.iter().map(|_| self.store.branch(None)).collect();
        let parts: Vec<Part> = nodes
            .iter()
            .zip(sequences)
            .map(|(node, sequence)| Part {
                node: *node,
                tokens: &sequence.ids,
                wanted: 0..sequence.ids.len(),
            })
            .collect();
        let logits = self.pass(&parts);
        let mut from = 0;
        for sequence in sequences {
            let length = sequence.ids.len() * self.model.config().vocab;
            self.compare(sequence, 0, &logits[from..from + length]);
            from += length;
        }
        nodes.into_iter().for_each(|node| self.store.release(node));
    }

    /// Every sequence again, branching off itself: from the prefix computed before, and within one pass.
    fn forked(&mut self, sequences: &[ExpectedSequence]) {
        for sequence in sequences {
            let length = sequence.ids.len();
            for at in [3, 15, 20, 60] {
                if at >= length {
                    continue;
                }
                let trunk = self.store.branch(None);
                // Its first two fork off in the pass that computes the trunk, the third one later.
                let early = [0, 1].map(|_| self.store.branch(Some((trunk, at))));
                let tail = &sequence.ids[at..];
                let mut parts = vec![Part {
                    node: trunk,
                    tokens: &sequence.ids,
                    wanted: 0..length,
                }];
                parts.extend(early.map(|node| Part {
                    node,
                    tokens: tail,
                    wanted: 0..tail.len(),
                }));
                let logits = self.pass(&parts);
                let vocab = self.model.config().vocab;
                self.compare(sequence, 0, &logits[..length * vocab]);
                self.compare(sequence, at, &logits[length * vocab..(length + tail.len()) * vocab]);
                self.compare(sequence, at, &logits[(length + tail.len()) * vocab..]);
                let late = self.store.branch(Some((trunk, at)));
                self.store.release(trunk);
                let logits = self.pass(&[Part {
                    node: late,
                    tokens: tail,
                    wanted: 0..tail.len(),
                }]);
                self.compare(sequence, at, &logits);
                early
                    .into_iter()
                    .chain([late])
                    .for_each(|node| self.store.release(node));
            }
        }
    }

    fn greedy(&mut self, sequence: &ExpectedSequence) -> Vec<u32> {
        let node = self.store.branch(None);
        let length = sequence.ids.len();
        let mut logits = self.pass(&[Part {
            node,
            tokens: &sequence.ids,
            wanted: length - 1..length,
        }]);
        let mut tokens = Vec::new();
        while tokens.len() < sequence.greedy.len() {
            let token = argmax(&logits) as u32;
            tokens.push(token);
            logits = self.pass(&[Part {
                node,
                tokens: &[token],
                wanted: 0..1,
            }]);
        }
        self.store.release(node);
        tokens
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn tiny_models() -> Option<PathBuf> {
        crate::shared::shared_path("golden/tiny-models")
    }

    fn assert_right(what: &str, proof: &Proof) {
        println!("{what}: {proof:?}");
        assert!(proof.holds(), "{what}: {proof:?}");
    }

    /// The tiny models, each a folder.
    fn folders() -> Vec<PathBuf> {
        let Some(folder) = tiny_models() else { return Vec::new() };
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut folders: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
        folders.sort();
        assert_eq!(folders.len(), 16);
        folders
    }

    #[test]
    fn every_family_computes_what_its_reference_model_does() {
        let (mut configs, mut tensors, mut ggufs, mut blocks) = (0, 0, 0, 0);
        for folder in folders() {
            for proved in prove_folder(&folder, 1).unwrap() {
                let what = format!("{} {}", folder.display(), proved.source);
                assert_right(&what, &proved.outcome.unwrap());
                configs += usize::from(proved.source.ends_with(".json"));
                tensors += usize::from(proved.source.ends_with("tensor operations"));
                ggufs += usize::from(proved.source.ends_with(".gguf"));
                blocks += usize::from(proved.source.ends_with("blocks"));
            }
        }
        assert!((configs, tensors, ggufs, blocks) == (30, 16, 5, 3) || tiny_models().is_none());
    }

    #[test]
    fn a_model_that_computes_something_else_fails_its_proof() {
        let Some(folder) = tiny_models().map(|folder| folder.join("smollm2")) else {
            return;
        };
        let copy = tempfile::tempdir().unwrap();
        for name in ["model.safetensors", "expected.json"] {
            std::fs::copy(folder.join(name), copy.path().join(name)).unwrap();
        }
        let config = std::fs::read_to_string(folder.join("config.json")).unwrap();
        let mut config: serde_json::Value = serde_json::from_str(&config).unwrap();
        config["rope_theta"] = 99_000.0.into();
        std::fs::write(copy.path().join("config.json"), config.to_string()).unwrap();
        let proved = prove_folder(copy.path(), 1).unwrap();
        assert!(proved.iter().all(|proved| !proved.outcome.as_ref().unwrap().holds()));
        std::fs::remove_file(copy.path().join("model.safetensors")).unwrap();
        let proved = prove_folder(copy.path(), 1).unwrap();
        assert!(proved[0].outcome.is_err() && proved[0].family.is_none());
        let error = prove_folder(tempfile::tempdir().unwrap().path(), 1).unwrap_err();
        assert!(error.to_string().contains("no model to prove"), "{error}");
    }

    #[test]
    fn a_bf16_copy_in_several_files_computes_the_same_in_f32() {
        let Some(folder) = tiny_models().map(|folder| folder.join("qwen3")) else {
            return;
        };
        let copy = tempfile::tempdir().unwrap();
        std::fs::copy(folder.join("config.json"), copy.path().join("config.json")).unwrap();
        let tensors =
            candle_core::safetensors::load(folder.join("model.safetensors"), &candle_core::Device::Cpu).unwrap();
        let mut map = serde_json::Map::new();
        for shard in 0..2usize {
            let file = format!("model-{shard}.safetensors");
            let mine = tensors.iter().filter(|(name, _)| name.len() % 2 == shard);
            let mine = mine.map(|(name, tensor)| (name.clone(), tensor.to_dtype(candle_core::DType::BF16).unwrap()));
            let mine: std::collections::HashMap<String, candle_core::Tensor> = mine.collect();
            map.extend(mine.keys().map(|name| (name.clone(), file.clone().into())));
            candle_core::safetensors::save(&mine, copy.path().join(file)).unwrap();
        }
        let index = serde_json::json!({"weight_map": map}).to_string();
        std::fs::write(copy.path().join("model.safetensors.index.json"), index).unwrap();
        let model = Model::Packed(Box::new(
            open_decoder(copy.path(), "config.json", Precision::F32).unwrap(),
        ));
        let expected = Expected::read(&folder.join("expected.json")).unwrap();
        assert_right("a bf16 copy", &prove(&model, &expected, 2).unwrap());
    }
}
