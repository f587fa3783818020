//! `bench`: how fast this machine is, how far bf16 lies from f32, which families are proved; as tables or JSON.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use serde::Serialize;
use serde_json::json;

use super::args::{BenchArgs, Dtype};
use super::plain::Plain;
use super::prepare::engine_options;
use super::{End, usage};
use crate::bench::memory::{Gauge, Memory};
use crate::bench::{ALL, Report, Sampled, Setup, families, measure, rounding, work};
use crate::benchmark::{DataSource, Slice};
use crate::engine::candle::{self, CandleEngine};
use crate::hub::{self, ModelName};
use crate::run::Update;
use crate::text::safe_line;

/// Where tiny reference models lie below `$MARKBOOK_SHARED`.
const TINY_MODELS: &str = "golden/tiny-models";

pub(super) fn bench(args: &BenchArgs) -> Result<End> {
    if let Some(folder) = &args.check_models {
        return check_models(folder.clone(), args);
    }
    if args.rounding {
        return compare_with_f32(args);
    }
    let mut plain = Plain::new();
    let mut gauge = Gauge::default();
    let (mut engine, id) = load(args, args.dtype, &mut plain, &mut gauge)?;
    let setup = Setup {
        name: &id,
        all: ALL,
        rounding: rounding::known(&engine),
        gauge: &mut gauge,
    };
    let report = measure(&mut engine, setup, &mut |what| {
        plain.tell(&Update::Status(format!("measuring: {what}")));
    })?;
    if let Some(rounding) = &report.rounding {
        // Without a place to keep it, it is measured again the next time.
        let _ = rounding::keep(&engine, rounding);
    }
    plain.end();
    if args.json {
        return print_json(&report);
    }
    print_report(&report)?;
    Ok(End::Done)
}

fn load(args: &BenchArgs, dtype: Dtype, plain: &mut Plain, gauge: &mut Gauge) -> Result<(CandleEngine, String)> {
    let name = usage(ModelName::parse(&args.model))?;
    let found = hub::model(&name, &mut |progress| {
        plain.tell(&Update::Status(progress.to_string()));
        ControlFlow::Continue(())
    })?;
    let options = engine_options(dtype, Some(args.threads), 32);
    let engine = candle::load(&found.path, &options, &mut |_| {
        gauge.look();
        ControlFlow::Continue(())
    })?;
    Ok((engine, found.id))
}

fn print_json(value: &impl Serialize) -> Result<End> {
    let mut out = std::io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, value)?;
    writeln!(out)?;
    Ok(End::Done)
}

fn print_report(report: &Report) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "{} · {} ({}) · {} thread(s)",
        safe_line(&report.model),
        report.kernel,
        report.dtype_reason,
        report.threads
    )?;
    writeln!(out, "  f32 peak        {:8.1} GFLOP/s", report.peak_gflops)?;
    writeln!(
        out,
        "  prefill         {:8.1} tokens per CPU second, {:.0} % of the f32 peak ({} tokens)",
        report.prefill.tokens_per_cpu_s,
        100.0 * report.prefill.share_of_peak,
        report.prefill.tokens
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
    let mut sampled = |what: &str, sampled: Sampled| {
        writeln!(
            out,
            "  {what:15} {:8.1} tokens per CPU second, {} rows at once ({} tokens)",
            sampled.tokens_per_cpu_s, sampled.rows, sampled.tokens
        )
    };
    sampled("five seeds", report.sample_5seeds)?;
    sampled("one question", report.sample_5rows)?;
    if let Some(rounding) = &report.rounding {
        writeln!(out, "  against f32     {rounding}")?;
    }
    writeln!(out, "  memory          {}", memory_line(&report.memory))?;
    writeln!(out, "  took {:.0} s", report.wall_s)?;
    Ok(())
}

fn memory_line(memory: &Memory) -> String {
    let mib = |bytes: u64| format!("{:.0} MiB", bytes as f64 / f64::from(1 << 20));
    let need = format!(
        "weights {}, keys and values {}",
        mib(memory.weights_bytes),
        mib(memory.kv_bytes)
    );
    match memory.peak_anonymous_bytes.zip(memory.peak_over_need) {
        Some((peak, over)) => format!("{need}, peak {} ({over:.2} times both)", mib(peak)),
        None => need,
    }
}

/// `--rounding`: bf16 against f32 over a whole set.
fn compare_with_f32(args: &BenchArgs) -> Result<End> {
    if matches!(args.dtype, Dtype::F32) {
        return usage(Err(anyhow::anyhow!(
            "--rounding compares bf16 with f32: leave out --dtype f32"
        )));
    }
    let source = usage(DataSource::parse(&args.data))?;
    let slice = Slice {
        subjects: args.subjects.clone(),
        per_subject: args.per_subject,
        ..Slice::default()
    };
    let dataset = work::questions("mmlu", &source, &slice)?;
    let requests = work::cloze(&dataset, 0)?;
    let mut plain = Plain::new();
    let (mut engine, id) = load(args, Dtype::Bf16, &mut plain, &mut Gauge::default())?;
    let source = format!("{} mmlu questions of {}, 0-shot", requests.len(), dataset.source);
    let rounding = rounding::measure(&mut engine, &requests, &source, &mut |share| {
        let percent = 100.0 * share;
        plain.tell(&Update::Status(format!("comparing bf16 with f32: {percent:.0} %")));
        ControlFlow::Continue(())
    })?;
    plain.end();
    rounding::keep(&engine, &rounding)?;
    if args.json {
        return print_json(&json!({"model": id, "rounding": rounding}));
    }
    println!("{}: {rounding}", safe_line(&id));
    Ok(End::Done)
}

/// `--check-models`: the table of families; an error where a proof fails.
fn check_models(folder: Option<PathBuf>, args: &BenchArgs) -> Result<End> {
    let shared = || {
        let shared = std::env::var_os("MARKBOOK_SHARED").filter(|shared| !shared.is_empty());
        shared.map(|shared| PathBuf::from(shared).join(TINY_MODELS))
    };
    let folder = usage(folder.or_else(shared).context(
        "--check-models needs the folder of tiny reference models (each a folder with config.json, model.safetensors and \
         expected.json): name it, or set MARKBOOK_SHARED to the folder that holds golden/tiny-models",
    ))?;
    let mut plain = Plain::new();
    let checked = families::check(&folder, args.threads, &mut |model| {
        plain.tell(&Update::Status(format!("proving: {model}")));
    })?;
    plain.end();
    if args.json {
        print_json(&checked)?;
    } else {
        print!("{}", checked.table());
        println!(
            "\n{} proofs, each along: {}; tolerance {:.0e} on every logit",
            checked.models.len(),
            checked.ways.join(", "),
            checked.tolerance
        );
    }
    let failures = checked.failures();
    if !failures.is_empty() {
        bail!(
            "{} of {} proofs fail: {}",
            failures.len(),
            checked.models.len(),
            failures.join("; ")
        );
    }
    Ok(End::Done)
}
