//! Cloze: log-likelihoods of continuations. Prompts are sorted so that those that begin alike stand together; each
//! common beginning is computed once, and one pass answers as many prompts as fit.

use std::collections::{HashMap, VecDeque};
use std::ops::{ControlFlow, Range};
use std::time::Instant;

use super::cache::NodeId;
use super::forward::Part;
use super::inputs::{Item, Open};
use super::schedule::{Run, WORTH_SHARING, common_prefix};
use crate::engine::{Event, Request};

/// Requests looked at together.
pub const WINDOW: usize = 256;
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

    /// Requests not yet looked at.
    pub fn asked(&self) -> usize {
        self.asked.len()
    }

    pub fn is_empty(&self) -> bool {
        self.asked.is_empty() && self.items.is_empty()
    }
}

/// Where an item's computation begins.
struct Plan {
    /// A sequence that is there already, and how many of its tokens are taken over.
    base: Option<(NodeId, usize)>,
    /// Whether the group's beginning is to be computed as a sequence of its own.
    makes_beginning: bool,
}

impl Plan {
    fn taken(&self) -> usize {
        self.base.map_or(0, |(_, taken)| taken)
    }

    /// Tokens to compute.
    fn cost(&self, item: &Item) -> usize {
        item.tokens.len() - self.taken()
    }
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
            let mut plan = self.plan(lane, &item, &batch);
            let mut cost = plan.cost(&item);
            if batch.items.is_empty() {
                let has_room = self.make_room(lane, cost);
                // Making room may have taken the sequence that the plan builds on.
                plan = self.plan(lane, &item, &batch);
                cost = plan.cost(&item);
                if !has_room && self.has_active_rows() {
                    // Memory comes back as the other exam's completions end.
                    self.lanes[lane].scoring.items.push_front(item);
                    return self.step();
                }
                if cost > limit + limit / 2 && item.first_row > plan.taken() + WORTH_SHARING {
                    return self.compute_ahead(lane, item, plan, limit);
                }
            } else if batch.tokens + cost > limit || !self.fits(batch.tokens + cost) {
                self.lanes[lane].scoring.items.push_front(item);
                break;
            }
            self.place(item, &plan, &mut batch);
        }
        if batch.items.is_empty() {
            return ControlFlow::Continue(());
        }
        let hidden = self.pass(&batch.parts())?;
        self.pulse.count_in(lane, batch.tokens as u64);
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
        let taken = plan.taken();
        let end = (taken + limit).min(item.first_row);
        let node = self.store.branch(plan.base);
        self.pass(&[Part {
            node,
            tokens: &item.tokens[taken..end],
            wanted: 0..0,
        }])?;
        self.pulse.count_in(lane, (end - taken) as u64);
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

    /// Whether so many more tokens fit the budget.
    fn fits(&self, tokens: usize) -> bool {
        self.tokens_spoken_for() + tokens <= self.budget_tokens
    }

    /// Gives up kept sequences until so many more tokens fit; says whether they do. The latest one of this lane, on which
    /// this work may build, goes only where no completions under way will give memory back.
    fn make_room(&mut self, lane: usize, tokens: usize) -> bool {
        while !self.fits(tokens) {
            let older = |at: &usize| self.lanes[*at].anchors.len() > usize::from(*at == lane);
            let dropped = (0..self.lanes.len()).find(older);
            let latest = || (!self.has_active_rows()).then_some(lane);
            if !dropped.or_else(latest).is_some_and(|lane| self.drop_anchor(lane)) {
                return false;
            }
        }
        true
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
            match Open::new(self.engine, &request, self.budget_tokens) {
                Ok(Ok((open, mut new))) => {
                    self.lanes[lane].scoring.open.insert(id, open);
                    if new.is_empty() {
                        self.settle(lane, id, 0.0)?;
                    }
                    items.append(&mut new);
                }
                Ok(Err(reason)) => self.fail(id, "too_long", reason)?,
                Err(error) => self.fail(id, "error", format!("{error:#}"))?,
            }
        }
        items.sort_by(|a, b| a.tokens.cmp(&b.tokens).then(a.request.cmp(&b.request)));
        group(&mut items);
        self.lanes[lane].scoring.items.extend(items);
        ControlFlow::Continue(())
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
        if let Some(open) = self.lanes[lane].scoring.open.get_mut(&item.request) {
            open.read(item, offset, logits, engine);
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
        let Some(open) = scoring.open.remove(&request) else {
            return ControlFlow::Continue(());
        };
        self.pulse.tokens_in_logical += open.prompt_tokens as u64;
        self.tell(Event::Scored {
            id: open.id,
            prompt_tokens: open.prompt_tokens,
            truncated: open.truncated,
            seconds: open.seconds,
            scores: open.into_scores(),
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
