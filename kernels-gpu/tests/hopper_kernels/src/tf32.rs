//! C = A * B of tf32 by one warpgroup, with A in shared memory or from registers.

use cuda_std::{kernel, thread};
use cuda_views::{GlobalMut, Shared};

use crate::block::unroll::unrolled;
use crate::ptx::shared_address::shared_address;
use crate::ptx::tensor_map::TensorMap;
use crate::ptx::wgmma::{self, Accumulators, Descriptor};
use crate::ptx::{bulk_copy, mbarrier};

const M: u32 = 64;
const N: u32 = 64;
/// Elements of K: a row of a swizzle atom.
const K: u32 = 32;

/// Bytes of dynamic shared memory: A, B, a barrier.
pub const DYNAMIC_BYTES: u32 = 4 * (M + N) * K + 8;

/// 64 x 64 of C, K = 32.
///
/// # Safety
/// 128 threads and `DYNAMIC_BYTES` of dynamic shared memory; A's map has boxes of 32 x 64, or if it is M-major of
/// 32 x 32, B's of 32 x 64, all with the 128-byte swizzle; C has 64 x 64 elements.
#[inline(always)]
unsafe fn product<const A_IS_M_MAJOR: bool>(a: &TensorMap, b: &TensorMap, c: *mut f32) {
    // SAFETY: see each step.
    unsafe {
        let dynamic = cuda_std::shared::dynamic_shared_mem::<f32>();
        let elems = Shared::new(dynamic, ((M + N) * K) as usize);
        let full = Shared::new(dynamic.add(((M + N) * K) as usize).cast::<u64>(), 1);
        let t = thread::thread_idx_x();
        if t == 0 {
            mbarrier::init(full, 0, 1);
            mbarrier::fence_init();
            mbarrier::arrive_expect_tx(full, 0, 4 * (M + N) * K);
            if A_IS_M_MAJOR {
                bulk_copy::load_2d(elems, 0, a, [0, 0], (full, 0));
                bulk_copy::load_2d(elems, 32 * K, a, [32, 0], (full, 0));
            } else {
                bulk_copy::load_2d(elems, 0, a, [0, 0], (full, 0));
            }
            bulk_copy::load_2d(elems, M * K, b, [0, 0], (full, 0));
        }
        // RAW: the barrier is there.
        thread::sync_threads();
        // RAW: A and B are.
        mbarrier::wait(full, 0, 0);
        let of_a = Descriptor::k_major(shared_address(elems, 0));
        let of_b = Descriptor::k_major(shared_address(elems, M * K));
        let (g, p) = (t % 32 / 4, t % 4);
        let mut acc = <[f32; N as usize / 2]>::zero();
        unrolled!(const K / 8, |k_block| {
            let b = of_b.advanced(32 * k_block);
            if A_IS_M_MAJOR {
                // Vectors of four of M are swizzled by k.
                let element = |m: u32, k: u32| {
                    let k = 8 * k_block + k;
                    elems.get((m / 32 * 32 * K + k * 32 + ((m % 32 / 4) ^ (k % 8)) * 4 + m % 4) as usize)
                };
                let row = 16 * (t / 32) + g;
                let fragment = [
                    element(row, p),
                    element(row + 8, p),
                    element(row, p + 4),
                    element(row + 8, p + 4),
                ];
                wgmma::fence(&mut acc);
                wgmma::mma_async_tf32_fragment(&mut acc, fragment, b);
            } else {
                wgmma::fence(&mut acc);
                wgmma::mma_async_tf32(&mut acc, of_a.advanced(32 * k_block), b);
            }
            wgmma::commit();
        });
        wgmma::wait::<0, _>(&mut acc);
        let c = GlobalMut::new(c, (M * N) as usize);
        acc.for_each(|i, sum| {
            let (row, column) = wgmma::accumulator_position(t, i);
            c.set((row * N + column) as usize, sum);
        });
    }
}

/// # Safety
/// As for `product`.
#[kernel(max_threads = 128, min_blocks = 1)]
pub unsafe fn product_tf32(#[grid_constant] a: &TensorMap, #[grid_constant] b: &TensorMap, c: *mut f32) {
    // SAFETY: the caller's promise.
    unsafe { product::<false>(a, b, c) };
}

/// # Safety
/// As for `product`.
#[kernel(max_threads = 128, min_blocks = 1)]
pub unsafe fn product_tf32_fragment(#[grid_constant] a: &TensorMap, #[grid_constant] b: &TensorMap, c: *mut f32) {
    // SAFETY: the caller's promise.
    unsafe { product::<true>(a, b, c) };
}
