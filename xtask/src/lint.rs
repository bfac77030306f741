//! Sizes, evidence, format, lints and documentation, warnings denied.

use std::path::Path;

use anyhow::Context;
use xshell::{Shell, cmd};

use crate::{device_toolchain, evidence, root, sizes};

/// Workspaces of their own, which the root's commands do not reach.
const SATELLITES: [&str; 5] = [
    "examples/candle",
    "examples/hello-shared",
    "examples/smem-spilling",
    "compat/corpus-published",
    "compat/corpus-main",
];

/// Systems other than this one whose users get the library, the planner and the simulator.
const TARGETS: [&str; 2] = ["aarch64-unknown-linux-gnu", "x86_64-pc-windows-gnu"];

/// Adds rustfmt and clippy where a minimal toolchain lacks them.
pub fn ensure_tools(sh: &Shell) -> anyhow::Result<()> {
    let present = |tool: &str| {
        cmd!(sh, "cargo {tool} --version")
            .quiet()
            .ignore_stdout()
            .ignore_stderr()
            .run()
            .is_ok()
    };
    if !(present("fmt") && present("clippy")) {
        cmd!(sh, "rustup component add rustfmt clippy")
            .run()
            .context("install rustfmt and clippy for this toolchain")?;
    }
    println!("rustfmt, clippy: present");
    Ok(())
}

/// Runs the checks, the cheapest first.
pub fn run(sh: &Shell) -> anyhow::Result<()> {
    sizes::check(sh)?;
    evidence::run(root(), false)?;
    device_toolchain::ensure(sh)?;
    ensure_tools(sh)?;
    cmd!(sh, "cargo fmt --all --check")
        .run()
        .context("run `cargo fmt --all`")?;
    for workspace in SATELLITES.map(|folder| root().join(folder)) {
        let _in_workspace = sh.push_dir(&workspace);
        cmd!(sh, "cargo fmt --check")
            .run()
            .with_context(|| format!("run `cargo fmt` in {}", workspace.display()))?;
    }
    // With what is behind a feature; the kernels' PTX is the same with it.
    cmd!(
        sh,
        "cargo clippy --workspace --all-targets --features tilewright/cudarc -- -D warnings"
    )
    .run()?;
    other_systems(sh)?;
    cmd!(sh, "cargo doc --workspace --no-deps")
        .env("RUSTDOCFLAGS", "-D warnings")
        .run()?;
    Ok(())
}

/// Lints what runs on other systems too, for [`TARGETS`], whose standard library is installed where it is missing.
/// Nothing is linked.
fn other_systems(sh: &Shell) -> anyhow::Result<()> {
    for target in TARGETS {
        let libraries = cmd!(sh, "rustc --print target-libdir --target {target}")
            .quiet()
            .read()?;
        if !Path::new(libraries.trim()).is_dir() {
            cmd!(sh, "rustup target add {target}")
                .run()
                .with_context(|| format!("install the standard library of {target}"))?;
        }
    }
    let targets = TARGETS.iter().flat_map(|target| ["--target", target]);
    // What build scripts use is compiled once more for this selection of packages, and hardly runs here.
    let unoptimized = ["cuda_builder", "cuda_sim", "zlib-rs", "sha2"]
        .map(|package| format!("profile.dev.package.{package}.opt-level=0"))
        .into_iter()
        .flat_map(|setting| ["--config".to_owned(), setting]);
    cmd!(
        sh,
        "cargo clippy -p tilewright -p cuda_views {targets...} {unoptimized...} -- -D warnings"
    )
    .env("TILEWRIGHT_WITHOUT_PTX", "1")
    .run()?;
    Ok(())
}
