//! Bytes: the law of `cuda_arch::spill_budget_bytes` against `ptxas`, and the single runs that it was found from.

use cuda_arch::{Architecture, assumed_threads, spill_budget_bytes, static_bytes_with_spills};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::kernel::{Assembled, Kernel, Usage, assemble};

/// The fewest registers that `ptxas` allows: the rest must spill.
const FEWEST: u32 = 24;

/// A kernel that fills its budget and spills more into local memory.
fn saturated(arch: &Architecture, threads: u32, static_bytes: u32, align: u32) -> Kernel {
    let slots = spill_budget_bytes(arch, threads, 0) / (4 * threads);
    // Each number too many needs a slot, but some of the registers are not for numbers.
    let live = (slots + FEWEST + 24) as usize;
    Kernel::new(live, &format!(".maxntid {threads} .maxnreg {FEWEST}"))
        .named(format!("k_{threads}_{static_bytes}_{align}"))
        .with_shared(static_bytes, align)
}

/// Assembles blocks of these threads, static bytes and alignments together, and compares each with the law.
#[track_caller]
fn compare(arch: &Architecture, cases: &[(u32, u32, u32)]) {
    let kernels: Vec<Kernel> = cases
        .iter()
        .map(|&(threads, bytes, align)| saturated(arch, threads, bytes, align))
        .collect();
    let text: String = kernels.iter().map(Kernel::ptx).collect();
    let Assembled { success, said, usage } = assemble(arch.name, &text);
    assert!(success, "{said}");
    assert!(!said.contains("warning"), "{said}");
    let mut wrong = Vec::new();
    for (kernel, &(threads, bytes, _)) in kernels.iter().zip(cases) {
        let Usage {
            smem_bytes,
            local_bytes,
            ..
        } = usage[&kernel.name];
        assert!(local_bytes[1] > 0, "{}: not saturated", kernel.name);
        let expected = static_bytes_with_spills(arch, threads, bytes);
        if smem_bytes != expected {
            wrong.push(format!(
                "{}: ptxas takes {smem_bytes}, the law says {expected}",
                kernel.name
            ));
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", arch.name, wrong.join("\n"));
}

/// Every whole number of warps, some that are none, and static arrays of any size and alignment.
fn law_holds_for(name: &str) {
    let arch = cuda_arch::find(name).expect("in the table");
    let warps = (32..=1024).step_by(32);
    let odd = [24, 33, 65, 100, 129, 200, 300, 333, 511, 700, 1000, 1023];
    let mut cases: Vec<_> = warps.chain(odd).map(|threads| (threads, 0, 1)).collect();
    // One kernel holds no array and the next one does: none of them may see another's.
    let mut random = ChaCha8Rng::seed_from_u64(u64::from(
        arch.compute_capability.major * 10 + arch.compute_capability.minor,
    ));
    for number in 0..16 {
        let threads = 32 * (1 + random.next_u32() % 32);
        let most = if number % 2 == 0 { 3000 } else { 49_152 };
        let static_bytes = 1 + random.next_u32() % most;
        cases.push((threads, static_bytes, 1 << (random.next_u32() % 8)));
    }
    // Distinct names.
    cases.sort_unstable();
    cases.dedup();
    compare(arch, &cases);
}

/// Caps of registers without launch bounds: the fewest and the most, few enough for more threads than a block can have,
/// and some at which a rounding other than the law's would show.
fn law_holds_without_launch_bounds_for(name: &str) {
    let arch = cuda_arch::find(name).expect("in the table");
    let caps = [24, 31, 40, 64, 72, 88, 92, 100, 128, 168, 252].map(Some);
    let caps: Vec<_> = caps.into_iter().chain([None]).collect();
    let kernels: Vec<_> = caps
        .iter()
        .enumerate()
        .map(|(nth, cap)| {
            let directive = cap.map_or(String::new(), |cap| format!(".maxnreg {cap}"));
            Kernel::new(320, &directive).named(format!("k_{nth}"))
        })
        .collect();
    let Assembled { success, said, usage } = assemble(name, &kernels.iter().map(Kernel::ptx).collect::<String>());
    assert!(success && !said.contains("warning"), "not a word: {said}");
    for (kernel, cap) in kernels.iter().zip(caps) {
        let Usage {
            smem_bytes,
            local_bytes,
            ..
        } = usage[&kernel.name];
        assert!(local_bytes[1] > 0, "{cap:?}: not saturated");
        let expected = spill_budget_bytes(arch, assumed_threads(arch, cap), 0);
        assert_eq!(smem_bytes, expected, "{name} {cap:?}");
    }
}

/// One test an architecture, so that they run side by side.
macro_rules! law_holds {
    ($($test:ident: $arch:literal;)*) => {$(
        #[test]
        fn $test() {
            law_holds_for($arch);
            law_holds_without_launch_bounds_for($arch);
        }
    )*};
}

law_holds! {
    law_holds_for_turing: "sm_75";
    law_holds_for_a100: "sm_80";
    law_holds_for_consumer_ampere: "sm_86";
    law_holds_for_orin: "sm_87";
    law_holds_for_ada: "sm_89";
    law_holds_for_hopper: "sm_90";
    law_holds_for_blackwell: "sm_100";
    law_holds_for_blackwell_ultra: "sm_103";
    law_holds_for_thor: "sm_110";
    law_holds_for_consumer_blackwell: "sm_120";
    law_holds_for_spark: "sm_121";
}

/// A kernel of 64 registers with 96 numbers: what goes where, without the pragma and with it.
#[test]
fn what_the_pragma_moves() {
    let kernel = |name: &str| Kernel::new(96, ".maxntid 256 .minnctapersm 4").named(name);
    let expected = [
        ("sm_75", [296, 568, 676], [240, 460, 504], 16_384),
        ("sm_80", [296, 568, 676], [224, 428, 456], 20_480),
        ("sm_90", [304, 576, 692], [240, 444, 484], 19_456),
        ("sm_100", [304, 576, 692], [208, 380, 388], 27_648),
        ("sm_120", [304, 576, 692], [256, 476, 532], 15_360),
    ];
    let found = expected.map(|(arch, ..)| {
        let of = assemble(arch, &(kernel("off").without_pragma().ptx() + &kernel("on").ptx()));
        let [off, on] = ["off", "on"].map(|name| of.usage[name].clone());
        assert_eq!((off.registers, on.registers, off.smem_bytes), (64, 64, 0), "{arch}");
        (arch, off.local_bytes, on.local_bytes, on.smem_bytes)
    });
    assert_eq!(found, expected);
}

#[test]
fn few_spills_leave_local_memory_altogether() {
    for (arch, live, off, smem_bytes) in [
        ("sm_90", 66, [64, 92, 108], 8192),
        ("sm_100", 70, [88, 168, 184], 12_288),
        ("sm_120", 64, [48, 72, 80], 6144),
    ] {
        let kernel = |name: &str| Kernel::new(live, ".maxntid 128 .maxnreg 64").named(name);
        let said = assemble(arch, &(kernel("off").without_pragma().ptx() + &kernel("on").ptx()));
        assert_eq!(
            (said.usage["off"].smem_bytes, said.usage["off"].local_bytes),
            (0, off),
            "{arch}"
        );
        assert_eq!(
            (said.usage["on"].smem_bytes, said.usage["on"].local_bytes),
            (smem_bytes, [0; 3]),
            "{arch}"
        );
    }
    // 14 slots for each of 128 threads, and not more.
    assert_eq!(
        assemble("sm_120", &Kernel::new(66, ".maxntid 128 .maxnreg 64").ptx())
            .k()
            .smem_bytes,
        7168
    );
}

#[test]
fn the_budget_knows_nothing_of_registers_and_resident_blocks() {
    // 255 registers: one block fits on the SM, with 99 KiB to itself. Asking for one block, or four,
    // changes nothing.
    for blocks in [1, 4] {
        let directives = format!(".maxntid 256 .minnctapersm {blocks}");
        let of = assemble("sm_120", &Kernel::new(400, &directives).ptx());
        assert_eq!(of.k().registers, if blocks == 1 { 255 } else { 64 });
        assert_eq!(of.k().smem_bytes, 15_360, "{blocks}");
    }
}

#[test]
fn extents_count_by_their_product() {
    let [flat, cube, required] = [".maxntid 256", ".maxntid 8, 8, 4", ".reqntid 16, 16"].map(|directive| {
        assemble("sm_90", &Kernel::new(96, &format!("{directive} .maxnreg 64")).ptx())
            .k()
            .smem_bytes
    });
    assert_eq!((flat, cube, required), (19_456, 19_456, 19_456));
}

#[test]
fn static_memory_beyond_the_budget_leaves_all_spills_local_in_silence() {
    let kernel = || Kernel::new(96, ".maxntid 256 .maxnreg 64");
    let local = assemble("sm_120", &kernel().without_pragma().ptx()).k().local_bytes;
    for bytes in [16_384, 32_768, 49_152] {
        let of = assemble("sm_120", &kernel().with_shared(bytes, 4).ptx());
        assert_eq!(of.k().smem_bytes, bytes);
        assert!(of.k().local_bytes[0] >= local[0], "{:?} {local:?}", of.k());
        assert!(!of.said.contains("warning"), "{}", of.said);
    }
}

#[test]
fn what_needs_no_spills_takes_nothing() {
    let of = assemble("sm_90", &Kernel::new(20, ".maxntid 256").ptx());
    assert_eq!((of.k().smem_bytes, of.k().local_bytes), (0, [0; 3]));
}
