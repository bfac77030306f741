//! The digests of the kernels that ship, held against `docs/results/digests.txt`, to which `cargo xtask evidence` holds
//! every result.

use std::fmt::Write as _;
use std::path::Path;

use tilewright::plan::{AUTOMATIC, Speeds};
use tilewright::{VARIANTS, ptx};

/// The entry points of all mutants, which the mutants' table is of.
const MUTANTS: [&str; 2] = [
    include_str!(concat!(env!("OUT_DIR"), "/mutants.ptx")),
    include_str!(concat!(env!("OUT_DIR"), "/mutants_wgmma.ptx")),
];

/// A line for each kernel of each level, oldest first: symbol, level, digest, and the kernel whose line of the
/// planner's speeds prices it, where dispatch may pick it.
fn digests() -> String {
    let mut text = String::from(
        "# kernel, level of PTX, digest, kernel of whose speed dispatch knows; written by `BLESS=1 cargo test --test evidence`\n",
    );
    let speeds = Speeds::default();
    let priced_by = |symbol: &str| {
        let variant = VARIANTS.iter().find(|variant| variant.symbol == symbol)?;
        AUTOMATIC
            .contains(&variant.rung)
            .then(|| speeds.priced_by(variant).unwrap_or(variant.symbol))
    };
    let levels = ptx::levels().iter().map(|level| (level.arch, level));
    for (name, level) in levels.chain([("spilling", ptx::spilling())]) {
        for (symbol, digest) in level.digests() {
            writeln!(text, "{symbol} {name} {digest} {}", priced_by(symbol).unwrap_or("-"))
                .expect("a string takes all");
        }
    }
    writeln!(
        text,
        "mutants - {} -",
        ptx::combined_digest(&MUTANTS.into_iter().flat_map(ptx::digests).collect())
    )
    .expect("a string takes all");
    text
}

#[test]
fn the_digests_on_record_are_those_of_the_kernels_that_ship() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/results/digests.txt");
    let digests = digests();
    if std::env::var_os("BLESS").is_some_and(|value| value == "1") {
        std::fs::write(&file, &digests).expect("the record is writable");
    }
    let record = std::fs::read_to_string(&file).unwrap_or_default();
    let changed: Vec<_> = digests
        .lines()
        .filter(|line| !record.lines().any(|known| known == *line))
        .collect();
    let gone: Vec<_> = record
        .lines()
        .filter(|line| !digests.lines().any(|known| known == *line))
        .collect();
    assert!(
        changed.is_empty() && gone.is_empty(),
        "kernels have changed: results of the old ones are stale.\nnow: {changed:#?}\non record: {gone:#?}\nrun `BLESS=1 cargo test --test evidence`, then \
         `cargo xtask evidence --write`"
    );
}

#[test]
fn every_kernel_has_a_digest_and_a_device_takes_one_of_each() {
    for variant in &VARIANTS {
        let digest = ptx::digest_of(variant.symbol, "sm_80").unwrap_or_else(|| panic!("{} has none", variant.symbol));
        assert_eq!(digest.len(), 16, "{}", variant.symbol);
    }
    let naive = "r01_naive_bf16";
    let of_level = |general: &str| ptx::digest_of(naive, general).expect("both levels have it");
    // bf16 is converted by other instructions from 8.0 on.
    assert_ne!(of_level("sm_75"), of_level("sm_80"));
    assert_eq!(ptx::digest_of("r99", "sm_80"), None);
}
