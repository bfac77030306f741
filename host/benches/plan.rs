//! How long dispatch takes to plan a product: the first time, with every candidate priced, and again, from the plans
//! that are kept.
//!
//! `cargo bench -p tilewright --bench plan`

use std::cell::Cell;

use divan::{Bencher, black_box};
use tilewright::device::DeviceProfile;
use tilewright::dispatch::{Policy, plan};
use tilewright::{DType, GemmShape};

/// Rows of the product whose plan is kept.
const ASKED_AGAIN: usize = 100;

const DTYPES: [DType; 4] = [DType::F32, DType::F64, DType::F16, DType::Bf16];

/// Few enough rows that splits of K are candidates.
fn shape(m: usize) -> GemmShape {
    GemmShape::packed(m, 771, 2050).expect("extents that the kernels can index")
}

fn h200() -> DeviceProfile {
    DeviceProfile::of_arch(cuda_arch::find("sm_90").expect("in the table"))
}

#[divan::bench(args = DTYPES)]
fn first(bencher: Bencher<'_, '_>, dtype: DType) {
    let (device, policy) = (h200(), Policy::default());
    // No shape was asked for before.
    let m = Cell::new(ASKED_AGAIN + 1);
    bencher
        .with_inputs(|| shape(m.replace(m.get() + 1)))
        .bench_local_values(|shape| plan(&shape, dtype, &device, &policy).expect("fits"));
}

#[divan::bench(args = DTYPES)]
fn again(bencher: Bencher<'_, '_>, dtype: DType) {
    let (device, policy, shape) = (h200(), Policy::default(), shape(ASKED_AGAIN));
    plan(&shape, dtype, &device, &policy).expect("fits");
    bencher.bench(|| plan(black_box(&shape), dtype, &device, &policy));
}

fn main() {
    divan::main();
}
