//! `open` and `export`: traces opened, browsed, written.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::args::{BothArgs, Color, ExportArgs, Look, OpenArgs, TraceArgs};
use super::inputs::Inputs;
use super::prepare::Job;
use super::{End, entering, reports, say, usage};
use crate::benchmark::Benchmark;
use crate::export::{self, Extra, Target};
use crate::extract::Rule;
use crate::filter::{Agreement, Context as FilterContext, Derived, Filter, Mode, Pairs};
use crate::labels::Joined;
use crate::notes::Notes;
use crate::text::{safe_line, size, thousands};
use crate::trace::{Rows, Trace};
use crate::tui::{How, Opener, Saved};
use crate::{compare, import, joined, rescore, store, tui};

/// The finished and unfinished runs in the data directory, the newest first.
fn saved_runs() -> Vec<Saved> {
    let Ok(home) = crate::hub::home() else {
        return Vec::new();
    };
    let folders = |path: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
        folders.sort();
        folders
    };
    let mut runs = Vec::new();
    for folder in folders(&home.join("runs")).into_iter().rev().take(200) {
        let own = std::iter::once(folder.clone()).chain(folders(&folder));
        runs.extend(own.filter(|path| store::is_run(path)).map(|path| {
            Saved {
                label: path
                    .strip_prefix(home.join("runs"))
                    .unwrap_or(&path)
                    .display()
                    .to_string(),
                path,
            }
        }));
    }
    runs
}

/// Opens what the arguments name, with the picks of `--rule` where one is given.
pub(super) fn load(args: &TraceArgs) -> Result<Vec<Trace>> {
    usage(args.rule.as_deref().map(Rule::parse).transpose())?;
    open_inputs(&Inputs::find(&args.paths)?, args)
}

fn open_inputs(inputs: &Inputs, args: &TraceArgs) -> Result<Vec<Trace>> {
    let rule = usage(args.rule.as_deref().map(Rule::parse).transpose())?;
    let mut traces = inputs.open(&options_of(args))?;
    if let Some(rule) = &rule {
        for trace in &mut traces {
            rescore::rescore(trace, rule)?;
        }
    }
    Ok(traces)
}

/// The traces that the arguments name with the picks that they store; without any path, the recorded demo.
pub(super) fn open_stored(args: &TraceArgs) -> Result<Vec<Trace>> {
    Inputs::find(&args.paths)?.open(&options_of(args))
}

/// The one trace that the arguments name, its notices told.
///
/// # Errors
/// When there are several.
pub(super) fn open_one_of(args: &TraceArgs) -> Result<Trace> {
    let mut opened = open_stored(args)?;
    tell_notices(&opened);
    if opened.len() != 1 {
        let names: Vec<&str> = opened.iter().map(|trace| trace.name.as_str()).collect();
        let path = args
            .paths
            .first()
            .map_or_else(String::new, |path| path.display().to_string());
        bail!(
            "{path} holds {} runs ({}); name one of them",
            names.len(),
            names.join(", ")
        );
    }
    Ok(opened.remove(0))
}

/// Two traces, each the one at its path. The names of columns are for both, or for the one that has them.
pub(super) fn open_two(paths: [&Path; 2], how: &BothArgs) -> Result<[Trace; 2]> {
    let rule = usage(how.rule.as_deref().map(Rule::parse).transpose())?;
    let plain = |path: &Path| TraceArgs::at(vec![path.to_owned()]);
    let open = |path: &Path| {
        let mut args = plain(path);
        // A run folder of our own has our columns.
        if !store::is_run(path) {
            (args.map, args.gold_base) = (how.map.clone(), how.gold_base);
        }
        open_one_of(&args)
    };
    let mut pair = match (open(paths[0]), open(paths[1])) {
        (Err(error), Ok(b)) if !how.map.is_empty() => [open_one_of(&plain(paths[0])).map_err(|_| error)?, b],
        (Ok(a), Err(error)) if !how.map.is_empty() => [a, open_one_of(&plain(paths[1])).map_err(|_| error)?],
        (a, b) => [a?, b?],
    };
    if let Some(rule) = &rule {
        for trace in &mut pair {
            rescore::rescore(trace, rule)?;
        }
    }
    Ok(pair)
}

fn options_of(args: &TraceArgs) -> import::Options {
    super::inputs::options(&args.map, args.gold_base)
}

/// Tells what was found odd while opening.
pub(super) fn tell_notices(traces: &[Trace]) {
    for trace in traces {
        for notice in &trace.notices {
            let (name, text) = (safe_line(&trace.name), safe_line(&notice.text));
            say::tell(format!("{name}: {text}"));
        }
    }
}

pub(super) fn tui_options(look: &Look, filter: Option<String>, command: Option<Vec<String>>) -> tui::Options {
    tui::Options {
        color: match look.color {
            Color::Auto => tui::ColorChoice::Auto,
            Color::Never => tui::ColorChoice::Never,
            Color::Always => tui::ColorChoice::Always,
        },
        shade: look.theme,
        ascii: look.ascii,
        mouse: !look.no_mouse,
        filter,
        command: command.unwrap_or_default(),
        saved: crate::filter::NamedFilters::load(),
        ..tui::Options::default()
    }
}

pub(super) fn open(args: &OpenArgs, look: &Look) -> Result<End> {
    if let Some(filter) = &args.filter {
        // Words are checked before the screen is taken; names once the rows are there.
        usage(Filter::parse_for_two(filter, Mode::Strict, &Rows::default()))?;
    }
    usage(args.trace.rule.as_deref().map(Rule::parse).transpose())?;
    // What comes from the hub is fetched before the screen is taken.
    let inputs = Inputs::find(&args.trace.paths)?;
    let mut options = tui_options(look, args.filter.clone(), Some(command_of(args)));
    options.follow = args.follow;
    options.cache_dir = crate::hub::home().ok().map(|home| home.join("cache"));
    if let Some(words) = &args.view {
        if words == "help" {
            let list: Vec<String> = tui::VIEW_WORDS
                .iter()
                .map(|(word, help)| format!("  {word:<10} {help}\n"))
                .collect();
            say::say(list.concat().trim_end())?;
            return Ok(End::Done);
        }
        options.place = usage(tui::Place::parse(words))?;
    }
    if args.print {
        let (width, height) = crossterm::terminal::size().unwrap_or((120, 40));
        let (width, height) = match args.size {
            Some(size) => size,
            None if std::io::stdout().is_terminal() => (width, height),
            None => (120, 40),
        };
        let screen = tui::print_screen(&opener(&args.trace, inputs), (width, height), &options)?;
        say::say(screen.strip_suffix('\n').unwrap_or(&screen))?;
        return Ok(End::Done);
    }
    if !tui::can_draw() {
        let traces = open_inputs(&inputs, &args.trace)?;
        tell_notices(&traces);
        reports::print_table(&filtered(&traces, args.filter.as_deref())?)?;
        if is_plain(&args.trace) {
            entering::enter(&traces);
        }
        return Ok(End::Done);
    }
    let exit = show(args, inputs, options)?;
    if args.stats_on_exit {
        say::say(exit.stats_json())?;
    }
    Ok(end_of(exit.how))
}

/// Browses what lies at some paths, come to from Home.
pub(super) fn browse_from_home(args: &OpenArgs, look: &Look) -> Result<tui::Exit> {
    let inputs = Inputs::find(&args.trace.paths)?;
    let mut options = tui_options(look, None, Some(command_of(args)));
    options.cache_dir = crate::hub::home().ok().map(|home| home.join("cache"));
    options.has_home = true;
    show(args, inputs, options)
}

fn show(args: &OpenArgs, inputs: Inputs, options: tui::Options) -> Result<tui::Exit> {
    let exit = tui::browse(opener(&args.trace, inputs), options)?;
    super::home::opened(&args.trace.paths, &exit);
    Ok(exit)
}

/// How a command ends whose screen was left so.
pub(super) fn end_of(how: How) -> End {
    match how {
        How::Signal(number) => End::Signal(number),
        How::Hangup => End::Signal(1),
        How::Done | How::Back | How::Stopped => End::Done,
        How::AtOnce => End::Stopped,
    }
}

/// Whether the traces open again by their paths alone: what was read by a map is not entered.
fn is_plain(args: &TraceArgs) -> bool {
    args.map.is_empty() && args.gold_base.is_none()
}

/// How the screen opens what the arguments name.
fn opener(args: &TraceArgs, inputs: Inputs) -> Opener {
    let (all, other) = (args.clone(), args.clone());
    let (opened, first, stamped) = (inputs.clone(), inputs.clone(), inputs);
    let options = options_of(args);
    let opener = Opener::new(move || open_inputs(&opened, &all))
        .stamped(move || import::stamp(stamped.paths()))
        .opening_others(move |path| {
            let paths = vec![path.to_owned()];
            load(&TraceArgs { paths, ..other.clone() })
        })
        .listing(saved_runs);
    let opener = if is_plain(args) {
        opener.entering(|trace| drop(entering::enter([trace])))
    } else {
        opener
    };
    // Another rule reads every output before a pick can be shown.
    if args.rule.is_some() {
        return opener;
    }
    opener.peeking(move || import::peek(first.paths(), &options))
}

/// The command that opens the same traces again, without its filter.
fn command_of(args: &OpenArgs) -> Vec<String> {
    let mut words: Vec<String> = args.trace.paths.iter().map(|path| path.display().to_string()).collect();
    if let Some(rule) = &args.trace.rule {
        words.extend(["--rule".to_owned(), rule.clone()]);
    }
    if !args.trace.map.is_empty() {
        let pairs: Vec<String> = args
            .trace
            .map
            .iter()
            .map(|(ours, theirs)| format!("{ours}={theirs}"))
            .collect();
        words.extend(["--map".to_owned(), pairs.join(",")]);
    }
    let base = args
        .trace
        .gold_base
        .map(|base| ["--gold-base".to_owned(), base.to_string()]);
    words.extend(base.into_iter().flatten());
    words
}

/// A filter line read against the names of all traces: a name that is whole in one of them stands for itself in each.
///
/// # Errors
/// For a word that is not known: wrong usage.
pub(super) fn read_filter(traces: &[Trace], line: &str) -> Result<Filter> {
    let mut names = Rows::default();
    for trace in traces {
        let rows = &trace.rows;
        for (all, own) in [
            (&mut names.benchmark, &rows.benchmark),
            (&mut names.category, &rows.category),
            (&mut names.subject, &rows.subject),
            (&mut names.pick, &rows.pick),
            (&mut names.answer, &rows.answer),
            (&mut names.flags, &rows.flags),
        ] {
            for name in own.list() {
                all.code_for(name);
            }
        }
    }
    let parse = if traces.len() == 2 {
        Filter::parse_for_two
    } else {
        Filter::parse
    };
    usage(parse(line, Mode::Strict, &names))
}

/// What two runs say of each other's rows, for a filter that asks.
fn pairs(traces: &[Trace], filter: &Filter) -> Vec<Pairs> {
    match traces {
        [a, b] if filter.needs_pairs() => {
            let (of_a, of_b) = Pairs::of_both(&a.rows, &b.rows, &compare::pair(&a.rows, &b.rows));
            vec![of_a, of_b]
        }
        _ => Vec::new(),
    }
}

/// The rows of a trace that pass a filter.
pub(super) fn select(trace: &Trace, filter: &Filter, pairs: Option<&Pairs>) -> Result<Vec<u32>> {
    let agreement = filter.needs_agreement().then(|| Agreement::of(&trace.rows));
    let derived = if filter.needs_derived() {
        let rule = shown_rule(trace);
        Derived::of(&trace.rows, &*trace.texts, &rule, &mut |_| {
            std::ops::ControlFlow::Continue(())
        })?
    } else {
        None
    };
    let notes = filter.needs_notes().then(|| Notes::load(trace)).transpose()?;
    let labels = filter
        .needs_labels()
        .then(|| Joined::load(&trace.rows, &*trace.texts))
        .transpose()?;
    let context = FilterContext {
        derived: derived.as_ref(),
        agreement: agreement.as_ref(),
        notes: notes.as_ref(),
        labels: labels.as_ref(),
        pairs,
        ..FilterContext::new(&trace.rows)
    };
    filter.select_all(&context, &*trace.texts)
}

/// The rows of one of several traces that pass a filter line, in order; all where there is none.
pub(super) fn chosen(traces: &[Trace], trace: &Trace, line: Option<&str>) -> Result<Vec<u32>> {
    match line {
        Some(line) => select(trace, &read_filter(traces, line)?, None),
        None => Ok((0..trace.rows.len() as u32).collect()),
    }
}

/// The rule by which a trace's picks are shown; the harness's where the file does not say.
pub(super) fn shown_rule(trace: &Trace) -> Rule {
    let stored = trace.ours().map(|run| run.settings.rule.as_str());
    Rule::of_texts(trace.rule.as_deref().or(stored))
}

/// The traces with only the rows that pass.
pub(super) fn filtered(traces: &[Trace], line: Option<&str>) -> Result<Vec<Trace>> {
    let Some(line) = line else {
        return Ok(traces.to_vec());
    };
    let filter = read_filter(traces, line)?;
    let pairs = pairs(traces, &filter);
    let mut kept = Vec::new();
    for (at, trace) in traces.iter().enumerate() {
        let mut rows = Rows::default();
        for row in select(trace, &filter, pairs.get(at))? {
            rows.push_row(&trace.rows, row as usize);
        }
        kept.push(Trace { rows, ..trace.clone() });
    }
    Ok(kept)
}

/// The traces of a run that has just ended, as they lie in its folders.
pub(super) fn of_job(job: &Job) -> Result<Vec<Trace>> {
    let open = |benchmark: &&Benchmark| store::open(&job.folder(benchmark));
    job.benchmarks.iter().map(open).collect()
}

pub(super) fn export(args: &ExportArgs) -> Result<End> {
    let format = usage(export::format_of(args.format.as_deref(), &args.output))?;
    if args.spreadsheet_safe && format.name != "csv" {
        usage(Err(anyhow::anyhow!(
            "--spreadsheet-safe marks the cells of csv, not of {}",
            format.name
        )))?;
    }
    let with: Result<Vec<Extra>> = args.with.iter().map(|name| Extra::parse(name)).collect();
    let with = usage(with)?;
    let target = match args.output.as_path() {
        path if path == Path::new("-") => Target::Stdout,
        path => Target::File(path.to_owned()),
    };
    let traces = load(&args.trace)?;
    tell_notices(&traces);
    let options = export::Options {
        format,
        target,
        force: args.force,
        with,
        spreadsheet_safe: args.spreadsheet_safe,
        ..export::Options::jsonl(Target::Stdout)?
    };
    let to = match &options.target {
        Target::Stdout => "standard output".to_owned(),
        Target::File(path) => path.display().to_string(),
    };
    let slice = slice(traces, args, options)?;
    let about = export::bytes_a_row(&slice.trace, &slice.rows, format)? * slice.rows.len() as f64;
    say::tell(format!(
        "{}: {} rows, about {} as {} → {}",
        safe_line(&slice.trace.name),
        thousands(slice.rows.len()),
        size(about as u64),
        format.name,
        safe_line(&to)
    ));
    let written = export::write(&slice.trace, &slice.rows, &slice.options).context("nothing was exported")?;
    let (rows, bytes) = (thousands(written.rows), size(written.bytes));
    say::tell(format!("{rows} rows, {bytes} written"));
    if written.formulas > 0 {
        let cells = thousands(written.formulas);
        say::tell(format!(
            "{cells} cells begin as formulas do: a spreadsheet would run them; --spreadsheet-safe marks them"
        ));
    }
    Ok(End::Done)
}

/// What is exported of all that was opened: one trace, as the screen shows it.
struct Exported {
    trace: Trace,
    rows: Vec<u32>,
    options: export::Options,
}

/// The rows of all traces that pass the filter, joined, with what was noted on them.
fn slice(traces: Vec<Trace>, args: &ExportArgs, mut options: export::Options) -> Result<Exported> {
    let filter = read_filter(&traces, args.filter.as_deref().unwrap_or_default())?;
    let pairs = pairs(&traces, &filter);
    let is_noted = options
        .with
        .iter()
        .any(|extra| matches!(extra, Extra::Note | Extra::Marks));
    let mut rows: Vec<u32> = Vec::new();
    let mut first = 0;
    for (at, trace) in traces.iter().enumerate() {
        let mut own = select(trace, &filter, pairs.get(at))?;
        if args.whole_questions {
            own = export::whole_questions(&trace.rows, &own);
        }
        rows.extend(own.iter().map(|row| row + first));
        if is_noted {
            let notes = Notes::load(trace)?;
            options
                .notes
                .extend(notes.texts().into_iter().map(|(row, note)| (row + first, note)));
            options.marks.extend(notes.marked().map(|row| row + first));
            options
                .labels
                .extend(notes.labels().into_iter().map(|(row, label)| (row + first, label)));
        }
        first += trace.rows.len() as u32;
    }
    options.names_runs = !joined::is_one_run(&traces);
    if options.names_runs && options.format.name == "parquet" {
        usage(Err(anyhow::anyhow!(
            "{} runs on the same questions: a parquet file has no column for whose a row is; name a .jsonl or .csv, or one of the runs",
            traces.len()
        )))?;
    }
    Ok(Exported {
        trace: joined::join(traces)?,
        rows,
        options,
    })
}
