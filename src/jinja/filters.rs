//! Jinja2's filters.

use std::rc::Rc;

use super::call::{Arguments, int_of, text_of};
use super::json::to_json;
use super::meter::{Meter, Text};
use super::statement::Renderer;
use super::value::Value;
use super::{Error, Fault, Result, number, operators, order, sequence, tests, textual, written};

/// All of them, those that are not known here included.
const JINJA2: &str = "abs attr batch capitalize center count d default dictsort e escape filesizeformat first float forceescape \
    format groupby indent int items join last length list lower map max min pprint random reject rejectattr \
    replace reverse round safe select selectattr slice sort string striptags sum title tojson trim truncate \
    unique upper urlencode urlize wordcount wordwrap xmlattr";

pub(super) fn is_jinja2(name: &str) -> bool {
    JINJA2.split(' ').any(|known| known == name)
}

pub(super) fn apply(renderer: &mut Renderer, name: &str, value: Value, arguments: Arguments) -> Result<Value> {
    let meter = Rc::clone(&renderer.meter);
    match name {
        "abs" | "float" | "int" | "round" | "sum" => numeric(renderer, name, &value, arguments, &meter),
        "batch" | "slice" | "list" | "first" | "last" | "reverse" | "items" | "length" | "count" => {
            listed(name, &value, arguments, &meter)
        }
        "sort" | "unique" | "min" | "max" | "groupby" | "dictsort" => {
            order::ordered(renderer, name, &value, arguments, &meter)
        }
        "map" => map(renderer, &value, arguments, &meter),
        "select" | "reject" | "selectattr" | "rejectattr" => select(renderer, name, &value, arguments, &meter),
        "attr" => {
            let [name] = arguments.bind("attr", ["name"], 1)?;
            let name = name.unwrap_or(Value::None);
            match (&value, text_of(&name)?) {
                // Only what is an attribute, never an item.
                (Value::Dict(dict), name) if dict.get(&Value::text(name)).is_some() => {
                    Err(Error::unknown("attr of a dict"))
                }
                (value, name) => renderer.attribute(value, name),
            }
        }
        "default" | "d" => {
            let [default, is_truth] = arguments.bind(name, ["default_value", "boolean"], 0)?;
            let is_missing = matches!(value, Value::Undefined(_));
            let is_empty = is_truth.is_some_and(|wanted| wanted.is_true()) && !value.is_true();
            Ok(if is_missing || is_empty {
                default.unwrap_or(Value::text(""))
            } else {
                value
            })
        }
        "tojson" => to_json(&value, arguments, &meter),
        "join" => {
            let [between, attribute] = arguments.bind(name, ["d", "attribute"], 0)?;
            let attribute = Attribute::new(attribute.as_ref())?;
            let between = between.map_or(Ok(String::new()), |between| written::text(&between, &meter))?;
            let mut out = Text::new(&meter);
            for (index, item) in sequence::items(&value, &meter)?.into_iter().enumerate() {
                out.push(if index > 0 { &between } else { "" })?;
                written::write(&mut out, &attribute.of(renderer, item)?)?;
            }
            Ok(Value::text(out.text))
        }
        _ if is_jinja2(name) => textual::textual(name, &value, arguments, &meter),
        _ => Err(Error::template(format!("No filter named '{name}'."))),
    }
}

/// The attributes that a filter looks at, `a.b.0` by its parts.
pub(super) struct Attribute {
    parts: Vec<Value>,
    pub(super) default: Option<Value>,
    pub(super) ignores_case: bool,
}

impl Attribute {
    pub(super) fn new(attribute: Option<&Value>) -> Result<Attribute> {
        let part = |part: &str| match part.parse() {
            Ok(index) if part.bytes().all(|byte| byte.is_ascii_digit()) => Value::Int(index),
            _ => Value::text(part),
        };
        let parts = match attribute {
            None | Some(Value::None) => Vec::new(),
            Some(Value::Text(text)) => text.split('.').map(part).collect(),
            Some(other @ Value::Int(_)) => vec![other.clone()],
            Some(other) => return Err(Error::unknown(format!("an attribute given by a {}", other.type_name()))),
        };
        Ok(Attribute {
            parts,
            default: None,
            ignores_case: false,
        })
    }

    pub(super) fn of(&self, renderer: &mut Renderer, mut value: Value) -> Result<Value> {
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

fn no_length(value: &Value) -> Error {
    Error::python(format!("object of type '{}' has no len()", value.type_name()))
}

fn listed(name: &str, value: &Value, arguments: Arguments, meter: &Meter) -> Result<Value> {
    if matches!(name, "batch" | "slice") {
        let [count, fill] = arguments.bind(name, ["count", "fill_with"], 1)?;
        let count = int_of(&count.unwrap_or(Value::None))?;
        let fill = fill.filter(|fill| !matches!(fill, Value::None));
        return Value::generator(|made| {
            let items = sequence::items(value, meter)?;
            match name {
                "batch" => batches(made, &items, count, fill, meter),
                _ => slices(made, &items, count, fill, meter),
            }
        });
    }
    let [] = arguments.bind(name, [], 0)?;
    match name {
        "list" => Value::list(sequence::items(value, meter)?),
        "first" => {
            let items = match value {
                Value::Iterator(items, taken) => {
                    let at = *taken.borrow();
                    taken.replace((at + 1).min(items.items.len()));
                    match (items.items.get(at), &items.failure) {
                        (None, Some(error)) => return Err(error.clone()),
                        (item, _) => item.cloned(),
                    }
                }
                other => sequence::items(other, meter)?.into_iter().next(),
            };
            Ok(items.unwrap_or_else(|| Value::undefined("No first item, sequence was empty.")))
        }
        "last" => {
            let last = reversed(value, meter)?.into_iter().next();
            Ok(last.unwrap_or_else(|| Value::undefined("No last item, sequence was empty.")))
        }
        "reverse" => match value {
            Value::Text(text) => {
                meter.bytes(text.len())?;
                Ok(Value::text(text.chars().rev().collect::<String>()))
            }
            Value::Iterator(..) => {
                let mut items = sequence::items(value, meter)?;
                items.reverse();
                Value::list(items)
            }
            other if sequence::is_iterable(other) => Value::iterator(reversed(other, meter)?),
            _ => Err(Error::template("argument must be iterable")),
        },
        "items" => match value {
            Value::Undefined(_) => Value::iterator(Vec::new()),
            Value::Dict(dict) => Value::iterator(sequence::items(&Value::View("items", Rc::clone(dict)), meter)?),
            _ => Value::generator(|_| Err(Error::python("Can only get item pairs from a mapping."))),
        },
        _ => match sequence::length(value, meter)? {
            Some(length) => Ok(Value::Int(length as i64)),
            None => Err(no_length(value)),
        },
    }
}

/// Python's `reversed`.
fn reversed(value: &Value, meter: &Meter) -> Result<Vec<Value>> {
    if matches!(value, Value::Iterator(..) | Value::Undefined(_)) {
        let name = value.type_name();
        return match value {
            Value::Undefined(_) => Ok(Vec::new()),
            _ => Err(Error::python(format!("'{name}' object is not reversible"))),
        };
    }
    let mut items = sequence::items(value, meter)?;
    items.reverse();
    Ok(items)
}

fn batches(batches: &mut Vec<Value>, items: &[Value], count: i64, fill: Option<Value>, meter: &Meter) -> Result<()> {
    let Some(count) = usize::try_from(count).ok().filter(|count| *count > 0) else {
        return Err(Error::unknown("batches of no items"));
    };
    for part in items.chunks(count) {
        let mut batch = part.to_vec();
        if let Some(fill) = &fill {
            meter.items(count - part.len())?;
            batch.resize(count, fill.clone());
        }
        batches.push(Value::list(batch)?);
    }
    Ok(())
}

fn slices(slices: &mut Vec<Value>, items: &[Value], count: i64, fill: Option<Value>, meter: &Meter) -> Result<()> {
    let Some(count) = usize::try_from(count).ok().filter(|count| *count > 0) else {
        return Err(Error::unknown("no slices"));
    };
    meter.items(count)?;
    let (each, longer) = (items.len() / count, items.len() % count);
    let mut start = 0;
    for index in 0..count {
        let end = start + each + usize::from(index < longer);
        let mut slice = items[start..end].to_vec();
        if index >= longer {
            slice.extend(fill.clone());
        }
        slices.push(Value::list(slice)?);
        start = end;
    }
    Ok(())
}

fn numeric(renderer: &mut Renderer, name: &str, value: &Value, arguments: Arguments, meter: &Meter) -> Result<Value> {
    match name {
        "abs" => match (value, value.as_int()) {
            (Value::Float(number), _) => Ok(Value::Float(number.abs())),
            (_, Some(number)) if number < 0 => operators::negative(&Value::Int(number)),
            (_, Some(number)) => Ok(Value::Int(number)),
            _ => Err(Error::python(format!(
                "bad operand type for abs(): '{}'",
                value.type_name()
            ))),
        },
        "float" => {
            let [default] = arguments.bind(name, ["default"], 0)?;
            operators::defined(&[value])?;
            let number = match value.as_text() {
                Some(text) => number::float_of_text(text),
                None => value.as_number(),
            };
            Ok(number.map_or_else(|| default.unwrap_or(Value::Float(0.0)), Value::Float))
        }
        "int" => int(value, arguments),
        "round" => {
            let [digits, method] = arguments.bind(name, ["precision", "method"], 0)?;
            let digits = digits.as_ref().map(int_of).transpose()?.unwrap_or(0);
            let method = method.unwrap_or(Value::text("common"));
            let rounded = match text_of(&method)? {
                "common" => return number::round(value, digits),
                "ceil" => f64::ceil,
                "floor" => f64::floor,
                _ => return Err(Error::template("method must be common, ceil or floor")),
            };
            let unit = number::arithmetic("**", &Value::Int(10), &Value::Int(digits)).unwrap_or(Ok(Value::None))?;
            let scaled = operators::binary("*", value, &unit, meter)?;
            let Some(scaled) = scaled.as_number() else {
                return Err(Error::python("must be real number"));
            };
            let whole = Value::Int(number::int_of_float(rounded(scaled))?);
            operators::binary("/", &whole, &unit, meter)
        }
        _ => {
            let [attribute, start] = arguments.bind(name, ["attribute", "start"], 0)?;
            let attribute = Attribute::new(attribute.as_ref())?;
            let mut sum = start.unwrap_or(Value::Int(0));
            if sum.as_text().is_some() {
                return Err(Error::python("sum() can't sum strings"));
            }
            for item in sequence::items(value, meter)? {
                meter.steps(1)?;
                let item = attribute.of(renderer, item)?;
                sum = operators::binary("+", &sum, &item, meter)?;
            }
            Ok(sum)
        }
    }
}

fn int(value: &Value, arguments: Arguments) -> Result<Value> {
    let [default, base] = arguments.bind("int", ["default", "base"], 0)?;
    let base = base.as_ref().map(int_of).transpose()?.unwrap_or(10);
    operators::defined(&[value])?;
    let number = match (value, value.as_text()) {
        (_, Some(text)) => match number::int_of_text(text, base) {
            Ok(Some(number)) => Some(number),
            Err(error) if error.fault == Fault::Unknown => return Err(error),
            _ => match number::float_of_text(text) {
                Some(number) if number.is_finite() => Some(number::int_of_float(number)?),
                _ => None,
            },
        },
        (Value::Float(number), _) if number.is_nan() => None,
        (Value::Float(number), _) => Some(number::int_of_float(*number)?),
        _ => value.as_int(),
    };
    Ok(number.map_or_else(|| default.unwrap_or(Value::Int(0)), Value::Int))
}

pub(super) fn is_set(value: Option<Value>) -> bool {
    value.is_some_and(|value| value.is_true())
}

fn map(renderer: &mut Renderer, value: &Value, arguments: Arguments, meter: &Meter) -> Result<Value> {
    Value::generator(|mapped| {
        if !value.is_true() {
            return Ok(());
        }
        if arguments.positional.is_empty() && arguments.keywords.iter().any(|(name, _)| &**name == "attribute") {
            let [attribute, default] = arguments.bind("map", ["attribute", "default"], 0)?;
            let mut attribute = Attribute::new(attribute.as_ref())?;
            attribute.default = default.filter(|default| !matches!(default, Value::None));
            for item in sequence::items(value, meter)? {
                meter.steps(1)?;
                mapped.push(attribute.of(renderer, item)?);
            }
            return Ok(());
        }
        let Some((name, rest)) = arguments.positional.split_first() else {
            return Err(Error::template("map requires a filter argument"));
        };
        let name = text_of(name)?.to_owned();
        for item in sequence::items(value, meter)? {
            meter.enter()?;
            let item = apply(renderer, &name, item, again(rest, &arguments));
            meter.leave();
            mapped.push(item?);
        }
        Ok(())
    })
}

/// The same arguments for one more call.
fn again(positional: &[Value], arguments: &Arguments) -> Arguments {
    Arguments {
        positional: positional.to_vec(),
        keywords: arguments.keywords.clone(),
    }
}

fn select(renderer: &mut Renderer, name: &str, value: &Value, arguments: Arguments, meter: &Meter) -> Result<Value> {
    let is_wanted = name.starts_with("select");
    Value::generator(|kept| {
        if !value.is_true() {
            return Ok(());
        }
        let mut rest = arguments.positional.as_slice();
        let mut attribute = Attribute::new(None)?;
        if name.ends_with("attr") {
            let missing = || Error::template("Missing parameter for attribute name");
            let (first, others) = rest.split_first().ok_or_else(missing)?;
            (attribute, rest) = (Attribute::new(Some(first))?, others);
        }
        for item in sequence::items(value, meter)? {
            meter.enter()?;
            let looked_at = attribute.of(renderer, item.clone())?;
            let holds = match rest.split_first() {
                None => looked_at.is_true(),
                Some((test, rest)) => {
                    let test = text_of(test)?;
                    tests::holds(renderer, test, &looked_at, again(rest, &arguments))?
                }
            };
            meter.leave();
            if holds == is_wanted {
                kept.push(item);
            }
        }
        Ok(())
    })
}
