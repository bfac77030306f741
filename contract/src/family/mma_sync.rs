//! Tiles of the `mma.sync` kernels, and the layout of their stages in shared memory.

use crate::dtype::DType;
use crate::family::swizzle::Swizzle;
use crate::family::{Family, dtype, major};
use crate::kernel::{Alignment, Features, Kernel, Loads, MmaPath, Operands, Schedule, SplitK};
use crate::major::Major;
use crate::smem::{EpilogueBuffers, SmemLayout, Storage};
use crate::units::Bytes;

/// CTA tile and warp tile of a tensor-core kernel with elements of 2 bytes.
///
/// A CTA computes `m x n` elements of C in k-tiles of `k`; each of its warps computes `warp_m x warp_n` of them. Shared
/// memory is a pipeline of stages:
///
/// ```text
/// | A_s: m * k | B_s: n * k |   elements; `stages` times
/// ```
///
/// Each part has the rows that its operand has in memory, [`Swizzle`]d: rows of `k` if it is K-major, `k` rows of `m`
/// or
/// `n` if it is MN-major.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TensorTile {
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
    /// Whether its kernels compute groups of rows.
    pub groups: bool,
    /// Whether a CTA computes a strip, neighboring tiles along N one after the other, from loads of single elements or
    /// pairs, and stores C in whole sectors wherever its rows begin. It is one product, and the product alone.
    pub strips: bool,
    /// Whether its kernels support split-K: those with at most 32 accumulators per lane, which load single elements or
    /// pairs. With 128 the reduction is left to smaller tiles.
    pub supports_split_k: bool,
}

impl TensorTile {
    /// Bytes of an element of A, B and C.
    pub const ELEMENT_BYTES: u32 = 2;

    /// Bytes of 16 rows of 32 columns of accumulators, which a warp's predicated store takes through shared memory.
    pub const STORE_BYTES: u32 = 16 * 32 * 4;

    /// Extent of an MMA atom along M and K; two of them, `mma.m16n8k16`, have as much along N.
    pub const MMA_ATOM: u32 = 16;

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

    /// Bytes of a stage.
    pub const fn stage_bytes(self) -> Bytes {
        Bytes(self.stage_elems() * Self::ELEMENT_BYTES)
    }

    /// Bytes of all stages.
    pub const fn bytes(self) -> Bytes {
        Bytes(self.stages * self.stage_bytes().get())
    }

    /// Columns of a tile of [strips](Self::strips) that the one on its left computes too: elements of a sector of 32
    /// bytes. Each row of C is stored in whole sectors, which begin within as many columns.
    pub const OVERLAP: u32 = 16;

    /// Elements that a row of C's buffers has more than a row of the tile.
    pub const STORE_PADDING: u32 = 40;

    /// Elements of C's buffers, which follow the stages of a tile of [strips](Self::strips): those of its rows, and
    /// their padding.
    pub const fn c_elems(self) -> [u32; 2] {
        if self.strips {
            [self.m * self.n, self.m * Self::STORE_PADDING]
        } else {
            [0; 2]
        }
    }

    /// What the elements of the last k-tile that its kernels multiply are a multiple of: those of
    /// [strips](Self::strips), which are for short K, end with the MMA atom in which K does.
    pub const fn k_granularity(self) -> u32 {
        if self.strips { Self::MMA_ATOM } else { self.k }
    }

    /// Fails to compile where the numbers do not fit each other: whole warps and MMA atoms, loads without residue.
    pub const fn checked(self) -> Self {
        assert!(
            self.warps_m() * self.warp_m == self.m && self.warps_n() * self.warp_n == self.n,
            "whole warps"
        );
        assert!(
            self.warp_m.is_power_of_two() && self.warp_n.is_power_of_two() && self.k.is_power_of_two(),
            "vectors are swizzled by XOR"
        );
        assert!(
            self.warp_m >= Self::MMA_ATOM && self.warp_n >= Self::MMA_ATOM,
            "whole MMA atoms"
        );
        assert!(
            self.k.is_multiple_of(2 * Self::MMA_ATOM),
            "two k-blocks, of which one is loaded while the mma of the other run"
        );
        assert!(self.threads() <= crate::MAX_THREADS_PER_BLOCK);
        // A pass of the CTA is whole rows, a multiple of 8 of them: a thread has the same swizzle in every pass.
        let mut row = 0;
        while row < 3 {
            let vectors = [self.k, self.m, self.n][row] / Swizzle::VECTOR;
            assert!(
                vectors.is_power_of_two() && self.threads().is_multiple_of(8 * vectors),
                "whole passes"
            );
            row += 1;
        }
        assert!(
            self.a_elems().is_multiple_of(self.threads() * Swizzle::VECTOR)
                && self.b_elems().is_multiple_of(self.threads() * Swizzle::VECTOR),
            "as many loads in every thread"
        );
        assert!(self.stages >= 2, "one stage is filled while another is read");
        assert!(
            !self.strips || self.warp_n == self.n && self.warp_m == Self::MMA_ATOM,
            "a warp has its rows of C for itself, those of one MMA atom"
        );
        self
    }
}

/// Tiles with warp tiles of 64 x 64, but for a small one: 128 accumulators per lane, as many as 255 registers hold with
/// the fragments of two k-blocks.
pub mod tensor_tiles {
    use super::TensorTile;

    /// 64 KiB, 4 warps: two CTAs take all registers of an SM.
    pub const T128X128: TensorTile = TensorTile {
        m: 128,
        n: 128,
        k: 32,
        warp_m: 64,
        warp_n: 64,
        stages: 4,
        min_blocks: 2,
        groups: false,
        strips: false,
        supports_split_k: false,
    }
    .checked();

    /// 96 KiB, 8 warps: one CTA takes all registers, and loads three quarters as much of A and B as two of 128 x 128.
    pub const T256X128: TensorTile = TensorTile {
        m: 256,
        min_blocks: 1,
        ..T128X128
    }
    .checked();

    /// For small products whose rows begin anywhere, loaded in single elements: 32 KiB, 4 warps of 32 x 32. A lane
    /// holds 32 accumulators beside the 64 elements of a k-tile in flight, so that three CTAs are resident. In two
    /// stages: registers are the third.
    pub const T64X64: TensorTile = TensorTile {
        m: 64,
        n: 64,
        k: 64,
        warp_m: 32,
        warp_n: 32,
        stages: 2,
        min_blocks: 3,
        groups: false,
        strips: false,
        supports_split_k: true,
    }
    .checked();

    /// The same for K of one or two k-tiles, half of whose elements would be zeros: 16 KiB, four CTAs.
    pub const T64X64X32: TensorTile = TensorTile {
        k: 32,
        min_blocks: 4,
        ..T64X64
    }
    .checked();

    /// For tiny products of single elements: 16 KiB, 4 warps of 16 x 16. A lane loads half as many elements as with
    /// 64 x 64, and what one lane does is the time of a product that leaves SMs without work.
    pub const T32X32: TensorTile = TensorTile {
        m: 32,
        n: 32,
        warp_m: 16,
        warp_n: 16,
        min_blocks: 5,
        ..T64X64
    }
    .checked();

    /// For small products whose rows begin at even elements, loaded in pairs by `cp.async`: 32 KiB. Loads in flight
    /// take no registers, but each takes an address.
    pub const P64X64: TensorTile = TensorTile {
        k: 32,
        stages: 4,
        ..T64X64
    }
    .checked();

    /// The same for tiny products: 32 KiB.
    pub const P32X32: TensorTile = TensorTile {
        stages: 4,
        min_blocks: 4,
        ..T32X32
    }
    .checked();

    /// For short K, where the store of C takes the time: 45 KiB, 4 warps of 16 x 128, whose rows of C are their own. A
    /// stays for a row of tiles, if K has no more k-tiles than there are stages.
    pub const S64X128: TensorTile = TensorTile {
        n: 128,
        k: 32,
        warp_m: 16,
        warp_n: 128,
        min_blocks: 4,
        strips: true,
        supports_split_k: false,
        ..T64X64
    }
    .checked();

    /// The same for rows that begin at even elements: 57 KiB. Pairs are loaded by `cp.async` two k-tiles ahead, also
    /// across the store of C.
    pub const PS64X128: TensorTile = TensorTile {
        stages: 3,
        min_blocks: 3,
        ..S64X128
    }
    .checked();

    /// For groups of rows.
    pub const G128X128: TensorTile = TensorTile {
        groups: true,
        ..T128X128
    }
    .checked();
}

/// The kernels of this family: calls `$callback!` with rows `symbol: tile, element, major and elements of one load of
/// A, of B;`.
#[macro_export]
macro_rules! mma_sync_kernels {
    ($($callback:tt)*) => {
        $($callback)*! {
            mma_sync_nn_128x128_f16: T128X128, f16, KMajor 8, MnMajor 8;
            mma_sync_nt_128x128_f16: T128X128, f16, KMajor 8, KMajor 8;
            mma_sync_tn_128x128_f16: T128X128, f16, MnMajor 8, MnMajor 8;
            mma_sync_tt_128x128_f16: T128X128, f16, MnMajor 8, KMajor 8;
            mma_sync_nn_128x128_bf16: T128X128, bf16, KMajor 8, MnMajor 8;
            mma_sync_nt_128x128_bf16: T128X128, bf16, KMajor 8, KMajor 8;
            mma_sync_tn_128x128_bf16: T128X128, bf16, MnMajor 8, MnMajor 8;
            mma_sync_tt_128x128_bf16: T128X128, bf16, MnMajor 8, KMajor 8;
            mma_sync_nn_256x128_f16: T256X128, f16, KMajor 8, MnMajor 8;
            mma_sync_nt_256x128_f16: T256X128, f16, KMajor 8, KMajor 8;
            mma_sync_nn_256x128_bf16: T256X128, bf16, KMajor 8, MnMajor 8;
            mma_sync_nt_256x128_bf16: T256X128, bf16, KMajor 8, KMajor 8;
            mma_sync_groups_nn_128x128_f16: G128X128, f16, KMajor 8, MnMajor 8;
            mma_sync_groups_nt_128x128_f16: G128X128, f16, KMajor 8, KMajor 8;
            mma_sync_groups_nn_128x128_bf16: G128X128, bf16, KMajor 8, MnMajor 8;
            mma_sync_groups_nt_128x128_bf16: G128X128, bf16, KMajor 8, KMajor 8;
            mma_sync_nn1_64x64_f16: T64X64, f16, KMajor 1, MnMajor 1;
            mma_sync_nt1_64x64_f16: T64X64, f16, KMajor 1, KMajor 1;
            mma_sync_tn1_64x64_f16: T64X64, f16, MnMajor 1, MnMajor 1;
            mma_sync_tt1_64x64_f16: T64X64, f16, MnMajor 1, KMajor 1;
            mma_sync_nn1_64x64_bf16: T64X64, bf16, KMajor 1, MnMajor 1;
            mma_sync_nt1_64x64_bf16: T64X64, bf16, KMajor 1, KMajor 1;
            mma_sync_tn1_64x64_bf16: T64X64, bf16, MnMajor 1, MnMajor 1;
            mma_sync_tt1_64x64_bf16: T64X64, bf16, MnMajor 1, KMajor 1;
            mma_sync_nn1_64x64x32_f16: T64X64X32, f16, KMajor 1, MnMajor 1;
            mma_sync_nt1_64x64x32_f16: T64X64X32, f16, KMajor 1, KMajor 1;
            mma_sync_tn1_64x64x32_f16: T64X64X32, f16, MnMajor 1, MnMajor 1;
            mma_sync_tt1_64x64x32_f16: T64X64X32, f16, MnMajor 1, KMajor 1;
            mma_sync_nn1_64x64x32_bf16: T64X64X32, bf16, KMajor 1, MnMajor 1;
            mma_sync_nt1_64x64x32_bf16: T64X64X32, bf16, KMajor 1, KMajor 1;
            mma_sync_tn1_64x64x32_bf16: T64X64X32, bf16, MnMajor 1, MnMajor 1;
            mma_sync_tt1_64x64x32_bf16: T64X64X32, bf16, MnMajor 1, KMajor 1;
            mma_sync_nn1_32x32_f16: T32X32, f16, KMajor 1, MnMajor 1;
            mma_sync_nt1_32x32_f16: T32X32, f16, KMajor 1, KMajor 1;
            mma_sync_tn1_32x32_f16: T32X32, f16, MnMajor 1, MnMajor 1;
            mma_sync_tt1_32x32_f16: T32X32, f16, MnMajor 1, KMajor 1;
            mma_sync_nn1_32x32_bf16: T32X32, bf16, KMajor 1, MnMajor 1;
            mma_sync_nt1_32x32_bf16: T32X32, bf16, KMajor 1, KMajor 1;
            mma_sync_tn1_32x32_bf16: T32X32, bf16, MnMajor 1, MnMajor 1;
            mma_sync_tt1_32x32_bf16: T32X32, bf16, MnMajor 1, KMajor 1;
            mma_sync_nn2_32x32_f16: P32X32, f16, KMajor 2, MnMajor 2;
            mma_sync_nt2_32x32_f16: P32X32, f16, KMajor 2, KMajor 2;
            mma_sync_tn2_32x32_f16: P32X32, f16, MnMajor 2, MnMajor 2;
            mma_sync_tt2_32x32_f16: P32X32, f16, MnMajor 2, KMajor 2;
            mma_sync_nn2_32x32_bf16: P32X32, bf16, KMajor 2, MnMajor 2;
            mma_sync_nt2_32x32_bf16: P32X32, bf16, KMajor 2, KMajor 2;
            mma_sync_tn2_32x32_bf16: P32X32, bf16, MnMajor 2, MnMajor 2;
            mma_sync_tt2_32x32_bf16: P32X32, bf16, MnMajor 2, KMajor 2;
            mma_sync_tt2_64x64_f16: P64X64, f16, MnMajor 2, KMajor 2;
            mma_sync_tt2_64x64_bf16: P64X64, bf16, MnMajor 2, KMajor 2;
            mma_sync_strips_nn1_64x128_f16: S64X128, f16, KMajor 1, MnMajor 1;
            mma_sync_strips_nt1_64x128_f16: S64X128, f16, KMajor 1, KMajor 1;
            mma_sync_strips_tn1_64x128_f16: S64X128, f16, MnMajor 1, MnMajor 1;
            mma_sync_strips_tt1_64x128_f16: S64X128, f16, MnMajor 1, KMajor 1;
            mma_sync_strips_nn1_64x128_bf16: S64X128, bf16, KMajor 1, MnMajor 1;
            mma_sync_strips_nt1_64x128_bf16: S64X128, bf16, KMajor 1, KMajor 1;
            mma_sync_strips_tn1_64x128_bf16: S64X128, bf16, MnMajor 1, MnMajor 1;
            mma_sync_strips_tt1_64x128_bf16: S64X128, bf16, MnMajor 1, KMajor 1;
            mma_sync_strips_nn2_64x128_f16: PS64X128, f16, KMajor 2, MnMajor 2;
            mma_sync_strips_nt2_64x128_f16: PS64X128, f16, KMajor 2, KMajor 2;
            mma_sync_strips_tn2_64x128_f16: PS64X128, f16, MnMajor 2, MnMajor 2;
            mma_sync_strips_tt2_64x128_f16: PS64X128, f16, MnMajor 2, KMajor 2;
            mma_sync_strips_nn2_64x128_bf16: PS64X128, bf16, KMajor 2, MnMajor 2;
            mma_sync_strips_nt2_64x128_bf16: PS64X128, bf16, KMajor 2, KMajor 2;
            mma_sync_strips_tn2_64x128_bf16: PS64X128, bf16, MnMajor 2, MnMajor 2;
            mma_sync_strips_tt2_64x128_bf16: PS64X128, bf16, MnMajor 2, KMajor 2;
        }
    };
}

macro_rules! rows {
    ($($symbol:ident: $tile:ident, $element:ident, $a:ident $a_elems:literal, $b:ident $b_elems:literal;)*) => {
        [$(loading(
            [$a_elems, $b_elems],
            kernel(stringify!($symbol), tensor_tiles::$tile, dtype!($element), [major!($a), major!($b)]),
        )),*]
    };
}

/// The kernels of this file.
pub(super) const KERNELS: [Kernel; 66] = crate::mma_sync_kernels!(rows);

/// The kernel with loads of so many elements of A and of B: vectors of 8 or pairs, or single elements through
/// registers.
const fn loading(elems: [u32; 2], kernel: Kernel) -> Kernel {
    match elems {
        [8, 8] => kernel,
        [2, 2] => Kernel {
            alignment: Alignment::PAIRS,
            ..kernel
        },
        [1, 1] => Kernel {
            alignment: Alignment::NONE,
            loads: Loads::Threads,
            ..kernel
        },
        _ => panic!("the same for both"),
    }
}

const fn kernel(symbol: &'static str, tile: TensorTile, dtype: DType, majors: [Major; 2]) -> Kernel {
    Kernel {
        operands: Operands::Matrices(majors),
        alignment: Alignment::VECTORS_OF_8,
        mma: MmaPath::MmaSync,
        loads: Loads::CpAsync,
        smem: SmemLayout {
            storage: Storage::Dynamic,
            stages: tile.stages,
            a_per_stage: Bytes(tile.a_elems() * TensorTile::ELEMENT_BYTES),
            b_per_stage: Bytes(tile.b_elems() * TensorTile::ELEMENT_BYTES),
            c: Bytes(tile.c_elems()[0] * TensorTile::ELEMENT_BYTES),
            scratch: Bytes(tile.c_elems()[1] * TensorTile::ELEMENT_BYTES),
            epilogue: if tile.strips {
                Some(EpilogueBuffers {
                    m: tile.m,
                    n: tile.n,
                    buffers: 1,
                })
            } else {
                None
            },
            // Swizzled: no padding keeps bank conflicts away.
            ..SmemLayout::NONE
        },
        k_granularity: Some(tile.k_granularity()),
        overlap: if tile.strips { TensorTile::OVERLAP } else { 0 },
        schedule: if tile.strips {
            Schedule::Persistent
        } else {
            Schedule::OneTilePerCta
        },
        supports: Features {
            alpha_beta: !tile.strips,
            epilogue: !tile.strips,
            batch: !tile.groups && !tile.strips,
            groups: tile.groups,
            ..Features::PRODUCT
        },
        split_k: if tile.supports_split_k {
            Some(SplitK {
                elems_per_tile: tile.m * tile.n,
                threads: tile.threads(),
                counters_per_tile: 1,
            })
        } else {
            None
        },
        ..Kernel::plain(
            Family::MMA_SYNC,
            symbol,
            dtype,
            [tile.m, tile.n, tile.k],
            tile.threads(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TILE: TensorTile = tensor_tiles::T128X128;

    #[test]
    fn the_geometry_counts_what_a_cta_holds() {
        assert_eq!((TILE.threads(), TILE.warps_m(), TILE.warps_n()), (128, 2, 2));
        // 32 x (128 + 128) elements of 2 bytes; four of them.
        assert_eq!((TILE.stage_bytes(), TILE.bytes()), (Bytes(16_384), Bytes(65_536)));
        let large = tensor_tiles::T256X128;
        assert_eq!((large.threads(), large.bytes()), (256, Bytes(98_304)));
    }
}
