//! Expressions evaluated: names, attributes, calls.

use std::rc::Rc;

use super::Result;
use super::ast::{self, Expression};
use super::call::{Arguments, int_of};
use super::macros::mapping;
use super::meter::Text;
use super::operators::defined;
use super::statement::Renderer;
use super::value::{Dict, Kind, Value};
use super::{clock, filters, methods, operators, sequence, tests, written};

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
            Expression::Tuple(items) => Value::series(Kind::Tuple, self.all(items)?)?,
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
                let (of, key) = (self.evaluate(of)?, self.evaluate(key)?);
                self.item(&of, &key)?
            }
            Expression::Slice(of, bounds) => {
                let of = self.evaluate(of)?;
                self.slice(&of, bounds)?
            }
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
            return unknown!("the name {name}");
        }
        Ok(Value::undefined(format!("'{name}' is undefined")))
    }

    fn slice(&mut self, of: &Value, bounds: &[Option<Expression>; 3]) -> Result<Value> {
        let mut numbers = [None; 3];
        for (number, bound) in numbers.iter_mut().zip(bounds) {
            let value = bound.as_ref().map(|bound| self.evaluate(bound)).transpose()?;
            *number = match value {
                None | Some(Value::None) => None,
                Some(value) => Some(int_of(&value)?),
            };
        }
        defined(&[of])?;
        sequence::slice(of, numbers, &self.meter)
    }

    /// `of[key]`, else the attribute of that name.
    pub(super) fn item(&mut self, of: &Value, key: &Value) -> Result<Value> {
        defined(&[of])?;
        if let Some(value) = sequence::item(of, key, &self.meter)? {
            return Ok(value);
        }
        if let Value::Text(name) = key
            && let Some(value) = self.own_attribute(of, name)?
        {
            return Ok(value);
        }
        let key = written::repr(key, &self.meter).unwrap_or_else(|_| "that".into());
        let message = format!("'{} object' has no element {key}", of.type_name());
        Ok(Value::undefined(message))
    }

    /// `of.name`, else the item of that key.
    pub(super) fn attribute(&mut self, of: &Value, name: &str) -> Result<Value> {
        defined(&[of])?;
        if let Some(value) = self.own_attribute(of, name)? {
            return Ok(value);
        }
        if let Value::Dict(dict) = of
            && let Some(value) = dict.get(&Value::text(name))
        {
            return Ok(value.clone());
        }
        let message = format!("'{} object' has no attribute '{name}'", of.type_name());
        Ok(Value::undefined(message))
    }

    fn own_attribute(&mut self, of: &Value, name: &str) -> Result<Option<Value>> {
        match *of {
            Value::Namespace(id) if !name.starts_with('_') => Ok(self.namespace_attribute(id, name)),
            Value::Loop(id) if !name.starts_with('_') => self.loop_attribute(of, id, name),
            Value::Macro(_) if matches!(name, "name" | "arguments" | "caller" | "catch_kwargs" | "catch_varargs") => {
                unknown!("the attribute {name} of a macro")
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
            "depth" => Value::Int(1),
            "depth0" => Value::Int(0),
            "previtem" => {
                let before = self.loops[id].before.clone();
                before.unwrap_or_else(|| Value::undefined("there is no previous item"))
            }
            "nextitem" => {
                let next = self.peek(id)?;
                next.unwrap_or_else(|| Value::undefined("there is no next item"))
            }
            "cycle" => Value::method(of, "cycle")?,
            "changed" => return unknown!("loop.changed"),
            _ => return Ok(None),
        }))
    }

    fn arguments(&mut self, given: &ast::Arguments) -> Result<Arguments> {
        let positional = self.all(&given.positional)?;
        let keywords = given.keywords.iter();
        let keywords = keywords.map(|(name, value)| Ok((name.clone(), self.evaluate(value)?)));
        let keywords = keywords.collect::<Result<_>>()?;
        let mut arguments = Arguments { positional, keywords };
        if let Some(star) = &given.star {
            let star = self.evaluate(star)?;
            arguments.positional.extend(sequence::items(&star, &self.meter)?);
        }
        if let Some(stars) = &given.stars {
            let Value::Dict(dict) = self.evaluate(stars)? else {
                return python!("argument after ** must be a mapping");
            };
            for (key, value) in &dict.entries {
                let Some(key) = key.as_text() else {
                    return python!("keywords must be strings");
                };
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
        let caller = caller.map(|caller| ("caller".into(), caller));
        arguments.keywords.extend(caller);
        match &callee {
            Value::Macro(id) => self.call_macro(*id, arguments),
            Value::Function(name) => self.call_function(name, arguments),
            Value::Method(of, name) => match &**of {
                Value::Loop(id) if arguments.keywords.is_empty() && !arguments.positional.is_empty() => {
                    let at = self.loops[*id].index0.max(0) as usize % arguments.positional.len();
                    Ok(arguments.positional.swap_remove(at))
                }
                Value::Loop(_) => python!("no items for cycling given"),
                of => methods::call(of, name, arguments, &self.meter),
            },
            Value::Loop(_) => python!("The loop must have the 'recursive' marker to be called recursively."),
            other => {
                defined(&[other])?;
                python!("'{}' object is not callable", other.type_name())
            }
        }
    }

    fn call_function(&mut self, name: &str, arguments: Arguments) -> Result<Value> {
        match name {
            "range" => self.range(arguments),
            "dict" => Value::dict(mapping(arguments, "dict", &self.meter)?),
            "namespace" => self.new_namespace(arguments),
            "raise_exception" => {
                let message = arguments.bind(name, "message")?.value(0);
                template!("{}", written::text(&message, &self.meter)?)
            }
            "strftime_now" => {
                let given = arguments.bind(name, "format")?;
                clock::now(given.text(0)?, &self.meter).map(Value::text)
            }
            other => unknown!("the function {other}"),
        }
    }

    fn range(&self, arguments: Arguments) -> Result<Value> {
        let given = arguments.bind("range", "/start /stop? /step?")?;
        let (first, step) = (given.int(0, 0)?, given.int(2, 1)?);
        let (start, stop) = match given.given(1) {
            Some(_) => (first, given.int(1, 0)?),
            None => (0, first),
        };
        let (low, high) = if step < 0 { (stop, start) } else { (start, stop) };
        let span = (i128::from(high) - i128::from(low)).max(0).unsigned_abs();
        let count = match usize::try_from(step.unsigned_abs()) {
            Ok(step) if step > 0 => span.div_ceil(step as u128),
            _ => return python!("range() arg 3 must not be zero"),
        };
        if count > LONGEST_RANGE as u128 {
            return python!("Range too big. The sandbox blocks ranges larger than MAX_RANGE ({LONGEST_RANGE}).");
        }
        self.meter.items(count as usize)?;
        let numbers = (0..count as i64).map(|at| Value::Int(start + step * at));
        Value::series(Kind::Range, numbers.collect())
    }
}
