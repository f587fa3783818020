//! What can go wrong with a request, and what follows: retry what can change, never what cannot.

use std::time::Duration;

use chrono::{DateTime, Utc};
use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use serde_json::Value;

/// Why a request has no answer, by what follows from it.
#[derive(Debug, Clone, PartialEq)]
pub enum Fault {
    /// Another try may go better; tries are counted.
    Retry { cause: String },
    /// The server asks to wait; no try is counted.
    Busy { wait: Option<Duration>, cause: String },
    /// The server is not there, or not yet: nothing new is sent until it is.
    Gone { cause: String, is_loading: bool },
    /// This request will always fail. `flag` is the row's.
    Refused { flag: &'static str, reason: String },
    /// Every request would fail alike: the run ends with this sentence.
    Ends(String),
}

impl Fault {
    pub fn retry(cause: impl Into<String>) -> Fault {
        Fault::Retry { cause: cause.into() }
    }

    /// In a few words, for the screen.
    pub fn cause(&self) -> &str {
        match self {
            Fault::Retry { cause } | Fault::Busy { cause, .. } | Fault::Gone { cause, .. } => cause,
            Fault::Refused { reason, .. } => reason,
            Fault::Ends(sentence) => sentence,
        }
    }
}

/// A refusal's body, in the forms that servers have.
#[derive(Debug, Default)]
struct Refusal {
    message: String,
    kind: String,
    param: String,
}

impl Refusal {
    fn read(body: &str) -> Refusal {
        let Ok(mut value) = serde_json::from_str::<Value>(body) else {
            return Refusal {
                message: page_title(body).unwrap_or_else(|| short(body)),
                ..Refusal::default()
            };
        };
        if let Value::Array(items) = &mut value {
            value = items.first_mut().map(Value::take).unwrap_or_default();
        }
        let error = value.get("error").cloned().unwrap_or(value);
        let text = |name: &str| match error.get(name) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Null) | None => String::new(),
            Some(other) => other.to_string(),
        };
        let message = match &error {
            Value::String(text) => text.clone(),
            _ => [text("message"), text("detail"), text("msg")]
                .into_iter()
                .find(|text| !text.is_empty())
                .unwrap_or_else(|| short(body)),
        };
        Refusal {
            message: short(&message),
            kind: format!("{} {}", text("type"), text("code")),
            param: text("param"),
        }
    }

    fn says(&self, words: &[&str]) -> bool {
        let all = format!("{} {} {}", self.message, self.kind, self.param).to_lowercase();
        words.iter().any(|word| all.contains(word))
    }
}

/// Words by which servers say that a prompt does not fit.
const TOO_LONG: [&str; 6] = [
    "exceed_context_size",
    "context_length_exceeded",
    "input_tokens",
    "maximum context length",
    "context size",
    "too long",
];

/// Words by which servers say that an account is empty.
const NO_CREDIT: [&str; 4] = ["insufficient_quota", "billing", "credit", "payment"];

/// Our own parameters, by the names that a refusal may use.
const PARAMETERS: [&str; 12] = [
    "temperature",
    "top_p",
    "top_k",
    "seed",
    "stop",
    "min_p",
    "logprobs",
    "logit_bias",
    "max_tokens",
    "stream_options",
    "presence_penalty",
    "frequency_penalty",
];

/// What a status other than 2xx means. `host` and `model` name them in sentences.
pub fn of_status(status: StatusCode, headers: &HeaderMap, body: &str, (host, model): (&str, &str)) -> Fault {
    let refusal = Refusal::read(body);
    let said = &refusal.message;
    let wait = waiting_time(headers);
    let busy = |cause: &str| Fault::Busy {
        wait,
        cause: cause.to_owned(),
    };
    match status.as_u16() {
        413 => too_long(said),
        400 | 422 if refusal.says(&TOO_LONG) => too_long(said),
        400 | 422 => match PARAMETERS.iter().find(|name| refusal.names(name)) {
            Some(name) => Fault::Ends(format!(
                "{host} refuses {name} ({said}); --without {name} sits the exam without it, and the manifest says so"
            )),
            None => Fault::Refused {
                flag: "error",
                reason: format!("{status}: {said}"),
            },
        },
        401 | 403 => Fault::Ends(format!(
            "{host} does not accept the key ({said}): see --api-key-env and --header-file"
        )),
        402 => Fault::Ends(format!("{host}: no credit ({said})")),
        404 => Fault::Ends(format!(
            "{host} knows no model or path of this name, asked for {model:?} ({said})"
        )),
        429 if refusal.says(&NO_CREDIT) => Fault::Ends(format!("{host}: no credit ({said})")),
        429 => busy("429, too many requests"),
        529 => busy("529, overloaded"),
        503 if refusal.says(&["loading"]) => Fault::Gone {
            cause: format!("{host} is loading its model"),
            is_loading: true,
        },
        503 if wait.is_some() || refusal.says(&["overloaded", "queue", "busy"]) => busy("503, overloaded"),
        300..=399 => Fault::Ends(format!(
            "{host} sends to another place{}; a redirect is not followed, since it would take the key along: name that address by --base-url",
            headers
                .get("location")
                .and_then(|place| place.to_str().ok())
                .map_or_else(String::new, |place| format!(" ({})", without_query(place)))
        )),
        408 | 409 | 424 | 425 | 500..=599 => Fault::retry(format!("{}: {said}", status.as_u16())),
        _ => Fault::Refused {
            flag: "error",
            reason: format!("{status}: {said}"),
        },
    }
}

fn too_long(said: &str) -> Fault {
    Fault::Refused {
        flag: "too_long",
        reason: said.to_owned(),
    }
}

impl Refusal {
    /// Whether it names this parameter as what is wrong.
    fn names(&self, parameter: &str) -> bool {
        let words = |text: &str| {
            text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                .any(|word| word == parameter)
        };
        self.param == parameter || words(&self.message)
    }
}

fn without_query(place: &str) -> &str {
    place.split(['?', '#']).next().unwrap_or_default()
}

/// The largest of the times that a server asks to wait, in every form that is used.
pub fn waiting_time(headers: &HeaderMap) -> Option<Duration> {
    let named = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let milliseconds = named("retry-after-ms").and_then(|text| text.trim().parse::<f64>().ok());
    let times = [
        milliseconds.map(|ms| ms / 1000.0),
        named("retry-after").and_then(seconds),
        named("x-ratelimit-reset-requests").and_then(seconds),
        named("x-ratelimit-reset-tokens").and_then(seconds),
        named("anthropic-ratelimit-requests-reset").and_then(seconds),
        named("anthropic-ratelimit-tokens-reset").and_then(seconds),
    ];
    let longest = times.into_iter().flatten().fold(f64::NAN, f64::max);
    (longest.is_finite() && longest >= 0.0).then(|| Duration::from_secs_f64(longest.min(86_400.0)))
}

/// Seconds from now: a number, `1m30s` or `500ms`, an HTTP date, an ISO date.
fn seconds(text: &str) -> Option<f64> {
    let text = text.trim();
    if let Ok(number) = text.parse::<f64>() {
        return Some(number);
    }
    let until = |date: DateTime<Utc>| (date - Utc::now()).num_milliseconds().max(0) as f64 / 1000.0;
    if let Ok(date) = DateTime::parse_from_rfc2822(text) {
        return Some(until(date.into()));
    }
    if let Ok(date) = DateTime::parse_from_rfc3339(text) {
        return Some(until(date.into()));
    }
    let (mut total, mut rest) = (0.0, text);
    while !rest.is_empty() {
        let digits = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .filter(|at| *at > 0)?;
        let (number, after) = rest.split_at(digits);
        let unit = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, after) = after.split_at(unit);
        let factor = match unit {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            "d" => 86_400.0,
            _ => return None,
        };
        total += number.parse::<f64>().ok()? * factor;
        rest = after;
    }
    Some(total)
}

/// The title of an HTML page.
pub fn page_title(body: &str) -> Option<String> {
    let lower = body.to_ascii_lowercase();
    if !lower.trim_start().starts_with('<') {
        return None;
    }
    let title = lower.find("<title>").zip(lower.find("</title>"));
    let text = title
        .and_then(|(from, to)| body.get(from + 7..to))
        .unwrap_or("an HTML page");
    Some(short(text))
}

/// The first characters of a server's text, on one line.
pub fn short(text: &str) -> String {
    const MOST: usize = 200;
    let line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    fn of(status: u16, headers: &[(&'static str, &str)], body: &str) -> Fault {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, HeaderValue::from_str(value).unwrap());
        }
        of_status(StatusCode::from_u16(status).unwrap(), &map, body, ("gpu1:8000", "m"))
    }

    #[test]
    fn every_form_of_waiting_time_is_read() {
        for (name, value, expected) in [
            ("retry-after", "7", 7.0),
            ("retry-after", "0.5", 0.5),
            ("retry-after-ms", "1500", 1.5),
            ("x-ratelimit-reset-requests", "1m30s", 90.0),
            ("x-ratelimit-reset-tokens", "500ms", 0.5),
            ("x-ratelimit-reset-tokens", "6h2m", 21_720.0),
        ] {
            let Fault::Busy { wait: Some(wait), .. } = of(429, &[(name, value)], "") else {
                panic!("{name}");
            };
            assert!((wait.as_secs_f64() - expected).abs() < 1e-6, "{name}: {value}");
        }
        let later = (Utc::now() + chrono::Duration::seconds(30)).to_rfc2822();
        let Fault::Busy { wait: Some(wait), .. } = of(429, &[("retry-after", &later)], "") else {
            panic!("a date");
        };
        assert!((25.0..=31.0).contains(&wait.as_secs_f64()), "{wait:?}");
        assert!(matches!(
            of(429, &[("retry-after", "soon")], ""),
            Fault::Busy { wait: None, .. }
        ));
    }

    #[test]
    fn what_cannot_change_is_told_with_what_would_work() {
        let context = r#"{"error":{"message":"request (9001 tokens) exceeds the available context size","type":"exceed_context_size_error"}}"#;
        assert!(matches!(of(400, &[], context), Fault::Refused { flag: "too_long", .. }));
        let refused = r#"{"error":{"message":"Unsupported parameter: 'top_p' is not supported with this model.","param":"top_p"}}"#;
        assert!(matches!(of(400, &[], refused), Fault::Ends(said) if said.contains("--without top_p")));
        assert!(matches!(of(401, &[], r#"{"error":"no"}"#), Fault::Ends(said) if said.contains("--api-key-env")));
        assert!(
            matches!(of(429, &[], r#"{"error":{"code":"insufficient_quota"}}"#), Fault::Ends(said) if said.contains("credit"))
        );
        assert!(matches!(of(404, &[], ""), Fault::Ends(_)));
        assert!(
            matches!(of(307, &[("location", "http://other/?key=x")], ""), Fault::Ends(said) if said.contains("http://other/") && !said.contains("key=x"))
        );
    }

    #[test]
    fn what_can_change_is_tried_again_or_waited_for() {
        for status in [408, 409, 424, 425, 500, 502, 504, 520] {
            assert!(matches!(of(status, &[], "x"), Fault::Retry { .. }), "{status}");
        }
        let loading = r#"{"error":{"message":"Loading model","type":"unavailable_error","code":503}}"#;
        assert!(matches!(of(503, &[], loading), Fault::Gone { .. }));
        assert!(matches!(of(503, &[], "down"), Fault::Retry { .. }));
        assert!(matches!(of(529, &[], ""), Fault::Busy { .. }));
    }

    #[test]
    fn a_page_is_told_by_its_title() {
        assert_eq!(
            page_title("<html><head><title>Sign in</title>").as_deref(),
            Some("Sign in")
        );
        assert_eq!(page_title("{}"), None);
    }
}
