//! Filters that make text of text.

use super::call::{Arguments, int_of, text_of};
use super::filters::is_set;
use super::meter::{Meter, Text};
use super::percent::percent;
use super::value::Value;
use super::{Error, Result, cuts, methods, written};
use crate::extract::python::is_word;
use crate::text::is_python_space;

/// Filters that make text of text.
pub(super) fn textual(name: &str, value: &Value, arguments: Arguments, meter: &Meter) -> Result<Value> {
    if matches!(value, Value::Markup(_)) && !matches!(name, "string" | "safe") {
        return Err(Error::unknown(format!("the filter {name} on text marked as safe")));
    }
    match name {
        "string" => {
            let [] = arguments.bind(name, [], 0)?;
            match value {
                Value::Text(_) | Value::Markup(_) => Ok(value.clone()),
                other => written::text(other, meter).map(Value::text),
            }
        }
        "safe" => {
            let [] = arguments.bind(name, [], 0)?;
            Ok(Value::Markup(written::text(value, meter)?.into()))
        }
        "upper" | "lower" | "capitalize" | "title" => {
            let [] = arguments.bind(name, [], 0)?;
            let text = written::text(value, meter)?;
            let changed = if name == "title" {
                titled(&text)
            } else {
                methods::changed(&text, name)
            };
            meter.bytes(changed.len())?;
            Ok(Value::text(changed))
        }
        "trim" => {
            let [cut] = arguments.bind(name, ["chars"], 0)?;
            let text = written::text(value, meter)?;
            let cut = cut.filter(|cut| !matches!(cut, Value::None));
            let cut = cut.as_ref().map(text_of).transpose()?;
            Ok(Value::text(cuts::strip(&text, cut, true, true)))
        }
        "replace" => {
            let [old, new, count] = arguments.bind(name, ["old", "new", "count"], 2)?;
            let part = |value: Option<Value>| written::text(&value.unwrap_or(Value::None), meter);
            let most = match count {
                None | Some(Value::None) => -1,
                Some(count) => int_of(&count)?,
            };
            cuts::replace(&written::text(value, meter)?, &part(old)?, &part(new)?, most, meter)
        }
        "center" => {
            let [width] = arguments.bind(name, ["width"], 0)?;
            let text = Value::text(written::text(value, meter)?);
            let width = vec![width.unwrap_or(Value::Int(80))];
            let arguments = Arguments {
                positional: width,
                keywords: Vec::new(),
            };
            methods::call(&text, "center", arguments, meter)
        }
        "format" => formatted(value, arguments, meter),
        "indent" => indent(value, arguments, meter),
        "truncate" => truncate(value, arguments, meter),
        "wordcount" => {
            let [] = arguments.bind(name, [], 0)?;
            let text = written::text(value, meter)?;
            let words = text.split(|c| !is_word(c)).filter(|word| !word.is_empty());
            Ok(Value::Int(words.count() as i64))
        }
        other => Err(Error::unknown(format!("the filter {other}"))),
    }
}

/// Jinja2's own title case: words begin after space, hyphens and opening brackets.
fn titled(text: &str) -> String {
    let begins = |c: char| matches!(c, '-' | '(' | '{' | '[' | '<') || is_python_space(c);
    let mut titled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_gap = begins(first);
        let end = rest.find(|c| begins(c) != is_gap).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        titled.extend(first.to_uppercase());
        titled.push_str(&part[first.len_utf8()..].to_lowercase());
        rest = after;
    }
    titled
}

fn indent(value: &Value, arguments: Arguments, meter: &Meter) -> Result<Value> {
    let [width, takes_first, takes_blank] = arguments.bind("indent", ["width", "first", "blank"], 0)?;
    let text = text_of(value)?;
    let mut indent = Text::new(meter);
    match width {
        Some(Value::Text(text)) => indent.push(&text)?,
        width => {
            let width = width.as_ref().map(int_of).transpose()?.unwrap_or(4);
            indent.repeat(' ', usize::try_from(width).unwrap_or(0))?;
        }
    }
    let (takes_first, takes_blank) = (is_set(takes_first), is_set(takes_blank));
    let whole = format!("{text}\n");
    let mut out = Text::new(meter);
    for (index, line) in cuts::lines(&whole, false).into_iter().enumerate() {
        out.push(if index > 0 { "\n" } else { "" })?;
        let is_indented = if index == 0 {
            takes_first
        } else {
            takes_blank || !line.is_empty()
        };
        out.push(if is_indented { &indent.text } else { "" })?;
        out.push(line)?;
    }
    Ok(Value::text(out.text))
}

fn truncate(value: &Value, arguments: Arguments, meter: &Meter) -> Result<Value> {
    let names = ["length", "killwords", "end", "leeway"];
    let [length, cuts_words, end, leeway] = arguments.bind("truncate", names, 0)?;
    let number = |value: Option<Value>, default: i64| value.as_ref().map_or(Ok(default), int_of);
    let length = number(length, 255)?;
    let leeway = number(leeway.filter(|leeway| !matches!(leeway, Value::None)), 5)?;
    let end = end.unwrap_or(Value::text("..."));
    let end = text_of(&end)?;
    let kept = length - end.chars().count() as i64;
    if kept < 0 || leeway < 0 {
        return Err(Error::python(format!(
            "expected length >= {}, got {length}",
            end.chars().count()
        )));
    }
    let text = text_of(value)?;
    meter.bytes(text.len())?;
    if text.chars().count() as i64 <= length.saturating_add(leeway) {
        return Ok(value.clone());
    }
    let cut = text
        .char_indices()
        .nth(kept as usize)
        .map_or(text, |(at, _)| &text[..at]);
    let cut = match is_set(cuts_words) {
        true => cut,
        false => cut.rsplit_once(' ').map_or(cut, |(before, _)| before),
    };
    Ok(Value::text(format!("{cut}{end}")))
}

fn formatted(value: &Value, arguments: Arguments, meter: &Meter) -> Result<Value> {
    let form = written::text(value, meter)?;
    let values = match (arguments.positional.is_empty(), arguments.keywords.is_empty()) {
        (false, false) => {
            return Err(Error::template(
                "can't handle positional and keyword arguments at the same time",
            ));
        }
        (_, true) => Value::tuple(arguments.positional)?,
        (true, false) => {
            let entries = arguments.keywords.into_iter();
            Value::dict(entries.map(|(name, value)| (Value::Text(name), value)).collect())?
        }
    };
    percent(&form, &values, meter).map(Value::text)
}
