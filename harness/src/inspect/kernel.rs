//! What can be inspected.

use cuda_arch::Architecture;
use tilewright_contract::{CopyKind, Kernel};

use super::Budget;

/// A kernel of this project: an entry point of a family, or a copy of operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// A kernel of the table.
    Kernel(&'static Kernel),
    /// One that copies operands before a product.
    Copy(CopyKind),
}

impl Subject {
    /// The symbol in PTX.
    pub fn symbol(self) -> &'static str {
        match self {
            Subject::Kernel(kernel) => kernel.symbol,
            Subject::Copy(kind) => kind.symbol(),
        }
    }

    /// The shared memory of a block: with the widest tile that the planner launches an entry point with, or of the one
    /// block that another kernel has. `None` where no tile fits.
    pub(super) fn budget(self, arch: &Architecture, static_bytes: u32) -> Option<Budget> {
        match self {
            Subject::Kernel(kernel) => Budget::of_widest_tile(kernel, arch, static_bytes),
            Subject::Copy(_) => Some(Budget::of_copy(arch, static_bytes)),
        }
    }
}

impl From<&'static Kernel> for Subject {
    fn from(kernel: &'static Kernel) -> Self {
        Subject::Kernel(kernel)
    }
}
