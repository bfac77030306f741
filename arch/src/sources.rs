//! Where the numbers come from.

/// A document that a column of the table was taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// What it is.
    pub title: &'static str,
    /// The place in it.
    pub place: &'static str,
}

/// A column of the table: a field of [`Architecture`](crate::Architecture) and its sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// The field's name.
    pub field: &'static str,
    /// Where its numbers were read; the first one decides, the others agree.
    pub sources: &'static [Source],
}

const GUIDE: &str = "CUDA Programming Guide (CUDA 13), section 5.1, \
                     https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/compute-capabilities.html";
const OCCUPANCY: &str = "cuda_occupancy.h of the CUDA 13.0 runtime";

const fn guide(place: &'static str) -> Source {
    Source { title: GUIDE, place }
}

const fn occupancy(place: &'static str) -> Source {
    Source {
        title: OCCUPANCY,
        place,
    }
}

const fn traits(place: &'static str) -> Source {
    Source {
        title: "libcudacxx/include/cuda/__device/arch_traits.h of NVIDIA/cccl, commit 004ad198",
        place,
    }
}

const CUTLASS: &str = "NVIDIA/cutlass, commit 7107b055";

const TABLE_29: Source = guide("table 29, feature support");
const TABLE_30: Source = guide("table 30, multiprocessor information");
const TABLE_31: Source = guide("table 31, memory information");
const TABLE_32: Source = guide("table 32, shared memory capacity");

/// Every field of [`Architecture`](crate::Architecture) but its names, in order.
///
/// Two single cells are inferred, not read: `tensor_memory_per_sm` of 11.0, from its having the `tcgen05` instructions
/// of 10.0, and `smem_reserved_per_block` of 7.5, which the traits do not list: its SM's and its block's
/// shared memory are equal in the guide, so there is none.
pub static COLUMNS: &[Column] = &[
    column(
        "smem_per_sm",
        &[TABLE_31, traits("max_shared_memory_per_multiprocessor")],
    ),
    column(
        "smem_reserved_per_block",
        &[
            traits("reserved_shared_memory_per_block"),
            Source {
                title: CUTLASS,
                place: "python/CuTeDSL/cutlass/cutlass_dsl/cutlass.py, capacities as (100 - 1) and (228 - 1) KiB",
            },
        ],
    ),
    column(
        "smem_per_block_optin",
        &[TABLE_31, traits("max_shared_memory_per_block_optin")],
    ),
    column(
        "smem_per_block",
        &[
            guide("table 31, note 3: more than 48 KB needs an explicit opt-in"),
            traits("max_shared_memory_per_block"),
        ],
    ),
    column(
        "smem_allocation_granularity",
        &[occupancy("cudaOccSMemAllocationGranularity")],
    ),
    column(
        "carveouts_kib",
        &[TABLE_32, occupancy("cudaOccAlignUpShmemSizeVoltaPlus")],
    ),
    column("unified_cache_kib", &[TABLE_32]),
    column("shared_memory_banks", &[TABLE_31]),
    column(
        "tensor_memory_per_sm",
        &[Source {
            title: CUTLASS,
            place: "include/cute/arch/tmem_allocator_sm100.hpp: 512 columns of 128 lanes of 4 bytes",
        }],
    ),
    column("registers_per_sm", &[TABLE_31]),
    column("registers_per_block", &[TABLE_31]),
    column(
        "registers_per_thread",
        &[
            TABLE_31,
            traits("max_registers_per_thread (cuda_occupancy.h says 256 from 7.x on; ptxas stops at 255)"),
        ],
    ),
    column(
        "register_allocation_per_warp",
        &[occupancy("cudaOccRegAllocationGranularity")],
    ),
    column(
        "subpartitions_per_sm",
        &[occupancy("cudaOccSubPartitionsPerMultiprocessor")],
    ),
    column("threads_per_sm", &[TABLE_30]),
    column("warps_per_sm", &[TABLE_30]),
    column(
        "blocks_per_sm",
        &[TABLE_30, occupancy("cudaOccMaxBlocksPerMultiprocessor")],
    ),
    column(
        "block_barriers_per_sm",
        &[occupancy("cudaOccMaxBlocksPerSMBlockBarrierLimit")],
    ),
    column(
        "virtual_resources_per_sm",
        &[occupancy("cudaOccMaxVirtualResourceCountPerSM")],
    ),
    column("warp_size", &[TABLE_30]),
    column("threads_per_block", &[TABLE_30]),
    column("block_extents", &[TABLE_30]),
    column("grid_extents", &[TABLE_30]),
    column("clusters", &[TABLE_29]),
];

const fn column(field: &'static str, sources: &'static [Source]) -> Column {
    Column { field, sources }
}
