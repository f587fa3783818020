//! A run as its number is reported: rows of one benchmark, their figures, their card.

use std::collections::BTreeMap;

use anyhow::Result;

use crate::card::{self, Card};
use crate::charts;
use crate::diagnose::Cause;
use crate::extract::Rule;
use crate::filter::Derived;
use crate::stats::{self, Questions, RunReport, Slice, Sum};
use crate::trace::{Rows, Trace};

/// One benchmark of a trace.
#[derive(Debug, Clone)]
pub struct Scored {
    pub trace: Trace,
    /// Its rows of the benchmark.
    pub picked: Vec<u32>,
    pub run: RunReport,
    pub card: Card,
    /// As the catalogue names it; else the name of its folder or file.
    pub run_id: String,
}

impl Scored {
    /// Each benchmark of a trace. Reads every row.
    ///
    /// # Errors
    /// When a row cannot be read.
    pub fn all(trace: &Trace) -> Result<Vec<Scored>> {
        let mut all = Vec::new();
        let name = trace
            .path
            .as_ref()
            .and_then(|path| path.file_name())
            .map(|name| name.to_string_lossy().into_owned());
        for (picked, card) in card::each(trace)? {
            let run = stats::report(trace, Some(&picked)).remove(0);
            let run_id = name.clone().unwrap_or_else(|| trace.name.clone());
            all.push(Scored {
                trace: trace.clone(),
                picked,
                run,
                card,
                run_id,
            });
        }
        Ok(all)
    }

    /// The model as it is shown.
    pub fn model(&self) -> String {
        let name = self.card.text("model.name");
        if name.is_empty() { self.trace.name.clone() } else { name }
    }

    pub fn title(&self) -> String {
        format!("{} on {}", self.model(), self.card.text("benchmark"))
    }

    /// A name a run, each as `name` tells it; where several have the same, with what the run is called.
    pub fn names(runs: &[Scored], name: impl Fn(&Scored) -> String) -> Vec<String> {
        let names: Vec<String> = runs.iter().map(name).collect();
        let is_alone = |name: &String| names.iter().filter(|other| *other == name).count() == 1;
        let told = |(name, run): (&String, &Scored)| {
            if is_alone(name) {
                name.clone()
            } else {
                format!("{} ({name})", run.run_id)
            }
        };
        names.iter().zip(runs).map(told).collect()
    }

    pub fn slice(&self) -> Slice<'_> {
        Slice::of(&self.trace.rows, &self.picked)
    }

    /// The rows alone, to be paired with another run's.
    pub fn rows(&self) -> Rows {
        let mut rows = Rows::default();
        self.picked
            .iter()
            .for_each(|row| rows.push_row(&self.trace.rows, *row as usize));
        rows
    }

    /// All rows added up.
    pub fn sum(&self) -> Sum {
        let slice = self.slice();
        Questions::of(slice).group(slice, |_| 0, |_| ()).total
    }

    /// Causes of the invalid rows, the most frequent first.
    ///
    /// # Errors
    /// When the outputs cannot be read.
    pub fn causes(&self) -> Result<Vec<(Cause, usize)>> {
        let rows = &self.trace.rows;
        if self.run.invalid == 0 {
            return Ok(Vec::new());
        }
        let rule = Rule::of_texts(self.run.rule.as_deref());
        let derived = Derived::of(rows, &*self.trace.texts, &rule, &mut |_| {
            std::ops::ControlFlow::Continue(())
        })?;
        let mut counts = BTreeMap::<Cause, usize>::new();
        let invalid = self.slice().iter().filter(|row| rows.is_invalid(*row));
        for row in invalid {
            let cause = derived
                .as_ref()
                .and_then(|derived| derived.marks[row].cause())
                .unwrap_or(Cause::Other);
            *counts.entry(cause).or_default() += 1;
        }
        let mut counts: Vec<_> = counts.into_iter().collect();
        counts.sort_by_key(|(_, rows)| std::cmp::Reverse(*rows));
        Ok(counts)
    }

    /// One figure of the run; `None` where its rows tell nothing of it.
    ///
    /// # Errors
    /// When rows cannot be read.
    pub fn figure(&self, chart: &charts::Chart, marks: &[charts::Mark]) -> Result<Option<crate::figure::Figure>> {
        let causes = if chart.name == "causes" {
            self.causes()?
        } else {
            Vec::new()
        };
        let source = charts::Source {
            trace: &self.trace,
            slice: self.slice(),
            run: &self.run,
            causes: &causes,
            marks,
        };
        chart.draw(&source)
    }
}
