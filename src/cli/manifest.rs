//! The manifest of a run that is about to begin.

use std::collections::BTreeMap;

use super::args;
use crate::benchmark::{ChatShots, Dataset, PromptPlan, Prompter, SystemTurn, hash::hash_text, style::Examples, wash};
use crate::engine::{self, Engine, Model};
use crate::extract::Rule;
use crate::manifest::{Build, Data, Machine, Manifest, Prompting, Settings, Shots};
use crate::run::Method;

/// The harness that prompts, rules and figures are those of.
const PARITY: &str = "lm-evaluation-harness 0.4.12";

/// Whatever moves the score of an exam that is asked so, and what is known of it before the first question.
pub(super) fn of(
    asked: &args::Settings,
    (dataset, prompt): (&Dataset, &PromptPlan),
    (method, rule): (&Method, &Rule),
    (engine, model): (&dyn Engine, &Model),
) -> Manifest {
    let (sampling, seeds) = match method {
        Method::Cloze => (None, Vec::new()),
        Method::Generate { sampling, seeds } => (Some(sampling.clone()), seeds.clone()),
    };
    let engine = engine.describe();
    let is_sampled = sampling.as_ref().is_some_and(|sampling| sampling.temperature > 0.0);
    let has_parity = !prompt.style.version.is_empty();
    Manifest {
        markbook: env!("CARGO_PKG_VERSION").to_owned(),
        machine: engine.local().map(|local| Machine::here(&local.device)),
        build: Some(Build::here()),
        settings: Settings {
            benchmark: dataset.name.clone(),
            task_version: prompt.style.version.to_owned(),
            method: if sampling.is_some() { "generate" } else { "cloze" }.to_owned(),
            model: model.clone(),
            data: data(&asked.asked, dataset),
            prompt: prompting(dataset, prompt, engine.served().is_some()),
            rule: rule.name().to_owned(),
            rule_sha256: Some(rule.sha256()),
            unreadable: Some("wrong".to_owned()),
            average: Some("rows".to_owned()),
            parity: Some(if has_parity { PARITY } else { "none" }.to_owned()),
            stream: (is_sampled && engine.local().is_some()).then_some(engine::STREAM),
            engine,
            sampling,
            seeds,
        },
        started: crate::run::now(),
        notes: dataset.notes.clone(),
        ..Manifest::default()
    }
}

fn data(asked: &args::Asked, dataset: &Dataset) -> Data {
    Data {
        source: dataset.source.clone(),
        revision: dataset.revision.clone(),
        split: dataset.split.clone(),
        fingerprint: dataset.fingerprint.clone(),
        questions: dataset.questions.len(),
        subjects: asked.subjects.clone(),
        per_subject: asked.per_subject,
        sample_seed: asked.sample_seed,
        limit: asked.limit,
        available: dataset.available.clone(),
        gold_base: asked.gold_base,
        washed: dataset.washed.iter().map(ToString::to_string).collect(),
        wash: Some(wash::VERSION),
    }
}

fn prompting(dataset: &Dataset, prompt: &PromptPlan, is_served: bool) -> Prompting {
    let chat = prompt.chat.as_ref();
    let asks_date = chat.is_some_and(|template| template.source.contains("strftime_now"));
    let today = || chrono::Local::now().format("%Y-%m-%d").to_string();
    Prompting {
        style: prompt.style.name.to_owned(),
        shots: prompt.shots,
        chat: prompt.is_chat(),
        chat_shots: prompt.is_chat().then(|| {
            let turns = prompt.chat_shots == ChatShots::Turns;
            if turns { "turns".to_owned() } else { "turn".to_owned() }
        }),
        template: prompt.template_text(),
        chat_template_sha256: chat.map(|template| hash_text(&template.source)),
        chat_template: chat.map(|template| template.source.clone()),
        examples: (prompt.shots > 0).then(|| examples(dataset, prompt)),
        system: prompt.system.clone(),
        system_kept: system_kept(dataset, prompt),
        template_options: (!prompt.as_turns).then(|| {
            let date = asks_date.then(|| ("date".to_owned(), today()));
            date.into_iter().collect::<BTreeMap<_, _>>()
        }),
        bos: Some(
            if is_served {
                "the server"
            } else {
                "the tokenizer's setting, never twice"
            }
            .to_owned(),
        ),
    }
}

fn examples(dataset: &Dataset, prompt: &PromptPlan) -> Shots {
    let brought = dataset.questions.iter().any(|question| !question.examples.is_empty());
    let splits = dataset.benchmark.example_splits.iter();
    let split = splits.copied().find(|split| *split != dataset.split);
    let choice = match prompt.style.examples {
        _ if brought => "the question's own",
        Examples::OfSubject => "the first of the subject",
        Examples::OfSplit => "the first of the split",
    };
    Shots {
        sha256: dataset.examples_fingerprint.clone(),
        split: split.filter(|_| !brought).map(str::to_owned),
        choice: choice.to_owned(),
    }
}

/// What becomes of the description, by the first question's prompt; a server's template is not known here. A prompt that
/// cannot be made ends the run when it is asked.
fn system_kept(dataset: &Dataset, prompt: &PromptPlan) -> Option<String> {
    let first = dataset.questions.first().filter(|_| !prompt.as_turns)?;
    let rendered = Prompter::new(dataset, prompt).and_then(|prompter| prompter.render(first));
    let word = match rendered.ok()?.system {
        SystemTurn::None => "none",
        SystemTurn::Kept => "kept",
        SystemTurn::Refused(_) => "refused",
        SystemTurn::Ignored => "ignored",
    };
    Some(word.to_owned())
}
