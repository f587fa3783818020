//! `baseline` and `gate`: a score frozen into a file, and a run held against it by exit code.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, Subcommand};

use super::reports::put_json;
use super::scores::{WrittenArgs, deliver, one_scored, scored};
use super::{End, entering, say, usage};
use crate::baseline::{Baseline, Gate, Gated, Rules, Verdict, list, place};
use crate::card;
use crate::catalogue::{Frozen, Judged};
use crate::stats::IntervalKind;
use crate::table::{Cell, Format, Table, chance, number, points, signed, text};
use crate::text::{count, safe_line, thousands};

#[derive(Debug, Clone, Args)]
pub struct BaselineArgs {
    #[command(subcommand)]
    pub what: What,
}

#[derive(Debug, Clone, Subcommand)]
pub enum What {
    /// Freeze a run's score, with what is lost without an alarm, before the next run
    Freeze(FreezeArgs),
    /// The baselines in the data directory
    List {
        /// Print the result as JSON on standard output
        #[arg(long)]
        json: bool,
    },
    /// What a baseline froze
    Show {
        /// Its name, or its file
        #[arg(value_name = "NAME|FILE")]
        name: String,
        /// Print the result as JSON on standard output
        #[arg(long)]
        json: bool,
    },
    /// Remove a baseline's file
    Drop {
        #[arg(value_name = "NAME")]
        name: String,
    },
}

#[derive(Debug, Clone, Args)]
pub struct FreezeArgs {
    #[arg(value_name = "NAME")]
    pub name: String,
    /// A run or trace: a path, an id or its unique beginning, or `last`
    #[arg(value_name = "RUN")]
    pub run: String,
    /// Loss in points that raises an alarm
    #[arg(long, value_name = "POINTS", default_value_t = 2.0)]
    pub threshold: f64,
    /// Why this run is the one to be held against
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
    /// Of a run of several, the benchmark
    #[arg(long, value_name = "NAME")]
    pub benchmark: Option<String>,
    /// File to write [default: baselines/NAME.json in the data directory]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Freeze over one that is there; the old file is kept as NAME.DATE.json
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, Clone, Args)]
pub struct GateArgs {
    /// A run or trace: a path, an id or its unique beginning, or `last`
    #[arg(value_name = "RUN")]
    pub run: String,
    /// Name or file of the baseline
    #[arg(long, value_name = "NAME|FILE")]
    pub baseline: String,
    /// Loss in points that raises an alarm, in place of the baseline's
    #[arg(long, value_name = "POINTS")]
    pub threshold: Option<f64>,
    /// A category that is lost is an alarm
    #[arg(long)]
    pub categories: bool,
    /// Judge the common questions where fewer than 95 % of the baseline's are here
    #[arg(long)]
    pub common: bool,
    /// Unsure is an alarm; settings that are unknown are not comparable
    #[arg(long)]
    pub strict: bool,
    /// Another model is not comparable
    #[arg(long)]
    pub same_model: bool,
    /// term or md (a block for a pull request)
    #[arg(long, value_name = "FORM", default_value = "term", value_parser = ["term", "md"])]
    pub format: String,
    /// Print the result as JSON on standard output
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub written: WrittenArgs,
}

pub(super) fn baseline(args: &BaselineArgs) -> Result<End> {
    match &args.what {
        What::Freeze(args) => freeze(args),
        What::List { json } => show_list(*json),
        What::Show { name, json } => show(name, *json),
        What::Drop { name } => {
            let path = usage(place(&crate::hub::home()?, name))?;
            ensure!(path.exists(), "there is no baseline {name}; {}", known()?);
            std::fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
            entering::note(|catalogue| catalogue.dropped(name));
            say::tell(format!("{} removed", path.display()));
            Ok(End::Done)
        }
    }
}

/// Points as a fraction.
fn fraction(threshold: f64) -> Result<f64> {
    let is_right = threshold > 0.0 && threshold <= 100.0;
    usage(if is_right {
        Ok(threshold / 100.0)
    } else {
        Err(anyhow::anyhow!("a threshold is a number of points above 0, up to 100"))
    })
}

fn freeze(args: &FreezeArgs) -> Result<End> {
    let threshold = fraction(args.threshold)?;
    let home = crate::hub::home();
    let usual = usage(place(home.as_deref().unwrap_or(Path::new(".")), &args.name))?;
    let path = match &args.output {
        Some(path) => path.clone(),
        None => home.map(|_| usual)?,
    };
    let old = path.exists().then(|| Baseline::read(&path));
    if old.is_some() && !args.force {
        bail!(
            "{} is there; --force freezes over it and keeps the old file beside it",
            path.display()
        );
    }
    let run = one_scored(&args.run, args.benchmark.as_deref())?;
    let mut made = Baseline::of(&args.name, run.slice(), &run.card)?;
    let id = entering::id_of(&run.trace, &run.card.text("benchmark")).unwrap_or(run.run_id);
    (made.run_id, made.reason, made.threshold) = (id, args.reason.clone(), threshold);
    std::fs::create_dir_all(crate::files::folder_of(&path))
        .with_context(|| format!("cannot make the folder of {}", path.display()))?;
    if let Some(old) = old {
        let date = chrono::Local::now().format("%Y%m%d-%H%M%S");
        let kept = path.with_extension(format!("{date}.json"));
        std::fs::rename(&path, &kept).with_context(|| format!("cannot keep {}", path.display()))?;
        say::tell(format!(
            "the old one is kept as {}{}",
            kept.display(),
            changed(old.ok().as_ref(), &made)
        ));
    }
    made.write(&path)?;
    index(&path);
    let questions = count(made.questions.len(), "question");
    say::say(format!(
        "{}   {}   {questions}   threshold {} points   {}",
        safe_line(&made.name),
        points(made.accuracy),
        points(made.threshold),
        path.display()
    ))?;
    Ok(End::Done)
}

/// Enters a baseline into the catalogue as its file tells it.
fn index(path: &Path) {
    entering::note(|catalogue| {
        let (made, path) = (Baseline::read(path)?, std::path::absolute(path)?);
        catalogue.froze(&Frozen {
            name: &made.name,
            path: &path,
            run_id: &made.run_id,
            procedure: &made.procedure,
            slice: made.slice.as_deref().unwrap_or_default(),
            threshold: made.threshold,
            sha256: &made.sha256,
            frozen_at: &made.frozen_at,
            reason: made.reason.as_deref(),
        })
    });
}

/// What a new baseline changes against the old one.
fn changed(old: Option<&Baseline>, new: &Baseline) -> String {
    let Some(old) = old else { return String::new() };
    let difference = card::differ(&old.card(), &new.card());
    let mut words = vec![format!("{} -> {}", points(old.accuracy), points(new.accuracy))];
    if (old.threshold - new.threshold).abs() > f64::EPSILON {
        words.push(format!(
            "threshold {} -> {}",
            points(old.threshold),
            points(new.threshold)
        ));
    }
    let moved = difference
        .moved
        .iter()
        .chain(&difference.slice)
        .chain(&difference.model)
        .map(|change| change.name.to_owned());
    words.extend(moved);
    format!("; changed: {}", words.join(", "))
}

fn known() -> Result<String> {
    let all = list(&crate::hub::home()?);
    let names: Vec<String> = all
        .iter()
        .filter_map(|(path, _)| Some(path.file_stem()?.to_string_lossy().into_owned()))
        .collect();
    Ok(if names.is_empty() {
        "there are none (markbook baseline freeze NAME RUN)".to_owned()
    } else {
        format!("known are {}", names.join(", "))
    })
}

/// A baseline by its name, or its file.
pub(super) fn find(name: &str) -> Result<Baseline> {
    let given = Path::new(name);
    let is_file = name.contains(['/', '\\', '.']) || given.is_file();
    if is_file {
        return Baseline::read(given);
    }
    let name = name.strip_prefix('@').unwrap_or(name);
    let path = usage(place(&crate::hub::home()?, name))?;
    ensure!(path.exists(), "there is no baseline {name}; {}", known()?);
    Baseline::read(&path)
}

fn show_list(json: bool) -> Result<End> {
    let all = list(&crate::hub::home()?);
    let mut table = Table::new(
        "",
        vec![
            text("name"),
            text("model"),
            text("benchmark"),
            number("accuracy"),
            number("questions"),
            number("threshold"),
            text("frozen"),
            text("reason"),
            text("procedure"),
            text("slice"),
        ],
    );
    for (path, read) in all {
        match read {
            Ok(baseline) => table.rows.push(row(&baseline)),
            Err(error) => table.notes.push(format!("{}: {error:#}", path.display())),
        }
    }
    if table.rows.is_empty() && table.notes.is_empty() && !json {
        table
            .notes
            .push("no baselines yet: markbook baseline freeze NAME RUN".to_owned());
    }
    deliver(
        &table.write(if json { Format::Json } else { Format::Term })?,
        &WrittenArgs::default(),
    )?;
    Ok(End::Done)
}

fn row(baseline: &Baseline) -> Vec<Cell> {
    let card = baseline.card();
    vec![
        Cell::text(&baseline.name),
        Cell::text(card.text("model.name")),
        Cell::text(card.text("benchmark")),
        Cell::Points(baseline.accuracy, ""),
        Cell::Count(baseline.questions.len()),
        Cell::Points(baseline.threshold, ""),
        Cell::text(baseline.frozen_at.get(..10).unwrap_or_default()),
        Cell::text(baseline.reason.clone().unwrap_or_default()),
        Cell::text(card::short(&baseline.procedure)),
        Cell::text(baseline.slice.as_deref().map_or("-", card::short)),
    ]
}

fn show(name: &str, json: bool) -> Result<End> {
    let baseline = find(name)?;
    if json {
        put_json(&baseline)?;
        return Ok(End::Done);
    }
    let card = baseline.card();
    let within = baseline
        .within()
        .map(|within| format!("   within {within:.4}"))
        .unwrap_or_default();
    let text = format!(
        "{} · {} · {}\n  frozen {}   run {}\n  reason {}\n  accuracy {}   rows {}   questions {}   threshold {} points{within}\n  procedure {}   slice {}",
        safe_line(&baseline.name),
        safe_line(&card.text("model.name")),
        safe_line(&card.text("benchmark")),
        safe_line(&baseline.frozen_at),
        safe_line(&baseline.run_id),
        safe_line(baseline.reason.as_deref().unwrap_or("-")),
        points(baseline.accuracy),
        thousands(baseline.n),
        thousands(baseline.questions.len()),
        points(baseline.threshold),
        card::short(&baseline.procedure),
        baseline.slice.as_deref().map_or("-", card::short),
    );
    say::say(text)?;
    Ok(End::Done)
}

pub(super) fn gate(args: &GateArgs) -> Result<End> {
    let threshold = args.threshold.map(fraction).transpose()?;
    let rules = Rules {
        threshold,
        categories: args.categories,
        common: args.common,
        strict: args.strict,
        same_model: args.same_model,
    };
    let baseline = find(&args.baseline)?;
    let exam = baseline.card().text("benchmark");
    let runs = scored(std::slice::from_ref(&args.run))?;
    let run = match runs.iter().find(|run| run.card.text("benchmark") == exam) {
        Some(run) => run,
        // Another benchmark is judged like any other setting: by name, exit 5.
        None => &runs[0],
    };
    let gate = Gate::of(&baseline, run.slice(), &run.card, &rules)?;
    let code = gate.verdict.code(args.strict);
    let run_id = entering::id_of(&run.trace, &run.card.text("benchmark")).unwrap_or_else(|| run.run_id.clone());
    entering::note(|catalogue| {
        catalogue.judged(&Judged {
            baseline: &baseline.name,
            run_id: &run_id,
            verdict: gate.verdict.word(),
            change: gate.overall.as_ref().map(|all| (all.change, all.ci95, all.p)),
            threshold: gate.threshold,
        })
    });
    if args.json {
        let mut value = serde_json::to_value(&gate).context("a gate does not turn into JSON")?;
        value["exit"] = code.into();
        value["run_id"] = run_id.into();
        deliver(&format!("{value:#}\n"), &args.written)?;
    } else {
        let text = if args.format == "md" {
            markdown(&gate, &baseline)
        } else {
            Ok(term(&gate, &baseline))
        };
        deliver(&text?, &args.written)?;
    }
    Ok(if code == 0 { End::Done } else { End::Found(code) })
}

/// The verdict in a line, as both forms begin.
fn headline(gate: &Gate) -> String {
    let Some(all) = &gate.overall else {
        return format!("{}   {}", gate.verdict.word(), gate.benchmark);
    };
    let also = match (all.is_worse, all.is_better) {
        (true, _) if gate.verdict == Verdict::Unsure => ", worse",
        (_, true) => ", better",
        _ => "",
    };
    let attempts = gate.attempts[1].max(1);
    let times = if attempts > 1 {
        format!(" x {attempts}")
    } else {
        String::new()
    };
    format!(
        "{}{also}   {}   {} -> {}   {} points [{}, {}]   threshold {}   p {}   {} questions{times}",
        gate.verdict.word(),
        gate.benchmark,
        points(all.baseline),
        points(all.new),
        signed(all.change),
        signed(all.ci95[0]),
        signed(all.ci95[1]),
        points(gate.threshold),
        chance(all.p),
        thousands(all.questions)
    )
}

/// What the verdict rests on, a line each.
fn grounds(gate: &Gate) -> Vec<String> {
    let difference = &gate.difference;
    let mut lines = gate.reasons.clone();
    let names = |changes: &[card::Change]| {
        let value = |value: &serde_json::Value| crate::text::safe::one_line(&card::shown(value), 32, false);
        let words = changes
            .iter()
            .map(|change| format!("{} {} -> {}", change.name, value(&change.a), value(&change.b)));
        words.collect::<Vec<_>>().join(", ")
    };
    if gate.overall.is_some() {
        let unknown: Vec<&str> = difference
            .unknown
            .iter()
            .take(difference.unknown_procedure)
            .map(|change| change.name)
            .collect();
        let same = if unknown.is_empty() {
            "same procedure".to_owned()
        } else {
            format!("same procedure as far as known (not known: {})", unknown.join(", "))
        };
        let slice = if difference.slice.is_empty() { " and slice" } else { "" };
        let model = if difference.model.is_empty() {
            String::new()
        } else {
            format!("; another model: {}", names(&difference.model))
        };
        let jitter = if difference.jitter.is_empty() {
            String::new()
        } else {
            format!("; may jitter: {}", names(&difference.jitter))
        };
        lines.push(format!("{same}{slice}{model}{jitter}"));
        lines.push(alarm(gate));
    }
    lines
}

/// How often the threshold is reached by chance alone.
fn alarm(gate: &Gate) -> String {
    let loss = points(gate.threshold);
    match gate.false_alarm {
        Some(0.0) => format!("without sampling a change of {loss} never comes by chance on the same machine"),
        Some(share) if share < 1e-6 => {
            format!("by chance alone a change of {loss} or worse comes in fewer than 1 of 10^6 repeats of this size")
        }
        Some(share) => format!(
            "by chance alone a change of {loss} or worse comes in {:.2} % of repeats of this size",
            100.0 * share
        ),
        None => format!("how often chance alone loses {loss} is not known: the baseline has one attempt a question"),
    }
}

fn categories(gate: &Gate) -> Table {
    let columns = vec![
        text("category"),
        text("verdict"),
        number("questions"),
        number("baseline"),
        number("new"),
        number("change"),
        number("95 % of change").key("ci95_change"),
        number("p, Holm").key("p_holm"),
    ];
    let mut table = Table::new("", columns);
    let row = |part: &Gated| {
        vec![
            Cell::text(&part.name),
            Cell::text(part.verdict.word()),
            Cell::Count(part.questions),
            Cell::Points(part.baseline, ""),
            Cell::Points(part.new, ""),
            Cell::Signed(part.change),
            Cell::SignedLimits(part.ci95),
            Cell::Chance(part.p_holm),
        ]
    };
    table.rows = gate.categories.iter().map(row).collect();
    table
}

fn term(gate: &Gate, baseline: &Baseline) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}", safe_line(&headline(gate)));
    for line in grounds(gate) {
        let _ = writeln!(out, "       {}", safe_line(&line));
    }
    let table = categories(gate);
    if !table.rows.is_empty() {
        let lines = table.write(Format::Term).unwrap_or_default();
        lines.lines().for_each(|line| {
            let _ = writeln!(out, "  {line}");
        });
    }
    if let Some(reason) = &baseline.reason {
        let _ = writeln!(
            out,
            "       baseline {}: {}",
            safe_line(&baseline.name),
            safe_line(reason)
        );
    }
    out
}

/// A block for a pull request: categories and card diff folded.
fn markdown(gate: &Gate, baseline: &Baseline) -> Result<String> {
    use crate::text::markup::markdown as md;
    let mark = match gate.verdict {
        Verdict::Held => "✅",
        Verdict::Unsure => "⚠️",
        _ => "❌",
    };
    let mut out = format!(
        "### {mark} markbook gate `{}`: {}\n\n",
        baseline.name,
        gate.verdict.word()
    );
    if let Some(all) = &gate.overall {
        let mut table = Table::new(
            "",
            vec![
                text("benchmark"),
                number("baseline"),
                number("new"),
                number("change"),
                number("95 %"),
                number("threshold"),
                number("p"),
                number("questions"),
            ],
        );
        table.rows.push(vec![
            Cell::text(&gate.benchmark),
            Cell::Points(all.baseline, ""),
            Cell::Points(all.new, ""),
            Cell::Signed(all.change),
            Cell::SignedLimits(all.ci95),
            Cell::Points(gate.threshold, ""),
            Cell::Chance(all.p),
            Cell::Count(all.questions),
        ]);
        out.push_str(&table.write(Format::Md)?);
        out.push('\n');
    }
    for line in grounds(gate) {
        let _ = writeln!(out, "- {}", md(&line));
    }
    if let Some(IntervalKind::Clustered) = gate.ci_kind {
        let _ = writeln!(out, "- several attempts a question: counted by question");
    }
    if !gate.categories.is_empty() {
        let _ = writeln!(
            out,
            "\n<details><summary>categories</summary>\n\n{}\n</details>",
            categories(gate).write(Format::Md)?
        );
    }
    let difference = &gate.difference;
    let changes = [
        &difference.moved,
        &difference.slice,
        &difference.model,
        &difference.jitter,
    ]
    .into_iter()
    .flatten();
    let mut table = Table::new("", vec![text("setting"), text("baseline"), text("new")]);
    table.rows = changes
        .map(|change| {
            let value =
                |value: &serde_json::Value| Cell::text(crate::text::safe::one_line(&card::shown(value), 60, false));
            vec![Cell::text(change.name), value(&change.a), value(&change.b)]
        })
        .collect();
    if !table.rows.is_empty() {
        let _ = writeln!(
            out,
            "\n<details><summary>what differs</summary>\n\n{}\n</details>",
            table.write(Format::Md)?
        );
    }
    Ok(out)
}
