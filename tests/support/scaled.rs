//! What tests of kernels with scales share, FP8 and block-scaled.

use cuda_sim::{SyncKind, Synchronization, Synchronizations};
use tilewright::device::DeviceProfile;
use tilewright_harness::inspect::Report;

/// Leaves out each barrier, wait and fence of a launch in turn, but those that `is_redundant`: kind, place and
/// executions of what nothing notices. `run`: whether all is right, and what was listed.
pub fn unnoticed(
    run: impl Fn(Synchronizations) -> (bool, Vec<Synchronization>),
    is_redundant: impl Fn(&Synchronization) -> bool,
) -> Vec<(SyncKind, String, u64)> {
    let (is_right, listed) = run(Synchronizations::Listed);
    assert!(is_right && listed.len() >= 6, "{listed:?}");
    let left_out = listed
        .into_iter()
        .filter(|listed| listed.kind.can_be_left_out() && !is_redundant(listed));
    left_out
        .filter(|synchronization| run(Synchronizations::Without(synchronization.clone())).0)
        .map(|unnoticed| (unnoticed.kind, unnoticed.location.to_string(), unnoticed.executions))
        .collect()
}

/// Demands that `ptxas` needs no spills and no static shared memory for a kernel, and registers that a CTA of the
/// device has.
pub fn assert_assembled(report: &Report, symbol: &str, threads: u32, device: &DeviceProfile) {
    let usage = report.kernel(symbol).expect("in the report");
    let spills = (usage.stack_bytes, usage.spill_store_bytes, usage.spill_load_bytes);
    assert_eq!(spills, (0, 0, 0), "{symbol}");
    assert_eq!(usage.static_smem_bytes, 0, "{symbol}");
    // Allocated in units of 8 for each thread.
    let registers = usage.registers.next_multiple_of(8) * threads;
    assert!(registers <= device.registers_per_block, "{symbol}: {registers}");
}
