//! `#[gpu_only]` and `#[externally_visible]` in a user's hands.

use cuda_std::prelude::*;
use cuda_std::{externally_visible, gpu_only};

/// In the PTX although no kernel calls it: other device code may link to it.
#[externally_visible]
#[no_mangle]
pub extern "C" fn corpus_visible_sum(a: u32, b: u32) -> u32 {
    a + b
}

/// A function of the GPU alone.
#[gpu_only]
pub fn lane_parity() -> u32 {
    cuda_std::warp::lane_id() % 2
}

/// Generic, unsafe and of C's ABI.
///
/// # Safety
///
/// `at` must be valid for reads.
#[gpu_only]
pub unsafe extern "C" fn read_twice<T: Copy + core::ops::Add<Output = T>>(at: *const T) -> T {
    *at + *at
}

/// A number, with a method of the GPU alone.
#[derive(Clone, Copy)]
pub struct Scaled(pub u32);

impl Scaled {
    /// The number times the thread's index.
    #[gpu_only]
    #[inline]
    pub fn by_thread(&self) -> u32 {
        self.0 * thread::thread_idx_x()
    }
}

/// Writes a number for each thread that takes all of these functions.
#[kernel]
pub unsafe fn gpu_only_functions(input: *const u32, out: *mut u32) {
    *out.add(thread::index_1d() as usize) = lane_parity() * 1000 + read_twice(input) + Scaled(10).by_thread();
}

/// The launches of this module's kernels.
#[cfg(not(target_arch = "nvptx64"))]
pub fn cases() -> Vec<crate::cases::Case> {
    use crate::cases::{entry, Argument, Case, Data};

    let out = Argument::out_u32((0..32).map(|t| t % 2 * 1000 + 6 + 10 * t));
    vec![Case::new(
        entry!(gpu_only_functions(_, _)),
        1,
        32,
        vec![Argument::Pointer(Data::U32(vec![3])), out],
    )]
}
