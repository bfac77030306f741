//! Chromium, in which the tests open the planner's page.

use xshell::Shell;

use crate::apt;

/// Names that the browser goes by; `tests/page.rs` looks for the same.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// Installs Debian's Chromium where there is none and where that can be done. Without one the tests of the page are
/// skipped, and say so: this is no error.
pub fn ensure(sh: &Shell) {
    let present = || NAMES.into_iter().find_map(|name| Some((name, version(sh, name)?)));
    let installed = match present() {
        Some(found) => Ok(found),
        None => apt::install(sh, &["chromium"])
            .and_then(|()| present().ok_or_else(|| anyhow::anyhow!("the package brought none that starts"))),
    };
    match installed {
        Ok((name, version)) => println!("browser: {name}, {version}"),
        Err(error) => println!("browser: none; tests of the planner's page will be skipped: {error:#}"),
    }
}

fn version(sh: &Shell, name: &str) -> Option<String> {
    let text = sh.cmd(name).arg("--version").quiet().ignore_stderr().read().ok()?;
    text.lines().next().map(|line| line.trim().to_owned())
}
