//! NVIDIA's occupancy model, `cuda_occupancy.h`, compiled into a program that is asked through its standard input.
//!
//! The header is NVIDIA's and no part of this repository: `cargo xtask setup` fetches it, as it does `ptxas`.

use std::env;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::thread;

use cuda_arch::Architecture;
use tilewright_plan::occupancy::{BlockUse, Limiter, Occupancy, largest_dynamic_bytes, occupancy};

/// What is asked of both models.
#[derive(Clone, Debug)]
pub struct Question<'a> {
    /// The device.
    pub arch: &'a Architecture,
    /// The block.
    pub block: BlockUse,
    /// The dynamic shared memory that the function has opted in to; at least the block's.
    pub opted_in_bytes: u64,
    /// For the inverse: how much dynamic shared memory may so many blocks have?
    pub blocks: u32,
}

/// The numbers of an answer. The program prints them in this order; -1 is "no limit" or "no answer".
const FIELDS: [&str; 14] = [
    "resident blocks",
    "limiting factors",
    "blocks by shared memory",
    "blocks by registers",
    "blocks by warps",
    "blocks by slots",
    "blocks by barriers",
    "blocks by virtual resources",
    "allocated shared memory",
    "allocated registers",
    "carve-out",
    "available dynamic shared memory",
    "resident blocks with the largest dynamic shared memory, or with none",
    "resident blocks with one byte more",
];

type Answer = [i64; FIELDS.len()];

/// Asks both models, and fails at the first answer that differs. How often ours named each limiter.
pub fn compare(questions: &[Question]) -> [usize; LIMITERS.len()] {
    let ours: Vec<_> = questions.iter().map(ask_ours).collect();
    let input: String = questions
        .iter()
        .zip(&ours)
        .map(|(question, ours)| line(question, ours))
        .collect();
    let theirs = ask_header(&input);
    assert_eq!(theirs.len(), questions.len(), "the program answers every question");
    let mut limiters = [0; LIMITERS.len()];
    for (i, ((question, ours), theirs)) in questions.iter().zip(&ours).zip(&theirs).enumerate() {
        for (field, (ours, theirs)) in FIELDS.iter().zip(ours.answer.iter().zip(theirs)) {
            assert_eq!(
                ours, theirs,
                "{field}, ours and the header's, of question {i}: {question:#?}"
            );
        }
        // By the header's own count: the largest is large enough, and not too large.
        let [.., at_largest, above] = *theirs;
        let blocks = i64::from(question.blocks);
        match ours.largest {
            Some(_) => assert!(at_largest >= blocks && blocks > above, "question {i}: {question:#?}"),
            None => assert!(at_largest < blocks || blocks == 0, "question {i}: {question:#?}"),
        }
        limiters[flag(ours.limiter).trailing_zeros() as usize] += 1;
    }
    limiters
}

/// The limiters by their bits in `cudaOccLimitingFactor`.
pub const LIMITERS: [Limiter; 6] = [
    Limiter::Warps,
    Limiter::Registers,
    Limiter::SharedMemory,
    Limiter::Blocks,
    Limiter::Barriers,
    Limiter::VirtualResources,
];

fn flag(limiter: Limiter) -> u32 {
    let bit = LIMITERS.iter().position(|of_bit| *of_bit == limiter);
    1 << bit.expect("every limiter has a bit")
}

/// What our model says.
struct Ours {
    answer: Answer,
    limiter: Limiter,
    /// The inverse.
    largest: Option<u64>,
}

fn ask_ours(question: &Question) -> Ours {
    let Question { arch, block, .. } = question;
    let o = occupancy(arch, block);
    assert_eq!(o.limiters().next(), Some(o.limiter), "{question:#?}");
    assert_eq!(
        o.warps_per_sm,
        o.blocks_per_sm * block.threads.div_ceil(32),
        "{question:#?}"
    );

    let largest = largest_dynamic_bytes(arch, question.blocks, block);
    let resident = |dynamic_bytes| {
        let block = BlockUse {
            dynamic_bytes,
            ..*block
        };
        i64::from(occupancy(arch, &block).blocks_per_sm)
    };
    let limit = |blocks: Option<u32>| blocks.map_or(-1, i64::from);
    let answer = [
        o.blocks_per_sm.into(),
        factors(&o).into(),
        limit(o.by_shared_memory),
        limit(o.by_registers),
        o.by_warps.into(),
        o.by_blocks.into(),
        limit(o.by_barriers),
        limit(o.by_virtual_resources),
        number(o.allocated_bytes),
        number(o.allocated_registers),
        number(o.carveout_bytes),
        // The header forgets that a part of each block is reserved.
        largest.map_or(-1, |bytes| number(bytes + u64::from(arch.smem_reserved_per_block))),
        resident(largest.unwrap_or(0)),
        largest.map_or(-1, |bytes| resident(bytes + 1)),
    ];
    Ours {
        answer,
        limiter: o.limiter,
        largest,
    }
}

/// The limiting factors as the header reports them: where the barriers alone are the limit, what would be without them
/// as well.
fn factors(occupancy: &Occupancy) -> u32 {
    let others = || {
        occupancy
            .limits()
            .into_iter()
            .filter(|(limiter, _)| *limiter != Limiter::Barriers)
    };
    let without_barriers = others().filter_map(|(_, blocks)| blocks).min();
    let kept = others()
        .filter(|(_, blocks)| *blocks == without_barriers)
        .map(|(limiter, _)| limiter);
    occupancy
        .limiters()
        .chain(kept)
        .map(flag)
        .fold(0, |flags, flag| flags | flag)
}

fn number(value: u64) -> i64 {
    value.try_into().expect("no question is about that much")
}

/// A question as the program reads it.
fn line(question: &Question, ours: &Ours) -> String {
    let Question { arch, block, .. } = question;
    let device = [
        arch.compute_capability.major,
        arch.compute_capability.minor,
        arch.threads_per_block,
        arch.threads_per_sm,
        arch.registers_per_block,
        arch.registers_per_sm,
        arch.warp_size,
        arch.smem_per_block,
        arch.smem_per_sm,
        arch.smem_per_block_optin,
        arch.smem_reserved_per_block,
    ];
    let of_block = [
        block.threads.into(),
        block.registers_per_thread.into(),
        number(block.static_bytes),
        number(block.dynamic_bytes),
        number(question.opted_in_bytes),
        block.carveout_percent.map_or(-1, i64::from),
        block.barriers.into(),
        block.virtual_resources.into(),
        question.blocks.into(),
        ours.largest.map_or(-1, number),
    ];
    let mut line = String::new();
    for number in device.map(i64::from).iter().chain(&of_block) {
        write!(line, "{number} ").expect("a string takes everything");
    }
    line.push('\n');
    line
}

/// The program's answers, one a line.
fn ask_header(input: &str) -> Vec<Answer> {
    static PROGRAM: LazyLock<Result<PathBuf, String>> = LazyLock::new(compile);
    let program = PROGRAM.as_ref().unwrap_or_else(|why| panic!("{why}"));
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("stdin is piped");
    let stdout = BufReader::new(child.stdout.take().expect("stdout is piped"));
    let answers = thread::scope(|scope| {
        // From another thread: the program answers while it is being asked. What it does not read, it does not answer.
        scope.spawn(move || _ = stdin.write_all(input.as_bytes()));
        stdout
            .lines()
            .map(|line| parse(&line.expect("the program writes lines")))
            .collect()
    });
    let status = child.wait().expect("the program is a child of ours");
    assert!(status.success(), "{}: {status}", program.display());
    answers
}

fn parse(line: &str) -> Answer {
    let numbers: Vec<_> = line.split(' ').filter_map(|number| number.parse().ok()).collect();
    numbers.try_into().unwrap_or_else(|_| panic!("not an answer: `{line}`"))
}

/// Compiles the program, with `cc` or what `CC` says.
fn compile() -> Result<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let include = root.join("target/cuda-tools/include");
    let header = include.join("cuda_occupancy.h");
    if !header.exists() {
        return Err(format!("{} is missing: run `cargo xtask setup`", header.display()));
    }
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("occupancy");
    let cc = env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let mut words = cc.split_whitespace();
    let output = Command::new(words.next().unwrap_or_default())
        .args(words)
        .args(["-std=c99", "-O1", "-isystem"])
        .arg(&include)
        .arg("-o")
        .args([&program, &root.join("tests/oracle/occupancy.c")])
        .output()
        .map_err(|error| format!("no C compiler: `{cc}` does not start ({error}): run `cargo xtask setup`"))?;
    if !output.status.success() {
        let report = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`{cc}` does not compile tests/oracle/occupancy.c:\n{report}"));
    }
    Ok(program)
}
