//! Barriers of some of a block's warps, in the simulator: what functions that are `bar.sync` and `bar.arrive` on a GPU
//! are on the host.

pub use cuda_sim::device::{named_barrier_arrive as arrive, named_barrier_sync as sync};
