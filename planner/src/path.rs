//! Instruction paths: which instructions multiply, and what a tile must be for them.

use core::fmt;
use core::str::FromStr;

use cuda_arch::Architecture;
use serde::{Deserialize, Serialize};

use crate::gemm_type::GemmType;
use crate::rates::{Rate, rate};

/// The instructions that multiply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Path {
    /// FFMA and its like: one multiplication a thread.
    #[serde(rename = "simt")]
    Simt,
    /// `mma.sync`: a warp multiplies, operands and accumulators in registers.
    #[serde(rename = "mma.sync")]
    MmaSync,
    /// `wgmma.mma_async`: four warps multiply, operands in shared memory, accumulators in registers (compute capability
    /// 9.0 alone).
    #[serde(rename = "wgmma")]
    Wgmma,
    /// `tcgen05.mma`: one thread starts it, operands in shared memory, accumulators in tensor memory (10.x, 11.0).
    #[serde(rename = "tcgen05")]
    Tcgen05,
}

/// How an architecture computes a type on a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Support {
    /// The type that the instructions multiply: the type itself, or the one that it is widened to in registers.
    pub multiplied: GemmType,
    /// How fast.
    pub rate: &'static Rate,
}

impl Support {
    /// Whether elements are widened before they are multiplied.
    pub fn widens(&self, ty: GemmType) -> bool {
        self.multiplied != ty
    }
}

impl Path {
    /// Every path, slowest first.
    pub const ALL: [Path; 4] = [Path::Simt, Path::MmaSync, Path::Wgmma, Path::Tcgen05];

    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Path::Simt => "simt",
            Path::MmaSync => "mma.sync",
            Path::Wgmma => "wgmma",
            Path::Tcgen05 => "tcgen05",
        }
    }

    /// How `arch` computes `ty` on this path: by itself, or widened to f16 by `mma.sync` after loading. `None` where it
    /// cannot.
    pub fn support(self, arch: &Architecture, ty: GemmType) -> Option<Support> {
        let of = |multiplied| rate(arch.compute_capability, self, multiplied).map(|rate| Support { multiplied, rate });
        of(ty).or_else(|| if self == Path::MmaSync { of(ty.widened()?) } else { None })
    }

    /// The fastest path of `arch` for `ty`; the later generation's where two are equally fast.
    pub fn best(arch: &Architecture, ty: GemmType) -> Option<Path> {
        Path::ALL
            .into_iter()
            .filter_map(|path| Some((path.support(arch, ty)?.rate.flops_per_clock, path)))
            .max_by_key(|&(flops, path)| (flops, path))
            .map(|(_, path)| path)
    }

    /// Whether operands come by TMA loads, which a barrier in shared memory counts: `wgmma` and `tcgen05` always,
    /// `mma.sync` from 9.0 on. Before, `cp.async` needs no barrier in shared memory.
    pub fn loads_by_tma(self, arch: &Architecture) -> bool {
        self != Path::Simt && arch.compute_capability.major >= 9
    }

    /// Multiples that the instruction wants of the tile of one warp (`mma.sync`) or four (`wgmma`, `tcgen05`):
    /// m, n, k in elements of the type that is multiplied.
    ///
    /// Sources: PTX ISA 9.0, "Matrix multiply-accumulate operation using mma instruction", table of shapes (m16n8k*;
    /// m8n8k4 for f64; m8n8k16 for int8 on 7.5), "wgmma.mma_async" (m64nNk*, 256 bits of k), "tcgen05.mma" (256 bits of
    /// k; 64 elements for 4-bit types).
    pub fn instruction_tile(self, arch: &Architecture, multiplied: GemmType) -> [u32; 3] {
        let k = match multiplied {
            GemmType::F64 => 4,
            GemmType::F32 => 1,
            GemmType::Tf32 => 8,
            // 7.5 has m16n8k8 alone; later parts have it too, at half the work an instruction.
            GemmType::F16 | GemmType::Bf16 if self == Path::MmaSync => 8,
            GemmType::F16 | GemmType::Bf16 => 16,
            GemmType::Int8 if self == Path::MmaSync => 16,
            GemmType::E4m3 | GemmType::E5m2 | GemmType::Int8 | GemmType::Mxfp8 | GemmType::Mxfp8xMxfp4 => 32,
            GemmType::Mxfp4 | GemmType::Nvfp4 => 64,
        };
        match (self, multiplied) {
            (Path::Simt, _) => [1, 1, 1],
            (Path::MmaSync, GemmType::F64) => [8, 8, k],
            (Path::MmaSync, GemmType::Int8) if arch.compute_capability.major < 8 => [8, 8, k],
            (Path::MmaSync, _) => [16, 8, k],
            (Path::Wgmma, GemmType::Int8) => [64, 16, k],
            (Path::Wgmma, _) => [64, 8, k],
            (Path::Tcgen05, _) => [64, 16, k],
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Path {
    type Err = &'static str;

    /// Reads a [`Path::name`].
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Path::ALL
            .into_iter()
            .find(|path| path.name() == name)
            .ok_or("unknown instruction path; known: simt, mma.sync, wgmma, tcgen05")
    }
}
