//! The types, state spaces and modifiers of PTX.

/// How the bits of a value are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Bits,
    Unsigned,
    Signed,
    Float,
    Brain,
    Predicate,
}

/// An operand type. `packed` marks the types of two 16-bit halves (`f16x2`, `bf16x2`, `u16x2`, `s16x2`), whose `bits`
/// is 16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Type {
    pub kind: Kind,
    pub bits: u8,
    pub packed: bool,
}

impl Type {
    pub const fn new(kind: Kind, bits: u8) -> Self {
        Self {
            kind,
            bits,
            packed: false,
        }
    }

    /// Reads a type's name without its leading dot.
    pub fn parse(name: &str) -> Option<Self> {
        let packed = |kind| Self {
            kind,
            bits: 16,
            packed: true,
        };
        Some(match name {
            "pred" => Self::new(Kind::Predicate, 1),
            "bf16" => Self::new(Kind::Brain, 16),
            "f16x2" => packed(Kind::Float),
            "bf16x2" => packed(Kind::Brain),
            "u16x2" => packed(Kind::Unsigned),
            "s16x2" => packed(Kind::Signed),
            _ => {
                let (kind, bits) = name.split_at_checked(1)?;
                let kind = match kind {
                    "b" => Kind::Bits,
                    "u" => Kind::Unsigned,
                    "s" => Kind::Signed,
                    "f" => Kind::Float,
                    _ => return None,
                };
                let bits = match bits {
                    "8" => 8,
                    "16" => 16,
                    "32" => 32,
                    "64" => 64,
                    "128" => 128,
                    _ => return None,
                };
                Self::new(kind, bits)
            }
        })
    }

    pub fn is_float(self) -> bool {
        matches!(self.kind, Kind::Float | Kind::Brain)
    }

    pub fn is_signed(self) -> bool {
        self.kind == Kind::Signed
    }

    /// The bytes that a value takes in memory.
    pub fn bytes(self) -> usize {
        let bits = usize::from(self.bits) * if self.packed { 2 } else { 1 };
        bits.div_ceil(8)
    }

    /// As [`Self::extend`], for a value without bits above its own.
    #[inline(always)]
    pub fn extend_loaded(self, value: u64) -> u64 {
        if self.is_signed() { self.extend(value) } else { value }
    }

    /// Zero- or sign-extends the low bits of `value` to 64.
    #[inline(always)]
    pub fn extend(self, value: u64) -> u64 {
        let unused = 64 - u32::from(self.bits.min(64));
        match self.kind {
            Kind::Signed => (((value << unused) as i64) >> unused) as u64,
            _ => (value << unused) >> unused,
        }
    }
}

/// A state space. `Frame` is the part of local memory that belongs to one call of a device function: its parameters,
/// its return value and what it passes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// The generic address space.
    Generic,
    /// `.global`
    Global,
    /// `.shared`
    Shared,
    /// `.local`
    Local,
    /// `.const`
    Constant,
    /// `.param` of a kernel.
    Param,
    /// `.param` of a device function, in local memory.
    Frame,
}

impl std::fmt::Display for Space {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Generic => "generic",
            Self::Global => "global",
            Self::Shared => "shared",
            Self::Local => "local",
            Self::Constant => "constant",
            Self::Param => "parameter",
            Self::Frame => "call parameter",
        })
    }
}

/// The rounding of a floating-point result, or of a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    Nearest,
    NearestAway,
    Zero,
    Down,
    Up,
}

/// The comparisons of `setp`. The last four and `Number`, `Nan` are for floating point: true where an operand is NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compare {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Equ,
    Neu,
    Ltu,
    Leu,
    Gtu,
    Geu,
    Number,
    Nan,
}

/// What `setp` does with the comparison's result and its predicate operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Combine {
    None,
    And,
    Or,
    Xor,
}

impl Combine {
    #[inline(always)]
    pub fn apply(self, compared: bool, other: bool) -> bool {
        match self {
            Self::None => compared,
            Self::And => compared && other,
            Self::Or => compared || other,
            Self::Xor => compared != other,
        }
    }
}
