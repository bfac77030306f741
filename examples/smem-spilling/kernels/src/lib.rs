//! Register-budget variants: kernels that differ only in where the compiler puts the registers that they do not get.
//!
//! The variants of one problem have one body. Only their attributes differ:
//!
//! | `Spills` | attributes | registers that do not fit |
//! |---|---|---|
//! | `Kept` | `max_threads` | none: the budget is what the CTA leaves each thread |
//! | `Local` | and `max_registers` | go to local memory |
//! | `Shared` | and `smem_spilling` | go to shared memory first, the rest to local memory |
//! | `Unbounded` | `max_registers`, `smem_spilling`, `assume_max_threads` | the same, without launch bounds |
//!
//! The PTX ISA advises against the last ("Pragma Strings"): it is there to be measured. All variants of a problem give
//! the same bits: they execute the same instructions on the same values.
//!
//! `smem_spilling` makes its whole module PTX 8.7, which drivers before CUDA 12.8 refuse. That is why these kernels are
//! a crate of their own.
#![no_std]

pub mod inverse8;
pub mod register_tile;
#[cfg(not(target_arch = "nvptx64"))]
mod table;

use cuda_std::kernel;

pub use register_tile::Extents;
#[cfg(not(target_arch = "nvptx64"))]
pub use table::{EntryPoint, Problem, Spills, Variant};

/// One list for the entry points and for the table that the host reads:
/// `PROBLEM { SYMBOL = SPILLS THREADS[, CAP]; .. }`, with the threads of a CTA and the most registers of a thread.
macro_rules! variants {
    ($($problem:ident { $($symbol:ident = $spills:ident $threads:tt $(, $cap:tt)?;)* })*) => {
        $($(variants!(@attributes $problem $symbol $spills $threads $($cap)?);)*)*

        /// Every variant. Those of a problem stand together, the `Kept` one first.
        #[cfg(not(target_arch = "nvptx64"))]
        pub static VARIANTS: &[Variant] = &[$($(Variant {
            symbol: stringify!($symbol),
            problem: Problem::$problem,
            spills: Spills::$spills,
            threads: $threads,
            max_registers: [$($cap,)? 0][0],
            entry_point: EntryPoint::$problem($symbol),
        },)*)*];
    };
    (@attributes $problem:ident $symbol:ident Kept $threads:tt) => {
        variants!(@kernel $problem $symbol (max_threads = $threads));
    };
    (@attributes $problem:ident $symbol:ident Local $threads:tt $cap:tt) => {
        variants!(@kernel $problem $symbol (max_threads = $threads, max_registers = $cap));
    };
    (@attributes $problem:ident $symbol:ident Shared $threads:tt $cap:tt) => {
        variants!(@kernel $problem $symbol (max_threads = $threads, max_registers = $cap, smem_spilling));
    };
    (@attributes $problem:ident $symbol:ident Unbounded $threads:tt $cap:tt) => {
        variants!(@kernel $problem $symbol (max_registers = $cap, smem_spilling, assume_max_threads));
    };
    (@kernel RegisterTile $symbol:ident ($($attributes:tt)*)) => {
        /// `C = A · B` in f32.
        ///
        /// # Safety
        /// As for [`register_tile::multiply`].
        #[kernel($($attributes)*)]
        pub unsafe fn $symbol(a: *const f32, b: *const f32, c: *mut f32, extents: Extents) {
            // SAFETY: the caller's promise.
            unsafe { register_tile::multiply(a, b, c, extents) }
        }
    };
    (@kernel Inverse8F32 $symbol:ident $attributes:tt) => { variants!(@inverse f32 $symbol $attributes); };
    (@kernel Inverse8F64 $symbol:ident $attributes:tt) => { variants!(@inverse f64 $symbol $attributes); };
    (@inverse $scalar:ident $symbol:ident ($($attributes:tt)*)) => {
        /// The inverses of `count` matrices of 8 x 8 elements.
        ///
        /// # Safety
        /// As for [`inverse8::invert`].
        #[kernel($($attributes)*)]
        pub unsafe fn $symbol(from: *const $scalar, to: *mut $scalar, count: u32) {
            // SAFETY: the caller's promise.
            unsafe { inverse8::invert(from, to, count) }
        }
    };
}

variants! {
    RegisterTile {
        register_tile_256_kept_f32 = Kept 256;
        register_tile_256_80_local_f32 = Local 256, 80;
        register_tile_256_80_shared_f32 = Shared 256, 80;
        register_tile_256_64_local_f32 = Local 256, 64;
        register_tile_256_64_shared_f32 = Shared 256, 64;
    }
    Inverse8F32 {
        inverse8_128_kept_f32 = Kept 128;
        inverse8_128_72_local_f32 = Local 128, 72;
        inverse8_128_72_shared_f32 = Shared 128, 72;
        inverse8_128_64_local_f32 = Local 128, 64;
        inverse8_128_64_shared_f32 = Shared 128, 64;
        inverse8_128_64_unbounded_f32 = Unbounded 128, 64;
    }
    Inverse8F64 {
        inverse8_128_kept_f64 = Kept 128;
        inverse8_128_136_local_f64 = Local 128, 136;
        inverse8_128_136_shared_f64 = Shared 128, 136;
        inverse8_128_128_local_f64 = Local 128, 128;
        inverse8_128_128_shared_f64 = Shared 128, 128;
        inverse8_128_128_unbounded_f64 = Unbounded 128, 128;
    }
}
