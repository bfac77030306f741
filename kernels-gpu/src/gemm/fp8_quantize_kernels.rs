//! Quantization to FP8, for 9.0. The bodies are [`fp8_quantize`].
//!
//! Prediction on an H200 at 8192 x 8192 of bf16 by 128x128 or 1x128: 134 MB are read and 67 MB written; at 4.0 TB/s
//! that takes 50 us. A thread converts 64 elements, some 15 instructions each, of which the division has most: 132 SMs
//! issue 128 lanes a clock, so that is 30 us and is hidden by the memory if two CTAs an SM overlap their phases.

use cuda_std::kernel;
use half::{bf16, f16};
use tilewright_contract::{Fp8QuantizeParams, Fp8Scaling};

use crate::gemm::fp8_quantize::{self, Quantizer};

/// The body by its name in the list.
macro_rules! body {
    (largest, $kernel:ty, $params:ident) => {
        fp8_quantize::largest_magnitudes::<$kernel>($params)
    };
    (quantize, $kernel:ty, $params:ident) => {
        fp8_quantize::quantize::<$kernel>($params)
    };
}

macro_rules! entry_points {
    ($($symbol:ident: $pass:ident, $scaling:ident, $source:ty, $is_transposed:literal;)*) => {
        $(
            #[doc = concat!("`", stringify!($pass), "` of `", stringify!($source), "`, a scale for each of `")]
            #[doc = concat!(stringify!($scaling), "`; transposed: `", stringify!($is_transposed), "`.")]
            ///
            /// # Safety
            /// As for the body in [`fp8_quantize`]: source, outputs and partials as `params` says, grid and CTA of the
            /// plan.
            #[kernel(max_threads = 256, min_blocks = 2)]
            pub unsafe fn $symbol(#[grid_constant] params: &Fp8QuantizeParams) {
                struct Kernel;

                impl Quantizer for Kernel {
                    type Source = $source;
                    const SCALING: Fp8Scaling = Fp8Scaling::$scaling;
                    const IS_TRANSPOSED: bool = $is_transposed;
                }

                // SAFETY: the caller's promise.
                unsafe { body!($pass, Kernel, params) }
            }
        )*
    };
}

tilewright_contract::fp8_quantize_kernels!(entry_points);
