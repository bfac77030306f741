//! Rung 14: who copies runs ahead.
//!
//! The body is [`wgmma`](mod@crate::wgmma).
//!
//! What changed since rung 13: four stages, so that the thread that copies is up to four steps ahead of those that
//! multiply; and a tile of 128 x 256, of whose shared memory a `wgmma` reads less for each product. 128 sums a thread
//! need more registers than 384 threads can have each: the warpgroup that copies gives most of its own to the others
//! (`setmaxnreg`).
//!
//! Prediction at 4096 cubed on an H200: 630 TFLOP/s, as fast.cu's kernel of the same structure.

use half::{bf16, f16};

crate::wgmma::entry_points! {
    RING_128X256, 384 threads, 1 blocks, (no clusters), 1 x 128 sums {
        r14_warp_specialized_nn_128x256_f16: f16, false, true;
        r14_warp_specialized_nn_128x256_bf16: bf16, false, true;
    }
}
