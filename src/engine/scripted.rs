//! An engine without a model: it replays canned answers, so that everything above an engine can be tested and shown
//! without weights. It tells the same events as a real one, obeys [`Control`] and stops where its watcher breaks.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::Duration;

use anyhow::Result;

use super::{
    Ask, ChatTemplate, Completion, Control, Description, Engine, Event, Finish, Local, Pulse, Request, Requests,
    Scores, Watcher,
};

/// A canned answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// The scores of an [`Ask::Score`].
    Scores(Scores),
    /// What the model would go on to say. Stop texts and the token limit (one token a word) cut it as in a real engine;
    /// where neither comes, it ends by itself.
    Text(String),
    /// A completion told as it is; its `attempt` is set by the engine.
    Completion(Completion),
    /// The request cannot be answered.
    Failure { flag: &'static str, reason: String },
}

impl Reply {
    /// Scores for continuations of one token each; the likeliest one counts as greedy.
    pub fn log_likelihoods(values: &[f32]) -> Reply {
        let best = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        Reply::Scores(Scores {
            log_likelihoods: values.to_vec(),
            greedy: Some(values.iter().map(|value| *value >= best).collect()),
            continuation_tokens: Some(vec![1; values.len()]),
            mass: Some(values.iter().map(|value| value.exp()).sum::<f32>().min(1.0)),
            top_token: Some(String::new()),
            told: None,
        })
    }
}

type Script = Box<dyn FnMut(&Request, Option<i64>) -> Reply + Send>;

/// Replays canned answers.
pub struct ScriptedEngine {
    script: Script,
    description: Description,
}

impl fmt::Debug for ScriptedEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedEngine").finish_non_exhaustive()
    }
}

impl ScriptedEngine {
    /// Asks `script` for every answer; it sees the request and, where a completion is wanted, the seed.
    pub fn new(script: impl FnMut(&Request, Option<i64>) -> Reply + Send + 'static) -> ScriptedEngine {
        ScriptedEngine {
            script: Box::new(script),
            description: Description::Scripted(Local {
                architecture: "none".into(),
                dtype: "f32".into(),
                kernel: "none".into(),
                device: "none".into(),
                threads: 1,
                context: 2048,
                ..Local::default()
            }),
        }
    }

    /// Answers from a table of (prompt, seed; none for scores) to reply; what is not there fails with the flag `error`.
    pub fn from_replies(replies: HashMap<(String, Option<i64>), Reply>) -> ScriptedEngine {
        ScriptedEngine::new(move |request, seed| {
            replies
                .get(&(request.prompt.text().into_owned(), seed))
                .cloned()
                .unwrap_or_else(|| Reply::Failure {
                    flag: "error",
                    reason: format!(
                        "the script has no reply to {:?} with seed {seed:?}",
                        request.prompt.text()
                    ),
                })
        })
    }

    #[must_use]
    pub fn with_description(mut self, description: Description) -> ScriptedEngine {
        self.description = description;
        self
    }

    fn tell(&self, job: &Job, reply: Reply, pulse: &mut Pulse, watch: &mut Watcher) -> ControlFlow<()> {
        let (id, request) = (job.request.id, &job.request);
        let prompt_tokens = count_tokens(&request.prompt.text());
        let seconds = 0.0;
        let lane = request.lane;
        pulse.set_in_flight(job.seed.map(|_| lane));
        pulse.tokens_in_logical += prompt_tokens as u64;
        pulse.count_in(lane, if job.attempt == 0 { prompt_tokens as u64 } else { 0 });
        let completion = match reply {
            Reply::Failure { flag, reason } => {
                return watch(Event::Failed {
                    id,
                    attempt: None,
                    flag,
                    reason,
                });
            }
            Reply::Scores(scores) => {
                watch(Event::Scored {
                    id,
                    scores,
                    prompt_tokens,
                    truncated: false,
                    seconds,
                })?;
                return watch(Event::Pulse(*pulse));
            }
            Reply::Text(text) => cut(&text, &request.ask, job.attempt),
            Reply::Completion(completion) => Completion {
                attempt: job.attempt,
                ..completion
            },
        };
        if !completion.text.is_empty() {
            let text = completion.text.clone();
            watch(Event::Progress {
                id,
                attempt: job.attempt,
                tokens: completion.tokens,
                text,
            })?;
        }
        pulse.count_out(lane, completion.tokens as u64);
        pulse.set_in_flight(None);
        watch(Event::Completed {
            id,
            completion,
            prompt_tokens,
            truncated: false,
            seconds,
        })?;
        watch(Event::Pulse(*pulse))
    }
}

/// How often a waiting engine tells that it lives.
const PULSE_EVERY: Duration = Duration::from_millis(50);

/// One answer that is still to come.
struct Job {
    request: Rc<Request>,
    attempt: usize,
    seed: Option<i64>,
}

impl Job {
    /// The answers that a request asks for.
    fn of(request: Request) -> Vec<Job> {
        let seeds = match &request.ask {
            Ask::Score { .. } => vec![None],
            Ask::Sample { seeds, .. } => seeds.iter().copied().map(Some).collect(),
        };
        let request = Rc::new(request);
        let job = |(attempt, seed)| Job {
            request: Rc::clone(&request),
            attempt,
            seed,
        };
        seeds.into_iter().enumerate().map(job).collect()
    }
}

impl Engine for ScriptedEngine {
    fn describe(&self) -> Description {
        self.description.clone()
    }

    fn chat_template(&self) -> Option<ChatTemplate> {
        None
    }

    fn count_tokens(&self, prompt: &str) -> Option<usize> {
        Some(count_tokens(prompt))
    }

    fn answer(&mut self, requests: &mut dyn Requests, control: &Control, watch: &mut Watcher) -> Result<()> {
        let mut lanes: Vec<VecDeque<Job>> = control.lanes.iter().map(|_| VecDeque::new()).collect();
        let mut answered = vec![0u64; lanes.len()];
        let mut pulse = Pulse::default();
        loop {
            for (lane, jobs) in lanes.iter_mut().enumerate().filter(|(_, jobs)| jobs.is_empty()) {
                let count = |prompt: &str| self.count_tokens(prompt);
                jobs.extend(requests.next(lane, &count).into_iter().flat_map(Job::of));
            }
            if lanes.iter().all(VecDeque::is_empty) {
                return Ok(());
            }
            let ready = (0..lanes.len()).filter(|lane| !lanes[*lane].is_empty() && !control.is_paused(*lane));
            let next = ready.min_by_key(|lane| answered[*lane] * 1000 / u64::from(control.share(*lane)));
            let flow = if let Some(lane) = next {
                answered[lane] += 1;
                let Some(job) = lanes[lane].pop_front() else { continue };
                let reply = (self.script)(&job.request, job.seed);
                if matches!(reply, Reply::Failure { .. }) {
                    lanes[lane].retain(|other| other.request.id != job.request.id);
                }
                self.tell(&job, reply, &mut pulse, watch)
            } else {
                std::thread::sleep(PULSE_EVERY);
                watch(Event::Pulse(pulse))
            };
            if flow.is_break() {
                return Ok(());
            }
        }
    }
}

/// A reply as the engine would give it: cut at the first stop text or the token limit.
fn cut(text: &str, ask: &Ask, attempt: usize) -> Completion {
    let Ask::Sample { sampling, .. } = ask else {
        return Completion {
            attempt,
            text: text.into(),
            finish: Finish::Eos,
            tokens: count_tokens(text),
            told: None,
        };
    };
    let stop = sampling
        .stops
        .iter()
        .filter(|stop| !stop.is_empty())
        .filter_map(|stop| text.find(stop.as_str()))
        .min();
    let (kept, finish) = match stop {
        Some(at) => (&text[..at], Finish::Stop),
        None => (text, Finish::Eos),
    };
    match kept
        .split_inclusive(char::is_whitespace)
        .scan(0, |end, word| {
            *end += word.len();
            Some(*end)
        })
        .nth(sampling.max_tokens.saturating_sub(1))
    {
        Some(end) if end < kept.len() => Completion {
            attempt,
            text: kept[..end].into(),
            finish: Finish::Length,
            tokens: sampling.max_tokens,
            told: None,
        },
        _ => Completion {
            attempt,
            text: kept.into(),
            finish,
            tokens: count_tokens(kept) + 1,
            told: None,
        },
    }
}

/// Words stand for tokens.
fn count_tokens(text: &str) -> usize {
    text.split_whitespace().count()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::engine::Sampling;

    fn score(id: usize, lane: usize) -> Request {
        let ask = Ask::Score {
            continuations: vec![" A".into(), " B".into()],
        };
        Request {
            id,
            lane,
            prompt: format!("question {id}").into(),
            add_special_tokens: true,
            ask,
        }
    }

    fn sample(id: usize, lane: usize, max_tokens: usize) -> Request {
        let sampling = Sampling {
            temperature: 1.0,
            top_p: 1.0,
            top_k: 0,
            max_tokens,
            stops: vec!["Question:".into()],
        };
        let ask = Ask::Sample {
            sampling,
            seeds: vec![42, 43],
            stream: id as u64,
        };
        Request {
            id,
            lane,
            prompt: format!("question {id}").into(),
            add_special_tokens: true,
            ask,
        }
    }

    fn parrot() -> ScriptedEngine {
        ScriptedEngine::new(|request, seed| match seed {
            None => Reply::log_likelihoods(&[-0.5, -1.5]),
            Some(seed) => Reply::Text(format!("{} of {seed} Question: and more", request.prompt.text())),
        })
    }

    #[test]
    fn every_request_is_answered_once_a_seed() {
        let (mut scored, mut completed) = (vec![], vec![]);
        parrot()
            .run(vec![score(0, 0), sample(1, 1, 100)], &Control::new(2), &mut |event| {
                match event {
                    Event::Scored { id, scores, .. } => scored.push((id, scores.greedy.unwrap())),
                    Event::Completed { id, completion, .. } => {
                        completed.push((id, completion.attempt, completion.text, completion.finish));
                    }
                    _ => {}
                }
                ControlFlow::Continue(())
            })
            .unwrap();
        assert_eq!(scored, [(0, vec![true, false])]);
        assert_eq!(
            completed,
            [
                (1, 0, "question 1 of 42 ".to_string(), Finish::Stop),
                (1, 1, "question 1 of 43 ".to_string(), Finish::Stop)
            ]
        );
    }

    #[test]
    fn the_token_limit_cuts_a_reply() {
        let mut told = None;
        parrot()
            .run(vec![sample(1, 0, 2)], &Control::new(1), &mut |event| {
                if let Event::Completed { completion, .. } = event {
                    told = Some(completion);
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(())
            })
            .unwrap();
        let told = told.unwrap();
        assert_eq!(
            (told.text.as_str(), told.finish, told.tokens),
            ("question 1 ", Finish::Length, 2)
        );
    }

    #[test]
    fn a_paused_lane_waits_and_the_watcher_still_hears_a_pulse() {
        let control = Control::new(2);
        control.lanes[0].paused.store(true, Ordering::Relaxed);
        let (mut order, mut pulses_while_paused) = (vec![], 0);
        parrot()
            .run(vec![score(0, 0), score(1, 1)], &control, &mut |event| {
                match event {
                    Event::Scored { id, .. } => order.push(id),
                    Event::Pulse(_) if order == [1] => {
                        pulses_while_paused += 1;
                        if pulses_while_paused == 3 {
                            control.lanes[0].paused.store(false, Ordering::Relaxed);
                        }
                    }
                    _ => {}
                }
                ControlFlow::Continue(())
            })
            .unwrap();
        assert_eq!(order, [1, 0]);
    }

    #[test]
    fn what_the_script_does_not_know_fails_once_and_the_others_go_on() {
        let known = HashMap::from([(("question 1".to_string(), None), Reply::log_likelihoods(&[0.0, -1.0]))]);
        let mut told = vec![];
        ScriptedEngine::from_replies(known)
            .run(vec![sample(0, 0, 9), score(1, 0)], &Control::new(1), &mut |event| {
                match event {
                    Event::Failed { id, flag, .. } => told.push((id, flag)),
                    Event::Scored { id, .. } => told.push((id, "scored")),
                    _ => {}
                }
                ControlFlow::Continue(())
            })
            .unwrap();
        assert_eq!(told, [(0, "error"), (1, "scored")]);
    }
}
