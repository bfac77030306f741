//! Ours: the one place from which the benchmark calls planner and launch.

use tilewright::device::DeviceProfile;
use tilewright::dispatch::{Plan, PlanSummary, Policy, plan};
use tilewright::launch::{DeviceMatrix, Gpu};
use tilewright::{Element, Gemm, Result};

use super::rows::{Row, Subject};

/// A kernel for one row's product.
pub struct Kernel {
    plan: Plan,
}

impl Kernel {
    /// Plans the product of a row.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`](tilewright::Error::InvalidArgument) for extents that the kernels cannot index,
    /// [`Error::InvalidPlan`](tilewright::Error::InvalidPlan) for a family that does not fit the row.
    pub fn plan(row: &Row, subject: Subject, policy: Policy, profile: &DeviceProfile) -> Result<Self> {
        let (family, tile) = match subject {
            Subject::Auto => (None, None),
            Subject::Family(family) => (Some(family), None),
            Subject::Tile(family, width) => (Some(family), Some(width)),
        };
        let policy = Policy { family, tile, ..policy };
        Ok(Self {
            plan: plan(&row.shape()?, row.dtype, profile, &policy)?,
        })
    }

    /// The entry point, its tile, its split-K factor, and which operands it needs a copy of.
    pub fn name(&self) -> String {
        let plan = &self.plan;
        let mut name = format!("{}, {}", plan.kernel().symbol, plan.kernel().tile_name());
        let splits = plan.summary().splits;
        if splits != 1 {
            name += &format!(", split-K {splits}");
        }
        name += match plan.copies() {
            [None, None] => "",
            [Some(_), None] => ", A copied",
            [None, Some(_)] => ", B copied",
            [Some(_), Some(_)] => ", A and B copied",
        };
        name
    }

    /// The launch.
    pub fn launch_plan(&self) -> &Plan {
        &self.plan
    }

    /// The plan's numbers.
    pub fn summary(&self) -> PlanSummary {
        self.plan.summary()
    }

    /// Enqueues the product.
    ///
    /// # Errors
    /// Those of [`Gpu::launch`].
    pub fn launch<T: Element>(
        &self,
        gpu: &Gpu,
        a: &DeviceMatrix<'_, T>,
        b: &DeviceMatrix<'_, T>,
        c: &mut DeviceMatrix<'_, T>,
    ) -> Result<()> {
        gpu.launch(&self.plan, &Gemm::new(self.plan.shape()), a, b, c)
    }
}
