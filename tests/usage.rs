//! What NVIDIA's `ptxas` makes of every entry point for every architecture: held against the numbers on record, against
//! the contract, and with the plan's dynamic shared memory against what a block may have.
//!
//! No GPU is needed. `cargo xtask setup` fetches `ptxas`; where it is missing these tests fail. Kernels whose PTX is
//! that of the record are not assembled again, except for a sample ([`record`]).

#[path = "usage/record.rs"]
mod record;
#[path = "usage/variants.rs"]
mod variants;

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use record::Record;

use tilewright::device::DeviceProfile;
use tilewright::dispatch::{PlanError, Policy, plan};
use tilewright::{Bytes, KERNELS, Kernel};
use tilewright_contract::CopyKind;
use tilewright_harness::inspect::{Budget, Inspected, Ptxas, Remark, Report, Subject, Target, Usage, inspect};

/// The planner's record.
const FOLDER: &str = "host/src/dispatch/usage";

/// The tests of one architecture, so that they run side by side.
macro_rules! architectures {
    ($($name:ident: $arch:literal;)*) => {$(
        mod $name {
            use super::*;

            static ASSEMBLED: LazyLock<Assembled> = LazyLock::new(|| Assembled::of($arch));

            #[test]
            fn every_kernel_takes_what_is_on_record() {
                ASSEMBLED.compare_with_record();
            }

            #[test]
            fn no_kernel_spills_or_serializes() {
                ASSEMBLED.refuse_spills_and_serialized_products();
            }

            #[test]
            fn static_shared_memory_is_what_the_contract_says() {
                ASSEMBLED.compare_static_bytes_with_contract();
            }

            #[test]
            fn the_plan_takes_the_tiles_that_fit_with_static_memory_and_no_others() {
                ASSEMBLED.compare_shared_memory_with_plan();
            }

            #[test]
            fn register_budget_variants_take_what_is_on_record() {
                variants::compare_with_record($arch);
            }
        }
    )*};
}

architectures! {
    turing: "sm_75";
    a100: "sm_80";
    consumer_ampere: "sm_86";
    orin: "sm_87";
    ada: "sm_89";
    hopper: "sm_90";
    blackwell: "sm_100";
    blackwell_ultra: "sm_103";
    thor: "sm_110";
    consumer_blackwell: "sm_120";
    spark: "sm_121";
}

#[test]
fn no_kernel_spills_when_assembled_for_just_one_architecture() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/usage/specific.txt");
    let before = std::fs::read_to_string(&path).expect("the record is in the repository");
    let mut now = String::new();
    for (place, arch) in ["sm_90a", "sm_100a", "sm_120a"].into_iter().enumerate() {
        let target = Target::parse(arch).expect("in the table");
        let line = format!("{arch} {}", record::origin(&ptxas(), &target));
        let all: Vec<_> = KERNELS.iter().collect();
        let known = before.contains(&line) && !record::blesses();
        let asked = if known { Record::sample(&all, place) } else { all };
        Assembled::inspect(&target, &asked).refuse_spills_and_serialized_products();
        now += &line;
    }
    if record::blesses() {
        std::fs::write(&path, &now).expect("the record is writable");
        return;
    }
    assert_eq!(
        before, now,
        "of other PTX; if that is right, run `BLESS=1 cargo test --test usage`"
    );
}

#[test]
fn copies_of_operands_fill_an_sm_and_spill_nowhere() {
    let targets = Target::all();
    for (target, kind) in targets
        .iter()
        .flat_map(|target| CopyKind::ALL.map(|kind| (target, kind)))
    {
        if kind == CopyKind::Split && target.architecture.compute_capability.major != 9 {
            continue;
        }
        let inspected = inspect(&ptxas(), target, &[Subject::Copy(kind)]).unwrap_or_else(|error| panic!("{error}"));
        let [kernel] = &inspected[..] else {
            panic!("{}: {inspected:?}", target.name)
        };
        assert_eq!(spills(&kernel.usage), None, "{}", target.name);
        // It lives from loads under way: as many threads as there can be.
        let occupancy = kernel.occupancy.as_ref().expect("it fits everywhere");
        let threads = occupancy.blocks_per_sm * kernel.max_threads.expect("declared");
        assert_eq!(
            threads, target.architecture.threads_per_sm,
            "{}: {:?}",
            target.name, kernel.usage
        );
    }
}

#[test]
fn every_architecture_of_the_table_is_assembled_for() {
    let mut targets: Vec<_> = Target::all()
        .into_iter()
        .map(|target| format!("{}.txt", target.name))
        .collect();
    targets.sort();
    for folder in [FOLDER, variants::FOLDER] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let files = std::fs::read_dir(folder).expect("the record is in the repository");
        let mut recorded: Vec<_> = files
            .map(|file| file.expect("a file").file_name().to_string_lossy().into_owned())
            .collect();
        recorded.sort();
        assert_eq!(recorded, targets);
    }
}

#[test]
fn a_kernel_takes_the_same_alone_as_with_all_others() {
    let together = Assembled::of("sm_120");
    let target = &together.target;
    for kernel in KERNELS
        .iter()
        .filter(|kernel| target.level.has(kernel.family))
        .step_by(5)
    {
        let alone = inspect(&ptxas(), target, &[kernel]).expect("assembles");
        let [alone] = &alone[..] else { panic!("{alone:?}") };
        let other = together.kernels.iter().find(|(of, ..)| of.symbol == kernel.symbol);
        let (_, usage, max_threads) = other.expect("all are there");
        let alone = (&alone.usage, alone.max_threads);
        assert!(
            record::says_the_same(alone, (usage, *max_threads)),
            "{alone:?}, with all others {usage:?}"
        );
    }
}

/// PTX of a kernel that loads `values` numbers, does something with them and stores them again.
fn holding(values: usize, directive: &str, something: &str) -> String {
    let each = |line: fn(usize) -> String| (0..values).map(line).collect::<String>();
    let load = each(|i| format!("ld.global.f32 %f{i}, [%rd1 + {}];\n", 4 * i));
    let store = each(|i| format!("st.global.f32 [%rd1 + {}], %f{i};\n", 4 * i));
    // Of the thread's own: what all lanes have in common, ptxas would keep in uniform registers.
    let address =
        "ld.param.u64 %rd1, [p];\nmov.u32 %r0, %tid.x;\nmul.wide.u32 %rd2, %r0, 1024;\nadd.u64 %rd1, %rd1, %rd2;\n";
    format!(
        ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p)\n{directive}\n{{\n\
         .reg .f32 %f<{values}>;\n\
         .reg .b64 %rd<3>;\n.reg .b32 %r<1>;\n.reg .pred %again;\n{address}{load}{something}{store}ret;\n}}\n"
    )
}

fn report(ptx: &str) -> Report {
    ptxas().assemble(ptx, "sm_90a", &[]).expect("assembles").report
}

#[test]
fn a_spill_is_refused_with_its_numbers() {
    let sums = (0..64).map(|i| format!("add.f32 %f{i}, %f{i}, %f{};\n", (i * 37 + 11) % 64));
    let sums = format!(
        "cvt.u32.u64 %r0, %rd1;\nround:\n{}sub.u32 %r0, %r0, 1;\nsetp.ne.u32 %again, %r0, 0;\n@%again bra round;\n",
        sums.collect::<String>()
    );
    let enough = report(&holding(64, ".maxntid 128", &sums));
    assert_eq!(spills(&enough.kernels[0]), None);
    let capped = report(&holding(64, ".maxntid 128\n.maxnreg 32", &sums));
    let Usage {
        stack_bytes,
        spill_store_bytes,
        spill_load_bytes,
        ..
    } = capped.kernels[0];
    assert!(stack_bytes > 0 && spill_store_bytes > 0 && spill_load_bytes > 0);
    let line = format!(
        "k: 32 registers, {stack_bytes} bytes stack, {spill_store_bytes} bytes spill stores, \
         {spill_load_bytes} bytes spill loads\n"
    );
    assert_eq!(spills(&capped.kernels[0]), Some(line));
}

#[test]
fn products_that_wait_for_one_another_are_refused_with_the_reason() {
    // Sums of 64 x 256 elements, a warp group's 128 registers a thread each.
    let product = |first: usize| {
        let sums: Vec<_> = (first..first + 128).map(|i| format!("%f{i}")).collect();
        format!(
            "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {{{}}}, %rd2, %rd2, 1, 1, 1, 0, 0;\n",
            sums.join(", ")
        )
    };
    let pipeline = |products: String| {
        format!(
            "wgmma.fence.sync.aligned;\n{products}wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"
        )
    };
    let one = report(&holding(128, ".maxntid 128", &pipeline(product(0))));
    assert_eq!(one.remarks.iter().find_map(serialized), None);
    let two = report(&holding(256, ".maxntid 128", &pipeline(product(0) + &product(128))));
    let line = two
        .remarks
        .iter()
        .find_map(serialized)
        .expect("256 sums and no register left");
    assert!(line.starts_with("k: (C7511) Potential Performance Loss: "), "{line}");
}

fn tools() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("target/cuda-tools/bin")
}

fn ptxas() -> Ptxas {
    Ptxas::in_folder(&tools()).unwrap_or_else(|error| panic!("{error}"))
}

/// Index of an architecture in the table.
fn place(arch: &str) -> usize {
    let all = &cuda_arch::ARCHITECTURES;
    all.iter().position(|other| other.name == arch).unwrap_or_default()
}

/// Entry points for one architecture.
struct Assembled {
    target: Target,
    /// All of them, as they are on record or have just been assembled.
    kernels: Vec<(&'static Kernel, Usage, Option<u32>)>,
    /// Those that were just assembled.
    inspected: Vec<Inspected>,
}

impl Assembled {
    /// All, of which most are on record where that is of the PTX that ships.
    fn of(arch: &str) -> Self {
        let target = Target::parse(arch).expect("in the table");
        let all: Vec<_> = KERNELS.iter().collect();
        let record = Self::record(&target);
        if !record.holds() {
            return Self::inspect(&target, &all);
        }
        let sampled = Self::inspect(&target, &Record::sample(&all, place(arch)));
        let kernels = record
            .kernels()
            .map(|(usage, max_threads)| (kernel(&usage), usage, max_threads))
            .collect();
        Self { kernels, ..sampled }
    }

    /// These, just assembled.
    fn inspect(target: &Target, asked: &[&'static Kernel]) -> Self {
        let inspected = inspect(&ptxas(), target, asked).unwrap_or_else(|error| panic!("{}: {error}", target.name));
        assert!(!inspected.is_empty(), "{}", target.name);
        let kernels = inspected
            .iter()
            .map(|taken| (kernel(&taken.usage), taken.usage.clone(), taken.max_threads))
            .collect();
        Self {
            target: target.clone(),
            kernels,
            inspected,
        }
    }

    /// Holds the planner's table against what ptxas has said; with `BLESS=1` in the environment, writes it.
    fn compare_with_record(&self) {
        let inspected = self.inspected.iter();
        Self::record(&self.target).compare(inspected.map(|kernel| (&kernel.usage, kernel.max_threads)));
    }

    fn record(target: &Target) -> Record {
        Record::of(FOLDER, &target.name, record::origin(&ptxas(), target))
    }

    fn refuse_spills_and_serialized_products(&self) {
        let mut wrong = String::new();
        wrong.extend(self.kernels.iter().filter_map(|(_, usage, _)| spills(usage)));
        let remarks = self.inspected.iter().flat_map(|kernel| &kernel.remarks);
        wrong.extend(remarks.filter_map(serialized));
        assert!(wrong.is_empty(), "{}:\n{wrong}", self.target.name);
    }

    fn compare_static_bytes_with_contract(&self) {
        for (kernel, usage, max_threads) in &self.kernels {
            let case = format!("{} for {}", kernel.symbol, self.target.name);
            assert_eq!(Bytes(usage.static_smem_bytes), kernel.static_bytes(), "{case}");
            assert_eq!(*max_threads, kernel.max_threads, "{case}");
        }
    }

    /// A tile is planned exactly if static bytes by ptxas and dynamic bytes by the contract together stay within the
    /// opt-in limit.
    fn compare_shared_memory_with_plan(&self) {
        let arch = self.target.architecture;
        let device = DeviceProfile::of_arch(arch);
        let (mut planned, mut refused) = (0, 0);
        for (kernel, usage, _) in &self.kernels {
            for (width, tiled) in tiles(kernel) {
                let budget = Budget::new(&tiled, arch, usage.static_smem_bytes);
                let policy = Policy {
                    family: Some(kernel.family),
                    kernel: Some(kernel),
                    tile: width,
                    ..Policy::default()
                };
                let case = format!("{} for {}: {budget:?}", kernel.symbol, self.target.name);
                assert_eq!(budget.limit_bytes, arch.smem_per_block_optin, "{case}");
                match plan(&kernel.small_shape(), kernel.dtype, &device, &policy) {
                    Ok(plan) => {
                        assert!(budget.fits, "planned, but too large: {case}");
                        assert_eq!(plan.kernel(), &tiled, "{case}");
                        assert_eq!(plan.dynamic_bytes(), Bytes(budget.dynamic_bytes), "{case}");
                        assert_eq!(plan.opt_in(), budget.total_bytes > arch.smem_per_block, "{case}");
                        planned += 1;
                    }
                    Err(PlanError::SharedMemory { kernel, limit, .. }) => {
                        assert!(!budget.fits, "refused, but fits: {case}");
                        assert_eq!(kernel.smem.total().get(), budget.total_bytes, "{case}");
                        assert_eq!(limit, Bytes(budget.limit_bytes), "{case}");
                        refused += 1;
                    }
                    Err(other) => panic!("{case}: {other}"),
                }
            }
        }
        assert!(planned > 0 && refused > 0, "{planned} planned, {refused} refused");
    }
}

/// The entry point that a line of a report is of.
fn kernel(usage: &Usage) -> &'static Kernel {
    let found = KERNELS.iter().find(|kernel| kernel.symbol == usage.symbol);
    found.expect("only these were asked for")
}

/// The tiles that a plan gives an entry point, with the widths that lead to them.
fn tiles(kernel: &'static Kernel) -> Vec<(Option<u32>, Kernel)> {
    let found = |width| Kernel::find(kernel.family, kernel.dtype, width);
    let is_own = |tiled: &Kernel| found(tiled.tile.n).is_some_and(|found| found.symbol == kernel.symbol);
    match kernel.widths {
        Some(_) => kernel
            .with_every_tile()
            .filter(is_own)
            .map(|tiled| (Some(tiled.tile.n), tiled))
            .collect(),
        None => vec![(None, *kernel)],
    }
}

/// What a thread of a kernel keeps in local memory, on a line; `None` if nothing.
fn spills(usage: &Usage) -> Option<String> {
    let stack_bytes = usage.stack_bytes.max(usage.cumulative_stack_bytes);
    let spilled = [usage.spill_store_bytes, usage.spill_load_bytes];
    (stack_bytes > 0 || spilled != [0; 2]).then(|| {
        format!(
            "{}: {} registers, {stack_bytes} bytes stack, {} bytes spill stores, {} bytes spill loads\n",
            usage.symbol, usage.registers, usage.spill_store_bytes, usage.spill_load_bytes
        )
    })
}

/// The remark on a line, if it is that products of matrices wait for one another.
fn serialized(remark: &Remark) -> Option<String> {
    let symbol = remark.symbol.as_deref().unwrap_or("some function");
    remark.serializes_wgmma().then(|| format!("{symbol}: {remark}\n"))
}
