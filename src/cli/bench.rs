//! `bench`: how fast this machine is, how far a narrow number format lies from f32, which families are proved; as tables or JSON.

use std::io::Write;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde::Serialize;
use serde_json::json;

use super::args::{BenchArgs, Kernel};
use super::plain::Plain;
use super::{End, say, usage};
use crate::bench;
use crate::benchmark::{DataSource, Slice};
use crate::engine::bench::{ALL, Bench, Memory, Peaks, Peer, Report, Sampled, check_built, families, use_plain};
use crate::engine::{Dtype, Options};
use crate::hub::ModelName;
use crate::run::Update;
use crate::text::safe_line;

/// What a stock model may take for each part of the work.
const STOCK: Duration = Duration::from_secs(6);

/// Where tiny reference models lie below `$MARKBOOK_SHARED`.
const TINY_MODELS: &str = "golden/tiny-models";

pub(super) fn bench(args: &BenchArgs) -> Result<End> {
    if let Some(folder) = &args.check_models {
        return check_models(folder.clone(), args);
    }
    if args.rounding {
        return compare_with_f32(args);
    }
    if args.stock {
        check_built()?;
    }
    if args.kernel == Kernel::Plain {
        use_plain();
    }
    let mut plain = Plain::new();
    let mut model = load(args, args.dtype, &mut plain)?;
    let mut report = model.measure(bench::work()?, ALL, &mut |what| {
        plain.tell(&Update::Status(format!("measuring: {what}")));
    })?;
    if args.stock {
        plain.tell(&Update::Status("measuring: candle-transformers' own model".to_owned()));
        report.stock = Some(model.measure_stock(&bench::work()?.compared, STOCK)?);
    }
    if let Some(rounding) = &report.rounding {
        // Without a place to keep it, it is measured again the next time.
        let _ = model.keep(rounding);
    }
    plain.end();
    if args.json {
        return print_json(&report);
    }
    print_report(&report)?;
    Ok(End::Done)
}

fn load(args: &BenchArgs, dtype: Dtype, plain: &mut Plain) -> Result<Bench> {
    let name = usage(ModelName::parse(&args.model))?;
    let options = Options {
        dtype,
        threads: args.threads,
        ..Options::default()
    };
    Bench::open(&name, &options, &mut |status| {
        plain.tell(&Update::Status(status));
        ControlFlow::Continue(())
    })
}

fn print_json(value: &impl Serialize) -> Result<End> {
    let mut out = say::out();
    serde_json::to_writer_pretty(&mut out, value)?;
    writeln!(out)?;
    out.flush()?;
    Ok(End::Done)
}

fn print_report(report: &Report) -> Result<()> {
    let mut out = say::out();
    writeln!(
        out,
        "{} · {} ({}) · {} thread(s)",
        safe_line(&report.model),
        report.kernel,
        report.dtype_reason,
        report.threads
    )?;
    let Peaks { f32, bf16, bytes } = report.peak;
    writeln!(
        out,
        "  arithmetic peak {f32:8.1} GFLOP/s in f32, {bf16:.1} in bf16, {bytes:.1} in bytes (one thread)"
    )?;
    writeln!(
        out,
        "  prefill         {:8.1} tokens per CPU second, {:.0} % of the format's peak ({} tokens)",
        report.prefill.tokens_per_cpu_s,
        100.0 * report.prefill.share_of_peak.unwrap_or_default(),
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
    if let Some(stock) = &report.stock {
        print_stock(&mut out, report, stock)?;
    }
    writeln!(out, "  memory          {}", memory_line(&report.memory))?;
    writeln!(out, "  took {:.0} s", report.wall_s)?;
    out.flush()?;
    Ok(())
}

/// candle's own model beside ours: its figures, and how many times as much ours does a CPU second.
fn print_stock(out: &mut impl Write, report: &Report, stock: &Peer) -> Result<()> {
    writeln!(
        out,
        "  candle-transformers' own model, one prompt at a time, and what markbook does in the same CPU time:"
    )?;
    let lines = [
        (
            "prefill",
            stock.prefill.tokens_per_cpu_s,
            report.prefill.tokens_per_cpu_s,
            "tokens",
        ),
        (
            "cloze, 0-shot",
            stock.cloze_0shot.questions_per_cpu_s,
            report.cloze_0shot.questions_per_cpu_s,
            "questions",
        ),
        (
            "writing",
            stock.sample_1row.tokens_per_cpu_s,
            report.sample_5seeds.tokens_per_cpu_s,
            "tokens",
        ),
    ];
    for (what, theirs, ours, unit) in lines {
        let times = ours / theirs.max(f64::MIN_POSITIVE);
        writeln!(
            out,
            "    {what:13} {theirs:8.2} {unit} per CPU second, markbook {times:.1} times that"
        )?;
    }
    let far = stock.largest_difference;
    writeln!(
        out,
        "    log-likelihoods differ by {far:.1e} at most ({} questions)",
        stock.cloze_0shot.questions
    )?;
    Ok(())
}

fn memory_line(memory: &Memory) -> String {
    let mib = |bytes: u64| format!("{:.0} MiB", bytes as f64 / f64::from(1 << 20));
    let need = format!(
        "weights {}, keys and values {}",
        mib(memory.weights_bytes),
        mib(memory.kv_bytes)
    );
    let Some((peak, over)) = memory.peak_anonymous_bytes.zip(memory.peak_over_need) else {
        return need;
    };
    let file = memory
        .peak_file_bytes
        .map_or_else(String::new, |file| format!("; mapped files {}", mib(file)));
    format!("{need}, peak {} ({over:.2} times both){file}", mib(peak))
}

/// `--rounding`: a narrow number format against f32 over a whole set.
fn compare_with_f32(args: &BenchArgs) -> Result<End> {
    if matches!(args.dtype, Dtype::F32) {
        return usage(Err(anyhow::anyhow!(
            "--rounding compares another number format with f32: leave out --dtype f32"
        )));
    }
    let source = usage(DataSource::parse(&args.data))?;
    let slice = Slice {
        subjects: args.subjects.clone(),
        per_subject: args.per_subject,
        ..Slice::default()
    };
    let dataset = bench::questions("mmlu", &source, &slice)?;
    let requests = bench::cloze(&dataset, 0)?;
    let mut plain = Plain::new();
    let mut model = load(args, args.dtype, &mut plain)?;
    if model.is_f32() {
        // Auto found nothing narrower in the file: bf16 is what it could also be computed in.
        model = load(args, Dtype::Bf16, &mut plain)?;
    }
    let dtype = model.dtype().to_owned();
    let source = format!("{} mmlu questions of {}, 0-shot", requests.len(), dataset.source);
    let rounding = model.compare_with_f32(&requests, &source, &mut |share| {
        let percent = 100.0 * share;
        plain.tell(&Update::Status(format!("comparing {dtype} with f32: {percent:.0} %")));
        ControlFlow::Continue(())
    })?;
    plain.end();
    model.keep(&rounding)?;
    if args.json {
        return print_json(&json!({"model": model.id(), "rounding": rounding}));
    }
    say::say(format!("{}: {rounding}", safe_line(model.id())))?;
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
        say::say(format!(
            "{}\n{} proofs, each along: {}; tolerance {:.0e} on every logit",
            checked.table(),
            checked.models.len(),
            checked.ways.join(", "),
            checked.tolerance
        ))?;
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
