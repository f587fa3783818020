//! Runs over the scripted engine: what is kept, what is asked again, what is refused.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use markbook::benchmark::{self, DataSource, PromptPlan, Slice};
use markbook::engine::scripted::{Reply, ScriptedEngine};
use markbook::engine::{Control, Description, Engine, Local, Sampling};
use markbook::extract::Rule;
use markbook::record::{Finish, INVALID, Record};
use markbook::run::{self, Exam, Method, Plan, Summary, Update};
use markbook::store::{self, Manifest};

/// A plan over the first questions of the embedded exam.
pub fn plan(benchmark: &str, folder: &Path, questions: usize, resume: bool) -> Plan {
    let benchmark = benchmark::find(benchmark).unwrap();
    let mut dataset = benchmark::load(benchmark, &DataSource::Embedded, "test").unwrap();
    benchmark::select(
        &mut dataset,
        &Slice {
            limit: Some(questions),
            ..Slice::default()
        },
    )
    .unwrap();
    let style = benchmark.default_style();
    let prompt = PromptPlan::plain(style, 0);
    let sampling = Sampling {
        temperature: 1.0,
        top_p: 0.95,
        top_k: 64,
        max_tokens: 200,
        stops: vec!["Question:".into()],
    };
    let method = if style.is_cloze() {
        Method::Cloze
    } else {
        Method::Generate {
            sampling: sampling.clone(),
            seeds: (42..47).map(Some).collect(),
        }
    };
    let exam = Exam::new(&dataset, &method, 0, folder.to_owned());
    let mut manifest = Manifest {
        rows: exam.rows,
        ..Manifest::default()
    };
    manifest.settings.benchmark = benchmark.name.to_owned();
    manifest.settings.sampling = Some(sampling);
    Plan {
        exam,
        dataset,
        prompt,
        rule: Rule::parse("lm_eval_mmlu_pro").unwrap(),
        method,
        manifest,
        resume,
        only: None,
    }
}

/// Answers that differ by question and seed, and are the same on every call.
pub fn engine() -> ScriptedEngine {
    ScriptedEngine::new(|request, seed| match seed {
        None => Reply::log_likelihoods(&[-2.0, -1.0 - request.prompt.text().len() as f32 / 1e4, -1.2, -3.0]),
        Some(seed) => {
            let number = request.prompt.text().len() as i64 + seed;
            Reply::Text(match number % 4 {
                0 => format!("Thinking {number}. The answer is (A)."),
                1 => format!("So many words {number} and no letter"),
                2 => format!("The answer is (B). Question: and on {number}"),
                _ => format!("Surely {number}, the answer is C"),
            })
        }
    })
}

pub fn sit(plans: Vec<Plan>, engine: &mut dyn Engine, mut stop_after: usize) -> anyhow::Result<Summary> {
    let control = Control::new(plans.len());
    run::execute(plans, engine, &control, &mut |update| {
        if matches!(update, Update::Landed { .. }) {
            stop_after = stop_after.saturating_sub(1);
        }
        if stop_after == 0 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })
}

/// What a run's folder holds, in the order of its file.
pub fn kept(folder: &Path) -> Vec<Arc<Record>> {
    let trace = store::open(folder).unwrap();
    (0..trace.rows.len()).map(|row| trace.record(row).unwrap()).collect()
}

/// The same without what the clock decides, by question and attempt.
fn timeless(folder: &Path) -> Vec<Record> {
    let timeless = |record: Arc<Record>| Record {
        seconds: 0.0,
        ..Record::clone(&record)
    };
    let mut records: Vec<Record> = kept(folder).into_iter().map(timeless).collect();
    records.sort_by_key(|record| (record.question_id, record.attempt));
    records
}

#[test]
fn both_exams_are_kept_as_parquet_and_read_back_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let (cloze, sampled) = (folder.path().join("mmlu"), folder.path().join("mmlu_pro"));
    let plans = vec![plan("mmlu", &cloze, 6, false), plan("mmlu_pro", &sampled, 4, false)];
    let summary = sit(plans, &mut engine(), usize::MAX).unwrap();
    assert!(!summary.stopped);
    for (path, rows) in [(&cloze, 6), (&sampled, 20)] {
        assert!(!path.join("journal.jsonl").exists());
        assert_eq!(kept(path).len(), rows);
        let manifest = Manifest::read(path).unwrap();
        assert_eq!((manifest.finished, manifest.ended.is_some()), (rows, true));
        let order: Vec<(i64, i64)> = kept(path)
            .iter()
            .map(|record| (record.question_id, record.attempt))
            .collect();
        assert!(order.is_sorted(), "by question, then attempt: {order:?}");
    }
    let (scored, sampled) = (kept(&cloze), kept(&sampled));
    let record = &scored[0];
    assert_eq!(
        (record.pick.as_str(), record.logprobs.as_ref().unwrap().len()),
        ("B", 4)
    );
    let stopped = sampled
        .iter()
        .find(|record| record.reasoning.starts_with("The answer is (B)"))
        .unwrap();
    assert_eq!((stopped.pick.as_str(), stopped.finish), ("B", Some(Finish::Stop)));
    assert!(!stopped.reasoning.contains("Question:"));
    let unread = sampled
        .iter()
        .find(|record| record.reasoning.starts_with("So many"))
        .unwrap();
    assert_eq!((unread.pick.as_str(), unread.correct), (INVALID, false));
}

#[test]
fn a_stopped_run_goes_on_where_it_stopped_and_equals_an_uninterrupted_one() {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole");
    sit(vec![plan("mmlu_pro", &whole, 5, false)], &mut engine(), usize::MAX).unwrap();
    let parts = folder.path().join("parts");
    let first = sit(vec![plan("mmlu_pro", &parts, 5, false)], &mut engine(), 7).unwrap();
    assert!(first.stopped);
    assert_eq!((kept(&parts).len(), first.manifests[0].finished), (7, 7));
    assert!(store::open(&parts).unwrap().kind.contains("not finished"));
    // A kill leaves half a line.
    let journal = parts.join("journal.jsonl");
    let mut text = std::fs::read(&journal).unwrap();
    text.extend_from_slice(b"{\"question_id\":10");
    std::fs::write(&journal, text).unwrap();
    let mut asked = Vec::new();
    let mut seen = HashMap::new();
    let mut watched = engine();
    let control = Control::new(1);
    run::execute(
        vec![plan("mmlu_pro", &parts, 5, true)],
        &mut watched,
        &control,
        &mut |update| {
            if let Update::Landed { record, .. } = &update {
                *seen.entry((record.question_id, record.attempt)).or_insert(0) += 1;
                asked.push(record.question_id);
            }
            ControlFlow::Continue(())
        },
    )
    .unwrap();
    assert!(
        seen.values().all(|count| *count == 1),
        "every answer lands once: {seen:?}"
    );
    assert_eq!(timeless(&parts), timeless(&whole));
    assert_eq!(Manifest::read(&parts).unwrap().finished, 25);
}

#[test]
fn resuming_with_another_temperature_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    sit(vec![plan("mmlu_pro", &path, 2, false)], &mut engine(), 3).unwrap();
    let mut changed = plan("mmlu_pro", &path, 2, true);
    if let Some(sampling) = &mut changed.manifest.settings.sampling {
        sampling.temperature = 0.8;
    }
    let error = format!("{:#}", sit(vec![changed], &mut engine(), usize::MAX).unwrap_err());
    assert!(error.contains("sampling.temperature was 1.0, is now 0.8"), "{error}");
    assert_eq!(kept(&path).len(), 3, "nothing is lost by the refusal");
}

#[test]
fn a_request_that_fails_becomes_flagged_rows_and_the_others_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let mut number = 0;
    let mut engine = ScriptedEngine::new(move |_, _| {
        number += 1;
        if number <= 5 {
            Reply::Failure {
                flag: "too_long",
                reason: "2,100 tokens, 2,048 fit".into(),
            }
        } else {
            Reply::Text("The answer is (A).".into())
        }
    });
    sit(vec![plan("mmlu_pro", &path, 3, false)], &mut engine, usize::MAX).unwrap();
    let records = kept(&path);
    assert_eq!(records.len(), 15);
    let failed: Vec<&Arc<Record>> = records
        .iter()
        .filter(|record| record.finish == Some(Finish::Error))
        .collect();
    assert!(!failed.is_empty() && failed.iter().all(|record| record.pick == INVALID));
    assert!(
        failed[0].flags.contains(&"too_long".to_owned()),
        "{:?}",
        failed[0].flags
    );
}

#[test]
fn the_random_stream_belongs_to_the_question_and_not_to_its_place_in_the_run() {
    let streams: Vec<u64> = (0..1_000).map(|id| run::stream_of("mmlu_pro", id)).collect();
    let different: std::collections::HashSet<u64> = streams.iter().copied().collect();
    assert_eq!(different.len(), streams.len());
    assert_ne!(run::stream_of("mmlu", 70), run::stream_of("mmlu_pro", 70));
}

#[test]
fn the_authors_style_leaves_out_examples_until_the_completion_has_its_room() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    let mut plan = plan("mmlu_pro", &path, 3, false);
    plan.prompt = PromptPlan::plain(plan.dataset.benchmark.style("tiger").unwrap(), 1);
    let render = |shots| {
        let prompter = benchmark::Prompter::new(&plan.dataset, &plan.prompt).unwrap();
        let prompts = plan
            .dataset
            .questions
            .iter()
            .map(|question| prompter.render_with(question, shots).unwrap().prompt);
        prompts.collect::<Vec<_>>()
    };
    let (whole, bare) = (render(1), render(0));
    let words = |prompt: &String| prompt.split_whitespace().count();
    // Room for the shortest prompt with its example, and for no other.
    let shortest = whole.iter().map(words).min().unwrap();
    let Method::Generate { sampling, .. } = &plan.method else {
        unreachable!()
    };
    let context = shortest + 1 + sampling.max_tokens;
    let expected: Vec<String> = (0..whole.len())
        .map(|index| {
            if words(&whole[index]) == shortest {
                &whole[index]
            } else {
                &bare[index]
            }
            .clone()
        })
        .collect();
    let mut engine = engine().with_description(Description::Scripted(Local {
        context,
        ..Local::default()
    }));
    sit(vec![plan], &mut engine, usize::MAX).unwrap();
    let mut sent: Vec<String> = kept(&path).iter().map(|record| record.prompt.clone()).collect();
    sent.dedup();
    assert_eq!(sent, expected);
    assert!(sent.iter().any(|prompt| whole.contains(prompt)) && sent.iter().any(|prompt| bare.contains(prompt)));
}
