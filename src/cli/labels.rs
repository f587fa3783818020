//! `labels`: lists of what is known of questions, kept and joined.

use std::collections::BTreeMap;
use std::io::Write;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use serde_json::json;

use super::args::{StatsArgs, TraceArgs};
use super::plain::Plain;
use super::prepare::load_data;
use super::reports::{json_runs, print_table, put_json};
use super::{End, say, traces, usage};
use crate::benchmark::{self, DataSource, mmlu};
use crate::hub;
use crate::labels::{self, Joined, Label, List, Scores};
use crate::record::{Record, is_right};
use crate::run::Update;
use crate::stats::percent;
use crate::text::{count, safe_line, thousands};
use crate::trace::{Light, Rows, Trace};

/// `labels`.
#[derive(Debug, Clone, Args)]
pub struct LabelsArgs {
    #[command(subcommand)]
    pub what: What,
}

#[derive(Debug, Clone, Subcommand)]
pub enum What {
    /// Keep a list: a file or folder (JSONL, CSV, parquet) with `label` or `error_type`, or mmlu-redux-2.0 from the hub
    Add {
        /// A file, a folder of files by subject, or mmlu-redux-2.0
        source: String,
        /// Name of the list [default: the file's]
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        /// Take the place of a list of that name
        #[arg(long)]
        force: bool,
    },
    /// The lists that are kept
    List {
        /// Print the result as JSON on standard output
        #[arg(long)]
        json: bool,
    },
    /// What a list says, and which of it joins traces or questions
    Show {
        name: String,
        /// Traces to join it to
        #[arg(value_name = "PATH")]
        paths: Vec<PathBuf>,
        /// Questions to join it to: a folder, a file, or `embedded`
        #[arg(long, value_name = "DIR", conflicts_with = "paths")]
        data: Option<String>,
        /// Print the result as JSON on standard output
        #[arg(long)]
        json: bool,
    },
}

/// MMLU-Redux 2.0: a configuration a subject.
const REDUX: (&str, &str) = ("mmlu-redux-2.0", "edinburgh-dawg/mmlu-redux-2.0");
/// Rows and labels that are told one by one.
const TOLD: usize = 5;

pub(super) fn labels(args: &LabelsArgs) -> Result<End> {
    match &args.what {
        What::Add { source, name, force } => add(source, name.as_deref(), *force)?,
        What::List { json } => list(*json)?,
        What::Show {
            name,
            paths,
            data,
            json,
        } => show(&labels::find(name)?, paths, data.as_deref(), *json)?,
    }
    Ok(End::Done)
}

fn add(source: &str, name: Option<&str>, force: bool) -> Result<()> {
    let files = if source == REDUX.0 {
        fetched()?
    } else {
        files_of(Path::new(source))?
    };
    let mut list = List {
        name: name.map_or_else(|| stem(Path::new(source)), str::to_owned),
        labels: Vec::new(),
    };
    for path in &files {
        let mut rows: Vec<_> = benchmark::read_rows(path)?.into_iter().map(|row| row.cells).collect();
        // Files of one subject each name it in their own name, or in their folder's.
        if let Some(subject) = subject_of(path) {
            rows.iter_mut()
                .filter(|row| !row.contains_key("subject"))
                .for_each(|row| {
                    row.insert("subject".to_owned(), subject.clone().into());
                });
        }
        let found = labels::read_rows(&rows).with_context(|| path.display().to_string())?;
        list.labels.extend(found.labels);
        if !found.left_out.is_empty() {
            say::tell(format!(
                "{}: {} left out",
                path.display(),
                count(found.left_out.len(), "row")
            ));
            found
                .left_out
                .iter()
                .take(TOLD)
                .for_each(|line| say::tell(format!("  {}", safe_line(line))));
        }
    }
    let path = list.keep(force)?;
    say::say(format!(
        "{}: {} → {}",
        list.name,
        count(list.labels.len(), "label"),
        path.display()
    ))?;
    say::say(by_label(&list.labels))
}

/// The files of MMLU-Redux, fetched where they are not in the cache.
fn fetched() -> Result<Vec<PathBuf>> {
    let mut plain = Plain::new();
    let mut files = Vec::new();
    for subject in mmlu::CATEGORIES.iter().flat_map(|(_, subjects)| *subjects) {
        let found = hub::dataset(REDUX.1, Some(subject), &["test"], &mut |progress| {
            plain.tell(&Update::Status(progress.to_string()));
            ControlFlow::Continue(())
        });
        plain.end();
        let found = found.with_context(|| format!("{}: labels add takes its files from a folder too", REDUX.1))?;
        files.extend(found.splits.into_iter().flat_map(|split| split.files));
    }
    Ok(files)
}

fn files_of(path: &Path) -> Result<Vec<PathBuf>> {
    let path = crate::files::settled(path)?;
    if !path.is_dir() {
        if !path.exists() {
            bail!(
                "{}: no such file or folder, and no list of the hub but {}",
                path.display(),
                REDUX.0
            );
        }
        return Ok(vec![path]);
    }
    let inside = |folder: &Path| -> Result<Vec<PathBuf>> {
        let entries = std::fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        Ok(paths)
    };
    let mut files = Vec::new();
    for entry in inside(&path)? {
        files.extend(if entry.is_dir() { inside(&entry)? } else { vec![entry] });
    }
    let endings = ["jsonl", "csv", "parquet", "json", "tsv"];
    files.retain(|file| {
        file.extension()
            .is_some_and(|ending| endings.iter().any(|known| ending == *known))
    });
    if files.is_empty() {
        bail!(
            "{} holds no file that could be a list ({})",
            path.display(),
            endings.join(", ")
        );
    }
    Ok(files)
}

fn stem(path: &Path) -> String {
    path.file_stem()
        .map_or_else(|| "labels".to_owned(), |stem| stem.to_string_lossy().replace(' ', "_"))
}

/// The subject of MMLU that a file's name tells, or its folder's.
fn subject_of(path: &Path) -> Option<String> {
    let folder = path.parent().map(stem);
    let names = [Some(stem(path)), folder].into_iter().flatten();
    let mut subjects = names.map(|name| name.strip_prefix("mmlu_").unwrap_or(&name).to_owned());
    subjects.find(|subject| mmlu::category_of(subject).is_some())
}

fn counts(labels: &[Label]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    labels
        .iter()
        .for_each(|label| *counts.entry(label.label.as_str()).or_default() += 1);
    counts
}

fn by_label(labels: &[Label]) -> String {
    let counts = counts(labels)
        .into_iter()
        .map(|(label, number)| format!("{} {}", safe_line(label), thousands(number)));
    counts.collect::<Vec<_>>().join("   ")
}

fn list(as_json: bool) -> Result<()> {
    let lists = labels::all()?;
    if as_json {
        let lists = lists
            .iter()
            .map(|list| json!({ "name": list.name, "labels": list.labels.len(), "counts": counts(&list.labels) }));
        return put_json(&json!({ "lists": lists.collect::<Vec<_>>() }));
    }
    for list in &lists {
        say::say(format!(
            "{}   {}   {}",
            safe_line(&list.name),
            count(list.labels.len(), "label"),
            by_label(&list.labels)
        ))?;
    }
    if lists.is_empty() {
        say::say("no list of labels is kept; labels add FILE keeps one")?;
    }
    Ok(())
}

fn show(list: &List, paths: &[PathBuf], data: Option<&str>, as_json: bool) -> Result<()> {
    let traces = match data {
        Some(data) => questions(&usage(DataSource::parse(data))?)?,
        None if paths.is_empty() => Vec::new(),
        None => traces::open_stored(&TraceArgs::at(paths.to_vec()))?,
    };
    let mut joined = Vec::new();
    for trace in &traces {
        joined.push((
            trace,
            Joined::of(std::slice::from_ref(list), &trace.rows, &*trace.texts)?,
        ));
    }
    if as_json {
        let joins = joined.iter().map(|(trace, joined)| {
            let (used, of) = joined.counts();
            json!({ "trace": trace.name, "joined": used, "of": of, "other_key": joined.other_keys.len(),
                "scores": Scores::of(&trace.rows, joined) })
        });
        let joins: Vec<_> = joins.collect();
        return put_json(
            &json!({ "name": list.name, "labels": list.labels.len(), "counts": counts(&list.labels), "joined": joins }),
        );
    }
    let mut out = say::out();
    writeln!(out, "{}   {}", safe_line(&list.name), count(list.labels.len(), "label"))?;
    writeln!(out, "  {}", by_label(&list.labels))?;
    for (trace, joined) in &joined {
        let (used, of) = joined.counts();
        writeln!(
            out,
            "{}: {} of {} joined",
            safe_line(&trace.name),
            thousands(used),
            thousands(of)
        )?;
        for label in joined.left_over().take(TOLD) {
            let id = label.question_id.map_or_else(String::new, |id| format!(" {id}"));
            writeln!(
                out,
                "  not here:{id} {} {}",
                safe_line(&label.subject),
                shortened(&label.question)
            )?;
        }
        if !joined.other_keys.is_empty() {
            writeln!(
                out,
                "  {} another key than the list says",
                having(joined.other_keys.len())
            )?;
        }
    }
    out.flush()?;
    Ok(())
}

fn having(number: usize) -> String {
    if number == 1 {
        "1 question has".to_owned()
    } else {
        format!("{} questions have", thousands(number))
    }
}

fn shortened(text: &str) -> String {
    let line = safe_line(text);
    if line.chars().count() > 60 {
        format!("{}…", line.chars().take(60).collect::<String>())
    } else {
        line
    }
}

/// The questions of the sets in a place, as traces without answers.
fn questions(source: &DataSource) -> Result<Vec<Trace>> {
    let mut traces = Vec::new();
    let mut refused = None;
    for benchmark in benchmark::ALL.iter().filter(|benchmark| !benchmark.hub_id.is_empty()) {
        let dataset = match load_data(
            benchmark,
            Some(source),
            "test",
            None,
            &mut |_| ControlFlow::Continue(()),
        ) {
            Ok(dataset) => dataset,
            Err(error) => {
                refused = Some(error);
                continue;
            }
        };
        let record = |question: &benchmark::Question| Record {
            question_id: question.id,
            benchmark: dataset.name.clone(),
            category: question.category.clone(),
            subject: question.subject.clone(),
            question: question.question.clone(),
            options: question.options.clone(),
            answer: question.answer.clone(),
            doc_hash: question.doc_hash.clone(),
            ..Record::default()
        };
        traces.push(Trace::from_records(
            &dataset.source,
            &dataset.name,
            dataset.questions.iter().map(record).collect(),
        ));
    }
    match refused {
        Some(error) if traces.is_empty() => Err(error),
        _ => Ok(traces),
    }
}

/// `stats --without` and `--rekeyed`: the figures without the questions that lists speak of, and beside them what the
/// labelled questions alone say.
pub(super) fn stats(args: &StatsArgs, opened: &[Trace]) -> Result<End> {
    let mut kept = Vec::new();
    let mut scores = Vec::new();
    for trace in opened {
        let joined = Joined::load(&trace.rows, &*trace.texts)?;
        scores.push(Scores::of(&trace.rows, &joined));
        kept.push(without(trace, &joined, &args.without, args.rekeyed));
    }
    if args.json {
        let labels: Vec<_> = opened
            .iter()
            .zip(&scores)
            .map(|(trace, scores)| json!({ "trace": trace.name, "scores": scores }))
            .collect();
        return put_json(&json!({ "runs": json_runs(&kept)?, "labels": labels })).map(|()| End::Done);
    }
    print_table(&kept)?;
    let mut out = say::out();
    for (trace, scores) in opened.iter().zip(&scores) {
        match scores {
            Some(scores) => write_scores(&trace.name, scores, &mut out)?,
            None => writeln!(
                out,
                "{}: no list says anything of its questions",
                safe_line(&trace.name)
            )?,
        }
    }
    out.flush()?;
    Ok(End::Done)
}

/// A trace without the rows that labels leave out; with keys mended where that is asked for.
fn without(trace: &Trace, joined: &Joined, words: &[String], rekeyed: bool) -> Trace {
    let mut rows = Rows::default();
    for row in 0..trace.rows.len() {
        let mended = joined.rekeyed(row).filter(|_| rekeyed);
        if mended.is_none() && joined.holds(row, words) {
            continue;
        }
        let light = trace.rows.light(row);
        let answer = mended.unwrap_or(light.answer);
        let correct = mended.map_or(light.correct, |gold| is_right(light.pick, gold));
        rows.push(&Light {
            answer,
            correct,
            ..light
        });
    }
    Trace { rows, ..trace.clone() }
}

fn write_scores(name: &str, scores: &Scores, out: &mut impl Write) -> Result<()> {
    let part = |part: &labels::Part| {
        format!(
            "{} ({:.1} of {})",
            percent(part.accuracy),
            // A sum over nothing is -0.
            part.correct + 0.0,
            thousands(part.n)
        )
    };
    writeln!(
        out,
        "{}: {} labelled questions, {} bad",
        safe_line(name),
        thousands(scores.labelled),
        thousands(scores.bad)
    )?;
    writeln!(
        out,
        "  as published {}   without bad {}   rekeyed {}",
        part(&scores.as_published),
        part(&scores.without_bad),
        part(&scores.rekeyed)
    )?;
    if let (Some(weighted), Some(stderr)) = (scores.weighted, scores.weighted_stderr) {
        writeln!(
            out,
            "  without bad, weighted by subject size {}, stderr {}   bad questions by subject size {} %",
            percent(Some(weighted)),
            percent(Some(stderr)),
            percent(Some(scores.bad_share_weighted))
        )?;
    }
    Ok(())
}
