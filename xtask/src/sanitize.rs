//! The simulator's unsafe code under tools that see what it does to memory.
//!
//! Its threads are coroutines, whose switches are assembly. Each tool sees a part: AddressSanitizer knows coroutines
//! and runs them; Miri and ThreadSanitizer do not, and run the same engine with threads of the operating system in
//! their place (`sim/src/engine/fiber.rs`): without coroutine switches, signals, and what only signals find.

use anyhow::{Context, bail};
use clap::ValueEnum;
use xshell::{Shell, cmd};

use crate::root;

/// A tool.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Tool {
    /// AddressSanitizer: accesses outside of allocations and to freed memory, with coroutines
    Address,
    /// ThreadSanitizer: data races between the simulator's workers, without coroutines
    Thread,
    /// Miri: undefined behaviour of any kind, without coroutines; needs a nightly toolchain with the component `miri`
    Miri,
}

/// Runs the tests of `cuda_sim` under each tool.
pub fn run(sh: &Shell, tools: &[Tool]) -> anyhow::Result<()> {
    let host = cmd!(sh, "rustc --version --verbose").read()?;
    let host = host
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .context("rustc names no host")?
        .to_owned();
    for tool in tools {
        match tool {
            Tool::Address => {
                let _folder = sh.push_env("CARGO_TARGET_DIR", root().join("target/sanitize-address"));
                // Sanitizers are unstable options of rustc.
                let _unstable = sh.push_env("RUSTC_BOOTSTRAP", "1");
                let _flags = sh.push_env("RUSTFLAGS", "-Zsanitizer=address --cfg cuda_sim_own_stacks");
                // What a fiber holds that a signal ended is abandoned, by design. A second stack for each of tens of
                // thousands of fibers is more mappings than a process may have.
                let _options = sh.push_env("ASAN_OPTIONS", "detect_leaks=0:detect_stack_use_after_return=0");
                let what = [
                    "--features",
                    "corosensei/sanitizer",
                    "--lib",
                    "--tests",
                    "--no-fail-fast",
                ];
                cmd!(sh, "cargo test --package cuda_sim --target {host} {what...}").run()?;
            }
            Tool::Thread => {
                let _folder = sh.push_env("CARGO_TARGET_DIR", root().join("target/sanitize-thread"));
                let _unstable = sh.push_env("RUSTC_BOOTSTRAP", "1");
                let _flags = sh.push_env("RUSTFLAGS", "-Zsanitizer=thread --cfg cuda_sim_os_threads");
                // The standard library too, or its locks would be unknown.
                cmd!(
                    sh,
                    "cargo test --package cuda_sim --target {host} -Zbuild-std --test engine"
                )
                .run()?;
            }
            Tool::Miri => {
                if cmd!(sh, "cargo +nightly miri --version")
                    .quiet()
                    .ignore_stderr()
                    .read()
                    .is_err()
                {
                    bail!("no Miri: `rustup toolchain install nightly --component miri`");
                }
                let _folder = sh.push_env("CARGO_TARGET_DIR", root().join("target/miri"));
                // Weak handles of the buffer registry and interned names live as long as the program; time is asked
                // for.
                let _flags = sh.push_env("MIRIFLAGS", "-Zmiri-disable-isolation -Zmiri-ignore-leaks");
                cmd!(sh, "cargo +nightly miri test --package cuda_sim --test engine").run()?;
            }
        }
    }
    Ok(())
}
