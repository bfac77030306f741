//! A kernel from outside the table: the policy names it, the simulator finds it by its symbol.

use cuda_std::{kernel, thread};
use kernels_gpu::operands::Operands;
use tilewright::device::DeviceProfile;
use tilewright::dispatch::{Plan, PlanError, Policy, plan};
use tilewright::random::random_matrix;
use tilewright::simulate::{SimOptions, simulate};
use tilewright::{DType, Family, Gemm, GemmShape, Kernel, Operand, check};
use tilewright_contract::{GemmParams, TileOrigin};

const WIDTH: u32 = 8;

static OUTSIDE: Kernel = Kernel {
    block: [WIDTH; 2],
    ..Kernel::plain(
        Family::NAIVE,
        "outside_f32",
        DType::F32,
        [WIDTH, WIDTH, 1],
        WIDTH * WIDTH,
    )
};

/// One thread for each element of C.
///
/// # Safety
/// Operands as `params` describes them, grid and CTA of [`OUTSIDE`].
#[kernel(max_threads = WIDTH * WIDTH)]
pub unsafe fn outside_f32(#[grid_constant] params: &GemmParams<f32>) {
    let GemmParams {
        m, n, k, lda, ldb, ldc, ..
    } = *params;
    // SAFETY: the caller's promise.
    let Operands { a, b, c, .. } = unsafe { Operands::new(params) };
    let origin = TileOrigin::of_block(thread::block_idx_x(), n, WIDTH);
    let (row, column) = (
        origin.row + thread::thread_idx_y(),
        origin.column + thread::thread_idx_x(),
    );
    if row < m && column < n {
        // SAFETY: row < m, column < n, i < k; no other thread stores this element.
        unsafe {
            let product = |i: u32| a.get((row * lda + i) as usize) * b.get((i * ldb + column) as usize);
            c.set((row * ldc + column) as usize, (0..k).map(product).sum());
        }
    }
}

fn planned(shape: &GemmShape, dtype: DType) -> Result<Plan, PlanError> {
    let policy = Policy {
        kernel: Some(&OUTSIDE),
        ..Policy::default()
    };
    let profile = DeviceProfile::of_arch(SimOptions::default().architecture);
    plan(shape, dtype, &profile, &policy)
}

#[test]
fn is_planned_and_simulated_like_any_other() {
    for [m, n, k] in [[1, 1, 1], [8, 8, 0], [19, 30, 7]] {
        let shape = GemmShape::with_ld(m, n, k, k + 2, n + 1, n + 3).expect("valid");
        let plan = planned(&shape, DType::F32).expect("accepts any");
        assert_eq!((plan.kernel(), plan.kernel().tile.n), (&OUTSIDE, WIDTH));
        let operand = |operand, seed| random_matrix::<f32>(seed, shape.span_elems(operand));
        let (a, b) = (operand(Operand::A, 1), operand(Operand::B, 2));
        let product = simulate(
            &plan,
            &Gemm::new(plan.shape()),
            &a,
            &b,
            None::<&[f32]>,
            &SimOptions::default(),
        )
        .expect("runs");
        product.assert_clean();
        assert!(
            check::full(&shape, &a, &b, &product.c).expect("lengths fit").passed(),
            "{shape}"
        );
    }
}

#[test]
fn is_refused_with_the_reasons_of_any_other() {
    let shape = GemmShape::packed(4, 4, 4).expect("valid");
    match planned(&shape, DType::F16) {
        Err(PlanError::NoSuchType { nearest, .. }) => assert_eq!(nearest, DType::F32),
        other => panic!("{other:?}"),
    }
}
