//! The guide: its book, and its exercises.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::Context;
use xshell::{Shell, cmd};

use crate::device_toolchain::{self, WITHOUT_PTX};
use crate::root;

/// The kernel that the planner's page of the book begins with: one that does not fit, with the moves that mend it.
const PLANNED: [&str; 8] = [
    "--arch",
    "sm_120",
    "--dtype",
    "nvfp4",
    "--tile",
    "128x256x64",
    "--stages",
    "4",
];

/// Where the book is built.
const OUT: &str = "target/book";

/// Builds the book in `target/book` and checks its links; with `write`, writes first what its pages show of the tree.
///
/// That pages and tree agree is a test, `cli/tests/guide`: a reader who has mended an exercise still gets a book.
///
/// # Errors
/// A page leads to nothing, or a build fails.
pub fn book(sh: &Shell, write: bool, source: Option<&str>) -> anyhow::Result<()> {
    device_toolchain::ensure(sh)?;
    // Nothing in the book needs the kernels' PTX, which takes most of a first build. Where it is there already, a build
    // without would compile half of the workspace again.
    let _without = (!device_toolchain::has_ptx()).then(|| sh.push_env(WITHOUT_PTX, "1"));
    if write {
        cmd!(sh, "cargo test --quiet -p tilewright-cli --test guide")
            .env("BLESS", "1")
            .run()
            .context("a page names what the tree does not have")?;
    }
    let planner = root().join("target/planner-page.html");
    cmd!(
        sh,
        "cargo run --quiet -p tilewright-cli -- plan {PLANNED...} --html {planner}"
    )
    .ignore_stdout()
    .run()?;
    let (root, out) = (root(), root().join(OUT));
    cmd!(
        sh,
        "cargo run --quiet -p tilewright-book -- {root} {out} {planner} {source...}"
    )
    .run()?;
    println!("the book: {}", Path::new(OUT).join("index.html").display());
    Ok(())
}

/// Runs the program that judges exercises, and ends as it does.
///
/// # Errors
/// cargo does not start.
pub fn exercise(args: &[OsString]) -> anyhow::Result<ExitCode> {
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["run", "--quiet", "-p", "exercises", "--"])
        .args(args)
        .current_dir(root())
        .status()
        .context("cannot start cargo")?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
