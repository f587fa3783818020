//! `check`: what is wrong with traces; with `--expect` their promises, as a gate for scripts.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::LazyLock;

use anyhow::{Context, Result};
use regex::Regex;
use serde::Serialize;

use super::args::CheckArgs;
use super::reports::put_json;
use super::{End, entering, say, traces, usage};
use crate::benchmark::{self, DataSource, Dataset};
use crate::check::{self as integrity, Problem};
use crate::filter::{Filter, Mode};
use crate::text::{safe_line, thousands};
use crate::trace::{Rows, Trace};

pub(super) fn check(args: &CheckArgs) -> Result<End> {
    let promises = usage(
        args.expect
            .iter()
            .map(|text| Promise::parse(text))
            .collect::<Result<Vec<_>>>(),
    )?;
    let opened = traces::load(&args.trace)?;
    traces::tell_notices(&opened);
    if !promises.is_empty() {
        return expect(&promises, &opened, args.json);
    }
    let datasets = datasets_beside(&opened, args.data.as_deref())?;
    let problems = integrity::check(&opened, &datasets.iter().collect::<Vec<_>>())?;
    keep(&opened, &problems);
    if args.json {
        put_json(&serde_json::json!({ "problems": problems }))?;
        return Ok(End::Done);
    }
    let mut out = say::out();
    if problems.is_empty() {
        writeln!(out, "nothing found")?;
    }
    write_problems(&problems, opened.len() > 1, &mut out)?;
    out.flush()?;
    Ok(End::Done)
}

/// Keeps the findings in the catalogue, beside the entries of their traces; equal traces are one entry.
fn keep(opened: &[Trace], problems: &[Problem]) {
    let mut kept: BTreeMap<String, Vec<(&str, usize, &str)>> = BTreeMap::new();
    for trace in opened {
        let Some(id) = entering::enter([trace]).into_iter().next() else {
            continue;
        };
        let own = problems.iter().filter(|problem| problem.trace == trace.name);
        let findings = own.map(|problem| (problem.kind, problem.rows, &*problem.detail));
        kept.entry(id).or_default().extend(findings);
    }
    entering::note(|catalogue| {
        kept.iter()
            .try_for_each(|(id, findings)| catalogue.enter_findings(id, findings))
    });
}

/// A line a finding; of several traces one table, each finding with its trace.
fn write_problems(problems: &[Problem], are_several: bool, out: &mut impl Write) -> Result<()> {
    let names = problems.iter().map(|problem| problem.trace.chars().count());
    let name = names.max().unwrap_or(0).min(40);
    let kind = problems.iter().map(|problem| problem.kind.len()).max().unwrap_or(0);
    for problem in problems {
        let detail = safe_line(&problem.detail);
        if are_several {
            let trace: String = safe_line(&problem.trace).chars().take(name).collect();
            let rows = thousands(problem.rows);
            writeln!(out, "{trace:name$}  {:kind$}  {rows:>8}  {detail}", problem.kind)?;
        } else {
            writeln!(out, "{}: {detail}", problem.kind)?;
        }
    }
    Ok(())
}

/// The questions to check against: of each exam that the traces hold, where `--data` has it.
fn datasets_beside(traces: &[Trace], data: Option<&str>) -> Result<Vec<Dataset>> {
    let Some(data) = data else {
        return Ok(Vec::new());
    };
    let source = usage(DataSource::parse(data))?;
    let mut datasets = Vec::new();
    let mut refused = None;
    for benchmark in benchmark::ALL.iter().filter(|benchmark| !benchmark.hub_id.is_empty()) {
        let named = traces
            .iter()
            .flat_map(|trace| trace.rows.benchmark.list())
            .any(|name| **name == *benchmark.name);
        match benchmark::load(benchmark, &source, "test") {
            Ok(dataset) => datasets.push(dataset),
            Err(error) if named || refused.is_none() => refused = Some(error),
            Err(_) => {}
        }
    }
    match refused {
        Some(error) if datasets.is_empty() => Err(error),
        _ => Ok(datasets),
    }
}

/// The promises of `--expect`, held against every trace.
fn expect(promises: &[Promise], opened: &[Trace], json: bool) -> Result<End> {
    let mut outcomes: Vec<Outcome> = Vec::new();
    for promise in promises {
        for trace in opened {
            outcomes.push(promise.hold(opened, trace)?);
        }
    }
    let is_kept = outcomes.iter().all(|outcome| outcome.is_kept);
    if json {
        put_json(&serde_json::json!({ "kept": is_kept, "promises": outcomes }))?;
        return Ok(if is_kept { End::Done } else { End::Found(BROKEN) });
    }
    let mut out = say::out();
    for outcome in &outcomes {
        let word = if outcome.is_kept { "kept  " } else { "broken" };
        let (promise, trace) = (safe_line(&outcome.promise), safe_line(&outcome.trace));
        writeln!(out, "{word}  {promise}   {}   {trace}", outcome.figures())?;
        if !outcome.is_kept {
            writeln!(out, "        {}", safe_line(&outcome.look))?;
        }
    }
    out.flush()?;
    Ok(if is_kept { End::Done } else { End::Found(BROKEN) })
}

/// The exit code of a broken promise.
const BROKEN: u8 = 3;

/// `FILTER < 2%`, `FILTER = 0`.
#[derive(Debug, Clone)]
struct Promise {
    text: String,
    filter: String,
    sign: String,
    bound: f64,
    is_share: bool,
}

/// A promise held against a trace.
#[derive(Debug, Clone, Serialize)]
struct Outcome {
    pub promise: String,
    pub trace: String,
    pub is_kept: bool,
    /// Rows that the filter chooses, of those that its words for exam, category and subject choose.
    pub rows: usize,
    pub of: usize,
    /// Shows the rows.
    pub look: String,
}

static FORM: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(.*\S)\s+(<=|>=|<|>|=)\s*([0-9][0-9_,]*(?:\.[0-9]+)?)\s*(%?)$").expect("a fixed pattern")
});

impl Promise {
    /// # Errors
    /// When it has another form, or its filter is none.
    fn parse(text: &str) -> Result<Promise> {
        let found = FORM.captures(text.trim()).with_context(|| {
            format!("--expect {text:?}: written as a filter, a sign (< <= = >= >) and a count or share: 'invalid cat:law < 2%'")
        })?;
        Filter::parse(&found[1], Mode::Strict, &Rows::default()).with_context(|| format!("--expect {text:?}"))?;
        Ok(Promise {
            text: text.trim().to_owned(),
            filter: found[1].to_owned(),
            sign: found[2].to_owned(),
            bound: found[3]
                .replace(['_', ','], "")
                .parse()
                .with_context(|| format!("--expect {text:?}"))?,
            is_share: &found[4] == "%",
        })
    }

    /// Counts the rows that it speaks of.
    fn hold(&self, all: &[Trace], trace: &Trace) -> Result<Outcome> {
        let filter = traces::read_filter(all, &self.filter)?;
        let rows = traces::select(trace, &filter, None)?.len();
        let of = traces::select(trace, &filter.categories_only(), None)?.len();
        let value = if self.is_share {
            100.0 * rows as f64 / of.max(1) as f64
        } else {
            rows as f64
        };
        let is_kept = match self.sign.as_str() {
            "<" => value < self.bound,
            "<=" => value <= self.bound,
            ">" => value > self.bound,
            ">=" => value >= self.bound,
            _ => (value - self.bound).abs() < 1e-9,
        };
        let path = trace
            .path
            .as_ref()
            .map_or_else(String::new, |path| format!(" {}", path.display()));
        Ok(Outcome {
            promise: self.text.clone(),
            trace: trace.name.clone(),
            is_kept,
            rows,
            of,
            look: format!("markbook open{path} -f '{}'", self.filter),
        })
    }
}

impl Outcome {
    /// `1.2 % (13 of 1,101)`.
    fn figures(&self) -> String {
        let share = 100.0 * self.rows as f64 / self.of.max(1) as f64;
        format!("{share:.1} % ({} of {})", thousands(self.rows), thousands(self.of))
    }
}
