//! How long a product takes with one of this project's kernels: the terms of [`Terms`] by the coefficients of
//! [`Speeds`], which `gpu_pick --calibrate` fits to measured times (`benches/gpu_pick`).

use cuda_arch::Architecture;
use tilewright_contract::{GemmShape, Kernel};
use tilewright_plan::GpuModel;

use super::speeds::Speeds;
use super::terms::{KernelTerms, Machine, SharedTerms, Work};

/// Prices the launches of one kernel on one device.
pub(super) struct Pricing<'a> {
    machine: Machine<'a>,
    own: &'static KernelTerms,
    shared: &'static SharedTerms,
}

impl<'a> Pricing<'a> {
    /// `None` where no SM holds a CTA, or nothing was measured of the kernel.
    pub(super) fn of(kernel: &Kernel, arch: &'a Architecture, gpu: &'a GpuModel, speeds: &Speeds) -> Option<Self> {
        Some(Self {
            machine: Machine::of(kernel, arch, gpu, speeds.arch())?,
            own: speeds.of(kernel)?,
            shared: speeds.shared(kernel.dtype)?,
        })
    }

    /// Microseconds of a product with this kernel; `None` for an empty C, and for more tiles than a grid holds.
    pub(super) fn us(&self, kernel: &Kernel, splits: u32, shape: &GemmShape) -> Option<f64> {
        let us = self.machine.terms(kernel, splits, shape)?.us(self.own, self.shared);
        Some(us.max(self.machine.least_us(kernel, shape)))
    }
}

/// Microseconds that a product takes; `None` where no SM holds a CTA, or nothing was measured of the kernel.
pub fn estimate_us(
    work: &Work,
    shape: &GemmShape,
    arch: &Architecture,
    gpu: &GpuModel,
    speeds: &Speeds,
) -> Option<f64> {
    Pricing::of(&work.kernel, arch, gpu, speeds)?.us(&work.kernel, work.splits, shape)
}
