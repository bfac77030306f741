//! How many operations an SM completes in a clock, by architecture, instruction path and element type.
//!
//! The table is also the table of support: an instruction that an architecture lacks has no row. Rows were held against
//! `ptxas` 13.0 by assembling every instruction for every target; where it splits an instruction (fp8 by `mma.sync` on
//! 9.0 and later data-centre parts becomes two f16 instructions and conversions), the row has the rate of what is
//! executed.

use cuda_arch::ComputeCapability;
use serde::Serialize;

use crate::gemm_type::GemmType::{self, Bf16, E4m3, E5m2, F16, F32, F64, Int8, Mxfp4, Mxfp8, Mxfp8xMxfp4, Nvfp4, Tf32};
use crate::path::Path::{self, MmaSync, Simt, Tcgen05, Wgmma};

/// What SMs of some architectures do on a path.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Rate {
    /// The compute capabilities that have it, (major, minor).
    pub capabilities: &'static [(u32, u32)],
    /// The instructions.
    pub path: Path,
    /// The element types.
    pub types: &'static [GemmType],
    /// Operations of one SM in one clock, dense; a multiplication and its addition are two.
    pub flops_per_clock: u32,
    /// Where the number is from. "derived" marks what no publication states.
    pub source: &'static str,
}

impl Rate {
    /// Whether GPUs that NVIDIA sells as GeForce run at half this rate: tensor instructions on floats of one scale
    /// or none, summed in f32.
    ///
    /// Sources: the GA102, Ada and RTX Blackwell white papers (RTX 5090: 419 TFLOPS with f16 accumulate, 209.5 with
    /// f32; int8 838; fp4 1676 whatever the accumulators); `mmapeak` on an RTX 5090: block-scaled fp8 at twice the rate
    /// of plain fp8.
    pub fn halved_by_geforce(&self) -> bool {
        self.path == MmaSync && matches!(self.types[0], Tf32 | F16 | Bf16 | E4m3 | E5m2)
    }
}

/// The rate of an architecture on a path for a type that its instructions multiply as such; `None` where it has no such
/// instructions.
pub fn rate(capability: ComputeCapability, path: Path, ty: GemmType) -> Option<&'static Rate> {
    let capability = (capability.major, capability.minor);
    RATES
        .iter()
        .find(|row| row.path == path && row.types.contains(&ty) && row.capabilities.contains(&capability))
}

const GUIDE: &str = "CUDA C++ Best Practices Guide 13.0, table of arithmetic throughput: FMA results a clock x 2";
const GUIDE_RATIO: &str = "CUDA Programming Guide 13, table 30 (ratio of f32 to f64 throughput) and the rate of f32";
const WIDENED: &str = "derived: widened to f32, then FFMA; conversions not counted";
const TURING: &str = "Turing white paper and T4 data sheet: 65 TFLOPS f16, 130 TOPS int8 / (40 SM x 1.59 GHz)";
const GA100: &str = "A100 white paper: 312 TFLOPS f16, 156 tf32, 19.5 f64, 624 TOPS int8 / (108 SM x 1.41 GHz)";
const GA102: &str = "A10 data sheet: 125 TFLOPS f16, 62.5 tf32, 250 TOPS int8 / (72 SM x 1.695 GHz)";
const ORIN: &str =
    "Jetson AGX Orin technical brief: 85 TOPS dense int8 of the GPU / (16 SM x 1.3 GHz); f16, tf32 derived as on 8.0";
const ADA: &str = "L4 data sheet: 242 TFLOPS fp8, 121 f16, 60 tf32 dense / (58 SM x 2.04 GHz)";
const HOPPER: &str = "H100 white paper: 989 TFLOPS f16, 494 tf32, 1979 fp8 and int8 dense / (132 SM x 1.83 GHz)";
const HOPPER_F64: &str = "H100 white paper: 66.9 TFLOPS f64 by tensor cores / (132 SM x 1.98 GHz)";
const HOPPER_MMA: &str =
    "arXiv 2501.12084: mma.sync reaches 65 % of wgmma's peak on Hopper; derived for the other types from f16";
const HOPPER_FP8_MMA: &str =
    "derived: ptxas 13.0 makes two HMMA.16816 of f16 of one fp8 m16n8k32; conversions not counted";
const B200: &str = "HGX B200: 2.25 PFLOPS f16, 1.1 tf32, 4.5 fp8 and int8, 9 fp4 dense / (148 SM x 1.86 GHz)";
const B200_MMA: &str = "measured by third parties: 8.5 clocks an HMMA.16816 and sub-partition on B200, 569-578 TFLOPS \
                        on B300; tf32 derived as half";
const B200_INT8_MMA: &str = "derived: twice f16, as on 8.0 and 9.0; not measured";
const B200_F64: &str = "B200: 37 TFLOPS f64 / (148 SM x 1.97 GHz)";
const B300: &str = "HGX B300: 14 PFLOPS fp4 dense / (148 SM x 1.92 GHz), the kind with 96 elements of k";
const B300_INT8: &str = "HGX B300: 0.15 POPS int8 / (148 SM x 1.92 GHz); tcgen05 has no int8 there";
const THOR: &str =
    "Jetson Thor T5000: 1035 TFLOPS fp4, 517 fp8 dense / (20 SM x 1.575 GHz); the others derived as on 10.0";
const THOR_MMA: &str = "derived: as on 10.0; not measured";
const RTX_BLACKWELL: &str = "RTX Blackwell white paper: 419 TFLOPS f16 with f16 accumulate, 838 fp8 and int8, 1676 fp4 \
                             / (170 SM x 2.407 GHz); f32 accumulate at this rate on RTX PRO (504 TFLOPS), see \
                             halved_by_geforce";
const RTX_BLACKWELL_MX: &str = "mmapeak on RTX 5090: block-scaled fp8 at the rate of fp8 with f16 accumulate";
const SLOW_F64: &str =
    "derived: f64 tensor instructions run at the rate of DFMA where they exist for compatibility alone";

const fn row(
    capabilities: &'static [(u32, u32)],
    path: Path,
    types: &'static [GemmType],
    flops_per_clock: u32,
    source: &'static str,
) -> Rate {
    Rate {
        capabilities,
        path,
        types,
        flops_per_clock,
        source,
    }
}

const HALF: &[GemmType] = &[F16, Bf16];
const FP8: &[GemmType] = &[E4m3, E5m2];
const MX8: &[GemmType] = &[Mxfp8, Mxfp8xMxfp4];
const FP4: &[GemmType] = &[Mxfp4, Nvfp4];

/// Every rate.
pub static RATES: [Rate; 59] = [
    // One multiplication a thread. All but 7.5 and 8.0 have 128 lanes of f32.
    row(&[(7, 5), (8, 0)], Simt, &[F32], 128, GUIDE),
    row(&[(7, 5), (8, 0)], Simt, HALF, 128, WIDENED),
    row(FROM_86, Simt, &[F32], 256, GUIDE),
    row(FROM_86, Simt, HALF, 256, WIDENED),
    row(&[(8, 0)], Simt, &[F64], 64, GUIDE),
    row(&[(9, 0), (10, 0)], Simt, &[F64], 128, GUIDE),
    row(
        &[(7, 5), (8, 6), (8, 7), (8, 9), (10, 3), (11, 0), (12, 0), (12, 1)],
        Simt,
        &[F64],
        4,
        GUIDE_RATIO,
    ),
    // mma.sync.
    row(&[(7, 5)], MmaSync, &[F16], 1024, TURING),
    row(&[(7, 5)], MmaSync, &[Int8], 2048, TURING),
    row(&[(8, 0)], MmaSync, &[F64], 128, GA100),
    row(&[(8, 0)], MmaSync, &[Tf32], 1024, GA100),
    row(&[(8, 0)], MmaSync, HALF, 2048, GA100),
    row(&[(8, 0)], MmaSync, &[Int8], 4096, GA100),
    row(&[(8, 6)], MmaSync, &[Tf32], 512, GA102),
    row(&[(8, 6)], MmaSync, HALF, 1024, GA102),
    row(&[(8, 6)], MmaSync, &[Int8], 2048, GA102),
    row(&[(8, 7)], MmaSync, &[Tf32], 1024, ORIN),
    row(&[(8, 7)], MmaSync, HALF, 2048, ORIN),
    row(&[(8, 7)], MmaSync, &[Int8], 4096, ORIN),
    row(&[(8, 9)], MmaSync, &[Tf32], 512, ADA),
    row(&[(8, 9)], MmaSync, HALF, 1024, ADA),
    row(&[(8, 9)], MmaSync, FP8, 2048, ADA),
    row(&[(8, 9)], MmaSync, &[Int8], 2048, ADA),
    row(&[(9, 0)], MmaSync, &[F64], 256, HOPPER_F64),
    row(&[(9, 0)], MmaSync, &[Tf32], 1331, HOPPER_MMA),
    row(&[(9, 0)], MmaSync, HALF, 2662, HOPPER_MMA),
    row(&[(9, 0)], MmaSync, FP8, 2662, HOPPER_FP8_MMA),
    row(&[(9, 0)], MmaSync, &[Int8], 5324, HOPPER_MMA),
    row(&[(10, 0)], MmaSync, &[F64], 128, B200_F64),
    row(&[(10, 0), (10, 3)], MmaSync, &[Tf32], 1024, B200_MMA),
    row(&[(10, 0), (10, 3)], MmaSync, HALF, 2048, B200_MMA),
    row(&[(10, 0), (10, 3), (11, 0)], MmaSync, FP8, 2048, HOPPER_FP8_MMA),
    row(&[(10, 0)], MmaSync, &[Int8], 4096, B200_INT8_MMA),
    row(&[(10, 3)], MmaSync, &[Int8], 512, B300_INT8),
    row(&[(11, 0)], MmaSync, &[Tf32], 1024, THOR_MMA),
    row(&[(11, 0)], MmaSync, HALF, 2048, THOR_MMA),
    row(&[(11, 0)], MmaSync, &[Int8], 4096, THOR_MMA),
    row(
        &[(8, 6), (8, 7), (8, 9), (10, 3), (11, 0), (12, 0), (12, 1)],
        MmaSync,
        &[F64],
        4,
        SLOW_F64,
    ),
    row(RTX_12, MmaSync, &[Tf32], 512, RTX_BLACKWELL),
    row(RTX_12, MmaSync, HALF, 1024, RTX_BLACKWELL),
    row(RTX_12, MmaSync, FP8, 2048, RTX_BLACKWELL),
    row(RTX_12, MmaSync, &[Int8], 2048, RTX_BLACKWELL),
    row(RTX_12, MmaSync, MX8, 2048, RTX_BLACKWELL_MX),
    row(RTX_12, MmaSync, FP4, 4096, RTX_BLACKWELL),
    // wgmma and tcgen05.
    row(&[(9, 0)], Wgmma, &[Tf32], 2048, HOPPER),
    row(&[(9, 0)], Wgmma, HALF, 4096, HOPPER),
    row(&[(9, 0)], Wgmma, &[E4m3, E5m2, Int8], 8192, HOPPER),
    row(&[(10, 0), (10, 3)], Tcgen05, &[Tf32], 4096, B200),
    row(&[(10, 0), (10, 3)], Tcgen05, HALF, 8192, B200),
    row(&[(10, 0), (10, 3)], Tcgen05, FP8, 16384, B200),
    row(&[(10, 0), (10, 3)], Tcgen05, MX8, 16384, B200),
    row(&[(10, 0)], Tcgen05, &[Int8], 16384, B200),
    row(&[(10, 0)], Tcgen05, FP4, 32768, B200),
    row(&[(10, 3)], Tcgen05, FP4, 49152, B300),
    row(&[(11, 0)], Tcgen05, &[Tf32], 4096, THOR),
    row(&[(11, 0)], Tcgen05, HALF, 8192, THOR),
    row(&[(11, 0)], Tcgen05, &[E4m3, E5m2, Int8], 16384, THOR),
    row(&[(11, 0)], Tcgen05, MX8, 16384, THOR),
    row(&[(11, 0)], Tcgen05, FP4, 32768, THOR),
];

const FROM_86: &[(u32, u32)] = &[
    (8, 6),
    (8, 7),
    (8, 9),
    (9, 0),
    (10, 0),
    (10, 3),
    (11, 0),
    (12, 0),
    (12, 1),
];
const RTX_12: &[(u32, u32)] = &[(12, 0), (12, 1)];

#[cfg(test)]
mod tests {
    extern crate std;
    use std::collections::BTreeSet;

    use cuda_arch::ARCHITECTURES;

    use super::*;

    #[test]
    fn no_two_rows_speak_of_the_same() {
        let mut seen = BTreeSet::new();
        for row in &RATES {
            assert!(row.flops_per_clock > 0 && !row.source.is_empty());
            for capability in row.capabilities {
                for ty in row.types {
                    assert!(
                        seen.insert((*capability, row.path, ty.name())),
                        "{capability:?} {} {ty}",
                        row.path
                    );
                }
            }
        }
    }

    /// What `ptxas` 13.0 assembled when every instruction was tried for every target.
    #[test]
    fn rows_exist_where_ptxas_takes_the_instruction_and_nowhere_else() {
        for architecture in &ARCHITECTURES {
            let ComputeCapability { major, minor } = architecture.compute_capability;
            let at_least = |a, b| (major, minor) >= (a, b);
            let data_centre_blackwell = matches!(major, 10 | 11);
            for ty in GemmType::all() {
                let expected = |path| match (path, ty) {
                    (Simt, F64 | F32 | F16 | Bf16) => true,
                    (MmaSync, F64 | Tf32 | Bf16) => at_least(8, 0),
                    (MmaSync, F16 | Int8) => true,
                    (MmaSync, E4m3 | E5m2) => at_least(8, 9),
                    (MmaSync, Mxfp8 | Mxfp4 | Nvfp4 | Mxfp8xMxfp4) => major == 12,
                    (Wgmma, Tf32 | F16 | Bf16 | E4m3 | E5m2 | Int8) => major == 9,
                    (Tcgen05, Int8) => data_centre_blackwell && !(major == 10 && minor == 3),
                    (Tcgen05, F64 | F32) => false,
                    (Tcgen05, _) => data_centre_blackwell,
                    _ => false,
                };
                for path in Path::ALL {
                    let found = rate(architecture.compute_capability, path, ty).is_some();
                    assert_eq!(found, expected(path), "{} {path} {ty}", architecture.name);
                }
            }
        }
    }

    #[test]
    fn peaks_are_those_of_the_data_sheets() {
        // SMs, GHz, and dense TFLOPS as published.
        for (capability, path, ty, sms, ghz, tflops) in [
            ((7, 5), MmaSync, F16, 40.0, 1.59, 65.0),
            ((8, 0), MmaSync, Bf16, 108.0, 1.41, 312.0),
            ((8, 0), MmaSync, F64, 108.0, 1.41, 19.5),
            ((8, 6), MmaSync, F16, 72.0, 1.695, 125.0),
            ((8, 9), MmaSync, E4m3, 58.0, 2.04, 242.0),
            ((9, 0), Simt, F32, 132.0, 1.98, 66.9),
            ((9, 0), Wgmma, Bf16, 132.0, 1.83, 989.0),
            ((9, 0), Wgmma, E4m3, 132.0, 1.83, 1979.0),
            ((10, 0), Tcgen05, F16, 148.0, 1.86, 2250.0),
            ((10, 0), Tcgen05, Nvfp4, 148.0, 1.86, 9000.0),
            ((12, 0), MmaSync, Nvfp4, 170.0, 2.407, 1676.0),
        ] {
            let (major, minor) = capability;
            let row = rate(ComputeCapability::new(major, minor), path, ty).expect("in the table");
            let computed = f64::from(row.flops_per_clock) * sms * ghz / 1000.0;
            assert!(
                (computed / tflops - 1.0).abs() < 0.02,
                "{capability:?} {ty}: {computed} {tflops}"
            );
        }
    }
}
