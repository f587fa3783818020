//! Tokens to a tree, by Jinja2's grammar: the statements.

use std::sync::Arc;

use super::ast::{Expression, For, Macro, Name, Statement, Target};
use super::lexer::Token;
use super::{Error, Result, filters, tests};

/// Blocks within blocks, brackets within brackets: Python compiles no more than about a hundred.
const DEEPEST: usize = 200;

type Parameters = Vec<(Name, Option<Expression>)>;

pub(super) fn parse(tokens: Vec<Token>) -> Result<Vec<Statement>> {
    let mut parser = Parser {
        tokens,
        at: 0,
        depth: 0,
        loops: 0,
        is_conditional: false,
        names: Vec::new(),
    };
    parser.body(&[]).map(|(body, _)| body)
}

pub(super) struct Parser {
    tokens: Vec<Token>,
    pub(super) at: usize,
    depth: usize,
    /// Loops around this place, within the innermost macro.
    loops: usize,
    /// Whether a filter or test that is not known fails only when it is reached.
    pub(super) is_conditional: bool,
    /// Names read so far: what a macro's body speaks of.
    pub(super) names: Vec<Name>,
}

impl Parser {
    pub(super) fn peek(&self) -> &Token {
        self.tokens.get(self.at).unwrap_or(&Token::End)
    }

    pub(super) fn ahead(&self) -> &Token {
        self.tokens.get(self.at + 1).unwrap_or(&Token::End)
    }

    pub(super) fn advance(&mut self) -> Token {
        let token = self.peek().clone();
        self.at += 1;
        token
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Token::Name(name) if &**name == word)
    }

    pub(super) fn is_operator(&self, operator: &str) -> bool {
        matches!(self.peek(), Token::Operator(found) if *found == operator)
    }

    pub(super) fn skip_word(&mut self, word: &str) -> bool {
        let is_there = self.is_word(word);
        self.at += usize::from(is_there);
        is_there
    }

    pub(super) fn skip(&mut self, operator: &str) -> bool {
        let is_there = self.is_operator(operator);
        self.at += usize::from(is_there);
        is_there
    }

    pub(super) fn expect(&mut self, operator: &str) -> Result<()> {
        match self.skip(operator) {
            true => Ok(()),
            false => Err(self.unexpected(operator)),
        }
    }

    pub(super) fn expect_name(&mut self) -> Result<Name> {
        match self.advance() {
            Token::Name(name) => Ok(name),
            _ => template!("expected a name"),
        }
    }

    fn expect_end_of_tag(&mut self) -> Result<()> {
        match self.peek() {
            Token::BlockEnd => {
                self.at += 1;
                Ok(())
            }
            _ => Err(self.unexpected("end of statement block")),
        }
    }

    pub(super) fn unexpected(&self, wanted: &str) -> Error {
        let found = match self.peek() {
            Token::Name(name) | Token::Text(name) => name.to_string(),
            Token::Operator(operator) => (*operator).to_owned(),
            Token::End => "the end".into(),
            Token::BlockEnd | Token::VariableEnd => "the end of the tag".into(),
            other => format!("{other:?}"),
        };
        let message = format!("expected {wanted:?}, got {found:?}");
        Error::new(super::Fault::Template, message)
    }

    /// One level deeper.
    pub(super) fn deeper<T>(&mut self, work: impl FnOnce(&mut Parser) -> Result<T>) -> Result<T> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return limit!("it nests more than {DEEPEST} levels, the limit");
        }
        let outcome = work(self);
        self.depth -= 1;
        outcome
    }

    pub(super) fn conditional<T>(&mut self, is_conditional: bool, work: impl FnOnce(&mut Parser) -> T) -> T {
        let outer = std::mem::replace(&mut self.is_conditional, is_conditional);
        let outcome = work(self);
        self.is_conditional = outer;
        outcome
    }

    pub(super) fn check_known(&self, name: &str, is_filter: bool) -> Result<()> {
        let (what, is_known) = match is_filter {
            true => ("filter", filters::is_jinja2(name)),
            false => ("test", tests::is_jinja2(name)),
        };
        match is_known || self.is_conditional {
            true => Ok(()),
            false => template!("No {what} named {name:?}."),
        }
    }

    /// Statements up to a tag of one of these names, which is taken; of a whole template, up to its end.
    fn body(&mut self, ends: &[&str]) -> Result<(Vec<Statement>, Name)> {
        self.deeper(|parser| {
            let mut body = Vec::new();
            loop {
                match parser.advance() {
                    Token::Data(text) => body.push(Statement::Text(text)),
                    Token::VariableBegin => {
                        body.push(Statement::Print(parser.tuple(true)?));
                        if parser.advance() != Token::VariableEnd {
                            parser.at -= 1;
                            return Err(parser.unexpected("end of print statement"));
                        }
                    }
                    Token::BlockBegin => {
                        let name = parser.expect_name()?;
                        if ends.contains(&&*name) {
                            return Ok((body, name));
                        }
                        body.push(parser.statement(&name)?);
                        parser.expect_end_of_tag()?;
                    }
                    Token::End if ends.is_empty() => return Ok((body, "".into())),
                    Token::End => return template!("Unexpected end of template, looking for {}", ends.join(" or ")),
                    _ => return template!("internal parsing error"),
                }
            }
        })
    }

    /// The rest of an opening tag, and its body up to one of these tags.
    fn block(&mut self, ends: &[&str]) -> Result<(Vec<Statement>, Name)> {
        self.skip(":");
        self.expect_end_of_tag()?;
        self.body(ends)
    }

    fn statement(&mut self, name: &str) -> Result<Statement> {
        Ok(match name {
            "set" => self.set()?,
            "for" => self.conditional(false, Parser::for_loop)?,
            "if" => self.conditional(true, Parser::if_chain)?,
            "with" => self.with()?,
            "macro" => {
                let name = self.expect_name()?;
                let parameters = self.parameters()?;
                Statement::Macro(self.macro_of(name, parameters, "endmacro")?)
            }
            "call" => self.call_block()?,
            "filter" => {
                let filters = self.filters(Expression::Block, true)?;
                Statement::Filter(filters, self.block(&["endfilter"])?.0)
            }
            "generation" => {
                let outer = std::mem::take(&mut self.loops);
                let inner = self.conditional(false, |parser| parser.block(&["endgeneration"]))?.0;
                self.loops = outer;
                Statement::Scope(inner)
            }
            "break" | "continue" if self.loops == 0 => return python!("'{name}' outside loop"),
            "break" => Statement::Break,
            "continue" => Statement::Continue,
            "autoescape" | "block" | "extends" | "from" | "import" | "include" | "print" => {
                return unknown!("the tag {name}");
            }
            other => return template!("Encountered unknown tag {other:?}"),
        })
    }

    fn set(&mut self) -> Result<Statement> {
        let target = self.target(true, "=")?;
        if self.skip("=") {
            return Ok(Statement::Set(target, self.tuple(true)?));
        }
        let filters = self.filters(Expression::Block, false)?;
        Ok(Statement::SetBlock(target, filters, self.block(&["endset"])?.0))
    }

    fn for_loop(&mut self) -> Result<Statement> {
        let target = self.target(false, "in")?;
        if !self.skip_word("in") {
            return Err(self.unexpected("in"));
        }
        let over = self.tuple(false)?;
        let test = match self.skip_word("if") {
            true => Some(self.expression()?),
            false => None,
        };
        if self.is_word("recursive") {
            return unknown!("a recursive loop");
        }
        self.loops += 1;
        let (body, end) = self.block(&["endfor", "else"])?;
        self.loops -= 1;
        let otherwise = match &*end {
            "else" => self.block(&["endfor"])?.0,
            _ => Vec::new(),
        };
        Ok(Statement::For(Arc::new(For {
            target,
            over,
            test,
            body,
            otherwise,
        })))
    }

    fn if_chain(&mut self) -> Result<Statement> {
        let mut branches = Vec::new();
        loop {
            let test = self.tuple(false)?;
            let (body, end) = self.block(&["elif", "else", "endif"])?;
            branches.push((test, body));
            match &*end {
                "elif" => {}
                "else" => return Ok(Statement::If(branches, self.block(&["endif"])?.0)),
                _ => return Ok(Statement::If(branches, Vec::new())),
            }
        }
    }

    fn with(&mut self) -> Result<Statement> {
        let mut values = Vec::new();
        while !matches!(self.peek(), Token::BlockEnd) {
            if !values.is_empty() {
                self.expect(",")?;
            }
            let target = self.target(false, "=")?;
            self.expect("=")?;
            values.push((target, self.expression()?));
        }
        Ok(Statement::With(values, self.block(&["endwith"])?.0))
    }

    fn call_block(&mut self) -> Result<Statement> {
        let parameters = match self.is_operator("(") {
            true => self.parameters()?,
            false => Vec::new(),
        };
        let call = self.expression()?;
        if !matches!(call, Expression::Call(..)) {
            return template!("expected call");
        }
        let caller = self.macro_of("caller".into(), parameters, "endcall")?;
        Ok(Statement::Call(caller, call))
    }

    fn macro_of(&mut self, name: Name, parameters: Parameters, end: &str) -> Result<Arc<Macro>> {
        let outer = std::mem::take(&mut self.loops);
        let first = self.names.len();
        let (body, _) = self.conditional(false, |parser| parser.block(&[end]))?;
        self.loops = outer;
        let speaks_of = |word: &str| self.names[first..].iter().any(|name| &**name == word);
        Ok(Arc::new(Macro {
            name,
            takes: ["caller", "kwargs", "varargs"].map(speaks_of),
            parameters,
            body,
        }))
    }

    fn parameters(&mut self) -> Result<Parameters> {
        self.expect("(")?;
        self.items(")", |parser, earlier: &Parameters| {
            let name = parser.expect_name()?;
            let default = match parser.skip("=") {
                true => Some(parser.expression()?),
                false => None,
            };
            if default.is_none() && earlier.iter().any(|(_, default)| default.is_some()) {
                return template!("non-default argument follows default argument");
            }
            Ok((name, default))
        })
    }

    /// Names, or a tuple of names, up to a word or sign.
    fn target(&mut self, takes_attributes: bool, end: &str) -> Result<Target> {
        let mut targets = Vec::new();
        let mut is_tuple = false;
        while !(matches!(self.peek(), Token::BlockEnd) || self.is_operator(")") || self.is_word(end)) {
            targets.push(self.one_target(takes_attributes)?);
            if !self.skip(",") {
                break;
            }
            is_tuple = true;
        }
        match targets.pop() {
            Some(only) if !is_tuple => Ok(only),
            Some(last) => {
                targets.push(last);
                Ok(Target::Tuple(targets))
            }
            None => Err(self.unexpected("an expression")),
        }
    }

    fn one_target(&mut self, takes_attributes: bool) -> Result<Target> {
        if self.skip("(") {
            let target = self.deeper(|parser| parser.target(takes_attributes, ")"))?;
            self.expect(")")?;
            return Ok(target);
        }
        let name = self.expect_name()?;
        if takes_attributes && self.skip(".") {
            return Ok(Target::Attribute(name, self.expect_name()?));
        }
        if matches!(&*name, "true" | "false" | "none" | "True" | "False" | "None") {
            return template!("can't assign to {name:?}");
        }
        Ok(Target::Name(name))
    }
}
