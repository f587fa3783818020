//! The flags of served models, as typed.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::args::Chat;
use super::numbers;
use crate::engine::remote::Price;

/// How a server is reached, where --model is KIND:NAME.
#[derive(Debug, Clone, Default, PartialEq, Args)]
#[command(next_help_heading = "Served models (--model KIND:NAME)")]
pub struct ServerArgs {
    /// The server's address, with /v1 or without, or @FILE with one a line; several are replicas of one model [default: the
    /// kind's own]
    #[arg(long, value_delimiter = ',', value_name = "URL")]
    pub base_url: Vec<String>,
    /// Requests under way at once, over all replicas; auto: as many as the server takes [default: auto]
    #[arg(long, visible_aliases = ["max-connections", "num-concurrent", "num-workers"], value_name = "N", value_parser = numbers::in_flight)]
    pub in_flight: Option<InFlight>,
    /// Tries of one request after the first, where a retry makes sense [default: 6]
    #[arg(long, value_name = "N", value_parser = numbers::whole::<0, 1_000>)]
    pub retries: Option<usize>,
    /// Seconds that one answer may take, from sending to its end [default: 3600]
    #[arg(long, value_name = "S", value_parser = numbers::whole::<1, 1_000_000>)]
    pub timeout: Option<usize>,
    /// Minutes to wait for a server that went away [default: 30]
    #[arg(long, value_name = "M", value_parser = numbers::whole::<0, 100_000>)]
    pub wait_server: Option<usize>,
    /// Environment variable with the key [default: the kind's own, else MARKBOOK_API_KEY]
    #[arg(long, value_name = "NAME")]
    pub api_key_env: Option<String>,
    /// Further headers, one `Name: value` a line; a file that only you may read
    #[arg(long, value_name = "FILE")]
    pub header_file: Option<PathBuf>,
    /// Further root certificates, PEM; there is no way to turn verification off
    #[arg(long, value_name = "FILE")]
    pub ca_file: Option<PathBuf>,
    /// Further fields of every request, as JSON or @FILE; the manifest keeps them
    #[arg(long, value_name = "JSON")]
    pub extra_body: Option<String>,
    /// Parameters to leave out because the server refuses them; the manifest lists them as unmet
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    pub without: Vec<String>,
    /// How mmlu is scored: auto and exact: by the harness's log-likelihood or not at all; partial: bounds where the server
    /// tells only its likeliest tokens, flagged row by row; chat: the first token of a chat's answer, another measure; off
    #[arg(long, value_name = "HOW")]
    pub cloze: Option<ClozeArg>,
    /// Whether a thinking model thinks, where its template can be told (enable_thinking) [default: its own way]
    #[arg(long, value_name = "WHEN")]
    pub think: Option<Think>,
    /// How much a model thinks, where it takes a word for it: low, medium, high
    #[arg(long, value_name = "WORD")]
    pub reasoning_effort: Option<String>,
    /// Go on with a run although another server or model answers; both are kept in the manifest, rows are flagged
    #[arg(long)]
    pub accept_drift: bool,
    /// Send the key over plain http to a host that is neither this machine nor in a private network
    #[arg(long)]
    pub allow_plain_http: bool,
    /// USD a million tokens: in=2,out=8,cached=0.5
    #[arg(long, value_name = "PRICE", value_parser = price)]
    pub price: Option<Price>,
    /// USD that may be spent: nothing new is asked once that could be passed
    #[arg(long, value_name = "USD", value_parser = usd)]
    pub max_cost: Option<f64>,
}

/// How cloze exams are scored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ClozeArg {
    Auto,
    Exact,
    Partial,
    Chat,
    Off,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Think {
    Auto,
    On,
    Off,
}

fn price(text: &str) -> Result<Price, String> {
    text.parse().map_err(|error: anyhow::Error| error.to_string())
}

fn usd(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|usd: &f64| usd.is_finite() && *usd > 0.0);
    number.ok_or_else(|| "an amount above 0".into())
}

/// Requests under way at once: a number, or as many as the server takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InFlight(pub Option<usize>);

/// `probe`.
#[derive(Debug, Clone, Args)]
pub struct ProbeArgs {
    /// KIND:NAME, e.g. vllm:Qwen/Qwen3-8B; KIND: alone takes the only model there is
    #[arg(long, value_name = "KIND:NAME")]
    pub model: String,
    #[command(flatten)]
    pub server: ServerArgs,
    /// Ask by chats, not by plain text
    #[arg(long, default_value = "auto", value_name = "WHEN")]
    pub chat: Chat,
    /// Print the findings as JSON on standard output
    #[arg(long)]
    pub json: bool,
}
