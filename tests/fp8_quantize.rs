//! Quantization to FP8 in the simulator, against the CPU's quantizer: equal bits; and assembled by `ptxas`.

#[path = "support/quantize.rs"]
mod quantize;

use cuda_sim::{Checks, Report, Schedule, Synchronizations};
use half::{bf16, f16};
use proptest::prelude::*;
use quantize::{assert_equal_bits, laid_out, matrix};
use tilewright::fp8::{
    FP8_QUANTIZE_KERNELS, Fp8, Fp8Kernel, Fp8Matrix, Fp8Pass, Fp8Quantize, Fp8QuantizeKernel, Fp8Scaling, QuantizePlan,
    Quantized, default_architecture,
};
use tilewright::{DType, Element, SimOptions, ptx};
use tilewright_contract::WgmmaTile;
use tilewright_harness::inspect::Ptxas;

const SOURCES: [DType; 3] = [DType::F32, DType::F16, DType::Bf16];

fn options(schedule: Schedule) -> SimOptions {
    SimOptions {
        architecture: default_architecture(),
        schedule,
        ..SimOptions::default()
    }
}

/// A quantization, and how its source differs from a packed matrix along K.
#[derive(Clone, Copy, Debug)]
struct Case {
    format: Fp8,
    scaling: Fp8Scaling,
    source: DType,
    extents: [usize; 2],
    is_transposed: bool,
    /// Elements between two lines of the source.
    padding: usize,
    seed: u64,
}

impl Case {
    /// That of a kernel, e4m3.
    fn of(kernel: &Fp8QuantizeKernel, extents: [usize; 2]) -> Self {
        Self {
            format: Fp8::E4m3,
            scaling: kernel.scaling,
            source: kernel.source,
            extents,
            is_transposed: kernel.is_transposed,
            padding: 0,
            seed: 1,
        }
    }

    fn plan(&self) -> QuantizePlan {
        let [rows, k] = self.extents;
        let quantize = Fp8Quantize::new(self.format, self.scaling, self.source, rows, k);
        let quantize = match self.is_transposed {
            true => quantize.transposed().ld(rows + self.padding),
            false => quantize.ld(k + self.padding),
        };
        quantize.plan().expect("valid")
    }

    fn simulate<T: Element>(&self, elements: &[T], options: &SimOptions) -> Quantized {
        let source = laid_out(elements, self.extents, self.is_transposed, self.padding);
        self.plan().simulate(&source, options).expect("it runs")
    }

    /// Simulates a random matrix, and demands the bits of the CPU.
    fn check(&self, options: &SimOptions) {
        match self.source {
            DType::F16 => self.check_of::<f16>(options),
            DType::Bf16 => self.check_of::<bf16>(options),
            _ => self.check_of::<f32>(options),
        }
    }

    fn check_of<T: Element>(&self, options: &SimOptions) {
        let [rows, k] = self.extents;
        let elements = matrix::<T>(self.seed, self.scaling, self.extents);
        let quantized = self.simulate(&elements, options);
        quantized.assert_clean();
        let numbers: Vec<f32> = elements.iter().map(|element| element.to_f64() as f32).collect();
        let on_cpu = Fp8Matrix::quantize(self.format, self.scaling, rows, k, &numbers).expect("numbers");
        assert_equal_bits(&on_cpu, &quantized.data, &quantized.scales)
            .unwrap_or_else(|error| panic!("{self:?}: {error}"));
    }
}

#[test]
fn every_kernel_has_the_bits_of_the_cpu() {
    // Whole tiles, residues in both extents, vectors and single elements, lines that begin at odd elements.
    for (at, (extents, padding)) in [([128, 256], 0), ([130, 144], 4), ([70, 272], 3), ([1, 16], 1)]
        .into_iter()
        .enumerate()
    {
        for source in SOURCES {
            for scaling in Fp8Scaling::ALL {
                for is_transposed in [false, true] {
                    let case = Case {
                        format: Fp8::ALL[at % 2],
                        scaling,
                        source,
                        extents,
                        is_transposed,
                        padding,
                        seed: at as u64,
                    };
                    case.check(&options(Schedule::Standard));
                }
            }
        }
    }
}

#[test]
fn every_order_of_threads_is_clean() {
    for kernel in FP8_QUANTIZE_KERNELS
        .iter()
        .filter(|kernel| kernel.pass == Fp8Pass::Quantize)
    {
        Case::of(kernel, [20, 144]).check(&options(Schedule::All));
    }
}

#[test]
fn partials_of_several_tiles_are_reduced() {
    // More tiles along K than a row has partials; each of these is of one or two.
    let k = (Fp8QuantizeKernel::ROW_SPLITS as usize + 2) * 128 + 16;
    for is_transposed in [false, true] {
        let case = |scaling, extents| Case {
            format: Fp8::E5m2,
            scaling,
            source: DType::Bf16,
            extents,
            is_transposed,
            padding: 0,
            seed: 3,
        };
        case(Fp8Scaling::Rows, [5, k]).check(&options(Schedule::Forward));
    }
    // More tiles than a tensor has partials.
    let k = (Fp8QuantizeKernel::TENSOR_SPLITS as usize + 3) * 128;
    let case = Case {
        format: Fp8::E4m3,
        scaling: Fp8Scaling::Tensor,
        source: DType::F32,
        extents: [1, k],
        is_transposed: false,
        padding: 0,
        seed: 4,
    };
    assert_eq!(
        case.plan().workspace_bytes(),
        4 * Fp8QuantizeKernel::TENSOR_SPLITS as usize
    );
    let checks = Checks::Faults;
    case.check(&SimOptions {
        checks,
        ..options(Schedule::Forward)
    });
}

#[test]
fn every_barrier_is_needed() {
    for kernel in FP8_QUANTIZE_KERNELS
        .iter()
        .filter(|kernel| kernel.source == DType::Bf16)
    {
        let case = Case::of(kernel, [130, 272]);
        let elements = matrix::<bf16>(1, case.scaling, case.extents);
        let at = case
            .plan()
            .launches()
            .position(|launch| launch.kernel == kernel)
            .expect("one of its launches");
        let run = |synchronizations| -> Report {
            let options = SimOptions {
                synchronizations,
                checks: Checks::Faults,
                ..options(Schedule::Standard)
            };
            let reports = case.simulate(&elements, &options).reports;
            reports.into_iter().nth(at).expect("the launch before is clean")
        };
        let barriers = run(Synchronizations::Listed).synchronizations;
        // One for each array that warps exchange.
        let smem = kernel.smem().get();
        let expected = usize::from(smem > 0) + usize::from(smem > 128 * 128);
        assert_eq!(barriers.len(), expected, "{}", kernel.symbol);
        for barrier in barriers {
            let report = run(Synchronizations::Without(barrier.clone()));
            assert!(!report.is_clean(), "{}: {barrier:?}", kernel.symbol);
        }
    }
}

#[test]
fn no_product_of_what_is_no_number_is_a_number() {
    let (rows, k) = (140, 272);
    let [bad_row, bad_k] = [131, 200];
    for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        for scaling in Fp8Scaling::ALL {
            for is_transposed in [false, true] {
                let case = Case {
                    format: if bad > 0.0 { Fp8::E5m2 } else { Fp8::E4m3 },
                    scaling,
                    source: DType::F32,
                    extents: [rows, k],
                    is_transposed,
                    padding: 0,
                    seed: 5,
                };
                let mut elements = matrix::<f32>(5, scaling, [rows, k]);
                elements[bad_row * k + bad_k] = bad;
                let quantized = case.simulate(&elements, &options(Schedule::Standard));
                quantized.assert_clean();
                elements[bad_row * k + bad_k] = 0.0;
                let on_cpu = Fp8Matrix::quantize(case.format, scaling, rows, k, &elements).expect("numbers");
                let layout = on_cpu.scale_layout();
                let bad_scale = layout.index(bad_row, bad_k);
                for (at, &scale) in quantized.scales.iter().enumerate() {
                    let is_right = scale.to_bits() == on_cpu.scales()[at].to_bits();
                    assert_eq!(is_right, at != bad_scale, "{case:?}: scale {at} is {scale}");
                }
                assert!(quantized.scales[bad_scale].is_nan());
                for (at, &bits) in quantized.data.iter().enumerate() {
                    let is_bad = layout.index(at / k, at % k) == bad_scale;
                    let is_right = if is_bad {
                        case.format.is_nan(bits)
                    } else {
                        bits == on_cpu.data()[at]
                    };
                    assert!(is_right, "{case:?}: element {at} is {bits:#04x}");
                }
            }
        }
    }
}

#[test]
fn without_rows_nothing_is_launched() {
    for scaling in Fp8Scaling::ALL {
        let plan = Fp8Quantize::new(Fp8::E4m3, scaling, DType::F32, 0, 16)
            .plan()
            .expect("valid");
        assert_eq!(
            (plan.launches().count(), plan.data_bytes(), plan.source_elems()),
            (0, 0, 0)
        );
        let quantized = plan
            .simulate::<f32>(&[], &options(Schedule::Standard))
            .expect("it runs");
        assert!(quantized.data.is_empty() && quantized.reports.is_empty());
    }
}

#[test]
fn bad_input_is_refused_with_the_numbers() {
    let quantize = |source, rows, k| Fp8Quantize::new(Fp8::E4m3, Fp8Scaling::Rows128, source, rows, k);
    let million = 1 << 20;
    for (quantize, message) in [
        (
            quantize(DType::F32, 3, 20),
            "K = 20 of e4m3: it has to be a multiple of 16, nearest 32",
        ),
        (
            quantize(DType::F32, 3, 32).ld(31),
            "a leading dimension of 31 is less than the 32 elements of a line",
        ),
        (
            quantize(DType::F32, 3, 32).transposed().ld(2),
            "a leading dimension of 2 is less than the 3 elements of a line",
        ),
        (
            quantize(DType::F64, 3, 32),
            "FP8 is quantized from f32, f16 or bf16, not from f64",
        ),
        (
            quantize(DType::F16, 1 << 31, 16),
            "2147483648 x 16 with 16 elements from line to line: each has to be below 2^31",
        ),
        (
            quantize(DType::F16, 8 * million, 8 * million),
            "quantizing 8388608 x 8388608 elements takes 4294967296 CTAs, a grid has at most 2147483647",
        ),
    ] {
        assert_eq!(quantize.plan().expect_err(message).to_string(), message);
    }
    let plan = quantize(DType::F32, 3, 32).ld(40).plan().expect("valid");
    let options = options(Schedule::Standard);
    let short = plan.simulate(&[0.0_f32; 111], &options);
    assert_eq!(
        short.expect_err("too short").to_string(),
        "the source takes 112 elements, got 111"
    );
    let other = plan.simulate(&[f16::ZERO; 112], &options);
    assert_eq!(
        other.expect_err("of f16").to_string(),
        "the plan is for a source of f32, not f16"
    );
}

#[test]
fn ptxas_assembles_every_kernel_without_spills() {
    let ptxas = Ptxas::find().expect("cargo xtask setup");
    let assembled = ptxas
        .assemble(&ptx::fp8().ptx, Fp8Kernel::TARGET, &["-v"])
        .expect("it assembles");
    for kernel in &FP8_QUANTIZE_KERNELS {
        let usage = assembled.report.kernel(kernel.symbol).expect("in the report");
        let spills = (usage.stack_bytes, usage.spill_store_bytes, usage.spill_load_bytes);
        assert_eq!(spills, (0, 0, 0), "{}", kernel.symbol);
        // The products of this module have dynamic shared memory at a multiple of 1024, to which ptxas rounds.
        let bytes = kernel.smem().get().next_multiple_of(WgmmaTile::ALIGNMENT.get());
        assert_eq!(usage.static_smem_bytes, bytes, "{}", kernel.symbol);
        // Two CTAs an SM.
        assert!(usage.registers <= 128, "{}: {}", kernel.symbol, usage.registers);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn every_shape_has_the_bits_of_the_cpu(format in prop::sample::select(&Fp8::ALL[..]),
        scaling in prop::sample::select(&Fp8Scaling::ALL[..]), source in prop::sample::select(&SOURCES[..]),
        rows in 1_usize..300, k16 in 1_usize..25, is_transposed: bool, padding in 0_usize..10, seed: u64) {
        let extents = [rows, 16 * k16];
        let case = Case { format, scaling, source, extents, is_transposed, padding, seed };
        case.check(&options(Schedule::Random(seed)));
    }
}
