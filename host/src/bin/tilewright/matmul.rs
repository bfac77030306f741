//! `tilewright matmul`: multiplies two `.npy` files.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use half::{bf16, f16};
use tilewright::{Backend, DType, Factors, GemmShape, Operand, Options, Report, Transpose, Verify};

use crate::choice::Choice;
use crate::destination::Destination;
use crate::failure::{Failure, Result};
use crate::npy::{self, Scalar, Source};
use crate::{output, simulation};

/// Multiply two .npy files: C = A · B, or scaled and added to a third
#[derive(Args)]
pub struct Command {
    /// A, m x k: f32, f64 or f16, in C or Fortran order
    a: PathBuf,
    /// B, k x n, of the same type
    b: PathBuf,
    /// The file of A holds A transposed, k x m; it is not transposed back
    #[arg(long)]
    trans_a: bool,
    /// The file of B holds B transposed, n x k
    #[arg(long)]
    trans_b: bool,
    /// Multiply the product by this number; f32
    #[arg(long, value_name = "NUMBER", default_value_t = 1.0, allow_negative_numbers = true)]
    alpha: f32,
    /// Add this matrix, m x n, to the product; f32
    #[arg(long, value_name = "C0")]
    add: Option<PathBuf>,
    /// Multiply the matrix that is added by this number, without it by 1
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    beta: Option<f32>,
    /// Where to write C, m x n; the file appears complete or not at all
    #[arg(short, long, value_name = "C")]
    output: PathBuf,
    #[command(flatten)]
    choice: Choice,
    /// How much of C to compare with the CPU's reference
    #[arg(long, value_enum, default_value_t = Compare::None)]
    verify: Compare,
    /// Read 16-bit words (u2, or V2 as ml_dtypes writes them) as bfloat16, and write C in the same kind
    #[arg(long)]
    bf16: bool,
    /// Say why this kernel and this tile, and why not the others
    #[arg(long)]
    explain: bool,
}

/// How much to compare.
#[derive(Clone, Copy, ValueEnum)]
enum Compare {
    /// Nothing
    None,
    /// Freivalds' check of the whole and a sample of elements
    Sample,
    /// Every element
    Full,
}

impl From<Compare> for Verify {
    fn from(compare: Compare) -> Self {
        match compare {
            Compare::None => Verify::None,
            Compare::Sample => Verify::Sample,
            Compare::Full => Verify::Full,
        }
    }
}

/// Runs the command.
pub fn run(command: &Command, json: bool) -> Result<()> {
    let options = command.choice.options(command.verify.into())?;
    let a = Source::open(&command.a, command.bf16)?;
    let b = Source::open(&command.b, command.bf16)?;
    if a.dtype() != b.dtype() {
        return Err(Failure::input(format!(
            "{} holds {}, {} holds {}: both must be of one type",
            command.a.display(),
            a.dtype(),
            command.b.display(),
            b.dtype()
        )));
    }
    let shape = shape(command, &a, &b)?;
    if let (Some(beta), None) = (command.beta, &command.add) {
        return Err(Failure::input(format!(
            "--beta {beta} multiplies what --add names, and there is no --add"
        )));
    }
    let destination = Destination::new(&command.output)?;
    let compute = match a.dtype() {
        DType::F32 => compute::<f32>,
        DType::F64 => compute::<f64>,
        DType::F16 => compute::<f16>,
        DType::Bf16 => compute::<bf16>,
    };
    let report = match &command.add {
        None if command.alpha == 1.0 => compute(&shape, a, b, &options, command.choice.yes, &destination)?,
        _ => compute_scaled(&shape, a, b, options, command, &destination)?,
    };
    if json {
        return output::print_json(&report);
    }
    let mut text = describe(&report);
    if command.explain {
        text.push_str("\nWhy:\n");
        for reason in &report.reasons {
            text.push_str(&format!("  {reason}\n"));
        }
    }
    output::print(&text)
}

/// The product's shape, with the files as they hold A and B.
fn shape(command: &Command, a: &Source, b: &Source) -> Result<GemmShape> {
    let read = |source: &Source, transposed: bool| match transposed {
        false => (Transpose::No, [source.rows(), source.columns()]),
        true => (Transpose::Yes, [source.columns(), source.rows()]),
    };
    let (transpose_a, [m, k]) = read(a, command.trans_a);
    let (transpose_b, [k_of_b, n]) = read(b, command.trans_b);
    if k != k_of_b {
        let stored = |transposed| if transposed { "transposed " } else { "" };
        return Err(Failure::input(format!(
            "{} is {}{m} x {k}, {} is {}{k_of_b} x {n}: the columns of A must be as many as the rows of B",
            command.a.display(),
            stored(command.trans_a),
            command.b.display(),
            stored(command.trans_b),
        )));
    }
    let shape = GemmShape::packed_transposed(m, n, k, [transpose_a, transpose_b]);
    Ok(shape.map_err(tilewright::Error::from)?)
}

/// Computes with alpha and beta, which the kernels have in f32.
fn compute_scaled(
    shape: &GemmShape,
    a: Source,
    b: Source,
    mut options: Options,
    command: &Command,
    destination: &Destination,
) -> Result<Report> {
    let f32_only = |path: &Path, source: &Source| match source.dtype() {
        DType::F32 => Ok(()),
        other => Err(Failure::input(format!(
            "{} holds {other}: --alpha and --add take f32",
            path.display()
        ))),
    };
    f32_only(&command.a, &a)?;
    options.policy.factors = true;
    simulation::ensure_product_affordable::<f32>(shape, &options, command.choice.yes)?;
    let mut factors = Factors {
        alpha: command.alpha,
        beta: 0.0,
    };
    let mut c: Vec<f32> = Vec::new();
    let spinner = output::spinner();
    let descr = a.descr();
    spinner.set_message("reading");
    if let Some(path) = &command.add {
        let added = Source::open(path, command.bf16)?;
        f32_only(path, &added)?;
        if [added.rows(), added.columns()] != [shape.m(), shape.n()] {
            return Err(Failure::input(format!(
                "{} is {} x {}, the product {} x {}",
                path.display(),
                added.rows(),
                added.columns(),
                shape.m(),
                shape.n()
            )));
        }
        factors.beta = command.beta.unwrap_or(1.0);
        c = added.read()?;
    } else {
        let len = shape.span_elems(Operand::C);
        c.try_reserve_exact(len)
            .map_err(|_| Failure::input(format!("C has {len} elements: more than there is memory")))?;
        c.resize(len, 0.0);
    }
    let (a, b) = (a.read()?, b.read()?);
    spinner.set_message(format!("multiplying {shape}"));
    let report = tilewright::gemm(shape, factors, &a, &b, &mut c, &options)?;
    spinner.set_message("writing");
    npy::write(destination, descr, shape.m(), shape.n(), &c)?;
    spinner.finish_and_clear();
    Ok(report)
}

fn compute<T: Scalar>(
    shape: &GemmShape,
    a: Source,
    b: Source,
    options: &Options,
    yes: bool,
    destination: &Destination,
) -> Result<Report> {
    simulation::ensure_product_affordable::<T>(shape, options, yes)?;
    let spinner = output::spinner();
    let descr = a.descr();
    spinner.set_message("reading");
    let (a, b) = (a.read::<T>()?, b.read::<T>()?);
    spinner.set_message(format!("multiplying {shape}"));
    let product = tilewright::matmul(shape, &a, &b, options)?;
    spinner.set_message("writing");
    npy::write(destination, descr, shape.m(), shape.n(), &product.c)?;
    spinner.finish_and_clear();
    Ok(product.report)
}

/// The report for people.
pub fn describe(report: &Report) -> String {
    let verified = match report.verified {
        Verify::None => "no".to_owned(),
        Verify::Sample => "sampled: Freivalds' check and single elements agree with the reference".to_owned(),
        Verify::Full => "every element agrees with the reference".to_owned(),
    };
    let mut rows = vec![
        (
            "product",
            format!(
                "{} x {} x {} (m x n x k), {}",
                report.m, report.n, report.k, report.dtype
            ),
        ),
        ("device", report.device.clone()),
    ];
    if (report.alpha, report.beta) != (1.0, 0.0) {
        rows.insert(1, ("scaled", format!("alpha {}, beta {}", report.alpha, report.beta)));
    }
    rows.extend(report.fallback.iter().map(|reason| ("not a GPU", reason.clone())));
    rows.extend([
        ("kernel", report.kernel.to_owned()),
        ("tile", geometry(report)),
        ("shared memory", shared_memory(report)),
        (
            "time",
            match report.backend {
                Backend::Sim => format!(
                    "{:.3} ms of simulation; it says nothing of a GPU's time",
                    report.kernel_ms
                ),
                Backend::Auto | Backend::Gpu | Backend::Cpu => format!(
                    "{:.3} ms, {:.*} GFLOP/s",
                    report.kernel_ms,
                    if report.gflops < 10.0 { 3 } else { 0 },
                    report.gflops
                ),
            },
        ),
        ("verified", verified),
    ]);
    output::render(output::pairs(rows))
}

fn geometry(report: &Report) -> String {
    let tile = output::tile(report.tile);
    match report.backend {
        Backend::Cpu => tile,
        Backend::Auto | Backend::Gpu | Backend::Sim => {
            format!(
                "{tile}, {} blocks of {} x {} threads",
                report.grid[0], report.block[0], report.block[1]
            )
        }
    }
}

fn shared_memory(report: &Report) -> String {
    if report.backend == Backend::Cpu {
        return "none on the CPU".to_owned();
    }
    let kind = match (report.static_smem_bytes, report.dynamic_smem_bytes) {
        (0, 0) => return format!("none of {}", output::bytes(report.limit_bytes.into())),
        (_, 0) => "static",
        (0, _) => "dynamic",
        (_, _) => "static and dynamic",
    };
    format!(
        "A {} + B {} = {} {kind}, of {}{}",
        output::bytes(report.a_part_bytes.into()),
        output::bytes(report.b_part_bytes.into()),
        output::bytes(u64::from(report.static_smem_bytes) + u64::from(report.dynamic_smem_bytes)),
        output::bytes(report.limit_bytes.into()),
        if report.opt_in {
            " (opted in above the default 48 KiB)"
        } else {
            ""
        }
    )
}
