//! How long a selection takes: less than a millisecond for one shape is what the planner promises.
//!
//! `cargo bench -p tilewright-plan --bench select`

use divan::{Bencher, black_box};
use tilewright_plan::{GemmType, GpuModel, Policy, Shape, select};

const ASKED: [(&str, GemmType); 5] = [
    ("H200", GemmType::Bf16),
    ("B200", GemmType::Nvfp4),
    ("RTX PRO 6000", GemmType::Nvfp4),
    ("RTX PRO 6000", GemmType::F16),
    ("A100 80GB", GemmType::F32),
];

#[divan::bench(name = "select", args = ASKED.map(|(name, ty)| format!("{name} {ty}")))]
fn selections(bencher: Bencher<'_, '_>, asked: &str) {
    let is_asked = |(name, ty): &&(&str, GemmType)| format!("{name} {ty}") == asked;
    let &(name, ty) = ASKED.iter().find(is_asked).expect("one of them");
    let gpu = GpuModel::find(name).expect("in the table");
    let arch = gpu.architecture().expect("in the table");
    let shape = Shape {
        m: 4096,
        n: 4096,
        k: 4096,
    };
    let policy = Policy::default();
    bencher.bench(|| select(arch, gpu, black_box(&shape), ty, &policy));
}

fn main() {
    divan::main();
}
