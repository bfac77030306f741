//! Tiles in dynamic shared memory.
//!
//! The width is not in the code. The launch chooses the size of the one allocation, which the kernel divides into both
//! tiles:
//!
//! ```text
//! A_s = base                      a_part bytes
//! B_s = base + a_part             b_part bytes
//! ```
//!
//! The sizes of the parts arrive as arguments, as in the slides, but as [`Bytes`]: the slides hand over a byte count
//! and add it to a `float *`, which lands four times too far.
//!
//! The launch chooses any width from 1 to 128. Up to 32 a thread computes one element; for wider tiles 4 x 4 or 8 x 8,
//! one kernel instance each, since accumulators are in registers, whose number is fixed at compile time. Only dynamic
//! shared memory exceeds the default limit of 48 KiB: a width of 128 takes 128 KiB in f32.
//!
//! CTA: ceil(W / R)² threads, R the elements of C per thread and side. Shared memory:
//! [`TilePair::total`](tilewright_contract::TilePair::total), dynamic.

use cuda_std::{kernel, shared};
use cuda_views::Shared;
use half::{bf16, f16};
use tilewright_contract::{Bytes, GemmParams};

use crate::block::element::Element;
use crate::block::operands::Operands;
use crate::gemm::tiled::{Fixed, Runtime, Tiles, Width, tiled};
use crate::ptx::optimization_barrier;

/// The two tiles, `width` wide, in the CTA's dynamic shared memory.
///
/// # Safety
/// The allocation holds `a_part` and as many bytes more as a tile has; `a_part` is a multiple of `E`'s alignment.
#[inline(always)]
unsafe fn carve<E: Element>(a_part: Bytes, width: impl Width) -> Tiles<E> {
    let elems = || width.get() as usize * width.get() as usize;
    let base = shared::dynamic_shared_mem::<u8>();
    // The allocation is aligned to 128 bytes or more, a static array only as its elements are. The optimization barrier
    // hides that from LLVM, which then loads from both in the same way: the two families differ in the source of the
    // memory alone. (Otherwise it loads 16 bytes of A_s at once, of which ptxas makes 7 % slower code on an H200.)
    // SAFETY: inside the allocation, by the caller's promise. A byte offset is added to a byte pointer.
    unsafe {
        Tiles {
            a_s: Shared::new_with(base.add(optimization_barrier::zero() as usize).cast(), elems),
            b_s: Shared::new_with(base.add(a_part.get() as usize).cast(), elems),
        }
    }
}

macro_rules! entry_points {
    ($($symbol:ident: $element:ty, $outputs:literal, $kind:ident $($width:literal)?;)*) => {
        $(
            #[doc = concat!("[`tiled`], ", stringify!($outputs), " elements of C per thread and side.")]
            ///
            /// # Safety
            /// As for the body: operands as `params` describes them, grid and CTA of the kernel table, dynamic
            /// shared memory as `params` lays it out.
            #[kernel]
            pub unsafe fn $symbol(#[grid_constant] params: &GemmParams<$element>) {
                let width = entry_points!(@width params.tile_width, $kind $($width)?);
                // SAFETY: the parts are multiples of 16 bytes and are inside the allocation; the rest is the caller's
                // promise.
                unsafe {
                    tiled::<$element, _, $outputs>(Operands::of_batch(params), carve(params.a_part, width), width)
                }
            }
        )*
    };
    (@width $given:expr, Fixed $width:literal) => { Fixed::<$width> };
    (@width $given:expr, Runtime) => { Runtime($given) };
}

tilewright_contract::tiled_dynamic_kernels!(entry_points);
