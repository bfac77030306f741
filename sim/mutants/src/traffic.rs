//! Launches whose accesses are counted twice: by the simulator from the source, and on a GPU by its performance
//! counters.
//!
//! The matrix multiplications, each at shapes with and without residue tiles: tiles that threads load one by one, and
//! kernels with `cp.async`, `ldmatrix`, TMA and `wgmma`; the transposes, with and without padding; and the sample
//! kernel with 16-byte accesses.

use cuda_sim::access::{AccessKind, Instruction, Space};
use cuda_sim::{LineTraffic, Schedule, TrafficKind};
use half::f16;
use kernels_gpu::host::{self, EntryPoint};
use kernels_gpu::ptx::tensor_map::TensorMap;
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
    Half(EntryPoint<f16>),
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

/// Kernels with asynchronous instructions or those of tensor cores, and whether their elements are `f16`.
const ASYNCHRONOUS: [(&str, bool); 7] = [
    ("lesson_09_cp_async", false),
    ("lesson_10_mma_sync", true),
    ("mma_sync_nn_128x128_f16", true),
    ("lesson_12_warp_specialized", true),
    ("lesson_14_cluster", true),
    ("lesson_15_tma_store", true),
    ("wgmma_nn_64x64_f16", true),
];

/// m, n, k of theirs: whole tiles, and residue tiles of which TMA loads the part inside.
const ASYNCHRONOUS_SHAPES: [(usize, usize, usize); 2] = [(256, 256, 128), (200, 136, 144)];

/// Rows and columns of the transposed matrices.
const TRANSPOSED: [(usize, usize); 2] = [(256, 256), (70, 50)];

/// Every launch, in the order in which a GPU's are counted.
///
/// # Panics
/// Where a row above names a kernel or a width that does not exist: a test sees to it that none does.
pub fn launches() -> Vec<Counted> {
    let mut launches = Vec::new();
    for (symbol, width) in PRODUCTS {
        for (m, n, k) in SHAPES {
            let product = Product {
                tile: Some(width),
                ..product([m, n, k])
            };
            let name = format!("{symbol}, tile {width}, {m} x {n} x {k}");
            launches.push(Counted::product(name, symbol, &product, Kernel::Product(find(symbol))));
        }
    }
    launches.extend(transposes());
    let row_sums = sample_kernels::cases::of("row_sums").expect("a sample kernel");
    launches.push(Counted::sample("row_sums, 40 x 52".to_owned(), row_sums));
    for (symbol, is_half) in ASYNCHRONOUS {
        let kernel = match is_half {
            true => Kernel::Half(find(symbol)),
            false => Kernel::Product(find(symbol)),
        };
        for (m, n, k) in ASYNCHRONOUS_SHAPES {
            let name = format!("{symbol}, {m} x {n} x {k}");
            launches.push(Counted::product(name, symbol, &product([m, n, k]), kernel));
        }
    }
    launches
}

/// Those of them that transpose, without and with padding.
pub fn transposes() -> impl Iterator<Item = Counted> {
    let kernels = ["transpose_tile", "transpose_padded"].into_iter();
    let launches = kernels.flat_map(|kernel| TRANSPOSED.map(|extents| (kernel, extents)));
    launches.map(|(kernel, (rows, columns))| {
        let name = format!("{kernel}, {rows} x {columns}");
        Counted::sample(name, sample_kernels::cases::transposed(kernel, rows, columns))
    })
}

fn find<E: 'static>(symbol: &str) -> EntryPoint<E> {
    host::find(symbol).unwrap_or_else(|| panic!("no kernel {symbol}"))
}

/// The tensor maps after the parameters, if there are any. Those of this crate have a type of their own.
fn maps(values: &[Value]) -> Option<[TensorMap; 3]> {
    let maps = values.iter().filter_map(|value| match value {
        Value::Map(map) => Some(TensorMap::from_words(*map.words())),
        _ => None,
    });
    maps.collect::<Vec<_>>().try_into().ok()
}

impl Counted {
    fn product(name: String, symbol: &'static str, product: &Product, entry_point: Kernel) -> Self {
        let kernel = tilewright_contract::Kernel::named(symbol).unwrap_or_else(|| panic!("no kernel {symbol}"));
        Self {
            name,
            module: Module::Library,
            symbol,
            case: products::case(kernel, product).unwrap_or_else(|problem| panic!("{symbol}: {problem}")),
            kernel: entry_point,
        }
    }

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
            Kernel::Product(entry_point) => unsafe { entry_point.call(values[0].get(), maps(values).as_ref()) },
            // SAFETY: as above.
            Kernel::Half(entry_point) => unsafe { entry_point.call(values[0].get(), maps(values).as_ref()) },
        };
        let verdict = verdict::run(&self.case, call, |launch| launch.schedule(Schedule::Forward));
        if !verdict.report.is_clean() {
            return Err(format!("{}: {}", self.name, verdict.report));
        }
        if let Some(difference) = verdict.difference {
            return Err(format!("{}: {difference}", self.name));
        }
        let of = |instruction, space, access| {
            let kind = TrafficKind {
                space,
                access,
                instruction,
            };
            let lines = verdict.report.lines.iter();
            lines
                .filter(|line| line.kind == kind)
                .fold(Traffic::default(), Traffic::plus)
        };
        let sum = |space, access| of(Instruction::Lanes, space, access);
        Ok(Prediction {
            name: self.name.clone(),
            symbol: self.symbol,
            shared_load: sum(Space::Shared, AccessKind::Read),
            shared_store: sum(Space::Shared, AccessKind::Write),
            global_load: sum(Space::Global, AccessKind::Read),
            global_store: sum(Space::Global, AccessKind::Write),
            cp_async_global: of(Instruction::CpAsync, Space::Global, AccessKind::Read),
            cp_async_shared: of(Instruction::CpAsync, Space::Shared, AccessKind::Write),
            matrix_load: of(Instruction::Matrix, Space::Shared, AccessKind::Read),
            matrix_store: of(Instruction::Matrix, Space::Shared, AccessKind::Write),
            bulk_load: of(Instruction::BulkCopy, Space::Global, AccessKind::Read),
            bulk_store: of(Instruction::BulkCopy, Space::Global, AccessKind::Write),
            wgmma: of(Instruction::Wgmma, Space::Shared, AccessKind::Read),
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
    /// Bytes of all lanes.
    pub bytes: u64,
}

impl Traffic {
    fn plus(self, line: &LineTraffic) -> Self {
        Self {
            requests: self.requests + line.requests,
            actual: self.actual + line.actual,
            ideal: self.ideal + line.ideal,
            bytes: self.bytes + line.bytes,
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
    /// Loads from shared memory by single lanes, as the next three.
    pub shared_load: Traffic,
    /// Stores to shared memory.
    pub shared_store: Traffic,
    /// Loads from global memory.
    pub global_load: Traffic,
    /// Stores to global memory.
    pub global_store: Traffic,
    /// `cp.async`: what it reads.
    pub cp_async_global: Traffic,
    /// `cp.async`: what it writes.
    pub cp_async_shared: Traffic,
    /// `ldmatrix`.
    pub matrix_load: Traffic,
    /// `stmatrix`.
    pub matrix_store: Traffic,
    /// TMA loads: what they read.
    pub bulk_load: Traffic,
    /// TMA stores: what they write.
    pub bulk_store: Traffic,
    /// Operands of `wgmma` in shared memory.
    pub wgmma: Traffic,
}
