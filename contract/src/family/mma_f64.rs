//! f64 by `mma.sync`: tiles, and the layout of their stages in shared memory.

use crate::dtype::DType;
use crate::family::{Family, major};
use crate::kernel::{Alignment, Features, Kernel, Loads, MmaPath, Operands, SplitK};
use crate::smem::{SmemLayout, Storage};
use crate::units::Bytes;

/// CTA tile and warp tile.
///
/// A CTA computes `m x n` elements of C in k-tiles of `k`; each of its warps computes `warp_m x warp_n` of them. Shared
/// memory is a pipeline of stages:
///
/// ```text
/// | A_s: m * k | B_s: n * k |   elements; `stages` times
/// ```
///
/// Each part has the rows that its operand has in memory, rows of `k` if it is K-major, `k` rows of `m` or `n` if it is
/// MN-major, permuted within 128 bytes ([`swizzled`](Self::swizzled)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct F64Tile {
    /// Rows of C.
    pub m: u32,
    /// Columns of C.
    pub n: u32,
    /// BLOCK_K, elements along K of a k-tile.
    pub k: u32,
    /// Rows of C of a warp.
    pub warp_m: u32,
    /// Columns of C of a warp.
    pub warp_n: u32,
    /// Stages of the pipeline: k-tiles in shared memory at once.
    pub stages: u32,
    /// CTAs that an SM is to hold (`.minnctapersm`), which caps registers.
    pub min_blocks: u32,
    /// Whether the mma of a k-block's last row of atoms are done after the loads of the next fragments: registers for
    /// more fragments, so that a warp's tensor cores have work after a barrier.
    pub defers_last_row: bool,
}

impl F64Tile {
    /// Extents of an MMA atom along M, N and K.
    pub const ATOM: [u32; 3] = [16, 8, 8];

    /// Threads of a CTA.
    pub const fn threads(self) -> u32 {
        32 * self.warps_m() * self.warps_n()
    }

    /// Warps along the rows of C.
    pub const fn warps_m(self) -> u32 {
        self.m / self.warp_m
    }

    /// Warps along the columns of C.
    pub const fn warps_n(self) -> u32 {
        self.n / self.warp_n
    }

    /// Elements of `A_s` of one stage: `B_s` begins here.
    pub const fn a_elems(self) -> u32 {
        self.m * self.k
    }

    /// Elements of `B_s` of one stage.
    pub const fn b_elems(self) -> u32 {
        self.n * self.k
    }

    /// Elements of a stage.
    pub const fn stage_elems(self) -> u32 {
        self.a_elems() + self.b_elems()
    }

    /// What the index of an element in its row is XORed with in row `row`: groups of four elements trade places. Four
    /// rows of four neighboring elements each, what half a warp loads of a fragment, are in different banks.
    #[inline(always)]
    pub const fn swizzled(row: u32) -> u32 {
        row % 4 * 4
    }

    /// Whether its kernels support split-K: with 128 registers of accumulators the reduction is left to smaller tiles.
    pub const fn supports_split_k(self) -> bool {
        self.warp_m * self.warp_n <= 32 * 32
    }

    /// What the elements of the last k-tile that its kernels multiply are a multiple of: an atom's, where no mma of the
    /// k-block before it is still to be done.
    pub const fn k_granularity(self) -> u32 {
        if self.defers_last_row { self.k } else { Self::ATOM[2] }
    }

    /// Fails to compile where the numbers do not fit each other.
    pub const fn checked(self) -> Self {
        assert!(
            self.warps_m() * self.warp_m == self.m && self.warps_n() * self.warp_n == self.n,
            "whole warps"
        );
        assert!(
            self.warp_m.is_multiple_of(16) && self.warp_n.is_multiple_of(16),
            "whole MMA atoms, two along N"
        );
        assert!(self.k == 16, "a K-major row is 128 bytes");
        assert!(self.threads() <= crate::MAX_THREADS_PER_BLOCK);
        let pass = 2 * self.threads();
        assert!(
            self.a_elems().is_multiple_of(pass) && self.b_elems().is_multiple_of(pass),
            "as many loads in every thread"
        );
        assert!(self.stages >= 2, "one stage is filled while another is read");
        self
    }
}

/// The tiles of this family.
pub mod f64_tiles {
    use super::F64Tile;

    /// 128 KiB, 8 warps with 64 accumulators per lane.
    pub const T128X128: F64Tile = F64Tile {
        m: 128,
        n: 128,
        k: 16,
        warp_m: 32,
        warp_n: 64,
        stages: 4,
        min_blocks: 1,
        defers_last_row: true,
    }
    .checked();

    /// For smaller C: 64 KiB, 4 warps with 32 accumulators per lane.
    pub const T64X64: F64Tile = F64Tile {
        m: 64,
        n: 64,
        warp_n: 32,
        min_blocks: 3,
        ..T128X128
    }
    .checked();

    /// For K of few k-tiles, where only other CTAs hide the first loads and the stores of one: 48 KiB, and four CTAs on
    /// an SM. Pairs alone are loaded; addresses of single elements would take too many registers.
    pub const D64X64: F64Tile = F64Tile {
        stages: 3,
        min_blocks: 4,
        defers_last_row: false,
        ..T64X64
    }
    .checked();

    /// For tiny C: 32 KiB, 4 warps with 8 accumulators per lane, each of which loads half as many elements.
    pub const T32X32: F64Tile = F64Tile {
        m: 32,
        n: 32,
        warp_m: 16,
        warp_n: 16,
        min_blocks: 5,
        ..T64X64
    }
    .checked();
}

/// The kernels of [`Family::MMA_F64`](crate::Family::MMA_F64): calls `$callback!` with rows `symbol: tile, major and
/// elements of one load of A, of B;`. Where no vectors can be loaded the small tile is as fast.
#[macro_export]
macro_rules! mma_f64_kernels {
    ($($callback:tt)*) => {
        $($callback)*! {
            mma_f64_nn2_128x128_f64: T128X128, KMajor 2, MnMajor 2;
            mma_f64_nt2_128x128_f64: T128X128, KMajor 2, KMajor 2;
            mma_f64_tn2_128x128_f64: T128X128, MnMajor 2, MnMajor 2;
            mma_f64_tt2_128x128_f64: T128X128, MnMajor 2, KMajor 2;
            mma_f64_nn2_64x64_f64: T64X64, KMajor 2, MnMajor 2;
            mma_f64_nt2_64x64_f64: T64X64, KMajor 2, KMajor 2;
            mma_f64_tn2_64x64_f64: T64X64, MnMajor 2, MnMajor 2;
            mma_f64_tt2_64x64_f64: T64X64, MnMajor 2, KMajor 2;
            mma_f64_nn_64x64_f64: T64X64, KMajor 1, MnMajor 1;
            mma_f64_nt_64x64_f64: T64X64, KMajor 1, KMajor 1;
            mma_f64_tn_64x64_f64: T64X64, MnMajor 1, MnMajor 1;
            mma_f64_tt_64x64_f64: T64X64, MnMajor 1, KMajor 1;
            mma_f64_nn_32x32_f64: T32X32, KMajor 1, MnMajor 1;
            mma_f64_nt_32x32_f64: T32X32, KMajor 1, KMajor 1;
            mma_f64_tn_32x32_f64: T32X32, MnMajor 1, MnMajor 1;
            mma_f64_tt_32x32_f64: T32X32, MnMajor 1, KMajor 1;
        }
    };
}

/// Those of [`Family::MMA_F64_WIDE`](crate::Family::MMA_F64_WIDE), likewise.
#[macro_export]
macro_rules! mma_f64_wide_kernels {
    ($($callback:tt)*) => {
        $($callback)*! {
            mma_f64_wide_nn2_128x128_f64: T128X128, KMajor 2, MnMajor 2;
            mma_f64_wide_nt2_128x128_f64: T128X128, KMajor 2, KMajor 2;
            mma_f64_wide_tn2_128x128_f64: T128X128, MnMajor 2, MnMajor 2;
            mma_f64_wide_tt2_128x128_f64: T128X128, MnMajor 2, KMajor 2;
            mma_f64_wide_nn2_64x64_f64: T64X64, KMajor 2, MnMajor 2;
            mma_f64_wide_nt2_64x64_f64: T64X64, KMajor 2, KMajor 2;
            mma_f64_wide_tn2_64x64_f64: T64X64, MnMajor 2, MnMajor 2;
            mma_f64_wide_tt2_64x64_f64: T64X64, MnMajor 2, KMajor 2;
            mma_f64_wide_short_nn2_64x64_f64: D64X64, KMajor 2, MnMajor 2;
            mma_f64_wide_short_nt2_64x64_f64: D64X64, KMajor 2, KMajor 2;
            mma_f64_wide_short_tn2_64x64_f64: D64X64, MnMajor 2, MnMajor 2;
            mma_f64_wide_short_tt2_64x64_f64: D64X64, MnMajor 2, KMajor 2;
            mma_f64_wide_nn_64x64_f64: T64X64, KMajor 1, MnMajor 1;
            mma_f64_wide_nt_64x64_f64: T64X64, KMajor 1, KMajor 1;
            mma_f64_wide_tn_64x64_f64: T64X64, MnMajor 1, MnMajor 1;
            mma_f64_wide_tt_64x64_f64: T64X64, MnMajor 1, KMajor 1;
            mma_f64_wide_nn_32x32_f64: T32X32, KMajor 1, MnMajor 1;
            mma_f64_wide_nt_32x32_f64: T32X32, KMajor 1, KMajor 1;
            mma_f64_wide_tn_32x32_f64: T32X32, MnMajor 1, MnMajor 1;
            mma_f64_wide_tt_32x32_f64: T32X32, MnMajor 1, KMajor 1;
        }
    };
}

macro_rules! rows {
    ($($symbol:ident: $tile:ident, $a:ident $a_elems:literal, $b:ident $b_elems:literal;)*) => {
        [$(Kernel {
            operands: Operands::Matrices([major!($a), major!($b)]),
            alignment: Alignment::of([$a_elems, $b_elems]),
            ..kernel(stringify!($symbol), f64_tiles::$tile)
        }),*]
    };
}

/// The kernels of the first list.
pub(super) const KERNELS: [Kernel; 16] = crate::mma_f64_kernels!(rows);

/// Those of the second.
pub(super) const WIDE: [Kernel; 20] = {
    let mut kernels = crate::mma_f64_wide_kernels!(rows);
    let mut at = 0;
    while at < kernels.len() {
        kernels[at].family = Family::MMA_F64_WIDE;
        kernels[at].target = Family::MMA_F64_WIDE.target();
        kernels[at].supports.dependent_launch = true;
        at += 1;
    }
    kernels
};

const fn kernel(symbol: &'static str, tile: F64Tile) -> Kernel {
    const ELEMENT: u32 = DType::F64.size_bytes();
    Kernel {
        k_granularity: Some(tile.k_granularity()),
        mma: MmaPath::MmaSync,
        loads: Loads::CpAsync,
        smem: SmemLayout {
            storage: Storage::Dynamic,
            stages: tile.stages,
            a_per_stage: Bytes(tile.a_elems() * ELEMENT),
            b_per_stage: Bytes(tile.b_elems() * ELEMENT),
            ..SmemLayout::NONE
        },
        supports: Features {
            alpha_beta: true,
            batch: true,
            ..Features::PRODUCT
        },
        split_k: if tile.supports_split_k() {
            Some(SplitK {
                // The workspace is counted in elements of 4 bytes.
                elems_per_tile: 2 * tile.m * tile.n,
                threads: tile.threads(),
                counters_per_tile: 1,
            })
        } else {
            None
        },
        ..Kernel::plain(
            Family::MMA_F64,
            symbol,
            DType::F64,
            [tile.m, tile.n, tile.k],
            tile.threads(),
        )
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn half_a_warp_reaches_every_bank_once() {
        // Four rows of four neighboring elements each: of a K-major operand four of k in rows of 16, of an MN-major one
        // four rows or columns.
        for (first_row, first) in (0..16)
            .step_by(4)
            .flat_map(|row| (0..16).step_by(4).map(move |first| (row, first)))
        {
            for row_elems in [16, 64, 128] {
                let elem = |lane: u32| {
                    let row = first_row + lane / 4;
                    row * row_elems + ((first + lane % 4) ^ F64Tile::swizzled(row))
                };
                // Banks of 8 bytes.
                let banks: BTreeSet<_> = (0..16).map(|lane| elem(lane) % 16).collect();
                assert_eq!(banks.len(), 16, "row {first_row}, element {first}, rows of {row_elems}");
            }
        }
    }

    #[test]
    fn the_geometry_counts_what_a_cta_holds() {
        let [large, small] = [f64_tiles::T128X128, f64_tiles::T64X64];
        assert_eq!((large.threads(), small.threads()), (256, 128));
        // Four stages of 16 x (128 + 128) elements of 8 bytes.
        assert_eq!(KERNELS[0].smem.total(), Bytes(128 << 10));
        assert_eq!(KERNELS[4].smem.total(), Bytes(64 << 10));
        assert!(WIDE.iter().all(|kernel| kernel.family == Family::MMA_F64_WIDE));
    }
}
