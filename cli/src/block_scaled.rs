//! `tilewright block-scaled`: NVFP4, MXFP4 and MXFP8 products, planned, simulated and compared.

use clap::{Args, ValueEnum};
use cuda_sim::{Report, Schedule};
use half::{bf16, f16};
use serde::Serialize;
use tilewright::block_scaled::{
    BLOCK_SCALED_KERNELS, BlockFormat, BlockScaled, BlockScaledGemm, BlockScaledKernel, Plan, Policy, ScaleSource,
    Summary, check, plan, simulate,
};
use tilewright::check::DEFAULT_SEED;
use tilewright::device::DeviceProfile;
use tilewright::random::random_matrix;
use tilewright::{Bytes, DType, Element, OutputOf, SimOptions};

use crate::failure::{Failure, Result};
use crate::scaled::{Simulation, ended, outcome, staged, table};
use crate::{kernels, output};

/// Multiply block-scaled matrices (NVFP4, MXFP4, MXFP8) as a GPU of compute capability 12.x would
///
/// Random matrices are quantized, the product is planned for the 99 KiB of such a GPU and simulated, every access
/// checked, and every element compared with the CPU's reference. The kernels have never run on hardware.
#[derive(Args)]
pub struct Command {
    /// List the kernels and their budgets
    #[arg(long)]
    list: bool,
    /// The format: nvfp4, mxfp4 or mxfp8; without it the kernel's, or nvfp4
    #[arg(long)]
    format: Option<String>,
    /// Rows of A and C
    #[arg(short, value_name = "ROWS", default_value_t = 256)]
    m: usize,
    /// Columns of B and C
    #[arg(short, value_name = "COLUMNS", default_value_t = 256)]
    n: usize,
    /// Columns of A, rows of B: a multiple of 32
    #[arg(short, value_name = "INNER", default_value_t = 512)]
    k: usize,
    /// The kernel, by its symbol; without it the fastest by the model
    #[arg(long, value_name = "SYMBOL")]
    kernel: Option<String>,
    /// Stages of the pipeline; without it as many as fit, up to five
    #[arg(long)]
    stages: Option<u32>,
    /// Where warps load scales from: the stage, or L2
    #[arg(long, value_enum)]
    scales: Option<Scales>,
    /// The type of C: bf16, f16 or f32
    #[arg(long, value_name = "TYPE", default_value = "bf16")]
    output: String,
    /// The architecture whose limits hold: sm_120 or sm_121
    #[arg(long, default_value = "sm_120")]
    arch: String,
    /// The order of threads and blocks: forward, reverse, random, preempt, or standard or all
    #[arg(long, value_name = "ORDER", default_value = "forward")]
    schedule: String,
    /// The seed of the operands
    #[arg(long, default_value_t = DEFAULT_SEED)]
    seed: u64,
    /// Run even if it is large, or takes more memory than there is
    #[arg(long)]
    yes: bool,
}

/// Where warps load scales from.
#[derive(Clone, Copy, ValueEnum)]
enum Scales {
    /// Shared memory, beside A and B
    Stage,
    /// Global memory, which L2 holds
    L2,
}

/// A kernel in the list.
#[derive(Serialize)]
struct Row {
    kernel: &'static str,
    format: &'static str,
    tile: [u32; 3],
    threads: u32,
    /// Elements of A and of B, scales of A and of B.
    stage_bytes: [u32; 4],
    most_stages: u32,
    /// With so many.
    dynamic_bytes: u32,
    strategy: &'static str,
}

/// What `--json` prints of a product.
#[derive(Serialize)]
struct Listing {
    m: usize,
    n: usize,
    k: usize,
    format: &'static str,
    output: &'static str,
    seed: u64,
    arch: &'static str,
    plan: Summary,
    /// Whether the simulator found nothing wrong.
    clean: bool,
    /// Whether C is the product, up to rounding.
    equal: bool,
    /// What the comparison found.
    verdict: String,
    /// What the simulator found; null for an empty C.
    report: Option<Report>,
}

/// Runs the command.
pub fn run(command: &Command, json: bool) -> Result<()> {
    let architecture = cuda_arch::find(&command.arch).map_err(|unknown| Failure::input(unknown.to_string()))?;
    let device = DeviceProfile::of_arch(architecture);
    if command.list {
        if !BlockScaledKernel::runs_on(device.compute_capability) {
            return Err(Failure::input(format!(
                "{} runs none of these kernels, sm_120 and sm_121 do",
                architecture.name
            )));
        }
        return list(Bytes(architecture.smem_per_block_optin), json);
    }
    let kernel = match &command.kernel {
        None => None,
        Some(symbol) => Some(BlockScaledKernel::named(symbol).ok_or_else(|| {
            Failure::input(format!(
                "`{symbol}`: no block-scaled kernel; `tilewright block-scaled --list` has them"
            ))
        })?),
    };
    let format = match (&command.format, kernel) {
        (Some(name), _) => name
            .parse()
            .map_err(|problem| Failure::input(format!("`{name}`: {problem}")))?,
        (None, Some(kernel)) => kernel.tile.format,
        (None, None) => BlockFormat::Nvfp4,
    };
    let policy = Policy {
        kernel,
        stages: command.stages,
        scales: command.scales.map(|scales| match scales {
            Scales::Stage => ScaleSource::Stage,
            Scales::L2 => ScaleSource::L2,
        }),
    };
    let output_dtype = kernels::parse_dtype(&command.output)?;
    // A C of f32 is of any kernel.
    let narrow = match (output_dtype, kernel) {
        (DType::F32, Some(kernel)) => kernel.output,
        (DType::F32, None) => DType::Bf16,
        (dtype, _) => dtype,
    };
    let plan = plan(format, [command.m, command.n, command.k], narrow, &device, &policy)?;
    let kernel = plan.kernel();
    let simulation = Simulation {
        symbol: kernel.symbol,
        extents: plan.extents(),
        tile: [kernel.tile.m, kernel.tile.n],
        ctas: plan.ctas(),
        bytes_of_element: 12,
    };
    simulation.ensure_affordable(command.yes)?;
    let options = SimOptions {
        architecture,
        schedule: command.schedule.parse::<Schedule>().map_err(Failure::input)?,
        ..SimOptions::default()
    };
    let listing = match (narrow, output_dtype) {
        (DType::F16, DType::F32) => listing::<f16, f32>,
        (DType::F16, _) => listing::<f16, f16>,
        (_, DType::F32) => listing::<bf16, f32>,
        _ => listing::<bf16, bf16>,
    };
    let listing = listing(command, &plan, plan.summary(&device), &options)?;
    if json {
        output::print_json(&listing)?;
    } else {
        output::print(&describe(&listing))?;
    }
    let wrong = (!listing.equal).then(|| listing.verdict.clone());
    ended(listing.plan.kernel, listing.report.as_ref(), wrong)
}

/// Quantizes, simulates and compares.
fn listing<E, C>(command: &Command, plan: &Plan, summary: Summary, options: &SimOptions) -> Result<Listing>
where
    E: Element<Accumulator = f32>,
    C: OutputOf<E>,
{
    let format = plan.kernel().tile.format;
    let (m, n, k) = (command.m, command.n, command.k);
    let quantized = |seed, rows: usize| {
        let elements = random_matrix::<f32>(seed, rows * k);
        BlockScaled::quantize(format, rows, k, &elements)
    };
    let (a, b) = (quantized(command.seed, m)?, quantized(command.seed.wrapping_add(1), n)?);
    let gemm = BlockScaledGemm::<E>::new(&a, &b)?;
    let bar = output::spinner();
    let product = simulate(plan, &gemm, None::<&[C]>, options)?;
    bar.finish_and_clear();
    let verdict = check(&gemm, None, &product.c)?;
    Ok(Listing {
        m,
        n,
        k,
        format: format.name(),
        output: C::DTYPE.name(),
        seed: command.seed,
        arch: options.architecture.name,
        plan: summary,
        clean: product.report.as_ref().is_none_or(Report::is_clean),
        equal: verdict.passed(),
        verdict: verdict.to_string(),
        report: product.report,
    })
}

/// The listing for people.
fn describe(listing: &Listing) -> String {
    let Summary {
        kernel,
        stages,
        stage_bytes,
        dynamic_bytes,
        limit_bytes,
        ctas,
        threads,
    } = listing.plan;
    let Listing {
        m,
        n,
        k,
        format,
        output,
        ..
    } = listing;
    let mut rows = vec![
        (
            "product",
            format!("{m} x {n} x {k} (m x n x k), {format}, C of {output}"),
        ),
        ("kernel", format!("{kernel}, {ctas} CTAs of {threads} threads")),
        ("operand A", staged(stage_bytes[0], stages)),
        ("operand B", staged(stage_bytes[1], stages)),
        ("scales of A", staged(stage_bytes[2], stages)),
        ("scales of B", staged(stage_bytes[3], stages)),
        ("mbarriers", staged(16, stages)),
    ];
    rows.extend(outcome(
        [dynamic_bytes, limit_bytes],
        listing.report.as_ref(),
        listing.equal,
        &listing.verdict,
    ));
    table(rows, listing.report.as_ref())
}

/// Which of the budget guide's strategies a kernel is.
fn strategy(kernel: &BlockScaledKernel) -> &'static str {
    let tile = kernel.tile;
    match (tile.format, tile.m, tile.n, tile.scales) {
        (_, _, _, ScaleSource::L2) => "E: scales from L2",
        (_, 128, 256, _) => "B: the guide's tile, accumulators in registers",
        (_, _, 64, _) => "A: half of the columns",
        (_, 64, _, _) => "A: half of the rows",
        _ => "",
    }
}

/// Lists the kernels and what fits into a CTA.
fn list(limit: Bytes, json: bool) -> Result<()> {
    let rows = BLOCK_SCALED_KERNELS.iter().map(|kernel| {
        let tile = kernel.tile;
        let most_stages = tile.most_stages(limit);
        Row {
            kernel: kernel.symbol,
            format: tile.format.name(),
            tile: [tile.m, tile.n, tile.k],
            threads: tile.threads(),
            stage_bytes: [
                tile.a_bytes(),
                tile.b_bytes(),
                tile.scale_bytes(tile.m),
                tile.scale_bytes(tile.n),
            ],
            most_stages,
            dynamic_bytes: tile.smem(most_stages).dynamic_bytes().get(),
            strategy: strategy(kernel),
        }
    });
    let rows: Vec<_> = rows.collect();
    if json {
        return output::print_json(&rows);
    }
    let mut table = output::table();
    table.set_header([
        "kernel",
        "A",
        "B",
        "scales",
        "a stage",
        "most stages",
        "bytes",
        "strategy",
    ]);
    for row in &rows {
        let [a, b, scale_a, scale_b] = row.stage_bytes;
        table.add_row([
            row.kernel.to_owned(),
            a.to_string(),
            b.to_string(),
            format!("{scale_a} + {scale_b}"),
            (a + b + scale_a + scale_b).to_string(),
            row.most_stages.to_string(),
            row.dynamic_bytes.to_string(),
            row.strategy.to_owned(),
        ]);
    }
    output::right_align(&mut table, 1..7);
    let text = output::render(table);
    output::print(&format!(
        "{text}\nBytes of shared memory; a CTA has {} B. C: any kernel with fewer --stages. D is of kernels that stage \
         intermediate\nvalues: `tilewright plan --template flash-attention`.\n",
        limit.get()
    ))
}
