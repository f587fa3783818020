//! Questions to the hub: the list of a repository's files, what a file is, and its bytes from some place on.

use std::collections::HashMap;
use std::fmt;
use std::io::Read;

use anyhow::{Context, Result, anyhow, bail};
use hf_hub::api::sync::{Api, ApiBuilder};
use hf_hub::{Cache, Repo};
use serde::Deserialize;

use super::progress::Watch;
use super::settings::{Settings, origin, without_passwords};

/// No list of files is longer; what goes on beyond is no list.
const LONGEST_LIST: u64 = 64 << 20;
/// Redirects of one request.
const MOST_REDIRECTS: usize = 8;

/// The hub, or the way to it, is out of order: a cached copy may stand in.
#[derive(Debug)]
pub(super) struct Unreachable {
    pub(super) endpoint: String,
    /// What was asked for.
    pub(super) asked: String,
    pub(super) reason: String,
}

impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} was asked for {}: {}", self.endpoint, self.asked, self.reason)
    }
}

impl std::error::Error for Unreachable {}

/// The files of a repository at a commit.
#[derive(Debug, Deserialize)]
pub(super) struct Listed {
    pub(super) sha: String,
    siblings: Vec<Sibling>,
}

#[derive(Debug, Deserialize)]
struct Sibling {
    rfilename: String,
    /// In bytes, where the hub says it.
    size: Option<u64>,
}

impl Listed {
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.siblings.iter().map(|file| file.rfilename.as_str())
    }

    pub(super) fn size(&self, name: &str) -> Option<u64> {
        self.siblings.iter().find(|file| file.rfilename == name)?.size
    }
}

/// What the hub says of one file.
pub(super) struct FileHead {
    /// The address after redirects within the hub.
    pub(super) url: String,
    /// The name of its content: a sha256 for large files.
    pub(super) etag: String,
    pub(super) size: Option<u64>,
}

/// An answer whose body has not been read.
pub(super) struct Answer {
    pub(super) status: u16,
    /// By lower-case name.
    headers: HashMap<String, String>,
    pub(super) body: Box<dyn Read + Send>,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// The first byte's place and the whole size, from `Content-Range: bytes 5-9/10`.
    pub(super) fn range(&self) -> (Option<u64>, Option<u64>) {
        let range = self
            .header("content-range")
            .and_then(|text| text.strip_prefix("bytes "))
            .unwrap_or("");
        let (span, size) = range.split_once('/').unwrap_or((range, ""));
        let first = span.split_once('-').and_then(|(first, _)| first.trim().parse().ok());
        (first, size.trim().parse().ok())
    }

    pub(super) fn length(&self) -> Option<u64> {
        self.header("content-length")?.trim().parse().ok()
    }

    /// A page to be read by people, as proxies and sign-in pages send in place of a file.
    fn page_instead_of(&self, file: &str) -> Option<String> {
        let kind = self.header("content-type")?.trim().to_ascii_lowercase();
        let is_page = kind.starts_with("text/html") || kind.starts_with("application/xhtml");
        let is_wanted = [".html", ".htm"].iter().any(|ending| file.ends_with(ending));
        let size = self
            .length()
            .map_or_else(String::new, |size| format!(" of {size} bytes"));
        (is_page && !is_wanted && self.status / 100 == 2)
            .then(|| format!("an HTML page{size} came instead of the file (a proxy or sign-in page?)"))
    }
}

/// A way to the hub.
pub(super) struct Client<'a> {
    pub(super) settings: &'a Settings,
    pub(super) cache: Cache,
    api: Api,
    /// The same without the token, for all other hosts.
    stranger: Api,
}

impl<'a> Client<'a> {
    pub(super) fn new(settings: &'a Settings) -> Result<Client<'a>> {
        let cache = Cache::new(settings.cache.clone());
        let api = |token: Option<String>| {
            ApiBuilder::from_cache(cache.clone())
                .with_endpoint(settings.endpoint.clone())
                .with_token(token)
                .with_progress(false)
                .with_user_agent("markbook", env!("CARGO_PKG_VERSION"))
                .build()
                .context("the client of the hub cannot be set up")
        };
        Ok(Client {
            api: api(settings.token.as_ref().map(|token| token.secret().to_owned()))?,
            stranger: api(None)?,
            settings,
            cache,
        })
    }

    /// The commit that a revision stands for, and the files of it.
    pub(super) fn list(&self, repo: &Repo, id: &str, watch: &mut Watch) -> Result<Listed> {
        let asked = format!("the files of {id} at {}", repo.revision());
        let url = format!("{}/api/{}", self.settings.endpoint, repo.api_url());
        let answer = self.follow(repo, &url, None, &asked, watch)?;
        self.check(&answer, id, repo.revision(), None, &asked)?;
        let text = self.wait(watch, &asked, move || {
            let mut text = Vec::new();
            let read = answer.body.take(LONGEST_LIST + 1).read_to_end(&mut text);
            read.map_err(|error| error.to_string())?;
            Ok(text)
        })?;
        if text.len() as u64 > LONGEST_LIST {
            let megabytes = LONGEST_LIST >> 20;
            return Err(self.unreachable(&asked, &format!("the list of files goes on beyond {megabytes} MiB")));
        }
        let info: Listed = serde_json::from_slice(&text)
            .map_err(|_| self.unreachable(&asked, "the answer is no list of files (a portal or proxy in the way?)"))?;
        if !is_commit(&info.sha) {
            bail!("{} gives no commit for {id}", self.settings.shown_endpoint());
        }
        Ok(info)
    }

    /// Asks what a file is, at the commit that `repo` names.
    pub(super) fn head(&self, repo: &Repo, id: &str, file: &str, watch: &mut Watch) -> Result<FileHead> {
        let asked = format!("{file} of {id}");
        let mut url = self.api.repo(repo.clone()).url(&encode(file));
        let (mut etag, mut size) = (None, None);
        // The hub sends large files to another host, and that one gets no token and names no checksum; small files
        // may move within the hub first.
        for _ in 0..5 {
            let request = self.request(repo, &url, Some("bytes=0-0".to_owned()));
            let answer = self.wait(watch, &asked, request)?;
            self.check(&answer, id, repo.revision(), Some(file), &asked)?;
            etag = answer
                .header("x-linked-etag")
                .or(answer.header("etag"))
                .map(clean_etag)
                .or(etag);
            size = answer
                .header("x-linked-size")
                .and_then(|text| text.parse().ok())
                .or(size);
            let target = answer.header("location").and_then(|target| within(&url, target));
            match (answer.status / 100, target) {
                (3, Some(target)) => url = target,
                (3, None) => break,
                _ => {
                    let whole = if answer.status == 206 {
                        answer.range().1
                    } else {
                        answer.length()
                    };
                    size = size.or(whole);
                    break;
                }
            }
        }
        let etag = etag.flatten().unwrap_or_else(|| {
            format!(
                "{}-{}",
                repo.revision(),
                file.replace(|c: char| !c.is_ascii_alphanumeric(), "-")
            )
        });
        Ok(FileHead { url, etag, size })
    }

    /// Opens a file from byte `start` on.
    pub(super) fn open(
        &self,
        repo: &Repo,
        id: &str,
        file: &str,
        url: &str,
        start: u64,
        watch: &mut Watch,
    ) -> Result<Answer> {
        let asked = format!("{file} of {id}");
        let range = (start > 0).then(|| format!("bytes={start}-"));
        let answer = self.follow(repo, url, range, &asked, watch)?;
        if answer.status != 416 {
            self.check(&answer, id, repo.revision(), Some(file), &asked)?;
        }
        Ok(answer)
    }

    pub(super) fn unreachable(&self, asked: &str, reason: &str) -> anyhow::Error {
        let (endpoint, asked) = (self.settings.shown_endpoint(), asked.to_owned());
        anyhow!(Unreachable {
            endpoint,
            asked,
            reason: without_passwords(reason)
        })
    }

    /// Asks, and goes where redirects lead. The token goes along only while scheme, host and port are the endpoint's.
    fn follow(&self, repo: &Repo, url: &str, range: Option<String>, asked: &str, watch: &mut Watch) -> Result<Answer> {
        let mut url = url.to_owned();
        for _ in 0..=MOST_REDIRECTS {
            let answer = self.wait(watch, asked, self.request(repo, &url, range.clone()))?;
            let target = answer.header("location").filter(|_| answer.status / 100 == 3);
            match target.and_then(|target| resolved(&url, target)) {
                Some(target) => url = target,
                None => return Ok(answer),
            }
        }
        Err(self.unreachable(asked, "it redirects in circles"))
    }

    fn wait<T: Send + 'static>(
        &self,
        watch: &mut Watch,
        asked: &str,
        work: impl FnOnce() -> Result<T, String> + Send + 'static,
    ) -> Result<T> {
        let what = format!("asking {} for {asked}", self.settings.shown_endpoint());
        watch
            .wait_for(&what, work)?
            .map_err(|reason| self.unreachable(asked, &reason))
    }

    /// A request of hf-hub's own making (its agent, headers and, at the endpoint, its token) with time-outs.
    fn request(
        &self,
        repo: &Repo,
        url: &str,
        range: Option<String>,
    ) -> impl FnOnce() -> Result<Answer, String> + Send + 'static {
        let is_home = origin(url).is_some_and(|origin_of_url| Some(origin_of_url) == origin(&self.settings.endpoint));
        let api = if is_home { &self.api } else { &self.stranger };
        let mut request = api
            .repo(repo.clone())
            .info_request()
            .uri(url)
            .header("Accept-Encoding", "identity");
        if let Some(range) = range {
            request = request.header("Range", range);
        }
        let mut config = request
            .config()
            .http_status_as_error(false)
            .timeout_resolve(Some(self.settings.connect))
            .timeout_connect(Some(self.settings.connect))
            .timeout_recv_response(Some(self.settings.silence))
            .timeout_per_read(Some(self.settings.silence))
            .max_redirects(0)
            .max_redirects_will_error(false);
        if self.settings.is_on_this_machine() {
            config = config.proxy(None);
        }
        let request = config.build();
        move || {
            let response = request.call().map_err(|error| without_passwords(&error.to_string()))?;
            let status = response.status().as_u16();
            let headers = response.headers().iter();
            let headers = headers
                .filter_map(|(name, value)| Some((name.as_str().to_lowercase(), value.to_str().ok()?.to_owned())))
                .collect();
            Ok(Answer {
                status,
                headers,
                body: Box::new(response.into_body().into_reader()),
            })
        }
    }

    /// Turns a refusal into words; nothing that the server wrote is repeated.
    fn check(&self, answer: &Answer, id: &str, revision: &str, file: Option<&str>, asked: &str) -> Result<()> {
        let status = answer.status;
        let endpoint = self.settings.shown_endpoint();
        if let Some(page) = file.and_then(|file| answer.page_instead_of(file)) {
            return Err(self.unreachable(asked, &page));
        }
        let code = answer.header("x-error-code").unwrap_or("");
        match (status, code) {
            (200..=399, _) => Ok(()),
            (_, "RevisionNotFound") => bail!("{id} has no revision {revision:?} on {endpoint} (HTTP {status})"),
            (404, "EntryNotFound") => bail!(
                "{id} has no file {:?} at {revision} (HTTP 404)",
                file.unwrap_or_default()
            ),
            (_, "GatedRepo") | (403, _) => bail!(
                "{id} is gated on {endpoint} (HTTP {status}): ask for access on its page there; {}",
                self.token_advice()
            ),
            (401 | 404, _) => bail!(
                "{id} is not on {endpoint}, or is private (HTTP {status}): check the name and the revision {revision:?}; {}",
                self.token_advice()
            ),
            (408 | 429 | 500.., _) => Err(self.unreachable(asked, &format!("it answers HTTP {status}"))),
            _ => bail!("{endpoint} was asked for {asked} and answers HTTP {status}"),
        }
    }

    fn token_advice(&self) -> &'static str {
        match self.settings.token {
            Some(_) => {
                "the token in use (HF_TOKEN or the token file) does not open it, so set HF_TOKEN to one that does"
            }
            None => "no token was sent, so set HF_TOKEN to one that may read it",
        }
    }
}

/// Whether the text is a full commit hash.
pub(super) fn is_commit(text: &str) -> bool {
    (40..=64).contains(&text.len()) && text.chars().all(|c| c.is_ascii_hexdigit())
}

/// The file's name as part of an address.
fn encode(file: &str) -> String {
    file.bytes()
        .map(|byte| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => char::from(byte).to_string(),
            _ => format!("%{byte:02X}"),
        })
        .collect()
}

/// The content's name without quotes and the mark of a weak one; none if it could not be a file's name.
fn clean_etag(text: &str) -> Option<String> {
    let text = text.trim().trim_start_matches("W/").trim_matches('"');
    let is_name = !text.is_empty() && text.len() <= 200 && !text.starts_with('.');
    (is_name && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))).then(|| text.to_owned())
}

/// The address that a redirect from `url` leads to.
fn resolved(url: &str, target: &str) -> Option<String> {
    let after_scheme = url.find("://").map(|at| at + 3)?;
    let root = url[after_scheme..].find('/').map_or(url.len(), |at| after_scheme + at);
    let target = match target.trim() {
        target if target.contains("://") => target.to_owned(),
        target if target.starts_with("//") => format!("{}{target}", &url[..after_scheme - 2]),
        target if target.starts_with('/') => format!("{}{target}", &url[..root]),
        target => format!("{}/{target}", url.rsplit_once('/').map_or(url, |(folder, _)| folder)),
    };
    origin(&target).is_some().then_some(target)
}

/// The target of a redirect, if it stays with the same scheme, host and port.
fn within(url: &str, target: &str) -> Option<String> {
    resolved(url, target).filter(|target| origin(target) == origin(url))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_redirects_within_the_hub_keep_the_token() {
        let url = "https://hub.example:8080/org/name/resolve/main/a";
        assert_eq!(
            within(url, "/api/cache/a").unwrap(),
            "https://hub.example:8080/api/cache/a"
        );
        assert_eq!(
            within(url, "https://hub.example:8080/b").unwrap(),
            "https://hub.example:8080/b"
        );
        for other in [
            "//cdn.example/a",
            "https://cdn.example/a",
            "https://hub.example:8080.evil/a",
            "http://hub.example:8080/a",
            "https://hub.example/a",
            "https://hub.example:8080@evil.example/a",
            "https://evil.example\\@hub.example:8080/a",
            "ftp://hub.example:8080/a",
        ] {
            assert_eq!(within(url, other), None, "{other}");
        }
        let plain = "https://ada:secret@Hub.example/a/b";
        for (target, expected) in [
            ("c", "https://ada:secret@Hub.example/a/c"),
            ("https://hub.example:443/c", "https://hub.example:443/c"),
            ("//hub.example/c", "https://hub.example/c"),
        ] {
            assert_eq!(within(plain, target).as_deref(), Some(expected), "{target}");
        }
    }

    #[test]
    fn a_content_name_can_be_a_file_name_or_is_none() {
        assert_eq!(clean_etag("\"abc-1\""), Some("abc-1".to_owned()));
        assert_eq!(clean_etag("W/\"abc\""), Some("abc".to_owned()));
        for bad in ["\"\"", "\"../../x\"", "\"a/b\"", "\".hidden\""] {
            assert_eq!(clean_etag(bad), None, "{bad}");
        }
    }
}
