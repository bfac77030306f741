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
}

impl Rung {
    /// Every rung, in learning order.
    pub const ALL: [Rung; 12] = [
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
        }
    }

    /// The compute capability that its kernels need at least: `cp.async` exists from 8.0 on.
    pub const fn compute_capability(self) -> (u32, u32) {
        if matches!(self, Rung::AsyncCopy | Rung::Gemm | Rung::MmaSync) {
            (8, 0)
        } else {
            (7, 5)
        }
    }

    /// Whether its kernels take [`GemmCall`](crate::GemmCall): alpha, beta and parts of K.
    pub const fn takes_call(self) -> bool {
        matches!(self, Rung::AsyncCopy | Rung::Gemm | Rung::MatrixVector | Rung::MmaSync)
    }

    /// Whether its kernels take an [`Epilogue`](crate::Epilogue): bias, activation, C of f32.
    pub const fn takes_epilogue(self) -> bool {
        matches!(self, Rung::MmaSync)
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
                 r06_vector_copy, r07_warp_tile, r08_double_buffer, r09_async_copy, r10_gemm, r11_matrix_vector, r12_mma_sync",
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
}
