//! What a manifest says of a server: whatever of it moves a score, and what the handshake found.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::handshake::Seeds;
use super::kinds::Kind;
use super::price::Price;
use crate::engine::ChatTemplate;

/// A way of scoring; the best first. All but the last give lm-evaluation-harness's log-likelihood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rung {
    /// Log-probabilities of named tokens, one request a question.
    Ids,
    /// Each letter forced by a bias, its log-probability before that told.
    Forced,
    /// The log-probabilities of prompt and letter, as the harness asks.
    Echo,
    /// The likeliest tokens: of a letter that is not among them only a bound is known. Only where it was asked for.
    Partial,
}

impl Rung {
    pub fn name(self) -> &'static str {
        match self {
            Rung::Ids => "ids",
            Rung::Forced => "forced",
            Rung::Echo => "echo",
            Rung::Partial => "partial",
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
    /// Whether the model was told to think; none: it was left to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<bool>,
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
    /// Likeliest tokens that are told at a place, where letters are sought among them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top: Option<usize>,
    /// Whether cloze exams are put as chats and their first token is read: another measure by another name.
    #[serde(skip_serializing_if = "is_false")]
    pub reads_first_token: bool,
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
    /// USD a million tokens, where it was told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price: Option<Price>,
    /// What answered in earlier sittings, where that was another server or model and it was accepted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Identity>,
    /// Whether another server or model may go on with the run.
    #[serde(skip)]
    pub accepts_drift: bool,
    /// The scores of the handshake's prompts, by which the server is known again.
    #[serde(skip)]
    pub known_scores: Vec<f32>,
}

/// What may not change in a run: which server, which model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Identity {
    pub kind: Kind,
    pub version: Option<String>,
    pub model: String,
    pub root: Option<String>,
    pub context: Option<usize>,
    pub quantization: Option<String>,
    pub cloze: Option<Rung>,
    pub fingerprint: Option<String>,
}

impl Identity {
    /// What differs, by name and with both values; fingerprints are not looked at. None where it is the same.
    pub fn changed(&self, now: &Identity) -> Option<String> {
        let fields = |identity: &Identity| serde_json::to_value(identity).unwrap_or_default();
        let (before, now) = (fields(self), fields(now));
        let names = before.as_object()?.keys().filter(|name| *name != "fingerprint");
        let changed = names.filter(|name| before[*name] != now[*name]);
        let told: Vec<String> = changed
            .map(|name| format!("{name} was {}, is now {}", before[name], now[name]))
            .collect();
        (!told.is_empty()).then(|| told.join(", "))
    }
}

// Serde hands on a reference.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_false(flag: &bool) -> bool {
    !*flag
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

    pub fn identity(&self) -> Identity {
        Identity {
            kind: self.kind,
            version: self.version.clone(),
            model: self.model.clone(),
            root: self.root.clone(),
            context: self.context,
            quantization: self.quantization.clone(),
            cloze: self.cloze,
            fingerprint: self.fingerprint.clone(),
        }
    }

    /// The same, without what moves no answer: where it listens, how it is asked, what trials found. Hosted servers change
    /// their builds at will: that is counted, and refuses nothing.
    pub(in crate::engine) fn of_answers(&self) -> Served {
        Served {
            url: String::new(),
            asked: String::new(),
            slots: None,
            replicas: 0,
            between_methods: None,
            no_scores: None,
            seeds: Seeds::default(),
            unmet: Vec::new(),
            price: None,
            earlier: Vec::new(),
            fingerprint: self.fingerprint.clone().filter(|_| !self.kind.facts().is_hosted),
            ..self.clone()
        }
    }

    /// The findings that a person should know before the first question.
    pub fn findings(&self) -> Vec<String> {
        let mut findings = vec![format!("{} · {} · {}", self.title(), self.model, self.url)];
        findings.push(match (self.cloze, &self.no_scores) {
            (Some(Rung::Partial), _) => format!(
                "cloze: bounded (of letters beyond the {} likeliest tokens only a bound is known; such rows are flagged)",
                self.top.unwrap_or_default()
            ),
            _ if self.reads_first_token => {
                "chat_first_token in place of cloze: the first token of a chat's answer, another measure".to_owned()
            }
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
