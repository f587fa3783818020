//! A trace as the screens see it at one moment: its rows, which rows are attempts at one question, and the counts over
//! all of them or over a selection.

use std::sync::Arc;

use crate::diagnose::Cause;
use crate::filter::{Agreement, Derived};
use crate::stats::{Grouped, Letters, Questions, Sum};
use crate::trace::{Rows, Trace};

/// Rows and what was found out about how they belong together.
#[derive(Debug)]
pub struct Snapshot {
    pub trace: Arc<Trace>,
    pub agreement: Agreement,
    /// Counts over every row.
    pub all: Report,
    pub most_attempts: usize,
}

/// Counts over some rows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    pub total: Sum,
    pub exams: Vec<(Arc<str>, Sum)>,
    /// By exam, then category, in order of the exam's first row and of accuracy.
    pub categories: Vec<CategorySum>,
    pub letters: Letters,
    /// Rows by cause, in the causes' own order; empty until something is known.
    pub causes: Vec<(Cause, usize)>,
    /// Whether every row's output has been looked at for its cause.
    pub is_diagnosed: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CategorySum {
    pub exam: Arc<str>,
    pub name: Arc<str>,
    /// The name's code in the category column.
    pub code: u32,
    pub sum: Sum,
}

impl Report {
    /// The exams that have rows here.
    pub fn exams_here(&self) -> impl Iterator<Item = (&str, &Sum)> {
        let exams = self.exams.iter().filter(|(_, sum)| sum.rows() > 0);
        exams.map(|(name, sum)| (&**name, sum))
    }

    /// The sum whose accuracy can be told: that of all rows, unless they are of several exams.
    pub fn one_exam(&self) -> Option<&Sum> {
        (self.exams_here().count() < 2).then_some(&self.total)
    }
}

impl Snapshot {
    pub fn of(trace: Arc<Trace>) -> Snapshot {
        let rows = &trace.rows;
        let agreement = Agreement::of(rows);
        let most_attempts = agreement.questions.most_attempts();
        let all = report(rows, &agreement.questions, None, 0..rows.len() as u32);
        Snapshot {
            trace,
            agreement,
            all,
            most_attempts,
        }
    }

    pub fn rows(&self) -> &Rows {
        &self.trace.rows
    }

    /// The rows of the question that a row belongs to, by attempt.
    pub fn attempts(&self, row: u32) -> Vec<u32> {
        self.agreement.questions.rows(self.question(row)).collect()
    }

    /// Which attempt a row is, among those that its question has: `attempt 2 (0-4)`, `attempt 4 (4 of 5 landed)`. `None`
    /// where questions have one.
    pub fn attempt_label(&self, row: u32) -> Option<String> {
        let numbers = &self.rows().attempt;
        let own: Vec<u16> = self.attempts(row).iter().map(|row| numbers[*row as usize]).collect();
        let (first, last) = (*own.iter().min()?, *own.iter().max()?);
        let is_at_work = self.trace.kind == super::live::AT_WORK;
        // Of a run at work the attempts that are still to come count from 0.
        let planned = if is_at_work { usize::from(last) + 1 } else { 0 }.max(self.most_attempts);
        let attempt = numbers[row as usize];
        let landed = if is_at_work { " landed" } else { "" };
        match own.len() {
            _ if planned < 2 => None,
            here if here < planned => Some(format!("attempt {attempt} ({here} of {planned}{landed})")),
            _ => Some(format!("attempt {attempt} ({first}-{last})")),
        }
    }

    pub fn question(&self, row: u32) -> u32 {
        self.agreement.questions.number(row as usize).unwrap_or(u32::MAX)
    }

    pub fn report(&self, derived: Option<&Derived>, selected: impl Iterator<Item = u32> + Clone) -> Report {
        report(self.rows(), &self.agreement.questions, derived, selected)
    }

    /// Whether the trace holds rows of several exams.
    pub fn has_several_exams(&self) -> bool {
        self.rows().benchmark.list().len() > 1
    }
}

fn report(
    rows: &Rows,
    questions: &Questions,
    derived: Option<&Derived>,
    selected: impl Iterator<Item = u32> + Clone,
) -> Report {
    let (exams, names) = (rows.benchmark.list(), rows.category.list());
    let sums = |code: &dyn Fn(usize) -> u32| {
        let numbered = questions.numbers_of(selected.clone());
        Grouped::of(rows, questions.len(), numbered, code, |code| code)
    };
    let width = names.len() as u32;
    let by_category = sums(&|row| rows.benchmark.code(row) * width + rows.category.code(row));
    let exam_sums: Vec<Sum> = if exams.len() > 1 {
        let by_exam = sums(&|row| rows.benchmark.code(row));
        (0..exams.len() as u32).map(|code| by_exam.get(&code)).collect()
    } else {
        vec![by_category.total]
    };
    let mut categories: Vec<CategorySum> = by_category
        .iter()
        .map(|(group, sum)| CategorySum {
            exam: Arc::clone(&exams[(group / width) as usize]),
            name: Arc::clone(&names[(group % width) as usize]),
            code: group % width,
            sum: *sum,
        })
        .collect();
    let place = |exam: &str| exams.iter().position(|known| **known == *exam);
    let accuracy = |category: &CategorySum| category.sum.accuracy().unwrap_or(0.0);
    categories.sort_by(|a, b| (place(&a.exam).cmp(&place(&b.exam))).then(accuracy(b).total_cmp(&accuracy(a))));
    Report {
        total: by_category.total,
        exams: exams.iter().cloned().zip(exam_sums).collect(),
        categories,
        letters: Letters::of(rows, selected.clone().map(|row| row as usize)),
        causes: derived.map_or_else(Vec::new, |derived| causes(derived, selected)),
        is_diagnosed: derived.is_some_and(|derived| derived.marks.len() >= rows.len()),
    }
}

fn causes(derived: &Derived, selected: impl Iterator<Item = u32>) -> Vec<(Cause, usize)> {
    let mut causes: Vec<(Cause, usize)> = Cause::ALL.iter().map(|cause| (*cause, 0)).collect();
    for row in selected {
        if let Some(cause) = derived.marks.get(row as usize).and_then(|marks| marks.cause())
            && let Some(entry) = causes.iter_mut().find(|(known, _)| *known == cause)
        {
            entry.1 += 1;
        }
    }
    causes
}
