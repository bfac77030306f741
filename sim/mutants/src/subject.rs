//! A mutant or an unchanged kernel, with its launch.

use sample_kernels::case::Case;

use crate::call::Call;
use crate::table::{self, Device, Expect, Kernel, Launch, Module, Row, Task, Tool};
use crate::{block_scaled, copies, fp8, fp8_quantize, products};

/// A mutant, or a kernel without a change.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    /// Its name.
    pub id: &'static str,
    /// The original kernel.
    pub kernel: &'static Kernel,
    /// Its row; `None` for a kernel without a change.
    pub row: Option<&'static Row>,
    /// The entry point, in PTX too. A mutant that only changes the launch has the unchanged kernel's.
    pub symbol: &'static str,
    /// The entry point on the host.
    pub(crate) call: Call,
}

impl Subject {
    /// The expected verdict of the simulator.
    pub fn expect(&self) -> Expect {
        self.row.map_or(Expect::Clean, |row| row.expect)
    }

    /// The tools of compute-sanitizer that are expected to see it.
    pub fn seen_by(&self) -> &'static [Tool] {
        self.row.map_or(&[], |row| row.seen_by)
    }

    /// Whether it runs on a GPU.
    pub fn device(&self) -> Device {
        match (self.kernel.module, self.row) {
            (Module::Simulated, _) => Device::Refused(match self.kernel.task {
                Task::Fp8(_) | Task::Fp8Quantize(_) => "the mutants' PTX has no module of FP8",
                _ => "its GPUs have compute capability 12.x",
            }),
            (_, row) => row.map_or(Device::Runs, |row| row.device),
        }
    }

    /// The mistake, in words.
    pub fn what(&self) -> &'static str {
        self.row.map_or("unchanged", |row| row.what)
    }

    /// Its launch, with the result of the unchanged kernel.
    ///
    /// # Panics
    /// Where the table names a kernel that has no case: a test sees to it that none does.
    pub fn case(&self) -> Case {
        let mut case = case_of(self.kernel);
        match self.row.map_or(Launch::Unchanged, |row| row.launch) {
            Launch::Unchanged => {}
            Launch::DynamicBytes(bytes) => case.dynamic_shared_bytes = bytes,
            Launch::Block(block) => case.block = block,
            Launch::Grid(grid) => case.grid = grid,
        }
        case
    }
}

/// Every kernel without a change, then every mutant.
pub fn all() -> Vec<Subject> {
    let originals = table::KERNELS.iter().map(|kernel| {
        let (symbol, call) = copy_of(&original(kernel.name));
        Subject {
            id: symbol,
            kernel,
            row: None,
            symbol,
            call,
        }
    });
    let mutants = table::rows().map(|row| {
        let kernel = table::kernel(row.kernel).expect("the build script found it");
        let (symbol, call) = if row.edits.is_empty() {
            copy_of(&original(row.kernel))
        } else {
            copy_of(row.id)
        };
        Subject {
            id: row.id,
            kernel,
            row: Some(row),
            symbol,
            call,
        }
    });
    originals.chain(mutants).collect()
}

/// The mutant or unchanged kernel of this name.
pub fn find(id: &str) -> Option<Subject> {
    all().into_iter().find(|subject| subject.id == id)
}

/// The name of a kernel's unchanged copy.
pub fn original(kernel: &str) -> String {
    format!("{kernel}_original")
}

fn copy_of(symbol: &str) -> (&'static str, Call) {
    *copies::CALLS
        .iter()
        .find(|(name, _)| *name == symbol)
        .expect("the build script made a copy for each row")
}

/// The launch of a kernel.
fn case_of(kernel: &Kernel) -> Case {
    let case = match kernel.task {
        Task::Sample => sample_kernels::cases::of(kernel.symbol).ok_or_else(|| "no sample kernel".to_owned()),
        Task::PadRows(extents) => Ok(products::pad_rows(extents)),
        Task::SplitRows(extents) => Ok(products::split_rows(extents)),
        Task::TransposeRows(extents) => Ok(products::transpose_rows(extents)),
        Task::BlockScaled(extents, stages) => block_scaled::case(kernel.symbol, extents, stages),
        Task::Fp8(extents) => fp8::case(kernel.symbol, extents),
        Task::Fp8Quantize(extents) => fp8_quantize::case(kernel.symbol, extents),
        Task::Product(product) => {
            let planned = tilewright_contract::Kernel::named(kernel.symbol);
            let planned = planned.ok_or_else(|| "not in the kernel table".to_owned());
            planned.and_then(|planned| products::case(planned, &product))
        }
    };
    case.unwrap_or_else(|problem| panic!("the case of {}: {problem}", kernel.name))
}
