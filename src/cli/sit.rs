//! `demo` and `run`: the exams are sat, on the screen or without one.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc;

use anyhow::{Context, Result, bail};

use super::args::{DemoArgs, Look, RunArgs, Settings};
use super::plain::Plain;
use super::prepare::{Job, default_model};
use super::{End, again, entering, listen, reports, say, traces};
use crate::benchmark::{Dataset, Washed};
use crate::engine::{Control, Opened, bench};
use crate::hub;
use crate::run::{self, Summary, Update};
use crate::stop::Stop;
use crate::text::{safe_line, thousands};
use crate::tui::{self, How};

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
    super::home::began(&job.root);
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
    for finding in description.findings() {
        if watch(Update::Status(finding)).is_break() {
            bail!("stopped before the first question");
        }
    }
    let rounding = bench::rounding::known(&description);
    let plans = job.plans(datasets, engine.as_ref(), &model, rounding.as_ref())?;
    let watch = &mut |update: Update| {
        if let Update::Started { exams, .. } = &update {
            entering::begin(exams);
        }
        watch(update)
    };
    if job.settings.again.is_empty() {
        return run::execute(plans, engine.as_mut(), control, watch);
    }
    let (plans, chosen) = again::plans(job, plans, engine.as_ref())?;
    // An exam without such a row is left out, and its lane with it.
    let fewer = Control::new(plans.len());
    let control = if plans.len() < control.lanes.len() {
        &fewer
    } else {
        control
    };
    let mut summary = run::execute(plans, engine.as_mut(), control, watch)?;
    summary.notes.extend(again::end(&chosen, &summary)?);
    Ok(summary)
}

fn without_screen(job: &Job, settings: &Settings) -> Result<End> {
    let stop = listen()?;
    let control = Control::new(job.benchmarks.len());
    let mut plain = Plain::new();
    let datasets = job.datasets(&mut |status| {
        plain.tell(&Update::Status(status));
        stop.flow()
    });
    plain.end();
    let outcome = datasets.and_then(|datasets| {
        datasets.iter().for_each(|dataset| tell_washed(dataset, TOLD));
        work(job, Some(datasets), &control, &mut |update| {
            plain.tell(&update);
            stop.flow()
        })
    });
    plain.end();
    let summary = match outcome {
        Ok(summary) => summary,
        Err(error) if stop.is_asked() => return Ok(stopped(&error, &stop)),
        Err(error) => return Err(error),
    };
    let end = end_of(&summary, &stop);
    let print = if settings.json {
        reports::print_json
    } else {
        reports::print_table
    };
    let traces = traces::of_job(job);
    let printed = traces.as_ref().map_or(Ok(()), |traces| print(traces));
    for line in ending(&summary, job) {
        say::tell(line);
    }
    entering::enter(traces.as_deref().unwrap_or_default());
    let printed = traces.and(printed);
    answered(&summary, say::ended(printed, end)?)
}

/// How a run ends that was stopped before it could save more than it had.
fn stopped(error: &anyhow::Error, stop: &Stop) -> End {
    say::tell(format!("stopped: {}", safe_line(&format!("{error:#}"))));
    End::asked(stop)
}

fn end_of(summary: &Summary, stop: &Stop) -> End {
    if summary.stopped { End::asked(stop) } else { End::Done }
}

/// What is told of a run that is over: how it was computed, how far it got, where it is, and what to do next.
fn ending(summary: &Summary, job: &Job) -> Vec<String> {
    let mut lines = summary.notes.clone();
    lines.extend(number_format(summary));
    lines.extend(summary.manifests.iter().map(|manifest| {
        let (finished, rows) = (thousands(manifest.finished), thousands(manifest.rows));
        format!("{}: {finished} of {rows} done", manifest.settings.benchmark)
    }));
    let root = job.root.display();
    lines.extend(if summary.stopped {
        [
            format!("stopped; saved in {root}"),
            format!("go on with: the same command, --out {root} --resume"),
        ]
    } else {
        [format!("saved in {root}"), format!("look again: markbook {root}")]
    });
    lines
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
        say::tell(format!("{name}: {}", safe_line(note)));
    }
    if dataset.washed.is_empty() {
        return;
    }
    let (dropped, flagged) = Washed::count(&dataset.washed);
    say::tell(format!("{name}: rows dropped: {dropped}, kept with a flag: {flagged}"));
    for washed in dataset.washed.iter().take(most) {
        say::tell(format!("  {}", safe_line(&washed.to_string())));
    }
    if dataset.washed.len() > most {
        let more = dataset.washed.len() - most;
        say::tell(format!("  and {more} more (run.json lists all)"));
    }
}

/// Updates between the engine and the screen; a run is not to fill the memory with what nobody has seen.
const ON_THE_WAY: usize = 64;

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
    let (tell, updates) = mpsc::sync_channel(ON_THE_WAY);
    let worker = {
        let (control, stop) = (Arc::clone(&control), stop.clone());
        std::thread::Builder::new()
            .name("engine".into())
            .spawn(move || {
                let outcome = work(&job, datasets, &control, &mut |update| {
                    let _ = tell.send(update);
                    stop.flow()
                });
                if let Err(error) = &outcome {
                    let _ = tell.send(Update::Failed(format!("{error:#}")));
                }
                // Whether it failed by itself is known only here and now: later the screen was left in any case.
                (outcome, stop.is_asked(), job)
            })
            .context("no thread for the engine")?
    };
    let shown = tui::live(updates, control, stop.clone(), traces::tui_options(look, None, None))?;
    if shown.how == How::AtOnce {
        say::tell("ended at once; the answers that were finished are saved: --resume goes on");
        return Ok(End::Stopped);
    }
    if !worker.is_finished() {
        say::tell(super::STOPPING);
    }
    let Ok((outcome, was_asked, job)) = worker.join() else {
        bail!("the engine's thread panicked");
    };
    let summary = match outcome {
        Ok(summary) => summary,
        Err(error) if was_asked => return Ok(stopped(&error, &stop)),
        Err(error) => return Err(error.context(format!("the run in {} did not end", job.root.display()))),
    };
    let lines = ending(&summary, &job).join("\n");
    let traces = traces::of_job(&job)?;
    let printed = reports::print_table(&traces).and_then(|()| say::say(lines));
    entering::enter(&traces);
    answered(&summary, say::ended(printed, end_of(&summary, &stop))?)
}

/// An exam without one answer is no success.
fn answered(summary: &Summary, end: End) -> Result<End> {
    if end == End::Done && !summary.failed.is_empty() {
        bail!("{}", summary.failed.join("; "));
    }
    Ok(end)
}
