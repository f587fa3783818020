//! `release`: what changed between two releases of one trace set.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use super::args::BothArgs;
use super::reports::put_json;
use super::{End, say, traces};
use crate::release::{Changes, Release, Side};
use crate::stats::percent;
use crate::text::{safe_line, thousands};

/// `release`.
#[derive(Debug, Clone, Args)]
pub struct ReleaseArgs {
    /// The release that was there: a run folder, a trace, or a set of the hub
    pub old: PathBuf,
    /// The release that takes its place
    pub new: PathBuf,
    #[command(flatten)]
    pub both: BothArgs,
    /// Print the result as JSON on standard output
    #[arg(long)]
    pub json: bool,
}

pub(super) fn release(args: &ReleaseArgs) -> Result<End> {
    let [old, new] = traces::open_two([&args.old, &args.new], &args.both)?;
    let release = Release::of(&old, &new)?;
    if args.json {
        put_json(&release)?;
        return Ok(End::Done);
    }
    let mut out = say::out();
    for (which, side) in [("old", &release.old), ("new", &release.new)] {
        side_lines(which, side, &mut out)?;
    }
    changes(&release.overall, &mut out)?;
    categories(&release.categories, &mut out)?;
    for note in &release.notes {
        writeln!(out, "! {}", safe_line(note))?;
    }
    out.flush()?;
    Ok(End::Done)
}

fn side_lines(which: &str, side: &Side, out: &mut impl Write) -> Result<()> {
    writeln!(out, "{which} {}", safe_line(&side.name))?;
    writeln!(
        out,
        "  rows {}   questions {}   correct {}   [invalid] {}   accuracy {}%",
        thousands(side.rows),
        thousands(side.questions),
        thousands(side.correct),
        thousands(side.invalid),
        percent(side.accuracy)
    )?;
    if side.attempts < 2 {
        return Ok(());
    }
    let closed = side.closed.iter().enumerate();
    let closed: Vec<String> = closed
        .map(|(right, questions)| format!("{right}: {}", thousands(*questions)))
        .collect();
    writeln!(out, "  questions by right attempts   {}", closed.join("   "))?;
    let equal = side.identical.iter().map(|pair| {
        let [a, b] = pair.attempts;
        let fault = if pair.is_fault { " !" } else { "" };
        format!("{a}={b}: {}{fault}", thousands(pair.same))
    });
    writeln!(
        out,
        "  equal texts by attempts       {}",
        equal.collect::<Vec<_>>().join("   ")
    )?;
    if let Some(within) = side.within {
        writeln!(
            out,
            "  within {within:.4} over {} different attempts",
            side.distinct_attempts
        )?;
    }
    Ok(())
}

fn changes(all: &Changes, out: &mut impl Write) -> Result<()> {
    let (paired, only_old, only_new) = (thousands(all.paired), thousands(all.only_old), thousands(all.only_new));
    writeln!(out, "paired {paired}   only old {only_old}   only new {only_new}")?;
    let kinds = [
        ("question", all.question_changed),
        ("options", all.options_changed),
        ("gold", all.gold_changed),
        ("prompt", all.prompt_changed),
    ];
    let kinds = kinds.map(|(name, changed)| {
        let (questions, rows) = (thousands(changed.questions), thousands(changed.rows));
        format!("{name} {questions} ({rows} rows)")
    });
    let unknown = match all.prompt_unknown {
        0 => String::new(),
        rows => format!("   prompt unknown {} rows", thousands(rows)),
    };
    writeln!(out, "changed questions   {}{unknown}", kinds.join("   "))?;
    writeln!(
        out,
        "outputs changed {}, equal {}   picks changed {}",
        thousands(all.outputs_changed),
        thousands(all.outputs_equal),
        thousands(all.picks_changed)
    )?;
    writeln!(
        out,
        "scores changed {}   right → wrong {}   wrong → right {}",
        thousands(all.scores_changed),
        thousands(all.right_to_wrong),
        thousands(all.wrong_to_right)
    )?;
    writeln!(
        out,
        "correct {} → {}   [invalid] {} → {}",
        thousands(all.correct_old),
        thousands(all.correct_new),
        thousands(all.invalid_old),
        thousands(all.invalid_new)
    )?;
    Ok(())
}

fn categories(list: &[Changes], out: &mut impl Write) -> Result<()> {
    let width = list
        .iter()
        .map(|part| part.name.chars().count())
        .max()
        .unwrap_or(0)
        .clamp(8, 40);
    let head = ["paired", "outputs", "picks", "scores", "right → wrong", "wrong → right"];
    let head: Vec<String> = head.iter().map(|name| format!("{name:>8}")).collect();
    writeln!(
        out,
        "  {:width$}{}  {:>17}  {:>13}",
        "category",
        head.join("  "),
        "correct",
        "[invalid]"
    )?;
    for part in list {
        let cells = [
            (part.paired, 8),
            (part.outputs_changed, 8),
            (part.picks_changed, 8),
            (part.scores_changed, 8),
            (part.right_to_wrong, 13),
            (part.wrong_to_right, 13),
        ];
        let cells = cells.map(|(number, width)| format!("{:>width$}", thousands(number)));
        writeln!(
            out,
            "  {:width$}{}  {:>17}  {:>13}",
            safe_line(&part.name),
            cells.join("  "),
            format!("{} → {}", thousands(part.correct_old), thousands(part.correct_new)),
            format!("{} → {}", thousands(part.invalid_old), thousands(part.invalid_new))
        )?;
    }
    Ok(())
}
