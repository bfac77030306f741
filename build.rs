//! Compiles kernels to PTX for `tests/gpu` to run: the corpus over the surface of `cuda_std`, a family of one's own,
//! and with the feature `mutants-ptx` the mutants with the kernels that they are made from. Without it their files are
//! empty.

use std::path::PathBuf;
use std::{env, fs};

use cuda_builder::{CudaBuilder, NvvmArch};

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR for build scripts"));
    let has_mutants = env::var_os("CARGO_FEATURE_MUTANTS_PTX").is_some();
    // The builder watches what it compiles. The mutants' own build script copies these sources first.
    if has_mutants {
        for source in ["kernels-gpu/src", "sim/sample-kernels/src", "sim/mutants"] {
            println!("cargo::rerun-if-changed={source}");
        }
    }
    // The sample kernels among the mutants use `cp.async`, which needs 8.0.
    let modules: [(&str, NvvmArch, &str, &str); 4] = [
        ("compat/corpus", NvvmArch::Compute75, "", "corpus.ptx"),
        ("tests/subjects/own_kernel", NvvmArch::Compute75, "", "own_kernel.ptx"),
        ("sim/mutants", NvvmArch::Compute80, "", "mutants.ptx"),
        ("sim/mutants", NvvmArch::Compute90a, "wgmma", "mutants_wgmma.ptx"),
    ];
    // Cargo compiles one after the other; LLVM's work overlaps.
    let failed = std::thread::scope(|scope| {
        let builds = modules.map(|(package, arch, features, name)| {
            let ptx = out.join(name);
            scope.spawn(move || {
                if package == "sim/mutants" && !has_mutants {
                    return fs::write(ptx, "").map_err(|error| error.to_string());
                }
                let builder = CudaBuilder::new(package)
                    .arch(arch)
                    // As for the kernels themselves: at their cap of registers some would spill.
                    .schedule_for_registers(features == "wgmma")
                    .build_args(&["--features", features])
                    .copy_to(ptx);
                builder.build().map(drop).map_err(|error| error.to_string())
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
