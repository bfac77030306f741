//! The options of `#[kernel(..)]` across the crates: what the source says is what the PTX says, and what the host knows
//! when it launches.

use std::collections::BTreeMap;

use cuda_sim::{FaultKind, GlobalBuffer, KernelAttributes, Launch, Limits};
use cuda_std::kernel;
use cuda_std_corpus::attributes::{bounded_line, bounded_square};

/// The corpus as the build script compiled it.
const CORPUS: &str = include_str!(concat!(env!("OUT_DIR"), "/corpus.ptx"));

/// The threads of a block of [`paired`].
const LANES: u32 = 32;

/// A kernel of this test alone, as is [`spilling`]: the corpus is compiled for 7.5, which has no clusters, and for old
/// drivers, which know no pragma.
///
/// # Safety
/// `out` must be valid for writes.
#[kernel(cluster = (2, 1, 2), max_threads = LANES)]
unsafe fn paired(out: *mut u32) {
    // SAFETY: the caller's promise.
    unsafe { *out = 1 }
}

/// A kernel that says all that needs no number of threads.
///
/// # Safety
/// `out` must be valid for writes.
#[kernel(max_registers = 40, smem_spilling, assume_max_threads)]
unsafe fn spilling(out: *mut u32) {
    // SAFETY: the caller's promise.
    unsafe { *out = 1 }
}

fn attributes(name: &str) -> &'static KernelAttributes {
    let mut found = cuda_sim::device::kernels().iter().filter(|kernel| kernel.name == name);
    let attributes = found.next().unwrap_or_else(|| panic!("no kernel {name}"));
    assert_eq!(found.next(), None, "two kernels {name}");
    attributes
}

/// The directives of each entry of the corpus.
fn directives() -> BTreeMap<&'static str, Vec<&'static str>> {
    let entries = CORPUS.split(".visible .entry ").skip(1);
    entries
        .map(|entry| {
            let (name, rest) = entry.split_once('(').expect("parameters");
            let head = rest.split("\n{").next().expect("a head");
            let lines = head.lines().filter(|line| line.starts_with('.'));
            (
                name,
                lines
                    .map(|line| line.split("//").next().expect("a part").trim())
                    .collect(),
            )
        })
        .collect()
}

#[test]
fn the_ptx_has_the_directives_of_the_source() {
    let mut directives = directives();
    let mut of = |name| directives.remove(name).expect("a kernel of the corpus");
    assert_eq!(
        of("bounded_square"),
        [".maxntid 16, 8", ".minnctapersm 2", ".maxnreg 64"]
    );
    assert_eq!(of("corpus_bounded_line"), [".maxntid 64"]);
    for (name, others) in directives {
        assert!(others.is_empty(), "{name}: {others:?}");
    }
    assert!(!CORPUS.contains("__cuda_std_kernel"), "marks stay behind");
    assert!(
        CORPUS.contains(".version 7.8\n"),
        "what asks for no pragma is for old drivers too"
    );
}

#[test]
fn the_host_knows_what_the_source_says() {
    assert_eq!(
        *attributes("bounded_square"),
        KernelAttributes {
            name: "bounded_square",
            path: "cuda_std_corpus::attributes::bounded_square",
            max_threads: Some([16, 8, 1]),
            min_blocks: Some(2),
            max_registers: Some(64),
            cluster: None,
            smem_spilling: false,
            assume_max_threads: false,
        }
    );
    assert_eq!(attributes("corpus_bounded_line").max_threads, Some([64, 1, 1]));
    assert_eq!(attributes("paired").cluster, Some([2, 1, 2]));
    assert_eq!(attributes("paired").max_threads, Some([LANES, 1, 1]));
    let spilling = attributes("spilling");
    assert!(spilling.smem_spilling && spilling.assume_max_threads && spilling.max_threads.is_none());
}

/// The one fault of a launch; nothing of it may have run.
#[track_caller]
fn refused(launch: Launch, kernel: unsafe fn(*mut u32)) -> String {
    let out = GlobalBuffer::<u32>::zeroed(4096);
    // SAFETY: there is a word for each thread.
    let report = launch.run(|| unsafe { kernel(out.as_mut_ptr()) });
    assert_eq!(out.to_vec(), [0; 4096], "something ran");
    match report.faults.as_slice() {
        [fault] => match &fault.kind {
            FaultKind::LaunchShape { problem } => problem.clone(),
            other => panic!("{other}"),
        },
        others => panic!("not one fault: {others:?}"),
    }
}

#[test]
fn the_simulator_refuses_a_block_that_is_too_large() {
    // Many blocks on many workers still are one fault.
    let problem = refused(Launch::new(16, (16, 9)).workers(4), bounded_square);
    assert_eq!(
        problem,
        "a block of 16 x 9 x 1 = 144 threads, kernel `bounded_square` is compiled for at most 128 (max_threads)"
    );
    let problem = refused(Launch::new(1, 65), bounded_line);
    assert!(
        problem.contains("65 threads, kernel `corpus_bounded_line` is compiled for at most 64"),
        "{problem}"
    );
}

#[test]
fn the_simulator_refuses_a_grid_that_is_not_made_of_clusters() {
    let problem = refused(Launch::new((4, 3, 3), LANES), paired);
    assert_eq!(
        problem,
        "a grid of 3 blocks along z, kernel `paired` needs a multiple of 2 (cluster)"
    );
    let ampere = Limits::of_arch("sm_86").expect("in the table");
    let problem = refused(Launch::new((4, 3, 2), LANES).limits(ampere), paired);
    assert!(problem.contains("8.6 has none"), "{problem}");
}

#[test]
fn what_is_within_the_attributes_runs() {
    let out = GlobalBuffer::<u32>::zeroed(128);
    // SAFETY: a block of 128 threads writes 128 words, in any shape of which the product is within the limit.
    let report = Launch::new(1, (16, 8)).run(|| unsafe { bounded_square(out.as_mut_ptr()) });
    report.assert_clean();
    assert_eq!(out.to_vec()[11], 121);
    // SAFETY: one word, which every thread sets to 1.
    let report = Launch::new((2, 5, 2), LANES)
        .checks(cuda_sim::Checks::Off)
        .run(|| unsafe { paired(out.as_mut_ptr()) });
    report.assert_clean();
}

#[test]
fn outside_a_launch_a_kernel_is_a_function() {
    let mut word = 0;
    // SAFETY: a word of this thread's own.
    unsafe { spilling(&mut word) };
    assert_eq!(word, 1);
}
