//! Requests to a server: keys, bounds, clocks; what goes wrong comes back as a [`Fault`].

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Response, Url};
use serde_json::Value;

use super::fault::{Fault, of_status, page_title, short};
use super::url::Address;
use crate::hub::Token;

/// Bytes that an answer may have.
const LARGEST_BODY: usize = 16 << 20;

/// Bytes of a refusal that are read.
const LARGEST_REFUSAL: usize = 64 << 10;

/// What goes with every request. It is shown nowhere.
#[derive(Debug, Clone, Default)]
pub struct Secrets {
    pub key: Option<Token>,
    /// Further headers, as `Name: value` lines of a file.
    pub headers: Vec<(String, Token)>,
}

/// How long things may take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clocks {
    pub connect: Duration,
    /// From a request to the end of an answer that does not stream.
    pub answer: Duration,
    /// From a request to the first token: a queue may be long.
    pub first: Duration,
    /// Between two pieces of a stream.
    pub silence: Duration,
    /// Between two tokens, whatever else the server sends.
    pub stall: Duration,
    /// From a request to the end of a stream.
    pub whole: Duration,
}

impl Default for Clocks {
    fn default() -> Clocks {
        Clocks {
            connect: Duration::from_secs(10),
            answer: Duration::from_secs(300),
            first: Duration::from_secs(600),
            silence: Duration::from_secs(120),
            stall: Duration::from_secs(600),
            whole: Duration::from_secs(3600),
        }
    }
}

/// A client of one server.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    pub address: Address,
    pub clocks: Clocks,
    /// The model's name there, for sentences.
    pub model: String,
    secrets: Secrets,
}

impl Client {
    /// A client of the server at an address.
    ///
    /// # Errors
    /// When a key or header cannot be sent, or the certificates cannot be read.
    pub fn new(address: Address, secrets: Secrets, clocks: Clocks, certificates: Option<&[u8]>) -> Result<Client> {
        let mut headers = HeaderMap::new();
        let value = |name: &str, text: &str| -> Result<HeaderValue> {
            let mut value = HeaderValue::from_str(text)
                .ok()
                .with_context(|| format!("{name} holds a line end or other characters that no header may have"))?;
            value.set_sensitive(true);
            Ok(value)
        };
        if let Some(key) = &secrets.key {
            ensure!(key.secret().is_ascii(), "the key holds characters that no key has");
            headers.insert(AUTHORIZATION, value("the key", &format!("Bearer {}", key.secret()))?);
            // Azure's gateways read this one.
            headers.insert("api-key", value("the key", key.secret())?);
        }
        for (name, text) in &secrets.headers {
            let header =
                HeaderName::try_from(name.as_str()).with_context(|| format!("{name:?} is no header's name"))?;
            headers.insert(header, value(name, text.secret())?);
        }
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("markbook/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers)
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(clocks.connect)
            // Some servers close idle connections after five seconds.
            .pool_idle_timeout(Duration::from_secs(4))
            .http1_only();
        if address.is_private() {
            builder = builder.no_proxy();
        }
        if let Some(pem) = certificates {
            for certificate in
                reqwest::Certificate::from_pem_bundle(pem).context("--ca-file holds no PEM certificates")?
            {
                builder = builder.add_root_certificate(certificate);
            }
        }
        Ok(Client {
            http: builder.build().context("no HTTP client can be made")?,
            address,
            clocks,
            model: String::new(),
            secrets,
        })
    }

    /// A JSON answer to a GET.
    pub async fn get(&self, url: Url) -> Result<Value, Fault> {
        let request = self.http.get(url).timeout(self.clocks.connect * 3);
        self.json(request).await
    }

    /// A JSON answer to a POST of JSON.
    pub async fn post(&self, url: Url, body: &Value) -> Result<Value, Fault> {
        let request = self.http.post(url).timeout(self.clocks.answer);
        self.json(with_json(request, body)).await
    }

    /// A response to a POST of JSON whose body is still to come.
    pub async fn stream(&self, url: Url, body: &Value) -> Result<Response, Fault> {
        let request = with_json(self.http.post(url), body).timeout(self.clocks.whole);
        let sent = tokio::time::timeout(self.clocks.first, self.send(request)).await;
        let response = sent.map_err(|_| Fault::retry("silent: no answer began"))?;
        self.accepted(response?).await
    }

    /// Sends a request; once more, at once, where the connection was closed before a byte came: some servers close idle
    /// connections without a word.
    async fn send(&self, request: reqwest::RequestBuilder) -> Result<Response, Fault> {
        let again = request.try_clone();
        match (request.send().await, again) {
            (Err(error), Some(again)) if error.is_request() && !error.is_timeout() && !error.is_connect() => {
                again.send().await.map_err(|error| self.of_error(&error))
            }
            (sent, _) => sent.map_err(|error| self.of_error(&error)),
        }
    }

    async fn json(&self, request: reqwest::RequestBuilder) -> Result<Value, Fault> {
        let response = self.accepted(self.send(request).await?).await?;
        let body = self.body(response, LARGEST_BODY).await?;
        serde_json::from_slice(&body).map_err(|_| {
            let text = String::from_utf8_lossy(&body);
            match page_title(&text) {
                Some(title) => self.page(&title),
                None => Fault::retry(format!("bad JSON: {}", short(&text))),
            }
        })
    }

    /// The response, where its status is 2xx.
    async fn accepted(&self, response: Response) -> Result<Response, Fault> {
        let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let is_page = kind.is_some_and(|kind| kind.starts_with("text/html"));
        if response.status().is_success() && !is_page {
            return Ok(response);
        }
        let (status, headers) = (response.status(), response.headers().clone());
        let body = self.body(response, LARGEST_REFUSAL).await.unwrap_or_default();
        let body = self.scrub(&String::from_utf8_lossy(&body));
        if status.is_success() {
            return Err(self.page(&page_title(&body).unwrap_or_default()));
        }
        Err(of_status(status, &headers, &body, (&self.address.host(), &self.model)))
    }

    /// A page in place of an answer: a wrong address, or a proxy or sign-in in the way for a while.
    fn page(&self, title: &str) -> Fault {
        Fault::Gone {
            cause: format!(
                "no OpenAI-compatible server at {}; it answered with a page: {title}",
                self.address.shown()
            ),
            is_loading: false,
        }
    }

    async fn body(&self, mut response: Response, most: usize) -> Result<Vec<u8>, Fault> {
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| self.of_error(&error))? {
            if body.len() + chunk.len() > most {
                return Err(Fault::retry(format!("an answer of more than {} MB", most >> 20)));
            }
            body.extend_from_slice(&chunk);
        }
        Ok(body)
    }

    /// What a failure of the connection means.
    pub fn of_error(&self, error: &reqwest::Error) -> Fault {
        let mut causes = Vec::new();
        let mut source = std::error::Error::source(error);
        while let Some(cause) = source {
            causes.push(cause.to_string());
            source = cause.source();
        }
        let cause = self.scrub(causes.last().map_or("no answer", String::as_str));
        let host = self.address.host();
        if error.is_timeout() {
            return Fault::retry("silent: no answer in time");
        }
        if causes.iter().any(|cause| cause.contains("certificate")) {
            return Fault::Ends(format!(
                "{host} cannot be trusted: {cause}. Name the certificate of its issuer by --ca-file; verification is never turned off"
            ));
        }
        if error.is_connect() {
            return Fault::Gone {
                cause: format!("{host} cannot be reached: {cause}"),
                is_loading: false,
            };
        }
        Fault::retry(format!("cut: {cause}"))
    }

    /// A server's text without any secret of ours.
    pub fn scrub(&self, text: &str) -> String {
        let secrets = self.secrets.headers.iter().map(|(_, value)| value);
        let mut text = text.to_owned();
        for secret in secrets.chain(&self.secrets.key) {
            if secret.secret().len() >= 4 {
                text = text.replace(secret.secret(), "[hidden]");
            }
        }
        text
    }
}

fn with_json(request: reqwest::RequestBuilder, body: &Value) -> reqwest::RequestBuilder {
    request
        .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
        .body(body.to_string())
}
