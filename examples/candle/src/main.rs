//! A transformer block, once with candle's products and once with tilewright's, and how far the outputs are apart.
//!
//! ```text
//! cargo run [auto|cpu|sim]
//! ```
//!
//! The word is where tensors of the CPU are multiplied: `auto`, the default, is the GPU or, without one, the CPU; `sim`
//! is the GPU's kernels in the simulator.

use std::env;
use std::process::ExitCode;

use candle_core::{DType, Device, Result};
use tilewright::Backend;
use tilewright_candle::{Block, Candle, Computed, Config, Tilewright, difference};

const CONFIG: Config = Config {
    tokens: 64,
    width: 128,
    heads: 4,
    hidden: 512,
};

/// The types, and by how much of the largest element outputs may differ: a few roundings of the type, since each
/// product rounds its result, and another order of its terms rounds another way.
const TYPES: [(DType, f64); 3] = [(DType::F32, 1e-5), (DType::F16, 5e-3), (DType::BF16, 4e-2)];

fn main() -> ExitCode {
    let backend = match env::args().nth(1).as_deref() {
        None | Some("auto") => Backend::Auto,
        Some("cpu") => Backend::Cpu,
        Some("sim") => Backend::Sim,
        Some(other) => {
            eprintln!("error: {other} is none of auto, cpu, sim");
            return ExitCode::from(2);
        }
    };
    match run(backend) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("error: outputs differ by more than the tolerance");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether all outputs agree.
fn run(backend: Backend) -> Result<bool> {
    let device = match cfg!(feature = "cuda") {
        true => Device::new_cuda(0)?,
        false => Device::Cpu,
    };
    let types = TYPES.into_iter();
    let compared = types.map(|(dtype, tolerance)| compare(backend, &device, dtype, tolerance));
    let compared: Vec<_> = compared.collect::<Result<_>>()?;
    print(&compared);
    Ok(compared.iter().all(Compared::is_tolerated))
}

/// Outputs of one block in one type. Differences are parts of the largest element.
struct Compared {
    dtype: DType,
    /// The products by tilewright.
    computed: Vec<Computed>,
    /// From candle's output to tilewright's.
    between: f64,
    /// From the output in f64 to candle's.
    of_candle: f64,
    /// From the output in f64 to tilewright's.
    of_tilewright: f64,
    tolerance: f64,
}

fn compare(backend: Backend, device: &Device, dtype: DType, tolerance: f64) -> Result<Compared> {
    let tilewright = Tilewright::new(backend);
    let block = Block::random(CONFIG, 1, dtype, device)?;
    let x = block.random_input(5)?;
    let by_candle = block.forward(&Candle, &x)?;
    let by_tilewright = block.forward(&tilewright, &x)?;
    // The same numbers, with far smaller roundings.
    let exact = block.to_dtype(DType::F64)?.forward(&Candle, &x.to_dtype(DType::F64)?)?;
    Ok(Compared {
        dtype,
        computed: tilewright.take_computed(),
        between: difference(&by_tilewright, &by_candle)?,
        of_candle: difference(&by_candle, &exact)?,
        of_tilewright: difference(&by_tilewright, &exact)?,
        tolerance,
    })
}

impl Compared {
    /// False for NaN, too.
    fn is_tolerated(&self) -> bool {
        self.between <= self.tolerance && self.of_tilewright <= self.tolerance
    }
}

fn print(compared: &[Compared]) {
    let products = || compared.iter().flat_map(|of_type| &of_type.computed);
    if let Some(reason) = products().find_map(|product| product.fallback.as_deref()) {
        println!("The products run on the CPU: {reason}\n");
    }
    let Config {
        tokens, width, heads, ..
    } = CONFIG;
    let device = products().next().map_or("", |product| &product.device);
    println!("A transformer block, {tokens} tokens of {width} numbers, {heads} heads. By tilewright on {device}:\n");
    let row = |[product, number, shape]: [&str; 3], kernels: &mut dyn Iterator<Item = &str>| {
        let kernels: String = kernels.map(|kernel| format!(" {kernel:21} |")).collect();
        println!("| {product:8} | {number:>6} | {shape:14} |{kernels}");
    };
    let types = || compared.iter().map(|of_type| of_type.dtype.as_str());
    row(["product", "number", "m x n x k"], &mut types());
    println!(
        "|----------|-------:|----------------|{}",
        "-----------------------|".repeat(compared.len())
    );
    // Every type has the same products.
    for (at, first) in compared
        .first()
        .iter()
        .flat_map(|of_type| of_type.computed.iter().enumerate())
    {
        let kernels = compared.iter().filter_map(|of_type| of_type.computed.get(at));
        let (number, shape) = (first.batch.to_string(), first.shape.to_string());
        row(
            [first.name, &number, &shape],
            &mut kernels.map(|product| product.kernel),
        );
    }
    println!("\nThe largest difference between two outputs, as a part of the largest element:\n");
    println!("| type | tilewright, candle | candle, f64 | tilewright, f64 | tolerance |        |");
    println!("|------|-------------------:|------------:|----------------:|----------:|--------|");
    for of_type in compared {
        println!(
            "| {:4} | {:18.1e} | {:11.1e} | {:15.1e} | {:9.0e} | {:6} |",
            of_type.dtype.as_str(),
            of_type.between,
            of_type.of_candle,
            of_type.of_tilewright,
            of_type.tolerance,
            if of_type.is_tolerated() { "within" } else { "BEYOND" },
        );
    }
}
