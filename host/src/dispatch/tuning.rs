//! Choices that were measured on the device at hand, in place of the cost model's.

use std::collections::HashMap;
use std::fmt::{self, Write as _};
use std::hash::{Hash, Hasher};

use tilewright_contract::{Batch, DType, GemmShape, Kernel, Operand, Precision, Transpose};
use tilewright_plan::device::DeviceProfile;

use super::Policy;
use super::speeds::Speeds;

/// What a choice was measured for: one product, packed or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TunedShape {
    /// Rows of A and C, columns of B and C, columns of A.
    pub extents: [usize; 3],
    /// How A and B lie.
    pub transpose: [Transpose; 2],
    /// The element type.
    pub dtype: DType,
    /// The least precise arithmetic that was allowed.
    pub precision: Precision,
}

impl TunedShape {
    /// Of a product; `None` for a batch.
    pub fn of(shape: &GemmShape, dtype: DType, precision: Precision) -> Option<Self> {
        (shape.batch() == Batch::ONE).then(|| Self {
            extents: [shape.m(), shape.n(), shape.k()],
            transpose: [Operand::A, Operand::B].map(|operand| shape.transpose(operand)),
            dtype,
            precision,
        })
    }
}

/// The fastest launch that was measured for a product.
#[derive(Clone, Debug, PartialEq)]
pub struct TunedChoice {
    /// The kernel's symbol.
    pub kernel: String,
    /// Columns of its tile.
    pub width: u32,
    /// Splits of K.
    pub splits: u32,
    /// Digest of the kernel's PTX, as in the table of [`Speeds`].
    pub digest: String,
    /// Microseconds, the median.
    pub us: f64,
}

/// Measured choices of one device.
///
/// A text: `device NVIDIA H200`, `driver 13.0`, then for each product a line of m, n, k, layout (`nn`, `nt`, `tn`,
/// `tt`), element type, precision, kernel, width of the tile, splits, digest and microseconds. `tilewright tune`
/// writes it, [`Policy::tuning`] takes it. On another device or with another driver all of it is passed over, and a
/// line whose kernel has changed since; [`Plan::reasons`](super::Plan::reasons) says so.
#[derive(Clone, Copy)]
pub struct Tuning {
    table: &'static TuningTable,
}

/// The content of a [`Tuning`], which can be added to.
#[derive(Clone, Debug, PartialEq)]
pub struct TuningTable {
    /// The device's name.
    pub device: String,
    /// The newest CUDA version that its driver supports.
    pub driver: String,
    /// The choices.
    pub choices: HashMap<TunedShape, TunedChoice>,
}

/// A line that is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TuningError {
    /// Its number, from 1.
    pub line: usize,
    /// What is wrong.
    pub problem: String,
}

impl fmt::Display for TuningError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.problem)
    }
}

impl std::error::Error for TuningError {}

impl fmt::Debug for Tuning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Tuning({} products, {})",
            self.table.choices.len(),
            self.table.device
        )
    }
}

impl PartialEq for Tuning {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.table, other.table) || self.table == other.table
    }
}

impl Eq for Tuning {}

impl Hash for Tuning {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // A program has one, or few.
        self.table.choices.len().hash(state);
    }
}

impl Tuning {
    /// Takes a table. It stays in memory for good.
    pub fn new(table: TuningTable) -> Self {
        Self {
            table: Box::leak(Box::new(table)),
        }
    }

    /// How a reason begins that says that a table, or a line of it, is passed over.
    pub const PASSED_OVER: &'static str = "tuning passed over: ";

    /// Why it is passed over on a device, if it is.
    pub fn passed_over(&self, device: &DeviceProfile) -> Option<String> {
        let driver = device.installed.as_ref().map_or("none", |installed| &installed.driver);
        let TuningTable {
            device: measured,
            driver: with,
            ..
        } = self.table;
        (*measured != device.name || with != driver).then(|| {
            format!(
                "{}it is of {measured}, driver {with}, and this is {}, driver {driver}",
                Self::PASSED_OVER,
                device.name
            )
        })
    }

    /// The choice for a product, or a word why its line is passed over; `None` where there is none.
    pub(super) fn choice(
        &self,
        shape: &GemmShape,
        dtype: DType,
        policy: &Policy,
    ) -> Option<Result<&'static TunedChoice, String>> {
        let choice = self
            .table
            .choices
            .get(&TunedShape::of(shape, dtype, policy.precision)?)?;
        let known = Speeds::default().digest(&choice.kernel);
        Some(if known == Some(&choice.digest) {
            Ok(choice)
        } else {
            Err(format!(
                "{}{} has changed since it was measured",
                Self::PASSED_OVER,
                choice.kernel
            ))
        })
    }
}

impl TuningTable {
    /// One without choices, for a device.
    pub fn of(device: &DeviceProfile) -> Self {
        let driver = device.installed.as_ref().map_or("none", |installed| &installed.driver);
        Self {
            device: device.name.clone(),
            driver: driver.to_owned(),
            choices: HashMap::new(),
        }
    }

    /// Reads a text.
    ///
    /// # Errors
    /// [`TuningError`] with the first line that is wrong.
    pub fn read(text: &str) -> Result<Self, TuningError> {
        let wrong = |line, problem: &str| TuningError {
            line,
            problem: problem.to_owned(),
        };
        let mut lines = text.lines().zip(1..);
        let mut field = |name: &str, at: usize| {
            let line = lines.next().and_then(|(line, _)| line.strip_prefix(name));
            let value = line.and_then(|line| line.strip_prefix(' ')).map(str::to_owned);
            value.ok_or_else(|| wrong(at, &format!("must be `{name}` and its value")))
        };
        let (device, driver) = (field("device", 1)?, field("driver", 2)?);
        let mut choices = HashMap::new();
        for (line, at) in lines {
            let (shape, choice) = parse(line).map_err(|problem| wrong(at, &problem))?;
            choices.insert(shape, choice);
        }
        Ok(Self {
            device,
            driver,
            choices,
        })
    }

    /// The text that [`read`](Self::read) takes, by type, layout and extents.
    pub fn text(&self) -> String {
        let mut lines: Vec<_> = self.choices.iter().collect();
        lines.sort_by_key(|(shape, _)| {
            let is_transposed = shape.transpose.map(|transpose| transpose == Transpose::Yes);
            (shape.dtype.name(), shape.precision, is_transposed, shape.extents)
        });
        let mut text = format!("device {}\ndriver {}\n", self.device, self.driver);
        for (shape, choice) in lines {
            let [m, n, k] = shape.extents;
            let layout = shape.transpose.map(|transpose| match transpose {
                Transpose::No => "n",
                Transpose::Yes => "t",
            });
            // Writing to a `String` cannot fail.
            let _ = writeln!(
                text,
                "{m} {n} {k} {} {} {} {} {} {} {} {:.2}",
                layout.concat(),
                shape.dtype,
                shape.precision,
                choice.kernel,
                choice.width,
                choice.splits,
                choice.digest,
                choice.us
            );
        }
        text
    }
}

fn parse(line: &str) -> Result<(TunedShape, TunedChoice), String> {
    let words: Vec<&str> = line.split(' ').collect();
    let [m, n, k, layout, dtype, precision, kernel, width, splits, digest, us] = words[..] else {
        return Err(format!("{} words, 11 are wanted", words.len()));
    };
    let extent = |word: &str| word.parse().map_err(|_| format!("`{word}` is no extent"));
    let transpose = match layout {
        "nn" => [Transpose::No, Transpose::No],
        "nt" => [Transpose::No, Transpose::Yes],
        "tn" => [Transpose::Yes, Transpose::No],
        "tt" => [Transpose::Yes, Transpose::Yes],
        _ => return Err(format!("`{layout}` is no layout; known: nn, nt, tn, tt")),
    };
    let number = |word: &str| word.parse::<u32>().ok().filter(|&number| number > 0);
    let shape = TunedShape {
        extents: [extent(m)?, extent(n)?, extent(k)?],
        transpose,
        dtype: dtype.parse().map_err(|_| format!("no element type `{dtype}`"))?,
        precision: precision
            .parse()
            .map_err(|problem| format!("`{precision}`: {problem}"))?,
    };
    let choice = TunedChoice {
        kernel: kernel.to_owned(),
        width: number(width).ok_or_else(|| format!("`{width}` is no width"))?,
        splits: number(splits).ok_or_else(|| format!("`{splits}` is no number of splits"))?,
        digest: digest.to_owned(),
        us: us.parse().map_err(|_| format!("`{us}` is no time"))?,
    };
    // One that is no more is passed over by its digest; one of another type is a mistake.
    match Kernel::named(kernel) {
        Some(kernel) if kernel.dtype != shape.dtype => Err(format!("{} is of {}", kernel.symbol, kernel.dtype)),
        _ => Ok((shape, choice)),
    }
}

#[cfg(test)]
#[path = "tuning/tests.rs"]
mod tests;
