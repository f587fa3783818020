//! Expressions, from the loosest binding to the tightest.

use super::ast::{Arguments, Expression, Name};
use super::lexer::Token;
use super::parser::Parser;
use super::{Error, Result};

impl Parser {
    pub(super) fn expression(&mut self) -> Result<Expression> {
        self.deeper(Parser::condition)
    }

    /// An expression, or several with commas: a tuple. It ends with its tag, a bracket or one of these words.
    pub(super) fn tuple(&mut self, takes_conditions: bool, ends: &[&str]) -> Result<Expression> {
        let mut items = Vec::new();
        let mut is_tuple = false;
        loop {
            let is_end = matches!(self.peek(), Token::VariableEnd | Token::BlockEnd) || self.is_operator(")");
            if is_end || ends.iter().any(|word| self.is_word(word)) {
                break;
            }
            items.push(if takes_conditions {
                self.expression()?
            } else {
                self.deeper(Parser::or)?
            });
            if !self.skip(",") {
                break;
            }
            is_tuple = true;
        }
        match items.pop() {
            Some(only) if !is_tuple => Ok(only),
            Some(last) => {
                items.push(last);
                Ok(Expression::Tuple(items))
            }
            None => Err(self.unexpected("an expression")),
        }
    }

    fn condition(&mut self) -> Result<Expression> {
        let mut value = self.or()?;
        while self.skip_word("if") {
            let outer = std::mem::replace(&mut self.is_conditional, true);
            let test = self.or()?;
            let otherwise = if self.skip_word("else") {
                Some(self.deeper(Parser::condition)?)
            } else {
                None
            };
            self.is_conditional = outer;
            value = Expression::If(Box::new((test, value, otherwise)));
        }
        Ok(value)
    }

    fn or(&mut self) -> Result<Expression> {
        let mut left = self.and()?;
        while self.skip_word("or") {
            left = Expression::Or(Box::new((left, self.and()?)));
        }
        Ok(left)
    }

    fn and(&mut self) -> Result<Expression> {
        let mut left = self.not()?;
        while self.skip_word("and") {
            left = Expression::And(Box::new((left, self.not()?)));
        }
        Ok(left)
    }

    fn not(&mut self) -> Result<Expression> {
        if self.skip_word("not") {
            return Ok(Expression::Not(Box::new(self.deeper(Parser::not)?)));
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Result<Expression> {
        let left = self.sum()?;
        let mut rest = Vec::new();
        loop {
            let operator = match self.peek() {
                Token::Operator(operator) if matches!(*operator, "==" | "!=" | "<" | "<=" | ">" | ">=") => *operator,
                Token::Name(name) if &**name == "in" => "in",
                Token::Name(name)
                    if &**name == "not" && matches!(self.ahead(), Token::Name(next) if &**next == "in") =>
                {
                    self.at += 1;
                    "not in"
                }
                _ if rest.is_empty() => return Ok(left),
                _ => return Ok(Expression::Compare(Box::new(left), rest)),
            };
            self.at += 1;
            rest.push((operator, self.sum()?));
        }
    }

    fn operator_of(&self, operators: &[&str]) -> Option<&'static str> {
        match self.peek() {
            Token::Operator(operator) if operators.contains(operator) => Some(operator),
            _ => None,
        }
    }

    fn chain(&mut self, operators: &[&str], operand: fn(&mut Parser) -> Result<Expression>) -> Result<Expression> {
        let mut left = operand(self)?;
        while let Some(operator) = self.operator_of(operators) {
            self.at += 1;
            left = Expression::Binary(operator, Box::new((left, operand(self)?)));
        }
        Ok(left)
    }

    fn sum(&mut self) -> Result<Expression> {
        self.chain(&["+", "-"], Parser::concatenation)
    }

    fn concatenation(&mut self) -> Result<Expression> {
        let first = self.product()?;
        if !self.is_operator("~") {
            return Ok(first);
        }
        let mut parts = vec![first];
        while self.skip("~") {
            parts.push(self.product()?);
        }
        Ok(Expression::Concat(parts))
    }

    fn product(&mut self) -> Result<Expression> {
        self.chain(&["*", "/", "//", "%"], Parser::power)
    }

    fn power(&mut self) -> Result<Expression> {
        self.chain(&["**"], |parser| parser.unary(true))
    }

    fn unary(&mut self, takes_filters: bool) -> Result<Expression> {
        let inner = |parser: &mut Parser| parser.deeper(|parser| parser.unary(false));
        let value = if self.skip("-") {
            Expression::Negative(Box::new(inner(self)?))
        } else if self.skip("+") {
            Expression::Positive(Box::new(inner(self)?))
        } else {
            self.primary()?
        };
        let mut value = self.postfix(value)?;
        if !takes_filters {
            return Ok(value);
        }
        loop {
            value = if self.is_operator("|") {
                self.filters(value, false)?
            } else if self.skip_word("is") {
                self.test(value)?
            } else if self.is_operator("(") {
                Expression::Call(Box::new(value), self.arguments()?)
            } else {
                return Ok(value);
            };
        }
    }

    fn primary(&mut self) -> Result<Expression> {
        Ok(match self.advance() {
            Token::Name(name) => match &*name {
                "true" | "True" => Expression::Bool(true),
                "false" | "False" => Expression::Bool(false),
                "none" | "None" => Expression::None,
                _ => {
                    self.note_name(&name);
                    Expression::Name(name)
                }
            },
            Token::Text(text) => {
                let mut whole = text.to_string();
                while let Token::Text(more) = self.peek() {
                    whole.push_str(more);
                    self.at += 1;
                }
                Expression::Text(whole.into())
            }
            Token::Int(number) => Expression::Int(number),
            Token::Float(number) => Expression::Float(number),
            Token::Operator("(") if self.skip(")") => Expression::Tuple(Vec::new()),
            Token::Operator("(") => {
                let inner = self.deeper(|parser| parser.tuple(true, &[]))?;
                self.expect(")")?;
                inner
            }
            Token::Operator("[") => Expression::List(self.items("]", Parser::expression)?),
            Token::Operator("{") => Expression::Dict(self.items("}", |parser| {
                let key = parser.expression()?;
                parser.expect(":")?;
                Ok((key, parser.expression()?))
            })?),
            _ => {
                self.at -= 1;
                return Err(self.unexpected("an expression"));
            }
        })
    }

    /// What stands between brackets, with commas; the closing one is taken.
    fn items<T>(&mut self, closing: &str, item: impl Fn(&mut Parser) -> Result<T>) -> Result<Vec<T>> {
        let mut items = Vec::new();
        while !self.skip(closing) {
            if !items.is_empty() {
                self.expect(",")?;
                if self.skip(closing) {
                    break;
                }
            }
            items.push(item(self)?);
        }
        Ok(items)
    }

    fn postfix(&mut self, mut value: Expression) -> Result<Expression> {
        loop {
            value = if self.skip(".") {
                match self.advance() {
                    Token::Name(name) => Expression::Attribute(Box::new(value), name),
                    Token::Int(number) => Expression::Item(Box::new(value), Box::new(Expression::Int(number))),
                    _ => return Err(Error::template("expected name or number")),
                }
            } else if self.skip("[") {
                let mut parts = Vec::new();
                while !self.skip("]") {
                    if !parts.is_empty() {
                        self.expect(",")?;
                    }
                    parts.push(self.subscript()?);
                }
                let key = match parts.pop() {
                    Some(only) if parts.is_empty() => only,
                    last => {
                        parts.extend(last);
                        Expression::Tuple(parts)
                    }
                };
                Expression::Item(Box::new(value), Box::new(key))
            } else if self.is_operator("(") {
                Expression::Call(Box::new(value), self.arguments()?)
            } else {
                return Ok(value);
            };
        }
    }

    fn subscript(&mut self) -> Result<Expression> {
        let start = if self.is_operator(":") {
            None
        } else {
            Some(self.expression()?)
        };
        if !self.skip(":") {
            return start.ok_or_else(|| self.unexpected("an expression"));
        }
        let part = |parser: &mut Parser| -> Result<Option<Expression>> {
            let is_open = [":", "]", ","].into_iter().any(|end| parser.is_operator(end));
            if is_open {
                Ok(None)
            } else {
                parser.expression().map(Some)
            }
        };
        let stop = part(self)?;
        let step = if self.skip(":") { part(self)? } else { None };
        Ok(Expression::Slice(Box::new([start, stop, step])))
    }

    fn arguments(&mut self) -> Result<Arguments> {
        self.expect("(")?;
        let mut arguments = Arguments::default();
        let mut is_first = true;
        while !self.skip(")") {
            if !std::mem::take(&mut is_first) {
                self.expect(",")?;
                if self.skip(")") {
                    break;
                }
            }
            let is_open = arguments.stars.is_none();
            if is_open && arguments.star.is_none() && self.skip("*") {
                arguments.star = Some(Box::new(self.expression()?));
            } else if is_open && self.skip("**") {
                arguments.stars = Some(Box::new(self.expression()?));
            } else if matches!((self.peek(), self.ahead()), (Token::Name(_), Token::Operator("="))) && is_open {
                let name = self.expect_name()?;
                self.at += 1;
                arguments.keywords.push((name, self.expression()?));
            } else if is_open && arguments.star.is_none() && arguments.keywords.is_empty() {
                arguments.positional.push(self.expression()?);
            } else {
                return Err(Error::template("invalid syntax for function call expression"));
            }
        }
        Ok(arguments)
    }

    /// Filters upon a value; the first without its bar where a block's tag names it.
    pub(super) fn filters(&mut self, mut value: Expression, mut begins_with_name: bool) -> Result<Expression> {
        while std::mem::take(&mut begins_with_name) || self.skip("|") {
            let name = self.dotted_name()?;
            self.check_known(&name, true)?;
            let arguments = self.optional_arguments()?;
            value = Expression::Filter(Box::new(value), name, arguments);
        }
        Ok(value)
    }

    fn optional_arguments(&mut self) -> Result<Arguments> {
        if self.is_operator("(") {
            self.arguments()
        } else {
            Ok(Arguments::default())
        }
    }

    fn dotted_name(&mut self) -> Result<Name> {
        let mut name = self.expect_name()?;
        while self.skip(".") {
            name = format!("{name}.{}", self.expect_name()?).into();
        }
        Ok(name)
    }

    fn test(&mut self, value: Expression) -> Result<Expression> {
        let is_negated = self.skip_word("not");
        let name = self.dotted_name()?;
        let begins_value = match self.peek() {
            Token::Name(word) => !matches!(&**word, "else" | "or" | "and"),
            Token::Text(_) | Token::Int(_) | Token::Float(_) => true,
            Token::Operator(operator) => matches!(*operator, "[" | "{"),
            _ => false,
        };
        let arguments = if begins_value {
            if self.is_word("is") {
                return Err(Error::template("You cannot chain multiple tests with is"));
            }
            let argument = self.primary()?;
            Arguments {
                positional: vec![self.postfix(argument)?],
                ..Arguments::default()
            }
        } else {
            self.optional_arguments()?
        };
        self.check_known(&name, false)?;
        let test = Expression::Test(Box::new(value), name, arguments);
        Ok(if is_negated {
            Expression::Not(Box::new(test))
        } else {
            test
        })
    }
}
