//! `rescore --bench` and `rescore --rule grader:…`: rules and graders side by side.

use std::io::Write;

use anyhow::Result;
use serde_json::json;

use super::args::RescoreArgs;
use super::reports::{limits, put_json};
use super::{End, say, traces, usage};
use crate::extract::Rule;
use crate::rescore::bench::{self, Line};
use crate::rescore::graders::{self, Grader};
use crate::stats::percent;
use crate::text::{safe_line, thousands};

/// The known rules, and those of `--rule`, on the rows that pass the filter.
pub(super) fn side_by_side(args: &RescoreArgs) -> Result<End> {
    let mut rules = bench::known();
    if let Some(own) = &args.trace.rule {
        rules.push(("yours".to_owned(), usage(Rule::parse(own))?));
    }
    let opened = traces::open_stored(&args.trace)?;
    traces::tell_notices(&opened);
    let mut all = Vec::new();
    for trace in &opened {
        let rows = traces::chosen(&opened, trace, args.filter.as_deref())?;
        all.push((
            trace,
            bench::bench(trace, &rules, &|row| rows.binary_search(&(row as u32)).is_ok())?,
        ));
    }
    if args.json {
        let traces = all
            .iter()
            .map(|(trace, lines)| json!({ "trace": trace.name, "rules": lines }));
        return put_json(&json!({ "traces": traces.collect::<Vec<_>>() })).map(|()| End::Done);
    }
    let mut out = say::out();
    for (trace, lines) in &all {
        write_bench(&trace.name, lines, &mut out)?;
    }
    out.flush()?;
    Ok(End::Done)
}

fn write_bench(name: &str, lines: &[Line], out: &mut impl Write) -> Result<()> {
    writeln!(
        out,
        "{} · {} rows with an output",
        safe_line(name),
        thousands(lines.first().map_or(0, |line| line.rows))
    )?;
    let heads = ["read", "right", "wrong", "lost", "newly", "right", "by chance"];
    writeln!(
        out,
        "  {:12}{}",
        "rule",
        heads.map(|head| format!("{head:>10}")).concat()
    )?;
    for line in lines {
        let numbers = [
            line.read,
            line.right,
            line.wrong,
            line.lost,
            line.newly_read,
            line.newly_right,
        ];
        let numbers = numbers.map(|number| format!("{:>10}", thousands(number))).concat();
        let end = if line.warnings().is_empty() {
            String::new()
        } else {
            format!("  ! {}", line.warnings().join("; "))
        };
        writeln!(out, "  {:12}{numbers}{:>10.1}{end}", line.name, line.newly_by_chance)?;
    }
    for line in lines.iter().filter(|line| !line.rule.is_empty()) {
        writeln!(out, "  {:12}  {}", line.name, safe_line(&line.rule))?;
    }
    Ok(())
}

/// What graders would have told of the same outputs.
pub(super) fn graded(args: &RescoreArgs, name: &str) -> Result<End> {
    let graders: Vec<Grader> = usage(graders::named(name))?;
    let opened = traces::open_stored(&args.trace)?;
    traces::tell_notices(&opened);
    let mut all = Vec::new();
    for trace in &opened {
        all.push((trace, graders::grade(trace, &graders)?));
    }
    if args.json {
        let traces = all
            .iter()
            .map(|(trace, lines)| json!({ "trace": trace.name, "graders": lines }));
        return put_json(&json!({ "traces": traces.collect::<Vec<_>>() })).map(|()| End::Done);
    }
    let mut out = say::out();
    for (trace, lines) in &all {
        writeln!(
            out,
            "{} · {} rows with an output",
            safe_line(&trace.name),
            thousands(lines[0].n)
        )?;
        writeln!(
            out,
            "  {:10}{:>10}{:>8}  {:>13}{:>10}{:>10}",
            "grader", "right", "%", "95%", "gained", "lost"
        )?;
        for line in lines {
            let (right, accuracy) = (thousands(line.correct), percent(line.accuracy));
            let (gained, lost) = (thousands(line.gained), thousands(line.lost));
            writeln!(
                out,
                "  {:10}{right:>10}{accuracy:>8}  {:>13}{gained:>10}{lost:>10}",
                line.grader,
                limits(line.ci95)
            )?;
        }
    }
    for (grader, name, about) in graders::ALL {
        if graders.contains(&grader) {
            writeln!(out, "  {name:10}  {about}")?;
        }
    }
    writeln!(
        out,
        "probes, never picks; a judge model is not offered: its prompt would be one more unknown"
    )?;
    out.flush()?;
    Ok(End::Done)
}
