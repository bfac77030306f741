//! The register-budget variants of `examples/smem-spilling`, as `ptxas` assembles them: held against the record that
//! the example shows. That the record is within the law of what `ptxas` spills where, the example tests itself.

use smem_spilling::PTX;
use smem_spilling::kernels::VARIANTS;
use tilewright_harness::digest;
use tilewright_harness::inspect::{Nvdisasm, Usage};

use super::record::{Record, origin_of};

/// The record.
pub const FOLDER: &str = "examples/smem-spilling/usage";

/// Holds what `ptxas` makes of every variant, or where the record is of what ships of some, against it.
pub fn compare_with_record(arch: &str) {
    let ptxas = super::ptxas();
    let record = Record::of(FOLDER, arch, origin_of(&ptxas, &digest::digests(PTX)));
    let all: Vec<_> = VARIANTS.iter().collect();
    let asked = match record.holds() {
        true => Record::sample(&all, super::place(arch)),
        false => all,
    };
    let symbols: Vec<&str> = asked.iter().map(|variant| variant.symbol).collect();
    let assembled = ptxas.assemble(PTX, arch, &[&format!("--entry={}", symbols.join(","))]);
    let report = assembled.unwrap_or_else(|error| panic!("{arch}: {error}")).report;
    let taken = asked.iter().map(|variant| {
        let usage: &Usage = report.kernel(variant.symbol).expect("it was asked for");
        (usage, variant.max_threads())
    });
    record.compare(taken);
}

/// `ptxas` says of the second that it stores -24 bytes to local memory: what one keeps there, the other keeps in shared
/// memory.
#[test]
fn the_machine_code_spills_where_the_record_says() {
    let tools = super::tools();
    let nvdisasm = Nvdisasm::in_folder(&tools).unwrap_or_else(|error| panic!("{error}"));
    for (symbol, local) in [
        ("inverse8_128_72_local_f32", true),
        ("inverse8_128_72_shared_f32", false),
    ] {
        let assembled = super::ptxas().assemble(PTX, "sm_90", &[&format!("--entry={symbol}")]);
        let code = nvdisasm
            .disassemble(&assembled.expect("assembles").cubin)
            .expect("disassembles");
        for (word, there) in [("STL", local), ("LDL", local), ("STS", !local), ("LDS", !local)] {
            let found = [" ", "."].iter().any(|end| code.contains(&format!("{word}{end}")));
            assert_eq!(found, there, "{symbol}: {word}");
        }
    }
}
