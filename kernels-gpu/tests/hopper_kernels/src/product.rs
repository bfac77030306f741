//! C = A * B by two warpgroups: one fills stages, the other multiplies.

use cuda_std::{kernel, thread};
use cuda_views::{GlobalMut, Shared};
use half::{bf16, f16};

use crate::block::unroll::unrolled;
use crate::ptx::shared_address::shared_address;
use crate::ptx::tensor_map::TensorMap;
use crate::ptx::wgmma::{self, Accumulators, Descriptor, WgmmaElement};
use crate::ptx::{bulk_copy, mbarrier, setmaxnreg};

const STAGES: u32 = 2;
/// Elements of K in a stage.
const K: u32 = 64;
const M: u32 = 64;

/// Bytes of dynamic shared memory for N columns: the stages, then the barriers. Nothing static comes before it, so that
/// it begins where the hardware's own kilobyte ends.
pub const fn dynamic_bytes(n: u32) -> u32 {
    2 * STAGES * (M + n) * K + 16 * STAGES
}

/// One block: 64 x N of C, K in steps of 64, two stages of A and of B in dynamic shared memory.
///
/// # Safety
/// 256 threads and `dynamic_bytes(N)` bytes of dynamic shared memory; A's map has boxes of 64 x 64, B's of 64 x N, or
/// if it is N-major of 64 x 64, all with the 128-byte swizzle; C has 64 x N elements.
#[inline(always)]
unsafe fn product<T: WgmmaElement, const N: u32, const ACCUMULATORS: usize, const B_IS_N_MAJOR: bool>(
    a: &TensorMap,
    b: &TensorMap,
    c: *mut f32,
    k: u32,
) where
    [f32; ACCUMULATORS]: Accumulators,
{
    // SAFETY: see each step.
    unsafe {
        let dynamic = cuda_std::shared::dynamic_shared_mem::<u16>();
        let a_elems = M * K;
        let stage_elems = a_elems + N * K;
        let stages = Shared::new(dynamic, (STAGES * stage_elems) as usize);
        let barriers = Shared::new(
            dynamic.add((STAGES * stage_elems) as usize).cast::<u64>(),
            2 * STAGES as usize,
        );
        let full = barriers.part(0, STAGES as usize);
        let empty = barriers.part(STAGES as usize, STAGES as usize);
        let t = thread::thread_idx_x();
        if t == 0 {
            for stage in 0..STAGES {
                mbarrier::init(full, stage, 1);
                mbarrier::init(empty, stage, 128);
            }
            mbarrier::fence_init();
        }
        // RAW: the barriers are there.
        thread::sync_threads();
        let steps = k / K;
        if t >= 128 {
            setmaxnreg::decrease::<24>();
            if t == 128 {
                for step in 0..steps {
                    let (stage, round) = (step % STAGES, step / STAGES);
                    // WAR: the stage is drained.
                    mbarrier::wait(empty, stage, round & 1 ^ 1);
                    mbarrier::arrive_expect_tx(full, stage, 2 * stage_elems);
                    let start = stage * stage_elems;
                    let at = (step * K) as i32;
                    bulk_copy::load_2d(stages, start, a, [at, 0], (full, stage));
                    if B_IS_N_MAJOR {
                        for panel in 0..N / 64 {
                            let to = start + a_elems + panel * 64 * K;
                            bulk_copy::load_2d(stages, to, b, [(64 * panel) as i32, at], (full, stage));
                        }
                    } else {
                        bulk_copy::load_2d(stages, start + a_elems, b, [at, 0], (full, stage));
                    }
                }
            }
        } else {
            setmaxnreg::increase::<240>();
            let mut acc = <[f32; ACCUMULATORS]>::zero();
            for step in 0..steps {
                let (stage, round) = (step % STAGES, step / STAGES);
                // RAW: the stage is filled.
                mbarrier::wait(full, stage, round & 1);
                let address = shared_address(stages, stage * stage_elems);
                let of_a = Descriptor::k_major(address);
                let of_b = address + 2 * a_elems;
                let of_b = if B_IS_N_MAJOR {
                    Descriptor::mn_major(of_b, 128 * K)
                } else {
                    Descriptor::k_major(of_b)
                };
                let b_bytes = if B_IS_N_MAJOR { 2048 } else { 32 };
                wgmma::fence(&mut acc);
                unrolled!(K / 16, at most 8, |i| {
                    let (a, b) = (of_a.advanced(32 * i), of_b.advanced(b_bytes * i));
                    wgmma::mma_async::<T, false, B_IS_N_MAJOR, _>(&mut acc, a, b, step + i > 0);
                });
                wgmma::commit();
                // The products of the step before are done, these go on.
                wgmma::wait::<1, _>(&mut acc);
                if step > 0 {
                    mbarrier::arrive(empty, (step - 1) % STAGES);
                }
            }
            wgmma::wait::<0, _>(&mut acc);
            let c = GlobalMut::new(c, (M * N) as usize);
            let lane = t % 32;
            let corner = (16 * (t / 32) + lane / 4) * N + 2 * (lane % 4);
            acc.for_each(|i, sum| {
                let place = corner + i / 2 % 2 * 8 * N + i / 4 * 8 + i % 2;
                c.set(place as usize, sum);
            });
        }
    }
}

macro_rules! products {
    ($($name:ident: $element:ty, $columns:literal, $acc:literal, $b_is_n_major:literal;)*) => {$(
        /// # Safety
        /// As for `product`.
        #[kernel(max_threads = 256, min_blocks = 1)]
        pub unsafe fn $name(#[grid_constant] a: &TensorMap, #[grid_constant] b: &TensorMap, c: *mut f32, k: u32) {
            // SAFETY: the caller's promise.
            unsafe { product::<$element, $columns, $acc, $b_is_n_major>(a, b, c, k) };
        }
    )*};
}

products! {
    product_64_k: f16, 64, 32, false;
    product_64_n: bf16, 64, 32, true;
    product_128_k: bf16, 128, 64, false;
    product_128_n: f16, 128, 64, true;
    product_256_k: bf16, 256, 128, false;
    product_256_n: bf16, 256, 128, true;
}
