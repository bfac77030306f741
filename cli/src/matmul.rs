//! `tilewright matmul`: multiplies two `.npy` files.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use half::{bf16, f16};
use tilewright::check::Expected;
use tilewright::dispatch::Tuning;
use tilewright::random::random_matrix;
use tilewright::{
    Accumulator, Activation, Backend, DType, Element, Epilogue, Factors, Gemm, GemmShape, Operand, Options, OutputOf,
    Report, Transpose, Verify,
};

use crate::choice::Choice;
use crate::destination::Destination;
use crate::failure::{Failure, Result};
use crate::npy::{self, Descr, Scalar, Source};
use crate::{memory, output, simulation};

/// Multiply two .npy files: C = A · B, or scaled and added to a third
#[derive(Args)]
pub struct Command {
    /// A, m x k: f32, f64 or f16, in C or Fortran order; or a batch of matrices, count x m x k
    a: PathBuf,
    /// B, k x n, of the same type; or a batch. One matrix is multiplied with each of the other's
    b: PathBuf,
    /// The file of A holds A transposed, k x m; it is not transposed back
    #[arg(long)]
    trans_a: bool,
    /// The file of B holds B transposed, n x k
    #[arg(long)]
    trans_b: bool,
    /// Multiply the product by this number
    #[arg(long, value_name = "NUMBER", default_value = "1", allow_hyphen_values = true, value_parser = number)]
    alpha: String,
    /// Add this matrix, m x n, to the product; of the type of C, and a batch where that is one
    #[arg(long, value_name = "C0")]
    add: Option<PathBuf>,
    /// Multiply the matrix that is added by this number, without it by 1
    #[arg(long, value_name = "NUMBER", allow_hyphen_values = true, value_parser = number)]
    beta: Option<String>,
    /// Add this row, n elements or 1 x n, of the type of A and B, to every row: a file, or `random`
    #[arg(long, value_name = "ROW")]
    bias: Option<PathBuf>,
    /// Apply this to every element at last
    #[arg(long, value_enum)]
    activation: Option<Activate>,
    /// The type of C; without it that of A and B
    #[arg(long, value_enum, value_name = "TYPE")]
    output_type: Option<OutputType>,
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

/// Takes what is a number; of which type, the files say later.
fn number(text: &str) -> std::result::Result<String, String> {
    match text.parse::<f64>() {
        Ok(_) => Ok(text.to_owned()),
        Err(_) => Err("not a number".to_owned()),
    }
}

/// Reads a factor of the type that is summed in. One beyond its range is refused; an infinity that is written as such
/// is none of these. So is one that would round to 0, with which a matrix is not read at all.
fn factor<F: Accumulator>(option: &str, text: &str) -> Result<F> {
    let refuse = |problem: String| Failure::input(format!("{option} {text}: {problem}"));
    let read = text.parse::<F>().map_err(|_| refuse("not a number".to_owned()))?;
    let factor = read.to_f64();
    let has = |digits: &str| {
        text.to_ascii_lowercase()
            .split('e')
            .next()
            .is_some_and(|mantissa| mantissa.contains(|c: char| digits.contains(c)))
    };
    if factor.is_infinite() && has("0123456789") {
        return Err(refuse(format!(
            "beyond the range of {}, whose largest number is {:e}",
            F::DTYPE,
            F::MAX
        )));
    }
    if factor == 0.0 && has("123456789") {
        return Err(refuse(format!("{} rounds it to 0", F::DTYPE)));
    }
    Ok(read)
}

/// What is applied to every element.
#[derive(Clone, Copy, ValueEnum)]
enum Activate {
    /// max(x, 0)
    Relu,
    /// x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
    Gelu,
}

/// A type that C can have besides that of A and B.
#[derive(Clone, Copy, ValueEnum)]
enum OutputType {
    /// Where A and B are f16 or bf16
    F32,
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
    let [of_a, of_b] = [a.dtype()?, b.dtype()?];
    if of_a != of_b {
        return Err(Failure::input(format!(
            "{} holds {of_a}, {} holds {of_b}: both must be of one type",
            command.a.display(),
            command.b.display(),
        )));
    }
    let shape = shape(command, &a, &b)?;
    let batch = batch(command, &a, &b)?;
    let shape = match batch {
        Some(count) => of_batch(&shape, count, [&a, &b])?,
        None => shape,
    };
    if let (Some(beta), None) = (&command.beta, &command.add) {
        return Err(Failure::input(format!(
            "--beta {beta} multiplies what --add names, and there is no --add"
        )));
    }
    let destination = Destination::new(&command.output)?;
    let compute = match (of_a, command.output_type) {
        (DType::F32, _) => compute::<f32, f32>,
        (DType::F64, None) => compute::<f64, f64>,
        (DType::F16, None) => compute::<f16, f16>,
        (DType::Bf16, None) => compute::<bf16, bf16>,
        (DType::F16, Some(OutputType::F32)) => compute::<f16, f32>,
        (DType::Bf16, Some(OutputType::F32)) => compute::<bf16, f32>,
        (DType::F64, Some(OutputType::F32)) => {
            return Err(Failure::input(format!(
                "{} holds f64: --output-type f32 is for f16 and bf16",
                command.a.display()
            )));
        }
    };
    let extents = batch.into_iter().chain([shape.m(), shape.n()]).collect();
    let report = compute(&shape, extents, [a, b], options, command, destination)?;
    if json {
        return output::print_json(&report);
    }
    let mut text = describe(&report);
    let passed_over = report
        .reasons
        .iter()
        .find(|reason| reason.starts_with(Tuning::PASSED_OVER));
    if let Some(reason) = passed_over.filter(|_| !command.explain) {
        text.push_str(&format!("{reason}\n"));
    }
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

/// Products of a batch, where A or B is one. As NumPy has it, one matrix is taken for each product.
fn batch(command: &Command, a: &Source, b: &Source) -> Result<Option<usize>> {
    match (a.batch(), b.batch()) {
        (Some(of_a), Some(of_b)) if of_a != of_b && of_a != 1 && of_b != 1 => Err(Failure::input(format!(
            "{} holds {of_a} matrices, {} holds {of_b}: a batch has as many of both, or one of either",
            command.a.display(),
            command.b.display(),
        ))),
        (Some(1), Some(count)) | (Some(count), _) | (None, Some(count)) => Ok(Some(count)),
        (None, None) => Ok(None),
    }
}

/// The batch of products whose matrices follow each other in the files.
fn of_batch(shape: &GemmShape, count: usize, files: [&Source; 2]) -> Result<GemmShape> {
    let [a, b] = files.map(|file| match file.batch() {
        None | Some(1) => 0,
        Some(_) => file.rows() * file.columns(),
    });
    let batch = shape.with_batch(count, [a, b, shape.m() * shape.n()]);
    Ok(batch.map_err(tilewright::Error::from)?)
}

/// Computes C of type `C` from A and B of type `T`, as their files hold them, and writes it as an array of `extents`.
fn compute<T: Scalar + Element, C: Scalar + OutputOf<T>>(
    shape: &GemmShape,
    extents: Vec<usize>,
    [a, b]: [Source; 2],
    mut options: Options,
    command: &Command,
    destination: Destination,
) -> Result<Report> {
    let mut factors = Factors {
        alpha: factor("--alpha", &command.alpha)?,
        ..Factors::<T::Accumulator>::default()
    };
    if command.add.is_some() {
        factors.beta = factor("--beta", command.beta.as_deref().unwrap_or("1"))?;
    }
    options.policy.factors = command.add.is_some() || !factors.is_product();
    options.policy.epilogue = command.bias.is_some() || command.activation.is_some() || T::DTYPE != C::DTYPE;
    simulation::ensure_product_affordable::<T>(shape, &options, command.choice.yes)?;
    if options.backend != Backend::Sim {
        let needed = memory_bytes::<T, C>(shape, [&a, &b], command.add.is_some());
        memory::ensure(|| format!("the product {shape}"), needed, command.choice.yes)?;
    }
    let spinner = output::spinner();
    let descr = if T::DTYPE == C::DTYPE { a.descr() } else { Descr::F32 };
    let c_bytes = npy::file_bytes::<C>(descr, &extents).map_err(|problem| destination.failure(problem))?;
    destination.reserve(c_bytes)?;
    spinner.set_message("reading");
    let before = command
        .add
        .as_deref()
        .map(|path| added::<C>(&extents, path, command.bf16))
        .transpose()?;
    let bias = command
        .bias
        .as_deref()
        .map(|path| bias::<T>(shape, path, command.bf16))
        .transpose()?;
    let epilogue = Epilogue {
        factors,
        bias: bias.as_deref(),
        activation: match command.activation {
            None => Activation::None,
            Some(Activate::Relu) => Activation::Relu,
            Some(Activate::Gelu) => Activation::Gelu,
        },
    };
    let (a, b) = (a.read::<T>()?, b.read::<T>()?);
    spinner.set_message(format!("multiplying {shape}"));
    let verify = std::mem::take(&mut options.verify);
    let mut product = tilewright::product(
        &Gemm::new(*shape).epilogue(epilogue),
        &a,
        &b,
        before.as_deref(),
        &options,
    )?;
    if verify != Verify::None {
        spinner.set_message(format!("comparing {shape} with the reference"));
        let expected = Expected::product(shape, &a, &b)?
            .with_precision(product.report.precision)?
            .with_epilogue(epilogue, before.as_deref().unwrap_or_default())?;
        expected.verify(&product.c, verify)?;
        product.report.verified = verify;
    }
    spinner.set_message("writing");
    npy::write(destination, descr, &extents, &product.c)?;
    spinner.finish_and_clear();
    Ok(product.report)
}

/// What a product takes of the host's memory: the operands, C, what is added, and the largest copy of an operand that
/// is made on the way, of one in Fortran order or of those that are transposed.
fn memory_bytes<T, C>(shape: &GemmShape, [a, b]: [&Source; 2], adds: bool) -> u64 {
    let operands = [(Operand::A, a), (Operand::B, b)];
    // What is more than 2^64 is too much as well.
    let bytes = |operand| (shape.span_elems(operand) as u64).saturating_mul(size_of::<T>() as u64);
    let c = (shape.span_elems(Operand::C) as u64).saturating_mul(size_of::<C>() as u64);
    let reordered = operands.map(|(operand, file)| if file.is_reordered() { bytes(operand) } else { 0 });
    let transposed = operands.map(|(operand, _)| match shape.transpose(operand) {
        Transpose::Yes => bytes(operand),
        Transpose::No => 0,
    });
    let copies = reordered
        .into_iter()
        .max()
        .unwrap_or(0)
        .max(transposed[0].saturating_add(transposed[1]));
    let all = [
        bytes(Operand::A),
        bytes(Operand::B),
        c,
        if adds { c } else { 0 },
        copies,
    ];
    all.into_iter().fold(0, u64::saturating_add)
}

/// What is added to the product, which has these extents.
fn added<C: Scalar + Element>(extents: &[usize], path: &Path, words_are_bf16: bool) -> Result<Vec<C>> {
    // An f32 that a product of bf16 is added to is one.
    let added = Source::open(path, words_are_bf16 && C::DTYPE == DType::Bf16)?;
    if added.held() != C::HELD {
        let (held, expected) = (added.held(), C::HELD);
        return Err(Failure::input(format!("{} holds {held}, C {expected}", path.display())));
    }
    let held = added.extents();
    if held != extents {
        let text = |extents: &[usize]| extents.iter().map(usize::to_string).collect::<Vec<_>>().join(" x ");
        let [held, extents] = [text(&held), text(extents)];
        return Err(Failure::input(format!(
            "{} is {held}, the product {extents}",
            path.display()
        )));
    }
    added.read()
}

/// The row that is added to every row; `random` is numbers, not a file.
fn bias<T: Scalar + Element>(shape: &GemmShape, path: &Path, words_are_bf16: bool) -> Result<Vec<T>> {
    /// Of the random bias.
    const SEED: u64 = 3;
    if path == Path::new("random") {
        return Ok(random_matrix(SEED, shape.n()));
    }
    let bias = Source::open_row(path, words_are_bf16)?;
    if bias.held() != T::HELD {
        let (held, expected) = (bias.held(), T::HELD);
        return Err(Failure::input(format!(
            "{} holds {held}, A and B {expected}",
            path.display()
        )));
    }
    if [bias.rows(), bias.columns()] != [1, shape.n()] {
        return Err(Failure::input(format!(
            "{} is {} x {}, a bias for this product 1 x {} or of as many elements",
            path.display(),
            bias.rows(),
            bias.columns(),
            shape.n(),
        )));
    }
    bias.read()
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
                "{}{} x {} x {} (m x n x k), {}",
                if report.batch == 1 {
                    String::new()
                } else {
                    format!("{} of ", report.batch)
                },
                report.m,
                report.n,
                report.k,
                report.dtype
            ),
        ),
        ("device", report.device.clone()),
    ];
    if (report.alpha, report.beta) != (1.0, 0.0) {
        rows.insert(1, ("scaled", format!("alpha {}, beta {}", report.alpha, report.beta)));
    }
    if report.bias || report.activation != "none" || report.output != report.dtype {
        let bias = if report.bias { "a bias" } else { "no bias" };
        rows.insert(
            rows.len() - 1,
            (
                "finished",
                format!("{bias}, activation {}, C of {}", report.activation, report.output),
            ),
        );
    }
    rows.extend(report.fallback.iter().map(|reason| ("not a GPU", reason.clone())));
    rows.extend([("kernel", report.kernel.to_owned())]);
    rows.extend(output::copied(report.padded_ld, report.padded_bytes));
    rows.extend([
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
