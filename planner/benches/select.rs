//! How long a selection takes: less than a millisecond for one shape is what the planner promises.
//!
//! `cargo bench -p tilewright-plan --bench select`

use std::hint::black_box;

use criterion::Criterion;
use tilewright_plan::{GemmType, Policy, Product, Shape, select};

fn selections(criterion: &mut Criterion) {
    let shape = Shape {
        m: 4096,
        n: 4096,
        k: 4096,
    };
    for (name, ty) in [
        ("H200", GemmType::Bf16),
        ("B200", GemmType::Nvfp4),
        ("RTX PRO 6000", GemmType::Nvfp4),
        ("RTX PRO 6000", GemmType::F16),
        ("A100 80GB", GemmType::F32),
    ] {
        let product = Product::find(name).expect("in the table");
        let arch = product.architecture().expect("in the table");
        let policy = Policy::default();
        criterion.bench_function(&format!("select {name} {ty}"), |bencher| {
            bencher.iter(|| select(arch, product, black_box(&shape), ty, &policy));
        });
    }
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    selections(&mut criterion);
    criterion.final_summary();
}
