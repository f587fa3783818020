//! `demo` and `run`: the exams are sat, on the screen or without one.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc;

use anyhow::{Context, Result, bail};

use super::args::{DemoArgs, Look, RunArgs, Settings};
use super::plain::Plain;
use super::prepare::{Job, default_model};
use super::stop::Stop;
use super::{End, reports, traces};
use crate::benchmark::{Dataset, Washed};
use crate::engine::{Control, Opened, bench};
use crate::hub;
use crate::run::{self, Summary, Update};
use crate::text::{safe_line, thousands};
use crate::tui;

pub(super) fn demo(args: &DemoArgs, look: &Look) -> Result<End> {
    let both = ["mmlu".to_owned(), "mmlu_pro".to_owned()];
    let job = Job::new(&args.settings, &both, Some("embedded"), (hub::SMALL, 256))?;
    sit(job, &args.settings, look)
}

pub(super) fn run(args: &RunArgs, look: &Look) -> Result<End> {
    let job = Job::new(
        &args.settings,
        &args.benchmark,
        args.data.as_deref(),
        (default_model(), 2048),
    )?;
    sit(job, &args.settings, look)
}

fn sit(job: Job, settings: &Settings, look: &Look) -> Result<End> {
    if settings.plain || settings.json || !tui::can_draw() {
        without_screen(&job, settings)
    } else {
        on_screen(job, look)
    }
}

/// Questions, model, plans, answers: the whole of a run, told to `watch`.
fn work(
    job: &Job,
    datasets: Option<Vec<Dataset>>,
    control: &Control,
    watch: &mut dyn FnMut(Update) -> ControlFlow<()>,
) -> Result<Summary> {
    let datasets = match datasets {
        Some(datasets) => datasets,
        None => job.datasets(&mut |status| watch(Update::Status(status)))?,
    };
    let Opened { mut engine, model } = job.engine(&mut |status| watch(Update::Status(status)))?;
    let description = engine.describe();
    if watch(Update::Status(description.number_format())).is_break() {
        bail!("stopped before the first question");
    }
    let rounding = bench::rounding::known(&description);
    let plans = job.plans(datasets, engine.as_ref(), &model, rounding.as_ref())?;
    run::execute(plans, engine.as_mut(), control, watch)
}

fn without_screen(job: &Job, settings: &Settings) -> Result<End> {
    let stop = Stop::listen()?;
    let control = Control::new(job.benchmarks.len());
    let mut plain = Plain::new();
    let datasets = match job.datasets(&mut |status| {
        plain.tell(&Update::Status(status));
        stop.flow()
    }) {
        Ok(datasets) => datasets,
        Err(error) if stop.asked() => {
            plain.end();
            eprintln!("stopped: {error:#}");
            return Ok(End::Stopped);
        }
        Err(error) => {
            plain.end();
            return Err(error);
        }
    };
    plain.end();
    datasets.iter().for_each(|dataset| tell_washed(dataset, TOLD));
    let outcome = work(job, Some(datasets), &control, &mut |update| {
        plain.tell(&update);
        stop.flow()
    });
    plain.end();
    let summary = match outcome {
        Ok(summary) => summary,
        Err(error) if stop.asked() => {
            eprintln!("stopped: {error:#}");
            return Ok(End::Stopped);
        }
        Err(error) => return Err(error),
    };
    let traces = traces::of_summary(&summary, job);
    if settings.json {
        reports::print_json(&traces)?;
    } else {
        reports::print_table(&traces)?;
    }
    for line in number_format(&summary) {
        eprintln!("{line}");
    }
    for manifest in &summary.manifests {
        let done = format!("{} of {} done", thousands(manifest.finished), thousands(manifest.rows));
        eprintln!("{}: {done}", manifest.settings.benchmark);
    }
    eprintln!(
        "{} {}",
        if summary.stopped {
            "stopped; saved in"
        } else {
            "saved in"
        },
        job.root.display()
    );
    if summary.stopped {
        eprintln!("go on with: the same command, --out {} --resume", job.root.display());
        return Ok(End::Stopped);
    }
    answered(&summary)
}

/// What a run computed in and why, and how far that lies from f32, where it is known.
fn number_format(summary: &Summary) -> Vec<String> {
    let Some(manifest) = summary.manifests.first() else {
        return Vec::new();
    };
    let mut lines = vec![manifest.settings.engine.in_words()];
    lines.extend(manifest.rounding.as_ref().map(ToString::to_string));
    lines
}

/// Rows that are told one by one; the manifest has them all.
const TOLD: usize = 20;

/// Tells what was found odd about the questions: how columns were read, rows dropped or flagged, the first `most` of
/// them one by one.
pub(super) fn tell_washed(dataset: &Dataset, most: usize) {
    let name = safe_line(&dataset.name);
    for note in &dataset.notes {
        eprintln!("{name}: {}", safe_line(note));
    }
    if dataset.washed.is_empty() {
        return;
    }
    let (dropped, flagged) = Washed::count(&dataset.washed);
    eprintln!("{name}: rows dropped: {dropped}, kept with a flag: {flagged}");
    for washed in dataset.washed.iter().take(most) {
        eprintln!("  {}", safe_line(&washed.to_string()));
    }
    if dataset.washed.len() > most {
        eprintln!("  and {} more (run.json lists all)", dataset.washed.len() - most);
    }
}

fn on_screen(job: Job, look: &Look) -> Result<End> {
    // What needs no network fails here, before the screen is taken.
    let datasets = if job.data.is_some() {
        let datasets = job.datasets(&mut |_| ControlFlow::Continue(()))?;
        datasets.iter().for_each(|dataset| tell_washed(dataset, TOLD));
        Some(datasets)
    } else {
        None
    };
    let control = Arc::new(Control::new(job.benchmarks.len()));
    let stop = Stop::default();
    let (tell, updates) = mpsc::channel();
    let worker = {
        let (control, stop) = (Arc::clone(&control), stop.clone());
        let root = job.root.clone();
        std::thread::Builder::new()
            .name("engine".into())
            .spawn(move || -> Result<(Summary, Job)> {
                let outcome = work(&job, datasets, &control, &mut |update| {
                    let _ = tell.send(update);
                    stop.flow()
                });
                match outcome {
                    Ok(summary) => Ok((summary, job)),
                    Err(error) => {
                        let _ = tell.send(Update::Failed(format!("{error:#}")));
                        Err(error.context(format!("the run in {} did not end", root.display())))
                    }
                }
            })
            .context("no thread for the engine")?
    };
    let shown = tui::live(
        updates,
        control,
        Arc::clone(&stop.0),
        traces::tui_options(look, None, None),
    );
    stop.0.store(true, std::sync::atomic::Ordering::Relaxed);
    let outcome = worker
        .join()
        .unwrap_or_else(|_| Err(anyhow::anyhow!("the engine's thread panicked")));
    shown?;
    let (summary, job) = match outcome {
        Ok(done) => done,
        Err(error) if error.chain().any(<dyn std::error::Error + 'static>::is::<hub::Stopped>) => {
            eprintln!("stopped; what came so far is kept for the next start");
            return Ok(End::Stopped);
        }
        Err(error) => return Err(error),
    };
    reports::print_table(&traces::of_summary(&summary, &job))?;
    for line in number_format(&summary) {
        println!("{line}");
    }
    for manifest in &summary.manifests {
        println!(
            "{}: {} of {} done",
            manifest.settings.benchmark,
            thousands(manifest.finished),
            thousands(manifest.rows)
        );
    }
    println!("saved in {}", job.root.display());
    if summary.stopped {
        println!("go on with: the same command, --out {} --resume", job.root.display());
    } else {
        println!("look again: markbook {}", job.root.display());
    }
    if summary.stopped {
        return Ok(End::Stopped);
    }
    answered(&summary)
}

/// An exam without one answer is no success.
fn answered(summary: &Summary) -> Result<End> {
    if !summary.failed.is_empty() {
        bail!("{}", summary.failed.join("; "));
    }
    Ok(End::Done)
}
