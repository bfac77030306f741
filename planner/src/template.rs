//! A kernel template: everything about a tiled product that decides its shared memory.

use alloc::format;
use alloc::string::String;

use cuda_arch::Architecture;
use serde::{Deserialize, Serialize};

use crate::frontend::Frontend;
use crate::gemm_type::GemmType;
use crate::path::Path;
use crate::worksheet::Subject;

mod grid;
mod parts;

pub(crate) use grid::warp_grid;
pub use parts::{Accumulator, Epilogue, EpilogueTile, Shape, TileShape, Widening};

/// A kernel template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Template {
    /// The types of A and B.
    pub ty: GemmType,
    /// The instructions.
    pub path: Path,
    /// The tile.
    pub tile: TileShape,
    /// Stages, in the frontend's meaning.
    pub stages: u32,
    /// Who makes the kernel.
    pub frontend: Frontend,
    /// Math warps (`tcgen05`: that carry the results out).
    pub warps: u32,
    /// Producer warps, which only load or issue.
    pub producer_warps: u32,
    /// Where the accumulators live.
    pub accumulator: Accumulator,
    /// Accumulators in tensor memory at once: 2 let the main loop run on while results leave.
    pub accumulator_buffers: u32,
    /// How the results leave.
    pub epilogue: Epilogue,
    /// Bytes of an element of C.
    pub output_bytes: u32,
    /// When narrow elements are widened, where that is needed at all.
    pub widening: Widening,
    /// Elements by which the rows of A and of B are longer in shared memory than in the tile, so that they begin in
    /// different banks.
    #[serde(default)]
    pub row_padding: [u32; 2],
    /// Whether operands come by `cp.async` where the path could have TMA loads.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub cp_async: bool,
    /// Bytes that each warp has for itself.
    pub scratch_per_warp_bytes: u32,
    /// Static shared memory besides.
    pub static_bytes: u32,
    /// Whether the operands' tiles are static arrays too: then the static limit of 48 KiB holds for all.
    pub operands_static: bool,
    /// Split-K factor: CTAs that share K.
    pub split_k: u32,
    /// CTAs of a cluster along m and n.
    pub cluster: (u32, u32),
    /// Registers of a thread, where a compiler has said so; else they are estimated.
    pub registers_per_thread: Option<u32>,
    /// Barriers of a CTA by a compiler's count, as in [`BlockUse::barriers`](crate::BlockUse::barriers).
    pub barriers: u32,
    /// Groups of rows with a B each (the experts of a mixture) whose ends the tile scheduler keeps in shared memory; 0
    /// where it reads them from global memory, or where there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub groups: u32,
}

/// Whether a number is left out of JSON.
const fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Template {
    /// Threads of a CTA.
    pub const fn threads(&self) -> u32 {
        (self.warps + self.producer_warps) * 32
    }

    /// Buffers of operands in shared memory.
    pub const fn buffers(&self) -> u32 {
        self.frontend.buffers(self.stages, self.path)
    }

    /// Whether operands come by TMA loads, which need barriers and wider alignment: as [`Path::loads_by_tma`] says,
    /// but Triton's `mma.sync` kernels use `cp.async` everywhere (they take 147456 bytes on 12.1, not a barrier more:
    /// sgl-project/sglang#28019).
    pub fn loads_by_tma(&self, arch: &Architecture) -> bool {
        self.path.loads_by_tma(arch)
            && !self.cp_async
            && !(self.frontend == Frontend::Triton && self.path == Path::MmaSync)
    }
}

impl Subject for Template {
    fn caption(&self) -> String {
        let buffers = self.buffers();
        format!(
            "{} {} · {buffers} {} · {} · accumulators in {}",
            self.ty,
            self.tile,
            if buffers == 1 { "buffer" } else { "buffers" },
            self.path.name(),
            self.accumulator
        )
    }
}
