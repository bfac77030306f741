//! Matrix products of a warpgroup in the simulator: what functions that are `wgmma` instructions on a GPU are on the
//! host.

use bytemuck::Pod;
use cuda_sim::wgmma;

use crate::Shared;

pub use cuda_sim::wgmma::{
    WgmmaElement, WgmmaProduct, commit, element_of_sums, fence, product, set_max_registers, wait,
};

/// The address of element `index` in shared memory, as a GPU has it.
#[track_caller]
pub fn shared_address<T: Pod>(view: Shared<T>, index: u32) -> u32 {
    wgmma::shared_address(view.as_mut_ptr().wrapping_add(index as usize).addr())
}
