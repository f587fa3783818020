//! Plan × engine → records, told to a watcher. No threads, no screen.

mod answer;
pub mod failing;

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};

use self::failing::Failing;
use crate::benchmark::{Dataset, PromptPlan, Prompter, Question, Rendered};
use crate::engine::{Ask, Control, Engine, Event, Pulse, Request, Sampling};
use crate::extract::Rule;
use crate::record::Record;
use crate::store::manifest::Timing;
use crate::store::{Manifest, RunFolder};

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
}

/// How a run went.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// Whether the watcher stopped it before the end.
    pub stopped: bool,
    /// The exams' rows, those of earlier sittings included, in the order of the plans.
    pub records: Vec<Vec<Arc<Record>>>,
    pub manifests: Vec<Manifest>,
    /// Exams of which every answer failed for one reason, each with that in one line.
    pub failed: Vec<String>,
}

/// An exam at work.
struct Sitting {
    plan: Plan,
    folder: RunFolder,
    records: Vec<Arc<Record>>,
    manifest: Manifest,
    failing: Failing,
    /// The timing of earlier sittings.
    before: Timing,
    done: bool,
}

/// One prompt and whose it is.
struct Sent {
    sitting: usize,
    question: usize,
    rendered: Rendered,
    /// The attempts asked for, by index into the plan's seeds.
    attempts: Vec<usize>,
}

/// Puts every question of the plans to the engine and keeps each answer as soon as it is there. The watcher hears of each
/// and may stop the run: what is finished is saved, and a later run can go on.
///
/// # Errors
/// When a folder cannot be written, a resumed run's settings differ, or the engine cannot go on. Finished answers stay.
pub fn execute(
    plans: Vec<Plan>,
    engine: &mut dyn Engine,
    control: &Control,
    watch: &mut dyn FnMut(Update) -> ControlFlow<()>,
) -> Result<Summary> {
    let begun = Instant::now();
    let mut sittings: Vec<Sitting> = plans.into_iter().map(begin).collect::<Result<_>>()?;
    let (mut sent, requests) = ask(&sittings, engine)?;
    for sent in &sent {
        if let Some(note) = sent.rendered.system.notice() {
            let manifest = &mut sittings[sent.sitting].manifest;
            if !manifest.notes.contains(&note) {
                let _ = watch(Update::Status(format!("{}: {note}", manifest.settings.benchmark)));
                manifest.notes.push(note);
            }
        }
    }
    let mut stopped = watch(started(&sittings)).is_break();
    for (exam, sitting) in sittings.iter().enumerate() {
        for record in &sitting.records {
            stopped |= watch(Update::Landed {
                exam,
                record: Arc::clone(record),
            })
            .is_break();
        }
    }
    let mut pulse = Pulse::default();
    let mut failure: Option<anyhow::Error> = None;
    let mut synced = Instant::now();
    finish_complete(&mut sittings, pulse, begun, watch)?;
    if !stopped && !requests.is_empty() {
        let outcome = engine.run(requests, control, &mut |event| {
            let flow = hear(event, &mut sittings, &mut sent, &mut pulse, begun, watch);
            if synced.elapsed() > Duration::from_millis(700) {
                synced = Instant::now();
                for sitting in sittings.iter_mut().filter(|sitting| !sitting.done) {
                    if let Err(error) = sitting.folder.sync() {
                        failure.get_or_insert(error);
                    }
                }
            }
            match flow {
                _ if failure.is_some() => ControlFlow::Break(()),
                Ok(flow) => {
                    stopped |= flow.is_break();
                    flow
                }
                Err(error) => {
                    failure.get_or_insert(error);
                    ControlFlow::Break(())
                }
            }
        });
        if failure.is_none()
            && let Err(error) = outcome
        {
            failure = Some(error);
        }
    }
    if let Err(error) = finish_complete(&mut sittings, pulse, begun, watch) {
        failure.get_or_insert(error);
    }
    let shares = shares(&sittings);
    for (sitting, share) in sittings.iter_mut().zip(shares).filter(|(sitting, _)| !sitting.done) {
        sitting.account(pulse, share, begun);
        let saved = sitting
            .folder
            .sync()
            .and_then(|()| sitting.manifest.write(&sitting.folder.path));
        if let Err(error) = saved {
            failure.get_or_insert(error);
        }
    }
    if let Some(error) = failure {
        return Err(error);
    }
    let unfinished: usize = sittings
        .iter()
        .map(|sitting| sitting.plan.exam.rows - sitting.records.len())
        .sum();
    if !stopped && unfinished > 0 {
        bail!("the engine ended with {unfinished} answers missing; the others are saved, --resume goes on");
    }
    let _ = watch(Update::Ended { stopped });
    Ok(Summary {
        stopped,
        failed: sittings.iter().filter_map(Sitting::failed).collect(),
        manifests: sittings.iter().map(|sitting| sitting.manifest.clone()).collect(),
        records: sittings.into_iter().map(|sitting| sitting.records).collect(),
    })
}

fn begin(plan: Plan) -> Result<Sitting> {
    let path = plan.exam.path.clone();
    let mut manifest = plan.manifest.clone();
    let mut records = Vec::new();
    let mut before = Timing::default();
    let folder = if plan.resume {
        let (folder, stored, found) = RunFolder::resume(&path, &plan.manifest.settings)?;
        manifest.started = stored.started;
        before = stored.timing;
        manifest.settings.engine.join(&stored.settings.engine);
        manifest.write(&path)?;
        records = found.into_iter().map(Arc::new).collect();
        folder
    } else {
        RunFolder::create(&path, &manifest)?
    };
    Ok(Sitting {
        plan,
        folder,
        failing: {
            let mut failing = Failing::default();
            records.iter().for_each(|record| failing.hear(record));
            failing
        },
        records,
        manifest,
        before,
        done: false,
    })
}

fn started(sittings: &[Sitting]) -> Update {
    let settings = sittings.first().map(|sitting| &sitting.manifest.settings);
    Update::Started {
        model: settings.map_or_else(String::new, |settings| settings.model.name.clone()),
        dtype: settings.map_or_else(String::new, |settings| settings.engine.title().to_owned()),
        exams: sittings
            .iter()
            .map(|sitting| Exam {
                resumed: sitting.records.len(),
                ..sitting.plan.exam.clone()
            })
            .collect(),
    }
}

/// The requests for every answer that is still missing.
fn ask(sittings: &[Sitting], engine: &dyn Engine) -> Result<(Vec<Sent>, Vec<Request>)> {
    let mut sent = Vec::new();
    let mut requests = Vec::new();
    for (lane, sitting) in sittings.iter().enumerate() {
        let plan = &sitting.plan;
        let have: HashSet<(i64, i64)> = sitting
            .records
            .iter()
            .map(|record| (record.question_id, record.attempt))
            .collect();
        let prompter = Prompter::new(&plan.dataset, &plan.prompt)?;
        for (index, question) in plan.dataset.questions.iter().enumerate() {
            let attempts: Vec<usize> = (0..plan.method.attempts())
                .filter(|attempt| !have.contains(&(question.id, *attempt as i64)))
                .collect();
            if attempts.is_empty() {
                continue;
            }
            let rendered = fitting(&prompter, question, plan, engine)
                .with_context(|| format!("{} question {}: cannot make its prompt", plan.dataset.name, question.id))?;
            let ask = match &plan.method {
                Method::Cloze => Ask::Score {
                    continuations: rendered.continuations.clone(),
                },
                Method::Generate { sampling, seeds } => Ask::Sample {
                    sampling: sampling.clone(),
                    seeds: attempts.iter().map(|attempt| seeds[*attempt].unwrap_or(0)).collect(),
                    stream: stream_of(&plan.dataset.name, question.id),
                },
            };
            requests.push(Request {
                id: sent.len(),
                lane,
                prompt: rendered.prompt.clone(),
                add_special_tokens: true,
                ask,
            });
            sent.push(Sent {
                sitting: lane,
                question: index,
                rendered,
                attempts,
            });
        }
    }
    Ok((sent, requests))
}

/// The prompt of a question; where the style sheds examples, with as many as leave the completion its room (the authors'
/// `evaluate_from_local.py`: tokens below the context less the token limit).
fn fitting(prompter: &Prompter, question: &Question, plan: &Plan, engine: &dyn Engine) -> Result<Rendered> {
    let mut shots = plan.prompt.shots;
    let room = match &plan.method {
        Method::Generate { sampling, .. } if plan.prompt.style.sheds_examples => {
            let context = engine.describe().context();
            context.map(|context| context.saturating_sub(sampling.max_tokens))
        }
        _ => None,
    };
    loop {
        let rendered = prompter.render_with(question, shots)?;
        let is_too_long = room
            .zip(engine.count_tokens(&rendered.prompt))
            .is_some_and(|(room, tokens)| tokens >= room);
        if shots == 0 || !is_too_long {
            return Ok(rendered);
        }
        shots -= 1;
    }
}

/// The random stream's key of a question: the first eight bytes of sha256 over `BENCHMARK/QUESTION_ID`.
pub fn stream_of(benchmark: &str, question_id: i64) -> u64 {
    let digest = Sha256::digest(format!("{benchmark}/{question_id}").as_bytes());
    u64::from_be_bytes(digest[..8].try_into().expect("a sha256 has 32 bytes"))
}

fn hear(
    event: Event,
    sittings: &mut [Sitting],
    sent: &mut [Sent],
    pulse: &mut Pulse,
    begun: Instant,
    watch: &mut dyn FnMut(Update) -> ControlFlow<()>,
) -> Result<ControlFlow<()>> {
    let (id, records) = match event {
        Event::Pulse(now) => {
            *pulse = now;
            finish_complete(sittings, now, begun, watch)?;
            return Ok(watch(Update::Pulse(now)));
        }
        Event::Progress {
            id,
            attempt,
            tokens,
            text,
        } => {
            let sent = &sent[id];
            let question = sent.question(sittings);
            return Ok(watch(Update::Running {
                exam: sent.sitting,
                question_id: question.id,
                attempt: sent.attempts[attempt],
                subject: question.subject.clone(),
                tokens,
                text,
            }));
        }
        Event::Scored {
            id,
            scores,
            prompt_tokens,
            truncated,
            seconds,
        } => {
            let record = answer::scored(&sent[id], sittings, scores, (prompt_tokens, truncated, seconds));
            (id, vec![record])
        }
        Event::Completed {
            id,
            completion,
            prompt_tokens,
            truncated,
            seconds,
        } => {
            let record = answer::completed(&sent[id], sittings, completion, (prompt_tokens, truncated, seconds));
            (id, vec![record])
        }
        Event::Failed { id, flag, reason } => (id, answer::failed(&sent[id], sittings, flag, &reason)),
    };
    let exam = sent[id].sitting;
    let mut flow = ControlFlow::Continue(());
    for record in records {
        let sitting = &mut sittings[exam];
        // An attempt that came before its request failed stays as it is.
        if sitting
            .records
            .iter()
            .rev()
            .take(4096)
            .any(|kept| kept.question_id == record.question_id && kept.attempt == record.attempt)
        {
            continue;
        }
        sitting.folder.append(&record)?;
        sitting.failing.hear(&record);
        let record = Arc::new(record);
        sitting.records.push(Arc::clone(&record));
        if watch(Update::Landed { exam, record }).is_break() {
            flow = ControlFlow::Break(());
        }
    }
    Ok(flow)
}

/// Writes the final files of exams whose last answer has come.
fn finish_complete(
    sittings: &mut [Sitting],
    pulse: Pulse,
    begun: Instant,
    watch: &mut dyn FnMut(Update) -> ControlFlow<()>,
) -> Result<()> {
    let shares = shares(sittings);
    for (exam, sitting) in sittings.iter_mut().enumerate() {
        if sitting.done || sitting.records.len() < sitting.plan.exam.rows {
            continue;
        }
        sitting.account(pulse, shares[exam], begun);
        sitting.manifest.ended = Some(now());
        sitting
            .records
            .sort_by_key(|record| (record.question_id, record.attempt));
        sitting.folder.finish(&sitting.manifest, &sitting.records)?;
        sitting.done = true;
        let _ = watch(Update::Complete { exam });
    }
    Ok(())
}

/// Each exam's part of the engine's work so far, by the seconds of its answers.
fn shares(sittings: &[Sitting]) -> Vec<f64> {
    let seconds = |sitting: &Sitting| -> f64 { sitting.records.iter().map(|record| f64::from(record.seconds)).sum() };
    let each: Vec<f64> = sittings.iter().map(seconds).collect();
    let total: f64 = each.iter().sum();
    each.iter()
        .map(|part| {
            if total > 0.0 {
                part / total
            } else {
                1.0 / sittings.len() as f64
            }
        })
        .collect()
}

/// Local time with offset, RFC 3339, to the second.
pub fn now() -> String {
    chrono::Local::now().to_rfc3339_opts(chrono::SecondsFormat::Secs, false)
}

impl Sent {
    fn question<'a>(&self, sittings: &'a [Sitting]) -> &'a Question {
        &sittings[self.sitting].plan.dataset.questions[self.question]
    }
}

impl Sitting {
    /// `mmlu_pro: every answer failed: REASON`, where that is so.
    fn failed(&self) -> Option<String> {
        let told = self.failing.told()?;
        Some(format!("{}: {told}", self.plan.exam.benchmark))
    }

    /// Brings counts and timing of the manifest up to date. Tokens are those of the exam's own answers, a prompt counted
    /// once for all its attempts; CPU seconds are its share of the engine's.
    fn account(&mut self, pulse: Pulse, share: f64, begun: Instant) {
        let mut asked = HashSet::new();
        let prompts = self.records.iter().filter(|record| asked.insert(record.question_id));
        let tokens_in: i64 = prompts.filter_map(|record| record.prompt_tokens).sum();
        let tokens_out: i64 = self.records.iter().filter_map(|record| record.output_tokens).sum();
        self.manifest.finished = self.records.len();
        self.manifest.timing = Timing {
            load_cpu_s: self.before.load_cpu_s + self.plan.manifest.settings.engine.load_cpu_s(),
            model_cpu_s: self.before.model_cpu_s + pulse.model_cpu_s * share,
            wall_s: self.before.wall_s + begun.elapsed().as_secs_f64(),
            tokens_in: tokens_in as u64,
            tokens_out: tokens_out as u64,
            threads: self.plan.manifest.settings.engine.threads(),
        };
    }
}
