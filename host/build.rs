//! Compiles the device crate to PTX, once an architecture level, compressed for `src/ptx.rs` to embed.

use std::env;
use std::error::Error;
use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

use cuda_builder::{CudaBuilder, NvvmArch};
use flate2::Compression;
use flate2::bufread::ZlibEncoder;

/// A module of PTX: its architecture, its name, the features of kernels-gpu that it is built with, and whether LLVM
/// schedules it for few registers.
type Module = (NvvmArch, &'static str, &'static str, bool);

/// What `src/ptx.rs` embeds. Those that take longest begin first, so that none is left alone at the end.
const MODULES: [Module; 5] = [
    // What needs `wgmma`, for devices of 9.0. Kernels at their cap of registers: eight of them would spill.
    (NvvmArch::Compute90a, "sm_90a", "wgmma", true),
    // What needs `cp.async`, for all devices from 8.0 on.
    (NvvmArch::Compute80, "sm_80", "async_copy", false),
    // FP8, for devices of 9.0.
    (NvvmArch::Compute90a, "sm_90a_fp8", "fp8", true),
    // Block-scaled formats, for devices of 12.0 and 12.1.
    (NvvmArch::Compute120f, "sm_120f", "block_scaled", false),
    // The rest, for the oldest architecture that a current CUDA assembles for and every later one.
    (NvvmArch::Compute75, "sm_75", "", false),
];

/// Set where no GPU will run what is built: it leaves the kernels' PTX out, which is most of the work of a first build.
const WITHOUT_PTX: &str = "TILEWRIGHT_WITHOUT_PTX";

/// Writes a file beside it with `.zlib` behind its name.
fn compress(file: &Path) -> io::Result<()> {
    let text = BufReader::new(File::open(file)?);
    let mut packed = File::create(file.with_extension("ptx.zlib"))?;
    io::copy(&mut ZlibEncoder::new(text, Compression::best()), &mut packed).map(drop)
}

fn build((arch, name, features, few_registers): Module, out: &Path) -> Result<(), Box<dyn Error>> {
    let ptx = out.join(format!("kernels_{name}.ptx"));
    if env::var_os(WITHOUT_PTX).is_some() {
        fs::write(&ptx, "")?;
    } else {
        CudaBuilder::new("../kernels-gpu")
            .arch(arch)
            .schedule_for_registers(few_registers)
            .build_args(&["--features", features])
            .copy_to(&ptx)
            .build()?;
    }
    Ok(compress(&ptx)?)
}

fn main() {
    let variable = |name| env::var_os(name).expect("cargo sets it for build scripts");
    let out = PathBuf::from(variable("OUT_DIR"));
    println!("cargo::rerun-if-env-changed={WITHOUT_PTX}");
    // As many at a time as cargo's jobs. It compiles one level after the other; LLVM's work, which takes longer,
    // overlaps.
    let jobs = variable("NUM_JOBS")
        .to_str()
        .and_then(|jobs| jobs.parse().ok())
        .unwrap_or(1);
    let modules = Mutex::new(MODULES.into_iter());
    let next = || modules.lock().expect("nobody panics with it").next();
    let failed = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                while let Some(module) = next() {
                    if let Err(error) = build(module, &out) {
                        eprintln!("{error}");
                        failed.store(true, Relaxed);
                    }
                }
            });
        }
    });
    if failed.into_inner() {
        std::process::exit(1);
    }
}
