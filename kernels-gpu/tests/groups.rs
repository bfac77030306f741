//! Groups of rows whose ends are wrong: on a device nobody has looked at them before a kernel reads them.

use std::ptr::null_mut;

use cuda_sim::{FaultKind, GlobalBuffer, Launch, SimFault};
use kernels_gpu::host;
use tilewright_contract::{GemmParams, GemmShape, Grid, KERNELS, Kernel, Operand};

#[test]
fn ends_that_fall_or_pass_the_last_row_touch_nothing_outside() {
    let of_groups = |kernel: &&Kernel| kernel.supports.groups && !kernel.takes_tensor_maps();
    let kernel = KERNELS.iter().find(of_groups).expect("in the table");
    let shape = GemmShape::packed(300, 64, 32).and_then(|shape| shape.with_groups(4, 64 * 32));
    let shape = shape.expect("valid");
    let grid = Grid::of_kernel(&shape, kernel, 1, None).expect("small");
    let entry_point = host::find::<f32>(kernel.symbol).expect("of f32");
    let ones = |operand| GlobalBuffer::from_slice(&vec![1.0_f32; shape.span_elems(operand)]);
    let (a, b, c) = (ones(Operand::A), ones(Operand::B), ones(Operand::C));
    for (ends, falls) in [
        ([300, 0, 299, 1], true),
        ([0, 1, u32::MAX, 2], true),
        ([u32::MAX; 4], false),
        ([300; 4], false),
    ] {
        let group_ends = GlobalBuffer::from_slice(&ends);
        let [_, stride_b, _] = shape.batch().strides;
        let launch = Launch::new(grid.extents(1), kernel.threads()).dynamic_shared_bytes(kernel.dynamic_bytes().get());
        // SAFETY: the buffers hold what the parameters say; grid, CTA and dynamic bytes are the kernel's.
        let report = launch.run(|| unsafe {
            let params = GemmParams {
                stride_b,
                batch: ends.len() as u32,
                group_ends: group_ends.as_ptr(),
                workspace: null_mut(),
                k_per_split: 32,
                ..GemmParams::product(a.as_ptr(), b.as_ptr(), c.as_mut_ptr(), shape.args())
            };
            entry_point.call(&params, None);
        });
        // Groups that share rows race for them, and that is all.
        let is_race = |fault: &SimFault| matches!(fault.kind, FaultKind::GlobalRace { .. });
        let others: Vec<_> = report
            .faults
            .iter()
            .filter(|fault| !(is_race(fault) && falls))
            .collect();
        assert!(others.is_empty(), "{ends:?}: {others:?}");
    }
    // The last ends are right: one group has every row.
    assert!(c.to_vec().iter().all(|&element| element == 32.0));
}
