//! The digests of the kernels that ship, held against `docs/results/digests.txt`, to which `cargo xtask evidence` holds
//! every result.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;
use tilewright::device::{DeviceProfile, Installed};
use tilewright::plan::{AUTOMATIC, Policy, Speeds, plan};
use tilewright::{DType, GemmShape, Transpose, VARIANTS, ptx};
use tilewright_plan::PRODUCTS;

/// The entry points of all mutants, which the mutants' table is of.
const MUTANTS: [&str; 2] = [
    include_str!(concat!(env!("OUT_DIR"), "/mutants.ptx")),
    include_str!(concat!(env!("OUT_DIR"), "/mutants_wgmma.ptx")),
];

/// The suites whose kernels dispatch picks.
const SUITES: [&str; 5] = ["squares", "shapes", "layouts", "half", "half-shapes"];

/// The device that a result was measured on.
fn profile(device: &str) -> DeviceProfile {
    let product = PRODUCTS.iter().find(|product| device.ends_with(&*product.name));
    let product = product.unwrap_or_else(|| panic!("the planner knows no `{device}`"));
    let arch = cuda_arch::find(&product.arch).expect("the table has it");
    DeviceProfile {
        name: device.to_owned(),
        installed: Some(Installed {
            multiprocessors: product.multiprocessors,
            l2_bytes: product.l2_bytes.try_into().expect("less than 4 GiB"),
            clock_khz: product.clock_khz,
            memory_bytes: 0,
            dram_bytes_per_second: product.dram_bytes_per_second,
            driver: String::new(),
        }),
        ..DeviceProfile::of_arch(arch)
    }
}

/// Of how many rows of a suite dispatch picks another kernel, tile or number of slices than was measured, and of how
/// many rows in all.
fn moved(suite: &str) -> [usize; 2] {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("docs/results/h200-{suite}.json"));
    let text = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let results: Value = serde_json::from_str(&text).expect("JSON");
    let mut device = profile(results["about"]["device"].as_str().expect("a name"));
    // The driver's clock, which speeds count cycles of, is not a data sheet's.
    let clock_mhz = results["about"]["ceilings"]["clock_mhz"].as_f64().expect("a clock");
    if let Some(installed) = &mut device.installed {
        installed.clock_khz = (clock_mhz * 1e3) as u32;
    }
    let rows = results["rows"].as_array().expect("rows");
    let has_moved = |row: &&Value| {
        let extent = |name: &str| row[name].as_u64().expect("an extent") as usize;
        let layout = row["layout"].as_str().expect("two letters").as_bytes();
        let transpose = [layout[0], layout[1]].map(|of| if of == b'T' { Transpose::Yes } else { Transpose::No });
        let shape = GemmShape::packed_transposed(extent("m"), extent("n"), extent("k"), transpose).expect("valid");
        let dtype: DType = row["dtype"].as_str().expect("a type").parse().expect("a type");
        let now = plan(&shape, dtype, &device, &Policy::default()).expect("it was launched");
        let now = serde_json::to_value(now.summary()).expect("plain data");
        ["kernel", "tile", "slices"]
            .iter()
            .any(|of| now[of] != row["measured"]["plan"][of])
    };
    [rows.iter().filter(has_moved).count(), rows.len()]
}

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
    for suite in SUITES {
        let [moved, rows] = moved(suite);
        writeln!(text, "suite:{suite} - {moved}/{rows} -").expect("a string takes all");
    }
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
        "kernels, or those that dispatch picks, have changed: results of the old ones are stale.\nnow: {changed:#?}\non record: {gone:#?}\nrun `BLESS=1 cargo test --test evidence`, then \
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
