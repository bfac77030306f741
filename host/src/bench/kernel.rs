//! Ours: the one place from which the benchmark calls planner and launch.

use super::rows::{Layout, Ours, Row};
use crate::device::DeviceProfile;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::launch::{DeviceMatrix, Gpu};
use crate::plan::{Plan, PlanSummary, Policy, plan};
use crate::{GemmShape, Rung};

/// A kernel for one row's product.
pub struct Kernel {
    plan: Plan,
}

impl Kernel {
    /// Plans a row; `rung` instead of the row's own choice where there is one.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for a row that the kernels cannot run, [`Error::InvalidPlan`] for a rung that does not fit it.
    pub fn plan(row: &Row, rung: Option<Rung>, profile: &DeviceProfile) -> Result<Self> {
        if row.layout != Layout::NN {
            return Err(Error::InvalidArgument(format!(
                "layout {} cannot run yet: the kernels take {} only",
                row.layout.name(),
                Layout::NN.name()
            )));
        }
        let shape = shape(row)?;
        let own = match row.ours {
            Ours::Rung(rung) => Some(rung),
            Ours::Auto | Ours::Cpu => None,
        };
        let policy = Policy {
            rung: rung.or(own),
            entry_point: None,
            tile: None,
            smem_limit: None,
        };
        Ok(Self {
            plan: plan(&shape, row.dtype, profile, &policy)?,
        })
    }

    /// The entry point and the tile's width.
    pub fn name(&self) -> String {
        format!("{}, tile {}", self.plan.variant().symbol, self.plan.tile().width())
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
        gpu.launch(&self.plan, a, b, c)
    }
}

/// The product of a row, packed.
///
/// # Errors
/// [`Error::InvalidArgument`] for extents that the kernels cannot index.
pub fn shape(row: &Row) -> Result<GemmShape> {
    Ok(GemmShape::packed(row.m, row.n, row.k)?)
}
