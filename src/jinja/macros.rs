//! Macros, namespaces and dicts: what calls make.

use std::sync::Arc;

use super::Result;
use super::ast::{Macro, Name};
use super::call::Arguments;
use super::meter::Meter;
use super::statement::{OBJECT, Renderer, put};
use super::value::{Dict, Kind, Value};

impl Renderer {
    pub(super) fn new_macro(&mut self, definition: &Arc<Macro>) -> Result<Value> {
        self.meter.bytes(OBJECT)?;
        self.frames[self.frame].is_kept = true;
        self.macros.push((Arc::clone(definition), self.frame));
        Ok(Value::Macro(self.macros.len() - 1))
    }

    pub(super) fn call_macro(&mut self, id: usize, arguments: Arguments) -> Result<Value> {
        let (definition, frame) = self.macros[id].clone();
        let (parameters, macro_name) = (&definition.parameters, &definition.name);
        let mut keywords = arguments.keywords;
        let mut pop = |name: &str| {
            let at = keywords.iter().position(|(known, _)| &**known == name);
            at.map(|at| keywords.remove(at).1)
        };
        let mut positional = arguments.positional.into_iter();
        let mut values: Vec<Option<Value>> = positional.by_ref().take(parameters.len()).map(Some).collect();
        values.extend(parameters[values.len()..].iter().map(|(name, _)| pop(name)));
        let has_own_caller = parameters.iter().any(|(name, _)| &**name == "caller");
        let [takes_caller, takes_keywords, takes_more] = definition.takes;
        let mut special: Vec<(&str, Value)> = Vec::new();
        if takes_caller && !has_own_caller {
            let caller = pop("caller");
            special.push((
                "caller",
                caller.unwrap_or_else(|| Value::undefined("No caller defined")),
            ));
        }
        if takes_keywords {
            let entries = keywords.into_iter().map(|(name, value)| (Value::Text(name), value));
            special.push(("kwargs", Value::dict(entries.collect())?));
        } else if let Some((name, _)) = keywords.first() {
            return python!("macro '{macro_name}' takes no keyword argument '{name}'");
        }
        if takes_more {
            special.push(("varargs", Value::series(Kind::Tuple, positional.collect())?));
        } else if positional.next().is_some() {
            return python!(
                "macro '{macro_name}' takes not more than {} argument(s)",
                parameters.len()
            );
        }
        self.meter.enter()?;
        let text = self.scoped(frame, |renderer| {
            special
                .into_iter()
                .for_each(|(name, value)| renderer.store(&name.into(), value));
            renderer.set_parameters(&definition, values)?;
            renderer.captured(|renderer, out| renderer.run(&definition.body, out).map(|_| ()))
        });
        self.meter.leave();
        text.map(Value::text)
    }

    /// What was given, else the default: it may speak of the parameters before it.
    fn set_parameters(&mut self, definition: &Macro, values: Vec<Option<Value>>) -> Result<()> {
        for ((name, default), value) in definition.parameters.iter().zip(values) {
            let value = match (value, default) {
                (Some(value), _) => value,
                (None, Some(default)) => self.evaluate(default)?,
                (None, None) => Value::undefined(format!("parameter '{name}' was not provided")),
            };
            self.store(name, value);
        }
        Ok(())
    }

    pub(super) fn new_namespace(&mut self, arguments: Arguments) -> Result<Value> {
        self.meter.bytes(OBJECT)?;
        let id = self.namespaces.len();
        self.namespaces.push(Vec::new());
        for (name, value) in mapping(arguments, "namespace", &self.meter)? {
            let Some(name) = name.as_text() else {
                return unknown!("a namespace with names that are no text");
            };
            self.set_attribute(id, name, value)?;
        }
        Ok(Value::Namespace(id))
    }

    pub(super) fn set_attribute(&mut self, id: usize, name: &Name, value: Value) -> Result<()> {
        if name.starts_with('_') {
            return template!(
                "Chat templates cannot store underscore-prefixed attributes on a namespace, but got '{name}'"
            );
        }
        put(&mut self.namespaces[id], name, value);
        Ok(())
    }

    pub(super) fn namespace_attribute(&self, id: usize, name: &str) -> Option<Value> {
        let known = self.namespaces[id].iter().find(|(known, _)| &**known == name);
        known.map(|(_, value)| value.clone())
    }
}

/// The entries that `dict(...)` makes of its arguments.
pub(super) fn mapping(arguments: Arguments, function: &str, meter: &Meter) -> Result<Vec<(Value, Value)>> {
    let mut entries = match arguments.positional.as_slice() {
        [] => Vec::new(),
        [Value::Dict(dict)] => {
            meter.items(2 * dict.entries.len())?;
            dict.entries.clone()
        }
        [_] => return unknown!("{function} of what is no dict"),
        _ => return python!("{function} expected at most 1 argument"),
    };
    for (name, value) in arguments.keywords {
        Dict::set(&mut entries, Value::Text(name), value)?;
    }
    Ok(entries)
}
