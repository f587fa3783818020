//! The arguments of a call, bound to names as Python binds them.

use super::ast::Name;
use super::value::Value;
use super::{Error, Result};

#[derive(Debug, Default)]
pub(super) struct Arguments {
    pub positional: Vec<Value>,
    pub keywords: Vec<(Name, Value)>,
}

impl Arguments {
    /// The arguments by name; the first `required` must be there. A name that begins with `/` is taken by its place alone.
    pub(super) fn bind<const N: usize>(
        self,
        function: &str,
        names: [&str; N],
        required: usize,
    ) -> Result<[Option<Value>; N]> {
        let given = self.positional.len();
        if given > N {
            return Err(Error::python(format!(
                "{function}() takes at most {N} arguments ({given} given)"
            )));
        }
        let mut positional = self.positional.into_iter();
        let mut bound: [Option<Value>; N] = std::array::from_fn(|_| positional.next());
        for (name, value) in self.keywords {
            let Some(at) = names.iter().position(|known| **known == *name) else {
                let message = format!("{function}() got an unexpected keyword argument '{name}'");
                return Err(Error::python(message));
            };
            if bound[at].replace(value).is_some() {
                return Err(Error::python(format!(
                    "{function}() got multiple values for argument '{name}'"
                )));
            }
        }
        if let Some(missing) = bound[..required].iter().position(Option::is_none) {
            let name = names[missing].trim_start_matches('/');
            return Err(Error::python(format!("{function}() lacks its argument '{name}'")));
        }
        Ok(bound)
    }
}

/// A text argument; anything else is a `TypeError`.
pub(super) fn text_of(value: &Value) -> Result<&str> {
    match value.as_text() {
        Some(text) => Ok(text),
        None => {
            super::operators::defined(&[value])?;
            Err(Error::python(format!("must be str, not {}", value.type_name())))
        }
    }
}

pub(super) fn int_of(value: &Value) -> Result<i64> {
    super::operators::defined(&[value])?;
    let name = value.type_name();
    value
        .as_int()
        .ok_or_else(|| Error::python(format!("'{name}' object cannot be interpreted as an integer")))
}
