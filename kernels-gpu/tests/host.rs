//! The kernels' tables for the host, and what is computed of a product's accumulators. Not in the library: its unit
//! tests would compile all kernels once more.

use std::collections::BTreeSet;

use cuda_sim::device::{KernelFunction, kernel_functions};
use half::{bf16, f16};
use kernels_gpu::block::element::Element;
use kernels_gpu::block::epilogue::{gelu, relu};
use kernels_gpu::host::{EntryPoint, find};
use kernels_gpu::ptx::permute;
use tilewright_contract::{BLOCK_SCALED_KERNELS, CopyKind, DType, FP8_KERNELS, FP8_QUANTIZE_KERNELS, KERNELS};

#[test]
fn the_table_has_the_rows_of_the_contract_and_no_others() {
    // Copies of operands multiply nothing.
    let of_table = |kernel: &&KernelFunction| {
        let folders = ["kernels_gpu::gemm::", "kernels_gpu::lessons::"];
        let is_copy = CopyKind::ALL.iter().any(|kind| kind.symbol() == kernel.name);
        !is_copy && folders.iter().any(|folder| kernel.path.starts_with(folder))
    };
    let listed = kernel_functions().iter().filter(of_table);
    let listed: Vec<_> = listed.map(|kernel| kernel.name).collect();
    let block_scaled = BLOCK_SCALED_KERNELS.iter().map(|kernel| kernel.symbol);
    let fp8 = FP8_KERNELS.iter().map(|kernel| kernel.symbol);
    let quantize = FP8_QUANTIZE_KERNELS.iter().map(|kernel| kernel.symbol);
    let of_contract = KERNELS
        .iter()
        .map(|kernel| kernel.symbol)
        .chain(block_scaled)
        .chain(fp8)
        .chain(quantize);
    let of_contract: BTreeSet<_> = of_contract.collect();
    assert_eq!(listed.len(), of_contract.len(), "each once");
    assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), of_contract);
}

/// Whether a kernel is there, and whether it takes tensor maps.
fn takes_maps<E: Element>(symbol: &str) -> Option<bool> {
    find::<E>(symbol).map(|entry_point| matches!(entry_point, EntryPoint::ParamsAndMaps(_)))
}

#[test]
fn each_is_found_by_its_own_element_type_only_and_takes_maps_where_the_contract_says() {
    for kernel in &KERNELS {
        let found = [
            (DType::F32, takes_maps::<f32>(kernel.symbol)),
            (DType::F64, takes_maps::<f64>(kernel.symbol)),
            (DType::F16, takes_maps::<f16>(kernel.symbol)),
            (DType::Bf16, takes_maps::<bf16>(kernel.symbol)),
        ];
        for (dtype, found) in found {
            let expected = (dtype == kernel.dtype).then_some(kernel.takes_tensor_maps());
            assert_eq!(found, expected, "{} as {dtype}", kernel.symbol);
        }
    }
    assert!(find::<f32>("r99").is_none());
}

#[test]
fn gelu_is_as_exact_as_it_says() {
    for step in -40_000..=40_000 {
        let x = step as f32 / 2000.0;
        let wide = f64::from(x);
        let twice_u = 2.0 * (2.0 / core::f64::consts::PI).sqrt() * (wide + 0.044715 * wide.powi(3));
        let power = (-twice_u).exp();
        let exact = wide / (1.0 + power);
        let share = if power.is_finite() { power / (1.0 + power) } else { 1.0 };
        let bound =
            exact.abs() * ((-20.0_f64).exp2() + (-21.0_f64).exp2() * twice_u.abs() * share) + (-120.0_f64).exp2();
        let error = (f64::from(gelu(x)) - exact).abs();
        assert!(error <= bound, "gelu({x}): {} and not {exact}", gelu(x));
    }
    assert_eq!(gelu(f32::INFINITY), f32::INFINITY);
    assert_eq!(gelu(1e30), 1e30);
    assert_eq!(gelu(-1e30), 0.0);
    assert!(gelu(f32::NAN).is_nan() && gelu(f32::NEG_INFINITY).is_nan());
}

#[test]
fn relu_keeps_nan() {
    assert_eq!([relu(-1.0), relu(2.0)], [0.0, 2.0]);
    assert!(relu(f32::NAN).is_nan());
}

#[test]
fn words_are_of_the_bytes_that_are_selected() {
    let [low, high] = [0x3322_1100, 0x7766_5544];
    assert_eq!(permute::bytes(low, high, permute::LOW_WORD), low);
    assert_eq!(permute::bytes(low, high, permute::MIDDLE_WORD), 0x5544_3322);
}
