//! What `ptxas` makes of the kernels, on record for every architecture: no GPU and no CUDA are needed to read it.
//!
//! `usage/ARCH.txt`: a line that says which `ptxas` and which PTX, one that names the columns, then a line a kernel.

use std::fmt::Write as _;

use cuda_arch::Architecture;
use serde::Serialize;
use tilewright_plan::{BlockUse, occupancy};

use crate::kernels::{VARIANTS, Variant};

macro_rules! files {
    ($($arch:literal),*) => {
        [$(($arch, include_str!(concat!("../usage/", $arch, ".txt")))),*]
    };
}

/// The architectures that are on record, with the text of each.
pub static FILES: [(&str, &str); 11] = files!(
    "sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_100", "sm_103", "sm_110", "sm_120", "sm_121"
);

/// What a compiler makes a kernel take, and how many of its CTAs an SM holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Resources {
    /// The kernel.
    pub symbol: &'static str,
    /// The digest of its PTX, where it is known.
    pub digest: Option<String>,
    /// 32-bit registers of a thread.
    pub registers: u32,
    /// Local memory of a thread in bytes: what it spills there.
    pub local_bytes: u32,
    /// Static shared memory of a CTA in bytes: the kernel's own arrays, and what it spills there.
    pub static_bytes: u32,
    /// Resident CTAs of an SM.
    pub resident_ctas: u32,
}

/// A line of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Registers of a thread.
    pub registers: u32,
    /// Static shared memory of a CTA in bytes.
    pub static_bytes: u32,
    /// Stack frame of a thread in bytes: all of its local memory.
    pub stack_bytes: u32,
    /// Bytes of stores to and loads from local memory that `ptxas` counts. It misses some: they may be negative.
    pub spill_bytes: [i32; 2],
    /// Barriers of a CTA.
    pub barriers: u32,
}

/// What `ptxas` makes of a kernel for an architecture; `None` for one without a record.
pub fn of(variant: &Variant, arch: &Architecture) -> Option<Recorded> {
    let (_, text) = FILES.iter().find(|(name, _)| *name == arch.name)?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(variant.symbol)?.strip_prefix(' '))?;
    let words: Vec<i32> = line.split(' ').map_while(|word| word.parse().ok()).collect();
    let &[registers, static_bytes, stack, stores, loads, barriers, ..] = &words[..] else {
        return None;
    };
    Some(Recorded {
        registers: registers.try_into().ok()?,
        static_bytes: static_bytes.try_into().ok()?,
        stack_bytes: stack.try_into().ok()?,
        spill_bytes: [stores, loads],
        barriers: barriers.try_into().ok()?,
    })
}

/// Resident CTAs of an SM for a kernel launched with its own threads.
pub fn resident_ctas(variant: &Variant, recorded: &Recorded, arch: &Architecture) -> u32 {
    let cta = BlockUse {
        barriers: recorded.barriers,
        ..BlockUse::new(variant.threads, recorded.registers, recorded.static_bytes.into(), 0)
    };
    occupancy(arch, &cta).blocks_per_sm
}

/// The resources of every variant on record for an architecture.
pub fn resources(arch: &Architecture) -> Vec<Resources> {
    let of_variant = |variant: &'static Variant| {
        let recorded = of(variant, arch)?;
        Some(Resources {
            symbol: variant.symbol,
            digest: None,
            registers: recorded.registers,
            local_bytes: recorded.stack_bytes,
            static_bytes: recorded.static_bytes,
            resident_ctas: resident_ctas(variant, &recorded, arch),
        })
    };
    VARIANTS.iter().filter_map(of_variant).collect()
}

/// Resources as a Markdown table whose columns are aligned for a terminal, too.
pub fn table(resources: &[Resources]) -> String {
    const HEADS: [&str; 5] = [
        "kernel                         ",
        "registers",
        "local bytes a thread",
        "static bytes a CTA",
        "resident CTAs",
    ];
    let rule = HEADS.map(|head| "-".repeat(head.len() + 1)).join(":|");
    let mut text = format!("| {} |\n|{}:|\n", HEADS.join(" | "), rule.replacen(':', "-", 1));
    for of in resources {
        let numbers = [of.registers, of.local_bytes, of.static_bytes, of.resident_ctas];
        let cells = numbers
            .iter()
            .zip(&HEADS[1..])
            .map(|(number, head)| format!("{number:>0$}", head.len()));
        let cells = cells.collect::<Vec<_>>().join(" | ");
        // Writing to a `String` cannot fail.
        let _ = writeln!(text, "| {:<1$} | {cells} |", of.symbol, HEADS[0].len());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::{Problem, Spills};

    /// Registers go where the table says, as far as the law of `ptxas` allows ([`cuda_arch::spill_budget_bytes`]).
    fn check(variant: &Variant, arch: &Architecture) {
        let of = |variant| of(variant, arch).expect("tested before");
        let taken = of(variant);
        let case = format!("{} for {}: {taken:?}", variant.symbol, arch.name);
        let own = variant.problem.own_shared_bytes();
        assert!(
            variant.max_registers().is_none_or(|most| taken.registers <= most),
            "{case}"
        );
        assert!(
            taken.static_bytes <= arch.smem_per_block,
            "{case}: static memory has no opt-in"
        );
        assert!(resident_ctas(variant, &taken, arch) >= 1, "{case}");
        match variant.spills {
            Spills::Kept => {
                assert_eq!(
                    (taken.static_bytes, taken.stack_bytes, taken.spill_bytes),
                    (own, 0, [0; 2]),
                    "{case}"
                );
            }
            Spills::Local => {
                assert!(taken.stack_bytes > 0 && taken.spill_bytes[0] > 0, "{case}");
                assert_eq!(taken.static_bytes, own, "{case}");
            }
            Spills::Shared | Spills::Unbounded => {
                let assumed = || cuda_arch::assumed_threads(arch, variant.max_registers());
                let threads = variant.max_threads().unwrap_or_else(assumed);
                let most = cuda_arch::static_bytes_with_spills(arch, threads, own);
                assert!((own + 1..=most).contains(&taken.static_bytes), "{case}, at most {most}");
                let slot = 4 * threads;
                assert_eq!(
                    (taken.static_bytes - own) % slot,
                    0,
                    "{case}: not in slots of {slot} bytes"
                );
                let local = of(variant.sibling(Spills::Local).expect("the table has it"));
                let less = (0..2).all(|at| taken.spill_bytes[at] < local.spill_bytes[at]);
                assert!(
                    taken.stack_bytes < local.stack_bytes && less,
                    "{case}, without the pragma {local:?}"
                );
                // Local memory only where shared memory was not enough. Pairs of registers leave slots empty.
                if variant.problem != Problem::Inverse8F64 && taken.stack_bytes > 0 {
                    assert!(taken.static_bytes + slot > most, "{case}, at most {most}");
                }
            }
        }
    }

    #[test]
    fn every_kernel_spills_where_its_attributes_say_on_every_architecture() {
        for (name, text) in FILES {
            let arch = cuda_arch::find(name).expect("in the table");
            assert_eq!(resources(arch).len(), VARIANTS.len(), "{name}");
            assert_eq!(text.lines().count(), 2 + VARIANTS.len(), "{name}");
            for variant in VARIANTS {
                check(variant, arch);
            }
        }
        assert_eq!(
            FILES.map(|(name, _)| name),
            cuda_arch::ARCHITECTURES.each_ref().map(|arch| arch.name)
        );
    }

    #[test]
    fn the_table_is_as_wide_in_every_line() {
        let table = table(&resources(cuda_arch::find("sm_90").expect("in the table")));
        let widths: Vec<usize> = table.lines().map(str::len).collect();
        assert!(widths.iter().all(|width| *width == widths[0]), "{table}");
        let line = table.lines().find(|line| line.contains("inverse8_128_72_shared_f32"));
        let cells: Vec<&str> = line.expect("its line").split('|').map(str::trim).collect();
        assert_eq!(cells[2..6], ["72", "0", "9216", "7"]);
    }
}
