//! A template's tree.

use std::sync::Arc;

/// A text that is cheap to share.
pub(super) type Name = Arc<str>;

#[derive(Debug)]
pub(super) enum Expression {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Name),
    Name(Name),
    /// What a block rendered, on its way through the block's filters.
    Block,
    List(Vec<Expression>),
    Tuple(Vec<Expression>),
    Dict(Vec<(Expression, Expression)>),
    Attribute(Box<Expression>, Name),
    Item(Box<Expression>, Box<Expression>),
    /// Of what, then start, stop, step.
    Slice(Box<Expression>, Box<[Option<Expression>; 3]>),
    Call(Box<Expression>, Arguments),
    Filter(Box<Expression>, Name, Arguments),
    Test(Box<Expression>, Name, Arguments),
    Not(Box<Expression>),
    Negative(Box<Expression>),
    Binary(&'static str, Box<(Expression, Expression)>),
    Concat(Vec<Expression>),
    Compare(Box<Expression>, Vec<(&'static str, Expression)>),
    And(Box<(Expression, Expression)>),
    Or(Box<(Expression, Expression)>),
    /// Test, then, else.
    If(Box<(Expression, Expression, Option<Expression>)>),
}

#[derive(Debug, Default)]
pub(super) struct Arguments {
    pub positional: Vec<Expression>,
    pub keywords: Vec<(Name, Expression)>,
    pub star: Option<Box<Expression>>,
    pub stars: Option<Box<Expression>>,
}

#[derive(Debug)]
pub(super) enum Target {
    Name(Name),
    Tuple(Vec<Target>),
    /// An attribute of a namespace.
    Attribute(Name, Name),
}

#[derive(Debug)]
pub(super) enum Statement {
    Text(Name),
    Print(Expression),
    Set(Target, Expression),
    /// Target, filters around [`Expression::Block`], body.
    SetBlock(Target, Expression, Vec<Statement>),
    For(Arc<For>),
    /// Tests with their bodies, and what is done otherwise.
    If(Vec<(Expression, Vec<Statement>)>, Vec<Statement>),
    With(Vec<(Target, Expression)>, Vec<Statement>),
    Macro(Arc<Macro>),
    /// A call that is given its body as `caller`.
    Call(Arc<Macro>, Expression),
    Filter(Expression, Vec<Statement>),
    /// `{% generation %}`: names set inside stay inside.
    Scope(Vec<Statement>),
    Break,
    Continue,
}

#[derive(Debug)]
pub(super) struct For {
    pub target: Target,
    pub over: Expression,
    pub test: Option<Expression>,
    pub body: Vec<Statement>,
    pub otherwise: Vec<Statement>,
}

#[derive(Debug)]
pub(super) struct Macro {
    pub name: Name,
    /// With their defaults.
    pub parameters: Vec<(Name, Option<Expression>)>,
    pub body: Vec<Statement>,
    /// Whether the body speaks of `caller`, `kwargs`, `varargs`.
    pub takes: [bool; 3],
}
