//! Python's values, as far as templates meet them.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use super::Result;

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
    /// Text that `safe` marked: it is printed, and little else.
    Markup(Arc<str>),
    Series(Kind, Rc<Items>),
    Dict(Rc<Dict>),
    /// By its place among the renderer's.
    Namespace(usize),
    Loop(usize),
    Macro(usize),
    Method(Rc<Value>, &'static str),
    Function(&'static str),
}

/// What kind of a series: all hold their items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    List,
    Tuple,
    Range,
    /// An iterator: its items are taken once.
    Generator,
    /// Views of a dict.
    Keys,
    Values,
    Pairs,
}

#[derive(Debug)]
pub(super) struct Items {
    pub items: Vec<Value>,
    size: Size,
    /// How many of a generator's were taken.
    pub taken: Cell<usize>,
}

#[derive(Debug)]
pub(super) struct Dict {
    pub entries: Vec<(Value, Value)>,
    size: Size,
}

/// How deep a value nests, and how many bytes are read where it is compared.
#[derive(Debug, Clone, Copy)]
struct Size {
    depth: usize,
    weight: usize,
}

impl Size {
    /// That of what holds these values.
    fn around<'a>(values: impl Iterator<Item = &'a Value>) -> Result<Size> {
        let mut size = Size { depth: 0, weight: 8 };
        for inner in values.map(Value::size) {
            size.depth = size.depth.max(inner.depth);
            size.weight = size.weight.saturating_add(inner.weight);
        }
        size.depth += 1;
        if size.depth > DEEPEST {
            return limit!("its values nest more than {DEEPEST} levels, the limit");
        }
        Ok(size)
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
        let found = self.entries.iter().find(|(known, _)| known.is_equal(key));
        found.map(|(_, value)| value)
    }
}

impl Value {
    pub(super) fn text(text: impl Into<Arc<str>>) -> Value {
        Value::Text(text.into())
    }

    pub(super) fn undefined(message: impl Into<Rc<str>>) -> Value {
        Value::Undefined(message.into())
    }

    pub(super) fn series(kind: Kind, items: Vec<Value>) -> Result<Value> {
        let size = Size::around(items.iter())?;
        let taken = Cell::new(0);
        Ok(Value::Series(kind, Rc::new(Items { items, size, taken })))
    }

    pub(super) fn list(items: Vec<Value>) -> Result<Value> {
        Value::series(Kind::List, items)
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
            return limit!("a variable nests too deep");
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
                let entry =
                    |(key, value): (&String, _)| Ok((Value::text(key.as_str()), Value::from_json(value, depth + 1)?));
                Value::dict(object.iter().map(entry).collect::<Result<_>>()?)?
            }
        })
    }

    fn size(&self) -> Size {
        let (depth, weight) = match self {
            Value::Series(_, items) => return items.size,
            Value::Dict(dict) => return dict.size,
            Value::Method(of, _) => (of.size().depth + 1, of.size().weight),
            Value::Text(text) | Value::Markup(text) => (0, 8 + text.len()),
            _ => (0, 8),
        };
        Size { depth, weight }
    }

    /// Bytes that are read where it is compared.
    pub(super) fn weight(&self) -> usize {
        self.size().weight
    }

    /// Refuses what can be no key.
    pub(super) fn check_hashable(&self) -> Result<()> {
        match self.unhashable() {
            Some(what) => python!("unhashable type: '{what}'"),
            None => Ok(()),
        }
    }

    /// The name of its type, where it can be no key.
    fn unhashable(&self) -> Option<&'static str> {
        match self {
            Value::Series(Kind::Tuple, items) => items.items.iter().find_map(Value::unhashable),
            Value::Series(Kind::Range | Kind::Generator, _) => None,
            Value::Series(..) | Value::Dict(_) => Some(self.type_name()),
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
            Value::Series(Kind::List, _) => "list",
            Value::Series(Kind::Tuple, _) => "tuple",
            Value::Series(Kind::Range, _) => "range",
            Value::Series(Kind::Generator, _) => "generator",
            Value::Series(Kind::Keys, _) => "dict_keys",
            Value::Series(Kind::Values, _) => "dict_values",
            Value::Series(Kind::Pairs, _) => "dict_items",
            Value::Dict(_) => "dict",
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
            Value::Series(kind, items) => *kind == Kind::Generator || !items.items.is_empty(),
            Value::Dict(dict) => !dict.entries.is_empty(),
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
        match (self, other) {
            (Value::Undefined(_), Value::Undefined(_)) | (Value::None, Value::None) => true,
            (Value::Series(Kind::Generator, left), Value::Series(Kind::Generator, right)) => Rc::ptr_eq(left, right),
            (Value::Series(kind, left), Value::Series(of, right)) => {
                let (left, right) = (&left.items, &right.items);
                kind == of
                    && left.len() == right.len()
                    && left.iter().zip(right).all(|(left, right)| left.is_equal(right))
            }
            (Value::Dict(left), Value::Dict(right)) => {
                let has = |(key, value): &(Value, Value)| right.get(key).is_some_and(|other| other.is_equal(value));
                left.entries.len() == right.entries.len() && left.entries.iter().all(has)
            }
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
