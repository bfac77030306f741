//! Rung 16: two blocks share B.
//!
//! The body is [`wgmma`](mod@crate::wgmma).
//!
//! What changed since rung 15: clusters of two blocks, whose tiles are neighbours along M and need the same part of B.
//! Each copies half of it to the shared memory of both (multicast), so that L2 is read for 32 KiB a step and block in
//! place of 48. A stage is empty when both blocks have multiplied it.
//!
//! Prediction at 4096 cubed on an H200: 700 TFLOP/s.

use half::{bf16, f16};

use crate::wgmma::entry_points;

entry_points! { tiles: CLUSTER_128X256 }

tilewright_contract::wgmma_cluster_kernels!(entry_points);
