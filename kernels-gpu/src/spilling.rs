//! Twins that spill registers, by the table [`TWINS`](tilewright_contract::TWINS).
//!
//! Twins of one line of the table have one body and differ in their options only: `kept` has all the registers that its
//! block leaves it, `local` and `shared` have as few as their cap says, and `shared` spills into shared memory first
//! (`smem_spilling`). `unbounded` is `shared` without launch bounds, which the PTX ISA advises against ("Pragma
//! Strings"). All results are equal to the bit: the same instructions, with registers elsewhere.
//!
//! `smem_spilling` makes its whole module PTX 8.7, which drivers before CUDA 12.8 refuse. So the twins are a module of
//! their own: on nvptx64 the feature `spilling` compiles them and leaves the rungs out.

use cuda_std::kernel;
use tilewright_contract::GemmArgs;

use crate::inverse8::inverse8;
use crate::register_tile::register_tile;

macro_rules! register_tile_twins {
    ($($symbol:ident($($options:tt)*);)*) => {$(
        /// `C = A · B` in `f32`.
        ///
        /// # Safety
        /// As for [`register_tile()`].
        #[kernel($($options)*)]
        pub unsafe fn $symbol(a: *const f32, b: *const f32, c: *mut f32, args: GemmArgs) {
            // SAFETY: the caller's promise.
            unsafe { register_tile(a, b, c, args) }
        }
    )*
        #[cfg(not(target_arch = "nvptx64"))]
        pub(crate) mod products {
            use super::*;
            crate::host::rows! { Plain: $($symbol: f32;)* }
        }
    };
}

macro_rules! inverse8_twins {
    ($($symbol:ident: $element:ty, ($($options:tt)*);)*) => {$(
        /// The inverses of `count` matrices of 8 x 8 elements, from `from` into `to`.
        ///
        /// # Safety
        /// As for [`inverse8()`].
        #[kernel($($options)*)]
        pub unsafe fn $symbol(from: *const $element, to: *mut $element, count: u32) {
            // SAFETY: the caller's promise.
            unsafe { inverse8(from, to, count) }
        }
    )*
        #[cfg(not(target_arch = "nvptx64"))]
        pub(crate) mod inverses {
            use super::*;
            crate::host::rows! { Inverse8: $($symbol: $element;)* }
        }
    };
}

register_tile_twins! {
    register_tile_256_kept_f32(max_threads = 256);
    register_tile_256_80_local_f32(max_threads = 256, max_registers = 80);
    register_tile_256_80_shared_f32(max_threads = 256, max_registers = 80, smem_spilling);
    register_tile_256_64_local_f32(max_threads = 256, max_registers = 64);
    register_tile_256_64_shared_f32(max_threads = 256, max_registers = 64, smem_spilling);
}

inverse8_twins! {
    inverse8_128_kept_f32: f32, (max_threads = 128);
    inverse8_128_72_local_f32: f32, (max_threads = 128, max_registers = 72);
    inverse8_128_72_shared_f32: f32, (max_threads = 128, max_registers = 72, smem_spilling);
    inverse8_128_64_local_f32: f32, (max_threads = 128, max_registers = 64);
    inverse8_128_64_shared_f32: f32, (max_threads = 128, max_registers = 64, smem_spilling);
    inverse8_128_64_unbounded_f32: f32, (max_registers = 64, smem_spilling, assume_max_threads);
    inverse8_128_kept_f64: f64, (max_threads = 128);
    inverse8_128_136_local_f64: f64, (max_threads = 128, max_registers = 136);
    inverse8_128_136_shared_f64: f64, (max_threads = 128, max_registers = 136, smem_spilling);
    inverse8_128_128_local_f64: f64, (max_threads = 128, max_registers = 128);
    inverse8_128_128_shared_f64: f64, (max_threads = 128, max_registers = 128, smem_spilling);
    inverse8_128_128_unbounded_f64: f64, (max_registers = 128, smem_spilling, assume_max_threads);
}

/// The twins as functions of the host.
#[cfg(not(target_arch = "nvptx64"))]
pub(crate) const HOST_ROWS: [&[crate::host::Row]; 2] = [products::HOST_ROWS, inverses::HOST_ROWS];
