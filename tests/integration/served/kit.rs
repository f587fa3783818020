//! A server that stands in for a real one: it answers as vLLM does, keeps its own count, and breaks where it is told to.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

/// What goes wrong with one request.
#[derive(Debug, Clone)]
pub enum Fault {
    /// This status, with headers and a body.
    Status(u16, Vec<(String, String)>, String),
    /// The connection ends after so many bytes of the answer.
    Cut(usize),
    /// The stream ends without a reason to end.
    NoFinish,
    /// Something that is no JSON.
    Garbage,
    /// So many bytes of the answer, then nothing, for so long.
    Silent(usize, Duration),
    /// A stream with these lines in place of the answer.
    Stream(Vec<String>),
}

/// How the server differs from a faultless one.
#[derive(Debug, Clone, Default)]
pub struct Ways {
    pub ignores_seed: bool,
    pub fixed_seed: bool,
    pub ignores_top_k: bool,
    pub ignores_token_ids: bool,
    pub ignores_bias: bool,
    pub ignores_echo: bool,
    /// Answers of chats begin with a thought.
    pub thinks: bool,
    /// Every log-probability is 0.
    pub processed: bool,
    pub version: &'static str,
    /// A stream goes out byte by byte.
    pub byte_by_byte: bool,
    /// Likeliest tokens that it tells at most; 0 is twenty.
    pub most_told: usize,
}

/// Decides which fault a completion request meets, by its number from 0; handshakes are counted too.
type Plan = dyn Fn(usize, &Value) -> Option<Fault> + Send + Sync;

/// The server.
pub struct StandIn {
    pub address: SocketAddr,
    pub requests: Arc<AtomicUsize>,
    /// Headers of all requests.
    pub heads: Arc<Mutex<Vec<String>>>,
    is_open: Arc<AtomicBool>,
    build: Arc<Build>,
}

/// What changes when the server is started anew.
#[derive(Debug, Default)]
struct Build {
    /// Changes its fingerprint.
    settings: AtomicUsize,
    /// Changes its version too.
    version: AtomicUsize,
}

impl StandIn {
    pub fn start(ways: Ways, plan: impl Fn(usize, &Value) -> Option<Fault> + Send + Sync + 'static) -> StandIn {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        StandIn::on(listener, ways, Arc::new(plan))
    }

    fn on(listener: TcpListener, ways: Ways, plan: Arc<Plan>) -> StandIn {
        let server = StandIn {
            address: listener.local_addr().unwrap(),
            requests: Arc::default(),
            heads: Arc::default(),
            is_open: Arc::new(AtomicBool::new(true)),
            build: Arc::default(),
        };
        let (requests, heads, is_open, build) = (
            Arc::clone(&server.requests),
            Arc::clone(&server.heads),
            Arc::clone(&server.is_open),
            Arc::clone(&server.build),
        );
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { continue };
                if !is_open.load(Ordering::SeqCst) {
                    // A server that is gone: nothing is read, nothing is said.
                    continue;
                }
                let (ways, plan, build) = (ways.clone(), Arc::clone(&plan), Arc::clone(&build));
                let (requests, heads, is_open) = (Arc::clone(&requests), Arc::clone(&heads), Arc::clone(&is_open));
                std::thread::spawn(move || {
                    let _ = serve(stream, (&ways, &build), plan.as_ref(), (&requests, &heads, &is_open));
                });
            }
        });
        server
    }

    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Goes away, for so long.
    pub fn away(&self, how_long: Duration) {
        self.is_open.store(false, Ordering::SeqCst);
        let is_open = Arc::clone(&self.is_open);
        std::thread::spawn(move || {
            std::thread::sleep(how_long);
            is_open.store(true, Ordering::SeqCst);
        });
    }

    /// Is another build from now on: other settings, or another version too.
    pub fn renew(&self, version: bool) {
        self.build.settings.fetch_add(1, Ordering::SeqCst);
        self.build.version.fetch_add(usize::from(version), Ordering::SeqCst);
    }

    pub fn count(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

fn serve(
    stream: TcpStream,
    (ways, build): (&Ways, &Build),
    plan: &Plan,
    (requests, heads, is_open): (&AtomicUsize, &Mutex<Vec<String>>, &AtomicBool),
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    loop {
        let mut head = String::new();
        let mut length = 0;
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap_or(0);
            }
            if line == "\r\n" {
                break;
            }
            head.push_str(&line);
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        if !is_open.load(Ordering::SeqCst) {
            return Ok(());
        }
        let path = head.split_whitespace().nth(1).unwrap_or_default().to_owned();
        heads.lock().unwrap().push(head);
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        let path = path.split('?').next().unwrap_or_default();
        let is_asked = path.ends_with("/completions");
        let fault = is_asked
            .then(|| plan(requests.fetch_add(1, Ordering::SeqCst), &body))
            .flatten();
        let whole = match &fault {
            Some(Fault::Status(status, headers, text)) => response(*status, headers, text),
            Some(Fault::Garbage) => response(200, &[], "{\"choices\": [{"),
            Some(Fault::Stream(lines)) => chunked(lines),
            _ => answer(path, &body, (ways, build), matches!(fault, Some(Fault::NoFinish))),
        };
        match fault {
            Some(Fault::Cut(bytes)) => {
                stream.write_all(&whole[..bytes.min(whole.len())])?;
                return Ok(());
            }
            Some(Fault::Silent(bytes, how_long)) => {
                stream.write_all(&whole[..bytes.min(whole.len())])?;
                stream.flush()?;
                std::thread::sleep(how_long);
                return Ok(());
            }
            _ if ways.byte_by_byte => {
                for byte in &whole {
                    stream.write_all(&[*byte])?;
                }
            }
            _ => stream.write_all(&whole)?,
        }
        stream.flush()?;
    }
}

fn response(status: u16, headers: &[(String, String)], body: &str) -> Vec<u8> {
    let headers: String = headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    format!(
        "HTTP/1.1 {status} X\r\nContent-Length: {}\r\n{headers}\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// A token a letter with its blank, else one a byte.
pub fn tokens(text: &str) -> Vec<u32> {
    let bytes = text.as_bytes();
    let (mut tokens, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let is_letter = bytes[at] == b' '
            && bytes.get(at + 1).is_some_and(|byte| (b'A'..=b'J').contains(byte))
            && bytes.get(at + 2).is_none_or(|byte| !byte.is_ascii_alphanumeric());
        if is_letter {
            tokens.push(1000 + u32::from(bytes[at + 1]));
            at += 2;
        } else {
            tokens.push(u32::from(bytes[at]));
            at += 1;
        }
    }
    tokens
}

/// The log-probability of a token after a prompt: any function of both, a distribution over ten letters and one other.
pub fn logprob(prompt: &str, token: u32) -> f64 {
    let mix = prompt.bytes().fold(u64::from(token) * 7919, |hash, byte| {
        hash.wrapping_mul(31).wrapping_add(u64::from(byte))
    });
    -3.0 - (mix % 997) as f64 / 400.0
}

/// What is written after a prompt with a seed.
pub fn written(prompt: &str, seed: i64) -> String {
    let letter = char::from(b'A' + ((prompt.len() as i64 + seed * 3).rem_euclid(10)) as u8);
    format!(
        "Seed {seed} thinks for a while about {} letters. The answer is ({letter}).",
        prompt.len()
    )
}

fn answer(path: &str, body: &Value, (ways, build): (&Ways, &Build), never_ends: bool) -> Vec<u8> {
    let ok = |value: Value| response(200, &[], &value.to_string());
    if path.ends_with("/models") {
        return ok(
            json!({"object": "list", "data": [{"id": "stand-in", "owned_by": "vllm", "root": "org/stand-in", "max_model_len": 4096}]}),
        );
    }
    if path.ends_with("/version") {
        let version = if ways.version.is_empty() { "1.0" } else { ways.version };
        let version = match build.version.load(Ordering::SeqCst) {
            0 => version.to_owned(),
            build => format!("{version}+{build}"),
        };
        return ok(json!({"version": version}));
    }
    let text = |name: &str| body[name].as_str().unwrap_or_default();
    let prompt = text("prompt");
    if path.ends_with("/tokenize") {
        return ok(json!({"tokens": tokens(prompt)}));
    }
    if !path.ends_with("/completions") {
        return response(404, &[], "{\"detail\": \"Not Found\"}");
    }
    if body["stream"].as_bool() == Some(true) {
        let turns = body["messages"].as_array();
        let chat = turns
            .and_then(|turns| turns.last())
            .and_then(|turn| turn["content"].as_str());
        return streamed(chat.unwrap_or(prompt), body, (ways, build), never_ends);
    }
    let lp = |token: u32| if ways.processed { 0.0 } else { logprob(prompt, token) };
    let usage = json!({"prompt_tokens": tokens(prompt).len(), "completion_tokens": 1});
    let choice = |logprobs: Value| {
        ok(
            json!({"model": "stand-in", "choices": [{"text": "x", "finish_reason": "length", "logprobs": logprobs}], "usage": usage}),
        )
    };
    if body["echo"].as_bool() == Some(true) && !ways.ignores_echo {
        let all = tokens(prompt);
        let told: Vec<Value> = all
            .iter()
            .enumerate()
            .map(|(at, token)| {
                if at == 0 {
                    Value::Null
                } else {
                    json!(logprob(&before(prompt, &all, at), *token))
                }
            })
            .collect();
        let names: Vec<String> = all.iter().map(|token| format!("token_id:{token}")).collect();
        return choice(json!({"tokens": names, "token_logprobs": told, "top_logprobs": null}));
    }
    if let (Some(ids), false) = (body["logprob_token_ids"].as_array(), ways.ignores_token_ids) {
        let mut top: BTreeMap<String, f64> = ids
            .iter()
            .map(|id| (format!("token_id:{id}"), lp(id.as_u64().unwrap() as u32)))
            .collect();
        top.insert("token_id:7".into(), -0.5);
        return choice(json!({"tokens": ["token_id:7"], "token_logprobs": [-0.5], "top_logprobs": [top]}));
    }
    let most = if ways.most_told == 0 { 20 } else { ways.most_told };
    let wanted = body["logprobs"].as_u64().unwrap_or(0) as usize;
    if wanted > most {
        let said = json!({"error": {"message": format!("logprobs must be at most {most}"), "param": "logprobs"}});
        return response(400, &[], &said.to_string());
    }
    if wanted > 1 {
        let top: BTreeMap<String, f64> = likeliest(prompt).into_iter().take(wanted).collect();
        return choice(json!({"tokens": [" zebra"], "token_logprobs": [-0.5], "top_logprobs": [top]}));
    }
    let forced = body["logit_bias"]
        .as_object()
        .and_then(|bias| bias.keys().next())
        .and_then(|id| id.parse::<u32>().ok());
    let token = forced.filter(|_| !ways.ignores_bias).unwrap_or(7);
    choice(
        json!({"tokens": [format!("token_id:{token}")], "token_logprobs": [lp(token)], "top_logprobs": [{"token_id:7": -0.5}]}),
    )
}

/// The tokens after a prompt, the likeliest first: the ten letters among those that nobody asked for.
pub fn likeliest(prompt: &str) -> Vec<(String, f64)> {
    let letters = (b'A'..=b'J').map(|letter| {
        let text = format!(" {}", char::from(letter));
        let logprob = logprob(prompt, tokens(&text)[0]);
        (text, logprob)
    });
    let others = (0..8).map(|other| (format!("other {other}"), -3.0 - 0.35 * f64::from(other)));
    let mut all: Vec<(String, f64)> = letters.chain(others).chain([(" zebra".to_owned(), -0.5)]).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    all
}

/// A stream of lines, as they are.
fn chunked(lines: &[String]) -> Vec<u8> {
    let mut out = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for line in lines {
        out.extend(format!("{:x}\r\n{line}\n\n\r\n", line.len() + 2).into_bytes());
    }
    out.extend(b"0\r\n\r\n");
    out
}

/// The text before a token of a prompt.
fn before(prompt: &str, all: &[u32], at: usize) -> String {
    let bytes: usize = all[..at].iter().map(|token| if *token >= 1000 { 2 } else { 1 }).sum();
    prompt[..bytes].to_owned()
}

fn streamed(prompt: &str, body: &Value, (ways, build): (&Ways, &Build), never_ends: bool) -> Vec<u8> {
    static DRAWN: AtomicUsize = AtomicUsize::new(0);
    let seed = match () {
        () if ways.ignores_seed => 100 + DRAWN.fetch_add(1, Ordering::SeqCst) as i64,
        () if ways.fixed_seed => 7,
        () => body["seed"].as_i64().unwrap_or(0),
    };
    let seed = if body["top_k"] == 1 && !ways.ignores_top_k {
        0
    } else {
        seed
    };
    let mut text = written(prompt, seed);
    let mut stop = Value::Null;
    for word in body["stop"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if let Some(at) = text.find(word) {
            text.truncate(at);
            stop = word.into();
        }
    }
    let mut out = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    let mut push = |text: &str| out.extend(format!("{:x}\r\n{text}\r\n", text.len()).into_bytes());
    push(": a sign of life\n\n");
    let is_chat = body["messages"].is_array();
    if is_chat && ways.thinks {
        push(&format!(
            "data: {}\n\n",
            json!({"choices": [{"delta": {"content": null, "reasoning_content": "Well."}}]})
        ));
    }
    for piece in text.split_inclusive(' ') {
        let choice = if is_chat {
            json!({"delta": {"content": piece}})
        } else {
            json!({"text": piece})
        };
        push(&format!("data: {}\n\n", json!({"choices": [choice]})));
    }
    if !never_ends {
        push(&format!(
            "data: {}\n\n",
            json!({"choices": [{"text": "", "finish_reason": "stop", "stop_reason": stop}]})
        ));
        let usage = json!({"prompt_tokens": tokens(prompt).len(), "completion_tokens": text.split(' ').count()});
        let fingerprint = format!("stand-in-{}", build.settings.load(Ordering::SeqCst));
        push(&format!(
            "data: {}\n\n",
            json!({"choices": [], "usage": usage, "system_fingerprint": fingerprint, "model": "stand-in"})
        ));
    }
    push("data: [DONE]\n\n");
    out.extend(b"0\r\n\r\n");
    out
}
