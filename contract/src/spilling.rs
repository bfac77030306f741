//! The table of twins: kernels that differ in nothing but where the compiler puts the registers that it does not get.
//!
//! They are no rungs: nothing plans with them. They are there to be measured against one another.

use crate::dtype::DType;
use crate::layout::RegisterTile;
use crate::units::Bytes;

/// What a twin computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Family {
    /// `C = A · B` with the body of [`Rung::RegisterTile`](crate::Rung::RegisterTile).
    RegisterTile,
    /// The inverses of many 8 x 8 matrices ([`Inverse8`](crate::Inverse8)), one a thread.
    Inverse8,
}

impl Family {
    /// Every family.
    pub const ALL: [Family; 2] = [Family::RegisterTile, Family::Inverse8];

    /// How symbols begin; also the name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Family::RegisterTile => "register_tile",
            Family::Inverse8 => "inverse8",
        }
    }

    /// Static shared memory of the kernel's own arrays.
    pub const fn static_bytes(self) -> Bytes {
        match self {
            Family::RegisterTile => RegisterTile::BYTES,
            Family::Inverse8 => Bytes(0),
        }
    }
}

/// Where a twin's registers go when there are not enough of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Spills {
    /// There are enough: no limit but that of the block's threads.
    Kept,
    /// Into local memory.
    Local,
    /// Into shared memory as far as `ptxas` takes it, the rest into local memory.
    Shared,
    /// The same for a kernel that does not say how many threads its block has: `ptxas` takes shared memory for as many
    /// as the multiprocessor has registers for.
    Unbounded,
}

impl Spills {
    /// The name in symbols and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Spills::Kept => "kept",
            Spills::Local => "local",
            Spills::Shared => "shared",
            Spills::Unbounded => "unbounded",
        }
    }

    /// Whether the kernel has the pragma `enable_smem_spilling`.
    pub const fn into_shared(self) -> bool {
        matches!(self, Spills::Shared | Spills::Unbounded)
    }
}

/// One twin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Twin {
    /// What it computes.
    pub family: Family,
    /// The element type.
    pub dtype: DType,
    /// Where it spills.
    pub spills: Spills,
    /// Threads of the block that it is launched with.
    pub threads: u32,
    /// The most registers of a thread (`.maxnreg`); `None` for [`Spills::Kept`].
    pub max_registers: Option<u32>,
    /// The symbol in PTX.
    pub symbol: &'static str,
}

impl Twin {
    /// The most threads of a block that the kernel declares (`.maxntid`): those that it is launched with, or `None` for
    /// [`Spills::Unbounded`].
    pub const fn max_threads(&self) -> Option<u32> {
        match self.spills {
            Spills::Unbounded => None,
            Spills::Kept | Spills::Local | Spills::Shared => Some(self.threads),
        }
    }

    /// Static shared memory of the kernel's own arrays; what spilled registers take comes on top.
    pub const fn static_bytes(&self) -> Bytes {
        self.family.static_bytes()
    }

    /// The twin of this symbol.
    pub fn find(symbol: &str) -> Option<&'static Twin> {
        TWINS.iter().find(|twin| twin.symbol == symbol)
    }

    /// The same kernel that spills elsewhere: of the same family, element type and block, and with the same cap of
    /// registers if it has one.
    pub fn sibling(&self, spills: Spills) -> Option<&'static Twin> {
        TWINS.iter().find(|other| {
            (other.family, other.dtype, other.threads, other.spills) == (self.family, self.dtype, self.threads, spills)
                && (spills == Spills::Kept || other.max_registers == self.max_registers)
        })
    }
}

/// One line for each family, element type and block: its caps of registers in front of the semicolon, behind it those
/// which are there without launch bounds, too.
macro_rules! twins {
    ($($family:ident $name:literal $dtype:ident $suffix:literal $threads:literal: $($cap:literal)*; $($unbounded:literal)*;)*) => {
        [$(
            twins!(@ $family $name $dtype $suffix $threads, Kept, None, "_kept_"),
            $(
                twins!(@ $family $name $dtype $suffix $threads, Local, Some($cap), concat!("_", $cap, "_local_")),
                twins!(@ $family $name $dtype $suffix $threads, Shared, Some($cap), concat!("_", $cap, "_shared_")),
            )*
            $(twins!(@ $family $name $dtype $suffix $threads, Unbounded, Some($unbounded), concat!("_", $unbounded, "_unbounded_")),)*
        )*]
    };
    (@ $family:ident $name:literal $dtype:ident $suffix:literal $threads:literal, $spills:ident, $cap:expr, $middle:expr) => {
        Twin {
            family: Family::$family,
            dtype: DType::$dtype,
            spills: Spills::$spills,
            threads: $threads,
            max_registers: $cap,
            symbol: concat!($name, "_", $threads, $middle, $suffix),
        }
    };
}

/// Every twin.
pub static TWINS: &[Twin] = &twins! {
    RegisterTile "register_tile" F32 "f32" 256: 80 64;;
    Inverse8 "inverse8" F32 "f32" 128: 72 64; 64;
    Inverse8 "inverse8" F64 "f64" 128: 136 128; 128;
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_unique_and_say_what_the_row_says() {
        for (i, twin) in TWINS.iter().enumerate() {
            assert!(TWINS[..i].iter().all(|other| other.symbol != twin.symbol));
            let mut words = twin
                .symbol
                .strip_prefix(twin.family.name())
                .expect("begins with its family")
                .split('_');
            assert_eq!(words.next(), Some(""));
            assert_eq!(
                words.next().and_then(|word| word.parse().ok()),
                Some(twin.threads),
                "{}",
                twin.symbol
            );
            if twin.max_registers.is_some() {
                assert_eq!(
                    words.next().map(|word| word.parse().ok()),
                    Some(twin.max_registers),
                    "{}",
                    twin.symbol
                );
            }
            assert_eq!(words.next(), Some(twin.spills.name()));
            assert_eq!(words.next(), Some(twin.dtype.name()));
            assert_eq!(words.next(), None);
        }
    }

    #[test]
    fn whatever_spills_is_there_three_times() {
        for twin in TWINS {
            assert_eq!(
                twin.max_registers.is_none(),
                twin.spills == Spills::Kept,
                "{}",
                twin.symbol
            );
            assert_eq!(twin.sibling(twin.spills), Some(twin));
            if twin.spills != Spills::Kept {
                for spills in [Spills::Kept, Spills::Local, Spills::Shared] {
                    assert!(twin.sibling(spills).is_some(), "{} {spills:?}", twin.symbol);
                }
            }
        }
    }
}
