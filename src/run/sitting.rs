//! One exam at work: its folder, its manifest, and what its answers cost.

use std::collections::HashSet;
use std::time::Instant;

use anyhow::Result;

use super::answer::belongs;
use super::failing::Failing;
use super::{Plan, now};
use crate::engine::Pulse;
use crate::manifest::Timing;
use crate::record::Record;
use crate::store::{Manifest, Resumed, RunFolder};

/// An exam at work.
#[derive(Debug)]
pub(super) struct Sitting<'a> {
    pub plan: &'a Plan,
    pub folder: RunFolder,
    pub manifest: Manifest,
    pub tally: Tally,
    /// What a person should know of how its folder was found.
    pub found: Vec<String>,
    pub is_done: bool,
    /// The timing of earlier sittings.
    before: Timing,
}

/// What the answers cost, all sittings together.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub seconds: f64,
    tokens_in: i64,
    tokens_out: i64,
    /// Questions whose prompt is counted.
    asked: HashSet<i64>,
    failing: Failing,
}

impl Tally {
    /// Counts an answer; a prompt counts once for all its attempts.
    fn add(&mut self, record: &Record) {
        self.failing.hear(record);
        self.seconds += f64::from(record.seconds);
        if self.asked.insert(record.question_id) {
            self.tokens_in += record.prompt_tokens.unwrap_or(0);
        }
        self.tokens_out += record.output_tokens.unwrap_or(0);
    }
}

impl<'a> Sitting<'a> {
    /// Makes the folder of a new run, or goes on with one.
    pub(super) fn begin(plan: &'a Plan) -> Result<Sitting<'a>> {
        let path = &plan.exam.path;
        if !plan.resume {
            let folder = RunFolder::create(path, &plan.manifest)?;
            return Ok(Sitting::with(plan, folder, plan.manifest.clone()));
        }
        let Resumed {
            folder,
            manifest: stored,
            notes,
        } = RunFolder::resume(path, &plan.manifest, &belongs(plan))?;
        let mut sitting = Sitting::with(plan, folder, plan.manifest.clone());
        sitting.before = stored.timing;
        sitting.manifest.started.clone_from(&stored.started);
        sitting.manifest.settings.engine.join(&stored.settings.engine);
        for note in stored.notes.iter().chain(&notes) {
            sitting.note(note);
        }
        sitting.found = notes;
        let tally = &mut sitting.tally;
        sitting.folder.each(&mut |record| {
            tally.add(&record);
            Ok(())
        })?;
        if sitting.folder.is_finished() && stored.ended.is_some() {
            // A run that was finished stays as it was.
            sitting.manifest = stored;
        } else {
            sitting.manifest.write(path)?;
        }
        Ok(sitting)
    }

    fn with(plan: &'a Plan, folder: RunFolder, manifest: Manifest) -> Sitting<'a> {
        Sitting {
            plan,
            folder,
            manifest,
            tally: Tally::default(),
            found: Vec::new(),
            is_done: false,
            before: Timing::default(),
        }
    }

    /// Keeps what a reader of the run should know; tells whether it is new.
    pub(super) fn note(&mut self, note: &str) -> bool {
        let is_new = !self.manifest.notes.iter().any(|known| known == note);
        if is_new {
            self.manifest.notes.push(note.to_owned());
        }
        is_new
    }

    /// `mmlu_pro: every answer failed: REASON`, where that is so.
    pub(super) fn failed(&self) -> Option<String> {
        let told = self.tally.failing.told()?;
        Some(format!("{}: {told}", self.plan.exam.benchmark))
    }

    /// Keeps an answer; tells whether it is a new one.
    pub(super) fn keep(&mut self, record: &Record) -> Result<bool> {
        let is_new = self.folder.append(record)?;
        if is_new {
            self.tally.add(record);
        }
        Ok(is_new)
    }

    /// Writes the final files, unless they stand already.
    pub(super) fn finish(&mut self, pulse: Pulse, share: f64, begun: Instant) -> Result<()> {
        if !self.folder.is_finished() {
            self.account(pulse, share, begun);
            self.manifest.ended = Some(now());
            self.folder.finish(&self.manifest)?;
        } else if self.manifest.ended.is_none() {
            self.account(pulse, share, begun);
            self.manifest.ended = Some(now());
            self.manifest.write(&self.folder.path)?;
        }
        self.is_done = true;
        Ok(())
    }

    /// Brings everything that is there to the disk.
    pub(super) fn save(&mut self, pulse: Pulse, share: f64, begun: Instant) -> Result<()> {
        self.account(pulse, share, begun);
        let synced = self.folder.sync();
        synced.and(self.manifest.write(&self.folder.path))
    }

    /// Brings counts and timing of the manifest up to date. Tokens are those of the exam's own answers; CPU seconds are its
    /// share of the engine's.
    fn account(&mut self, pulse: Pulse, share: f64, begun: Instant) {
        let engine = &self.plan.manifest.settings.engine;
        self.manifest.finished = self.folder.len();
        self.manifest.timing = Timing {
            load_cpu_s: self.before.load_cpu_s + engine.load_cpu_s(),
            model_cpu_s: self.before.model_cpu_s + pulse.model_cpu_s * share,
            wall_s: self.before.wall_s + begun.elapsed().as_secs_f64(),
            tokens_in: self.tally.tokens_in as u64,
            tokens_out: self.tally.tokens_out as u64,
            threads: engine.threads(),
            served: match &pulse.remote {
                Some(remote) => Some(self.before.served.unwrap_or_default().with(remote)),
                None => self.before.served,
            },
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_counts_once_for_all_its_attempts() {
        let mut tally = Tally::default();
        for (question_id, attempt) in [(1, 0), (1, 1), (2, 0)] {
            tally.add(&Record {
                question_id,
                attempt,
                prompt_tokens: Some(10),
                output_tokens: Some(3),
                seconds: 0.5,
                ..Record::default()
            });
        }
        assert_eq!((tally.tokens_in, tally.tokens_out, tally.seconds), (20, 9, 1.5));
    }
}
