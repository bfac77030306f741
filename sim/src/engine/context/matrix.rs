//! Matrices that a warp loads from shared memory and stores to it (PTX ISA, "ldmatrix", "stmatrix").
//!
//! The lane that passes a row's address accounts for its bounds, alignment and traffic: 8 rows of 16 bytes are one
//! matrix and, without bank conflicts, one wavefront. The lane that receives or provides an element is the one that
//! accesses it: the instruction orders nothing between the lanes of a warp, so a missing `sync_warp` is a race.

use std::panic::Location;

use crate::access::{Instruction, MatrixAccess, Space};
use crate::analysis::Op;
use crate::analysis::source_locations::AccessClass;
use crate::analysis::traffic::Traffic;
use crate::launch::Checks;

use super::BlockContext;
use super::memory::stays_inside;

/// Rows and columns of a matrix.
const SIDE: usize = 8;
/// Bytes of a row.
const ROW_BYTES: usize = 16;
/// Bytes of an element.
const ELEMENT_BYTES: usize = 2;

/// Row and column of element `which`, 0 or 1, of a lane.
fn element(lane: usize, which: usize, transposed: bool) -> (usize, usize) {
    let (along, pair) = (lane / 4, 2 * (lane % 4) + which);
    if transposed { (pair, along) } else { (along, pair) }
}

impl BlockContext {
    /// See [`crate::access::load_matrices`].
    ///
    /// # Safety
    /// As there.
    pub(crate) unsafe fn load_matrices(&self, access: &MatrixAccess, location: &'static Location<'static>) -> [u32; 4] {
        self.check_row(Op::Read, access, location);
        let rows = self.gather([access.row.addr() as u64, 0, 0], location);
        let lane = self.lane() as usize;
        let mut elements = [0; 4];
        for (matrix, pair) in elements.iter_mut().enumerate().take(access.matrices) {
            for which in 0..2 {
                let (row, column) = element(lane, which, access.transposed);
                let address = rows[SIDE * matrix + row][0] as usize + ELEMENT_BYTES * column;
                // Both elements of a row are in one word. Those of a column are in two, whose other halves this
                // instruction reads, too.
                if self.checks != Checks::Off && (access.transposed || which == 0) {
                    self.shared_access(Op::Read, address & !3, 4, location, None, None);
                }
                // SAFETY: the lane that passed the row checked that it is in shared memory, or its caller promises it.
                let element = unsafe { access.row.with_addr(address).cast::<u16>().read_unaligned() };
                *pair |= u32::from(element) << (16 * which);
            }
        }
        elements
    }

    /// See [`crate::access::store_matrices`].
    ///
    /// # Safety
    /// As there.
    pub(crate) unsafe fn store_matrices(
        &self,
        access: &MatrixAccess,
        elements: [u32; 4],
        location: &'static Location<'static>,
    ) {
        self.check_row(Op::Write, access, location);
        let rows = self.gather([access.row.addr() as u64, 0, 0], location);
        let lane = self.lane() as usize;
        for (matrix, pair) in elements.into_iter().enumerate().take(access.matrices) {
            for which in 0..2 {
                let (row, column) = element(lane, which, access.transposed);
                let address = rows[SIDE * matrix + row][0] as usize + ELEMENT_BYTES * column;
                if self.checks != Checks::Off {
                    match (access.transposed, which) {
                        (true, _) => self.shared_access(Op::Write, address, ELEMENT_BYTES, location, None, None),
                        (false, 0) => self.shared_access(Op::Write, address, 2 * ELEMENT_BYTES, location, None, None),
                        (false, _) => {}
                    }
                }
                let element = (pair >> (16 * which)) as u16;
                // SAFETY: as in `load_matrices`.
                unsafe { access.row.with_addr(address).cast::<u16>().write_unaligned(element) };
            }
        }
    }

    /// Checks and counts the address that the lane passes. It must be valid even where no matrix uses it ("ldmatrix":
    /// on `sm_75` and below all threads must contain valid addresses).
    fn check_row(&self, op: Op, access: &MatrixAccess, location: &'static Location<'static>) {
        self.watch(location);
        self.check_watchdog();
        if self.checks == Checks::Off {
            return;
        }
        let address = access.row.addr();
        if !stays_inside(&access.part, address, ROW_BYTES) {
            self.outside_part(Space::Shared, op.into(), address, ROW_BYTES, &access.part, location);
        }
        if !address.is_multiple_of(ROW_BYTES) {
            self.misaligned(Space::Shared, address, ROW_BYTES, location);
        }
        let Some(offset) = self.shared.offset_of(address, ROW_BYTES) else {
            self.outside_shared(op, address, ROW_BYTES, location)
        };
        if self.checks != Checks::Full {
            return;
        }
        let class = AccessClass {
            space: Space::Shared,
            op,
            bytes: ROW_BYTES as u8,
            instruction: Instruction::Matrix,
        };
        let is_used = (self.lane() as usize) < SIDE * access.matrices;
        let address = if is_used { offset as u64 } else { Traffic::SKIPPED };
        self.count_access(class, address, location);
    }
}
