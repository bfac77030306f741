//! Registers of this project's kernels, as `ptxas` assembles them.
//!
//! One file an architecture, a line an entry point: `symbol registers`. `tests/ptx.rs` compares them with what `ptxas` says;
//! `BLESS=1 cargo test --test ptx` writes them.

use cuda_arch::Architecture;

macro_rules! usage {
    ($($arch:literal),*) => {
        [$(($arch, include_str!(concat!("usage/", $arch, ".txt")))),*]
    };
}

static USAGE: [(&str, &str); 11] = usage!(
    "sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_100", "sm_103", "sm_110", "sm_120", "sm_121"
);

/// Registers of a thread of the entry point `symbol` on an architecture. The driver's own compiler may differ by a few.
/// `None` for a symbol or an architecture without a line.
pub fn registers(symbol: &str, arch: &Architecture) -> Option<u32> {
    let (_, lines) = USAGE.iter().find(|(name, _)| *name == arch.name)?;
    lines.lines().find_map(|line| {
        let (name, registers) = line.split_once(' ')?;
        if name == symbol { registers.parse().ok() } else { None }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_point_has_registers_on_every_architecture() {
        for arch in &cuda_arch::ARCHITECTURES {
            for variant in &tilewright_contract::VARIANTS {
                let registers = registers(variant.symbol, arch);
                assert!(
                    registers.is_some_and(|count| (8..=255).contains(&count)),
                    "{} for {}: {registers:?}; run `BLESS=1 cargo test --test ptx`",
                    variant.symbol,
                    arch.name
                );
            }
            assert_eq!(registers("r99_no_such_kernel", arch), None);
        }
    }
}
