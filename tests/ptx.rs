//! The PTX of every entry point, held against the contract and assembled by NVIDIA's `ptxas` for every architecture in use.
//!
//! No GPU is needed. `cargo xtask setup` fetches `ptxas`; where it is missing these tests fail.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use tilewright::ptx::{self, Level};
use tilewright_contract::{Bytes, Rung, SharedMemory, VARIANTS, Variant};

/// Every entry point of every level with its PTX.
fn entries() -> impl Iterator<Item = (&'static Level, &'static Variant, &'static str)> {
    ptx::levels().iter().flat_map(|level| {
        VARIANTS.iter().map(move |variant| {
            let text = ptx::entry(level, variant.symbol);
            (
                level,
                variant,
                text.unwrap_or_else(|| panic!("{} has no entry {}", level.arch, variant.symbol)),
            )
        })
    })
}

/// The opcodes of a PTX text with their modifiers: `ld.shared.v4.b32`.
fn opcodes(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let mut words = line
            .split_whitespace()
            .skip_while(|word| word.starts_with('@') || *word == "{");
        let opcode = words.next()?.trim_end_matches(';');
        opcode.starts_with(|c: char| c.is_ascii_lowercase()).then_some(opcode)
    })
}

/// The state space of an opcode that accesses memory; `Some("generic")` where it names none, `None` for other opcodes.
fn state_space(opcode: &str) -> Option<&str> {
    const ACCESSES: [&str; 5] = ["ld", "st", "atom", "red", "ldu"];
    const SPACES: [&str; 5] = ["param", "global", "shared", "const", "local"];
    let mut parts = opcode.split(['.', ':']);
    ACCESSES
        .contains(&parts.next()?)
        .then(|| parts.find(|part| SPACES.contains(part)).unwrap_or("generic"))
}

/// A static shared array: name, bytes.
fn shared_statics(ptx: &str) -> impl Iterator<Item = (&str, u32)> {
    ptx.lines().filter_map(|line| {
        let declaration = line.trim().strip_prefix(".shared .align ")?;
        let array = declaration.split_whitespace().last()?.strip_suffix("];")?;
        let (name, bytes) = array.split_once('[').expect("a shared static is an array of bytes");
        assert!(declaration.contains(" .b8 "), "not counted in bytes: {declaration}");
        Some((name, bytes.parse().expect("a length")))
    })
}

#[test]
fn the_entry_points_are_those_of_the_contract() {
    for level in ptx::levels() {
        let declared: HashSet<_> = level
            .ptx
            .lines()
            .filter_map(|line| line.strip_prefix(".visible .entry ")?.split_once('('))
            .map(|(symbol, _)| symbol)
            .collect();
        let expected: HashSet<_> = VARIANTS.iter().map(|variant| variant.symbol).collect();
        assert_eq!(declared, expected, "{}", level.arch);
    }
}

#[test]
fn every_access_names_its_state_space_and_none_is_to_local_memory() {
    const ALLOWED: [&str; 4] = ["param", "global", "shared", "const"];
    let mut wrong = Vec::new();
    for (level, variant, text) in entries() {
        for opcode in opcodes(text) {
            if state_space(opcode).is_some_and(|space| !ALLOWED.contains(&space)) {
                wrong.push(format!("{} {}: {opcode}", level.arch, variant.symbol));
            }
        }
    }
    wrong.dedup();
    assert!(wrong.is_empty(), "generic or local accesses:\n{}", wrong.join("\n"));
}

#[test]
fn tiled_kernels_go_through_shared_memory_and_the_naive_one_does_not() {
    for (level, variant, text) in entries() {
        let tiled = variant.shared != SharedMemory::None;
        assert_eq!(tiled, variant.rung != Rung::Naive, "{}", variant.symbol);
        for access in ["ld.shared.", "st.shared.", "bar"] {
            let present = opcodes(text).any(|opcode| opcode.starts_with(access));
            assert_eq!(present, tiled, "{} {}: {access}", level.arch, variant.symbol);
        }
    }
}

#[test]
fn kernels_call_nothing() {
    for (level, variant, text) in entries() {
        let call = opcodes(text).find(|opcode| opcode.split('.').next() == Some("call"));
        assert_eq!(
            call, None,
            "{} {}: a panic or a function that was not inlined",
            level.arch, variant.symbol
        );
    }
}

#[test]
fn dynamic_shared_memory_is_one_extern_array_that_only_the_dynamic_kernels_use() {
    for level in ptx::levels() {
        let declarations: Vec<_> = level
            .ptx
            .lines()
            .filter(|line| line.starts_with(".extern .shared .align "))
            .collect();
        let [declaration] = declarations[..] else {
            panic!("{}: {declarations:?}", level.arch)
        };
        let name = declaration
            .split_whitespace()
            .last()
            .and_then(|array| array.strip_suffix("[];"));
        let name = name.unwrap_or_else(|| panic!("not an array without length: {declaration}"));
        assert!(!name.contains('.'), "{name}");
        for variant in &VARIANTS {
            let text = ptx::entry(level, variant.symbol).expect("tested above");
            let uses = words(text).contains(name);
            assert_eq!(
                uses,
                variant.shared == SharedMemory::Dynamic,
                "{} {}",
                level.arch,
                variant.symbol
            );
        }
    }
}

#[test]
fn declared_static_shared_memory_is_what_the_contract_says() {
    for (level, variant, text) in entries() {
        let words = words(text);
        let declared = shared_statics(level.ptx)
            .filter(|(name, _)| words.contains(name))
            .map(|(_, bytes)| bytes)
            .sum();
        assert_eq!(
            Bytes(declared),
            variant.static_bytes(),
            "{} {}",
            level.arch,
            variant.symbol
        );
    }
}

/// The identifiers and numbers of a PTX text.
fn words(text: &str) -> HashSet<&str> {
    text.split(|c: char| !(c.is_ascii_alphanumeric() || "_$%".contains(c)))
        .collect()
}

/// One test an architecture, so that they run side by side.
macro_rules! assembles {
    ($($test:ident: $major:literal, $minor:literal;)*) => {$(
        #[test]
        fn $test() {
            assemble($major, $minor);
        }
    )*};
}

assembles! {
    assembles_for_turing: 7, 5;
    assembles_for_a100: 8, 0;
    assembles_for_consumer_ampere: 8, 6;
    assembles_for_orin: 8, 7;
    assembles_for_ada: 8, 9;
    assembles_for_hopper: 9, 0;
    assembles_for_blackwell: 10, 0;
    assembles_for_blackwell_ultra: 10, 3;
    assembles_for_thor: 11, 0;
    assembles_for_consumer_blackwell: 12, 0;
    assembles_for_spark: 12, 1;
}

fn assemble(major: u32, minor: u32) {
    let arch = format!("sm_{major}{minor}");
    let level = ptx::for_compute_capability((major, minor)).expect("a level for every architecture in use");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (source, cubin) = (folder.join(format!("{arch}.ptx")), folder.join(format!("{arch}.cubin")));
    std::fs::write(&source, level.ptx).expect("the test's folder is writable");
    let assembled = Command::new(ptxas())
        .args(["--verbose", "--gpu-name", &arch, "--output-file"])
        .args([&cubin, &source])
        .output()
        .expect("ptxas starts");
    let report = String::from_utf8_lossy(&assembled.stderr);
    assert!(
        assembled.status.success(),
        "ptxas refuses {} for {arch}:\n{report}",
        level.arch
    );

    let usage = usage(&report);
    for variant in &VARIANTS {
        let used = usage
            .get(variant.symbol)
            .unwrap_or_else(|| panic!("ptxas reports nothing of {}", variant.symbol));
        assert_eq!(
            Bytes(used.smem_bytes),
            variant.static_bytes(),
            "{} for {arch}",
            variant.symbol
        );
        assert_eq!(
            used.local_bytes,
            [0, 0, 0],
            "{} for {arch}: stack, spill stores, spill loads",
            variant.symbol
        );
    }
    compare_registers(&arch, &usage);
}

/// Holds the planner's table of registers against what ptxas has said; with `BLESS=1` in the environment, writes it.
fn compare_registers(arch: &str, usage: &BTreeMap<&str, Usage>) {
    let lines: String = VARIANTS
        .iter()
        .map(|variant| format!("{} {}\n", variant.symbol, usage[variant.symbol].registers))
        .collect();
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("planner/src/kernels/usage/{arch}.txt"));
    if std::env::var_os("BLESS").is_some_and(|value| value == "1") {
        std::fs::write(&table, &lines).expect("the table is writable");
    }
    let expected = std::fs::read_to_string(&table).expect("a file for every architecture");
    assert_eq!(
        lines, expected,
        "{arch}: registers have changed; if that is right, run `BLESS=1 cargo test --test ptx`"
    );
}

fn ptxas() -> PathBuf {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/cuda-tools/bin/ptxas");
    assert!(
        program.exists(),
        "{} is missing: run `cargo xtask setup`",
        program.display()
    );
    program
}

/// What `ptxas --verbose` says of one kernel.
#[derive(Debug, Default)]
struct Usage {
    /// Registers of a thread.
    registers: u32,
    /// Static shared memory.
    smem_bytes: u32,
    /// Stack frame, spill stores, spill loads.
    local_bytes: Vec<u32>,
}

/// The usage of each kernel of a report.
fn usage(report: &str) -> BTreeMap<&str, Usage> {
    let mut of = BTreeMap::<&str, Usage>::new();
    let mut kernel = "";
    for line in report.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            kernel = rest.split('\'').next().unwrap_or_default();
        } else if line.contains(" bytes stack frame, ") {
            of.entry(kernel).or_default().local_bytes = line.split(", ").map(bytes).collect();
        } else if let Some((_, used)) = line.split_once("Used ") {
            of.entry(kernel).or_default().registers = bytes(used);
            let smem = used.split(", ").find(|part| part.ends_with(" bytes smem"));
            of.entry(kernel).or_default().smem_bytes = smem.map_or(0, bytes);
        }
    }
    of
}

/// The number that `2048 bytes smem` begins with.
fn bytes(part: &str) -> u32 {
    let number = part.split_whitespace().next().and_then(|number| number.parse().ok());
    number.unwrap_or_else(|| panic!("ptxas says no number in `{part}`"))
}
