//! Measured rows, and how good a table of coefficients chooses among what was timed.

use std::collections::{BTreeMap, BTreeSet};

use cuda_arch::Architecture;
use serde::{Deserialize, Serialize};
use tilewright::dispatch::{Speeds, Work, estimate_us};
use tilewright::{DType, Error, GemmShape, Kernel, Precision, Result, Transpose};
use tilewright_plan::GpuModel;

use crate::bench::geometric_mean;

/// One shape and element type, and every candidate that was timed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    /// Rows of C.
    pub m: usize,
    /// Columns of C.
    pub n: usize,
    /// Columns of A.
    pub k: usize,
    /// Whether A and B are transposed.
    #[serde(default)]
    pub transpose: [bool; 2],
    /// Products of the batch, packed.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub batch: usize,
    /// The element type.
    pub dtype: DTypeName,
    /// What was timed.
    pub candidates: Vec<Timed>,
}

fn one() -> usize {
    1
}

fn is_one(batch: &usize) -> bool {
    *batch == 1
}

/// An element type by its name.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DTypeName(String);

impl From<DType> for DTypeName {
    fn from(dtype: DType) -> Self {
        Self(dtype.name().to_owned())
    }
}

/// A candidate with its time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Timed {
    /// The kernel's symbol.
    pub kernel: String,
    /// Rows and columns of its tile.
    pub tile: [u32; 2],
    /// Splits of K.
    pub splits: u32,
    /// Microseconds, the median.
    pub us: f64,
}

impl Row {
    /// Its product.
    ///
    /// # Errors
    /// Those of a shape.
    pub fn shape(&self) -> Result<GemmShape> {
        let transpose = self.transpose.map(|is| if is { Transpose::Yes } else { Transpose::No });
        let shape = GemmShape::packed_transposed(self.m, self.n, self.k, transpose)?;
        Ok(match self.batch {
            1 => shape,
            count => shape.with_packed_batch(count)?,
        })
    }

    /// What tells its product from others.
    fn product(&self) -> (&str, [usize; 4], [bool; 2]) {
        (&self.dtype.0, [self.m, self.n, self.k, self.batch], self.transpose)
    }

    /// Whether it is of an element type.
    pub fn is_of(&self, dtype: DType) -> bool {
        self.dtype.0 == dtype.name()
    }

    /// The time of the fastest candidate of an arithmetic.
    pub fn least_us(&self, precision: Precision) -> f64 {
        let is_of = |timed: &&Timed| timed.work().is_some_and(|work| work.kernel.precision == precision);
        self.candidates
            .iter()
            .filter(is_of)
            .map(|timed| timed.us)
            .fold(f64::INFINITY, f64::min)
    }
}

impl Timed {
    /// What was launched; `None` for a kernel that is no more.
    pub fn work(&self) -> Option<Work> {
        let kernel = Kernel::named(&self.kernel)?;
        let kernel = match kernel.widths {
            Some(_) => kernel.with_width(self.tile[1])?,
            None => *kernel,
        };
        let splits = self.splits;
        (self.tile == [kernel.tile.m, kernel.tile.n]).then_some(Work { kernel, splits })
    }
}

/// A calibration as `gpu_pick` writes it, or as `cargo xtask results` files it.
#[derive(Debug, Deserialize)]
pub struct Filed {
    #[serde(alias = "about")]
    device: Device,
    clock_khz: u32,
    /// Of each kernel that was timed.
    pub digests: BTreeMap<String, String>,
    /// What was timed.
    pub rows: Vec<Row>,
}

/// The device: its name, or what is filed of a run, which has the name.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Device {
    Name(String),
    About { device: String },
}

impl Device {
    fn name(&self) -> &str {
        match self {
            Self::Name(name) | Self::About { device: name } => name,
        }
    }
}

impl Filed {
    /// Whether a kernel that was timed ships with another digest now. One that is no more has not changed: no launch of
    /// it counts. `digest`: of a kernel that ships.
    pub fn has_changed(&self, kernel: &str, digest: impl Fn(&str) -> Option<String>) -> bool {
        digest(kernel).is_some_and(|now| self.digests.get(kernel) != Some(&now))
    }

    /// Leaves out the rows of element types with a kernel that [has changed](Self::has_changed), and digests of before.
    /// Returns these types.
    pub fn retain_current(&mut self, digest: impl Fn(&str) -> Option<String>) -> BTreeSet<String> {
        let has_changed = |timed: &Timed| self.has_changed(&timed.kernel, &digest);
        let changed = self.rows.iter().filter(|row| row.candidates.iter().any(has_changed));
        let changed: BTreeSet<_> = changed.map(|row| row.dtype.0.clone()).collect();
        self.rows.retain(|row| !changed.contains(&row.dtype.0));
        self.digests
            .retain(|kernel, filed| digest(kernel).as_ref() == Some(filed));
        changed
    }

    /// The kernels whose times are of what ships, where this device was timed: none of another one.
    pub fn current(&self, device: &str, digest: impl Fn(&str) -> Option<String>) -> BTreeSet<String> {
        let is_current = |(kernel, filed): &(&String, &String)| digest(kernel).as_ref() == Some(*filed);
        let current = self.digests.iter().filter(|_| device == self.device.name());
        current.filter(is_current).map(|(kernel, _)| kernel.clone()).collect()
    }

    /// These times and those of another element type.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for times of another device or at another clock: coefficients are its cycles.
    pub fn and(mut self, other: Self) -> Result<Self> {
        let [of_self, of_other] = [&self, &other].map(|filed| (filed.device.name(), filed.clock_khz));
        if of_self != of_other {
            return Err(Error::InvalidArgument(format!(
                "times of {} at {} kHz and of {} at {} kHz cannot be fitted together",
                of_self.0, of_self.1, of_other.0, of_other.1
            )));
        }
        self.digests.extend(other.digests);
        self.rows.extend(other.rows);
        Ok(self)
    }

    /// Adds the times of these kernels to rows of the same products.
    pub fn add_to(&self, rows: &mut [Row], kernels: &BTreeSet<String>) {
        for row in rows {
            let of_product = self.rows.iter().filter(|filed| filed.product() == row.product());
            let filed = of_product.flat_map(|filed| &filed.candidates);
            let known: Vec<Timed> = filed.filter(|timed| kernels.contains(&timed.kernel)).cloned().collect();
            row.candidates.extend(known);
        }
    }

    /// The GPU that was timed.
    ///
    /// # Errors
    /// Those of [`Machine::of`].
    pub fn machine(&self) -> Result<Machine> {
        Machine::of(self.device.name(), self.clock_khz)
    }
}

/// The GPU that was timed.
#[derive(Debug)]
pub struct Machine {
    /// Its architecture.
    pub arch: &'static Architecture,
    /// Its numbers.
    pub gpu: GpuModel,
}

impl Machine {
    /// A device by its name, with the clock that the driver reports: a data sheet has a lower one.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a device that the planner does not know.
    pub fn of(device: &str, clock_khz: u32) -> Result<Self> {
        let unknown = || Error::InvalidArgument(format!("the planner knows no `{device}`"));
        let gpu = GpuModel::of_device(device).ok_or_else(unknown)?;
        let arch = cuda_arch::find(&gpu.arch).map_err(|_| unknown())?;
        let gpu = GpuModel {
            clock_khz,
            ..gpu.clone()
        };
        Ok(Self { arch, gpu })
    }
}

/// What a table of coefficients chooses of what was timed, among the kernels that dispatch chooses from.
#[derive(Clone, Copy, Debug)]
pub struct Choice<'r> {
    /// The candidate with the least estimate.
    pub picked: &'r Timed,
    /// The fastest.
    pub fastest: &'r Timed,
    /// Estimate of the fastest over the least.
    pub fastest_over_least: f64,
}

impl<'r> Choice<'r> {
    /// The choice for a row; `None` where nothing that was timed is priced.
    ///
    /// # Errors
    /// Those of a shape.
    pub fn of(row: &'r Row, machine: &Machine, speeds: &Speeds) -> Result<Option<Self>> {
        let shape = row.shape()?;
        let priced = |timed: &'r Timed| {
            // As where no arithmetic is named: with a faster one the others would hardly count.
            let is_open = |of: &Kernel| of.family.is_automatic() && of.precision == Precision::default();
            let work = timed.work().filter(|work| is_open(&work.kernel))?;
            Some((estimate_us(&work, &shape, machine.arch, &machine.gpu, speeds)?, timed))
        };
        let candidates: Vec<_> = row.candidates.iter().filter_map(priced).collect();
        let picked = candidates.iter().min_by(|a, b| a.0.total_cmp(&b.0));
        let fastest = candidates.iter().min_by(|a, b| a.1.us.total_cmp(&b.1.us));
        Ok(picked.zip(fastest).map(|(picked, fastest)| Self {
            picked: picked.1,
            fastest: fastest.1,
            fastest_over_least: fastest.0 / picked.0,
        }))
    }

    /// Time of the choice over that of the fastest.
    pub fn over_best(&self) -> f64 {
        self.picked.us / self.fastest.us
    }
}

/// How good choices are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quality {
    /// Choices.
    pub rows: usize,
    /// Those that are within 5 % of the fastest: launches of one kernel differ by as much.
    pub within: usize,
    /// The largest time over that of the fastest.
    pub worst: f64,
    /// The geometric mean.
    pub mean: f64,
}

impl Quality {
    /// Of times over the fastest; `None` of none.
    pub fn of(over_best: &[f64]) -> Option<Self> {
        Some(Self {
            rows: over_best.len(),
            within: over_best.iter().filter(|&&over| over <= 1.05).count(),
            worst: over_best.iter().copied().fold(1.0, f64::max),
            mean: geometric_mean(over_best)?,
        })
    }
}

impl std::fmt::Display for Quality {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            rows,
            within,
            worst,
            mean,
        } = self;
        write!(f, "{within} of {rows} within 5 %, worst {worst:.3}, mean {mean:.4}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kernels `same`, `other` and `gone`, each timed for a product of one element, in f32 or f16.
    fn filed() -> Filed {
        let row = |dtype: &str, kernel: &str| {
            format!(
                r#"{{"m": 1, "n": 1, "k": 1, "dtype": "{dtype}",
                    "candidates": [{{"kernel": "{kernel}", "tile": [1, 1], "splits": 1, "us": 1.0}}]}}"#
            )
        };
        let text = format!(
            r#"{{"about": {{"device": "NVIDIA H200"}}, "clock_khz": 1,
                "digests": {{"same": "1", "other": "1", "gone": "1"}}, "rows": [{}, {}, {}, {}]}}"#,
            row("f32", "gone"),
            row("f32", "same"),
            row("f16", "same"),
            row("f16", "other")
        );
        serde_json::from_str(&text).expect("a calibration")
    }

    /// What ships: `other` has changed, `gone` is no more.
    fn digest(kernel: &str) -> Option<String> {
        match kernel {
            "same" => Some("1".to_owned()),
            "other" => Some("2".to_owned()),
            _ => None,
        }
    }

    #[test]
    fn types_of_changed_kernels_are_left_out_and_kernels_that_are_no_more_are_not_counted() {
        let mut filed = filed();
        let changed = filed.retain_current(digest);
        assert_eq!(changed, BTreeSet::from(["f16".to_owned()]));
        assert_eq!(filed.rows.len(), 2);
        assert_eq!(filed.digests.into_keys().collect::<Vec<_>>(), ["same"]);
    }

    #[test]
    fn times_of_unchanged_kernels_are_kept_on_the_same_device_for_the_same_product() {
        let filed = filed();
        let current = filed.current("NVIDIA H200", digest);
        assert_eq!(current, BTreeSet::from(["same".to_owned()]));
        assert_eq!(filed.current("NVIDIA H100", digest), BTreeSet::new());
        let new = |dtype: DType, k| Row {
            m: 1,
            n: 1,
            k,
            transpose: [false; 2],
            batch: 1,
            dtype: dtype.into(),
            candidates: Vec::new(),
        };
        let mut rows = [
            new(DType::F32, 1),
            new(DType::F16, 1),
            new(DType::F32, 2),
            new(DType::F64, 1),
        ];
        filed.add_to(&mut rows, &current);
        let kept = rows.map(|row| row.candidates.into_iter().map(|timed| timed.kernel).collect::<Vec<_>>());
        assert_eq!(kept, [vec!["same".to_owned()], vec!["same".to_owned()], vec![], vec![]]);
    }

    #[test]
    fn times_of_two_runs_are_fitted_together_if_they_are_of_one_device() {
        let run = |device: &str, clock_khz: u32| -> Filed {
            let digests = r#"{ "another": "2" }"#;
            let text =
                format!(r#"{{ "device": "{device}", "clock_khz": {clock_khz}, "digests": {digests}, "rows": [] }}"#);
            serde_json::from_str(&text).expect("what a run writes")
        };
        let both = filed().and(run("NVIDIA H200", 1)).expect("the same");
        assert_eq!(both.rows.len(), filed().rows.len());
        assert_eq!(both.digests.len(), filed().digests.len() + 1);
        for other in [run("NVIDIA H100", 1), run("NVIDIA H200", 2)] {
            let error = filed().and(other).expect_err("another one");
            assert!(error.to_string().contains("cannot be fitted together"), "{error}");
        }
    }
}
