//! The rungs of the ladder.

use core::fmt;
use core::str::FromStr;

/// A step of the ladder; its number is its file in the device crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rung {
    /// Global memory only, one thread an element.
    Naive,
    /// Tiles in static shared arrays, whose size the compiler knows.
    TiledStatic,
    /// Tiles carved out of one dynamic allocation, whose size the launch decides.
    TiledDynamic,
    /// A column of registers for each thread, fed by short static tiles.
    RegisterColumn,
    /// A tile of registers for each thread, fed by short static tiles.
    RegisterTile,
    /// The same with copies of 16 bytes.
    VectorCopy,
    /// The same with the lanes of a warp in a rectangle, whose loads from shared memory take fewer wavefronts.
    WarpTile,
    /// The next step is loaded while this one is multiplied: two stages, and fragments one ahead.
    DoubleBuffer,
    /// Asynchronous copies into a ring of stages in dynamic shared memory, blocks in an order that L2 likes.
    AsyncCopy,
    /// The same for every layout of A and B, in several tiles, with parts of K for blocks of their own, alpha and beta.
    Gemm,
    /// C of one column or one row: every element of the matrix is used once, so the time is that of reading it.
    MatrixVector,
    /// Tensor cores, a warp at a time: `mma.sync` on fragments that `ldmatrix` loads from a ring of stages.
    MmaSync,
    /// Tensor cores, four warps at a time: `wgmma` on what bulk copies by tensor maps bring to shared memory, one
    /// stage.
    WgmmaOneStage,
    /// One warpgroup copies, the others multiply: a ring of stages, guarded by mbarriers.
    WgmmaRing,
    /// Blocks that stay and compute tile after tile.
    WgmmaPersistent,
    /// Clusters of two blocks that share their tile of B.
    WgmmaCluster,
    /// The same for every layout of A and B, in several tiles, with parts of K for blocks of their own, and C by bulk
    /// copies.
    WgmmaGemm,
}

impl Rung {
    /// Every rung, in learning order.
    pub const ALL: [Rung; 17] = [
        Rung::Naive,
        Rung::TiledStatic,
        Rung::TiledDynamic,
        Rung::RegisterColumn,
        Rung::RegisterTile,
        Rung::VectorCopy,
        Rung::WarpTile,
        Rung::DoubleBuffer,
        Rung::AsyncCopy,
        Rung::Gemm,
        Rung::MatrixVector,
        Rung::MmaSync,
        Rung::WgmmaOneStage,
        Rung::WgmmaRing,
        Rung::WgmmaPersistent,
        Rung::WgmmaCluster,
        Rung::WgmmaGemm,
    ];

    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Rung::Naive => "r01_naive",
            Rung::TiledStatic => "r02_tiled_static",
            Rung::TiledDynamic => "r03_tiled_dynamic",
            Rung::RegisterColumn => "r04_register_column",
            Rung::RegisterTile => "r05_register_tile",
            Rung::VectorCopy => "r06_vector_copy",
            Rung::WarpTile => "r07_warp_tile",
            Rung::DoubleBuffer => "r08_double_buffer",
            Rung::AsyncCopy => "r09_async_copy",
            Rung::Gemm => "r10_gemm",
            Rung::MatrixVector => "r11_matrix_vector",
            Rung::MmaSync => "r12_mma_sync",
            Rung::WgmmaOneStage => "r13_wgmma",
            Rung::WgmmaRing => "r14_warp_specialized",
            Rung::WgmmaPersistent => "r15_persistent",
            Rung::WgmmaCluster => "r16_cluster",
            Rung::WgmmaGemm => "r17_wgmma_gemm",
        }
    }

    /// The compute capability that its kernels need: at least, or exactly where they are
    /// [architecture-specific](Self::is_architecture_specific). `cp.async` exists from 8.0 on, `wgmma` on 9.0 alone.
    pub const fn compute_capability(self) -> (u32, u32) {
        match self {
            Rung::AsyncCopy | Rung::Gemm | Rung::MmaSync => (8, 0),
            _ if self.multiplies_by_wgmma() => (9, 0),
            _ => (7, 5),
        }
    }

    /// Whether its kernels run on their compute capability alone: `wgmma` is a feature of `sm_90a` (PTX ISA,
    /// "wgmma.mma_async": "requires `sm_90a`").
    pub const fn is_architecture_specific(self) -> bool {
        self.multiplies_by_wgmma()
    }

    /// Whether its kernels run on a device of this compute capability.
    pub const fn runs_on(self, (major, minor): (u32, u32)) -> bool {
        let needed = self.compute_capability();
        if self.is_architecture_specific() {
            needed.0 == major && needed.1 == minor
        } else {
            needed.0 < major || needed.0 == major && needed.1 <= minor
        }
    }

    /// Whether its kernels take [`GemmCall`](crate::GemmCall): alpha, beta and parts of K.
    pub const fn takes_call(self) -> bool {
        matches!(self, Rung::AsyncCopy | Rung::Gemm | Rung::MatrixVector | Rung::MmaSync) || self.multiplies_by_wgmma()
    }

    /// Whether its kernels multiply by `wgmma`, and take tensor maps in place of A and B.
    pub const fn multiplies_by_wgmma(self) -> bool {
        matches!(
            self,
            Rung::WgmmaOneStage | Rung::WgmmaRing | Rung::WgmmaPersistent | Rung::WgmmaCluster | Rung::WgmmaGemm
        )
    }

    /// Whether its kernels take an [`Epilogue`](crate::Epilogue): bias, activation, C of f32.
    pub const fn takes_epilogue(self) -> bool {
        matches!(self, Rung::MmaSync) || self.multiplies_by_wgmma()
    }
}

impl fmt::Display for Rung {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Rung {
    type Err = &'static str;

    /// Reads a [`Rung::name`].
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Rung::ALL
            .into_iter()
            .find(|rung| rung.name() == name)
            .ok_or(
                "unknown kernel; known: r01_naive, r02_tiled_static, r03_tiled_dynamic, r04_register_column, r05_register_tile, \
                 r06_vector_copy, r07_warp_tile, r08_double_buffer, r09_async_copy, r10_gemm, r11_matrix_vector, r12_mma_sync, r13_wgmma, \
                 r14_warp_specialized, r15_persistent, r16_cluster, r17_wgmma_gemm",
            )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_and_named_where_none_is_known() {
        let problem = "r00".parse::<Rung>().expect_err("no rung 0");
        for (i, rung) in Rung::ALL.into_iter().enumerate() {
            assert_eq!(rung.name().parse(), Ok(rung));
            assert!(problem.contains(rung.name()), "{rung}");
            assert_eq!(rung as usize, i, "in learning order");
        }
    }

    #[test]
    fn what_is_of_one_architecture_runs_on_no_later_one() {
        for (rung, runs) in [
            (Rung::Naive, [true; 5]),
            (Rung::MmaSync, [false, true, true, true, true]),
            (Rung::WgmmaGemm, [false, false, false, true, false]),
        ] {
            let on = [(7, 5), (8, 0), (8, 9), (9, 0), (10, 0)].map(|capability| rung.runs_on(capability));
            assert_eq!(on, runs, "{rung}");
        }
    }
}
