//! Exercise 9.2: accumulators that a thread has touched.
//!
//! A warpgroup multiplies ones three times and doubles its accumulators between two products. `wgmma` is asynchronous:
//! the registers that it uses need an order of their own.

use cuda_std::{kernel, shared::dynamic_shared_mem, thread};
use cuda_views::bulk_copy::proxy_fence;
use cuda_views::wgmma::{commit, fence, mma_async, wait};
use cuda_views::{GlobalMut, Shared};

use crate::support::{OPERANDS, fill_ones, product_of_ones};

/// Writes each thread's first accumulator: 16, then (16 + 16), ... with a doubling between.
///
/// # Safety
/// `to` has 128 elements; one CTA of 128 threads with dynamic shared memory for [`OPERANDS`] elements of 2 bytes.
#[kernel]
pub unsafe fn products(to: *mut u32) {
    let t = thread::thread_idx_x() as usize;
    let mut accumulators = [0.0_f32; 4];
    // SAFETY: all threads of the warpgroup reach each instruction; t < 128.
    unsafe {
        let operands = Shared::new(dynamic_shared_mem::<u16>(), OPERANDS);
        fill_ones(operands);
        proxy_fence();
        // RAW: both operands are filled.
        thread::sync_threads();
        fence();
        for _ in 0..3 {
            mma_async(product_of_ones(operands), accumulators.as_mut_ptr());
            commit();
            wait(0, &mut accumulators);
            accumulators.iter_mut().for_each(|accumulator| *accumulator *= 2.0);
        }
        GlobalMut::new(to, 128).set(t, accumulators[0] as u32);
    }
}
