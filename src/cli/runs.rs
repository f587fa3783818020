//! `runs`, `add`, `forget` and `catalogue`: the index of runs and traces.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use serde_json::json;

use super::args::{AddArgs, CatalogueArgs, CatalogueCommand, ForgetArgs, RunsArgs};
use super::reports::put_json;
use super::{End, entering, named, say, usage};
use crate::card;
use crate::catalogue::{Catalogue, Listed, WORDS, Words};
use crate::stats::percent;
use crate::text::{safe_line, thousands};

/// What entries can be sorted by.
const KEYS: [&str; 5] = ["date", "acc", "model", "bench", "rows"];

/// Entries that are listed where not all are asked for.
const LISTED: usize = 50;

pub(super) fn runs(args: &RunsArgs) -> Result<End> {
    if args.filter.as_deref() == Some("help") {
        let lines = WORDS.iter().map(|(word, about)| format!("  {word:<9} {about}"));
        say::say(lines.collect::<Vec<_>>().join("\n"))?;
        return Ok(End::Done);
    }
    let words = usage(Words::parse(args.filter.as_deref().unwrap_or_default()))?;
    let mut entries = list()?;
    let all = entries.len();
    entries.retain(|entry| words.hold(entry));
    usage(sort(&mut entries, &args.sort))?;
    if args.json {
        put_json(&json!({ "runs": entries }))?;
        return Ok(End::Done);
    }
    if all == 0 {
        say::tell(
            "no runs yet: a run is entered when it ends, a trace when it is opened; markbook add PATH enters others",
        );
        return Ok(End::Done);
    }
    let shown = if args.all { entries.len() } else { LISTED };
    table(&entries[..shown.min(entries.len())])?;
    if entries.len() > shown {
        say::tell(format!(
            "{} of {}; --all lists them all",
            thousands(shown),
            thousands(entries.len())
        ));
    }
    Ok(End::Done)
}

/// All entries as their folders are at this moment, the newest first.
pub(super) fn list() -> Result<Vec<Listed>> {
    let Some(place) = entering::place()? else {
        bail!("the catalogue is switched off (MARKBOOK_CATALOGUE, --no-catalogue)");
    };
    if !place.exists() {
        return Ok(Vec::new());
    }
    match Catalogue::open(&place) {
        Ok(mut catalogue) => {
            catalogue.told.iter().for_each(|line| say::tell(safe_line(line)));
            catalogue.look_at_places()?;
            catalogue.list()
        }
        // It may lie where nothing can be written, or be of a newer version.
        Err(error) => match Catalogue::read(&place) {
            Ok(Some(catalogue)) => {
                catalogue.told.iter().for_each(|line| say::tell(safe_line(line)));
                catalogue.list()
            }
            _ => Err(error),
        },
    }
}

fn sort(entries: &mut [Listed], key: &str) -> Result<()> {
    match key {
        // They come the newest first.
        "date" => {}
        "acc" => entries.sort_by(|a, b| b.accuracy.unwrap_or(-1.0).total_cmp(&a.accuracy.unwrap_or(-1.0))),
        "model" => entries.sort_by(|a, b| a.model.cmp(&b.model)),
        "bench" => entries.sort_by(|a, b| a.benchmark.cmp(&b.benchmark)),
        "rows" => entries.sort_by_key(|entry| std::cmp::Reverse(entry.rows)),
        other => bail!("unknown sort key {other:?} (known: {})", KEYS.join(", ")),
    }
    Ok(())
}

fn table(entries: &[Listed]) -> Result<()> {
    let mut out = say::out();
    let width = |of: fn(&Listed) -> &str, least: usize| {
        entries
            .iter()
            .map(|entry| of(entry).chars().count())
            .max()
            .unwrap_or(0)
            .clamp(least, 64)
    };
    let (ids, exams) = (width(|entry| &entry.run_id, 6), width(|entry| &entry.benchmark, 9));
    writeln!(
        out,
        "{:ids$}  {:exams$}  {:>5}  {:>11}  {:>9}  {:>6}  {:8}  {:8}  marks",
        "run", "benchmark", "%", "95 %", "rows", "[inv]", "P", "S"
    )?;
    for entry in entries {
        let limits = entry.low.zip(entry.high);
        let limits = limits.map(|(low, high)| format!("{}-{}", percent(Some(low)), percent(Some(high))));
        let invalid = (entry.rows > 0).then(|| entry.invalid as f64 / entry.rows as f64);
        writeln!(
            out,
            "{:ids$}  {:exams$}  {:>5}  {:>11}  {:>9}  {:>6}  {:8}  {:8}  {}",
            safe_line(&entry.run_id),
            safe_line(&entry.benchmark),
            percent(entry.accuracy),
            limits.unwrap_or_default(),
            thousands(entry.rows),
            percent(invalid),
            card::short(&entry.procedure),
            entry.slice.as_deref().map_or("-", card::short),
            safe_line(&marks(entry))
        )?;
    }
    out.flush()?;
    Ok(())
}

fn marks(entry: &Listed) -> String {
    let rows = entry.planned.unwrap_or(entry.rows);
    let partial = (!entry.is_complete).then(|| format!("{} of {}", thousands(entry.rows), thousands(rows)));
    let gone = entry.is_gone().then(|| "folder gone".to_owned());
    let unknown = (entry.unknown > 0).then(|| format!("{} unknown", entry.unknown));
    let baselines = entry.baselines.iter().map(|name| format!("@{name}"));
    let tags = entry.tags.iter().map(|tag| format!("#{tag}"));
    let parts = [partial, gone, unknown]
        .into_iter()
        .flatten()
        .chain(baselines)
        .chain(tags)
        .chain(entry.note.clone());
    parts.collect::<Vec<_>>().join(" · ")
}

pub(super) fn add(args: &AddArgs) -> Result<End> {
    for path in &args.paths {
        anyhow::ensure!(path.exists(), "{}: no such file or folder", path.display());
    }
    let mut catalogue = entering::opened()?;
    let walked = catalogue.walk(&args.paths, &mut |_| {});
    for id in &walked.entered {
        if let Some(tag) = &args.tag {
            catalogue.label(id, "tag", tag)?;
        }
    }
    if args.json {
        put_json(&json!({ "entered": walked.entered, "failed": walked.failed }))?;
    } else {
        walked.entered.iter().try_for_each(say::say)?;
        walked.failed.iter().for_each(|line| say::tell(safe_line(line)));
    }
    if walked.entered.is_empty() {
        bail!("nothing was entered");
    }
    Ok(End::Done)
}

pub(super) fn forget(args: &ForgetArgs) -> Result<End> {
    let mut catalogue = entering::opened()?;
    for name in &args.runs {
        let entry = named::entry(&catalogue, name)?;
        catalogue.forget(&entry.run_id)?;
        let place = entry
            .path
            .map_or_else(String::new, |path| format!(" ({} stays)", path.display()));
        say::tell(safe_line(&format!("forgotten: {}{place}", entry.run_id)));
    }
    Ok(End::Done)
}

pub(super) fn catalogue(args: &CatalogueArgs) -> Result<End> {
    let place = entering::place()?.context("the catalogue is switched off (MARKBOOK_CATALOGUE, --no-catalogue)")?;
    match args.command.as_ref().unwrap_or(&CatalogueCommand::Path) {
        CatalogueCommand::Path => say::say(place.display())?,
        CatalogueCommand::Check => {
            let catalogue =
                Catalogue::read(&place)?.with_context(|| format!("{} is not there yet", place.display()))?;
            let problems = catalogue.check()?;
            if !problems.is_empty() {
                bail!(
                    "{}: {}; markbook catalogue rebuild makes it anew",
                    place.display(),
                    problems.join("; ")
                );
            }
            say::say(format!(
                "{}: whole, {} entries",
                place.display(),
                thousands(catalogue.list()?.len())
            ))?;
        }
        CatalogueCommand::Rebuild { folders } => rebuild(&place, folders)?,
    }
    Ok(End::Done)
}

fn rebuild(place: &std::path::Path, folders: &[PathBuf]) -> Result<()> {
    let runs = crate::hub::home()?.join("runs");
    let places: Vec<PathBuf> = folders.iter().cloned().chain(runs.is_dir().then_some(runs)).collect();
    let walked = Catalogue::rebuild(place, &places, &mut |_| {})?;
    walked.failed.iter().for_each(|line| say::tell(safe_line(line)));
    say::say(format!(
        "{}: made anew, {} entries",
        place.display(),
        thousands(walked.entered.len())
    ))
}
