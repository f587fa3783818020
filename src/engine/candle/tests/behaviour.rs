//! What a caller sees: stops, limits, refusals, errors that name what is wrong.

use super::*;
use std::time::Instant;

fn tiny_engine() -> (tempfile::TempDir, CandleEngine) {
    let folder = tiny::model("llama");
    let options = Options {
        dtype: Dtype::F32,
        threads: 1,
        batch: 8,
        device: Device::Cpu,
        kv_budget_bytes: Some(64 << 20),
    };
    let engine = open(folder.path(), &options);
    (folder, engine)
}

fn sample(id: usize, prompt: &str, max_tokens: usize, stops: &[&str]) -> Request {
    let stops = stops.iter().map(ToString::to_string).collect();
    let sampling = Sampling {
        temperature: 1.0,
        top_p: 1.0,
        top_k: 0,
        max_tokens,
        stops,
    };
    let ask = Ask::Sample {
        sampling,
        seeds: vec![42],
        stream: 1,
    };
    Request {
        id,
        lane: 0,
        prompt: prompt.into(),
        add_special_tokens: true,
        ask,
    }
}

#[test]
fn a_stop_text_is_cut_off_with_all_that_follows() {
    let (_folder, mut engine) = tiny_engine();
    let (whole, finish) = answers(&mut engine, vec![sample(0, "Once", 60, &[])])
        .1
        .remove(&(0, 0))
        .unwrap();
    assert_eq!(finish, Finish::Length);
    // Any stretch of three characters of the free completion, taken as the stop text.
    let start = whole.char_indices().nth(20).unwrap().0;
    let end = whole.char_indices().nth(23).unwrap().0;
    let stop = &whole[start..end];
    let (cut, finish) = answers(&mut engine, vec![sample(0, "Once", 60, &["never there", stop])])
        .1
        .remove(&(0, 0))
        .unwrap();
    assert_eq!(finish, Finish::Stop);
    assert_eq!(cut, whole[..whole.find(stop).unwrap()]);
}

#[test]
fn an_answer_that_is_stopped_is_kept_as_far_as_it_came_and_the_others_go_on() {
    let (_folder, mut engine) = tiny_engine();
    let both = || vec![sample(3, "Once", 60, &[]), sample(4, "Once", 60, &[])];
    let whole = answers(&mut engine, both()).1;
    let control = Control::new(1);
    let mut told = std::collections::BTreeMap::new();
    control.stops.ask((3, 0));
    let mut watch = |event| {
        if let Event::Completed { id, completion, .. } = event {
            told.insert(id, (completion.text, completion.finish, completion.tokens));
        }
        ControlFlow::Continue(())
    };
    engine.run(both(), &control, &mut watch).unwrap();
    let (stopped, finish, tokens) = &told[&3];
    assert_eq!((*finish, *tokens < 60), (Finish::User, true));
    assert!(whole[&(3, 0)].0.starts_with(stopped.as_str()));
    assert_eq!(
        (told[&4].0.as_str(), told[&4].1),
        (whole[&(4, 0)].0.as_str(), Finish::Length)
    );
}

#[test]
fn streamed_text_adds_up_to_the_completion() {
    let (_folder, mut engine) = tiny_engine();
    let (mut streamed, mut whole) = (String::new(), String::new());
    engine
        .run(
            vec![sample(3, "Twice", 300, &["<<stop>>"])],
            &Control::new(1),
            &mut |event| {
                match event {
                    Event::Progress {
                        id: 3,
                        attempt: 0,
                        text,
                        ..
                    } => streamed.push_str(&text),
                    Event::Completed { completion, .. } => whole = completion.text,
                    _ => {}
                }
                ControlFlow::Continue(())
            },
        )
        .unwrap();
    assert!(
        whole.starts_with(&streamed),
        "{streamed:?} is not the beginning of {whole:?}"
    );
}

#[test]
fn what_does_not_fit_is_refused_with_a_flag_and_the_others_go_on() {
    let (_folder, mut engine) = tiny_engine();
    let long = "x".repeat(1000);
    let requests = vec![
        sample(0, "a", 400, &[]),
        sample(1, &long, 100, &[]),
        score(2, &long, &[" A"]),
        score(3, "Hi", &[" A", &long]),
    ];
    let mut told = HashMap::new();
    engine
        .run(requests, &Control::new(1), &mut |event| {
            match event {
                Event::Failed { id, flag, .. } => drop(told.insert(id, (flag, 0))),
                Event::Completed {
                    id,
                    prompt_tokens,
                    truncated,
                    ..
                }
                | Event::Scored {
                    id,
                    prompt_tokens,
                    truncated,
                    ..
                } => {
                    told.insert(id, (if truncated { "truncated" } else { "whole" }, prompt_tokens));
                }
                _ => {}
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    assert_eq!(told[&0].0, "too_long");
    assert_eq!(told[&1], ("truncated", 300));
    // 1,000 bytes and two of continuation in 400 positions: 401 are kept, the last is not fed.
    assert_eq!(told[&2], ("truncated", 399));
    assert_eq!(told[&3].0, "too_long");
}

#[test]
fn a_tight_budget_of_keys_and_values_changes_no_answer() {
    let folder = tiny::model("llama");
    let engine = |kv_budget_bytes| {
        let options = Options {
            dtype: Dtype::F32,
            threads: 1,
            batch: 8,
            device: Device::Cpu,
            kv_budget_bytes: Some(kv_budget_bytes),
        };
        open(folder.path(), &options)
    };
    let asked = || {
        let question = |id: usize| format!("{id}. Which of the following answers is the right one, and why is it?");
        let cloze = (0..30).map(|id| score(id, &question(id), &[" A", " B"]));
        let sampled = (0..6).map(|id| Request {
            lane: 1,
            ..sample(100 + id, &question(id), 40, &[])
        });
        cloze.chain(sampled).collect::<Vec<Request>>()
    };
    let mut roomy = engine(64 << 20);
    let reference = answers(&mut roomy, asked());
    assert!(roomy.last.kv_bytes > 200 * BYTES_PER_TOKEN);
    let mut tight = engine(200 * BYTES_PER_TOKEN);
    assert!(reference == answers(&mut tight, asked()), "the budget shows");
    let peak = tight.last.kv_bytes / BYTES_PER_TOKEN;
    assert!(peak <= 200, "{peak} tokens held with room for 200");
}

/// Keys and values of three layers, two heads of 16 numbers each.
const BYTES_PER_TOKEN: u64 = 3 * 2 * 2 * 16 * 4;

#[test]
fn an_empty_prompt_is_scored_after_the_beginning_of_sequence_token() {
    let (_folder, mut engine) = tiny_engine();
    let (scores, texts) = answers(&mut engine, vec![score(0, "", &[" A"]), sample(1, "", 3, &[])]);
    assert!(scores[&0].log_likelihoods[0] < 0.0);
    assert_eq!(scores[&0].continuation_tokens, Some(vec![2]));
    assert!(texts.contains_key(&(1, 0)));
}

#[test]
fn white_space_at_the_prompt_s_end_goes_to_the_continuation() {
    let (_folder, mut engine) = tiny_engine();
    let asked = vec![score(0, "Answer:", &["  A"]), score(1, "Answer: ", &[" A"])];
    let scores = answers(&mut engine, asked).0;
    assert_eq!(scores[&0].log_likelihoods, scores[&1].log_likelihoods);
    assert_eq!(scores[&1].continuation_tokens, Some(vec![3]));
}

#[test]
fn a_break_stops_within_a_token_and_a_paused_engine_still_listens() {
    let (_folder, mut engine) = tiny_engine();
    let mut after = 0;
    engine
        .run(
            vec![sample(0, "a", 300, &[]), sample(1, "b", 300, &[])],
            &Control::new(1),
            &mut |_| {
                after += 1;
                ControlFlow::Break(())
            },
        )
        .unwrap();
    assert_eq!(after, 1);
    let control = Control::new(1);
    control.lanes[0]
        .paused
        .store(true, std::sync::atomic::Ordering::Relaxed);
    let (begun, mut pulses) = (Instant::now(), 0);
    engine
        .run(vec![score(0, "a", &[" A"])], &control, &mut |event| {
            assert!(matches!(event, Event::Pulse(_)));
            pulses += 1;
            if pulses < 3 {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        })
        .unwrap();
    assert!(begun.elapsed().as_secs() < 30);
}

#[test]
fn compute_follows_the_lanes_shares() {
    let (_folder, mut engine) = tiny_engine();
    engine.pass_tokens = (32, 32);
    let control = Control::new(2);
    control.lanes[0].share.store(9, std::sync::atomic::Ordering::Relaxed);
    control.lanes[1].share.store(1, std::sync::atomic::Ordering::Relaxed);
    let requests = (0..120).map(|id| {
        let prompt = format!("{id} is the number of a question that has its own beginning");
        Request {
            lane: id % 2,
            ..score(id, &prompt, &[" A"])
        }
    });
    let mut told = [0, 0];
    engine
        .run(requests.collect(), &control, &mut |event| {
            if let Event::Scored { id, .. } = event {
                told[id % 2] += 1;
            }
            if told[0] < 60 {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        })
        .unwrap();
    assert!(
        told[1] < 35,
        "the lane with a ninth of the share answered {} of 60",
        told[1]
    );
}

fn error_of(path: &Path) -> String {
    format!(
        "{:#}",
        load(path, &Options::default(), &mut |_| ControlFlow::Continue(())).unwrap_err()
    )
}

#[test]
fn a_broken_folder_is_an_error_that_names_the_file() {
    let folder = tiny::model("llama");
    let path = |name: &str| folder.path().join(name);
    let config = std::fs::read_to_string(path("config.json")).unwrap();
    assert!(error_of(&path("nowhere")).contains("nowhere does not exist"));
    std::fs::write(path("config.json"), config.replace("\"llama\"", "\"mamba2\"")).unwrap();
    let error = error_of(folder.path());
    assert!(
        error.contains("config.json") && error.contains("mamba2") && error.contains("known: llama"),
        "{error}"
    );
    std::fs::write(
        path("config.json"),
        config.replace("\"hidden_size\":48", "\"hidden_size\":64"),
    )
    .unwrap();
    let error = error_of(folder.path());
    assert!(
        error.contains("model.safetensors: tensor model.norm.weight has shape [48], not [64]"),
        "{error}"
    );
    std::fs::write(path("config.json"), &config).unwrap();
    std::fs::rename(path("tokenizer.json"), path("away")).unwrap();
    assert!(error_of(folder.path()).contains("tokenizer.json"));
    std::fs::rename(path("away"), path("tokenizer.json")).unwrap();
    std::fs::remove_file(path("config.json")).unwrap();
    assert!(error_of(folder.path()).contains("config.json"));
}

#[test]
fn a_broken_gguf_file_is_an_error_that_names_it() {
    use candle_core::quantized::gguf_file::{Value as Entry, write};
    use candle_core::quantized::{GgmlDType, QTensor};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.gguf");
    let tensor = candle_core::Tensor::zeros((4, 32), candle_core::DType::F32, &candle_core::Device::Cpu).unwrap();
    let tensor = QTensor::quantize(&tensor, GgmlDType::F32).unwrap();
    let save = |entries: &[(&str, &Entry)]| {
        let mut file = std::fs::File::create(&path).unwrap();
        write(&mut file, entries, &[("token_embd.weight", &tensor)]).unwrap();
    };
    let (llama, mamba, four) = (
        Entry::String("llama".into()),
        Entry::String("mamba".into()),
        Entry::U32(4),
    );
    save(&[("general.architecture", &mamba)]);
    assert!(error_of(&path).contains("unknown GGUF architecture \"mamba\"; known: llama, qwen2"));
    save(&[
        ("general.architecture", &llama),
        ("llama.context_length", &four),
        ("llama.embedding_length", &four),
    ]);
    let error = error_of(&path);
    assert!(
        error.contains("model.gguf (architecture llama) lacks the metadata key llama.attention.head_count"),
        "{error}"
    );
    let (eps, cap) = (Entry::F32(1e-5), Entry::F32(30.0));
    save(&[
        ("general.architecture", &llama),
        ("llama.context_length", &four),
        ("llama.final_logit_softcapping", &cap),
        ("llama.attention.layer_norm_rms_epsilon", &eps),
    ]);
    let error = error_of(&path);
    assert!(
        error.contains("model.gguf: llama.final_logit_softcapping 30 is not supported"),
        "{error}"
    );
    save(&[("general.architecture", &llama), ("general.alignment", &Entry::U32(0))]);
    assert!(error_of(&path).contains("general.alignment"));
    save(&[("general.architecture", &llama)]);
    let whole = std::fs::read(&path).unwrap();
    let mut huge = whole.clone();
    huge[8..16].copy_from_slice(&u64::MAX.to_le_bytes());
    for broken in [&whole[..whole.len() - 100], &whole[..30], &whole[..2], &[][..], &huge] {
        std::fs::write(&path, broken).unwrap();
        assert!(error_of(&path).contains("model.gguf"), "{}", error_of(&path));
    }
}
