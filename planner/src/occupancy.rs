//! How many CTAs of a kernel an SM holds at a time, and what stops it from holding one more.
//!
//! ```
//! use tilewright_plan::occupancy::{BlockUse, Limiter, largest_dynamic_bytes, occupancy};
//!
//! let sm_120 = cuda_arch::find("sm_120")?;
//! let block = BlockUse::new(256, 128, 0, 64 << 10);
//! let resident = occupancy(sm_120, &block);
//! assert_eq!((resident.blocks_per_sm, resident.limiter), (1, Limiter::SharedMemory));
//! // What each of two CTAs may use: half of 100 KiB, less the KiB that the system reserves in each.
//! assert_eq!(largest_dynamic_bytes(sm_120, 2, &block), Some(49 << 10));
//! # Ok::<(), cuda_arch::UnknownArchitecture>(())
//! ```
//!
//! A CTA takes shares of six resources, and the scarcest decides:
//!
//! - *shared memory*: static, dynamic and reserved bytes together, rounded up to the allocation granularity, of the
//!   configuration that the SM's cache is divided by;
//! - *registers*: given to whole warps, and from the one subpartition that the warp runs on;
//! - *warps*, *CTAs*: slots of the SM;
//! - *barriers*: slots that the named barriers of all resident CTAs share. `ptxas` gives a kernel all 16 where the
//!   number of one comes from a register;
//! - *virtual resources*: a further budget from 10.0 on, which ordinary kernels take nothing of.
//!
//! The function is taken to have opted in to the dynamic shared memory that it asks for
//! (`CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`). That a static part above 48 KiB cannot even be assembled is not
//! looked at here.
//!
//! Sources: the CUDA Programming Guide for the limits and for what a carve-out means ("Configuring L1/Shared Memory
//! Balance", <https://docs.nvidia.com/cuda/cuda-programming-guide/03-advanced/advanced-kernel-programming.html>);
//! `cuda_arch::COLUMNS` for every number. NVIDIA's own model, `cuda_occupancy.h` of CUDA 13.0, gives the same answers:
//! `tests/occupancy_oracle.rs` of the repository asks it some hundred thousand questions. Known departures, both on
//! purpose:
//!
//! - a thread has at most 255 registers, as the guide and `ptxas` say; the header lets 256 pass from 7.0 on;
//! - the header's inverse forgets the reserved KiB: see [`largest_dynamic_bytes`].

use cuda_arch::Architecture;
use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

/// What one CTA of a kernel takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockUse {
    /// Threads of the CTA.
    pub threads: u32,
    /// 32-bit registers of a thread, as `ptxas` reports them.
    pub registers_per_thread: u32,
    /// Static shared memory, without what the system reserves.
    pub static_bytes: u64,
    /// Dynamic shared memory, without what the system reserves.
    pub dynamic_bytes: u64,
    /// The preferred carve-out, in percent of the SM's shared memory; above 100 is 100. `None` is the driver's default,
    /// which as far as occupancy goes is all of it.
    pub carveout_percent: Option<u32>,
    /// Barriers of the CTA, as `ptxas` reports them; 1 where there is only `__syncthreads()`. They count from 9.0 on.
    pub barriers: u32,
    /// Virtual resources of the CTA; 0 for ordinary kernels. They count where the architecture has them.
    pub virtual_resources: u32,
}

impl BlockUse {
    /// A CTA of an ordinary kernel: the default carve-out, one barrier, no virtual resources.
    pub const fn new(threads: u32, registers_per_thread: u32, static_bytes: u64, dynamic_bytes: u64) -> Self {
        Self {
            threads,
            registers_per_thread,
            static_bytes,
            dynamic_bytes,
            carveout_percent: None,
            barriers: 1,
            virtual_resources: 0,
        }
    }
}

/// A resource that limits how many CTAs are resident.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limiter {
    /// Shared memory.
    SharedMemory,
    /// Registers.
    Registers,
    /// Slots for warps.
    Warps,
    /// Slots for CTAs.
    Blocks,
    /// Barriers.
    Barriers,
    /// Virtual resources.
    VirtualResources,
}

impl Limiter {
    /// What reports call it.
    pub const fn name(self) -> &'static str {
        match self {
            Limiter::SharedMemory => "shared memory",
            Limiter::Registers => "registers",
            Limiter::Warps => "warps",
            Limiter::Blocks => "the number of blocks",
            Limiter::Barriers => "barriers",
            Limiter::VirtualResources => "virtual resources",
        }
    }
}

/// How many CTAs are resident, by which resource, and what each takes.
///
/// Where a CTA cannot be launched at all, `blocks_per_sm` is 0 and so is the limit of every resource that forbids it:
/// shared memory beyond the opt-in limit, too many registers for a thread or a CTA, a warp limit of 0 for more threads
/// than a CTA may have or none, more barriers or virtual resources than there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Occupancy {
    /// Resident CTAs of an SM: the least of the limits.
    pub blocks_per_sm: u32,
    /// The first resource, in the order of [`Limiter`], whose limit that is. [`Self::limiters`] has them all.
    pub limiter: Limiter,
    /// CTAs that shared memory has room for; `None` if the CTA takes none, the reserved part included.
    pub by_shared_memory: Option<u32>,
    /// CTAs that the registers suffice for; `None` if the CTA takes none.
    pub by_registers: Option<u32>,
    /// CTAs that the slots for warps suffice for.
    pub by_warps: u32,
    /// Slots for CTAs.
    pub by_blocks: u32,
    /// CTAs that the barriers suffice for; `None` if the CTA takes none, and before 9.0.
    pub by_barriers: Option<u32>,
    /// CTAs that the virtual resources suffice for; `None` if the CTA takes none or the architecture has none.
    pub by_virtual_resources: Option<u32>,
    /// Warps of the resident CTAs.
    pub warps_per_sm: u32,
    /// The configuration: how much of the SM's cache is shared memory. 0 where the CTA's shared memory is too much for
    /// any.
    pub carveout_bytes: u64,
    /// Shared memory that one CTA takes, the reserved part and the granularity included.
    pub allocated_bytes: u64,
    /// Registers that one CTA takes, the granularity included.
    pub allocated_registers: u64,
}

impl Occupancy {
    /// Every resource with the CTAs that it allows, in the order of [`Limiter`]; `None` where it sets no limit.
    pub const fn limits(&self) -> [(Limiter, Option<u32>); 6] {
        [
            (Limiter::SharedMemory, self.by_shared_memory),
            (Limiter::Registers, self.by_registers),
            (Limiter::Warps, Some(self.by_warps)),
            (Limiter::Blocks, Some(self.by_blocks)),
            (Limiter::Barriers, self.by_barriers),
            (Limiter::VirtualResources, self.by_virtual_resources),
        ]
    }

    /// The resources that allow no more than the resident CTAs: more of all of them is needed for one CTA more.
    pub fn limiters(&self) -> impl Iterator<Item = Limiter> {
        let resident = Some(self.blocks_per_sm);
        self.limits()
            .into_iter()
            .filter(move |(_, blocks)| *blocks == resident)
            .map(|(limiter, _)| limiter)
    }
}

/// How many CTAs that take `block` an SM of `arch` holds at a time.
pub fn occupancy(arch: &Architecture, block: &BlockUse) -> Occupancy {
    let warps = block.threads.div_ceil(arch.warp_size);
    let allocated_bytes = allocated_bytes(arch, block.static_bytes.saturating_add(block.dynamic_bytes));
    let (carveout_bytes, by_shared_memory) = shared_memory(arch, block.carveout_percent, allocated_bytes);
    let (allocated_registers, by_registers) = registers(arch, block.registers_per_thread, warps);
    let mut result = Occupancy {
        blocks_per_sm: arch.blocks_per_sm,
        limiter: Limiter::Blocks,
        by_shared_memory,
        by_registers,
        by_warps: match block.threads {
            0 => 0,
            threads if threads > arch.threads_per_block => 0,
            _ => arch.warps_per_sm / warps,
        },
        by_blocks: arch.blocks_per_sm,
        by_barriers: barriers(arch).and_then(|available| available.checked_div(block.barriers)),
        by_virtual_resources: arch
            .virtual_resources_per_sm
            .and_then(|available| available.checked_div(block.virtual_resources)),
        warps_per_sm: 0,
        carveout_bytes,
        allocated_bytes,
        allocated_registers,
    };
    let limits = result
        .limits()
        .into_iter()
        .filter_map(|(limiter, blocks)| Some((limiter, blocks?)));
    // Of equal limits, the first.
    if let Some((limiter, blocks)) = limits.min_by_key(|(_, blocks)| *blocks) {
        (result.limiter, result.blocks_per_sm) = (limiter, blocks);
    }
    result.warps_per_sm = result.blocks_per_sm * warps;
    result
}

/// The most dynamic shared memory with which `blocks_per_sm` CTAs are still resident: one byte more, and they are not.
///
/// `block.dynamic_bytes` is passed over; all else of `block` counts, the carve-out too. `None` if that many CTAs cannot
/// be resident even without dynamic shared memory, and for 0 CTAs.
///
/// The question is that of `cuOccupancyAvailableDynamicSMemPerBlock`. `cudaOccAvailableDynamicSMemPerBlock` in
/// `cuda_occupancy.h` of CUDA 13.0 answers it with the reserved bytes in addition (from 8.0 on, 1 KiB): by the same
/// header's count of resident CTAs, one CTA less fits then.
pub fn largest_dynamic_bytes(arch: &Architecture, blocks_per_sm: u32, block: &BlockUse) -> Option<u64> {
    // The largest share that fits uses up an equal part of the configuration that it brings about, or the CTA's limit.
    // So there is one candidate a configuration.
    configurations(arch)
        .filter_map(|configuration| {
            let share = configuration.checked_div(blocks_per_sm.into())?.min(block_limit(arch));
            (share / granularity(arch) * granularity(arch))
                .checked_sub(arch.smem_reserved_per_block.into())?
                .checked_sub(block.static_bytes)
        })
        .filter(|&dynamic_bytes| {
            let candidate = BlockUse {
                dynamic_bytes,
                ..*block
            };
            occupancy(arch, &candidate).blocks_per_sm >= blocks_per_sm
        })
        .max()
}

/// The carve-out to ask for, in percent, so that shared memory has room for `blocks` CTAs of `bytes` each (static and
/// dynamic, without the reserved part) and as much as possible is left to the L1 cache.
///
/// For `CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT`. It names the smallest configuration that suffices, from
/// below, because a percentage is rounded up to a configuration. 100 where none suffices. The driver takes it as a
/// hint.
pub fn carveout_percent(arch: &Architecture, blocks: u32, bytes: u64) -> u32 {
    let needed = allocated_bytes(arch, bytes).saturating_mul(blocks.into());
    let percent = configuration(arch, needed) * 100 / u64::from(arch.smem_per_sm);
    u32::try_from(percent).unwrap_or(100)
}

/// What a CTA that uses `bytes` of shared memory is given.
fn allocated_bytes(arch: &Architecture, bytes: u64) -> u64 {
    let used = bytes.saturating_add(arch.smem_reserved_per_block.into());
    round_up(used, granularity(arch))
}

fn granularity(arch: &Architecture) -> u64 {
    arch.smem_allocation_granularity.into()
}

/// The most that a CTA can be given, the reserved part included.
fn block_limit(arch: &Architecture) -> u64 {
    u64::from(arch.smem_per_block_optin) + u64::from(arch.smem_reserved_per_block)
}

/// How much of the cache can be shared memory, ascending.
fn configurations(arch: &Architecture) -> impl Iterator<Item = u64> {
    arch.carveouts_kib.iter().map(|kib| u64::from(*kib) * 1024)
}

/// The smallest configuration that holds `bytes`; the largest where none does.
fn configuration(arch: &Architecture, bytes: u64) -> u64 {
    configurations(arch)
        .find(|configuration| *configuration >= bytes)
        .unwrap_or(arch.smem_per_sm.into())
}

/// The configuration, and how many CTAs of `allocated` bytes it holds.
fn shared_memory(arch: &Architecture, preferred_percent: Option<u32>, allocated: u64) -> (u64, Option<u32>) {
    if allocated > block_limit(arch) {
        return (0, Some(0));
    }
    let percent = preferred_percent.map_or(100, |percent| percent.min(100));
    let preferred = configuration(arch, u64::from(arch.smem_per_sm) * u64::from(percent) / 100);
    // A preference too small for a single CTA gives way, but no further than to one CTA.
    let configuration = preferred.max(configuration(arch, allocated));
    (configuration, configuration.checked_div(allocated).map(saturating_u32))
}

/// The registers that a CTA of `warps` warps is given, and how many such CTAs they suffice for.
fn registers(arch: &Architecture, per_thread: u32, warps: u32) -> (u64, Option<u32>) {
    let subpartitions = u64::from(arch.subpartitions_per_sm);
    let per_warp = round_up(
        u64::from(per_thread) * u64::from(arch.warp_size),
        arch.register_allocation_per_warp.into(),
    );
    let allocated = per_warp.saturating_mul(warps.into());
    // The launch is checked as if every subpartition took as many warps as the fullest.
    let checked = per_warp.saturating_mul(round_up(warps.into(), subpartitions));
    if per_thread > arch.registers_per_thread || checked > u64::from(arch.registers_per_block) {
        return (allocated, Some(0));
    }
    // What is left in one subpartition after its last whole warp is of no use to another.
    let resident_warps = (u64::from(arch.registers_per_sm) / subpartitions)
        .checked_div(per_warp)
        .map(|warps| warps * subpartitions);
    let blocks = resident_warps.and_then(|resident| resident.checked_div(warps.into()));
    (allocated, blocks.map(saturating_u32))
}

/// Barriers that limit the resident CTAs, which NVIDIA's model has from 9.0 on only.
fn barriers(arch: &Architecture) -> Option<u32> {
    (arch.compute_capability.major >= 9).then_some(arch.block_barriers_per_sm)
}

const fn round_up(number: u64, unit: u64) -> u64 {
    number.div_ceil(unit).saturating_mul(unit)
}

fn saturating_u32(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
