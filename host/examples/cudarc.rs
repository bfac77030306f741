//! A product on the slices and the stream of cudarc.
//!
//! ```text
//! cargo run --release -p tilewright --features cudarc --example cudarc
//! ```
//!
//! Without a GPU it says so in one line and ends with 3.

use std::process::ExitCode;

use cudarc::driver::CudaContext;
use half2::f16;
use tilewright::dispatch::Policy;
use tilewright::launch::{Kernels, Slices};
use tilewright::random::random_matrix;
use tilewright::{Activation, Error, Factors, Gemm, GemmShape};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => match error.downcast_ref() {
            Some(Error::Unavailable(reason)) => {
                println!("{reason}");
                ExitCode::from(3)
            }
            _ => {
                eprintln!("error: {error}");
                ExitCode::FAILURE
            }
        },
    }
}

fn run() -> Result<(), Box<dyn std::error::Error>> {
    // Without a driver cudarc panics; this says what is missing.
    Kernels::open(0)?;
    let context = CudaContext::new(0)?;
    let kernels = Kernels::of_cudarc(&context)?;
    let stream = context.new_stream()?;

    // Random numbers of this crate's f16, as those of cudarc's `half` 2: the bits are the same.
    let elements = |seed, len| -> Vec<f16> {
        let ours = random_matrix::<half::f16>(seed, len);
        ours.into_iter().map(|x| f16::from_bits(x.to_bits())).collect()
    };
    let (m, n, k) = (96, 200, 136);
    let (a, b, bias) = (elements(1, m * k), elements(2, k * n), elements(3, n));
    let a_device = stream.clone_htod(&a)?;
    // B is the second half of a larger slice.
    let b_device = stream.clone_htod(&[vec![f16::NAN; k * n], b.clone()].concat())?;
    let bias_device = stream.clone_htod(&bias)?;
    let mut c_device = stream.clone_htod(&vec![f32::NAN; m * n])?;

    let gemm = Gemm::<()>::new(GemmShape::packed(m, n, k)?)
        .alpha(0.5)
        .bias(())
        .activation(Activation::Relu);
    let plan = gemm.plan::<half::f16, f32>(kernels.profile(), &Policy::default())?;
    let prepared = kernels.prepare::<half::f16, f32, _>(&plan, &gemm)?;
    let mut workspace = prepared.cudarc_workspace(&stream)?;

    let b_view = b_device.slice(k * n..);
    let mut slices = Slices::new(&a_device, &b_view, &mut c_device);
    slices.bias = Some(&bias_device);
    slices.workspace = workspace.as_mut().map(|workspace| workspace as _);
    slices.factors = Factors { alpha: 0.5, beta: 0.0 };
    prepared.enqueue_slices(&stream, slices)?;

    let c = stream.clone_dtoh(&c_device)?;
    stream.synchronize()?;
    let mut largest = 0.0_f32;
    for row in 0..m {
        for column in 0..n {
            let product = |at: usize| a[row * k + at].to_f64() * b[at * n + column].to_f64();
            let expected = (0.5 * (0..k).map(product).sum::<f64>() + bias[column].to_f64()).max(0.0) as f32;
            largest = largest.max((c[row * n + column] - expected).abs());
            if c[row * n + column].is_nan() {
                return Err(format!("row {row}, column {column} was not written").into());
            }
        }
    }
    println!(
        "{} on slices of cudarc: the largest difference is {largest:e}",
        plan.kernel().symbol
    );
    // Dot products of 136 terms below 1, in f32.
    match largest < 1e-4 {
        true => Ok(()),
        false => Err("that is more than rounding explains".into()),
    }
}
