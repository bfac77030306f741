//! Compiles the device crate to PTX, once an architecture level, compressed for `src/ptx.rs` to embed.

use std::env;
use std::error::Error;
use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use cuda_builder::{CudaBuilder, NvvmArch};
use flate2::Compression;
use flate2::bufread::ZlibEncoder;

/// A module of PTX: its architecture, its name, the features of kernels-gpu that it is built with, and whether LLVM
/// schedules it for few registers.
type Module = (NvvmArch, &'static str, &'static str, bool);

/// What `src/ptx.rs` embeds. The kernels for the oldest architecture that a current CUDA assembles for, which run on
/// every later one too; again with those that need `cp.async`; those that need `wgmma`, which devices of 9.0 run
/// besides the ones before; those of FP8, for the same devices; block-scaled ones, which devices of 12.0 and 12.1 run.
const MODULES: [Module; 5] = [
    (NvvmArch::Compute75, "sm_75", "", false),
    (NvvmArch::Compute80, "sm_80", "async_copy", false),
    // Kernels at their cap of registers: eight of them would spill.
    (NvvmArch::Compute90a, "sm_90a", "wgmma", true),
    (NvvmArch::Compute90a, "sm_90a_fp8", "fp8", true),
    (NvvmArch::Compute120f, "sm_120f", "block_scaled", false),
];

/// Set where no GPU will run what is built: it leaves the kernels' PTX out, which is most of the work of a first build.
const WITHOUT_PTX: &str = "TILEWRIGHT_WITHOUT_PTX";

/// Writes a file beside it with `.zlib` behind its name.
fn compress(file: &Path) -> io::Result<()> {
    let text = BufReader::new(File::open(file)?);
    let mut packed = File::create(file.with_extension("ptx.zlib"))?;
    io::copy(&mut ZlibEncoder::new(text, Compression::best()), &mut packed).map(drop)
}

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR for build scripts"));
    println!("cargo::rerun-if-env-changed={WITHOUT_PTX}");
    let without_ptx = env::var_os(WITHOUT_PTX).is_some();
    // Cargo compiles one level after the other; LLVM's work, which takes longer, overlaps.
    let failed = std::thread::scope(|scope| {
        let builds = MODULES.map(|(arch, name, features, few_registers)| {
            let ptx = out.join(format!("kernels_{name}.ptx"));
            scope.spawn(move || {
                let builder = CudaBuilder::new("../kernels-gpu")
                    .arch(arch)
                    .schedule_for_registers(few_registers)
                    .build_args(&["--features", features]);
                let built = || -> Result<(), Box<dyn Error>> {
                    if without_ptx {
                        fs::write(&ptx, "")?;
                    } else {
                        builder.copy_to(&ptx).build()?;
                    }
                    Ok(compress(&ptx)?)
                };
                built().map_err(|error| error.to_string())
            })
        });
        builds
            .into_iter()
            .filter_map(|build| build.join().expect("the builders do not panic").err())
            .map(|error| eprintln!("{error}"))
            .count()
    });
    if failed > 0 {
        std::process::exit(1);
    }
}
