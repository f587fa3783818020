//! `table`: runs beside published figures, and beside each other by category.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use super::{End, named, say, usage};
use crate::files;
use crate::published::{self, Published};
use crate::report::{self, Scored};
use crate::table::Format;

/// Where a table or report goes, and in which form.
#[derive(Debug, Clone, Default, Args)]
pub struct WrittenArgs {
    /// File to write; its ending tells the form where --format does not
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace a file that is there
    #[arg(long)]
    pub force: bool,
}

/// Published figures to stand beside a run's.
#[derive(Debug, Clone, Default, Args)]
pub struct PublishedArgs {
    /// A figure of others: a number (0.475 or 47.5), or a file of them (.toml, .csv, .json); files named published.toml in
    /// the data directory and here are read anyway
    #[arg(long, value_name = "FILE|VALUE")]
    pub published: Vec<String>,
    /// How that number was measured: "5-shot, base model"
    #[arg(long, value_name = "TEXT", requires = "published")]
    pub published_how: Option<String>,
}

#[derive(Debug, Clone, Args)]
pub struct TableArgs {
    /// Runs or traces: paths, ids or their unique beginnings, `last`, or @BASELINE
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<String>,
    #[command(flatten)]
    pub published: PublishedArgs,
    /// The runs side by side by category; of two also the paired difference
    #[arg(long)]
    pub categories: bool,
    /// term, md, csv, latex or json
    #[arg(long, value_name = "FORM")]
    pub format: Option<String>,
    /// The same as --format json
    #[arg(long, conflicts_with = "format")]
    pub json: bool,
    #[command(flatten)]
    pub written: WrittenArgs,
}

pub(super) fn table(args: &TableArgs) -> Result<End> {
    let format = if args.json {
        Some("json")
    } else {
        args.format.as_deref()
    };
    let format = format_of(format, &args.written)?;
    let published = published_of(&args.published)?;
    let runs = scored(&args.runs)?;
    let table = if args.categories {
        report::by_category(&runs)
    } else {
        report::scores(&runs, &published)
    };
    deliver(&table.write(format)?, &args.written)?;
    Ok(End::Done)
}

/// The form that is named, else that of the file's ending, else the terminal's.
pub(super) fn format_of(name: Option<&str>, written: &WrittenArgs) -> Result<Format> {
    if let Some(name) = name {
        return usage(Format::parse(name));
    }
    let ending = written
        .output
        .as_ref()
        .and_then(|path| path.extension())
        .map(|end| end.to_string_lossy().into_owned());
    match ending {
        None => Ok(Format::Term),
        Some(ending) => {
            let known = || format!(".{ending} tells no form; endings are .txt .md .csv .tex .json, or give --format");
            usage(Format::of_ending(&ending).with_context(known))
        }
    }
}

/// Opens all that is named, a run a benchmark.
pub(super) fn scored(names: &[String]) -> Result<Vec<Scored>> {
    let mut runs = Vec::new();
    for name in names {
        for trace in named::open(name)? {
            runs.extend(Scored::all(&trace)?);
        }
    }
    ensure!(!runs.is_empty(), "{} holds no rows", names.join(", "));
    Ok(runs)
}

/// The one benchmark of what is named, or that which is asked for.
pub(super) fn one_scored(name: &str, benchmark: Option<&str>) -> Result<Scored> {
    let mut runs = scored(&[name.to_owned()])?;
    let exams: Vec<String> = runs.iter().map(|run| run.card.text("benchmark")).collect();
    if let Some(benchmark) = benchmark {
        runs.retain(|run| run.card.text("benchmark") == benchmark);
    }
    match (runs.pop(), runs.is_empty()) {
        (Some(run), true) => Ok(run),
        (None, _) => bail!(
            "{name} holds {}, not {}",
            exams.join(" and "),
            benchmark.unwrap_or_default()
        ),
        (Some(_), false) => bail!("{name} holds {}; name one of their folders", exams.join(" and ")),
    }
}

/// The embedded figures, those of the usual files, and what the arguments give, the last before all others.
pub(super) fn published_of(args: &PublishedArgs) -> Result<Vec<Published>> {
    let home = crate::hub::home().ok();
    let mut list = Vec::new();
    for given in &args.published {
        if let Ok(number) = given.parse::<f64>() {
            list.push(usage(published::told(number, args.published_how.as_deref()))?);
        } else {
            list.extend(published::read(Path::new(given))?);
        }
    }
    for path in published::usual_files(home.as_deref()) {
        list.extend(published::read(&path)?);
    }
    list.extend(published::embedded());
    Ok(list)
}

/// Writes a text to the file that is asked for, else to standard output.
pub(super) fn deliver(text: &str, written: &WrittenArgs) -> Result<()> {
    let Some(path) = &written.output else {
        return say::say(text.strip_suffix('\n').unwrap_or(text));
    };
    write_new(path, text.as_bytes(), written.force)?;
    say::tell(format!(
        "{} written",
        crate::text::safe_line(&path.display().to_string())
    ));
    Ok(())
}

/// Writes a whole file that is not there yet, or may be replaced.
pub(super) fn write_new(path: &Path, bytes: &[u8], force: bool) -> Result<()> {
    ensure!(
        force || !path.exists(),
        "{} exists; --force replaces it",
        path.display()
    );
    files::write_aside(path, bytes)
}
