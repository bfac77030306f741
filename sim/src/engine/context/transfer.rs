//! The traffic of instructions that a thread or a warpgroup executes as a whole: bulk copies and `wgmma`.

use std::ops::Range;
use std::panic::Location;

use crate::access::{Instruction, Space};
use crate::analysis::Op;
use crate::analysis::banks::{SharedAccess, shared_wavefronts};
use crate::analysis::source_locations::AccessClass;
use crate::analysis::traffic::LocationTraffic;
use crate::launch::Checks;

use super::BlockContext;
use super::analysis::Analysis;

/// Bytes of a wavefront of shared memory, and of a sector of global memory.
const WAVEFRONT: u64 = 128;
const SECTOR: u64 = 32;
/// Bytes of a row of a core matrix of `wgmma`, which has 8 of them.
const ROW: u32 = 16;
const ROWS: usize = 8;

impl BlockContext {
    /// Counts what a bulk copy transfers in one memory, in `pieces` of adjacent bytes: offsets into shared memory, or
    /// addresses in global memory. Shared memory is accessed in lines of 128 bytes, global memory in sectors of 32.
    pub(super) fn count_transfer(
        &self,
        space: Space,
        op: Op,
        pieces: impl Iterator<Item = Range<usize>>,
        location: &'static Location<'static>,
    ) {
        let unit = match space {
            Space::Shared => WAVEFRONT,
            Space::Global => SECTOR,
        };
        let pieces = pieces.map(|piece| piece.start as u64..piece.end as u64);
        let traffic = LocationTraffic::of_transfer(unit, pieces);
        self.add_traffic(Instruction::BulkCopy, space, op, traffic, location);
    }

    /// Counts the reads of a `wgmma`'s operands, whose chunks of 16 bytes come row by row: 8 rows are a core matrix,
    /// and one wavefront where each has banks of its own.
    pub(super) fn count_operands<'a>(
        &self,
        operands: impl Iterator<Item = &'a [u32]>,
        location: &'static Location<'static>,
    ) {
        if self.checks != Checks::Full {
            return;
        }
        let mut traffic = LocationTraffic {
            requests: 4,
            lanes: 128,
            ..LocationTraffic::default()
        };
        for rows in operands.flat_map(|chunks| chunks.chunks(ROWS)) {
            let mut addresses = [None; 32];
            for (lane, &row) in addresses.iter_mut().zip(rows) {
                *lane = Some(row);
            }
            let wavefronts = shared_wavefronts(&addresses, ROW, SharedAccess::Store);
            traffic.actual += u64::from(wavefronts.actual);
            traffic.ideal += u64::from(wavefronts.ideal);
            traffic.bytes += rows.len() as u64 * u64::from(ROW);
        }
        self.add_traffic(Instruction::Wgmma, Space::Shared, Op::Read, traffic, location);
    }

    fn add_traffic(
        &self,
        instruction: Instruction,
        space: Space,
        op: Op,
        counted: LocationTraffic,
        location: &'static Location<'static>,
    ) {
        if self.checks != Checks::Full {
            return;
        }
        let class = AccessClass {
            instruction,
            ..AccessClass::of_lanes(space, op, 0)
        };
        let Analysis { locations, traffic, .. } = &mut *self.analysis.borrow_mut();
        let id = locations.id(location, class);
        traffic.add(id, counted);
    }
}
