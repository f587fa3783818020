//! The arguments of a call, bound to names as Python binds them.

use super::Result;
use super::ast::Name;
use super::operators::defined;
use super::value::Value;

#[derive(Debug, Default)]
pub(super) struct Arguments {
    pub positional: Vec<Value>,
    pub keywords: Vec<(Name, Value)>,
}

/// The arguments of a call by their place in its signature.
#[derive(Debug)]
pub(super) struct Bound(Vec<Option<Value>>);

impl Arguments {
    /// The arguments by a signature: names with blanks between; `?` ends one that may be left out, `/` begins one that is
    /// taken by its place alone.
    pub(super) fn bind(self, function: &str, signature: &str) -> Result<Bound> {
        let names: Vec<&str> = signature.split_whitespace().collect();
        let given = self.positional.len();
        if given > names.len() {
            return python!("{function}() takes at most {} arguments ({given} given)", names.len());
        }
        let mut bound: Vec<Option<Value>> = self.positional.into_iter().map(Some).collect();
        bound.resize(names.len(), None);
        for (name, value) in self.keywords {
            let Some(at) = names.iter().position(|known| known.trim_end_matches('?') == &*name) else {
                return python!("{function}() got an unexpected keyword argument '{name}'");
            };
            if bound[at].replace(value).is_some() {
                return python!("{function}() got multiple values for argument '{name}'");
            }
        }
        let mut both = names.iter().zip(&bound);
        match both.find(|(name, value)| value.is_none() && !name.ends_with('?')) {
            Some((name, _)) => python!("{function}() lacks its argument '{}'", name.trim_start_matches('/')),
            None => Ok(Bound(bound)),
        }
    }
}

impl Bound {
    /// The argument at this place, `None` of Python where it was left out.
    pub(super) fn value(&self, at: usize) -> Value {
        self.0[at].clone().unwrap_or(Value::None)
    }

    pub(super) fn given(&self, at: usize) -> Option<&Value> {
        self.0[at].as_ref()
    }

    /// The argument at this place, unless it was left out or is `None`.
    pub(super) fn some(&self, at: usize) -> Option<&Value> {
        self.given(at).filter(|value| !matches!(value, Value::None))
    }

    pub(super) fn is_true(&self, at: usize) -> bool {
        self.given(at).is_some_and(Value::is_true)
    }

    pub(super) fn text(&self, at: usize) -> Result<&str> {
        text_of(self.given(at).unwrap_or(&Value::None))
    }

    pub(super) fn int(&self, at: usize, default: i64) -> Result<i64> {
        self.given(at).map_or(Ok(default), int_of)
    }
}

/// A text argument; anything else is a `TypeError`.
pub(super) fn text_of(value: &Value) -> Result<&str> {
    defined(&[value])?;
    match value.as_text() {
        Some(text) => Ok(text),
        None => python!("must be str, not {}", value.type_name()),
    }
}

pub(super) fn int_of(value: &Value) -> Result<i64> {
    defined(&[value])?;
    match value.as_int() {
        Some(number) => Ok(number),
        None => python!("'{}' object cannot be interpreted as an integer", value.type_name()),
    }
}
