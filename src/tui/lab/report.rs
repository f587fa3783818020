//! What another rule makes of the outputs: counts, and the rows that flip.

use std::sync::Arc;

use crate::compare::Flip;
use crate::extract::Rule;
use crate::record::{self, INVALID, letter, letter_index};
use crate::stats::Tally;
use crate::trace::{Names, Rows};

/// A way in which rows change, or might.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Flip(Flip),
    /// The rule's first match and its last name different letters.
    FirstAndLast,
}

impl Kind {
    pub const ALL: [Kind; 8] = [
        Kind::Flip(Flip::InvalidToRight),
        Kind::Flip(Flip::InvalidToWrong),
        Kind::Flip(Flip::WrongToRight),
        Kind::Flip(Flip::RightToWrong),
        Kind::Flip(Flip::WrongToWrong),
        Kind::Flip(Flip::RightToInvalid),
        Kind::Flip(Flip::WrongToInvalid),
        Kind::FirstAndLast,
    ];

    pub fn label(self) -> &'static str {
        match self {
            Kind::Flip(Flip::InvalidToRight) => "[invalid] -> right",
            Kind::Flip(Flip::InvalidToWrong) => "[invalid] -> wrong",
            Kind::Flip(Flip::RightToWrong) => "right -> wrong",
            Kind::Flip(Flip::WrongToRight) => "wrong -> right",
            Kind::Flip(Flip::WrongToWrong) => "wrong -> wrong",
            Kind::Flip(Flip::RightToInvalid) => "right -> [invalid]",
            Kind::Flip(Flip::WrongToInvalid) => "wrong -> [invalid]",
            Kind::FirstAndLast => "first and last match differ",
        }
    }

    /// The same where there is little room: `!>ok`.
    pub fn short(self) -> String {
        let label = self.label().replace("[invalid]", "!").replace("right", "ok");
        label.replace("wrong", "x").replace(" -> ", ">")
    }
}

/// What a rule reads from one output, in a few bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Read(u16);

/// A pick that is no single letter.
const OTHER: u16 = 27;

impl Read {
    /// Reads an output; `answer` is the gold.
    pub fn of(rule: &Rule, text: &str, answer: &str) -> Read {
        let extraction = rule.read(text);
        let code = match extraction.pick {
            None => 0,
            Some(pick) => letter_index(pick).map_or(OTHER, |index| index as u16 + 1),
        };
        let is_right = extraction.pick.is_some_and(|pick| record::is_right(pick, answer));
        let matches = rule.matches(text);
        let differs = match (matches.first(), matches.last()) {
            (Some(first), Some(last)) => !text[first.letter.clone()].eq_ignore_ascii_case(&text[last.letter.clone()]),
            _ => false,
        };
        let gave_up = extraction.flag.is_some();
        Read(code | u16::from(is_right) << 5 | u16::from(differs) << 6 | u16::from(gave_up) << 7)
    }

    pub fn bits(self) -> u64 {
        u64::from(self.0)
    }

    pub fn from_bits(bits: u64) -> Read {
        Read(bits as u16)
    }

    /// The pick as a table shows it.
    pub fn pick(self) -> String {
        match self.0 & 31 {
            0 => INVALID.to_owned(),
            code => letter(usize::from(code) - 1).map_or_else(|| "text".to_owned(), |letter| letter.to_string()),
        }
    }

    pub fn is_right(self) -> bool {
        self.0 & 1 << 5 != 0
    }

    fn differs(self) -> bool {
        self.0 & 1 << 6 != 0
    }

    fn gave_up(self) -> bool {
        self.0 & 1 << 7 != 0
    }
}

/// Some rows before and after.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Change {
    /// Of the category or exam; empty for all.
    pub name: Arc<str>,
    pub before: Tally,
    pub after: Tally,
}

impl Change {
    fn named(names: &Names) -> Vec<Change> {
        let named = |name: &Arc<str>| Change {
            name: Arc::clone(name),
            ..Change::default()
        };
        names.list().iter().map(named).collect()
    }

    /// Right answers gained, or lost.
    fn gain(&self) -> i64 {
        self.after.correct as i64 - self.before.correct as i64
    }
}

/// What a rule makes of some rows.
#[derive(Debug, Clone, Default)]
pub struct LabReport {
    /// The rule as it was typed.
    pub typed: String,
    pub total: Change,
    /// By exam.
    pub exams: Vec<Change>,
    /// By [`Kind::ALL`].
    pub rows: Vec<Arc<Vec<u32>>>,
    /// What was read, by row; rows that have no output read nothing.
    pub reads: Arc<Vec<Read>>,
    pub categories: Vec<Change>,
    /// Rows on which the rule gave up.
    pub gave_up: usize,
}

impl LabReport {
    /// Counts what was read from the rows of a view. Rows whose pick comes from log-likelihoods are left out.
    pub fn of(typed: &str, columns: &Rows, selected: &[u32], reads: Vec<Read>) -> LabReport {
        let mut lists: Vec<Vec<u32>> = vec![Vec::new(); Kind::ALL.len()];
        let (mut categories, mut exams) = (Change::named(&columns.category), Change::named(&columns.benchmark));
        let mut report = LabReport {
            typed: typed.to_owned(),
            ..LabReport::default()
        };
        for row in selected.iter().filter(|row| !columns.scored[**row as usize]) {
            let at = *row as usize;
            let read = reads[at];
            let (pick, picked) = (columns.pick.get(at), read.pick());
            let (before, after) = ((pick, columns.correct[at]), (picked.as_str(), read.is_right()));
            report.gave_up += usize::from(read.gave_up());
            let flip = Flip::of(before, after).map(Kind::Flip);
            for (list, listed) in lists.iter_mut().zip(Kind::ALL) {
                if flip == Some(listed) || listed == Kind::FirstAndLast && read.differs() {
                    list.push(*row);
                }
            }
            let category = &mut categories[columns.category.code(at) as usize];
            let exam = &mut exams[columns.benchmark.code(at) as usize];
            for change in [&mut report.total, category, exam] {
                change.before += Tally::one(before.1, pick == INVALID);
                change.after += Tally::one(after.1, picked == INVALID);
            }
        }
        exams.retain(|exam| exam.before.n > 0);
        categories.retain(|category| category.before.n > 0);
        categories.sort_by(|a, b| (b.gain().abs().cmp(&a.gain().abs())).then_with(|| a.name.cmp(&b.name)));
        report.exams = exams;
        report.categories = categories;
        report.rows = lists.into_iter().map(Arc::new).collect();
        report.reads = Arc::new(reads);
        report
    }

    pub fn list(&self, kind: Kind) -> &[u32] {
        let at = Kind::ALL.iter().position(|known| *known == kind).unwrap_or(0);
        self.rows.get(at).map_or(&[], |rows| rows.as_slice())
    }
}

/// A rule as it is typed: one that has a name, or else a pattern.
///
/// # Errors
/// When it is neither.
pub fn rule_of(typed: &str) -> anyhow::Result<Rule> {
    let typed = typed.trim();
    let named = Rule::parse(typed);
    match named {
        Ok(rule) => Ok(rule),
        Err(_) => Rule::parse(&format!("re:{typed}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Record;
    use crate::trace::Trace;

    #[test]
    fn rows_are_listed_by_how_they_flip() {
        let record = |pick: &str, text: &str| Record {
            pick: pick.into(),
            answer: "A".into(),
            correct: pick == "A",
            category: "law".into(),
            reasoning: text.into(),
            ..Record::default()
        };
        let trace = Trace::from_records(
            "t",
            "t",
            vec![
                record(INVALID, "Final: A"),
                record(INVALID, "Final: B"),
                record("A", "Final: C, no, Final: A"),
                record("B", "nothing"),
                record("A", "Final: A"),
            ],
        );
        let rule = rule_of("Final: ([A-J])").unwrap();
        let reads: Vec<Read> = (0..5)
            .map(|row| Read::of(&rule, &trace.texts.record(row).unwrap().reasoning, "A"))
            .collect();
        let report = LabReport::of("Final: ([A-J])", &trace.rows, &[0, 1, 2, 3, 4], reads);
        assert_eq!(report.list(Kind::Flip(Flip::InvalidToRight)), [0]);
        assert_eq!(report.list(Kind::Flip(Flip::InvalidToWrong)), [1]);
        assert_eq!(report.list(Kind::Flip(Flip::RightToWrong)), [2]);
        assert_eq!(report.list(Kind::Flip(Flip::WrongToInvalid)), [3]);
        assert_eq!(report.list(Kind::FirstAndLast), [2]);
        assert_eq!((report.total.before.correct, report.total.after.correct), (2, 2));
        assert_eq!((report.exams.len(), &report.exams[0].before), (1, &report.total.before));
        assert_eq!(rule_of("tiger_chain").unwrap().name(), "tiger_chain");
        assert!(rule_of("answer is (").is_err());
    }
}
