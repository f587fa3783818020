//! `bench`: how fast this machine is, as a table or JSON.

use std::io::Write;
use std::ops::ControlFlow;

use anyhow::Result;

use super::args::BenchArgs;
use super::plain::Plain;
use super::prepare::engine_options;
use super::{End, usage};
use crate::bench::measure;
use crate::engine::candle;
use crate::hub::{self, ModelName};
use crate::run::Update;

pub(super) fn bench(args: &BenchArgs) -> Result<End> {
    let name = usage(ModelName::parse(&args.model))?;
    let mut plain = Plain::new();
    let found = hub::model(&name, &mut |progress| {
        plain.tell(&Update::Status(progress.to_string()));
        ControlFlow::Continue(())
    })?;
    let options = engine_options(args.dtype, Some(args.threads), 32);
    let mut engine = candle::load(&found.path, &options, &mut |_| ControlFlow::Continue(()))?;
    let report = measure(&mut engine, &found.id, &mut |what| {
        plain.tell(&Update::Status(format!("measuring: {what}")));
    })?;
    plain.end();
    let mut out = std::io::stdout().lock();
    if args.json {
        serde_json::to_writer_pretty(&mut out, &report)?;
        writeln!(out)?;
        return Ok(End::Done);
    }
    writeln!(
        out,
        "{} · {} · {} thread(s)",
        crate::tui::safe_line(&report.model),
        report.kernel,
        report.threads
    )?;
    writeln!(out, "  f32 peak        {:8.1} GFLOP/s", report.peak_gflops)?;
    writeln!(
        out,
        "  prefill         {:8.1} tokens per CPU second, {:.0} % of the peak",
        report.prefill.tokens_per_cpu_s,
        100.0 * report.prefill.share_of_peak
    )?;
    for (what, cloze) in [
        ("cloze, 0-shot", report.cloze_0shot),
        ("cloze, 5-shot", report.cloze_5shot),
    ] {
        writeln!(
            out,
            "  {what:15} {:8.2} questions per CPU second ({} in {:.1} s)",
            cloze.questions_per_cpu_s, cloze.questions, cloze.wall_s
        )?;
    }
    writeln!(
        out,
        "  five seeds      {:8.1} tokens per CPU second, {} rows at once",
        report.sample_5seeds.tokens_per_cpu_s, report.sample_5seeds.rows
    )?;
    writeln!(out, "  took {:.0} s", report.wall_s)?;
    Ok(End::Done)
}
