//! The same outputs, read by another rule.

use std::ops::ControlFlow;

use anyhow::Result;
use serde::Serialize;

use crate::compare::Flips;
use crate::extract::{Rule, exact_match};
use crate::record::INVALID;
use crate::trace::{Field, Trace};

/// What another rule makes of a trace.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Rescored {
    pub rule: String,
    pub n: usize,
    pub correct: usize,
    pub invalid: usize,
    pub flips: Flips,
    /// Rows on which the rule gave up (a pattern's step limit).
    pub gave_up: usize,
}

/// Gives every row the pick that `rule` reads from its output, and counts what flips against the picks it had. Rows whose
/// pick comes from log-likelihoods keep it.
///
/// # Errors
/// When the outputs cannot be read; the trace then keeps its picks.
pub fn rescore(trace: &mut Trace, rule: &Rule) -> Result<Rescored> {
    let mut picks: Vec<(usize, Option<String>, bool)> = Vec::with_capacity(trace.rows.len());
    let rows = &trace.rows;
    trace
        .texts
        .scan(Field::Completion, &|row| !rows.scored[row], &mut |row, text| {
            let extraction = rule.read(text);
            picks.push((row, extraction.pick.map(str::to_owned), extraction.flag.is_some()));
            ControlFlow::Continue(())
        })?;
    let mut flips = Flips::default();
    let mut gave_up = 0;
    for (row, pick, flagged) in picks {
        gave_up += usize::from(flagged);
        let pick = pick.as_deref().unwrap_or(INVALID);
        let correct = pick != INVALID && exact_match(pick, trace.rows.answer.get(row));
        flips.add((trace.rows.pick.get(row), trace.rows.correct[row]), (pick, correct));
        trace.rows.pick.set(row, pick);
        trace.rows.correct[row] = correct;
        if flagged {
            let flags = trace.rows.flags.get(row);
            let flag = crate::extract::FLAG_LIMIT;
            let joined = if flags.is_empty() {
                flag.to_owned()
            } else {
                format!("{flags},{flag}")
            };
            trace.rows.flags.set(row, &joined);
        }
    }
    trace.rule = Some(rule.name().to_owned());
    Ok(Rescored {
        rule: rule.name().to_owned(),
        n: trace.rows.len(),
        correct: trace.rows.correct.iter().filter(|correct| **correct).count(),
        invalid: (0..trace.rows.len()).filter(|row| trace.rows.is_invalid(*row)).count(),
        flips,
        gave_up,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Record;

    #[test]
    fn flips_are_counted_against_the_stored_picks_and_scored_rows_keep_theirs() {
        let row = |pick: &str, text: &str, scored: bool| Record {
            pick: pick.into(),
            answer: "A".into(),
            correct: pick == "A",
            reasoning: text.into(),
            reasoning_chars: text.len() as i64,
            logprobs: scored.then(|| vec![0.0; 4]),
            ..Record::default()
        };
        let mut trace = Trace::from_records(
            "t",
            "test",
            vec![
                row(INVALID, "answer is (A)", false),
                row("A", "nothing", false),
                row("B", "answer is C", false),
                row("C", "answer is (A)", false),
                row("D", "", true),
            ],
        );
        let rescored = rescore(&mut trace, &Rule::parse("lm_eval_mmlu_pro").unwrap()).unwrap();
        let expected = Flips {
            invalid_to_right: 1,
            right_to_invalid: 1,
            wrong_to_wrong: 1,
            wrong_to_right: 1,
            ..Flips::default()
        };
        assert_eq!((rescored.flips, rescored.correct, rescored.invalid), (expected, 2, 1));
        assert_eq!(trace.rows.pick.get(4), "D");
    }
}
