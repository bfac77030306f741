//! Rung 12: tensor cores, a warp at a time.
//!
//! The body is [`tensor`]; it says the pseudocode.
//!
//! What changed since rung 9: elements have 16 bits, and what multiplies is no longer a thread but a warp. `ldmatrix`
//! loads what each lane must bring to `mma.m16n8k16`, four 8 x 8 matrices an instruction, and an XOR of chunks takes
//! the place of padding: rows of 64 bytes and no bank conflicts. Sums are in f32. What follows them is
//! [`finish`](crate::finish): a bias, an activation.
//!
//! Shapes (elements): a warp has 64 x 64 of C, which makes 32 `mma` of 8 `ldmatrix`. Rows of A and B begin at multiples
//! of 16 bytes and end anywhere.
//!
//! Prediction at 4096 cubed on an H200: 400 TFLOP/s. `mma.sync` reaches some 63 % of what `wgmma` does, 620 of 989;
//! what others measured on such chips lies between 300 and 450. Measured: 395 to 412, 0.57 to 0.58 of cuBLAS.

use cuda_std::kernel;
use half::{bf16, f16};
use tilewright_contract::{Epilogue, GemmCall, TensorTile, tensor_tiles};

use crate::tensor::{self, AlongK, AlongLines, Tile};

macro_rules! entry_points {
    ($($tile:ident, $threads:literal threads, $blocks:literal blocks {
        $($symbol:ident: $element:ty, $layout_a:ty, $layout_b:ty;)*
    })*) => {
        $(
            struct $tile;

            impl Tile for $tile {
                const TILE: TensorTile = tensor_tiles::$tile;
            }

            $(
                #[doc = concat!("Elements of `", stringify!($element), "`, A laid out as `", stringify!($layout_a), "`, B as `", stringify!($layout_b), "`.")]
                ///
                /// # Safety
                /// As for the body: operands as `call` and `epilogue` describe them, grid, block and dynamic shared
                /// memory of the plan, one slice.
                #[kernel(max_threads = $threads, min_blocks = $blocks)]
                pub unsafe fn $symbol(
                    a: *const $element,
                    b: *const $element,
                    c: *mut $element,
                    call: GemmCall,
                    epilogue: Epilogue<$element>,
                ) {
                    // SAFETY: the caller's promise.
                    unsafe { tensor::product::<$element, $tile, $layout_a, $layout_b, 4, 8>(a, b, c, call, epilogue) }
                }
            )*
        )*

        #[cfg(not(target_arch = "nvptx64"))]
        crate::host::rows! { Tensor: $($($symbol: $element;)*)* }
    };
}

entry_points! {
    T128X128, 128 threads, 2 blocks {
        r12_mma_sync_nn_128x128_f16: f16, AlongK, AlongLines;
        r12_mma_sync_nt_128x128_f16: f16, AlongK, AlongK;
        r12_mma_sync_tn_128x128_f16: f16, AlongLines, AlongLines;
        r12_mma_sync_tt_128x128_f16: f16, AlongLines, AlongK;
        r12_mma_sync_nn_128x128_bf16: bf16, AlongK, AlongLines;
        r12_mma_sync_nt_128x128_bf16: bf16, AlongK, AlongK;
        r12_mma_sync_tn_128x128_bf16: bf16, AlongLines, AlongLines;
        r12_mma_sync_tt_128x128_bf16: bf16, AlongLines, AlongK;
    }
    T256X128, 256 threads, 1 blocks {
        r12_mma_sync_nn_256x128_f16: f16, AlongK, AlongLines;
        r12_mma_sync_nt_256x128_f16: f16, AlongK, AlongK;
        r12_mma_sync_nn_256x128_bf16: bf16, AlongK, AlongLines;
        r12_mma_sync_nt_256x128_bf16: bf16, AlongK, AlongK;
    }
}
