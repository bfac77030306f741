//! Rung 15: blocks that stay.
//!
//! The body is [`wgmma`](mod@crate::wgmma).
//!
//! What changed since rung 14: there are as many blocks as the device holds, and each computes tile after tile. While C
//! is stored, the next tile's first stages are copied; and which tiles run at the same time is no longer up to the
//! order in which blocks happen to end, so that L2 holds what they share.
//!
//! Prediction at 4096 cubed on an H200: 660 TFLOP/s.

use half::{bf16, f16};

use crate::wgmma::entry_points;

entry_points! { tiles: PERSISTENT_128X256 }

tilewright_contract::wgmma_persistent_kernels!(entry_points);
