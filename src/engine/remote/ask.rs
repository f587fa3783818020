//! Requests of a model and what their answers come to: tokens, and scores by each way. (`stream` has the completions.)

use serde_json::{Map, Value, json};

use super::Rung;
use super::fault::{Fault, short};
use super::http::Client;
use super::kinds::Kind;
use super::price::Price;
use super::wire::{Answer, Position, Token};
use crate::engine::{Scores, ServedBy, Told};

/// A model on a server, and how it wants to be asked.
#[derive(Debug, Clone)]
pub struct Model {
    pub client: Client,
    pub kind: Kind,
    pub name: String,
    /// Fields that the user adds to every request.
    pub extra: Map<String, Value>,
    /// Parameters that are left out.
    pub without: Vec<String>,
    /// The text of the token that the server puts before every prompt: a prompt that begins with it would have it twice.
    pub bos: Option<String>,
    /// Likeliest tokens that it tells at a place.
    pub top: usize,
    pub price: Option<Price>,
}

/// Likeliest tokens that most servers tell at most.
const MOST_TOLD: usize = 20;

/// A continuation and the tokens that it is.
pub type Letter = (String, Vec<u32>);

impl Model {
    /// A model that was not asked for its name yet.
    pub fn new(client: Client, kind: Kind) -> Model {
        Model {
            client,
            kind,
            name: String::new(),
            extra: Map::new(),
            without: Vec::new(),
            bos: None,
            top: MOST_TOLD,
            price: None,
        }
    }

    /// A request's body: the model, every sampling parameter at its neutral value, then what is asked.
    pub(super) fn body(&self, asked: Value) -> Value {
        let facts = self.kind.facts();
        let mut body = Map::new();
        body.insert("model".into(), self.name.clone().into());
        for (name, value) in [("temperature", 1.0), ("top_p", 1.0)].iter().chain(facts.neutral) {
            body.insert((*name).into(), (*value).into());
        }
        if let Some(off) = facts.top_k_off {
            body.insert("top_k".into(), off.into());
        }
        if self.kind == Kind::Openrouter {
            // Another provider behind the same name is another model.
            body.insert(
                "provider".into(),
                json!({"require_parameters": true, "allow_fallbacks": false}),
            );
        }
        if let Value::Object(asked) = asked {
            body.extend(asked);
        }
        body.extend(self.extra.clone());
        self.without.iter().for_each(|name| {
            body.remove(name);
        });
        Value::Object(body)
    }

    /// What is sent with every request beside what the exam asks: for the manifest.
    pub fn neutral(&self) -> Value {
        let mut body = self.body(Value::Null);
        if let Some(fields) = body.as_object_mut() {
            fields.remove("model");
        }
        body
    }

    async fn complete(&self, asked: Value) -> Result<Answer, Fault> {
        let body = self.body(asked);
        let value = self.client.post(self.client.address.v1("completions"), &body).await?;
        let answer: Answer =
            serde_json::from_value(value).map_err(|error| Fault::retry(format!("bad JSON: {error}")))?;
        match &answer.error {
            Some(error) => Err(Fault::retry(self.client.scrub(&short(&error.to_string())))),
            None => Ok(answer),
        }
    }

    /// A prompt as it is sent.
    pub(super) fn once<'t>(&self, prompt: &'t str) -> &'t str {
        let bos = self.bos.as_deref().unwrap_or_default();
        prompt.strip_prefix(bos).unwrap_or(prompt)
    }

    /// Whether the server puts a token of its own before a prompt; none where it does not tell.
    pub async fn adds_bos(&self) -> Result<Option<bool>, Fault> {
        let count = async |add_special: bool| {
            let body = json!({"content": "x", "add_special": add_special});
            let answer = self.client.post(self.client.address.at("tokenize"), &body).await?;
            Ok::<_, Fault>(answer.get("tokens").and_then(Value::as_array).map(Vec::len))
        };
        let (with, without) = (count(true).await?, count(false).await?);
        Ok(with.zip(without).map(|(with, without)| with > without))
    }

    /// The tokens of a text; none where the server does not tell them.
    pub async fn tokens(&self, text: &str) -> Result<Option<Vec<u32>>, Fault> {
        let body = match self.kind {
            Kind::LlamaServer => json!({"content": text, "add_special": true}),
            Kind::Vllm | Kind::Sglang => json!({"model": self.name, "prompt": text}),
            _ => return Ok(None),
        };
        let answer = self.client.post(self.client.address.at("tokenize"), &body).await?;
        let tokens = answer.get("tokens").and_then(Value::as_array);
        let number = |token: &Value| token.as_u64().or_else(|| token.get("id")?.as_u64());
        Ok(tokens.and_then(|tokens| tokens.iter().map(|token| number(token).map(|id| id as u32)).collect()))
    }

    /// The scores of continuations by one way; `ids` are the tokens of those that are one token. And the prompt's tokens.
    pub async fn score(&self, rung: Rung, prompt: &str, continuations: &[Letter]) -> Result<(Scores, usize), Fault> {
        let prompt = self.once(prompt);
        match rung {
            Rung::Ids => self.by_ids(prompt, continuations).await,
            Rung::Forced => self.by_force(prompt, continuations).await,
            Rung::Echo => self.by_echo(prompt, continuations).await,
            Rung::Partial => self.by_top(prompt, continuations).await,
        }
    }

    /// Who answered, by what an answer says.
    pub(super) fn by(&self, answer: &Answer) -> ServedBy {
        let usage = answer.usage.as_ref();
        let counts = usage.map(super::wire::Usage::counts).unwrap_or_default();
        let priced = || self.price.map(|price| price.of(counts));
        ServedBy {
            model: answer.model.clone(),
            fingerprint: answer.system_fingerprint.clone(),
            provider: answer.provider.clone(),
            request_id: answer.id.clone(),
            replica: self.client.address.host(),
            usage: counts,
            usd: usage.and_then(|usage| usage.cost).or_else(priced),
            ..ServedBy::default()
        }
    }

    /// One request: the log-probabilities of named tokens.
    async fn by_ids(&self, prompt: &str, continuations: &[Letter]) -> Result<(Scores, usize), Fault> {
        let ids: Vec<u32> = continuations
            .iter()
            .filter_map(|(_, ids)| ids.first().copied())
            .collect();
        let asked = json!({"prompt": prompt, "max_tokens": 1, "logprobs": 1, "logprob_token_ids": ids,
            "return_tokens_as_token_ids": true});
        let answer = self.complete(asked).await?;
        let position = only_position(&answer)?;
        let all: Vec<(u32, f64)> = position
            .top
            .iter()
            .filter_map(|(token, logprob)| Some((token.id?, *logprob)))
            .chain(position.token.id.zip(position.logprob))
            .collect();
        let of = |id: &u32| all.iter().find(|(token, _)| token == id).map(|(_, logprob)| *logprob);
        let told: Option<Vec<f64>> = ids.iter().map(of).collect();
        let told = told.ok_or_else(|| Fault::retry("the answer lacks the log-probability of a letter"))?;
        let best = all
            .iter()
            .map(|(_, logprob)| *logprob)
            .fold(f64::NEG_INFINITY, f64::max);
        let scores = single(&told, Some(best), self.by(&answer));
        Ok((scores, prompt_tokens(&answer)))
    }

    /// One request: the likeliest tokens. Of a letter that is not among them only a bound is known: no more than the least
    /// of them (a hair less here, so that a known letter of the same number wins).
    async fn by_top(&self, prompt: &str, continuations: &[Letter]) -> Result<(Scores, usize), Fault> {
        let has_ids = continuations.iter().all(|(_, ids)| ids.len() == 1);
        let asked =
            json!({"prompt": prompt, "max_tokens": 1, "logprobs": self.top, "return_tokens_as_token_ids": has_ids});
        let answer = self.complete(asked).await?;
        let position = only_position(&answer)?;
        let told = position.logprob.map(|logprob| (position.token.clone(), logprob));
        let all: Vec<(Token, f64)> = position.top.iter().cloned().chain(told).collect();
        let least = all.iter().map(|(_, logprob)| *logprob).fold(f64::INFINITY, f64::min);
        if !least.is_finite() {
            return Err(Fault::retry("the answer has no log-probabilities"));
        }
        let is_letter = |token: &Token, (text, ids): &Letter| match token.id {
            Some(id) if !ids.is_empty() => ids == &[id],
            _ => token.text == *text,
        };
        let known = continuations.iter().map(|letter| {
            let entry = all.iter().find(|(token, _)| is_letter(token, letter));
            entry.map(|(_, logprob)| *logprob)
        });
        let known: Vec<Option<f64>> = known.collect();
        let best = all
            .iter()
            .map(|(_, logprob)| *logprob)
            .fold(f64::NEG_INFINITY, f64::max);
        let numbers: Vec<f64> = known.iter().map(|known| known.unwrap_or(least)).collect();
        let mut scores = single(&numbers, Some(best), self.by(&answer));
        let bounded: Vec<usize> = (0..known.len()).filter(|at| known[*at].is_none()).collect();
        for at in &bounded {
            scores.log_likelihoods[*at] = (least as f32).next_down();
        }
        let Some(told) = scores.told.as_mut().filter(|_| !bounded.is_empty()) else {
            return Ok((scores, prompt_tokens(&answer)));
        };
        told.flags.push("bounded");
        if bounded.len() == known.len() {
            told.flags.push("undecided");
        }
        told.by.bounded = bounded;
        scores.mass = None;
        Ok((scores, prompt_tokens(&answer)))
    }

    /// A request a letter: it is forced, and its log-probability before that is told.
    async fn by_force(&self, prompt: &str, continuations: &[Letter]) -> Result<(Scores, usize), Fault> {
        let (mut told, mut best, mut tokens) = (Vec::new(), f64::NEG_INFINITY, 0);
        let mut by = ServedBy::default();
        for (text, ids) in continuations {
            let id = ids.first().copied().unwrap_or_default();
            let asked = json!({"prompt": prompt, "max_tokens": 1, "logprobs": 1, "logit_bias": {(id.to_string()): 100},
                "return_tokens_as_token_ids": true});
            let answer = self.complete(asked).await?;
            let position = only_position(&answer)?;
            let is_forced = position.token.id == Some(id) || position.token.text == *text;
            let logprob = position.logprob.filter(|_| is_forced);
            told.push(
                logprob.ok_or_else(|| Fault::retry(format!("the answer is another token than the forced{text}")))?,
            );
            best = position.top.iter().map(|(_, logprob)| *logprob).fold(best, f64::max);
            tokens = prompt_tokens(&answer);
            by = after(&by, self.by(&answer));
        }
        Ok((single(&told, Some(best), by), tokens))
    }

    /// A request a continuation: the log-probabilities of its tokens as part of the prompt, as the reference harness asks.
    async fn by_echo(&self, prompt: &str, continuations: &[Letter]) -> Result<(Scores, usize), Fault> {
        let mut scores = Scores {
            greedy: Some(Vec::new()),
            continuation_tokens: Some(Vec::new()),
            ..Scores::default()
        };
        let (mut tokens, mut by) = (0, ServedBy::default());
        for (text, ids) in continuations {
            let asked = json!({"prompt": format!("{prompt}{text}"), "max_tokens": 1, "temperature": 0, "logprobs": 1,
                "echo": true, "return_tokens_as_token_ids": true});
            let answer = self.complete(asked).await?;
            let positions = positions(&answer);
            let whole = prompt_tokens(&answer);
            let of_prompt = whole.saturating_sub(ids.len());
            // A server that ignores echo tells as many tokens as it generated.
            let own = positions.get(of_prompt..whole).filter(|own| !own.is_empty());
            let own = own.ok_or_else(|| Fault::retry("the prompt's log-probabilities did not come back"))?;
            let sum: Option<f64> = own.iter().map(|position| position.logprob).sum();
            let sum = sum.ok_or_else(|| Fault::retry("a token of the prompt has no log-probability"))?;
            scores.log_likelihoods.push(sum as f32);
            let is_best = |position: &Position| {
                let best = position
                    .top
                    .iter()
                    .map(|(_, logprob)| *logprob)
                    .fold(f64::NEG_INFINITY, f64::max);
                position.logprob.is_some_and(|logprob| logprob >= best)
            };
            scores.greedy.get_or_insert_default().push(own.iter().all(is_best));
            scores.continuation_tokens.get_or_insert_default().push(ids.len());
            tokens = of_prompt;
            by = after(&by, self.by(&answer));
        }
        scores.told = Some(Box::new(Told { by, flags: Vec::new() }));
        Ok((scores, tokens))
    }
}

/// Scores of continuations of one token each; `best` is the likeliest token's log-probability, where it was told.
fn single(told: &[f64], best: Option<f64>, by: ServedBy) -> Scores {
    Scores {
        log_likelihoods: told.iter().map(|logprob| *logprob as f32).collect(),
        greedy: best.map(|best| told.iter().map(|logprob| *logprob >= best).collect()),
        continuation_tokens: Some(vec![1; told.len()]),
        mass: Some(told.iter().map(|logprob| logprob.exp()).sum::<f64>() as f32),
        top_token: None,
        told: Some(Box::new(Told { by, flags: Vec::new() })),
    }
}

/// Who gave a score by several requests: the last one, at the cost of all.
fn after(before: &ServedBy, mut last: ServedBy) -> ServedBy {
    let sum = |a: Option<u64>, b: Option<u64>| a.map_or(b, |a| Some(a + b.unwrap_or(0)));
    last.usage.cached = sum(before.usage.cached, last.usage.cached);
    last.usage.completion = sum(before.usage.completion, last.usage.completion);
    last.usd = before
        .usd
        .map_or(last.usd, |before| Some(before + last.usd.unwrap_or(0.0)));
    last
}

fn positions(answer: &Answer) -> Vec<Position> {
    let logprobs = answer.choices.first().and_then(|choice| choice.logprobs.as_ref());
    logprobs.map(super::wire::Logprobs::positions).unwrap_or_default()
}

fn only_position(answer: &Answer) -> Result<Position, Fault> {
    let mut positions = positions(answer).into_iter();
    positions
        .next()
        .ok_or_else(|| Fault::retry("the answer has no log-probabilities"))
}

fn prompt_tokens(answer: &Answer) -> usize {
    let usage = answer.usage.as_ref().and_then(|usage| usage.prompt_tokens);
    usage.unwrap_or_default() as usize
}
