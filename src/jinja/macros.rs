//! Macros, namespaces and dicts: what calls make.

use std::sync::Arc;

use super::ast::{Macro, Name};
use super::call::Arguments;
use super::meter::Meter;
use super::statement::{OBJECT, Renderer};
use super::value::{Dict, Value};
use super::{Error, Result, sequence};

/// Macros and namespaces.
impl Renderer {
    pub(super) fn new_macro(&mut self, definition: &Arc<Macro>) -> Result<Value> {
        self.meter.bytes(OBJECT)?;
        self.frames[self.frame].is_kept = true;
        self.macros.push((Arc::clone(definition), self.frame));
        Ok(Value::Macro(self.macros.len() - 1))
    }

    pub(super) fn call_macro(&mut self, id: usize, arguments: Arguments) -> Result<Value> {
        let (definition, frame) = self.macros[id].clone();
        let parameters = &definition.parameters;
        let mut keywords = arguments.keywords;
        let mut pop = |name: &str| {
            let at = keywords.iter().position(|(known, _)| &**known == name);
            at.map(|at| keywords.remove(at).1)
        };
        let mut positional = arguments.positional.into_iter();
        let mut values: Vec<Option<Value>> = positional.by_ref().take(parameters.len()).map(Some).collect();
        for (name, _) in &parameters[values.len()..] {
            values.push(pop(name));
        }
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
            let macro_name = &definition.name;
            return Err(Error::python(format!(
                "macro '{macro_name}' takes no keyword argument '{name}'"
            )));
        }
        if takes_more {
            special.push(("varargs", Value::tuple(positional.collect())?));
        } else if positional.next().is_some() {
            let (name, most) = (&definition.name, parameters.len());
            return Err(Error::python(format!(
                "macro '{name}' takes not more than {most} argument(s)"
            )));
        }
        self.meter.enter()?;
        let text = self.scoped(frame, |renderer| {
            for (name, value) in special {
                renderer.store(&name.into(), value);
            }
            for ((name, default), value) in parameters.iter().zip(values) {
                let value = match (value, default) {
                    (Some(value), _) => value,
                    (None, Some(default)) => renderer.evaluate(default)?,
                    (None, None) => Value::undefined(format!("parameter '{name}' was not provided")),
                };
                renderer.store(name, value);
            }
            renderer.captured(|renderer, out| renderer.run(&definition.body, out).map(|_| ()))
        });
        self.meter.leave();
        text.map(Value::text)
    }

    pub(super) fn new_namespace(&mut self, arguments: Arguments) -> Result<Value> {
        self.meter.bytes(OBJECT)?;
        let id = self.namespaces.len();
        self.namespaces.push(Vec::new());
        for (name, value) in mapping(arguments, "namespace", &self.meter)? {
            let name = name.as_text().cloned();
            let name = name.ok_or_else(|| Error::unknown("a namespace with names that are no text"))?;
            self.set_attribute(id, &name, value)?;
        }
        Ok(Value::Namespace(id))
    }

    pub(super) fn set_attribute(&mut self, id: usize, name: &Name, value: Value) -> Result<()> {
        if name.starts_with('_') {
            return Err(Error::template(format!(
                "Chat templates cannot store underscore-prefixed attributes on a namespace, but got '{name}'"
            )));
        }
        let names = &mut self.namespaces[id];
        match names.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = value,
            None => names.push((Arc::clone(name), value)),
        }
        Ok(())
    }

    pub(super) fn namespace_attribute(&self, id: usize, name: &str) -> Option<Value> {
        let known = self.namespaces[id].iter().find(|(known, _)| &**known == name);
        known.map(|(_, value)| value.clone())
    }
}

/// The entries that `dict(...)` makes of its arguments.
pub(super) fn mapping(arguments: Arguments, function: &str, meter: &Meter) -> Result<Vec<(Value, Value)>> {
    let mut entries = Vec::new();
    if arguments.positional.len() > 1 {
        return Err(Error::python(format!("{function} expected at most 1 argument")));
    }
    for given in &arguments.positional {
        if let Value::Dict(dict) = given {
            meter.items(2 * dict.entries.len())?;
            entries.clone_from(&dict.entries);
            continue;
        }
        for pair in sequence::items(given, meter)? {
            let pair = sequence::items(&pair, meter)?;
            let [key, value] = <[Value; 2]>::try_from(pair)
                .map_err(|_| Error::python("dictionary update sequence element has not length 2"))?;
            meter.steps(entries.len() / 8)?;
            Dict::set(&mut entries, key, value)?;
        }
    }
    for (name, value) in arguments.keywords {
        Dict::set(&mut entries, Value::Text(name), value)?;
    }
    Ok(entries)
}
