//! Completions as they are written: a stream of pieces, its end, and what is odd about it.

use std::time::Instant;

use serde_json::{Value, json};

use super::ask::Model;
use super::events::{Events, Said};
use super::fault::{Fault, short};
use super::http::Client;
use super::wire::Answer;
use crate::engine::{Completion, Finish, Prompt, Sampling, Told};

/// One answer's text, and what else was told of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    pub completion: Completion,
    pub prompt_tokens: Option<usize>,
    pub fingerprint: Option<String>,
    /// Whether the server parted thinking from the answer.
    pub thinks: bool,
    /// Neither an answer nor a thought came.
    pub is_empty: bool,
}

/// Characters that an answer may have.
const LONGEST_TEXT: usize = 1 << 20;

/// So many equal pieces at the end of a stream that just ended are a loop that the server broke.
const LOOP: usize = 30;

impl Model {
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

    /// One completion, streamed. `progress` hears each piece and the tokens so far, and says whether to stop.
    pub async fn write(
        &self,
        prompt: &Prompt,
        sampling: &Sampling,
        (attempt, seed): (usize, i64),
        progress: &mut dyn FnMut(&str, usize) -> bool,
    ) -> Result<Written, Fault> {
        let body = self.body(self.sampled(sampling, prompt, seed));
        let url = match prompt {
            Prompt::Text(_) => self.client.address.v1("completions"),
            Prompt::Chat(_) => self.client.address.v1("chat/completions"),
        };
        let begun = Instant::now();
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
                    stream.first_s.get_or_insert_with(|| begun.elapsed().as_secs_f32());
                    if progress(&stream.added, stream.pieces) {
                        stream.is_stopped = true;
                        return stream.end(self, attempt);
                    }
                }
            }
            if chunk.is_none() || stream.is_done {
                return stream.end(self, attempt);
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
    /// How often the last piece came in a row.
    repeats: usize,
    first_s: Option<f32>,
    finish: Option<String>,
    answer: Answer,
    is_done: bool,
    /// The user wanted no more of it.
    is_stopped: bool,
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
        let choice = answer.choices.first();
        if let Some(finish) = choice.and_then(|choice| choice.finish_reason.as_ref()) {
            self.finish = Some(finish.clone());
        }
        let (added, thought) = choice.map(super::wire::Choice::added).unwrap_or_default();
        if self.text.len() + self.thinking.len() + added.len() + thought.len() > LONGEST_TEXT {
            return Err(Fault::Refused {
                flag: "error",
                reason: "an answer of more than a million characters".into(),
            });
        }
        self.text.push_str(added);
        self.thinking.push_str(thought);
        let is_news = !added.is_empty() || !thought.is_empty();
        if is_news {
            let piece = format!("{thought}{added}");
            self.repeats = if piece == self.added { self.repeats + 1 } else { 1 };
            self.added = piece;
            self.pieces += 1;
        }
        self.identify(answer);
        Ok(is_news)
    }

    /// Keeps what a piece tells of the whole.
    fn identify(&mut self, piece: Answer) {
        let whole = &mut self.answer;
        whole.usage = piece.usage.or(whole.usage.take());
        whole.system_fingerprint = piece.system_fingerprint.or(whole.system_fingerprint.take());
        whole.model = piece.model.or(whole.model.take());
        whole.provider = piece.provider.or(whole.provider.take());
        whole.id = piece.id.or(whole.id.take());
    }

    /// The text as models write it themselves: thinking in its marks, which stay open where it was cut in the middle.
    fn whole(&self, finish: Finish) -> String {
        match (self.thinking.as_str(), self.text.as_str()) {
            ("", text) => text.to_owned(),
            (thinking, "") if matches!(finish, Finish::Length | Finish::User) => format!("<think>{thinking}"),
            (thinking, text) => format!("<think>{thinking}</think>{text}"),
        }
    }

    /// Why it ended: the user's wish, else what the server told.
    fn finish(&self) -> Result<Finish, Fault> {
        if self.is_stopped {
            return Ok(Finish::User);
        }
        match self.finish.as_deref() {
            Some("length") => Ok(Finish::Length),
            Some("eos" | "eos_token") => Ok(Finish::Eos),
            // Most servers do not tell a stop text from the model's own end.
            Some("stop" | "stop_sequence") => Ok(Finish::Stop),
            Some("content_filter") => Err(Fault::Refused {
                flag: "filtered",
                reason: "the server's filter stopped the answer".into(),
            }),
            Some(other) => Err(Fault::retry(format!("the server ended the answer: {other}"))),
            // Ollama ends a stream so after thirty equal tokens.
            None if self.is_done && self.repeats >= LOOP => Ok(Finish::Length),
            None => Err(Fault::retry("cut: the stream ended before the answer")),
        }
    }

    /// What a reader should know of the text, as short words for the row.
    fn flags(&self, text: &str, finish: Finish) -> Vec<&'static str> {
        let is_open = text.rfind("<think>").is_some_and(|at| !text[at..].contains("</think>"));
        let has_answer = !self.text.trim().is_empty();
        let found = [
            (self.finish.is_none(), "looped"),
            (finish == Finish::Length && is_open, "cut_thinking"),
            (
                finish == Finish::Stop && !self.thinking.is_empty() && !has_answer,
                "stopped_thinking",
            ),
            (text.is_empty(), "empty"),
            (
                self.answer
                    .usage
                    .as_ref()
                    .is_none_or(|usage| usage.completion_tokens.is_none()),
                "estimated",
            ),
        ];
        found
            .into_iter()
            .filter(|(is_so, _)| *is_so)
            .map(|(_, flag)| flag)
            .collect()
    }

    /// The completion, where the stream told how it ended.
    fn end(self, model: &Model, attempt: usize) -> Result<Written, Fault> {
        let finish = self.finish()?;
        let text = self.whole(finish);
        let mut by = model.by(&self.answer);
        by.first_token_s = self.first_s;
        let flags = self.flags(&text, finish);
        Ok(Written {
            prompt_tokens: by.usage.prompt.map(|tokens| tokens as usize),
            fingerprint: by.fingerprint.clone(),
            thinks: !self.thinking.is_empty(),
            is_empty: text.is_empty(),
            completion: Completion {
                attempt,
                text,
                finish,
                tokens: by.usage.completion.map_or(self.pieces, |tokens| tokens as usize),
                told: Some(Box::new(Told { by, flags })),
            },
        })
    }
}
