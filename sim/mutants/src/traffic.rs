//! Launches whose accesses are counted twice: by the simulator from the source, and on a GPU by its performance
//! counters.
//!
//! The matrix multiplications, each at shapes with and without residue tiles; the transposes, with and without padding;
//! and the sample kernel with 16-byte accesses.

use cuda_sim::access::{AccessKind, Space};
use cuda_sim::{LineTraffic, Schedule};
use kernels_gpu::host::{self, EntryPoint};
use sample_kernels::case::Case;
use serde::Serialize;

use crate::call::{Call, Value};
use crate::table::{Product, product};
use crate::{products, subject, verdict};

/// Where a launch's entry point is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Module {
    /// In the PTX of `kernels-gpu`.
    Library,
    /// In that of this crate.
    Mutants,
}

/// One launch to count.
#[derive(Clone, Debug)]
pub struct Counted {
    /// Kernel, shape and tile.
    pub name: String,
    /// The PTX that its entry point is in.
    pub module: Module,
    /// The entry point.
    pub symbol: &'static str,
    /// The launch.
    pub case: Case,
    kernel: Kernel,
}

/// The entry point on the host.
#[derive(Clone, Copy, Debug)]
enum Kernel {
    Product(EntryPoint<f32>),
    Sample(Call),
}

/// The products' kernels with the tile widths that they are launched with.
const PRODUCTS: [(&str, u32); 7] = [
    ("tiled_static_16_f32", 16),
    ("tiled_static_32_f32", 32),
    ("tiled_dynamic_16_f32", 16),
    ("tiled_dynamic_32_f32", 32),
    ("tiled_dynamic_1x1_f32", 24),
    ("tiled_dynamic_4x4_f32", 64),
    ("tiled_dynamic_8x8_f32", 96),
];

/// m, n, k.
const SHAPES: [(usize, usize, usize); 3] = [(64, 64, 64), (100, 70, 90), (256, 256, 256)];

/// Rows and columns of the transposed matrices.
const TRANSPOSED: [(usize, usize); 2] = [(256, 256), (70, 50)];

/// Every launch, in the order in which a GPU's are counted.
///
/// # Panics
/// Where a row above names a kernel or a width that does not exist: a test sees to it that none does.
pub fn launches() -> Vec<Counted> {
    let mut launches = Vec::new();
    for (symbol, width) in PRODUCTS {
        let kernel = tilewright_contract::Kernel::named(symbol).unwrap_or_else(|| panic!("no kernel {symbol}"));
        let entry_point = host::find::<f32>(symbol).unwrap_or_else(|| panic!("no kernel {symbol}"));
        for (m, n, k) in SHAPES {
            let product = Product {
                tile: Some(width),
                ..product([m, n, k])
            };
            let case = products::case(kernel, &product).unwrap_or_else(|problem| panic!("{symbol}: {problem}"));
            launches.push(Counted {
                name: format!("{symbol}, tile {width}, {m} x {n} x {k}"),
                module: Module::Library,
                symbol,
                case,
                kernel: Kernel::Product(entry_point),
            });
        }
    }
    for kernel in ["transpose_tile", "transpose_padded"] {
        for (rows, columns) in TRANSPOSED {
            launches.push(Counted::sample(
                format!("{kernel}, {rows} x {columns}"),
                sample_kernels::cases::transposed(kernel, rows, columns),
            ));
        }
    }
    let row_sums = sample_kernels::cases::of("row_sums").expect("a sample kernel");
    launches.push(Counted::sample("row_sums, 40 x 52".to_owned(), row_sums));
    launches
}

impl Counted {
    fn sample(name: String, case: Case) -> Self {
        let subject = subject::find(&subject::original(case.kernel)).expect("every sample kernel has a copy");
        Self {
            name,
            module: Module::Mutants,
            symbol: subject.symbol,
            kernel: Kernel::Sample(subject.call),
            case,
        }
    }

    /// Counts in the simulator.
    ///
    /// # Errors
    /// Where the kernel is reported or its result is wrong: then there is nothing to compare.
    pub fn predict(&self) -> Result<Prediction, String> {
        let call = |values: &[Value]| match self.kernel {
            Kernel::Sample(call) => call(values),
            // SAFETY: the case has the matrices that its arguments describe, and the launch that the kernel asks for.
            Kernel::Product(entry_point) => unsafe { entry_point.call(values[0].get(), None) },
        };
        let verdict = verdict::run(&self.case, call, |launch| launch.schedule(Schedule::Forward));
        if !verdict.report.is_clean() {
            return Err(format!("{}: {}", self.name, verdict.report));
        }
        if let Some(difference) = verdict.difference {
            return Err(format!("{}: {difference}", self.name));
        }
        let sum = |space, access| {
            let lines = verdict.report.lines.iter();
            let lines = lines.filter(move |line| line.kind.space == space && line.kind.access == access);
            lines.fold(Traffic::default(), Traffic::plus)
        };
        Ok(Prediction {
            name: self.name.clone(),
            symbol: self.symbol,
            shared_load: sum(Space::Shared, AccessKind::Read),
            shared_store: sum(Space::Shared, AccessKind::Write),
            global_load: sum(Space::Global, AccessKind::Read),
            global_store: sum(Space::Global, AccessKind::Write),
        })
    }
}

/// The traffic of a launch with one memory in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Traffic {
    /// Instructions of a warp.
    pub requests: u64,
    /// Wavefronts of shared memory, sectors of global memory.
    pub actual: u64,
    /// The fewest that could carry the same bytes.
    pub ideal: u64,
}

impl Traffic {
    fn plus(self, line: &LineTraffic) -> Self {
        Self {
            requests: self.requests + line.requests,
            actual: self.actual + line.actual,
            ideal: self.ideal + line.ideal,
        }
    }
}

/// The simulator's counts of a launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Prediction {
    /// The launch.
    pub name: String,
    /// Its entry point.
    pub symbol: &'static str,
    /// Loads from shared memory.
    pub shared_load: Traffic,
    /// Stores to shared memory.
    pub shared_store: Traffic,
    /// Loads from global memory.
    pub global_load: Traffic,
    /// Stores to global memory.
    pub global_store: Traffic,
}
