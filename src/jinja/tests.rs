//! What stands after `is`.

use super::call::Arguments;
use super::meter::Meter;
use super::statement::Renderer;
use super::value::Value;
use super::{Error, Result, filters, methods, number, operators, sequence, written};

const JINJA2: &str = "!= < <= == > >= boolean callable defined divisibleby eq equalto escaped even false filter float ge \
    greaterthan gt in integer iterable le lessthan lower lt mapping ne none number odd sameas sequence string \
    test true undefined upper";

pub(super) fn is_jinja2(name: &str) -> bool {
    JINJA2.split(' ').any(|known| known == name)
}

pub(super) fn holds(renderer: &mut Renderer, name: &str, value: &Value, arguments: Arguments) -> Result<bool> {
    if !is_jinja2(name) {
        return Err(Error::template(format!("No test named '{name}'.")));
    }
    let meter = std::rc::Rc::clone(&renderer.meter);
    if let Some(operator) = operator_of(name) {
        let [other] = arguments.bind(name, ["/other"], 1)?;
        return operators::compare(operator, value, &other.unwrap_or(Value::None), &meter);
    }
    match name {
        "divisibleby" => {
            let [number] = arguments.bind(name, ["num"], 1)?;
            return rest_is(value, &number.unwrap_or(Value::None), 0, &meter);
        }
        "sameas" => {
            let [other] = arguments.bind(name, ["other"], 1)?;
            return is_same(value, &other.unwrap_or(Value::None));
        }
        _ => {}
    }
    let [] = arguments.bind(name, [], 0)?;
    if matches!(name, "filter" | "test") {
        value.check_hashable()?;
    }
    Ok(match name {
        "defined" => !matches!(value, Value::Undefined(_)),
        "undefined" => matches!(value, Value::Undefined(_)),
        "none" => matches!(value, Value::None),
        "boolean" => matches!(value, Value::Bool(_)),
        "true" => matches!(value, Value::Bool(true)),
        "false" => matches!(value, Value::Bool(false)),
        "integer" => matches!(value, Value::Int(_)),
        "float" => matches!(value, Value::Float(_)),
        "number" => value.as_number().is_some(),
        "string" => value.as_text().is_some(),
        "mapping" => matches!(value, Value::Dict(_)),
        "sequence" => is_sequence(value),
        "iterable" => sequence::is_iterable(value),
        // Something undefined can be called: it fails then.
        "callable" => matches!(
            value,
            Value::Undefined(_) | Value::Macro(_) | Value::Method(..) | Value::Function(_) | Value::Loop(_)
        ),
        "escaped" => matches!(value, Value::Markup(_)),
        "odd" => rest_is(value, &Value::Int(2), 1, &meter)?,
        "even" => rest_is(value, &Value::Int(2), 0, &meter)?,
        "lower" | "upper" => {
            let text = Value::text(written::text(value, &meter)?);
            let method = if name == "lower" { "islower" } else { "isupper" };
            methods::call(&text, method, Arguments::default(), &meter)?.is_true()
        }
        "filter" => value.as_text().is_some_and(|name| filters::is_jinja2(name)),
        _ => value.as_text().is_some_and(|name| is_jinja2(name)),
    })
}

fn operator_of(name: &str) -> Option<&'static str> {
    Some(match name {
        "==" | "eq" | "equalto" => "==",
        "!=" | "ne" => "!=",
        ">" | "gt" | "greaterthan" => ">",
        ">=" | "ge" => ">=",
        "<" | "lt" | "lessthan" => "<",
        "<=" | "le" => "<=",
        "in" => "in",
        _ => return None,
    })
}

fn rest_is(value: &Value, by: &Value, rest: i64, meter: &Meter) -> Result<bool> {
    let found = operators::binary("%", value, by, meter)?;
    Ok(number::compare(&found, &Value::Int(rest)).is_some_and(std::cmp::Ordering::is_eq))
}

/// What has a length and can be indexed.
fn is_sequence(value: &Value) -> bool {
    matches!(
        value,
        Value::Text(_)
            | Value::Markup(_)
            | Value::List(_)
            | Value::Tuple(_)
            | Value::Dict(_)
            | Value::Range(_)
            | Value::Undefined(_)
    )
}

/// `is` of Python, where it does not hang on what the interpreter happens to share.
fn is_same(value: &Value, other: &Value) -> Result<bool> {
    match (value, other) {
        (Value::None, Value::None) => Ok(true),
        (Value::Bool(left), Value::Bool(right)) => Ok(left == right),
        (left, right) if left.type_name() != right.type_name() => Ok(false),
        (left, right) if !left.is_equal(right) => Ok(false),
        _ => Err(Error::unknown("sameas of two equal values")),
    }
}
