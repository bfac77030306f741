//! Warpgroup MMA (`wgmma`) in the simulator.

use bytemuck::Pod;
use cuda_sim::wgmma;

use crate::Shared;

pub use cuda_sim::wgmma::{
    MmaAsync, OperandA, WgmmaElement, accumulator_element, commit, fence, mma_async, set_max_registers, wait,
};

/// The shared address of element `index`.
#[track_caller]
pub fn shared_address<T: Pod>(view: Shared<T>, index: u32) -> u32 {
    wgmma::shared_address(view.as_mut_ptr().wrapping_add(index as usize).addr())
}
