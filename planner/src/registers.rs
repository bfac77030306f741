//! How many registers a thread needs: the accumulators exactly, the rest by what compilers make of such kernels.

use cuda_arch::Architecture;
use serde::Serialize;

use crate::path::Path;
use crate::template::{Accumulator, Template, warp_grid};

/// Registers of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Registers {
    /// For its accumulators.
    pub accumulator: u32,
    /// In all, of a thread that multiplies.
    pub math: u32,
    /// In all, as the launch allocates them for every thread of the CTA.
    pub allocated: u32,
    /// Whether a compiler has said so; else all but the accumulators is an estimate.
    pub known: bool,
}

/// Registers that hold a thread's accumulators.
pub(crate) fn accumulator_registers(template: &Template) -> u32 {
    match template.accumulator {
        Accumulator::Registers => {
            let words = template.tile.outputs() * u64::from(template.ty.accumulator_bytes()) / 4;
            // At most 2^33 words of at least 32 threads.
            words.div_ceil(u64::from(template.warps) * 32) as u32
        }
        Accumulator::SharedMemory | Accumulator::TensorMemory => 0,
    }
}

/// Registers of a thread that multiplies: its accumulators and what the main loop needs besides.
///
/// What it needs besides, from kernels that were measured: `simt` twice its fragments and 28 (8 x 8 accumulators: 124,
/// CUTLASS's 128x128x8 has 122; 16 x 8 accumulators: 202, cuBLAS's 256x128x8 has 202 to 212); `mma.sync` its fragments
/// for 32 bytes of k and 32 (a warp tile of 64 x 64: 192, measured 186 to 196); `wgmma` 40 (128 accumulators: 168, as
/// CUTLASS and DeepGEMM have them); `tcgen05` 96 for the epilogue's pieces.
pub(crate) fn math_registers(template: &Template) -> u32 {
    if let Some(known) = template.registers_per_thread {
        return known;
    }
    let sums = accumulator_registers(template);
    let besides = match template.path {
        Path::Simt => {
            let outputs = template.tile.outputs() / u64::from(template.threads().max(1));
            let words = template.ty.accumulator_bytes() / 4;
            let sides = 2.0 * libm::sqrt(outputs as f64);
            2 * libm::ceil(sides) as u32 * words + 28
        }
        Path::MmaSync => {
            let (along_m, along_n) = warp_grid(template.tile, template.warps, [8, 8]).unwrap_or((1, template.warps));
            (template.tile.m / along_m + template.tile.n / along_n) / 4 + 32
        }
        Path::Wgmma => 40,
        Path::Tcgen05 => 96,
    };
    sums.saturating_add(besides)
}

/// All of it. A producer warpgroup hands registers over (`setmaxnreg`, from 9.0 on): it keeps 40 a thread, as CUTLASS
/// has it.
pub(crate) fn registers(template: &Template, arch: &Architecture) -> Registers {
    const PRODUCER: u32 = 40;
    let hands_over = matches!(template.path, Path::MmaSync | Path::Wgmma)
        && template.loads_by_tma(arch)
        && template.producer_warps > 0;
    let math = math_registers(template);
    let allocated = match template.registers_per_thread {
        Some(known) => known,
        None if hands_over => handed_over(math, template.warps, PRODUCER, template.producer_warps),
        None => math,
    };
    Registers {
        accumulator: accumulator_registers(template),
        math,
        allocated,
        known: template.registers_per_thread.is_some(),
    }
}

/// Registers that a launch allocates for every thread where producer warps hand over what they do not keep, with `math`
/// registers for each thread of the math warps.
pub(crate) fn handed_over(math: u32, warps: u32, producer: u32, producer_warps: u32) -> u32 {
    let all = math.next_multiple_of(8) * warps + producer * producer_warps;
    all.div_ceil(warps + producer_warps).next_multiple_of(8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{GemmType, TileShape};

    fn math(path: Path, arch: &str, ty: GemmType, tile: TileShape) -> (u32, u32) {
        let arch = cuda_arch::find(arch).expect("in the table");
        let template = Template::on_path(arch, path, ty, tile, 2);
        (accumulator_registers(&template), math_registers(&template))
    }

    #[test]
    fn the_estimates_are_those_of_kernels_that_exist() {
        // CUTLASS 128x128x8: 122; a warp tile of 64 x 64 with mma.sync: 186 to 196; m64n256 of wgmma: 168.
        assert_eq!(
            math(Path::Simt, "sm_80", GemmType::F32, TileShape::new(128, 128, 8)),
            (64, 124)
        );
        assert_eq!(
            math(Path::MmaSync, "sm_120", GemmType::F16, TileShape::new(128, 256, 64)),
            (128, 192)
        );
        assert_eq!(
            math(Path::Wgmma, "sm_90", GemmType::Bf16, TileShape::new(128, 256, 64)),
            (128, 168)
        );
    }

    #[test]
    fn a_tile_of_64_by_64_takes_32_registers_of_128_threads() {
        assert_eq!(
            math(Path::MmaSync, "sm_120", GemmType::Nvfp4, TileShape::new(64, 64, 64)).0,
            32
        );
    }
}
