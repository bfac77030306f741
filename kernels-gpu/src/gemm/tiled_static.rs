//! Tiles in static shared memory.
//!
//! The threads of a CTA need the same rows of A and columns of B. They load them together, a k-tile at a time, into
//! shared memory, and read each element from there `W` times. The body is [`tiled`].
//!
//! The arrays' size is part of the kernel's code (`.shared .b8 ...[N]` in PTX): known to `ptxas`, limited to 48 KiB,
//! and fixed for every launch. That is why each width is a kernel instance of its own.
//!
//! CTA: W x W threads. Shared memory: 2 W² elements, static.

use cuda_std::{kernel, shared_array};
use cuda_views::Shared;
use half::{bf16, f16};
use tilewright_contract::GemmParams;

use crate::block::operands::Operands;
use crate::gemm::tiled::{Fixed, Tiles, tiled};

macro_rules! entry_points {
    ($($symbol:ident: $element:ty, $width:literal;)*) => {
        $(
            #[doc = concat!("[`tiled`], ", stringify!($width), " wide, with elements of `", stringify!($element), "`.")]
            ///
            /// # Safety
            /// As for the body: operands as `params` describes them, grid and CTA of the kernel table.
            #[kernel]
            pub unsafe fn $symbol(#[grid_constant] params: &GemmParams<$element>) {
                const ELEMS: usize = $width * $width;
                // SAFETY: two arrays of so many elements.
                let tiles = unsafe {
                    Tiles {
                        a_s: Shared::new(shared_array![$element; ELEMS], ELEMS),
                        b_s: Shared::new(shared_array![$element; ELEMS], ELEMS),
                    }
                };
                // SAFETY: the tiles are W x W elements each; the rest is the caller's promise.
                unsafe { tiled::<$element, _, 1>(Operands::of_batch(params), tiles, Fixed::<$width>) }
            }
        )*
    };
}

tilewright_contract::tiled_static_kernels!(entry_points);
