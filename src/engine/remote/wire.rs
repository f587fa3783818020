//! What servers answer: completions and chats, whole or in pieces, with their two forms of log-probabilities.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// An answer, or one piece of it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Answer {
    pub choices: Vec<Choice>,
    pub usage: Option<Usage>,
    pub id: Option<String>,
    /// Who computed it, as the server names it.
    pub model: Option<String>,
    pub provider: Option<String>,
    pub system_fingerprint: Option<String>,
    /// A refusal in place of an answer, or in the middle of a stream.
    pub error: Option<Value>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Choice {
    pub text: Option<String>,
    pub message: Option<Turn>,
    pub delta: Option<Turn>,
    pub finish_reason: Option<String>,
    pub logprobs: Option<Logprobs>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Turn {
    pub content: Option<String>,
    pub reasoning: Option<String>,
    pub reasoning_content: Option<String>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Usage {
    pub prompt_tokens: Option<u64>,
    pub completion_tokens: Option<u64>,
    prompt_tokens_details: Option<Details>,
    completion_tokens_details: Option<Details>,
    /// USD, where the server keeps the account.
    pub cost: Option<f64>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Details {
    cached_tokens: Option<u64>,
    reasoning_tokens: Option<u64>,
}

impl Usage {
    pub fn counts(&self) -> crate::record::Usage {
        crate::record::Usage {
            prompt: self.prompt_tokens,
            cached: self
                .prompt_tokens_details
                .as_ref()
                .and_then(|details| details.cached_tokens),
            completion: self.completion_tokens,
            reasoning: self
                .completion_tokens_details
                .as_ref()
                .and_then(|details| details.reasoning_tokens),
        }
    }
}

/// Log-probabilities as chats have them (`content`), or as completions have them (the other fields).
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Logprobs {
    content: Option<Vec<Entry>>,
    tokens: Vec<String>,
    token_logprobs: Vec<Option<f64>>,
    top_logprobs: Option<Vec<Option<BTreeMap<String, f64>>>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct Entry {
    id: Option<u32>,
    token: String,
    logprob: Option<f64>,
    top_logprobs: Vec<Entry>,
}

/// A token by what a server says of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Token {
    /// Its text; empty where only the number is told.
    pub text: String,
    pub id: Option<u32>,
}

/// What is told of one position.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Position {
    pub token: Token,
    /// Natural log; none for the first token of a prompt.
    pub logprob: Option<f64>,
    /// Other tokens at this place, the token itself among them or not.
    pub top: Vec<(Token, f64)>,
}

impl Token {
    /// `token_id:330`, or a text.
    fn named(name: &str) -> Token {
        match name.strip_prefix("token_id:").and_then(|id| id.parse().ok()) {
            Some(id) => Token {
                text: String::new(),
                id: Some(id),
            },
            None => Token {
                text: name.to_owned(),
                id: None,
            },
        }
    }
}

impl Logprobs {
    /// What is told, position by position.
    pub fn positions(&self) -> Vec<Position> {
        if let Some(content) = &self.content {
            return content.iter().map(Entry::position).collect();
        }
        let tops = self.top_logprobs.as_deref().unwrap_or_default();
        let told = self.tokens.iter().enumerate().map(|(at, name)| Position {
            token: Token::named(name),
            logprob: self.token_logprobs.get(at).copied().flatten(),
            top: tops
                .get(at)
                .and_then(Option::as_ref)
                .into_iter()
                .flatten()
                .map(|(name, logprob)| (Token::named(name), *logprob))
                .collect(),
        });
        told.collect()
    }
}

impl Entry {
    fn token(&self) -> Token {
        let named = Token::named(&self.token);
        Token {
            id: self.id.or(named.id),
            ..named
        }
    }

    fn position(&self) -> Position {
        Position {
            token: self.token(),
            logprob: self.logprob,
            top: self
                .top_logprobs
                .iter()
                .filter_map(|entry| Some((entry.token(), entry.logprob?)))
                .collect(),
        }
    }
}

impl Choice {
    /// The text that it adds, and what it adds to the reasoning.
    pub fn added(&self) -> (&str, &str) {
        let turn = self.delta.as_ref().or(self.message.as_ref());
        let content = turn.and_then(|turn| turn.content.as_deref());
        let reasoning = turn.and_then(|turn| turn.reasoning.as_deref().or(turn.reasoning_content.as_deref()));
        (
            self.text.as_deref().or(content).unwrap_or_default(),
            reasoning.unwrap_or_default(),
        )
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn both_forms_of_log_probabilities_tell_the_same() {
        let chat: Logprobs = serde_json::from_value(json!({"content": [{"id": 330, "token": " A", "logprob": -8.5,
            "top_logprobs": [{"id": 7042, "token": " Paris", "logprob": -0.25}]}]}))
        .unwrap();
        let completion: Logprobs = serde_json::from_value(json!({"tokens": ["token_id:330"], "token_logprobs": [-8.5],
            "top_logprobs": [{"token_id:7042": -0.25}]}))
        .unwrap();
        for told in [chat.positions(), completion.positions()] {
            assert_eq!((told[0].token.id, told[0].logprob), (Some(330), Some(-8.5)));
            assert_eq!((told[0].top[0].0.id, told[0].top[0].1), (Some(7042), -0.25));
        }
    }

    /// Every recorded answer of a real server is read: its choices, usage and log-probabilities.
    #[test]
    fn recorded_answers_of_real_servers_are_read() {
        let mut read = 0;
        for folder in ["golden/openai_server_samples", "golden/openai-2"] {
            let Some(folder) = crate::shared::shared_path(folder) else {
                return;
            };
            for kind in ["llama_server", "vllm"] {
                for entry in std::fs::read_dir(folder.join(kind)).unwrap() {
                    let path = entry.unwrap().path();
                    let text = std::fs::read_to_string(&path).unwrap();
                    if path.extension().is_some_and(|end| end == "sse") {
                        read += stream(&path, &text);
                    } else if let Ok(recorded) = serde_json::from_str::<Value>(&text) {
                        read += whole(&path, &recorded);
                    }
                }
            }
        }
        assert!(read > 30, "{read}");
    }

    fn whole(path: &std::path::Path, recorded: &Value) -> usize {
        let response = &recorded["response"];
        let is_openai = recorded["path"]
            .as_str()
            .is_some_and(|path| path.ends_with("completions"));
        if !is_openai || recorded["status"] != 200 || !response["choices"].is_array() {
            return 0;
        }
        let answer: Answer =
            serde_json::from_value(response.clone()).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let stored = response["choices"].as_array().unwrap();
        for (choice, stored) in answer.choices.iter().zip(stored) {
            let text = stored["text"].as_str().or(stored["message"]["content"].as_str());
            assert_eq!(choice.added().0, text.unwrap_or_default(), "{}", path.display());
            assert_eq!(
                choice.finish_reason.as_deref(),
                stored["finish_reason"].as_str(),
                "{}",
                path.display()
            );
            let told = &stored["logprobs"];
            let count = told["content"]
                .as_array()
                .or(told["tokens"].as_array())
                .map_or(0, Vec::len);
            let positions = choice.logprobs.as_ref().map(Logprobs::positions).unwrap_or_default();
            assert_eq!(positions.len(), count, "{}", path.display());
        }
        let usage = answer.usage.and_then(|usage| usage.prompt_tokens);
        assert_eq!(usage, response["usage"]["prompt_tokens"].as_u64(), "{}", path.display());
        1
    }

    fn stream(path: &std::path::Path, text: &str) -> usize {
        use super::super::events::{Events, Said};
        let (mut events, mut said) = (Events::default(), Vec::new());
        events.push(text.as_bytes(), &mut said).unwrap();
        events.end(&mut said);
        if !text.contains("\"choices\"") {
            return 0;
        }
        assert_eq!(said.last(), Some(&Said::Done), "{}", path.display());
        let answers = said.iter().filter_map(|said| match said {
            Said::Data(data) => Some(serde_json::from_str::<Answer>(data).unwrap()),
            _ => None,
        });
        let answers: Vec<Answer> = answers.collect();
        let finished = answers
            .iter()
            .flat_map(|answer| &answer.choices)
            .filter(|choice| choice.finish_reason.is_some());
        assert_eq!(finished.count(), 1, "{}", path.display());
        1
    }
}
