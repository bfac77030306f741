//! f32 by FMA from register tiles, for every layout.

use crate::dtype::DType;
use crate::family::{Family, major};
use crate::kernel::{Alignment, Features, Kernel, Loads, Operands, SplitK};
use crate::smem::{SmemLayout, Storage};
use crate::units::Bytes;

/// CTA tile and thread tile.
///
/// A CTA computes `m x n` elements of C in k-tiles of `k`. A thread holds `thread_m x thread_n` of them, a warp
/// `4 * thread_m` rows and `8 * thread_n` columns.
///
/// Shared memory is a pipeline of stages. A stage holds `k` elements of each row of A, transposed, and of each column
/// of B:
///
/// ```text
/// | A_s: k x m, pitch m + PAD | B_s: k x n, pitch n + PAD |   elements; `stages` times
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BlockTile {
    /// Rows of C.
    pub m: u32,
    /// Columns of C.
    pub n: u32,
    /// BLOCK_K, elements along K of a k-tile.
    pub k: u32,
    /// Rows of C of a thread.
    pub thread_m: u32,
    /// Columns of C of a thread.
    pub thread_n: u32,
    /// Stages of the pipeline: k-tiles in shared memory at once.
    pub stages: u32,
    /// CTAs that an SM is to hold (`.minnctapersm`), which caps registers; 0 leaves it to the compiler.
    pub min_blocks: u32,
    /// Whether its kernels compute groups of rows.
    pub groups: bool,
    /// Slices of each k-tile. Each has warps of its own for the whole tile of C, whose accumulators are added in shared
    /// memory at the end (sliced-K, as in CUTLASS, "Efficient GEMM in CUDA"): more warps for C of few elements than
    /// split-K alone gives, without its workspace.
    pub slices: u32,
    /// Whether it stores C in whole sectors wherever its rows begin. Its kernels load single elements, and compute one
    /// product, alone.
    pub sectors: bool,
}

impl BlockTile {
    /// Elements of a sector of 32 bytes.
    pub const SECTOR: u32 = 8;

    /// Rows of lanes in a warp.
    pub const LANES_M: u32 = 4;

    /// Columns of lanes in a warp.
    pub const LANES_N: u32 = 8;

    /// Padding elements after each row in shared memory. A warp that transposes stores 8 elements along K of 4 rows,
    /// or, if its lanes loaded vectors along K, 2 of 16 rows, 4 apart along K: with a pitch of 4 more than a multiple
    /// of 32 they are in 32 banks. Vec4s stay aligned.
    pub const PAD: u32 = 4;

    /// Threads of a CTA.
    pub const fn threads(self) -> u32 {
        self.m * self.n / (self.thread_m * self.thread_n) * self.slices
    }

    /// Warps along the rows of C.
    pub const fn warps_m(self) -> u32 {
        self.m / (Self::LANES_M * self.thread_m)
    }

    /// Warps along the columns of C.
    pub const fn warps_n(self) -> u32 {
        self.n / (Self::LANES_N * self.thread_n)
    }

    /// Elements along K of a slice of a k-tile.
    pub const fn slice_k(self) -> u32 {
        self.k / self.slices
    }

    /// Rows of accumulators of a thread when the slices' are added: each slice has its part of the tile then.
    pub const fn rows_of_slice(self) -> u32 {
        self.thread_m / self.slices
    }

    /// Elements from one row of `A_s` to the next.
    pub const fn a_pitch(self) -> u32 {
        self.m + Self::PAD
    }

    /// Columns of B of a tile that its neighbor on the left has too: with [whole sectors](Self::sectors) the columns of
    /// C that it stores begin up to a sector further left, in each row elsewhere.
    pub const fn overlap(self) -> u32 {
        if self.sectors { Self::SECTOR } else { 0 }
    }

    /// Elements from one row of `B_s` to the next.
    pub const fn b_pitch(self) -> u32 {
        self.overlap() + self.n + Self::PAD
    }

    /// Elements of `A_s` of one stage: `B_s` begins here.
    pub const fn a_elems(self) -> u32 {
        self.k * self.a_pitch()
    }

    /// Elements of `B_s` of one stage.
    pub const fn b_elems(self) -> u32 {
        self.k * self.b_pitch()
    }

    /// Elements of a stage.
    pub const fn stage_elems(self) -> u32 {
        self.a_elems() + self.b_elems()
    }

    /// Bytes of all stages.
    pub const fn bytes(self, dtype: DType) -> Bytes {
        Bytes(self.stages * self.stage_elems() * dtype.size_bytes())
    }

    /// Whether its kernels support split-K, and store vectors. With 128 accumulators per thread nearly all
    /// registers are taken, and branches in the epilogue change the order in which `ptxas` uses them: 2 % of the speed
    /// of large products on an H200.
    pub const fn supports_split_k(self) -> bool {
        self.thread_m * self.thread_n < 128 && !self.groups && !self.sectors
    }

    /// What the elements of the last k-tile that its kernels multiply are a multiple of. Where K is short, zeros past
    /// its end would be much of the work. With slices the k-tile that K does not fill is the first
    /// (docs/decisions/0054-first-k-tile.md); with 128 accumulators no registers are left for another loop.
    pub const fn k_granularity(self) -> u32 {
        if self.sectors {
            1
        } else if self.slices == 1 && self.supports_split_k() {
            4
        } else {
            self.k
        }
    }

    /// Fails to compile where the numbers do not fit each other: whole warps, loads without residue.
    pub const fn checked(self) -> Self {
        assert!(
            self.warps_m() * Self::LANES_M * self.thread_m == self.m,
            "whole warps along M"
        );
        assert!(
            self.warps_n() * Self::LANES_N * self.thread_n == self.n,
            "whole warps along N"
        );
        assert!(self.threads() == 32 * self.warps_m() * self.warps_n() * self.slices);
        assert!(self.threads() <= crate::MAX_THREADS_PER_BLOCK);
        assert!(self.k.is_multiple_of(8), "8 lanes load along K");
        assert!(
            self.m.is_multiple_of(self.threads() / 8) && self.n.is_multiple_of(self.threads() / 8),
            "whole passes"
        );
        assert!(self.stages >= 1);
        if self.slices > 1 {
            assert!(self.k.is_multiple_of(2 * self.slices), "two sets of fragments in turn");
            assert!(
                self.thread_m.is_multiple_of(self.slices),
                "whole rows of accumulators for each slice"
            );
            assert!(
                self.slices * self.m * self.n <= self.stages * self.stage_elems(),
                "the stages have room for the accumulators of all slices"
            );
        }
        self
    }

    /// [`Self::checked`], and what the body asks for: fragments of whole vectors, at least two
    /// stages to fill one while another is read.
    pub const fn pipelined(self) -> Self {
        assert!(
            self.thread_m.is_multiple_of(4) && self.thread_n.is_multiple_of(4),
            "fragments are vectors of 4"
        );
        assert!(self.stages >= 2);
        self.checked()
    }
}

/// The tiles of this family; f32.
pub mod tiles {
    use super::BlockTile;

    const fn tile(m: u32, n: u32, k: u32, thread_m: u32, thread_n: u32, stages: u32, min_blocks: u32) -> BlockTile {
        let tile = BlockTile {
            m,
            n,
            k,
            thread_m,
            thread_n,
            stages,
            min_blocks,
            groups: false,
            slices: 1,
            sectors: false,
        };
        tile.checked()
    }

    /// For large products: 16 x 8 elements per thread, one CTA per SM.
    pub const T256X128: BlockTile = tile(256, 128, 16, 16, 8, 3, 1).pipelined();
    /// For products with too few tiles of 256 x 128: 8 x 8 elements per thread, two CTAs per SM.
    pub const T128X128: BlockTile = tile(128, 128, 16, 8, 8, 3, 2).pipelined();
    /// Four warps with 8 x 8 elements per thread.
    pub const T128X64: BlockTile = tile(128, 64, 16, 8, 8, 3, 3).pipelined();
    /// The same for few rows, of which 128 would leave half empty.
    pub const T64X128: BlockTile = tile(64, 128, 16, 8, 8, 3, 3).pipelined();
    /// Two warps with 8 x 8 elements per thread.
    pub const T64X64: BlockTile = tile(64, 64, 16, 8, 8, 4, 6).pipelined();
    /// For few rows of C.
    pub const T32X128: BlockTile = tile(32, 128, 32, 4, 8, 3, 4).pipelined();
    /// For few columns of C.
    pub const T128X32: BlockTile = tile(128, 32, 32, 8, 4, 3, 4).pipelined();
    /// For no more than 16 rows of C.
    pub const T16X128: BlockTile = tile(16, 128, 32, 4, 4, 4, 4).pipelined();
    /// One warp, for batches of small products.
    pub const T32X32: BlockTile = tile(32, 32, 16, 8, 4, 3, 16).pipelined();
    /// For C of few elements, or of few rows or columns: four warps, each for a quarter of every k-tile. Two stages of
    /// single elements, which go through registers.
    pub const S32X32: BlockTile = BlockTile {
        slices: 4,
        ..tile(32, 32, 32, 8, 4, 2, 4)
    }
    .pipelined();
    /// For up to 64 rows: two warps for each half of every k-tile.
    pub const S64X32: BlockTile = BlockTile {
        slices: 2,
        ..tile(64, 32, 32, 8, 4, 2, 4)
    }
    .pipelined();
    /// For 33 to 48 rows: two warps of 48 rows for each half of every k-tile.
    pub const S48X64: BlockTile = BlockTile {
        slices: 2,
        ..tile(48, 64, 32, 12, 4, 2, 3)
    }
    .pipelined();
    /// For long K and rows of single elements: as many FMAs for each load as a thread has registers for.
    pub const S64X64: BlockTile = BlockTile {
        slices: 2,
        ..tile(64, 64, 32, 8, 8, 2, 3)
    }
    .pipelined();
    /// For K of few k-tiles and a large C: four warps of 32 x 32, so that an SM has 16 of them to hide stores.
    pub const R64X64: BlockTile = tile(64, 64, 16, 8, 4, 2, 4).pipelined();
    /// For K of one or two k-tiles and a large C, whose store takes the time: eight warps of 8 rows. One stage.
    pub const W64X128: BlockTile = BlockTile {
        sectors: true,
        ..tile(64, 128, 32, 8, 4, 1, 3)
    };
    /// For groups of many rows.
    pub const G128X128: BlockTile = of_groups(T128X128);
    /// For groups of fewer.
    pub const G64X64: BlockTile = of_groups(T64X64);
    /// For groups of few.
    pub const G32X128: BlockTile = of_groups(T32X128);

    const fn of_groups(tile: BlockTile) -> BlockTile {
        BlockTile { groups: true, ..tile }
    }
}

/// The kernels of this family: calls `$callback!` with rows `symbol: tile, major and elements of one load of A, of B;`.
/// Of each tile one row for each layout, and for those whose loads can be vectors one that makes them so, first. Where
/// no vectors can be loaded the next smaller tile is as fast, and of small ones those whose elements go through
/// registers; where registers do not suffice on every architecture there is no row.
#[macro_export]
macro_rules! simt_kernels {
    ($($callback:tt)*) => {
        $($callback)*! {
            simt_nn4_256x128_f32: T256X128, KMajor 1, MnMajor 4;
            simt_nt_256x128_f32: T256X128, KMajor 1, KMajor 1;
            simt_tn4_256x128_f32: T256X128, MnMajor 4, MnMajor 4;
            simt_tt4_256x128_f32: T256X128, MnMajor 4, KMajor 1;
            simt_nn4_128x128_f32: T128X128, KMajor 1, MnMajor 4;
            simt_nn4_128x64_f32: T128X64, KMajor 1, MnMajor 4;
            simt_nt_128x64_f32: T128X64, KMajor 1, KMajor 1;
            simt_tn4_128x64_f32: T128X64, MnMajor 4, MnMajor 4;
            simt_tt4_128x64_f32: T128X64, MnMajor 4, KMajor 1;
            simt_nn4_64x128_f32: T64X128, KMajor 1, MnMajor 4;
            simt_nt_64x128_f32: T64X128, KMajor 1, KMajor 1;
            simt_tn4_64x128_f32: T64X128, MnMajor 4, MnMajor 4;
            simt_tt4_64x128_f32: T64X128, MnMajor 4, KMajor 1;
            simt_nn4_64x64_f32: T64X64, KMajor 1, MnMajor 4;
            simt_tn4_64x64_f32: T64X64, MnMajor 4, MnMajor 4;
            simt_tt4_64x64_f32: T64X64, MnMajor 4, KMajor 1;
            simt_nn4_32x128_f32: T32X128, KMajor 1, MnMajor 4;
            simt_nt_32x128_f32: T32X128, KMajor 1, KMajor 1;
            simt_tn4_32x128_f32: T32X128, MnMajor 4, MnMajor 4;
            simt_tt4_128x32_f32: T128X32, MnMajor 4, KMajor 1;
            simt_nn4_16x128_f32: T16X128, KMajor 1, MnMajor 4;
            simt_tn4_16x128_f32: T16X128, MnMajor 4, MnMajor 4;
            simt_nn4_32x32_f32: T32X32, KMajor 1, MnMajor 4;
            simt_tn4_32x32_f32: T32X32, MnMajor 4, MnMajor 4;
            simt_tt4_32x32_f32: T32X32, MnMajor 4, KMajor 1;
            simt_groups_nn4_128x128_f32: G128X128, KMajor 1, MnMajor 4;
            simt_groups_nt_128x128_f32: G128X128, KMajor 1, KMajor 1;
            simt_groups_nn4_64x64_f32: G64X64, KMajor 1, MnMajor 4;
            simt_groups_nt_64x64_f32: G64X64, KMajor 1, KMajor 1;
            simt_groups_nn_64x64_f32: G64X64, KMajor 1, MnMajor 1;
            simt_groups_nn4_32x128_f32: G32X128, KMajor 1, MnMajor 4;
            simt_groups_nt_32x128_f32: G32X128, KMajor 1, KMajor 1;
        }
    };
}

/// Calls `$callback!` with rows as [`simt_kernels`](crate::simt_kernels) has them, of the tiles whose elements go
/// through registers.
#[macro_export]
macro_rules! simt_registers_kernels {
    ($callback:ident) => {
        $callback! {
            simt_sliced_nn_32x32_f32: S32X32, KMajor 1, MnMajor 1;
            simt_sliced_nt_32x32_f32: S32X32, KMajor 1, KMajor 1;
            simt_sliced_tn_32x32_f32: S32X32, MnMajor 1, MnMajor 1;
            simt_sliced_tt_32x32_f32: S32X32, MnMajor 1, KMajor 1;
            simt_sliced_nn_64x32_f32: S64X32, KMajor 1, MnMajor 1;
            simt_sliced_nt_64x32_f32: S64X32, KMajor 1, KMajor 1;
            simt_sliced_tn_64x32_f32: S64X32, MnMajor 1, MnMajor 1;
            simt_sliced_tt_64x32_f32: S64X32, MnMajor 1, KMajor 1;
            simt_sliced_nn_48x64_f32: S48X64, KMajor 1, MnMajor 1;
            simt_sliced_nt_48x64_f32: S48X64, KMajor 1, KMajor 1;
            simt_sliced_tn_48x64_f32: S48X64, MnMajor 1, MnMajor 1;
            simt_sliced_tt_48x64_f32: S48X64, MnMajor 1, KMajor 1;
            simt_sliced_nn_64x64_f32: S64X64, KMajor 1, MnMajor 1;
            simt_sliced_nt_64x64_f32: S64X64, KMajor 1, KMajor 1;
            simt_sliced_tn_64x64_f32: S64X64, MnMajor 1, MnMajor 1;
            simt_sliced_tt_64x64_f32: S64X64, MnMajor 1, KMajor 1;
            simt_registers_nn_64x64_f32: R64X64, KMajor 1, MnMajor 1;
            simt_registers_nt_64x64_f32: R64X64, KMajor 1, KMajor 1;
            simt_registers_tn_64x64_f32: R64X64, MnMajor 1, MnMajor 1;
            simt_registers_tt_64x64_f32: R64X64, MnMajor 1, KMajor 1;
        }
    };
}

/// Calls `$callback!` with rows as [`simt_kernels`](crate::simt_kernels) has them, of the tiles that store C in whole
/// sectors.
#[macro_export]
macro_rules! simt_sectors_kernels {
    ($callback:ident) => {
        $callback! {
            simt_sectors_nn_64x136_f32: W64X128, KMajor 1, MnMajor 1;
            simt_sectors_nt_64x136_f32: W64X128, KMajor 1, KMajor 1;
            simt_sectors_tn_64x136_f32: W64X128, MnMajor 1, MnMajor 1;
            simt_sectors_tt_64x136_f32: W64X128, MnMajor 1, KMajor 1;
        }
    };
}

macro_rules! rows {
    ($loads:expr; $($symbol:ident: $tile:ident, $a:ident $a_elems:literal, $b:ident $b_elems:literal;)*) => {
        [$(Kernel {
            operands: Operands::Matrices([major!($a), major!($b)]),
            alignment: Alignment::of([$a_elems, $b_elems]),
            loads: $loads,
            // A K-major B is transposed on the way to shared memory, an element at a time.
            may_transpose: [false, !tiles::$tile.groups && $a_elems == 1 && $b_elems == 4],
            ..kernel(stringify!($symbol), tiles::$tile)
        }),*]
    };
}

macro_rules! multistage {
    ($($rows:tt)*) => { rows!(Loads::CpAsync; $($rows)*) };
}

macro_rules! through_registers {
    ($($rows:tt)*) => { rows!(Loads::Threads; $($rows)*) };
}

/// Those of `cp.async`.
pub(super) const KERNELS: [Kernel; 32] = crate::simt_kernels!(multistage);

/// Those whose elements go through registers: `cp.async` of single elements has bank conflicts where rows of the
/// operand straddle sectors (docs/decisions/0046-sliced-k.md).
pub(super) const THROUGH_REGISTERS: [Kernel; 20] = crate::simt_registers_kernels!(through_registers);

/// Those that store C in whole sectors.
pub(super) const SECTORS: [Kernel; 4] = crate::simt_sectors_kernels!(through_registers);

/// The kernel with this tile, for row-major operands and single elements.
const fn kernel(symbol: &'static str, tile: BlockTile) -> Kernel {
    Kernel {
        smem: SmemLayout {
            storage: Storage::Dynamic,
            stages: tile.stages,
            a_per_stage: Bytes(tile.a_elems() * DType::F32.size_bytes()),
            b_per_stage: Bytes(tile.b_elems() * DType::F32.size_bytes()),
            row_padding: [BlockTile::PAD; 2],
            ..SmemLayout::NONE
        },
        k_granularity: Some(tile.k_granularity()),
        overlap: tile.overlap(),
        supports: Features {
            alpha_beta: !tile.sectors,
            batch: !tile.groups && !tile.sectors,
            groups: tile.groups,
            ..Features::PRODUCT
        },
        split_k: if tile.supports_split_k() {
            Some(SplitK {
                elems_per_tile: tile.m * tile.n,
                threads: tile.threads(),
                counters_per_tile: 1,
            })
        } else {
            None
        },
        ..Kernel::plain(
            Family::SIMT,
            symbol,
            DType::F32,
            [tile.m, tile.overlap() + tile.n, tile.k],
            tile.threads(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_geometry_counts_what_a_cta_holds() {
        let tile = BlockTile {
            m: 256,
            n: 128,
            k: 16,
            thread_m: 16,
            thread_n: 8,
            stages: 3,
            min_blocks: 1,
            groups: false,
            slices: 1,
            sectors: false,
        }
        .pipelined();
        assert_eq!((tile.threads(), tile.warps_m(), tile.warps_n()), (256, 4, 2));
        // 3 stages of 16 x (260 + 132) elements of 4 bytes.
        assert_eq!(tile.bytes(DType::F32), Bytes(75_264));
    }

    #[test]
    fn a_transposing_warp_hits_every_bank_once() {
        for kernel in KERNELS.iter().chain(&THROUGH_REGISTERS) {
            for pitch in [kernel.tile.m + BlockTile::PAD, kernel.tile.n + BlockTile::PAD] {
                // Neighboring lanes have neighbors along K, or vec4s of them.
                for (along_k, vector) in [(8, 1), (2, 4)] {
                    let banks: u64 = (0..32)
                        .map(|lane| (lane % along_k * vector * pitch + lane / along_k) % 32)
                        .fold(0, |seen, bank| seen | 1 << bank);
                    assert_eq!(banks.count_ones(), 32, "{}", kernel.symbol);
                }
            }
        }
    }
}
