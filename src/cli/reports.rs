//! `stats`, `rescore` and `compare`: figures as a table or as JSON, on standard output.

use std::io::Write;

use anyhow::{Context, Result};
use serde::Serialize;

use super::args::{CompareArgs, RescoreArgs, StatsArgs};
use super::{End, labels, rules, say, traces, usage};
use crate::compare::CompareReport;
use crate::extract::{self, Rule};
use crate::rescore::{Rescored, graders, rescore as read_again};
use crate::run::FIRST_TOKEN;
use crate::stats::{self, AttemptsBy, IntervalKind, RunReport, StderrKind, percent};
use crate::text::{safe_line, thousands};
use crate::trace::{Provenance, Trace};

pub(super) fn stats(args: &StatsArgs) -> Result<End> {
    let opened = traces::load(&args.trace)?;
    traces::tell_notices(&opened);
    let opened = traces::filtered(&opened, args.filter.as_deref())?;
    if !args.without.is_empty() || args.rekeyed {
        return labels::stats(args, &opened);
    }
    if args.json {
        print_json(&opened)?;
    } else {
        print_table(&opened)?;
    }
    Ok(End::Done)
}

/// The `stats` JSON of traces: figures, and beside them what the file is and what opening it told.
pub(super) fn print_json(traces: &[Trace]) -> Result<()> {
    put_json(&serde_json::json!({ "runs": json_runs(traces)? }))
}

pub(super) fn json_runs(traces: &[Trace]) -> Result<Vec<serde_json::Value>> {
    let mut runs = Vec::new();
    for trace in traces {
        for run in stats::report(trace, None) {
            let mut run = serde_json::to_value(&run).context("figures do not turn into JSON")?;
            let notices: Vec<&str> = trace.notices.iter().map(|notice| notice.text.as_str()).collect();
            run["kind"] = trace.kind.clone().into();
            run["notices"] = notices.into();
            run["provenance"] = trace.provenance().cloned().into();
            let ours = trace.manifest.as_ref().and_then(Provenance::ours);
            if let Some(served) = ours.and_then(|manifest| manifest.timing.served) {
                run["served"] = serde_json::to_value(served)?;
            }
            if let Some(again) = ours.map(|manifest| &manifest.again).filter(|again| !again.is_empty()) {
                run["again"] = serde_json::to_value(again)?;
            }
            runs.push(run);
        }
    }
    Ok(runs)
}

pub(super) fn put_json(value: &impl Serialize) -> Result<()> {
    let mut out = say::out();
    serde_json::to_writer_pretty(&mut out, value).context("cannot write the result")?;
    writeln!(out)?;
    out.flush()?;
    Ok(())
}

/// The figures as a table.
pub(super) fn print_table(traces: &[Trace]) -> Result<()> {
    let mut out = say::out();
    let runs = traces.iter().flat_map(|trace| {
        let reports = stats::report(trace, None);
        reports.into_iter().map(move |run| (trace, run))
    });
    for (at, (trace, run)) in runs.enumerate() {
        if at > 0 {
            writeln!(out)?;
        }
        table(trace, &run, &mut out)?;
    }
    out.flush()?;
    Ok(())
}

fn table(trace: &Trace, run: &RunReport, out: &mut impl Write) -> Result<()> {
    let benchmark = run.benchmark.as_deref().unwrap_or("trace");
    writeln!(out, "{} · {}", safe_line(&run.model), safe_line(benchmark))?;
    if let Some(path) = &run.path {
        writeln!(out, "  {}", safe_line(path))?;
    }
    writeln!(out, "  {}", safe_line(&trace.kind))?;
    for line in trace.provenance_lines() {
        writeln!(out, "  provenance · {}", safe_line(&line))?;
    }
    let kind = match run.ci_kind {
        Some(IntervalKind::Clustered) => "over questions (clustered)",
        _ => "Wilson",
    };
    let hundredths =
        |stderr: Option<f64>| stderr.map_or_else(|| "-".to_owned(), |stderr| format!("{:.2}", 100.0 * stderr));
    let stderr = match run.stderr_kind {
        StderrKind::Clustered => format!(
            "stderr {} (of rows alone, as the harness: {})",
            hundredths(run.stderr),
            hundredths(run.harness_stderr)
        ),
        StderrKind::Pooled => format!("stderr {} (pooled over subjects)", hundredths(run.stderr)),
    };
    writeln!(
        out,
        "  rows {}   questions {}   correct {}   [invalid] {} ({}%)   rule {}",
        thousands(run.n),
        thousands(run.questions),
        thousands(run.correct),
        thousands(run.invalid),
        percent((run.n > 0).then(|| run.invalid as f64 / run.n as f64)),
        safe_line(run.rule.as_deref().unwrap_or("as stored"))
    )?;
    writeln!(
        out,
        "  accuracy {}% [{}] {kind} 95%   {stderr}   mean over {} {} {}%",
        percent(run.accuracy),
        limits(run.ci95),
        run.macro_categories,
        if run.macro_categories == 1 {
            "category"
        } else {
            "categories"
        },
        percent(run.macro_accuracy)
    )?;
    attempts(run, out)?;
    let width = run
        .categories
        .iter()
        .map(|(name, _)| name.chars().count())
        .max()
        .unwrap_or(0)
        .clamp(8, 40);
    writeln!(
        out,
        "  {:width$}  {:>6}  {:>11}  {:>13}  {:>9}",
        "category", "%", "95%", "correct", "[invalid]"
    )?;
    for (name, group) in &run.categories {
        writeln!(
            out,
            "  {:width$}  {:>6}  {:>11}  {:>13}  {:>9}",
            safe_line(name),
            percent(group.accuracy),
            limits(group.ci95),
            format!("{}/{}", thousands(group.correct), thousands(group.n)),
            thousands(group.invalid)
        )?;
    }
    if !run.flags.is_empty() {
        let flags: Vec<String> = run
            .flags
            .iter()
            .map(|(flag, rows)| format!("{} {}", safe_line(flag), thousands(*rows)))
            .collect();
        writeln!(out, "  flagged rows: {}", flags.join("   "))?;
    }
    if let Some(fingerprint) = &run.fingerprint {
        writeln!(out, "  slice {}", safe_line(fingerprint))?;
    }
    for warning in &run.warnings {
        writeln!(out, "  ! {}", safe_line(warning))?;
    }
    Ok(())
}

/// Accuracy of each seed or attempt, and what they say together.
fn attempts(run: &RunReport, out: &mut impl Write) -> Result<()> {
    if run.seeds.len() > 1 {
        let name = match run.attempts_by {
            AttemptsBy::Seed => "seeds",
            AttemptsBy::Attempt => "attempts",
            AttemptsBy::Epoch => "epochs",
        };
        let numbers = run.seeds.iter().map(|(label, tally)| {
            let number = label.rsplit(' ').next().unwrap_or(label);
            format!("{number} {}", percent(tally.accuracy))
        });
        writeln!(out, "  {name:<8} {}", numbers.collect::<Vec<_>>().join("   "))?;
    }
    if let Some(ties) = run.ties {
        let ties = match ties {
            1 => "1 tie".to_owned(),
            ties => format!("{} ties", thousands(ties)),
        };
        writeln!(
            out,
            "  mean {} ± {}{}   vote {} ({ties})   majority {}   any {}",
            percent(run.seed_mean),
            percent(run.seed_std),
            run.seed_std_expected
                .map_or_else(String::new, |std| format!(" (by chance {})", percent(Some(std)))),
            percent(run.vote),
            percent(run.majority),
            percent(run.any)
        )?;
    }
    Ok(())
}

pub(super) fn limits(interval: Option<[f64; 2]>) -> String {
    interval.map_or_else(
        || "-".to_owned(),
        |[low, high]| format!("{}-{}", percent(Some(low)), percent(Some(high))),
    )
}

pub(super) fn rescore(args: &RescoreArgs) -> Result<End> {
    if args.bench {
        return rules::side_by_side(args);
    }
    if let Some(grader) = args
        .trace
        .rule
        .as_deref()
        .and_then(|rule| rule.strip_prefix(graders::PREFIX))
    {
        return rules::graded(args, grader);
    }
    let Some(name) = &args.trace.rule else {
        return usage(Err(anyhow::anyhow!(
            "rescore needs --rule; known are {}",
            extract::known_rules()
        )));
    };
    let rule = usage(Rule::parse(name))?;
    let mut opened = traces::open_stored(&args.trace)?;
    traces::tell_notices(&opened);
    let mut results: Vec<Rescored> = Vec::new();
    for trace in &mut opened {
        results.push(read_again(trace, &rule)?);
    }
    if args.json {
        // One trace is one object; several are told one by one, in the order of the paths.
        return match &results[..] {
            [only] => put_json(only).map(|()| End::Done),
            several => put_json(&serde_json::json!({ "rule": rule.name(), "traces": several })).map(|()| End::Done),
        };
    }
    let mut out = say::out();
    for (trace, result) in opened.iter().zip(&results) {
        let flips = &result.flips;
        writeln!(out, "{} · rule {}", safe_line(&trace.name), safe_line(&result.rule))?;
        // Exams have each their own accuracy, and none together.
        for run in stats::report(trace, None) {
            writeln!(
                out,
                "  {}   rows {}   correct {}   accuracy {}% [{}]   [invalid] {}",
                safe_line(run.benchmark.as_deref().unwrap_or("trace")),
                thousands(run.n),
                thousands(run.correct),
                percent(run.accuracy),
                limits(run.ci95),
                thousands(run.invalid)
            )?;
        }
        for (what, count) in [
            ("[invalid] → right", flips.invalid_to_right),
            ("[invalid] → wrong letter", flips.invalid_to_wrong),
            ("right → wrong letter", flips.right_to_wrong),
            ("wrong letter → right", flips.wrong_to_right),
            ("wrong letter → another wrong letter", flips.wrong_to_wrong),
            ("right → [invalid]", flips.right_to_invalid),
            ("wrong letter → [invalid]", flips.wrong_to_invalid),
        ] {
            writeln!(out, "  {:>8}  {what}", thousands(count))?;
        }
        if result.kept > 0 {
            writeln!(
                out,
                "  {} rows keep their picks: {}",
                thousands(result.kept),
                if rule.argmax().is_some() {
                    "completions, where the rule compares log-likelihoods"
                } else {
                    "log-likelihoods, where the rule reads texts"
                }
            )?;
        }
        if result.gave_up > 0 {
            writeln!(
                out,
                "  ! the rule gave up on {} rows (its step limit)",
                thousands(result.gave_up)
            )?;
        }
    }
    out.flush()?;
    Ok(End::Done)
}

pub(super) fn compare(args: &CompareArgs) -> Result<End> {
    let sides = traces::open_two([&args.a, &args.b], &args.both)?;
    let reads_first_token = |trace: &Trace| {
        let ours = trace.manifest.as_ref().and_then(Provenance::ours);
        ours.is_some_and(|manifest| manifest.settings.method == FIRST_TOKEN)
    };
    anyhow::ensure!(
        reads_first_token(&sides[0]) == reads_first_token(&sides[1]),
        "one of the two is {FIRST_TOKEN}, the first token of a chat's answer: another measure than the other, and not paired \
         with it"
    );
    let report = CompareReport::of(&sides[0], &sides[1]);
    if args.json {
        put_json(&report)?;
    } else {
        compare_table(&report)?;
    }
    Ok(End::Done)
}

fn compare_table(report: &CompareReport) -> Result<()> {
    let mut out = say::out();
    for (name, side) in [("A", &report.a), ("B", &report.b)] {
        let one = (side.exams.is_empty()).then(|| (String::new(), side.accuracy, side.ci95));
        let exams = side.exams.iter();
        let exams = exams.map(|(exam, sum)| (format!("{} ", safe_line(exam)), sum.accuracy, sum.ci95));
        let figures = one
            .into_iter()
            .chain(exams)
            .map(|(exam, accuracy, ci95)| format!("{exam}{}% [{}]", percent(accuracy), limits(ci95)));
        let figures = figures.collect::<Vec<_>>().join("   ");
        writeln!(out, "{name} {}  {figures}", safe_line(&side.name))?;
    }
    writeln!(
        out,
        "paired {}   unpaired {}   changed questions {}",
        thousands(report.paired),
        thousands(report.unpaired),
        thousands(report.changed)
    )?;
    writeln!(
        out,
        "both right {}   A only {}   B only {}   neither {}",
        thousands(report.both),
        thousands(report.a_only),
        thousands(report.b_only),
        thousands(report.neither)
    )?;
    let signed = |points: f64| format!("{:+.1}", 100.0 * points);
    let points = |difference: Option<f64>, ci95: Option<[f64; 2]>| {
        let limits = ci95.map(|[low, high]| format!(" [{}, {}]", signed(low), signed(high)));
        let difference = difference.map_or_else(|| "-".to_owned(), signed);
        format!("{difference} points{}", limits.unwrap_or_default())
    };
    let exams = report.exams.iter();
    let exams = exams.map(|exam| format!("{} {}", safe_line(&exam.name), points(exam.difference, exam.ci95)));
    let differences = if report.exams.is_empty() {
        points(report.difference, report.ci95)
    } else {
        exams.collect::<Vec<_>>().join("   ")
    };
    writeln!(
        out,
        "A - B {differences} ({})   {} p {}",
        report.ci_kind,
        if report.mid_p.is_some() {
            "exact McNemar"
        } else {
            "two-sided"
        },
        if report.p > 0.0 {
            format!("{:.2e}", report.p)
        } else {
            format!("1e{:.0}", report.log10_p)
        }
    )?;
    for category in &report.categories {
        writeln!(
            out,
            "  {:28}  {:>6}  A only {:>6}  B only {:>6}  n {:>7}",
            safe_line(&category.name),
            category.difference.map_or_else(|| "-".to_owned(), signed),
            thousands(category.a_only),
            thousands(category.b_only),
            thousands(category.n)
        )?;
    }
    for warning in &report.warnings {
        writeln!(out, "! {}", safe_line(warning))?;
    }
    out.flush()?;
    Ok(())
}
