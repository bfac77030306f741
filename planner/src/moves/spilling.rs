//! Register spilling into shared memory: how much of it a compiler takes.

use cuda_arch::Architecture;

/// The most shared memory that `ptxas` gives to spilled registers of a block of `threads` threads which has `static_bytes` of
/// its own (`.pragma "enable_smem_spilling"`).
///
/// The law was inferred from what `ptxas` 13.0 allocated for kernels that spill without end, on ten architectures, at 128 to
/// 1024 threads: it divides the multiprocessor by as many blocks as its slots for threads and blocks have room for, takes off
/// what is reserved (from 9.0 on only), stops at 48 KiB, and spills whole slots, of 4 bytes for each thread. The kernel's own
/// static shared memory counts. Neither registers nor `.minnctapersm` raise it: a kernel that is alone on its multiprocessor
/// leaves most of the memory idle. It takes 9.0 for a part of 164 KiB. On 11.0 `ptxas` stayed one slot below.
///
/// `threads` is what `.maxntid` declares; without it `ptxas` assumes 1024. 0 for 0 threads.
pub fn spill_budget_bytes(arch: &Architecture, threads: u32, static_bytes: u64) -> u64 {
    const DEFAULT_LIMIT: u64 = 48 << 10;
    let recent = arch.compute_capability.major >= 9;
    let reserved = if recent {
        u64::from(arch.smem_reserved_per_block)
    } else {
        0
    };
    let capacity = match (arch.compute_capability.major, arch.compute_capability.minor) {
        (9, 0) => 164 << 10,
        _ => u64::from(arch.smem_per_sm),
    };
    let Some(by_threads) = arch.threads_per_sm.checked_div(threads) else {
        return 0;
    };
    let blocks = u64::from(by_threads.clamp(1, arch.blocks_per_sm));
    let share = (capacity / blocks).min(DEFAULT_LIMIT).saturating_sub(reserved);
    let slot = 4 * u64::from(threads);
    share.saturating_sub(static_bytes) / slot * slot
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_what_ptxas_allocated() {
        for (name, threads, expected) in [
            ("sm_75", 128, 8192),
            ("sm_75", 256, 16384),
            ("sm_75", 512, 32768),
            ("sm_75", 1024, 49152),
            ("sm_80", 256, 20480),
            ("sm_86", 256, 16384),
            ("sm_90", 128, 9216),
            ("sm_90", 256, 19456),
            ("sm_90", 512, 40960),
            ("sm_90", 1024, 45056),
            ("sm_100", 256, 27648),
            ("sm_120", 128, 7168),
            ("sm_120", 256, 15360),
            ("sm_120", 512, 32768),
            ("sm_121", 1024, 45056),
        ] {
            let arch = cuda_arch::find(name).expect("in the table");
            assert_eq!(spill_budget_bytes(arch, threads, 0), expected, "{name} {threads}");
        }
    }

    #[test]
    fn static_memory_uses_the_budget_up() {
        // sm_120, 256 threads: with 16384 static bytes every spill stayed local.
        let arch = cuda_arch::find("sm_120").expect("in the table");
        assert_eq!(spill_budget_bytes(arch, 256, 16384), 0);
        assert_eq!(spill_budget_bytes(arch, 256, 10_000), 5120);
        assert_eq!(spill_budget_bytes(arch, 0, 0), 0);
    }
}
