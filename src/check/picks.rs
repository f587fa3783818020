//! Checks on the outputs: attempts with equal texts, stored picks that no known rule gives.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::LazyLock;

use anyhow::Result;
use rayon::prelude::*;

use super::{Problem, problem, rows_with_ids};
use crate::diagnose::{describe_twins, identical_attempts, text_hash};
use crate::extract::{Rule, answer_start, rule_that_gives};
use crate::record::{INVALID, letter_index};
use crate::text::thousands;
use crate::trace::{Field, Trace};

/// Texts that are gathered before they are read by all rules at once.
const GATHERED: usize = 4 << 20;

/// What an output says of its row.
#[derive(Debug, Clone, Copy, Default)]
struct Finding {
    hash: u64,
    is_underivable: bool,
    /// The whole chain reads nothing.
    is_unreadable: bool,
    /// The harness rule reads what is stored.
    is_step_1: bool,
    /// It does so in the thinking.
    is_thought: bool,
    /// What is said after the thinking reads otherwise.
    is_said_otherwise: bool,
}

static CHAIN: LazyLock<Option<Rule>> = LazyLock::new(|| Rule::parse("tiger_chain").ok());
static STEP_1: LazyLock<Option<Rule>> = LazyLock::new(|| Rule::parse("lm_eval_mmlu_pro").ok());

/// Gives a number for each row's text, 0 where there is none.
pub(super) fn check(trace: &Trace, problems: &mut Vec<Problem>) -> Result<Vec<u64>> {
    let rows = &trace.rows;
    let findings = findings(trace)?;
    let hashes: Vec<u64> = findings.iter().map(|finding| finding.hash).collect();
    let twins = identical_attempts(rows, &hashes);
    for detail in describe_twins(&twins) {
        let same = twins
            .iter()
            .filter(|pair| pair.is_suspicious())
            .map(|pair| pair.same)
            .max()
            .unwrap_or(0);
        let detail = format!("{detail} (the seed never reached the sampler)");
        let examples = Vec::new();
        problems.push(Problem {
            kind: "identical_attempts",
            detail,
            rows: same,
            trace: trace.name.clone(),
            examples,
        });
    }
    if trace.rule.is_some() {
        return Ok(hashes);
    }
    let judged = |row: &usize| !rows.scored[*row] && rows.chars[*row] > 0;
    let is_filled = |row: &usize| findings[*row].is_unreadable && rows.pick_index(*row).is_some();
    let filled: Vec<usize> = (0..rows.len()).filter(judged).filter(is_filled).collect();
    // Picks that the authors' older last step gives are derived, unless it gives so few that it is by chance.
    let by_older_step = filled.iter().filter(|row| !findings[**row].is_underivable).count();
    let is_by_chance = by_older_step * 10 < filled.len() * 9;
    let is_off = |row: &usize| findings[*row].is_underivable || (is_by_chance && is_filled(row));
    let underivable: Vec<usize> = (0..rows.len()).filter(judged).filter(is_off).collect();
    if !underivable.is_empty() {
        let filler = filler(trace, &findings)
            .map(|text| format!(": {text}"))
            .unwrap_or_default();
        let detail = format!(
            "{} store a pick that no known rule gives{filler}",
            rows_with_ids(rows, &underivable)
        );
        problems.push(problem("underivable_picks", trace, &underivable, detail));
    }
    problems.extend(step_1_only(trace, &findings));
    problems.extend(thought(trace, &findings));
    Ok(hashes)
}

/// Reads every output once.
fn findings(trace: &Trace) -> Result<Vec<Finding>> {
    let mut findings = vec![Finding::default(); trace.rows.len()];
    let mut gathered: Vec<(usize, String)> = Vec::new();
    let mut size = 0;
    let own_rule = own_rule(trace);
    let mut judge = |gathered: &mut Vec<(usize, String)>| {
        let judged: Vec<(usize, Finding)> = gathered
            .par_iter()
            .map(|(row, text)| (*row, finding(trace, own_rule.as_ref(), *row, text)))
            .collect();
        for (row, finding) in judged {
            findings[row] = finding;
        }
        gathered.clear();
    };
    trace
        .texts
        .scan(Field::Completion, &|row| trace.rows.chars[row] > 0, &mut |row, text| {
            size += text.len();
            gathered.push((row, text.to_owned()));
            if size > GATHERED {
                judge(&mut gathered);
                size = 0;
            }
            ControlFlow::Continue(())
        })?;
    judge(&mut gathered);
    Ok(findings)
}

/// The rule that a run of ours names.
fn own_rule(trace: &Trace) -> Option<Rule> {
    Rule::parse(&trace.ours()?.settings.rule).ok()
}

fn finding(trace: &Trace, own_rule: Option<&Rule>, row: usize, text: &str) -> Finding {
    let stored = trace.rows.pick.get(row);
    let pick = Some(stored).filter(|stored| *stored != INVALID);
    let reads = |rule: &Option<Rule>| rule.as_ref().and_then(|rule| rule.read(text).pick.map(str::to_owned));
    let is_given = match own_rule {
        Some(rule) => rule.read(text).pick == pick,
        None => pick.is_none() || is_given(text, stored),
    };
    let step_1 = reads(&STEP_1);
    let said = answer_start(text);
    let read = |text| STEP_1.as_ref().and_then(|rule| rule.read(text).found);
    let is_thought = said > 0 && step_1.as_deref() == pick && read(text).is_some_and(|found| found.letter.start < said);
    let said = &text[said..];
    Finding {
        hash: text_hash(text),
        is_underivable: !is_given,
        is_unreadable: step_1.is_none() && reads(&CHAIN).is_none(),
        is_step_1: step_1.as_deref() == pick,
        is_thought,
        is_said_otherwise: is_thought && read(said).map(|found| &said[found.letter]) != pick,
    }
}

/// Whether a known rule gives a stored pick. The named rules know A to J; other letters and longer picks need only stand
/// in the text.
fn is_given(text: &str, pick: &str) -> bool {
    match letter_index(pick) {
        Some(0..10) => rule_that_gives(text, Some(pick)).is_some(),
        _ => text.contains(pick.trim()) || text.to_lowercase().contains(&pick.trim().to_lowercase()),
    }
}

/// What rows store from which the whole chain reads nothing.
fn filler(trace: &Trace, findings: &[Finding]) -> Option<String> {
    let rows = &trace.rows;
    let mut letters: BTreeMap<&str, usize> = BTreeMap::new();
    let filled = (0..rows.len()).filter(|row| findings[*row].is_unreadable && rows.pick_index(*row).is_some());
    filled.for_each(|row| *letters.entry(rows.pick.get(row)).or_default() += 1);
    let total: usize = letters.values().sum();
    match letters.iter().next() {
        None => None,
        Some((letter, _)) if letters.len() == 1 && total > 1 => {
            Some(format!("all {} unreadable rows store {letter}", thousands(total)))
        }
        Some(_) if total < 5 => Some(format!("{total} of them are unreadable")),
        Some(_) => {
            let listed: Vec<String> = letters
                .iter()
                .map(|(letter, number)| format!("{letter} {number}"))
                .collect();
            Some(format!(
                "{} unreadable rows store a letter ({}), as if drawn",
                thousands(total),
                listed.join(", ")
            ))
        }
    }
}

/// Lists of the MMLU-Pro authors whose picks are those of step 1, while later steps would read more.
fn step_1_only(trace: &Trace, findings: &[Finding]) -> Option<Problem> {
    let rows = &trace.rows;
    if !trace.kind.starts_with("MMLU-Pro authors") {
        return None;
    }
    let read: Vec<usize> = (0..rows.len()).filter(|row| rows.chars[*row] > 0).collect();
    let later: Vec<usize> = read
        .iter()
        .copied()
        .filter(|row| rows.is_invalid(*row) && !findings[*row].is_unreadable)
        .collect();
    let is_step_1 = read.iter().all(|row| findings[*row].is_step_1);
    let detail = || {
        format!(
            "stored picks are from step 1 only: the whole chain reads a letter from {} without one",
            rows_with_ids(rows, &later)
        )
    };
    (is_step_1 && !later.is_empty()).then(|| problem("step_1_only", trace, &later, detail()))
}

/// Picks that stand in what the model thought, not in what it said.
fn thought(trace: &Trace, findings: &[Finding]) -> Option<Problem> {
    let of =
        |is: fn(&Finding) -> bool| -> Vec<usize> { (0..findings.len()).filter(|row| is(&findings[*row])).collect() };
    let thought = of(|finding| finding.is_thought);
    let otherwise = of(|finding| finding.is_said_otherwise);
    let detail = || {
        format!(
            "{}: the match lies in the thinking (before </think>, or in the analysis channel); the answer after it reads \
             otherwise in {} (--rule think:RULE or final:RULE reads only that)",
            rows_with_ids(&trace.rows, &thought),
            thousands(otherwise.len())
        )
    };
    (!thought.is_empty()).then(|| problem("thought_picks", trace, &thought, detail()))
}
