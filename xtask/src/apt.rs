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
    let as_root: &[&str] = if cmd!(sh, "id -u").quiet().read()? == "0" {
        &["env"]
    } else {
        cmd!(sh, "sudo -n true")
            .run()
            .context("neither root nor `sudo` without a password")?;
        &["sudo", "-n", "env"]
    };
    let apt_get = |args: &[&str]| {
        let options = [
            "DEBIAN_FRONTEND=noninteractive",
            "apt-get",
            "-qq",
            "-y",
            "--no-install-recommends",
        ];
        sh.cmd(as_root[0]).args(&as_root[1..]).args(options).args(args).run()
    };
    let install = [&["install"], packages].concat();
    if apt_get(&install).is_err() {
        // A fresh image has no package lists, an old one stale ones.
        apt_get(&["update"])?;
        apt_get(&install)?;
    }
    Ok(())
}
