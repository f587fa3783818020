//! Outputs read by another rule, for the lab.

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::extract::Rule;
use crate::trace::Field;

use super::super::lab::{LabReport, Read};
use super::super::snapshot::Snapshot;
use super::{Reply, Worker};

/// A rule by which outputs are read.
pub(super) struct LabJob {
    pub number: u64,
    pub typed: String,
    pub rule: Rule,
    /// What was read, by row.
    pub reads: Vec<Read>,
    /// The first row that was not looked at.
    pub next: usize,
}

impl Worker {
    /// Reads the outputs of the view by another rule; false: interrupted, to be gone on with.
    pub(super) fn read_by(
        &self,
        snapshot: &Snapshot,
        lab: &mut LabJob,
        interrupted: &dyn Fn() -> bool,
        tell: &mut dyn FnMut(Reply),
    ) -> bool {
        let rows = snapshot.rows();
        let selected: Vec<u32> = match &self.job {
            Some(job) if job.filter.fields().is_empty() => job.filter.select(&self.context(snapshot, Some(&job.notes))),
            // What a text search found is not searched for again.
            Some(job) => job.found.to_vec(),
            None => (0..rows.len() as u32).collect(),
        };
        let mut wanted = vec![false; rows.len()];
        selected.iter().for_each(|row| wanted[*row as usize] = true);
        lab.reads.resize(rows.len(), Read::default());
        let (rule, from) = (&lab.rule, lab.next);
        let (reads, next) = (&mut lab.reads, &mut lab.next);
        let mut stopped = false;
        let outcome = snapshot.trace.texts.map(
            Field::Completion,
            &|row| row >= from && row < rows.len() && wanted[row] && !rows.scored[row],
            &|row, text| Read::of(rule, text, rows.answer.get(row)).bits(),
            &mut |row, bits| {
                reads[row] = Read::from_bits(bits);
                *next = row + 1;
                if interrupted() {
                    stopped = true;
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(())
            },
        );
        match outcome {
            Err(error) => tell(Reply::Failed(format!("{error:#}"))),
            Ok(()) if stopped => return false,
            Ok(()) => {
                let report = LabReport::of(&lab.typed, rows, &selected, std::mem::take(&mut lab.reads));
                tell(Reply::Lab {
                    number: lab.number,
                    report: Arc::new(report),
                });
            }
        }
        true
    }
}
