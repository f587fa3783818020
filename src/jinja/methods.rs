//! The methods of Python's values, and which attributes they have.

use super::call::{Arguments, int_of, text_of};
use super::cuts::{begins, lines, pad, partition, replace, search, split_at, split_at_space, strip};
use super::meter::{Meter, Text};
use super::value::Value;
use super::{Error, Result, sequence};
use crate::extract::python::is_word;
use crate::text::is_python_space as is_space;

/// Methods that are here, by the type's name.
const KNOWN: [(&str, &str); 4] = [
    (
        "str",
        "capitalize center count endswith find format index isalnum isalpha isascii isdecimal isdigit islower \
         isnumeric isprintable isspace isupper join ljust lower lstrip partition removeprefix removesuffix \
         replace rfind rindex rjust rpartition rsplit rstrip split splitlines startswith strip swapcase title \
         upper zfill",
    ),
    ("dict", "copy get items keys values"),
    ("list", "copy count index"),
    ("tuple", "count index"),
];

/// Attributes that Python has and that are not here.
const LACKING: [(&str, &str); 10] = [
    (
        "str",
        "casefold encode expandtabs format_map isidentifier istitle maketrans translate",
    ),
    ("dict", "fromkeys"),
    ("int", INT),
    ("bool", INT),
    ("float", "as_integer_ratio conjugate fromhex hex imag is_integer real"),
    ("range", "count index start step stop"),
    (
        "generator",
        "close gi_code gi_frame gi_running gi_suspended gi_yieldfrom send throw",
    ),
    ("dict_keys", "isdisjoint mapping"),
    ("dict_values", "mapping"),
    ("dict_items", "isdisjoint mapping"),
];
const INT: &str = "as_integer_ratio bit_count bit_length conjugate denominator from_bytes imag numerator real to_bytes";

/// Methods that change their value: the sandbox keeps templates from them.
const CHANGING: [(&str, &str); 2] = [
    ("dict", "clear pop popitem setdefault update"),
    ("list", "append clear extend insert pop remove reverse sort"),
];

fn listed(table: &[(&str, &'static str)], of: &str, name: &str) -> Option<&'static str> {
    let (_, names) = table.iter().find(|(known, _)| *known == of)?;
    names.split(' ').find(|known| *known == name)
}

/// Python's `getattr`: none where there is no such attribute.
pub(super) fn attribute(value: &Value, name: &str) -> Result<Option<Value>> {
    let kind = value.type_name();
    if matches!(value, Value::Markup(_) | Value::Method(..) | Value::Function(_)) {
        return Err(Error::unknown(format!("an attribute of a {kind} ({name})")));
    }
    if let Some(method) = listed(&KNOWN, kind, name) {
        return Value::method(value, method).map(Some);
    }
    if listed(&LACKING, kind, name).is_some() {
        return Err(Error::unknown(format!("{kind}.{name}")));
    }
    if listed(&CHANGING, kind, name).is_some() || name.starts_with("__") && name.ends_with("__") && name.len() > 4 {
        return Ok(Some(Value::undefined(format!(
            "access to attribute '{name}' of '{kind}' object is unsafe."
        ))));
    }
    Ok(match value {
        Value::Tuple(pair) if pair.is_group && name == "grouper" => pair.items.first().cloned(),
        Value::Tuple(pair) if pair.is_group && name == "list" => pair.items.get(1).cloned(),
        _ => None,
    })
}

pub(super) fn call(value: &Value, method: &'static str, arguments: Arguments, meter: &Meter) -> Result<Value> {
    match value {
        Value::Text(text) => {
            meter.scan(text.len())?;
            text_method(text, method, arguments, meter)
        }
        Value::Dict(dict) => match method {
            "get" => {
                let [key, default] = arguments.bind("get", ["/key", "/default"], 1)?;
                let key = key.unwrap_or(Value::None);
                key.check_hashable()?;
                let found = dict.get(&key).cloned();
                Ok(found.or(default).unwrap_or(Value::None))
            }
            _ => {
                let [] = arguments.bind(method, [], 0)?;
                Ok(match method {
                    "copy" => value.clone(),
                    view => Value::View(view, std::rc::Rc::clone(dict)),
                })
            }
        },
        Value::List(items) | Value::Tuple(items) => match method {
            "copy" => {
                let [] = arguments.bind("copy", [], 0)?;
                Ok(value.clone())
            }
            _ => {
                let [part, start, stop] = arguments.bind(method, ["/value", "/start", "/stop"], 1)?;
                if start.or(stop).is_some() {
                    return Err(Error::unknown("index from a place on"));
                }
                let part = part.unwrap_or(Value::None);
                meter.scan(part.weight().saturating_mul(items.items.len()))?;
                let is_equal = |item: &Value| item.is_equal(&part);
                match method {
                    "count" => Ok(Value::Int(
                        items.items.iter().filter(|item| is_equal(item)).count() as i64
                    )),
                    _ => match items.items.iter().position(is_equal) {
                        Some(at) => Ok(Value::Int(at as i64)),
                        None => Err(Error::python("value is not in list")),
                    },
                }
            }
        },
        other => Err(Error::unknown(format!("{}.{method}", other.type_name()))),
    }
}

fn text_method(text: &str, method: &'static str, arguments: Arguments, meter: &Meter) -> Result<Value> {
    match method {
        "strip" | "lstrip" | "rstrip" => {
            let [cut] = arguments.bind(method, ["/chars"], 0)?;
            let cut = cut.filter(|cut| !matches!(cut, Value::None));
            let cut = cut.as_ref().map(text_of).transpose()?;
            made(strip(text, cut, method != "rstrip", method != "lstrip"), meter)
        }
        "split" | "rsplit" => {
            let [separator, most] = arguments.bind(method, ["sep", "maxsplit"], 0)?;
            let most = most.as_ref().map(int_of).transpose()?.unwrap_or(-1);
            let most = usize::try_from(most).unwrap_or(usize::MAX);
            let separator = separator.filter(|separator| !matches!(separator, Value::None));
            let parts = match separator.as_ref().map(text_of).transpose()? {
                Some("") => return Err(Error::python("empty separator")),
                Some(separator) => split_at(text, separator, most, method == "rsplit"),
                None => split_at_space(text, most, method == "rsplit"),
            };
            texts(parts, meter)
        }
        "splitlines" => {
            let [keeps] = arguments.bind(method, ["keepends"], 0)?;
            texts(lines(text, keeps.is_some_and(|keeps| keeps.is_true())), meter)
        }
        "partition" | "rpartition" => {
            let [separator] = arguments.bind(method, ["/sep"], 1)?;
            let separator = separator.unwrap_or(Value::None);
            partition(text, text_of(&separator)?, method == "rpartition", meter)
        }
        "replace" => {
            let [old, new, count] = arguments.bind(method, ["/old", "/new", "/count"], 2)?;
            let (old, new) = (old.unwrap_or(Value::None), new.unwrap_or(Value::None));
            let most = count.as_ref().map(int_of).transpose()?.unwrap_or(-1);
            replace(text, text_of(&old)?, text_of(&new)?, most, meter)
        }
        "startswith" | "endswith" => begins(text, method, arguments),
        "removeprefix" | "removesuffix" => {
            let [part] = arguments.bind(method, ["/part"], 1)?;
            let part = part.unwrap_or(Value::None);
            let part = text_of(&part)?;
            let rest = if method == "removeprefix" {
                text.strip_prefix(part)
            } else {
                text.strip_suffix(part)
            };
            made(rest.unwrap_or(text), meter)
        }
        "find" | "rfind" | "index" | "rindex" | "count" => search(text, method, arguments),
        "center" | "ljust" | "rjust" | "zfill" => pad(text, method, arguments, meter),
        "join" => join(text, arguments, meter),
        "format" => Err(Error::unknown("str.format here")),
        _ => {
            let [] = arguments.bind(method, [], 0)?;
            match method.strip_prefix("is") {
                Some(what) => is(text, what),
                None => made(&changed(text, method), meter),
            }
        }
    }
}

pub(super) fn made(text: &str, meter: &Meter) -> Result<Value> {
    meter.bytes(text.len())?;
    Ok(Value::text(text))
}

fn texts(parts: Vec<&str>, meter: &Meter) -> Result<Value> {
    meter.items(parts.len())?;
    Value::list(parts.into_iter().map(|part| made(part, meter)).collect::<Result<_>>()?)
}

/// `isalpha` and the like; of other scripts only what Rust and Python class alike.
fn is(text: &str, what: &str) -> Result<Value> {
    let all = |is: fn(char) -> bool| !text.is_empty() && text.chars().all(is);
    let digits = |is: fn(&char) -> bool| {
        let is_odd = |c: char| !c.is_ascii() && c.is_numeric();
        match text.chars().any(is_odd) {
            true => Err(Error::unknown(format!("is{what} of digits other than 0 to 9"))),
            false => Ok(!text.is_empty() && text.chars().all(|c| is(&c))),
        }
    };
    let cased = |is: fn(char) -> bool, other: fn(char) -> bool| text.chars().any(is) && !text.chars().any(other);
    Ok(Value::Bool(match what {
        "alnum" => all(|c| is_word(c) && c != '_'),
        "alpha" => all(|c| is_word(c) && !c.is_numeric() && c != '_'),
        "ascii" => text.is_ascii(),
        "space" => all(is_space),
        "printable" => text.chars().all(super::written::is_printable),
        "lower" => cased(char::is_lowercase, char::is_uppercase),
        "upper" => cased(char::is_uppercase, char::is_lowercase),
        _ => digits(char::is_ascii_digit)?,
    }))
}

/// `upper`, `lower`, `capitalize`, `title`, `swapcase`.
pub(super) fn changed(text: &str, method: &str) -> String {
    match method {
        "upper" => text.to_uppercase(),
        "lower" => text.to_lowercase(),
        "capitalize" => {
            let mut chars = text.chars();
            let first = chars.next().map(title_case).unwrap_or_default();
            first + &text[text.len() - chars.as_str().len()..].to_lowercase()
        }
        "swapcase" => text.chars().fold(String::new(), |mut swapped, c| {
            match c.is_uppercase() {
                true => swapped.extend(c.to_lowercase()),
                false => swapped.extend(c.to_uppercase()),
            }
            swapped
        }),
        _ => {
            let mut is_inside = false;
            text.chars().fold(String::new(), |mut titled, c| {
                let is_cased = c.is_lowercase() || c.is_uppercase();
                match is_inside {
                    true => titled.extend(c.to_lowercase()),
                    false => titled.push_str(&title_case(c)),
                }
                is_inside = is_cased;
                titled
            })
        }
    }
}

/// Upper case at a word's begin: of a letter that becomes several, only the first is large.
fn title_case(c: char) -> String {
    let own = match u32::from(c) {
        // Letters of two, of which only the first is large.
        0x1c4..=0x1c6 => 0x1c5,
        0x1c7..=0x1c9 => 0x1c8,
        0x1ca..=0x1cc => 0x1cb,
        0x1f1..=0x1f3 => 0x1f2,
        // Georgian has capitals for whole words alone.
        code @ (0x10d0..=0x10fa | 0x10fd..=0x10ff) => code,
        // Greek vowels with an iota below.
        code @ (0x1f80..=0x1f87 | 0x1f90..=0x1f97 | 0x1fa0..=0x1fa7) => code + 8,
        code @ (0x1fb3 | 0x1fc3 | 0x1ff3) => code + 9,
        code @ (0x1f88..=0x1f8f | 0x1f98..=0x1f9f | 0x1fa8..=0x1faf | 0x1fbc | 0x1fcc | 0x1ffc) => code,
        _ => 0,
    };
    if let Some(own) = char::from_u32(own).filter(|own| *own != '\0') {
        return own.into();
    }
    let mut upper = c.to_uppercase();
    let first: String = upper.next().into_iter().collect();
    first + &upper.flat_map(char::to_lowercase).collect::<String>()
}

fn join(text: &str, arguments: Arguments, meter: &Meter) -> Result<Value> {
    let [parts] = arguments.bind("join", ["/iterable"], 1)?;
    let mut out = Text::new(meter);
    for (index, part) in sequence::items(&parts.unwrap_or(Value::None), meter)?
        .iter()
        .enumerate()
    {
        out.push(if index > 0 { text } else { "" })?;
        match part {
            Value::Text(part) => out.push(part)?,
            Value::Markup(_) => return Err(Error::unknown("joining text marked as safe")),
            other => {
                let name = other.type_name();
                let message = format!("sequence item {index}: expected str instance, {name} found");
                return Err(Error::python(message));
            }
        }
    }
    Ok(Value::text(out.text))
}
