//! What can go wrong: text that is no PTX, and launches that fail.

use std::fmt;

use crate::types::Space;

/// A text that could not be read as PTX.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The line in the text, counted from 1.
    pub line: u32,
    /// What is wrong there.
    pub message: String,
}

impl ParseError {
    pub(crate) fn new(line: u32, message: impl Into<String>) -> Self {
        Self {
            line,
            message: message.into(),
        }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for ParseError {}

/// Why a launch failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// An access outside of every allocation, or to another thread's window.
    OutOfBounds {
        /// The address as the instruction named it.
        address: u64,
        /// The space that it named.
        space: Space,
        /// The bytes of the access.
        bytes: usize,
    },
    /// An access whose address is no multiple of its size.
    Misaligned {
        /// The address as the instruction named it.
        address: u64,
        /// The space that it named.
        space: Space,
        /// The bytes of the access.
        bytes: usize,
    },
    /// A write to constant memory or to the parameters of a kernel.
    ReadOnly {
        /// The address as the instruction named it.
        address: u64,
        /// The space that it named.
        space: Space,
    },
    /// `trap` or `brkpt`.
    Trap,
    /// `__assertfail` was called.
    Assertion {
        /// The assertion's text.
        message: String,
        /// The source file.
        file: String,
        /// The source line.
        line: u32,
        /// The source function.
        function: String,
    },
    /// The launch took as many steps as [`Launch::max_steps`](crate::Launch::max_steps) allows.
    StepLimit,
    /// All threads wait, and none of what they wait for can happen; or a thread waits for lanes of its warp without
    /// being one of them.
    Deadlock(String),
    /// An instruction that the interpreter does not know, or not with these modifiers.
    Unsupported(String),
    /// A call of a function without a body that the interpreter does not provide.
    UnknownExtern(String),
    /// An indirect call of something that is no function.
    NoFunction(u64),
    /// A local memory of [`Launch::local_bytes`](crate::Launch::local_bytes) is not enough.
    StackOverflow,
    /// The launch itself is wrong: no such kernel, or other parameters than it takes.
    Launch(String),
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfBounds { address, space, bytes } => {
                write!(
                    f,
                    "access of {bytes} bytes out of bounds at {address:#x} in {space} memory"
                )
            }
            Self::Misaligned { address, space, bytes } => {
                write!(
                    f,
                    "misaligned access of {bytes} bytes at {address:#x} in {space} memory"
                )
            }
            Self::ReadOnly { address, space } => {
                write!(f, "write to read-only memory at {address:#x} in {space} memory")
            }
            Self::Trap => f.write_str("trap"),
            Self::Assertion {
                message,
                file,
                line,
                function,
            } => write!(f, "assertion failed: {message}, {file}:{line}, in {function}"),
            Self::StepLimit => f.write_str("step limit reached"),
            Self::Deadlock(what) => write!(f, "deadlock: {what}"),
            Self::Unsupported(text) => write!(f, "unsupported instruction: {text}"),
            Self::UnknownExtern(name) => write!(f, "call of the unknown extern function {name}"),
            Self::NoFunction(address) => write!(f, "call of {address:#x}, which is no function"),
            Self::StackOverflow => f.write_str("stack overflow"),
            Self::Launch(what) => f.write_str(what),
        }
    }
}

/// Where a launch failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The line in the PTX text, counted from 1.
    pub line: u32,
    /// The function's name in the PTX.
    pub function: String,
    /// The CTA.
    pub block: [u32; 3],
    /// The thread in its CTA.
    pub thread: [u32; 3],
}

/// A launch that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What happened.
    pub kind: FaultKind,
    /// Where; none for a launch that did not start.
    pub place: Option<Box<Place>>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.kind)?;
        let Some(place) = &self.place else { return Ok(()) };
        let ([bx, by, bz], [x, y, z]) = (place.block, place.thread);
        write!(f, " (PTX line {}, function {}, ", place.line, place.function)?;
        write!(f, "block {bx},{by},{bz}, thread {x},{y},{z})")
    }
}

impl std::error::Error for Fault {}
