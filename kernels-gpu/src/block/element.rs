//! Element types of A, B and C, and their accumulators.

use core::ops::{Add, Mul};

use bytemuck::Pod;
use half::{bf16, f16};

use crate::ptx::convert;
use crate::ptx::mma::MmaElement;

/// An accumulator: f32, or f64 for f64 elements.
pub trait Accumulator: Pod + Add<Output = Self> + Mul<Output = Self> {
    /// Zero.
    const ZERO: Self;
}

impl Accumulator for f32 {
    const ZERO: Self = 0.0;
}

impl Accumulator for f64 {
    const ZERO: Self = 0.0;
}

/// An element of A, B or C. The accumulator is [`DType::accumulator`](tilewright_contract::DType::accumulator)'s type.
pub trait Element: Pod {
    /// The accumulator.
    type Acc: Accumulator;
    /// Zero fill of a tile outside the matrix.
    const ZERO: Self;
    /// Exact conversion to the accumulator.
    fn widen(self) -> Self::Acc;
    /// Conversion from the accumulator, to nearest, ties to even.
    fn narrow(acc: Self::Acc) -> Self;
}

/// An element of C that an f32 accumulator is converted to.
pub trait Narrowed: Element<Acc = f32> {
    /// Converts two neighbors, each to nearest, ties to even.
    fn narrow_pair(acc: [f32; 2]) -> [Self; 2];
}

impl Narrowed for f32 {
    #[inline(always)]
    fn narrow_pair(acc: [f32; 2]) -> [Self; 2] {
        acc
    }
}

impl Narrowed for f16 {
    #[inline(always)]
    fn narrow_pair(acc: [f32; 2]) -> [Self; 2] {
        convert::f32_to_f16x2(acc)
    }
}

impl Narrowed for bf16 {
    #[inline(always)]
    fn narrow_pair(acc: [f32; 2]) -> [Self; 2] {
        convert::f32_to_bf16x2(acc)
    }
}

/// An element of A and B of the tensor-core kernels: f16 or bf16.
pub trait TensorElement: Narrowed + MmaElement {}

impl TensorElement for f16 {}
impl TensorElement for bf16 {}

/// A type that is its own accumulator.
macro_rules! own_accumulator {
    ($float:ty) => {
        impl Element for $float {
            type Acc = $float;
            const ZERO: Self = 0.0;

            #[inline(always)]
            fn widen(self) -> $float {
                self
            }

            #[inline(always)]
            fn narrow(acc: $float) -> Self {
                acc
            }
        }
    };
}

own_accumulator!(f32);
own_accumulator!(f64);

impl Element for f16 {
    type Acc = f32;
    const ZERO: Self = f16::from_bits(0);

    #[inline(always)]
    fn widen(self) -> f32 {
        convert::f16_to_f32(self)
    }

    #[inline(always)]
    fn narrow(acc: f32) -> Self {
        convert::f32_to_f16(acc)
    }
}

impl Element for bf16 {
    type Acc = f32;
    const ZERO: Self = bf16::from_bits(0);

    // bfloat16 is the upper half of binary32. half's own conversion also quietens NaNs, which costs a branch an
    // element.
    #[inline(always)]
    fn widen(self) -> f32 {
        f32::from_bits(u32::from(self.to_bits()) << 16)
    }

    #[inline(always)]
    fn narrow(acc: f32) -> Self {
        bf16::from_f32(acc)
    }
}
