//! Expressions evaluated: names, attributes, calls.

use std::rc::Rc;

use super::ast::{self, Expression};
use super::call::{Arguments, int_of, text_of};
use super::format::{Piece, pieces, write_formatted};
use super::macros::mapping;
use super::meter::Text;
use super::statement::Renderer;
use super::value::{Dict, Range, Value};
use super::{Error, Result, clock, filters, methods, operators, sequence, tests, written};

const FUNCTIONS: &str = "range dict namespace raise_exception strftime_now lipsum cycler joiner";
/// The sandbox's own bound.
const LONGEST_RANGE: usize = 100_000;

impl Renderer {
    pub(super) fn evaluate(&mut self, expression: &Expression) -> Result<Value> {
        self.meter.enter()?;
        let value = self.value_of(expression);
        self.meter.leave();
        value
    }

    fn value_of(&mut self, expression: &Expression) -> Result<Value> {
        Ok(match expression {
            Expression::None => Value::None,
            Expression::Bool(value) => Value::Bool(*value),
            Expression::Int(number) => Value::Int(*number),
            Expression::Float(number) => Value::Float(*number),
            Expression::Text(text) => Value::Text(text.clone()),
            Expression::Name(name) => self.named(name)?,
            Expression::Block => self.blocks.last().cloned().unwrap_or(Value::None),
            Expression::List(items) => Value::list(self.all(items)?)?,
            Expression::Tuple(items) => Value::tuple(self.all(items)?)?,
            Expression::Dict(pairs) => {
                let mut entries = Vec::with_capacity(pairs.len());
                for (key, value) in pairs {
                    Dict::set(&mut entries, self.evaluate(key)?, self.evaluate(value)?)?;
                }
                Value::dict(entries)?
            }
            Expression::Attribute(of, name) => {
                let of = self.evaluate(of)?;
                self.attribute(&of, name)?
            }
            Expression::Item(of, key) => {
                let of = self.evaluate(of)?;
                match &**key {
                    Expression::Slice(bounds) => self.slice(&of, bounds)?,
                    key => {
                        let key = self.evaluate(key)?;
                        self.item(&of, &key)?
                    }
                }
            }
            Expression::Slice(_) => return Err(Error::unknown("a slice beside other keys")),
            Expression::Call(..) => self.evaluate_call(expression, None)?,
            Expression::Filter(value, name, arguments) => {
                let value = self.evaluate(value)?;
                let arguments = self.arguments(arguments)?;
                filters::apply(self, name, value, arguments)?
            }
            Expression::Test(value, name, arguments) => {
                let value = self.evaluate(value)?;
                let arguments = self.arguments(arguments)?;
                Value::Bool(tests::holds(self, name, &value, arguments)?)
            }
            other => self.operation(other)?,
        })
    }

    fn operation(&mut self, expression: &Expression) -> Result<Value> {
        Ok(match expression {
            Expression::Not(value) => Value::Bool(!self.evaluate(value)?.is_true()),
            Expression::Negative(value) => operators::negative(&self.evaluate(value)?)?,
            Expression::Positive(value) => operators::positive(&self.evaluate(value)?)?,
            Expression::Binary(operator, sides) => {
                let (left, right) = (self.evaluate(&sides.0)?, self.evaluate(&sides.1)?);
                operators::binary(operator, &left, &right, &self.meter)?
            }
            Expression::Concat(parts) => {
                let meter = Rc::clone(&self.meter);
                let mut out = Text::new(&meter);
                for part in parts {
                    let part = self.evaluate(part)?;
                    written::write(&mut out, &part)?;
                }
                Value::text(out.text)
            }
            Expression::Compare(first, rest) => {
                let mut left = self.evaluate(first)?;
                for (operator, right) in rest {
                    let right = self.evaluate(right)?;
                    if !operators::compare(operator, &left, &right, &self.meter)? {
                        return Ok(Value::Bool(false));
                    }
                    left = right;
                }
                Value::Bool(true)
            }
            Expression::And(sides) => match self.evaluate(&sides.0)? {
                left if !left.is_true() => left,
                _ => self.evaluate(&sides.1)?,
            },
            Expression::Or(sides) => match self.evaluate(&sides.0)? {
                left if left.is_true() => left,
                _ => self.evaluate(&sides.1)?,
            },
            Expression::If(parts) => match (self.evaluate(&parts.0)?.is_true(), &parts.2) {
                (true, _) => self.evaluate(&parts.1)?,
                (false, Some(otherwise)) => self.evaluate(otherwise)?,
                (false, None) => {
                    Value::undefined("the inline if-expression evaluated to false and no else section was defined.")
                }
            },
            _ => Value::None,
        })
    }

    fn all(&mut self, items: &[Expression]) -> Result<Vec<Value>> {
        self.meter.items(items.len())?;
        items.iter().map(|item| self.evaluate(item)).collect()
    }

    fn named(&self, name: &str) -> Result<Value> {
        if let Some(value) = self.lookup(name) {
            return Ok(value);
        }
        if let Some(function) = FUNCTIONS.split(' ').find(|function| *function == name) {
            return Ok(Value::Function(function));
        }
        if matches!(name, "self" | "super") {
            return Err(Error::unknown(format!("the name {name}")));
        }
        Ok(Value::undefined(format!("'{name}' is undefined")))
    }

    fn slice(&mut self, of: &Value, bounds: &[Option<Expression>; 3]) -> Result<Value> {
        let mut values = [Value::None, Value::None, Value::None];
        for (value, bound) in values.iter_mut().zip(bounds) {
            if let Some(bound) = bound {
                *value = self.evaluate(bound)?;
            }
        }
        operators::defined(&[of])?;
        let [start, stop, step] = &values;
        let cut = sequence::slice(of, [start, stop, step], &self.meter)?;
        cut.ok_or_else(|| Error::python(format!("'{}' object cannot be cut so", of.type_name())))
    }

    /// `of[key]`, else the attribute of that name.
    pub(super) fn item(&mut self, of: &Value, key: &Value) -> Result<Value> {
        operators::defined(&[of])?;
        if let Some(value) = sequence::item(of, key, &self.meter)? {
            return Ok(value);
        }
        if let Value::Text(name) = key
            && let Some(value) = self.own_attribute(of, name)?
        {
            return Ok(value);
        }
        let key = written::repr(key, &self.meter).unwrap_or_else(|_| "that".into());
        Ok(Value::undefined(format!(
            "'{} object' has no element {key}",
            of.type_name()
        )))
    }

    /// `of.name`, else the item of that key.
    pub(super) fn attribute(&mut self, of: &Value, name: &str) -> Result<Value> {
        operators::defined(&[of])?;
        if let Some(value) = self.own_attribute(of, name)? {
            return Ok(value);
        }
        if let Value::Dict(dict) = of
            && let Some(value) = dict.get(&Value::text(name))
        {
            return Ok(value.clone());
        }
        Ok(Value::undefined(format!(
            "'{} object' has no attribute '{name}'",
            of.type_name()
        )))
    }

    fn own_attribute(&mut self, of: &Value, name: &str) -> Result<Option<Value>> {
        match *of {
            Value::Namespace(id) if !name.starts_with('_') => Ok(self.namespace_attribute(id, name)),
            Value::Loop(id) if !name.starts_with('_') => self.loop_attribute(of, id, name),
            Value::Macro(_) if matches!(name, "name" | "arguments" | "caller" | "catch_kwargs" | "catch_varargs") => {
                Err(Error::unknown(format!("the attribute {name} of a macro")))
            }
            _ => methods::attribute(of, name),
        }
    }

    fn loop_attribute(&mut self, of: &Value, id: usize, name: &str) -> Result<Option<Value>> {
        let index0 = self.loops[id].index0;
        Ok(Some(match name {
            "index" => Value::Int(index0 + 1),
            "index0" => Value::Int(index0),
            "first" => Value::Bool(index0 == 0),
            "last" => Value::Bool(self.peek(id)?.is_none()),
            "length" => Value::Int(self.loop_length(id)?),
            "revindex" => Value::Int(self.loop_length(id)? - index0),
            "revindex0" => Value::Int(self.loop_length(id)? - index0 - 1),
            "depth" => Value::Int(self.loops[id].depth0 + 1),
            "depth0" => Value::Int(self.loops[id].depth0),
            "previtem" => {
                let before = self.loops[id].before.clone();
                before.unwrap_or_else(|| Value::undefined("there is no previous item"))
            }
            "nextitem" => self
                .peek(id)?
                .unwrap_or_else(|| Value::undefined("there is no next item")),
            "cycle" => Value::method(of, "cycle")?,
            "changed" => Value::method(of, "changed")?,
            _ => return Ok(None),
        }))
    }

    fn arguments(&mut self, given: &ast::Arguments) -> Result<Arguments> {
        let mut arguments = Arguments {
            positional: self.all(&given.positional)?,
            keywords: Vec::new(),
        };
        for (name, value) in &given.keywords {
            arguments.keywords.push((name.clone(), self.evaluate(value)?));
        }
        if let Some(star) = &given.star {
            let star = self.evaluate(star)?;
            arguments.positional.extend(sequence::items(&star, &self.meter)?);
        }
        if let Some(stars) = &given.stars {
            let Value::Dict(dict) = self.evaluate(stars)? else {
                return Err(Error::python("argument after ** must be a mapping"));
            };
            for (key, value) in &dict.entries {
                let key = key.as_text().ok_or_else(|| Error::python("keywords must be strings"))?;
                arguments.keywords.push((key.clone(), value.clone()));
            }
        }
        Ok(arguments)
    }

    /// A call; with `caller` it is given that, too.
    pub(super) fn evaluate_call(&mut self, call: &Expression, caller: Option<Value>) -> Result<Value> {
        let Expression::Call(callee, arguments) = call else {
            return self.evaluate(call);
        };
        let callee = self.evaluate(callee)?;
        let mut arguments = self.arguments(arguments)?;
        arguments
            .keywords
            .extend(caller.map(|caller| ("caller".into(), caller)));
        self.call(&callee, arguments)
    }

    fn call(&mut self, callee: &Value, arguments: Arguments) -> Result<Value> {
        match callee {
            Value::Macro(id) => self.call_macro(*id, arguments),
            Value::Function(name) => self.call_function(name, arguments),
            Value::Loop(id) => {
                let [over] = arguments.bind("loop", ["iterable"], 1)?;
                self.recurse(*id, &over.unwrap_or(Value::None))
            }
            Value::Method(of, name) => match (&**of, *name) {
                (Value::Loop(id), name) => self.call_loop(*id, name, arguments),
                (Value::Text(form), "format") => self.format(form, &arguments),
                (of, name) => methods::call(of, name, arguments, &self.meter),
            },
            other => {
                operators::defined(&[other])?;
                Err(Error::python(format!("'{}' object is not callable", other.type_name())))
            }
        }
    }

    fn call_loop(&mut self, id: usize, name: &str, arguments: Arguments) -> Result<Value> {
        if !arguments.keywords.is_empty() {
            return Err(Error::python(format!("{name}() takes no keyword arguments")));
        }
        let values = arguments.positional;
        if name == "cycle" {
            if values.is_empty() {
                return Err(Error::python("no items for cycling given"));
            }
            return Ok(values[self.loops[id].index0.max(0) as usize % values.len()].clone());
        }
        let values = Value::tuple(values)?;
        self.meter.scan(values.weight())?;
        let state = &mut self.loops[id];
        let before = state.changed.as_ref().and_then(|before| before.first());
        let is_new = before.is_none_or(|before| !before.is_equal(&values));
        state.changed = Some(vec![values]);
        Ok(Value::Bool(is_new))
    }

    fn call_function(&mut self, name: &str, arguments: Arguments) -> Result<Value> {
        match name {
            "range" => range(arguments),
            "dict" => Value::dict(mapping(arguments, "dict", &self.meter)?),
            "namespace" => self.new_namespace(arguments),
            "raise_exception" => {
                let [message] = arguments.bind(name, ["message"], 1)?;
                let message = written::text(&message.unwrap_or(Value::None), &self.meter)?;
                Err(Error::template(message))
            }
            "strftime_now" => {
                let [form] = arguments.bind(name, ["format"], 1)?;
                clock::now(text_of(&form.unwrap_or(Value::None))?, &self.meter).map(Value::text)
            }
            other => Err(Error::unknown(format!("the function {other}"))),
        }
    }

    /// `str.format`.
    fn format(&mut self, form: &str, arguments: &Arguments) -> Result<Value> {
        let meter = Rc::clone(&self.meter);
        meter.scan(form.len())?;
        let mut out = Text::new(&meter);
        let mut next = 0;
        for piece in pieces(form)? {
            match piece {
                Piece::Text(text) => out.push(&text)?,
                Piece::Field(name, conversion, spec) => {
                    let value = self.field(&name, arguments, &mut next)?;
                    let spec = self.filled_spec(&spec, arguments, &mut next)?;
                    write_formatted(&mut out, &value, conversion, &spec, &meter)?;
                }
            }
        }
        Ok(Value::text(out.text))
    }

    /// A specification may hold fields itself.
    fn filled_spec(&mut self, spec: &str, arguments: &Arguments, next: &mut usize) -> Result<String> {
        if !spec.contains(['{', '}']) {
            return Ok(spec.to_owned());
        }
        let meter = Rc::clone(&self.meter);
        let mut out = Text::new(&meter);
        for piece in pieces(spec)? {
            match piece {
                Piece::Text(text) => out.push(&text)?,
                Piece::Field(name, conversion, inner) => {
                    let value = self.field(&name, arguments, next)?;
                    write_formatted(&mut out, &value, conversion, &inner, &meter)?;
                }
            }
        }
        Ok(out.text)
    }

    /// `first.attribute[key]` of a field.
    fn field(&mut self, name: &str, arguments: &Arguments, next: &mut usize) -> Result<Value> {
        let end = name.find(['.', '[']).unwrap_or(name.len());
        let mut value = arguments.named(&name[..end], next)?;
        let mut rest = &name[end..];
        while !rest.is_empty() {
            let is_attribute = rest.starts_with('.');
            let inner = &rest[1..];
            let end = if is_attribute {
                inner.find(['.', '[']).unwrap_or(inner.len())
            } else {
                inner.find(']').unwrap_or(inner.len())
            };
            let part = &inner[..end];
            if part.is_empty() {
                return Err(Error::python("Empty attribute in format string"));
            }
            value = match part.parse() {
                _ if is_attribute => self.attribute(&value, part)?,
                Ok(index) => self.item(&value, &Value::Int(index))?,
                Err(_) => self.item(&value, &Value::text(part))?,
            };
            rest = inner.get(end + usize::from(!is_attribute)..).unwrap_or("");
        }
        Ok(value)
    }
}

fn range(arguments: Arguments) -> Result<Value> {
    let numbers = arguments.bind("range", ["/start", "/stop", "/step"], 1)?;
    let numbers: Vec<i64> = numbers.iter().flatten().map(int_of).collect::<Result<_>>()?;
    let (start, stop, step) = match *numbers {
        [stop] => (0, stop, 1),
        [start, stop] => (start, stop, 1),
        [start, stop, step, ..] => (start, stop, step),
        [] => (0, 0, 1),
    };
    if step == 0 {
        return Err(Error::python("range() arg 3 must not be zero"));
    }
    let range = Range { start, stop, step };
    if range.len() > LONGEST_RANGE {
        return Err(Error::python(format!(
            "Range too big. The sandbox blocks ranges larger than MAX_RANGE ({LONGEST_RANGE})."
        )));
    }
    Ok(Value::Range(range))
}
