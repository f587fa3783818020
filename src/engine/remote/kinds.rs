//! Kinds of servers, as data: where they listen, how they want their key, what they call their parameters. What a server
//! really does is tried by the handshake.

use serde::{Deserialize, Serialize};

/// A kind of server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    Vllm,
    Sglang,
    LlamaServer,
    Ollama,
    Tgi,
    Lmstudio,
    Openai,
    Openrouter,
    /// Any other; found out by the handshake where it can be.
    #[default]
    Api,
}

/// What is known of a kind before it is asked.
#[derive(Debug)]
pub struct Facts {
    pub kind: Kind,
    /// Before the colon of `--model`.
    pub name: &'static str,
    /// For people.
    pub title: &'static str,
    /// Where it listens by default; none where it must be named.
    pub url: Option<&'static str>,
    /// The environment variable with the key.
    pub key_env: &'static str,
    /// What stands for "all tokens" in `top_k`; none where the parameter is unknown there.
    pub top_k_off: Option<i64>,
    /// Further sampling parameters and their neutral values: servers fill what is not sent from defaults of their own.
    pub neutral: &'static [(&'static str, f64)],
    /// Whether completions of a plain text exist, outside of a chat.
    pub has_text: bool,
    /// What the token limit is called in a chat.
    pub max_tokens: &'static str,
    /// Requests under way at once, to begin with.
    pub in_flight: usize,
    /// Whether others pay for it, so that it is asked politely.
    pub is_hosted: bool,
}

/// What the servers of one's own have in common.
const OWN: Facts = Facts {
    kind: Kind::Api,
    name: "api",
    title: "server",
    url: None,
    key_env: "MARKBOOK_API_KEY",
    top_k_off: Some(-1),
    neutral: &[("presence_penalty", 0.0), ("frequency_penalty", 0.0)],
    has_text: true,
    max_tokens: "max_tokens",
    in_flight: 8,
    is_hosted: false,
};

/// Neutral values of servers that name the penalty of repetition as transformers does.
const REPETITION: &[(&str, f64)] = &[
    ("min_p", 0.0),
    ("repetition_penalty", 1.0),
    ("presence_penalty", 0.0),
    ("frequency_penalty", 0.0),
];

/// Neutral values of servers that name it as llama.cpp does.
const REPEAT: &[(&str, f64)] = &[
    ("min_p", 0.0),
    ("repeat_penalty", 1.0),
    ("presence_penalty", 0.0),
    ("frequency_penalty", 0.0),
];

/// Every kind.
pub const ALL: [Facts; 9] = [
    Facts {
        kind: Kind::Vllm,
        name: "vllm",
        title: "vLLM",
        url: Some("http://127.0.0.1:8000"),
        neutral: REPETITION,
        in_flight: 64,
        ..OWN
    },
    Facts {
        kind: Kind::Sglang,
        name: "sglang",
        title: "SGLang",
        url: Some("http://127.0.0.1:30000"),
        neutral: REPETITION,
        in_flight: 64,
        ..OWN
    },
    Facts {
        kind: Kind::LlamaServer,
        name: "llama-server",
        title: "llama-server",
        url: Some("http://127.0.0.1:8080"),
        top_k_off: Some(0),
        neutral: REPEAT,
        in_flight: 1,
        ..OWN
    },
    Facts {
        kind: Kind::Ollama,
        name: "ollama",
        title: "Ollama",
        url: Some("http://127.0.0.1:11434"),
        top_k_off: None,
        has_text: false,
        in_flight: 4,
        ..OWN
    },
    Facts {
        kind: Kind::Tgi,
        name: "tgi",
        title: "TGI",
        url: Some("http://127.0.0.1:8080"),
        top_k_off: None,
        in_flight: 32,
        ..OWN
    },
    Facts {
        kind: Kind::Lmstudio,
        name: "lmstudio",
        title: "LM Studio",
        url: Some("http://127.0.0.1:1234"),
        top_k_off: Some(0),
        neutral: REPEAT,
        in_flight: 4,
        ..OWN
    },
    Facts {
        kind: Kind::Openai,
        name: "openai",
        title: "OpenAI",
        url: Some("https://api.openai.com/v1"),
        key_env: "OPENAI_API_KEY",
        top_k_off: None,
        has_text: false,
        max_tokens: "max_completion_tokens",
        in_flight: 10,
        is_hosted: true,
        ..OWN
    },
    Facts {
        kind: Kind::Openrouter,
        name: "openrouter",
        title: "OpenRouter",
        url: Some("https://openrouter.ai/api/v1"),
        key_env: "OPENROUTER_API_KEY",
        top_k_off: Some(0),
        neutral: REPETITION,
        has_text: false,
        in_flight: 10,
        is_hosted: true,
        ..OWN
    },
    OWN,
];

impl Kind {
    /// All names, for messages.
    pub fn names() -> String {
        ALL.map(|facts| facts.name).join(", ")
    }

    pub fn from_name(name: &str) -> Option<Kind> {
        ALL.iter().find(|facts| facts.name == name).map(|facts| facts.kind)
    }

    pub fn facts(self) -> &'static Facts {
        ALL.iter()
            .find(|facts| facts.kind == self)
            .unwrap_or(&ALL[ALL.len() - 1])
    }
}

/// What `--model` names where it is a server's: `KIND:NAME`, or an address; none where it is a model of this process.
pub fn parse_model(text: &str) -> Option<(Kind, String)> {
    if text.starts_with("http://") || text.starts_with("https://") {
        return Some((Kind::Api, String::new()));
    }
    let (kind, name) = text.split_once(':')?;
    Kind::from_name(kind).map(|kind| (kind, name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_colon_parts_kind_and_name() {
        assert_eq!(
            parse_model("ollama:qwen3:8b"),
            Some((Kind::Ollama, "qwen3:8b".to_owned()))
        );
        assert_eq!(parse_model("llama-server:"), Some((Kind::LlamaServer, String::new())));
        assert_eq!(parse_model("org/name:file.gguf"), None);
        assert_eq!(parse_model("C:\\models\\a.gguf"), None);
        assert!(matches!(parse_model("http://gpu1:8000/v1"), Some((Kind::Api, _))));
    }

    #[test]
    fn every_kind_stands_once_in_the_table() {
        for facts in &ALL {
            assert_eq!(Kind::from_name(facts.name), Some(facts.kind));
            assert_eq!(facts.kind.facts().name, facts.name);
        }
    }
}
