//! Tiles in dynamic shared memory.
//!
//! The width is not in the code. The launch asks for so many bytes of shared memory, the kernel
//! gets one pointer to them, and carves both tiles out of it:
//!
//! ```text
//! A_s = base                      a_part bytes
//! B_s = base + a_part             b_part bytes
//! ```
//!
//! The sizes of the parts arrive as arguments, as in the slides, but as [`Bytes`]: the slides hand over a byte count
//! and add it to a `float *`, which lands four times too far.
//!
//! Any width from 1 to 128 can be chosen at launch. Up to 32 a thread computes one element; wider tiles give it 4 x 4
//! or 8 x 8, one entry point each, since the sums live in registers, whose number is fixed when the kernel is compiled.
//! Only this reaches sizes that need more than the default 48 KiB: 128 wide takes 128 KiB in f32.
//!
//! CTA: ceil(W / R)² threads, R the elements a thread and side. Shared memory:
//! [`TilePair::total`](tilewright_contract::TilePair::total), dynamic.

use cuda_std::{kernel, shared};
use cuda_views::Shared;
use half::{bf16, f16};
use tilewright_contract::{Bytes, GemmParams};

use crate::block::element::Element;
use crate::block::operands::Operands;
use crate::gemm::tiled::{Fixed, Runtime, Tiles, Width, tiled};
use crate::ptx::opaque;

/// The two tiles, `width` wide, in the block's one dynamic allocation.
///
/// # Safety
/// The allocation holds `a_part` and as many bytes more as a tile has; `a_part` is a multiple of `E`'s alignment.
#[inline(always)]
unsafe fn carve<E: Element>(a_part: Bytes, width: impl Width) -> Tiles<E> {
    let elems = || width.get() as usize * width.get() as usize;
    let base = shared::dynamic_shared_mem::<u8>();
    // The allocation is aligned to 128 bytes or more, a static array only as its elements are. With the same knowledge
    // of both LLVM loads from both in the same way, and the two families differ in nothing but where the memory comes
    // from. (Knowing more, it asks for 16 bytes of A_s at once, and ptxas makes 7 % slower code of that on an H200.)
    // SAFETY: inside the allocation, by the caller's promise. A byte offset is added to a byte pointer.
    unsafe {
        Tiles {
            a_s: Shared::new_with(base.add(opaque::zero() as usize).cast(), elems),
            b_s: Shared::new_with(base.add(a_part.get() as usize).cast(), elems),
        }
    }
}

macro_rules! entry_points {
    ($($symbol:ident: $element:ty, $outputs:literal, $kind:ident $($width:literal)?;)*) => {
        $(
            #[doc = concat!("[`tiled`], ", stringify!($outputs), " elements of C a thread and side.")]
            ///
            /// # Safety
            /// As for the body: operands as `params` describes them, grid and block of the table of kernels, dynamic
            /// shared memory as `params` lays it out.
            #[kernel]
            pub unsafe fn $symbol(#[grid_constant] params: &GemmParams<$element>) {
                let width = entry_points!(@width params.tile_width, $kind $($width)?);
                // SAFETY: the parts are multiples of 16 bytes and lie inside the allocation; the rest is the caller's
                // promise.
                unsafe {
                    tiled::<$element, _, $outputs>(Operands::new(params), carve(params.a_part, width), width)
                }
            }
        )*
    };
    (@width $given:expr, Fixed $width:literal) => { Fixed::<$width> };
    (@width $given:expr, Runtime) => { Runtime($given) };
}

tilewright_contract::tiled_dynamic_kernels!(entry_points);
