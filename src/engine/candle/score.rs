//! Cloze: log-likelihoods of continuations. Prompts are sorted so that those that begin alike stand together; each
//! common beginning is computed once, and one pass answers as many prompts as fit.

use std::collections::{HashMap, VecDeque};
use std::ops::{ControlFlow, Range};
use std::time::Instant;

use anyhow::{Context, Result};

use super::CandleEngine;
use super::cache::NodeId;
use super::forward::Part;
use super::kernel;
use super::schedule::{Run, WORTH_SHARING, common_prefix};
use crate::engine::{Ask, Event, Request, Scores};

/// Requests looked at together.
const WINDOW: usize = 256;
/// Rows of logits made at once.
const LOGIT_ROWS: usize = 32;

/// A lane's cloze work.
#[derive(Debug, Default)]
pub struct Scoring {
    asked: VecDeque<Request>,
    /// Tokenized, sorted, grouped by common beginnings.
    items: VecDeque<Item>,
    open: HashMap<usize, Open>,
}

impl Scoring {
    pub fn ask(&mut self, request: Request) {
        self.asked.push_back(request);
    }

    pub fn is_empty(&self) -> bool {
        self.asked.is_empty() && self.items.is_empty()
    }
}

/// A request whose scores are not all there.
#[derive(Debug)]
struct Open {
    id: usize,
    scores: Scores,
    first_tokens: Vec<u32>,
    items_left: usize,
    prompt_tokens: usize,
    truncated: bool,
    seconds: f32,
}

/// One input of the decoder: the prompt with all but the last token of one or more continuations.
#[derive(Debug)]
struct Item {
    /// Key of its request in [`Scoring::open`].
    request: usize,
    tokens: Vec<u32>,
    /// Position whose logits tell the first token of the continuations.
    first_row: usize,
    /// Continuations (index, tokens) that this input tells about.
    targets: Vec<(usize, Vec<u32>)>,
    /// Tokens of the beginning that its group shares.
    shared: usize,
}

/// Prompt and continuation as the reference harness encodes them: trailing white space of the prompt goes to the
/// continuation, both are encoded together, and what comes after the tokens of the prompt alone is the continuation.
pub fn encode_pair(
    engine: &CandleEngine,
    prompt: &str,
    continuation: &str,
    special: bool,
) -> Result<(Vec<u32>, Vec<u32>)> {
    if prompt.is_empty() {
        let mut continuation = engine.encode(continuation, false)?;
        let empty = engine
            .tokenizer
            .empty_context()
            .context("the model has no token that could stand for an empty prompt")?;
        if continuation.first() == Some(&empty) {
            return Ok((vec![continuation.remove(0)], continuation));
        }
        return Ok((vec![empty], continuation));
    }
    // White space as Python's rstrip sees it.
    let is_space = |c: char| c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c);
    let kept = prompt.trim_end_matches(is_space);
    let whole = engine.encode(&format!("{prompt}{continuation}"), special)?;
    let mut context = engine.encode(kept, special)?;
    let rest = whole.get(context.len()..).unwrap_or_default().to_vec();
    if context.is_empty() {
        context.extend(engine.tokenizer.empty_context());
    }
    Ok((context, rest))
}

/// What a continuation's encoding comes to: the input, and the tokens it is to be compared with.
struct Input {
    tokens: Vec<u32>,
    first_row: usize,
    target: Vec<u32>,
    prompt_tokens: usize,
    truncated: bool,
}

/// Keeps the last `context + 1` tokens and drops the very last, as the harness does; none if the continuation alone is
/// longer.
fn fit(prompt: Vec<u32>, target: Vec<u32>, context: usize) -> Option<Input> {
    let all = prompt.len() + target.len();
    if target.len() > context || prompt.is_empty() {
        return None;
    }
    let cut = all.saturating_sub(context + 1);
    let prompt_tokens = prompt.len() - cut.min(prompt.len());
    let mut tokens = prompt;
    tokens.extend_from_slice(&target);
    tokens.drain(..cut);
    tokens.pop();
    Some(Input {
        first_row: tokens.len() - target.len(),
        tokens,
        target,
        prompt_tokens,
        truncated: cut > 0,
    })
}

/// Where an item's computation begins.
struct Plan {
    /// A sequence that is there already, and how many of its tokens are taken over.
    base: Option<(NodeId, usize)>,
    /// Whether the group's beginning is to be computed as a sequence of its own.
    makes_beginning: bool,
}

/// What one pass computes.
#[derive(Default)]
struct Batch {
    /// Beginnings computed in this pass, the latest last.
    beginnings: Vec<(Vec<u32>, NodeId)>,
    items: Vec<Item>,
    /// Sequence, tokens and wanted rows of each part, in order.
    parts: Vec<(NodeId, Vec<u32>, Range<usize>)>,
    /// The items' own sequences.
    nodes: Vec<NodeId>,
    tokens: usize,
}

impl Batch {
    fn add(&mut self, node: NodeId, tokens: &[u32], wanted: Range<usize>) {
        self.tokens += tokens.len();
        self.parts.push((node, tokens.to_vec(), wanted));
    }

    fn parts(&self) -> Vec<Part<'_>> {
        self.parts
            .iter()
            .map(|(node, tokens, wanted)| Part {
                node: *node,
                tokens,
                wanted: wanted.clone(),
            })
            .collect()
    }
}

impl Run<'_, '_> {
    /// One pass over a lane's cloze prompts.
    pub fn score(&mut self, lane: usize) -> ControlFlow<()> {
        if self.lanes[lane].scoring.items.is_empty() {
            self.look_ahead(lane)?;
        }
        let begun = Instant::now();
        let limit = self.pass_tokens();
        let mut batch = Batch::default();
        while let Some(item) = self.lanes[lane].scoring.items.pop_front() {
            let plan = self.plan(lane, &item, &batch);
            let cost = item.tokens.len() - plan.base.map_or(0, |(_, taken)| taken);
            if !batch.items.is_empty() && batch.tokens + cost > limit {
                self.lanes[lane].scoring.items.push_front(item);
                break;
            }
            if batch.items.is_empty() {
                self.make_room(lane, cost);
                // Making room may have taken the sequence that the plan builds on.
                let plan = self.plan(lane, &item, &batch);
                let taken = plan.base.map_or(0, |(_, taken)| taken);
                if item.tokens.len() - taken > limit + limit / 2 && item.first_row > taken + WORTH_SHARING {
                    return self.compute_ahead(lane, item, plan, limit);
                }
                self.place(item, &plan, &mut batch);
                continue;
            }
            self.place(item, &plan, &mut batch);
        }
        if batch.items.is_empty() {
            return ControlFlow::Continue(());
        }
        let hidden = self.pass(&batch.parts())?;
        self.pulse.tokens_in += batch.tokens as u64;
        batch.nodes.iter().for_each(|node| self.store.release(*node));
        let last = batch.beginnings.pop();
        batch
            .beginnings
            .drain(..)
            .for_each(|(_, node)| self.store.release(node));
        if let Some((tokens, node)) = last {
            self.keep_anchor(lane, tokens, node);
        }
        self.read_scores(lane, &batch.items, &hidden, begun)
    }

    /// Computes the first part of an item that is too long for one pass, and leaves it for later items too.
    fn compute_ahead(&mut self, lane: usize, item: Item, plan: Plan, limit: usize) -> ControlFlow<()> {
        let taken = plan.base.map_or(0, |(_, taken)| taken);
        let end = (taken + limit).min(item.first_row);
        let node = self.store.branch(plan.base);
        self.pass(&[Part {
            node,
            tokens: &item.tokens[taken..end],
            wanted: 0..0,
        }])?;
        self.pulse.tokens_in += (end - taken) as u64;
        self.keep_anchor(lane, item.tokens[..end].to_vec(), node);
        self.lanes[lane].scoring.items.push_front(item);
        ControlFlow::Continue(())
    }

    fn plan(&self, lane: usize, item: &Item, batch: &Batch) -> Plan {
        let own = batch
            .beginnings
            .last()
            .filter(|(tokens, _)| item.shared > 0 && item.tokens.starts_with(tokens));
        if let Some((tokens, node)) = own.filter(|(tokens, _)| tokens.len() == item.shared) {
            return Plan {
                base: Some((*node, tokens.len())),
                makes_beginning: false,
            };
        }
        let base = self.find_anchor(lane, &item.tokens, item.first_row);
        let taken = base.map_or(0, |(_, taken)| taken);
        // More than the group's beginning is there where an item was too long for one pass.
        if item.shared == 0 || taken >= item.shared + WORTH_SHARING {
            return Plan {
                base,
                makes_beginning: false,
            };
        }
        let base = self.find_anchor(lane, &item.tokens, item.shared);
        let taken = base.map_or(0, |(_, taken)| taken);
        Plan {
            base,
            makes_beginning: item.shared >= taken + WORTH_SHARING,
        }
    }

    fn place(&mut self, item: Item, plan: &Plan, batch: &mut Batch) {
        let mut base = plan.base;
        if plan.makes_beginning {
            let taken = base.map_or(0, |(_, taken)| taken);
            let node = self.store.branch(base);
            batch.add(node, &item.tokens[taken..item.shared], 0..0);
            batch.beginnings.push((item.tokens[..item.shared].to_vec(), node));
            base = Some((node, item.shared));
        }
        let taken = base.map_or(0, |(_, taken)| taken);
        let node = self.store.branch(base);
        batch.add(
            node,
            &item.tokens[taken..],
            item.first_row - taken..item.tokens.len() - taken,
        );
        batch.nodes.push(node);
        batch.items.push(item);
    }

    /// Gives up kept sequences until so many more tokens fit, but for the last one, on which this work may build.
    fn make_room(&mut self, lane: usize, tokens: usize) {
        while self.store.tokens() + tokens > self.budget_tokens && self.lanes[lane].anchors.len() > 1 {
            self.drop_anchor(lane);
        }
    }

    /// Tokenizes the next requests, sorts their inputs and finds the beginnings they share.
    fn look_ahead(&mut self, lane: usize) -> ControlFlow<()> {
        let mut items = Vec::new();
        for _ in 0..WINDOW {
            let Some(request) = self.lanes[lane].scoring.asked.pop_front() else {
                break;
            };
            self.tick()?;
            let id = request.id;
            match self.open(lane, request) {
                Ok(Ok(mut new)) if !new.is_empty() => items.append(&mut new),
                Ok(Ok(_)) => self.settle(lane, id, 0.0)?,
                Ok(Err(reason)) => self.fail(id, "too_long", reason)?,
                Err(error) => self.fail(id, "error", format!("{error:#}"))?,
            }
        }
        items.sort_by(|a, b| a.tokens.cmp(&b.tokens).then(a.request.cmp(&b.request)));
        group(&mut items);
        self.lanes[lane].scoring.items.extend(items);
        ControlFlow::Continue(())
    }

    /// The inputs of a request; as an inner error why it is too long.
    fn open(&mut self, lane: usize, request: Request) -> Result<Result<Vec<Item>, String>> {
        let Ask::Score { continuations } = &request.ask else {
            return Ok(Ok(Vec::new()));
        };
        let (context, count) = (self.engine.model.config().context, continuations.len());
        let mut open = Open {
            id: request.id,
            scores: Scores {
                log_likelihoods: vec![0.0; count],
                greedy: vec![true; count],
                continuation_tokens: vec![0; count],
                mass: 0.0,
                top_token: String::new(),
            },
            first_tokens: Vec::new(),
            items_left: 0,
            prompt_tokens: 0,
            truncated: false,
            seconds: 0.0,
        };
        let mut items: Vec<Item> = Vec::new();
        for (index, continuation) in continuations.iter().enumerate() {
            let special = request.add_special_tokens;
            let (prompt, target) = encode_pair(self.engine, &request.prompt, continuation, special)?;
            open.scores.continuation_tokens[index] = target.len();
            let Some(first) = target.first() else { continue };
            open.first_tokens.push(*first);
            let length = prompt.len() + target.len();
            let Some(input) = fit(prompt, target, context.min(self.budget_tokens)) else {
                return Ok(Err(format!(
                    "{length} tokens do not fit the model's {context} positions"
                )));
            };
            (open.prompt_tokens, open.truncated) = (input.prompt_tokens, open.truncated || input.truncated);
            let same = |item: &&mut Item| item.tokens == input.tokens && item.first_row == input.first_row;
            match items.iter_mut().find(same) {
                Some(item) => item.targets.push((index, input.target)),
                None => items.push(Item {
                    request: request.id,
                    tokens: input.tokens,
                    first_row: input.first_row,
                    targets: vec![(index, input.target)],
                    shared: 0,
                }),
            }
        }
        open.first_tokens.sort_unstable();
        open.first_tokens.dedup();
        open.items_left = items.len();
        self.lanes[lane].scoring.open.insert(request.id, open);
        Ok(Ok(items))
    }

    /// Reads the wanted rows' logits, a few at a time, and tells every request that is complete.
    fn read_scores(&mut self, lane: usize, items: &[Item], hidden: &[f32], begun: Instant) -> ControlFlow<()> {
        let (width, vocab) = (self.engine.model.config().hidden, self.engine.model.config().vocab);
        let rows: Vec<(&Item, usize)> = items
            .iter()
            .flat_map(|item| (item.first_row..item.tokens.len()).map(move |row| (item, row)))
            .collect();
        for (rows, hidden) in rows.chunks(LOGIT_ROWS).zip(hidden.chunks(LOGIT_ROWS * width)) {
            let logits = self.logits(hidden)?;
            for ((item, row), logits) in rows.iter().zip(logits.chunks_exact(vocab)) {
                self.read_row(lane, item, row - item.first_row, logits);
            }
            self.logits = logits;
            self.tick()?;
        }
        let all: usize = items.iter().map(|item| item.tokens.len()).sum();
        let seconds = begun.elapsed().as_secs_f32();
        for item in items {
            self.settle(
                lane,
                item.request,
                seconds * item.tokens.len() as f32 / all.max(1) as f32,
            )?;
        }
        ControlFlow::Continue(())
    }

    fn read_row(&mut self, lane: usize, item: &Item, offset: usize, logits: &[f32]) {
        let engine = self.engine;
        let Some(open) = self.lanes[lane].scoring.open.get_mut(&item.request) else {
            return;
        };
        let normalizer = kernel::log_sum_exp(logits);
        let best = kernel::argmax(logits) as u32;
        for (index, target) in &item.targets {
            let token = target[offset];
            open.scores.log_likelihoods[*index] += logits[token as usize] - normalizer;
            open.scores.greedy[*index] &= token == best;
        }
        if offset == 0 && open.scores.top_token.is_empty() {
            open.scores.top_token = engine.tokenizer.token_text(best);
            let probability = |token: &u32| (logits[*token as usize] - normalizer).exp();
            open.scores.mass = open.first_tokens.iter().map(probability).sum();
        }
    }

    /// Counts an input of a request as done; tells the request if it was the last.
    fn settle(&mut self, lane: usize, request: usize, seconds: f32) -> ControlFlow<()> {
        let scoring = &mut self.lanes[lane].scoring;
        let Some(open) = scoring.open.get_mut(&request) else {
            return ControlFlow::Continue(());
        };
        open.seconds += seconds;
        open.items_left = open.items_left.saturating_sub(1);
        if open.items_left > 0 {
            return ControlFlow::Continue(());
        }
        let Some(Open {
            id,
            scores,
            prompt_tokens,
            truncated,
            seconds,
            ..
        }) = scoring.open.remove(&request)
        else {
            return ControlFlow::Continue(());
        };
        self.pulse.tokens_in_logical += prompt_tokens as u64;
        self.tell(Event::Scored {
            id,
            scores,
            prompt_tokens,
            truncated,
            seconds,
        })
    }
}

/// Splits sorted items into groups that share a beginning, where sharing saves more than it costs: a longer group may
/// share less. At least one token of every item stays its own.
fn group(items: &mut [Item]) {
    let mut first = 0;
    while first < items.len() {
        let common = |index: usize| {
            let (a, b) = (&items[index - 1], &items[index]);
            common_prefix(&a.tokens, &b.tokens).min(a.first_row).min(b.first_row)
        };
        let (mut end, mut shared) = (first + 1, usize::MAX);
        while end < items.len() {
            let narrower = common(end).min(shared);
            let lost = if shared == usize::MAX {
                0
            } else {
                (shared - narrower) * (end - first)
            };
            if narrower < WORTH_SHARING || lost > narrower {
                break;
            }
            (shared, end) = (narrower, end + 1);
        }
        if end > first + 1 {
            items[first..end].iter_mut().for_each(|item| item.shared = shared);
        }
        first = end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(tokens: &[u32]) -> Item {
        Item {
            request: 0,
            tokens: tokens.to_vec(),
            first_row: tokens.len() - 1,
            targets: vec![],
            shared: 0,
        }
    }

    #[test]
    fn a_long_input_keeps_its_end_as_the_harness_does() {
        // 1,108 tokens of prompt and one of continuation in 128 positions: 128 are fed, 980 dropped.
        let input = fit((0..1108).collect(), vec![7], 128).unwrap();
        assert_eq!(
            (input.tokens.len(), input.tokens[0], input.prompt_tokens),
            (128, 980, 128)
        );
        assert!(input.truncated);
        let input = fit(vec![1, 2, 3], vec![4, 5], 128).unwrap();
        assert_eq!(
            (input.tokens.as_slice(), input.first_row, input.truncated),
            ([1, 2, 3, 4].as_slice(), 2, false)
        );
        assert!(fit(vec![1], vec![2; 9], 8).is_none());
    }

    #[test]
    fn prompts_of_one_subject_share_its_beginning_and_another_subject_starts_anew() {
        let subject = |of: u32| (0..40).map(|token| of * 100 + token).collect::<Vec<u32>>();
        let question = |of: u32, asked: u32| [subject(of), vec![5000 + asked, 6000 + asked, 7000]].concat();
        let mut items: Vec<Item> = [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2), (3, 1)]
            .iter()
            .map(|(of, asked)| item(&question(*of, *asked)))
            .collect();
        group(&mut items);
        assert_eq!(
            items.iter().map(|item| item.shared).collect::<Vec<_>>(),
            [40, 40, 40, 40, 40, 0]
        );
        // Equal prompts leave one token to compute.
        let mut equal = vec![item(&question(1, 1)), item(&question(1, 1))];
        group(&mut equal);
        assert_eq!(equal[0].shared, 42);
    }
}
