//! Jinja templates as Python's Jinja2 renders them for transformers: its lexer, grammar, scopes and sandbox, and Python's
//! text for whatever is printed.
//!
//! A template is a stranger's code: the steps it takes, the memory it fills and how deep it nests are bounded. It holds
//! what chat templates are made of; what else Jinja2 or Python has is refused by name, never rendered otherwise. Parsing
//! and rendering have a thread with a large stack of their own.

/// A failure: `template!`, `python!`, `unknown!` and `limit!` with a text, by [`Fault`].
macro_rules! template {
    ($($text:tt)*) => { Err(super::Error::new(super::Fault::Template, format!($($text)*))) };
}
macro_rules! python {
    ($($text:tt)*) => { Err(super::Error::new(super::Fault::Python, format!($($text)*))) };
}
macro_rules! unknown {
    ($($what:tt)*) => { Err(super::Error::unknown(&format!($($what)*))) };
}
macro_rules! limit {
    ($($text:tt)*) => { Err(super::Error::new(super::Fault::Limit, format!($($text)*))) };
}

mod ast;
mod call;
mod clock;
mod expression;
mod filters;
mod format;
mod grammar;
mod lexer;
mod macros;
mod meter;
mod methods;
mod number;
mod operators;
mod order;
mod parser;
mod sequence;
mod statement;
mod tests;
mod value;
mod written;

use std::fmt;

use ast::Statement;
use statement::Renderer;
use value::Value;

use crate::guard::guarded;

/// A longer text is no chat template.
const LONGEST_SOURCE: usize = 2 << 20;
/// Room for the deepest nesting that is allowed.
const STACK: usize = 128 << 20;

/// What kind of thing went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Jinja2's `TemplateError`: the template's own refusal, a syntax error, something undefined, the sandbox.
    Template,
    /// Any other exception of Python, such as a `TypeError`.
    Python,
    /// Jinja2 or Python has it, and it is not known here.
    Unknown,
    /// A bound on steps, memory or depth.
    Limit,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    pub fault: Fault,
    pub message: String,
}

type Result<T> = std::result::Result<T, Error>;

impl Error {
    fn new(fault: Fault, message: impl Into<String>) -> Error {
        let message = message.into();
        Error { fault, message }
    }

    fn unknown(what: &str) -> Error {
        Error::new(Fault::Unknown, format!("{what} is not known to markbook's Jinja"))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// A template, parsed.
#[derive(Debug)]
pub struct Template {
    body: Vec<Statement>,
}

impl Template {
    /// # Errors
    /// Where Jinja2 would not compile it, or a bound is passed.
    pub fn parse(source: &str) -> Result<Template> {
        if source.len() > LONGEST_SOURCE {
            let message = format!("it is {} bytes long; at most {LONGEST_SOURCE} are read", source.len());
            return Err(Error::new(Fault::Limit, message));
        }
        let body = with_stack(|| parser::parse(lexer::tokens(source)?))?;
        Ok(Template { body })
    }

    /// The text that it gives with these variables.
    ///
    /// # Errors
    /// Where Jinja2 would raise, something is not known here, or a bound is passed.
    pub fn render(&self, variables: &[(&str, serde_json::Value)]) -> Result<String> {
        with_stack(|| {
            let variables = variables
                .iter()
                .map(|(name, value)| Ok((*name, Value::from_json(value, 0)?)));
            Renderer::new(variables.collect::<Result<_>>()?).render(&self.body)
        })
    }
}

fn with_stack<T: Send>(work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let outcome = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("template".into()).stack_size(STACK);
        thread
            .spawn_scoped(scope, || guarded("", || Ok(work())))
            .map(std::thread::ScopedJoinHandle::join)
    });
    match outcome {
        Ok(Ok(Ok(result))) => result,
        Ok(_) => Err(Error::new(Fault::Limit, "it ended the template engine")),
        Err(error) => Err(Error::new(Fault::Limit, format!("no thread for it: {error}"))),
    }
}
