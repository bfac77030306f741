//! Tiles of the `mma.sync` kernels, and the layout of their stages in shared memory.

use crate::dtype::DType;
use crate::family::{Family, dtype, major};
use crate::kernel::{Alignment, Features, Kernel, Loads, MmaPath, Operands, SplitK};
use crate::major::Major;
use crate::smem::{SmemLayout, Storage};
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
    /// Whether its kernels support split-K: those with at most 32 accumulators per lane, which load single elements.
    /// With 128 the reduction is left to smaller tiles.
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

    /// Bytes of all stages: the CTA's dynamic shared memory.
    pub const fn bytes(self) -> Bytes {
        Bytes(self.stages * self.stage_bytes().get())
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
pub(super) const KERNELS: [Kernel; 40] = crate::mma_sync_kernels!(rows);

/// The kernel with loads of so many elements of A and of B: vectors of 8, or single elements through registers.
const fn loading(elems: [u32; 2], kernel: Kernel) -> Kernel {
    match elems {
        [8, 8] => kernel,
        [1, 1] => Kernel {
            alignment: Alignment::NONE,
            loads: Loads::Threads,
            ..kernel
        },
        _ => panic!("vectors of both or of neither"),
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
            // Swizzled: no padding keeps bank conflicts away.
            ..SmemLayout::NONE
        },
        supports: Features {
            alpha_beta: true,
            epilogue: true,
            batch: !tile.groups,
            groups: tile.groups,
            ..Features::PRODUCT
        },
        split_k: if tile.supports_split_k {
            Some(SplitK {
                elems_per_tile: tile.m * tile.n,
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

/// Swizzle of a matrix of 2-byte elements in shared memory: packed rows of 16-byte vectors, which are permuted within
/// their row by an XOR with a key that depends on the row.
///
/// Shared memory moves 128 bytes at once, eight vectors in different groups of banks ([`Self::bank_group`]). A warp
/// accesses a column of vectors in 8 neighboring rows (`ldmatrix`), or 8 neighboring vectors (a load); both are in 8
/// different groups, whatever the length of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Swizzle {
    /// Vectors of a row, a power of two.
    vectors: u32,
}

impl Swizzle {
    /// Elements of a vector: a load of one lane, and a row of the matrices that `ldmatrix` loads.
    pub const VECTOR: u32 = 8;

    /// Of rows of so many elements, a power of two and at least a vector.
    pub const fn of_row(elems: u32) -> Self {
        assert!(
            elems.is_power_of_two() && elems >= Self::VECTOR,
            "whole vectors, a power of two"
        );
        Self {
            vectors: elems / Self::VECTOR,
        }
    }

    /// Vectors of a row.
    pub const fn vectors(self) -> u32 {
        self.vectors
    }

    /// Elements of a row.
    pub const fn row_elems(self) -> u32 {
        self.vectors * Self::VECTOR
    }

    /// Key that the vector indices of a row are XORed with. Rows 8 apart have the same.
    #[inline(always)]
    pub const fn key(self, row: u32) -> u32 {
        // Rows in the same 128 bytes need no difference.
        if self.vectors < 8 {
            row / (8 / self.vectors) % self.vectors
        } else {
            row % 8
        }
    }

    /// First element of a vector, from the start of the matrix.
    #[inline(always)]
    pub const fn elem(self, row: u32, vector: u32) -> u32 {
        row * self.row_elems() + (vector ^ self.key(row)) * Self::VECTOR
    }

    /// Group of banks, 0 to 7, of the vector that starts at an element.
    pub const fn bank_group(elem: u32) -> u32 {
        elem / Self::VECTOR % 8
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

    /// Rows of a vector, of a 64-byte k-tile, of 128 bytes, and of 128 and 256 columns.
    const ROWS: [u32; 6] = [8, 16, 32, 64, 128, 256];

    #[test]
    fn every_vector_has_a_place_of_its_own_in_its_row() {
        for elems in ROWS {
            let swizzle = Swizzle::of_row(elems);
            for row in 0..32 {
                let mut seen = 0_u64;
                for vector in 0..swizzle.vectors() {
                    let elem = swizzle.elem(row, vector);
                    assert!(elem.is_multiple_of(Swizzle::VECTOR) && elem / elems == row);
                    seen |= 1 << (elem % elems / Swizzle::VECTOR);
                }
                assert_eq!(seen.count_ones(), swizzle.vectors(), "{elems} elements, row {row}");
            }
        }
    }

    /// Whether 8 vectors are in 8 different groups of banks.
    fn spread(elems: impl Iterator<Item = u32>) -> bool {
        elems.fold(0_u32, |seen, elem| seen | 1 << Swizzle::bank_group(elem)) == 0xff
    }

    #[test]
    fn the_8_rows_of_a_matrix_are_in_8_bank_groups() {
        for elems in ROWS {
            let swizzle = Swizzle::of_row(elems);
            for first in (0..64).step_by(8) {
                for vector in 0..swizzle.vectors() {
                    let rows = (first..first + 8).map(|row| swizzle.elem(row, vector));
                    assert!(spread(rows), "{elems} elements, rows from {first}, vector {vector}");
                }
            }
        }
    }

    #[test]
    fn neighboring_loads_are_in_8_bank_groups() {
        for elems in ROWS {
            let swizzle = Swizzle::of_row(elems);
            for first in (0..64 * swizzle.vectors()).step_by(8) {
                let loads = (first..first + 8).map(|at| swizzle.elem(at / swizzle.vectors(), at % swizzle.vectors()));
                assert!(spread(loads), "{elems} elements, loads from {first}");
            }
        }
    }
}
