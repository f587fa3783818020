//! A model's chat template, rendered as transformers does it: Jinja with Python's string methods.

use std::fmt::Write;
use std::sync::LazyLock;

use anyhow::{Context, Result, anyhow};
use minijinja::value::{Kwargs, Value, ValueKind, from_args};
use minijinja::{Environment, Error, ErrorKind, Output, State, context};
use minijinja_contrib::pycompat::unknown_method_callback;
use regex::Regex;

use crate::engine::ChatTemplate;
use crate::text::{is_python_space, strip};

use super::hash::{Layout, python_json};
use super::prompt::{Message, Role, SystemTurn};

/// A chat template, ready to render.
#[derive(Debug)]
pub struct Chat {
    environment: Environment<'static>,
    bos_token: Option<String>,
    eos_token: Option<String>,
}

impl Chat {
    pub fn new(template: &ChatTemplate) -> Result<Chat> {
        let mut environment = Environment::new();
        environment.set_trim_blocks(true);
        environment.set_lstrip_blocks(true);
        environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        environment.set_formatter(format_as_python);
        environment.set_unknown_method_callback(python_method);
        environment.add_filter("tojson", to_json);
        environment.add_filter("trim", |text: String, cut: Option<String>| {
            cut_ends(&text, cut.as_deref(), true, true)
        });
        environment.add_function("raise_exception", |words: String| -> Result<Value, Error> {
            Err(Error::new(ErrorKind::InvalidOperation, words))
        });
        environment.add_function("strftime_now", now);
        environment
            .add_template_owned("chat", plain_jinja(&template.source))
            .context("the model's chat template cannot be read")?;
        Ok(Chat {
            environment,
            bos_token: template.bos_token.clone(),
            eos_token: template.eos_token.clone(),
        })
    }

    /// The chat as text, ready for the assistant to go on. Where the template refuses the system turn, the chat is
    /// rendered without it, as the reference harness does.
    pub fn render(&self, messages: &[Message]) -> Result<(String, SystemTurn)> {
        let system = messages.iter().find(|message| message.role == Role::System);
        let error = match (self.render_turns(messages), system) {
            (Ok(text), None) => return Ok((text, SystemTurn::None)),
            (Ok(text), Some(system)) => {
                let is_kept = text.contains(strip(&system.content));
                return Ok((text, if is_kept { SystemTurn::Kept } else { SystemTurn::Ignored }));
            }
            (Err(error), None) => return Err(anyhow!(error).context("the model's chat template failed")),
            (Err(error), Some(_)) if is_lack_of_ours(&error) => {
                return Err(anyhow!(error).context("the model's chat template asks for what is not known here"));
            }
            (Err(error), Some(_)) => error,
        };
        let rest: Vec<_> = messages
            .iter()
            .filter(|message| message.role != Role::System)
            .cloned()
            .collect();
        let text = self
            .render_turns(&rest)
            .context("the model's chat template failed, with and without a system turn")?;
        let words = error.detail().map_or_else(|| error.to_string(), str::to_owned);
        Ok((text, SystemTurn::Refused(words)))
    }

    fn render_turns(&self, messages: &[Message]) -> Result<String, Error> {
        let turns: Vec<Value> = messages
            .iter()
            .map(|message| context! { role => message.role.name(), content => message.content })
            .collect();
        let mut variables = vec![
            ("messages", Value::from(turns)),
            ("tools", Value::from(())),
            ("documents", Value::from(())),
            ("add_generation_prompt", Value::from(true)),
        ];
        variables.extend(
            self.bos_token
                .as_ref()
                .map(|token| ("bos_token", Value::from(token.as_str()))),
        );
        variables.extend(
            self.eos_token
                .as_ref()
                .map(|token| ("eos_token", Value::from(token.as_str()))),
        );
        self.environment
            .get_template("chat")?
            .render(Value::from_iter(variables))
    }
}

/// The template as Jinja2 takes it in: line breaks are line feeds, and `{% generation %}`, by which transformers marks
/// the assistant's words for training, is an `if true`.
fn plain_jinja(source: &str) -> String {
    static OPEN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\{%([-+]?)\s*generation\s*([-+]?)%\}").ok());
    static CLOSE: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"\{%([-+]?)\s*endgeneration\s*([-+]?)%\}").ok());
    let source = source.replace("\r\n", "\n").replace('\r', "\n");
    let (Some(open), Some(close)) = (&*OPEN, &*CLOSE) else {
        return source;
    };
    close
        .replace_all(&open.replace_all(&source, "{%$1 if true $2%}"), "{%$1 endif $2%}")
        .into_owned()
}

/// Booleans and None print as Python spells them.
fn format_as_python(out: &mut Output, state: &State, value: &Value) -> Result<(), Error> {
    match value.kind() {
        ValueKind::Bool => out
            .write_str(if value.is_true() { "True" } else { "False" })
            .map_err(Error::from),
        ValueKind::None => out.write_str("None").map_err(Error::from),
        _ => minijinja::escape_formatter(out, state, value),
    }
}

/// `json.dumps` with transformers' defaults: nothing but what JSON needs is escaped.
#[allow(clippy::needless_pass_by_value)] // minijinja gives keyword arguments by value
fn to_json(value: &Value, arguments: Kwargs) -> Result<String, Error> {
    let json = serde_json::to_value(value)
        .map_err(|error| Error::new(ErrorKind::BadSerialization, "tojson: not JSON").with_source(error))?;
    let indent: Option<usize> = arguments.get("indent")?;
    let separators: Option<Vec<String>> = arguments.get("separators")?;
    let is_ascii: Option<bool> = arguments.get("ensure_ascii")?;
    let is_sorted: Option<bool> = arguments.get("sort_keys")?;
    arguments.assert_all_used()?;
    let json = if is_sorted == Some(true) { sorted(json) } else { json };
    let layout = match (indent, separators) {
        (Some(width), _) => Layout::Indented(width.min(100)),
        (None, Some(texts)) if texts == [",", ":"] => Layout::Dense,
        (None, _) => Layout::OneLine,
    };
    let text = python_json(&json, layout);
    Ok(if is_ascii == Some(true) { ascii(&text) } else { text })
}

fn sorted(json: serde_json::Value) -> serde_json::Value {
    match json {
        serde_json::Value::Object(object) => {
            let mut entries: Vec<_> = object.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            entries.sort_by(|a, b| a.0.cmp(&b.0));
            serde_json::Value::Object(entries.into_iter().collect())
        }
        serde_json::Value::Array(items) => items.into_iter().map(sorted).collect(),
        other => other,
    }
}

/// JSON text with everything beyond ASCII as `\uXXXX`, in pairs beyond the first plane.
fn ascii(json: &str) -> String {
    json.chars().fold(String::with_capacity(json.len()), |mut text, c| {
        if c.is_ascii() {
            text.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(text, "\\u{unit:04x}");
            }
        }
        text
    })
}

fn now(format: &str) -> Result<String, Error> {
    let mut text = String::new();
    write!(text, "{}", chrono::Local::now().format(format)).map_err(|_| {
        Error::new(
            ErrorKind::InvalidOperation,
            format!("strftime_now: unknown format {format:?}"),
        )
    })?;
    Ok(text)
}

/// Python's methods where the compatibility crate lacks them or strips less than Python does.
fn python_method(state: &State, value: &Value, method: &str, arguments: &[Value]) -> Result<Value, Error> {
    let Some(text) = value.as_str() else {
        return unknown_method_callback(state, value, method, arguments);
    };
    match method {
        "strip" | "lstrip" | "rstrip" => {
            let (cut,): (Option<&str>,) = from_args(arguments)?;
            Ok(Value::from(cut_ends(text, cut, method != "rstrip", method != "lstrip")))
        }
        "removeprefix" => {
            let (prefix,): (&str,) = from_args(arguments)?;
            Ok(Value::from(text.strip_prefix(prefix).unwrap_or(text)))
        }
        "removesuffix" => {
            let (suffix,): (&str,) = from_args(arguments)?;
            Ok(Value::from(text.strip_suffix(suffix).unwrap_or(text)))
        }
        "rsplit" => {
            let (separator, most): (&str, Option<usize>) = from_args(arguments)?;
            let mut parts: Vec<&str> = match most {
                Some(most) => text.rsplitn(most.saturating_add(1), separator).collect(),
                None => text.rsplit(separator).collect(),
            };
            parts.reverse();
            Ok(parts.into_iter().map(Value::from).collect())
        }
        "partition" | "rpartition" => {
            let (separator,): (&str,) = from_args(arguments)?;
            let is_last = method == "rpartition";
            let parts = if is_last {
                text.rsplit_once(separator)
            } else {
                text.split_once(separator)
            };
            let parts = match parts {
                Some((before, after)) => [before, separator, after],
                None if is_last => ["", "", text],
                None => [text, "", ""],
            };
            Ok(parts.into_iter().map(Value::from).collect())
        }
        // The compatibility crate never comes back from counting nothing.
        "count" if matches!(arguments, [nothing] if nothing.as_str() == Some("")) => {
            Ok(Value::from(text.chars().count() + 1))
        }
        _ => unknown_method_callback(state, value, method, arguments),
    }
}

/// Python's `strip` family: the given characters, else all white space.
fn cut_ends(text: &str, cut: Option<&str>, at_start: bool, at_end: bool) -> String {
    let is_cut = |c: char| cut.map_or_else(|| is_python_space(c), |cut| cut.contains(c));
    let text = if at_start {
        text.trim_start_matches(is_cut)
    } else {
        text
    };
    let text = if at_end { text.trim_end_matches(is_cut) } else { text };
    text.to_owned()
}

/// Whether a template failed for want of a function, filter or method, which tells nothing of a system turn.
fn is_lack_of_ours(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::UnknownMethod
            | ErrorKind::UnknownFunction
            | ErrorKind::UnknownFilter
            | ErrorKind::UnknownTest
            | ErrorKind::TooManyArguments
            | ErrorKind::MissingArgument
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(source: &str) -> String {
        let template = ChatTemplate {
            source: source.into(),
            bos_token: Some("<s>".into()),
            eos_token: None,
        };
        let turn = |role, text: &str| Message::new(role, text.to_owned(), "");
        let turns = [turn(Role::User, " <hi> \u{1f}"), turn(Role::Assistant, "a</think>b")];
        Chat::new(&template).unwrap().render(&turns).unwrap().0
    }

    #[test]
    fn templates_print_what_jinja2_prints() {
        for (source, expected) in [
            (
                "{{ bos_token }}{{ eos_token }}{{ nothing }}|{{ true }} {{ none }} {{ 1.0 }}",
                "<s>|True None 1.0",
            ),
            (
                "{% if true %}\r\n  {% if tools is none %}\rx\n  {% endif %}\n{% endif %}",
                "x\n",
            ),
            (
                "{{ messages[0]['content'] | trim }}|{{ messages[0].content.rstrip() }}|",
                "<hi>| <hi>|",
            ),
            (
                "{{ messages[1].content.split('</think>')[-1].removeprefix('b') ~ 'c'.rsplit('-')[0] }}",
                "c",
            ),
            (
                "{{ 'a.b.c'.rsplit('.', 1) | join('|') }} {{ 'a=b=c'.partition('=') | join('|') }}",
                "a.b|c a|=|b=c",
            ),
            (
                "{%- for m in messages %}{% generation %}{{ m.role }}{% endgeneration %}{% endfor -%} ",
                "userassistant",
            ),
            (
                "{{ {'b': '<é>', 'a': [1, 2.0, none, true]} | tojson }}",
                r#"{"b": "<é>", "a": [1, 2.0, null, true]}"#,
            ),
            (
                "{{ {'b': 1, 'a': {}} | tojson(indent=2, sort_keys=true) }}",
                "{\n  \"a\": {},\n  \"b\": 1\n}",
            ),
            (
                "{{ ['é😀', 1] | tojson(ensure_ascii=true, separators=(',', ':')) }}",
                r#"["\u00e9\ud83d\ude00",1]"#,
            ),
            ("{{ 'abc'.count('') }}{{ strftime_now('%%') }}", "4%"),
            (
                "{% for m in messages %}{% if loop.last %}{% break %}{% endif %}{{ m.role }}{% endfor %}",
                "user",
            ),
        ] {
            assert_eq!(rendered(source), expected, "{source}");
        }
    }

    #[test]
    fn a_method_that_is_not_known_is_no_refusal_of_the_system_turn() {
        let source = "{% for m in messages %}{% if m.role == 'system' %}{{ m.content.nosuch() }}{% endif %}\
            {{ m.content }}{% endfor %}";
        let template = ChatTemplate {
            source: source.into(),
            ..ChatTemplate::default()
        };
        let messages = [
            Message::new(Role::System, "s".into(), ""),
            Message::new(Role::User, "u".into(), ""),
        ];
        let error = format!("{:#}", Chat::new(&template).unwrap().render(&messages).unwrap_err());
        assert!(error.contains("not known here") && error.contains("nosuch"), "{error}");
    }

    #[test]
    fn a_broken_template_is_an_error_not_a_panic() {
        for source in [
            "{% if %}",
            "{{ strftime_now('%Q') }}",
            "{{ messages.nothing() }}",
            "{{ raise_exception('no') }}",
        ] {
            let template = ChatTemplate {
                source: source.into(),
                ..ChatTemplate::default()
            };
            let turn = Message::new(Role::User, "hi".into(), "");
            assert!(
                Chat::new(&template).and_then(|chat| chat.render(&[turn])).is_err(),
                "{source}"
            );
        }
    }
}
