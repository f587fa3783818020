//! `prompts` and `fetch`: what is asked, and bringing it here.

use std::io::Write;
use std::ops::ControlFlow;

use anyhow::{Result, anyhow};

use super::args::{Chat, FetchArgs, PromptsArgs};
use super::plain::Plain;
use super::prepare::load_data;
use super::sit::tell_washed;
use super::{End, listen, say, usage};
use crate::benchmark::{self, DataSource, Listing, PromptPlan, write_prompts};
use crate::engine;
use crate::hub::{self, ModelName};
use crate::run::Update;

pub(super) fn prompts(args: &PromptsArgs) -> Result<End> {
    let asked = &args.asked;
    let benchmark = usage(benchmark::find(&args.benchmark))?;
    let source = usage(args.data.as_deref().map(DataSource::parse).transpose())?;
    let style = match &asked.style {
        Some(name) => usage(benchmark.style(name))?,
        None => benchmark.default_style(),
    };
    let template = match (&args.model, asked.chat) {
        (_, Chat::Off | Chat::Server) | (None, Chat::Auto) => None,
        (None, Chat::On) => {
            return usage(Err(anyhow!(
                "--chat on needs --model: the chat template is the model's own"
            )));
        }
        (Some(_), chat) if !chat.is_wanted(benchmark, style) => None,
        (Some(model), chat) => {
            let name = usage(ModelName::parse(model))?;
            let template = engine::chat_template(&name, &mut |_| ControlFlow::Continue(()))?;
            if template.is_none() && chat == Chat::On {
                return usage(Err(anyhow!("--chat on: {model} has no chat template")));
            }
            template
        }
    };
    let mut dataset = load_data(
        benchmark,
        source.as_ref(),
        &asked.split,
        asked.gold_base,
        &mut |status| {
            say::tell(status);
            ControlFlow::Continue(())
        },
    )?;
    usage(benchmark::select(&mut dataset, &asked.slice()))?;
    tell_washed(&dataset, usize::MAX);
    let plan = PromptPlan {
        chat: template,
        chat_shots: asked.chat_shots,
        ..PromptPlan::plain(style, asked.shots)
    };
    let mut out = say::out();
    if args.jsonl || args.hashes {
        let listing = if args.hashes { Listing::Hashes } else { Listing::Prompts };
        write_prompts(&mut out, &dataset, &plan, listing)?;
    } else {
        for question in &dataset.questions {
            let rendered = benchmark::render(&dataset, question, &plan)?;
            let text = rendered.prompt;
            writeln!(
                out,
                "── {} {} · {} ──\n{text}",
                dataset.name, question.id, question.subject
            )?;
        }
    }
    out.flush()?;
    Ok(End::Done)
}

pub(super) fn fetch(args: &FetchArgs) -> Result<End> {
    let stop = listen()?;
    let mut plain = Plain::new();
    let mut watch = |progress: hub::Progress| {
        plain.tell(&Update::Status(progress.to_string()));
        stop.flow()
    };
    let known = benchmark::ALL
        .iter()
        .find(|known| !known.hub_id.is_empty() && args.name.starts_with(known.hub_id));
    let outcome: Result<Vec<std::path::PathBuf>> = match known {
        Some(known) => {
            let config = Some(known.hub_config).filter(|config| !config.is_empty());
            let splits: Vec<&str> = known.splits.iter().map(|names| names[0]).collect();
            hub::dataset(&args.name, config, &splits, &mut watch)
                .map(|found| found.splits.into_iter().flat_map(|split| split.files).collect())
        }
        None if args.name.starts_with("datasets/") => match hub::trace_set(&args.name) {
            Some(name) => hub::traces(name, &mut watch).map(|found| found.files),
            None => usage(Err(anyhow::anyhow!("{:?} is no data set of the hub", args.name))),
        },
        None => match usage(ModelName::parse(&args.name))? {
            ModelName::Folder(path) | ModelName::Gguf(path) => Ok(vec![path]),
            name => hub::model(&name, &mut watch).map(|found| found.files),
        },
    };
    plain.end();
    match outcome {
        Ok(files) => {
            for file in files {
                say::say(file.display())?;
            }
            Ok(End::Done)
        }
        Err(error) if error.is::<hub::Stopped>() => {
            say::tell(&error);
            Ok(End::asked(&stop))
        }
        Err(error) => Err(error),
    }
}
