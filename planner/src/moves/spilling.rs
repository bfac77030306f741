//! Register spilling into shared memory: how much of it a compiler takes.

use cuda_arch::Architecture;

/// The most shared memory that `ptxas` gives to spilled registers of a CTA of `threads` threads which has
/// `static_bytes` of its own (`.pragma "enable_smem_spilling"`), by [`cuda_arch::spill_budget_bytes`].
///
/// `threads` is what `.maxntid` declares. 0 for 0 threads.
pub fn spill_budget_bytes(arch: &Architecture, threads: u32, static_bytes: u64) -> u64 {
    let static_bytes = u32::try_from(static_bytes).unwrap_or(u32::MAX);
    cuda_arch::spill_budget_bytes(arch, threads, static_bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers themselves are tested where the law is; here, that a CTA's static memory and its threads arrive
    /// there.
    #[test]
    fn the_budget_is_that_of_the_law() {
        for (name, threads, static_bytes, expected) in [
            ("sm_75", 1024, 0, 49152),
            ("sm_90", 256, 0, 19456),
            // With 16384 static bytes every spill stayed local.
            ("sm_120", 256, 16384, 0),
            ("sm_120", 256, 10_000, 5120),
            ("sm_120", 0, 0, 0),
            ("sm_120", 256, 1 << 40, 0),
        ] {
            let arch = cuda_arch::find(name).expect("in the table");
            let budget = spill_budget_bytes(arch, threads, static_bytes);
            assert_eq!(budget, expected, "{name} {threads} {static_bytes}");
        }
    }
}
