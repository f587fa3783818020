//! Plan × engine → records, told to a watcher. No threads, no screen.

mod answer;
mod asking;
pub mod failing;
pub mod pace;
mod sitting;

use std::cell::RefCell;
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::benchmark::{Dataset, PromptPlan};
use crate::engine::{Control, Engine, Event, Pulse, Sampling};
use crate::extract::Rule;
use crate::record::Record;
use crate::store::Manifest;
use crate::trace::GrowingTexts;

use answer::Cost;
pub use asking::stream_of;
use asking::{Asking, Desk, Queue};
use sitting::Sitting;

/// The method, and the flag of each row, where a chat's first token stands in place of cloze: another measure, which is
/// never paired with it.
pub const FIRST_TOKEN: &str = "chat_first_token";

/// One exam of a run, as a screen or a progress line needs to know it.
#[derive(Debug, Clone, PartialEq)]
pub struct Exam {
    /// `mmlu`, `mmlu_pro`, or the name of a user's own set.
    pub benchmark: String,
    /// What is done, for titles: `cloze · 0-shot · slice 1f2e3d4c5b6a`, `5 seeds 42-46 · T 1.0 p 0.95 k 64 · 0-shot · …`.
    pub method: String,
    /// Whether answers are scored letters (no text) or sampled completions.
    pub is_cloze: bool,
    pub questions: usize,
    /// Rows when done: questions × seeds.
    pub rows: usize,
    pub seeds: Vec<i64>,
    /// Questions of each category and subject still to come count from these: (category, subject, rows).
    pub subjects: Vec<(String, String, usize)>,
    /// Rows that a resumed run brought along; they come as `Landed` first.
    pub resumed: usize,
    pub path: std::path::PathBuf,
}

impl Exam {
    /// The exam of a data set, asked in a way.
    pub fn new(dataset: &Dataset, method: &Method, shots: usize, path: std::path::PathBuf) -> Exam {
        let attempts = method.attempts();
        let mut subjects: Vec<(String, String, usize)> = Vec::new();
        for question in &dataset.questions {
            match subjects.iter_mut().find(|(_, subject, _)| *subject == question.subject) {
                Some((.., rows)) => *rows += attempts,
                None => subjects.push((question.category.clone(), question.subject.clone(), attempts)),
            }
        }
        let (is_cloze, seeds, words) = match method {
            Method::Cloze => (true, Vec::new(), format!("cloze · {shots}-shot")),
            Method::Generate { sampling, seeds } => {
                let seeds: Vec<i64> = seeds.iter().copied().flatten().collect();
                let words = match (seeds.first(), seeds.last()) {
                    (Some(first), Some(last)) => format!(
                        "{} seeds {first}-{last} · T {:?} p {} k {} · {shots}-shot",
                        seeds.len(),
                        sampling.temperature,
                        sampling.top_p,
                        sampling.top_k
                    ),
                    _ => format!("greedy · {shots}-shot"),
                };
                (false, seeds, words)
            }
        };
        Exam {
            benchmark: dataset.name.clone(),
            method: match dataset.fingerprint.get(..12) {
                Some(slice) => format!("{words} · slice {slice}"),
                None => words,
            },
            is_cloze,
            questions: dataset.questions.len(),
            rows: dataset.questions.len() * attempts,
            seeds,
            subjects,
            resumed: 0,
            path,
        }
    }
}

/// What a run tells while it works. `exam` is an index into the run's exams (and into `Control::lanes`).
#[derive(Debug, Clone)]
pub enum Update {
    /// Before the first question: what is being done (downloading with bytes, loading, ...). Replaces the former one.
    Status(String),
    /// The run is ready to begin.
    Started {
        model: String,
        dtype: String,
        exams: Vec<Exam>,
        /// The answers of each exam, in the order in which they land.
        texts: Vec<GrowingTexts>,
    },
    /// An answer is finished and in the journal.
    Landed {
        exam: usize,
        record: Arc<Record>,
    },
    /// A completion is being written: tokens so far and the text that came since the last such update.
    Running {
        exam: usize,
        question_id: i64,
        attempt: usize,
        subject: String,
        tokens: usize,
        text: String,
        /// What [`crate::engine::Stops`] calls it.
        asked: (usize, usize),
    },
    Pulse(Pulse),
    /// An exam is complete and its `records.parquet` stands.
    Complete {
        exam: usize,
    },
    /// The run is over: all done, or stopped with everything finished so far saved.
    Ended {
        stopped: bool,
    },
    /// The run failed; everything finished so far is saved. One line that names the thing and the way out.
    Failed(String),
}

/// One exam to be sat: what is asked, how, and where the answers go.
#[derive(Debug)]
pub struct Plan {
    pub exam: Exam,
    pub dataset: Dataset,
    pub prompt: PromptPlan,
    /// How picks are read from completions; cloze has none to read.
    pub rule: Rule,
    pub method: Method,
    /// The manifest to be written, complete but for how the run goes.
    pub manifest: Manifest,
    /// Whether the folder holds a run to go on with.
    pub resume: bool,
    /// Only these answers, by question and attempt; none: all.
    pub only: Option<HashSet<(i64, i64)>>,
}

impl Plan {
    /// Whether an answer is asked for.
    fn wants(&self, question: i64, attempt: usize) -> bool {
        let only = self.only.as_ref();
        only.is_none_or(|only| only.contains(&(question, attempt as i64)))
    }

    /// The same for some of its answers, kept in another folder.
    #[must_use]
    pub fn again(mut self, only: HashSet<(i64, i64)>, path: std::path::PathBuf, resume: bool) -> Plan {
        self.dataset
            .questions
            .retain(|question| only.iter().any(|(id, _)| *id == question.id));
        let mut exam = Exam::new(&self.dataset, &self.method, self.prompt.shots, path);
        exam.method.clone_from(&self.exam.method);
        for (_, subject, rows) in &mut exam.subjects {
            let of_subject = self
                .dataset
                .questions
                .iter()
                .filter(|question| question.subject == *subject);
            *rows = of_subject
                .map(|question| only.iter().filter(|(id, _)| *id == question.id).count())
                .sum();
        }
        exam.rows = only.len();
        self.manifest.rows = only.len();
        Plan {
            exam,
            only: Some(only),
            resume,
            ..self
        }
    }
}

/// How a question is asked.
#[derive(Debug, Clone, PartialEq)]
pub enum Method {
    /// The log-likelihood of each continuation, once.
    Cloze,
    /// One completion a seed; a `None` seed is greedy.
    Generate {
        sampling: Sampling,
        seeds: Vec<Option<i64>>,
    },
}

impl Method {
    /// Answers a question gets.
    pub fn attempts(&self) -> usize {
        match self {
            Method::Cloze => 1,
            Method::Generate { seeds, .. } => seeds.len(),
        }
    }

    /// The seed of an attempt; none where it is greedy, or scored.
    pub fn seed(&self, attempt: usize) -> Option<i64> {
        match self {
            Method::Cloze => None,
            Method::Generate { seeds, .. } => seeds.get(attempt).copied().flatten(),
        }
    }
}

/// How a run went. Its answers are in its folders.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// Whether the watcher stopped it before the end.
    pub stopped: bool,
    /// Of the exams, in the order of the plans.
    pub manifests: Vec<Manifest>,
    /// Exams of which every answer failed for one reason, each with that in one line.
    pub failed: Vec<String>,
    /// What a person should know of how the folders were found.
    pub notes: Vec<String>,
}

/// How long a finished answer may wait for the disk.
const SYNC: Duration = Duration::from_millis(700);

type Watch<'w> = &'w mut dyn FnMut(Update) -> ControlFlow<()>;

/// A run at work.
struct Run<'a, 'w> {
    sittings: Vec<Sitting<'a>>,
    desk: &'a RefCell<Desk>,
    watch: Watch<'w>,
    pulse: Pulse,
    begun: Instant,
    synced: Instant,
    stopped: bool,
}

/// Puts every question of the plans to the engine and keeps each answer as soon as it is there. The watcher hears of each
/// and may stop the run: what is finished is saved, and a later run can go on. Answers are in the folders, not in memory.
///
/// # Errors
/// When a folder cannot be written, a resumed run's settings differ, or the engine cannot go on. Finished answers stay.
pub fn execute(plans: Vec<Plan>, engine: &mut dyn Engine, control: &Control, watch: Watch) -> Result<Summary> {
    let desk = RefCell::default();
    let (mut run, mut asking) = Run::begin(&plans, &*engine, &desk, watch)?;
    let asked = run.ask(engine, &mut asking, control);
    run.end(asked)
}

impl<'a, 'w> Run<'a, 'w> {
    /// Opens the folders, tells what there is to do, and what was done before.
    fn begin(
        plans: &'a [Plan],
        engine: &dyn Engine,
        desk: &'a RefCell<Desk>,
        watch: Watch<'w>,
    ) -> Result<(Run<'a, 'w>, Asking<'a>)> {
        let sittings: Vec<Sitting> = plans.iter().map(Sitting::begin).collect::<Result<_>>()?;
        let context = engine.describe().context();
        let queue = |sitting: &Sitting<'a>| {
            let count_tokens = |prompt: &str| engine.count_tokens(prompt);
            Queue::new(sitting.plan, &sitting.folder, context, &count_tokens)
        };
        let asking = Asking {
            queues: sittings.iter().map(queue).collect::<Result<_>>()?,
            desk,
            next: 0,
        };
        let now = Instant::now();
        let mut run = Run {
            sittings,
            desk,
            watch,
            pulse: Pulse::default(),
            begun: now,
            synced: now,
            stopped: false,
        };
        for note in run.notes() {
            let _ = run.tell(Update::Status(note));
        }
        let started = started(&run.sittings)?;
        let _ = run.tell(started);
        run.tell_landed()?;
        run.finish_complete()?;
        Ok((run, asking))
    }

    fn notes(&self) -> Vec<String> {
        let named = |sitting: &Sitting| {
            let name = &sitting.plan.exam.benchmark;
            let notes = sitting.found.iter().map(|note| format!("{name}: {note}"));
            notes.collect::<Vec<_>>()
        };
        self.sittings.iter().flat_map(named).collect()
    }

    fn tell(&mut self, update: Update) -> ControlFlow<()> {
        let flow = (self.watch)(update);
        self.stopped |= flow.is_break();
        flow
    }

    /// Tells the answers of earlier sittings.
    fn tell_landed(&mut self) -> Result<()> {
        for (exam, sitting) in self.sittings.iter().enumerate() {
            sitting.folder.each(&mut |record| {
                let record = Arc::new(record);
                self.stopped |= (self.watch)(Update::Landed { exam, record }).is_break();
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Lets the engine answer whatever is missing.
    fn ask(&mut self, engine: &mut dyn Engine, asking: &mut Asking, control: &Control) -> Result<()> {
        if self.stopped || asking.queues.iter().all(Queue::is_empty) {
            return Ok(());
        }
        let mut failure = None;
        let outcome = engine.answer(asking, control, &mut |event| {
            let heard = self.hear(event).and_then(|flow| self.sync().map(|()| flow));
            match heard.and_then(|flow| self.look_at_desk().map(|()| flow)) {
                Ok(flow) => flow,
                Err(error) => {
                    failure = Some(error);
                    ControlFlow::Break(())
                }
            }
        });
        failure.map_or(Ok(()), Err)?;
        self.look_at_desk()?;
        outcome
    }

    /// Passes on what was noticed while prompts were made.
    fn look_at_desk(&mut self) -> Result<()> {
        let (notices, failure) = {
            let mut desk = self.desk.borrow_mut();
            (std::mem::take(&mut desk.notices), desk.failure.take())
        };
        for (exam, notice) in notices {
            let sitting = &mut self.sittings[exam];
            if sitting.note(&notice) {
                let told = format!("{}: {notice}", sitting.plan.exam.benchmark);
                let _ = self.tell(Update::Status(told));
            }
        }
        failure.map_or(Ok(()), Err)
    }

    fn sync(&mut self) -> Result<()> {
        if self.synced.elapsed() > SYNC {
            self.synced = Instant::now();
            self.sittings.iter_mut().try_for_each(|sitting| sitting.folder.sync())?;
        }
        Ok(())
    }

    fn hear(&mut self, event: Event) -> Result<ControlFlow<()>> {
        match event {
            Event::Pulse(now) => {
                self.pulse = now;
                self.finish_complete()?;
                Ok(self.tell(Update::Pulse(now)))
            }
            Event::Progress {
                id,
                attempt,
                tokens,
                text,
            } => Ok(match self.running(id, attempt, tokens, text) {
                Some(update) => self.tell(update),
                None => ControlFlow::Continue(()),
            }),
            Event::Scored {
                id,
                scores,
                prompt_tokens,
                truncated,
                seconds,
            } => {
                let cost = Cost {
                    prompt_tokens,
                    truncated,
                    seconds,
                };
                self.land(id, |sent, plan| vec![answer::scored(sent, plan, scores, cost)])
            }
            Event::Completed {
                id,
                completion,
                prompt_tokens,
                truncated,
                seconds,
            } => {
                let cost = Cost {
                    prompt_tokens,
                    truncated,
                    seconds,
                };
                self.land(id, |sent, plan| vec![answer::completed(sent, plan, completion, cost)])
            }
            Event::Failed {
                id,
                attempt,
                flag,
                reason,
            } => self.land(id, |sent, plan| answer::failed(sent, plan, attempt, (flag, &reason))),
            Event::Waiting { reason } => Ok(self.tell(Update::Status(reason))),
            Event::Noted { note } => {
                for sitting in self.sittings.iter_mut().filter(|sitting| !sitting.is_done) {
                    sitting.note(&note);
                }
                Ok(self.tell(Update::Status(note)))
            }
        }
    }

    fn running(&self, id: usize, attempt: usize, tokens: usize, text: String) -> Option<Update> {
        let desk = self.desk.borrow();
        let sent = desk.sent.get(&id)?;
        let question = sent.question(self.sittings[sent.exam].plan);
        Some(Update::Running {
            exam: sent.exam,
            question_id: question.id,
            attempt: sent.attempts[attempt],
            subject: question.subject.clone(),
            tokens,
            text,
            asked: (id, attempt),
        })
    }

    /// Keeps answers to a prompt; one that came before its request failed stays as it is.
    fn land(
        &mut self,
        id: usize,
        answers: impl FnOnce(&answer::Sent, &Plan) -> Vec<Record>,
    ) -> Result<ControlFlow<()>> {
        let (exam, records) = {
            let mut desk = self.desk.borrow_mut();
            let Some(sent) = desk.sent.get_mut(&id) else {
                return Ok(ControlFlow::Continue(()));
            };
            let exam = sent.exam;
            let records = answers(sent, self.sittings[exam].plan);
            sent.left = sent.left.saturating_sub(records.len());
            if sent.left == 0 {
                desk.sent.remove(&id);
            }
            (exam, records)
        };
        let mut flow = ControlFlow::Continue(());
        for record in records {
            if self.sittings[exam].keep(&record)? {
                let record = Arc::new(record);
                if self.tell(Update::Landed { exam, record }).is_break() {
                    flow = ControlFlow::Break(());
                }
            }
        }
        Ok(flow)
    }

    /// Writes the final files of exams whose last answer has come.
    fn finish_complete(&mut self) -> Result<()> {
        let shares = self.shares();
        for (exam, share) in shares.into_iter().enumerate() {
            let (pulse, begun) = (self.pulse, self.begun);
            let sitting = &mut self.sittings[exam];
            if !sitting.is_done && sitting.folder.len() >= sitting.plan.exam.rows {
                sitting.finish(pulse, share, begun)?;
                let _ = self.tell(Update::Complete { exam });
            }
        }
        Ok(())
    }

    /// Each exam's part of the engine's work so far, by the seconds of its answers.
    fn shares(&self) -> Vec<f64> {
        let each: Vec<f64> = self.sittings.iter().map(|sitting| sitting.tally.seconds).collect();
        let total: f64 = each.iter().sum();
        let share = |part: f64| {
            if total > 0.0 {
                part / total
            } else {
                1.0 / each.len() as f64
            }
        };
        each.iter().map(|part| share(*part)).collect()
    }

    /// Saves what is not complete, and tells how the run went.
    fn end(mut self, asked: Result<()>) -> Result<Summary> {
        let mut outcome = asked;
        outcome = outcome.and(self.finish_complete());
        let shares = self.shares();
        for (sitting, share) in self.sittings.iter_mut().zip(shares) {
            if !sitting.is_done {
                outcome = outcome.and(sitting.save(self.pulse, share, self.begun));
            }
        }
        outcome?;
        let missing = |sitting: &Sitting| sitting.plan.exam.rows.saturating_sub(sitting.folder.len());
        let unfinished: usize = self.sittings.iter().map(missing).sum();
        if !self.stopped && unfinished > 0 {
            bail!("the engine ended with {unfinished} answers missing; the others are saved, --resume goes on");
        }
        let stopped = self.stopped && unfinished > 0;
        let _ = (self.watch)(Update::Ended { stopped });
        Ok(Summary {
            stopped,
            failed: self.sittings.iter().filter_map(Sitting::failed).collect(),
            notes: self.notes(),
            manifests: self.sittings.into_iter().map(|sitting| sitting.manifest).collect(),
        })
    }
}

fn started(sittings: &[Sitting]) -> Result<Update> {
    let settings = sittings.first().map(|sitting| &sitting.manifest.settings);
    let exam = |sitting: &Sitting| Exam {
        resumed: sitting.folder.len(),
        ..sitting.plan.exam.clone()
    };
    Ok(Update::Started {
        model: settings.map_or_else(String::new, |settings| settings.model.name.clone()),
        dtype: settings.map_or_else(String::new, |settings| settings.engine.title()),
        exams: sittings.iter().map(exam).collect(),
        texts: sittings
            .iter()
            .map(|sitting| sitting.folder.texts().map(GrowingTexts))
            .collect::<Result<_>>()?,
    })
}

/// Local time with offset, RFC 3339. Milliseconds tell two runs apart that were begun at once with the same settings.
pub fn now() -> String {
    chrono::Local::now().to_rfc3339_opts(chrono::SecondsFormat::Millis, false)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::benchmark::{self, DataSource, Slice};
    use crate::engine::scripted::{Reply, ScriptedEngine};

    /// A plan over the first questions of an embedded exam.
    pub(super) fn plan(benchmark: &str, folder: &Path, questions: usize) -> Plan {
        let benchmark = benchmark::find(benchmark).unwrap();
        let mut dataset = benchmark::load(benchmark, &DataSource::Embedded, "test").unwrap();
        let slice = Slice {
            limit: Some(questions),
            ..Slice::default()
        };
        benchmark::select(&mut dataset, &slice).unwrap();
        let style = benchmark.default_style();
        let sampling = Sampling {
            temperature: 1.0,
            top_p: 0.95,
            top_k: 64,
            max_tokens: 50,
            stops: Vec::new(),
        };
        let method = if style.is_cloze() {
            Method::Cloze
        } else {
            Method::Generate {
                sampling,
                seeds: (42..47).map(Some).collect(),
            }
        };
        let exam = Exam::new(&dataset, &method, 0, folder.to_owned());
        Plan {
            manifest: Manifest {
                rows: exam.rows,
                ..Manifest::default()
            },
            exam,
            dataset,
            prompt: PromptPlan::plain(style, 0),
            rule: Rule::parse("lm_eval_mmlu_pro").unwrap(),
            method,
            resume: false,
            only: None,
        }
    }

    #[test]
    fn prompts_are_made_when_their_turn_has_come_and_let_go_when_they_are_answered() {
        let folder = tempfile::tempdir().unwrap();
        let plans = [plan("mmlu_pro", &folder.path().join("run"), 6)];
        let desk = RefCell::<Desk>::default();
        let mut engine = ScriptedEngine::new(|_, _| Reply::Text("The answer is (A).".into()));
        let mut held = Vec::new();
        let watch: Watch = &mut |update| {
            if matches!(update, Update::Landed { .. }) {
                held.push(desk.borrow().sent.len());
            }
            ControlFlow::Continue(())
        };
        let (mut run, mut asking) = Run::begin(&plans, &engine, &desk, watch).unwrap();
        let asked = run.ask(&mut engine, &mut asking, &Control::new(1));
        run.end(asked).unwrap();
        assert_eq!(held.len(), 30);
        assert!(held.iter().all(|prompts| *prompts <= 1), "{held:?}");
    }

    #[test]
    fn the_work_of_an_engine_is_shared_by_the_seconds_of_the_answers() {
        let folder = tempfile::tempdir().unwrap();
        let plans = [
            plan("mmlu", &folder.path().join("a"), 2),
            plan("mmlu_pro", &folder.path().join("b"), 2),
        ];
        let desk = RefCell::default();
        let engine = ScriptedEngine::new(|_, _| Reply::Text(String::new()));
        let watch: Watch = &mut |_| ControlFlow::Continue(());
        let (mut run, _) = Run::begin(&plans, &engine, &desk, watch).unwrap();
        assert_eq!(run.shares(), [0.5, 0.5], "nothing is known yet");
        run.sittings[0].tally.seconds = 1.0;
        run.sittings[1].tally.seconds = 3.0;
        assert_eq!(run.shares(), [0.25, 0.75]);
    }
}
