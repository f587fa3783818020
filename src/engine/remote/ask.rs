//! Requests of a model and what their answers come to: tokens, scores by each way, completions as they are written.

use std::time::Instant;

use serde_json::{Map, Value, json};

use super::Rung;
use super::events::{Events, Said};
use super::fault::{Fault, short};
use super::http::Client;
use super::kinds::Kind;
use super::wire::{Answer, Position};
use crate::engine::{Completion, Finish, Prompt, Sampling, Scores};

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
}

/// One answer's text, and what else was told of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    pub completion: Completion,
    pub prompt_tokens: Option<usize>,
    pub fingerprint: Option<String>,
    /// Whether the server parted thinking from the answer.
    pub thinks: bool,
}

/// Characters that an answer may have.
const LONGEST_TEXT: usize = 1 << 20;

impl Model {
    /// A request's body: the model, every sampling parameter at its neutral value, then what is asked.
    fn body(&self, asked: Value) -> Value {
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
            Some(error) => Err(Fault::retry(short(&error.to_string()))),
            None => Ok(answer),
        }
    }

    /// A prompt as it is sent.
    fn once<'t>(&self, prompt: &'t str) -> &'t str {
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
    pub async fn score(
        &self,
        rung: Rung,
        prompt: &str,
        continuations: &[(String, Vec<u32>)],
    ) -> Result<(Scores, usize), Fault> {
        let prompt = self.once(prompt);
        match rung {
            Rung::Ids => self.by_ids(prompt, continuations).await,
            Rung::Forced => self.by_force(prompt, continuations).await,
            Rung::Echo => self.by_echo(prompt, continuations).await,
        }
    }

    /// One request: the log-probabilities of named tokens.
    async fn by_ids(&self, prompt: &str, continuations: &[(String, Vec<u32>)]) -> Result<(Scores, usize), Fault> {
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
        Ok((single(&told, Some(best)), prompt_tokens(&answer)))
    }

    /// A request a letter: it is forced, and its log-probability before that is told.
    async fn by_force(&self, prompt: &str, continuations: &[(String, Vec<u32>)]) -> Result<(Scores, usize), Fault> {
        let (mut told, mut best, mut tokens) = (Vec::new(), f64::NEG_INFINITY, 0);
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
        }
        Ok((single(&told, Some(best)), tokens))
    }

    /// A request a continuation: the log-probabilities of its tokens as part of the prompt, as the reference harness asks.
    async fn by_echo(&self, prompt: &str, continuations: &[(String, Vec<u32>)]) -> Result<(Scores, usize), Fault> {
        let mut scores = Scores {
            greedy: Some(Vec::new()),
            continuation_tokens: Some(Vec::new()),
            ..Scores::default()
        };
        let mut tokens = 0;
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
        }
        Ok((scores, tokens))
    }

    fn sampled(&self, sampling: &Sampling, prompt: &Prompt, seed: i64) -> Value {
        let mut asked = json!({"temperature": sampling.temperature, "top_p": sampling.top_p, "seed": seed,
            "stream": true, "stream_options": {"include_usage": true}});
        let Some(fields) = asked.as_object_mut() else {
            return asked;
        };
        let limit = match prompt {
            Prompt::Text(text) => {
                fields.insert("prompt".into(), self.once(text).into());
                "max_tokens"
            }
            Prompt::Chat(turns) => {
                fields.insert("messages".into(), json!(turns));
                self.kind.facts().max_tokens
            }
        };
        fields.insert(limit.into(), sampling.max_tokens.into());
        if sampling.top_k > 0 && self.kind.facts().top_k_off.is_some() {
            fields.insert("top_k".into(), sampling.top_k.into());
        }
        if !sampling.stops.is_empty() {
            fields.insert("stop".into(), json!(sampling.stops));
        }
        asked
    }

    /// One completion, streamed. `progress` hears each piece and the tokens so far.
    pub async fn write(
        &self,
        prompt: &Prompt,
        sampling: &Sampling,
        (attempt, seed): (usize, i64),
        progress: &mut dyn FnMut(&str, usize),
    ) -> Result<Written, Fault> {
        let body = self.body(self.sampled(sampling, prompt, seed));
        let url = match prompt {
            Prompt::Text(_) => self.client.address.v1("completions"),
            Prompt::Chat(_) => self.client.address.v1("chat/completions"),
        };
        let mut response = self.client.stream(url, &body).await?;
        let clocks = self.client.clocks;
        let (mut events, mut said, mut stream) = (Events::default(), Vec::new(), Stream::default());
        let mut last_token = Instant::now();
        loop {
            let limit = if stream.pieces == 0 {
                clocks.first
            } else {
                clocks.silence
            };
            let chunk = tokio::time::timeout(limit, response.chunk()).await;
            let chunk = chunk.map_err(|_| Fault::retry("silent: the stream stood still"))?;
            let chunk = chunk.map_err(|error| self.client.of_error(&error))?;
            match &chunk {
                Some(chunk) => events.push(chunk, &mut said).map_err(Fault::retry)?,
                None => events.end(&mut said),
            }
            for piece in said.drain(..) {
                if stream.take(&piece, &self.client)? {
                    last_token = Instant::now();
                    progress(&stream.added, stream.pieces);
                }
            }
            if chunk.is_none() || stream.is_done {
                return stream.end(attempt);
            }
            if last_token.elapsed() > clocks.stall {
                return Err(Fault::retry("silent: no token came"));
            }
        }
    }
}

/// A stream, so far.
#[derive(Debug, Default)]
struct Stream {
    text: String,
    /// What the server parts from the answer as thinking.
    thinking: String,
    /// The last piece.
    added: String,
    pieces: usize,
    finish: Option<String>,
    answer: Answer,
    is_done: bool,
}

impl Stream {
    /// Takes in what the stream said; whether text was added.
    fn take(&mut self, said: &Said, client: &Client) -> Result<bool, Fault> {
        let data = match said {
            Said::Done => {
                self.is_done = true;
                return Ok(false);
            }
            Said::Error(error) => return Err(Fault::retry(client.scrub(&short(error)))),
            Said::Data(data) => data,
        };
        let answer: Answer = serde_json::from_str(data)
            .map_err(|_| Fault::retry(format!("bad JSON: {}", client.scrub(&short(data)))))?;
        if let Some(error) = &answer.error {
            return Err(Fault::retry(client.scrub(&short(&error.to_string()))));
        }
        self.answer.usage = answer.usage.or(self.answer.usage.take());
        self.answer.system_fingerprint = answer.system_fingerprint.or(self.answer.system_fingerprint.take());
        let Some(choice) = answer.choices.first() else {
            return Ok(false);
        };
        if let Some(finish) = &choice.finish_reason {
            self.finish = Some(finish.clone());
        }
        let (added, thought) = choice.added();
        if added.is_empty() && thought.is_empty() {
            return Ok(false);
        }
        if self.text.len() + self.thinking.len() + added.len() + thought.len() > LONGEST_TEXT {
            return Err(Fault::Refused {
                flag: "error",
                reason: "an answer of more than a million characters".into(),
            });
        }
        self.text.push_str(added);
        self.thinking.push_str(thought);
        self.added = format!("{thought}{added}");
        self.pieces += 1;
        Ok(true)
    }

    /// The text as models write it themselves: thinking in its marks, which stay open where it was cut in the middle.
    fn whole(&self, finish: Finish) -> String {
        match (self.thinking.as_str(), self.text.as_str()) {
            ("", text) => text.to_owned(),
            (thinking, "") if finish == Finish::Length => format!("<think>{thinking}"),
            (thinking, text) => format!("<think>{thinking}</think>{text}"),
        }
    }

    /// The completion, where the stream told how it ended.
    fn end(self, attempt: usize) -> Result<Written, Fault> {
        let finish = match self.finish.as_deref() {
            Some("length") => Finish::Length,
            Some("eos" | "eos_token") => Finish::Eos,
            // Most servers do not tell a stop text from the model's own end.
            Some("stop" | "stop_sequence") => Finish::Stop,
            Some("content_filter") => {
                return Err(Fault::Refused {
                    flag: "filtered",
                    reason: "the server's filter stopped the answer".into(),
                });
            }
            Some(other) => return Err(Fault::retry(format!("the server ended the answer: {other}"))),
            None => return Err(Fault::retry("cut: the stream ended before the answer")),
        };
        let usage = self.answer.usage.as_ref();
        let count = |number: Option<u64>| number.map(|number| number as usize);
        Ok(Written {
            completion: Completion {
                attempt,
                text: self.whole(finish),
                finish,
                tokens: count(usage.and_then(|usage| usage.completion_tokens)).unwrap_or(self.pieces),
            },
            prompt_tokens: count(usage.and_then(|usage| usage.prompt_tokens)),
            fingerprint: self.answer.system_fingerprint,
            thinks: !self.thinking.is_empty(),
        })
    }
}

/// Scores of continuations of one token each; `best` is the likeliest token's log-probability, where it was told.
fn single(told: &[f64], best: Option<f64>) -> Scores {
    Scores {
        log_likelihoods: told.iter().map(|logprob| *logprob as f32).collect(),
        greedy: best.map(|best| told.iter().map(|logprob| *logprob >= best).collect()),
        continuation_tokens: Some(vec![1; told.len()]),
        mass: Some(told.iter().map(|logprob| logprob.exp()).sum::<f64>() as f32),
        top_token: None,
    }
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
