//! Helpers of the tests.

use cuda_sim::device::dynamic_shared_mem;
use cuda_sim::tensor_map::{Planes, TensorElement, TensorMapParts, TensorMapWords, TensorSwizzle};
use cuda_sim::{GlobalBuffer, Report};
use cuda_views::Shared;

/// The kinds of a report's faults, each once, in the order of the report.
pub fn kinds(report: &Report) -> Vec<&'static str> {
    let mut kinds = report.kinds();
    kinds.dedup();
    kinds
}

/// Asserts that some fault is of this kind and says this.
#[track_caller]
pub fn assert_finds(report: &Report, kind: &str, text: &str) {
    let found = |fault: &cuda_sim::SimFault| fault.kind.name() == kind && fault.to_string().contains(text);
    assert!(
        report.faults.iter().any(found),
        "no {kind} with {text:?} in {:#?}",
        report.faults
    );
}

/// `len` elements of dynamic shared memory from byte `offset` on.
pub fn shared<T: bytemuck::Pod>(offset: usize, len: usize) -> Shared<T> {
    // SAFETY: the launch has given as much.
    unsafe { Shared::new(dynamic_shared_mem().add(offset).cast(), len) }
}

/// A tensor map of a matrix of so many columns and rows, `ld` elements from row to row.
pub fn map<T: bytemuck::Pod>(
    matrix: &GlobalBuffer<T>,
    element: TensorElement,
    [columns, rows, ld]: [u64; 3],
    box_extents: [u32; 2],
    swizzle: TensorSwizzle,
) -> TensorMapWords {
    let parts = parts(matrix, element, [columns, rows, ld], box_extents, swizzle);
    parts.encode_simulated().expect("the test's matrix can be described")
}

/// A tensor map of `count` such matrices, `distance` elements from the start of one to that of the next.
pub fn map_of_batch<T: bytemuck::Pod>(
    matrices: &GlobalBuffer<T>,
    element: TensorElement,
    of_each: [u64; 3],
    [count, distance]: [u64; 2],
    box_extents: [u32; 2],
    swizzle: TensorSwizzle,
) -> TensorMapWords {
    let parts = TensorMapParts {
        planes: Some(Planes {
            count,
            stride_bytes: distance * element.bytes(),
        }),
        ..parts(matrices, element, of_each, box_extents, swizzle)
    };
    parts.encode_simulated().expect("the test's matrices can be described")
}

fn parts<T: bytemuck::Pod>(
    matrix: &GlobalBuffer<T>,
    element: TensorElement,
    [columns, rows, ld]: [u64; 3],
    box_extents: [u32; 2],
    swizzle: TensorSwizzle,
) -> TensorMapParts {
    TensorMapParts {
        address: matrix.as_ptr().expose_provenance() as u64,
        extents: [columns, rows],
        stride_bytes: ld * element.bytes(),
        planes: None,
        box_extents,
        element,
        swizzle,
    }
}
