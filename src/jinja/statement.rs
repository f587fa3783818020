//! Statements carried out: scopes, loops and macros as Jinja2's compiled templates have them.

use std::rc::Rc;
use std::sync::Arc;

use super::Result;
use super::ast::{Expression, For, Macro, Name, Statement, Target};
use super::meter::{Meter, Text};
use super::value::Value;
use super::{sequence, written};

/// The names of one scope.
#[derive(Debug, Default)]
pub(super) struct Frame {
    names: Vec<(Name, Value)>,
    parent: Option<usize>,
    /// A macro made here sees it later.
    pub(super) is_kept: bool,
}

/// A loop at work.
#[derive(Debug)]
pub(super) struct Loop {
    source: std::vec::IntoIter<Value>,
    /// The loop's own test, to be asked in this frame, until all are tested.
    test: Option<(Arc<For>, usize)>,
    pub index0: i64,
    pub before: Option<Value>,
    current: Option<Value>,
    /// Taken from the source ahead of its turn.
    after: Option<Value>,
}

/// Where the statements after this one stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    On,
    Break,
    Continue,
}

/// Bytes of a loop, a namespace, a macro or a frame that is kept.
pub(super) const OBJECT: usize = 256;

/// A template at work.
pub(super) struct Renderer {
    pub meter: Rc<Meter>,
    pub frames: Vec<Frame>,
    pub frame: usize,
    pub namespaces: Vec<Vec<(Name, Value)>>,
    pub macros: Vec<(Arc<Macro>, usize)>,
    pub loops: Vec<Loop>,
    /// What blocks rendered, on their way through filters.
    pub blocks: Vec<Value>,
}

impl Renderer {
    pub(super) fn new(variables: Vec<(&str, Value)>) -> Renderer {
        let names = variables.into_iter().map(|(name, value)| (name.into(), value));
        let frame = Frame {
            names: names.collect(),
            ..Frame::default()
        };
        Renderer {
            meter: Rc::new(Meter::new()),
            frames: vec![frame],
            frame: 0,
            namespaces: Vec::new(),
            macros: Vec::new(),
            loops: Vec::new(),
            blocks: Vec::new(),
        }
    }

    pub(super) fn render(mut self, body: &[Statement]) -> Result<String> {
        self.captured(|renderer, out| renderer.run(body, out).map(|_| ()))
    }

    /// The text that some work writes.
    pub(super) fn captured(&mut self, work: impl FnOnce(&mut Renderer, &mut Text) -> Result<()>) -> Result<String> {
        let meter = Rc::clone(&self.meter);
        let mut out = Text::new(&meter);
        work(self, &mut out)?;
        Ok(out.text)
    }

    /// Work in a scope of its own under this one.
    pub(super) fn scoped<T>(&mut self, parent: usize, work: impl FnOnce(&mut Renderer) -> Result<T>) -> Result<T> {
        let inner = self.frames.len();
        let outer = std::mem::replace(&mut self.frame, inner);
        self.frames.push(Frame {
            parent: Some(parent),
            ..Frame::default()
        });
        let outcome = work(self);
        self.frame = outer;
        if inner + 1 == self.frames.len() && !self.frames[inner].is_kept {
            self.frames.pop();
        } else {
            self.meter.bytes(OBJECT)?;
        }
        outcome
    }

    pub(super) fn lookup(&self, name: &str) -> Option<Value> {
        let frames = std::iter::successors(Some(self.frame), |at| self.frames[*at].parent);
        let mut names = frames.flat_map(|at| &self.frames[at].names);
        names
            .find(|(known, _)| &**known == name)
            .map(|(_, value)| value.clone())
    }

    pub(super) fn store(&mut self, name: &Name, value: Value) {
        put(&mut self.frames[self.frame].names, name, value);
    }

    fn assign(&mut self, target: &Target, value: Value) -> Result<()> {
        match target {
            Target::Name(name) => self.store(name, value),
            Target::Tuple(targets) => {
                let items = sequence::items(&value, &self.meter)?;
                let (wanted, found) = (targets.len(), items.len());
                if wanted != found {
                    return python!("cannot unpack {found} values into {wanted}");
                }
                let mut pairs = targets.iter().zip(items);
                pairs.try_for_each(|(target, item)| self.assign(target, item))?;
            }
            Target::Attribute(name, attribute) => match self.lookup(name) {
                Some(Value::Namespace(id)) => self.set_attribute(id, attribute, value)?,
                _ => return template!("cannot assign attribute on non-namespace object"),
            },
        }
        Ok(())
    }

    pub(super) fn run(&mut self, body: &[Statement], out: &mut Text) -> Result<Flow> {
        self.meter.enter()?;
        for statement in body {
            let flow = self.statement(statement, out)?;
            if flow != Flow::On {
                self.meter.leave();
                return Ok(flow);
            }
        }
        self.meter.leave();
        Ok(Flow::On)
    }

    fn statement(&mut self, statement: &Statement, out: &mut Text) -> Result<Flow> {
        self.meter.steps(1)?;
        match statement {
            Statement::Text(text) => out.push(text)?,
            Statement::Print(expression) => {
                let value = self.evaluate(expression)?;
                written::write(out, &value)?;
            }
            Statement::Set(target, expression) => {
                let value = self.evaluate(expression)?;
                self.assign(target, value)?;
            }
            Statement::SetBlock(target, filters, body) => {
                let value = self.filtered(filters, body)?;
                self.assign(target, value)?;
            }
            Statement::Filter(filters, body) => {
                let value = self.filtered(filters, body)?;
                written::write(out, &value)?;
            }
            Statement::If(branches, otherwise) => {
                for (test, body) in branches {
                    if self.evaluate(test)?.is_true() {
                        return self.run(body, out);
                    }
                }
                return self.run(otherwise, out);
            }
            Statement::For(repeat) => self.repeat(repeat, out)?,
            Statement::With(values, body) => {
                let values = values.iter();
                let given = values.map(|(target, value)| Ok((target, self.evaluate(value)?)));
                let given = given.collect::<Result<Vec<_>>>()?;
                return self.scoped(self.frame, |renderer| {
                    let mut given = given.into_iter();
                    given.try_for_each(|(target, value)| renderer.assign(target, value))?;
                    renderer.run(body, out)
                });
            }
            Statement::Scope(body) => return self.scoped(self.frame, |renderer| renderer.run(body, out)),
            Statement::Macro(definition) => {
                let value = self.new_macro(definition)?;
                self.store(&definition.name, value);
            }
            Statement::Call(body, call) => {
                let caller = self.new_macro(body)?;
                let value = self.evaluate_call(call, Some(caller))?;
                written::write(out, &value)?;
            }
            Statement::Break => return Ok(Flow::Break),
            Statement::Continue => return Ok(Flow::Continue),
        }
        Ok(Flow::On)
    }

    /// A block's text, through its filters.
    fn filtered(&mut self, filters: &Expression, body: &[Statement]) -> Result<Value> {
        let text = self.captured(|renderer, out| {
            let frame = renderer.frame;
            renderer.scoped(frame, |renderer| renderer.run(body, out)).map(|_| ())
        })?;
        self.blocks.push(Value::text(text));
        let value = self.evaluate(filters);
        self.blocks.pop();
        value
    }
}

/// Sets a name among others.
pub(super) fn put(names: &mut Vec<(Name, Value)>, name: &Name, value: Value) {
    match names.iter_mut().find(|(known, _)| known == name) {
        Some((_, old)) => *old = value,
        None => names.push((Arc::clone(name), value)),
    }
}

/// Loops.
impl Renderer {
    fn repeat(&mut self, repeat: &Arc<For>, out: &mut Text) -> Result<()> {
        let over = self.evaluate(&repeat.over)?;
        self.meter.bytes(OBJECT)?;
        let (id, frame) = (self.loops.len(), self.frame);
        self.loops.push(Loop {
            source: sequence::items(&over, &self.meter)?.into_iter(),
            test: repeat.test.is_some().then(|| (Arc::clone(repeat), frame)),
            index0: -1,
            before: None,
            current: None,
            after: None,
        });
        let name: Name = "loop".into();
        while let Some(item) = self.advance(id)? {
            let flow = self.scoped(frame, |renderer| {
                renderer.assign(&repeat.target, item)?;
                renderer.store(&name, Value::Loop(id));
                renderer.run(&repeat.body, out)
            })?;
            if flow == Flow::Break {
                return Ok(());
            }
        }
        if self.loops[id].index0 < 0 {
            self.scoped(frame, |renderer| renderer.run(&repeat.otherwise, out))?;
        }
        Ok(())
    }

    fn advance(&mut self, id: usize) -> Result<Option<Value>> {
        let next = match self.loops[id].after.take() {
            Some(item) => Some(item),
            None => self.pull(id)?,
        };
        let state = &mut self.loops[id];
        if let Some(item) = &next {
            state.index0 += 1;
            state.before = state.current.replace(item.clone());
        }
        Ok(next)
    }

    /// The next item that passes the loop's test.
    fn pull(&mut self, id: usize) -> Result<Option<Value>> {
        while let Some(item) = self.loops[id].source.next() {
            self.meter.steps(1)?;
            let Some((repeat, frame)) = self.loops[id].test.clone() else {
                return Ok(Some(item));
            };
            let is_wanted = self.scoped(frame, |renderer| {
                renderer.assign(&repeat.target, item.clone())?;
                let test = repeat.test.as_ref().map(|test| renderer.evaluate(test));
                Ok(test.transpose()?.is_none_or(|value| value.is_true()))
            })?;
            if is_wanted {
                return Ok(Some(item));
            }
        }
        Ok(None)
    }

    /// The item after this one.
    pub(super) fn peek(&mut self, id: usize) -> Result<Option<Value>> {
        if self.loops[id].after.is_none() {
            self.loops[id].after = self.pull(id)?;
        }
        Ok(self.loops[id].after.clone())
    }

    pub(super) fn loop_length(&mut self, id: usize) -> Result<i64> {
        let mut rest = Vec::new();
        while let Some(item) = self.pull(id)? {
            rest.push(item);
        }
        let state = &mut self.loops[id];
        state.test = None;
        let length = rest.len() as i64 + state.index0 + 1 + i64::from(state.after.is_some());
        state.source = rest.into_iter();
        Ok(length)
    }
}
