//! Element types of A, B and C, and the types their products are summed in.

use core::ops::{Add, Mul};

use bytemuck::Pod;
use half::{bf16, f16};

use crate::ptx::convert;

/// A sum of products: f32, or f64 for f64 elements.
pub trait Sum: Copy + Add<Output = Self> + Mul<Output = Self> {
    /// The empty sum.
    const ZERO: Self;
}

impl Sum for f32 {
    const ZERO: Self = 0.0;
}

impl Sum for f64 {
    const ZERO: Self = 0.0;
}

/// An element of A, B or C. The accumulator is [`DType::accumulator`](tilewright_contract::DType::accumulator)'s type.
pub trait Element: Pod {
    /// The accumulator.
    type Sum: Sum;
    /// Zero: what stands in a tile outside the matrix.
    const ZERO: Self;
    /// Exact conversion to the accumulator.
    fn widen(self) -> Self::Sum;
    /// Conversion from the accumulator, to nearest, ties to even.
    fn narrow(sum: Self::Sum) -> Self;
}

/// An element of C that sums in f32 become.
pub trait Narrowed: Element<Sum = f32> {
    /// Two neighbours, each to nearest, ties to even.
    fn narrow_pair(sums: [f32; 2]) -> [Self; 2];
}

impl Narrowed for f32 {
    #[inline(always)]
    fn narrow_pair(sums: [f32; 2]) -> [Self; 2] {
        sums
    }
}

impl Narrowed for f16 {
    #[inline(always)]
    fn narrow_pair(sums: [f32; 2]) -> [Self; 2] {
        convert::f32_to_f16x2(sums)
    }
}

impl Narrowed for bf16 {
    #[inline(always)]
    fn narrow_pair(sums: [f32; 2]) -> [Self; 2] {
        convert::f32_to_bf16x2(sums)
    }
}

/// A type that is its own accumulator.
macro_rules! own_sum {
    ($float:ty) => {
        impl Element for $float {
            type Sum = $float;
            const ZERO: Self = 0.0;

            #[inline(always)]
            fn widen(self) -> $float {
                self
            }

            #[inline(always)]
            fn narrow(sum: $float) -> Self {
                sum
            }
        }
    };
}

own_sum!(f32);
own_sum!(f64);

impl Element for f16 {
    type Sum = f32;
    const ZERO: Self = f16::from_bits(0);

    #[inline(always)]
    fn widen(self) -> f32 {
        convert::f16_to_f32(self)
    }

    #[inline(always)]
    fn narrow(sum: f32) -> Self {
        convert::f32_to_f16(sum)
    }
}

impl Element for bf16 {
    type Sum = f32;
    const ZERO: Self = bf16::from_bits(0);

    // bfloat16 is the upper half of binary32. half's own conversion also quietens NaNs, which costs a branch an
    // element.
    #[inline(always)]
    fn widen(self) -> f32 {
        f32::from_bits(u32::from(self.to_bits()) << 16)
    }

    #[inline(always)]
    fn narrow(sum: f32) -> Self {
        bf16::from_f32(sum)
    }
}
