//! What the environment says about the hub, its cache and our own folder, read as the hub's own client reads it.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use hf_hub::Cache;

/// Where to ask, as whom, and where things are kept.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The hub's address, without a slash at its end.
    pub endpoint: String,
    /// The folder with `models--org--name` and `datasets--org--name`.
    pub cache: PathBuf,
    pub token: Option<Token>,
    /// Whether no request may be made.
    pub offline: bool,
    /// Where markbook keeps what it makes.
    pub home: PathBuf,
    /// Where programs are looked for, if not in `PATH`.
    pub programs: Option<OsString>,
    /// How long a connection may take to stand.
    pub connect: Duration,
    /// How long a connection that stands may be silent.
    pub silence: Duration,
    /// The wait before a second try; it doubles from try to try.
    pub pause: Duration,
}

/// A secret: it is sent, and never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    pub fn new(text: impl Into<String>) -> Token {
        Token(text.into())
    }

    /// The secret itself, to be sent where it belongs and nowhere else.
    pub(crate) fn secret(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(hidden)")
    }
}

impl Settings {
    /// Reads the process's environment.
    ///
    /// # Errors
    /// When a variable cannot be understood, or no home folder is known.
    pub fn from_env() -> Result<Settings> {
        Settings::from_variables(
            &|name| std::env::var_os(name),
            dirs::home_dir().as_deref(),
            dirs::data_dir(),
        )
    }

    /// Reads an environment given as a function; `user` and `data` are the platform's home and data folders.
    pub fn from_variables(
        variable: &dyn Fn(&str) -> Option<OsString>,
        user: Option<&Path>,
        data: Option<PathBuf>,
    ) -> Result<Settings> {
        let filled = |name: &str| variable(name).filter(|value| !value.is_empty());
        let folder = |name: &str| filled(name).map(|value| expand(PathBuf::from(value), user));
        let text = |name: &str| filled(name).map(|value| value.to_string_lossy().trim().to_owned());

        let hub_home = folder("HF_HOME")
            .or_else(|| Some(folder("XDG_CACHE_HOME")?.join("huggingface")))
            .or_else(|| Some(user?.join(".cache").join("huggingface")))
            .context("no home folder is known: set HF_HOME to the folder that holds the hub's cache")?;
        let cache = folder("HF_HUB_CACHE")
            .or_else(|| folder("HUGGINGFACE_HUB_CACHE"))
            .unwrap_or_else(|| hub_home.join("hub"));
        let home = home(variable, user, data)?;

        let endpoint = text("HF_ENDPOINT").unwrap_or_else(|| "https://huggingface.co".to_owned());
        let endpoint = endpoint.trim_end_matches('/').to_owned();
        // What stands there may be a password: it is not repeated.
        let after_host = endpoint.splitn(4, '/').nth(3).unwrap_or("");
        let is_address = endpoint.starts_with("https://") || endpoint.starts_with("http://");
        if !is_address || origin(&endpoint).is_none() || after_host.contains('@') {
            bail!("HF_ENDPOINT is no address: it begins with https:// or http://");
        }
        let token =
            text("HF_TOKEN")
                .or_else(|| text("HUGGING_FACE_HUB_TOKEN"))
                .or_else(|| match folder("HF_TOKEN_PATH") {
                    Some(file) => Some(std::fs::read_to_string(file).ok()?.trim().to_owned()),
                    None => Cache::new(hub_home.join("hub")).token(),
                });
        let token = token.filter(|token| !token.is_empty());
        if token
            .as_ref()
            .is_some_and(|token| !token.chars().all(|c| c.is_ascii_graphic()))
        {
            bail!(
                "the token (HF_TOKEN or the token file in {}) holds characters that cannot be sent",
                hub_home.display()
            );
        }
        Ok(Settings {
            endpoint,
            cache,
            token: token.map(Token),
            offline: ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"]
                .iter()
                .any(|name| text(name).is_some_and(|v| is_true(&v))),
            home,
            programs: None,
            connect: Duration::from_secs(10),
            silence: Duration::from_secs(30),
            pause: Duration::from_millis(500),
        })
    }

    /// The endpoint as it may be shown: without a name and password, and without a query.
    pub(super) fn shown_endpoint(&self) -> String {
        let shown = without_passwords(&self.endpoint);
        let end = shown.find(['?', '#']).unwrap_or(shown.len());
        shown[..end].to_owned()
    }

    /// Whether the endpoint is this machine itself, which no proxy can reach for us.
    pub(super) fn is_on_this_machine(&self) -> bool {
        let shown = self.shown_endpoint();
        let rest = shown.split_once("://").map_or("", |(_, rest)| rest);
        let host = rest.split(['/', '?']).next().unwrap_or("");
        let host = host
            .strip_prefix('[')
            .and_then(|host| host.split(']').next())
            .unwrap_or_else(|| host.split(':').next().unwrap_or(""));
        host == "localhost"
            || host
                .parse::<std::net::IpAddr>()
                .is_ok_and(|address| address.is_loopback())
    }
}

/// Where markbook keeps what it makes.
pub(super) fn home(
    variable: &dyn Fn(&str) -> Option<OsString>,
    user: Option<&Path>,
    data: Option<PathBuf>,
) -> Result<PathBuf> {
    let named = variable("MARKBOOK_HOME").filter(|value| !value.is_empty());
    named
        .map(|value| expand(PathBuf::from(value), user))
        .or_else(|| Some(data?.join("markbook")))
        .context("no data folder is known: set MARKBOOK_HOME to the folder that markbook shall keep things in")
}

/// Scheme, host and port of an address; a name and password in it are no part of them.
pub(super) fn origin(url: &str) -> Option<(String, String, u16)> {
    let (scheme, rest) = url.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let place = &rest[..rest.find(['/', '?', '#', '\\']).unwrap_or(rest.len())];
    let place = place.rsplit_once('@').map_or(place, |(_, place)| place);
    let (host, port) = match place.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, port.parse().ok()?),
        _ => (
            place,
            match scheme.as_str() {
                "https" => 443,
                "http" => 80,
                _ => return None,
            },
        ),
    };
    Some((scheme, host.to_ascii_lowercase(), port))
}

/// A text whose addresses are without names and passwords.
pub fn without_passwords(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        shown.push_str(before);
        let is_end = |c: char| c.is_whitespace() || "/?#\"'`<>".contains(c);
        let place = &after[..after.find(is_end).unwrap_or(after.len())];
        rest = &after[place.rfind('@').map_or(0, |at| at + 1)..];
    }
    shown + rest
}

/// `~` is the user's home, also where no shell has seen it.
fn expand(path: PathBuf, user: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~"), user) {
        (Ok(rest), Some(user)) => user.join(rest),
        _ => path,
    }
}

fn is_true(text: &str) -> bool {
    ["1", "ON", "YES", "TRUE"].contains(&text.to_ascii_uppercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)], user: &Path) -> Result<Settings> {
        let find = |name: &str| {
            variables
                .iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| value.into())
        };
        Settings::from_variables(&find, Some(user), Some(user.join("data")))
    }

    #[test]
    fn folders_follow_the_hubs_own_variables() {
        let user = Path::new("/home/ada");
        let cases: [(&[(&str, &str)], &str); 6] = [
            (&[], "/home/ada/.cache/huggingface/hub"),
            (&[("HF_HOME", "/big/hf")], "/big/hf/hub"),
            (&[("HF_HOME", "~/hf")], "/home/ada/hf/hub"),
            (&[("HF_HOME", "/big/hf"), ("HF_HUB_CACHE", "/cache")], "/cache"),
            (&[("HF_HOME", "")], "/home/ada/.cache/huggingface/hub"),
            (&[("XDG_CACHE_HOME", "/xdg")], "/xdg/huggingface/hub"),
        ];
        for (variables, cache) in cases {
            assert_eq!(read(variables, user).unwrap().cache, Path::new(cache), "{variables:?}");
        }
        assert_eq!(read(&[], user).unwrap().home, Path::new("/home/ada/data/markbook"));
        assert_eq!(read(&[("MARKBOOK_HOME", "/mb")], user).unwrap().home, Path::new("/mb"));
    }

    #[test]
    fn the_token_comes_from_the_variable_or_the_file_and_is_never_shown() {
        let user = tempfile::tempdir().unwrap();
        let hub = user.path().join(".cache").join("huggingface");
        std::fs::create_dir_all(&hub).unwrap();
        assert_eq!(read(&[], user.path()).unwrap().token, None);
        std::fs::write(hub.join("token"), "hf_file\n").unwrap();
        assert_eq!(read(&[], user.path()).unwrap().token, Some(Token::new("hf_file")));
        let settings = read(&[("HF_TOKEN", "hf_variable")], user.path()).unwrap();
        assert_eq!(settings.token, Some(Token::new("hf_variable")));
        assert!(!format!("{settings:?}").contains("hf_variable"));
        let error = read(&[("HF_TOKEN", "hf_two\nlines")], user.path())
            .unwrap_err()
            .to_string();
        assert!(error.contains("HF_TOKEN") && !error.contains("hf_two"), "{error}");
    }

    #[test]
    fn offline_is_on_by_the_words_the_hub_knows() {
        let user = Path::new("/home/ada");
        for (value, expected) in [
            ("1", true),
            ("true", true),
            ("ON", true),
            ("0", false),
            ("", false),
            ("no", false),
        ] {
            assert_eq!(
                read(&[("HF_HUB_OFFLINE", value)], user).unwrap().offline,
                expected,
                "{value}"
            );
        }
    }

    #[test]
    fn the_endpoint_is_checked_and_shown_without_its_password() {
        let user = Path::new("/home/ada");
        let settings = read(&[("HF_ENDPOINT", "https://ada:secret@mirror.example/hub/")], user).unwrap();
        assert_eq!(settings.shown_endpoint(), "https://mirror.example/hub");
        assert!(!settings.is_on_this_machine());
        for here in ["http://127.0.0.1:80", "http://localhost", "http://[::1]:8080/hub"] {
            assert!(
                read(&[("HF_ENDPOINT", here)], user).unwrap().is_on_this_machine(),
                "{here}"
            );
        }
        assert!(
            read(&[("HF_ENDPOINT", "mirror")], user)
                .unwrap_err()
                .to_string()
                .contains("HF_ENDPOINT")
        );
        for bad in [
            "ada:Hush99@hub.example",
            "https://ada:Hush/99@hub.example",
            "ftp://ada:Hush99@hub.example",
        ] {
            let error = read(&[("HF_ENDPOINT", bad)], user).unwrap_err().to_string();
            assert!(
                error.contains("HF_ENDPOINT is no address") && !error.contains("Hush"),
                "{error}"
            );
        }
        for (text, expected) in [
            (
                "no proxy at http://ada:se@cret@proxy:8080: refused",
                "no proxy at http://proxy:8080: refused",
            ),
            (
                "\"https://ada@a.b/c@d\" and http://x:y@z",
                "\"https://a.b/c@d\" and http://z",
            ),
            ("https://a.b/c?x=1@2 is down", "https://a.b/c?x=1@2 is down"),
        ] {
            assert_eq!(without_passwords(text), expected);
        }
    }
}
