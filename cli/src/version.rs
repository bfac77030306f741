//! What this program is made of: its version, the commit, and the digest of its kernels.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use tilewright::ptx;
use tilewright_harness::digest;

/// The version of the crate.
pub const NUMBER: &str = env!("CARGO_PKG_VERSION");

/// The commit that was built, with `-dirty` for a tree that differs from it; `unknown` outside a clone.
pub const COMMIT: &str = git_version::git_version!(
    args = ["--always", "--abbrev=10", "--dirty", "--exclude=*"],
    fallback = "unknown"
);

/// Version and commit: what `-V` prints.
pub static SHORT: LazyLock<String> = LazyLock::new(|| format!("{NUMBER} ({COMMIT})"));

/// What `--version` prints: also how many kernels there are, and their digest.
pub static LONG: LazyLock<String> = LazyLock::new(|| {
    // clap wants this text on every start, and a digest is of megabytes.
    let kernels = match ptx::ensure_embedded() {
        Ok(()) if std::env::args_os().any(|argument| argument == "--version") => {
            let (count, digest) = kernels();
            format!("{count}, digest {digest}")
        }
        Ok(()) => String::new(),
        Err(_) => "built without their PTX".to_owned(),
    };
    format!("{}\nkernels: {kernels}", *SHORT)
});

/// How many kernels the PTX has, each counted once whatever the levels that have it, and one digest of all levels.
pub fn kernels() -> (usize, String) {
    let of_levels = ptx::levels().iter().flat_map(|level| {
        let of_level = digest::of_level(level).iter();
        of_level.map(|(symbol, digest)| ((symbol.clone(), level.arch), digest.clone()))
    });
    let all: BTreeMap<_, _> = of_levels.collect();
    let symbols: BTreeSet<_> = all.keys().map(|(symbol, _)| symbol).collect();
    let by_level = all
        .iter()
        .map(|((symbol, level), digest)| (format!("{symbol} {level}"), digest.clone()));
    (symbols.len(), digest::combined(&by_level.collect()))
}
