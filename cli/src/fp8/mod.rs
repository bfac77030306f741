//! `tilewright fp8`: FP8 products on Hopper, planned, simulated and compared.

mod operands;
mod quantize;

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use cuda_sim::{Report, Schedule};
use half::{bf16, f16};
use serde::Serialize;
use tilewright::check::DEFAULT_SEED;
use tilewright::device::DeviceProfile;
use tilewright::fp8::{
    Arithmetic, FP8_KERNELS, Fp8, Fp8Accumulation, Fp8Gemm, Fp8Kernel, Fp8Mode, Fp8Problem, Fp8Products, Fp8Scaling,
    Major, Plan, Policy, Summary, check, default_architecture, plan, simulate,
};
use tilewright::{DType, Element, OutputOf, SimOptions};

use self::operands::Operand;
use crate::destination::Destination;
use crate::failure::{Failure, Result};
use crate::npy::{self, Descr, Scalar};
use crate::scaled::{Simulation, ended, outcome, staged, table};
use crate::{kernels, output};

/// Multiply FP8 matrices (e4m3, e5m2) with scales as a Hopper GPU would
///
/// Matrices, random ones or those of .npy files, are quantized, the product is planned for compute capability 9.0 and
/// simulated, every access checked, and every element compared with the CPU's reference. No speeds of the kernels are
/// known yet.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true, disable_help_subcommand = true)]
pub struct Command {
    #[command(subcommand)]
    action: Option<Action>,
    /// The file of A, m x k: f32 or f16, which is quantized, or FP8 elements as uint8 with --a-scales
    #[arg(value_name = "A", requires = "b_file")]
    a_file: Option<PathBuf>,
    /// The file of B as its columns, n x k: the same with --b-scales
    #[arg(value_name = "B")]
    b_file: Option<PathBuf>,
    /// The f32 scales of A's elements: `tensor` (1,), `row` (m,), `blocks` (K-blocks, m)
    #[arg(long, value_name = "SCALES", requires = "a_file")]
    a_scales: Option<PathBuf>,
    /// The f32 scales of B's elements: `tensor` (1,), `row` (n,), `blocks` (blocks of n, K-blocks)
    #[arg(long, value_name = "SCALES", requires = "b_file")]
    b_scales: Option<PathBuf>,
    /// Where to write C, m x n, once it equals the reference; the file appears complete or not at all
    #[arg(short, long, value_name = "C")]
    out: Option<PathBuf>,
    /// Read 16-bit words (u2, or V2 as ml_dtypes writes them) as bfloat16
    #[arg(long, requires = "a_file")]
    bf16: bool,
    /// List the kernels and their shared memory
    #[arg(long)]
    list: bool,
    /// Rows of A and C
    #[arg(short, value_name = "ROWS", default_value_t = 256, conflicts_with = "a_file")]
    m: usize,
    /// Columns of B and C
    #[arg(short, value_name = "COLUMNS", default_value_t = 256, conflicts_with = "a_file")]
    n: usize,
    /// Columns of A, rows of B: a multiple of 16
    #[arg(short, value_name = "INNER", default_value_t = 512, conflicts_with = "a_file")]
    k: usize,
    /// The format of A: e4m3 or e5m2; without it the kernel's, or e4m3
    #[arg(long, value_name = "FORMAT")]
    a: Option<String>,
    /// The format of B: e4m3 or e5m2; without it the kernel's, or e4m3
    #[arg(long, value_name = "FORMAT")]
    b: Option<String>,
    /// Which elements share a scale; without it those of the kernel, or blocks
    #[arg(long, value_enum)]
    scales: Option<Scales>,
    /// Accumulate by the tensor cores alone, without promotion
    #[arg(long)]
    fast: bool,
    /// The kernel, by its symbol; without it the fastest by the model
    #[arg(long, value_name = "SYMBOL")]
    kernel: Option<String>,
    /// How the simulator adds products up: exact, or truncated to 14 bits as Hopper does
    #[arg(long, value_enum, default_value = "exact")]
    accumulation: Accumulation,
    /// The type of C: bf16, f16 or f32
    #[arg(long, value_name = "TYPE", default_value = "bf16")]
    output: String,
    /// The order of threads and blocks: forward, reverse, random, preempt, or standard or all
    #[arg(long, value_name = "ORDER", default_value = "forward")]
    schedule: String,
    /// The seed of the operands
    #[arg(long, default_value_t = DEFAULT_SEED, conflicts_with = "a_file")]
    seed: u64,
    /// Run even if it is large, or takes more memory than there is
    #[arg(long)]
    yes: bool,
}

/// What else it does.
#[derive(Subcommand)]
enum Action {
    Quantize(quantize::Command),
}

/// Which elements share a scale.
#[derive(Clone, Copy, ValueEnum)]
enum Scales {
    /// All of a matrix
    Tensor,
    /// A row of A, a column of B
    Row,
    /// 1x128 of A, 128x128 of B
    Blocks,
}

impl Scales {
    const ALL: [Self; 3] = [Self::Tensor, Self::Row, Self::Blocks];

    /// As the option has it.
    fn name(self) -> &'static str {
        match self {
            Self::Tensor => "tensor",
            Self::Row => "row",
            Self::Blocks => "blocks",
        }
    }

    /// Of A and of B.
    fn of_operands(self) -> [Fp8Scaling; 2] {
        match self {
            Self::Tensor => [Fp8Scaling::Tensor; 2],
            Self::Row => [Fp8Scaling::Rows; 2],
            Self::Blocks => [Fp8Scaling::Rows128, Fp8Scaling::Blocks128],
        }
    }
}

/// How the simulator adds up.
#[derive(Clone, Copy, ValueEnum)]
enum Accumulation {
    /// Exactly within an instruction, rounded to f32
    Exact,
    /// A model of Hopper's 14 bits
    Truncated,
}

/// A kernel in the list.
#[derive(Serialize)]
struct Row {
    kernel: &'static str,
    mode: &'static str,
    formats: [&'static str; 2],
    output: &'static str,
    tile: [u32; 3],
    cluster: u32,
    stages: u32,
    threads: u32,
    /// A, B, scales of A.
    stage_bytes: [u32; 3],
    c_bytes: u32,
    dynamic_bytes: u32,
}

/// What `--json` prints of a product.
#[derive(Serialize)]
struct Listing {
    m: usize,
    n: usize,
    k: usize,
    formats: [&'static str; 2],
    scalings: [&'static str; 2],
    output: &'static str,
    accumulation: Fp8Accumulation,
    /// Of random operands; null of files.
    seed: Option<u64>,
    /// What A and B are made of.
    operands: [String; 2],
    /// The file of C; null where none was written.
    out: Option<PathBuf>,
    plan: Summary,
    /// Whether the simulator found nothing wrong.
    clean: bool,
    /// Whether C is the product, up to rounding.
    equal: bool,
    /// What the comparison found.
    verdict: String,
    /// The farthest element's error over its reference; null for an empty C.
    relative_error: Option<f64>,
    /// What the simulator found; null for an empty C.
    report: Option<Report>,
}

/// Runs the command.
pub fn run(command: &Command, json: bool) -> Result<()> {
    if let Some(Action::Quantize(command)) = &command.action {
        return quantize::run(command, json);
    }
    let device = DeviceProfile::of_arch(default_architecture());
    if command.list {
        return list(device.smem_per_block_optin, json);
    }
    let kernel =
        match &command.kernel {
            None => None,
            Some(symbol) => Some(Fp8Kernel::named(symbol).ok_or_else(|| {
                Failure::input(format!("`{symbol}`: no FP8 kernel; `tilewright fp8 --list` has them"))
            })?),
        };
    let format = |name: &Option<String>, at: usize| match (name, kernel) {
        (Some(name), _) => format_named(name),
        (None, Some(kernel)) => Ok(kernel.formats[at]),
        (None, None) => Ok(Fp8::E4m3),
    };
    let scales = match (command.scales, kernel) {
        (Some(scales), _) => scales,
        (None, Some(kernel)) if kernel.mode != Fp8Mode::Blocks => Scales::Tensor,
        (None, None) if command.fast => Scales::Tensor,
        (None, _) => Scales::Blocks,
    };
    let output_dtype = kernels::parse_dtype(&command.output)?;
    // A C of f32 is of any kernel.
    let narrow = match (output_dtype, kernel) {
        (DType::F32, Some(kernel)) => kernel.output,
        (DType::F32, None) => DType::Bf16,
        (dtype, _) => dtype,
    };
    let formats = [format(&command.a, 0)?, format(&command.b, 1)?];
    let operands = operands(command)?;
    let [[m, k], [n, _]] = [operands[0].extents(), operands[1].extents()];
    let problem = Fp8Problem {
        formats,
        scalings: scales.of_operands(),
        majors: [Major::K; 2],
        extents: [m, n, k],
        products: Fp8Products::One,
        output: narrow,
    };
    let policy = Policy {
        kernel,
        fast: command.fast,
        ..Policy::default()
    };
    let plan = plan(&problem, &device, &policy)?;
    for (operand, (what, scaling)) in operands.iter().zip(["A", "B"].into_iter().zip(problem.scalings)) {
        operand.check_scales(what, scaling)?;
    }
    let kernel = plan.kernel();
    let simulation = Simulation {
        symbol: kernel.symbol,
        extents: plan.extents(),
        tile: [kernel.tile.m, kernel.tile.n],
        ctas: plan.ctas(),
        bytes_of_element: 16,
    };
    simulation.ensure_affordable(command.yes)?;
    let options = SimOptions {
        architecture: default_architecture(),
        schedule: command.schedule.parse::<Schedule>().map_err(Failure::input)?,
        fp8_accumulation: match command.accumulation {
            Accumulation::Exact => Fp8Accumulation::Exact,
            Accumulation::Truncated => Fp8Accumulation::Truncated,
        },
        ..SimOptions::default()
    };
    let listing = match (narrow, output_dtype) {
        (DType::F16, DType::F32) => listing::<f16, f32>,
        (DType::F16, _) => listing::<f16, f16>,
        (_, DType::F32) => listing::<bf16, f32>,
        _ => listing::<bf16, bf16>,
    };
    let destination = command.out.as_deref().map(Destination::new).transpose()?;
    let listing = listing(command, &plan, plan.summary(&device), operands, destination, &options)?;
    if json {
        output::print_json(&listing)?;
    } else {
        output::print(&describe(&listing))?;
    }
    let wrong = (!listing.equal).then(|| listing.verdict.clone());
    ended(listing.plan.kernel, listing.report.as_ref(), wrong)
}

/// A format by its name.
fn format_named(name: &str) -> Result<Fp8> {
    name.parse()
        .map_err(|problem| Failure::input(format!("`{name}`: {problem}")))
}

/// A and B, of files where they are named.
fn operands(command: &Command) -> Result<[Operand; 2]> {
    let (Some(of_a), Some(of_b)) = (&command.a_file, &command.b_file) else {
        let random = |at, rows| Operand::Random {
            seed: command.seed.wrapping_add(at),
            extents: [rows, command.k],
        };
        return Ok([random(0, command.m), random(1, command.n)]);
    };
    let scales = [command.a_scales.as_ref(), command.b_scales.as_ref()];
    Operand::pair([of_a, of_b], scales, command.bf16)
}

/// Reads or quantizes, simulates and compares, and writes a C that is right.
fn listing<E, C>(
    command: &Command,
    plan: &Plan,
    summary: Summary,
    operands: [Operand; 2],
    destination: Option<Destination>,
    options: &SimOptions,
) -> Result<Listing>
where
    E: Element<Accumulator = f32>,
    C: OutputOf<E> + Scalar,
{
    let [m, n, k] = plan.extents();
    let Fp8Problem { formats, scalings, .. } = *plan.problem();
    let descr = match C::DTYPE {
        DType::F16 => Descr::F16,
        DType::Bf16 => Descr::BF16,
        _ => Descr::F32,
    };
    if let Some(destination) = &destination {
        let bytes = npy::file_bytes::<C>(descr, &[m, n]).map_err(|problem| destination.failure(problem))?;
        destination.reserve(bytes)?;
    }
    let origins = [operands[0].origin(), operands[1].origin()];
    let [a, b] = operands;
    let a = a.read("A", formats[0], scalings[0])?;
    let b = b.read("B", formats[1], scalings[1])?;
    let gemm = Fp8Gemm::<E>::new(&a, &b)?;
    let bar = output::spinner();
    let product = simulate(plan, &gemm, None::<&[C]>, options)?;
    bar.finish_and_clear();
    let arithmetic = match options.fp8_accumulation {
        Fp8Accumulation::Exact => Arithmetic::F32,
        Fp8Accumulation::Truncated => Arithmetic::TensorCores,
    };
    let verdict = check(&gemm, plan.kernel().mode, arithmetic, None, &product.c)?;
    let clean = product.report.as_ref().is_none_or(Report::is_clean);
    let written = destination.filter(|_| clean && verdict.passed());
    let out = command.out.clone().filter(|_| written.is_some());
    if let Some(destination) = written {
        npy::write(destination, descr, &[m, n], &product.c)?;
    }
    Ok(Listing {
        m,
        n,
        k,
        formats: formats.map(Fp8::name),
        scalings: scalings.map(Fp8Scaling::name),
        output: C::DTYPE.name(),
        accumulation: options.fp8_accumulation,
        seed: command.a_file.is_none().then_some(command.seed),
        operands: origins,
        out,
        plan: summary,
        clean,
        equal: verdict.passed(),
        relative_error: verdict
            .farthest
            .map(|(_, _, value, reference, _)| (value - reference).abs() / reference.abs()),
        verdict: verdict.to_string(),
        report: product.report,
    })
}

/// The listing for people.
fn describe(listing: &Listing) -> String {
    let Summary {
        kernel,
        mode,
        stages,
        stage_bytes: [a, b, scales],
        c_bytes,
        dynamic_bytes,
        limit_bytes,
        tiles,
        ctas,
        threads,
    } = listing.plan;
    let Listing {
        m,
        n,
        k,
        formats: [of_a, of_b],
        scalings: [scaling_a, scaling_b],
        output,
        ..
    } = listing;
    let promotion = match mode {
        "fast" => "by the tensor cores alone",
        "promoted" => "128 terms, promoted into f32",
        _ => "128 terms, scaled and promoted into f32",
    };
    let mut rows = vec![
        (
            "product",
            format!("{m} x {n} x {k} (m x n x k), {of_a} x {of_b}, C of {output}"),
        ),
        ("scales", format!("{scaling_a} of A, {scaling_b} of B")),
        ("accumulation", promotion.to_owned()),
        (
            "kernel",
            format!("{kernel}, {tiles} tiles in {ctas} CTAs of {threads} threads"),
        ),
        ("operand A", staged(a, stages)),
        ("operand B", staged(b, stages)),
        ("scales of A", staged(scales, stages)),
        ("epilogue", format!("{c_bytes} B")),
        ("mbarriers", staged(16, stages)),
    ];
    rows.extend(outcome(
        [dynamic_bytes, limit_bytes],
        listing.report.as_ref(),
        listing.equal,
        &listing.verdict,
    ));
    if listing.seed.is_none() {
        let [a, b] = &listing.operands;
        rows.splice(1..1, [("A", a.clone()), ("B", b.clone())]);
    }
    if let Some(out) = &listing.out {
        rows.push(("written", out.display().to_string()));
    }
    table(rows, listing.report.as_ref())
}

/// Lists the kernels and what they take of a CTA's shared memory.
fn list(limit_bytes: u32, json: bool) -> Result<()> {
    let rows = FP8_KERNELS.iter().map(|kernel| {
        let (tile, smem) = (kernel.tile, kernel.smem());
        Row {
            kernel: kernel.symbol,
            mode: kernel.mode.name(),
            formats: kernel.formats.map(Fp8::name),
            output: kernel.output.name(),
            tile: [tile.m, tile.n, tile.k],
            cluster: tile.cluster,
            stages: tile.stages,
            threads: tile.threads(),
            stage_bytes: [tile.a_elems(), tile.b_elems(), kernel.mode.scale_bytes(tile)],
            c_bytes: smem.c.get(),
            dynamic_bytes: smem.dynamic_bytes().get(),
        }
    });
    let rows: Vec<_> = rows.collect();
    if json {
        return output::print_json(&rows);
    }
    let mut table = output::table();
    table.set_header(["kernel", "A", "B", "scales", "stages", "C", "bytes", "cluster"]);
    for row in &rows {
        let [a, b, scales] = row.stage_bytes;
        let numbers = [a, b, scales, row.stages, row.c_bytes, row.dynamic_bytes, row.cluster];
        table.add_row(
            [row.kernel.to_owned()]
                .into_iter()
                .chain(numbers.map(|number| number.to_string())),
        );
    }
    output::right_align(&mut table, 1..8);
    let text = output::render(table);
    output::print(&format!(
        "{text}\nBytes of shared memory, A, B and scales of a stage; a CTA has {limit_bytes} B. C is of the type in \
         the name, or of f32.\n"
    ))
}
