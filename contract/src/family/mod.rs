//! The kernel families: names, targets, and the table of all kernels.
//!
//! A family's file holds the geometry that its device code indexes with, its instance list (a macro that this crate
//! reads for the table and `kernels-gpu` for the entry points: a row in one and not in the other cannot be written),
//! and the function from an instance to a [`Kernel`].

pub mod matrix_vector;
pub mod mma_sync;
pub mod register_tile;
pub mod simt;
pub mod tiled;
pub mod wgmma;

use core::fmt;
use core::str::FromStr;

use crate::kernel::{Kernel, Target};

/// A family of kernels; the number of its name is its file in the device crate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
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

impl Family {
    /// Every rung, in learning order.
    pub const ALL: [Family; 17] = [
        Family::Naive,
        Family::TiledStatic,
        Family::TiledDynamic,
        Family::RegisterColumn,
        Family::RegisterTile,
        Family::VectorCopy,
        Family::WarpTile,
        Family::DoubleBuffer,
        Family::AsyncCopy,
        Family::Gemm,
        Family::MatrixVector,
        Family::MmaSync,
        Family::WgmmaOneStage,
        Family::WgmmaRing,
        Family::WgmmaPersistent,
        Family::WgmmaCluster,
        Family::WgmmaGemm,
    ];

    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Family::Naive => "r01_naive",
            Family::TiledStatic => "r02_tiled_static",
            Family::TiledDynamic => "r03_tiled_dynamic",
            Family::RegisterColumn => "r04_register_column",
            Family::RegisterTile => "r05_register_tile",
            Family::VectorCopy => "r06_vector_copy",
            Family::WarpTile => "r07_warp_tile",
            Family::DoubleBuffer => "r08_double_buffer",
            Family::AsyncCopy => "r09_async_copy",
            Family::Gemm => "r10_gemm",
            Family::MatrixVector => "r11_matrix_vector",
            Family::MmaSync => "r12_mma_sync",
            Family::WgmmaOneStage => "r13_wgmma",
            Family::WgmmaRing => "r14_warp_specialized",
            Family::WgmmaPersistent => "r15_persistent",
            Family::WgmmaCluster => "r16_cluster",
            Family::WgmmaGemm => "r17_wgmma_gemm",
        }
    }

    /// The devices that run its kernels. `cp.async` exists from 8.0 on, `wgmma` on 9.0 alone (`sm_90a`).
    pub const fn target(self) -> Target {
        match self {
            Family::AsyncCopy | Family::Gemm | Family::MmaSync => Target::from(8, 0),
            Family::WgmmaOneStage
            | Family::WgmmaRing
            | Family::WgmmaPersistent
            | Family::WgmmaCluster
            | Family::WgmmaGemm => Target {
                compute_capability: (9, 0),
                is_architecture_specific: true,
            },
            _ => Target::from(7, 5),
        }
    }

    /// Its kernels, in the order of the table.
    pub fn kernels(self) -> impl Iterator<Item = &'static Kernel> {
        KERNELS.iter().filter(move |kernel| kernel.family == self)
    }
}

/// The kernels of each family, in the order of the table.
const GROUPS: [&[Kernel]; 10] = [
    &tiled::NAIVE,
    &tiled::STATIC,
    &tiled::DYNAMIC,
    &register_tile::KERNELS,
    &simt::ASYNC_COPY,
    &simt::GEMM,
    &matrix_vector::KERNELS,
    &mma_sync::KERNELS,
    wgmma::LADDER.as_flattened(),
    &wgmma::GEMM,
];

const COUNT: usize = {
    let (mut count, mut group) = (0, 0);
    while group < GROUPS.len() {
        count += GROUPS[group].len();
        group += 1;
    }
    count
};

/// Every kernel of the device crate.
pub static KERNELS: [Kernel; COUNT] = {
    let mut all = [tiled::NAIVE[0]; COUNT];
    let (mut next, mut group) = (0, 0);
    while group < GROUPS.len() {
        let mut row = 0;
        while row < GROUPS[group].len() {
            all[next] = GROUPS[group][row];
            next += 1;
            row += 1;
        }
        group += 1;
    }
    all
};

/// [`DType`](crate::DType) by the element's name in instance lists.
macro_rules! dtype {
    (f32) => {
        $crate::DType::F32
    };
    (f64) => {
        $crate::DType::F64
    };
    (f16) => {
        $crate::DType::F16
    };
    (bf16) => {
        $crate::DType::Bf16
    };
}

/// [`Major`](crate::Major) by the device type's name in instance lists.
macro_rules! major {
    (KMajor) => {
        $crate::Major::K
    };
    (MnMajor) => {
        $crate::Major::Mn
    };
}

pub(crate) use {dtype, major};

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Family {
    type Err = &'static str;

    /// Reads a [`Family::name`].
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Family::ALL.into_iter().find(|family| family.name() == name).ok_or(
            "unknown kernel; known: r01_naive, r02_tiled_static, r03_tiled_dynamic, r04_register_column, \
                 r05_register_tile, r06_vector_copy, r07_warp_tile, r08_double_buffer, r09_async_copy, r10_gemm, \
                 r11_matrix_vector, r12_mma_sync, r13_wgmma, r14_warp_specialized, r15_persistent, r16_cluster, \
                 r17_wgmma_gemm",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_and_named_where_none_is_known() {
        let problem = "r00".parse::<Family>().expect_err("no rung 0");
        for (i, family) in Family::ALL.into_iter().enumerate() {
            assert_eq!(family.name().parse(), Ok(family));
            assert!(problem.contains(family.name()), "{family}");
            assert_eq!(family as usize, i, "in learning order");
        }
    }

    #[test]
    fn what_is_of_one_architecture_runs_on_no_later_one() {
        for (family, runs) in [
            (Family::Naive, [true; 5]),
            (Family::MmaSync, [false, true, true, true, true]),
            (Family::WgmmaGemm, [false, false, false, true, false]),
        ] {
            let on = [(7, 5), (8, 0), (8, 9), (9, 0), (10, 0)].map(|capability| family.target().runs_on(capability));
            assert_eq!(on, runs, "{family}");
        }
    }
}
