//! Rungs 2 and 3 against their CUDA C++ twins (`benches/peers/tiled.cu`), on a GPU.
//!
//! For each row: both results are checked first, then both kernels are timed in turns (A-B-A-B) on the same random inputs,
//! each launch between two events. Reported is the ratio of each pair, peer time over ours: above 1, ours is faster.
//!
//! `gpu_tiled --peers tiled.cubin --out DIR [--commit ID] [--date YYYY-MM-DD]` writes `tiled.json` and `tiled.md` into DIR.

use std::error::Error;
use std::ffi::c_void;
use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Parser;
use cust::function::Function;
use cust::module::Module;
use serde::Serialize;
use tilewright::bench::Quartiles;
use tilewright::launch::{DeviceMatrix, Gpu};
use tilewright::plan::{Plan, Policy, plan};
use tilewright::{DType, GemmShape, Operand, Rung, check, random};

/// Times rungs 2 and 3 against their CUDA C++ twins.
#[derive(Parser)]
struct Arguments {
    /// The twins, compiled by `nvcc -O3 -arch=sm_90 -cubin`.
    #[arg(long)]
    peers: PathBuf,
    /// Where the result files go.
    #[arg(long)]
    out: PathBuf,
    /// The commit that was built.
    #[arg(long, default_value = "unknown")]
    commit: String,
    /// The date of the run.
    #[arg(long, default_value = "unknown")]
    date: String,
    /// Timed launches of each kernel and row.
    #[arg(long, default_value = "21")]
    rounds: NonZeroUsize,
    /// What `cargo bench` passes.
    #[arg(long, hide = true)]
    bench: bool,
}

/// Rows: rung and tile width, by shape.
const SHAPES: [(usize, usize, usize); 2] = [(4096, 4096, 4096), (4095, 4097, 4099)];
const KERNELS: [(Rung, u32); 7] = [
    (Rung::TiledStatic, 16),
    (Rung::TiledDynamic, 16),
    (Rung::TiledStatic, 32),
    (Rung::TiledDynamic, 32),
    (Rung::TiledDynamic, 64),
    (Rung::TiledDynamic, 96),
    (Rung::TiledDynamic, 128),
];

#[derive(Serialize)]
struct Results {
    date: String,
    commit: String,
    device: String,
    driver: String,
    ptx_level: &'static str,
    rounds: usize,
    against_twins: Vec<Row>,
    dynamic_against_static: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    m: usize,
    n: usize,
    k: usize,
    ours: String,
    peer: String,
    ours_ms: f64,
    peer_ms: f64,
    ours_tflops: f64,
    peer_tflops: f64,
    /// Peer time over ours, each pair of neighbouring launches: median and quartiles.
    ratio: f64,
    ratio_q1: f64,
    ratio_q3: f64,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let gpu = Gpu::open(0)?;
    let twins = Module::from_cubin(std::fs::read(&arguments.peers)?, &[])?;
    let mut results = Results {
        date: arguments.date,
        commit: arguments.commit,
        device: gpu.profile().name.clone(),
        driver: gpu
            .profile()
            .installed
            .as_ref()
            .map_or_else(String::new, |installed| installed.driver.clone()),
        ptx_level: gpu.level().arch,
        rounds: arguments.rounds.get(),
        against_twins: Vec::new(),
        dynamic_against_static: Vec::new(),
    };
    for (m, n, k) in SHAPES {
        let shape = GemmShape::packed(m, n, k)?;
        let product = Operands::random(&gpu, shape)?;
        for (rung, tile) in KERNELS {
            let ours = make_plan(&gpu, &shape, rung, tile)?;
            let twin = Twin::load(&twins, &ours)?;
            let (c, other) = (&mut product.poisoned(&gpu)?, &mut product.poisoned(&gpu)?);
            product.check(&gpu, c, |c| gpu.launch(&ours, &product.a, &product.b, c))?;
            product.check(&gpu, other, |c| twin.launch(&gpu, &product, c))?;
            let times = interleave(
                arguments.rounds.get(),
                || gpu.time_ms(|| gpu.launch(&ours, &product.a, &product.b, c)),
                || gpu.time_ms(|| twin.launch(&gpu, &product, other)),
            )?;
            results.against_twins.push(Row::new(&shape, &ours, twin.name, times));
        }
        for tile in [16, 32] {
            let (dynamic, fixed) = (
                make_plan(&gpu, &shape, Rung::TiledDynamic, tile)?,
                make_plan(&gpu, &shape, Rung::TiledStatic, tile)?,
            );
            let (c, other) = (&mut product.poisoned(&gpu)?, &mut product.poisoned(&gpu)?);
            let times = interleave(
                arguments.rounds.get(),
                || gpu.time_ms(|| gpu.launch(&dynamic, &product.a, &product.b, c)),
                || gpu.time_ms(|| gpu.launch(&fixed, &product.a, &product.b, other)),
            )?;
            let peer = fixed.variant().symbol.to_owned();
            results
                .dynamic_against_static
                .push(Row::new(&shape, &dynamic, peer, times));
        }
    }
    let table = results.markdown()?;
    print!("{table}");
    std::fs::create_dir_all(&arguments.out)?;
    std::fs::write(arguments.out.join("tiled.md"), table)?;
    std::fs::write(
        arguments.out.join("tiled.json"),
        serde_json::to_string_pretty(&results)? + "\n",
    )?;
    Ok(())
}

fn make_plan(gpu: &Gpu, shape: &GemmShape, rung: Rung, tile: u32) -> Result<Plan, Box<dyn Error>> {
    let policy = Policy {
        rung: Some(rung),
        tile: Some(tile),
        ..Policy::default()
    };
    Ok(plan(shape, DType::F32, gpu.profile(), &policy)?)
}

/// One product: inputs on both sides.
struct Operands<'gpu> {
    shape: GemmShape,
    a_host: Vec<f32>,
    b_host: Vec<f32>,
    a: DeviceMatrix<'gpu, f32>,
    b: DeviceMatrix<'gpu, f32>,
}

impl<'gpu> Operands<'gpu> {
    fn random(gpu: &'gpu Gpu, shape: GemmShape) -> Result<Self, Box<dyn Error>> {
        let a_host: Vec<f32> = random::random_matrix(1, shape.span_elems(Operand::A));
        let b_host: Vec<f32> = random::random_matrix(2, shape.span_elems(Operand::B));
        Ok(Self {
            shape,
            a: gpu.upload(&a_host)?,
            b: gpu.upload(&b_host)?,
            a_host,
            b_host,
        })
    }

    /// A C that holds no plausible value.
    fn poisoned(&self, gpu: &'gpu Gpu) -> Result<DeviceMatrix<'gpu, f32>, Box<dyn Error>> {
        Ok(gpu.upload(&vec![f32::NAN; self.shape.span_elems(Operand::C)])?)
    }

    fn check(
        &self,
        gpu: &Gpu,
        c: &mut DeviceMatrix<'gpu, f32>,
        launch: impl FnOnce(&mut DeviceMatrix<'gpu, f32>) -> tilewright::Result<()>,
    ) -> Result<(), Box<dyn Error>> {
        launch(c)?;
        gpu.synchronize()?;
        let mut host = vec![0.0; c.len()];
        c.download(&mut host)?;
        check::sampled(&self.shape, &self.a_host, &self.b_host, &host, check::DEFAULT_SEED)?.into_result()?;
        Ok(())
    }
}

/// A CUDA C++ twin with the launch of the Rust kernel.
struct Twin<'m> {
    name: String,
    function: Function<'m>,
    plan: Plan,
}

impl<'m> Twin<'m> {
    fn load(module: &'m Module, plan: &Plan) -> Result<Self, Box<dyn Error>> {
        let name = format!("peer_{}", plan.variant().symbol);
        let function = module.get_function(&name)?;
        let dynamic = i32::try_from(plan.summary().dynamic_smem_bytes)?;
        // SAFETY: the handle belongs to a loaded module; the value is the plan's.
        let code = unsafe {
            cust_raw::cuFuncSetAttribute(
                function.to_raw(),
                cust_raw::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                dynamic,
            )
        };
        if code != cust_raw::CUresult::CUDA_SUCCESS {
            return Err(format!("cuFuncSetAttribute({dynamic}) returned {code:?}").into());
        }
        Ok(Self {
            name,
            function,
            plan: plan.clone(),
        })
    }

    fn launch(&self, gpu: &Gpu, product: &Operands<'_>, c: &mut DeviceMatrix<'_, f32>) -> tilewright::Result<()> {
        let (a, b, c) = (product.a.as_device_ptr(), product.b.as_device_ptr(), c.as_device_ptr());
        let (args, parts, summary) = (product.shape.args(), self.plan.parts(), self.plan.summary());
        let arguments: [*mut c_void; 5] = [
            (&raw const a).cast_mut().cast(),
            (&raw const b).cast_mut().cast(),
            (&raw const c).cast_mut().cast(),
            (&raw const args).cast_mut().cast(),
            (&raw const parts).cast_mut().cast(),
        ];
        let static_twin = summary.dynamic_smem_bytes == 0;
        // SAFETY: the twin takes the arguments of the Rust kernel, the static one all but the last; operands and geometry
        // are those of the plan.
        unsafe {
            gpu.stream().launch(
                &self.function,
                (summary.grid[0], summary.grid[1], summary.grid[2]),
                (summary.block[0], summary.block[1], summary.block[2]),
                summary.dynamic_smem_bytes,
                if static_twin { &arguments[..4] } else { &arguments },
            )
        }
        .map_err(|code| tilewright::Error::Driver {
            call: "cuLaunchKernel",
            code,
        })
    }
}

/// Milliseconds of both sides, taken in turns after one untimed launch of each.
fn interleave(
    rounds: usize,
    mut ours: impl FnMut() -> tilewright::Result<f32>,
    mut peer: impl FnMut() -> tilewright::Result<f32>,
) -> tilewright::Result<Vec<(f64, f64)>> {
    ours()?;
    peer()?;
    (0..rounds)
        .map(|_| Ok((f64::from(ours()?), f64::from(peer()?))))
        .collect()
}

impl Row {
    fn new(shape: &GemmShape, ours: &Plan, peer: String, times: Vec<(f64, f64)>) -> Self {
        let ratios: Vec<f64> = times.iter().map(|(ours, peer)| peer / ours).collect();
        let quartiles = |sample: &[f64]| Quartiles::of(sample).expect("at least one round");
        let median = |of: fn(&(f64, f64)) -> f64| quartiles(&times.iter().map(of).collect::<Vec<_>>()).median;
        let (ours_ms, peer_ms, ratio) = (median(|t| t.0), median(|t| t.1), quartiles(&ratios));
        let tflops = |ms: f64| shape.flops() / (ms * 1e9);
        Self {
            m: shape.m(),
            n: shape.n(),
            k: shape.k(),
            ours: format!("{} ({})", ours.variant().symbol, ours.tile()),
            peer,
            ours_ms,
            peer_ms,
            ours_tflops: tflops(ours_ms),
            peer_tflops: tflops(peer_ms),
            ratio: ratio.median,
            ratio_q1: ratio.q1,
            ratio_q3: ratio.q3,
        }
    }
}

impl Results {
    fn markdown(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        writeln!(text, "# Tiled rungs against their CUDA C++ twins\n")?;
        writeln!(
            text,
            "{}, driver CUDA {}, PTX level {}, commit {}, {}. f32, random data; {} launches of each side in turns, checked \
             before timing. Ratio: peer time over ours, median of pairs [quartiles]; above 1, ours is faster.\n",
            self.device, self.driver, self.ptx_level, self.commit, self.date, self.rounds
        )?;
        for (title, rows) in [
            ("Against nvcc", &self.against_twins),
            ("Dynamic against static", &self.dynamic_against_static),
        ] {
            writeln!(
                text,
                "## {title}\n\n| m x n x k | ours | peer | ours TFLOP/s | peer TFLOP/s | ratio |"
            )?;
            writeln!(text, "|---|---|---|---:|---:|---:|")?;
            for row in rows {
                writeln!(
                    text,
                    "| {} x {} x {} | {} | {} | {:.2} | {:.2} | {:.3} [{:.3}, {:.3}] |",
                    row.m,
                    row.n,
                    row.k,
                    row.ours,
                    row.peer,
                    row.ours_tflops,
                    row.peer_tflops,
                    row.ratio,
                    row.ratio_q1,
                    row.ratio_q3
                )?;
            }
            writeln!(text)?;
        }
        Ok(text)
    }
}
