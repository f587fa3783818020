//! Filters that look for an order: `sort`, `dictsort`, `groupby`, `unique`, `min`, `max`.

use std::cmp::Ordering;
use std::rc::Rc;

use super::call::Arguments;
use super::filters::{Attribute, is_set};
use super::meter::Meter;
use super::statement::Renderer;
use super::value::{Dict, Value};
use super::{Error, Result, operators, sequence};

pub(super) fn ordered(
    renderer: &mut Renderer,
    name: &str,
    value: &Value,
    arguments: Arguments,
    meter: &Meter,
) -> Result<Value> {
    match name {
        "sort" => {
            let [is_reversed, heeds_case, attribute] =
                arguments.bind(name, ["reverse", "case_sensitive", "attribute"], 0)?;
            let heeds_case = is_set(heeds_case);
            let names: Vec<Option<Value>> = match &attribute {
                Some(Value::Text(text)) => text.split(',').map(|name| Some(Value::text(name))).collect(),
                other => vec![other.clone()],
            };
            let mut keyed = Vec::new();
            for item in sequence::items(value, meter)? {
                let mut keys = Vec::new();
                for name in &names {
                    let mut attribute = Attribute::new(name.as_ref())?;
                    attribute.ignores_case = !heeds_case;
                    keys.push(attribute.of(renderer, item.clone())?);
                }
                keyed.push((Value::list(keys)?, item));
            }
            sort_by_key(&mut keyed, is_set(is_reversed), meter)?;
            Value::list(keyed.into_iter().map(|(_, item)| item).collect())
        }
        "dictsort" => sorted_entries(renderer, value, arguments, meter),
        "groupby" => groups(renderer, value, arguments, meter),
        _ => {
            let [heeds_case, attribute] = arguments.bind(name, ["case_sensitive", "attribute"], 0)?;
            let mut attribute = Attribute::new(attribute.as_ref())?;
            attribute.ignores_case = !is_set(heeds_case);
            if name == "unique" {
                return Value::generator(|kept| {
                    let keyed = keyed(renderer, &attribute, sequence::items(value, meter)?)?;
                    unique(kept, keyed, meter)
                });
            }
            extreme(
                keyed(renderer, &attribute, sequence::items(value, meter)?)?,
                name == "max",
                meter,
            )
        }
    }
}

/// Values in the order of their keys; equal ones stay as they stood.
fn sort_by_key(keyed: &mut [(Value, Value)], is_reversed: bool, meter: &Meter) -> Result<()> {
    let count = keyed.len().max(1);
    let weight = keyed
        .iter()
        .map(|(key, _)| 1 + key.weight() / 64)
        .fold(0, usize::saturating_add);
    meter.steps(weight.saturating_mul(1 + count.ilog2() as usize))?;
    let mut failure = None;
    let mut lies = |left: &Value, right: &Value| match operators::order(left, right) {
        Some(order) => order.unwrap_or(Ordering::Equal),
        None => {
            let named = operators::defined(&[left, right]).err();
            let (left, right) = (left.type_name(), right.type_name());
            let message = format!("'<' not supported between instances of '{left}' and '{right}'");
            failure.get_or_insert(named.unwrap_or_else(|| Error::python(message)));
            Ordering::Equal
        }
    };
    if keyed
        .iter()
        .any(|(key, _)| matches!(key, Value::Float(number) if number.is_nan()))
    {
        return Err(Error::unknown("the order of NaN"));
    }
    match is_reversed {
        true => keyed.sort_by(|left, right| lies(&right.0, &left.0)),
        false => keyed.sort_by(|left, right| lies(&left.0, &right.0)),
    }
    failure.map_or(Ok(()), Err)
}

fn keyed(renderer: &mut Renderer, attribute: &Attribute, items: Vec<Value>) -> Result<Vec<(Value, Value)>> {
    renderer.meter.steps(items.len())?;
    items
        .into_iter()
        .map(|item| Ok((attribute.of(renderer, item.clone())?, item)))
        .collect()
}

fn unique(kept: &mut Vec<Value>, keyed: Vec<(Value, Value)>, meter: &Meter) -> Result<()> {
    let mut seen: Vec<(Value, Value)> = Vec::new();
    for (key, item) in keyed {
        meter.scan(key.weight().saturating_mul(1 + seen.len()))?;
        let count = seen.len();
        Dict::set(&mut seen, key, Value::None)?;
        if seen.len() > count {
            kept.push(item);
        }
    }
    Ok(())
}

fn extreme(keyed: Vec<(Value, Value)>, is_max: bool, meter: &Meter) -> Result<Value> {
    let mut best: Option<(Value, Value)> = None;
    for (key, item) in keyed {
        meter.scan(key.weight())?;
        let is_better = match &best {
            None => true,
            Some((known, _)) => {
                operators::defined(&[known, &key])?;
                let order = operators::order(&key, known).ok_or_else(|| {
                    let (left, right) = (key.type_name(), known.type_name());
                    Error::python(format!("no order between instances of '{left}' and '{right}'"))
                })?;
                order == Some(if is_max { Ordering::Greater } else { Ordering::Less })
            }
        };
        if is_better {
            best = Some((key, item));
        }
    }
    Ok(best.map_or_else(
        || Value::undefined("No aggregated item, sequence was empty."),
        |(_, item)| item,
    ))
}

fn groups(renderer: &mut Renderer, value: &Value, arguments: Arguments, meter: &Meter) -> Result<Value> {
    let [attribute, default, heeds_case] = arguments.bind("groupby", ["attribute", "default", "case_sensitive"], 1)?;
    let mut attribute = Attribute::new(attribute.as_ref())?;
    attribute.default = default.filter(|default| !matches!(default, Value::None));
    attribute.ignores_case = !is_set(heeds_case);
    let mut keyed = keyed(renderer, &attribute, sequence::items(value, meter)?)?;
    sort_by_key(&mut keyed, false, meter)?;
    attribute.ignores_case = false;
    let mut groups = Vec::new();
    for part in keyed.chunk_by(|(left, _), (right, _)| left.is_equal(right)) {
        let key = attribute.of(renderer, part[0].1.clone())?;
        groups.push(Value::group(key, part.iter().map(|(_, item)| item.clone()).collect())?);
    }
    Value::list(groups)
}

fn sorted_entries(renderer: &mut Renderer, value: &Value, arguments: Arguments, meter: &Meter) -> Result<Value> {
    let [heeds_case, by, is_reversed] = arguments.bind("dictsort", ["case_sensitive", "by", "reverse"], 0)?;
    let by = by.unwrap_or(Value::text("key"));
    let place = match by.as_text().map(|by| &**by) {
        Some("key") => 0,
        Some("value") => 1,
        _ => return Err(Error::template("You can only sort by either \"key\" or \"value\"")),
    };
    let Value::Dict(dict) = value else {
        operators::defined(&[value])?;
        return Err(Error::python(format!(
            "'{}' object has no attribute 'items'",
            value.type_name()
        )));
    };
    let mut attribute = Attribute::new(Some(&Value::Int(place)))?;
    attribute.ignores_case = !is_set(heeds_case);
    let items = sequence::items(&Value::View("items", Rc::clone(dict)), meter)?;
    let mut keyed = keyed(renderer, &attribute, items)?;
    sort_by_key(&mut keyed, is_set(is_reversed), meter)?;
    Value::list(keyed.into_iter().map(|(_, item)| item).collect())
}
