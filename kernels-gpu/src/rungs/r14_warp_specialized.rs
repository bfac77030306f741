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

use crate::wgmma::entry_points;

entry_points! { tiles: RING_128X256 }

tilewright_contract::wgmma_ring_kernels!(entry_points);
