//! What a cloze request comes to: inputs of the decoder, and what their logits say about its continuations.

use anyhow::{Context, Result};

use super::CandleEngine;
use super::kernel;
use crate::engine::{Ask, Request, Scores};
use crate::text::is_python_space;

/// A request whose scores are not all there.
#[derive(Debug)]
pub struct Open {
    pub id: usize,
    log_likelihoods: Vec<f32>,
    greedy: Vec<bool>,
    continuation_tokens: Vec<usize>,
    /// The likeliest token after the prompt, and the probability on the first tokens.
    top: Option<(String, f32)>,
    first_tokens: Vec<u32>,
    pub items_left: usize,
    pub prompt_tokens: usize,
    pub truncated: bool,
    pub seconds: f32,
}

/// One input of the decoder: the prompt with all but the last token of one or more continuations.
#[derive(Debug)]
pub struct Item {
    /// The request's id.
    pub request: usize,
    pub tokens: Vec<u32>,
    /// Position whose logits tell the first token of the continuations; those of the positions after it tell the others.
    pub first_row: usize,
    /// Continuations (index, tokens) that this input tells about.
    pub targets: Vec<(usize, Vec<u32>)>,
    /// Tokens of the beginning that its group shares.
    pub shared: usize,
}

impl Open {
    /// A request's inputs; as an inner error why it is too long for the model, or for the tokens whose keys and values may
    /// be held at once. A request whose continuations are all empty has no inputs.
    pub fn new(engine: &CandleEngine, request: &Request, budget: usize) -> Result<Result<(Open, Vec<Item>), String>> {
        let Ask::Score { continuations } = &request.ask else {
            return Ok(Err("it asks for no scores".into()));
        };
        let count = continuations.len();
        let mut open = Open {
            id: request.id,
            log_likelihoods: vec![0.0; count],
            greedy: vec![true; count],
            continuation_tokens: vec![0; count],
            top: None,
            first_tokens: Vec::new(),
            items_left: 0,
            prompt_tokens: 0,
            truncated: false,
            seconds: 0.0,
        };
        let mut items: Vec<Item> = Vec::new();
        for (index, continuation) in continuations.iter().enumerate() {
            let special = request.add_special_tokens;
            let (prompt, target) = encode_pair(engine, &request.prompt.text(), continuation, special)?;
            open.continuation_tokens[index] = target.len();
            let Some(first) = target.first() else { continue };
            open.first_tokens.push(*first);
            let length = prompt.len() + target.len();
            let context = engine.model.config().context;
            let Some(input) = fit(prompt, target, context) else {
                return Ok(Err(format!(
                    "{length} tokens do not fit the model's {context} positions"
                )));
            };
            // What memory cannot hold is refused, not cut: a score must not depend on the machine.
            if input.tokens.len() > budget {
                return Ok(Err(beyond_memory(input.tokens.len(), budget)));
            }
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
        Ok(Ok((open, items)))
    }

    /// Counts what the logits of an input's row say; `offset` counts rows from its `first_row`.
    pub fn read(&mut self, item: &Item, offset: usize, logits: &[f32], engine: &CandleEngine) {
        let normalizer = kernel::log_sum_exp(logits);
        let best = kernel::argmax(logits) as u32;
        for (index, target) in &item.targets {
            let token = target[offset];
            self.log_likelihoods[*index] += logits[token as usize] - normalizer;
            self.greedy[*index] &= token == best;
        }
        if offset == 0 && self.top.is_none() {
            let probability = |token: &u32| (logits[*token as usize] - normalizer).exp();
            let mass = self.first_tokens.iter().map(probability).sum();
            self.top = Some((engine.tokenizer.token_text(best), mass));
        }
    }

    /// What its inputs said, when all were read.
    pub fn into_scores(self) -> Scores {
        let (top_token, mass) = self.top.unzip();
        Scores {
            log_likelihoods: self.log_likelihoods,
            greedy: Some(self.greedy),
            continuation_tokens: Some(self.continuation_tokens),
            mass: Some(mass.unwrap_or_default()),
            top_token: Some(top_token.unwrap_or_default()),
            told: None,
        }
    }
}

/// Why a sequence of so many tokens is refused where the budget of keys and values holds fewer.
pub fn beyond_memory(tokens: usize, budget: usize) -> String {
    format!("{tokens} tokens do not fit the memory set aside for keys and values ({budget} tokens)")
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
    let kept = prompt.trim_end_matches(is_python_space);
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
