//! What is run: a mutant or an unchanged kernel, with its launch.

use classics::case::Case;
use tilewright_contract::{GemmShape, Rung, VARIANTS};

use crate::call::Call;
use crate::table::{self, Device, Expect, Kernel, Launch, Row, Tool};
use crate::{copies, products};

/// A mutant, or a kernel without a change.
#[derive(Clone, Copy, Debug)]
pub struct Subject {
    /// Its name.
    pub id: &'static str,
    /// The kernel that it is made from.
    pub kernel: &'static Kernel,
    /// Its row; `None` for a kernel without a change.
    pub row: Option<&'static Row>,
    /// The entry point, in PTX too. A mutant that only changes the launch has the unchanged kernel's.
    pub symbol: &'static str,
    /// The entry point on the host.
    pub(crate) call: Call,
}

impl Subject {
    /// What the simulator must say.
    pub fn expect(&self) -> Expect {
        self.row.map_or(Expect::Clean, |row| row.expect)
    }

    /// The tools of compute-sanitizer that are expected to see it.
    pub fn seen_by(&self) -> &'static [Tool] {
        self.row.map_or(&[], |row| row.seen_by)
    }

    /// Whether it runs on a GPU.
    pub fn device(&self) -> Device {
        self.row.map_or(Device::Runs, |row| row.device)
    }

    /// The mistake, in words.
    pub fn what(&self) -> &'static str {
        self.row.map_or("unchanged", |row| row.what)
    }

    /// Its launch and what must come out: the kernel's own result, which a mutant need not give.
    ///
    /// # Panics
    /// Where the table names a kernel that has no case: a test sees to it that none does.
    pub fn case(&self) -> Case {
        let mut case = case_of(self.kernel.name);
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

/// The launch of a kernel: for the products a shape that no tile divides, with leading dimensions larger than the rows.
fn case_of(kernel: &str) -> Case {
    if let Some(case) = classics::cases::of(kernel) {
        return case;
    }
    let variant = VARIANTS
        .iter()
        .find(|variant| variant.symbol == kernel)
        .unwrap_or_else(|| panic!("no case for {kernel}"));
    let (shape, width) = match variant.rung {
        Rung::Naive | Rung::TiledStatic => (GemmShape::with_ld(37, 43, 35, 38, 48, 45), 16),
        // One output a thread, or a width that four outputs do not divide.
        Rung::TiledDynamic if variant.computes(12) => (GemmShape::with_ld(37, 43, 35, 38, 48, 45), 12),
        Rung::TiledDynamic => (GemmShape::with_ld(50, 41, 43, 45, 44, 46), 38),
        Rung::RegisterTile => (GemmShape::with_ld(130, 41, 19, 21, 44, 46), 128),
        Rung::RegisterColumn => (GemmShape::with_ld(130, 41, 19, 21, 44, 46), 64),
        Rung::VectorCopy | Rung::WarpTile | Rung::DoubleBuffer => (GemmShape::with_ld(130, 41, 19, 21, 44, 46), 128),
        Rung::AsyncCopy
        | Rung::Gemm
        | Rung::MatrixVector
        | Rung::MmaSync
        | Rung::WgmmaOneStage
        | Rung::WgmmaRing
        | Rung::WgmmaPersistent
        | Rung::WgmmaCluster
        | Rung::WgmmaGemm => {
            panic!("{kernel} has no copies: its body is mutated as a classic, `stencil_pipelined`")
        }
    };
    shape
        .map_err(|error| error.to_string())
        .and_then(|shape| products::case(variant, &shape, width))
        .unwrap_or_else(|problem| panic!("the case of {kernel}: {problem}"))
}
