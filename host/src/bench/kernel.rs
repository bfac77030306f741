//! Ours: the one place from which the benchmark calls planner and launch.

use super::Options;
use super::rows::{Ours, Row};
use crate::device::DeviceProfile;
use crate::element::Element;
use crate::error::Result;
use crate::launch::{DeviceMatrix, Gpu};
use crate::plan::{Plan, PlanSummary, Policy, plan};
use crate::{GemmShape, Transpose};

/// A kernel for one row's product.
pub struct Kernel {
    plan: Plan,
}

impl Kernel {
    /// Plans a row; the options' rung instead of the row's own choice where there is one.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for extents that the kernels cannot index, [`Error::InvalidPlan`] for a rung that does not fit the row.
    pub fn plan(row: &Row, options: &Options, profile: &DeviceProfile) -> Result<Self> {
        let shape = shape(row)?;
        let own = match row.ours {
            Ours::Rung(rung) => (Some(rung), None),
            Ours::Tile(rung, width) => (Some(rung), Some(width)),
            Ours::Auto | Ours::Cpu => (None, None),
        };
        let (rung, tile) = match options.rung {
            Some(rung) => (Some(rung), None),
            None => own,
        };
        let policy = Policy {
            rung,
            tile,
            speeds: options.speeds,
            ..Policy::default()
        };
        Ok(Self {
            plan: plan(&shape, row.dtype, profile, &policy)?,
        })
    }

    /// The entry point, its tile, its slices, and which operands it needs a copy of.
    pub fn name(&self) -> String {
        let plan = &self.plan;
        let mut name = format!("{}, {}", plan.variant().symbol, plan.tile());
        let slices = plan.summary().slices;
        if slices != 1 {
            name += &format!(", {slices} slices");
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
        gpu.launch(&self.plan, a, b, c)
    }
}

/// The product of a row, packed.
///
/// # Errors
/// [`Error::InvalidArgument`] for extents that the kernels cannot index.
pub fn shape(row: &Row) -> Result<GemmShape> {
    let transpose = [row.layout.trans_a(), row.layout.trans_b()];
    let transpose = transpose.map(|yes| if yes { Transpose::Yes } else { Transpose::No });
    Ok(GemmShape::packed_transposed(row.m, row.n, row.k, transpose)?)
}
