//! Named barriers in the simulator: the host side of `bar.sync` and `bar.arrive` with a thread count.

pub use cuda_sim::device::{named_barrier_arrive as arrive, named_barrier_sync as sync};
