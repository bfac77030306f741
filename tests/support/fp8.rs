//! What tests of FP8 kernels share.

use cuda_sim::Schedule;
use tilewright::SimOptions;
use tilewright::device::DeviceProfile;
use tilewright::fp8::{
    Fp8, Fp8Kernel, Fp8Matrix, Fp8Problem, Fp8ScaleLayout, Fp8Scaling, Plan, Policy, default_architecture, plan,
};
use tilewright::random::random_matrix;

pub fn device() -> DeviceProfile {
    DeviceProfile::of_arch(default_architecture())
}

pub fn options(schedule: Schedule) -> SimOptions {
    SimOptions {
        architecture: default_architecture(),
        schedule,
        ..SimOptions::default()
    }
}

pub fn plan_of(kernel: &'static Fp8Kernel, problem: &Fp8Problem, max_ctas: Option<u32>) -> Plan {
    let policy = Policy {
        kernel: Some(kernel),
        max_ctas,
        ..Policy::default()
    };
    plan(problem, &device(), &policy).expect("it fits")
}

pub fn random(format: Fp8, scaling: Fp8Scaling, seed: u64, [rows, k]: [usize; 2]) -> Fp8Matrix {
    let elements = random_matrix::<f32>(seed, rows * k);
    Fp8Matrix::quantize(format, scaling, rows, k, &elements).expect("numbers")
}

/// Elements and scales whose sums are exact in f32, and in the 14 bits of the tensor cores: small integers, most of
/// them 0, and powers of two for scales. No two neighbors are the same, so what is taken for another shows.
pub fn exact(format: Fp8, scaling: Fp8Scaling, seed: u64, [rows, k]: [usize; 2]) -> Fp8Matrix {
    let noise = random_matrix::<f32>(seed, rows * k);
    let pick = |index: usize| (noise[index % noise.len()].abs() * 1000.0) as usize;
    // 0, 1, -1, 2 and 3.
    let values = match format {
        Fp8::E4m3 => [0x00, 0x38, 0xb8, 0x40, 0x44],
        Fp8::E5m2 => [0x00, 0x3c, 0xbc, 0x40, 0x42],
    };
    let data = (0..rows * k).map(|at| values[pick(at) % 5]).collect();
    let layout = Fp8ScaleLayout::of(scaling, rows, k);
    let scales = (0..layout.lines * layout.columns).map(|at| [0.5, 1.0, 2.0][(pick(7 * at) + at) % 3]);
    let scales: Vec<f32> = scales.collect();
    Fp8Matrix::with_packed_scales(format, scaling, [rows, k], data, &scales).expect("valid")
}
