//! What can be inspected.

use cuda_arch::Architecture;
use tilewright_contract::{RowCopy, Twin, Variant};

use super::Budget;

/// A kernel of this project: an entry point of a rung, a twin that spills, or the copy of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// An entry point of the ladder.
    EntryPoint(&'static Variant),
    /// One of [`TWINS`](tilewright_contract::TWINS).
    Twin(&'static Twin),
    /// The one that copies operands before a product ([`RowCopy`]).
    RowCopy,
}

impl Kernel {
    /// The symbol in PTX.
    pub fn symbol(self) -> &'static str {
        match self {
            Kernel::EntryPoint(variant) => variant.symbol,
            Kernel::Twin(twin) => twin.symbol,
            Kernel::RowCopy => RowCopy::SYMBOL,
        }
    }

    /// The shared memory of a block: with the widest tile that the planner launches an entry point with, or of the one
    /// block that another kernel has. `None` where no tile fits.
    pub(super) fn budget(self, arch: &Architecture, static_bytes: u32) -> Option<Budget> {
        match self {
            Kernel::EntryPoint(variant) => Budget::of_widest_tile(variant, arch, static_bytes),
            Kernel::Twin(twin) => Some(Budget::of_twin(twin, arch, static_bytes)),
            Kernel::RowCopy => Some(Budget::of_row_copy(arch, static_bytes)),
        }
    }
}

impl From<&'static Variant> for Kernel {
    fn from(variant: &'static Variant) -> Self {
        Kernel::EntryPoint(variant)
    }
}

impl From<&'static Twin> for Kernel {
    fn from(twin: &'static Twin) -> Self {
        Kernel::Twin(twin)
    }
}
