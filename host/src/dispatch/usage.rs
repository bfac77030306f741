//! Registers and static shared memory of this project's kernels, as `ptxas` assembles them.
//!
//! One file an architecture, a line an entry point; the second line names the columns. `tests/usage.rs` compares them
//! with what `ptxas` says; `BLESS=1 cargo test --test usage` writes them.

use std::collections::HashMap;
use std::sync::LazyLock;

use cuda_arch::Architecture;

use tilewright_plan::occupancy::BlockUse;

macro_rules! usage {
    ($($arch:literal),*) => {
        [$(($arch, include_str!(concat!("usage/", $arch, ".txt")))),*]
    };
}

static USAGE: [(&str, &str); 11] = usage!(
    "sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_100", "sm_103", "sm_110", "sm_120", "sm_121"
);

/// What a compiler makes an entry point take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelUsage {
    /// Registers of a thread.
    pub registers: u32,
    /// Static shared memory of a block: the kernel's own arrays, and what registers were spilled into.
    pub static_bytes: u32,
    /// Barriers of a block: 16 where `bar.sync` gets its number from a register. The driver reports no such attribute,
    /// and counts them (`docs/planner.md`).
    pub barriers: u32,
}

impl KernelUsage {
    /// A block of so many threads and bytes of dynamic shared memory.
    pub const fn block(&self, threads: u32, dynamic_bytes: u32) -> BlockUse {
        BlockUse {
            barriers: self.barriers,
            ..BlockUse::new(threads, self.registers, self.static_bytes as u64, dynamic_bytes as u64)
        }
    }
}

/// What the entry point `symbol` takes on an architecture, as `ptxas` assembles it. The driver's own compiler
/// may differ by a few registers. `None` for a symbol or an architecture without a line.
pub fn usage(symbol: &str, arch: &Architecture) -> Option<KernelUsage> {
    static TABLES: LazyLock<HashMap<&str, HashMap<&str, KernelUsage>>> =
        LazyLock::new(|| USAGE.iter().map(|(name, text)| (*name, table(text))).collect());
    TABLES.get(arch.name)?.get(symbol).copied()
}

/// What each entry point takes.
fn table(text: &str) -> HashMap<&str, KernelUsage> {
    text.lines().filter_map(line).collect()
}

fn line(line: &str) -> Option<(&str, KernelUsage)> {
    let (symbol, used) = line.split_once(' ')?;
    let mut numbers = used.split(' ').map(|number| number.parse().ok());
    let used = KernelUsage {
        registers: numbers.next()??,
        static_bytes: numbers.next()??,
        // Past what was spilled.
        barriers: numbers.nth(3)??,
    };
    Some((symbol, used))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_point_has_registers_on_every_architecture_that_runs_it() {
        for arch in &cuda_arch::ARCHITECTURES {
            let capability = (arch.compute_capability.major, arch.compute_capability.minor);
            for kernel in &tilewright_contract::KERNELS {
                let used = usage(kernel.symbol, arch);
                if !kernel.target.runs_on(capability) {
                    assert_eq!(used, None, "{} does not run on {}", kernel.symbol, arch.name);
                    continue;
                }
                assert!(
                    used.is_some_and(
                        |used| (8..=255).contains(&used.registers) && used.static_bytes >= kernel.static_bytes().get()
                    ),
                    "{} for {}: {used:?}; run `BLESS=1 cargo test --test usage`",
                    kernel.symbol,
                    arch.name
                );
            }
            assert_eq!(usage("r99_no_such_kernel", arch), None);
        }
    }
}
