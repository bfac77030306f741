//! A row is stored by a bulk copy that its thread does not wait for.

use cuda_sim::tensor_map::{TensorElement, TensorMapParts, TensorMapWords, TensorSwizzle};
use cuda_sim::{GlobalBuffer, Launch, Report};
use cuda_std::{kernel, shared_array};
use cuda_views::{Shared, bulk_copy};

/// A row of 32 words, aligned as a bulk copy wants it.
#[repr(C, align(128))]
#[derive(Clone, Copy)]
struct Row([f32; 32]);

#[kernel]
unsafe fn exit_during_copy(map: TensorMapWords) {
    // SAFETY: inside the row. That the copy may read it too late is the fault.
    unsafe {
        let row = Shared::new(shared_array![Row; 1].cast::<f32>(), 32);
        (0..32).for_each(|i| row.set(i, i as f32));
        bulk_copy::proxy_fence();
        bulk_copy::store_2d(&map, [0, 0], row, 0);
        bulk_copy::commit();
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
    Launch::new(1, 1).run(|| unsafe { exit_during_copy(map) })
}
