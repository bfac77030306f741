//! The twins that spill, for one architecture: on record, and within the law of what `ptxas` gives to spilled
//! registers.

use tilewright::DType;
use tilewright::inspect::{Budget, Inspected, Target, Usage, inspect};
use tilewright::plan::{KernelUsage, twin_sheet};
use tilewright::spilling::{Spills, TWINS, Twin};

use super::record::Record;

/// Holds what ptxas makes of every twin against the record, its siblings, the law and the planner's sheet.
pub fn check(arch: &str) {
    let target = Target::parse(arch).expect("in the table");
    let record = Record::of("twin_usage", &target, &super::ptxas());
    let all: Vec<_> = TWINS.iter().collect();
    let asked = match record.holds() {
        true => Record::sample(&all, super::place(&target)),
        false => all.clone(),
    };
    let inspected = inspect(&super::ptxas(), &target, &asked).unwrap_or_else(|error| panic!("{arch}: {error}"));
    assert_eq!(inspected.len(), asked.len(), "{arch}: one PTX for all architectures");
    record.compare(&inspected);
    for (twin, kernel) in asked.iter().zip(&inspected) {
        assert_eq!(kernel.usage.symbol, twin.symbol);
        assert_eq!(kernel.remarks.iter().find_map(super::serialized), None);
        compare_with_sheet(twin, kernel, &target);
    }
    // As on record now, where that was written anew too.
    let taken: Vec<_> = Record::of("twin_usage", &target, &super::ptxas()).kernels().collect();
    assert_eq!(taken.len(), TWINS.len());
    let usage: Vec<&Usage> = taken.iter().map(|(usage, _)| usage).collect();
    for (twin, (taken, max_threads)) in TWINS.iter().zip(&taken) {
        assert_eq!(taken.symbol, twin.symbol);
        assert_eq!(*max_threads, twin.max_threads(), "{} for {arch}", twin.symbol);
        compare_with_siblings(twin, &usage, &target);
    }
}

fn of<'a>(twin: &Twin, all: &[&'a Usage]) -> &'a Usage {
    all.iter()
        .find(|usage| usage.symbol == twin.symbol)
        .expect("all are there")
}

/// Registers go where the table says.
fn compare_with_siblings(twin: &Twin, all: &[&Usage], target: &Target) {
    let usage = of(twin, all);
    let (arch, own) = (target.architecture, twin.static_bytes().get());
    let case = format!("{} for {}: {usage:?}", twin.symbol, target.name);
    assert!(twin.max_registers.is_none_or(|most| usage.registers <= most), "{case}");
    match twin.spills {
        Spills::Kept => {
            assert_eq!(super::spills(usage), None, "{case}");
            assert_eq!(usage.static_smem_bytes, own, "{case}");
        }
        Spills::Local => {
            assert!(usage.stack_bytes > 0 && usage.spill_store_bytes > 0, "{case}");
            assert_eq!(usage.static_smem_bytes, own, "{case}");
        }
        Spills::Shared | Spills::Unbounded => {
            let assumed = || cuda_arch::assumed_threads(arch, twin.max_registers);
            let threads = twin.max_threads().unwrap_or_else(assumed);
            let most = cuda_arch::static_bytes_with_spills(arch, threads, own);
            assert!(
                (own + 1..=most).contains(&usage.static_smem_bytes),
                "{case}, at most {most}"
            );
            let slot = 4 * threads;
            assert_eq!(
                (usage.static_smem_bytes - own) % slot,
                0,
                "{case}: not in slots of {slot} bytes"
            );
            let local = of(twin.sibling(Spills::Local).expect("tested beside the table"), all);
            assert!(
                usage.stack_bytes < local.stack_bytes,
                "{case}, without the pragma {local:?}"
            );
            assert!(
                usage.spill_store_bytes < local.spill_store_bytes && usage.spill_load_bytes < local.spill_load_bytes,
                "{case}, without the pragma {local:?}"
            );
            // Local memory only where shared memory was not enough. Pairs of registers leave slots empty.
            if twin.dtype == DType::F32 && usage.stack_bytes > 0 {
                assert!(usage.static_smem_bytes + slot > most, "{case}, at most {most}");
            }
        }
    }
}

/// Static bytes by ptxas and no dynamic ones are the planner's sheet, and a block may have them.
fn compare_with_sheet(twin: &Twin, kernel: &Inspected, target: &Target) {
    let (arch, usage) = (target.architecture, &kernel.usage);
    let case = format!("{} for {}: {usage:?}", twin.symbol, target.name);
    let used = KernelUsage {
        registers: usage.registers,
        static_bytes: usage.static_smem_bytes,
        barriers: usage.barriers,
    };
    let sheet = twin_sheet(twin, used, arch).expect("legal on every architecture");
    assert_eq!(
        kernel.budget,
        Some(Budget::of_twin(twin, arch, usage.static_smem_bytes)),
        "{case}"
    );
    let budget = kernel.budget.as_ref().expect("compared");
    assert_eq!(
        (budget.static_bytes, budget.dynamic_bytes, budget.limit_bytes),
        (sheet.static_bytes, sheet.dynamic_bytes, arch.smem_per_block_optin),
        "{case}"
    );
    assert!(
        budget.fits && sheet.static_bytes + sheet.dynamic_bytes <= arch.smem_per_block_optin,
        "{case}"
    );
    assert!(
        sheet.static_bytes <= arch.smem_per_block,
        "{case}: static memory has no opt-in"
    );
    assert!(sheet.occupancy.blocks_per_sm >= 1, "{case}");
    let blocks = kernel.occupancy.as_ref().map(|occupancy| occupancy.blocks_per_sm);
    assert_eq!(blocks, Some(sheet.occupancy.blocks_per_sm), "{case}");
}
