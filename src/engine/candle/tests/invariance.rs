//! Every answer is the same bits however the work is cut: batch, order, company, threads, pauses, resumes, prefixes.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use super::super::cache::KvStore;
use super::super::forward::{Part, Scratch};
use super::super::kernel::{Precision, Threads};
use super::super::open::open_decoder;
use super::*;

fn options(threads: usize, batch: usize) -> Options {
    Options {
        dtype: Dtype::F32,
        threads,
        batch,
        device: Device::Cpu,
        kv_budget_bytes: Some(64 << 20),
    }
}

/// Prompts that begin alike for 0, 1, 31, 32, 33 bytes and more, some equal but for their last byte.
fn prompts() -> Vec<String> {
    let long: String =
        "The following are multiple choice questions about nothing at all, as all of them are. ".repeat(2);
    let mut prompts: Vec<String> = [0, 1, 31, 32, 33, 64, 100]
        .into_iter()
        .flat_map(|shared| {
            [1, 2, 40].map(|tail| {
                format!(
                    "{}{}",
                    &long[..shared],
                    "xyzzy, said the parrot. "
                        .repeat(2)
                        .chars()
                        .skip(shared % 5)
                        .take(tail)
                        .collect::<String>()
                )
            })
        })
        .collect();
    prompts.push(format!("{long}!"));
    prompts.push(format!("{long}?"));
    prompts
}

fn cloze() -> Vec<Request> {
    prompts()
        .iter()
        .enumerate()
        .map(|(id, prompt)| score(id, prompt, &[" A", " B", " long one", " long two"]))
        .collect()
}

fn sampling() -> Sampling {
    Sampling {
        temperature: 1.0,
        top_p: 0.95,
        top_k: 64,
        max_tokens: 24,
        stops: vec!["qq".into()],
    }
}

fn sampled(lane: usize) -> Vec<Request> {
    let seeds = vec![42, 43, 44];
    prompts()
        .into_iter()
        .enumerate()
        .map(|(id, prompt)| Request {
            id: 1000 + id,
            lane,
            prompt: prompt.into(),
            add_special_tokens: true,
            ask: Ask::Sample {
                sampling: sampling(),
                seeds: seeds.clone(),
                stream: id as u64,
            },
        })
        .collect()
}

type Bits = BTreeMap<usize, (Vec<u32>, Option<u32>, Option<String>)>;

fn bits(scores: HashMap<usize, Scores>) -> Bits {
    let bits = |scores: Scores| {
        (
            scores.log_likelihoods.iter().map(|x| x.to_bits()).collect(),
            scores.mass.map(f32::to_bits),
            scores.top_token,
        )
    };
    scores.into_iter().map(|(id, scores)| (id, bits(scores))).collect()
}

#[test]
fn scores_are_the_same_bits_alone_in_company_in_any_order_and_with_two_threads() {
    for kind in tiny::KINDS {
        let folder = tiny::model(kind);
        let mut engine = open(folder.path(), &options(1, 8));
        let together = bits(answers(&mut engine, cloze()).0);
        assert_eq!(together.len(), prompts().len());
        let backwards = bits(answers(&mut engine, cloze().into_iter().rev().collect()).0);
        assert!(together == backwards, "{kind}: order shows");
        let mut alone = Bits::new();
        for request in cloze() {
            alone.extend(bits(answers(&mut engine, vec![request]).0));
        }
        assert!(together == alone, "{kind}: company shows");
        engine.pass_tokens = (32, 40);
        assert!(
            together == bits(answers(&mut engine, cloze()).0),
            "{kind}: short passes show"
        );
        engine.pass_tokens = (256, 2048);
        let with_samples = bits(answers(&mut engine, cloze().into_iter().chain(sampled(1)).collect()).0);
        assert!(together == with_samples, "{kind}: the other lane shows");
        let mut two = open(folder.path(), &options(2, 8));
        assert!(together == bits(answers(&mut two, cloze()).0), "{kind}: threads show");
    }
}

#[test]
fn completions_are_the_same_for_any_batch_order_company_and_thread_count() {
    for kind in tiny::KINDS {
        let folder = tiny::model(kind);
        let mut engine = open(folder.path(), &options(1, 32));
        let reference = answers(&mut engine, sampled(0)).1;
        assert_eq!(reference.len(), 3 * prompts().len());
        assert_ne!(reference[&(1000, 0)].0, reference[&(1000, 1)].0);
        let backwards = answers(&mut engine, sampled(0).into_iter().rev().collect()).1;
        assert!(reference == backwards, "{kind}: order shows");
        engine.pass_tokens = (32, 40);
        assert!(
            reference == answers(&mut engine, sampled(0)).1,
            "{kind}: short passes show"
        );
        engine.pass_tokens = (256, 2048);
        let beside = answers(&mut engine, cloze().into_iter().chain(sampled(1)).collect()).1;
        assert!(reference == beside, "{kind}: company shows");
        for (threads, batch) in [(1, 1), (1, 5), (2, 64)] {
            let mut other = open(folder.path(), &options(threads, batch));
            assert!(
                reference == answers(&mut other, sampled(0)).1,
                "{kind}: batch {batch}, threads {threads} show"
            );
        }
        // A budget of a few hundred tokens holds back completions, not answers.
        let mut tight = open(
            folder.path(),
            &Options {
                kv_budget_bytes: Some(500 << 10),
                ..options(1, 32)
            },
        );
        assert!(
            reference == answers(&mut tight, sampled(0)).1,
            "{kind}: the memory budget shows"
        );
    }
}

#[test]
fn a_run_stopped_and_resumed_with_what_is_missing_gives_the_same_completions() {
    let folder = tiny::model("llama");
    let mut engine = open(folder.path(), &options(1, 7));
    let reference = answers(&mut engine, sampled(0)).1;
    let mut first = HashMap::new();
    engine
        .run(sampled(0), &Control::new(1), &mut |event| {
            if let Event::Completed { id, completion, .. } = event {
                first.insert((id, completion.attempt), (completion.text, completion.finish));
            }
            if first.len() < 20 {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        })
        .unwrap();
    assert_eq!(first.len(), 20);
    for mut request in sampled(0) {
        let Ask::Sample { seeds, .. } = &mut request.ask else {
            unreachable!()
        };
        let missing: Vec<usize> = (0..3)
            .filter(|attempt| !first.contains_key(&(request.id, *attempt)))
            .collect();
        *seeds = missing.iter().map(|attempt| 42 + *attempt as i64).collect();
        let id = request.id;
        for ((_, attempt), text) in answers(&mut engine, vec![request]).1 {
            first.insert((id, missing[attempt]), text);
        }
    }
    assert!(first == reference);
}

#[test]
fn a_pause_holds_one_lane_back_and_changes_nothing() {
    let folder = tiny::model("mistral");
    let mut engine = open(folder.path(), &options(1, 16));
    let reference = answers(&mut engine, sampled(1)).1;
    let control = Control::new(2);
    let (mut texts, mut events, mut while_paused, mut scored) = (HashMap::new(), 0, 0, 0);
    engine
        .run(
            cloze().into_iter().chain(sampled(1)).collect(),
            &control,
            &mut |event| {
                events += 1;
                match event {
                    Event::Completed { id, completion, .. } => {
                        while_paused += usize::from(control.is_paused(1));
                        texts.insert((id, completion.attempt), (completion.text, completion.finish));
                        control.lanes[1].paused.store(texts.len() == 10, Ordering::Relaxed);
                    }
                    Event::Scored { .. } => scored += 1,
                    Event::Pulse(_) if scored == prompts().len() => {
                        control.lanes[1].paused.store(false, Ordering::Relaxed);
                    }
                    _ => {}
                }
                ControlFlow::Continue(())
            },
        )
        .unwrap();
    assert!(texts == reference);
    // The step that was under way when the pause came may end a few more.
    assert!(while_paused < 16, "{while_paused} completions of a paused lane");
}

#[test]
fn bf16_answers_are_the_same_bits_too() {
    let folder = tiny::model("llama");
    let narrow = |threads, batch| Options {
        dtype: Dtype::Bf16,
        ..options(threads, batch)
    };
    let mut engine = open(folder.path(), &narrow(1, 32));
    let together = bits(answers(&mut engine, cloze()).0);
    let sampled_together = answers(&mut engine, sampled(0)).1;
    let mut other = open(folder.path(), &narrow(2, 3));
    other.pass_tokens = (32, 40);
    assert!(together == bits(answers(&mut other, cloze().into_iter().rev().collect()).0));
    assert!(sampled_together == answers(&mut other, sampled(0)).1);
    let wide = bits(answers(&mut open(folder.path(), &options(1, 32)), cloze()).0);
    assert!(together != wide, "bf16 rounds");
}

#[test]
fn answers_by_blocks_are_the_same_bits_too() {
    use candle_core::quantized::GgmlDType::{Q4K, Q8_0};
    for dtype in [Q4K, Q8_0] {
        let folder = formats::folder(dtype);
        let path = folder.path().join("model.gguf");
        let native = |threads, batch| Options {
            dtype: Dtype::Native,
            ..options(threads, batch)
        };
        let mut engine = open(&path, &native(1, 32));
        let together = bits(answers(&mut engine, cloze()).0);
        let sampled_together = answers(&mut engine, sampled(0)).1;
        let mut other = open(&path, &native(2, 3));
        other.pass_tokens = (32, 40);
        assert!(
            together == bits(answers(&mut other, cloze().into_iter().rev().collect()).0),
            "{dtype:?}"
        );
        assert!(sampled_together == answers(&mut other, sampled(0)).1, "{dtype:?}");
        let wide = bits(answers(&mut open(&path, &options(1, 32)), cloze()).0);
        assert!(together != wide, "{dtype:?} rounds activations");
    }
}

#[test]
fn rows_are_the_same_bits_for_every_number_of_rows() {
    let folder = tiny::model("llama");
    let decoder = open_decoder(folder.path(), "config.json", Precision::F32).unwrap();
    let threads = Threads::new(1);
    let mut alone: Option<Vec<u32>> = None;
    for rows in 1..=64usize {
        let mut store = KvStore::new(&decoder.config);
        let (trunk, prompt) = (store.branch(None), [1, 2, 3, 4, 5]);
        let nodes: Vec<_> = (0..rows).map(|_| store.branch(Some((trunk, prompt.len())))).collect();
        let tokens: Vec<[u32; 1]> = (0..rows as u32).map(|row| [7 + row]).collect();
        let mut parts = vec![Part {
            node: trunk,
            tokens: &prompt,
            wanted: 0..0,
        }];
        parts.extend(nodes.iter().zip(&tokens).map(|(node, token)| Part {
            node: *node,
            tokens: token,
            wanted: 0..1,
        }));
        let pass = decoder.forward(&mut store, &parts, &mut Scratch::default(), &threads, &mut || {
            ControlFlow::Continue(())
        });
        let ControlFlow::Continue(hidden) = pass else {
            unreachable!()
        };
        let mut logits = Vec::new();
        decoder.logits_into(&hidden, &threads, &mut logits);
        let first: Vec<u32> = logits[..tiny::VOCAB].iter().map(|x| x.to_bits()).collect();
        assert!(alone.get_or_insert_with(|| first.clone()) == &first, "{rows} rows");
    }
}
