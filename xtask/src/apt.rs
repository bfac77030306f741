//! Debian packages, where installing them needs no password.

use anyhow::{Context, bail};
use xshell::{Shell, cmd};

/// Installs `packages` with apt-get, as root or through `sudo -n`.
pub fn install(sh: &Shell, packages: &[&str]) -> anyhow::Result<()> {
    if cmd!(sh, "apt-get --version")
        .quiet()
        .ignore_stdout()
        .ignore_stderr()
        .run()
        .is_err()
    {
        bail!("apt-get is not here");
    }
    let sudo: &[&str] = if cmd!(sh, "id -u").quiet().read()? == "0" {
        &[]
    } else {
        &["sudo", "-n"]
    };
    if !sudo.is_empty() {
        cmd!(sh, "env {sudo...} true")
            .run()
            .context("neither root nor `sudo` without a password")?;
    }
    let apt_get = |args: &[&str]| {
        cmd!(
            sh,
            "env {sudo...} env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends {args...}"
        )
        .run()
    };
    let install = [&["install"], packages].concat();
    if apt_get(&install).is_err() {
        // A fresh image has no package lists, an old one stale ones.
        apt_get(&["update"])?;
        apt_get(&install)?;
    }
    Ok(())
}
