//! A trace as the screens see it at one moment: its rows, which rows are attempts at one question, and the counts over
//! all of them or over a selection.

use std::sync::Arc;

use crate::diagnose::Cause;
use crate::filter::{Agreement, Derived};
use crate::record::{INVALID, letter_index};
use crate::trace::{Rows, Trace};

/// Letters counted in the letters pane; picks and keys beyond are rare enough to leave out.
pub const LETTERS: usize = 26;

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
    pub total: Tally,
    pub exams: Vec<(Arc<str>, Tally)>,
    /// By exam, then category, in order of the exam's first row and of accuracy.
    pub categories: Vec<CategoryTally>,
    pub keys: Vec<usize>,
    pub picks: Vec<usize>,
    /// Rows by cause, in the causes' own order; empty until something is known.
    pub causes: Vec<(Cause, usize)>,
    /// Whether every row's output has been looked at for its cause.
    pub is_diagnosed: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CategoryTally {
    pub exam: Arc<str>,
    pub name: Arc<str>,
    /// The name's code in the category column.
    pub code: u32,
    pub tally: Tally,
}

/// Counts with the interval of their accuracy.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Tally {
    pub rows: usize,
    pub questions: usize,
    pub correct: usize,
    pub invalid: usize,
    /// 95 % interval of the accuracy, by question where a question has several rows.
    pub interval: Option<(f64, f64)>,
}

impl Tally {
    pub fn accuracy(&self) -> f64 {
        if self.rows == 0 {
            0.0
        } else {
            self.correct as f64 / self.rows as f64
        }
    }

    pub fn invalid_share(&self) -> f64 {
        if self.rows == 0 {
            0.0
        } else {
            self.invalid as f64 / self.rows as f64
        }
    }

    /// Whether the interval counts questions instead of rows.
    pub fn is_clustered(&self) -> bool {
        self.rows > self.questions
    }
}

impl Snapshot {
    pub fn of(trace: Arc<Trace>) -> Snapshot {
        let rows = &trace.rows;
        let agreement = Agreement::of(rows);
        let most_attempts = agreement.most_attempts();
        let all = report(rows, &agreement, None, 0..rows.len() as u32);
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
        match self.agreement.question.get(row as usize) {
            Some(question) => self.agreement.rows_of(*question).collect(),
            None => Vec::new(),
        }
    }

    pub fn question(&self, row: u32) -> u32 {
        self.agreement.question.get(row as usize).copied().unwrap_or(u32::MAX)
    }

    pub fn report(&self, derived: Option<&Derived>, selected: impl Iterator<Item = u32> + Clone) -> Report {
        report(self.rows(), &self.agreement, derived, selected)
    }

    /// Whether the trace holds rows of several exams.
    pub fn has_several_exams(&self) -> bool {
        self.rows().benchmark.list().len() > 1
    }
}

/// What a pick looks like in a table: `C ok`, `F x`, `[invalid]`.
pub fn pick_text(rows: &Rows, row: u32) -> String {
    let row = row as usize;
    let pick = rows.pick.get(row);
    match (pick == INVALID, rows.correct[row]) {
        (true, _) => INVALID.to_owned(),
        (false, true) => format!("{pick} ok"),
        (false, false) => format!("{pick} x"),
    }
}

fn report(
    rows: &Rows,
    agreement: &Agreement,
    derived: Option<&Derived>,
    selected: impl Iterator<Item = u32> + Clone,
) -> Report {
    let mut report = Report {
        keys: vec![0; LETTERS],
        picks: vec![0; LETTERS],
        ..Report::default()
    };
    let letters = |names: &crate::trace::Names| -> Vec<Option<usize>> {
        names.list().iter().map(|name| letter_index(name)).collect()
    };
    let (keys, picks) = (letters(&rows.answer), letters(&rows.pick));
    let invalid = rows.pick.find(INVALID);
    // Per question: rows, correct ones, invalid ones, and a row that tells its category.
    let mut questions: Vec<(u32, u32, u32, u32)> = vec![(0, 0, 0, 0); agreement.attempts.len()];
    for row in selected.clone() {
        let at = row as usize;
        let (key, pick) = (rows.answer.code(at), rows.pick.code(at));
        if let Some(letter) = keys[key as usize] {
            report.keys[letter] += 1;
        }
        if let Some(letter) = picks[pick as usize] {
            report.picks[letter] += 1;
        }
        let question = &mut questions[agreement.question[at] as usize];
        question.0 += 1;
        question.1 += u32::from(rows.correct[at]);
        question.2 += u32::from(Some(pick) == invalid);
        question.3 = row;
    }
    let exams = rows.benchmark.list();
    let names = rows.category.list();
    let mut groups: Vec<Counts> = vec![Counts::default(); exams.len() * names.len()];
    let mut by_exam: Vec<Counts> = vec![Counts::default(); exams.len()];
    let mut total = Counts::default();
    for (n, correct, invalid, row) in questions.into_iter().filter(|question| question.0 > 0) {
        let at = row as usize;
        let group = rows.benchmark.code(at) as usize * names.len() + rows.category.code(at) as usize;
        groups[group].add(n, correct, invalid);
        by_exam[rows.benchmark.code(at) as usize].add(n, correct, invalid);
        total.add(n, correct, invalid);
    }
    report.total = total.tally();
    report.exams = exams.iter().cloned().zip(by_exam.iter().map(Counts::tally)).collect();
    for (at, counts) in groups.iter().enumerate().filter(|(_, counts)| counts.questions > 0) {
        report.categories.push(CategoryTally {
            exam: Arc::clone(&exams[at / names.len()]),
            name: Arc::clone(&names[at % names.len()]),
            code: (at % names.len()) as u32,
            tally: counts.tally(),
        });
    }
    let place = |exam: &str| exams.iter().position(|known| **known == *exam);
    report
        .categories
        .sort_by(|a, b| (place(&a.exam).cmp(&place(&b.exam))).then(b.tally.accuracy().total_cmp(&a.tally.accuracy())));
    if let Some(derived) = derived {
        let mut causes: Vec<(Cause, usize)> = Cause::ALL.iter().map(|cause| (*cause, 0)).collect();
        for row in selected {
            if let Some(cause) = derived.marks.get(row as usize).and_then(|marks| marks.cause())
                && let Some(entry) = causes.iter_mut().find(|(known, _)| *known == cause)
            {
                entry.1 += 1;
            }
        }
        report.causes = causes;
        report.is_diagnosed = derived.marks.len() >= rows.len();
    }
    report
}

/// Sums over questions, enough for the clustered interval.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    rows: u64,
    questions: u64,
    correct: u64,
    invalid: u64,
    /// Sums over questions of n², n·correct and correct².
    squares: (f64, f64, f64),
}

impl Counts {
    /// Adds a question's rows.
    pub fn add(&mut self, n: u32, correct: u32, invalid: u32) {
        self.rows += u64::from(n);
        self.questions += 1;
        self.correct += u64::from(correct);
        self.invalid += u64::from(invalid);
        let (n, correct) = (f64::from(n), f64::from(correct));
        self.squares.0 += n * n;
        self.squares.1 += n * correct;
        self.squares.2 += correct * correct;
    }

    pub fn tally(&self) -> Tally {
        Tally {
            rows: self.rows as usize,
            questions: self.questions as usize,
            correct: self.correct as usize,
            invalid: self.invalid as usize,
            interval: self.interval(),
        }
    }

    /// Wilson's interval over as many independent rows as the spread between questions allows.
    fn interval(&self) -> Option<(f64, f64)> {
        if self.rows == 0 {
            return None;
        }
        let n = self.rows as f64;
        let share = self.correct as f64 / n;
        let mut effective = n;
        if self.questions > 1 && self.rows > self.questions && share > 0.0 && share < 1.0 {
            let groups = self.questions as f64;
            let spread = self.squares.2 - 2.0 * share * self.squares.1 + share * share * self.squares.0;
            let variance = spread / (n * n) * groups / (groups - 1.0);
            if variance > 0.0 {
                effective = (share * (1.0 - share) / variance).min(n);
            }
        } else if self.rows > self.questions {
            effective = self.questions as f64;
        }
        Some(wilson(share, effective))
    }
}

fn wilson(share: f64, n: f64) -> (f64, f64) {
    const Z: f64 = 1.959_963_984_540_054;
    let z2 = Z * Z;
    let middle = (share + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = Z / (1.0 + z2 / n) * (share * (1.0 - share) / n + z2 / (4.0 * n * n)).sqrt();
    ((middle - half).max(0.0), (middle + half).min(1.0))
}
