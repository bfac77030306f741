//! The digests of the kernels that ship, held against `docs/results/digests.txt`, to which `cargo xtask evidence` holds
//! every result.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use mutants::table::{self, Device, Module};
use serde_json::Value;
use tilewright::device::{DeviceProfile, Installed};
use tilewright::dispatch::{Policy, Speeds, plan};
use tilewright::{DType, GemmShape, KERNELS, Transpose, fp8, ptx};
use tilewright_harness::bench::{Fp8Row, Selection, Subject, Suite, choice_name};
use tilewright_harness::digest;
use tilewright_plan::GpuModel;

/// The entry points of all mutants, which the mutants' table is of; empty without the feature `mutants-ptx`.
const MUTANTS: [&str; 2] = [
    include_str!(concat!(env!("OUT_DIR"), "/mutants.ptx")),
    include_str!(concat!(env!("OUT_DIR"), "/mutants_wgmma.ptx")),
];

/// The suites whose kernels dispatch picks, random shapes, and the results about that choice itself.
fn picked() -> impl Iterator<Item = &'static str> {
    let is_picked = |name: &&str| {
        let suite = Suite::named(name, &Selection::default()).expect("it has rows");
        suite.rows.iter().all(|row| row.subject == Subject::Auto)
    };
    Suite::names().filter(is_picked).chain([Suite::RANDOM, "pick"])
}

/// The device that a result was measured on.
fn profile(device: &str) -> DeviceProfile {
    let product = GpuModel::of_device(device).unwrap_or_else(|| panic!("the planner knows no `{device}`"));
    let arch = cuda_arch::find(&product.arch).expect("the table has it");
    DeviceProfile {
        name: device.to_owned(),
        installed: Some(Installed {
            sms: product.sms,
            l2_bytes: product.l2_bytes.try_into().expect("less than 4 GiB"),
            clock_khz: product.clock_khz,
            memory_bytes: 0,
            dram_bytes_per_second: product.dram_bytes_per_second,
            driver: String::new(),
        }),
        ..DeviceProfile::of_arch(arch)
    }
}

/// Number of rows of a suite for which dispatch picks another kernel, tile or split-K factor than was measured, and
/// number of all rows; `None` for a new suite, which a bundle is to measure.
fn moved(suite: &str) -> Option<[usize; 2]> {
    let file = format!("docs/results/h200-{suite}.json");
    if !Path::new(env!("CARGO_MANIFEST_DIR")).join(&file).exists() {
        return None;
    }
    let results: Value = serde_json::from_str(&read(&file)).expect("JSON");
    let mut device = profile(results["about"]["device"].as_str().expect("a name"));
    // The driver's clocks, which speeds count cycles and bytes by, are not a data sheet's.
    let ceilings = &results["about"]["ceilings"];
    let scaled = |value: &Value, scale: f64| value.as_f64().map(|value| value * scale);
    let clock_khz = scaled(&results["clock_khz"], 1.0).or(scaled(&ceilings["clock_mhz"], 1e3));
    let rate = scaled(&results["dram_bytes_per_second"], 1.0).or(scaled(&ceilings["dram_gb_per_second"], 1e9));
    if let Some(installed) = &mut device.installed {
        installed.clock_khz = clock_khz.expect("a clock") as u32;
        installed.dram_bytes_per_second = rate.map_or(installed.dram_bytes_per_second, |rate| rate as u64);
    }
    let rows = results["rows"].as_array().expect("rows");
    let has_moved = |row: &&Value| {
        let extent = |name: &str| row[name].as_u64().expect("an extent") as usize;
        if let Some(kind) = row["fp8"].as_str() {
            let kind = Fp8Row::reported(kind).expect("a kind of rows");
            let policy = fp8::Policy {
                fast: kind.is_fast(),
                ..fp8::Policy::default()
            };
            let problem = kind.problem(["m", "n", "k"].map(extent));
            let now = fp8::plan(&problem, &device, &policy).expect("it was launched");
            return row["measured"]["plan"]["kernel"] != now.kernel().symbol;
        }
        let is_transposed = |operand: usize| match &row["layout"] {
            Value::Null => row["transpose"][operand].as_bool().expect("of both operands"),
            layout => layout.as_str().expect("two letters").as_bytes()[operand] == b'T',
        };
        let transpose = [0, 1].map(|operand| match is_transposed(operand) {
            true => Transpose::Yes,
            false => Transpose::No,
        });
        let shape = GemmShape::packed_transposed(extent("m"), extent("n"), extent("k"), transpose).expect("valid");
        let shape = match &row["batch"] {
            Value::Null => shape,
            _ => shape.with_packed_batch(extent("batch")).expect("valid"),
        };
        let dtype: DType = row["dtype"].as_str().expect("a type").parse().expect("a type");
        let now = plan(&shape, dtype, &device, &Policy::default()).expect("it was launched");
        if let Some(picked) = row["picked"].as_str() {
            let now = now.summary();
            return picked != choice_name(now.kernel, now.tile, now.splits);
        }
        let now = serde_json::to_value(now.summary()).expect("plain data");
        ["kernel", "tile", "splits"]
            .iter()
            .any(|of| now[of] != row["measured"]["plan"][of])
    };
    Some([rows.iter().filter(has_moved).count(), rows.len()])
}

/// A file of the repository.
fn read(path: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// The digest of what the mutants' PTX is made from: the PTX of the kernels that they copy, or the source of those that
/// do not ship, and the changes.
///
/// The PTX itself takes minutes to build. While this digest stays, so does that of the PTX on record.
fn origin_of_mutants() -> String {
    let levels = ptx::levels();
    let has_ptx = |kernel: &&table::Kernel| kernel.module != Module::Simulated;
    let kernels = table::KERNELS.iter().filter(has_ptx).map(|kernel| {
        let shipped = levels
            .iter()
            .filter_map(|level| digest::of_level(level).get(kernel.symbol));
        let shipped: Vec<&str> = shipped.map(String::as_str).collect();
        let text = match shipped.is_empty() {
            true => kernel.files.iter().map(|file| read(file)).collect(),
            false => shipped.join(" "),
        };
        (format!("kernel {}", kernel.name), text)
    });
    let rows = table::rows()
        .filter(|row| !matches!(row.device, Device::Refused(_)))
        .filter(|row| table::kernel(row.kernel).is_some_and(|kernel| has_ptx(&kernel)))
        .map(|row| (row.id.to_owned(), format!("{} {:?}", row.kernel, row.edits)));
    digest::combined(&kernels.chain(rows).collect())
}

/// The lines of the mutants: the digest of their PTX and that of their origin; and of each that a device can have, the
/// digest of its PTX and its launch.
///
/// # Panics
/// Where their PTX was not built and that on record has another origin.
fn mutants(record: &str) -> Vec<String> {
    let origin = origin_of_mutants();
    if !MUTANTS.iter().any(|module| module.is_empty()) {
        let ptx = MUTANTS.into_iter().flat_map(digest::digests).collect();
        let all = format!("mutants - {} {origin}", digest::combined(&ptx));
        let on_a_device = mutants::all()
            .into_iter()
            .filter(|subject| !matches!(subject.device(), Device::Refused(_)));
        let each = on_a_device.map(|subject| {
            let launch = format!("{:?}", subject.row.map(|row| row.launch));
            let of = [("launch", &launch), ("ptx", &ptx[subject.symbol])];
            let of = of.map(|(name, text)| (name.to_owned(), text.clone()));
            format!("mutant:{} - {} -", subject.id, digest::combined(&of.into()))
        });
        return [all].into_iter().chain(each).collect();
    }
    let known = record.lines().filter(|line| line.starts_with("mutant"));
    let known: Vec<String> = known.map(str::to_owned).collect();
    assert!(
        known.first().is_some_and(|line| line.ends_with(&origin)),
        "the mutants, or kernels that they copy, have changed: run \
         `BLESS=1 cargo test --features mutants-ptx --test evidence`, then `cargo xtask evidence --write`"
    );
    known
}

/// A line for each kernel of each level, oldest first, then of FP8 and of `examples/smem-spilling`, whose results are
/// filed too:
/// symbol, level, digest, and the kernel whose line of the planner's speeds prices it, where dispatch may pick it.
fn digests(record: &str) -> String {
    let mut text = String::from(
        "# kernel, level of PTX, digest, kernel of whose speed dispatch knows (of mutants the digest of what they are \
         made from); written by `BLESS=1 cargo test --test evidence`\n",
    );
    let speeds = Speeds::default();
    let priced_by = |symbol: &str| {
        let kernel = KERNELS.iter().find(|kernel| kernel.symbol == symbol)?;
        kernel
            .family
            .is_automatic()
            .then(|| speeds.priced_by(kernel).unwrap_or(kernel.symbol))
    };
    let levels = ptx::levels()
        .iter()
        .map(|level| (level.arch, digest::of_level(level).clone()));
    let others = [
        ("fp8", digest::of_level(ptx::fp8()).clone()),
        ("spilling", digest::digests(smem_spilling::PTX)),
    ];
    for (name, digests) in levels.chain(others) {
        for (symbol, digest) in &digests {
            writeln!(text, "{symbol} {name} {digest} {}", priced_by(symbol).unwrap_or("-"))
                .expect("a string takes all");
        }
    }
    for line in mutants(record) {
        writeln!(text, "{line}").expect("a string takes all");
    }
    for (suite, [moved, rows]) in picked().filter_map(|suite| Some((suite, moved(suite)?))) {
        writeln!(text, "suite:{suite} - {moved}/{rows} -").expect("a string takes all");
    }
    text
}

#[test]
fn the_digests_on_record_are_those_of_the_kernels_that_ship() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/results/digests.txt");
    let mut record = read("docs/results/digests.txt");
    let digests = digests(&record);
    if std::env::var_os("BLESS").is_some_and(|value| value == "1") {
        std::fs::write(&file, &digests).expect("the record is writable");
        record.clone_from(&digests);
    }
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
        "kernels, or those that dispatch picks, have changed: results of the old ones are stale.\nnow: {changed:#?}\n\
         on record: {gone:#?}\nrun `BLESS=1 cargo test --test evidence`, then `cargo xtask evidence --write`"
    );
}

#[test]
fn every_kernel_has_a_digest_and_a_device_takes_one_of_each() {
    for kernel in &KERNELS {
        let digest = digest::of_kernel(kernel.symbol, "sm_80").unwrap_or_else(|| panic!("{} has none", kernel.symbol));
        assert_eq!(digest.len(), 16, "{}", kernel.symbol);
    }
    let tiled = "tiled_static_16_bf16";
    let of_level = |general: &str| digest::of_kernel(tiled, general).expect("both levels have it");
    // bf16 is converted by other instructions from 8.0 on.
    assert_ne!(of_level("sm_75"), of_level("sm_80"));
    assert_eq!(digest::of_kernel("r99", "sm_80"), None);
}

/// racecheck (2025.3) comes to no end with the library's kernels whose CTAs form clusters. Of any other kernel that
/// would be a finding.
#[test]
fn racecheck_comes_to_an_end_but_for_clusters() {
    let checks = read("docs/results/h200-checks.csv");
    let without_end: BTreeSet<&str> = checks
        .lines()
        .map(|line| line.split(',').collect::<Vec<_>>())
        .filter(|cells| cells[0] == "racecheck" && cells[3] != "passed")
        .map(|cells| cells[1])
        .collect();
    let of_library = KERNELS
        .iter()
        .filter(|kernel| kernel.family.is_automatic() && kernel.cluster > 1);
    let of_fp8 = fp8::FP8_KERNELS.iter().filter(|kernel| kernel.tile.cluster > 1);
    let with_clusters: BTreeSet<&str> = of_library
        .map(|kernel| kernel.symbol)
        .chain(of_fp8.map(|kernel| kernel.symbol))
        .collect();
    assert_eq!(without_end, with_clusters);
}
