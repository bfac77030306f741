//! The kernel families: names, targets, and the table of all kernels.
//!
//! A family's file holds the geometry that its device code indexes with, its instance list (a macro that this crate
//! reads for the table and `kernels-gpu` for the entry points: a row in one and not in the other cannot be written),
//! and the function from an instance to a [`Kernel`].

pub mod lessons;
pub mod matrix_vector;
pub mod mma_sync;
pub mod register_tile;
pub mod simt;
pub mod tiled;
pub mod wgmma;

use core::fmt;
use core::str::FromStr;

use crate::kernel::{Kernel, Target};

/// A family of kernels: what they have in common, and the one name of it.
///
/// A value, so that whoever adds a kernel in a crate of his own names its family there ([`Family::new`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Family {
    name: &'static str,
    idea: &'static str,
    target: Target,
    is_automatic: bool,
}

/// `wgmma` and tensor maps exist on 9.0 alone (`sm_90a`).
const HOPPER: Target = Target {
    compute_capability: (9, 0),
    is_architecture_specific: true,
};

impl Family {
    /// Global memory only.
    pub const NAIVE: Self = Self::new("r01_naive", "one thread an element of C", Target::from(7, 5));
    /// Tiles in static shared arrays, whose size the compiler knows.
    pub const TILED_STATIC: Self = Self::new(
        "r02_tiled_static",
        "tiles of A and B are loaded once a CTA and reused by all its threads",
        Target::from(7, 5),
    );
    /// Tiles carved out of one dynamic allocation, whose size the launch decides.
    pub const TILED_DYNAMIC: Self = Self::new(
        "r03_tiled_dynamic",
        "the same tiles, their size chosen at launch",
        Target::from(7, 5),
    )
    .automatic();
    /// A column of registers for each thread, fed by short static tiles.
    pub const REGISTER_COLUMN: Self = Self::new(
        "r04_register_column",
        "a column of registers for each thread, fed by short tiles",
        Target::from(7, 5),
    );
    /// A tile of registers for each thread, fed by short static tiles.
    pub const REGISTER_TILE: Self = Self::new(
        "r05_register_tile",
        "a tile of registers for each thread, fed by short tiles",
        Target::from(7, 5),
    )
    .automatic();
    /// The same with copies of 16 bytes.
    pub const VECTOR_COPY: Self = Self::new(
        "r06_vector_copy",
        "copies of 16 bytes between global memory and registers",
        Target::from(7, 5),
    );
    /// The same with the lanes of a warp in a rectangle, whose loads from shared memory take fewer wavefronts.
    pub const WARP_TILE: Self = Self::new(
        "r07_warp_tile",
        "the lanes of a warp in a rectangle of 4 x 8: fewer wavefronts a load",
        Target::from(7, 5),
    );
    /// The next step is loaded while this one is multiplied: two stages, and fragments one ahead.
    pub const DOUBLE_BUFFER: Self = Self::new(
        "r08_double_buffer",
        "loads one step ahead of the multiplications that need them",
        Target::from(7, 5),
    );
    /// Asynchronous copies into a ring of stages in dynamic shared memory, CTAs in an order that L2 likes.
    pub const ASYNC_COPY: Self = Self::new(
        "r09_async_copy",
        "asynchronous copies, several steps ahead; CTAs in an order that L2 likes",
        Target::from(8, 0),
    );
    /// The same for every layout of A and B, in several tiles, with split-K, alpha and beta.
    pub const SIMT: Self = Self::new(
        "r10_gemm",
        "every layout, several tiles, split-K, alpha and beta",
        Target::from(8, 0),
    )
    .automatic();
    /// C of one column or one row: every element of the matrix is used once, so the time is that of reading it.
    pub const MATRIX_VECTOR: Self = Self::new(
        "r11_matrix_vector",
        "C of one column or row: nothing is used twice, enough loads are under way",
        Target::from(7, 5),
    )
    .automatic();
    /// Tensor cores, a warp at a time: `mma.sync` on fragments that `ldmatrix` loads from a ring of stages.
    pub const MMA_SYNC: Self = Self::new(
        "r12_mma_sync",
        "tensor cores by `mma.sync`, fragments by `ldmatrix`",
        Target::from(8, 0),
    )
    .automatic();
    /// Tensor cores, a warpgroup at a time: `wgmma` on what TMA brings to shared memory, one stage.
    pub const WGMMA_ONE_STAGE: Self = Self::new("r13_wgmma", "a warpgroup multiplies by `wgmma`, TMA copies", HOPPER);
    /// One warpgroup copies, the others multiply: a ring of stages, guarded by mbarriers.
    pub const WGMMA_RING: Self = Self::new(
        "r14_warp_specialized",
        "one warpgroup copies, steps ahead of those that multiply",
        HOPPER,
    );
    /// CTAs that stay and compute tile after tile.
    pub const WGMMA_PERSISTENT: Self = Self::new("r15_persistent", "CTAs stay and compute tile after tile", HOPPER);
    /// Clusters of two CTAs that share their tile of B.
    pub const WGMMA_CLUSTER: Self = Self::new("r16_cluster", "two CTAs share B by multicast", HOPPER);
    /// The same for every layout of A and B, in several tiles, with split-K, and C by bulk copies.
    pub const WGMMA: Self = Self::new(
        "r17_wgmma_gemm",
        "C by bulk copies, every layout, several tiles",
        HOPPER,
    )
    .automatic();

    /// The ladder's rungs.
    const RUNGS: [Self; 17] = [
        Self::NAIVE,
        Self::TILED_STATIC,
        Self::TILED_DYNAMIC,
        Self::REGISTER_COLUMN,
        Self::REGISTER_TILE,
        Self::VECTOR_COPY,
        Self::WARP_TILE,
        Self::DOUBLE_BUFFER,
        Self::ASYNC_COPY,
        Self::SIMT,
        Self::MATRIX_VECTOR,
        Self::MMA_SYNC,
        Self::WGMMA_ONE_STAGE,
        Self::WGMMA_RING,
        Self::WGMMA_PERSISTENT,
        Self::WGMMA_CLUSTER,
        Self::WGMMA,
    ];

    /// Every family of this library: the rungs, then the lessons, each in learning order.
    pub const ALL: [Self; 17 + lessons::KERNELS.len()] = {
        let mut all = [Self::NAIVE; 17 + lessons::KERNELS.len()];
        let mut at = 0;
        while at < all.len() {
            all[at] = if at < 17 {
                Self::RUNGS[at]
            } else {
                lessons::KERNELS[at - 17].family
            };
            at += 1;
        }
        all
    };

    /// A family of this name, whose kernels run on `target`; taken only where it is named. Its kernels' symbols begin
    /// with the name.
    pub const fn new(name: &'static str, idea: &'static str, target: Target) -> Self {
        Self {
            name,
            idea,
            target,
            is_automatic: false,
        }
    }

    /// The family, also picked where the user names none.
    const fn automatic(self) -> Self {
        Self {
            is_automatic: true,
            ..self
        }
    }

    /// The name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// What is new in it, in a few words.
    pub const fn idea(self) -> &'static str {
        self.idea
    }

    /// The devices that run its kernels.
    pub const fn target(self) -> Target {
        self.target
    }

    /// Whether its kernels are candidates where the user names no family.
    pub const fn is_automatic(self) -> bool {
        self.is_automatic
    }

    /// Its kernels, in the order of the table.
    pub fn kernels(self) -> impl Iterator<Item = &'static Kernel> {
        KERNELS.iter().filter(move |kernel| kernel.family == self)
    }
}

/// The kernels of each family, in the order of the table.
const GROUPS: [&[Kernel]; 11] = [
    &tiled::NAIVE,
    &tiled::STATIC,
    &tiled::DYNAMIC,
    &register_tile::KERNELS,
    &simt::ASYNC_COPY,
    &simt::GEMM,
    &matrix_vector::KERNELS,
    &mma_sync::KERNELS,
    wgmma::LADDER.as_flattened(),
    &wgmma::GEMM,
    &lessons::KERNELS,
];

const COUNT: usize = {
    let (mut count, mut group) = (0, 0);
    while group < GROUPS.len() {
        count += GROUPS[group].len();
        group += 1;
    }
    count
};

/// Every kernel of the device crate.
pub static KERNELS: [Kernel; COUNT] = {
    let mut all = [tiled::NAIVE[0]; COUNT];
    let (mut next, mut group) = (0, 0);
    while group < GROUPS.len() {
        let mut row = 0;
        while row < GROUPS[group].len() {
            all[next] = GROUPS[group][row];
            next += 1;
            row += 1;
        }
        group += 1;
    }
    all
};

/// [`DType`](crate::DType) by the element's name in instance lists.
macro_rules! dtype {
    (f32) => {
        $crate::DType::F32
    };
    (f64) => {
        $crate::DType::F64
    };
    (f16) => {
        $crate::DType::F16
    };
    (bf16) => {
        $crate::DType::Bf16
    };
}

/// [`Major`](crate::Major) by the device type's name in instance lists.
macro_rules! major {
    (KMajor) => {
        $crate::Major::K
    };
    (MnMajor) => {
        $crate::Major::Mn
    };
}

pub(crate) use {dtype, major};

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that no family has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownFamily;

impl fmt::Display for UnknownFamily {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unknown kernel; known: ")?;
        for (i, family) in Family::ALL.into_iter().enumerate() {
            let separator = if i == 0 { "" } else { ", " };
            write!(f, "{separator}{family}")?;
        }
        Ok(())
    }
}

impl core::error::Error for UnknownFamily {}

impl FromStr for Family {
    type Err = UnknownFamily;

    /// Reads a [`Family::name`].
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Family::ALL
            .into_iter()
            .find(|family| family.name == name)
            .ok_or(UnknownFamily)
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    #[test]
    fn every_name_is_read_and_named_where_none_is_known() {
        let problem = "r00".parse::<Family>().expect_err("no rung 0").to_string();
        for family in Family::ALL {
            assert_eq!(family.name().parse(), Ok(family));
            assert!(problem.contains(family.name()), "{family}");
        }
    }

    #[test]
    fn what_is_of_one_architecture_runs_on_no_later_one() {
        for (family, runs) in [
            (Family::NAIVE, [true; 5]),
            (Family::MMA_SYNC, [false, true, true, true, true]),
            (Family::WGMMA, [false, false, false, true, false]),
        ] {
            let on = [(7, 5), (8, 0), (8, 9), (9, 0), (10, 0)].map(|capability| family.target().runs_on(capability));
            assert_eq!(on, runs, "{family}");
        }
    }
}
