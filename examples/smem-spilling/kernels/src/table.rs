//! The variants as the host sees them.

use crate::inverse8;
use crate::register_tile::{self, Extents};

/// What a kernel computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Problem {
    /// `C = A · B` in f32, a tile of 8 x 8 accumulators a thread: [`register_tile`].
    RegisterTile,
    /// Inverses of 8 x 8 matrices in f32, one a thread: [`inverse8`].
    Inverse8F32,
    /// The same in f64.
    Inverse8F64,
}

impl Problem {
    /// Every problem.
    pub const ALL: [Self; 3] = [Self::RegisterTile, Self::Inverse8F32, Self::Inverse8F64];

    /// The name that symbols begin with, and the element type that they end with.
    pub const fn names(self) -> [&'static str; 2] {
        match self {
            Self::RegisterTile => ["register_tile", "f32"],
            Self::Inverse8F32 => ["inverse8", "f32"],
            Self::Inverse8F64 => ["inverse8", "f64"],
        }
    }

    /// Static shared memory of the kernel's own arrays, in bytes; spilled registers come on top.
    pub const fn own_shared_bytes(self) -> u32 {
        match self {
            Self::RegisterTile => register_tile::SHARED_BYTES,
            Self::Inverse8F32 | Self::Inverse8F64 => inverse8::SHARED_BYTES,
        }
    }

    /// Its variants; the first has all the registers that it needs.
    pub fn variants(self) -> impl Iterator<Item = &'static Variant> + Clone {
        crate::VARIANTS.iter().filter(move |variant| variant.problem == self)
    }
}

/// Where registers go that a kernel does not get.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Spills {
    /// Nowhere: the only limit is that of the CTA's threads.
    Kept,
    /// To local memory.
    Local,
    /// To shared memory as far as `ptxas` takes it, the rest to local memory.
    Shared,
    /// The same without launch bounds: `ptxas` takes shared memory for as many threads as the SM has registers for.
    Unbounded,
}

impl Spills {
    /// Every one, in the order in which they are timed.
    pub const ALL: [Self; 4] = [Self::Kept, Self::Local, Self::Shared, Self::Unbounded];

    /// The name in symbols.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Local => "local",
            Self::Shared => "shared",
            Self::Unbounded => "unbounded",
        }
    }

    /// Whether the kernel has the pragma `enable_smem_spilling`.
    pub const fn into_shared(self) -> bool {
        matches!(self, Self::Shared | Self::Unbounded)
    }
}

/// A kernel as a function of the host, for the simulator.
#[derive(Clone, Copy, Debug)]
pub enum EntryPoint {
    /// A, B, C, extents.
    RegisterTile(unsafe fn(*const f32, *const f32, *mut f32, Extents)),
    /// From where, to where, how many matrices.
    Inverse8F32(unsafe fn(*const f32, *mut f32, u32)),
    /// The same.
    Inverse8F64(unsafe fn(*const f64, *mut f64, u32)),
}

/// A kernel with its register budget.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// The name in PTX.
    pub symbol: &'static str,
    /// What it computes.
    pub problem: Problem,
    /// Where it spills.
    pub spills: Spills,
    /// Threads of the CTA that it is launched with.
    pub threads: u32,
    /// The most registers of a thread (`.maxnreg`); 0 for none.
    pub(crate) max_registers: u32,
    /// The kernel on the host.
    pub entry_point: EntryPoint,
}

impl Variant {
    /// The variant of this symbol.
    pub fn find(symbol: &str) -> Option<&'static Self> {
        crate::VARIANTS.iter().find(|variant| variant.symbol == symbol)
    }

    /// The most registers of a thread (`.maxnreg`); `None` for [`Spills::Kept`].
    pub const fn max_registers(&self) -> Option<u32> {
        match self.spills {
            Spills::Kept => None,
            Spills::Local | Spills::Shared | Spills::Unbounded => Some(self.max_registers),
        }
    }

    /// The most threads of a CTA that the kernel declares (`.maxntid`); `None` for [`Spills::Unbounded`].
    pub const fn max_threads(&self) -> Option<u32> {
        match self.spills {
            Spills::Unbounded => None,
            Spills::Kept | Spills::Local | Spills::Shared => Some(self.threads),
        }
    }

    /// The variant of the same problem and budget that spills elsewhere; the one of [`Spills::Kept`] is that of every
    /// budget.
    pub fn sibling(&self, spills: Spills) -> Option<&'static Self> {
        self.problem.variants().find(|other| {
            other.spills == spills && (spills == Spills::Kept || other.max_registers == self.max_registers)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::VARIANTS;

    #[test]
    fn symbols_say_what_the_row_says() {
        for (at, variant) in VARIANTS.iter().enumerate() {
            let symbol = variant.symbol;
            assert!(VARIANTS[..at].iter().all(|other| other.symbol != symbol));
            let [name, element] = variant.problem.names();
            let middle = symbol.strip_prefix(name).and_then(|rest| rest.strip_suffix(element));
            let mut words = middle.expect("its problem's names").trim_matches('_').split('_');
            assert_eq!(
                words.next().and_then(|word| word.parse().ok()),
                Some(variant.threads),
                "{symbol}"
            );
            if let Some(cap) = variant.max_registers() {
                assert_eq!(words.next().and_then(|word| word.parse().ok()), Some(cap), "{symbol}");
            }
            assert_eq!(words.next(), Some(variant.spills.name()), "{symbol}");
            assert_eq!(words.next(), None, "{symbol}");
        }
    }

    #[test]
    fn every_budget_is_there_with_and_without_the_pragma() {
        for problem in Problem::ALL {
            assert_eq!(
                problem.variants().next().map(|variant| variant.spills),
                Some(Spills::Kept)
            );
        }
        for variant in VARIANTS {
            let own = variant.sibling(variant.spills).map(|own| own.symbol);
            assert_eq!(own, Some(variant.symbol));
            let of_budget = [Spills::Local, Spills::Shared].map(|spills| variant.sibling(spills).is_some());
            assert_eq!(of_budget, [variant.spills != Spills::Kept; 2], "{}", variant.symbol);
        }
    }
}
