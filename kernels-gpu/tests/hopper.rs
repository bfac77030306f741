//! Hopper's primitives in the simulator: the kernels of `tests/hopper_kernels`, which `hopper_device.rs` compiles for a
//! GPU.

use cuda_sim::{GlobalBuffer, Launch, Schedule};
use half::{bf16, f16};
use kernels_gpu::ptx::tensor_map::{Planes, TensorElement, TensorMap, TensorMapParts, TensorSwizzle};

/// What the kernels' sources call their crate's.
use kernels_gpu::{block, ptx};

#[path = "hopper_kernels/src/cluster.rs"]
mod cluster;
#[path = "hopper_kernels/src/copy.rs"]
mod copy;
#[path = "hopper_kernels/src/product.rs"]
mod product;
#[path = "hopper_kernels/src/tf32.rs"]
mod tf32;

/// A matrix of so many columns and rows, without padding, in boxes.
fn map<T: bytemuck::Pod>(
    matrix: &GlobalBuffer<T>,
    element: TensorElement,
    [columns, rows]: [u32; 2],
    box_extents: [u32; 2],
    swizzle: TensorSwizzle,
) -> TensorMap {
    encoded(&parts(matrix, element, [columns, rows], box_extents, swizzle))
}

/// What [`map`] encodes.
fn parts<T: bytemuck::Pod>(
    matrix: &GlobalBuffer<T>,
    element: TensorElement,
    [columns, rows]: [u32; 2],
    box_extents: [u32; 2],
    swizzle: TensorSwizzle,
) -> TensorMapParts {
    TensorMapParts {
        address: matrix.as_ptr().expose_provenance() as u64,
        extents: [columns.into(), rows.into()],
        stride_bytes: u64::from(columns) * element.bytes(),
        planes: None,
        box_extents,
        element,
        swizzle,
    }
}

fn encoded(parts: &TensorMapParts) -> TensorMap {
    TensorMap::simulated(parts).unwrap_or_else(|error| panic!("{error}"))
}

/// What the products are made of.
trait Element: bytemuck::Pod {
    const TYPE: TensorElement;
    fn of(value: f32) -> Self;
}

impl Element for f16 {
    const TYPE: TensorElement = TensorElement::F16;
    fn of(value: f32) -> Self {
        Self::from_f32(value)
    }
}

impl Element for bf16 {
    const TYPE: TensorElement = TensorElement::Bf16;
    fn of(value: f32) -> Self {
        Self::from_f32(value)
    }
}

type Product = unsafe fn(&TensorMap, &TensorMap, *mut f32, u32);

/// Small integers: every sum is exact, in whatever order.
fn integer(row: u32, column: u32) -> f32 {
    ((7 * row + 5 * column + row * column) % 13) as f32 - 6.0
}

fn check<T: Element>(kernel: Product, n: u32, b_is_n_major: bool, schedule: Schedule) {
    const M: u32 = 64;
    // Three steps: a ring of two stages comes back to its first.
    const K: u32 = 192;
    let matrix = |rows: u32, columns: u32, element: &dyn Fn(u32, u32) -> f32| {
        let elements = (0..rows * columns).map(|i| T::of(element(i / columns, i % columns)));
        GlobalBuffer::from_slice(&elements.collect::<Vec<_>>())
    };
    let b = |k: u32, column: u32| integer(k + 3, column);
    let a_on = matrix(M, K, &integer);
    let (b_on, b_map_extents, b_box) = if b_is_n_major {
        (matrix(K, n, &b), [n, K], [64, 64])
    } else {
        (matrix(n, K, &|column, k| b(k, column)), [K, n], [64, n])
    };
    let c_on = GlobalBuffer::<f32>::uninit((M * n) as usize);
    let (a_map, b_map) = (
        map(&a_on, T::TYPE, [K, M], [64, 64], TensorSwizzle::Bytes128),
        map(&b_on, T::TYPE, b_map_extents, b_box, TensorSwizzle::Bytes128),
    );
    let launch = Launch::new(1, 256)
        .dynamic_shared_bytes(product::dynamic_bytes(n))
        .schedule(schedule);
    // SAFETY: the maps and the launch are what the kernel asks for.
    let report = launch.run(|| unsafe { kernel(&a_map, &b_map, c_on.as_mut_ptr(), K) });
    report.assert_clean();
    for (i, found) in c_on.to_vec().into_iter().enumerate() {
        let (row, column) = (i as u32 / n, i as u32 % n);
        let expected: f32 = (0..K).map(|k| integer(row, k) * b(k, column)).sum();
        assert_eq!(
            found, expected,
            "{row}, {column} of {M} x {n}, B N-major: {b_is_n_major}"
        );
    }
}

#[test]
fn products_with_64_columns() {
    check::<f16>(product::product_64_k, 64, false, Schedule::All);
    check::<bf16>(product::product_64_n, 64, true, Schedule::All);
}

#[test]
fn products_with_128_columns() {
    check::<bf16>(product::product_128_k, 128, false, Schedule::Random(1));
    check::<f16>(product::product_128_n, 128, true, Schedule::Reverse);
}

#[test]
fn products_with_256_columns() {
    check::<bf16>(product::product_256_k, 256, false, Schedule::Forward);
    check::<bf16>(product::product_256_n, 256, true, Schedule::Forward);
}

#[test]
fn products_of_tf32_with_a_in_shared_memory_or_from_registers() {
    let b = |k: u32, column: u32| integer(k + 3, column);
    // More bits than tf32 has: loads round these to the integers.
    let noise = |value: f32| f32::from_bits(value.to_bits() + if value == 0.0 { 0 } else { 0xfff });
    let matrix = |columns: u32, element: &dyn Fn(u32, u32) -> f32| {
        let elements = (0..64 * 32).map(|i| noise(element(i / columns, i % columns)));
        GlobalBuffer::from_slice(&elements.collect::<Vec<_>>())
    };
    type Kernel = unsafe fn(&TensorMap, &TensorMap, *mut f32);
    let kernels: [(Kernel, bool); 2] = [(tf32::product_tf32, false), (tf32::product_tf32_fragment, true)];
    for (kernel, a_is_m_major) in kernels {
        let a_on = if a_is_m_major {
            matrix(64, &|k, row| integer(row, k))
        } else {
            matrix(32, &integer)
        };
        let b_on = matrix(32, &|column, k| b(k, column));
        let c_on = GlobalBuffer::<f32>::uninit(64 * 64);
        let (extents, box_extents) = if a_is_m_major {
            ([64, 32], [32, 32])
        } else {
            ([32, 64], [32, 64])
        };
        let element = TensorElement::Tf32;
        let a_map = map(&a_on, element, extents, box_extents, TensorSwizzle::Bytes128);
        let b_map = map(&b_on, element, [32, 64], [32, 64], TensorSwizzle::Bytes128);
        let launch = Launch::new(1, 128)
            .dynamic_shared_bytes(tf32::DYNAMIC_BYTES)
            .schedule(Schedule::All);
        // SAFETY: the maps and the launch are what the kernel asks for.
        let report = launch.run(|| unsafe { kernel(&a_map, &b_map, c_on.as_mut_ptr()) });
        report.assert_clean();
        for (i, found) in c_on.to_vec().into_iter().enumerate() {
            let (row, column) = (i as u32 / 64, i as u32 % 64);
            let expected: f32 = (0..32).map(|k| integer(row, k) * b(k, column)).sum();
            assert_eq!(found, expected, "{row}, {column}, A M-major: {a_is_m_major}");
        }
    }
}

#[test]
fn a_ragged_matrix_is_copied_box_by_box() {
    const COLUMNS: u32 = 72;
    const ROWS: u32 = 13;
    for swizzle in [TensorSwizzle::None, TensorSwizzle::Bytes128] {
        let elements: Vec<u16> = (0..COLUMNS * ROWS).map(|i| i as u16).collect();
        let (from, to) = (
            GlobalBuffer::from_slice(&elements),
            GlobalBuffer::uninit(elements.len()),
        );
        let map = |buffer: &GlobalBuffer<u16>| map(buffer, TensorElement::F16, [COLUMNS, ROWS], [64, 8], swizzle);
        let (from_map, to_map) = (map(&from), map(&to));
        let launch = Launch::new((2, 2), 32).schedule(Schedule::All);
        // SAFETY: the maps and the launch are what the kernel asks for.
        let report = launch.run(|| unsafe { copy::copy(&from_map, &to_map) });
        report.assert_clean();
        assert_eq!(to.to_vec(), elements);
    }
}

#[test]
fn one_matrix_of_a_batch_is_copied_box_by_box() {
    const COLUMNS: u32 = 72;
    const ROWS: u32 = 13;
    const MATRIX: usize = (COLUMNS * ROWS) as usize;
    for swizzle in [TensorSwizzle::None, TensorSwizzle::Bytes128] {
        let elements: Vec<u16> = (0..3 * MATRIX).map(|i| i as u16).collect();
        let from = GlobalBuffer::from_slice(&elements);
        // Each matrix begins where the one before ends: a box at the edge must not reach into the next.
        let map = |buffer: &GlobalBuffer<u16>| {
            encoded(&TensorMapParts {
                planes: Some(Planes {
                    count: 3,
                    stride_bytes: 2 * MATRIX as u64,
                }),
                ..parts(buffer, TensorElement::F16, [COLUMNS, ROWS], [64, 8], swizzle)
            })
        };
        for plane in 0..4 {
            let to = GlobalBuffer::from_slice(&vec![9999_u16; elements.len()]);
            let (from_map, to_map) = (map(&from), map(&to));
            let launch = Launch::new((2, 2), 32).schedule(Schedule::All);
            // SAFETY: the maps and the launch are what the kernel asks for.
            let report = launch.run(|| unsafe { copy::copy_plane(&from_map, &to_map, plane) });
            report.assert_clean();
            for (i, found) in to.to_vec().into_iter().enumerate() {
                let is_copied = i / MATRIX == plane as usize;
                assert_eq!(found, if is_copied { i as u16 } else { 9999 }, "{plane}: {i}");
            }
        }
    }
}

#[test]
fn a_map_that_a_thread_has_changed_describes_the_other_matrix() {
    let elements: Vec<u16> = (0..64 * 8).collect();
    let (first, second) = (
        GlobalBuffer::from_slice(&[9_u16; 64 * 8]),
        GlobalBuffer::from_slice(&elements),
    );
    let to = GlobalBuffer::uninit(elements.len());
    let map = |buffer: &GlobalBuffer<u16>| map(buffer, TensorElement::F16, [64, 8], [64, 8], TensorSwizzle::None);
    let (changed, to_map) = (GlobalBuffer::from_slice(map(&first).words()), map(&to));
    let matrix = second.as_ptr().expose_provenance() as u64;
    let launch = Launch::new(1, 32).schedule(Schedule::All);
    // SAFETY: the maps and the launch are what the kernel asks for.
    let report = launch.run(|| unsafe { copy::copy_replaced(changed.as_mut_ptr().cast(), matrix, &to_map) });
    report.assert_clean();
    assert_eq!(to.to_vec(), elements);
}

#[test]
fn one_copy_goes_to_both_blocks_of_a_cluster() {
    let elements: Vec<f32> = (0..4 * 64).map(|i| i as f32).collect();
    let from = GlobalBuffer::from_slice(&elements);
    let to = GlobalBuffer::<f32>::uninit(2 * 4 * 64);
    let map = map(&from, TensorElement::F32, [64, 4], [64, 1], TensorSwizzle::None);
    let launch = Launch::new(2, 64).cluster(2).schedule(Schedule::All);
    // SAFETY: the map and the launch are what the kernel asks for.
    let report = launch.run(|| unsafe { cluster::broadcast(&map, to.as_mut_ptr(), 4) });
    report.assert_clean();
    assert_eq!(to.to_vec(), [elements.clone(), elements].concat());
}

#[test]
fn one_copy_of_a_row_of_a_batch_goes_to_both_blocks_of_a_cluster() {
    let elements: Vec<f32> = (0..3 * 64).map(|i| i as f32).collect();
    let from = GlobalBuffer::from_slice(&elements);
    let to = GlobalBuffer::<f32>::uninit(2 * 64);
    let map = encoded(&TensorMapParts {
        planes: Some(Planes {
            count: 3,
            stride_bytes: 4 * 64,
        }),
        ..parts(&from, TensorElement::F32, [64, 1], [64, 1], TensorSwizzle::None)
    });
    let launch = Launch::new(2, 64).cluster(2).schedule(Schedule::All);
    // SAFETY: the map and the launch are what the kernel asks for.
    let report = launch.run(|| unsafe { cluster::broadcast_plane(&map, to.as_mut_ptr(), 2) });
    report.assert_clean();
    assert_eq!(to.to_vec(), [&elements[128..], &elements[128..]].concat());
}
