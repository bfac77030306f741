//! A thread gives a tensor map another matrix and loads from it, without an acquire fence between the two.

use cuda_sim::tensor_map::{TensorElement, TensorMapParts, TensorMapWords, TensorSwizzle};
use cuda_sim::{GlobalBuffer, Launch, Report};
use cuda_std::{kernel, shared_array};
use cuda_views::{Shared, bulk_copy, mbarrier};

/// A row of 32 words, aligned as a bulk copy wants it.
#[repr(C, align(128))]
#[derive(Clone, Copy)]
struct Row([f32; 32]);

#[kernel]
unsafe fn tensor_map_fence(map: *mut TensorMapWords, matrix: u64) {
    // SAFETY: one thread, a row and a barrier. That the load may use the old map is the fault.
    unsafe {
        let row = Shared::new(shared_array![Row; 1].cast::<f32>(), 32);
        let full = Shared::new(shared_array![u64; 1], 1);
        bulk_copy::tensormap_replace_address(map, matrix);
        bulk_copy::tensormap_release();
        mbarrier::init(full, 0, 1);
        mbarrier::fence_init();
        mbarrier::arrive_expect_tx(full, 0, 128);
        bulk_copy::load_2d(row, 0, &*map, [0, 0], (full, 0));
        mbarrier::wait(full, 0, 0);
    }
}

pub fn run() -> Report {
    let [first, second] = [(); 2].map(|()| GlobalBuffer::<f32>::zeroed(32));
    let address = |of: &GlobalBuffer<f32>| of.as_ptr().expose_provenance() as u64;
    let parts = TensorMapParts {
        address: address(&first),
        extents: [32, 1],
        stride_bytes: 128,
        planes: None,
        box_extents: [32, 1],
        element: TensorElement::F32,
        swizzle: TensorSwizzle::None,
    };
    let map = GlobalBuffer::from_slice(&parts.encode_simulated().expect("a row of 128 bytes")).named("map");
    // SAFETY: the buffer is a map, and the other one has a row.
    Launch::new(1, 1).run(|| unsafe { tensor_map_fence(map.as_mut_ptr().cast(), address(&second)) })
}
