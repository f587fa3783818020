//! A model behind an OpenAI-compatible server, asked by many requests at once.
//!
//! One thread, one loop: requests are futures, the watcher is called between them. An answer is told when it is whole; what
//! breaks off is thrown away and asked again; a server that goes away pauses the loop and no answer is lost or invented.

mod ask;
mod back;
mod budget;
mod events;
mod fault;
mod handshake;
mod http;
mod kinds;
mod limit;
mod order;
mod price;
mod pump;
mod replica;
mod served;
mod stream;
mod units;
mod url;
mod wire;

use std::ops::ControlFlow;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value};

use self::ask::Model;
use self::fault::Fault;
use self::http::Client;
use self::url::Address;

pub use self::handshake::Seeds;
pub use self::http::{Clocks, Secrets};
pub use self::kinds::{Facts, Kind, parse_model};
pub use self::price::Price;
pub use self::served::{Rung, Served};

/// Which server, and how to ask it.
#[derive(Debug, Clone)]
pub struct Options {
    pub kind: Kind,
    /// The model's name there; empty: the only one that it lists.
    pub model: String,
    /// Servers of one model; none: where the kind listens by default.
    pub urls: Vec<String>,
    pub secrets: Secrets,
    /// Further root certificates, PEM.
    pub certificates: Option<Vec<u8>>,
    /// Requests under way at once; none: as many as the server takes.
    pub in_flight: Option<usize>,
    /// Tries of one request after the first.
    pub retries: u32,
    pub clocks: Clocks,
    /// How long to wait for a server that went away.
    pub wait_server: Duration,
    /// Prompts go as chats, which the server makes texts of.
    pub chat: bool,
    /// How exactly cloze exams must be scored.
    pub cloze: Cloze,
    /// Whether a thinking model thinks; none: its own way.
    pub thinks: Option<bool>,
    /// How much it thinks, in its own word.
    pub effort: Option<String>,
    /// Another server or model may go on with a run.
    pub accepts_drift: bool,
    /// The key may go in the clear to a host outside of private networks.
    pub sends_key_in_clear: bool,
    pub price: Option<Price>,
    /// USD that may be spent.
    pub most_usd: Option<f64>,
    /// Fields that are added to every request.
    pub extra: Map<String, Value>,
    /// Parameters that are left out.
    pub without: Vec<String>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            kind: Kind::Api,
            model: String::new(),
            urls: Vec::new(),
            secrets: Secrets::default(),
            certificates: None,
            in_flight: None,
            retries: 6,
            clocks: Clocks::default(),
            wait_server: Duration::from_secs(30 * 60),
            chat: false,
            cloze: Cloze::Exact,
            thinks: None,
            effort: None,
            accepts_drift: false,
            sends_key_in_clear: false,
            price: None,
            most_usd: None,
            extra: Map::new(),
            without: Vec::new(),
        }
    }
}

impl Options {
    /// Fields that are added to every request: the user's, and how a model is to think.
    fn fields(&self) -> Map<String, Value> {
        let mut fields = self.extra.clone();
        if let Some(thinks) = self.thinks {
            let given = fields
                .entry("chat_template_kwargs")
                .or_insert_with(|| Value::Object(Map::new()));
            if let Some(given) = given.as_object_mut() {
                given.insert("enable_thinking".to_owned(), thinks.into());
            }
        }
        if let Some(effort) = &self.effort {
            fields.insert("reasoning_effort".to_owned(), effort.clone().into());
        }
        fields
    }
}

/// How exactly cloze exams must be scored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cloze {
    /// By a way that gives the harness's log-likelihood, or not at all.
    Exact,
    /// Where no such way works, by the likeliest tokens: bounds, flagged row by row.
    Partial,
    /// Not scored: put as a chat, the first token of the answer read. Another measure by another name.
    Chat,
    /// Not tried.
    Off,
}

/// Fields that requests have already.
const RESERVED: [&str; 14] = [
    "prompt",
    "messages",
    "model",
    "seed",
    "stream",
    "stream_options",
    "logprobs",
    "n",
    "stop",
    "temperature",
    "top_p",
    "top_k",
    "max_tokens",
    "echo",
];

/// A server that passed the handshake.
pub struct RemoteEngine {
    runtime: tokio::runtime::Runtime,
    models: Vec<Model>,
    served: Served,
    options: Options,
}

impl std::fmt::Debug for RemoteEngine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RemoteEngine")
            .field("served", &self.served)
            .finish_non_exhaustive()
    }
}

/// Refuses what is no server's address.
///
/// # Errors
/// As it says, without repeating a password.
pub fn check_address(url: &str) -> Result<()> {
    Address::parse(url).map(drop)
}

impl RemoteEngine {
    /// What the handshake found.
    pub fn served(&self) -> &Served {
        &self.served
    }
}

/// Reaches the servers and tries what they can; `watch` hears each step and can stop it.
///
/// # Errors
/// Where no exam is possible there, the replicas differ, or it was stopped.
pub fn connect(options: Options, watch: &mut dyn FnMut(String) -> ControlFlow<()>) -> Result<RemoteEngine> {
    for name in options.extra.keys() {
        ensure!(
            !RESERVED.contains(&name.as_str()),
            "--extra-body sets {name}, which is set by an option of its own or belongs to the exam"
        );
    }
    let facts = options.kind.facts();
    let urls = match (options.urls.as_slice(), facts.url) {
        ([], Some(url)) => vec![url.to_owned()],
        ([], None) => bail!("{}: needs --base-url, the server's address", facts.name),
        (urls, _) => urls.to_vec(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("no runtime for the network")?;
    let mut models = Vec::new();
    let mut first: Option<Served> = None;
    for url in &urls {
        let address = Address::parse(url)?;
        let is_safe = address.is_encrypted() || address.is_private() || options.sends_key_in_clear;
        if options.secrets.key.is_some() && !is_safe {
            bail!(
                "{}: the key would go over the network in the clear; use https, or --allow-plain-http",
                address.host()
            );
        }
        let client = Client::new(
            address,
            options.secrets.clone(),
            options.clocks,
            options.certificates.as_deref(),
        )?;
        let mut model = Model {
            extra: options.fields(),
            without: options.without.clone(),
            price: options.price,
            ..Model::new(client, options.kind)
        };
        let served = reach(&runtime, &mut model, &options, watch)?;
        match &first {
            None => first = Some(served),
            Some(first) => agree(first, &served)?,
        }
        models.push(model);
    }
    let mut served = first.context("no server was named")?;
    served.replicas = models.len();
    served.sent = models.first().map(Model::neutral).unwrap_or_default();
    served.price = options.price;
    served.accepts_drift = options.accepts_drift;
    served.thinking = options.thinks;
    if let Some(template) = &mut served.chat_template {
        template.thinks = options.thinks;
    }
    Ok(RemoteEngine {
        runtime,
        models,
        served,
        options,
    })
}

/// One server's handshake, again while it is loading or busy.
fn reach(
    runtime: &tokio::runtime::Runtime,
    model: &mut Model,
    options: &Options,
    watch: &mut dyn FnMut(String) -> ControlFlow<()>,
) -> Result<Served> {
    const TRIES: u32 = 6;
    let (chat, alone) = (options.chat, options.in_flight == Some(1));
    let begun = std::time::Instant::now();
    for attempt in 0.. {
        let mut stopped = false;
        let shaken = runtime.block_on(handshake::shake(
            model,
            (&options.model, options.cloze),
            (chat, alone),
            &mut |step| {
                stopped |= watch(step).is_break();
            },
        ));
        if stopped {
            bail!("stopped before the first question");
        }
        let fault = match shaken {
            Ok(served) => return Ok(served),
            Err(fault) => fault,
        };
        let wait = match &fault {
            Fault::Busy { wait, .. } => wait.unwrap_or(Duration::from_secs(2)).min(Duration::from_secs(60)),
            Fault::Gone { is_loading: true, .. } | Fault::Retry { .. } => Duration::from_secs(1 << attempt.min(4)),
            Fault::Gone { .. } | Fault::Refused { .. } | Fault::Ends(_) => bail!("{}", fault.cause()),
        };
        let is_loading = matches!(fault, Fault::Gone { .. }) && begun.elapsed() < options.wait_server;
        if attempt + 1 >= TRIES && !is_loading {
            bail!("{}: {}", model.client.address.host(), fault.cause());
        }
        if watch(format!(
            "{}; asking again in {} s",
            fault.cause(),
            wait.as_secs().max(1)
        ))
        .is_break()
        {
            bail!("stopped before the first question");
        }
        std::thread::sleep(wait);
    }
    unreachable!("the loop returns")
}

/// Refuses replicas that are not the same server with the same model.
fn agree(one: &Served, other: &Served) -> Result<()> {
    if let Some(changed) = one.identity().changed(&other.identity()) {
        bail!(
            "{} is not the same as {}: {changed}; replicas serve one model by one version of one server",
            other.url,
            one.url
        );
    }
    Ok(())
}
