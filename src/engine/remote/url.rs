//! The base address of a server, in every form that people paste.

use std::net::IpAddr;

use anyhow::{Context, Result, bail, ensure};
use reqwest::Url;

/// Endpoints that may stand at the end of a pasted address.
const ENDPOINTS: [&str; 9] = [
    "/chat/completions",
    "/completions",
    "/completion",
    "/models",
    "/generate",
    "/api/generate",
    "/api/chat",
    "/health",
    "/props",
];

/// Where a server is: scheme, host, port and path of its root; `/v1` is left to [`Address::v1`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    root: Url,
    /// Whether the address itself ended in a version (`/v1`, `/v1beta/openai`), which then belongs to it.
    has_version: bool,
}

impl Address {
    /// Reads an address.
    ///
    /// # Errors
    /// When it is none, or holds a user or password (it would be written into the manifest).
    pub fn parse(text: &str) -> Result<Address> {
        let text = text.trim();
        ensure!(!text.is_empty(), "--base-url is empty");
        let whole = if text.contains("://") {
            text.to_owned()
        } else {
            let host = text.split(['/', ':', '?']).next().unwrap_or_default();
            let scheme = if is_private(host) { "http" } else { "https" };
            format!("{scheme}://{text}")
        };
        let mut root =
            Url::parse(&whole).with_context(|| "--base-url is no address: it begins with http:// or https://")?;
        ensure!(
            matches!(root.scheme(), "http" | "https"),
            "--base-url begins with http:// or https://"
        );
        if !root.username().is_empty() || root.password().is_some() {
            bail!(
                "--base-url holds a user or password, which would be recorded: give the key by --api-key-env or --header-file"
            );
        }
        ensure!(root.host_str().is_some(), "--base-url names no host");
        root.set_fragment(None);
        let mut path = root.path().trim_end_matches('/').to_owned();
        if let Some(cut) = ENDPOINTS.iter().find_map(|end| path.strip_suffix(end)) {
            path = cut.to_owned();
        }
        let has_version = path.rsplit('/').next().is_some_and(is_version)
            || path.ends_with("/openai")
            || path.contains("/deployments/");
        let is_plain_v1 = path == "/v1";
        root.set_path(if is_plain_v1 { "" } else { &path });
        Ok(Address {
            root,
            has_version: has_version && !is_plain_v1,
        })
    }

    /// An endpoint of the OpenAI interface, such as `completions`.
    pub fn v1(&self, endpoint: &str) -> Url {
        let version = if self.has_version { "" } else { "v1/" };
        self.at(&format!("{version}{endpoint}"))
    }

    /// An endpoint of the server's own, such as `props`.
    pub fn at(&self, endpoint: &str) -> Url {
        let mut url = self.root.clone();
        url.set_path(&format!("{}/{endpoint}", self.root.path().trim_end_matches('/')));
        url
    }

    /// Scheme, host, port and path, as they are recorded and shown; no query.
    pub fn shown(&self) -> String {
        let mut url = self.root.clone();
        url.set_query(None);
        url.as_str().trim_end_matches('/').to_owned()
    }

    /// Host and port.
    pub fn host(&self) -> String {
        let port = self.root.port().map_or_else(String::new, |port| format!(":{port}"));
        format!("{}{port}", self.root.host_str().unwrap_or_default())
    }

    /// Whether its host is this machine or in a private network.
    pub fn is_private(&self) -> bool {
        is_private(self.root.host_str().unwrap_or_default())
    }

    pub fn is_encrypted(&self) -> bool {
        self.root.scheme() == "https"
    }
}

/// `v1`, `v1beta`, `v2`.
fn is_version(part: &str) -> bool {
    let mut letters = part.chars();
    letters.next() == Some('v') && letters.next().is_some_and(|c| c.is_ascii_digit())
}

/// Loopback, private and link-local addresses, and names without a dot.
fn is_private(host: &str) -> bool {
    match host.trim_matches(['[', ']']).parse::<IpAddr>() {
        Ok(IpAddr::V4(ip)) => ip.is_loopback() || ip.is_private() || ip.is_link_local(),
        Ok(IpAddr::V6(ip)) => ip.is_loopback() || ip.is_unique_local() || ip.is_unicast_link_local(),
        Err(_) => !host.contains('.') || host.ends_with(".local") || host.ends_with(".internal"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_that_people_paste_leads_to_the_same_endpoint() {
        for text in [
            "http://127.0.0.1:8000",
            "http://127.0.0.1:8000/",
            "http://127.0.0.1:8000/v1",
            "http://127.0.0.1:8000/v1/",
            "http://127.0.0.1:8000/v1/completions",
            "http://127.0.0.1:8000/v1/chat/completions",
            "http://127.0.0.1:8000/v1/models",
            "127.0.0.1:8000",
            "127.0.0.1:8000/v1",
        ] {
            let address = Address::parse(text).unwrap();
            assert_eq!(
                address.v1("completions").as_str(),
                "http://127.0.0.1:8000/v1/completions",
                "{text}"
            );
            assert_eq!(address.at("props").as_str(), "http://127.0.0.1:8000/props", "{text}");
            assert_eq!(address.shown(), "http://127.0.0.1:8000");
        }
    }

    #[test]
    fn paths_and_queries_of_gateways_are_kept() {
        let azure = Address::parse("https://x.example.com/openai/deployments/gpt?api-version=2024-06-01").unwrap();
        assert_eq!(
            azure.v1("chat/completions").as_str(),
            "https://x.example.com/openai/deployments/gpt/chat/completions?api-version=2024-06-01"
        );
        let gemini = Address::parse("https://g.example.com/v1beta/openai/").unwrap();
        assert_eq!(
            gemini.v1("models").as_str(),
            "https://g.example.com/v1beta/openai/models"
        );
        let router = Address::parse("https://openrouter.example/api/v1").unwrap();
        assert_eq!(router.v1("models").as_str(), "https://openrouter.example/api/v1/models");
        assert!(!router.is_private() && Address::parse("gpu1:8000").unwrap().is_private());
        assert_eq!(
            Address::parse("llm.example.org").unwrap().shown(),
            "https://llm.example.org"
        );
    }

    #[test]
    fn an_address_with_a_password_is_refused_without_repeating_it() {
        let error = Address::parse("http://ada:Hush99@gpu1:8000").unwrap_err().to_string();
        assert!(error.contains("--api-key-env") && !error.contains("Hush99"), "{error}");
        for text in ["", "ftp://x", "http://"] {
            assert!(Address::parse(text).is_err(), "{text}");
        }
    }
}
