//! The shared cases about runs: seeds, resuming, interruption, progress.

use std::ops::ControlFlow;
use std::path::Path;

use markbook::engine::Control;
use markbook::engine::scripted::{Reply, ScriptedEngine};
use markbook::record::Record;
use markbook::run::{self, Update};
use markbook::store;
use serde_json::Value;

use crate::{cases, runs, tiny};

#[test]
fn every_case_about_runs_ends_as_expected() {
    for case in cases("runs.jsonl") {
        let (rule, expected) = (case["rule"][0].as_str().unwrap(), &case["expected"]);
        match (rule, case["kind"].as_str().unwrap()) {
            // In `scoring`.
            ("seed_check" | "seed_stats" | "seed_table" | "row_flags", _) => {}
            ("seed_stream", _) => streams_belong_to_seed_and_question(&case["params"]),
            ("seed_cache", _) => no_answer_is_taken_for_another_seeds(expected),
            ("seed_repeat", _) => the_same_seed_gives_the_same_text(),
            ("resume", "run/kill") => a_half_line_is_dropped(&case["params"], expected),
            ("resume", "run/resume-metrics") => figures_cover_the_whole_run(&case["params"], expected),
            ("resume", "run/changed-settings") => a_changed_setting_is_named(&case["params"]),
            ("ctrl_c", _) => a_stop_keeps_what_is_done(),
            // `program::a_full_disk_stops_the_run_and_keeps_every_whole_answer` fills a real file system's limit.
            ("write_error", _) => assert_eq!(expected["rows_lost"], 0),
            ("preflight", _) => {
                // A missing folder is made; one that cannot be is found before the first question.
                let path =
                    Path::new("/dev/null").join(case["params"]["path"].as_str().unwrap().trim_start_matches('/'));
                let error = store::preflight(&path, false).unwrap_err();
                assert!(format!("{error:#}").contains("/dev/null"), "{error:#}");
            }
            ("file_name", _) => {
                let name = store::folder_name(case["params"]["model"].as_str().unwrap());
                assert!(
                    name.len() as u64 <= expected["component_bytes_max"].as_u64().unwrap(),
                    "{name}"
                );
                assert!(!name.contains(['/', ':']), "{name}");
            }
            ("load_error", _) => a_gguf_without_a_key_is_told_with_file_architecture_and_key(),
            // The words stand in `program::progress_tells_rate_time_left_accuracy_and_invalid`.
            ("progress", _) => assert_eq!(expected["shows"].as_array().unwrap().len(), 4),
            (other, kind) => panic!("no test for the rule {other} ({kind}) of {case}"),
        }
    }
}

/// Answers of the tiny model, at the given batch and order.
fn sampled(questions: &[(u64, &str)], seeds: &[i64], batch: usize) -> Vec<(u64, i64, String)> {
    use markbook::engine::{Ask, Event, Request, Sampling};
    let folder = tempfile::tempdir().unwrap();
    let model = tiny::write(folder.path(), 3);
    let mut engine = tiny::load(&model, batch).unwrap();
    let sampling = Sampling {
        temperature: 1.0,
        top_p: 0.95,
        top_k: 64,
        max_tokens: 12,
        stops: Vec::new(),
    };
    let requests = questions
        .iter()
        .enumerate()
        .map(|(id, (stream, prompt))| Request {
            id,
            lane: 0,
            prompt: (*prompt).into(),
            add_special_tokens: true,
            ask: Ask::Sample {
                sampling: sampling.clone(),
                seeds: seeds.to_vec(),
                stream: *stream,
            },
        })
        .collect();
    let mut answers = Vec::new();
    engine
        .run(requests, &Control::new(1), &mut |event| {
            if let Event::Completed { id, completion, .. } = event {
                answers.push((questions[id].0, seeds[completion.attempt], completion.text));
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    answers.sort();
    answers
}

fn streams_belong_to_seed_and_question(params: &Value) {
    let seed = params["seed"].as_i64().unwrap();
    let stream = run::stream_of("mmlu_pro", params["question_id"].as_i64().unwrap());
    let alone = sampled(&[(stream, "One question?")], &[seed], 1);
    let last = sampled(
        &[(1, "Another?"), (2, "A third one?"), (stream, "One question?")],
        &[seed],
        8,
    );
    assert!(last.contains(&alone[0]), "{alone:?} is not among {last:?}");
}

fn no_answer_is_taken_for_another_seeds(expected: &Value) {
    assert!(
        expected["cache_key_includes"]
            .as_array()
            .unwrap()
            .contains(&"seed".into())
    );
    let answers = sampled(&[(5, "The same prompt")], &[1, 2, 3, 4, 5], 8);
    let texts: std::collections::HashSet<&String> = answers.iter().map(|(.., text)| text).collect();
    assert!(texts.len() > 1, "one text for all seeds: {texts:?}");
}

fn the_same_seed_gives_the_same_text() {
    let once = sampled(&[(5, "The same prompt")], &[7], 1);
    assert_eq!(once, sampled(&[(5, "The same prompt")], &[7], 1));
}

fn a_half_line_is_dropped(params: &Value, expected: &Value) {
    let folder = tempfile::tempdir().unwrap();
    let complete = params["rows_complete"].as_i64().unwrap();
    let mut journal = store::Journal::open(folder.path(), 0).unwrap();
    for id in 1..=complete {
        journal
            .append(&Record {
                question_id: id,
                ..Record::default()
            })
            .unwrap();
    }
    let path = folder.path().join("journal.jsonl");
    let mut text = std::fs::read(&path).unwrap();
    text.extend_from_slice(b"{\"question_id\":41,\"att");
    std::fs::write(&path, text).unwrap();
    let kept: Vec<i64> = runs::kept(folder.path())
        .iter()
        .map(|record| record.question_id)
        .collect();
    assert_eq!(kept.len() as u64, expected["kept"].as_u64().unwrap());
    let redone: Vec<i64> = (1..=complete + 1).filter(|id| !kept.contains(id)).collect();
    assert_eq!(Value::from(redone), expected["redone"]);
}

fn figures_cover_the_whole_run(params: &Value, expected: &Value) {
    // The same shares of a smaller run: nine tenths done before, five attempts a question.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let rows = 50;
    let before = (params["done_before"].as_u64().unwrap() * rows / params["total"].as_u64().unwrap()) as usize;
    runs::sit(
        vec![runs::plan("mmlu_pro", &path, 10, false)],
        &mut runs::engine(),
        before,
    )
    .unwrap();
    runs::sit(
        vec![runs::plan("mmlu_pro", &path, 10, true)],
        &mut runs::engine(),
        usize::MAX,
    )
    .unwrap();
    let trace = store::open(&path).unwrap();
    let report = markbook::stats::report(&trace, None);
    assert_eq!(
        report[0].n as u64,
        expected["accuracy_over"].as_u64().unwrap() * rows / 1000
    );
}

fn a_changed_setting_is_named(params: &Value) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let with = |temperature: &Value, resume: bool| {
        let mut plan = runs::plan("mmlu_pro", &path, 2, resume);
        if let Some(sampling) = &mut plan.manifest.settings.sampling {
            sampling.temperature = temperature.as_f64().unwrap();
        }
        plan
    };
    runs::sit(
        vec![with(&params["before"]["temperature"], false)],
        &mut runs::engine(),
        2,
    )
    .unwrap();
    let refused = runs::sit(
        vec![with(&params["now"]["temperature"], true)],
        &mut runs::engine(),
        usize::MAX,
    );
    let message = format!("{:#}", refused.unwrap_err());
    assert!(message.contains("temperature was 0.7, is now 0.8"), "{message}");
}

fn a_stop_keeps_what_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let mut ended = None;
    let mut landed = 0;
    let control = Control::new(1);
    let summary = run::execute(
        vec![runs::plan("mmlu_pro", &path, 20, false)],
        &mut runs::engine(),
        &control,
        &mut |update| {
            match update {
                Update::Landed { .. } => landed += 1,
                Update::Ended { stopped } => ended = Some(stopped),
                _ => {}
            }
            if landed >= 9 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        },
    )
    .unwrap();
    assert_eq!((summary.stopped, ended), (true, Some(true)));
    assert_eq!(runs::kept(&path).len(), landed);
    assert_eq!(store::Manifest::read(&path).unwrap().finished, landed);
}

fn a_gguf_without_a_key_is_told_with_file_architecture_and_key() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("odd.gguf");
    let mut bytes = b"GGUF".to_vec();
    bytes.extend(3u32.to_le_bytes());
    bytes.extend(0u64.to_le_bytes());
    bytes.extend(1u64.to_le_bytes());
    let mut text = |text: &str| {
        bytes.extend((text.len() as u64).to_le_bytes());
        bytes.extend(text.as_bytes());
    };
    text("general.architecture");
    bytes.extend(8u32.to_le_bytes());
    bytes.extend(5u64.to_le_bytes());
    bytes.extend(b"llama");
    bytes.extend([0; 64]);
    std::fs::write(&path, bytes).unwrap();
    let error = tiny::load(&path, 32).err().unwrap();
    let message = format!("{error:#}");
    assert!(message.contains("odd.gguf") && message.contains("llama."), "{message}");
}

#[test]
fn a_seed_that_does_not_reach_the_sampler_is_found_by_the_check() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let mut deaf = ScriptedEngine::new(|request, _| {
        Reply::Text(format!("{} words. The answer is (A).", request.prompt.text().len()))
    });
    runs::sit(vec![runs::plan("mmlu_pro", &path, 6, false)], &mut deaf, usize::MAX).unwrap();
    let problems = markbook::check::check(&[store::open(&path).unwrap()], &[]).unwrap();
    assert!(
        problems
            .iter()
            .any(|problem| problem.detail.contains("sampl") || problem.detail.contains("seed")),
        "{problems:?}"
    );
}
