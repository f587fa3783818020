//! `drop`: how far one model falls from one exam to another.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use super::args::BothArgs;
use super::reports::{limits, put_json};
use super::{End, say, traces};
use crate::compare::{Descent, Exam};
use crate::stats::percent;
use crate::text::{safe_line, thousands};

/// `drop`.
#[derive(Debug, Clone, Args)]
pub struct DropArgs {
    /// The model's MMLU run: a run folder, a trace, or a set of the hub
    pub mmlu: PathBuf,
    /// Its MMLU-Pro run
    pub mmlu_pro: PathBuf,
    #[command(flatten)]
    pub both: BothArgs,
    /// Print the result as JSON on standard output
    #[arg(long)]
    pub json: bool,
}

pub(super) fn drop(args: &DropArgs) -> Result<End> {
    let [a, b] = traces::open_two([&args.mmlu, &args.mmlu_pro], &args.both)?;
    let descent = Descent::of(&a, &b)?;
    if args.json {
        put_json(&descent)?;
        return Ok(End::Done);
    }
    let mut out = say::out();
    write(&descent, &mut out)?;
    out.flush()?;
    Ok(End::Done)
}

fn signed(points: f64) -> String {
    format!("{:+.1}", 100.0 * points)
}

fn brackets(ci95: Option<[f64; 2]>) -> String {
    ci95.map_or_else(String::new, |[low, high]| {
        format!(" [{}, {}]", signed(low), signed(high))
    })
}

fn exam(exam: &Exam, out: &mut impl Write) -> Result<()> {
    writeln!(
        out,
        "{} · {}   {}% [{}]   {} questions   chance {}%, above it {}%",
        safe_line(&exam.name),
        safe_line(&exam.benchmark),
        percent(exam.accuracy),
        limits(exam.ci95),
        thousands(exam.questions),
        percent(Some(exam.chance)),
        percent(exam.above_chance)
    )?;
    Ok(())
}

fn write(descent: &Descent, out: &mut impl Write) -> Result<()> {
    exam(&descent.a, out)?;
    exam(&descent.b, out)?;
    let difference = descent
        .difference
        .map_or_else(|| "-".to_owned(), |difference| signed(-difference));
    let falls = descent.ci95.map(|[low, high]| [-high, -low]);
    writeln!(
        out,
        "change {difference} points{}, {} % of the first",
        brackets(falls),
        percent(descent.relative.map(|share| -share))
    )?;
    let same = &descent.same;
    writeln!(
        out,
        "same questions: {} of the second's {} carry the text of a question of the first; {} with the same option right, {} \
         with another one (left out), {} cannot be told; {} cannot be paired",
        thousands(same.questions),
        thousands(descent.b.questions),
        thousands(same.same_gold),
        thousands(same.other_gold),
        thousands(same.gold_unknown),
        thousands(same.only_b)
    )?;
    if let (Some(difference), Some(p)) = (same.difference, same.p) {
        let change = same.ci95.map(|[low, high]| [-high, -low]);
        writeln!(
            out,
            "on these {}: {}% → {}%, {} points{}, p {p:.2e}   right only in the first {:.0}, only in the second {:.0}",
            thousands(same.paired),
            percent(same.accuracy_a),
            percent(same.accuracy_b),
            signed(-difference),
            brackets(change),
            same.a_only,
            same.b_only
        )?;
    }
    Ok(())
}
