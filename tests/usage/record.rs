//! What is on record, of which PTX, and what has changed.
//!
//! `ptxas` takes minutes for all architectures. So each record names the PTX that it is of. While that PTX ships, one
//! kernel in [`SAMPLED`] is assembled again for each architecture, different ones for each. `BLESS=1` assembles all and
//! writes the records.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tilewright_harness::digest;
use tilewright_harness::inspect::{Ptxas, Target, Usage};

/// The second line of a file.
const COLUMNS: &str =
    "symbol registers static_bytes stack_bytes spill_store_bytes spill_load_bytes barriers max_threads\n";

/// Of so many kernels one is assembled again: as many as there are architectures, so that each is for one of them.
const SAMPLED: usize = 31;

/// Whether everything is to be assembled, and what has changed to be written.
pub fn blesses() -> bool {
    std::env::var_os("BLESS").is_some_and(|value| value == "1")
}

/// The first line of a record of the kernels that ship.
pub fn origin(ptxas: &Ptxas, target: &Target) -> String {
    let kernels = target
        .modules()
        .flat_map(|level| {
            digest::of_level(level)
                .iter()
                .map(move |(symbol, digest)| (level, symbol, digest))
        })
        .map(|(level, symbol, digest)| (format!("{} {symbol}", level.arch), digest.clone()))
        .collect();
    origin_of(ptxas, &kernels)
}

/// The first line of a record: what assembled, and the digest of what was assembled.
pub fn origin_of(ptxas: &Ptxas, kernels: &BTreeMap<String, String>) -> String {
    let version = ptxas.version().unwrap_or_else(|error| panic!("{error}"));
    format!("# ptxas {version}, PTX {}\n", digest::combined(kernels))
}

/// A file `ARCH.txt` of a folder.
pub struct Record {
    path: PathBuf,
    arch: String,
    origin: String,
    text: String,
}

impl Record {
    /// Reads that of a folder of the repository. `origin`: the first line, if it is of what ships.
    pub fn of(folder: &str, arch: &str, origin: String) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let path = folder.join(format!("{arch}.txt"));
        Self {
            text: std::fs::read_to_string(&path).expect("a file for every architecture"),
            path,
            arch: arch.to_owned(),
            origin,
        }
    }

    /// Whether the record is of what ships, and nobody asks for all to be assembled.
    pub fn holds(&self) -> bool {
        self.text.starts_with(&self.origin) && !blesses()
    }

    /// Those of a list that are assembled again, for an architecture that has this place among all.
    pub fn sample<K: Copy>(kernels: &[K], place: usize) -> Vec<K> {
        kernels.iter().skip(place % SAMPLED).step_by(SAMPLED).copied().collect()
    }

    /// The kernels as they are on record, without what `ptxas` remarked.
    pub fn kernels(&self) -> impl Iterator<Item = (Usage, Option<u32>)> {
        self.text
            .lines()
            .skip(2)
            .map(|line| kernel(line).unwrap_or_else(|| panic!("{}: {line}", self.path.display())))
    }

    /// Holds all kernels, or where the record [`holds`](Self::holds) some, against it; with `BLESS=1` writes it.
    pub fn compare<'a>(&self, kernels: impl IntoIterator<Item = (&'a Usage, Option<u32>)>) {
        let lines: String = kernels
            .into_iter()
            .map(|(usage, max_threads)| line(usage, max_threads))
            .collect();
        if self.holds() {
            let changed: Vec<&str> = lines
                .lines()
                .filter(|line| !self.text.contains(&format!("\n{line}\n")))
                .collect();
            assert!(changed.is_empty(), "{}: not as on record: {changed:#?}", self.arch);
            return;
        }
        let text = format!("{}{COLUMNS}{lines}", self.origin);
        if blesses() {
            std::fs::write(&self.path, &text).expect("the record is writable");
            return;
        }
        let changed = differences(&self.text, &text);
        assert!(
            changed.is_empty(),
            "{}: what the kernels take, or their PTX, has changed ({}):\n{changed}if that is right, run \
             `BLESS=1 cargo test --test usage`",
            self.arch,
            COLUMNS.trim_end()
        );
    }
}

/// Whether two kernels would have one line.
pub fn says_the_same(one: (&Usage, Option<u32>), other: (&Usage, Option<u32>)) -> bool {
    line(one.0, one.1) == line(other.0, other.1)
}

fn line(usage: &Usage, max_threads: Option<u32>) -> String {
    let max_threads = max_threads.map_or("-".to_owned(), |threads| threads.to_string());
    format!(
        "{} {} {} {} {} {} {} {max_threads}\n",
        usage.symbol,
        usage.registers,
        usage.static_smem_bytes,
        usage.stack_bytes,
        usage.spill_store_bytes,
        usage.spill_load_bytes,
        usage.barriers,
    )
}

fn kernel(line: &str) -> Option<(Usage, Option<u32>)> {
    let words: Vec<&str> = line.split(' ').collect();
    let &[
        symbol,
        registers,
        static_bytes,
        stack,
        stores,
        loads,
        barriers,
        max_threads,
    ] = &words[..]
    else {
        return None;
    };
    let usage = Usage {
        symbol: symbol.to_owned(),
        registers: registers.parse().ok()?,
        static_smem_bytes: static_bytes.parse().ok()?,
        stack_bytes: stack.parse().ok()?,
        spill_store_bytes: stores.parse().ok()?,
        spill_load_bytes: loads.parse().ok()?,
        barriers: barriers.parse().ok()?,
        ..Usage::default()
    };
    Some((
        usage,
        (max_threads != "-").then(|| max_threads.parse()).transpose().ok()?,
    ))
}

/// The lines that two texts do not have in common, `-` before those of the first and `+` before those of the second.
fn differences(before: &str, after: &str) -> String {
    let gone = before.lines().filter(|line| after.lines().all(|other| other != *line));
    let come = after.lines().filter(|line| before.lines().all(|other| other != *line));
    let mut text: String = gone.map(|line| format!("- {line}\n")).collect();
    text.extend(come.map(|line| format!("+ {line}\n")));
    if text.is_empty() && before != after {
        text.push_str("the order of the lines\n");
    }
    text
}
