//! The same outputs, read by another rule.

use std::ops::ControlFlow;

use anyhow::Result;
use serde::Serialize;

use crate::extract::{Rule, exact_match};
use crate::record::INVALID;
use crate::trace::{Field, Trace};

/// How many rows changed from what to what; `wrong` means a letter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Flips {
    pub invalid_to_right: usize,
    pub invalid_to_wrong: usize,
    pub right_to_wrong: usize,
    pub wrong_to_right: usize,
    pub wrong_to_wrong: usize,
    pub right_to_invalid: usize,
    pub wrong_to_invalid: usize,
}

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
        let before = state(trace.rows.correct[row], trace.rows.pick.get(row));
        let before_pick = trace.rows.pick.get(row).to_owned();
        let pick = pick.as_deref().unwrap_or(INVALID);
        let correct = pick != INVALID && exact_match(pick, trace.rows.answer.get(row));
        match (before, state(correct, pick)) {
            (State::Invalid, State::Right) => flips.invalid_to_right += 1,
            (State::Invalid, State::Wrong) => flips.invalid_to_wrong += 1,
            (State::Right, State::Wrong) => flips.right_to_wrong += 1,
            (State::Wrong, State::Right) => flips.wrong_to_right += 1,
            (State::Wrong, State::Wrong) if before_pick != pick => flips.wrong_to_wrong += 1,
            (State::Right, State::Invalid) => flips.right_to_invalid += 1,
            (State::Wrong, State::Invalid) => flips.wrong_to_invalid += 1,
            _ => {}
        }
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Right,
    Wrong,
    Invalid,
}

fn state(correct: bool, pick: &str) -> State {
    if pick == INVALID {
        State::Invalid
    } else if correct {
        State::Right
    } else {
        State::Wrong
    }
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
