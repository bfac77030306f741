//! Tiles of registers: the geometry of kernels whose threads hold more than one element of C each, and their shared
//! memory.

use crate::dtype::DType;
use crate::units::Bytes;

/// What one block computes, and with how many threads.
///
/// A block computes `m x n` elements of C in steps of `k`. A thread holds `thread_m x thread_n` of them. From rung 7 on
/// its warps lie side by side, `8 * thread_n` columns and `4 * thread_m` rows each.
///
/// Shared memory is a ring of stages. A stage holds `k` elements of each row of A, transposed, and of each column of B:
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
    /// Elements along K of a step.
    pub k: u32,
    /// Rows of C of a thread.
    pub thread_m: u32,
    /// Columns of C of a thread.
    pub thread_n: u32,
    /// Steps that are in shared memory at once.
    pub stages: u32,
}

impl BlockTile {
    /// Rows of lanes in a warp.
    pub const LANES_M: u32 = 4;

    /// Columns of lanes in a warp.
    pub const LANES_N: u32 = 8;

    /// Elements behind each row in shared memory. A warp that transposes stores 8 elements along K of 4 rows, or, where
    /// its lanes loaded vectors along K, 2 of 16 rows, 4 apart along K: with a pitch of 4 more than a multiple of 32
    /// their addresses fall into 32 banks. Vectors of 4 elements stay aligned.
    pub const PAD: u32 = 4;

    /// Threads of a block.
    pub const fn threads(self) -> u32 {
        self.m * self.n / (self.thread_m * self.thread_n)
    }

    /// Warps along the rows of C.
    pub const fn warps_m(self) -> u32 {
        self.m / (Self::LANES_M * self.thread_m)
    }

    /// Warps along the columns of C.
    pub const fn warps_n(self) -> u32 {
        self.n / (Self::LANES_N * self.thread_n)
    }

    /// Elements from one row of `A_s` to the next.
    pub const fn a_pitch(self) -> u32 {
        self.m + Self::PAD
    }

    /// Elements from one row of `B_s` to the next.
    pub const fn b_pitch(self) -> u32 {
        self.n + Self::PAD
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

    /// Whether its kernels can cut K into slices, and store vectors. Where a thread has 128 sums, nearly all registers
    /// are taken, and such choices at the end cost the order in which `ptxas` uses them: 2 % of the speed of large
    /// products on an H200.
    pub const fn takes_slices(self) -> bool {
        self.thread_m * self.thread_n < 128
    }

    /// Fails to compile where the numbers do not fit each other: whole warps, copies without a rest.
    pub const fn checked(self) -> Self {
        assert!(
            self.warps_m() * Self::LANES_M * self.thread_m == self.m,
            "whole warps along M"
        );
        assert!(
            self.warps_n() * Self::LANES_N * self.thread_n == self.n,
            "whole warps along N"
        );
        assert!(self.threads() == 32 * self.warps_m() * self.warps_n());
        assert!(self.threads() <= crate::MAX_THREADS_PER_BLOCK);
        assert!(self.k.is_multiple_of(8), "8 lanes copy along K");
        assert!(
            self.m.is_multiple_of(self.threads() / 8) && self.n.is_multiple_of(self.threads() / 8),
            "whole passes"
        );
        assert!(self.stages >= 1);
        self
    }

    /// [`Self::checked`], and what the body of the pipelined rungs asks for: fragments of whole vectors, at least two
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Tile, VARIANTS};

    #[test]
    fn the_geometry_counts_what_a_block_holds() {
        let tile = BlockTile {
            m: 256,
            n: 128,
            k: 16,
            thread_m: 16,
            thread_n: 8,
            stages: 3,
        }
        .pipelined();
        assert_eq!((tile.threads(), tile.warps_m(), tile.warps_n()), (256, 4, 2));
        // 3 stages of 16 x (260 + 132) elements of 4 bytes.
        assert_eq!(tile.bytes(DType::F32), Bytes(75_264));
    }

    #[test]
    fn a_transposing_warp_hits_every_bank_once() {
        for variant in &VARIANTS {
            let Tile::Block(tile) = variant.tile else { continue };
            for pitch in [tile.a_pitch(), tile.b_pitch()] {
                // Neighbouring lanes have neighbours along K, or vectors of 4 of them.
                for (along_k, vector) in [(8, 1), (2, 4)] {
                    let banks: u64 = (0..32)
                        .map(|lane| (lane % along_k * vector * pitch + lane / along_k) % 32)
                        .fold(0, |seen, bank| seen | 1 << bank);
                    assert_eq!(banks.count_ones(), 32, "{}", variant.symbol);
                }
            }
        }
    }
}
