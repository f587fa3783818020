//! From one exam to another of one model, as from MMLU to MMLU-Pro: how far the accuracy falls, and how far it falls on the
//! questions that both ask.

use std::collections::HashMap;
use std::ops::ControlFlow;

use anyhow::Result;
use serde::Serialize;

use super::{Paired, Right};
use crate::record::{Record, gold_letters, split_prompt};
use crate::stats::{Interval, Questions, Slice};
use crate::trace::{Field, Trace};

/// Two exams of one model. Fractions in 0-1.
#[derive(Debug, Clone, Serialize)]
pub struct Descent {
    pub a: Exam,
    pub b: Exam,
    /// Accuracy of A less that of B, by Newcombe's method of two intervals.
    pub difference: Option<f64>,
    pub ci95: Option<[f64; 2]>,
    /// The difference as a share of A's accuracy.
    pub relative: Option<f64>,
    pub same: Same,
}

/// One exam.
#[derive(Debug, Clone, Serialize)]
pub struct Exam {
    pub name: String,
    pub benchmark: String,
    pub rows: usize,
    pub questions: usize,
    pub accuracy: Option<f64>,
    pub ci95: Option<[f64; 2]>,
    /// Mean over rows of 1 / options.
    pub chance: f64,
    /// (accuracy - chance) / (1 - chance).
    pub above_chance: Option<f64>,
}

/// The questions of B whose text is that of a question of A.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Same {
    /// With the same text; of these, with the same option right, with another one, and where that cannot be told.
    pub questions: usize,
    pub same_gold: usize,
    pub other_gold: usize,
    pub gold_unknown: usize,
    /// Questions of B that A does not ask.
    pub only_b: usize,
    /// Pairs that are compared: all but those with another option right.
    pub paired: usize,
    pub accuracy_a: Option<f64>,
    pub accuracy_b: Option<f64>,
    pub difference: Option<f64>,
    pub ci95: Option<[f64; 2]>,
    pub p: Option<f64>,
    /// Right in A and wrong in B, and back; shares of attempts count as parts of a question.
    pub a_only: f64,
    pub b_only: f64,
}

fn limits(interval: Option<Interval>) -> Option<[f64; 2]> {
    interval.map(|interval| [interval.low, interval.high])
}

/// A trace's questions.
struct Side<'a> {
    trace: &'a Trace,
    questions: Questions,
}

/// The questions of a text, most often one.
type ByText = HashMap<String, Vec<u32>>;

impl<'a> Side<'a> {
    fn new(trace: &'a Trace) -> Side<'a> {
        Side {
            trace,
            questions: Questions::of(Slice::all(&trace.rows)),
        }
    }

    fn first(&self, question: u32) -> usize {
        self.questions.rows(question).next().map_or(0, |row| row as usize)
    }

    fn right(&self, question: u32) -> Right {
        let mut right = Right::default();
        for row in self.questions.rows(question) {
            right.attempts += 1;
            right.correct += u32::from(self.trace.rows.correct[row as usize]);
        }
        right
    }

    /// The questions by their texts, outer white space cut.
    fn texts(&self) -> Result<ByText> {
        let firsts: HashMap<usize, u32> = (0..self.questions.len() as u32)
            .map(|question| (self.first(question), question))
            .collect();
        let mut found = ByText::new();
        self.trace
            .texts
            .scan(Field::Question, &|row| firsts.contains_key(&row), &mut |row, text| {
                let text = text.trim();
                if let Some(question) = firsts.get(&row).filter(|_| !text.is_empty()) {
                    found.entry(text.to_owned()).or_default().push(*question);
                }
                ControlFlow::Continue(())
            })?;
        Ok(found)
    }

    /// The text of each question's right option, where its options are stored.
    fn golds(&self, questions: &[u32]) -> Result<HashMap<u32, String>> {
        let mut golds = HashMap::new();
        for part in questions.chunks(1024) {
            let rows: Vec<usize> = part.iter().map(|question| self.first(*question)).collect();
            for ((question, row), record) in part.iter().zip(&rows).zip(self.trace.texts.records(&rows)?) {
                golds.extend(gold_text(&record, self.trace.rows.answer.get(*row)).map(|text| (*question, text)));
            }
        }
        Ok(golds)
    }

    /// Mean over rows of 1 / options. Options that no column tells are counted in the prompt; where that tells none either
    /// there are four, of MMLU-Pro ten.
    fn chance(&self) -> Result<f64> {
        let rows = &self.trace.rows;
        let mut options: Vec<u8> = (0..self.questions.len() as u32)
            .map(|question| rows.options[self.first(question)])
            .collect();
        let untold = options.iter().enumerate().filter(|(_, options)| **options == 0);
        let untold: HashMap<usize, usize> = untold
            .map(|(question, _)| (self.first(question as u32), question))
            .collect();
        let count = |_: usize, prompt: &str| split_prompt(prompt).options.len() as u64;
        let is_untold = |row: usize| untold.contains_key(&row);
        self.trace
            .texts
            .map(Field::Prompt, &is_untold, &count, &mut |row, count| {
                options[untold[&row]] = u8::try_from(count).unwrap_or(u8::MAX);
                ControlFlow::Continue(())
            })?;
        let of_row = |row: usize| {
            let known = self
                .questions
                .number(row)
                .map_or(0, |question| options[question as usize]);
            match known {
                0 if rows.benchmark.get(row) == "mmlu_pro" => 10.0,
                0 => 4.0,
                options => f64::from(options),
            }
        };
        Ok((0..rows.len()).map(|row| 1.0 / of_row(row)).sum::<f64>() / rows.len().max(1) as f64)
    }

    fn exam(&self) -> Result<Exam> {
        let rows = &self.trace.rows;
        let sum = self.questions.group(Slice::all(rows), |_| 0, |_| ()).total;
        let chance = self.chance()?;
        let names: Vec<&str> = rows.benchmark.list().iter().map(|name| &**name).collect();
        Ok(Exam {
            name: self.trace.name.clone(),
            benchmark: names.join(", "),
            rows: sum.rows(),
            questions: sum.questions(),
            accuracy: sum.accuracy(),
            ci95: limits(sum.interval()),
            chance,
            above_chance: sum.accuracy().map(|accuracy| above_chance(accuracy, chance)),
        })
    }

    fn interval(&self) -> Option<(f64, Interval)> {
        let sum = self.questions.group(Slice::all(&self.trace.rows), |_| 0, |_| ()).total;
        sum.accuracy().zip(sum.interval())
    }
}

fn gold_text(record: &Record, answer: &str) -> Option<String> {
    let gold = gold_letters(answer)?.first().copied()?;
    record.options.get(gold).map(|text| text.trim().to_owned())
}

/// How much of what lies above chance is reached.
pub fn above_chance(accuracy: f64, chance: f64) -> f64 {
    (accuracy - chance) / (1.0 - chance)
}

impl Descent {
    /// # Errors
    /// When a text cannot be read.
    pub fn of(a: &Trace, b: &Trace) -> Result<Descent> {
        let (a, b) = (Side::new(a), Side::new(b));
        let sides = a.interval().zip(b.interval());
        let difference = sides.map(|((a, _), (b, _))| a - b);
        let interval = sides.map(|(a, b)| Interval::unpaired(a, b));
        Ok(Descent {
            a: a.exam()?,
            b: b.exam()?,
            difference,
            ci95: limits(interval),
            relative: difference
                .zip(sides)
                .and_then(|(difference, ((a, _), _))| (a > 0.0).then(|| difference / a)),
            same: Same::of(&a, &b)?,
        })
    }
}

impl Same {
    fn of(a: &Side, b: &Side) -> Result<Same> {
        let (texts_a, texts_b) = (a.texts()?, b.texts()?);
        let mut pairs: Vec<(u32, &Vec<u32>)> = Vec::new();
        for (text, questions) in &texts_b {
            if let Some(others) = texts_a.get(text) {
                pairs.extend(questions.iter().map(|question| (*question, others)));
            }
        }
        pairs.sort_unstable();
        let mut of_a: Vec<u32> = pairs.iter().flat_map(|(_, others)| others.iter().copied()).collect();
        of_a.sort_unstable();
        of_a.dedup();
        let golds_a = a.golds(&of_a)?;
        let golds_b = b.golds(&pairs.iter().map(|(question, _)| *question).collect::<Vec<_>>())?;
        let mut same = Same {
            questions: pairs.len(),
            only_b: b.questions.len() - pairs.len(),
            ..Same::default()
        };
        let mut paired = Paired::default();
        let (mut right_a, mut right_b) = (0.0, 0.0);
        for (question, others) in pairs {
            let gold = golds_b.get(&question);
            let is_like = |other: &&u32| gold.is_some() && golds_a.get(other) == gold;
            let chosen = others
                .iter()
                .find(is_like)
                .or(others.first())
                .copied()
                .unwrap_or_default();
            match (gold, golds_a.get(&chosen)) {
                (Some(gold), Some(other)) if gold == other => same.same_gold += 1,
                (Some(_), Some(_)) => {
                    same.other_gold += 1;
                    continue;
                }
                _ => same.gold_unknown += 1,
            }
            let (first, second) = (a.right(chosen), b.right(question));
            let share = |right: Right| f64::from(right.correct) / f64::from(right.attempts.max(1));
            paired.add(first, second);
            right_a += share(first);
            right_b += share(second);
            same.a_only += share(first) * (1.0 - share(second));
            same.b_only += share(second) * (1.0 - share(first));
        }
        same.paired = paired.questions();
        let mean = |right: f64| (same.paired > 0).then(|| right / same.paired as f64);
        (same.accuracy_a, same.accuracy_b) = (mean(right_a), mean(right_b));
        same.difference = paired.difference();
        same.ci95 = limits(paired.interval());
        same.p = (same.paired > 0).then(|| paired.p().0);
        Ok(same)
    }
}
