//! What stands after `is`.

use super::Result;
use super::call::Arguments;
use super::meter::Meter;
use super::statement::Renderer;
use super::value::Value;
use super::{methods, number, operators, sequence};

const JINJA2: &str = "!= < <= == > >= boolean callable defined divisibleby eq equalto escaped even false filter float ge \
    greaterthan gt in integer iterable le lessthan lower lt mapping ne none number odd sameas sequence string \
    test true undefined upper";

pub(super) fn is_jinja2(name: &str) -> bool {
    JINJA2.split(' ').any(|known| known == name)
}

pub(super) fn holds(renderer: &mut Renderer, name: &str, value: &Value, arguments: Arguments) -> Result<bool> {
    let operator = match name {
        "==" | "eq" | "equalto" => "==",
        "!=" | "ne" => "!=",
        ">" | "gt" | "greaterthan" => ">",
        ">=" | "ge" => ">=",
        "<" | "lt" | "lessthan" => "<",
        "<=" | "le" => "<=",
        "in" => "in",
        "divisibleby" => {
            let given = arguments.bind(name, "num")?;
            return rest_is(value, &given.value(0), 0, &renderer.meter);
        }
        "sameas" => return is_same(value, &arguments.bind(name, "other")?.value(0)),
        _ => {
            arguments.bind(name, "")?;
            return is(name, value, &renderer.meter);
        }
    };
    let other = arguments.bind(name, "/other")?.value(0);
    operators::compare(operator, value, &other, &renderer.meter)
}

/// Tests without arguments.
fn is(name: &str, value: &Value, meter: &Meter) -> Result<bool> {
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
        "sequence" => sequence::is_sequence(value),
        "iterable" => sequence::is_iterable(value),
        // Something undefined can be called: it fails then.
        "callable" => matches!(
            value,
            Value::Undefined(_) | Value::Macro(_) | Value::Method(..) | Value::Function(_) | Value::Loop(_)
        ),
        "odd" => rest_is(value, &Value::Int(2), 1, meter)?,
        "even" => rest_is(value, &Value::Int(2), 0, meter)?,
        "lower" | "upper" if matches!(value, Value::Text(_)) => {
            let method = if name == "lower" { "islower" } else { "isupper" };
            methods::call(value, method, Arguments::default(), meter)?.is_true()
        }
        known if is_jinja2(known) => return unknown!("the test {known} of a {}", value.type_name()),
        other => return template!("No test named '{other}'."),
    })
}

fn rest_is(value: &Value, by: &Value, rest: i64, meter: &Meter) -> Result<bool> {
    let found = operators::binary("%", value, by, meter)?;
    Ok(number::compare(&found, &Value::Int(rest)).is_some_and(std::cmp::Ordering::is_eq))
}

/// `is` of Python, where it does not hang on what the interpreter happens to share.
fn is_same(value: &Value, other: &Value) -> Result<bool> {
    match (value, other) {
        (Value::None, Value::None) => Ok(true),
        (Value::Bool(left), Value::Bool(right)) => Ok(left == right),
        (left, right) if left.type_name() != right.type_name() || !left.is_equal(right) => Ok(false),
        _ => unknown!("sameas of two equal values"),
    }
}
