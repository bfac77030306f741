//! How products of f32 are computed.

use core::fmt;
use core::str::FromStr;

/// The arithmetic of products of f32, the least precise first: a policy that allows one allows those after it.
///
/// Other types have one arithmetic each, that of [`Ieee`](Self::Ieee).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Precision {
    /// f32 from tensor cores that round each element to tf32: 11 significant bits, the exponents of f32.
    /// Accumulators are f32. There is no kernel of it for A transposed and B not.
    Tf32,
    /// f32 from tensor cores: each element is the sum of three bf16, and a product that of the six pairs of parts that
    /// matter (the others are below 2^-26 of it). Accumulators are f32. Errors are those of f32; what differs is the
    /// range: an infinity becomes NaN, and of numbers below 2^-110 the last bits are lost.
    EmulatedF32,
    /// `fma` of f32.
    #[default]
    Ieee,
}

impl Precision {
    /// Every precision, the least precise first.
    pub const ALL: [Self; 3] = [Self::Tf32, Self::EmulatedF32, Self::Ieee];

    /// The name on the command line and in reports: `tf32`, `emulated-f32` or `ieee`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tf32 => "tf32",
            Self::EmulatedF32 => "emulated-f32",
            Self::Ieee => "ieee",
        }
    }

    /// Roundings of a sum of `k` products besides the `k` of plain f32, at most, each of 2^-24 of the sum of the
    /// terms' magnitudes. Tensor cores truncate, which counts twice; what they add up at once is one k-tile.
    pub const fn more_roundings(self) -> u32 {
        match self {
            // A rounding is up to 2^-10 of an element where hardware truncates, half of that where it rounds to
            // nearest; two elements make a product. The last term is what tensor cores lose when they add.
            Self::Tf32 => (2 << 14) + 16,
            Self::EmulatedF32 => 16,
            Self::Ieee => 0,
        }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Precision {
    type Err = &'static str;

    /// Reads a [`Precision::name`].
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|precision| precision.name() == name)
            .ok_or("unknown precision; known: ieee, emulated-f32, tf32")
    }
}
