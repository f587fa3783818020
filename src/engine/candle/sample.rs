//! Completions: a prompt is computed once and forked to its seeds; completions of many prompts go on together, one token
//! a step, and as soon as one ends the next begins.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use super::cache::NodeId;
use super::forward::Part;
use super::inputs::beyond_memory;
use super::sampler::{Draw, sample};
use super::schedule::{Run, WORTH_SHARING, common_prefix};
use super::text::GrowingText;
use crate::engine::{Ask, Completion, Event, Finish, Request, Sampling};

/// How often new text of one completion is told.
const TOLD_EVERY: Duration = Duration::from_millis(250);

/// What all attempts of a request have in common.
#[derive(Debug)]
pub struct Asked {
    id: usize,
    sampling: Sampling,
    stream: u64,
    prompt_tokens: usize,
    truncated: bool,
}

/// A prompt whose attempts have not all begun.
#[derive(Debug)]
pub struct Prompt {
    asked: Rc<Asked>,
    tokens: Vec<u32>,
    node: NodeId,
    /// Tokens computed, those of a shared beginning included.
    done: usize,
    /// Logits of the last position, once they are there.
    logits: Option<Vec<f32>>,
    /// Attempts to begin, with their seeds.
    attempts: VecDeque<(usize, i64)>,
    /// Seconds spent on the prompt, for each attempt.
    seconds: f32,
}

/// A completion under way.
#[derive(Debug)]
pub struct Row {
    pub lane: usize,
    asked: Rc<Asked>,
    attempt: usize,
    seed: i64,
    node: NodeId,
    text: GrowingText,
    /// Tokens drawn so far.
    drawn: usize,
    seconds: f32,
    told: Instant,
}

impl Row {
    /// Draws the next token from its logits; says how the completion ends, if it does.
    fn advance(&mut self, logits: &[f32], run: &Run) -> Option<Finish> {
        let draw = Draw {
            seed: self.seed,
            stream: self.asked.stream,
            position: self.drawn as u64,
        };
        let Some(token) = sample(logits, &self.asked.sampling, draw) else {
            return Some(Finish::Error);
        };
        self.drawn += 1;
        let (tokenizer, sampling) = (&run.engine.tokenizer, &self.asked.sampling);
        if tokenizer.eos.binary_search(&token).is_ok() && !run.engine.ignores_eos {
            return Some(Finish::Eos);
        }
        if self.text.push(token, tokenizer, &sampling.stops) {
            return Some(Finish::Stop);
        }
        (self.drawn >= sampling.max_tokens).then_some(Finish::Length)
    }

    /// Tokens it may still come to hold.
    fn ahead(&self) -> usize {
        self.asked.sampling.max_tokens.saturating_sub(self.drawn) + 1
    }
}

impl Run<'_, '_> {
    /// Begins completions of a lane where there is room, computing prompts as needed; says whether it found any to
    /// begin.
    pub fn admit(&mut self, lane: usize) -> ControlFlow<(), bool> {
        let mut began = self.begin_attempts(lane)?;
        if self.free_rows() > 0 && self.compute_prompts(lane)? {
            self.begin_attempts(lane)?;
            began = true;
        }
        // A lane that neither computes nor has rows of its own to step would otherwise turn in circles.
        ControlFlow::Continue(began)
    }

    /// Whether there are completions to go on with.
    pub fn has_active_rows(&self) -> bool {
        self.rows.iter().any(|row| !self.control.is_paused(row.lane))
    }

    /// Places among the rows that step together. Rows of a paused lane keep their memory but not their place.
    fn free_rows(&self) -> usize {
        let active = self.rows.iter().filter(|row| !self.control.is_paused(row.lane)).count();
        self.engine.batch.saturating_sub(active)
    }

    /// Tokens held, and those that prompts on their way and completions under way may still come to hold.
    pub fn tokens_spoken_for(&self) -> usize {
        let prompts = self.lanes.iter().flat_map(|lane| &lane.prompts);
        let waiting: usize = prompts.map(|prompt| prompt.tokens.len() - prompt.done).sum();
        self.store.tokens() + waiting + self.rows.iter().map(Row::ahead).sum::<usize>()
    }

    /// Whether so many more tokens fit the budget, giving up kept beginnings if need be.
    fn has_room(&mut self, tokens: usize) -> bool {
        while self.tokens_spoken_for() + tokens > self.budget_tokens {
            if !(0..self.lanes.len()).any(|lane| self.drop_anchor(lane)) {
                return false;
            }
        }
        true
    }

    /// Whether a lane that is not paused has prompts that completions can begin from.
    fn has_open_prompts(&self) -> bool {
        let lanes = self.lanes.iter().enumerate();
        lanes
            .into_iter()
            .any(|(lane, held)| !self.control.is_paused(lane) && !held.prompts.is_empty())
    }

    fn begin_attempts(&mut self, lane: usize) -> ControlFlow<(), bool> {
        let mut began = false;
        while self.free_rows() > 0 {
            let Some(prompt) = self.lanes[lane].prompts.front() else {
                break;
            };
            let needed = prompt.asked.sampling.max_tokens;
            // One completion always may run.
            if prompt.logits.is_none() || !(self.has_room(needed) || !self.has_active_rows()) {
                break;
            }
            let Some(mut prompt) = self.lanes[lane].prompts.pop_front() else {
                break;
            };
            if let Some((attempt, seed)) = prompt.attempts.pop_front() {
                let row = Row {
                    lane,
                    asked: Rc::clone(&prompt.asked),
                    attempt,
                    seed,
                    node: self.store.branch(Some((prompt.node, prompt.tokens.len()))),
                    text: GrowingText::default(),
                    drawn: 0,
                    seconds: prompt.seconds,
                    told: Instant::now(),
                };
                began = true;
                let logits = prompt.logits.take().unwrap_or_default();
                self.take_token(row, &logits)?;
                prompt.logits = Some(logits);
            }
            if prompt.attempts.is_empty() {
                self.store.release(prompt.node);
            } else {
                self.lanes[lane].prompts.push_front(prompt);
            }
        }
        ControlFlow::Continue(began)
    }

    /// Lets a row draw from its logits, and puts it back among the others or tells its completion.
    fn take_token(&mut self, mut row: Row, logits: &[f32]) -> ControlFlow<()> {
        let is_stopped = self.control.stops.take((row.asked.id, row.attempt));
        let finish = if is_stopped {
            Some(Finish::User)
        } else {
            row.advance(logits, self)
        };
        self.pulse.count_out(row.lane, u64::from(!is_stopped));
        let Some(finish) = finish else {
            // Attempts of one prompt stand side by side, so that they read its keys together.
            self.rows.push(row);
            return ControlFlow::Continue(());
        };
        self.store.release(row.node);
        let asked = &row.asked;
        let text = row.text.finish(&self.engine.tokenizer, &asked.sampling.stops);
        let completion = Completion {
            attempt: row.attempt,
            text,
            finish,
            tokens: row.drawn,
            told: None,
        };
        self.pulse.tokens_in_logical += asked.prompt_tokens as u64;
        let (id, prompt_tokens, truncated, seconds) = (asked.id, asked.prompt_tokens, asked.truncated, row.seconds);
        self.tell(Event::Completed {
            id,
            completion,
            prompt_tokens,
            truncated,
            seconds,
        })
    }

    /// One token more for every completion whose lane is not paused.
    pub fn step(&mut self) -> ControlFlow<()> {
        let begun = Instant::now();
        let rows = std::mem::take(&mut self.rows);
        let (active, mut paused): (Vec<Row>, Vec<Row>) =
            rows.into_iter().partition(|row| !self.control.is_paused(row.lane));
        self.rows.append(&mut paused);
        if active.is_empty() {
            return self.tick();
        }
        let last: Vec<[u32; 1]> = active
            .iter()
            .map(|row| [row.text.tokens.last().copied().unwrap_or_default()])
            .collect();
        let parts: Vec<Part> = active
            .iter()
            .zip(&last)
            .map(|(row, token)| Part {
                node: row.node,
                tokens: token,
                wanted: 0..1,
            })
            .collect();
        let hidden = self.pass(&parts)?;
        let logits = self.logits(&hidden)?;
        let seconds = begun.elapsed().as_secs_f32() / active.len() as f32;
        let vocab = self.engine.model.config().vocab;
        for (mut row, logits) in active.into_iter().zip(logits.chunks_exact(vocab)) {
            row.seconds += seconds;
            self.take_token(row, logits)?;
        }
        self.logits = logits;
        self.tell_progress()
    }

    fn tell_progress(&mut self) -> ControlFlow<()> {
        for index in 0..self.rows.len() {
            let row = &mut self.rows[index];
            if row.told.elapsed() < TOLD_EVERY {
                continue;
            }
            row.told = Instant::now();
            let text = row.text.news(&row.asked.sampling.stops);
            if !text.is_empty() {
                let (id, attempt, tokens) = (row.asked.id, row.attempt, row.drawn);
                self.tell(Event::Progress {
                    id,
                    attempt,
                    tokens,
                    text,
                })?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Which prompts of a lane take part in a pass that fills the free rows, up to which token each, and how many tokens that
    /// are.
    fn choose_prompts(&mut self, lane: usize) -> ControlFlow<(), (Vec<(usize, usize)>, usize)> {
        let limit = self.pass_tokens();
        let mut wanted = self.free_rows();
        let mut chosen: Vec<(usize, usize)> = Vec::new();
        let (mut index, mut tokens) = (0, 0);
        while wanted > 0 && tokens < limit {
            if index == self.lanes[lane].prompts.len() && !self.open_prompt(lane)? {
                break;
            }
            let prompt = &self.lanes[lane].prompts[index];
            if prompt.logits.is_none() {
                let left = prompt.tokens.len() - prompt.done;
                if !chosen.is_empty() && tokens + left > limit + limit / 2 {
                    break;
                }
                // A remainder that hardly passes the limit is not worth a pass of its own.
                let count = if tokens + left > limit + limit / 2 {
                    limit - tokens
                } else {
                    left
                };
                tokens += count;
                chosen.push((index, prompt.done + count));
                if count < left {
                    break;
                }
            }
            wanted = wanted.saturating_sub(prompt.attempts.len());
            index += 1;
        }
        ControlFlow::Continue((chosen, tokens))
    }

    /// One pass over prompts, enough to fill the free rows; says whether there was anything to compute.
    fn compute_prompts(&mut self, lane: usize) -> ControlFlow<(), bool> {
        let begun = Instant::now();
        let (chosen, tokens) = self.choose_prompts(lane)?;
        if chosen.is_empty() {
            return ControlFlow::Continue(false);
        }
        let prompts = std::mem::take(&mut self.lanes[lane].prompts);
        let part = |(index, end): &(usize, usize)| {
            let prompt = &prompts[*index];
            let count = end - prompt.done;
            let wanted = if *end == prompt.tokens.len() {
                count - 1..count
            } else {
                0..0
            };
            Part {
                node: prompt.node,
                tokens: &prompt.tokens[prompt.done..*end],
                wanted,
            }
        };
        let parts: Vec<Part> = chosen.iter().map(part).collect();
        let hidden = self.pass(&parts)?;
        self.pulse.count_in(lane, tokens as u64);
        self.lanes[lane].prompts = prompts;
        let mut rows = hidden.chunks_exact(self.engine.model.config().hidden);
        let seconds = begun.elapsed().as_secs_f32();
        for (index, end) in chosen {
            let prompt = &mut self.lanes[lane].prompts[index];
            let share = seconds * (end - prompt.done) as f32 / tokens as f32;
            prompt.seconds += share / prompt.attempts.len().max(1) as f32;
            prompt.done = end;
            if end == prompt.tokens.len() {
                let (tokens, node) = (prompt.tokens.clone(), prompt.node);
                let Some(row) = rows.next() else { continue };
                let logits = self.logits(row)?;
                self.lanes[lane].prompts[index].logits = Some(logits);
                self.store.hold(node);
                self.keep_anchor(lane, tokens, node);
            }
        }
        ControlFlow::Continue(true)
    }

    /// Takes the next request of a lane among its prompts; says whether there was one that fits.
    fn open_prompt(&mut self, lane: usize) -> ControlFlow<(), bool> {
        while let Some(request) = self.lanes[lane].asked.pop_front() {
            let id = request.id;
            let tokens = match self.prompt_tokens(&request) {
                Ok(Ok(tokens)) => tokens,
                Ok(Err(reason)) => {
                    self.fail(id, "too_long", reason)?;
                    continue;
                }
                Err(error) => {
                    self.fail(id, "error", format!("{error:#}"))?;
                    continue;
                }
            };
            let Ask::Sample {
                sampling,
                seeds,
                stream,
            } = &request.ask
            else {
                continue;
            };
            // One prompt always may be open.
            let needed = tokens.kept.len() + sampling.max_tokens;
            if !(self.has_room(needed) || !self.has_active_rows() && !self.has_open_prompts()) {
                self.lanes[lane].asked.push_front(request);
                return ControlFlow::Continue(false);
            }
            let base = self.find_base(lane, &tokens.kept);
            let asked = Asked {
                id,
                sampling: sampling.clone(),
                stream: *stream,
                prompt_tokens: tokens.kept.len(),
                truncated: tokens.truncated,
            };
            let prompt = Prompt {
                asked: Rc::new(asked),
                node: self.store.branch(base),
                done: base.map_or(0, |(_, taken)| taken),
                tokens: tokens.kept,
                logits: None,
                attempts: seeds.iter().copied().enumerate().collect(),
                seconds: 0.0,
            };
            self.lanes[lane].prompts.push_back(prompt);
            return ControlFlow::Continue(true);
        }
        ControlFlow::Continue(false)
    }

    /// The sequence that begins like a new prompt: a kept one, or the prompt before it, which is computed earlier in the
    /// same pass.
    fn find_base(&self, lane: usize, tokens: &[u32]) -> Option<(NodeId, usize)> {
        let cap = tokens.len() - 1;
        let kept = self.find_anchor(lane, tokens, cap);
        let before = self.lanes[lane]
            .prompts
            .back()
            .map(|prompt| (prompt.node, common_prefix(&prompt.tokens, tokens).min(cap)));
        let least = kept.map_or(0, |(_, common)| common) + WORTH_SHARING;
        before.filter(|(_, common)| *common >= least).or(kept)
    }

    /// A prompt's tokens, cut from the left as the harness does so that the completion has room; as an inner error why
    /// that is not possible.
    fn prompt_tokens(&self, request: &Request) -> Result<Result<Kept, String>> {
        let Ask::Sample { sampling, .. } = &request.ask else {
            return Ok(Err("it asks for no completion".into()));
        };
        let mut tokens = self.engine.encode(&request.prompt.text(), request.add_special_tokens)?;
        if tokens.is_empty() {
            let empty = self.engine.tokenizer.empty_context();
            tokens.push(empty.context("the model has no token that could stand for an empty prompt")?);
        }
        let context = self.engine.model.config().context;
        let budget = context.saturating_sub(sampling.max_tokens);
        if budget == 0 {
            let limit = sampling.max_tokens;
            return Ok(Err(format!(
                "{limit} new tokens leave no room for a prompt in the model's {context} positions"
            )));
        }
        let truncated = tokens.len() > budget;
        if truncated {
            tokens.drain(..tokens.len() - budget);
        }
        if tokens.len() + sampling.max_tokens > self.budget_tokens {
            let needed = tokens.len() + sampling.max_tokens;
            return Ok(Err(beyond_memory(needed, self.budget_tokens)));
        }
        Ok(Ok(Kept {
            kept: tokens,
            truncated,
        }))
    }
}

/// A prompt's tokens as they are used.
struct Kept {
    kept: Vec<u32>,
    truncated: bool,
}
