//! Kernels with programmatic dependent launch, two products one after the other, as they overlap on a GPU.

use cuda_sim::Stream;
use half::f16;

use super::*;
use crate::device::DeviceProfile;
use crate::dispatch::{Policy, plan};
use crate::{DType, KERNELS, Kernel, Transpose};

const N: usize = 128;

/// Small integers: sums of `N` products of a few of them are exact, in whatever order.
fn matrix<E: Element>(element: impl Fn(usize, usize) -> i32) -> Vec<E> {
    let at = |i: usize| E::from_f64(f64::from(element(i / N, i % N)));
    (0..N * N).map(at).collect()
}

/// `(A · B) · B`: the second launch reads what the first has stored, and both use one workspace and its counters.
fn check<E: Element + PartialEq + std::fmt::Debug>(kernel: &'static Kernel, splits: u32) {
    let shape = GemmShape::packed_transposed(N, N, N, kernel.transposes()).expect("valid");
    let policy = Policy {
        family: Some(kernel.family),
        kernel: Some(kernel),
        splits: Some(splits),
        ..Policy::default()
    };
    let device = DeviceProfile::of_arch(SimOptions::default().architecture);
    let plan = plan(&shape, kernel.dtype, &device, &policy).expect("the kernel takes it");
    let entry_point = host::find::<E>(kernel.symbol).expect("linked");
    // A cyclic shift by one column: rows of the product are rows of A, shifted.
    let a = GlobalBuffer::from_slice(&matrix::<E>(|row, column| ((3 * row + 5 * column) % 31) as i32 - 15));
    let b = GlobalBuffer::from_slice(&matrix::<E>(|k, column| i32::from((k + 1) % N == column)));
    let [first, second] = [(); 2].map(|()| GlobalBuffer::<E>::uninit(N * N));
    let workspace = GlobalBuffer::<f32>::uninit(plan.workspace_elems());
    let counters = GlobalBuffer::from_slice(&vec![0; plan.counters()]);
    let [x, y] = kernel.block;
    let launch = |name: &str| {
        Launch::new(plan.summary().grid, (x, y))
            .named(name)
            .cluster(kernel.cluster)
            .dynamic_shared_bytes(plan.dynamic_bytes().get())
            .schedule(Schedule::Standard)
            .checks(Checks::Faults)
    };
    let product = |a: &GlobalBuffer<E>, c: &GlobalBuffer<E>| {
        let addresses = [a.as_ptr(), b.as_ptr(), c.as_ptr()].map(|of| of.expose_provenance() as u64);
        let maps = kernel
            .takes_tensor_maps()
            .then(|| tensor_map::maps(kernel, &shape, 1, addresses, tensor_map::simulated).expect("aligned"));
        let [a, b, c] = [a.as_ptr(), b.as_ptr(), c.as_ptr()].map(<*const E>::expose_provenance);
        let [workspace, counters] = [
            workspace.as_mut_ptr().expose_provenance(),
            counters.as_mut_ptr().expose_provenance(),
        ];
        let plan = &plan;
        move || {
            let params = GemmParams {
                a: std::ptr::with_exposed_provenance(a),
                b: std::ptr::with_exposed_provenance(b),
                c: std::ptr::with_exposed_provenance_mut(c),
                workspace: std::ptr::with_exposed_provenance_mut(workspace),
                counters: std::ptr::with_exposed_provenance_mut(counters),
                ..plan.params(1, [1.0, 0.0])
            };
            // SAFETY: the buffers outlive the stream and are what the plan describes.
            unsafe { entry_point.call(&params, maps.as_ref()) }
        }
    };
    let report = Stream::new()
        .launch(launch("first"), product(&a, &first))
        .launch_dependent(launch("second"), product(&first, &second))
        .run();
    assert!(report.is_clean(), "{}, {splits} splits:\n{report}", kernel.symbol);
    let expected = matrix(|row, column| ((3 * row + 5 * ((column + N - 2) % N)) % 31) as i32 - 15);
    assert_eq!(second.to_vec(), expected, "{}, {splits} splits", kernel.symbol);
}

#[test]
fn a_product_of_a_product_overlaps_with_it() {
    let is_small = |kernel: &&Kernel| kernel.supports.dependent_launch && kernel.tile.m == 64 && kernel.tile.n == 64;
    let is_plain = |kernel: &&Kernel| kernel.transposes() == [Transpose::No; 2];
    for dtype in [DType::F16, DType::F64] {
        let mut of_type = KERNELS.iter().filter(|kernel| kernel.dtype == dtype);
        let kernel = of_type
            .find(|kernel| is_small(kernel) && is_plain(kernel))
            .expect("in the table");
        for splits in [1, 2] {
            match dtype {
                DType::F64 => check::<f64>(kernel, splits),
                _ => check::<f16>(kernel, splits),
            }
        }
    }
}
