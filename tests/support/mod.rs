//! One harness for every test that runs kernels in the simulator: plan, simulate, hold the result to f64 and the bytes
//! of shared memory to the plan.

// Each test program takes from here what it needs.
#![allow(dead_code)]

use cuda_sim::{Checks, Report, Schedule};
use half::{bf16, f16};
use tilewright::check::Expected;
use tilewright::device::{DeviceProfile, Installed};
use tilewright::dispatch::{KernelUsage, Plan, Policy, kernel_sheet, plan, usage};
use tilewright::random::random_matrix;
use tilewright::simulate::{SimOptions, simulate};
use tilewright::{Activation, DType, Element, Factors, Gemm, GemmShape, Kernel, Operand, OutputOf};
use tilewright_harness::verify::group_ends;

/// What a kernel is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    /// The kernel.
    pub kernel: &'static Kernel,
    /// The width of its tile, of a kernel that leaves it to the launch.
    pub width: Option<u32>,
    /// The split-K factor; taken as 1 for a kernel without split-K.
    pub splits: u32,
    /// Alpha and beta.
    pub factors: Factors,
    /// The SMs of the device that is planned for.
    pub sms: u32,
    /// The order of threads.
    pub schedule: Schedule,
    /// What is watched beside the result.
    pub checks: Checks,
}

impl Ask {
    /// The product alone, in one part, on a device of 132 SMs.
    pub fn of(kernel: &'static Kernel) -> Self {
        Self {
            kernel,
            width: None,
            splits: 1,
            factors: Factors { alpha: 1.0, beta: 0.0 },
            sms: 132,
            schedule: Schedule::Forward,
            checks: Checks::Faults,
        }
    }

    /// How it is simulated.
    pub fn options(&self) -> SimOptions {
        SimOptions {
            schedule: self.schedule,
            checks: self.checks,
            // The test harness runs as many tests at once as there are cores.
            workers: 1,
            ..SimOptions::default()
        }
    }

    /// The plan for a shape.
    pub fn plan(&self, shape: &GemmShape) -> Plan {
        self.plan_for(shape, false)
    }

    fn plan_for(&self, shape: &GemmShape, epilogue: bool) -> Plan {
        let kernel = self.kernel;
        let policy = Policy {
            family: Some(kernel.family),
            kernel: Some(kernel),
            tile: self.width,
            splits: kernel.split_k.is_some().then_some(self.splits),
            epilogue,
            ..Policy::default()
        };
        let device = DeviceProfile {
            installed: Some(Installed {
                sms: self.sms,
                l2_bytes: 50 << 20,
                clock_khz: 1_980_000,
                memory_bytes: 16 << 30,
                dram_bytes_per_second: 4_800_000_000_000,
                driver: "13.0".to_owned(),
            }),
            ..DeviceProfile::of_arch(self.options().architecture)
        };
        plan(shape, kernel.dtype, &device, &policy).unwrap_or_else(|error| panic!("{self:?}, {shape}: {error}"))
    }

    /// Simulates a product in the kernel's own type, and asserts that nothing is wrong. `None` for an empty C.
    pub fn is_right(&self, shape: &GemmShape) -> Option<Report> {
        let ends = group_ends(shape);
        fn problem<'a, T: Element>(shape: &GemmShape, ends: Option<&'a [u32]>) -> Gemm<&'a [T], T::Accumulator> {
            Gemm {
                group_ends: ends,
                ..Gemm::new(*shape)
            }
        }
        let ends = ends.as_deref();
        match self.kernel.dtype {
            DType::F32 => self.is_right_for::<f32, f32>(&problem(shape, ends).factors(self.factors)),
            DType::F64 => {
                let [alpha, beta] = [self.factors.alpha, self.factors.beta].map(f64::from);
                self.is_right_for::<f64, f64>(&problem(shape, ends).factors(Factors { alpha, beta }))
            }
            DType::F16 => self.is_right_for::<f16, f16>(&problem(shape, ends).factors(self.factors)),
            DType::Bf16 => self.is_right_for::<bf16, bf16>(&problem(shape, ends).factors(self.factors)),
        }
    }

    /// Simulates a problem, and asserts that nothing is wrong: no fault, the planned CTAs and bytes, the right result.
    /// Without beta nobody has written C before, so that to read it is a fault.
    pub fn is_right_for<T: Element, C: OutputOf<T>>(&self, problem: &Gemm<&[T], T::Accumulator>) -> Option<Report> {
        let (shape, epilogue) = (&problem.shape, problem.epilogue);
        let what = format!("{self:?}, {shape} to {}, {:?}", C::DTYPE, epilogue.activation);
        let (a, b) = (operand::<T>(shape, Operand::A), operand::<T>(shape, Operand::B));
        let before = operand::<C>(shape, Operand::C);
        let needs_epilogue = epilogue.bias.is_some() || epilogue.activation != Activation::None || C::DTYPE != T::DTYPE;
        let plan = self.plan_for(shape, needs_epilogue);
        let read = epilogue.factors.reads_c().then_some(&before[..]);
        let product =
            simulate(&plan, problem, &a, &b, read, &self.options()).unwrap_or_else(|error| panic!("{what}: {error}"));
        if let Some(report) = &product.report {
            assert!(report.is_clean(), "{what}:\n{report}");
            // With alpha 0 there is no K to be split.
            let launched = match epilogue.factors.reads_operands() {
                true => plan.clone(),
                false => plan.without_k(),
            };
            assert_eq!(report.blocks, launched.grid().blocks(), "{what}");
            planned_bytes_are_used(&plan, report, &what);
        }
        let expected = Expected::of_groups(shape, problem.group_ends, &a, &b).expect("as long as the shape says");
        let expected = expected.with_precision(self.kernel.precision).expect("bounded");
        let expected = expected.with_epilogue(epilogue, &before).expect("finite");
        let verdict = expected.full(&product.c).expect("as long as the shape says");
        assert!(verdict.passed(), "{what}: {verdict}");
        product.report
    }
}

/// An operand with random elements, the same for the same shape.
pub fn operand<T: Element>(shape: &GemmShape, operand: Operand) -> Vec<T> {
    random_matrix(operand as u64 + 1, shape.span_elems(operand))
}

/// What the contract says, what the launch gave, what the kernel used and what the planner's worksheet comes to are one
/// number.
fn planned_bytes_are_used(plan: &Plan, report: &Report, what: &str) {
    let (kernel, summary, shared) = (plan.kernel(), plan.summary(), &report.shared);
    let (static_bytes, dynamic_bytes) = (kernel.static_bytes().get(), kernel.dynamic_bytes().get());
    let planned = u64::from(static_bytes + dynamic_bytes);
    assert_eq!(
        (summary.static_smem_bytes, summary.dynamic_smem_bytes),
        (static_bytes, dynamic_bytes),
        "{what}: plan"
    );
    assert_eq!(
        (shared.static_bytes, shared.dynamic_bytes),
        (static_bytes.into(), dynamic_bytes.into()),
        "{what}: launch"
    );
    assert_eq!(shared.high_water_bytes, planned, "{what}: high-water mark");
    assert_eq!(shared.limit_bytes, u64::from(summary.limit_bytes), "{what}: limit");
    let arch = cuda_arch::find("sm_90").expect("in the table");
    let used = KernelUsage {
        // The simulator has no registers that could be spilled.
        static_bytes,
        ..usage(kernel.symbol, arch).expect("in the table")
    };
    let sheet = kernel_sheet(kernel, used, arch).expect("legal");
    assert_eq!(
        u64::from(sheet.static_bytes + sheet.dynamic_bytes),
        planned,
        "{what}: sheet"
    );
    // The planner's templates are of the library's kernels: they round the mbarriers of a lesson up.
    if kernel.symbol.starts_with("lesson_") {
        return;
    }
    let worksheet = sheet.worksheet.map(|worksheet| worksheet.total_bytes);
    assert_eq!(
        worksheet,
        kernel.smem.has_tiles().then_some(planned),
        "{what}: worksheet"
    );
}
