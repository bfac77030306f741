//! What the parser hands to the decoder: the text's structure, names not resolved yet.

use crate::lexer::Literal;
use crate::memory::SharedWindow;
use crate::types::Type;

/// An operand of an instruction.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand<'a> {
    /// A register, symbol or label, with an offset to add.
    Name(&'a str, i64),
    Literal(Literal),
    /// `!%p`
    Not(&'a str),
    /// `[base]`, `[base+offset]`; more than one part in instructions that are not covered.
    Address(Vec<Operand<'a>>),
    /// `{a, b}`
    List(Vec<Operand<'a>>),
    /// `(a, b)`
    Group(Vec<Operand<'a>>),
    /// `a|b`
    Pair(&'a str, &'a str),
}

/// An instruction with its guard: a predicate, and whether it is negated.
#[derive(Clone, Debug)]
pub(crate) struct Instruction<'a> {
    pub line: u32,
    pub guard: Option<(&'a str, bool)>,
    pub opcode: &'a str,
    pub operands: Vec<Operand<'a>>,
}

/// One statement of a body.
#[derive(Clone, Debug)]
pub(crate) enum Statement<'a> {
    /// `.reg .b32 %r<5>`: with a count, the names `%r0` to `%r4`.
    Register {
        ty: Type,
        name: &'a str,
        count: Option<u32>,
    },
    Variable(Variable<'a>),
    Label(&'a str),
    /// A label of `.branchtargets`.
    Targets(&'a str, Vec<&'a str>),
    Instruction(Instruction<'a>),
    Open,
    Close,
}

/// A part of a variable's initialiser.
#[derive(Clone, Debug)]
pub(crate) struct Initial<'a> {
    pub value: InitialValue<'a>,
    /// Keeps these bits of the value only, shifted down: `0xFF00(generic(x))`.
    pub mask: u64,
}

#[derive(Clone, Debug)]
pub(crate) enum InitialValue<'a> {
    Literal(Literal),
    Symbol { name: &'a str, generic: bool, offset: i64 },
}

/// A variable, also a parameter.
#[derive(Clone, Debug)]
pub(crate) struct Variable<'a> {
    pub line: u32,
    pub external: bool,
    /// The directive of its space, such as `.global`.
    pub space: &'a str,
    pub align: u64,
    pub ty: Type,
    pub name: &'a str,
    pub bytes: u64,
    pub initial: Vec<Initial<'a>>,
}

/// A function or kernel; one without a body is a declaration.
#[derive(Clone, Debug)]
pub(crate) struct Function<'a> {
    pub name: &'a str,
    pub kernel: bool,
    pub returns: Vec<Variable<'a>>,
    pub parameters: Vec<Variable<'a>>,
    pub body: Option<Vec<Statement<'a>>>,
}

/// A whole text.
#[derive(Debug, Default)]
pub(crate) struct File<'a> {
    /// What `.target` says of it.
    pub window: Option<SharedWindow>,
    pub variables: Vec<Variable<'a>>,
    pub functions: Vec<Function<'a>>,
    /// `.alias a, b`
    pub aliases: Vec<(&'a str, &'a str)>,
}
