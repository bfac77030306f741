//! One access, as the shadow of global memory records it.

use super::super::grid_clock::launch_and_block;
use super::super::{LANES, Op};
use super::{GlobalAccess, GlobalConflict};

/// A recorded access; all 0 if there is none.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Record {
    /// `(block + 1) << 16 | op << 12 | thread`.
    pub(super) accessor: u64,
    /// `epoch << 32 | location`.
    pub(super) event: u64,
}

impl Record {
    /// In place of an [`Op`]: a write whose race was reported.
    const SETTLED: u64 = 15;

    pub(super) fn new(access: GlobalAccess) -> Self {
        debug_assert!(access.thread < 1 << 12, "thread {}", access.thread);
        Self {
            accessor: Self::block_bits(access.block) << 16 | (access.op as u64) << 12 | u64::from(access.thread),
            event: u64::from(access.epoch) << 32 | u64::from(access.location),
        }
    }

    #[inline]
    pub(super) fn block_bits(block: u64) -> u64 {
        block.saturating_add(1).min((1 << 48) - 1)
    }

    /// Whether the bits `a` and `b` are those of two other blocks in the launch of the block with the bits `own`.
    #[inline]
    pub(super) fn are_two_others(a: u64, b: u64, own: u64) -> bool {
        let is_other = |bits: u64| bits != 0 && bits != own && Self::is_of_launch(bits, own);
        is_other(a) && is_other(b) && a != b
    }

    fn is_of_launch(bits: u64, other: u64) -> bool {
        let launch = |bits: u64| launch_and_block(bits.saturating_sub(1)).0;
        launch(bits) == launch(other)
    }

    pub(super) fn is_of_block(self, block: u64) -> bool {
        self.accessor >> 16 == Self::block_bits(block)
    }

    pub(super) fn block(self) -> u64 {
        (self.accessor >> 16).saturating_sub(1)
    }

    pub(super) fn thread(self) -> u16 {
        self.accessor as u16 & 0xfff
    }

    pub(super) fn epoch(self) -> u32 {
        (self.event >> 32) as u32
    }

    pub(super) fn op(self) -> Op {
        Op::from_code(self.accessor >> 12 & 15)
    }

    pub(super) fn is_settled(self) -> bool {
        self.accessor >> 12 & 15 == Self::SETTLED
    }

    pub(super) fn settled(self) -> Self {
        Self {
            accessor: self.accessor | Self::SETTLED << 12,
            ..self
        }
    }

    /// 3 for different launches, 2 for different blocks, 1 for different warps of a block, 0 for the same warp.
    pub(super) fn distance(self, other: Self) -> u8 {
        let (block, others) = (self.accessor >> 16, other.accessor >> 16);
        let other_warp = self.thread() / LANES as u16 != other.thread() / LANES as u16;
        match block == others {
            true => other_warp.into(),
            false if Self::is_of_launch(block, others) => 2,
            false => 3,
        }
    }

    pub(super) fn conflict(self) -> GlobalConflict {
        GlobalConflict {
            block: self.block(),
            thread: self.thread(),
            op: self.op(),
            location: self.event as u32,
        }
    }
}

impl Record {
    const THREAD: u64 = 0xfff;

    /// The record without its thread.
    pub(super) fn without_thread(self) -> Self {
        Self {
            accessor: self.accessor & !Self::THREAD,
            ..self
        }
    }

    /// The record of another thread.
    pub(super) fn with_thread(self, thread: u16) -> Self {
        Self {
            accessor: self.accessor & !Self::THREAD | u64::from(thread),
            ..self
        }
    }
}
