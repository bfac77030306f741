//! The C compiler that the test of the occupancy model compiles NVIDIA's with.

use std::env;

use anyhow::{Context, bail};
use xshell::Shell;

use crate::apt;

/// Installs a C compiler where there is no `cc`. What `CC` says instead of it must be there.
pub fn ensure(sh: &Shell) -> anyhow::Result<()> {
    let named = env::var("CC").ok();
    let compiler = named.as_deref().unwrap_or("cc");
    if !starts(sh, compiler) {
        if named.is_some() {
            bail!("CC names `{compiler}`, which does not start");
        }
        apt::install(sh, &["gcc", "libc6-dev"])
            .context("no C compiler: install one, or name it in CC, then `cargo xtask setup`")?;
    }
    println!("C compiler: {compiler}");
    Ok(())
}

/// Whether the compiler, perhaps with arguments, says its version.
fn starts(sh: &Shell, compiler: &str) -> bool {
    let mut words = compiler.split_whitespace();
    sh.cmd(words.next().unwrap_or_default())
        .args(words)
        .arg("--version")
        .quiet()
        .ignore_stdout()
        .ignore_stderr()
        .run()
        .is_ok()
}
