//! The table.

use crate::name::ComputeCapability;

/// What one architecture fixes. [`COLUMNS`](crate::COLUMNS) names the source of each field.
///
/// Identity: `smem_per_sm = smem_per_block_optin + smem_reserved_per_block`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Architecture {
    /// The compute capability.
    pub compute_capability: ComputeCapability,
    /// The name in PTX and for `ptxas`, such as `sm_90`.
    pub name: &'static str,
    /// Products that have it.
    pub parts: &'static str,

    /// Shared memory of an SM.
    pub smem_per_sm: u32,
    /// What the system takes of the SM's shared memory for each resident block. The opt-in limit does not
    /// contain it: it must not be subtracted again.
    pub smem_reserved_per_block: u32,
    /// Shared memory of a block, static and dynamic together, after opting in.
    pub smem_per_block_optin: u32,
    /// Shared memory of a block without opting in, and the most that can be static.
    pub smem_per_block: u32,
    /// A block's shared memory, the reserved part included, is rounded up to a multiple of this.
    pub smem_allocation_granularity: u32,
    /// How much of the unified cache can be shared memory, in KiB, ascending.
    pub carveouts_kib: &'static [u32],
    /// The unified data cache of an SM (first-level cache and shared memory), in KiB.
    pub unified_cache_kib: u32,
    /// Banks of shared memory, of 4 bytes each.
    pub shared_memory_banks: u32,
    /// Tensor memory of an SM; 0 where there is none.
    pub tensor_memory_per_sm: u32,

    /// 32-bit registers of an SM.
    pub registers_per_sm: u32,
    /// 32-bit registers of a block.
    pub registers_per_block: u32,
    /// 32-bit registers of a thread.
    pub registers_per_thread: u32,
    /// A warp's registers are rounded up to a multiple of this.
    pub register_allocation_per_warp: u32,
    /// Parts of an SM that warps and registers are divided among.
    pub subpartitions_per_sm: u32,

    /// Resident threads of an SM.
    pub threads_per_sm: u32,
    /// Resident warps of an SM.
    pub warps_per_sm: u32,
    /// Resident blocks of an SM.
    pub blocks_per_sm: u32,
    /// Barriers of an SM that the named barriers of its resident blocks share.
    pub block_barriers_per_sm: u32,
    /// "Virtual resources" of an SM, a further limit on resident blocks; `None` where there is none.
    pub virtual_resources_per_sm: Option<u32>,

    /// Threads of a warp.
    pub warp_size: u32,
    /// Threads of a block.
    pub threads_per_block: u32,
    /// Threads of a block along x, y, z.
    pub block_extents: [u32; 3],
    /// Blocks of a grid along x, y, z.
    pub grid_extents: [u32; 3],
    /// Whether blocks can form clusters that read each other's shared memory.
    pub clusters: bool,
}

impl Architecture {
    /// The architecture of this compute capability, if the table has it.
    ///
    /// 10.1 is 11.0: CUDA 13 renamed it (`cuda_occupancy.h` of CUDA 13.0 still knows both, with the same limits).
    pub fn of(compute_capability: ComputeCapability) -> Option<&'static Self> {
        let renamed = match compute_capability {
            ComputeCapability { major: 10, minor: 1 } => ComputeCapability::new(11, 0),
            other => other,
        };
        ARCHITECTURES
            .iter()
            .find(|architecture| architecture.compute_capability == renamed)
    }
}

const KIB: u32 = 1024;

/// What all rows have in common, and for the other fields those of 9.0.
const COMMON: Architecture = Architecture {
    compute_capability: ComputeCapability::new(9, 0),
    name: "sm_90",
    parts: "H100, H200, GH200",
    smem_per_sm: 228 * KIB,
    smem_reserved_per_block: KIB,
    smem_per_block_optin: 227 * KIB,
    smem_per_block: 48 * KIB,
    smem_allocation_granularity: 128,
    carveouts_kib: &[0, 8, 16, 32, 64, 100, 132, 164, 196, 228],
    unified_cache_kib: 256,
    shared_memory_banks: 32,
    tensor_memory_per_sm: 0,
    registers_per_sm: 64 * KIB,
    registers_per_block: 64 * KIB,
    registers_per_thread: 255,
    register_allocation_per_warp: 256,
    subpartitions_per_sm: 4,
    threads_per_sm: 2048,
    warps_per_sm: 64,
    blocks_per_sm: 32,
    block_barriers_per_sm: 64,
    virtual_resources_per_sm: None,
    warp_size: 32,
    threads_per_block: 1024,
    block_extents: [1024, 1024, 64],
    grid_extents: [i32::MAX as u32, 65535, 65535],
    clusters: true,
};

/// A row with 100 KiB an SM, which is what consumer parts have.
const CONSUMER: Architecture = Architecture {
    smem_per_sm: 100 * KIB,
    smem_per_block_optin: 99 * KIB,
    carveouts_kib: &[0, 8, 16, 32, 64, 100],
    unified_cache_kib: 128,
    threads_per_sm: 1536,
    warps_per_sm: 48,
    ..COMMON
};

/// Every architecture that CUDA 13 compiles for, oldest first.
pub static ARCHITECTURES: [Architecture; 11] = [
    Architecture {
        compute_capability: ComputeCapability::new(7, 5),
        name: "sm_75",
        parts: "T4, RTX 20",
        smem_per_sm: 64 * KIB,
        smem_reserved_per_block: 0,
        smem_per_block_optin: 64 * KIB,
        smem_allocation_granularity: 256,
        carveouts_kib: &[32, 64],
        unified_cache_kib: 96,
        threads_per_sm: 1024,
        warps_per_sm: 32,
        blocks_per_sm: 16,
        block_barriers_per_sm: 32,
        clusters: false,
        ..COMMON
    },
    Architecture {
        compute_capability: ComputeCapability::new(8, 0),
        name: "sm_80",
        parts: "A100, A30",
        smem_per_sm: 164 * KIB,
        smem_per_block_optin: 163 * KIB,
        carveouts_kib: &[0, 8, 16, 32, 64, 100, 132, 164],
        unified_cache_kib: 192,
        clusters: false,
        ..COMMON
    },
    Architecture {
        compute_capability: ComputeCapability::new(8, 6),
        name: "sm_86",
        parts: "RTX 30, A10, A40",
        blocks_per_sm: 16,
        block_barriers_per_sm: 16,
        clusters: false,
        ..CONSUMER
    },
    Architecture {
        compute_capability: ComputeCapability::new(8, 7),
        name: "sm_87",
        parts: "Jetson Orin",
        smem_per_sm: 164 * KIB,
        smem_per_block_optin: 163 * KIB,
        carveouts_kib: &[0, 8, 16, 32, 64, 100, 132, 164],
        unified_cache_kib: 192,
        threads_per_sm: 1536,
        warps_per_sm: 48,
        blocks_per_sm: 16,
        block_barriers_per_sm: 16,
        clusters: false,
        ..COMMON
    },
    Architecture {
        compute_capability: ComputeCapability::new(8, 9),
        name: "sm_89",
        parts: "L4, L40, RTX 40",
        blocks_per_sm: 24,
        block_barriers_per_sm: 24,
        clusters: false,
        ..CONSUMER
    },
    COMMON,
    Architecture {
        compute_capability: ComputeCapability::new(10, 0),
        name: "sm_100",
        parts: "B200, GB200",
        tensor_memory_per_sm: 256 * KIB,
        virtual_resources_per_sm: Some(128),
        ..COMMON
    },
    Architecture {
        compute_capability: ComputeCapability::new(10, 3),
        name: "sm_103",
        parts: "B300, GB300",
        tensor_memory_per_sm: 256 * KIB,
        virtual_resources_per_sm: Some(128),
        ..COMMON
    },
    Architecture {
        compute_capability: ComputeCapability::new(11, 0),
        name: "sm_110",
        parts: "Jetson Thor",
        tensor_memory_per_sm: 256 * KIB,
        threads_per_sm: 1536,
        warps_per_sm: 48,
        blocks_per_sm: 24,
        block_barriers_per_sm: 24,
        virtual_resources_per_sm: Some(128),
        ..COMMON
    },
    Architecture {
        compute_capability: ComputeCapability::new(12, 0),
        name: "sm_120",
        parts: "RTX 50, RTX PRO Blackwell",
        blocks_per_sm: 24,
        block_barriers_per_sm: 24,
        virtual_resources_per_sm: Some(128),
        ..CONSUMER
    },
    Architecture {
        compute_capability: ComputeCapability::new(12, 1),
        name: "sm_121",
        parts: "GB10 (DGX Spark)",
        blocks_per_sm: 24,
        block_barriers_per_sm: 24,
        virtual_resources_per_sm: Some(128),
        ..CONSUMER
    },
];

#[cfg(test)]
mod tests {
    extern crate std;
    use std::format;

    use super::*;
    use crate::COLUMNS;

    #[test]
    fn rows_are_ascending_and_named_after_their_number() {
        assert!(
            ARCHITECTURES
                .windows(2)
                .all(|pair| pair[0].compute_capability < pair[1].compute_capability)
        );
        for row in &ARCHITECTURES {
            let ComputeCapability { major, minor } = row.compute_capability;
            assert_eq!(row.name, format!("sm_{major}{minor}"));
        }
    }

    #[test]
    fn the_parts_of_each_row_fit_together() {
        for row in &ARCHITECTURES {
            let name = row.name;
            assert_eq!(
                row.smem_per_sm,
                row.smem_per_block_optin + row.smem_reserved_per_block,
                "{name}"
            );
            assert_eq!(row.carveouts_kib.last(), Some(&(row.smem_per_sm / KIB)), "{name}");
            assert!(row.carveouts_kib.is_sorted(), "{name}");
            assert!(
                row.smem_per_sm / KIB < row.unified_cache_kib,
                "{name}: some cache is left"
            );
            assert_eq!(row.threads_per_sm, row.warps_per_sm * row.warp_size, "{name}");
            assert!(row.threads_per_block <= row.threads_per_sm, "{name}");
            assert!(row.block_barriers_per_sm >= row.blocks_per_sm, "{name}");
            assert_eq!(row.clusters, row.compute_capability.major >= 9, "{name}");
            assert_eq!(
                row.virtual_resources_per_sm.is_some(),
                row.compute_capability.major >= 10,
                "{name}"
            );
            assert_eq!(
                row.tensor_memory_per_sm > 0,
                matches!(row.compute_capability.major, 10 | 11),
                "{name}"
            );
        }
    }

    /// How much each of `blocks` resident blocks may use.
    fn budget(row: &Architecture, blocks: u32) -> u32 {
        let granularity = row.smem_allocation_granularity;
        row.smem_per_sm / blocks / granularity * granularity - row.smem_reserved_per_block
    }

    #[test]
    fn what_several_resident_blocks_may_use_is_as_computed_by_hand() {
        for (name, one, two) in [
            ("sm_75", 65536, 32768),
            ("sm_80", 166_912, 82944),
            ("sm_86", 101_376, 50176),
            ("sm_87", 166_912, 82944),
            ("sm_89", 101_376, 50176),
            ("sm_90", 232_448, 115_712),
            ("sm_100", 232_448, 115_712),
            ("sm_103", 232_448, 115_712),
            ("sm_110", 232_448, 115_712),
            ("sm_120", 101_376, 50176),
            ("sm_121", 101_376, 50176),
        ] {
            let row = crate::find(name).expect("in the table");
            assert_eq!((budget(row, 1), budget(row, 2)), (one, two), "{name}");
        }
    }

    #[test]
    fn the_former_number_of_thor_is_still_understood() {
        assert_eq!(crate::find("sm_101").map(|row| row.name), Ok("sm_110"));
    }

    #[test]
    fn every_field_is_a_column_with_its_sources() {
        // The pretty Debug form has a line a field, four blanks deep.
        let debug = format!("{:#?}", ARCHITECTURES[0]);
        let fields = debug
            .lines()
            .filter_map(|line| line.strip_prefix("    ")?.split_once(": "))
            .map(|(field, _)| field)
            .filter(|field| !field.starts_with(' ') && !["compute_capability", "name", "parts"].contains(field));
        assert!(fields.eq(COLUMNS.iter().map(|column| column.field)));
        assert!(COLUMNS.iter().all(|column| !column.sources.is_empty()));
    }
}
