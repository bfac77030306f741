//! Planning a whole problem.

use super::{Plan, Policy, plan};
use crate::device::DeviceProfile;
use crate::element::{Accumulator, Element};
use crate::error::Result;
use crate::problem::{Gemm, Location, OutputOf};

impl<B: Location, F: Accumulator> Gemm<B, F> {
    /// A plan for A and B of type `T` and C of type `C`: [`plan`] with a policy that takes only kernels which have what
    /// this problem needs.
    ///
    /// # Errors
    /// [`Error::InvalidPlan`](crate::Error::InvalidPlan) where no plan can work, with the nearest that can.
    pub fn plan<T: Element<Accumulator = F>, C: OutputOf<T>>(
        &self,
        device: &DeviceProfile,
        policy: &Policy,
    ) -> Result<Plan> {
        let policy = Policy {
            factors: policy.factors || !self.epilogue.factors.is_product(),
            epilogue: policy.epilogue || self.epilogue.needs_epilogue::<T, C>(),
            ..*policy
        };
        Ok(plan(&self.shape, T::DTYPE, device, &policy)?)
    }
}
