//! `probe`, and from flags to a server: which, how to reach it, and with which key.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value, json};

use super::args::Chat;
use super::plain::Plain;
use super::server_args::{ClozeArg, InFlight, ProbeArgs, ServerArgs, Think};
use super::{End, listen, say, usage};
use crate::engine::remote::{Clocks, Cloze, Kind, Options, Secrets, check_address, connect, parse_model};
use crate::hub::Token;
use crate::run::Update;
use crate::text::safe_line;

/// The options of a served model; none where `--model` names a model of this process.
///
/// # Errors
/// When a key, header or certificate cannot be read, or a server's flag stands beside a local model.
pub(super) fn options(model: &str, args: &ServerArgs, chat: Chat) -> Result<Option<Options>> {
    let Some((kind, name)) = parse_model(model) else {
        ensure!(
            *args == ServerArgs::default() && chat != Chat::Server,
            "--base-url, --in-flight and the like are for served models: --model KIND:NAME, with KIND one of {}",
            Kind::names()
        );
        return Ok(None);
    };
    let is_address = model.contains("://");
    let urls = if is_address {
        vec![model.to_owned()]
    } else {
        addresses(&args.base_url)?
    };
    urls.iter().try_for_each(|url| check_address(url))?;
    Ok(Some(Options {
        kind,
        model: name,
        urls,
        secrets: secrets(kind, args)?,
        certificates: args.ca_file.as_deref().map(read).transpose()?,
        in_flight: args.in_flight.and_then(|InFlight(number)| number),
        retries: args.retries.unwrap_or(6) as u32,
        clocks: Clocks {
            whole: Duration::from_secs(args.timeout.unwrap_or(3600) as u64),
            ..Clocks::default()
        },
        wait_server: Duration::from_secs(60 * args.wait_server.unwrap_or(30) as u64),
        chat: chat == Chat::Server,
        cloze: match args.cloze.unwrap_or(ClozeArg::Auto) {
            ClozeArg::Auto | ClozeArg::Exact => Cloze::Exact,
            ClozeArg::Partial => Cloze::Partial,
            ClozeArg::Chat => Cloze::Chat,
            ClozeArg::Off => Cloze::Off,
        },
        thinks: match args.think.unwrap_or(Think::Auto) {
            Think::Auto => None,
            Think::On => Some(true),
            Think::Off => Some(false),
        },
        effort: args.reasoning_effort.clone(),
        accepts_drift: args.accept_drift,
        sends_key_in_clear: args.allow_plain_http,
        price: args.price,
        most_usd: args.max_cost,
        extra: extra(args.extra_body.as_deref())?,
        without: args.without.clone(),
    }))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Addresses, those of `@FILE` one a line.
fn addresses(given: &[String]) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for address in given {
        let Some(path) = address.strip_prefix('@') else {
            all.push(address.clone());
            continue;
        };
        let text = String::from_utf8_lossy(&read(Path::new(path))?).into_owned();
        let lines = text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with('#'));
        let before = all.len();
        all.extend(lines.map(str::to_owned));
        ensure!(all.len() > before, "--base-url @{path}: no address in it");
    }
    Ok(all)
}

/// The key from the environment, further headers from a file that only its owner may read.
fn secrets(kind: Kind, args: &ServerArgs) -> Result<Secrets> {
    let name = args.api_key_env.as_deref().unwrap_or(kind.facts().key_env);
    let key = match std::env::var(name) {
        Ok(key) => Some(key.trim().to_owned()).filter(|key| !key.is_empty()),
        Err(std::env::VarError::NotPresent) if args.api_key_env.is_none() => None,
        Err(std::env::VarError::NotPresent) => bail!("--api-key-env {name}: no such environment variable"),
        Err(std::env::VarError::NotUnicode(_)) => bail!("the environment variable {name} is no text"),
    };
    if let Some(key) = &key {
        let is_plain = key.bytes().all(|byte| byte.is_ascii_graphic());
        ensure!(
            is_plain,
            "the key in {name} holds blanks, line ends or characters beyond ASCII"
        );
    }
    let mut headers = Vec::new();
    if let Some(path) = &args.header_file {
        must_be_private(path)?;
        let text = String::from_utf8(read(path)?)
            .ok()
            .with_context(|| format!("{} is no text", path.display()))?;
        for (at, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let parts = line.split_once(':');
            let (name, value) =
                parts.with_context(|| format!("{}: line {} is no `Name: value`", path.display(), at + 1))?;
            headers.push((name.trim().to_owned(), Token::new(value.trim())));
        }
    }
    Ok(Secrets {
        key: key.map(Token::new),
        headers,
    })
}

#[cfg(unix)]
fn must_be_private(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let data = std::fs::metadata(path).with_context(|| format!("cannot read {}", path.display()))?;
    let is_private = data.permissions().mode() & 0o077 == 0;
    ensure!(is_private, "{} can be read by others: chmod 600 it", path.display());
    Ok(())
}

#[cfg(not(unix))]
fn must_be_private(_: &Path) -> Result<()> {
    Ok(())
}

/// `--extra-body`: an object, in the argument or in a file.
fn extra(text: Option<&str>) -> Result<Map<String, Value>> {
    let Some(text) = text else { return Ok(Map::new()) };
    let text = match text.strip_prefix('@') {
        Some(path) => String::from_utf8_lossy(&read(Path::new(path))?).into_owned(),
        None => text.to_owned(),
    };
    let parsed: serde_json::Result<Map<String, Value>> = serde_json::from_str(&text);
    usage(parsed.context(
        "--extra-body takes a JSON object, such as '{\"chat_template_kwargs\": {\"enable_thinking\": false}}'",
    ))
}

/// `probe`: the handshake alone.
pub(super) fn probe(args: &ProbeArgs) -> Result<End> {
    let asked = usage(options(&args.model, &args.server, args.chat))?;
    let asked = usage(asked.with_context(|| {
        format!(
            "{:?} names no server: KIND:NAME, with KIND one of {}",
            args.model,
            Kind::names()
        )
    }))?;
    let stop = listen()?;
    let mut plain = Plain::new();
    let engine = connect(asked, &mut |status| {
        plain.tell(&Update::Status(status));
        if stop.is_asked() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    plain.end();
    let engine = match engine {
        Err(_) if stop.is_asked() => return Ok(End::asked(&stop)),
        engine => engine?,
    };
    let served = engine.served();
    let can_score = served.cloze.is_some() || served.reads_first_token;
    if args.json {
        let exams = json!({"mmlu": can_score, "mmlu_pro": true});
        say::say(json!({"server": served, "possible": exams}))?;
    } else {
        for line in served.findings() {
            say::say(safe_line(&line))?;
        }
    }
    ensure!(
        can_score,
        "mmlu's cloze cannot be scored there; mmlu_pro can be asked (run --benchmark mmlu_pro)"
    );
    Ok(End::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_s_flags_beside_a_local_model_are_refused_by_name() {
        let server = ServerArgs {
            base_url: vec!["http://gpu1:8000".into()],
            ..ServerArgs::default()
        };
        let error = options("org/name", &server, Chat::Auto).unwrap_err().to_string();
        assert!(
            error.contains("--base-url") && error.contains("llama-server"),
            "{error}"
        );
        assert!(
            options("org/name", &ServerArgs::default(), Chat::Auto)
                .unwrap()
                .is_none()
        );
        let found = options("vllm:Qwen/Qwen3-8B", &server, Chat::Server).unwrap().unwrap();
        assert_eq!(
            (found.kind, found.model.as_str(), found.chat),
            (Kind::Vllm, "Qwen/Qwen3-8B", true)
        );
    }

    #[test]
    fn further_fields_are_an_object() {
        assert_eq!(extra(Some(r#"{"a": 1}"#)).unwrap()["a"], 1);
        assert!(extra(Some("[1]")).is_err() && extra(None).unwrap().is_empty());
    }

    #[test]
    fn addresses_come_from_a_file_where_one_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("nodes");
        std::fs::write(&path, "# ready\nhttp://gpu1:8000\n\n gpu2:8000 \n").unwrap();
        let given = [format!("@{}", path.display()), "gpu3:8000".to_owned()];
        assert_eq!(
            addresses(&given).unwrap(),
            ["http://gpu1:8000", "gpu2:8000", "gpu3:8000"]
        );
        std::fs::write(&path, "\n").unwrap();
        assert!(addresses(&given).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn a_header_file_that_others_may_read_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("headers");
        std::fs::write(&path, "X-Team: evals\n\nno header\n").unwrap();
        let args = ServerArgs {
            header_file: Some(path.clone()),
            ..ServerArgs::default()
        };
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(secrets(Kind::Api, &args).unwrap_err().to_string().contains("chmod 600"));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert!(secrets(Kind::Api, &args).unwrap_err().to_string().contains("line 3"));
        std::fs::write(&path, "X-Team: evals\n").unwrap();
        assert_eq!(secrets(Kind::Api, &args).unwrap().headers[0].0, "X-Team");
    }
}
