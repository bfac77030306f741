//! Rung 13: a warpgroup multiplies, and copies need no threads.
//!
//! The body is [`wgmma`](mod@crate::wgmma); it says the pseudocode.
//!
//! What changed since rung 12: the four warps of a warpgroup multiply 64 rows of A by 128 columns of B with one
//! instruction, `wgmma`, which reads both from shared memory: no fragments, no `ldmatrix`, and sums are all that
//! registers hold. One thread copies a step of A or B, with one instruction too: the tensor memory accelerator goes
//! through the box, swizzles it and fills in zeros outside of the matrix; an mbarrier counts the bytes that have come.
//!
//! One stage: copies and products take turns.
//!
//! Shapes: a block computes 128 x 128 of C in steps of 64 along K: 32 KiB of shared memory. Addresses are multiples of
//! 16 bytes, leading dimensions of 8.
//!
//! Prediction at 4096 cubed on an H200: 420 TFLOP/s, no more than rung 12. A step's products take 128 cycles a
//! warpgroup, its copies some 700 from L2, and neither waits for anything but the other; several blocks of a
//! multiprocessor overlap.

use half::{bf16, f16};

use crate::wgmma::entry_points;

entry_points! { tiles: ONE_STAGE_128X128 }

tilewright_contract::wgmma_one_stage_kernels!(entry_points);
