//! The kernels that ship, by their digests: `docs/results/digests.txt`.
//!
//! `tests/evidence.rs` holds that file to the PTX that was built, so that nothing here needs it.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, ensure};

/// The name that stands for all mutants together.
pub const MUTANTS: &str = "mutants";

/// What the name of one mutant begins with.
pub const MUTANT: &str = "mutant:";

/// What the line of a suite begins with.
const SUITE: &str = "suite:";

/// A digest that nobody knows: of results that are older than digests.
pub const UNKNOWN: &str = "unknown";

/// A kernel as the newest level of PTX has it that has it at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Its symbol.
    pub symbol: String,
    /// The level: `sm_80`, `sm_90a`, `fp8` for a kernel of FP8, `spilling` for one of `examples/smem-spilling`.
    pub level: String,
    /// Its digest.
    pub digest: String,
    /// The kernel whose line of the planner's speeds is its own, where dispatch may pick it.
    pub priced_by: Option<String>,
}

/// Every kernel that ships.
#[derive(Debug, Default)]
pub struct Shipped {
    /// In the order of the file; each once.
    pub kernels: Vec<Kernel>,
    /// For each suite, the number of rows for which dispatch now picks another kernel, tile or split-K factor, and of
    /// all rows.
    pub moved: BTreeMap<String, [usize; 2]>,
    /// How many kernels of an older level have the digest that the newest one has, and how many have not.
    pub older: [usize; 2],
    digests: BTreeMap<String, String>,
}

impl Shipped {
    /// Reads the file.
    pub fn read(file: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        Self::parse(&text).with_context(|| format!("{}", file.display()))
    }

    /// Reads lines of symbol, level, digest and the kernel that prices it or `-`, levels oldest first; and of
    /// `suite:NAME`, `-`, rows that moved and all rows as `2/24`, and `-`.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        let mut shipped = Self::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let words: Vec<&str> = line.split(' ').collect();
            ensure!(words.len() == 4, "`{line}` is not kernel, level, digest and speed");
            if let Some(suite) = words[0].strip_prefix(SUITE) {
                let (moved, rows) = words[2]
                    .split_once('/')
                    .context("a suite has rows that moved and all rows")?;
                shipped.moved.insert(suite.to_owned(), [moved.parse()?, rows.parse()?]);
                continue;
            }
            let kernel = Kernel {
                symbol: words[0].to_owned(),
                level: words[1].to_owned(),
                digest: words[2].to_owned(),
                priced_by: Some(words[3]).filter(|word| *word != "-").map(str::to_owned),
            };
            let before = shipped.digests.insert(kernel.symbol.clone(), kernel.digest.clone());
            if let Some(before) = before {
                shipped.kernels.retain(|known| known.symbol != kernel.symbol);
                shipped.older[usize::from(before != kernel.digest)] += 1;
            }
            let is_checked = kernel.symbol != MUTANTS && !kernel.symbol.starts_with(MUTANT);
            if is_checked {
                shipped.kernels.push(kernel);
            }
        }
        ensure!(!shipped.kernels.is_empty(), "it names no kernel");
        Ok(shipped)
    }

    /// The digest that ships of a kernel, of one mutant ([`MUTANT`] before its name), or of all [`MUTANTS`].
    pub fn digest(&self, name: &str) -> Option<&str> {
        self.digests.get(name).map(String::as_str)
    }

    /// The mutants, [`MUTANT`] before their names, by their digests.
    pub fn mutants(&self) -> impl Iterator<Item = (&String, &String)> {
        self.digests.iter().filter(|(name, _)| name.starts_with(MUTANT))
    }

    /// Whether a result of this digest is of the kernel that ships.
    pub fn is_current(&self, name: &str, digest: &str) -> bool {
        self.digest(name) == Some(digest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_level_of_a_kernel_counts() {
        let text = "# head\na sm_75 1 -\nb sm_75 5 -\na sm_80 1 c\nb sm_80 6 -\nc sm_90a 3 -\nmutants - 9 -\n\
                    mutant:a_late - 7 -\nsuite:half - 2/24 -\n";
        let shipped = Shipped::parse(text).unwrap();
        let names: Vec<_> = shipped
            .kernels
            .iter()
            .map(|kernel| (kernel.symbol.as_str(), kernel.level.as_str()))
            .collect();
        assert_eq!(names, [("a", "sm_80"), ("b", "sm_80"), ("c", "sm_90a")]);
        assert_eq!(shipped.older, [1, 1]);
        assert_eq!(shipped.kernels[0].priced_by.as_deref(), Some("c"));
        assert!(shipped.is_current("b", "6") && !shipped.is_current("b", "5") && !shipped.is_current("d", "5"));
        assert_eq!(
            (shipped.digest(MUTANTS), shipped.digest("mutant:a_late")),
            (Some("9"), Some("7"))
        );
        assert_eq!(shipped.moved.get("half"), Some(&[2, 24]));
        assert!(Shipped::parse("a sm_75 1\n").is_err() && Shipped::parse("# none\n").is_err());
    }
}
