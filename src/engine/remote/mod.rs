//! A model behind an OpenAI-compatible server, asked by many requests at once.
//!
//! One thread, one loop: requests are futures, the watcher is called between them. An answer is told when it is whole; what
//! breaks off is thrown away and asked again; a server that goes away pauses the loop and no answer is lost or invented.

mod ask;
mod events;
mod fault;
mod handshake;
mod http;
mod kinds;
mod limit;
mod pump;
mod served;
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
            extra: Map::new(),
            without: Vec::new(),
        }
    }
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
        if options.secrets.key.is_some() && !address.is_encrypted() && !address.is_private() {
            bail!(
                "{}: the key would go over the network in the clear; use https",
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
            client,
            kind: options.kind,
            name: String::new(),
            extra: options.extra.clone(),
            without: options.without.clone(),
            bos: None,
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
    for attempt in 0.. {
        let mut stopped = false;
        let shaken = runtime.block_on(handshake::shake(model, &options.model, (chat, alone), &mut |step| {
            stopped |= watch(step).is_break();
        }));
        if stopped {
            bail!("stopped before the first question");
        }
        let fault = match shaken {
            Ok(served) => return Ok(served),
            Err(fault) => fault,
        };
        let wait = match &fault {
            Fault::Busy { wait, .. } => wait.unwrap_or(Duration::from_secs(2)).min(Duration::from_secs(60)),
            Fault::Gone { .. } | Fault::Retry { .. } => Duration::from_secs(1 << attempt.min(4)),
            Fault::Refused { .. } | Fault::Ends(_) => bail!("{}", fault.cause()),
        };
        if attempt + 1 >= TRIES {
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
    let of = |served: &Served| {
        (
            served.kind,
            served.version.clone(),
            served.model.clone(),
            served.context,
            served.quantization.clone(),
            served.cloze,
        )
    };
    ensure!(
        of(one) == of(other),
        "{} is not the same as {}: {} against {}; replicas serve one model by one version of one server",
        other.url,
        one.url,
        other.findings().join(", "),
        one.findings().join(", ")
    );
    Ok(())
}
