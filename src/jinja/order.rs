//! Filters that look for an order: `sort`, `dictsort`, `unique`, `min`, `max`.

use std::cmp::Ordering;

use super::Result;
use super::call::Bound;
use super::filters::Attribute;
use super::operators;
use super::sequence;
use super::statement::Renderer;
use super::value::{Dict, Kind, Value};

/// With `reverse? case_sensitive? attribute?`.
pub(super) fn sort(renderer: &mut Renderer, value: &Value, given: &Bound) -> Result<Value> {
    let names: Vec<Option<Value>> = match given.some(2) {
        Some(Value::Text(text)) => text.split(',').map(|name| Some(Value::text(name))).collect(),
        other => vec![other.cloned()],
    };
    let attributes = names
        .iter()
        .map(|name| Attribute::new(name.as_ref(), !given.is_true(1)));
    let attributes = attributes.collect::<Result<Vec<_>>>()?;
    let mut keyed = Vec::new();
    for item in sequence::items(value, &renderer.meter)? {
        let keys = attributes.iter().map(|attribute| attribute.of(renderer, item.clone()));
        keyed.push((Value::list(keys.collect::<Result<_>>()?)?, item));
    }
    sorted(renderer, keyed, given.is_true(0))
}

/// With `case_sensitive? by? reverse?`.
pub(super) fn dictsort(renderer: &mut Renderer, value: &Value, given: &Bound) -> Result<Value> {
    let by = given.given(1).map_or("key", |by| by.as_text().map_or("", |by| by));
    let Some(place) = ["key", "value"].iter().position(|known| *known == by) else {
        return template!("You can only sort by either \"key\" or \"value\"");
    };
    operators::defined(&[value])?;
    let pairs = sequence::view(value, Kind::Pairs, &renderer.meter)?;
    let attribute = Attribute::new(Some(&Value::Int(place as i64)), !given.is_true(0))?;
    let keyed = keyed(renderer, &attribute, &pairs)?;
    sorted(renderer, keyed, given.is_true(2))
}

/// With `case_sensitive? attribute?`.
pub(super) fn unique(renderer: &mut Renderer, value: &Value, given: &Bound) -> Result<Value> {
    let attribute = Attribute::new(given.given(1), !given.is_true(0))?;
    let (mut seen, mut kept) = (Vec::new(), Vec::new());
    for (key, item) in keyed(renderer, &attribute, value)? {
        renderer.meter.scan(key.weight().saturating_mul(1 + seen.len()))?;
        let count = seen.len();
        Dict::set(&mut seen, key, Value::None)?;
        if seen.len() > count {
            kept.push(item);
        }
    }
    Value::series(Kind::Generator, kept)
}

pub(super) fn min(renderer: &mut Renderer, value: &Value, given: &Bound) -> Result<Value> {
    extreme(renderer, value, given, Ordering::Less)
}

pub(super) fn max(renderer: &mut Renderer, value: &Value, given: &Bound) -> Result<Value> {
    extreme(renderer, value, given, Ordering::Greater)
}

fn extreme(renderer: &mut Renderer, value: &Value, given: &Bound, wanted: Ordering) -> Result<Value> {
    let attribute = Attribute::new(given.given(1), !given.is_true(0))?;
    let mut best: Option<(Value, Value)> = None;
    for (key, item) in keyed(renderer, &attribute, value)? {
        renderer.meter.scan(key.weight())?;
        let is_better = match &best {
            None => true,
            Some((known, _)) => operators::order("<", &key, known)? == Some(wanted),
        };
        if is_better {
            best = Some((key, item));
        }
    }
    let none = || Value::undefined("No aggregated item, sequence was empty.");
    Ok(best.map_or_else(none, |(_, item)| item))
}

/// Items with what they are ordered by.
fn keyed(renderer: &mut Renderer, attribute: &Attribute, value: &Value) -> Result<Vec<(Value, Value)>> {
    let items = sequence::items(value, &renderer.meter)?;
    renderer.meter.steps(items.len())?;
    let keyed = items
        .into_iter()
        .map(|item| Ok((attribute.of(renderer, item.clone())?, item)));
    keyed.collect()
}

/// Values in the order of their keys; equal ones stay as they stood.
fn sorted(renderer: &Renderer, mut keyed: Vec<(Value, Value)>, is_reversed: bool) -> Result<Value> {
    let count = keyed.len().max(1);
    let weights = keyed.iter().map(|(key, _)| 1 + key.weight() / 64);
    let weight = weights.fold(0, usize::saturating_add);
    renderer
        .meter
        .steps(weight.saturating_mul(1 + count.ilog2() as usize))?;
    let mut failure = None;
    keyed.sort_by(|left, right| {
        let (left, right) = if is_reversed { (right, left) } else { (left, right) };
        match operators::order("<", &left.0, &right.0) {
            Ok(Some(order)) => order,
            Ok(None) => {
                failure.get_or_insert_with(|| super::Error::unknown("the order of NaN"));
                Ordering::Equal
            }
            Err(error) => {
                failure.get_or_insert(error);
                Ordering::Equal
            }
        }
    });
    match failure {
        Some(error) => Err(error),
        None => Value::list(keyed.into_iter().map(|(_, item)| item).collect()),
    }
}
