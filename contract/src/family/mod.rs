//! The kernel families: names, targets, and the table of all kernels.
//!
//! A family's file holds the geometry that its device code indexes with, its instance list (a macro that this crate
//! reads for the table and `kernels-gpu` for the entry points: a row in one and not in the other cannot be written),
//! and the function from an instance to a [`Kernel`].

pub mod fp8_quantize;
pub mod lessons;
pub mod matrix_vector;
pub mod mma_block_scaled;
pub mod mma_f64;
pub mod mma_sync;
pub mod register_tile;
pub mod simt;
pub mod swizzle;
pub mod tiled;
pub mod wgmma;
pub mod wgmma_fp8;

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
    /// Tiles in static shared arrays, whose size the compiler knows.
    pub const TILED_STATIC: Self = Self::new("tiled_static", "tiles in static shared memory", Target::from(7, 5));
    /// Tiles carved out of one dynamic allocation, whose size the launch decides.
    pub const TILED_DYNAMIC: Self = Self::new(
        "tiled_dynamic",
        "tiles in dynamic shared memory, their size chosen at launch",
        Target::from(7, 5),
    )
    .automatic();
    /// A tile of registers for each thread, fed by short static tiles.
    pub const REGISTER_TILE: Self = Self::new(
        "register_tile",
        "a tile of registers for each thread, fed by short tiles",
        Target::from(7, 5),
    )
    .automatic();
    /// f32 by `fma`, loaded by `cp.async`: every layout of A and B, several tiles, split-K, alpha and beta.
    pub const SIMT: Self = Self::new(
        "simt",
        "f32 by `fma`: every layout, several tiles, split-K, alpha and beta",
        Target::from(8, 0),
    )
    .automatic();
    /// C of one column or one row: every element of the matrix is used once, so the time is that of reading it.
    pub const MATRIX_VECTOR: Self = Self::new(
        "matrix_vector",
        "C of one column or row: nothing is used twice, enough loads are under way",
        Target::from(7, 5),
    )
    .automatic();
    /// Tensor cores, a warp at a time: `mma.sync` on fragments that `ldmatrix` loads from a ring of stages.
    pub const MMA_SYNC: Self = Self::new(
        "mma_sync",
        "tensor cores by `mma.sync`, fragments by `ldmatrix`",
        Target::from(8, 0),
    )
    .automatic();
    /// f64 on tensor cores, by `mma.sync` of 8 x 8 x 4: every layout, split-K, alpha and beta.
    pub const MMA_F64: Self = Self::new(
        "mma_f64",
        "f64 on tensor cores: every layout, split-K, alpha and beta",
        Target::from(8, 0),
    )
    .automatic();
    /// The same by `mma.sync` of 16 x 8 x 8, which Hopper has.
    pub const MMA_F64_WIDE: Self = Self::new(
        "mma_f64_wide",
        "f64 on tensor cores by the wider instructions of Hopper",
        HOPPER,
    )
    .automatic();
    /// Tensor cores, a warpgroup at a time: `wgmma` on what TMA brings to shared memory; every layout, several tiles,
    /// split-K, and C by TMA stores.
    pub const WGMMA: Self = Self::new(
        "wgmma",
        "tensor cores by `wgmma`, TMA loads and stores: every layout, several tiles",
        HOPPER,
    )
    .automatic();

    /// f32 as the sum of three bf16, a product as that of six pairs of parts, by `wgmma`. Candidates where
    /// [`Precision::EmulatedF32`](crate::Precision::EmulatedF32) is allowed.
    pub const WGMMA_BF16X6: Self = Self::new(
        "wgmma_bf16x6",
        "f32 as the sum of three bf16 on tensor cores, six products for one",
        HOPPER,
    )
    .automatic();

    /// f32 that is rounded to tf32, 11 significant bits, by `wgmma`. Candidates where
    /// [`Precision::Tf32`](crate::Precision::Tf32) is allowed; none for A transposed and B not.
    pub const WGMMA_TF32: Self = Self::new(
        "wgmma_tf32",
        "f32 rounded to tf32 on tensor cores: one operand from registers where it is not K-major",
        HOPPER,
    )
    .automatic();

    /// The families of the library.
    const LIBRARY: [Self; 11] = [
        Self::TILED_STATIC,
        Self::TILED_DYNAMIC,
        Self::REGISTER_TILE,
        Self::SIMT,
        Self::MATRIX_VECTOR,
        Self::MMA_SYNC,
        Self::MMA_F64,
        Self::MMA_F64_WIDE,
        Self::WGMMA,
        Self::WGMMA_BF16X6,
        Self::WGMMA_TF32,
    ];

    /// Every family: those of the library, then the lessons, in learning order.
    pub const ALL: [Self; Self::LIBRARY.len() + lessons::KERNELS.len()] = {
        let mut all = [Self::TILED_STATIC; Self::LIBRARY.len() + lessons::KERNELS.len()];
        let mut at = 0;
        while at < all.len() {
            all[at] = if at < Self::LIBRARY.len() {
                Self::LIBRARY[at]
            } else {
                lessons::KERNELS[at - Self::LIBRARY.len()].family
            };
            at += 1;
        }
        all
    };

    /// Names that families had, and those that have their place.
    const FORMER_NAMES: [(&'static str, Self); 17] = [
        ("r01_naive", lessons::NAIVE.family),
        ("r02_tiled_static", Self::TILED_STATIC),
        ("r03_tiled_dynamic", Self::TILED_DYNAMIC),
        ("r04_register_column", lessons::REGISTER_COLUMN.family),
        ("r05_register_tile", Self::REGISTER_TILE),
        ("r06_vector_copy", lessons::VECTOR_COPIES.family),
        ("r07_warp_tile", lessons::WARP_TILES.family),
        ("r08_double_buffer", lessons::DOUBLE_BUFFERING.family),
        ("r09_async_copy", lessons::CP_ASYNC.family),
        ("r10_gemm", Self::SIMT),
        ("r11_matrix_vector", Self::MATRIX_VECTOR),
        ("r12_mma_sync", Self::MMA_SYNC),
        ("r13_wgmma", lessons::WGMMA.family),
        ("r14_warp_specialized", lessons::WARP_SPECIALIZED.family),
        ("r15_persistent", lessons::PERSISTENT.family),
        ("r16_cluster", lessons::CLUSTER.family),
        ("r17_wgmma_gemm", Self::WGMMA),
    ];

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
const GROUPS: [&[Kernel]; 14] = [
    &tiled::STATIC,
    &tiled::DYNAMIC,
    &register_tile::KERNELS,
    &simt::KERNELS,
    &simt::THROUGH_REGISTERS,
    &simt::SECTORS,
    &matrix_vector::KERNELS,
    &mma_sync::KERNELS,
    &mma_f64::KERNELS,
    &mma_f64::WIDE,
    &wgmma::KERNELS,
    &wgmma::EMULATED,
    &wgmma::TF32,
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
    let mut all = [tiled::STATIC[0]; COUNT];
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

    /// Reads a [`Family::name`], or one that it had before.
    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Family::ALL
            .into_iter()
            .map(|family| (family.name, family))
            .chain(Family::FORMER_NAMES)
            .find_map(|(known, family)| (known == name).then_some(family))
            .ok_or(UnknownFamily)
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    #[test]
    fn every_name_is_read_and_named_where_none_is_known() {
        let problem = "r00".parse::<Family>().expect_err("no family").to_string();
        for family in Family::ALL {
            assert_eq!(family.name().parse(), Ok(family));
            assert!(problem.contains(family.name()), "{family}");
        }
        assert_eq!("r10_gemm".parse(), Ok(Family::SIMT));
    }

    #[test]
    fn what_is_of_one_architecture_runs_on_no_later_one() {
        for (family, runs) in [
            (Family::TILED_STATIC, [true; 5]),
            (Family::MMA_SYNC, [false, true, true, true, true]),
            (Family::WGMMA, [false, false, false, true, false]),
        ] {
            let on = [(7, 5), (8, 0), (8, 9), (9, 0), (10, 0)].map(|capability| family.target().runs_on(capability));
            assert_eq!(on, runs, "{family}");
        }
    }
}
