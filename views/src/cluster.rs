//! Clusters in the simulator: the host side of the cluster instructions.

use bytemuck::Pod;
use cuda_sim::cluster;

use crate::Shared;

pub use cuda_sim::cluster::{arrive, arrive_remote, rank, size, wait};

/// The address of element `index` in the shared memory of the block of rank `rank`.
#[track_caller]
pub fn map<T: Pod>(view: Shared<T>, index: u32, rank: u32) -> u32 {
    cluster::map_address(view.as_mut_ptr().wrapping_add(index as usize).addr(), rank)
}
