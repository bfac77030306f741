//! What "stages" means, and what a stage costs besides its operands: each library that makes kernels has its own
//! answer.

use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::path::Path;

/// Who makes the kernel: it decides what "stages" means, how operands are aligned and what is charged for barriers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Frontend {
    /// This project's kernels: S stages are S buffers, nothing is charged that is not used.
    #[default]
    Tilewright,
    /// CUTLASS 3 and 4: S stages are S buffers.
    Cutlass,
    /// Triton: `num_stages = S` is S - 1 buffers of a `mma.sync` kernel, since the stage in use is in registers.
    Triton,
    /// DeepGEMM: S buffers; a fixed allowance for barriers.
    Deepgemm,
}

/// What a frontend takes for barriers on one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Barriers {
    /// Bytes a stage.
    pub per_stage_bytes: u32,
    /// Bytes once.
    pub fixed_bytes: u32,
    /// What says so.
    pub source: &'static str,
}

impl Frontend {
    /// Every frontend.
    pub const ALL: [Frontend; 4] = [
        Frontend::Tilewright,
        Frontend::Cutlass,
        Frontend::Triton,
        Frontend::Deepgemm,
    ];

    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Frontend::Tilewright => "tilewright",
            Frontend::Cutlass => "cutlass",
            Frontend::Triton => "triton",
            Frontend::Deepgemm => "deepgemm",
        }
    }

    /// Buffers of operands in shared memory for `stages`; 0 where that is not a pipeline at all.
    ///
    /// Triton's rule is that of its `mma.sync` kernels: 4 stages of (128 + 256) x 128 bytes take 3 x 49152 = 147456,
    /// the number in its users' reports of sm_120 (sgl-project/sglang#28019).
    pub const fn buffers(self, stages: u32, path: Path) -> u32 {
        match (self, path) {
            (Frontend::Triton, Path::MmaSync) => stages.saturating_sub(1),
            _ => stages,
        }
    }

    /// The inverse of [`Frontend::buffers`].
    pub const fn stages(self, buffers: u32, path: Path) -> u32 {
        match (self, path) {
            (Frontend::Triton, Path::MmaSync) => buffers + 1,
            _ => buffers,
        }
    }

    /// What barriers take. `tma`: operands come by TMA loads; `scaled`: the instruction takes block scales.
    pub const fn barriers(self, tma: bool, scaled: bool, path: Path) -> Barriers {
        let none = Barriers {
            per_stage_bytes: 0,
            fixed_bytes: 0,
            source: "copies without mbarriers",
        };
        if !tma {
            return none;
        }
        match (self, path) {
            (Frontend::Tilewright, Path::Tcgen05) => Barriers {
                per_stage_bytes: 16,
                // Two for each of two accumulators, and the address that tcgen05.alloc writes, padded to 8.
                fixed_bytes: 40,
                source: "a full and an empty mbarrier of 8 B a stage; PTX ISA 9.0, mbarrier, tcgen05.alloc",
            },
            (Frontend::Tilewright, _) => Barriers {
                per_stage_bytes: 16,
                fixed_bytes: 0,
                source: "a full and an empty mbarrier of 8 B a stage; PTX ISA 9.0, mbarrier",
            },
            (Frontend::Cutlass, _) if scaled => Barriers {
                per_stage_bytes: 128,
                fixed_bytes: 0,
                source: "CUTLASS sm100 and sm120 block-scaled builders: the pipeline's storage rounded up to 128 B a \
                         stage",
            },
            (Frontend::Cutlass, _) => Barriers {
                per_stage_bytes: 16,
                fixed_bytes: 0,
                source: "CUTLASS sm90_common.inl: the pipeline's storage, 16 B a stage",
            },
            (Frontend::Triton, _) => Barriers {
                per_stage_bytes: 8,
                fixed_bytes: 0,
                source: "triton_kernels opt_flags_nvidia.compute_num_stages: 8 B of barrier a stage",
            },
            (Frontend::Deepgemm, Path::Tcgen05) => Barriers {
                per_stage_bytes: 0,
                fixed_bytes: 812,
                source: "DeepGEMM heuristics/sm100.hpp: 808 B of barriers and 4 B for the tensor-memory address",
            },
            (Frontend::Deepgemm, _) => Barriers {
                per_stage_bytes: 0,
                fixed_bytes: 512,
                source: "DeepGEMM heuristics/sm90.hpp: 512 B of barriers",
            },
        }
    }
}

impl Frontend {
    /// Tensor maps of 128 bytes that a kernel for `groups` groups keeps in shared memory to change them: CUTLASS's
    /// grouped kernels, whose groups are matrices of their own, have one each for A and B, for their scales, and for
    /// the source and the result where these go through shared memory
    /// (`sm90_mma_array_tma_gmma_ss_warpspecialized.hpp` and the epilogue of the same name: `TensorMapStorage`). Where
    /// the groups are rows of one A and one C, and B is one tensor of three dimensions, nothing is changed.
    pub const fn tensor_maps(self, groups: u32, tma: bool, scaled: bool, epilogue: bool) -> u32 {
        match (self, groups) {
            (_, 0) => 0,
            (Frontend::Cutlass, _) if tma => 2 + if scaled { 2 } else { 0 } + if epilogue { 2 } else { 0 },
            _ => 0,
        }
    }
}

impl fmt::Display for Frontend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Frontend {
    type Err = &'static str;

    /// Reads a [`Frontend::name`].
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Frontend::ALL
            .into_iter()
            .find(|frontend| frontend.name() == name)
            .ok_or("unknown frontend; known: tilewright, cutlass, triton, deepgemm")
    }
}
