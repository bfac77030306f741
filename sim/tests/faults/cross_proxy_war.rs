//! A row is loaded twice by TMA, and read between the two, with a barrier and no fence.

use cuda_sim::tensor_map::{TensorElement, TensorMapParts, TensorMapWords, TensorSwizzle};
use cuda_sim::{GlobalBuffer, Launch, Report};
use cuda_std::{kernel, shared_array, thread};
use cuda_views::{Shared, bulk_copy, mbarrier};

/// A row of 32 words, aligned as a bulk copy wants it.
#[repr(C, align(128))]
#[derive(Clone, Copy)]
struct Row([f32; 32]);

#[kernel]
unsafe fn cross_proxy_war(map: TensorMapWords) {
    let t = thread::thread_idx_x();
    // SAFETY: an element for each thread. That a load may overtake the reads is the fault.
    unsafe {
        let barrier = Shared::new(shared_array![u64; 1], 1);
        let row = Shared::new(shared_array![Row; 1].cast::<f32>(), 32);
        if t == 0 {
            mbarrier::init(barrier, 0, 1);
            mbarrier::fence_init();
        }
        thread::sync_threads();
        for step in 0..2 {
            if t == 0 {
                mbarrier::arrive_expect_tx(barrier, 0, 128);
                bulk_copy::load_2d(row, 0, &map, [0, 0], (barrier, 0));
            }
            mbarrier::wait(barrier, 0, step);
            assert_eq!(row.get(t as usize), 1.0);
            thread::sync_threads();
        }
    }
}

pub fn run() -> Report {
    let row = GlobalBuffer::from_slice(&[1.0_f32; 32]);
    let parts = TensorMapParts {
        address: row.as_ptr().expose_provenance() as u64,
        extents: [32, 1],
        stride_bytes: 128,
        planes: None,
        box_extents: [32, 1],
        element: TensorElement::F32,
        swizzle: TensorSwizzle::None,
    };
    let map = parts.encode_simulated().expect("a row of 128 bytes");
    // SAFETY: the map is of the buffer.
    Launch::new(1, 32).run(|| unsafe { cross_proxy_war(map) })
}
