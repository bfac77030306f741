//! Clusters in the simulator: the host side of the cluster instructions.

use bytemuck::Pod;
use cuda_sim::cluster;

use crate::Shared;

pub use cuda_sim::cluster::{add_async, arrive, arrive_remote, rank, size, wait};

/// The address of element `index` in the shared memory of the block of rank `rank`.
#[track_caller]
pub fn map<T: Pod>(view: Shared<T>, index: u32, rank: u32) -> u32 {
    cluster::map_address(view.as_mut_ptr().wrapping_add(index as usize).addr(), rank)
}

/// The element at an address from [`map`].
#[track_caller]
pub fn get<T: Pod>(address: u32) -> T {
    let mut value = T::zeroed();
    cluster::load(address, bytemuck::bytes_of_mut(&mut value));
    value
}

/// Sets the element at an address from [`map`].
#[track_caller]
pub fn set<T: Pod>(address: u32, value: T) {
    cluster::store(address, bytemuck::bytes_of(&value));
}

/// `st.async`: sets the element of 4, 8 or 16 bytes at an address from [`map`] some time before the mbarrier at
/// `mbarrier`, in the same block, completes a phase with its bytes.
#[track_caller]
pub fn set_async<T: Pod>(address: u32, value: T, mbarrier: u32) {
    cluster::store_async(address, bytemuck::bytes_of(&value), mbarrier);
}
