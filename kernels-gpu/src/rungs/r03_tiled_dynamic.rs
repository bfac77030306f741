//! Rung 3: tiles in dynamic shared memory.
//!
//! The idea, over rung 2: the width is not in the code. The launch asks for so many bytes of shared memory, the kernel gets
//! one pointer to them, and carves both tiles out of it:
//!
//! ```text
//! A_s = base                      a_part bytes
//! B_s = base + a_part             b_part bytes
//! ```
//!
//! The sizes of the parts arrive as arguments, as in the slides, but as [`Bytes`]: the slides hand over a byte count and add it
//! to a `float *`, which lands four times too far.
//!
//! Any width from 1 to 128 can be chosen at launch. Up to 32 a thread computes one element; wider tiles give it 4 x 4 or
//! 8 x 8, one entry point each, since the sums live in registers, whose number is fixed when the kernel is compiled. Only this
//! reaches sizes that need more than the default 48 KiB: 128 wide takes 128 KiB in f32.
//!
//! Block: ceil(W / R)² threads, R the elements a thread and side. Shared memory: [`TilePair::total`](tilewright_contract::TilePair::total), dynamic.

use cuda_std::{kernel, shared};
use half::{bf16, f16};
use tilewright_contract::{Bytes, GemmArgs, TileGeometry, TilePair, TileParts};

use crate::element::Element;
use crate::tiled::{Fixed, Operands, Runtime, Tiles, tiled};

/// The two tiles in the block's one dynamic allocation.
///
/// # Safety
/// The allocation holds `a_part` and more bytes; `a_part` is a multiple of `E`'s alignment.
#[inline(always)]
unsafe fn carve<E>(a_part: Bytes) -> Tiles<E> {
    let base = shared::dynamic_shared_mem::<u8>();
    // SAFETY: inside the allocation, by the caller's promise. A byte offset is added to a byte pointer.
    let b_s = unsafe { base.add(a_part.get() as usize) };
    Tiles {
        a_s: base.cast(),
        b_s: b_s.cast(),
    }
}

/// # Safety
/// As for [`tiled`]; `parts` is the layout of the launch's dynamic allocation
/// ([`TilePair::parts`](tilewright_contract::TilePair::parts)).
#[inline(always)]
unsafe fn dynamic<E: Element, const R: usize>(operands: Operands<E>, parts: TileParts) {
    // SAFETY: the layout's parts are multiples of 16 bytes and lie inside the allocation.
    let tiles = unsafe { carve::<E>(parts.a_part) };
    // The widths that the static rung has too get the same code as there: a constant pitch, an unrolled loop, and B_s at a
    // constant distance from A_s.
    // SAFETY (all arms): the caller's promise; the width is the launch's.
    if R == 1 && parts == const { packed::<E>(16) } {
        unsafe { tiled::<E, _, R>(operands, tiles, Fixed::<16>) }
    } else if R == 1 && parts == const { packed::<E>(32) } {
        unsafe { tiled::<E, _, R>(operands, tiles, Fixed::<32>) }
    } else {
        unsafe { tiled::<E, _, R>(operands, tiles, Runtime(parts.tile_width)) }
    }
}

/// The parts of a pair of tiles of this width.
const fn packed<E: Element>(width: u32) -> TileParts {
    match TileGeometry::new(width) {
        Ok(tile) => TilePair::new(tile, E::DTYPE).parts(),
        Err(_) => panic!("no such tile width"),
    }
}

macro_rules! entry_points {
    ($($symbol:ident: $outputs:literal, $element:ty;)*) => {$(
        #[doc = concat!("[`tiled`] with `", stringify!($element), "`, ", stringify!($outputs), " elements of C a thread and side.")]
        ///
        /// # Safety
        /// As for the body: operands as `args` describes them, grid and block of the variant table, dynamic shared memory as
        /// `parts` lays it out.
        #[kernel]
        pub unsafe fn $symbol(
            a: *const $element,
            b: *const $element,
            c: *mut $element,
            args: GemmArgs,
            parts: TileParts,
        ) {
            // SAFETY: the caller's promise.
            unsafe { dynamic::<$element, $outputs>(Operands { a, b, c, args }, parts) }
        }
    )*};
}

entry_points! {
    r03_tiled_dynamic_1x1_f32: 1, f32;
    r03_tiled_dynamic_4x4_f32: 4, f32;
    r03_tiled_dynamic_8x8_f32: 8, f32;
    r03_tiled_dynamic_1x1_f64: 1, f64;
    r03_tiled_dynamic_4x4_f64: 4, f64;
    r03_tiled_dynamic_8x8_f64: 8, f64;
    r03_tiled_dynamic_1x1_f16: 1, f16;
    r03_tiled_dynamic_4x4_f16: 4, f16;
    r03_tiled_dynamic_8x8_f16: 8, f16;
    r03_tiled_dynamic_1x1_bf16: 1, bf16;
    r03_tiled_dynamic_4x4_bf16: 4, bf16;
    r03_tiled_dynamic_8x8_bf16: 8, bf16;
}
