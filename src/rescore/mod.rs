//! The same outputs, read by another rule, by all known rules, or by a grader.

pub mod bench;
pub mod graders;

use std::ops::ControlFlow;

use anyhow::{Result, bail};
use serde::Serialize;

use crate::compare::{Flip, Flips};
use crate::extract::Rule;
use crate::extract::argmax::ArgMax;
use crate::record::{INVALID, is_right, letter};
use crate::stats::Tally;
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
    /// Rows that the rule does not speak of, which keep their picks.
    pub kept: usize,
}

/// Gives every row the pick that `rule` makes of it, and counts what flips against the picks it had. A rule that reads
/// texts leaves rows of log-likelihoods alone, and one that compares log-likelihoods leaves completions alone.
///
/// # Errors
/// When the answers cannot be read, or a row lacks the lengths that the rule divides by; the trace then keeps its picks.
pub fn rescore(trace: &mut Trace, rule: &Rule) -> Result<Rescored> {
    let picks = match rule.argmax() {
        Some(argmax) => compared(trace, argmax)?,
        None => read(trace, rule)?,
    };
    let mut flips = Flips::default();
    let mut gave_up = 0;
    let kept = trace.rows.len() - picks.len();
    for (row, pick, flagged) in picks {
        gave_up += usize::from(flagged);
        let pick = pick.as_deref().unwrap_or(INVALID);
        let correct = is_right(pick, trace.rows.answer.get(row));
        let before = (trace.rows.pick.get(row), trace.rows.correct[row]);
        Flip::of(before, (pick, correct))
            .into_iter()
            .for_each(|flip| flips.add(flip));
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
    let mut tally = Tally::default();
    for row in 0..trace.rows.len() {
        tally += Tally::one(trace.rows.correct[row], trace.rows.is_invalid(row));
    }
    Ok(Rescored {
        rule: rule.name().to_owned(),
        n: tally.n,
        correct: tally.correct,
        invalid: tally.invalid,
        flips,
        gave_up,
        kept,
    })
}

/// A row, its pick, and whether the rule gave up on it.
type Pick = (usize, Option<String>, bool);

fn read(trace: &Trace, rule: &Rule) -> Result<Vec<Pick>> {
    let mut picks = Vec::with_capacity(trace.rows.len());
    let rows = &trace.rows;
    trace
        .texts
        .scan(Field::Completion, &|row| !rows.scored[row], &mut |row, text| {
            let extraction = rule.read(text);
            picks.push((row, extraction.pick.map(str::to_owned), extraction.flag.is_some()));
            ControlFlow::Continue(())
        })?;
    Ok(picks)
}

fn compared(trace: &Trace, argmax: ArgMax) -> Result<Vec<Pick>> {
    let scored: Vec<usize> = (0..trace.rows.len()).filter(|row| trace.rows.scored[*row]).collect();
    let mut picks = Vec::with_capacity(scored.len());
    for rows in scored.chunks(1024) {
        for (row, record) in rows.iter().zip(trace.texts.records(rows)?) {
            let Some(pick) = record.scored_pick(argmax) else {
                bail!(
                    "{}: question {} does not tell {}, which {} divides by",
                    trace.name,
                    record.question_id,
                    if argmax == ArgMax::PerToken {
                        "how many tokens each continuation has"
                    } else {
                        "the texts that were scored"
                    },
                    argmax.name()
                );
            };
            picks.push((*row, letter(pick).map(String::from), false));
        }
    }
    Ok(picks)
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

    #[test]
    fn log_likelihoods_are_compared_per_character_and_completions_keep_their_picks() {
        let scored = Record {
            pick: "A".into(),
            answer: "B".into(),
            options: vec!["ab".into(), "abcde".into()],
            logprobs: Some(vec![-6.0, -8.0]),
            continuations: Some(vec![" ab".into(), " abcde".into()]),
            ..Record::default()
        };
        let written = Record {
            question_id: 1,
            pick: INVALID.into(),
            answer: "A".into(),
            reasoning: "the answer is (A)".into(),
            ..Record::default()
        };
        let mut trace = Trace::from_records("t", "test", vec![scored, written]);
        let rescored = rescore(&mut trace, &Rule::parse("argmax_per_char").unwrap()).unwrap();
        assert_eq!((rescored.correct, rescored.invalid, rescored.kept), (1, 1, 1));
        assert_eq!((trace.rows.pick.get(0), trace.rows.pick.get(1)), ("B", INVALID));
        let error = rescore(&mut trace, &Rule::parse("argmax_per_token").unwrap()).unwrap_err();
        assert!(
            error.to_string().contains("question 0 does not tell how many tokens"),
            "{error}"
        );
        assert_eq!(trace.rows.pick.get(0), "B", "the picks stay");
    }
}
