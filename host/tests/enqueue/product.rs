//! A kernel that the fake driver can load, and its products.

use half::f16;
use tilewright::dispatch::{Plan, Policy};
use tilewright::launch::{Kernels, Operands, Prepared};
use tilewright::{Activation, Factors, Family, Gemm, GemmShape};
use tilewright_contract::{Alignment, Bytes, DType, Features, Kernel, SmemLayout, SplitK, Storage, Target};

use super::fake::{A, B, BIAS, C, WORKSPACE, stream};

const FAMILY: Family = Family::new("fake_gemm", "it computes nothing", Target::from(7, 5));

/// A kernel with all that a launch tells apart but tensor maps; its PTX is a text with its name.
pub static FAKE: Kernel = Kernel {
    alignment: Alignment::VECTORS_OF_8,
    smem: SmemLayout {
        storage: Storage::Dynamic,
        stages: 4,
        a_per_stage: Bytes(16_384),
        b_per_stage: Bytes(16_384),
        ..SmemLayout::NONE
    },
    supports: Features {
        alpha_beta: true,
        epilogue: true,
        batch: true,
        dependent_launch: true,
        ..Features::PRODUCT
    },
    split_k: Some(SplitK {
        elems_per_tile: 64 * 64,
        threads: 128,
        counters_per_tile: 1,
    }),
    ..Kernel::plain(FAMILY, "fake_gemm_f16", DType::F16, [64, 64, 64], 128)
};

pub fn stated(shape: GemmShape) -> Gemm<()> {
    Gemm::new(shape).beta(1.0).bias(()).activation(Activation::Relu)
}

pub fn plan(kernels: &Kernels, shape: GemmShape, splits: u32) -> Plan {
    let policy = Policy {
        kernel: Some(&FAKE),
        splits: Some(splits),
        ..Policy::default()
    };
    stated(shape)
        .plan::<f16, f32>(kernels.profile(), &policy)
        .expect("it fits")
}

pub fn prepare(kernels: &Kernels, splits: u32) -> Prepared {
    let shape = GemmShape::packed(64, 128, 512).expect("valid");
    let prepared = kernels.prepare::<f16, f32, _>(&plan(kernels, shape, splits), &stated(shape));
    prepared.expect("the fake driver has everything")
}

pub fn operands(prepared: &Prepared) -> Operands {
    Operands::new(A, B, C)
        .bias(BIAS)
        .workspace(WORKSPACE, prepared.workspace_bytes())
        .factors(Factors { alpha: 0.5, beta: 2.0 })
}

pub fn enqueue(prepared: &Prepared, on: usize, operands: &Operands) -> tilewright::Result<()> {
    // SAFETY: the fake driver accesses nothing.
    unsafe { prepared.enqueue(stream(on), operands) }
}
