//! The kernels with `wgmma` on the GPU: many tiles for each CTA that stays, clusters, split-K, alpha and beta, C with
//! and without a tensor map.

use half::{bf16, f16};
use tilewright::launch::Gpu;
use tilewright::{DType, Factors, GemmShape, KERNELS, Kernel, Operand};

use crate::Outcome;
use crate::gemm::{is_right, of_variant};
use crate::trial::Trial;

pub fn trials(runs: impl Fn(&&Kernel) -> bool) -> Vec<Trial> {
    let with_wgmma = |kernel: &&'static Kernel| {
        kernel.loads == tilewright_contract::Loads::Tma && !kernel.supports.groups && runs(kernel)
    };
    let trial = |kernel: &'static Kernel| {
        Trial::test(format!("wgmma::{}", kernel.symbol), move || {
            let gpu = Gpu::open(0)?;
            match kernel.dtype {
                DType::F16 => every_kind_of_product(kernel, |shape, factors, splits| {
                    is_right::<f16>(&gpu, shape, factors, &of_variant(kernel, splits))
                }),
                DType::F32 => every_kind_of_product(kernel, |shape, factors, splits| {
                    is_right::<f32>(&gpu, shape, factors, &of_variant(kernel, splits))
                }),
                _ => every_kind_of_product(kernel, |shape, factors, splits| {
                    is_right::<bf16>(&gpu, shape, factors, &of_variant(kernel, splits))
                }),
            }
        })
    };
    KERNELS.iter().filter(with_wgmma).map(trial).collect()
}

/// `check`: of a shape, factors and split-K factor.
fn every_kind_of_product(kernel: &'static Kernel, check: impl Fn(&GemmShape, Factors, u32) -> Outcome) -> Outcome {
    let splits: &[u32] = if kernel.split_k.is_some() { &[1, 3, 9] } else { &[1] };
    // Elements behind each row of C: 8 of 16 bytes, or such that no tensor map of C can be.
    for ([m, n, k], gap_c) in [
        ([300, 264, 133], 8),
        ([300, 263, 133], 0),
        ([132, 40, 0], 0),
        ([1, 1, 1], 0),
        ([257, 520, 1000], 0),
        // More tiles than blocks that stay.
        ([2100, 2056, 72], 0),
    ] {
        let packed = GemmShape::packed_transposed(m, n, k, kernel.transposes())?;
        let ld = |operand| packed.extents(operand).2.next_multiple_of(8);
        let lds = [ld(Operand::A), ld(Operand::B), n + gap_c];
        let shape = GemmShape::with_transposes(m, n, k, kernel.transposes(), lds)?;
        for &splits in splits {
            check(&shape, Factors { alpha: 1.0, beta: 0.0 }, splits)?;
            if kernel.supports.alpha_beta {
                check(&shape, Factors { alpha: -2.5, beta: 0.5 }, splits)?;
            }
        }
    }
    Ok(())
}
