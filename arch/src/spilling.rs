//! Registers spilled into shared memory (`.pragma "enable_smem_spilling"`): how much of it `ptxas` takes.
//!
//! NVIDIA documents the pragma (PTX ISA, "Pragma Strings"), not the amount. The law below was found by letting `ptxas`
//! 13.0.88 assemble kernels that spill without end: every architecture of CUDA 13, blocks of 24 to 1024 threads, none
//! to 48 KiB of static shared memory; and without launch bounds every cap of 24 to 255 registers. It gave the bytes of
//! each exactly; `tests/smem_spilling` of the repository asks again.

use crate::name::ComputeCapability;
use crate::table::Architecture;

/// Spilled registers start at a multiple of this, behind the kernel's own static arrays.
const SPILL_ALIGNMENT: u32 = 16;

/// The most shared memory, in bytes, that `ptxas` gives to spilled registers of a block of a kernel which has
/// `static_bytes` of its own. The cubin's static shared memory is then `static_bytes`, rounded up to 16, and this;
/// [`static_bytes_with_spills`] adds up.
///
/// `threads` is the product of what `.maxntid` declares, or without it [`assumed_threads`].
///
/// The law, in the order of the computation:
///
/// 1. As many blocks share the SM as its slots for threads and for blocks have room for; threads count in
///    whole warps. Neither the registers of the kernel nor `.minnctapersm` count: a kernel that is alone on its
///    SM leaves most of the memory idle.
/// 2. A block's share is the SM's memory divided by them, but never more than the 48 KiB that may be
///    static.
/// 3. From 9.0 on, what the system reserves for a block comes off, also off the 48 KiB. Before, it does not, although
///    8.x reserves as much: a full SM may hold a block less than without spilling.
/// 4. The kernel's static memory comes off.
/// 5. What is left holds whole slots: 4 bytes for each thread, this time without rounding to warps.
///
/// For two architectures `ptxas` 13.0 has other numbers than the table: 9.0 counts with an SM of 164 KiB,
/// which is 8.0's, and 11.0 with a reserve of 1152 bytes.
///
/// 0 for a block of 0 threads.
pub fn spill_budget_bytes(arch: &Architecture, threads: u32, static_bytes: u32) -> u32 {
    if threads == 0 {
        return 0;
    }
    let blocks = arch.warps_per_sm / threads.div_ceil(arch.warp_size);
    let Assumed { smem_per_sm, reserved } = assumed(arch);
    let share = smem_per_sm / blocks.clamp(1, arch.blocks_per_sm);
    let budget = share.min(arch.smem_per_block).saturating_sub(reserved);
    let slot = threads.saturating_mul(4);
    let own = static_bytes.div_ceil(SPILL_ALIGNMENT).saturating_mul(SPILL_ALIGNMENT);
    budget.saturating_sub(own) / slot * slot
}

/// The threads of a block that `ptxas` assumes of a kernel without `.maxntid` whose registers it spills into shared
/// memory, whatever the launch has.
///
/// It is what the registers of an SM suffice for, counted with one more a thread than the kernel's cap
/// (`.maxnreg`, without it all that a thread can have), in whole warps, rounded up. 1024 for a cap of 64 registers; for
/// fewer it is more threads than a block can have.
///
/// ```
/// let arch = cuda_arch::find("sm_90")?;
/// let assumed = [Some(64), Some(128), None].map(|cap| cuda_arch::assumed_threads(arch, cap));
/// assert_eq!(assumed, [1024, 512, 256]);
/// # Ok::<(), cuda_arch::UnknownArchitecture>(())
/// ```
pub fn assumed_threads(arch: &Architecture, max_registers: Option<u32>) -> u32 {
    let registers = max_registers.unwrap_or(arch.registers_per_thread).saturating_add(1);
    let warps = (arch.registers_per_sm / registers).div_ceil(arch.warp_size);
    warps.min(arch.warps_per_sm) * arch.warp_size
}

/// The static shared memory, in bytes, of a kernel with `static_bytes` of its own and spills without end.
///
/// ```
/// let arch = cuda_arch::find("sm_120")?;
/// assert_eq!(cuda_arch::spill_budget_bytes(arch, 256, 1000), 14_336);
/// assert_eq!(cuda_arch::static_bytes_with_spills(arch, 256, 1000), 1008 + 14_336);
/// # Ok::<(), cuda_arch::UnknownArchitecture>(())
/// ```
pub fn static_bytes_with_spills(arch: &Architecture, threads: u32, static_bytes: u32) -> u32 {
    match spill_budget_bytes(arch, threads, static_bytes) {
        0 => static_bytes,
        spilled => static_bytes.next_multiple_of(SPILL_ALIGNMENT) + spilled,
    }
}

/// What `ptxas` takes an SM for.
struct Assumed {
    smem_per_sm: u32,
    reserved: u32,
}

fn assumed(arch: &Architecture) -> Assumed {
    let table = Assumed {
        smem_per_sm: arch.smem_per_sm,
        reserved: arch.smem_reserved_per_block,
    };
    match arch.compute_capability {
        ComputeCapability { major: ..9, .. } => Assumed { reserved: 0, ..table },
        ComputeCapability { major: 9, minor: 0 } => Assumed {
            smem_per_sm: 164 << 10,
            ..table
        },
        ComputeCapability { major: 11, minor: 0 } => Assumed {
            reserved: 1152,
            ..table
        },
        _ => table,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_total(name: &str, threads: u32, static_bytes: u32, expected: u32) {
        let arch = crate::find(name).expect("in the table");
        assert_eq!(
            static_bytes_with_spills(arch, threads, static_bytes),
            expected,
            "{name}, {threads} threads, {static_bytes} static bytes"
        );
    }

    #[test]
    fn totals_are_what_ptxas_allocated() {
        for (name, at_128, at_256, at_512, at_1024) in [
            ("sm_75", 8192, 16_384, 32_768, 49_152),
            ("sm_80", 10_240, 20_480, 40_960, 49_152),
            ("sm_86", 8192, 16_384, 32_768, 49_152),
            ("sm_87", 13_824, 27_648, 49_152, 49_152),
            ("sm_89", 8192, 16_384, 32_768, 49_152),
            ("sm_90", 9216, 19_456, 40_960, 45_056),
            ("sm_100", 13_312, 27_648, 47_104, 45_056),
            ("sm_103", 13_312, 27_648, 47_104, 45_056),
            ("sm_110", 17_920, 36_864, 47_104, 45_056),
            ("sm_120", 7168, 15_360, 32_768, 45_056),
            ("sm_121", 7168, 15_360, 32_768, 45_056),
        ] {
            for (threads, expected) in [(128, at_128), (256, at_256), (512, at_512), (1024, at_1024)] {
                assert_total(name, threads, 0, expected);
            }
        }
    }

    /// The SMs of sm_120 hold 1536 threads, those of sm_90 2048.
    #[test]
    fn without_launch_bounds_the_cap_of_registers_decides() {
        for (name, cap, threads, expected) in [
            ("sm_90", Some(24), 2048, 40_960),
            ("sm_120", Some(24), 1536, 43_008),
            ("sm_90", Some(40), 1600, 44_800),
            ("sm_90", Some(64), 1024, 45_056),
            ("sm_90", Some(88), 736, 47_104),
            ("sm_90", Some(92), 704, 47_872),
            ("sm_90", Some(128), 512, 40_960),
            ("sm_120", Some(128), 512, 32_768),
            ("sm_90", None, 256, 19_456),
        ] {
            let arch = crate::find(name).expect("in the table");
            assert_eq!(assumed_threads(arch, cap), threads, "{name} {cap:?}");
            assert_total(name, threads, 0, expected);
        }
    }

    #[test]
    fn static_memory_comes_off_in_pieces_of_16_bytes() {
        for (name, threads, static_bytes, expected) in [
            ("sm_75", 256, 1, 15_376),
            ("sm_75", 96, 16, 6544),
            ("sm_75", 96, 17, 6176),
            ("sm_90", 256, 1000, 19_440),
            ("sm_90", 1024, 3000, 48_064),
            ("sm_110", 256, 20_000, 37_408),
            ("sm_110", 1024, 3000, 43_968),
            ("sm_120", 256, 15_000, 16_032),
            // Nothing is left: every spill goes to local memory, and the total is not even rounded.
            ("sm_120", 256, 16_384, 16_384),
            ("sm_120", 256, 20_001, 20_001),
            ("sm_75", 1024, 49_152, 49_152),
        ] {
            assert_total(name, threads, static_bytes, expected);
        }
    }

    #[test]
    fn a_block_of_part_of_a_warp_takes_the_place_of_whole_warps() {
        // 8 blocks of 4 warps, 20 slots of 400 bytes.
        assert_total("sm_75", 100, 0, 8000);
        assert_total("sm_120", 300, 0, 24_000);
    }

    #[test]
    fn sizes_that_no_block_has_do_not_overflow() {
        let arch = crate::find("sm_90").expect("in the table");
        for (threads, static_bytes) in [(0, 0), (u32::MAX, 0), (256, u32::MAX)] {
            assert_eq!(spill_budget_bytes(arch, threads, static_bytes), 0);
        }
        assert_eq!(assumed_threads(arch, Some(u32::MAX)), 0);
    }
}
