//! Jinja2's filters.

use std::rc::Rc;

use super::Result;
use super::call::{Arguments, Bound, text_of};
use super::meter::{Meter, Text};
use super::statement::Renderer;
use super::value::{Kind, Value};
use super::{format, methods, number, operators, order, sequence, tests, written};
use crate::text::is_python_space;

/// Those that are not known here: they are refused by name.
const LACKING: &str = "attr batch center e escape filesizeformat forceescape groupby pprint random slice striptags truncate \
    urlencode urlize wordcount wordwrap xmlattr";
/// Those that hand arguments on.
const WALKING: &str = "map select reject selectattr rejectattr format";

type Filter = fn(&mut Renderer, &Value, &Bound) -> Result<Value>;

/// By name, with the arguments as [`Arguments::bind`] takes them.
const FILTERS: &[(&str, &str, Filter)] = &[
    ("abs", "", |_, value, _| match value {
        Value::Float(number) => Ok(Value::Float(number.abs())),
        other if number::compare(other, &Value::Int(0)).is_some_and(std::cmp::Ordering::is_lt) => {
            operators::negative(other)
        }
        other => number::round(other, 0, "common"),
    }),
    ("capitalize", "", |renderer, value, _| {
        renderer.text_method(value, "capitalize")
    }),
    ("count", "", length),
    ("d", "default_value? boolean?", default),
    ("default", "default_value? boolean?", default),
    ("dictsort", "case_sensitive? by? reverse?", order::dictsort),
    ("first", "", |renderer, value, _| {
        let first = sequence::first(value, &renderer.meter)?;
        Ok(first.unwrap_or_else(|| Value::undefined("No first item, sequence was empty.")))
    }),
    ("float", "default?", |_, value, given| {
        operators::defined(&[value])?;
        let number = value
            .as_text()
            .map_or(value.as_number(), |text| number::float_of_text(text));
        Ok(number.map_or_else(|| given.given(0).cloned().unwrap_or(Value::Float(0.0)), Value::Float))
    }),
    ("indent", "width? first? blank?", indent),
    ("int", "default? base?", |_, value, given| {
        operators::defined(&[value])?;
        if given.int(1, 10)? != 10 {
            return unknown!("int to another base");
        }
        let number = number::int(value)?;
        Ok(number.map_or_else(|| given.given(0).cloned().unwrap_or(Value::Int(0)), Value::Int))
    }),
    ("items", "", |renderer, value, _| match value {
        Value::Undefined(_) => Value::series(Kind::Generator, Vec::new()),
        Value::Dict(_) => {
            let pairs = sequence::view(value, Kind::Pairs, &renderer.meter)?;
            Value::series(Kind::Generator, sequence::items(&pairs, &renderer.meter)?)
        }
        _ => python!("Can only get item pairs from a mapping."),
    }),
    ("join", "d? attribute?", join),
    ("last", "", |renderer, value, _| {
        let last = reversed(value, &renderer.meter)?.into_iter().next();
        Ok(last.unwrap_or_else(|| Value::undefined("No last item, sequence was empty.")))
    }),
    ("length", "", length),
    ("list", "", |renderer, value, _| {
        Value::list(sequence::items(value, &renderer.meter)?)
    }),
    ("lower", "", |renderer, value, _| renderer.text_method(value, "lower")),
    ("max", "case_sensitive? attribute?", order::max),
    ("min", "case_sensitive? attribute?", order::min),
    ("replace", "old new count?", |renderer, value, given| {
        let meter = Rc::clone(&renderer.meter);
        let text = |value: &Value| written::text(value, &meter);
        let most = given.some(2).map_or(Ok(-1), super::call::int_of)?;
        methods::replace(
            &text(value)?,
            (&text(&given.value(0))?, &text(&given.value(1))?),
            most,
            &meter,
        )
    }),
    ("reverse", "", |renderer, value, _| match value {
        Value::Text(text) => {
            renderer.meter.bytes(text.len())?;
            Ok(Value::text(text.chars().rev().collect::<String>()))
        }
        other => Value::series(Kind::Generator, reversed(other, &renderer.meter)?),
    }),
    ("round", "precision? method?", |_, value, given| {
        let method = given.given(1).map_or(Ok("common"), text_of)?;
        number::round(value, given.int(0, 0)?, method)
    }),
    ("safe", "", |renderer, value, _| {
        Ok(Value::Markup(written::text(value, &renderer.meter)?.into()))
    }),
    ("sort", "reverse? case_sensitive? attribute?", order::sort),
    ("string", "", |renderer, value, _| match value {
        Value::Text(_) | Value::Markup(_) => Ok(value.clone()),
        other => written::text(other, &renderer.meter).map(Value::text),
    }),
    ("sum", "attribute? start?", |renderer, value, given| {
        let attribute = Attribute::new(given.given(0), false)?;
        let mut sum = given.given(1).cloned().unwrap_or(Value::Int(0));
        for item in sequence::items(value, &renderer.meter)? {
            let item = attribute.of(renderer, item)?;
            sum = operators::binary("+", &sum, &item, &renderer.meter)?;
        }
        Ok(sum)
    }),
    ("title", "", |renderer, value, _| {
        let text = written::text(value, &renderer.meter)?;
        renderer.meter.bytes(text.len())?;
        // Words begin after space, hyphens and opening brackets.
        methods::titled(&text, |c| {
            !matches!(c, '-' | '(' | '{' | '[' | '<') && !is_python_space(c)
        })
        .map(Value::text)
    }),
    (
        "tojson",
        "ensure_ascii? indent? separators? sort_keys?",
        |renderer, value, given| written::to_json(value, given, &renderer.meter),
    ),
    ("trim", "chars?", |renderer, value, given| {
        let text = written::text(value, &renderer.meter)?;
        methods::strip(&text, given, (true, true), &renderer.meter)
    }),
    ("unique", "case_sensitive? attribute?", order::unique),
    ("upper", "", |renderer, value, _| renderer.text_method(value, "upper")),
];

pub(super) fn is_jinja2(name: &str) -> bool {
    let is_named = |names: &str| names.split(' ').any(|known| known == name);
    FILTERS.iter().any(|(known, ..)| *known == name) || is_named(LACKING) || is_named(WALKING)
}

pub(super) fn apply(renderer: &mut Renderer, name: &str, value: Value, arguments: Arguments) -> Result<Value> {
    let takes_safe = matches!(
        name,
        "string" | "safe" | "tojson" | "d" | "default" | "length" | "count"
    );
    if matches!(value, Value::Markup(_)) && !takes_safe {
        return unknown!("the filter {name} on text marked as safe");
    }
    match (FILTERS.iter().find(|(known, ..)| *known == name), name) {
        (Some((_, signature, filter)), _) => filter(renderer, &value, &arguments.bind(name, signature)?),
        (None, "map") => map(renderer, &value, arguments),
        (None, "select" | "reject" | "selectattr" | "rejectattr") => select(renderer, name, &value, &arguments),
        (None, "format") if arguments.keywords.is_empty() => {
            let values = Value::series(Kind::Tuple, arguments.positional)?;
            format::percent(text_of(&value)?, &values, &renderer.meter).map(Value::text)
        }
        _ if is_jinja2(name) => unknown!("the filter {name}"),
        _ => template!("No filter named '{name}'."),
    }
}

impl Renderer {
    fn text_method(&self, value: &Value, method: &'static str) -> Result<Value> {
        let text = Value::text(written::text(value, &self.meter)?);
        methods::call(&text, method, Arguments::default(), &self.meter)
    }
}

fn length(renderer: &mut Renderer, value: &Value, _: &Bound) -> Result<Value> {
    match sequence::length(value, &renderer.meter)? {
        Some(length) => Ok(Value::Int(length as i64)),
        None => python!("object of type '{}' has no len()", value.type_name()),
    }
}

fn default(_: &mut Renderer, value: &Value, given: &Bound) -> Result<Value> {
    let is_missing = matches!(value, Value::Undefined(_)) || given.is_true(1) && !value.is_true();
    let default = || given.given(0).cloned().unwrap_or(Value::text(""));
    Ok(if is_missing { default() } else { value.clone() })
}

fn join(renderer: &mut Renderer, value: &Value, given: &Bound) -> Result<Value> {
    let meter = Rc::clone(&renderer.meter);
    let attribute = Attribute::new(given.given(1), false)?;
    let between = given
        .given(0)
        .map_or(Ok(String::new()), |between| written::text(between, &meter))?;
    let mut out = Text::new(&meter);
    for (index, item) in sequence::items(value, &meter)?.into_iter().enumerate() {
        out.push(if index > 0 { &between } else { "" })?;
        written::write(&mut out, &attribute.of(renderer, item)?)?;
    }
    Ok(Value::text(out.text))
}

fn indent(renderer: &mut Renderer, value: &Value, given: &Bound) -> Result<Value> {
    let meter = &renderer.meter;
    let indent = match given.given(0) {
        Some(Value::Text(text)) => text.to_string(),
        _ => {
            let width = usize::try_from(given.int(0, 4)?).unwrap_or(0);
            meter.bytes(width)?;
            " ".repeat(width)
        }
    };
    let whole = format!("{}\n", text_of(value)?);
    let mut out = Text::new(meter);
    for (index, line) in methods::lines(&whole, false).into_iter().enumerate() {
        let is_indented = match index {
            0 => given.is_true(1),
            _ => given.is_true(2) || !line.is_empty(),
        };
        out.push(if index > 0 { "\n" } else { "" })?;
        out.push(if is_indented { &indent } else { "" })?;
        out.push(line)?;
    }
    Ok(Value::text(out.text))
}

/// Python's `reversed`.
fn reversed(value: &Value, meter: &Meter) -> Result<Vec<Value>> {
    if matches!(value, Value::Series(Kind::Generator, _)) {
        return unknown!("the end of an iterator");
    }
    let mut items = sequence::items(value, meter)?;
    items.reverse();
    Ok(items)
}

/// The attributes that a filter looks at, `a.b.0` by its parts.
pub(super) struct Attribute {
    parts: Vec<Value>,
    default: Option<Value>,
    ignores_case: bool,
}

impl Attribute {
    pub(super) fn new(attribute: Option<&Value>, ignores_case: bool) -> Result<Attribute> {
        let part = |part: &str| match part.parse() {
            Ok(index) if part.bytes().all(|byte| byte.is_ascii_digit()) => Value::Int(index),
            _ => Value::text(part),
        };
        let parts = match attribute {
            None | Some(Value::None) => Vec::new(),
            Some(Value::Text(text)) => text.split('.').map(part).collect(),
            Some(other @ Value::Int(_)) => vec![other.clone()],
            Some(other) => return unknown!("an attribute given by a {}", other.type_name()),
        };
        let default = None;
        Ok(Attribute {
            parts,
            default,
            ignores_case,
        })
    }

    pub(super) fn of(&self, renderer: &mut Renderer, mut value: Value) -> Result<Value> {
        renderer.meter.steps(1)?;
        for part in &self.parts {
            value = renderer.item(&value, part)?;
            if let (Value::Undefined(_), Some(default)) = (&value, &self.default) {
                value = default.clone();
            }
        }
        match &value {
            Value::Text(text) if self.ignores_case => {
                renderer.meter.bytes(text.len())?;
                Ok(Value::text(text.to_lowercase()))
            }
            _ => Ok(value),
        }
    }
}

fn map(renderer: &mut Renderer, value: &Value, arguments: Arguments) -> Result<Value> {
    let is_empty = !value.is_true();
    let items = if is_empty {
        Vec::new()
    } else {
        sequence::items(value, &renderer.meter)?
    };
    let names_attribute = arguments.keywords.iter().any(|(name, _)| &**name == "attribute");
    let mapped: Result<Vec<Value>> = if arguments.positional.is_empty() && names_attribute {
        let given = arguments.bind("map", "attribute default?")?;
        let mut attribute = Attribute::new(given.given(0), false)?;
        attribute.default = given.some(1).cloned();
        items.into_iter().map(|item| attribute.of(renderer, item)).collect()
    } else {
        let Some((name, rest)) = arguments.positional.split_first().filter(|_| !is_empty) else {
            return Value::series(Kind::Generator, Vec::new());
        };
        let name = text_of(name)?;
        let one = |item| {
            deeper(renderer, |renderer| {
                apply(renderer, name, item, again(rest, &arguments))
            })
        };
        items.into_iter().map(one).collect()
    };
    Value::series(Kind::Generator, mapped?)
}

/// Work within the depth that is allowed.
fn deeper<T>(renderer: &mut Renderer, work: impl FnOnce(&mut Renderer) -> Result<T>) -> Result<T> {
    renderer.meter.enter()?;
    let outcome = work(renderer);
    renderer.meter.leave();
    outcome
}

/// The same arguments for one more call.
fn again(positional: &[Value], arguments: &Arguments) -> Arguments {
    Arguments {
        positional: positional.to_vec(),
        keywords: arguments.keywords.clone(),
    }
}

fn select(renderer: &mut Renderer, name: &str, value: &Value, arguments: &Arguments) -> Result<Value> {
    let is_wanted = name.starts_with("select");
    let mut rest = arguments.positional.as_slice();
    let mut attribute = Attribute::new(None, false)?;
    if name.ends_with("attr") {
        let Some((first, others)) = rest.split_first() else {
            return template!("Missing parameter for attribute name");
        };
        (attribute, rest) = (Attribute::new(Some(first), false)?, others);
    }
    let mut kept = Vec::new();
    let items = if value.is_true() {
        sequence::items(value, &renderer.meter)?
    } else {
        Vec::new()
    };
    for item in items {
        let looked_at = attribute.of(renderer, item.clone())?;
        let holds = match rest.split_first() {
            None => looked_at.is_true(),
            Some((test, rest)) => deeper(renderer, |renderer| {
                tests::holds(renderer, text_of(test)?, &looked_at, again(rest, arguments))
            })?,
        };
        if holds == is_wanted {
            kept.push(item);
        }
    }
    Value::series(Kind::Generator, kept)
}
