//! How an output was read: the match, the cause where there is none, the loop at its end.

use crate::diagnose::{Answer, Diagnosis, Mark, diagnose};
use crate::extract::Rule;
use crate::record::Record;
use crate::trace::Rows;

use super::passage::Lit;
use super::theme::Outcome;

/// What is lit and said about one output.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    pub matched: Option<Lit>,
    /// Places where the rule matches.
    pub matches: usize,
    pub diagnosis: Diagnosis,
}

impl Reading {
    /// Reads a record's output by the rule that the trace shows.
    pub fn of(record: &Record, rule: &Rule) -> Reading {
        let text = record.reasoning.as_str();
        let flags = record.flags.join(",");
        let answer = Answer {
            text,
            pick: &record.pick,
            finish: record.finish,
            flags: &flags,
            options: record.options.len(),
        };
        let read = rule.read(text);
        let is_right = match read.pick == Some(record.pick.as_str()) {
            true => record.correct,
            false => read.pick == Some(record.answer.as_str()),
        };
        let outcome = Outcome::of(read.pick.is_none(), is_right);
        Reading {
            matched: read.found.map(|found| Lit {
                whole: found.whole,
                letter: found.letter,
                outcome,
            }),
            matches: rule.matches(text).len(),
            diagnosis: diagnose(rule, &answer),
        }
    }

    /// Where a reader should look: the match, else the evidence.
    pub fn place(&self) -> Option<usize> {
        self.matched
            .as_ref()
            .map(|lit| &lit.whole)
            .or(self.diagnosis.evidence.as_ref())
            .map(|range| range.start)
    }

    /// The same to follow something else: ` · cut off`, or nothing.
    pub fn remarked(&self) -> String {
        match self.remark() {
            remark if remark.is_empty() => remark,
            remark => format!(" · {remark}"),
        }
    }

    /// A few words on what is odd: `loop ×15`, `cut off`, ...
    pub fn remark(&self) -> String {
        match (&self.diagnosis.tail, self.diagnosis.cause) {
            (Some(tail), _) => format!("loop ×{}", tail.count),
            (None, Some(cause)) => cause.label().to_owned(),
            (None, None) if self.diagnosis.marks.has(Mark::Thought) => "match in the thinking".to_owned(),
            (None, None) => String::new(),
        }
    }
}

/// The cause and marks of a row of a trace.
pub fn diagnose_row(rule: &Rule, rows: &Rows, row: usize, text: &str) -> Diagnosis {
    let answer = Answer {
        text,
        pick: rows.pick.get(row),
        finish: rows.finish[row],
        flags: rows.flags.get(row),
        options: usize::from(rows.options[row]),
    };
    diagnose(rule, &answer)
}
