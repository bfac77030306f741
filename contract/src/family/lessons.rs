//! The lessons: one kernel each, of one type and one tile, whose whole code is in one file.
//!
//! A lesson's file states its geometry itself, to be read there; a const assertion holds it to the row here
//! ([`Kernel::has_geometry`]).

use crate::dtype::DType;
use crate::family::{Family, HOPPER};
use crate::kernel::{Alignment, Features, Kernel, Loads, MmaPath, Schedule, Target};
use crate::smem::{EpilogueBuffers, SmemLayout, Storage};
use crate::units::Bytes;

/// The lessons that run on every device.
const EVERY: Target = Target::from(7, 5);
/// Those with `cp.async` and `mma.sync`.
const AMPERE: Target = Target::from(8, 0);

/// Lesson 1.
pub const NAIVE: Kernel = Kernel {
    block: [16, 16],
    max_threads: Some(256),
    ..f32(
        "lesson_01_naive",
        "one thread per element of C",
        [16, 16, 1],
        256,
        SmemLayout::NONE,
    )
};

/// Lesson 2.
pub const STATIC_TILES: Kernel = Kernel {
    block: [32, 32],
    ..f32(
        "lesson_02_static_tiles",
        "tiles in static shared memory",
        [32, 32, 32],
        1024,
        tiles(Storage::Static, 1, [4096, 4096], 0),
    )
};

/// Lesson 3.
pub const DYNAMIC_TILES: Kernel = Kernel {
    block: [32, 32],
    ..f32(
        "lesson_03_dynamic_tiles",
        "tiles in dynamic shared memory",
        [32, 32, 32],
        1024,
        tiles(Storage::Dynamic, 1, [4096, 4096], 0),
    )
};

/// Lesson 4.
pub const REGISTER_COLUMN: Kernel = f32(
    "lesson_04_register_column",
    "a column of registers per thread",
    [64, 64, 8],
    512,
    tiles(Storage::Static, 1, [4 * 8 * 68; 2], 4),
);

/// Lesson 5.
pub const REGISTER_TILE: Kernel = f32(
    "lesson_05_register_tile",
    "a tile of registers per thread",
    [128, 128, 8],
    256,
    tiles(Storage::Static, 1, [4 * 8 * 132; 2], 4),
);

/// Lesson 6.
pub const VECTOR_COPIES: Kernel = f32(
    "lesson_06_vector_copies",
    "16-byte loads",
    [128, 128, 8],
    256,
    tiles(Storage::Static, 1, [4 * 8 * 132; 2], 4),
);

/// Lesson 7.
pub const WARP_TILES: Kernel = f32(
    "lesson_07_warp_tiles",
    "the lanes of a warp in a rectangle",
    [128, 128, 8],
    256,
    tiles(Storage::Static, 1, [4 * 8 * 132; 2], 4),
);

/// Lesson 8.
pub const DOUBLE_BUFFERING: Kernel = f32(
    "lesson_08_double_buffering",
    "the next k-tile is loaded while this one is computed",
    [128, 128, 8],
    256,
    tiles(Storage::Static, 2, [4 * 8 * 132; 2], 4),
);

/// Lesson 9.
pub const CP_ASYNC: Kernel = Kernel {
    loads: Loads::CpAsync,
    ..lesson(
        Family::new("lesson_09_cp_async", "a pipeline of cp.async", AMPERE),
        DType::F32,
        [256, 128, 16],
        256,
        tiles(Storage::Dynamic, 3, [4 * 16 * 260, 4 * 16 * 132], 4),
    )
};

/// Lesson 10.
pub const MMA_SYNC: Kernel = Kernel {
    alignment: Alignment::VECTORS_OF_8,
    mma: MmaPath::MmaSync,
    loads: Loads::CpAsync,
    ..lesson(
        Family::new("lesson_10_mma_sync", "tensor cores, a warp at a time", AMPERE),
        DType::F16,
        [128, 128, 32],
        128,
        tiles(Storage::Dynamic, 4, [2 * 128 * 32; 2], 0),
    )
};

/// Lesson 11.
pub const WGMMA: Kernel = wgmma(
    Family::new(
        "lesson_11_wgmma",
        "tensor cores, a warpgroup at a time, and TMA",
        HOPPER,
    ),
    [128, 128, 64],
    128,
    SmemLayout {
        barriers: Bytes(8),
        ..tiles(Storage::Dynamic, 1, [2 * 128 * 64; 2], 0)
    },
);

/// Lesson 12.
pub const WARP_SPECIALIZED: Kernel = Kernel {
    producer_warps: 4,
    supports: Features {
        reallocates_registers: true,
        ..Features::PRODUCT
    },
    ..wgmma(
        Family::new(
            "lesson_12_warp_specialized",
            "a producer warp runs ahead of the consumer warpgroups",
            HOPPER,
        ),
        [128, 256, 64],
        384,
        SmemLayout {
            barriers: Bytes(8 * 2 * 4),
            ..tiles(Storage::Dynamic, 4, [2 * 128 * 64, 2 * 256 * 64], 0)
        },
    )
};

/// Lesson 13.
pub const PERSISTENT: Kernel = Kernel {
    family: Family::new("lesson_13_persistent", "CTAs compute tile after tile", HOPPER),
    symbol: "lesson_13_persistent",
    schedule: Schedule::Persistent,
    ..WARP_SPECIALIZED
};

/// Lesson 14.
pub const CLUSTER: Kernel = Kernel {
    family: Family::new("lesson_14_cluster", "two CTAs share B by multicast", HOPPER),
    symbol: "lesson_14_cluster",
    cluster: 2,
    ..PERSISTENT
};

/// Lesson 15.
pub const TMA_STORE: Kernel = Kernel {
    family: Family::new(
        "lesson_15_tma_store",
        "C by TMA, while the next tile is computed",
        HOPPER,
    ),
    symbol: "lesson_15_tma_store",
    supports: Features {
        tma_store: true,
        ..CLUSTER.supports
    },
    smem: SmemLayout {
        stages: 3,
        epilogue: Some(EpilogueBuffers {
            m: 128,
            n: 64,
            buffers: 4,
        }),
        c: Bytes(2 * 128 * 256),
        barriers: Bytes(8 * 2 * 3),
        ..CLUSTER.smem
    },
    ..CLUSTER
};

/// All lessons, in learning order.
pub const KERNELS: [Kernel; 15] = [
    NAIVE,
    STATIC_TILES,
    DYNAMIC_TILES,
    REGISTER_COLUMN,
    REGISTER_TILE,
    VECTOR_COPIES,
    WARP_TILES,
    DOUBLE_BUFFERING,
    CP_ASYNC,
    MMA_SYNC,
    WGMMA,
    WARP_SPECIALIZED,
    PERSISTENT,
    CLUSTER,
    TMA_STORE,
];

/// A pipeline of so many stages, with these bytes of A and of B each.
const fn tiles(storage: Storage, stages: u32, [a, b]: [u32; 2], padding: u32) -> SmemLayout {
    SmemLayout {
        storage,
        stages,
        a_per_stage: Bytes(a),
        b_per_stage: Bytes(b),
        row_padding: [padding; 2],
        ..SmemLayout::NONE
    }
}

/// The one kernel of a family, which has its name.
const fn lesson(family: Family, dtype: DType, tile: [u32; 3], threads: u32, smem: SmemLayout) -> Kernel {
    Kernel {
        smem,
        ..Kernel::plain(family, family.name(), dtype, tile, threads)
    }
}

const fn f32(name: &'static str, idea: &'static str, tile: [u32; 3], threads: u32, smem: SmemLayout) -> Kernel {
    lesson(Family::new(name, idea, EVERY), DType::F32, tile, threads, smem)
}

const fn wgmma(family: Family, tile: [u32; 3], threads: u32, smem: SmemLayout) -> Kernel {
    Kernel {
        alignment: Alignment::VECTORS_OF_8,
        mma: MmaPath::Wgmma,
        loads: Loads::Tma,
        ..lesson(family, DType::F16, tile, threads, smem)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lessons_are_numbered_and_never_picked() {
        for (number, kernel) in (1..).zip(KERNELS) {
            assert!(kernel.symbol.starts_with(&std::format!("lesson_{number:02}_")));
            assert_eq!(kernel.symbol, kernel.family.name());
            assert!(!kernel.family.is_automatic(), "{}", kernel.symbol);
        }
    }
}
