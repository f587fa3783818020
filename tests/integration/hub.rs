//! Fetching from the hub, against a stand-in for it on this machine that answers as the hub does: redirects to another
//! host for large files, checksums in headers, ranges, private and gated repositories.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::Result;
use markbook::hub::{Found, ModelName, Progress, Settings, Stopped, Token};
use sha2::{Digest, Sha256};

const FIRST: &str = "1111111111111111111111111111111111111111";
const SECOND: &str = "2222222222222222222222222222222222222222";
const SECRET: &str = "hf_never_to_be_seen";

/// A request as it came in.
#[derive(Debug, Clone, Default)]
struct Seen {
    host: String,
    path: String,
    range: Option<String>,
    authorization: Option<String>,
}

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    IgnoresRanges,
    /// Sends other bytes than it promised.
    Corrupts,
    /// Accepts and then says nothing.
    Silent,
    /// Lists files, and answers every question for one with a page to sign in, called this (nothing: no type).
    SignsIn(&'static str),
    /// Sends files without a length and without an end.
    Endless,
    /// Sends partial answers that begin elsewhere than asked.
    LiesAboutRanges,
}

/// What the stand-in holds and how it misbehaves.
#[derive(Default)]
struct State {
    /// `models/org/name` or `datasets/org/name`, then commit, then file.
    repositories: BTreeMap<String, BTreeMap<String, BTreeMap<String, Vec<u8>>>>,
    /// Repository and revision to commit.
    revisions: BTreeMap<(String, String), String>,
    private: BTreeSet<String>,
    gated: BTreeSet<String>,
    /// How many bytes of a body are sent before the connection is cut, for the next bodies of large files.
    cuts: Vec<usize>,
    fault: Option<Fault>,
    /// Answers everything with this status.
    status: Option<u16>,
    /// The next one to knock ends the server.
    is_closed: bool,
    /// Where everything is sent on to.
    moved_to: Option<String>,
    seen: Vec<Seen>,
}

/// The stand-in server; it goes when dropped.
struct Hub {
    port: u16,
    state: Arc<Mutex<State>>,
}

impl Hub {
    fn start() -> Hub {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let state = Arc::clone(&shared);
                if state.lock().unwrap().is_closed {
                    return;
                }
                std::thread::spawn(move || serve(stream.unwrap(), port, &state));
            }
        });
        Hub { port, state }
    }

    fn with<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock().unwrap())
    }

    /// Puts files into a repository at a commit, to which `revision` then leads.
    fn put(&self, repository: &str, revision: &str, commit: &str, files: &[(&str, &[u8])]) {
        self.with(|state| {
            let commits = state.repositories.entry(repository.into()).or_default();
            let held = commits.entry(commit.into()).or_default();
            held.extend(
                files
                    .iter()
                    .map(|(name, content)| ((*name).to_owned(), content.to_vec())),
            );
            for revision in [revision, commit] {
                state
                    .revisions
                    .insert((repository.into(), revision.into()), commit.into());
            }
        });
    }

    fn put_model(&self) -> Vec<u8> {
        let weights = noise(700_000);
        self.put(
            "models/org/model",
            "main",
            FIRST,
            &small_files(&[("model.safetensors", &weights)]),
        );
        weights
    }

    fn seen(&self) -> Vec<Seen> {
        self.with(|state| std::mem::take(&mut state.seen))
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        // Wakes the listener, which then closes its door.
        self.with(|state| state.is_closed = true);
        TcpStream::connect(("127.0.0.1", self.port)).ok();
        while TcpStream::connect(("127.0.0.1", self.port)).is_ok() {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

fn small_files<'a>(others: &[(&'a str, &'a [u8])]) -> Vec<(&'a str, &'a [u8])> {
    let mut files: Vec<(&str, &[u8])> = vec![
        ("README.md", b"not needed"),
        ("config.json", br#"{"model_type":"llama"}"#),
        ("tokenizer.json", br#"{"model":{}}"#),
        ("tokenizer_config.json", b"{}"),
        ("pytorch_model.bin", b"not needed either"),
    ];
    files.extend(others);
    files
}

/// What begins as weights do: the length of a header, and the header.
fn weights() -> Vec<u8> {
    [&2_u64.to_le_bytes(), b"{}".as_slice(), &noise(900)].concat()
}

/// Bytes without a pattern, the same every time.
fn noise(length: usize) -> Vec<u8> {
    let mut word = 7_u32;
    let mut next = || {
        word = word.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (word >> 24) as u8
    };
    (0..length).map(|_| next()).collect()
}

fn sha256(content: &[u8]) -> String {
    format!("{:x}", Sha256::digest(content))
}

fn serve(stream: TcpStream, port: u16, state: &Mutex<State>) {
    let mut lines = BufReader::new(stream.try_clone().unwrap())
        .lines()
        .map_while(Result::ok);
    let Some(first) = lines.next() else { return };
    let path = first.split(' ').nth(1).unwrap_or("").to_owned();
    let mut seen = Seen {
        path,
        ..Seen::default()
    };
    for line in lines.take_while(|line| !line.is_empty()) {
        let Some((name, value)) = line.split_once(": ") else {
            continue;
        };
        match name.to_lowercase().as_str() {
            "host" => value.clone_into(&mut seen.host),
            "range" => seen.range = Some(value.to_owned()),
            "authorization" => seen.authorization = Some(value.to_owned()),
            _ => {}
        }
    }
    let mut state = state.lock().unwrap();
    state.seen.push(seen.clone());
    if state.fault == Some(Fault::Silent) {
        drop(state);
        std::thread::sleep(Duration::from_secs(20));
        return;
    }
    let is_endless = state.fault == Some(Fault::Endless) && !seen.path.starts_with("/api/");
    let answer = answer(&mut state, &seen, port);
    drop(state);
    if is_endless {
        return pour_without_end(stream);
    }
    answer.send(stream);
}

/// Zeros in chunks, until the reader leaves or 3 GB are sent.
fn pour_without_end(mut stream: TcpStream) {
    let head = "HTTP/1.1 200 -\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n";
    let chunk = [b"100000\r\n".as_slice(), &[0; 0x10_0000], b"\r\n"].concat();
    let mut sent = stream.write_all(head.as_bytes());
    for _ in 0..3_000 {
        if sent.is_err() {
            return;
        }
        sent = stream.write_all(&chunk);
    }
}

/// What is sent back.
struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
    cut: Option<usize>,
}

impl Answer {
    fn new(status: u16, headers: &[(&'static str, &str)]) -> Answer {
        let headers = headers
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned()))
            .collect();
        Answer {
            status,
            headers,
            body: Vec::new(),
            cut: None,
        }
    }

    fn send(self, mut stream: TcpStream) {
        let first = format!("HTTP/1.1 {} -\r\nConnection: close", self.status);
        let length = format!("Content-Length: {}\r\n\r\n", self.body.len());
        let others = self.headers.iter().map(|(name, value)| format!("{name}: {value}"));
        let head = [vec![first], others.collect(), vec![length]].concat().join("\r\n");
        let body = &self.body[..self.cut.unwrap_or(self.body.len()).min(self.body.len())];
        // The reader may have left.
        stream
            .write_all(head.as_bytes())
            .and_then(|()| stream.write_all(body))
            .ok();
    }
}

fn answer(state: &mut State, seen: &Seen, port: u16) -> Answer {
    if let Some(status) = state.status {
        return Answer::new(status, &[]);
    }
    if let Some(place) = &state.moved_to {
        return Answer::new(307, &[("Location", &format!("{place}{}", seen.path))]);
    }
    let path = seen.path.trim_start_matches('/');
    if let Some(Fault::SignsIn(kind)) = state.fault
        && !path.starts_with("api/")
    {
        let kind = [("Content-Type", kind)];
        return Answer {
            body: b"<html>login</html>".to_vec(),
            ..Answer::new(200, if kind[0].1.is_empty() { &[] } else { &kind })
        };
    }
    if let Some(sum) = path.strip_prefix("cdn/") {
        return large(state, seen, sum);
    }
    if let Some(rest) = path.strip_prefix("api/resolve-cache/") {
        return file(state, seen, rest, port, true);
    }
    if let Some((repository, revision)) = path.strip_prefix("api/").and_then(|path| path.split_once("/revision/")) {
        return listing(state, seen, repository, &revision.replace("%2F", "/"));
    }
    if path.starts_with("datasets/") {
        return file(state, seen, path, port, false);
    }
    file(state, seen, &format!("models/{path}"), port, false)
}

fn refusal(state: &State, seen: &Seen, repository: &str, is_list: bool) -> Option<Answer> {
    let is_known = seen.authorization.as_deref() == Some(&format!("Bearer {SECRET}"));
    let is_hidden = state.private.contains(repository) && !is_known;
    if is_hidden || !state.repositories.contains_key(repository) {
        // As the hub does, strangers are not told whether it exists. The token is echoed to see that nobody repeats it.
        let status = if seen.authorization.is_some() { 404 } else { 401 };
        let echo = seen.authorization.clone().unwrap_or_default();
        return Some(Answer::new(
            status,
            &[("X-Error-Code", "RepoNotFound"), ("X-Error-Message", &echo)],
        ));
    }
    let is_closed = state.gated.contains(repository) && !is_known && !is_list;
    is_closed.then(|| Answer::new(403, &[("X-Error-Code", "GatedRepo")]))
}

fn listing(state: &State, seen: &Seen, repository: &str, revision: &str) -> Answer {
    if let Some(refusal) = refusal(state, seen, repository, true) {
        return refusal;
    }
    let Some(commit) = state.revisions.get(&(repository.into(), revision.into())) else {
        return Answer::new(404, &[("X-Error-Code", "RevisionNotFound")]);
    };
    let files = state.repositories[repository][commit].keys();
    let files: Vec<_> = files.map(|name| serde_json::json!({ "rfilename": name })).collect();
    let body = serde_json::json!({ "id": repository, "sha": commit, "siblings": files, "private": false });
    Answer {
        body: body.to_string().into_bytes(),
        ..Answer::new(200, &[("Content-Type", "application/json")])
    }
}

fn file(state: &State, seen: &Seen, path: &str, port: u16, has_moved: bool) -> Answer {
    let parts: Vec<&str> = path.splitn(6, '/').collect();
    let [kind, organisation, name, "resolve", revision, file] = parts[..] else {
        return Answer::new(404, &[]);
    };
    let repository = format!("{kind}/{organisation}/{name}");
    if let Some(refusal) = refusal(state, seen, &repository, false) {
        return refusal;
    }
    let Some(commit) = state.revisions.get(&(repository.clone(), revision.into())) else {
        return Answer::new(404, &[("X-Error-Code", "RevisionNotFound")]);
    };
    let Some(content) = state.repositories[&repository][commit].get(file) else {
        return Answer::new(404, &[("X-Error-Code", "EntryNotFound")]);
    };
    let sum = sha256(content);
    if [".safetensors", ".gguf", ".parquet"]
        .iter()
        .any(|ending| file.ends_with(ending))
    {
        let place = format!("http://localhost:{port}/cdn/{sum}");
        let (etag, size) = (format!("\"{sum}\""), content.len().to_string());
        return Answer::new(
            302,
            &[
                ("Location", &place),
                ("X-Repo-Commit", commit),
                ("X-Linked-ETag", &etag),
                ("X-Linked-Size", &size),
            ],
        );
    }
    if file == "tokenizer_config.json" && !has_moved {
        return Answer::new(
            307,
            &[
                ("Location", &format!("/api/resolve-cache/{path}")),
                ("X-Repo-Commit", commit),
            ],
        );
    }
    let mut answer = ranged(content, seen, false);
    answer.headers.extend([
        ("ETag", format!("W/\"{}\"", &sum[..40])),
        ("X-Repo-Commit", commit.clone()),
    ]);
    answer
}

fn large(state: &mut State, seen: &Seen, sum: &str) -> Answer {
    let contents = state
        .repositories
        .values()
        .flat_map(BTreeMap::values)
        .flat_map(BTreeMap::values);
    let Some(content) = contents.into_iter().find(|content| sha256(content) == sum) else {
        return Answer::new(404, &[]);
    };
    let mut answer = ranged(content, seen, state.fault == Some(Fault::IgnoresRanges));
    if !state.cuts.is_empty() && answer.body.len() > 1 {
        answer.cut = Some(state.cuts.remove(0));
    }
    if state.fault == Some(Fault::LiesAboutRanges) && answer.status == 206 && answer.body.len() > 1 {
        answer.headers = vec![(
            "Content-Range",
            format!("bytes 5-{}/{}", content.len() - 1, content.len()),
        )];
    }
    if state.fault == Some(Fault::Corrupts) {
        answer.body.iter_mut().for_each(|byte| *byte = !*byte);
    }
    answer
}

fn ranged(content: &[u8], seen: &Seen, ignores_ranges: bool) -> Answer {
    let range = seen
        .range
        .as_ref()
        .filter(|_| !ignores_ranges)
        .and_then(|range| range.strip_prefix("bytes="));
    let Some((first, last)) = range.and_then(|range| range.split_once('-')) else {
        return Answer {
            body: content.to_vec(),
            ..Answer::new(200, &[])
        };
    };
    let first: usize = first.parse().unwrap();
    if first >= content.len() {
        return Answer::new(416, &[]);
    }
    let end = last
        .parse::<usize>()
        .map_or(content.len(), |last| (last + 1).min(content.len()));
    let span = format!("bytes {first}-{}/{}", end - 1, content.len());
    Answer {
        body: content[first..end].to_vec(),
        ..Answer::new(206, &[("Content-Range", &span)])
    }
}

/// Somebody who fetches, with an empty cache of their own.
struct User {
    folder: tempfile::TempDir,
    settings: Settings,
    told: Vec<Progress>,
    /// Breaks off once so many bytes of a file are here.
    stop_at: Option<u64>,
}

impl User {
    fn of(hub: &Hub) -> User {
        User::at(&format!("http://127.0.0.1:{}", hub.port))
    }

    fn at(endpoint: &str) -> User {
        let folder = tempfile::tempdir().unwrap();
        let variable = |name: &str| (name == "HF_ENDPOINT").then(|| endpoint.into());
        let home = Some(folder.path());
        let mut settings = Settings::from_variables(&variable, home, home.map(Path::to_owned)).unwrap();
        settings.pause = Duration::from_millis(5);
        settings.silence = Duration::from_secs(20);
        User {
            folder,
            settings,
            told: Vec::new(),
            stop_at: None,
        }
    }

    fn knowing(mut self, token: &str) -> User {
        self.settings.token = Some(Token::new(token));
        self
    }

    fn model(&mut self, name: &str) -> Result<Found> {
        let name = ModelName::parse(name).unwrap();
        self.watched(|settings, watch| settings.model(&name, watch))
    }

    fn data(&mut self, id: &str, config: Option<&str>, splits: &[&str]) -> Result<markbook::hub::FoundData> {
        self.watched(|settings, watch| settings.dataset(id, config, splits, watch))
    }

    fn watched<T>(
        &mut self,
        work: impl FnOnce(&Settings, &mut dyn FnMut(Progress) -> ControlFlow<()>) -> Result<T>,
    ) -> Result<T> {
        self.told.clear();
        let (told, stop_at) = (&mut self.told, self.stop_at);
        work(&self.settings, &mut |progress| {
            let is_enough = matches!(&progress, Progress::File { bytes, .. } if stop_at.is_some_and(|at| *bytes >= at));
            told.push(progress);
            if is_enough {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })
    }

    fn notes(&self) -> String {
        let is_note = |progress: &&Progress| matches!(progress, Progress::Note(_));
        let notes: Vec<String> = self.told.iter().filter(is_note).map(Progress::to_string).collect();
        notes.join("\n")
    }

    /// All that was told, as text.
    fn shown(&self) -> String {
        let lines: Vec<String> = self
            .told
            .iter()
            .map(|progress| format!("{progress} {progress:?}"))
            .collect();
        lines.join("\n")
    }

    fn blobs(&self) -> Vec<String> {
        let folder = self.settings.cache.join("models--org--model/blobs");
        let names = std::fs::read_dir(folder).into_iter().flatten();
        let mut names: Vec<String> = names
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.retain(|name| Path::new(name).extension().is_none_or(|ending| ending != "lock"));
        names.sort();
        names
    }
}

fn names(found: &Found) -> Vec<&str> {
    found
        .files
        .iter()
        .map(|file| file.file_name().unwrap().to_str().unwrap())
        .collect()
}

fn message<T: std::fmt::Debug>(result: Result<T>) -> String {
    format!("{:#}", result.unwrap_err())
}

#[test]
fn a_model_is_fetched_once_and_then_found_without_the_hub() {
    let hub = Hub::start();
    let weights = hub.put_model();
    let mut user = User::of(&hub);
    let found = user.model("org/model").unwrap();
    assert_eq!(
        names(&found),
        [
            "config.json",
            "tokenizer.json",
            "tokenizer_config.json",
            "model.safetensors"
        ]
    );
    assert_eq!(std::fs::read(found.path.join("model.safetensors")).unwrap(), weights);
    assert_eq!(
        (found.id.as_str(), found.revision.as_deref()),
        ("org/model", Some(FIRST))
    );
    let repository = user.folder.path().join(".cache/huggingface/hub/models--org--model");
    assert_eq!(found.path, repository.join("snapshots").join(FIRST));
    assert_eq!(std::fs::read_to_string(repository.join("refs/main")).unwrap(), FIRST);
    assert!(repository.join("blobs").join(sha256(&weights)).is_file());

    hub.seen();
    assert_eq!(user.model("org/model").unwrap(), found);
    let asked: Vec<String> = hub.seen().into_iter().map(|seen| seen.path).collect();
    assert_eq!(
        asked,
        ["/api/models/org/model/revision/main"],
        "only whether the branch has moved"
    );

    drop(hub);
    assert_eq!(user.model("org/model").unwrap(), found);
    assert!(
        user.notes().contains("cached copy") && user.notes().contains(FIRST),
        "{}",
        user.notes()
    );
    assert_eq!(user.model(&format!("org/model@{FIRST}")).unwrap(), found);
    assert!(user.told.is_empty(), "a commit does not move: {:?}", user.told);
}

#[test]
fn progress_tells_bytes_up_to_the_end_and_the_place_in_the_list() {
    let hub = Hub::start();
    let weights = hub.put_model();
    let mut user = User::of(&hub);
    user.model("org/model").unwrap();
    let last = user
        .told
        .iter()
        .rev()
        .find(|progress| matches!(progress, Progress::File { .. }))
        .unwrap();
    let Progress::File {
        what,
        name,
        index,
        of,
        bytes,
        total,
        ..
    } = last
    else {
        unreachable!()
    };
    assert_eq!(
        (what.as_str(), name.as_str(), *index, *of),
        ("org/model", "model.safetensors", 4, 4)
    );
    assert_eq!((*bytes, *total), (weights.len() as u64, Some(weights.len() as u64)));
    assert!(
        last.to_string()
            .starts_with("org/model…  model.safetensors 4/4  700.0 / 700.0 kB"),
        "{last}"
    );
}

#[test]
fn a_private_model_opens_with_the_token_which_stays_with_the_hub() {
    let hub = Hub::start();
    hub.put_model();
    hub.with(|state| state.private.insert("models/org/model".into()));
    let mut user = User::of(&hub).knowing(SECRET);
    user.model("org/model").unwrap();
    let (other, own): (Vec<Seen>, Vec<Seen>) = hub
        .seen()
        .into_iter()
        .partition(|seen| seen.host.starts_with("localhost"));
    assert!(
        !own.is_empty()
            && own
                .iter()
                .all(|seen| seen.authorization.as_deref() == Some(&format!("Bearer {SECRET}")))
    );
    assert!(
        !other.is_empty() && other.iter().all(|seen| seen.authorization.is_none()),
        "{other:?}"
    );
    assert!(!user.shown().contains(SECRET));

    let error = message(User::of(&hub).model("org/model"));
    assert!(
        error.contains("private") && error.contains("set HF_TOKEN") && error.contains("401"),
        "{error}"
    );
    let mut stranger = User::of(&hub).knowing("hf_wrong");
    let error = message(stranger.model("org/model"));
    assert!(
        error.contains("HF_TOKEN") && error.contains("does not open it"),
        "{error}"
    );
    assert!(
        !error.contains("hf_wrong") && !stranger.shown().contains("hf_wrong"),
        "{error}"
    );
}

#[test]
fn a_gated_model_says_so() {
    let hub = Hub::start();
    hub.put_model();
    hub.with(|state| state.gated.insert("models/org/model".into()));
    let error = message(User::of(&hub).model("org/model"));
    assert!(
        error.contains("gated") && error.contains("HF_TOKEN") && error.contains("403"),
        "{error}"
    );
    User::of(&hub).knowing(SECRET).model("org/model").unwrap();
}

#[test]
fn a_revision_is_fetched_as_it_was() {
    let hub = Hub::start();
    hub.put(
        "models/org/model",
        "refs/pr/1",
        FIRST,
        &small_files(&[("model.safetensors", b"old")]),
    );
    hub.put(
        "models/org/model",
        "main",
        SECOND,
        &small_files(&[("model.safetensors", b"new")]),
    );
    let mut user = User::of(&hub);
    for (name, commit, content) in [
        ("org/model@refs/pr/1", FIRST, "old"),
        ("org/model", SECOND, "new"),
        (&format!("org/model@{FIRST}"), FIRST, "old"),
    ] {
        let found = user.model(name).unwrap();
        assert_eq!(found.revision.as_deref(), Some(commit), "{name}");
        assert_eq!(
            std::fs::read_to_string(found.path.join("model.safetensors")).unwrap(),
            content,
            "{name}"
        );
    }
    let error = message(user.model("org/model@v9"));
    assert!(error.contains("no revision \"v9\""), "{error}");
}

#[test]
fn a_moved_branch_is_followed_and_the_old_copy_stands_in_when_the_hub_fails() {
    let hub = Hub::start();
    let old = small_files(&[("model.safetensors", b"old")]);
    hub.put("models/org/model", "main", FIRST, &old);
    let mut user = User::of(&hub);
    user.model("org/model").unwrap();
    hub.put(
        "models/org/model",
        "main",
        SECOND,
        &small_files(&[("model.safetensors", b"newer")]),
    );
    hub.with(|state| state.status = Some(503));
    let found = user.model("org/model").unwrap();
    assert_eq!(found.revision.as_deref(), Some(FIRST));
    assert!(
        user.notes().contains("503") && user.notes().contains("cached copy"),
        "{}",
        user.notes()
    );
    hub.with(|state| state.status = None);
    assert_eq!(user.model("org/model").unwrap().revision.as_deref(), Some(SECOND));
}

#[test]
fn a_cut_connection_is_taken_up_where_it_broke() {
    let hub = Hub::start();
    let weights = hub.put_model();
    hub.with(|state| state.cuts = vec![100_000, 250_000]);
    let mut user = User::of(&hub);
    let found = user.model("org/model").unwrap();
    assert_eq!(std::fs::read(found.path.join("model.safetensors")).unwrap(), weights);
    let ranges: Vec<String> = hub
        .seen()
        .into_iter()
        .filter(|seen| seen.path.starts_with("/cdn/"))
        .filter_map(|seen| seen.range)
        .collect();
    assert_eq!(ranges, ["bytes=100000-", "bytes=350000-"]);
    assert_eq!(user.blobs().iter().filter(|name| name.contains("part")).count(), 0);
}

#[test]
fn a_stopped_download_leaves_nothing_that_looks_whole_and_the_next_start_goes_on() {
    let hub = Hub::start();
    let weights = hub.put_model();
    hub.with(|state| state.cuts = vec![300_000]);
    let mut user = User::of(&hub);
    user.stop_at = Some(300_000);
    assert!(user.model("org/model").unwrap_err().is::<Stopped>());
    let snapshot = user.settings.cache.join("models--org--model/snapshots").join(FIRST);
    assert!(snapshot.join("config.json").is_file() && !snapshot.join("model.safetensors").exists());
    assert!(
        user.blobs().contains(&format!("{}.part", sha256(&weights))),
        "{:?}",
        user.blobs()
    );

    hub.seen();
    user.stop_at = None;
    let found = user.model("org/model").unwrap();
    assert_eq!(std::fs::read(found.path.join("model.safetensors")).unwrap(), weights);
    let bodies: Vec<Seen> = hub
        .seen()
        .into_iter()
        .filter(|seen| seen.path.starts_with("/cdn/"))
        .collect();
    assert_eq!(bodies.len(), 1);
    assert_eq!(bodies[0].range.as_deref(), Some("bytes=300000-"));
}

#[test]
fn a_hub_that_cannot_continue_is_read_from_the_start() {
    let hub = Hub::start();
    let weights = hub.put_model();
    hub.with(|state| (state.cuts, state.fault) = (vec![100_000], Some(Fault::IgnoresRanges)));
    let mut user = User::of(&hub);
    let found = user.model("org/model").unwrap();
    assert_eq!(std::fs::read(found.path.join("model.safetensors")).unwrap(), weights);
}

#[test]
fn a_hub_that_breaks_off_for_good_is_given_up_and_what_came_is_kept() {
    let hub = Hub::start();
    hub.put_model();
    hub.with(|state| state.cuts = [vec![200_000], vec![0; 50]].concat());
    let error = message(User::of(&hub).model("org/model"));
    assert!(
        error.contains("model.safetensors of org/model") && error.contains("200.0 / 700.0 kB"),
        "{error}"
    );
    assert!(error.contains("goes on from there"), "{error}");
}

#[test]
fn other_bytes_than_promised_are_thrown_away() {
    let hub = Hub::start();
    hub.put_model();
    hub.with(|state| state.fault = Some(Fault::Corrupts));
    let mut user = User::of(&hub);
    let error = message(user.model("org/model"));
    assert!(
        error.contains("model.safetensors") && error.contains("sha256"),
        "{error}"
    );
    assert!(user.blobs().iter().all(|name| name.len() < 64), "{:?}", user.blobs());
    hub.with(|state| state.fault = None);
    user.model("org/model").unwrap();
}

#[test]
fn weights_in_several_files_follow_their_index() {
    let hub = Hub::start();
    let index = br#"{"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}}"#;
    let files = small_files(&[
        ("model.safetensors.index.json", index),
        ("model-00001-of-00002.safetensors", b"one"),
        ("model-00002-of-00002.safetensors", b"two"),
        ("model-00003-of-00003.safetensors", b"of something else"),
    ]);
    hub.put("models/org/model", "main", FIRST, &files);
    let mut user = User::of(&hub);
    let found = user.model("org/model").unwrap();
    assert_eq!(
        names(&found)[3..],
        [
            "model.safetensors.index.json",
            "model-00001-of-00002.safetensors",
            "model-00002-of-00002.safetensors"
        ]
    );
    drop(hub);
    assert_eq!(user.model("org/model").unwrap(), found);
    std::fs::remove_file(found.path.join("model-00002-of-00002.safetensors")).unwrap();
    user.settings.offline = true;
    let error = message(user.model("org/model"));
    assert!(error.contains("model-00002-of-00002.safetensors is missing"), "{error}");
}

#[test]
fn a_gguf_file_is_selected_by_name() {
    let hub = Hub::start();
    hub.put(
        "models/org/quants",
        "main",
        FIRST,
        &[("a-Q4_K_M.gguf", b"four"), ("a-Q8_0.gguf", b"eight")],
    );
    let mut user = User::of(&hub);
    let error = message(user.model("org/quants"));
    assert!(
        error.contains("a-Q4_K_M.gguf, a-Q8_0.gguf") && error.contains("--model org/quants:"),
        "{error}"
    );
    let found = user.model("org/quants:Q8_0").unwrap();
    assert_eq!(std::fs::read(&found.path).unwrap(), b"eight");
    assert_eq!(found.id, "org/quants:a-Q8_0.gguf");
    drop(hub);
    assert_eq!(user.model("org/quants:Q8_0").unwrap(), found);
}

#[test]
fn the_splits_of_a_data_set_are_fetched_under_the_hubs_names() {
    let hub = Hub::start();
    let files: [(&str, &[u8]); 5] = [
        ("README.md", b"not needed"),
        ("all/dev-00000-of-00001.parquet", b"dev"),
        ("all/test-00000-of-00002.parquet", b"first"),
        ("all/test-00001-of-00002.parquet", b"second"),
        ("anatomy/test-00000-of-00001.parquet", b"part"),
    ];
    hub.put("datasets/cais/mmlu", "main", FIRST, &files);
    let mut user = User::of(&hub);
    let found = user.data("cais/mmlu", Some("all"), &["test", "dev"]).unwrap();
    assert_eq!((found.id.as_str(), found.revision.as_str()), ("cais/mmlu", FIRST));
    assert_eq!(
        found.splits.iter().map(|split| split.name.as_str()).collect::<Vec<_>>(),
        ["test", "dev"]
    );
    let contents: Vec<_> = found.splits[0]
        .files
        .iter()
        .map(|file| std::fs::read_to_string(file).unwrap())
        .collect();
    assert_eq!(contents, ["first", "second"]);
    assert!(found.splits[1].files[0].starts_with(found.path.join("all")));

    let error = message(user.data("cais/mmlu", Some("all"), &["validation"]));
    assert!(error.contains("no split \"validation\"; it has dev, test"), "{error}");
    drop(hub);
    assert_eq!(user.data("cais/mmlu", Some("all"), &["test", "dev"]).unwrap(), found);
    let error = message(user.data("cais/mmlu", Some("anatomy"), &["test"]));
    assert!(
        error.contains("--data DIR") && error.contains("--data embedded"),
        "{error}"
    );
}

#[test]
fn offline_uses_the_cache_and_asks_nobody() {
    let hub = Hub::start();
    hub.put_model();
    let mut user = User::of(&hub);
    user.settings.offline = true;
    let error = message(user.model("org/model"));
    assert!(
        error.contains("HF_HUB_OFFLINE is set") && error.contains("not in the cache"),
        "{error}"
    );
    user.settings.offline = false;
    let found = user.model("org/model").unwrap();
    hub.seen();
    user.settings.offline = true;
    assert_eq!(user.model("org/model").unwrap(), found);
    assert!(hub.seen().is_empty());
}

#[test]
fn out_of_reach_the_error_says_what_was_tried_and_what_to_do() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let endpoint = format!("http://127.0.0.1:{closed}");
    let start = Instant::now();
    let error = message(User::at(&endpoint).knowing(SECRET).model("org/model"));
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    for said in [
        &endpoint,
        "org/model",
        "--model DIR",
        ".gguf",
        "smollm2-135m",
        "HF_ENDPOINT",
        "HF_HUB_OFFLINE",
    ] {
        assert!(error.contains(said), "{said}: {error}");
    }
    assert!(
        error.contains("markbook fetch org/model") && !error.contains(SECRET),
        "{error}"
    );
    assert!(!error.contains('\n'), "one line: {error}");
}

#[test]
fn a_hub_that_says_nothing_is_left_in_time_or_at_a_break() {
    let hub = Hub::start();
    hub.with(|state| state.fault = Some(Fault::Silent));
    let mut user = User::of(&hub);
    user.settings.silence = Duration::from_millis(300);
    let start = Instant::now();
    let error = message(user.model("org/model"));
    assert!(
        start.elapsed() < Duration::from_secs(10) && error.contains("timeout"),
        "{error}"
    );

    user.settings.silence = Duration::from_secs(20);
    let start = Instant::now();
    let name = ModelName::parse("org/model").unwrap();
    let error = user.settings.model(&name, &mut |_| ControlFlow::Break(())).unwrap_err();
    assert!(error.is::<Stopped>() && start.elapsed() < Duration::from_secs(10));
}

#[test]
fn what_is_no_model_is_refused_by_name() {
    let hub = Hub::start();
    hub.put("models/org/pickled", "main", FIRST, &small_files(&[]));
    let evil: [(&str, &[u8]); 3] = [
        ("config.json", b"{}"),
        ("tokenizer.json", b"{}"),
        ("../../model.safetensors", b"x"),
    ];
    hub.put("models/org/evil", "main", FIRST, &evil);
    let mut user = User::of(&hub);
    for (name, said) in [
        ("org/pickled", "pytorch_model.bin"),
        ("org/evil", "no model.safetensors"),
        ("org/nothing", "org/nothing is not on http://127.0.0.1"),
    ] {
        let error = message(user.model(name));
        assert!(error.contains(said), "{error}");
    }
    assert!(!user.settings.cache.join("models--org--evil").exists());
}

#[test]
fn a_folder_and_a_file_need_no_hub() {
    let mut user = User::at("http://127.0.0.1:1");
    let folder = user.folder.path().join("model");
    std::fs::create_dir(&folder).unwrap();
    let path = folder.to_str().unwrap();
    assert!(message(user.model(path)).contains("no config.json"));
    let gguf = folder.join("small.gguf");
    std::fs::write(&gguf, "GGUF").unwrap();
    assert!(message(user.model(path)).contains("small.gguf"));
    let found = user.model(gguf.to_str().unwrap()).unwrap();
    assert_eq!((&found.path, found.revision), (&gguf, None));
    std::fs::write(folder.join("config.json"), "{}").unwrap();
    assert_eq!(user.model(path).unwrap().path, folder);
}

/// A five-attempt set of two shards with notes on how it was made, private.
fn put_traces(hub: &Hub) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let shard = |from: i64| {
        let path = folder.path().join("shard.parquet");
        let record = |id: i64, attempt: i64| markbook::record::Record {
            question_id: id,
            attempt,
            seed: Some(42 + attempt),
            category: "law".to_owned(),
            subject: "law".to_owned(),
            benchmark: "mmlu_pro".to_owned(),
            reasoning: format!("{attempt} of {id}: the answer is (B)"),
            pick: if id % 4 == 0 { "A" } else { "B" }.to_owned(),
            answer: "B".to_owned(),
            correct: id % 4 != 0,
            ..markbook::record::Record::default()
        };
        let rows: Vec<_> = (from..from + 20)
            .flat_map(|id| (0..5).map(move |attempt| record(id, attempt)))
            .collect();
        markbook::parquet::write_records(&path, &rows, markbook::parquet::Order::AsGiven).unwrap();
        std::fs::read(&path).unwrap()
    };
    let (first, second) = (shard(0), shard(20));
    let notes = br#"{"model": "org/model", "seeds": [42, 43, 44, 45, 46]}"#;
    hub.put(
        "datasets/org/set",
        "main",
        FIRST,
        &[
            ("README.md", b"not needed"),
            ("data/test-00000-of-00002.parquet", &first),
            ("data/test-00001-of-00002.parquet", &second),
            ("provenance/generation.json", notes),
        ],
    );
    hub.with(|state| state.private.insert("datasets/org/set".into()));
    second
}

/// The program, with the stand-in for a hub and a home of its own.
fn program(hub: &Hub, home: &Path, token: Option<&str>, arguments: &[&str]) -> std::process::Output {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_markbook"));
    command
        .args(arguments)
        .current_dir(home)
        .env("HF_ENDPOINT", format!("http://127.0.0.1:{}", hub.port))
        .env("HF_HOME", home.join("hf"))
        .env("MARKBOOK_HOME", home.join("markbook"))
        .env("NO_COLOR", "1")
        .env_remove("HF_TOKEN")
        .env_remove("HF_HUB_OFFLINE")
        .env_remove("HF_HUB_CACHE")
        .stdin(std::process::Stdio::null());
    if let Some(token) = token {
        command.env("HF_TOKEN", token);
    }
    let output = command.output().unwrap();
    for text in [&output.stdout, &output.stderr] {
        assert!(
            !String::from_utf8_lossy(text).contains(SECRET),
            "the token is never shown"
        );
    }
    output
}

fn errors(output: &std::process::Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_private_trace_set_opens_by_its_id_in_every_command() {
    let hub = Hub::start();
    put_traces(&hub);
    let home = tempfile::tempdir().unwrap();
    let refused = program(&hub, home.path(), None, &["stats", "org/set"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(errors(&refused).contains("set HF_TOKEN"), "{}", errors(&refused));
    let run = |arguments: &[&str]| {
        let output = program(&hub, home.path(), Some(SECRET), arguments);
        assert!(output.status.success(), "{arguments:?}: {}", errors(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    let stats: serde_json::Value = serde_json::from_str(&run(&["stats", "org/set", "--json"])).unwrap();
    let runs = stats["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 1, "two shards are one run");
    assert_eq!(
        (&runs[0]["model"], &runs[0]["n"], &runs[0]["questions"]),
        (&"org/set".into(), &200.into(), &40.into())
    );
    assert_eq!((&runs[0]["correct"], &runs[0]["invalid"]), (&150.into(), &0.into()));
    assert_eq!(runs[0]["provenance"]["generation"]["model"], "org/model");
    assert!(
        runs[0]["kind"].as_str().unwrap().contains("org/set@11111111"),
        "{}",
        runs[0]["kind"]
    );
    assert!(hub.seen().iter().any(|seen| seen.authorization.is_some()));
    let table = run(&["stats", "datasets/org/set@main"]);
    assert!(table.contains("provenance · generation · model: org/model"), "{table}");
    let gets = |hub: &Hub| hub.seen().iter().filter(|seen| seen.path.contains("/cdn/")).count();
    assert_eq!(gets(&hub), 0, "what is in the cache is not fetched again");
    assert!(run(&["check", "org/set", "--json"]).contains("problems"));
    let screen = run(&["open", "org/set", "--print"]);
    assert!(screen.contains("org/set") && screen.contains("200"), "{screen}");
    let rows = run(&["export", "org/set", "-f", "wrong q:0", "-o", "-"]);
    assert_eq!(rows.lines().count(), 5, "{rows}");
    let comparison = run(&["compare", "org/set", "org/set@main", "--json"]);
    assert!(comparison.contains("\"paired\": 200"), "{comparison}");
    // A path that exists wins, and says so by its own content.
    std::fs::create_dir_all(home.path().join("org/set")).unwrap();
    let here = program(&hub, home.path(), Some(SECRET), &["stats", "org/set"]);
    assert!(errors(&here).contains("no trace in org/set"), "{}", errors(&here));
    // A file that is missing in a folder that is there is no name of the hub.
    let seen = hub.seen().len();
    let missing = program(&hub, home.path(), Some(SECRET), &["stats", "org/nothing"]);
    assert!(
        errors(&missing).contains("org/nothing: no such file or folder"),
        "{}",
        errors(&missing)
    );
    let missing = program(&hub, home.path(), Some(SECRET), &["stats", "none/set.parquet"]);
    assert!(
        errors(&missing).contains("no such file or folder"),
        "{}",
        errors(&missing)
    );
    assert_eq!((hub.seen().len(), seen > 0), (0, true), "nobody was asked");
}

#[test]
fn a_trace_set_that_broke_off_goes_on_and_half_of_it_is_never_taken_for_the_whole() {
    let hub = Hub::start();
    let shard = put_traces(&hub);
    let mut user = User::of(&hub).knowing(SECRET);
    user.stop_at = Some(shard.len() as u64 / 2);
    let outcome = user.watched(|settings, watch| settings.traces("org/set", watch));
    assert!(outcome.unwrap_err().is::<Stopped>());
    user.stop_at = None;
    user.settings.offline = true;
    for name in ["org/set", &format!("org/set@{FIRST}")] {
        let error = message(user.watched(|settings, watch| settings.traces(name, watch)));
        assert!(
            error.contains("HF_HUB_OFFLINE is set") && error.contains("is not in the cache"),
            "{error}"
        );
        assert!(error.contains("markbook fetch datasets/org/set"), "{error}");
    }
    user.settings.offline = false;
    hub.seen();
    let found = user
        .watched(|settings, watch| settings.traces("org/set", watch))
        .unwrap();
    let names: Vec<&str> = found
        .files
        .iter()
        .map(|file| file.file_name().unwrap().to_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "test-00000-of-00002.parquet",
            "test-00001-of-00002.parquet",
            "generation.json"
        ]
    );
    assert_eq!((found.id.as_str(), found.revision.as_str()), ("org/set", FIRST));
    assert!(found.path.join("data").is_dir());
    user.settings.offline = true;
    for name in ["org/set", &format!("org/set@{FIRST}")] {
        assert_eq!(
            user.watched(|settings, watch| settings.traces(name, watch)).unwrap(),
            found
        );
    }
}

#[test]
fn a_set_without_traces_says_what_it_has() {
    let hub = Hub::start();
    hub.put(
        "datasets/org/none",
        "main",
        FIRST,
        &[("README.md", b"x"), ("notes.txt", b"y")],
    );
    let error = message(User::of(&hub).watched(|settings, watch| settings.traces("org/none", watch)));
    assert!(
        error.contains("org/none has no files that could be traces; it has README.md, notes.txt"),
        "{error}"
    );
}

#[test]
fn the_token_goes_to_the_endpoint_s_own_scheme_host_and_port_and_nowhere_else() {
    let (hub, other) = (Hub::start(), Hub::start());
    let content = weights();
    let files = small_files(&[("model.safetensors", &content)]);
    other.put("models/org/model", "main", FIRST, &files);
    hub.with(|state| state.moved_to = Some(format!("http://127.0.0.1:{}", other.port)));
    let mut user = User::of(&hub).knowing(SECRET);
    user.model("org/model").unwrap();
    let (asked, strange) = (hub.seen(), other.seen());
    assert!(!asked.is_empty() && asked.iter().all(|seen| seen.authorization.is_some()));
    assert!(strange.len() > 1, "{strange:?}");
    assert!(strange.iter().all(|seen| seen.authorization.is_none()), "{strange:?}");
    assert!(!user.shown().contains(SECRET));
}

#[test]
fn a_file_without_an_end_is_left_at_a_limit_and_not_kept() {
    let hub = Hub::start();
    hub.put_model();
    hub.with(|state| state.fault = Some(Fault::Endless));
    let mut user = User::of(&hub);
    let error = message(user.model("org/model"));
    assert!(error.contains("config.json of org/model goes on beyond"), "{error}");
    assert_eq!(user.blobs(), Vec::<String>::new());
}

#[test]
fn a_page_instead_of_a_file_is_refused_and_the_cache_untouched() {
    for kind in [
        "text/html",
        "text/html; charset=utf-8",
        "Application/XHTML+xml",
        "text/plain",
        "",
    ] {
        let hub = Hub::start();
        hub.put_model();
        hub.with(|state| state.fault = Some(Fault::SignsIn(kind)));
        let mut user = User::of(&hub);
        let error = message(user.model("org/model"));
        assert!(
            error.contains("config.json of org/model") && error.contains("an HTML page"),
            "{kind}: {error}"
        );
        assert!(
            error.contains("instead of the file (a proxy or sign-in page?)"),
            "{kind}: {error}"
        );
        assert_eq!(user.blobs(), Vec::<String>::new(), "{kind}");
        assert!(!user.settings.cache.join("models--org--model/refs").exists(), "{kind}");
    }
}

#[test]
fn a_range_that_begins_elsewhere_is_not_taken_for_the_rest() {
    let hub = Hub::start();
    let weights = hub.put_model();
    hub.with(|state| {
        state.fault = Some(Fault::LiesAboutRanges);
        state.cuts = vec![300_000];
    });
    let mut user = User::of(&hub);
    match user.model("org/model") {
        Ok(found) => assert_eq!(std::fs::read(found.path.join("model.safetensors")).unwrap(), weights),
        Err(error) => assert!(!user.blobs().contains(&sha256(&weights)), "{error:#}"),
    }
}

#[test]
fn what_an_earlier_start_left_of_another_content_is_not_gone_on_with() {
    let hub = Hub::start();
    let weights = hub.put_model();
    let mut user = User::of(&hub);
    let blobs = user.settings.cache.join("models--org--model/blobs");
    std::fs::create_dir_all(&blobs).unwrap();
    let config = sha256(br#"{"model_type":"llama"}"#);
    std::fs::write(blobs.join(format!("{}.part", &config[..40])), b"<html>").unwrap();
    std::fs::write(
        blobs.join(format!("{}.part", sha256(&weights))),
        noise(5_000)[1..].to_vec(),
    )
    .unwrap();
    let found = user.model("org/model").unwrap();
    assert_eq!(
        std::fs::read(found.path.join("config.json")).unwrap(),
        br#"{"model_type":"llama"}"#
    );
    assert_eq!(std::fs::read(found.path.join("model.safetensors")).unwrap(), weights);
}

/// The shared cases about the hub, each told by a test of this file in more forms: here as the program meets them.
#[test]
fn every_case_about_the_hub_ends_as_expected() {
    let all = ["faults.jsonl", "reports.jsonl"].into_iter().flat_map(crate::cases);
    for case in all.filter(|case| case["kind"].as_str().unwrap().starts_with("hub/")) {
        let (hub, other) = (Hub::start(), Hub::start());
        hub.put(
            "models/org/name",
            "main",
            FIRST,
            &small_files(&[("model.safetensors", &weights())]),
        );
        let token = match case["kind"].as_str().unwrap() {
            "hub/token" => {
                other.put(
                    "models/org/name",
                    "main",
                    FIRST,
                    &small_files(&[("model.safetensors", &weights())]),
                );
                hub.with(|state| state.moved_to = Some(format!("http://127.0.0.1:{}", other.port)));
                Some(SECRET)
            }
            "hub/endless" => {
                hub.with(|state| state.fault = Some(Fault::Endless));
                None
            }
            "hub/page-instead-of-file" => {
                hub.with(|state| state.fault = Some(Fault::SignsIn("text/html")));
                None
            }
            other => panic!("no test for {other}: {case}"),
        };
        let home = tempfile::tempdir().unwrap();
        let output = program(&hub, home.path(), token, &["fetch", "org/name"]);
        let expected = &case["expected"];
        let is_refused = expected["refused"].is_string() || expected["exit"] == 1;
        assert_eq!(
            output.status.code(),
            Some(i32::from(is_refused)),
            "{case}: {}",
            errors(&output)
        );
        let words = expected["refused"].as_str().unwrap_or_default();
        assert!(errors(&output).contains(words), "{case}: {}", errors(&output));
        assert!(other.seen().iter().all(|seen| seen.authorization.is_none()), "{case}");
        let kept = home.path().join("hf/hub/models--org--name/blobs");
        let bytes: u64 = std::fs::read_dir(kept)
            .into_iter()
            .flatten()
            .map(|entry| entry.unwrap().metadata().unwrap().len())
            .sum();
        assert!(!is_refused || bytes == 0, "{case}: {bytes} bytes are kept");
    }
}
