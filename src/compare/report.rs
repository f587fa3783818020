//! A comparison as `compare --json` prints it. Fractions lie in 0-1; unknown is null.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Comparison, Difference};
use crate::stats::Sum;
use crate::trace::Trace;

#[derive(Debug, Clone, Serialize)]
pub struct CompareReport {
    pub a: SideReport,
    pub b: SideReport,
    /// Rows that answer to each other.
    pub paired: usize,
    /// Rows of either trace whose question is not in the other; changed ones stand apart.
    pub unpaired: usize,
    /// Questions that are another question in the other trace, under the same id.
    pub changed: usize,
    pub both: usize,
    pub a_only: usize,
    pub b_only: usize,
    pub neither: usize,
    /// Accuracy of A less that of B over the pairs: never over two exams; null then, and `exams` tells.
    pub difference: Option<f64>,
    pub ci95: Option<[f64; 2]>,
    /// `paired`, or `clustered` where several attempts of a question are in.
    pub ci_kind: &'static str,
    /// Two-sided: exact McNemar, or by the clustered error. `mid_p` is McNemar's, null for several attempts.
    pub p: f64,
    pub log10_p: f64,
    pub mid_p: Option<f64>,
    pub z: Option<f64>,
    /// Pairs after which the difference was decided, looking after each.
    pub decided_at: Option<usize>,
    /// Where it was not: pairs that it would take.
    pub needed: Option<usize>,
    pub categories: Vec<CategoryReport>,
    /// By exam, where there are several.
    pub exams: Vec<CategoryReport>,
    pub changed_questions: Vec<ChangedReport>,
    /// Whether the pairs were asked with the same prompts, by their hashes; null where not both store them.
    pub same_prompt: Option<bool>,
    pub warnings: Vec<String>,
}

#[derive(Debug, Clone, Serialize)]
pub struct SideReport {
    pub name: String,
    /// Over the pairs: never over two exams; null then, and `exams` tells.
    pub accuracy: Option<f64>,
    pub ci95: Option<[f64; 2]>,
    /// By exam, where there are several.
    pub exams: BTreeMap<String, ExamReport>,
    pub n: usize,
    /// Rows without a partner, changed ones left out.
    pub unpaired: usize,
}

/// The paired rows of one exam on one side.
#[derive(Debug, Clone, Serialize)]
pub struct ExamReport {
    pub n: usize,
    pub accuracy: Option<f64>,
    pub ci95: Option<[f64; 2]>,
}

#[derive(Debug, Clone, Serialize)]
pub struct CategoryReport {
    pub name: String,
    pub n: usize,
    pub a_only: usize,
    pub b_only: usize,
    pub difference: Option<f64>,
    pub ci95: Option<[f64; 2]>,
    pub p: f64,
    /// Adjusted for the other categories by Holm's method.
    pub p_holm: f64,
}

#[derive(Debug, Clone, Serialize)]
pub struct ChangedReport {
    pub question_id: i64,
    pub reason: &'static str,
    pub gold_a: String,
    pub gold_b: String,
}

impl CompareReport {
    pub fn of(a: &Trace, b: &Trace) -> CompareReport {
        CompareReport::new(a, b, &Comparison::of(&a.rows, &b.rows))
    }

    pub fn new(a: &Trace, b: &Trace, comparison: &Comparison) -> CompareReport {
        let Comparison { pairing, overall, .. } = comparison;
        let counts = overall.counts;
        let (pairs, (p, log10_p)) = (counts.pairs(), overall.paired.p());
        let several = comparison.exams.len() > 1;
        let exams = comparison.exams.iter().filter(|_| several);
        let side = |trace: &Trace, at: usize, unpaired: usize| {
            let sums = &comparison.sides[at];
            let one = (!several).then_some(&sums.total).map(exam_report);
            let exams = sums.iter().filter(|_| several);
            SideReport {
                name: trace.name.clone(),
                accuracy: one.as_ref().and_then(|one| one.accuracy),
                ci95: one.and_then(|one| one.ci95),
                exams: exams.map(|(exam, sum)| (exam.to_string(), exam_report(sum))).collect(),
                n: trace.rows.len(),
                unpaired,
            }
        };
        let changed = changed_questions(a, b, comparison);
        let (same_prompt, prompt_warning) = super::prompts::same_prompt(a, b, pairing);
        CompareReport {
            a: side(a, 0, pairing.only_a.len()),
            b: side(b, 1, pairing.only_b.len()),
            paired: pairs,
            unpaired: pairing.only_a.len() + pairing.only_b.len(),
            changed: changed.len(),
            both: counts.both,
            a_only: counts.a_only,
            b_only: counts.b_only,
            neither: counts.neither,
            difference: overall.difference().filter(|_| !several),
            ci95: limits(overall).filter(|_| !several),
            ci_kind: if overall.paired.is_clustered() {
                "clustered"
            } else {
                "paired"
            },
            p,
            log10_p,
            mid_p: overall.paired.discordant().map(|(a, b)| super::mcnemar_mid_p(a, b)),
            z: overall.paired.z(),
            decided_at: comparison.decision.at,
            needed: comparison.decision.needed,
            categories: comparison.categories.iter().map(category_report).collect(),
            exams: exams.map(category_report).collect(),
            same_prompt,
            warnings: warnings(comparison).into_iter().chain(prompt_warning).collect(),
            changed_questions: changed,
        }
    }
}

fn exam_report(sum: &Sum) -> ExamReport {
    ExamReport {
        n: sum.rows(),
        accuracy: sum.accuracy(),
        ci95: sum.interval().map(|interval| [interval.low, interval.high]),
    }
}

fn limits(difference: &Difference) -> Option<[f64; 2]> {
    difference.interval().map(|interval| [interval.low, interval.high])
}

fn category_report(part: &Difference) -> CategoryReport {
    CategoryReport {
        name: part.name.clone(),
        n: part.counts.pairs(),
        a_only: part.counts.a_only,
        b_only: part.counts.b_only,
        difference: part.difference(),
        ci95: limits(part),
        p: part.paired.p().0,
        p_holm: part.holm,
    }
}

fn changed_questions(a: &Trace, b: &Trace, comparison: &Comparison) -> Vec<ChangedReport> {
    let questions = comparison.pairing.changed_questions(&a.rows);
    let report = |(x, y): (u32, u32)| ChangedReport {
        question_id: a.rows.question_id[x as usize],
        reason: super::Pairing::what_changed(&a.rows, &b.rows, (x, y)),
        gold_a: a.rows.answer.get(x as usize).to_owned(),
        gold_b: b.rows.answer.get(y as usize).to_owned(),
    };
    questions.into_iter().map(report).collect()
}

fn warnings(comparison: &Comparison) -> Option<String> {
    let text = "the ids agree and no question does: two data sets, or hashes made in two ways";
    comparison.pairing.is_suspicious().then(|| text.to_owned())
}
