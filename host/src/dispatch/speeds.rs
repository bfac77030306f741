//! How fast each kernel is: a table of measured numbers.

use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::LazyLock;

use cuda_arch::Architecture;
use tilewright_contract::{DType, KERNELS, Kernel};

use super::terms::{KERNEL_TERMS, KernelTerms, SHARED_TERMS, SharedTerms};
use crate::fp8::{FP8_TERMS, Fp8Terms};

/// The first word of the line of coefficients of FP8 kernels.
const FP8: &str = "fp8";

/// The first word of a line of coefficients that an element type shares.
const SHARED: &str = "shared";

/// Coefficients of a kernel.
#[derive(Clone, Debug, PartialEq)]
struct Line {
    /// Columns of the tile.
    width: u32,
    terms: KernelTerms,
    digest: String,
}

/// What the planner knows of the kernels' speed, measured on one device.
///
/// A text: `arch sm_90`, then perhaps a line `fp8` with the coefficients of [`FP8_TERMS`], then for each element type a
/// line `shared f32` with those of [`SHARED_TERMS`], and for each kernel and tile a line of symbol, width, the
/// coefficients of [`KERNEL_TERMS`] and the digest of the PTX that was measured. `gpu_pick --calibrate` writes it.
#[derive(Clone, Copy)]
pub struct Speeds {
    table: &'static Table,
}

struct Table {
    text: String,
    arch: &'static Architecture,
    lines: HashMap<&'static str, Vec<Line>>,
    shared: HashMap<DType, SharedTerms>,
    fp8: Option<Fp8Terms>,
    /// What [`Table::first_alike`] finds for each kernel of the library.
    priced_by: HashMap<&'static str, Option<&'static str>>,
}

/// A line that is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpeedsError {
    /// Its number, from 1.
    pub line: usize,
    /// What is wrong.
    pub problem: String,
}

impl fmt::Display for SpeedsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.problem)
    }
}

impl std::error::Error for SpeedsError {}

impl Default for Speeds {
    /// Those of an H200.
    fn default() -> Self {
        static BUILT_IN: LazyLock<Table> =
            LazyLock::new(|| Table::read(include_str!("speed.txt").into()).expect("tested below"));
        Self { table: &BUILT_IN }
    }
}

impl fmt::Debug for Speeds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kernels, arch) = (self.table.lines.len(), self.table.arch.name);
        write!(f, "Speeds({kernels} kernels, {arch})")
    }
}

impl PartialEq for Speeds {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.table, other.table) || self.table.text == other.table.text
    }
}

impl Eq for Speeds {}

impl Hash for Speeds {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Tables that differ in more than that are rare, and equal ones are equally long.
        self.table.text.len().hash(state);
    }
}

impl Speeds {
    /// Reads a table. It stays in memory for good.
    ///
    /// # Errors
    /// [`SpeedsError`] with the first line that is wrong.
    pub fn read(text: String) -> Result<Self, SpeedsError> {
        Ok(Self {
            table: Box::leak(Box::new(Table::read(text)?)),
        })
    }

    /// The architecture that was measured.
    pub fn arch(&self) -> &'static Architecture {
        self.table.arch
    }

    /// Every line of an element type, with the kernel's symbol or the word `shared`.
    pub fn lines(&self, dtype: DType) -> impl Iterator<Item = (&'static str, &'static str)> {
        let lines = self.table.text.lines().skip(1);
        lines
            .filter_map(|line| Some((line.split_once(' ')?.0, line)))
            .filter(move |(first, line)| match *first {
                SHARED => line.split(' ').nth(1) == Some(dtype.name()),
                symbol => Kernel::named(symbol).is_some_and(|kernel| kernel.dtype == dtype),
            })
    }

    /// The coefficients of the line of a kernel whose tile width is nearest.
    pub(super) fn of(&self, kernel: &Kernel) -> Option<&'static KernelTerms> {
        let lines = self.table.lines.get(self.priced_by(kernel)?)?;
        let nearest = lines.iter().min_by_key(|line| line.width.abs_diff(kernel.tile.n))?;
        Some(&nearest.terms)
    }

    /// The digest of the PTX of a kernel that was measured.
    pub fn digest(&self, symbol: &str) -> Option<&'static str> {
        Some(&self.table.lines.get(symbol)?.first()?.digest)
    }

    /// The coefficients that the kernels of an element type share.
    pub(super) fn shared(&self, dtype: DType) -> Option<&'static SharedTerms> {
        self.table.shared.get(&dtype)
    }

    /// The coefficients of FP8 kernels.
    pub fn fp8(&self) -> Option<&'static Fp8Terms> {
        self.table.fp8.as_ref()
    }

    /// The line of FP8 kernels.
    pub fn fp8_line(&self) -> Option<&'static str> {
        let is_fp8 = |line: &&str| line.split(' ').next() == Some(FP8);
        self.table.text.lines().find(is_fp8)
    }

    /// The text with other coefficients of FP8 kernels.
    pub fn with_fp8(&self, coefficients: &Fp8Terms) -> String {
        let numbers = coefficients.map(|number| format!("{number:.4}")).join(" ");
        let before = self.fp8_line();
        let others = self.table.text.lines().skip(1).filter(|line| Some(*line) != before);
        let mut lines = vec![format!("arch {}", self.arch().name), format!("{FP8} {numbers}")];
        lines.extend(others.map(str::to_owned));
        lines.join("\n") + "\n"
    }

    /// The kernel whose lines price another: its own, or where it has none those of the first that differs from it in
    /// the layout of A and B alone.
    pub fn priced_by(&self, kernel: &Kernel) -> Option<&'static str> {
        match self.table.priced_by.get(kernel.symbol) {
            Some(symbol) => *symbol,
            // A kernel from outside the library.
            None => self.table.first_alike(kernel),
        }
    }
}

impl Table {
    fn read(text: String) -> Result<Self, SpeedsError> {
        let wrong = |line, problem| SpeedsError { line, problem };
        let first = text.lines().next().and_then(|line| line.strip_prefix("arch "));
        let arch = first.ok_or_else(|| wrong(1, "must be `arch` and an architecture, such as `arch sm_90`".into()))?;
        let arch = cuda_arch::find(arch).map_err(|error| wrong(1, format!("{error}")))?;
        let (mut lines, mut shared, mut fp8) = (HashMap::<_, Vec<Line>>::new(), HashMap::new(), None);
        let numbers_of = |at, numbers: &str, count| wrong(at, format!("`{numbers}` is not {count} numbers"));
        for (at, line) in text.lines().enumerate().skip(1) {
            let (first, rest) = line.split_once(' ').unwrap_or((line, ""));
            if first == FP8 {
                let words = rest.split(' ').collect::<Vec<_>>();
                fp8 = Some(coefficients(&words).ok_or_else(|| numbers_of(at + 1, rest, FP8_TERMS.len()))?);
                continue;
            }
            if first == SHARED {
                let (dtype, numbers) = rest.split_once(' ').unwrap_or((rest, ""));
                let dtype: DType = dtype
                    .parse()
                    .map_err(|_| wrong(at + 1, format!("no element type `{dtype}`")))?;
                let words = numbers.split(' ').collect::<Vec<_>>();
                let terms = coefficients(&words).ok_or_else(|| numbers_of(at + 1, numbers, SHARED_TERMS.len()))?;
                shared.insert(dtype, terms);
                continue;
            }
            let kernel = Kernel::named(first).ok_or_else(|| wrong(at + 1, format!("no kernel `{first}`")))?;
            let line = parse(rest).ok_or_else(|| {
                let count = KERNEL_TERMS.len();
                wrong(at + 1, format!("`{rest}` is not a width, {count} numbers and a digest"))
            })?;
            lines.entry(kernel.symbol).or_default().push(line);
        }
        let mut table = Self {
            text,
            arch,
            lines,
            shared,
            fp8,
            priced_by: HashMap::new(),
        };
        let priced_by = KERNELS.iter().map(|kernel| (kernel.symbol, table.first_alike(kernel)));
        table.priced_by = priced_by.collect();
        Ok(table)
    }

    /// The kernel itself, or the first that differs from it in the layout of A and B alone, of those that have lines.
    fn first_alike(&self, kernel: &Kernel) -> Option<&'static str> {
        let is_alike = |other: &&Kernel| other.supports.alpha_beta && other.has_same_tile(kernel);
        let own = Kernel::named(kernel.symbol).into_iter();
        own.chain(KERNELS.iter().filter(is_alike))
            .map(|other| other.symbol)
            .find(|symbol| self.lines.contains_key(symbol))
    }
}

/// So many numbers, none of them negative.
fn coefficients<const N: usize>(words: &[&str]) -> Option<[f64; N]> {
    let numbers: Option<Vec<f64>> = words
        .iter()
        .map(|word| word.parse().ok().filter(|number| (0.0..f64::INFINITY).contains(number)))
        .collect();
    numbers?.try_into().ok()
}

fn parse(rest: &str) -> Option<Line> {
    let words: Vec<&str> = rest.split(' ').collect();
    let [width, numbers @ .., digest] = &words[..] else {
        return None;
    };
    let is_digest = digest.len() == 16 && digest.bytes().all(|digit| digit.is_ascii_hexdigit());
    let line = Line {
        width: width.parse().ok()?,
        terms: coefficients(numbers)?,
        digest: (*digest).to_owned(),
    };
    // Without steps the time would not depend on K.
    let steps = line.terms.iter().zip(KERNEL_TERMS);
    let is_by_k =
        |(cycles, name): (&f64, &str)| *cycles > 0.0 && ["latency", "work", "mean-work", "loads"].contains(&name);
    (is_digest && steps.into_iter().any(is_by_k)).then_some(line)
}

#[cfg(test)]
#[path = "speeds/tests.rs"]
mod tests;
