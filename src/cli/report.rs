//! `report`: a run handed to somebody who was not there, and one figure alone.

use std::path::Path;

use anyhow::{Context, Result, bail};
use clap::Args;
use std::io::IsTerminal;

use super::baseline::find;
use super::scores::{PublishedArgs, WrittenArgs, deliver, published_of, scored, write_new};
use super::{End, say, usage};
use crate::baseline::{Baseline, Gate, Rules};
use crate::charts::{self, Chart, Dot, Mark};
use crate::check;
use crate::figure::{Figure, Ink, SvgKind};
use crate::report::{Confirmation, Report, Scored, Source, figure_file, matching};
use crate::text::{safe_line, size};

#[derive(Debug, Clone, Args)]
pub struct ReportArgs {
    /// Runs or traces: paths, ids or their unique beginnings, `last`, or @BASELINE
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<String>,
    /// Name or file of a baseline that the runs are held against
    #[arg(long, value_name = "NAME|FILE")]
    pub baseline: Option<String>,
    #[command(flatten)]
    pub published: PublishedArgs,
    /// What you vouch for, written into the acceptance list: lawful="licence read, 3 May"
    #[arg(long, value_name = "ITEM=TEXT")]
    pub confirm: Vec<String>,
    /// One figure alone: categories, seeds, letters, causes, calibration, lengths, course, runs; without -o on the terminal
    #[arg(long, value_name = "NAME")]
    pub figure: Option<String>,
    /// Print the report as JSON on standard output
    #[arg(long, conflicts_with = "output")]
    pub json: bool,
    #[command(flatten)]
    pub written: WrittenArgs,
}

/// What a report is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Html,
    Md,
    Json,
}

pub(super) fn report(args: &ReportArgs, ascii: bool) -> Result<End> {
    if let Some(name) = &args.figure {
        return figure(name, args, ascii);
    }
    let form = usage(form_of(args))?;
    let confirmed: Vec<Confirmation> = usage(args.confirm.iter().map(|words| Confirmation::parse(words)).collect())?;
    let published = published_of(&args.published)?;
    let runs = scored(&args.runs)?;
    let baseline = args.baseline.as_deref().map(find).transpose()?;
    let gates = baseline.as_ref().map(|baseline| gates(baseline, &runs)).transpose()?;
    let source = Source {
        runs: &runs,
        baseline: baseline.as_ref().zip(gates),
        published: &published,
        confirmed: &confirmed,
        warnings: &warnings(&runs)?,
        is_entered: None,
    };
    let report = Report::of(&source)?;
    write(&report, form, &args.written)?;
    Ok(End::Done)
}

fn form_of(args: &ReportArgs) -> Result<Form> {
    let Some(path) = &args.written.output else {
        if args.json {
            return Ok(Form::Json);
        }
        bail!("a report goes into a file: -o FILE.html, .md or .json (or --json, or --figure NAME)");
    };
    let ending = path
        .extension()
        .map(|end| end.to_string_lossy().to_ascii_lowercase())
        .unwrap_or_default();
    match ending.as_str() {
        "html" | "htm" => Ok(Form::Html),
        "md" | "markdown" => Ok(Form::Md),
        "json" => Ok(Form::Json),
        _ => bail!("{}: a report is written as .html, .md or .json", path.display()),
    }
}

/// The runs of the baseline's benchmark held against it.
fn gates(baseline: &Baseline, runs: &[Scored]) -> Result<Vec<Gate>> {
    let exam = baseline.card().text("benchmark");
    let own = runs.iter().filter(|run| run.card.text("benchmark") == exam);
    let gates: Vec<Gate> = own
        .map(|run| Gate::of(baseline, run.slice(), &run.card, &Rules::default()))
        .collect::<Result<_>>()?;
    anyhow::ensure!(
        !gates.is_empty(),
        "the baseline {} is of {exam}, of which no run is here",
        baseline.name
    );
    Ok(gates)
}

/// What `check` says of the traces, each once.
fn warnings(runs: &[Scored]) -> Result<Vec<String>> {
    let mut lines: Vec<String> = Vec::new();
    let mut seen: Vec<&Path> = Vec::new();
    for run in runs {
        let path = run.trace.path.as_deref().unwrap_or(Path::new(""));
        if !seen.contains(&path) {
            seen.push(path);
            let problems = check::check(std::slice::from_ref(&run.trace), &[])?;
            lines.extend(
                problems
                    .iter()
                    .map(|problem| format!("check: {}: {}", problem.kind, problem.detail)),
            );
        }
    }
    lines.dedup();
    Ok(lines)
}

fn write(report: &Report, form: Form, written: &WrittenArgs) -> Result<()> {
    let Some(path) = &written.output else {
        return deliver(&format!("{:#}\n", report.json()), written);
    };
    let text = match form {
        Form::Html => report.html(),
        Form::Json => format!("{:#}\n", report.json()),
        Form::Md => {
            let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let text = report.markdown(&stem)?;
            let mut names: Vec<&str> = Vec::new();
            for figure in report.figures() {
                let again = names.iter().filter(|name| **name == figure.name).count();
                names.push(figure.name);
                let file = crate::files::folder_of(path).join(figure_file(&stem, figure.name, again));
                write_new(&file, figure.svg(SvgKind::File).as_bytes(), written.force)?;
            }
            text
        }
    };
    write_new(path, text.as_bytes(), written.force)?;
    let (path, size) = (path.display().to_string(), size(text.len() as u64));
    say::tell(format!(
        "{} written, {size}; {}",
        safe_line(&path),
        safe_line(&report.items())
    ));
    Ok(())
}

fn figure(name: &str, args: &ReportArgs, ascii: bool) -> Result<End> {
    let is_of_runs = matches!(name, "runs" | "places");
    if !is_of_runs {
        usage(Chart::find(name).with_context(|| "runs draws several runs beside each other"))?;
    }
    let runs = scored(&args.runs)?;
    let figures: Vec<Figure> = if is_of_runs {
        vec![beside(&runs)]
    } else {
        let (chart, published) = (Chart::find(name)?, published_of(&args.published)?);
        let baseline = args.baseline.as_deref().map(find).transpose()?;
        let drawn: Result<Vec<Option<Figure>>> = runs
            .iter()
            .map(|run| run.figure(chart, &marks(run, baseline.as_ref(), &published)))
            .collect();
        drawn?.into_iter().flatten().collect()
    };
    let Some(first) = figures.first() else {
        bail!("the rows tell nothing of {name}")
    };
    let is_svg = args.written.output.is_some();
    if is_svg && figures.len() > 1 {
        bail!(
            "{} hold {} runs, and a file holds one figure; name one of their folders",
            args.runs.join(", "),
            figures.len()
        );
    }
    if is_svg {
        deliver(&first.svg(SvgKind::File), &args.written)?;
        return Ok(End::Done);
    }
    let width = crossterm::terminal::size()
        .ok()
        .filter(|_| std::io::stdout().is_terminal())
        .map_or(100, |(width, _)| usize::from(width));
    let texts: Vec<String> = figures
        .iter()
        .map(|figure| figure.text(width.min(140), ascii))
        .collect();
    deliver(&texts.join("\n"), &WrittenArgs::default())?;
    Ok(End::Done)
}

fn marks(run: &Scored, baseline: Option<&Baseline>, published: &[crate::published::Published]) -> Vec<Mark> {
    let exam = run.card.text("benchmark");
    let own = baseline
        .filter(|baseline| baseline.card().text("benchmark") == exam)
        .map(|baseline| Mark {
            name: format!("@{}", baseline.name),
            accuracy: baseline.accuracy,
            categories: baseline.categories(),
        });
    let of = matching(published, run).into_iter().map(|value| Mark {
        name: "published".to_owned(),
        accuracy: value.value,
        categories: Vec::new(),
    });
    own.into_iter().chain(of).collect()
}

/// Several runs beside each other.
fn beside(runs: &[Scored]) -> Figure {
    let names = Scored::names(runs, Scored::title);
    let dot = |(run, name): (&Scored, String)| {
        let interval = run.sum().interval()?;
        Some(Dot {
            name,
            accuracy: run.run.accuracy?,
            limits: [interval.low, interval.high],
            ink: Ink::Main,
            remark: String::new(),
            filter: None,
        })
    };
    charts::dots(
        "runs",
        "Accuracy, 95 %",
        &runs.iter().zip(names).filter_map(dot).collect::<Vec<_>>(),
        Vec::new(),
    )
}
