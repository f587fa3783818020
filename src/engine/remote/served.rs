//! What a manifest says of a server: whatever of it moves a score, and what the handshake found.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::handshake::Seeds;
use super::kinds::Kind;
use crate::engine::ChatTemplate;

/// A way of scoring that gives lm-evaluation-harness's log-likelihood; the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rung {
    /// Log-probabilities of named tokens, one request a question.
    Ids,
    /// Each letter forced by a bias, its log-probability before that told.
    Forced,
    /// The log-probabilities of prompt and letter, as the harness asks.
    Echo,
}

impl Rung {
    pub fn name(self) -> &'static str {
        match self {
            Rung::Ids => "ids",
            Rung::Forced => "forced",
            Rung::Echo => "echo",
        }
    }
}

/// A served model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Served {
    pub kind: Kind,
    /// Scheme, host, port and path.
    pub url: String,
    pub version: Option<String>,
    /// The name that was asked for; empty: the only one.
    pub asked: String,
    /// The model as the server names it.
    pub model: String,
    /// The last part of the path or id that the server loaded it from.
    pub root: Option<String>,
    /// Whether prompts go as chats.
    pub is_chat: bool,
    /// Whether it parts thinking from answers.
    pub thinks: bool,
    /// Longest sequence in tokens.
    pub context: Option<usize>,
    pub quantization: Option<String>,
    /// Of the server's build and settings, as its answers tell it.
    pub fingerprint: Option<String>,
    /// Requests that it computes at once, where it tells.
    pub slots: Option<usize>,
    /// The chat template that the server holds, where it tells it.
    #[serde(skip)]
    pub chat_template: Option<ChatTemplate>,
    /// How cloze exams are scored; none where they cannot be.
    pub cloze: Option<Rung>,
    /// Why they cannot be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_scores: Option<String>,
    /// How far two ways of scoring lie apart on two fixed prompts (natural log).
    pub between_methods: Option<f64>,
    pub seeds: Seeds,
    /// Parameters that were asked for and have no effect there.
    pub unmet: Vec<String>,
    /// What every sampled request says, but prompt and seed.
    pub sent: Value,
    /// The letters' tokens.
    pub letters: BTreeMap<String, Vec<u32>>,
    /// Servers of this model that share the work.
    pub replicas: usize,
}

impl Served {
    /// For titles: the server's kind and version.
    pub fn title(&self) -> String {
        let version = self
            .version
            .as_deref()
            .map_or_else(String::new, |version| format!(" {version}"));
        format!("{}{version}", self.kind.facts().title)
    }

    /// The findings that a person should know before the first question.
    pub fn findings(&self) -> Vec<String> {
        let mut findings = vec![format!("{} · {} · {}", self.title(), self.model, self.url)];
        findings.push(match (self.cloze, &self.no_scores) {
            (Some(rung), _) => {
                let apart = self.between_methods.map_or_else(String::new, |apart| {
                    format!(", within {apart:.1e} of another way on two prompts")
                });
                format!("cloze: exact ({}{apart})", rung.name())
            }
            (None, why) => format!("cloze: impossible ({})", why.as_deref().unwrap_or("not tried")),
        });
        findings.push(self.seeds.in_words().to_owned());
        if self.is_chat {
            let thinks = if self.thinks { ", thinking apart" } else { "" };
            findings.push(format!("prompts go as chats{thinks}"));
        }
        if !self.unmet.is_empty() {
            findings.push(format!("without effect there: {}", self.unmet.join(", ")));
        }
        findings
    }
}
