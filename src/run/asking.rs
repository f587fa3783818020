//! What is still to be asked: prompts are rendered when their turn has come, and kept until they are answered.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use super::answer::Sent;
use super::{Method, Plan};
use crate::benchmark::{Prompter, Question, Rendered};
use crate::engine::{Ask, Request, Requests};
use crate::store::RunFolder;

/// Prompts that were sent, and why no more can be.
#[derive(Debug, Default)]
pub(super) struct Desk {
    pub sent: HashMap<usize, Sent>,
    pub failure: Option<anyhow::Error>,
    /// What a person should know of the prompts of an exam.
    pub notices: Vec<(usize, String)>,
}

/// The questions of an exam that have answers missing.
pub(super) struct Queue<'a> {
    plan: &'a Plan,
    prompter: Prompter<'a>,
    /// Longest sequence of the model in tokens, where it is known.
    context: Option<usize>,
    /// Index of each question, and the attempts that are missing.
    missing: VecDeque<(usize, Vec<usize>)>,
}

/// All that is missing, exam by exam: the lanes of the engine.
pub(super) struct Asking<'a> {
    pub queues: Vec<Queue<'a>>,
    pub desk: &'a RefCell<Desk>,
    /// The number of the next request.
    pub next: usize,
}

type CountTokens<'a> = &'a dyn Fn(&str) -> Option<usize>;

impl<'a> Queue<'a> {
    /// # Errors
    /// When the prompt of the first question cannot be made.
    pub(super) fn new(
        plan: &'a Plan,
        folder: &RunFolder,
        context: Option<usize>,
        count_tokens: CountTokens,
    ) -> Result<Queue<'a>> {
        let missing = |(index, question): (usize, &Question)| {
            let attempts = 0..plan.method.attempts();
            let attempts: Vec<usize> = attempts
                .filter(|attempt| plan.wants(question.id, *attempt) && !folder.holds(question.id, *attempt as i64))
                .collect();
            (!attempts.is_empty()).then_some((index, attempts))
        };
        let queue = Queue {
            plan,
            prompter: Prompter::new(&plan.dataset, &plan.prompt)?,
            context,
            missing: plan.dataset.questions.iter().enumerate().filter_map(missing).collect(),
        };
        if let Some((first, _)) = queue.missing.front() {
            queue.render(*first, count_tokens)?;
        }
        Ok(queue)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.missing.is_empty()
    }

    /// The prompt of a question; where the style sheds examples, with as many as leave the completion its room (the authors'
    /// `evaluate_from_local.py`: tokens below the context less the token limit).
    fn render(&self, index: usize, count_tokens: CountTokens) -> Result<Rendered> {
        let question = &self.plan.dataset.questions[index];
        let named = || {
            format!(
                "{} question {}: cannot make its prompt",
                self.plan.dataset.name, question.id
            )
        };
        let room = match &self.plan.method {
            Method::Generate { sampling, .. } if self.plan.prompt.style.sheds_examples => {
                self.context.map(|context| context.saturating_sub(sampling.max_tokens))
            }
            _ => None,
        };
        let mut shots = self.plan.prompt.shots;
        loop {
            let rendered = self.prompter.render_with(question, shots).with_context(named)?;
            let is_too_long = |room: usize| count_tokens(&rendered.prompt).is_some_and(|tokens| tokens >= room);
            if shots == 0 || !room.is_some_and(is_too_long) {
                return Ok(rendered);
            }
            shots -= 1;
        }
    }

    fn ask(&self, sent: &Sent) -> Ask {
        match &self.plan.method {
            Method::Cloze => Ask::Score {
                continuations: sent.rendered.continuations.clone(),
            },
            Method::Generate { sampling, .. } => Ask::Sample {
                sampling: sampling.clone(),
                seeds: sent
                    .attempts
                    .iter()
                    .map(|attempt| self.plan.method.seed(*attempt).unwrap_or(0))
                    .collect(),
                stream: stream_of(&self.plan.dataset.name, sent.question(self.plan).id),
            },
        }
    }
}

impl Requests for Asking<'_> {
    fn next(&mut self, lane: usize, count_tokens: CountTokens) -> Option<Request> {
        let mut desk = self.desk.borrow_mut();
        let queue = &mut self.queues[lane];
        if desk.failure.is_some() {
            return None;
        }
        let (question, attempts) = queue.missing.pop_front()?;
        let rendered = match queue.render(question, count_tokens) {
            Ok(rendered) => rendered,
            Err(error) => {
                desk.failure = Some(error);
                return None;
            }
        };
        desk.notices
            .extend(rendered.system.notice().map(|notice| (lane, notice)));
        let sent = Sent {
            exam: lane,
            question,
            rendered,
            left: attempts.len(),
            attempts,
        };
        let id = self.next;
        self.next += 1;
        let request = Request {
            id,
            lane,
            prompt: sent.rendered.asked(),
            add_special_tokens: true,
            ask: queue.ask(&sent),
        };
        desk.sent.insert(id, sent);
        Some(request)
    }
}

/// The random stream's key of a question: the first eight bytes of sha256 over `BENCHMARK/QUESTION_ID`.
pub fn stream_of(benchmark: &str, question_id: i64) -> u64 {
    let digest = Sha256::digest(format!("{benchmark}/{question_id}").as_bytes());
    u64::from_be_bytes(digest[..8].try_into().expect("a sha256 has 32 bytes"))
}
