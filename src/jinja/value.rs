//! Python's values, as far as templates meet them.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use super::{Error, Fault, Result};

/// Lists within lists.
const DEEPEST: usize = 200;

#[derive(Debug, Clone)]
pub(super) enum Value {
    /// With what is told where it is used.
    Undefined(Rc<str>),
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Arc<str>),
    /// Text that `safe` marked.
    Markup(Arc<str>),
    List(Rc<Items>),
    Tuple(Rc<Items>),
    Dict(Rc<Dict>),
    /// `keys`, `values` or `items` of a dict.
    View(&'static str, Rc<Dict>),
    Range(Range),
    /// A generator or iterator: what is left of it, taken once.
    Iterator(Rc<Items>, Rc<RefCell<usize>>),
    /// By its place among the renderer's.
    Namespace(usize),
    Loop(usize),
    Macro(usize),
    Method(Rc<Value>, &'static str),
    Function(&'static str),
}

#[derive(Debug, Default)]
pub(super) struct Items {
    pub items: Vec<Value>,
    size: Size,
    /// A pair of `groupby`, whose parts have names.
    pub is_group: bool,
    /// What a generator raises after its last item.
    pub failure: Option<Error>,
}

#[derive(Debug, Default)]
pub(super) struct Dict {
    pub entries: Vec<(Value, Value)>,
    size: Size,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Range {
    pub start: i64,
    pub stop: i64,
    pub step: i64,
}

impl Range {
    pub(super) fn len(self) -> usize {
        let (span, step) = (i128::from(self.stop) - i128::from(self.start), i128::from(self.step));
        let count = if step > 0 {
            (span + step - 1) / step
        } else {
            (-span - step - 1) / -step
        };
        usize::try_from(count.max(0)).unwrap_or(usize::MAX)
    }

    pub(super) fn at(self, index: usize) -> Value {
        Value::Int(self.start + self.step * index as i64)
    }
}

/// How deep a value nests, and how many bytes are read where it is compared.
#[derive(Debug, Clone, Copy, Default)]
struct Size {
    depth: usize,
    weight: usize,
}

impl Size {
    /// That of what holds these values.
    fn around<'a>(values: impl Iterator<Item = &'a Value>) -> Result<Size> {
        let mut size = Size { depth: 0, weight: 8 };
        for value in values {
            let inner = value.size();
            size.depth = size.depth.max(inner.depth);
            size.weight = size.weight.saturating_add(inner.weight);
        }
        size.depth += 1;
        if size.depth > DEEPEST {
            let message = format!("its values nest more than {DEEPEST} levels, the limit");
            return Err(Error::new(Fault::Limit, message));
        }
        Ok(size)
    }
}

impl Items {
    fn new(items: Vec<Value>) -> Result<Items> {
        Ok(Items {
            size: Size::around(items.iter())?,
            items,
            ..Items::default()
        })
    }
}

impl Dict {
    /// A later entry of an equal key takes the place of the earlier.
    pub(super) fn set(entries: &mut Vec<(Value, Value)>, key: Value, value: Value) -> Result<()> {
        key.check_hashable()?;
        match entries.iter_mut().find(|(known, _)| known.is_equal(&key)) {
            Some((_, old)) => *old = value,
            None => entries.push((key, value)),
        }
        Ok(())
    }

    pub(super) fn get(&self, key: &Value) -> Option<&Value> {
        self.entries
            .iter()
            .find(|(known, _)| known.is_equal(key))
            .map(|(_, value)| value)
    }
}

impl Value {
    pub(super) fn text(text: impl Into<Arc<str>>) -> Value {
        Value::Text(text.into())
    }

    pub(super) fn undefined(message: impl Into<Rc<str>>) -> Value {
        Value::Undefined(message.into())
    }

    pub(super) fn list(items: Vec<Value>) -> Result<Value> {
        Ok(Value::List(Rc::new(Items::new(items)?)))
    }

    pub(super) fn tuple(items: Vec<Value>) -> Result<Value> {
        Ok(Value::Tuple(Rc::new(Items::new(items)?)))
    }

    pub(super) fn group(key: Value, items: Vec<Value>) -> Result<Value> {
        let pair = Items::new(vec![key, Value::list(items)?])?;
        Ok(Value::Tuple(Rc::new(Items { is_group: true, ..pair })))
    }

    pub(super) fn iterator(items: Vec<Value>) -> Result<Value> {
        Ok(Value::Iterator(Rc::new(Items::new(items)?), Rc::default()))
    }

    /// A generator: what goes wrong in it is raised where it is used up, if it is.
    pub(super) fn generator(work: impl FnOnce(&mut Vec<Value>) -> Result<()>) -> Result<Value> {
        let mut items = Vec::new();
        let failure = work(&mut items).err();
        if let Some(error) = failure
            .as_ref()
            .filter(|error| matches!(error.fault, Fault::Unknown | Fault::Limit))
        {
            return Err(error.clone());
        }
        let made = Items::new(items)?;
        Ok(Value::Iterator(Rc::new(Items { failure, ..made }), Rc::default()))
    }

    /// Keys are known to differ and to be hashable.
    pub(super) fn dict(entries: Vec<(Value, Value)>) -> Result<Value> {
        let mut size = Size::around(entries.iter().flat_map(|(key, value)| [key, value]))?;
        // Each key of one is looked for among all of the other.
        size.weight = size.weight.saturating_add(entries.len() * entries.len());
        Ok(Value::Dict(Rc::new(Dict { entries, size })))
    }

    pub(super) fn method(of: &Value, name: &'static str) -> Result<Value> {
        Size::around(std::iter::once(of))?;
        Ok(Value::Method(Rc::new(of.clone()), name))
    }

    pub(super) fn from_json(json: &serde_json::Value, depth: usize) -> Result<Value> {
        if depth > DEEPEST {
            return Err(Error::new(Fault::Limit, "a variable nests too deep"));
        }
        Ok(match json {
            serde_json::Value::Null => Value::None,
            serde_json::Value::Bool(value) => Value::Bool(*value),
            serde_json::Value::Number(number) => match number.as_i64() {
                Some(number) => Value::Int(number),
                None => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
            },
            serde_json::Value::String(text) => Value::text(text.as_str()),
            serde_json::Value::Array(items) => {
                let items = items.iter().map(|item| Value::from_json(item, depth + 1));
                Value::list(items.collect::<Result<_>>()?)?
            }
            serde_json::Value::Object(object) => {
                let entries = object.iter();
                let entries =
                    entries.map(|(key, value)| Ok((Value::text(key.as_str()), Value::from_json(value, depth + 1)?)));
                Value::dict(entries.collect::<Result<_>>()?)?
            }
        })
    }

    fn size(&self) -> Size {
        match self {
            Value::List(items) | Value::Tuple(items) | Value::Iterator(items, _) => items.size,
            Value::Dict(dict) | Value::View(_, dict) => dict.size,
            Value::Method(of, _) => Size {
                depth: of.size().depth + 1,
                ..of.size()
            },
            Value::Text(text) | Value::Markup(text) => Size {
                depth: 0,
                weight: 8 + text.len(),
            },
            _ => Size { depth: 0, weight: 8 },
        }
    }

    /// Bytes that are read where it is compared.
    pub(super) fn weight(&self) -> usize {
        self.size().weight
    }

    /// Refuses what can be no key.
    pub(super) fn check_hashable(&self) -> Result<()> {
        self.unhashable()
            .map_or(Ok(()), |what| Err(Error::python(format!("unhashable type: '{what}'"))))
    }

    /// The name of its type, where it can be no key.
    fn unhashable(&self) -> Option<&'static str> {
        match self {
            Value::List(_) | Value::Dict(_) | Value::View(..) => Some(self.type_name()),
            Value::Tuple(items) => items.items.iter().find_map(Value::unhashable),
            _ => None,
        }
    }

    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Value::Undefined(_) => "Undefined",
            Value::None => "NoneType",
            Value::Bool(_) => "bool",
            Value::Int(_) => "int",
            Value::Float(_) => "float",
            Value::Text(_) => "str",
            Value::Markup(_) => "Markup",
            Value::List(_) => "list",
            Value::Tuple(_) => "tuple",
            Value::Dict(_) => "dict",
            Value::View("keys", _) => "dict_keys",
            Value::View("values", _) => "dict_values",
            Value::View(..) => "dict_items",
            Value::Range(_) => "range",
            Value::Iterator(..) => "generator",
            Value::Namespace(_) => "Namespace",
            Value::Loop(_) => "LoopContext",
            Value::Macro(_) => "Macro",
            Value::Method(..) => "builtin_function_or_method",
            Value::Function(_) => "function",
        }
    }

    /// Python's truth. A loop counts as full while it is at work.
    pub(super) fn is_true(&self) -> bool {
        match self {
            Value::Undefined(_) | Value::None => false,
            Value::Bool(value) => *value,
            Value::Int(number) => *number != 0,
            Value::Float(number) => *number != 0.0,
            Value::Text(text) | Value::Markup(text) => !text.is_empty(),
            Value::List(items) | Value::Tuple(items) => !items.items.is_empty(),
            Value::Dict(dict) | Value::View(_, dict) => !dict.entries.is_empty(),
            Value::Range(range) => range.len() > 0,
            _ => true,
        }
    }

    pub(super) fn as_text(&self) -> Option<&Arc<str>> {
        match self {
            Value::Text(text) | Value::Markup(text) => Some(text),
            _ => None,
        }
    }

    /// A whole number; Python's booleans are numbers.
    pub(super) fn as_int(&self) -> Option<i64> {
        match self {
            Value::Bool(value) => Some(i64::from(*value)),
            Value::Int(number) => Some(*number),
            _ => None,
        }
    }

    pub(super) fn as_number(&self) -> Option<f64> {
        match self {
            Value::Float(number) => Some(*number),
            other => other.as_int().map(|number| number as f64),
        }
    }

    /// Python's `==`.
    pub(super) fn is_equal(&self, other: &Value) -> bool {
        let all = |left: &[Value], right: &[Value]| {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| left.is_equal(right))
        };
        match (self, other) {
            (Value::Undefined(_), Value::Undefined(_)) | (Value::None, Value::None) => true,
            (Value::List(left), Value::List(right)) | (Value::Tuple(left), Value::Tuple(right)) => {
                all(&left.items, &right.items)
            }
            (Value::Dict(left), Value::Dict(right)) => {
                let has = |(key, value): &(Value, Value)| right.get(key).is_some_and(|other| other.is_equal(value));
                left.entries.len() == right.entries.len() && left.entries.iter().all(has)
            }
            (Value::Range(left), Value::Range(right)) => {
                let count = left.len();
                count == right.len()
                    && (count == 0 || left.start == right.start && (count == 1 || left.step == right.step))
            }
            (Value::Iterator(_, left), Value::Iterator(_, right)) => Rc::ptr_eq(left, right),
            (Value::Namespace(left), Value::Namespace(right))
            | (Value::Loop(left), Value::Loop(right))
            | (Value::Macro(left), Value::Macro(right)) => left == right,
            (Value::Function(left), Value::Function(right)) => left == right,
            _ => match (self.as_text(), other.as_text()) {
                (Some(left), Some(right)) => left == right,
                _ => super::number::compare(self, other).is_some_and(std::cmp::Ordering::is_eq),
            },
        }
    }
}
