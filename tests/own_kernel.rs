//! A family from outside the library (`tests/subjects/own_kernel`, `docs/guide/src/17-adding-a-kernel.md`): planned and
//! simulated by its descriptor, found by its symbol, compiled to PTX; `tests/gpu` launches it.

use own_kernel::KERNELS;
use tilewright::device::DeviceProfile;
use tilewright::dispatch::{Named, Plan, PlanError, Policy, plan};
use tilewright::random::random_matrix;
use tilewright::simulate::{SimOptions, simulate};
use tilewright::{DType, Gemm, GemmShape, Kernel, Operand, check};

/// The fixture as the build script compiled it.
const PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/own_kernel.ptx"));

fn planned(kernel: &'static Kernel, shape: &GemmShape, dtype: DType) -> Result<Plan, PlanError> {
    let policy = Policy {
        kernel: Some(kernel),
        ..Policy::default()
    };
    let profile = DeviceProfile::of_arch(SimOptions::default().architecture);
    plan(shape, dtype, &profile, &policy)
}

#[test]
fn it_is_planned_and_simulated_like_any_other() {
    for kernel in KERNELS {
        for [m, n, k] in [[1, 1, 1], [32, 32, 0], [35, 66, 19]] {
            let shape = GemmShape::with_ld(m, n, k, k + 2, n + 1, n + 3).expect("valid");
            let plan = planned(kernel, &shape, DType::F64).expect("accepts any");
            assert_eq!((plan.kernel(), plan.grid().blocks()), (kernel, tiles(kernel, m, n)));
            let operand = |operand, seed| random_matrix::<f64>(seed, shape.span_elems(operand));
            let (a, b) = (operand(Operand::A, 1), operand(Operand::B, 2));
            let product = simulate(
                &plan,
                &Gemm::new(plan.shape()),
                &a,
                &b,
                None::<&[f64]>,
                &SimOptions::default(),
            )
            .expect("runs");
            product.assert_clean();
            let verdict = check::full(&shape, &a, &b, &product.c).expect("lengths fit");
            assert!(verdict.passed(), "{} {shape}: {verdict}", kernel.symbol);
        }
    }
}

fn tiles(kernel: &Kernel, m: usize, n: usize) -> u64 {
    (m.div_ceil(kernel.tile.m as usize) * n.div_ceil(kernel.tile.n as usize)) as u64
}

#[test]
fn it_is_refused_with_the_reasons_of_any_other() {
    let shape = GemmShape::packed(4, 4, 4).expect("valid");
    match planned(&KERNELS[0], &shape, DType::F16) {
        Err(PlanError::NoSuchType { named, .. }) => assert_eq!(named, Named::Kernel(KERNELS[0].symbol)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn its_ptx_has_an_entry_point_for_each_row_and_the_shared_memory_of_the_plan() {
    assert_eq!(PTX.matches(".visible .entry ").count(), KERNELS.len());
    for kernel in KERNELS {
        let (_, text) = PTX
            .split_once(&format!(".visible .entry {}(", kernel.symbol))
            .unwrap_or_else(|| panic!("no entry {}", kernel.symbol));
        let text = text.split_once(".visible .entry ").map_or(text, |(this, _)| this);
        assert!(
            text.contains("bar.sync") && !text.contains(".local"),
            "{}",
            kernel.symbol
        );
    }
    let bytes: u32 = PTX
        .lines()
        .filter(|line| line.contains(".shared "))
        .filter_map(|line| line.split_once('[')?.1.split_once(']')?.0.parse::<u32>().ok())
        .sum();
    assert_eq!(
        bytes,
        KERNELS.iter().map(|kernel| kernel.static_bytes().get()).sum::<u32>()
    );
}

#[test]
fn the_page_quotes_the_file() {
    let root = env!("CARGO_MANIFEST_DIR");
    let read = |path: &str| std::fs::read_to_string(format!("{root}/{path}")).expect("in the repository");
    let (page, file) = (
        read("docs/guide/src/17-adding-a-kernel.md"),
        read("tests/subjects/own_kernel/src/lib.rs"),
    );
    let mut quoted = 0;
    for listing in page.split("```rust\n").skip(1) {
        let (listing, _) = listing.split_once("```").expect("it ends");
        if !listing.starts_with("// elsewhere") {
            assert!(file.contains(listing), "not in the fixture:\n{listing}");
            quoted += 1;
        }
    }
    assert!(quoted >= 3, "{quoted} listings");
}
