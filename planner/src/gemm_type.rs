//! The element types of a product, and what they take in memory.

use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize};

/// The types of A and B in `C = A · B`. Accumulators are f64 for [`GemmType::F64`], s32 for [`GemmType::Int8`] and f32
/// for the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GemmType {
    /// IEEE 754 binary64.
    F64,
    /// IEEE 754 binary32, multiplied as such.
    F32,
    /// f32 in memory, multiplied by tensor cores with 10 bits of fraction.
    Tf32,
    /// IEEE 754 binary16.
    F16,
    /// bfloat16.
    Bf16,
    /// 8-bit float, 4 bits of exponent.
    E4m3,
    /// 8-bit float, 5 bits of exponent.
    E5m2,
    /// 8-bit integer.
    Int8,
    /// e4m3 in blocks of 32 with a UE8M0 scale each (OCP MX).
    Mxfp8,
    /// e2m1 in blocks of 32 with a UE8M0 scale each (OCP MX).
    Mxfp4,
    /// e2m1 in blocks of 16 with a UE4M3 scale each; the one f32 scale of the whole tensor is no matter of shared
    /// memory.
    Nvfp4,
    /// A is [`GemmType::Mxfp8`], B is [`GemmType::Mxfp4`]: the instruction kind `mxf8f6f4`.
    Mxfp8xMxfp4,
}

/// Scales that belong to blocks of elements along K.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct BlockScale {
    /// Elements that share a scale.
    pub elements: u32,
    /// Bytes of a scale.
    pub bytes: u32,
}

/// One row: everything that planning asks of a type.
struct Row {
    ty: GemmType,
    name: &'static str,
    /// Bits of an element of A and of B in global memory.
    stored_bits: [u32; 2],
    /// Bits of an element of A and of B where an instruction reads them out of shared memory.
    staged_bits: [u32; 2],
    scale: Option<BlockScale>,
    accumulator_bytes: u32,
    /// Bytes of an element of C, where nobody says otherwise.
    output_bytes: u32,
}

const fn plain(ty: GemmType, name: &'static str, bits: u32, output_bytes: u32) -> Row {
    Row {
        ty,
        name,
        stored_bits: [bits; 2],
        staged_bits: [bits; 2],
        scale: None,
        accumulator_bytes: if bits == 64 { 8 } else { 4 },
        output_bytes,
    }
}

const fn scaled(ty: GemmType, name: &'static str, bits: u32, elements: u32) -> Row {
    Row {
        scale: Some(BlockScale { elements, bytes: 1 }),
        ..plain(ty, name, bits, 2)
    }
}

static ROWS: [Row; 12] = [
    plain(GemmType::F64, "f64", 64, 8),
    plain(GemmType::F32, "f32", 32, 4),
    plain(GemmType::Tf32, "tf32", 32, 4),
    plain(GemmType::F16, "f16", 16, 2),
    plain(GemmType::Bf16, "bf16", 16, 2),
    plain(GemmType::E4m3, "e4m3", 8, 2),
    plain(GemmType::E5m2, "e5m2", 8, 2),
    plain(GemmType::Int8, "int8", 8, 4),
    scaled(GemmType::Mxfp8, "mxfp8", 8, 32),
    scaled(GemmType::Mxfp4, "mxfp4", 4, 32),
    scaled(GemmType::Nvfp4, "nvfp4", 4, 16),
    Row {
        stored_bits: [8, 4],
        // The kind mxf8f6f4 reads 4-bit elements padded to a byte: PTX ISA, tcgen05 and mma "sub-byte element types";
        // CUTLASS's SmemAllocType for it is uint8_t.
        staged_bits: [8, 8],
        ..scaled(GemmType::Mxfp8xMxfp4, "mxfp8xmxfp4", 8, 32)
    },
];

impl GemmType {
    /// Every type, widest first.
    pub fn all() -> impl Iterator<Item = GemmType> {
        ROWS.iter().map(|row| row.ty)
    }

    fn row(self) -> &'static Row {
        // Declared in the rows' order; a test holds it.
        &ROWS[self as usize]
    }

    /// The name on the command line and in reports.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Bits of an element of A and of B in global memory.
    pub fn stored_bits(self) -> [u32; 2] {
        self.row().stored_bits
    }

    /// Bits of an element of A and of B in shared memory, as the instruction that takes this type reads them.
    pub fn staged_bits(self) -> [u32; 2] {
        self.row().staged_bits
    }

    /// The blocks that share a scale, for the types that have scales.
    pub fn scale(self) -> Option<BlockScale> {
        self.row().scale
    }

    /// Bytes of an accumulator.
    pub fn accumulator_bytes(self) -> u32 {
        self.row().accumulator_bytes
    }

    /// Bytes of an element of C, where nobody says otherwise: 2 for the types of 16 bits and less, s32 for int8.
    pub fn output_bytes(self) -> u32 {
        self.row().output_bytes
    }

    /// The type that tensor cores multiply after a narrow float was widened in registers; `None` for a type that cannot
    /// be widened without changing the result.
    pub fn widened(self) -> Option<GemmType> {
        match self {
            GemmType::E4m3
            | GemmType::E5m2
            | GemmType::Mxfp8
            | GemmType::Mxfp4
            | GemmType::Nvfp4
            | GemmType::Mxfp8xMxfp4 => Some(GemmType::F16),
            _ => None,
        }
    }
}

impl fmt::Display for GemmType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for GemmType {
    type Err = &'static str;

    /// Reads a [`GemmType::name`].
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        GemmType::all().find(|ty| ty.name() == name).ok_or(
            "unknown element type; known: f64, f32, tf32, f16, bf16, e4m3, e5m2, int8, mxfp8, mxfp4, nvfp4, \
             mxfp8xmxfp4",
        )
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::string::ToString;

    use super::*;

    #[test]
    fn rows_stand_in_the_order_of_the_variants() {
        for (i, row) in ROWS.iter().enumerate() {
            assert_eq!(row.ty as usize, i);
            assert_eq!(row.name.parse(), Ok(row.ty));
            assert_eq!(
                serde_json::to_string(&row.ty).expect("plain"),
                std::format!("\"{}\"", row.name)
            );
        }
        let message = "f12".parse::<GemmType>().expect_err("no such type").to_string();
        assert!(GemmType::all().all(|ty| message.contains(ty.name())));
    }
}
