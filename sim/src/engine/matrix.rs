//! Matrices that the lanes of a warp load from shared memory and store to it together (PTX ISA, "ldmatrix",
//! "stmatrix").
//!
//! The lane that brings a row answers for its address: bounds, alignment, and the traffic, in which 8 rows of 16 bytes
//! are one matrix and, without bank conflicts, one wavefront. The lane that gets or gives an element is the one that
//! accesses it, so that an order between the lanes of a warp that the instruction does not make is missed where it is
//! missing.

use std::panic::Location;

use crate::access::MatrixAccess;
use crate::analysis::Op;
use crate::analysis::sites::{SiteKind, SiteSpace};
use crate::analysis::traffic::Traffic;
use crate::launch::Checks;

use super::memory::stays_inside;
use super::slot::{Analysis, Slot};

/// Rows and columns of a matrix.
const SIDE: usize = 8;
/// Bytes of a row.
const ROW_BYTES: usize = 16;
/// Bytes of an element.
const ELEMENT_BYTES: usize = 2;

/// Row and column of element `which`, 0 or 1, of a lane.
fn place(lane: usize, which: usize, transposed: bool) -> (usize, usize) {
    let (along, pair) = (lane / 4, 2 * (lane % 4) + which);
    if transposed { (pair, along) } else { (along, pair) }
}

impl Slot {
    /// See [`crate::access::load_matrices`].
    ///
    /// # Safety
    /// As there.
    pub(crate) unsafe fn load_matrices(&self, access: &MatrixAccess, site: &'static Location<'static>) -> [u32; 4] {
        self.check_row(Op::Read, access, site);
        let rows = self.gather([access.row.addr() as u64, 0, 0], site);
        let lane = self.lane() as usize;
        let mut elements = [0; 4];
        for (matrix, pair) in elements.iter_mut().enumerate().take(access.matrices) {
            for which in 0..2 {
                let (row, column) = place(lane, which, access.transposed);
                let address = rows[SIDE * matrix + row][0] as usize + ELEMENT_BYTES * column;
                // Both elements of a row lie in one word. Of a column they do not; the other halves of their words are
                // read by this instruction, too.
                if self.checks != Checks::Off && (access.transposed || which == 0) {
                    self.shared_access(Op::Read, address & !3, 4, site, None, false);
                }
                // SAFETY: the lane that brought the row found it inside shared memory, or its caller's promise.
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
        site: &'static Location<'static>,
    ) {
        self.check_row(Op::Write, access, site);
        let rows = self.gather([access.row.addr() as u64, 0, 0], site);
        let lane = self.lane() as usize;
        for (matrix, pair) in elements.into_iter().enumerate().take(access.matrices) {
            for which in 0..2 {
                let (row, column) = place(lane, which, access.transposed);
                let address = rows[SIDE * matrix + row][0] as usize + ELEMENT_BYTES * column;
                if self.checks != Checks::Off {
                    match (access.transposed, which) {
                        (true, _) => self.shared_access(Op::Write, address, ELEMENT_BYTES, site, None, false),
                        (false, 0) => self.shared_access(Op::Write, address, 2 * ELEMENT_BYTES, site, None, false),
                        (false, _) => {}
                    }
                }
                let element = (pair >> (16 * which)) as u16;
                // SAFETY: as in `load_matrices`.
                unsafe { access.row.with_addr(address).cast::<u16>().write_unaligned(element) };
            }
        }
    }

    /// Looks at the address that the lane brings, which must be right even where it feeds no matrix ("ldmatrix": on
    /// `sm_75` and below all threads must contain valid addresses), and counts it.
    fn check_row(&self, op: Op, access: &MatrixAccess, site: &'static Location<'static>) {
        self.check_watch();
        if self.checks == Checks::Off {
            return;
        }
        let address = access.row.addr();
        if !stays_inside(&access.part, address, ROW_BYTES) {
            let space = crate::access::Space::Shared;
            self.outside_part(space, op.into(), address, ROW_BYTES, &access.part, site);
        }
        if !address.is_multiple_of(ROW_BYTES) {
            self.misaligned(crate::access::Space::Shared, address, ROW_BYTES, site);
        }
        let Some(offset) = self.shared_offset(address, ROW_BYTES) else {
            self.outside_shared(op, address, ROW_BYTES, site)
        };
        if self.checks != Checks::Full {
            return;
        }
        let kind = SiteKind {
            space: SiteSpace::Shared,
            op,
            bytes: ROW_BYTES as u8,
        };
        let feeds = (self.lane() as usize) < SIDE * access.matrices;
        let address = if feeds {
            self.compact_offset(offset) as u64
        } else {
            Traffic::SKIPPED
        };
        let ahead = {
            let Analysis { sites, traffic, .. } = &mut *self.analysis.borrow_mut();
            let id = sites.id(site, kind);
            traffic.record(self.thread.get() as u16, id, kind, address)
        };
        if ahead {
            self.suspend();
        }
    }
}
