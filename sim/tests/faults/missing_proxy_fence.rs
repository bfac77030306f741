//! A row is written and stored by a bulk copy, with a barrier between the two and no fence.

use cuda_sim::tensor_map::{TensorElement, TensorMapParts, TensorMapWords, TensorSwizzle};
use cuda_sim::{GlobalBuffer, Launch, Report};
use cuda_std::{kernel, shared_array, thread};
use cuda_views::{Shared, bulk_copy};

/// A row of 32 words, aligned as a bulk copy wants it.
#[repr(C, align(128))]
#[derive(Clone, Copy)]
struct Row([f32; 32]);

#[kernel]
unsafe fn missing_proxy_fence(map: TensorMapWords) {
    let t = thread::thread_idx_x();
    // SAFETY: an element for each thread. That the copy may not see it is the fault.
    unsafe {
        let row = Shared::new(shared_array![Row; 1].cast::<f32>(), 32);
        row.set(t as usize, t as f32);
        thread::sync_threads();
        if t == 0 {
            bulk_copy::store_2d(&map, [0, 0], row, 0);
            bulk_copy::commit();
            bulk_copy::wait(0, false);
        }
    }
}

pub fn run() -> Report {
    let row = GlobalBuffer::<f32>::zeroed(32);
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
    Launch::new(1, 32).run(|| unsafe { missing_proxy_fence(map) })
}
