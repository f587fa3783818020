//! Expressions, from the loosest binding to the tightest.

use super::Result;
use super::ast::{Arguments, Expression, Name};
use super::lexer::Token;
use super::parser::Parser;

type Operand = fn(&mut Parser) -> Result<Expression>;

impl Parser {
    pub(super) fn expression(&mut self) -> Result<Expression> {
        self.deeper(Parser::condition)
    }

    /// An expression, or several with commas: a tuple. It ends with its tag or a bracket.
    pub(super) fn tuple(&mut self, takes_conditions: bool) -> Result<Expression> {
        let mut items = Vec::new();
        let mut is_tuple = false;
        while !matches!(self.peek(), Token::VariableEnd | Token::BlockEnd) && !self.is_operator(")") {
            items.push(match takes_conditions {
                true => self.expression()?,
                false => self.deeper(Parser::or)?,
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
            value = self.conditional(true, |parser| {
                let test = parser.or()?;
                let otherwise = match parser.skip_word("else") {
                    true => Some(parser.deeper(Parser::condition)?),
                    false => None,
                };
                Ok(Expression::If(Box::new((test, value, otherwise))))
            })?;
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
            let is_in = |token: &Token| matches!(token, Token::Name(name) if &**name == "in");
            let operator = match self.peek() {
                Token::Operator(operator @ ("==" | "!=" | "<" | "<=" | ">" | ">=")) => *operator,
                token if is_in(token) => "in",
                _ if self.is_word("not") && is_in(self.ahead()) => "not in",
                _ if rest.is_empty() => return Ok(left),
                _ => return Ok(Expression::Compare(Box::new(left), rest)),
            };
            self.at += operator.split(' ').count();
            rest.push((operator, self.sum()?));
        }
    }

    fn chain(&mut self, operators: &[&str], operand: Operand) -> Result<Expression> {
        let mut left = operand(self)?;
        while let Token::Operator(operator) = *self.peek()
            && operators.contains(&operator)
        {
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
        let value = match self.peek() {
            Token::Operator("-") => {
                self.at += 1;
                Expression::Negative(Box::new(self.deeper(|parser| parser.unary(false))?))
            }
            Token::Operator("+") => return unknown!("a plus sign before a value"),
            _ => self.primary()?,
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
                    self.names.push(name.clone());
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
                let inner = self.deeper(|parser| parser.tuple(true))?;
                self.expect(")")?;
                inner
            }
            Token::Operator("[") => Expression::List(self.items("]", |parser, _| parser.expression())?),
            Token::Operator("{") => Expression::Dict(self.items("}", |parser, _| {
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
    pub(super) fn items<T>(
        &mut self,
        closing: &str,
        item: impl Fn(&mut Parser, &Vec<T>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut items = Vec::new();
        while !self.skip(closing) {
            if !items.is_empty() {
                self.expect(",")?;
                if self.skip(closing) {
                    break;
                }
            }
            items.push(item(self, &items)?);
        }
        Ok(items)
    }

    fn postfix(&mut self, mut value: Expression) -> Result<Expression> {
        loop {
            value = if self.skip(".") {
                match self.advance() {
                    Token::Name(name) => Expression::Attribute(Box::new(value), name),
                    Token::Int(number) => Expression::Item(Box::new(value), Box::new(Expression::Int(number))),
                    _ => return template!("expected name or number"),
                }
            } else if self.skip("[") {
                self.subscript(value)?
            } else if self.is_operator("(") {
                Expression::Call(Box::new(value), self.arguments()?)
            } else {
                return Ok(value);
            };
        }
    }

    /// `key]` or `start:stop:step]`.
    fn subscript(&mut self, of: Expression) -> Result<Expression> {
        let mut bounds = [const { None }; 3];
        let mut at = 0;
        loop {
            if self.is_operator(",") {
                return unknown!("several keys in brackets");
            }
            if self.skip("]") {
                break;
            }
            if self.skip(":") {
                at += 1;
            } else if at < 3 && bounds[at].is_none() {
                bounds[at] = Some(self.expression()?);
            } else {
                return Err(self.unexpected("]"));
            }
        }
        match (at, bounds) {
            (0, [Some(key), ..]) => Ok(Expression::Item(Box::new(of), Box::new(key))),
            (1 | 2, bounds) => Ok(Expression::Slice(Box::new(of), Box::new(bounds))),
            _ => Err(self.unexpected("an expression")),
        }
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
            } else if is_open && matches!((self.peek(), self.ahead()), (Token::Name(_), Token::Operator("="))) {
                let name = self.expect_name()?;
                self.at += 1;
                arguments.keywords.push((name, self.expression()?));
            } else if is_open && arguments.star.is_none() && arguments.keywords.is_empty() {
                arguments.positional.push(self.expression()?);
            } else {
                return template!("invalid syntax for function call expression");
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
        match self.is_operator("(") {
            true => self.arguments(),
            false => Ok(Arguments::default()),
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
                return template!("You cannot chain multiple tests with is");
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
        Ok(match is_negated {
            true => Expression::Not(Box::new(test)),
            false => test,
        })
    }
}
