//! Element types.

use core::fmt;
use core::str::FromStr;

/// The type of the elements of A, B and C.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DType {
    /// IEEE 754 binary32, accumulated in f32.
    F32,
    /// IEEE 754 binary64, accumulated in f64.
    F64,
    /// IEEE 754 binary16, accumulated in f32.
    F16,
    /// bfloat16 (8-bit exponent, 8-bit significand), accumulated in f32.
    Bf16,
}

impl DType {
    /// Every element type, in the order of the variant table.
    pub const ALL: [DType; 4] = [DType::F32, DType::F64, DType::F16, DType::Bf16];

    /// Bytes of one element, in memory and in shared memory.
    pub const fn size_bytes(self) -> u32 {
        match self {
            DType::F64 => 8,
            DType::F32 => 4,
            DType::F16 | DType::Bf16 => 2,
        }
    }

    /// The name in kernel symbols, on the command line and in reports: `f32`, `f64`, `f16` or `bf16`.
    pub const fn name(self) -> &'static str {
        match self {
            DType::F32 => "f32",
            DType::F64 => "f64",
            DType::F16 => "f16",
            DType::Bf16 => "bf16",
        }
    }

    /// The type that products are summed in.
    pub const fn accumulator(self) -> DType {
        match self {
            DType::F64 => DType::F64,
            DType::F32 | DType::F16 | DType::Bf16 => DType::F32,
        }
    }

    /// Bits of the significand, the hidden one included: the unit roundoff is 2^-bits.
    pub const fn significand_bits(self) -> u32 {
        match self {
            DType::F64 => 53,
            DType::F32 => 24,
            DType::F16 => 11,
            DType::Bf16 => 8,
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for DType {
    type Err = &'static str;

    /// Reads a [`DType::name`].
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        DType::ALL
            .into_iter()
            .find(|dtype| dtype.name() == name)
            .ok_or("unknown element type; known: f32, f64, f16, bf16")
    }
}
